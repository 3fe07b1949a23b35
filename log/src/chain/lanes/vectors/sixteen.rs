//! Sixteen lanes: AVX-512.

use std::arch::x86_64::{
    __m512i, _mm256_extract_epi64, _mm512_add_epi32, _mm512_castsi512_si256, _mm512_ror_epi32, _mm512_set1_epi32,
    _mm512_setr_epi32, _mm512_setr_epi64, _mm512_shuffle_i32x4, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64,
    _mm512_unpacklo_epi32, _mm512_unpacklo_epi64, _mm512_xor_si512,
};

use super::{BLOCK_BYTES, CHUNK_END, CHUNK_START, ContextKey, DERIVE_KEY_MATERIAL, IV, ROOT, SCHEDULE, compression};

pub(super) const LANES: usize = 16;

type Vector = __m512i;
/// The block of one lane.
type Row = Vector;

compression!("avx512f");

/// The same in each lane.
#[target_feature(enable = "avx512f")]
fn of_one(word: i32) -> Vector {
    _mm512_set1_epi32(word)
}

#[target_feature(enable = "avx512f")]
fn of(w: [i32; LANES]) -> Vector {
    _mm512_setr_epi32(
        w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15],
    )
}

#[target_feature(enable = "avx512f")]
fn add(one: Vector, two: Vector) -> Vector {
    _mm512_add_epi32(one, two)
}

#[target_feature(enable = "avx512f")]
fn xor(one: Vector, two: Vector) -> Vector {
    _mm512_xor_si512(one, two)
}

#[target_feature(enable = "avx512f")]
fn turned_by_16(value: Vector) -> Vector {
    _mm512_ror_epi32::<16>(value)
}

#[target_feature(enable = "avx512f")]
fn turned_by_12(value: Vector) -> Vector {
    _mm512_ror_epi32::<12>(value)
}

#[target_feature(enable = "avx512f")]
fn turned_by_8(value: Vector) -> Vector {
    _mm512_ror_epi32::<8>(value)
}

#[target_feature(enable = "avx512f")]
fn turned_by_7(value: Vector) -> Vector {
    _mm512_ror_epi32::<7>(value)
}

#[target_feature(enable = "avx512f")]
fn row(block: &[u8; BLOCK_BYTES]) -> Row {
    let mut w = [0; BLOCK_BYTES / 8];
    for (word, bytes) in w.iter_mut().zip(block.as_chunks().0) {
        *word = i64::from_le_bytes(*bytes);
    }
    _mm512_setr_epi64(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7])
}

/// The value of each lane, in the lower half of its vector.
#[target_feature(enable = "avx512f")]
fn lanes_of(value: &[Vector; 8]) -> [Vector; LANES] {
    let mut rows = [of_one(0); 16];
    rows[..8].copy_from_slice(value);
    words(&rows)
}

/// Sixteen words of each of sixteen rows, as the words of sixteen columns.
#[target_feature(enable = "avx512f")]
fn words(rows: &[Row; LANES]) -> [Vector; 16] {
    // Of four rows, each four words of theirs behind each other: the first, the fifth, the ninth and the thirteenth in one vector.
    let quads = |at: usize| {
        let (ab_low, ab_high) =
            (_mm512_unpacklo_epi32(rows[at], rows[at + 1]), _mm512_unpackhi_epi32(rows[at], rows[at + 1]));
        let (cd_low, cd_high) =
            (_mm512_unpacklo_epi32(rows[at + 2], rows[at + 3]), _mm512_unpackhi_epi32(rows[at + 2], rows[at + 3]));
        [
            _mm512_unpacklo_epi64(ab_low, cd_low),
            _mm512_unpackhi_epi64(ab_low, cd_low),
            _mm512_unpacklo_epi64(ab_high, cd_high),
            _mm512_unpackhi_epi64(ab_high, cd_high),
        ]
    };
    let [first, second, third, fourth] = [quads(0), quads(4), quads(8), quads(12)];
    let mut columns = [of_one(0); 16];
    for at in 0..4 {
        let even =
            [_mm512_shuffle_i32x4::<0x88>(first[at], second[at]), _mm512_shuffle_i32x4::<0x88>(third[at], fourth[at])];
        let odd =
            [_mm512_shuffle_i32x4::<0xdd>(first[at], second[at]), _mm512_shuffle_i32x4::<0xdd>(third[at], fourth[at])];
        columns[at] = _mm512_shuffle_i32x4::<0x88>(even[0], even[1]);
        columns[at + 4] = _mm512_shuffle_i32x4::<0x88>(odd[0], odd[1]);
        columns[at + 8] = _mm512_shuffle_i32x4::<0xdd>(even[0], even[1]);
        columns[at + 12] = _mm512_shuffle_i32x4::<0xdd>(odd[0], odd[1]);
    }
    columns
}

#[target_feature(enable = "avx512f")]
fn stored(value: Vector) -> [u8; 32] {
    let lower = _mm512_castsi512_si256(value);
    let words = [
        _mm256_extract_epi64::<0>(lower),
        _mm256_extract_epi64::<1>(lower),
        _mm256_extract_epi64::<2>(lower),
        _mm256_extract_epi64::<3>(lower),
    ];
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

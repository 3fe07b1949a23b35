//! Eight lanes: AVX2.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_extract_epi64, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set1_epi32,
    _mm256_setr_epi8, _mm256_setr_epi32, _mm256_setr_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_slli_epi32, _mm256_srli_epi32, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32,
    _mm256_unpacklo_epi64, _mm256_xor_si256,
};

use super::{BLOCK_BYTES, CHUNK_END, CHUNK_START, ContextKey, DERIVE_KEY_MATERIAL, IV, ROOT, SCHEDULE, compression};

pub(super) const LANES: usize = 8;

type Vector = __m256i;
/// The block of one lane, in halves.
type Row = [Vector; 2];

compression!("avx2");

/// The same in each lane.
#[target_feature(enable = "avx2")]
fn of_one(word: i32) -> Vector {
    _mm256_set1_epi32(word)
}

#[target_feature(enable = "avx2")]
fn of(w: [i32; LANES]) -> Vector {
    _mm256_setr_epi32(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7])
}

#[target_feature(enable = "avx2")]
fn add(one: Vector, two: Vector) -> Vector {
    _mm256_add_epi32(one, two)
}

#[target_feature(enable = "avx2")]
fn xor(one: Vector, two: Vector) -> Vector {
    _mm256_xor_si256(one, two)
}

#[target_feature(enable = "avx2")]
fn turned_by_16(value: Vector) -> Vector {
    let places = _mm256_setr_epi8(
        2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13,
    );
    _mm256_shuffle_epi8(value, places)
}

#[target_feature(enable = "avx2")]
fn turned_by_12(value: Vector) -> Vector {
    _mm256_or_si256(_mm256_srli_epi32::<12>(value), _mm256_slli_epi32::<20>(value))
}

#[target_feature(enable = "avx2")]
fn turned_by_8(value: Vector) -> Vector {
    let places = _mm256_setr_epi8(
        1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12, 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12,
    );
    _mm256_shuffle_epi8(value, places)
}

#[target_feature(enable = "avx2")]
fn turned_by_7(value: Vector) -> Vector {
    _mm256_or_si256(_mm256_srli_epi32::<7>(value), _mm256_slli_epi32::<25>(value))
}

#[target_feature(enable = "avx2")]
fn row(block: &[u8; BLOCK_BYTES]) -> Row {
    let mut words = [0; BLOCK_BYTES / 8];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = i64::from_le_bytes(*bytes);
    }
    let half = |w: &[i64]| _mm256_setr_epi64x(w[0], w[1], w[2], w[3]);
    [half(&words[..4]), half(&words[4..])]
}

/// Each word of the blocks, of all lanes.
#[target_feature(enable = "avx2")]
fn words(rows: &[Row; LANES]) -> [Vector; 16] {
    let mut words = [of_one(0); 16];
    words[..8].copy_from_slice(&transposed(rows.map(|[low, _]| low)));
    words[8..].copy_from_slice(&transposed(rows.map(|[_, high]| high)));
    words
}

/// The value of each lane.
#[target_feature(enable = "avx2")]
fn lanes_of(value: &[Vector; 8]) -> [Vector; LANES] {
    transposed(*value)
}

/// Eight words of each of eight rows, as the words of eight columns.
#[target_feature(enable = "avx2")]
fn transposed(rows: [Vector; 8]) -> [Vector; 8] {
    let pairs = |at: usize| {
        let (one, two) = (rows[2 * at], rows[2 * at + 1]);
        [_mm256_unpacklo_epi32(one, two), _mm256_unpackhi_epi32(one, two)]
    };
    let [ab, cd, ef, gh] = [pairs(0), pairs(1), pairs(2), pairs(3)];
    let quads = |one: [Vector; 2], two: [Vector; 2]| {
        [
            _mm256_unpacklo_epi64(one[0], two[0]),
            _mm256_unpackhi_epi64(one[0], two[0]),
            _mm256_unpacklo_epi64(one[1], two[1]),
            _mm256_unpackhi_epi64(one[1], two[1]),
        ]
    };
    let (upper, lower) = (quads(ab, cd), quads(ef, gh));
    let mut columns = [_mm256_setzero_si256(); 8];
    for at in 0..4 {
        columns[at] = _mm256_permute2x128_si256::<0x20>(upper[at], lower[at]);
        columns[at + 4] = _mm256_permute2x128_si256::<0x31>(upper[at], lower[at]);
    }
    columns
}

#[target_feature(enable = "avx2")]
fn stored(value: Vector) -> [u8; 32] {
    let words = [
        _mm256_extract_epi64::<0>(value),
        _mm256_extract_epi64::<1>(value),
        _mm256_extract_epi64::<2>(value),
        _mm256_extract_epi64::<3>(value),
    ];
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

//! Many short texts hashed at once: BLAKE3 over eight of them side by side, one in each lane of a vector.
//!
//! The library hashes the chunks of one long text like this; an event is shorter than a chunk, and the blocks of its hashes
//! wait for each other. Those of other events do not. The digests are the library's: a test compares them.
//!
//! Source of the numbers: the BLAKE3 paper, section 2 (O'Connor, Aumasson, Neves, Wilcox-O'Hearn).

use blake3::hazmat::{ContextKey, HasherExt as _};

/// How many texts are hashed side by side.
const LANES: usize = 8;
/// What is hashed at a time.
const BLOCK_BYTES: usize = 64;
/// Fewer texts than this are hashed one behind the other: eight lanes take as long as two or three texts alone.
const WORTH: usize = 4;

/// The digests of texts under a context key, in order, as the library's key derivation mode makes them.
pub(super) fn digests(key: &ContextKey, texts: &[&[u8]]) -> Vec<[u8; 32]> {
    // Where nothing is optimised, each instruction on a vector is the call of a function, and the library is faster.
    if cfg!(debug_assertions) || texts.len() < WORTH {
        return texts.iter().map(|text| alone(key, text)).collect();
    }
    side_by_side(key, texts)
}

fn side_by_side(key: &ContextKey, texts: &[&[u8]]) -> Vec<[u8; 32]> {
    let mut digests = vec![[0; 32]; texts.len()];
    let mut places: Vec<usize> = (0..texts.len()).collect();
    if texts.len() > LANES {
        // A lane whose text has ended waits for the longest one beside it.
        places.sort_unstable_by_key(|place| texts[*place].len().div_ceil(BLOCK_BYTES));
    }
    for places in places.chunks(LANES) {
        let mut group = [&[][..]; LANES];
        for (text, place) in group.iter_mut().zip(places) {
            *text = texts[*place];
        }
        let group = &group[..places.len()];
        let found = vectors::of_a_group(key, group);
        for (at, place) in places.iter().enumerate() {
            digests[*place] = found.map_or_else(|| alone(key, group[at]), |found| found[at]);
        }
    }
    digests
}

fn alone(key: &ContextKey, text: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new_from_context_key(key).update(text).finalize().as_bytes()
}

#[cfg(not(target_arch = "x86_64"))]
mod vectors {
    /// This processor has no vectors that are known here.
    pub(super) fn of_a_group(_: &super::ContextKey, _: &[&[u8]]) -> Option<[[u8; 32]; super::LANES]> {
        None
    }
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi32, _mm256_extract_epi64, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set1_epi32,
        _mm256_setr_epi8, _mm256_setr_epi32, _mm256_setr_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8,
        _mm256_slli_epi32, _mm256_srli_epi32, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32,
        _mm256_unpacklo_epi64, _mm256_xor_si256,
    };

    use super::{BLOCK_BYTES, ContextKey, LANES, WORTH};

    /// The longest text that is one chunk.
    const CHUNK_BYTES: usize = 1024;
    const HALF: usize = BLOCK_BYTES / 2;

    /// Flags of a block (table 3 of the paper).
    const CHUNK_START: i32 = 1;
    const CHUNK_END: i32 = 2;
    const ROOT: i32 = 8;
    const DERIVE_KEY_MATERIAL: i32 = 64;

    /// The first four words of the initial value (table 1).
    const IV: [u32; 4] = [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a];
    /// Where the words of a block go between two rounds (table 2).
    const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
    const ROUNDS: usize = 7;

    /// Which words of a block each round takes, in order.
    const SCHEDULE: [[usize; 16]; ROUNDS] = {
        let mut schedule = [[0; 16]; ROUNDS];
        let (mut round, mut word) = (0, 0);
        while round < ROUNDS {
            while word < 16 {
                schedule[round][word] = if round == 0 { word } else { schedule[round - 1][PERMUTATION[word]] };
                word += 1;
            }
            (round, word) = (round + 1, 0);
        }
        schedule
    };

    /// The digests of at most eight texts; `None` where they are too few, too long, or this processor has no such vectors.
    pub(super) fn of_a_group(key: &ContextKey, texts: &[&[u8]]) -> Option<[[u8; 32]; LANES]> {
        let fits = texts.len() >= WORTH && texts.iter().all(|text| text.len() <= CHUNK_BYTES);
        if !fits || !std::arch::is_x86_feature_detected!("avx2") {
            return None;
        }
        let mut all = [&[][..]; LANES];
        all[..texts.len()].copy_from_slice(texts);
        // SAFETY: the processor was just asked for what it needs.
        #[expect(unsafe_code, reason = "vectors of the processor are asked for at run time")]
        Some(unsafe { eight(key, &all) })
    }

    #[target_feature(enable = "avx2")]
    fn eight(key: &ContextKey, texts: &[&[u8]; LANES]) -> [[u8; 32]; LANES] {
        let mut value = [_mm256_setzero_si256(); 8];
        for (word, bytes) in value.iter_mut().zip(key.as_chunks().0) {
            *word = _mm256_set1_epi32(i32::from_le_bytes(*bytes));
        }
        let ends = texts.map(|text| text.len().div_ceil(BLOCK_BYTES).max(1));
        let most = ends.iter().copied().max().unwrap_or_default();
        let mut digests = [[0; 32]; LANES];
        for at in 1..=most {
            let (mut low, mut high) = ([_mm256_setzero_si256(); LANES], [_mm256_setzero_si256(); LANES]);
            let (mut lengths, mut flags) = ([0; LANES], [DERIVE_KEY_MATERIAL; LANES]);
            for lane in 0..LANES {
                let rest = texts[lane].get((at - 1) * BLOCK_BYTES..).unwrap_or_default();
                let mut padded = [0; BLOCK_BYTES];
                let block = rest.first_chunk().unwrap_or_else(|| {
                    padded[..rest.len()].copy_from_slice(rest);
                    &padded
                });
                let (one, two) = block.split_at(HALF);
                (low[lane], high[lane]) = (loaded(one), loaded(two));
                lengths[lane] = i32::try_from(rest.len().min(BLOCK_BYTES)).unwrap_or_default();
                flags[lane] |= if at == 1 { CHUNK_START } else { 0 };
                flags[lane] |= if at == ends[lane] { CHUNK_END | ROOT } else { 0 };
            }
            compress(&mut value, [transposed(low), transposed(high)].as_flattened(), [of(lengths), of(flags)]);
            if ends.contains(&at) {
                let values = transposed(value);
                for lane in (0..LANES).filter(|lane| ends[*lane] == at) {
                    digests[lane] = stored(values[lane]);
                }
            }
        }
        digests
    }

    /// One block of each lane into its value.
    #[target_feature(enable = "avx2")]
    fn compress(value: &mut [__m256i; 8], block: &[__m256i], [length, flags]: [__m256i; 2]) {
        let mut state = [_mm256_setzero_si256(); 16];
        state[..8].copy_from_slice(value);
        for (word, iv) in state[8..12].iter_mut().zip(IV) {
            *word = _mm256_set1_epi32(iv.cast_signed());
        }
        // The counter, which is 0 in the first chunk, stands before them.
        (state[14], state[15]) = (length, flags);
        for words in &SCHEDULE {
            let pair = |at: usize| [block[words[2 * at]], block[words[2 * at + 1]]];
            mix(&mut state, [0, 4, 8, 12], pair(0));
            mix(&mut state, [1, 5, 9, 13], pair(1));
            mix(&mut state, [2, 6, 10, 14], pair(2));
            mix(&mut state, [3, 7, 11, 15], pair(3));
            mix(&mut state, [0, 5, 10, 15], pair(4));
            mix(&mut state, [1, 6, 11, 12], pair(5));
            mix(&mut state, [2, 7, 8, 13], pair(6));
            mix(&mut state, [3, 4, 9, 14], pair(7));
        }
        let (low, high) = state.split_at(8);
        for (word, (low, high)) in value.iter_mut().zip(low.iter().zip(high)) {
            *word = _mm256_xor_si256(*low, *high);
        }
    }

    /// The quarter of a round that takes two words of the block.
    #[target_feature(enable = "avx2")]
    fn mix(state: &mut [__m256i; 16], [a, b, c, d]: [usize; 4], [one, two]: [__m256i; 2]) {
        let by_16 = _mm256_setr_epi8(
            2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13,
        );
        let by_8 = _mm256_setr_epi8(
            1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12, 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12,
        );
        state[a] = _mm256_add_epi32(_mm256_add_epi32(state[a], state[b]), one);
        state[d] = _mm256_shuffle_epi8(_mm256_xor_si256(state[d], state[a]), by_16);
        state[c] = _mm256_add_epi32(state[c], state[d]);
        let mixed = _mm256_xor_si256(state[b], state[c]);
        state[b] = _mm256_or_si256(_mm256_srli_epi32::<12>(mixed), _mm256_slli_epi32::<20>(mixed));
        state[a] = _mm256_add_epi32(_mm256_add_epi32(state[a], state[b]), two);
        state[d] = _mm256_shuffle_epi8(_mm256_xor_si256(state[d], state[a]), by_8);
        state[c] = _mm256_add_epi32(state[c], state[d]);
        let mixed = _mm256_xor_si256(state[b], state[c]);
        state[b] = _mm256_or_si256(_mm256_srli_epi32::<7>(mixed), _mm256_slli_epi32::<25>(mixed));
    }

    /// Eight words of each of eight rows, as the words of eight columns.
    #[target_feature(enable = "avx2")]
    fn transposed(rows: [__m256i; 8]) -> [__m256i; 8] {
        let pairs = |at: usize| {
            let (one, two) = (rows[2 * at], rows[2 * at + 1]);
            [_mm256_unpacklo_epi32(one, two), _mm256_unpackhi_epi32(one, two)]
        };
        let [ab, cd, ef, gh] = [pairs(0), pairs(1), pairs(2), pairs(3)];
        let quads = |one: [__m256i; 2], two: [__m256i; 2]| {
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
    fn of(w: [i32; LANES]) -> __m256i {
        _mm256_setr_epi32(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7])
    }

    /// Half a block.
    #[target_feature(enable = "avx2")]
    fn loaded(half: &[u8]) -> __m256i {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(half.as_chunks().0) {
            *word = i64::from_le_bytes(*bytes);
        }
        let [a, b, c, d] = words;
        _mm256_setr_epi64x(a, b, c, d)
    }

    #[target_feature(enable = "avx2")]
    fn stored(value: __m256i) -> [u8; 32] {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of every length around the ends of blocks, and of one chunk and more.
    #[test]
    fn the_digests_are_those_of_the_library() {
        let key = blake3::hazmat::hash_derive_key_context("a test of many at once");
        let mut random = blake3::Hasher::new_keyed(&[3; 32]).finalize_xof();
        for count in 0..40 {
            for longest in [0, 1, 63, 64, 65, 200, 1023, 1024, 1025, 3000] {
                let mut texts = vec![Vec::new(); count];
                for (place, text) in texts.iter_mut().enumerate() {
                    text.resize(longest.min(1 + (place * 131) % (longest + 1)), 0);
                    random.fill(text);
                }
                let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
                let one_by_one: Vec<[u8; 32]> = texts.iter().map(|text| alone(&key, text)).collect();
                assert_eq!(side_by_side(&key, &texts), one_by_one, "{count} texts of at most {longest} bytes");
            }
        }
    }
}

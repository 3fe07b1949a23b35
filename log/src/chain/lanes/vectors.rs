//! The compression of BLAKE3 for texts of one chunk, over vectors of the processor: what is the same for each width of them.

mod eight;
mod sixteen;

use super::{BLOCK_BYTES, ContextKey, LANES};

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

/// How many texts this processor hashes side by side.
pub(super) fn lanes() -> usize {
    if std::arch::is_x86_feature_detected!("avx512f") { sixteen::LANES } else { eight::LANES }
}

/// The digests of as many texts of one chunk as there are lanes, or fewer; `None` where this processor has no such vectors.
pub(super) fn of_a_group(key: &ContextKey, texts: &[&[u8]]) -> Option<[[u8; 32]; LANES]> {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return None;
    }
    let mut digests = [[0; 32]; LANES];
    // SAFETY: the processor was just asked for what each needs.
    #[expect(unsafe_code, reason = "vectors of the processor are asked for at run time")]
    unsafe {
        if texts.len() > eight::LANES && std::arch::is_x86_feature_detected!("avx512f") {
            sixteen::digests(key, texts, &mut digests);
        } else {
            for (texts, digests) in texts.chunks(eight::LANES).zip(digests.chunks_mut(eight::LANES)) {
                eight::digests(key, texts, digests);
            }
        }
    }
    Some(digests)
}

/// The digests of a group of texts, over the vectors that the module around it is about.
macro_rules! compression {
    ($features:literal) => {
        /// Stores the digests of at most so many texts as there are lanes.
        #[target_feature(enable = $features)]
        pub(super) fn digests(key: &ContextKey, texts: &[&[u8]], digests: &mut [[u8; 32]]) {
            let mut all = [&[][..]; LANES];
            all[..texts.len()].copy_from_slice(texts);
            let mut value = [of_one(0); 8];
            for (word, bytes) in value.iter_mut().zip(key.as_chunks().0) {
                *word = of_one(i32::from_le_bytes(*bytes));
            }
            let ends = all.map(|text| text.len().div_ceil(BLOCK_BYTES).max(1));
            let most = ends.iter().copied().max().unwrap_or_default();
            for at in 1..=most {
                let mut rows = [row(&[0; BLOCK_BYTES]); LANES];
                let (mut lengths, mut flags) = ([0; LANES], [DERIVE_KEY_MATERIAL; LANES]);
                for lane in 0..LANES {
                    let rest = all[lane].get((at - 1) * BLOCK_BYTES..).unwrap_or_default();
                    rows[lane] = match rest.first_chunk() {
                        Some(block) => row(block),
                        None => {
                            let mut padded = [0; BLOCK_BYTES];
                            padded[..rest.len()].copy_from_slice(rest);
                            row(&padded)
                        }
                    };
                    lengths[lane] = i32::try_from(rest.len().min(BLOCK_BYTES)).unwrap_or_default();
                    flags[lane] |= if at == 1 { CHUNK_START } else { 0 };
                    flags[lane] |= if at == ends[lane] { CHUNK_END | ROOT } else { 0 };
                }
                compress(&mut value, &words(&rows), [of(lengths), of(flags)]);
                if ends.contains(&at) {
                    let values = lanes_of(&value);
                    for (lane, digest) in digests.iter_mut().enumerate().take(texts.len()) {
                        if ends[lane] == at {
                            *digest = stored(values[lane]);
                        }
                    }
                }
            }
        }

        /// One block of each lane into its value.
        #[target_feature(enable = $features)]
        fn compress(value: &mut [Vector; 8], block: &[Vector; 16], [length, flags]: [Vector; 2]) {
            let mut state = [of_one(0); 16];
            state[..8].copy_from_slice(value);
            for (word, iv) in state[8..12].iter_mut().zip(IV) {
                *word = of_one(iv.cast_signed());
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
                *word = xor(*low, *high);
            }
        }

        /// The quarter of a round that takes two words of the block.
        #[target_feature(enable = $features)]
        fn mix(state: &mut [Vector; 16], [a, b, c, d]: [usize; 4], [one, two]: [Vector; 2]) {
            state[a] = add(add(state[a], state[b]), one);
            state[d] = turned_by_16(xor(state[d], state[a]));
            state[c] = add(state[c], state[d]);
            state[b] = turned_by_12(xor(state[b], state[c]));
            state[a] = add(add(state[a], state[b]), two);
            state[d] = turned_by_8(xor(state[d], state[a]));
            state[c] = add(state[c], state[d]);
            state[b] = turned_by_7(xor(state[b], state[c]));
        }
    };
}
use compression;

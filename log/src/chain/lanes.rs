//! Many short texts hashed at once: BLAKE3 over eight or sixteen of them side by side, one in each lane of a vector.
//!
//! The library hashes the chunks of one long text like this; an event is shorter than a chunk, and the blocks of its hashes
//! wait for each other. Those of other events do not. The digests are the library's: a test compares them.
//!
//! Source of the numbers: the BLAKE3 paper, section 2 (O'Connor, Aumasson, Neves, Wilcox-O'Hearn).

#[cfg(target_arch = "x86_64")]
mod vectors;

use blake3::hazmat::{ContextKey, HasherExt as _};

/// The most texts that are hashed side by side.
const LANES: usize = 16;
/// What is hashed at a time.
const BLOCK_BYTES: usize = 64;
/// The longest text whose blocks are all behind each other.
const CHUNK_BYTES: usize = 1024;
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
    // A lane whose text has ended waits for the longest one beside it.
    places.sort_unstable_by_key(|place| texts[*place].len().div_ceil(BLOCK_BYTES));
    let (short, long) = places.split_at(places.partition_point(|place| texts[*place].len() <= CHUNK_BYTES));
    for places in short.chunks(vectors::lanes()) {
        let mut group = [&[][..]; LANES];
        for (text, place) in group.iter_mut().zip(places) {
            *text = texts[*place];
        }
        let group = &group[..places.len()];
        let found = if group.len() < WORTH { None } else { vectors::of_a_group(key, group) };
        for (at, place) in places.iter().enumerate() {
            digests[*place] = found.map_or_else(|| alone(key, group[at]), |found| found[at]);
        }
    }
    for place in long {
        digests[*place] = alone(key, texts[*place]);
    }
    digests
}

fn alone(key: &ContextKey, text: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new_from_context_key(key).update(text).finalize().as_bytes()
}

#[cfg(not(target_arch = "x86_64"))]
mod vectors {
    /// This processor has no vectors that are known here.
    pub(super) fn lanes() -> usize {
        super::LANES
    }

    pub(super) fn of_a_group(_: &super::ContextKey, _: &[&[u8]]) -> Option<[[u8; 32]; super::LANES]> {
        None
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

//! Leaves, heads and the range root: what makes the record provable (design 2-log, «Chain, checkpoints»).
//!
//! A leaf commits to an event's number, header and payload digest; the head chains the leaves; the Merkle mountain range
//! over all leaves gives one root, so that a single event can be proved without showing the others.

mod lanes;

use std::sync::LazyLock;

use blake3::hazmat::{ContextKey, HasherExt as _, hash_derive_key_context};

use crate::codec::HEADER_BYTES_USUAL;

/// Contexts are hashed once: an event needs four short hashes, and the context would double each.
static PAYLOAD: LazyLock<ContextKey> = LazyLock::new(|| hash_derive_key_context("metnos log payload v1"));
static LEAF: LazyLock<ContextKey> = LazyLock::new(|| hash_derive_key_context("metnos log leaf v1"));
static NODE: LazyLock<ContextKey> = LazyLock::new(|| hash_derive_key_context("metnos log range node v1"));

/// A digest's length.
const DIGEST_BYTES: usize = 32;

/// The head before the first event.
pub const GENESIS: [u8; 32] = [0; 32];

/// The digest of a payload under its salt. Salted, since the digest of a short text could be guessed.
pub fn payload_digest(salt: &[u8; 16], payload: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_from_context_key(&PAYLOAD);
    hasher.update(salt).update(payload);
    *hasher.finalize().as_bytes()
}

/// The same of many at once: each text is a salt and the payload behind it.
pub(crate) fn payload_digests(salted: &[&[u8]]) -> Vec<[u8; 32]> {
    lanes::digests(&PAYLOAD, salted)
}

/// What events' leaves are the digests of: number, header and payload digest of each, one behind the other.
pub(crate) struct Committed {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Committed {
    /// Room for so many events.
    pub(crate) fn with_capacity(events: usize) -> Self {
        let bytes = Vec::with_capacity(events * (size_of::<u64>() + HEADER_BYTES_USUAL + DIGEST_BYTES));
        Self { bytes, ends: Vec::with_capacity(events) }
    }

    /// Takes one more event in.
    pub(crate) fn push(&mut self, seq: u64, header: &[u8], payload_digest: &[u8; 32]) {
        self.bytes.extend(seq.to_le_bytes());
        self.bytes.extend_from_slice(header);
        self.bytes.extend_from_slice(payload_digest);
        self.ends.push(self.bytes.len());
    }

    /// The leaf of each.
    pub(crate) fn leaves(&self) -> Vec<[u8; 32]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let texts: Vec<&[u8]> = starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end]).collect();
        lanes::digests(&LEAF, &texts)
    }
}

/// The leaf of one event.
pub fn leaf(seq: u64, header: &[u8], payload_digest: &[u8; 32]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_from_context_key(&LEAF);
    hasher.update(&seq.to_le_bytes()).update(header).update(payload_digest);
    *hasher.finalize().as_bytes()
}

/// The head after one more leaf.
pub fn advance(head: &[u8; 32], leaf: &[u8; 32]) -> [u8; 32] {
    *blake3::hash([*head, *leaf].as_flattened()).as_bytes()
}

/// A node of the range over its two halves.
pub(crate) fn parent(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_from_context_key(&NODE);
    hasher.update(left).update(right);
    *hasher.finalize().as_bytes()
}

/// The peaks of a Merkle mountain range, largest first: one a set bit of the number of leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Range {
    size: u64,
    peaks: Vec<[u8; 32]>,
}

impl Range {
    /// How many leaves it covers.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Adds a leaf.
    pub fn push(&mut self, leaf: [u8; 32]) {
        let mut node = leaf;
        for _ in 0..self.size.trailing_ones() {
            let left = self.peaks.pop().expect("one peak a set bit of the size");
            node = parent(&left, &node);
        }
        self.peaks.push(node);
        self.size += 1;
    }

    /// Adds leaves, many at once: what is made of them at one height does not wait for each other.
    pub fn extend(&mut self, leaves: &[[u8; 32]]) {
        let (mut nodes, mut made) = (leaves.to_vec(), Vec::new());
        for height in 0.. {
            if nodes.is_empty() {
                break;
            }
            if self.size >> height & 1 == 1 {
                nodes.insert(0, self.peaks.pop().expect("one peak a set bit of the size"));
            }
            if nodes.len() % 2 == 1 {
                made.extend(nodes.pop());
            }
            let pairs: Vec<&[u8]> = nodes.as_flattened().chunks(2 * DIGEST_BYTES).collect();
            nodes = lanes::digests(&NODE, &pairs);
        }
        self.peaks.extend(made.into_iter().rev());
        self.size += leaves.len() as u64;
    }

    /// One digest over all leaves: the peaks folded from the smallest up, under the number of leaves.
    pub fn root(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("metnos log range root v1");
        hasher.update(&self.size.to_le_bytes());
        if let Some(folded) = self.peaks.iter().rev().copied().reduce(|right, left| parent(&left, &right)) {
            hasher.update(&folded);
        }
        *hasher.finalize().as_bytes()
    }

    /// The stored form: size and peaks.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.size.to_le_bytes().to_vec();
        bytes.extend(self.peaks.iter().flatten());
        bytes
    }

    /// Reads the stored form; `None` when the number of peaks does not fit the size.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (size, rest) = bytes.split_first_chunk::<8>()?;
        let size = u64::from_le_bytes(*size);
        let (peaks, tail) = rest.as_chunks::<32>();
        (tail.is_empty() && u32::try_from(peaks.len()) == Ok(size.count_ones()))
            .then(|| Self { size, peaks: peaks.to_vec() })
    }
}

/// The state of the chain after some event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The head.
    pub head: [u8; 32],
    /// The range over all leaves.
    pub range: Range,
}

impl Default for Chain {
    fn default() -> Self {
        Self { head: GENESIS, range: Range::default() }
    }
}

impl Chain {
    /// Takes one more leaf in.
    pub fn push(&mut self, leaf: [u8; 32]) {
        self.head = advance(&self.head, &leaf);
        self.range.push(leaf);
    }

    /// Takes leaves in; returns the head after each.
    pub(crate) fn extend(&mut self, leaves: &[[u8; 32]]) -> Vec<[u8; 32]> {
        let heads = leaves.iter().map(|leaf| {
            self.head = advance(&self.head, leaf);
            self.head
        });
        let heads = heads.collect();
        self.range.extend(leaves);
        heads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The root by its definition, from all leaves at once.
    fn root_of(leaves: &[[u8; 32]]) -> [u8; 32] {
        fn tree(leaves: &[[u8; 32]]) -> [u8; 32] {
            if let [only] = leaves {
                return *only;
            }
            let (left, right) = leaves.split_at(leaves.len() / 2);
            parent(&tree(left), &tree(right))
        }
        let mut peaks = Vec::new();
        let mut rest = leaves;
        for bit in (0..usize::BITS).rev() {
            if leaves.len() & (1 << bit) != 0 {
                let (first, others) = rest.split_at(1 << bit);
                peaks.push(tree(first));
                rest = others;
            }
        }
        let mut hasher = blake3::Hasher::new_derive_key("metnos log range root v1");
        hasher.update(&(leaves.len() as u64).to_le_bytes());
        if let Some(folded) = peaks.into_iter().rev().reduce(|right, left| parent(&left, &right)) {
            hasher.update(&folded);
        }
        *hasher.finalize().as_bytes()
    }

    #[test]
    fn the_range_grows_into_the_root_of_its_definition() {
        let leaves: Vec<[u8; 32]> = (0_u64..67).map(|n| leaf(n, b"header", &[3; 32])).collect();
        let mut range = Range::default();
        for (index, leaf) in leaves.iter().enumerate() {
            range.push(*leaf);
            assert_eq!(range.root(), root_of(&leaves[..=index]), "at {index}");
            assert_eq!(Range::from_bytes(&range.to_bytes()), Some(range.clone()));
        }
    }

    #[test]
    fn many_at_once_are_as_many_one_by_one() {
        for (before, more) in (0_u64..40).flat_map(|before| (0_u64..40).map(move |more| (before, more))) {
            let leaves: Vec<[u8; 32]> = (0..before + more).map(|n| leaf(n, b"header", &[3; 32])).collect();
            let (first, rest) = leaves.split_at(usize::try_from(before).unwrap());
            let mut one_by_one = Chain::default();
            for leaf in &leaves {
                one_by_one.push(*leaf);
            }
            let mut at_once = Chain::default();
            at_once.extend(first);
            let heads = at_once.extend(rest);
            assert_eq!(at_once, one_by_one, "{before} and {more}");
            assert_eq!(heads.last().copied().unwrap_or(at_once.head), one_by_one.head);
        }
        let mut committed = Committed::with_capacity(20);
        (0..20).for_each(|n| committed.push(n, b"header", &[3; 32]));
        assert_eq!(committed.leaves(), (0..20).map(|n| leaf(n, b"header", &[3; 32])).collect::<Vec<_>>());
    }

    /// The kept contexts are those that the format names.
    #[test]
    fn the_hashes_are_derived_from_their_contexts() {
        let derived = |context: &str, parts: &[&[u8]]| {
            let mut hasher = blake3::Hasher::new_derive_key(context);
            for part in parts {
                hasher.update(part);
            }
            *hasher.finalize().as_bytes()
        };
        assert_eq!(payload_digest(&[5; 16], b"yes"), derived("metnos log payload v1", &[&[5; 16], b"yes"]));
        let seq = 258_u64.to_le_bytes();
        assert_eq!(leaf(258, b"header", &[3; 32]), derived("metnos log leaf v1", &[&seq, b"header", &[3; 32]]));
        assert_eq!(parent(&[1; 32], &[2; 32]), derived("metnos log range node v1", &[&[1; 32], &[2; 32]]));
    }

    #[test]
    fn a_leaf_depends_on_every_part() {
        let base = leaf(1, b"h", &[0; 32]);
        assert_ne!(base, leaf(2, b"h", &[0; 32]));
        assert_ne!(base, leaf(1, b"i", &[0; 32]));
        assert_ne!(base, leaf(1, b"h", &payload_digest(&[0; 16], b"")));
        assert_ne!(payload_digest(&[0; 16], b"yes"), payload_digest(&[1; 16], b"yes"));
    }
}

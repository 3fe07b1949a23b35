//! Inclusion proofs over the Merkle mountain range of [`crate::chain`], of one leaf or of many at once.
//!
//! A proof is a list of parts from left to right: a leaf that is shown, or the hash of a whole subtree that holds no such
//! leaf. No list is shorter, and there is one list for each set of leaves, so a changed list is a wrong one. The verifier
//! has no leaf's number from anyone: it follows from the shape.

use std::collections::BTreeSet;

use crate::chain::{Range, parent};

/// One part of a proof. Shown in an export as `leaf` or as `HEIGHT:HASH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A leaf that is shown; whoever verifies has its hash from the event itself.
    Leaf,
    /// A subtree over 2^height leaves, none of which is shown.
    Subtree {
        /// Its height; 0 is a single leaf.
        height: u8,
        /// Its hash.
        hash: [u8; 32],
    },
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Leaf => f.write_str("leaf"),
            Self::Subtree { height, hash } => write!(f, "{height}:{}", blake3::Hash::from_bytes(*hash).to_hex()),
        }
    }
}

impl std::str::FromStr for Part {
    type Err = ProofError;

    /// Takes exactly what is written, and no other spelling of it.
    fn from_str(text: &str) -> Result<Self, ProofError> {
        if text == "leaf" {
            return Ok(Self::Leaf);
        }
        let read = || {
            let (height, hash) = text.split_once(':')?;
            let part =
                Self::Subtree { height: height.parse().ok()?, hash: *blake3::Hash::from_hex(hash).ok()?.as_bytes() };
            (part.to_string() == text).then_some(part)
        };
        read().ok_or(ProofError::Part)
    }
}

/// Why a list of parts proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// A part is neither `leaf` nor a height and a hash.
    #[error("a part of the proof cannot be read")]
    Part,
    /// A subtree lies where none of its height can lie.
    #[error("a subtree of the proof does not lie where it can lie")]
    Misplaced,
    /// Two parts are one subtree that holds no shown leaf.
    #[error("the proof is longer than it can be")]
    Longer,
    /// The parts cover fewer or more leaves than there are.
    #[error("the proof is about another number of events")]
    Size,
    /// There are fewer or more shown leaves than the parts say.
    #[error("the proof is about other events than those shown")]
    Leaves,
    /// They lead elsewhere.
    #[error("the proof does not lead to the signed root")]
    Root,
}

/// Builds a proof while all leaves pass by, in memory for what is shown and log n more.
#[derive(Debug, Default)]
pub struct Builder {
    shown: BTreeSet<u64>,
    /// The subtrees that are whole so far, from the left, with their heights: none where their parts are in the list.
    open: Vec<(u8, Option<[u8; 32]>)>,
    parts: Vec<Part>,
    range: Range,
}

impl Builder {
    /// Of these events, by their numbers, which begin at 1.
    pub fn new(shown: impl IntoIterator<Item = u64>) -> Self {
        Self { shown: shown.into_iter().collect(), ..Self::default() }
    }

    /// Takes the next leaf.
    pub fn push(&mut self, leaf: [u8; 32]) {
        let seq = self.range.size() + 1;
        self.range.push(leaf);
        if self.shown.contains(&seq) {
            // What is whole on the left of a shown leaf never joins with anything but what holds that leaf.
            for (height, hash) in &mut self.open {
                self.parts.extend(hash.take().map(|hash| Part::Subtree { height: *height, hash }));
            }
            self.parts.push(Part::Leaf);
            self.open.push((0, None));
        } else {
            self.open.push((0, Some(leaf)));
        }
        while let [.., (left, left_hash), (right, right_hash)] = self.open[..]
            && left == right
        {
            self.open.truncate(self.open.len() - 2);
            let joined = match (left_hash, right_hash) {
                (Some(left), Some(right)) => Some(parent(&left, &right)),
                (_, right_hash) => {
                    self.parts.extend(right_hash.map(|hash| Part::Subtree { height: right, hash }));
                    None
                }
            };
            self.open.push((left + 1, joined));
        }
    }

    /// The proof, with the range over all leaves that it leads to.
    pub fn finish(mut self) -> (Vec<Part>, Range) {
        let rest =
            self.open.iter().filter_map(|(height, hash)| hash.map(|hash| Part::Subtree { height: *height, hash }));
        self.parts.extend(rest);
        (self.parts, self.range)
    }
}

/// The numbers of the events that a proof shows, in order.
pub fn shown(size: u64, parts: &[Part]) -> Result<Vec<u64>, ProofError> {
    let mut at = 0_u64;
    let mut shown = Vec::new();
    for part in parts {
        if *part == Part::Leaf {
            shown.push(at.checked_add(1).ok_or(ProofError::Size)?);
        }
        at = after(at, part, size)?;
    }
    if at == size { Ok(shown) } else { Err(ProofError::Size) }
}

/// Where the next part begins.
fn after(at: u64, part: &Part, size: u64) -> Result<u64, ProofError> {
    let height = match part {
        Part::Leaf => 0,
        Part::Subtree { height, .. } => u32::from(*height),
    };
    let leaves = 1_u64.checked_shl(height).ok_or(ProofError::Misplaced)?;
    let end = at.checked_add(leaves).ok_or(ProofError::Size)?;
    // A subtree begins at a multiple of what it holds; one that ends within the range then lies within a peak.
    match (at.is_multiple_of(leaves), end <= size) {
        (true, true) => Ok(end),
        (false, _) => Err(ProofError::Misplaced),
        (_, false) => Err(ProofError::Size),
    }
}

/// Computes the root that parts and shown leaves lead to and compares it. `leaves` in the order of [`shown`].
pub fn verify(size: u64, root: &[u8; 32], parts: &[Part], leaves: &[[u8; 32]]) -> Result<(), ProofError> {
    if shown(size, parts)?.len() != leaves.len() {
        return Err(ProofError::Leaves);
    }
    let mut leaves = leaves.iter();
    // Hash, height, and whether a leaf in it is shown.
    let mut open: Vec<([u8; 32], u8, bool)> = Vec::new();
    for part in parts {
        open.push(match part {
            Part::Leaf => (*leaves.next().ok_or(ProofError::Leaves)?, 0, true),
            Part::Subtree { height, hash } => (*hash, *height, false),
        });
        while let [.., (left, height, left_shows), (right, right_height, right_shows)] = open[..]
            && height == right_height
        {
            if !left_shows && !right_shows {
                return Err(ProofError::Longer);
            }
            open.truncate(open.len() - 2);
            open.push((parent(&left, &right), height + 1, true));
        }
    }
    let mut stored = size.to_le_bytes().to_vec();
    stored.extend(open.iter().flat_map(|(hash, ..)| hash));
    let range = Range::from_bytes(&stored).ok_or(ProofError::Misplaced)?;
    if range.root() == *root { Ok(()) } else { Err(ProofError::Root) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(size: u64) -> Vec<[u8; 32]> {
        (1..=size).map(|seq| crate::chain::leaf(seq, b"header", &[5; 32])).collect()
    }

    fn built(leaves: &[[u8; 32]], shown: &BTreeSet<u64>) -> (Vec<Part>, [u8; 32]) {
        let mut builder = Builder::new(shown.iter().copied());
        for leaf in leaves {
            builder.push(*leaf);
        }
        let (parts, range) = builder.finish();
        (parts, range.root())
    }

    /// The parts by their definition, from all leaves at once.
    fn defined(leaves: &[[u8; 32]], shown: &BTreeSet<u64>) -> Vec<Part> {
        fn hash(leaves: &[[u8; 32]]) -> [u8; 32] {
            match leaves {
                [only] => *only,
                _ => parent(&hash(&leaves[..leaves.len() / 2]), &hash(&leaves[leaves.len() / 2..])),
            }
        }
        fn tree(first: u64, leaves: &[[u8; 32]], shown: &BTreeSet<u64>, parts: &mut Vec<Part>) {
            let half = leaves.len() / 2;
            if shown.range(first..first + leaves.len() as u64).next().is_none() {
                let height = u8::try_from(leaves.len().trailing_zeros()).unwrap();
                parts.push(Part::Subtree { height, hash: hash(leaves) });
            } else if half == 0 {
                parts.push(Part::Leaf);
            } else {
                tree(first, &leaves[..half], shown, parts);
                tree(first + half as u64, &leaves[half..], shown, parts);
            }
        }
        let (mut parts, mut at) = (Vec::new(), 0);
        for bit in (0..usize::BITS).rev().filter(|bit| leaves.len() & (1 << bit) != 0) {
            tree(at as u64 + 1, &leaves[at..at + (1 << bit)], shown, &mut parts);
            at += 1 << bit;
        }
        parts
    }

    /// Subsets of 1..=size: all of them while there are few, then a sample that the numbers themselves give.
    fn subsets(size: u64) -> Vec<BTreeSet<u64>> {
        let of = |mask: u128| (1..=size).filter(|seq| mask & (1 << (seq - 1)) != 0).collect();
        if size <= 9 {
            return (0..1_u128 << size).map(of).collect();
        }
        let sampled = (0..40_u64).map(|n| {
            let bytes = *blake3::hash(&[size.to_le_bytes(), n.to_le_bytes()].concat()).as_bytes();
            let draw = |at: usize| u128::from_le_bytes(bytes[at..at + 16].try_into().unwrap());
            // Dense ones and sparse ones.
            if n % 2 == 0 { draw(0) } else { draw(0) & draw(16) & draw(8) }
        });
        let single = (1..=size).map(|seq| 1_u128 << (seq - 1));
        sampled.chain(single).chain([0, u128::MAX]).map(of).collect()
    }

    #[test]
    fn a_proof_is_what_its_definition_says_and_leads_to_the_root() {
        for size in 0..=70 {
            let all = leaves(size);
            let root = all.iter().fold(Range::default(), |mut range, leaf| {
                range.push(*leaf);
                range
            });
            for subset in subsets(size) {
                let (parts, built_root) = built(&all, &subset);
                assert_eq!(parts, defined(&all, &subset), "{size} {subset:?}");
                assert_eq!(built_root, root.root());
                assert_eq!(shown(size, &parts).unwrap(), subset.iter().copied().collect::<Vec<_>>());
                let own: Vec<[u8; 32]> = subset.iter().map(|seq| all[usize::try_from(seq - 1).unwrap()]).collect();
                assert_eq!(verify(size, &built_root, &parts, &own), Ok(()), "{size} {subset:?}");
            }
        }
    }

    #[test]
    fn whatever_is_changed_is_refused() {
        for (size, subset) in [(1, vec![1]), (7, vec![3]), (16, vec![5, 6]), (23, vec![1, 12, 23]), (64, vec![40])] {
            let all = leaves(size);
            let (parts, root) = built(&all, &subset.iter().copied().collect());
            let own: Vec<[u8; 32]> = subset.iter().map(|seq| all[usize::try_from(seq - 1).unwrap()]).collect();
            assert_eq!(verify(size, &root, &parts, &own), Ok(()));
            for other in (0..200).filter(|other| *other != size) {
                assert!(verify(other, &root, &parts, &own).is_err(), "size {size} as {other}");
            }
            for at in 0..parts.len() {
                let without = [&parts[..at], &parts[at + 1..]].concat();
                assert!(verify(size, &root, &without, &own).is_err());
                let twice = [&parts[..=at], &parts[at..]].concat();
                assert!(verify(size, &root, &twice, &own).is_err());
                let mut swapped = parts.clone();
                swapped.swap(at, (at + 1) % parts.len());
                assert!(swapped == parts || verify(size, &root, &swapped, &own).is_err());
                for changed in changes(parts[at]) {
                    let mut other = parts.clone();
                    other[at] = changed;
                    assert!(verify(size, &root, &other, &own).is_err(), "{size} part {at} {changed:?}");
                }
            }
            for at in 0..own.len() {
                let mut other = own.clone();
                other[at][7] ^= 1;
                assert_eq!(verify(size, &root, &parts, &other), Err(ProofError::Root));
                assert_eq!(verify(size, &root, &parts, &own[1..]), Err(ProofError::Leaves));
            }
        }
    }

    fn changes(part: Part) -> Vec<Part> {
        match part {
            Part::Leaf => (0..=255).map(|height| Part::Subtree { height, hash: [1; 32] }).collect(),
            Part::Subtree { height, hash } => {
                let other = |height| Part::Subtree { height, hash };
                let mut flipped = hash;
                flipped[31] ^= 0x80;
                let heights = (0..=255).filter(|h| *h != height).map(other);
                heights.chain([Part::Leaf, Part::Subtree { height, hash: flipped }]).collect()
            }
        }
    }

    /// A list that says the same in more parts would be a second proof of one thing.
    #[test]
    fn a_longer_list_is_refused() {
        let all = leaves(8);
        let (parts, root) = built(&all, &[8].into());
        let Part::Subtree { height: 2, .. } = parts[0] else { panic!("{parts:?}") };
        let halves = [&all[..2], &all[2..4]].map(|two| Part::Subtree { height: 1, hash: parent(&two[0], &two[1]) });
        let longer = [&halves[..], &parts[1..]].concat();
        assert_eq!(verify(8, &root, &longer, &all[7..]), Err(ProofError::Longer));
    }

    /// Peaks whose heights are told the other way round lead to the same root, and would give a leaf another number.
    #[test]
    fn a_subtree_lies_only_where_it_can_lie() {
        let all = leaves(13);
        let (parts, root) = built(&all, &[11].into());
        let hidden = |height, part: Part| match part {
            Part::Subtree { hash, .. } => Part::Subtree { height, hash },
            Part::Leaf => part,
        };
        let [eight, two, leaf, one, last] = parts[..] else { panic!("{parts:?}") };
        let turned = [hidden(0, eight), two, leaf, one, hidden(3, last)];
        assert_eq!(shown(13, &parts), Ok(vec![11]));
        assert_eq!(verify(13, &root, &turned, &all[10..11]), Err(ProofError::Misplaced));
    }

    #[test]
    fn hostile_sizes_and_heights_are_refused_and_nothing_breaks() {
        let hash = [9; 32];
        let high = |height| Part::Subtree { height, hash };
        for size in [0, 1, 2, u64::MAX - 1, u64::MAX, 1 << 63] {
            for parts in [
                vec![],
                vec![Part::Leaf],
                vec![high(63)],
                vec![high(64)],
                vec![high(255)],
                vec![high(63), high(63)],
                vec![high(63), high(62), Part::Leaf],
                vec![high(0); 70],
                (0..64).rev().map(high).collect(),
            ] {
                let leaves = vec![hash; parts.iter().filter(|part| **part == Part::Leaf).count()];
                assert!(verify(size, &[0; 32], &parts, &leaves).is_err(), "{size} {parts:?}");
            }
        }
        assert_eq!(shown(1 << 63, &[high(63)]), Ok(Vec::new()));
    }

    #[test]
    fn a_part_is_read_as_it_is_written() {
        for part in [Part::Leaf, Part::Subtree { height: 12, hash: [0xab; 32] }] {
            assert_eq!(part.to_string().parse(), Ok(part));
        }
        let hash = "ab".repeat(32);
        for text in ["", "Leaf", "1", "1:", &format!("01:{hash}"), &format!("+1:{hash}"), &format!("256:{hash}")] {
            assert_eq!(text.parse::<Part>(), Err(ProofError::Part), "{text}");
        }
        assert_eq!(format!("1:{}", hash.to_uppercase()).parse::<Part>(), Err(ProofError::Part));
    }
}

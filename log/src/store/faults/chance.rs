//! Chance that a seed decides: the same number gives the same run. Not for secrets.

use std::fmt::Write as _;

/// SplitMix64 (Steele, Lea, Flood: «Fast splittable pseudorandom number generators», 2014).
#[derive(Clone, Debug)]
pub(in crate::store) struct Chance(u64);

const WORDS: [&str; 16] = [
    "kettle", "garden", "window", "letter", "summer", "basket", "pencil", "tunnel", "harbour", "lantern", "meadow",
    "pepper", "saddle", "violin", "walnut", "thunder",
];

impl Chance {
    pub(in crate::store) fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub(in crate::store) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(in crate::store) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).expect("it is below a usize")
    }

    /// A number of a range.
    pub(in crate::store) fn within(&mut self, range: std::ops::RangeInclusive<usize>) -> usize {
        range.start() + self.below(range.end() - range.start() + 1)
    }

    /// True so many times in a hundred.
    pub(in crate::store) fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    pub(in crate::store) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    pub(in crate::store) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Words with numbers between them, of about so many bytes: as compressible as a household's texts.
    pub(in crate::store) fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            let drawn = self.next();
            let word = WORDS[usize::try_from(drawn % 16).expect("it is below 16")];
            write!(text, "{word} {} ", (drawn >> 8) % 1000).expect("a string takes every text");
        }
        text
    }
}

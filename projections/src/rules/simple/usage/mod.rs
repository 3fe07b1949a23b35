//! What sentences of a kind usually mean: a linear model over words and spans, learned from `prompts/usage.tsv`.
//!
//! A *frame* is the bare shape of a pipeline (`find_files > sort_entries by=size desc top`). The model ranks frames for a
//! sentence; it fills no argument and knows no target. Weights are learned by `cargo run -p metnos-usage`, stand in
//! `weights.txt`, and are used in whole numbers only, so that a sentence ranks alike on every machine.

mod features;
mod frame;

use std::cmp::Ordering;
use std::sync::OnceLock;

pub(crate) use self::features::features;
pub(crate) use self::frame::frame_of;

/// A frame and how likely it is, in thousandths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Likely {
    pub(crate) frame: String,
    pub(crate) permille: u32,
}

/// The learned weights: for each feature the frames that it speaks for or against, in hundredths of a nat.
///
/// A sentence has some dozens of the thousands of features, so these are looked up in the text, which is sorted by them.
#[derive(Debug)]
pub(crate) struct Usage {
    frames: Vec<&'static str>,
    /// `feature<TAB>frame:weight …`, a feature a line.
    weights: &'static str,
}

impl Usage {
    /// The weights that this binary was built with.
    pub(crate) fn embedded() -> &'static Self {
        static USAGE: OnceLock<Usage> = OnceLock::new();
        USAGE.get_or_init(|| {
            Self::parse(include_str!("weights.txt")).expect("the embedded weights are looked through by a test")
        })
    }

    /// Takes `weights.txt`: comments, one line of frames, then the features.
    fn parse(mut text: &'static str) -> Option<Self> {
        loop {
            let (line, rest) = text.split_once('\n')?;
            if !line.starts_with("# ") {
                return Some(Self { frames: line.split('\t').collect(), weights: rest });
            }
            text = rest;
        }
    }

    /// The frames of a feature and their weights; none where it is not known.
    fn weights(&self, feature: &str) -> impl Iterator<Item = (usize, i16)> {
        self.line(feature).unwrap_or_default().split(' ').filter_map(|pair| {
            let (frame, weight) = pair.split_once(':')?;
            Some((frame.parse().ok()?, weight.parse().ok()?))
        })
    }

    /// What stands behind a feature: found by halving the text.
    fn line(&self, feature: &str) -> Option<&'static str> {
        let mut left = self.weights;
        while !left.is_empty() {
            let half = left.as_bytes()[..left.len() / 2].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
            let (line, after) = left[half..].split_once('\n').unwrap_or((&left[half..], ""));
            let (found, weights) = line.split_once('\t')?;
            match feature.cmp(found) {
                Ordering::Equal => return Some(weights),
                Ordering::Less => left = &left[..half],
                Ordering::Greater => left = after,
            }
        }
        None
    }

    /// The frames of a sentence with these features, the likeliest first.
    pub(crate) fn rank(&self, features: &[String]) -> Vec<Likely> {
        let mut scores = vec![0_i32; self.frames.len()];
        for feature in features {
            for (frame, weight) in self.weights(feature) {
                scores[frame] += i32::from(weight);
            }
        }
        let best = scores.iter().copied().max().unwrap_or(0);
        let mut shares: Vec<(u64, usize)> =
            scores.iter().enumerate().map(|(at, score)| (decay(best.abs_diff(*score)), at)).collect();
        // How many of them is read from the words; with or without a number it is the same frame.
        for at in 0..shares.len() {
            let Some(base) = self.frames[at].strip_suffix(" top") else { continue };
            let Some(other) = self.frames.iter().position(|&f| f == base) else { continue };
            let (more, less) = if shares[at].0 >= shares[other].0 { (at, other) } else { (other, at) };
            shares[more].0 += shares[less].0;
            shares[less].0 = 0;
        }
        let total: u64 = shares.iter().map(|(share, _)| share).sum();
        shares.sort_by_key(|&(share, at)| (std::cmp::Reverse(share), at));
        let likely = |(share, at): (u64, usize)| Likely {
            frame: self.frames[at].to_owned(),
            permille: u32::try_from(share * 1000 / total.max(1)).unwrap_or(1000),
        };
        shares.into_iter().map(likely).take_while(|l| l.permille > 0).collect()
    }

    /// Whether some sentence of the corpus has this frame.
    pub(crate) fn knows(&self, frame: &str) -> bool {
        self.frames.contains(&frame)
    }

    /// How much the word itself speaks for this frame, in hundredths of a nat.
    pub(crate) fn speaks(&self, word: &str, frame: &str) -> i16 {
        let at = self.frames.iter().position(|&f| f == frame);
        self.weights(&format!("w:{word}")).find(|&(f, _)| Some(f) == at).map_or(0, |(_, weight)| weight)
    }

    /// Whether the word, among all that it might speak for, speaks for this frame.
    pub(crate) fn explains(&self, word: &str, frame: &str) -> bool {
        const CLEARLY: i16 = 10;
        const HARDLY: i16 = 20;
        let Some(at) = self.frames.iter().position(|&f| f == frame) else { return false };
        let features = features::of_word(word);
        // A word that speaks for nothing is grammar, whoever it is.
        let is_idle =
            self.line(&features[0]).is_some() && self.weights(&features[0]).all(|(_, weight)| weight <= HARDLY);
        is_idle || features.iter().any(|name| self.weights(name).any(|(f, weight)| f == at && weight >= CLEARLY))
    }
}

/// `exp(-hundredths / 100)` as a share of 2^30, in whole numbers.
fn decay(hundredths: u32) -> u64 {
    const ONE: u64 = 1 << 30;
    /// exp(-1), exp(-0.1) and exp(-0.01), as shares of 2^30.
    const STEPS: [(u32, u64); 3] = [(100, 395_007_542), (10, 971_562_720), (1, 1_063_057_893)];
    let (mut left, mut share) = (hundredths.min(2000), ONE);
    for (step, factor) in STEPS {
        while left >= step {
            share = share * factor / ONE;
            left -= step;
        }
    }
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decay_is_the_exponential() {
        for hundredths in [0_u32, 1, 7, 10, 99, 100, 250, 700] {
            let exact = libm::exp(-f64::from(hundredths) / 100.0);
            #[expect(clippy::cast_precision_loss, reason = "below 2^30")]
            let share = decay(hundredths) as f64 / f64::from(1 << 30);
            assert!((exact - share).abs() < 1e-5, "{hundredths}: {exact} {share}");
        }
    }

    #[test]
    fn embedded_weights_parse_and_belong_to_the_corpus() {
        let usage = Usage::embedded();
        assert!(usage.frames.len() > 50, "{}", usage.frames.len());
        let mut before = "";
        for line in usage.weights.lines() {
            let (feature, pairs) = line.split_once('\t').unwrap();
            assert!(before < feature, "{before} {feature}");
            before = feature;
            assert_eq!(usage.line(feature), Some(pairs), "{feature}");
            // Each pair is a frame that there is and a weight.
            let pairs = pairs.split(' ').filter(|pair| !pair.is_empty()).count();
            let weights: Vec<(usize, i16)> = usage.weights(feature).collect();
            assert!(weights.len() == pairs && weights.iter().all(|&(frame, _)| frame < usage.frames.len()), "{line}");
        }
        for unknown in ["", "\u{0}", "w:", "w:zzzzzzzz", "zzzz"] {
            assert_eq!(usage.line(unknown), None, "{unknown}");
        }
        let corpus = include_bytes!("../../../../../prompts/usage.tsv");
        let digest = format!("# corpus {}", blake3::hash(corpus).to_hex());
        let learned_from = include_str!("weights.txt").lines().find(|l| l.starts_with("# corpus "));
        assert_eq!(learned_from, Some(digest.as_str()), "run `cargo run --release -p metnos-usage`");
    }
}

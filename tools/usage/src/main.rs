//! Learns the weights of the engine's model of usage from `prompts/usage.tsv` and writes them where the engine reads them.
//!
//! Multinomial logistic regression by stochastic gradient descent, in a fixed order from a fixed seed: the same corpus gives
//! the same file on the same machine. Every fifth sentence of each frame is first kept out, to say how well the rest
//! predicts it; the weights that are written are learned from all.

#![expect(clippy::print_stdout, reason = "a tool that tells what it learned")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use metnos_projections::rules::simple::{Lexicons, usage_features};

const EPOCHS: u32 = 14;
const RATE: f64 = 0.3;
/// Weights below this many hundredths are left out of the file.
const LEAST: i16 = 8;

struct Row {
    frame: usize,
    features: Vec<usize>,
}

struct Corpus {
    frames: Vec<String>,
    features: Vec<String>,
    rows: Vec<Row>,
}

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = std::fs::read_to_string(root.join("prompts/usage.tsv")).context("prompts/usage.tsv")?;
    let corpus = read(&source)?;
    let (kept, held): (Vec<usize>, Vec<usize>) = split(&corpus);
    let weights = learn(&corpus, &kept);
    report(&corpus, &weights, &held);
    let all: Vec<usize> = (0..corpus.rows.len()).collect();
    let weights = learn(&corpus, &all);
    let out = root.join("projections/src/rules/simple/usage/weights.txt");
    let text = render(&corpus, &weights, &source);
    println!("{}: {} KB", out.display(), text.len() / 1024);
    std::fs::write(&out, text).with_context(|| out.display().to_string())
}

fn read(source: &str) -> Result<Corpus> {
    let lexicons = Lexicons::embedded();
    let mut frames: BTreeMap<String, usize> = BTreeMap::new();
    let mut features: BTreeMap<String, usize> = BTreeMap::new();
    let mut seen: Vec<(String, Vec<String>)> = Vec::new();
    for (number, line) in source.lines().enumerate() {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        let Some((frame, text)) = line.split_once('\t') else { bail!("line {}: no tab", number + 1) };
        seen.push((frame.to_owned(), usage_features(&lexicons, text)));
    }
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for feature in seen.iter().flat_map(|(_, f)| f) {
        *counts.entry(feature).or_default() += 1;
    }
    for (feature, _) in counts.iter().filter(|(_, n)| **n >= 2) {
        let next = features.len();
        features.insert((*feature).to_owned(), next);
    }
    for (frame, _) in &seen {
        let next = frames.len();
        frames.entry(frame.clone()).or_insert(next);
    }
    let rows = seen
        .iter()
        .map(|(frame, said)| Row {
            frame: frames[frame],
            features: said.iter().filter_map(|f| features.get(f).copied()).collect(),
        })
        .collect();
    let names = |map: BTreeMap<String, usize>| {
        let mut names: Vec<(usize, String)> = map.into_iter().map(|(name, at)| (at, name)).collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name).collect()
    };
    Ok(Corpus { rows, frames: names(frames), features: names(features) })
}

/// Every fifth row of each frame apart.
fn split(corpus: &Corpus) -> (Vec<usize>, Vec<usize>) {
    let mut count = vec![0_u32; corpus.frames.len()];
    (0..corpus.rows.len()).partition(|&at| {
        let frame = corpus.rows[at].frame;
        count[frame] += 1;
        !count[frame].is_multiple_of(5)
    })
}

fn scores(corpus: &Corpus, weights: &[f64], row: &Row) -> Vec<f64> {
    let width = corpus.frames.len();
    let mut scores = vec![0.0; width];
    for feature in &row.features {
        for (score, weight) in scores.iter_mut().zip(&weights[feature * width..(feature + 1) * width]) {
            *score += weight;
        }
    }
    let best = scores.iter().copied().fold(f64::MIN, f64::max);
    let mut total = 0.0;
    for score in &mut scores {
        *score = (*score - best).exp();
        total += *score;
    }
    for score in &mut scores {
        *score /= total;
    }
    scores
}

fn learn(corpus: &Corpus, rows: &[usize]) -> Vec<f64> {
    let width = corpus.frames.len();
    let mut weights = vec![0.0; corpus.features.len() * width];
    let mut order = rows.to_vec();
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    for epoch in 0..EPOCHS {
        for at in (1..order.len()).rev() {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            order.swap(at, usize::try_from(seed % (at as u64 + 1)).unwrap_or(0));
        }
        let rate = RATE / (1.0 + 0.15 * f64::from(epoch));
        for &at in &order {
            let row = &corpus.rows[at];
            let probabilities = scores(corpus, &weights, row);
            #[expect(clippy::cast_precision_loss, reason = "a sentence has few features")]
            let step = rate / (row.features.len() as f64).sqrt();
            for (frame, probability) in probabilities.iter().enumerate() {
                let gradient = f64::from(u8::from(frame == row.frame)) - probability;
                if gradient.abs() > 1e-3 {
                    for feature in &row.features {
                        weights[feature * width + frame] += step * gradient;
                    }
                }
            }
        }
    }
    weights
}

fn report(corpus: &Corpus, weights: &[f64], held: &[usize]) {
    let judged: Vec<(f64, bool)> = held
        .iter()
        .map(|&at| {
            let probabilities = scores(corpus, weights, &corpus.rows[at]);
            let best = probabilities.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(at, _)| at);
            (probabilities[best], best == corpus.rows[at].frame)
        })
        .collect();
    println!("{} sentences, {} frames, {} features", corpus.rows.len(), corpus.frames.len(), corpus.features.len());
    for least in [0.0, 0.5, 0.7, 0.8, 0.9] {
        let sure: Vec<&(f64, bool)> = judged.iter().filter(|(p, _)| *p >= least).collect();
        #[expect(clippy::cast_precision_loss, reason = "a few thousand sentences")]
        let share = |n: usize, of: usize| n as f64 / of.max(1) as f64;
        let right = sure.iter().filter(|(_, right)| *right).count();
        println!(
            "kept out, p ≥ {least:.1}: {:.3} of them, right {:.3}",
            share(sure.len(), judged.len()),
            share(right, sure.len())
        );
    }
}

fn render(corpus: &Corpus, weights: &[f64], source: &str) -> String {
    let width = corpus.frames.len();
    let mut text = format!(
        "# Learned by `cargo run --release -p metnos-usage`; not written by hand.\n# corpus {}\n{}\n",
        blake3::hash(source.as_bytes()).to_hex(),
        corpus.frames.join("\t")
    );
    for (at, feature) in corpus.features.iter().enumerate() {
        let mut pairs = String::new();
        for (frame, weight) in weights[at * width..(at + 1) * width].iter().enumerate() {
            #[expect(clippy::cast_possible_truncation, reason = "clamped")]
            let hundredths = (weight * 100.0).round().clamp(-3000.0, 3000.0) as i16;
            if hundredths.abs() >= LEAST {
                write!(pairs, "{}{frame}:{hundredths}", if pairs.is_empty() { "" } else { " " })
                    .expect("a string takes all");
            }
        }
        if !pairs.is_empty() || feature.starts_with("w:") {
            writeln!(text, "{feature}\t{pairs}").expect("a string takes all");
        }
    }
    text
}

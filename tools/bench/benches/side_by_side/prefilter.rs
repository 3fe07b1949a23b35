//! The pre-filter: what a query costs over catalogs of 96 and 1,000 tools, and what their index costs.
//!
//! The catalogs are made of the executors that ship with the product: each copy gets a thing of its own into its name,
//! description and affinity, so that copies differ as real tools do. How well it ranks is not asked here.

use std::hint::black_box;

use metnos_projections::rules::prefilter::{Hints, Index, Offered};
use metnos_projections::rules::simple::{Lexicons, Tool, hints};

use crate::bursts::{median, quantile, timed};
use crate::planner::{SENTENCES, seeds};
use crate::table::Table;

const ROUNDS: u32 = 100;
const INDEX_ROUNDS: usize = 5;
const SIZES: [usize; 2] = [96, 1000];
/// Things that copies are about.
const THINGS: [&str; 24] = [
    "invoices", "recipes", "plants", "tickets", "albums", "letters", "meters", "shelves", "trips", "lamps", "doors",
    "keys", "tools", "seeds", "bikes", "songs", "games", "books", "maps", "boats", "coins", "stamps", "lenses",
    "birds",
];

pub(crate) fn run() -> Table {
    let lexicons = Lexicons::embedded();
    let mut table =
        Table::new(&["tools", "query µs mean", "µs p50", "µs p95", "index ms"], "queries: the planner's ten sentences");
    for size in SIZES {
        let copies = copies(size);
        let mut index = Index::new([]);
        let builds =
            (0..INDEX_ROUNDS).map(|_| timed(|| index = Index::new(copies.iter().map(Copy::offered))).as_secs_f64());
        let build = median(builds.collect());
        let read: Vec<Hints<'_>> = SENTENCES.iter().map(|sentence| hints(&lexicons, sentence)).collect();
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            for (sentence, read) in SENTENCES.iter().zip(&read) {
                times.push(timed(|| drop(black_box(index.rank(black_box(sentence), read)))).as_secs_f64() * 1e6);
            }
        }
        table.row(vec![
            size.to_string(),
            format!("{:.1}", mean(&times)),
            format!("{:.1}", median(times.clone())),
            format!("{:.1}", quantile(times, 0.95)),
            format!("{:.1}", build * 1e3),
        ]);
    }
    table
}

#[expect(clippy::cast_precision_loss, reason = "a count of measurements is far below 2^52")]
fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

/// A shipped executor, made to be about another thing.
struct Copy {
    name: String,
    description: String,
    affinity: Vec<String>,
    tool: Tool,
}

impl Copy {
    fn offered(&self) -> Offered<'_> {
        Offered { name: &self.name, description: &self.description, affinity: &self.affinity, args: &self.tool.input }
    }
}

fn copies(size: usize) -> Vec<Copy> {
    let seeds = seeds();
    let copy = |number: usize| {
        let tool = seeds[number % seeds.len()].clone();
        let round = number / seeds.len();
        let thing = THINGS[round % THINGS.len()];
        let about = if round < THINGS.len() { thing.to_owned() } else { format!("{thing}_{}", round / THINGS.len()) };
        let manifest = &tool.manifest;
        Copy {
            name: format!("{}_{about}", manifest.executor.name),
            description: format!("{} {} {thing}.", manifest.description.en, manifest.description.it),
            affinity: manifest.executor.affinity.iter().map(|phrase| format!("{phrase} {thing}")).collect(),
            tool,
        }
    };
    (0..size).map(copy).collect()
}

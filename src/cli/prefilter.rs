//! `metnos prefilter`: which tools a sentence may be about, with scores; and how well that goes over a corpus.
//!
//! With a catalog or a corpus of its own it opens no instance: nothing is read or written but the files that are named.

mod corpus;
mod eval;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use metnos_projections::rules::prefilter::{Hints, Index, Order, Placed};
use metnos_projections::rules::simple::{self, Lexicons};
use serde_json::{Value, json};

use self::corpus::Catalog;
use super::{Context, Failure, ask, output};

/// Rank tools for a sentence.
#[derive(Args, Debug)]
pub(super) struct Prefilter {
    /// The sentence.
    #[arg(required_unless_present = "eval", conflicts_with = "eval")]
    text: Option<OsString>,
    /// Rank the tools of this file: a JSON list of {"name","description","affinity","args"}. Without it, the executors.
    #[arg(long, value_name = "FILE")]
    catalog: Option<PathBuf>,
    /// Measure over this file: lines of {"query","first_tool"}; a line's own "functions" go before the catalog.
    #[arg(long, value_name = "FILE")]
    eval: Option<PathBuf>,
    /// Measure also how many of these questions, which no tool answers, can be declined: lines of {"query","functions"}.
    #[arg(long, value_name = "FILE", requires = "eval")]
    irrelevant: Option<PathBuf>,
}

impl Prefilter {
    /// Whether it ranks the executors of an instance.
    pub(super) fn needs_instance(&self) -> bool {
        self.catalog.is_none() && self.eval.is_none()
    }
}

pub(super) fn run(context: &Context, prefilter: &Prefilter) -> Result<u8, Failure> {
    let catalog = prefilter.catalog.as_deref().map(Catalog::read).transpose()?;
    let catalog = catalog.as_ref().map(Catalog::index);
    if let Some(corpus) = &prefilter.eval {
        return eval::run(context, corpus, prefilter.irrelevant.as_deref(), catalog.as_ref());
    }
    let text = ask::sentence(prefilter.text.as_ref().expect("clap asks for a sentence where there is no corpus"))?;
    let shown = if let Some(index) = catalog {
        Shown::new(&index, &Lexicons::embedded(), &text)
    } else {
        // As of an earlier moment there is nothing to lay out.
        let past = context.global.at.is_some();
        let instance = if past { context.instance()? } else { context.ready(&context.flags())? };
        Shown::new(instance.tools().prefilter(), &instance.rules.lexicons, &text)
    };
    if context.global.json {
        output::result_json(&shown.json());
    } else if shown.tools.is_empty() {
        output::result("no tool: nothing in any of them speaks for this sentence");
    } else {
        output::result(&shown.table());
    }
    Ok(u8::from(shown.tools.is_empty()))
}

/// Orders a catalog; what the engine reads in the sentence is told only where the names are of its grammar.
fn order(index: &Index, lexicons: &Lexicons, text: &str) -> Order {
    let hints = if index.is_grammatical() { simple::hints(lexicons, text) } else { Hints::default() };
    index.order(text, &hints)
}

/// A ranking, to be printed.
struct Shown {
    /// Name, score, and whether the tool would be offered to an engine.
    tools: Vec<(String, f32, bool)>,
    k: u16,
    confidence_permille: u16,
    relevance: f32,
}

impl Shown {
    fn new(index: &Index, lexicons: &Lexicons, text: &str) -> Self {
        let order = order(index, lexicons, text);
        let offered = order.offered();
        let shown = |place: &Placed| {
            (index.name(place.tool).to_owned(), place.score, offered.iter().any(|offered| offered.tool == place.tool))
        };
        Self {
            tools: order.placed.iter().map(shown).collect(),
            k: order.most_offered(),
            confidence_permille: order.lead_permille(),
            relevance: order.relevance,
        }
    }

    fn json(&self) -> Value {
        let tool = |(name, score, offered): &(String, f32, bool)| json!({ "tool": name, "score": rounded(f64::from(*score), 2), "offered": offered });
        json!({
            "tools": self.tools.iter().map(tool).collect::<Vec<_>>(),
            "k": self.k,
            "confidence": f64::from(self.confidence_permille) / 1000.0,
            "relevance": rounded(f64::from(self.relevance), 3),
        })
    }

    /// What would be offered, and how many more anything speaks for.
    fn table(&self) -> String {
        let offered = self.tools.iter().filter(|(_, _, offered)| *offered);
        let rows: Vec<Vec<String>> =
            offered.map(|(name, score, _)| vec![output::short(name, 60), format!("{score:.1}")]).collect();
        let more = self.tools.len() - rows.len();
        let table = output::table(&["tool", "score"], &rows);
        let rest = if more == 0 { String::new() } else { format!("; {more} more score below the cut") };
        format!("{table}\nrelevance {:.2}{rest}", self.relevance)
    }
}

/// Cut to so many digits, for printing.
fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

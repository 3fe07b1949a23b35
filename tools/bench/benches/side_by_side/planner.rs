//! The built-in engine: what planning one sentence costs, over the executors that ship with the product.

use std::path::Path;

use metnos_projections::manifest::Manifest;
use metnos_projections::messages::{Language, Messages};
use metnos_projections::rules::simple::{Facts, Lexicons, Tool, Tools, propose};
use serde_json::Value;

use crate::bursts::{median, quantile, timed};
use crate::table::Table;

const ROUNDS: u32 = 30;

/// Sentences of rising length; not chosen for what they are understood as.
pub(crate) const SENTENCES: [&str; 10] = [
    "what time is it?",
    "che ore sono a Tokyo?",
    "list the pdf files in ~/documents",
    "leggi il file ~/note/spesa.txt",
    "read the file ~/notes/today.md and tell me the last three lines",
    "quanti file .md ci sono in ~/note, sottocartelle incluse?",
    "fetch https://example.org/data.json and tell me only the UUID",
    "scarica https://example.org/dati.json e salvalo nel file ~/dati.json",
    "find the files in ~/photos larger than 5 MB that were modified in the last two weeks",
    "tell me a story about a lighthouse keeper who had never seen the sea, in the manner of an old sailor",
];

pub(crate) fn run() -> Table {
    let (lexicons, messages) = (Lexicons::embedded(), Messages::embedded());
    let tools = Tools::new(seeds(), String::new());
    let facts = Facts {
        now_us: 1_790_000_000_000_000,
        zone: "Europe/Rome",
        home: "/home/owner",
        cwd: "/home/owner",
        language: None,
        fallback: Language::En,
        existing: &[],
    };
    let mut table = Table::new(&["sentence", "µs p50", "µs p90", "outcome"], "");
    let mut all = Vec::new();
    for sentence in SENTENCES {
        let mut times = Vec::new();
        let mut proposal = propose(&lexicons, &tools, &messages, &facts, sentence);
        for _ in 0..ROUNDS {
            times
                .push(timed(|| proposal = propose(&lexicons, &tools, &messages, &facts, sentence)).as_secs_f64() * 1e6);
        }
        let outcome = match &proposal.plan.abstention {
            None => proposal.plan.steps.iter().map(|step| step.tool.as_str()).collect::<Vec<_>>().join(" → "),
            Some(_) => "asks".to_owned(),
        };
        let short: String = if sentence.chars().count() > 48 {
            sentence.chars().take(47).chain(['…']).collect()
        } else {
            sentence.to_owned()
        };
        table.row(vec![
            short,
            format!("{:.0}", median(times.clone())),
            format!("{:.0}", quantile(times.clone(), 0.9)),
            outcome,
        ]);
        all.extend(times);
    }
    table.row(vec![
        "all".to_owned(),
        format!("{:.0}", median(all.clone())),
        format!("{:.0}", quantile(all, 0.9)),
        String::new(),
    ]);
    table
}

/// The executors of the tree, read from their files.
pub(crate) fn seeds() -> Vec<Tool> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../executors");
    let mut tools = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the tree has executors") {
        let folder = entry.expect("a readable folder").path();
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("an executor is whole");
        let manifest: Manifest = toml::from_str(&read("manifest.toml")).expect("a valid manifest");
        let schema: Value = serde_json::from_str(&read("schema.json")).expect("a valid schema");
        tools.push(Tool { manifest, input: schema["definitions"]["Input"].clone() });
    }
    tools
}

//! `cargo bench`: what this costs beside what else could be used, measured in the same minute on the same disk.
//!
//! Rivals take turns in short bursts, and a ratio is the median of the ratios of neighbouring bursts, since a disk's mood
//! changes by the second. `cargo bench -- append planner` runs some sections. Nothing here passes or fails.
#![expect(clippy::print_stdout, reason = "printing is what a bench is for")]

mod append;
mod bursts;
mod cage;
mod cold_call;
mod daemon;
mod group;
mod history;
mod planner;
mod prefilter;
mod replay;
mod schedules;
mod sqlite;
mod steps;
mod table;
mod turn;

use std::time::Instant;

type Section = (&'static str, fn() -> table::Table);

const SECTIONS: &[Section] = &[
    ("append", append::run),
    ("group", group::run),
    ("steps", steps::run),
    ("replay", replay::run),
    ("planner", planner::run),
    ("prefilter", prefilter::run),
    ("cold_call", cold_call::run),
    ("turn", turn::run),
    ("daemon", daemon::run),
    ("schedules", schedules::run),
];

fn main() {
    // Cages are built by a helper that is started anew: here that is this program.
    if std::env::args_os().nth(1).is_some_and(|word| word == metnos::sandbox::HELPER_ARG) {
        metnos::sandbox::helper_main();
    }
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` starts benches too, without this flag.
    let Some(at) = arguments.iter().position(|argument| argument == "--bench") else { return };
    arguments.remove(at);
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == name);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{cores} cores; data under {}", env!("CARGO_TARGET_TMPDIR"));
    for (name, run) in SECTIONS.iter().filter(|(name, _)| wanted(name)) {
        let start = Instant::now();
        let table = run();
        println!("\n{name} ({:.1} s)\n{table}", start.elapsed().as_secs_f64());
    }
}

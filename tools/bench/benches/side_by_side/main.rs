//! `cargo bench`: what this costs beside what else could be used, measured in the same minute on the same disk.
//!
//! Rivals take turns in short bursts, and a ratio is the median of the ratios of neighbouring bursts, since a disk's mood
//! changes by the second. `cargo bench -- append planner` runs some sections; `log` runs all that the log's goals are about,
//! and says which of them are met. Nothing here passes or fails.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a bench is for")]

mod append;
mod bursts;
mod cage;
mod cage_goals;
mod cold_call;
mod daemon;
mod goals;
mod group;
mod history;
mod loader;
mod log;
mod million;
mod planner;
mod plot;
mod prefilter;
mod process;
mod replay;
mod schedules;
mod slow_disk;
mod sqlite;
mod steps;
mod storage;
mod table;
mod turn;
mod written;

use std::time::Instant;

/// The section that runs several of the others and holds them against their goals.
const LOG: &str = "log";

type Section = (&'static str, fn() -> table::Table);

const SECTIONS: &[Section] = &[
    ("append", append::run),
    ("slow_disk", append::run_on_slow_disk),
    ("written", written::run),
    ("group", group::run),
    ("steps", steps::run),
    ("replay", replay::run),
    ("million", million::run),
    ("planner", planner::run),
    ("prefilter", prefilter::run),
    ("cold_call", cold_call::run),
    ("cage", cage_goals::run),
    ("loader", loader::run),
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
    if arguments.first().is_some_and(|word| word == process::WORD) {
        process::main(&arguments[1..]);
        return;
    }
    // `cargo test --all-targets` starts benches too, without this flag.
    let Some(at) = arguments.iter().position(|argument| argument == "--bench") else { return };
    arguments.remove(at);
    let asked = |name: &str| arguments.iter().any(|argument| argument == name);
    let known = |name: &str| name == LOG || SECTIONS.iter().any(|(section, _)| *section == name);
    if let Some(unknown) = arguments.iter().find(|name| !known(name)) {
        let names: Vec<_> = SECTIONS.iter().map(|(name, _)| *name).collect();
        eprintln!("error: there is no section {unknown}\nhint: the sections are {LOG}, {}", names.join(", "));
        std::process::exit(2);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{cores} cores; data under {}", env!("CARGO_TARGET_TMPDIR"));
    let has_log = arguments.is_empty() || asked(LOG);
    if has_log {
        run_log();
    }
    let is_wanted =
        |name: &str| if has_log && log::PARTS.contains(&name) { false } else { arguments.is_empty() || asked(name) };
    for (name, run) in SECTIONS.iter().filter(|(name, _)| is_wanted(name)) {
        let start = Instant::now();
        print(name, start, &run());
    }
}

/// All that the log's goals are about.
fn run_log() {
    let mut start = Instant::now();
    let drawn = log::run(|name, table| {
        print(name, start, table);
        start = Instant::now();
    });
    match drawn {
        Ok(path) => println!("\nplot: {}", path.display()),
        Err(error) => println!("\nthe plot could not be written: {error}"),
    }
}

fn print(name: &str, start: Instant, table: &table::Table) {
    println!("\n{name} ({:.1} s)\n{table}", start.elapsed().as_secs_f64());
}

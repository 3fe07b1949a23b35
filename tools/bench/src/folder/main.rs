//! `cargo run --release -p metnos-bench --bin folder`: the installed program on a folder of 100,000 files, beside the
//! usual tools doing the same work on the same folder in the same minutes.
//!
//! It runs the real `metnos` that lies beside it, with a home of its own, seeds signed, in the cage. Both sides must come
//! to the same figures: a difference is an error exit. Standard library only, and no test, so that it builds in seconds
//! and `cargo test` never runs it. It changes nothing outside of its temporary folder, which it removes.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a bench is for")]

mod made;
mod measured;
mod work;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use measured::{Measured, Side};
use work::Work;

const USAGE: &str = "usage: folder [--files N] [--rounds N] [--dir FOLDER] [--metnos PROGRAM]
  N files (100000) are made in a new folder below FOLDER (the system's temporary folder) and removed at the end.";

struct Options {
    files: usize,
    rounds: usize,
    dir: PathBuf,
    metnos: PathBuf,
}

impl Options {
    fn read() -> Result<Self, String> {
        let beside = std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("metnos");
        let mut options = Self { files: 100_000, rounds: 5, dir: std::env::temp_dir(), metnos: beside };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words.next().ok_or(USAGE)?;
            let number = || value.parse::<usize>().ok().filter(|number| *number > 0).ok_or(USAGE);
            match word.as_str() {
                "--files" => options.files = number()?,
                "--rounds" => options.rounds = number()?,
                "--dir" => options.dir = PathBuf::from(value),
                "--metnos" => options.metnos = PathBuf::from(value),
                _ => return Err(USAGE.to_owned()),
            }
        }
        if !options.metnos.is_file() {
            let at = options.metnos.display();
            return Err(format!("there is no {at}; `cargo build --release` makes it"));
        }
        Ok(options)
    }
}

/// The bench's own folder; gone with it.
struct Room(PathBuf);

impl Room {
    fn new(dir: &Path) -> Result<Self, String> {
        let path = dir.join(format!("metnos-folder-{}", std::process::id()));
        std::fs::create_dir_all(path.join("home")).map_err(|error| format!("{}: {error}", path.display()))?;
        path.canonicalize().map(Self).map_err(|error| error.to_string())
    }

    fn home(&self) -> PathBuf {
        self.0.join("home")
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("{} is left: {error}", self.0.display());
        }
    }
}

fn main() -> ExitCode {
    match Options::read().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let room = Room::new(&options.dir)?;
    let home = room.home();
    let all = home.join("all");
    let made = made::folder(&all, options.files).map_err(|error| format!("{}: {error}", all.display()))?;
    println!("{}\n{made}", machine());
    let metnos = Side::metnos(&options.metnos, &home);
    metnos.run("what time is it")?;
    let mut rows = Vec::new();
    for work in work::reading() {
        rows.push(compared(&work, options.rounds, &metnos, &home)?);
    }
    print!("{}", table(&rows));
    println!("seconds: best and median of {}; MB: peak resident, the largest processes of each side", options.rounds);
    let moved = work::moved_and_back(&metnos, &home, options.files)?;
    println!("{moved}");
    Ok(())
}

/// One work by both sides in turns; once more each, unmeasured in time, for their memory.
fn compared(work: &Work, rounds: usize, metnos: &Side, home: &Path) -> Result<(String, Measured, Measured), String> {
    let peer = Side::shell(home);
    let (mut ours, mut theirs) = (Measured::default(), Measured::default());
    for round in 0..=rounds {
        let (said, took) = metnos.run(work.sentence)?;
        let (found, peer_took) = peer.run(work.peer)?;
        let (one, two) = ((work.of_answer)(&said, home), (work.of_peer)(&found));
        if one != two || one.is_empty() {
            return Err(format!("«{}»: metnos says {one:?}, the peer {two:?}", work.sentence));
        }
        // The first round warms the system's caches for both.
        if round > 0 {
            ours.times.push(took);
            theirs.times.push(peer_took);
        }
    }
    ours.memory = metnos.memory(work.sentence)?;
    theirs.memory = peer.memory(work.peer)?;
    Ok((work.name.to_owned(), ours, theirs))
}

fn table(rows: &[(String, Measured, Measured)]) -> String {
    let mut lines = vec![format!(
        "{:<22} {:>15} {:>15} {:>7} {:>22} {:>9}",
        "work", "metnos s", "peer s", "ratio", "metnos MB host + cage", "peer MB"
    )];
    for (name, ours, theirs) in rows {
        let seconds =
            |side: &Measured| format!("{:.2} … {:.2}", side.best().as_secs_f64(), side.median().as_secs_f64());
        let ratio = ours.median().as_secs_f64() / theirs.median().max(Duration::from_micros(1)).as_secs_f64();
        let (host, cage) = ours.memory;
        lines.push(format!(
            "{name:<22} {:>15} {:>15} {ratio:>7.1} {:>22} {:>9}",
            seconds(ours),
            seconds(theirs),
            format!("{} + {}", host >> 10, cage >> 10),
            theirs.memory.0.max(theirs.memory.1) >> 10,
        ));
    }
    lines.join("\n") + "\n"
}

fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let root = read("/proc/self/status").lines().any(|line| line.starts_with("Uid:\t0\t"));
    let memory = read("/proc/meminfo").split_ascii_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok());
    format!(
        "{cores} cores, {} GB, Linux {}{}",
        memory.unwrap_or(0) >> 20,
        read("/proc/sys/kernel/osrelease").trim(),
        if root { ", as root (whose cage also looks for files that are closed to it)" } else { "" },
    )
}

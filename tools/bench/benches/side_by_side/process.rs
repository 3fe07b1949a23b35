//! Work that is measured in a process of its own: what it takes to open a log that another one was killed at, and how much
//! memory a process had at most.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use metnos::projector::{self, Until};
use metnos_log::Log;
use metnos_log::store::ReadError;

use crate::history;

/// The first word of such a process's arguments.
pub(crate) const WORD: &str = "__measured";

/// Events a commit of the process that is killed, and how many commits it makes before it says that it is at work.
const KILLED_EVENTS: u32 = 8;
const KILLED_COMMITS: u32 = 100;
/// What it says then.
const AT_WORK: &str = "at_work";
/// It ends by itself should nobody kill it.
const COMMITS_MAX: u32 = 100_000;

/// What is to be done.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// Open, then read and decode every event.
    Replay,
    /// Open, then verify.
    Verify,
    /// Open, then fold all projections as they were after each of these events, one after the other.
    At(&'static [u64]),
}

/// What was found, by name.
pub(crate) struct Found(BTreeMap<String, f64>);

impl Found {
    pub(crate) fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn all<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = f64> + 'a {
        self.0.iter().filter(move |(name, _)| name.starts_with(prefix)).map(|(_, value)| *value)
    }
}

/// Does some work on the log in a folder, in a fresh process.
pub(crate) fn measured(folder: &Path, work: Work) -> Found {
    let arguments: Vec<String> = match work {
        Work::Replay => vec!["replay".to_owned()],
        Work::Verify => vec!["verify".to_owned()],
        Work::At(moments) => ["at".to_owned()].into_iter().chain(moments.iter().map(u64::to_string)).collect(),
    };
    let output = command(folder).args(arguments).stderr(Stdio::inherit()).output().expect("this program starts");
    assert!(output.status.success(), "the measured process ended with {}", output.status);
    let said = String::from_utf8(output.stdout).expect("names and numbers");
    let figure = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    Found(said.lines().map(|line| figure(line).expect("a name and a number")).collect())
}

/// Appends to the log in a folder, in a process that is killed while it does.
pub(crate) fn killed_while_appending(folder: &Path, first: u32) {
    let child = command(folder).args(["append", &first.to_string()]).stdout(Stdio::piped()).spawn();
    let mut child: Child = child.expect("this program starts");
    let out = BufReader::new(child.stdout.take().expect("it was asked for"));
    let is_at_work = out.lines().any(|line| line.is_ok_and(|line| line.starts_with(AT_WORK)));
    assert!(is_at_work, "it never said that it is at work");
    child.kill().expect("it is ours");
    let status = child.wait().expect("it was started");
    assert!(!status.success(), "it ended before it was killed");
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a file"));
    command.arg(WORD).arg(folder).stdin(Stdio::null());
    command
}

/// The process's own side: a folder, the work, its numbers.
pub(crate) fn main(arguments: &[String]) {
    let [folder, work, numbers @ ..] = arguments else { panic!("a folder and a work are wanted") };
    let folder = Path::new(folder);
    let start = Instant::now();
    let log = history::open(folder);
    say("open_s", start.elapsed().as_secs_f64());
    let numbers = numbers.iter().map(|number| number.parse().expect("a number"));
    match work.as_str() {
        "append" => append(&log, numbers),
        "replay" => timed("replay_s", || replay(&log)),
        "verify" => timed("verify_s", || drop(log.reader().verify(|_, _| {}).expect("a sound log"))),
        "at" => numbers.for_each(|seq| timed(&format!("at_s_{seq:012}"), || at(folder, &log, seq))),
        other => panic!("{other} is no work"),
    }
    #[expect(clippy::cast_precision_loss, reason = "a number of events")]
    say("events", log.head().size as f64);
    say("peak_mb", peak_mb());
}

fn append(log: &Log, mut numbers: impl Iterator<Item = u64>) {
    let mut next = u32::try_from(numbers.next().expect("the first number")).expect("numbers are small");
    for commit in 0..COMMITS_MAX {
        if commit == KILLED_COMMITS {
            say(AT_WORK, 1.0);
        }
        history::append(log, (next..next + KILLED_EVENTS).map(history::numbered).collect());
        next += KILLED_EVENTS;
    }
}

fn replay(log: &Log) {
    let each = log.reader().each_lent(1, |recorded| {
        std::hint::black_box(recorded);
        Ok::<bool, ReadError>(true)
    });
    each.expect("a sound log");
}

fn at(folder: &Path, log: &Log, seq: u64) {
    let (then, head) = projector::at(&folder.join("projections"), &log.reader(), Until::Seq(seq)).expect("a sound log");
    assert_eq!(then.position, seq);
    std::hint::black_box((then, head));
}

fn timed(name: &str, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    say(name, start.elapsed().as_secs_f64());
}

fn say(name: &str, value: f64) {
    println!("{name} {value}");
}

/// The most memory that this process ever had.
fn peak_mb() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("the kernel says");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it says the peak");
    line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number") / 1024.0
}

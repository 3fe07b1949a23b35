//! The daemon: how soon it is ready and what it holds, with a long history and with none; what it holds after much work.
//!
//! The program that is measured is the built one, `target/release/metnos`; the history is one real turn, written down again
//! and again under other ids.

use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use metnos::config::{Flags, Variables};
use metnos::instance::Instance;
use metnos_log::{Append, Draft, EventId, Expect, Micros, TurnId};
use metnos_projections::machines::turn;

use crate::goals::{self, Goal};
use crate::history;
use crate::table::Table;

const EVENTS: u64 = 100_000;
const STARTS: usize = 7;
/// Events of one commit while the history is written.
const BATCH: usize = 500;
/// How long a daemon is left alone before its memory is read.
const REST: Duration = Duration::from_secs(3);

/// The sentence of which the history is made, and that is said to a daemon at work.
const SENTENCE: &str = "what time is it in UTC?";
/// Sentences until a daemon has been through all that it does, and after how many its memory is to be the same.
const FIRST: u32 = 200;
const MANY: u32 = 2_000;

/// What was measured of one home.
struct Figures {
    events: u64,
    ready_ms: f64,
    resident_mb: f64,
}

pub(crate) fn run() -> Table {
    let program = program();
    let folder = history::folder();
    let person = folder.path().join("person");
    std::fs::create_dir(&person).expect("a new folder");
    let mut table = Table::new(
        &["metnos serve", "events", "ready ms", "resident MB"],
        "ready: from the start of the process to its first line, best of 7; resident: VmRSS after 3 s at rest",
    );
    let home = |name| folder.path().join(name);
    for (name, events) in [("a new home", 0), ("a long history", EVENTS)] {
        let home = home(name);
        begin(&program, &home, &person);
        fill(&home, &person, events);
        let figures = measured(&program, &home, &person);
        table.row(vec![
            name.to_owned(),
            figures.events.to_string(),
            format!("{:.0}", figures.ready_ms),
            format!("{:.1}", figures.resident_mb),
        ]);
    }
    println!("\n{table}");
    goals::table(&[worked(&program, &home("a new home"), &person)])
}

/// Says one sentence after the other to one daemon; each is a turn with a call in a cage.
fn worked(program: &Path, home: &Path, person: &Path) -> Goal {
    let (mut daemon, errors) = serve(program, home, person);
    let mut command = metnos(program, home, person);
    let command = command.args(["--quiet", "chat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut chat = command.spawn().expect("the program runs");
    let mut said = chat.stdin.take().expect("it is piped");
    let mut answers = BufReader::new(chat.stdout.take().expect("it is piped")).lines();
    let mut say = |times: u32| {
        for _ in 0..times {
            writeln!(said, "{SENTENCE}").expect("it is heard");
            let answer = answers.next().expect("there is an answer").expect("it is text");
            assert!(answer.contains("UTC"), "{answer}");
        }
        resident(daemon.id())
    };
    let (first, many) = (say(FIRST), say(MANY - FIRST));
    drop(said);
    assert!(chat.wait().is_ok_and(|status| status.success()), "the conversation fails");
    stop(&mut daemon);
    drop(errors);
    let what = format!("resident after {MANY} calls × after {FIRST} ({many:.1} and {first:.1} MB)");
    Goal::at_most(what, "", 1.05, many / first)
}

/// The built program that lies two folders above this bench.
fn program() -> PathBuf {
    let own = std::env::current_exe().expect("a running program has a path");
    let program = own.ancestors().nth(2).expect("benches lie in deps").join("metnos");
    assert!(program.exists(), "{} is not there: cargo build --release", program.display());
    program
}

fn metnos(program: &Path, home: &Path, person: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("--home").arg(home).env("HOME", person).env("METNOS_HTTP_LISTEN", "127.0.0.1:0").current_dir(person);
    command
}

/// Makes the home, with its seeds and one turn.
fn begin(program: &Path, home: &Path, person: &Path) {
    let mut ask = metnos(program, home, person);
    let status = ask.args(["--quiet", "ask", SENTENCE]).stdout(Stdio::null()).status();
    assert!(status.expect("the program runs").success(), "the first turn fails");
}

/// Writes the last turn down until there are so many events.
fn fill(home: &Path, person: &Path, events: u64) {
    let variables = Variables { user_home: Some(person.to_owned()), ..Variables::default() };
    let instance = Instance::open(Some(home), &Flags::default(), &variables, Duration::from_secs(10)).expect("a home");
    let id = instance.turns().last().expect("a turn");
    let one = instance.log.reader().stream(&turn::stream(id)).expect("the log can be read");
    let turns = events.saturating_sub(instance.log.head().size) / one.len() as u64;
    let mut batch = Vec::new();
    for number in 0..turns {
        let time = Micros(one[0].time.0 + i64::try_from(number).expect("a few thousand") * 1000);
        let mut random = [7; 10];
        random[..8].copy_from_slice(&number.to_be_bytes());
        let copy = TurnId::new(time, random);
        batch.extend((0_u16..).zip(&one).map(|(place, recorded)| {
            random[8..].copy_from_slice(&place.to_be_bytes());
            Draft {
                id: EventId::new(time, random),
                time,
                stream: turn::stream(copy),
                actor: recorded.actor.clone(),
                turn: Some(copy),
                cause: None,
                event: recorded.event().expect("a known kind").clone(),
                blobs: Vec::new(),
            }
        }));
        if batch.len() >= BATCH || number + 1 == turns {
            let events = std::mem::take(&mut batch);
            instance.log.append(Append { events, expect: Expect::Any }).expect("the disk takes an append");
        }
    }
    instance.catch_up().expect("the log can be read");
    instance.save_projections(0).expect("the checkpoints can be written");
}

fn measured(program: &Path, home: &Path, person: &Path) -> Figures {
    let mut best = f64::MAX;
    let mut resident_mb = 0.0;
    for _ in 0..STARTS {
        let started = Instant::now();
        let (mut daemon, errors) = serve(program, home, person);
        best = best.min(started.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(if resident_mb == 0.0 { REST } else { Duration::ZERO });
        if resident_mb == 0.0 {
            resident_mb = resident(daemon.id());
        }
        stop(&mut daemon);
        drop(errors);
    }
    let variables = Variables { user_home: Some(person.to_owned()), ..Variables::default() };
    let instance = Instance::open(Some(home), &Flags::default(), &variables, Duration::from_secs(10)).expect("a home");
    Figures { events: instance.log.head().size, ready_ms: best, resident_mb }
}

/// A daemon that has said its first line.
fn serve(program: &Path, home: &Path, person: &Path) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut command = metnos(program, home, person);
    let mut daemon = command.arg("serve").stderr(Stdio::piped()).spawn().expect("the program runs");
    let mut errors = BufReader::new(daemon.stderr.take().expect("it is piped"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("it says something");
    assert!(line.starts_with("serving"), "{line}");
    (daemon, errors)
}

fn stop(daemon: &mut Child) {
    let stopped = Command::new("kill").arg(daemon.id().to_string()).status();
    assert!(stopped.is_ok_and(|status| status.success()), "the daemon cannot be stopped");
    daemon.wait().expect("it is a child");
}

fn resident(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let kib =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB")?.trim().parse().ok());
    kib.map_or(0.0, |kib: f64| kib / 1024.0)
}

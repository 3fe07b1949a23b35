//! Kill -9 of the whole process group, in every phase of a write: nothing acknowledged is lost, nothing is half done or
//! done twice, and the log and its replay are whole every time.
//!
//! A shell asks in a loop; one of its turns is made to wait at a named point (`metnos::faults`), says so, and is killed
//! there; other kills land wherever chance has it. The phase is read off the log and the disk afterwards, not assumed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use super::home::{Home, User, debug_build, seeds};

const POINTS: [&str; 4] = ["before_intent", "intent_to_effect", "effect_to_outcome", "outcome_to_answer"];
/// Kills at each point, and at random moments.
const AIMED: usize = 40;
const AT_RANDOM: usize = 40;
const KILLS: usize = POINTS.len() * AIMED + AT_RANDOM;
const EACH_MIN: usize = 20;

/// What a killed loop said before it died.
struct Killed {
    acknowledged: Vec<String>,
}

#[test]
fn two_hundred_kills_lose_nothing_and_double_nothing() {
    let halves: Vec<_> = (0..2).map(|half| std::thread::spawn(move || kills(half))).collect();
    let mut phases: BTreeMap<&'static str, usize> = BTreeMap::new();
    for half in halves {
        for (phase, count) in half.join().expect("a half that fails has said why") {
            *phases.entry(phase).or_default() += count;
        }
    }
    eprintln!("kills by phase: {phases:?}");
    assert_eq!(phases.values().sum::<usize>(), KILLS);
    for point in POINTS {
        assert!(phases.get(point).is_some_and(|count| *count >= EACH_MIN), "{phases:?}");
    }
}

#[test]
fn a_first_run_that_is_killed_is_finished_by_the_next() {
    let home = Home::empty(User::Current);
    for moment in [40, 90, 200, 350, 600, 900, 1300, 1800] {
        let mut command = home.command();
        command.args(["ask", "what time is it"]).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(moment));
        kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
    }
    let ran = home.ask("what time is it");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let verified = home.run(["--json", "executor", "verify"]).json();
    assert_eq!(
        (verified["active"].as_array().map(Vec::len), verified["ok"].as_bool()),
        (Some(seeds() + metnos::builtins::ALL.len()), Some(true)),
        "{verified}"
    );
    home.is_whole();
}

/// What was done and not told any more, because the process was killed in between, is told by the next command, once.
#[test]
fn what_nobody_was_told_is_told_by_the_next_command() {
    let home = Home::new();
    let file = home.file("a.txt", "x");
    assert_eq!(home.ask_approved("delete the file a.txt").code, 0);
    home.killed_at("outcome_to_answer", ["undo", "--approve", "all"]);
    assert!(file.exists());
    let next = home.ask("what time is it");
    let says = "An earlier request («undo») was carried out, and you were not told: Undid «delete the file a.txt»";
    assert!(next.code == 0 && next.err.contains(says), "{} {}", next.out, next.err);
    let later = home.ask("what time is it");
    assert!(!later.err.contains("were not told"), "{}", later.err);
    // Of what ended by itself nothing is left.
    assert_eq!(home.ask_approved("delete the file a.txt").code, 0);
    assert_eq!(std::fs::read_dir(home.metnos().join("data/untold")).unwrap().count(), 0);
    home.is_whole();
}

/// One half of all kills, in one home.
fn kills(half: usize) -> BTreeMap<&'static str, usize> {
    let home = Home::new();
    let file = home.file("log.txt", "");
    let mut phases = BTreeMap::new();
    let mut acknowledged = Vec::new();
    let mut chance = 0x9e37_79b9_7f4a_7c15_u64 ^ half as u64;
    for round in 0..KILLS / 2 {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let point = POINTS.get(round % (POINTS.len() + 1)).copied();
        let killed = match point {
            Some(point) => killed_at(&home, round, point, chance >> 60 & 1),
            None => killed_after(&home, round, chance >> 33),
        };
        acknowledged.extend(killed.acknowledged);
        *phases.entry(phase(&home, &file, round, &acknowledged)).or_default() += 1;
        home.is_whole();
        // The next command that acts settles what was interrupted.
        let settled = home.run(["plan", "what time is it"]);
        assert_eq!(settled.code, 0, "{}", settled.err);
        lines_are_right(&home, &file, &acknowledged);
        home.is_whole();
    }
    phases
}

/// The sentence of one turn; each writes a line of its own.
fn line(round: usize, number: u64) -> String {
    format!("round {round} line {number}")
}

/// A shell that asks `count` times; the last turn waits at a point, if one is given.
fn asking(home: &Home, round: usize, count: u64, point: Option<&str>) -> Child {
    let mut script = String::new();
    for number in 0..count {
        let pause = point
            .filter(|_| number + 1 == count)
            .map(|point| format!("METNOS_PAUSE_AT={point}:30000 "))
            .unwrap_or_default();
        let line = line(round, number);
        let binary = debug_build().display();
        let ask = format!("{pause}{binary} ask --approve all 'add the line \"{line}\" to log.txt' >/dev/null");
        script.push_str(&[&ask, " && echo 'acknowledged ", &line, "'\n"].concat());
    }
    let mut command = Command::new("sh");
    let prototype = home.command();
    command.arg("-c").arg(script).env_clear();
    command.envs(prototype.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
        .current_dir(home.files())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    command.spawn().unwrap()
}

fn kill(mut child: Child) -> Killed {
    kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    let said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    Killed { acknowledged: said.filter_map(|line| line.strip_prefix("acknowledged ").map(str::to_owned)).collect() }
}

fn killed_at(home: &Home, round: usize, point: &str, before: u64) -> Killed {
    let mut child = asking(home, round, before + 1, Some(point));
    let waiting = format!("waiting at {point}");
    let reached =
        BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok).any(|line| line == waiting);
    assert!(reached, "the turn never came to {point}");
    kill(child)
}

fn killed_after(home: &Home, round: usize, chance: u64) -> Killed {
    let child = asking(home, round, 3, None);
    std::thread::sleep(std::time::Duration::from_millis(chance % 1200));
    kill(child)
}

/// In which phase the newest turn of this round was killed, by what the log and the disk say.
fn phase(home: &Home, file: &Path, round: usize, acknowledged: &[String]) -> &'static str {
    let turn = home.run(["--json", "turn", "show"]).json();
    let text = turn["user_query"].as_str().unwrap_or_default().to_owned();
    let mine = text.split('"').nth(1).unwrap_or_default().to_owned();
    let is_of_round = mine.starts_with(&format!("round {round} "));
    if !is_of_round || turn["steps"][0]["effects"].is_null() || acknowledged.contains(&mine) {
        return POINTS[0];
    }
    if !turn["final_kind"].is_null() {
        return POINTS[3];
    }
    let written = std::fs::read_to_string(file).unwrap().lines().any(|line| line == mine);
    if written { POINTS[2] } else { POINTS[1] }
}

/// Every acknowledged line is there once; every other line is whole, there once, and backed by a turn.
#[track_caller]
fn lines_are_right(home: &Home, file: &Path, acknowledged: &[String]) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "a line is half written: {text}");
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in text.lines() {
        *counts.entry(line).or_default() += 1;
    }
    for line in acknowledged {
        assert_eq!(counts.get(line.as_str()), Some(&1), "{line}");
    }
    for (line, count) in counts {
        assert_eq!(count, 1, "{line} stands there {count} times");
        assert!(line.starts_with("round ") && line.contains(" line "), "{line}");
    }
    let left: Vec<_> = std::fs::read_dir(home.files()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["log.txt"], "something was left behind");
    let cages = std::fs::read_dir(home.metnos().join("data/cages")).unwrap().count();
    assert_eq!(cages, 0, "a cage's lock was left behind");
}

//! Ctrl-C and SIGTERM at every moment of a command: it says so at once, ends at a sound place, leaves a record that tells
//! what was done, and what was done can be taken back.
//!
//! The signals are real; a turn is made to wait at a named point so that they come where they are wanted.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::home::Home;
use super::pty::Pty;

/// More than one run of changes (`RUN_LENGTH`): the wait after the first run comes with some made and some not.
const FILES: usize = 8300;
const RUN: &str = "8,192";
const MOVE: &str = "move all files of ~/many to ~/kept";

/// A home with a folder of many files, whose commands wait at that point.
fn waiting_at(point: &'static str, milliseconds: u32) -> Home {
    let home = Home::new();
    std::fs::create_dir(home.files().join("many")).unwrap();
    for number in 0..FILES {
        std::fs::write(home.files().join(format!("many/{number:05}.txt")), "x").unwrap();
    }
    home.with("METNOS_PAUSE_AT", &format!("{point}:{milliseconds}"))
}

fn count(home: &Home, folder: &str) -> usize {
    std::fs::read_dir(home.files().join(folder)).map_or(0, Iterator::count)
}

/// A command that runs by itself; what it says on stderr comes line by line.
struct Running {
    child: Child,
    said: Lines<BufReader<ChildStderr>>,
}

impl Running {
    fn new(home: &Home, args: &[&str]) -> Self {
        let mut command = home.command();
        let mut child = command.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, said }
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for a line that holds this text.
    #[track_caller]
    fn says(&mut self, text: &str) -> String {
        let mut all = Vec::new();
        for line in self.said.by_ref().map_while(Result::ok) {
            if line.contains(text) {
                return line;
            }
            all.push(line);
        }
        panic!("«{text}» is not said: {all:?}");
    }

    fn ends(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed half-way leaves no program behind; one that ended is reaped already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn a_long_move_stops_between_two_files_and_can_be_taken_back() {
    let home = waiting_at("effect_to_outcome", 1500);
    let mut moving = Running::new(&home, &["ask", "--approve", "all", MOVE]);
    moving.says("waiting at effect_to_outcome");
    let sent = Instant::now();
    moving.send(Signal::INT);
    moving.says("Stopping");
    assert!(sent.elapsed() < Duration::from_secs(1), "{:?}", sent.elapsed());
    let end = moving.says("I stopped");
    assert!(end.contains(&format!("{RUN} of 8,301 changes")) && end.contains("“undo” takes them back"), "{end}");
    assert_eq!(moving.ends(), Some(130));
    // One of the changes is the new folder.
    assert_eq!((count(&home, "many"), count(&home, "kept")), (FILES - 8191, 8191));
    let turn = home.run(["--json", "turn", "show"]).json();
    assert_eq!((&turn["final_kind"], &turn["error_class"]), (&"error".into(), &"cancelled".into()));
    assert_eq!(turn["counts"]["changes"], 8192, "{}", turn["counts"]);
    home.is_whole();
    let home = home.with("METNOS_PAUSE_AT", "nowhere:0");
    let undone = home.run(["--yes", "undo"]);
    assert_eq!(undone.code, 0, "{} {}", undone.out, undone.err);
    assert_eq!((count(&home, "many"), home.files().join("kept").exists()), (FILES, false));
    home.is_whole();
}

#[test]
fn before_the_first_change_nothing_is_changed() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        for point in ["before_intent", "intent_to_effect"] {
            let home = waiting_at(point, 1000);
            let mut moving = Running::new(&home, &["ask", "--approve", "all", MOVE]);
            moving.says(&format!("waiting at {point}"));
            moving.send(signal);
            moving.says("Stopping");
            let end = moving.says("I stopped");
            assert!(!end.contains("undo"), "{end}");
            assert_eq!(moving.ends(), Some(code), "{point}");
            assert_eq!(count(&home, "many"), FILES);
            home.is_whole();
        }
    }
}

#[test]
fn a_second_one_ends_at_once_and_the_next_command_finishes() {
    let home = waiting_at("effect_to_outcome", 20_000);
    let mut moving = Running::new(&home, &["ask", "--approve", "all", MOVE]);
    moving.says("waiting at effect_to_outcome");
    // Another command waits for the log; there is no turn yet that could be stopped, so it ends.
    let mut other = Running::new(&home, &["ask", "what time is it"]);
    other.says("waiting for another metnos command");
    other.send(Signal::TERM);
    other.says("error: interrupted");
    assert_eq!(other.ends(), Some(143));
    let sent = Instant::now();
    moving.send(Signal::INT);
    moving.says("Stopping");
    moving.send(Signal::INT);
    moving.says("error: ended at once");
    assert_eq!(moving.ends(), Some(130));
    assert!(sent.elapsed() < Duration::from_secs(5), "{:?}", sent.elapsed());
    let home = home.with("METNOS_PAUSE_AT", "nowhere:0");
    let next = home.ask("what time is it");
    assert!(next.code == 0 && next.err.contains("is finished now"), "{}", next.err);
    assert_eq!((count(&home, "many"), count(&home, "kept")), (0, FILES));
    home.is_whole();
}

#[test]
fn a_conversation_goes_on_after_its_turn_was_stopped() {
    let home = waiting_at("effect_to_outcome", 1500);
    let mut chat = Pty::run(&home, 120, &["chat", "--approve", "all"]);
    chat.sees("> ");
    chat.types(&format!("{MOVE}\r"));
    chat.sees("waiting at effect_to_outcome");
    chat.types("\u{3}");
    chat.sees("Stopping");
    let end = chat.sees("takes them back");
    assert!(end.contains(&format!("{RUN} of 8,301 changes")), "{end}");
    chat.sees("> \r");
    chat.types("what time is it\r");
    chat.sees("It is ");
    chat.sees("> \r");
    chat.types("\u{4}");
    assert_eq!(chat.ends().0, Some(0));
    assert_eq!(count(&home, "kept"), 8191);
    home.is_whole();
}

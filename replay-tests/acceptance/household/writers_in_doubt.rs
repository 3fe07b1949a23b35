//! What becomes of a call of an executor that changes files by itself when a kill cuts it off: its check says so, or the person.

use super::home::Home;
use super::pty::Pty;
use super::writers::{ARGS, CHECK, read, with_stamp};

/// Kills a writer's call where it waits: before it begins, or when it is over and not on record yet.
fn killed_at(home: &Home, point: &str) {
    home.killed_at(point, ["--yes", "executor", "run", "change_files_stamp", "--args", ARGS]);
}

fn events(home: &Home) -> Vec<serde_json::Value> {
    let shown = home.run(["--json", "log", "tail", "--count", "40"]).out;
    shown.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn settled(home: &Home) -> Option<(String, String)> {
    let events = events(home);
    let labels: Vec<&str> = events.iter().filter_map(|event| event["kind"].as_str()).collect();
    assert!(labels.contains(&"invocation_in_doubt"), "{labels:?}");
    let settled = events.iter().rev().find(|event| event["kind"] == "invocation_settled")?;
    let body = &settled["payload"];
    Some((body["outcome"].as_str()?.to_owned(), body["by"].as_str()?.to_owned()))
}

#[test]
fn its_check_says_what_became_of_a_call_that_was_cut_off() {
    for (point, outcome, text) in [("call_begun", "did_not_happen", ""), ("before_intent", "happened", "stamped\n")] {
        let home = with_stamp(CHECK, "{args}");
        killed_at(&home, point);
        let file = home.files().join("album/a.txt");
        assert_eq!(read(&file), text);
        let next = home.ask("what time is it");
        assert_eq!((next.code, read(&file).as_str()), (0, text), "nothing is made again: {}", next.err);
        assert_eq!(settled(&home), Some((outcome.to_owned(), "check".to_owned())), "{}", next.err);
        let says =
            if outcome == "happened" { "had done its work before I was stopped" } else { "says that it was not done" };
        assert!(next.err.contains(says), "{}", next.err);
        home.is_whole();
    }
}

#[test]
fn without_a_check_the_person_is_asked() {
    let home = with_stamp("", "{args}");
    killed_at(&home, "before_intent");
    // Whoever agreed to everything in advance has not seen what became of it.
    let mut terminal = Pty::run(&home, 200, &["ask", "what time is it"]);
    let asked = terminal.sees("[y/N]");
    assert!(asked.contains("I was stopped while change_files_stamp changed files by itself"), "{asked}");
    assert!(asked.contains("album/a.txt") && asked.contains("Shall I count it as done?"), "{asked}");
    terminal.types("y\n");
    let (_, shown) = terminal.ends();
    assert!(shown.contains("had done its work before I was stopped"), "{shown}");
    assert_eq!(settled(&home), Some(("happened".to_owned(), "owner".to_owned())));
    home.is_whole();
    // Other words than a yes or a no say nothing of what became of it.
    killed_at(&home, "before_intent");
    let mut terminal = Pty::run(&home, 200, &["ask", "what time is it"]);
    terminal.sees("[y/N]");
    terminal.types("maybe\n");
    terminal.sees("Please answer yes or no. [y/N]");
    terminal.types("\n");
    terminal.sees("Please answer yes or no. [y/N]");
    terminal.types("who knows\n");
    let (_, shown) = terminal.ends();
    assert!(shown.contains("nobody could say whether it was done"), "{shown}");
    // Nobody is there: it stays unknown, and is not made again.
    killed_at(&home, "before_intent");
    let next = home.ask("what time is it");
    assert!(next.err.contains("nobody could say whether it was done"), "{}", next.err);
    assert_eq!(read(&home.files().join("album/a.txt")), "stamped\nstamped\nstamped\n");
    home.is_whole();
}

#[test]
fn a_call_that_was_cut_off_is_in_doubt_though_its_executor_is_put_away() {
    let home = with_stamp(CHECK, "{args}");
    killed_at(&home, "before_intent");
    let code = home.metnos().join("workspace/executors/change_files_stamp/1.0.0/main.py");
    std::fs::write(&code, format!("{}#", read(&code))).unwrap();
    let next = home.ask("what time is it");
    assert!(next.err.contains("change_files_stamp is quarantined"), "{}", next.err);
    assert!(next.err.contains("nobody could say whether it was done. Please look in"), "{}", next.err);
    assert_eq!(read(&home.files().join("album/a.txt")), "stamped\n");
}

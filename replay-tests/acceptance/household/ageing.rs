//! A synthesised executor that nobody uses: below the threshold after a month, proposed for the archive two weeks later, and
//! back at once when it is used.

use std::path::{Path, PathBuf};

use super::home::{Home, copy_seed};

/// A home in which get_now is of a synthesis, and the file that says the time there.
fn synthesised() -> (Home, PathBuf) {
    let home = Home::new();
    let clock = home.file("clock", "2030-01-01T10:00:00Z");
    let home = home.with("METNOS_CLOCK", clock.to_str().unwrap());
    let folder = home.files().join("newer");
    copy_seed("get_now", &folder);
    let manifest = std::fs::read_to_string(folder.join("manifest.toml")).unwrap();
    let manifest = manifest.replacen("1.0.0", "1.1.0", 1).replacen("\"owner\"", "\"synt:01AB\"", 1);
    std::fs::write(folder.join("manifest.toml"), manifest).unwrap();
    let added = home.run(["--yes", "executor", "add", folder.to_str().unwrap()]);
    assert_eq!(added.code, 0, "{}", added.err);
    (home, clock)
}

fn set(clock: &Path, day: &str) {
    std::fs::write(clock, format!("{day}T10:00:00Z")).unwrap();
}

#[track_caller]
fn stands(home: &Home, state: &str) {
    let shown = home.run(["--json", "executor", "show", "get_now"]).json();
    assert_eq!(shown["state"], state, "{shown}");
}

#[track_caller]
fn aged(home: &Home, below_threshold: &[&str], proposed: &[&str]) {
    let aged = home.run(["--json", "executor", "age"]);
    let expected = serde_json::json!({ "below_threshold": below_threshold, "proposed": proposed });
    assert_eq!(aged.json(), expected, "{}", aged.err);
}

#[test]
fn what_nobody_uses_falls_and_a_use_brings_it_back() {
    let (home, clock) = synthesised();
    set(&clock, "2030-01-20");
    assert_eq!(home.ask("what time is it").code, 0);
    // A month after it was added, and not after it was used.
    set(&clock, "2030-02-10");
    aged(&home, &[], &[]);
    set(&clock, "2030-02-19");
    home.run(["executor", "list"]);
    stands(&home, "active");
    aged(&home, &["get_now"], &[]);
    stands(&home, "below_threshold");
    aged(&home, &[], &[]);
    assert!(!home.run(["status"]).out.contains("metnos executor archive"));
    assert_eq!(home.ask("what time is it").code, 0);
    stands(&home, "active");
    let history = home.run(["executor", "history", "get_now"]).out;
    assert!(
        history.contains("not used since 2030-01-20") && history.contains("to below_threshold (ager)"),
        "{history}"
    );
    assert!(history.contains("to active (turn:") && history.contains("used again"), "{history}");
    home.is_whole();
}

#[test]
fn two_weeks_later_the_archive_is_proposed_and_the_owner_decides() {
    let (home, clock) = synthesised();
    set(&clock, "2030-02-01");
    // As the daemon does each night.
    assert_eq!(home.run(["schedule", "run-now", "ager-executors"]).code, 0);
    stands(&home, "below_threshold");
    set(&clock, "2030-02-14");
    assert!(!home.run(["executor", "list"]).out.contains("metnos executor archive get_now"));
    set(&clock, "2030-02-15");
    for command in [&["executor", "list"][..], &["status"], &["executor", "age"]] {
        let out = home.run(command).out;
        assert!(out.contains("metnos executor archive get_now"), "{command:?}: {out}");
    }
    assert_eq!(home.run(["--json", "status"]).json()["executors"]["archival_proposed"], serde_json::json!(["get_now"]));
    stands(&home, "below_threshold");
    assert_eq!(home.run(["--yes", "executor", "archive", "get_now"]).code, 0);
    stands(&home, "archived");
    // What came with the release does not age.
    set(&clock, "2031-01-01");
    aged(&home, &[], &[]);
    let listed = home.run(["--json", "executor", "list"]).out;
    assert_eq!(listed.matches("\"state\":\"below_threshold\"").count(), 0, "{listed}");
    assert!(listed.matches("\"active\"").count() > 20, "{listed}");
    home.is_whole();
}

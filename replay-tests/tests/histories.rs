//! Every recorded history, whole and cut at every index.

#![expect(clippy::unwrap_used, reason = "the whole target is tests: a failed step is a failed test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use metnos::export::history::read_line;
use metnos_log::Event;
use metnos_projections::rules::Rules;
use metnos_replay_tests::{digests, made, read, replay};

fn histories() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("histories");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

/// Histories that hold a kind of a newer program: their turns cannot all be decided.
const NEWER: &[&str] = &["unknown-kind"];

#[test]
fn every_history_replays_to_its_pinned_digests() {
    let rules = Rules::embedded();
    for folder in histories() {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let history = read(&folder.join("history.jsonl"));
        let (report, _) = replay(&rules, &history);
        assert_eq!(report.differences, [], "{name}");
        assert_eq!(report.open, 0, "{name}");
        assert_eq!(report.unknown > 0, NEWER.contains(&name), "{name}");
        let pinned = std::fs::read_to_string(folder.join("digests.txt")).unwrap();
        let (mut pinned, mut computed): (Vec<&str>, _) = (pinned.lines().collect(), digests(&history));
        pinned.sort_unstable();
        computed.sort_unstable();
        assert_eq!(pinned, computed, "{name}: `cargo run -p metnos-replay-tests --bin make` pins what is new");
        assert!(std::fs::read_to_string(folder.join("notes.md")).unwrap().lines().count() >= 3, "{name} says nothing");
    }
}

#[test]
fn what_is_made_anew_decides_the_same_again() {
    let rules = Rules::embedded();
    let there: BTreeSet<String> =
        histories().iter().map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned()).collect();
    let mut decided = 0;
    for made in made::all() {
        assert!(there.contains(made.name), "{} is not written down", made.name);
        let history = (made.make)();
        let (report, _) = replay(&rules, history.events());
        assert_eq!(report.differences, [], "{}", made.name);
        assert_eq!((report.open, report.by_other_rules), (0, 0), "{}", made.name);
        decided += report.turns - report.not_decidable;
        // What is written is what is read.
        let lines: Vec<_> = history.text().lines().map(|line| read_line(line).unwrap()).collect();
        assert_eq!(digests(&lines), digests(history.events()), "{}", made.name);
    }
    assert!(decided > 30, "only {decided} turns were decided");
}

#[test]
fn every_cut_history_folds_and_is_legal_so_far() {
    let rules = Rules::embedded();
    for folder in histories() {
        let history = read(&folder.join("history.jsonl"));
        for cut in 0..history.len() {
            let (report, _) = replay(&rules, &history[..cut]);
            // Where a commit was cut in two, what must follow is missing; nothing else may differ.
            assert!(
                report.differences.iter().all(|difference| difference.recorded.is_none()),
                "{} at {cut}",
                folder.display()
            );
        }
    }
}

#[test]
fn the_histories_hold_every_kind_of_end() {
    let mut ends = BTreeSet::new();
    for folder in histories() {
        for recorded in read(&folder.join("history.jsonl")) {
            if let Some(Event::TurnClosed(closed)) = recorded.event() {
                ends.insert((closed.final_kind.clone(), closed.class.clone().unwrap_or_default()));
            }
        }
    }
    for end in [
        "answer ",
        "ask ",
        "awaiting consent_expired",
        "error not_found",
        "error vaglio_guard",
        "error not_applicable",
        "error consent_denied",
        "error policy_violation",
        "error cancelled",
        "error timeout",
        "answer target_changed",
        "needs_inputs ",
        "error executor_quarantined",
    ] {
        let (kind, class) = end.split_once(' ').unwrap();
        assert!(ends.contains(&(kind.to_owned(), class.to_owned())), "no history ends in {end}: {ends:?}");
    }
}

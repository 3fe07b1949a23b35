//! Every recorded history, whole and cut at every index.

#![expect(clippy::unwrap_used, reason = "the whole target is tests: a failed step is a failed test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use metnos_log::Event;
use metnos_projections::rules::Rules;
use metnos_replay_tests::{digests, read, replay};

fn histories() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("histories");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

#[test]
fn every_history_replays_to_its_pinned_digests() {
    let rules = Rules::embedded();
    for folder in histories() {
        let history = read(&folder.join("history.jsonl"));
        let (report, _) = replay(&rules, &history);
        assert_eq!(report.differences, [], "{}", folder.display());
        assert_eq!(report.open, 0, "{}", folder.display());
        let pinned = std::fs::read_to_string(folder.join("digests.txt")).unwrap();
        assert_eq!(digests(&history), pinned, "{}", folder.display());
    }
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
    for end in
        ["answer ", "ask ", "awaiting consent_expired", "error not_found", "error vaglio_guard", "error not_applicable"]
    {
        let (kind, class) = end.split_once(' ').unwrap();
        assert!(ends.contains(&(kind.to_owned(), class.to_owned())), "no history ends in {end}: {ends:?}");
    }
}

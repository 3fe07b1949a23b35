//! Every event of every history leads back to a root, each step to an earlier event.

#![expect(clippy::unwrap_used, reason = "the whole target is tests: a failed step is a failed test")]

use std::collections::BTreeSet;
use std::path::Path;

use metnos_log::{Event, Recorded};
use metnos_projections::views::why::{Link, links};
use metnos_replay_tests::read;

fn histories() -> Vec<(String, Vec<Recorded>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("histories");
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), read(&entry.path().join("history.jsonl")))).collect()
}

/// The nearest earlier event that led to one.
fn before<'h>(history: &'h [Recorded], recorded: &Recorded) -> Option<&'h Recorded> {
    let earlier = || history.iter().filter(|event| event.seq < recorded.seq);
    links(recorded).into_iter().find_map(|link| match link {
        Link::Event(id) => earlier().find(|event| event.id == id),
        Link::Opening(turn) => earlier().find(|event| event.turn == Some(turn)),
        Link::Admission(key_id) => {
            let is_of = |event: &Event| matches!(event, Event::KeyAdmitted(key) if key.key_id == key_id);
            earlier().find(|recorded| recorded.event().is_some_and(is_of))
        }
        Link::Before(stream, kinds) => {
            earlier().rev().find(|event| event.stream == stream && kinds.contains(&&*event.kind))
        }
    })
}

fn chain(history: &[Recorded], from: &Recorded) -> Vec<String> {
    let mut kinds = vec![from.kind.to_string()];
    let mut at = from;
    while let Some(earlier) = before(history, at) {
        kinds.push(earlier.kind.to_string());
        at = earlier;
    }
    kinds
}

#[test]
fn whatever_happened_in_a_turn_leads_back_to_its_sentence_or_to_what_began_it() {
    let roots: BTreeSet<&str> =
        ["turn_opened", "update_received", "schedule_created", "schedule_modified"].into_iter().collect();
    for (name, history) in histories() {
        for recorded in history.iter().filter(|recorded| recorded.turn.is_some()) {
            let kinds = chain(&history, recorded);
            assert!(roots.contains(kinds.last().unwrap().as_str()), "{name} {}: {kinds:?}", recorded.seq);
        }
    }
}

#[test]
fn what_was_said_in_a_chat_leads_back_to_what_came_there() {
    let histories = histories();
    let (_, history) = histories.iter().find(|(name, _)| name == "chat-update-twice").unwrap();
    let of = |kind: &str| chain(history, history.iter().rev().find(|recorded| recorded.kind == kind).unwrap());
    assert_eq!(of("message_sent"), ["message_sent", "message_queued", "update_received"]);
    assert_eq!(of("turn_closed"), ["turn_closed", "turn_opened", "update_received"]);
}

#[test]
fn a_write_leads_back_through_consent_verdict_and_call() {
    let histories = histories();
    let (_, history) = histories.iter().find(|(name, _)| name == "consent-given").unwrap();
    let committed = history.iter().find(|recorded| recorded.kind == "effect_committed").unwrap();
    let expected = [
        "effect_committed",
        "effects_planned",
        "consent_given",
        "consent_asked",
        "verdict_given",
        "invocation_finished",
        "invocation_started",
        "verdict_given",
        "arguments_resolved",
        "step_proposed",
        "plan_proposed",
        "turn_opened",
    ];
    assert_eq!(chain(history, committed), expected);
}

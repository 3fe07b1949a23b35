//! Whatever a model says, and whatever comes of its steps: its turn ends within its caps and decides the same again.

use metnos_log::Event;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::tests::{ID, NOW, World, returned};
use super::thinking_tests::{answered, failed, opened, ready};
use super::{Command, Effect, Phase, Turn, decide, react};

/// Something that a model may say, sense or not.
fn anything() -> impl Strategy<Value = Value> {
    let names = [
        "read_files",
        "sort_entries",
        "write_files",
        "delete_files",
        "get_inputs",
        "final_answer",
        "scratchpad_read",
        "request_new_executor",
        "frob",
        "",
        "get_urls",
        "extract_entries",
    ];
    let arguments = [
        "{}",
        "{\"paths\":[\"a.txt\"]}",
        "{\"from_step\":1,\"by\":\"x\"}",
        "{\"path\":\"b.txt\",\"content\":\"{{step1.content}}\"}",
        "[",
        "null",
        "{\"fields\":[{\"name\":\"x\",\"type\":\"text\"}]}",
        "{\"urls\":[\"https://x.test/a\"]}",
        "{\"scratchpad_id\":\"s1\",\"mode\":\"full\"}",
        "{\"entries\":[]}",
        "{\"text\":\"\"}",
        "{\"paths\":[\"{{step9.content}}\"]}",
        "{\"pattern\":\"x\",\"content\":\"{{step1.content}}\"}",
    ];
    let call = (prop::sample::select(names.to_vec()), prop::sample::select(arguments.to_vec()))
        .prop_map(|(name, arguments)| json!({ "id": "i", "name": name, "arguments": arguments }));
    let said = (prop::collection::vec(call, 0..4), prop::option::of("[ a-z]{0,9}"));
    said.prop_map(|(calls, content)| json!({ "calls": calls, "content": content.filter(|_| calls.is_empty()) }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a model says, and whatever comes of its steps: the turn ends, within its caps, and decides the same again.
    #[test]
    fn whatever_a_model_says_the_turn_ends(said in prop::collection::vec(anything(), 1..12), results in prop::collection::vec(0_u8..4, 1..8)) {
        let world = World::new();
        let (mut turn, mut log): (Turn, Vec<Event>) = (Turn::default(), Vec::new());
        let mut next = Some(opened("copy what a.txt says to b.txt, then tell me", "metis", false));
        for round in 0..400_usize {
            let Some(command) = next.take() else { break };
            let events = decide(&turn, ID, world.context(), world.current(&turn, command)).unwrap();
            for event in &events {
                turn.apply(ID, NOW, event);
            }
            log.extend(events);
            let outcome = results[round % results.len()];
            next = match react(&turn).unwrap() {
                Effect::Think { .. } if outcome == 3 && round % 5 == 0 => Some(failed(&turn, "unparseable")),
                Effect::Think { .. } => Some(answered(&turn, &said[round % said.len()])),
                Effect::Prepare { step, tool, args } => Some(ready(step, world.looked_up(&tool, &args.unwrap_or_default()))),
                Effect::Ask { step, asked } if outcome == 0 => Some(Command::Deny { step, digest: asked.digest, by: "terminal".to_owned() }),
                Effect::Ask { step, asked } => Some(Command::Consent { step, digest: asked.digest, by: "terminal".to_owned() }),
                Effect::Call { .. } => Some(match outcome {
                    0 => returned(&turn, &json!({ "ok": false, "error_class": "not_found", "error": "gone" }), Vec::new()),
                    1 => returned(&turn, &json!({ "ok": true, "content": "x".repeat(9000) }), Vec::new()),
                    _ => returned(&turn, &json!({ "ok": true, "content": "x", "entries": [{ "x": 1 }] }), Vec::new()),
                }),
                Effect::Reply if turn.phase == Phase::Waiting => Some(Command::Lapse { dialog: turn.dialog().unwrap() }),
                Effect::Reply | Effect::Commit { .. } => None,
            };
        }
        prop_assert_eq!(turn.phase, Phase::Closed);
        prop_assert!(turn.steps.len() <= super::decide::STEPS_MAX && turn.asks <= 40);
        let (mut again, mut computed) = (Turn::default(), Vec::new());
        for event in log.iter().filter(|event| matches!(event, Event::TurnOpened(_)) || Command::recorded(event).is_some()) {
            let command = Command::recorded(event).unwrap();
            for event in decide(&again, ID, world.context(), command).unwrap() {
                again.apply(ID, NOW, &event);
                computed.push(event);
            }
        }
        prop_assert_eq!(computed, log);
    }
}

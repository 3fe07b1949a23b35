//! A turn that a model plans, by given, when, then: what it is asked, what becomes of what it says.

use metnos_log::canonical::Json;
use metnos_log::event::model::{ModelAnswered, ModelFailed, Proposer};
use metnos_log::event::turn::TurnOpened;
use metnos_log::{Event, Kept, Micros};
use serde_json::{Value, json};

use super::command::Prepared;
use super::tests::{ID, NOW, World, delete_op, open, prepared, returned, target};
use super::{Command, Context, Effect, Phase, Rejection, Turn, decide, react};
use crate::plan::Origin;

fn proposer(simple_first: bool) -> Proposer {
    Proposer {
        tier: "wise".to_owned(),
        provider: "llamacpp".to_owned(),
        server: "http://127.0.0.1:8080".to_owned(),
        model: "m".to_owned(),
        think: None,
        max_tokens: 100,
        context: None,
        simple_first,
        turn_timeout_s: 600,
    }
}

pub(super) fn opened(text: &str, engine: &str, simple_first: bool) -> Command {
    let Command::Open(opened) = open(text, "supervised") else { panic!("another command") };
    let proposer = Some(proposer(simple_first));
    Command::Open(Box::new(TurnOpened { engine: engine.to_owned(), proposer, dialogs: true, ..*opened }))
}

/// A turn whose model is asked for the first step.
fn thinking(world: &World, text: &str) -> Turn {
    let mut turn = Turn::default();
    let labels = world.take(&mut turn, opened(text, "metis", false));
    assert_eq!(labels, ["turn_opened", "candidates_ranked", "plan_proposed", "plan_proposed", "model_asked"]);
    turn
}

pub(super) fn answered(turn: &Turn, parsed: &Value) -> Command {
    Command::Thought(Box::new(ModelAnswered {
        ask: turn.asks,
        raw: Kept::text("raw"),
        parsed: Kept::json(parsed),
        usage: Json(json!({})),
        timings: Json(json!({})),
        attempt: 1,
        failed: Vec::new(),
        headers: Json(json!({})),
        duration_us: 1,
    }))
}

pub(super) fn failed(turn: &Turn, class: &str) -> Command {
    Command::Unanswered(Box::new(ModelFailed {
        ask: turn.asks,
        class: class.to_owned(),
        status: 0,
        reason: "connection refused".to_owned(),
        raw: Kept::default(),
        failed: Vec::new(),
        waited_ms: 0,
        duration_us: 1,
    }))
}

/// The model says these calls at once.
pub(super) fn calls(turn: &Turn, calls: &[(&str, Value)]) -> Command {
    let calls: Vec<Value> =
        calls.iter().map(|(name, args)| json!({ "id": "x", "name": name, "arguments": args.to_string() })).collect();
    answered(turn, &json!({ "calls": calls, "finish": "tool_calls" }))
}

pub(super) fn words(turn: &Turn, text: &str) -> Command {
    answered(turn, &json!({ "content": text, "calls": [], "finish": "stop" }))
}

/// The body that the model is asked with.
fn body(turn: &Turn) -> Value {
    match react(turn) {
        Some(Effect::Think { body, .. }) => serde_json::from_str(&body).unwrap(),
        other => panic!("it is not asked: {other:?}"),
    }
}

/// The last outcome that the model is shown.
fn shown(turn: &Turn) -> Value {
    let body = body(turn);
    let last = body["messages"].as_array().unwrap().last().unwrap().clone();
    let text = last["content"].as_str().unwrap();
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

pub(super) fn ready(step: u32, targets: Vec<metnos_log::event::turn::Target>) -> Command {
    let Command::Prepared(facts) = prepared(targets) else { panic!("another command") };
    Command::Prepared(Prepared { step, ..facts })
}

/// Carries the step that is up out, with targets as they were typed and this result.
pub(super) fn carried(
    world: &World,
    turn: &mut Turn,
    targets: Vec<metnos_log::event::turn::Target>,
    result: &Value,
) -> Vec<&'static str> {
    let number = turn.step().unwrap().number;
    world.take(turn, ready(number, targets));
    assert_eq!(turn.phase, Phase::Calling, "{:?}", turn.final_class);
    let command = returned(turn, result, Vec::new());
    world.take(turn, command)
}

const FILE: &str = "/home/o/a.txt";

pub(super) fn read_a(turn: &Turn) -> Command {
    calls(turn, &[("read_files", json!({ "paths": ["a.txt"] }))])
}

pub(super) fn content() -> Value {
    json!({ "ok": true, "content": "one", "metadata": { "path": FILE } })
}

#[test]
fn a_model_plans_step_by_step_and_ends_with_words() {
    let world = World::new();
    let mut turn = thinking(&world, "what does a.txt tell us about life");
    let first = body(&turn);
    assert_eq!(
        (&first["messages"][1]["content"], &first["tool_choice"]),
        (&json!("what does a.txt tell us about life"), &json!("auto"))
    );
    let command = read_a(&turn);
    assert_eq!(world.take(&mut turn, command), ["model_answered", "step_proposed"]);
    assert!(matches!(turn.step().unwrap().proposed_from["/paths/0"], Origin::Words { .. }));
    let labels = carried(&world, &mut turn, vec![target("/paths/0", "path", FILE, "file")], &content());
    assert_eq!(labels, ["invocation_finished", "observation_kept", "model_asked"]);
    assert_eq!(
        shown(&turn),
        json!({ "step": 1, "source": "read_files", "ok": true, "content": "one", "metadata": { "path": FILE } })
    );
    // What was said before is said again, word for word: the server need not read it anew.
    let second = body(&turn);
    assert_eq!(second["messages"].as_array().unwrap()[..2], first["messages"].as_array().unwrap()[..]);
    assert_eq!(second["tools"], first["tools"]);
    let command = words(&turn, " Little. ");
    assert_eq!(world.take(&mut turn, command), ["model_answered", "turn_closed"]);
    assert_eq!((turn.final_kind.as_deref(), turn.message.as_deref()), (Some("answer"), Some("Little.")));
}

#[test]
fn the_built_in_engine_answers_first_where_it_is_sure() {
    let world = World::new();
    let by = |text: &str, engine: &str, simple_first: bool| {
        let mut turn = Turn::default();
        world.take(&mut turn, opened(text, engine, simple_first));
        turn.phase == Phase::Thinking
    };
    let (read, write, unclear) = ("read the file a.txt", "write \"hello\" to b.txt", "sing me a song about cheese");
    assert!(!by(read, "auto", true) && !by(read, "metis", true) && by(read, "metis", false));
    assert!(!by(write, "auto", true) && by(write, "metis", true) && by(write, "auto", false));
    assert!(by(unclear, "auto", true) && by(unclear, "metis", true) && !by(unclear, "simple", false));
    // What is no request at all is not sent anywhere.
    assert!(!by("", "metis", false) && !by("a\u{1b}b", "metis", false));
}

#[test]
fn a_model_is_reminded_of_what_was_said_before() {
    let world = World::new();
    let Command::Open(first) = opened("and what is in b.txt, pray", "metis", false) else { panic!("another command") };
    let history = vec![("read a.txt".to_owned(), "one".to_owned())];
    let mut turn = Turn::default();
    world.take(&mut turn, Command::Open(Box::new(TurnOpened { history, ..*first })));
    let messages = body(&turn)["messages"].clone();
    let roles: Vec<&str> = messages.as_array().unwrap().iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    // What was said then is not said now: a target of it is asked about.
    let command = read_a(&turn);
    world.take(&mut turn, command);
    assert_eq!(turn.step().unwrap().proposed_from["/paths/0"], Origin::Model);
}

#[test]
fn calls_of_one_answer_are_carried_out_in_their_order() {
    let world = World::new();
    let mut turn = thinking(&world, "copy what a.txt says to b.txt and c.txt, then say so");
    let command = calls(
        &turn,
        &[
            ("read_files", json!({ "paths": ["a.txt"] })),
            ("write_files", json!({ "path": "b.txt", "content": "{{step1.content}}" })),
        ],
    );
    world.take(&mut turn, command);
    let labels = carried(&world, &mut turn, vec![target("/paths/0", "path", FILE, "file")], &content());
    assert_eq!(labels, ["invocation_finished", "observation_kept", "step_proposed"]);
    assert_eq!(turn.step().unwrap().resolved.as_ref().unwrap().as_ref().unwrap().args["content"], "one");
    // Each call of the answer has one outcome, under its own name, although the server named both the same.
    let labels = carried(
        &world,
        &mut turn,
        vec![target("/path", "target_path", "/home/o/b.txt", "absent")],
        &json!({ "ok": true, "results": [] }),
    );
    assert_eq!(labels, ["invocation_finished", "observation_kept", "model_asked"]);
    let messages = body(&turn)["messages"].clone();
    let ids: Vec<&Value> =
        messages.as_array().unwrap().iter().filter_map(|message| message.get("tool_call_id")).collect();
    assert_eq!(ids, ["call_1_1", "call_1_2"]);
    assert_eq!(messages[2]["tool_calls"][1]["id"], "call_1_2");
}

#[test]
fn what_is_no_proper_call_is_told_and_counted_and_has_an_end() {
    let world = World::new();
    for (bad, told) in [
        (json!({ "calls": [{ "id": "", "name": "read_files", "arguments": "{\"paths\": [" }] }), "no JSON object"),
        (json!({ "calls": [{ "id": "", "name": "frob_files", "arguments": "{}" }] }), "There is no tool frob_files"),
        (
            json!({ "calls": [{ "id": "", "name": "sort_entries", "arguments": "{\"entries\":[{}],\"by\":\"a\"}" }] }),
            "not written out",
        ),
        (json!({ "calls": [] }), "[Metnos] Your answer was empty"),
        (json!({ "content": "  \n", "calls": [] }), "[Metnos] Your answer was empty"),
        (json!({ "calls": [{ "id": "", "name": "final_answer", "arguments": "{}" }] }), "answer was empty"),
        (json!({ "calls": [{ "id": "", "name": "scratchpad_read", "arguments": "{}" }] }), "no such scratchpad_id"),
    ] {
        let mut turn = thinking(&world, "what does a.txt tell us about life");
        let command = answered(&turn, &bad);
        world.take(&mut turn, command);
        let said = body(&turn)["messages"].to_string();
        assert!(said.contains(told), "{said}");
        // Another draw is asked for: the same one would say the same.
        assert_eq!(body(&turn)["seed"], 1);
        for _ in 0..3 {
            if turn.phase == Phase::Thinking {
                let command = answered(&turn, &bad);
                world.take(&mut turn, command);
            }
        }
        assert_eq!(turn.phase, Phase::Closed, "{bad}");
        assert!(matches!(turn.final_kind.as_deref(), Some("error" | "loop_break")), "{bad}: {:?}", turn.final_kind);
    }
}

#[test]
fn an_invented_argument_is_refused_by_the_gateway_and_told() {
    let world = World::new();
    let mut turn = thinking(&world, "what does a.txt tell us about life");
    let command = calls(&turn, &[("read_files", json!({ "paths": ["a.txt"], "mood": "gay" }))]);
    world.take(&mut turn, command);
    let Command::Prepared(mut facts) = prepared(vec![target("/paths/0", "path", FILE, "file")]) else {
        panic!("another command")
    };
    facts.checks[3].failure = Some(("invalid_args".to_owned(), "mood is unexpected".to_owned()));
    let labels = world.take(&mut turn, Command::Prepared(facts));
    assert_eq!(labels, ["arguments_resolved", "step_refused", "observation_kept", "model_asked"]);
    assert_eq!(
        (&shown(&turn)["error_class"], &shown(&turn)["error"]),
        (&json!("invalid_args"), &json!("mood is unexpected"))
    );
}

#[test]
fn a_wish_is_remembered_where_an_output_was_to_go_on() {
    let world = World::new();
    let mut turn = thinking(&world, "what does a.txt tell us about life");
    let command = read_a(&turn);
    world.take(&mut turn, command);
    carried(&world, &mut turn, vec![target("/paths/0", "path", FILE, "file")], &content());
    let events = decide(
        &turn,
        ID,
        world.context(),
        calls(&turn, &[("compute_texts_mood", json!({ "content": "{{step1.content}}", "depth": 3 }))]),
    )
    .unwrap();
    let wish = events
        .iter()
        .find_map(|event| if let Event::WishObserved(wish) = event { Some(wish.clone()) } else { None })
        .unwrap();
    assert_eq!((wish.src.as_str(), wish.dst.as_str()), ("read_files", "compute_texts_mood"));
    assert_eq!(wish.desired.inputs, ["content: string", "depth: number"]);
    assert_eq!(
        (wish.desired.summary.as_str(), &wish.desired.outputs),
        ("compute texts mood", &vec!["texts".to_owned()])
    );
    for event in &events {
        turn.apply(ID, NOW, event);
    }
    assert_eq!(shown(&turn)["synt"]["state"], "abandoned");
    let command = calls(&turn, &[("extract_columns", json!({ "content": "{{step1.content}}" }))]);
    world.take(&mut turn, command);
    assert_eq!(
        (&shown(&turn)["synt"]["state"], &shown(&turn)["synt"]["first_hop"]),
        (&json!("composed"), &json!("extract_entries"))
    );
    let command = calls(&turn, &[("request_new_executor", json!({ "purpose": "tell the mood" }))]);
    // The words go with the turn when it is erased; the wish stays, and has none.
    let told = decide(&turn, ID, world.context(), command.clone()).unwrap();
    let holds = |event: &Event| event.to_json().to_string().contains("tell the mood");
    let holding: Vec<&str> = told.iter().filter(|event| holds(event)).map(Event::label).collect();
    assert!(holding.contains(&"model_answered"), "{holding:?}");
    assert!(holding.iter().all(|label| Event::is_erasable(label)), "{holding:?}");
    assert_eq!(world.take(&mut turn, command), ["model_answered", "wish_observed", "observation_kept", "model_asked"]);
}

#[test]
fn what_was_read_is_named_and_asking_on_and_on_ends() {
    let world = World::new();
    let mut turn = thinking(&world, "what does a.txt tell us about life");
    let command = read_a(&turn);
    world.take(&mut turn, command);
    carried(&world, &mut turn, vec![target("/paths/0", "path", FILE, "file")], &content());
    // In another spelling, and with other words around it, it is the same file.
    let command = calls(&turn, &[("read_files", json!({ "paths": ["/home/o/a.txt"], "encoding": "utf-8" }))]);
    assert_eq!(world.take(&mut turn, command), ["model_answered", "observation_kept", "model_asked"]);
    assert!(shown(&turn)["note"].as_str().unwrap().contains("step 1 (read_files)"), "{}", shown(&turn));
    let command = read_a(&turn);
    world.take(&mut turn, command);
    assert_eq!(turn.final_kind.as_deref(), Some("loop_break"));
}

#[test]
fn failing_twice_in_the_same_way_ends_the_turn() {
    let world = World::new();
    let mut turn = thinking(&world, "what do a.txt and b.txt tell us about life");
    for name in ["a.txt", "b.txt"] {
        let command = calls(&turn, &[("read_files", json!({ "paths": [name] }))]);
        world.take(&mut turn, command);
        let mut gone = target("/paths/0", "path", &format!("/home/o/{name}"), "absent");
        gone.trouble = Some(("not_found".to_owned(), "absent".to_owned()));
        let number = turn.step().unwrap().number;
        world.take(&mut turn, ready(number, vec![gone]));
    }
    assert_eq!((turn.final_kind.as_deref(), turn.final_class.as_deref()), (Some("loop_break"), Some("not_found")));
}

#[test]
fn one_executor_has_so_many_calls() {
    let world = World::new();
    let mut turn = thinking(&world, "what do a.txt and b.txt and c.txt tell us about life");
    for name in ["a.txt", "b.txt", "c.txt"] {
        let command = calls(&turn, &[("read_files", json!({ "paths": [name] }))]);
        world.take(&mut turn, command);
        if turn.phase == Phase::Preparing {
            carried(
                &world,
                &mut turn,
                vec![target("/paths/0", "path", &format!("/home/o/{name}"), "file")],
                &content(),
            );
        }
    }
    assert_eq!((turn.final_kind.as_deref(), turn.steps.len()), (Some("cap_same_executor"), 2));
}

#[test]
fn a_turn_has_its_time() {
    let world = World::new();
    let mut turn = thinking(&world, "what does a.txt tell us about life");
    let command = calls(&turn, &[("get_inputs", json!({ "fields": [{ "name": "x", "type": "text" }] }))]);
    world.take(&mut turn, command);
    world.take(&mut turn, ready(1, Vec::new()));
    assert_eq!(turn.phase, Phase::Waiting);
    // While a person is waited for, none passes.
    let later = |seconds: i64| Context { time: Micros(NOW.0 + seconds * 1_000_000), ..world.context() };
    let at = |turn: &mut Turn, command: Command, seconds: i64| {
        for event in decide(turn, ID, later(seconds), command).unwrap() {
            turn.apply(ID, later(seconds).time, &event);
        }
    };
    let answer = Command::Answer {
        dialog: turn.dialog().unwrap(),
        answer: "me".to_owned(),
        channel: "console".to_owned(),
        existing: Vec::new(),
    };
    at(&mut turn, answer, 500);
    let command = returned(&turn, &json!({ "ok": true, "values": { "x": "me" } }), Vec::new());
    at(&mut turn, command, 501);
    assert_eq!(turn.phase, Phase::Thinking);
    let command = calls(&turn, &[("frob", json!({}))]);
    at(&mut turn, command, 1102);
    assert_eq!((turn.final_kind.as_deref(), turn.final_class.as_deref()), (Some("error"), Some("timeout")));
}

#[test]
fn after_an_act_a_request_of_one_clause_is_closed() {
    let world = World::new();
    let mut turn = thinking(&world, "empty the old stuff out of b.txt");
    let command = calls(&turn, &[("write_files", json!({ "path": "b.txt", "content": "" }))]);
    world.take(&mut turn, command);
    carried(
        &world,
        &mut turn,
        vec![target("/path", "target_path", "/home/o/b.txt", "file")],
        &json!({ "ok": true, "results": [] }),
    );
    assert_eq!(body(&turn)["tool_choice"], "auto");
    let command = calls(&turn, &[("write_files", json!({ "path": "c.txt", "content": "x" }))]);
    assert_eq!(world.take(&mut turn, command), ["model_answered", "observation_kept", "model_asked"]);
    assert_eq!(
        (&shown(&turn)["error_class"], &body(&turn)["tool_choice"]),
        (&json!("pipeline_already_closed"), &json!("none"))
    );
    // A request of several clauses has a pipeline for each.
    let mut turn = thinking(&world, "write \"x\" to b.txt and then write \"y\" to c.txt");
    for name in ["b.txt", "c.txt"] {
        let command = calls(&turn, &[("write_files", json!({ "path": name, "content": "x" }))]);
        world.take(&mut turn, command);
        let labels = carried(
            &world,
            &mut turn,
            vec![target("/path", "target_path", &format!("/home/o/{name}"), "file")],
            &json!({ "ok": true, "results": [] }),
        );
        assert_eq!(labels.last(), Some(&"model_asked"));
    }
}

#[test]
fn pages_that_an_executor_needs_are_read_for_it() {
    let world = World::new();
    let mut turn = thinking(&world, "what do they say about https://x.test/a these days");
    let command = calls(&turn, &[("extract_entries", json!({ "content": "x", "pattern": "y" }))]);
    world.take(&mut turn, command);
    let pages: Vec<String> = (0..7).map(|n| format!("https://x.test/{n}")).collect();
    let lacks =
        json!({ "ok": false, "error_class": "needs_content_fetch", "error": "no text", "needs_urls_html": pages });
    let labels = carried(&world, &mut turn, Vec::new(), &lacks);
    assert_eq!(labels, ["invocation_finished", "step_remediated", "step_proposed"]);
    let step = turn.step().unwrap();
    assert_eq!((step.tool.as_str(), step.proposed["urls"].as_array().unwrap().len()), ("read_urls_html", 5));
    // An address that a step named is no word of the person: it is asked for.
    let urls = (0..5).map(|n| target(&format!("/urls/{n}"), "url", &pages[n], "url")).collect();
    world.take(&mut turn, ready(2, urls));
    let asked = turn.asked.clone().unwrap();
    assert!(asked.text.contains("step 1 (extract_entries)"), "{}", asked.text);
    world.take(&mut turn, Command::Consent { step: 2, digest: asked.digest, by: "terminal".to_owned() });
    let command = returned(&turn, &json!({ "ok": true, "entries": [{ "content": "text" }] }), Vec::new());
    assert_eq!(world.take(&mut turn, command), ["invocation_finished", "step_proposed"]);
    let again = turn.step().unwrap();
    assert_eq!((again.tool.as_str(), &again.proposed["from_step"]), ("extract_entries", &json!(2)));
    // What still fails is told: nothing is mended twice.
    let labels = carried(&world, &mut turn, Vec::new(), &lacks);
    assert_eq!(labels, ["invocation_finished", "observation_kept", "model_asked"]);
}

#[test]
fn a_target_is_asked_for_and_never_made_up() {
    let world = World::new();
    let mut turn = thinking(&world, "please get rid of that old thing");
    let command = calls(&turn, &[("delete_files", json!({ "permanent": false }))]);
    assert_eq!(world.take(&mut turn, command), ["model_answered", "step_remediated", "step_proposed"]);
    assert_eq!(turn.step().unwrap().tool, "get_inputs");
    assert_eq!(
        world.take(&mut turn, ready(1, Vec::new())),
        ["arguments_resolved", "verdict_given", "dialog_opened", "turn_suspended"]
    );
    let dialog = turn.dialog().unwrap();
    let answer =
        Command::Answer { dialog, answer: "a.txt".to_owned(), channel: "console".to_owned(), existing: Vec::new() };
    world.take(&mut turn, answer);
    let command = returned(&turn, &json!({ "ok": true, "values": { "target": FILE } }), Vec::new());
    assert_eq!(world.take(&mut turn, command), ["invocation_finished", "observation_kept", "model_asked"]);
    let command = calls(&turn, &[("delete_files", json!({ "paths": ["{{step1.values.target}}"] }))]);
    world.take(&mut turn, command);
    world.take(&mut turn, ready(2, vec![target("/paths/0", "target_path", FILE, "file")]));
    let command = returned(&turn, &json!({ "ok": true, "metadata": {} }), vec![delete_op(FILE)]);
    world.take(&mut turn, command);
    let asked = turn.asked.clone().unwrap().text;
    assert!(!asked.contains("Not from your words"), "the person wrote it into the form: {asked}");
    // The person's no is a no: nothing else is tried.
    let digest = turn.asked.clone().unwrap().digest;
    let labels = world.take(&mut turn, Command::Deny { step: 2, digest, by: "terminal".to_owned() });
    assert_eq!(labels, ["consent_denied", "step_refused", "turn_closed"]);
}

#[test]
fn what_a_model_makes_up_is_asked_for_or_refused() {
    let world = World::new();
    let mut turn = thinking(&world, "what does a.txt tell us about life");
    let command = calls(&turn, &[("read_files", json!({ "paths": ["/home/o/diary.txt"] }))]);
    world.take(&mut turn, command);
    let labels = world.take(&mut turn, ready(1, vec![target("/paths/0", "path", "/home/o/diary.txt", "file")]));
    assert_eq!(labels, ["arguments_resolved", "verdict_given", "consent_asked"]);
    assert!(turn.asked.clone().unwrap().text.contains("Not from your words:\n  /home/o/diary.txt"));
    // A target of an act that nobody asked for is refused, and the model is told.
    let mut turn = thinking(&world, "what does a.txt tell us about life");
    let command = calls(&turn, &[("delete_files", json!({ "paths": ["/home/o/diary.txt"] }))]);
    world.take(&mut turn, command);
    let labels = world.take(&mut turn, ready(1, vec![target("/paths/0", "target_path", "/home/o/diary.txt", "file")]));
    assert_eq!(labels, ["arguments_resolved", "verdict_given", "step_refused", "observation_kept", "model_asked"]);
    assert_eq!(shown(&turn)["error_class"], "vaglio_judge");
    // What is forbidden is forbidden to a model too.
    let command = calls(&turn, &[("read_files", json!({ "paths": ["~/.ssh/id_rsa"] }))]);
    world.take(&mut turn, command);
    world.take(&mut turn, ready(2, vec![target("/paths/0", "path", "/home/o/.ssh/id_rsa", "file")]));
    assert_eq!(shown(&turn)["error_class"], "vaglio_guard");
}

#[test]
fn without_a_model_the_built_in_engine_has_the_word() {
    let world = World::new();
    let mut turn = thinking(&world, "read the file a.txt and tell me the last three lines");
    let command = failed(&turn, "network");
    assert_eq!(world.take(&mut turn, command), ["model_failed", "plan_proposed", "step_proposed"]);
    assert!(!turn.is_model_planned());
    let mut turn = thinking(&world, "sing me a song about cheese");
    let command = failed(&turn, "network");
    world.take(&mut turn, command);
    let message = turn.message.clone().unwrap();
    assert!(message.contains("http://127.0.0.1:8080") && message.contains("metnos model test wise"), "{message}");
    // In the middle of its work nobody else can go on.
    let mut turn = thinking(&world, "what does a.txt tell us about life");
    let command = read_a(&turn);
    world.take(&mut turn, command);
    carried(&world, &mut turn, vec![target("/paths/0", "path", FILE, "file")], &content());
    let command = failed(&turn, "timeout");
    assert_eq!(world.take(&mut turn, command), ["model_failed", "turn_closed"]);
    assert_eq!(turn.final_class.as_deref(), Some("timeout"));
}

#[test]
fn what_could_not_be_read_is_asked_for_again_and_what_is_too_long_is_cut() {
    let world = World::new();
    let mut turn = thinking(&world, "what does a.txt tell us about life");
    let command = failed(&turn, "unparseable");
    assert_eq!(world.take(&mut turn, command), ["model_failed", "observation_kept", "model_asked"]);
    assert_eq!(body(&turn)["seed"], 1);
    let command = read_a(&turn);
    world.take(&mut turn, command);
    let long = json!({ "ok": true, "content": "x".repeat(3000), "metadata": {} });
    carried(&world, &mut turn, vec![target("/paths/0", "path", FILE, "file")], &long);
    let before = body(&turn).to_string().len();
    let command = failed(&turn, "too_large");
    // What a server says of its room is heeded before it refuses.
    let talk = turn.talk.clone().unwrap();
    assert!(talk.sent(Some(2000)) == talk.messages && talk.sent(Some(900)) != talk.messages);
    assert_eq!(world.take(&mut turn, command), ["model_failed", "model_asked"]);
    assert!(body(&turn).to_string().len() < before - 2000);
    let command = failed(&turn, "too_large");
    assert_eq!(world.take(&mut turn, command), ["model_failed", "turn_closed"]);
    // A whole row of them has an end.
    let mut turn = thinking(&world, "what does a.txt tell us about life");
    while turn.phase == Phase::Thinking {
        let command = failed(&turn, "unparseable");
        world.take(&mut turn, command);
    }
    assert_eq!((turn.asks, turn.final_class.as_deref()), (3, Some("unparseable")));
}

#[test]
fn an_answer_to_another_ask_does_not_count_and_a_stopped_turn_asks_no_more() {
    let world = World::new();
    let mut turn = thinking(&world, "what does a.txt tell us about life");
    let mut late = turn.clone();
    late.asks = 9;
    assert_eq!(decide(&turn, ID, world.context(), words(&late, "x")), Err(Rejection::OtherQuestion));
    let effect = Command::Cancel { by: "person".to_owned() };
    assert_eq!(world.take(&mut turn, effect), ["turn_cancelled", "turn_closed"]);
    assert!(matches!(decide(&turn, ID, world.context(), words(&turn, "x")), Err(Rejection::OutOfPlace { .. })));
}

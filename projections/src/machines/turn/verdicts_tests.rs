//! What guard, policy and grants say of a step, by given, when, then.

use metnos_log::Event;
use metnos_log::event::actor::Granted;
use metnos_log::event::turn::{PlannedOp, WebRequest};
use serde_json::json;

use super::command::Prepared;
use super::tests::{ID, NOW, World, open, prepared, returned, target, write_op};
use super::{Command, Turn, decide};

#[test]
fn a_forbidden_target_is_blocked_before_its_absence_is_told() {
    let world = World::new();
    let mut turn = Turn::default();
    world.take(&mut turn, open("read the file ~/.ssh/id_rsa", "full"));
    let mut absent = target("/paths/0", "path", "/home/o/.ssh/id_rsa", "absent");
    absent.trouble = Some(("not_found".to_owned(), "absent".to_owned()));
    let labels = world.take(&mut turn, prepared(vec![absent]));
    assert_eq!(labels, ["arguments_resolved", "verdict_given", "step_refused", "turn_closed"]);
    assert_eq!(turn.final_class.as_deref(), Some("vaglio_guard"));
}

/// What was looked up is a plain path. Anything else is a fault somewhere, and the guard passes nothing that it cannot judge.
#[test]
fn what_cannot_be_judged_is_blocked() {
    let world = World::new();
    for path in ["a.txt", "", "/home/o/../../etc/shadow", "/home/o/./a", "/home/o/a\0b"] {
        let mut turn = Turn::default();
        world.take(&mut turn, open("read the file a.txt and tell me the last three lines", "full"));
        world.take(&mut turn, prepared(vec![target("/paths/0", "path", path, "file")]));
        assert_eq!(turn.final_class.as_deref(), Some("vaglio_guard"), "{path:?}");
        let mut turn = Turn::default();
        world.take(&mut turn, open("write \"hello\" to b.txt", "full"));
        world.take(&mut turn, prepared(vec![target("/path", "target_path", "/home/o/b.txt", "absent")]));
        let result = json!({ "ok": true, "results": [], "ok_count": 1, "fail_count": 0, "bytes_written": 5 });
        let op = PlannedOp { path: path.to_owned(), ..write_op() };
        let command = returned(&turn, &result, vec![op]);
        world.take(&mut turn, command);
        assert_eq!(turn.final_class.as_deref(), Some("vaglio_guard"), "{path:?}");
    }
}

/// An autonomy that nobody knows, from a log that is newer or was tampered with, is the least one.
#[test]
fn an_unknown_autonomy_allows_the_least() {
    let world = World::new();
    let mut turn = Turn::default();
    world.take(&mut turn, open("write \"hello\" to b.txt", "everything"));
    world.take(&mut turn, prepared(vec![target("/path", "target_path", "/home/o/b.txt", "absent")]));
    let result = json!({ "ok": true, "results": [], "ok_count": 1, "fail_count": 0, "bytes_written": 5 });
    let command = returned(&turn, &result, vec![write_op()]);
    world.take(&mut turn, command);
    assert_eq!(turn.final_class.as_deref(), Some("policy_violation"));
}

/// What one faulty fact about a write leads to: the class that it ends with, and the reasons of the last verdict.
#[track_caller]
fn faulty(text: &str, fault: impl Fn(&mut Prepared)) -> (Option<String>, Vec<String>) {
    let (world, mut turn) = (World::new(), Turn::default());
    world.take(&mut turn, open("write \"hello\" to b.txt", "full"));
    turn.opened.as_mut().unwrap().text = text.to_owned();
    let Command::Prepared(mut facts) = prepared(vec![target("/path", "target_path", "/home/o/b.txt", "absent")]) else {
        panic!("no facts")
    };
    fault(&mut facts);
    world.take(&mut turn, Command::Prepared(facts));
    (turn.final_class.clone(), turn.step().unwrap().reasons.clone())
}

/// The judge knows what was asked for, the executor that was looked up and what its arguments name, or it approves nothing.
#[test]
fn a_judge_that_cannot_judge_approves_nothing() {
    const TEXT: &str = "write \"hello\" to b.txt";
    assert_eq!(faulty(TEXT, |_| {}), (None, vec!["policy: allow".to_owned()]), "the control");
    let refused = |lacking: &str| {
        (Some("vaglio_judge".to_owned()), vec!["policy: allow".to_owned(), format!("judge: no {lacking}")])
    };
    assert_eq!(faulty(" ", |_| {}), refused("intent"));
    assert_eq!(faulty(TEXT, |facts| facts.version = "0.9.0".to_owned()), refused("version"));
    assert_eq!(faulty(TEXT, |facts| facts.version = String::new()), refused("version"));
    assert_eq!(faulty(TEXT, |facts| facts.targets.clear()), refused("facts"));
    assert_eq!(faulty(TEXT, |facts| facts.targets[0].pointer = "/paths/0".to_owned()), refused("facts"));
}

/// A safe verb passes the judge at once, but not where nothing is known of what it would look at.
#[test]
fn a_look_at_what_nobody_looked_up_is_refused() {
    let world = World::new();
    for (targets, class) in
        [(vec![], Some("vaglio_judge")), (vec![target("/paths/0", "path", "/home/o/a.txt", "file")], None)]
    {
        let mut turn = Turn::default();
        world.take(&mut turn, open("read the file a.txt and tell me the last three lines", "full"));
        world.take(&mut turn, prepared(targets));
        assert_eq!(turn.final_class.as_deref(), class);
    }
}

/// What a turn was opened with can be erased from the log while it is open: then nobody knows what may be reached, and for whom.
#[test]
fn a_turn_whose_beginning_is_unknown_does_nothing_more() {
    let (world, mut whole, mut turn) = (World::new(), Turn::default(), Turn::default());
    let events =
        decide(&whole, ID, world.context(), open("read the file a.txt and tell me the last three lines", "full"));
    for event in events.unwrap() {
        whole.apply(ID, NOW, &event);
        if event.label() != "turn_opened" {
            turn.apply(ID, NOW, &event);
        }
    }
    let facts = || prepared(vec![target("/paths/0", "path", "/home/o/a.txt", "file")]);
    world.take(&mut whole, facts());
    assert_eq!(whole.final_class, None, "the control");
    let labels = world.take(&mut turn, facts());
    assert_eq!(labels, ["arguments_resolved", "verdict_given", "step_refused", "turn_closed"]);
    assert_eq!(turn.final_class.as_deref(), Some("vaglio_guard"));
}

#[test]
fn read_only_denies_a_write_and_full_still_asks_for_one() {
    let world = World::new();
    for (autonomy, expected) in [("read_only", "step_refused"), ("full", "consent_asked"), ("nonsense", "step_refused")]
    {
        let mut turn = Turn::default();
        world.take(&mut turn, open("write \"hello\" to b.txt", autonomy));
        world.take(&mut turn, prepared(vec![target("/path", "target_path", "/home/o/b.txt", "absent")]));
        let result = json!({ "ok": true, "results": [], "ok_count": 1, "fail_count": 0, "bytes_written": 5 });
        let command = returned(&turn, &result, vec![write_op()]);
        assert_eq!(world.take(&mut turn, command)[2], expected, "{autonomy}");
    }
}

/// What a write at a level leads to once the call is back, with a grant that ends then, and the reasons of the last verdict.
#[track_caller]
fn granted(autonomy: &str, capability: &str, pattern: &str, until: i64) -> (&'static str, Vec<String>) {
    wanted(write_op(), autonomy, (capability, pattern, until))
}

/// The same of any other change that the call wants.
#[track_caller]
fn wanted(op: PlannedOp, autonomy: &str, grant: (&str, &str, i64)) -> (&'static str, Vec<String>) {
    let (capability, pattern, until) = grant;
    let (world, mut turn) = (World::new(), Turn::default());
    world.take(&mut turn, open("write \"hello\" to b.txt", autonomy));
    let Command::Prepared(facts) = prepared(vec![target("/path", "target_path", "/home/o/b.txt", "absent")]) else {
        panic!("no facts")
    };
    let (capability, pattern) = (capability.to_owned(), pattern.to_owned());
    let grants = vec![Granted { grant: 3, capability, target: pattern, until: NOW.0 + until }];
    world.take(&mut turn, Command::Prepared(Prepared { grants, ..facts }));
    let result = json!({ "ok": true, "results": [], "ok_count": 1, "fail_count": 0, "bytes_written": 5 });
    let command = returned(&turn, &result, vec![op]);
    let label = world.take(&mut turn, command)[2];
    (label, turn.step().unwrap().reasons.clone())
}

/// A server is no file: nothing that is said of paths lets something be sent, and who only looks sends nothing.
#[test]
fn what_is_sent_is_asked_about_unless_its_server_is_granted() {
    let request = WebRequest { method: "POST".to_owned(), ..WebRequest::default() };
    let op = |path: &str| PlannedOp {
        op: "http".to_owned(),
        path: path.to_owned(),
        request: Some(Box::new(request.clone())),
        ..PlannedOp::default()
    };
    let sent =
        |autonomy, capability, pattern| wanted(op("https://hub.example/a"), autonomy, (capability, pattern, 1)).0;
    assert_eq!(sent("supervised", "network:http", "hub.example"), "effects_planned");
    assert_eq!(sent("supervised", "network:http", "*.hub.example"), "consent_asked", "those below it are others");
    assert_eq!(sent("full", "fs:write", "/"), "consent_asked");
    assert_eq!(sent("read_only", "network:http", "hub.example"), "step_refused");
    let elsewhere = op("https://hub.example:8443/a");
    assert_eq!(wanted(elsewhere, "supervised", ("network:http", "hub.example", 1)).0, "consent_asked", "another port");
}

/// What was taken back while a turn ran is no more used by it, neither by its calls nor by what they want changed.
#[test]
fn whoever_may_do_less_by_now_has_nothing_done() {
    for is_call in [true, false] {
        let (world, mut turn) = (World::new(), Turn::default());
        world.take(&mut turn, open("write \"hello\" to b.txt", "full"));
        let Command::Prepared(facts) = prepared(vec![target("/path", "target_path", "/home/o/b.txt", "absent")]) else {
            panic!("no facts")
        };
        let mut labels = world.take(&mut turn, Command::Prepared(Prepared { may_do_less: is_call, ..facts }));
        if !is_call {
            let result = json!({ "ok": true, "results": [], "ok_count": 1, "fail_count": 0, "bytes_written": 5 });
            let Command::Returned(mut finished) = returned(&turn, &result, vec![write_op()]) else { panic!("no call") };
            finished.may_do_less = true;
            labels = world.take(&mut turn, Command::Returned(finished));
        }
        assert_eq!(labels[1..3], ["step_refused", "turn_closed"], "{labels:?}");
        assert_eq!(turn.final_class.as_deref(), Some("policy_violation"));
    }
}

#[test]
fn a_grant_that_holds_makes_the_question_unnecessary_and_is_named() {
    let allowed = ("effects_planned", vec!["policy: allow".to_owned(), "grant: 3".to_owned()]);
    assert_eq!(granted("supervised", "fs:write", "/home/o", 1), allowed);
    assert_eq!(granted("full", "fs:write", "/home/o/b.txt", 1), allowed);
    assert_eq!(super::grants(&allowed.1), [3]);
    let asked = ("consent_asked", vec!["policy: ask".to_owned()]);
    assert_eq!(granted("supervised", "fs:write", "/home/o", 0), asked, "it has ended");
    assert_eq!(granted("supervised", "fs:write", "/home/o/other", 1), asked);
    assert_eq!(granted("supervised", "fs:read", "/home/o", 1), asked);
    assert_eq!(granted("read_only", "fs:write", "/home/o", 1), ("step_refused", vec!["policy: deny".to_owned()]));
}

/// What is done as it was done before weighs a little more; a weak trace weighs nothing.
#[test]
fn a_strong_mnest_speaks_for_a_step() {
    let world = World::new();
    let score = |mnest_permille| {
        let mut turn = Turn::default();
        world.take(&mut turn, open("write \"hello\" to b.txt", "supervised"));
        let Command::Prepared(facts) = prepared(vec![target("/path", "target_path", "/home/o/b.txt", "absent")]) else {
            panic!("no facts")
        };
        let command = world.current(&turn, Command::Prepared(Prepared { mnest_permille, ..facts }));
        let events = decide(&turn, ID, world.context(), command).unwrap();
        let score =
            |event: &Event| if let Event::VerdictGiven(verdict) = event { Some(verdict.score_permille) } else { None };
        events.iter().rev().find_map(score).unwrap()
    };
    assert_eq!(score(Some(549)), score(None));
    assert_eq!(score(Some(550)), score(None) + 50);
}

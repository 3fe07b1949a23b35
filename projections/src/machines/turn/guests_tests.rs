//! A guest's turn by given, when, then: what lies outside is refused by the decision alone, whatever the edge looked up.

use metnos_log::event::turn::{PlannedOp, TurnOpened};
use serde_json::json;

use super::tests::{World, open, prepared, returned, target};
use super::{Command, Phase, Turn};

const OWN: &str = "/m/guests/guest_1";

/// A guest's sentence, up to its first step.
fn opened(world: &World, text: &str, autonomy: &str) -> Turn {
    let Command::Open(opened) = open(text, autonomy) else { unreachable!("it opens") };
    let within = Some(vec![OWN.to_owned()]);
    let mut turn = Turn::default();
    let (home, folder) = (OWN.to_owned(), OWN.to_owned());
    world.take(&mut turn, Command::Open(Box::new(TurnOpened { within, home, folder, ..*opened })));
    turn
}

#[track_caller]
fn is_refused(turn: &Turn) {
    assert_eq!((turn.phase, turn.final_class.as_deref()), (Phase::Closed, Some("policy_violation")));
}

#[test]
fn a_path_outside_is_refused_before_anything_about_it_is_said() {
    let world = World::new();
    let outside = target("/paths/0", "path", "/home/o/a.txt", "file");
    let absent = {
        let mut target = target("/paths/0", "path", "/home/o/a.txt", "absent");
        target.trouble = Some(("not_found".to_owned(), "absent".to_owned()));
        target
    };
    let mut told = Vec::new();
    for target in [outside, absent] {
        let mut turn = opened(&world, "read the file /home/o/a.txt", "full");
        assert_eq!(
            world.take(&mut turn, prepared(vec![target])),
            ["arguments_resolved", "step_refused", "turn_closed"]
        );
        is_refused(&turn);
        told.push(turn.message.unwrap());
    }
    assert_eq!(told[0], told[1], "whether it is there is not told");
    // A link that lies inside and leads outside is named as it was named.
    let mut turn = opened(&world, "read the file a.txt", "full");
    let mut link = target("/paths/0", "path", "/home/o/a-long-secret-name.txt", "file");
    link.given = "a.txt".to_owned();
    world.take(&mut turn, prepared(vec![link]));
    is_refused(&turn);
    assert!(!turn.message.unwrap().contains("secret"));
}

#[test]
fn a_path_inside_goes_the_way_of_any_other() {
    let world = World::new();
    let mut turn = opened(&world, "read the file a.txt", "read_only");
    let inside = target("/paths/0", "path", "/m/guests/guest_1/a.txt", "file");
    let labels = world.take(&mut turn, prepared(vec![inside]));
    assert_eq!(labels, ["arguments_resolved", "verdict_given", "invocation_started"]);
}

/// An executor that wants more changed than its arguments named is held to the perimeter all the same.
#[test]
fn a_change_outside_is_refused_though_its_target_was_inside() {
    let world = World::new();
    let mut turn = opened(&world, "write \"hello\" to b.txt", "full");
    world.take(&mut turn, prepared(vec![target("/path", "target_path", "/m/guests/guest_1/b.txt", "absent")]));
    assert_eq!(turn.phase, Phase::Calling);
    let op = PlannedOp { op: "write".to_owned(), path: "/home/o/b.txt".to_owned(), ..PlannedOp::default() };
    let result = json!({ "ok": true, "results": [], "ok_count": 1, "fail_count": 0, "bytes_written": 5 });
    let labels = world.take(&mut turn.clone(), returned(&turn, &result, vec![op.clone()]));
    assert_eq!(labels, ["invocation_finished", "step_refused", "turn_closed"]);
    let inside = PlannedOp { path: "/m/guests/guest_1/b.txt".to_owned(), ..op };
    let labels = world.take(&mut turn.clone(), returned(&turn, &result, vec![inside]));
    assert_eq!(labels, ["invocation_finished", "verdict_given", "consent_asked"]);
}

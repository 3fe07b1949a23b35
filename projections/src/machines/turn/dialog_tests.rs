//! Questions to a person: those of steps, and those of the planner, by given, when, then.

use metnos_log::event::dialog::DialogOpened;
use metnos_log::event::turn::TurnOpened;
use metnos_log::{Event, TurnId};
use serde_json::{Value, json};

use super::command::Prepared;
use super::tests::{ID, NOW, World, open, prepared, returned, target};
use super::{Command, Effect, Phase, Rejection, Turn, decide, forms, react};

/// Takes a command in; what it led to.
#[track_caller]
fn events(world: &World, turn: &mut Turn, command: Command) -> Vec<Event> {
    let events = decide(turn, ID, world.context(), world.current(turn, command)).unwrap();
    for event in &events {
        turn.apply(ID, NOW, event);
    }
    events
}

/// A turn of that plan, its first step prepared.
#[track_caller]
fn given(world: &World, steps: &Value, dialogs: bool) -> (Turn, Vec<Event>) {
    let Command::Open(opened) = open("from a test", "supervised") else { panic!("another command") };
    let given = Some(json!({ "steps": steps }).into());
    let mut turn = Turn::default();
    world.take(&mut turn, Command::Open(Box::new(TurnOpened { given, dialogs, ..*opened })));
    let then = events(world, &mut turn, prepared(Vec::new()));
    (turn, then)
}

fn labels(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(Event::label).collect()
}

#[track_caller]
fn dialog(events: &[Event]) -> &DialogOpened {
    let found =
        events.iter().find_map(|event| if let Event::DialogOpened(dialog) = event { Some(dialog) } else { None });
    found.expect("a question is put")
}

#[track_caller]
fn says(world: &World, turn: &mut Turn, text: &str) -> Vec<Event> {
    let command = answer(turn, text);
    events(world, turn, command)
}

/// Ends the call of a dialog as the engine does.
#[track_caller]
fn ends(world: &World, turn: &mut Turn) -> Vec<Event> {
    assert!(matches!(react(turn), Some(Effect::Call { .. })), "{:?}", turn.phase);
    let step = turn.step().unwrap();
    let result = forms::result(&step.tool, &step.args, &step.answers);
    let command = returned(turn, &result, Vec::new());
    events(world, turn, command)
}

fn form() -> Value {
    json!({ "title": "Expenses", "fields": [
        { "name": "file", "label": "Which file?", "type": "path" },
        { "name": "most", "label": "How much at most?", "type": "number", "required": false },
        { "name": "kind", "label": "What kind?", "type": "choice", "options": ["Rent", "Food"] },
    ] })
}

#[test]
fn a_form_is_asked_field_by_field_and_later_steps_refer_to_it() {
    let world = World::new();
    let steps = json!([
        { "tool": "get_inputs", "args": form() },
        { "tool": "read_files", "args": { "paths": ["{{step1.values.file}}"] } },
    ]);
    let (mut turn, then) = given(&world, &steps, true);
    assert_eq!(labels(&then), ["arguments_resolved", "verdict_given", "dialog_opened", "turn_suspended"]);
    let asked = dialog(&then);
    assert_eq!((asked.kind.as_str(), asked.step, asked.field.as_deref()), ("get_inputs", Some(1), Some("file")));
    assert_eq!(turn.message.as_deref(), Some("Expenses (1 of 3)\nWhich file? (a file or folder)"));
    assert!(!turn.may_be_left_out());
    let then = says(&world, &mut turn, "notes.txt");
    assert_eq!(labels(&then), ["dialog_answered", "turn_resumed", "dialog_opened", "turn_suspended"]);
    assert!(turn.may_be_left_out());
    says(&world, &mut turn, "");
    assert_eq!(turn.message.as_deref(), Some("Expenses (3 of 3)\nWhat kind?\n  1. Rent\n  2. Food"));
    let then = says(&world, &mut turn, "fo");
    assert_eq!(labels(&then), ["dialog_answered", "turn_resumed", "invocation_started"]);
    let then = ends(&world, &mut turn);
    assert_eq!(labels(&then), ["invocation_finished", "step_proposed"]);
    let values = json!({ "file": "/home/o/notes.txt", "most": null, "kind": "Food" });
    assert_eq!(turn.steps[0].result.as_ref().unwrap()["values"], values);
    // What the person wrote into the form is the person's own word: nobody is asked whether it may be read.
    let Command::Prepared(facts) = prepared(vec![target("/paths/0", "path", "/home/o/notes.txt", "file")]) else {
        panic!("another command")
    };
    let then = events(&world, &mut turn, Command::Prepared(Prepared { step: 2, ..facts }));
    assert_eq!(labels(&then), ["arguments_resolved", "verdict_given", "invocation_started"]);
}

#[test]
fn what_was_only_chosen_from_a_proposal_is_not_the_persons_own_word() {
    let world = World::new();
    let steps = json!([
        { "tool": "request_disambiguation_from_user", "args": { "question": "Which one?", "options": [
            { "id": "/home/o/a", "label": "The first" }, { "id": "/srv/b", "label": "The second" },
        ] } },
        { "tool": "read_files", "args": { "paths": ["{{step1.id}}"] } },
    ]);
    let (mut turn, then) = given(&world, &steps, true);
    assert_eq!(dialog(&then).options.len(), 2);
    let then = says(&world, &mut turn, "2");
    assert_eq!(labels(&then), ["dialog_answered", "turn_resumed", "invocation_started"]);
    ends(&world, &mut turn);
    assert_eq!(turn.step().unwrap().resolved.as_ref().unwrap().as_ref().unwrap().args["paths"], json!(["/srv/b"]));
    let Command::Prepared(facts) = prepared(vec![target("/paths/0", "path", "/srv/b", "file")]) else {
        panic!("another command")
    };
    let then = events(&world, &mut turn, Command::Prepared(Prepared { step: 2, ..facts }));
    assert_eq!(labels(&then).last(), Some(&"consent_asked"));
}

#[test]
fn a_yes_is_no_consent() {
    let world = World::new();
    let steps = json!([
        { "tool": "get_approval", "args": { "question": "Delete it?", "details": "It is old." } },
        { "tool": "delete_files", "args": { "paths": ["/home/o/a"] } },
    ]);
    let (mut turn, _) = given(&world, &steps, true);
    assert_eq!(turn.message.as_deref(), Some("Delete it?\nIt is old. (yes or no)"));
    // A no ends the plan.
    let mut refused = turn.clone();
    says(&world, &mut refused, "no");
    let then = ends(&world, &mut refused);
    assert_eq!(labels(&then), ["invocation_finished", "turn_closed"]);
    assert!(refused.message.as_ref().unwrap().starts_with("You said no"), "{:?}", refused.message);
    says(&world, &mut turn, "yes");
    ends(&world, &mut turn);
    assert_eq!(turn.steps[0].result.as_ref().unwrap()["approved"], true);
    let Command::Prepared(facts) = prepared(vec![target("/paths/0", "target_path", "/home/o/a", "file")]) else {
        panic!("another command")
    };
    events(&world, &mut turn, Command::Prepared(Prepared { step: 2, ..facts }));
    let command = returned(&turn, &json!({ "ok": true, "metadata": {} }), vec![super::tests::delete_op("/home/o/a")]);
    let then = events(&world, &mut turn, command);
    assert_eq!(labels(&then).last(), Some(&"consent_asked"), "{:?}", labels(&then));
}

#[test]
fn a_wrong_answer_is_asked_again_with_the_reason_three_times() {
    let world = World::new();
    let fields = json!([{ "name": "n", "label": "How many?", "type": "number" }]);
    let steps = json!([{ "tool": "get_inputs", "args": { "fields": fields } }]);
    let (mut turn, _) = given(&world, &steps, true);
    for _ in 0..2 {
        assert_eq!(turn.is_answer(&world.tools, "many", NOW), Some(false));
        let then = says(&world, &mut turn, "many");
        assert_eq!(labels(&then), ["dialog_answered", "turn_resumed", "dialog_opened", "turn_suspended"]);
        let message = turn.message.clone().unwrap();
        assert!(message.starts_with("That is no number") && message.ends_with("\nHow many? (a number)"), "{message}");
    }
    let mut other = turn.clone();
    let then = says(&world, &mut turn, "many");
    assert_eq!(labels(&then), ["dialog_answered", "turn_resumed", "turn_closed"]);
    assert_eq!(turn.final_kind.as_deref(), Some("needs_inputs"));
    assert!(turn.message.as_ref().unwrap().contains("three times"), "{:?}", turn.message);
    // A right answer in between goes on as if nothing had been.
    says(&world, &mut other, "7");
    let then = ends(&world, &mut other);
    assert_eq!(labels(&then), ["invocation_finished", "turn_closed"]);
    assert_eq!(other.message.as_deref(), Some("How many?: 7"));
}

#[test]
fn where_nobody_can_answer_or_nobody_does_the_turn_ends_with_the_question() {
    let world = World::new();
    let choice = json!({ "question": "Which?", "options": [{ "id": "a", "label": "A" }] });
    let cases = [
        ("get_inputs", form(), "needs_inputs"),
        ("get_approval", json!({ "question": "Go on?" }), "awaiting"),
        ("request_disambiguation_from_user", choice, "ask"),
    ];
    for (tool, args, kind) in cases {
        let steps = json!([{ "tool": tool, "args": args }]);
        let (turn, then) = given(&world, &steps, false);
        assert_eq!(labels(&then), ["arguments_resolved", "verdict_given", "turn_closed"]);
        assert_eq!((turn.final_kind.as_deref(), turn.final_class.as_deref()), (Some(kind), None));
        let (waiting, _) = given(&world, &steps, true);
        let dialog = waiting.dialog().unwrap();
        for command in [
            Command::Lapse { dialog: dialog.clone() },
            Command::Withdraw { dialog: dialog.clone(), by: "person".into() },
        ] {
            let mut waiting = waiting.clone();
            events(&world, &mut waiting, command);
            assert_eq!((waiting.final_kind.as_deref(), waiting.phase), (Some(kind), Phase::Closed));
            assert_eq!(waiting.message, turn.message);
        }
    }
}

#[test]
fn a_form_that_cannot_be_filled_in_is_refused() {
    let world = World::new();
    let twice = json!([{ "name": "n", "type": "text" }, { "name": "n", "type": "date" }]);
    let empty = json!([{ "name": "n", "type": "choice" }]);
    for fields in [twice, empty] {
        let steps = json!([{ "tool": "get_inputs", "args": { "fields": fields } }]);
        let (turn, _) = given(&world, &steps, true);
        assert_eq!(turn.final_class.as_deref(), Some("invalid_args"), "{:?}", turn.message);
    }
}

/// A turn whose request is not understood, up to the choice that it puts.
fn choosing(world: &World, text: &str) -> (Turn, DialogOpened) {
    let Command::Open(opened) = open(text, "supervised") else { panic!("another command") };
    let mut turn = Turn::default();
    let then = events(world, &mut turn, Command::Open(Box::new(TurnOpened { dialogs: true, ..*opened })));
    let asked = dialog(&then).clone();
    (turn, asked)
}

#[test]
fn the_planners_choice_is_shown_by_descriptions_and_answered_by_number_or_name() {
    let world = World::new();
    let (turn, asked) = choosing(&world, "zeige /home/o/a.txt");
    let message = turn.message.clone().unwrap();
    assert_eq!(
        asked.options.iter().map(|option| &option.id).collect::<Vec<_>>(),
        asked.candidates.iter().collect::<Vec<_>>()
    );
    for (number, option) in (1..).zip(&asked.options) {
        assert!(message.contains(&format!("\n  {number}. {}", option.label)), "{message}");
        assert!(!message.contains(&option.id), "{message}");
        for line in [number.to_string(), option.id.clone(), option.label.clone()] {
            assert_eq!(turn.is_answer(&world.tools, &line, NOW), Some(true), "{line}");
        }
    }
    assert_eq!(turn.is_answer(&world.tools, "a.txt", NOW), None);
    let at = asked.candidates.iter().position(|name| name == "read_files").expect("it is among them");
    let mut chosen = turn.clone();
    let then = says(&world, &mut chosen, &(at + 1).to_string());
    assert_eq!(labels(&then)[..2], ["dialog_answered", "turn_resumed"]);
    assert_eq!(chosen.only.as_deref(), Some("read_files"));
    assert_eq!(chosen.step().map(|step| step.tool.as_str()), Some("read_files"), "{:?}", chosen.message);
    assert_eq!(chosen.step().unwrap().proposed["paths"], json!(["/home/o/a.txt"]));
    let mut missed = turn.clone();
    let then = says(&world, &mut missed, "99");
    assert_eq!(labels(&then), ["dialog_answered", "turn_resumed", "dialog_opened", "turn_suspended"]);
    let again = missed.message.clone().unwrap();
    assert!(again.starts_with("That is none of them") && again.ends_with(&message), "{again}");
    assert_eq!(dialog(&then).options, asked.options);
    let mut none = turn;
    says(&world, &mut none, "no");
    assert_eq!((none.phase, none.final_kind.as_deref()), (Phase::Closed, Some("ask")));
}

#[test]
fn a_choice_without_a_target_asks_for_more_and_keeps_what_was_chosen() {
    let world = World::new();
    let (mut turn, asked) = choosing(&world, "gronkle the files zorbily");
    let at = asked.candidates.iter().position(|name| name == "delete_files").map_or(0, |at| at);
    let name = asked.candidates[at].clone();
    says(&world, &mut turn, &(at + 1).to_string());
    assert_eq!(turn.phase, Phase::Waiting, "nothing is done to what no word names: {:?}", turn.steps);
    assert_eq!(turn.only.as_deref(), Some(name.as_str()));
    assert!(!turn.message.as_ref().unwrap().contains("zorbily"), "{:?}", turn.message);
}

#[test]
fn ids_of_questions_count_through_the_turn() {
    let world = World::new();
    let (mut turn, _) = given(&world, &json!([{ "tool": "get_inputs", "args": form() }]), true);
    let id = TurnId::to_string(&ID);
    assert_eq!(turn.dialog(), Some(format!("{id}-1")));
    says(&world, &mut turn, "x");
    assert_eq!(turn.dialog(), Some(format!("{id}-2")));
}

#[test]
fn a_question_is_a_choice_only_where_it_names_what_to_choose() {
    let world = World::new();
    for (text, kind) in
        [("read the file", "get_inputs"), ("gronkle the files zorbily", "request_disambiguation_from_user")]
    {
        let Command::Open(opened) = open(text, "supervised") else { panic!("another command") };
        let opened = Command::Open(Box::new(TurnOpened { dialogs: true, ..*opened }));
        let events = decide(&Turn::default(), ID, world.context(), opened).unwrap();
        let found = events
            .iter()
            .find_map(|event| if let Event::DialogOpened(dialog) = event { Some(dialog.kind.as_str()) } else { None });
        assert_eq!(found, Some(kind), "{text}");
    }
}

/// A turn whose question can be answered, up to that question.
fn waiting(world: &World, text: &str) -> Turn {
    let Command::Open(opened) = open(text, "supervised") else { panic!("another command") };
    let mut turn = Turn::default();
    let labels = world.take(&mut turn, Command::Open(Box::new(TurnOpened { dialogs: true, ..*opened })));
    assert_eq!(labels, ["turn_opened", "candidates_ranked", "plan_proposed", "dialog_opened", "turn_suspended"]);
    assert_eq!(turn.phase, Phase::Waiting);
    turn
}

fn answer(turn: &Turn, text: &str) -> Command {
    let (dialog, answer, channel) = (turn.dialog().unwrap(), text.to_owned(), "console".to_owned());
    Command::Answer { dialog, answer, channel, existing: Vec::new() }
}

#[test]
fn an_answer_completes_the_request_and_the_turn_goes_on() {
    let world = World::new();
    let mut turn = waiting(&world, "read the file");
    assert_eq!(turn.message.as_deref(), Some("Which file or folder do you mean?"));
    assert!(matches!(react(&turn), Some(Effect::Reply)), "the question is the interim reply");
    let command = answer(&turn, "/home/owner/a.txt");
    let labels = world.take(&mut turn, command);
    assert_eq!(labels, ["dialog_answered", "turn_resumed", "candidates_ranked", "plan_proposed", "step_proposed"]);
    assert_eq!(turn.text(), "read the file /home/owner/a.txt");
    assert_eq!(turn.step().unwrap().proposed, json!({ "paths": ["/home/owner/a.txt"] }));
    assert_eq!((turn.dialog(), turn.phase), (None, Phase::Preparing));
}

#[test]
fn a_no_to_what_was_asked_leaves_the_request() {
    let world = World::new();
    for said in ["no", "No, grazie.", "never mind", "lascia stare", "Annulla!"] {
        let mut turn = waiting(&world, "read the file");
        assert_eq!(turn.is_answer(&world.tools, said, NOW), Some(true), "{said}");
        let command = answer(&turn, said);
        world.take(&mut turn, command);
        assert_eq!((turn.phase, turn.final_kind.as_deref()), (Phase::Closed, Some("ask")), "{said}");
        assert_eq!(turn.message.as_deref(), Some("All right, I leave it. Nothing was done."), "{said}");
    }
    let mut turn = waiting(&world, "read the file");
    assert_eq!(turn.is_answer(&world.tools, "no.txt", NOW), None);
    let command = answer(&turn, "no.txt");
    world.take(&mut turn, command);
    assert_eq!(turn.step().unwrap().proposed, json!({ "paths": ["no.txt"] }));
}

#[test]
fn an_answer_that_is_a_request_of_its_own_takes_the_place() {
    let world = World::new();
    let mut turn = waiting(&world, "read the file");
    let command = answer(&turn, "find the txt files in /home/owner");
    world.take(&mut turn, command);
    assert_eq!((turn.text(), turn.step().unwrap().tool.as_str()), ("find the txt files in /home/owner", "find_files"));
}

#[test]
fn a_question_is_put_again_three_times_at_most() {
    let world = World::new();
    let mut turn = waiting(&world, "read the file");
    for (questions, last) in [(2, "turn_suspended"), (3, "turn_suspended"), (3, "turn_closed")] {
        let command = answer(&turn, "?");
        let labels = world.take(&mut turn, command);
        assert_eq!((turn.dialogs, labels.last().copied()), (questions, Some(last)), "{labels:?}");
    }
    assert_eq!(turn.final_kind.as_deref(), Some("ask"));
}

#[test]
fn a_question_lapses_or_is_withdrawn_and_no_other_one_is_answered() {
    let world = World::new();
    for (label, make) in [
        ("dialog_expired", (|dialog| Command::Lapse { dialog }) as fn(String) -> Command),
        ("dialog_withdrawn", |dialog| Command::Withdraw { dialog, by: "person".to_owned() }),
    ] {
        let mut turn = waiting(&world, "read the file");
        let other = decide(&turn, ID, world.context(), make("another".to_owned()));
        assert_eq!(other, Err(Rejection::OtherQuestion));
        let command = make(turn.dialog().unwrap());
        assert_eq!(world.take(&mut turn, command), [label, "turn_closed"]);
        assert_eq!(turn.final_kind.as_deref(), Some("ask"));
        let late = decide(&turn, ID, world.context(), answer(&waiting(&world, "read the file"), "a.txt"));
        assert!(matches!(late, Err(Rejection::OutOfPlace { .. })), "{late:?}");
    }
}

#[test]
fn where_nobody_can_answer_the_turn_closes_with_its_question() {
    let world = World::new();
    let mut turn = Turn::default();
    let labels = world.take(&mut turn, open("read the file", "supervised"));
    assert_eq!(labels.last(), Some(&"turn_closed"));
    assert_eq!(turn.final_kind.as_deref(), Some("ask"));
}

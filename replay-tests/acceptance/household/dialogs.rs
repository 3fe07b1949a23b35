//! Plans that ask a person: put by one process, answered at the terminal of another, and the planner's own choice.
//!
//! No engine plans such steps from a sentence, so each plan is handed to the real engine on the home's own log, as the
//! process that is gone then had left it; everything after its first question is the binary.

use std::time::Duration;

use metnos::config::{Flags, Variables};
use metnos::engine::{self, Answer, Person, Request};
use metnos::instance::Instance;
use metnos::sandbox::{CancelFlag, Progress};
use metnos_projections::machines::turn::Turn;
use metnos_projections::messages::Language;
use serde_json::{Value, json};

use super::home::Home;
use super::pty::Pty;

/// Whoever started the process that asks is gone before anything else is to be decided.
struct Gone;

impl Person for Gone {
    fn consent(&self, _about: &str, _text: &str, _language: Language) -> Answer {
        Answer::Nobody
    }

    fn progress(&self, _progress: &Progress) {}
}

/// Runs a plan up to its first question, or to its end where nobody can answer.
fn planned(home: &Home, text: &str, steps: &Value, dialogs: bool) -> Turn {
    planned_in(home, "en", text, steps, dialogs)
}

fn planned_in(home: &Home, language: &str, text: &str, steps: &Value, dialogs: bool) -> Turn {
    let variables = Variables { user_home: Some(home.files()), ..Variables::default() };
    let metnos = home.metnos();
    let flags = Flags { language: Language::parse(language), ..Flags::default() };
    let instance = Instance::open(Some(&metnos), &flags, &variables, Duration::from_secs(10)).unwrap();
    let request = Request {
        text: text.to_owned(),
        approve: "none".to_owned(),
        folder: home.files(),
        channel: "console".to_owned(),
        given: Some(json!({ "steps": steps })),
        dialogs,
        ..Request::default()
    };
    engine::run(&instance, &Gone, CancelFlag::new().unwrap(), &request).unwrap()
}

fn form(fields: &Value) -> Value {
    json!({ "tool": "get_inputs", "args": { "title": "Notes", "fields": fields } })
}

/// The record of the last turn.
fn last(home: &Home) -> Value {
    home.run(["--json", "turn", "show"]).json()
}

#[test]
fn a_form_survives_its_process_and_its_values_reach_later_steps() {
    let home = Home::new();
    home.file("notes.txt", "one\ntwo\nthree\n");
    let fields = json!([
        { "name": "file", "label": "Which file?", "type": "path" },
        { "name": "lines", "label": "How many lines?", "type": "number" },
        { "name": "why", "label": "What for?", "type": "text", "required": false },
    ]);
    let read = json!({ "paths": ["{{step1.values.file}}"], "head_lines": "{{step1.values.lines}}" });
    let steps = json!([form(&fields), { "tool": "read_files", "args": read }]);
    let turn = planned(&home, "show me some of my notes", &steps, true);
    assert_eq!(turn.final_kind, None);
    let mut chat = Pty::run(&home, 100, &["chat"]);
    let shown = chat.sees(") > ");
    assert!(shown.contains("Still open from before: “show me some of my notes”."), "{shown}");
    assert!(shown.contains("Notes (1 of 3)") && shown.contains("Which file? (a file or folder)"), "{shown}");
    // Another sentence is a turn of its own, and the question stays.
    chat.types("/why\r");
    chat.sees("Nothing has been asked in this conversation yet.");
    chat.sees(") > ");
    chat.types("notes.txt\r");
    chat.sees("How many lines? (a number)");
    chat.sees(") > ");
    chat.types("what time is it\r");
    chat.sees("Still open: Notes (2 of 3)");
    chat.sees(") > ");
    // What is no answer is asked again, with the reason; a kill loses nothing of it.
    chat.types("a few\r");
    chat.sees("That is no number I can read.");
    chat.sees("How many lines? (a number)");
    chat.sees(") > ");
    drop(chat); // SIGKILL
    let mut chat = Pty::run(&home, 100, &["chat"]);
    chat.sees("How many lines? (a number)");
    chat.sees(") > ");
    chat.types("2\r");
    chat.sees("What for? (an empty line leaves it out)");
    chat.sees(") > ");
    chat.types("\r");
    chat.sees("one\r\ntwo\r\n");
    chat.sees("> \r");
    chat.types("\u{4}");
    assert_eq!(chat.ends().0, Some(0));
    let turns = home.run(["--json", "turn", "list"]).out;
    assert!(!turns.contains("\"final_kind\":null"), "{turns}");
    let told = turns.lines().find(|line| line.contains("show me some of my notes")).unwrap();
    assert!(told.contains("\"final_kind\":\"answer\""), "{told}");
    home.is_whole();
}

#[test]
fn a_yes_goes_on_but_consents_to_nothing() {
    let home = Home::new();
    let path = home.file("old.txt", "old\n");
    let steps = json!([
        { "tool": "get_approval", "args": { "question": "Posso buttare old.txt?" } },
        { "tool": "delete_files", "args": { "paths": [path] } },
    ]);
    planned_in(&home, "it", "butta via il file vecchio", &steps, true);
    let mut chat = Pty::run(&home, 100, &["chat", "--lang", "it"]);
    chat.sees("Posso buttare old.txt? (sì o no)");
    chat.sees(") > ");
    chat.types("boh\r");
    chat.sees("Rispondi sì o no.");
    chat.sees(") > ");
    chat.types("sì\r");
    let consent = chat.sees("[s/N]");
    assert!(consent.contains("Vorrei cancellare 1 file, 4 byte, nel cestino"), "{consent}");
    chat.types("n\r");
    chat.sees("> \r");
    assert!(path.exists());
    chat.types("\u{4}");
    assert_eq!(chat.ends().0, Some(0));
    let record = last(&home);
    assert_eq!(record["error_class"], "consent_denied", "{record}");
    home.is_whole();
}

#[test]
fn one_of_several_is_chosen_by_its_beginning_and_ctrl_c_withdraws() {
    let home = Home::new();
    home.file("a.txt", "alpha\n");
    let options = json!([{ "id": "a.txt", "label": "The alphabet" }, { "id": "b.txt", "label": "The other" }]);
    let choice =
        json!({ "tool": "request_disambiguation_from_user", "args": { "question": "Which?", "options": options } });
    planned(&home, "choose", &json!([choice]), true);
    let mut chat = Pty::run(&home, 100, &["chat"]);
    let shown = chat.sees(") > ");
    assert!(shown.contains("1. The alphabet") && shown.contains("2. The other"), "{shown}");
    chat.types("the\r");
    chat.sees("none of them, or more than one");
    chat.sees(") > ");
    chat.types("the al\r");
    chat.sees("You chose: The alphabet");
    chat.sees("> \r");
    chat.types("\u{4}");
    assert_eq!(chat.ends().0, Some(0));
    planned(&home, "choose", &json!([choice]), true);
    let mut chat = Pty::run(&home, 100, &["chat"]);
    chat.sees(") > ");
    chat.types("\u{3}");
    chat.sees("> ");
    chat.types("\u{4}");
    assert_eq!(chat.ends().0, Some(0));
    let record = last(&home);
    assert_eq!(record["final_kind"], "ask", "{record}");
    home.is_whole();
}

#[test]
fn where_nobody_is_there_the_plan_ends_with_its_question() {
    let home = Home::new();
    let fields = json!([{ "name": "day", "label": "Which day?", "type": "date" }]);
    let turn = planned(&home, "plan a day", &json!([form(&fields)]), false);
    assert_eq!(turn.final_kind.as_deref(), Some("needs_inputs"));
    assert_eq!(turn.message.as_deref(), Some("Notes\nWhich day? (a date)"));
    home.is_whole();
}

#[test]
fn one_question_at_a_time_waits_in_a_channel() {
    let home = Home::new();
    let fields = json!([{ "name": "n", "label": "How many?", "type": "number" }]);
    planned(&home, "count", &json!([form(&fields)]), true);
    let mut ask = Pty::run(&home, 100, &["ask", "read the last line of the file"]);
    ask.sees("Answer:");
    let open = |home: &Home| home.run(["--json", "turn", "list"]).out.matches("\"final_kind\":null").count();
    ask.types("\n");
    assert_eq!(ask.ends().0, Some(3));
    assert_eq!(open(&home), 0, "the newer question took the place of the older one");
    home.is_whole();
}

#[test]
fn a_choice_of_the_planner_is_answered_by_its_number() {
    let home = Home::new();
    home.file("a.txt", "alpha\n");
    // Through a pipe the question is told, with descriptions and no names.
    let ran = home.ask("zeige a.txt");
    assert_eq!(ran.code, 3, "{} {}", ran.out, ran.err);
    assert!(ran.err.contains("\n  1. ") && !ran.err.contains("get_files"), "{}", ran.err);
    let number = |words: &str| {
        let line = ran.err.lines().map(str::trim).find(|line| line.contains(words)).unwrap();
        line.split_once('.').unwrap().0.to_owned()
    };
    let mut ask = Pty::run(&home, 200, &["ask", "zeige a.txt"]);
    ask.sees("Answer:");
    ask.types(&format!("{}\n", number("Tells size")));
    let (code, shown) = ask.ends();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("a.txt") && shown.contains("6 "), "{shown}");
    // What deletes is chosen too, but a word that nobody knows still speaks against it.
    let mut ask = Pty::run(&home, 200, &["ask", "zeige a.txt"]);
    ask.sees("Answer:");
    ask.types(&format!("{}\n", number("Deletes files")));
    ask.sees("say the whole request in other words");
    ask.sees("Answer:");
    ask.types("\n");
    assert_eq!(ask.ends().0, Some(3));
    assert!(home.files().join("a.txt").exists());
    home.is_whole();
}

#[test]
fn why_a_step_asked_is_told_and_replayed() {
    let home = Home::new();
    let steps = json!([{ "tool": "get_approval", "args": { "question": "Shall I go on?" } }]);
    planned(&home, "do the thing", &steps, true);
    let why = home.ask("why did you ask me that?").out;
    assert!(why.contains("You wrote “do the thing”. I asked: “Shall I go on?” Step 1"), "{why}");
    let mut chat = Pty::run(&home, 100, &["chat"]);
    chat.sees(") > ");
    chat.types("yes\r");
    chat.sees("You said yes.");
    chat.sees("> \r");
    chat.types("\u{4}");
    assert_eq!(chat.ends().0, Some(0));
    let turns = home.run(["--json", "turn", "list"]).out;
    let told = turns.lines().find(|line| line.contains("do the thing")).unwrap();
    let id = serde_json::from_str::<Value>(told).unwrap()["turn_id"].as_str().unwrap().to_owned();
    let shown = home.run(["replay", "turn", &id]).out;
    assert!(shown.contains("goes on    with true") && shown.contains("get_approval 1.0.0"), "{shown}");
    // What asks back is nothing that it can do for a person.
    assert!(!home.ask("what can you do").out.contains("yes or no"));
    home.is_whole();
}

//! How turns end, are asked, refused, stopped, taken back, and planned by a model.

use metnos_log::Event;
use metnos_log::event::executor::LifeCycle;
use metnos_log::event::model::Proposer;
use metnos_log::event::turn::TurnOpened;
use metnos_projections::machines::catalog::Command;
use serde_json::json;

use crate::builder::History;
use crate::turning::{Turning, message, request};

type Scenario = (&'static str, &'static str, fn() -> History);

pub(super) const ALL: &[Scenario] = &[
    (
        "read-answered",
        "A file is read unasked, since the words name it, and answered in both languages.",
        read_answered,
    ),
    ("asked-what", "A sentence that lacks what it is about ends with a question.", asked_what),
    ("consent-given", "A write is asked about, agreed to, planned and made.", consent_given),
    ("consent-denied", "A write is asked about and refused: nothing is planned.", consent_denied),
    (
        "consent-expired",
        "Nobody is there to agree: by no terminal, by time, and by rights that shrank meanwhile.",
        consent_expired,
    ),
    ("undo", "A write is taken back by a later turn.", undo),
    ("undo-of-undo", "A write is taken back, and that is taken back: the file is there again.", undo_of_undo),
    (
        "crash-amid-changes",
        "Of three planned changes one was made when the process died; recovery finds the second made, and makes the third.",
        crash_amid_changes,
    ),
    (
        "crash-before-call",
        "The process died after the intent of a call: the next one cancels the turn, since its person is gone.",
        crash_before_call,
    ),
    ("change-failed", "Of two planned changes the second fails, since the file changed meanwhile.", change_failed),
    ("sent-requests", "Of two requests to a server the second is not taken.", sent_requests),
    ("sent-message", "A message to a guest, of which the record is all that is left to send it by.", sent_message),
    ("many-changes", "Forty changes, committed in one event.", many_changes),
    ("cancelled-by-person", "Ctrl-C while a call runs.", cancelled_by_person),
    ("deadline", "A turn that took too long is stopped, before and after it planned changes.", deadline),
    ("guard-refused", "A path that the Laws forbid, there or not.", guard_refused),
    ("policy-refused", "A write at the autonomy read_only.", policy_refused),
    ("target-missing", "A file that is not there.", target_missing),
    ("call-failed", "An executor that ends by an error class.", call_failed),
    (
        "tampered-executor",
        "A file of the executor is not what was signed: found at the gateway, then quarantined.",
        tampered_executor,
    ),
    (
        "life-cycle",
        "A version is installed, quarantined, replaced by the next, and a builtin is switched off and on.",
        life_cycle,
    ),
    ("dialog-answered", "A form of two fields, answered; the step after it uses what was answered.", dialog_answered),
    ("dialog-expired", "A question that nobody answers in time.", dialog_expired),
    ("dialog-withdrawn", "A question that is taken back by the person.", dialog_withdrawn),
    ("model-answer", "A model answers by words alone.", model_answer),
    ("model-failure", "A model's server cannot be reached.", model_failure),
    (
        "model-from-step",
        "A model reads a file, then writes what it read, by a reference to the step; the change is asked about.",
        model_from_step,
    ),
    (
        "judge-refused",
        "A model would write to a file that nobody named: the judge refuses, and the model is told.",
        judge_refused,
    ),
    (
        "unknown-kind",
        "A newer program wrote kinds that this one does not know, outside of a turn and in one.",
        unknown_kind,
    ),
    (
        "erased-payload",
        "The sentence and the result of a turn were erased after it ended; the turn after it is whole.",
        erased_payload,
    ),
    (
        "redacted-secret",
        "What was read held a token; the events hold a placeholder, and the turn is not decided again.",
        redacted_secret,
    ),
];

fn basic() -> History {
    History::begin().executor("read_files").executor("write_files")
}

fn known(opened: &mut TurnOpened) {
    opened.dialogs = true;
}

fn read_answered() -> History {
    basic()
        .turn("read the file a.txt", |turn| turn.finds("file").reads("one\ntwo\n").ends("answer", ""))
        .turn("leggi il file a.txt", |turn| turn.finds("file").reads("uno\n").ends("answer", ""))
}

fn asked_what() -> History {
    basic().turn("write to b.txt", |turn| turn.ends("ask", ""))
}

const WRITE: &str = "write \"hello\" to b.txt";

fn asked(turn: Turning<'_>) -> Turning<'_> {
    turn.finds("absent").wants_files(&["b.txt"])
}

fn consent_given() -> History {
    basic().turn(WRITE, |turn| asked(turn).consents().change(0, "done").ends("answer", ""))
}

fn consent_denied() -> History {
    basic().turn(WRITE, |turn| asked(turn).refuses().ends("error", "consent_denied"))
}

fn consent_expired() -> History {
    let nobody = ["no_terminal", "time"].into_iter().fold(basic(), |history, why| {
        history.turn(WRITE, |turn| asked(turn).nobody(why).ends("awaiting", "consent_expired"))
    });
    nobody.turn(WRITE, |turn| asked(turn).nobody("rights").ends("error", "policy_violation"))
}

/// The newest turn that changed something is taken back.
fn taken_back(history: History) -> History {
    let planned = history.events().iter().rev().find(|recorded| recorded.kind == "effects_planned");
    let turn = planned.and_then(|recorded| recorded.turn).expect("a turn changed something");
    let of_turn = history.events().iter().filter(|recorded| recorded.turn == Some(turn));
    let events: Vec<Event> = of_turn.filter_map(|recorded| recorded.event().cloned()).collect();
    let given = |opened: &mut TurnOpened| {
        opened.given = Some(json!({ "tool": "undo_last_turn", "args": { "turn": turn.to_string() } }).into());
    };
    history.later(60).turn_as("undo", given, |undoing| {
        undoing.finds("file").takes_back(turn, &events).consents().change(0, "done").ends("answer", "")
    })
}

fn undo() -> History {
    taken_back(consent_given().builtin("undo_last_turn"))
}

fn undo_of_undo() -> History {
    // The content that an undo writes again is kept as an encrypted image; of a file that was new, only the delete.
    let given = |opened: &mut TurnOpened| {
        opened.given = Some(json!({ "tool": "create_dirs", "args": { "paths": ["/home/owner/new"] } }).into());
    };
    let made = metnos_log::event::turn::PlannedOp {
        op: "mkdir".to_owned(),
        path: "/home/owner/new".to_owned(),
        if_exists: "fail".to_owned(),
        before: metnos_log::event::turn::BeforeImage { kind: "absent".to_owned(), ..Default::default() },
        ..Default::default()
    };
    let result = json!({ "ok": true, "ok_count": 1, "fail_count": 0, "results": [{ "path": "/home/owner/new" }] });
    let history = History::begin().executor("create_dirs").builtin("undo_last_turn").turn_as("made", given, |turn| {
        turn.finds("absent").returns(&result, vec![made]).consents().change(0, "done").ends("answer", "")
    });
    taken_back(taken_back(history))
}

fn three(turn: Turning<'_>) -> Turning<'_> {
    turn.finds("absent").wants_files(&["b.txt", "c.txt", "d.txt"]).consents()
}

fn crash_amid_changes() -> History {
    basic()
        .turn(WRITE, |turn| three(turn).change(0, "done").change(1, "found_done").change(2, "done").ends("answer", ""))
}

fn crash_before_call() -> History {
    basic().turn("read the file a.txt", |turn| turn.finds("file").stops("restart").ends("error", "cancelled"))
}

fn change_failed() -> History {
    basic().turn(WRITE, |turn| {
        let turn = turn.finds("absent").wants_files(&["b.txt", "c.txt"]).consents();
        turn.change(0, "done").change(1, "failed").ends("answer", "target_changed")
    })
}

fn sent_requests() -> History {
    basic().turn(WRITE, |turn| {
        let wanted = ["POST", "DELETE"].map(|method| request(method, "https://hub.example/lights"));
        let turn = turn.finds("absent").returns(&json!({ "ok": true }), wanted.into()).consents();
        let refused = ("operation_failed", "answered: 422");
        turn.change(0, "done").change_ends(1, "failed", Some(refused)).ends("answer", "operation_failed")
    })
}

fn sent_message() -> History {
    basic().turn(WRITE, |turn| {
        let turn = turn.finds("absent").returns(&json!({ "ok": true }), vec![message()]).consents();
        turn.change_ends(0, "found_done", None).ends("answer", "")
    })
}

fn many_changes() -> History {
    let names: Vec<String> = (0..40).map(|number| format!("n{number:02}.txt")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    basic().turn(WRITE, |turn| turn.finds("absent").wants_files(&names).consents().changes(40).ends("answer", ""))
}

fn cancelled_by_person() -> History {
    basic()
        .turn("read the file a.txt", |turn| turn.finds("file").stops("person").ends("error", "cancelled"))
        .turn(WRITE, |turn| three(turn).change(0, "done").stops("person").ends("error", "cancelled"))
}

fn deadline() -> History {
    basic()
        .turn("read the file a.txt", |turn| turn.finds("file").stops("deadline").ends("error", "cancelled"))
        .turn(WRITE, |turn| asked(turn).stops("deadline").ends("error", "cancelled"))
}

fn guard_refused() -> History {
    let text = "read the file ~/.ssh/id_rsa";
    basic()
        .turn(text, |turn| turn.finds("file").ends("error", "vaglio_guard"))
        .turn(text, |turn| turn.finds_nothing().ends("error", "vaglio_guard"))
}

fn policy_refused() -> History {
    let only_look = |opened: &mut TurnOpened| "read_only".clone_into(&mut opened.autonomy);
    basic().turn_as(WRITE, only_look, |turn| asked(turn).ends("error", "policy_violation"))
}

fn target_missing() -> History {
    basic().turn("read the file a.txt", |turn| turn.finds_nothing().ends("error", "not_found"))
}

fn call_failed() -> History {
    let failed = json!({ "ok": false, "error_class": "timeout", "error": "it took longer than 10 s" });
    basic().turn("read the file a.txt", |turn| turn.finds("file").returns(&failed, Vec::new()).ends("error", "timeout"))
}

fn tampered_executor() -> History {
    let (name, version) = ("read_files".to_owned(), basic().current("read_files"));
    let (reason, by) = ("main.py is not what was signed".to_owned(), "loader".to_owned());
    basic()
        .turn("read the file a.txt", |turn| turn.finds_tampered().ends("error", "executor_quarantined"))
        .moves("read_files", Command::Quarantine { name, version, reason, by })
        .turn("read the file a.txt", |turn| turn.ends("error", "not_applicable"))
}

fn life_cycle() -> History {
    let switch = |enabled: bool| Command::Switch { name: "get_processes".to_owned(), enabled, by: "owner".to_owned() };
    let (name, version) = ("read_files".to_owned(), "1.0.0".to_owned());
    let (reason, by) = ("schema.json is not what was signed".to_owned(), "loader".to_owned());
    let history = History::begin()
        .version("read_files", "1.0.0")
        .moves("read_files", Command::Quarantine { name, version, reason, by })
        .later(3600)
        .version("read_files", "1.0.1")
        .builtin("get_processes")
        .moves("get_processes", switch(false))
        .later(60)
        .moves("get_processes", switch(true));
    assert_eq!(history.life("read_files"), LifeCycle::Active);
    history
}

fn form() -> serde_json::Value {
    json!({ "steps": [
        { "tool": "get_inputs", "args": { "title": "Notes", "fields": [
            { "name": "file", "label": "Which file?", "type": "path" },
            { "name": "most", "label": "How many lines?", "type": "number", "required": false },
        ] } },
        { "tool": "read_files", "args": { "paths": ["{{step1.values.file}}"] } },
    ] })
}

fn asks(course: impl FnOnce(Turning<'_>) -> Turning<'_>) -> History {
    let given = |opened: &mut TurnOpened| {
        known(opened);
        opened.given = Some(form().into());
    };
    History::begin()
        .executor("read_files")
        .builtin("get_inputs")
        .turn_as("ask me", given, |turn| course(turn.finds("file")))
}

fn dialog_answered() -> History {
    let values = json!({ "ok": true, "values": { "file": "/home/owner/a.txt", "most": 3 } });
    asks(|turn| {
        let turn = turn.answers("a.txt").answers("many").answers("3").returns(&values, Vec::new());
        turn.finds("file").reads("one\n").ends("answer", "")
    })
}

fn dialog_expired() -> History {
    asks(|turn| turn.lapses().ends("needs_inputs", ""))
}

fn dialog_withdrawn() -> History {
    asks(|turn| turn.withdraws().ends("needs_inputs", ""))
}

fn by_model(opened: &mut TurnOpened) {
    known(opened);
    "metis".clone_into(&mut opened.engine);
    opened.proposer = Some(Proposer {
        tier: "wise".to_owned(),
        provider: "llamacpp".to_owned(),
        server: "http://127.0.0.1:8080".to_owned(),
        model: "m".to_owned(),
        think: None,
        max_tokens: 500,
        context: None,
        simple_first: false,
        turn_timeout_s: 600,
    });
}

fn model_answer() -> History {
    basic().turn_as("what is a haiku", by_model, |turn| turn.says("A short poem.").ends("answer", ""))
}

fn model_failure() -> History {
    let alone = |opened: &mut TurnOpened| {
        by_model(opened);
        opened.dialogs = false;
    };
    basic().turn_as("what is a haiku", alone, |turn| turn.gets_no_answer("network").ends("ask", ""))
}

/// The model reads a file and would write what it read.
fn copies(turn: Turning<'_>) -> Turning<'_> {
    let turn = turn.calls("read_files", &json!({ "paths": ["a.txt"] })).finds("file").reads("hello");
    turn.calls("write_files", &json!({ "path": "b.txt", "content": "{{step1.content}}" })).finds("absent")
}

fn model_from_step() -> History {
    basic().turn_as("copy what a.txt says into b.txt", by_model, |turn| {
        copies(turn).wants_files(&["b.txt"]).consents().change(0, "done").says("Done.").ends("answer", "")
    })
}

fn judge_refused() -> History {
    basic().turn_as("copy what a.txt says into a new file", by_model, |turn| {
        copies(turn).says("Which name is the new file to have?").ends("answer", "")
    })
}

fn unknown_kind() -> History {
    basic()
        .newer("weather_seen", false)
        .turn("read the file a.txt", |turn| turn.finds("file").reads("one\n").ends("answer", ""))
        .newer("mood_noted", true)
        .turn("read the file a.txt", |turn| turn.finds("file").reads("one\n").ends("answer", ""))
}

fn erased_payload() -> History {
    let read = |history: History| {
        history.turn("read the file a.txt", |turn| turn.finds("file").reads("my diary\n").ends("answer", ""))
    };
    read(read(basic()).erased("turn_opened").erased("invocation_finished").erased("turn_closed"))
}

fn redacted_secret() -> History {
    let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789AB";
    basic()
        .turn("read the file env.txt", |turn| turn.finds("file").reads(token).ends("answer", ""))
        .redacted(token, "<redacted:github_token:0123456789abcdef>")
}

//! The turn machine by given, when, then: no clock, no disk, no cage.

use metnos_log::event::executor::{ExecutorInstalled, VersionPromoted};
use metnos_log::event::executor::{LifeCycle, LifeCycleChanged};
use metnos_log::event::turn::{
    BeforeImage, Check, EffectCommitted, EffectsCommitted, Holds, InvocationFinished, PlanProposed, PlannedOp,
    StepProposed, Target, TurnOpened,
};
use metnos_log::{Event, Kept, Micros, TurnId};
use serde_json::{Value, json};

use super::command::Prepared;
use super::decide::role_name;
use super::react::wanted;
use super::{Command, Context, Effect, Phase, Rejection, Turn, decide, react};
use crate::machines::catalog::Catalog;
use crate::manifest::Manifest;
use crate::replay;
use crate::rules::simple::Tools;
use crate::rules::{Rules, undo};

pub(super) const ID: TurnId = TurnId([7; 16]);
/// In facts: the version that the catalog has.
const CURRENT: &str = "current";
pub(super) const NOW: Micros = Micros(1_795_305_600_000_000);

/// The seeds as a catalog, as if they had been installed.
fn catalog() -> Catalog {
    let seeds = [
        (
            include_str!("../../../../executors/read_files/manifest.toml"),
            include_str!("../../../../executors/read_files/schema.json"),
        ),
        (
            include_str!("../../../../executors/write_files/manifest.toml"),
            include_str!("../../../../executors/write_files/schema.json"),
        ),
        (
            include_str!("../../../../executors/get_urls/manifest.toml"),
            include_str!("../../../../executors/get_urls/schema.json"),
        ),
        (
            include_str!("../../../../executors/extract_entries/manifest.toml"),
            include_str!("../../../../executors/extract_entries/schema.json"),
        ),
    ];
    let acting = [
        (
            include_str!("../../../../executors/find_files/manifest.toml"),
            include_str!("../../../../executors/find_files/schema.json"),
        ),
        (
            include_str!("../../../../executors/delete_files/manifest.toml"),
            include_str!("../../../../executors/delete_files/schema.json"),
        ),
    ];
    let asking = [
        (
            include_str!("../../../../src/builtins/get_inputs/manifest.toml"),
            include_str!("../../../../src/builtins/get_inputs/schema.json"),
        ),
        (
            include_str!("../../../../src/builtins/get_approval/manifest.toml"),
            include_str!("../../../../src/builtins/get_approval/schema.json"),
        ),
        (
            include_str!("../../../../src/builtins/request_disambiguation_from_user/manifest.toml"),
            include_str!("../../../../src/builtins/request_disambiguation_from_user/schema.json"),
        ),
    ];
    let further = [
        (
            include_str!("../../../../executors/sort_entries/manifest.toml"),
            include_str!("../../../../executors/sort_entries/schema.json"),
        ),
        (
            include_str!("../../../../executors/read_urls_html/manifest.toml"),
            include_str!("../../../../executors/read_urls_html/schema.json"),
        ),
    ];
    let mut catalog = Catalog::default();
    for (manifest, schema) in seeds.into_iter().chain(acting).chain(asking).chain(further) {
        install(&mut catalog, manifest, schema);
    }
    catalog
}

fn install(catalog: &mut Catalog, manifest: &str, schema: &str) {
    let manifest: Manifest = toml::from_str(manifest).unwrap();
    let (name, version) = (manifest.executor.name.clone(), manifest.executor.version.clone());
    let installed = ExecutorInstalled {
        name: name.clone(),
        version: version.clone(),
        artefacts: Vec::new(),
        manifest: serde_json::to_value(&manifest).unwrap().into(),
        schema: serde_json::from_str::<Value>(schema).unwrap().into(),
    };
    catalog.apply(&installed.into());
    catalog.apply(&VersionPromoted { name: name.clone(), version: version.clone() }.into());
    let (reason, by) = ("test".to_owned(), "test".to_owned());
    catalog.apply(&LifeCycleChanged { name, version, from: None, to: LifeCycle::Active, reason, by }.into());
}

pub(super) struct World {
    rules: Rules,
    catalog: Catalog,
    pub(super) tools: Tools,
}

impl World {
    pub(super) fn new() -> Self {
        Self::of(catalog())
    }

    /// With one more executor.
    pub(super) fn with(manifest: &str, schema: &str) -> Self {
        let mut catalog = catalog();
        install(&mut catalog, manifest, schema);
        Self::of(catalog)
    }

    fn of(catalog: Catalog) -> Self {
        Self { rules: Rules::embedded(), tools: replay::tools(&catalog), catalog }
    }

    pub(super) fn context(&self) -> Context<'_> {
        Context { rules: &self.rules, catalog: &self.catalog, tools: &self.tools, time: NOW }
    }

    /// A command whose facts are of the version that the catalog has.
    pub(super) fn current(&self, turn: &Turn, mut command: Command) -> Command {
        if let (Command::Prepared(facts), Some(step)) = (&mut command, turn.step())
            && facts.version == CURRENT
            && let Some((_, version, _)) = self.catalog.active(&step.tool)
        {
            version.clone_into(&mut facts.version);
        }
        command
    }

    /// What the edge finds where each thing that the arguments name is a file below the person's folder.
    pub(super) fn looked_up(&self, tool: &str, args: &Value) -> Vec<Target> {
        let manifest = self.catalog.active(tool).and_then(|(_, _, version)| version.manifest()).unwrap();
        let found = |wanted: super::Wanted| {
            let path = format!("/home/o/{}", wanted.value.trim_start_matches(['/', '.']));
            target(&wanted.pointer, role_name(wanted.role), &path, "file")
        };
        wanted(&manifest, args).into_iter().map(found).collect()
    }

    /// Takes a command in; the labels of what it leads to.
    #[track_caller]
    pub(super) fn take(&self, turn: &mut Turn, command: Command) -> Vec<&'static str> {
        let events = decide(turn, ID, self.context(), self.current(turn, command)).unwrap();
        for event in &events {
            turn.apply(ID, NOW, event);
        }
        events.iter().map(Event::label).collect()
    }
}

pub(super) fn open(text: &str, autonomy: &str) -> Command {
    Command::Open(Box::new(TurnOpened {
        text: text.to_owned(),
        language: None,
        fallback_language: "en".to_owned(),
        channel: "console".to_owned(),
        engine: "auto".to_owned(),
        mode: "local".to_owned(),
        autonomy: autonomy.to_owned(),
        approve: "none".to_owned(),
        home: "/home/o".to_owned(),
        own: ["/m/config".to_owned(), "/m/data".to_owned(), "/m/workspace/.audit".to_owned()],
        folder: "/home/o".to_owned(),
        zone: "UTC".to_owned(),
        existing: Vec::new(),
        rules_digest: String::new(),
        given: None,
        dialogs: false,
        address: None,
        proposer: None,
        history: Vec::new(),
        within: None,
        patience_s: None,
        salt: None,
    }))
}

pub(super) fn target(pointer: &str, role: &str, path: &str, kind: &str) -> Target {
    Target {
        pointer: pointer.to_owned(),
        role: role.to_owned(),
        given: path.to_owned(),
        canonical: path.to_owned(),
        canonical_b64: None,
        kind: kind.to_owned(),
        trouble: None,
    }
}

pub(super) fn prepared(targets: Vec<Target>) -> Command {
    let passed = |step: &str| Check { step: step.to_owned(), failure: None };
    let checks = ["receive", "resolve", "verify", "validate_input"].map(passed).to_vec();
    Command::Prepared(Prepared {
        step: 1,
        targets,
        version: CURRENT.to_owned(),
        checks,
        plan_digest: "p".to_owned(),
        ..Prepared::default()
    })
}

pub(super) fn returned(turn: &Turn, result: &Value, effects: Vec<PlannedOp>) -> Command {
    let step = turn.step().unwrap();
    let ok = result["ok"] == true;
    Command::Returned(Box::new(InvocationFinished {
        trace_id: step.trace_id.clone(),
        step: step.number,
        ok,
        class: result["error_class"].as_str().map(str::to_owned),
        result: Kept::json(result),
        effects,
        checks: Vec::new(),
        duration_us: 1,
        cage: Value::Null.into(),
        connections: Value::Null.into(),
        diagnostics: Kept::default(),
        changes: Kept::default(),
        may_do_less: false,
    }))
}

pub(super) fn write_op() -> PlannedOp {
    PlannedOp {
        op: "write".to_owned(),
        path: "/home/o/b.txt".to_owned(),
        bytes: 5,
        if_exists: "replace".to_owned(),
        before: BeforeImage { kind: "absent".to_owned(), ..BeforeImage::default() },
        ..PlannedOp::default()
    }
}

/// A turn that reads a typed file, up to its running call.
fn reading(world: &World) -> Turn {
    let mut turn = Turn::default();
    let opened = world.take(&mut turn, open("read the file a.txt and tell me the last three lines", "supervised"));
    assert_eq!(opened, ["turn_opened", "candidates_ranked", "plan_proposed", "step_proposed"]);
    let called = world.take(&mut turn, prepared(vec![target("/paths/0", "path", "/home/o/a.txt", "file")]));
    assert_eq!(called, ["arguments_resolved", "verdict_given", "invocation_started"]);
    turn
}

/// A turn that wants to write, up to the question.
fn asking(world: &World) -> Turn {
    let mut turn = Turn::default();
    world.take(&mut turn, open("write \"hello\" to b.txt", "supervised"));
    world.take(&mut turn, prepared(vec![target("/path", "target_path", "/home/o/b.txt", "absent")]));
    let result = json!({ "ok": true, "results": [], "ok_count": 1, "fail_count": 0, "bytes_written": 5 });
    let command = returned(&turn, &result, vec![write_op()]);
    assert_eq!(world.take(&mut turn, command), ["invocation_finished", "verdict_given", "consent_asked"]);
    turn
}

#[test]
fn a_typed_file_is_read_unasked_and_answered() {
    let world = World::new();
    let mut turn = reading(&world);
    assert!(matches!(react(&turn), Some(Effect::Call { args, .. }) if args["paths"][0] == "/home/o/a.txt"));
    let result = json!({ "ok": true, "content": "2\n3\n4", "metadata": { "lines": 3, "total_lines": 4, "truncated": false,
        "binary": false, "lossy": false, "encoding": "utf-8", "size": 8, "path": "/home/o/a.txt" } });
    let command = returned(&turn, &result, Vec::new());
    assert_eq!(world.take(&mut turn, command), ["invocation_finished", "turn_closed"]);
    assert_eq!((turn.final_kind.as_deref(), turn.message.as_deref()), (Some("answer"), Some("2\n3\n4")));
    assert_eq!(react(&turn), Some(Effect::Reply));
}

#[test]
fn a_write_is_asked_then_planned_then_committed_then_answered() {
    let world = World::new();
    let mut turn = asking(&world);
    let asked = turn.asked.clone().unwrap();
    assert!(asked.text.contains("/home/o/b.txt") && asked.text.contains('5'), "{}", asked.text);
    let consent = Command::Consent { step: 1, digest: asked.digest, by: "terminal".to_owned() };
    assert_eq!(world.take(&mut turn, consent), ["consent_given", "effects_planned"]);
    assert!(matches!(react(&turn), Some(Effect::Commit { ops, .. }) if ops.len() == 1));
    let done = EffectCommitted { step: 1, index: 0, outcome: "done".to_owned(), failure: None };
    assert_eq!(world.take(&mut turn, Command::Effect(done)), ["effect_committed", "turn_closed"]);
    assert_eq!(turn.step().unwrap().result.as_ref().unwrap()["bytes_written"], 5);
    assert_eq!(turn.final_kind.as_deref(), Some("answer"));
}

#[test]
fn a_change_that_failed_is_told_and_not_counted() {
    let world = World::new();
    let mut turn = asking(&world);
    let digest = turn.asked.clone().unwrap().digest;
    world.take(&mut turn, Command::Consent { step: 1, digest, by: "terminal".to_owned() });
    let failure = Some(("target_changed".to_owned(), "changed".to_owned()));
    let failed = EffectCommitted { step: 1, index: 0, outcome: "failed".to_owned(), failure };
    world.take(&mut turn, Command::Effect(failed));
    assert_eq!(turn.final_class.as_deref(), Some("target_changed"));
    assert_eq!(turn.step().unwrap().result.as_ref().unwrap()["bytes_written"], 0);
}

#[test]
fn another_consent_than_the_one_asked_for_does_not_count() {
    let world = World::new();
    let turn = asking(&world);
    let other = Command::Consent { step: 1, digest: "another".to_owned(), by: "terminal".to_owned() };
    assert_eq!(decide(&turn, ID, world.context(), other), Err(Rejection::OtherQuestion));
}

#[test]
fn consent_binds_what_will_happen() {
    let world = World::new();
    let first = asking(&world).asked.unwrap().digest;
    let mut turn = Turn::default();
    world.take(&mut turn, open("write \"hello\" to b.txt", "supervised"));
    world.take(&mut turn, prepared(vec![target("/path", "target_path", "/home/o/b.txt", "absent")]));
    let result = json!({ "ok": true, "results": [], "ok_count": 1, "fail_count": 0, "bytes_written": 5 });
    let command = returned(&turn, &result, vec![PlannedOp { bytes: 6, ..write_op() }]);
    world.take(&mut turn, command);
    assert_ne!(turn.asked.unwrap().digest, first);
}

#[test]
fn refusing_expiring_and_cancelling_close_the_turn() {
    let world = World::new();
    let digest = |turn: &Turn| turn.asked.clone().unwrap().digest;
    let mut denied = asking(&world);
    let command = Command::Deny { step: 1, digest: digest(&denied), by: "terminal".to_owned() };
    world.take(&mut denied, command);
    assert_eq!((denied.final_kind.as_deref(), denied.final_class.as_deref()), (Some("error"), Some("consent_denied")));
    let mut expired = asking(&world);
    let command = Command::Expire { step: 1, digest: digest(&expired), why: "no_terminal".to_owned() };
    world.take(&mut expired, command);
    assert_eq!(expired.final_kind.as_deref(), Some("awaiting"));
    let mut cancelled = reading(&world);
    world.take(&mut cancelled, Command::Cancel { by: "person".to_owned() });
    assert_eq!(cancelled.final_class.as_deref(), Some("cancelled"));
    // As a log that was salvaged may leave it: in the midst of a decision.
    let Command::Open(opened) = open("what time is it", "supervised") else { unreachable!("it opens") };
    let mut begun = Turn::default();
    begun.apply(ID, NOW, &Event::from(*opened));
    assert_eq!(begun.phase, Phase::Planning);
    world.take(&mut begun, Command::Cancel { by: "restart".to_owned() });
    assert_eq!(begun.final_class.as_deref(), Some("cancelled"));
}

#[test]
fn what_one_step_gave_another_is_observed() {
    let world = World::new();
    let mut turn = Turn::default();
    world.take(&mut turn, open("fetch https://x.test/a and tell me only the UUID", "supervised"));
    world.take(&mut turn, prepared(vec![target("/urls/0", "url", "https://x.test/a", "url")]));
    let page = json!({ "ok": true, "content": "{\"uuid\": \"u\"}", "metadata": {} });
    let command = returned(&turn, &page, Vec::new());
    assert_eq!(world.take(&mut turn, command), ["invocation_finished", "step_proposed"]);
    let Command::Prepared(second) = prepared(Vec::new()) else { panic!("another command") };
    world.take(&mut turn, Command::Prepared(Prepared { step: 2, ..second }));
    let found =
        json!({ "ok": true, "content": "u", "entries": [{ "uuid": "u" }], "metadata": { "count": 1, "by": "field" } });
    let command = returned(&turn, &found, Vec::new());
    assert_eq!(world.take(&mut turn, command), ["invocation_finished", "passing_observed", "turn_closed"]);
    assert_eq!(turn.message.as_deref(), Some("u"));
}

#[test]
fn a_command_out_of_place_is_rejected_and_changes_nothing() {
    let world = World::new();
    let turn = reading(&world);
    let effect = EffectCommitted { step: 1, index: 0, outcome: "done".to_owned(), failure: None };
    let rejected = decide(&turn, ID, world.context(), Command::Effect(effect));
    assert_eq!(rejected, Err(Rejection::OutOfPlace { command: "effect done", phase: Phase::Calling }));
}

#[test]
fn a_step_that_its_executor_failed_ends_with_its_class() {
    let world = World::new();
    let mut turn = reading(&world);
    let result = json!({ "ok": false, "error_class": "wrong_type", "error": "it is a folder" });
    let command = returned(&turn, &result, Vec::new());
    world.take(&mut turn, command);
    assert_eq!((turn.final_kind.as_deref(), turn.final_class.as_deref()), (Some("error"), Some("wrong_type")));
}

/// A turn that lists what lies in a folder of the person's words and deletes what the listing named, up to the question.
fn deleting(world: &World, listed_in: &str, ops: Vec<PlannedOp>) -> Turn {
    let origin = |from: Value| json!({ "/base_path": from });
    let words = json!({ "from": "words", "start": 0, "end": 4 });
    let plan = json!({
        "engine": "simple", "confidence_permille": 1000, "answer": { "tell": "result" },
        "steps": [
            { "tool": "find_files", "args": { "base_path": listed_in }, "provenance": origin(words) },
            { "tool": "delete_files", "args": { "from_step": 1 }, "provenance": { "/from_step": { "from": "step", "step": 1, "path": "" } } },
        ],
    });
    let Command::Open(opened) = open("delete what is there", "supervised") else { panic!("another command") };
    let mut turn = Turn::default();
    let events: [Event; 3] = [
        (*opened).into(),
        PlanProposed {
            source: "L3".to_owned(),
            engine: "simple".to_owned(),
            language: "en".to_owned(),
            plan: Kept::json(&plan),
        }
        .into(),
        StepProposed {
            step: 1,
            tool: "find_files".to_owned(),
            args: Kept::json(&plan["steps"][0]["args"]),
            provenance: None,
            call: None,
        }
        .into(),
    ];
    for event in &events {
        turn.apply(ID, NOW, event);
    }
    world.take(&mut turn, prepared(vec![target("/base_path", "path", listed_in, "folder")]));
    let entries: Vec<Value> = ops.iter().map(|op| json!({ "path": op.path })).collect();
    let command = returned(&turn, &json!({ "ok": true, "entries": entries, "metadata": {} }), Vec::new());
    assert_eq!(world.take(&mut turn, command), ["invocation_finished", "step_proposed"]);
    let named =
        |(index, op): (usize, &PlannedOp)| target(&format!("/entries/{index}/path"), "target_path", &op.path, "file");
    let Command::Prepared(second) = prepared(ops.iter().enumerate().map(named).collect()) else {
        panic!("another command")
    };
    world.take(&mut turn, Command::Prepared(Prepared { step: 2, ..second }));
    let result = json!({ "ok": true, "metadata": { "count": ops.len(), "permanent": false } });
    let command = returned(&turn, &result, ops);
    world.take(&mut turn, command);
    turn
}

pub(super) fn delete_op(path: &str) -> PlannedOp {
    PlannedOp {
        op: "delete".to_owned(),
        path: path.to_owned(),
        to: Some("trash".to_owned()),
        dst: Some("/home/o/.local/share/Trash/files/x".to_owned()),
        bytes: 1_050_000,
        before: BeforeImage { kind: "file".to_owned(), bytes: 1_050_000, ..BeforeImage::default() },
        ..PlannedOp::default()
    }
}

#[test]
fn a_listing_of_a_folder_in_the_words_counts_as_the_words() {
    let world = World::new();
    let turn = deleting(&world, "/home/o/old", vec![delete_op("/home/o/old/a"), delete_op("/home/o/old/b")]);
    let asked = turn.asked.unwrap().text;
    assert!(asked.contains("delete 2 files, 2.1 MB, into the trash, all in ~/old"), "{asked}");
    assert!(asked.contains("until the trash is emptied") && !asked.contains("Not from your words"), "{asked}");
}

#[test]
fn a_target_from_anywhere_else_is_shown_with_where_it_came_from() {
    let world = World::new();
    let turn = deleting(&world, "/home/o/old", vec![delete_op("/home/o/old/a"), delete_op("/home/o/other/b")]);
    let asked = turn.asked.unwrap().text;
    assert!(
        asked.contains("Not from your words but from step 1 (find_files), field entries:\n  /home/o/other/b"),
        "{asked}"
    );
}

#[test]
fn what_is_impossible_is_left_out_and_the_rest_goes_on() {
    let world = World::new();
    let gone = Some(("not_found".to_owned(), "absent".to_owned()));
    let ops = vec![PlannedOp { trouble: gone, ..delete_op("/home/o/old/a") }, delete_op("/home/o/old/b")];
    let mut turn = deleting(&world, "/home/o/old", ops);
    let asked = turn.asked.clone().unwrap();
    assert!(
        asked.text.contains("delete 1 file") && asked.text.contains("not possible: /home/o/old/a"),
        "{}",
        asked.text
    );
    let consent = Command::Consent { step: 2, digest: asked.digest, by: "terminal".to_owned() };
    world.take(&mut turn, consent);
    assert!(matches!(react(&turn), Some(Effect::Commit { open, .. }) if open == [1]));
    let done = EffectCommitted { step: 2, index: 1, outcome: "done".to_owned(), failure: None };
    world.take(&mut turn, Command::Effect(done));
    let message = turn.message.clone().unwrap();
    assert!(message.contains("Moved /home/o/old/b to the trash") && message.contains("1 item failed"), "{message}");
    assert_eq!((turn.final_kind.as_deref(), turn.final_class.as_deref()), (Some("answer"), Some("not_found")));
}

#[test]
fn a_turn_that_is_stopped_between_changes_says_what_was_made() {
    let world = World::new();
    for (made, said) in
        [(0, "I stopped as you asked."), (3, "3 of 100 changes were made"), (1, "1 of 100 changes was made")]
    {
        let ops: Vec<PlannedOp> = (0..100).map(|number| delete_op(&format!("/home/o/old/{number}"))).collect();
        let mut turn = deleting(&world, "/home/o/old", ops);
        let digest = turn.asked.clone().unwrap().digest;
        world.take(&mut turn, Command::Consent { step: 2, digest, by: "terminal".to_owned() });
        let done = EffectsCommitted { step: 2, done: vec![(0, made)], ..EffectsCommitted::default() };
        world.take(&mut turn, Command::Effects(done));
        let labels = world.take(&mut turn, Command::Cancel { by: "person".to_owned() });
        assert_eq!(labels, ["turn_cancelled", "turn_closed"]);
        assert_eq!((turn.final_kind.as_deref(), turn.final_class.as_deref()), (Some("error"), Some("cancelled")));
        let message = turn.message.clone().unwrap();
        assert!(message.contains(said) && message.contains("undo") == (made > 0), "{message}");
        let result = turn.step().unwrap().result.clone().unwrap();
        assert_eq!((&result["ok_count"], &result["fail_count"]), (&json!(made), &json!(100 - made)));
        assert_eq!(undo::reverse("t", &turn.steps).len(), made as usize);
    }
}

#[test]
fn many_outcomes_come_at_once() {
    let world = World::new();
    let ops: Vec<PlannedOp> = (0..100).map(|number| delete_op(&format!("/home/o/old/{number}"))).collect();
    let mut turn = deleting(&world, "/home/o/old", ops);
    let digest = turn.asked.clone().unwrap().digest;
    world.take(&mut turn, Command::Consent { step: 2, digest, by: "terminal".to_owned() });
    let first = EffectsCommitted { step: 2, done: vec![(0, 60)], ..EffectsCommitted::default() };
    assert_eq!(world.take(&mut turn, Command::Effects(first)), ["effects_committed"]);
    assert!(matches!(react(&turn), Some(Effect::Commit { open, .. }) if open.len() == 40));
    let failed = vec![(99, "permission_denied".to_owned(), "no_permission".to_owned())];
    let rest = EffectsCommitted { step: 2, done: vec![(61, 99)], found_done: vec![(60, 61)], failed };
    let labels = world.take(&mut turn, Command::Effects(rest));
    assert_eq!(labels, ["effects_committed", "passing_observed", "turn_closed"]);
    let result = turn.step().unwrap().result.clone().unwrap();
    assert_eq!(
        (&result["ok_count"], &result["fail_count"], &result["done"]["files"]),
        (&json!(99), &json!(1), &json!(99))
    );
}

#[test]
fn no_change_is_made_where_one_of_them_was_not_asked_for() {
    let world = World::new();
    let foreign = Some(("policy_violation".to_owned(), "unasked_target".to_owned()));
    let ops = vec![delete_op("/home/o/old/b"), PlannedOp { trouble: foreign, ..delete_op("/home/o/x") }];
    let turn = deleting(&world, "/home/o/old", ops);
    assert_eq!(turn.final_class.as_deref(), Some("policy_violation"));
    let holds = Holds { forbidden: Some("/home/o/old/d/.ssh".to_owned()), ..Holds::default() };
    let ops = vec![delete_op("/home/o/old/b"), PlannedOp { holds: Some(holds), ..delete_op("/home/o/old/d") }];
    let forbidden = deleting(&world, "/home/o/old", ops);
    assert_eq!(forbidden.final_class.as_deref(), Some("vaglio_guard"));
}

#[test]
fn a_step_that_a_command_names_runs_under_the_same_rules() {
    let world = World::new();
    let Command::Open(opened) = open("undo", "read_only") else { panic!("another command") };
    let given = Some(json!({ "tool": "delete_files", "args": { "paths": ["/home/o/a"] } }).into());
    let mut turn = Turn::default();
    let labels = world.take(&mut turn, Command::Open(Box::new(TurnOpened { given, ..*opened })));
    assert_eq!(labels, ["turn_opened", "plan_proposed", "step_proposed"]);
    world.take(&mut turn, prepared(vec![target("/paths/0", "target_path", "/home/o/a", "file")]));
    let command = returned(
        &turn,
        &json!({ "ok": true, "metadata": { "count": 1, "permanent": false } }),
        vec![delete_op("/home/o/a")],
    );
    world.take(&mut turn, command);
    assert_eq!(turn.final_class.as_deref(), Some("policy_violation"));
}

/// A command that named an executor without its arguments was told that its plan does not hold together. What is missing is for
/// the schema to say; of what follows, and of what was planned, the shape is judged as always.
#[test]
fn what_a_command_names_first_is_judged_by_its_schema() {
    let world = World::new();
    let given = |steps: Value| {
        let Command::Open(opened) = open("executor run", "supervised") else { panic!("another command") };
        let given = Some(json!({ "steps": steps }).into());
        let mut turn = Turn::default();
        world.take(&mut turn, Command::Open(Box::new(TurnOpened { given, ..*opened })));
        turn
    };
    for (tool, args) in [
        ("extract_entries", json!({})),
        ("extract_entries", json!({ "deep": true, "n": 3, "entries": { "a": 1 } })),
        ("delete_files", json!({})),
        ("delete_files", json!({ "permanent": true })),
    ] {
        let mut turn = given(json!([{ "tool": tool, "args": args }]));
        assert_eq!(turn.phase, Phase::Preparing, "{tool} {args}: {:?}", turn.message);
        let why = Some(("invalid_args".to_owned(), "\"paths\" is a required property".to_owned()));
        let failed = Check { step: "validate_input".to_owned(), failure: why };
        let Command::Prepared(facts) = prepared(Vec::new()) else { panic!("another command") };
        world.take(&mut turn, Command::Prepared(Prepared { checks: vec![failed], ..facts }));
        assert_eq!(turn.final_class.as_deref(), Some("invalid_args"), "{tool} {args}");
        assert!(turn.message.as_deref().is_some_and(|said| said.contains("\"paths\"")), "{:?}", turn.message);
    }
    let later = given(json!([{ "tool": "delete_files" }, { "tool": "extract_entries" }]));
    assert_eq!(later.final_class.as_deref(), Some("pipeline_already_closed"));
}

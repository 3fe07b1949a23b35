//! One turn of a made history: the world answers what the turn's machine asks, and the machine decides.

use metnos_log::canonical::Json;
use metnos_log::event::model::{ModelAnswered, ModelFailed};
use metnos_log::event::turn::{
    BeforeImage, Check, EffectCommitted, EffectsCommitted, InvocationFinished, PersonalMessage, PlannedOp, Target,
    TurnOpened, WebRequest,
};
use metnos_log::{Event, Kept, Micros, TurnId};
use metnos_projections::machines::turn::command::Prepared;
use metnos_projections::machines::turn::{Command, Context, Effect, Turn, decide, react};
use metnos_projections::rules::undo;
use serde_json::{Value, json};

use crate::builder::{HOME, History};

/// How long each answer of the world takes, in µs.
const STEP_US: i64 = 20_000;

/// A turn under way.
pub struct Turning<'h> {
    history: &'h mut History,
    id: TurnId,
    turn: Turn,
}

impl<'h> Turning<'h> {
    pub(crate) fn open(history: &'h mut History, id: TurnId, opened: TurnOpened) -> Self {
        let mut turning = Self { history, id, turn: Turn::default() };
        turning.take(Command::Open(Box::new(opened)));
        turning
    }

    /// Its id.
    pub fn id(&self) -> TurnId {
        self.id
    }

    fn take(&mut self, command: Command) {
        let name = command.name();
        self.history.tools();
        let (rules, catalog) = (self.history.rules.clone(), self.history.projected.catalog.clone());
        let time: Micros = self.history.now();
        let tools = self.history.tools();
        let context = Context { rules: &rules, catalog: &catalog, tools, time };
        let decided = decide(&self.turn, self.id, context, command);
        let events: Vec<Event> = decided.unwrap_or_else(|error| panic!("{name}: {error} in {:?}", self.turn.phase));
        for event in events {
            self.turn.apply(self.id, time, &event);
            self.history.push_of(self.id, event);
        }
        self.history.pass(STEP_US);
    }

    /// Every target that the step names is there, as that.
    #[must_use]
    pub fn finds(self, kind: &str) -> Self {
        self.finds_at(|_, target| kind.clone_into(&mut target.kind))
    }

    /// What is not there.
    #[must_use]
    pub fn finds_nothing(self) -> Self {
        self.finds_at(|_, target| {
            "absent".clone_into(&mut target.kind);
            target.trouble = Some(("not_found".to_owned(), "absent".to_owned()));
        })
    }

    /// The targets, each as this says.
    #[must_use]
    pub fn finds_at(mut self, each: impl Fn(usize, &mut Target)) -> Self {
        let Some(Effect::Prepare { step, tool, args }) = react(&self.turn) else {
            panic!("nothing is to be looked up in {:?}: {:?}", self.turn.phase, self.turn.message)
        };
        let catalog = &self.history.projected.catalog;
        let (_, version, entry) = catalog.active(&tool).unwrap_or_else(|| panic!("{tool} is not active"));
        let manifest = entry.manifest().expect("an active executor has a manifest");
        let args = args.expect("its references lead somewhere");
        let wanted = metnos_projections::machines::turn::react::wanted(&manifest, &args);
        let target = |(place, wanted): (usize, metnos_projections::machines::turn::Wanted)| {
            let role = serde_json::to_value(wanted.role).ok().and_then(|role| role.as_str().map(str::to_owned));
            let canonical = match wanted.value.strip_prefix("~/") {
                Some(below) => format!("{HOME}/{below}"),
                None if wanted.value.starts_with('/') || wanted.value.contains("://") => wanted.value.clone(),
                None => format!("{HOME}/{}", wanted.value),
            };
            let mut target = Target {
                pointer: wanted.pointer,
                role: role.unwrap_or_default(),
                given: wanted.value,
                canonical,
                canonical_b64: None,
                kind: "file".to_owned(),
                trouble: None,
            };
            each(place, &mut target);
            target
        };
        let targets = wanted.into_iter().enumerate().map(target).collect();
        let passed = |step: &str| Check { step: step.to_owned(), failure: None };
        let checks = ["receive", "resolve", "verify", "validate_input"].map(passed).to_vec();
        let plan_digest = format!("blake3:{}", blake3::hash(tool.as_bytes()).to_hex());
        let version = version.to_owned();
        let facts = Prepared { step, targets, version, checks, plan_digest, ..Prepared::default() };
        self.take(Command::Prepared(facts));
        self
    }

    /// A file of the version is not what was signed.
    #[must_use]
    pub fn finds_tampered(mut self) -> Self {
        let step = self.turn.step().expect("a step is up").number;
        let failure = Some(("executor_quarantined".to_owned(), "main.py is not what was signed".to_owned()));
        let checks =
            vec![Check { step: "receive".to_owned(), failure: None }, Check { step: "verify".to_owned(), failure }];
        self.take(Command::Prepared(Prepared { step, checks, ..Prepared::default() }));
        self
    }

    /// The call that runs ends with that, and wants these changes.
    #[must_use]
    pub fn returns(mut self, result: &Value, effects: Vec<PlannedOp>) -> Self {
        let Some(Effect::Call { step, trace_id, .. }) = react(&self.turn) else {
            panic!("nothing runs in {:?}: {:?}", self.turn.phase, self.turn.message)
        };
        self.take(Command::Returned(Box::new(InvocationFinished {
            trace_id,
            step,
            ok: result["ok"] == true,
            class: result["error_class"].as_str().map(str::to_owned),
            result: Kept::json(result),
            effects,
            checks: Vec::new(),
            duration_us: STEP_US.unsigned_abs(),
            cage: Json(json!({ "level": "full" })),
            connections: Json(json!([])),
            diagnostics: Kept::default(),
            changes: Kept::default(),
            may_do_less: false,
        })));
        self
    }

    /// The call that runs read a text.
    #[must_use]
    pub fn reads(self, text: &str) -> Self {
        let lines = text.lines().count();
        let result = json!({ "ok": true, "content": text, "metadata": {
            "lines": lines, "total_lines": lines, "truncated": false, "binary": false, "lossy": false,
            "encoding": "utf-8", "size": text.len(), "path": format!("{HOME}/a.txt"),
        } });
        self.returns(&result, Vec::new())
    }

    /// The call that runs wants to write these new files.
    #[must_use]
    pub fn wants_files(self, names: &[&str]) -> Self {
        let count = names.len();
        let result = json!({
            "ok": true, "ok_count": count, "fail_count": 0, "bytes_written": 5 * count,
            "results": names.iter().map(|name| json!({ "path": format!("{HOME}/{name}"), "bytes": 5 })).collect::<Vec<_>>(),
        });
        self.returns(&result, names.iter().map(|name| write(name)).collect())
    }

    /// The call that runs takes back what an earlier turn did.
    #[must_use]
    pub fn takes_back(self, turn: TurnId, events: &[Event]) -> Self {
        let mut earlier = Turn::default();
        for event in events {
            earlier.apply(turn, Micros(0), event);
        }
        let reverse = undo::reverse(&turn.to_string(), &earlier.steps);
        let ops: Vec<PlannedOp> = reverse.into_iter().map(|op| op.expect("it can be taken back")).collect();
        let result = json!({
            "ok": true, "ok_count": ops.len(), "fail_count": 0, "results": [],
            "metadata": { "turn": turn.to_string(), "refused": 0, "request": earlier.text() },
        });
        self.returns(&result, ops)
    }

    /// The person says yes to what is asked.
    #[must_use]
    pub fn consents(mut self) -> Self {
        let (step, digest) = self.asked();
        self.take(Command::Consent { step, digest, by: "terminal".to_owned() });
        self
    }

    /// The person says no.
    #[must_use]
    pub fn refuses(mut self) -> Self {
        let (step, digest) = self.asked();
        self.take(Command::Deny { step, digest, by: "terminal".to_owned() });
        self
    }

    /// Nobody says anything.
    #[must_use]
    pub fn nobody(mut self, why: &str) -> Self {
        let (step, digest) = self.asked();
        self.take(Command::Expire { step, digest, why: why.to_owned() });
        self
    }

    fn asked(&self) -> (u32, String) {
        match react(&self.turn) {
            Some(Effect::Ask { step, asked }) => (step, asked.digest),
            _ => panic!("nobody is asked in {:?}: {:?}", self.turn.phase, self.turn.message),
        }
    }

    /// One planned change is made, found made or fails.
    #[must_use]
    pub fn change(self, index: u32, outcome: &str) -> Self {
        let failure = (outcome == "failed").then_some(("target_changed", "changed_since"));
        self.change_ends(index, outcome, failure)
    }

    /// One planned change ends with an outcome, and where it failed by a class and for a reason.
    #[must_use]
    pub fn change_ends(mut self, index: u32, outcome: &str, failure: Option<(&str, &str)>) -> Self {
        let step = self.turn.step().expect("a step is up").number;
        let failure = failure.map(|(class, reason)| (class.to_owned(), reason.to_owned()));
        self.take(Command::Effect(EffectCommitted { step, index, outcome: outcome.to_owned(), failure }));
        self
    }

    /// All planned changes are made at once.
    #[must_use]
    pub fn changes(mut self, count: u32) -> Self {
        let step = self.turn.step().expect("a step is up").number;
        self.take(Command::Effects(EffectsCommitted { step, done: vec![(0, count)], ..EffectsCommitted::default() }));
        self
    }

    /// The person answers the open question.
    #[must_use]
    pub fn answers(mut self, answer: &str) -> Self {
        let (answer, channel) = (answer.to_owned(), "console".to_owned());
        let dialog = self.dialog();
        self.take(Command::Answer { dialog, answer, channel, existing: Vec::new() });
        self
    }

    /// Nobody answers it in time.
    #[must_use]
    pub fn lapses(mut self) -> Self {
        let dialog = self.dialog();
        self.take(Command::Lapse { dialog });
        self
    }

    /// It is no longer put.
    #[must_use]
    pub fn withdraws(mut self) -> Self {
        let dialog = self.dialog();
        self.take(Command::Withdraw { dialog, by: "person".to_owned() });
        self
    }

    fn dialog(&self) -> String {
        let waits = self.history.projected.turns.get(self.id).and_then(|turn| turn.waits.cloned());
        waits.unwrap_or_else(|| panic!("no question is open in {:?}: {:?}", self.turn.phase, self.turn.message)).dialog
    }

    /// The model says that.
    #[must_use]
    pub fn says(self, text: &str) -> Self {
        self.thinks(&json!({ "content": text, "calls": [], "finish": "stop" }))
    }

    /// The model calls an executor.
    #[must_use]
    pub fn calls(self, tool: &str, args: &Value) -> Self {
        let call = json!({ "id": "call_1", "name": tool, "arguments": args.to_string() });
        self.thinks(&json!({ "calls": [call], "finish": "tool_calls" }))
    }

    fn thinks(mut self, parsed: &Value) -> Self {
        self.take(Command::Thought(Box::new(ModelAnswered {
            ask: self.turn.asks,
            raw: Kept::json(parsed),
            parsed: Kept::json(parsed),
            usage: Json(json!({ "prompt_tokens": 900, "completion_tokens": 20 })),
            timings: Json(json!({})),
            attempt: 1,
            failed: Vec::new(),
            headers: Json(json!({})),
            duration_us: 1_200_000,
        })));
        self
    }

    /// The model's server gives nothing that can be used.
    #[must_use]
    pub fn gets_no_answer(mut self, class: &str) -> Self {
        self.take(Command::Unanswered(Box::new(ModelFailed {
            ask: self.turn.asks,
            class: class.to_owned(),
            status: 0,
            reason: "connection refused".to_owned(),
            raw: Kept::default(),
            failed: vec![(0, class.to_owned())],
            waited_ms: 0,
            duration_us: 1,
        })));
        self
    }

    /// The turn is stopped.
    #[must_use]
    pub fn stops(mut self, by: &str) -> Self {
        self.take(Command::Cancel { by: by.to_owned() });
        self
    }

    /// It is over, and ended like that.
    #[must_use]
    pub fn ends(self, kind: &str, class: &str) -> Self {
        let ended = (self.turn.final_kind.as_deref(), self.turn.final_class.as_deref().unwrap_or_default());
        assert_eq!(ended, (Some(kind), class), "{:?}: {:?}", self.turn.phase, self.turn.message);
        self
    }
}

/// What every file holds that a made history writes.
pub const WRITTEN: &[u8] = b"hello";

/// Something that is sent to a server.
pub fn request(method: &str, address: &str) -> PlannedOp {
    let content = metnos_log::BlobHash(*blake3::hash(WRITTEN).as_bytes());
    let content_type = Some("text/plain; charset=utf-8".to_owned());
    let request = WebRequest { method: method.to_owned(), content_type, ..WebRequest::default() };
    PlannedOp {
        op: "http".to_owned(),
        path: address.to_owned(),
        content: Some(content),
        bytes: 5,
        text: Some("hello".to_owned()),
        request: Some(Box::new(request)),
        ..PlannedOp::default()
    }
}

/// A message of five bytes to a guest.
pub fn message() -> PlannedOp {
    let to =
        PersonalMessage { to: "guest_1".to_owned(), name: Some("a guest".to_owned()), channel: "telegram".to_owned() };
    PlannedOp {
        op: "send".to_owned(),
        path: "telegram:7".to_owned(),
        content: Some(metnos_log::BlobHash(*blake3::hash(WRITTEN).as_bytes())),
        bytes: 5,
        text: Some("hello".to_owned()),
        message: Some(Box::new(to)),
        ..PlannedOp::default()
    }
}

/// A new file of five bytes.
pub fn write(name: &str) -> PlannedOp {
    let hash = metnos_log::BlobHash(*blake3::hash(WRITTEN).as_bytes());
    PlannedOp {
        op: "write".to_owned(),
        path: format!("{HOME}/{name}"),
        content: Some(hash),
        bytes: 5,
        if_exists: "replace".to_owned(),
        before: BeforeImage { kind: "absent".to_owned(), ..BeforeImage::default() },
        after: Some(hash),
        ..PlannedOp::default()
    }
}

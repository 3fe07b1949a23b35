//! Events of the streams `turn/ID`: from the sentence to the closing.
//!
//! «Fact» marks what the world said: replay takes it from the event. All other events of a turn are decisions: replay
//! computes them again and compares.

mod change;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::actor::Granted;
use super::model::Proposer;
use crate::canonical::Json;
use crate::kept::Kept;

pub use change::{BeforeImage, Holds, OwnChange, PersonalMessage, PlannedOp, Reversed, WebRequest};

/// A sentence arrived. Fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnOpened {
    /// What the person wrote.
    pub text: String,
    /// The language that was asked for on the command line, if any.
    pub language: Option<String>,
    /// The person's own language, for sentences whose words do not tell theirs.
    pub fallback_language: String,
    /// `console` or another channel.
    pub channel: String,
    /// The planner that was asked for: `auto`, `simple` or `metis`.
    pub engine: String,
    /// Which models may be used: `local`.
    pub mode: String,
    /// How much the actor lets Metnos do unasked: `read_only`, `supervised`, `full`.
    pub autonomy: String,
    /// What was approved in advance: `none`, `reads`, `all`.
    pub approve: String,
    /// The person's home folder.
    pub home: String,
    /// The instance's own folders, which no executor sees: configuration, data, audit.
    pub own: [String; 3],
    /// The folder that relative paths start from.
    pub folder: String,
    /// IANA name of the local time zone.
    pub zone: String,
    /// Byte ranges of the sentence that name something on disk.
    pub existing: Vec<(u32, u32)>,
    /// Hash of code version and rule data that decide this turn.
    pub rules_digest: String,
    /// A step that a command asked for by its name instead of a sentence: `{"tool", "args"}`; several: `{"steps"}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Json>,
    /// Whether a question of this turn can be answered where it was asked: then it waits instead of closing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dialogs: bool,
    /// Where on the channel the answer goes, where the channel has several places: a chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The model that may propose steps, where one is bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposer: Option<Proposer>,
    /// What was said in the same place shortly before, oldest first: requests and answers. Only where a model may be asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<(String, String)>,
    /// The folders below which alone a guest's turn reaches anything, without links; none for the host, who is not held so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Vec<String>>,
    /// How long its questions for consent wait, in seconds, where that is not the usual time: nobody sits before a turn that
    /// a schedule begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience_s: Option<u32>,
    /// Random. What the turn's other events say by digests alone is digested under it: where this payload is erased and they
    /// stay, nobody can guess from them what it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
}

/// The catalog was ranked for a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CandidatesRanked {
    /// Executors with scores, best first.
    pub tools: Vec<(String, u32)>,
    /// How many of them a model would be offered.
    pub k: u16,
    /// (top1 − top2) / top1, in thousandths.
    pub confidence_permille: u16,
    /// Digest of the catalog that was ranked.
    pub catalog_digest: String,
}

/// An engine proposed a plan, or abstained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanProposed {
    /// The layer that decided: `L3`.
    pub source: String,
    /// The engine: `simple`, `metis` or `command`.
    pub engine: String,
    /// The language of the answer, resolved from the text.
    pub language: String,
    /// The plan, as JSON.
    pub plan: Kept,
}

/// The next step of the plan is up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepProposed {
    /// Its number in the turn, from 1.
    pub step: u32,
    /// The executor.
    pub tool: String,
    /// Arguments as proposed, references unresolved.
    pub args: Kept,
    /// Where its values came from, as JSON by pointer, where no plan says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Json>,
    /// The model's call that it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// What a target argument turned out to be. Fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// JSON pointer into the arguments.
    pub pointer: String,
    /// What it stands for: `path`, `target_path`, `url`.
    pub role: String,
    /// The value as given.
    pub given: String,
    /// The canonical value: an absolute path without links, a URL in normal form.
    pub canonical: String,
    /// The canonical path's bytes in base64, when they are no UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical_b64: Option<String>,
    /// `file`, `folder`, `other`, `absent`, `url`.
    pub kind: String,
    /// Why it cannot be used: an error class and a plain reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<(String, String)>,
}

/// A step's references are resolved, its targets looked up, its executor verified. Targets and checks are facts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArgumentsResolved {
    /// The step.
    pub step: u32,
    /// The arguments as the executor will get them.
    pub args: Kept,
    /// What each target is.
    pub targets: Vec<Target>,
    /// Where each value came from, as JSON by pointer.
    pub provenance: Json,
    /// The version that resolved.
    pub version: String,
    /// The gateway's first four steps: name to `ok` or class and reason.
    pub checks: Vec<Check>,
    /// Digest of the cage's plan for this call.
    pub plan_digest: String,
    /// The grants of whoever asks that hold now and that its executor could use. Fact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<Granted>,
    /// The weight, in thousandths, of the strongest mnest toward its executor from one that ended well earlier in the turn. Fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mnest_permille: Option<u16>,
    /// Folders that its executor declares for itself and that lie behind a link. Fact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leads: Vec<Lead>,
    /// Whether no cage would hold it, as whoever started Metnos chose. Fact.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncaged: bool,
    /// Whether whoever asks may do less by now than when the turn was opened. Fact.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_do_less: bool,
}

/// A folder that is named by one path and is another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lead {
    /// By what it is named.
    pub given: String,
    /// Where that leads.
    pub at: String,
}

/// One of the gateway's eight steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// `receive`, `resolve`, `verify`, `validate_input`, `open_cage`, `run`, `validate_output`, `record`.
    pub step: String,
    /// `None` when it passed; else the class and the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<(String, String)>,
}

/// A step may not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRefused {
    /// The step.
    pub step: u32,
    /// `shape`, `reference`, `gateway`, `schema`, `policy`, `guard`, `judge`, `consent` or `cap`.
    pub by: String,
    /// The error class.
    pub class: String,
    /// Why, in the turn's language.
    pub reason: String,
}

/// Policy, guard and judge have spoken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictGiven {
    /// The step.
    pub step: u32,
    /// `call` or `effects`.
    pub about: String,
    /// Whether it may go on (consent may still be needed).
    pub approved: bool,
    /// What policy says: `allow`, `ask`, `deny`.
    pub policy: String,
    /// The judge's score in thousandths.
    pub score_permille: u16,
    /// The rule that blocked it.
    pub blocked_by: Option<String>,
    /// `rules`.
    pub judge_kind: String,
    /// The reasons, one a line, without values.
    pub reasons: Vec<String>,
}

/// A person is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsentAsked {
    /// The step.
    pub step: u32,
    /// `call` or `effects`.
    pub about: String,
    /// Hash of tool, resolved arguments, effects, cage plan and version: what exactly is consented to.
    pub digest: String,
    /// The text that is shown.
    pub text: Kept,
    /// When the question lapses, in seconds after it was asked.
    pub expires_s: u32,
}

/// A person agreed. Fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsentAnswered {
    /// The step.
    pub step: u32,
    /// What was consented to.
    pub digest: String,
    /// By which means: `terminal`, `approve_option`, `telegram`, `inbox`, `approvals` (from another place than it was asked in).
    pub by: String,
}

/// A person refused. Fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsentDenied {
    /// The step.
    pub step: u32,
    /// What was refused.
    pub digest: String,
    /// By which means: `terminal`, `approve_option`, `telegram`, `inbox`, `approvals` (from another place than it was asked in).
    pub by: String,
}

/// Nobody answered. Fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsentExpired {
    /// The step.
    pub step: u32,
    /// What was asked.
    pub digest: String,
    /// `no_terminal`, `time`, or `rights`: whoever said yes may do less than when they were asked.
    pub why: String,
}

/// The intent of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvocationStarted {
    /// Correlates the call's records.
    pub trace_id: String,
    /// The step.
    pub step: u32,
    /// The executor.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// Digest of the cage's plan.
    pub plan_digest: String,
    /// Whether it may simply run again after a crash.
    pub repeatable: bool,
}

/// The outcome of a call. Fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvocationFinished {
    /// Correlates the call's records.
    pub trace_id: String,
    /// The step.
    pub step: u32,
    /// Whether the executor did what was asked.
    pub ok: bool,
    /// The error class, when it did not.
    pub class: Option<String>,
    /// The result, as JSON.
    pub result: Kept,
    /// What the executor wants changed, each with what the world looks like there now.
    pub effects: Vec<PlannedOp>,
    /// The gateway's last four steps.
    pub checks: Vec<Check>,
    /// Wall time in µs.
    pub duration_us: u64,
    /// The cage that was really applied, as JSON.
    pub cage: Json,
    /// Connections that the broker made or refused, as JSON.
    pub connections: Json,
    /// What it wrote on stdout and stderr, cut.
    pub diagnostics: Kept,
    /// The wanted changes where they are many, a JSON list of [`PlannedOp`]; `effects` is empty then.
    #[serde(default, skip_serializing_if = "Kept::is_empty")]
    pub changes: Kept,
    /// Whether whoever asks may do less by now than when it began, so that nothing of it is changed. Fact.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_do_less: bool,
}

impl InvocationFinished {
    /// The wanted changes, wherever they lie. None where their text was erased.
    pub fn wanted(&self) -> Vec<PlannedOp> {
        match self.changes.get() {
            Some(text) if self.effects.is_empty() => serde_json::from_str(text).unwrap_or_default(),
            _ => self.effects.clone(),
        }
    }
}

/// A call's intent has no outcome. Fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvocationInDoubt {
    /// The call.
    pub trace_id: String,
    /// The step.
    pub step: u32,
}

/// A call in doubt was settled. Fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvocationSettled {
    /// The call.
    pub trace_id: String,
    /// The step.
    pub step: u32,
    /// `happened`, `did_not_happen` or `unknown`.
    pub outcome: String,
    /// Who says so: `check` or `owner`.
    pub by: String,
}

/// The intent of changes to the world: durable before the first of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectsPlanned {
    /// The step.
    pub step: u32,
    /// The changes, a JSON list of [`PlannedOp`].
    pub ops: Kept,
}

/// What became of one change. Fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectCommitted {
    /// The step.
    pub step: u32,
    /// Its place in the planned list, from 0.
    pub index: u32,
    /// `done`, `found_done` (by recovery) or `failed`.
    pub outcome: String,
    /// The class and the reason, when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<(String, String)>,
}

/// What became of many changes at once. Fact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EffectsCommitted {
    /// The step.
    pub step: u32,
    /// Runs of places in the planned list that were made now, each from its first to one past its last.
    pub done: Vec<(u32, u32)>,
    /// Runs that were found made (by recovery).
    pub found_done: Vec<(u32, u32)>,
    /// Places that failed, each with class and reason.
    pub failed: Vec<(u32, String, String)>,
}

/// The turn waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnSuspended {
    /// `ask`, `awaiting` or `needs_inputs`.
    pub kind: String,
    /// The interim reply.
    pub message: Kept,
}

/// The turn goes on. Fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnResumed {
    /// What made it go on.
    pub by: String,
    /// The request as it reads with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What a question of a step was answered with, as it was read: `{"value"}`. None of an answer that was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<Json>,
    /// The executor that the person chose for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
}

/// The turn was stopped. Fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnCancelled {
    /// `person`, `deadline` or `restart`.
    pub by: String,
}

/// The turn is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnClosed {
    /// How it ended: `answer`, `ask`, `needs_inputs`, `awaiting`, `error`, … (design 5-turn, «Structure»).
    pub final_kind: String,
    /// The error class, when it ended by one.
    pub class: Option<String>,
    /// What the person is told.
    pub message: Kept,
    /// How many calls ended well or not, how many changes were made, by name.
    pub counts: BTreeMap<String, u64>,
}

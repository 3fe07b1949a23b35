//! Events of a turn that a model plans: what it was asked, what it answered, what it is shown of each step.
//!
//! What a model said, and that it said nothing, are facts; everything that follows from them is a decision.

use serde::{Deserialize, Serialize};

use crate::canonical::Json;
use crate::kept::Kept;

/// The model that may propose the steps of a turn. Part of `turn_opened`; a fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposer {
    /// The tier that it is bound to: `fast`, `middle`, `wise`, `frontier`.
    pub tier: String,
    /// The kind of server: `llamacpp`, `openai`.
    pub provider: String,
    /// The server's address, without any credential.
    pub server: String,
    /// The model's name, as the server knows it.
    pub model: String,
    /// Whether it is to think before it answers; its own default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<bool>,
    /// The most tokens of one answer.
    pub max_tokens: u32,
    /// How many tokens it can look at, where the server said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// Whether the built-in engine answers first where it is sure.
    pub simple_first: bool,
    /// How long the turn may take, in seconds, waiting for people aside.
    pub turn_timeout_s: u32,
}

/// A model is asked for the next step: the intent of a call of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelAsked {
    /// Its number in the turn, from 1.
    pub ask: u32,
    /// What the model is asked as: `proposer`.
    pub role: String,
    /// The tier.
    pub tier: String,
    /// The kind of server.
    pub provider: String,
    /// The model.
    pub model: String,
    /// blake3 of the prompt's template.
    pub template: String,
    /// blake3 of the offered tools with their schemas.
    pub tools: String,
    /// What shapes the answer beside the messages, as JSON: `max_tokens`, `tool_choice`, `seed`, `think`.
    pub parameters: Json,
    /// The whole body of the request, as it is sent.
    pub body: Kept,
}

/// A model answered. Fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelAnswered {
    /// The ask.
    pub ask: u32,
    /// The body of the answer as it came.
    pub raw: Kept,
    /// What was read in it, as JSON: `content`, `calls` (`id`, `name`, `arguments` as text), `finish`, `reasoning`.
    pub parsed: Kept,
    /// Tokens, as the server counts them.
    pub usage: Json,
    /// Times, as the server measured them.
    pub timings: Json,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// The attempts before it, each with status (0: no answer) and class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<(u16, String)>,
    /// Status line and headers that are worth keeping.
    pub headers: Json,
    /// Wall time in µs, waiting between attempts included.
    pub duration_us: u64,
}

/// A model gave no answer that can be used. Fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelFailed {
    /// The ask.
    pub ask: u32,
    /// `network`, `timeout`, `unauthorized`, `rate_limited`, `budget_exceeded`, `too_large`, `invalid_args`,
    /// `resource_unavailable`, or `unparseable`: the model's own failure, not the server's.
    pub class: String,
    /// The last status; 0 where none came.
    pub status: u16,
    /// What the server said, cut, without any credential.
    pub reason: String,
    /// What came of an answer before it broke off.
    #[serde(default, skip_serializing_if = "Kept::is_empty")]
    pub raw: Kept,
    /// All attempts, each with status (0: no answer) and class.
    pub failed: Vec<(u16, String)>,
    /// How long was waited between attempts, in ms.
    pub waited_ms: u64,
    /// Wall time in µs.
    pub duration_us: u64,
}

/// What the model is shown of one of its calls: the outcome itself while it is short, a handle to it while it is long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservationKept {
    /// The call that it answers.
    pub call: String,
    /// The step that was made of the call, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The tool that was called.
    pub tool: String,
    /// The error class, when it did not go well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The scratchpad's handle, where the outcome is long; the whole of it is the step's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratchpad: Option<String>,
    /// Length of the whole outcome in bytes of JSON.
    pub size: u64,
    /// What is shown, as JSON.
    pub shown: Kept,
    /// Who counts it against the model: `model`, where what it said was no proper call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// What a step lacks is got first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRemediated {
    /// The call that lacks it.
    pub call: String,
    /// The executor that was called.
    pub tool: String,
    /// What it lacks: `needs_content_fetch`, `needs_data_source`, `needs_action_target`, `binary_missing`.
    pub class: String,
    /// The executor that is run first; none where the model or the person is told what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prerequisite: Option<String>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Kept::is_empty")]
    pub args: Kept,
    /// Where its values came from, as JSON by pointer.
    pub provenance: Json,
    /// Whether the call is made again with what comes of it.
    pub retried: bool,
}

/// The final text claimed what no event backs; the person was told what the events say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerCorrected {
    /// The part of the text that claims it.
    pub claim: String,
    /// What the events say: counts by name.
    pub evidence: Json,
    /// What is told instead.
    pub correction: String,
}

//! What a planner proposes: steps with arguments, where every value came from, and what the person wants told.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A proposal for one turn, by whichever engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Who proposed it: `simple`.
    pub engine: String,
    /// Share of the content words that spans and lexicons explain, in thousandths.
    pub confidence_permille: u16,
    /// Steps in order; empty when the engine abstains.
    pub steps: Vec<PlannedStep>,
    /// What the answer is about.
    pub answer: AnswerSpec,
    /// Set when the engine does not act: what it asks or why it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abstention: Option<Abstention>,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// The executor's name.
    pub tool: String,
    /// Its arguments; may hold `from_step` and `{{stepN.field}}`.
    pub args: Value,
    /// Where each argument's value came from, by JSON pointer into `args`.
    pub provenance: BTreeMap<String, Origin>,
}

/// Where a value came from (design 3-executors, «Provenance»).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    /// The person's words, as a byte range of the sentence.
    Words {
        /// First byte.
        start: u32,
        /// One past the last byte.
        end: u32,
    },
    /// The output of an earlier step of this turn.
    Step {
        /// The step's number, from 1.
        step: u32,
        /// Dotted path into its result; empty for the list that `from_step` takes.
        path: String,
    },
    /// Configuration of the instance.
    Configuration,
    /// A default of the executor or of a sentence template.
    Default,
    /// A model's own words.
    Model,
}

/// What the person wants told about the results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tell", rename_all = "snake_case")]
pub enum AnswerSpec {
    /// The last step's result as its presentation says it.
    #[default]
    Result,
    /// Only how many entries there are.
    Count,
    /// Only the value under this dotted path of the last step's result.
    Field {
        /// The path, for example `bytes_written`.
        path: String,
    },
}

/// Why an engine proposes nothing to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abstention {
    /// `ask` (an answer would help), or `cannot` (nothing here does it).
    pub kind: AbstentionKind,
    /// What it says, in the turn's language: what was understood and what is missing.
    pub message: String,
    /// At most three executors that might be meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
    /// Whether the message puts them to the person as a choice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offers: bool,
}

/// The two ways to abstain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbstentionKind {
    /// A question whose answer would let it go on.
    Ask,
    /// Nothing in the catalog does it, or the words are not understood.
    Cannot,
}

//! Events of the stream `mnestome`: which executor's output went into which, and what was wished for in vain.
//!
//! Weights stand in no event: the fold computes them from when things happened (design 6-memory, «Mnest»).

use serde::{Deserialize, Serialize};

use crate::id::TurnId;

/// One passing, recorded when the turn closes (design 6-memory, «Mnest»).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassingObserved {
    /// Whose output.
    pub src: String,
    /// In which version.
    pub src_version: String,
    /// Whose input.
    pub dst: String,
    /// In which version.
    pub dst_version: String,
    /// The turn in which it happened.
    pub turn: TurnId,
}

/// An executor that does not exist was to get an output. Written when the turn closes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WishObserved {
    /// Whose output; empty where it was wished for by itself, which leaves no trace in the graph.
    pub src: String,
    /// In which version.
    pub src_version: String,
    /// The name that was asked for.
    pub dst: String,
    /// What it would have to be like.
    pub desired: DesiredSignature,
    /// What it was for, in the words of who wished for it. Not written any more: this event outlives the erasure of its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// The turn in which it happened.
    pub turn: TurnId,
}

/// What is known of an executor that does not exist: from the name and the arguments that it was asked for with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesiredSignature {
    /// What it would do, from its name.
    pub summary: String,
    /// Names and JSON types of its arguments, as in `paths: array`.
    pub inputs: Vec<String>,
    /// The same of its result, as far as the name tells.
    pub outputs: Vec<String>,
    /// Error classes that it would need.
    pub errors: Vec<String>,
}

/// Pairs that usually follow each other, known before anything was observed. Written by the first run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MnestsSeeded {
    /// Source with its version, destination with its version.
    pub pairs: Vec<[String; 4]>,
}

/// The tags of a mnest are these from here on. Written by the owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MnestRetagged {
    /// The mnest's id.
    pub mnest: String,
    /// All of its tags; none clears them.
    pub tags: Vec<String>,
}

/// The nightly look at the whole graph (design 6-memory, «Ager»).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgerRun {
    /// The local day that it was for: one run a day.
    pub day: String,
    /// The moment that weights were taken at, µs.
    pub now: i64,
    /// Mnests that fade from here on.
    pub decaying: Vec<String>,
    /// Wishes that nobody repeated: gone from the graph.
    pub purged: Vec<String>,
    /// Mnests that the owner might archive.
    pub proposed: Vec<String>,
}

//! Events of the stream `mnestome`: which executor's output went into which, and into which that does not exist it should.

use serde::{Deserialize, Serialize};

use crate::canonical::Json;
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

/// An executor was wanted that does not exist (design 6-memory, «Wishes»).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WishObserved {
    /// Whose output was to go into it; empty where it was wished for by itself.
    pub src: String,
    /// In which version.
    pub src_version: String,
    /// The name that was asked for.
    pub dst: String,
    /// What is known of it, as JSON: `purpose`, `arguments` (names with types), `object`.
    pub signature: Json,
    /// The turn in which it was wanted.
    pub turn: TurnId,
}

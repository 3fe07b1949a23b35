//! Events of the stream `mnestome`: which executor's output went into which.

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

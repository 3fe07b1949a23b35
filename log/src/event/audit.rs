//! Events about the audit itself, in the stream `instance`.

use serde::{Deserialize, Serialize};

use crate::kept::Kept;

/// A line of the audit was corrected: the line stays as it is, and this says what is to be read with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rectified {
    /// The line, by the number that it names: that of the event which ended it.
    pub line: u64,
    /// The turn that the line is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// What is to be read with it.
    pub note: Kept,
    /// Who says so.
    pub by: String,
}

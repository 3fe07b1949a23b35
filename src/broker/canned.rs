//! Answers that are laid out in advance: what birth tests get instead of the network.

use std::collections::BTreeMap;

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Canned {
    /// A response.
    Answer {
        /// The status.
        status: u16,
        /// Headers, names in lower case.
        headers: BTreeMap<String, String>,
        /// The body.
        body: Vec<u8>,
        /// The final address, when it is another than was asked for.
        url: Option<String>,
        /// The body was cut.
        truncated: bool,
    },
    /// A failure.
    Failure {
        /// The error class.
        class: String,
        /// What went wrong.
        message: String,
    },
}

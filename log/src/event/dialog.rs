//! Events of the streams `dialog/ID`: a question to a person that outlives the process that asked it.
//!
//! A dialog belongs to a turn, which waits until one of the three ends of the dialog is recorded. Consent to a call or to
//! changes is no dialog: it is bound to a digest and stays in the turn's own stream.

use serde::{Deserialize, Serialize};

use crate::kept::Kept;

/// One of the things that may be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What is meant: what the choice becomes.
    pub id: String,
    /// What the person sees.
    pub label: String,
}

/// A question was put; it is open until it is answered, withdrawn or expired.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DialogOpened {
    /// Its id: the turn's, and which of its questions this is.
    pub dialog: String,
    /// `get_inputs` (something is missing), `request_disambiguation_from_user` (several things may be meant) or
    /// `get_approval` (yes or no; no consent).
    pub kind: String,
    /// The question, in the person's language.
    pub question: Kept,
    /// Executors that may be meant, at most three.
    pub candidates: Vec<String>,
    /// Where it was asked.
    pub channel: String,
    /// When it lapses, in seconds after it was opened.
    pub expires_s: u32,
    /// The step of the plan that asks; none where the question is about the request itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The field of a form that is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What may be chosen, in the order of its numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
}

/// A person answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DialogAnswered {
    /// Which.
    pub dialog: String,
    /// What they wrote.
    pub answer: String,
    /// Where.
    pub channel: String,
    /// Byte ranges that name something on disk, in the request with the answer behind it.
    pub existing: Vec<(u32, u32)>,
}

/// Nobody answered in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DialogExpired {
    /// Which.
    pub dialog: String,
}

/// The question is no longer put.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DialogWithdrawn {
    /// Which.
    pub dialog: String,
    /// By whom: `person`, or `question` where another one was put in its place.
    pub by: String,
}

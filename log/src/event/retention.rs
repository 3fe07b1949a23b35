//! How long the fields of payloads are kept: each is kept for ever, or is of a class that expires after some days (design
//! 2-log, «Retention»).
//!
//! Only what lies in a blob expires, and the event that names it stays. How many days is configuration, not said here.

use super::Event;
use crate::kept::{BlobHash, Kept};

/// What may expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// What an executor returned, what a model was shown of that, and the answer of the turn that it was returned to.
    Observation,
    /// What was said to a model, and what it said.
    Model,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Observation, Self::Model];

    /// As an `erased` event names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Observation => "observation",
            Self::Model => "model",
        }
    }
}

impl Event {
    /// The blobs of fields that expire, with the class of each; every other field is kept.
    pub fn expiring(&self) -> Vec<(Class, BlobHash)> {
        let of = |class: Class, fields: &[&Kept]| {
            fields.iter().filter_map(|kept| kept.blob()).map(|blob| (class, blob)).collect()
        };
        #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is kept")]
        match self {
            // Its changes are what undoing needs.
            Self::InvocationFinished(finished) => of(Class::Observation, &[&finished.result, &finished.diagnostics]),
            Self::ObservationKept(kept) => of(Class::Observation, &[&kept.shown]),
            Self::ModelAsked(asked) => of(Class::Model, &[&asked.body]),
            Self::ModelAnswered(answered) => of(Class::Model, &[&answered.raw, &answered.parsed]),
            Self::ModelFailed(failed) => of(Class::Model, &[&failed.raw]),
            _ => Vec::new(),
        }
    }

    /// The blob of an answer: an observation where its turn holds one that expires, for it may quote that in full; else kept.
    pub fn answer(&self) -> Option<BlobHash> {
        if let Self::TurnClosed(closed) = self { closed.message.blob() } else { None }
    }
}

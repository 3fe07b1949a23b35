//! The person's side of a turn: whom it asks, and what they may answer.

use metnos_projections::machines::turn::state::Asked;
use metnos_projections::messages::Language;

use crate::sandbox::Progress;
use crate::seats::{Said, Seat};

/// An answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, by these means (`terminal`, `approve_option`, `telegram`, `inbox`, `approvals`).
    Yes(&'static str),
    /// No, by these means.
    No(&'static str),
    /// Nobody is there.
    Nobody,
    /// Nobody answered in time.
    Late,
    /// The person wants the whole turn to stop.
    Cancelled,
    /// The answer comes to another process: the turn is left as it stands.
    Later,
}

impl Answer {
    /// What was said elsewhere, as the answer to a consent; words are none.
    pub fn elsewhere(said: &Said) -> Option<Self> {
        match said {
            Said::Consent(true) => Some(Self::Yes(ELSEWHERE)),
            Said::Consent(false) => Some(Self::No(ELSEWHERE)),
            Said::Words(_) => None,
        }
    }
}

/// How the record names an answer that `metnos approvals` gave.
pub const ELSEWHERE: &str = "approvals";

/// The person's side of a turn.
pub trait Person: Sync {
    /// Asks for consent; `about` is `call` or `effects`.
    fn consent(&self, about: &str, text: &str, language: Language) -> Answer;
    /// The same, for whoever must know what exactly is agreed to, and waits so that an answer from elsewhere is heard.
    fn consent_to(&self, asked: &Asked, language: Language, _elsewhere: &Seat<'_>) -> Answer {
        self.consent(&asked.about, &asked.text, language)
    }
    /// Whether the process ends: the turn is left as it stands, and another process goes on with it.
    fn is_leaving(&self) -> bool {
        false
    }
    /// Told how far a call is.
    fn progress(&self, progress: &Progress);
    /// Told that this executor begins.
    fn starting(&self, _tool: &str) {}
    /// Told that this model is asked.
    fn thinking(&self, _model: &str) {}
    /// Told the next piece of what a model says; the answer comes whole later.
    fn said(&self, _words: &str) {}
}

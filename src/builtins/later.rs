//! Builtins whose other half is not there yet: they are planned and asked for like any other, and say plainly that nothing
//! was done.
//!
//! Messages need a channel. Nothing is kept until then: a promise that nobody keeps would be worse than a refusal.

use metnos_projections::messages::Language;

use super::{Answer, Call};

/// The builtins that are no more than a promise yet: nobody is told that Metnos can do them.
pub(super) const NAMES: &[&str] = &["send_messages"];

/// Messages: no channel is connected.
pub(super) fn channel(call: &Call<'_>) -> Answer {
    let said = match call.language {
        Language::En => "No channel is connected that could carry a message, so nothing was sent.",
        Language::It => "Non è collegato nessun canale che possa portare un messaggio: non è stato inviato niente.",
    };
    Answer::failure("dependency_unavailable", said)
}

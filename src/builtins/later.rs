//! Builtins whose other half is not there yet: they are planned and asked for like any other, and say plainly that nothing
//! was done.
//!
//! Recurring tasks need a process that stays; messages need a channel. Neither keeps anything until then: a promise that
//! nobody keeps would be worse than a refusal.

use metnos_projections::messages::Language;

use super::{Answer, Call};

/// The builtins that are no more than a promise yet: nobody is told that Metnos can do them.
pub(super) const NAMES: &[&str] = &[
    "cancel_recurring",
    "list_recurring",
    "run_now_recurring",
    "schedule_recurring",
    "send_messages",
    "toggle_recurring",
];

/// Recurring tasks: nothing here stays running to keep them.
pub(super) fn daemon(call: &Call<'_>) -> Answer {
    let said = match call.language {
        Language::En => {
            "Nothing stays running here yet that could keep recurring tasks, so nothing was scheduled or changed."
        }
        Language::It => {
            "Qui non c'è ancora nulla che resti in esecuzione per le attività ricorrenti: non è stato programmato né cambiato niente."
        }
    };
    Answer::failure("dependency_unavailable", said)
}

/// Messages: no channel is connected.
pub(super) fn channel(call: &Call<'_>) -> Answer {
    let said = match call.language {
        Language::En => "No channel is connected that could carry a message, so nothing was sent.",
        Language::It => "Non è collegato nessun canale che possa portare un messaggio: non è stato inviato niente.",
    };
    Answer::failure("dependency_unavailable", said)
}

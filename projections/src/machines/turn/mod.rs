//! The turn: from a sentence to a closed record, as a pure machine.
//!
//! `decide` turns what arrived into events, `apply` (in `state`) folds them, `react` says what to do next in the world.
//! Nothing here waits, reads or writes: the engine does, and feeds what the world said back as commands.

mod absent;
mod acts;
pub mod answers;
mod calls;
pub mod command;
mod consent;
pub mod decide;
mod dialog;
#[cfg(test)]
mod dialog_tests;
mod doubts;
#[cfg(test)]
mod doubts_tests;
pub mod forms;
mod given;
mod guests;
#[cfg(test)]
mod guests_tests;
mod outcome;
mod passings;
mod programs;
pub mod react;
mod remedies;
pub mod salted;
mod signs;
pub mod state;
mod switched;
pub mod talk;
#[cfg(test)]
mod tests;
pub mod thinking;
#[cfg(test)]
mod thinking_tests;
mod verdicts;
#[cfg(test)]
mod verdicts_tests;
#[cfg(test)]
mod wild_tests;
mod wishes;
pub mod writers;

pub use answers::Around;
pub use command::Command;
pub use decide::{CAGE_LACKS, Context, EXECUTOR_CHANGED, RIGHTS_CHANGED, Rejection, decide, decide_and_apply};
pub use react::{Effect, End, Wanted, react};
pub use state::{Phase, Step, Turn};
pub use verdicts::grants;
pub use writers::DOUBT;

/// The stream of an event that happened in a turn: most are the turn's own.
pub fn stream_of(id: metnos_log::TurnId, event: &metnos_log::Event) -> String {
    use metnos_log::Event;
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other kind is the turn's own, or stands in no turn")]
    match event {
        Event::PassingObserved(_) | Event::WishObserved(_) => "mnestome".to_owned(),
        Event::DialogOpened(dialog) => format!("dialog/{}", dialog.dialog),
        Event::DialogAnswered(dialog) => format!("dialog/{}", dialog.dialog),
        Event::DialogExpired(dialog) => format!("dialog/{}", dialog.dialog),
        Event::DialogWithdrawn(dialog) => format!("dialog/{}", dialog.dialog),
        _ => stream(id),
    }
}

/// The stream of a turn.
pub fn stream(id: metnos_log::TurnId) -> String {
    format!("turn/{id}")
}

//! The turn: from a sentence to a closed record, as a pure machine.
//!
//! `decide` turns what arrived into events, `apply` (in `state`) folds them, `react` says what to do next in the world.
//! Nothing here waits, reads or writes: the engine does, and feeds what the world said back as commands.

mod acts;
pub mod command;
mod consent;
pub mod decide;
mod outcome;
pub mod react;
pub mod state;
#[cfg(test)]
mod tests;

pub use command::Command;
pub use decide::{Context, Rejection, decide, decide_and_apply};
pub use react::{Effect, End, Wanted, react};
pub use state::{Phase, Step, Turn};

/// The stream of a turn.
pub fn stream(id: metnos_log::TurnId) -> String {
    format!("turn/{id}")
}

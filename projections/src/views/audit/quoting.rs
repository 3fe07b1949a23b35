//! Which events quote other turns than their own: their payloads are not shown to whoever is shown one turn.
//!
//! What a turn says by itself is its own, whatever it is about. What the program put into it from the record of others is
//! theirs: what was said before, all that comes of a model that was reminded of it, and all that comes of a call that reads
//! that record.

use std::collections::BTreeSet;

use metnos_log::envelope::Body;
use metnos_log::{Event, Recorded, TurnId};
use serde_json::Value;

/// The executors whose answers quote other turns: what was asked, when, and what came of it.
pub const TELLING: &[&str] = &[
    "cancel_recurring",
    "find_tasks_done",
    "get_tasks_reason",
    "history_recurring",
    "list_recurring",
    "modify_recurring",
    "run_now_recurring",
    "show_recurring",
    "toggle_recurring",
    "undo_last_turn",
];

/// Knows what the open turns have heard of others.
#[derive(Clone, Debug, Default)]
pub struct Quoting {
    /// Those that began with what was said before: a model that they ask hears it.
    reminded: BTreeSet<TurnId>,
    /// Those in which a model has, or that have called one of [`TELLING`].
    turns: BTreeSet<TurnId>,
}

impl Quoting {
    /// Takes the next event in; whether its payload quotes other turns.
    pub fn take(&mut self, recorded: &Recorded) -> bool {
        let mut quotes = false;
        recorded.each(|recorded| quotes |= self.take_one(recorded));
        // What was erased says nothing any more.
        quotes && recorded.body != Body::Erased
    }

    fn take_one(&mut self, recorded: &Recorded) -> bool {
        let Some(turn) = recorded.turn else { return false };
        match (&*recorded.kind, recorded.event()) {
            (_, Some(Event::TurnOpened(opened))) => {
                let is_reminded = !opened.history.is_empty();
                self.reminded.extend(is_reminded.then_some(turn));
                is_reminded || opened.given.as_ref().is_some_and(|given| names_telling(&given.0))
            }
            ("model_asked", _) => self.called(turn, self.reminded.contains(&turn)),
            // One that cannot be read may have begun with it.
            ("turn_opened", None) => {
                self.reminded.insert(turn);
                false
            }
            (_, Some(Event::StepProposed(step))) => self.called(turn, TELLING.contains(&&*step.tool)),
            (_, Some(Event::InvocationStarted(started))) => self.called(turn, TELLING.contains(&&*started.tool)),
            // A call that cannot be read may have been one.
            ("step_proposed" | "invocation_started", None) => self.called(turn, true),
            ("arguments_resolved" | "invocation_finished", _) => self.turns.contains(&turn),
            ("turn_closed", _) => {
                self.reminded.remove(&turn);
                self.turns.remove(&turn)
            }
            _ => false,
        }
    }

    fn called(&mut self, turn: TurnId, is_telling: bool) -> bool {
        if is_telling {
            self.turns.insert(turn);
        }
        false
    }
}

/// Whether a command gives such a call: its arguments may name the turn.
fn names_telling(given: &Value) -> bool {
    let steps = given["steps"].as_array().map_or_else(|| vec![given], |steps| steps.iter().collect());
    steps.iter().any(|step| step["tool"].as_str().is_some_and(|tool| TELLING.contains(&tool)))
}

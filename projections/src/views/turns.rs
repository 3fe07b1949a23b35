//! The turns by id: when, how they ended, what they cost. Holds no text: that stays in the events, where it can be erased.

use std::collections::BTreeMap;

use metnos_log::{Event, Recorded};
use serde::{Deserialize, Serialize};

use crate::machines::actors::HOST;
use crate::projection::Projection;

/// All turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Turns {
    /// Turns by id; ids sort by time.
    pub turns: BTreeMap<String, Summary>,
}

/// One turn in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of its first event.
    pub first_seq: u64,
    /// Number of its newest event.
    pub last_seq: u64,
    /// When it was opened, µs.
    pub opened_at: i64,
    /// When it was closed, µs.
    pub closed_at: Option<i64>,
    /// Who asked, where it was not the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The channel.
    pub channel: String,
    /// Calls that were started.
    pub calls: u32,
    /// Changes that were made.
    pub changes: u32,
    /// Whether changes are planned that have no outcome yet.
    pub pending_changes: u32,
    /// How it ended.
    pub final_kind: Option<String>,
    /// By which class.
    pub class: Option<String>,
    /// The question that it waits for.
    #[serde(default)]
    pub waits: Option<Waits>,
}

/// An open question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Its id.
    pub dialog: String,
    /// Where it was asked.
    pub channel: String,
    /// When it lapses, µs.
    pub until: i64,
}

impl Turns {
    /// Turns that have not ended, oldest first.
    pub fn open(&self) -> impl Iterator<Item = (&str, &Summary)> {
        self.turns.iter().filter(|(_, turn)| turn.final_kind.is_none()).map(|(id, turn)| (id.as_str(), turn))
    }
}

impl Projection for Turns {
    const NAME: &'static str = "turns";
    const VERSION: u32 = 2;

    fn evolve(&mut self, recorded: &Recorded) {
        let Some(id) = recorded.turn else { return };
        let turn = self.turns.entry(id.to_string()).or_default();
        if turn.first_seq == 0 {
            turn.first_seq = recorded.seq;
            turn.opened_at = recorded.time.0;
            turn.actor = Some(recorded.actor.clone()).filter(|actor| actor != HOST);
        }
        turn.last_seq = recorded.seq;
        match recorded.event() {
            Some(Event::TurnOpened(opened)) => turn.channel.clone_from(&opened.channel),
            Some(Event::InvocationStarted(_)) => turn.calls += 1,
            Some(Event::InvocationFinished(finished)) => {
                let kept_apart = u32::from(!finished.changes.is_empty());
                turn.pending_changes = u32::try_from(finished.effects.len()).unwrap_or(u32::MAX).max(kept_apart);
            }
            Some(Event::EffectCommitted(committed)) => {
                turn.pending_changes = turn.pending_changes.saturating_sub(1);
                turn.changes += u32::from(committed.failure.is_none());
            }
            Some(Event::EffectsCommitted(committed)) => {
                let runs = committed.done.iter().chain(&committed.found_done);
                turn.changes += runs.map(|(first, end)| end.saturating_sub(*first)).sum::<u32>();
            }
            Some(Event::DialogOpened(opened)) => {
                let until = recorded.time.0.saturating_add(i64::from(opened.expires_s) * 1_000_000);
                let (dialog, channel) = (opened.dialog.clone(), opened.channel.clone());
                turn.waits = Some(Waits { dialog, channel, until });
            }
            Some(Event::DialogAnswered(_) | Event::DialogExpired(_) | Event::DialogWithdrawn(_)) => turn.waits = None,
            Some(Event::TurnClosed(closed)) => {
                turn.waits = None;
                turn.closed_at = Some(recorded.time.0);
                turn.final_kind = Some(closed.final_kind.clone());
                turn.class.clone_from(&closed.class);
                turn.pending_changes = 0;
            }
            _ => {}
        }
    }
}

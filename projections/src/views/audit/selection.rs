//! Which lines of the audit are wanted.

use serde::{Deserialize, Serialize};

use super::{Kind, Line};

/// A choice of lines; what is absent chooses nothing out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// Those that ended at this moment or later, µs since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// Those that ended before this moment, µs since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    /// Those of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Those of this person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The calls of this executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    /// Those of this turn, its corrections too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
}

impl Selection {
    /// Whether a line is wanted.
    pub fn takes(&self, line: &Line) -> bool {
        self.since.is_none_or(|since| line.ended >= since)
            && self.before.is_none_or(|before| line.ended < before)
            && self.kind.is_none_or(|kind| line.kind == kind)
            && self.actor.as_ref().is_none_or(|actor| line.actor == *actor)
            && self.executor.as_ref().is_none_or(|executor| line.executor.as_ref() == Some(executor))
            && self.turn.as_ref().is_none_or(|turn| line.turn.as_ref() == Some(turn))
    }

    /// Whether every line is.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}

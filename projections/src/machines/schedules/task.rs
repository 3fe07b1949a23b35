//! A change of a task as a turn plans it: what it is and what it is to be, how that is said, and what takes it back.

use metnos_log::canonical::Json;
use metnos_log::event::schedule::Contract;
use metnos_log::event::turn::{OwnChange, PlannedOp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Schedule, State, stream};
use crate::messages::{Language, Messages};
use crate::presented::visible;
use crate::rules::cadence::{self, Cadence, Zone};

/// The `op` of such a change.
pub const TASK: &str = "task";
/// How many of the next times are said.
const FIRINGS_SAID: usize = 3;

/// One task as a change finds it or leaves it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Where it is.
    pub state: State,
    /// What is to happen.
    pub what: String,
    /// When, and the rest.
    pub contract: Contract,
    /// How often it has fired.
    pub fired: u32,
}

/// What is done to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is new.
    Create,
    /// It does something else, or at other times.
    Modify,
    /// Nothing of it is due.
    Pause,
    /// It goes on.
    Resume,
    /// It ends.
    Cancel,
    /// It is there again.
    Reopen,
    /// It happens now, once.
    Run,
}

impl Change {
    /// Its name in events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Modify => "modify",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
            Self::Reopen => "reopen",
            Self::Run => "run",
        }
    }

    /// The change of that name.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [Self::Create, Self::Modify, Self::Pause, Self::Resume, Self::Cancel, Self::Reopen, Self::Run];
        all.into_iter().find(|change| change.name() == name)
    }

    /// What takes it back; nothing does where it has happened.
    fn reversed(self) -> Option<Self> {
        Some(match self {
            Self::Create | Self::Reopen => Self::Cancel,
            Self::Modify => Self::Modify,
            Self::Pause => Self::Resume,
            Self::Resume => Self::Pause,
            Self::Cancel => Self::Reopen,
            Self::Run => return None,
        })
    }
}

impl Task {
    /// A schedule as it stands, with the words that it does not hold itself.
    pub fn of(schedule: &Schedule, what: String) -> Self {
        let contract = Contract { next: schedule.next, ..schedule.contract.clone() };
        Self { state: schedule.state, what, contract, fired: schedule.fired }
    }

    /// The same after a change; `next` is its next slot then.
    #[must_use]
    pub fn with(&self, state: State, next: Option<i64>) -> Self {
        let contract = Contract { next, ..self.contract.clone() };
        Self { state, contract, ..self.clone() }
    }

    fn json(&self) -> Json {
        Json(serde_json::to_value(self).expect("a task is plain data"))
    }

    /// What people are told of it.
    pub fn told(&self, messages: &Messages, language: Language) -> Value {
        let contract = &self.contract;
        let zone = Zone::named(&contract.zone).ok();
        let moment = |micros: i64| zone.as_ref().map(|zone| cadence::moment(messages, language, micros, zone));
        let next: Vec<String> = self.firings(zone.as_ref()).into_iter().filter_map(moment).collect();
        json!({
            "what": visible::name(&said(&contract.kind, &self.what)),
            "kind": contract.kind,
            "words": contract.words.get(language.code()).unwrap_or(&contract.cadence),
            "zone": contract.zone,
            "next": next,
            "channel": contract.channel,
            "asks_minutes": contract.asks_s.map(|seconds| seconds.div_ceil(60)),
            "count": contract.count,
            "until": contract.until.and_then(moment),
            "grace_minutes": contract.grace_s / 60,
            "on_failure": contract.on_failure,
            "state": self.state.name(),
            "fired": self.fired,
        })
    }

    fn firings(&self, zone: Option<&Zone>) -> Vec<i64> {
        let (Some(zone), Some(next)) = (zone, self.contract.next) else { return Vec::new() };
        let Ok(cadence) = Cadence::read(&self.contract.cadence, zone) else { return Vec::new() };
        let left = self.contract.count.map_or(FIRINGS_SAID, |most| most.saturating_sub(self.fired) as usize);
        let firings = cadence.firings(next - 1, self.contract.anchor, zone, left.min(FIRINGS_SAID));
        firings.into_iter().take_while(|slot| self.contract.until.is_none_or(|until| *slot <= until)).collect()
    }
}

/// What a task does, for people: named steps in one line, anything else in its own words.
pub fn said(kind: &str, what: &str) -> String {
    if kind != "steps" {
        return what.to_owned();
    }
    let steps: Value = serde_json::from_str(what).unwrap_or_default();
    let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let values = |values: &Value| match values.as_array() {
        Some(items) => items.iter().map(value).collect::<Vec<_>>().join(", "),
        None => value(values),
    };
    let line = |step: &Value| {
        let args: Vec<String> = step["args"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, of)| format!("{name}: {}", values(of)))
            .collect();
        let tool = step["tool"].as_str().unwrap_or_default();
        if args.is_empty() { tool.to_owned() } else { format!("{tool} ({})", args.join("; ")) }
    };
    let lines: Vec<String> = steps["steps"].as_array().into_iter().flatten().map(line).collect();
    lines.join(", ")
}

/// The planned change of a task.
pub fn planned(id: &str, change: Change, before: Option<&Task>, after: &Task) -> PlannedOp {
    let own = OwnChange {
        id: id.to_owned(),
        change: change.name().to_owned(),
        before: before.map(Task::json),
        after: Some(after.json()),
    };
    PlannedOp { op: TASK.to_owned(), path: stream(id), own: Some(Box::new(own)), ..PlannedOp::default() }
}

/// What a planned change does to a task, and what the task is before and after it.
pub fn read(op: &PlannedOp) -> Option<(&str, Change, Option<Task>, Task)> {
    let own = op.own.as_ref().filter(|_| op.op == TASK)?;
    let task = |json: &Option<Json>| serde_json::from_value(json.as_ref()?.0.clone()).ok();
    Some((&own.id, Change::parse(&own.change)?, task(&own.before), task(&own.after)?))
}

/// The change that takes a change back; none where there is none, as for what has happened.
pub fn reversed(op: &PlannedOp) -> Option<PlannedOp> {
    let (id, change, before, after) = read(op)?;
    // What was made is ended, and what ended it is taken back to what it was: there is no «not there».
    let ended = |task: &Task| task.with(State::Cancelled, None);
    let to = before.unwrap_or_else(|| ended(&after));
    Some(planned(id, change.reversed()?, Some(&after), &to))
}

/// A planned change in words: of what it does, or of what it did as part of an undo.
pub fn told(messages: &Messages, language: Language, op: &PlannedOp) -> Option<Value> {
    let (id, change, before, after) = read(op)?;
    let before = before.map(|task| task.told(messages, language));
    let after = after.told(messages, language);
    Some(json!({ "id": id, "change": change.name(), "before": before, "after": after }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(state: State, what: &str) -> Task {
        Task { state, what: what.to_owned(), ..Task::default() }
    }

    #[test]
    fn the_reverse_of_the_reverse_is_the_change() {
        let (active, paused) = (task(State::Active, "a"), task(State::Paused, "a"));
        let cancelled = active.with(State::Cancelled, None);
        for (change, before, after, back) in [
            (Change::Pause, &active, &paused, Change::Resume),
            (Change::Resume, &paused, &active, Change::Pause),
            (Change::Cancel, &paused, &cancelled, Change::Reopen),
            (Change::Modify, &active, &task(State::Active, "b"), Change::Modify),
        ] {
            let op = planned("3", change, Some(before), after);
            let once = reversed(&op).unwrap();
            assert_eq!(read(&once), Some(("3", back, Some(after.clone()), before.clone())));
            assert_eq!(reversed(&once), Some(op));
        }
        let made = planned("3", Change::Create, None, &active);
        let ended = reversed(&made).unwrap();
        assert_eq!(read(&ended), Some(("3", Change::Cancel, Some(active.clone()), cancelled.clone())));
        let again = reversed(&ended).unwrap();
        assert_eq!(read(&again), Some(("3", Change::Reopen, Some(cancelled), active.clone())));
        assert_eq!(reversed(&planned("3", Change::Run, Some(&active), &active)), None);
    }

    #[test]
    fn named_steps_are_said_in_one_line() {
        let steps =
            r#"{"steps":[{"tool":"find_files","args":{"path":"~/x","patterns":["*.txt","*.md"]}},{"tool":"get_now"}]}"#;
        assert_eq!(said("steps", steps), "find_files (path: ~/x; patterns: *.txt, *.md), get_now");
        assert_eq!(said("sentence", "{}"), "{}");
    }
}

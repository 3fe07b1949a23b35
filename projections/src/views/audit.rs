//! Audit lines: one self-describing JSON line a call, a turn, a correction and an erasure (seed 000, chapter 9; design 9-proof).
//!
//! A fold whose output, not whose state, matters: the state holds only turns that have not ended. A line is made of few
//! events and says which; made again from these alone, it is the same line. An event whose payload is gone takes its part of
//! the line with it, never the line.

pub mod cloud_events;
pub mod csv;
pub mod genai;
pub mod index;
pub mod lines;
pub mod proof;
pub mod quoting;
pub mod selection;
pub mod spans;
#[cfg(test)]
mod tests;
pub mod verify;

use std::collections::BTreeMap;

use jiff::Timestamp;
use metnos_log::envelope::Body;
use metnos_log::event::audit::Rectified;
use metnos_log::event::instance::Erased;
use metnos_log::event::turn::{InvocationFinished, TurnClosed};
use metnos_log::{Event, Kept, Recorded};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The shape of the lines; files of another are made anew.
pub const VERSION: u32 = 3;

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A call of an executor.
    Executors,
    /// A turn.
    Turns,
    /// A correction of another line.
    Corrections,
    /// That something was taken out of the log, which is why other lines say less than they did.
    Erasures,
}

impl Kind {
    /// Its name, as files and filters have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Executors => "executors",
            Self::Turns => "turns",
            Self::Corrections => "corrections",
            Self::Erasures => "erasures",
        }
    }

    /// The kind of a name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Executors, Self::Turns, Self::Corrections, Self::Erasures].into_iter().find(|kind| kind.name() == name)
    }
}

/// One line, and what it is chosen by.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What it is about.
    pub kind: Kind,
    /// The number of the event that ends it, which names it.
    pub seq: u64,
    /// When what it is about began, µs.
    pub began: i64,
    /// When it ended, µs.
    pub ended: i64,
    /// The turn.
    pub turn: Option<String>,
    /// Who it was for.
    pub actor: String,
    /// The executor.
    pub executor: Option<String>,
    /// The numbers of the events that it is made of, in order; the last is its own.
    pub sources: Vec<u64>,
    /// Those of them whose payload is in the log and not in the line.
    pub withheld: Vec<u64>,
    /// What it says.
    pub value: Value,
}

impl Line {
    /// Canonical JSON, without the line's end.
    pub fn text(&self) -> String {
        metnos_log::canonical::to_string(&self.value)
    }

    /// `YYYY-MM-DD`, in UTC: the file that it belongs to.
    pub fn day(&self) -> String {
        Timestamp::from_microsecond(self.ended).map(|time| time.strftime("%Y-%m-%d").to_string()).unwrap_or_default()
    }
}

/// Why an event says less than it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// Its payload was erased.
    Erased,
    /// Its payload is in the log and is not shown here.
    Withheld,
    /// It was written by a program that knew more than this one.
    Unknown,
}

impl Missing {
    fn name(self) -> &'static str {
        match self {
            Self::Erased => "erased",
            Self::Withheld => "withheld",
            Self::Unknown => "unknown",
        }
    }
}

/// One event of a line: what its header says, and of its payload what is left.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Source<T> {
    seq: u64,
    time: i64,
    actor: String,
    what: Option<T>,
    missing: Option<Missing>,
}

impl<T> Source<T> {
    fn of(recorded: &Recorded, is_withheld: bool, what: impl FnOnce(&Event) -> Option<T>) -> Self {
        let missing = match &recorded.body {
            _ if is_withheld => Some(Missing::Withheld),
            Body::Known(_) | Body::Raised(_) => None,
            Body::Unknown(_) => Some(Missing::Unknown),
            Body::Erased => Some(Missing::Erased),
        };
        let what = recorded.event().filter(|_| missing.is_none()).and_then(what);
        let (seq, time, actor) = (recorded.seq, recorded.time.0, recorded.actor.clone());
        Self { seq, time, actor, what, missing }
    }
}

/// What a line takes from `turn_opened`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Opened {
    channel: String,
    address: Option<String>,
    text: String,
}

/// What a line takes from `invocation_started`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Started {
    trace_id: String,
    tool: String,
    version: String,
}

/// A turn that has not ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Pending {
    opened: Option<Source<Opened>>,
    resolved: Option<Source<Kept>>,
    started: Option<Source<Started>>,
    /// The numbers of the events that began calls, with what is missing of each.
    calls: Vec<(u64, Option<Missing>)>,
}

/// Builds audit lines from events, given in order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Audit {
    pending: BTreeMap<String, Pending>,
}

impl Audit {
    /// Takes one event in; gives the line that it completes.
    pub fn take(&mut self, recorded: &Recorded) -> Option<Line> {
        self.take_shown(recorded, false)
    }

    /// The same of an event whose payload may be withheld from the line.
    pub fn take_shown(&mut self, recorded: &Recorded, is_withheld: bool) -> Option<Line> {
        // Of several that one was raised to, the last that completes a line.
        let mut line = None;
        recorded.each(|recorded| line = self.take_one(recorded, is_withheld).or(line.take()));
        line
    }

    fn take_one(&mut self, recorded: &Recorded, is_withheld: bool) -> Option<Line> {
        // By the label, which an erased event keeps.
        match (&*recorded.kind, recorded.turn) {
            ("rectified", _) => Some(lines::correction(&Source::of(recorded, is_withheld, rectified))),
            ("erased", _) => Some(lines::erasure(&Source::of(recorded, is_withheld, erased))),
            (kind, Some(turn)) => self.take_of_turn(recorded, is_withheld, (kind, &turn.to_string())),
            (_, None) => None,
        }
    }

    fn take_of_turn(&mut self, recorded: &Recorded, is_withheld: bool, (kind, turn): (&str, &str)) -> Option<Line> {
        if !matches!(kind, "turn_opened" | "arguments_resolved" | "invocation_started") {
            let ended = |pending: &Pending| match kind {
                "invocation_finished" => {
                    Some(lines::call(turn, pending, &Source::of(recorded, is_withheld, finished), "finished"))
                }
                "invocation_in_doubt" => {
                    Some(lines::call(turn, pending, &Source::of(recorded, is_withheld, |_| None), "in_doubt"))
                }
                "turn_closed" => Some(lines::turn(turn, pending, &Source::of(recorded, is_withheld, closed))),
                _ => None,
            };
            let line = self.pending.get(turn).map_or_else(|| ended(&Pending::default()), ended);
            if kind == "turn_closed" {
                self.pending.remove(turn);
            }
            return line;
        }
        let pending = self.pending.entry(turn.to_owned()).or_default();
        match kind {
            "turn_opened" => pending.opened = Some(Source::of(recorded, is_withheld, opened)),
            "arguments_resolved" => pending.resolved = Some(Source::of(recorded, is_withheld, resolved)),
            _ => {
                let started = Source::of(recorded, is_withheld, started);
                pending.calls.push((started.seq, started.missing));
                pending.started = Some(started);
            }
        }
        None
    }
}

/// Whether a line ends with this event.
pub fn ends_line(recorded: &Recorded) -> bool {
    match &*recorded.kind {
        "rectified" | "erased" => true,
        "invocation_finished" | "invocation_in_doubt" | "turn_closed" => recorded.turn.is_some(),
        _ => false,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "asked of one kind each")]
fn opened(event: &Event) -> Option<Opened> {
    match event {
        Event::TurnOpened(opened) => {
            let (channel, address, text) = (opened.channel.clone(), opened.address.clone(), opened.text.clone());
            Some(Opened { channel, address, text })
        }
        _ => None,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "asked of one kind each")]
fn resolved(event: &Event) -> Option<Kept> {
    match event {
        Event::ArgumentsResolved(resolved) => Some(resolved.args.clone()),
        _ => None,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "asked of one kind each")]
fn started(event: &Event) -> Option<Started> {
    match event {
        Event::InvocationStarted(started) => {
            let (trace_id, tool) = (started.trace_id.clone(), started.tool.clone());
            Some(Started { trace_id, tool, version: started.version.clone() })
        }
        _ => None,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "asked of one kind each")]
fn finished(event: &Event) -> Option<InvocationFinished> {
    match event {
        Event::InvocationFinished(finished) => Some(finished.clone()),
        _ => None,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "asked of one kind each")]
fn closed(event: &Event) -> Option<TurnClosed> {
    match event {
        Event::TurnClosed(closed) => Some(closed.clone()),
        _ => None,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "asked of one kind each")]
fn rectified(event: &Event) -> Option<Rectified> {
    match event {
        Event::Rectified(rectified) => Some(rectified.clone()),
        _ => None,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "asked of one kind each")]
fn erased(event: &Event) -> Option<Erased> {
    match event {
        Event::Erased(erased) => Some(erased.clone()),
        _ => None,
    }
}

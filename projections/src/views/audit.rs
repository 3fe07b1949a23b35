//! Audit lines: one self-describing JSON line a call and one a turn (seed 000, chapter 9; design 9-proof).
//!
//! A fold whose output, not whose state, matters: the state holds only calls that have not ended.

use std::collections::BTreeMap;

use jiff::Timestamp;
use metnos_log::canonical;
use metnos_log::event::turn::{ArgumentsResolved, InvocationFinished, InvocationStarted};
use metnos_log::{Event, Kept, Recorded};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One line and the file that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// `executors` or `turns`.
    pub kind: &'static str,
    /// `YYYY-MM-DD`, in UTC.
    pub day: String,
    /// Canonical JSON, without the line's end.
    pub text: String,
}

/// Builds audit lines from events, given in order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Audit {
    pending: BTreeMap<String, Pending>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Pending {
    channel: String,
    opened: Option<(i64, String)>,
    resolved: Option<ArgumentsResolved>,
    started: Option<InvocationStarted>,
    calls: u64,
}

impl Audit {
    /// Takes one event in; gives the line that it completes.
    pub fn take(&mut self, recorded: &Recorded) -> Option<Line> {
        let turn = recorded.turn?.to_string();
        let pending = self.pending.entry(turn.clone()).or_default();
        #[expect(clippy::wildcard_enum_match_arm, reason = "lines are made of the kinds listed here")]
        match recorded.event()? {
            Event::TurnOpened(opened) => {
                pending.channel.clone_from(&opened.channel);
                pending.opened = Some((recorded.time.0, opened.text.clone()));
                None
            }
            Event::ArgumentsResolved(resolved) => {
                pending.resolved = Some(resolved.clone());
                None
            }
            Event::InvocationStarted(started) => {
                pending.started = Some(started.clone());
                pending.calls += 1;
                None
            }
            Event::InvocationFinished(finished) => pending.call_line(&turn, recorded, finished),
            Event::TurnClosed(closed) => {
                let (opened_at, text) = pending.opened.clone().unwrap_or_default();
                let line = json!({
                    "turn_id": turn,
                    "ts_start": timestamp(opened_at),
                    "ts_end": timestamp(recorded.time.0),
                    "actor": recorded.actor,
                    "channel": pending.channel,
                    "user_query": text,
                    "calls": pending.calls,
                    "final_kind": closed.final_kind,
                    "error_class": closed.class,
                    "final_message": kept(&closed.message),
                    "counts": closed.counts,
                    "seq": recorded.seq,
                });
                self.pending.remove(&turn);
                Some(Line { kind: "turns", day: day(recorded.time.0), text: canonical::to_string(&line) })
            }
            _ => None,
        }
    }
}

impl Pending {
    fn call_line(&self, turn: &str, recorded: &Recorded, finished: &InvocationFinished) -> Option<Line> {
        let started = self.started.as_ref()?;
        let resolved = self.resolved.as_ref()?;
        let line = json!({
            "ts": timestamp(recorded.time.0),
            "trace_id": finished.trace_id,
            "turn_id": turn,
            "executor": started.tool,
            "version": started.version,
            "caller": { "kind": "user", "sender": recorded.actor, "channel": self.channel },
            "input": kept(&resolved.args),
            "output": kept(&finished.result),
            "duration_ms": finished.duration_us / 1000,
            "exit": if finished.ok { "ok" } else { "error" },
            "error_class": finished.class,
            "cage": finished.cage.0.get("level"),
            "seq": recorded.seq,
        });
        Some(Line { kind: "executors", day: day(recorded.time.0), text: canonical::to_string(&line) })
    }
}

/// A kept value as a line shows it: itself while it is inline, its blob's name and length when it is not.
fn kept(kept: &Kept) -> Value {
    match kept.blob() {
        Some(blob) => json!({ "blob": blob.to_string(), "bytes": kept.len() }),
        None => kept.value().or_else(|| kept.get().map(|text| Value::String(text.to_owned()))).unwrap_or(Value::Null),
    }
}

fn timestamp(micros: i64) -> String {
    Timestamp::from_microsecond(micros).map(|time| format!("{time:.3}")).unwrap_or_default()
}

fn day(micros: i64) -> String {
    Timestamp::from_microsecond(micros).map(|time| time.strftime("%Y-%m-%d").to_string()).unwrap_or_default()
}

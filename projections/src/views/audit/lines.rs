//! What the lines say. A part that is missing is null, and the line says why: `"erased"`, `"withheld"` or `"unknown"` is true.

use std::collections::BTreeMap;

use jiff::Timestamp;
use metnos_log::Kept;
use metnos_log::event::audit::Rectified;
use metnos_log::event::instance::Erased;
use metnos_log::event::turn::{InvocationFinished, TurnClosed};
use serde_json::{Map, Value, json};

use super::{Kind, Line, Missing, Opened, Pending, Source};
use crate::machines::actors::SYSTEM;

/// The channel of turns that a schedule begins; their address is the schedule.
const SCHEDULE: &str = "schedule";
/// The channel of turns that a device begins.
const DEVICE: &str = "device";

/// The line of a call that ended, by an outcome or without one (`end`: `finished`, `in_doubt`).
pub(super) fn call(turn: &str, pending: &Pending, finished: &Source<InvocationFinished>, end: &str) -> Line {
    let Pending { opened, resolved, started, .. } = pending;
    let begun = started.as_ref().and_then(|started| started.what.as_ref());
    let done = finished.what.as_ref();
    let exit = match done {
        _ if end == "in_doubt" => json!(end),
        Some(done) => json!(if done.ok { "ok" } else { "error" }),
        None => Value::Null,
    };
    let value = json!({
        "ts": timestamp(finished.time),
        "trace_id": begun.map(|begun| &begun.trace_id).or(done.map(|done| &done.trace_id)),
        "turn_id": turn,
        "executor": begun.map(|begun| &begun.tool),
        "version": begun.map(|begun| &begun.version),
        "caller": caller(opened.as_ref(), &finished.actor),
        "input": resolved.as_ref().and_then(|resolved| resolved.what.as_ref()).map(kept),
        "output": done.map(|done| kept(&done.result)),
        "duration_ms": done.map(|done| done.duration_us / 1000),
        "exit": exit,
        "error_class": done.and_then(|done| done.class.as_ref()),
        "cage": done.and_then(|done| done.cage.0.get("level")),
        "seq": finished.seq,
    });
    let parts = [part(opened.as_ref()), part(resolved.as_ref()), part(started.as_ref()), Some(ended(finished))];
    Line {
        kind: Kind::Executors,
        seq: finished.seq,
        began: started.as_ref().map_or(finished.time, |started| started.time),
        ended: finished.time,
        turn: Some(turn.to_owned()),
        actor: actor(opened.as_ref(), &finished.actor),
        executor: begun.map(|begun| begun.tool.clone()),
        ..made(value, parts.into_iter().flatten())
    }
}

/// The line of a turn that is over.
pub(super) fn turn(turn: &str, pending: &Pending, closed: &Source<TurnClosed>) -> Line {
    let opened = pending.opened.as_ref();
    let said = opened.and_then(|opened| opened.what.as_ref());
    let end = closed.what.as_ref();
    let value = json!({
        "turn_id": turn,
        "ts_start": opened.map(|opened| timestamp(opened.time)),
        "ts_end": timestamp(closed.time),
        "actor": actor(opened, &closed.actor),
        "channel": said.map(|said| &said.channel),
        "caller": caller(opened, &closed.actor),
        "user_query": said.map(|said| &said.text),
        "calls": pending.calls.len(),
        "final_kind": end.map(|end| &end.final_kind),
        "error_class": end.and_then(|end| end.class.as_ref()),
        "final_message": end.map(|end| kept(&end.message)),
        "counts": end.map(|end| &end.counts),
        "seq": closed.seq,
    });
    let parts = part(opened).into_iter().chain(pending.calls.iter().copied()).chain([ended(closed)]);
    Line {
        kind: Kind::Turns,
        seq: closed.seq,
        began: opened.map_or(closed.time, |opened| opened.time),
        ended: closed.time,
        turn: Some(turn.to_owned()),
        actor: actor(opened, &closed.actor),
        ..made(value, parts)
    }
}

/// The line that corrects another one.
pub(super) fn correction(rectified: &Source<Rectified>) -> Line {
    let what = rectified.what.as_ref();
    let turn = what.and_then(|what| what.turn.clone());
    let value = json!({
        "ts": timestamp(rectified.time),
        "corrects": what.map(|what| what.line),
        "turn_id": turn,
        "note": what.map(|what| kept(&what.note)),
        "by": what.map_or(&rectified.actor, |what| &what.by),
        "seq": rectified.seq,
    });
    Line {
        kind: Kind::Corrections,
        seq: rectified.seq,
        began: rectified.time,
        ended: rectified.time,
        turn,
        actor: rectified.actor.clone(),
        ..made(value, [ended(rectified)])
    }
}

/// The line that says that payloads were taken out of the log: how many, never what they held.
pub(super) fn erasure(erased: &Source<Erased>) -> Line {
    let what = erased.what.as_ref();
    // Of a text there is a keyed hash, which says nothing to whoever has no key.
    let of = what.filter(|what| what.selector != "text").map(|what| &what.of);
    let turn = what.filter(|what| what.selector == "turn").map(|what| what.of.clone());
    let count = |runs: &[(u64, u64)]| runs.iter().map(|(first, last)| last.saturating_sub(*first) + 1).sum::<u64>();
    let value = json!({
        "ts": timestamp(erased.time),
        "selector": what.map(|what| &what.selector),
        "of": of,
        "turn_id": turn,
        "payloads": what.map(|what| count(what.payloads())),
        "blobs": what.map(|what| what.blobs.len()),
        "reason": what.map(|what| &what.reason),
        "by": what.map_or(&erased.actor, |what| &what.by),
        "seq": erased.seq,
    });
    Line {
        kind: Kind::Erasures,
        seq: erased.seq,
        began: erased.time,
        ended: erased.time,
        turn,
        actor: erased.actor.clone(),
        ..made(value, [ended(erased)])
    }
}

/// A line of these events, with what is missing of them.
fn made(mut value: Value, parts: impl IntoIterator<Item = (u64, Option<Missing>)>) -> Line {
    let parts: BTreeMap<u64, Option<Missing>> = parts.into_iter().collect();
    let names = parts.values().flatten().map(|missing| (missing.name().to_owned(), Value::Bool(true)));
    if let Value::Object(fields) = &mut value {
        fields.extend(names.collect::<Map<_, _>>());
    }
    let sources = parts.keys().copied().collect();
    let withheld = parts.iter().filter(|(_, missing)| **missing == Some(Missing::Withheld)).map(|(seq, _)| *seq);
    let (seq, began, ended, actor) = (0, 0, 0, String::new());
    let withheld = withheld.collect();
    Line { kind: Kind::Turns, seq, began, ended, turn: None, actor, executor: None, sources, withheld, value }
}

fn part<T>(source: Option<&Source<T>>) -> Option<(u64, Option<Missing>)> {
    source.map(ended)
}

fn ended<T>(source: &Source<T>) -> (u64, Option<Missing>) {
    (source.seq, source.missing)
}

/// Who a turn is for: whoever opened it, since another process may end it for them.
fn actor(opened: Option<&Source<Opened>>, ended: &str) -> String {
    opened.map_or(ended, |opened| &opened.actor).to_owned()
}

fn caller(opened: Option<&Source<Opened>>, ended: &str) -> Value {
    let sender = actor(opened, ended);
    let said = opened.and_then(|opened| opened.what.as_ref());
    let kind = match said.map(|said| said.channel.as_str()) {
        _ if sender == SYSTEM => Some("system"),
        Some(SCHEDULE) => Some("scheduler"),
        Some(DEVICE) => Some("device"),
        Some(_) => Some("user"),
        None => None,
    };
    let schedule = said.filter(|said| said.channel == SCHEDULE).and_then(|said| said.address.as_ref());
    json!({ "kind": kind, "sender": sender, "channel": said.map(|said| &said.channel), "schedule_id": schedule })
}

/// A kept value as a line shows it: itself while it is inline, its blob's name and length when it is not. Never a text that
/// was fetched: a line is made of its events alone.
fn kept(kept: &Kept) -> Value {
    match kept.blob() {
        Some(blob) => json!({ "blob": blob.to_string(), "bytes": kept.len() }),
        None => kept.value().or_else(|| kept.get().map(|text| Value::String(text.to_owned()))).unwrap_or(Value::Null),
    }
}

/// A moment in UTC, to the millisecond.
pub(super) fn timestamp(micros: i64) -> String {
    Timestamp::from_microsecond(micros).map(|time| format!("{time:.3}")).unwrap_or_default()
}

//! `find_tasks_done`: what was asked for in a span of time and what came of it, from the log. It looks at no disk: whether
//! something can still be undone is said as far as the log knows.

use std::collections::BTreeMap;

use metnos_log::TurnId;
use metnos_log::event::turn::PlannedOp;
use metnos_log::store::ReadError;
use metnos_projections::machines::turn::Turn;
use metnos_projections::messages::Language;
use metnos_projections::rules::undo::{Reach, reach};
use metnos_projections::views::turns::Summary;
use serde_json::{Value, json};

use super::past::{Past, moment};
use super::{Answer, Call};
use crate::why::short;

/// The most turns that are told.
const SHOWN_MAX: usize = 50;
/// How many, when no time is named.
const SHOWN_UNASKED: usize = 10;
/// The longest part of a request that is told.
const QUOTED_MAX: usize = 100;
/// The most kinds of changes of one turn that are told.
const KINDS_MAX: usize = 4;

pub(super) fn run(call: &Call<'_>) -> Answer {
    let text = |name: &str| call.args.get(name).and_then(Value::as_str);
    let (Ok(since), Ok(until)) = (micros(text("since")), micros(text("until"))) else {
        let error = match call.language {
            Language::En => "since and until are moments like 2026-11-21T00:00:00+01:00.",
            Language::It => "since e until sono momenti come 2026-11-21T00:00:00+01:00.",
        };
        return Answer::failure("invalid_args", error);
    };
    match found(call, since, until) {
        Ok(result) => Answer::of(result),
        Err(error) => Answer::failure("operation_failed", &error.to_string()),
    }
}

fn micros(text: Option<&str>) -> Result<Option<i64>, jiff::Error> {
    text.map(|text| text.parse::<jiff::Timestamp>().map(jiff::Timestamp::as_microsecond)).transpose()
}

fn found(call: &Call<'_>, since: Option<i64>, until: Option<i64>) -> Result<Value, ReadError> {
    let instance = call.instance;
    let changes_only = call.args.get("changes_only").and_then(Value::as_bool).unwrap_or(false);
    let asked = call.args.get("max_results").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
    let unasked = if since.is_none() && until.is_none() { SHOWN_UNASKED } else { SHOWN_MAX };
    let most = asked.unwrap_or(unasked).clamp(1, SHOWN_MAX);
    let fits = |(id, turn): &(TurnId, Summary<'_>)| {
        *id != call.turn
            && instance.may_see(*turn)
            && since.is_none_or(|since| turn.opened_at >= since)
            && until.is_none_or(|until| turn.opened_at < until)
            && (!changes_only || turn.changes > 0)
    };
    let turns = instance.turns();
    let within: Vec<(TurnId, Summary<'_>)> = turns.iter().filter(fits).collect();
    let (mut entries, mut left_out) = (Vec::new(), 0_usize);
    for (id, summary) in within.iter().rev() {
        if entries.len() == most {
            break;
        }
        let past = Past::read(instance, *id)?;
        if past.is_about_itself() {
            left_out += 1;
        } else {
            entries.push((*id, *summary, past));
        }
    }
    let undone = undone(call, entries.iter().filter(|(_, summary, _)| summary.changes > 0).map(|(id, ..)| *id))?;
    entries.reverse();
    let shown = entries.len();
    let lines: Vec<Value> =
        entries.iter().map(|(id, summary, past)| line(*id, summary, past, undone.get(id).copied())).collect();
    let named = |name: &str| call.args.get(name).and_then(Value::as_str).unwrap_or_default();
    Ok(json!({
        "ok": true,
        "entries": lines,
        "metadata": {
            "count": within.len(),
            "shown": shown,
            "left_out": left_out,
            "truncated": asked != Some(1) && shown + left_out < within.len(),
            "timezone": instance.settings.zone,
            "since": named("since"),
            "until": named("until"),
            "last": asked == Some(1),
        },
    }))
}

/// Those of the turns that a later turn took back, and whether wholly. What an undo took back that was undone itself does
/// not count.
fn undone(call: &Call<'_>, changed: impl Iterator<Item = TurnId>) -> Result<BTreeMap<TurnId, bool>, ReadError> {
    let mut undone = BTreeMap::new();
    let Some(first) = changed.min() else { return Ok(undone) };
    let turns = call.instance.turns();
    let is_told = |turn: Summary<'_>| turn.changes > 0 && call.instance.may_see(turn);
    let later = turns.after(first).rev().filter(|(_, turn)| is_told(*turn));
    for (id, _) in later {
        let past = Past::read(call.instance, id)?;
        let undo = past.turn.steps.iter().find(|step| step.tool == "undo_last_turn" && step.result.is_some());
        let Some(result) = undo.filter(|_| !undone.contains_key(&id)).and_then(|step| step.result.as_ref()) else {
            continue;
        };
        let meant = result.pointer("/metadata/turn").and_then(Value::as_str);
        if let Some(meant) = meant.and_then(|meant| meant.parse().ok()) {
            let refused = result.pointer("/metadata/refused").and_then(Value::as_u64).unwrap_or(0);
            let failed = result.get("fail_count").and_then(Value::as_u64).unwrap_or(0);
            undone.insert(meant, refused + failed == 0);
        }
    }
    Ok(undone)
}

fn line(id: TurnId, summary: &Summary<'_>, past: &Past, undone: Option<bool>) -> Value {
    let turn = &past.turn;
    json!({
        "turn": id.to_string(),
        "time": moment(summary.opened_at),
        "text": short(past.text(), QUOTED_MAX),
        "kind": match (turn.final_kind.as_deref().or(summary.final_kind), &summary.waits) {
            // Its end is erased, and its words as a rule: the numbers say that it is over.
            (Some(kind), _) => kind,
            (None, Some(_)) => "ask",
            (None, None) => "open",
        },
        "class": turn.final_class.as_deref().unwrap_or_default(),
        "changes": summary.changes,
        "made": made(turn),
        "undo": match undone {
            Some(true) => "done",
            Some(false) => "done_partly",
            None => reachable(turn),
        },
    })
}

/// The changes that were made, of all steps.
fn changes(turn: &Turn) -> impl Iterator<Item = &PlannedOp> {
    turn.steps.iter().flat_map(|step| {
        let done = |index: &usize| u32::try_from(*index).is_ok_and(|index| step.committed.get(&index) == Some(&None));
        step.ops.iter().enumerate().filter(move |(index, _)| done(index)).map(|(_, op)| op)
    })
}

fn made(turn: &Turn) -> Vec<Value> {
    let mut kinds: Vec<(&PlannedOp, u64)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let kind =
        |op: &PlannedOp| op.own.as_ref().map_or_else(|| op.op.clone(), |own| format!("{}_{}", own.change, op.op));
    for op in changes(turn) {
        let at =
            *places.entry(op.own.as_ref().map_or(op.op.as_str(), |own| own.change.as_str())).or_insert_with(|| {
                kinds.push((op, 0));
                kinds.len() - 1
            });
        kinds[at].1 += 1;
    }
    let told = kinds.iter().take(KINDS_MAX).map(|(op, count)| {
        let into_trash = op.op == "delete" || op.op == "link";
        let (path, dst) = match op.op.as_str() {
            "restore" => (op.dst.clone().unwrap_or_default(), None),
            _ => (op.path.clone(), op.dst.clone().filter(|_| !into_trash)),
        };
        let path = op.own.as_ref().map_or(path, |own| own.id.clone());
        let path = op.message.as_ref().map_or(path, |to| to.name.clone().unwrap_or_else(|| to.to.clone()));
        json!({ "op": kind(op), "count": count, "path": path, "dst": dst.unwrap_or_default() })
    });
    told.collect()
}

/// How far the log lets it be taken back.
fn reachable(turn: &Turn) -> &'static str {
    let reaches: Vec<Reach> = changes(turn).map(reach).collect();
    let never = reaches.iter().filter(|reach| **reach == Reach::Never).count();
    match never {
        _ if reaches.is_empty() => "none",
        never if never == reaches.len() => "never",
        0 if reaches.contains(&Reach::UntilTrashEmptied) => "until_trash_emptied",
        0 => "wholly",
        _ => "partly",
    }
}

//! `undo_last_turn`: plans the reverse of an earlier turn. The turn that calls it asks, commits and records, as for any act.

use std::collections::BTreeMap;

use metnos_log::TurnId;
use metnos_log::event::turn::PlannedOp;
use metnos_log::store::ReadError;
use metnos_projections::machines::actors::HOST;
use metnos_projections::machines::catalog::{Entry, Version};
use metnos_projections::machines::turn::writers::DID_NOT_HAPPEN;
use metnos_projections::machines::turn::{Turn, stream};
use metnos_projections::rules::undo::reverse;
use metnos_projections::views::turns::{ERASED, Summary};
use serde_json::{Value, json};

use super::{Answer, Call, planned_around};
use crate::effects::plan::Planned;
use crate::effects::undo::{Refused, settle};
use crate::instance::Instance;
use crate::scheduler::changes;
use crate::why;

/// The longest part of a request that is quoted.
const QUOTED_MAX: usize = 80;

/// Why nothing is undone: class, and key of the reason with a detail.
type Refusal = (&'static str, String);

pub(super) fn run(call: &Call<'_>) -> Answer {
    let found = meant(call).and_then(|(id, skipped)| {
        let turn = folded(call.instance, id).map_err(|error| ("operation_failed", format!("system: {error}")))?;
        planned(call, id, &turn, skipped).map_err(|error| ("operation_failed", format!("system: {error}")))?
    });
    match found {
        Ok(answer) => answer,
        Err((class, reason)) => {
            let messages = &call.instance.rules.messages;
            let error = metnos_projections::machines::turn::decide::trouble(messages, call.language, &reason, "");
            Answer::failure(class, &error)
        }
    }
}

/// The turn that is meant, and how many later ones changed nothing.
fn meant(call: &Call<'_>) -> Result<(TurnId, usize), Refusal> {
    let turns = call.instance.turns();
    let no_such = |named: &str| ("not_found", format!("no_such_turn: {named}"));
    if let Some(named) = call.args.get("turn").and_then(Value::as_str) {
        let upper = named.trim().to_uppercase();
        let fits = |id: TurnId, turn: Summary<'_>| {
            id != call.turn && call.instance.may_see(turn) && id.to_string().ends_with(&upper)
        };
        let mut fitting = turns.iter().filter(|(id, turn)| fits(*id, *turn));
        let (Some((id, turn)), None) = (fitting.next(), fitting.next()) else { return Err(no_such(named)) };
        if turn.final_kind.is_none() {
            return Err(("invalid_args", format!("turn_is_open: {named}")));
        }
        if turn.changes == 0 {
            changed_by_itself(call.instance, id, turn)?;
            let why = if is_erased(turn) { "turn_erased" } else { "turn_changed_nothing" };
            return Err(("not_reversible", format!("{why}: {named}")));
        }
        return Ok((id, 0));
    }
    // The last one of whoever asks: what others did since is theirs to take back, or is named.
    let theirs = Some(call.instance.actor.as_str()).filter(|actor| *actor != HOST);
    let is_theirs = |id: TurnId, turn: Summary<'_>| id != call.turn && turn.actor == theirs;
    let ended = turns.iter().rev().filter(|(id, turn)| is_theirs(*id, *turn) && turn.final_kind.is_some());
    let mut nothing = ("not_found", "nothing_changed_yet");
    for (skipped, (id, turn)) in ended.enumerate() {
        if turn.changes > 0 {
            return Ok((id, skipped));
        }
        changed_by_itself(call.instance, id, turn)?;
        if is_erased(turn) {
            nothing = ("not_reversible", "nothing_but_erased");
        }
    }
    Err((nothing.0, nothing.1.to_owned()))
}

/// Whether what a turn did is not on record any more.
fn is_erased(turn: Summary<'_>) -> bool {
    turn.final_kind == Some(ERASED)
}

/// Refuses a turn in which an executor changed files by itself: nothing of that can be taken back, and it did not change
/// nothing.
fn changed_by_itself(instance: &Instance, id: TurnId, turn: Summary<'_>) -> Result<(), Refusal> {
    let catalog = instance.catalog();
    let writes = |version: &Version| version.manifest().is_some_and(|it| it.writes_by_itself().next().is_some());
    // Most homes have no such executor, and most turns made no call.
    let is_written = |entry: &Entry| entry.versions.values().any(writes);
    if turn.calls == 0 || !catalog.executors.values().any(is_written) {
        return Ok(());
    }
    let turn = folded(instance, id).map_err(|error| ("operation_failed", format!("system: {error}")))?;
    let changed = turn.steps.iter().find(|step| {
        let may_be_done = step.settled.as_deref().is_some_and(|outcome| outcome != DID_NOT_HAPPEN);
        (step.result.is_some() || may_be_done) && catalog.called(&step.tool, &step.version).is_some_and(writes)
    });
    changed.map_or(Ok(()), |step| Err(("not_reversible", format!("changed_by_itself: {}", step.tool))))
}

/// A past turn from its events.
fn folded(instance: &Instance, id: TurnId) -> Result<Turn, ReadError> {
    let reader = instance.log.reader();
    let mut turn = Turn::default();
    for recorded in reader.stream(&stream(id))? {
        let recorded = reader.rehydrated(recorded)?;
        if let Some(event) = recorded.event() {
            turn.apply(id, recorded.time, event);
        }
    }
    Ok(turn)
}

fn planned(call: &Call<'_>, id: TurnId, turn: &Turn, skipped: usize) -> Result<Result<Answer, Refusal>, ReadError> {
    let instance = call.instance;
    let (of_own, of_disk): (Vec<_>, Vec<_>) = reverse(&id.to_string(), &turn.steps)
        .into_iter()
        .partition(|found| found.as_ref().is_ok_and(|op| op.own.is_some()));
    let (mut planned, mut refused) = planned_around(instance, None, |around| settle(of_disk, around));
    for op in of_own.into_iter().flatten() {
        match changes::take_back(instance, &op) {
            Ok(op) => planned.ops.push(op),
            Err((class, reason)) => refused.push(Refused { op: op.op, path: op.path, class: class.to_owned(), reason }),
        }
    }
    let mut undone = false;
    if !refused.is_empty() {
        let later = Later::of(instance, call.turn, id)?;
        undone = later.undid;
        later.explain(&mut refused);
    }
    let preview = call.args.get("preview").and_then(Value::as_bool).unwrap_or(false);
    if planned.ops.is_empty() && !preview {
        let first = refused.first().map(|refused| refused.reason.clone());
        let reason =
            if undone { "undone_already".to_owned() } else { first.unwrap_or_else(|| "nothing_reversible".to_owned()) };
        let lasting = refused.iter().all(|refused| refused.class == "not_reversible");
        return Ok(Err((if lasting { "not_reversible" } else { "target_changed" }, reason)));
    }
    let text = turn.opened.as_ref().map(|opened| why::short(&opened.text, QUOTED_MAX));
    let mut result = json!({
        "ok": true,
        "refused": refused.iter().map(line_of).collect::<Vec<_>>(),
        "metadata": {
            "turn": id.to_string(),
            "text": text.unwrap_or_default(),
            "time": jiff::Timestamp::from_microsecond(turn.opened_at.0).map(|time| time.to_string()).unwrap_or_default(),
            "count": planned.ops.len(),
            "refused": refused.len(),
            "skipped": skipped,
            "preview": preview,
        },
    });
    if preview {
        result["planned"] = planned.ops.iter().map(shown).collect();
        planned = Planned::default();
    }
    Ok(Ok(Answer { result, planned }))
}

fn line_of(refused: &Refused) -> Value {
    json!({ "op": refused.op, "path": refused.path, "error_class": refused.class, "error": refused.reason })
}

fn shown(op: &PlannedOp) -> Value {
    let mut line = json!({ "op": op.op, "path": op.path, "to": op.to });
    if let Some(own) = &op.own {
        line["own"] = serde_json::to_value(own).expect("a change is plain data");
    }
    if let Some(dst) = op.dst.as_ref().filter(|_| op.op != "link") {
        line["dst"] = dst.clone().into();
    }
    line
}

/// What turns after the one that is undone did: the reasons that a person understands.
struct Later {
    by_path: BTreeMap<String, String>,
    undid: bool,
}

impl Later {
    fn of(instance: &Instance, own: TurnId, undone: TurnId) -> Result<Self, ReadError> {
        let mut later = Self { by_path: BTreeMap::new(), undid: false };
        let turns = instance.turns();
        let after = turns.after(undone).filter(|(id, turn)| *id != own && turn.changes > 0);
        let undone = undone.to_string();
        for (id, summary) in after {
            let turn = folded(instance, id)?;
            // What somebody else asked for is not told to a guest.
            let opened = turn.opened.as_ref().filter(|_| instance.may_see(summary));
            let text = opened.map(|opened| why::short(&opened.text, QUOTED_MAX));
            for op in turn.steps.iter().flat_map(|step| step.ops.iter()) {
                later.undid |= op.reverses.as_ref().is_some_and(|reversed| reversed.turn == undone);
                for path in [Some(&op.path), op.dst.as_ref()].into_iter().flatten() {
                    later.by_path.insert(path.clone(), text.clone().unwrap_or_default());
                }
            }
        }
        Ok(later)
    }

    /// Adds the request that changed each refused target, where one did.
    fn explain(&self, refused: &mut [Refused]) {
        for refused in refused.iter_mut().filter(|refused| refused.class == "target_changed") {
            let named = matches!(refused.reason.as_str(), "gone_since" | "changed_since" | "there_again");
            let mut at = Some(refused.path.as_str());
            while let (true, Some(path)) = (named, at) {
                if let Some(text) = self.by_path.get(path) {
                    refused.reason = format!("{}: {text}", refused.reason);
                    break;
                }
                at = path.rsplit_once('/').map(|(above, _)| above).filter(|above| !above.is_empty());
            }
        }
    }
}

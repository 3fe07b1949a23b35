//! The builtins of what happens at times. Those that change something plan the change: the turn asks, makes it and records
//! it, as for any act. What is due is fired by the daemon, and where none runs the answer says so.

use metnos_log::event::turn::PlannedOp;
use metnos_projections::machines::schedules::task::{self, Change};
use metnos_projections::machines::schedules::{JOB, State};
use serde_json::{Value, json};

use super::{Answer, Call};
use crate::effects::plan::Planned;
use crate::scheduler::asked::{self, AskError, Asked};
use crate::scheduler::delivery::CONSOLE;
use crate::scheduler::named::{self, Meant};
use crate::scheduler::{changes, is_theirs, told};

/// The most outcomes that are told.
const HISTORY_MAX: usize = 20;

fn text(call: &Call<'_>, name: &str) -> Option<String> {
    call.args.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn number(call: &Call<'_>, name: &str) -> Option<u32> {
    call.args.get(name).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok())
}

fn answered(result: Result<Value, AskError>) -> Answer {
    result.map_or_else(failed, Answer::of)
}

fn failed(error: AskError) -> Answer {
    match error {
        AskError::Refused(refused) => Answer::failure(refused.class, refused.said.trim_end_matches('.')),
        AskError::Instance(error) => Answer::failure("operation_failed", &error.to_string()),
    }
}

/// A change that is wanted, and the task as it will be.
fn wanted(call: &Call<'_>, planned: Result<PlannedOp, AskError>) -> Answer {
    let op = match planned {
        Ok(op) => op,
        Err(error) => return failed(error),
    };
    let told = task::told(&call.instance.rules.messages, call.language, &op).unwrap_or_default();
    let result = json!({
        "ok": true,
        "schedule_id": told["id"],
        "metadata": { "schedule": told["after"], "before": told["before"], "serves": call.instance.scheduler.serves() },
    });
    Answer { result, planned: Planned { ops: vec![op], ..Planned::default() } }
}

/// The schedule as it stands, and whether anything here fires it.
fn shown(call: &Call<'_>, id: &str) -> Result<Value, AskError> {
    let instance = call.instance;
    let schedule = asked::known(instance, call.language, id)?;
    let line = told::line(instance, call.language, id, &schedule)?;
    Ok(json!({
        "ok": true,
        "schedule_id": id,
        "next_fire": line["next_fire"],
        "metadata": { "schedule": line, "serves": instance.scheduler.serves() },
    }))
}

fn asked(call: &Call<'_>) -> Asked {
    let opened = call.opened;
    let from = opened.map_or(CONSOLE, |opened| opened.channel.as_str());
    Asked {
        when: text(call, "schedule").unwrap_or_default(),
        query: text(call, "query").unwrap_or_default(),
        steps: call.args.get("steps").map(|steps| json!({ "steps": steps })),
        zone: text(call, "timezone"),
        times: number(call, "times"),
        until: text(call, "until"),
        on_failure: text(call, "on_failure"),
        grace_minutes: number(call, "grace_window_minutes"),
        channel: text(call, "delivery_channel")
            .or_else(|| Some(from).filter(|from| *from == "telegram").map(str::to_owned)),
        address: opened.and_then(|opened| opened.address.clone()).filter(|_| from == "telegram"),
        folder: opened.map_or_else(String::new, |opened| opened.folder.clone()),
        turn: Some(call.turn.to_string()),
    }
}

pub(super) fn schedule(call: &Call<'_>) -> Answer {
    wanted(call, changes::create(call.instance, call.language, &asked(call)))
}

pub(super) fn modify(call: &Call<'_>) -> Answer {
    named(call, false, |id| {
        // Where results go stays as it is, wherever this is said.
        let channel = text(call, "delivery_channel");
        let asked = Asked { address: asked(call).address.filter(|_| channel.is_some()), channel, ..asked(call) };
        wanted(call, changes::modify(call.instance, call.language, &id, &asked))
    })
}

/// Goes on with the schedule that is named; where words fit several, which one is meant is for the person to say.
fn named(call: &Call<'_>, any: bool, go_on: impl FnOnce(String) -> Answer) -> Answer {
    let name = text(call, "name").unwrap_or_default();
    match named::meant(call.instance, call.language, &name, any) {
        Ok(Meant::One(id)) => go_on(id),
        Ok(Meant::Several(several)) => {
            let messages = &call.instance.rules.messages;
            let question = messages.say(call.language, "schedule.which_question", json!({ "name": name }));
            let options: Vec<Value> = several.iter().map(|one| json!({ "id": one.id, "label": one.label })).collect();
            let mut answer = Answer::failure("not_found", question.trim_end_matches('.'));
            answer.result["choice"] = json!({ "argument": "name", "question": question, "options": options });
            answer
        }
        Err(error) => failed(error),
    }
}

fn changed(call: &Call<'_>, change: Change) -> Answer {
    named(call, false, |id| wanted(call, changes::change(call.instance, call.language, &id, change)))
}

pub(super) fn cancel(call: &Call<'_>) -> Answer {
    changed(call, Change::Cancel)
}

pub(super) fn toggle(call: &Call<'_>) -> Answer {
    let paused = call.args.get("paused").and_then(Value::as_bool).unwrap_or(true);
    changed(call, if paused { Change::Pause } else { Change::Resume })
}

/// A slot of now is claimed; the daemon carries it out beside this turn.
pub(super) fn run_now(call: &Call<'_>) -> Answer {
    changed(call, Change::Run)
}

pub(super) fn show(call: &Call<'_>) -> Answer {
    named(call, true, |id| answered(shown(call, &id)))
}

pub(super) fn history(call: &Call<'_>) -> Answer {
    let most = number(call, "max_results").map_or(HISTORY_MAX, |most| (most as usize).clamp(1, HISTORY_MAX));
    let told = |id: &str| {
        let schedule = asked::known(call.instance, call.language, id)?;
        let entries = told::history(call.instance, call.language, (id, &schedule), most)?;
        let line = told::line(call.instance, call.language, id, &schedule)?;
        let metadata = json!({ "count": entries.len(), "schedule": line });
        Ok(json!({ "ok": true, "entries": entries, "metadata": metadata }))
    };
    named(call, true, |id| answered(told(&id)))
}

pub(super) fn list(call: &Call<'_>) -> Answer {
    let instance = call.instance;
    let schedules = instance.schedules();
    let mut entries = Vec::new();
    for (id, schedule) in &schedules.schedules {
        let is_kept = matches!(schedule.state, State::Active | State::Paused) && schedule.contract.kind != JOB;
        if !is_kept || !is_theirs(instance, schedule) {
            continue;
        }
        match told::line(instance, call.language, id, schedule) {
            Ok(line) => entries.push(line),
            Err(error) => return Answer::failure("operation_failed", &error.to_string()),
        }
    }
    entries.sort_by_key(|line| line["schedule_id"].as_str().and_then(|id| id.parse::<u64>().ok()));
    let metadata = json!({ "count": entries.len(), "serves": instance.scheduler.serves() });
    Answer::of(json!({ "ok": true, "entries": entries, "metadata": metadata }))
}

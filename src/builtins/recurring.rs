//! The seven builtins of what happens at times. They change schedules by the same functions as the command line; what is
//! due is fired by the daemon, and where none runs the answer says so.

use metnos_projections::machines::schedules::{Command, State};
use serde_json::{Value, json};

use super::{Answer, Call};
use crate::scheduler::asked::{self, AskError, Asked};
use crate::scheduler::delivery::CONSOLE;
use crate::scheduler::is_theirs;
use crate::scheduler::told;

/// The most outcomes that are told.
const HISTORY_MAX: usize = 20;

fn text(call: &Call<'_>, name: &str) -> Option<String> {
    call.args.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn number(call: &Call<'_>, name: &str) -> Option<u32> {
    call.args.get(name).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok())
}

fn answered(result: Result<Value, AskError>) -> Answer {
    match result {
        Ok(result) => Answer::of(result),
        Err(AskError::Refused(refused)) => Answer::failure(refused.class, refused.said.trim_end_matches('.')),
        Err(AskError::Instance(error)) => Answer::failure("operation_failed", &error.to_string()),
    }
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

pub(super) fn schedule(call: &Call<'_>) -> Answer {
    let opened = call.opened;
    let from = opened.map_or(CONSOLE, |opened| opened.channel.as_str());
    let asked = Asked {
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
    };
    answered(asked::create(call.instance, call.language, &asked).and_then(|id| shown(call, &id)))
}

/// The id of the schedule that is named.
fn named(call: &Call<'_>, any: bool) -> Result<String, AskError> {
    asked::meant(call.instance, call.language, &text(call, "name").unwrap_or_default(), any)
}

fn changed(call: &Call<'_>, command: impl FnOnce(String) -> Command) -> Answer {
    let done = named(call, false).and_then(|id| {
        asked::command(call.instance, call.language, &id, &command(id.clone()))?;
        shown(call, &id)
    });
    answered(done)
}

pub(super) fn cancel(call: &Call<'_>) -> Answer {
    changed(call, Command::Cancel)
}

pub(super) fn toggle(call: &Call<'_>) -> Answer {
    let paused = call.args.get("paused").and_then(Value::as_bool).unwrap_or(true);
    changed(call, if paused { Command::Pause } else { Command::Resume })
}

/// Claims a slot of now; the daemon carries it out beside this turn.
pub(super) fn run_now(call: &Call<'_>) -> Answer {
    changed(call, Command::RunNow)
}

pub(super) fn show(call: &Call<'_>) -> Answer {
    answered(named(call, true).and_then(|id| shown(call, &id)))
}

pub(super) fn history(call: &Call<'_>) -> Answer {
    let most = number(call, "max_results").map_or(HISTORY_MAX, |most| (most as usize).clamp(1, HISTORY_MAX));
    let told = named(call, true).and_then(|id| {
        let schedule = asked::known(call.instance, call.language, &id)?;
        let entries = told::history(call.instance, call.language, (&id, &schedule), most)?;
        let line = told::line(call.instance, call.language, &id, &schedule)?;
        let metadata = json!({ "count": entries.len(), "schedule": line });
        Ok(json!({ "ok": true, "entries": entries, "metadata": metadata }))
    });
    answered(told)
}

pub(super) fn list(call: &Call<'_>) -> Answer {
    let instance = call.instance;
    let schedules = instance.schedules();
    let mut entries = Vec::new();
    for (id, schedule) in &schedules.schedules {
        let is_kept = matches!(schedule.state, State::Active | State::Paused) && schedule.contract.kind != "job";
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

//! `metnos turn`: past turns, listed, searched and shown.

mod search;

use clap::Subcommand;
use metnos_log::{Event, Recorded, TurnId};
use metnos_projections::machines::turn::stream;
use metnos_projections::views::turns::Summary;
use serde_json::{Value, json};

use super::output::by;
use super::{Context, Failure, output};

/// Look at past turns.
#[derive(Subcommand, Debug)]
pub(super) enum Turn {
    /// The latest turns, newest last.
    List {
        /// How many.
        #[arg(long, default_value_t = 20)]
        last: usize,
    },
    Search(search::Search),
    /// One turn as a record.
    Show {
        /// Its id, or «last».
        #[arg(default_value = "last")]
        id: String,
    },
}

pub(super) fn run(context: &Context, command: &Turn) -> Result<u8, Failure> {
    match command {
        Turn::Search(command) => search::run(context, command),
        Turn::List { last } => {
            let instance = context.instance()?;
            let turns = instance.turns();
            shown(context, &instance, turns.iter().skip(turns.len().saturating_sub(*last)))
        }
        Turn::Show { id } => {
            let instance = context.instance()?;
            let (id, events) = events(&instance, id)?;
            let record = record(id, &events);
            if context.global.json {
                output::result_json(&record);
            } else {
                output::result(&super::replay::shown(context, &instance, &events));
            }
            Ok(0)
        }
    }
}

/// The turn of that name: its id, or «last».
pub(super) fn id(instance: &crate::instance::Instance, name: &str) -> Result<TurnId, Failure> {
    let turns = instance.turns();
    let found = match name {
        "last" => turns.last(),
        "" => return Err(Failure::refused(by("error.no_turn_name"), by("next.turns"))),
        other => other.parse().ok().filter(|id| turns.get(*id).is_some()),
    };
    let named = if name == "last" { "" } else { name };
    found
        .ok_or_else(|| Failure::refused(("error.no_turn", json!({ "id": output::short(named, 60) })), by("next.turns")))
}

/// The events of a turn, blobs fetched.
pub(super) fn events(instance: &crate::instance::Instance, name: &str) -> Result<(TurnId, Vec<Recorded>), Failure> {
    let id = id(instance, name)?;
    let reader = instance.log.reader();
    let events = reader.stream(&stream(id))?;
    let events = events.into_iter().map(|recorded| reader.rehydrated(recorded)).collect::<Result<Vec<_>, _>>()?;
    Ok((id, events))
}

/// Turns as a table, or as JSON lines.
fn shown<'t>(
    context: &Context,
    instance: &crate::instance::Instance,
    turns: impl Iterator<Item = (TurnId, Summary<'t>)>,
) -> Result<u8, Failure> {
    let reader = instance.log.reader();
    let mut rows = Vec::new();
    for (id, turn) in turns {
        let first = reader.event(turn.first_seq)?;
        let text = match first.as_ref().and_then(Recorded::event) {
            Some(Event::TurnOpened(opened)) => opened.text.clone(),
            _ => context.text(instance, "turns.erased", &json!({})),
        };
        if context.global.json {
            let mut line = serde_json::to_value(turn).unwrap_or_default();
            if let Some(line) = line.as_object_mut() {
                line.insert("turn_id".to_owned(), id.to_string().into());
                line.insert("user_query".to_owned(), text.into());
            }
            output::result_json(&line);
            continue;
        }
        let ended = turn.final_kind.unwrap_or("open");
        let ended = context.text(instance, "turns.ended", &json!({ "kind": ended, "class": turn.class }));
        rows.push(vec![
            id.to_string(),
            output::moment(turn.opened_at, &instance.settings.zone),
            ended,
            output::short(&text, 60),
        ]);
    }
    if !context.global.json {
        let text = if rows.is_empty() {
            context.text(instance, "turns.none", &json!({}))
        } else {
            let heading = |name: &str| context.text(instance, &format!("turns.heading_{name}"), &json!({}));
            let headings = ["turn", "when", "ended", "sentence"].map(heading);
            output::table(&headings.each_ref().map(String::as_str), &rows)
        };
        output::result(&text);
    }
    Ok(0)
}

/// The turn record of one turn's events.
pub(super) fn record(id: TurnId, events: &[Recorded]) -> Value {
    let mut record = json!({ "turn_id": id.to_string(), "steps": [] });
    for recorded in events {
        let Some(event) = recorded.event() else { continue };
        match event {
            Event::TurnOpened(opened) => {
                record["ts_start"] = timestamp(recorded.time.0);
                record["actor"] = recorded.actor.clone().into();
                record["channel"] = opened.channel.clone().into();
                record["user_query"] = opened.text.clone().into();
                record["mode"] = opened.mode.clone().into();
            }
            Event::TurnResumed(resumed) => record["completed_query"] = json!(resumed.text),
            Event::CandidatesRanked(ranked) => record["candidates"] = json!(ranked.tools),
            Event::PlanProposed(proposed) => {
                record["engine"] = proposed.engine.clone().into();
                record["plan"] = proposed.plan.value().unwrap_or_default();
            }
            Event::TurnClosed(closed) => {
                record["ts_end"] = timestamp(recorded.time.0);
                record["final_kind"] = closed.final_kind.clone().into();
                record["error_class"] = json!(closed.class);
                record["final_message"] = json!(closed.message.get());
                record["counts"] = json!(closed.counts);
            }
            Event::ModelAnswered(answered) => {
                let asked = json!({
                    "ask": answered.ask, "usage": answered.usage, "latency_ms": answered.duration_us / 1000,
                    "attempt": answered.attempt,
                });
                add(&mut record, "model", asked);
            }
            Event::ModelFailed(failed) => {
                let asked = json!({ "ask": failed.ask, "class": failed.class, "reason": failed.reason });
                add(&mut record, "model", asked);
            }
            Event::AnswerCorrected(corrected) => add(&mut record, "corrected", json!(corrected)),
            other => step_part(&mut record, other),
        }
    }
    record["ok"] = json!(record["final_kind"] == "answer");
    record
}

/// Adds what an event says about a step.
fn step_part(record: &mut Value, event: &Event) {
    let Some(steps) = record["steps"].as_array_mut() else { return };
    if let Event::StepProposed(proposed) = event {
        steps.push(json!({ "number": proposed.step, "tool": proposed.tool, "args": proposed.args.value() }));
        return;
    }
    let Some(step) = steps.last_mut() else { return };
    match event {
        Event::ArgumentsResolved(resolved) => {
            step["version"] = resolved.version.clone().into();
            step["resolved"] = resolved.args.value().unwrap_or_default();
            step["provenance"] = resolved.provenance.0.clone();
            step["checks"] = json!(resolved.checks);
        }
        Event::VerdictGiven(verdict) => {
            add(step, "verdicts", json!(verdict));
        }
        Event::StepRefused(refused) => step["refused"] = json!(refused),
        Event::InvocationFinished(finished) => {
            step["ok"] = finished.ok.into();
            step["error_class"] = json!(finished.class);
            step["result"] = finished.result.value().unwrap_or_default();
            step["cage"] = finished.cage.0.clone();
            step["connections"] = finished.connections.0.clone();
            step["duration_ms"] = (finished.duration_us / 1000).into();
        }
        Event::EffectsPlanned(planned) => step["effects"] = planned.ops.value().unwrap_or_default(),
        Event::EffectCommitted(committed) => {
            let outcome =
                json!({ "index": committed.index, "outcome": committed.outcome, "failure": committed.failure });
            add(step, "outcomes", outcome);
        }
        Event::EffectsCommitted(committed) => add(step, "outcomes", json!(committed)),
        Event::ObservationKept(kept) if kept.scratchpad.is_some() => step["scratchpad_id"] = json!(kept.scratchpad),
        _ => {}
    }
}

/// One more in a list of the record.
fn add(record: &mut Value, name: &str, value: Value) {
    match record.get_mut(name).and_then(Value::as_array_mut) {
        Some(values) => values.push(value),
        None => record[name] = json!([value]),
    }
}

fn timestamp(micros: i64) -> Value {
    jiff::Timestamp::from_microsecond(micros).map(|time| format!("{time:.3}").into()).unwrap_or_default()
}

//! Schedules as they are told: their words, their moments, their history.

use metnos_log::{Event, Kept};
use metnos_projections::machines::schedules::{Schedule, stream, task};
use metnos_projections::machines::turn::Phase;
use metnos_projections::messages::Language;
use metnos_projections::rules::cadence::{self, Zone};
use serde_json::{Value, json};

use super::named;
use crate::engine;
use crate::instance::{Instance, InstanceError};

/// What a schedule does, as it was asked for; empty when the words were erased.
pub fn what(instance: &Instance, schedule: &Schedule) -> Result<String, InstanceError> {
    let reader = instance.log.reader();
    let Some(recorded) = reader.event(schedule.said_at)? else { return Ok(String::new()) };
    let recorded = reader.rehydrated(recorded)?;
    let text = |kept: &Kept| kept.get().unwrap_or_default().to_owned();
    Ok(match recorded.event() {
        Some(Event::ScheduleCreated(created)) => text(&created.what),
        Some(Event::ScheduleModified(modified)) => text(&modified.what),
        _ => String::new(),
    })
}

/// A moment as a schedule's zone shows it.
pub fn moment(instance: &Instance, language: Language, schedule: &Schedule, micros: i64) -> String {
    match Zone::named(&schedule.contract.zone) {
        Ok(zone) => cadence::moment(&instance.rules.messages, language, micros, &zone),
        Err(_) => jiff::Timestamp::from_microsecond(micros).unwrap_or_default().to_string(),
    }
}

/// A schedule in the words of a language, and for programs.
pub fn line(instance: &Instance, language: Language, id: &str, schedule: &Schedule) -> Result<Value, InstanceError> {
    let contract = &schedule.contract;
    let firings = schedule.firings(3);
    let shown = |micros: i64| moment(instance, language, schedule, micros);
    let stamp = |micros: i64| jiff::Timestamp::from_microsecond(micros).unwrap_or_default().to_string();
    Ok(json!({
        "schedule_id": id,
        "what": said(instance, schedule)?,
        "kind": contract.kind,
        "actor": schedule.actor,
        "state": schedule.state.name(),
        "cadence": contract.cadence,
        "words": contract.words.get(language.code()).cloned().unwrap_or_else(|| contract.cadence.clone()),
        "zone": contract.zone,
        "other_zone": named::other_zone(instance, schedule),
        "asks_minutes": contract.asks_s.map(|seconds| seconds.div_ceil(60)),
        "waits": is_asking(instance, schedule)?,
        "zone_version": contract.zone_version,
        "next_fire": firings.first().copied().map(stamp),
        "next": firings.iter().copied().map(shown).collect::<Vec<_>>(),
        "created_at": stamp(schedule.created_at),
        "fired": schedule.fired,
        "missed": schedule.missed,
        "failures": schedule.failures,
        "running": schedule.fire.is_some(),
        "last": schedule.last.as_ref().map(|last| json!({ "slot": shown(last.slot), "outcome": last.outcome })),
        "count": contract.count,
        "until": contract.until.map(shown),
        "on_failure": contract.on_failure,
        "max_consecutive_failures": contract.failures_max,
        "grace_window_minutes": contract.grace_s / 60,
        "delivery_channel": contract.channel,
    }))
}

/// What a schedule does, for people.
pub fn said(instance: &Instance, schedule: &Schedule) -> Result<String, InstanceError> {
    Ok(task::said(&schedule.contract.kind, &what(instance, schedule)?))
}

/// Whether what runs is a question that waits for an answer.
fn is_asking(instance: &Instance, schedule: &Schedule) -> Result<bool, InstanceError> {
    let Some(fire) = &schedule.fire else { return Ok(false) };
    let has_begun = instance.turns().get(fire.turn()).is_some();
    Ok(has_begun && engine::folded(instance, fire.turn())?.phase == Phase::Asking)
}

/// What came of each slot, the newest last, at most `most`.
pub fn history(
    instance: &Instance,
    language: Language,
    (id, schedule): (&str, &Schedule),
    most: usize,
) -> Result<Vec<Value>, InstanceError> {
    let reader = instance.log.reader();
    let shown = |micros: i64| moment(instance, language, schedule, micros);
    let mut lines: Vec<Value> = Vec::new();
    for recorded in reader.stream(&stream(id))? {
        let recorded = reader.rehydrated(recorded)?;
        let line = match recorded.event() {
            Some(Event::SlotSettled(settled)) if settled.again.is_none() => json!({
                "slot": shown(settled.slot), "outcome": settled.outcome, "class": settled.class,
                "message": settled.message.get().unwrap_or_default(), "attempt": settled.attempt,
                "fire": settled.fire, "count": 1, "at": shown(recorded.time.0),
            }),
            Some(Event::SlotMissed(missed)) if missed.verdict != "late" => json!({
                "slot": shown(missed.slot), "last": shown(missed.last), "outcome": "missed", "class": missed.verdict,
                "message": "", "count": missed.count, "more": missed.is_more, "at": shown(recorded.time.0),
            }),
            _ => continue,
        };
        lines.push(line);
    }
    let left_out = lines.len().saturating_sub(most);
    Ok(lines.split_off(left_out))
}

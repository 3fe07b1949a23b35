//! Hands results over: the one seam between schedules and channels.
//!
//! What a slot had to tell stays untold until a channel has taken it for good, or until it was shown at the console; a kill
//! between the two tells it again at worst, never not at all.

use metnos_log::{Event, Recorded};
use metnos_projections::machines::actors::{HOST, SYSTEM};
use metnos_projections::machines::schedules::{Command, Schedules, State, Untold};
use metnos_projections::messages::Language;
use serde_json::json;

use super::{change, told};
use crate::channel::outbox;
use crate::instance::{Instance, InstanceError};

/// The channel that shows what is untold at the next command.
pub const CONSOLE: &str = "console";

/// Gives a text to a channel, for good: once this is `true`, the channel brings it. `said_by` is the event that it is for;
/// given the same one again, a channel brings it once.
fn take(instance: &Instance, untold: &Untold, said_by: &Recorded, text: &str) -> bool {
    let Some(address) = &untold.address else { return false };
    // Whoever has no address there any more is told nothing there.
    let schedules = instance.schedules();
    let actors = instance.actors();
    let whose = schedules.get(&untold.schedule).map(|schedule| schedule.actor.as_str());
    let actor = whose.and_then(|actor| actors.get(if actor == SYSTEM { HOST } else { actor }));
    // Nor is anyone at an address that was taken from them, though they have another.
    if !actor.is_some_and(|actor| actor.addresses.contains(&(untold.channel.clone(), address.clone()))) {
        return false;
    }
    match outbox::queue(instance, &untold.channel, address, text, Some(said_by.id)) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, schedule = untold.schedule, "a result is handed over later");
            false
        }
    }
}

/// Hands over what is untold on every channel but the console, which asks for its own.
pub(super) fn hand_over(instance: &Instance) -> Result<(), InstanceError> {
    let waiting: Vec<Untold> = {
        let schedules = instance.schedules();
        schedules.untold.values().flatten().filter(|untold| untold.channel != CONSOLE).cloned().collect()
    };
    for untold in waiting {
        let Some((said_by, text)) = said(instance, &untold)? else { continue };
        if take(instance, &untold, &said_by, &text) {
            deliver(instance, &untold)?;
        }
    }
    Ok(())
}

/// What whoever asks has not been told yet at the console, the oldest first, as texts.
pub fn untold(instance: &Instance) -> Result<Vec<(Untold, String)>, InstanceError> {
    let waiting = instance.schedules().untold_of(&instance.actor, CONSOLE);
    let mut texts = Vec::new();
    for untold in waiting {
        if let Some((_, text)) = said(instance, &untold)? {
            texts.push((untold, text));
        }
    }
    Ok(texts)
}

/// Notes that something was told.
pub fn deliver(instance: &Instance, untold: &Untold) -> Result<(), InstanceError> {
    let Untold { schedule, slot, channel, .. } = untold.clone();
    // Whoever was faster has told it too.
    change(instance, &Command::Deliver { schedule, slot, channel }).map(|_| ())
}

/// The event that has something to tell, and what.
fn said(instance: &Instance, untold: &Untold) -> Result<Option<(Recorded, String)>, InstanceError> {
    let reader = instance.log.reader();
    let Some(recorded) = reader.event(untold.seq)? else { return Ok(None) };
    let recorded = reader.rehydrated(recorded)?;
    let schedules: &Schedules = &instance.schedules();
    let Some(schedule) = schedules.get(&untold.schedule) else { return Ok(None) };
    let language = Language::parse(&schedule.contract.language).unwrap_or_default();
    let shown = |micros: i64| told::moment(instance, language, schedule, micros);
    let mut last = String::new();
    let (key, message) = match recorded.event() {
        Some(Event::SlotSettled(settled)) => {
            let key = if settled.outcome == "done" { "schedule.result" } else { "schedule.failed" };
            (key, settled.message.get().unwrap_or_default().to_owned())
        }
        Some(Event::SlotMissed(missed)) => {
            last = shown(missed.last);
            ("schedule.missed", String::new())
        }
        _ => return Ok(None),
    };
    let what = told::said(instance, schedule)?;
    let values = json!({
        "schedule": untold.schedule,
        "kind": schedule.contract.kind,
        "what": crate::why::short(&what, 120),
        "when": shown(untold.slot),
        "message": message,
        "count": untold.missed,
        "last": last,
        "next": schedule.next.filter(|_| schedule.state == State::Active).map(shown),
        "is_paused": schedule.state == State::Paused && schedule.failures >= schedule.contract.failures_max,
        "failures": schedule.failures,
    });
    Ok(Some((recorded, instance.rules.messages.say(language, key, values))))
}

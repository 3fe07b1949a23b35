//! Hands results over: the one seam between schedules and channels.
//!
//! What a slot had to tell stays untold until a channel has taken it for good, or until it was shown at the console; a kill
//! between the two tells it again at worst, never not at all.

use metnos_log::{Event, Recorded};
use metnos_projections::machines::actors::{Actors, HOST, SYSTEM};
use metnos_projections::machines::schedules::{Command, DECLINED, Schedules, State, Untold};
use metnos_projections::messages::Language;
use serde_json::json;

use super::asked::CHANNELS;
use super::{change, told};
use crate::channel::outbox;
use crate::instance::{Instance, InstanceError};

/// The channel that shows what is untold at the next command.
pub const CONSOLE: &str = "console";

/// Gives a text to a channel, for good: once this is `true`, the channel brings it. `said_by` is the event that it is for;
/// given the same one again, a channel brings it once.
fn take(instance: &Instance, untold: &Untold, said_by: &Recorded, text: &str) -> bool {
    let schedules = instance.schedules();
    let whose = schedules.get(&untold.schedule).map(|schedule| schedule.actor.as_str());
    let Some(whose) = whose.map(|actor| if actor == SYSTEM { HOST } else { actor }) else { return false };
    let Some(address) = address(&instance.actors(), whose, untold) else { return false };
    match outbox::queue(instance, &untold.channel, &address, text, Some(said_by.id)) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, schedule = untold.schedule, "a result is handed over later");
            false
        }
    }
}

/// Where a person is told something: where they wanted it, if that is theirs; else at another address of theirs there. What
/// was asked for in a group is theirs alone, and an address that was taken from them is not.
fn address(actors: &Actors, actor: &str, untold: &Untold) -> Option<String> {
    let own = &actors.get(actor)?.addresses;
    let wanted = untold.address.clone().filter(|address| own.contains(&(untold.channel.clone(), address.clone())));
    let other = || own.iter().find(|(channel, _)| *channel == untold.channel).map(|(_, address)| address.clone());
    wanted.or_else(other)
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

/// What whoever asks has not been told yet and is told at the console, the oldest first, as texts: what was to come there,
/// and what was to come where they have no address any more.
pub fn untold(instance: &Instance) -> Result<Vec<(Untold, String)>, InstanceError> {
    let schedules = instance.schedules();
    let mut waiting = schedules.untold_of(&instance.actor, CONSOLE);
    for channel in CHANNELS {
        let unreached = schedules.untold_of(&instance.actor, channel);
        let actors = instance.actors();
        waiting.extend(unreached.into_iter().filter(|untold| address(&actors, &instance.actor, untold).is_none()));
    }
    waiting.sort_by_key(|untold| untold.seq);
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
            let key = match settled.outcome.as_str() {
                "done" | DECLINED => "schedule.result",
                _ => "schedule.failed",
            };
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

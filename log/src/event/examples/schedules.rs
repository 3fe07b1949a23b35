//! Payloads of schedules and their slots.

use super::super::Event;
use super::super::schedule::{
    Contract, ScheduleCancelled, ScheduleCompleted, ScheduleCreated, ScheduleModified, SchedulePaused, ScheduleResumed,
    SlotClaimed, SlotDelivered, SlotMissed, SlotSettled, SlotsReaimed,
};
use super::text;
use crate::kept::Kept;

pub(super) fn examples() -> Vec<Event> {
    let (schedule, fire) = (text("3"), text("a3f1c2d4e5f60718"));
    let (slot, next) = (1_700_006_400_000_000, Some(1_700_092_800_000_000));
    let contract = Contract {
        kind: text("sentence"),
        cadence: text("0 8 * * *"),
        anchor: 1_700_000_000_000_000,
        words: [(text("en"), text("every day at 08:00")), (text("it"), text("ogni giorno alle 08:00"))].into(),
        zone: text("Europe/Rome"),
        zone_version: text("2026c"),
        next: Some(slot),
        count: Some(5),
        until: None,
        on_failure: text("notify"),
        failures_max: 3,
        grace_s: 600,
        timeout_s: 900,
        channel: text("telegram"),
        address: Some(text("42")),
        language: text("en"),
        folder: text("/home/owner"),
        asks_s: None,
    };
    let what = Kept::text("tell me how many files are in ~/inbox");
    let turn = Some(text("01ARZ3NDEKTSV4RRFFQ69G5FAV"));
    let created = ScheduleCreated { schedule: schedule.clone(), what: what.clone(), contract: contract.clone(), turn };
    let settled = SlotSettled {
        schedule: schedule.clone(),
        slot,
        fire: fire.clone(),
        attempt: 1,
        outcome: text("failed"),
        class: Some(text("not_found")),
        message: Kept::text("There is no ~/inbox."),
        is_told: true,
        again: Some(slot + 60_000_000),
    };
    let missed = SlotMissed {
        schedule: schedule.clone(),
        slot,
        last: slot,
        count: 1,
        is_more: false,
        verdict: text("skip"),
        is_told: false,
        next,
    };
    vec![
        created.into(),
        ScheduleModified { schedule: schedule.clone(), what, contract }.into(),
        SchedulePaused { schedule: schedule.clone(), by: text("person") }.into(),
        ScheduleResumed { schedule: schedule.clone(), next }.into(),
        ScheduleCancelled { schedule: schedule.clone(), by: text("person") }.into(),
        ScheduleCompleted { schedule: schedule.clone() }.into(),
        SlotsReaimed { schedule: schedule.clone(), next: slot, taken: vec![slot + 86_400_000_000] }.into(),
        SlotClaimed { schedule: schedule.clone(), slot, fire, by: text("due"), next }.into(),
        settled.into(),
        missed.into(),
        SlotDelivered { schedule, slot, channel: text("console") }.into(),
    ]
}

/// The same with the fields that came later.
pub(super) fn grown() -> Vec<Event> {
    let asks = |contract: Contract| Contract { asks_s: Some(43_200), ..contract };
    let grown = examples().into_iter().filter_map(|event| match event {
        Event::ScheduleCreated(created) => {
            Some(ScheduleCreated { contract: asks(created.contract.clone()), ..created }.into())
        }
        Event::ScheduleModified(modified) => {
            Some(ScheduleModified { contract: asks(modified.contract.clone()), ..modified }.into())
        }
        _ => None,
    });
    grown.collect()
}

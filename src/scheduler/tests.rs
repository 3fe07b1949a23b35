//! The scheduler over a real log, months in a moment: `tick` is given the time.

use std::time::Duration;

use metnos_log::event::schedule::{Contract, SlotClaimed};
use metnos_log::{Append, AppendError, Expect, Micros};
use metnos_projections::machines::schedules::{Fire, State, fire_of};
use metnos_projections::rules::cadence::{Cadence, Zone};

use super::*;
use crate::config::{Flags, Variables};
use crate::sandbox::CancelFlag;

const DAY: i64 = 86_400_000_000;

fn opened(folder: &std::path::Path) -> Instance {
    let variables = Variables { user_home: Some(folder.to_owned()), ..Variables::default() };
    let home = folder.join("instance");
    Instance::open(Some(&home), &Flags::default(), &variables, Duration::ZERO).unwrap()
}

/// A reminder at noon, first due after `from`.
fn reminder(instance: &Instance, from: i64, on_failure: &str) -> String {
    let contract = Contract {
        kind: "reminder".to_owned(),
        cadence: "0 12 * * *".to_owned(),
        anchor: from,
        zone: "Europe/Rome".to_owned(),
        on_failure: on_failure.to_owned(),
        failures_max: 3,
        timeout_s: 60,
        channel: delivery::CONSOLE.to_owned(),
        ..Contract::default()
    };
    let mut id = String::new();
    let actor = instance.actor.clone();
    let what = "water the plants".to_owned();
    let create = Command::Create { actor, job: None, what, contract: Box::new(contract), turn: None };
    instance
        .append_decided(|projected| {
            let (made, events) = schedules::decide(&projected.schedules, create.clone(), Micros(from))?;
            id.clone_from(&made);
            Ok::<_, Rejection>(drafts(&instance.actor, &made, events))
        })
        .unwrap()
        .unwrap();
    id
}

fn up(instance: &Instance, id: &str) -> Option<Fire> {
    instance.schedules().get(id).unwrap().fire.clone()
}

fn carried_out(instance: &Instance, id: &str) {
    let stopping = Stopping::by(CancelFlag::new().unwrap());
    if let Some(fire) = up(instance, id) {
        carry_out(instance, id, &fire, &stopping).unwrap();
    }
}

#[test]
fn ninety_days_are_ninety_fires_whatever_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut instance = opened(folder.path());
    // The clocks change within.
    let start = "2026-02-01T00:00:00Z".parse::<jiff::Timestamp>().unwrap().as_microsecond();
    let id = reminder(&instance, start, "notify");
    let rome = Zone::named("Europe/Rome").unwrap();
    let slots = Cadence::read("0 12 * * *", &rome).unwrap().firings(start, start, &rome, 90);
    for (day, slot) in slots.iter().enumerate() {
        assert_eq!(tick(&instance, slot - 1).unwrap(), Tick::default());
        assert_eq!(tick(&instance, *slot).unwrap(), Tick { taken: 1, refused: 0 });
        assert_eq!(tick(&instance, slot + 1).unwrap(), Tick::default(), "two ticks in one slot");
        if day % 3 == 0 {
            // What a kill leaves is what the log has.
            drop(instance);
            instance = opened(folder.path());
            assert_eq!(tick(&instance, slot + 2).unwrap(), Tick::default());
        }
        carried_out(&instance, &id);
        carried_out(&instance, &id);
        assert_eq!(up(&instance, &id), None);
    }
    let schedule = instance.schedules().get(&id).unwrap().clone();
    assert_eq!((schedule.fired, schedule.missed, schedule.state), (90, 0, State::Active));
    let history = told::history(&instance, instance.language(), (&id, &schedule), 1000).unwrap();
    assert_eq!(history.len(), 90);
    assert!(history.iter().all(|line| line["outcome"] == "done" && line["message"] == "water the plants"));
    let untold = delivery::untold(&instance).unwrap();
    assert_eq!(untold.len(), 90);
    assert_eq!(untold[0].1, "Reminder (Sun 2026-02-01 12:00): water the plants");
    for (untold, _) in &untold {
        delivery::deliver(&instance, untold).unwrap();
        delivery::deliver(&instance, untold).unwrap();
    }
    assert!(delivery::untold(&instance).unwrap().is_empty());
}

#[test]
fn the_log_refuses_a_second_claim_of_a_slot() {
    let folder = tempfile::tempdir().unwrap();
    let instance = opened(folder.path());
    let id = reminder(&instance, 0, "notify");
    let slot = instance.schedules().get(&id).unwrap().next.unwrap();
    tick(&instance, slot).unwrap();
    // Decided by whoever does not know of the first.
    let claim = SlotClaimed {
        schedule: id.clone(),
        slot,
        fire: fire_of(&id, slot),
        by: "late".to_owned(),
        next: Some(slot + DAY),
    };
    let events = drafts(&instance.actor, &id, vec![claim.into()]);
    let refused = instance.log.append(Append { events, expect: Expect::Any });
    assert!(matches!(refused, Err(AppendError::IdTaken { .. })), "{refused:?}");
}

#[test]
fn schedules_are_each_persons_own() {
    let folder = tempfile::tempdir().unwrap();
    let host = opened(folder.path());
    let guest = host.as_actor("guest_1");
    let (of_host, of_guest) = (reminder(&host, now().0, "skip"), reminder(&guest, now().0, "skip"));
    let language = host.language();
    assert!(asked::known(&host, language, &of_guest).is_ok());
    assert!(asked::known(&guest, language, &of_guest).is_ok());
    let refused = asked::command(&guest, language, &of_host, &Command::Cancel(of_host.clone())).unwrap_err();
    assert!(refused.to_string().contains("no task"), "{refused}");
    assert!(asked::meant(&guest, language, "plants", false).is_ok_and(|id| id == of_guest));
    let both = asked::meant(&host, language, "the plants", false).unwrap_err().to_string();
    assert!(both.contains("1. water the plants") && both.contains("2. water the plants"), "{both}");
}

#[test]
fn a_job_that_a_kill_cut_off_is_in_doubt_and_comes_round_again() {
    let folder = tempfile::tempdir().unwrap();
    let instance = opened(folder.path());
    jobs::install_missing(&instance).unwrap();
    jobs::install_missing(&instance).unwrap();
    let id = "checkpoints".to_owned();
    let slot = instance.schedules().get(&id).unwrap().next.unwrap();
    tick(&instance, slot).unwrap();
    drop(instance);
    let instance = opened(folder.path());
    carried_out(&instance, &id);
    let schedule = instance.schedules().get(&id).unwrap().clone();
    assert_eq!(schedule.last.as_ref().map(|last| last.outcome.as_str()), Some("in_doubt"));
    let next = schedule.next.unwrap();
    tick(&instance, next).unwrap();
    carried_out(&instance, &id);
    let schedule = instance.schedules().get(&id).unwrap().clone();
    assert_eq!(schedule.last.as_ref().map(|last| last.outcome.as_str()), Some("done"));
    assert!(folder.path().join("instance/data/projections/schedules.jsonl").exists());
}

#[test]
fn what_was_ended_before_it_began_does_not_begin() {
    let folder = tempfile::tempdir().unwrap();
    let instance = opened(folder.path());
    let id = reminder(&instance, now().0, "notify");
    change(&instance, &Command::RunNow(id.clone())).unwrap().unwrap();
    change(&instance, &Command::Cancel(id.clone())).unwrap().unwrap();
    carried_out(&instance, &id);
    let schedules = instance.schedules();
    let ended = schedules.get(&id).unwrap();
    assert_eq!((ended.state, &ended.fire), (State::Cancelled, &None));
    assert_eq!(ended.last.as_ref().map(|last| last.outcome.as_str()), Some("failed"));
}

//! The scheduler over a real log, months in a moment: `tick` is given the time.

use std::time::Duration;

use metnos_log::event::schedule::{Contract, ScheduleCancelled, SlotClaimed};
use metnos_log::{Append, AppendError, Expect, Micros};
use metnos_projections::machines::schedules::{Fire, State, fire_of};
use metnos_projections::rules::cadence::{Cadence, Zone};

use metnos_projections::machines::turn::{Phase, Turn};

use super::*;
use crate::config::{Flags, Variables};
use crate::conversation::{self, Fit};
use crate::engine::{self, Reply, Request};
use crate::sandbox::CancelFlag;

const DAY: i64 = 86_400_000_000;

fn opened(folder: &std::path::Path) -> Instance {
    let variables = Variables { user_home: Some(folder.to_owned()), ..Variables::default() };
    let home = folder.join("instance");
    Instance::open(Some(&home), &Flags::default(), &variables, Duration::ZERO).unwrap()
}

/// A reminder at noon, first due after `from`.
fn reminder(instance: &Instance, from: i64, on_failure: &str) -> String {
    reminder_at(instance, from, on_failure, (delivery::CONSOLE, None))
}

/// The same, told elsewhere.
fn reminder_at(instance: &Instance, from: i64, on_failure: &str, (channel, address): (&str, Option<&str>)) -> String {
    let contract = Contract {
        kind: "reminder".to_owned(),
        cadence: "0 12 * * *".to_owned(),
        anchor: from,
        zone: "Europe/Rome".to_owned(),
        on_failure: on_failure.to_owned(),
        failures_max: 3,
        timeout_s: 60,
        channel: channel.to_owned(),
        address: address.map(str::to_owned),
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
    assert!(named::the_one(&guest, language, "plants", false).is_ok_and(|id| id == of_guest));
    let both = named::the_one(&host, language, "the plants", false).unwrap_err().to_string();
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

/// Carries a sentence out with everything agreed to; its questions can be answered.
fn said(instance: &Instance, text: &str) -> Turn {
    let request = Request {
        text: text.to_owned(),
        approve: "all".to_owned(),
        folder: instance.dirs.user_home.clone(),
        channel: delivery::CONSOLE.to_owned(),
        dialogs: true,
        ..Request::default()
    };
    let turn = engine::run(instance, &engine::Absent, CancelFlag::new().unwrap(), &request).unwrap();
    instance.catch_up().unwrap();
    turn
}

/// The same for an answer to the question that it put.
fn replied(instance: &Instance, turn: Turn, answer: &str) -> Turn {
    let fits = conversation::fit(instance, &instance.dirs.user_home, &turn, answer).unwrap();
    assert_eq!(fits, Fit::Answer, "{answer}");
    let reply = Reply::Answered { answer: answer.to_owned(), channel: delivery::CONSOLE.to_owned() };
    let (cancel, id) = (CancelFlag::new().unwrap(), turn.id.unwrap());
    let turn = engine::reply(instance, &engine::Absent, cancel, (id, turn), (&reply, None)).unwrap();
    instance.catch_up().unwrap();
    turn
}

#[test]
fn which_of_several_is_meant_is_answered_by_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let instance = opened(folder.path());
    crate::builtins::install_missing(&instance).unwrap();
    for _ in 0..3 {
        reminder(&instance, now().0, "notify");
    }
    change(&instance, &Command::Cancel("1".to_owned())).unwrap().unwrap();
    for (sentence, again) in [("stop the plants task", "none of them"), ("annulla l'attività «plants»", "nessuna")] {
        let turn = said(&instance, sentence);
        assert_eq!(turn.phase, Phase::Waiting, "{:?}", turn.message);
        let question = turn.message.clone().unwrap();
        assert!(question.contains("\n  2. water the plants (") && question.contains("\n  3. "), "{question}");
        // «1» is no place in the list: there is no such task any more.
        let asked_again = replied(&instance, turn, "1");
        assert_eq!(asked_again.phase, Phase::Waiting);
        assert!(asked_again.message.as_ref().is_some_and(|said| said.contains(again)), "{:?}", asked_again.message);
        let turn = replied(&instance, asked_again, "3");
        assert_eq!(turn.final_kind.as_deref(), Some("answer"), "{:?}", turn.message);
        assert!(turn.message.unwrap().contains("water the plants"));
        assert_eq!(instance.schedules().get("3").unwrap().state, State::Cancelled);
        let undone = said(&instance, "undo");
        assert_eq!(undone.final_kind.as_deref(), Some("answer"), "{:?}", undone.message);
        assert_eq!(instance.schedules().get("3").unwrap().state, State::Active);
    }
    assert_eq!(instance.schedules().get("2").unwrap().state, State::Active);
}

#[test]
fn jobs_follow_the_zone_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let at = |zone: &str| {
        let variables = Variables {
            user_home: Some(folder.path().to_owned()),
            zone: Some(zone.to_owned()),
            ..Variables::default()
        };
        let home = folder.path().join("instance");
        let instance = Instance::open(Some(&home), &Flags::default(), &variables, Duration::ZERO).unwrap();
        jobs::install_missing(&instance).unwrap();
        instance
    };
    let zone_of = |instance: &Instance| instance.schedules().get("checkpoints").unwrap().contract.zone.clone();
    let instance = at("UTC");
    assert_eq!(zone_of(&instance), "UTC");
    let id = || "checkpoints".to_owned();
    change(&instance, &Command::Pause(id())).unwrap().unwrap();
    drop(instance);
    let instance = at("Asia/Tokyo");
    assert_eq!(zone_of(&instance), "Asia/Tokyo");
    let paused = instance.schedules().get("checkpoints").unwrap().clone();
    assert_eq!(paused.state, State::Paused, "a pause stays");
    // An earlier release let a person end it.
    let events = vec![ScheduleCancelled { schedule: id(), by: "person".to_owned() }.into()];
    let appended = instance.append_decided(|_| Ok::<_, Rejection>(drafts(&instance.actor, "checkpoints", events)));
    appended.unwrap().unwrap();
    assert_eq!(instance.schedules().get("checkpoints").unwrap().state, State::Cancelled);
    drop(instance);
    let instance = at("Asia/Tokyo");
    let events = instance.log.head().size;
    assert_eq!(instance.schedules().get("checkpoints").unwrap().state, State::Active);
    jobs::install_missing(&instance).unwrap();
    assert_eq!(instance.log.head().size, events, "nothing was to be done");
    assert_eq!(change(&instance, &Command::Cancel(id())).unwrap(), Err(Rejection::Job(id())));
}

#[test]
fn who_has_no_address_any_more_is_told_at_the_console() {
    use metnos_projections::machines::actors::{Command as People, HOST};
    let folder = tempfile::tempdir().unwrap();
    let instance = opened(folder.path());
    let code = |address: &str| {
        let code = crate::pairing::issue(&instance, HOST, None).unwrap();
        crate::pairing::redeem(&instance, &code.text, "telegram", address).unwrap();
    };
    let outgoing = || {
        let channels = instance.projected().channels;
        channels.get("telegram").outbox.values().map(|message| message.address.clone()).collect::<Vec<_>>()
    };
    // Asked for in a group: told where they are alone with it.
    code("42");
    let id = reminder_at(&instance, 0, "notify", ("telegram", Some("-9")));
    let fire = || {
        let slot = instance.schedules().get(&id).unwrap().next.unwrap();
        tick(&instance, slot).unwrap();
        carried_out(&instance, &id);
        delivery::hand_over(&instance).unwrap();
    };
    fire();
    assert_eq!(outgoing(), ["42"]);
    assert!(delivery::untold(&instance).unwrap().is_empty());
    let revoke = People::Unbind { channel: "telegram".to_owned(), address: "42".to_owned() };
    instance.change_actors(revoke).unwrap().unwrap();
    fire();
    // What was on its way there is not said there any more.
    assert_eq!((outgoing().len(), delivery::untold(&instance).unwrap().len()), (0, 1));
    code("43");
    delivery::hand_over(&instance).unwrap();
    assert_eq!((outgoing(), delivery::untold(&instance).unwrap().len()), (vec!["43".to_owned()], 0));
}

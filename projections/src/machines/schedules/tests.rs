//! Given, when, then.

use metnos_log::event::schedule::ScheduleCancelled;

use super::*;
use crate::projection;

const MINUTE: i64 = 60_000_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// 2026-11-22 00:00 UTC.
pub(super) const START: i64 = 1_795_305_600_000_000;

pub(super) fn recorded(seq: u64, time: i64, event: Event) -> Recorded {
    let id = id_of(&event);
    let made = projection::recorded(seq, time, event);
    Recorded { id: id.unwrap_or(made.id), ..made }
}

pub(super) fn contract(cadence: &str) -> Contract {
    Contract {
        kind: "sentence".to_owned(),
        cadence: cadence.to_owned(),
        anchor: START,
        zone: "UTC".to_owned(),
        on_failure: "notify".to_owned(),
        failures_max: 3,
        channel: "console".to_owned(),
        ..Contract::default()
    }
}

pub(super) fn create(contract: Contract) -> Command {
    let (actor, what) = (HOST.to_owned(), "say hello".to_owned());
    Command::Create { actor, job: None, what, contract: Box::new(contract), turn: None }
}

/// Carries commands out at their moments.
fn after(given: &[(i64, Command)]) -> Schedules {
    let (mut schedules, mut seq) = (Schedules::default(), 0);
    for (time, command) in given {
        let (_, events) = decide(&schedules, command.clone(), Micros(*time)).unwrap();
        for event in events {
            seq += 1;
            schedules.evolve(&recorded(seq, *time, event));
        }
    }
    schedules
}

fn told(events: &[Event]) -> Vec<String> {
    let day = |micros: i64| (micros - START) / HOUR;
    let next = |next: Option<i64>| next.map_or("-".to_owned(), |next| day(next).to_string());
    let tell = |event: &Event| match Some(event) {
        Some(Event::SlotClaimed(e)) => format!("claimed {} {} next {}", e.by, day(e.slot), next(e.next)),
        Some(Event::SlotMissed(e)) => {
            let more = if e.is_more { "+" } else { "" };
            format!("missed {} {}..{} {}{more} next {}", e.verdict, day(e.slot), day(e.last), e.count, next(e.next))
        }
        Some(Event::SlotSettled(e)) => {
            let again = if e.again.is_some() { " again" } else { "" };
            format!("settled {} {}{}{again}", e.attempt, e.outcome, if e.is_told { " told" } else { "" })
        }
        _ => event.label().to_owned(),
    };
    events.iter().map(tell).collect()
}

/// Moments are hours since [`START`].
#[track_caller]
fn check(given: &[(i64, Command)], (at, when): (i64, Command), then: Result<&[&str], &Rejection>) {
    let decided = decide(&after(given), when, Micros(at));
    let decided = decided.map(|(_, events)| told(&events));
    let found = decided.as_ref().map(|told| told.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(found, then.map(<[_]>::to_vec));
}

fn claim() -> Command {
    Command::Claim("1".to_owned())
}

fn settle(slot: i64, attempt: u32, outcome: Outcome) -> Command {
    Command::Settle { schedule: "1".to_owned(), fire: fire_of("1", slot), attempt, outcome }
}

fn done() -> Outcome {
    Outcome::Done { message: "hello".to_owned() }
}

fn failed() -> Outcome {
    Outcome::Failed { class: "timeout".to_owned(), message: "It took too long.".to_owned(), is_repeatable: true }
}

fn daily() -> (i64, Command) {
    (START, create(contract("0 8 * * *")))
}

#[test]
fn a_slot_is_claimed_once() {
    let eight = START + 8 * HOUR;
    check(&[daily()], (eight, claim()), Ok(&["claimed due 8 next 32"]));
    check(&[daily(), (eight, claim())], (eight, claim()), Err(&Rejection::NotDue("1".to_owned())));
    check(&[daily()], (eight - 1, claim()), Err(&Rejection::NotDue("1".to_owned())));
    // A clock that goes back a year finds nothing to do.
    check(&[daily(), (eight, claim())], (eight - 365 * DAY, claim()), Err(&Rejection::NotDue("1".to_owned())));
    let ended = [daily(), (eight, claim()), (eight, settle(eight, 1, done()))];
    check(&ended, (eight + MINUTE, claim()), Err(&Rejection::NotDue("1".to_owned())));
    check(&ended, (eight, settle(eight, 1, done())), Err(&Rejection::NoSuchFire("1".to_owned())));
    check(&ended, (eight + DAY, claim()), Ok(&["claimed due 32 next 56"]));
}

#[test]
fn missed_slots_are_said_and_not_caught_up() {
    let eight = START + 8 * HOUR;
    check(&[daily()], (eight + 2 * MINUTE, claim()), Ok(&["missed skip 8..8 1 next 32"]));
    check(&[daily()], (eight + 10 * DAY + HOUR, claim()), Ok(&["missed skip 8..248 11 next 272"]));
    check(&[daily()], (eight + 10 * DAY, claim()), Ok(&["missed skip 8..224 10 next 248", "claimed due 248 next 272"]));
    let graceful = (START, create(Contract { grace_s: 3600, ..contract("0 8 * * *") }));
    let late = &["missed late 8..8 1 next 8", "claimed late 8 next 32"][..];
    check(std::slice::from_ref(&graceful), (eight + HOUR, claim()), Ok(late));
    check(std::slice::from_ref(&graceful), (eight + HOUR + 1, claim()), Ok(&["missed skip 8..8 1 next 32"]));
    let often = (START, create(contract("* * * * *")));
    check(
        &[often],
        (START + 30 * DAY + MINUTE / 2, claim()),
        Ok(&["missed skip 0..719 1000+ next 720", "claimed due 720 next 720"]),
    );
}

#[test]
fn a_moment_that_was_missed_is_told() {
    let at = (START, create(contract("at:2026-11-22T08:00:00Z")));
    let (eight, missed) = (START + 8 * HOUR, &["missed skip 8..8 1 next -", "schedule_completed"][..]);
    check(std::slice::from_ref(&at), (eight + HOUR, claim()), Ok(missed));
    let schedules = after(&[at.clone(), (eight + HOUR, claim())]);
    assert_eq!(schedules.untold_of(HOST, "console").len(), 1);
    assert_eq!(schedules.get("1").unwrap().state, State::Completed);
    let fired = [at, (eight, claim())];
    check(&fired, (eight, settle(eight, 1, done())), Ok(&["settled 1 done told", "schedule_completed"]));
    let over = Rejection::Past(eight);
    check(&[], (eight, create(contract("at:2026-11-22T08:00:00Z"))), Err(&over));
}

#[test]
fn a_failure_is_tried_once_more_and_three_pause() {
    let eight = START + 8 * HOUR;
    let claimed = [daily(), (eight, claim())];
    check(&claimed, (eight, settle(eight, 1, failed())), Ok(&["settled 1 failed again"]));
    let again = [&claimed[..], &[(eight, settle(eight, 1, failed()))]].concat();
    check(&again, (eight + MINUTE, settle(eight, 2, failed())), Ok(&["settled 2 failed told"]));
    check(&again, (eight + MINUTE, settle(eight, 2, done())), Ok(&["settled 2 done told"]));
    assert_eq!(after(&again).next_due(eight), Some(eight + RETRY_US));
    // What may have changed something is not repeated.
    let unsure = Outcome::Failed { class: "crashed".to_owned(), message: "x".to_owned(), is_repeatable: false };
    check(&claimed, (eight, settle(eight, 1, unsure)), Ok(&["settled 1 failed told"]));
    let mut given = vec![daily()];
    for day in 0..2 {
        let slot = eight + day * DAY;
        given.extend([(slot, claim()), (slot, settle(slot, 1, failed())), (slot, settle(slot, 2, failed()))]);
    }
    let slot = eight + 2 * DAY;
    given.extend([(slot, claim()), (slot, settle(slot, 1, failed()))]);
    check(&given, (slot, settle(slot, 2, failed())), Ok(&["settled 2 failed told", "schedule_paused"]));
    for (policy, then) in [
        ("skip", &["settled 1 failed"][..]),
        ("cancel", &["settled 1 failed told", "schedule_cancelled"][..]),
        ("retry", &["settled 1 failed again"][..]),
    ] {
        let given =
            [(START, create(Contract { on_failure: policy.to_owned(), ..contract("0 8 * * *") })), (eight, claim())];
        check(&given, (eight, settle(eight, 1, failed())), Ok(then));
    }
}

#[test]
fn count_and_expiry_end_a_schedule() {
    let eight = START + 8 * HOUR;
    let twice = Contract { count: Some(2), ..contract("0 8 * * *") };
    let given = [(START, create(twice)), (eight, claim()), (eight, settle(eight, 1, done()))];
    assert_eq!(after(&given[..1]).get("1").unwrap().firings(5).len(), 2);
    check(&given, (eight + DAY, claim()), Ok(&["claimed due 32 next -"]));
    let given = [&given[..], &[(eight + DAY, claim())]].concat();
    check(&given, (eight + DAY, settle(eight + DAY, 1, done())), Ok(&["settled 1 done told", "schedule_completed"]));
    let until = Contract { until: Some(eight + HOUR), ..contract("0 8 * * *") };
    check(&[(START, create(until.clone()))], (eight, claim()), Ok(&["claimed due 8 next -"]));
    check(&[], (eight + 2 * HOUR, create(until)), Err(&Rejection::Past(eight + 2 * HOUR)));
}

#[test]
fn pauses_are_no_missed_slots() {
    let eight = START + 8 * HOUR;
    let id = || "1".to_owned();
    let paused = [daily(), (START, Command::Pause(id()))];
    check(&paused, (eight, claim()), Err(&Rejection::Over(id(), "paused")));
    assert_eq!(after(&paused).due_at(i64::MAX).count(), 0);
    check(&paused, (START, Command::Pause(id())), Err(&Rejection::Already(id(), "paused")));
    let resumed = [&paused[..], &[(eight + 5 * DAY, Command::Resume(id()))]].concat();
    assert_eq!(after(&resumed).get("1").unwrap().next, Some(eight + 6 * DAY));
    check(&resumed, (START, Command::Resume(id())), Err(&Rejection::Already(id(), "active")));
    let cancelled = [&resumed[..], &[(eight, Command::Cancel(id()))]].concat();
    check(&cancelled, (eight, Command::Resume(id())), Err(&Rejection::Over(id(), "cancelled")));
    check(&cancelled, (eight, Command::RunNow(id())), Err(&Rejection::Over(id(), "cancelled")));
    check(&[], (eight, Command::Cancel(id())), Err(&Rejection::NoSuch(id())));
}

#[test]
fn a_fire_that_still_runs_is_not_overtaken() {
    let eight = START + 8 * HOUR;
    let given = [daily(), (eight, claim())];
    check(&given, (eight + DAY, claim()), Ok(&["missed busy 32..32 1 next 56"]));
    check(&given, (eight, Command::RunNow("1".to_owned())), Err(&Rejection::Running("1".to_owned())));
    check(&[daily()], (eight - HOUR, Command::RunNow("1".to_owned())), Ok(&["claimed person 7 next 8"]));
    // Wanted at the very microsecond of a slot, both are fires.
    let (now, due) = (after(&[daily(), (eight, Command::RunNow("1".to_owned()))]), after(&given));
    assert_ne!(now.get("1").unwrap().fire, due.get("1").unwrap().fire);
}

#[test]
fn what_was_ended_can_be_there_again_and_jobs_cannot_be_ended() {
    let (eight, id) = (START + 8 * HOUR, || "1".to_owned());
    let ended = [daily(), (START, Command::Cancel(id()))];
    let reopen = |is_paused| Command::Reopen { schedule: id(), is_paused };
    check(&ended, (eight, reopen(false)), Ok(&["schedule_resumed"]));
    check(&ended, (eight, reopen(true)), Ok(&["schedule_resumed", "schedule_paused"]));
    let again = [&ended[..], &[(eight, reopen(false))]].concat();
    assert_eq!(after(&again).get("1").map(|schedule| schedule.next), Some(Some(eight + DAY)));
    check(&again, (eight, reopen(false)), Err(&Rejection::Already(id(), "active")));
    let once = [(START, create(contract("at:2026-11-22T08:00:00Z"))), (START, Command::Cancel(id()))];
    check(&once, (eight, reopen(false)), Err(&Rejection::Past(eight)));
    let job = Command::Create {
        actor: SYSTEM.to_owned(),
        job: Some("checkpoints".to_owned()),
        what: "checkpoints".to_owned(),
        contract: Box::new(Contract { kind: JOB.to_owned(), ..contract("0 3 * * *") }),
        turn: None,
    };
    let name = || "checkpoints".to_owned();
    check(&[(START, job.clone())], (START, Command::Cancel(name())), Err(&Rejection::Job(name())));
    check(&[(START, job.clone())], (START, Command::Pause(name())), Ok(&["schedule_paused"]));
    // What a release before this one let end, this one brings back.
    let mut schedules = after(&[(START, job)]);
    let cancelled = ScheduleCancelled { schedule: name(), by: "person".to_owned() };
    schedules.evolve(&recorded(2, START, cancelled.into()));
    let reopen = Command::Reopen { schedule: name(), is_paused: false };
    let reopened = decide(&schedules, reopen, Micros(START)).map(|(_, events)| told(&events));
    assert_eq!(reopened, Ok(vec!["schedule_resumed".to_owned()]));
}

#[test]
fn a_clock_that_was_ahead_moves_nothing_for_good() {
    let (eight, year) = (START + 8 * HOUR, 365 * DAY);
    let reaim = |taken: &[i64]| Command::Reaim { schedule: "1".to_owned(), taken: taken.to_vec() };
    // A tick a year ahead, in the minute of a slot: that slot is gone, those in between are not.
    let wrong = [daily(), (eight + year, claim())];
    let next_of = |given: &[(i64, Command)]| after(given).get("1").unwrap().next.map(|next| (next - START) / HOUR);
    assert_eq!(next_of(&wrong), Some((365 + 1) * 24 + 8));
    assert_eq!(after(&wrong).aimed_after(START).map(|(id, _)| id).collect::<Vec<_>>(), ["1"]);
    let ended = [&wrong[..], &[(eight + year, settle(eight + year, 1, done()))]].concat();
    let right = [&ended[..], &[(START + HOUR, reaim(&[eight + year]))]].concat();
    assert_eq!(next_of(&right), Some(8));
    assert_eq!(after(&right).aimed_after(START + HOUR).count(), 0);
    check(&right, (eight, claim()), Ok(&["claimed due 8 next 32"]));
    // The one that was claimed by the wrong clock does not come again when its day comes.
    let late = [&right[..], &[(eight + year - DAY, claim())]].concat();
    assert_eq!(next_of(&late), Some((365 + 1) * 24 + 8));
    // Where the clock was right and is set back, what was claimed stays claimed.
    let fired = [daily(), (eight, claim()), (eight, settle(eight, 1, done()))];
    for back in [eight - HOUR, eight - year] {
        check(&fired, (back, reaim(&[eight])), Ok(&[]));
    }
    // A moment that was missed by the wrong clock comes yet; one that was not missed is over.
    let once = (START, create(contract("at:2026-11-22T08:00:00Z")));
    let missed = [once.clone(), (START + year, claim())];
    assert_eq!(after(&missed).get("1").unwrap().state, State::Completed);
    let back = [&missed[..], &[(START + HOUR, reaim(&[]))]].concat();
    assert_eq!((next_of(&back), after(&back).get("1").unwrap().state), (Some(8), State::Active));
    let done = [once, (eight, claim()), (eight, settle(eight, 1, done()))];
    check(&done, (START, reaim(&[eight])), Ok(&[]));
}

#[test]
fn what_was_missed_is_told_once_however_often() {
    let eight = START + 8 * HOUR;
    let given = [daily(), (eight + HOUR, claim()), (eight + 3 * DAY + HOUR, claim())];
    let untold = after(&given).untold_of(HOST, "console");
    assert_eq!(untold.iter().map(|untold| (untold.slot, untold.missed)).collect::<Vec<_>>(), [(eight, 4)]);
    let job = Contract { kind: JOB.to_owned(), ..contract("0 8 * * *") };
    assert!(after(&[(START, create(job)), (eight + HOUR, claim())]).untold.is_empty());
}

#[test]
fn fifty_are_enough_for_one_person() {
    let given: Vec<(i64, Command)> = (0..SCHEDULES_MAX).map(|_| daily()).collect();
    let full = Rejection::Full(HOST.to_owned());
    check(&given, daily(), Err(&full));
    let freed = [&given[..], &[(START, Command::Cancel("7".to_owned()))]].concat();
    check(&freed, daily(), Ok(&["schedule_created"]));
    assert!(after(&[&freed[..], &[daily()]].concat()).get("51").is_some());
    let guest = Command::Create {
        actor: "guest_1".to_owned(),
        job: None,
        what: String::new(),
        contract: Box::new(contract("0 8 * * *")),
        turn: None,
    };
    check(&given, (START, guest), Ok(&["schedule_created"]));
}

#[test]
fn what_was_told_is_not_told_again() {
    let eight = START + 8 * HOUR;
    let given = [daily(), (eight, claim()), (eight, settle(eight, 1, done()))];
    assert_eq!(after(&given).untold_of(HOST, "console")[0].slot, eight);
    assert!(after(&given).untold_of(HOST, "telegram").is_empty());
    let deliver = Command::Deliver { schedule: "1".to_owned(), slot: eight, channel: "console".to_owned() };
    check(&given, (eight, deliver.clone()), Ok(&["slot_delivered"]));
    let told = [&given[..], &[(eight, deliver.clone())]].concat();
    assert!(after(&told).untold.is_empty());
    check(&told, (eight, deliver), Ok(&[]));
}

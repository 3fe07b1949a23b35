//! What happens at times: through changes of the clock and of daylight, missed, late, failed and in doubt.

use metnos_projections::machines::schedules::{Command, Outcome};

use crate::builder::History;

type Scenario = (&'static str, &'static str, fn() -> History);

pub(super) const ALL: &[Scenario] = &[
    (
        "daylight-forward",
        "A task at 2:30 in Rome through the night in which 2:30 is not there; nothing fires twice, no day is left out.",
        daylight_forward,
    ),
    (
        "daylight-back",
        "A task at 2:30 in Rome through the night in which 2:30 comes twice; it fires once.",
        daylight_back,
    ),
    (
        "missed-slots",
        "The daemon was off for three days: what was missed is said once; with grace the last slot is run late.",
        missed_slots,
    ),
    (
        "clock-backwards",
        "The clock was a day ahead, fired, and is set back: the slots are looked up anew, and what was claimed comes no second time.",
        clock_backwards,
    ),
    (
        "task-failures",
        "A task that fails, is tried again, fails thrice in a row and is paused; resumed, it ends in doubt after a kill.",
        task_failures,
    ),
    (
        "task-changes",
        "A task is made, changed, paused, resumed, run now, ended and taken back; another one is over after its count.",
        task_changes,
    ),
];

fn done() -> Outcome {
    Outcome::Done { message: "water the plants".to_owned() }
}

fn daylight_forward() -> History {
    let history = History::begin_at("2026-03-27T12:00:00Z")
        .reminds("30 2 * * *", "Europe/Rome", |_| {})
        .due("1")
        .fires("1", done())
        .due("1")
        .fires("1", done())
        .due("1")
        .fires("1", done());
    // Each of the three days had its slot.
    assert_eq!(
        jiff::Timestamp::from_microsecond(history.time()).map(|time| time.to_string()).ok().as_deref(),
        Some("2026-03-30T00:30:00Z")
    );
    history
}

fn daylight_back() -> History {
    let history = History::begin_at("2026-10-24T12:00:00Z")
        .reminds("30 2 * * *", "Europe/Rome", |_| {})
        .at("2026-10-25T00:30:00Z")
        .fires("1", done());
    // An hour later the clocks show half past two again, and nothing is due.
    assert!(history.next("1") > Some(history.time() + 3_600_000_000));
    history.at("2026-10-26T01:30:00Z").fires("1", done())
}

fn missed_slots() -> History {
    History::begin_at("2026-03-02T06:00:00Z")
        .reminds("0 8 * * *", "UTC", |_| {})
        .reminds("0 8 * * *", "UTC", |contract| contract.grace_s = 7200)
        .at("2026-03-05T09:00:00Z")
        .schedule(Command::Claim("1".to_owned()))
        .fires("2", done())
        .at("2026-03-06T08:00:00Z")
        .fires("1", done())
        .fires("2", done())
}

fn clock_backwards() -> History {
    let history = History::begin_at("2026-03-02T06:00:00Z")
        .reminds("0 8 * * *", "UTC", |_| {})
        .at("2026-03-03T08:00:00Z")
        .schedule(Command::Claim("1".to_owned()));
    let taken = history.running("1").into_iter().collect();
    let history = if history.running("1").is_some() { history.settles("1", done()) } else { history };
    history
        .at("2026-03-02T07:00:00Z")
        .schedule(Command::Reaim { schedule: "1".to_owned(), taken })
        .at("2026-03-02T08:00:00Z")
        .fires("1", done())
}

fn failed(is_repeatable: bool) -> Outcome {
    Outcome::Failed { class: "network".to_owned(), message: "The page cannot be reached.".to_owned(), is_repeatable }
}

fn task_failures() -> History {
    History::begin_at("2026-03-02T07:00:00Z")
        .reminds("0 8 * * *", "UTC", |contract| "retry".clone_into(&mut contract.on_failure))
        .at("2026-03-02T08:00:00Z")
        .fires("1", failed(true))
        .later(60)
        .settles("1", failed(true))
        .at("2026-03-03T08:00:00Z")
        .fires("1", failed(false))
        .at("2026-03-04T08:00:00Z")
        .fires("1", failed(false))
        .later(600)
        .schedule(Command::Resume("1".to_owned()))
        .at("2026-03-05T08:00:00Z")
        .fires("1", Outcome::InDoubt { message: "I was stopped in the middle of it.".to_owned() })
}

fn task_changes() -> History {
    let one = || "1".to_owned();
    let history = History::begin_at("2026-03-02T07:00:00Z").reminds("0 8 * * *", "UTC", |_| {}).reminds(
        "0 9 * * *",
        "UTC",
        |contract| contract.count = Some(1),
    );
    let contract = history.contract("1");
    let changed = metnos_log::event::schedule::Contract { cadence: "0 7 * * 1".to_owned(), ..contract };
    history
        .schedule(Command::Modify { schedule: one(), what: "feed the cat".to_owned(), contract: Box::new(changed) })
        .schedule(Command::Pause(one()))
        .later(60)
        .schedule(Command::Resume(one()))
        .schedule(Command::RunNow(one()))
        .settles("1", done())
        .at("2026-03-02T09:00:00Z")
        .fires("2", done())
        .schedule(Command::Deliver {
            schedule: "2".to_owned(),
            slot: 1_772_442_000_000_000,
            channel: "console".to_owned(),
        })
        .schedule(Command::Cancel(one()))
        .later(60)
        .schedule(Command::Reopen { schedule: one(), is_paused: true })
}

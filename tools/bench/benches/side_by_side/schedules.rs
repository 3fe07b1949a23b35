//! Ten thousand schedules in one instance: what it costs to know the next one, to look when nothing is due, and to claim what
//! is due, on disk.

use std::time::Duration;

use metnos::config::{Flags, Variables};
use metnos::instance::Instance;
use metnos::scheduler::{change, tick};
use metnos_log::event::schedule::Contract;
use metnos_projections::machines::schedules::Command;

use crate::bursts::{median, quantile, timed};
use crate::history;
use crate::table::Table;

/// People, and schedules of each.
const PEOPLE: usize = 200;
const EACH: usize = 50;
const ROUNDS: usize = 200;

pub(crate) fn run() -> Table {
    let folder = history::folder();
    let variables = Variables { user_home: Some(folder.path().to_owned()), ..Variables::default() };
    let home = folder.path().join("instance");
    let instance = Instance::open(Some(&home), &Flags::default(), &variables, Duration::ZERO).expect("a new instance");
    let made = timed(|| fill(&instance));
    let first = instance.schedules().next_due(0).expect("something is due");
    let mut table = Table::new(
        &["10,000 schedules", "µs p50", "µs p99"],
        &format!("made in {:.1} s, each an append of its own", made.as_secs_f64()),
    );
    let mut row = |what: &str, times: Vec<f64>| {
        table.row(vec![
            what.to_owned(),
            format!("{:.1}", median(times.clone())),
            format!("{:.1}", quantile(times, 0.99)),
        ]);
    };
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let look = || micros(timed(|| assert!(instance.schedules().next_due(first).is_some())));
    row("the next due", (0..ROUNDS).map(|_| look()).collect());
    let idle = || micros(timed(|| assert_eq!(tick(&instance, first - 1).expect("a tick").taken, 0)));
    row("a tick, nothing due", (0..ROUNDS).map(|_| idle()).collect());
    let mut claims = Vec::new();
    for _ in 0..ROUNDS {
        let due = instance.schedules().due.first().map(|(slot, _)| *slot).expect("something is due");
        let mut taken = 0;
        let time = micros(timed(|| taken = tick(&instance, due).expect("a tick").taken));
        assert!(taken > 0);
        claims.push(time);
    }
    row("a tick that claims what is due, on disk", claims);
    table
}

/// Schedules of many people, no two due in the same minute of a week.
fn fill(instance: &Instance) {
    for person in 0..PEOPLE {
        let instance = &instance.as_actor(&format!("guest_{person}"));
        for number in 0..EACH {
            let minute = person * EACH + number;
            let (weekday, hour, minute) = (minute / 1440 % 7, minute / 60 % 24, minute % 60);
            let contract = Contract {
                kind: "reminder".to_owned(),
                cadence: format!("{minute} {hour} * * {weekday}"),
                zone: "Europe/Rome".to_owned(),
                on_failure: "notify".to_owned(),
                failures_max: 3,
                channel: "console".to_owned(),
                ..Contract::default()
            };
            let create = Command::Create {
                actor: instance.actor.clone(),
                job: None,
                what: "water the plants".to_owned(),
                contract: Box::new(contract),
                turn: None,
            };
            change(instance, &create).expect("it is appended").expect("it is allowed");
        }
    }
}

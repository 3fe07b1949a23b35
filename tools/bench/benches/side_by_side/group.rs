//! Group commit: many producers, each waiting for the acknowledgement of its event before it writes the next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use metnos_log::{Append, Expect};

use crate::bursts::{median, quantile};
use crate::history;
use crate::table::Table;

const PRODUCERS: [u32; 4] = [1, 16, 64, 256];
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(400);

/// The figures of so many producers.
pub(crate) struct Group {
    pub(crate) producers: u32,
    /// Events a second.
    pub(crate) rate: f64,
    /// Beside one producer.
    pub(crate) by_one: f64,
    /// How long an event waited for its acknowledgement, µs.
    p50_us: f64,
    p99_us: f64,
}

pub(crate) fn run() -> Table {
    table(&measure())
}

pub(crate) fn table(groups: &[Group]) -> Table {
    let mut table = Table::new(
        &["producers", "events/s", "× one", "wait p50 µs", "wait p99 µs"],
        "one event a request; medians of interleaved rounds",
    );
    for Group { producers, rate, by_one, p50_us, p99_us } in groups {
        let figures = [format!("{rate:.0}"), format!("{by_one:.1}"), format!("{p50_us:.0}"), format!("{p99_us:.0}")];
        table.row([producers.to_string()].into_iter().chain(figures).collect());
    }
    table
}

pub(crate) fn measure() -> Vec<Group> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); PRODUCERS.len()];
    let mut waits: Vec<Vec<f64>> = vec![Vec::new(); PRODUCERS.len()];
    let folder = history::folder();
    let log = Arc::new(history::open(folder.path()));
    for _ in 0..ROUNDS {
        for (place, producers) in PRODUCERS.into_iter().enumerate() {
            let start = Instant::now();
            let found: Vec<f64> = runtime.block_on(async {
                let tasks: Vec<_> =
                    (0..producers).map(|_| tokio::spawn(produce(Arc::clone(&log), start + ROUND))).collect();
                let mut found = Vec::new();
                for task in tasks {
                    found.extend(task.await.expect("no producer panics"));
                }
                found
            });
            let events = u32::try_from(found.len()).expect("a round is short");
            rates[place].push(f64::from(events) / start.elapsed().as_secs_f64());
            waits[place].extend(found);
        }
    }
    let group = |(place, producers): (usize, u32)| Group {
        producers,
        rate: median(rates[place].clone()),
        by_one: median(rates[place].iter().zip(&rates[0]).map(|(rate, one)| rate / one).collect()),
        p50_us: median(waits[place].clone()),
        p99_us: quantile(waits[place].clone(), 0.99),
    };
    PRODUCERS.into_iter().enumerate().map(group).collect()
}

/// Appends until the time is over; returns each wait in µs.
async fn produce(log: Arc<metnos_log::Log>, until: Instant) -> Vec<f64> {
    let mut waits = Vec::new();
    while Instant::now() < until {
        let append = Append { events: vec![history::draft()], expect: Expect::Any };
        let start = Instant::now();
        log.submit(append).acknowledged().await.expect("the disk takes an append");
        waits.push(start.elapsed().as_secs_f64() * 1e6);
    }
    waits
}

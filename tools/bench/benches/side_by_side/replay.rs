//! Reading a whole history: the log beside SQLite, scan, typed decoding, folding and verification.

use std::time::Duration;

use metnos_log::store::ReadError;
use metnos_log::{Event, Reader, Recorded};
use metnos_projections::machines::catalog::Catalog;
use metnos_projections::projection::Projection as _;
use metnos_projections::views::turns::Turns;

use crate::bursts::{Rival, per_second, take_turns, timed};
use crate::history;
use crate::sqlite::{Layout, Row, Store};
use crate::table::Table;

pub(crate) const EVENTS: u32 = 100_000;
const BATCH: u32 = 500;
const ROUNDS: usize = 15;

/// Why reading ended early.
#[derive(Debug)]
struct Broken;

impl From<ReadError> for Broken {
    fn from(_: ReadError) -> Self {
        Self
    }
}

/// One way of reading all events.
pub(crate) struct Reading {
    pub(crate) name: &'static str,
    pub(crate) time: Duration,
    /// Speed beside SQLite's scan and decode.
    pub(crate) by_sqlite: f64,
}

/// All ways, and how long the files are that were read.
pub(crate) struct Replayed {
    /// SQLite decoded, SQLite scanned, the log decoded, folded, verified.
    pub(crate) readings: [Reading; 5],
    /// Bytes an event.
    pub(crate) log_bytes: u64,
    pub(crate) sqlite_bytes: u64,
}

pub(crate) fn run() -> Table {
    table(&measure())
}

pub(crate) fn table(Replayed { readings, log_bytes, sqlite_bytes }: &Replayed) -> Table {
    let note = format!(
        "{EVENTS} events, warm; SQLite on one thread, the log decodes on two; file bytes an event: log {log_bytes}, SQLite {sqlite_bytes}"
    );
    let mut table = Table::new(&["reading", "events", "speed ÷ SQLite's scan and decode"], &note);
    for Reading { name, time, by_sqlite } in readings {
        table.row(vec![(*name).to_owned(), per_second(*time, EVENTS), format!("{by_sqlite:.2}")]);
    }
    table
}

pub(crate) fn measure() -> Replayed {
    let folder = history::folder();
    let log = history::open(folder.path());
    let mut sqlite = Store::open(folder.path(), Layout::Indexed);
    for _ in 0..EVENTS / BATCH {
        let drafts = history::drafts(BATCH);
        sqlite.append(&drafts.iter().map(Row::of).collect::<Vec<_>>());
        history::append(&log, drafts);
    }
    let readings = readings(&log.reader(), &sqlite);
    let size = |name: &str| {
        std::fs::metadata(folder.path().join(name)).map_or(0, |metadata| metadata.len()) / u64::from(EVENTS)
    };
    sqlite.checkpoint();
    Replayed {
        readings,
        log_bytes: size(history::FILE),
        sqlite_bytes: size("events.sqlite") + size("events.sqlite-wal"),
    }
}

fn readings(reader: &Reader, sqlite: &Store) -> [Reading; 5] {
    let mut rivals: [(&'static str, Rival<'_>); 5] = [
        (
            "SQLite: scan and decode (nothing is checked)",
            Box::new(|| {
                timed(|| {
                    sqlite.scan(|row| {
                        let event = Event::decode(row.kind, row.schema, row.payload).expect("a sound row");
                        std::hint::black_box((row, event));
                    });
                })
            }),
        ),
        (
            "SQLite: scan alone",
            Box::new(|| {
                timed(|| {
                    sqlite.scan(|row| {
                        std::hint::black_box(row);
                    });
                })
            }),
        ),
        (
            "the log: scan, check, decode",
            Box::new(|| {
                timed(|| {
                    each(reader, |recorded| {
                        std::hint::black_box(recorded);
                    });
                })
            }),
        ),
        (
            "the log: the same, and fold two projections",
            Box::new(|| {
                timed(|| {
                    let (mut catalog, mut turns) = (Catalog::default(), Turns::default());
                    each(reader, |recorded| {
                        catalog.evolve(recorded);
                        turns.evolve(recorded);
                    });
                })
            }),
        ),
        (
            "the log: verify (chain, range, indexes, decoding)",
            Box::new(|| timed(|| drop(std::hint::black_box(reader.verify(|_, _| {}).expect("a sound log"))))),
        ),
    ];
    let names = std::array::from_fn::<_, 5, _>(|place| rivals[place].0);
    let figures = take_turns(ROUNDS, &mut rivals.each_mut().map(|(_, rival)| Box::new(rival) as Rival<'_>));
    std::array::from_fn(|place| {
        let figure = &figures[place];
        Reading { name: names[place], time: figure.median, by_sqlite: 1.0 / figure.ratio }
    })
}

/// Shows every event to `take`.
fn each(reader: &Reader, mut take: impl FnMut(&Recorded)) {
    let mut seen = 0;
    let read = reader.each_lent::<Broken>(1, |recorded| {
        seen += 1;
        take(recorded);
        Ok(true)
    });
    read.expect("a sound log");
    assert_eq!(seen, EVENTS);
}

//! Reading a whole history: the log beside SQLite, scan, typed decoding, folding and verification.

use metnos_log::store::ReadError;
use metnos_log::{Event, Recorded};
use metnos_projections::machines::catalog::Catalog;
use metnos_projections::projection::Projection as _;
use metnos_projections::views::turns::Turns;

use crate::bursts::{Rival, per_second, take_turns, timed};
use crate::history;
use crate::sqlite::{Layout, Row, Store};
use crate::table::Table;

const EVENTS: u32 = 100_000;
const BATCH: u32 = 500;
const ROUNDS: usize = 5;

/// Why reading ended early.
#[derive(Debug)]
struct Broken;

impl From<ReadError> for Broken {
    fn from(_: ReadError) -> Self {
        Self
    }
}

pub(crate) fn run() -> Table {
    let folder = history::folder();
    let log = history::open(folder.path());
    let mut sqlite = Store::open(folder.path(), Layout::Indexed);
    for _ in 0..EVENTS / BATCH {
        let drafts = history::drafts(BATCH);
        sqlite.append(&drafts.iter().map(Row::of).collect::<Vec<_>>());
        history::append(&log, drafts);
    }
    let reader = log.reader();
    let each = |mut take: Box<dyn FnMut(Recorded)>| {
        let mut seen = 0;
        let read = reader.each::<Broken>(1, |recorded| {
            seen += 1;
            take(recorded);
            Ok(true)
        });
        read.expect("a sound log");
        assert_eq!(seen, EVENTS);
    };
    let mut rivals: Vec<Rival<'_>> = vec![
        Box::new(|| {
            timed(|| {
                sqlite.scan(|seq, stream, kind, payload| {
                    let event = Event::decode(kind, 1, payload).expect("a sound row");
                    std::hint::black_box((seq, stream, event));
                });
            })
        }),
        Box::new(|| {
            timed(|| {
                sqlite.scan(|seq, stream, kind, payload| {
                    std::hint::black_box((seq, stream, kind, payload.len()));
                });
            })
        }),
        Box::new(|| timed(|| each(Box::new(|recorded| drop(std::hint::black_box(recorded)))))),
        Box::new(|| {
            timed(|| {
                let (mut catalog, mut turns) = (Catalog::default(), Turns::default());
                each(Box::new(move |recorded| {
                    catalog.evolve(&recorded);
                    turns.evolve(&recorded);
                }));
            })
        }),
        Box::new(|| timed(|| drop(std::hint::black_box(reader.verify(|_, _| {}).expect("a sound log"))))),
    ];
    let names = [
        "SQLite: scan and decode (nothing is checked)",
        "SQLite: scan alone",
        "the log: scan, check every leaf, decode",
        "the log: the same, and fold two projections",
        "the log: verify (chain, range, indexes, decoding)",
    ];
    let figures = take_turns(ROUNDS, &mut rivals);
    let size = |name: &str| {
        std::fs::metadata(folder.path().join(name)).map_or(0, |metadata| metadata.len()) / u64::from(EVENTS)
    };
    let note = format!(
        "{EVENTS} events, one thread (verify: one a core), warm; file bytes an event: log {}, SQLite {}",
        size("events.redb"),
        size("events.sqlite") + size("events.sqlite-wal"),
    );
    let mut table = Table::new(&["reading", "events", "speed ÷ SQLite's scan and decode"], &note);
    for (name, figure) in names.iter().zip(&figures) {
        table.row(vec![(*name).to_owned(), per_second(figure.median, EVENTS), format!("{:.2}", 1.0 / figure.ratio)]);
    }
    table
}

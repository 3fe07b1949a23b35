//! Durable append: the log beside a bare file with fdatasync and beside SQLite.

use std::fs::File;
use std::io::Write as _;

use crate::bursts::{Rival, micros_each, take_turns, timed};
use crate::history;
use crate::sqlite::{Layout, Row, Store};
use crate::table::Table;

/// Events a commit, and commits a burst.
const SIZES: [(u32, u32); 4] = [(1, 10), (8, 8), (64, 4), (512, 2)];
const ROUNDS: usize = 15;

pub(crate) fn run() -> Table {
    let heading = [
        "events a commit",
        "file + fdatasync",
        "the log",
        "× file",
        "SQLite rows",
        "× file",
        "SQLite indexed",
        "× file",
    ];
    let mut table = Table::new(
        &heading,
        "median µs a commit; the log also redacts, hashes, chains and keeps three indexes; SQLite: WAL, synchronous = FULL",
    );
    for (events, commits) in SIZES {
        let folder = history::folder();
        let log = history::open(folder.path());
        let mut file = File::create(folder.path().join("raw")).expect("a new file");
        let (rows, indexed) = (history::folder(), history::folder());
        let mut rows = (Store::open(rows.path(), Layout::Rows), rows);
        let mut indexed = (Store::open(indexed.path(), Layout::Indexed), indexed);
        let mut rivals: Vec<Rival<'_>> = vec![
            Box::new(|| {
                let batches: Vec<Vec<u8>> = batches(events, commits)
                    .iter()
                    .map(|batch| vec![b'x'; batch.iter().map(Row::bytes).sum()])
                    .collect();
                timed(|| {
                    for batch in &batches {
                        file.write_all(batch).and_then(|()| file.sync_data()).expect("the disk takes bytes");
                    }
                })
            }),
            Box::new(|| {
                let batches: Vec<_> = (0..commits).map(|_| history::drafts(events)).collect();
                timed(|| batches.into_iter().for_each(|batch| history::append(&log, batch)))
            }),
            Box::new(|| {
                let batches = batches(events, commits);
                timed(|| batches.iter().for_each(|batch| rows.0.append(batch)))
            }),
            Box::new(|| {
                let batches = batches(events, commits);
                timed(|| batches.iter().for_each(|batch| indexed.0.append(batch)))
            }),
        ];
        let figures = take_turns(ROUNDS, &mut rivals);
        let mut cells = vec![events.to_string(), format!("{:.0}", micros_each(figures[0].median, commits))];
        for figure in &figures[1..] {
            cells.extend([format!("{:.0}", micros_each(figure.median, commits)), format!("{:.2}", figure.ratio)]);
        }
        table.row(cells);
    }
    table
}

fn batches(events: u32, commits: u32) -> Vec<Vec<Row>> {
    let batch = || history::drafts(events).iter().map(Row::of).collect();
    (0..commits).map(|_| batch()).collect()
}

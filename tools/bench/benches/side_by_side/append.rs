//! Durable append: the log beside a bare file with fdatasync and beside SQLite.

use std::fs::File;
use std::io::Write as _;

use crate::bursts::{Figure, Rival, micros_each, take_turns, timed};
use crate::history;
use crate::sqlite::{Layout, Row, Store};
use crate::table::Table;

/// Events a commit, and commits a burst.
const SIZES: [(u32, u32); 4] = [(1, 10), (8, 8), (64, 4), (512, 2)];
const ROUNDS: usize = 15;

/// The figures of one size of commit.
pub(crate) struct Size {
    pub(crate) events: u32,
    /// Bytes and one fdatasync, µs a commit.
    pub(crate) file_us: f64,
    pub(crate) log: Measured,
    /// SQLite, rows alone.
    pub(crate) rows: Measured,
    /// SQLite with the log's indexes.
    pub(crate) indexed: Measured,
    pub(crate) log_by_rows: f64,
    pub(crate) log_by_indexed: f64,
}

/// A rival of the raw file.
pub(crate) struct Measured {
    /// µs a commit.
    pub(crate) us: f64,
    /// Beside the raw file.
    pub(crate) by_file: f64,
}

pub(crate) fn run() -> Table {
    table(&measure())
}

pub(crate) fn table(sizes: &[Size]) -> Table {
    let heading = [
        "events a commit",
        "file + fdatasync",
        "the log",
        "× file",
        "SQLite rows",
        "× file",
        "SQLite indexed",
        "× file",
        "log × indexed",
    ];
    let mut table = Table::new(
        &heading,
        "median µs a commit; the log also redacts, hashes, chains and keeps three indexes; SQLite: WAL, synchronous = FULL",
    );
    for size in sizes {
        let mut cells = vec![size.events.to_string(), format!("{:.0}", size.file_us)];
        for Measured { us, by_file } in [&size.log, &size.rows, &size.indexed] {
            cells.extend([format!("{us:.0}"), format!("{by_file:.2}")]);
        }
        cells.push(format!("{:.2}", size.log_by_indexed));
        table.row(cells);
    }
    table
}

pub(crate) fn measure() -> Vec<Size> {
    SIZES.into_iter().map(|(events, commits)| size(events, commits)).collect()
}

fn size(events: u32, commits: u32) -> Size {
    let folder = history::folder();
    let log = history::open(folder.path());
    let mut file = File::create(folder.path().join("raw")).expect("a new file");
    let folders = [history::folder(), history::folder()];
    let mut rows = Store::open(folders[0].path(), Layout::Rows);
    let mut indexed = Store::open(folders[1].path(), Layout::Indexed);
    let mut rivals: Vec<Rival<'_>> = vec![
        Box::new(|| {
            let batches: Vec<Vec<u8>> =
                batches(events, commits).iter().map(|batch| vec![b'x'; batch.iter().map(Row::bytes).sum()]).collect();
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
            timed(|| batches.iter().for_each(|batch| rows.append(batch)))
        }),
        Box::new(|| {
            let batches = batches(events, commits);
            timed(|| batches.iter().for_each(|batch| indexed.append(batch)))
        }),
    ];
    let figures = take_turns(ROUNDS, &mut rivals);
    let measured = |figure: &Figure| Measured { us: micros_each(figure.median, commits), by_file: figure.ratio };
    let [file, log, rows, indexed] = figures.as_slice() else { unreachable!("one figure a rival") };
    Size {
        events,
        file_us: micros_each(file.median, commits),
        log: measured(log),
        rows: measured(rows),
        indexed: measured(indexed),
        log_by_rows: log.beside(rows),
        log_by_indexed: log.beside(indexed),
    }
}

fn batches(events: u32, commits: u32) -> Vec<Vec<Row>> {
    let batch = || history::drafts(events).iter().map(Row::of).collect();
    (0..commits).map(|_| batch()).collect()
}

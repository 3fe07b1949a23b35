//! Durable append: the log beside a bare file with fdatasync and beside SQLite, on this disk and on slower ones.

use std::fs::File;
use std::io::Write as _;
use std::time::Duration;

use metnos_log::Draft;

use crate::bursts::{Figure, Stepped, micros_each, take_turns_by_steps, timed};
use crate::history;
use crate::slow_disk;
use crate::sqlite::{Layout, Row, Store};
use crate::table::Table;

/// Events a commit, and commits a burst.
const SIZES: [(u32, u32); 4] = [(1, 10), (8, 8), (64, 4), (512, 2)];
const ROUNDS: usize = 15;
const SLOW_ROUNDS: usize = 21;
/// On the disk that goals are held against, where a hundredth decides.
const REFERENCE_ROUNDS: usize = 45;
/// What a sync took on the disk on which the goals were measured.
pub(crate) const REFERENCE_SYNC: Duration = Duration::from_millis(4);
/// What a sync takes on the disks of households: an SSD of a consumer's price empties its cache in some milliseconds, and a
/// hard disk waits for one turn of its platter (7,200 a minute).
const SLOW_SYNCS: [Duration; 3] = [Duration::from_millis(3), REFERENCE_SYNC, Duration::from_micros(8_300)];

/// The figures of one size of commit on one disk.
pub(crate) struct Size {
    /// How much longer a sync takes than on this disk.
    pub(crate) longer: Duration,
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
    /// How far from 1 the same SQLite beside itself comes by chance.
    pub(crate) chance: f64,
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

pub(crate) fn run_on_slow_disk() -> Table {
    table(&measure_on_slow_disk())
}

pub(crate) fn table(sizes: &[Size]) -> Table {
    let heading = [
        "a sync",
        "events a commit",
        "file + fdatasync",
        "the log",
        "× file",
        "SQLite rows",
        "× file",
        "SQLite indexed",
        "× file",
        "log × rows",
        "log × indexed",
        "SQLite × itself",
    ];
    let mut table = Table::new(
        &heading,
        "median µs a commit, drafts in memory to bytes on disk; the log also redacts, hashes and chains; SQLite: WAL, \
         synchronous = FULL",
    );
    for size in sizes {
        let mut cells = vec![said(size.longer), size.events.to_string(), format!("{:.0}", size.file_us)];
        for Measured { us, by_file } in [&size.log, &size.rows, &size.indexed] {
            cells.extend([format!("{us:.0}"), format!("{by_file:.2}")]);
        }
        cells.extend([size.log_by_rows, size.log_by_indexed].map(|ratio| format!("{ratio:.3}")));
        cells.push(format!("±{:.3}", size.chance));
        table.row(cells);
    }
    table
}

/// How long a sync takes, as people write it.
pub(crate) fn said(longer: Duration) -> String {
    if longer.is_zero() { "as here".to_owned() } else { format!("{} ms longer", longer.as_secs_f64() * 1e3) }
}

pub(crate) fn measure() -> Vec<Size> {
    SIZES.map(|size| measured(Duration::ZERO, size, ROUNDS)).into()
}

pub(crate) fn measure_on_slow_disk() -> Vec<Size> {
    let rounds = |takes| if takes == REFERENCE_SYNC { REFERENCE_ROUNDS } else { SLOW_ROUNDS };
    SLOW_SYNCS.into_iter().flat_map(|takes| SIZES.map(|size| measured(takes, size, rounds(takes)))).collect()
}

/// The rivals, each on files of its own, in turns.
fn measured(longer: Duration, (events, commits): (u32, u32), rounds: usize) -> Size {
    let folder = history::folder();
    let log = history::open(folder.path());
    let mut file = File::create(folder.path().join("raw")).expect("a new file");
    let folders = [history::folder(), history::folder(), history::folder()];
    let mut rows = Store::open(folders[0].path(), Layout::Rows);
    let mut indexed = Store::open(folders[1].path(), Layout::Indexed);
    // The same once more: what differs between these two is chance.
    let mut same = Store::open(folders[2].path(), Layout::Indexed);
    let mut rivals: Vec<Stepped<'_>> = vec![
        Box::new(|| burst(events, commits, |drafts| raw(&mut file, &drafts))),
        Box::new(|| burst(events, commits, |drafts| history::append(&log, drafts))),
        Box::new(|| burst(events, commits, |drafts| rows.append(&drafts.iter().map(Row::of).collect::<Vec<_>>()))),
        Box::new(|| burst(events, commits, |drafts| indexed.append(&drafts.iter().map(Row::of).collect::<Vec<_>>()))),
        Box::new(|| burst(events, commits, |drafts| same.append(&drafts.iter().map(Row::of).collect::<Vec<_>>()))),
    ];
    let (figures, syncs) = slow_disk::with(longer, || take_turns_by_steps(rounds, &mut rivals));
    assert!(syncs >= (rounds as u64 + 1) * u64::from(commits) * rivals.len() as u64, "a rival syncs in another way");
    let measured = |figure: &Figure| Measured { us: micros_each(figure.median, 1), by_file: figure.ratio };
    let [file, log, rows, indexed, same] = figures.as_slice() else { unreachable!("one figure a rival") };
    Size {
        longer,
        events,
        file_us: micros_each(file.median, 1),
        log: measured(log),
        rows: measured(rows),
        indexed: measured(indexed),
        log_by_rows: log.beside(rows),
        log_by_indexed: log.beside(indexed),
        chance: indexed.apart_by_chance(same),
    }
}

/// One burst: whoever it is gets drafts, and is done when they are on disk. How long each commit took.
fn burst(events: u32, commits: u32, mut append: impl FnMut(Vec<Draft>)) -> Vec<Duration> {
    let batches: Vec<_> = (0..commits).map(|_| history::drafts(events)).collect();
    batches.into_iter().map(|drafts| timed(|| append(drafts))).collect()
}

/// The rows one behind the other, and one fdatasync.
fn raw(file: &mut File, drafts: &[Draft]) {
    let mut bytes = Vec::new();
    for draft in drafts {
        Row::of(draft).write(&mut bytes);
    }
    file.write_all(&bytes).expect("the disk takes bytes");
    file.sync_data().expect("the disk takes bytes");
}

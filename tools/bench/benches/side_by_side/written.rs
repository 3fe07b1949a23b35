//! What a commit costs the disk: syncs, and bytes beside those that a raw file would hold.
//!
//! The log is counted where it asks its storage; SQLite has no such place, so what the process writes is read from the
//! kernel's count while nobody else here writes.

use std::sync::Arc;

use crate::history;
use crate::sqlite::{Layout, Row, Store};
use crate::storage::{self, Counts};
use crate::table::Table;

/// Events a commit, and commits that are counted.
const SIZES: [(u32, u32); 4] = [(1, 200), (8, 100), (64, 100), (512, 60)];
/// Events that are there before anything is counted: the trees are then as high as on any day.
const BEFORE: u32 = 64;
const BEFORE_COMMITS: u32 = 128;

/// What commits of one size cost on average.
pub(crate) struct Written {
    pub(crate) events: u32,
    /// Syncs a commit.
    pub(crate) syncs: f64,
    /// Bytes a commit.
    pub(crate) log: f64,
    /// What SQLite writes with the same indexes.
    pub(crate) sqlite: f64,
    /// What a raw file would hold.
    pub(crate) raw: f64,
    /// Of payloads alone.
    pub(crate) payload: f64,
}

pub(crate) fn run() -> Table {
    table(&measure())
}

pub(crate) fn table(all: &[Written]) -> Table {
    let heading =
        ["events a commit", "syncs", "the log KiB", "× payload", "SQLite indexed KiB", "raw KiB", "payload KiB"];
    let note = "a commit, counted at the log's storage; SQLite by what the kernel saw it write";
    let mut table = Table::new(&heading, note);
    let kib = |bytes: f64| format!("{:.1}", bytes / 1024.0);
    for Written { events, syncs, log, sqlite, raw, payload } in all {
        table.row(vec![
            events.to_string(),
            format!("{syncs:.2}"),
            kib(*log),
            format!("{:.2}", log / payload),
            kib(*sqlite),
            kib(*raw),
            kib(*payload),
        ]);
    }
    table
}

pub(crate) fn measure() -> Vec<Written> {
    SIZES.into_iter().map(|(events, commits)| written(events, commits)).collect()
}

fn written(events: u32, commits: u32) -> Written {
    let folder = history::folder();
    let counts = Arc::new(Counts::default());
    let log = storage::log(folder.path(), Arc::clone(&counts));
    let mut sqlite = Store::open(folder.path(), Layout::Indexed);
    for _ in 0..BEFORE_COMMITS {
        let drafts = history::drafts(BEFORE);
        sqlite.append(&drafts.iter().map(Row::of).collect::<Vec<_>>());
        history::append(&log, drafts);
    }
    let (mut raw, mut payload, mut by_sqlite) = (0, 0, 0);
    let (syncs, bytes) = counts.now();
    for _ in 0..commits {
        let drafts = history::drafts(events);
        let rows: Vec<_> = drafts.iter().map(Row::of).collect();
        raw += rows.iter().map(Row::bytes).sum::<usize>() as u64;
        payload += rows.iter().map(Row::payload_bytes).sum::<usize>() as u64;
        let before = written_by_process();
        sqlite.append(&rows);
        by_sqlite += written_by_process() - before;
        history::append(&log, drafts);
    }
    let (syncs, bytes) = (counts.now().0 - syncs, counts.now().1 - bytes);
    #[expect(clippy::cast_precision_loss, reason = "sums of a short run")]
    let each = |sum: u64| sum as f64 / f64::from(commits);
    Written {
        events,
        syncs: each(syncs),
        log: each(bytes),
        sqlite: each(by_sqlite),
        raw: each(raw),
        payload: each(payload),
    }
}

/// Bytes that this process has handed to the kernel so far.
fn written_by_process() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").expect("the kernel counts");
    let count = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    count.and_then(|count| count.parse().ok()).expect("it says what was written")
}

//! A log of a million events: opened after its writer was killed, verified, asked for any moment, and how much memory that
//! takes beside a log of a tenth of it.
//!
//! The logs are made once and lie in the build folder while their recipe is the same; what is killed is a copy.

use std::fs;
use std::path::{Path, PathBuf};

use metnos_log::store::{FORMAT, plain_blob_hash};

use crate::bursts::median;
use crate::history;
use crate::process::{self, Work};
use crate::table::Table;

pub(crate) const SMALL: u32 = 100_000;
pub(crate) const LARGE: u32 = 1_000_000;
/// Events a commit while they are made.
const BATCH: u32 = 500;
/// How often a writer is killed, and how often anything else is done.
const ROUNDS: usize = 3;
/// Raised when sealing changes in a way that neither the format nor the events show.
const RECIPE: u32 = 1;
/// Moments: the end, which folds everything once and keeps what it passes, and those that lie furthest from what was kept.
const END: &[u64] = &[1_000_000];
const MOMENTS: &[u64] = &[99_999, 299_999, 555_555, 799_999, 999_999];

/// What a large log costs.
pub(crate) struct Million {
    /// Opened after a kill, s.
    pub(crate) open_s: f64,
    /// Read and decoded right after, s.
    pub(crate) replay_s: f64,
    /// Median of the rounds' own ratios.
    pub(crate) open_by_replay: f64,
    /// Events a second.
    pub(crate) verified: f64,
    /// The state at the end, folded from the first event, s.
    pub(crate) first_fold_s: f64,
    /// The slowest of the other moments, s.
    pub(crate) moment_s: f64,
    /// Peaks of replay and verify, MB, at [`SMALL`] and at [`LARGE`].
    pub(crate) replay_mb: [f64; 2],
    pub(crate) verify_mb: [f64; 2],
    /// Peak while moments are folded, MB.
    moments_mb: f64,
    /// Bytes an event of the closed file.
    bytes: u64,
}

pub(crate) fn run() -> Table {
    table(&measure())
}

pub(crate) fn table(found: &Million) -> Table {
    let note = format!(
        "{LARGE} events, {} file bytes each; each line in a fresh process, warm; medians of {ROUNDS}",
        found.bytes
    );
    let mut table = Table::new(&["work", "found"], &note);
    let ms = |seconds: f64| format!("{:.0} ms", seconds * 1e3);
    let mb = |[small, large]: [f64; 2]| format!("{small:.1} and {large:.1} MB");
    let rows = [
        ("open after kill -9 in the midst of appends", ms(found.open_s)),
        ("replay: read and decode every event", ms(found.replay_s)),
        ("the former ÷ the latter", format!("{:.2}", found.open_by_replay)),
        ("verify, events a second", format!("{:.2} M", found.verified / 1e6)),
        ("all projections at the end, the first time", ms(found.first_fold_s)),
        ("all projections at a moment, the slowest of five", ms(found.moment_s)),
        ("peak while folding moments", format!("{:.1} MB", found.moments_mb)),
        ("peak of replay, 100,000 and 1,000,000 events", mb(found.replay_mb)),
        ("peak of verify, the same", mb(found.verify_mb)),
    ];
    for (work, figure) in rows {
        table.row(vec![work.to_owned(), figure]);
    }
    table
}

pub(crate) fn measure() -> Million {
    let (small, large) = (made(SMALL), made(LARGE));
    let killed: Vec<_> = (0..ROUNDS).map(|_| killed(&large)).collect();
    let each = |work: Work, folder: &Path, name: &str| -> Vec<f64> {
        (0..ROUNDS).map(|_| process::measured(folder, work).get(name)).collect()
    };
    let peaks = |work| [&small, &large].map(|folder| median(each(work, folder, "peak_mb")));
    let folded = copy(&large);
    let first = process::measured(folded.path(), Work::At(END));
    let moments = process::measured(folded.path(), Work::At(MOMENTS));
    let file = fs::metadata(large.join(history::FILE)).map_or(0, |file| file.len());
    Million {
        open_s: median(killed.iter().map(|(open, _)| *open).collect()),
        replay_s: median(killed.iter().map(|(_, replay)| *replay).collect()),
        open_by_replay: median(killed.iter().map(|(open, replay)| open / replay).collect()),
        verified: f64::from(LARGE) / median(each(Work::Verify, &large, "verify_s")),
        first_fold_s: first.all("at_s").fold(f64::NAN, f64::max),
        moment_s: moments.all("at_s").fold(f64::NAN, f64::max),
        replay_mb: peaks(Work::Replay),
        verify_mb: peaks(Work::Verify),
        moments_mb: first.get("peak_mb").max(moments.get("peak_mb")),
        bytes: file / u64::from(LARGE),
    }
}

/// How long a fresh process takes to open what a killed one left, and to replay it then.
fn killed(log: &Path) -> (f64, f64) {
    let folder = copy(log);
    process::killed_while_appending(folder.path(), FIRST + LARGE);
    let found = process::measured(folder.path(), Work::Replay);
    assert!(found.get("events") > f64::from(LARGE), "nothing was appended before the kill");
    (found.get("open_s"), found.get("replay_s"))
}

/// The number of the first event.
const FIRST: u32 = 6;

fn copy(log: &Path) -> tempfile::TempDir {
    let folder = history::folder();
    let file = folder.path().join(history::FILE);
    fs::copy(log.join(history::FILE), &file).expect("the build folder has room");
    // What is not on the disk yet would be paid for by whoever syncs first.
    fs::File::open(&file).and_then(|file| file.sync_all()).expect("the disk takes a copy");
    folder
}

/// The folder of a log of so many events, made if it is not there.
fn made(events: u32) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("log-{events}"));
    let recipe = recipe(events);
    if fs::read_to_string(folder.join("recipe")).is_ok_and(|found| found == recipe) {
        return folder;
    }
    eprintln!("making a log of {events} events in {}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the build folder can be written");
    }
    fs::create_dir_all(&folder).expect("the build folder can be written");
    let log = history::open(&folder);
    for first in (FIRST..FIRST + events).step_by(BATCH as usize) {
        history::append(&log, (first..first + BATCH).map(history::numbered).collect());
    }
    drop(log);
    fs::write(folder.join("recipe"), recipe).expect("the build folder can be written");
    folder
}

/// What a log is made of.
fn recipe(events: u32) -> String {
    let sample: Vec<u8> = (FIRST..FIRST + BATCH)
        .map(history::numbered)
        .flat_map(|draft| [draft.stream.clone().into_bytes(), draft.event.encode()].concat())
        .collect();
    let sample = plain_blob_hash(&sample);
    format!("{events} events, {BATCH} a commit, recipe {RECIPE}, log format {FORMAT}, the first of them {sample}\n")
}

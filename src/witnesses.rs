//! What else in a home knows how far its log went: the files that are made of the log, and its backups. A log whose end is lost says
//! nothing of it itself. Nothing is changed here, and what cannot be read is passed over.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use metnos_log::store::{BackupSummary, backup_summary, last_seen};
use serde::Deserialize;

use crate::views;

/// The first line of a checkpoint is shorter.
const LINE_BYTES_MAX: u64 = 1 << 16;

/// A file that was made of so many events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The file.
    pub file: PathBuf,
    /// How many events there were when it was made.
    pub events: u64,
}

/// What a file says of where it stands.
#[derive(Deserialize)]
struct Stands {
    position: u64,
}

/// The file below a data folder that knows of the most events of a log, backups aside.
pub fn farthest(data: &Path, log_id: &str) -> Option<Witness> {
    let folder = data.join("projections");
    let named = |path: &Path| {
        // Whoever opens a pipe waits.
        path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let events = match path.extension()?.to_str()? {
            "jsonl" => first_line(path)?,
            "json" => serde_json::from_slice::<Stands>(&fs::read(path).ok()?).ok()?.position,
            "redb" => views::position(path)?,
            "zst" => path.file_stem()?.to_str()?.parse().ok()?,
            _ => return None,
        };
        Some(Witness { file: path.to_owned(), events })
    };
    let files = [folder.join("moments"), folder].into_iter().flat_map(entries);
    seen_last(data, log_id)
        .into_iter()
        .chain(files.filter_map(|path| named(&path)))
        .max_by_key(|witness| witness.events)
}

/// Where the log's writer saw it last.
fn seen_last(data: &Path, log_id: &str) -> Option<Witness> {
    let log = data.join("log/events.redb");
    Some(Witness { events: last_seen(&log, log_id)?.0, file: log.with_extension("head") })
}

/// The backups of a log below a data folder, the one with the most events first.
pub fn backups(data: &Path, log_id: &str) -> Vec<(PathBuf, BackupSummary)> {
    let kept = data.join("backups");
    let folders = std::iter::once(kept.clone()).chain(entries(kept));
    let own = |folder: PathBuf| {
        let summary = backup_summary(&folder).ok().flatten().filter(|summary| summary.log_id == log_id)?;
        Some((folder, summary))
    };
    let mut found: Vec<_> = folders.filter_map(own).collect();
    found.sort_by_key(|(_, summary)| std::cmp::Reverse(summary.events));
    found
}

fn first_line(path: &Path) -> Option<u64> {
    let mut line = String::new();
    BufReader::new(File::open(path).ok()?.take(LINE_BYTES_MAX)).read_line(&mut line).ok()?;
    Some(serde_json::from_str::<Stands>(&line).ok()?.position)
}

/// What lies in a folder, in order.
fn entries(folder: PathBuf) -> impl Iterator<Item = PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries.into_iter()
}

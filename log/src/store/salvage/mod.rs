//! Salvage: a new log made of what can be proved in the bytes of a damaged one (design 2-log, «Verify, archive, backup»).
//!
//! The old file is read and never opened: redb may refuse it. What goes on from event 1 without a gap is copied as it is, with
//! the same numbers and the same chain. What lies behind the first gap is appended again behind an `epoch_opened` event that
//! lists what was lost. A payload that was erased stays erased, whatever copies of its event are left in the file.

mod known;
mod numbers;
mod rebuild;
mod scan;

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::assemble::AssemblyError;
use super::damage::Damage;
use super::guard::guarded;
use super::open::{self, Fault, LogKeys, OpenError};
use super::withheld::Opened;
use super::{Head, Log, files, rewrite};
use crate::id::{EventId, Micros};
use crate::kept::BlobHash;
use known::Known;
use rebuild::Rebuild;

/// Lines in which the record tells what was lost.
const LINES_MAX: usize = 500;

/// Who salvages, and when: what the record of it says.
#[derive(Clone, Debug)]
pub struct By {
    /// The id of the record.
    pub id: EventId,
    /// When.
    pub time: Micros,
    /// Who.
    pub actor: String,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// Events copied as they are: those up to this number.
    pub copied: u64,
    /// Of them, those up to this number are under a signed checkpoint; that the others were recorded here, the file alone says.
    pub signed: u64,
    /// Events from behind a gap, appended again.
    pub again: u64,
    /// First and last of each run of numbers that were not found.
    pub lost: Vec<(u64, u64)>,
    /// Blobs that were found.
    pub blobs: u64,
    /// Blobs that events name and that were not found.
    pub lost_blobs: Vec<BlobHash>,
    /// Events that look whole and fit no number.
    pub unplaced: u64,
    /// The name of the log.
    pub log_id: String,
    /// The last number of the old log that anything in its files names. What was appended behind it may be lost as well.
    pub last: u64,
    /// Where the new log ends.
    pub head: Head,
}

/// Why there is no new log. The old file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum SalvageError {
    /// A file cannot be read or written.
    #[error("{path} cannot be used")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another process holds the damaged log.
    #[error("{path} is in use by another metnos command")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// There is no event in it.
    #[error("no event of a log is in {path}")]
    Nothing {
        /// The file.
        path: PathBuf,
    },
    /// It is the log of an instance with another key.
    #[error("{path} is the log of another instance: it was begun with the key {recorded}")]
    OtherKey {
        /// The file.
        path: PathBuf,
        /// That key, hexadecimal.
        recorded: String,
    },
    /// The same, where it no longer says which key that is.
    #[error("{path} is the log of another instance: another key signed its checkpoints")]
    OthersNotes {
        /// The file.
        path: PathBuf,
    },
    /// Where the new log is to be there is a file.
    #[error("{path} is there already")]
    Occupied {
        /// The file.
        path: PathBuf,
    },
    /// The new log cannot be written.
    #[error("the new log cannot be written: {0}")]
    Written(String),
    /// The same, by its store.
    #[error("the new log cannot be written: {0}")]
    Store(#[source] Box<redb::Error>),
    /// The new log cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl From<AssemblyError> for SalvageError {
    fn from(error: AssemblyError) -> Self {
        match error {
            AssemblyError::Store(error) => Self::Store(error),
            error => Self::Written(error.to_string()),
        }
    }
}

impl From<Damage> for SalvageError {
    fn from(damage: Damage) -> Self {
        Self::Written(damage.to_string())
    }
}

fn refused(path: &Path) -> impl FnOnce(io::Error) -> SalvageError {
    let path = path.to_owned();
    move |source| SalvageError::Io { path, source }
}

/// Makes a log at `to`, where there must be none, of what is sound in the file `from` and in the archive files beside it. The new
/// log is verified and on disk once this returns; `from` is only read.
pub fn salvage(from: &Path, to: &Path, keys: LogKeys, by: &By) -> Result<Salvaged, SalvageError> {
    if to.exists() {
        return Err(SalvageError::Occupied { path: to.to_owned() });
    }
    refuse_newer(from)?;
    let own_key = crate::hex(keys.signing.verifying_key().as_bytes());
    let bytes = read(from)?;
    let archives = archives(from)?;
    let mut known = Known::default();
    known.take(&scan::scan(&bytes, &keys.blob_key, &keys.signing.verifying_key()), &archives);
    if known.is_empty() {
        return Err(SalvageError::Nothing { path: from.to_owned() });
    }
    if let Some(recorded) = known.public_key.take().filter(|recorded| *recorded != own_key) {
        return Err(SalvageError::OtherKey { path: from.to_owned(), recorded });
    }
    if known.is_others {
        return Err(SalvageError::OthersNotes { path: from.to_owned() });
    }
    let fresh = rewrite::fresh(to);
    drop(fs::remove_file(&fresh));
    let made = make(&known, &bytes, &fresh, keys, by).and_then(|salvaged| {
        // Not over one that appeared meanwhile.
        fs::hard_link(&fresh, to).map_err(refused(to))?;
        Ok(salvaged)
    });
    drop(fs::remove_file(&fresh));
    let salvaged = made?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(refused(to))?;
    Ok(salvaged)
}

/// Refuses what a newer program wrote, which holds more than this one sees. That can be asked of a file that the store still opens;
/// of any other nobody knows. Not a byte of it is changed.
fn refuse_newer(from: &Path) -> Result<(), SalvageError> {
    let asked = guarded(|| match files::open_database(from) {
        Ok(Opened { database, .. }) => open::check_format(&database).err(),
        Err(_) => None,
    });
    match asked {
        Ok(Some(fault @ Fault::Newer(_))) => Err(fault.at(from).into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The file's bytes, while no other process writes to it.
fn read(path: &Path) -> Result<Vec<u8>, SalvageError> {
    // A pipe would be waited for, and a device never ends.
    if !fs::metadata(path).map_err(refused(path))?.is_file() {
        return Err(refused(path)(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")));
    }
    let file = File::open(path).map_err(refused(path))?;
    match file.try_lock_shared() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => return Err(SalvageError::Busy { path: path.to_owned() }),
        Err(fs::TryLockError::Error(error)) => return Err(refused(path)(error)),
    }
    fs::read(path).map_err(refused(path))
}

/// The bytes of every archive file beside a log.
fn archives(from: &Path) -> Result<Vec<Vec<u8>>, SalvageError> {
    let folder = from.parent().unwrap_or(Path::new("")).join("archive");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(refused(&folder)(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(refused(&folder))?.path();
        if path.extension().is_some_and(|extension| extension == "seg") && path.is_file() {
            files.push(fs::read(&path).map_err(refused(&path))?);
        }
    }
    Ok(files)
}

/// Writes the new log beside its place and verifies it.
fn make(known: &Known<'_>, bytes: &[u8], fresh: &Path, keys: LogKeys, by: &By) -> Result<Salvaged, SalvageError> {
    let id = known.log_id().unwrap_or(keys.fresh_id);
    let Opened { database, .. } = open::create(fresh).map_err(|error| SalvageError::Store(Box::new(error)))?;
    let mut salvaged = Rebuild::begin(&database, &id, known, bytes)?.written(by)?;
    drop(database);
    let log = Log::open_as_it_is(fresh, keys)?;
    log.checkpoint().map_err(|error| SalvageError::Written(error.to_string()))?;
    (salvaged.log_id, salvaged.last) = (log.id().to_owned(), known.last());
    salvaged.head = log.reader().verify(|_, _| {})?.head;
    drop(log);
    Ok(salvaged)
}

/// What was lost, in words, one a line.
fn in_words(lost: &[(u64, u64)], blobs: &[BlobHash]) -> Vec<String> {
    let events = lost.iter().map(|(first, last)| match last - first {
        0 => format!("event {first}"),
        _ => format!("events {first} to {last}"),
    });
    let mut lines: Vec<String> = events.chain(blobs.iter().map(|hash| format!("blob {hash}"))).collect();
    if lines.len() > LINES_MAX {
        let more = lines.len() - LINES_MAX;
        lines.truncate(LINES_MAX);
        lines.push(format!("and {more} more"));
    }
    lines
}

/// The numbers up to the last one that are not among those that were found.
fn gaps(found: impl Iterator<Item = u64>, last: u64) -> Vec<(u64, u64)> {
    let mut gaps = Vec::new();
    let mut next = 1;
    for seq in found {
        if seq > next {
            gaps.push((next, seq - 1));
        }
        next = next.max(seq + 1);
    }
    if next <= last {
        gaps.push((next, last));
    }
    gaps
}

/// Segments of plain files count where their digest holds, whatever stands around them.
fn plain_segments(file: &[u8]) -> Vec<&[u8]> {
    scan::segments(file)
}

type Seqs = BTreeSet<u64>;
type Ids = HashSet<EventId>;

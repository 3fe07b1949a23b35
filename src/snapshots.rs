//! Takes the state of a month: from the log, as an event, as a file below the workspace that anyone can read (design
//! 6-memory, «Monthly state»). The file is an export: lost, it is written again; changed, it is found out.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use metnos_log::Micros;
use metnos_log::event::instance::StateSnapshotTaken;
use metnos_log::store::ReadError;
use metnos_projections::views::state::{self, Head, Taken};

use crate::instance::{Instance, InstanceError};
use crate::projector::{self, Until};
use crate::signing::hex;

/// After how many months a file is packed; it is never deleted.
const PLAIN_MONTHS: i32 = 12;
/// How hard a file is packed.
const ZSTD_LEVEL: i32 = 9;

/// Why a state cannot be taken or compared.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The instance failed.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file cannot be read or written.
    #[error("{path} cannot be used")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// How a state that was taken compares with the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the log gives the digest that its event names.
    pub log_agrees: bool,
    /// Whether the file is there.
    pub is_there: bool,
    /// Whether the file holds what the log gives. One that cannot be read does not.
    pub file_agrees: bool,
}

impl Verdict {
    /// Whether everything agrees.
    pub fn is_good(&self) -> bool {
        self.log_agrees && self.is_there && self.file_agrees
    }
}

/// Takes the state of every month that has ended since the last one was taken; their names.
pub fn take_months(instance: &Instance, now: Micros) -> Result<Vec<String>, SnapshotError> {
    let zone = zone(instance);
    let states = instance.projected().states;
    let Some(begun_at) = states.begun_at else { return Ok(Vec::new()) };
    let mut month = first_of_month(begun_at, &zone);
    let current = first_of_month(now.0, &zone);
    let mut taken = Vec::new();
    while let (Some(begun), Some(end)) = (&month, &current) {
        let Ok(next) = begun.checked_add(1.month()) else { break };
        if next > *end {
            break;
        }
        let name = begun.strftime("%Y-%m").to_string();
        if !states.taken.contains_key(&name) {
            take(instance, &name, next.timestamp().as_microsecond() - 1)?;
            taken.push(name);
        }
        month = Some(next);
    }
    pack_old(instance, current.as_ref())?;
    write_missing(instance)?;
    Ok(taken)
}

/// Takes the state as it is now, named by the moment.
pub fn take_now(instance: &Instance, now: Micros) -> Result<String, SnapshotError> {
    let moment = Timestamp::from_microsecond(now.0).unwrap_or_default().to_zoned(zone(instance));
    let name = moment.strftime("%Y-%m-%dT%H-%M-%S").to_string();
    take(instance, &name, now.0)?;
    Ok(name)
}

fn zone(instance: &Instance) -> TimeZone {
    TimeZone::get(&instance.settings.zone).unwrap_or(TimeZone::UTC)
}

fn first_of_month(micros: i64, zone: &TimeZone) -> Option<Zoned> {
    let moment = Timestamp::from_microsecond(micros).ok()?.to_zoned(zone.clone());
    moment.first_of_month().ok()?.start_of_day().ok()
}

/// Takes the state after every event up to `until`, µs.
fn take(instance: &Instance, name: &str, until: i64) -> Result<(), SnapshotError> {
    let (then, head) = projector::at(&instance.log.reader(), Until::Time(until))?;
    let head = Head {
        name: name.to_owned(),
        log: instance.log.id().to_owned(),
        position: then.position,
        head: hex(&head),
        until,
    };
    let text = state::text(&head, &then.catalog, &then.mnestome, &then.schedules);
    write(&file(instance, name), text.as_bytes())?;
    let taken = StateSnapshotTaken {
        name: head.name,
        log: head.log,
        position: head.position,
        head: head.head,
        until: head.until,
        zone: instance.settings.zone.clone(),
        digest: state::digest(&text),
        bytes: text.len() as u64,
    };
    instance.record("instance", vec![taken.into()])?;
    Ok(())
}

/// The text of a state as the log gives it now.
pub fn computed(instance: &Instance, taken: &Taken) -> Result<String, SnapshotError> {
    let (then, head) = projector::at(&instance.log.reader(), Until::Seq(taken.head.position))?;
    let head = Head { head: hex(&head), ..taken.head.clone() };
    Ok(state::text(&head, &then.catalog, &then.mnestome, &then.schedules))
}

/// Writes every file anew as the log gives it now, and packs none: after an erasure no older file may stay.
pub fn write_all(instance: &Instance) -> Result<(), SnapshotError> {
    let folder = folder(instance);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|source| SnapshotError::Io { path: folder, source })?;
    }
    for taken in instance.projected().states.taken.values() {
        write(&file(instance, &taken.head.name), computed(instance, taken)?.as_bytes())?;
    }
    Ok(())
}

/// Computes a state again, and compares its event and its file with that. A missing file is written again.
pub fn verify(instance: &Instance, taken: &Taken) -> Result<Verdict, SnapshotError> {
    let text = computed(instance, taken)?;
    // What was erased since then is not in the text any more, and its digest is another.
    let log_agrees = state::digest(&text) == taken.digest || instance.projected().states.is_erased(taken);
    let found = read(instance, &taken.head.name);
    let is_there = !matches!(found, Ok(None));
    if !is_there && log_agrees {
        write(&file(instance, &taken.head.name), text.as_bytes())?;
    }
    let file_agrees = found.is_ok_and(|found| found.is_none_or(|found| found == text.as_bytes()));
    Ok(Verdict { log_agrees, is_there, file_agrees })
}

/// Writes the files that were lost. What the log does not bear out any more is left to whoever verifies.
fn write_missing(instance: &Instance) -> Result<(), SnapshotError> {
    let is_lost = |taken: &&Taken| {
        let name = &taken.head.name;
        !file(instance, name).exists() && !packed(instance, name).exists()
    };
    for taken in instance.projected().states.taken.values().filter(is_lost) {
        verify(instance, taken)?;
    }
    Ok(())
}

fn folder(instance: &Instance) -> PathBuf {
    instance.dirs.workspace.join(".mnestome/snapshots")
}

/// Where the file of a state lies, unless it was packed.
pub fn file(instance: &Instance, name: &str) -> PathBuf {
    folder(instance).join(format!("{name}.jsonl"))
}

fn packed(instance: &Instance, name: &str) -> PathBuf {
    folder(instance).join(format!("{name}.jsonl.zst"))
}

/// What the file of a state holds; `None` where there is none.
fn read(instance: &Instance, name: &str) -> Result<Option<Vec<u8>>, SnapshotError> {
    for (path, is_packed) in [(file(instance, name), false), (packed(instance, name), true)] {
        let read = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Ok(bytes) if is_packed => zstd::decode_all(bytes.as_slice()),
            other => other,
        };
        return read.map(Some).map_err(|source| SnapshotError::Io { path, source });
    }
    Ok(None)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), SnapshotError> {
    let written = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let fresh = path.with_extension("new");
        fs::write(&fresh, bytes)?;
        fs::rename(&fresh, path)
    };
    written().map_err(|source| SnapshotError::Io { path: path.to_owned(), source })
}

/// Packs the files of months that ended long ago.
fn pack_old(instance: &Instance, current: Option<&Zoned>) -> Result<(), SnapshotError> {
    let Some(border) = current.and_then(|current| current.checked_sub(PLAIN_MONTHS.months()).ok()) else {
        return Ok(());
    };
    let states = instance.projected().states;
    let old = states.taken.values().filter(|taken| taken.head.until < border.timestamp().as_microsecond());
    for name in old.map(|taken| &taken.head.name) {
        let (plain, packed) = (file(instance, name), packed(instance, name));
        let Ok(bytes) = fs::read(&plain) else { continue };
        let smaller = zstd::encode_all(bytes.as_slice(), ZSTD_LEVEL);
        write(&packed, &smaller.map_err(|source| SnapshotError::Io { path: packed.clone(), source })?)?;
        fs::remove_file(&plain).map_err(|source| SnapshotError::Io { path: plain, source })?;
    }
    Ok(())
}

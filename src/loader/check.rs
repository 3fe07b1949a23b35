//! Compares the exported files with the log before a turn: a file that disagrees quarantines its executor, and so does a
//! signature by a key that may not sign any more.

use std::ffi::{CStr, CString};
use std::io;
use std::num::NonZero;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, OnceLock, PoisonError};
use std::thread::available_parallelism;

use metnos_log::Micros;
use metnos_log::event::executor::LifeCycle;
use metnos_log::store::plain_blob_hash;
use metnos_projections::machines::catalog::{Entry, Version};
use rustix::fs::{AtFlags, Mode, OFlags};

use super::{birth, export, lost, quarantine, source};
use crate::builtins;
use crate::cause::plain;
use crate::instance::{Instance, InstanceError};

/// What the owner is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// An executor is quarantined from now on.
    Quarantined {
        /// The executor.
        name: String,
        /// Why.
        reason: String,
    },
    /// Its files were gone as a whole and were written again from the log.
    Restored {
        /// The executor.
        name: String,
    },
}

/// What a file was when its bytes were compared. Whoever changes it, or puts another in its place, changes one of these; the
/// time of the last change to its entry can be set by nobody. What is written through a shared mapping that is older, into a page
/// that was not written back since, shows in none of them until it is; the code that a call runs comes from the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// That of a file below a folder; a link at its end is not followed.
    fn of(folder: BorrowedFd<'_>, path: &CStr) -> Option<Self> {
        let meta = rustix::fs::statat(folder, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Self {
            device: meta.st_dev,
            inode: meta.st_ino,
            bytes: u64::try_from(meta.st_size).ok()?,
            modified: (meta.st_mtime, i64::try_from(meta.st_mtime_nsec).ok()?),
            changed: (meta.st_ctime, i64::try_from(meta.st_ctime_nsec).ok()?),
        })
    }

    /// Whether a change after this moment would have another time: clocks of files go in steps.
    fn is_settled(&self, now: Micros) -> bool {
        let (seconds, nanos) = self.changed;
        seconds.saturating_mul(1_000_000).saturating_add(nanos / 1000) < now.0.saturating_sub(CLOCK_STEP_MICROS)
    }
}

/// The longest step of a file system's clock.
const CLOCK_STEP_MICROS: i64 = 50_000;

/// The files of one executor and their version's folder, and their stamps once all of them were what the log holds.
///
/// A folder that a link took the place of may hold the very same files. The version's own folder has a stamp for that; what
/// takes the place of a folder in it changes it; and what takes the place of the executor's folder changes that of all
/// executors, so that [`Seen`] looks at the executors' folders only where that one changed.
#[derive(Debug)]
struct Watched {
    name: String,
    version: String,
    /// Below the folder of all executors: the way to that is gone once a pass, not once a file.
    files: Vec<CString>,
    stamps: Vec<Stamp>,
    /// Its folder, which holds that of the version.
    folder: CString,
    folder_stamp: Option<Stamp>,
}

impl Watched {
    fn of(name: &str, number: &str, version: &Version) -> Self {
        let artefacts = version.installed.iter().flat_map(|installed| &installed.artefacts);
        let files = artefacts.map(|artefact| format!("{name}/{number}/{}", artefact.file));
        let files = files.chain([format!("{name}/CURRENT"), format!("{name}/{number}")]);
        // No name of the vocabulary holds a zero; of one that did, no file is ever there.
        let path = |file: String| CString::new(file).unwrap_or_default();
        Self {
            name: name.to_owned(),
            version: number.to_owned(),
            files: files.map(path).collect(),
            stamps: Vec::new(),
            folder: path(name.to_owned()),
            folder_stamp: None,
        }
    }

    fn look(&self, executors: BorrowedFd<'_>) -> Look {
        let mut known = self.stamps.iter();
        let is_same =
            |path: &CString| known.next().is_some_and(|known| Stamp::of(executors, path).as_ref() == Some(known));
        if self.files.iter().all(is_same) {
            return Look::Same;
        }
        Look::Other(self.files.iter().map(|path| Stamp::of(executors, path)).collect())
    }
}

/// What a look at the files of one executor shows.
enum Look {
    /// All of them are as they were when they were read.
    Same,
    /// They have these stamps by now; none where one of them is not there.
    Other(Option<Vec<Stamp>>),
}

/// Below so many executors, a thread takes longer to start than to look at them.
const PER_THREAD: usize = 64;
/// How many are looked at at once: whichever thread is free takes the next, so that none waits for one that comes late.
const PART: usize = 8;

/// A look at each, in order. Asking a file system for a stamp takes its time and no other processor's.
fn looks(executors: BorrowedFd<'_>, watched: &[Watched]) -> Vec<Look> {
    static THREADS: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, NonZero::get));
    let look = |part: &[Watched]| part.iter().map(|watched| watched.look(executors)).collect::<Vec<_>>();
    let parts: Vec<(&[Watched], OnceLock<Vec<_>>)> = watched.chunks(PART).map(|part| (part, OnceLock::new())).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((part, found)) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Each number is taken once.
            found.set(look(part)).ok();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..(*THREADS).min(watched.len() / PER_THREAD) {
            // Where there is no thread to be had, all is done here.
            std::thread::Builder::new().spawn_scoped(scope, work).ok();
        }
        work();
    });
    parts.into_iter().flat_map(|(part, found)| found.into_inner().unwrap_or_else(|| look(part))).collect()
}

/// What this process knows of the executors' files.
#[derive(Debug, Default)]
pub struct Seen {
    /// The catalog that the list was made from.
    generation: Option<u64>,
    executors: Vec<Watched>,
    /// The folder of all executors when their folders were last looked at.
    folder: Option<Stamp>,
}

impl Seen {
    /// Brings the list to what is active now; what stays keeps its stamps.
    fn follow(&mut self, instance: &Instance) {
        let catalog = instance.catalog();
        if self.generation == Some(catalog.generation) {
            return;
        }
        let mut before = std::mem::take(&mut self.executors);
        let has_files = |(name, _, version): &(&str, &str, &Version)| !builtins::is_builtin(name, version);
        let watched = |(name, number, version): (&str, &str, &Version)| {
            let same = |watched: &Watched| watched.name == name && watched.version == number;
            let known = before.iter().position(same).map(|place| before.swap_remove(place));
            known.unwrap_or_else(|| Watched::of(name, number, version))
        };
        self.executors = catalog.all_active().filter(has_files).map(watched).collect();
        self.generation = Some(catalog.generation);
    }
}

/// Checks every active executor; what was found is recorded before this returns. Files are read where they are not the ones
/// that were read before.
pub fn all(instance: &Instance) -> Result<Vec<Notice>, InstanceError> {
    let mut seen = instance.executors.lock().unwrap_or_else(PoisonError::into_inner);
    seen.follow(instance);
    let catalog = instance.catalog();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // Where it cannot be opened nothing in it has a stamp, and each executor is looked at by itself.
    let executors = rustix::fs::open(instance.dirs.workspace.join("executors"), flags, Mode::empty()).ok();
    let stamp = |path: &CStr| executors.as_ref().and_then(|executors| Stamp::of(executors.as_fd(), path));
    // Taken before anything is looked at or read: what changes from here on has another stamp.
    let now = crate::instance::now();
    let folder = stamp(c".");
    let is_same_folder = folder.is_some() && folder == seen.folder;
    let looks = executors.as_ref().map_or_else(Vec::new, |executors| looks(executors.as_fd(), &seen.executors));
    let looks = looks.into_iter().chain(std::iter::repeat_with(|| Look::Other(None)));
    let mut notices = Vec::new();
    for (watched, look) in seen.executors.iter_mut().zip(looks) {
        // Whatever its files are: whoever signed them is not trusted any more.
        if let Some(reason) = catalog.taint(&watched.name, &watched.version) {
            if quarantine(instance, &watched.name, &reason, "loader")? {
                notices.push(Notice::Quarantined { name: watched.name.clone(), reason });
            }
            continue;
        }
        let own = if is_same_folder { watched.folder_stamp } else { None }.or_else(|| stamp(&watched.folder));
        let stamps = match look {
            Look::Same if own.is_some() && own == watched.folder_stamp => continue,
            // Whoever put another folder there may have put the same files into it.
            Look::Same => Some(watched.stamps.clone()),
            Look::Other(stamps) => stamps,
        };
        watched.stamps.clear();
        watched.folder_stamp = None;
        match one(instance, &watched.name)? {
            None => {
                watched.stamps = stamps.filter(|all| all.iter().all(|stamp| stamp.is_settled(now))).unwrap_or_default();
                watched.folder_stamp = own.filter(|stamp| stamp.is_settled(now));
            }
            Some(notice) => notices.push(notice),
        }
    }
    seen.folder = folder.filter(|stamp| stamp.is_settled(now));
    Ok(notices)
}

/// Compares the files of one with the log.
fn one(instance: &Instance, name: &str) -> Result<Option<Notice>, InstanceError> {
    let folder = instance.dirs.workspace.join("executors").join(name);
    let catalog = instance.catalog();
    let Some(entry) = catalog.executors.get(name) else { return Ok(None) };
    let mut restored = None;
    let found = match difference(entry, &folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let reason = lost::reason(instance, entry)?;
            if reason.is_none() {
                export::executor(instance, name)?;
                restored = Some(Notice::Restored { name: name.to_owned() });
            }
            reason
        }
        Err(error) => Some(format!("its files cannot be read: {}", plain(&error))),
    };
    let found = match found {
        None => birth::stale(instance, name)?,
        found => found,
    };
    Ok(match found {
        Some(reason) if quarantine(instance, name, &reason, "loader")? => {
            Some(Notice::Quarantined { name: name.to_owned(), reason })
        }
        Some(_) | None => restored,
    })
}

/// The first file that is not what the log holds.
fn difference(entry: &Entry, folder: &Path) -> io::Result<Option<String>> {
    let Some(current) = entry.current.as_deref() else { return Ok(None) };
    let Some(installed) = entry.versions.get(current).and_then(|version| version.installed.as_ref()) else {
        return Ok(None);
    };
    if let Some(link) = export::folders(folder, current).into_iter().find(|folder| folder.is_symlink()) {
        let shown = folder.parent().and_then(|above| link.strip_prefix(above).ok()).unwrap_or(&link);
        return Ok(Some(format!("{} is a link in the place of a folder that was written here", shown.display())));
    }
    // An export that a crash cut short, or that someone removed as a whole, is made again: the log holds all of it.
    if !folder.join(current).exists() || !folder.join("CURRENT").exists() {
        return Err(io::ErrorKind::NotFound.into());
    }
    // A link is not what was exported, and what it leads to could change unseen.
    let read = |path: &Path| source::bounded(path, OFlags::NOFOLLOW, source::FILE_BYTES_MAX);
    if read(&folder.join("CURRENT"))?.trim_ascii_end() != current.as_bytes() {
        return Ok(Some(format!("CURRENT does not say {current}, the version that was promoted")));
    }
    for artefact in &installed.artefacts {
        let path = folder.join(current).join(&artefact.file);
        let what = match read(&path) {
            Ok(bytes) if plain_blob_hash(&bytes) == artefact.blob => continue,
            Ok(_) => "is not the file that was signed".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => "is missing".to_owned(),
            Err(error) => format!("cannot be read: {}", plain(&error)),
        };
        return Ok(Some(format!("{current}/{} {what}", artefact.file)));
    }
    Ok(None)
}

/// Why an executor may not be called, for those that are quarantined.
pub fn quarantined(instance: &Instance) -> Vec<(String, String)> {
    let catalog = instance.catalog();
    let standing = catalog.executors.iter().filter(|(_, entry)| entry.life == LifeCycle::Quarantined);
    standing.map(|(name, entry)| (name.clone(), entry.reason.clone())).collect()
}

//! The creation of a log's file: it is there whole, or not there at all.
//!
//! redb refuses a file whose creation was cut short, and could not tell it from a foreign one. So a new log is made beside
//! its place, under a lock, and moved there once it is on disk; what an interrupted creation left is written over.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Instant;

use redb::backends::FileBackend;

use super::open::{Fault, RETRY, prepare};
use super::withheld::Opened;
use super::{OpenError, restore, seen};

/// What the file is called until it is whole.
const EXTENSION: &str = "redb.new";

/// Makes the log of that name and returns it open; `None` where there is one already, of this or of another process.
pub(super) fn unless_there(path: &Path, fresh_id: &[u8; 16], until: Instant) -> Result<Option<Opened>, OpenError> {
    if holds_bytes(path) {
        return Ok(None);
    }
    let failed = |source| OpenError::Io { path: path.to_owned(), source };
    let unfinished = restore::unfinished(path);
    if unfinished.symlink_metadata().is_ok() {
        return Err(OpenError::Unrestored { path: path.to_owned(), unfinished });
    }
    let beside = path.with_extension(EXTENSION);
    let file = locked(&beside, until).map_err(failed)?.ok_or_else(|| OpenError::Busy { path: path.to_owned() })?;
    if holds_bytes(path) {
        // Another process was first. The name may be one that this one just made; nobody who finds it writes to it.
        fs::remove_file(&beside)
            .or_else(|error| if is_missing(&error) { Ok(()) } else { Err(error) })
            .map_err(failed)?;
        return Ok(None);
    }
    if seen::was_seen(path) {
        // A log that was lost must not be followed by an empty one that says nothing of it.
        fs::remove_file(&beside).map_err(failed)?;
        return Err(OpenError::Away { path: path.to_owned(), beside: seen::beside(path) });
    }
    file.set_len(0).map_err(failed)?;
    let created = || -> Result<Opened, Fault> {
        let opened = Opened::made_on(FileBackend::new(file)?)?;
        prepare(&opened.database, fresh_id)?;
        Ok(opened)
    };
    let opened = created().map_err(|fault| fault.at(path))?;
    fs::rename(&beside, path).map_err(failed)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(Some(opened))
}

fn holds_bytes(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0)
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// The file, locked; `None` while another process holds it for too long.
fn locked(path: &Path, until: Instant) -> io::Result<Option<File>> {
    let file = File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(RETRY),
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

//! What is done to the file system beside redb, in one place: written, synced, renamed. Whoever writes plain files goes through
//! here, so that a test knows the order and can say what a power cut leaves of it.
//!
//! Nothing here is durable by itself: bytes are after [`Plain::sync`], names after [`sync_folder`].

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use redb::DatabaseError;
use redb::backends::FileBackend;

#[cfg(test)]
use super::faults::journal;
use super::withheld::Opened;

/// A folder that is one writer's for as long as this is held; none while it is another's. Nothing is left behind: it is the folder
/// itself that is locked. Where a file system knows no locks, it is everybody's.
pub(super) fn hold(folder: &Path) -> io::Result<Option<File>> {
    let held = File::open(folder)?;
    match held.try_lock() {
        Ok(()) => Ok(Some(held)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(Some(held)),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Opens a file to read it. A folder is none; nor is a pipe or a device, which might be waited for in vain.
pub(super) fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file"))
    }
}

/// All bytes of a file; see [`open`].
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A plain file that is written.
pub(super) struct Plain {
    file: File,
    #[cfg(test)]
    noted: Option<journal::Noted>,
}

impl Plain {
    /// An empty one, in the place of what is there.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(Self {
            file,
            #[cfg(test)]
            noted: journal::opened(path, true),
        })
    }

    /// What is there, or an empty one; written to at its end.
    pub(super) fn append(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        Ok(Self {
            file,
            #[cfg(test)]
            noted: journal::opened(path, false),
        })
    }

    pub(super) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        #[cfg(test)]
        if let Some(noted) = &self.noted {
            noted.wrote(self.file.metadata()?.len(), bytes);
        }
        self.file.write_all(bytes)
    }

    pub(super) fn set_len(&mut self, length: u64) -> io::Result<()> {
        #[cfg(test)]
        if let Some(noted) = &self.noted {
            noted.cut(length);
        }
        self.file.set_len(length)
    }

    /// Once this returns, what was written stays. The name may not: see [`sync_folder`].
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()?;
        #[cfg(test)]
        if let Some(noted) = &self.noted {
            noted.synced();
        }
        Ok(())
    }
}

/// The file that a name leads to: what takes its place is renamed over the file itself, since over a link it would only hide it.
pub(super) fn followed(path: &Path) -> io::Result<PathBuf> {
    if path.is_symlink() { fs::canonicalize(path) } else { Ok(path.to_owned()) }
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(test)]
    journal::renamed(from, to);
    fs::rename(from, to)
}

pub(super) fn link(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)?;
    #[cfg(test)]
    journal::linked(from, to);
    Ok(())
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    #[cfg(test)]
    journal::removed(path);
    Ok(())
}

/// Once this returns, the names in a folder stay as they are.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()?;
    #[cfg(test)]
    journal::folder_synced(folder);
    Ok(())
}

/// Makes a folder and those above it, and syncs the names of those that were not there.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for made in missing.into_iter().rev() {
        #[cfg(test)]
        journal::folder_made(made);
        sync_folder(made.parent().unwrap_or(Path::new("")))?;
    }
    Ok(())
}

/// A new file for a copy of a log: for its owner alone, wherever it is to lie.
pub(super) fn create_database(path: &Path) -> Result<Opened, DatabaseError> {
    #[cfg(test)]
    if let Some(backend) = journal::backend(path, true) {
        return Opened::made_on(backend?);
    }
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    Opened::made_on(FileBackend::new(file)?)
}

/// The file of a log that is there. What opening it writes waits, until somebody knows what it is.
pub(super) fn open_database(path: &Path) -> Result<Opened, DatabaseError> {
    #[cfg(test)]
    if let Some(backend) = journal::backend(path, false) {
        return Opened::on(backend?);
    }
    let refused = |error: io::Error| DatabaseError::Storage(redb::StorageError::Io(error));
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(refused)?;
    if file.metadata().map_err(refused)?.len() == 0 {
        // In an empty one redb would begin a new log.
        return Err(refused(io::Error::new(io::ErrorKind::InvalidData, "the file is empty")));
    }
    Opened::on(FileBackend::new(file)?)
}

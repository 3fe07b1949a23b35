//! The lock file of a cage: held by its helper until nothing of it lives, so that recovery can wait for that.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;

/// How long a cage that was to be this call's and could not be may take to let go of the lock.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a held lock is tried again.
const RETRY: Duration = Duration::from_millis(5);

/// The name of a lock file, which is removed with this.
#[derive(Debug)]
pub(super) struct LockFile(PathBuf);

impl LockFile {
    /// Makes the file and locks it. The lock goes with the descriptor: it holds while this process or the helper that it is
    /// handed to has it open, on its way between them too.
    pub(super) fn create(path: PathBuf) -> io::Result<(Self, File)> {
        let file = create(&path)?;
        Ok((Self(path), file))
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::debug!(%error, "a cage's lock file was gone already");
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    let until = Instant::now() + PATIENCE;
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(RETRY),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until no cage whose lock file lies in a folder is alive, and removes their files. Returns those that still live
/// when the time is over; a folder that is not there has none.
///
/// # Errors
/// The folder cannot be read or a file in it cannot be opened.
pub fn settle(folder: &Path, patience: Duration) -> io::Result<Vec<PathBuf>> {
    let deadline = Instant::now() + patience;
    let mut alive = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(alive),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "lock") && !released(&path, deadline)? {
            alive.push(path);
        }
    }
    Ok(alive)
}

fn released(path: &Path, deadline: Instant) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                return match std::fs::remove_file(path) {
                    // Whoever held it was quicker.
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    Ok(()) | Err(_) => Ok(true),
                };
            }
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < deadline => {
                std::thread::sleep(RETRY);
            }
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_alive_and_a_released_one_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(settle(&folder.path().join("absent"), Duration::ZERO).unwrap(), Vec::<PathBuf>::new());
        let path = folder.path().join("trace.lock");
        let held = create(&path).unwrap();
        assert!(create(&path).is_err(), "two cages cannot share a lock");
        let (leaving, to) = (create(&folder.path().join("other.lock")).unwrap(), folder.path().join("other.lock"));
        let left = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(leaving);
        });
        create(&to).expect("whoever lets go of it soon is waited for");
        left.join().unwrap();
        std::fs::remove_file(to).unwrap();
        assert_eq!(settle(folder.path(), Duration::from_millis(10)).unwrap(), vec![path.clone()]);
        drop(held);
        assert_eq!(settle(folder.path(), Duration::ZERO).unwrap(), Vec::<PathBuf>::new());
        assert!(!path.exists());
    }
}

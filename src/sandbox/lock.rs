//! The lock file of a cage: held by its helper until nothing of it lives, so that recovery can wait for that.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;

/// Makes the file and locks it. The lock goes with the descriptor: it holds while this process or the helper that it is
/// handed to has it open, on its way between them too.
pub(super) fn create(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
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
                std::fs::remove_file(path)?;
                return Ok(true);
            }
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
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
        assert_eq!(settle(folder.path(), Duration::from_millis(10)).unwrap(), vec![path.clone()]);
        drop(held);
        assert_eq!(settle(folder.path(), Duration::ZERO).unwrap(), Vec::<PathBuf>::new());
        assert!(!path.exists());
    }
}

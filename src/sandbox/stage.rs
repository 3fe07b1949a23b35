//! The staging folder as the daemon sees it once the cage is gone: bytes that an executor wants committed, read through
//! the folder's descriptor, never by following a name out of it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags};

/// A staging folder.
#[derive(Debug)]
pub struct Stage {
    folder: OwnedFd,
    /// A real folder that is removed with this value, where the cage had no private file system.
    _scratch: Option<Scratch>,
}

/// A folder that is removed when its owner goes.
#[derive(Debug)]
pub(super) struct Scratch(pub(super) PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(folder = %self.0.display(), %error, "a scratch folder stays behind");
        }
    }
}

impl Stage {
    pub(super) fn new(folder: OwnedFd, scratch: Option<Scratch>) -> Self {
        Self { folder, _scratch: scratch }
    }

    /// Reads one staged file whole. `name` may have folders in it; links are not followed and only regular files are read.
    ///
    /// # Errors
    /// It is not there, is no regular file, leads out of the stage, or is longer than `max` bytes.
    pub fn read(&self, name: &str, max: u64) -> io::Result<Vec<u8>> {
        let file = self.open(name)?;
        let mut bytes = Vec::new();
        let read = file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
        if read as u64 > max {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "a staged file is longer than allowed"));
        }
        Ok(bytes)
    }

    /// Opens one staged file for reading, under the rules of [`Stage::read`].
    ///
    /// # Errors
    /// The same.
    pub fn open(&self, name: &str) -> io::Result<File> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let file = File::from(rustix::fs::openat2(self.folder.as_fd(), name, flags, Mode::empty(), resolve)?);
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "a staged name is no regular file"))
        }
    }

    /// Names and lengths of the regular files directly in the stage, sorted.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list(&self) -> io::Result<Vec<(String, u64)>> {
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.folder)? {
            let entry = entry?;
            let stat = rustix::fs::statat(&self.folder, entry.file_name(), rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
                found
                    .push((entry.file_name().to_string_lossy().into_owned(), u64::try_from(stat.st_size).unwrap_or(0)));
            }
        }
        found.sort();
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(folder: &std::path::Path) -> Stage {
        Stage::new(File::open(folder).unwrap().into(), None)
    }

    #[test]
    fn reads_what_was_staged_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a b\n🦀"), b"staged").unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("sub/c"), b"deep").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("/etc", folder.path().join("sub/etc")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, folder.path().join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let stage = stage(folder.path());
        assert_eq!(stage.read("a b\n🦀", 100).unwrap(), b"staged");
        assert_eq!(stage.read("sub/c", 4).unwrap(), b"deep");
        assert_eq!(stage.read("sub/c", 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        for name in ["link", "sub/etc/hostname", "../x", "/etc/hostname", "fifo", "sub", "absent", ""] {
            assert!(stage.read(name, 100).is_err(), "{name}");
        }
        assert_eq!(stage.list().unwrap(), vec![("a b\n🦀".to_owned(), 6)]);
    }
}

//! Makes one planned change: beside its target under a name of its own, synced, then renamed over it.
//!
//! After a crash the same call recognises from the disk alone whether the change was made, and finishes it if it was not.
//! No link is followed, and a target that changed since it was planned is left as it is.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use metnos_log::BlobHash;
use metnos_log::event::turn::PlannedOp;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::plan::{look, target_path};
use crate::gateway::targets::said;

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Made now.
    Done,
    /// Made before; nothing was done.
    FoundDone,
    /// Not made: class, and key of the reason.
    Failed(String, String),
}

impl Outcome {
    /// Its name in events.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::FoundDone => "found_done",
            Self::Failed(..) => "failed",
        }
    }
}

/// Makes the change, or finds that it was made. `content` are the new bytes; `key` names the temporary file.
pub fn commit(op: &PlannedOp, content: &[u8], key: &str) -> Outcome {
    let path = target_path(op);
    match try_commit(op, &path, content, key) {
        Ok(outcome) => outcome,
        Err(Fault::System(error)) => failed(error),
        Err(Fault::Io(error)) => match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(error) => failed(error),
            None => Outcome::Failed("operation_failed".to_owned(), format!("system: {error}")),
        },
    }
}

fn failed(error: Errno) -> Outcome {
    let (class, reason) = said(error);
    Outcome::Failed(class.to_owned(), reason)
}

enum Fault {
    System(Errno),
    Io(io::Error),
}

impl From<Errno> for Fault {
    fn from(error: Errno) -> Self {
        Self::System(error)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn try_commit(op: &PlannedOp, path: &Path, content: &[u8], key: &str) -> Result<Outcome, Fault> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(Fault::System(Errno::INVAL)) };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let temporary = std::ffi::OsString::from(format!(".metnos-{key}.tmp"));
    // What a killed attempt left behind under this very name is nobody else's.
    match rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(other) => return Err(other.into()),
    }
    let now = look(path)?.image;
    if now.hash.is_some() && now.hash == op.after && now.hash != op.before.hash {
        return Ok(Outcome::FoundDone);
    }
    if (now.kind.as_str(), now.hash) != (op.before.kind.as_str(), op.before.hash) {
        return Ok(Outcome::Failed("target_changed".to_owned(), "changed".to_owned()));
    }
    let written = write_beside(op, &folder, path, &temporary, content).and_then(|file| {
        let rename = if op.before.kind == "absent" { RenameFlags::NOREPLACE } else { RenameFlags::empty() };
        match rustix::fs::renameat_with(&folder, &temporary, &folder, name, rename) {
            Err(Errno::INVAL) => rustix::fs::renameat(&folder, &temporary, &folder, name)?,
            other => other?,
        }
        drop(file);
        Ok(())
    });
    if let Err(fault) = written {
        // The target is untouched; the temporary file must not stay. A second failure here adds nothing to the first.
        rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty()).ok();
        return Err(fault);
    }
    sync_folder(path)?;
    Ok(Outcome::Done)
}

fn write_beside(
    op: &PlannedOp,
    folder: &rustix::fd::OwnedFd,
    path: &Path,
    temporary: &std::ffi::OsStr,
    content: &[u8],
) -> Result<File, Fault> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let exists = op.before.kind == "file";
    let mode = if exists { Mode::from_raw_mode(0o600) } else { Mode::from_raw_mode(0o666) };
    let mut file = File::from(rustix::fs::openat(folder, temporary.as_bytes(), flags, mode)?);
    if exists && op.op == "append" {
        io::copy(&mut File::open(path)?, &mut file)?;
    }
    file.write_all(content)?;
    if exists {
        let metadata = rustix::fs::stat(path)?;
        let (uid, gid) = (rustix::fs::Uid::from_raw(metadata.st_uid), rustix::fs::Gid::from_raw(metadata.st_gid));
        match rustix::fs::fchown(&file, Some(uid), Some(gid)) {
            // An ordinary user writes a group's file under his own name: what every editor does.
            Ok(()) | Err(Errno::PERM) => {}
            Err(other) => return Err(other.into()),
        }
        rustix::fs::fchmod(&file, Mode::from_raw_mode(op.before.mode))?;
    }
    file.sync_all()?;
    Ok(file)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems cannot sync a folder; the rename itself has happened.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

/// The name of the temporary file of one change: derived, so that recovery finds what a killed attempt left.
pub fn key(trace_id: &str, index: u32) -> String {
    let hash = blake3::hash(format!("{trace_id}/{index}").as_bytes());
    BlobHash(*hash.as_bytes()).to_string()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use metnos_log::event::turn::BeforeImage;
    use metnos_log::store::plain_blob_hash;

    use super::*;

    fn op(path: &Path, kind: &str, before: BeforeImage, whole: &[u8]) -> PlannedOp {
        PlannedOp {
            op: kind.to_owned(),
            path: path.to_string_lossy().into_owned(),
            path_b64: None,
            content: None,
            bytes: 0,
            if_exists: "replace".to_owned(),
            before,
            after: Some(plain_blob_hash(whole)),
            trouble: None,
        }
    }

    struct Scratch(tempfile::TempDir);

    impl Scratch {
        fn file(&self) -> std::path::PathBuf {
            self.0.path().canonicalize().unwrap().join("f.txt")
        }

        fn leftovers(&self) -> usize {
            std::fs::read_dir(self.0.path())
                .unwrap()
                .filter(|entry| entry.as_ref().unwrap().file_name() != "f.txt")
                .count()
        }
    }

    fn scratch() -> Scratch {
        Scratch(tempfile::tempdir().unwrap())
    }

    #[test]
    fn a_change_is_made_once_and_recognised() {
        let scratch = scratch();
        let file = scratch.file();
        let op = op(&file, "write", look(&file).unwrap().image, b"new");
        assert_eq!(commit(&op, b"new", "k"), Outcome::Done);
        assert_eq!(commit(&op, b"new", "k"), Outcome::FoundDone);
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert_eq!(scratch.leftovers(), 0);
    }

    #[test]
    fn appending_keeps_mode_and_is_not_done_twice() {
        let scratch = scratch();
        let file = scratch.file();
        std::fs::write(&file, "one\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let op = op(&file, "append", look(&file).unwrap().image, b"one\ntwo\n");
        assert_eq!(commit(&op, b"two\n", "k"), Outcome::Done);
        assert_eq!(commit(&op, b"two\n", "k"), Outcome::FoundDone);
        assert_eq!(std::fs::read(&file).unwrap(), b"one\ntwo\n");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_target_that_changed_is_left_alone() {
        let scratch = scratch();
        let file = scratch.file();
        let op = op(&file, "write", look(&file).unwrap().image, b"new");
        std::fs::write(&file, "someone else").unwrap();
        assert!(matches!(commit(&op, b"new", "k"), Outcome::Failed(class, _) if class == "target_changed"));
        assert_eq!(std::fs::read(&file).unwrap(), b"someone else");
    }

    #[test]
    fn a_folder_that_became_a_link_is_not_followed() {
        let scratch = scratch();
        let root = scratch.0.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        symlink(root.join("real"), root.join("way")).unwrap();
        let op = op(
            &root.join("way/f.txt"),
            "write",
            BeforeImage { kind: "absent".to_owned(), ..BeforeImage::default() },
            b"x",
        );
        assert!(matches!(commit(&op, b"x", "k"), Outcome::Failed(..)));
        assert!(!root.join("real/f.txt").exists());
    }

    #[test]
    fn what_a_killed_attempt_left_is_cleared() {
        let scratch = scratch();
        let file = scratch.file();
        std::fs::write(file.with_file_name(".metnos-k.tmp"), "half").unwrap();
        let op = op(&file, "write", look(&file).unwrap().image, b"whole");
        assert_eq!(commit(&op, b"whole", "k"), Outcome::Done);
        assert_eq!(std::fs::read(&file).unwrap(), b"whole");
        assert_eq!(scratch.leftovers(), 0);
    }
}

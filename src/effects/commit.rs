//! Makes one planned change: new bytes beside their target under a name of their own, synced, then renamed over it; names
//! by calls that replace nothing.
//!
//! After a crash the same call recognises from the disk alone whether the change was made, and finishes it if it was not.
//! No link is followed, and a target that changed since it was planned is left as it is.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use metnos_log::BlobHash;
use metnos_log::event::turn::PlannedOp;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::disk::{born_ns, dst_path, glance, glance_like, is_same, look, may_be, target_path};
use super::relocate::relocate;
use super::{copy, trash};
use crate::cause::plain;
use crate::gateway::targets::said;

/// The most folders that are held open at once.
const HELD_MAX: usize = 128;

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

/// What a run of changes shares: folders held open, and folders whose changed names are not on disk yet.
#[derive(Debug, Default)]
pub struct Hands {
    folders: HashMap<PathBuf, Rc<OwnedFd>>,
    touched: BTreeSet<PathBuf>,
    is_again: bool,
}

impl Hands {
    /// For changes that an earlier process may have made: what is found made is theirs.
    pub fn again(is_again: bool) -> Self {
        Self { is_again, ..Self::default() }
    }

    /// A folder, opened without following a link anywhere on the way.
    pub(super) fn folder(&mut self, path: &Path) -> Result<Rc<OwnedFd>, Fault> {
        if let Some(held) = self.folders.get(path) {
            return Ok(Rc::clone(held));
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let held = Rc::new(rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?);
        if self.folders.len() >= HELD_MAX {
            self.folders.clear();
        }
        self.folders.insert(path.to_owned(), Rc::clone(&held));
        Ok(held)
    }

    /// Names in the folder of this path changed.
    pub(super) fn touched(&mut self, path: &Path) {
        self.touched.extend(path.parent().map(Path::to_owned));
    }

    /// A folder is not what it was under this name: nothing below it is held any longer.
    fn forget(&mut self, path: &Path) {
        self.folders.retain(|held, _| !held.starts_with(path));
    }

    /// Brings every changed name to the disk. Before this returns, no change counts as made.
    pub fn settle(&mut self) -> io::Result<()> {
        for folder in std::mem::take(&mut self.touched) {
            match sync_folder(&folder) {
                // A later change of the same run took it away; its own folder is synced for that.
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                other => other?,
            }
        }
        Ok(())
    }
}

/// Makes the change, or finds that it was made. `content` are the new bytes; `key` names temporary files. It is on disk
/// once the hands are settled.
pub fn commit(hands: &mut Hands, op: &PlannedOp, content: &[u8], key: &str) -> Outcome {
    let path = target_path(op);
    let made = match (op.op.as_str(), op.to.as_deref()) {
        ("write" | "append", _) => try_commit(op, &path, content, key),
        ("mkdir", _) => make_folder(hands, op, &path),
        ("move", _) => moved(hands, op, &path, key),
        ("delete", Some("trash")) => into_trash(hands, op, &path, key),
        ("delete", _) => remove(hands, op, &path),
        ("restore", _) => out_of_trash(hands, op, &path, key),
        ("link", _) => link(hands, op, &path),
        ("set_mode", _) => set_mode(op, &path),
        _ => Ok(Outcome::Failed("contract_violation".to_owned(), format!("unknown_change: {}", op.op))),
    };
    match made {
        Ok(outcome) => outcome,
        Err(Fault::Changed) => changed(),
        Err(Fault::Place(reason)) => Outcome::Failed("target_changed".to_owned(), reason),
        Err(Fault::System(error)) => failed(error),
        Err(Fault::Io(error)) => match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(error) => failed(error),
            None => Outcome::Failed("operation_failed".to_owned(), format!("system: {}", plain(&error))),
        },
    }
}

fn changed() -> Outcome {
    Outcome::Failed("target_changed".to_owned(), "changed".to_owned())
}

fn moved(hands: &mut Hands, op: &PlannedOp, path: &Path, key: &str) -> Result<Outcome, Fault> {
    let outcome = relocate(hands, &op.before, path, &dst_path(op), key)?;
    if op.before.kind == "folder" {
        hands.forget(path);
    }
    Ok(outcome)
}

fn into_trash(hands: &mut Hands, op: &PlannedOp, path: &Path, key: &str) -> Result<Outcome, Fault> {
    let place = dst_path(op);
    if glance(&place)?.kind == "absent" {
        trash::announce(&place, path)?;
    }
    let outcome = moved(hands, op, path, key);
    if !matches!(outcome, Ok(Outcome::Done | Outcome::FoundDone)) && glance(&place)?.kind == "absent" {
        trash::withdraw(&place)?;
    }
    outcome
}

fn out_of_trash(hands: &mut Hands, op: &PlannedOp, path: &Path, key: &str) -> Result<Outcome, Fault> {
    let outcome = moved(hands, op, path, key)?;
    if matches!(outcome, Outcome::Done | Outcome::FoundDone) {
        trash::withdraw(path)?;
    }
    Ok(outcome)
}

/// The folder that a path's last name stands in, and that name.
fn place_of<'p>(hands: &mut Hands, path: &'p Path) -> Result<(Rc<OwnedFd>, &'p std::ffi::OsStr), Fault> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(Fault::System(Errno::INVAL)) };
    Ok((hands.folder(folder)?, name))
}

fn make_folder(hands: &mut Hands, op: &PlannedOp, path: &Path) -> Result<Outcome, Fault> {
    let (folder, name) = place_of(hands, path)?;
    hands.forget(path);
    let outcome = match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
        Ok(()) => Outcome::Done,
        Err(Errno::EXIST) if hands.is_again && glance(path)?.kind == "folder" => Outcome::FoundDone,
        Err(other) => return Err(other.into()),
    };
    // Of one that was found, a crash may have come between making it and setting its mode; an empty one is ours.
    let is_ours = outcome == Outcome::Done || std::fs::read_dir(path)?.next().is_none();
    if let Some(mode) = op.mode.filter(|_| is_ours) {
        let held =
            rustix::fs::openat(&folder, name, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        rustix::fs::fchmod(&held, Mode::from_raw_mode(mode))?;
    }
    hands.touched(path);
    Ok(outcome)
}

/// Deletes for good: a file or link that is what it was, a folder that is empty.
fn remove(hands: &mut Hands, op: &PlannedOp, path: &Path) -> Result<Outcome, Fault> {
    let (folder, name) = place_of(hands, path)?;
    let now = glance_like(path, &op.before)?;
    if now.kind == "absent" {
        return Ok(Outcome::FoundDone);
    }
    if !is_same(&now, &op.before) {
        return Ok(changed());
    }
    let is_folder = now.kind == "folder";
    let flags = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    match rustix::fs::unlinkat(&folder, name, flags) {
        Ok(()) => {}
        Err(Errno::NOTEMPTY | Errno::EXIST) => {
            return Ok(Outcome::Failed("target_changed".to_owned(), "not_empty".to_owned()));
        }
        Err(other) => return Err(other.into()),
    }
    if is_folder {
        hands.forget(path);
    }
    hands.touched(path);
    Ok(Outcome::Done)
}

fn link(hands: &mut Hands, op: &PlannedOp, path: &Path) -> Result<Outcome, Fault> {
    let (folder, name) = place_of(hands, path)?;
    let bytes = op.dst_b64.as_ref().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
    let target = std::ffi::OsString::from_vec(bytes);
    match rustix::fs::symlinkat(&target, &folder, name) {
        Ok(()) => {}
        Err(Errno::EXIST) => {
            let same = std::fs::read_link(path).is_ok_and(|found| found.as_os_str() == target);
            return Ok(if same { Outcome::FoundDone } else { failed(Errno::EXIST) });
        }
        Err(other) => return Err(other.into()),
    }
    copy::set_times(path, op.modified_ns)?;
    hands.touched(path);
    Ok(Outcome::Done)
}

fn set_mode(op: &PlannedOp, path: &Path) -> Result<Outcome, Fault> {
    let Some(mode) = op.mode else { return Err(Fault::System(Errno::INVAL)) };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let stat = rustix::fs::fstat(&held)?;
    let now = stat.st_mode & 0o7777;
    let is_kind = match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::RegularFile => op.before.kind == "file",
        rustix::fs::FileType::Directory => op.before.kind == "folder",
        _ => false,
    };
    let found = std::fs::File::from(held.try_clone()?).metadata()?;
    let is_another = !may_be(Some((stat.st_dev, stat.st_ino)), op.before.inode)
        || op.before.born_ns.is_some_and(|born| born_ns(&found, op.before.inode) != Some(born));
    if !is_kind || is_another || (now != mode && now != op.before.mode) {
        return Ok(changed());
    }
    if now == mode {
        return Ok(if mode == op.before.mode { Outcome::Done } else { Outcome::FoundDone });
    }
    // Through the descriptor's own name: the object that was just looked at, not whatever bears its path now.
    let own = {
        use std::os::fd::AsRawFd;
        format!("/proc/self/fd/{}", held.as_raw_fd())
    };
    rustix::fs::chmodat(CWD, own, Mode::from_raw_mode(mode), AtFlags::empty())?;
    Ok(Outcome::Done)
}

fn failed(error: Errno) -> Outcome {
    // What was planned has no link on its way: one that is there now came since.
    if error == Errno::LOOP {
        return changed();
    }
    let (class, reason) = said(error);
    Outcome::Failed(class.to_owned(), reason)
}

/// Why a change could not be made.
pub(super) enum Fault {
    System(Errno),
    Io(io::Error),
    /// It is not what it was when this was planned.
    Changed,
    /// The folder that it goes to is not: key of the reason.
    Place(String),
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
        return Ok(changed());
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
    path.parent().map_or(Ok(()), sync_folder)?;
    Ok(Outcome::Done)
}

/// A file, and the hash of what was written to it.
struct Hashed<'f> {
    file: &'f mut File,
    hasher: blake3::Hasher,
}

impl Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
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
        let mut hashed = Hashed { file: &mut file, hasher: blake3::Hasher::new() };
        io::copy(&mut File::open(path)?, &mut hashed)?;
        hashed.write_all(content)?;
        if op.after != Some(BlobHash(*hashed.hasher.finalize().as_bytes())) {
            return Err(Fault::Changed);
        }
    } else {
        file.write_all(content)?;
    }
    if exists {
        let metadata = rustix::fs::stat(path)?;
        let (uid, gid) = (rustix::fs::Uid::from_raw(metadata.st_uid), rustix::fs::Gid::from_raw(metadata.st_gid));
        match rustix::fs::fchown(&file, Some(uid), Some(gid)) {
            // An ordinary user writes a group's file under his own name: what every editor does.
            Ok(()) | Err(Errno::PERM) => {}
            Err(other) => return Err(other.into()),
        }
        // As it is now: who closed a file while the question waited does not find it open again.
        rustix::fs::fchmod(&file, Mode::from_raw_mode(metadata.st_mode & 0o7777))?;
    }
    if let Some(mode) = op.mode {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
    }
    if let Some(ns) = op.modified_ns {
        let at = rustix::fs::Timespec { tv_sec: ns.div_euclid(1_000_000_000), tv_nsec: ns.rem_euclid(1_000_000_000) };
        rustix::fs::futimens(&file, &rustix::fs::Timestamps { last_access: at, last_modification: at })?;
    }
    file.sync_all()?;
    Ok(file)
}

/// Brings the names in a folder to the disk.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = rustix::fs::openat(CWD, folder, flags, Mode::empty()).map_err(io::Error::from);
    match held.and_then(|folder| File::from(folder).sync_all()) {
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
            if_exists: "replace".to_owned(),
            before,
            after: Some(plain_blob_hash(whole)),
            ..PlannedOp::default()
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
    fn a_link_that_came_onto_the_way_is_a_change_since_the_plan() {
        let scratch = scratch();
        let root = scratch.0.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("other")).unwrap();
        std::fs::write(root.join("other/x"), "kept").unwrap();
        symlink("other", root.join("way")).unwrap();
        let before = look(&root.join("other/x")).unwrap().image;
        for (kind, to) in
            [("write", None), ("delete", None), ("delete", Some("trash")), ("move", None), ("set_mode", None)]
        {
            let dst = root.join("away").to_string_lossy().into_owned();
            let op = PlannedOp {
                to: to.map(str::to_owned),
                dst: Some(dst),
                mode: Some(0o600),
                ..op(&root.join("way/x"), kind, before.clone(), b"new")
            };
            let outcome = commit(&mut Hands::default(), &op, b"new", "k");
            assert_eq!(outcome, changed(), "{kind} {to:?}");
        }
        assert_eq!(std::fs::read(root.join("other/x")).unwrap(), b"kept");
    }

    #[test]
    fn a_change_is_made_once_and_recognised() {
        let scratch = scratch();
        let file = scratch.file();
        let op = op(&file, "write", look(&file).unwrap().image, b"new");
        assert_eq!(commit(&mut Hands::default(), &op, b"new", "k"), Outcome::Done);
        assert_eq!(commit(&mut Hands::default(), &op, b"new", "k"), Outcome::FoundDone);
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert_eq!(scratch.leftovers(), 0);
    }

    #[test]
    fn what_was_closed_since_the_plan_stays_closed() {
        let scratch = Scratch(tempfile::tempdir().unwrap());
        let file = scratch.file();
        for kind in ["write", "append"] {
            std::fs::write(&file, "one\n").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
            let before = look(&file).unwrap().image;
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
            let whole: &[u8] = if kind == "write" { b"two\n" } else { b"one\ntwo\n" };
            let done = commit(&mut Hands::default(), &op(&file, kind, before, whole), b"two\n", "k");
            assert_eq!((done, std::fs::read(&file).unwrap().as_slice()), (Outcome::Done, whole), "{kind}");
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600, "{kind}");
        }
    }

    #[test]
    fn appending_keeps_mode_and_is_not_done_twice() {
        let scratch = scratch();
        let file = scratch.file();
        std::fs::write(&file, "one\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let op = op(&file, "append", look(&file).unwrap().image, b"one\ntwo\n");
        assert_eq!(commit(&mut Hands::default(), &op, b"two\n", "k"), Outcome::Done);
        assert_eq!(commit(&mut Hands::default(), &op, b"two\n", "k"), Outcome::FoundDone);
        assert_eq!(std::fs::read(&file).unwrap(), b"one\ntwo\n");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_target_that_changed_is_left_alone() {
        let scratch = scratch();
        let file = scratch.file();
        let op = op(&file, "write", look(&file).unwrap().image, b"new");
        std::fs::write(&file, "someone else").unwrap();
        assert!(
            matches!(commit(&mut Hands::default(), &op, b"new", "k"), Outcome::Failed(class, _) if class == "target_changed")
        );
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
        assert!(matches!(commit(&mut Hands::default(), &op, b"x", "k"), Outcome::Failed(..)));
        assert!(!root.join("real/f.txt").exists());
    }

    #[test]
    fn what_a_killed_attempt_left_is_cleared() {
        let scratch = scratch();
        let file = scratch.file();
        std::fs::write(file.with_file_name(".metnos-k.tmp"), "half").unwrap();
        let op = op(&file, "write", look(&file).unwrap().image, b"whole");
        assert_eq!(commit(&mut Hands::default(), &op, b"whole", "k"), Outcome::Done);
        assert_eq!(std::fs::read(&file).unwrap(), b"whole");
        assert_eq!(scratch.leftovers(), 0);
    }

    #[test]
    fn rights_are_set_on_the_thing_that_was_planned() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().canonicalize().unwrap().join("a");
        std::fs::write(&file, "x").unwrap();
        let before = glance(&file).unwrap();
        let op = PlannedOp { mode: Some(0o700), ..op(&file, "set_mode", before.clone(), b"") };
        let other = file.with_file_name("b");
        std::fs::write(&other, "y").unwrap();
        std::fs::set_permissions(&other, std::fs::Permissions::from_mode(before.mode)).unwrap();
        std::fs::rename(&other, &file).unwrap();
        assert_eq!(commit(&mut Hands::default(), &op, b"", "k"), changed());
    }

    /// The inode of what was unlinked is given to the next that is made.
    #[test]
    fn rights_are_not_set_on_what_took_the_place_of_the_thing_that_was_planned() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().canonicalize().unwrap().join("a");
        let planned = || {
            let before = super::super::disk::held(&file, glance(&file).unwrap());
            PlannedOp { mode: Some(0o700), ..op(&file, "set_mode", before, b"") }
        };
        std::fs::write(&file, "x").unwrap();
        let first = planned();
        assert!(first.before.born_ns.is_some(), "the file system says when a file was made");
        assert_eq!(commit(&mut Hands::default(), &first, b"", "k"), Outcome::Done);
        let mut earlier = planned();
        earlier.mode = Some(0o600);
        earlier.before.born_ns = earlier.before.born_ns.map(|born| born - 1);
        assert_eq!(commit(&mut Hands::default(), &earlier, b"", "k"), changed());
        let mut folder = planned();
        folder.mode = Some(0o600);
        folder.before.kind = "folder".to_owned();
        assert_eq!(commit(&mut Hands::default(), &folder, b"", "k"), changed());
        assert_eq!(glance(&file).unwrap().mode, 0o700);
    }

    #[test]
    fn a_folder_that_is_there_already_was_made_by_us_only_after_a_crash() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().canonicalize().unwrap().join("d");
        std::fs::create_dir(&folder).unwrap();
        let op = op(&folder, "mkdir", super::super::disk::absent(), b"");
        assert!(matches!(commit(&mut Hands::default(), &op, b"", "k"), Outcome::Failed(..)));
        assert_eq!(commit(&mut Hands::again(true), &op, b"", "k"), Outcome::FoundDone);
    }
}

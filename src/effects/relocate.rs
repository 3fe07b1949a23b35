//! Moves one thing: by renaming without replacing, and onto another file system by copying, syncing and removing.
//!
//! Onto another file system the source first gets a name of its own beside itself, derived from the change, so that a
//! crash leaves a state that tells how far it came: the name is there, the copy is whole or is not.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use metnos_log::event::turn::BeforeImage;
use rustix::fs::RenameFlags;
use rustix::io::Errno;

use super::commit::{Fault, Hands, Outcome};
use super::{copy, disk};
use crate::cause::plain;

/// Moves `src` to `dst`, or finds that it was moved. `before` is what was moved when it was planned.
pub(super) fn relocate(
    hands: &mut Hands,
    before: &BeforeImage,
    src: &Path,
    dst: &Path,
    key: &str,
) -> Result<Outcome, Fault> {
    let ends = Ends::open(hands, src, dst)?;
    let waiting = ends.beside_source(key);
    if waiting.symlink_metadata().is_ok() {
        return across(&ends, &waiting, key);
    }
    let (now, there) = (disk::glance_like(src, before)?, disk::glance_like(dst, before)?);
    match (now.kind == "absent", there.kind == "absent") {
        (true, false) if disk::is_same(&there, before) => return Ok(Outcome::FoundDone),
        (true, true) => return Ok(failed("not_found", "absent")),
        (true, false) => return Ok(failed("target_changed", "changed")),
        (false, false) => return Ok(failed("operation_failed", "exists")),
        (false, true) if !disk::is_same(&now, before) => return Ok(failed("target_changed", "changed")),
        (false, true) => {}
    }
    match rename(&ends.from, ends.src_name()?, &ends.to, ends.dst_name()?) {
        Ok(()) => {
            hands.touched(src);
            hands.touched(dst);
            Ok(Outcome::Done)
        }
        Err(Errno::XDEV) => {
            rename(&ends.from, ends.src_name()?, &ends.from, waiting.file_name().unwrap_or_default())?;
            across(&ends, &waiting, key)
        }
        Err(Errno::EXIST) => Ok(failed("operation_failed", "exists")),
        Err(other) => Err(other.into()),
    }
}

fn failed(class: &str, reason: &str) -> Outcome {
    Outcome::Failed(class.to_owned(), reason.to_owned())
}

/// Both ends, their folders held open without a link on the way.
struct Ends<'a> {
    src: &'a Path,
    dst: &'a Path,
    from: std::rc::Rc<OwnedFd>,
    to: std::rc::Rc<OwnedFd>,
}

impl<'a> Ends<'a> {
    fn open(hands: &mut Hands, src: &'a Path, dst: &'a Path) -> Result<Self, Fault> {
        let folder = |path: &'a Path| path.parent().ok_or(Fault::System(Errno::INVAL));
        let from = hands.folder(folder(src)?)?;
        let to = hands.folder(folder(dst)?).map_err(|fault| no_place(fault, dst))?;
        Ok(Self { src, dst, from, to })
    }

    fn src_name(&self) -> Result<&OsStr, Fault> {
        self.src.file_name().ok_or(Fault::System(Errno::INVAL))
    }

    fn dst_name(&self) -> Result<&OsStr, Fault> {
        self.dst.file_name().ok_or(Fault::System(Errno::INVAL))
    }

    fn beside_source(&self, key: &str) -> PathBuf {
        self.src.with_file_name(OsString::from(format!(".metnos-{key}.moving")))
    }
}

/// It is not what is moved that is gone then, but the folder that it goes to.
fn no_place(fault: Fault, dst: &Path) -> Fault {
    let key = match fault {
        Fault::System(Errno::NOENT) => "folder_absent",
        Fault::System(Errno::NOTDIR | Errno::LOOP) => "no_folder",
        other => return other,
    };
    Fault::Place(format!("{key}: {}", dst.parent().unwrap_or(dst).display()))
}

/// Renames and never replaces; where a file system cannot promise that, it is looked at first.
fn rename(from: &OwnedFd, old: &OsStr, to: &OwnedFd, new: &OsStr) -> Result<(), Errno> {
    match rustix::fs::renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => match rustix::fs::statat(to, new, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Err(Errno::EXIST),
            Err(Errno::NOENT) => rustix::fs::renameat(from, old, to, new),
            Err(other) => Err(other),
        },
        other => other,
    }
}

/// The rest of a move onto another file system, once the source waits under its own name.
fn across(ends: &Ends<'_>, waiting: &Path, key: &str) -> Result<Outcome, Fault> {
    let half = ends.dst.with_file_name(OsString::from(format!(".metnos-{key}.tmp")));
    copy::remove(&half)?;
    if ends.dst.symlink_metadata().is_err() {
        let copied = copy::tree(waiting, &half).map_err(Fault::from).and_then(|()| {
            let name = half.file_name().unwrap_or_default();
            Ok(rename(&ends.to, name, &ends.to, ends.dst_name()?)?)
        });
        if let Err(fault) = copied {
            put_back(ends, waiting, &half)?;
            return Err(fault);
        }
        sync(ends.dst)?;
    } else if !copy::is_contained(waiting, ends.dst)? {
        // Someone else's: what waits goes back to where it was.
        put_back(ends, waiting, &half)?;
        return Ok(failed("operation_failed", "exists"));
    }
    if let Err(error) = copy::remove(waiting) {
        return Ok(Outcome::Failed("operation_failed".to_owned(), format!("half_moved: {}", plain(&error))));
    }
    sync(ends.src)?;
    Ok(Outcome::Done)
}

fn put_back(ends: &Ends<'_>, waiting: &Path, half: &Path) -> Result<(), Fault> {
    copy::remove(half)?;
    let name = waiting.file_name().unwrap_or_default();
    Ok(rename(&ends.from, name, &ends.from, ends.src_name()?)?)
}

fn sync(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), super::commit::sync_folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        _scratch: tempfile::TempDir,
        src: PathBuf,
        dst: PathBuf,
    }

    fn place() -> Place {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("to")).unwrap();
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/f"), "content").unwrap();
        Place { src: root.join("d"), dst: root.join("to/d"), _scratch: scratch }
    }

    /// What `across` does after the rename: no second file system is needed to cut it anywhere.
    fn carry_on(place: &Place) -> Result<Outcome, Fault> {
        let before = BeforeImage { kind: "folder".to_owned(), ..BeforeImage::default() };
        relocate(&mut Hands::default(), &before, &place.src, &place.dst, "k")
    }

    fn waiting(place: &Place) -> PathBuf {
        place.src.with_file_name(".metnos-k.moving")
    }

    #[track_caller]
    fn has_arrived(place: &Place) {
        assert_eq!(std::fs::read_to_string(place.dst.join("f")).unwrap(), "content");
        assert!(!place.src.exists() && !waiting(place).exists());
        assert!(!place.dst.with_file_name(".metnos-k.tmp").exists());
    }

    #[test]
    fn a_rename_is_done_once_and_recognised() {
        let place = place();
        let before = disk::glance(&place.src).unwrap();
        let mut hands = Hands::default();
        assert_eq!(relocate(&mut hands, &before, &place.src, &place.dst, "k").ok(), Some(Outcome::Done));
        assert_eq!(relocate(&mut hands, &before, &place.src, &place.dst, "k").ok(), Some(Outcome::FoundDone));
        has_arrived(&place);
    }

    #[test]
    fn nothing_is_replaced_and_what_changed_stays() {
        let place = place();
        let before = disk::glance(&place.src).unwrap();
        std::fs::create_dir(&place.dst).unwrap();
        let outcome = relocate(&mut Hands::default(), &before, &place.src, &place.dst, "k").ok();
        assert_eq!(outcome, Some(failed("operation_failed", "exists")));
        std::fs::remove_dir(&place.dst).unwrap();
        std::fs::rename(&place.src, place.src.with_file_name("other")).unwrap();
        std::fs::create_dir(&place.src).unwrap();
        let outcome = relocate(&mut Hands::default(), &before, &place.src, &place.dst, "k").ok();
        assert_eq!(outcome, Some(failed("target_changed", "changed")));
        assert!(place.src.exists());
    }

    #[test]
    fn a_copy_that_was_cut_anywhere_is_finished() {
        // Before anything was copied.
        let first = place();
        std::fs::rename(&first.src, waiting(&first)).unwrap();
        assert_eq!(carry_on(&first).ok(), Some(Outcome::Done));
        has_arrived(&first);
        // In the middle of copying.
        let second = place();
        std::fs::rename(&second.src, waiting(&second)).unwrap();
        std::fs::create_dir(second.dst.with_file_name(".metnos-k.tmp")).unwrap();
        assert_eq!(carry_on(&second).ok(), Some(Outcome::Done));
        has_arrived(&second);
        // Copied, the source partly removed.
        let third = place();
        copy::tree(&third.src, &third.dst).unwrap();
        std::fs::rename(&third.src, waiting(&third)).unwrap();
        std::fs::remove_file(waiting(&third).join("f")).unwrap();
        assert_eq!(carry_on(&third).ok(), Some(Outcome::Done));
        has_arrived(&third);
    }

    #[test]
    fn a_copy_that_someone_forestalled_goes_back() {
        let place = place();
        std::fs::rename(&place.src, waiting(&place)).unwrap();
        std::fs::create_dir(&place.dst).unwrap();
        assert_eq!(carry_on(&place).ok(), Some(failed("operation_failed", "exists")));
        assert_eq!(std::fs::read_to_string(place.src.join("f")).unwrap(), "content");
    }
}

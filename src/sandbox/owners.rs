//! Grants as real root takes them: what root may read outside, the cage may read inside, without a capability in it.
//!
//! Root reads the files of others by a capability, and nothing in a cage has one. So the helper, while it is still root
//! outside, takes the detached copies of the granted objects itself, each from the descriptor that was verified, and asks
//! the kernel to show a foreign owner as the cage's own user on that one mount (an idmapped mount, read-only). What lies
//! below a folder and would still be closed gets a mount of its own. Where a file system knows no such mapping, or a
//! mode opens a file to nobody, a small single file is copied into the private root. It does not touch grants for
//! writing, and what it cannot open stays closed: the executor is told so by the system, as by any closed file.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::WaitOptions;

use super::child::{BuildError, Step};
use super::native::{self, Ids, Tree};
use super::sys;
use super::wire::{Job, Layer, RawPath};

/// Files and folders below one call's grants that are looked at; beyond, what is closed stays closed.
const LOOKED_MAX: usize = 100_000;
/// Mounts made for what is closed below granted folders.
const MOUNTS_MAX: usize = 256;
/// The longest file that is copied where no mount can show it; the sum of all copies, too.
pub(super) const COPIED_MAX: u64 = 16 << 20;

/// A single file that no mount can show: its bytes are copied into the private root.
pub(super) struct Copied {
    /// Where it appears.
    pub(super) at: PathBuf,
    /// The file, open for reading.
    pub(super) file: File,
}

/// What was taken for a cage's grants.
#[derive(Default)]
pub(super) struct Taken {
    /// Mounts to attach, those of outer folders first.
    pub(super) trees: Vec<Tree>,
    /// Files to copy.
    pub(super) copies: Vec<Copied>,
}

impl Taken {
    /// How many bytes the copies need.
    pub(super) fn copied_bytes(&self) -> u64 {
        self.copies.iter().filter_map(|copied| copied.file.metadata().ok()).map(|meta| meta.len() + 4096).sum()
    }
}

/// Takes the grants of a job as root; `None` where the helper is not root and the cage sees what its user sees anyway.
pub(super) fn take(job: &Job, grants: &[OwnedFd], ids: &Ids) -> Result<Option<Taken>, BuildError> {
    if !ids.is_host_root() || !job.has(Layer::PrivateRoot) || grants.is_empty() {
        return Ok(None);
    }
    let masks = job.grants.iter().flat_map(|grant| &grant.masks).map(RawPath::path).collect();
    let mut taker = Taker { job, ids, masks, maps: BTreeMap::new(), looked: 0, extra: 0, taken: Taken::default() };
    for (grant, descriptor) in job.grants.iter().zip(grants) {
        let at = grant.at.path();
        if at == Path::new("/") {
            for (path, object) in native::top_objects()? {
                taker.grant(&path, &object, false).step(format!("bind {}", path.display()))?;
            }
        } else {
            native::same_object(grant, descriptor.as_fd()).granted(&at)?;
            taker.grant(&at, descriptor, grant.write).granted(&at)?;
        }
    }
    taker.taken.trees.sort_by_key(|tree| tree.at.components().count());
    Ok(Some(taker.taken))
}

/// The owner whose files a mount shows as the cage's own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Owner {
    uid: u32,
    gid: u32,
}

impl Owner {
    fn of(stat: &Stat) -> Self {
        Self { uid: stat.st_uid, gid: stat.st_gid }
    }

    /// Whether a process of this owner may read a file, or list and enter a folder.
    fn reads(self, stat: &Stat) -> bool {
        let class = if stat.st_uid == self.uid {
            6
        } else if stat.st_gid == self.gid {
            3
        } else {
            0
        };
        let needed = if is_dir(stat) { 0o5 } else { 0o4 };
        (stat.st_mode >> class) & needed == needed
    }
}

fn is_dir(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_dir()
}

struct Taker<'a> {
    job: &'a Job,
    ids: &'a Ids,
    masks: BTreeSet<PathBuf>,
    maps: BTreeMap<Owner, OwnedFd>,
    looked: usize,
    extra: usize,
    taken: Taken,
}

impl Taker<'_> {
    /// Takes one granted object and, of a folder, what below it would stay closed.
    fn grant(&mut self, at: &Path, object: &OwnedFd, write: bool) -> io::Result<()> {
        let stat = rustix::fs::fstat(object)?;
        let (own, folder) = (self.own(), is_dir(&stat));
        let mut seen = own;
        let foreign = !write && stat.st_uid != own.uid && (folder || !own.reads(&stat));
        if foreign && Owner::of(&stat).reads(&stat) && self.show_as_own(at, object, &stat)? {
            seen = Owner::of(&stat);
        } else if !write && !own.reads(&stat) && self.copy(at, object, &stat)? {
            return Ok(());
        } else {
            let mount = native::data_mount(self.job, object.as_fd(), write)?;
            self.taken.trees.push(Tree { at: at.to_owned(), mount, is_dir: folder });
        }
        if folder && !write {
            self.below(at, object, seen);
        }
        Ok(())
    }

    /// Who the cage's own user is outside.
    fn own(&self) -> Owner {
        Owner { uid: self.ids.uid, gid: self.ids.gid }
    }

    /// Takes a mount on which the object's owner is the cage's own user; says `false` where the file system or the kernel
    /// knows no such thing.
    fn show_as_own(&mut self, at: &Path, object: &OwnedFd, stat: &Stat) -> io::Result<bool> {
        let owner = Owner::of(stat);
        if !self.maps.contains_key(&owner) {
            let Ok(map) = map(owner, self.own()) else { return Ok(false) };
            self.maps.insert(owner, map);
        }
        let map = self.maps[&owner].as_fd();
        let mount = native::data_mount(self.job, object.as_fd(), false)?;
        // A file system mounted further below may know no mapping: then only the topmost mount gets one.
        let mapped = sys::map_mount_ids(mount.as_fd(), map, true)
            .or_else(|_| sys::map_mount_ids(mount.as_fd(), map, false))
            .is_ok();
        if mapped {
            self.taken.trees.push(Tree { at: at.to_owned(), mount, is_dir: is_dir(stat) });
        }
        Ok(mapped)
    }

    /// Opens a closed single file for a copy; says `false` of what is no file or too long.
    fn copy(&mut self, at: &Path, object: &OwnedFd, stat: &Stat) -> io::Result<bool> {
        let length = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        let regular = FileType::from_raw_mode(stat.st_mode).is_file();
        if !regular || length.saturating_add(self.taken.copied_bytes()) > COPIED_MAX {
            return Ok(false);
        }
        let name = format!("/proc/self/fd/{}", object.as_raw_fd());
        let file = rustix::fs::open(name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        self.taken.copies.push(Copied { at: at.to_owned(), file: File::from(file) });
        Ok(true)
    }

    /// Looks below a folder, the nearest first, for what would stay closed to whoever sees it as `seen`, and takes a mount
    /// of its own for each. What changes while it is looked at is taken or left as it was found; nothing leads out.
    fn below(&mut self, at: &Path, folder: &OwnedFd, seen: Owner) {
        let mut open = VecDeque::from([(PathBuf::new(), seen)]);
        while let Some((path, seen)) = open.pop_front() {
            let Ok(listed) = beneath(folder, &path, OFlags::RDONLY | OFlags::DIRECTORY) else { continue };
            let Ok(entries) = Dir::read_from(&listed) else { continue };
            for entry in entries.flatten() {
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                let kind = entry.file_type();
                if name == "." || name == ".." || !(kind.is_dir() || kind.is_file() || kind == FileType::Unknown) {
                    continue;
                }
                self.looked += 1;
                if self.looked > LOOKED_MAX {
                    return;
                }
                // Nearly all files are open to whoever sees their folder: one look at each, by name, says so.
                let is_file = kind.is_file() && {
                    let stat = rustix::fs::statat(&listed, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
                    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_file() && seen.reads(&stat))
                };
                if is_file {
                    continue;
                }
                let path = path.join(name);
                if self.masks.contains(&at.join(&path)) {
                    continue;
                }
                if let Ok((seen, true)) = self.inside(at, folder, &path, seen) {
                    open.push_back((path, seen));
                }
            }
        }
    }

    /// Takes a mount for one object below a grant where it needs one. Says as whom its contents are seen, and whether it is
    /// a folder that can be entered.
    fn inside(&mut self, at: &Path, folder: &OwnedFd, path: &Path, seen: Owner) -> io::Result<(Owner, bool)> {
        let object = beneath(folder, path, OFlags::PATH)?;
        let stat = rustix::fs::fstat(&object)?;
        let owner = Owner::of(&stat);
        if seen.reads(&stat) {
            return Ok((seen, is_dir(&stat)));
        }
        if !owner.reads(&stat) || self.extra >= MOUNTS_MAX {
            return Ok((seen, false));
        }
        let at = at.join(path);
        let shown = if owner.uid == self.ids.uid {
            let mount = native::data_mount(self.job, object.as_fd(), false)?;
            self.taken.trees.push(Tree { at, mount, is_dir: is_dir(&stat) });
            true
        } else {
            self.show_as_own(&at, &object, &stat)?
        };
        self.extra += usize::from(shown);
        // A plain mount shows the files of the cage's own group, too.
        let now = if owner.uid == self.ids.uid { self.own() } else { owner };
        Ok((now, shown && is_dir(&stat)))
    }
}

/// Opens something below a folder, by no link.
fn beneath(folder: &OwnedFd, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve)
}

/// A user namespace that says: this owner is the cage's own user. A process holds it just until it is opened.
fn map(owner: Owner, own: Owner) -> io::Result<OwnedFd> {
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
    let Some(child) = sys::clone_process(libc::CLONE_NEWUSER)? else {
        drop(ours);
        // The end of the pipe comes when the helper is done or dead; what else a read may say means the same.
        rustix::io::read(&theirs, &mut [0_u8; 1]).ok();
        std::process::exit(0)
    };
    let folder = format!("/proc/{}", child.as_raw_pid());
    let made = std::fs::write(format!("{folder}/uid_map"), format!("{} {} 1", owner.uid, own.uid))
        .and_then(|()| std::fs::write(format!("{folder}/gid_map"), format!("{} {} 1", owner.gid, own.gid)))
        .and_then(|()| File::open(format!("{folder}/ns/user")));
    drop(ours);
    rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), WaitOptions::empty()))?;
    Ok(made?.into())
}

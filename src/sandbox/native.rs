//! The native cage's file system: a private root that holds the runtime, the granted objects, a few devices, its own
//! `/proc`, a stage and a `/tmp` of bounded size, and nothing else.
//!
//! Runs in the process that becomes the interpreter, inside of its new namespaces. What is bound is verified to be the very
//! object that was granted: a name whose object changed since is refused.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use metnos_projections::rules::cage_plan::Limits;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, FsPickFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    UnmountFlags, fsconfig_create, fsconfig_reconfigure, fsconfig_set_string, fsmount, fsopen, fspick, mount_change,
    move_mount, open_tree, unmount,
};
use rustix::process::{getgid, getuid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::child::{BuildError, Step};
use super::interpreter::RuntimeMount;
use super::limits;
use super::owners::Taken;
use super::report::{Backend, CageReport};
use super::sys::{
    self, NODEV, NOEXEC, NOSUID, RDONLY, clear_mount_attributes, set_mount_attributes, set_private_attributes,
};
use super::wire::{GrantJob, Job, Layer};

/// The most files of the stage, and of `/tmp`: names take memory that no size counts.
pub(super) const STAGE_FILES: &str = "16384";
pub(super) const TMP_FILES: &str = "8192";
pub(super) const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];
/// Folders that root often has as links (`/bin` → `usr/bin`); the loader's path goes through one of them.
pub(super) const TOP_LINKS: &[&str] = &["bin", "sbin", "lib", "lib32", "lib64", "libx32"];
/// The mode of the root: what merely leads to a grant can be passed and not listed, whoever the cage's user is.
const ON_THE_WAY: &str = "0111";
const PATH: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// Who the helper is outside of the cage.
pub(super) struct Ids {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Ids {
    pub(super) fn current() -> Self {
        Self { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() }
    }

    pub(super) fn is_host_root(&self) -> bool {
        self.uid == 0
    }
}

/// What the interpreter will see, for the rules of landlock.
pub(super) struct View {
    /// The staging folder.
    pub(super) stage: OwnedFd,
    /// Whether paths are those of a private root.
    pub(super) private: bool,
    /// What may be read of the cage's own `/proc`: of one that shows only processes, all.
    pub(super) proc: PathBuf,
}

impl View {
    /// The view without a private root: the stage is a real folder.
    pub(super) fn host(job: &Job) -> Result<Self, BuildError> {
        Ok(Self {
            stage: open_dir(CWD, &job.stage.path()).step("open the stage")?,
            private: false,
            proc: PathBuf::from("/proc"),
        })
    }
}

/// The namespaces of a job, as flags of clone.
pub(super) fn namespaces(job: &Job) -> libc::c_int {
    let mut flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
    // The root of a cgroup namespace is where whoever made it is: of a cgroup of its own that is the child.
    if job.cgroup.is_none() {
        flags |= libc::CLONE_NEWCGROUP;
    }
    if job.has(Layer::PidNamespace) {
        flags |= libc::CLONE_NEWPID;
    }
    if job.has(Layer::NetNamespace) {
        flags |= libc::CLONE_NEWNET;
    }
    flags
}

/// Builds the private root and enters it.
pub(super) fn build(
    job: &Job,
    grants: &[OwnedFd],
    taken: Option<Taken>,
    ids: &Ids,
    report: &mut CageReport,
) -> Result<View, BuildError> {
    map_ids(ids)?;
    if job.cgroup.is_some() {
        sys::new_cgroup_namespace().step("make a cgroup namespace")?;
    }
    report.layers.push("namespaces".to_owned());
    limits::bound_processes(job, report);
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE).step("make mounts private")?;
    if !job.has(Layer::PrivateRoot) {
        return View::host(job);
    }
    let trees = Trees::take(job, grants, taken)?;
    let root = tmpfs("1m", "512", ON_THE_WAY).step("make the root")?;
    move_mount(&root, "", CWD, base(), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).step("mount the root")?;
    let root = Root { root };
    root.furnish(job, &trees, report)?;
    let stage = root.stage(job)?;
    rustix::process::fchdir(&root.root).step("enter the root")?;
    rustix::process::pivot_root(".", ".").step("pivot into the root")?;
    unmount(".", UnmountFlags::DETACH).step("let the old root go")?;
    rustix::process::chdir("/").step("enter the root")?;
    report.layers.push("private root".to_owned());
    Ok(View { stage, private: true, proc: PathBuf::from("/proc") })
}

fn map_ids(ids: &Ids) -> Result<(), BuildError> {
    let (uid, gid) = (ids.uid, ids.gid);
    std::fs::write("/proc/self/setgroups", "deny").step("deny setgroups")?;
    std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).step("map the user id")?;
    std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).step("map the group id")?;
    debug_assert_eq!((getuid().as_raw(), getgid().as_raw()), (uid, gid), "the mapping is the identity");
    Ok(())
}

/// A folder that every machine has, to hang the new root on.
fn base() -> &'static str {
    if Path::new("/tmp").is_dir() { "/tmp" } else { "/proc" }
}

/// A file system in memory, mounted nowhere yet. It keeps no times of access: to note one, the kernel counts a reader as a
/// writer for an instant, and a root that has a writer cannot be closed (`EBUSY`) after a waiting cage has its mounts.
fn tmpfs(size: &str, inodes: &str, mode: &str) -> io::Result<OwnedFd> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in [("size", size), ("nr_inodes", inodes), ("mode", mode)] {
        fsconfig_set_string(context.as_fd(), key, value)?;
    }
    fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC
        | MountAttrFlags::MOUNT_ATTR_NOATIME;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// Gives a file system in memory another bound.
pub(super) fn bound_tmpfs(mount: BorrowedFd<'_>, key: &str, value: &str) -> io::Result<()> {
    let flags = FsPickFlags::FSPICK_EMPTY_PATH | FsPickFlags::FSPICK_CLOEXEC;
    let context = fspick(mount, "", flags)?;
    fsconfig_set_string(context.as_fd(), key, value)?;
    Ok(fsconfig_reconfigure(context.as_fd())?)
}

/// A `/proc` of this pid namespace, mounted nowhere yet.
pub(super) fn new_proc(subset: Option<&str>) -> io::Result<OwnedFd> {
    let context = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    if let Some(subset) = subset {
        // A kernel that lacks the option gives the whole of it.
        fsconfig_set_string(context.as_fd(), "subset", subset).ok();
    }
    fsconfig_create(context.as_fd())?;
    let attributes =
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// A detached copy of a mount, to be attached somewhere in the new root.
pub(super) struct Tree {
    pub(super) at: PathBuf,
    pub(super) mount: OwnedFd,
    pub(super) is_dir: bool,
}

impl Tree {
    /// Makes a file here with the bytes and the time of another, and takes a detached read-only mount of it.
    fn keep(&self, name: &str, file: &File) -> io::Result<OwnedFd> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let mut kept = File::from(rustix::fs::openat(&self.mount, name, flags, Mode::RUSR)?);
        io::copy(&mut &*file, &mut kept)?;
        kept.set_modified(file.metadata()?.modified()?)?;
        let mount = open_tree(&self.mount, name, OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
        set_mount_attributes(mount.as_fd(), NOSUID | NODEV | NOEXEC | RDONLY, false)?;
        Ok(mount)
    }
}

/// Detached copies of all that the cage shows, taken while the host's file system is still there.
struct Trees {
    devices: Vec<Tree>,
    granted: Taken,
    pinned: Vec<PathBuf>,
    masks: Vec<PathBuf>,
    runtime: Vec<Tree>,
}

impl Trees {
    fn take(job: &Job, grants: &[OwnedFd], taken: Option<Taken>) -> Result<Self, BuildError> {
        let granted = match taken {
            Some(taken) => taken,
            None => Taken { trees: grant_trees(job, grants)?, copies: Vec::new() },
        };
        let mut runtime = job.runtime.iter().map(runtime_tree).collect::<Result<Vec<_>, _>>()?;
        runtime.sort_by_key(|tree| tree.at.components().count());
        let devices = DEVICES.iter().filter_map(|name| device_tree(name).transpose()).collect::<Result<_, _>>()?;
        Ok(Self { devices, granted, pinned: job.pinned(), masks: masks(job), runtime })
    }
}

/// What stays hidden below all grants of a job.
fn masks(job: &Job) -> Vec<PathBuf> {
    let mut masks: Vec<_> = job.grants.iter().flat_map(|grant| &grant.masks).map(super::wire::RawPath::path).collect();
    masks.sort();
    masks.dedup();
    masks
}

/// Mounts what a call was granted into the private root of the mount namespace that this process has just joined, under the
/// masks, and gives the file systems the sizes of its plan. The root is open for writing meanwhile, to hold the folders on
/// the way; the interpreter there waits and has not been fed.
pub(super) fn admit(job: &Job, before: &Limits, trees: &[Tree]) -> Result<(), BuildError> {
    let root = rustix::fs::open("/", PATH | OFlags::DIRECTORY, Mode::empty()).step("open the root")?;
    let root = Root { root };
    for (at, had, wanted) in [
        (job.stage.path(), before.stage_bytes, job.limits.stage_bytes),
        (job.tmp.path(), before.tmp_bytes, job.limits.tmp_bytes),
    ] {
        if had != wanted {
            root.resize(&at, wanted).step(format!("size {}", at.display()))?;
        }
    }
    if trees.is_empty() {
        return Ok(());
    }
    clear_mount_attributes(root.root.as_fd(), RDONLY).step("open the root")?;
    for tree in trees {
        root.attach(tree)?;
    }
    root.cover(&job.pinned(), &masks(job))?;
    set_mount_attributes(root.root.as_fd(), RDONLY, false).step("close the root")
}

/// The granted objects as this user sees them, those of outer folders first.
pub(super) fn grant_trees(job: &Job, grants: &[OwnedFd]) -> Result<Vec<Tree>, BuildError> {
    let mut trees = Vec::new();
    for (grant, descriptor) in job.grants.iter().zip(grants) {
        let at = grant.at.path();
        if at == Path::new("/") {
            for (at, object) in top_objects()? {
                let step = || format!("bind {}", at.display());
                let is_dir = is_dir(&object).step(step())?;
                let mount = data_mount(job, object.as_fd(), false).step(step())?;
                trees.push(Tree { at, mount, is_dir });
            }
        } else {
            let same = same_object(grant, descriptor.as_fd()).granted(&at)?;
            let mount = data_mount(job, same.as_fd(), grant.write).granted(&at)?;
            trees.push(Tree { at, mount, is_dir: grant.is_dir });
        }
    }
    trees.sort_by_key(|tree| tree.at.components().count());
    Ok(trees)
}

fn is_dir(object: &OwnedFd) -> io::Result<bool> {
    Ok(rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(object)?.st_mode).is_dir())
}

/// The object behind a granted descriptor, found again in this mount namespace: by its name, and then verified to be the
/// same, since a descriptor from another mount namespace cannot be bound.
pub(super) fn same_object(grant: &GrantJob, granted: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let found = rustix::fs::openat2(CWD, grant.at.path(), PATH, Mode::empty(), resolve)?;
    let (wanted, seen) = (rustix::fs::fstat(granted)?, rustix::fs::fstat(&found)?);
    if (wanted.st_dev, wanted.st_ino, wanted.st_mode & 0o170_000)
        == (seen.st_dev, seen.st_ino, seen.st_mode & 0o170_000)
    {
        Ok(found)
    } else {
        Err(rustix::io::Errno::STALE.into())
    }
}

fn copy(object: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(object, "", flags)?)
}

/// A detached copy of a granted object's mount with the attributes that data has in a cage.
pub(super) fn data_mount(job: &Job, object: BorrowedFd<'_>, write: bool) -> io::Result<OwnedFd> {
    let mount = copy(object)?;
    let read_only = if write || !job.has(Layer::ReadOnlyMounts) { 0 } else { RDONLY };
    set_private_attributes(mount.as_fd(), NOSUID | NODEV | NOEXEC | read_only)?;
    Ok(mount)
}

/// The folders and files of the root, when the whole root was granted: each for itself, without those that the cage has of
/// its own.
pub(super) fn top_objects() -> Result<Vec<(PathBuf, OwnedFd)>, BuildError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/").step("list the root")? {
        let entry = entry.step("list the root")?;
        let (path, kind) = (entry.path(), entry.file_type().step("list the root")?);
        let own = ["/proc", "/sys", "/dev"].iter().any(|own| path == Path::new(own));
        if own || !(kind.is_dir() || kind.is_file()) {
            continue;
        }
        let object = rustix::fs::open(&path, PATH, Mode::empty()).step(format!("open {}", path.display()))?;
        found.push((path, object));
    }
    Ok(found)
}

fn runtime_tree(runtime: &RuntimeMount) -> Result<Tree, BuildError> {
    let at = runtime.path();
    let step = || format!("bind the runtime's {}", at.display());
    // A program's name may be a link to another: what it means is shown under its own.
    let object = rustix::fs::open(&at, PATH.difference(OFlags::NOFOLLOW), Mode::empty()).step(step())?;
    let mount = copy(object.as_fd()).step(step())?;
    set_mount_attributes(mount.as_fd(), NOSUID | NODEV | RDONLY, true).step(step())?;
    Ok(Tree { at: at.clone(), mount, is_dir: runtime.is_dir })
}

fn device_tree(name: &str) -> Result<Option<Tree>, BuildError> {
    let at = Path::new("/dev").join(name);
    let object = match rustix::fs::open(&at, PATH, Mode::empty()) {
        Ok(object) => object,
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error).step(format!("open {}", at.display())),
    };
    let mount = copy(object.as_fd()).step(format!("bind {}", at.display()))?;
    set_mount_attributes(mount.as_fd(), NOSUID | NOEXEC, false).step(format!("bind {}", at.display()))?;
    Ok(Some(Tree { at, mount, is_dir: false }))
}

/// The new root while it is being filled.
struct Root {
    root: OwnedFd,
}

impl Root {
    fn furnish(&self, job: &Job, trees: &Trees, report: &mut CageReport) -> Result<(), BuildError> {
        for name in TOP_LINKS {
            if let Ok(target) = std::fs::read_link(Path::new("/").join(name)) {
                rustix::fs::symlinkat(&target, &self.root, *name).step(format!("link /{name}"))?;
            }
        }
        let tmp = tmpfs(&job.limits.tmp_bytes.to_string(), TMP_FILES, "0700").step("make /tmp")?;
        self.attach(&Tree { at: "/tmp".into(), mount: tmp, is_dir: true })?;
        for device in &trees.devices {
            self.attach(device)?;
        }
        // Only processes, nothing of the machine.
        match new_proc(Some("pid")) {
            Ok(mount) => self.attach(&Tree { at: "/proc".into(), mount, is_dir: true })?,
            // The interpreter works without one; containers often forbid it.
            Err(_) => report.layers.push("no /proc".to_owned()),
        }
        for grant in &trees.granted.trees {
            self.attach(grant)?;
        }
        self.copies(&trees.granted)?;
        self.cover(&trees.pinned, &trees.masks)?;
        for runtime in &trees.runtime {
            self.attach(runtime)?;
        }
        Ok(())
    }

    /// Mounts the stage, closes the root for writing and opens the stage for the daemon.
    fn stage(&self, job: &Job) -> Result<OwnedFd, BuildError> {
        let mount = tmpfs(&job.limits.stage_bytes.to_string(), STAGE_FILES, "0700").step("make the stage")?;
        self.attach(&Tree { at: job.stage.path(), mount, is_dir: true })?;
        set_mount_attributes(self.root.as_fd(), RDONLY, false).step("close the root")?;
        self.inside(&job.stage.path(), OFlags::RDONLY | OFlags::DIRECTORY).step("open the stage")
    }

    fn attach(&self, tree: &Tree) -> Result<(), BuildError> {
        let step = || format!("mount {}", tree.at.display());
        let target = self.target(&tree.at, tree.is_dir).step(step())?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(&tree.mount, "", &target, "", flags).step(step())
    }

    /// Copies the files that no mount can show to a file system of their own and shows each, read-only, at its place.
    fn copies(&self, granted: &Taken) -> Result<(), BuildError> {
        if granted.copies.is_empty() {
            return Ok(());
        }
        let inodes = (granted.copies.len() + 8).to_string();
        let store = tmpfs(&granted.copied_bytes().to_string(), &inodes, "0700").step("make room for copies")?;
        // Only what is attached can be copied as a mount, on most kernels.
        let place = Tree { at: "/copies".into(), mount: store, is_dir: true };
        self.attach(&place)?;
        for (number, copied) in granted.copies.iter().enumerate() {
            let mount = place.keep(&number.to_string(), &copied.file).step(format!("copy {}", copied.at.display()))?;
            self.attach(&Tree { at: copied.at.clone(), mount, is_dir: false })?;
        }
        unmount(format!("/proc/self/fd/{}", place.mount.as_raw_fd()), UnmountFlags::DETACH).step("close the copies")
    }

    /// Hides what was found below the grants, where it cannot be moved from.
    fn cover(&self, pinned: &[PathBuf], masks: &[PathBuf]) -> Result<(), BuildError> {
        pinned.iter().try_for_each(|folder| self.pin(folder).step(format!("pin {}", folder.display())))?;
        masks.iter().try_for_each(|mask| self.hide(mask).step(format!("hide {}", mask.display())))
    }

    /// Mounts a folder on itself: what something is mounted on keeps its name.
    fn pin(&self, path: &Path) -> io::Result<()> {
        let folder = match self.inside(path, OFlags::PATH | OFlags::DIRECTORY) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(move_mount(copy(folder.as_fd())?, "", &folder, "", flags)?)
    }

    /// Gives a file system of the cage's own another size.
    fn resize(&self, at: &Path, bytes: u64) -> io::Result<()> {
        let mount = self.inside(at, OFlags::PATH | OFlags::DIRECTORY)?;
        bound_tmpfs(mount.as_fd(), "size", &bytes.to_string())
    }

    /// Covers an object with an empty one that cannot be read.
    fn hide(&self, path: &Path) -> io::Result<()> {
        let target = match self.inside(path, OFlags::PATH) {
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let is_dir = is_dir(&target)?;
        // A device on a mount without devices cannot be opened: the plainest unreadable file that exists everywhere.
        let cover = if is_dir {
            tmpfs("4k", "4", "0000")?
        } else {
            copy(rustix::fs::open("/dev/null", PATH, Mode::empty())?.as_fd())?
        };
        set_mount_attributes(cover.as_fd(), NOSUID | NODEV | NOEXEC | RDONLY, false)?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(move_mount(&cover, "", &target, "", flags)?)
    }

    /// The place for a mount, made where it is missing.
    fn target(&self, at: &Path, is_dir: bool) -> io::Result<OwnedFd> {
        if is_dir {
            return self.folder(at);
        }
        if let Ok(found) = self.inside(at, OFlags::PATH) {
            return Ok(found);
        }
        let folder = self.folder(at.parent().unwrap_or(Path::new("/")))?;
        let name = at.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&folder, name, flags, Mode::RUSR)?)
    }

    /// A folder, made with those above it where they are missing.
    fn folder(&self, at: &Path) -> io::Result<OwnedFd> {
        match self.inside(at, OFlags::PATH | OFlags::DIRECTORY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        let name = at.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = self.folder(at.parent().unwrap_or(Path::new("/")))?;
        rustix::fs::mkdirat(&parent, name, Mode::XUSR | Mode::XGRP | Mode::XOTH)?;
        Ok(rustix::fs::openat(&parent, name, PATH | OFlags::DIRECTORY, Mode::empty())?)
    }

    /// Opens a path inside of the new root, never through a link.
    fn inside(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Ok(rustix::fs::openat2(&self.root, path, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty(), resolve)?)
    }
}

pub(super) fn open_dir(at: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(
        at,
        path,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
    )?)
}

/// Gives up every capability, for good. Where root has no user namespace of its own it keeps the one by which it reads files of
/// others: which of them is landlock's to say, and there is no map of owners.
pub(super) fn drop_capabilities(job: &Job, report: &mut CageReport) -> Result<(), BuildError> {
    if !job.has(Layer::Capabilities) {
        return Ok(());
    }
    let has = rustix::thread::capabilities(None).step("look at the capabilities")?.permitted;
    let is_alone = !job.backend.has_namespaces();
    let kept = if is_alone { has & CapabilitySet::DAC_READ_SEARCH } else { CapabilitySet::empty() };
    for bit in (0..64).map(|bit| CapabilitySet::from_bits_retain(1 << bit)).filter(|bit| !kept.contains(*bit)) {
        match rustix::thread::remove_capability_from_bounding_set(bit) {
            Ok(()) => {}
            // The kernel knows no capability of this number; or bubblewrap's own profile keeps this one from using any, and
            // then there is nothing to gain: whoever cannot gain privileges has no use for a bounding set.
            Err(rustix::io::Errno::INVAL) => break,
            Err(rustix::io::Errno::PERM) if is_alone || job.backend == Backend::Bubblewrap => break,
            Err(error) => return Err(error).step("drop the bounding set"),
        }
    }
    rustix::thread::clear_ambient_capability_set().step("drop ambient capabilities")?;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: none })
        .step("drop capabilities")?;
    report.layers.push(if kept.is_empty() { "no capabilities" } else { "no capability but to read" }.to_owned());
    Ok(())
}

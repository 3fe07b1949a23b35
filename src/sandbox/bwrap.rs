//! The cage built by bubblewrap: for machines where that program may make user namespaces and others may not (Ubuntu's
//! AppArmor profiles).
//!
//! The helper puts the plan into bubblewrap's words and has it start this same binary once more, inside: that one
//! takes the job over its standard input, looks whether what was asked for is there, and applies the layers that
//! bubblewrap has not (landlock, limits, syscall filter) before it becomes the interpreter. Names could have changed since
//! they were granted, and bubblewrap binds by name: inside, each object is compared with the one that was granted.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{CWD, MemfdFlags, Mode, StatVfsMountFlags};
use rustix::mount::{MoveMountFlags, move_mount};
use serde::{Deserialize, Serialize};

use super::HELPER_ARG;
use super::child::{BuildError, Descriptors, Seat, Step};
use super::limits;
use super::native::{self, DEVICES, TOP_LINKS, View};
use super::report::CageReport;
use super::sys::{NODEV, NOEXEC, NOSUID, set_mount_attributes};
use super::wire::{self, Exit, GrantJob, Job, Layer};

/// What follows the build on the command line of the one inside.
pub(super) const INSIDE: &str = "inside";

/// Where bubblewrap lies: where distributions put it, and nobody but root may write.
const PLACES: [&str; 2] = ["/usr/bin/bwrap", "/bin/bwrap"];
/// Where this binary is seen inside until it has become the interpreter; landlock then closes it.
const SELF: &str = "/.metnos-cage";
/// The namespaces that bubblewrap is asked for, as `/proc` names them.
const NAMESPACES: [&str; 7] = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"];

/// What the one inside is told, before the descriptors.
#[derive(Serialize, Deserialize)]
struct Told {
    job: Job,
    /// The namespaces outside, which it must have left.
    outside: Vec<(String, u64)>,
    broker: bool,
}

/// Bubblewrap, where it is installed as a program that can be trusted.
pub(super) fn program() -> io::Result<PathBuf> {
    let trusted = |path: &&&str| fs::metadata(path).is_ok_and(|meta| meta.uid() == 0 && meta.mode() & 0o022 == 0);
    let found = PLACES.iter().find(trusted).map(PathBuf::from);
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "bubblewrap (bwrap) is not installed"))
}

/// The command that starts bubblewrap; `inside` is the socket over which the one inside hears.
pub(super) fn command(job: &Job, inside: OwnedFd) -> Result<(Command, OwnedFd), BuildError> {
    let program = program().step("find bubblewrap")?;
    let arguments = arguments(job).step("put the plan into words")?;
    let words = rustix::fs::memfd_create("arguments", MemfdFlags::CLOEXEC).step("make room for arguments")?;
    let words = fs::File::from(words);
    let bytes: Vec<u8> = arguments.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
    std::os::unix::fs::FileExt::write_all_at(&words, &bytes, 0).step("write arguments")?;
    rustix::io::fcntl_setfd(&words, rustix::io::FdFlags::empty()).step("keep arguments")?;
    let mut command = Command::new(program);
    command.arg("--args").arg(words.as_raw_fd().to_string()).arg("--").arg(own_program(job)?).arg(HELPER_ARG);
    command.arg(super::builder::build()).arg(INSIDE);
    if job.has(Layer::Inheritance) {
        command.env_clear();
    } else {
        command.arg("keep");
    }
    command.stdin(inside);
    Ok((command, words.into()))
}

/// The plan in bubblewrap's words.
fn arguments(job: &Job) -> io::Result<Vec<OsString>> {
    let mut words = Words::default();
    words.all(["--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
    words.all(["--die-with-parent", "--new-session"]);
    if job.has(Layer::PidNamespace) {
        words.all(["--unshare-pid", "--as-pid-1"]);
    }
    if job.has(Layer::NetNamespace) {
        words.all(["--unshare-net"]);
    }
    if job.has(Layer::Capabilities) {
        words.all(["--cap-drop", "ALL"]);
        // For the one inside, to bound the pid namespace and then to give up these as well.
        words.all(["--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP"]);
    } else {
        words.all(["--cap-add", "ALL"]);
    }
    if job.has(Layer::PrivateRoot) {
        words.private_root(job)?;
    } else {
        words.bind("--dev-bind", Path::new("/"));
    }
    if job.has(Layer::PrivateRoot) {
        words.pair("--ro-bind", &std::env::current_exe()?, Path::new(SELF));
        words.all(["--remount-ro", "/"]);
    }
    words.all(["--chdir", "/"]);
    Ok(words.0)
}

/// Where this program is inside. Where the host's root is shown it lies there as it does outside: another place for it would
/// be made on the host.
fn own_program(job: &Job) -> Result<PathBuf, BuildError> {
    if job.has(Layer::PrivateRoot) { Ok(SELF.into()) } else { std::env::current_exe().step("find this program") }
}

#[derive(Default)]
struct Words(Vec<OsString>);

impl Words {
    fn all<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn pair(&mut self, word: &str, from: impl AsRef<OsStr>, to: &Path) {
        self.0.extend([word.into(), from.as_ref().to_owned(), to.as_os_str().to_owned()]);
    }

    fn bind(&mut self, word: &str, path: &Path) {
        self.pair(word, path, path);
    }

    fn tmpfs(&mut self, path: &Path, mode: &str, bytes: u64) {
        self.all(["--perms", mode, "--size", &bytes.to_string(), "--tmpfs"]);
        self.0.push(path.as_os_str().to_owned());
    }

    /// The same root as the native cage builds, in the same order.
    fn private_root(&mut self, job: &Job) -> io::Result<()> {
        for name in TOP_LINKS {
            let link = Path::new("/").join(name);
            if let Ok(target) = fs::read_link(&link) {
                self.pair("--symlink", target, &link);
            }
        }
        self.tmpfs(Path::new("/tmp"), "0700", job.limits.tmp_bytes);
        for device in DEVICES {
            self.bind("--dev-bind-try", &Path::new("/dev").join(device));
        }
        self.all(["--proc", "/proc"]);
        self.grants(job)?;
        let own = own_libraries()?;
        let mut runtime: BTreeSet<(usize, PathBuf)> = job.runtime.iter().map(|mount| deep(mount.path())).collect();
        runtime.extend(
            own.into_iter().filter(|path| !job.runtime.iter().any(|mount| path.starts_with(mount.path()))).map(deep),
        );
        for (_, path) in runtime {
            self.bind("--ro-bind", &path);
        }
        self.tmpfs(&job.stage.path(), "0700", job.limits.stage_bytes);
        Ok(())
    }

    fn grants(&mut self, job: &Job) -> io::Result<()> {
        let mut grants: Vec<&GrantJob> = job.grants.iter().collect();
        grants.sort_by_key(|grant| deep(grant.at.path()));
        for grant in grants {
            let at = grant.at.path();
            let word = if grant.write || !job.has(Layer::ReadOnlyMounts) { "--bind" } else { "--ro-bind" };
            if at == Path::new("/") {
                for (at, _) in native::top_objects().map_err(io::Error::other)? {
                    self.bind(word, &at);
                }
            } else {
                self.bind(word, &at);
            }
        }
        for folder in job.pinned().iter().filter(|folder| folder.symlink_metadata().is_ok()) {
            self.bind("--bind", folder);
        }
        let masks: BTreeSet<(usize, PathBuf)> =
            job.grants.iter().flat_map(|grant| &grant.masks).map(|mask| deep(mask.path())).collect();
        for (_, mask) in masks {
            self.hide(&mask)?;
        }
        Ok(())
    }

    /// Covers an object with an empty one that cannot be read.
    fn hide(&mut self, path: &Path) -> io::Result<()> {
        let kind = match fs::symlink_metadata(path) {
            Ok(meta) => meta.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if kind.is_dir() {
            self.tmpfs(path, "0000", 4096);
            self.all(["--remount-ro"]);
            self.0.push(path.as_os_str().to_owned());
        } else if kind.is_file() || kind.is_socket() || kind.is_fifo() {
            self.pair("--ro-bind", "/dev/null", path);
        } else {
            return Err(io::Error::other(format!("{} cannot be hidden: it is a link or a device", path.display())));
        }
        Ok(())
    }
}

/// A path behind its depth: outer folders are mounted first.
fn deep(path: PathBuf) -> (usize, PathBuf) {
    (path.components().count(), path)
}

/// What this binary itself needs of the host to start: its loader and its libraries.
fn own_libraries() -> io::Result<BTreeSet<PathBuf>> {
    let own = std::env::current_exe()?;
    let mapped = fs::read_to_string("/proc/self/maps")?;
    let paths = mapped.lines().filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..])));
    Ok(paths.filter(|path| *path != own && path.is_file()).collect())
}

/// Hands job and descriptors to the one inside. Where bubblewrap ended before that, this fails.
pub(super) fn tell(
    job: &Job,
    descriptors: &Descriptors,
    control: BorrowedFd<'_>,
    inside: BorrowedFd<'_>,
) -> io::Result<()> {
    let told = Told { job: job.clone(), outside: namespaces()?, broker: descriptors.broker.is_some() };
    wire::send(inside, &told)?;
    let mut sent = vec![control, descriptors.channel.as_fd()];
    sent.extend(descriptors.broker.as_ref().map(AsFd::as_fd));
    sent.extend(descriptors.grants.iter().map(AsFd::as_fd));
    wire::send_descriptors(inside, &sent)
}

/// Covers bubblewrap's `/proc`, which tells much about the machine, by one that shows only processes.
fn only_processes() -> io::Result<PathBuf> {
    let proc = native::new_proc(Some("pid"))?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(&proc, "", CWD, "/proc", flags)?;
    Ok(PathBuf::from("/proc"))
}

fn namespaces() -> io::Result<Vec<(String, u64)>> {
    NAMESPACES
        .iter()
        .map(|name| Ok(((*name).to_owned(), fs::metadata(format!("/proc/self/ns/{name}"))?.ino())))
        .collect()
}

/// What the one inside was given.
pub(super) struct Inside {
    pub(super) job: Job,
    pub(super) control: OwnedFd,
    pub(super) channel: OwnedFd,
    pub(super) broker: Option<OwnedFd>,
    pub(super) grants: Vec<OwnedFd>,
    outside: Vec<(String, u64)>,
}

impl Inside {
    /// Sees that each granted object is the one that was granted, and that nothing shows which was to be hidden.
    fn look_at_grants(&self) -> Result<(), BuildError> {
        let job = &self.job;
        for (grant, descriptor) in job.grants.iter().zip(&self.grants) {
            let at = grant.at.path();
            if at != Path::new("/") {
                let object = native::same_object(grant, descriptor.as_fd()).granted(&at)?;
                hold_no_programs(object.as_fd()).granted(&at)?;
            }
            for mask in &grant.masks {
                let mask = mask.path();
                refuse_shown(&mask).step(format!("hide {}", mask.display()))?;
            }
        }
        Ok(())
    }

    /// Takes it over the socket.
    pub(super) fn take(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let told: Told = wire::receive(socket)?.ok_or_else(|| io::Error::other("nothing was said"))?;
        let count = 2 + usize::from(told.broker) + told.job.grants.len();
        let mut received = wire::receive_descriptors(socket, count)?.into_iter();
        let mut next = || received.next().ok_or_else(|| io::Error::other("a descriptor is missing"));
        Ok(Self {
            control: next()?,
            channel: next()?,
            broker: if told.broker { Some(next()?) } else { None },
            grants: received.collect(),
            job: told.job,
            outside: told.outside,
        })
    }

    /// What it holds as the process that becomes the interpreter.
    pub(super) fn seat(&self) -> Seat<'_> {
        let Self { job, control, channel, broker, grants, .. } = self;
        Seat { job, control: control.as_fd(), channel, broker: broker.as_ref(), grants }
    }

    /// Looks whether bubblewrap gave what it was asked for, and writes that into the report.
    pub(super) fn look_around(&self, report: &mut CageReport) -> Result<View, BuildError> {
        let job = &self.job;
        let now = namespaces().step("look at the namespaces")?;
        for ((name, outside), (_, inside)) in self.outside.iter().zip(&now) {
            let is_wanted = match name.as_str() {
                "pid" => job.has(Layer::PidNamespace),
                "net" => job.has(Layer::NetNamespace),
                _ => true,
            };
            if is_wanted && outside == inside {
                report.missing.push(format!("a {name} namespace of its own"));
            }
        }
        report.layers.push("namespaces".to_owned());
        limits::bound_processes(job, report);
        if !job.has(Layer::PrivateRoot) {
            return View::host(job);
        }
        let root = rustix::fs::statvfs("/").step("look at the root")?;
        if !root.f_flag.contains(StatVfsMountFlags::RDONLY) {
            return Err(io::Error::other("it can be written")).step("look at the root");
        }
        self.look_at_grants()?;
        let stage = native::open_dir(CWD, &job.stage.path()).step("open the stage")?;
        let tmp = native::open_dir(CWD, Path::new("/tmp")).step("open /tmp")?;
        for (scratch, files) in [(&stage, native::STAGE_FILES), (&tmp, native::TMP_FILES)] {
            bound_files(scratch.as_fd(), files).step("bound the files of the scratch folders")?;
            hold_no_programs(scratch.as_fd()).step("close the scratch folders for programs")?;
        }
        report.layers.push("private root".to_owned());
        Ok(View {
            stage,
            private: true,
            proc: only_processes().or_else(|_| fs::canonicalize("/proc/self")).step("look at /proc")?,
        })
    }
}

/// Has nothing of a mount run as a program; what is mounted below it, the interpreter perhaps, is left as it is. Where a profile keeps bubblewrap's children from all that needs a capability, landlock
/// alone does so.
fn hold_no_programs(mount: BorrowedFd<'_>) -> io::Result<()> {
    match set_mount_attributes(mount, NOSUID | NODEV | NOEXEC, false) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        done => done,
    }
}

/// Bounds the number of files, for which bubblewrap has no word. Where a profile keeps its children from it, the kernel's own
/// bound stands: as many as half of the memory's pages.
fn bound_files(scratch: BorrowedFd<'_>, most: &str) -> io::Result<()> {
    match native::bound_tmpfs(scratch, "nr_inodes", most) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        done => done,
    }
}

/// Refuses a path that shows something though it was to be hidden: it was another object when it was covered.
fn refuse_shown(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let kind = found.file_type();
    // Folders are covered by an empty one that is closed to all, files by /dev/null.
    let is_closed = Mode::from_raw_mode(found.mode()).is_empty();
    if kind.is_dir() && is_closed || kind.is_char_device() && found.rdev() == rustix::fs::makedev(1, 3) {
        return Ok(());
    }
    Err(io::Error::other("it is not hidden"))
}

/// How the interpreter ended, of which bubblewrap tells as shells do.
pub(super) fn exit(of_bubblewrap: Exit) -> Exit {
    match of_bubblewrap {
        Exit::Code(code) if code > 128 => Exit::Signal(code - 128),
        exit => exit,
    }
}

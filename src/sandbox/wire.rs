//! What daemon and helper say to each other: one job with its descriptors, then what became of it.
//!
//! Frames are a big-endian length and MessagePack. Descriptors of a job travel beside single bytes after it, the one of what
//! is said of a cage beside its frame: whoever says it may be killed at any moment, and half of it would be taken for
//! something else. Paths are bytes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use metnos_projections::rules::cage_plan::Limits;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::interpreter::RuntimeMount;
use super::report::{Backend, CageReport};

const FRAME_MAX: usize = 64 << 20;
const BATCH: usize = 200;

/// A layer of the cage, for tests that show what it is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layer {
    /// The pid namespace.
    PidNamespace,
    /// The network namespace.
    NetNamespace,
    /// The private root.
    PrivateRoot,
    /// Landlock.
    Landlock,
    /// The syscall filter.
    Seccomp,
    /// Resource limits of the process, of the pid namespace and of the cgroup.
    Limits,
    /// The watchdog over memory and processes.
    Watchdog,
    /// Dropping of capabilities.
    Capabilities,
    /// The emptied environment and the closed descriptors.
    Inheritance,
    /// Read-only mounts.
    ReadOnlyMounts,
}

/// A path as bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RawPath(Vec<u8>);

impl RawPath {
    pub(super) fn new(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }

    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(OsString::from_vec(self.0.clone()))
    }
}

/// A grant without its descriptor, which travels beside it in the same order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct GrantJob {
    pub(super) at: RawPath,
    pub(super) write: bool,
    pub(super) is_dir: bool,
    pub(super) masks: Vec<RawPath>,
}

/// Which caps the cgroup of a call has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Caps {
    pub(super) memory: bool,
    pub(super) processes: bool,
}

/// All that the helper needs to know. Descriptors: channel, stdout, stderr, lock, broker and cgroup
/// where there are such, then the grants.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) daemon: i32,
    pub(super) backend: Backend,
    pub(super) without: Vec<Layer>,
    /// Builds and reports, and starts nothing.
    pub(super) probe: bool,
    /// Builds, starts the interpreter, and waits for a [`Told::Call`].
    pub(super) waits: bool,
    pub(super) exe: RawPath,
    pub(super) runtime: Vec<RuntimeMount>,
    pub(super) bootstrap: String,
    pub(super) env: Vec<String>,
    pub(super) limits: Limits,
    pub(super) grants: Vec<GrantJob>,
    pub(super) lock: bool,
    pub(super) broker: bool,
    /// Of a call that has a cgroup of its own: what that bounds.
    pub(super) cgroup: Option<Caps>,
    pub(super) descriptors: usize,
    /// Where the stage is: a path in the cage, or a real folder where there is no private root.
    pub(super) stage: RawPath,
    /// The same for temporary files.
    pub(super) tmp: RawPath,
}

impl Job {
    /// The folders between what may be written to and what stays hidden below it, the outer ones first: were one of them to get
    /// another name, so would what it holds, and that is hidden by its name.
    pub(super) fn pinned(&self) -> Vec<PathBuf> {
        let mut folders = BTreeSet::new();
        for grant in self.grants.iter().filter(|grant| grant.write) {
            let top = grant.at.path();
            for mask in &grant.masks {
                let mask = mask.path();
                let between = mask.ancestors().skip(1).take_while(|above| *above != top && above.starts_with(&top));
                folders.extend(between.map(|above| (above.components().count(), above.to_owned())));
            }
        }
        folders.into_iter().map(|(_, folder)| folder).collect()
    }

    pub(super) fn has(&self, layer: Layer) -> bool {
        !self.without.contains(&layer)
    }

    /// Whether the cage has a root of its own.
    pub(super) fn is_private(&self) -> bool {
        self.backend.has_namespaces() && self.has(Layer::PrivateRoot)
    }
}

/// What a helper is told whose cage waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Told {
    /// The daemon has heard all that the cage itself had to say, and asks for a hold of it. With a timer, which says when there
    /// is a call to be heard of.
    Wait,
    /// The call: what replaces the limits that the cage was built with, and what it sees. Descriptors: the grants. The timer is
    /// set before the cage is fed; a call without mounts is there by then, another one comes.
    Call { limits: Limits, grants: Vec<GrantJob> },
}

impl Told {
    /// Whether the call needs mounts made or changed, so that the cage may be fed only once the helper says [`Said::Begun`].
    /// All else is done by the daemon itself before it sends the call.
    pub(super) fn needs_mounts(limits: &Limits, before: &Limits, grants: usize) -> bool {
        grants > 0 || (limits.stage_bytes, limits.tmp_bytes) != (before.stage_bytes, before.tmp_bytes)
    }
}

/// What the helper says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Said {
    /// The cage stands and the interpreter starts now. With a descriptor of the stage.
    Started { report: CageReport },
    /// It could not be built, or the interpreter could not be started.
    Refused { message: String, fault: Fault },
    /// The cage waits. With a pidfd of its first process.
    Waits { pid: i32 },
    /// A waiting cage has the mounts of its call, and may be fed.
    Begun,
    /// Everything that was in the cage is dead.
    Ended { exit: Exit, why: Option<Why> },
}

/// Whose fault it is that a cage could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Fault {
    /// The cage's own.
    Cage,
    /// A granted object is closed to this user.
    Denied,
    /// A granted object is gone, or another one has its name.
    Changed,
}

/// How the first process of the cage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Exit {
    Code(i32),
    Signal(i32),
}

/// Why the helper ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Why {
    Deadline,
    Memory,
    Processes,
    Asked,
}

/// Sends one frame.
pub(super) fn send<T: Serialize>(socket: BorrowedFd<'_>, value: &T) -> io::Result<()> {
    send_bytes(socket, &frame(value)?)
}

/// Sends one frame and a descriptor, both or neither.
pub(super) fn send_with<T: Serialize>(socket: BorrowedFd<'_>, value: &T, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let frame = frame(value)?;
    let sent = send_beside(socket, &frame, &[descriptor])?;
    send_bytes(socket, &frame[sent..])
}

fn frame<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let body = rmp_serde::to_vec(value).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    Ok([&length.to_be_bytes(), body.as_slice()].concat())
}

fn send_bytes(socket: BorrowedFd<'_>, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        match rustix::net::send(socket, rest, SendFlags::NOSIGNAL) {
            Ok(sent) => rest = &rest[sent..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Receives one frame; `None` when the other side is gone.
pub(super) fn receive<T: DeserializeOwned>(socket: BorrowedFd<'_>) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    if fill(socket, &mut length)? { body(socket, length) } else { Ok(None) }
}

/// Receives one frame and the descriptor beside it, if there is one and this process may have one more.
pub(super) fn receive_with<T: DeserializeOwned>(socket: BorrowedFd<'_>) -> io::Result<Option<(T, Option<OwnedFd>)>> {
    let mut length = [0; 4];
    let (received, mut descriptors) = receive_beside(socket, &mut length)?;
    if received == 0 || !fill(socket, &mut length[received..])? {
        return Ok(None);
    }
    Ok(body(socket, length)?.map(|value| (value, descriptors.pop())))
}

fn body<T: DeserializeOwned>(socket: BorrowedFd<'_>, length: [u8; 4]) -> io::Result<Option<T>> {
    let length = u32::from_be_bytes(length) as usize;
    if length > FRAME_MAX {
        return Err(io::Error::other("a frame is too long"));
    }
    let mut body = vec![0; length];
    if !fill(socket, &mut body)? {
        return Ok(None);
    }
    rmp_serde::from_slice(&body).map(Some).map_err(io::Error::other)
}

fn fill(socket: BorrowedFd<'_>, mut buffer: &mut [u8]) -> io::Result<bool> {
    while !buffer.is_empty() {
        match rustix::io::read(socket, &mut *buffer) {
            Ok(0) => return Ok(false),
            Ok(read) => buffer = &mut buffer[read..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

/// How long a sender waits while this user has too many descriptors in flight elsewhere, and between two tries.
const IN_FLIGHT_PATIENCE: Duration = Duration::from_secs(5);
const IN_FLIGHT_PAUSE: Duration = Duration::from_millis(2);

/// Sends descriptors, each batch beside one byte. The kernel bounds what all processes of a user have in flight together
/// (unix(7), `ETOOMANYREFS`); what others sent arrives in a moment, so this waits for it.
pub(super) fn send_descriptors(socket: BorrowedFd<'_>, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    for batch in descriptors.chunks(BATCH) {
        send_beside(socket, b"d", batch)?;
    }
    Ok(())
}

/// Sends descriptors beside bytes; says how many of those went with them.
fn send_beside(socket: BorrowedFd<'_>, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let until = Instant::now() + IN_FLIGHT_PATIENCE;
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(BATCH))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::Error::other("too many descriptors for one message"));
        }
        match rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
            Ok(sent) => return Ok(sent),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::TOOMANYREFS) if Instant::now() < until => std::thread::sleep(IN_FLIGHT_PAUSE),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Receives so many descriptors, all of them closed by `exec`.
pub(super) fn receive_descriptors(socket: BorrowedFd<'_>, count: usize) -> io::Result<Vec<OwnedFd>> {
    let mut descriptors = Vec::with_capacity(count);
    while descriptors.len() < count {
        let (received, batch) = receive_beside(socket, &mut [0])?;
        if received == 0 || batch.is_empty() {
            return Err(io::Error::other("a descriptor is missing"));
        }
        descriptors.extend(batch);
    }
    Ok(descriptors)
}

/// Receives some bytes and the descriptors beside them.
fn receive_beside(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(BATCH))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    // A helper is interrupted when the thread of the daemon ends that started it.
    let message = rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    Ok((message.bytes, descriptors))
}

/// A fresh pair of connected sockets, both closed by `exec`.
pub(super) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// Makes reads and writes of a descriptor return at once.
pub(super) fn set_nonblocking(descriptor: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&descriptor)?;
    Ok(rustix::fs::fcntl_setfl(&descriptor, flags | rustix::fs::OFlags::NONBLOCK)?)
}

//! The few system calls that no safe crate offers: a clone into new namespaces, mount attributes, closing a range of
//! descriptors, a signal handler that does nothing. All `unsafe` of the cage is here.
#![expect(unsafe_code, reason = "raw system calls that neither std nor rustix offers; each has its SAFETY comment")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::process::Pid;

/// `struct mount_attr` of the kernel, version 0.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns_fd: u64,
}

/// `MOUNT_ATTR_RDONLY`.
pub(super) const RDONLY: u64 = 0x1;
/// `MOUNT_ATTR_NOSUID`.
pub(super) const NOSUID: u64 = 0x2;
/// `MOUNT_ATTR_NODEV`.
pub(super) const NODEV: u64 = 0x4;
/// `MOUNT_ATTR_NOEXEC`.
pub(super) const NOEXEC: u64 = 0x8;
/// `CLONE_INTO_CGROUP`, which the libc crate has for its own width only.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
/// `MOUNT_ATTR_IDMAP`.
const IDMAP: u64 = 0x10_0000;

/// Clones this process into new namespaces, as fork does: returns twice, `None` in the child.
///
/// The caller must have one thread only; the child must go on to `exec` or `exit`.
pub(super) fn clone_process(namespaces: libc::c_int) -> io::Result<Option<Pid>> {
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with a null stack this is fork: the child gets a copy of memory and stack. The helper
    // has one thread, so no lock can be held by a thread that the child lacks.
    born(unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) })
}

/// The same, with the child in a cgroup from its first moment.
pub(super) fn clone_process_into(cgroup: BorrowedFd<'_>, namespaces: libc::c_int) -> io::Result<Option<Pid>> {
    let flags = u64::try_from(namespaces).map_err(io::Error::other)?;
    // SAFETY: an all-zero clone_args is a valid value of this plain C struct.
    let mut wanted: libc::clone_args = unsafe { std::mem::zeroed() };
    wanted.flags = flags | CLONE_INTO_CGROUP;
    wanted.exit_signal = u64::try_from(libc::SIGCHLD).map_err(io::Error::other)?;
    wanted.cgroup = u64::try_from(cgroup.as_raw_fd()).map_err(io::Error::other)?;
    // SAFETY: as above, this is fork; the struct lives across the call and its size is passed.
    let result = unsafe { libc::syscall(libc::SYS_clone3, &raw const wanted, size_of::<libc::clone_args>()) };
    born(result)
}

fn born(result: libc::c_long) -> io::Result<Option<Pid>> {
    match libc::pid_t::try_from(result) {
        Ok(-1) | Err(_) => Err(io::Error::last_os_error()),
        Ok(pid) => Ok(Pid::from_raw(pid)),
    }
}

/// Sets attributes of a mount, and of all mounts below it when `recursive`.
pub(super) fn set_mount_attributes(mount: BorrowedFd<'_>, attributes: u64, recursive: bool) -> io::Result<()> {
    set_attr(mount, &MountAttr { set: attributes, clear: 0, propagation: 0, userns_fd: 0 }, recursive)
}

/// Takes attributes of one mount away.
pub(super) fn clear_mount_attributes(mount: BorrowedFd<'_>, attributes: u64) -> io::Result<()> {
    set_attr(mount, &MountAttr { set: 0, clear: attributes, propagation: 0, userns_fd: 0 }, false)
}

/// Gives this process a mount namespace of its own, a copy of the one that it is in.
pub(super) fn new_mount_namespace() -> io::Result<()> {
    // SAFETY: a mount namespace has nothing to do with memory or descriptors; what is unsafe about this call is
    // `CLONE_FILES`, which is not asked for.
    Ok(unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) }?)
}

/// Makes the cgroup that this process is in the root of those that it sees.
pub(super) fn new_cgroup_namespace() -> io::Result<()> {
    // SAFETY: as above: it has nothing to do with memory or descriptors.
    Ok(unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWCGROUP) }?)
}

/// The same of a detached copy that was taken in the host's own mount namespace: what is mounted on it later must not appear
/// on the host, so its ties to the mount that it was copied from are cut, too.
pub(super) fn set_private_attributes(mount: BorrowedFd<'_>, attributes: u64) -> io::Result<()> {
    set_attr(mount, &MountAttr { set: attributes, clear: 0, propagation: libc::MS_PRIVATE, userns_fd: 0 }, true)
}

/// Shows the owners on a detached mount as the user namespace `map` has them, and on all mounts below when `recursive`.
pub(super) fn map_mount_ids(mount: BorrowedFd<'_>, map: BorrowedFd<'_>, recursive: bool) -> io::Result<()> {
    let userns_fd = u64::try_from(map.as_raw_fd()).map_err(io::Error::other)?;
    set_attr(mount, &MountAttr { set: IDMAP, clear: 0, propagation: 0, userns_fd }, recursive)
}

fn set_attr(mount: BorrowedFd<'_>, attr: &MountAttr, recursive: bool) -> io::Result<()> {
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a NUL-terminated empty string, the attributes live across the call and their size is passed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            std::ptr::from_ref(attr),
            size_of::<MountAttr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Closes every descriptor from `first` on. Only for the start of a process that owns none of them yet.
pub(super) fn close_from(first: libc::c_uint) -> io::Result<()> {
    close_range(first, 0)
}

/// Marks every descriptor from `first` on to be closed by `exec`.
pub(super) fn close_on_exec_from(first: libc::c_uint) -> io::Result<()> {
    close_range(first, libc::CLOSE_RANGE_CLOEXEC)
}

fn close_range(first: libc::c_uint, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: no memory is passed. Closing is done before this process owns any descriptor above the standard ones.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

extern "C" fn nothing(_signal: libc::c_int) {}

/// Lets SIGTERM and SIGCONT interrupt a poll and do nothing else: whatever else waits goes on waiting.
pub(super) fn interrupt_on_signals() -> io::Result<()> {
    // SAFETY: an all-zero sigaction is a valid value of this plain C struct.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let handler: extern "C" fn(libc::c_int) = nothing;
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    for signal in [libc::SIGTERM, libc::SIGCONT] {
        // SAFETY: the handler is async-signal-safe (it does nothing) and the struct lives across the call.
        if unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

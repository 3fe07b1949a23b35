//! The syscall filter: a deny list with a check of the architecture, and a first filter for what the library cannot say.
//!
//! A process under it may read, write, map, fork and wait; it makes no socket that could reach anything, no namespace, no
//! mount, no key, no kernel object that outlives it, and it traces nothing. Where there is no pid namespace it starts no
//! process and signals none but itself.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

use super::child::{BuildError, Step};
use super::report::CageReport;
use super::wire::{Job, Layer};

const KILL: u32 = 0x8000_0000;
const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
/// Numbers from here on are those of the x32 ABI; the library's check of the architecture lets them pass.
const X32: u32 = 0x4000_0000;
/// `mseal`, the newest call that this list was checked against; newer ones do not exist here.
const NEWEST: u32 = 462;

/// Denied at every level.
const DENIED: &[libc::c_long] = &[
    // Sockets; `socketpair` has a rule of its own.
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    // Namespaces, mounts, the root.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Kernel surface.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_personality,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_vmsplice,
    // Memory that no limit of a process sees.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    // A larger share of the processor than the watchdog: a session has one of its own where the kernel shares it out by session.
    libc::SYS_setsid,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
];

#[cfg(target_arch = "x86_64")]
const DENIED_HERE: &[libc::c_long] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_lookup_dcookie,
    libc::SYS_uselib,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[libc::c_long] = &[];

/// Denied too where neither a pid namespace nor a mount of its own stands behind: starting processes, reaching for others,
/// and changing what landlock does not cover.
const DENIED_ALONE: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_tkill,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setaffinity,
];

#[cfg(target_arch = "x86_64")]
const DENIED_ALONE_HERE: &[libc::c_long] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_ALONE_HERE: &[libc::c_long] = &[];

/// Installs the filters on this process and all that it starts.
pub(super) fn apply(job: &Job, report: &mut CageReport) -> Result<(), BuildError> {
    if !job.has(Layer::Seccomp) {
        return Ok(());
    }
    let alone = !job.backend.has_namespaces();
    let own = u64::try_from(rustix::process::getpid().as_raw_pid()).unwrap_or(0);
    let writes = job.grants.iter().any(|grant| grant.write);
    let rules = filter(alone, own, writes).step("make the syscall filter")?;
    apply_filter(&numbers(alone)).map_err(io::Error::other).step("filter syscall numbers")?;
    apply_filter(&rules).map_err(io::Error::other).step("filter syscalls")?;
    report.seccomp = true;
    report.layers.push("seccomp".to_owned());
    Ok(())
}

const fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

const fn answer(k: u32) -> sock_filter {
    sock_filter { code: 0x06, jt: 0, jf: 0, k }
}

const AT_LEAST: u16 = 0x35;
const MORE_THAN: u16 = 0x25;
const EQUAL: u16 = 0x15;

/// What a number alone decides. Kills x32, answers «no such call» to `clone3` and `openat2`, whose flags and modes a filter
/// cannot read, and to calls newer than the list (libraries fall back to what the second filter sees), and denies what is
/// denied whatever its arguments. The other filter checks the architecture; the stricter of two answers holds.
///
/// The denied numbers are a tree and not a row: the kernel walks a new filter once for every number there is.
fn numbers(alone: bool) -> BpfProgram {
    const LOAD_NUMBER: sock_filter = sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
    let (clone3, openat2) = (number(libc::SYS_clone3), number(libc::SYS_openat2));
    let mut program = vec![
        LOAD_NUMBER,
        jump(AT_LEAST, X32, 4, 0),
        jump(MORE_THAN, NEWEST, 2, 0),
        jump(EQUAL, clone3, 1, 0),
        jump(EQUAL, openat2, 0, 2),
        answer(ERRNO | errno(libc::ENOSYS)),
        answer(KILL),
    ];
    let mut denied: Vec<u32> = DENIED.iter().chain(DENIED_HERE).map(|&call| number(call)).collect();
    if alone {
        denied.extend(DENIED_ALONE.iter().chain(DENIED_ALONE_HERE).map(|&call| number(call)));
    }
    denied.sort_unstable();
    denied.dedup();
    program.extend(tree(&denied));
    program
}

/// Denies the numbers of a sorted list and allows all others.
fn tree(denied: &[u32]) -> BpfProgram {
    const LEAF: usize = 4;
    if denied.len() <= LEAF {
        let last = denied.len();
        let equals = denied.iter().enumerate().map(|(at, &call)| jump(EQUAL, call, short(last - at), 0));
        return equals.chain([answer(ALLOW), answer(ERRNO | errno(libc::EPERM))]).collect();
    }
    let (low, high) = denied.split_at(denied.len() / 2);
    let (below, above) = (tree(low), tree(high));
    let mut program = vec![jump(AT_LEAST, high[0], short(below.len()), 0)];
    program.extend(below);
    program.extend(above);
    program
}

fn short(distance: usize) -> u8 {
    u8::try_from(distance).expect("half of the list is shorter than a jump reaches")
}

fn number(call: libc::c_long) -> u32 {
    u32::try_from(call).expect("a syscall number is small")
}

fn bits(flags: libc::c_int) -> u64 {
    u64::try_from(flags).expect("a flag is positive")
}

fn errno(errno: libc::c_int) -> u32 {
    u32::try_from(errno).expect("an errno is small")
}

/// What the arguments decide, and the architecture.
fn filter(alone: bool, own: u64, writes: bool) -> io::Result<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let mut clone = namespace_flags()?;
    if alone {
        clone.push(rule(vec![condition(0, SeccompCmpOp::MaskedEq(bits(libc::CLONE_THREAD)), 0)?])?);
        rules.insert(libc::SYS_kill, vec![rule(vec![condition(0, SeccompCmpOp::Ne, own)?])?]);
        rules.insert(libc::SYS_tgkill, vec![rule(vec![condition(0, SeccompCmpOp::Ne, own)?])?]);
        let others = vec![condition(0, SeccompCmpOp::Ne, own)?, condition(0, SeccompCmpOp::Ne, 0)?];
        rules.insert(libc::SYS_prlimit64, vec![rule(others)?]);
    }
    rules.insert(libc::SYS_clone, clone);
    rules.insert(libc::SYS_socketpair, stream_pairs_only()?);
    // Memory that stays when no process maps it any more, so that nobody would count it.
    let unnamed = SeccompCmpOp::MaskedEq(bits(libc::MAP_TYPE | libc::MAP_ANONYMOUS));
    rules.insert(
        libc::SYS_mmap,
        vec![rule(vec![condition(3, unnamed, bits(libc::MAP_SHARED | libc::MAP_ANONYMOUS))?])?],
    );
    // Whoever takes off the signal that ties it to the helper would outlive a helper that is killed.
    rules.insert(libc::SYS_prctl, vec![rule(vec![condition(0, SeccompCmpOp::Eq, PR_SET_PDEATHSIG)?])?]);
    // Typing into a terminal, and signals sent by the kernel on behalf of a descriptor.
    rules.insert(libc::SYS_ioctl, one_of(1, &[libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSCTTY, FIOSETOWN, SIOCSPGRP])?);
    rules.insert(libc::SYS_fcntl, one_of(1, &[F_SETOWN, F_SETOWN_EX])?);
    if writes {
        rules.extend(no_borrowed_owner()?);
    }
    let denied = SeccompAction::Errno(errno(libc::EPERM));
    SeccompFilter::new(rules, SeccompAction::Allow, denied, arch)
        .and_then(BpfProgram::try_from)
        .map_err(io::Error::other)
}

const PR_SET_PDEATHSIG: u64 = 1;
/// The bits of a socket's type that are no flags.
const SOCKET_TYPES: u64 = 0xf;
const F_SETOWN: libc::Ioctl = 8;
const F_SETOWN_EX: libc::Ioctl = 15;
const FIOSETOWN: libc::Ioctl = 0x8901;
const SIOCSPGRP: libc::Ioctl = 0x8902;

/// Bits of a mode by which whoever runs a program becomes its owner, or of its group.
const BORROWS_OWNER: [libc::mode_t; 2] = [libc::S_ISUID, libc::S_ISGID];
/// Flags with which opening makes a file; of `O_TMPFILE` the bit that is its own.
const MAKES_FILE: [libc::c_int; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

/// Denies modes with these bits, where a cage has a folder of the host to write into: no capability is asked for them of the
/// owner, and a file there has them for everybody outside as well. In the cage's own folders nothing runs as its owner.
fn no_borrowed_owner() -> io::Result<BTreeMap<i64, Vec<SeccompRule>>> {
    let bit = |argument: u8, bit: u64| condition(argument, SeccompCmpOp::MaskedEq(bit), bit);
    let mut rules = BTreeMap::new();
    for &(call, mode) in MODES.iter().chain(MODES_HERE) {
        let denied = BORROWS_OWNER.iter().map(|&borrowed| rule(vec![bit(mode, borrowed.into())?]));
        rules.insert(call, denied.collect::<io::Result<_>>()?);
    }
    for &(call, flags) in OPENS.iter().chain(OPENS_HERE) {
        let mut denied = Vec::new();
        for making in MAKES_FILE {
            for borrowed in BORROWS_OWNER {
                denied.push(rule(vec![bit(flags, bits(making))?, bit(flags + 1, borrowed.into())?])?);
            }
        }
        rules.insert(call, denied);
    }
    Ok(rules)
}

/// Calls that set a mode, and which argument that is.
const MODES: &[(libc::c_long, u8)] =
    &[(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (libc::SYS_fchmodat2, 2), (libc::SYS_mknodat, 2)];
#[cfg(target_arch = "x86_64")]
const MODES_HERE: &[(libc::c_long, u8)] = &[(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
#[cfg(not(target_arch = "x86_64"))]
const MODES_HERE: &[(libc::c_long, u8)] = &[];
/// Calls that open, and which argument holds the flags; the mode is the next.
const OPENS: &[(libc::c_long, u8)] = &[(libc::SYS_openat, 2)];
#[cfg(target_arch = "x86_64")]
const OPENS_HERE: &[(libc::c_long, u8)] = &[(libc::SYS_open, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OPENS_HERE: &[(libc::c_long, u8)] = &[];

/// Denies pairs of another family than unix, and of another type than stream: a datagram socket, though born in a pair,
/// can send to any address that it names.
fn stream_pairs_only() -> io::Result<Vec<SeccompRule>> {
    let unix = u64::try_from(libc::AF_UNIX).expect("a family is positive");
    let stream = u64::try_from(libc::SOCK_STREAM).expect("a type is positive");
    let mut denied = vec![rule(vec![condition(0, SeccompCmpOp::Ne, unix)?])?];
    for kind in (0..=SOCKET_TYPES).filter(|kind| *kind != stream) {
        denied.push(rule(vec![condition(1, SeccompCmpOp::MaskedEq(SOCKET_TYPES), kind)?])?);
    }
    Ok(denied)
}

/// One rule for each flag that would make a namespace.
fn namespace_flags() -> io::Result<Vec<SeccompRule>> {
    const FLAGS: [libc::c_int; 7] = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    let flags = FLAGS.iter().map(|&flag| bits(flag));
    flags.map(|flag| rule(vec![condition(0, SeccompCmpOp::MaskedEq(flag), flag)?])).collect()
}

fn one_of(argument: u8, values: &[libc::Ioctl]) -> io::Result<Vec<SeccompRule>> {
    values.iter().map(|&value| rule(vec![condition(argument, SeccompCmpOp::Eq, value)?])).collect()
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).map_err(io::Error::other)
}

fn rule(conditions: Vec<SeccompCondition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program that looks at nothing but the number.
    fn run(program: &BpfProgram, number: u32) -> u32 {
        let mut at = 1;
        loop {
            let step = &program[at];
            let holds = match step.code {
                AT_LEAST => number >= step.k,
                MORE_THAN => number > step.k,
                EQUAL => number == step.k,
                _ => return step.k,
            };
            at += 1 + usize::from(if holds { step.jt } else { step.jf });
        }
    }

    #[test]
    fn each_number_gets_its_answer() {
        for alone in [false, true] {
            let program = numbers(alone);
            let mut denied: Vec<libc::c_long> = DENIED.iter().chain(DENIED_HERE).copied().collect();
            if alone {
                denied.extend(DENIED_ALONE.iter().chain(DENIED_ALONE_HERE));
            }
            for call in (0..2000).chain([X32 - 1, X32, X32 + 1, u32::MAX]) {
                let wanted = match call {
                    X32.. => KILL,
                    _ if call > NEWEST || [libc::SYS_clone3, libc::SYS_openat2].contains(&i64::from(call)) => {
                        ERRNO | errno(libc::ENOSYS)
                    }
                    _ if denied.contains(&i64::from(call)) => ERRNO | errno(libc::EPERM),
                    _ => ALLOW,
                };
                assert_eq!(run(&program, call), wanted, "{call}, alone: {alone}");
            }
        }
    }
}

//! Resource limits of the cage's first process, inherited by all others, and the bound on their number.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Resource, Rlimit};

use metnos_projections::rules::cage_plan::Limits;

use super::child::{BuildError, Step};
use super::native::{self, Ids};
use super::report::{Backend, CGROUP, CageReport};
use super::wire::{Job, Layer};

/// The smallest value that the kernel takes for the pid namespace's own bound.
const PID_MAX_LEAST: u64 = 301;
/// What stands in the report while it is known that the kernel bounds the pid namespace, and not what else does.
const PID_MAX: &str = "pid_max";

/// What a cage is built with that waits for a call it knows nothing of yet. Whatever can be lowered from outside is as high
/// as this user may have it; the rest is what a call must not exceed to be begun there: the number of processes that every
/// pid namespace may have, and, of the file systems' sizes, what most declared plans ask for, which spares changing them.
pub(super) const WAITING: Limits = Limits {
    wall_ms: u64::MAX,
    cpu_s: u64::MAX,
    memory_mb: u64::MAX >> 20,
    processes: PID_MAX_LEAST,
    file_bytes: u64::MAX,
    open_files: u64::MAX,
    output_bytes_max: u64::MAX,
    stage_bytes: 16 << 20,
    tmp_bytes: 32 << 20,
};

/// Applies the limits of a plan.
pub(super) fn apply(job: &Job, ids: &Ids, report: &mut CageReport) -> Result<(), BuildError> {
    if !job.has(Layer::Limits) {
        return Ok(());
    }
    for (resource, value) in wanted(job, &job.limits, ids) {
        bound(resource, value)?;
    }
    let counted = counts_processes(job, ids);
    report.layers.push("limits".to_owned());
    let watched = job.has(Layer::Watchdog);
    let bounded = report.process_cap == PID_MAX;
    report.process_cap = match job.backend {
        _ if job.cgroup.is_some_and(|caps| caps.processes) => CGROUP.to_owned(),
        _ if counted => "limit in the user namespace".to_owned(),
        Backend::Landlock if job.has(Layer::Seccomp) => "no process can be started".to_owned(),
        _ if bounded && watched => "bound of the pid namespace and watchdog".to_owned(),
        _ if bounded => "bound of the pid namespace".to_owned(),
        _ if watched => WATCHDOG.to_owned(),
        _ => NONE.to_owned(),
    };
    if job.backend.has_namespaces() && !is_kept_by_kernel(report) {
        report
            .missing
            .push("a bound on the number of processes that the kernel keeps (Linux 6.14 has one for root)".to_owned());
    }
    Ok(())
}

/// A watchdog is a process like others: whoever forks fast enough leaves it no time.
const WATCHDOG: &str = "watchdog";
const NONE: &str = "none";

/// Whether the kernel itself bounds the number of processes of a cage.
pub(super) fn is_kept_by_kernel(report: &CageReport) -> bool {
    !matches!(report.process_cap.as_str(), WATCHDOG | NONE)
}

/// Lowers the limits of a cage that waits from those of its job to those of its call, from outside. The interpreter is the only
/// process there; where the helper is about to join its user namespace, the kernel will count that one, too.
pub(super) fn lower(job: &Job, limits: &Limits, ids: &Ids, cage: Pid, helper_joins: bool) -> io::Result<()> {
    if !job.has(Layer::Limits) {
        return Ok(());
    }
    let all = |limits: &Limits| [wanted(job, limits, ids), vec![(Resource::Nofile, limits.open_files)]].concat();
    let built = all(&job.limits);
    for (resource, value) in all(limits) {
        let value = value + u64::from(helper_joins && resource == Resource::Nproc);
        // It cannot raise what it was built with.
        if built.contains(&(resource, value)) {
            continue;
        }
        // The cage has the hard limits that this process has: what it could set by itself is set here.
        rustix::process::prlimit(Some(cage), resource, lowered(resource, value))?;
    }
    Ok(())
}

/// The limits of a plan, without that of open descriptors.
fn wanted(job: &Job, wanted: &Limits, ids: &Ids) -> Vec<(Resource, u64)> {
    let mut limits = vec![
        (Resource::Core, 0),
        (Resource::Cpu, wanted.cpu_s),
        (Resource::Fsize, wanted.file_bytes),
        (Resource::Data, wanted.memory_mb << 20),
        (Resource::Memlock, 0),
        (Resource::Msgqueue, 0),
        // What keeps it below the watchdog: see `yield_to_watchdog`.
        (Resource::Nice, 0),
        (Resource::Rtprio, 0),
    ];
    if counts_processes(job, ids) {
        limits.push((Resource::Nproc, wanted.processes));
    }
    limits
}

/// Whether the kernel counts the cage's processes alone. It counts them for each user in each user namespace: without a
/// namespace of its own that would be the user's whole session, and for host uid 0 it does not look at all.
fn counts_processes(job: &Job, ids: &Ids) -> bool {
    job.backend.has_namespaces() && !ids.is_host_root()
}

/// Bounds the open descriptors; last, since this process still holds one for each grant.
pub(super) fn bound_descriptors(job: &Job) -> Result<(), BuildError> {
    if job.has(Layer::Limits) { bound(Resource::Nofile, job.limits.open_files) } else { Ok(()) }
}

fn bound(resource: Resource, value: u64) -> Result<(), BuildError> {
    rustix::process::setrlimit(resource, lowered(resource, value)).step(format!("limit {resource:?}"))
}

/// A limit of so much, or of what this process may have at most.
fn lowered(resource: Resource, value: u64) -> Rlimit {
    let hard = rustix::process::getrlimit(resource).maximum.map_or(value, |hard| hard.min(value));
    Rlimit { current: Some(hard), maximum: Some(hard) }
}

/// Bounds the number of processes of the pid namespace that this process is the first of.
pub(super) fn bound_processes(job: &Job, report: &mut CageReport) {
    if job.has(Layer::PidNamespace) && job.has(Layer::Limits) && bound_pid_namespace(job.limits.processes) {
        PID_MAX.clone_into(&mut report.process_cap);
    }
}

/// Bounds the number of processes in this process's own pid namespace, where the kernel keeps that bound for each.
///
/// Older kernels have one value for the whole machine, and root in a user namespace may write it: nothing is written there.
fn bound_pid_namespace(processes: u64) -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (6, 14) && write_pid_max(&processes.max(PID_MAX_LEAST).to_string()).is_ok()
}

/// Writes it by the `/proc` that is there, or, where that one is closed (bubblewrap covers `/proc/sys`), by one of its own that
/// is mounted nowhere.
fn write_pid_max(value: &str) -> io::Result<()> {
    const NAME: &str = "sys/kernel/pid_max";
    fs::write(Path::new("/proc").join(NAME), value).or_else(|_| {
        let proc = native::new_proc(None)?;
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        fs::File::from(rustix::fs::openat(&proc, NAME, flags, Mode::empty())?).write_all(value.as_bytes())
    })
}

/// Gives this process, and all that it starts, a third of the share of the processor that the helper has (sched(7)): where
/// all cores are busy, whoever takes memory must not be faster than the one who measures it.
pub(super) fn yield_to_watchdog() -> Result<(), BuildError> {
    const NICE: i32 = 5;
    rustix::process::nice(NICE).map(drop).step("lower the priority")
}

/// When the machine runs out of memory, the cage goes first. A machine without `/proc` has no such choice.
pub(super) fn prefer_for_oom() {
    drop(fs::write("/proc/self/oom_score_adj", "900"));
}

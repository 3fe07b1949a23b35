//! The helper: the re-executed binary that builds a cage, stays outside of it and ends it.
//!
//! It takes one job from its standard input, clones the process that becomes the interpreter, and then only waits: for its
//! end, for its deadline, for a word or the death of the daemon, for memory or processes beyond the plan. It never opens
//! the log, the configuration or anything else of the instance.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions};

use super::bwrap::Inside;
use super::late::Waiting;
use super::owners::{self, Taken};
use super::report::{Backend, CGROUP, CageReport, Level};
use super::tree::Processes;
use super::watchdog::Watchdog;
use super::wire::{self, Exit, Fault, Job, Layer, Said, Why};
use super::{bwrap, landlock, limits, native, seccomp, sys, tree};
use crate::cause::plain;

/// What tells a helper that its daemon has died: also one that somebody has stopped goes on then, and ends its cage.
pub(super) const DAEMON_DIED: Signal = Signal::CONT;

/// A step of building a cage that failed.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {source}")]
pub(super) struct BuildError {
    /// Which step.
    step: String,
    /// Whose fault it is.
    fault: Fault,
    /// Why.
    #[source]
    source: io::Error,
}

impl BuildError {
    pub(super) fn refusal(&self) -> Said {
        Said::Refused { message: plain(self), fault: self.fault }
    }
}

/// Names the step that an error came from.
pub(super) trait Step<T> {
    fn step(self, name: impl Into<String>) -> Result<T, BuildError>;

    /// The same for taking a granted object: that it may not be reached, or is another one by now, is no fault of the cage.
    fn granted(self, at: &Path) -> Result<T, BuildError>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, name: impl Into<String>) -> Result<T, BuildError> {
        self.map_err(|error| BuildError { step: name.into(), fault: Fault::Cage, source: error.into() })
    }

    fn granted(self, at: &Path) -> Result<T, BuildError> {
        self.map_err(|error| {
            let source = error.into();
            let at = at.display();
            let (fault, step) = match source.raw_os_error() {
                Some(libc::EACCES) => (Fault::Denied, format!("there is no permission to reach {at}")),
                Some(libc::ESTALE | libc::ENOENT | libc::ELOOP | libc::ENOTDIR) => {
                    (Fault::Changed, format!("{at} is not what was granted any more"))
                }
                _ => (Fault::Cage, format!("bind {at}")),
            };
            BuildError { step, fault, source }
        })
    }
}

/// The descriptors of a job, sorted out.
pub(super) struct Descriptors {
    lock: Option<OwnedFd>,
    pub(super) channel: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    pub(super) broker: Option<OwnedFd>,
    cgroup: Option<OwnedFd>,
    pub(super) grants: Vec<OwnedFd>,
}

/// What `metnos __cage` does. Never returns; says what went wrong over its socket, nothing to a terminal.
pub fn helper_main() -> ! {
    let is_inside = std::env::args_os().nth(3).is_some_and(|word| word == bwrap::INSIDE);
    let code = match if is_inside { inside() } else { help() } {
        Ok(()) => 0,
        Err(_) => 70,
    };
    std::process::exit(code)
}

fn help() -> io::Result<()> {
    // What the daemon's own parent left open is nobody's business here; tests may ask to keep it (see `Layer::Inheritance`).
    let control = listen(std::env::args_os().nth(3).is_some_and(|word| word == "keep"))?;
    sys::interrupt_on_signals()?;
    // A signal typed at the terminal is the daemon's to handle. And where the kernel shares the processor out by session,
    // the daemon's may be a busy one: a watchdog must not wait for its turn there.
    rustix::process::setsid()?;
    rustix::process::set_parent_process_death_signal(Some(DAEMON_DIED))?;
    loop {
        match serve(control.as_fd()) {
            Ok(After::Next) => {}
            Ok(After::End) => return Ok(()),
            Err(error) => return wire::send(control.as_fd(), &error.refusal()),
        }
    }
}

/// What a helper does after a cage.
enum After {
    /// Waits for another job.
    Next,
    /// Ends.
    End,
}

/// Takes the socket that is the standard input, from a parent of the same build.
fn listen(keep: bool) -> io::Result<OwnedFd> {
    if std::env::args_os().nth(2).is_none_or(|build| build != super::builder::build().as_str()) {
        return Err(io::Error::other("the daemon is of another build"));
    }
    if !keep {
        sys::close_from(3)?;
    }
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, rustix::fs::Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(socket)
}

/// The second half of a cage that bubblewrap built: this process is in it, and becomes the interpreter.
fn inside() -> io::Result<()> {
    let socket = listen(std::env::args_os().nth(4).is_some_and(|word| word == "keep"))?;
    let inside = Inside::take(socket.as_fd())?;
    drop(socket);
    let mut report = CageReport { backend: inside.job.backend, ..CageReport::none() };
    let ready = inside.look_around(&mut report).and_then(|view| inside.seat().restrict(&view, report));
    let Inside { control, .. } = &inside;
    become_command(ready, control.as_fd())
}

/// Takes a job and carries it out.
fn serve(control: BorrowedFd<'_>) -> Result<After, BuildError> {
    // A call may bring more descriptors than a process has by default; the interpreter gets a limit of its own.
    let hard = rustix::process::getrlimit(Resource::Nofile).maximum;
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard })
        .step("make room for descriptors")?;
    let Some(job) = wire::receive::<Job>(control).step("take the job")? else { return Ok(After::End) };
    let descriptors = sort(&job, control).step("take the descriptors")?;
    // Of a cage that waited this process may have joined the namespaces, and of one that others helped to build it may have
    // adopted something.
    let after = if job.waits || job.backend != Backend::Native { After::End } else { After::Next };
    supervise(job, descriptors, control)?;
    Ok(after)
}

fn sort(job: &Job, control: BorrowedFd<'_>) -> io::Result<Descriptors> {
    let mut received = wire::receive_descriptors(control, job.descriptors)?.into_iter();
    let mut next = || received.next().ok_or_else(|| io::Error::other("a descriptor is missing"));
    Ok(Descriptors {
        channel: next()?,
        stdout: next()?,
        stderr: next()?,
        lock: if job.lock { Some(next()?) } else { None },
        broker: if job.broker { Some(next()?) } else { None },
        cgroup: if job.cgroup.is_some() { Some(next()?) } else { None },
        grants: received.collect(),
    })
}

fn supervise(mut job: Job, mut descriptors: Descriptors, control: BorrowedFd<'_>) -> Result<(), BuildError> {
    // Locked by the daemon; kept open, and thereby locked, until everything in the cage is dead.
    let lock = descriptors.lock.take();
    if job.backend != Backend::Native {
        rustix::process::set_child_subreaper(Pid::from_raw(1)).step("adopt orphans")?;
    }
    let ids = native::Ids::current();
    let taken = if job.backend == Backend::Native { owners::take(&job, &descriptors.grants, &ids)? } else { None };
    let inside = (job.backend == Backend::Bubblewrap).then(wire::socket_pair).transpose().step("make a socket")?;
    let cgroup = descriptors.cgroup.take();
    let this = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).step("hold this process")?;
    let Some(child) = clone_process(&mut job, cgroup).step("clone into new namespaces")? else {
        let ready = begin(&descriptors, this.as_fd()).and_then(|()| match inside {
            Some((_, theirs)) => bubblewrap(&job, theirs),
            None => build(&job, &descriptors, control, &ids, taken),
        });
        become_command(ready, control)
    };
    drop(taken);
    if let Some((ours, theirs)) = inside {
        drop(theirs);
        // Where nobody hears it, bubblewrap has ended; what it said is on the error stream.
        drop(bwrap::tell(&job, &descriptors, control, ours.as_fd()));
    }
    drop(descriptors);
    let pidfd = rustix::process::pidfd_open(child, PidfdFlags::empty()).step("hold the cage")?;
    let processes = Processes::open();
    let waiting = Waiting { cage: child, pidfd: pidfd.as_fd(), control, ids: &ids };
    // Taking namespaces down takes longer than the end of the processes in them. Where the daemon waits for that end alone,
    // they are taken down when this process ends.
    let held = ["mnt", "net", "ipc", "uts", "cgroup"].map(|kind| format!("/proc/{}/ns/{kind}", child.as_raw_pid()));
    let _held = job.waits.then(|| held.map(std::fs::File::open));
    let called = if job.waits { waiting.begin(&mut job) } else { Ok(true) };
    let end = if matches!(called, Ok(true)) {
        watch(&job, child, &pidfd, &processes, control)
    } else {
        end(&job, child, &pidfd, &processes, Some(Why::Asked))
    };
    let (exit, why) = end.step("watch the cage")?;
    called?;
    drop(lock);
    wire::send(control, &Said::Ended { exit, why }).step("report the end")
}

/// Clones the process that the cage is built around, into the call's cgroup; beside that one where the kernel does not do
/// it, and then the job knows of no cgroup.
fn clone_process(job: &mut Job, cgroup: Option<OwnedFd>) -> io::Result<Option<Pid>> {
    let namespaces = |job: &Job| if job.backend == Backend::Native { native::namespaces(job) } else { 0 };
    if let Some(cgroup) = cgroup {
        if let Ok(cloned) = sys::clone_process_into(cgroup.as_fd(), namespaces(job)) {
            return Ok(cloned);
        }
        job.cgroup = None;
    }
    sys::clone_process(namespaces(job))
}

/// Has bubblewrap build the cage; what is left to do is done inside.
fn bubblewrap(job: &Job, inside: OwnedFd) -> Result<Option<Command>, BuildError> {
    let (command, words) = bwrap::command(job, inside)?;
    // Bubblewrap reads its arguments from it.
    std::mem::forget(words);
    Ok(Some(command))
}

/// Becomes a command, or says why there is none and ends.
fn become_command(ready: Result<Option<Command>, BuildError>, control: BorrowedFd<'_>) -> ! {
    let error = match ready {
        Ok(Some(mut command)) => {
            let what = format!("start {}", command.get_program().display());
            BuildError { step: what, fault: Fault::Cage, source: command.exec() }
        }
        Ok(None) => std::process::exit(0),
        Err(error) => error,
    };
    drop(wire::send(control, &error.refusal()));
    std::process::exit(71)
}

/// Ties this process to the helper, and its output to the call's.
fn begin(descriptors: &Descriptors, helper: BorrowedFd<'_>) -> Result<(), BuildError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).step("tie life to the helper")?;
    // One that died before that ends nobody.
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let ended = poll(&mut [PollFd::from_borrowed_fd(helper, PollFlags::IN)], Some(&at_once)).step("see the helper")?;
    if ended > 0 {
        return Err(io::Error::from(io::ErrorKind::NotConnected)).step("tie life to the helper");
    }
    rustix::process::setsid().step("start a session")?;
    limits::yield_to_watchdog()?;
    limits::prefer_for_oom();
    rustix::stdio::dup2_stdout(&descriptors.stdout).step("redirect output")?;
    rustix::stdio::dup2_stderr(&descriptors.stderr).step("redirect errors")
}

/// Builds the cage around this process; what is left to do is to become the interpreter.
fn build(
    job: &Job,
    descriptors: &Descriptors,
    control: BorrowedFd<'_>,
    ids: &native::Ids,
    taken: Option<Taken>,
) -> Result<Option<Command>, BuildError> {
    let mut report = CageReport { backend: job.backend, ..CageReport::none() };
    let view = match job.backend {
        Backend::Native => native::build(job, &descriptors.grants, taken, ids, &mut report)?,
        Backend::Bubblewrap | Backend::Landlock | Backend::None => native::View::host(job)?,
    };
    let Descriptors { channel, broker, grants, .. } = descriptors;
    Seat { job, control, channel, broker: broker.as_ref(), grants }.restrict(&view, report)
}

/// What the process that becomes the interpreter holds.
pub(super) struct Seat<'s> {
    pub(super) job: &'s Job,
    pub(super) control: BorrowedFd<'s>,
    pub(super) channel: &'s OwnedFd,
    pub(super) broker: Option<&'s OwnedFd>,
    pub(super) grants: &'s [OwnedFd],
}

impl Seat<'_> {
    /// Gives up, in this order, all that the interpreter must not have, and reports what it has; returns the command to
    /// become, none where this was only a try.
    pub(super) fn restrict(&self, view: &native::View, mut report: CageReport) -> Result<Option<Command>, BuildError> {
        let Self { job, control, channel, broker, grants } = *self;
        let ids = native::Ids::current();
        let command = self.command()?;
        if job.has(Layer::Inheritance) {
            sys::close_on_exec_from(3).step("close descriptors")?;
        }
        for kept in [Some(channel), broker].into_iter().flatten() {
            rustix::io::fcntl_setfd(kept, rustix::io::FdFlags::empty()).step("keep the channel")?;
        }
        limits::apply(job, &ids, &mut report)?;
        if job.backend == Backend::None {
            limits::bound_descriptors(job)?;
        } else {
            rustix::thread::set_no_new_privs(true).step("no new privileges")?;
            landlock::apply(job, grants, view, &mut report)?;
            limits::bound_descriptors(job)?;
            native::drop_capabilities(job, &mut report)?;
            seccomp::apply(job, &mut report)?;
        }
        conclude(job, &mut report);
        // The exec that follows closes the control socket here; whoever execs after this frame was sent has all layers on.
        wire::send_with(control, &Said::Started { report }, view.stage.as_fd()).step("report the cage")?;
        Ok(if job.probe { None } else { Some(command) })
    }

    fn command(&self) -> Result<Command, BuildError> {
        use std::os::fd::AsRawFd;
        let job = self.job;
        let mut command = Command::new(job.exe.path());
        // UTF-8 whatever locales the machine has: without this the interpreter looks for several, none of which is in the
        // cage.
        command.args(["-I", "-S", "-X", "utf8", "-c", &job.bootstrap, &self.channel.as_raw_fd().to_string()]);
        command.arg(self.broker.map_or(-1, AsRawFd::as_raw_fd).to_string());
        command.arg(if job.waits { "waits" } else { "called" });
        if job.has(Layer::Inheritance) {
            command.env_clear();
        }
        let tmp = job.tmp.path();
        for name in &job.env {
            match name.as_str() {
                "HOME" | "TMPDIR" => command.env(name, &tmp),
                "LANG" => command.env(name, "C.UTF-8"),
                "PATH" => command.env(name, "/usr/bin:/bin"),
                _ => continue,
            };
        }
        if job.is_private() {
            std::env::set_current_dir("/").step("enter the root")?;
        } else {
            std::env::set_current_dir(&tmp).step("enter the scratch folder")?;
        }
        Ok(command)
    }
}

/// Completes the report: what ends the tree, what bounds memory, and whether all layers are there.
fn conclude(job: &Job, report: &mut CageReport) {
    let pid_namespace = job.backend.has_namespaces() && job.has(Layer::PidNamespace);
    let writable = job.grants.iter().filter(|grant| grant.write);
    report.writable = writable.map(|grant| grant.at.path().to_string_lossy().into_owned()).collect();
    report.tree_kill = match (job.backend, pid_namespace) {
        (_, true) => "pid namespace".to_owned(),
        (Backend::Landlock, _) if report.seccomp => "no process can be started".to_owned(),
        _ => "adopted orphans are killed".to_owned(),
    };
    let is_enclosed = job.cgroup.is_some_and(|caps| caps.memory);
    let is_watched = job.has(Layer::Watchdog) && tree::available();
    let memory_cap = match (is_enclosed, is_watched, job.has(Layer::Limits)) {
        (true, _, _) => CGROUP,
        (_, true, true) => "rlimit and watchdog",
        (_, true, false) => "watchdog",
        (_, false, true) => "rlimit of each process",
        (_, false, false) => "none",
    };
    memory_cap.clone_into(&mut report.memory_cap);
    if !is_enclosed && !is_watched {
        report.missing.push("a watchdog over the memory of the whole tree".to_owned());
    }
    if job.backend == Backend::None {
        report.missing.push("every layer: whoever started Metnos chose to run without a cage".to_owned());
    }
    for layer in &job.without {
        report.missing.push(format!("left out: {layer:?}"));
    }
    report.level = match job.backend {
        Backend::Native | Backend::Bubblewrap if report.missing.is_empty() => Level::Full,
        Backend::Native | Backend::Bubblewrap | Backend::Landlock => Level::Partial,
        Backend::None => Level::None,
    };
}

/// Waits for the end of the cage, or brings it about.
fn watch(
    job: &Job,
    child: Pid,
    pidfd: &OwnedFd,
    processes: &Processes,
    control: BorrowedFd<'_>,
) -> io::Result<(Exit, Option<Why>)> {
    let deadline = Instant::now() + Duration::from_millis(job.limits.wall_ms);
    // Bubblewrap's own process stands between this one and the call's.
    let mut watchdog = Watchdog::new(processes, child, &job.limits, u64::from(job.backend == Backend::Bubblewrap));
    let why = loop {
        let wait = watchdog.wait().min(deadline.saturating_duration_since(Instant::now()));
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut waiting = [PollFd::new(pidfd, PollFlags::IN), PollFd::from_borrowed_fd(control, PollFlags::IN)];
        match poll(&mut waiting, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !waiting[0].revents().is_empty() {
            // The daemon waits for the same end, and for nothing that is still to be done here.
            if job.waits {
                std::thread::yield_now();
            }
            break None;
        }
        // The daemon says nothing after the job: a byte, an end of stream and its death all mean «end it».
        if !waiting[1].revents().is_empty() || rustix::process::getppid().map(Pid::as_raw_pid) != Some(job.daemon) {
            break Some(Why::Asked);
        }
        if Instant::now() >= deadline {
            break Some(Why::Deadline);
        }
        if let Some(excess) = job.has(Layer::Watchdog).then(|| watchdog.look()).flatten() {
            break Some(excess);
        }
    };
    end(job, child, pidfd, processes, why)
}

/// Ends the cage where there is a reason to, and waits until nothing of it lives.
fn end(
    job: &Job,
    child: Pid,
    pidfd: &OwnedFd,
    processes: &Processes,
    why: Option<Why>,
) -> io::Result<(Exit, Option<Why>)> {
    if why.is_some() {
        rustix::process::pidfd_send_signal(pidfd, Signal::KILL)?;
    }
    let exit = reap(child)?;
    if job.backend != Backend::Native || !job.has(Layer::PidNamespace) {
        processes.end_orphans();
    }
    Ok((if job.backend == Backend::Bubblewrap { bwrap::exit(exit) } else { exit }, why))
}

fn reap(child: Pid) -> io::Result<Exit> {
    loop {
        match rustix::process::waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => {
                return Ok(match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Exit::Code(code),
                    (None, signal) => Exit::Signal(signal.unwrap_or(0)),
                });
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_grant_is_no_fault_of_the_cage() {
        let check = |number, wanted| {
            let failed = Err::<(), _>(io::Error::from_raw_os_error(number)).granted(Path::new("/a/b")).unwrap_err();
            let Said::Refused { message, fault } = failed.refusal() else { panic!("{failed}") };
            assert_eq!(fault, wanted, "{message}");
            assert!(message.contains("/a/b") && !message.contains("os error"), "{message}");
        };
        check(libc::EACCES, Fault::Denied);
        check(libc::ENOENT, Fault::Changed);
        check(libc::ESTALE, Fault::Changed);
        check(libc::EPERM, Fault::Cage);
    }
}

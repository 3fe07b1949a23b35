//! The warm pool: cages that were built, run an interpreter, and wait for a call.
//!
//! Each is used once and then gone, with its own `exec`, namespaces and file systems, as one that is built for its call; it
//! has seen no byte of any executor; one in which a text is compiled for later calls is used for nothing else (`compiled`).
//! What a call needs that such a cage can no longer be given makes the call a cold one, and so does whatever goes wrong before
//! the cage is fed: nothing ever runs with fewer layers. Cages are built by a thread of the pool after a call, never while
//! somebody waits for one.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use metnos_projections::rules::cage_plan::{CagePlan, Limits, Net, SyscallProfile};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::SendFlags;
use rustix::process::Pid;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use serde_json::json;

use super::compiled::{COMPILED_MAX, Code, Compiled, Uncompiled};
use super::launch::{self, Launched, Waited};
use super::lock::LockFile;
use super::native::Ids;
use super::session::{self, ALONE, BUILD};
use super::spare::Helper;
use super::wire::{self, Job, Said, Told};
use super::{Call, CancelFlag, Outcome, Sandbox, Settings, limits, protocol};
use crate::signing::unhex;

/// How many cages this process has had built to wait, for the names of their lock files.
static BUILT: AtomicU64 = AtomicU64::new(0);

/// How many cages wait, and for how long after the last call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warm {
    /// How many wait at most.
    pub size: usize,
    /// How long after the last call that they could have been for.
    pub idle: Duration,
}

impl Default for Warm {
    /// Two, since a turn often makes its next call while the cage for it is still being built. Each takes 6 MB of its own, as
    /// measured with Python 3.11: 4.5 the interpreter, 1.3 the small helper, shared pages counted in part.
    fn default() -> Self {
        Self { size: 2, idle: Duration::from_mins(1) }
    }
}

/// What became of warm calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WarmCounts {
    /// Cages that wait now.
    pub waiting: usize,
    /// Calls that such a cage took.
    pub taken: u64,
    /// Calls of code that was compiled before, in any cage.
    pub compiled: u64,
    /// Cages that died, or could not be given what their call was granted: those calls were cold ones.
    pub failed: u64,
}

/// All that was fixed when a cage was built, as a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key(blake3::Hash);

/// Which cage a call could have had, to be told to [`Pool::refill`] once it is over.
#[derive(Debug)]
pub(super) struct Wish {
    key: Key,
    job: Job,
    /// The folder of its lock file.
    locks: PathBuf,
}

/// A text that is to be compiled, and the kind of cage that it is compiled in.
#[derive(Debug)]
pub(super) struct Learning {
    kind: Arc<Wish>,
    text: Uncompiled,
}

/// How many texts wait for being compiled; others are, when they are called again.
const UNCOMPILED: usize = 8;
/// The longest that compiling one may take, whatever its calls may.
const COMPILING_MS: u64 = 10_000;

/// How many kinds of cages are kept in mind: calls differ in little that is fixed when a cage is built.
const KINDS: usize = 8;

/// The pool of one sandbox.
#[derive(Debug)]
pub(super) struct Pool {
    shared: Arc<Shared>,
    /// What calls of late could have had, so that it is not made out anew for each.
    kinds: Mutex<Vec<Arc<Wish>>>,
    keeper: Mutex<Option<Keeper>>,
    always: bool,
}

/// The thread that builds what waits, and what ends its waiting for a cage.
#[derive(Debug)]
struct Keeper {
    thread: JoinHandle<()>,
    over: CancelFlag,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    host: Vec<u8>,
    state: Mutex<State>,
    changed: Condvar,
    compiled: Compiled,
    taken: AtomicU64,
    of_compiled: AtomicU64,
    failed: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// How many to keep; `None` while the pool is closed.
    warm: Option<Warm>,
    /// The cages that calls could have had of late, the newest first.
    wished: Vec<Arc<Wish>>,
    waiting: Vec<Worker>,
    /// In the order of their calls.
    uncompiled: VecDeque<Learning>,
    called: Option<Instant>,
    /// Helpers whose cages are dead, on their way out themselves.
    ending: Vec<Helper>,
    is_over: bool,
}

/// A cage that waits.
#[derive(Debug)]
struct Worker {
    key: Key,
    launched: Option<Launched>,
}

impl Pool {
    pub(super) fn new(settings: &Settings, host: &[u8]) -> Self {
        let shared = Shared {
            settings: settings.clone(),
            host: host.to_vec(),
            state: Mutex::default(),
            changed: Condvar::new(),
            compiled: Compiled::default(),
            taken: AtomicU64::new(0),
            of_compiled: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(shared),
            kinds: Mutex::default(),
            keeper: Mutex::default(),
            always: settings.always_warm,
        }
    }

    pub(super) fn open(&self, warm: Warm) {
        self.shared.state().warm = Some(warm);
    }

    pub(super) fn counts(&self) -> WarmCounts {
        WarmCounts {
            waiting: self.shared.state().waiting.len(),
            taken: self.shared.taken.load(Ordering::Relaxed),
            compiled: self.shared.of_compiled.load(Ordering::Relaxed),
            failed: self.shared.failed.load(Ordering::Relaxed),
        }
    }

    /// Gives a call to a cage that waits for one like it. Says what to keep for the next.
    pub(super) fn begin(&self, sandbox: &Sandbox, call: &Call<'_>) -> (Option<Launched>, Option<Arc<Wish>>) {
        if !self.always && self.shared.state().warm.is_none() {
            return (None, None);
        }
        let Some(wish) = self.kind(sandbox, call).filter(|wish| launch::can_wait(&wish.job, call)) else {
            return (None, None);
        };
        let worker = if self.always { self.shared.prepared(&wish, &call.cancel) } else { self.shared.take(wish.key) };
        let begun = worker.and_then(|worker| match worker.begin(call, &wish.job) {
            Ok(launched) => {
                self.shared.taken.fetch_add(1, Ordering::Relaxed);
                Some(launched)
            }
            Err(error) => {
                tracing::debug!(%error, "a waiting cage was of no use");
                self.shared.failed.fetch_add(1, Ordering::Relaxed);
                None
            }
        });
        (begun, (!self.always).then_some(wish))
    }

    /// The code of a call as it was compiled before; or else what is to be compiled for the next one, told to
    /// [`Pool::refill`] once this one is over.
    pub(super) fn code(&self, sandbox: &Sandbox, call: &Call<'_>) -> (Option<Arc<Vec<u8>>>, Option<Learning>) {
        if !call.ahead || (!self.always && self.shared.state().warm.is_none()) {
            return (None, None);
        }
        let Some(kind) = self.kind(sandbox, call).filter(|kind| launch::can_ever_wait(&kind.job)) else {
            return (None, None);
        };
        let known = |code| match code {
            Code::Compiled(code) => {
                self.shared.of_compiled.fetch_add(1, Ordering::Relaxed);
                (Some(code), None)
            }
            Code::Text(text) => (None, text),
        };
        let of_call = || self.shared.compiled.of(call.code, &call.plan.limits);
        let (code, text) = known(of_call());
        match text {
            Some(text) if self.always => {
                self.shared.compile(&kind, &text, &call.cancel);
                (known(of_call()).0, None)
            }
            text => (code, text.map(|text| Learning { kind, text })),
        }
    }

    /// The cage that would wait for such a call.
    fn kind(&self, sandbox: &Sandbox, call: &Call<'_>) -> Option<Arc<Wish>> {
        let locks = call.lock_file.parent().unwrap_or(Path::new("."));
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let (env, broker) = (&call.plan.env, call.net.is_some());
        let same = |wish: &&Arc<Wish>| wish.job.env == *env && wish.job.broker == broker && wish.locks == locks;
        if let Some(kind) = kinds.iter().find(same) {
            return Some(Arc::clone(kind));
        }
        let backend = sandbox.capabilities.backend;
        let job = launch::waiting_job(&sandbox.settings, &sandbox.interpreter, backend, env, broker);
        let kind = Arc::new(Wish { key: Key::of(&job, locks).ok()?, job, locks: locks.to_owned() });
        kinds.insert(0, Arc::clone(&kind));
        kinds.truncate(KINDS);
        Some(kind)
    }

    /// Has cages built for calls like one that is over, its code compiled, and its helper waited for.
    pub(super) fn refill(&self, wish: Option<Arc<Wish>>, code: Option<Learning>, helper: Option<Helper>) {
        if wish.is_none() && code.is_none() {
            return helper.into_iter().for_each(leave);
        }
        {
            let mut state = self.shared.state();
            state.ending.extend(helper);
            if let Some(wish) = wish {
                state.wish(wish);
            }
            let is_new = |code: &Learning| !state.uncompiled.iter().any(|other| other.text.hash == code.text.hash);
            if let Some(code) = code.filter(|code| state.uncompiled.len() < UNCOMPILED && is_new(code)) {
                state.uncompiled.push_back(code);
            }
        }
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if keeper.is_none() {
            let shared = Arc::clone(&self.shared);
            let started = CancelFlag::new().and_then(|over| {
                let raised = over.clone();
                let thread = std::thread::Builder::new().name("warm cages".to_owned());
                Ok(Keeper { thread: thread.spawn(move || shared.keep(&raised))?, over })
            });
            match started {
                Ok(started) => *keeper = Some(started),
                Err(error) => tracing::debug!(%error, "no thread for waiting cages"),
            }
        }
        self.shared.changed.notify_all();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.changed.notify_all();
        let Some(Keeper { thread, over }) = self.keeper.get_mut().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        over.cancel();
        if thread.join().is_err() {
            tracing::warn!("the keeper of waiting cages panicked");
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, key: Key) -> Option<Worker> {
        let mut state = self.state();
        let place = state.waiting.iter().position(|worker| worker.key == key)?;
        Some(state.waiting.remove(place))
    }

    /// Builds what is missing and lets go what is not wanted any more, until the pool is over.
    fn keep(&self, over: &CancelFlag) {
        let mut state = self.state();
        while !state.is_over {
            let left = state.left();
            let (gone, ending) = (state.surplus(), std::mem::take(&mut state.ending));
            if !gone.is_empty() || !ending.is_empty() {
                drop(state);
                drop(gone);
                ending.into_iter().for_each(leave);
            } else if let Some(wish) = state.missing() {
                drop(state);
                let prepared = self.prepared(&wish, over);
                let mut state = self.state();
                match prepared {
                    Some(worker) => state.waiting.push(worker),
                    None => state.wished.retain(|other| other.key != wish.key),
                }
            } else if let Some(Learning { kind, text }) = state.uncompiled.pop_front() {
                drop(state);
                self.compile(&kind, &text, over);
            } else {
                drop(self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner));
            }
            state = self.state();
        }
        let (rest, ending) = (std::mem::take(&mut state.waiting), std::mem::take(&mut state.ending));
        drop(state);
        drop(rest);
        ending.into_iter().for_each(leave);
    }

    /// Compiles a text for the calls to come. Of one that cannot be compiled it is kept that it cannot: its calls say why.
    fn compile(&self, kind: &Wish, text: &Uncompiled, over: &CancelFlag) {
        let outcome =
            self.compiling(kind, text, over).inspect_err(|error| tracing::debug!(%error, "not compiled ahead")).ok();
        let silent = outcome.filter(|outcome| outcome.stdout.total == 0 && outcome.stderr.total == 0);
        let digits = silent.and_then(|outcome| outcome.reply.ok()?.get("compiled")?.as_str().map(str::to_owned));
        self.compiled.keep(text.hash, digits.and_then(|digits| unhex(&digits)));
    }

    fn compiling(&self, kind: &Wish, text: &Uncompiled, over: &CancelFlag) -> io::Result<Outcome> {
        let limits = Limits {
            wall_ms: text.limits.wall_ms.min(COMPILING_MS),
            output_bytes_max: 2 * COMPILED_MAX as u64 + 64,
            stage_bytes: limits::WAITING.stage_bytes,
            tmp_bytes: limits::WAITING.tmp_bytes,
            ..text.limits
        };
        let env = kind.job.env.clone();
        let (mounts, binaries, parsers) = (Vec::new(), Vec::new(), Vec::new());
        let plan =
            CagePlan { mounts, binaries, parsers, net: Net::None, env, syscalls: SyscallProfile::Standard, limits };
        let call = Call {
            plan: &plan,
            grants: Vec::new(),
            code: &text.text,
            ahead: false,
            entry: protocol::COMPILE,
            args: &json!({}),
            context: &json!({}),
            lock_file: &kind.locks,
            needs_full: false,
            net: None,
            cancel: over.clone(),
            progress: &|_| {},
        };
        let launched = self.prepare(kind, over)?.begin(&call, &kind.job)?;
        Ok(session::alone(launched, &self.host, call))
    }

    fn prepared(&self, wish: &Wish, over: &CancelFlag) -> Option<Worker> {
        self.prepare(wish, over).inspect_err(|error| tracing::debug!(%error, "no cage waits")).ok()
    }

    /// Builds a cage and has it run the host up to where that waits for a call; `over` ends it.
    fn prepare(&self, wish: &Wish, over: &CancelFlag) -> io::Result<Worker> {
        let name = format!("waiting-{}-{}.lock", std::process::id(), BUILT.fetch_add(1, Ordering::Relaxed));
        let lock = LockFile::create(wish.locks.join(name))?;
        let launched = launch::start(&self.settings, wish.job.clone(), &[], Some(lock), None)?;
        let mut worker = Worker { key: wish.key, launched: Some(launched) };
        worker.settle(&self.host, over)?;
        Ok(worker)
    }
}

impl State {
    fn wish(&mut self, wish: Arc<Wish>) {
        let size = self.warm.map_or(0, |warm| warm.size);
        self.wished.retain(|other| other.key != wish.key);
        self.wished.insert(0, wish);
        self.wished.truncate(size);
        self.called = Some(Instant::now());
    }

    /// How long until nothing is wanted any more.
    fn left(&mut self) -> Duration {
        let left = match (self.warm, self.called) {
            (Some(warm), Some(called)) => warm.idle.saturating_sub(called.elapsed()),
            _ => Duration::ZERO,
        };
        if left.is_zero() {
            self.wished.clear();
            // Until somebody calls; the exact time does not matter.
            return Duration::from_hours(1);
        }
        left
    }

    /// How many of a kind are to wait: one each, and of the newest as many as that leaves.
    fn wanted(&self, key: Key) -> usize {
        let size = self.warm.map_or(0, |warm| warm.size);
        match self.wished.iter().position(|wish| wish.key == key) {
            Some(0) => size.saturating_sub(self.wished.len() - 1),
            Some(_) => 1,
            None => 0,
        }
    }

    fn count(&self, key: Key) -> usize {
        self.waiting.iter().filter(|worker| worker.key == key).count()
    }

    /// Takes out what is more than wanted.
    fn surplus(&mut self) -> Vec<Worker> {
        let mut gone = Vec::new();
        while let Some(place) = self.waiting.iter().position(|worker| self.count(worker.key) > self.wanted(worker.key))
        {
            gone.push(self.waiting.remove(place));
        }
        gone
    }

    fn missing(&self) -> Option<Arc<Wish>> {
        self.wished.iter().find(|wish| self.count(wish.key) < self.wanted(wish.key)).cloned()
    }
}

impl Key {
    fn of(job: &Job, locks: &Path) -> io::Result<Self> {
        Ok(Self(blake3::hash(&rmp_serde::to_vec(&(job, locks.as_os_str().as_bytes())).map_err(io::Error::other)?)))
    }
}

impl Worker {
    fn launched(&mut self) -> io::Result<&mut Launched> {
        self.launched.as_mut().ok_or_else(|| ErrorKind::NotConnected.into())
    }

    /// Hears that the cage stands, and sends the host.
    fn settle(&mut self, host: &[u8], over: &CancelFlag) -> io::Result<()> {
        let launched = self.launched()?;
        let control = launched.control.as_fd();
        let heard = || {
            let is_heard = speaks(control, over.fd(), BUILD)?;
            if is_heard { wire::receive_with(control) } else { Err(ErrorKind::TimedOut.into()) }
        };
        let (report, stage) = match heard()? {
            Some((Said::Started { report }, Some(stage))) => (report, stage),
            other => return Err(io::Error::other(format!("{other:?}"))),
        };
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        wire::send_with(control, &Told::Wait, timer.as_fd())?;
        let (pid, pidfd) = match heard()? {
            Some((Said::Waits { pid }, Some(pidfd))) => (Pid::from_raw(pid).ok_or(ErrorKind::InvalidData)?, pidfd),
            other => return Err(io::Error::other(format!("{other:?}"))),
        };
        launched.waited = Some(Waited { report, stage, pid, pidfd, timer });
        let host = protocol::host(host);
        // It is shorter than what a socket holds.
        match rustix::net::send(&launched.channel, &host, SendFlags::NOSIGNAL)? {
            sent if sent == host.len() => Ok(()),
            _ => Err(ErrorKind::WriteZero.into()),
        }
    }

    /// Has the cage made that of a call: nothing is left to do but to feed it.
    fn begin(mut self, call: &Call<'_>, job: &Job) -> io::Result<Launched> {
        let launched = self.launched.as_mut().ok_or(ErrorKind::NotConnected)?;
        let waited = launched.waited.as_mut().ok_or(ErrorKind::NotConnected)?;
        let control = launched.control.as_fd();
        let (before, limits) = (job.limits, call.plan.limits);
        // Once it is dead its number may be another's.
        if is_readable(&waited.pidfd)? {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let needs_mounts = Told::needs_mounts(&limits, &before, call.grants.len());
        limits::lower(job, &limits, &Ids::current(), waited.pid, needs_mounts)?;
        if let Some(cgroup) = &launched.cgroup {
            cgroup.rebound(&limits, job.backend)?;
        }
        let told = Told::Call { limits, grants: call.grants.iter().map(launch::grant_job).collect() };
        if needs_mounts {
            // What is said may be longer than what the socket holds: whoever takes it is woken first.
            wake(&waited.timer, Duration::from_nanos(1))?;
            wire::send(control, &told)?;
            let descriptors: Vec<BorrowedFd<'_>> = call.grants.iter().map(|grant| grant.fd.as_fd()).collect();
            wire::send_descriptors(control, &descriptors)?;
            match hear(control, call.cancel.fd(), BUILD)? {
                Some(Said::Begun) => {}
                Some(other) => return Err(io::Error::other(format!("{other:?}"))),
                None => {
                    launched.helper.kill();
                    return Err(ErrorKind::TimedOut.into());
                }
            }
        } else {
            wire::send(control, &told)?;
            // Before it is fed: the helper then keeps the deadline and looks after the limits, whatever becomes of this process.
            wake(&waited.timer, ALONE)?;
        }
        waited.report.warm = true;
        self.launched.take().ok_or_else(|| ErrorKind::NotConnected.into())
    }
}

/// Has whoever waits for a timer woken after that time.
fn wake(timer: &OwnedFd, after: Duration) -> io::Result<()> {
    let at_last = Timespec { tv_sec: 0, tv_nsec: i64::from(after.subsec_nanos()) };
    let never_again = Timespec { tv_sec: 0, tv_nsec: 0 };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: never_again, it_value: at_last })?;
    Ok(())
}

fn is_readable(descriptor: &OwnedFd) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    Ok(poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&now))? > 0)
}

/// What the helper says; `None` when it says nothing for so long, or the call is cancelled.
fn hear(control: BorrowedFd<'_>, cancel: BorrowedFd<'_>, patience: Duration) -> io::Result<Option<Said>> {
    if !speaks(control, cancel, patience)? {
        return Ok(None);
    }
    wire::receive(control)?.ok_or_else(|| ErrorKind::UnexpectedEof.into()).map(Some)
}

/// Whether the helper says something, or is gone, within that time and before nobody wants to hear it any more.
fn speaks(control: BorrowedFd<'_>, cancel: BorrowedFd<'_>, patience: Duration) -> io::Result<bool> {
    let until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut waiting = [control, cancel].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        match poll(&mut waiting, Some(&timeout)) {
            Ok(_) => return Ok(!waiting[0].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let Some(launched) = self.launched.take() else { return };
        let Launched { mut helper, control, cgroup, .. } = launched;
        // The end of its socket tells the helper to end the cage.
        drop(control);
        helper.wait();
        drop(cgroup);
    }
}

/// Waits for a helper that has nothing to do any more; then its lock file goes.
fn leave(mut helper: Helper) {
    helper.wait();
}

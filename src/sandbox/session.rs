//! One call from the daemon's side: feeds the interpreter, reads its frames and streams, and ends it when it must.
//!
//! One thread, one poll loop, bounded memory: streams are drained whatever their length and kept up to 64 KiB.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendFlags, Shutdown};
use serde_json::Value;

use super::cgroup::Enclosure;
use super::launch::{self, Launched, Waited};
use super::protocol::{self, Inbox, failure};
use super::spare::{Helper, Spare};
use super::stage::{Scratch, Stage};
use super::wire::{self, Exit, Fault, Said, Why};
use super::{Backend, CageReport, Call, CallFailure, Captured, Level, Outcome, Sandbox};
use crate::broker;
use crate::cause::plain;

const KEPT: usize = 64 * 1024;
const CHUNK: usize = 64 * 1024;
/// How long nothing but the end of a warm cage is looked for once it was fed, and again once it has answered: most calls are
/// over by then, and would take longer were this process woken for each descriptor that is written to or closes on the way. Its
/// helper sleeps for as long after the feeding.
pub(super) const ALONE: Duration = Duration::from_millis(2);
/// How long an interpreter that has answered may take to go.
const GRACE: Duration = Duration::from_millis(250);
/// How long after the deadline the helper may take before it is killed itself, which ends its cage all the same: the tree is
/// to be dead within 100 ms, whoever has stopped the helper (design 4-sandbox, «Figures»).
const HELPER_GRACE: Duration = Duration::from_millis(80);
/// How long a cage may take to be built, which is no time of its executor's: of folders that are granted to root each name is
/// looked at, and a disk that was not read before takes seconds for that.
pub(super) const BUILD: Duration = Duration::from_secs(30);

/// Runs one call to its end.
pub(super) fn run(sandbox: &Sandbox, call: Call<'_>) -> Outcome {
    let began = Instant::now();
    let (code, uncompiled) = sandbox.pool.code(sandbox, &call);
    let (warm, wish) = if call.cancel.is_raised() { (None, None) } else { sandbox.pool.begin(sandbox, &call) };
    // Before anything is built, or while what waited was made ready.
    if warm.is_none() && call.cancel.is_raised() {
        sandbox.pool.refill(wish, uncompiled, None);
        return never_begun(cancelled());
    }
    let cold = || {
        let (backend, spare) = (sandbox.capabilities.backend, sandbox.spares.take());
        launch::launch(&sandbox.settings, &sandbox.interpreter, backend, &call, spare)
    };
    let (mut outcome, left) = match warm.map_or_else(cold, Ok) {
        Ok(launched) => attend(launched, (&sandbox.host, code.as_ref().map(|code| code.as_slice())), call),
        Err(error) => (refused(format!("the cage could not be started: {}", plain(&error))), Left::Nothing),
    };
    outcome.duration = began.elapsed();
    let leaving = match left {
        Left::Leaving(helper) => Some(helper),
        Left::Spare(spare) => {
            sandbox.spares.keep(Some(spare));
            None
        }
        Left::Nothing => None,
    };
    sandbox.pool.refill(wish, uncompiled, leaving);
    outcome
}

fn refused(message: String) -> Outcome {
    never_begun(failure("cage_refused", message))
}

fn cancelled() -> CallFailure {
    failure("cancelled", "the call was cancelled".to_owned())
}

fn never_begun(why: CallFailure) -> Outcome {
    Outcome {
        reply: Err(why),
        stage: None,
        stdout: Captured::default(),
        stderr: Captured::default(),
        log: Vec::new(),
        connections: Vec::new(),
        report: CageReport::none(),
        duration: Duration::ZERO,
    }
}

/// What is left of a call that is over.
enum Left {
    Nothing,
    /// A helper whose cage is dead, on its way out itself.
    Leaving(Helper),
    /// A helper that can build another cage.
    Spare(Spare),
}

/// Runs a call to its end whose cage nobody waits for.
pub(super) fn alone(launched: Launched, host: &[u8], call: Call<'_>) -> Outcome {
    let (outcome, left) = attend(launched, (host, None), call);
    if let Left::Leaving(mut helper) = left {
        helper.wait();
    }
    outcome
}

/// Serves a call, by the host and, where it was compiled before, its code; also returns what is left of it.
fn attend(mut launched: Launched, code: (&[u8], Option<&[u8]>), mut call: Call<'_>) -> (Outcome, Left) {
    let broker = match (launched.broker.take(), call.net.take()) {
        (Some(socket), Some(grants)) => match broker::Broker::start(socket, grants) {
            Ok(broker) => Some(broker),
            Err(error) => {
                Session::new(launched, code, &call).abandon();
                return (refused(format!("the broker could not be started: {}", plain(&error))), Left::Nothing);
            }
        },
        _ => None,
    };
    let mut session = Session::new(launched, code, &call);
    session.attend(&call);
    let connections = broker.map(broker::Broker::finish).unwrap_or_default();
    session.conclude(&call, connections)
}

/// Why the daemon ended a call before it ended itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Cancelled,
    Broken,
    Lingering,
    Helper,
}

struct Session {
    helper: Helper,
    cgroup: Option<Enclosure>,
    scratch: Option<Scratch>,
    control: Option<OwnedFd>,
    /// Of a cage that waited: its first process, until that is dead.
    tree: Option<OwnedFd>,
    is_tree_dead: bool,
    /// Whether it waited for its call.
    is_warm: bool,
    /// When the cage was given the whole of its call.
    fed: Option<Instant>,
    channel: Option<OwnedFd>,
    /// The channel of an executor that broke the protocol, until that is dead: it waits there, and is not told by an error of
    /// its own, which it would print.
    unread: Option<OwnedFd>,
    stdout: Stream,
    stderr: Stream,
    unsent: Vec<u8>,
    sent: usize,
    inbox: Inbox,
    report: Option<CageReport>,
    /// Nothing of the call is sent before the report says that every layer is there.
    needs_full: bool,
    stage: Option<OwnedFd>,
    refusal: Option<CallFailure>,
    end: Option<(Exit, Option<Why>)>,
    cut: Option<Cut>,
    answered: Option<Instant>,
    /// When the helper is killed, should it not have ended the cage by then.
    hard: Instant,
    is_killed: bool,
    buffer: Vec<u8>,
}

/// What a poll found readable or writable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Cancel,
    Control,
    Tree,
    Channel,
    Stdout,
    Stderr,
}

struct Stream {
    source: Option<OwnedFd>,
    kept: Captured,
}

impl Stream {
    fn new(source: OwnedFd) -> Self {
        Self { source: Some(source), kept: Captured::default() }
    }

    /// Reads what is there; closes at the end of the stream.
    fn drain(&mut self, buffer: &mut Vec<u8>) {
        let Some(source) = &self.source else { return };
        buffer.clear();
        match rustix::io::read(source, spare_capacity(buffer)) {
            Ok(read) if read > 0 => {
                self.kept.total += read as u64;
                let room = KEPT.saturating_sub(self.kept.bytes.len()).min(read);
                self.kept.bytes.extend_from_slice(&buffer[..room]);
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => self.source = None,
        }
    }
}

impl Session {
    fn new(launched: Launched, (host, code): (&[u8], Option<&[u8]>), call: &Call<'_>) -> Self {
        let opening = protocol::opening(call, &launched.stage.to_string_lossy(), code);
        let (unsent, report, stage, tree) = match launched.waited {
            Some(Waited { report, stage, pidfd, .. }) => (opening, Some(report), Some(stage), Some(pidfd)),
            None => ([protocol::host(host), opening].concat(), None, None, None),
        };
        let mut session = Self {
            unsent,
            needs_full: call.needs_full,
            helper: launched.helper,
            cgroup: launched.cgroup,
            scratch: launched.scratch,
            control: Some(launched.control),
            is_warm: tree.is_some(),
            tree,
            fed: None,
            is_tree_dead: false,
            channel: Some(launched.channel),
            unread: None,
            stdout: Stream::new(launched.stdout),
            stderr: Stream::new(launched.stderr),
            sent: 0,
            inbox: Inbox::new(call.plan.limits.output_bytes_max),
            report,
            stage,
            refusal: None,
            end: None,
            cut: None,
            answered: None,
            hard: Instant::now(),
            is_killed: false,
            buffer: Vec::with_capacity(CHUNK),
        };
        session.hard += if session.is_warm { Self::patience(call) } else { BUILD };
        session.refuse_half_a_cage();
        session
    }

    /// How long the helper may take once the cage stands.
    fn patience(call: &Call<'_>) -> Duration {
        Duration::from_millis(call.plan.limits.wall_ms) + HELPER_GRACE
    }

    /// Whether the cage is known to be what the call needs.
    fn may_be_fed(&self) -> bool {
        !self.needs_full || self.report.as_ref().is_some_and(|report| report.level == Level::Full)
    }

    /// Ends a cage that turned out to lack what its call needs.
    fn refuse_half_a_cage(&mut self) {
        let Some(report) = self.report.as_ref().filter(|_| !self.may_be_fed()) else { return };
        let message = format!("it runs in a full cage only, and this one lacks: {}", report.missing.join("; "));
        self.refusal = Some(failure("cage_refused", message));
        self.cut(Cut::Broken);
    }

    /// Serves all descriptors until the cage is gone and its streams are empty. Of a warm call that has its answer nothing is
    /// of interest but that the tree is dead, which the kernel says sooner than the helper.
    fn attend(&mut self, call: &Call<'_>) {
        let mut last = None;
        self.feed();
        loop {
            if self.control.is_none() || self.end.is_some() {
                let last = *last.get_or_insert_with(|| Instant::now() + GRACE);
                if Instant::now() >= last || self.is_silent() {
                    break;
                }
            } else if self.is_tree_dead && self.answered.is_some() && self.cut.is_none() && self.is_silent() {
                break;
            } else if Instant::now() >= self.hard + GRACE {
                self.control = None;
            } else if Instant::now() >= self.hard && !self.is_killed {
                self.kill_helper();
            }
            if self.end.is_none() && self.answered.is_some_and(|at| at.elapsed() >= GRACE) {
                self.cut(Cut::Lingering);
            }
            for source in self.wait(call) {
                self.serve(source, call);
            }
        }
    }

    /// Whether nobody can write to the call's streams any more, and all that was written is read.
    fn is_silent(&self) -> bool {
        self.channel.is_none() && self.stdout.source.is_none() && self.stderr.source.is_none()
    }

    /// Lets the cage go before it was fed: the end of its socket tells the helper.
    fn abandon(mut self) {
        self.control = None;
        self.helper.wait();
    }

    fn kill_helper(&mut self) {
        self.cut.get_or_insert(Cut::Helper);
        self.is_killed = true;
        self.helper.kill();
    }

    /// Waits until something can be served, at most as long as the nearest clock allows.
    fn wait<'s>(&'s self, call: &'s Call<'_>) -> Vec<Source> {
        let unsent =
            if self.sent < self.unsent.len() && self.may_be_fed() { PollFlags::OUT } else { PollFlags::empty() };
        let cancel = if self.cut.is_none() { Some(call.cancel.fd()) } else { None };
        let alone = self.left_alone();
        let stream = |descriptor: &'s Option<OwnedFd>| descriptor.as_ref().filter(|_| alone.is_none()).map(AsFd::as_fd);
        let all = [
            (Source::Cancel, cancel, PollFlags::IN),
            (Source::Control, self.control.as_ref().map(AsFd::as_fd), PollFlags::IN),
            (Source::Tree, self.tree.as_ref().map(AsFd::as_fd), PollFlags::IN),
            (Source::Channel, stream(&self.channel), PollFlags::IN | unsent),
            (Source::Stdout, stream(&self.stdout.source), PollFlags::IN),
            (Source::Stderr, stream(&self.stderr.source), PollFlags::IN),
        ];
        let (sources, mut waiting): (Vec<Source>, Vec<PollFd<'_>>) = all
            .into_iter()
            .filter_map(|(source, descriptor, flags)| {
                descriptor.map(|descriptor| (source, PollFd::from_borrowed_fd(descriptor, flags)))
            })
            .unzip();
        let patience = alone.unwrap_or(match () {
            () if self.answered.is_some() || self.control.is_none() || self.is_killed => Duration::from_millis(20),
            () => Duration::from_millis(200).min(self.hard.saturating_duration_since(Instant::now())),
        });
        let timeout = Timespec { tv_sec: 0, tv_nsec: patience.subsec_nanos().into() };
        match poll(&mut waiting, Some(&timeout)) {
            Ok(_) => sources
                .into_iter()
                .zip(waiting)
                .filter(|(_, found)| !found.revents().is_empty())
                .map(|(source, _)| source)
                .collect(),
            Err(_) => Vec::new(),
        }
    }

    fn serve(&mut self, source: Source, call: &Call<'_>) {
        match source {
            Source::Cancel => self.cut(Cut::Cancelled),
            Source::Control => self.hear(call),
            Source::Tree => {
                self.tree = None;
                self.is_tree_dead = true;
                // Nobody writes any more: what there is, and then the ends.
                for _ in 0..2 {
                    self.read_channel(call);
                    self.stdout.drain(&mut self.buffer);
                    self.stderr.drain(&mut self.buffer);
                }
            }
            Source::Channel => {
                self.feed();
                self.read_channel(call);
            }
            Source::Stdout => self.stdout.drain(&mut self.buffer),
            Source::Stderr => self.stderr.drain(&mut self.buffer),
        }
    }

    /// Asks the helper to end the cage. The first reason stands.
    fn cut(&mut self, why: Cut) {
        if self.cut.is_some() {
            return;
        }
        self.cut = Some(why);
        self.hard = self.hard.min(Instant::now() + HELPER_GRACE);
        if let Some(control) = &self.control {
            // A helper that is gone already needs no word.
            rustix::net::shutdown(control, Shutdown::Write).ok();
        }
    }

    fn hear(&mut self, call: &Call<'_>) {
        let Some(control) = &self.control else { return };
        match wire::receive_with(control.as_fd()) {
            Ok(Some((Said::Started { report }, stage))) => {
                self.report = Some(report);
                self.stage = stage;
                if self.cut.is_none() {
                    self.hard = Instant::now() + Self::patience(call);
                }
                if self.stage.is_none() {
                    let message = "the cage could not hand its stage over: this process has too many open files";
                    self.refusal = Some(failure("cage_refused", message.to_owned()));
                    self.cut(Cut::Broken);
                }
                self.refuse_half_a_cage();
            }
            Ok(Some((Said::Refused { message, fault }, _))) => {
                let class = match fault {
                    Fault::Cage => "cage_refused",
                    Fault::Denied => "permission_denied",
                    Fault::Changed => "target_changed",
                };
                self.refusal = Some(failure(class, message));
            }
            Ok(Some((Said::Ended { exit, why }, _))) => self.end = Some((exit, why)),
            // Said of a waiting cage, before there is a session.
            Ok(Some((Said::Waits { .. } | Said::Begun, _))) => {}
            Ok(None) | Err(_) => self.control = None,
        }
    }

    fn feed(&mut self) {
        let Some(channel) = self.channel.as_ref().filter(|_| self.may_be_fed()) else { return };
        while self.sent < self.unsent.len() {
            match rustix::net::send(channel, &self.unsent[self.sent..], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => self.sent += sent,
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return,
                // The other side is gone; what became of it is heard elsewhere.
                Err(_) => self.sent = self.unsent.len(),
            }
        }
        self.unsent = Vec::new();
        self.sent = 0;
        self.fed.get_or_insert_with(Instant::now);
    }

    /// For how long the interpreter of a cage that waited is still left alone.
    fn left_alone(&self) -> Option<Duration> {
        let since = self.answered.or(self.fed).filter(|_| self.tree.is_some())?;
        Some(ALONE.saturating_sub(since.elapsed())).filter(|left| !left.is_zero())
    }

    fn read_channel(&mut self, call: &Call<'_>) {
        let Some(channel) = &self.channel else { return };
        self.buffer.clear();
        match rustix::io::read(channel, spare_capacity(&mut self.buffer)) {
            Ok(read) if read > 0 => {
                if !self.inbox.take(&self.buffer, call.progress) {
                    self.unread = self.channel.take();
                    self.cut(Cut::Broken);
                } else if self.inbox.is_answered() && self.answered.is_none() {
                    self.answered = Some(Instant::now());
                }
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => self.channel = None,
        }
    }

    fn conclude(mut self, call: &Call<'_>, connections: Vec<broker::Connection>) -> (Outcome, Left) {
        let went_well = self.cut.is_none() && self.refusal.is_none();
        let is_native = self.report.as_ref().is_some_and(|report| report.backend == Backend::Native);
        let (was_warm, goes_on) = (self.is_warm, matches!(self.end, Some((_, None))) && is_native);
        let reply = self.verdict(call);
        let stage = self.stage.take().map(|folder| Stage::new(folder, self.scratch.take()));
        let outcome = Outcome {
            reply,
            stage,
            stdout: self.stdout.kept,
            stderr: self.stderr.kept,
            log: self.inbox.log,
            connections,
            report: self.report.unwrap_or_else(CageReport::none),
            duration: Duration::ZERO,
        };
        let left = match self.control {
            _ if was_warm && went_well => Left::Leaving(self.helper),
            Some(control) if went_well && goes_on && !was_warm => Left::Spare(Spare::new(self.helper, control)),
            control => {
                drop(control);
                self.helper.wait();
                Left::Nothing
            }
        };
        (outcome, left)
    }

    fn verdict(&mut self, call: &Call<'_>) -> Result<Value, CallFailure> {
        let limits = &call.plan.limits;
        // A cage that is ended while it is being built says that it could not be.
        if self.cut == Some(Cut::Cancelled) {
            return Err(cancelled());
        }
        if let Some(refusal) = self.refusal.take() {
            return Err(refusal);
        }
        let torn = self.inbox.is_torn();
        if let Some(reply) = self.inbox.conclude() {
            return reply;
        }
        match self.end {
            _ if self.cut == Some(Cut::Helper) && self.report.is_none() => {
                let message = format!("the cage was not built within {} s", BUILD.as_secs());
                Err(failure("cage_refused", message))
            }
            end if self.cut == Some(Cut::Helper) || matches!(end, Some((_, Some(Why::Deadline)))) => {
                Err(failure("timeout", format!("it ran longer than {} ms", limits.wall_ms)))
            }
            Some(_) if self.ran_out_of_memory() => {
                Err(failure("crashed", format!("it used more than {} MiB of memory", limits.memory_mb)))
            }
            Some((_, Some(Why::Processes))) => {
                Err(failure("crashed", format!("it started more than {} processes", limits.processes)))
            }
            Some(_) if self.report.is_none() => {
                Err(failure("cage_refused", format!("the cage could not be built{}", self.last_words())))
            }
            Some(_) if torn => Err(failure("contract_violation", "it ended in the middle of an answer".to_owned())),
            Some((Exit::Code(code), _)) => {
                Err(failure("crashed", format!("it ended with code {code} and no answer{}", self.last_words())))
            }
            Some((Exit::Signal(signal), _)) => {
                Err(failure("crashed", format!("it was ended by signal {signal}{}", self.last_words())))
            }
            // It may have done anything by then.
            None if self.fed.is_some() => {
                Err(failure("crashed", "what watches over the cage ended first, and the call with it".to_owned()))
            }
            None => Err(failure("cage_refused", "what was to build the cage ended before that".to_owned())),
        }
    }

    /// Whether more memory was used than planned, as the helper saw it or as the kernel did.
    fn ran_out_of_memory(&self) -> bool {
        matches!(self.end, Some((_, Some(Why::Memory))))
            || self.cgroup.as_ref().is_some_and(Enclosure::ran_out_of_memory)
    }

    fn last_words(&self) -> String {
        let text = self.stderr.kept.text();
        text.lines()
            .rfind(|line| !line.trim().is_empty())
            .map_or_else(String::new, |line| format!(": {}", line.chars().take(300).collect::<String>()))
    }
}

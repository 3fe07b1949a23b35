//! The bound on what all processes of a cage hold together, where no cgroup keeps it: looked at from outside, again and again.
//!
//! A look is late by nature: whoever takes memory goes on meanwhile. So the looks come closer together where the limit is
//! near and memory grows towards it, and the processes stand still while their shares of common pages are counted, which
//! takes longer than all the rest.

use std::time::{Duration, Instant};

use metnos_projections::rules::cage_plan::Limits;
use rustix::process::{Pid, Signal};

use super::tree::{Member, Processes};
use super::wire::Why;

/// The time between two looks while the limit is far.
const TICK: Duration = Duration::from_millis(10);
/// The least time between two looks: a look at a few processes takes a fraction of it.
const SHORTEST: Duration = Duration::from_millis(1);

/// What looks after the tree of one process.
pub(super) struct Watchdog<'p> {
    processes: &'p Processes,
    root: Pid,
    tasks: u64,
    memory_kib: u64,
    /// When the last look was, and what was resident then, in KiB.
    last: (Instant, u64),
    wait: Duration,
}

impl<'p> Watchdog<'p> {
    /// Over a process and all that descend from it; `more` processes may be there than the limits say.
    pub(super) fn new(processes: &'p Processes, root: Pid, limits: &Limits, more: u64) -> Self {
        let (tasks, memory_kib) = (limits.processes + more, limits.memory_mb.saturating_mul(1024));
        Self { processes, root, tasks, memory_kib, last: (Instant::now(), 0), wait: TICK }
    }

    /// How long to wait before the next look.
    pub(super) fn wait(&self) -> Duration {
        self.wait
    }

    /// Looks at the tree; says what of it is more than it may be. Whatever is beyond its memory stands still then, and is to
    /// be ended.
    pub(super) fn look(&mut self) -> Option<Why> {
        let pids = self.processes.members(self.root);
        if self.processes.tasks(&pids) > self.tasks {
            return Some(Why::Processes);
        }
        let members = self.processes.hold(&pids);
        let resident = members.iter().map(|member| member.resident_kib).sum();
        self.pace(resident);
        (resident > self.memory_kib && self.exceeds(&members)).then_some(Why::Memory)
    }

    /// Whether the tree holds too much where pages that processes share count once.
    fn exceeds(&self, members: &[Member]) -> bool {
        // One that its own parent has stopped stays as it is.
        let running = || members.iter().filter(|member| !member.is_stopped);
        running().for_each(|member| member.send(Signal::STOP));
        let mut held = 0;
        let exceeds = members.iter().any(|member| {
            held += member.proportional_kib();
            held > self.memory_kib
        });
        if !exceeds {
            running().for_each(|member| member.send(Signal::CONT));
        }
        exceeds
    }

    /// Aims the next look at the moment at which the limit is reached, should memory go on growing as it did.
    fn pace(&mut self, resident: u64) {
        let now = Instant::now();
        let (then, before) = std::mem::replace(&mut self.last, (now, resident));
        let grown = resident.saturating_sub(before);
        let room = self.memory_kib.saturating_sub(resident);
        self.wait = if grown == 0 { TICK } else { soonest(now - then, room, grown) };
    }
}

/// The time that as much more takes as `room`, where `grown` took so long.
fn soonest(took: Duration, room: u64, grown: u64) -> Duration {
    #[expect(clippy::cast_precision_loss, reason = "a pace is an estimate")]
    let left = took.as_secs_f64() * room as f64 / grown as f64;
    Duration::try_from_secs_f64(left).unwrap_or(TICK).clamp(SHORTEST, TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_look_is_sooner_the_nearer_the_limit_is() {
        let took = Duration::from_millis(10);
        assert_eq!(soonest(took, 200_000, 1_000), TICK);
        assert_eq!(soonest(took, 50_000, 100_000), Duration::from_millis(5));
        assert_eq!(soonest(took, 0, 100_000), SHORTEST);
        assert_eq!(soonest(Duration::ZERO, u64::MAX, 1), SHORTEST);
        assert_eq!(soonest(Duration::MAX, u64::MAX, 1), TICK);
    }
}

//! The helpers as the daemon holds them: one at work, and one that has done its work and waits for more.
//!
//! Starting a program takes half as long as building a cage. A helper is never inside of a cage, sees no byte of an executor
//! and is told of one call at a time, so the one of a call that went as it should builds the next call's cage, too.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::lock::LockFile;

/// How long a helper that has nothing to do any more may take to end, seconds.
const PATIENCE_S: i64 = 2;

/// A helper at work, and the file that it holds locked, which goes with this.
#[derive(Debug)]
pub(super) struct Helper {
    child: Child,
    /// None where there is never a call.
    _lock: Option<LockFile>,
}

impl Helper {
    /// One that was told of a cage.
    pub(super) fn new(child: Child, lock: Option<LockFile>) -> Self {
        Self { child, _lock: lock }
    }

    /// Waits for its end, which is near. One that does not come to it is ended.
    pub(super) fn wait(&mut self) {
        let ending =
            Pid::from_raw(self.child.id().cast_signed()).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let has_ended = ending.is_some_and(|ending| {
            let patience = Timespec { tv_sec: PATIENCE_S, tv_nsec: 0 };
            retry_on_intr(|| poll(&mut [PollFd::new(&ending, PollFlags::IN)], Some(&patience)))
                .is_ok_and(|ended| ended > 0)
        });
        if !has_ended {
            self.kill();
        }
        wait(&mut self.child);
    }

    /// Ends it, and thereby the cage.
    pub(super) fn kill(&mut self) {
        if let Err(error) = self.child.kill() {
            tracing::warn!(%error, "a cage's helper could not be killed");
        }
    }
}

fn wait(child: &mut Child) {
    if let Err(error) = child.wait() {
        tracing::warn!(%error, "a cage's helper could not be waited for");
    }
}

/// A helper whose cage has ended, and that waits for another.
#[derive(Debug)]
pub(super) struct Spare(Option<(Child, OwnedFd)>);

impl Spare {
    /// A helper that has said its last word about a native cage that was built for its call: after any other it ends.
    pub(super) fn new(helper: Helper, control: OwnedFd) -> Self {
        Self(Some((helper.child, control)))
    }

    /// Has it told of a cage. One that cannot be told any more is let go.
    pub(super) fn begin(mut self, tell: impl FnOnce(BorrowedFd<'_>) -> bool) -> Option<(Child, OwnedFd)> {
        let is_told = self.0.as_ref().is_some_and(|(_, control)| tell(control.as_fd()));
        if is_told { self.0.take() } else { None }
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        if let Some((mut child, control)) = self.0.take() {
            drop(control);
            // Nothing lives below it, and it may be stopped.
            if let Err(error) = child.kill() {
                tracing::debug!(%error, "a spare helper was gone already");
            }
            wait(&mut child);
        }
    }
}

/// The one spare helper of a sandbox.
#[derive(Debug)]
pub(super) struct Spares {
    kept: Mutex<Option<Spare>>,
    keeps: bool,
}

impl Spares {
    /// Where none is kept, each cage has a helper of its own.
    pub(super) fn new(keeps: bool) -> Self {
        Self { kept: Mutex::default(), keeps }
    }

    pub(super) fn take(&self) -> Option<Spare> {
        self.kept().take()
    }

    /// Keeps one that is left over, and lets it go where there is one already.
    pub(super) fn keep(&self, spare: Option<Spare>) {
        let mut kept = self.kept();
        if self.keeps && kept.is_none() {
            *kept = spare;
        }
    }

    fn kept(&self) -> MutexGuard<'_, Option<Spare>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The helper's side of a warm call: puts on a cage that waits what is known only now, from outside and before it is fed.
//!
//! Limits the daemon lowers by itself. To mount something, one must be where the object is and then where it is to appear;
//! so the helper takes what was granted and joins the cage's user and mount namespaces for good, never that of its
//! processes: nothing in the cage sees it. Whatever cannot be done ends the cage; the daemon then builds another, for this
//! call alone.

use std::os::fd::{BorrowedFd, OwnedFd};

use metnos_projections::rules::cage_plan::Limits;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::process::Pid;
use rustix::thread::{ThreadNameSpaceType, move_into_thread_name_spaces};

use super::child::{BuildError, DAEMON_DIED, Step};
use super::native::{self, Ids};
use super::wire::{self, Job, Said, Told};
use super::{owners, sys};

/// A waiting cage as its helper holds it.
pub(super) struct Waiting<'w> {
    pub(super) cage: Pid,
    pub(super) pidfd: BorrowedFd<'w>,
    pub(super) control: BorrowedFd<'w>,
    pub(super) ids: &'w Ids,
}

impl Waiting<'_> {
    /// Waits for a call and makes the job that of the call. Says whether one came: the daemon may let it go or die.
    ///
    /// What is said of a call wakes nobody: most are over before this process would have begun to look after them, and take
    /// longer where it does. A timer does that, which the daemon sets before it feeds the cage, so that whatever becomes of the
    /// daemon from then on, the deadline and the limits are kept.
    pub(super) fn begin(&self, job: &mut Job) -> Result<bool, BuildError> {
        let Some((Told::Wait, Some(timer))) = wire::receive_with(self.control).step("take the timer")? else {
            return Ok(false);
        };
        let waits = Said::Waits { pid: self.cage.as_raw_pid() };
        wire::send_with(self.control, &waits, self.pidfd).step("say that it waits")?;
        self.until_called(&timer).step("wait for a call")?;
        let Some(Told::Call { limits, grants }) = wire::receive(self.control).step("take the call")? else {
            return Ok(false);
        };
        let received = wire::receive_descriptors(self.control, grants.len()).step("take what was granted")?;
        let before = std::mem::replace(&mut job.limits, limits);
        job.grants = grants;
        if Told::needs_mounts(&limits, &before, received.len()) {
            self.bind(job, &before, &received)?;
            wire::send(self.control, &Said::Begun).step("say that it may be fed")?;
        }
        Ok(true)
    }

    /// Waits until the timer is over or the daemon has done with the cage. What dies in it meanwhile is the daemon's to see: it
    /// looks before it gives a call away, and it waits for the end of one.
    fn until_called(&self, timer: &OwnedFd) -> std::io::Result<()> {
        let control = PollFd::from_borrowed_fd(self.control, PollFlags::RDHUP);
        let mut waiting = [PollFd::new(timer, PollFlags::IN), control];
        // A thread of the daemon may have ended meanwhile, or all of it: then the socket's end is seen next.
        retry_on_intr(|| poll(&mut waiting, None))?;
        Ok(())
    }

    fn bind(&self, job: &Job, before: &Limits, grants: &[OwnedFd]) -> Result<(), BuildError> {
        let join = |what| move_into_thread_name_spaces(self.pidfd, what);
        let taken = owners::take(job, grants, self.ids)?;
        if taken.as_ref().is_some_and(|taken| !taken.copies.is_empty()) {
            return Err(std::io::Error::other("only a copy could show it")).step("bind what was granted");
        }
        join(ThreadNameSpaceType::USER).step("join the user namespace")?;
        let trees = match taken {
            Some(taken) => taken.trees,
            None if grants.is_empty() => Vec::new(),
            None => {
                // Only what is mounted in a namespace of the cage's own user can be copied there: the host's mounts, as they
                // are at this moment.
                sys::new_mount_namespace().step("copy the mounts")?;
                native::grant_trees(job, grants)?
            }
        };
        join(ThreadNameSpaceType::MOUNT).step("join the mount namespace")?;
        // Other rights may have cost it.
        rustix::process::set_parent_process_death_signal(Some(DAEMON_DIED)).step("tie life to the daemon")?;
        native::admit(job, before, &trees)
    }
}

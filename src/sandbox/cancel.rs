//! A flag that ends a running call from another thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// Shared by the call and whoever may cancel it; once raised it stays raised.
#[derive(Clone, Debug)]
pub struct CancelFlag {
    event: Arc<OwnedFd>,
}

impl CancelFlag {
    /// Makes a flag that is not raised.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { event: Arc::new(event) })
    }

    /// Raises the flag.
    pub fn cancel(&self) {
        // A full counter means that it is raised already: nothing is lost when this write fails.
        rustix::io::write(&self.event, &1_u64.to_ne_bytes()).ok();
    }

    /// Whether it is raised.
    pub fn is_raised(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.event, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// The descriptor that becomes readable when the flag is raised.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

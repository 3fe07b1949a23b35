//! What a command prints to, asks and reads: the console of this process, or that of a command that came over the socket.
//!
//! Each command runs on a thread of its own, and its console belongs to that thread; a thread that draws for it is handed
//! the console when it begins. Nothing here knows what is said.

mod own;

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;

use super::interrupt::Interrupts;
use crate::sandbox::CancelFlag;

/// One of the three streams of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Standard input.
    In,
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Bytes up to the end of a line, which belongs to them.
    Line,
    /// Everything, but no more than this.
    All(u64),
}

/// What came of reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Bytes; of a line that the input's end cut off, what there was of it.
    Bytes(Vec<u8>),
    /// The input has ended.
    Ended,
    /// What would have ended the reading was raised first.
    Cancelled,
}

/// Where a command runs.
pub(super) trait Console: Send + Sync {
    /// Writes bytes and lets them be seen.
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()>;
    /// Reads, until one of these is raised: the turn is stopped, or its question answered in another place.
    fn read(&self, wanted: Wanted, until: &[&CancelFlag]) -> io::Result<Heard>;
    /// Lets go what was typed at a terminal before now; what another input holds is kept.
    fn forget_typed(&self);
    /// Whether a stream is a terminal.
    fn is_terminal(&self, stream: Stream) -> bool;
    /// How many columns it has; `None` where it is no terminal or does not say.
    fn columns(&self, stream: Stream) -> Option<usize>;
    /// The folder that relative paths start at.
    fn folder(&self) -> Option<PathBuf>;
    /// What Ctrl-C means to it.
    fn interrupts(&self) -> &Interrupts;
    /// The process that the person started.
    fn process(&self) -> u32;
    /// Waits; `false` when nobody is there any more.
    fn wait(&self, time: Duration) -> bool;
    /// Gives a value to the program that the command came from; a process has nobody to give it to.
    fn hand_back(&self, _value: &Value) {}
    /// Whether the program ends with the command.
    fn is_own(&self) -> bool {
        false
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Console>>> = const { RefCell::new(None) };
}

fn of_process() -> &'static Arc<own::Own> {
    static OWN: OnceLock<Arc<own::Own>> = OnceLock::new();
    OWN.get_or_init(Arc::default)
}

/// The console of this process.
pub(super) fn own() -> Arc<dyn Console> {
    of_process().clone()
}

/// Has this process go on when nobody reads what it prints any more: its exit code is what it is asked for.
pub(super) fn go_on_unread() {
    of_process().go_on_unread();
}

/// The console of the command that this thread carries out.
pub(super) fn current() -> Arc<dyn Console> {
    CURRENT.with_borrow(Clone::clone).unwrap_or_else(own)
}

/// Does some work with a console.
pub(super) fn with<T>(console: Arc<dyn Console>, work: impl FnOnce() -> T) -> T {
    struct Before(Option<Arc<dyn Console>>);
    impl Drop for Before {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _before = Before(CURRENT.replace(Some(console)));
    work()
}

/// The command has nobody left to speak to, and why.
struct Left(io::Error);

/// Ends the command where it stands, as a process ends whose reader went away. Never called while a turn runs: that ends
/// with its record.
pub(super) fn leave(why: io::Error) -> ! {
    std::panic::resume_unwind(Box::new(Left(why)))
}

/// Carries a command out; the error at which it left. Any other panic goes on.
pub(super) fn until_left<T>(work: impl FnOnce() -> T) -> Result<T, io::Error> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Left>() {
        Ok(left) => left.0,
        Err(other) => std::panic::resume_unwind(other),
    })
}

/// A path as the command's person means it.
pub(super) fn path(path: &Path) -> PathBuf {
    current().folder().map_or_else(|| path.to_owned(), |folder| folder.join(path))
}

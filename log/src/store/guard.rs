//! Where a panic of the store becomes an error.
//!
//! redb trusts the pages that it reads and stops by a panic at some that are damaged. Whoever opens, reads, verifies,
//! writes or closes goes through here, so that a damaged file is said to be damaged.

use std::cell::Cell;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};

use redb::{Database, DatabaseError};

use super::withheld::Opened;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread becomes an error further up, so that nobody need be shown it.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Does the work; an error where it panics. What the work left half done must not be used again: the log is closed
/// after it, and a writer stops.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let before = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    // What the panic says names parts of the store that only its authors know.
    done.map_err(|_| "the store cannot make sense of it".to_owned())
}

/// An open database that is closed with the same care.
#[derive(Debug)]
pub(super) struct Store(Option<Opened>);

impl Store {
    pub(super) fn of(opened: Opened) -> Self {
        Self(Some(opened))
    }

    /// The database itself, still open.
    pub(super) fn into_inner(mut self) -> Option<Opened> {
        self.0.take()
    }

    /// See [`Opened::as_after_a_kill`].
    pub(super) fn as_after_a_kill(&self) -> Result<Database, DatabaseError> {
        self.opened().as_after_a_kill()
    }

    fn opened(&self) -> &Opened {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Deref for Store {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.opened().database
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let Some(Opened { database, .. }) = self.0.take() else { return };
        // All that was acknowledged is on disk. What closing adds saves the next opening a repair, nothing else.
        drop(guarded(|| database.close()));
    }
}

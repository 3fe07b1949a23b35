//! Commands that changed something and whose person has not seen how that ended: a file for each while it lasts, so that the
//! next process tells what a killed one could not.
//!
//! The log says what was done, and not whether anybody was told. A file holds nothing; its name is the turn's. Where one is
//! lost, as with the power, nothing is told twice or wrongly: it is not told.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use metnos_log::TurnId;

/// The channel of commands: what is answered there is shown once and kept nowhere else.
pub const CONSOLE: &str = "console";

/// The turns of one process, and those that earlier ones left.
pub struct Untold {
    folder: PathBuf,
    own: Mutex<BTreeSet<TurnId>>,
}

impl Untold {
    /// In a folder of the instance, which need not be there.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, own: Mutex::default() }
    }

    fn own(&self) -> MutexGuard<'_, BTreeSet<TurnId>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn is going to change something. What fails here costs no more than a notice.
    pub fn begin(&self, turn: TurnId) {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        let marked = made.and_then(|()| fs::write(self.folder.join(turn.to_string()), ""));
        match marked {
            Ok(()) => drop(self.own().insert(turn)),
            Err(error) => tracing::info!(%error, %turn, "that it is untold was not noted"),
        }
    }

    /// Whoever asked has seen how the turns of this process ended.
    pub fn told(&self) {
        for turn in std::mem::take(&mut *self.own()) {
            self.forget(turn);
        }
    }

    /// What this process has ended by now was heard by nobody: it is left to whoever is heard.
    pub fn leave(&self) {
        self.own().clear();
    }

    /// The turns that other processes left, which are gone: one at a time has the log.
    pub fn left(&self) -> Vec<TurnId> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let turns = entries.filter_map(|entry| TurnId::from_str(entry.file_name().to_str()?).ok());
        let own = self.own();
        let mut left: Vec<TurnId> = turns.filter(|turn| !own.contains(turn)).collect();
        left.sort_unstable();
        left
    }

    /// One of them is told.
    pub fn forget(&self, turn: TurnId) {
        match fs::remove_file(self.folder.join(turn.to_string())) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::info!(%error, %turn, "that it was told was not noted");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// A process that ends by itself has said what it had to say.
impl Drop for Untold {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.told();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_a_process_did_not_tell_is_left_to_the_next() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("untold");
        let (one, other) = (TurnId([1; 16]), TurnId([2; 16]));
        let first = Untold::new(folder.clone());
        first.begin(one);
        assert!(first.left().is_empty(), "its own is not left by anybody");
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        first.told();
        first.begin(other);
        // Killed: nothing of it runs any more.
        std::mem::forget(first);
        let next = Untold::new(folder.clone());
        assert_eq!(next.left(), [other]);
        next.forget(other);
        assert!(next.left().is_empty());
        next.begin(other);
        next.leave();
        next.told();
        assert_eq!(next.left(), [other], "nobody heard it");
        next.forget(other);
        next.begin(one);
        drop(next);
        assert!(Untold::new(folder).left().is_empty(), "it ended by itself");
    }
}

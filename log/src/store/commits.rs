//! A look at each commit, for whoever wants a process to end right before or right after one. Release builds have none of it.

/// On which side of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Everything is written, nothing is on disk.
    Before,
    /// It is on disk, and nobody was told.
    After,
}

#[cfg(debug_assertions)]
mod watched {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Side;

    static WATCH: OnceLock<fn(u64, Side)> = OnceLock::new();
    static COMMITS: AtomicU64 = AtomicU64::new(0);

    /// Calls this around each commit of this process, with its number from 1. The first who asks is served.
    pub fn watch_commits(watch: fn(u64, Side)) {
        WATCH.get_or_init(|| watch);
    }

    /// Whether somebody looks: each append is a commit of its own then, so that its number is the same in every run.
    pub(in crate::store) fn are_watched() -> bool {
        WATCH.get().is_some()
    }

    pub(in crate::store) fn reach(side: Side) {
        let Some(watch) = WATCH.get() else { return };
        let begun = COMMITS.fetch_add(u64::from(side == Side::Before), Ordering::SeqCst);
        watch(begun + u64::from(side == Side::Before), side);
    }
}

#[cfg(debug_assertions)]
pub use watched::watch_commits;
#[cfg(debug_assertions)]
pub(super) use watched::{are_watched, reach};

/// Nobody does.
#[cfg(not(debug_assertions))]
pub(super) fn are_watched() -> bool {
    false
}

/// Does nothing.
#[cfg(not(debug_assertions))]
pub(super) fn reach(_side: Side) {}

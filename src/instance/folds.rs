//! The projections of an open instance, shared by threads: whoever reads takes a snapshot, whoever folds has them alone.
//!
//! No lock is held when a function of this file returns. A snapshot that is still read while something is folded costs a
//! copy, and shows how things stood when it was taken.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use metnos_log::Log;
use metnos_log::store::ReadError;
use metnos_projections::machines::catalog::Catalog;
use metnos_projections::replay;
use metnos_projections::rules::simple::Tools;

use crate::moments;
use crate::projector::{self, Projected, Watch};

/// The projections of one instance, or of one moment of it.
#[derive(Default)]
pub(super) struct Folds {
    state: RwLock<State>,
    /// Where moments are kept that are passed on the way.
    folder: PathBuf,
}

#[derive(Default)]
struct State {
    projected: Projected,
    /// The planner's index, made once for each generation of the catalog, when it is first wanted.
    tools: Arc<OnceLock<Arc<Tools>>>,
    /// Where the checkpoints on disk stand.
    saved: u64,
}

impl Folds {
    /// Goes on from what is given; `folder` is that of the checkpoints.
    pub(super) fn of(then: Projected, folder: PathBuf) -> Self {
        let saved = then.position;
        Self { state: RwLock::new(State { projected: then, tools: Arc::default(), saved }), folder }
    }

    /// A thread that broke off while it folded has left whole events behind it: each is folded into all, or the position
    /// has not passed it.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Folds what was appended since the last time; `watch` is told how far it is, where that is more than a few events.
    pub(super) fn catch_up(&self, log: &Log, watch: Watch<'_>) -> Result<(), ReadError> {
        let mut state = self.write();
        let State { projected, tools, .. } = &mut *state;
        let size = log.head().size;
        if size == projected.position {
            return Ok(());
        }
        let generation = projected.catalog.generation;
        let reader = log.reader();
        reader.each_lent(projected.position + 1, |recorded| {
            projected.evolve(recorded);
            moments::keep_if_due(&self.folder, &reader, projected)?;
            projector::tell(watch, recorded.seq, size);
            Ok::<bool, ReadError>(true)
        })?;
        if projected.catalog.generation != generation {
            *tools = Arc::default();
        }
        Ok(())
    }

    /// Folds everything again from event 1.
    pub(super) fn fold_anew(&self, log: &Log) -> Result<(), ReadError> {
        let mut projected = Projected::default();
        let reader = log.reader();
        reader.each_lent(1, |recorded| {
            projected.evolve(recorded);
            moments::keep_if_due(&self.folder, &reader, &projected)?;
            Ok::<bool, ReadError>(true)
        })?;
        *self.write() = State { projected, ..State::default() };
        Ok(())
    }

    /// Writes the checkpoints, unless fewer than `least` events came since the last time, or some are not folded yet; whether it did.
    pub(super) fn save(&self, log: &Log, folder: &Path, least: u64) -> std::io::Result<bool> {
        let saved = self.read().saved;
        let projected = self.now();
        let head = log.head();
        if head.size != projected.position || projected.position.saturating_sub(saved) < least {
            return Ok(false);
        }
        projector::save(folder, &head, &projected)?;
        self.write().saved = projected.position;
        Ok(true)
    }

    /// All of them, as of one event.
    pub(super) fn now(&self) -> Projected {
        self.read().projected.clone()
    }

    /// The executors and the planner's index of just these.
    pub(super) fn catalog_and_tools(&self) -> (Arc<Catalog>, Arc<Tools>) {
        let (catalog, cell) = {
            let state = self.read();
            (Arc::clone(&state.projected.catalog), Arc::clone(&state.tools))
        };
        let tools = Arc::clone(cell.get_or_init(|| Arc::new(replay::tools(&catalog))));
        (catalog, tools)
    }
}

//! The projections of an open instance, shared by threads: whoever reads takes a snapshot, whoever folds has them alone.
//!
//! No lock is held when a function of this file returns. A snapshot that is still read while something is folded costs a
//! copy, and shows how things stood when it was taken.

use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use metnos_log::Log;
use metnos_log::store::ReadError;
use metnos_projections::machines::catalog::Catalog;
use metnos_projections::projection::Projection;
use metnos_projections::replay;
use metnos_projections::rules::simple::Tools;
use metnos_projections::views::configuration::Configuration;
use metnos_projections::views::turns::Turns;

use crate::projector::{self, Projected};

/// The projections of one instance, or of one moment of it.
#[derive(Default)]
pub(super) struct Folds(RwLock<State>);

#[derive(Default)]
struct State {
    catalog: Arc<Catalog>,
    /// The planner's index, made once for each generation of the catalog, when it is first wanted.
    tools: Arc<OnceLock<Arc<Tools>>>,
    turns: Arc<Turns>,
    configuration: Arc<Configuration>,
    position: u64,
    /// Where the checkpoints on disk stand.
    saved: u64,
}

/// The projections as of one event.
pub struct Snapshot {
    /// The executors.
    pub catalog: Arc<Catalog>,
    /// The turns.
    pub turns: Arc<Turns>,
    /// The settings.
    pub configuration: Arc<Configuration>,
    /// The number of that event.
    pub position: u64,
}

impl From<Projected> for Folds {
    fn from(then: Projected) -> Self {
        Self(RwLock::new(State {
            catalog: Arc::new(then.catalog),
            tools: Arc::default(),
            turns: Arc::new(then.turns),
            configuration: Arc::new(then.configuration),
            position: then.position,
            saved: then.position,
        }))
    }
}

impl Folds {
    /// A thread that broke off while it folded has left whole events behind it: each is folded into all, or the position
    /// has not passed it.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Folds what was appended since the last time.
    pub(super) fn catch_up(&self, log: &Log) -> Result<(), ReadError> {
        let mut state = self.write();
        let State { catalog, tools, turns, configuration, position, .. } = &mut *state;
        if log.head().size == *position {
            return Ok(());
        }
        let generation = catalog.generation;
        let (folded, turns, configuration) =
            (Arc::make_mut(catalog), Arc::make_mut(turns), Arc::make_mut(configuration));
        log.reader().each(*position + 1, |recorded| {
            folded.evolve(&recorded);
            turns.evolve(&recorded);
            configuration.evolve(&recorded);
            *position = recorded.seq;
            Ok::<bool, ReadError>(true)
        })?;
        if folded.generation != generation {
            *tools = Arc::default();
        }
        Ok(())
    }

    /// Writes the checkpoints, unless fewer than `least` events came since the last time, or some are not folded yet.
    pub(super) fn save(&self, log: &Log, folder: &Path, least: u64) -> std::io::Result<()> {
        let saved = self.read().saved;
        let Snapshot { catalog, turns, configuration, position } = self.snapshot();
        let head = log.head();
        if head.size != position || position.saturating_sub(saved) < least {
            return Ok(());
        }
        projector::save(folder, &head, &catalog, &turns, &configuration)?;
        self.write().saved = position;
        Ok(())
    }

    /// The executors.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.read().catalog)
    }

    /// The executors and the planner's index of just these.
    pub(super) fn catalog_and_tools(&self) -> (Arc<Catalog>, Arc<Tools>) {
        let (catalog, cell) = {
            let state = self.read();
            (Arc::clone(&state.catalog), Arc::clone(&state.tools))
        };
        let tools = Arc::clone(cell.get_or_init(|| Arc::new(replay::tools(&catalog))));
        (catalog, tools)
    }

    /// All of them, as of one event.
    pub(super) fn snapshot(&self) -> Snapshot {
        let state = self.read();
        Snapshot {
            catalog: Arc::clone(&state.catalog),
            turns: Arc::clone(&state.turns),
            configuration: Arc::clone(&state.configuration),
            position: state.position,
        }
    }

    /// The turns.
    pub(super) fn turns(&self) -> Arc<Turns> {
        Arc::clone(&self.read().turns)
    }

    /// The settings as the log knows them.
    pub(super) fn configuration(&self) -> Arc<Configuration> {
        Arc::clone(&self.read().configuration)
    }
}

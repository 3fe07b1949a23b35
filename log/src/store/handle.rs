//! The open file. Another takes its place when the log is rewritten; whoever reads the old one reads it to the end.

use std::sync::{Arc, PoisonError, RwLock};

use redb::Database;

pub(super) struct Handle(RwLock<Arc<Database>>);

impl Handle {
    pub(super) fn new(database: Database) -> Self {
        Self(RwLock::new(Arc::new(database)))
    }

    /// The file itself, where nobody else has it.
    pub(super) fn into_inner(handle: Arc<Self>) -> Option<Database> {
        let database = Arc::into_inner(handle)?.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        Arc::into_inner(database)
    }

    /// The file that is the log now.
    pub(super) fn now(&self) -> Arc<Database> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From here on another file is the log.
    pub(super) fn replace(&self, database: Database) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(database);
    }
}

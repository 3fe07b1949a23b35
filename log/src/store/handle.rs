//! The open file. Another takes its place when the log is rewritten; whoever reads the old one reads it to the end.

use std::sync::{Arc, PoisonError, RwLock};

use super::guard::Store;
use super::withheld::Opened;

pub(super) struct Handle(RwLock<Arc<Store>>);

impl Handle {
    pub(super) fn new(opened: Opened) -> Self {
        Self(RwLock::new(Arc::new(Store::of(opened))))
    }

    /// The file itself, where nobody else has it.
    pub(super) fn into_inner(handle: Arc<Self>) -> Option<Opened> {
        let store = Arc::into_inner(handle)?.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        Arc::into_inner(store)?.into_inner()
    }

    /// The file that is the log now.
    pub(super) fn now(&self) -> Arc<Store> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From here on another file is the log.
    pub(super) fn replace(&self, opened: Opened) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Store::of(opened));
    }
}

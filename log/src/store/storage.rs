//! A log on storage of the caller's own instead of a file: a disk that counts what it is asked for, or one that fails.

use std::path::Path;

use redb::StorageBackend;

use super::open::refused;
use super::withheld::Opened;
use super::{Log, LogKeys, OpenError};

/// What errors call it.
const NAME: &str = "the given storage";

impl Log {
    /// Opens a log on that storage, creating it where the storage is empty. All that a log on a file does it does, but it is
    /// not rewritten: erasure and compaction need a file, and are refused.
    pub fn open_on(storage: impl StorageBackend, keys: LogKeys) -> Result<Self, OpenError> {
        let path = Path::new(NAME);
        let opened = || Opened::on(storage).map_err(|error| refused(path, error));
        Self::start(opened, path, keys)
    }
}

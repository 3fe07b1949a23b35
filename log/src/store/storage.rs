//! A log on storage of the caller's own instead of a file: a disk that counts what it is asked for, or one that fails.

use std::path::Path;

use redb::{Database, StorageBackend};

use super::open::{CACHE_BYTES, refused};
use super::{Log, LogKeys, OpenError};

/// What errors call it.
const NAME: &str = "the given storage";

impl Log {
    /// Opens a log on that storage, creating it where the storage is empty. All that a log on a file does it does, but it is
    /// not rewritten: erasure and compaction need a file, and are refused.
    pub fn open_on(storage: impl StorageBackend, keys: LogKeys) -> Result<Self, OpenError> {
        let path = Path::new(NAME);
        let database = || {
            let database = Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(storage);
            database.map_err(|error| refused(path, error))
        };
        Self::start(database, path, keys)
    }
}

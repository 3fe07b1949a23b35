//! Why an instance cannot be opened or written to.

use std::path::PathBuf;

use metnos_log::store::ReadError;
use metnos_log::{AppendError, OpenError};

use crate::config::credentials::CredentialError;
use crate::config::dirs::DirsError;
use crate::config::{ConfigError, Dirs};
use crate::signing::KeyError;

/// Below this many free bytes no new event is taken: redb must never meet a full disk.
const FREE_BYTES_MIN: u64 = 16 << 20;

/// Why an instance cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// There is no place for it.
    #[error(transparent)]
    Dirs(#[from] DirsError),
    /// Its configuration is refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Its credentials cannot be used.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// Its log cannot be opened.
    #[error(transparent)]
    Log(#[from] OpenError),
    /// Its log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its log cannot be written.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The log was begun under another key, or its key is gone.
    #[error("the log of {path} belongs to the key {recorded}, and {found}")]
    ForeignKey {
        /// The data folder.
        path: String,
        /// The key that the log names.
        recorded: String,
        /// What is there instead.
        found: String,
    },
    /// A folder on the way to its log or its key may not be looked into.
    #[error("{folder} may not be looked into")]
    Closed {
        /// The folder.
        folder: PathBuf,
    },
    /// What stands in the place of its log is no file.
    #[error("{path} is no file")]
    NoFile {
        /// The log's place.
        path: PathBuf,
    },
    /// There was an instance here, and its log is gone.
    #[error("{path} is missing or empty, but executors of an earlier instance are still in the workspace")]
    LogLost {
        /// The log's file.
        path: String,
    },
    /// The disk is nearly full.
    #[error(
        "only {} KiB are free on the disk of {path}; Metnos takes no new event below {} KiB",
        free >> 10,
        FREE_BYTES_MIN >> 10
    )]
    DiskFull {
        /// The data folder.
        path: String,
        /// Free bytes.
        free: u64,
    },
}

pub(super) fn refuse_full_disk(dirs: &Dirs) -> Result<(), InstanceError> {
    let Ok(space) = rustix::fs::statvfs(&dirs.data) else { return Ok(()) };
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    if free >= FREE_BYTES_MIN {
        Ok(())
    } else {
        Err(InstanceError::DiskFull { path: dirs.data.display().to_string(), free })
    }
}

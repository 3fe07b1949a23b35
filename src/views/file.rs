//! The file of a view: rows, and in the same transaction the place in the log that they were folded up to.
//!
//! It can be made again from the log at any time. So nothing is repaired here: whatever is wrong with a file is an error, and
//! its owner makes another one. What a panic of the store says about a damaged page is such an error too.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use metnos_log::store::guarded;
use metnos_projections::view::Digest;
use redb::backends::FileBackend;
use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition};
use serde::{Deserialize, Serialize};

const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");
const PLACE: TableDefinition<&str, &[u8]> = TableDefinition::new("place");
/// The only key of its table.
const NOW: &str = "now";

/// redb's default is 1 GiB.
const CACHE_BYTES: usize = 4 << 20;
/// That of about a million events: reading so much takes less than a tenth of a second.
const CHECKED_BYTES_MAX: u64 = 128 << 20;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("{path} cannot be used")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        #[source]
        source: io::Error,
    },
    /// The store refused.
    #[error("{path} cannot be used")]
    Store {
        /// The file.
        path: PathBuf,
        /// What it said.
        #[source]
        source: Box<redb::Error>,
    },
    /// It holds what nobody wrote.
    #[error("{path} is damaged: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was met.
        what: String,
    },
}

/// Where in which log a file stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) view: String,
    pub(super) version: u32,
    pub(super) log: String,
    /// The last event that was taken in.
    pub(super) position: u64,
    /// The chain's head there.
    pub(super) head: [u8; 32],
    /// What the fold goes on with.
    pub(super) carried: String,
}

/// Rows as they are read.
pub(super) type Rows = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// An open file of a view.
pub(super) struct File {
    database: Option<Database>,
    path: PathBuf,
}

impl File {
    /// Opens a file for its owner alone; makes an empty one where there is none. Every page is compared with its checksum,
    /// unless the file is large and `is_checked` is false.
    pub(super) fn open(path: &Path, is_checked: bool) -> Result<Self, FileError> {
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
        let opened = opened.map_err(|source| FileError::Io { path: path.to_owned(), source })?;
        let mut this = Self { database: None, path: path.to_owned() };
        let mut builder = Database::builder();
        let is_small = opened.metadata().is_ok_and(|file| file.len() <= CHECKED_BYTES_MAX);
        builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(is_checked || is_small);
        this.database = Some(this.minded(|| Ok(builder.create_with_backend(FileBackend::new(opened)?)?))?);
        Ok(this)
    }

    /// Does something with the store; what it panics at is damage.
    fn minded<T>(&self, work: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, FileError> {
        match guarded(work) {
            Ok(done) => done.map_err(|source| FileError::Store { path: self.path.clone(), source: Box::new(source) }),
            Err(what) => Err(self.damaged(what)),
        }
    }

    /// What is said of a file that holds what nobody wrote.
    pub(super) fn damaged(&self, what: impl Into<String>) -> FileError {
        FileError::Damaged { path: self.path.clone(), what: what.into() }
    }

    fn database(&self) -> &Database {
        self.database.as_ref().expect("it is there until the file is dropped")
    }

    /// Where it stands; `None` of a new one.
    pub(super) fn place(&self) -> Result<Option<Place>, FileError> {
        let bytes = self.minded(|| Self::stored_place(&self.database().begin_read()?))?;
        bytes.map(|bytes| self.read_place(&bytes)).transpose()
    }

    fn stored_place(transaction: &redb::ReadTransaction) -> Result<Option<Vec<u8>>, redb::Error> {
        let table = match transaction.open_table(PLACE) {
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            table => table?,
        };
        Ok(table.get(NOW)?.map(|bytes| bytes.value().to_vec()))
    }

    fn read_place(&self, bytes: &[u8]) -> Result<Place, FileError> {
        serde_json::from_slice(bytes).map_err(|error| self.damaged(error.to_string()))
    }

    /// Writes rows, and that they follow from the log up to a place: all of it is on disk when this returns, or none of it
    /// ever is.
    pub(super) fn commit(&self, rows: &BTreeMap<Vec<u8>, Vec<u8>>, place: &Place) -> Result<(), FileError> {
        let place = serde_json::to_vec(place).expect("a place is plain JSON");
        self.minded(|| {
            let transaction = self.database().begin_write()?;
            {
                let mut table = transaction.open_table(ROWS)?;
                for (key, value) in rows {
                    table.insert(key.as_slice(), value.as_slice())?;
                }
                transaction.open_table(PLACE)?.insert(NOW, place.as_slice())?;
            }
            Ok(transaction.commit()?)
        })
    }

    /// Gives back what commits have left unused: a file that was just made is about half of that.
    pub(super) fn compact(&mut self) -> Result<(), FileError> {
        let Some(mut database) = self.database.take() else { return Ok(()) };
        let compacted = self.minded(|| {
            let compacted = database.compact();
            Ok((database, compacted.map_err(redb::Error::from)))
        });
        let (database, compacted) = compacted?;
        self.database = Some(database);
        self.minded(|| compacted.map(drop))
    }

    /// Looks at the rows as they are now.
    pub(super) fn read<T>(&self, work: impl FnOnce(&Rows) -> Result<T, redb::StorageError>) -> Result<T, FileError> {
        self.minded(|| Ok(work(&self.database().begin_read()?.open_table(ROWS)?)?))
    }

    /// The digest of all that it holds, and where it stood then.
    pub(super) fn digest(&self) -> Result<(String, Place), FileError> {
        let (digest, place) = self.minded(|| {
            let transaction = self.database().begin_read()?;
            let mut digest = Digest::default();
            for row in transaction.open_table(ROWS)?.iter()? {
                let (key, value) = row?;
                digest.row(key.value(), value.value());
            }
            Ok((digest, Self::stored_place(&transaction)?))
        })?;
        let place = self.read_place(&place.unwrap_or_default())?;
        Ok((digest.finish(&place.carried), place))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let Some(database) = self.database.take() else { return };
        // What was committed is on disk. Closing in good order saves the next opening a look at every page, nothing else.
        drop(guarded(|| database.close()));
    }
}

/// Takes a file away, if there is one.
pub(super) fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(FileError::Io { path: path.to_owned(), source }),
        _ => Ok(()),
    }
}

/// How many events the file of a view was made of; nothing where it cannot be read. Not a byte of it is changed.
pub(crate) fn position(path: &Path) -> Option<u64> {
    let stored = guarded(|| {
        let database = metnos_log::store::read_untouched(path).ok()?;
        File::stored_place(&database.begin_read().ok()?).ok()?
    });
    Some(serde_json::from_slice::<Place>(&stored.ok()??).ok()?.position)
}

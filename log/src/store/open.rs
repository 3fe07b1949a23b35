//! Opening a log: creates, checks the format, waits for another command to finish, starts the writer.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ed25519_dalek::SigningKey;
use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable};
use tokio::sync::{mpsc, watch};

use super::archives::Archives;
use super::guard::guarded;
use super::handle::Handle;
use super::noted::Tally;
use super::tables::{
    BLOBS, BY_ID, BY_STREAM, CHECKPOINTS, EARLIER_FORMATS, FORMAT, ID_RUNS, META, META_ARCHIVES, META_CHECKPOINTS,
    META_FORMAT, META_HEAD, META_LOG_ID, META_RANGE, SEGMENTS, STREAM_RUNS, STREAMS, TAIL,
};
use super::tail::Tail;
use super::{Head, Log, create, files, index, rewrite, writer};
use crate::chain::{Chain, Range};
use crate::codec::Frame;
use crate::redact::Redactor;

/// redb's cache: a log is appended to and read through, seldom looked up; the default of 1 GiB is not for a household.
pub(super) const CACHE_BYTES: usize = 2 << 20;
/// Requests that may wait for the writer.
const QUEUE: usize = 1024;
pub(super) const RETRY: Duration = Duration::from_millis(20);

/// Why a log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process holds it.
    #[error("{path} is in use by another metnos command")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A newer program wrote it.
    #[error("{path} has format {found}; this program reads up to {FORMAT}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
    },
    /// It cannot be created or read where it is.
    #[error("{path} cannot be opened")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is no log, or a damaged one.
    #[error("{path} is damaged or no log: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// What is secret about a log's bytes.
pub struct LogKeys {
    /// Names payload blobs.
    pub blob_key: [u8; 32],
    /// Takes secrets out.
    pub redactor: Redactor,
    /// Signs checkpoints.
    pub signing: SigningKey,
    /// Sixteen random bytes: the name of the log, should it be created.
    pub fresh_id: [u8; 16],
}

impl Log {
    /// Opens the log, creating it if there is none. Waits up to `patience` for another process to let go of it. Where the path is
    /// a link, the log lies, and is written anew, where that leads; its archive lies beside the link.
    pub fn open(path: &Path, keys: LogKeys, patience: Duration) -> Result<Self, OpenError> {
        let fresh_id = keys.fresh_id;
        let database = || {
            let file = followed(path)?;
            let database = database(&file, &fresh_id, patience)?;
            // Only whoever has the log may take away what another one left of a copy.
            let fresh = rewrite::fresh(&file);
            match files::remove(&fresh) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => Err(OpenError::Io { path: fresh, source }),
                Ok(()) | Err(_) => Ok(database),
            }
        };
        Self::start(database, path, keys)
    }

    /// Opens a copy that is not the log yet.
    pub(super) fn open_as_it_is(path: &Path, keys: LogKeys) -> Result<Self, OpenError> {
        let fresh_id = keys.fresh_id;
        Self::start(|| database(path, &fresh_id, Duration::ZERO), path, keys)
    }

    /// Starts on a database, whatever it lies on; `path` is what errors call it.
    pub(super) fn start(
        database: impl FnOnce() -> Result<Database, OpenError>,
        path: &Path,
        keys: LogKeys,
    ) -> Result<Self, OpenError> {
        let started = guarded(|| Self::started(database()?, path, keys));
        started.unwrap_or_else(|what| Err(OpenError::Damaged { path: path.to_owned(), what }))
    }

    fn started(database: Database, path: &Path, keys: LogKeys) -> Result<Self, OpenError> {
        let file = followed(path)?;
        let id = prepare(&database, &keys.fresh_id).map_err(|what| what.at(path))?;
        let chain = chain(&database).map_err(|what| what.at(path))?;
        let tail = Tail::load(&database, &chain).map_err(|error| Fault::from(error).at(path))?;
        let signed = signed(&database).map_err(|what| what.at(path))?;
        let handle = Arc::new(Handle::new(database));
        let archives = Arc::new(Archives::beside(path));
        let (requests, inbox) = mpsc::channel(QUEUE);
        let (publish, head) = watch::channel(Head { size: chain.range.size(), head: chain.head });
        let verifying = keys.signing.verifying_key();
        let notary = writer::Notary::new(keys.signing, id.clone(), signed);
        let writer = writer::Writer::new(
            (Arc::clone(&handle), Arc::clone(&archives)),
            file.clone(),
            (chain, tail),
            notary,
            publish,
        );
        let writer = std::thread::Builder::new()
            .name("log-writer".to_owned())
            .spawn(move || writer.run(inbox))
            .map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
        Ok(Self {
            handle,
            archives,
            file,
            requests: Some(requests),
            head,
            writer: Some(writer),
            blob_key: keys.blob_key,
            verifying,
            redactor: Arc::new(std::sync::RwLock::new(keys.redactor)),
            id,
        })
    }
}

/// Where the log lies: what a link leads to must be there.
fn followed(path: &Path) -> Result<PathBuf, OpenError> {
    files::followed(path).map_err(|source| OpenError::Io { path: path.to_owned(), source })
}

/// What is wrong with a file that redb opened.
pub(super) enum Fault {
    Newer(u64),
    Damaged(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Newer(found) => write!(f, "it has format {found}, newer than this program"),
            Self::Damaged(what) => f.write_str(what),
        }
    }
}

impl Fault {
    pub(super) fn at(self, path: &Path) -> OpenError {
        let path = path.to_owned();
        match self {
            Self::Newer(found) => OpenError::Newer { path, found },
            Self::Damaged(what) => OpenError::Damaged { path, what },
        }
    }
}

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// A new file for a copy.
pub(super) fn create(path: &Path) -> Result<Database, redb::Error> {
    Ok(files::create_database(path)?)
}

fn database(path: &Path, fresh_id: &[u8; 16], patience: Duration) -> Result<Database, OpenError> {
    let until = Instant::now() + patience;
    if let Some(database) = create::unless_there(path, fresh_id, until)? {
        return Ok(database);
    }
    loop {
        match files::open_database(path) {
            Ok(database) => return Ok(database),
            Err(DatabaseError::DatabaseAlreadyOpen) if Instant::now() < until => std::thread::sleep(RETRY),
            Err(DatabaseError::DatabaseAlreadyOpen) => return Err(OpenError::Busy { path: path.to_owned() }),
            Err(other) => return Err(refused(path, other)),
        }
    }
}

/// What redb said of a file.
pub(super) fn refused(path: &Path, error: DatabaseError) -> OpenError {
    let path = path.to_owned();
    match error {
        // What it says of a file that is none of its own, or too short to be one.
        DatabaseError::Storage(redb::StorageError::Io(source))
            if matches!(source.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
        {
            OpenError::Damaged { path, what: source.to_string() }
        }
        DatabaseError::Storage(redb::StorageError::Io(source)) => OpenError::Io { path, source },
        other => OpenError::Damaged { path, what: other.to_string() },
    }
}

/// Creates the tables of a new log, checks those of an old one; returns the log's name.
pub(super) fn prepare(database: &Database, fresh_id: &[u8; 16]) -> Result<String, Fault> {
    if let Some(found) = stored_format(database)? {
        if found > FORMAT {
            return Err(Fault::Newer(found));
        }
        if found != FORMAT && !EARLIER_FORMATS.contains(&found) {
            return Err(Fault::Damaged(format!("it says that its format is {found}")));
        }
        let id = log_id(database)?;
        if found < FORMAT {
            bring_up(database, found)?;
        }
        Tally::read(&database.begin_read()?.open_table(META)?)?;
        return Ok(id);
    }
    create_tables(database, fresh_id)?;
    log_id(database)
}

/// Brings an older file up. There the tail has rows in the indexes as well, each event of a stream has one of its own, and
/// the checkpoints are not counted. That each id has a row of its own may stay: a newer file may have them too.
fn bring_up(database: &Database, found: u64) -> Result<(), Fault> {
    let transaction = database.begin_write()?;
    {
        let (mut streams, mut by_stream) = (transaction.open_table(STREAMS)?, transaction.open_table(BY_STREAM)?);
        let mut by_id = transaction.open_table(BY_ID)?;
        let mut opened = Vec::new();
        for row in transaction.open_table(TAIL)?.iter()? {
            let (seq, bytes) = row?;
            // What is wrong with a damaged row is for verification to say.
            let Ok(header) = Frame::parse(bytes.value()).and_then(|frame| frame.header()) else { continue };
            by_id.remove(header.0.0)?;
            let number = streams.get(header.2)?.map_or(seq.value(), |number| number.value());
            by_stream.remove((number, header.3))?;
            if header.3 == 1 {
                opened.push(header.2.to_owned());
            }
        }
        for name in opened {
            streams.remove(name.as_str())?;
        }
        transaction.open_table(ID_RUNS)?;
        transaction.open_table(STREAM_RUNS)?;
        let mut places = Vec::new();
        for row in by_stream.iter()? {
            let (place, seq) = row?;
            places.push((place.value(), seq.value()));
        }
        index::store_places(&transaction, &places)?;
        let tally = Tally::of(&transaction.open_table(CHECKPOINTS)?)?;
        let mut meta = transaction.open_table(META)?;
        if meta.insert(META_CHECKPOINTS, tally.to_bytes().as_slice())?.is_some() {
            // Dropped without a commit, the transaction leaves no trace.
            return Err(Fault::Damaged(format!("it says that its format is {found}, and holds what came later")));
        }
        meta.insert(META_FORMAT, FORMAT.to_le_bytes().as_slice())?;
    }
    transaction.delete_table(BY_STREAM)?;
    transaction.commit()?;
    Ok(())
}

/// The tables of a new log.
pub(super) fn create_tables(database: &Database, log_id: &[u8; 16]) -> Result<(), Fault> {
    let transaction = database.begin_write()?;
    {
        transaction.open_table(TAIL)?;
        transaction.open_table(SEGMENTS)?;
        transaction.open_table(STREAMS)?;
        transaction.open_table(STREAM_RUNS)?;
        transaction.open_table(ID_RUNS)?;
        transaction.open_table(BY_ID)?;
        transaction.open_table(BLOBS)?;
        transaction.open_table(CHECKPOINTS)?;
        let mut meta = transaction.open_table(META)?;
        meta.insert(META_FORMAT, FORMAT.to_le_bytes().as_slice())?;
        meta.insert(META_LOG_ID, log_id.as_slice())?;
        meta.insert(META_CHECKPOINTS, Tally::default().to_bytes().as_slice())?;
    }
    transaction.commit()?;
    Ok(())
}

/// Whether the format is one that this program reads and has brought up.
pub(super) fn check_format(database: &Database) -> Result<(), Fault> {
    match stored_format(database)? {
        Some(FORMAT) => Ok(()),
        Some(found) if found > FORMAT => Err(Fault::Newer(found)),
        found => Err(Fault::Damaged(format!("it says that its format is {found:?}"))),
    }
}

/// Every row of `meta`.
pub(super) const META_NAMES: [&str; 6] =
    [META_FORMAT, META_LOG_ID, META_HEAD, META_RANGE, META_ARCHIVES, META_CHECKPOINTS];

fn stored_format(database: &Database) -> Result<Option<u64>, Fault> {
    let transaction = database.begin_read()?;
    let meta = match transaction.open_table(META) {
        Ok(meta) => meta,
        Err(redb::TableError::TableDoesNotExist(_)) if transaction.list_tables()?.next().is_none() => return Ok(None),
        Err(other) => return Err(other.into()),
    };
    let Some(stored) = meta.get(META_FORMAT)? else {
        return Err(Fault::Damaged("it does not say its format".to_owned()));
    };
    let bytes =
        <[u8; 8]>::try_from(stored.value()).map_err(|_| Fault::Damaged("its format is no number".to_owned()))?;
    Ok(Some(u64::from_le_bytes(bytes)))
}

/// Where the newest checkpoint stands.
fn signed(database: &Database) -> Result<u64, Fault> {
    let checkpoints = database.begin_read()?.open_table(CHECKPOINTS)?;
    Ok(checkpoints.last()?.map_or(0, |(size, _)| size.value()))
}

pub(super) fn log_id(database: &Database) -> Result<String, Fault> {
    let meta = database.begin_read()?.open_table(META)?;
    let stored = meta.get(META_LOG_ID)?.ok_or_else(|| Fault::Damaged("it has no name of its own".to_owned()))?;
    let bytes =
        <[u8; 16]>::try_from(stored.value()).map_err(|_| Fault::Damaged("its name is not of 16 bytes".to_owned()))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// The chain's state as the last commit left it.
pub(super) fn chain(database: &Database) -> Result<Chain, Fault> {
    chain_in(&database.begin_read()?)
}

/// The chain's state as one transaction sees it.
pub(super) fn chain_in(transaction: &redb::ReadTransaction) -> Result<Chain, Fault> {
    let meta = transaction.open_table(META)?;
    let (Some(head), Some(range)) = (meta.get(META_HEAD)?, meta.get(META_RANGE)?) else {
        return Ok(Chain::default());
    };
    let head = <[u8; 32]>::try_from(head.value()).map_err(|_| Fault::Damaged("its head is no hash".to_owned()))?;
    let range =
        Range::from_bytes(range.value()).ok_or_else(|| Fault::Damaged("its range has a wrong shape".to_owned()))?;
    Ok(Chain { head, range })
}

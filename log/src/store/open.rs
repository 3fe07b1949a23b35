//! Opening a log: creates, checks the format, waits for another command to finish, starts the writer.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ed25519_dalek::SigningKey;
use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, WriteTransaction};
use tokio::sync::watch;

use super::archives::Archives;
use super::desk::Desk;
use super::guard::guarded;
use super::handle::Handle;
use super::noted::Tally;
use super::seal::Lengths;
use super::tables::{
    BLOBS, BY_ID, BY_STREAM, CHECKPOINTS, EARLIER_FORMATS, FORMAT, ID_RUNS, INDEXED, META, META_ARCHIVES,
    META_CHECKPOINTS, META_FORMAT, META_HEAD, META_LOG_ID, META_RANGE, NEWEST, SEGMENTS, SINGLE, STREAM_RUNS, STREAMS,
    TAIL,
};
use super::tail::Tail;
use super::withheld::Opened;
use super::words::{self, NO_FIT};
use super::{Head, Log, Reader, archive, create, files, index, restore, rewrite, unsealed, writer};
use crate::chain::Chain;
use crate::codec::Frame;
use crate::redact::Redactor;
use crate::segment::Frames;

/// redb's cache: a log is appended to and read through, seldom looked up; the default of 1 GiB is not for a household.
pub(super) const CACHE_BYTES: usize = 2 << 20;
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
    /// There is none, and there was one: what is noted beside a log is still there.
    #[error("{path} is away or empty, and {beside} says that there was a log")]
    Away {
        /// The file.
        path: PathBuf,
        /// What says so.
        beside: PathBuf,
    },
    /// There is none, and a restore that would have made one broke off, or is not done.
    #[error("{path} is not there: a restore of it has begun and not ended, and {unfinished} is what there is so far")]
    Unrestored {
        /// The file.
        path: PathBuf,
        /// What there is of it.
        unfinished: PathBuf,
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
    /// a link, the log lies, and is written anew, where that leads; its archive lies beside the link. A file that is damaged,
    /// foreign or newer stays as it is.
    pub fn open(path: &Path, keys: LogKeys, patience: Duration) -> Result<Self, OpenError> {
        Self::open_own(path, keys, patience, |_| Ok(()))
    }

    /// The same for a caller who knows better what is its own: of a log that it refuses nothing is written, brought up or signed.
    pub fn open_own<E: From<OpenError>>(
        path: &Path,
        keys: LogKeys,
        patience: Duration,
        is_own: impl FnOnce(&Reader) -> Result<(), E>,
    ) -> Result<Self, E> {
        let fresh_id = keys.fresh_id;
        unharmed(path, || {
            let file = followed(path)?;
            let opened = opened(&file, &fresh_id, patience)?;
            Self::started(opened, path, keys, |reader| {
                is_own(reader)?;
                // Only whoever has the log may take away what another one left of a copy.
                archive::clear_unfinished(&Archives::beside(&file));
                for left in [rewrite::fresh(&file), restore::unfinished(&file)] {
                    match files::remove(&left) {
                        Err(source) if source.kind() != io::ErrorKind::NotFound => {
                            return Err(OpenError::Io { path: left, source }.into());
                        }
                        Ok(()) | Err(_) => {}
                    }
                }
                Ok(())
            })
        })
    }

    /// Opens a log that is there, to look at it: nothing is written to its file, whatever is in it, and nothing can be appended.
    pub fn examine(path: &Path, keys: LogKeys, patience: Duration) -> Result<Self, OpenError> {
        unharmed(path, || {
            let opened = opened_there(path, Instant::now() + patience)?;
            let found = Found::of(&opened.database, &keys.fresh_id).map_err(|what| what.at(path))?;
            let shared = (Arc::new(Handle::new(opened)), Arc::new(Archives::beside(path)));
            let (_, head) = watch::channel(Head::of(&found.chain));
            Ok(Self::without_writer(shared, path.to_owned(), (head, found.id), keys))
        })
    }

    /// Opens a copy that is not the log yet.
    pub(super) fn open_as_it_is(path: &Path, keys: LogKeys) -> Result<Self, OpenError> {
        let fresh_id = keys.fresh_id;
        Self::start(|| opened(path, &fresh_id, Duration::ZERO), path, keys)
    }

    /// Starts on a database, whatever it lies on; `path` is what errors call it.
    pub(super) fn start(
        opened: impl FnOnce() -> Result<Opened, OpenError>,
        path: &Path,
        keys: LogKeys,
    ) -> Result<Self, OpenError> {
        unharmed(path, || Self::started(opened()?, path, keys, |_| Ok(())))
    }

    fn started<E: From<OpenError>>(
        opened: Opened,
        path: &Path,
        keys: LogKeys,
        is_own: impl FnOnce(&Reader) -> Result<(), E>,
    ) -> Result<Self, E> {
        let file = followed(path)?;
        // Of a file that is damaged, or no log, nothing is written: what brings an older one up waits until all of it is read.
        let Found { id, chain, tail, signed } =
            Found::of(&opened.database, &keys.fresh_id).map_err(|what| what.at(path))?;
        let waiting = opened.writes.clone();
        let shared = (Arc::new(Handle::new(opened)), Arc::new(Archives::beside(path)));
        let (publish, head) = watch::channel(Head::of(&chain));
        let signing = keys.signing.clone();
        let mut log = Self::without_writer(shared.clone(), file.clone(), (head, id.clone()), keys);
        is_own(&log.reader())?;
        let failed = |source| OpenError::Io { path: path.to_owned(), source };
        waiting.let_go().map_err(failed)?;
        let notary = writer::Notary::new(signing, id, signed);
        let writer = writer::Writer::new(shared, file, (chain, tail), notary, publish);
        log.desk = Some(Desk::open(writer).map_err(failed)?);
        Ok(log)
    }

    /// A log that takes nothing.
    fn without_writer(
        (handle, archives): (Arc<Handle>, Arc<Archives>),
        file: PathBuf,
        (head, id): (watch::Receiver<Head>, String),
        keys: LogKeys,
    ) -> Self {
        Self {
            handle,
            archives,
            file,
            desk: None,
            head,
            blob_key: keys.blob_key,
            verifying: keys.signing.verifying_key(),
            redactor: Arc::new(std::sync::RwLock::new(keys.redactor)),
            id,
        }
    }
}

/// What the store cannot make sense of is a damaged file.
fn unharmed<E: From<OpenError>>(path: &Path, open: impl FnOnce() -> Result<Log, E>) -> Result<Log, E> {
    guarded(open).unwrap_or_else(|what| Err(OpenError::Damaged { path: path.to_owned(), what }.into()))
}

/// What a log goes on from.
struct Found {
    id: String,
    chain: Chain,
    tail: Tail,
    /// Where the newest checkpoint stands.
    signed: u64,
}

impl Found {
    /// Reads it, and brings it up where it is of an older format.
    fn of(database: &Database, fresh_id: &[u8; 16]) -> Result<Self, Fault> {
        let id = prepare(database, fresh_id)?;
        let chain = chain(database)?;
        let tail = Tail::load(database, &chain, Lengths::of_a_log())?;
        Ok(Self { id, chain, tail, signed: signed(database)? })
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
        Self::Damaged(words::plain(&error))
    }
}

/// A new file for a copy.
pub(super) fn create(path: &Path) -> Result<Opened, redb::Error> {
    Ok(files::create_database(path)?)
}

fn opened(path: &Path, fresh_id: &[u8; 16], patience: Duration) -> Result<Opened, OpenError> {
    let until = Instant::now() + patience;
    match create::unless_there(path, fresh_id, until)? {
        Some(opened) => Ok(opened),
        None => opened_there(path, until),
    }
}

fn opened_there(path: &Path, until: Instant) -> Result<Opened, OpenError> {
    loop {
        match files::open_database(path) {
            Ok(opened) => return Ok(opened),
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
            let what = match source.to_string() {
                _ if source.kind() == io::ErrorKind::UnexpectedEof => CUT_SHORT.to_owned(),
                said if said.contains("magic number") => NO_LOG.to_owned(),
                said => words::plain(&said),
            };
            OpenError::Damaged { path, what }
        }
        DatabaseError::Storage(redb::StorageError::Io(source)) => OpenError::Io { path, source },
        DatabaseError::Storage(redb::StorageError::Corrupted(said)) => {
            let what = if said.starts_with("File truncated") { CUT_SHORT } else { NO_FIT };
            OpenError::Damaged { path, what: what.to_owned() }
        }
        other => OpenError::Damaged { path, what: words::plain(&other) },
    }
}

/// What is said of a file that redb refuses: its own words name parts that only its authors know.
const CUT_SHORT: &str = "it is shorter than it must be: its end is gone";
const NO_LOG: &str = "it does not begin as a log does";

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

/// The key of the row that said where the log ends in format 7: behind those of all events.
pub(super) const END: u64 = u64::MAX;

/// Brings an older file up, in one transaction: dropped without a commit, it leaves no trace.
fn bring_up(database: &Database, found: u64) -> Result<(), Fault> {
    let transaction = database.begin_write()?;
    if found < INDEXED {
        index_sealed_alone(&transaction, found)?;
    }
    gather_tail(&transaction, found)?;
    transaction.open_table(META)?.insert(META_FORMAT, FORMAT.to_le_bytes().as_slice())?;
    transaction.commit()?;
    Ok(())
}

/// What no program wrote to a file of that format.
fn later(found: u64) -> Fault {
    Fault::Damaged(format!("it says that its format is {found}, and holds what came later"))
}

/// In format 7 the last row of the tail said where the log ends. Before it each event of the tail was a row of its own, a bare
/// frame, and `meta` said where the log ends.
fn gather_tail(transaction: &WriteTransaction, found: u64) -> Result<(), Fault> {
    if transaction.open_table(NEWEST)?.first()?.is_some() {
        return Err(later(found));
    }
    let end = transaction.open_table(TAIL)?.remove(END)?.map(|end| end.value().to_vec());
    let chain = match end {
        Some(_) if found <= SINGLE => return Err(later(found)),
        Some(end) => unsealed::chain(&end).map_err(|what| Fault::Damaged(what.to_owned()))?,
        None if found <= SINGLE => gather_rows(transaction)?,
        None => return Err(Fault::Damaged("it does not say where it ends".to_owned())),
    };
    unsealed::put(transaction, (chain.range.size() + 1, &[]), &chain, unsealed::PAGE)?;
    Ok(())
}

/// Makes rows of the bare frames; returns what `meta` said of the end.
fn gather_rows(transaction: &WriteTransaction) -> Result<Chain, Fault> {
    let (mut tail, mut meta) = (transaction.open_table(TAIL)?, transaction.open_table(META)?);
    let seqs: Vec<u64> = tail.iter()?.map(|row| Ok(row?.0.value())).collect::<Result<_, redb::StorageError>>()?;
    for seq in seqs {
        let frames = tail.get(seq)?.map(|frame| Frames::of(&[frame.value()])).unwrap_or_default();
        tail.insert(seq, frames.plain(0..frames.len()))?;
    }
    let mut taken = |name| Ok::<_, redb::StorageError>(meta.remove(name)?.map(|value| value.value().to_vec()));
    match (taken(META_HEAD)?, taken(META_RANGE)?) {
        (None, None) => Ok(Chain::default()),
        (head, range) => unsealed::chain(&[head.unwrap_or_default(), range.unwrap_or_default()].concat())
            .map_err(|what| Fault::Damaged(what.to_owned())),
    }
}

/// Before format 4 the tail had rows in the indexes as well, each event of a stream had one of its own, and the checkpoints were
/// not counted. That each id has a row of its own may stay: a newer file may have them too.
fn index_sealed_alone(transaction: &WriteTransaction, found: u64) -> Result<(), Fault> {
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
        index::store_places(transaction, &places)?;
        let tally = Tally::of(&transaction.open_table(CHECKPOINTS)?)?;
        let mut meta = transaction.open_table(META)?;
        if meta.insert(META_CHECKPOINTS, tally.to_bytes().as_slice())?.is_some() {
            return Err(later(found));
        }
    }
    transaction.delete_table(BY_STREAM)?;
    Ok(())
}

/// The tables of a new log.
pub(super) fn create_tables(database: &Database, log_id: &[u8; 16]) -> Result<(), Fault> {
    let transaction = database.begin_write()?;
    {
        transaction.open_table(TAIL)?;
        unsealed::put(&transaction, (1, &[]), &Chain::default(), unsealed::PAGE)?;
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
pub(super) const META_NAMES: [&str; 4] = [META_FORMAT, META_LOG_ID, META_ARCHIVES, META_CHECKPOINTS];

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
    unsealed::Tables::read(transaction)?.end()?.map_err(|what| Fault::Damaged(what.to_owned()))
}

//! Reading: short transactions, one run of events each, since a long one pins the pages that it saw.

use std::path::PathBuf;
use std::sync::Arc;

use ed25519_dalek::VerifyingKey;
use redb::{ReadTransaction, ReadableDatabase, ReadableTable};

use super::archives::{self, ArchiveFault, Archives};
use super::blobs::{self, BlobError};
use super::guard::{Store, guarded};
use super::handle::Handle;
use super::index;
use super::open;
use super::runs::{self, Run, Unpacked};
use super::tables::{BLOBS, BY_ID, CHECKPOINTS, ID_RUNS, SEGMENTS, STREAM_RUNS, STREAMS};
use super::unsealed;
use super::words;
use crate::chain::{self, Chain};
use crate::codec::{Frame, FrameError};
use crate::envelope::{Header, Recorded};
use crate::event::Event;
use crate::id::EventId;
use crate::kept::BlobHash;
use crate::note::{Checkpoint, NoteError};
use crate::segment::{Segment, SegmentError, Unpacker};

/// Why the log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The store failed.
    #[error("the log cannot be read: {}", words::plain(.0))]
    Store(#[source] Box<redb::Error>),
    /// The store stopped at a damaged page.
    #[error("the log cannot be read: {0}")]
    Page(String),
    /// One event is damaged.
    #[error("event {seq} (table {table}) is damaged: {source}")]
    Event {
        /// Its number.
        seq: u64,
        /// Where it lies.
        table: &'static str,
        /// What is wrong.
        #[source]
        source: FrameError,
    },
    /// A sealed run of events is damaged.
    #[error("the segment from event {first} on (table segments) is damaged: {source}")]
    Segment {
        /// Its first event.
        first: u64,
        /// What is wrong.
        #[source]
        source: SegmentError,
    },
    /// A file that holds archived events cannot be read.
    #[error("the archive {path} is needed: {source}")]
    Archive {
        /// The file.
        path: PathBuf,
        /// The event that was looked for.
        first: u64,
        /// What is wrong.
        #[source]
        source: ArchiveFault,
    },
    /// An event is not there although the log goes on behind it.
    #[error("event {seq} is missing")]
    Missing {
        /// Its number.
        seq: u64,
    },
    /// The log does not say where it ends, or where its archive does.
    #[error("the log does not say where it ends: {what}")]
    End {
        /// What is wrong.
        what: String,
    },
    /// One blob is damaged.
    #[error("blob {hash} (table blobs) is damaged: {source}")]
    Blob {
        /// Its name.
        hash: BlobHash,
        /// What is wrong.
        #[source]
        source: BlobError,
    },
}

macro_rules! from_redb {
    ($($error:ty),+) => {
        $(impl From<$error> for ReadError {
            fn from(error: $error) -> Self {
                Self::Store(Box::new(error.into()))
            }
        })+
    };
}

from_redb!(redb::Error, redb::StorageError, redb::TableError, redb::TransactionError);

/// Rows of `blobs` that one transaction reads.
const BLOBS_AT_ONCE: usize = 256;

/// A blob's name and its stored bytes.
pub(super) type BlobRow = ([u8; 32], Vec<u8>);

/// Reads a log beside its writer.
#[derive(Clone)]
pub struct Reader {
    handle: Arc<Handle>,
    archives: Arc<Archives>,
    blob_key: [u8; 32],
    verifying: VerifyingKey,
}

impl Reader {
    pub(super) fn new(
        (handle, archives): (Arc<Handle>, Arc<Archives>),
        blob_key: [u8; 32],
        verifying: VerifyingKey,
    ) -> Self {
        Self { handle, archives, blob_key, verifying }
    }

    /// The same reader for another file.
    pub(super) fn of(&self, handle: Arc<Handle>) -> Self {
        Self { handle, ..self.clone() }
    }

    pub(super) fn archives(&self) -> &Archives {
        &self.archives
    }

    pub(super) fn verifying(&self) -> &VerifyingKey {
        &self.verifying
    }

    pub(super) fn blob_key(&self) -> [u8; 32] {
        self.blob_key
    }

    pub(super) fn database(&self) -> Arc<Store> {
        self.handle.now()
    }

    /// Where the log ends, as far as it is on disk.
    pub fn size(&self) -> Result<u64, ReadError> {
        Ok(self.chain_now()?.range.size())
    }

    /// The archive files of the log that do not lie where they should.
    pub fn missing_archives(&self) -> Result<Vec<PathBuf>, ReadError> {
        let listed = archives::listed(&self.database().begin_read()?)?;
        let is_missing = |path: &PathBuf| match path.metadata() {
            Ok(found) => !found.is_file(),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        Ok(listed.into_iter().map(|span| self.archives.path(span)).filter(is_missing).collect())
    }

    /// Whether the newest checkpoint is signed by the key that this log was opened with, one that is damaged left out; `None` where
    /// there is none.
    pub fn is_signed(&self) -> Result<Option<bool>, ReadError> {
        unharmed(|| {
            let checkpoints = self.database().begin_read()?.open_table(CHECKPOINTS)?;
            for row in checkpoints.iter()?.rev() {
                let (_, note) = row?;
                let note = std::str::from_utf8(note.value()).unwrap_or_default();
                match Checkpoint::verified(note, &self.verifying) {
                    Ok(_) => return Ok(Some(true)),
                    Err(NoteError::OtherKey) => return Ok(Some(false)),
                    Err(NoteError::Malformed(_) | NoteError::Signature) => {}
                }
            }
            Ok(None)
        })
    }

    /// The chain's state as the last commit left it.
    fn chain_now(&self) -> Result<Chain, ReadError> {
        unharmed(|| open::chain(&self.database()).map_err(|fault| ReadError::End { what: fault.to_string() }))
    }

    /// The events from `first` on, those of one run: a segment or some of the tail; empty at the end.
    pub fn chunk(&self, first: u64) -> Result<Vec<Recorded>, ReadError> {
        self.run(first)?.map_or(Ok(Vec::new()), |run| run.unpack()?.events())
    }

    /// How many events behind a number are not later than a time, and the last of them: some, where the clock was ahead for a
    /// while. Of sealed history only what its headers leave open is looked into.
    pub fn not_later_behind(&self, seq: u64, time: i64) -> Result<Option<(u64, u64)>, ReadError> {
        let (mut next, mut count, mut last) = (seq + 1, 0, 0);
        while let Some(run) = self.run(next)? {
            next = run.last().saturating_add(1);
            if let Run::Sealed { first, value, .. } = &run {
                let segment = Segment::parse(value).map_err(|source| ReadError::Segment { first: *first, source })?;
                if segment.header.least_time > time {
                    continue;
                }
            }
            for event in run.unpack()?.events()?.iter().filter(|event| event.seq > seq && event.time.0 <= time) {
                (count, last) = (count + 1, event.seq);
            }
        }
        Ok((count > 0).then_some((count, last)))
    }

    /// Calls `each` with every event from `first` on, in order, until it says no more. What is appended meanwhile is seen
    /// too. Many events are decoded by two threads ahead of the caller.
    pub fn each<E: From<ReadError>>(
        &self,
        first: u64,
        mut each: impl FnMut(Recorded) -> Result<bool, E>,
    ) -> Result<(), E> {
        self.each_run(first, |events| {
            for event in events.drain(..) {
                if !each(event)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// The same for who only looks at the events, which is faster: whoever decoded them takes them back.
    pub fn each_lent<E: From<ReadError>>(
        &self,
        first: u64,
        mut each: impl FnMut(&Recorded) -> Result<bool, E>,
    ) -> Result<(), E> {
        self.each_run(first, |events| {
            for event in events {
                if !each(event)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn each_run<E: From<ReadError>>(
        &self,
        first: u64,
        mut each: impl FnMut(&mut Vec<Recorded>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut next = first;
        let mut goes_on = true;
        while goes_on {
            let last = self.size()?;
            if next > last {
                return Ok(());
            }
            let decode = |run: Run, unpacker: &mut Unpacker| run.unpack_by(unpacker)?.events();
            self.runs((next, last), decode, |events| {
                next = events.last().map_or(next, |event| event.seq + 1);
                goes_on = each(events)?;
                Ok::<bool, E>(goes_on)
            })?;
        }
        Ok(())
    }

    /// Calls `each` with every leaf from `first` to `last`, in order.
    pub fn each_leaf<E: From<ReadError>>(
        &self,
        first: u64,
        last: u64,
        mut each: impl FnMut(u64, [u8; 32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let leaves = |run: Run, unpacker: &mut Unpacker| -> Result<(u64, Vec<[u8; 32]>), ReadError> {
            let run = run.unpack_by(unpacker)?;
            let table = run.table();
            let leaf = |(seq, bytes): (u64, &[u8])| {
                let leaf = Frame::parse(bytes).and_then(|frame| frame.verified(seq));
                leaf.map_err(|source| ReadError::Event { seq, table, source })
            };
            let asked = (run.first..).zip(run.frames.iter()).filter(|(seq, _)| (run.from..=last).contains(seq));
            let leaves: Result<_, _> = asked.map(leaf).collect();
            Ok((run.from, leaves?))
        };
        self.runs((first, last), leaves, |made| {
            let (from, leaves) = made;
            for (seq, leaf) in (*from..).zip(leaves) {
                each(seq, *leaf)?;
            }
            Ok::<bool, E>(true)
        })
    }

    /// The chain's head after an event; that before the first for 0. Looks at one segment, or at the tail, in one transaction:
    /// what is a row in one may be sealed before the next begins.
    pub fn head_at(&self, seq: u64) -> Result<[u8; 32], ReadError> {
        if seq == 0 {
            return Ok(chain::GENESIS);
        }
        unharmed(|| {
            let transaction = self.database().begin_read()?;
            let fetch =
                |seq| runs::fetch(&transaction, &self.archives, seq)?.ok_or(ReadError::Missing { seq })?.unpack();
            let mut run = fetch(seq)?;
            let (mut head, mut next) = match &run.header {
                Some(header) if header.last == seq => return Ok(header.head_after),
                Some(header) => (header.head_before, header.first),
                None => sealed_end(&transaction)?,
            };
            while next <= seq {
                if !run.holds(next) {
                    run = fetch(next)?;
                }
                let leaf = Frame::parse(run.frame(next).ok_or(ReadError::Missing { seq: next })?)
                    .and_then(|frame| frame.verified(next))
                    .map_err(|source| ReadError::Event { seq: next, table: run.table(), source })?;
                head = chain::advance(&head, &leaf);
                next += 1;
            }
            Ok(head)
        })
    }

    /// One event by its number.
    pub fn event(&self, seq: u64) -> Result<Option<Recorded>, ReadError> {
        if seq == 0 {
            return Ok(None);
        }
        self.run(seq)?.map(|run| run.unpack()?.recorded(seq)).transpose()
    }

    /// The number under which an id was appended.
    pub fn seq_of(&self, id: EventId) -> Result<Option<u64>, ReadError> {
        unharmed(|| {
            let transaction = self.database().begin_read()?;
            let (by_id, id_runs) = (transaction.open_table(BY_ID)?, transaction.open_table(ID_RUNS)?);
            if let Some((mut seq, last)) = index::places_of_id(&by_id, &id_runs, id.0)? {
                while seq <= last {
                    let run = runs::fetch(&transaction, &self.archives, seq)?.ok_or(ReadError::Missing { seq })?;
                    let run = run.unpack()?;
                    let found = (run.first..).zip(run.frames.iter()).find(|(_, frame)| index::id_of(frame) == Some(id));
                    if let Some((seq, _)) = found {
                        return Ok(Some(seq));
                    }
                    seq = run.first + run.frames.len() as u64;
                }
            }
            // What is not sealed has no row in the indexes.
            let is_it = |header: &Header<'_>| header.0 == id;
            Ok(in_tail(&transaction, &id.0, is_it)?.first().map(|(seq, _)| *seq))
        })
    }

    /// The events of one stream, in order.
    pub fn stream(&self, name: &str) -> Result<Vec<Recorded>, ReadError> {
        unharmed(|| self.read_stream(name))
    }

    fn read_stream(&self, name: &str) -> Result<Vec<Recorded>, ReadError> {
        let transaction = self.database().begin_read()?;
        let mut run: Option<Unpacked> = None;
        let mut events = Vec::new();
        if let Some(number) = transaction.open_table(STREAMS)?.get(name)?.map(|number| number.value()) {
            let mut seqs = Vec::new();
            for row in transaction.open_table(STREAM_RUNS)?.range((number, 0)..=(number, u64::MAX))? {
                let (place, run) = row?;
                seqs.extend(index::read_run(run.value()).ok_or_else(|| index::unreadable(place.value()))?);
            }
            for seq in seqs {
                // Neighbours in a stream mostly lie in the same run.
                let fetch =
                    || runs::fetch(&transaction, &self.archives, seq)?.ok_or(ReadError::Missing { seq })?.unpack();
                let unpacked = run.take().filter(|run| run.holds(seq)).map_or_else(fetch, Ok)?;
                events.push(unpacked.recorded(seq)?);
                run = Some(unpacked);
            }
        }
        // What is not sealed has no row in the indexes.
        for (seq, bytes) in in_tail(&transaction, name.as_bytes(), |header| header.2 == name)? {
            let read = || {
                let frame = Frame::parse(&bytes)?;
                frame.verified(seq)?;
                frame.recorded(seq)
            };
            events.push(read().map_err(|source| ReadError::Event { seq, table: "tail", source })?);
        }
        Ok(events)
    }

    /// A blob's bytes, compared with its name; `None` when there is none (erased or never there).
    pub fn blob(&self, hash: BlobHash) -> Result<Option<Vec<u8>>, ReadError> {
        unharmed(|| {
            let table = self.database().begin_read()?.open_table(BLOBS)?;
            let Some(packed) = table.get(hash.0)? else { return Ok(None) };
            blobs::checked(packed.value(), &hash, &self.blob_key)
                .map(Some)
                .map_err(|source| ReadError::Blob { hash, source })
        })
    }

    /// Whether a blob is there; its bytes are not looked at.
    pub fn has_blob(&self, hash: BlobHash) -> Result<bool, ReadError> {
        unharmed(|| Ok(self.database().begin_read()?.open_table(BLOBS)?.get(hash.0)?.is_some()))
    }

    /// Calls `each` with every blob, its bytes compared with its name.
    pub fn each_blob<E: From<ReadError>>(
        &self,
        mut each: impl FnMut(BlobHash, Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut after = None;
        loop {
            let rows = self.blob_rows(after)?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            after = Some(*last);
            for (name, packed) in rows {
                let hash = BlobHash(name);
                let bytes = blobs::checked(&packed, &hash, &self.blob_key);
                each(hash, bytes.map_err(|source| ReadError::Blob { hash, source })?)?;
            }
        }
    }

    /// Some blobs as they are stored, by name, from behind one of them on.
    pub(super) fn blob_rows(&self, after: Option<[u8; 32]>) -> Result<Vec<BlobRow>, ReadError> {
        use std::ops::Bound::{Excluded, Unbounded};
        unharmed(|| {
            let table = self.database().begin_read()?.open_table(BLOBS)?;
            let from = after.map_or(Unbounded, Excluded);
            let rows = table.range::<[u8; 32]>((from, Unbounded))?.take(BLOBS_AT_ONCE);
            let copied = rows.map(|row| row.map(|(name, packed)| (name.value(), packed.value().to_vec())));
            copied.map(|row| row.map_err(ReadError::from)).collect()
        })
    }

    /// Fetches the blobs that an event's fields lie in.
    pub fn rehydrate(&self, event: &mut Event) -> Result<(), ReadError> {
        for kept in event.kept() {
            let Some(hash) = kept.wanted() else { continue };
            if let Some(bytes) = self.blob(hash)? {
                kept.fetched(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        Ok(())
    }

    /// [`Self::rehydrate`] for a recorded event.
    pub fn rehydrated(&self, mut recorded: Recorded) -> Result<Recorded, ReadError> {
        recorded.events_mut().iter_mut().try_for_each(|event| self.rehydrate(event))?;
        Ok(recorded)
    }
}

/// The head after the last sealed event, and the number of the first that is not sealed.
fn sealed_end(transaction: &ReadTransaction) -> Result<([u8; 32], u64), ReadError> {
    let segments = transaction.open_table(SEGMENTS)?;
    let Some((first, value)) = segments.last()? else { return Ok((chain::GENESIS, 1)) };
    let damaged = |source| ReadError::Segment { first: first.value(), source };
    let header = Segment::parse(value.value()).map_err(damaged)?.header;
    Ok((header.head_after, header.last + 1))
}

/// The events of the tail with such a header, in order; the bytes of every such header hold these. One whose header cannot be
/// read is passed over here: reading it by its number says what is wrong.
fn in_tail(
    transaction: &ReadTransaction,
    bytes_of_it: &[u8],
    mut wanted: impl FnMut(&Header<'_>) -> bool,
) -> Result<Vec<(u64, Vec<u8>)>, ReadError> {
    let mut found = Vec::new();
    let finder = memchr::memmem::Finder::new(bytes_of_it);
    unsealed::Tables::read(transaction)?.each(0, |seq, bytes| -> Result<(), ReadError> {
        // Most are another's, and reading a header takes ten times as long as looking for some bytes in it.
        let Ok(frame) = Frame::parse(bytes) else { return Ok(()) };
        if finder.find(frame.header).is_some() && frame.header().is_ok_and(|header| wanted(&header)) {
            found.push((seq, bytes.to_vec()));
        }
        Ok(())
    })?;
    Ok(found)
}

/// A damaged page is an error, however the store takes it.
pub(super) fn unharmed<T>(read: impl FnOnce() -> Result<T, ReadError>) -> Result<T, ReadError> {
    guarded(read).unwrap_or_else(|what| Err(ReadError::Page(what)))
}

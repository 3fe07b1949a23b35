//! Reading: short transactions, at most 4,096 events each, since a long one pins the pages that it saw.

use std::sync::Arc;

use redb::{Database, ReadableDatabase};

use super::blobs::{self, BlobError};
use super::tables::{BLOBS, BY_ID, BY_STREAM, STREAMS, TAIL};
use crate::codec::{Frame, FrameError};
use crate::envelope::{Body, Recorded};
use crate::event::Event;
use crate::id::EventId;
use crate::kept::BlobHash;

/// The most events that one transaction reads.
pub(super) const CHUNK_EVENTS: u64 = 4096;

/// Events that are decoded ahead of whoever takes them one by one: few, so that they still lie in the processor's cache.
const EACH_EVENTS: u64 = 256;

/// Why the log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The store failed.
    #[error("the log cannot be read: {0}")]
    Store(Box<redb::Error>),
    /// One event is damaged.
    #[error("event {seq} (table tail) is damaged: {source}")]
    Event {
        /// Its number.
        seq: u64,
        /// What is wrong.
        #[source]
        source: FrameError,
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

from_redb!(redb::StorageError, redb::TableError, redb::TransactionError);

/// Reads a log beside its writer.
#[derive(Clone)]
pub struct Reader {
    database: Arc<Database>,
    blob_key: [u8; 32],
}

impl Reader {
    pub(super) fn new(database: Arc<Database>, blob_key: [u8; 32]) -> Self {
        Self { database, blob_key }
    }

    pub(super) fn blob_key(&self) -> [u8; 32] {
        self.blob_key
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    /// The events from `first` on, at most 4,096; empty at the end. Leaf checks are compared.
    pub fn chunk(&self, first: u64) -> Result<Vec<Recorded>, ReadError> {
        self.read(first, CHUNK_EVENTS)
    }

    fn read(&self, first: u64, count: u64) -> Result<Vec<Recorded>, ReadError> {
        let tail = self.database.begin_read()?.open_table(TAIL)?;
        let mut events = Vec::new();
        for row in tail.range(first..first.saturating_add(count))? {
            let (seq, bytes) = row?;
            events.push(recorded(seq.value(), bytes.value())?);
        }
        Ok(events)
    }

    /// Calls `each` with every event from `first` on, in order, until it says no more.
    pub fn each<E: From<ReadError>>(
        &self,
        first: u64,
        mut each: impl FnMut(Recorded) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut next = first;
        loop {
            let events = self.read(next, EACH_EVENTS)?;
            let Some(last) = events.last() else { return Ok(()) };
            next = last.seq + 1;
            for event in events {
                if !each(event)? {
                    return Ok(());
                }
            }
        }
    }

    /// One event by its number.
    pub fn event(&self, seq: u64) -> Result<Option<Recorded>, ReadError> {
        let tail = self.database.begin_read()?.open_table(TAIL)?;
        tail.get(seq)?.map(|bytes| recorded(seq, bytes.value())).transpose()
    }

    /// The number under which an id was appended.
    pub fn seq_of(&self, id: EventId) -> Result<Option<u64>, ReadError> {
        let by_id = self.database.begin_read()?.open_table(BY_ID)?;
        Ok(by_id.get(id.0)?.map(|seq| seq.value()))
    }

    /// The events of one stream, in order.
    pub fn stream(&self, name: &str) -> Result<Vec<Recorded>, ReadError> {
        let transaction = self.database.begin_read()?;
        let Some(number) = transaction.open_table(STREAMS)?.get(name)?.map(|number| number.value()) else {
            return Ok(Vec::new());
        };
        let tail = transaction.open_table(TAIL)?;
        let mut events = Vec::new();
        for row in transaction.open_table(BY_STREAM)?.range((number, 0)..=(number, u64::MAX))? {
            let seq = row?.1.value();
            if let Some(bytes) = tail.get(seq)? {
                events.push(recorded(seq, bytes.value())?);
            }
        }
        Ok(events)
    }

    /// A blob's bytes, compared with its name; `None` when there is none (erased or never there).
    pub fn blob(&self, hash: BlobHash) -> Result<Option<Vec<u8>>, ReadError> {
        let table = self.database.begin_read()?.open_table(BLOBS)?;
        let Some(packed) = table.get(hash.0)? else { return Ok(None) };
        blobs::checked(packed.value(), &hash, &self.blob_key)
            .map(Some)
            .map_err(|source| ReadError::Blob { hash, source })
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
        if let Body::Known(event) = &mut recorded.body {
            self.rehydrate(event)?;
        }
        Ok(recorded)
    }
}

fn recorded(seq: u64, bytes: &[u8]) -> Result<Recorded, ReadError> {
    Frame::parse(bytes).and_then(|frame| frame.recorded(seq)).map_err(|source| ReadError::Event { seq, source })
}

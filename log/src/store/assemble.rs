//! Putting a log together from stored frames: the rows of every table, as appends would have left them.

use std::collections::{BTreeSet, HashMap};

use redb::{Database, WriteTransaction};

use super::index::Rows;
use super::open;
use super::tables::{BLOBS, SEGMENTS, TAIL};
use super::{noted, reader::ReadError, unsealed};
use crate::chain::Chain;
use crate::codec::{Frame, FrameError};
use crate::kept::BlobHash;
use crate::note::Checkpoint;
use crate::segment::{Frames, Segment, SegmentError};

/// Events of one transaction.
const EVENTS_MAX: u64 = 50_000;

/// Why frames do not make a log.
#[derive(Debug, thiserror::Error)]
pub(super) enum AssemblyError {
    #[error("{0}")]
    Store(Box<redb::Error>),
    #[error("event {seq}: {source}")]
    Event {
        seq: u64,
        #[source]
        source: FrameError,
    },
    #[error("the segment from event {first} on: {source}")]
    Segment {
        first: u64,
        #[source]
        source: SegmentError,
    },
    #[error("after event {after} comes event {found}")]
    Gap { after: u64, found: u64 },
    #[error("the segment from event {first} on does not go on from the events before it")]
    Unchained { first: u64 },
}

impl<E: Into<redb::Error>> From<E> for AssemblyError {
    fn from(error: E) -> Self {
        Self::Store(Box::new(error.into()))
    }
}

impl From<AssemblyError> for ReadError {
    fn from(error: AssemblyError) -> Self {
        match error {
            AssemblyError::Store(error) => Self::Store(error),
            AssemblyError::Event { seq, source } => Self::Event { seq, table: "segments", source },
            AssemblyError::Segment { first, source } => Self::Segment { first, source },
            AssemblyError::Gap { after, .. } => Self::Missing { seq: after + 1 },
            AssemblyError::Unchained { first } => {
                Self::Segment { first, source: SegmentError::Header("head before it") }
            }
        }
    }
}

/// A log that grows in a new file.
pub(super) struct Assembly<'d> {
    database: &'d Database,
    pub(super) chain: Chain,
    /// Number of each stream.
    streams: HashMap<String, u64>,
    /// The greatest id in the indexes.
    greatest: Option<[u8; 16]>,
    transaction: Option<(WriteTransaction, u64)>,
    /// What the chain must be at a size.
    signed: Option<Checkpoint>,
    /// Whether it was.
    is_signed: bool,
    /// Sizes at which the chain is kept, and what it was there.
    marks: BTreeSet<u64>,
    marked: Vec<Chain>,
}

impl<'d> Assembly<'d> {
    /// Begins in a new, empty file.
    pub(super) fn begin(database: &'d Database, log_id: &[u8; 16]) -> Result<Self, AssemblyError> {
        open::create_tables(database, log_id).map_err(|fault| redb::Error::Corrupted(fault.to_string()))?;
        Ok(Self {
            database,
            chain: Chain::default(),
            streams: HashMap::new(),
            greatest: None,
            transaction: None,
            signed: None,
            is_signed: false,
            marks: BTreeSet::new(),
            marked: Vec::new(),
        })
    }

    /// From here on the chain is compared with a checkpoint, once it is as long.
    pub(super) fn expect(&mut self, checkpoint: Checkpoint) {
        self.is_signed = checkpoint.size == 0;
        self.signed = Some(checkpoint);
    }

    /// Whether the chain was seen to be what the checkpoint says.
    pub(super) fn is_signed(&self) -> bool {
        self.is_signed
    }

    /// From here on the chain is kept as it is at each of these sizes.
    pub(super) fn mark(&mut self, sizes: impl Iterator<Item = u64>) {
        self.marks = sizes.collect();
    }

    /// What was kept; from here on nothing more is.
    pub(super) fn take_marked(&mut self) -> Vec<Chain> {
        self.marks.clear();
        std::mem::take(&mut self.marked)
    }

    fn compare(&mut self, chain: &Chain) {
        if self.marks.contains(&chain.range.size()) {
            self.marked.push(chain.clone());
        }
        if let Some(signed) = self.signed.as_ref().filter(|signed| signed.size == chain.range.size()) {
            self.is_signed = signed.head == chain.head && signed.root == chain.range.root();
        }
    }

    fn transaction(&mut self, events: u64) -> Result<&WriteTransaction, AssemblyError> {
        if self.transaction.as_ref().is_some_and(|(_, held)| *held > EVENTS_MAX) {
            self.commit()?;
        }
        let (transaction, held) = match self.transaction.take() {
            Some((transaction, held)) => (transaction, held + events),
            None => (self.database.begin_write()?, events),
        };
        Ok(&self.transaction.insert((transaction, held)).0)
    }

    /// Takes a segment as it is stored; every frame is compared with its leaf, and the heads with the chain.
    pub(super) fn segment(&mut self, value: &[u8]) -> Result<(), AssemblyError> {
        let first = self.chain.range.size() + 1;
        let damaged = |source| AssemblyError::Segment { first, source };
        let segment = Segment::parse(value).map_err(damaged)?;
        if segment.header.first != first {
            return Err(AssemblyError::Gap { after: first - 1, found: segment.header.first });
        }
        if segment.header.head_before != self.chain.head {
            return Err(AssemblyError::Unchained { first });
        }
        let frames = segment.frames().map_err(damaged)?;
        // The chain runs ahead until all of it was compared.
        let mut chain = self.chain.clone();
        for (seq, frame) in (first..).zip(frames.iter()) {
            let leaf = Frame::parse(frame).and_then(|frame| frame.verified(seq));
            chain.push(leaf.map_err(|source| AssemblyError::Event { seq, source })?);
            self.compare(&chain);
        }
        if chain.head != segment.header.head_after {
            return Err(damaged(SegmentError::Header("head after it")));
        }
        let rows = self.rows(first, &frames)?;
        let greatest = self.greatest;
        let stored = rows.store(self.transaction(0)?, greatest);
        self.greatest = stored.map_err(|error| AssemblyError::Store(Box::new(error)))?;
        self.transaction(frames.len() as u64)?.open_table(SEGMENTS)?.insert(first, value)?;
        self.chain = chain;
        Ok(())
    }

    /// Takes the next event as a row of the tail.
    pub(super) fn row(&mut self, bytes: &[u8]) -> Result<(), AssemblyError> {
        let seq = self.chain.range.size() + 1;
        let leaf = Frame::parse(bytes).and_then(|frame| frame.verified(seq));
        let leaf = leaf.map_err(|source| AssemblyError::Event { seq, source })?;
        let frames = Frames::of(&[bytes]);
        self.transaction(1)?.open_table(TAIL)?.insert(seq, frames.plain(0..1))?;
        let mut chain = self.chain.clone();
        chain.push(leaf);
        self.compare(&chain);
        self.chain = chain;
        Ok(())
    }

    /// The rows that sealed events have in the indexes.
    fn rows(&mut self, first: u64, frames: &Frames) -> Result<Rows, AssemblyError> {
        let mut rows = Rows::with_capacity(frames.len());
        for (seq, bytes) in (first..).zip(frames.iter()) {
            let header = Frame::parse(bytes).and_then(|frame| frame.header());
            let header = header.map_err(|source| AssemblyError::Event { seq, source })?;
            let number = self.streams.get(header.2).copied().unwrap_or_else(|| {
                rows.open(header.2, seq);
                self.streams.insert(header.2.to_owned(), seq);
                seq
            });
            rows.take(seq, header.0.0, (number, header.3));
        }
        Ok(rows)
    }

    /// Takes a blob as it is stored.
    pub(super) fn blob(&mut self, hash: &BlobHash, packed: &[u8]) -> Result<(), AssemblyError> {
        self.transaction(1)?.open_table(BLOBS)?.insert(hash.0, packed)?;
        Ok(())
    }

    /// Takes a signed checkpoint.
    pub(super) fn checkpoint(&mut self, size: u64, note: &str) -> Result<(), AssemblyError> {
        noted::put(self.transaction(1)?, (size, note.as_bytes()), 0..0)
            .map_err(|error| AssemblyError::Store(Box::new(error)))?;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), AssemblyError> {
        if let Some((transaction, _)) = self.transaction.take() {
            let end = (self.chain.range.size() + 1, &[][..]);
            unsealed::put(&transaction, end, &self.chain, unsealed::PAGE)
                .map_err(|error| AssemblyError::Store(Box::new(error)))?;
            transaction.commit()?;
        }
        Ok(())
    }

    /// Everything that was taken is on disk once this returns.
    pub(super) fn finish(mut self) -> Result<Chain, AssemblyError> {
        self.transaction(0)?;
        self.commit()?;
        Ok(self.chain)
    }
}

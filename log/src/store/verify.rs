//! `log verify`: every stored byte against the chain, the range root, the indexes and the blobs' names.

use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata};

use super::index::Indexes;
use super::open::{self, Fault};
use super::reader::{CHUNK_EVENTS, ReadError, Reader};
use super::tables::{BLOBS, BY_ID, BY_STREAM, CHECKPOINTS, SEGMENTS, STREAMS, TAIL};
use super::{Head, blobs};
use crate::chain::Chain;
use crate::codec::{Frame, FrameError};
use crate::event::Event;
use crate::kept::BlobHash;

/// The most chunks that are checked at once: each has a read transaction and some megabytes.
const THREADS_MAX: usize = 4;

/// What a whole log amounts to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Where it ends.
    pub head: Head,
    /// The root over all leaves.
    pub range_root: [u8; 32],
    /// Payloads that were erased.
    pub erased: u64,
    /// Events of kinds that this program does not know, by label.
    pub unknown: Vec<(u64, String)>,
    /// Blobs, all equal to their names.
    pub blobs: u64,
}

/// The first thing that is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// An event is not what was appended.
    #[error("event {seq} (table tail): {what}; {} events before it are good", seq - 1)]
    Event {
        /// Its number.
        seq: u64,
        /// What is wrong.
        what: String,
    },
    /// The end of the log is not what the last commit said.
    #[error("the log ends at event {seq} (table meta): {what}")]
    End {
        /// The last number that was read.
        seq: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// An index row is missing or points elsewhere.
    #[error("index {table}: {what} (event {seq})")]
    Index {
        /// The table.
        table: &'static str,
        /// The event that it concerns; 0 where the row names none.
        seq: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// A blob is not what its name says.
    #[error("blob {hash} (table blobs): {what}")]
    Blob {
        /// Its name.
        hash: BlobHash,
        /// What is wrong.
        what: String,
    },
    /// The file as a whole.
    #[error("{0}")]
    File(String),
}

impl From<Fault> for Damage {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Newer(found) => Self::File(format!("the log has format {found}, newer than this program")),
            Fault::Damaged(what) => Self::File(what),
        }
    }
}

impl From<ReadError> for Damage {
    fn from(error: ReadError) -> Self {
        Self::File(error.to_string())
    }
}

/// What one chunk of events amounts to.
#[derive(Default)]
struct Chunk {
    leaves: Vec<[u8; 32]>,
    erased: u64,
    unknown: Vec<(u64, String)>,
    /// Streams that these events opened.
    streams: u64,
}

impl Reader {
    /// Checks the whole log, as far as it went when this began; calls `progress(done, total)` as it goes. The first damage
    /// ends it. Chunks are checked beside each other, and chained in order.
    pub fn verify(&self, mut progress: impl FnMut(u64, u64)) -> Result<Verified, Damage> {
        let stored = open::chain(self.database())?;
        let total = stored.range.size();
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        let mut chain = Chain::default();
        let mut verified = Verified::default();
        let mut streams = 0;
        let mut next = 1;
        while next <= total {
            for chunk in self.verify_chunks(next, total, threads) {
                let chunk = chunk?;
                chunk.leaves.iter().for_each(|leaf| chain.push(*leaf));
                verified.erased += chunk.erased;
                verified.unknown.extend(chunk.unknown);
                streams += chunk.streams;
                next = chain.range.size() + 1;
                progress(next - 1, total);
            }
        }
        if chain != stored {
            return Err(Damage::End { seq: total, what: "the head or the range differs" });
        }
        self.verify_counts(total, streams)?;
        verified.blobs = self.verify_blobs()?;
        verified.head = Head { size: total, head: chain.head };
        verified.range_root = chain.range.root();
        Ok(verified)
    }

    /// As many chunks from `first` on as there are threads, in order.
    fn verify_chunks(&self, first: u64, total: u64, threads: usize) -> Vec<Result<Chunk, Damage>> {
        let starts = (0..threads as u64).map(|place| first + place * CHUNK_EVENTS).filter(|start| *start <= total);
        std::thread::scope(|scope| {
            let verify = |start: u64| {
                let last = (start + CHUNK_EVENTS - 1).min(total);
                scope.spawn(move || self.verify_chunk(start, last))
            };
            let running: Vec<_> = starts.map(verify).collect();
            let joined = running.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined.map(|chunk| chunk.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    /// One short transaction's worth of events, with the index rows that belong to them.
    fn verify_chunk(&self, first: u64, last: u64) -> Result<Chunk, Damage> {
        let fault = |error: &dyn std::error::Error| Damage::File(error.to_string());
        let transaction = self.database().begin_read().map_err(|error| fault(&error))?;
        let tail = transaction.open_table(TAIL).map_err(|error| fault(&error))?;
        let mut chunk = Chunk::default();
        let mut indexes = Indexes::default();
        let mut next = first;
        let mut take = || -> Result<(), Damage> {
            let missing = |seq| Err(Damage::Event { seq, what: "it is missing".to_owned() });
            for row in tail.range(first..=last).map_err(|error| fault(&error))? {
                let (seq, bytes) = row.map_err(|error| fault(&error))?;
                if seq.value() != next {
                    return missing(next);
                }
                verify_event(next, bytes.value(), &mut chunk, &mut indexes)
                    .map_err(|error| Damage::Event { seq: next, what: error.to_string() })?;
                next += 1;
            }
            if next <= last { missing(next) } else { Ok(()) }
        };
        let taken = take();
        // The events before a damaged one have rows too, and theirs would be the first damage.
        chunk.streams = indexes.verify(&transaction)?;
        taken.map(|()| chunk)
    }

    /// As every event has its rows, equal counts mean that there are no others.
    fn verify_counts(&self, total: u64, opened: u64) -> Result<(), Damage> {
        let count = || -> Result<([u64; 4], u64, u64), Fault> {
            let transaction = self.database().begin_read()?;
            let by_stream = transaction.open_table(BY_STREAM)?.len()?;
            let by_id = transaction.open_table(BY_ID)?.len()?;
            let tail = transaction.open_table(TAIL)?.len()?;
            let later = transaction.open_table(SEGMENTS)?.len()? + transaction.open_table(CHECKPOINTS)?.len()?;
            let streams = transaction.open_table(STREAMS)?.len()?;
            let size = open::chain_in(&transaction)?.range.size();
            Ok(([tail, by_stream, by_id, streams], later, size))
        };
        let ([tail, by_stream, by_id, streams], later, size) = count()?;
        // Events that were appended meanwhile have their rows as well.
        let rows = [("tail", tail, size), ("by_stream", by_stream, size), ("by_id", by_id, size)];
        let opened = (size == total).then_some(("streams", streams, opened));
        for (table, rows, wanted) in rows.into_iter().chain(opened) {
            if rows != wanted {
                return Err(Damage::Index { table, seq: 0, what: "it has rows that belong to no event" });
            }
        }
        if later > 0 {
            return Err(Damage::File(
                "tables segments and checkpoints hold rows that this program does not write".to_owned(),
            ));
        }
        Ok(())
    }

    fn verify_blobs(&self) -> Result<u64, Damage> {
        let fault = |error: &dyn std::error::Error| Damage::File(error.to_string());
        let transaction = self.database().begin_read().map_err(|error| fault(&error))?;
        let table = transaction.open_table(BLOBS).map_err(|error| fault(&error))?;
        let mut count = 0;
        for row in table.iter().map_err(|error| fault(&error))? {
            let (hash, packed) = row.map_err(|error| fault(&error))?;
            let hash = BlobHash(hash.value());
            blobs::checked(packed.value(), &hash, &self.blob_key())
                .map_err(|error| Damage::Blob { hash, what: error.to_string() })?;
            count += 1;
        }
        Ok(count)
    }
}

/// One event against its leaf check; keeps its leaf, and notes the rows that it must have.
fn verify_event(seq: u64, bytes: &[u8], chunk: &mut Chunk, indexes: &mut Indexes) -> Result<(), FrameError> {
    let frame = Frame::parse(bytes)?;
    let leaf = frame.verified(seq)?;
    let header = frame.header()?;
    match frame.payload {
        None => chunk.erased += 1,
        Some(payload) => {
            if Event::decode(header.4, header.5, payload)?.is_none() {
                chunk.unknown.push((seq, header.4.to_owned()));
            }
        }
    }
    indexes.expect(seq, &header);
    chunk.leaves.push(leaf);
    Ok(())
}

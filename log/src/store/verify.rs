//! `log verify`: every stored byte against the chain, the range root, the indexes and the blobs' names.

use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata};

use super::index::Indexes;
use super::open::{self, Fault};
use super::reader::{ReadError, Reader};
use super::tables::{BLOBS, BY_ID, BY_STREAM, CHECKPOINTS, SEGMENTS, STREAMS, TAIL};
use super::{Head, blobs};
use crate::chain::Chain;
use crate::codec::{Frame, FrameError};
use crate::event::Event;
use crate::kept::BlobHash;

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

/// What one pass over the events gathers.
#[derive(Default)]
struct Pass {
    chain: Chain,
    verified: Verified,
    /// Streams that were opened.
    streams: u64,
}

impl Reader {
    /// Checks the whole log; calls `progress(done, total)` as it goes. The first damage ends it.
    pub fn verify(&self, mut progress: impl FnMut(u64, u64)) -> Result<Verified, Damage> {
        let stored = open::chain(self.database())?;
        let total = stored.range.size();
        let mut pass = Pass::default();
        let mut next = 1;
        while self.verify_chunk(&mut next, &mut pass)? {
            progress(next - 1, total);
        }
        if pass.chain != stored {
            let what =
                if pass.chain.range.size() == total { "the head or the range differs" } else { "events are missing" };
            return Err(Damage::End { seq: pass.chain.range.size(), what });
        }
        self.verify_counts(total, pass.streams)?;
        pass.verified.blobs = self.verify_blobs()?;
        pass.verified.head = Head { size: total, head: pass.chain.head };
        pass.verified.range_root = pass.chain.range.root();
        Ok(pass.verified)
    }

    /// One short transaction's worth of events, with the index rows that belong to them.
    fn verify_chunk(&self, next: &mut u64, pass: &mut Pass) -> Result<bool, Damage> {
        let fault = |error: &dyn std::error::Error| Damage::File(error.to_string());
        let transaction = self.database().begin_read().map_err(|error| fault(&error))?;
        let tail = transaction.open_table(TAIL).map_err(|error| fault(&error))?;
        let first = *next;
        let mut indexes = Indexes::default();
        let mut take = || -> Result<(), Damage> {
            for row in tail.range(first..first + super::reader::CHUNK_EVENTS).map_err(|error| fault(&error))? {
                let (seq, bytes) = row.map_err(|error| fault(&error))?;
                if seq.value() != *next {
                    return Err(Damage::Event { seq: *next, what: "it is missing".to_owned() });
                }
                verify_event(*next, bytes.value(), pass, &mut indexes)
                    .map_err(|error| Damage::Event { seq: *next, what: error.to_string() })?;
                *next += 1;
            }
            Ok(())
        };
        let taken = take();
        // The events before a damaged one have rows too, and theirs would be the first damage.
        pass.streams += indexes.verify(&transaction)?;
        taken.map(|()| *next > first)
    }

    /// As every event has its rows, equal counts mean that there are no others.
    fn verify_counts(&self, total: u64, opened: u64) -> Result<(), Damage> {
        let count = || -> Result<([u64; 4], u64), redb::Error> {
            let transaction = self.database().begin_read()?;
            let by_stream = transaction.open_table(BY_STREAM)?.len()?;
            let by_id = transaction.open_table(BY_ID)?.len()?;
            let tail = transaction.open_table(TAIL)?.len()?;
            let later = transaction.open_table(SEGMENTS)?.len()? + transaction.open_table(CHECKPOINTS)?.len()?;
            let streams = transaction.open_table(STREAMS)?.len()?;
            Ok(([tail, by_stream, by_id, streams], later))
        };
        let ([tail, by_stream, by_id, streams], later) = count().map_err(|error| Damage::File(error.to_string()))?;
        let rows = [("tail", tail, total), ("by_stream", by_stream, total), ("by_id", by_id, total)];
        for (table, rows, wanted) in rows.into_iter().chain([("streams", streams, opened)]) {
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

/// One event against its leaf check; takes it into the chain, and notes the rows that it must have.
fn verify_event(seq: u64, bytes: &[u8], pass: &mut Pass, indexes: &mut Indexes) -> Result<(), FrameError> {
    let frame = Frame::parse(bytes)?;
    let leaf = frame.verified(seq)?;
    let header = frame.header()?;
    match frame.payload {
        None => pass.verified.erased += 1,
        Some(payload) => {
            if Event::decode(header.4, header.5, payload)?.is_none() {
                pass.verified.unknown.push((seq, header.4.to_owned()));
            }
        }
    }
    indexes.expect(seq, &header);
    pass.chain.push(leaf);
    Ok(())
}

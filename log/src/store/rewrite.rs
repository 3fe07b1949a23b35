//! Rewriting: the live rows copied into a fresh file that takes the old one's place, with payloads left out where that is
//! asked for (design 2-log, «Erasure and secrets»).
//!
//! A row that is overwritten inside a file leaves its bytes in free pages; a file that was never written to has none. The new
//! file is whole, verified and on disk before it is renamed over the old one: whenever this breaks off, one of the two is the
//! log.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, WriteTransaction};
use serde::Serialize;

use super::archives::ArchiveFault;
use super::damage::Damage;
use super::files;
use super::prepare::Prepared;
use super::tables::{BLOBS, BY_ID, CHECKPOINTS, ID_RUNS, META, SEGMENTS, STREAM_RUNS, STREAMS};
use super::unsealed;
use crate::codec::{self, Frame, FrameError};
use crate::envelope::Draft;
use crate::event::Event;
use crate::kept::BlobHash;
use crate::segment::{Frames, Packer, Segment, SegmentError};

/// What stays in the place of a payload. Lies outside of the leaf, so it says nothing that must be proved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Tombstone {
    /// Why it is gone.
    pub(super) reason: String,
    /// Who asked for it.
    pub(super) by: String,
    /// When, in µs since 1970.
    pub(super) at: i64,
}

/// What is to be left out of the log.
#[derive(Debug)]
pub struct Erasure {
    /// The events whose payloads go.
    pub seqs: BTreeSet<u64>,
    /// The blobs that go with them.
    pub blobs: BTreeSet<BlobHash>,
    /// The event that says so, an `erased`; it is appended in the same step, and what stays in the places of payloads is taken
    /// from it.
    pub record: Draft,
}

/// What came of a rewriting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// Payloads that were there before and are gone now.
    pub payloads: u64,
    /// Blobs that are gone.
    pub blobs: u64,
    /// Bytes of the file before.
    pub bytes_before: u64,
    /// Bytes of the file now.
    pub bytes_after: u64,
}

impl Rewritten {
    /// Takes in what was done right after it.
    pub fn join(&mut self, next: Self) {
        let (payloads, blobs) = (self.payloads + next.payloads, self.blobs + next.blobs);
        *self = Self { payloads, blobs, bytes_before: self.bytes_before, ..next };
    }
}

/// Why a log was not rewritten. It is as it was, unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    /// The store failed.
    #[error("the log cannot be copied: {0}")]
    Store(#[source] Box<redb::Error>),
    /// The file system refused.
    #[error("{path} cannot be written")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// An event cannot be read.
    #[error("event {seq} is damaged: {source}")]
    Event {
        /// Its number.
        seq: u64,
        /// What is wrong.
        #[source]
        source: FrameError,
    },
    /// A segment cannot be read.
    #[error("the segment from event {first} on is damaged: {source}")]
    Segment {
        /// Its first event.
        first: u64,
        /// What is wrong.
        #[source]
        source: SegmentError,
    },
    /// A file of archived events cannot be used.
    #[error("the archive {path} is needed: {source}")]
    Archive {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        source: ArchiveFault,
    },
    /// The log is damaged: a copy would be too.
    #[error("the copy does not verify: {0}")]
    Damaged(Box<Damage>),
    /// The event that says what was erased was refused.
    #[error("the copy could not be finished: {0}")]
    Refused(String),
    /// The log is as it is to be, and a file of its archive is not yet: the next that opens the log tries again.
    #[error("its archive still holds what was erased")]
    Behind(#[source] Box<Self>),
    /// The log does not lie in a file.
    #[error("this log is not in a file")]
    NoFile,
    /// The writer has stopped.
    #[error("the log's writer has stopped; reopen the log")]
    Stopped,
}

impl<E: Into<redb::Error>> From<E> for RewriteError {
    fn from(error: E) -> Self {
        Self::Store(Box::new(error.into()))
    }
}

/// The bytes of a tombstone.
pub(super) fn stored(tombstone: &Tombstone) -> Vec<u8> {
    rmp_serde::to_vec_named(tombstone).expect("a plain struct with text keys")
}

/// Where the copy grows. A command that broke off leaves it there; the next one that opens the log takes it away.
pub(super) fn fresh(path: &Path) -> PathBuf {
    path.with_extension("redb.new")
}

/// Which payloads and blobs are left out of a copy.
#[derive(Default)]
pub(super) struct LeftOut {
    /// Events, and which of the tombstones each gets.
    pub(super) seqs: BTreeMap<u64, usize>,
    pub(super) blobs: BTreeSet<BlobHash>,
    tombstones: Vec<Vec<u8>>,
}

impl LeftOut {
    /// What an erasure comes to, by its record as it will be stored: without secrets, like all that is.
    pub(super) fn of(
        (seqs, blobs): (BTreeSet<u64>, BTreeSet<BlobHash>),
        record: &Prepared,
    ) -> Result<Self, RewriteError> {
        let said = record.first().and_then(|event| {
            let header = event.header(0);
            Some((header.1, Event::decode(header.4, header.5, event.payload()).ok()??))
        });
        let Some((at, Event::Erased(erased))) = said else {
            return Err(RewriteError::Refused("its event does not say what is erased".to_owned()));
        };
        let tombstone = Tombstone { reason: erased.reason, by: erased.by, at };
        let mut left_out = Self { blobs, ..Self::default() };
        left_out.add(seqs, &tombstone);
        Ok(left_out)
    }

    /// Leaves out payloads as well; one that is left out already keeps the tombstone that it has.
    pub(super) fn add(&mut self, seqs: impl IntoIterator<Item = u64>, tombstone: &Tombstone) {
        self.tombstones.push(stored(tombstone));
        for seq in seqs {
            self.seqs.entry(seq).or_insert(self.tombstones.len() - 1);
        }
    }

    /// Leaves out what another one does as well.
    pub(super) fn join(&mut self, other: Self) {
        let before = self.tombstones.len();
        self.tombstones.extend(other.tombstones);
        for (seq, tombstone) in other.seqs {
            self.seqs.entry(seq).or_insert(before + tombstone);
        }
        self.blobs.extend(other.blobs);
    }

    /// Whether it concerns any event of a run.
    pub(super) fn concerns(&self, (first, last): (u64, u64)) -> bool {
        first <= last && self.seqs.range(first..=last).next().is_some()
    }

    /// Whether a payload is there that is to be left out.
    pub(super) fn finds(&self, seq: u64, bytes: &[u8]) -> bool {
        self.seqs.contains_key(&seq) && Frame::parse(bytes).is_ok_and(|frame| frame.payload().is_some())
    }

    /// The frame as it is to be stored, and how many payloads it lost; `None` where it stays as it is.
    fn frame(&self, seq: u64, bytes: &[u8]) -> Result<Option<(Vec<u8>, u64)>, RewriteError> {
        let Some(tombstone) = self.seqs.get(&seq) else { return Ok(None) };
        let frame = Frame::parse(bytes).map_err(|source| RewriteError::Event { seq, source })?;
        let tombstone = &self.tombstones[*tombstone];
        let is_as_it_should = frame.tombstone() == Some(tombstone.as_slice());
        Ok((!is_as_it_should).then(|| (codec::erased(&frame, tombstone), u64::from(frame.payload().is_some()))))
    }

    /// The segment as it is to be stored, and how many payloads it lost; `None` where it stays as it is.
    pub(super) fn segment(&self, first: u64, value: &[u8]) -> Result<Option<(Vec<u8>, u64)>, RewriteError> {
        let damaged = |source| RewriteError::Segment { first, source };
        let segment = Segment::parse(value).map_err(damaged)?;
        if !self.concerns((segment.header.first, segment.header.last)) {
            return Ok(None);
        }
        let frames = segment.frames().map_err(damaged)?;
        let mut left = Frames::default();
        let (mut payloads, mut is_changed) = (0, false);
        for (seq, bytes) in (segment.header.first..).zip(frames.iter()) {
            let erased = self.frame(seq, bytes)?;
            is_changed |= erased.is_some();
            match &erased {
                Some((kept, gone)) => {
                    payloads += gone;
                    left.push(kept);
                }
                None => left.push(bytes),
            }
        }
        if !is_changed {
            return Ok(None);
        }
        let packed = Packer::new().pack(left.plain(0..left.len()));
        Ok(Some((packed.seal(&segment.header), payloads)))
    }
}

/// Copies every live row into a new file; says what was left out.
pub(super) fn copy(old: &Database, new: &Database, left_out: &LeftOut) -> Result<Rewritten, RewriteError> {
    let (from, to) = (old.begin_read()?, new.begin_write()?);
    let mut rewritten = Rewritten::default();
    copy_events(&from, &to, left_out, &mut rewritten)?;
    copy_indexes(&from, &to)?;
    {
        let (from, mut to) = (from.open_table(BLOBS)?, to.open_table(BLOBS)?);
        for row in from.iter()? {
            let (hash, packed) = row?;
            if left_out.blobs.contains(&BlobHash(hash.value())) {
                rewritten.blobs += 1;
            } else {
                to.insert(hash.value(), packed.value())?;
            }
        }
    }
    to.commit()?;
    Ok(rewritten)
}

fn copy_events(
    from: &ReadTransaction,
    to: &WriteTransaction,
    left_out: &LeftOut,
    rewritten: &mut Rewritten,
) -> Result<(), RewriteError> {
    let (segments, mut copied) = (from.open_table(SEGMENTS)?, to.open_table(SEGMENTS)?);
    for row in segments.iter()? {
        let (first, value) = row?;
        match left_out.segment(first.value(), value.value())? {
            Some((changed, payloads)) => {
                rewritten.payloads += payloads;
                copied.insert(first.value(), changed.as_slice())?;
            }
            None => drop(copied.insert(first.value(), value.value())?),
        }
    }
    unsealed::copy(from, to, |seq, frame| -> Result<_, RewriteError> {
        let left = left_out.frame(seq, frame)?;
        Ok(left.map(|(changed, gone)| {
            rewritten.payloads += gone;
            changed
        }))
    })
}

fn copy_indexes(from: &ReadTransaction, to: &WriteTransaction) -> Result<(), RewriteError> {
    macro_rules! copy {
        ($($table:expr),+) => {
            $({
                let (from, mut to) = (from.open_table($table)?, to.open_table($table)?);
                for row in from.iter()? {
                    let (key, value) = row?;
                    to.insert(key.value(), value.value())?;
                }
            })+
        };
    }
    copy!(STREAMS, STREAM_RUNS, ID_RUNS, BY_ID, CHECKPOINTS, META);
    Ok(())
}

/// Puts the copy in the log's place, for good once this returns.
pub(super) fn put_in_place(path: &Path) -> Result<(), RewriteError> {
    let refused = |source| RewriteError::Io { path: path.to_owned(), source };
    files::rename(&fresh(path), path).map_err(refused)?;
    files::sync_folder(path.parent().unwrap_or(Path::new(""))).map_err(refused)
}

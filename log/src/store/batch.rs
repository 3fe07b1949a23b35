//! One transaction's appends: what speaks against a request, and the rows of one that is taken.
//!
//! Requests are checked in order against what is committed and what came earlier in the same batch. A refused one has
//! written nothing. When to commit is the writer's business.

use std::collections::BTreeSet;

use redb::{ReadableTable, Table, WriteTransaction};

use super::archives::{self, Archives};
use super::blobs;
use super::prepare::Prepared;
use super::runs::{Run, Unpacked};
use super::seal::Unsealed;
use super::tables::{BLOBS, BY_ID, BY_STREAM, META, META_HEAD, META_RANGE, SEGMENTS, STREAMS, TAIL};
use super::tail::{self, Place, Tail};
use super::writer::{AppendError, Appended};
use super::{Expect, Request};
use crate::chain::Chain;
use crate::codec::{self, Frame};
use crate::id::EventId;
use crate::kept::BlobHash;
use crate::segment::{Frames, Segment};

/// The longest stream, kind or actor name, so that a header's length fits its field.
const NAME_BYTES_MAX: usize = 1024;

/// One transaction's events, until they are stored at its end.
pub(super) struct Batch<'t> {
    transaction: &'t WriteTransaction,
    /// Files that hold older events.
    archives: &'t Archives,
    /// The numbers of streams, once one was looked up: most streams that are not in the tail are new.
    streams: Option<Table<'t, &'static str, u64>>,
    frame: Vec<u8>,
    /// Number of the first event of this transaction.
    fresh_first: u64,
    /// The events of this transaction. They become rows of the tail at the end, unless they are sealed at once.
    fresh: Frames,
}

impl<'t> Batch<'t> {
    /// Begins, behind the first `size` events.
    pub(super) fn open(transaction: &'t WriteTransaction, archives: &'t Archives, size: u64) -> Self {
        Self {
            transaction,
            archives,
            streams: None,
            frame: Vec::new(),
            fresh_first: size + 1,
            fresh: Frames::default(),
        }
    }

    /// Appends one request, or refuses it whole; only a failing store is an outer error.
    pub(super) fn append(
        &mut self,
        request: &Request,
        chain: &mut Chain,
        tail: &mut Tail,
    ) -> Result<Result<Appended, AppendError>, redb::Error> {
        if let Some(answer) = self.refusal(request, tail)? {
            return Ok(answer);
        }
        let first = chain.range.size() + 1;
        for event in &request.events {
            self.insert(event, chain, tail)?;
        }
        Ok(Ok(Appended::At { first, last: chain.range.size() }))
    }

    /// What speaks against the request, or `AlreadyThere`; `None` when it can be appended.
    fn refusal(
        &mut self,
        request: &Request,
        tail: &Tail,
    ) -> Result<Option<Result<Appended, AppendError>>, redb::Error> {
        let Some(head) = request.events.first() else {
            return Ok(Some(Err(AppendError::Malformed("it holds no event"))));
        };
        if request.events.iter().any(|event| event.stream.len() > NAME_BYTES_MAX || event.actor.len() > NAME_BYTES_MAX)
        {
            return Ok(Some(Err(AppendError::Malformed("a stream or actor name is longer than 1,024 bytes"))));
        }
        if repeats_an_id(&request.events) {
            return Ok(Some(Err(AppendError::Malformed("two of its events have the same id"))));
        }
        let mut there = Vec::new();
        for event in &request.events {
            let Some(seq) = self.seq_of(event.id, tail)? else { continue };
            match self.same(seq, event)? {
                Ok(true) => {}
                Ok(false) => return Ok(Some(Err(AppendError::IdTaken { id: event.id, seq }))),
                Err(what) => return Ok(Some(Err(AppendError::Away { id: event.id, seq, what }))),
            }
            there.push((event.id, seq));
        }
        match there.first() {
            Some(&(_, seq)) if there.len() == request.events.len() => {
                return Ok(Some(Ok(Appended::AlreadyThere(seq))));
            }
            Some(&(id, _)) => return Ok(Some(Err(AppendError::PartlyThere { id }))),
            None => {}
        }
        let expected = match request.expect {
            Expect::Any => return Ok(None),
            Expect::NoStream => 0,
            Expect::Exact(version) => version,
        };
        let found = self.place(&head.stream, tail)?.version;
        let conflict = || Err(AppendError::Conflict { stream: head.stream.clone(), found, expected });
        Ok((found != expected).then(conflict))
    }

    fn seq_of(&self, id: EventId, tail: &Tail) -> Result<Option<u64>, redb::Error> {
        if tail.is_above_all(id.0) {
            return Ok(None);
        }
        match tail.seq_of(id.0) {
            Some(seq) => Ok(Some(seq)),
            None => Ok(self.transaction.open_table(BY_ID)?.get(id.0)?.map(|seq| seq.value())),
        }
    }

    /// Whether the stored event says the same as the draft. The place in the stream and the salt are the writer's own; of
    /// one that was erased only its header is left to be compared. The inner error names an archive file that is away.
    fn same(&self, seq: u64, event: &Prepared) -> Result<Result<bool, String>, redb::Error> {
        let same = |bytes: &[u8]| {
            let Ok(frame) = Frame::parse(bytes) else { return false };
            let Ok(header) = frame.header() else { return false };
            header == event.header(header.3) && frame.payload().is_none_or(|payload| payload == event.payload())
        };
        if let Some(index) = seq.checked_sub(self.fresh_first) {
            return Ok(Ok(usize::try_from(index).ok().and_then(|index| self.fresh.get(index)).is_some_and(same)));
        }
        if let Some(row) = self.transaction.open_table(TAIL)?.get(seq)? {
            return Ok(Ok(same(row.value())));
        }
        let segments = self.transaction.open_table(SEGMENTS)?;
        let Some((first, value)) = segments.range(..=seq)?.next_back().transpose()? else {
            let listed = archives::listed_in(&self.transaction.open_table(META)?)
                .map_err(|error| redb::Error::Corrupted(error.to_string()))?;
            let run = self.archives.run(&listed, seq).and_then(|run| run.map(Run::unpack).transpose());
            let is_same = |run: Option<Unpacked>| run.is_some_and(|run| run.frame(seq).is_some_and(same));
            return Ok(run.map(is_same).map_err(|error| error.to_string()));
        };
        let frames = Segment::parse(value.value()).and_then(|segment| segment.frames());
        let Ok(frames) = frames else { return Ok(Ok(false)) };
        Ok(Ok(usize::try_from(seq - first.value()).ok().and_then(|index| frames.get(index)).is_some_and(same)))
    }

    /// Where a stream stands, earlier events of this batch counted.
    fn place(&mut self, stream: &str, tail: &Tail) -> Result<Place, redb::Error> {
        if let Some(place) = tail.place(stream) {
            return Ok(place);
        }
        let streams = match self.streams.take() {
            Some(open) => open,
            None => self.transaction.open_table(STREAMS)?,
        };
        let number = self.streams.insert(streams).get(stream)?.map(|number| number.value());
        match number {
            None => Ok(Place::default()),
            Some(number) => tail::stored_place(&self.transaction.open_table(BY_STREAM)?, number),
        }
    }

    /// Takes blobs out.
    pub(super) fn remove(&self, gone: &BTreeSet<BlobHash>) -> Result<(), redb::Error> {
        if !gone.is_empty() {
            let mut blobs = self.transaction.open_table(BLOBS)?;
            for hash in gone {
                blobs.remove(hash.0)?;
            }
        }
        Ok(())
    }

    /// Seals what is due and stores the rest as rows of the tail; returns the event up to which everything was sealed
    /// before, if more is now.
    pub(super) fn finish(self, known: &mut Tail) -> Result<Option<u64>, redb::Error> {
        let Self { transaction, fresh_first, fresh, streams, .. } = self;
        drop(streams);
        let sealed = Unsealed { transaction, fresh_first, fresh: &fresh }.seal(known)?;
        let mut tail = transaction.open_table(TAIL)?;
        for (seq, frame) in (fresh_first..).zip(fresh.iter()).filter(|(seq, _)| *seq > known.sealed()) {
            tail.insert(seq, frame)?;
        }
        Ok(sealed)
    }

    fn insert(&mut self, event: &Prepared, chain: &mut Chain, tail: &mut Tail) -> Result<(), redb::Error> {
        let seq = chain.range.size() + 1;
        let place = self.place(&event.stream, tail)?;
        let header = event.header(place.version + 1);
        let leaf = codec::frame_into(&mut self.frame, seq, &header, event.salted());
        self.fresh.push(&self.frame);
        tail.push(seq, &header, place, leaf, self.frame.len());
        if !event.blobs.is_empty() {
            let mut blobs = self.transaction.open_table(BLOBS)?;
            for (hash, bytes) in &event.blobs {
                if blobs.get(hash.0)?.is_none() {
                    blobs.insert(hash.0, blobs::pack(bytes).as_slice())?;
                }
            }
        }
        chain.push(leaf);
        Ok(())
    }
}

/// Says in `meta` where the log ends.
pub(super) fn write_end(transaction: &WriteTransaction, chain: &Chain) -> Result<(), redb::Error> {
    let mut meta = transaction.open_table(META)?;
    meta.insert(META_HEAD, chain.head.as_slice())?;
    meta.insert(META_RANGE, chain.range.to_bytes().as_slice())?;
    Ok(())
}

/// Ids mostly rise within a request; only where they do not are they sorted.
fn repeats_an_id(events: &[Prepared]) -> bool {
    if events.is_sorted_by(|one, two| one.id < two.id) {
        return false;
    }
    let mut ids: Vec<_> = events.iter().map(|event| event.id).collect();
    ids.sort_unstable();
    ids.windows(2).any(|pair| pair[0] == pair[1])
}

//! One transaction's appends: what speaks against a request, and the rows of one that is taken.
//!
//! Requests are checked in order against what is committed and what came earlier in the same batch. A refused one has
//! written nothing. When to commit is the writer's business.

use std::collections::{BTreeSet, HashMap};

use redb::{ReadableTable, Table, WriteTransaction};

use super::archives::{self, Archives, Span};
use super::blobs;
use super::prepare::Prepared;
use super::runs::{Run, Unpacked};
use super::seal::{Tail, Unsealed};
use super::tables::{BLOBS, BY_ID, BY_STREAM, META, META_HEAD, META_RANGE, SEGMENTS, STREAMS, TAIL};
use super::writer::{AppendError, Appended};
use super::{Expect, Request};
use crate::chain::Chain;
use crate::codec::{self, Frame};
use crate::id::EventId;
use crate::kept::BlobHash;
use crate::segment::{Frames, Segment};

/// The longest stream, kind or actor name, so that a header's length fits its field.
const NAME_BYTES_MAX: usize = 1024;

/// Where a stream stands.
#[derive(Clone, Copy)]
struct Place {
    /// Its number; `None` while no event opened it.
    number: Option<u64>,
    /// The version of its last event; 0 while there is none.
    version: u64,
}

/// The event tables of one transaction, with what was already looked up in them.
pub(super) struct Batch<'t> {
    tail: Table<'t, u64, &'static [u8]>,
    segments: Table<'t, u64, &'static [u8]>,
    streams: Table<'t, &'static str, u64>,
    by_stream: Table<'t, (u64, u64), u64>,
    by_id: Table<'t, [u8; 16], u64>,
    blobs: Table<'t, [u8; 32], &'static [u8]>,
    /// Files that hold older events, and where they are listed.
    archives: (&'t Archives, Vec<Span>),
    /// The greatest id in the log: ids mostly rise, and what is above it need not be looked up.
    newest: Option<[u8; 16]>,
    places: HashMap<String, Place>,
    salts: std::vec::IntoIter<[u8; 16]>,
    frame: Vec<u8>,
    /// Number of the first event of this transaction.
    fresh_first: u64,
    /// The events of this transaction. They become rows of the tail at the end, unless they are sealed at once.
    fresh: Frames,
}

impl<'t> Batch<'t> {
    /// Opens the tables, for at most `events` events behind the first `size`.
    pub(super) fn open(
        transaction: &'t WriteTransaction,
        archives: &'t Archives,
        events: usize,
        size: u64,
    ) -> Result<Self, redb::Error> {
        let by_id = transaction.open_table(BY_ID)?;
        let listed = archives::listed_in(&transaction.open_table(META)?)
            .map_err(|error| redb::Error::Corrupted(error.to_string()))?;
        let newest = by_id.last()?.map(|(id, _)| id.value());
        Ok(Self {
            tail: transaction.open_table(TAIL)?,
            segments: transaction.open_table(SEGMENTS)?,
            streams: transaction.open_table(STREAMS)?,
            by_stream: transaction.open_table(BY_STREAM)?,
            by_id,
            blobs: transaction.open_table(BLOBS)?,
            archives: (archives, listed),
            newest,
            places: HashMap::new(),
            salts: salts(events).into_iter(),
            frame: Vec::new(),
            fresh_first: size + 1,
            fresh: Frames::default(),
        })
    }

    /// Appends one request, or refuses it whole; only a failing store is an outer error.
    pub(super) fn append(
        &mut self,
        request: &Request,
        chain: &mut Chain,
        tail: &mut Tail,
    ) -> Result<Result<Appended, AppendError>, redb::Error> {
        if let Some(answer) = self.refusal(request)? {
            return Ok(answer);
        }
        let first = chain.range.size() + 1;
        for event in &request.events {
            self.insert(event, chain, tail)?;
        }
        Ok(Ok(Appended::At { first, last: chain.range.size() }))
    }

    /// What speaks against the request, or `AlreadyThere`; `None` when it can be appended.
    fn refusal(&mut self, request: &Request) -> Result<Option<Result<Appended, AppendError>>, redb::Error> {
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
            let Some(seq) = self.seq_of(event.id)? else { continue };
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
        let found = self.place(&head.stream)?.version;
        let conflict = || Err(AppendError::Conflict { stream: head.stream.clone(), found, expected });
        Ok((found != expected).then(conflict))
    }

    fn seq_of(&self, id: EventId) -> Result<Option<u64>, redb::Error> {
        if self.newest < Some(id.0) {
            return Ok(None);
        }
        Ok(self.by_id.get(id.0)?.map(|seq| seq.value()))
    }

    /// Whether the stored event says the same as the draft. The place in the stream and the salt are the writer's own; of
    /// one that was erased only its header is left to be compared. The inner error names an archive file that is away.
    fn same(&self, seq: u64, event: &Prepared) -> Result<Result<bool, String>, redb::Error> {
        let same = |bytes: &[u8]| {
            let Ok(frame) = Frame::parse(bytes) else { return false };
            let Ok(header) = frame.header() else { return false };
            header == event.header(header.3) && frame.payload().is_none_or(|payload| payload == event.payload)
        };
        if let Some(index) = seq.checked_sub(self.fresh_first) {
            return Ok(Ok(usize::try_from(index).ok().and_then(|index| self.fresh.get(index)).is_some_and(same)));
        }
        if let Some(row) = self.tail.get(seq)? {
            return Ok(Ok(same(row.value())));
        }
        let Some((first, value)) = self.segments.range(..=seq)?.next_back().transpose()? else {
            let (archives, listed) = &self.archives;
            let run = archives.run(listed, seq).and_then(|run| run.map(Run::unpack).transpose());
            let is_same = |run: Option<Unpacked>| run.is_some_and(|run| run.frame(seq).is_some_and(same));
            return Ok(run.map(is_same).map_err(|error| error.to_string()));
        };
        let frames = Segment::parse(value.value()).and_then(|segment| segment.frames());
        let Ok(frames) = frames else { return Ok(Ok(false)) };
        Ok(Ok(usize::try_from(seq - first.value()).ok().and_then(|index| frames.get(index)).is_some_and(same)))
    }

    /// Where a stream stands, earlier events of this batch counted.
    fn place(&mut self, stream: &str) -> Result<&mut Place, redb::Error> {
        if !self.places.contains_key(stream) {
            let number = self.streams.get(stream)?.map(|number| number.value());
            let version = match number {
                None => 0,
                Some(number) => {
                    let mut versions = self.by_stream.range((number, 0)..=(number, u64::MAX))?;
                    versions.next_back().transpose()?.map_or(0, |(key, _)| key.value().1)
                }
            };
            self.places.insert(stream.to_owned(), Place { number, version });
        }
        Ok(self.places.get_mut(stream).expect("it was put in above"))
    }

    /// Takes blobs out.
    pub(super) fn remove(&mut self, blobs: &BTreeSet<BlobHash>) -> Result<(), redb::Error> {
        for hash in blobs {
            self.blobs.remove(hash.0)?;
        }
        Ok(())
    }

    /// Seals what is due and stores the rest as rows of the tail; returns the event up to which everything was sealed
    /// before, if more is now.
    pub(super) fn finish(mut self, known: &mut Tail) -> Result<Option<u64>, redb::Error> {
        let Self { tail, segments, fresh_first, fresh, .. } = &mut self;
        let sealed = Unsealed { tail, segments, fresh_first: *fresh_first, fresh }.seal(known)?;
        for (seq, frame) in (*fresh_first..).zip(fresh.iter()).filter(|(seq, _)| *seq > known.sealed()) {
            tail.insert(seq, frame)?;
        }
        Ok(sealed)
    }

    fn insert(&mut self, event: &Prepared, chain: &mut Chain, tail: &mut Tail) -> Result<(), redb::Error> {
        let seq = chain.range.size() + 1;
        let place = self.place(&event.stream)?;
        place.version += 1;
        let version = place.version;
        let opens = place.number.is_none();
        // Streams are numbered by the event that opened them: never reused, no counter to keep.
        let number = *place.number.get_or_insert(seq);
        if opens {
            self.streams.insert(event.stream.as_str(), number)?;
        }
        let salt = self.salts.next().expect("one was drawn for each event of the batch");
        let leaf = codec::frame_into(&mut self.frame, seq, &event.header(version), &salt, &event.payload);
        self.fresh.push(&self.frame);
        tail.push(leaf, self.frame.len());
        self.by_stream.insert((number, version), seq)?;
        self.by_id.insert(event.id.0, seq)?;
        self.newest = self.newest.max(Some(event.id.0));
        for (hash, bytes) in &event.blobs {
            if self.blobs.get(hash.0)?.is_none() {
                self.blobs.insert(hash.0, blobs::pack(bytes).as_slice())?;
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

/// Fresh random bytes. Random, not derived: an erased payload must not be guessable from what is left.
fn salts(count: usize) -> Vec<[u8; 16]> {
    let mut salts = vec![[0; 16]; count];
    getrandom::fill(salts.as_flattened_mut()).expect("the system gives random bytes");
    salts
}

//! One transaction's appends: what speaks against a request, and the rows of one that is taken.
//!
//! Requests are checked in order against what is committed and what came earlier in the same batch. A refused one has
//! written nothing. When to commit is the writer's business.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use redb::{ReadableTable, Table, WriteTransaction};

use super::archives::{self, Archives};
use super::aside::Aside;
use super::blobs;
use super::index;
use super::prepare::{Prepared, PreparedEvent};
use super::runs::Run;
use super::seal::{Packing, Unsealed};
use super::tables::{BLOBS, BY_ID, ID_RUNS, META, SEGMENTS, STREAM_RUNS, STREAMS};
use super::tail::{self, Place, Tail};
use super::writer::{AppendError, Appended};
use super::{Expect, Request, unsealed};
use crate::chain::{Chain, Committed};
use crate::codec::{self, Frame};
use crate::id::EventId;
use crate::kept::BlobHash;
use crate::segment::{self, Frames, Segment};

/// The longest stream, kind or actor name, so that a header's length fits its field.
const NAME_BYTES_MAX: usize = 1024;

/// What most frames have beside their payload.
const BESIDE_PAYLOAD_USUAL: usize = 192;

/// What was looked at, or the first event that could not be, and why.
type Seen<T> = Result<T, (u64, String)>;

/// The number of an event, and whether it says the same.
type There = Seen<Option<(u64, bool)>>;

/// What was looked at of the sealed events. Whoever appends again what is there asks for neighbours, and what is new mostly lies
/// among the same ids as what came before it.
#[derive(Default)]
struct Looked {
    /// The first and the last event of the run of ids that was looked through.
    places: Option<(u64, u64)>,
    /// The number of each of them.
    seqs: HashMap<[u8; 16], u64>,
    /// The first that could not be looked at, and why.
    away: Option<(u64, String)>,
    /// The frames that were unpacked last, with the number of the first.
    frames: Option<(u64, Frames)>,
}

/// How many segments were looked into for ids, by all tests of this process.
#[cfg(test)]
pub(super) static UNPACKED: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// One transaction's events, until they are stored at its end.
pub(super) struct Batch<'t> {
    transaction: &'t WriteTransaction,
    /// Files that hold older events.
    archives: &'t Archives,
    /// The numbers of streams, once one was looked up: most streams that are not in the tail are new.
    streams: Option<Table<'t, &'static str, u64>>,
    /// Number of the first event of this transaction.
    fresh_first: u64,
    /// The events of this transaction. They become rows of the tail at the end, unless they are sealed at once.
    fresh: Frames,
    looked: Looked,
}

impl<'t> Batch<'t> {
    /// Begins, behind the first `size` events.
    pub(super) fn open(transaction: &'t WriteTransaction, archives: &'t Archives, size: u64) -> Self {
        let (fresh, looked) = (Frames::default(), Looked::default());
        Self { transaction, archives, streams: None, fresh_first: size + 1, fresh, looked }
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
        self.fresh.reserve(request.events.iter().map(|event| event.payload().len() + BESIDE_PAYLOAD_USUAL).sum());
        let (mut seq, mut places) = (first, Vec::with_capacity(request.events.len()));
        let mut committed = Committed::with_capacity(request.events.len());
        // Neighbours are mostly of one stream.
        for (stream, events) in request.events.by_stream() {
            let mut place = self.place(stream, tail)?;
            for event in events {
                places.push(place);
                place = place.behind(seq);
                self.insert((seq, event), place.version, &mut committed)?;
                seq += 1;
            }
            tail.stands(stream, place);
        }
        let leaves = committed.leaves();
        let heads = chain.extend(&leaves);
        let events = request.events.iter().zip(places);
        for ((seq, (event, place)), (leaf, head)) in (first..).zip(events).zip(leaves.iter().zip(heads)) {
            let frame = usize::try_from(seq - self.fresh_first).ok().and_then(|index| self.fresh.get_mut(index));
            let frame = frame.expect("it was just written");
            codec::check(frame, leaf);
            tail.push(seq, &event.header(place.version + 1), place, head, frame.len());
        }
        Ok(Ok(Appended::At { first, last: chain.range.size() }))
    }

    /// What speaks against the request, or `AlreadyThere`; `None` when it can be appended.
    fn refusal(
        &mut self,
        request: &Request,
        tail: &mut Tail,
    ) -> Result<Option<Result<Appended, AppendError>>, redb::Error> {
        let Some(head) = request.events.first() else {
            return Ok(Some(Err(AppendError::Malformed("it holds no event"))));
        };
        let is_long = |name: &str| name.len() > NAME_BYTES_MAX;
        if request.events.iter().any(|event| is_long(event.stream()) || is_long(event.actor())) {
            return Ok(Some(Err(AppendError::Malformed("a stream or actor name is longer than 1,024 bytes"))));
        }
        // What could be written, and never read again.
        if request.events.iter().map(PreparedEvent::framed).sum::<usize>() > segment::BYTES_MAX as usize {
            return Ok(Some(Err(AppendError::Malformed("its events are longer than 1 GiB together"))));
        }
        if request.events.iter().flat_map(PreparedEvent::blobs).any(|(_, bytes)| bytes.len() > blobs::BYTES_MAX) {
            return Ok(Some(Err(AppendError::Malformed("a text or blob of it is longer than 1 GiB"))));
        }
        if repeats_an_id(&request.events) {
            return Ok(Some(Err(AppendError::Malformed("two of its events have the same id"))));
        }
        let mut there = Vec::new();
        for event in request.events.iter() {
            let id = event.id();
            match self.there(event, tail)? {
                Ok(None) => {}
                Ok(Some((seq, true))) => there.push((id, seq)),
                Ok(Some((seq, false))) => return Ok(Some(Err(AppendError::IdTaken { id, seq }))),
                Err((seq, what)) => return Ok(Some(Err(AppendError::Away { id, seq, what }))),
            }
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
        let found = self.place(head.stream(), tail)?.version;
        let conflict = || Err(AppendError::Conflict { stream: head.stream().to_owned(), found, expected });
        Ok((found != expected).then(conflict))
    }

    /// Under which number the log has an event of this id, and whether it says the same as the draft. The place in the stream
    /// and the salt are the writer's own; of one that was erased only its header is left to be compared. The inner error names
    /// an archive file that is away.
    fn there(&mut self, event: PreparedEvent<'_>, tail: &Tail) -> Result<There, redb::Error> {
        let id = event.id();
        let same = |bytes: &[u8]| {
            let Ok(frame) = Frame::parse(bytes) else { return false };
            let Ok(header) = frame.header() else { return false };
            header == event.header(header.3) && frame.payload().is_none_or(|payload| payload == event.payload())
        };
        if tail.is_above_all(id.0) {
            return Ok(Ok(None));
        }
        if let Some(seq) = tail.seq_of(id.0) {
            let fresh = seq.checked_sub(self.fresh_first).map(|index| usize::try_from(index).unwrap_or(usize::MAX));
            let is_same = match fresh {
                Some(index) => self.fresh.get(index).is_some_and(same),
                None => unsealed::Tables::write(self.transaction)?.look(seq, same)?.unwrap_or_default(),
            };
            return Ok(Ok(Some((seq, is_same))));
        }
        let places = {
            let (by_id, id_runs) = (self.transaction.open_table(BY_ID)?, self.transaction.open_table(ID_RUNS)?);
            index::places_of_id(&by_id, &id_runs, id.0)?
        };
        let Some(places) = places else { return Ok(Ok(None)) };
        let seq = match self.seq_among(places, id)? {
            Ok(Some(seq)) => seq,
            Ok(None) => return Ok(Ok(None)),
            Err(away) => return Ok(Err(away)),
        };
        Ok(self.sealed(seq)?.map(|(first, frames)| {
            let bytes = usize::try_from(seq - first).ok().and_then(|index| frames.get(index));
            Some((seq, bytes.is_some_and(same)))
        }))
    }

    /// Which of some sealed events has an id. The inner error names the first of them that cannot be looked at.
    fn seq_among(&mut self, (first, last): (u64, u64), id: EventId) -> Result<Seen<Option<u64>>, redb::Error> {
        if first == last {
            return Ok(Ok(Some(first)));
        }
        if self.looked.places != Some((first, last)) {
            self.look_through(first, last)?;
        }
        let Looked { seqs, away, .. } = &self.looked;
        Ok(match (seqs.get(&id.0), away) {
            (Some(seq), _) => Ok(Some(*seq)),
            (None, Some(away)) => Err(away.clone()),
            (None, None) => Ok(None),
        })
    }

    /// Learns the ids of some sealed events.
    fn look_through(&mut self, first: u64, last: u64) -> Result<(), redb::Error> {
        let (mut seqs, mut away, mut next) = (HashMap::new(), None, first);
        while next <= last {
            match self.sealed(next)? {
                Ok((from, frames)) => {
                    let ids = (from..).zip(frames.iter()).filter(|(seq, _)| (next..=last).contains(seq));
                    seqs.extend(ids.filter_map(|(seq, bytes)| Some((index::id_of(bytes)?.0, seq))));
                    next = from + frames.len() as u64;
                }
                Err(refused) => {
                    away = Some(refused);
                    break;
                }
            }
        }
        self.looked = Looked { places: Some((first, last)), seqs, away, frames: self.looked.frames.take() };
        Ok(())
    }

    /// The sealed frames around an event, with the number of the first. The inner error names the event and says why there are
    /// none.
    fn sealed(&mut self, seq: u64) -> Result<Seen<(u64, &Frames)>, redb::Error> {
        let holds = |(first, frames): &(u64, Frames)| (*first..first + frames.len() as u64).contains(&seq);
        let found = match self.looked.frames.take().filter(holds) {
            Some(found) => found,
            None => match self.unpacked(seq)?.map(|found| Some(found).filter(holds)) {
                Ok(Some(found)) => found,
                Ok(None) => return Ok(Err((seq, "the segment before it ends too early".to_owned()))),
                Err(what) => return Ok(Err((seq, what))),
            },
        };
        let (first, frames) = self.looked.frames.insert(found);
        Ok(Ok((*first, frames)))
    }

    fn unpacked(&self, seq: u64) -> Result<Result<(u64, Frames), String>, redb::Error> {
        #[cfg(test)]
        UNPACKED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let segments = self.transaction.open_table(SEGMENTS)?;
        if let Some((first, value)) = segments.range(..=seq)?.next_back().transpose()? {
            let frames = Segment::parse(value.value()).and_then(|segment| segment.frames());
            return Ok(frames.map(|frames| (first.value(), frames)).map_err(|error| error.to_string()));
        }
        let listed = archives::listed_in(&self.transaction.open_table(META)?)
            .map_err(|error| redb::Error::Corrupted(error.to_string()))?;
        let run = self.archives.run(&listed, seq).and_then(|run| run.map(Run::unpack).transpose());
        Ok(match run {
            Ok(Some(run)) => Ok((run.first, run.frames)),
            Ok(None) => Err("no archive holds it".to_owned()),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Where a stream stands, earlier events of this batch counted.
    fn place(&mut self, stream: &str, tail: &mut Tail) -> Result<Place, redb::Error> {
        if let Some(place) = tail.place(stream) {
            return Ok(place);
        }
        let streams = match self.streams.take() {
            Some(open) => open,
            None => self.transaction.open_table(STREAMS)?,
        };
        let found = self.streams.insert(streams).range(stream..)?.next().transpose()?;
        if let Some((_, number)) = found.as_ref().filter(|(name, _)| name.value() == stream) {
            return tail::stored_place(&self.transaction.open_table(STREAM_RUNS)?, number.value());
        }
        tail.learn_gap(stream, found.map(|(name, _)| name.value().to_owned()));
        Ok(Place::default())
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

    /// Seals what is due, stores the rest, and says where the log ends; returns what is left to be done of a seal.
    pub(super) fn finish(
        self,
        chain: &Chain,
        known: &mut Tail,
        aside: &mut Aside,
    ) -> Result<Option<Packing>, redb::Error> {
        let Self { transaction, fresh_first, fresh, streams, .. } = self;
        drop(streams);
        let fresh = Arc::new(fresh);
        let packing = Unsealed { transaction, fresh_first, fresh: &fresh }.seal(known, aside)?;
        let first = fresh_first.max(known.sealed() + 1);
        let from = usize::try_from(first - fresh_first).expect("what is fresh is in memory");
        unsealed::put(transaction, (first, fresh.plain(from..fresh.len())), chain, known.lengths().page)?;
        Ok(packing)
    }

    /// Takes one event in, whose leaf is still to be made of what is committed to.
    fn insert(
        &mut self,
        (seq, event): (u64, PreparedEvent<'_>),
        version: u64,
        committed: &mut Committed,
    ) -> Result<(), redb::Error> {
        let (header, salted) = (event.header(version), event.salted());
        self.fresh.write(|bytes| {
            let header = codec::frame_onto(bytes, &header, salted);
            committed.push(seq, &bytes[header], salted.digest);
        });
        if !event.blobs().is_empty() {
            let mut blobs = self.transaction.open_table(BLOBS)?;
            for (hash, bytes) in event.blobs() {
                if blobs.get(hash.0)?.is_none() {
                    blobs.insert(hash.0, blobs::pack(bytes).as_slice())?;
                }
            }
        }
        Ok(())
    }
}

/// Ids mostly rise within a request; only where they do not are they sorted.
fn repeats_an_id(events: &Prepared) -> bool {
    let ids = events.iter().map(PreparedEvent::id);
    if ids.clone().is_sorted_by(|one, two| one < two) {
        return false;
    }
    let mut ids: Vec<_> = ids.collect();
    ids.sort_unstable();
    ids.windows(2).any(|pair| pair[0] == pair[1])
}

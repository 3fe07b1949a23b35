//! What the log's own `erased` events say is gone, held against what is there. The chain does not tell: an erased payload has the
//! leaf that it had, so a log verifies with the old bytes too, wherever they come from.
//!
//! A blob that was erased may come again: its name is that of its bytes, and a later event may have brought them anew.

use std::collections::{BTreeMap, BTreeSet};

use super::damage::Damage;
use super::reader::{ReadError, Reader};
use super::rewrite::{self, LeftOut, Tombstone};
use super::runs::Run;
use crate::codec::Frame;
use crate::envelope::{Body, Recorded};
use crate::event::{Event, upcast};
use crate::kept::BlobHash;
use crate::segment::Segment;

/// A digest of a tombstone.
type Mark = [u8; 16];

fn mark(tombstone: &[u8]) -> Mark {
    let hash = blake3::hash(tombstone);
    std::array::from_fn(|index| hash.as_bytes()[index])
}

/// An event that says what was taken out, or that the log goes on from a copy.
pub(super) type Record = (u64, i64, Event);

/// Whether an event is a record.
pub(super) fn is_record(event: &Event) -> bool {
    matches!(event, Event::Erased(_) | Event::EpochOpened(_))
}

/// What is gone by the records, taken in their order.
#[derive(Default)]
pub(super) struct Erasures {
    payloads: Vec<Payloads>,
    /// Blobs, and the newest record that names each.
    blobs: BTreeMap<BlobHash, u64>,
    /// Blobs that were not found when the log was salvaged.
    lost: BTreeSet<BlobHash>,
    /// Events that were appended again have numbers of another log, but for those that it has in common: up to where, and which.
    again: (u64, u64),
    /// Where such events lie, first and last; with none of them behind a backup that was restored.
    regions: Vec<(u64, u64)>,
}

/// What a log holds that is not what its records say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contradiction {
    /// The payload of an event is there.
    Live { seq: u64, by: u64 },
    /// It is gone, and no record says so.
    Silent { seq: u64 },
    /// It is gone, and what stands in its place is not what the record says.
    Altered { seq: u64, by: u64 },
}

/// What one record says of payloads.
struct Payloads {
    by: u64,
    runs: Vec<(u64, u64)>,
    tombstone: Tombstone,
    /// Whether it came while the events were being looked at: some of its own may have been seen before it.
    is_late: bool,
}

impl Erasures {
    /// Takes the next record.
    pub(super) fn take(&mut self, record: &Record) {
        self.take_one(record, false);
    }

    /// Takes one that was appended after the events began to be looked at: it accounts for what is gone, and demands nothing.
    pub(super) fn take_late(&mut self, record: &Record) {
        self.take_one(record, true);
    }

    fn take_one(&mut self, (seq, time, event): &Record, is_late: bool) {
        match event {
            Event::Erased(erased) => {
                self.blobs.extend(erased.blobs.iter().map(|blob| (*blob, *seq)));
                let (until, common) = self.again;
                let known = if *seq <= until { common } else { seq - 1 };
                let clipped = |run: &(u64, u64)| (run.0.max(1), run.1.min(known));
                let runs = erased.payloads().iter().map(clipped).filter(|(first, last)| first <= last).collect();
                let tombstone = Tombstone { reason: erased.reason.clone(), by: erased.by.clone(), at: *time };
                self.payloads.push(Payloads { by: *seq, runs, tombstone, is_late });
            }
            Event::EpochOpened(epoch) => {
                self.lost.extend(epoch.lost_blobs.iter().copied());
                self.regions.push((seq + 1, seq.saturating_add(epoch.again.unwrap_or(0))));
                if let Some(again) = epoch.again.filter(|_| *seq > self.again.0) {
                    self.again = (seq.saturating_add(again), epoch.size);
                }
            }
            _ => {}
        }
    }

    /// Which payloads must not be copied.
    pub(super) fn left_out(&self) -> LeftOut {
        let mut left_out = LeftOut::default();
        for Payloads { runs, tombstone, .. } in &self.payloads {
            left_out.add(runs.iter().flat_map(|(first, last)| *first..=*last), tombstone);
        }
        left_out
    }

    /// Whether a record accounts for a blob that is not there.
    pub(super) fn excuses(&self, hash: &BlobHash) -> bool {
        self.blobs.contains_key(hash) || self.lost.contains(hash)
    }

    /// The first event that is not what the records say; of payloads that must not be there those behind `after`.
    pub(super) fn contradicted_by(&self, remains: &Remains, after: u64) -> Option<Contradiction> {
        let live = self.first_live(remains, after).map(|(seq, by)| Contradiction::Live { seq, by });
        live.or_else(|| self.first_unsaid(remains))
    }

    /// What was erased once keeps the tombstone that it got.
    fn first_unsaid(&self, remains: &Remains) -> Option<Contradiction> {
        let mut said: BTreeMap<u64, usize> = BTreeMap::new();
        for (index, Payloads { runs, .. }) in self.payloads.iter().enumerate() {
            for seq in runs.iter().flat_map(|(first, last)| *first..=*last) {
                said.entry(seq).or_insert(index);
            }
        }
        let marks: Vec<Mark> = self.payloads.iter().map(|record| mark(&rewrite::stored(&record.tombstone))).collect();
        // A copy may have lost the record, or have been taken before it, and what was appended again has other numbers.
        let copied = self.regions.iter().map(|(first, _)| first - 1).max().unwrap_or(0);
        for (seq, found) in
            remains.gone.iter().flat_map(|(first, last, found)| (*first..=*last).map(move |seq| (seq, found)))
        {
            match said.get(&seq) {
                Some(index) if marks[*index] == *found => {}
                Some(index) => return Some(Contradiction::Altered { seq, by: self.payloads[*index].by }),
                None if seq < copied || self.regions.iter().any(|(first, last)| (*first..=*last).contains(&seq)) => {}
                None => return Some(Contradiction::Silent { seq }),
            }
        }
        None
    }

    fn first_live(&self, remains: &Remains, after: u64) -> Option<(u64, u64)> {
        let first = |record: &Payloads| {
            let live =
                record.runs.iter().filter_map(|(first, last)| remains.first_live(*first.max(&(after + 1)), *last));
            live.min().map(|seq| (seq, record.by))
        };
        self.payloads.iter().filter(|record| !record.is_late).filter_map(first).min()
    }

    /// The blobs that are there and that nothing named since they were erased, each with the record that says so.
    pub(super) fn unerased_blobs(
        &self,
        remains: &Remains,
        mut is_there: impl FnMut(BlobHash) -> Result<bool, ReadError>,
    ) -> Result<Vec<(BlobHash, u64)>, ReadError> {
        let mut unerased = Vec::new();
        for (hash, by) in self.blobs.iter().filter(|(hash, by)| !remains.names_behind(hash, **by)) {
            if is_there(*hash)? {
                unerased.push((*hash, *by));
            }
        }
        Ok(unerased)
    }
}

/// What is left of the events, as far as it matters here.
#[derive(Default)]
pub(super) struct Remains {
    /// Runs of events without a payload, in order, and what stands in its place.
    gone: Vec<(u64, u64, Mark)>,
    /// Blobs that payloads name, and the last event that does.
    named: BTreeMap<BlobHash, u64>,
    /// The last event of an unknown kind, which may name anything.
    unknown: u64,
}

impl Remains {
    /// An event, in order, that was erased, with its tombstone.
    pub(super) fn erased(&mut self, seq: u64, tombstone: &[u8]) {
        self.push((seq, seq, mark(tombstone)));
    }

    fn push(&mut self, run: (u64, u64, Mark)) {
        match self.gone.last_mut() {
            Some((_, last, mark)) if (*last + 1, *mark) == (run.0, run.2) => *last = run.1,
            _ => self.gone.push(run),
        }
    }

    pub(super) fn names(&mut self, seq: u64, blobs: impl IntoIterator<Item = BlobHash>) {
        self.named.extend(blobs.into_iter().map(|blob| (blob, seq)));
    }

    pub(super) fn unknown(&mut self, seq: u64) {
        self.unknown = self.unknown.max(seq);
    }

    /// Takes in what is behind it.
    pub(super) fn join(&mut self, other: Self) {
        other.gone.into_iter().for_each(|run| self.push(run));
        self.named.extend(other.named);
        self.unknown = self.unknown.max(other.unknown);
    }

    /// What an event names.
    pub(super) fn take(&mut self, mut recorded: Recorded) {
        let blobs: Vec<BlobHash> = recorded.events_mut().iter_mut().flat_map(Event::blobs).collect();
        self.names(recorded.seq, blobs);
        if matches!(recorded.body, Body::Unknown(_)) {
            self.unknown(recorded.seq);
        }
    }

    fn first_live(&self, first: u64, last: u64) -> Option<u64> {
        let mut next = first;
        let at = self.gone.partition_point(|(_, end, _)| *end < first);
        for (begin, end, _) in &self.gone[at..] {
            if *begin > next || next > last {
                break;
            }
            next = end + 1;
        }
        (next <= last).then_some(next)
    }

    fn names_behind(&self, hash: &BlobHash, seq: u64) -> bool {
        self.unknown > seq || self.named.get(hash).is_some_and(|last| *last > seq)
    }
}

impl Reader {
    /// What the log says is gone against what is there: a blob that is missing must be accounted for, and what was erased must
    /// not be there.
    pub(super) fn verify_erasures(
        &self,
        (mut erasures, mut remains): (Erasures, Remains),
        missing: &[(u64, BlobHash)],
        (after, total): (u64, u64),
    ) -> Result<(), Damage> {
        let said = self.contradicted(&erasures, &remains, missing, after)?;
        if said.is_none() || self.size()? == total {
            return said.map_or(Ok(()), Err);
        }
        // What was appended since this began may account for it.
        self.each(total + 1, |recorded| {
            for event in recorded.events().iter().filter(|event| is_record(event)) {
                erasures.take_late(&(recorded.seq, recorded.time.0, event.clone()));
            }
            remains.take(recorded);
            Ok::<bool, ReadError>(true)
        })?;
        self.contradicted(&erasures, &remains, missing, after)?.map_or(Ok(()), Err)
    }

    fn contradicted(
        &self,
        erasures: &Erasures,
        remains: &Remains,
        missing: &[(u64, BlobHash)],
        after: u64,
    ) -> Result<Option<Damage>, Damage> {
        if let Some((seq, hash)) = missing.iter().find(|(_, hash)| !erasures.excuses(hash)) {
            return Ok(Some(Damage::Blob { hash: *hash, what: format!("it is missing, and event {seq} names it") }));
        }
        if let Some(contradiction) = erasures.contradicted_by(remains, after) {
            let table = |seq| {
                Ok::<_, ReadError>(self.run(seq)?.map(Run::unpack).transpose()?.map_or("tail", |run| run.table()))
            };
            let event = |seq, what: String| Ok(Some(Damage::Event { seq, table: table(seq)?, what }));
            return match contradiction {
                Contradiction::Live { seq, by } => Ok(Some(Damage::Unerased { seq, table: table(seq)?, by })),
                Contradiction::Silent { seq } => {
                    event(seq, "what it held is gone, and no event says that it was erased".to_owned())
                }
                Contradiction::Altered { seq, by } => {
                    event(seq, format!("what stands in the place of what was erased is not what event {by} says"))
                }
            };
        }
        let blobs = erasures.unerased_blobs(remains, |hash| self.has_blob(hash))?;
        Ok(blobs.first().map(|(hash, by)| Damage::UnerasedBlob { hash: *hash, by: *by }))
    }

    /// What the log says was erased.
    pub(super) fn erasures(&self) -> Result<Erasures, ReadError> {
        let mut erasures = Erasures::default();
        for recorded in self.stream("instance")? {
            for event in recorded.events().iter().filter(|event| is_record(event)) {
                erasures.take(&(recorded.seq, recorded.time.0, event.clone()));
            }
        }
        Ok(erasures)
    }

    /// What must not be copied: the payloads that were erased, and blobs that were and are there all the same.
    pub(super) fn left_out(&self) -> Result<LeftOut, ReadError> {
        let erasures = self.erasures()?;
        let mut left_out = erasures.left_out();
        let none = Remains::default();
        let there = erasures.unerased_blobs(&none, |hash| self.has_blob(hash))?;
        if let Some(first) = there.iter().map(|(_, by)| *by).min() {
            let mut remains = Remains::default();
            self.each(first, |recorded| {
                remains.take(recorded);
                Ok::<bool, ReadError>(true)
            })?;
            let blobs = erasures.unerased_blobs(&remains, |hash| self.has_blob(hash))?;
            left_out.blobs.extend(blobs.into_iter().map(|(hash, _)| hash));
        }
        Ok(left_out)
    }
}

/// The records in a stored segment. What is damaged says nothing; whoever takes the segment finds that.
pub(super) fn records_of(value: &[u8]) -> Vec<Record> {
    let Ok(segment) = Segment::parse(value) else { return Vec::new() };
    // It says in clear what it holds. Records never get another label.
    if !["erased", "epoch_opened"].iter().any(|label| segment.header.kinds.contains(*label)) {
        return Vec::new();
    }
    let Ok(frames) = segment.frames() else { return Vec::new() };
    let read = |(seq, bytes): (u64, &[u8])| {
        let frame = Frame::parse(bytes).ok()?;
        let header = frame.header().ok()?;
        let events = match upcast::read(header.4, header.5, frame.payload()?).ok()? {
            Body::Known(event) => vec![event],
            Body::Raised(events) => events,
            Body::Unknown(_) | Body::Erased => Vec::new(),
        };
        Some(events.into_iter().filter(is_record).map(move |event| (seq, header.1, event)))
    };
    (segment.header.first..).zip(frames.iter()).filter_map(read).flatten().collect()
}

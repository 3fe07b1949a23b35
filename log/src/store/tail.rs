//! What the writer knows of the events that are not sealed. They have no rows in the indexes yet: until it is sealed, the
//! tail is its own index, short enough to be looked through, and one commit writes the fewer pages.

use std::collections::{HashMap, VecDeque};

use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable};

use super::index::{self, Rows};
use super::seal::Lengths;
use super::tables::{BY_ID, ID_RUNS, SEGMENTS, STREAM_RUNS, STREAMS};
use super::unsealed;
use crate::chain::{self, Chain};
use crate::codec::Frame;
use crate::envelope::Header;
use crate::segment::Segment;

/// What frames shrink to before anything was measured, in thousandths.
const SHRINKS_TO: usize = 350;

/// How long the frames of one segment may be together, unless a single one is longer: who reads one event unpacks them all.
const UNPACKED_BYTES_MAX: usize = 1 << 20;

/// Where a stream stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Its number: that of the event that opened it; `None` while no event did.
    pub(super) number: Option<u64>,
    /// The version of its last event; 0 while there is none.
    pub(super) version: u64,
    /// The last event of it in the tail; 0 while there is none.
    last: u64,
}

impl Place {
    /// Behind one more event.
    pub(super) fn behind(self, seq: u64) -> Self {
        Self { number: Some(self.number.unwrap_or(seq)), version: self.version + 1, last: seq }
    }
}

/// One event of the tail: what sealing and the indexes want of it.
pub(super) struct Entry {
    pub(super) seq: u64,
    /// The chain's head after it.
    pub(super) head: [u8; 32],
    bytes: u32,
    pub(super) time: i64,
    /// Its place in [`Tail::kinds`].
    pub(super) kind: usize,
    id: [u8; 16],
    stream: u64,
    version: u64,
}

/// Names that the indexes do not have: from one on, up to the first behind it that they have.
struct Gap {
    from: String,
    next: Option<String>,
}

impl Gap {
    fn holds(&self, stream: &str) -> bool {
        self.from.as_str() <= stream && self.next.as_deref().is_none_or(|next| stream < next)
    }
}

/// The unsealed end of the log.
pub(super) struct Tail {
    /// The last sealed event.
    sealed: u64,
    /// The chain's head there.
    head: [u8; 32],
    entries: VecDeque<Entry>,
    bytes: usize,
    /// Labels that were seen.
    kinds: Vec<String>,
    /// The streams that these events belong to.
    streams: HashMap<String, Place>,
    /// Where no other stream is, as the last lookup found: the names of new ones mostly rise.
    gap: Option<Gap>,
    /// The greatest id in the log: ids mostly rise, and what is above it need not be looked up.
    newest: Option<[u8; 16]>,
    /// The greatest id of a sealed event.
    sealed_newest: Option<[u8; 16]>,
    lengths: Lengths,
    /// What frames shrank to the last time, in thousandths.
    thousandths: usize,
    /// Whether the stored rows are those that were chained. Others are never sealed.
    is_sound: bool,
}

impl Tail {
    /// Looks at the stored tail. One that is damaged is not sealed; what is wrong with it is for verification to say.
    pub(super) fn load(database: &Database, chain: &Chain, lengths: Lengths) -> Result<Self, redb::Error> {
        let transaction = database.begin_read()?;
        let (sealed, head, is_sound) = sealed_end(&transaction)?;
        let newest = index::greatest_id(&transaction.open_table(BY_ID)?, &transaction.open_table(ID_RUNS)?)?;
        let mut tail = Self {
            sealed,
            head,
            entries: VecDeque::new(),
            bytes: 0,
            kinds: Vec::new(),
            streams: HashMap::new(),
            gap: None,
            newest,
            sealed_newest: newest,
            lengths,
            thousandths: SHRINKS_TO,
            is_sound,
        };
        let (streams, stream_runs) = (transaction.open_table(STREAMS)?, transaction.open_table(STREAM_RUNS)?);
        let mut reached = head;
        let mut expected = sealed + 1;
        unsealed::Tables::read(&transaction)?.each(sealed + 1, |seq, bytes| -> Result<(), redb::Error> {
            tail.is_sound &= seq == expected;
            expected = seq + 1;
            let parsed = Frame::parse(bytes).and_then(|frame| Ok((frame, frame.header()?)));
            let Ok((frame, header)) = parsed else {
                tail.is_sound = false;
                return Ok(());
            };
            let leaf = frame.leaf(seq);
            tail.is_sound &= leaf[..8] == frame.check;
            reached = chain::advance(&reached, &leaf);
            let place = match (tail.place(header.2), streams.get(header.2)?) {
                (Some(place), _) => place,
                (None, Some(number)) => stored_place(&stream_runs, number.value())?,
                (None, None) => Place::default(),
            };
            let place = tail.push(seq, &header, place, reached, bytes.len());
            tail.stands(header.2, place);
            Ok(())
        })?;
        tail.is_sound &= reached == chain.head;
        Ok(tail)
    }

    /// How long the values of segments are to be.
    pub(super) fn lengths(&self) -> Lengths {
        self.lengths
    }

    /// The last sealed event.
    pub(super) fn sealed(&self) -> u64 {
        self.sealed
    }

    /// Where a stream stands, if that is known without the indexes: an event of it is in the tail, or it is a new one.
    pub(super) fn place(&self, stream: &str) -> Option<Place> {
        let is_new = || self.gap.as_ref().is_some_and(|gap| gap.holds(stream));
        self.streams.get(stream).copied().or_else(|| is_new().then(Place::default))
    }

    /// Learns that the indexes have no such stream, and the first name behind it that they have.
    pub(super) fn learn_gap(&mut self, stream: &str, next: Option<String>) {
        self.gap = Some(Gap { from: stream.to_owned(), next });
    }

    /// Where an id stands, if it is that of an event of the tail.
    pub(super) fn seq_of(&self, id: [u8; 16]) -> Option<u64> {
        self.entries.iter().rev().find(|entry| entry.id == id).map(|entry| entry.seq)
    }

    /// Whether every id of the log is below this one.
    pub(super) fn is_above_all(&self, id: [u8; 16]) -> bool {
        self.newest < Some(id)
    }

    /// Takes one more event in; `place` is where its stream stood, `head` the chain's head after it. Returns where the stream
    /// stands now, which [`Self::stands`] is to be told.
    pub(super) fn push(&mut self, seq: u64, header: &Header<'_>, place: Place, head: [u8; 32], bytes: usize) -> Place {
        let Header(id, time, _, version, kind, ..) = *header;
        let number = place.number.unwrap_or(seq);
        let known = self.kinds.iter().position(|known| known == kind);
        let kind = known.unwrap_or_else(|| {
            self.kinds.push(kind.to_owned());
            self.kinds.len() - 1
        });
        let bytes = u32::try_from(bytes).expect("frames are far below 4 GiB");
        self.newest = self.newest.max(Some(id.0));
        self.bytes += bytes as usize;
        self.entries.push_back(Entry { seq, head, bytes, time, kind, id: id.0, stream: number, version });
        Place { number: Some(number), version, last: seq }
    }

    /// Learns where a stream stands behind its last event.
    pub(super) fn stands(&mut self, stream: &str, place: Place) {
        match self.streams.get_mut(stream) {
            Some(known) => *known = place,
            None => drop(self.streams.insert(stream.to_owned(), place)),
        }
    }

    /// Whether there is anything to be sealed, and nothing that speaks against it.
    pub(super) fn can_be_sealed(&self) -> bool {
        self.is_sound && !self.entries.is_empty()
    }

    /// Whether there is enough for a segment of so many bytes, or for one that is as long as it may be unpacked.
    pub(super) fn fills(&self, value_bytes: usize) -> bool {
        self.can_be_sealed() && (self.shrinks_to() >= value_bytes || self.bytes >= UNPACKED_BYTES_MAX)
    }

    /// What all of it is expected to shrink to.
    pub(super) fn shrinks_to(&self) -> usize {
        self.shrunk_to(self.bytes)
    }

    /// What so many bytes of frames are expected to shrink to.
    pub(super) fn shrunk_to(&self, bytes: usize) -> usize {
        bytes * self.thousandths / 1000
    }

    /// How many of the oldest events are expected to shrink to so many bytes.
    pub(super) fn filling(&self, value_bytes: usize) -> usize {
        let mut bytes = 0;
        let fits = |entry: &&Entry| {
            bytes += entry.bytes as usize;
            self.shrunk_to(bytes) < value_bytes && bytes < UNPACKED_BYTES_MAX
        };
        self.entries.iter().take_while(fits).count().max(1)
    }

    /// Takes so many of the oldest events out: they are being sealed, and are the last that are.
    pub(super) fn take(&mut self, count: usize) -> Vec<Entry> {
        let taken: Vec<Entry> = self.entries.drain(..count).collect();
        self.bytes -= taken.iter().map(|entry| entry.bytes as usize).sum::<usize>();
        if let Some(last) = taken.last() {
            (self.sealed, self.head) = (last.seq, last.head);
        }
        taken
    }

    /// The rows that events which were taken out have in the indexes.
    pub(super) fn rows<'e>(&mut self, taken: impl Iterator<Item = &'e Entry> + Clone) -> Rows {
        let first = taken.clone().next().map_or(0, |entry| entry.seq);
        let mut rows = Rows::with_capacity(taken.clone().count());
        for entry in taken {
            rows.take(entry.seq, entry.id, (entry.stream, entry.version));
        }
        for (name, place) in &self.streams {
            if let Some(number) = place.number.filter(|number| (first..=self.sealed).contains(number)) {
                rows.open(name, number);
            }
        }
        self.streams.retain(|_, place| place.last > self.sealed);
        // The indexes are to have what is opened here.
        self.gap = None;
        rows
    }

    /// The labels that entries name by their places.
    pub(super) fn kinds(&self) -> &[String] {
        &self.kinds
    }

    /// The chain's head after the last sealed event.
    pub(super) fn head(&self) -> [u8; 32] {
        self.head
    }

    /// The greatest id of a sealed event.
    pub(super) fn sealed_newest(&self) -> Option<[u8; 16]> {
        self.sealed_newest
    }

    /// Learns what came of those that were taken out: the greatest id up to them, and what the frames of the last segment
    /// shrank to.
    pub(super) fn sealed_as(&mut self, greatest: Option<[u8; 16]>, (packed, unpacked): (usize, usize)) {
        self.sealed_newest = greatest;
        self.thousandths = (packed * 1000 / unpacked.max(1)).max(1);
    }
}

/// Where a stream of that number stands, as the indexes say.
pub(super) fn stored_place(
    stream_runs: &impl ReadableTable<(u64, u64), &'static [u8]>,
    number: u64,
) -> Result<Place, redb::Error> {
    Ok(Place { number: Some(number), version: index::last_version(stream_runs, number)?, last: 0 })
}

/// The last sealed event, the head there, and whether its segment is sound.
fn sealed_end(transaction: &ReadTransaction) -> Result<(u64, [u8; 32], bool), redb::Error> {
    let segments = transaction.open_table(SEGMENTS)?;
    let Some((_, value)) = segments.last()? else { return Ok((0, chain::GENESIS, true)) };
    Ok(Segment::parse(value.value())
        .map_or((0, chain::GENESIS, false), |segment| (segment.header.last, segment.header.head_after, true)))
}

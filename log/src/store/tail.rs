//! What the writer knows of the events that are not sealed. They have no rows in the indexes yet: until it is sealed, the
//! tail is its own index, short enough to be looked through, and one commit writes the fewer pages.

use std::collections::{BTreeSet, HashMap, VecDeque};

use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, WriteTransaction};

use super::tables::{BY_ID, BY_STREAM, SEGMENTS, STREAMS, TAIL};
use crate::chain::{self, Chain};
use crate::codec::Frame;
use crate::envelope::Header;
use crate::segment::{Sealing, Segment};

/// What frames shrink to before anything was measured, in thousandths.
const SHRINKS_TO: u64 = 350;

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

/// One event of the tail: what sealing and the indexes want of it.
struct Entry {
    seq: u64,
    leaf: [u8; 32],
    bytes: u32,
    time: i64,
    /// Its place in `Tail::kinds`.
    kind: usize,
    id: [u8; 16],
    stream: u64,
    version: u64,
}

/// The unsealed end of the log.
pub(super) struct Tail {
    /// The last sealed event.
    sealed: u64,
    /// The chain's head there.
    head: [u8; 32],
    entries: VecDeque<Entry>,
    bytes: u64,
    /// Labels that were seen.
    kinds: Vec<String>,
    /// The streams that these events belong to.
    streams: HashMap<String, Place>,
    /// The greatest id in the log: ids mostly rise, and what is above it need not be looked up.
    newest: Option<[u8; 16]>,
    /// What frames shrank to the last time, in thousandths.
    shrinks_to: u64,
    /// Whether the stored rows are those that were chained. Others are never sealed.
    is_sound: bool,
}

/// The rows that sealed events have in the indexes.
#[derive(Default)]
pub(super) struct Rows {
    ids: Vec<([u8; 16], u64)>,
    places: Vec<((u64, u64), u64)>,
    opened: Vec<(String, u64)>,
}

impl Rows {
    /// Stores them. In the order of their keys, so that neighbours are written in passing.
    pub(super) fn store(mut self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        self.ids.sort_unstable();
        self.places.sort_unstable();
        self.opened.sort_unstable();
        let mut by_id = transaction.open_table(BY_ID)?;
        for (id, seq) in self.ids {
            by_id.insert(id, seq)?;
        }
        let mut by_stream = transaction.open_table(BY_STREAM)?;
        for (place, seq) in self.places {
            by_stream.insert(place, seq)?;
        }
        let mut streams = transaction.open_table(STREAMS)?;
        for (name, number) in self.opened {
            streams.insert(name.as_str(), number)?;
        }
        Ok(())
    }
}

impl Tail {
    /// Looks at the stored tail. One that is damaged is not sealed; what is wrong with it is for verification to say.
    pub(super) fn load(database: &Database, chain: &Chain) -> Result<Self, redb::Error> {
        let transaction = database.begin_read()?;
        let (sealed, head, is_sound) = sealed_end(&transaction)?;
        let newest = transaction.open_table(BY_ID)?.last()?.map(|(id, _)| id.value());
        let mut tail = Self {
            sealed,
            head,
            entries: VecDeque::new(),
            bytes: 0,
            kinds: Vec::new(),
            streams: HashMap::new(),
            newest,
            shrinks_to: SHRINKS_TO,
            is_sound,
        };
        let mut reached = head;
        let mut expected = sealed + 1;
        for row in transaction.open_table(TAIL)?.range(sealed + 1..)? {
            let (seq, bytes) = row?;
            let (seq, bytes) = (seq.value(), bytes.value());
            tail.is_sound &= seq == expected;
            expected = seq + 1;
            let frame = Frame::parse(bytes);
            let (Ok(frame), Ok(header)) =
                (&frame, frame.as_ref().map_or_else(|_| Err(()), |f| f.header().map_err(drop)))
            else {
                tail.is_sound = false;
                continue;
            };
            let leaf = frame.leaf(seq);
            tail.is_sound &= leaf[..8] == frame.check;
            reached = chain::advance(&reached, &leaf);
            let stored = || stored_place(&transaction, header.2);
            let place = tail.streams.get(header.2).copied().map_or_else(stored, Ok)?;
            tail.push(seq, &header, place, leaf, bytes.len());
        }
        tail.is_sound &= reached == chain.head;
        Ok(tail)
    }

    /// The last sealed event.
    pub(super) fn sealed(&self) -> u64 {
        self.sealed
    }

    /// How many events there are behind it.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Where a stream stands, if an event of it is in the tail.
    pub(super) fn place(&self, stream: &str) -> Option<Place> {
        self.streams.get(stream).copied()
    }

    /// Where an id stands, if it is that of an event of the tail.
    pub(super) fn seq_of(&self, id: [u8; 16]) -> Option<u64> {
        self.entries.iter().rev().find(|entry| entry.id == id).map(|entry| entry.seq)
    }

    /// Whether every id of the log is below this one.
    pub(super) fn is_above_all(&self, id: [u8; 16]) -> bool {
        self.newest < Some(id)
    }

    /// Takes one more event in; `place` is where its stream stood.
    pub(super) fn push(&mut self, seq: u64, header: &Header<'_>, place: Place, leaf: [u8; 32], bytes: usize) {
        let Header(id, time, stream, version, kind, ..) = *header;
        let number = place.number.unwrap_or(seq);
        let place = Place { number: Some(number), version, last: seq };
        match self.streams.get_mut(stream) {
            Some(known) => *known = place,
            None => drop(self.streams.insert(stream.to_owned(), place)),
        }
        let known = self.kinds.iter().position(|known| known == kind);
        let kind = known.unwrap_or_else(|| {
            self.kinds.push(kind.to_owned());
            self.kinds.len() - 1
        });
        let bytes = u32::try_from(bytes).expect("frames are far below 4 GiB");
        self.newest = self.newest.max(Some(id.0));
        self.bytes += u64::from(bytes);
        self.entries.push_back(Entry { seq, leaf, bytes, time, kind, id: id.0, stream: number, version });
    }

    /// What its frames are expected to shrink to, in bytes; nothing where they must not be sealed.
    pub(super) fn packed(&self) -> u64 {
        if self.is_sound { self.bytes * self.shrinks_to / 1000 } else { 0 }
    }

    /// What so many bytes of frames are expected to shrink to.
    pub(super) fn shrunk(&self, bytes: usize) -> u64 {
        bytes as u64 * self.shrinks_to / 1000
    }

    /// How many of the oldest events are expected to shrink to so many bytes.
    pub(super) fn filling(&self, value_bytes: usize) -> usize {
        let mut packed = 0;
        let fits = |entry: &&Entry| {
            packed += u64::from(entry.bytes) * self.shrinks_to;
            packed < value_bytes as u64 * 1000
        };
        self.entries.iter().take_while(fits).count().max(1)
    }

    /// Learns what frames shrink to.
    pub(super) fn measured(&mut self, packed: usize, unpacked: u32) {
        self.shrinks_to = (packed as u64 * 1000 / u64::from(unpacked).max(1)).max(1);
    }

    /// What a segment of so many of the oldest events says of them.
    pub(super) fn sealing(&self, count: usize) -> Sealing {
        let mut sealing = Sealing::default();
        let mut kinds = BTreeSet::new();
        for entry in self.entries.iter().take(count) {
            sealing.note_time(entry.time);
            kinds.insert(entry.kind);
        }
        for kind in kinds {
            sealing.note_kind(&self.kinds[kind]);
        }
        sealing
    }

    /// So many of the oldest events are sealed now. Returns the last of them, the heads before the first and after the last,
    /// and their rows in the indexes.
    pub(super) fn sealed_to(&mut self, count: usize) -> (u64, [[u8; 32]; 2], Rows) {
        let before = self.head;
        let mut rows = Rows::default();
        for entry in self.entries.drain(..count) {
            self.bytes -= u64::from(entry.bytes);
            self.head = chain::advance(&self.head, &entry.leaf);
            rows.ids.push((entry.id, entry.seq));
            rows.places.push(((entry.stream, entry.version), entry.seq));
            self.sealed = entry.seq;
        }
        let first = rows.ids.first().map_or(0, |(_, seq)| *seq);
        let opened = self.streams.iter().filter_map(|(name, place)| {
            let number = place.number.filter(|number| (first..=self.sealed).contains(number))?;
            Some((name.clone(), number))
        });
        rows.opened = opened.collect();
        self.streams.retain(|_, place| place.last > self.sealed);
        (self.sealed, [before, self.head], rows)
    }
}

/// Where a stream stands, as the indexes say.
fn stored_place(transaction: &ReadTransaction, stream: &str) -> Result<Place, redb::Error> {
    place_in(&transaction.open_table(STREAMS)?, &transaction.open_table(BY_STREAM)?, stream)
}

/// The same within a transaction that writes.
pub(super) fn place_in(
    streams: &impl ReadableTable<&'static str, u64>,
    by_stream: &impl ReadableTable<(u64, u64), u64>,
    stream: &str,
) -> Result<Place, redb::Error> {
    let Some(number) = streams.get(stream)?.map(|number| number.value()) else { return Ok(Place::default()) };
    let last = by_stream.range((number, 0)..=(number, u64::MAX))?.next_back().transpose()?;
    Ok(Place { number: Some(number), version: last.map_or(0, |(key, _)| key.value().1), last: 0 })
}

/// The last sealed event, the head there, and whether its segment is sound.
fn sealed_end(transaction: &ReadTransaction) -> Result<(u64, [u8; 32], bool), redb::Error> {
    let segments = transaction.open_table(SEGMENTS)?;
    let Some((_, value)) = segments.last()? else { return Ok((0, chain::GENESIS, true)) };
    Ok(Segment::parse(value.value())
        .map_or((0, chain::GENESIS, false), |segment| (segment.header.last, segment.header.head_after, true)))
}

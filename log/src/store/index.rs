//! The rows that sealed events have in the indexes: how they are written, read, and compared with the events.
//!
//! Rows are few, since each is written once and found by every verification: the events of a stream that are sealed
//! together are one row, and so are all events whose ids are above every id that was sealed before, which is most of them.

use std::collections::{BTreeMap, HashMap};

use redb::{ReadTransaction, ReadableTable, WriteTransaction};

use super::damage::Damage;
use super::tables::{BY_ID, ID_RUNS, STREAM_RUNS, STREAMS};
use crate::codec::Frame;
use crate::envelope::Header;
use crate::id::EventId;

/// How far apart in time, in ms, neighbours in a run of ids may be: an id that is far ahead of the others (of a clock that went
/// wrong) would else stretch a run over all that come later, and each of those would be looked for among its events.
const RUN_GAP_MS: u64 = 60 * 60 * 1000;
/// The most events of one row of `stream_runs`.
const RUN_EVENTS_MAX: usize = 1024;

/// A run of ids as it is stored: the greatest of them, and the first and the last event that they are ids of.
pub(super) type IdRun = ([u8; 16], u64, u64);

/// An id and the number of its event.
type Named = ([u8; 16], u64);

/// The rows of events that are sealed together.
pub(super) struct Rows {
    ids: Vec<Named>,
    places: Vec<((u64, u64), u64)>,
    opened: Vec<(String, u64)>,
    /// Events behind which a run of ids may end.
    ends: Vec<u64>,
}

impl Rows {
    /// Those of so many events.
    pub(super) fn with_capacity(events: usize) -> Self {
        let (ids, places) = (Vec::with_capacity(events), Vec::with_capacity(events));
        Self { ids, places, opened: Vec::new(), ends: Vec::new() }
    }

    /// Learns behind which events segments end, in order: whoever looks for an id unpacks all that its run speaks of.
    pub(super) fn end_behind(&mut self, ends: impl Iterator<Item = u64>) {
        self.ends.extend(ends);
    }

    /// Takes one event in: its id, the number of its stream and its version.
    pub(super) fn take(&mut self, seq: u64, id: [u8; 16], place: (u64, u64)) {
        self.ids.push((id, seq));
        self.places.push((place, seq));
    }

    /// Takes a stream in that one of them opened.
    pub(super) fn open(&mut self, name: &str, number: u64) {
        self.opened.push((name.to_owned(), number));
    }

    /// Stores them, behind ids of which `greatest` is the greatest. Returns the greatest after them.
    pub(super) fn store(
        mut self,
        transaction: &WriteTransaction,
        greatest: Option<[u8; 16]>,
    ) -> Result<Option<[u8; 16]>, redb::Error> {
        self.ids.sort_unstable();
        self.places.sort_unstable();
        self.opened.sort_unstable();
        let (single, run) = self.ids.split_at(self.ids.partition_point(|(id, _)| Some(*id) <= greatest));
        if !single.is_empty() {
            let mut by_id = transaction.open_table(BY_ID)?;
            for (id, seq) in single {
                by_id.insert(id, seq)?;
            }
        }
        for run in run.chunk_by(goes_on(run, &self.ends)) {
            let seqs = || run.iter().map(|(_, seq)| *seq);
            let (first, last) = (seqs().min().unwrap_or_default(), seqs().max().unwrap_or_default());
            transaction.open_table(ID_RUNS)?.insert(run[0].0, (run[run.len() - 1].0, first, last))?;
        }
        store_places(transaction, &self.places)?;
        if !self.opened.is_empty() {
            let mut streams = transaction.open_table(STREAMS)?;
            for (name, number) in &self.opened {
                streams.insert(name.as_str(), number)?;
            }
        }
        Ok(self.ids.last().map(|(id, _)| *id).max(greatest))
    }
}

/// Whether a run of ids, sorted, goes on from one to the next; asked of each two neighbours in order. It ends where an hour lies
/// between them, and with a segment, where all ids up to there are those of events of it or of earlier ones, and all others are not.
fn goes_on<'r>(run: &[Named], ends: &'r [u64]) -> impl FnMut(&Named, &Named) -> bool + use<'r> {
    let segment = |seq: u64| ends.partition_point(|end| *end < seq);
    // The least event from each on, the last first.
    let mut least: Vec<u64> = Vec::with_capacity(run.len());
    least.extend(run.iter().rev().scan(u64::MAX, |least, (_, seq)| {
        *least = (*seq).min(*least);
        Some(*least)
    }));
    least.pop();
    let mut greatest = 0;
    move |one, two| {
        greatest = one.1.max(greatest);
        let least = least.pop().unwrap_or_default();
        millis(two.0) - millis(one.0) <= RUN_GAP_MS && segment(least) <= segment(greatest)
    }
}

/// The time that a ULID begins with.
fn millis(id: [u8; 16]) -> u64 {
    id[..6].iter().fold(0, |millis, byte| millis << 8 | u64::from(*byte))
}

/// The id of the event that a frame is of; `None` where its header cannot be read.
pub(super) fn id_of(frame: &[u8]) -> Option<EventId> {
    Frame::parse(frame).and_then(|frame| Ok(frame.header()?.0)).ok()
}

/// Stores the events of streams, sorted by stream and version.
pub(super) fn store_places(transaction: &WriteTransaction, places: &[((u64, u64), u64)]) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(STREAM_RUNS)?;
    let follows = |one: &((u64, u64), u64), two: &((u64, u64), u64)| one.0.0 == two.0.0 && one.0.1 + 1 == two.0.1;
    for run in places.chunk_by(follows).flat_map(|run| run.chunks(RUN_EVENTS_MAX)) {
        let mut bytes = Vec::with_capacity(8 + 2 * run.len());
        let mut before = run[0].1;
        bytes.extend(before.to_le_bytes());
        for (_, seq) in &run[1..] {
            write_varint(&mut bytes, seq - before);
            before = *seq;
        }
        table.insert(run[0].0, bytes.as_slice())?;
    }
    Ok(())
}

/// The events of a row of `stream_runs`, in order; `None` where it is none.
pub(super) fn read_run(bytes: &[u8]) -> Option<Vec<u64>> {
    let (first, mut rest) = bytes.split_first_chunk::<8>()?;
    let mut seqs = vec![u64::from_le_bytes(*first)];
    while !rest.is_empty() {
        let (difference, after) = read_varint(rest)?;
        seqs.push(seqs.last()?.checked_add(difference).filter(|_| difference > 0)?);
        rest = after;
    }
    Some(seqs)
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn write_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).expect("seven bits") | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).expect("seven bits"));
}

fn read_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = bytes.iter().position(|byte| byte & 0x80 == 0)? + 1;
    let (own, rest) = bytes.split_at(length);
    // Numbers are differences of event numbers: more than eight bytes of them are damage.
    let is_shortest = length == 1 || own[length - 1] != 0;
    let number = own.iter().rev().fold(0, |number: u64, byte| number << 7 | u64::from(byte & 0x7f));
    (length <= 8 && is_shortest).then_some((number, rest))
}

/// The error of a row that cannot be read.
pub(super) fn unreadable(place: (u64, u64)) -> redb::Error {
    redb::Error::Corrupted(format!("the row of stream {} from version {} on (table stream_runs)", place.0, place.1))
}

/// The version of the last event of a stream in the index; 0 while there is none.
pub(super) fn last_version(
    runs: &impl ReadableTable<(u64, u64), &'static [u8]>,
    number: u64,
) -> Result<u64, redb::Error> {
    let Some((key, value)) = runs.range((number, 0)..=(number, u64::MAX))?.next_back().transpose()? else {
        return Ok(0);
    };
    let seqs = read_run(value.value()).ok_or_else(|| unreadable(key.value()))?;
    Ok(key.value().1 + seqs.len() as u64 - 1)
}

/// The greatest id of a sealed event.
pub(super) fn greatest_id(
    by_id: &impl ReadableTable<[u8; 16], u64>,
    id_runs: &impl ReadableTable<[u8; 16], IdRun>,
) -> Result<Option<[u8; 16]>, redb::Error> {
    let single = by_id.last()?.map(|(id, _)| id.value());
    Ok(single.max(id_runs.last()?.map(|(_, run)| run.value().0)))
}

/// Where a sealed event of an id lies: its number, or the first and the last of those that it is one of.
pub(super) fn places_of_id(
    by_id: &impl ReadableTable<[u8; 16], u64>,
    id_runs: &impl ReadableTable<[u8; 16], IdRun>,
    id: [u8; 16],
) -> Result<Option<(u64, u64)>, redb::Error> {
    if let Some(seq) = by_id.get(id)? {
        return Ok(Some((seq.value(), seq.value())));
    }
    let run = id_runs.range(..=id)?.next_back().transpose()?.map(|(_, run)| run.value());
    Ok(run.filter(|(greatest, ..)| id <= *greatest).map(|(_, first, last)| (first, last)))
}

/// What the indexes must hold for some events.
#[derive(Default)]
pub(super) struct Indexes {
    /// Id, seq.
    ids: Vec<([u8; 16], u64)>,
    /// Stream (by its place in `names`), version, seq.
    places: Vec<(usize, u64, u64)>,
    /// Names of streams with the first event of each that was seen.
    names: Vec<(String, u64)>,
    known: HashMap<String, usize>,
}

/// What was found for them.
#[derive(Default)]
pub(super) struct Found {
    /// Streams that they opened.
    pub(super) streams: u64,
    /// Those with a row of their own in `by_id`.
    single: u64,
    /// Of each run of ids, what belongs to it: least, and as it must be stored.
    runs: BTreeMap<[u8; 16], ([u8; 16], IdRun)>,
}

impl Found {
    /// Both together.
    pub(super) fn join(&mut self, other: Self) {
        self.streams += other.streams;
        self.single += other.single;
        for (key, (lowest, run)) in other.runs {
            self.note(key, lowest, run);
        }
    }

    fn note(&mut self, key: [u8; 16], lowest: [u8; 16], (greatest, first, last): IdRun) {
        let (known_lowest, known) = self.runs.entry(key).or_insert((lowest, (greatest, first, last)));
        *known_lowest = lowest.min(*known_lowest);
        *known = (greatest.max(known.0), first.min(known.1), last.max(known.2));
    }

    /// That there are no other rows for events up to `sealed`, and that runs say exactly what belongs to them. Where the log is
    /// not what it was when they were looked for (`is_whole`), only rows that are about no later event are compared.
    pub(super) fn verify(&self, transaction: &ReadTransaction, sealed: u64, is_whole: bool) -> Result<(), Damage> {
        let read = || -> Result<_, redb::Error> {
            let mut single = 0;
            for row in transaction.open_table(BY_ID)?.iter()? {
                single += u64::from(is_whole || row?.1.value() <= sealed);
            }
            let mut runs = self.runs.clone();
            let mut is_equal = true;
            for row in transaction.open_table(ID_RUNS)?.iter()? {
                let (key, run) = row?;
                let found = runs.remove(&key.value());
                is_equal &= found == Some((key.value(), run.value())) || !is_whole && run.value().2 > sealed;
            }
            Ok((single, is_equal && runs.is_empty()))
        };
        let (single, is_equal) = read().map_err(|error| Damage::File(error.to_string()))?;
        let damage = |table, what| Damage::Index { table, seq: 0, what };
        if single != self.single {
            return Err(damage("by_id", "it has rows that belong to no event"));
        }
        if !is_equal {
            return Err(damage("id_runs", "a row says something else than the events that it is about"));
        }
        Ok(())
    }
}

impl Indexes {
    /// Notes the rows of one more event.
    pub(super) fn expect(&mut self, seq: u64, header: &Header<'_>) {
        let Header(id, _, stream, version, ..) = *header;
        let at = self.known.get(stream).copied().unwrap_or_else(|| {
            self.names.push((stream.to_owned(), seq));
            self.known.insert(stream.to_owned(), self.names.len() - 1);
            self.names.len() - 1
        });
        self.ids.push((id.0, seq));
        self.places.push((at, version, seq));
    }

    /// Compares with what is stored; the damage that concerns the earliest event is the answer.
    pub(super) fn verify(mut self, transaction: &ReadTransaction) -> Result<Found, Damage> {
        let mut found = Found::default();
        let mut compare = || -> Result<_, redb::Error> {
            let (numbers, unnumbered) = self.numbers(transaction)?;
            let opened = self.places.iter().filter(|(_, version, _)| *version == 1).count();
            let misnumbered = self.places.iter().filter(|(at, version, seq)| *version == 1 && numbers[*at] != *seq);
            let unnumbered = unnumbered.into_iter().chain(misnumbered.map(|(_, _, seq)| *seq)).min();
            found.streams = opened as u64;
            let mut places: Vec<((u64, u64), u64)> =
                self.places.iter().map(|&(at, version, seq)| ((numbers[at], version), seq)).collect();
            places.sort_unstable();
            let unplaced = first_unplaced(transaction, &places)?;
            self.ids.sort_unstable();
            let unnamed = first_unnamed(transaction, &self.ids, &mut found)?;
            Ok([
                (unnumbered, "streams", "the stream has no number, or another than that of the event that opened it"),
                (unplaced, "stream_runs", "the row is missing or points elsewhere"),
                (unnamed, "id_runs", "its id is in no row of it, and in none of by_id"),
            ])
        };
        let missing = compare().map_err(|error| Damage::File(error.to_string()))?;
        // Of several tables with the same event, the first one in the list.
        let first =
            missing.into_iter().filter_map(|(seq, table, what)| Some((seq?, table, what))).min_by_key(|found| found.0);
        match first {
            Some((seq, table, what)) => Err(Damage::Index { table, seq, what }),
            None => Ok(found),
        }
    }

    /// The number of each stream, 0 where it has none; and the earliest event whose stream has none.
    fn numbers(&self, transaction: &ReadTransaction) -> Result<(Vec<u64>, Option<u64>), redb::Error> {
        let streams = transaction.open_table(STREAMS)?;
        let mut numbers = vec![0; self.names.len()];
        let mut unnumbered = None;
        for ((name, first), number) in self.names.iter().zip(&mut numbers) {
            match streams.get(name.as_str())? {
                Some(stored) => *number = stored.value(),
                None => unnumbered = unnumbered.min(Some(*first)).or(Some(*first)),
            }
        }
        Ok((numbers, unnumbered))
    }
}

/// The least seq among the places, sorted, that `stream_runs` does not hold.
fn first_unplaced(transaction: &ReadTransaction, places: &[((u64, u64), u64)]) -> Result<Option<u64>, redb::Error> {
    let table = transaction.open_table(STREAM_RUNS)?;
    let mut missing: Option<u64> = None;
    let mut run: Option<((u64, u64), Vec<u64>)> = None;
    for &(place, seq) in places {
        let stored = |run: &((u64, u64), Vec<u64>)| {
            let index = place.1.checked_sub(run.0.1).filter(|_| place.0 == run.0.0)?;
            run.1.get(usize::try_from(index).ok()?).copied()
        };
        let mut found = run.as_ref().and_then(stored);
        if found.is_none() {
            let row = table.range((place.0, 0)..=place)?.next_back().transpose()?;
            run = row.and_then(|(key, value)| Some((key.value(), read_run(value.value())?)));
            found = run.as_ref().and_then(stored);
        }
        if found != Some(seq) {
            missing = missing.min(Some(seq)).or(Some(seq));
        }
    }
    Ok(missing)
}

/// The least seq among the ids, sorted, of one that neither `by_id` nor `id_runs` holds.
fn first_unnamed(
    transaction: &ReadTransaction,
    ids: &[([u8; 16], u64)],
    found: &mut Found,
) -> Result<Option<u64>, redb::Error> {
    let (by_id, id_runs) = (transaction.open_table(BY_ID)?, transaction.open_table(ID_RUNS)?);
    let mut missing: Option<u64> = None;
    let mut run: Option<([u8; 16], IdRun)> = None;
    for &(id, seq) in ids {
        if run.is_none_or(|(_, (greatest, ..))| greatest < id) {
            run = id_runs.range(..=id)?.next_back().transpose()?.map(|(key, run)| (key.value(), run.value()));
        }
        let member = run.filter(|(_, (greatest, first, last))| id <= *greatest && (*first..=*last).contains(&seq));
        if let Some((key, _)) = member {
            found.note(key, id, (id, seq, seq));
        } else if by_id.get(id)?.is_some_and(|stored| stored.value() == seq) {
            found.single += 1;
        } else {
            missing = missing.min(Some(seq)).or(Some(seq));
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_read_back(first in 0..u64::MAX / 2, differences in proptest::collection::vec(1..1_u64 << 40, 0..20)) {
            let mut bytes = first.to_le_bytes().to_vec();
            let mut seqs = vec![first];
            for difference in differences {
                write_varint(&mut bytes, difference);
                seqs.push(seqs.last().unwrap() + difference);
            }
            prop_assert_eq!(read_run(&bytes), Some(seqs.clone()));
            // Whatever is flipped, what is read is not the same.
            for bit in 0..bytes.len() * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                prop_assert_ne!(read_run(&flipped), Some(seqs.clone()));
            }
        }
    }
}

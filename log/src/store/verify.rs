//! `log verify`: every stored byte against the chain, the segments' headers, the range root, the signed checkpoints, the
//! indexes and the blobs' names.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata};

use super::archives::{self, Span};
use super::damage::Damage;
use super::erasures::{Erasures, Record, Remains, is_record};
use super::guard::guarded;
use super::index::{self, Found, Indexes};
use super::noted::Tally;
use super::open::{self, Fault};
use super::reader::Reader;
use super::runs::{Run, Unpacked};
use super::tables::{BLOBS, CHECKPOINTS, META, SEGMENTS, STREAM_RUNS, STREAMS};
use super::{Head, blobs, unsealed, words};
use crate::chain::Chain;
use crate::codec::{Frame, FrameError};
use crate::envelope::Body;
use crate::event::{Event, upcast};
use crate::kept::BlobHash;
use crate::note::{Checkpoint, NoteError};
use crate::segment::{Sealing, Segment, SegmentError, SegmentHeader, Unpacker};

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
    /// Blobs that an event names and that were erased with another one, or lost before a salvage.
    pub blobs_erased: u64,
    /// Sealed segments.
    pub segments: u64,
    /// Those of them that lie in archive files.
    pub archived: u64,
    /// Signed checkpoints.
    pub checkpoints: u64,
    /// The last event that one of them is over. That those behind it were recorded here, the file alone says.
    pub signed: u64,
}

/// What one run of events amounts to.
#[derive(Default)]
struct Checked {
    first: u64,
    leaves: Vec<[u8; 32]>,
    header: Option<SegmentHeader>,
    is_archived: bool,
    erased: u64,
    unknown: Vec<(u64, String)>,
    /// Blobs that events name and that are not there.
    missing: Vec<(u64, BlobHash)>,
    remains: Remains,
    /// What these events say of others that were erased.
    records: Vec<Record>,
    /// Their rows in the indexes, where they are sealed.
    found: Found,
}

/// How many rows there are.
struct Counted {
    rows: [u64; 3],
    segments: u64,
    /// The last sealed event.
    sealed: u64,
    /// The last event.
    size: u64,
    /// Whether the newest events are the last ones.
    ends_there: bool,
}

/// What was seen up to some event.
struct Course<'r> {
    reader: &'r Reader,
    total: u64,
    chain: Chain,
    verified: Verified,
    /// The last sealed event, all before it sealed too; and the rows of these events in the indexes.
    sealed: u64,
    found: Found,
    missing: Vec<(u64, BlobHash)>,
    remains: Remains,
    erasures: Erasures,
    /// The next checkpoint that is to be met: all at once, they would be more the longer the log is.
    next_note: Option<Checkpoint>,
}

impl Reader {
    /// Checks the whole log, as far as it went when this began; calls `progress(done, total)` as it goes. The first damage
    /// ends it. Runs are checked beside each other, and chained in order.
    pub fn verify(&self, progress: impl FnMut(u64, u64)) -> Result<Verified, Damage> {
        guarded(|| self.verified(progress, false)).unwrap_or_else(|what| Err(Damage::File(what)))
    }

    /// The same for a log of which payloads were erased, and of whose archive files they are about to be.
    pub(super) fn verify_before_archives(&self) -> Result<Verified, Damage> {
        guarded(|| self.verified(|_, _| {}, true)).unwrap_or_else(|what| Err(Damage::File(what)))
    }

    fn verified(&self, mut progress: impl FnMut(u64, u64), archives_follow: bool) -> Result<Verified, Damage> {
        let listed = self.archived()?;
        let stored = open::chain(&self.database())?;
        let total = stored.range.size();
        let signed = self.last_note(total)?;
        let mut course = Course {
            reader: self,
            total,
            chain: Chain::default(),
            verified: Verified::default(),
            sealed: 0,
            found: Found::default(),
            missing: Vec::new(),
            remains: Remains::default(),
            erasures: Erasures::default(),
            next_note: self.note(0..=total)?,
        };
        self.runs(
            (1, total),
            |run, unpacker| guarded(|| self.check_run(run, unpacker)).unwrap_or_else(|what| Err(Damage::File(what))),
            |checked| {
                course.take(std::mem::take(checked))?;
                progress(course.chain.range.size(), total);
                Ok::<bool, Damage>(true)
            },
        )?;
        let Course { chain, mut verified, sealed, found, missing, remains, erasures, next_note, .. } = course;
        if let Some(Checkpoint { size, .. }) = next_note {
            return Err(Damage::Checkpoint { size, what: "the log does not go on so far".to_owned() });
        }
        if chain != stored {
            return Err(Damage::End { seq: total, table: "newest", what: "the head or the range differs" });
        }
        let own = (listed == self.archived()?).then_some(verified.segments - verified.archived);
        self.verify_counts(total, (sealed, &found), own)?;
        self.verify_ways()?;
        self.verify_tally()?;
        self.verify_name()?;
        self.verify_pages()?;
        (verified.blobs, verified.signed) = (self.verify_blobs()?, signed);
        let after = if archives_follow { listed.last().map_or(0, |(_, last)| *last) } else { 0 };
        verified.blobs_erased = missing.len() as u64;
        self.verify_erasures((erasures, remains), &missing, (after, total))?;
        verified.head = Head { size: total, head: chain.head };
        verified.range_root = chain.range.root();
        Ok(verified)
    }

    /// The archive files, which end where the log's own rows begin.
    fn archived(&self) -> Result<Vec<Span>, Damage> {
        let transaction = self.database().begin_read().map_err(|error| Damage::File(words::plain(&error)))?;
        let listed = archives::listed(&transaction)?;
        let first = || -> Result<Option<u64>, Fault> {
            Ok(transaction.open_table(SEGMENTS)?.first()?.map(|(first, _)| first.value()))
        };
        match (listed.last(), first()?) {
            (Some((_, last)), first) if first != Some(last + 1) => Err(Damage::End {
                seq: *last,
                table: "meta",
                what: "its archive files end elsewhere than its segments begin",
            }),
            _ => Ok(listed),
        }
    }

    /// The size that the last checkpoint up to an event is over; 0 where there is none.
    fn last_note(&self, total: u64) -> Result<u64, Damage> {
        let last = || -> Result<Option<u64>, Fault> {
            let table = self.database().begin_read()?.open_table(CHECKPOINTS)?;
            Ok(table.range(..=total)?.next_back().transpose()?.map(|(size, _)| size.value()))
        };
        Ok(last()?.unwrap_or(0))
    }

    /// The first checkpoint over one of these sizes, its signature checked.
    fn note(&self, sizes: RangeInclusive<u64>) -> Result<Option<Checkpoint>, Damage> {
        let first = || -> Result<Option<(u64, Vec<u8>)>, Fault> {
            let table = self.database().begin_read()?.open_table(CHECKPOINTS)?;
            Ok(table.range(sizes)?.next().transpose()?.map(|(size, note)| (size.value(), note.value().to_vec())))
        };
        let Some((size, bytes)) = first()? else { return Ok(None) };
        let damaged = |what: String| Damage::Checkpoint { size, what };
        let note = std::str::from_utf8(&bytes).map_err(|_| damaged("it is no text".to_owned()))?;
        let checkpoint =
            Checkpoint::verified(note, self.verifying()).map_err(|error: NoteError| damaged(error.to_string()))?;
        if checkpoint.size != size || checkpoint.log_id != open::log_id(&self.database())? {
            return Err(damaged("it is that of another size or of another log".to_owned()));
        }
        Ok(Some(checkpoint))
    }

    /// One run, with the index rows and blobs that belong to its events.
    fn check_run(&self, run: Run, by: &mut Unpacker) -> Result<Checked, Damage> {
        let unpacked = run.unpack_by(by)?;
        let transaction = self.database().begin_read().map_err(|error| Damage::File(words::plain(&error)))?;
        let mut checked = Checked { first: unpacked.from, ..Checked::default() };
        let mut indexes = Indexes::default();
        let mut named = Vec::new();
        let mut sealing = Sealing::default();
        let taken = check_events(&unpacked, &mut checked, (&mut indexes, &mut sealing), &mut named);
        // The events before a damaged one have rows too, and theirs would be the first damage. Those that are not sealed have
        // none.
        if unpacked.header.is_some() {
            checked.found = indexes.verify(&transaction)?;
        }
        taken?;
        if let Some(header) = unpacked.header {
            check_header(&header, sealing)
                .map_err(|error| Damage::Segment { first: header.first, what: error.to_string() })?;
            checked.header = Some(header);
            checked.is_archived = unpacked.is_archived;
        }
        checked.missing = missing_blobs(&transaction, named)?;
        Ok(checked)
    }

    /// As every event has its rows, equal counts mean that there are no others.
    fn verify_counts(&self, total: u64, (sealed, found): (u64, &Found), segments: Option<u64>) -> Result<(), Damage> {
        let count = || -> Result<Counted, Fault> {
            let transaction = self.database().begin_read()?;
            let mut placed = 0;
            for row in transaction.open_table(STREAM_RUNS)?.iter()? {
                let (place, run) = row?;
                placed += index::read_run(run.value()).ok_or_else(|| index::unreadable(place.value()))?.len() as u64;
            }
            let unsealed = unsealed::Tables::read(&transaction)?;
            let tail = unsealed.count()?;
            let table = transaction.open_table(SEGMENTS)?;
            let sealed = match table.last()? {
                Some((_, value)) => Segment::parse(value.value())?.header.last,
                None => 0,
            };
            let streams = transaction.open_table(STREAMS)?.len()?;
            let size = open::chain_in(&transaction)?.range.size();
            let ends_there = unsealed.newest_are_last(size)?;
            Ok(Counted { rows: [tail, placed, streams], segments: table.len()?, sealed, size, ends_there })
        };
        let transaction = self.database().begin_read().map_err(|error| Damage::File(words::plain(&error)))?;
        let is_whole = open::chain_in(&transaction)?.range.size() == total;
        found.verify(&transaction, sealed, is_whole)?;
        let Counted { rows: [tail, placed, streams], segments: stored, sealed, size, ends_there } = count()?;
        // Events that were appended meanwhile have their rows as well.
        let rows = [("tail", tail, size - sealed.min(size)), ("stream_runs", placed, sealed)];
        let unchanged = size == total;
        let when_unchanged = [("streams", streams, found.streams), ("segments", stored, segments.unwrap_or(stored))];
        for (table, rows, wanted) in rows.into_iter().chain(when_unchanged.into_iter().filter(|_| unchanged)) {
            if rows != wanted {
                return Err(Damage::Index { table, seq: 0, what: "it has rows that belong to no event" });
            }
        }
        if !ends_there {
            return Err(Damage::End { seq: size, table: "newest", what: "its events are not the last ones" });
        }
        let later = || -> Result<Option<u64>, Fault> {
            let checkpoints = self.database().begin_read()?.open_table(CHECKPOINTS)?;
            Ok(checkpoints.last()?.map(|(at, _)| at.value()).filter(|at| *at > size))
        };
        match later()? {
            Some(at) => Err(Damage::Checkpoint { size: at, what: "the log does not go on so far".to_owned() }),
            None => Ok(()),
        }
    }

    /// Rows that were read in order are found by their numbers too: what leads there is stored as well. The other tables were
    /// looked up in as they were compared.
    fn verify_ways(&self) -> Result<(), Damage> {
        let lost = || -> Result<_, Fault> {
            let transaction = self.database().begin_read()?;
            let tables = unsealed::Tables::read(&transaction)?;
            for row in tables.rows()? {
                for (seq, _) in row?.frames() {
                    if tables.look(seq, |_| ())?.is_none() {
                        return Ok(Some(("tail", seq)));
                    }
                }
            }
            let checkpoints = transaction.open_table(CHECKPOINTS)?;
            for row in checkpoints.iter()? {
                let size = row?.0.value();
                if checkpoints.get(size)?.is_none() {
                    return Ok(Some(("checkpoints", size)));
                }
            }
            Ok(None)
        };
        match lost()? {
            Some((table, seq)) => {
                Err(Damage::Index { table, seq, what: "the row is there and not found by its number" })
            }
            None => Ok(()),
        }
    }

    /// All checkpoints together against what `meta` says of them.
    fn verify_tally(&self) -> Result<(), Damage> {
        let read = || -> Result<(Tally, Tally), Fault> {
            let transaction = self.database().begin_read()?;
            Ok((Tally::of(&transaction.open_table(CHECKPOINTS)?)?, Tally::read(&transaction.open_table(META)?)?))
        };
        let (found, noted) = read()?;
        if found == noted {
            return Ok(());
        }
        Err(Damage::Checkpoints { found: found.count, noted: noted.count })
    }

    /// The log's name against its first event, and what else `meta` holds.
    fn verify_name(&self) -> Result<(), Damage> {
        let id = open::log_id(&self.database())?;
        if let Some(Event::InstanceCreated(created)) = self.event(1)?.as_ref().and_then(|first| first.event())
            && created.log_id != id
        {
            return Err(Damage::End {
                seq: 1,
                table: "meta",
                what: "the log's name is another than its first event says",
            });
        }
        open::check_format(&self.database())?;
        let known = open::META_NAMES;
        let stray = meta(&self.database())?.into_keys().any(|name| !known.contains(&name.as_str()));
        if stray { Err(Damage::File("table meta holds a row of an unknown name".to_owned())) } else { Ok(()) }
    }

    /// Whoever reads rows does not go by every checksum in the pages; the first opening after a power cut does, and refuses the
    /// file where one differs, or takes the commit before. Appends wait meanwhile.
    fn verify_pages(&self) -> Result<(), Damage> {
        let database = self.database();
        // It fails where a commit failed before: then nobody writes any more.
        let nobody_writes = database.begin_write();
        let is_as_now = || -> Result<bool, Fault> {
            let after = database.as_after_a_kill()?;
            Ok(open::chain(&after)? == open::chain(&database)? && meta(&after)? == meta(&database)?)
        };
        let is_sound = guarded(is_as_now).is_ok_and(|is_as_now| matches!(is_as_now, Ok(true)));
        drop(nobody_writes);
        if is_sound {
            return Ok(());
        }
        let what = "all that it holds can be read, and yet a page is not as it was written: after a power cut it would not open";
        Err(Damage::File(what.to_owned()))
    }

    fn verify_blobs(&self) -> Result<u64, Damage> {
        let fault = |error: &dyn std::error::Error| Damage::File(words::plain(&error));
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

impl Course<'_> {
    /// Chains the next run.
    fn take(&mut self, checked: Checked) -> Result<(), Damage> {
        let Checked { first, mut leaves, header, is_archived, erased, unknown, missing, remains, records, found } =
            checked;
        self.verified.archived += u64::from(is_archived);
        // What was appended since it began is looked at the next time.
        leaves.truncate(usize::try_from(self.total - self.chain.range.size()).unwrap_or(usize::MAX));
        if let Some(header) = &header {
            self.verified.segments += 1;
            // What was seen before it was sealed had no rows then.
            if header.first == first && first == self.sealed + 1 {
                self.sealed = header.last;
                self.found.join(found);
            }
            if header.first == first && header.head_before != self.chain.head {
                let what = "the head before it is not that of the events before it".to_owned();
                return Err(Damage::Segment { first, what });
            }
        }
        let mut leaves = leaves.as_slice();
        while !leaves.is_empty() {
            // As far as the next checkpoint.
            let size = self.chain.range.size();
            let to_note = self.next_note.as_ref().and_then(|note| note.size.checked_sub(size)).filter(|many| *many > 0);
            let at_once = to_note.and_then(|many| usize::try_from(many).ok()).unwrap_or(leaves.len()).min(leaves.len());
            let (now, then) = leaves.split_at(at_once);
            self.chain.extend(now);
            leaves = then;
            self.check_note()?;
        }
        let ends_here = |header: &SegmentHeader| header.last == self.chain.range.size();
        if let Some(header) = header.filter(|header| ends_here(header) && header.head_after != self.chain.head) {
            let what = "the head after it is not that of its events".to_owned();
            return Err(Damage::Segment { first: header.first, what });
        }
        self.verified.erased += erased;
        self.verified.unknown.extend(unknown);
        self.missing.extend(missing);
        self.remains.join(remains);
        records.iter().filter(|(seq, ..)| *seq <= self.total).for_each(|record| self.erasures.take(record));
        Ok(())
    }

    /// The checkpoint at this size, if there is one.
    fn check_note(&mut self) -> Result<(), Damage> {
        let size = self.chain.range.size();
        let Some(checkpoint) = self.next_note.take_if(|next| next.size == size) else { return Ok(()) };
        if checkpoint.head != self.chain.head || checkpoint.root != self.chain.range.root() {
            let what = "the events before it are not those that were signed".to_owned();
            return Err(Damage::Checkpoint { size, what });
        }
        self.verified.checkpoints += 1;
        self.next_note = self.reader.note(size + 1..=self.total)?;
        Ok(())
    }
}

/// The events of a run against their leaf checks; notes the rows and the blobs that they must have, and what a segment says of
/// them.
fn check_events(
    run: &Unpacked,
    checked: &mut Checked,
    (indexes, sealing): (&mut Indexes, &mut Sealing),
    named: &mut Vec<(u64, BlobHash)>,
) -> Result<(), Damage> {
    let damaged = |seq, error: FrameError| Damage::Event { seq, table: run.table(), what: error.to_string() };
    for (seq, bytes) in (run.first..run.from).zip(run.frames.iter()) {
        sealing.take(bytes).map_err(|error| damaged(seq, error))?;
    }
    let asked = || (run.first..).zip(run.frames.iter()).filter(|(seq, _)| *seq >= run.from);
    let parsed = asked().map_while(|(seq, bytes)| Some((seq, bytes, Frame::parse(bytes).ok()?)));
    let frames: Vec<(u64, &[u8], Frame<'_>)> = parsed.collect();
    for ((seq, _, frame), leaf) in frames.iter().zip(Frame::leaves(&frames)) {
        let seq = *seq;
        let mut check = || -> Result<(), FrameError> {
            frame.compare(&leaf)?;
            let header = frame.header()?;
            match frame.payload() {
                None => {
                    checked.erased += 1;
                    checked.remains.erased(seq, frame.tombstone().unwrap_or_default());
                }
                Some(payload) => {
                    // An event is large: it is moved only where it is kept.
                    let mut take = |mut event: Event| {
                        let blobs = event.blobs();
                        named.extend(blobs.iter().map(|hash| (seq, *hash)));
                        checked.remains.names(seq, blobs);
                        if is_record(&event) {
                            checked.records.push((seq, header.1, event));
                        }
                    };
                    match upcast::read(header.4, header.5, payload)? {
                        Body::Known(event) => take(event),
                        Body::Raised(events) => events.into_iter().for_each(take),
                        Body::Unknown(_) | Body::Erased => {
                            checked.unknown.push((seq, header.4.to_owned()));
                            checked.remains.unknown(seq);
                        }
                    }
                }
            }
            indexes.expect(seq, &header);
            sealing.take_in(header.1, header.4);
            checked.leaves.push(leaf);
            Ok(())
        };
        check().map_err(|error| damaged(seq, error))?;
    }
    // The first that could not be taken apart.
    match asked().nth(frames.len()) {
        Some((seq, bytes)) => Frame::parse(bytes).map(|_| ()).map_err(|error| damaged(seq, error)),
        None => Ok(()),
    }
}

/// What a segment says in clear against what was seen of its frames.
fn check_header(header: &SegmentHeader, sealing: Sealing) -> Result<(), SegmentError> {
    let found = sealing.header((header.first, header.last), [header.head_before, header.head_after]);
    if found.kinds != header.kinds {
        return Err(SegmentError::Header("list of kinds"));
    }
    if (found.least_time, found.greatest_time) != (header.least_time, header.greatest_time) {
        return Err(SegmentError::Header("time"));
    }
    Ok(())
}

/// What the file says of itself.
fn meta(database: &Database) -> Result<BTreeMap<String, Vec<u8>>, Fault> {
    let meta = database.begin_read()?.open_table(META)?;
    let rows = meta.iter()?.map(|row| row.map(|(name, value)| (name.value().to_owned(), value.value().to_vec())));
    Ok(rows.collect::<Result<_, redb::StorageError>>()?)
}

fn missing_blobs(transaction: &ReadTransaction, named: Vec<(u64, BlobHash)>) -> Result<Vec<(u64, BlobHash)>, Damage> {
    let lookup = || -> Result<Vec<(u64, BlobHash)>, Fault> {
        let blobs = transaction.open_table(BLOBS)?;
        let mut missing = Vec::new();
        for (seq, hash) in named {
            if blobs.get(hash.0)?.is_none() {
                missing.push((seq, hash));
            }
        }
        Ok(missing)
    };
    Ok(lookup()?)
}

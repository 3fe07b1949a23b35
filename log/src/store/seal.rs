//! Sealing: turns the oldest rows of the tail into a segment, in the transaction of the append that filled it.
//!
//! A segment is cut by its packed size, just under a power of two: redb gives a large value a power-of-two run of pages.

use std::collections::VecDeque;

use redb::{ReadTransaction, ReadableDatabase, ReadableTable, Table};

use super::tables::{SEGMENTS, TAIL};
use crate::chain::{self, Chain};
use crate::codec::Frame;
use crate::segment::{self, Frames, Sealing, Segment};

/// The longest value of a segment, unless a single event is longer: 64 KiB less what a leaf page has beside it.
const VALUE_BYTES_MAX: usize = (64 << 10) - 64;
/// Shorter ones are not cut while there are more events that could go in.
const VALUE_BYTES_MIN: usize = VALUE_BYTES_MAX / 100 * 88;
/// What frames shrink to before anything was measured, in thousandths.
const SHRINKS_TO: u64 = 350;
/// How often a cut is tried.
const TRIES: usize = 4;
/// The most segments of one commit: a log of an older format has a long tail, and nobody should wait for all of it.
const SEGMENTS_MAX: u32 = 32;

/// One event of the tail, as far as sealing wants it.
struct Entry {
    leaf: [u8; 32],
    bytes: u32,
}

/// What the writer knows of the events that are not sealed.
pub(super) struct Tail {
    /// The last sealed event.
    sealed: u64,
    /// The chain's head there.
    head: [u8; 32],
    entries: VecDeque<Entry>,
    bytes: u64,
    /// What frames shrank to the last time, in thousandths.
    shrinks_to: u64,
    /// Whether the stored rows are those that were chained. Others are never sealed.
    is_sound: bool,
}

impl Tail {
    /// Looks at the stored tail. One that is damaged is not sealed; what is wrong with it is for verification to say.
    pub(super) fn load(database: &redb::Database, chain: &Chain) -> Result<Self, redb::Error> {
        let transaction = database.begin_read()?;
        let (sealed, head, is_sound) = sealed_end(&transaction)?;
        let mut tail = Self { sealed, head, entries: VecDeque::new(), bytes: 0, shrinks_to: SHRINKS_TO, is_sound };
        let mut reached = head;
        for row in transaction.open_table(TAIL)?.range(sealed + 1..)? {
            let (seq, bytes) = row?;
            let expected = sealed + 1 + tail.entries.len() as u64;
            let leaf = Frame::parse(bytes.value()).and_then(|frame| frame.verified(seq.value()));
            let (true, Ok(leaf)) = (seq.value() == expected, leaf) else {
                tail.is_sound = false;
                break;
            };
            reached = chain::advance(&reached, &leaf);
            tail.push(leaf, bytes.value().len());
        }
        tail.is_sound &= reached == chain.head;
        Ok(tail)
    }

    /// The last sealed event.
    pub(super) fn sealed(&self) -> u64 {
        self.sealed
    }

    /// Takes one more event in.
    pub(super) fn push(&mut self, leaf: [u8; 32], bytes: usize) {
        let bytes = u32::try_from(bytes).expect("frames are far below 4 GiB");
        self.entries.push_back(Entry { leaf, bytes });
        self.bytes += u64::from(bytes);
    }

    fn is_due(&self) -> bool {
        self.is_sound && self.bytes * self.shrinks_to / 1000 >= VALUE_BYTES_MAX as u64
    }

    /// How many of the oldest events are expected to fill a segment.
    fn expected(&self) -> usize {
        let mut packed = 0;
        let fits = |entry: &&Entry| {
            packed += u64::from(entry.bytes) * self.shrinks_to;
            packed < VALUE_BYTES_MAX as u64 * 1000
        };
        self.entries.iter().take_while(fits).count().max(1)
    }
}

/// The last sealed event, the head there, and whether its segment is sound.
fn sealed_end(transaction: &ReadTransaction) -> Result<(u64, [u8; 32], bool), redb::Error> {
    let segments = transaction.open_table(SEGMENTS)?;
    let Some((_, value)) = segments.last()? else { return Ok((0, chain::GENESIS, true)) };
    Ok(Segment::parse(value.value())
        .map_or((0, chain::GENESIS, false), |segment| (segment.header.last, segment.header.head_after, true)))
}

/// Rows that are in the table, and frames of this transaction that are not.
pub(super) struct Unsealed<'b, 't> {
    pub(super) tail: &'b mut Table<'t, u64, &'static [u8]>,
    pub(super) segments: &'b mut Table<'t, u64, &'static [u8]>,
    /// Number of the first frame of this transaction.
    pub(super) fresh_first: u64,
    pub(super) fresh: &'b Frames,
}

impl Unsealed<'_, '_> {
    /// Seals as much as is due; returns the event up to which everything was sealed before, if more is now. What of the
    /// fresh frames is sealed needs no row.
    pub(super) fn seal(&mut self, known: &mut Tail) -> Result<Option<u64>, redb::Error> {
        let before = known.sealed;
        let mut sealed = 0;
        while known.is_due() && sealed < SEGMENTS_MAX {
            if !self.seal_one(known)? {
                break;
            }
            sealed += 1;
        }
        Ok((sealed > 0).then_some(before))
    }

    /// Cuts and stores one segment; `false` when what is there does not fill one after all.
    fn seal_one(&mut self, known: &mut Tail) -> Result<bool, redb::Error> {
        let mut count = known.expected();
        let first = known.sealed + 1;
        let at_hand = self.frames(first, known.entries.len().min(2 * count + 8))?;
        let mut tries = 1;
        let (sealing, packed) = loop {
            let mut sealing = Sealing::default();
            for frame in at_hand.iter().take(count) {
                sealing.take(frame).map_err(|error| redb::Error::Corrupted(error.to_string()))?;
            }
            let packed = segment::pack(at_hand.iter().take(count));
            known.shrinks_to = (packed.0.len() as u64 * 1000 / u64::from(packed.1).max(1)).max(1);
            let length = packed.0.len() + sealing.overhead();
            let too_long = length > VALUE_BYTES_MAX && count > 1;
            let too_short = length < VALUE_BYTES_MIN;
            if too_short && count == known.entries.len() {
                return Ok(false);
            }
            if !too_long && (tries >= TRIES || !too_short || count == at_hand.len()) {
                break (sealing, packed);
            }
            // A little less than in proportion, each time by more: in the end one is cut that is not too long.
            let fitting = count * VALUE_BYTES_MAX / length.max(1);
            count = fitting.saturating_sub(fitting * tries / 64 + 1).clamp(1, at_hand.len());
            tries += 1;
        };
        let last = first + count as u64 - 1;
        let leaves = known.entries.drain(..count);
        let head = leaves.fold(known.head, |head, entry| {
            known.bytes -= u64::from(entry.bytes);
            chain::advance(&head, &entry.leaf)
        });
        let header = sealing.header((first, last), [known.head, head]);
        self.segments.insert(first, segment::seal(&header, (&packed.0, packed.1)).as_slice())?;
        self.tail.retain_in(first..=last, |_, _| false)?;
        (known.sealed, known.head) = (last, head);
        Ok(true)
    }

    /// The frames of so many events from a number on.
    fn frames(&self, first: u64, count: usize) -> Result<Frames, redb::Error> {
        let end = first + count as u64;
        let mut frames = Frames::default();
        for row in self.tail.range(first..end)? {
            frames.push(row?.1.value());
        }
        for seq in first.max(self.fresh_first)..end {
            let fresh = usize::try_from(seq - self.fresh_first).ok().and_then(|index| self.fresh.get(index));
            frames.push(fresh.expect("what is not in the table is of this transaction"));
        }
        Ok(frames)
    }
}

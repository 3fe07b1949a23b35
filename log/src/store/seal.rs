//! Sealing: turns the oldest events of the tail into a segment, in the transaction of the append that filled it.
//!
//! A segment is cut by its packed size, just under a power of two: redb gives a large value a power-of-two run of pages.

use redb::{ReadableTable, WriteTransaction};

use super::tables::{SEGMENTS, TAIL};
use super::tail::Tail;
use crate::segment::{self, Frames};

/// How long the value of a segment may be, longest first: a power of two less what a leaf page has beside it. A single event
/// that is longer than the longest is a segment of its own.
const CLASSES: [usize; 3] = [(64 << 10) - 64, (32 << 10) - 64, (16 << 10) - 64];
/// What a value is aimed at, and what it is at least, in hundredths of its class.
const AIM: usize = 95;
const LEAST: usize = 88;
/// How often a cut is tried.
const TRIES: usize = 4;
/// The most segments of one commit: a log of an older format has a long tail, and nobody should wait for all of it.
const SEGMENTS_MAX: u32 = 32;

/// Events in rows of the tail, and those of this transaction, which have none.
pub(super) struct Unsealed<'b> {
    pub(super) transaction: &'b WriteTransaction,
    /// Number of the first frame of this transaction.
    pub(super) fresh_first: u64,
    pub(super) fresh: &'b Frames,
}

impl Unsealed<'_> {
    /// Seals as much as is due; returns the event up to which everything was sealed before, if more is now. What of the
    /// fresh frames is sealed needs no row.
    ///
    /// Small commits gather until they fill the longest class. One that brings enough for a segment by itself is sealed at
    /// once as far as it fills any: written to the tail, its events would be written twice.
    pub(super) fn seal(&self, known: &mut Tail) -> Result<Option<u64>, redb::Error> {
        let before = known.sealed();
        let least = CLASSES[CLASSES.len() - 1];
        let brings_a_segment = known.shrunk(self.fresh.bytes()) >= least as u64;
        let classes = if brings_a_segment { &CLASSES[..] } else { &CLASSES[..1] };
        let mut sealed = 0;
        while let Some(class) = classes.iter().find(|class| known.packed() >= **class as u64)
            && sealed < SEGMENTS_MAX
            && self.seal_one(known, *class)?
        {
            sealed += 1;
        }
        Ok((sealed > 0).then_some(before))
    }

    /// Cuts and stores one segment; `false` when what is there does not fill one after all.
    fn seal_one(&self, known: &mut Tail, class: usize) -> Result<bool, redb::Error> {
        let mut count = known.filling(class * AIM / 100);
        let first = known.sealed() + 1;
        let at_hand = self.frames(first, known.len().min(2 * count + 8))?;
        let mut tries = 1;
        let (sealing, packed) = loop {
            let sealing = known.sealing(count);
            let packed = segment::pack(at_hand.iter().take(count));
            known.measured(packed.0.len(), packed.1);
            let length = packed.0.len() + sealing.overhead();
            let too_long = length > class && count > 1;
            let too_short = length < class * LEAST / 100;
            if too_short && count == known.len() {
                return Ok(false);
            }
            if !too_long && (tries >= TRIES || !too_short || count == at_hand.len()) {
                break (sealing, packed);
            }
            // A little less than in proportion, each time by more: in the end one is cut that is not too long.
            let fitting = count * class / length.max(1);
            count = fitting.saturating_sub(fitting * tries / 64 + 1).clamp(1, at_hand.len());
            tries += 1;
        };
        let (last, heads, rows) = known.sealed_to(count);
        let header = sealing.header((first, last), heads);
        let mut segments = self.transaction.open_table(SEGMENTS)?;
        segments.insert(first, segment::seal(&header, (&packed.0, packed.1)).as_slice())?;
        if first < self.fresh_first {
            self.transaction.open_table(TAIL)?.retain_in(first..=last.min(self.fresh_first - 1), |_, _| false)?;
        }
        rows.store(self.transaction)?;
        Ok(true)
    }

    /// The frames of so many events from a number on.
    fn frames(&self, first: u64, count: usize) -> Result<Frames, redb::Error> {
        let end = first + count as u64;
        let mut frames = Frames::default();
        if first < self.fresh_first {
            for row in self.transaction.open_table(TAIL)?.range(first..end)? {
                frames.push(row?.1.value());
            }
        }
        for seq in first.max(self.fresh_first)..end {
            let fresh = usize::try_from(seq - self.fresh_first).ok().and_then(|index| self.fresh.get(index));
            frames.push(fresh.expect("what is not in the table is of this transaction"));
        }
        Ok(frames)
    }
}

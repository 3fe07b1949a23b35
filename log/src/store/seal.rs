//! Sealing: turns the oldest events of the tail into segments, in the transaction of the append that filled it.
//!
//! A segment is cut by its packed size, just under a power of two: redb gives a large value a power-of-two run of pages. How
//! many events fill it is guessed from what the last ones shrank to; where they shrink less, what is too long for one
//! segment becomes several.

use std::ops::Range;
use std::sync::{Arc, mpsc};

use redb::WriteTransaction;

use super::aside::Aside;
use super::index::Rows;
use super::tables::SEGMENTS;
use super::tail::{Entry, Tail};
use super::unsealed;
use crate::segment::{Frames, Packer, Sealing};

/// What redb gives the longest segment. A single event that is longer is a segment of its own.
const LONGEST: usize = 64 << 10;
/// The least that it gives: a page.
const SHORTEST: usize = 4 << 10;
/// What of it a leaf page has beside the value.
const BESIDE: usize = 64;
/// What of it is aimed at, in hundredths: what frames shrink to differs by a few from run to run.
const AIM: usize = 95;
/// What of it must be filled by the last segment of a large commit, in hundredths; less becomes two shorter segments.
const FILLED_MIN: usize = 70;
/// Packed bytes that make a commit a large one.
const LARGE: usize = 16 << 10;
/// The most segments that one commit is to fill, once it has sealed as many events as it brings: a log of an older format has
/// a long tail, and nobody should wait for all of it.
const SEGMENTS_MAX: usize = 32;

#[cfg(test)]
thread_local! {
    static SMALLER: std::cell::Cell<Option<usize>> = const { std::cell::Cell::new(None) };
}

/// Logs that are opened by this cut segments of about so many bytes: small enough that a test looks at every bit.
#[cfg(test)]
pub(super) fn in_small_segments<T>(bytes: usize, open: impl FnOnce() -> T) -> T {
    SMALLER.set(Some(bytes));
    let opened = open();
    SMALLER.set(None);
    opened
}

/// How long the values of segments are to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    /// The longest that one may be.
    longest: usize,
    /// From here on a commit is sealed whole.
    large: usize,
    /// What small commits share before it is moved ([`unsealed::put`]).
    pub(super) page: usize,
}

impl Lengths {
    /// Those of a log that is opened here.
    pub(super) fn of_a_log() -> Self {
        #[cfg(test)]
        if let Some(smaller) = SMALLER.get() {
            return Self { longest: smaller, large: smaller, page: smaller / 8 };
        }
        Self { longest: LONGEST - BESIDE, large: LARGE, page: unsealed::PAGE }
    }

    /// How long the first segment is to be of events that are expected to shrink to so many bytes and are all sealed; `None`
    /// where one segment is to hold all of them.
    fn first_of(self, expected: usize) -> Option<usize> {
        if expected * 100 > self.longest * AIM {
            return Some(self.longest);
        }
        let pages = (expected * 100 / AIM + BESIDE).next_power_of_two();
        let is_filled = pages <= SHORTEST || expected * 100 >= pages * FILLED_MIN;
        (!is_filled).then_some(pages / 2 - BESIDE)
    }
}

/// Events in rows of the tail, and those of this transaction, which are in none.
pub(super) struct Unsealed<'b> {
    pub(super) transaction: &'b WriteTransaction,
    /// Number of the first frame of this transaction.
    pub(super) fresh_first: u64,
    pub(super) fresh: &'b Arc<Frames>,
}

/// Events that go into one segment if they shrink as those before them did.
struct Planned {
    /// How long the value may be.
    longest: usize,
    /// The chain's head before the first.
    before: [u8; 32],
    entries: Vec<Entry>,
    /// Frames among which theirs are, from this one on.
    frames: (Arc<Frames>, usize),
}

/// Segments as they are stored, of one plan.
#[derive(Default)]
struct Made {
    /// First event and value of each.
    values: Vec<(u64, Vec<u8>)>,
    /// Their bytes, packed and unpacked.
    shrunk: (usize, usize),
}

/// What is being packed, of a transaction that has all the rows about it.
pub(super) struct Packing {
    /// The event up to which everything was sealed before.
    pub(super) before: u64,
    /// Whether by another thread.
    pub(super) is_aside: bool,
    /// The greatest id up to the last that is sealed now.
    greatest: Option<[u8; 16]>,
    packed: mpsc::Receiver<Vec<Made>>,
}

impl Packing {
    /// Waits for the segments and stores them.
    pub(super) fn store(self, transaction: &WriteTransaction, known: &mut Tail) -> Result<(), redb::Error> {
        let made = self.packed.recv().expect("packing does not break off");
        let shrunk = made.last().map_or((0, 0), |made| made.shrunk);
        let mut segments = transaction.open_table(SEGMENTS)?;
        for (first, value) in made.into_iter().flat_map(|made| made.values) {
            segments.insert(first, value.as_slice())?;
        }
        known.sealed_as(self.greatest, shrunk);
        Ok(())
    }
}

impl Unsealed<'_> {
    /// Seals as much as is due, and gives what is left to be done of it, where anything is sealed. What of the fresh frames is
    /// sealed needs no row.
    ///
    /// Small commits gather until they fill the longest segment. A large one is sealed at once, with what had gathered before
    /// it: as rows, its events would be written unpacked, and once more when they are sealed. It is packed aside, while its
    /// rows are stored here and what else there is to do.
    pub(super) fn seal(&self, known: &mut Tail, aside: &mut Aside) -> Result<Option<Packing>, redb::Error> {
        let before = known.sealed();
        let is_large = known.shrunk_to(self.fresh.bytes()) >= known.lengths().large;
        let planned = self.planned(known, is_large)?;
        if planned.is_empty() {
            return Ok(None);
        }
        let mut rows = known.rows(planned.iter().flat_map(|planned| &planned.entries));
        rows.end_behind(planned.iter().filter_map(|planned| Some(planned.entries.last()?.seq)));
        let (done, packed) = mpsc::channel();
        let kinds = known.kinds().to_vec();
        let pack = move |by: &mut Packer| {
            let made: Vec<Made> = planned.into_iter().map(|planned| planned.packed(&kinds, by)).collect();
            // Nobody waits for it where the rows could not be stored.
            drop(done.send(made));
        };
        if is_large {
            aside.hand(pack);
        } else {
            // Large commits come one after the other, and small ones seal a few times a day.
            aside.rest();
            pack(&mut Packer::new());
        }
        let greatest = self.store_rows((before, known.sealed()), rows, known.sealed_newest())?;
        Ok(Some(Packing { before, is_aside: is_large, greatest, packed }))
    }

    /// Takes out of the tail what is due.
    fn planned(&self, known: &mut Tail, is_large: bool) -> Result<Vec<Planned>, redb::Error> {
        let longest = known.lengths().longest;
        let (before, mut planned) = (known.sealed(), Vec::new());
        let is_enough = |planned: usize, sealed: u64| planned >= SEGMENTS_MAX && sealed >= self.fresh.len() as u64;
        while (known.fills(longest) || is_large && known.can_be_sealed())
            && !is_enough(planned.len(), known.sealed() - before)
        {
            let (first, head) = (known.sealed() + 1, known.head());
            let aim = if is_large { known.lengths().first_of(known.shrinks_to()) } else { Some(longest) };
            let entries = known.take(known.filling(aim.map_or(longest, |length| length * AIM / 100)));
            let longest = aim.unwrap_or(longest);
            planned.push(Planned { longest, before: head, frames: self.frames(first, entries.len())?, entries });
        }
        Ok(planned)
    }

    /// The rows in the indexes of what is sealed now, from behind `before` to `last`; its own rows go.
    fn store_rows(
        &self,
        (before, last): (u64, u64),
        rows: Rows,
        greatest: Option<[u8; 16]>,
    ) -> Result<Option<[u8; 16]>, redb::Error> {
        if before + 1 < self.fresh_first {
            unsealed::take_out(self.transaction, last.min(self.fresh_first - 1))?;
        }
        rows.store(self.transaction, greatest)
    }

    /// Frames among which are so many from a number on, and the place of the first.
    fn frames(&self, first: u64, count: usize) -> Result<(Arc<Frames>, usize), redb::Error> {
        let fresh = |seq: u64| usize::try_from(seq - self.fresh_first).expect("what is fresh is in memory");
        if first >= self.fresh_first {
            return Ok((Arc::clone(self.fresh), fresh(first)));
        }
        let end = first + count as u64;
        let mut frames = Frames::default();
        let tables = unsealed::Tables::write(self.transaction)?;
        for row in tables.rows_from(first)? {
            let row = row?;
            if row.first >= end {
                break;
            }
            let asked = row.frames().filter(|(seq, _)| (first..end).contains(seq));
            asked.for_each(|(_, frame)| frames.push(frame));
        }
        for seq in self.fresh_first..end {
            frames.push(self.fresh.get(fresh(seq)).expect("what is not in the table is of this transaction"));
        }
        Ok((Arc::new(frames), 0))
    }
}

impl Planned {
    /// Its segments.
    fn packed(self, kinds: &[String], packer: &mut Packer) -> Made {
        let mut made = Made::default();
        self.add(&mut made, 0..self.entries.len(), (kinds, packer));
        made
    }

    /// Some of its events as a segment; as several, where they are too long for one.
    fn add(&self, made: &mut Made, run: Range<usize>, (kinds, by): (&[String], &mut Packer)) {
        let mut sealing = Sealing::default();
        let entries = &self.entries[run.clone()];
        for entry in entries {
            sealing.take_in(entry.time, &kinds[entry.kind]);
        }
        let (frames, from) = &self.frames;
        let packed = by.pack(frames.plain(from + run.start..from + run.end));
        let length = packed.bytes.len() + sealing.overhead();
        if length > self.longest && run.len() > 1 {
            // What did not fit is let go of before: events that shrink less than those before them can make hundreds.
            let fitting = (run.len() * self.longest / length * AIM / 100).clamp(1, run.len() - 1);
            drop(packed);
            for start in run.clone().step_by(fitting) {
                self.add(made, start..run.end.min(start + fitting), (kinds, &mut *by));
            }
            return;
        }
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return };
        let before = run.start.checked_sub(1).map_or(self.before, |before| self.entries[before].head);
        let header = sealing.header((first.seq, last.seq), [before, last.head]);
        made.shrunk = (made.shrunk.0 + packed.bytes.len(), made.shrunk.1 + packed.unpacked as usize);
        made.values.push((first.seq, packed.seal(&header)));
    }
}

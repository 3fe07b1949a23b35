//! Sealing: turns the oldest events of the tail into segments, in the transaction of the append that filled it.
//!
//! A segment is cut by its packed size, just under a power of two: redb gives a large value a power-of-two run of pages. How
//! many events fill it is guessed from what the last ones shrank to; where they shrink less, what is too long for one
//! segment becomes several.

use redb::{ReadableTable, WriteTransaction};

use super::index::Rows;
use super::tables::{SEGMENTS, TAIL};
use super::tail::{Entry, Tail};
use crate::chain;
use crate::segment::{self, Frames, Sealing};

/// How long the value of a segment may be, longest first: a power of two less what a leaf page has beside it. A single event
/// that is longer than the longest is a segment of its own.
const CLASSES: [usize; 3] = [(64 << 10) - 64, (32 << 10) - 64, (16 << 10) - 64];
/// What of it is aimed at, in hundredths: what frames shrink to differs by a few from run to run.
const AIM: usize = 95;
/// The most segments that one commit is to fill: a log of an older format has a long tail, and nobody should wait for all of
/// it.
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

/// How long the segments may be of a log that is opened here.
pub(super) fn classes() -> [usize; 3] {
    #[cfg(test)]
    if let Some(smaller) = SMALLER.get() {
        return [smaller; 3];
    }
    CLASSES
}

/// Events in rows of the tail, and those of this transaction, which have none.
pub(super) struct Unsealed<'b> {
    pub(super) transaction: &'b WriteTransaction,
    /// Number of the first frame of this transaction.
    pub(super) fresh_first: u64,
    pub(super) fresh: &'b Frames,
}

/// Events that go into one segment if they shrink as those before them did.
struct Planned {
    /// How long the value may be.
    class: usize,
    entries: Vec<Entry>,
    frames: Frames,
}

/// Segments as they are stored, of one plan.
struct Made {
    /// First event and value of each.
    values: Vec<(u64, Vec<u8>)>,
    /// The chain's head behind the last.
    head: [u8; 32],
    /// Their bytes, packed and unpacked.
    shrunk: (usize, usize),
}

impl Unsealed<'_> {
    /// Seals as much as is due; returns the event up to which everything was sealed before, if more is now. What of the
    /// fresh frames is sealed needs no row.
    ///
    /// Small commits gather until they fill the longest class. One that brings enough for a segment by itself is sealed at
    /// once as far as it fills any: written to the tail, its events would be written twice.
    pub(super) fn seal(&self, known: &mut Tail) -> Result<Option<u64>, redb::Error> {
        let before = known.sealed();
        let planned = self.planned(known)?;
        if planned.is_empty() {
            return Ok(None);
        }
        let rows = known.rows(planned.iter().flat_map(|planned| &planned.entries));
        let (kinds, greatest) = (known.kinds(), known.sealed_newest());
        let mut head = known.head();
        let mut from = Vec::with_capacity(planned.len());
        for planned in &planned {
            from.push((planned, head));
            head = head_after(head, &planned.entries);
        }
        let pack = |planned: &[(&Planned, [u8; 32])]| -> Vec<Made> {
            planned.iter().map(|(planned, head)| planned.packed(kinds, *head)).collect()
        };
        // Compressing is the most of it, and then come the rows of the indexes: half of it is done beside.
        let (there, here) = from.split_at(from.len().div_ceil(2));
        let (made, greatest) = std::thread::scope(|scope| {
            let beside = std::thread::Builder::new().name("log-sealer".to_owned()).spawn_scoped(scope, || pack(there));
            let greatest = self.store_rows((before, known.sealed()), rows, greatest)?;
            let here = pack(here);
            let there = beside.map_or_else(
                |_| pack(there),
                |beside| beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
            Ok::<_, redb::Error>((there.into_iter().chain(here), greatest))
        })?;
        let mut segments = self.transaction.open_table(SEGMENTS)?;
        let mut shrunk = (0, 0);
        for made in made {
            shrunk = made.shrunk;
            for (first, value) in made.values {
                segments.insert(first, value.as_slice())?;
            }
        }
        known.sealed_as(head, greatest, shrunk);
        Ok(Some(before))
    }

    /// Takes out of the tail what is due.
    fn planned(&self, known: &mut Tail) -> Result<Vec<Planned>, redb::Error> {
        let all = known.classes();
        let least = all[all.len() - 1];
        let brings_a_segment = known.shrunk_to(self.fresh.bytes() as u64) >= least as u64;
        let classes = if brings_a_segment { &all[..] } else { &all[..1] };
        let mut planned = Vec::new();
        while let Some(class) = classes.iter().copied().find(|class| known.fills(*class))
            && planned.len() < SEGMENTS_MAX
        {
            let first = known.sealed() + 1;
            let entries = known.take(known.filling(class * AIM / 100));
            planned.push(Planned { class, frames: self.frames(first, entries.len())?, entries });
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
            let gone = before + 1..=last.min(self.fresh_first - 1);
            self.transaction.open_table(TAIL)?.retain_in(gone, |_, _| false)?;
        }
        rows.store(self.transaction, greatest)
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

impl Planned {
    /// Its segments, behind a head of the chain.
    fn packed(&self, kinds: &[String], head: [u8; 32]) -> Made {
        let mut made = Made { values: Vec::new(), head, shrunk: (0, 0) };
        let frames: Vec<&[u8]> = self.frames.iter().collect();
        made.add(self.class, (&self.entries, &frames), kinds);
        made
    }
}

/// The chain's head behind these events, where it is `head` before them.
fn head_after(head: [u8; 32], entries: &[Entry]) -> [u8; 32] {
    entries.iter().fold(head, |head, entry| chain::advance(&head, &entry.leaf))
}

impl Made {
    /// One run of events as a segment; as several, where it is too long for one.
    fn add(&mut self, class: usize, (entries, frames): (&[Entry], &[&[u8]]), kinds: &[String]) {
        let mut sealing = Sealing::default();
        for entry in entries {
            sealing.take_in(entry.time, &kinds[entry.kind]);
        }
        let (packed, unpacked) = segment::pack(frames.iter().copied());
        let length = packed.len() + sealing.overhead();
        if length > class && entries.len() > 1 {
            // What did not fit is let go of before: events that shrink less than those before them can make hundreds.
            let fitting = (entries.len() * class / length * AIM / 100).clamp(1, entries.len() - 1);
            drop(packed);
            for (entries, frames) in entries.chunks(fitting).zip(frames.chunks(fitting)) {
                self.add(class, (entries, frames), kinds);
            }
            return;
        }
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return };
        let before = self.head;
        self.head = head_after(before, entries);
        let header = sealing.header((first.seq, last.seq), [before, self.head]);
        self.values.push((first.seq, segment::seal(&header, (&packed, unpacked))));
        self.shrunk = (self.shrunk.0 + packed.len(), self.shrunk.1 + unpacked as usize);
    }
}

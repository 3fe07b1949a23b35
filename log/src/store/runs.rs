//! Runs of stored events: a sealed segment, or some of the tail, copied out of one short transaction.
//!
//! Whoever wants many takes them through [`Reader::runs`]: one thread fetches, others decode, and what they made comes back
//! in order.

use std::sync::mpsc::{Receiver, Sender, channel};

use redb::{ReadTransaction, ReadableDatabase};

use super::archives::{self, Archives};
use super::open;
use super::reader::{ReadError, Reader, unharmed};
use super::tables::SEGMENTS;
use super::unsealed;
use crate::codec::Frame;
use crate::envelope::Recorded;
use crate::segment::{Frames, Segment, SegmentHeader, Unpacker};

/// From so many events on a run of the tail ends with a row: few, so that they still lie in the processor's cache when they are
/// taken.
const TAIL_EVENTS: usize = 256;
/// Threads that decode: two are what a household's machine has to spare.
const THREADS: usize = 2;
/// Fewer sealed events than this are decoded by the caller itself.
const PARALLEL_EVENTS_MIN: u64 = 4096;

/// A run of events as it is stored.
pub(super) enum Run {
    /// A segment's value, from the table or from an archive file.
    Sealed {
        /// Its key.
        first: u64,
        /// The event that was asked for: those before it were seen before they were sealed.
        from: u64,
        /// Its last event.
        last: u64,
        /// The value.
        value: Vec<u8>,
        /// Whether it lies in a file of its own.
        is_archived: bool,
    },
    /// Events of the tail.
    Tail {
        /// The first.
        first: u64,
        /// Their frames, without a gap.
        frames: Frames,
    },
}

/// The frames of a run, ready to be decoded.
pub(super) struct Unpacked {
    /// Number of the first.
    pub(super) first: u64,
    /// Number of the first that was asked for.
    pub(super) from: u64,
    /// The frames.
    pub(super) frames: Frames,
    /// What the segment says of itself; `None` for those of the tail.
    pub(super) header: Option<SegmentHeader>,
    /// Whether it lies in an archive file.
    pub(super) is_archived: bool,
}

impl Run {
    /// The last event's number.
    pub(super) fn last(&self) -> u64 {
        match self {
            Self::Sealed { last, .. } => *last,
            Self::Tail { first, frames } => first + frames.len() as u64 - 1,
        }
    }

    /// Its frames; a segment's digest is compared.
    pub(super) fn unpack(self) -> Result<Unpacked, ReadError> {
        self.unpack_by(&mut Unpacker::default())
    }

    /// The same for who unpacks many.
    pub(super) fn unpack_by(self, unpacker: &mut Unpacker) -> Result<Unpacked, ReadError> {
        match self {
            Self::Tail { first, frames } => {
                Ok(Unpacked { first, from: first, frames, header: None, is_archived: false })
            }
            Self::Sealed { first, from, value, is_archived, .. } => {
                let damaged = |source| ReadError::Segment { first, source };
                let segment = Segment::parse(&value).map_err(damaged)?;
                if segment.header.first != first {
                    return Err(damaged(crate::segment::SegmentError::Header("first event")));
                }
                let frames = segment.frames_by(unpacker).map_err(damaged)?;
                Ok(Unpacked { first, from, frames, header: Some(segment.header), is_archived })
            }
        }
    }
}

impl Unpacked {
    /// The stored bytes of one event.
    pub(super) fn frame(&self, seq: u64) -> Option<&[u8]> {
        let index = seq.checked_sub(self.first).and_then(|index| usize::try_from(index).ok())?;
        self.frames.get(index)
    }

    /// One event. A sealed one was compared with its segment's digest; one of the tail is compared with its leaf.
    pub(super) fn recorded(&self, seq: u64) -> Result<Recorded, ReadError> {
        let bytes = self.frame(seq).ok_or(ReadError::Missing { seq })?;
        let read = || {
            let frame = Frame::parse(bytes)?;
            if self.header.is_none() {
                frame.verified(seq)?;
            }
            frame.recorded(seq)
        };
        read().map_err(|source| ReadError::Event { seq, table: self.table(), source })
    }

    /// The table that it lies in; of archived events `archive`.
    pub(super) fn table(&self) -> &'static str {
        match &self.header {
            Some(_) if self.is_archived => "archive",
            Some(_) => "segments",
            None => "tail",
        }
    }

    /// The events that were asked for.
    pub(super) fn events(&self) -> Result<Vec<Recorded>, ReadError> {
        (self.from..self.first + self.frames.len() as u64).map(|seq| self.recorded(seq)).collect()
    }

    /// Whether it holds an event.
    pub(super) fn holds(&self, seq: u64) -> bool {
        (self.first..self.first + self.frames.len() as u64).contains(&seq)
    }
}

/// The run that holds an event, from that event on or from its segment's first; `None` behind the end.
pub(super) fn fetch(transaction: &ReadTransaction, archives: &Archives, seq: u64) -> Result<Option<Run>, ReadError> {
    let segments = transaction.open_table(SEGMENTS)?;
    if let Some(row) = segments.range(..=seq)?.next_back() {
        let (first, value) = row?;
        let (first, value) = (first.value(), value.value());
        // Read before the digest is compared, which whoever unpacks it does.
        let last = value.get(24..32).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok()).map_or(0, u64::from_be_bytes);
        if last >= seq {
            return Ok(Some(Run::Sealed { first, from: seq, last, value: value.to_vec(), is_archived: false }));
        }
    }
    let tables = unsealed::Tables::read(transaction)?;
    let mut frames = Frames::default();
    for row in tables.rows_from(seq)? {
        let row = row?;
        let next = seq + frames.len() as u64;
        if row.first > next || frames.len() >= TAIL_EVENTS {
            break;
        }
        row.frames().filter(|(at, _)| *at >= next).for_each(|(_, frame)| frames.push(frame));
    }
    if !frames.is_empty() {
        return Ok(Some(Run::Tail { first: seq, frames }));
    }
    match archives.run(&archives::listed(transaction)?, seq)? {
        Some(run) => Ok(Some(run)),
        None => refuse_hole(transaction, seq).map(|()| None),
    }
}

/// Nowhere is an event: it lies behind the end, or something is wrong, and is said here. Who reads on must not take it for the
/// end.
fn refuse_hole(transaction: &ReadTransaction, seq: u64) -> Result<(), ReadError> {
    let chain = open::chain_in(transaction).map_err(|fault| ReadError::End { what: fault.to_string() })?;
    if seq > chain.range.size() {
        return Ok(());
    }
    // Mostly the segment that holds it, and says that it ends earlier.
    if let Some((first, value)) = transaction.open_table(SEGMENTS)?.range(..=seq)?.next_back().transpose()? {
        Segment::parse(value.value()).map_err(|source| ReadError::Segment { first: first.value(), source })?;
    }
    Err(ReadError::Missing { seq })
}

impl Reader {
    /// The run that holds an event.
    pub(super) fn run(&self, seq: u64) -> Result<Option<Run>, ReadError> {
        unharmed(|| fetch(&self.database().begin_read()?, self.archives(), seq))
    }

    /// Hands every run from `first` to `last` to `work`, on other threads where there are many, and what it made of them to
    /// `take`, in order, until that says no more. An event that is missing before `last` is an error. What `take` leaves
    /// goes back to the thread that made it: memory is given back cheapest where it was taken.
    pub(super) fn runs<T: Send, D: Send, E: From<ReadError> + From<D>>(
        &self,
        (first, last): (u64, u64),
        work: impl Fn(Run, &mut Unpacker) -> Result<T, D> + Sync,
        mut take: impl FnMut(&mut T) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut next = first;
        let mut fetch = || -> Result<Option<Run>, ReadError> {
            if next > last {
                return Ok(None);
            }
            let run = self.run(next)?.ok_or(ReadError::Missing { seq: next })?;
            // What a damaged segment says of its end is believed by nobody who unpacks it.
            next = run.last().saturating_add(1);
            Ok(Some(run))
        };
        if last.saturating_sub(first) < PARALLEL_EVENTS_MIN {
            let mut unpacker = Unpacker::default();
            while let Some(run) = fetch()? {
                if !take(&mut work(run, &mut unpacker)?)? {
                    return Ok(());
                }
            }
            return Ok(());
        }
        std::thread::scope(|scope| {
            let work = &work;
            let workers: Vec<Worker<Result<T, D>>> = (0..THREADS).map(|_| Worker::spawn(scope, work)).collect();
            // Runs go round the workers, and so do the answers.
            let (mut given, mut taken) = (0, 0);
            let mut broken = None;
            loop {
                while given - taken < 2 * THREADS && broken.is_none() {
                    match fetch() {
                        Ok(Some(run)) => {
                            workers[given % THREADS].give(run);
                            given += 1;
                        }
                        Ok(None) => break,
                        Err(error) => broken = Some(error),
                    }
                }
                if taken == given {
                    return broken.map_or(Ok(()), |error| Err(error.into()));
                }
                let worker = &workers[taken % THREADS];
                let mut made = worker.get()?;
                if !take(&mut made)? {
                    return Ok(());
                }
                worker.give_back(Ok(made));
                taken += 1;
            }
        })
    }
}

/// A thread that works at runs, in the order in which they are given to it.
struct Worker<T> {
    tasks: Sender<Task<T>>,
    made: Receiver<T>,
}

enum Task<T> {
    /// A run to work at.
    Run(Run),
    /// What was made of an earlier one, and is no longer needed.
    Drop(T),
}

impl<T: Send> Worker<T> {
    fn spawn<'scope, W: Fn(Run, &mut Unpacker) -> T + Sync>(
        scope: &'scope std::thread::Scope<'scope, '_>,
        work: &'scope W,
    ) -> Self
    where
        T: 'scope,
    {
        // Neither queue grows: only so many runs are given ahead.
        let (tasks, inbox) = channel::<Task<T>>();
        let (outbox, made) = channel();
        scope.spawn(move || {
            let mut unpacker = Unpacker::default();
            for task in inbox {
                match task {
                    Task::Drop(made) => drop(made),
                    Task::Run(run) => {
                        if outbox.send(work(run, &mut unpacker)).is_err() {
                            return;
                        }
                    }
                }
            }
        });
        Self { tasks, made }
    }

    fn give(&self, run: Run) {
        // A worker that panicked takes nothing; the panic comes out where its answer is waited for.
        drop(self.tasks.send(Task::Run(run)));
    }

    fn give_back(&self, made: T) {
        drop(self.tasks.send(Task::Drop(made)));
    }

    fn get(&self) -> T {
        self.made.recv().expect("a worker answers each run, unless it panicked")
    }
}

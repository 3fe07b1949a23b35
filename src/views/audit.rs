//! Lines of the audit that somebody chose, by the index: only the events that they are made of are read.

use metnos_log::store::ReadError;
use metnos_log::{Reader, Recorded};
use metnos_projections::views::audit::index::{self, Entry, Index};
use metnos_projections::views::audit::selection::Selection;
use metnos_projections::views::audit::{Audit, Line};

use super::{FileError, Served, ViewError, ask};
use crate::instance::Instance;
use crate::projector::Watch;

/// How many lines are looked up at a time.
const AT_ONCE: usize = 512;
/// Where there is a line in so many events, what lies between is read too: events are read by runs of about as many.
const SPARSE: u64 = if cfg!(test) { 5 } else { 100 };

/// Lines that somebody chose: eight bytes each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The numbers that name them, in order.
    pub seqs: Vec<u64>,
    /// The first event that one of them is made of.
    first: u64,
}

/// The lines of a choice as of an event. `None` where the index does not know all of them yet.
pub fn chosen(
    instance: &Instance,
    selection: &Selection,
    size: u64,
    watch: Watch<'_>,
) -> Result<Option<Chosen>, ViewError> {
    ask::<Index, _>(instance, watch, |served| {
        if served.position < size {
            return Ok(None);
        }
        let (mut seqs, mut first_source) = (Vec::new(), u64::MAX);
        let mut is_damaged = false;
        served.file.read(|rows| {
            let (first, end) = index::range(selection);
            for row in rows.range::<&[u8]>(first.as_slice()..end.as_slice())? {
                let seq = index::line_of(row?.0.value());
                let Some(seq) = seq.filter(|seq| *seq <= size) else {
                    is_damaged |= seq.is_none();
                    continue;
                };
                let entry = rows.get(index::key(seq).as_slice())?.and_then(|row| index::entry(row.value()));
                is_damaged |= entry.is_none();
                if let Some(entry) = entry.filter(|entry| entry.is_in(selection)) {
                    first_source = entry.sources.iter().copied().fold(first_source, u64::min);
                    seqs.push(seq);
                }
            }
            Ok(())
        })?;
        if is_damaged {
            return Err(served.file.damaged("a row leads nowhere"));
        }
        // By the events that end them, as who reads the log meets them.
        seqs.sort_unstable();
        Ok(Some(Chosen { seqs, first: first_source }))
    })
}

/// Makes lines again from their events, in order: each from its own where they lie far from each other, and all from what
/// lies between the first and the last of them where that is about as much.
pub fn each<E: From<ViewError>>(
    instance: &Instance,
    chosen: &Chosen,
    mut each: impl FnMut(&Line) -> Result<(), E>,
) -> Result<(), E> {
    let Some(last) = chosen.seqs.last().copied() else { return Ok(()) };
    let reader = instance.log.reader();
    if last.saturating_sub(chosen.first) <= SPARSE * chosen.seqs.len() as u64 {
        return each_between(&reader, chosen, last, each);
    }
    let mut near = Near { reader, run: Vec::new() };
    for some in chosen.seqs.chunks(AT_ONCE) {
        for entry in ask::<Index, _>(instance, &|_, _| {}, |served| entries(served, some))? {
            if let Some(line) = near.line(&entry).map_err(ViewError::from)? {
                each(&line)?;
            }
        }
    }
    Ok(())
}

fn each_between<E: From<ViewError>>(
    reader: &Reader,
    chosen: &Chosen,
    last: u64,
    mut each: impl FnMut(&Line) -> Result<(), E>,
) -> Result<(), E> {
    let mut audit = Audit::default();
    let mut failed = None;
    reader.each_lent(chosen.first, |recorded| {
        let line = audit.take(recorded).filter(|line| chosen.seqs.binary_search(&line.seq).is_ok());
        failed = line.and_then(|line| each(&line).err());
        Ok::<bool, ViewError>(failed.is_none() && recorded.seq < last)
    })?;
    failed.map_or(Ok(()), Err)
}

fn entries(served: &Served, seqs: &[u64]) -> Result<Vec<Entry>, FileError> {
    let found = served.file.read(|rows| {
        let entry = |seq: &u64| {
            let row = rows.get(index::key(*seq).as_slice())?;
            Ok(row.and_then(|row| index::entry(row.value())))
        };
        seqs.iter().map(entry).collect::<Result<Option<Vec<_>>, _>>()
    })?;
    found.ok_or_else(|| served.file.damaged("the row of a line is gone"))
}

/// Reads events that mostly lie near each other.
struct Near {
    reader: Reader,
    run: Vec<Recorded>,
}

impl Near {
    fn event(&mut self, seq: u64) -> Result<Option<&Recorded>, ReadError> {
        let place = |run: &[Recorded]| run.binary_search_by_key(&seq, |event| event.seq).ok();
        if place(&self.run).is_none() {
            self.run = self.reader.chunk(seq)?;
        }
        Ok(place(&self.run).map(|place| &self.run[place]))
    }

    fn line(&mut self, entry: &Entry) -> Result<Option<Line>, ReadError> {
        let (mut audit, mut line) = (Audit::default(), None);
        for seq in &entry.sources {
            line = self.event(*seq)?.and_then(|event| audit.take(event));
        }
        Ok(line)
    }
}

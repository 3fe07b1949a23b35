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

/// The lines of a choice as of an event, by the numbers that name them, in order: eight bytes a line. `None` where the index
/// does not know all of them yet.
pub fn chosen(
    instance: &Instance,
    selection: &Selection,
    size: u64,
    watch: Watch<'_>,
) -> Result<Option<Vec<u64>>, ViewError> {
    ask::<Index, _>(instance, watch, |served| {
        if served.position < size {
            return Ok(None);
        }
        let mut seqs = Vec::new();
        let mut is_damaged = false;
        served.file.read(|rows| {
            let (first, end) = index::range(selection);
            for row in rows.range::<&[u8]>(first.as_slice()..end.as_slice())? {
                let Some(seq) = index::line_of(row?.0.value()) else {
                    is_damaged = true;
                    continue;
                };
                if seq <= size {
                    let entry = rows.get(index::key(seq).as_slice())?.and_then(|row| index::entry(row.value()));
                    is_damaged |= entry.is_none();
                    seqs.extend(entry.filter(|entry| entry.is_in(selection)).map(|_| seq));
                }
            }
            Ok(())
        })?;
        if is_damaged {
            return Err(served.file.damaged("a row leads nowhere"));
        }
        // By the events that end them, as who reads the log meets them.
        seqs.sort_unstable();
        Ok(Some(seqs))
    })
}

/// Makes lines again from their events, in order.
pub fn each<E: From<ViewError>>(
    instance: &Instance,
    seqs: &[u64],
    mut each: impl FnMut(&Line) -> Result<(), E>,
) -> Result<(), E> {
    let mut near = Near { reader: instance.log.reader(), run: Vec::new() };
    for some in seqs.chunks(AT_ONCE) {
        for entry in ask::<Index, _>(instance, &|_, _| {}, |served| entries(served, some))? {
            if let Some(line) = near.line(&entry).map_err(ViewError::from)? {
                each(&line)?;
            }
        }
    }
    Ok(())
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

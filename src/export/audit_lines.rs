//! Audit lines for others: chosen, in one of four forms, or with the proof that they are in the log.
//!
//! The same events give the same bytes, whatever the day and the order of the choices.

use std::collections::BTreeSet;

use metnos_log::note::Checkpoint;
use metnos_log::proof::Builder;
use metnos_log::store::ReadError;
use metnos_log::{Log, Reader, Recorded, chain};
use metnos_projections::views::audit::proof::{Chosen, FORMAT, Head, PURPOSE, Rows, Seal, written};
use metnos_projections::views::audit::selection::Selection;
use metnos_projections::views::audit::spans::Spans;
use metnos_projections::views::audit::{Audit, Line, cloud_events, csv};

use crate::instance::Instance;
use crate::projector::Watch;
use crate::signing::{Keys, hex};
use crate::views::{self, ViewError};

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON lines.
    Jsonl,
    /// RFC 4180.
    Csv,
    /// CloudEvents 1.0, one JSON object a line.
    CloudEvents,
    /// OpenTelemetry spans, OTLP's JSON a line.
    Otel,
    /// JSON lines that stand alone: with their events and a proof.
    Proof {
        /// Whether what quotes other turns is shown nevertheless.
        quotes: bool,
    },
}

/// Where the text goes; each piece is whole lines.
pub type Put<'a, E> = &'a mut dyn FnMut(&str) -> Result<(), E>;

/// Writes the lines of a selection, as of an event; how many there are.
pub fn export<E: From<ReadError>>(
    (log, keys, size): (&Log, &Keys, u64),
    format: Format,
    selection: &Selection,
    put: Put<'_, E>,
) -> Result<u64, E> {
    let reader = log.reader();
    let mut lines = 0;
    if let Format::Proof { quotes } = format {
        return proof((log, keys, size), quotes, selection, put);
    }
    if format == Format::Csv {
        put(&csv::header())?;
    }
    let mut audit = Audit::default();
    let mut spans = Spans::default();
    each(&reader, size, |recorded| {
        let text = match format {
            // A long text lies elsewhere, and may name what is taken back.
            Format::Otel => spans.take(&reader.rehydrated(recorded)?, log.id(), selection).map(|text| text + "\n"),
            Format::Jsonl | Format::Csv | Format::CloudEvents | Format::Proof { .. } => {
                let line = audit.take(&recorded).filter(|line| selection.takes(line));
                line.map(|line| written_as(format, log.id(), &line))
            }
        };
        lines += u64::from(text.is_some());
        text.map_or(Ok(()), |text| put(&text))
    })?;
    Ok(lines)
}

fn written_as(format: Format, log: &str, line: &Line) -> String {
    match format {
        Format::Csv => csv::row(line),
        Format::CloudEvents => cloud_events::event(log, line) + "\n",
        Format::Jsonl | Format::Otel | Format::Proof { .. } => line.text() + "\n",
    }
}

/// The same by the index, which knows where the lines of a choice are; nobody is asked for it where every event is read
/// anyway: for all lines, for a proof, and for spans, of which not all are lines.
pub fn export_by_index<E: From<ReadError> + From<ViewError>>(
    instance: &Instance,
    format: Format,
    selection: &Selection,
    (watch, put): (Watch<'_>, Put<'_, E>),
) -> Result<u64, E> {
    let size = instance.projected().position;
    let is_whole = selection.is_everything() || matches!(format, Format::Otel | Format::Proof { .. });
    let chosen = if is_whole { Ok(None) } else { views::audit::chosen(instance, selection, size, watch) };
    let chosen = chosen.unwrap_or_else(|error| {
        tracing::warn!(error = &error as &dyn std::error::Error, "the audit is read from the log itself");
        None
    });
    let Some(chosen) = chosen else {
        return export((&instance.log, &instance.keys, size), format, selection, put);
    };
    if format == Format::Csv {
        put(&csv::header())?;
    }
    let mut lines = 0;
    views::audit::each(instance, &chosen, |line| {
        // The line itself says whether it is wanted, whatever the index holds.
        if !selection.takes(line) {
            return Ok(());
        }
        lines += 1;
        put(&written_as(format, instance.log.id(), line))
    })?;
    Ok(lines)
}

/// Hands over the events up to one of them.
fn each<E: From<ReadError>>(
    reader: &Reader,
    size: u64,
    mut each: impl FnMut(Recorded) -> Result<(), E>,
) -> Result<(), E> {
    reader.each(1, |recorded| {
        if recorded.seq > size {
            return Ok(false);
        }
        each(recorded)?;
        Ok(true)
    })
}

/// Reads the log three times: for the events that are shown, for the proof that they are in it, and for the lines. Memory for
/// the numbers of what is shown and for one line.
fn proof<E: From<ReadError>>(
    (log, keys, size): (&Log, &Keys, u64),
    quotes: bool,
    selection: &Selection,
    put: Put<'_, E>,
) -> Result<u64, E> {
    let reader = log.reader();
    let (mut sources, mut lines) = (BTreeSet::new(), 0);
    let mut chosen = Chosen::new(selection.clone(), quotes);
    each(&reader, size, |recorded| {
        if let Some(line) = chosen.take(&recorded) {
            sources.extend(line.sources);
            lines += 1;
        }
        Ok::<(), E>(())
    })?;

    let mut builder = Builder::new(sources.iter().copied());
    let mut head = chain::GENESIS;
    reader.each_leaf(1, size, |_, leaf| {
        head = chain::advance(&head, &leaf);
        builder.push(leaf);
        Ok::<(), ReadError>(())
    })?;
    let (parts, range) = builder.finish();
    let checkpoint = Checkpoint { log_id: log.id().to_owned(), size: range.size(), root: range.root(), head };

    let mut sealed = Sealed { put, hasher: blake3::Hasher::new() };
    let events = sources.len() as u64;
    let (format, checkpoint) = (FORMAT.to_owned(), keys.sign_checkpoint(&checkpoint));
    sealed.put(&written(&Head { format, checkpoint, selection: selection.clone(), lines, events, proof: parts }))?;
    let mut chosen = Chosen::new(selection.clone(), quotes);
    let (mut rows, mut raw) = (Rows::default(), reader.raw());
    each(&reader, size, |recorded| {
        let Some(line) = chosen.take(&recorded) else { return Ok(()) };
        let row = rows.row(&line, |seq| Ok::<_, E>(raw.frame(seq)?))?;
        sealed.put(&row)
    })?;
    sealed.seal(keys)?;
    Ok(lines)
}

/// What is written, hashed on its way.
struct Sealed<'a, E> {
    put: Put<'a, E>,
    hasher: blake3::Hasher,
}

impl<E> Sealed<'_, E> {
    fn put(&mut self, text: &str) -> Result<(), E> {
        self.hasher.update(text.as_bytes());
        (self.put)(text)
    }

    /// The last line: that all of it was written by the key.
    fn seal(self, keys: &Keys) -> Result<(), E> {
        let digest = self.hasher.finalize();
        let signature = hex(&keys.sign_for(PURPOSE, digest.as_bytes()));
        (self.put)(&written(&Seal { digest: digest.to_hex().to_string(), signature }))
    }
}

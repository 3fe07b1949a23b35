//! Archive files: sealed history that was moved out of the log's file (`FORMAT.md`, «Archive»), and how it is read there.
//!
//! `meta` names every file by its first and last event, so that one that is missing is named and nothing is guessed from a
//! folder. What is read is compared with its digest here, so that damage names the file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use redb::{ReadTransaction, ReadableTable};

use super::reader::ReadError;
use super::runs::Run;
use super::segments_file::{self, Place};
use super::tables::{META, META_ARCHIVES};
use crate::segment::{Segment, SegmentError};

/// First and last event of a file.
pub(super) type Span = (u64, u64);

/// Digits of a number in a name: names sort as numbers do.
const DIGITS: usize = 12;

/// What is wrong with an archive file.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveFault {
    /// It is not there.
    #[error("it is missing; bring it back to where it was")]
    Missing,
    /// The system refuses it.
    #[error("it cannot be read: {0}")]
    Io(#[source] io::Error),
    /// It does not hold what its name says.
    #[error("it was cut short or changed: it does not hold events {first} to {last} one after the other")]
    Shape {
        /// By its name.
        first: u64,
        /// By its name.
        last: u64,
    },
    /// A segment in it is not what was sealed.
    #[error("it was changed: the segment from event {first} on: {source}")]
    Segment {
        /// Its first event.
        first: u64,
        /// What is wrong.
        #[source]
        source: SegmentError,
    },
}

/// The archive of one log. The file that was read last stays open.
pub(super) struct Archives {
    folder: PathBuf,
    open: Mutex<Option<Arc<Opened>>>,
}

/// A file that is read.
struct Opened {
    span: Span,
    file: File,
    places: Vec<Place>,
}

impl Archives {
    /// That of the log which lies at a path.
    pub(super) fn beside(log: &Path) -> Self {
        let folder = log.parent().unwrap_or(Path::new("")).join("archive");
        Self { folder, open: Mutex::default() }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where a file lies.
    pub(super) fn path(&self, (first, last): Span) -> PathBuf {
        self.folder.join(format!("{first:0DIGITS$}-{last:0DIGITS$}.seg"))
    }

    /// Looks at the disk again for what it reads next.
    pub(super) fn forget(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The archived segment that holds an event; `None` where none of the listed files does.
    pub(super) fn run(&self, listed: &[Span], seq: u64) -> Result<Option<Run>, ReadError> {
        let Some(span) = listed.iter().find(|(first, last)| (*first..=*last).contains(&seq)) else { return Ok(None) };
        self.read(*span, seq).map(Some).map_err(|fault| self.refused(*span, seq, fault))
    }

    pub(super) fn refused(&self, span: Span, first: u64, source: ArchiveFault) -> ReadError {
        ReadError::Archive { path: self.path(span), first, source }
    }

    fn read(&self, span: Span, seq: u64) -> Result<Run, ArchiveFault> {
        let opened = self.opened(span)?;
        let at = opened.places.partition_point(|place| place.last < seq);
        let place = opened.places.get(at).ok_or(ArchiveFault::Shape { first: span.0, last: span.1 })?;
        let value = opened.value(place)?;
        Ok(Run::Sealed { first: place.first, from: seq, last: place.last, value, is_archived: true })
    }

    fn opened(&self, span: Span) -> Result<Arc<Opened>, ArchiveFault> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = open.as_ref().filter(|opened| opened.span == span) {
            return Ok(Arc::clone(opened));
        }
        Ok(Arc::clone(open.insert(Arc::new(Opened::at(&self.path(span), span)?))))
    }

    /// Every segment of a file, compared with its digest.
    pub(super) fn each(
        path: &Path,
        span: Span,
        mut each: impl FnMut(&Place, Vec<u8>) -> io::Result<()>,
    ) -> Result<(), ArchiveFault> {
        let opened = Opened::at(path, span)?;
        for place in &opened.places {
            each(place, opened.value(place)?).map_err(ArchiveFault::Io)?;
        }
        Ok(())
    }
}

impl Opened {
    fn at(path: &Path, span: Span) -> Result<Self, ArchiveFault> {
        let mut file = segments_file::open(path).map_err(ArchiveFault::Io)?.ok_or(ArchiveFault::Missing)?;
        let places = segments_file::places(&mut file).map_err(ArchiveFault::Io)?;
        let mut next = Some(span.0);
        for place in &places {
            let follows = |next: &u64| *next == place.first && place.last >= place.first;
            next = next.filter(follows).and_then(|_| place.last.checked_add(1));
        }
        let length = file.metadata().map_err(ArchiveFault::Io)?.len();
        let is_whole = places.last().is_some_and(|place| place.offset + place.length == length);
        if is_whole && next.is_some() && next == span.1.checked_add(1) {
            Ok(Self { span, file, places })
        } else {
            Err(ArchiveFault::Shape { first: span.0, last: span.1 })
        }
    }

    /// A segment's bytes, compared with their digest and with what was read of them before.
    fn value(&self, place: &Place) -> Result<Vec<u8>, ArchiveFault> {
        let length = usize::try_from(place.length).map_err(|error| ArchiveFault::Io(io::Error::other(error)))?;
        let mut value = vec![0; length];
        self.file.read_exact_at(&mut value, place.offset).map_err(ArchiveFault::Io)?;
        let damaged = |source| ArchiveFault::Segment { first: place.first, source };
        let header = Segment::parse(&value).map_err(damaged)?.header;
        if (header.first, header.last) == (place.first, place.last) {
            Ok(value)
        } else {
            Err(damaged(SegmentError::Header("first or last event")))
        }
    }
}

/// The files that one transaction knows, in order.
pub(super) fn listed(transaction: &ReadTransaction) -> Result<Vec<Span>, ReadError> {
    listed_in(&transaction.open_table(META)?)
}

/// The same, from the table.
pub(super) fn listed_in(meta: &impl ReadableTable<&'static str, &'static [u8]>) -> Result<Vec<Span>, ReadError> {
    let Some(row) = meta.get(META_ARCHIVES)? else { return Ok(Vec::new()) };
    let (numbers, rest) = row.value().as_chunks::<8>();
    let numbers: Vec<u64> = numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    let (spans, odd) = numbers.as_chunks::<2>();
    let mut next = 1;
    let mut follows = |span: &[u64; 2]| {
        let fits = span[0] == next && span[1] >= span[0];
        next = span[1].saturating_add(1);
        fits
    };
    if !rest.is_empty() || !odd.is_empty() || !spans.iter().all(&mut follows) {
        return Err(ReadError::End { what: "its list of archive files has a wrong shape".to_owned() });
    }
    Ok(spans.iter().map(|span| (span[0], span[1])).collect())
}

/// The list as it is stored.
pub(super) fn list_bytes(spans: &[Span]) -> Vec<u8> {
    spans.iter().flat_map(|(first, last)| [first.to_le_bytes(), last.to_le_bytes()]).flatten().collect()
}

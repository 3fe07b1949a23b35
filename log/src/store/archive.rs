//! Archiving: sealed history moved out of the log's file into plain files beside it, and erasure there (`FORMAT.md`, «Archive»).
//!
//! A file is written beside its name, read back against the chain and on disk before it gets the name; only then do its rows
//! leave the log, all of one run in one transaction that also lists the files. Until that commit the rows are the log and the
//! files are nobody's; from then on it is the other way round. A file is changed by a whole new one in its place. An erased
//! payload has the leaf that it had, so the log verifies with either.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use redb::{Database, ReadableDatabase, ReadableTable};
use tokio::sync::oneshot;

use super::archives::{self, ArchiveFault, Archives, Span};
use super::commits::{Side, reach};
use super::files::{self, Plain};
use super::reader::{ReadError, Reader, unharmed};
use super::rewrite::{LeftOut, RewriteError};
use super::runs::Run;
use super::segments_file;
use super::tables::{META, META_ARCHIVES, SEGMENTS};
use super::{Log, Message};
use crate::chain;
use crate::codec::Frame;
use crate::segment::{Segment, SegmentError};

/// A file is closed once it is this long.
const FILE_BYTES: u64 = 16 << 20;
/// What a file is called until it is whole.
const FRESH: &str = "seg.new";

/// Which events are moved: those of sealed segments that lie wholly before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// This number.
    Seq(u64),
    /// This time, µs.
    Time(i64),
}

/// What was moved, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archived {
    /// First and last event; zeros where there is none.
    pub events: (u64, u64),
    /// How many segments.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The files that hold them.
    pub files: Vec<PathBuf>,
}

/// Why nothing was moved: every row is still where it was.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file cannot be written.
    #[error("{path} cannot be written")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// What was written does not read back as it was.
    #[error("{path} does not hold what was written to it: {what}")]
    Unsound {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A file has the name already, and is not of this log.
    #[error("{path} is there already, and holds events of another log")]
    Occupied {
        /// The file.
        path: PathBuf,
    },
    /// The log was written anew meanwhile.
    #[error("the log was written anew meanwhile")]
    Changed,
    /// The store failed.
    #[error("the log cannot be written: {0}")]
    Store(#[source] Box<redb::Error>),
    /// The log does not lie in a file.
    #[error("this log is not in a file")]
    NoFile,
    /// The writer has stopped.
    #[error("the log's writer has stopped; reopen the log")]
    Stopped,
}

impl<E: Into<redb::Error>> From<E> for ArchiveError {
    fn from(error: E) -> Self {
        Self::Store(Box::new(error.into()))
    }
}

fn refused(path: &Path) -> impl FnOnce(io::Error) -> ArchiveError {
    let path = path.to_owned();
    move |source| ArchiveError::Io { path, source }
}

/// Rows that may go, since files hold them.
pub(super) struct Moving {
    /// The files, in order.
    spans: Vec<Span>,
    /// First event and digest of each segment in them.
    digests: Vec<(u64, [u8; 32])>,
    pub(super) acknowledge: oneshot::Sender<Result<(), ArchiveError>>,
}

/// What is to leave archive files.
pub(super) struct Rest {
    pub(super) left_out: LeftOut,
    pub(super) acknowledge: oneshot::Sender<Result<u64, RewriteError>>,
}

impl Log {
    /// What [`Self::archive`] would move.
    pub fn archivable(&self, before: Before) -> Result<Archived, ReadError> {
        let reader = self.reader();
        let mut archived = Archived::default();
        each_sealed(&reader, before, |span, value| {
            archived.take(span, value);
            Ok::<(), ReadError>(())
        })?;
        Ok(archived)
    }

    /// Moves sealed segments that lie wholly before a place into files of the folder `archive` beside the log; calls
    /// `progress(events, of)`. The newest segment stays. The files are on disk and were read back before a row leaves the log, and
    /// every reader finds the events in them from then on. Must not be called on an async worker.
    pub fn archive(&self, before: Before, mut progress: impl FnMut(u64, u64)) -> Result<Archived, ArchiveError> {
        let reader = self.reader();
        if !self.file.is_file() {
            return Err(ArchiveError::NoFile);
        }
        clear(&reader, &self.archives)?;
        let mut files = Files { archives: &self.archives, growing: None, spans: Vec::new(), digests: Vec::new() };
        let mut archived = Archived::default();
        let of = reader.size()?;
        each_sealed(&reader, before, |span, value| {
            archived.take(span, value);
            files.take(span, value)?;
            progress(span.1, of);
            Ok::<(), ArchiveError>(())
        })?;
        let (spans, digests) = files.finish()?;
        if spans.is_empty() {
            return Ok(archived);
        }
        archived.files = spans.iter().map(|span| self.archives.path(*span)).collect();
        let (acknowledge, moved) = oneshot::channel();
        let moving = Moving { spans, digests, acknowledge };
        self.hand_in(Message::Archive(Box::new(moving)));
        moved.blocking_recv().unwrap_or(Err(ArchiveError::Stopped))?;
        Ok(archived)
    }

    /// Takes what `erased` events name out of archive files, where an erasure broke off before it came to them; how many payloads
    /// that were. Must not be called on an async worker.
    pub fn erase_archived(&self) -> Result<u64, RewriteError> {
        let erasures = self.reader().erasures().map_err(|error| RewriteError::Refused(error.to_string()))?;
        let left_out = erasures.left_out();
        let (acknowledge, erased) = oneshot::channel();
        self.hand_in(Message::EraseArchived(Box::new(Rest { left_out, acknowledge })));
        erased.blocking_recv().unwrap_or(Err(RewriteError::Stopped))
    }
}

impl Archived {
    fn take(&mut self, span: Span, value: &[u8]) {
        self.events = if self.segments == 0 { span } else { (self.events.0, span.1) };
        self.segments += 1;
        self.bytes += value.len() as u64;
    }
}

/// Calls `each` with every segment in the log's file that lies wholly before a place; not with the newest.
fn each_sealed<E: From<ReadError>>(
    reader: &Reader,
    before: Before,
    mut each: impl FnMut(Span, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let (listed, newest) = unharmed(|| {
        let transaction = reader.database().begin_read()?;
        let newest = transaction.open_table(SEGMENTS)?.last()?.map_or(0, |(first, _)| first.value());
        Ok((archives::listed(&transaction)?, newest))
    })?;
    let mut next = listed.last().map_or(1, |(_, last)| last + 1);
    while next < newest {
        let Some(Run::Sealed { first, value, .. }) = reader.run(next)? else { break };
        let damaged = |source| ReadError::Segment { first, source };
        let header = Segment::parse(&value).map_err(damaged)?.header;
        let is_before = match before {
            Before::Seq(seq) => header.last < seq,
            Before::Time(time) => header.greatest_time < time,
        };
        if !is_before {
            break;
        }
        each((header.first, header.last), &value)?;
        next = header.last + 1;
    }
    Ok(())
}

/// Files that are being written.
struct Files<'a> {
    archives: &'a Archives,
    growing: Option<Growing>,
    spans: Vec<Span>,
    digests: Vec<(u64, [u8; 32])>,
}

/// The files, and first event and digest of each segment in them.
type Written = (Vec<Span>, Vec<(u64, [u8; 32])>);

/// One that is not whole yet.
struct Growing {
    span: Span,
    path: PathBuf,
    file: Plain,
    bytes: u64,
}

impl Growing {
    fn begin(path: PathBuf, span: Span) -> Result<Self, ArchiveError> {
        if let Some(folder) = path.parent() {
            files::make_folder(folder).map_err(refused(folder))?;
        }
        let file = Plain::create(&path).map_err(refused(&path))?;
        Ok(Self { span, path, file, bytes: 0 })
    }

    fn push(&mut self, span: Span, value: &[u8]) -> Result<(), ArchiveError> {
        self.file.write_all(value).map_err(refused(&self.path))?;
        self.span.1 = span.1;
        self.bytes += value.len() as u64;
        Ok(())
    }

    /// Gives it its name, which no file has; it is whole and on disk, and reads back, before it has it.
    fn finish(self, archives: &Archives) -> Result<Span, ArchiveError> {
        self.named(archives, |fresh, name| match files::link(fresh, name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                drop(files::remove(fresh));
                Err(ArchiveError::Occupied { path: name.to_owned() })
            }
            linked => linked.and_then(|()| files::remove(fresh)).map_err(refused(name)),
        })
    }

    /// The same, in the place of the file that has the name.
    fn replace(self, archives: &Archives) -> Result<Span, ArchiveError> {
        self.named(archives, |fresh, name| files::rename(fresh, name).map_err(refused(name)))
    }

    fn named(
        self,
        archives: &Archives,
        name_it: impl FnOnce(&Path, &Path) -> Result<(), ArchiveError>,
    ) -> Result<Span, ArchiveError> {
        self.file.sync().map_err(refused(&self.path))?;
        check(&self.path, self.span)?;
        reach(Side::Before);
        name_it(&self.path, &archives.path(self.span))?;
        files::sync_folder(archives.folder()).map_err(refused(archives.folder()))?;
        reach(Side::After);
        Ok(self.span)
    }
}

impl Drop for Growing {
    /// What was not named, a full disk has the room again. Nothing has this name any more where it was.
    fn drop(&mut self) {
        drop(files::remove(&self.path));
    }
}

impl Files<'_> {
    fn take(&mut self, span: Span, value: &[u8]) -> Result<(), ArchiveError> {
        let mut growing = match self.growing.take() {
            Some(growing) => growing,
            None => Growing::begin(self.archives.path(span).with_extension(FRESH), span)?,
        };
        growing.push(span, value)?;
        self.digests.push((span.0, segments_file::digest_of(value).unwrap_or_default()));
        if growing.bytes < FILE_BYTES {
            self.growing = Some(growing);
        } else {
            self.spans.push(growing.finish(self.archives)?);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Written, ArchiveError> {
        if let Some(growing) = self.growing.take() {
            self.spans.push(growing.finish(self.archives)?);
        }
        Ok((self.spans, self.digests))
    }
}

/// Reads a file back: every segment follows the one before it, every event has its leaf, and they make the heads.
fn check(path: &Path, span: Span) -> Result<(), ArchiveError> {
    let mut head = None;
    let checked = Archives::each(path, span, |_, value| {
        head = Some(head_after(&value, head).map_err(io::Error::other)?);
        Ok(())
    });
    checked.map_err(|fault| ArchiveError::Unsound { path: path.to_owned(), what: fault.to_string() })
}

/// The head after a segment whose events make the heads that it names.
fn head_after(value: &[u8], before: Option<[u8; 32]>) -> Result<[u8; 32], SegmentError> {
    let segment = Segment::parse(value)?;
    let header = &segment.header;
    if before.is_some_and(|before| before != header.head_before) {
        return Err(SegmentError::Header("head before it"));
    }
    let mut head = header.head_before;
    for (seq, bytes) in (header.first..).zip(segment.frames()?.iter()) {
        let leaf = Frame::parse(bytes).and_then(|frame| frame.verified(seq));
        head = chain::advance(&head, &leaf.map_err(|source| SegmentError::Frame { seq, source })?);
    }
    if head == header.head_after { Ok(head) } else { Err(SegmentError::Header("head after it")) }
}

/// Takes away what a command that broke off left: files without a name, and files that the log does not list and whose
/// segments it has itself, byte for byte. Any other file is not touched.
pub(super) fn clear(reader: &Reader, archives: &Archives) -> Result<(), ArchiveError> {
    let folder = archives.folder();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(refused(folder)(error)),
    };
    let listed = unharmed(|| archives::listed(&reader.database().begin_read()?))?;
    for entry in entries {
        let path = entry.map_err(refused(folder))?.path();
        let Some((span, extension)) = told_by_name(&path) else { continue };
        let goes = match extension.as_str() {
            FRESH => true,
            "seg" => !listed.contains(&span) && is_doubled(reader, &path, span)?,
            _ => false,
        };
        if goes {
            files::remove(&path).map_err(refused(&path))?;
        }
    }
    Ok(())
}

/// Takes away the files without a name that a killed process left; only whoever has the log may. Nothing hangs on it: what cannot
/// be taken away now is told by the next command that writes there.
pub(super) fn clear_unfinished(archives: &Archives) {
    let unfinished = |path: &Path| told_by_name(path).is_some_and(|(_, extension)| extension == FRESH);
    let paths = fs::read_dir(archives.folder()).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in paths.filter(|path| unfinished(path)) {
        drop(files::remove(&path));
    }
}

/// First and last event of a file of the archive, and what its name ends in.
fn told_by_name(path: &Path) -> Option<(Span, String)> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let (stem, extension) = name.split_once('.')?;
    let (first, last) = stem.split_once('-')?;
    Some(((first.parse().ok()?, last.parse().ok()?), extension.to_owned()))
}

/// Whether the log's own rows hold each segment of a file.
fn is_doubled(reader: &Reader, path: &Path, span: Span) -> Result<bool, ArchiveError> {
    let mut digests = Vec::new();
    let read = Archives::each(path, span, |place, _| {
        digests.push((place.first, place.digest));
        Ok(())
    });
    if read.is_err() {
        return Ok(false);
    }
    for (first, digest) in digests {
        let own = match reader.run(first)? {
            Some(Run::Sealed { first: own, value, is_archived: false, .. }) if own == first => {
                segments_file::digest_of(&value)
            }
            _ => None,
        };
        if own != Some(digest) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Lets rows go that files hold, in one transaction; none of them where the log has others by now.
pub(super) fn moved(database: &Database, moving: &Moving) -> Result<(), ArchiveError> {
    let (Some(first), Some(last)) = (moving.spans.first(), moving.spans.last()) else { return Ok(()) };
    let transaction = database.begin_write()?;
    {
        let mut segments = transaction.open_table(SEGMENTS)?;
        let mut rows = Vec::new();
        for row in segments.range(first.0..=last.1)? {
            let (key, value) = row?;
            rows.push((key.value(), segments_file::digest_of(value.value()).unwrap_or_default()));
        }
        let mut meta = transaction.open_table(META)?;
        let mut listed = archives::listed_in(&meta)?;
        if rows != moving.digests || listed.last().map_or(1, |(_, last)| last + 1) != first.0 {
            return Err(ArchiveError::Changed);
        }
        segments.retain_in(first.0..=last.1, |_, _| false)?;
        listed.extend(&moving.spans);
        meta.insert(META_ARCHIVES, archives::list_bytes(&listed).as_slice())?;
    }
    reach(Side::Before);
    transaction.commit()?;
    reach(Side::After);
    Ok(())
}

/// Writes every listed file anew that holds a payload which is to go; how many payloads went.
pub(super) fn erase(database: &Database, archives: &Archives, left_out: &LeftOut) -> Result<u64, RewriteError> {
    let listed = archives::listed(&database.begin_read()?).map_err(|error| RewriteError::Refused(error.to_string()))?;
    let mut payloads = 0;
    for span in listed.into_iter().filter(|span| left_out.concerns(*span)) {
        payloads += erase_file(archives, span, left_out).map_err(|error| RewriteError::Behind(Box::new(error)))?;
        archives.forget();
    }
    Ok(payloads)
}

fn erase_file(archives: &Archives, span: Span, left_out: &LeftOut) -> Result<u64, RewriteError> {
    let path = archives.path(span);
    let unread = |fault: ArchiveFault| RewriteError::Archive { path: path.clone(), source: fault };
    let unwritten = |error: ArchiveError| match error {
        ArchiveError::Io { path, source } => RewriteError::Io { path, source },
        error => RewriteError::Refused(error.to_string()),
    };
    // Mostly nothing is to be done: a file is written only where something is.
    let mut is_due = false;
    Archives::each(&path, span, |place, value| {
        is_due = is_due || left_out.segment(place.first, &value).map_err(io::Error::other)?.is_some();
        Ok(())
    })
    .map_err(unread)?;
    if !is_due {
        return Ok(0);
    }
    let (mut payloads, mut full) = (0, None);
    let mut fresh = Growing::begin(path.with_extension(FRESH), span).map_err(unwritten)?;
    let read = Archives::each(&path, span, |place, value| {
        let changed = left_out.segment(place.first, &value).map_err(io::Error::other)?;
        let (value, gone) = changed.unwrap_or((value, 0));
        payloads += gone;
        fresh.push((place.first, place.last), &value).map_err(|error| {
            full = Some(error);
            io::Error::other("the copy cannot be written")
        })
    });
    if let Some(error) = full {
        return Err(unwritten(error));
    }
    read.map_err(unread)?;
    fresh.replace(archives).map_err(unwritten)?;
    Ok(payloads)
}

/// Refuses what cannot be finished: every listed file that holds one of these events must be there.
pub(super) fn refuse_missing(database: &Database, archives: &Archives, left_out: &LeftOut) -> Result<(), RewriteError> {
    let listed = archives::listed(&database.begin_read()?).map_err(|error| RewriteError::Refused(error.to_string()))?;
    for span in listed.into_iter().filter(|span| left_out.concerns(*span)) {
        let path = archives.path(span);
        if !path.is_file() {
            return Err(RewriteError::Archive { path, source: ArchiveFault::Missing });
        }
    }
    Ok(())
}

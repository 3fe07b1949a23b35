//! Backup (design 2-log, «Verify, archive, backup»; `FORMAT.md`, «Backup»).
//!
//! It is a folder of plain files: sealed segments one behind the other, the tail as one more, blobs by name, the newest
//! signed checkpoint in a summary. It is taken beside the writer, from short reads, and the next one to the same folder adds what came
//! since.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use super::assemble::AssemblyError;
use super::damage::Damage;
use super::files::{self, Plain};
use super::open::OpenError;
use super::reader::{ReadError, Reader};
use super::rewrite::LeftOut;
use super::runs::Run;
use super::segments_file::{self, Place};
use super::writer::AppendError;
use super::{Log, ahead};
use crate::chain;
use crate::codec::Frame;
use crate::note::{Checkpoint, NoteError};
use crate::segment::{Frames, Packer, Sealing, Segment};

/// The number of this layout.
const FORMAT: u32 = 1;
pub(super) const SEALED: &str = "events.seg";
pub(super) const TAIL: &str = "tail.seg";
/// Bytes that are copied at once.
const COPIED_BYTES: usize = 1 << 16;
/// What the file of segments is called until it is whole, where it is written anew.
const FRESH: &str = "seg.new";
pub(super) const SUMMARY: &str = "backup.json";
pub(super) const BLOB_FOLDER: &str = "blobs";

/// What stands in `backup.json`, which is written last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of the layout.
    pub format: u32,
    /// The log's name.
    pub log_id: String,
    /// How many events there are.
    pub events: u64,
    /// The chain's head after the last, hexadecimal.
    pub head: String,
    /// How many blobs there are.
    pub blobs: u64,
    /// The newest signed checkpoint.
    pub checkpoint: String,
}

/// What came of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackedUp {
    /// What it holds now.
    pub summary: Summary,
    /// Bytes that were written this time.
    pub bytes_written: u64,
}

/// Why there is no backup, or why one cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The log cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A file cannot be read or written.
    #[error("{path} cannot be used")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The folder holds something else.
    #[error("{path} is not empty and holds no backup")]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds the backup of another log.
    #[error("{path} is a backup of the log {found}; this one is {own}")]
    OtherLog {
        /// The folder.
        path: PathBuf,
        /// That log's name.
        found: String,
        /// This log's name.
        own: String,
    },
    /// The folder holds events of this log's name that this log does not have.
    #[error("{path} holds the events {first} to {last}, which this log does not have")]
    Ahead {
        /// The folder.
        path: PathBuf,
        /// The first of them.
        first: u64,
        /// The last event that the folder holds.
        last: u64,
    },
    /// Another process writes there.
    #[error("{path} is being written to by another process")]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// A newer program wrote it.
    #[error("{path} is a backup of layout {found}; this program reads {FORMAT}")]
    Newer {
        /// The folder.
        path: PathBuf,
        /// Its layout.
        found: u64,
    },
    /// It is no backup.
    #[error("{path} is no backup: {what}")]
    NoBackup {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The file that says what the backup holds is damaged.
    #[error("{path} is damaged: {what}")]
    Summary {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Its checkpoint does not hold.
    #[error("the backup's checkpoint does not hold: {0}")]
    Note(#[from] NoteError),
    /// What it holds is not what was signed.
    #[error("the backup is damaged: {what}")]
    Damaged {
        /// What is wrong.
        what: String,
    },
    /// The log holds what was erased from it.
    #[error("{what} was erased, and is there all the same")]
    Unerased {
        /// What.
        what: String,
    },
    /// The new log cannot be written.
    #[error("the log cannot be written: {0}")]
    Unwritten(#[source] Box<redb::Error>),
    /// There is a log already.
    #[error("{path} is there already")]
    Occupied {
        /// The file.
        path: PathBuf,
    },
    /// No checkpoint can be signed.
    #[error(transparent)]
    Unsigned(#[from] AppendError),
}

impl From<AssemblyError> for BackupError {
    fn from(error: AssemblyError) -> Self {
        match error {
            // The store is that of the new log; a backup is plain files.
            AssemblyError::Store(error) => Self::Unwritten(error),
            error => Self::Damaged { what: error.to_string() },
        }
    }
}

impl From<Damage> for BackupError {
    fn from(damage: Damage) -> Self {
        Self::Damaged { what: damage.to_string() }
    }
}

pub(super) fn refused(path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::Io { path, source }
}

/// How long a folder that another writer has is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The folder for as long as this is held; refused where another writer has it for longer than anybody waits.
pub(super) fn held(folder: &Path) -> Result<fs::File, BackupError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match files::hold(folder).map_err(refused(folder))? {
            Some(held) => return Ok(held),
            None if Instant::now() >= until => return Err(BackupError::Busy { path: folder.to_owned() }),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

impl Log {
    /// Brings a backup below `folder` to where the log is now; makes it where there is none. Calls `progress(events, of)`.
    /// What is there of this log and was erased since goes; what the log holds although it was erased is refused. Nothing is waited for by those who append meanwhile.
    pub fn backup(&self, folder: &Path, progress: impl FnMut(u64, u64)) -> Result<BackedUp, BackupError> {
        let note = self.checkpoint()?;
        let gone = self.reader().left_out()?;
        if let Some(hash) = gone.blobs.first() {
            return Err(BackupError::Unerased { what: format!("blob {hash}") });
        }
        files::make_folder(folder).map_err(refused(folder))?;
        // A copy of this home goes by the same name, and could be at it as well.
        let _held = held(folder)?;
        self.prepare_backup(folder)?;
        Backup { reader: self.reader(), id: self.id(), folder, gone, bytes: 0 }.take(&note, progress)
    }

    /// Makes the folder of a backup; refuses one that is something else than the backup of this log, or that holds what this log
    /// does not have. Nothing is copied, so that whoever keeps a list of backups has the folder on it before it holds anything.
    pub fn prepare_backup(&self, folder: &Path) -> Result<(), BackupError> {
        files::make_folder(folder).map_err(refused(folder))?;
        let summary = self.own_backup(folder)?;
        match ahead::first_and_last(&self.reader(), folder, summary.as_ref())? {
            Some((first, last)) => Err(BackupError::Ahead { path: folder.to_owned(), first, last }),
            None => Ok(()),
        }
    }

    /// The first and the last event of a backup of this log that are not in it: those of another course, or, where the first one
    /// would be the log's next, an end that it has lost.
    pub fn lacks_of(&self, folder: &Path) -> Result<Option<(u64, u64)>, BackupError> {
        match summary(folder)?.filter(|found| found.log_id == self.id()) {
            Some(found) => ahead::first_and_last(&self.reader(), folder, Some(&found)),
            None => Ok(None),
        }
    }

    /// Refuses a folder that holds something else; what it says of itself, where it is a backup of this log.
    fn own_backup(&self, folder: &Path) -> Result<Option<Summary>, BackupError> {
        match summary(folder)? {
            Some(found) if found.log_id == self.id() => Ok(Some(found)),
            Some(found) => {
                Err(BackupError::OtherLog { path: folder.to_owned(), found: found.log_id, own: self.id().to_owned() })
            }
            None => {
                // One that broke off before it was whole is gone on with.
                let own = |name: &str| [SEALED, TAIL, BLOB_FOLDER, SUMMARY].iter().any(|own| name.starts_with(own));
                let mut entries = fs::read_dir(folder).map_err(refused(folder))?;
                let stray = entries.any(|entry| entry.is_ok_and(|entry| !own(&entry.file_name().to_string_lossy())));
                let stray = stray || !holds_blobs_alone(&folder.join(BLOB_FOLDER)).map_err(refused(folder))?;
                let is_other = |name: &str| segments_file::is_other(&folder.join(name)).map_err(refused(folder));
                let stray = stray || is_other(SEALED)? || is_other(TAIL)?;
                if stray { Err(BackupError::Foreign { path: folder.to_owned() }) } else { Ok(None) }
            }
        }
    }
}

/// A backup that is being taken.
struct Backup<'b> {
    reader: Reader,
    id: &'b str,
    folder: &'b Path,
    /// What must not be there any more.
    gone: LeftOut,
    bytes: u64,
}

impl Backup<'_> {
    /// Ends where the note ends, whatever is appended meanwhile: what no note is over could be anybody's.
    fn take(mut self, note: &str, mut progress: impl FnMut(u64, u64)) -> Result<BackedUp, BackupError> {
        let checkpoint = Checkpoint::verified(note, self.reader.verifying())?;
        let of = checkpoint.size;
        let (head, last, tail) = self.events(of, |done| progress(done.min(of), of))?;
        let wanted = usize::try_from(of.saturating_sub(last)).unwrap_or(usize::MAX);
        if wanted == 0 {
            // Sealed since, or nothing is behind the segments.
            self.replace(TAIL, &[])?;
        } else {
            let tail = Frames::of(&tail.iter().take(wanted).collect::<Vec<_>>());
            let (value, end) = tail_segment(last + 1, head, &tail)?;
            if end != checkpoint.head {
                return Err(BackupError::Damaged { what: "the log's events are not those that it signed".to_owned() });
            }
            self.replace(TAIL, &value)?;
        }
        let names = self.blobs()?;
        let blobs = names.len() as u64;
        let summary = Summary {
            format: FORMAT,
            log_id: self.id.to_owned(),
            events: of,
            head: crate::hex(&checkpoint.head),
            blobs,
            checkpoint: note.to_owned(),
        };
        let text = serde_json::to_vec(&summary).map_err(|error| refused(self.folder)(io::Error::other(error)))?;
        // The names of what it speaks of are on disk before it is, and its own before anybody is told.
        self.sync_names()?;
        self.replace(SUMMARY, &text)?;
        self.remove_other_blobs(&names)?;
        self.remove_unfinished()?;
        self.sync_names()?;
        progress(of, of);
        Ok(BackedUp { summary, bytes_written: self.bytes })
    }

    /// Brings the file of sealed segments up to date, as far as an event at least; the head and the number at its end, and the
    /// frames behind it. Who appends faster than this reads is not followed.
    fn events(&mut self, until: u64, mut progress: impl FnMut(u64)) -> Result<([u8; 32], u64, Frames), BackupError> {
        let path = self.folder.join(SEALED);
        let mut file = Plain::append(&path).map_err(refused(&path))?;
        let there = self.sound(&mut file).map_err(refused(&path))?;
        let same = self.same(&path, file.file(), &there)?;
        let kept = same.last().map_or(0, |place| place.offset + place.length);
        if same.len() == there.len() {
            // What a backup that broke off left behind it.
            file.set_len(kept).map_err(refused(&path))?;
        } else {
            // Some were written anew since, without what was erased: they must not stay here either. Until the whole new file is
            // on disk, the old one is the backup.
            file = beginning(&path, file.file(), kept)?;
        }
        let mut next = same.last().map_or(1, |place| place.last + 1);
        let mut end = (chain::GENESIS, 0);
        if let Some(place) = same.last() {
            let value = segments_file::value(file.file(), place).map_err(refused(&path))?;
            end = (parsed(place.first, &value)?, place.last);
        }
        let mut tail = Frames::default();
        while next <= until {
            let run = self.reader.run(next)?.ok_or(ReadError::Missing { seq: next })?;
            // Rows were sealed since they were read, in several segments of which this is not the first.
            if matches!(run, Run::Sealed { first, .. } if first > end.1 + 1) && !tail.is_empty() {
                (tail, next) = (Frames::default(), end.1 + 1);
                continue;
            }
            next = run.last().saturating_add(1);
            match run {
                Run::Sealed { first, last, value, .. } => {
                    // Sealed since its events were read as rows: those rows are the run's own.
                    tail = Frames::default();
                    end = (parsed(first, &value)?, last);
                    self.refuse_unerased(&value)?;
                    file.write_all(&value).map_err(refused(&path))?;
                    self.bytes += value.len() as u64;
                }
                Run::Tail { first, frames } => {
                    self.refuse(first, &frames)?;
                    tail.extend(&frames);
                }
            }
            progress(next - 1);
        }
        file.sync().map_err(refused(&path))?;
        if same.len() < there.len() {
            files::rename(&path.with_extension(FRESH), &path).map_err(refused(&path))?;
        }
        Ok((end.0, end.1, tail))
    }

    /// The segments of the file that are whole. What an earlier backup did not finish may have been torn since: headers that
    /// are sound, and bytes that are not.
    fn sound(&self, file: &mut Plain) -> io::Result<Vec<Place>> {
        let tail = segments_file::open(&self.folder.join(TAIL))?.map(|mut tail| segments_file::places(&mut tail));
        // The file of the tail is written when all before it is on disk.
        let proven = match tail.transpose()?.as_deref() {
            Some([tail, ..]) => tail.first.saturating_sub(1),
            Some([]) => summary(self.folder).ok().flatten().map_or(0, |summary| summary.events),
            None => 0,
        };
        let mut sound = Vec::new();
        for place in segments_file::places(file.file())? {
            if place.last > proven && Segment::parse(&segments_file::value(file.file(), &place)?).is_err() {
                break;
            }
            sound.push(place);
        }
        Ok(sound)
    }

    /// The segments at the beginning of the file that are still those of the log, to the last byte: what a bad disk made of one
    /// is written again.
    fn same(&self, path: &Path, file: &mut File, there: &[Place]) -> Result<Vec<Place>, BackupError> {
        let mut same = Vec::new();
        let mut next = 1;
        for place in there {
            let run = self.reader.run(next)?;
            let Some(Run::Sealed { first, last, value, .. }) = run else { break };
            self.refuse_unerased(&value)?;
            let is_of_it = (place.first, place.last, place.length) == (first, last, value.len() as u64);
            if !is_of_it || segments_file::value(file, place).map_err(refused(path))? != value {
                break;
            }
            same.push(*place);
            next = last + 1;
        }
        Ok(same)
    }

    /// Refuses a segment that holds a payload which was erased. One that is damaged is for its reader to refuse.
    fn refuse_unerased(&self, value: &[u8]) -> Result<(), BackupError> {
        let Ok(segment) = Segment::parse(value) else { return Ok(()) };
        let first = segment.header.first;
        if !self.gone.concerns((first, segment.header.last)) {
            return Ok(());
        }
        segment.frames().map_or(Ok(()), |frames| self.refuse(first, &frames))
    }

    fn refuse(&self, first: u64, frames: &Frames) -> Result<(), BackupError> {
        let is_there = |(seq, frame): &(u64, &[u8])| self.gone.finds(*seq, frame);
        match (first..).zip(frames.iter()).find(is_there) {
            Some((seq, _)) => Err(BackupError::Unerased { what: format!("what event {seq} holds") }),
            None => Ok(()),
        }
    }

    /// Writes the blobs that are not there as the log has them; the names of all that it has.
    fn blobs(&mut self) -> Result<BTreeSet<String>, BackupError> {
        let folder = self.folder.join(BLOB_FOLDER);
        files::make_folder(&folder).map_err(refused(&folder))?;
        let mut names = BTreeSet::new();
        let mut after: Option<[u8; 32]> = None;
        loop {
            let rows = self.reader.blob_rows(after)?;
            let Some((last, _)) = rows.last() else { break };
            after = Some(*last);
            for (hash, packed) in rows {
                let name = crate::hex(&hash);
                let path = folder.join(&name);
                if !is_there(&path, &packed).map_err(refused(&path))? {
                    self.replace(&format!("{BLOB_FOLDER}/{name}"), &packed)?;
                }
                names.insert(name);
            }
        }
        Ok(names)
    }

    /// Takes away the blobs that the log does not have any more; what is none stays.
    fn remove_other_blobs(&self, names: &BTreeSet<String>) -> Result<(), BackupError> {
        let folder = self.folder.join(BLOB_FOLDER);
        for entry in fs::read_dir(&folder).map_err(refused(&folder))? {
            let entry = entry.map_err(refused(&folder))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if is_blob(&name) && !names.contains(name.as_ref()) {
                files::remove(&entry.path()).map_err(refused(&entry.path()))?;
            }
        }
        Ok(())
    }

    /// Takes away what a backup that broke off had begun beside its files.
    fn remove_unfinished(&self) -> Result<(), BackupError> {
        for name in [SEALED, TAIL, SUMMARY] {
            let path = self.folder.join(format!("{name}.new"));
            match files::remove(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(refused(&path)(error)),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn sync_names(&self) -> Result<(), BackupError> {
        for folder in [self.folder.join(BLOB_FOLDER), self.folder.to_owned()] {
            files::sync_folder(&folder).map_err(refused(&folder))?;
        }
        Ok(())
    }

    /// Writes a file whole or not at all.
    fn replace(&mut self, name: &str, bytes: &[u8]) -> Result<(), BackupError> {
        let path = self.folder.join(name);
        let fresh = self.folder.join(format!("{name}.new"));
        let write = || -> io::Result<()> {
            let mut file = Plain::create(&fresh)?;
            file.write_all(bytes)?;
            file.sync()?;
            files::rename(&fresh, &path)
        };
        write().map_err(refused(&path))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// Whether a name is that of a blob, or of one that is being written.
fn is_blob(name: &str) -> bool {
    let stem = name.strip_suffix(".new").unwrap_or(name);
    blake3::Hash::from_hex(stem).is_ok()
}

fn holds_blobs_alone(folder: &Path) -> io::Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => {
            Ok(entries.all(|entry| entry.is_ok_and(|entry| is_blob(&entry.file_name().to_string_lossy()))))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Whether a file holds these bytes.
fn is_there(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(file) if file.len() == bytes.len() as u64 => Ok(fs::read(path)? == bytes),
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A new file beside it, with its beginning alone.
fn beginning(path: &Path, file: &mut File, kept: u64) -> Result<Plain, BackupError> {
    use std::io::{Read as _, Seek as _};
    let fresh = path.with_extension(FRESH);
    let mut copy = Plain::create(&fresh).map_err(refused(&fresh))?;
    file.rewind().map_err(refused(path))?;
    let (mut from, mut buffer) = (file.take(kept), vec![0; COPIED_BYTES]);
    loop {
        let read = from.read(&mut buffer).map_err(refused(path))?;
        if read == 0 {
            break;
        }
        copy.write_all(&buffer[..read]).map_err(refused(&fresh))?;
    }
    Ok(copy)
}

/// The head after a stored segment.
fn parsed(first: u64, value: &[u8]) -> Result<[u8; 32], BackupError> {
    let segment = Segment::parse(value).map_err(|source| ReadError::Segment { first, source })?;
    Ok(segment.header.head_after)
}

/// Rows of the tail as one segment; with the head after them.
fn tail_segment(first: u64, before: [u8; 32], frames: &Frames) -> Result<(Vec<u8>, [u8; 32]), BackupError> {
    let (mut sealing, mut head) = (Sealing::default(), before);
    for (seq, bytes) in (first..).zip(frames.iter()) {
        let damaged = |source| ReadError::Event { seq, table: "tail", source };
        let leaf = Frame::parse(bytes).and_then(|frame| frame.verified(seq)).map_err(damaged)?;
        head = chain::advance(&head, &leaf);
        sealing.take(bytes).map_err(damaged)?;
    }
    let header = sealing.header((first, first + frames.len() as u64 - 1), [before, head]);
    Ok((Packer::new().pack(frames.plain(0..frames.len())).seal(&header), head))
}

/// What a backup says of itself; `None` where there is none.
pub fn summary(folder: &Path) -> Result<Option<Summary>, BackupError> {
    let path = folder.join(SUMMARY);
    let text = match files::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(&path)(error)),
    };
    let summary: Summary = serde_json::from_slice(&text).map_err(|error| {
        let what = match error.classify() {
            Category::Eof => "it is cut short".to_owned(),
            _ => format!("line {}, column {} is not as a backup says it", error.line(), error.column()),
        };
        BackupError::Summary { path, what }
    })?;
    if summary.format == FORMAT {
        Ok(Some(summary))
    } else {
        Err(BackupError::Newer { path: folder.to_owned(), found: summary.format.into() })
    }
}

//! The store: one redb file, one writer at a time, many short readers.

mod ahead;
mod archive;
#[cfg(test)]
mod archive_tests;
mod archives;
mod aside;
mod assemble;
mod backup;
#[cfg(test)]
mod backup_tests;
mod batch;
mod blobs;
mod commits;
mod create;
mod damage;
mod desk;
#[cfg(test)]
mod disk_tests;
#[cfg(test)]
mod edge_tests;
mod erasures;
#[cfg(test)]
mod erasures_tests;
#[cfg(test)]
mod faults;
mod files;
mod guard;
mod handle;
mod index;
#[cfg(test)]
mod large_tests;
mod noted;
mod open;
mod own;
mod place;
mod prepare;
mod raw;
mod reader;
mod refusal;
mod restore;
mod rewrite;
#[cfg(test)]
mod rewrite_tests;
mod runs;
mod salvage;
#[cfg(test)]
mod salvage_tests;
mod seal;
#[cfg(test)]
mod seal_tests;
mod seen;
mod segments_file;
mod storage;
mod tables;
mod tail;
#[cfg(test)]
mod tests;
mod unsealed;
mod verify;
mod withheld;
mod words;
mod writer;

use std::collections::BTreeSet;
use std::sync::Arc;

use ed25519_dalek::VerifyingKey;
use tokio::sync::{oneshot, watch};

pub use archive::{ArchiveError, Archived, Before};
pub use archives::ArchiveFault;
pub use backup::{BackedUp, BackupError, Summary as BackupSummary, summary as backup_summary};
pub use commits::Side;
#[cfg(debug_assertions)]
pub use commits::watch_commits;
pub use damage::Damage;
pub use guard::{guarded, is_guarded};
pub use open::{LogKeys, OpenError};
pub use own::{backup_files, is_log};
pub use raw::{Raw, Stored, StoredBody};
pub use reader::{ReadError, Reader};
pub use refusal::refusal;
pub use restore::{restore, unfinished as unfinished_restore};
pub use rewrite::{Erasure, RewriteError, Rewritten};
pub use salvage::{By, SalvageError, Salvaged, salvage};
pub use seen::{last_seen, unreadable_note, was_seen};
pub use tables::FORMAT;
pub use verify::Verified;
pub use withheld::read_untouched;
pub use writer::{AppendError, Appended};

use archives::Archives;
use desk::Desk;
use handle::Handle;
use prepare::Prepared;

use crate::chain::Chain;
use crate::envelope::Draft;
use crate::kept::BlobHash;
use crate::redact::Redactor;

/// What a stream must look like for an append to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Whatever it looks like.
    Any,
    /// No event of it exists yet.
    NoStream,
    /// Its last event has this version.
    Exact(u64),
}

/// Events that are appended together or not at all.
#[derive(Debug)]
pub struct Append {
    /// The events, in order.
    pub events: Vec<Draft>,
    /// What the stream of the first event must look like.
    pub expect: Expect,
}

/// Where the log stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// How many events there are.
    pub size: u64,
    /// The chain's head after the last of them.
    pub head: [u8; 32],
}

impl Head {
    fn of(chain: &Chain) -> Self {
        Self { size: chain.range.size(), head: chain.head }
    }
}

/// An append that was handed to the writer.
#[derive(Debug)]
#[must_use = "an append is on disk only once it was acknowledged"]
pub struct Pending(oneshot::Receiver<Result<Appended, AppendError>>);

impl Pending {
    /// Waits for the acknowledgement: `Ok` means that the events are on disk, after fdatasync.
    pub async fn acknowledged(self) -> Result<Appended, AppendError> {
        self.0.await.unwrap_or(Err(AppendError::Stopped))
    }

    /// [`Self::acknowledged`] for callers that are not async. Must not be called on an async worker.
    pub fn wait(self) -> Result<Appended, AppendError> {
        self.0.blocking_recv().unwrap_or(Err(AppendError::Stopped))
    }
}

/// An append on its way to the writer.
struct Request {
    events: Prepared,
    expect: Expect,
    acknowledge: oneshot::Sender<Result<Appended, AppendError>>,
}

/// What the writer is asked for.
enum Message {
    Append(Request),
    Rewrite(Box<Rewriting>),
    /// Blobs that go, and the event that says so.
    Drop(BTreeSet<BlobHash>, Request),
    /// Rows that are in archive files by now.
    Archive(Box<archive::Moving>),
    /// What an erasure that broke off left in archive files.
    EraseArchived(Box<archive::Rest>),
    /// A signed checkpoint of the log's end; answered with the note.
    Checkpoint(oneshot::Sender<Result<String, AppendError>>),
}

/// A copy of the log that is to take its place.
struct Rewriting {
    left_out: rewrite::LeftOut,
    /// The event that says what was left out.
    record: Prepared,
    reader: Reader,
    acknowledge: oneshot::Sender<Result<Rewritten, RewriteError>>,
}

/// The log of one instance. Dropping it stops the writer after what was handed over is on disk.
pub struct Log {
    /// None of a log that is only looked at. First: what was handed in is done before anything else goes.
    desk: Option<Desk>,
    handle: Arc<Handle>,
    archives: Arc<Archives>,
    file: std::path::PathBuf,
    head: watch::Receiver<Head>,
    blob_key: [u8; 32],
    verifying: VerifyingKey,
    redactor: Arc<std::sync::RwLock<Redactor>>,
    id: String,
}

impl Log {
    /// The log's own name: 32 hexadecimal digits, given once.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Hands events to the writer's thread and returns at once. Redaction, the moving out of large fields and encoding happen
    /// here, on the caller's thread, so that no secret crosses into the writer's.
    pub fn submit(&self, append: Append) -> Pending {
        let (message, pending) = self.request(append);
        self.hand_in(message);
        Pending(pending)
    }

    /// Appends, on the caller's own thread where nobody else is writing, and returns once the events are on disk. Must not be
    /// called on an async worker.
    pub fn append(&self, append: Append) -> Result<Appended, AppendError> {
        let (message, pending) = self.request(append);
        self.desk.as_ref().ok_or(AppendError::Stopped)?.append(message, pending)
    }

    fn request(&self, append: Append) -> (Message, oneshot::Receiver<Result<Appended, AppendError>>) {
        let Append { events, expect } = append;
        let events = self.prepared(events);
        let (acknowledge, pending) = oneshot::channel();
        (Message::Append(Request { events, expect, acknowledge }), pending)
    }

    /// What a log that takes nothing gets is dropped: whoever waits for the answer sees that.
    fn hand_in(&self, message: Message) {
        if let Some(desk) = &self.desk {
            desk.hand_in(message);
        }
    }

    /// A signed checkpoint over everything that is in the log: the newest one, or one that is made now. On disk once this
    /// returns. Must not be called on an async worker.
    pub fn checkpoint(&self) -> Result<String, AppendError> {
        let (acknowledge, note) = oneshot::channel();
        self.hand_in(Message::Checkpoint(acknowledge));
        note.blocking_recv().unwrap_or(Err(AppendError::Stopped))
    }

    /// Copies the live rows into a fresh file, which takes the old one's place: no free page is left, and no byte of what was
    /// erased or replaced before. Appends wait meanwhile. Must not be called on an async worker.
    pub fn compact(&self) -> Result<Rewritten, RewriteError> {
        self.rewrite(rewrite::LeftOut::default(), Prepared::default())
    }

    /// The same without the payloads and blobs that are named, and with the event that says so. Once this returns they are
    /// in no byte of the log's file, and the chain is what it was.
    pub fn erase(&self, erasure: Erasure) -> Result<Rewritten, RewriteError> {
        let Erasure { seqs, blobs, record } = erasure;
        let record = self.prepared(vec![record]);
        let left_out = rewrite::LeftOut::of((seqs, blobs), &record)?;
        self.rewrite(left_out, record)
    }

    /// Takes blobs out and appends the event that says so, in one commit. The events that name them stay. Their bytes may stay
    /// in free pages until the log is compacted: this gives room back, and hides nothing. Must not be called on an async worker.
    pub fn drop_blobs(&self, blobs: BTreeSet<BlobHash>, record: Draft) -> Result<Appended, AppendError> {
        let events = self.prepared(vec![record]);
        let (acknowledge, pending) = oneshot::channel();
        self.hand_in(Message::Drop(blobs, Request { events, expect: Expect::Any, acknowledge }));
        Pending(pending).wait()
    }

    fn rewrite(&self, left_out: rewrite::LeftOut, record: Prepared) -> Result<Rewritten, RewriteError> {
        let (acknowledge, rewritten) = oneshot::channel();
        let rewriting = Rewriting { left_out, record, reader: self.reader(), acknowledge };
        self.hand_in(Message::Rewrite(Box::new(rewriting)));
        rewritten.blocking_recv().unwrap_or(Err(RewriteError::Stopped))
    }

    fn prepared(&self, drafts: Vec<Draft>) -> Prepared {
        let redactor = self.redactor.read().expect("no holder of this lock panics");
        prepare::prepared(drafts, &redactor, |bytes| self.keyed_blob_hash(bytes))
    }

    /// The name of a payload part: keyed, since the plain hash of a short text could be guessed.
    pub fn keyed_blob_hash(&self, bytes: &[u8]) -> BlobHash {
        BlobHash(*blake3::keyed_hash(&self.blob_key, bytes).as_bytes())
    }

    /// Replaces what the redactor knows, after a credential changed.
    pub fn set_redactor(&self, redactor: Redactor) {
        *self.redactor.write().expect("no holder of this lock panics") = redactor;
    }

    /// Where the log stands, as far as it is on disk.
    pub fn head(&self) -> Head {
        self.head.borrow().clone()
    }

    /// Follows the head.
    pub fn watch(&self) -> watch::Receiver<Head> {
        self.head.clone()
    }

    #[cfg(test)]
    fn database(&self) -> Arc<guard::Store> {
        self.handle.now()
    }

    /// A reader; cheap to make.
    pub fn reader(&self) -> Reader {
        Reader::new((Arc::clone(&self.handle), Arc::clone(&self.archives)), self.blob_key, self.verifying)
    }
}

/// The plain name of an artefact or of encrypted bytes.
pub fn plain_blob_hash(bytes: &[u8]) -> BlobHash {
    BlobHash(*blake3::hash(bytes).as_bytes())
}

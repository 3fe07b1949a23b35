//! The one place that writes the event tables: it turns what queued during the last sync into one commit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ed25519_dalek::SigningKey;
use redb::{ReadableDatabase as _, ReadableTable, WriteTransaction};
use tokio::sync::{mpsc, oneshot, watch};

use super::archive::{self, ArchiveError};
use super::archives::Archives;
use super::aside::Aside;
use super::batch::Batch;
use super::damage::Damage;
use super::guard::guarded;
use super::handle::Handle;
use super::place::Place;
use super::prepare::Prepared;
use super::reader::Reader;
use super::rewrite::{self, RewriteError, Rewritten};
use super::seen::Seen;
use super::tables::CHECKPOINTS;
use super::tail::Tail;
use super::{Expect, Head, Message, Request, Rewriting, commits, files, noted, open};
use crate::chain::Chain;
use crate::id::EventId;
use crate::kept::BlobHash;
use crate::note::Checkpoint;

/// The most events of one commit.
const BATCH_EVENTS_MAX: usize = 512;
/// The most bytes of payloads and blobs that are drained into one commit.
const BATCH_BYTES_MAX: usize = 1 << 20;
/// How long what was appended may be without a signed checkpoint while more is appended.
const CHECKPOINT_AFTER: Duration = Duration::from_mins(1);

/// What became of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The events are on disk, the first under this number.
    At {
        /// Number of the first event.
        first: u64,
        /// Number of the last event.
        last: u64,
    },
    /// The log had them already; the first has this number.
    AlreadyThere(u64),
}

/// Why events were not appended. They left no trace, unless the variant says otherwise.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum AppendError {
    /// The stream is not where the caller thought.
    #[error("stream {stream} is at version {found}, not at {expected}")]
    Conflict {
        /// The stream.
        stream: String,
        /// Its version (0: no event yet).
        found: u64,
        /// What the caller expected.
        expected: u64,
    },
    /// An id that the log has, with other bytes.
    #[error("event {id} is in the log already, as seq {seq}, with other content")]
    IdTaken {
        /// The id.
        id: EventId,
        /// Where it stands.
        seq: u64,
    },
    /// An id that the log may have: the events among which it would be lie in an archive file that cannot be read.
    #[error("event {id} may be in the log already, as seq {seq} or later, and cannot be compared: {what}")]
    Away {
        /// The id.
        id: EventId,
        /// The first event that it may be.
        seq: u64,
        /// Which file, and what is wrong with it.
        what: String,
    },
    /// Only some events of the request are in the log.
    #[error("event {id} is in the log already, others of the same request are not")]
    PartlyThere {
        /// The id that is there.
        id: EventId,
    },
    /// No events, one id twice, or something that is too long to be read again.
    #[error("the request is malformed: {0}")]
    Malformed(&'static str),
    /// The log's file is not where it was any more, so nothing is written to it.
    #[error("{path} was replaced or taken away while the log was open")]
    TakenAway {
        /// Where it was.
        path: PathBuf,
    },
    /// The store failed. Whether the events are on disk is unknown: look their ids up after reopening.
    #[error("the log could not be written, and whether these events are on disk is unknown: {0}")]
    Unknown(String),
    /// The writer stopped after an earlier failure, or is shutting down.
    #[error("the log's writer has stopped; reopen the log")]
    Stopped,
}

type Answer = Result<Appended, AppendError>;

/// The store has failed: nothing more is written through it.
#[derive(Debug)]
pub(super) struct Failed;

pub(super) struct Writer {
    /// First, so that all is noted before another process can have the file.
    seen: Seen,
    handle: Arc<Handle>,
    archives: Arc<Archives>,
    path: PathBuf,
    chain: Chain,
    tail: Tail,
    notary: Notary,
    publish: watch::Sender<Head>,
    place: Place,
    aside: Aside,
}

/// Who signs what the log is.
pub(super) struct Notary {
    pub(super) key: SigningKey,
    pub(super) log_id: String,
    /// Where the newest checkpoint stands.
    signed: u64,
    at: Instant,
}

impl Notary {
    pub(super) fn new(key: SigningKey, log_id: String, signed: u64) -> Self {
        Self { key, log_id, signed, at: Instant::now() }
    }

    fn is_due(&self, chain: &Chain) -> bool {
        chain.range.size() > self.signed && self.at.elapsed() >= CHECKPOINT_AFTER
    }

    /// The note over a chain. The same each time: signatures of this kind hold no chance.
    fn note(&self, chain: &Chain) -> String {
        let (size, root) = (chain.range.size(), chain.range.root());
        Checkpoint { log_id: self.log_id.clone(), size, root, head: chain.head }.signed(&self.key)
    }

    /// Signs the end of the chain. After a seal, `sealed` is the event up to which everything was sealed before: of the
    /// checkpoints behind it the first stays, and the others are worth no more than the new one.
    fn sign(&mut self, transaction: &WriteTransaction, chain: &Chain, sealed: Option<u64>) -> Result<(), redb::Error> {
        let size = chain.range.size();
        let first = |sealed: u64| -> Result<u64, redb::Error> {
            let checkpoints = transaction.open_table(CHECKPOINTS)?;
            Ok(checkpoints.range(sealed..)?.next().transpose()?.map_or(size, |(kept, _)| kept.value()))
        };
        let kept = sealed.map(first).transpose()?.unwrap_or(size);
        // Empty where the first of them is the new one, or there was no seal.
        noted::put(transaction, (size, self.note(chain).as_bytes()), kept.saturating_add(1).min(size)..size)?;
        (self.signed, self.at) = (size, Instant::now());
        Ok(())
    }
}

impl Writer {
    pub(super) fn new(
        (handle, archives): (Arc<Handle>, Arc<Archives>),
        path: PathBuf,
        (chain, tail): (Chain, Tail),
        notary: Notary,
        publish: watch::Sender<Head>,
    ) -> Self {
        let (seen, place) = (Seen::of(&path, &notary.log_id), Place::of(&path));
        Self { seen, handle, archives, path, chain, tail, notary, publish, place, aside: Aside::default() }
    }

    /// Does what was asked for, with the appends that queued behind it. What queued and was taken out, but is to be done next,
    /// is given back; `Err` once the store has failed.
    pub(super) fn does(
        &mut self,
        message: Message,
        inbox: &mut mpsc::Receiver<Message>,
    ) -> Result<Option<Message>, Failed> {
        match message {
            Message::Append(first) => {
                let (batch, behind) = if commits::are_watched() { (vec![first], None) } else { drain(first, inbox) };
                self.commit(batch, &BTreeSet::new())?;
                return Ok(behind);
            }
            Message::Drop(blobs, request) => self.commit(vec![request], &blobs)?,
            Message::Rewrite(rewriting) => self.rewrite(*rewriting),
            Message::Archive(moving) => {
                let moved = guarded(|| archive::moved(&self.handle.now(), &moving));
                let damaged = |what| Err(ArchiveError::Store(Box::new(redb::Error::Corrupted(what))));
                drop(moving.acknowledge.send(moved.unwrap_or_else(damaged)));
            }
            Message::EraseArchived(rest) => {
                let archive::Rest { left_out, acknowledge } = *rest;
                let erased = guarded(|| archive::erase(&self.handle.now(), &self.archives, &left_out));
                drop(acknowledge.send(erased.unwrap_or_else(|what| Err(damaged(what)))));
            }
            Message::Checkpoint(acknowledge) => {
                let signed = guarded(|| self.sign_off().map_err(|error| error.to_string())).flatten();
                let goes_on = signed.as_ref().map(|()| None).map_err(|_| Failed);
                let note = signed.map(|()| self.notary.note(&self.chain)).map_err(AppendError::Unknown);
                drop(acknowledge.send(note));
                return goes_on;
            }
        }
        Ok(None)
    }

    /// The last thing that it does. Should this fail, the next start signs: nothing hangs on it.
    pub(super) fn finish(mut self) {
        drop(guarded(|| self.sign_off()));
    }

    /// Writes the log anew and goes on with the copy; with the old file where that fails.
    fn rewrite(&mut self, rewriting: Rewriting) {
        let Rewriting { left_out, record, reader, acknowledge } = rewriting;
        let rewritten = guarded(|| self.rewritten(left_out, record, &reader));
        let rewritten = rewritten.unwrap_or_else(|panic| Err(damaged(panic)));
        if rewritten.is_err() {
            // What is left of the copy is of no use. The next one that opens the log tries again to take it away.
            drop(files::remove(&rewrite::fresh(&self.path)));
        }
        drop(acknowledge.send(rewritten));
    }

    fn rewritten(
        &mut self,
        left_out: rewrite::LeftOut,
        record: Prepared,
        reader: &Reader,
    ) -> Result<Rewritten, RewriteError> {
        if !self.path.is_file() {
            return Err(RewriteError::NoFile);
        }
        // What was erased before and came back goes again.
        let mut earlier = reader.left_out().map_err(|error| RewriteError::Refused(error.to_string()))?;
        earlier.join(left_out);
        let left_out = &earlier;
        archive::refuse_missing(&self.handle.now(), &self.archives, left_out)?;
        archive::clear(reader, &self.archives).map_err(|error| RewriteError::Refused(error.to_string()))?;
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        let bytes_before = bytes(&self.path);
        let fresh = rewrite::fresh(&self.path);
        let new = open::create(&fresh)?;
        let rewritten = rewrite::copy(&self.handle.now(), &new.database, left_out)?;
        let tail = Tail::load(&new.database, &self.chain, self.tail.lengths())?;
        let notary =
            Notary { at: self.notary.at, ..Notary::new(self.notary.key.clone(), self.notary.log_id.clone(), 0) };
        let (publish, _) = watch::channel(Head::default());
        let new = Arc::new(Handle::new(new));
        let mut writer = Self::new(
            (Arc::clone(&new), Arc::clone(&self.archives)),
            fresh.clone(),
            (self.chain.clone(), tail),
            notary,
            publish,
        );
        if !record.is_empty() {
            let (acknowledge, answer) = oneshot::channel();
            let request = Request { events: record, expect: Expect::Any, acknowledge };
            // A failure is in the answer, too.
            drop(writer.commit(vec![request], &BTreeSet::new()));
            let answer = answer.blocking_recv().unwrap_or(Err(AppendError::Stopped));
            answer.map_err(|error| RewriteError::Refused(error.to_string()))?;
        }
        writer.sign_off()?;
        let Self { handle, chain, tail, notary, .. } = writer;
        drop(handle);
        let copy = reader.of(Arc::clone(&new));
        let verified = copy.verify_before_archives().map_err(|damage| RewriteError::Damaged(Box::new(damage)))?;
        if verified.head.head != chain.head {
            let what = "the head is not that of the log".to_owned();
            return Err(RewriteError::Damaged(Box::new(Damage::File(what))));
        }
        drop(copy);
        let mut new = Handle::into_inner(new).ok_or(RewriteError::Stopped)?;
        // Last, since every commit lets a file grow.
        new.database.compact()?;
        commits::reach(commits::Side::Before);
        rewrite::put_in_place(&self.path)?;
        commits::reach(commits::Side::After);
        self.handle.replace(new);
        self.place = Place::of(&self.path);
        (self.chain, self.tail, self.notary) = (chain, tail, notary);
        self.tell();
        // Last: from here on the log itself says what is to go, and whoever goes on can read it there.
        let archived = archive::erase(&self.handle.now(), &self.archives, left_out)?;
        let payloads = rewritten.payloads + archived;
        Ok(Rewritten { bytes_before, bytes_after: bytes(&self.path), payloads, ..rewritten })
    }

    /// Says where the log is, now that it is there on disk.
    fn tell(&self) {
        let head = Head::of(&self.chain);
        self.seen.note(&head);
        self.publish.send_replace(head);
    }

    /// A last checkpoint, over what was appended since the one before it.
    fn sign_off(&mut self) -> Result<(), redb::Error> {
        if self.chain.range.size() == self.notary.signed {
            return Ok(());
        }
        let transaction = self.handle.now().begin_write()?;
        self.notary.sign(&transaction, &self.chain, None)?;
        transaction.commit()?;
        Ok(())
    }

    /// One transaction for all, in which these blobs go.
    pub(super) fn commit(&mut self, mut batch: Vec<Request>, gone: &BTreeSet<BlobHash>) -> Result<(), Failed> {
        if self.place.is_lost(&self.path) {
            let refused = AppendError::TakenAway { path: self.path.clone() };
            for request in batch {
                reply(request.acknowledge, Err(refused.clone()));
            }
            return Err(Failed);
        }
        let mut answers = Vec::with_capacity(batch.len());
        let written =
            guarded(|| self.write(&mut batch, gone, &mut answers).map_err(|error| error.to_string())).flatten();
        // The events are let go of only after the answers are out: callers wait for those.
        let (acknowledges, _events): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|request| (request.acknowledge, request.events)).unzip();
        match written {
            Ok(()) => {
                self.tell();
                acknowledges.into_iter().zip(answers).for_each(|(acknowledge, answer)| reply(acknowledge, answer));
                Ok(())
            }
            Err(error) => {
                let unknown = AppendError::Unknown(error);
                // What was not looked at before the store failed is not on disk either.
                let answers = answers.into_iter().chain(std::iter::repeat(Err(AppendError::Stopped)));
                for (acknowledge, answer) in acknowledges.into_iter().zip(answers) {
                    reply(acknowledge, answer.and(Err(unknown.clone())));
                }
                Err(Failed)
            }
        }
    }

    /// Checks, writes and commits. The chain runs ahead of the disk here: after a failure the writer stops, so nobody sees it.
    fn write(
        &mut self,
        requests: &mut [Request],
        gone: &BTreeSet<BlobHash>,
        answers: &mut Vec<Answer>,
    ) -> Result<(), redb::Error> {
        let before = self.chain.range.size();
        let store = self.handle.now();
        // While somebody may look at what a commit supersedes, redb gives those pages back in the next one, in tables that it
        // writes anyway; else right behind it, by a commit of its own that whoever appends waits for.
        let _superseded = store.begin_read()?;
        let transaction = store.begin_write()?;
        let mut batch = Batch::open(&transaction, &self.archives, before);
        for request in &*requests {
            match batch.append(request, &mut self.chain, &mut self.tail) {
                Ok(answer) => answers.push(answer),
                Err(error) => {
                    answers.push(Err(AppendError::Unknown(error.to_string())));
                    return Err(error);
                }
            }
        }
        if self.chain.range.size() == before {
            drop(batch);
            transaction.abort()?;
            return Ok(());
        }
        batch.remove(gone)?;
        let packing = batch.finish(&self.chain, &mut self.tail, &mut self.aside)?;
        if packing.as_ref().is_some_and(|packing| packing.is_aside) {
            // Behind what is packed: nobody waits for it, and to let go of many takes longer than to pack them.
            let spent: Vec<_> = requests.iter_mut().map(|request| request.events.take_spent()).collect();
            self.aside.hand(|_| drop(spent));
        }
        let sealed = packing.as_ref().map(|packing| packing.before);
        if sealed.is_some() || self.notary.is_due(&self.chain) {
            self.notary.sign(&transaction, &self.chain, sealed)?;
        }
        if let Some(packing) = packing {
            packing.store(&transaction, &mut self.tail)?;
        }
        commits::reach(commits::Side::Before);
        transaction.commit()?;
        commits::reach(commits::Side::After);
        Ok(())
    }
}

/// What the store said when it stopped.
fn damaged(what: String) -> RewriteError {
    RewriteError::Damaged(Box::new(Damage::File(what)))
}

/// Answers; a caller that has gone away does not mind.
fn reply(acknowledge: oneshot::Sender<Answer>, answer: Answer) {
    drop(acknowledge.send(answer));
}

/// What is to be committed with the first request, and what came behind it that is no append.
pub(super) fn drain(first: Request, inbox: &mut mpsc::Receiver<Message>) -> (Vec<Request>, Option<Message>) {
    let weigh = |request: &Request| request.events.weight();
    let mut events = first.events.len();
    let mut bytes = weigh(&first);
    let mut batch = vec![first];
    while events < BATCH_EVENTS_MAX && bytes < BATCH_BYTES_MAX {
        match inbox.try_recv() {
            Ok(Message::Append(next)) => {
                events += next.events.len();
                bytes += weigh(&next);
                batch.push(next);
            }
            Ok(other) => return (batch, Some(other)),
            Err(_) => break,
        }
    }
    (batch, None)
}

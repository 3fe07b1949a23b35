//! The one place that writes the event tables: a thread that turns what queued during the last sync into one commit.

use std::sync::Arc;

use redb::{Database, ReadableTable, Table, WriteTransaction};
use tokio::sync::{mpsc, oneshot, watch};

use super::tables::{BLOBS, BY_ID, BY_STREAM, META, META_HEAD, META_RANGE, STREAMS, TAIL};
use super::{Append, Expect, Head, Request, blobs};
use crate::chain::Chain;
use crate::codec::{self, Frame};
use crate::envelope::{Draft, Header};
use crate::id::EventId;

/// The most events of one commit.
const BATCH_EVENTS_MAX: usize = 512;
/// The most payload bytes that are drained into one commit.
const BATCH_BYTES_MAX: usize = 1 << 20;
/// The longest stream, kind or actor name, so that a header's length fits its field.
const NAME_BYTES_MAX: usize = 1024;

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
    /// Only some events of the request are in the log.
    #[error("event {id} is in the log already, others of the same request are not")]
    PartlyThere {
        /// The id that is there.
        id: EventId,
    },
    /// No events, or a name that is too long.
    #[error("the request is malformed: {0}")]
    Malformed(&'static str),
    /// The store failed. Whether the events are on disk is unknown: look their ids up after reopening.
    #[error("the log could not be written, and whether these events are on disk is unknown: {0}")]
    Unknown(String),
    /// The writer stopped after an earlier failure, or is shutting down.
    #[error("the log's writer has stopped; reopen the log")]
    Stopped,
}

type Acknowledge = oneshot::Sender<Result<Appended, AppendError>>;

pub(super) struct Writer {
    database: Arc<Database>,
    chain: Chain,
    publish: watch::Sender<Head>,
}

impl Writer {
    pub(super) fn new(database: Arc<Database>, chain: Chain, publish: watch::Sender<Head>) -> Self {
        Self { database, chain, publish }
    }

    /// Runs until every sender is gone or the store fails. What was queued behind a failure is refused, not tried.
    pub(super) fn run(mut self, mut inbox: mpsc::Receiver<Request>) {
        while let Some(first) = inbox.blocking_recv() {
            let batch = drain(first, &mut inbox);
            if !self.commit(batch) {
                break;
            }
        }
    }

    /// One transaction for all; `false` once the store has failed.
    fn commit(&mut self, batch: Vec<Request>) -> bool {
        let mut answers: Vec<(Acknowledge, Result<Appended, AppendError>)> = Vec::with_capacity(batch.len());
        let mut chain = self.chain.clone();
        let written = self.write(batch, &mut chain, &mut answers);
        if let Err(error) = written {
            let message = error.to_string();
            for (acknowledge, answer) in answers {
                let answer = if answer.is_ok() { Err(AppendError::Unknown(message.clone())) } else { answer };
                reply(acknowledge, answer);
            }
            return false;
        }
        self.chain = chain;
        let head = Head { size: self.chain.range.size(), head: self.chain.head };
        self.publish.send_replace(head);
        for (acknowledge, answer) in answers {
            reply(acknowledge, answer);
        }
        true
    }

    fn write(
        &self,
        batch: Vec<Request>,
        chain: &mut Chain,
        answers: &mut Vec<(Acknowledge, Result<Appended, AppendError>)>,
    ) -> Result<(), redb::Error> {
        let mut failed = None;
        let before = chain.range.size();
        let transaction = match self.database.begin_write() {
            Ok(transaction) => Some(transaction),
            Err(error) => {
                failed = Some(redb::Error::from(error));
                None
            }
        };
        for Request { append, acknowledge } in batch {
            let answer = match (&transaction, &failed) {
                (Some(transaction), None) => append_one(transaction, &append, chain).unwrap_or_else(|error| {
                    let answer = Err(AppendError::Unknown(error.to_string()));
                    failed = Some(error);
                    answer
                }),
                _ => Err(AppendError::Stopped),
            };
            answers.push((acknowledge, answer));
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let Some(transaction) = transaction else { return Ok(()) };
        if chain.range.size() == before {
            transaction.abort()?;
            return Ok(());
        }
        {
            let mut meta = transaction.open_table(META)?;
            meta.insert(META_HEAD, chain.head.as_slice())?;
            meta.insert(META_RANGE, chain.range.to_bytes().as_slice())?;
        }
        transaction.commit()?;
        Ok(())
    }
}

/// Answers; a caller that has gone away does not mind.
fn reply(acknowledge: Acknowledge, answer: Result<Appended, AppendError>) {
    drop(acknowledge.send(answer));
}

fn drain(first: Request, inbox: &mut mpsc::Receiver<Request>) -> Vec<Request> {
    let weigh = |request: &Request| {
        request.append.events.iter().flat_map(|draft| &draft.blobs).map(|(_, bytes)| bytes.len()).sum::<usize>()
    };
    let mut events = first.append.events.len();
    let mut bytes = weigh(&first);
    let mut batch = vec![first];
    while events < BATCH_EVENTS_MAX && bytes < BATCH_BYTES_MAX {
        let Ok(next) = inbox.try_recv() else { break };
        events += next.append.events.len();
        bytes += weigh(&next);
        batch.push(next);
    }
    batch
}

/// The tables of one transaction.
struct Tables<'t> {
    tail: Table<'t, u64, &'static [u8]>,
    streams: Table<'t, &'static str, u64>,
    by_stream: Table<'t, (u64, u64), u64>,
    by_id: Table<'t, [u8; 16], u64>,
    blobs: Table<'t, [u8; 32], &'static [u8]>,
}

/// Appends one request, or refuses it whole; only a failing store is an outer error.
fn append_one(
    transaction: &WriteTransaction,
    append: &Append,
    chain: &mut Chain,
) -> Result<Result<Appended, AppendError>, redb::Error> {
    let mut tables = Tables {
        tail: transaction.open_table(TAIL)?,
        streams: transaction.open_table(STREAMS)?,
        by_stream: transaction.open_table(BY_STREAM)?,
        by_id: transaction.open_table(BY_ID)?,
        blobs: transaction.open_table(BLOBS)?,
    };
    if let Some(answer) = refusal(&tables, append)? {
        return Ok(answer);
    }
    let first = chain.range.size() + 1;
    for draft in &append.events {
        insert(&mut tables, draft, chain)?;
    }
    Ok(Ok(Appended::At { first, last: chain.range.size() }))
}

/// What speaks against the request, or `AlreadyThere`; `None` when it can be appended.
fn refusal(tables: &Tables<'_>, append: &Append) -> Result<Option<Result<Appended, AppendError>>, redb::Error> {
    let Some(head) = append.events.first() else {
        return Ok(Some(Err(AppendError::Malformed("it holds no event"))));
    };
    if append.events.iter().any(|draft| draft.stream.len() > NAME_BYTES_MAX || draft.actor.len() > NAME_BYTES_MAX) {
        return Ok(Some(Err(AppendError::Malformed("a stream or actor name is longer than 1,024 bytes"))));
    }
    let mut there = Vec::new();
    for draft in &append.events {
        let Some(seq) = tables.by_id.get(draft.id.0)?.map(|seq| seq.value()) else { continue };
        if !same(tables, seq, draft)? {
            return Ok(Some(Err(AppendError::IdTaken { id: draft.id, seq })));
        }
        there.push((draft.id, seq));
    }
    match there.first() {
        Some(&(_, seq)) if there.len() == append.events.len() => return Ok(Some(Ok(Appended::AlreadyThere(seq)))),
        Some(&(id, _)) => return Ok(Some(Err(AppendError::PartlyThere { id }))),
        None => {}
    }
    let found = version(tables, &head.stream)?;
    let expected = match append.expect {
        Expect::Any => found,
        Expect::NoStream => 0,
        Expect::Exact(version) => version,
    };
    let conflict = AppendError::Conflict { stream: head.stream.clone(), found, expected };
    Ok((found != expected).then_some(Err(conflict)))
}

/// Whether the stored event says the same as the draft. The place in the stream and the salt are the writer's own.
fn same(tables: &Tables<'_>, seq: u64, draft: &Draft) -> Result<bool, redb::Error> {
    let Some(stored) = tables.tail.get(seq)? else { return Ok(false) };
    let Ok(frame) = Frame::parse(stored.value()) else { return Ok(false) };
    let Ok(Header(id, time, stream, _, kind, schema, actor, turn, cause, _)) = frame.header() else { return Ok(false) };
    let header = (id, time, stream, kind.as_str(), schema, actor, turn, cause);
    let drafted = (
        draft.id,
        draft.time.0,
        draft.stream.clone(),
        draft.event.label(),
        draft.event.schema(),
        draft.actor.clone(),
        draft.turn,
        draft.cause,
    );
    Ok(header == drafted && frame.payload == Some(draft.event.encode().as_slice()))
}

fn version(tables: &Tables<'_>, stream: &str) -> Result<u64, redb::Error> {
    let Some(number) = tables.streams.get(stream)?.map(|number| number.value()) else { return Ok(0) };
    let mut versions = tables.by_stream.range((number, 0)..=(number, u64::MAX))?;
    Ok(versions.next_back().transpose()?.map_or(0, |(key, _)| key.value().1))
}

fn insert(tables: &mut Tables<'_>, draft: &Draft, chain: &mut Chain) -> Result<(), redb::Error> {
    let seq = chain.range.size() + 1;
    let version = version(tables, &draft.stream)? + 1;
    let known = tables.streams.get(draft.stream.as_str())?.map(|number| number.value());
    // Streams are numbered by the event that opened them: never reused, no counter to keep.
    let number = known.unwrap_or(seq);
    if known.is_none() {
        tables.streams.insert(draft.stream.as_str(), number)?;
    }
    let header = Header(
        draft.id,
        draft.time.0,
        draft.stream.clone(),
        version,
        draft.event.label().to_owned(),
        draft.event.schema(),
        draft.actor.clone(),
        draft.turn,
        draft.cause,
        0,
    );
    let (frame, leaf) = codec::frame(seq, &header, &salt(), &draft.event.encode());
    tables.tail.insert(seq, frame.as_slice())?;
    tables.by_stream.insert((number, version), seq)?;
    tables.by_id.insert(draft.id.0, seq)?;
    for (hash, bytes) in &draft.blobs {
        if tables.blobs.get(hash.0)?.is_none() {
            tables.blobs.insert(hash.0, blobs::pack(bytes).as_slice())?;
        }
    }
    chain.push(leaf);
    Ok(())
}

/// Sixteen fresh random bytes. Random, not derived: an erased payload must not be guessable from what is left.
fn salt() -> [u8; 16] {
    let mut salt = [0; 16];
    getrandom::fill(&mut salt).expect("the system gives random bytes");
    salt
}

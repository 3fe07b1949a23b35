//! What crosses to the writer: drafts without secrets, encoded once. Decides nothing about where an event goes.

use crate::envelope::{Draft, Header, REDACTED};
use crate::id::{EventId, Micros, TurnId};
use crate::kept::BlobHash;
use crate::redact::Redactor;

/// A draft whose payload is the bytes that will be stored.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) id: EventId,
    time: Micros,
    pub(super) stream: String,
    pub(super) actor: String,
    turn: Option<TurnId>,
    cause: Option<EventId>,
    kind: &'static str,
    schema: u16,
    flags: u32,
    pub(super) payload: Vec<u8>,
    pub(super) blobs: Vec<(BlobHash, Vec<u8>)>,
}

impl Prepared {
    /// Takes secrets out, moves long texts into blobs under the names that `name` gives, encodes.
    pub(super) fn of(draft: Draft, redactor: &Redactor, name: impl Fn(&[u8]) -> BlobHash) -> Self {
        let Draft { id, time, stream, actor, turn, cause, mut event, mut blobs } = draft;
        let (payload, redacted) = redactor.payload(&mut event, |event| {
            for kept in event.kept() {
                if let Some((hash, text)) = kept.detach(&name) {
                    blobs.push((hash, text.into_bytes()));
                }
            }
        });
        let flags = if redacted { REDACTED } else { 0 };
        Self {
            id,
            time,
            stream,
            actor,
            turn,
            cause,
            kind: event.label(),
            schema: event.schema(),
            flags,
            payload,
            blobs,
        }
    }

    /// The header that it gets at a place in its stream.
    pub(super) fn header(&self, version: u64) -> Header<'_> {
        let Self { id, time, stream, actor, turn, cause, kind, schema, flags, .. } = self;
        Header(*id, time.0, stream, version, kind, *schema, actor, *turn, *cause, *flags)
    }

    /// How many bytes it brings into a commit.
    pub(super) fn weight(&self) -> usize {
        self.payload.len() + self.blobs.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    }
}

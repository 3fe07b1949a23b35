//! What crosses to the writer: drafts without secrets, encoded once. Decides nothing about where an event goes.

use crate::chain;
use crate::codec::Salted;
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
    payload: Vec<u8>,
    salt: [u8; 16],
    digest: [u8; 32],
    pub(super) blobs: Vec<(BlobHash, Vec<u8>)>,
}

impl Prepared {
    /// Takes secrets out, moves long texts into blobs under the names that `name` gives, encodes.
    /// Salted and hashed here too: the writer is one thread, and those who call it are many.
    pub(super) fn of(draft: Draft, salt: [u8; 16], redactor: &Redactor, name: impl Fn(&[u8]) -> BlobHash) -> Self {
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
            digest: chain::payload_digest(&salt, &payload),
            salt,
            payload,
            blobs,
        }
    }

    /// The payload as it is framed.
    pub(super) fn salted(&self) -> Salted<'_> {
        Salted { salt: &self.salt, payload: &self.payload, digest: &self.digest }
    }

    /// The payload's bytes.
    pub(super) fn payload(&self) -> &[u8] {
        &self.payload
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

/// Fresh random bytes. Random, not derived: an erased payload must not be guessable from what is left.
pub(super) fn salts(count: usize) -> Vec<[u8; 16]> {
    let mut salts = vec![[0; 16]; count];
    getrandom::fill(salts.as_flattened_mut()).expect("the system gives random bytes");
    salts
}

//! What crosses to the writer: drafts without secrets, encoded once. Decides nothing about where an event goes.

use crate::chain;
use crate::codec::Salted;
use crate::envelope::{Draft, Header, REDACTED};
use crate::id::{EventId, Micros, TurnId};
use crate::kept::BlobHash;
use crate::redact::Redactor;

/// The most that a frame has beside its payload and the texts of its header, with the length before it.
const BESIDE: usize = 128;

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
    payload: Box<[u8]>,
    salt: [u8; 16],
    digest: [u8; 32],
    pub(super) blobs: Vec<(BlobHash, Vec<u8>)>,
}

impl Prepared {
    /// Takes secrets out, moves long texts into blobs under the names that `name` gives, encodes; `buffer` is memory that is
    /// used again. Salted and hashed here too: the writer is one thread, and those who call it are many. What the draft still
    /// holds afterwards is of no use.
    pub(super) fn of(
        draft: &mut Draft,
        salt: [u8; 16],
        buffer: &mut Vec<u8>,
        redactor: &Redactor,
        name: impl Fn(&[u8]) -> BlobHash,
    ) -> Self {
        let Draft { id, time, stream, actor, turn, cause, event, blobs } = draft;
        let redacted = redactor.encode(event, buffer, |event| {
            for kept in event.kept() {
                if let Some((hash, text)) = kept.detach(&name) {
                    blobs.push((hash, text.into_bytes()));
                }
            }
        });
        Self {
            id: *id,
            time: *time,
            stream: std::mem::take(stream),
            actor: std::mem::take(actor),
            turn: *turn,
            cause: *cause,
            kind: event.label(),
            schema: event.schema(),
            flags: if redacted { REDACTED } else { 0 },
            digest: chain::payload_digest(&salt, buffer),
            salt,
            payload: buffer.as_slice().into(),
            blobs: std::mem::take(blobs),
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

    /// The same with so many zeros for a payload: memory that nobody touches.
    #[cfg(test)]
    pub(super) fn of_zeros(self, bytes: usize) -> Self {
        Self { payload: vec![0; bytes].into(), ..self }
    }

    /// How many bytes its frame has at most, with the length before it.
    pub(super) fn framed(&self) -> usize {
        self.payload.len() + self.stream.len() + self.actor.len() + self.kind.len() + BESIDE
    }

    /// How many bytes it brings into a commit.
    pub(super) fn weight(&self) -> usize {
        self.payload.len() + self.blobs.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    }
}

/// Fresh salts. From random bytes that are kept nowhere: an erased payload must not be guessable from what is left.
pub(super) fn salts(count: usize) -> Vec<[u8; 16]> {
    let seed = seed();
    let mut salts = vec![[0; 16]; count];
    blake3::Hasher::new_keyed(&seed).finalize_xof().fill(salts.as_flattened_mut());
    salts
}

#[cfg(not(test))]
fn seed() -> [u8; 32] {
    random()
}

/// In a test that is to be the same each time, what the one before led to.
#[cfg(test)]
fn seed() -> [u8; 32] {
    SEED.get().map_or_else(random, |seed| {
        SEED.set(Some(*blake3::hash(&seed).as_bytes()));
        seed
    })
}

#[cfg(test)]
thread_local! {
    /// From which seed the salts of this thread's events are made: they hardly shrink, so that lengths hang on them.
    pub(super) static SEED: std::cell::Cell<Option<[u8; 32]>> = const { std::cell::Cell::new(None) };
}

fn random() -> [u8; 32] {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).expect("the system gives random bytes");
    seed
}

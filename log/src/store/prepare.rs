//! What crosses to the writer: drafts without secrets, encoded once. Decides nothing about where an event goes.

use std::ops::Range;
use std::sync::Arc;

use crate::chain;
use crate::codec::Salted;
use crate::envelope::{Draft, Header, REDACTED};
use crate::id::{EventId, Micros, TurnId};
use crate::kept::BlobHash;
use crate::redact::{Encoded, Redactor, SALT_BYTES};

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
    /// The salts and payloads of all that were prepared together.
    bytes: Arc<Vec<u8>>,
    /// Its own among them.
    salted: Range<usize>,
    digest: [u8; 32],
    pub(super) blobs: Vec<(BlobHash, Vec<u8>)>,
}

/// Takes secrets out, moves long texts into blobs under the names that `name` gives, encodes. Salted and hashed here too: the
/// writer is one thread, and those who call it are many. What the drafts still hold afterwards is of no use.
pub(super) fn prepared(drafts: &mut [Draft], redactor: &Redactor, name: impl Fn(&[u8]) -> BlobHash) -> Vec<Prepared> {
    let salts = salts(drafts.len());
    let mut events = Vec::with_capacity(drafts.len());
    let mut blobs = Vec::with_capacity(drafts.len());
    for (draft, salt) in drafts.iter_mut().zip(salts) {
        events.push((&mut draft.event, salt));
        blobs.push(&mut draft.blobs);
    }
    let Encoded { bytes, ends, redacted } = redactor.encode_all(&mut events, |place, event| {
        for kept in event.kept() {
            if let Some((hash, text)) = kept.detach(&name) {
                blobs[place].push((hash, text.into_bytes()));
            }
        }
    });
    let starts = [0].into_iter().chain(ends.iter().copied());
    let salted: Vec<&[u8]> = starts.clone().zip(&ends).map(|(start, end)| &bytes[start..*end]).collect();
    let digests = chain::payload_digests(&salted);
    let (bytes, starts) = (Arc::new(bytes), starts.collect::<Vec<_>>());
    let one = |(place, draft): (usize, &mut Draft)| Prepared {
        id: draft.id,
        time: draft.time,
        stream: std::mem::take(&mut draft.stream),
        actor: std::mem::take(&mut draft.actor),
        turn: draft.turn,
        cause: draft.cause,
        kind: draft.event.label(),
        schema: draft.event.schema(),
        flags: if redacted[place] { REDACTED } else { 0 },
        bytes: Arc::clone(&bytes),
        salted: starts[place]..ends[place],
        digest: digests[place],
        blobs: std::mem::take(&mut draft.blobs),
    };
    drafts.iter_mut().enumerate().map(one).collect()
}

impl Prepared {
    /// The payload as it is framed.
    pub(super) fn salted(&self) -> Salted<'_> {
        let (salt, payload) =
            self.bytes[self.salted.clone()].split_first_chunk().expect("it was written with its salt");
        Salted { salt, payload, digest: &self.digest }
    }

    /// The payload's bytes.
    pub(super) fn payload(&self) -> &[u8] {
        self.salted().payload
    }

    /// The header that it gets at a place in its stream.
    pub(super) fn header(&self, version: u64) -> Header<'_> {
        let Self { id, time, stream, actor, turn, cause, kind, schema, flags, .. } = self;
        Header(*id, time.0, stream, version, kind, *schema, actor, *turn, *cause, *flags)
    }

    /// The same with so many zeros for a payload: memory that nobody touches.
    #[cfg(test)]
    pub(super) fn of_zeros(self, bytes: usize) -> Self {
        Self { bytes: Arc::new(vec![0; SALT_BYTES + bytes]), salted: 0..SALT_BYTES + bytes, ..self }
    }

    /// How many bytes its frame has at most, with the length before it.
    pub(super) fn framed(&self) -> usize {
        self.salted.len() - SALT_BYTES + self.stream.len() + self.actor.len() + self.kind.len() + BESIDE
    }

    /// How many bytes it brings into a commit.
    pub(super) fn weight(&self) -> usize {
        self.salted.len() - SALT_BYTES + self.blobs.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    }
}

/// Fresh salts. From random bytes that are kept nowhere: an erased payload must not be guessable from what is left.
fn salts(count: usize) -> Vec<[u8; SALT_BYTES]> {
    let seed = seed();
    let mut salts = vec![[0; SALT_BYTES]; count];
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

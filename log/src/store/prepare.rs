//! What crosses to the writer: drafts without secrets, encoded once. Decides nothing about where an event goes.

use std::cell::Cell;
use std::ops::Range;

use crate::chain;
use crate::codec::Salted;
use crate::envelope::{Draft, Header, REDACTED};
use crate::id::{EventId, Micros, TurnId};
use crate::kept::BlobHash;
use crate::redact::{Encoded, Redactor, SALT_BYTES};

/// The most that a frame has beside its payload and the texts of its header, with the length before it.
const BESIDE: usize = 128;
/// What a stream and an actor take together, mostly; neighbours share theirs.
const NAMES_BYTES_USUAL: usize = 48;
/// So many drafts are let go of later. Of fewer each is still at hand when it is encoded, and goes soonest then.
const MANY: usize = 64;

/// The drafts of one request, their payloads as the bytes that will be stored.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    parts: Vec<Part>,
    encoded: Encoded,
    /// Of each payload with its salt.
    digests: Vec<[u8; 32]>,
    /// Streams and actors.
    names: String,
    /// What it was made of, where that is much.
    spent: Vec<Draft>,
}

/// What one draft has for itself.
#[derive(Debug)]
struct Part {
    id: EventId,
    time: Micros,
    /// Its stream and its actor among the names.
    stream: Range<usize>,
    actor: Range<usize>,
    turn: Option<TurnId>,
    cause: Option<EventId>,
    kind: &'static str,
    schema: u16,
    blobs: Vec<(BlobHash, Vec<u8>)>,
}

/// One of the drafts.
#[derive(Clone, Copy, Debug)]
pub(super) struct PreparedEvent<'p> {
    all: &'p Prepared,
    place: usize,
}

/// Takes secrets out, moves long texts into blobs under the names that `name` gives, encodes. Salted and hashed here too: the
/// writer is one thread, and those who call it are many.
pub(super) fn prepared(mut drafts: Vec<Draft>, redactor: &Redactor, name: impl Fn(&[u8]) -> BlobHash) -> Prepared {
    let salts = salts(drafts.len());
    let mut events = Vec::with_capacity(drafts.len());
    let mut blobs = Vec::with_capacity(drafts.len());
    for (draft, salt) in drafts.iter_mut().zip(salts) {
        events.push((&mut draft.event, salt));
        blobs.push(&mut draft.blobs);
    }
    let encoded = redactor.encode_all(&mut events, |place, event| {
        for kept in event.kept() {
            if let Some((hash, text)) = kept.detach(&name) {
                blobs[place].push((hash, text.into_bytes()));
            }
        }
    });
    let salted: Vec<&[u8]> = (0..drafts.len()).map(|place| encoded.salted(place)).collect();
    let digests = chain::payload_digests(&salted);
    let parts = Vec::with_capacity(drafts.len());
    let names = String::with_capacity(drafts.len() * NAMES_BYTES_USUAL);
    let mut all = Prepared { parts, encoded, digests, names, spent: Vec::new() };
    for draft in &mut drafts {
        all.push(draft);
    }
    if drafts.len() >= MANY {
        all.spent = drafts;
    }
    all
}

impl Prepared {
    /// Takes in a draft whose event is encoded, and its blobs out of it.
    fn push(&mut self, draft: &mut Draft) {
        let Draft { id, time, turn, cause, event, .. } = draft;
        let (id, time, turn, cause, kind, schema) = (*id, *time, *turn, *cause, event.label(), event.schema());
        let before = self.parts.last().map(|part| (part.stream.clone(), part.actor.clone())).unwrap_or_default();
        let (stream, actor) = (self.named(&draft.stream, before.0), self.named(&draft.actor, before.1));
        let blobs = std::mem::take(&mut draft.blobs);
        self.parts.push(Part { id, time, stream, actor, turn, cause, kind, schema, blobs });
    }

    /// Gives what it was made of away.
    pub(super) fn take_spent(&mut self) -> Vec<Draft> {
        std::mem::take(&mut self.spent)
    }

    /// Where a name lies: mostly where that of the event before it does.
    fn named(&mut self, name: &str, before: Range<usize>) -> Range<usize> {
        if self.names[before.clone()] == *name {
            return before;
        }
        let start = self.names.len();
        self.names.push_str(name);
        start..self.names.len()
    }

    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn first(&self) -> Option<PreparedEvent<'_>> {
        self.iter().next()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = PreparedEvent<'_>> + Clone {
        self.of(0..self.len())
    }

    fn of(&self, places: Range<usize>) -> impl Iterator<Item = PreparedEvent<'_>> + Clone {
        places.map(|place| PreparedEvent { all: self, place })
    }

    /// Its events in runs of one stream.
    pub(super) fn by_stream(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = PreparedEvent<'_>>)> {
        let stream = |part: &Part| &self.names[part.stream.clone()];
        let mut next = 0;
        self.parts.chunk_by(move |one, two| stream(one) == stream(two)).map(move |run| {
            let first = next;
            next += run.len();
            (stream(&run[0]), self.of(first..next))
        })
    }

    /// How many bytes it brings into a commit.
    pub(super) fn weight(&self) -> usize {
        let blobs = self.parts.iter().flat_map(|part| &part.blobs);
        self.encoded.bytes.len() - self.len() * SALT_BYTES + blobs.map(|(_, bytes)| bytes.len()).sum::<usize>()
    }

    /// The same with so many zeros for the payload of each: memory that nobody touches.
    #[cfg(test)]
    pub(super) fn of_zeros(self, lengths: &[usize]) -> Self {
        let mut end = 0;
        let next = |length: &usize| {
            end += SALT_BYTES + length;
            end
        };
        let ends: Vec<usize> = lengths.iter().map(next).collect();
        let bytes = vec![0; ends.last().copied().unwrap_or_default()];
        Self { encoded: Encoded { bytes, ends, redacted: vec![false; lengths.len()] }, ..self }
    }
}

impl<'p> PreparedEvent<'p> {
    fn part(self) -> &'p Part {
        &self.all.parts[self.place]
    }

    pub(super) fn id(self) -> EventId {
        self.part().id
    }

    pub(super) fn stream(self) -> &'p str {
        &self.all.names[self.part().stream.clone()]
    }

    pub(super) fn actor(self) -> &'p str {
        &self.all.names[self.part().actor.clone()]
    }

    pub(super) fn blobs(self) -> &'p [(BlobHash, Vec<u8>)] {
        &self.part().blobs
    }

    /// The payload as it is framed.
    pub(super) fn salted(self) -> Salted<'p> {
        let (salt, payload) =
            self.all.encoded.salted(self.place).split_first_chunk().expect("it was written with its salt");
        Salted { salt, payload, digest: &self.all.digests[self.place] }
    }

    /// The payload's bytes.
    pub(super) fn payload(self) -> &'p [u8] {
        self.salted().payload
    }

    /// The header that it gets at a place in its stream.
    pub(super) fn header(self, version: u64) -> Header<'p> {
        let Part { id, time, turn, cause, kind, schema, .. } = self.part();
        let flags = if self.all.encoded.redacted[self.place] { REDACTED } else { 0 };
        Header(*id, time.0, self.stream(), version, kind, *schema, self.actor(), *turn, *cause, flags)
    }

    /// How many bytes its frame has at most, with the length before it.
    pub(super) fn framed(self) -> usize {
        self.payload().len() + self.stream().len() + self.actor().len() + self.part().kind.len() + BESIDE
    }
}

/// Fresh salts. No more is kept than what the next ones are made of, which does not say what these were made of: an erased
/// payload must not be guessable from what is left, be it in memory ([fast-key-erasure generators][erasure]).
///
/// [erasure]: https://blog.cr.yp.to/20170723-random.html
fn salts(count: usize) -> Vec<[u8; SALT_BYTES]> {
    let (seed, uses) = SEED.get().unwrap_or_else(|| (random(), USES));
    let mut stream = blake3::Hasher::new_keyed(&seed).finalize_xof();
    let (mut next, mut salts) = ([0; 32], vec![[0; SALT_BYTES]; count]);
    stream.fill(&mut next);
    stream.fill(salts.as_flattened_mut());
    SEED.set(uses.checked_sub(1).map(|uses| (next, uses)));
    salts
}

/// How often the system is spared the question for random bytes, until it is asked again.
const USES: u32 = 64;

thread_local! {
    /// What the next salts of this thread are made of, and how often there are to be others without the system. A test that is
    /// to be the same each time sets it: salts hardly shrink, so that lengths hang on them.
    pub(super) static SEED: Cell<Option<([u8; 32], u32)>> = const { Cell::new(None) };
}

fn random() -> [u8; 32] {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).expect("the system gives random bytes");
    seed
}

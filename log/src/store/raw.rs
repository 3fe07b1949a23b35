//! Stored bytes as they are: what a third party needs to compute an event's leaf itself.
//!
//! Nothing is decoded here but the frame's own lengths.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::reader::{ReadError, Reader};
use super::runs::Unpacked;
use crate::codec::{Content, Frame, FrameError};
use crate::envelope::Recorded;

/// The bytes of one event that its leaf is made of. As JSON: `{"seq", "header", "salt", "payload"}`, or `{"seq", "header",
/// "digest"}`, bytes in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Stored {
    /// Its number.
    pub seq: u64,
    /// Its header.
    pub header: Vec<u8>,
    /// The rest.
    pub body: StoredBody,
}

/// What stands behind a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredBody {
    /// The payload with its salt.
    Live {
        /// Sixteen random bytes.
        salt: [u8; 16],
        /// The payload.
        payload: Vec<u8>,
    },
    /// The payload's digest alone: it was erased, or is not shown.
    Digest([u8; 32]),
}

/// [`Stored`] as text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    seq: u64,
    header: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    salt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl From<Stored> for Written {
    fn from(Stored { seq, header, body }: Stored) -> Self {
        let (salt, payload, digest) = match body {
            StoredBody::Live { salt, payload } => (Some(STANDARD.encode(salt)), Some(STANDARD.encode(payload)), None),
            StoredBody::Digest(digest) => (None, None, Some(STANDARD.encode(digest))),
        };
        Self { seq, header: STANDARD.encode(header), salt, payload, digest }
    }
}

impl TryFrom<Written> for Stored {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let bytes = |text: &str| STANDARD.decode(text).map_err(|_| "it is no base64");
        let body = match (written.salt, written.payload, written.digest) {
            (Some(salt), Some(payload), None) => {
                let salt = bytes(&salt)?.try_into().map_err(|_| "a salt has sixteen bytes")?;
                StoredBody::Live { salt, payload: bytes(&payload)? }
            }
            (None, None, Some(digest)) => {
                StoredBody::Digest(bytes(&digest)?.try_into().map_err(|_| "a digest has 32 bytes")?)
            }
            _ => return Err("it has either a salt and a payload or a digest"),
        };
        Ok(Self { seq: written.seq, header: bytes(&written.header)?, body })
    }
}

impl Stored {
    /// Takes a frame of the log apart; its leaf check is compared.
    fn of(seq: u64, bytes: &[u8]) -> Result<Self, FrameError> {
        let frame = Frame::parse(bytes)?;
        frame.verified(seq)?;
        let body = match frame.content {
            Content::Live { salt, payload } => StoredBody::Live { salt: *salt, payload: payload.to_vec() },
            Content::Erased { digest, .. } => StoredBody::Digest(*digest),
        };
        Ok(Self { seq, header: frame.header.to_vec(), body })
    }

    /// As the log would have it, without the check that a frame holds.
    fn frame(&self) -> Frame<'_> {
        let content = match &self.body {
            StoredBody::Live { salt, payload } => Content::Live { salt, payload },
            StoredBody::Digest(digest) => Content::Erased { digest, tombstone: &[] },
        };
        Frame { check: [0; 8], header: &self.header, content }
    }

    /// The same without its payload.
    #[must_use]
    pub fn withheld(self) -> Self {
        let digest = self.frame().payload_digest();
        Self { body: StoredBody::Digest(digest), ..self }
    }

    /// Its leaf, computed from these bytes alone.
    pub fn leaf(&self) -> [u8; 32] {
        self.frame().leaf(self.seq)
    }

    /// The event that the bytes are.
    pub fn recorded(&self) -> Result<Recorded, FrameError> {
        self.frame().recorded(self.seq)
    }
}

/// Fetches stored bytes; events that lie beside each other are unpacked once.
pub struct Raw {
    reader: Reader,
    run: Option<Unpacked>,
}

impl Reader {
    /// For the stored bytes of events.
    pub fn raw(&self) -> Raw {
        Raw { reader: self.clone(), run: None }
    }
}

impl Raw {
    /// The stored bytes of one event.
    pub fn frame(&mut self, seq: u64) -> Result<Stored, ReadError> {
        let missing = || ReadError::Missing { seq };
        let run = match self.run.take().filter(|run| run.holds(seq)) {
            Some(run) => run,
            None => self.reader.run(seq)?.ok_or_else(missing)?.unpack()?,
        };
        let bytes = run.frame(seq).ok_or_else(missing)?;
        let stored = Stored::of(seq, bytes).map_err(|source| ReadError::Event { seq, table: run.table(), source });
        self.run = Some(run);
        stored
    }
}

#[cfg(test)]
mod tests {
    use redb::{ReadableDatabase, ReadableTableMetadata};

    use super::*;
    use crate::codec;
    use crate::envelope::{Body, Draft, Header};
    use crate::event::Event;
    use crate::event::instance::CredentialRemoved;
    use crate::id::EventId;
    use crate::store::tables::SEGMENTS;
    use crate::store::{Append, Expect};

    #[test]
    fn the_bytes_of_an_event_give_its_leaf_with_and_without_its_payload() {
        let event = Event::from(CredentialRemoved { name: "weather".to_owned() });
        let (label, schema) = (event.label(), event.schema());
        let header = Header(EventId([1; 16]), 7, "instance", 1, label, schema, "owner", None, None, 0);
        let (bytes, leaf) = codec::frame(3, &header, &[9; 16], &event.encode());
        let stored = Stored::of(3, &bytes).unwrap();
        assert_eq!(stored.body, StoredBody::Live { salt: [9; 16], payload: event.encode() });
        assert_eq!((stored.leaf(), stored.recorded().unwrap().event()), (leaf, Some(&event)));
        let text = |stored: &Stored| serde_json::to_string(stored).unwrap();
        assert_eq!(serde_json::from_str::<Stored>(&text(&stored)).unwrap(), stored);
        let withheld = stored.withheld();
        assert_eq!(serde_json::from_str::<Stored>(&text(&withheld)).unwrap(), withheld);
        let both = text(&withheld).replace("\"digest\"", "\"salt\":\"\",\"digest\"");
        assert!(both.contains("salt") && serde_json::from_str::<Stored>(&both).is_err());
        assert_eq!((withheld.leaf(), withheld.recorded().unwrap().body), (leaf, Body::Erased));
    }

    #[test]
    fn sealed_and_recent_events_have_the_leaves_of_the_chain() {
        let log = super::super::tests::memory();
        let text = |number: u64| blake3::hash(&number.to_le_bytes()).to_hex().repeat(20);
        let numbers: Vec<u64> = (0..3_000).collect();
        // The last are too few to be sealed.
        let (many, few) = numbers.split_at(numbers.len() - 5);
        for numbers in many.chunks(500).chain([few]) {
            let drafts = numbers.iter().map(|number| {
                let id = EventId(u128::from(*number).to_be_bytes());
                let event = CredentialRemoved { name: text(*number) }.into();
                Draft { id, event, ..super::super::tests::draft(1, "s") }
            });
            log.append(Append { events: drafts.collect(), expect: Expect::Any }).unwrap();
        }
        let reader = log.reader();
        let transaction = reader.database().begin_read().unwrap();
        assert!(transaction.open_table(SEGMENTS).unwrap().len().unwrap() > 1, "nothing was sealed");
        assert!(super::super::tests::in_tail(&log) > 0, "everything was sealed");
        let mut leaves = Vec::new();
        let each = reader.each_leaf(1, 3_000, |_, leaf| {
            leaves.push(leaf);
            Ok::<(), ReadError>(())
        });
        each.unwrap();
        let mut raw = reader.raw();
        for (seq, leaf) in (1..).zip(&leaves).chain((1..).zip(&leaves).step_by(97)) {
            let stored = raw.frame(seq).unwrap();
            assert_eq!(stored.leaf(), *leaf, "{seq}");
            assert_eq!(stored.recorded().unwrap().event(), reader.event(seq).unwrap().unwrap().event());
        }
        for none in [0, 3_001, u64::MAX] {
            assert!(matches!(raw.frame(none), Err(ReadError::Missing { .. })), "{none}");
        }
    }
}

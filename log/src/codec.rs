//! One event as bytes: the frame (`FORMAT.md`, «Frame»).

use std::borrow::Cow;
use std::ops::Range;

use crate::chain::{self, Committed};
use crate::envelope::{Body, Header, Recorded};
use crate::event::{DecodeError, upcast};
use crate::id::Micros;

/// The format byte of a frame.
pub const FRAME_FORMAT: u8 = 1;

const LIVE: u8 = 0;
const ERASED: u8 = 1;
/// Format, state, check, header length.
const PREFIX_BYTES: usize = 1 + 1 + 8 + 2;
/// Where the check is.
const CHECK: Range<usize> = 2..10;
const SALT_BYTES: usize = 16;
const DIGEST_BYTES: usize = 32;
/// Room that a header takes in most frames.
pub(crate) const HEADER_BYTES_USUAL: usize = 160;

/// Why a frame cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// Written by a newer program, or no frame at all.
    #[error("frame format {found} is not known to this program (it knows {FRAME_FORMAT})")]
    Format {
        /// The format byte.
        found: u8,
    },
    /// Shorter than its own lengths say.
    #[error("the frame is cut short")]
    Short,
    /// The state byte is neither live nor erased.
    #[error("frame state {found} means nothing")]
    State {
        /// The state byte.
        found: u8,
    },
    /// The bytes are not those that were chained.
    #[error("the stored bytes are not those that were appended (leaf check differs)")]
    Check,
    /// The header is not an envelope.
    #[error("the header cannot be read")]
    Header(#[source] rmp_serde::decode::Error),
    /// The payload is not what its kind says.
    #[error(transparent)]
    Payload(#[from] DecodeError),
}

/// What stands behind a frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A payload and its salt.
    Live {
        /// The salt.
        salt: &'a [u8; SALT_BYTES],
        /// The payload's bytes.
        payload: &'a [u8],
    },
    /// The payload is gone.
    Erased {
        /// What its digest was.
        digest: &'a [u8; DIGEST_BYTES],
        /// Who erased it, when and why.
        tombstone: &'a [u8],
    },
}

/// A frame taken apart, bytes borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The first eight bytes of the leaf.
    pub check: [u8; 8],
    /// The header's bytes.
    pub header: &'a [u8],
    /// What follows it.
    pub content: Content<'a>,
}

impl<'a> Frame<'a> {
    /// Takes a stored frame apart. Does not compare the leaf check: [`Self::verified`] does.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FrameError> {
        let (prefix, rest) = bytes.split_first_chunk::<PREFIX_BYTES>().ok_or(FrameError::Short)?;
        let [format, state, check @ .., high, low] = *prefix;
        if format != FRAME_FORMAT {
            return Err(FrameError::Format { found: format });
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        let (header, body) = rest.split_at_checked(length).ok_or(FrameError::Short)?;
        let content = match state {
            LIVE => {
                let (salt, payload) = body.split_first_chunk().ok_or(FrameError::Short)?;
                Content::Live { salt, payload }
            }
            ERASED => {
                let (digest, tombstone) = body.split_first_chunk().ok_or(FrameError::Short)?;
                Content::Erased { digest, tombstone }
            }
            found => return Err(FrameError::State { found }),
        };
        Ok(Self { check, header, content })
    }

    /// The payload's bytes; `None` once erased.
    pub fn payload(&self) -> Option<&'a [u8]> {
        match self.content {
            Content::Live { payload, .. } => Some(payload),
            Content::Erased { .. } => None,
        }
    }

    /// What stands in the payload's place; `None` while it is there.
    pub fn tombstone(&self) -> Option<&'a [u8]> {
        match self.content {
            Content::Live { .. } => None,
            Content::Erased { tombstone, .. } => Some(tombstone),
        }
    }

    /// The digest of the payload under its salt; the stored one once it is erased.
    pub fn payload_digest(&self) -> [u8; 32] {
        match self.content {
            Content::Live { salt, payload } => chain::payload_digest(salt, payload),
            Content::Erased { digest, .. } => *digest,
        }
    }

    /// The leaf of this frame at its place.
    pub fn leaf(&self, seq: u64) -> [u8; 32] {
        chain::leaf(seq, self.header, &self.payload_digest())
    }

    /// The leaf of this frame at its place, compared with the check that was stored beside it.
    pub fn verified(&self, seq: u64) -> Result<[u8; 32], FrameError> {
        let leaf = self.leaf(seq);
        self.compare(&leaf).map(|()| leaf)
    }

    /// A leaf against the check that was stored beside the frame.
    pub(crate) fn compare(&self, leaf: &[u8; 32]) -> Result<(), FrameError> {
        if leaf[..8] == self.check { Ok(()) } else { Err(FrameError::Check) }
    }

    /// The leaves of stored frames at their places, many at once; compared with nothing.
    pub(crate) fn leaves(frames: &[(u64, &'a [u8], Self)]) -> Vec<[u8; 32]> {
        let salted = |(_, bytes, frame): &(u64, &'a [u8], Self)| match frame.content {
            Content::Live { .. } => bytes.get(PREFIX_BYTES + frame.header.len()..),
            Content::Erased { .. } => None,
        };
        let texts: Vec<&[u8]> = frames.iter().filter_map(salted).collect();
        let mut digests = chain::payload_digests(&texts).into_iter();
        let mut committed = Committed::with_capacity(frames.len());
        for one in frames {
            let digest = salted(one).and_then(|_| digests.next()).unwrap_or_else(|| one.2.payload_digest());
            committed.push(one.0, one.2.header, &digest);
        }
        committed.leaves()
    }

    /// The header, read.
    pub fn header(&self) -> Result<Header<'a>, FrameError> {
        rmp_serde::from_slice(self.header).map_err(FrameError::Header)
    }

    /// The whole event. Compares nothing: its bytes were compared, by [`Self::verified`] or as part of a segment.
    pub fn recorded(&self, seq: u64) -> Result<Recorded, FrameError> {
        let Header(id, time, stream, version, kind, schema, actor, turn, cause, flags) = self.header()?;
        let body = match self.payload() {
            None => Body::Erased,
            Some(payload) => match upcast::read(kind, schema, payload) {
                // Kept and passed over; verification reports it.
                Err(DecodeError::Raise { .. }) => Body::Unknown(payload.to_vec()),
                read => read?,
            },
        };
        let (kind, schema) = match &body {
            Body::Known(event) => (Cow::Borrowed(event.label()), event.schema()),
            Body::Erased => {
                let (kind, schema) = upcast::named(kind, schema);
                (Cow::Owned(kind.to_owned()), schema)
            }
            Body::Raised(_) | Body::Unknown(_) => (Cow::Owned(kind.to_owned()), schema),
        };
        let (stream, actor) = (stream.to_owned(), actor.to_owned());
        Ok(Recorded { seq, id, time: Micros(time), stream, version, kind, schema, actor, turn, cause, flags, body })
    }
}

/// The same frame with its payload taken out; format, check and header stay byte for byte, and so does its leaf.
pub fn erased(frame: &Frame<'_>, tombstone: &[u8]) -> Vec<u8> {
    let length = u16::try_from(frame.header.len()).expect("it was parsed from such a length");
    let mut bytes = Vec::with_capacity(PREFIX_BYTES + frame.header.len() + DIGEST_BYTES + tombstone.len());
    bytes.extend([FRAME_FORMAT, ERASED]);
    bytes.extend(frame.check);
    bytes.extend(length.to_be_bytes());
    bytes.extend(frame.header);
    bytes.extend(frame.payload_digest());
    bytes.extend(tombstone);
    bytes
}

/// The same under another header, at another place: of a payload nothing but its digest is there.
pub fn erased_as(seq: u64, header: &Header<'_>, digest: &[u8; 32], tombstone: &[u8]) -> Vec<u8> {
    let header = rmp_serde::to_vec(header).expect("a header is a plain tuple");
    let leaf = chain::leaf(seq, &header, digest);
    let check = std::array::from_fn(|index| leaf[index]);
    erased(&Frame { check, header: &header, content: Content::Erased { digest, tombstone } }, tombstone)
}

/// Builds the frame of one event; returns it with its leaf.
pub fn frame(seq: u64, header: &Header<'_>, salt: &[u8; 16], payload: &[u8]) -> (Vec<u8>, [u8; 32]) {
    let mut bytes = Vec::with_capacity(PREFIX_BYTES + HEADER_BYTES_USUAL + SALT_BYTES + payload.len());
    let digest = chain::payload_digest(salt, payload);
    let header = frame_onto(&mut bytes, header, Salted { salt, payload, digest: &digest });
    let leaf = chain::leaf(seq, &bytes[header], &digest);
    check(&mut bytes, &leaf);
    (bytes, leaf)
}

/// A payload with its salt, and the digest of both.
#[derive(Clone, Copy, Debug)]
pub struct Salted<'a> {
    /// The salt.
    pub salt: &'a [u8; SALT_BYTES],
    /// The payload's bytes.
    pub payload: &'a [u8],
    /// [`chain::payload_digest`] of the two.
    pub digest: &'a [u8; DIGEST_BYTES],
}

/// A frame behind what a buffer holds, but for its [`check`]. Returns where its header is.
pub fn frame_onto(bytes: &mut Vec<u8>, header: &Header<'_>, salted: Salted<'_>) -> Range<usize> {
    let Salted { salt, payload, .. } = salted;
    let start = bytes.len();
    bytes.extend([0; PREFIX_BYTES]);
    rmp_serde::encode::write(bytes, header).expect("a header is a plain tuple");
    let place = start + PREFIX_BYTES..bytes.len();
    let length = u16::try_from(place.len()).expect("stream, kind and actor are bounded by the writer");
    let prefix = &mut bytes[start..place.start];
    prefix[..2].copy_from_slice(&[FRAME_FORMAT, LIVE]);
    prefix[CHECK.end..].copy_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(salt);
    bytes.extend_from_slice(payload);
    place
}

/// Writes the leaf's check into a frame.
pub fn check(frame: &mut [u8], leaf: &[u8; 32]) {
    frame[CHECK].copy_from_slice(&leaf[..CHECK.end - CHECK.start]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::event::instance::CredentialRemoved;
    use crate::id::EventId;

    fn example() -> (Header<'static>, Event) {
        let event = Event::from(CredentialRemoved { name: "weather".to_owned() });
        let header = Header(
            EventId([1; 16]),
            1_700_000_000_000_000,
            "instance",
            3,
            event.label(),
            event.schema(),
            "owner",
            None,
            None,
            0,
        );
        (header, event)
    }

    #[test]
    fn a_frame_reads_back() {
        let (header, event) = example();
        let (bytes, leaf) = frame(7, &header, &[9; 16], &event.encode());
        let parsed = Frame::parse(&bytes).unwrap();
        assert_eq!(parsed.verified(7).unwrap(), leaf);
        assert_eq!(parsed.header().unwrap(), header);
        assert_eq!(parsed.recorded(7).unwrap().event(), Some(&event));
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let (header, event) = example();
        let (bytes, _) = frame(7, &header, &[9; 16], &event.encode());
        for index in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[index] ^= 1 << bit;
                let seen = Frame::parse(&flipped).and_then(|frame| frame.verified(7));
                assert!(seen.is_err(), "byte {index} bit {bit}");
            }
        }
    }

    #[test]
    fn a_kind_that_is_not_known_is_kept() {
        let (mut header, event) = example();
        header.4 = "kettle_boiled";
        let (bytes, _) = frame(7, &header, &[9; 16], &event.encode());
        let recorded = Frame::parse(&bytes).unwrap().recorded(7).unwrap();
        assert_eq!((&*recorded.kind, recorded.body), ("kettle_boiled", Body::Unknown(event.encode())));
        let (mut header, event) = example();
        header.5 = 2;
        let (bytes, _) = frame(7, &header, &[9; 16], &event.encode());
        assert_eq!(Frame::parse(&bytes).unwrap().recorded(7).unwrap().body, Body::Unknown(event.encode()));
    }

    /// What erasure leaves: the digest in place of salt and payload. The leaf stays, so the chain does.
    #[test]
    fn an_erased_frame_keeps_its_leaf() {
        let (header, event) = example();
        let (live, leaf) = frame(7, &header, &[9; 16], &event.encode());
        let live = Frame::parse(&live).unwrap();
        let bytes = erased(&live, b"tombstone");
        let erased = Frame::parse(&bytes).unwrap();
        assert_eq!(erased.verified(7).unwrap(), leaf);
        assert!(matches!(erased.content, Content::Erased { tombstone: b"tombstone", .. }));
        assert_eq!(erased.recorded(7).unwrap().body, Body::Erased);
    }

    #[test]
    fn another_place_is_seen() {
        let (header, event) = example();
        let (bytes, _) = frame(7, &header, &[9; 16], &event.encode());
        assert!(matches!(Frame::parse(&bytes).unwrap().verified(8), Err(FrameError::Check)));
    }

    /// The bytes of format 1, pinned: whoever changes them writes a new format number.
    #[test]
    fn the_bytes_of_format_1_stay() {
        let (header, event) = example();
        let (bytes, leaf) = frame(1, &header, &[9; 16], &event.encode());
        let pinned = include_str!("../pinned/frame.hex").trim();
        let pinned: Vec<u8> =
            (0..pinned.len()).step_by(2).map(|at| u8::from_str_radix(&pinned[at..at + 2], 16).unwrap()).collect();
        assert_eq!(bytes, pinned);
        assert_eq!(bytes[2..10], leaf[..8]);
    }
}

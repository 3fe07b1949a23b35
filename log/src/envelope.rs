//! What stands around every payload: who, when, where in which stream, and why.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::id::{EventId, Micros, TurnId};
use crate::kept::BlobHash;

/// An event that wants to be appended. The writer adds its sequence number and its place in the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Names it; appending the same id twice appends once.
    pub id: EventId,
    /// When it happened, by the injected clock.
    pub time: Micros,
    /// The entity that it belongs to (`turn/…`, `executor/…`, `instance`).
    pub stream: String,
    /// Who caused it.
    pub actor: String,
    /// The turn in which it happened.
    pub turn: Option<TurnId>,
    /// The event that led to it.
    pub cause: Option<EventId>,
    /// What happened.
    pub event: Event,
    /// Bytes that the payload names and that are stored in the same commit, under plain or keyed blake3.
    pub blobs: Vec<(BlobHash, Vec<u8>)>,
}

/// The stored header: a positional array, frozen at format 1 (`FORMAT.md`). Its texts are borrowed: from the frame when it
/// is read, from the draft when it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header<'a>(
    /// Id.
    pub EventId,
    /// Time in µs.
    pub i64,
    /// Stream.
    pub &'a str,
    /// Place in the stream, from 1.
    pub u64,
    /// Kind.
    pub &'a str,
    /// Schema number.
    pub u16,
    /// Actor.
    pub &'a str,
    /// Turn.
    pub Option<TurnId>,
    /// Cause.
    pub Option<EventId>,
    /// Flags: [`REDACTED`].
    pub u32,
);

/// Flag of a header: secrets were taken out of the payload before it was stored, so a decision that was made with them
/// cannot be made again.
pub const REDACTED: u32 = 1;

/// An event as the log holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Its number, from 1 without gaps.
    pub seq: u64,
    /// Its id.
    pub id: EventId,
    /// When it happened.
    pub time: Micros,
    /// The entity that it belongs to.
    pub stream: String,
    /// Its place in the stream, from 1.
    pub version: u64,
    /// Its label: that of the event as it is read; as stored where it is none or several.
    pub kind: Cow<'static, str>,
    /// Its schema number, likewise.
    pub schema: u16,
    /// Who caused it.
    pub actor: String,
    /// The turn in which it happened.
    pub turn: Option<TurnId>,
    /// The event that led to it.
    pub cause: Option<EventId>,
    /// [`REDACTED`] or nothing.
    pub flags: u32,
    /// What happened.
    pub body: Body,
}

/// The payload of a recorded event, as far as it can be read.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every event is known; boxing it would cost each of them an allocation"
)]
pub enum Body {
    /// A kind that this build knows.
    Known(Event),
    /// One of an earlier kind that became several events, or none (`event::upcast`). Folds take them one by one, as
    /// [`Recorded::each`] gives them.
    Raised(Vec<Event>),
    /// A kind or schema that it does not know: kept, and skipped by folds.
    Unknown(Vec<u8>),
    /// Erased: only the digest is left.
    Erased,
}

impl Recorded {
    /// The event, when it is one that this build knows and it is not erased.
    pub fn event(&self) -> Option<&Event> {
        match &self.body {
            Body::Known(event) => Some(event),
            Body::Raised(_) | Body::Unknown(_) | Body::Erased => None,
        }
    }

    /// Everything that it says: mostly one event; several or none where it was raised to that.
    pub fn events(&self) -> &[Event] {
        match &self.body {
            Body::Known(event) => std::slice::from_ref(event),
            Body::Raised(events) => events,
            Body::Unknown(_) | Body::Erased => &[],
        }
    }

    /// The same, to be changed.
    pub fn events_mut(&mut self) -> &mut [Event] {
        match &mut self.body {
            Body::Known(event) => std::slice::from_mut(event),
            Body::Raised(events) => events,
            Body::Unknown(_) | Body::Erased => &mut [],
        }
    }

    /// Calls `fold` as often as a fold is to see it: once; or once for each event that it was raised to, all with its number,
    /// its id and its place in the stream. Whoever feeds folds goes this way.
    pub fn each(&self, mut fold: impl FnMut(&Self)) {
        let Body::Raised(events) = &self.body else { return fold(self) };
        for event in events {
            let (kind, schema, body) = (Cow::Borrowed(event.label()), event.schema(), Body::Known(event.clone()));
            let (stream, actor) = (self.stream.clone(), self.actor.clone());
            fold(&Self { stream, kind, schema, actor, body, ..*self });
        }
    }
}

//! Raising what earlier programs wrote to what this one reads (`FORMAT.md`, «Rules of evolution»).
//!
//! An upcaster is a pure function over a decoded payload: one value of an old kind becomes any number of values of newer
//! kinds. Those are raised in their turn until each is of a kind that this program declares. Stored bytes stay as they are.
//! A value that cannot be raised is never dropped: readers keep its bytes as unknown, verification calls it damage.

use rmpv::Value;

use super::{DecodeError, Event};
use crate::envelope::Body;

/// A label and a schema number.
pub type Kind = (&'static str, u16);

/// Values, each with the kind that it is of.
pub type Made = Vec<(Kind, Value)>;

/// One step up.
///
/// Labels that tell where a file was cut or what was erased (`erased`, `epoch_opened`) get new schemas only, never another
/// name: salvage looks for them by their labels. It moves fields, renames them, fills in what follows from the others. It looks into no id and into no name of a blob: they
/// are bytes in the log and text in an exported history, and the same function raises both.
#[derive(Clone, Copy, Debug)]
pub struct Upcaster {
    /// What it takes: a kind that this program does not declare any more.
    pub from: Kind,
    /// What may come of it.
    pub to: &'static [Kind],
    /// What becomes of a value, in order; why nothing can.
    pub raise: fn(&Value) -> Result<Made, String>,
}

/// Why a payload of an old kind cannot be raised.
#[derive(Debug, thiserror::Error)]
pub enum UpcastError {
    /// The stored bytes are no value, or are more than one.
    #[error("its bytes are no single MessagePack value")]
    Value,
    /// The upcaster does not take this value.
    #[error("the upcaster of {label} v{schema} refuses it: {what}")]
    Refused {
        /// The old kind.
        label: String,
        /// Its schema number.
        schema: u16,
        /// What it says.
        what: String,
    },
    /// An upcaster made something that it does not declare, or that nobody reads.
    #[error("the upcaster of {from} makes a {label} v{schema}, which it may not")]
    End {
        /// The label of the upcaster's own kind.
        from: String,
        /// What it made.
        label: String,
        /// Its schema number.
        schema: u16,
    },
    /// The steps lead in a circle.
    #[error("the upcasters of {label} v{schema} lead in a circle")]
    Circle {
        /// Where it was noticed.
        label: String,
        /// Its schema number.
        schema: u16,
    },
    /// What came out does not have its kind's shape.
    #[error("what it was raised to is not what its kind says")]
    Shape(#[source] Box<DecodeError>),
}

/// The upcasters that hold: those that ship, and in this crate's tests a few of kinds that never were.
fn table() -> &'static [Upcaster] {
    #[cfg(test)]
    return super::upcast_tests::TABLE;
    #[cfg(not(test))]
    super::UPCASTERS
}

/// Reads a stored payload of any kind that ever was: as it is, raised, or unknown.
pub fn read(label: &str, schema: u16, bytes: &[u8]) -> Result<Body, DecodeError> {
    if let Some(event) = Event::decode(label, schema, bytes)? {
        return Ok(Body::Known(event));
    }
    let Some(first) = find(table(), label, schema) else { return Ok(Body::Unknown(bytes.to_vec())) };
    let raised = value_of(bytes).and_then(|value| climbed(table(), first.from, value, &from_value));
    finished(raised, label, schema)
}

/// The same of a payload in an exported history.
pub fn read_json(label: &str, schema: u16, value: serde_json::Value) -> Result<Body, DecodeError> {
    let Some(first) = find(table(), label, schema) else {
        return Ok(Event::from_json(label, schema, value)?.map_or(Body::Unknown(Vec::new()), Body::Known));
    };
    let bytes = rmp_serde::to_vec_named(&value).expect("JSON is text, numbers, lists and maps");
    let raised = value_of(&bytes).and_then(|value| climbed(table(), first.from, value, &from_json_like));
    finished(raised, label, schema)
}

/// What an erased event of this kind is called today, where its kind only ever becomes one other: folds go by the label, which
/// is all that they have of it.
pub(crate) fn named(mut label: &str, mut schema: u16) -> (&str, u16) {
    for _ in table() {
        match find(table(), label, schema).map(|upcaster| upcaster.to) {
            Some([only]) => (label, schema) = *only,
            _ => break,
        }
    }
    (label, schema)
}

fn finished(raised: Result<Vec<Event>, UpcastError>, label: &str, schema: u16) -> Result<Body, DecodeError> {
    let refused = |source| DecodeError::Raise { label: label.to_owned(), schema, source: Box::new(source) };
    let mut events = raised.map_err(refused)?;
    // One is no more than an event of another name.
    Ok(if events.len() == 1 { Body::Known(events.remove(0)) } else { Body::Raised(events) })
}

fn find<'t>(table: &'t [Upcaster], label: &str, schema: u16) -> Option<&'t Upcaster> {
    table.iter().find(|upcaster| upcaster.from == (label, schema))
}

fn value_of(bytes: &[u8]) -> Result<Value, UpcastError> {
    let mut rest = bytes;
    let value = rmpv::decode::read_value(&mut rest).map_err(|_| UpcastError::Value)?;
    if rest.is_empty() { Ok(value) } else { Err(UpcastError::Value) }
}

fn bytes_of(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, value).expect("writing to memory does not fail");
    bytes
}

/// Reads a raised value as the event that it is.
type End = dyn Fn(Kind, &Value) -> Result<Option<Event>, DecodeError>;

pub(super) fn from_value((label, schema): Kind, value: &Value) -> Result<Option<Event>, DecodeError> {
    Event::decode(label, schema, &bytes_of(value))
}

fn from_json_like((label, schema): Kind, value: &Value) -> Result<Option<Event>, DecodeError> {
    let broken = |source| DecodeError::Payload { label: label.to_owned(), schema, source };
    let json = rmp_serde::from_slice(&bytes_of(value)).map_err(broken)?;
    Event::from_json(label, schema, json)
}

/// Carries one value up to events, depth first, so that what comes of it stays in order.
pub(super) fn climbed(table: &[Upcaster], first: Kind, value: Value, end: &End) -> Result<Vec<Event>, UpcastError> {
    let mut events = Vec::new();
    // The last is the next; with each value, whose upcaster made it and how many steps led to it.
    let mut waiting = vec![(first.0, first, value, 0)];
    while let Some((from, (label, schema), value, steps)) = waiting.pop() {
        let Some(upcaster) = find(table, label, schema) else {
            let event = end((label, schema), &value).map_err(|error| UpcastError::Shape(Box::new(error)))?;
            events.push(event.ok_or_else(|| stray(from, label, schema))?);
            continue;
        };
        if steps == table.len() {
            return Err(UpcastError::Circle { label: label.to_owned(), schema });
        }
        let refused = |what| UpcastError::Refused { label: label.to_owned(), schema, what };
        let made = (upcaster.raise)(&value).map_err(refused)?;
        if let Some(((made, schema), _)) = made.iter().find(|(kind, _)| !upcaster.to.contains(kind)) {
            return Err(stray(label, made, *schema));
        }
        waiting.extend(made.into_iter().rev().map(|(kind, value)| (label, kind, value, steps + 1)));
    }
    Ok(events)
}

fn stray(from: &str, label: &str, schema: u16) -> UpcastError {
    UpcastError::End { from: from.to_owned(), label: label.to_owned(), schema }
}

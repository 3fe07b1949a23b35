//! An exported history: one JSON object an event, as `metnos log export` writes it.

use metnos_log::envelope::Body;
use metnos_log::{Event, EventId, Micros, Recorded, TurnId};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::signing::hex;

/// Why a line is no event.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Not JSON, or a field is missing.
    #[error("it is no event: {0}")]
    Line(#[from] serde_json::Error),
    /// The payload does not fit its kind.
    #[error("{0}")]
    Payload(#[from] metnos_log::event::DecodeError),
}

#[derive(Deserialize)]
struct Line {
    seq: u64,
    id: EventId,
    time: Micros,
    stream: String,
    version: u64,
    kind: String,
    schema: u16,
    actor: String,
    turn: Option<TurnId>,
    cause: Option<EventId>,
    #[serde(default)]
    flags: u32,
    payload: Value,
}

/// One event as a line of a history.
pub fn line(recorded: &Recorded) -> Value {
    let payload = match &recorded.body {
        Body::Known(event) => event.to_json(),
        Body::Unknown(bytes) => json!({ "unknown": hex(bytes) }),
        Body::Erased => json!({ "erased": true }),
    };
    json!({
        "seq": recorded.seq, "id": recorded.id, "time": recorded.time, "stream": recorded.stream,
        "version": recorded.version, "kind": recorded.kind, "schema": recorded.schema, "actor": recorded.actor,
        "turn": recorded.turn, "cause": recorded.cause, "flags": recorded.flags, "payload": payload,
    })
}

/// Reads one line.
pub fn read_line(text: &str) -> Result<Recorded, HistoryError> {
    let line: Line = serde_json::from_str(text)?;
    let erased = line.payload.get("erased") == Some(&Value::Bool(true));
    let body = if erased {
        Body::Erased
    } else {
        match Event::from_json(&line.kind, line.schema, line.payload)? {
            Some(event) => Body::Known(event),
            None => Body::Unknown(Vec::new()),
        }
    };
    Ok(Recorded {
        seq: line.seq,
        id: line.id,
        time: line.time,
        stream: line.stream,
        version: line.version,
        kind: line.kind.into(),
        schema: line.schema,
        actor: line.actor,
        turn: line.turn,
        cause: line.cause,
        flags: line.flags,
        body,
    })
}

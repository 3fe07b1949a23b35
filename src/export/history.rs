//! An exported history: one JSON object an event, as `metnos log export` writes it.

use metnos_log::envelope::Body;
use metnos_log::event::upcast;
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
        Body::Raised(events) => json!({ "raised": events.iter().map(raised).collect::<Vec<Value>>() }),
        Body::Unknown(bytes) => json!({ "unknown": hex(bytes) }),
        Body::Erased => json!({ "erased": true }),
    };
    json!({
        "seq": recorded.seq, "id": recorded.id, "time": recorded.time, "stream": recorded.stream,
        "version": recorded.version, "kind": recorded.kind, "schema": recorded.schema, "actor": recorded.actor,
        "turn": recorded.turn, "cause": recorded.cause, "flags": recorded.flags, "payload": payload,
    })
}

/// One of the events that an earlier kind was raised to.
fn raised(event: &Event) -> Value {
    json!({ "kind": event.label(), "schema": event.schema(), "payload": event.to_json() })
}

#[derive(Deserialize)]
struct Raised {
    kind: String,
    schema: u16,
    payload: Value,
}

/// A payload: of a kind of today, of an earlier one, or what an earlier one had been raised to when it was exported.
fn read_body(kind: &str, schema: u16, mut payload: Value) -> Result<Body, HistoryError> {
    let Some(list) = payload.get_mut("raised").map(Value::take).filter(Value::is_array) else {
        return Ok(upcast::read_json(kind, schema, payload)?);
    };
    let mut events = Vec::new();
    for Raised { kind, schema, payload } in serde_json::from_value::<Vec<Raised>>(list)? {
        match upcast::read_json(&kind, schema, payload)? {
            Body::Known(event) => events.push(event),
            Body::Raised(all) => events.extend(all),
            // One that is not known makes the whole unknown: half of what was said is something else.
            Body::Unknown(bytes) => return Ok(Body::Unknown(bytes)),
            Body::Erased => return Ok(Body::Erased),
        }
    }
    Ok(Body::Raised(events))
}

/// Reads one line.
pub fn read_line(text: &str) -> Result<Recorded, HistoryError> {
    let line: Line = serde_json::from_str(text)?;
    let erased = line.payload.get("erased") == Some(&Value::Bool(true));
    let body = if erased { Body::Erased } else { read_body(&line.kind, line.schema, line.payload)? };
    let (kind, schema) = match &body {
        Body::Known(event) => (event.label().to_owned(), event.schema()),
        Body::Raised(_) | Body::Unknown(_) | Body::Erased => (line.kind, line.schema),
    };
    Ok(Recorded {
        seq: line.seq,
        id: line.id,
        time: line.time,
        stream: line.stream,
        version: line.version,
        kind: kind.into(),
        schema,
        actor: line.actor,
        turn: line.turn,
        cause: line.cause,
        flags: line.flags,
        body,
    })
}

#[cfg(test)]
mod tests {
    use metnos_log::event::instance::{ConfigurationChanged, CredentialRemoved, CredentialSet};
    use serde_json::json;

    use super::*;
    use crate::projector::Projected;

    fn recorded(seq: u64, body: Body) -> Recorded {
        let (kind, schema) = match &body {
            Body::Known(event) => (event.label(), event.schema()),
            Body::Raised(_) | Body::Unknown(_) | Body::Erased => ("earlier_kind", 1),
        };
        Recorded {
            seq,
            id: EventId([1; 16]),
            time: Micros(7),
            stream: "instance".to_owned(),
            version: seq,
            kind: kind.to_owned().into(),
            schema,
            actor: "owner".to_owned(),
            turn: None,
            cause: None,
            flags: 0,
            body,
        }
    }

    /// An event that became several says to every fold what they say one by one; one that became none says nothing, and
    /// neither leaves a gap.
    #[test]
    fn folds_take_what_an_earlier_kind_was_raised_to() {
        let set = |key: &str, old: Value, new: Value| {
            Event::from(ConfigurationChanged { key: key.to_owned(), old: Some(old.into()), new: new.into() })
        };
        let all = [set("language", json!("en"), json!("it")), set("zone", json!("UTC"), json!("Europe/Rome"))];
        let (mut raised, mut apart) = (Projected::default(), Projected::default());
        raised.evolve(&recorded(1, Body::Raised(all.to_vec())));
        for event in all {
            apart.evolve(&recorded(1, Body::Known(event)));
        }
        assert_eq!(raised.digests(), apart.digests());
        assert_ne!(raised.digests(), Projected::default().digests(), "the folds do take it");
        raised.evolve(&recorded(2, Body::Raised(Vec::new())));
        assert_eq!((raised.position, raised.digests()), (2, apart.digests()));
    }

    #[test]
    fn every_body_reads_back_from_its_line() {
        let removed = Event::from(CredentialRemoved { name: "weather".to_owned() });
        let set = Event::from(CredentialSet { name: "news".to_owned(), keyed_hash: "0".repeat(32) });
        for body in
            [Body::Known(removed.clone()), Body::Raised(vec![removed, set]), Body::Raised(Vec::new()), Body::Erased]
        {
            let recorded = recorded(3, body);
            assert_eq!(read_line(&line(&recorded).to_string()).unwrap(), recorded);
        }
        let mut newer = line(&recorded(3, Body::Raised(vec![])));
        newer["payload"] = json!({ "raised": [{ "kind": "kettle_boiled", "schema": 1, "payload": {} }] });
        assert_eq!(read_line(&newer.to_string()).unwrap().body, Body::Unknown(Vec::new()));
    }
}

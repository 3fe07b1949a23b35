//! Messages to people: planned to an address that is theirs, and given to its channel once, which brings them now or after the
//! next start.

use metnos_log::event::turn::{PersonalMessage, PlannedOp};
use metnos_log::{EventId, TurnId};
use metnos_projections::machines::actors::{Actor, Actors, HOST};
use metnos_projections::messages::Language;
use metnos_projections::visible;
use serde_json::{Value, json};

use super::commit::Outcome;
use super::plan::{SEND, Trouble};
use crate::channel::outbox::{self, Message};
use crate::instance::{Instance, InstanceError};
use crate::scheduler::asked::CHANNELS;

/// The most messages of one step.
pub const MESSAGES_MAX: usize = 20;
/// The most bytes of one.
const BODY_BYTES_MAX: usize = 16 << 10;
/// The most letters of a name that is said to be nobody's.
const NAMED_CHARS: usize = 100;

/// A message as it will be given to a channel, and its text. `to` is what a person is called or their id, `via` a channel, else
/// the first where they have an address.
pub fn planned(effect: &Value, actors: &Actors) -> Result<(PlannedOp, Vec<u8>), Trouble> {
    let text = |key: &str| effect.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let named = |text: &str| text.chars().take(NAMED_CHARS).collect::<String>();
    if effect.get("attachments").and_then(Value::as_array).is_some_and(|files| !files.is_empty()) {
        return Err(("contract_violation", "no_attachments".to_owned()));
    }
    // What whoever gets it would not see is written out, as in the question.
    let body = visible::text(text("body").ok_or(("contract_violation", "no_message".to_owned()))?);
    if body.len() > BODY_BYTES_MAX {
        return Err(("too_large", format!("message_too_long: {}", BODY_BYTES_MAX >> 10)));
    }
    let called = text("to").unwrap_or_default();
    // The host is there before the log says so.
    let missing = if called.eq_ignore_ascii_case(HOST) { "no_address_of" } else { "nobody_called" };
    let (id, actor) = actors.find(called).ok_or_else(|| ("not_found", format!("{missing}: {}", named(called))))?;
    let via = text("via").map(str::to_lowercase);
    if let Some(via) = via.as_deref().filter(|via| !CHANNELS.contains(via)) {
        return Err(("invalid_args", format!("no_such_channel: {}", named(via))));
    }
    let (channel, address) =
        own_address(actor, via.as_deref()).ok_or_else(|| ("not_found", format!("no_address_of: {}", named(called))))?;
    let message = PersonalMessage { to: id.to_owned(), name: actor.name.clone(), channel: channel.to_owned() };
    let op = PlannedOp {
        op: SEND.to_owned(),
        path: format!("{channel}:{address}"),
        bytes: body.len() as u64,
        message: Some(Box::new(message)),
        ..PlannedOp::default()
    };
    Ok((op, body.as_bytes().to_vec()))
}

/// An address of somebody on a channel, or on any.
fn own_address<'a>(actor: &'a Actor, channel: Option<&str>) -> Option<(&'a str, &'a str)> {
    let fits = |on: &str| channel.is_none_or(|channel| channel == on);
    let found = actor.addresses.iter().find(|(on, _)| fits(on));
    found.map(|(on, address)| (on.as_str(), address.as_str()))
}

/// Gives a planned message to its channel, or finds that it has it. An address that is not theirs any more gets nothing.
/// `not_sent` is what becomes of one that its channel has not, where another process left it too long ago.
pub fn commit(
    instance: &Instance,
    turn: TurnId,
    op: &PlannedOp,
    body: &[u8],
    (key, not_sent): (&str, Option<&Outcome>),
) -> Result<Outcome, InstanceError> {
    let failed = |class: &str, reason: String| Ok(Outcome::Failed(class.to_owned(), reason));
    let Some(message) = &op.message else {
        return failed("contract_violation", format!("unknown_change: {}", op.op));
    };
    let actors = instance.actors();
    let address = op.path.strip_prefix(message.channel.as_str()).and_then(|rest| rest.strip_prefix(':'));
    let bound = |address: &&str| actors.at(&message.channel, address) == Some(message.to.as_str());
    let Some(address) = address.filter(bound) else {
        return failed("not_found", format!("no_address_of: {}", message.name.as_ref().unwrap_or(&message.to)));
    };
    let theirs = instance.as_actor(&message.to);
    let said = Message {
        address: address.to_owned(),
        purpose: "message",
        text: said(instance, theirs.language(), &String::from_utf8_lossy(body)),
        for_event: Some(EventId(turn.0)),
        key: key.to_owned(),
        ..Message::default()
    };
    if instance.log.reader().seq_of(said.id())?.is_some() {
        return Ok(Outcome::FoundDone);
    }
    if let Some(outcome) = not_sent {
        return Ok(outcome.clone());
    }
    outbox::record(instance, vec![said.draft(instance, &message.channel)])?;
    Ok(Outcome::Done)
}

/// The text as whoever gets it reads it: with whom it is from, since everything comes from the same bot.
fn said(instance: &Instance, language: Language, text: &str) -> String {
    let actors = instance.actors();
    let name = actors.get(&instance.actor).and_then(|actor| actor.name.clone());
    let is_host = instance.actor == HOST;
    let values = json!({ "name": name, "id": instance.actor, "is_host": is_host, "text": text });
    instance.rules.messages.say(language, "message.from", values)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn people() -> Actors {
        let address = |address: &str| BTreeSet::from([("telegram".to_owned(), address.to_owned())]);
        let named = |name: &str, addresses| Actor { name: Some(name.to_owned()), addresses, ..Actor::default() };
        let actors = [
            (HOST.to_owned(), Actor { addresses: address("7"), ..Actor::default() }),
            ("guest_1".to_owned(), named("Guest", address("8"))),
            ("guest_2".to_owned(), named("Silent", BTreeSet::new())),
        ];
        Actors { actors: actors.into(), ..Actors::default() }
    }

    #[track_caller]
    fn refused(effect: &Value, class: &str, reason: &str) {
        assert_eq!(planned(effect, &people()).unwrap_err(), (class, reason.to_owned()), "{effect}");
    }

    #[test]
    fn a_message_goes_to_an_address_that_is_theirs() {
        for to in ["guest", "GUEST_1", " Guest "] {
            let (op, body) = planned(&json!({ "op": "send", "to": to, "body": " dinner at 8 " }), &people()).unwrap();
            assert_eq!((op.path.as_str(), op.bytes, body.as_slice()), ("telegram:8", 11, &b"dinner at 8"[..]));
        }
    }

    #[test]
    fn what_cannot_be_sent_says_why() {
        let to = |to: &str| json!({ "op": "send", "to": to, "body": "x" });
        refused(&to("nobody"), "not_found", "nobody_called: nobody");
        refused(&to("silent"), "not_found", "no_address_of: silent");
        refused(&json!({ "op": "send", "to": "guest" }), "contract_violation", "no_message");
        refused(&json!({ "op": "send", "to": "guest", "body": "  " }), "contract_violation", "no_message");
        let long = "x".repeat(BODY_BYTES_MAX + 1);
        refused(&json!({ "op": "send", "to": "guest", "body": long }), "too_large", "message_too_long: 16");
        let via = json!({ "op": "send", "to": "guest", "body": "x", "via": "pigeon" });
        refused(&via, "invalid_args", "no_such_channel: pigeon");
        let files = json!({ "op": "send", "to": "guest", "body": "x", "attachments": ["a"] });
        refused(&files, "contract_violation", "no_attachments");
    }
}

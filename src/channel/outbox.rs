//! What is to be said on a channel: an event each, sent by whoever carries the channel, now or after the next start.
//!
//! Saying the same thing for the same event twice says it once.

use metnos_log::event::channel::{Bound, Button, MessageQueued};
use metnos_log::store::ReadError;
use metnos_log::{Draft, EventId, Kept, Micros};
use metnos_projections::machines::channels;

use crate::instance::{Instance, InstanceError, now, random};

/// Something to be said.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// Where to.
    pub address: String,
    /// What for: `answer`, `question`, `consent`, `notice`, `stranger`, `anchor`, `message`.
    pub purpose: &'static str,
    /// The text, without markup.
    pub text: String,
    /// Whether its lines must stay as they are.
    pub is_fixed: bool,
    /// The buttons below it.
    pub buttons: Vec<Button>,
    /// What they agree to.
    pub bound: Option<Bound>,
    /// The channel's number of the message that it answers.
    pub reply_to: Option<i64>,
    /// The event that it is said for.
    pub for_event: Option<EventId>,
    /// Tells it from other things that are said for the same event.
    pub key: String,
}

impl Message {
    /// The id of its event: derived from what it is said for, where there is such an event.
    pub fn id(&self) -> EventId {
        match self.for_event {
            Some(event) => derived(event.0, &[self.purpose.as_bytes(), self.key.as_bytes()]),
            None => EventId::new(now(), random()),
        }
    }

    /// Its event, by whom it is said to.
    pub fn draft(self, instance: &Instance, channel: &str) -> Draft {
        let id = self.id();
        let queued = MessageQueued {
            channel: channel.to_owned(),
            address: self.address,
            purpose: self.purpose.to_owned(),
            text: Kept::text(self.text),
            is_fixed: self.is_fixed,
            buttons: self.buttons,
            bound: self.bound,
            reply_to: self.reply_to,
            for_event: self.for_event,
        };
        draft(instance, channel, id, queued)
    }
}

/// An id that follows from another one and what it is for; it sorts where that one does.
pub(super) fn derived(from: [u8; 16], parts: &[&[u8]]) -> EventId {
    let milliseconds = from[..6].iter().fold(0_i64, |time, byte| time << 8 | i64::from(*byte));
    let key = [&[from.as_slice()], parts].concat();
    EventId::derived(Micros(milliseconds.saturating_mul(1000)), "metnos channel event v1", &key)
}

/// An event of a channel.
pub(super) fn draft(instance: &Instance, channel: &str, id: EventId, event: impl Into<metnos_log::Event>) -> Draft {
    Draft {
        id,
        time: now(),
        stream: channels::stream(channel),
        actor: instance.actor.clone(),
        turn: None,
        cause: None,
        event: event.into(),
        blobs: Vec::new(),
    }
}

/// Puts events on record that are not there yet, all at once; when this returns, they are on disk.
pub(crate) fn record(instance: &Instance, drafts: Vec<Draft>) -> Result<(), InstanceError> {
    let reader = instance.log.reader();
    let missing = |_: &_| {
        let mut missing = Vec::new();
        for draft in drafts {
            if reader.seq_of(draft.id)?.is_none() {
                missing.push(draft);
            }
        }
        Ok::<_, ReadError>(missing)
    };
    Ok(instance.append_decided(missing)??)
}

/// Says something on a channel: a result that nobody waits for at a terminal. `address` is where, as the channel knows it.
pub fn queue(
    instance: &Instance,
    channel: &str,
    address: &str,
    text: &str,
    for_event: Option<EventId>,
) -> Result<(), InstanceError> {
    let (address, text) = (address.to_owned(), text.to_owned());
    let message = Message { address, purpose: "notice", text, for_event, ..Message::default() };
    record(instance, vec![message.draft(instance, channel)])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::{Flags, Variables};

    #[test]
    fn the_same_thing_for_the_same_event_is_said_once() {
        let folder = tempfile::tempdir().unwrap();
        let variables = Variables { user_home: Some(folder.path().to_owned()), ..Variables::default() };
        let home = folder.path().join("instance");
        let instance = Instance::open(Some(&home), &Flags::default(), &variables, Duration::ZERO).unwrap();
        let cause = Some(EventId::new(now(), random()));
        for _ in 0..3 {
            queue(&instance, "telegram", "7", "done", cause).unwrap();
        }
        assert_eq!(instance.projected().channels.get("telegram").outbox.len(), 1);
        queue(&instance, "telegram", "7", "done", None).unwrap();
        queue(&instance, "telegram", "7", "done", None).unwrap();
        let messages = instance.projected().channels.get("telegram").outbox.clone();
        assert_eq!(messages.len(), 3);
        assert!(messages.values().all(|message| message.address == "7" && message.purpose == "notice"));
    }
}

//! The log's newest checkpoint, told to the owner's chat each day: whoever keeps the message sees whether anything before it was
//! changed (design 2-log, «Chain, checkpoints»).
//!
//! Whoever holds the key and the file can still rewrite what came after the newest message, and all that was never anchored.

use metnos_log::chain::Chain;
use metnos_log::event::channel::MessageQueued;
use metnos_log::event::instance::CheckpointAnchored;
use metnos_log::note::{Checkpoint, NoteError};
use metnos_log::store::ReadError;
use metnos_log::{AppendError, Draft, Event, EventId, Reader};
use metnos_projections::machines::actors::HOST;
use metnos_projections::rules::anchoring::{ANCHOR, is_news};
use serde_json::json;

use crate::channel::outbox::{self, Message};
use crate::channel::telegram::CHANNEL;
use crate::instance::{Instance, InstanceError, now};
use crate::signing::hex;

/// Why no anchor left.
#[derive(Debug, thiserror::Error)]
pub enum AnchoringError {
    /// The instance cannot be used.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The log signs nothing any more.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// What was just signed does not read.
    #[error(transparent)]
    Note(#[from] NoteError),
}

/// What became of a day's anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It waits to be sent.
    Queued {
        /// How many events it covers.
        size: u64,
    },
    /// The owner does not want it.
    Off,
    /// The owner has no chat of their own.
    NoChat,
    /// An earlier one waits still.
    Waits,
    /// Nothing happened since the last one.
    NoNews,
}

/// Queues the newest checkpoint for the owner's chat, where there is one and something is new. That it is anchored is on record
/// once the chat has it.
pub fn tell(instance: &Instance) -> Result<Told, AnchoringError> {
    if !instance.settings.is_anchored {
        return Ok(Told::Off);
    }
    let Some(address) = chat(instance) else { return Ok(Told::NoChat) };
    let waits = |message: &metnos_projections::machines::channels::Outgoing| message.purpose == ANCHOR;
    if instance.projected().channels.get(CHANNEL).outbox.values().any(waits) {
        return Ok(Told::Waits);
    }
    if !has_news(instance)? {
        return Ok(Told::NoNews);
    }
    let note = instance.log.checkpoint()?;
    let checkpoint = Checkpoint::verified(&note, &instance.keys.verifying())?;
    let values = json!({ "events": checkpoint.size, "note": note.trim_end() });
    let text = instance.rules.messages.say(instance.as_actor(HOST).language(), "telegram.anchor", values);
    let message = Message { address, purpose: ANCHOR, text, is_fixed: true, ..Message::default() };
    outbox::record(instance, vec![message.draft(instance, CHANNEL)])?;
    Ok(Told::Queued { size: checkpoint.size })
}

/// The owner's own chat: in a group others would keep it for them.
fn chat(instance: &Instance) -> Option<String> {
    let actors = instance.actors();
    let own = |(channel, address): &&(String, String)| channel == CHANNEL && !address.starts_with('-');
    actors.get(HOST)?.addresses.iter().find(own).map(|(_, address)| address.clone())
}

/// Whether anything that matters came since a chat was told last.
fn has_news(instance: &Instance) -> Result<bool, ReadError> {
    let reader = instance.log.reader();
    let anchored = reader.stream("instance")?.into_iter().rev().find_map(|recorded| match recorded.event() {
        Some(Event::CheckpointAnchored(anchored)) if anchored.place.starts_with(CHANNEL) => Some(anchored.size),
        _ => None,
    });
    let schedules = instance.schedules();
    let mut found = false;
    reader.each_lent(anchored.map_or(1, |size| size + 1), |recorded| {
        found = is_news(recorded, &schedules);
        Ok::<bool, ReadError>(!found)
    })?;
    Ok(found)
}

/// That an anchor is where it was sent, for the commit that says so. None of any other message.
pub(crate) fn arrived(instance: &Instance, id: EventId, queued: &MessageQueued) -> Option<Draft> {
    let text = queued.text.get().filter(|_| queued.purpose == ANCHOR)?;
    let note = Checkpoint::found_in(text)?;
    let Checkpoint { size, head, .. } = Checkpoint::verified(&note, &instance.keys.verifying()).ok()?;
    let place = format!("{} {}", queued.channel, queued.address);
    let time = now();
    Some(Draft {
        id: EventId::derived(time, "metnos anchor v1", &[id.0.as_slice()]),
        time,
        stream: "instance".to_owned(),
        actor: instance.actor.clone(),
        turn: None,
        cause: Some(id),
        event: CheckpointAnchored { size, head: hex(&head), place }.into(),
        blobs: Vec::new(),
    })
}

/// What a log says of a checkpoint that was kept elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The log begins with just those events.
    Holds,
    /// It has fewer.
    Shorter {
        /// How many it has.
        size: u64,
    },
    /// It has others.
    Other,
    /// The note is about another log.
    OtherLog,
}

/// Holds the log against a checkpoint: every leaf that it covers is looked at.
pub fn held(reader: &Reader, log_id: &str, checkpoint: &Checkpoint) -> Result<Verdict, ReadError> {
    if checkpoint.log_id != log_id {
        return Ok(Verdict::OtherLog);
    }
    let size = reader.size()?;
    if checkpoint.size > size {
        return Ok(Verdict::Shorter { size });
    }
    let mut chain = Chain::default();
    if checkpoint.size > 0 {
        reader.each_leaf(1, checkpoint.size, |_, leaf| {
            chain.push(leaf);
            Ok::<(), ReadError>(())
        })?;
    }
    let is_same =
        (chain.head, chain.range.root(), chain.range.size()) == (checkpoint.head, checkpoint.root, checkpoint.size);
    Ok(if is_same { Verdict::Holds } else { Verdict::Other })
}

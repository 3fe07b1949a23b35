//! Events of the streams `channel/NAME`: what a channel received, and what was to be said there and became of it.
//!
//! What a person wrote stands in an update as it came; an address is how the channel knows a chat.

use serde::{Deserialize, Serialize};

use crate::id::{EventId, TurnId};
use crate::kept::{BlobHash, Kept};

/// Something came over a channel. It is on record before the channel is told that it need not be sent again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdateReceived {
    /// The channel: `telegram`.
    pub channel: String,
    /// Which of the owner's accounts there received it.
    pub account: String,
    /// The channel's own number of it.
    pub update: i64,
    /// What it is: `message`, `callback_query`, …
    pub kind: String,
    /// Where it came from, when it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The update, as it came.
    pub raw: Kept,
}

/// All that an update asked for is done, or begun where something else carries it on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdateSettled {
    /// The event that it was received with.
    pub update: EventId,
    /// How: `turn`, `command`, `paired`, `pressed`, `document`, `stranger`, `moved`, `crowded`, `ignored`, `failed`.
    pub outcome: String,
}

/// Someone pressed a button.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ButtonPressed {
    /// The event of the update that said so.
    pub update: EventId,
    /// `accepted`, `forged`, `foreign`, `used`, `expired`.
    pub outcome: String,
    /// The message that the button is of, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<EventId>,
    /// Which of its buttons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub button: Option<String>,
}

/// A file that someone sent was stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentReceived {
    /// The event of the update that it came with.
    pub update: EventId,
    /// Where it is.
    pub path: Kept,
    /// Its length.
    pub bytes: u64,
    /// Keyed hash of its bytes.
    pub content: BlobHash,
}

/// One button below a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// What pressing it means: `yes`, `no`.
    pub id: String,
    /// What the person sees.
    pub label: String,
}

/// What a pressed button agrees to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The turn that asks.
    pub turn: TurnId,
    /// Digest of exactly what is asked.
    pub digest: String,
    /// The only one whose answer counts.
    pub approver: String,
    /// Until when it counts, in µs since 1970.
    pub until: i64,
}

/// Something is to be said. It stays to be said until it was sent or cannot be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageQueued {
    /// The channel.
    pub channel: String,
    /// Where to.
    pub address: String,
    /// What for: `answer`, `question`, `consent`, `notice`, `stranger`, `anchor`; `message`, from one person to another.
    pub purpose: String,
    /// The text, without markup.
    pub text: Kept,
    /// Whether its lines must stay as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_fixed: bool,
    /// The buttons below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Button>,
    /// What they agree to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// The channel's number of the message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<i64>,
    /// The event that it is said for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_event: Option<EventId>,
}

/// A piece of a message is about to be sent: the intent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliveryStarted {
    /// The event that queued it.
    pub message: EventId,
    /// Which piece, from 0.
    pub piece: u32,
}

/// A piece of a message was sent: the receipt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageSent {
    /// The event that queued it.
    pub message: EventId,
    /// Which piece, from 0.
    pub piece: u32,
    /// Of how many.
    pub pieces: u32,
    /// The channel's number of it.
    pub receipt: i64,
}

/// Nobody knows whether a piece was sent; it is sent again, and says that it may be a repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageMaybeSent {
    /// The event that queued it.
    pub message: EventId,
    /// Which piece, from 0.
    pub piece: u32,
    /// Why: `restart`, or what the network said.
    pub why: String,
}

/// A message cannot be sent; it is not tried again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliveryFailed {
    /// The event that queued it.
    pub message: EventId,
    /// `blocked`, `refused`, `no_chat`.
    pub class: String,
    /// What the channel said.
    pub reason: Kept,
}

/// A message that says that a turn is at work stands in a chat. Its text is on record nowhere: it says nothing that the
/// answer does not say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgressShown {
    /// Where.
    pub address: String,
    /// The channel's number of it.
    pub receipt: i64,
    /// The turn.
    pub turn: TurnId,
}

/// Such a message is gone: taken away, or found gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgressRemoved {
    /// Where.
    pub address: String,
    /// The channel's number of it.
    pub receipt: i64,
}

/// A chat has another address from here on: a group that grew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddressMoved {
    /// The channel.
    pub channel: String,
    /// Where it was.
    pub from: String,
    /// Where it is.
    pub to: String,
}

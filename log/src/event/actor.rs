//! Events of the streams `actor/ID`: who the people are, and which addresses are theirs.
//!
//! An address is how a channel knows a person: a chat, a browser, a terminal user. Identity is resolved from these events
//! before a text is looked at, never from the text.

use serde::{Deserialize, Serialize};

/// A person is known from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActorAdded {
    /// Names the person in every event: `owner`, `guest_…`.
    pub actor: String,
    /// `host` or `guest`.
    pub role: String,
    /// What the host calls them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A code was made that binds one address to a person. The code itself is signed and stands nowhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairingIssued {
    /// Names the code.
    pub pairing: String,
    /// Whose address it will bind.
    pub actor: String,
    /// Until when it is taken, in µs since 1970.
    pub until: i64,
}

/// A code is not taken any more, though nobody used it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairingRevoked {
    /// Which.
    pub pairing: String,
    /// Whose.
    pub actor: String,
}

/// An address is a person's from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddressBound {
    /// Whose.
    pub actor: String,
    /// The channel: `telegram`.
    pub channel: String,
    /// How that channel names it.
    pub address: String,
    /// The code that was used up; none where the first message of a new instance bound the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairing: Option<String>,
}

/// An address is nobody's again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddressRevoked {
    /// Whose it was.
    pub actor: String,
    /// The channel.
    pub channel: String,
    /// How that channel names it.
    pub address: String,
}

/// How much is done unasked for this person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutonomySet {
    /// Who.
    pub actor: String,
    /// `read_only`, `supervised`, `full`.
    pub autonomy: String,
}

/// A guest may look below a folder of the house's, and change what lies there as far as their autonomy goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FolderOpened {
    /// Who.
    pub actor: String,
    /// The folder: absolute, without links.
    pub folder: String,
}

/// A folder is closed to a guest again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FolderClosed {
    /// Who.
    pub actor: String,
    /// The folder.
    pub folder: String,
}

/// The language where this person's words do not tell theirs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LanguageSet {
    /// Who.
    pub actor: String,
    /// `en` or `it`.
    pub language: String,
}

/// A grant as a step may use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// Its number.
    pub grant: u64,
    /// The capability.
    pub capability: String,
    /// What it may be used on: a file or a folder with all below it, a host, `*` of what has no targets.
    pub target: String,
    /// Until when, in µs since 1970.
    pub until: i64,
}

/// A person may use a capability on some targets unasked, until a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantGiven {
    /// Who.
    pub actor: String,
    /// The number by which it is revoked; no other grant of the home has it.
    pub grant: u64,
    /// The capability.
    pub capability: String,
    /// What it may be used on.
    pub target: String,
    /// Until when, in µs since 1970.
    pub until: i64,
    /// Who gave it.
    pub by: String,
    /// Why, in words.
    pub reason: String,
}

/// A grant holds no more, before its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantRevoked {
    /// Whose.
    pub actor: String,
    /// Which.
    pub grant: u64,
    /// Who revoked it.
    pub by: String,
    /// Why, in words.
    pub reason: String,
}

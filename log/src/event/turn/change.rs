//! Changes to the world as events hold them: what is wanted, and what was there before.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::canonical::Json;
use crate::kept::BlobHash;

/// One change to the world, with what is needed to make it, to recognise it and to take it back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedOp {
    /// `write`, `append`, `mkdir`, `move`, `delete`, `set_mode`; in an undo also `restore` (out of the trash), `link`; of what the
    /// log itself keeps `task`, of a server `http`, of a message `send`.
    pub op: String,
    /// The canonical target; of a move what is moved, of a restore its place in the trash, of what is sent the address.
    pub path: String,
    /// The target's bytes in base64, when they are no UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_b64: Option<String>,
    /// The new bytes, for `write` the whole, for `append` the added ones; of a message its text.
    pub content: Option<BlobHash>,
    /// How many new bytes.
    pub bytes: u64,
    /// `replace` or `fail`.
    pub if_exists: String,
    /// What is there now.
    pub before: BeforeImage,
    /// blake3 of the whole file once the change is made.
    pub after: Option<BlobHash>,
    /// Why it cannot be made: class and reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<(String, String)>,
    /// Where it goes: of a move or a restore; of a delete the place in the trash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst: Option<String>,
    /// That place's bytes in base64, when they are no UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst_b64: Option<String>,
    /// Of a delete: `trash` or `nothing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The permission bits to set: of `set_mode`, and of what an undo writes or makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// The encrypted bytes that an undo writes back, instead of `content`; of a request its address, and its body behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<BlobHash>,
    /// The time of modification that an undo sets, in ns since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_ns: Option<i64>,
    /// What a folder holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<Holds>,
    /// The change that this one takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverses: Option<Reversed>,
    /// The change of something that is no file: of what the log itself keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Box<OwnChange>>,
    /// The beginning of the new bytes, for the question; empty where they are no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What is sent to a server, where the change is made there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<WebRequest>>,
    /// Whom a message is for, where one is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Box<PersonalMessage>>,
}

impl PlannedOp {
    /// Whether it changes files: not what the log itself keeps, and it is not sent.
    pub fn is_of_files(&self) -> bool {
        self.own.is_none() && !self.is_sent()
    }

    /// Whether something leaves, which is not taken back.
    pub fn is_sent(&self) -> bool {
        self.request.is_some() || self.message.is_some()
    }
}

/// A request to a server that changes something there. Its address is the change's path; whole it is the change's image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WebRequest {
    /// `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: String,
    /// What the body is; none where there is no body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Whether the host may be one of this house: the person typed the address, or added an executor that names it.
    pub is_meant: bool,
    /// Whether it may be sent twice without doing more than once.
    pub is_idempotent: bool,
}

/// A message to a person at the change's path, `channel:address`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PersonalMessage {
    /// The person's id.
    pub to: String,
    /// What they were called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// By which channel.
    pub channel: String,
}

/// A change of something that the log itself keeps, from what it is to what it is to be. What these are is known to whoever
/// makes the change; the kind is the `op` beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnChange {
    /// Names the thing: of a task its number.
    pub id: String,
    /// What is done to it: of a task `create`, `modify`, `pause`, `resume`, `cancel`, `reopen`.
    pub change: String,
    /// What it is now; none where there is none yet.
    pub before: Option<Json>,
    /// What it is to be.
    pub after: Option<Json>,
}

/// What lies in a folder that is moved or deleted, at any depth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Holds {
    /// Files, links and whatever else is no folder.
    pub files: u64,
    /// Folders.
    pub folders: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// The first path in it that a core rule forbids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forbidden: Option<String>,
    /// blake3 over the names, identities, sizes and times of all that is in it: what tells it from other contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<BlobHash>,
}

/// A change of an earlier turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reversed {
    /// The turn's id.
    pub turn: String,
    /// The step.
    pub step: u32,
    /// Its place in the planned list, from 0.
    pub index: u32,
}

/// What a target looked like before a change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BeforeImage {
    /// `absent`, `file`, `folder`, `other`.
    pub kind: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its permission bits.
    pub mode: u32,
    /// blake3 of its bytes.
    pub hash: Option<BlobHash>,
    /// The encrypted copy of its bytes, when one is kept.
    pub image: Option<BlobHash>,
    /// When it was modified, in ns since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_ns: Option<i64>,
    /// Device and inode: what a move within one file system keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<(u64, u64)>,
    /// Of a link, the bytes that it holds, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// When it was made, in ns since 1970, where it is to be that very thing: the inode of one that is gone may be another's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born_ns: Option<i64>,
}

impl BeforeImage {
    /// Where a link leads, in its own words; bytes that are no UTF-8 are replaced. None of anything else.
    pub fn leads_to(&self) -> Option<String> {
        let bytes = STANDARD.decode(self.link.as_deref()?).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

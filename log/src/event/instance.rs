//! Events of the stream `instance`: what the instance is, whom it trusts, what its owner accepted.

use serde::{Deserialize, Serialize};

use crate::canonical::Json;
use crate::kept::BlobHash;

/// The instance began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstanceCreated {
    /// Names this log for ever; 32 hexadecimal digits.
    pub log_id: String,
    /// The program's version.
    pub version: String,
    /// The instance's public key, hexadecimal.
    pub public_key: String,
}

/// A setting has another value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigurationChanged {
    /// Dotted name.
    pub key: String,
    /// The value before, if there was one.
    pub old: Option<Json>,
    /// The value from here on.
    pub new: Json,
}

/// A key may sign executors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyAdmitted {
    /// First 16 hexadecimal digits of blake3 of the public key.
    pub key_id: String,
    /// Ed25519 public key, hexadecimal.
    pub public_key: String,
    /// `instance`, `signer` or `device`.
    pub role: String,
    /// Who admitted it.
    pub by: String,
    /// What its owner calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A key may sign executors no more, and what it signed is not to be trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyRevoked {
    /// Which.
    pub key_id: String,
    /// Why, in words.
    pub reason: String,
    /// Who revoked it.
    pub by: String,
}

/// Executors may run at this level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CageDowngradeAccepted {
    /// `none`.
    pub level: String,
    /// How the consent was given.
    pub reason: String,
}

/// What Metnos knew at a moment was written down (design 6-memory, «Monthly state»).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateSnapshotTaken {
    /// Its name: the month that ended, as `2026-10`, or the moment that it was asked for.
    pub name: String,
    /// The log's name.
    pub log: String,
    /// The last event that it holds.
    pub position: u64,
    /// The chain's head there, hexadecimal.
    pub head: String,
    /// The moment that weights are taken at, in µs since 1970: the month's last.
    pub until: i64,
    /// IANA name of the zone that the month is of.
    pub zone: String,
    /// blake3 of the text, hexadecimal.
    pub digest: String,
    /// Bytes of the text.
    pub bytes: u64,
}

/// Payloads were taken out of the log (design 2-log, «Erasure and secrets»).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Erased {
    /// What was asked for: `turn`, `actor`, `event`, `text`, or `expiry`.
    pub selector: String,
    /// Which: the turn's or person's id, the event's number, the class that expired. Of a text nothing but its keyed hash.
    pub of: String,
    /// First and last number of each run of events whose payloads are gone; where something expired, of those that named it.
    pub seqs: Vec<(u64, u64)>,
    /// Blobs that went with them.
    pub blobs: Vec<BlobHash>,
    /// Why.
    pub reason: String,
    /// Who asked for it.
    pub by: String,
}

impl Erased {
    /// What `selector` says where long texts expired: the events that named them keep their payloads.
    pub const EXPIRY: &str = "expiry";

    /// First and last number of each run of events whose payloads are gone.
    pub fn payloads(&self) -> &[(u64, u64)] {
        if self.selector == Self::EXPIRY { &[] } else { &self.seqs }
    }
}

/// The log goes on from a copy: what came after that copy, elsewhere, is not in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochOpened {
    /// `restored`, `salvaged`; `end_lost`, where the log was found to end before what other files of the home have seen.
    pub reason: String,
    /// The last event that the copy holds.
    pub size: u64,
    /// The chain's head there, hexadecimal.
    pub head_before: String,
    /// What was lost, in words, one a line; empty when nothing is known to be.
    pub lost: Vec<String>,
    /// How many events behind this one are those of the copied log that lay behind a gap, appended again. They name others by
    /// the numbers that those had there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<u64>,
    /// Blobs that events name and that were not found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_blobs: Vec<BlobHash>,
}

/// A copy of the log is begun in a folder outside of the home for the first time: what is erased here may be there still. It is
/// written before anything is copied, so that one that broke off is known too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackupMade {
    /// How many events the log held then.
    pub size: u64,
    /// The chain's head there, hexadecimal.
    pub head: String,
    /// The folder.
    pub folder: String,
}

/// A checkpoint was told to someone outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointAnchored {
    /// How many events it covers.
    pub size: u64,
    /// The chain's head there, hexadecimal.
    pub head: String,
    /// Where it went: a file's path, or a channel and its address.
    pub place: String,
}

/// A credential was stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CredentialSet {
    /// Its name.
    pub name: String,
    /// Keyed hash of its value, hexadecimal.
    pub keyed_hash: String,
}

/// A credential was removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CredentialRemoved {
    /// Its name.
    pub name: String,
}

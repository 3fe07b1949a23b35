//! Events of the stream `instance`: what the instance is, whom it trusts, what its owner accepted.

use serde::{Deserialize, Serialize};

use crate::canonical::Json;

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
    /// `instance` or `device`.
    pub role: String,
    /// Who admitted it.
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

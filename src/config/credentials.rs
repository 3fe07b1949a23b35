//! Credentials: one encrypted file that only the instance's key opens. Values never reach an event or a log line.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use metnos_log::redact::Secret;
use secrecy::ExposeSecret;
use zeroize::Zeroizing;

use crate::signing::{Keys, write_private};

/// Why credentials cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The file cannot be read or written.
    #[error("{path} cannot be used")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another key wrote it, or it was changed.
    #[error("{path} does not open with this instance's key")]
    Sealed {
        /// The file.
        path: PathBuf,
    },
}

/// The store.
pub struct Credentials {
    path: PathBuf,
    values: BTreeMap<String, Secret>,
    changes: u64,
}

impl Credentials {
    /// Reads the store; a missing file is an empty one.
    pub fn open(folder: &Path, keys: &Keys) -> Result<Self, CredentialError> {
        let path = folder.join("credentials");
        let sealed = match std::fs::read(&path) {
            Ok(sealed) => sealed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path, values: BTreeMap::new(), changes: 0 });
            }
            Err(source) => return Err(CredentialError::Io { path, source }),
        };
        let plain = keys.unseal(&sealed).map(Zeroizing::new);
        let values = plain.and_then(|plain| serde_json::from_slice::<BTreeMap<String, String>>(&plain).ok());
        let Some(values) = values else { return Err(CredentialError::Sealed { path }) };
        let values = values.into_iter().map(|(name, value)| (name, Secret::from(value))).collect();
        Ok(Self { path, values, changes: 0 })
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// How often a value was stored or forgotten since the store was opened.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// One value.
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.values.get(name)
    }

    /// Names and values, for the redactor and for executors that declare them.
    pub fn all(&self) -> Vec<(String, Secret)> {
        self.values.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Stores a value.
    pub fn set(&mut self, name: &str, value: Secret, keys: &Keys) -> Result<(), CredentialError> {
        self.values.insert(name.to_owned(), value);
        self.save(keys)
    }

    /// Forgets a value; `false` when there was none.
    pub fn remove(&mut self, name: &str, keys: &Keys) -> Result<bool, CredentialError> {
        let there = self.values.remove(name).is_some();
        if there {
            self.save(keys)?;
        }
        Ok(there)
    }

    fn save(&mut self, keys: &Keys) -> Result<(), CredentialError> {
        self.changes += 1;
        let plain: BTreeMap<&str, &str> =
            self.values.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
        let plain = Zeroizing::new(serde_json::to_vec(&plain).expect("text by text is JSON"));
        write_private(&self.path, &keys.seal(&plain))
            .map_err(|source| CredentialError::Io { path: self.path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_are_not_readable_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let (keys, _) = Keys::open(folder.path()).unwrap();
        let mut store = Credentials::open(folder.path(), &keys).unwrap();
        store.set("weather", Secret::from("correct horse".to_owned()), &keys).unwrap();
        let bytes = std::fs::read(folder.path().join("credentials")).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"correct"));
        let again = Credentials::open(folder.path(), &keys).unwrap();
        assert_eq!(again.all()[0].1.expose_secret(), "correct horse");
        let other = tempfile::tempdir().unwrap();
        let (stranger, _) = Keys::open(other.path()).unwrap();
        assert!(matches!(Credentials::open(folder.path(), &stranger), Err(CredentialError::Sealed { .. })));
    }
}

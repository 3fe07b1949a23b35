//! The credentials of an open instance: the log redacts their values from the moment that they are stored.

use std::sync::PoisonError;

use metnos_log::redact::{Redactor, Secret};

use super::Instance;
use crate::config::credentials::{CredentialError, Credentials};
use crate::signing::Keys;

impl Instance {
    /// The names of the credentials.
    pub fn credential_names(&self) -> Vec<String> {
        self.credentials.read().unwrap_or_else(PoisonError::into_inner).names().map(str::to_owned).collect()
    }

    /// How often a credential was stored or forgotten by this process.
    pub fn credential_changes(&self) -> u64 {
        self.credentials.read().unwrap_or_else(PoisonError::into_inner).changes()
    }

    /// The value of a credential, for the part of the program that it is meant for.
    pub fn credential(&self, name: &str) -> Option<Secret> {
        self.credentials.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Stores a credential; from then on the log redacts its value.
    pub fn set_credential(&self, name: &str, value: Secret) -> Result<(), CredentialError> {
        let mut credentials = self.credentials.write().unwrap_or_else(PoisonError::into_inner);
        credentials.set(name, value, &self.keys)?;
        self.log.set_redactor(redactor(&self.keys, &credentials));
        Ok(())
    }

    /// Forgets a credential; `false` when there was none.
    pub fn remove_credential(&self, name: &str) -> Result<bool, CredentialError> {
        let mut credentials = self.credentials.write().unwrap_or_else(PoisonError::into_inner);
        let there = credentials.remove(name, &self.keys)?;
        self.log.set_redactor(redactor(&self.keys, &credentials));
        Ok(there)
    }
}

pub(super) fn redactor(keys: &Keys, credentials: &Credentials) -> Redactor {
    Redactor::new(keys.derived("metnos redaction key v1"), credentials.all())
}

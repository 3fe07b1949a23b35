//! The credentials of an open instance: stored, forgotten, handed to what declares them. From then on the log redacts them.

use std::sync::PoisonError;

use metnos_log::redact::Secret;

use super::{Instance, redactor};
use crate::config::credentials::CredentialError;

impl Instance {
    /// The names of the credentials.
    pub fn credential_names(&self) -> Vec<String> {
        self.credentials.read().unwrap_or_else(PoisonError::into_inner).names().map(str::to_owned).collect()
    }

    /// The value of a credential.
    pub fn credential(&self, name: &str) -> Option<Secret> {
        let credentials = self.credentials.read().unwrap_or_else(PoisonError::into_inner);
        credentials.all().into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
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

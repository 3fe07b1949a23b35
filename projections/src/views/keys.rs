//! The keys that may sign executors, and those that may not any more: since when, by whom, why. Folded from the stream
//! `instance` when somebody asks; whether a key may sign is the catalog's to say.

use std::collections::BTreeMap;

use metnos_log::{Event, Recorded};
use serde::Serialize;

/// A decision about a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// When, µs.
    pub at: i64,
    /// Who.
    pub by: String,
    /// Why, in words; of an admission nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Key {
    /// Ed25519 public key, hexadecimal.
    pub public_key: String,
    /// `instance`, `signer` or `device`.
    pub role: String,
    /// What its owner calls it.
    pub name: Option<String>,
    /// Its admission.
    pub admitted: Decision,
    /// Its revocation.
    pub revoked: Option<Decision>,
}

/// All keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// Keys by id.
    pub keys: BTreeMap<String, Key>,
}

impl Keys {
    /// The keys as these events leave them.
    pub fn of<'e>(events: impl IntoIterator<Item = &'e Recorded>) -> Self {
        let mut keys = Self::default();
        for recorded in events {
            keys.evolve(recorded);
        }
        keys
    }

    fn evolve(&mut self, recorded: &Recorded) {
        let decided = |by: &str, reason| Decision { at: recorded.time.0, by: by.to_owned(), reason };
        match recorded.event() {
            Some(Event::KeyAdmitted(key)) => {
                let admitted = decided(&key.by, None);
                let (public_key, role, name) = (key.public_key.clone(), key.role.clone(), key.name.clone());
                self.keys.insert(key.key_id.clone(), Key { public_key, role, name, admitted, revoked: None });
            }
            Some(Event::KeyRevoked(key)) => {
                if let Some(known) = self.keys.get_mut(&key.key_id) {
                    known.revoked = Some(decided(&key.by, Some(key.reason.clone())));
                }
            }
            Some(_) | None => {}
        }
    }

    /// The id of a key that was named by its id or by what its owner calls it.
    pub fn named(&self, name: &str) -> Option<&str> {
        let is_it = |(id, key): &(&String, &Key)| *id == name || key.name.as_deref() == Some(name);
        self.keys.iter().find(is_it).map(|(id, _)| id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use metnos_log::event::instance::{KeyAdmitted, KeyRevoked};

    use super::*;
    use crate::projection::recorded;

    #[test]
    fn a_key_keeps_who_admitted_it_and_who_revoked_it() {
        let (key_id, public_key) = ("w".to_owned(), "00".to_owned());
        let (role, by, name) = ("signer".to_owned(), "owner".to_owned(), Some("workshop".to_owned()));
        let admitted = KeyAdmitted { key_id: key_id.clone(), public_key, role, by: by.clone(), name };
        let revoked = KeyRevoked { key_id, reason: "it was lost".to_owned(), by };
        let events = [recorded(1, 10, admitted.into()), recorded(2, 20, revoked.into())];
        let keys = Keys::of(&events);
        assert_eq!((keys.named("workshop"), keys.named("w"), keys.named("x")), (Some("w"), Some("w"), None));
        let key = &keys.keys["w"];
        let revoked = key.revoked.as_ref().unwrap();
        assert_eq!((key.admitted.at, revoked.at, revoked.reason.as_deref()), (10, 20, Some("it was lost")));
        assert_eq!(Keys::of(&events[..1]).keys["w"].revoked, None);
    }
}

//! The catalog: which executors there are, in which versions, signed by whom, and where in their life cycle they stand.
//!
//! What the log says is what holds. Files below the workspace are exports; comparing them is the loader's work.

mod decide;

use std::collections::{BTreeMap, BTreeSet};

use metnos_log::event::executor::{BirthTestsRun, ExecutorInstalled, ExecutorSigned, LifeCycle};
use metnos_log::event::instance::{KeyAdmitted, KeyRevoked};
use metnos_log::{Event, Recorded};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::manifest::Manifest;
use crate::projection::Projection;
pub use decide::{Command, Rejection, decide};

/// The role of the key that the instance itself signs with.
pub const OWN_KEY: &str = "instance";
/// The role of a key that somebody else signs executors with.
pub const SIGNER: &str = "signer";

/// Everything known about executors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Catalog {
    /// Executors by name.
    pub executors: BTreeMap<String, Entry>,
    /// Keys that were admitted, by key id.
    pub keys: BTreeMap<String, KeyAdmitted>,
    /// Those of them that may not sign any more.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub revoked: BTreeMap<String, KeyRevoked>,
    /// How often anything here changed; names the state for caches.
    pub generation: u64,
}

/// One executor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its versions.
    pub versions: BTreeMap<String, Version>,
    /// The version that calls get.
    pub current: Option<String>,
    /// Where it stands.
    pub life: LifeCycle,
    /// Why it stands there.
    pub reason: String,
}

/// One version of an executor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Version {
    /// Its signature.
    pub signed: Option<ExecutorSigned>,
    /// Its artefacts, its manifest and its schema.
    pub installed: Option<ExecutorInstalled>,
    /// Its last birth tests.
    pub birth: Option<BirthTestsRun>,
    /// The other interpreters on which they passed before.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub passed_before: BTreeSet<String>,
}

impl Version {
    /// Whether its birth tests need not be run again on an interpreter.
    pub fn was_tested_on(&self, interpreter: &str) -> bool {
        self.birth.as_ref().is_some_and(|birth| birth.interpreter == interpreter)
            || self.passed_before.contains(interpreter)
    }

    /// The manifest as a typed value; `None` when it was never installed.
    pub fn manifest(&self) -> Option<Manifest> {
        self.installed.as_ref()?.manifest.parse()
    }

    /// `definitions.<name>` of the schema.
    pub fn definition(&self, name: &str) -> Option<Value> {
        self.installed.as_ref()?.schema.value().get_mut("definitions")?.get_mut(name).map(Value::take)
    }
}

impl Catalog {
    /// The executor that a name or an older name stands for, if it may be called.
    pub fn active(&self, name: &str) -> Option<(&str, &str, &Version)> {
        let (name, entry) = self.find(name)?;
        let current = entry.current.as_deref()?;
        let version = entry.versions.get(current)?;
        // What is little used can be used: that makes it active again.
        let is_callable = matches!(entry.life, LifeCycle::Active | LifeCycle::BelowThreshold);
        (is_callable && version.installed.is_some()).then_some((name, current, version))
    }

    /// The version that a step was prepared with, if that is still what would be called: it is active, and no key that signed it
    /// was revoked.
    pub fn standing(&self, name: &str, version: &str) -> Option<&Version> {
        let (name, current, active) = self.active(name)?;
        (current == version && !self.is_tainted(name, version)).then_some(active)
    }

    /// A version of an executor, whatever became of it since.
    pub fn called(&self, name: &str, version: &str) -> Option<&Version> {
        self.find(name)?.1.versions.get(version)
    }

    /// The executor that a name or an older name stands for, whatever its state.
    pub fn find(&self, name: &str) -> Option<(&str, &Entry)> {
        if let Some((name, entry)) = self.executors.get_key_value(name) {
            return Some((name, entry));
        }
        let named = |entry: &Entry| -> Option<()> {
            let current = entry.current.as_deref().and_then(|current| entry.versions.get(current));
            let manifest = current.and_then(|version| Some(&version.installed.as_ref()?.manifest));
            // Most do not hold the name at all, and are not read.
            let manifest = manifest.filter(|manifest| manifest.text().contains(name))?.value();
            let aliases = manifest.pointer("/executor/aliases")?.as_array()?;
            aliases.iter().any(|alias| alias == name).then_some(())
        };
        self.executors.iter().find(|(_, entry)| named(entry).is_some()).map(|(name, entry)| (name.as_str(), entry))
    }

    /// All executors that may be called, by name.
    pub fn all_active(&self) -> impl Iterator<Item = (&str, &str, &Version)> {
        self.executors.keys().filter_map(|name| self.active(name))
    }

    /// The builtins that are switched off.
    pub fn all_disabled(&self) -> impl Iterator<Item = (&str, &Version)> {
        let disabled = self.executors.iter().filter(|(_, entry)| entry.life == LifeCycle::Disabled);
        disabled.filter_map(|(name, entry)| Some((name.as_str(), entry.versions.get(entry.current.as_ref()?)?)))
    }

    /// Whether the key that signed a version may not sign any more: what it signed is not to be trusted.
    pub fn is_tainted(&self, name: &str, version: &str) -> bool {
        let version = self.executors.get(name).and_then(|entry| entry.versions.get(version));
        let signed = version.and_then(|version| version.signed.as_ref());
        signed.is_some_and(|signed| self.signer(&signed.key_id).is_none())
    }

    /// A key that may sign.
    pub fn signer(&self, key_id: &str) -> Option<&KeyAdmitted> {
        self.keys.get(key_id).filter(|_| !self.revoked.contains_key(key_id))
    }

    /// All keys that may sign.
    pub fn signers(&self) -> impl Iterator<Item = &KeyAdmitted> {
        self.keys.values().filter(|key| !self.revoked.contains_key(&key.key_id))
    }

    /// Why a version is tainted, in words; nothing where it is not.
    pub fn taint(&self, name: &str, version: &str) -> Option<String> {
        let signed = self.executors.get(name)?.versions.get(version)?.signed.as_ref()?;
        let key_id = &signed.key_id;
        match (self.signer(key_id), self.revoked.get(key_id)) {
            (Some(_), _) => None,
            (None, Some(revoked)) => {
                Some(format!("{version} is signed by the key {key_id}, which was revoked: {}", revoked.reason))
            }
            (None, None) => Some(format!("{version} is signed by the key {key_id}, which was never admitted")),
        }
    }

    /// The versions that a key signed, by executor.
    pub fn signed_by<'c>(&'c self, key_id: &'c str) -> impl Iterator<Item = (&'c str, Vec<&'c str>)> {
        self.executors.iter().filter_map(move |(name, entry)| {
            let is_of = |version: &Version| version.signed.as_ref().is_some_and(|signed| signed.key_id == key_id);
            let versions = entry.versions.iter().filter(|(_, version)| is_of(version));
            let versions: Vec<&str> = versions.map(|(number, _)| number.as_str()).collect();
            (!versions.is_empty()).then_some((name.as_str(), versions))
        })
    }

    fn entry(&mut self, name: &str) -> &mut Entry {
        self.executors.entry(name.to_owned()).or_insert_with(|| Entry {
            versions: BTreeMap::new(),
            current: None,
            life: LifeCycle::Seed,
            reason: String::new(),
        })
    }

    fn version(&mut self, name: &str, version: &str) -> &mut Version {
        self.entry(name).versions.entry(version.to_owned()).or_default()
    }

    /// Takes one event in.
    pub fn apply(&mut self, event: &Event) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "the catalog is about the kinds below and no other")]
        match event {
            Event::KeyAdmitted(key) => drop(self.keys.insert(key.key_id.clone(), key.clone())),
            Event::KeyRevoked(key) => drop(self.revoked.insert(key.key_id.clone(), key.clone())),
            Event::ExecutorSigned(signed) => {
                self.version(&signed.name, &signed.version).signed = Some(signed.clone());
            }
            Event::ExecutorInstalled(installed) => {
                self.version(&installed.name, &installed.version).installed = Some(installed.clone());
            }
            Event::BirthTestsRun(birth) => {
                let version = self.version(&birth.name, &birth.version);
                let before = version.birth.replace(birth.clone());
                let passed = before.filter(|before| before.cases.iter().all(|case| case.passed));
                version.passed_before.extend(passed.map(|before| before.interpreter));
                version.passed_before.remove(&birth.interpreter);
            }
            Event::VersionPromoted(promoted) => {
                self.entry(&promoted.name).current = Some(promoted.version.clone());
            }
            Event::LifeCycleChanged(change) => {
                let entry = self.entry(&change.name);
                entry.life = change.to;
                entry.reason.clone_from(&change.reason);
            }
            _ => return,
        }
        self.generation += 1;
    }
}

impl Projection for Catalog {
    const NAME: &'static str = "catalog";
    const VERSION: u32 = 3;

    fn evolve(&mut self, recorded: &Recorded) {
        if let Some(event) = recorded.event() {
            self.apply(event);
        }
    }
}

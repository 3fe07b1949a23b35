//! A version of an executor, verified and ready: code bytes, compiled schemas, declared cage.
//!
//! The bytes come from the log, under the hashes that were signed; no file of the workspace is run.

use jsonschema::Validator;
use metnos_log::event::executor::ExecutorSigned;
use metnos_log::{BlobHash, Reader};
use metnos_projections::machines::catalog::{Catalog, Version};
use metnos_projections::manifest::Manifest;
use metnos_projections::rules::cage_plan::{self, CagePlan};
use serde_json::Value;

use super::schema::{compile, complaints};
use crate::builtins::{self, Builtin};
use crate::signing::SignedParts;

/// Why an executor is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No such executor, or none that is active.
    #[error("{0}")]
    Resolve(String, &'static str),
    /// Signature, lock or bytes do not hold.
    #[error("{0}")]
    Verify(String, &'static str),
}

impl LoadError {
    /// The error class.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Resolve(_, class) | Self::Verify(_, class) => class,
        }
    }
}

/// A version that may be called.
pub struct Loaded {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its manifest.
    pub manifest: Manifest,
    /// The bytes of `main.py`, equal to what was signed.
    pub code: Vec<u8>,
    /// The declared maximum of its cage.
    pub declared: CagePlan,
    /// What carries it out instead of a cage.
    pub builtin: Option<&'static Builtin>,
    input: Validator,
    output: Validator,
}

impl Loaded {
    /// Resolves a name in the catalog and verifies the version: steps 2 and 3.
    pub fn from_catalog(catalog: &Catalog, reader: &Reader, name: &str) -> Result<Self, LoadError> {
        let Some((name, number, version)) = catalog.active(name) else { return Err(unresolved(catalog, name)) };
        let verify = |what: &str, class| LoadError::Verify(format!("{name} {number}: {what}"), class);
        if let Some(builtin) = builtins::find(name).filter(|_| version.signed.is_none()) {
            if !builtin.is_as_built(version) {
                return Err(verify("it is not the one that this release was built with", "signature_invalid"));
            }
            let loaded = Self::new(builtin.manifest(), &builtin.schema(), Vec::new());
            return loaded
                .map(|loaded| Self { builtin: Some(builtin), ..loaded })
                .map_err(|what| verify(&what, "signature_invalid"));
        }
        let signed = version.signed.as_ref().ok_or_else(|| verify("it was never signed", "signature_invalid"))?;
        let manifest = version.manifest().ok_or_else(|| verify("its manifest cannot be read", "signature_invalid"))?;
        verify_signature(catalog, signed).map_err(|what| verify(what, "signature_invalid"))?;
        let declared = cage_plan::declared(&manifest);
        if declared.digest() != signed.lock {
            return Err(verify("the cage that it declares is not the one that was locked", "lock_mismatch"));
        }
        let artefact =
            |hash: BlobHash| reader.blob(hash).ok().flatten().filter(|bytes| *blake3::hash(bytes).as_bytes() == hash.0);
        let code = artefact(signed.code).ok_or_else(|| verify("its code is not in the log", "signature_invalid"))?;
        let schema = schema_of(version).ok_or_else(|| verify("its schema cannot be read", "signature_invalid"))?;
        Self::new(manifest, &schema, code).map_err(|what| verify(&what, "signature_invalid"))
    }

    /// A version from its parts, unsigned: what the loader checks before it signs.
    pub fn new(manifest: Manifest, schema: &Value, code: Vec<u8>) -> Result<Self, String> {
        let input = compile(schema, &manifest.contract.input_schema)?;
        let output = compile(schema, &manifest.contract.output_schema)?;
        let declared = cage_plan::declared(&manifest);
        let (name, version) = (manifest.executor.name.clone(), manifest.executor.version.clone());
        Ok(Self { name, version, manifest, code, declared, builtin: None, input, output })
    }

    /// What the input schema has against the arguments.
    pub fn input_fault(&self, args: &Value) -> Option<String> {
        complaints(&self.input, args)
    }

    /// What the output schema has against a result.
    pub fn output_fault(&self, result: &Value) -> Option<String> {
        complaints(&self.output, result)
    }
}

fn unresolved(catalog: &Catalog, name: &str) -> LoadError {
    use metnos_log::event::executor::LifeCycle;
    match catalog.find(name) {
        None => LoadError::Resolve(format!("there is no executor {name}"), "tool_unknown"),
        Some((name, entry)) => {
            let class = match entry.life {
                LifeCycle::Quarantined => "quarantined",
                LifeCycle::Archived | LifeCycle::Fused | LifeCycle::BelowThreshold => "archived",
                LifeCycle::Seed | LifeCycle::Proposed | LifeCycle::Active | LifeCycle::Disabled => "tool_unknown",
            };
            LoadError::Resolve(format!("{name} may not be called: {}", entry.reason), class)
        }
    }
}

fn verify_signature(catalog: &Catalog, signed: &ExecutorSigned) -> Result<(), &'static str> {
    let key = catalog.signer(&signed.key_id).ok_or("the key that signed it may not sign here")?;
    let parts = SignedParts { manifest: signed.manifest, code: signed.code, schema: signed.schema, lock: &signed.lock };
    if parts.verify(&key.public_key, &signed.signature) { Ok(()) } else { Err("its signature does not hold") }
}

fn schema_of(version: &Version) -> Option<Value> {
    version.installed.as_ref().map(|installed| installed.schema.value())
}

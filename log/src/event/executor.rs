//! Events of the streams `executor/NAME`: signatures, artefacts, birth tests, life cycle.

use serde::{Deserialize, Serialize};

use crate::canonical::JsonText;
use crate::kept::BlobHash;

/// A version was signed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutorSigned {
    /// The executor.
    pub name: String,
    /// Its version.
    pub version: String,
    /// blake3 of `manifest.toml`.
    pub manifest: BlobHash,
    /// blake3 of `main.py`.
    pub code: BlobHash,
    /// blake3 of `schema.json`.
    pub schema: BlobHash,
    /// blake3 of `tests/birth.py`.
    pub tests: BlobHash,
    /// The profile lock, `blake3:<hex>`.
    pub lock: String,
    /// Ed25519 over manifest ‖ code ‖ schema ‖ lock, hexadecimal.
    pub signature: String,
    /// Which key signed.
    pub key_id: String,
}

/// The artefacts are in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutorInstalled {
    /// The executor.
    pub name: String,
    /// Its version.
    pub version: String,
    /// File name and blob of each of the six artefacts, sorted by name.
    pub artefacts: Vec<Artefact>,
    /// The manifest as a typed value in JSON, so that no fold parses TOML.
    pub manifest: JsonText,
    /// `schema.json`.
    pub schema: JsonText,
}

/// One stored file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Artefact {
    /// Path below the version's folder.
    pub file: String,
    /// Plain blake3 of its bytes.
    pub blob: BlobHash,
    /// Its length.
    pub bytes: u64,
}

/// Birth tests ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BirthTestsRun {
    /// The executor.
    pub name: String,
    /// Its version.
    pub version: String,
    /// blake3 over code, schema, manifest, tests and the interpreter's version: the key under which the verdict holds.
    pub content: BlobHash,
    /// The interpreter that ran them.
    pub interpreter: String,
    /// The cage's level.
    pub cage: String,
    /// One verdict a case.
    pub cases: Vec<CaseVerdict>,
}

/// What came of one birth case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseVerdict {
    /// The case's name.
    pub name: String,
    /// Whether what was expected came out.
    pub passed: bool,
    /// What differed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A version became current.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionPromoted {
    /// The executor.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A state of the life cycle (design 3-executors, «Life cycle»).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LifeCycle {
    /// Laid out, not yet checked.
    Seed,
    /// Synthesised, waiting for a person.
    Proposed,
    /// May be called.
    Active,
    /// Merged into another.
    Fused,
    /// Something about it does not hold; never runs.
    Quarantined,
    /// Little used.
    BelowThreshold,
    /// Put away, can come back.
    Archived,
    /// A builtin that is switched off.
    Disabled,
}

/// An executor moved in its life cycle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LifeCycleChanged {
    /// The executor.
    pub name: String,
    /// The version that it concerns.
    pub version: String,
    /// The state before; `None` for a newcomer.
    pub from: Option<LifeCycle>,
    /// The state from here on.
    pub to: LifeCycle,
    /// Why, in words.
    pub reason: String,
    /// Who: `owner`, `loader`, `ager`, `synt:<run id>`, `turn:<id>` of the turn that used it again.
    pub by: String,
}

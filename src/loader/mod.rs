//! The loader: from a folder of files to a signed, locked, born and active executor; and from files that no longer agree
//! with the log to quarantine. What the log says holds; files below the workspace are exports.

pub mod birth;
pub mod check;
pub mod export;
mod hints;
pub mod lost;
pub mod seeds;
pub mod signer;
mod signing;
pub mod source;
mod words;

use metnos_log::event::executor::{Artefact, BirthTestsRun, ExecutorInstalled, ExecutorSigned, LifeCycle};
use metnos_log::store::plain_blob_hash;
use metnos_projections::machines::catalog::{Command, Rejection, decide};

use crate::gateway::Loaded;
use crate::instance::{Instance, InstanceError};
use crate::located::Located;
use crate::projector::Projected;
use crate::sandbox::SandboxError;
use crate::signing::SignedParts;
pub use signer::{Signer, SignerError};
pub use signing::{Signed, sign_folder};
pub use source::{Source, SourceError};

/// Why an executor is not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Its files cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Its manifest is refused.
    #[error("{0}")]
    Manifest(#[from] Located),
    /// Its schema or code is refused.
    #[error("{0}")]
    Content(String),
    /// It is signed, and not by a key that may.
    #[error(transparent)]
    Signer(#[from] SignerError),
    /// A birth case failed, or could not run.
    #[error("birth case «{case}» failed: {reason}")]
    Birth {
        /// The case.
        case: String,
        /// What differed.
        reason: String,
    },
    /// There is no cage to run birth tests in.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The catalog refuses it.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The instance failed.
    #[error(transparent)]
    Instance(#[from] InstanceError),
}

/// A version that was read and checked, before it is signed.
pub struct Candidate {
    /// Its files.
    pub source: Source,
    /// Ready to be called.
    pub loaded: Loaded,
    /// `schema.json`.
    pub schema: serde_json::Value,
}

/// Reads and checks a version's files: manifest, schema, declared cage. Runs nothing.
pub fn candidate(source: Source) -> Result<Candidate, InstallError> {
    let manifest = crate::manifest::parse(&source.label("manifest.toml"), &source.manifest)?;
    let schema: serde_json::Value = serde_json::from_slice(&source.schema).map_err(|error| {
        InstallError::Content(format!("{}:{}:{}: {error}", source.label("schema.json"), error.line(), error.column()))
    })?;
    hints::no_builtin(&source, &manifest)?;
    hints::by_name(&source, &manifest)?;
    let loaded = Loaded::new(manifest, &schema, source.code.clone()).map_err(InstallError::Content)?;
    Ok(Candidate { source, loaded, schema })
}

/// Refuses what only executors that the binary carries may ask for, and hashes that are not those of the files.
pub fn by_others(candidate: &Candidate) -> Result<(), InstallError> {
    hints::of_others(&candidate.source, &candidate.loaded.manifest)?;
    names_its_files(candidate)
}

/// Refuses hashes in a manifest that are not those of what lies beside it. Of a folder that is signed the signature decides.
fn names_its_files(candidate: &Candidate) -> Result<(), InstallError> {
    let Candidate { source, loaded, .. } = candidate;
    if source.signed.is_some() {
        return Ok(());
    }
    let tests = format!("blake3:{}", plain_blob_hash(&source.tests));
    let (lock, manifest) = (loaded.declared.digest(), &loaded.manifest);
    for (section, named, is, of) in [
        ("sandbox", &manifest.sandbox.hash, &lock, "the cage that the manifest declares"),
        ("tests", &manifest.tests.hash, &tests, "tests/birth.py"),
    ] {
        if named.as_ref().is_some_and(|named| named != is) {
            let message = format!("this is not the hash of {of}: take the line out, signing writes it");
            return Err(hints::at_value(source, (section, "hash"), &message));
        }
    }
    Ok(())
}

/// The same, held against the folders of this instance too: what it would never be given here is refused.
pub fn candidate_here(instance: &Instance, source: Source) -> Result<Candidate, InstallError> {
    let candidate = candidate(source)?;
    hints::here(instance, &candidate.source, &candidate.loaded.manifest)?;
    words::judge(&candidate.source, &candidate.loaded.manifest)?;
    Ok(candidate)
}

/// The same, of a folder that somebody made: what only executors that the binary carries may ask for is refused, and hashes that
/// are not those of its files.
pub fn candidate_of_others(instance: &Instance, source: Source) -> Result<Candidate, InstallError> {
    let candidate = candidate_here(instance, source)?;
    by_others(&candidate)?;
    Ok(candidate)
}

/// Checks, births, locks, signs and activates a version: one commit, then its files. One that comes signed is taken with that
/// signature, if the key may sign here.
pub fn install(instance: &Instance, source: Source, by: &str) -> Result<BirthTestsRun, InstallError> {
    take(instance, tested(instance, candidate_here(instance, source)?)?, by)
}

/// A candidate whose birth tests have passed here.
pub struct Tested {
    candidate: Candidate,
    birth: BirthTestsRun,
}

/// Births a candidate, so that nobody is asked about one that would be refused afterwards.
pub fn tested(instance: &Instance, candidate: Candidate) -> Result<Tested, InstallError> {
    signer::of(&instance.catalog(), &candidate)?;
    let birth = birth::run(instance, &candidate)?;
    if let Some(failed) = birth.cases.iter().find(|case| !case.passed) {
        let reason = failed.reason.clone().unwrap_or_default();
        return Err(InstallError::Birth { case: failed.name.clone(), reason });
    }
    Ok(Tested { candidate, birth })
}

/// Locks, signs and activates what was tested.
pub fn take(instance: &Instance, Tested { candidate, birth }: Tested, by: &str) -> Result<BirthTestsRun, InstallError> {
    sign(instance, candidate, birth.clone(), by)?;
    Ok(birth)
}

/// The signature over a candidate, by this instance's key or as somebody else gave it, and the manifest that it is over.
fn signature(instance: &Instance, candidate: &Candidate, theirs: Option<Signer>) -> (ExecutorSigned, String) {
    let Candidate { source, loaded, .. } = candidate;
    let lock = loaded.declared.digest();
    let tests = plain_blob_hash(&source.tests);
    let text = source::with_hashes(&source.manifest, &lock, &tests);
    let parts = SignedParts {
        manifest: plain_blob_hash(text.as_bytes()),
        code: plain_blob_hash(&source.code),
        schema: plain_blob_hash(&source.schema),
        lock: &lock,
    };
    let (signature, key_id) = match theirs {
        Some(theirs) => (theirs.signature, theirs.key_id),
        None => (instance.keys.sign(&parts), instance.keys.key_id()),
    };
    let signed = ExecutorSigned {
        name: loaded.name.clone(),
        version: loaded.version.clone(),
        manifest: parts.manifest,
        code: parts.code,
        schema: parts.schema,
        tests,
        lock: lock.clone(),
        signature,
        key_id,
    };
    (signed, text)
}

fn sign(instance: &Instance, candidate: Candidate, birth: BirthTestsRun, by: &str) -> Result<(), InstallError> {
    let theirs = signer::of(&instance.catalog(), &candidate)?;
    let (signed, text) = signature(instance, &candidate, theirs);
    let Candidate { source, loaded, schema } = candidate;
    let manifest = crate::manifest::parse(&source.label("manifest.toml"), &text)?;
    let (signature, lock) = (&signed.signature, &signed.lock);
    let files = [
        ("main.py", source.code),
        ("manifest.sig", format!("{signature}\n").into_bytes()),
        ("manifest.toml", text.into_bytes()),
        ("profile.lock", format!("{lock}\n").into_bytes()),
        ("schema.json", source.schema),
        ("tests/birth.py", source.tests),
    ];
    let artefacts = files
        .iter()
        .map(|(file, bytes)| Artefact {
            file: (*file).to_owned(),
            blob: plain_blob_hash(bytes),
            bytes: bytes.len() as u64,
        })
        .collect();
    let manifest = serde_json::to_value(&manifest).expect("a manifest is plain data");
    let installed = ExecutorInstalled {
        name: loaded.name.clone(),
        version: loaded.version.clone(),
        artefacts,
        manifest: manifest.into(),
        schema: schema.into(),
    };
    let command = Command::Install { signed, installed, birth, by: by.to_owned() };
    let blobs = files.into_iter().map(|(_, bytes)| (plain_blob_hash(&bytes), bytes)).collect();
    instance.change(&format!("executor/{}", loaded.name), blobs, |projected| decide(&projected.catalog, command))??;
    instance.alone(|| export::executor(instance, &loaded.name))?;
    Ok(())
}

/// Checks, births and signs anew what the log holds of an executor's version, and makes it active. What lies below the workspace
/// is written again: whoever changed it there has changed nothing.
pub fn readmit(instance: &Instance, name: &str, by: &str) -> Result<BirthTestsRun, InstallError> {
    let catalog = instance.catalog();
    let unknown = || Rejection::Unknown { name: name.to_owned() };
    let entry = catalog.executors.get(name).ok_or_else(unknown)?;
    let version = entry.current.as_ref().and_then(|current| entry.versions.get(current)).ok_or_else(unknown)?;
    let installed = version.installed.as_ref().filter(|_| version.signed.is_some());
    let installed = installed.ok_or_else(|| Rejection::Builtin { name: name.to_owned() })?;
    let source = Source::recorded(installed, &instance.log.reader())?;
    let birth = install(instance, source, by)?;
    instance.alone(|| export::take_back(instance, name))?;
    Ok(birth)
}

/// Moves an executor in its life cycle. The files of one that is archived are put away with it.
pub fn move_to(instance: &Instance, name: &str, to: LifeCycle, reason: &str, by: &str) -> Result<(), InstallError> {
    let command = Command::Move { name: name.to_owned(), to, reason: reason.to_owned(), by: by.to_owned() };
    instance.change(&format!("executor/{name}"), Vec::new(), |projected| decide(&projected.catalog, command))??;
    if to == LifeCycle::Archived {
        instance.alone(|| export::put_away(instance, name))?;
    }
    Ok(())
}

/// Makes another signed version the one that calls get.
pub fn promote(instance: &Instance, name: &str, version: &str) -> Result<(), InstallError> {
    let command = Command::Promote { name: name.to_owned(), version: version.to_owned() };
    instance.change(&format!("executor/{name}"), Vec::new(), |projected| decide(&projected.catalog, command))??;
    instance.alone(|| export::executor(instance, name))?;
    Ok(())
}

/// Puts an executor into quarantine; says nothing when it is there already.
pub fn quarantine(instance: &Instance, name: &str, reason: &str, by: &str) -> Result<bool, InstanceError> {
    let changed = instance.change(&format!("executor/{name}"), Vec::new(), |Projected { catalog, .. }| {
        let version = catalog.executors.get(name).and_then(|entry| entry.current.clone()).unwrap_or_default();
        let (name, reason, by) = (name.to_owned(), reason.to_owned(), by.to_owned());
        decide(catalog, Command::Quarantine { name, version, reason, by })
    })?;
    Ok(changed.is_ok())
}

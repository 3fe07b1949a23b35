//! Signs a folder that is not installed, in place: so that it can be handed on, and added where its key was admitted.

use std::fs;
use std::io;
use std::path::Path;

use metnos_log::event::executor::ExecutorSigned;
use metnos_projections::machines::catalog::{Catalog, Command, Rejection, decide};

use super::{Candidate, InstallError, Source, SourceError, birth, signature, signer};
use crate::instance::Instance;

/// What a folder is signed with.
#[derive(Clone, Debug)]
pub struct Signed {
    /// The executor.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The key.
    pub key_id: String,
    /// The lock.
    pub lock: String,
    /// How many birth cases passed; none where the signature was there already.
    pub cases: Option<usize>,
}

/// Checks and births a folder as `add` does, and signs it with the instance's key; when this returns, the signature is on
/// record, and beside the files that it covers. What is signed already is left as it is.
pub fn sign_folder(instance: &Instance, folder: &Path, candidate: Candidate) -> Result<Signed, InstallError> {
    let (name, version) = (candidate.loaded.name.clone(), candidate.loaded.version.clone());
    let Candidate { source, loaded, schema } = candidate;
    let source = without_older(&instance.catalog(), &name, &version, source);
    let candidate = Candidate { source, loaded, schema };
    if let Some(signer) = signer::of(&instance.catalog(), &candidate)? {
        let lock = candidate.loaded.declared.digest();
        return Ok(Signed { name, version, key_id: signer.key_id, lock, cases: None });
    }
    // What would be refused at the end is refused before anything is run.
    let (signed, manifest) = signature(instance, &candidate, None);
    decide(&instance.catalog(), Command::Sign(signed.clone()))?;
    let birth = birth::run(instance, &candidate)?;
    if let Some(failed) = birth.cases.iter().find(|case| !case.passed) {
        let reason = failed.reason.clone().unwrap_or_default();
        return Err(InstallError::Birth { case: failed.name.clone(), reason });
    }
    let command = Command::Sign(signed.clone());
    instance.change(&format!("executor/{name}"), Vec::new(), |projected| decide(&projected.catalog, command))??;
    lay(folder, &signed, &manifest)?;
    let ExecutorSigned { key_id, lock, .. } = signed;
    Ok(Signed { name, version, key_id, lock, cases: Some(birth.cases.len()) })
}

/// The files without the signature of another version, which lies there still because the folder was its folder before. One
/// of this version that is not over these files says that they were changed.
fn without_older(catalog: &Catalog, name: &str, version: &str, mut source: Source) -> Source {
    let Some(brought) = &source.signed else { return source };
    let versions = catalog.executors.get(name).map(|entry| &entry.versions);
    let is_it = |signed: &ExecutorSigned| signed.signature == brought.signature.trim();
    let mut known = versions.into_iter().flatten().filter(|(_, known)| known.signed.as_ref().is_some_and(is_it));
    if known.next().is_some_and(|(of, _)| of != version) {
        source.signed = None;
    }
    source
}

/// Writes what a signature adds; the signature itself last, so that none lies there without what it covers.
fn lay(folder: &Path, signed: &ExecutorSigned, manifest: &str) -> Result<(), SourceError> {
    let files = [
        ("manifest.toml", manifest.to_owned()),
        ("profile.lock", format!("{}\n", signed.lock)),
        ("manifest.sig", format!("{}\n", signed.signature)),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        replace(&path, &text).map_err(|source| SourceError::Unwritten { path, source })?;
    }
    Ok(())
}

/// Replaces a file whole, with the rights that it had.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let fresh = path.with_extension("new");
    fs::write(&fresh, text)?;
    if let Ok(metadata) = fs::metadata(path) {
        fs::set_permissions(&fresh, metadata.permissions())?;
    }
    fs::File::open(&fresh)?.sync_all()?;
    fs::rename(&fresh, path)
}

impl InstallError {
    /// Whether it says that what was signed has been changed since.
    pub fn is_of_a_change(&self) -> bool {
        matches!(
            self,
            Self::Rejected(Rejection::VersionTaken { .. })
                | Self::Signer(signer::SignerError::Differs { .. } | signer::SignerError::NotAdmitted)
        )
    }
}

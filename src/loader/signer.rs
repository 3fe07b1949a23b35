//! Whose signature a folder brings, and whether it holds: over exactly what this instance would sign itself.

use metnos_log::event::instance::KeyAdmitted;
use metnos_log::store::plain_blob_hash;
use metnos_projections::machines::catalog::Catalog;

use super::Candidate;
use crate::signing::SignedParts;

/// Hexadecimal digits of a signature.
const SIGNATURE_DIGITS: usize = 128;

/// Who signed a version elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// The key.
    pub key_id: String,
    /// What its owner calls it.
    pub name: Option<String>,
    /// The signature, hexadecimal.
    pub signature: String,
}

/// Why a signature that a folder brings is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignerError {
    /// It is no signature.
    #[error("manifest.sig does not hold a signature, {SIGNATURE_DIGITS} hexadecimal digits")]
    Malformed,
    /// The manifest or the lock names another hash than the files have.
    #[error("{file} does not name the hash of {of}, so the signature does not cover it")]
    Differs {
        /// Where the hash stands.
        file: &'static str,
        /// What it is of.
        of: &'static str,
    },
    /// A key that was revoked signed it.
    #[error("it is signed by the key {key_id}, which was revoked: {reason}")]
    Revoked {
        /// The key.
        key_id: String,
        /// Why it was revoked.
        reason: String,
    },
    /// No key that was admitted signed it.
    #[error("no key that was admitted here signed it, or its files were changed since")]
    NotAdmitted,
}

/// Whose signature a candidate brings; nothing where it brings none.
pub fn of(catalog: &Catalog, candidate: &Candidate) -> Result<Option<Signer>, SignerError> {
    let Candidate { source, loaded, .. } = candidate;
    let Some(signed) = &source.signed else { return Ok(None) };
    let signature = signed.signature.trim();
    if signature.len() != SIGNATURE_DIGITS || !signature.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(SignerError::Malformed);
    }
    let lock = loaded.declared.digest();
    let tests = format!("blake3:{}", plain_blob_hash(&source.tests));
    let named = |hash: Option<&str>, is: &str, file, of| {
        if hash == Some(is) { Ok(()) } else { Err(SignerError::Differs { file, of }) }
    };
    named(loaded.manifest.sandbox.hash.as_deref(), &lock, "manifest.toml", "the cage that it declares")?;
    named(loaded.manifest.tests.hash.as_deref(), &tests, "manifest.toml", "tests/birth.py")?;
    named(signed.lock.as_deref().map(str::trim), &lock, "profile.lock", "the cage that the manifest declares")?;
    let parts = SignedParts {
        manifest: plain_blob_hash(source.manifest.as_bytes()),
        code: plain_blob_hash(&source.code),
        schema: plain_blob_hash(&source.schema),
        lock: &lock,
    };
    let has_signed = |key: &&KeyAdmitted| parts.verify(&key.public_key, signature);
    if let Some(key) = catalog.signers().find(has_signed) {
        let (key_id, name, signature) = (key.key_id.clone(), key.name.clone(), signature.to_lowercase());
        return Ok(Some(Signer { key_id, name, signature }));
    }
    match catalog.keys.values().find(has_signed).and_then(|key| catalog.revoked.get(&key.key_id)) {
        Some(revoked) => Err(SignerError::Revoked { key_id: revoked.key_id.clone(), reason: revoked.reason.clone() }),
        None => Err(SignerError::NotAdmitted),
    }
}

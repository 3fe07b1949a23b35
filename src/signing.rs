//! Keys and signatures: the instance's Ed25519 key, the keys derived from it, and what signing an executor means.
//!
//! The private key never leaves this file's types; it is not printable and not serialisable.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::Aead;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use metnos_log::BlobHash;
pub use metnos_log::hex;
use metnos_log::note::Checkpoint;
use zeroize::Zeroizing;

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("the key file {path} cannot be used")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file holds no key.
    #[error("the key file {path} does not hold 64 hexadecimal digits")]
    Malformed {
        /// The file.
        path: PathBuf,
    },
    /// Others can read it.
    #[error("the key file {path} can be read by others (mode {mode:o})")]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

/// The instance's keys.
pub struct Keys {
    signing: SigningKey,
}

impl Keys {
    /// Reads `instance.ed25519` below `folder`, or makes it, with its public half beside it. Returns whether it is new.
    pub fn open(folder: &Path) -> Result<(Self, bool), KeyError> {
        let path = folder.join("instance.ed25519");
        match fs::read(&path) {
            Ok(bytes) => {
                refuse_exposed(&path)?;
                let bytes = Zeroizing::new(bytes);
                let seed = std::str::from_utf8(&bytes).ok().and_then(|text| unhex_of(text.trim()));
                let seed = seed.ok_or(KeyError::Malformed { path })?;
                Ok((Self { signing: SigningKey::from_bytes(&seed) }, false))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Self::create(folder, path).map(|keys| (keys, true))
            }
            Err(source) => Err(KeyError::Io { path, source }),
        }
    }

    fn create(folder: &Path, path: PathBuf) -> Result<Self, KeyError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut()).expect("the system gives random bytes");
        let keys = Self { signing: SigningKey::from_bytes(&seed) };
        let text = Zeroizing::new(format!("{}\n", hex(seed.as_ref())));
        write_private(&path, text.as_bytes()).map_err(|source| KeyError::Io { path, source })?;
        let public = folder.join("instance.pub");
        fs::write(&public, format!("{}\n", keys.public_hex()))
            .map_err(|source| KeyError::Io { path: public, source })?;
        Ok(keys)
    }

    /// The file of the public half below `folder`, where it holds another key: whoever goes by it would take what is signed here
    /// for forged, and what another signed for ours.
    pub fn exchanged_public(&self, folder: &Path) -> Option<PathBuf> {
        let public = folder.join("instance.pub");
        let found = fs::read_to_string(&public).ok()?;
        (found.trim() != self.public_hex()).then_some(public)
    }

    /// The key with which the log signs its checkpoints.
    pub(crate) fn for_checkpoints(&self) -> SigningKey {
        self.signing.clone()
    }

    /// The public key.
    pub fn verifying(&self) -> ed25519_dalek::VerifyingKey {
        self.signing.verifying_key()
    }

    /// The public key, hexadecimal.
    pub fn public_hex(&self) -> String {
        hex(self.signing.verifying_key().as_bytes())
    }

    /// The name of the public key: the first 16 hexadecimal digits of its blake3.
    pub fn key_id(&self) -> String {
        key_id(&self.public_hex())
    }

    /// Signs what an executor's four parts say.
    pub fn sign(&self, signed: &SignedParts<'_>) -> String {
        hex(&self.signing.sign(&signed.bytes()).to_bytes())
    }

    /// Signs bytes for one purpose; for another one the signature is none.
    pub fn sign_for(&self, purpose: &str, bytes: &[u8]) -> [u8; 64] {
        self.signing.sign(&digest_for(purpose, bytes)).to_bytes()
    }

    /// The signed note of what the log was at a size.
    pub fn sign_checkpoint(&self, checkpoint: &Checkpoint) -> String {
        checkpoint.signed(&self.signing)
    }

    /// Whether this key signed these bytes for that purpose.
    pub fn has_signed(&self, purpose: &str, bytes: &[u8], signature: &[u8; 64]) -> bool {
        let signature = Signature::from_bytes(signature);
        self.signing.verifying_key().verify_strict(&digest_for(purpose, bytes), &signature).is_ok()
    }

    /// A key for one purpose, derived from the instance's key.
    pub fn derived(&self, purpose: &str) -> [u8; 32] {
        blake3::derive_key(purpose, self.signing.as_bytes())
    }

    /// Encrypts bytes that only this instance reads again (before-images, credentials).
    pub fn seal(&self, bytes: &[u8]) -> Vec<u8> {
        let cipher = XChaCha20Poly1305::new(&self.derived("metnos at-rest key v1").into());
        let mut nonce = [0; 24];
        getrandom::fill(&mut nonce).expect("the system gives random bytes");
        let sealed = cipher.encrypt(XNonce::from_slice(&nonce), bytes).expect("encrypting in memory does not fail");
        [nonce.as_slice(), &sealed].concat()
    }

    /// Decrypts what [`Self::seal`] made; `None` when it was made by another key or changed since.
    pub fn unseal(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(24)?;
        let cipher = XChaCha20Poly1305::new(&self.derived("metnos at-rest key v1").into());
        cipher.decrypt(XNonce::from_slice(nonce), sealed).ok()
    }
}

/// What a signature of an executor covers (design 3-executors, «Six artefacts»).
#[derive(Clone, Copy, Debug)]
pub struct SignedParts<'a> {
    /// blake3 of `manifest.toml`.
    pub manifest: BlobHash,
    /// blake3 of `main.py`.
    pub code: BlobHash,
    /// blake3 of `schema.json`.
    pub schema: BlobHash,
    /// The profile lock's text.
    pub lock: &'a str,
}

impl SignedParts<'_> {
    fn bytes(&self) -> Vec<u8> {
        [self.manifest.0.as_slice(), &self.code.0, &self.schema.0, self.lock.as_bytes()].concat()
    }

    /// Whether `signature` is this key's signature over the parts. Strict: no malleable or small-order cases.
    pub fn verify(&self, public_hex: &str, signature_hex: &str) -> bool {
        let verified = || {
            let key = VerifyingKey::from_bytes(&unhex_of::<32>(public_hex)?).ok()?;
            let signature = Signature::from_bytes(&unhex_of::<64>(signature_hex)?);
            key.verify_strict(&self.bytes(), &signature).ok()
        };
        verified().is_some()
    }
}

/// What is signed for a purpose: never what another purpose signs.
fn digest_for(purpose: &str, bytes: &[u8]) -> [u8; 32] {
    blake3::derive_key(purpose, bytes)
}

/// The name of a public key.
pub fn key_id(public_hex: &str) -> String {
    blake3::hash(public_hex.as_bytes()).to_hex()[..16].to_owned()
}

/// The DER form of an Ed25519 public key, up to the key itself (RFC 8410).
const DER_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// A public key as people hand it on, hexadecimal: 64 hexadecimal digits, or base64 of the key or of its DER form, in PEM lines
/// too. Nothing where it is none, or one under which anything verifies.
pub fn read_public(text: &str) -> Option<String> {
    use base64::Engine;
    let lines = text.lines().map(str::trim);
    let body: String = lines.filter(|line| !line.starts_with("-----")).collect();
    let bytes = unhex_of::<32>(&body).or_else(|| {
        let bytes = base64::engine::general_purpose::STANDARD.decode(&body).ok()?;
        bytes.strip_prefix(&DER_PREFIX).unwrap_or(&bytes).try_into().ok()
    })?;
    let key = VerifyingKey::from_bytes(&bytes).ok()?;
    (!key.is_weak()).then(|| hex(key.as_bytes()))
}

/// The bytes of hexadecimal digits, two a byte.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?));
    if rest.is_empty() { bytes.collect() } else { None }
}

/// Just so many bytes of them.
fn unhex_of<const N: usize>(text: &str) -> Option<[u8; N]> {
    unhex(text)?.try_into().ok()
}

/// Writes a file that only its owner can read, whole or not at all, through to the disk.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&fresh, path)
}

fn refuse_exposed(path: &Path) -> Result<(), KeyError> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::metadata(path).map_err(|source| KeyError::Io { path: path.to_owned(), source })?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode.trailing_zeros() >= 6 { Ok(()) } else { Err(KeyError::Exposed { path: path.to_owned(), mode }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_covers_every_part() {
        let folder = tempfile::tempdir().unwrap();
        let (keys, fresh) = Keys::open(folder.path()).unwrap();
        assert!(fresh);
        let part = |byte| BlobHash([byte; 32]);
        let parts = SignedParts { manifest: part(1), code: part(2), schema: part(3), lock: "blake3:aa" };
        let signature = keys.sign(&parts);
        assert!(parts.verify(&keys.public_hex(), &signature));
        for other in [
            SignedParts { manifest: part(9), ..parts },
            SignedParts { code: part(9), ..parts },
            SignedParts { schema: part(9), ..parts },
            SignedParts { lock: "blake3:ab", ..parts },
        ] {
            assert!(!other.verify(&keys.public_hex(), &signature));
        }
        let (again, fresh) = Keys::open(folder.path()).unwrap();
        assert!(!fresh && again.public_hex() == keys.public_hex());
    }

    #[test]
    fn a_public_key_is_read_in_each_form_that_it_is_handed_on_in() {
        use base64::Engine;
        let folder = tempfile::tempdir().unwrap();
        let (keys, _) = Keys::open(folder.path()).unwrap();
        let key = keys.verifying();
        let encoded = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
        let der = encoded(&[DER_PREFIX.as_slice(), key.as_bytes()].concat());
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{der}\n-----END PUBLIC KEY-----\n");
        for text in [keys.public_hex(), format!(" {}\n", keys.public_hex()), encoded(key.as_bytes()), der, pem] {
            assert_eq!(read_public(&text), Some(keys.public_hex()), "{text}");
        }
        // The last one is of small order: anything verifies under it.
        for text in ["", "key", &encoded(&key.as_bytes()[..31]), &"00".repeat(32)] {
            assert_eq!(read_public(text), None, "{text}");
        }
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        drop(Keys::open(folder.path()).unwrap());
        let path = folder.path().join("instance.ed25519");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(Keys::open(folder.path()), Err(KeyError::Exposed { mode: 0o644, .. })));
    }

    #[test]
    fn sealed_bytes_come_back_and_changes_show() {
        let folder = tempfile::tempdir().unwrap();
        let (keys, _) = Keys::open(folder.path()).unwrap();
        let mut sealed = keys.seal(b"before");
        assert_eq!(keys.unseal(&sealed).as_deref(), Some(b"before".as_slice()));
        sealed[30] ^= 1;
        assert_eq!(keys.unseal(&sealed), None);
    }
}

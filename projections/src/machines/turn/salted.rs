//! Digests of what a person may have erased, in events that stay.

/// The digest of a text under the salt of its turn, in hexadecimal: with the salt erased, the text cannot be guessed from it. Turns
/// that were recorded before there were salts have none.
pub fn digest(salt: Option<&str>, text: &str) -> String {
    let hash = match salt {
        Some(salt) => {
            blake3::keyed_hash(&blake3::derive_key("metnos turn digest v1", salt.as_bytes()), text.as_bytes())
        }
        None => blake3::hash(text.as_bytes()),
    };
    hash.to_hex().to_string()
}

//! Blobs: bytes under their own hash, compressed.

use crate::kept::BlobHash;

/// zstd level of blobs: the fastest ordinary one; segments will want more thought than this.
const LEVEL: i32 = 3;
/// The longest blob, once unpacked.
const BYTES_MAX: usize = 1 << 30;

/// Why a blob cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The bytes do not unpack.
    #[error("the stored bytes cannot be unpacked")]
    Packed(#[source] std::io::Error),
    /// The bytes are not those that the hash names.
    #[error("the bytes are not those that its name stands for")]
    Hash,
}

pub(super) fn pack(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, LEVEL).expect("compressing in memory does not fail")
}

pub(super) fn unpack(packed: &[u8]) -> Result<Vec<u8>, BlobError> {
    let length = zstd::zstd_safe::get_frame_content_size(packed).ok().flatten().unwrap_or(0);
    let capacity = usize::try_from(length).unwrap_or(BYTES_MAX).min(BYTES_MAX);
    zstd::bulk::decompress(packed, capacity).map_err(BlobError::Packed)
}

/// Unpacks and compares with the name, under plain and under keyed blake3.
pub(super) fn checked(packed: &[u8], hash: &BlobHash, key: &[u8; 32]) -> Result<Vec<u8>, BlobError> {
    let bytes = unpack(packed)?;
    let plain = *blake3::hash(&bytes).as_bytes() == hash.0;
    if plain || *blake3::keyed_hash(key, &bytes).as_bytes() == hash.0 { Ok(bytes) } else { Err(BlobError::Hash) }
}

//! Blobs: bytes under their own hash, compressed.

use crate::kept::BlobHash;

/// zstd level of blobs: the fastest ordinary one.
const LEVEL: i32 = 3;
/// The longest blob, once unpacked.
pub(super) const BYTES_MAX: usize = 1 << 30;
/// The format byte of a stored blob.
const BLOB_FORMAT: u8 = 1;
/// What a zstd frame begins with, and so does a blob of the first log format, which has no check.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Why a blob cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The bytes do not unpack.
    #[error("the stored bytes cannot be unpacked")]
    Packed(#[source] std::io::Error),
    /// The stored bytes are others than were stored, although they may unpack to the same.
    #[error("the stored bytes are not those that were stored (check differs)")]
    Check,
    /// Written by a newer program, or no blob at all.
    #[error("blob format {found} is not known to this program (it knows {BLOB_FORMAT})")]
    Format {
        /// The format byte.
        found: u8,
    },
    /// The bytes are not those that the hash names.
    #[error("the bytes are not those that its name stands for")]
    Hash,
}

/// The stored form: format, check, zstd frame. The name proves the content; the check, that no stored bit is another, for a
/// decompressor passes over some.
pub(super) fn pack(bytes: &[u8]) -> Vec<u8> {
    let packed = zstd::bulk::compress(bytes, LEVEL).expect("compressing in memory does not fail");
    let mut stored = Vec::with_capacity(9 + packed.len());
    stored.push(BLOB_FORMAT);
    stored.extend(check(&packed));
    stored.extend(packed);
    stored
}

fn check(packed: &[u8]) -> [u8; 8] {
    let hash = blake3::derive_key("metnos log blob v1", packed);
    std::array::from_fn(|index| hash[index])
}

/// The zstd frame of a stored blob.
fn frame(stored: &[u8]) -> Result<&[u8], BlobError> {
    match stored {
        _ if stored.starts_with(&ZSTD_MAGIC) => Ok(stored),
        [BLOB_FORMAT, rest @ ..] => {
            let (found, packed) = rest.split_first_chunk::<8>().ok_or(BlobError::Check)?;
            if *found == check(packed) { Ok(packed) } else { Err(BlobError::Check) }
        }
        _ => Err(BlobError::Format { found: stored.first().copied().unwrap_or(0) }),
    }
}

pub(super) fn unpack(stored: &[u8]) -> Result<Vec<u8>, BlobError> {
    let packed = frame(stored)?;
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

//! What can be found in the bytes of a damaged file without asking redb: segments by header and digest, frames by header and
//! shape, blobs by their check, signed notes by their signature. Nothing of the file's own structure is believed.

use std::collections::HashSet;

use ed25519_dalek::VerifyingKey;
use memchr::memmem;

use crate::codec::Frame;
use crate::note::{Checkpoint, NoteError};
use crate::segment::{Frames, Segment};
use crate::store::blobs;

/// What a segment of format 1 begins with, its kinds being far below 64 KiB.
const SEGMENT_START: [u8; 6] = [1, 0, 0, 0, 0, 0];
/// What every frame of the compressor begins with.
const ZSTD_START: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// What every header begins with: an array of ten, an id of sixteen bytes.
const HEADER_START: [u8; 3] = [0x9a, 0xc4, 0x10];
/// Bytes of a frame before its header.
const PREFIX_BYTES: usize = 12;
/// Bytes of a stored blob before its compressed part: format and check.
const BLOB_PREFIX_BYTES: usize = 9;
/// A signed note is shorter.
const NOTE_BYTES_MAX: usize = 2048;

/// What was found.
#[derive(Default)]
pub(super) struct Pieces<'b> {
    /// Whole segments, by their digest.
    pub(super) segments: Vec<&'b [u8]>,
    /// Frames outside of segments, each once; numbers unknown, checks not compared.
    pub(super) frames: Vec<&'b [u8]>,
    /// Frames out of what may be a damaged segment.
    pub(super) loose: Vec<Frames>,
    /// Stored blobs with their content's plain and keyed name.
    pub(super) blobs: Vec<([[u8; 32]; 2], &'b [u8])>,
    /// Notes that the key signed, and their texts.
    pub(super) notes: Vec<(Checkpoint, &'b str)>,
    /// Whether there are notes that another key signed.
    pub(super) has_others_notes: bool,
}

/// Looks through the bytes of a log's file.
pub(super) fn scan<'b>(bytes: &'b [u8], blob_key: &[u8; 32], key: &VerifyingKey) -> Pieces<'b> {
    let mut pieces = Pieces { segments: segments(bytes), ..Pieces::default() };
    let start = bytes.as_ptr() as usize;
    let taken: Vec<(usize, usize)> =
        pieces.segments.iter().map(|value| (value.as_ptr() as usize - start, value.len())).collect();
    let is_taken = |at: usize| {
        let next = taken.partition_point(|(from, _)| *from <= at);
        next.checked_sub(1).is_some_and(|index| at < taken[index].0 + taken[index].1)
    };
    let mut seen = HashSet::new();
    for hit in memmem::find_iter(bytes, &HEADER_START).filter(|hit| !is_taken(*hit)) {
        if let Some(frame) = hit.checked_sub(PREFIX_BYTES).and_then(|at| frame(&bytes[at..]))
            && seen.insert(frame)
        {
            pieces.frames.push(frame);
        }
    }
    let mut names = HashSet::new();
    for hit in memmem::find_iter(bytes, &ZSTD_START).filter(|hit| !is_taken(*hit)) {
        let Ok(length) = zstd::zstd_safe::find_frame_compressed_size(&bytes[hit..]) else { continue };
        let Some(packed) = bytes.get(hit..hit + length) else { continue };
        let stored = hit.checked_sub(BLOB_PREFIX_BYTES).map_or(packed, |at| &bytes[at..hit + length]);
        let Some((stored, plain)) =
            [stored, packed].into_iter().find_map(|form| Some((form, blobs::unpack(form).ok()?)))
        else {
            continue;
        };
        let both = [*blake3::hash(&plain).as_bytes(), *blake3::keyed_hash(blob_key, &plain).as_bytes()];
        if let Some(frames) = Frames::of_plain(plain) {
            pieces.loose.push(frames);
        }
        if names.insert(both[0]) {
            pieces.blobs.push((both, stored));
        }
    }
    (pieces.notes, pieces.has_others_notes) = notes(bytes, key);
    pieces
}

/// Segments whose digest holds, in the order in which they lie there.
pub(super) fn segments(bytes: &[u8]) -> Vec<&[u8]> {
    let u32_at = |at: usize| {
        let field = bytes.get(at..at + 4).and_then(|field| <[u8; 4]>::try_from(field).ok());
        field.map(|field| u32::from_be_bytes(field) as usize)
    };
    let found = memmem::find_iter(bytes, &SEGMENT_START).filter_map(|at| {
        let (packed_at, length) = (u32_at(at + 4)?, u32_at(at + 8)?);
        let value = bytes.get(at..at.checked_add(packed_at)?.checked_add(length)?)?;
        // Cheap before the digest: nearly nothing else gets past it.
        value.get(packed_at..).filter(|packed| packed.starts_with(&ZSTD_START))?;
        let segment = Segment::parse(value).ok()?;
        segment.frames().ok().map(|_| value)
    });
    let mut end = 0;
    let start = bytes.as_ptr() as usize;
    let is_apart = |value: &&[u8]| {
        let at = value.as_ptr() as usize - start;
        let is_apart = at >= end;
        end = if is_apart { at + value.len() } else { end };
        is_apart
    };
    found.filter(is_apart).collect()
}

/// The frame that begins there, if one does: header and payload are whole MessagePack values and say how long they are.
fn frame(bytes: &[u8]) -> Option<&[u8]> {
    let parsed = Frame::parse(bytes).ok()?;
    let end = value_length(parsed.header)?;
    if end != parsed.header.len() || parsed.header().is_err() {
        return None;
    }
    let before = if parsed.payload().is_some() { 16 } else { 32 };
    let body = PREFIX_BYTES + parsed.header.len() + before;
    let length = value_length(bytes.get(body..)?)?;
    bytes.get(..body + length)
}

/// How long the MessagePack value is that the bytes begin with.
fn value_length(bytes: &[u8]) -> Option<usize> {
    let number = |at: usize, length: usize| {
        let field = bytes.get(at..at.checked_add(length)?)?;
        field.iter().try_fold(0_usize, |number, byte| number.checked_mul(256)?.checked_add(usize::from(*byte)))
    };
    let (mut at, mut wanted) = (0_usize, 1_usize);
    while wanted > 0 {
        let first = *bytes.get(at)?;
        at += 1;
        wanted -= 1;
        let (skipped, values) = match first {
            0x00..=0x7f | 0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => (0, 0),
            0x80..=0x8f => (0, 2 * usize::from(first & 0xf)),
            0x90..=0x9f => (0, usize::from(first & 0xf)),
            0xa0..=0xbf => (usize::from(first & 0x1f), 0),
            0xc4 | 0xd9 => (1 + number(at, 1)?, 0),
            0xc5 | 0xda => (2 + number(at, 2)?, 0),
            0xc6 | 0xdb => (number(at, 4)?.checked_add(4)?, 0),
            0xcc | 0xd0 => (1, 0),
            0xcd | 0xd1 | 0xd4 => (2, 0),
            0xd5 => (3, 0),
            0xce | 0xd2 | 0xca => (4, 0),
            0xd6 => (5, 0),
            0xcf | 0xd3 | 0xcb => (8, 0),
            0xd7 => (9, 0),
            0xd8 => (17, 0),
            0xc7 => (2 + number(at, 1)?, 0),
            0xc8 => (3 + number(at, 2)?, 0),
            0xc9 => (number(at, 4)?.checked_add(5)?, 0),
            0xdc => (2, number(at, 2)?),
            0xdd => (4, number(at, 4)?),
            0xde => (2, 2 * number(at, 2)?),
            0xdf => (4, number(at, 4)?.checked_mul(2)?),
            0xc1 => return None,
        };
        at = at.checked_add(skipped).filter(|at| *at <= bytes.len())?;
        wanted = wanted.checked_add(values).filter(|wanted| *wanted <= bytes.len())?;
    }
    Some(at)
}

fn notes<'b>(bytes: &'b [u8], key: &VerifyingKey) -> (Vec<(Checkpoint, &'b str)>, bool) {
    let mut seen = HashSet::new();
    let mut has_others = false;
    let found = memmem::find_iter(bytes, b"metnos/").filter_map(|at| {
        let text = &bytes[at..(at + NOTE_BYTES_MAX).min(bytes.len())];
        let end = memmem::find(text, "\n\n\u{2014} ".as_bytes())?;
        let line = memchr::memchr(b'\n', &text[end + 2..])?;
        let note = std::str::from_utf8(&text[..=end + 2 + line]).ok()?;
        let verified = Checkpoint::verified(note, key);
        has_others |= matches!(verified, Err(NoteError::OtherKey));
        Some((verified.ok()?, note))
    });
    let own = found.filter(|(checkpoint, _)| seen.insert(checkpoint.size)).collect();
    (own, has_others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_says_how_long_it_is() {
        for value in [
            serde_json::json!({ "a": [1, -1, 70_000, null, true], "b": "x".repeat(300), "c": { "d": "y".repeat(70_000) } }),
            serde_json::json!([1.5, u64::MAX, i64::MIN, [], {}]),
        ] {
            let mut bytes = rmp_serde::to_vec_named(&value).unwrap();
            let length = bytes.len();
            bytes.extend([0x81, 0xa1]);
            assert_eq!(value_length(&bytes), Some(length));
            assert_eq!(value_length(&bytes[..length - 1]), None);
        }
        assert_eq!(value_length(&[0xdd, 0xff, 0xff, 0xff, 0xff]), None);
    }
}

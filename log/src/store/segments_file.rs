//! Segments one after the other in a plain file (`….seg`), as backups and archives keep them: readable without redb.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes of a segment's header that say how long it is and what it holds.
const HEAD_BYTES: usize = 144;
/// The longest value that is believed.
const VALUE_BYTES_MAX: u64 = 4 << 30;

/// Where one segment lies in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    /// The digest that it says it has.
    pub(super) digest: [u8; 32],
}

/// The segments of a file, by their headers alone; ends before whatever is no whole segment.
pub(super) fn places(file: &mut File) -> io::Result<Vec<Place>> {
    let end = file.metadata()?.len();
    let mut reader = BufReader::with_capacity(HEAD_BYTES, file);
    let mut places = Vec::new();
    let mut offset = 0;
    while offset + HEAD_BYTES as u64 <= end {
        reader.seek(SeekFrom::Start(offset))?;
        let mut head = [0; HEAD_BYTES];
        reader.read_exact(&mut head)?;
        let u32_at = |at: usize| u64::from(u32::from_be_bytes(std::array::from_fn(|index| head[at + index])));
        let u64_at = |at: usize| u64::from_be_bytes(std::array::from_fn(|index| head[at + index]));
        let length = u32_at(4) + u32_at(8);
        if head[0] != crate::segment::SEGMENT_FORMAT
            || length < HEAD_BYTES as u64
            || length > VALUE_BYTES_MAX
            || offset + length > end
        {
            break;
        }
        let digest = std::array::from_fn(|index| head[112 + index]);
        places.push(Place { offset, length, first: u64_at(16), last: u64_at(24), digest });
        offset += length;
    }
    Ok(places)
}

/// One segment's bytes.
pub(super) fn value(file: &mut File, place: &Place) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(place.offset))?;
    let mut bytes = vec![0; usize::try_from(place.length).map_err(io::Error::other)?];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Whether a file is there that holds something, and no segments. One that a power cut tore may begin with zeros.
pub(super) fn is_other(path: &Path) -> io::Result<bool> {
    let Some(file) = open(path)? else { return Ok(false) };
    let mut first = Vec::new();
    file.take(1).read_to_end(&mut first)?;
    Ok(first.first().is_some_and(|format| ![0, crate::segment::SEGMENT_FORMAT].contains(format)))
}

/// The digest that a stored value says it has.
pub(super) fn digest_of(value: &[u8]) -> Option<[u8; 32]> {
    value.get(112..HEAD_BYTES)?.try_into().ok()
}

/// Opens a file of segments, or none.
pub(super) fn open(path: &Path) -> io::Result<Option<File>> {
    match super::files::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

//! What a backup's folder holds that a log does not have: a log that was made of an older backup, or that lost its end, goes by the
//! same name and must not take the place of the events of the other.

use std::path::Path;

use super::backup::{BackupError, SEALED, Summary, TAIL, refused};
use super::reader::Reader;
use super::segments_file;
use crate::chain;
use crate::codec::Frame;
use crate::segment::Segment;

/// The first event of the folder that the log does not have, and the last that the folder holds; `None` where the log has them
/// all. By the chain's heads: an event that was erased since is the same event.
pub(super) fn first_and_last(
    reader: &Reader,
    folder: &Path,
    summary: Option<&Summary>,
) -> Result<Option<(u64, u64)>, BackupError> {
    let size = reader.size()?;
    let is_own = |last: u64, head: &[u8; 32]| -> Result<bool, BackupError> {
        Ok(last <= size && reader.head_at(last)? == *head)
    };
    let (mut own, mut last) = (0, 0);
    let mut parted = None;
    // The newest first: one of the log's own says that all before it are.
    for value in newest_segments(folder)? {
        let value = value?;
        let Ok(segment) = Segment::parse(&value) else { continue };
        let header = &segment.header;
        last = last.max(header.last);
        if is_own(header.last, &header.head_after)? {
            own = header.last;
            break;
        }
        parted = Some(value);
    }
    if let Some(summary) = summary {
        last = last.max(summary.events);
        let is_own = summary.events <= size && crate::hex(&reader.head_at(summary.events)?) == summary.head;
        if parted.is_none() && !is_own {
            return Ok(Some(((own + 1).min(summary.events), last)));
        }
    }
    parted.map(|value| Ok((first_other(reader, &value, size)?, last))).transpose()
}

/// The values of the folder's segments, from the last event backwards. Where a backup broke off, the file of the tail is the older
/// of the two.
fn newest_segments(folder: &Path) -> Result<impl Iterator<Item = Result<Vec<u8>, BackupError>>, BackupError> {
    let (mut files, mut places) = (Vec::new(), Vec::new());
    for name in [TAIL, SEALED] {
        let path = folder.join(name);
        if let Some(mut file) = segments_file::open(&path).map_err(refused(&path))? {
            let found = segments_file::places(&mut file).map_err(refused(&path))?;
            places.extend(found.into_iter().map(|place| (files.len(), place)));
            files.push((path, file));
        }
    }
    places.sort_by_key(|(_, place)| std::cmp::Reverse(place.last));
    Ok(places.into_iter().map(move |(at, place)| {
        let (path, file) = &mut files[at];
        segments_file::value(file, &place).map_err(refused(path))
    }))
}

/// The first event of a segment that is not the log's.
fn first_other(reader: &Reader, value: &[u8], size: u64) -> Result<u64, BackupError> {
    let damaged = |what: String| BackupError::Damaged { what };
    let segment = Segment::parse(value).map_err(|error| damaged(error.to_string()))?;
    let frames = segment.frames().map_err(|error| damaged(error.to_string()))?;
    let (first, mut head) = (segment.header.first, segment.header.head_before);
    for (seq, bytes) in (first..).zip(frames.iter()) {
        let leaf = Frame::parse(bytes).map(|frame| frame.leaf(seq)).map_err(|error| damaged(error.to_string()))?;
        head = chain::advance(&head, &leaf);
        if seq > size || reader.head_at(seq)? != head {
            return Ok(seq);
        }
    }
    Ok(segment.header.last)
}

//! Restore: a log made of a backup. Everything is checked before a file stands where a log is looked for, and what is restored
//! opens a new epoch, so that a fork is visible.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::assemble::{Assembly, AssemblyError};
use super::backup::{BLOB_FOLDER, BackupError, SEALED, Summary, TAIL, held, refused, summary};
use super::erasures::{Erasures, records_of};
use super::open::{self, LogKeys};
use super::rewrite::LeftOut;
use super::withheld::Opened;
use super::{Append, Expect, Head, Log, files, seen, segments_file};
use crate::envelope::Draft;
use crate::kept::BlobHash;
use crate::note::Checkpoint;
use crate::segment::Segment;

/// Makes a log of a backup, at `path`, where there must be none. Everything is checked first, by the key that signed it; the
/// record, which opens the new epoch, is appended with what `record` is told of the end of the backup.
pub fn restore(
    folder: &Path,
    path: &Path,
    keys: LogKeys,
    record: impl FnOnce(&Head) -> Draft,
    mut progress: impl FnMut(u64, u64),
) -> Result<Head, BackupError> {
    let nothing = || BackupError::NoBackup { path: folder.to_owned(), what: "it has no backup.json".to_owned() };
    let summary = summary(folder)?.ok_or_else(nothing)?;
    // A link that leads nowhere has the name all the same.
    if path.symlink_metadata().is_ok() {
        return Err(BackupError::Occupied { path: path.to_owned() });
    }
    let checkpoint = Checkpoint::verified(&summary.checkpoint, &keys.signing.verifying_key())?;
    // The note is over all of it: what nobody signed could be anybody's.
    if checkpoint.log_id != summary.log_id || checkpoint.size != summary.events {
        return Err(BackupError::Damaged { what: "its checkpoint is not that of its events".to_owned() });
    }
    // Another restore has its unfinished file under that name.
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _held = held(parent)?;
    if path.symlink_metadata().is_ok() {
        return Err(BackupError::Occupied { path: path.to_owned() });
    }
    let fresh = unfinished(path);
    let assembled = assemble(folder, &fresh, &summary, &checkpoint, &mut progress)
        .and_then(|head| begin_epoch(&fresh, keys, record(&head)));
    match assembled {
        Ok(head) => {
            // What was seen of a log that is gone says nothing of this one.
            drop(files::remove(&seen::beside(path)));
            // Not over one that appeared meanwhile.
            files::link(&fresh, path).map_err(refused(path))?;
            files::remove(&fresh).map_err(refused(&fresh))?;
            files::sync_folder(path.parent().unwrap_or(Path::new(""))).map_err(refused(path))?;
            Ok(head)
        }
        Err(error) => {
            drop(files::remove(&fresh));
            Err(error)
        }
    }
}

/// Where a restore puts a log together: under a name of its own, since where one broke off no other log must begin.
pub fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("redb.restoring")
}

/// Puts the file together; the end of what it holds.
fn assemble(
    folder: &Path,
    fresh: &Path,
    summary: &Summary,
    checkpoint: &Checkpoint,
    progress: &mut impl FnMut(u64, u64),
) -> Result<Head, BackupError> {
    drop(files::remove(fresh));
    let damaged = |what: &str| BackupError::Damaged { what: what.to_owned() };
    let id = u128::from_str_radix(&summary.log_id, 16).map_err(|_| damaged("its log has no name"))?.to_be_bytes();
    let Opened { database, .. } = open::create(fresh).map_err(|error| BackupError::Unwritten(Box::new(error)))?;
    let mut assembly = Assembly::begin(&database, &id)?;
    assembly.expect(checkpoint.clone());
    let of = summary.events;
    let sealed = folder.join(SEALED);
    let left_out = erased(folder, of)?;
    let mut torn = None;
    let without = |first: u64, value: Vec<u8>| -> Result<Vec<u8>, BackupError> {
        let changed = left_out.segment(first, &value).map_err(|error| damaged(&error.to_string()))?;
        Ok(changed.map_or(value, |(changed, _)| changed))
    };
    if let Some(mut file) = segments_file::open(&sealed).map_err(refused(&sealed))? {
        for place in segments_file::places(&mut file).map_err(refused(&sealed))? {
            let value = segments_file::value(&mut file, &place).map_err(refused(&sealed))?;
            // What a later backup began may be torn. The tail holds it then, or the events end too early.
            if let Err(error) = Segment::parse(&value) {
                torn = Some(damaged(&format!("{SEALED}: the segment from event {} on: {error}", place.first)));
                break;
            }
            let value = without(place.first, value)?;
            // Behind its end lies what a later backup began and did not finish.
            if place.last <= of {
                assembly.segment(&value)?;
            } else {
                rows(&mut assembly, &value, of, SEALED)?;
            }
            progress(place.last.min(of), of);
        }
    }
    let tail = files::read(&folder.join(TAIL)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => damaged(&format!("{TAIL} is not there")),
        _ => refused(&folder.join(TAIL))(error),
    })?;
    if !tail.is_empty() {
        let taken =
            without(assembly.chain.range.size() + 1, tail).and_then(|tail| rows(&mut assembly, &tail, of, TAIL));
        taken.map_err(|error| torn.take().unwrap_or(error))?;
    }
    if let Some(torn) = torn.filter(|_| assembly.chain.range.size() < of) {
        return Err(torn);
    }
    if !assembly.is_signed() {
        return Err(damaged("its events are not those that its checkpoint signs"));
    }
    if assembly.chain.range.size() != of || crate::hex(&assembly.chain.head) != summary.head {
        return Err(damaged("its events end elsewhere than its summary says"));
    }
    if restore_blobs(&folder.join(BLOB_FOLDER), &mut assembly)? < summary.blobs {
        return Err(damaged("some of its blobs are missing"));
    }
    if checkpoint.size > 0 {
        assembly.checkpoint(checkpoint.size, &summary.checkpoint)?;
    }
    let chain = assembly.finish()?;
    Ok(Head::of(&chain))
}

/// What the backup itself says was erased: should it be there all the same, it is not brought back.
fn erased(folder: &Path, of: u64) -> Result<LeftOut, BackupError> {
    let mut erasures = Erasures::default();
    for name in [SEALED, TAIL] {
        let path = folder.join(name);
        let Some(mut file) = segments_file::open(&path).map_err(refused(&path))? else { continue };
        for place in segments_file::places(&mut file).map_err(refused(&path))? {
            let value = segments_file::value(&mut file, &place).map_err(refused(&path))?;
            // What a later backup began says nothing of this one.
            for record in records_of(&value).iter().filter(|(seq, ..)| *seq <= of) {
                erasures.take(record);
            }
        }
    }
    Ok(erasures.left_out())
}

/// The events of a segment that are not there yet, up to a number, as rows.
fn rows(assembly: &mut Assembly<'_>, value: &[u8], until: u64, file: &str) -> Result<(), BackupError> {
    let unpacked = Segment::parse(value).and_then(|segment| Ok((segment.header.first, segment.frames()?)));
    let (first, frames) = unpacked.map_err(|error| BackupError::Damaged { what: format!("{file}: {error}") })?;
    for (seq, frame) in (first..=until).zip(frames.iter()) {
        let size = assembly.chain.range.size();
        if seq > size + 1 {
            return Err(AssemblyError::Gap { after: size, found: seq }.into());
        }
        if seq == size + 1 {
            assembly.row(frame)?;
        }
    }
    Ok(())
}

/// Takes in every blob of a folder; how many there are.
fn restore_blobs(folder: &Path, assembly: &mut Assembly<'_>) -> Result<u64, BackupError> {
    let mut count = 0;
    let entries = match fs::read_dir(folder) {
        // Whoever counts them says so.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries.map_err(refused(folder))?,
    };
    for entry in entries {
        let path = entry.map_err(refused(folder))?.path();
        let name = path.file_name().and_then(|name| blake3::Hash::from_hex(name.as_encoded_bytes()).ok());
        // A file of another name is what a backup that broke off left.
        let Some(name) = name else { continue };
        let packed = files::read(&path).map_err(refused(&path))?;
        assembly.blob(&BlobHash(*name.as_bytes()), &packed)?;
        count += 1;
    }
    Ok(count)
}

/// Appends the record and verifies the whole of the new file, by the key that the log is to be gone on with.
fn begin_epoch(fresh: &Path, keys: LogKeys, record: Draft) -> Result<Head, BackupError> {
    let log = Log::open_as_it_is(fresh, keys)?;
    let appended = log.append(Append { events: vec![record], expect: Expect::Any });
    appended.map_err(|error| BackupError::Damaged { what: error.to_string() })?;
    // With the record: it says that what came later is not in it, and that may be what says what was erased.
    log.reader().verify(|_, _| {})?;
    Ok(log.head())
}

//! `metnos log checkpoint|anchor|backup|restore|compact`: what keeps the record beyond its file.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use metnos_log::event::instance::{CheckpointAnchored, EpochOpened};
use metnos_log::note::{Checkpoint, NoteError};
use metnos_log::store::{BackupError, Damage, Head, ReadError, RewriteError, restore};
use metnos_log::{Draft, EventId};
use serde_json::json;

use super::super::output::{Failure, by, remedy};
use super::super::{Context, console, output, progress};
use super::shown;
use crate::cause::plain;
use crate::config::credentials::Credentials;
use crate::config::{Dirs, resolved};
use crate::instance::{self, Instance, now, random};
use crate::signing::{Keys, hex};

/// What lies where a log would go.
pub(super) fn occupied(path: &Path) -> serde_json::Value {
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file);
    let is_empty = found.as_ref().is_some_and(|file| file.len() == 0);
    json!({ "file": path.to_string_lossy(), "is_file": found.is_some(), "is_empty": is_empty })
}

impl From<BackupError> for Failure {
    fn from(error: BackupError) -> Self {
        let reason = json!({ "reason": output::causes(&error) });
        let (message, hint) = match &error {
            BackupError::Occupied { path } => (("error.log_occupied", occupied(path)), by("next.restore_elsewhere")),
            BackupError::Foreign { path } => {
                (("error.no_backup_folder", json!({ "folder": path.to_string_lossy() })), by("next.empty_folder"))
            }
            BackupError::OtherLog { path, found, own } => (
                ("error.other_backup", json!({ "folder": path.to_string_lossy(), "found": found, "own": own })),
                by("next.empty_folder"),
            ),
            BackupError::Ahead { path, first, last } => (
                ("error.backup_ahead", json!({ "folder": path.to_string_lossy(), "first": first, "last": last })),
                by("next.backup_elsewhere"),
            ),
            BackupError::Busy { path } => {
                return Self::failed(
                    ("error.backup_busy", json!({ "folder": path.to_string_lossy() })),
                    by("next.backup_busy"),
                );
            }
            BackupError::Newer { .. } => (("error.no_backup", reason), by("next.newer")),
            // A folder, or something to be waited for, where a file of a backup must be; a file where the folder must be.
            BackupError::Io { source, .. } if is_of_another_kind(source) => {
                (("error.no_backup", reason), by("next.backup_folder"))
            }
            BackupError::NoBackup { .. } => (("error.no_backup", reason), by("next.backup_folder")),
            BackupError::Note(NoteError::OtherKey) => (("error.backup_key", reason), by("next.backup_keys")),
            BackupError::Note(_) | BackupError::Damaged { .. } => {
                (("error.backup_damaged", reason), by("next.other_backup"))
            }
            BackupError::Unerased { .. } => (("error.backup_failed", reason), by("next.compact_erases")),
            BackupError::Summary { path, .. } => {
                let values = json!({ "file": path.to_string_lossy() });
                (("error.backup_failed", reason), ("next.summary_again", values).into())
            }
            BackupError::Io { path, .. } => {
                return Self::failed(
                    ("error.backup_failed", reason),
                    remedy(&error, Some(path), by("next.writable_folder")),
                );
            }
            BackupError::Read(ReadError::Archive { .. }) => {
                return Self::failed(("error.backup_failed", reason), remedy(&error, None, by("next.archive_back")));
            }
            BackupError::Read(_) | BackupError::Open(_) | BackupError::Unwritten(_) | BackupError::Unsigned(_) => {
                return Self::failed(("error.backup_failed", reason), remedy(&error, None, by("next.verify_log")));
            }
        };
        Self::refused(message, hint)
    }
}

/// Whether the system, or whoever asks it, says that something is no file or no folder where it must be one.
fn is_of_another_kind(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, InvalidInput, IsADirectory, NotADirectory};
    matches!(error.kind(), AlreadyExists | InvalidInput | IsADirectory | NotADirectory)
}

impl From<RewriteError> for Failure {
    fn from(error: RewriteError) -> Self {
        let (error, message, usual) = match error {
            RewriteError::Behind(error) => (*error, "error.erased_in_part", "next.erase_again"),
            error => (error, "error.not_rewritten", "next.verify_log"),
        };
        let is_away = matches!(&error, RewriteError::Archive { .. })
            || matches!(&error, RewriteError::Damaged(damage) if matches!(**damage, Damage::Archive { .. }));
        let hint = if is_away { "next.archive_back" } else { usual };
        let path = if let RewriteError::Io { path, .. } = &error { Some(path.as_path()) } else { None };
        let hint = remedy(&error, path, by(hint));
        Self::failed((message, json!({ "reason": output::causes(&error) })), hint)
    }
}

/// Prints the signed note over everything that is in the log.
pub(super) fn checkpoint(context: &Context, instance: &Instance) -> Result<u8, Failure> {
    let note = instance.log.checkpoint().map_err(|error| Failure::internal(error.to_string()))?;
    if context.global.json {
        let size = note.lines().nth(1).and_then(|size| size.parse::<u64>().ok());
        output::result_json(&json!({ "checkpoint": note, "events": size, "public_key": instance.keys.public_hex() }));
    } else {
        output::content(&note);
    }
    Ok(0)
}

/// Writes the note where it stays when the log does not, and records that it is there.
pub(super) fn anchor(context: &Context, to: &Path) -> Result<u8, Failure> {
    let instance = context.instance()?;
    let note = instance.log.checkpoint().map_err(|error| Failure::internal(error.to_string()))?;
    // What the note says: the log may have gone on since.
    let head = Checkpoint::verified(&note, &instance.keys.verifying())
        .map_err(|error| Failure::internal(error.to_string()))?;
    let path = console::path(to);
    let unwritten = |error: std::io::Error| {
        Failure::refused(
            ("error.file_unusable", json!({ "file": path.to_string_lossy(), "reason": plain(&error) })),
            remedy(&error, Some(&path), by("next.new_file")),
        )
    };
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&path).map_err(unwritten)?;
    if let Err(error) = file.write_all(note.as_bytes()).and_then(|()| file.sync_all()) {
        // Half a note is none, and would be in the way of the next.
        fs::remove_file(&path).ok();
        return Err(unwritten(error));
    }
    let anchored = CheckpointAnchored { size: head.size, head: hex(&head.head), place: path.display().to_string() };
    if let Err(error) = instance.record("instance", vec![anchored.into()]) {
        // Nothing says of it that it is one.
        fs::remove_file(&path).ok();
        return Err(error.into());
    }
    let values = json!({ "events": head.size, "file": path.to_string_lossy(), "key": instance.keys.public_hex() });
    if context.global.json {
        output::result_json(&values);
    } else {
        output::result(&context.text(&instance, "log.anchored", &values));
    }
    Ok(0)
}

/// Copies what is new to a folder of plain files.
pub(super) fn backup(context: &Context, instance: &Instance, folder: Option<&PathBuf>) -> Result<u8, Failure> {
    let own = instance.dirs.data.join("backups");
    let folder = folder.map_or_else(|| own.join("own"), |folder| console::path(folder));
    // Erasure follows into the backups of the home, and nowhere else in it, by whatever name.
    let is_own = resolved(&folder).parent() == Some(&resolved(&own))
        || folder.parent() == Some(&own) && folder.file_name().is_some();
    if instance.dirs.hold(&folder) && !is_own {
        return Err(Failure::usage(by("error.backup_in_home"), ("next.backup_in_home", json!({ "folder": own }))));
    }
    // A copy that breaks off is one too: an erasure names it from its first byte on.
    instance.alone(|| {
        instance.log.prepare_backup(&folder)?;
        Ok::<_, Failure>(crate::erasure::remember_backup(instance, &folder)?)
    })?;
    let line = progress::line(context);
    let backed_up =
        instance.alone(|| instance.log.backup(&folder, |done, of| line.say(&shown(context, instance, done, of))))?;
    drop(line);
    let summary = &backed_up.summary;
    let values = json!({
        "folder": folder.to_string_lossy(), "events": summary.events, "blobs": summary.blobs, "head": summary.head,
        "kib": backed_up.bytes_written.div_ceil(1024), "bytes_written": backed_up.bytes_written,
        "key_file": instance.dirs.config.join("keys/instance.ed25519"),
    });
    if context.global.json {
        output::result_json(&values);
    } else {
        output::result(&context.text(instance, "log.backed_up", &values));
    }
    context.tell_pending_erasure(instance);
    Ok(0)
}

/// Makes the log of a home that has none of a backup.
pub(super) fn from_backup(context: &Context, folder: &Path) -> Result<u8, Failure> {
    let dirs =
        Dirs::resolve(context.global.home.as_deref(), &context.variables).map_err(instance::InstanceError::from)?;
    let path = dirs.log();
    if path.exists() {
        return Err(BackupError::Occupied { path }.into());
    }
    let key = dirs.config.join("keys/instance.ed25519");
    // Where it may not be looked for, opening says why.
    if !key.try_exists().unwrap_or(true) {
        return Err(Failure::refused(("error.no_key_here", json!({ "file": key })), by("next.restore_keys")));
    }
    dirs.create().map_err(instance::InstanceError::from)?;
    let (keys, _) = Keys::open(&dirs.config.join("keys")).map_err(instance::InstanceError::from)?;
    let credentials = Credentials::open(&dirs.config, &keys).map_err(instance::InstanceError::from)?;
    let log_keys = instance::log_keys(&keys, &credentials);
    let time = now();
    let record = |end: &Head| Draft {
        id: EventId::new(time, random()),
        time,
        stream: "instance".to_owned(),
        actor: metnos_projections::machines::actors::HOST.to_owned(),
        turn: None,
        cause: None,
        event: EpochOpened {
            reason: "restored".to_owned(),
            size: end.size,
            head_before: hex(&end.head),
            lost: Vec::new(),
            again: None,
            lost_blobs: Vec::new(),
        }
        .into(),
        blobs: Vec::new(),
    };
    let line = progress::line(context);
    let head =
        restore(&console::path(folder), &path, log_keys, record, |done, of| line.say(&format!("{done} / {of}")))?;
    drop(line);
    // What was made of another log there is of no use to this one, and may hold what this one does not.
    for stale in [dirs.data.join("projections"), dirs.workspace.join(".audit")] {
        crate::erasure::remove_files(&stale)?;
    }
    let values = json!({ "events": head.size - 1, "head": hex(&head.head), "file": path });
    if context.global.json {
        output::result_json(&values);
    } else {
        let messages = metnos_projections::messages::Messages::embedded();
        output::result(&messages.say(context.spoken(), "log.restored", values));
    }
    Ok(0)
}

/// Gives back what the file does not need.
pub(super) fn compact(context: &Context, instance: &Instance) -> Result<u8, Failure> {
    let line = progress::line(context);
    line.say(&context.text(instance, "log.compacting", &json!({})));
    let rewritten = instance.alone(|| instance.log.compact())?;
    drop(line);
    let kib = |bytes: u64| bytes.div_ceil(1024);
    let values = json!({
        "before": kib(rewritten.bytes_before), "after": kib(rewritten.bytes_after),
        "payloads": rewritten.payloads, "bytes_before": rewritten.bytes_before, "bytes_after": rewritten.bytes_after,
    });
    if context.global.json {
        output::result_json(&values);
    } else {
        output::result(&context.text(instance, "log.compacted", &values));
    }
    Ok(0)
}

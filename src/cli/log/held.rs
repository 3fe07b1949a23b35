//! `metnos log verify --anchor FILE`: whether the log still is what a note that was kept elsewhere says.

use std::path::{Path, PathBuf};

use metnos_log::note::{Checkpoint, NoteError};
use metnos_log::store::ReadError;
use serde_json::{Value, json};

use super::super::console::{Heard, Wanted};
use super::super::output::{Failure, by, remedy};
use super::super::{Context, console, output};
use crate::anchoring::{Verdict, held};
use crate::cause::plain;
use crate::instance::Instance;

/// The longest text in which a note is looked for.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// A checkpoint, and what a person is told of where it stands.
pub(super) struct Noted {
    checkpoint: Checkpoint,
    place: Value,
}

/// The checkpoints in files, or in what is pasted: the words around them are passed over, every signature is checked.
pub(super) fn read(instance: &Instance, from: &[PathBuf]) -> Result<Vec<Noted>, Failure> {
    let mut found = Vec::new();
    for from in from {
        let notes = Checkpoint::all_in(&text(from)?);
        if notes.is_empty() {
            return Err(Failure::refused(
                ("error.no_checkpoint", json!({ "file": from.to_string_lossy() })),
                by("next.whole_note"),
            ));
        }
        for (at, note) in notes.iter().enumerate() {
            let place = json!({ "file": from.to_string_lossy(), "number": at + 1, "of": notes.len() });
            found.push(Noted { checkpoint: verified(instance, note, &place)?, place });
        }
    }
    Ok(found)
}

fn verified(instance: &Instance, note: &str, place: &Value) -> Result<Checkpoint, Failure> {
    Checkpoint::verified(note, &instance.keys.verifying()).map_err(|error| match error {
        // A log has one key: a note that names this log, and whose signature names no key of it, is not what was signed.
        NoteError::OtherKey if !note.to_lowercase().contains(instance.log.id()) => {
            Failure::refused(("error.note_key", place.clone()), by("next.right_note"))
        }
        // Both cases are told apart in base64; mails and chats that change that leave nothing else to see.
        _ if !note.chars().any(|sign| sign.is_ascii_uppercase()) => {
            Failure::refused(("error.note_small", place.clone()), by("next.note_as_file"))
        }
        NoteError::OtherKey | NoteError::Malformed(_) | NoteError::Signature => {
            Failure::refused(("error.note_changed", place.clone()), by("next.note_as_file"))
        }
    })
}

fn text(from: &Path) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| {
        let values = json!({ "file": from.to_string_lossy(), "reason": plain(&error) });
        let hint = remedy(&error, Some(&console::path(from)), by("next.there"));
        Failure::refused(("error.file_unusable", values), hint)
    };
    let bytes = if from == Path::new("-") {
        match console::current().read(Wanted::All(TEXT_BYTES_MAX), &[]).map_err(unreadable)? {
            Heard::Bytes(bytes) => bytes,
            Heard::Ended | Heard::Cancelled => Vec::new(),
        }
    } else {
        let file = std::fs::File::open(console::path(from)).map_err(unreadable)?;
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::Read::take(file, TEXT_BYTES_MAX), &mut bytes).map_err(unreadable)?;
        bytes
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What the log says of them, for programs; whether all hold.
pub(super) fn as_json(instance: &Instance, noted: &[Noted]) -> Result<(Vec<Value>, bool), ReadError> {
    let mut told = Vec::new();
    for Noted { checkpoint, .. } in noted {
        let verdict = held(&instance.log.reader(), instance.log.id(), checkpoint)?;
        let why = match verdict {
            Verdict::Holds => None,
            Verdict::Shorter { .. } => Some("shorter"),
            Verdict::Other => Some("changed"),
            Verdict::OtherLog => Some("other_log"),
        };
        told.push(json!({
            "events": checkpoint.size, "head": crate::signing::hex(&checkpoint.head), "holds": why.is_none(), "why": why,
        }));
    }
    let all_hold = told.iter().all(|told| told["holds"] == true);
    Ok((told, all_hold))
}

/// The same for people: one sentence where all hold, a refusal of the first that does not.
pub(super) fn said(context: &Context, instance: &Instance, noted: &[Noted]) -> Result<u8, Failure> {
    for Noted { checkpoint, place } in noted {
        let mut values = place.clone();
        values["events"] = checkpoint.size.into();
        let (message, hint) = match held(&instance.log.reader(), instance.log.id(), checkpoint)? {
            Verdict::Holds => continue,
            Verdict::Shorter { size } => {
                values["own"] = size.into();
                ("error.anchor_shorter", "next.backup_anchor")
            }
            Verdict::Other => ("error.anchor_changed", "next.backup_anchor"),
            Verdict::OtherLog => {
                (values["own"], values["found"]) = (instance.log.id().into(), checkpoint.log_id.as_str().into());
                ("error.note_log", "next.right_note")
            }
        };
        return Err(Failure::refused((message, values), by(hint)));
    }
    if let Some(most) = noted.iter().map(|noted| noted.checkpoint.size).max() {
        let values = json!({ "events": most, "count": noted.len() });
        output::result(&context.text(instance, "log.anchor_holds", &values));
    }
    Ok(0)
}

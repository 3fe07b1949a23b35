//! `metnos log verify --anchor FILE`: whether the log still is what a note that was kept elsewhere says.

use std::path::Path;

use metnos_log::note::{Checkpoint, NoteError};
use metnos_log::store::ReadError;
use serde_json::{Value, json};

use super::super::console::{Heard, Wanted};
use super::super::output::{Failure, by};
use super::super::{Context, console, output};
use crate::anchoring::{Verdict, held};
use crate::instance::Instance;

/// The longest text in which a note is looked for.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// The checkpoint in a file, or in what is pasted: the words around it are passed over, its signature is checked.
pub(super) fn read(instance: &Instance, from: &Path) -> Result<Checkpoint, Failure> {
    let text = text(from)?;
    let values = json!({ "file": from });
    let note = Checkpoint::found_in(&text)
        .ok_or_else(|| Failure::refused(("error.no_checkpoint", values.clone()), by("next.whole_note")))?;
    Checkpoint::verified(&note, &instance.keys.verifying()).map_err(|error| match error {
        NoteError::OtherKey => Failure::refused(("error.note_key", values), by("next.right_note")),
        NoteError::Malformed(_) | NoteError::Signature => {
            Failure::refused(("error.note_changed", values), by("next.whole_note"))
        }
    })
}

fn text(from: &Path) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| {
        let values = json!({ "file": from, "reason": error.to_string() });
        Failure::refused(("error.file_unusable", values), by("next.whole_note"))
    };
    let bytes = if from == Path::new("-") {
        match console::current().read(Wanted::All(TEXT_BYTES_MAX), None).map_err(unreadable)? {
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

/// What the log says of it, for programs.
pub(super) fn as_json(instance: &Instance, checkpoint: &Checkpoint) -> Result<Value, ReadError> {
    let verdict = held(&instance.log.reader(), instance.log.id(), checkpoint)?;
    let why = match verdict {
        Verdict::Holds => None,
        Verdict::Shorter { .. } => Some("shorter"),
        Verdict::Other => Some("changed"),
        Verdict::OtherLog => Some("other_log"),
    };
    Ok(json!({
        "events": checkpoint.size, "head": crate::signing::hex(&checkpoint.head), "holds": why.is_none(), "why": why,
    }))
}

/// The same for people: one sentence where it holds, a refusal where it does not.
pub(super) fn said(context: &Context, instance: &Instance, checkpoint: &Checkpoint) -> Result<u8, Failure> {
    let values = json!({ "events": checkpoint.size, "own": instance.log.id(), "found": checkpoint.log_id });
    match held(&instance.log.reader(), instance.log.id(), checkpoint)? {
        Verdict::Holds => output::result(&context.text(instance, "log.anchor_holds", &values)),
        Verdict::Shorter { size } => {
            let values = json!({ "events": checkpoint.size, "own": size });
            return Err(Failure::refused(("error.anchor_shorter", values), by("next.backup_anchor")));
        }
        Verdict::Other => return Err(Failure::refused(("error.anchor_changed", values), by("next.backup_anchor"))),
        Verdict::OtherLog => return Err(Failure::refused(("error.note_log", values), by("next.right_note"))),
    }
    Ok(0)
}

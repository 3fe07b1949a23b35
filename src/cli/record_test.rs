//! `metnos record-test`: one turn as a history of its own, that any metnos can replay: a test, or a report of a fault.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::output::{by, remedy};
use super::{Context, Failure, console, output};
use crate::cause::plain;
use crate::export::case::{self, Case, CaseError};

/// Write a turn down as a test that needs no model, no network and no secret.
#[derive(Args, Debug)]
pub(super) struct RecordTest {
    /// Its id, or «last».
    #[arg(default_value = "last")]
    turn: String,
    /// A folder that is not there yet; by default turn-ID where you are.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(context: &Context, command: &RecordTest) -> Result<u8, Failure> {
    context.refuse_past()?;
    let instance = context.instance()?;
    let (id, _) = super::turn::events(&instance, &command.turn)?;
    let case = case::of(&instance.log.reader(), &instance.rules, id).map_err(|error| refusal(error, id))?;
    let named = command.out.clone().unwrap_or_else(|| format!("turn-{id}").into());
    let folder = console::path(&named);
    if folder.exists() {
        return Err(Failure::refused(
            ("error.is_there", json!({ "file": folder.to_string_lossy() })),
            by("next.other_folder"),
        ));
    }
    let unusable = |error: std::io::Error| {
        let values = json!({ "file": folder.to_string_lossy(), "reason": plain(&error) });
        Failure::failed(("error.file_unusable", values), remedy(&error, Some(&folder), by("next.writable_folder")))
    };
    // The last folder must be this command's own.
    let above = folder.parent().map_or(Ok(()), fs::create_dir_all);
    above.and_then(|()| fs::create_dir(&folder)).map_err(unusable)?;
    let files = [("history.jsonl", &case.history), ("digests.txt", &case.digests), ("notes.md", &notes(&case))];
    if let Err(error) = files.into_iter().try_for_each(|(name, text)| fs::write(folder.join(name), text)) {
        // Half of it is of no use, and would be in the way of the next.
        fs::remove_dir_all(&folder).ok();
        return Err(unusable(error));
    }
    let values = json!({ "folder": folder.to_string_lossy(), "history": folder.join("history.jsonl").to_string_lossy(), "events": case.events, "decidable": case.is_decidable, "turn": id });
    if context.global.json {
        output::result_json(&values);
    } else {
        output::result(&context.text(&instance, "replay.recorded", &values));
    }
    Ok(0)
}

fn refusal(error: CaseError, id: metnos_log::TurnId) -> Failure {
    match error {
        CaseError::Read(error) => error.into(),
        other => Failure::refused(
            ("error.not_recorded", json!({ "id": id, "reason": other.to_string() })),
            by("next.show_turn"),
        ),
    }
}

/// What the history is about, for whoever finds it.
fn notes(case: &Case) -> String {
    let compared = if case.is_decidable {
        "Its decisions are compared when it is replayed by these rules."
    } else {
        "Other rules decided it, or something of it was redacted: replayed, only the order of its events is checked."
    };
    format!(
        "# {}\n\nOne turn, which ended as: {}. The person's folders have other names of the same length; the rest is as it\n\
         was recorded, with the sentence and what the executors returned. {compared}\n",
        case.text.lines().next().unwrap_or_default(),
        case.ended,
    )
}

//! `metnos audit`: exported lines, the same bytes for the same log.

use clap::Subcommand;
use metnos_projections::views::audit::Line;
use serde_json::json;

use super::output::by;
use super::{Context, Failure, output};
use crate::export::audit;

/// Export audit lines.
#[derive(Subcommand, Debug)]
pub(super) enum Audit {
    /// Write the files below the workspace; with --json print every line instead.
    Export {
        /// Only this kind: executors or turns.
        #[arg(long)]
        kind: Option<String>,
    },
}

pub(super) fn run(context: &Context, command: &Audit) -> Result<u8, Failure> {
    let Audit::Export { kind } = command;
    let instance = context.instance()?;
    if let Some(kind) = kind.as_deref().filter(|kind| !matches!(*kind, "executors" | "turns")) {
        return Err(Failure::usage(("error.no_audit_kind", json!({ "kind": kind })), by("next.audit_kinds")));
    }
    if context.global.json {
        let print = |line: &Line| {
            if kind.as_deref().is_none_or(|kind| kind == line.kind) {
                output::json_text(&line.text);
            }
            Ok::<(), Failure>(())
        };
        audit::each_line(&instance.log.reader(), print)?;
        return Ok(0);
    }
    let folder = instance.dirs.workspace.join(".audit");
    let count = audit::write(&instance.log, &folder)?;
    output::result(&context.text(&instance, "audit.exported", &json!({ "count": count, "folder": folder })));
    Ok(0)
}

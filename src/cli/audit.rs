//! `metnos audit`: what happened, for others to keep, to read in their own tools, and to check without this home.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use metnos_projections::messages::Messages;
use metnos_projections::views::audit::selection::Selection;
use metnos_projections::views::audit::{Kind, verify};
use serde_json::json;

use super::moment::Moment;
use super::output::{by, remedy};
use super::{Context, Failure, actor, audit_correct, console, named, output, progress};
use crate::cause::plain;
use crate::export::audit;
use crate::export::audit_file::{FileError, Fresh};
use crate::export::audit_lines::{self, Format};
use crate::instance::Instance;

/// How long the file of a public key may be.
const KEY_BYTES_MAX: u64 = 4096;

/// Export audit lines, check an export, correct a line.
#[derive(Subcommand, Debug)]
pub(super) enum Audit {
    /// Print the lines that the options choose; without any option write the files below the workspace.
    #[command(after_help = "A day is a whole day in the configured zone. CSV: texts that a spreadsheet would run as \
                            formulas begin with an apostrophe. otel: spans carry no content.")]
    Export(Box<Export>),
    /// Check a file of audit export --proof, with nothing but its bytes and a public key.
    Verify {
        /// The file.
        file: PathBuf,
        /// The log's public key: 64 hexadecimal digits, or a file with them such as config/keys/instance.pub.
        #[arg(long, value_name = "KEY")]
        key: String,
    },
    /// Add a correction to a line; the line stays as it is.
    Rectify {
        /// The number that the line has as its seq.
        line: u64,
        /// What is to be read with it.
        #[arg(long, value_name = "TEXT")]
        note: String,
    },
}

/// Which lines, and how.
#[derive(Args, Debug)]
pub(super) struct Export {
    /// Only what ended from a moment on: an event's number, a day as 2026-11-22, a day and an hour as «2026-11-22 18:30», a time with its zone as
    /// 2026-11-22T18:30:00+01:00, or now. Of a day its beginning is meant.
    #[arg(long, value_name = "MOMENT")]
    since: Option<Moment>,
    /// Only what ended up to a moment, written alike. Of a day its end is meant.
    #[arg(long, value_name = "MOMENT")]
    until: Option<Moment>,
    /// Only this kind: executors, turns, corrections or erasures.
    #[arg(long)]
    kind: Option<String>,
    /// Only what was done for this person: an id or a name.
    #[arg(long, value_name = "WHO")]
    actor: Option<String>,
    /// Only the calls of this executor.
    #[arg(long, value_name = "NAME")]
    executor: Option<String>,
    /// Only this turn.
    #[arg(long, value_name = "ID")]
    turn: Option<String>,
    /// How the lines are written.
    #[arg(long, value_enum)]
    format: Option<Written>,
    /// Write them to this file, whole or not at all; an earlier export is replaced, nothing else is.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Add what proves that the lines are in the log, for audit verify.
    #[arg(long)]
    proof: bool,
    /// With --proof and a choice: show what quotes other turns too, which is otherwise withheld.
    #[arg(long, requires = "proof")]
    quotes: bool,
}

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lowercase")]
pub(super) enum Written {
    /// JSON lines.
    Jsonl,
    /// A table, RFC 4180.
    Csv,
    /// CloudEvents 1.0, one a line.
    CloudEvents,
    /// OpenTelemetry spans, one a line.
    Otel,
}

impl Audit {
    /// Whether it is about what an instance holds.
    pub(super) fn needs_instance(&self) -> bool {
        !matches!(self, Self::Verify { .. })
    }
}

pub(super) fn run(context: &Context, command: &Audit) -> Result<u8, Failure> {
    match command {
        Audit::Export(export) => {
            let instance = context.instance()?;
            context.tell_pending_erasure(&instance);
            if export.is_plain() && !context.global.json {
                return files(context, &instance);
            }
            lines(context, &instance, export)
        }
        Audit::Verify { file, key } => check(context, file, key),
        Audit::Rectify { line, note } => audit_correct::run(context, *line, note),
    }
}

/// The files below the workspace.
fn files(context: &Context, instance: &Instance) -> Result<u8, Failure> {
    let folder = instance.dirs.workspace.join(".audit");
    let count = audit::write(&instance.log, &folder)?;
    output::result(&context.text(instance, "audit.exported", &json!({ "count": count, "folder": folder })));
    Ok(0)
}

impl Export {
    fn is_plain(&self) -> bool {
        let Self { since, until, kind, actor, executor, turn, format, out, proof, quotes: _ } = self;
        let texts = [kind, actor, executor, turn];
        texts.iter().all(|text| text.is_none())
            && since.is_none()
            && until.is_none()
            && format.is_none()
            && out.is_none()
            && !proof
    }

    fn format(&self) -> Result<Format, Failure> {
        match (self.proof, self.format.unwrap_or(Written::Jsonl)) {
            (true, Written::Jsonl) => Ok(Format::Proof { quotes: self.quotes }),
            (true, _) => Err(Failure::usage(by("error.proof_format"), by("next.proof_format"))),
            (false, Written::Jsonl) => Ok(Format::Jsonl),
            (false, Written::Csv) => Ok(Format::Csv),
            (false, Written::CloudEvents) => Ok(Format::CloudEvents),
            (false, Written::Otel) => Ok(Format::Otel),
        }
    }

    fn selection(&self, instance: &Instance) -> Result<Selection, Failure> {
        let no_kind =
            |kind: &str| Failure::usage(("error.no_audit_kind", json!({ "kind": kind })), by("next.audit_kinds"));
        let bounds = |moment: &Option<Moment>| moment.as_ref().map(|moment| moment.span(instance)).transpose();
        let turn = self.turn.as_ref().map(|turn| super::turn::events(instance, turn)).transpose()?;
        let kind = |kind: &String| Kind::parse(kind).ok_or_else(|| no_kind(kind));
        let (since, before) = (bounds(&self.since)?.map(|(first, _)| first), bounds(&self.until)?.map(|(_, end)| end));
        if since.zip(before).is_some_and(|(since, before)| since >= before) {
            return Err(Failure::usage(by("error.span_backwards"), by("next.span_order")));
        }
        Ok(Selection {
            kind: self.kind.as_ref().map(kind).transpose()?,
            since,
            before,
            actor: self.actor.as_ref().map(|who| actor::known(instance, who)).transpose()?,
            executor: self.executor.clone(),
            turn: turn.map(|(id, _)| id.to_string()),
        })
    }
}

fn lines(context: &Context, instance: &Instance, export: &Export) -> Result<u8, Failure> {
    let (format, selection) = (export.format()?, export.selection(instance)?);
    // At `--at`, the log as it was; what is appended while this runs is no part of it.
    let folding = progress::folding(context);
    let watch = |done, of| folding.say(done, of);
    let Some(out) = &export.out else {
        let is_json = format != Format::Csv;
        let mut put = |text: &str| {
            folding.end();
            output::exported(text, is_json);
            Ok::<(), Failure>(())
        };
        let count = audit_lines::export_by_index(instance, format, &selection, (&watch, &mut put));
        folding.end();
        context.tell_views(instance);
        if count? == 0 {
            // Where nothing comes out, a mistyped choice would look like nothing that happened.
            output::aside(&context.text(instance, "audit.nothing_chosen", &json!({})));
        }
        return Ok(0);
    };
    let path = console::path(out);
    let mut file = Fresh::create(&path)?;
    let mut put = |text: &str| Ok::<(), Failure>(file.put(text)?);
    let count = audit_lines::export_by_index(instance, format, &selection, (&watch, &mut put));
    folding.end();
    context.tell_views(instance);
    let count = count?;
    file.finish()?;
    actor::done(context, instance, "audit.written", &json!({ "count": count, "file": path.to_string_lossy() }));
    Ok(0)
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Foreign { path } => {
                Self::refused(("error.not_ours", json!({ "file": path.to_string_lossy() })), by("next.other_file"))
            }
            FileError::Io { path, source } => {
                let values = json!({ "file": path.to_string_lossy(), "reason": source.to_string() });
                let hint = remedy(&source, Some(&path), by("next.other_file"));
                Self::failed(("error.file_unwritten", values), hint)
            }
        }
    }
}

/// Checks a file. Neither the home nor its log is looked at.
fn check(context: &Context, file: &Path, key: &str) -> Result<u8, Failure> {
    let unreadable = |file: &Path, error: &std::io::Error| {
        let values = json!({ "file": file.to_string_lossy(), "reason": plain(&error) });
        Failure::refused(("error.file_unreadable", values), by("next.proof_file"))
    };
    let in_file = || {
        let bytes = named::bytes(Path::new(key), KEY_BYTES_MAX).ok()?;
        verify::key(std::str::from_utf8(&bytes).ok()?)
    };
    let key = verify::key(key).or_else(in_file);
    let key = key.ok_or_else(|| Failure::refused(by("error.no_public_key"), by("next.public_key")))?;
    let opened = std::fs::File::open(file).map_err(|error| unreadable(file, &error))?;
    let verified = verify::verified(&mut std::io::BufReader::new(opened), key);
    match verified.map_err(|error| unreadable(file, &error))? {
        Err(refusal) => Err(Failure::refused(refusal.said(), by("next.proof_file"))),
        Ok(proved) if context.global.json => {
            let mut said = proved.said();
            said["ok"] = true.into();
            output::result_json(&said);
            Ok(0)
        }
        Ok(proved) => {
            output::result(&Messages::embedded().say(context.spoken(), "proof.proved", proved.said()));
            Ok(0)
        }
    }
}

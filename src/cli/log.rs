//! `metnos log`: the record itself.

mod archive;
mod erase;
mod expire;
mod grep;
mod held;
mod keep;
mod salvage;

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use metnos_log::envelope::Body;
use metnos_log::event::instance::EpochOpened;
use metnos_log::store::{Damage, ReadError, unreadable_note};
use metnos_log::{Event, Recorded};
use serde_json::{Value, json};

use super::output::{by, remedy};
use super::{Context, Failure, console, output, plainly, progress, status};
use crate::cause::plain;
pub(super) use crate::export::history::line as as_json;
use crate::instance::Instance;
use crate::signing::hex;
use crate::witnesses::{self, Witness};

/// How much of what was lost is named.
const LOST_MAX: usize = 3;

/// Look at the log and verify it.
#[derive(Subcommand, Debug)]
pub(super) enum Log {
    /// Size, head and file.
    Status,
    /// The newest events.
    Tail {
        /// How many.
        #[arg(short = 'n', long, default_value_t = 20)]
        count: u64,
        /// Go on with what is appended, until Ctrl-C.
        #[arg(short, long)]
        follow: bool,
    },
    /// One event, whole.
    Show {
        /// Its number.
        seq: u64,
    },
    Grep(grep::Grep),
    /// Check every stored byte against the chain.
    Verify {
        /// Also against signed notes that were kept elsewhere: a file with one or more, or - for what is pasted here; may be given
        /// more than once.
        #[arg(long, value_name = "FILE")]
        anchor: Vec<PathBuf>,
    },
    /// The whole history as JSON lines, readable without this home; input of replay check --history.
    Export,
    /// Print a signed note of what the log is now.
    Checkpoint,
    /// Write such a note to a file that is kept elsewhere: what it covers cannot be changed unseen.
    Anchor {
        /// The file, which must be new.
        file: PathBuf,
    },
    /// Copy the log to a folder of plain files, or what is new since the last time. It goes on meanwhile.
    Backup {
        /// The folder; data/backups/own of this home without it.
        folder: Option<PathBuf>,
    },
    /// Make the log of a home that has none of a backup.
    Restore {
        /// The backup's folder.
        folder: PathBuf,
    },
    Archive(archive::Archive),
    Salvage(salvage::Salvage),
    /// Copy the log into a fresh file, without what nothing needs any more.
    Compact,
    /// Take what someone wrote or what came back out of the record, for ever.
    Erase(erase::Erase),
    Expire(expire::Expire),
}

impl Log {
    /// Whether it is about a log that is there.
    pub(super) fn needs_instance(&self) -> bool {
        !matches!(self, Self::Restore { .. } | Self::Salvage(_))
    }

    /// Whether there is nothing to do where no log is.
    pub(super) fn needs_log(&self) -> bool {
        self.needs_instance() && !matches!(self, Self::Anchor { .. } | Self::Checkpoint)
    }
}

pub(super) fn run(context: &Context, command: &Log) -> Result<u8, Failure> {
    // A log that may be damaged is looked at without folding it.
    let unfolded = || context.unfolded();
    match command {
        Log::Restore { folder } => keep::from_backup(context, folder),
        Log::Salvage(command) => salvage::run(context, command),
        Log::Grep(command) => grep::run(context, command),
        Log::Erase(command) => erase::run(context, command),
        Log::Expire(command) => expire::run(context, command),
        Log::Anchor { file } => keep::anchor(context, file),
        Log::Checkpoint => keep::checkpoint(context, &unfolded()?),
        Log::Backup { folder } => keep::backup(context, &unfolded()?, folder.as_ref()),
        Log::Archive(command) => archive::run(context, &unfolded()?, command),
        Log::Compact => keep::compact(context, &unfolded()?),
        Log::Export => export(&unfolded()?),
        Log::Status => status(context, &unfolded()?),
        Log::Tail { count, follow } => tail(context, &unfolded()?, *count, *follow),
        Log::Show { seq } => show(context, &unfolded()?, *seq),
        Log::Verify { anchor } => verify(context, &context.examined()?, anchor),
    }
}

/// How far something is.
fn shown(context: &Context, instance: &Instance, done: u64, of: u64) -> String {
    context.text(instance, "log.progress", &json!({ "done": done, "of": of }))
}

fn status(context: &Context, instance: &Instance) -> Result<u8, Failure> {
    let head = instance.log.head();
    let bytes = std::fs::metadata(instance.dirs.log()).map_or(0, |metadata| metadata.len());
    // Where the beginning is archived and not there, the rest is said all the same.
    let first = match instance.log.reader().event(1) {
        Err(ReadError::Archive { .. }) => None,
        first => first?.map(|event| event.time.0),
    };
    let missing = instance.log.reader().missing_archives()?;
    if context.global.json {
        output::result_json(
            &json!({ "archives_missing": missing, "id": instance.log.id(), "events": head.size, "head": hex(&head.head), "file": instance.dirs.log(), "file_bytes": bytes, "format": metnos_log::store::FORMAT }),
        );
    } else {
        let since = first.map(|first| output::moment(first, &instance.settings.zone)).unwrap_or_default();
        let values = json!({
            "id": instance.log.id(), "events": head.size, "since": since, "head": hex(&head.head),
            "file": instance.dirs.log(), "kib": bytes.div_ceil(1024), "format": metnos_log::store::FORMAT,
        });
        output::result(&context.text(instance, "log.status", &values));
        status::tell_missing_archives(context, instance, &missing);
    }
    context.tell_pending_erasure(instance);
    Ok(0)
}

fn tail(context: &Context, instance: &Instance, count: u64, follow: bool) -> Result<u8, Failure> {
    let reader = instance.log.reader();
    let mut next = instance.log.head().size.saturating_sub(count) + 1;
    loop {
        reader.each(next, |recorded| {
            next = recorded.seq + 1;
            if context.global.json {
                output::result_json(&as_json(&recorded));
            } else {
                output::result(&line(&recorded, instance));
            }
            Ok::<bool, Failure>(true)
        })?;
        if !follow {
            return Ok(0);
        }
        // A process that has the log to itself sees nothing new; it is the daemon that shows what others do.
        if !console::current().wait(Duration::from_millis(200)) {
            return Ok(0);
        }
    }
}

fn line(recorded: &Recorded, instance: &Instance) -> String {
    let what = match &recorded.body {
        Body::Known(event) => gist(&event.to_json()),
        Body::Raised(events) => {
            let said = events.iter().map(|event| format!("{}: {}", event.label(), gist(&event.to_json())));
            said.collect::<Vec<_>>().join("; ")
        }
        Body::Unknown(_) => "(of a kind that this program does not know)".to_owned(),
        Body::Erased => "(erased)".to_owned(),
    };
    let time = output::moment(recorded.time.0, &instance.settings.zone);
    format!("{:>6}  {time}  {:<22} {}", recorded.seq, recorded.kind, output::short(&what, 90))
}

/// The short values of a payload.
fn gist(payload: &Value) -> String {
    let parts = payload.as_object().into_iter().flatten().filter_map(|(key, value)| match value {
        Value::String(text) if !text.is_empty() => Some(format!("{key}={}", output::short(text, 40))),
        Value::Number(_) | Value::Bool(_) => Some(format!("{key}={value}")),
        Value::Object(kept) => {
            kept.get("inline").and_then(Value::as_str).map(|text| format!("{key}={}", output::short(text, 60)))
        }
        _ => None,
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// Every event, texts taken in from their blobs.
fn export(instance: &Instance) -> Result<u8, Failure> {
    let reader = instance.log.reader();
    reader.each(1, |recorded| {
        let mut recorded = reader.rehydrated(recorded)?;
        recorded.events_mut().iter_mut().flat_map(metnos_log::Event::kept).for_each(metnos_log::Kept::settle_inline);
        output::result_json(&as_json(&recorded));
        Ok::<bool, Failure>(true)
    })?;
    Ok(0)
}

fn show(context: &Context, instance: &Instance, seq: u64) -> Result<u8, Failure> {
    let reader = instance.log.reader();
    let found = reader.event(seq)?.ok_or_else(|| {
        Failure::refused(
            ("error.no_event", json!({ "seq": seq })),
            ("next.events", json!({ "last": instance.log.head().size })),
        )
    })?;
    let recorded = reader.rehydrated(found)?;
    let value = as_json(&recorded);
    if context.global.json {
        output::result_json(&value);
    } else {
        let mut values = value;
        let payload = values["payload"].take();
        values["when"] = output::moment(recorded.time.0, &instance.settings.zone).into();
        output::result(&context.text(instance, "log.event", &values));
        let said = plainly::lines(&payload);
        if !said.is_empty() {
            output::result(&format!("\n{said}"));
        }
    }
    Ok(0)
}

fn verify(context: &Context, instance: &Instance, anchors: &[PathBuf]) -> Result<u8, Failure> {
    let anchors = held::read(instance, anchors)?;
    let line = progress::line(context);
    let verified = instance.log.reader().verify(|done, of| line.say(&shown(context, instance, done, of)));
    drop(line);
    let verified = match verified {
        Ok(verified) => verified,
        Err(damage) => return damaged(context, instance, &damage),
    };
    let ended = end_lost(instance)?;
    let epochs = epochs(instance)?;
    let note = unreadable_note(&instance.dirs.log()).map(|error| {
        let file = instance.dirs.log().with_extension("head");
        json!({ "file": file.to_string_lossy(), "reason": plain(&error) })
    });
    let mut values = json!({
        "events": verified.head.size, "head": hex(&verified.head.head), "range_root": hex(&verified.range_root),
        "blobs": verified.blobs, "erased": verified.erased, "segments": verified.segments, "archived": verified.archived,
        "checkpoints": verified.checkpoints, "unsigned": verified.head.size - verified.signed,
    });
    if context.global.json {
        let unknown = verified.unknown.iter().map(|(seq, kind)| json!({ "seq": seq, "kind": kind }));
        values["unknown"] = unknown.collect();
        values["epochs"] = epochs.into();
        values["unreadable_note"] = json!(note);
        let (anchors, is_held) = held::as_json(instance, &anchors)?;
        let is_good = is_held && ended.is_none();
        values["ok"] = is_good.into();
        values["seen"] = json!(ended.as_ref().map(|(_, seen)| seen));
        // The one that says the most: the first that does not hold.
        if let Some(anchor) = anchors.iter().find(|anchor| anchor["holds"] == false).or(anchors.first()) {
            values["anchor"] = anchor.clone();
            values["anchors"] = anchors.into();
        }
        output::result_json(&values);
        return Ok(u8::from(!is_good));
    }
    if let Some((failure, _)) = ended {
        return Err(failure);
    }
    output::result(&context.text(instance, "log.verified", &values));
    for epoch in &epochs {
        output::result(&context.text(instance, "log.epoch", epoch));
    }
    if let Some(note) = &note {
        output::result(&context.text(instance, "notice.note_unread", note));
    }
    if crate::erasure::is_pending(instance) {
        output::result(&context.text(instance, "notice.erasure_pending", &json!({})));
    }
    for (seq, kind) in &verified.unknown {
        output::result(&context.text(instance, "log.unknown", &json!({ "seq": seq, "kind": kind })));
    }
    held::said(context, instance, &anchors)
}

/// What is said of a log that is not as it was written.
fn damaged(context: &Context, instance: &Instance, damage: &Damage) -> Result<u8, Failure> {
    if let Damage::Archive { path, .. } = damage
        && let Err(error) = std::fs::File::open(path)
        && error.kind() == std::io::ErrorKind::PermissionDenied
    {
        let values = json!({ "file": path.to_string_lossy(), "reason": plain(&error) });
        let hint = remedy(&error, Some(path), by("next.archive_back"));
        return Err(Failure::failed(("error.file_unusable", values), hint));
    }
    let (message, hint) = match damage {
        Damage::Archive { .. } => ("error.log_damaged", "next.archive_back"),
        damage if damage.is_unerased() && crate::erasure::is_pending(instance) => {
            ("error.log_unerased", "notice.erasure_pending")
        }
        damage if damage.is_unerased() => ("error.log_unerased", "next.compact_erases"),
        _ => ("error.log_damaged", "next.salvage"),
    };
    if context.global.json {
        output::result_json(&json!({
            "ok": false, "seq": damage.seq(), "table": damage.table(), "error": damage.to_string(),
            "hint": context.typed(&context.text(instance, hint, &json!({}))), "exit": 1,
        }));
        return Ok(1);
    }
    Err(Failure::refused((message, json!({ "reason": damage.to_string() })), by(hint)))
}

/// Where the log goes on from a copy, or without an end that it had: what it holds is whole, and was not all.
fn epochs(instance: &Instance) -> Result<Vec<Value>, Failure> {
    let reader = instance.log.reader();
    let mut found = Vec::new();
    for recorded in reader.stream("instance")? {
        let recorded = reader.rehydrated(recorded)?;
        if let Some(Event::EpochOpened(epoch)) = recorded.event() {
            let when = output::moment(recorded.time.0, &instance.settings.zone);
            let lost = lost(epoch);
            found.push(json!({ "seq": recorded.seq, "reason": epoch.reason, "lost": lost, "when": when }));
        }
    }
    Ok(found)
}

/// What an epoch says was lost, in a few words: that each blob is named is for programs.
fn lost(epoch: &EpochOpened) -> Option<String> {
    let mut words: Vec<String> = epoch.lost.iter().filter(|line| !line.starts_with("blob ")).cloned().collect();
    if words.len() > LOST_MAX {
        words.truncate(LOST_MAX);
        words.push("…".to_owned());
    }
    match epoch.lost_blobs.len() {
        0 => {}
        1 => words.push("1 blob".to_owned()),
        blobs => words.push(format!("{blobs} blobs")),
    }
    (!words.is_empty()).then(|| words.join(", "))
}

/// What is said of a log that ends before what something else in the home has seen, and how many events that has seen.
fn end_lost(instance: &Instance) -> Result<Option<(Failure, u64)>, Failure> {
    let data = &instance.dirs.data;
    let seen = witnesses::farthest(data, instance.log.id());
    let backups = witnesses::backups(data, instance.log.id());
    // What is appended meanwhile is in none of them.
    let size = instance.log.head().size;
    let mut backup = None;
    for (folder, summary) in backups.into_iter().filter(|(_, summary)| summary.events > size) {
        // One that parted from the log before its end is of another course: the log was made of an older backup.
        if instance.log.lacks_of(&folder)?.is_some_and(|(first, _)| first == size + 1) {
            backup = Some(Witness { file: folder, events: summary.events });
            break;
        }
    }
    let seen = seen.into_iter().chain(backup.clone()).max_by_key(|witness| witness.events);
    let Some(seen) = seen.filter(|seen| seen.events > size) else { return Ok(None) };
    let hint: output::Said = match backup {
        Some(backup) => ("next.end_in_backup", json!({ "folder": backup.file, "events": backup.events })).into(),
        None => by("next.end_lost"),
    };
    let values = json!({ "events": size, "file": seen.file, "seen": seen.events });
    Ok(Some((Failure::refused(("error.log_end_lost", values), hint), seen.events)))
}

//! `metnos log archive`: says what would be moved, asks, and moves old history out of the log's file into files beside it.

use clap::Args;
use metnos_log::store::{ArchiveError, Archived, Before};
use serde_json::{Value, json};

use super::super::moment::Moment;
use super::super::output::{Failure, by, remedy};
use super::super::{Context, output, progress, terminal};
use super::shown;
use crate::instance::Instance;
use crate::projector::Until;

/// Move old history out of the log's file into files of data/log/archive, where it stays readable.
#[derive(Args, Debug)]
pub(in crate::cli) struct Archive {
    /// What lies wholly before a moment: an event's number, a day as 2026-11-22, a day and an hour as «2026-11-22 18:30», a time with its zone as
    /// 2026-11-22T18:30:00+01:00, or now. Of a day its beginning is meant.
    #[arg(long, value_name = "MOMENT")]
    before: Moment,
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        let reason = json!({ "reason": output::causes(&error) });
        let path = if let ArchiveError::Io { path, .. } = &error { Some(path.as_path()) } else { None };
        let hint = remedy(&error, path, by("next.verify_log"));
        match error {
            ArchiveError::Read(error) => error.into(),
            ArchiveError::Occupied { path } => {
                let values = json!({ "path": path });
                Self::refused(("error.archive_occupied", values.clone()), ("next.put_archive_aside", values))
            }
            _ => Self::failed(("error.not_archived", reason), hint),
        }
    }
}

pub(super) fn run(context: &Context, instance: &Instance, command: &Archive) -> Result<u8, Failure> {
    context.refuse_past()?;
    let before = match command.before.since(instance)? {
        Until::Seq(seq) => Before::Seq(seq),
        Until::Time(time) => Before::Time(time),
    };
    let planned = instance.log.archivable(before)?;
    if planned.segments == 0 {
        return Err(Failure::refused(by("error.nothing_to_archive"), by("next.later_place")));
    }
    terminal::agreed(context, instance, ("consent.archive", &values(instance, &planned)), "error.not_moved")?;
    let line = progress::line(context);
    let archived =
        instance.alone(|| instance.log.archive(before, |done, of| line.say(&shown(context, instance, done, of))))?;
    drop(line);
    let values = values(instance, &archived);
    if context.global.json {
        output::result_json(&values);
    } else {
        output::result(&context.text(instance, "log.archived", &values));
    }
    Ok(0)
}

fn values(instance: &Instance, archived: &Archived) -> Value {
    let (first, last) = archived.events;
    json!({
        "first": first, "last": last, "events": last + 1 - first, "segments": archived.segments,
        "bytes": archived.bytes, "kib": archived.bytes.div_ceil(1024), "files": archived.files,
        "folder": instance.dirs.data.join("log/archive"),
    })
}

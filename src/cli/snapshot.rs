//! `metnos snapshot`: what Metnos knew at the end of a month, and what changed in between.

use clap::Subcommand;
use metnos_projections::views::state::{self, Difference, Taken};
use serde_json::{Value, json};

use super::output::by;
use super::{Context, Failure, actor, output};
use crate::instance::{Instance, now};
use crate::snapshots::{self, SnapshotError};

/// Keep and compare what Metnos knew.
#[derive(Subcommand, Debug)]
pub(super) enum Snapshot {
    /// Take the state as it is now; months are taken by themselves.
    Take,
    /// The states that were taken.
    List,
    /// One state: in short, or every line of it with --json.
    Show {
        /// Its name, for example 2026-10.
        name: String,
    },
    /// What changed between two states.
    Diff {
        /// The earlier one.
        before: String,
        /// The later one.
        after: String,
    },
    /// Compute states again from the log and compare.
    Verify {
        /// Only this one.
        name: Option<String>,
    },
}

impl From<SnapshotError> for Failure {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::Instance(error) => error.into(),
            SnapshotError::Read(error) => error.into(),
            SnapshotError::Io { path, source } => Self::failed(
                ("error.file_unusable", json!({ "file": path.to_string_lossy(), "reason": source.to_string() })),
                "metnos snapshot verify",
            ),
        }
    }
}

pub(super) fn run(context: &Context, command: &Snapshot) -> Result<u8, Failure> {
    let instance = context.instance()?;
    match command {
        Snapshot::Take => {
            context.refuse_past()?;
            let name = snapshots::take_now(&instance, now())?;
            actor::done(context, &instance, "snapshot.taken", &json!({ "name": name }));
        }
        Snapshot::List => list(context, &instance),
        Snapshot::Show { name } => show(context, &instance, name)?,
        Snapshot::Diff { before, after } => diff(context, &instance, before, after)?,
        Snapshot::Verify { name } => return verify(context, &instance, name.as_deref()),
    }
    Ok(0)
}

fn taken(instance: &Instance, name: &str) -> Result<Taken, Failure> {
    let none = || Failure::refused(("error.no_state", json!({ "name": name })), by("next.states"));
    instance.projected().states.taken.get(name).cloned().ok_or_else(none)
}

fn list(context: &Context, instance: &Instance) {
    let states = instance.projected().states;
    if context.global.json {
        return output::result_json(&json!({ "states": states.taken.values().collect::<Vec<_>>() }));
    }
    if states.taken.is_empty() {
        return output::result(&context.text(instance, "snapshot.none", &json!({})));
    }
    let row = |taken: &Taken| {
        let until = output::moment(taken.head.until, &taken.zone);
        vec![taken.head.name.clone(), taken.head.position.to_string(), until, taken.bytes.to_string()]
    };
    let rows: Vec<Vec<String>> = states.taken.values().map(row).collect();
    let heading = |key: &str| context.text(instance, &format!("snapshot.heading_{key}"), &json!({}));
    let headings = ["name", "events", "until", "bytes"].map(heading);
    output::result(&output::table(&headings.each_ref().map(String::as_str), &rows));
}

fn show(context: &Context, instance: &Instance, name: &str) -> Result<(), Failure> {
    let taken = taken(instance, name)?;
    let text = snapshots::computed(instance, &taken)?;
    if context.global.json {
        output::content(&text);
        return Ok(());
    }
    let count = |kind: &str| text.lines().filter(|line| line.contains(&format!("\"kind\":\"{kind}\""))).count();
    let values = json!({
        "name": name, "events": taken.head.position, "until": output::moment(taken.head.until, &taken.zone),
        "executors": count("executor"), "mnests": count("mnest"), "digest": taken.digest,
    });
    output::result(&context.text(instance, "snapshot.shown", &values));
    Ok(())
}

fn diff(context: &Context, instance: &Instance, before: &str, after: &str) -> Result<(), Failure> {
    let text = |name: &str| -> Result<String, Failure> { Ok(snapshots::computed(instance, &taken(instance, name)?)?) };
    let difference = state::difference(&text(before)?, &text(after)?);
    let difference = difference.ok_or_else(|| Failure::internal(by("error.no_readable_state")))?;
    if context.global.json {
        output::result_json(&json!({ "before": before, "after": after, "difference": difference }));
        return Ok(());
    }
    output::result(&told(context, instance, &difference));
    Ok(())
}

/// A difference in words, a paragraph a kind of change.
fn told(context: &Context, instance: &Instance, difference: &Difference) -> String {
    if difference.is_empty() {
        return context.text(instance, "snapshot.same", &json!({}));
    }
    let mut lines = Vec::new();
    let mut part = |key: &str, items: Vec<String>| {
        if !items.is_empty() {
            lines.push(context.text(instance, &format!("snapshot.{key}"), &json!({ "count": items.len() })));
            lines.extend(items.into_iter().map(|item| format!("  {item}")));
        }
    };
    part("born", difference.born.clone());
    let changed = difference.changed.iter().map(|(name, was, now)| format!("{name}: {was} → {now}"));
    part("changed", changed.collect());
    part("gone", difference.gone.clone());
    let learned = difference.learned.iter().map(|(src, dst, weight)| format!("{src} → {dst}  {weight:.2}"));
    part("learned", learned.collect());
    let moved = |pairs: &[(String, String, f64, f64)]| {
        pairs.iter().map(|(src, dst, was, now)| format!("{src} → {dst}  {was:.2} → {now:.2}")).collect::<Vec<_>>()
    };
    part("strengthened", moved(&difference.strengthened));
    part("faded", moved(&difference.faded));
    let ends = |pairs: &[(String, String)]| pairs.iter().map(|(src, dst)| format!("{src} → {dst}")).collect::<Vec<_>>();
    part("forgotten", ends(&difference.forgotten));
    part("wished", ends(&difference.wished));
    part("scheduled", difference.scheduled.clone());
    part("ended", difference.ended.clone());
    lines.join("\n")
}

fn verify(context: &Context, instance: &Instance, name: Option<&str>) -> Result<u8, Failure> {
    let states: Vec<Taken> = match name {
        Some(name) => vec![taken(instance, name)?],
        None => instance.projected().states.taken.values().cloned().collect(),
    };
    let mut is_good = true;
    let mut lines: Vec<Value> = Vec::new();
    for state in &states {
        let verdict = snapshots::verify(instance, state)?;
        // A lost file is written again; it is an export.
        is_good &= verdict.log_agrees && verdict.file_agrees;
        let name = &state.head.name;
        if !context.global.json {
            let values = json!({
                "name": name, "log": verdict.log_agrees, "file": verdict.file_agrees, "there": verdict.is_there,
            });
            output::result(&context.text(instance, "snapshot.verified", &values));
            if verdict.log_agrees && !verdict.file_agrees {
                let values = json!({ "name": name, "file": snapshots::file(instance, name) });
                context.say(&context.text(instance, "snapshot.mend", &values));
            }
        }
        lines.push(json!({
            "name": name, "log_agrees": verdict.log_agrees, "file_agrees": verdict.file_agrees,
            "file_was_there": verdict.is_there,
        }));
    }
    if context.global.json {
        output::result_json(&json!({ "ok": is_good, "states": lines }));
    } else if states.is_empty() {
        output::result(&context.text(instance, "snapshot.none", &json!({})));
    }
    Ok(u8::from(!is_good))
}

//! `metnos replay`: folds and decides the history again, with every effect left out, and compares.

mod timeline;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use metnos_projections::messages::Messages;
use metnos_projections::replay::{Checker, Difference, Report};
use metnos_projections::views::structural::{self, Change};
use serde_json::{Value, json};

use super::output::by;
use super::{Context, Failure, named, output, plainly, progress};
use crate::cause::plain;
use crate::projector::Projected;
use crate::views::state as views;

pub(super) use timeline::{shown, told};

/// So much is shown of a value that differs.
const VALUE_CHARS: usize = 120;
/// So many values of one event.
const PARTS_MAX: usize = 10;

/// Replay the history and compare.
#[derive(Subcommand, Debug)]
pub(super) enum Replay {
    /// Rebuild every projection from event 1, decide every turn again, compare both.
    Check {
        /// An exported history (metnos log export) instead of this home.
        #[arg(long, value_name = "FILE")]
        history: Option<PathBuf>,
        /// Compare turns that were decided by other rules too.
        #[arg(long)]
        strict: bool,
    },
    /// One turn as a timeline.
    Turn(timeline::Turn),
}

impl Replay {
    /// Whether it is about the instance rather than an exported history.
    pub(super) fn needs_instance(&self) -> bool {
        !matches!(self, Self::Check { history: Some(_), .. })
    }
}

pub(super) fn run(context: &Context, command: &Replay) -> Result<u8, Failure> {
    match command {
        Replay::Check { history: Some(file), strict } => check_history(context, file, *strict),
        Replay::Check { history: None, strict } => check_home(context, *strict),
        Replay::Turn(turn) => timeline::run(context, turn),
    }
}

fn check_home(context: &Context, strict: bool) -> Result<u8, Failure> {
    let instance = context.instance()?;
    // An erasure that broke off has left files that hold more than the log.
    if context.global.at.is_none() {
        context.resume_erasure(&instance)?;
    }
    // What is appended meanwhile belongs to neither side of the comparison.
    let live = instance.projected();
    let reader = instance.log.reader();
    let mut checker = Checker::new(&instance.rules, strict);
    let mut rebuilt = Projected::default();
    let folding = progress::folding(context);
    reader.each(1, |recorded| {
        if recorded.seq > live.position {
            return Ok::<bool, Failure>(false);
        }
        crate::projector::tell(&|done, of| folding.say(done, of), recorded.seq, live.position);
        rebuilt.evolve(&recorded);
        checker.take(&reader.rehydrated(recorded)?);
        Ok(true)
    })?;
    let (report, _) = checker.finish();
    let digests = rebuilt.digests().into_iter().zip(live.digests());
    let mut lines = Vec::new();
    let mut equal = true;
    for ((name, computed), (_, live)) in digests {
        let same = computed == live;
        equal &= same;
        lines.push(json!({ "projection": name, "digest": computed, "live": live, "equal": same }));
    }
    // The files of larger views, as far as they were made.
    for views::Compared { name, computed, live } in views::compare(&instance, &|done, of| folding.say(done, of))? {
        let same = computed == live;
        equal &= same;
        lines.push(json!({ "projection": name, "digest": computed, "live": live, "equal": same }));
    }
    folding.end();
    context.tell_views(&instance);
    Ok(finish(context, &report, equal, &lines))
}

fn check_history(context: &Context, file: &Path, strict: bool) -> Result<u8, Failure> {
    let unreadable = |error| {
        Failure::usage(
            ("error.file_unreadable", json!({ "file": file.to_string_lossy(), "reason": plain(&error) })),
            by("next.history"),
        )
    };
    let rules = metnos_projections::rules::Rules::embedded();
    let mut checker = Checker::new(&rules, strict);
    let mut rebuilt = Projected::default();
    let mut last = 0;
    for (number, line) in (1..).zip(named::lines(file, named::BYTES_MAX).map_err(unreadable)?) {
        let line = line.map_err(unreadable)?;
        if line.trim().is_empty() {
            continue;
        }
        let recorded = crate::export::history::read_line(&line)
            .map_err(|error| Failure::usage(format!("{}:{number}: {error}", file.display()), by("next.history")))?;
        refuse_gap(file, number, last, recorded.seq)?;
        last = recorded.seq;
        rebuilt.evolve(&recorded);
        checker.take(&recorded);
    }
    let (report, _) = checker.finish();
    if report.events == 0 {
        return Err(Failure::usage(
            ("error.no_event_in", json!({ "file": file.to_string_lossy() })),
            by("next.history"),
        ));
    }
    let lines: Vec<Value> = rebuilt
        .digests()
        .into_iter()
        .map(|(name, digest)| json!({ "projection": name, "digest": digest, "equal": true }))
        .collect();
    Ok(finish(context, &report, true, &lines))
}

/// A history begins with event 1 and goes on by one: without an event the rest is another history.
fn refuse_gap(file: &Path, line: usize, last: u64, seq: u64) -> Result<(), Failure> {
    if last.checked_add(1) == Some(seq) {
        return Ok(());
    }
    let values = json!({ "file": file.to_string_lossy(), "line": line, "seq": seq, "last": last });
    Err(Failure::refused(("error.history_gap", values), by("next.history")))
}

fn finish(context: &Context, report: &Report, equal: bool, digests: &[Value]) -> u8 {
    let good = equal && report.differences.is_empty() && report.unknown == 0;
    if context.global.json {
        output::result_json(&json!({
            "ok": good, "events": report.events, "turns": report.turns, "by_other_rules": report.by_other_rules,
            "not_decidable": report.not_decidable, "unknown": report.unknown, "open": report.open, "projections": digests,
            "differences": report.differences.iter().map(difference_json).collect::<Vec<_>>(),
        }));
        return u8::from(!good);
    }
    // A turn whose beginning was lost is none that is counted, yet may be one that cannot be decided.
    let decided = report.turns.saturating_sub(report.by_other_rules + report.not_decidable);
    let (messages, language) = (Messages::embedded(), context.spoken());
    let say = |key: &str, values: Value| messages.say(language, key, values);
    let values = json!({
        "events": report.events, "decided": decided, "others": report.by_other_rules,
        "undecidable": report.not_decidable, "open": report.open,
    });
    output::result(&say("replay.folded", values));
    for line in digests {
        output::result(&say("replay.projection", line.clone()));
    }
    for difference in &report.differences {
        output::result(&difference_text(difference, &say));
    }
    if report.unknown > 0 {
        output::result(&say("replay.unknown", json!({ "count": report.unknown })));
    }
    let uncompared = report.by_other_rules + report.not_decidable;
    let verdict = match (good, uncompared) {
        (true, 0) => "replay.good",
        (true, _) => "replay.good_so_far",
        (false, _) => "replay.not_good",
    };
    output::result(&say(verdict, json!({ "count": uncompared })));
    u8::from(!good)
}

fn said(event: Option<&(String, Value)>) -> Value {
    event.map_or(Value::Null, |(label, payload)| json!({ "kind": label, "payload": payload }))
}

fn difference_json(difference: &Difference) -> Value {
    json!({
        "seq": difference.seq, "turn": difference.turn, "recorded": said(difference.recorded.as_ref()),
        "computed": said(difference.computed.as_ref()), "note": difference.note,
    })
}

/// Where a record and its replay part, by the values that do.
fn difference_text(difference: &Difference, say: &dyn Fn(&str, Value) -> String) -> String {
    let Difference { seq, turn, recorded, computed, note } = difference;
    let mut lines = vec![say("replay.parts", json!({ "seq": seq, "turn": turn }))];
    let label = |event: &Option<(String, Value)>| event.as_ref().map(|(label, _)| label.clone());
    let kinds = json!({ "recorded": label(recorded), "computed": label(computed), "note": note });
    lines.push(say("replay.parts_by", kinds));
    if let (Some((one, recorded)), Some((other, computed))) = (recorded, computed)
        && one == other
    {
        let parts = structural::changes(&plainly::opened(recorded), &plainly::opened(computed));
        let short = |value: Option<&Value>| output::short(&plainly::in_short(value), VALUE_CHARS);
        for Change { path, before, after } in parts.iter().take(PARTS_MAX) {
            let place = path.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~");
            let values =
                json!({ "place": place, "recorded": short(before.as_ref()), "computed": short(after.as_ref()) });
            lines.push(say("replay.part", values));
        }
        if parts.len() > PARTS_MAX {
            lines.push(say("replay.more_parts", json!({ "count": parts.len() - PARTS_MAX })));
        }
    }
    lines.join("\n")
}

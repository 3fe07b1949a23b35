//! `metnos replay`: folds and decides the history again, with every effect left out, and compares.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use metnos_log::{Event, Recorded};
use metnos_projections::messages::Messages;
use metnos_projections::replay::{Checker, Difference, Report};
use serde_json::{Value, json};

use super::output::by;
use super::{Context, Failure, output};
use crate::instance::Instance;
use crate::projector::Projected;

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
    Turn {
        /// Its id, or «last».
        #[arg(default_value = "last")]
        id: String,
    },
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
        Replay::Turn { id } => {
            let instance = context.instance()?;
            let (id, events) = super::turn::events(&instance, id)?;
            if context.global.json {
                output::result_json(&super::turn::record(id, &events));
            } else {
                output::result(&timeline(&instance, &events));
            }
            Ok(0)
        }
    }
}

fn check_home(context: &Context, strict: bool) -> Result<u8, Failure> {
    let instance = context.instance()?;
    // What is appended meanwhile belongs to neither side of the comparison.
    let live = instance.projected();
    let reader = instance.log.reader();
    let mut checker = Checker::new(&instance.rules, strict);
    let mut rebuilt = Projected::default();
    reader.each(1, |recorded| {
        if recorded.seq > live.position {
            return Ok::<bool, Failure>(false);
        }
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
    Ok(finish(context, &report, equal, &lines))
}

fn check_history(context: &Context, file: &Path, strict: bool) -> Result<u8, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(
            ("error.file_unreadable", json!({ "file": file, "reason": error.to_string() })),
            by("next.history"),
        )
    })?;
    let rules = metnos_projections::rules::Rules::embedded();
    let mut checker = Checker::new(&rules, strict);
    let mut rebuilt = Projected::default();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let recorded = crate::export::history::read_line(line)
            .map_err(|error| Failure::usage(format!("{}:{number}: {error}", file.display()), by("next.history")))?;
        rebuilt.evolve(&recorded);
        checker.take(&recorded);
    }
    let (report, _) = checker.finish();
    if report.events == 0 {
        return Err(Failure::usage(("error.no_event_in", json!({ "file": file })), by("next.history")));
    }
    let lines: Vec<Value> = rebuilt
        .digests()
        .into_iter()
        .map(|(name, digest)| json!({ "projection": name, "digest": digest, "equal": true }))
        .collect();
    Ok(finish(context, &report, true, &lines))
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
    let decided = report.turns - report.by_other_rules;
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
        output::result(&difference_text(difference));
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

fn difference_text(difference: &Difference) -> String {
    let line = |event: &Option<(String, Value)>| match event {
        Some((label, payload)) => format!("{label} {}", output::short(&payload.to_string(), 400)),
        None => "nothing".to_owned(),
    };
    let note = difference.note.as_ref().map(|note| format!("\n  note      {note}")).unwrap_or_default();
    format!(
        "seq {} of turn {}\n  recorded  {}\n  computed  {}{note}",
        difference.seq,
        difference.turn,
        line(&difference.recorded),
        line(&difference.computed)
    )
}

/// What stands before the details of an event.
const DETAIL_INDENT: &str = "                          ";

/// A turn's events, one a line, for people.
pub(super) fn timeline(instance: &Instance, events: &[Recorded]) -> String {
    let start = events.first().map_or(0, |event| event.time.0);
    let line = |recorded: &Recorded| {
        let milliseconds = (recorded.time.0 - start) / 1000;
        let (what, detail) = recorded.event().map_or_else(|| ("erased".to_owned(), String::new()), told);
        let detail = detail.lines().fold(String::new(), |all, line| all + "\n" + DETAIL_INDENT + line);
        format!("{:>6} {milliseconds:>6} ms  {:<9} {what}{detail}", recorded.seq, "")
    };
    let when = output::moment(start, &instance.settings.zone);
    let lines: Vec<String> = events.iter().map(line).collect();
    format!("{when}\n{}", lines.join("\n"))
}

/// One event in words: what happened, and details below it.
fn told(event: &Event) -> (String, String) {
    match event {
        Event::TurnOpened(opened) => (format!("sentence   {}", opened.text), String::new()),
        Event::CandidatesRanked(ranked) => {
            let best: Vec<String> =
                ranked.tools.iter().take(5).map(|(tool, score)| format!("{tool} {score}")).collect();
            (format!("candidates {}", best.join(", ")), String::new())
        }
        Event::PlanProposed(proposed) => {
            (format!("plan       by {} ({})", proposed.engine, proposed.source), String::new())
        }
        Event::StepProposed(proposed) => (
            format!(
                "step {}     {} {}",
                proposed.step,
                proposed.tool,
                output::short(proposed.args.get().unwrap_or("(in a blob)"), 200)
            ),
            String::new(),
        ),
        Event::ArgumentsResolved(resolved) => {
            let targets = resolved
                .targets
                .iter()
                .map(|target| format!("{} {} → {} ({})", target.pointer, target.given, target.canonical, target.kind));
            let checks = resolved.checks.iter().map(|check| match &check.failure {
                None => format!("{} ok", check.step),
                Some((class, reason)) => format!("{} FAILED {class}: {reason}", check.step),
            });
            let detail = targets.chain([checks.collect::<Vec<_>>().join(", ")]).collect::<Vec<_>>().join("\n");
            (
                format!("resolved   version {} plan {}", resolved.version, output::short(&resolved.plan_digest, 24)),
                detail,
            )
        }
        Event::VerdictGiven(verdict) => judged(verdict),
        Event::ConsentAsked(asked) => ("asked".to_owned(), asked.text.get().unwrap_or_default().to_owned()),
        Event::ConsentGiven(given) => (format!("consent    given by {}", given.by), String::new()),
        Event::ConsentDenied(denied) => (format!("consent    denied by {}", denied.by), String::new()),
        Event::ConsentExpired(expired) => (format!("consent    nobody answered ({})", expired.why), String::new()),
        Event::StepRefused(refused) => {
            (format!("refused    by {}: {} {}", refused.by, refused.class, refused.reason), String::new())
        }
        Event::InvocationStarted(started) => {
            (format!("call       {} {} trace {}", started.tool, started.version, started.trace_id), String::new())
        }
        Event::InvocationFinished(finished) => returned(finished),
        Event::EffectsPlanned(_) => ("changes    planned, intent is on disk".to_owned(), String::new()),
        Event::EffectCommitted(committed) => {
            (format!("change {}   {}", committed.index, committed.outcome), String::new())
        }
        Event::EffectsCommitted(committed) => (committed_many(committed), String::new()),
        Event::TurnSuspended(suspended) => {
            ("asked      waits for an answer".to_owned(), suspended.message.get().unwrap_or_default().to_owned())
        }
        Event::TurnResumed(resumed) => (answered(resumed), String::new()),
        Event::TurnCancelled(cancelled) => (format!("cancelled  by {}", cancelled.by), String::new()),
        Event::TurnClosed(closed) => {
            let class = closed.class.as_ref().map(|class| format!(" ({class})")).unwrap_or_default();
            (format!("closed     {}{class}", closed.final_kind), closed.message.get().unwrap_or_default().to_owned())
        }
        other => of_model(other).unwrap_or_else(|| (other.label().to_owned(), String::new())),
    }
}

/// What a model was asked and said, in words.
fn of_model(event: &Event) -> Option<(String, String)> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are told by the caller")]
    let told = match event {
        Event::ModelAsked(asked) => {
            let size = asked.body.len();
            (
                format!("asked {}    {} {} ({}), {size} bytes", asked.ask, asked.provider, asked.model, asked.tier),
                String::new(),
            )
        }
        Event::ModelAnswered(answered) => {
            let usage = |name: &str| answered.usage.0.get(name).and_then(Value::as_u64).unwrap_or_default();
            let (prompt, completion) = (usage("prompt_tokens"), usage("completion_tokens"));
            let took = answered.duration_us / 1000;
            let said = answered.parsed.get().unwrap_or("(in a blob)");
            (
                format!("answered {} in {took} ms, {prompt} + {completion} tokens", answered.ask),
                output::short(said, 300),
            )
        }
        Event::ModelFailed(failed) => {
            let tried = failed.failed.len();
            (format!("no answer  {}: {} ({tried} attempts failed)", failed.class, failed.reason), String::new())
        }
        Event::ObservationKept(kept) => {
            let whole = if kept.scratchpad.is_some() { "by a handle" } else { "whole" };
            let shown = output::short(kept.shown.get().unwrap_or("(in a blob)"), 200);
            (format!("shown      {} bytes of {} {whole}", kept.size, kept.tool), shown)
        }
        Event::StepRemediated(remedied) => {
            let first = remedied.prerequisite.as_deref().unwrap_or("nothing");
            (format!("mended     {} {}: {first} first", remedied.tool, remedied.class), String::new())
        }
        Event::AnswerCorrected(corrected) => {
            ("corrected".to_owned(), format!("{}\n{}", corrected.claim, corrected.correction))
        }
        Event::WishObserved(wish) => (format!("wish       {}", wish.dst), wish.desired.inputs.join(", ")),
        _ => return None,
    };
    Some(told)
}

fn committed_many(committed: &metnos_log::event::turn::EffectsCommitted) -> String {
    let many = |runs: &[(u32, u32)]| runs.iter().map(|(first, end)| end.saturating_sub(*first)).sum::<u32>();
    let (done, found) = (many(&committed.done), many(&committed.found_done));
    format!("changes    {done} done, {found} found done, {} failed", committed.failed.len())
}

fn judged(verdict: &metnos_log::event::turn::VerdictGiven) -> (String, String) {
    let word = if verdict.approved { "approved" } else { "blocked" };
    let (about, policy, score) = (&verdict.about, &verdict.policy, verdict.score_permille);
    let said = format!("verdict    {about} {word}, policy {policy}, score {score}");
    (said, verdict.blocked_by.clone().unwrap_or_default())
}

/// The request as it reads then, what was chosen for it, or the value that a step got.
fn answered(resumed: &metnos_log::event::turn::TurnResumed) -> String {
    let value = resumed.taken.as_ref().and_then(|taken| taken.0.get("value")).map(output::plain);
    match (&resumed.text, &resumed.only, value) {
        (Some(text), Some(only), _) => format!("answered   {text} (by {only})"),
        (Some(text), None, _) => format!("answered   {text}"),
        (None, _, Some(value)) => format!("answered   {value}"),
        (None, _, None) => "answered   by what is no answer".to_owned(),
    }
}

/// What came back from a call.
fn returned(finished: &metnos_log::event::turn::InvocationFinished) -> (String, String) {
    let outcome = finished.class.clone().unwrap_or_else(|| "ok".to_owned());
    let cage = finished.cage.0.get("level").and_then(Value::as_str).unwrap_or("no cage");
    let detail = output::short(finished.result.get().unwrap_or("(in a blob)"), 300);
    (format!("returned   {outcome} in {} ms, cage {cage}", finished.duration_us / 1000), detail)
}

//! `metnos replay turn`: one turn as a timeline, decided again beside what was recorded.

use clap::Args;
use metnos_log::event::turn::EffectCommitted;
use metnos_log::{Event, Recorded, TurnId};
use metnos_projections::machines::turn::decide::trouble;
use metnos_projections::replay::{Checker, Difference, Report};
use metnos_projections::views::timeline;
use serde_json::{Value, json};

use crate::cli::console::{self, Heard, Stream, Wanted};
use crate::cli::output::by;
use crate::cli::{Context, Failure, output, turn};
use crate::instance::Instance;

/// What stands before the details of an event.
const DETAIL_INDENT: &str = "                    ";
/// The longest payload that is shown where decisions differ.
const PAYLOAD_MAX: usize = 400;

/// One turn as a timeline.
#[derive(Args, Debug)]
pub(crate) struct Turn {
    /// Its id, or «last».
    #[arg(default_value = "last")]
    id: String,
    /// Only what concerns this step.
    #[arg(long, value_name = "N")]
    step: Option<u32>,
    /// Stop after each event: Enter goes on, q ends.
    #[arg(long, conflicts_with = "step")]
    live_debug: bool,
}

pub(super) fn run(context: &Context, command: &Turn) -> Result<u8, Failure> {
    let instance = context.instance()?;
    if command.live_debug && !is_attended() {
        return Err(Failure::needs_person(by("error.no_terminal"), by("next.no_live_debug")));
    }
    let (id, mut events) = turn::events(&instance, &command.id)?;
    let report = again(&instance, id, &events)?;
    if let Some(step) = command.step {
        events.retain(|recorded| step_of(recorded) == Some(step));
        if events.is_empty() {
            let values = json!({ "step": step, "id": id });
            return Err(Failure::refused(("error.no_step", values), by("next.turn_steps")));
        }
    }
    if context.global.json {
        let mut record = turn::record(id, &events);
        record["again"] = compared(&report);
        output::result_json(&record);
        return Ok(0);
    }
    let lines = lines(context, &instance, &events, &report.differences);
    if command.live_debug {
        return Ok(step_by_step(context, &instance, &lines));
    }
    output::result(&lines.join("\n"));
    if command.step.is_none() {
        output::result(&cost(context, &instance, &events));
        output::result(&verdict(context, &instance, &report));
    }
    Ok(0)
}

/// Whether somebody can press a key.
fn is_attended() -> bool {
    let console = console::current();
    console.is_terminal(Stream::In) && console.is_terminal(Stream::Out)
}

/// Shows one event, waits, shows the next.
fn step_by_step(context: &Context, instance: &Instance, lines: &[String]) -> u8 {
    output::aside(&context.text(instance, "timeline.keys", &json!({})));
    for line in lines {
        output::result(line);
        match console::current().read(Wanted::Line, &[]) {
            Ok(Heard::Bytes(bytes)) if !bytes.trim_ascii().eq_ignore_ascii_case(b"q") => {}
            _ => return 0,
        }
    }
    0
}

/// Decides the turn again, with the executors as they were then.
fn again(instance: &Instance, id: TurnId, events: &[Recorded]) -> Result<Report, Failure> {
    let reader = instance.log.reader();
    let last = events.last().map_or(0, |recorded| recorded.seq);
    let mut checker = Checker::new(&instance.rules, false);
    reader.each(1, |recorded| {
        if recorded.seq > last {
            return Ok::<bool, Failure>(false);
        }
        if recorded.turn.is_none() {
            checker.take(&recorded);
        } else if recorded.turn == Some(id) {
            checker.take(&reader.rehydrated(recorded)?);
        }
        Ok(true)
    })?;
    Ok(checker.finish().0)
}

fn compared(report: &Report) -> Value {
    json!({
        "by_other_rules": report.by_other_rules > 0, "not_decidable": report.not_decidable > 0,
        "unknown": report.unknown, "differences": report.differences.iter().map(super::difference_json).collect::<Vec<_>>(),
    })
}

/// What deciding again came to.
fn verdict(context: &Context, instance: &Instance, report: &Report) -> String {
    let values = json!({
        "others": report.by_other_rules > 0, "undecidable": report.not_decidable > 0, "unknown": report.unknown,
        "differs": !report.differences.is_empty(), "open": report.open > 0,
    });
    context.text(instance, "timeline.again", &values)
}

/// The step that an event is about.
fn step_of(recorded: &Recorded) -> Option<u32> {
    let step = recorded.event()?.to_json().get("step")?.as_u64()?;
    u32::try_from(step).ok()
}

/// How long it took, how many calls it made, what models were paid for it.
fn cost(context: &Context, instance: &Instance, events: &[Recorded]) -> String {
    let (mut calls, mut called_us, mut asks, mut thought_us, mut tokens) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
    for event in events.iter().filter_map(Recorded::event) {
        match event {
            Event::InvocationFinished(finished) => {
                calls += 1;
                called_us += finished.duration_us;
            }
            Event::ModelAnswered(answered) => {
                asks += 1;
                thought_us += answered.duration_us;
                let usage = |name: &str| answered.usage.0.get(name).and_then(Value::as_u64).unwrap_or_default();
                tokens += usage("prompt_tokens") + usage("completion_tokens");
            }
            Event::ModelFailed(failed) => {
                asks += 1;
                thought_us += failed.duration_us;
            }
            _ => {}
        }
    }
    let took = events.first().zip(events.last()).map_or(0, |(first, last)| last.time.0.saturating_sub(first.time.0));
    let values = json!({
        "calls": calls, "called_ms": called_us / 1000, "asks": asks, "thought_ms": thought_us / 1000,
        "tokens": tokens, "took_ms": took / 1000,
    });
    context.text(instance, "timeline.cost", &values)
}

/// A turn's events for people, one below the other.
pub(crate) fn shown(context: &Context, instance: &Instance, events: &[Recorded]) -> String {
    lines(context, instance, events, &[]).join("\n")
}

fn lines(context: &Context, instance: &Instance, events: &[Recorded], differences: &[Difference]) -> Vec<String> {
    let start = events.first().map_or(0, |event| event.time.0);
    let line = |recorded: &Recorded| {
        let milliseconds = recorded.time.0.saturating_sub(start) / 1000;
        let (what, mut detail) = told(context, instance, recorded);
        for difference in differences.iter().filter(|difference| difference.seq == recorded.seq) {
            detail.push('\n');
            detail.push_str(&differs(context, instance, difference));
        }
        let detail = detail.lines().fold(String::new(), |all, line| all + "\n" + DETAIL_INDENT + line);
        format!("{:>6} {milliseconds:>6} ms  {what}{detail}", recorded.seq)
    };
    let when = output::moment(start, &instance.settings.zone);
    [when].into_iter().chain(events.iter().map(line)).collect()
}

/// What the rules decide where the record says something else.
fn differs(context: &Context, instance: &Instance, difference: &Difference) -> String {
    let said = |event: &Option<(String, Value)>| {
        event.as_ref().map(|(label, payload)| format!("{label} {}", output::short(&payload.to_string(), PAYLOAD_MAX)))
    };
    let values = json!({
        "recorded": said(&difference.recorded), "computed": said(&difference.computed), "note": difference.note,
    });
    context.text(instance, "timeline.differs", &values)
}

/// One event in words: what happened, and details below it.
pub(crate) fn told(context: &Context, instance: &Instance, recorded: &Recorded) -> (String, String) {
    let mut told = timeline::told(recorded);
    if let Some(Event::EffectCommitted(EffectCommitted { index, failure: Some((class, reason)), .. })) =
        recorded.event()
    {
        let messages = &instance.rules.messages;
        let said = trouble(messages, context.language(instance), reason, &format!("#{}", index + 1));
        told.values["failure"] = format!("{class}: {said}").into();
    }
    (context.text(instance, &format!("timeline.{}", told.key), &told.values), told.detail)
}

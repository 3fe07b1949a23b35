//! `metnos diff`: what changed between two moments, in sentences or place by place.

use clap::Args;
use metnos_projections::views::between::{self, Fact, Standing};
use metnos_projections::views::structural;
use serde_json::{Value, json};

use super::at::{self, Then};
use super::moment::Moment;
use super::{Context, Failure, output};
use crate::instance::Instance;
use crate::projector::Projected;

/// The most names of a list that are shown.
const NAMES_MAX: usize = 12;

/// What changed between two moments.
#[derive(Args, Debug)]
pub(super) struct Diff {
    /// The earlier moment: an event's number, a day as 2026-11-22, a day and an hour as «2026-11-22 18:30», a time with its zone as
    /// 2026-11-22T18:30:00+01:00, or now. Of a day its end is meant.
    #[arg(value_name = "MOMENT")]
    before: Moment,
    /// The later one, written alike.
    #[arg(value_name = "MOMENT")]
    after: Moment,
    /// Only this.
    projection: Option<String>,
    /// Leave nothing out of long lists.
    #[arg(long)]
    all: bool,
}

pub(super) fn run(context: &Context, diff: &Diff) -> Result<u8, Failure> {
    context.refuse_past()?;
    let instance = context.unfolded()?;
    let wanted = diff.projection.as_deref();
    if let Some(name) = wanted {
        at::known(name)?;
    }
    let (before, after) = (at::then(context, &instance, &diff.before)?, at::then(context, &instance, &diff.after)?);
    if before.projected.position > after.projected.position {
        let values = json!({ "before": before.projected.position, "after": after.projected.position });
        return Err(Failure::usage(("error.later_first", values), super::output::by("next.earlier_first")));
    }
    refuse_later(&instance, diff)?;
    if context.global.json {
        output::result_json(&places(&before, &after, wanted));
        return Ok(0);
    }
    let (from, to) = (at::headline(context, &instance, &before), at::headline(context, &instance, &after));
    output::result(&context.text(&instance, "diff.headline", &json!({ "from": from, "to": to })));
    let facts = between::facts(standing(&before), standing(&after));
    let facts: Vec<Fact> = facts.into_iter().filter(|fact| wanted.is_none_or(|name| name == fact.projection)).collect();
    let mut lines: Vec<String> = facts.iter().map(|fact| said(context, &instance, fact, diff.all)).collect();
    lines.extend(untold(context, &instance, (&before, &after), wanted, &facts));
    if lines.is_empty() {
        lines.push(context.text(&instance, "diff.same", &json!({})));
    }
    output::result(&lines.join("\n"));
    Ok(0)
}

/// Refuses a time that is later than the other one, also where nothing lies between the two.
fn refuse_later(instance: &Instance, diff: &Diff) -> Result<(), Failure> {
    let (Some(before), Some(after)) = (diff.before.when(instance)?, diff.after.when(instance)?) else { return Ok(()) };
    if before <= after {
        return Ok(());
    }
    let values = json!({ "before": diff.before.text(), "after": diff.after.text() });
    Err(Failure::usage(("error.later_time_first", values), super::output::by("next.earlier_first")))
}

fn standing(then: &Then) -> Standing<'_> {
    let projected = &then.projected;
    Standing {
        catalog: &projected.catalog,
        turns: &projected.turns,
        configuration: &projected.configuration,
        actors: &projected.actors,
        channels: &projected.channels,
        documents: &projected.documents,
        mnestome: &projected.mnestome,
        states: &projected.states,
        schedules: &projected.schedules,
        until: then.until,
    }
}

/// One change as a sentence; a long list of names is cut.
fn said(context: &Context, instance: &Instance, fact: &Fact, all: bool) -> String {
    let mut values = fact.values.clone();
    if let Some(names) = values.get_mut("names").and_then(Value::as_array_mut) {
        let more = if all { 0 } else { names.len().saturating_sub(NAMES_MAX) };
        names.truncate(names.len() - more);
        values["more"] = more.into();
    }
    let language = context.language(instance).code();
    let words = values.get("words").and_then(|words| words.get(language)).and_then(Value::as_str);
    if let Some(words) = words.map(str::to_owned) {
        values["words"] = words.into();
    }
    context.text(instance, &format!("diff.{}", fact.key), &values)
}

/// Projections that differ where no sentence says how.
fn untold(
    context: &Context,
    instance: &Instance,
    (before, after): (&Then, &Then),
    wanted: Option<&str>,
    facts: &[Fact],
) -> Vec<String> {
    let digests = before.projected.digests().into_iter().zip(after.projected.digests());
    let differ = digests.filter(|((_, was), (_, now))| was != now).map(|((name, _), _)| name);
    let is_untold =
        |name: &&str| wanted.is_none_or(|wanted| wanted == *name) && !facts.iter().any(|fact| fact.projection == *name);
    differ.filter(is_untold).map(|name| context.text(instance, "diff.untold", &json!({ "name": name }))).collect()
}

/// Every place that differs, by projection and path.
fn places(before: &Then, after: &Then, wanted: Option<&str>) -> Value {
    let state = |then: &Then, name: &str| -> Value {
        then.projected.snapshot(name).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    };
    let names = Projected::NAMES.iter().filter(|name| wanted.is_none_or(|wanted| wanted == **name));
    let digests = |then: &Then, name: &str| then.projected.digests().into_iter().find(|(known, _)| *known == name);
    let compared = names.map(|name| {
        let (was, now) = (digests(before, name), digests(after, name));
        let changes =
            if was == now { Vec::new() } else { structural::changes(&state(before, name), &state(after, name)) };
        json!({
            "projection": name, "before": was.map(|(_, digest)| digest), "after": now.map(|(_, digest)| digest),
            "changes": changes,
        })
    });
    let projections: Vec<Value> = compared.collect();
    json!({ "before": at::place(before), "after": at::place(after), "projections": projections })
}

//! What a turn did, step by step in plain words: what was understood, what ran with which values, what came of it.
//!
//! Short on purpose; `metnos turn show` has every event.

use metnos_projections::machines::turn::Turn;
use metnos_projections::machines::turn::state::Step;
use metnos_projections::messages::Language;
use metnos_projections::plan::{Origin, PlannedStep};
use serde_json::{Value, json};

use crate::instance::Instance;

/// The longest value that is shown whole.
const VALUE_MAX: usize = 80;

/// The turn as lines for a person.
pub(crate) fn told(instance: &Instance, turn: &Turn, language: Language) -> String {
    let say = |key: &str, values: Value| instance.rules.messages.say(language, key, values);
    let heard = turn.opened.as_ref().map(|opened| short(&opened.text, 200));
    let mut lines: Vec<String> = heard.map(|text| say("chat.why_heard", json!({ "text": text }))).into_iter().collect();
    if let Some(plan) = turn.plan.as_ref().filter(|_| turn.opened.as_ref().is_some_and(|opened| opened.given.is_none()))
    {
        lines.push(say("chat.why_understood", json!({ "percent": plan.confidence_permille / 10 })));
    }
    let planned = turn.plan.iter().flat_map(|plan| &plan.steps);
    let planned: Vec<&PlannedStep> = planned.collect();
    for (index, step) in turn.steps.iter().enumerate() {
        lines.push(format!("{}. {}", step.number, called(instance, step, language)));
        match planned.get(index) {
            Some(planned) => lines.extend(arguments(planned, &say)),
            None => lines.push(format!("   {}", short(&step.proposed.to_string(), VALUE_MAX))),
        }
        lines.push(format!("   → {}", outcome(step, &say)));
    }
    for (index, step) in planned.iter().enumerate().skip(turn.steps.len()) {
        lines.push(format!("{}. {}", index + 1, step.tool));
        lines.push(format!("   → {}", say("chat.why_not_run", json!({}))));
    }
    let (kind, class) = (turn.final_kind.as_deref().unwrap_or("open"), turn.final_class.as_deref().unwrap_or_default());
    lines.push(say("chat.why_end", json!({ "kind": kind, "class": class })));
    lines.join("\n")
}

/// The executor and what it is for.
fn called(instance: &Instance, step: &Step, language: Language) -> String {
    let catalog = instance.catalog();
    let manifest = catalog.active(&step.tool).and_then(|(_, _, version)| version.manifest());
    let about = manifest.map(|manifest| match language {
        Language::It => manifest.description.it,
        Language::En => manifest.description.en,
    });
    match about {
        Some(about) => format!("{}: {}", step.tool, short(about.trim(), 160)),
        None => step.tool.clone(),
    }
}

/// Each argument with its value and where that came from.
fn arguments(step: &PlannedStep, say: &impl Fn(&str, Value) -> String) -> Vec<String> {
    let args = step.args.as_object().into_iter().flatten();
    args.map(|(name, value)| {
        let value = short(&plain(value), VALUE_MAX);
        let origin = say(&format!("plan.from_{}", origin(step, name)), json!({}));
        format!("   {name} = {value} ({origin})")
    })
    .collect()
}

/// Where an argument's value came from, as the section `plan` names it.
pub(crate) fn origin(step: &PlannedStep, name: &str) -> &'static str {
    let prefix = format!("/{name}");
    let below = |at: &str| at == prefix || at.starts_with(&format!("{prefix}/"));
    match step.provenance.iter().find(|(at, _)| below(at)).map(|(_, origin)| origin) {
        Some(Origin::Words { .. }) => "words",
        Some(Origin::Step { .. }) => "step",
        Some(Origin::Configuration) => "configuration",
        Some(Origin::Default) | None => "default",
        Some(Origin::Model) => "model",
    }
}

/// What came of a step.
fn outcome(step: &Step, say: &impl Fn(&str, Value) -> String) -> String {
    if let Some(class) = &step.class {
        let error = step.result.as_ref().and_then(|result| result["error"].as_str()).unwrap_or_default();
        return say("chat.why_failed", json!({ "class": class, "error": short(error, 200) }));
    }
    if !step.committed.is_empty() {
        let failed = step.committed.values().filter(|failure| failure.is_some()).count();
        return say("chat.why_changed", json!({ "done": step.committed.len() - failed, "failed": failed }));
    }
    if !step.ok {
        return say("chat.why_not_run", json!({}));
    }
    let count = step.result.as_ref().and_then(|result| result["entries"].as_array()).map(Vec::len);
    say("chat.why_done", json!({ "count": count }))
}

/// One line of a value, cut for people.
pub(crate) fn short(text: &str, characters: usize) -> String {
    let line = text.replace(['\n', '\r', '\t'], " ");
    if line.chars().count() <= characters {
        line
    } else {
        line.chars().take(characters.saturating_sub(1)).chain("…".chars()).collect()
    }
}

/// A value as a person reads it: a text bare, the rest as JSON.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

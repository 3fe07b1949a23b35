//! `metnos plan`: what a sentence would run. Looks up what it names and asks guard and policy, but runs nothing and
//! records nothing.

use std::ffi::OsString;

use clap::Args;
use metnos_projections::machines::turn::Turn;
use serde_json::{Value, json};

use super::{Context, Failure, ask, output};
use crate::conversation;
use crate::engine::Request;
use crate::instance::Instance;
use crate::why;

/// Show what a sentence would run.
#[derive(Args, Debug)]
pub(super) struct Plan {
    /// The sentence, in English or Italian.
    text: OsString,
}

pub(super) fn run(context: &Context, plan: &Plan) -> Result<u8, Failure> {
    let text = ask::sentence(&plan.text)?;
    let instance = context.ready(&context.flags())?;
    let folder = super::folder(&instance);
    let (approve, channel) = ("none".to_owned(), "console".to_owned());
    let request = Request { text, approve, folder, channel, ..Request::default() };
    let turn = conversation::rehearse(&instance, &request)?;
    let shown = shown(&turn);
    if context.global.json {
        output::result_json(&shown);
    } else {
        output::result(&for_people(context, &instance, &turn, &shown));
    }
    ask::follow(context, &instance);
    Ok(u8::from(shown["abstained"] == true))
}

/// `{"engine","confidence","steps","abstained","question"?}`; what guard or policy forbid counts as abstained.
fn shown(turn: &Turn) -> Value {
    let Some(plan) = &turn.plan else { return json!({ "steps": [], "abstained": true }) };
    if let Some(proposer) = turn.proposer().filter(|_| turn.is_model_planned()) {
        let tools = json!(turn.candidates);
        return json!({ "engine": plan.engine, "model": proposer.model, "tools": tools, "steps": [], "abstained": false });
    }
    let forbidden = matches!(turn.final_class.as_deref(), Some("vaglio_guard" | "vaglio_judge" | "policy_violation"));
    let steps: Vec<Value> = plan.steps.iter().map(|step| json!({ "tool": step.tool, "args": step.args })).collect();
    let mut shown = json!({
        "engine": plan.engine,
        "confidence": f64::from(plan.confidence_permille) / 1000.0,
        "steps": if forbidden { Vec::new() } else { steps },
        "abstained": forbidden || plan.abstention.is_some(),
        "tell": plan.answer,
    });
    if let Some(abstention) = &plan.abstention {
        let key = if turn.final_kind.as_deref() == Some("ask") { "question" } else { "reason" };
        shown[key] = abstention.message.clone().into();
        shown["candidates"] = json!(abstention.candidates);
    }
    if forbidden || (turn.final_kind.as_deref() == Some("error") && plan.abstention.is_none()) {
        shown["reason"] = json!(turn.message);
        shown["error_class"] = json!(turn.final_class);
    }
    shown
}

fn for_people(context: &Context, instance: &Instance, turn: &Turn, shown: &Value) -> String {
    if let Some(text) = shown.get("question").or_else(|| shown.get("reason")).and_then(Value::as_str)
        && shown["steps"].as_array().is_none_or(Vec::is_empty)
    {
        return text.to_owned();
    }
    if let Some(model) = shown.get("model") {
        return context.text(instance, "plan.by_model", &json!({ "model": model, "tools": shown["tools"] }));
    }
    let mut lines = Vec::new();
    for (number, step) in (1..).zip(turn.plan.iter().flat_map(|plan| &plan.steps)) {
        let args = step.args.as_object().into_iter().flatten().map(|(name, value)| {
            let origin = why::origin(step, name);
            format!(
                "{name} = {} ({})",
                output::plain(value),
                context.text(instance, &format!("plan.from_{origin}"), &json!({}))
            )
        });
        lines.push(format!("{number}. {}  {}", step.tool, args.collect::<Vec<_>>().join(", ")));
    }
    let confidence = turn.plan.as_ref().map_or(0, |plan| plan.confidence_permille / 10);
    lines.push(context.text(instance, "plan.footer", &json!({ "confidence": confidence })));
    if let Some(reason) = shown.get("reason").and_then(Value::as_str) {
        lines.push(context.text(instance, "plan.would_stop", &json!({ "reason": reason })));
    }
    lines.join("\n")
}

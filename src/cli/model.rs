//! `metnos model`: which models are bound to which tier, and whether they answer.

use clap::Subcommand;
use metnos_projections::rules::proposer::{Choice, Message, Offer, Request, wire};
use serde_json::{Value, json};

use super::{Context, Failure, output};
use crate::config::llm::{Binding, TIERS};
use crate::instance::Instance;
use crate::llm::{Asked, Failure as Unanswered};

/// Look at the models and try them.
#[derive(Subcommand, Debug)]
pub(super) enum Model {
    /// The tiers that a model is bound to.
    List,
    /// Ask a model for one call of a tool, and say what came.
    Test {
        /// The tier: wise, middle, fast or frontier; else the one that plans.
        tier: Option<String>,
    },
}

/// Nothing is bound, to this tier or at all.
fn unbound(tier: Option<&str>) -> Failure {
    let hint = ("next.bind_model", json!({ "tier": tier.unwrap_or("wise") }));
    Failure::refused(("error.no_model", json!({ "tier": tier })), hint)
}

pub(super) fn run(context: &Context, command: &Model) -> Result<u8, Failure> {
    let instance = context.instance()?;
    match command {
        Model::List => {
            list(context, &instance);
            Ok(0)
        }
        Model::Test { tier } => test(context, &instance, tier.as_deref()),
    }
}

fn list(context: &Context, instance: &Instance) {
    let llm = &instance.settings.llm;
    let plans = llm.proposer("metis").map(|binding| binding.tier);
    let role = |binding: &Binding| if plans == Some(binding.tier) { "plans" } else { "" };
    if context.global.json {
        let all: Vec<Value> = llm.all().map(|binding| json!({ "binding": binding, "role": role(binding) })).collect();
        return output::result_json(&json!({ "models": all }));
    }
    let key = |binding: &Binding| match &binding.credential {
        None => "none".to_owned(),
        Some(name) if instance.credential(name).is_some() => name.clone(),
        Some(name) => format!("{name} (missing)"),
    };
    let rows: Vec<Vec<String>> = llm
        .all()
        .map(|binding| {
            let words = [binding.tier, &binding.provider, &binding.base_url, &binding.model].map(str::to_owned);
            words.into_iter().chain([key(binding), role(binding).to_owned()]).collect()
        })
        .collect();
    if rows.is_empty() {
        output::result(&context.text(instance, "error.no_model", &json!({ "tier": null })));
        let hint = context.text(instance, "next.bind_model", &json!({ "tier": "wise" }));
        return context.hint(&hint);
    }
    output::result(&output::table(&["tier", "provider", "server", "model", "key", ""], &rows));
}

fn test(context: &Context, instance: &Instance, tier: Option<&str>) -> Result<u8, Failure> {
    let llm = &instance.settings.llm;
    let binding = match tier {
        None => llm.proposer("metis").ok_or_else(|| unbound(None))?,
        Some(tier) if !TIERS.contains(&tier) => {
            let hint = ("next.tiers", json!({ "tiers": TIERS.join(", ") }));
            return Err(Failure::usage(("error.no_tier", json!({ "tier": tier })), hint));
        }
        Some(tier) => llm.get(tier).ok_or_else(|| unbound(Some(tier)))?,
    };
    let key = match &binding.credential {
        None => None,
        Some(name) => Some(instance.credential(name).ok_or_else(|| {
            let name = json!({ "name": name });
            Failure::refused(("error.no_credential", name.clone()), ("next.store_credential", name))
        })?),
    };
    let props = instance.models.props(binding, key.as_ref());
    let body = metnos_log::canonical::to_string(&wire::chat(&binding.provider, &request(binding)));
    let asked = instance.models.ask(binding, key.as_ref(), &body, &context.begin_turn(instance)?, &|_| {});
    let took = asked.took.as_millis();
    match asked {
        Asked { outcome: None, .. } => Err(Failure::interrupted()),
        Asked { outcome: Some(Err(unanswered)), .. } => Err(failed(binding, &unanswered)),
        Asked { outcome: Some(Ok(reply)), failed, .. } => {
            let calls = reply.answer.calls.iter().any(|call| call.name == TOOL);
            let context_size = props.map(|props| props.context);
            if context.global.json {
                output::result_json(&json!({
                    "ok": true, "tier": binding.tier, "server": binding.base_url, "model": binding.model, "took_ms": u64::try_from(took).unwrap_or(u64::MAX),
                    "calls_tools": calls, "context": context_size, "usage": reply.usage, "timings": reply.timings, "failed_attempts": failed,
                }));
                return Ok(0);
            }
            let mut lines = vec![format!("{} answered in {took} ms: {}", binding.base_url, binding.model)];
            lines.extend(context_size.map(|tokens| format!("it can look at {tokens} tokens")));
            lines.extend(reply.usage.get("total_tokens").map(|tokens| format!("the test took {tokens} tokens")));
            lines.push(if calls {
                "it calls tools".to_owned()
            } else {
                "it did NOT call the tool that it was asked to call".to_owned()
            });
            output::result(&lines.join("\n"));
            Ok(0)
        }
    }
}

const TOOL: &str = "report_ready";

fn request(binding: &Binding) -> Request {
    let schema = json!({ "type": "object", "properties": { "ready": { "type": "boolean" } }, "required": ["ready"] });
    Request {
        model: binding.model.clone(),
        messages: vec![
            Message::System("You are being tested. Do what is asked by calling the tool.".to_owned()),
            Message::User(format!("Call {TOOL} with ready set to true.")),
        ],
        tools: vec![Offer { name: TOOL.to_owned(), description: "Reports that you are ready.".to_owned(), schema }],
        choice: Choice::Auto,
        max_tokens: binding.max_tokens,
        think: binding.think,
        seed: None,
    }
}

fn failed(binding: &Binding, unanswered: &Unanswered) -> Failure {
    let values = json!({ "server": binding.base_url, "class": unanswered.class, "reason": unanswered.reason });
    let hint = match unanswered.class.as_str() {
        "network" => "next.model_network",
        "unauthorized" | "forbidden" => "next.model_key",
        "timeout" => "next.model_time",
        "budget_exceeded" => "next.model_limit",
        "not_found" => "next.model_name",
        "unparseable" => "next.model_other",
        _ => "next.model_log",
    };
    Failure::failed(("error.model_silent", values), (hint, json!({ "tier": binding.tier })))
}

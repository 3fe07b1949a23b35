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

/// How a model is bound.
const HOW: &str = "metnos config set runtime.llm.wise.base_url http://127.0.0.1:8080 binds one";

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
        output::result("no model is bound");
        return context.say(&format!("hint: {HOW}"));
    }
    output::result(&output::table(&["tier", "provider", "server", "model", "key", ""], &rows));
}

fn test(context: &Context, instance: &Instance, tier: Option<&str>) -> Result<u8, Failure> {
    let llm = &instance.settings.llm;
    let binding = match tier {
        None => llm.proposer("metis").ok_or_else(|| Failure::refused("no model is bound", HOW))?,
        Some(tier) if !TIERS.contains(&tier) => {
            return Err(Failure::usage(
                format!("there is no tier {tier}"),
                format!("the tiers are {}", TIERS.join(", ")),
            ));
        }
        Some(tier) => llm
            .get(tier)
            .ok_or_else(|| Failure::refused(format!("no model is bound to {tier}"), HOW.replace("wise", tier)))?,
    };
    let key = match &binding.credential {
        None => None,
        Some(name) => Some(instance.credential(name).ok_or_else(|| {
            Failure::refused(
                format!("there is no credential {name}"),
                format!("metnos credential set {name} stores it"),
            )
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
    let message = format!("{} did not answer ({}): {}", binding.base_url, unanswered.class, unanswered.reason);
    let hint = match unanswered.class.as_str() {
        "network" => "is the server running? llama-server --jinja -m MODEL.gguf starts one".to_owned(),
        "unauthorized" | "forbidden" => {
            format!(
                "metnos credential set NAME stores the key; metnos config set runtime.llm.{}.credential NAME names it",
                binding.tier
            )
        }
        "timeout" => format!("metnos config set runtime.llm.{}.timeout_s 600 gives it more time", binding.tier),
        "budget_exceeded" => "the account's limit is reached: see the provider's page".to_owned(),
        "not_found" => format!("metnos config set runtime.llm.{}.model NAME names another model", binding.tier),
        "unparseable" => "the model's answer could not be read: another model or template may do better".to_owned(),
        _ => "the server's own log says more".to_owned(),
    };
    Failure::failed(message, hint)
}

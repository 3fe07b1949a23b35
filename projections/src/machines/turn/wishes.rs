//! An executor is asked for that does not exist: that is remembered, and a chain of those that do exist is offered instead
//! (design 6-memory, «Synt: compose first, generate last»). The model decides whether to take it.

use metnos_log::canonical;
use metnos_log::event::mnestome::{DesiredSignature, WishObserved};
use serde_json::{Map, Value, json};

use super::decide::Decider;
use crate::machines::mnestome::{Mnestome, compose};
use crate::rules::proposer::Call;
use crate::rules::{references, shape};

impl Decider<'_> {
    /// No such executor. Where an earlier output was to go into it, that is remembered as a wish.
    pub(super) fn unknown(&mut self, call: &Call, arguments: &Map<String, Value>) {
        let there: Vec<String> = self.offered().into_iter().collect();
        let said = self.say("model.unknown_tool", &json!({ "tool": call.name, "there": there }));
        let mut shown = json!({ "ok": false, "source": "metnos", "error_class": "tool_unknown", "error": said });
        if let Some(src) = self.source_of(arguments) {
            // Kinds, never values.
            let inputs = arguments.iter().map(|(name, value)| format!("{name}: {}", canonical::kind(value))).collect();
            self.push_wish(Some(src), &call.name, inputs);
            shown["synt"] = self.composed(src, &call.name);
        }
        self.observe(call, None, Some("tool_unknown"), &shown, Some("model"));
    }

    /// The model says that nothing here does it: a wish is remembered, and it is told what could, or to go on without.
    pub(super) fn wish(&mut self, call: &Call, arguments: &Map<String, Value>) {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = text("name");
        let src = self.turn.steps.iter().rev().find(|step| step.ok).map(|step| step.number);
        self.push_wish(src, &name, Vec::new());
        let mut shown = json!({ "ok": true, "source": "metnos", "state": "noted" });
        shown["note"] = self.say("model.wished", &json!({})).into();
        if let Some(src) = src {
            shown["synt"] = self.composed(src, &name);
        }
        self.observe(call, None, None, &shown, None);
    }

    /// What is known of a wish: never a value, never a person's words, since folds keep it when the turn is erased. What it was for
    /// stands in the model's answer, which goes with the turn.
    fn push_wish(&mut self, src: Option<u32>, dst: &str, inputs: Vec<String>) {
        let source = src.and_then(|number| self.turn.steps.iter().find(|step| step.number == number));
        let (src, src_version) = source.map(|step| (step.tool.clone(), step.version.clone())).unwrap_or_default();
        let desired = DesiredSignature {
            summary: dst.replace('_', " "),
            inputs,
            outputs: shape::object(dst).map(str::to_owned).into_iter().collect(),
            errors: Vec::new(),
        };
        let (dst, turn) = (dst.to_owned(), self.id);
        self.push(WishObserved { src, src_version, dst, desired, purpose: None, turn });
    }

    /// What could be done instead, as the model is shown it. By types alone: what was observed meanwhile in other turns must
    /// not change how this one is decided again.
    fn composed(&self, src: u32, wished: &str) -> Value {
        let step = self.turn.steps.iter().find(|step| step.number == src);
        let context = self.context;
        let chain = step.and_then(|step| {
            compose(&Mnestome::default(), context.catalog, context.tools.prefilter(), (&step.tool, wished))
        });
        match chain {
            Some(chain) => {
                let first = chain.first().cloned().unwrap_or_default();
                let suggestion = self.say("model.composed", &json!({ "first": first, "chain": chain }));
                json!({
                    "strategy": "compose", "state": "composed", "chain": chain, "first_hop": first,
                    "suggestion": suggestion,
                })
            }
            None => json!({ "state": "abandoned", "suggestion": self.say("model.not_composed", &json!({})) }),
        }
    }

    /// The step whose output a call's arguments refer to.
    fn source_of(&self, arguments: &Map<String, Value>) -> Option<u32> {
        let by_number = arguments.get("from_step").and_then(Value::as_u64).and_then(|step| u32::try_from(step).ok());
        let texts = arguments.values().flat_map(leaves).collect::<Vec<_>>();
        let by_name = texts.iter().find_map(|text| references::reference(text).map(|(step, _)| step));
        by_number.or(by_name).filter(|number| self.turn.steps.iter().any(|step| step.number == *number && step.ok))
    }
}

/// Every text in a value.
pub(super) fn leaves(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(leaves).collect(),
        Value::Object(map) => map.values().flat_map(leaves).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

//! Turns whose steps a command named: what it says is the plan, and no words are planned.

use metnos_log::Kept;
use metnos_log::event::turn::{PlanProposed, TurnOpened};
use serde_json::{Value, json};

use super::decide::Decider;
use crate::messages::Language;
use crate::plan::{AnswerSpec, Origin, Plan, PlannedStep};

/// Who plans such a turn.
pub(super) const COMMAND: &str = "command";

impl Decider<'_> {
    /// A command named the steps itself: no words are planned, everything after that is as always.
    pub(super) fn open_given(&mut self, opened: TurnOpened) {
        let language = opened.language.as_deref().unwrap_or(&opened.fallback_language);
        let language = Language::parse(language).unwrap_or_default();
        let end = u32::try_from(opened.text.len()).unwrap_or(u32::MAX);
        let given = opened.given.as_ref().map(|given| given.0.clone()).unwrap_or_default();
        let steps = match given.get("steps").and_then(Value::as_array) {
            Some(steps) => steps.iter().map(|step| given_step(step, end)).collect(),
            None => vec![given_step(&given, end)],
        };
        let plan = Plan {
            engine: COMMAND.to_owned(),
            confidence_permille: 1000,
            steps,
            answer: AnswerSpec::Result,
            abstention: None,
        };
        self.push(opened);
        self.push(PlanProposed {
            source: COMMAND.to_owned(),
            engine: plan.engine.clone(),
            language: language.code().to_owned(),
            plan: Kept::json(&serde_json::to_value(&plan).expect("a plan is plain data")),
        });
        self.begin(&plan);
    }
}

/// A step that a command named. Where a value came from is the command's words, unless it says otherwise.
fn given_step(given: &Value, end: u32) -> PlannedStep {
    let args = given.get("args").cloned().unwrap_or_else(|| json!({}));
    let stated = given.get("provenance").and_then(|origins| serde_json::from_value(origins.clone()).ok());
    let provenance = stated.unwrap_or_else(|| {
        let names = args.as_object().into_iter().flatten();
        names.map(|(name, _)| (format!("/{name}"), Origin::Words { start: 0, end })).collect()
    });
    let tool = given.get("tool").and_then(Value::as_str).unwrap_or_default().to_owned();
    PlannedStep { tool, args, provenance }
}

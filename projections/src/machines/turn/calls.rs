//! A model's call becomes a step, or an outcome at once: an unknown tool, arguments that are none, an order that the shape
//! forbids, what was read already, what the turn itself answers.

use std::collections::BTreeSet;

use metnos_log::Kept;
use metnos_log::canonical::{self, Json};
use metnos_log::event::model::ObservationKept;
use metnos_log::event::turn::StepProposed;
use serde_json::{Map, Value, json};

use super::decide::{CALLS_MAX, Decider, STEPS_MAX, VECTORIAL_CALLS_MAX};
use super::state::Step;
use super::talk::{self, REPEATED};
use super::wishes::leaves;
use crate::manifest::Manifest;
use crate::rules::proposer::offer::{self, NotTaken};
use crate::rules::proposer::origin::{self, Said};
use crate::rules::proposer::{Call, observation};
use crate::rules::shape::{self, Category, State, Violation};
use crate::rules::simple;

/// The share of equal arguments from which two calls are near-identical, in thousandths (design 5-turn, «Caps and guards»).
const NEAR_PERMILLE: usize = 700;

impl Decider<'_> {
    /// Carries one call out: a step is proposed, or its outcome is there at once.
    pub(super) fn carry(&mut self, call: &Call) {
        let arguments = match talk::arguments(call) {
            Ok(arguments) => arguments,
            Err(reason) => return self.fault(call, "invalid_args", "model.no_arguments", &json!({ "reason": reason })),
        };
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
        match call.name.as_str() {
            offer::FINAL_ANSWER => match ["text", "answer", "message"].into_iter().find_map(text) {
                Some(said) if !said.trim().is_empty() => self.finish(said.trim().to_owned(), false),
                _ => self.fault(call, "missing_input", "model.empty", &json!({})),
            },
            offer::SCRATCHPAD_READ => self.read_pad(call, &arguments),
            offer::REQUEST_NEW => self.wish(call, &arguments),
            _ => self.step_of(call, &arguments),
        }
    }

    fn step_of(&mut self, call: &Call, arguments: &Map<String, Value>) {
        let Some((name, _, version)) = self.context.catalog.active(&call.name) else {
            return self.unknown(call, arguments);
        };
        let (name, input) = (name.to_owned(), version.definition("Input").unwrap_or_default());
        let Some(manifest) = version.manifest() else { return self.unknown(call, arguments) };
        let args = match offer::taken(&manifest, &input, arguments) {
            Ok(args) => args,
            Err(NotTaken(key, values)) => return self.fault(call, "invalid_args", key, &values),
        };
        if self.is_capped(&name, &manifest) {
            return;
        }
        if let Err(violation) = self.shaped(&name, &manifest, &args) {
            return self.remedy_order(call, &name, &manifest, &args, violation);
        }
        if let Some(earlier) = self.had_already(&name, &manifest, &args) {
            let said = self.say("model.repeated", &json!({ "tool": name, "step": earlier }));
            let shown = json!({ "ok": true, "source": "metnos", "step": earlier, "note": said });
            return self.observe(call, None, Some(REPEATED), &shown, None);
        }
        self.push_step(name, &args, &call.id);
    }

    /// Proposes a step of a call, with where its values come from.
    pub(super) fn push_step(&mut self, tool: String, args: &Value, call: &str) {
        let Some(opened) = self.turn.opened.as_ref() else { return };
        let said = Said { text: self.turn.text(), home: &opened.home, folder: &opened.folder };
        let origins = origin::origins(args, said);
        let provenance = serde_json::to_value(origins).expect("origins are plain data");
        self.push_step_from(tool, args, call, &provenance);
    }

    pub(super) fn push_step_from(&mut self, tool: String, args: &Value, call: &str, provenance: &Value) {
        let step = u32::try_from(self.turn.steps.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.push(StepProposed {
            step,
            tool,
            args: Kept::json(args),
            provenance: Some(Json(provenance.clone())),
            call: Some(call.to_owned()),
        });
        self.refuse_unresolved();
    }

    /// Closes the turn where it has made as many steps, or calls of one executor, as it may.
    fn is_capped(&mut self, tool: &str, manifest: &Manifest) -> bool {
        if self.turn.steps.len() >= STEPS_MAX {
            let message = self.say("model.cap_steps", &json!({ "most": STEPS_MAX }));
            self.close("cap_steps", Some("budget_exceeded"), message);
            return true;
        }
        let most = if manifest.contract.vectorial { VECTORIAL_CALLS_MAX } else { CALLS_MAX };
        let calls = self.turn.steps.iter().filter(|step| step.tool == tool && !step.trace_id.is_empty()).count();
        if calls >= most {
            let message = self.say("model.cap_same", &json!({ "tool": tool, "most": most }));
            self.close("cap_same_executor", Some("budget_exceeded"), message);
            return true;
        }
        false
    }

    /// Whether the step fits behind those that went well. A next pipeline may open for each clause of the request.
    fn shaped(&self, tool: &str, manifest: &Manifest, args: &Value) -> Result<(), Violation> {
        let mut acts = 0;
        let mut state = State::Start;
        for step in self.turn.steps.iter().filter(|step| step.ok) {
            state = match shape::next(state, &step.tool, &step.proposed) {
                Ok(state) => state,
                Err(_) => shape::next(State::Start, &step.tool, &step.proposed).unwrap_or(State::Chain),
            };
            acts += usize::from(matches!(shape::category(&step.tool), Some(Category::Act | Category::Present)));
        }
        if state == State::Terminal && acts < self.clauses() {
            state = State::Start;
        }
        shape::next(state, tool, args)?;
        if shape::consumes(tool) && !offer::has_source(manifest, args) {
            return Err(Violation::NeedsDataSource);
        }
        if shape::category(tool) == Some(Category::Act) && !offer::has_target(manifest, args) {
            return Err(Violation::NeedsActionTarget);
        }
        Ok(())
    }

    /// How many clauses the request has.
    fn clauses(&self) -> usize {
        simple::clause_count(&self.context.rules.lexicons, self.turn.text())
    }

    /// The step that did this already: of a reader the same target, of anything else near-identical arguments.
    fn had_already(&self, tool: &str, manifest: &Manifest, args: &Value) -> Option<u32> {
        let reads = matches!(shape::verb(tool), "read" | "get" | "write");
        let targets = |args: &Value| -> BTreeSet<String> {
            let named = manifest.arguments.iter().filter(|(_, argument)| argument.role.is_target());
            named.filter_map(|(name, _)| args.get(name)).flat_map(leaves).map(|leaf| self.spelled(&leaf)).collect()
        };
        let wanted = targets(args);
        let same = |step: &&Step| {
            let had = targets(&step.proposed);
            let same_source = step.proposed.get("from_step") == args.get("from_step");
            if reads && !wanted.is_empty() {
                return had == wanted && same_source;
            }
            had == wanted && same_source && jaccard_permille(&step.proposed, args) >= NEAR_PERMILLE
        };
        let acts = shape::category(tool) == Some(Category::Act);
        let mut done =
            self.turn.steps.iter().rev().filter(|step| step.tool == tool && step.ok && !super::forms::is_dialog(tool));
        // Only what nothing was done since is the same still.
        done.find(same).filter(|step| acts || !self.acted_since(step.number)).map(|step| step.number)
    }

    fn acted_since(&self, number: u32) -> bool {
        let later = self.turn.steps.iter().filter(|step| step.number > number && step.ok);
        later.into_iter().any(|step| shape::category(&step.tool) == Some(Category::Act))
    }

    /// A path in one spelling.
    fn spelled(&self, value: &str) -> String {
        let (home, folder) =
            self.turn.opened.as_ref().map_or(("", ""), |opened| (opened.home.as_str(), opened.folder.as_str()));
        match value {
            _ if value.contains("://") || value.starts_with('/') => value.to_owned(),
            _ => match value.strip_prefix("~/") {
                Some(rest) => format!("{home}/{rest}"),
                None => format!("{folder}/{}", value.trim_start_matches("./")),
            },
        }
    }

    /// Reads a part of a long outcome of this turn.
    fn read_pad(&mut self, call: &Call, arguments: &Map<String, Value>) {
        let handle = arguments.get("scratchpad_id").and_then(Value::as_str).unwrap_or_default();
        let pads = self.turn.talk.as_ref().map(|talk| talk.pads.clone()).unwrap_or_default();
        let step = observation::step_of(handle).filter(|step| pads.contains(step));
        let result = step.and_then(|number| self.turn.steps.iter().find(|step| step.number == number)?.result.clone());
        let Some(result) = result else {
            let there: Vec<String> = pads.into_iter().map(observation::handle_of).collect();
            return self.fault(call, "not_found", "model.no_pad", &json!({ "there": there }));
        };
        match observation::read(&observation::text_of(&result).1, arguments) {
            Some(mut shown) => {
                shown["source"] = "scratchpad_read".into();
                shown["scratchpad_id"] = handle.trim().into();
                self.observe(call, None, None, &shown, None);
            }
            None => self.fault(call, "invalid_args", "model.no_mode", &json!({})),
        }
    }

    /// What the model said is no proper call: it is told why, and it counts.
    pub(super) fn fault(&mut self, call: &Call, class: &str, key: &str, values: &Value) {
        let said = self.say(key, values);
        let shown = json!({ "ok": false, "source": "metnos", "error_class": class, "error": said });
        self.observe(call, None, Some(class), &shown, Some("model"));
    }

    /// Shows the model an outcome that is no step's result.
    pub(super) fn observe(
        &mut self,
        call: &Call,
        step: Option<u32>,
        class: Option<&str>,
        shown: &Value,
        fault: Option<&str>,
    ) {
        let text = canonical::to_string(shown);
        self.push(ObservationKept {
            call: call.id.clone(),
            step,
            tool: call.name.clone(),
            class: class.map(str::to_owned),
            scratchpad: None,
            size: text.len() as u64,
            shown: Kept::text(text),
            fault: fault.map(str::to_owned),
        });
    }
}

/// How many of all arguments two calls share, in thousandths; two calls without any are the same.
fn jaccard_permille(one: &Value, other: &Value) -> usize {
    let parts = |args: &Value| -> BTreeSet<String> {
        let fields = args.as_object().into_iter().flatten();
        fields.map(|(name, value)| format!("{name}={}", canonical::to_string(value))).collect()
    };
    let (one, other) = (parts(one), parts(other));
    let all = one.union(&other).count();
    (one.intersection(&other).count() * 1000).checked_div(all).unwrap_or(1000)
}

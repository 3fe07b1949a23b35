//! What is done where a call lacks something: one line a class (design 5-turn, «Shape»), and what becomes of a model's step
//! once it ended.

use metnos_log::Kept;
use metnos_log::canonical::{self, Json};
use metnos_log::event::model::{ObservationKept, StepRemediated};
use serde_json::{Value, json};

use super::decide::Decider;
use super::forms;
use super::state::Step;
use crate::manifest::{Manifest, Role};
use crate::rules::proposer::{Call, observation};
use crate::rules::shape::{self, Violation};
use crate::rules::simple::skills;

/// How a lack is mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    /// The pages that the executor names are read first; then it is called again with them.
    ReadPages,
    /// What the built-in engine would get first is got; else the model is told what to call.
    GetSource,
    /// The person is asked. Nothing is made up, and nothing is called again unasked.
    AskPerson,
    /// The model is told how to say it.
    Tell,
}

/// The registry. Append-only data.
const REMEDIES: [(&str, Remedy); 4] = [
    ("needs_content_fetch", Remedy::ReadPages),
    ("needs_data_source", Remedy::GetSource),
    ("needs_action_target", Remedy::AskPerson),
    ("binary_missing", Remedy::Tell),
];
/// Where an executor names the pages that it needs.
const PAGES_HINT: &str = "needs_urls_html";
/// The most pages that are read for it.
const PAGES_MAX: usize = 5;
const PAGE_READER: &str = "read_urls_html";
const LAST_RESORT: &str = "find_urls";

fn remedy(class: &str) -> Option<Remedy> {
    REMEDIES.iter().find(|(known, _)| *known == class).map(|(_, remedy)| *remedy)
}

impl Decider<'_> {
    /// A call that does not fit where it stands.
    pub(super) fn remedy_order(
        &mut self,
        call: &Call,
        tool: &str,
        manifest: &Manifest,
        args: &Value,
        violation: Violation,
    ) {
        let class = violation.class();
        match remedy(class) {
            Some(Remedy::GetSource) => self.get_source(call, tool, class),
            Some(Remedy::AskPerson) => self.ask_target(call, tool, manifest, class),
            Some(Remedy::ReadPages | Remedy::Tell) | None => {
                let key = if violation == Violation::PipelineAlreadyClosed { "model.closed" } else { "model.unfit" };
                let values = json!({ "tool": tool, "class": class, "args": args });
                let said = self.say(key, &values);
                let shown = json!({ "ok": false, "source": "metnos", "error_class": class, "error": said });
                self.observe(call, None, Some(class), &shown, None);
            }
        }
    }

    /// What the person's words name is read first, if the built-in engine understood them so far; then the call is made again
    /// with what came of it. Else the model is told which executor gives it something to work on.
    fn get_source(&mut self, call: &Call, tool: &str, class: &str) {
        let is_source = |name: &str| shape::next(shape::State::Start, name, &json!({})) == Ok(shape::State::Chain);
        let had = self.turn.steps.iter().rev().find(|step| step.ok).map(|step| step.number);
        if let Some(step) = had {
            let said = self.say("model.needs_step", &json!({ "tool": tool, "step": step }));
            let shown = json!({ "ok": false, "source": "metnos", "error_class": class, "error": said });
            return self.observe(call, None, Some(class), &shown, None);
        }
        let planned = self.turn.aside.as_ref().and_then(|plan| plan.steps.first());
        let planned = planned.filter(|step| is_source(&step.tool) && self.context.catalog.active(&step.tool).is_some());
        if let Some(first) = planned.cloned() {
            let provenance = serde_json::to_value(&first.provenance).expect("origins are plain data");
            return self.get_first(call, tool, class, (first.tool, first.args, provenance));
        }
        let offered = self.turn.candidates.iter().find(|name| is_source(name)).cloned();
        let named = offered.unwrap_or_else(|| LAST_RESORT.to_owned());
        self.push(StepRemediated {
            call: call.id.clone(),
            tool: tool.to_owned(),
            class: class.to_owned(),
            prerequisite: Some(named.clone()),
            args: Kept::default(),
            provenance: Json(json!({})),
            retried: false,
        });
        let said = self.say("model.needs_source", &json!({ "tool": tool, "first": named }));
        let shown =
            json!({ "ok": false, "source": "metnos", "error_class": class, "error": said, "suggestion": named });
        self.observe(call, None, Some(class), &shown, None);
    }

    fn get_first(&mut self, call: &Call, tool: &str, class: &str, (first, args, provenance): (String, Value, Value)) {
        self.push(StepRemediated {
            call: call.id.clone(),
            tool: tool.to_owned(),
            class: class.to_owned(),
            prerequisite: Some(first.clone()),
            args: Kept::json(&args),
            provenance: Json(provenance.clone()),
            retried: true,
        });
        self.push_step_from(first, &args, &call.id, &provenance);
    }

    /// A target is never made up: a form asks for it, and the model gets the answer.
    fn ask_target(&mut self, call: &Call, tool: &str, manifest: &Manifest, class: &str) {
        let what = skills::described(self.context.tools, tool, self.turn.language).unwrap_or_else(|| tool.to_owned());
        let is_path = |role: Role| matches!(role, Role::Path | Role::TargetPath | Role::Entries);
        let kind = if manifest.arguments.values().any(|argument| is_path(argument.role)) { "path" } else { "text" };
        let label = self.say("model.ask_target", &json!({ "what": what }));
        let label: String = label.chars().take(200).collect();
        let args = json!({ "fields": [{ "name": "target", "label": label, "type": kind }] });
        if self.context.catalog.active(forms::GET_INPUTS).is_none() {
            return self.close("needs_inputs", Some(class), label);
        }
        self.push(StepRemediated {
            call: call.id.clone(),
            tool: tool.to_owned(),
            class: class.to_owned(),
            prerequisite: Some(forms::GET_INPUTS.to_owned()),
            args: Kept::json(&args),
            provenance: Json(json!({})),
            retried: false,
        });
        let origins = json!({ "": { "from": "default" } });
        self.push_step_from(forms::GET_INPUTS.to_owned(), &args, &call.id, &origins);
    }

    /// A step of a model ended: the model is shown its outcome, or what it lacked is got first.
    pub(super) fn model_step_ended(&mut self, step: &Step) {
        let Some(call) = self.call_of(step) else { return self.go_on() };
        let talk = self.turn.talk.as_ref();
        let pending =
            talk.and_then(|talk| talk.remedy.clone()).filter(|remedy| remedy.retried && remedy.call == call.id);
        let class = step.class.as_deref().filter(|_| !step.ok);
        if let Some(remedy) = pending.filter(|_| step.ok && step.tool != call.name) {
            return self.call_again(&call, &remedy, step.number);
        }
        let result = step.result.clone().unwrap_or_default();
        let is_mended = self.turn.talk.as_ref().is_some_and(|talk| talk.remedy.is_some());
        if class.and_then(remedy) == Some(Remedy::ReadPages) && !is_mended && self.read_pages(&call, step, &result) {
            return;
        }
        let mut worded = result;
        self.word(&mut worded);
        self.show(&call, step, &worded);
        self.go_on();
    }

    /// The call that a step was made of.
    fn call_of(&self, step: &Step) -> Option<Call> {
        let id = step.call.as_ref()?;
        self.turn.talk.as_ref()?.open.iter().find(|call| call.id == *id).cloned()
    }

    /// The call once more, with what was got for it.
    fn call_again(&mut self, call: &Call, remedy: &StepRemediated, source: u32) {
        let mut arguments = super::talk::arguments(call).unwrap_or_default();
        arguments.remove("entries");
        arguments.insert("from_step".to_owned(), source.into());
        self.push_step(remedy.tool.clone(), &Value::Object(arguments), &call.id);
    }

    fn read_pages(&mut self, call: &Call, step: &Step, result: &Value) -> bool {
        let hinted = result.get(PAGES_HINT).and_then(Value::as_array).into_iter().flatten();
        let address = |hint: &Value| hint.as_str().or_else(|| hint.get("url")?.as_str()).map(str::to_owned);
        let urls: Vec<String> = hinted.filter_map(address).take(PAGES_MAX).collect();
        if urls.is_empty() || self.context.catalog.active(PAGE_READER).is_none() {
            return false;
        }
        let origin = |at: usize| json!({ "from": "step", "step": step.number, "path": format!("{PAGES_HINT}[{at}]") });
        let provenance: Value = (0..urls.len()).map(|at| (format!("/urls/{at}"), origin(at))).collect();
        self.get_first(
            call,
            &step.tool,
            "needs_content_fetch",
            (PAGE_READER.to_owned(), json!({ "urls": urls }), provenance),
        );
        true
    }

    /// A step of a model may not run: the model is told why.
    pub(super) fn model_step_refused(&mut self, step: &Step, class: &str, reason: &str) {
        let Some(call) = self.call_of(step) else { return self.go_on() };
        let shown =
            json!({ "step": step.number, "source": step.tool, "ok": false, "error_class": class, "error": reason });
        // What a model made up is the model's fault; what the world is like is not.
        let fault = (class == "invalid_args").then_some("model");
        self.observe(&Call { name: step.tool.clone(), ..call }, Some(step.number), Some(class), &shown, fault);
        self.go_on();
    }

    /// Shows the outcome of a step: whole, or behind a handle.
    fn show(&mut self, call: &Call, step: &Step, result: &Value) {
        let mut shown = observation::shown(step.number, &step.tool, result);
        let class = step.class.clone().filter(|_| !step.ok);
        if class.as_deref().and_then(remedy) == Some(Remedy::Tell) {
            shown.value["suggestion"] = self.say("model.binary_missing", &json!({})).into();
        }
        let text = canonical::to_string(&shown.value);
        self.push(ObservationKept {
            call: call.id.clone(),
            step: Some(step.number),
            tool: step.tool.clone(),
            class,
            scratchpad: shown.is_handle.then(|| observation::handle_of(step.number)),
            size: shown.size,
            shown: Kept::text(text),
            fault: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::shape::Category;

    #[test]
    fn every_remedy_is_about_a_class_that_exists() {
        let violations = [Violation::NeedsDataSource, Violation::NeedsActionTarget].map(Violation::class);
        assert!(violations.iter().all(|class| remedy(class).is_some()));
        assert_eq!(remedy("not_found"), None);
        assert_eq!(shape::category(PAGE_READER), Some(Category::Emit));
    }
}

//! What a turn decides once a call came back: whether its changes may be made, and how it goes on when they were.

use std::sync::Arc;

use metnos_log::Event;
use metnos_log::event::turn::{InvocationFinished, PlannedOp, TurnCancelled};
use serde_json::{Value, json};

use super::consent::{are_own_messages, trouble_of_one};
use super::decide::Decider;
use super::forms;
use super::state::{Phase, Step};
use crate::machines::catalog::Version;
use crate::machines::schedules::task;
use crate::rules::grants::Leave;
use crate::rules::policy::{self, Decision, Use};
use crate::rules::undo::{self, Reach};

/// The most lines of a result that get words.
const WORDED_MAX: usize = 1000;

impl Decider<'_> {
    pub(super) fn committed(&mut self, outcome: impl Into<Event>) {
        self.push(outcome);
        if self.turn.phase == Phase::Returned {
            self.step_ended();
        }
    }

    pub(super) fn returned(&mut self, finished: InvocationFinished) {
        let (ok, may_do_less) = (finished.ok, finished.may_do_less);
        self.push(finished);
        let Some(step) = self.turn.step().cloned() else { return };
        if !ok || step.ops.is_empty() {
            return self.step_ended();
        }
        if may_do_less {
            return self.refuse_for_less();
        }
        // What it wants is judged by what it declares: by another version that would be something else.
        let standing = self.context.catalog.standing(&step.tool, &step.version);
        let Some(manifest) = standing.and_then(Version::manifest) else {
            let reason = self.say("refusal.executor_changed", &json!({}));
            return self.refuse("gateway", "policy_violation", Some(reason));
        };
        if self.touches_what_is_outside(&step) {
            return;
        }
        if let Some((op, (class, key))) = prevented(&step.ops) {
            let reason = self.trouble(key, &op.path);
            // Of a person the reason says all: they are no place.
            let target = if op.message.is_some() { "" } else { &op.path };
            return self.refuse_about("gateway", class, &reason, target);
        }
        let paths = affected(&step.ops);
        if self.is_beyond_judgement("effects", &step, paths.iter().map(String::as_str)) {
            return;
        }
        if let Some((rule, reason)) = self.guard("effects", &step.tool, &paths) {
            return self.block("effects", &step, rule, reason);
        }
        let granted = step.targets.iter().all(|target| self.turn.is_granted(&step, target));
        // What the log itself keeps, files, servers: each is asked about as what it is.
        let has = |kind: fn(&PlannedOp) -> bool| step.ops.iter().any(kind);
        let concerned = [
            ("metnos:write", has(|op| op.own.is_some())),
            ("fs:write", has(PlannedOp::is_of_files)),
            ("network:http", has(|op| op.request.is_some())),
            (policy::CHANNEL, has(|op| op.message.is_some())),
        ];
        let concerned = concerned.into_iter().filter(|(_, concerns)| *concerns);
        let mut signs = self.signs(&step, &manifest);
        signs.harmless = false;
        let leave = Leave { grants: &step.grants, time: self.context.time };
        let mut used = Vec::new();
        let decisions = concerned.map(|(capability, _)| {
            // What an executor says on its own account is asked about wherever asking is possible.
            let is_own = capability == policy::CHANNEL && are_own_messages(&step, &manifest);
            let unrepeatable_act = !manifest.contract.idempotent || is_own;
            let own = capability == "metnos:write" && self.is_a_guests();
            let sends = matches!(capability, "network:http" | policy::CHANNEL);
            let grants = match capability {
                "fs:write" => leave.paths(capability, paths.iter().map(String::as_str)),
                "network:http" => leave.addresses(capability, addresses(&step.ops)),
                _ => leave.whole(capability),
            };
            let asked = Use { capability, granted, unrepeatable_act, own, sends, ..Use::default() };
            self.allowed(asked, &grants, signs, &mut used)
        });
        let decision = decisions.max().unwrap_or(Decision::Ask);
        self.rule_on("effects", (&step, &manifest), decision, signs, &used);
    }

    /// The person wants no more of it. What was changed by then stays, and how to take it back is said.
    pub(super) fn cancelled(&mut self, by: String) {
        self.push(TurnCancelled { by });
        let made = |step: &Step| step.committed.values().filter(|failed| failed.is_none()).count();
        let done: usize = self.turn.steps.iter().map(made).sum();
        let planned = self.turn.step().map_or(0, |step| step.ops.len());
        let goes_back = |step: &Step| {
            let made = step.committed.iter().filter(|(_, failed)| failed.is_none());
            made.filter_map(|(index, _)| step.ops.get(*index as usize))
                .filter(|op| undo::reach(op) != Reach::Never)
                .count()
        };
        let back: usize = self.turn.steps.iter().map(goes_back).sum();
        let key = if done > 0 { "turn.cancelled_partly" } else { "turn.cancelled" };
        let message = self.say(key, &json!({ "done": done, "planned": planned, "back": back }));
        self.close("error", Some("cancelled"), message);
    }

    /// The step that is up has its result: goes on with the next, or closes.
    fn step_ended(&mut self) {
        let Some(step) = self.turn.step().cloned() else { return };
        if self.turn.is_model_planned() {
            return self.model_step_ended(&step);
        }
        if step.ok {
            // Whatever comes after the question was to wait for a yes.
            let goes_on = self.turn.plan.as_ref().is_some_and(|plan| plan.steps.len() > step.number as usize);
            if goes_on && forms::is_refusal(&step) {
                let message = self.say("dialog.said_no", &json!({}));
                return self.close("answer", None, message);
            }
            return self.propose(step.number + 1);
        }
        if self.ask_which(None).is_some() {
            return;
        }
        let result = step.result.clone().unwrap_or_default();
        let text = |key: &str| result.get(key).and_then(Value::as_str).map(str::to_owned);
        let class = step.class.clone().or_else(|| text("error_class")).unwrap_or_else(|| "internal_error".to_owned());
        let failed = step.committed.iter().find_map(|(index, failure)| {
            let (_, key) = failure.as_ref()?;
            let op = step.ops.get(usize::try_from(*index).ok()?)?;
            Some(self.trouble(key, &op.path))
        });
        let reason = failed.or_else(|| text("error")).unwrap_or_default();
        let mut message = self.failure(&step, &class, &reason);
        message.extend(self.may_have_changed(&step, &class).map(|said| format!(" {said}")));
        self.close("error", Some(&class), message);
    }

    /// Puts words in place of the keys that say why a change failed, as far as an answer lists them.
    pub(super) fn word(&self, result: &mut Arc<Value>) {
        // Most results hold nothing of the kind, and are left shared.
        if ["failed", "refused", "results", "made", "planned"].into_iter().all(|name| result.get(name).is_none()) {
            return;
        }
        let result = Arc::make_mut(result);
        for name in ["failed", "refused", "results"] {
            let lines = result.get_mut(name).and_then(Value::as_array_mut);
            for line in lines.into_iter().flatten().filter(|line| line.get("op").is_some()).take(WORDED_MAX) {
                let text = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
                let (Some(key), Some(path)) = (text("error"), text("path")) else { continue };
                let class = text("error_class").unwrap_or_default();
                let messages = &self.context.rules.messages;
                let said = trouble_of_one(messages, self.turn.language, (&class, &key), &path);
                line["error"] = said.into();
            }
        }
        for name in ["made", "planned"] {
            for line in result.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten().take(WORDED_MAX) {
                let op = PlannedOp {
                    op: task::TASK.to_owned(),
                    own: line.get("own").and_then(|own| serde_json::from_value(own.clone()).ok()),
                    ..PlannedOp::default()
                };
                let task = task::told(&self.context.rules.messages, self.turn.language, &op);
                line["task"] = task.unwrap_or_default();
                line["said"] = self.say("undo.line", line).into();
            }
        }
    }
}

/// Why a step may not go on at all: a change that no one may make, or none that can be made.
fn prevented(ops: &[PlannedOp]) -> Option<(&PlannedOp, &(String, String))> {
    const FATAL: [&str; 4] = ["policy_violation", "contract_violation", "internal_error", "vaglio_guard"];
    let mut troubled = ops.iter().filter_map(|op| Some((op, op.trouble.as_ref()?)));
    let fatal = troubled.clone().find(|(_, (class, _))| FATAL.contains(&class.as_str()));
    fatal.or_else(|| if ops.iter().all(|op| op.trouble.is_some()) { troubled.next() } else { None })
}

/// Every path that changes concern: both ends of a move, and what a folder holds that no one may touch.
fn affected(ops: &[PlannedOp]) -> Vec<String> {
    let of = |op: &PlannedOp| {
        let (from_trash, into_trash) = (op.op == "restore", op.to.as_deref() == Some("trash") && op.op == "delete");
        let path = (!from_trash).then(|| op.path.clone());
        let dst = op.dst.clone().filter(|_| !into_trash && op.op != "link");
        [path, dst, op.holds.as_ref().and_then(|holds| holds.forbidden.clone())]
    };
    ops.iter().filter(|op| op.is_of_files()).flat_map(of).flatten().collect()
}

/// Where requests go.
fn addresses(ops: &[PlannedOp]) -> impl Iterator<Item = &str> {
    ops.iter().filter(|op| op.request.is_some()).map(|op| op.path.as_str())
}

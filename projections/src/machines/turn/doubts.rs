//! Why a person is asked about an act, whatever policy says: its target, its words or the act itself come from where nobody
//! who may decide said so (design 3-executors, «Provenance»).
//!
//! `rules::provenance` holds the rules and is measured over recorded attacks; here they meet what a turn knows better than
//! text does: which words a value was taken from, and which steps looked at names and which read what is inside.

use std::collections::BTreeSet;

use metnos_log::event::turn::Target;
use serde_json::json;

use super::decide::Decider;
use super::state::{Step, Turn};
use crate::manifest::{Manifest, Role};
use crate::plan::Origin;
use crate::rules::policy::{self, Class};
use crate::rules::provenance::{self, Act, Doubt, Named, Roles, Rules};
use crate::rules::shape::{self, Category};

/// How a verdict names a doubt among its reasons.
pub(super) const REASON: &str = "provenance: ";
/// How many addresses a question names.
const SHOWN_MAX: usize = 5;

/// Whether an executor changes something, sends, or makes a request leave for a place that an argument names.
fn acts(manifest: &Manifest) -> bool {
    manifest.contract.side_effects
        || shape::category(&manifest.executor.name) == Some(Category::Act)
        || leaves_for_a_named_place(manifest)
}

fn leaves_for_a_named_place(manifest: &Manifest) -> bool {
    manifest.arguments.values().any(|argument| matches!(argument.role, Role::Url | Role::Host))
}

/// Whether the call itself is the act, and not what the core then does for it.
fn acts_by_itself(manifest: &Manifest) -> bool {
    leaves_for_a_named_place(manifest) || manifest.is_critical()
}

/// Whether what an executor returns can hold what somebody else wrote: all but what it was told or computed.
fn reads_what_others_write(manifest: &Manifest) -> bool {
    let harmless = |name: &str| policy::registered(name).is_some_and(|known| known.class == Class::None);
    !manifest.capabilities.iter().all(|capability| harmless(&capability.name))
}

/// The number of the ask whose answer a step comes from.
fn ask_of(step: &Step) -> Option<u32> {
    step.call.as_deref()?.strip_prefix("call_")?.split('_').next()?.parse().ok()
}

impl Decider<'_> {
    /// The doubts about a step that is up: about its call, or about the effects that it wants.
    pub(super) fn doubts(&self, step: &Step, manifest: &Manifest, about: &str) -> Vec<Doubt> {
        if !acts(manifest) || (about == "call" && !acts_by_itself(manifest)) {
            return Vec::new();
        }
        let targets: Vec<Named> = step.targets.iter().map(|target| self.named(step, target)).collect();
        let roles_of_it = roles(manifest);
        let mut contents: Vec<String> =
            Roles::values(&roles_of_it.content_args, &step.args).map(|(_, value)| value).collect();
        // What the built-in engine made of the words is of the words, and so is an act that takes nothing with it.
        let is_anchored = !self.turn.is_model_planned() || contents.is_empty();
        // What is said to people need not be what the executor was given.
        let messages = step.ops.iter().filter(|op| about == "effects" && op.message.is_some());
        let said: Vec<&str> = messages.filter_map(|op| op.text.as_deref()).collect();
        let outgoing = roles_of_it.outgoing || !said.is_empty();
        let own = said.into_iter().filter(|said| !contents.iter().any(|given| given.contains(said.trim())));
        let own: BTreeSet<String> = own.map(str::to_owned).collect();
        contents.extend(own);
        let act = Act { tool: &step.tool, outgoing, is_anchored, contents, targets };
        let mut known = provenance::Turn::new(Rules::ALL, self.turn.text(), self.locked_plan(step, manifest));
        if act.outgoing || act.targets.iter().any(|target| !target.is_vouched) {
            for earlier in self.turn.steps.iter().filter(|earlier| earlier.number < step.number) {
                let (Some(result), Some(manifest)) = (&earlier.result, self.manifest(&earlier.tool)) else { continue };
                known.learn(&earlier.tool, &roles(&manifest), &earlier.args, result);
            }
        }
        known.doubts(&act)
    }

    /// The executors that were chosen before anything was read that somebody else may have written.
    fn locked_plan(&self, step: &Step, manifest: &Manifest) -> Vec<String> {
        // The built-in engine plans from the words alone, and whole.
        if !self.turn.is_model_planned() {
            return vec![step.tool.clone()];
        }
        let by_words = self.turn.aside.iter().flat_map(|plan| plan.steps.iter().map(|step| step.tool.clone()));
        let named = self.is_named_in_words(manifest).then(|| step.tool.clone());
        let until = self.first_reading().map(|(ask, _)| ask);
        let before = self.turn.steps.iter().filter(|step| until.is_none_or(|until| ask_of(step) <= until));
        by_words.chain(named).chain(before.map(|step| step.tool.clone())).collect()
    }

    /// After which ask something was first read that somebody else may have written, and by which step; what was said before
    /// in the conversation may hold such words, too.
    fn first_reading(&self) -> Option<(Option<u32>, Option<&Step>)> {
        if self.turn.opened.as_ref().is_some_and(|opened| !opened.history.is_empty()) {
            return Some((Some(0), None));
        }
        let is_reading = |step: &&Step| {
            step.result.is_some() && self.manifest(&step.tool).is_none_or(|manifest| reads_what_others_write(&manifest))
        };
        self.turn.steps.iter().find(is_reading).map(|step| (ask_of(step), Some(step)))
    }

    fn named(&self, step: &Step, target: &Target) -> Named {
        let argument = target.pointer.split('/').nth(1).unwrap_or_default().to_owned();
        let is_vouched = self.turn.is_vouched(step, target);
        Named { is_id: target.role == "id", value: target.given.clone(), argument, is_vouched }
    }

    /// What a question says of doubts; where targets come from is told beside them.
    pub(super) fn told(&self, doubts: &[Doubt]) -> Vec<String> {
        let addresses: Vec<&str> = doubts
            .iter()
            .filter_map(|doubt| if let Doubt::Address(address) = doubt { Some(address.as_str()) } else { None })
            .collect();
        let shown = &addresses[..addresses.len().min(SHOWN_MAX)];
        let read = self.first_reading().and_then(|(_, step)| step);
        let mut told = Vec::new();
        for doubt in doubts {
            let (key, values) = match doubt {
                Doubt::OutsideOfPlan => (
                    "consent.outside_of_plan",
                    json!({ "step": read.map(|step| step.number), "tool": read.map(|step| &step.tool) }),
                ),
                // All in one line, in the place of the first.
                Doubt::Address(address) if addresses.first() == Some(&address.as_str()) => {
                    ("consent.addresses", json!({ "addresses": shown, "rest": addresses.len() - shown.len() }))
                }
                Doubt::Secret => ("consent.secret", json!({})),
                Doubt::Unasked => ("consent.unasked", json!({})),
                Doubt::Address(_) | Doubt::Target { .. } => continue,
            };
            told.push(self.say(key, &values));
        }
        told
    }
}

impl Turn {
    /// Whether nobody need be asked where a target came from. Which of the things below a folder of the person's is meant, the
    /// built-in engine's executors say, and no model.
    fn is_vouched(&self, step: &Step, target: &Target) -> bool {
        self.is_named(step, target) || (!self.is_model_planned() && self.is_granted(step, target))
    }

    /// Whether a question need not tell where a target came from.
    pub(super) fn goes_without_saying(&self, step: &Step, target: &Target) -> bool {
        if self.is_model_planned() { self.is_vouched(step, target) } else { self.is_granted(step, target) }
    }

    /// Whether a target comes from where one may come from: the person's words, configuration, or a look-up of names that these
    /// alone decided. What a file says is no such look-up, whoever asked for the file.
    fn is_named(&self, step: &Step, target: &Target) -> bool {
        self.is_said(step, &target.pointer)
            || matches!(step.origin(&target.pointer), Some(Origin::Step { step, .. }) if self.is_looked_up(*step))
    }

    /// Whether a step returned names that it looked up by what the person said, or some of such names.
    fn is_looked_up(&self, number: u32) -> bool {
        let Some(step) = self.steps.iter().find(|step| step.number == number) else { return false };
        let passes = |origin: &Origin| match origin {
            Origin::Words { .. } | Origin::Configuration | Origin::Default => true,
            // Only ever an earlier one, so this ends.
            Origin::Step { step: source, .. } => *source < number && self.is_looked_up(*source),
            Origin::Model => false,
        };
        let looks_up = match (shape::verb(&step.tool), shape::object(&step.tool)) {
            ("find" | "list" | "get", Some("files" | "dirs")) => true,
            ("sort" | "filter" | "group" | "compare", Some(_)) => {
                step.provenance.values().any(|origin| matches!(origin, Origin::Step { .. }))
            }
            _ => false,
        };
        looks_up && step.provenance.values().all(passes)
    }
}

/// What the arguments and results of an executor mean to the rules.
fn roles(manifest: &Manifest) -> Roles {
    let of = |wanted: fn(Role) -> bool| {
        let named = manifest.arguments.iter().filter(|(_, argument)| wanted(argument.role));
        named.map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    let lists_tasks = manifest.capabilities.iter().any(|capability| capability.name == "metnos:read");
    Roles {
        acting: acts(manifest),
        target_args: of(Role::is_target),
        id_args: of(|role| role == Role::Id),
        content_args: of(|role| matches!(role, Role::Content | Role::Command)),
        outgoing: !of(|role| role == Role::Recipient).is_empty(),
        directory: if lists_tasks { vec!["schedule_id".to_owned()] } else { Vec::new() },
        private_output: reads_what_others_write(manifest),
    }
}

/// A doubt's name in a verdict.
pub(super) fn name(doubt: &Doubt) -> &'static str {
    match doubt {
        Doubt::OutsideOfPlan => "outside_of_plan",
        Doubt::Target { .. } => "target",
        Doubt::Address(_) => "address",
        Doubt::Secret => "secret",
        Doubt::Unasked => "unasked",
    }
}

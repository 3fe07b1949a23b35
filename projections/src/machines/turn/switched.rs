//! What is said where a builtin that is switched off would do what is asked for.

use serde_json::json;

use super::decide::Decider;
use crate::plan::{AbstentionKind, Plan, PlannedStep};
use crate::replay;
use crate::rules::simple::{Proposal, Tools};

impl Decider<'_> {
    /// What is said of a plan whose step of that number is switched off; nothing where it is not.
    pub(super) fn switched_off(&self, plan: &Plan, number: u32) -> Option<String> {
        let step = plan.steps.get((number as usize).checked_sub(1)?)?;
        let is_off = self.context.catalog.all_disabled().any(|(name, _)| name == step.tool);
        is_off.then(|| self.say("planner.disabled", &json!({ "tool": step.tool })))
    }

    /// Where nothing can be done because what would do it is switched off, that is what is said.
    pub(super) fn for_want_of_disabled(&self, mut proposal: Proposal, by: impl Fn(&Tools) -> Proposal) -> Proposal {
        let catalog = self.context.catalog;
        let Some(abstention) = &mut proposal.plan.abstention else { return proposal };
        if catalog.all_disabled().next().is_none() {
            return proposal;
        }
        let Proposal { plan, language, .. } = by(&replay::tools_and_disabled(catalog));
        let is_disabled = |step: &&PlannedStep| catalog.all_disabled().any(|(name, _)| name == step.tool);
        if let Some(step) = plan.steps.iter().find(is_disabled).filter(|_| plan.abstention.is_none()) {
            let values = json!({ "tool": step.tool });
            abstention.message = self.context.rules.messages.say(language, "planner.disabled", &values);
            abstention.kind = AbstentionKind::Cannot;
            abstention.offers = false;
        }
        proposal
    }
}

//! What a guest's turn is refused because it lies outside of their perimeter. Plain words, and nothing about what is there.

use metnos_log::event::turn::Target;
use serde_json::json;

use super::decide::Decider;
use super::state::Step;
use crate::manifest::Manifest;
use crate::rules::perimeter;

impl Decider<'_> {
    /// The folders that a guest's turn is held to; none for the host.
    fn perimeter(&self) -> Option<&[String]> {
        self.turn.opened.as_ref().and_then(|opened| opened.within.as_deref())
    }

    /// Whether a call is refused for what it names; then the refusal is recorded.
    pub(super) fn names_what_is_outside(&mut self, targets: &[Target]) -> bool {
        let outside = self.perimeter().and_then(|folders| perimeter::outside(folders, targets));
        // As it was named: where a link leads is nobody's business here.
        let Some(named) = outside.map(|target| target.given.clone()) else { return false };
        self.refuse_guest("guest.outside", &named);
        true
    }

    /// Whether a call is refused for what its executor uses; then the refusal is recorded.
    pub(super) fn uses_what_is_not_for_guests(&mut self, manifest: &Manifest) -> bool {
        let mut used = manifest.capabilities.iter().map(|capability| capability.name.as_str());
        let is_refused = self.perimeter().is_some() && !used.all(perimeter::is_for_guests);
        if is_refused {
            self.refuse_guest("guest.not_for_guests", "");
        }
        is_refused
    }

    /// Whether planned changes are refused for what they touch; then the refusal is recorded.
    pub(super) fn touches_what_is_outside(&mut self, step: &Step) -> bool {
        let outside = self.perimeter().and_then(|folders| perimeter::touched_outside(folders, &step.ops));
        let is_outside = outside.is_some();
        if is_outside {
            self.refuse_guest("guest.touches_outside", "");
        }
        is_outside
    }

    /// Whether the turn is a guest's: what the log itself keeps and such a turn changes is theirs, as their reminders are.
    pub(super) fn is_a_guests(&self) -> bool {
        self.perimeter().is_some()
    }

    /// Whether a call concerns nothing but a guest's own reminders, which need no leave to change anything.
    pub(super) fn is_about_own_reminders(&self, tool: &str) -> bool {
        self.is_a_guests() && tool.ends_with("_recurring")
    }

    fn refuse_guest(&mut self, key: &str, path: &str) {
        let Some(step) = self.turn.step().cloned() else { return };
        let reason = self.say(key, &json!({ "path": path }));
        self.push_refusal(step.number, "perimeter", "policy_violation", reason.clone());
        if self.turn.is_model_planned() {
            return self.model_step_refused(&step, "policy_violation", &reason);
        }
        self.close("error", Some("policy_violation"), reason);
    }
}

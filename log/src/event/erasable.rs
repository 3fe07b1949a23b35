//! Which payloads may be erased: those that hold what a person wrote or what an executor or a model returned.
//!
//! The rest (keys, signatures, versions, counts, outcomes) holds no such text, and the record cannot do without it.

use super::Event;
use crate::envelope::{Body, Recorded};

impl Recorded {
    /// Whether its payload holds what a person may want to be gone, whatever it is read as.
    pub fn is_erasable(&self) -> bool {
        match &self.body {
            Body::Known(event) => Event::is_erasable(event.label()),
            // What became nothing, the record can do without.
            Body::Raised(events) => events.is_empty() || events.iter().any(|event| Event::is_erasable(event.label())),
            Body::Unknown(_) | Body::Erased => Event::is_erasable(&self.kind),
        }
    }
}

impl Event {
    /// Whether payloads of this kind hold what a person may want to be gone.
    pub fn is_erasable(label: &str) -> bool {
        matches!(
            label,
            "turn_opened"
                | "plan_proposed"
                | "step_proposed"
                | "arguments_resolved"
                | "step_refused"
                | "verdict_given"
                | "consent_asked"
                | "consent_denied"
                | "invocation_finished"
                | "invocation_in_doubt"
                | "invocation_settled"
                | "effects_planned"
                | "effect_committed"
                | "effects_committed"
                | "turn_suspended"
                | "turn_resumed"
                | "turn_cancelled"
                | "turn_closed"
                | "dialog_opened"
                | "dialog_answered"
                | "update_received"
                | "document_received"
                | "message_queued"
                | "delivery_failed"
                | "schedule_created"
                | "schedule_modified"
                | "slot_settled"
                | "model_asked"
                | "model_answered"
                | "model_failed"
                | "observation_kept"
                | "step_remediated"
                | "answer_corrected"
                | "rectified"
        )
    }

    /// Whether payloads of this kind hold none of that. A test wants each kind to be in one of the two lists.
    #[cfg(test)]
    pub(super) fn is_bare(label: &str) -> bool {
        matches!(
            label,
            "instance_created"
                | "configuration_changed"
                | "key_admitted"
                | "key_revoked"
                | "cage_downgrade_accepted"
                | "state_snapshot_taken"
                | "erased"
                | "epoch_opened"
                | "checkpoint_anchored"
                | "backup_made"
                | "credential_set"
                | "credential_removed"
                | "executor_signed"
                | "executor_installed"
                | "birth_tests_run"
                | "version_promoted"
                | "life_cycle_changed"
                | "candidates_ranked"
                | "consent_given"
                | "consent_expired"
                | "invocation_started"
                | "dialog_expired"
                | "dialog_withdrawn"
                | "pairing_issued"
                | "pairing_revoked"
                | "address_bound"
                | "address_revoked"
                | "autonomy_set"
                | "language_set"
                | "folder_opened"
                | "folder_closed"
                | "grant_given"
                | "grant_revoked"
                | "update_settled"
                | "button_pressed"
                | "delivery_started"
                | "message_sent"
                | "message_maybe_sent"
                | "progress_shown"
                | "progress_removed"
                | "address_moved"
                | "schedule_paused"
                | "schedule_resumed"
                | "schedule_cancelled"
                | "schedule_completed"
                | "slots_reaimed"
                | "slot_claimed"
                | "slot_missed"
                | "slot_delivered"
                | "passing_observed"
                | "mnests_seeded"
                | "actor_added"
                | "wish_observed"
                | "mnest_retagged"
                | "ager_run"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_one_or_the_other() {
        for (label, _) in Event::KINDS {
            assert_ne!(Event::is_erasable(label), Event::is_bare(label), "{label}");
        }
    }
}

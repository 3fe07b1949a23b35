//! The vocabulary of events: one label a fact, in the past tense, with a schema number and a payload.
//!
//! A label and a schema that once landed stay readable for ever. New optional fields with a default keep the schema;
//! anything else is a new schema with an upcaster ([`UPCASTERS`]). What a payload means is said at its type.

pub mod actor;
pub mod audit;
mod blobs;
pub mod channel;
pub mod dialog;
mod erasable;
#[cfg(test)]
mod examples;
pub mod executor;
pub mod instance;
pub mod mnestome;
pub mod model;
pub mod retention;
pub mod schedule;
#[cfg(test)]
mod tests;
pub mod turn;
pub mod upcast;
#[cfg(test)]
mod upcast_tests;

use std::io::Cursor;

use serde::Deserialize as _;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::kept::Kept;

/// Why stored bytes are not an event of a known kind.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The payload does not have the shape of its kind.
    #[error("the payload of a {label} v{schema} event cannot be read")]
    Payload {
        /// The kind.
        label: String,
        /// Its schema number.
        schema: u16,
        /// What the decoder met.
        #[source]
        source: rmp_serde::decode::Error,
    },
    /// Bytes follow after the payload.
    #[error("{extra} bytes follow after the payload of a {label} event")]
    Trailing {
        /// The kind.
        label: String,
        /// How many.
        extra: u64,
    },
    /// JSON that does not have the shape of its kind.
    #[error("the payload of a {label} v{schema} event cannot be read")]
    Json {
        /// The kind.
        label: String,
        /// Its schema number.
        schema: u16,
        /// What the decoder met.
        #[source]
        source: serde_json::Error,
    },
    /// A payload of an earlier kind that cannot be raised to those of today.
    #[error("the payload of a {label} v{schema} event cannot be raised: {source}")]
    Raise {
        /// The kind.
        label: String,
        /// Its schema number.
        schema: u16,
        /// What is wrong.
        #[source]
        source: Box<upcast::UpcastError>,
    },
}

/// A payload that holds no large field.
trait Keeps {
    fn kept(&mut self) -> Vec<&mut Kept>;
    fn is_whole(&self) -> bool;
}

/// Room that a payload takes in most events.
const PAYLOAD_BYTES_USUAL: usize = 384;

macro_rules! events {
    ($($(#[$doc:meta])* $label:literal v $schema:literal => $variant:ident($payload:ty) $(keeps $($field:ident),+)?;)+) => {
        /// Everything that can have happened.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Event {
            $($(#[$doc])* $variant($payload),)+
        }

        $(
            impl Keeps for $payload {
                fn kept(&mut self) -> Vec<&mut Kept> {
                    vec![$($(&mut self.$field),+)?]
                }

                fn is_whole(&self) -> bool {
                    true $($(&& self.$field.wanted().is_none())+)?
                }
            }

            impl From<$payload> for Event {
                fn from(payload: $payload) -> Self {
                    Self::$variant(payload)
                }
            }
        )+

        impl Event {
            /// Every kind that this build knows, with its newest schema.
            pub const KINDS: &'static [(&'static str, u16)] = &[$(($label, $schema)),+];

            /// The stable label.
            pub fn label(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $label,)+
                }
            }

            /// The schema number that this build writes.
            pub fn schema(&self) -> u16 {
                match self {
                    $(Self::$variant(_) => $schema,)+
                }
            }

            /// The fields that may lie in blobs.
            pub fn kept(&mut self) -> Vec<&mut Kept> {
                match self {
                    $(Self::$variant(payload) => payload.kept(),)+
                }
            }

            /// Whether no field lies in a blob that was not fetched.
            pub fn is_whole(&self) -> bool {
                match self {
                    $(Self::$variant(payload) => payload.is_whole(),)+
                }
            }

            /// The payload as stored: a MessagePack map with named fields.
            pub fn encode(&self) -> Vec<u8> {
                let mut bytes = Vec::with_capacity(PAYLOAD_BYTES_USUAL);
                self.encode_onto(&mut bytes);
                bytes
            }

            /// [`Self::encode`] behind what a buffer holds.
            pub fn encode_onto(&self, bytes: &mut Vec<u8>) {
                match self {
                    $(Self::$variant(payload) => rmp_serde::encode::write_named(bytes, payload),)+
                }
                .expect("payloads are plain structs with text keys, which MessagePack always takes");
            }

            /// Reads a stored payload of a kind that is declared here; `Ok(None)` for any other. [`upcast::read`] takes those too.
            pub fn decode(label: &str, schema: u16, bytes: &[u8]) -> Result<Option<Self>, DecodeError> {
                match (label, schema) {
                    $(($label, $schema) => strict(label, schema, bytes).map(|payload| Some(Self::$variant(payload))),)+
                    _ => Ok(None),
                }
            }

            /// The payload as JSON, for people and for exported histories.
            pub fn to_json(&self) -> Value {
                match self {
                    $(Self::$variant(payload) => serde_json::to_value(payload),)+
                }
                .expect("payloads are plain structs with text keys, which JSON always takes")
            }

            /// Reads a payload of an exported history; `Ok(None)` for an unknown kind.
            pub fn from_json(label: &str, schema: u16, value: Value) -> Result<Option<Self>, DecodeError> {
                match (label, schema) {
                    $(($label, $schema) => serde_json::from_value(value)
                        .map(|payload| Some(Self::$variant(payload)))
                        .map_err(|source| DecodeError::Json { label: label.to_owned(), schema, source }),)+
                    _ => Ok(None),
                }
            }
        }
    };
}

/// Reads a payload that takes all of the bytes.
fn strict<T: DeserializeOwned>(label: &str, schema: u16, bytes: &[u8]) -> Result<T, DecodeError> {
    let broken = |source| DecodeError::Payload { label: label.to_owned(), schema, source };
    // From the slice, not through a reader: that would copy every text once more.
    let mut decoder = rmp_serde::Deserializer::from_read_ref(bytes);
    let payload = T::deserialize(&mut decoder).map_err(broken)?;
    // This decoder does not tell how far it came. Of a number, the only marker is the first byte: that it cannot be read
    // means that there is none.
    if let Err(rmp_serde::decode::Error::InvalidMarkerRead(_)) = u8::deserialize(&mut decoder) {
        return Ok(payload);
    }
    // A reader tells how far it came. It looks for any value: a second decoder of every kind would be a fifth of this crate.
    let mut decoder = rmp_serde::Deserializer::new(Cursor::new(bytes));
    IgnoredAny::deserialize(&mut decoder).map_err(broken)?;
    Err(DecodeError::Trailing { label: label.to_owned(), extra: bytes.len() as u64 - decoder.position() })
}

events! {
    /// The instance began. First event of a log, written by the first run.
    "instance_created" v 1 => InstanceCreated(instance::InstanceCreated);
    /// A setting that shapes decisions has another value. Written by configuration.
    "configuration_changed" v 1 => ConfigurationChanged(instance::ConfigurationChanged);
    /// A key may sign executors from here on. Written by signing.
    "key_admitted" v 1 => KeyAdmitted(instance::KeyAdmitted);
    /// A key may not sign any more. Legal while it is admitted, and for good. Written by the owner.
    "key_revoked" v 1 => KeyRevoked(instance::KeyRevoked);
    /// The owner accepted that executors run without a full cage. Written by whoever starts the process.
    "cage_downgrade_accepted" v 1 => CageDowngradeAccepted(instance::CageDowngradeAccepted);
    /// What Metnos knew at a moment was written down. Written by the monthly job and by the owner.
    "state_snapshot_taken" v 1 => StateSnapshotTaken(instance::StateSnapshotTaken);
    /// Payloads are gone, and how many. Written by erasure, in the same commit.
    "erased" v 1 => Erased(instance::Erased);
    /// The log goes on from a copy. Written by restore and salvage.
    "epoch_opened" v 1 => EpochOpened(instance::EpochOpened);
    /// A checkpoint was told to someone outside. Written once it is there.
    "checkpoint_anchored" v 1 => CheckpointAnchored(instance::CheckpointAnchored);
    /// A folder outside of the home is going to hold a copy of the log. Written by the first backup to it, before it copies.
    "backup_made" v 1 => BackupMade(instance::BackupMade);
    /// A credential was stored; its value is not here.
    "credential_set" v 1 => CredentialSet(instance::CredentialSet);
    /// A credential was removed.
    "credential_removed" v 1 => CredentialRemoved(instance::CredentialRemoved);

    /// A version of an executor was signed. Written by the loader at install.
    "executor_signed" v 1 => ExecutorSigned(executor::ExecutorSigned);
    /// The artefacts of a signed version are in the log as blobs.
    "executor_installed" v 1 => ExecutorInstalled(executor::ExecutorInstalled);
    /// Birth tests ran in a cage.
    "birth_tests_run" v 1 => BirthTestsRun(executor::BirthTestsRun);
    /// A version became the one that calls get.
    "version_promoted" v 1 => VersionPromoted(executor::VersionPromoted);
    /// An executor moved in its life cycle.
    "life_cycle_changed" v 1 => LifeCycleChanged(executor::LifeCycleChanged);

    /// A sentence arrived. First event of a turn, written by the engine.
    "turn_opened" v 1 => TurnOpened(turn::TurnOpened);
    /// The pre-filter ranked the catalog.
    "candidates_ranked" v 1 => CandidatesRanked(turn::CandidatesRanked);
    /// An engine proposed a plan, or abstained.
    "plan_proposed" v 1 => PlanProposed(turn::PlanProposed) keeps plan;
    /// The next step of the plan is up.
    "step_proposed" v 1 => StepProposed(turn::StepProposed) keeps args;
    /// References are replaced by values and targets looked up on disk.
    "arguments_resolved" v 1 => ArgumentsResolved(turn::ArgumentsResolved) keeps args;
    /// A step may not run.
    "step_refused" v 1 => StepRefused(turn::StepRefused);
    /// Policy, guard and judge have spoken about a step.
    "verdict_given" v 1 => VerdictGiven(turn::VerdictGiven);
    /// A person is asked.
    "consent_asked" v 1 => ConsentAsked(turn::ConsentAsked) keeps text;
    /// A person agreed to exactly what the digest names.
    "consent_given" v 1 => ConsentGiven(turn::ConsentAnswered);
    /// A person refused.
    "consent_denied" v 1 => ConsentDenied(turn::ConsentDenied);
    /// Nobody was there to ask, or the time ran out.
    "consent_expired" v 1 => ConsentExpired(turn::ConsentExpired);
    /// A call is about to start: the intent.
    "invocation_started" v 1 => InvocationStarted(turn::InvocationStarted);
    /// A call ended: the outcome.
    "invocation_finished" v 1 => InvocationFinished(turn::InvocationFinished) keeps result, diagnostics, changes;
    /// A call's intent has no outcome and cannot be repeated.
    "invocation_in_doubt" v 1 => InvocationInDoubt(turn::InvocationInDoubt);
    /// A call in doubt was settled.
    "invocation_settled" v 1 => InvocationSettled(turn::InvocationSettled);
    /// Changes to the world are about to be made: the intent, with all that is needed to finish or take them back.
    "effects_planned" v 1 => EffectsPlanned(turn::EffectsPlanned) keeps ops;
    /// One planned change was made, found made, or failed.
    "effect_committed" v 1 => EffectCommitted(turn::EffectCommitted);
    /// A run of planned changes, each with its outcome: what a step with many changes writes instead of one event a change.
    "effects_committed" v 1 => EffectsCommitted(turn::EffectsCommitted);
    /// The turn waits for a person.
    "turn_suspended" v 1 => TurnSuspended(turn::TurnSuspended) keeps message;
    /// The turn goes on.
    "turn_resumed" v 1 => TurnResumed(turn::TurnResumed);
    /// A person stopped the turn.
    "turn_cancelled" v 1 => TurnCancelled(turn::TurnCancelled);
    /// The turn is over.
    "turn_closed" v 1 => TurnClosed(turn::TurnClosed) keeps message;

    /// A question was put to a person. Written by the turn that waits for it.
    "dialog_opened" v 1 => DialogOpened(dialog::DialogOpened) keeps question;
    /// A person answered; the turn goes on. Legal while it is open, like the two below.
    "dialog_answered" v 1 => DialogAnswered(dialog::DialogAnswered);
    /// Nobody answered in time; the turn closes.
    "dialog_expired" v 1 => DialogExpired(dialog::DialogExpired);
    /// The question is no longer put; the turn closes.
    "dialog_withdrawn" v 1 => DialogWithdrawn(dialog::DialogWithdrawn);

    /// A person is known from here on. Written by the first start and by the owner.
    "actor_added" v 1 => ActorAdded(actor::ActorAdded);
    /// A code was made that binds one address to a person.
    "pairing_issued" v 1 => PairingIssued(actor::PairingIssued);
    /// A code that nobody used is not taken any more.
    "pairing_revoked" v 1 => PairingRevoked(actor::PairingRevoked);
    /// An address is a person's from here on. Written by the channel.
    "address_bound" v 1 => AddressBound(actor::AddressBound);
    /// An address is nobody's again.
    "address_revoked" v 1 => AddressRevoked(actor::AddressRevoked);
    /// How much is done unasked for a person.
    "autonomy_set" v 1 => AutonomySet(actor::AutonomySet);
    /// A person's language.
    "language_set" v 1 => LanguageSet(actor::LanguageSet);
    /// A guest reaches what lies below a folder of the house. Written by the owner.
    "folder_opened" v 1 => FolderOpened(actor::FolderOpened);
    /// A guest reaches it no more. Legal while it is open to them. Written by the owner.
    "folder_closed" v 1 => FolderClosed(actor::FolderClosed);
    /// A person may use a capability on some targets unasked, until a moment. Written by the owner.
    "grant_given" v 1 => GrantGiven(actor::GrantGiven);
    /// They may not any more. Legal until the grant has ended. Written by the owner.
    "grant_revoked" v 1 => GrantRevoked(actor::GrantRevoked);

    /// Something came over a channel. Written by the channel before it asks for more, like all of this block.
    "update_received" v 1 => UpdateReceived(channel::UpdateReceived) keeps raw;
    /// All that an update asked for is done or carried on elsewhere.
    "update_settled" v 1 => UpdateSettled(channel::UpdateSettled);
    /// Someone pressed a button; whether it counts.
    "button_pressed" v 1 => ButtonPressed(channel::ButtonPressed);
    /// A file that someone sent was stored.
    "document_received" v 1 => DocumentReceived(channel::DocumentReceived) keeps path;
    /// Something is to be said. Written by whoever has something to say.
    "message_queued" v 1 => MessageQueued(channel::MessageQueued) keeps text;
    /// A piece of a message is about to be sent: the intent. Legal while the message is neither sent nor failed, as are the
    /// three below.
    "delivery_started" v 1 => DeliveryStarted(channel::DeliveryStarted);
    /// A piece was sent: the receipt. The last one ends the message.
    "message_sent" v 1 => MessageSent(channel::MessageSent);
    /// An intent has no outcome that anybody knows.
    "message_maybe_sent" v 1 => MessageMaybeSent(channel::MessageMaybeSent);
    /// A message cannot be sent: its other end.
    "delivery_failed" v 1 => DeliveryFailed(channel::DeliveryFailed) keeps reason;
    /// A chat shows that a turn is at work. Written by the channel once the message is there.
    "progress_shown" v 1 => ProgressShown(channel::ProgressShown);
    /// It shows that no more. Written by the channel, that of a later process too; legal once for each shown.
    "progress_removed" v 1 => ProgressRemoved(channel::ProgressRemoved);
    /// A chat goes on under another address; so does whatever belongs to it. Written by the channel.
    "address_moved" v 1 => AddressMoved(channel::AddressMoved);

    /// Something is to happen at times. Written by whoever asks for it, and by the daemon for its own jobs.
    "schedule_created" v 1 => ScheduleCreated(schedule::ScheduleCreated) keeps what;
    /// Something else is to happen, or at other times. Legal while it is active or paused, like the three below.
    "schedule_modified" v 1 => ScheduleModified(schedule::ScheduleModified) keeps what;
    /// Nothing is due until it is resumed.
    "schedule_paused" v 1 => SchedulePaused(schedule::SchedulePaused);
    /// It goes on. Legal while it is paused, and where it was ended and that is taken back.
    "schedule_resumed" v 1 => ScheduleResumed(schedule::ScheduleResumed);
    /// It is over before its time. Nothing follows but the outcome of what still runs, unless it is taken back.
    "schedule_cancelled" v 1 => ScheduleCancelled(schedule::ScheduleCancelled);
    /// No slot is left.
    "schedule_completed" v 1 => ScheduleCompleted(schedule::ScheduleCompleted);
    /// The clock was set back: the next slot is looked up anew. Written by the scheduler, of what has a slot to come or was
    /// over for the clock's sake.
    "slots_reaimed" v 1 => SlotsReaimed(schedule::SlotsReaimed);
    /// What is due in a slot is about to happen. Written by the scheduler, once for each slot.
    "slot_claimed" v 1 => SlotClaimed(schedule::SlotClaimed);
    /// What was due has happened, or will not. Legal after its claim, once for each attempt.
    "slot_settled" v 1 => SlotSettled(schedule::SlotSettled) keeps message;
    /// Slots passed in which nothing was begun.
    "slot_missed" v 1 => SlotMissed(schedule::SlotMissed);
    /// The person has what a slot had to tell them. Written by whoever showed it, or by the channel that took it.
    "slot_delivered" v 1 => SlotDelivered(schedule::SlotDelivered);

    /// One executor's output was passed to another, which succeeded.
    "passing_observed" v 1 => PassingObserved(mnestome::PassingObserved);
    /// An executor that does not exist was to get an output. Written by the turn's close.
    "wish_observed" v 1 => WishObserved(mnestome::WishObserved);
    /// Pairs that usually follow each other are known. Written by the first run.
    "mnests_seeded" v 1 => MnestsSeeded(mnestome::MnestsSeeded);
    /// A mnest has other tags. Written by the owner.
    "mnest_retagged" v 1 => MnestRetagged(mnestome::MnestRetagged);
    /// The night looked at the graph. Written by the ager, once a day.
    "ager_run" v 1 => AgerRun(mnestome::AgerRun);

    /// A model is asked for the next step. Written by the turn, like all of this block; legal while it plans or a step of a
    /// model ended; becomes one of the next two.
    "model_asked" v 1 => ModelAsked(model::ModelAsked) keeps body;
    /// A model answered.
    "model_answered" v 1 => ModelAnswered(model::ModelAnswered) keeps raw, parsed;
    /// A model gave no answer that can be used.
    "model_failed" v 1 => ModelFailed(model::ModelFailed) keeps raw;
    /// What a model is shown of one of its calls.
    "observation_kept" v 1 => ObservationKept(model::ObservationKept) keeps shown;
    /// What a step lacks is got first.
    "step_remediated" v 1 => StepRemediated(model::StepRemediated) keeps args;
    /// The final text claimed what no event backs.
    "answer_corrected" v 1 => AnswerCorrected(model::AnswerCorrected);

    /// A line of the audit was corrected. Written by the owner, of a line that there is; becomes a line itself.
    "rectified" v 1 => Rectified(audit::Rectified) keeps note;
}

/// What raises kinds that are not declared above any more. A kind that leaves the list above comes here, its pinned line stays.
pub const UPCASTERS: &[upcast::Upcaster] = &[];

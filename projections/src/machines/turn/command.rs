//! What can arrive at a turn, and how a recorded event says that it did.

use metnos_log::Event;
use metnos_log::event::actor::Granted;
use metnos_log::event::model::{ModelAnswered, ModelFailed};
use metnos_log::event::turn::{Check, EffectCommitted, EffectsCommitted, InvocationFinished, Lead, Target, TurnOpened};

/// Something arrived: a sentence, or an answer of the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A sentence.
    Open(Box<TurnOpened>),
    /// The edge looked a step's targets up and did the gateway's first four steps.
    Prepared(Prepared),
    /// A person agreed.
    Consent {
        /// The step.
        step: u32,
        /// To exactly this.
        digest: String,
        /// How.
        by: String,
    },
    /// A person refused.
    Deny {
        /// The step.
        step: u32,
        /// What was asked.
        digest: String,
        /// How.
        by: String,
    },
    /// Nobody answered.
    Expire {
        /// The step.
        step: u32,
        /// What was asked.
        digest: String,
        /// `no_terminal` or `time`.
        why: String,
    },
    /// A person answered the question that is open.
    Answer {
        /// Which.
        dialog: String,
        /// What they wrote.
        answer: String,
        /// Where.
        channel: String,
        /// Byte ranges that name something on disk, in the request with the answer behind it.
        existing: Vec<(u32, u32)>,
    },
    /// The question that is open lapsed.
    Lapse {
        /// Which.
        dialog: String,
    },
    /// The question that is open is no longer put.
    Withdraw {
        /// Which.
        dialog: String,
        /// `person` or `question`.
        by: String,
    },
    /// The process of the call that is open is gone, and the call may have changed something by itself.
    Doubt,
    /// The executor's own check was asked what became of the call in doubt.
    Settle {
        /// `happened`, `did_not_happen` or `unknown`.
        outcome: String,
    },
    /// A call ended.
    Returned(Box<InvocationFinished>),
    /// One planned change was made or failed.
    Effect(EffectCommitted),
    /// Many planned changes were made or failed.
    Effects(EffectsCommitted),
    /// A model answered.
    Thought(Box<ModelAnswered>),
    /// A model gave no answer that can be used.
    Unanswered(Box<ModelFailed>),
    /// The turn is to stop.
    Cancel {
        /// `person`, `deadline` or `restart`.
        by: String,
    },
}

/// What the edge found out about a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    /// The step.
    pub step: u32,
    /// What each target is.
    pub targets: Vec<Target>,
    /// The version that resolved; empty when none did.
    pub version: String,
    /// The gateway's first four steps.
    pub checks: Vec<Check>,
    /// Digest of the cage's plan for this call.
    pub plan_digest: String,
    /// The grants of whoever asks that hold now and that the executor could use.
    pub grants: Vec<Granted>,
    /// The weight, in thousandths, of the strongest mnest toward the executor from one that ended well earlier in the turn.
    pub mnest_permille: Option<u16>,
    /// Folders that the executor declares for itself and that lie behind a link.
    pub leads: Vec<Lead>,
    /// Whether no cage would hold it.
    pub uncaged: bool,
    /// Whether whoever asks may do less by now than when the turn was opened.
    pub may_do_less: bool,
}

impl Command {
    /// The command that a recorded fact stands for; `None` for a decision, which replay computes instead.
    pub fn recorded(event: &Event) -> Option<Self> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "every other kind is a decision, not a fact")]
        match event {
            Event::TurnOpened(opened) => Some(Self::Open(Box::new(opened.clone()))),
            Event::ArgumentsResolved(resolved) => Some(Self::Prepared(Prepared {
                step: resolved.step,
                targets: resolved.targets.clone(),
                version: resolved.version.clone(),
                checks: resolved.checks.clone(),
                plan_digest: resolved.plan_digest.clone(),
                grants: resolved.grants.clone(),
                mnest_permille: resolved.mnest_permille,
                leads: resolved.leads.clone(),
                uncaged: resolved.uncaged,
                may_do_less: resolved.may_do_less,
            })),
            Event::ConsentGiven(given) => {
                Some(Self::Consent { step: given.step, digest: given.digest.clone(), by: given.by.clone() })
            }
            Event::ConsentDenied(denied) => {
                Some(Self::Deny { step: denied.step, digest: denied.digest.clone(), by: denied.by.clone() })
            }
            Event::ConsentExpired(expired) => {
                Some(Self::Expire { step: expired.step, digest: expired.digest.clone(), why: expired.why.clone() })
            }
            Event::DialogAnswered(answered) => Some(Self::Answer {
                dialog: answered.dialog.clone(),
                answer: answered.answer.clone(),
                channel: answered.channel.clone(),
                existing: answered.existing.clone(),
            }),
            Event::DialogExpired(expired) => Some(Self::Lapse { dialog: expired.dialog.clone() }),
            Event::DialogWithdrawn(withdrawn) => {
                Some(Self::Withdraw { dialog: withdrawn.dialog.clone(), by: withdrawn.by.clone() })
            }
            Event::InvocationInDoubt(_) => Some(Self::Doubt),
            // What a person says of it follows from their answer.
            Event::InvocationSettled(settled) if settled.by == "check" => {
                Some(Self::Settle { outcome: settled.outcome.clone() })
            }
            Event::InvocationFinished(finished) => Some(Self::Returned(Box::new(finished.clone()))),
            Event::EffectCommitted(committed) => Some(Self::Effect(committed.clone())),
            Event::EffectsCommitted(committed) => Some(Self::Effects(committed.clone())),
            Event::ModelAnswered(answered) => Some(Self::Thought(Box::new(answered.clone()))),
            Event::ModelFailed(failed) => Some(Self::Unanswered(Box::new(failed.clone()))),
            Event::TurnCancelled(cancelled) => Some(Self::Cancel { by: cancelled.by.clone() }),
            _ => None,
        }
    }

    /// A name for reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open(_) => "open",
            Self::Prepared(_) => "step prepared",
            Self::Consent { .. } => "consent",
            Self::Deny { .. } => "deny",
            Self::Expire { .. } => "expire",
            Self::Answer { .. } => "answer",
            Self::Lapse { .. } => "lapse",
            Self::Withdraw { .. } => "withdraw",
            Self::Doubt => "call in doubt",
            Self::Settle { .. } => "check answered",
            Self::Returned(_) => "call returned",
            Self::Effect(_) => "effect done",
            Self::Effects(_) => "effects done",
            Self::Thought(_) => "model answered",
            Self::Unanswered(_) => "model failed",
            Self::Cancel { .. } => "cancel",
        }
    }
}

//! One fire: what was claimed is carried out, or found carried out, and its outcome is appended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use metnos_log::EventId;
use metnos_log::event::schedule::SlotClaimed;
use metnos_projections::machines::schedules::{Command, Fire, Outcome, Schedule, State, usual};
use metnos_projections::machines::turn::{Phase, Turn};
use metnos_projections::messages::Language;
use serde_json::json;

use super::questions::{self, Owner};
use super::{change, drafts, jobs, told};
use crate::engine::{self, Answer, EngineError, Person, Request};
use crate::faults;
use crate::instance::{Instance, InstanceError, now};
use crate::sandbox::CancelFlag;

/// The channel of turns that a schedule begins: nobody is there, and nothing but the scheduler goes on with them.
pub(super) const CHANNEL: &str = "schedule";
/// A claimed slot whose turn was never begun is begun by another process no later than this, in µs.
const BEGUN_LATE_US: i64 = 3_600_000_000;
/// Classes of failures that may be gone a minute later.
const PASSING: &[&str] =
    &["timeout", "crashed", "cage_refused", "resource_unavailable", "dependency_unavailable", "network", "dns_error"];

/// How a fire is stopped from outside.
#[derive(Clone)]
pub struct Stopping {
    /// Raised when it is to stop.
    pub flag: CancelFlag,
    /// Whether that is because it took too long.
    pub is_over_time: Arc<AtomicBool>,
}

impl Stopping {
    /// By this flag.
    pub fn by(flag: CancelFlag) -> Self {
        Self { flag, is_over_time: Arc::default() }
    }
}

/// Carries a claimed fire to its outcome, or to a question that waits for its person; when this returns, either is on disk.
/// Whoever calls it holds the schedule.
pub fn carry_out(instance: &Instance, id: &str, fire: &Fire, stopping: &Stopping) -> Result<(), InstanceError> {
    carry_out_with(instance, id, fire, stopping, (None, None))
}

/// The same with a person there, or with what they answered to the question of a digest.
pub fn carry_out_with(
    instance: &Instance,
    id: &str,
    fire: &Fire,
    stopping: &Stopping,
    (here, said): (Option<&dyn Person>, Option<(String, Answer)>),
) -> Result<(), InstanceError> {
    let Some(schedule) = instance.schedules().get(id).cloned() else { return Ok(()) };
    let instance = &instance.as_actor(&schedule.actor);
    let what = told::what(instance, &schedule)?;
    faults::reach("claim_to_turn");
    let outcome = match schedule.contract.kind.as_str() {
        // It was ended before anything of this began.
        _ if schedule.state == State::Cancelled && !has_begun(instance, fire)? => {
            failed(instance, &schedule, "cancelled", "schedule.ended_first", json!({}))
        }
        _ if what.is_empty() => failed(instance, &schedule, "not_found", "schedule.erased", json!({})),
        // Its outcome is all there is of it.
        "reminder" => Outcome::Done { message: what },
        "job" => job(instance, &schedule, &what, fire),
        kind => match turn(instance, id, (&schedule, kind, &what), fire, (stopping, here, said)) {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return Ok(()), // It waits.
            Err(error) => {
                let values = json!({ "reason": error.to_string() });
                failed(instance, &schedule, "internal_error", "schedule.broken", values)
            }
        },
    };
    faults::reach("turn_to_settled");
    let settle = Command::Settle { schedule: id.to_owned(), fire: fire.fire.clone(), attempt: fire.attempt, outcome };
    // It was settled by whoever else went on with it, or ended meanwhile.
    if let Err(error) = change(instance, &settle)? {
        tracing::info!(schedule = id, %error, "an outcome was not wanted any more");
    }
    instance.scheduler.forget(&fire.fire);
    Ok(())
}

/// How a fire is carried on: what stops it, who is there, and what they answered to the question of a digest.
type By<'a> = (&'a Stopping, Option<&'a dyn Person>, Option<(String, Answer)>);

fn failed(instance: &Instance, schedule: &Schedule, class: &str, key: &str, values: serde_json::Value) -> Outcome {
    let language = Language::parse(&schedule.contract.language).unwrap_or_default();
    let message = instance.rules.messages.say(language, key, values);
    Outcome::Failed { class: class.to_owned(), message, is_repeatable: false }
}

fn job(instance: &Instance, schedule: &Schedule, name: &str, fire: &Fire) -> Outcome {
    if !instance.scheduler.is_own(&fire.fire) {
        // A process that is gone may have done it; it comes round again.
        let Outcome::Failed { message, .. } = failed(instance, schedule, "", "schedule.in_doubt", json!({})) else {
            return Outcome::InDoubt { message: String::new() };
        };
        return Outcome::InDoubt { message };
    }
    let Some(job) = jobs::find(name) else {
        return failed(instance, schedule, "not_found", "schedule.no_job", json!({ "name": name }));
    };
    // What a job does wrong must not end the daemon.
    let run = std::panic::AssertUnwindSafe(|| (job.run)(instance, now()));
    let reason = match std::panic::catch_unwind(run) {
        Ok(Ok(())) => return Outcome::Done { message: String::new() },
        Ok(Err(reason)) => reason,
        Err(_) => "it broke off".to_owned(),
    };
    failed(instance, schedule, "operation_failed", "schedule.job_failed", json!({ "name": name, "reason": reason }))
}

/// The turn of a fire: begun, gone on with, or found ended. None while it waits for an answer.
fn turn(
    instance: &Instance,
    id: &str,
    (schedule, kind, what): (&Schedule, &str, &str),
    fire: &Fire,
    (stopping, here, said): By<'_>,
) -> Result<Option<Outcome>, EngineError> {
    let turn_id = fire.turn();
    instance.catch_up()?;
    let seen = instance.turns().get(turn_id).map(|turn| turn.final_kind.is_some());
    let owner = &Owner::of(instance, schedule, fire).with(here, said);
    let flag = || stopping.flag.clone();
    let ended = match seen {
        None if is_too_late(instance, schedule, fire) => {
            return Ok(Some(failed(instance, schedule, "too_late", "schedule.too_late", json!({}))));
        }
        None => engine::run(instance, owner, flag(), &request(id, schedule, (kind, what), fire))?,
        Some(true) => engine::folded(instance, turn_id)?,
        Some(false) => {
            let turn = engine::folded(instance, turn_id)?;
            match turn.phase {
                Phase::Waiting => {
                    engine::reply(instance, owner, flag(), (turn_id, turn), (&engine::Reply::Lapsed, None))?
                }
                // What was asked is asked still; nothing was begun that could be in doubt.
                Phase::Asking => engine::go_on(instance, owner, flag(), (turn_id, turn))?,
                _ => engine::resume(instance, owner, flag(), (turn_id, turn))?,
            }
        }
    };
    instance.catch_up()?;
    if let Some(asked) = ended.asked.as_ref().filter(|_| ended.phase == Phase::Asking) {
        instance.scheduler.awaits(&fire.fire, questions::awaited(instance, schedule, fire, asked));
        return Ok(None);
    }
    Ok(Some(outcome(instance, schedule, fire, &ended, stopping)))
}

/// Whether the turn of a fire is on record.
fn has_begun(instance: &Instance, fire: &Fire) -> Result<bool, InstanceError> {
    instance.catch_up()?;
    Ok(instance.turns().get(fire.turn()).is_some())
}

/// Whether a process that is gone claimed the slot so long ago that nobody waits for it now.
fn is_too_late(instance: &Instance, schedule: &Schedule, fire: &Fire) -> bool {
    let grace = (i64::from(schedule.contract.grace_s) * 1_000_000).max(BEGUN_LATE_US);
    !instance.scheduler.is_own(&fire.fire) && now().0.saturating_sub(fire.slot.max(fire.not_before)) > grace
}

fn request(id: &str, schedule: &Schedule, (kind, what): (&str, &str), fire: &Fire) -> Request {
    let contract = &schedule.contract;
    let usual = || {
        let (cadence, zone) = schedule.cadence().ok()?;
        Some(usual::patience_s(&cadence, (fire.slot, contract.anchor), &zone))
    };
    let given = if kind == "steps" { serde_json::from_str(what).ok() } else { None };
    Request {
        id: Some(fire.turn()),
        cause: claim_of(id, fire),
        address: Some(id.to_owned()),
        text: what.to_owned(),
        approve: "none".to_owned(),
        folder: contract.folder.clone().into(),
        channel: CHANNEL.to_owned(),
        given,
        dialogs: false,
        patience_s: contract.asks_s.or_else(usual),
    }
}

/// The event that claimed the slot.
fn claim_of(id: &str, fire: &Fire) -> Option<EventId> {
    let claimed = SlotClaimed {
        schedule: id.to_owned(),
        slot: fire.slot,
        fire: fire.fire.clone(),
        by: String::new(),
        next: None,
    };
    drafts("", id, vec![claimed.into()]).first().map(|draft| draft.id)
}

/// What a turn's end means for its fire.
fn outcome(instance: &Instance, schedule: &Schedule, fire: &Fire, turn: &Turn, stopping: &Stopping) -> Outcome {
    let message = turn.message.clone().unwrap_or_default();
    let class = turn.final_class.clone().unwrap_or_else(|| turn.final_kind.clone().unwrap_or_default());
    if turn.final_kind.as_deref() == Some("answer") {
        return Outcome::Done { message };
    }
    if class == "consent_denied" {
        return Outcome::Declined { message };
    }
    if class == "consent_expired" {
        let language = Language::parse(&schedule.contract.language).unwrap_or_default();
        let until = turn.asked.as_ref().map(|asked| told::moment(instance, language, schedule, asked.until));
        return failed(instance, schedule, &class, "schedule.unanswered", json!({ "until": until }));
    }
    let changes = instance.turns().get(fire.turn()).map_or(0, |turn| turn.changes);
    let was_cut_off = class == "cancelled";
    if was_cut_off && stopping.is_over_time.load(Ordering::SeqCst) {
        return failed(
            instance,
            schedule,
            "timeout",
            "schedule.timed_out",
            json!({ "seconds": schedule.contract.timeout_s }),
        );
    }
    let is_repeatable = changes == 0 && (was_cut_off || PASSING.contains(&class.as_str()));
    let message = if was_cut_off {
        let language = Language::parse(&schedule.contract.language).unwrap_or_default();
        instance.rules.messages.say(language, "schedule.cut_off", json!({ "changes": changes }))
    } else {
        message
    };
    Outcome::Failed { class, message, is_repeatable }
}

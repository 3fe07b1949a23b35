//! Changes of tasks as part of turns: planned and asked about first, made once, taken back like any other change.
//!
//! What a change is, and how it is said, lies in `machines::schedules::task`. Its event has an id that follows from the call
//! that wants it, so a turn that is carried on after a crash finds it made.

use metnos_log::event::schedule::{Contract, SlotClaimed};
use metnos_log::event::turn::PlannedOp;
use metnos_log::{Event, EventId, Micros, TurnId};
use metnos_projections::machines::schedules::task::{self, Change, Task};
use metnos_projections::machines::schedules::{
    self, Command, Rejection, SCHEDULES_MAX, Schedule, Schedules, State, run_of,
};
use metnos_projections::messages::Language;

use super::asked::{self, AskError, Asked};
use super::{drafts, is_theirs, told};
use crate::effects::commit::Outcome;
use crate::instance::{Instance, InstanceError, now};

/// Why a change is not taken back, or not made: class, and key of the reason in `[trouble]`.
pub type Trouble = (&'static str, String);

/// A schedule that does not exist yet.
pub fn create(instance: &Instance, language: Language, asked: &Asked) -> Result<PlannedOp, AskError> {
    let (what, contract) = asked::contract(instance, language, asked, None)?;
    let create = command_of(instance, "", Change::Create, &Task { what: what.clone(), contract, ..Task::default() });
    let (id, contract, _) =
        foreseen(instance, create).map_err(|rejection| asked::refusal(instance, language, rejection))?;
    let contract = contract.unwrap_or_default();
    Ok(task::planned(&id, Change::Create, None, &Task { what, contract, ..Task::default() }))
}

/// Something else, or other times.
pub fn modify(instance: &Instance, language: Language, id: &str, asked: &Asked) -> Result<PlannedOp, AskError> {
    let schedule = asked::changeable(instance, language, id)?;
    let before = Task::of(&schedule, told::what(instance, &schedule)?);
    let (what, contract) = asked::contract(instance, language, asked, Some(&schedule))?;
    let wanted = Task { what, contract, ..before.clone() };
    let modify = command_of(instance, id, Change::Modify, &wanted);
    let (_, contract, _) =
        foreseen(instance, modify).map_err(|rejection| asked::refusal(instance, language, rejection))?;
    let after = Task { contract: contract.unwrap_or_default(), ..wanted };
    Ok(task::planned(id, Change::Modify, Some(&before), &after))
}

/// A pause, the end of one, or the end of it all.
pub fn change(instance: &Instance, language: Language, id: &str, change: Change) -> Result<PlannedOp, AskError> {
    let schedule = asked::known(instance, language, id)?;
    let before = Task::of(&schedule, told::what(instance, &schedule)?);
    let (_, _, next) = foreseen(instance, command_of(instance, id, change, &before))
        .map_err(|rejection| asked::refusal(instance, language, rejection))?;
    let next = if change == Change::Run { schedule.next } else { next };
    Ok(task::planned(id, change, Some(&before), &before.with(state_after(change, &before), next)))
}

/// The reverse of an earlier change, as far as the task is still what that change left.
pub fn take_back(instance: &Instance, op: &PlannedOp) -> Result<PlannedOp, Trouble> {
    let Some((id, change, left, to)) = task::read(op) else {
        return Err(("not_reversible", format!("unknown_change: {}", op.op)));
    };
    let gone = || ("target_changed", format!("task_gone: {id}"));
    let schedule = instance.schedules().get(id).cloned().filter(|schedule| is_theirs(instance, schedule));
    let schedule = schedule.ok_or_else(gone)?;
    let what = told::what(instance, &schedule).map_err(|error| ("operation_failed", format!("system: {error}")))?;
    let is = Task::of(&schedule, what);
    let expected = left.unwrap_or_else(|| to.clone());
    let reason = match (change, is.state) {
        (_, State::Completed) => Some("task_over"),
        (Change::Reopen, State::Active | State::Paused) => Some("task_there"),
        (Change::Reopen, State::Cancelled) | (Change::Cancel | Change::Modify, State::Active | State::Paused) => None,
        (_, State::Cancelled) => Some("task_ended"),
        (_, state) => (state != expected.state).then_some("task_changed"),
    };
    let reason = reason.or_else(|| (!is_same(&is, &expected)).then_some("task_changed"));
    if let Some(reason) = reason {
        return Err(("target_changed", format!("{reason}: {id}")));
    }
    let (_, contract, next) =
        foreseen(instance, command_of(instance, id, change, &to)).map_err(|rejection| trouble(&rejection))?;
    let after = match contract {
        Some(contract) => Task { contract, state: is.state, ..to },
        None => Task { fired: is.fired, ..to.with(to.state, next) },
    };
    Ok(PlannedOp { reverses: op.reverses.clone(), ..task::planned(id, change, Some(&is), &after) })
}

/// Makes a planned change, or finds that it was made. When this returns, it is on disk.
pub fn commit(
    instance: &Instance,
    (turn, opened_at): (TurnId, Micros),
    op: &PlannedOp,
    key: &str,
) -> Result<Outcome, InstanceError> {
    let Some((id, change, before, after)) = task::read(op) else {
        return Ok(Outcome::Failed("contract_violation".to_owned(), format!("unknown_change: {}", op.op)));
    };
    let event_id = |at: u32| EventId::derived(opened_at, "metnos task change v1", &[key.as_bytes(), &at.to_le_bytes()]);
    // What happens now is a slot of the moment at which it was asked for, and that is claimed once.
    let slot = SlotClaimed { slot: opened_at.0, fire: run_of(id, opened_at.0), ..SlotClaimed::default() };
    let claim_id = schedules::id_of(&slot.into()).filter(|_| change == Change::Run);
    if instance.log.reader().seq_of(claim_id.unwrap_or(event_id(0)))?.is_some() {
        return Ok(Outcome::FoundDone);
    }
    let at = if change == Change::Run { opened_at } else { now() };
    let command = match command_of(instance, id, change, &after) {
        Command::Create { actor, job, what, contract, .. } => {
            Command::Create { actor, job, what, contract, turn: Some(turn.to_string()) }
        }
        other => other,
    };
    let made = instance.append_decided(|projected| {
        fits(instance, &projected.schedules, id, before.as_ref())?;
        let (about, events) =
            schedules::decide(&projected.schedules, command, at).map_err(|rejection| trouble(&rejection))?;
        if about != id {
            return Err(("target_changed", format!("task_number: {id}")));
        }
        instance.scheduler.claims(&events);
        let mut drafts = drafts(&instance.actor, id, events);
        for (at, draft) in (0..).zip(&mut drafts).filter(|_| claim_id.is_none()) {
            draft.id = event_id(at);
        }
        Ok(drafts)
    })?;
    Ok(match made {
        Ok(()) => Outcome::Done,
        Err((class, reason)) => Outcome::Failed(class.to_owned(), reason),
    })
}

/// Whether a task is still what the change was planned for.
fn fits(instance: &Instance, schedules: &Schedules, id: &str, before: Option<&Task>) -> Result<(), Trouble> {
    let changed = |reason: &str| ("target_changed", format!("{reason}: {id}"));
    match (schedules.get(id), before) {
        (None, None) => Ok(()),
        (Some(_), None) => Err(changed("task_number")),
        (None, Some(_)) => Err(changed("task_gone")),
        (Some(schedule), Some(before)) => {
            let is_as_planned = schedule.state == before.state && contract_of(schedule) == aimless(&before.contract);
            if is_as_planned && is_theirs(instance, schedule) { Ok(()) } else { Err(changed("task_changed")) }
        }
    }
}

fn is_same(is: &Task, expected: &Task) -> bool {
    is.what == expected.what && aimless(&is.contract) == aimless(&expected.contract)
}

fn contract_of(schedule: &Schedule) -> Contract {
    aimless(&schedule.contract)
}

/// What was agreed, whatever the next slot is by now.
fn aimless(contract: &Contract) -> Contract {
    Contract { next: None, ..contract.clone() }
}

fn state_after(change: Change, before: &Task) -> State {
    match change {
        Change::Create | Change::Resume | Change::Reopen => State::Active,
        Change::Modify | Change::Run => before.state,
        Change::Pause => State::Paused,
        Change::Cancel => State::Cancelled,
    }
}

/// The command that makes a change; `to` is what the task is to be.
fn command_of(instance: &Instance, id: &str, change: Change, to: &Task) -> Command {
    let (schedule, what, contract) = (id.to_owned(), to.what.clone(), Box::new(to.contract.clone()));
    match change {
        Change::Create => Command::Create { actor: instance.actor.clone(), job: None, what, contract, turn: None },
        Change::Modify => Command::Modify { schedule, what, contract },
        Change::Pause => Command::Pause(schedule),
        Change::Resume => Command::Resume(schedule),
        Change::Cancel => Command::Cancel(schedule),
        Change::Run => Command::RunNow(schedule),
        Change::Reopen => Command::Reopen { schedule, is_paused: to.state == State::Paused },
    }
}

/// What would follow from a command now: which schedule it is about, its contract where that is new, and its next slot.
fn foreseen(instance: &Instance, command: Command) -> Result<(String, Option<Contract>, Option<i64>), Rejection> {
    let (id, events) = schedules::decide(&instance.schedules(), command, now())?;
    let (mut contract, mut next) = (None, None);
    for event in events {
        match event {
            Event::ScheduleCreated(created) => contract = Some(created.contract),
            Event::ScheduleModified(modified) => contract = Some(modified.contract),
            Event::ScheduleResumed(resumed) => next = resumed.next,
            _ => {}
        }
    }
    Ok((id, contract, next))
}

fn trouble(rejection: &Rejection) -> Trouble {
    let changed = |key: &str, id: &str| ("target_changed", format!("{key}: {id}"));
    match rejection {
        Rejection::NoSuch(id) | Rejection::NoSuchFire(id) => changed("task_gone", id),
        Rejection::Over(id, _) | Rejection::Already(id, _) | Rejection::Running(id) | Rejection::NotDue(id) => {
            changed("task_changed", id)
        }
        Rejection::Taken(id) | Rejection::Job(id) => changed("task_there", id),
        Rejection::Full(_) => ("not_applicable", format!("task_full: {SCHEDULES_MAX}")),
        Rejection::Past(_) => changed("task_past", ""),
        Rejection::Cadence(error) => ("invalid_args", format!("system: {error}")),
    }
}

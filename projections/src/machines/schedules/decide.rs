//! What follows from a command about a schedule, at a moment.

use metnos_log::event::schedule::{
    Contract, ScheduleCancelled, ScheduleCompleted, ScheduleCreated, ScheduleModified, SchedulePaused, ScheduleResumed,
    SlotClaimed, SlotDelivered, SlotMissed, SlotSettled, SlotsReaimed,
};
use metnos_log::{Event, Kept, Micros};

use super::{
    DECLINED, Fire, JOB, ON_TIME_US, RETRY_US, SCHEDULES_MAX, SYSTEM, Schedule, Schedules, State, fire_of, run_of,
};
use crate::rules::cadence::{Cadence, CadenceError, Zone};

/// The most missed slots that are counted; more are said to be more.
const MISSED_COUNTED_MAX: u32 = 1000;
/// The longest time that a slot may be late, in seconds: a day.
pub(super) const GRACE_MAX_S: u32 = 24 * 3600;

/// What may be asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Something is to happen at times. Its first slot is found here; a number is given to it unless it is a job.
    Create {
        /// Whose.
        actor: String,
        /// The id of a job; anything else gets a number.
        job: Option<String>,
        /// What is to happen.
        what: String,
        /// When, and the rest; its `next` is filled in.
        contract: Box<Contract>,
        /// The turn that asks.
        turn: Option<String>,
    },
    /// Something else is to happen, or at other times.
    Modify {
        /// Which.
        schedule: String,
        /// What is to happen from now on.
        what: String,
        /// When, and the rest.
        contract: Box<Contract>,
    },
    /// Nothing is to be due.
    Pause(String),
    /// It is to go on.
    Resume(String),
    /// It is to end. A job of the program's own does not.
    Cancel(String),
    /// That it was ended is taken back: it is there again under its number.
    Reopen {
        /// Which.
        schedule: String,
        /// Whether nothing of it is to be due, as before.
        is_paused: bool,
    },
    /// The clock was set back since its next slot was found: that is looked up anew.
    Reaim {
        /// Which.
        schedule: String,
        /// Its slots from shortly before now on that were claimed, whatever the clock said then.
        taken: Vec<i64>,
    },
    /// Its slot has come.
    Claim(String),
    /// A person wants it now.
    RunNow(String),
    /// An attempt has ended.
    Settle {
        /// Which schedule.
        schedule: String,
        /// Which fire.
        fire: String,
        /// Which attempt.
        attempt: u32,
        /// What came of it.
        outcome: Outcome,
    },
    /// What a slot had to tell was told, or taken by a channel.
    Deliver {
        /// Which schedule.
        schedule: String,
        /// Which slot, µs.
        slot: i64,
        /// Over which channel.
        channel: String,
    },
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done {
        /// What the person is told; nothing when there is nothing to say.
        message: String,
    },
    /// It failed.
    Failed {
        /// By which class.
        class: String,
        /// What the person is told.
        message: String,
        /// Whether nothing was changed, so that trying again does no harm.
        is_repeatable: bool,
    },
    /// Its person was asked and did not want it this time: nothing failed.
    Declined {
        /// What the person is told.
        message: String,
    },
    /// Nobody can say whether it was done.
    InDoubt {
        /// What the person is told.
        message: String,
    },
}

/// Why it is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// No such schedule.
    #[error("there is no schedule {0}")]
    NoSuch(String),
    /// It is over.
    #[error("schedule {0} is {1}")]
    Over(String, &'static str),
    /// It is there already.
    #[error("schedule {0} is there already")]
    Taken(String),
    /// It is paused already, or it is not paused.
    #[error("schedule {0} is {1} already")]
    Already(String, &'static str),
    /// Too many.
    #[error("{0} already has {SCHEDULES_MAX} schedules")]
    Full(String),
    /// It runs.
    #[error("schedule {0} runs just now")]
    Running(String),
    /// It belongs to the program.
    #[error("{0} is a job of the program's own")]
    Job(String),
    /// Its slot has not come.
    #[error("schedule {0} is not due")]
    NotDue(String),
    /// This attempt is not up.
    #[error("schedule {0} has no such fire")]
    NoSuchFire(String),
    /// Its time has passed.
    #[error("the time of this schedule is over")]
    Past(i64),
    /// Its cadence cannot be read.
    #[error(transparent)]
    Cadence(#[from] CadenceError),
}

/// The events that follow, and the schedule that they are of.
pub fn decide(schedules: &Schedules, command: Command, now: Micros) -> Result<(String, Vec<Event>), Rejection> {
    match command {
        Command::Create { actor, job, what, contract, turn } => {
            create(schedules, &actor, job, what, *contract, turn, now)
        }
        Command::Modify { schedule, what, contract } => {
            alive(schedules, &schedule)?;
            let contract = begun(*contract, now)?;
            let event = ScheduleModified { schedule: schedule.clone(), what: Kept::text(what), contract };
            Ok((schedule, vec![event.into()]))
        }
        Command::Pause(id) => match alive(schedules, &id)?.state {
            State::Paused => Err(Rejection::Already(id, "paused")),
            State::Active | State::Completed | State::Cancelled => {
                Ok((id.clone(), vec![SchedulePaused { schedule: id, by: "person".to_owned() }.into()]))
            }
        },
        Command::Resume(id) => {
            let schedule = alive(schedules, &id)?;
            if schedule.state == State::Active {
                return Err(Rejection::Already(id, "active"));
            }
            let next = following(schedule, now.0)?;
            if next.is_none() && schedule.contract.cadence != "manual" {
                return Err(Rejection::Past(now.0));
            }
            Ok((id.clone(), vec![ScheduleResumed { schedule: id, next }.into()]))
        }
        Command::Cancel(id) => {
            if alive(schedules, &id)?.contract.kind == JOB {
                return Err(Rejection::Job(id));
            }
            Ok((id.clone(), vec![ScheduleCancelled { schedule: id, by: "person".to_owned() }.into()]))
        }
        Command::Reopen { schedule, is_paused } => reopen(schedules, schedule, is_paused, now.0),
        Command::Reaim { schedule, taken } => reaim(schedules, schedule, taken, now.0),
        Command::Claim(id) => claim(schedules, id, now.0),
        Command::RunNow(id) => {
            let schedule = alive(schedules, &id)?;
            if schedule.fire.is_some() {
                return Err(Rejection::Running(id));
            }
            let fire = run_of(&id, now.0);
            let (by, next) = ("person".to_owned(), schedule.next);
            Ok((id.clone(), vec![SlotClaimed { schedule: id, slot: now.0, fire, by, next }.into()]))
        }
        Command::Settle { schedule, fire, attempt, outcome } => {
            settle(schedules, schedule, &fire, attempt, outcome, now.0)
        }
        Command::Deliver { schedule, slot, channel } => {
            let open = schedules.untold.values().flatten().any(|u| u.schedule == schedule && u.slot == slot);
            let delivered = SlotDelivered { schedule: schedule.clone(), slot, channel };
            Ok((schedule, if open { vec![delivered.into()] } else { Vec::new() }))
        }
    }
}

fn alive<'a>(schedules: &'a Schedules, id: &str) -> Result<&'a Schedule, Rejection> {
    let schedule = schedules.get(id).ok_or_else(|| Rejection::NoSuch(id.to_owned()))?;
    if schedule.state.is_alive() { Ok(schedule) } else { Err(Rejection::Over(id.to_owned(), schedule.state.name())) }
}

/// The contract with its first slot after `now`.
fn begun(contract: Contract, now: Micros) -> Result<Contract, Rejection> {
    let zone = Zone::named(&contract.zone)?;
    let cadence = Cadence::read(&contract.cadence, &zone)?;
    let until = contract.until.unwrap_or(i64::MAX);
    let next = cadence.next(now.0, contract.anchor, &zone).filter(|slot| *slot <= until);
    if next.is_none() && cadence != Cadence::Manual {
        return Err(Rejection::Past(now.0));
    }
    Ok(Contract { next, grace_s: contract.grace_s.min(GRACE_MAX_S), ..contract })
}

fn create(
    schedules: &Schedules,
    actor: &str,
    job: Option<String>,
    what: String,
    contract: Contract,
    turn: Option<String>,
    now: Micros,
) -> Result<(String, Vec<Event>), Rejection> {
    let is_job = job.is_some();
    let id = job.unwrap_or_else(|| (schedules.numbered + 1).to_string());
    if schedules.get(&id).is_some() {
        return Err(Rejection::Taken(id));
    }
    if !is_job && actor != SYSTEM && schedules.alive(actor) >= SCHEDULES_MAX {
        return Err(Rejection::Full(actor.to_owned()));
    }
    let contract = begun(contract, now)?;
    let created = ScheduleCreated { schedule: id.clone(), what: Kept::text(what), contract, turn };
    Ok((id, vec![created.into()]))
}

/// The slot after `after`, while there are any left.
fn following(schedule: &Schedule, after: i64) -> Result<Option<i64>, Rejection> {
    let (cadence, zone) = schedule.cadence()?;
    let until = schedule.contract.until.unwrap_or(i64::MAX);
    let mut next = cadence.next(after, schedule.contract.anchor, &zone);
    while let Some(slot) = next.filter(|slot| schedule.taken.contains(slot)) {
        next = cadence.next(slot, schedule.contract.anchor, &zone);
    }
    Ok(next.filter(|slot| *slot <= until))
}

fn reopen(schedules: &Schedules, id: String, is_paused: bool, now: i64) -> Result<(String, Vec<Event>), Rejection> {
    let schedule = schedules.get(&id).ok_or_else(|| Rejection::NoSuch(id.clone()))?;
    if schedule.state != State::Cancelled {
        return Err(Rejection::Already(id, schedule.state.name()));
    }
    if schedule.actor != SYSTEM && schedules.alive(&schedule.actor) >= SCHEDULES_MAX {
        return Err(Rejection::Full(schedule.actor.clone()));
    }
    let next = following(schedule, now)?;
    if next.is_none() && schedule.contract.cadence != "manual" {
        return Err(Rejection::Past(now));
    }
    let mut events: Vec<Event> = vec![ScheduleResumed { schedule: id.clone(), next }.into()];
    if is_paused {
        events.push(SchedulePaused { schedule: id.clone(), by: "person".to_owned() }.into());
    }
    Ok((id, events))
}

/// A clock that was ahead moved the next slot away: the one that is next now, where it is an earlier one that was not
/// claimed. Nothing from before the schedule was made comes again, whatever the clock says.
fn reaim(schedules: &Schedules, id: String, taken: Vec<i64>, now: i64) -> Result<(String, Vec<Event>), Rejection> {
    let schedule = schedules.get(&id).ok_or_else(|| Rejection::NoSuch(id.clone()))?;
    let used_up = schedule.contract.count.is_some_and(|most| schedule.fired >= most);
    if !schedule.may_be_reaimed() || used_up {
        return Ok((id, Vec::new()));
    }
    // A slot of just now is on time yet.
    let after = now.saturating_sub(ON_TIME_US).max(schedule.created_at);
    let taken: Vec<i64> = taken.into_iter().filter(|slot| *slot > after).collect();
    let aware = Schedule { taken: schedule.taken.iter().chain(&taken).copied().collect(), ..schedule.clone() };
    let next = following(&aware, after)?;
    let is_taken = schedule.next.is_some_and(|old| taken.iter().any(|slot| *slot >= old));
    let events = match next {
        Some(next) if is_taken || schedule.next.is_none_or(|old| next < old) => {
            vec![SlotsReaimed { schedule: id.clone(), next, taken }.into()]
        }
        None if is_taken && schedule.fire.is_none() => vec![ScheduleCompleted { schedule: id.clone() }.into()],
        Some(_) | None => Vec::new(),
    };
    Ok((id, events))
}

fn claimed(id: &str, slot: i64, by: &str, next: Option<i64>) -> Event {
    SlotClaimed { schedule: id.to_owned(), slot, fire: fire_of(id, slot), by: by.to_owned(), next }.into()
}

/// A slot has come: it is run, or what was missed is said. The slots before the newest one are never run.
fn claim(schedules: &Schedules, id: String, now: i64) -> Result<(String, Vec<Event>), Rejection> {
    let schedule = schedules.get(&id).ok_or_else(|| Rejection::NoSuch(id.clone()))?;
    if schedule.state != State::Active {
        return Err(Rejection::Over(id, schedule.state.name()));
    }
    let first = schedule.next.filter(|slot| *slot <= now).ok_or_else(|| Rejection::NotDue(id.clone()))?;
    let (cadence, zone) = schedule.cadence()?;
    let (anchor, until) = (schedule.contract.anchor, schedule.contract.until.unwrap_or(i64::MAX));
    let last = now.min(until);
    let grace = (i64::from(schedule.contract.grace_s.min(GRACE_MAX_S)) * 1_000_000).max(ON_TIME_US);
    // The newest slot that may still be run, found from where that begins; what came before it is only counted.
    let from = (first - 1).max(now.saturating_sub(grace).saturating_sub(1));
    let recent = if cadence.recurs() {
        cadence.passed((from, last), anchor, &zone, u32::MAX).1
    } else {
        Some(first).filter(|slot| *slot > from)
    };
    let recent = recent.filter(|slot| !schedule.taken.contains(slot));
    let next = following(schedule, now)?;
    let is_last = schedule.contract.count.is_some_and(|most| schedule.fired + 1 >= most);
    let missed = |upto: i64, verdict: &str, next: Option<i64>| {
        let (count, last) = cadence.passed((first - 1, upto), anchor, &zone, MISSED_COUNTED_MAX);
        let (count, last) = if cadence.recurs() { (count, last) } else { (1, Some(first)) };
        let is_more = last.is_some_and(|last| cadence.passed((last, upto), anchor, &zone, 1).0 > 0);
        let is_told = verdict == "skip" && schedule.contract.kind != JOB;
        SlotMissed {
            schedule: id.clone(),
            slot: first,
            last: if is_more { upto } else { last.unwrap_or(first) },
            count: count.max(1),
            is_more,
            verdict: verdict.to_owned(),
            is_told,
            next,
        }
    };
    let mut events: Vec<Event> = Vec::new();
    match recent {
        Some(slot) if schedule.fire.is_none() => {
            if slot > first {
                events.push(missed(slot - 1, "skip", Some(slot)).into());
            }
            let is_late = now - slot > ON_TIME_US;
            if is_late {
                let next = Some(slot);
                let late = SlotMissed { slot, last: slot, count: 1, is_more: false, ..missed(slot, "late", next) };
                events.push(late.into());
            }
            let next = next.filter(|_| !is_last);
            events.push(claimed(&id, slot, if is_late { "late" } else { "due" }, next));
        }
        _ => {
            let verdict = if recent.is_some() { "busy" } else { "skip" };
            events.push(missed(last, verdict, next).into());
            if next.is_none() && schedule.fire.is_none() {
                events.push(ScheduleCompleted { schedule: id.clone() }.into());
            }
        }
    }
    Ok((id, events))
}

fn settle(
    schedules: &Schedules,
    id: String,
    fire: &str,
    attempt: u32,
    outcome: Outcome,
    now: i64,
) -> Result<(String, Vec<Event>), Rejection> {
    let schedule = schedules.get(&id).ok_or_else(|| Rejection::NoSuch(id.clone()))?;
    let up = schedule.fire.as_ref().filter(|up| up.fire == fire && up.attempt == attempt);
    let Some(Fire { slot, .. }) = up else { return Err(Rejection::NoSuchFire(id)) };
    let policy = schedule.contract.on_failure.as_str();
    let may_retry = attempt == 1 && schedule.state.is_alive() && matches!(policy, "retry" | "notify");
    let (name, class, message, again) = match outcome {
        Outcome::Done { message } => ("done", None, message, None),
        Outcome::Failed { class, message, is_repeatable } => {
            let again = (may_retry && is_repeatable).then_some(now + RETRY_US);
            ("failed", Some(class), message, again)
        }
        Outcome::Declined { message } => (DECLINED, Some("consent_denied".to_owned()), message, None),
        Outcome::InDoubt { message } => ("in_doubt", None, message, None),
    };
    let is_good = matches!(name, "done" | DECLINED);
    let is_told = !message.is_empty() && again.is_none() && (is_good || name == "in_doubt" || policy != "skip");
    let mut events: Vec<Event> = vec![
        SlotSettled {
            schedule: id.clone(),
            slot: *slot,
            fire: fire.to_owned(),
            attempt,
            outcome: name.to_owned(),
            class,
            message: Kept::text(message),
            is_told,
            again,
        }
        .into(),
    ];
    if again.is_none() && schedule.state.is_alive() {
        let (next, most) = (schedule.next, schedule.contract.failures_max.max(1));
        if next.is_none() && schedule.contract.cadence != "manual" {
            events.push(ScheduleCompleted { schedule: id.clone() }.into());
        } else if !is_good && policy == "cancel" {
            events.push(ScheduleCancelled { schedule: id.clone(), by: "failure".to_owned() }.into());
        } else if !is_good && schedule.failures + 1 >= most && schedule.state == State::Active {
            events.push(SchedulePaused { schedule: id.clone(), by: "failures".to_owned() }.into());
        }
    }
    Ok((id, events))
}

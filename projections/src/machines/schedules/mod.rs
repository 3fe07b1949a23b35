//! What is to happen at times: schedules, their slots, and what came of each (design 6-memory, «Scheduler»).
//!
//! `decide` says what follows from a command at a moment, `evolve` folds it. A slot is claimed once: the fold knows what was
//! claimed, and the claim's event has an id that follows from schedule and slot, so the log refuses a second one too. It
//! holds no words of a person: what is to happen is read from the event that says so.

mod decide;
#[cfg(test)]
mod properties;
pub mod task;
#[cfg(test)]
mod tests;
pub mod usual;

use std::collections::{BTreeMap, BTreeSet};

use metnos_log::envelope::Body;
use metnos_log::event::schedule::{Contract, SlotSettled};
use metnos_log::{Event, EventId, Micros, Recorded, TurnId};
use serde::{Deserialize, Serialize};

pub use decide::{Command, Outcome, Rejection, decide};

use super::actors::{HOST, SYSTEM};
use crate::projection::Projection;
use crate::rules::cadence::{Cadence, CadenceError, Zone};

/// The most schedules of one person that are active or paused.
pub const SCHEDULES_MAX: usize = 50;
/// How late a slot is run as if it were not late at all, in µs.
pub const ON_TIME_US: i64 = 60_000_000;
/// How far a clock must have been set back before what is next is looked up anew, in µs.
pub const SET_BACK_US: i64 = ON_TIME_US;
/// The kind of a contract of the program's own.
pub const JOB: &str = "job";
/// The outcome of a fire whose person said no to it.
pub const DECLINED: &str = "declined";
/// How long after a failure it is tried once more, in µs.
pub const RETRY_US: i64 = 60_000_000;

/// Where a schedule is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its slots are due.
    #[default]
    Active,
    /// Nothing is due until it is resumed.
    Paused,
    /// No slot is left.
    Completed,
    /// It was ended.
    Cancelled,
}

impl State {
    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether it may still fire.
    pub fn is_alive(self) -> bool {
        matches!(self, Self::Active | Self::Paused)
    }
}

/// What happens in a slot and has no outcome yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fire {
    /// When it was due, µs.
    pub slot: i64,
    /// Names it.
    pub fire: String,
    /// Which attempt is up, from 1.
    pub attempt: u32,
    /// Before this moment it is not tried again, µs.
    pub not_before: i64,
}

impl Fire {
    /// The turn of the attempt that is up.
    pub fn turn(&self) -> TurnId {
        turn_of(self.slot, &self.fire, self.attempt)
    }
}

/// What came of the newest slot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Last {
    /// When it was due, µs.
    pub slot: i64,
    /// `done`, `failed`, `in_doubt`, `missed`, `erased`.
    pub outcome: String,
}

/// One schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Whose.
    pub actor: String,
    /// When it was made, µs.
    pub created_at: i64,
    /// The number of the event that says what is to happen.
    pub said_at: u64,
    /// When, and the rest.
    pub contract: Contract,
    /// Where it is.
    pub state: State,
    /// The next slot, µs.
    pub next: Option<i64>,
    /// What runs.
    pub fire: Option<Fire>,
    /// What came of the newest slot.
    pub last: Option<Last>,
    /// Slots that were claimed because they were due.
    pub fired: u32,
    /// Failures in a row.
    pub failures: u32,
    /// Slots that were missed.
    pub missed: u64,
    /// When what is next was found, µs: by a clock that said so.
    pub aimed_at: i64,
    /// Slots to come that were claimed while the clock was ahead.
    pub taken: BTreeSet<i64>,
}

impl Schedule {
    /// Its cadence and its zone.
    pub fn cadence(&self) -> Result<(Cadence, Zone), CadenceError> {
        let zone = Zone::named(&self.contract.zone)?;
        Ok((Cadence::read(&self.contract.cadence, &zone)?, zone))
    }

    /// Whether a clock that was set back may bring its slots back: those of what is active, or over by that clock.
    fn may_be_reaimed(&self) -> bool {
        matches!(self.state, State::Active | State::Completed)
    }

    /// The next firings, at most `count`.
    pub fn firings(&self, count: usize) -> Vec<i64> {
        let Ok((cadence, zone)) = self.cadence() else { return Vec::new() };
        let Some(next) = self.next.filter(|_| self.state == State::Active) else { return Vec::new() };
        let left = self.contract.count.map_or(count, |most| count.min(most.saturating_sub(self.fired) as usize));
        let until = self.contract.until.unwrap_or(i64::MAX);
        let firings = cadence.firings(next - 1, self.contract.anchor, &zone, left);
        firings.into_iter().take_while(|slot| *slot <= until).collect()
    }
}

/// Something that a person has not been told yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Untold {
    /// The number of the event that says it.
    pub seq: u64,
    /// Which schedule.
    pub schedule: String,
    /// Which slot, µs.
    pub slot: i64,
    /// Over which channel.
    pub channel: String,
    /// Where on that channel.
    pub address: Option<String>,
    /// How many slots were missed, where that is what it says; those of one schedule are told together.
    pub missed: u64,
}

/// All schedules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schedules {
    /// By id.
    pub schedules: BTreeMap<String, Schedule>,
    /// The next slot of each that is active and does nothing else just now.
    pub due: BTreeSet<(i64, String)>,
    /// Those that run.
    pub running: BTreeSet<String>,
    /// What is to be told, by person.
    pub untold: BTreeMap<String, Vec<Untold>>,
    /// How many numbers are used up.
    pub numbered: u32,
    /// When each one's next slot was found, µs.
    pub aimed: BTreeSet<(i64, String)>,
}

/// The stream of one schedule's events.
pub fn stream(schedule: &str) -> String {
    format!("schedule/{schedule}")
}

/// Names what happens in a slot: a hash of schedule and slot.
pub fn fire_of(schedule: &str, slot: i64) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("metnos fire v1");
    hasher.update(&slot.to_le_bytes());
    hasher.update(schedule.as_bytes());
    hasher.finalize().to_hex()[..32].to_owned()
}

/// The same of what happens because a person wants it now. Its slot may be one of the schedule's own to the microsecond; it
/// is another fire all the same.
pub fn run_of(schedule: &str, slot: i64) -> String {
    fire_of(&format!("{schedule}/now"), slot)
}

/// The turn of one attempt.
pub fn turn_of(slot: i64, fire: &str, attempt: u32) -> TurnId {
    TurnId::derived(Micros(slot), "metnos fire turn v1", &[fire.as_bytes(), &attempt.to_le_bytes()])
}

/// The id of an event that follows from what it says, so that it is recorded once; none where it may come again, as a slot
/// that was missed does under a clock that is set back.
pub fn id_of(event: &Event) -> Option<EventId> {
    let id = |domain: &str, slot: i64, key: &[&[u8]]| Some(EventId::derived(Micros(slot), domain, key));
    match Some(event) {
        Some(Event::SlotClaimed(claimed)) => id("metnos slot claimed v1", claimed.slot, &[claimed.fire.as_bytes()]),
        Some(Event::SlotSettled(settled)) => {
            let key: &[&[u8]] = &[settled.fire.as_bytes(), &settled.attempt.to_le_bytes()];
            id("metnos slot settled v1", settled.slot, key)
        }
        _ => None,
    }
}

impl Schedules {
    /// The schedule of that id.
    pub fn get(&self, id: &str) -> Option<&Schedule> {
        self.schedules.get(id)
    }

    /// The next moment at which something is to be done: a slot, or another attempt after `now`.
    pub fn next_due(&self, now: i64) -> Option<i64> {
        let fires = self.running.iter().filter_map(|id| self.get(id)?.fire.as_ref());
        let again = fires.map(|fire| fire.not_before).filter(|again| *again > now);
        self.due.first().map(|(slot, _)| *slot).into_iter().chain(again).min()
    }

    /// What runs, or waits for another attempt.
    pub fn fires(&self) -> impl Iterator<Item = (&str, &Fire)> {
        self.running.iter().filter_map(|id| Some((id.as_str(), self.get(id)?.fire.as_ref()?)))
    }

    /// Those whose slot has come, the earliest first.
    pub fn due_at(&self, now: i64) -> impl Iterator<Item = &str> {
        self.due.iter().take_while(move |(slot, _)| *slot <= now).map(|(_, id)| id.as_str())
    }

    /// Those whose next slot was found by a clock that was well ahead of this moment.
    pub fn aimed_after(&self, now: i64) -> impl Iterator<Item = (&str, &Schedule)> {
        let ahead = self.aimed.iter().rev().take_while(move |(at, _)| *at > now.saturating_add(SET_BACK_US));
        let found = ahead.filter_map(|(_, id)| Some((id.as_str(), self.get(id)?)));
        found.filter(|(_, schedule)| schedule.may_be_reaimed())
    }

    /// What a person has not been told yet.
    pub fn untold_of(&self, actor: &str, channel: &str) -> Vec<Untold> {
        let all = self.untold.get(actor).into_iter().flatten();
        all.filter(|untold| untold.channel == channel).cloned().collect()
    }

    /// How many schedules of a person are alive.
    fn alive(&self, actor: &str) -> usize {
        self.schedules.values().filter(|schedule| schedule.actor == actor && schedule.state.is_alive()).count()
    }

    /// Changes one and keeps the indexes in step with it.
    fn touch(&mut self, id: &str, change: impl FnOnce(&mut Schedule)) {
        let Some(schedule) = self.schedules.get_mut(id) else { return };
        if let Some(next) = schedule.next {
            self.due.remove(&(next, id.to_owned()));
        }
        self.aimed.remove(&(schedule.aimed_at, id.to_owned()));
        change(schedule);
        self.aimed.insert((schedule.aimed_at, id.to_owned()));
        if let Some(next) = schedule.next.filter(|_| schedule.state == State::Active) {
            self.due.insert((next, id.to_owned()));
        }
        if schedule.fire.is_some() {
            self.running.insert(id.to_owned());
        } else {
            self.running.remove(id);
        }
    }

    fn create(&mut self, recorded: &Recorded, id: &str, contract: &Contract) {
        if let Ok(number) = id.parse::<u32>() {
            self.numbered = self.numbered.max(number);
        }
        let schedule = Schedule {
            actor: recorded.actor.clone(),
            created_at: recorded.time.0,
            said_at: recorded.seq,
            contract: contract.clone(),
            ..Schedule::default()
        };
        self.schedules.entry(id.to_owned()).or_insert(schedule);
        self.touch(id, |schedule| (schedule.next, schedule.aimed_at) = (contract.next, recorded.time.0));
    }

    /// Notes something that its person is to be told; what the program does by itself is the host's to know. Slots that were
    /// missed, however often, are one thing to be told.
    fn tell(&mut self, seq: u64, id: &str, slot: i64, missed: u64) {
        let Some(schedule) = self.schedules.get(id) else { return };
        let actor = if schedule.actor == SYSTEM { HOST } else { &schedule.actor };
        let Contract { channel, address, .. } = &schedule.contract;
        let (channel, address) = (channel.clone(), address.clone());
        let waiting = self.untold.entry(actor.to_owned()).or_default();
        let before = waiting.iter_mut().find(|untold| missed > 0 && untold.missed > 0 && untold.schedule == id);
        if let Some(before) = before.filter(|untold| (&untold.channel, &untold.address) == (&channel, &address)) {
            (before.seq, before.missed) = (seq, before.missed + missed);
            return;
        }
        waiting.push(Untold { seq, schedule: id.to_owned(), slot, channel, address, missed });
    }

    fn settled(&mut self, seq: u64, settled: &SlotSettled) {
        self.touch(&settled.schedule, |schedule| {
            if let (Some(again), Some(fire)) = (settled.again, &mut schedule.fire) {
                (fire.attempt, fire.not_before) = (settled.attempt + 1, again);
                return;
            }
            schedule.fire = None;
            schedule.failures = match settled.outcome.as_str() {
                "done" => 0,
                // It says nothing of whether it would have worked.
                DECLINED => schedule.failures,
                _ => schedule.failures + 1,
            };
            schedule.last = Some(Last { slot: settled.slot, outcome: settled.outcome.clone() });
        });
        if settled.is_told {
            self.tell(seq, &settled.schedule, settled.slot, 0);
        }
    }

    /// Of what was erased, what its kind and its stream tell: a number that was given stays given, and what happened in a
    /// slot is over.
    fn erased(&mut self, recorded: &Recorded) {
        let Some(id) = recorded.stream.strip_prefix("schedule/") else { return };
        match &*recorded.kind {
            "schedule_created" => {
                if let Ok(number) = id.parse::<u32>() {
                    self.numbered = self.numbered.max(number);
                }
            }
            "slot_settled" => self.touch(id, |schedule| {
                if let Some(fire) = schedule.fire.take() {
                    schedule.last = Some(Last { slot: fire.slot, outcome: "erased".to_owned() });
                }
            }),
            _ => {}
        }
    }

    fn told(&mut self, id: &str, slot: i64) {
        for untold in self.untold.values_mut() {
            untold.retain(|untold| (untold.schedule.as_str(), untold.slot) != (id, slot));
        }
        self.untold.retain(|_, untold| !untold.is_empty());
    }
}

impl Projection for Schedules {
    const NAME: &'static str = "schedules";
    const VERSION: u32 = 4;

    fn evolve(&mut self, recorded: &Recorded) {
        let time = recorded.time.0;
        if let Body::Erased = recorded.body {
            return self.erased(recorded);
        }
        match recorded.event() {
            Some(Event::ScheduleCreated(created)) => self.create(recorded, &created.schedule, &created.contract),
            Some(Event::ScheduleModified(modified)) => self.touch(&modified.schedule, |schedule| {
                (schedule.contract, schedule.said_at) = (modified.contract.clone(), recorded.seq);
                (schedule.next, schedule.aimed_at) = (modified.contract.next, time.max(schedule.aimed_at));
                schedule.failures = 0;
            }),
            Some(Event::SchedulePaused(paused)) => self.touch(&paused.schedule, |schedule| {
                schedule.state = State::Paused;
            }),
            Some(Event::ScheduleResumed(resumed)) => self.touch(&resumed.schedule, |schedule| {
                (schedule.state, schedule.next, schedule.failures) = (State::Active, resumed.next, 0);
                // What a clock that was ahead claimed before is not known yet: it is still to be aimed anew.
                schedule.aimed_at = time.max(schedule.aimed_at);
            }),
            Some(Event::ScheduleCancelled(cancelled)) => self.touch(&cancelled.schedule, |schedule| {
                (schedule.state, schedule.next) = (State::Cancelled, None);
                // What runs has its outcome still to come; what only waits to be tried again does not.
                schedule.fire = schedule.fire.take().filter(|fire| fire.not_before == 0);
            }),
            Some(Event::ScheduleCompleted(completed)) => self.touch(&completed.schedule, |schedule| {
                (schedule.state, schedule.next, schedule.aimed_at) = (State::Completed, None, time);
            }),
            Some(Event::SlotsReaimed(reaimed)) => self.touch(&reaimed.schedule, |schedule| {
                (schedule.state, schedule.next, schedule.aimed_at) = (State::Active, Some(reaimed.next), time);
                schedule.taken.extend(&reaimed.taken);
                schedule.taken.retain(|slot| *slot >= reaimed.next);
            }),
            Some(Event::SlotClaimed(claimed)) => self.touch(&claimed.schedule, |schedule| {
                let (slot, fire) = (claimed.slot, claimed.fire.clone());
                schedule.fire = Some(Fire { slot, fire, attempt: 1, not_before: 0 });
                if claimed.by != "person" {
                    (schedule.next, schedule.aimed_at) = (claimed.next, time);
                    schedule.fired += 1;
                }
            }),
            Some(Event::SlotSettled(settled)) => self.settled(recorded.seq, settled),
            Some(Event::SlotMissed(missed)) => {
                self.touch(&missed.schedule, |schedule| {
                    if missed.verdict != "late" {
                        (schedule.next, schedule.aimed_at) = (missed.next, time);
                        schedule.missed += u64::from(missed.count);
                        schedule.last = Some(Last { slot: missed.last, outcome: "missed".to_owned() });
                    }
                });
                if missed.is_told {
                    self.tell(recorded.seq, &missed.schedule, missed.slot, u64::from(missed.count));
                }
            }
            Some(Event::SlotDelivered(delivered)) => self.told(&delivered.schedule, delivered.slot),
            _ => {}
        }
    }
}

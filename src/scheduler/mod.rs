//! The scheduler: what is to happen at times, carried out by the daemon as turns of whoever asked (design 6-memory,
//! «Scheduler»).
//!
//! What is decided lies in `machines::schedules`; here it is appended, run, and handed over. Each slot is claimed before
//! anything of it happens, and the claim, the turn and the outcome have ids that follow from schedule and slot: whoever
//! looks after a crash finds which of them are there, and goes on from that.

pub mod asked;
pub mod changes;
pub mod delivery;
mod fire;
pub mod jobs;
pub mod named;
pub mod questions;
mod service;
#[cfg(test)]
mod tests;
pub mod told;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metnos_log::{Draft, Event, EventId};
use metnos_projections::machines::actors::HOST;
use metnos_projections::machines::schedules::{self, Command, Rejection, Schedule, Schedules};

use crate::engine::Person;
use crate::instance::{Instance, InstanceError, now, random};

use questions::Awaited;

pub use fire::{Stopping, carry_out, carry_out_with};
pub use service::{Tick, Timekeeper, service, tick};

/// What the scheduler of this process does just now; nothing of it outlives the process.
#[derive(Default)]
pub struct Scheduler {
    serves: AtomicBool,
    /// Schedules whose fire a thread of this process is at.
    busy: Mutex<BTreeSet<String>>,
    /// Fires that this process claimed.
    own: Mutex<BTreeSet<String>>,
    /// Fires whose turn waits for an answer.
    awaited: Mutex<BTreeMap<String, Awaited>>,
    /// Up to which moment a clock that was set back moves nothing: by schedule, for what was found at that time.
    settled_back: Mutex<BTreeMap<String, (i64, i64)>>,
}

/// Holds one schedule's fire for a thread; nobody else of this process touches it meanwhile.
pub struct Hold<'a> {
    scheduler: &'a Scheduler,
    id: String,
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.scheduler.busy().remove(&self.id);
    }
}

impl Scheduler {
    fn busy(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a schedule for this thread; none while another has it.
    pub fn hold(&self, id: &str) -> Option<Hold<'_>> {
        self.busy().insert(id.to_owned()).then(|| Hold { scheduler: self, id: id.to_owned() })
    }

    /// Whether something here fires what is due: a daemon.
    pub fn serves(&self) -> bool {
        self.serves.load(Ordering::SeqCst)
    }

    /// Notes what this process claims.
    fn claims(&self, events: &[Event]) {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.extend(events.iter().filter_map(|event| match event {
            Event::SlotClaimed(claimed) => Some(claimed.fire.clone()),
            _ => None,
        }));
    }

    fn is_own(&self, fire: &str) -> bool {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).contains(fire)
    }

    fn awaits(&self, fire: &str, awaited: Awaited) {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner).insert(fire.to_owned(), awaited);
    }

    /// What a fire waits for, as far as this process knows.
    fn awaited(&self, fire: &str) -> Option<Awaited> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner).get(fire).cloned()
    }

    /// When the next question lapses, µs.
    fn lapses_after(&self, now: i64) -> Option<i64> {
        let awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        awaited.values().map(Awaited::until).filter(|until| *until > now).min()
    }

    /// Whether what was found for a schedule at `aimed_at` was looked at already by a clock that said `now` or less.
    fn is_settled_back(&self, id: &str, aimed_at: i64, now: i64) -> bool {
        let mut seen = self.settled_back.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.get(id).is_some_and(|(then, from)| *then == aimed_at && *from <= now) {
            return true;
        }
        seen.insert(id.to_owned(), (aimed_at, now));
        false
    }

    fn forget(&self, fire: &str) {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner).remove(fire);
        self.own.lock().unwrap_or_else(PoisonError::into_inner).remove(fire);
    }
}

impl Instance {
    /// The schedules as they stand now.
    pub fn schedules(&self) -> Arc<Schedules> {
        self.projected().schedules
    }
}

/// Decides a command, appends what follows, and says which schedule it is about. When this returns, it is on disk.
pub fn change(instance: &Instance, command: &Command) -> Result<Result<String, Rejection>, InstanceError> {
    let mut about = String::new();
    let appended = instance.append_decided(|projected| {
        let (id, events) = schedules::decide(&projected.schedules, command.clone(), now())?;
        about.clone_from(&id);
        instance.scheduler.claims(&events);
        Ok(drafts(&instance.actor, &id, events))
    })?;
    Ok(appended.map(|()| about))
}

/// Events of one schedule as they are appended: those that may come once have an id that says so.
fn drafts(actor: &str, schedule: &str, events: Vec<Event>) -> Vec<Draft> {
    let time = now();
    let draft = |event: Event| Draft {
        id: schedules::id_of(&event).unwrap_or_else(|| EventId::new(time, random())),
        time,
        stream: schedules::stream(schedule),
        actor: actor.to_owned(),
        turn: None,
        cause: None,
        event,
        blobs: Vec::new(),
    };
    events.into_iter().map(draft).collect()
}

/// Whether whoever asks may see and change a schedule: their own; the host, everyone's.
pub fn is_theirs(instance: &Instance, schedule: &Schedule) -> bool {
    instance.actor == HOST || schedule.actor == instance.actor
}

/// Makes a schedule happen now, on this thread, with whoever is there to be asked: the event that settled it is on disk, or
/// the question that it waits with.
pub fn run_now(
    instance: &Instance,
    id: &str,
    here: Option<&dyn Person>,
    stopping: &Stopping,
) -> Result<Result<(), Rejection>, InstanceError> {
    let Some(_hold) = instance.scheduler.hold(id) else {
        return Ok(Err(Rejection::Running(id.to_owned())));
    };
    // Nobody is at what a killed process left: its outcome comes first, and is what there is to say.
    let left = instance.schedules().get(id).is_some_and(|schedule| schedule.fire.is_some());
    if !left && let Err(refused) = change(instance, &Command::RunNow(id.to_owned()))? {
        return Ok(Err(refused));
    }
    let fire = instance.schedules().get(id).and_then(|schedule| schedule.fire.clone());
    if let Some(fire) = fire {
        carry_out_with(instance, id, &fire, stopping, (here, None))?;
    }
    Ok(Ok(()))
}

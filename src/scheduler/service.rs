//! The daemon's part: sleeps until something is due, claims it, and gives it to a thread.
//!
//! What fails is told in the program's messages and tried again; no task's fault ends it. A clock that jumps is noticed
//! within half a minute, and nothing is believed of it but what is due.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use metnos_log::store::Head;
use metnos_log::{AppendError, Draft, Event};
use metnos_projections::machines::schedules::{self, Command, Fire, ON_TIME_US, Rejection};

use super::fire::{Stopping, carry_out};
use super::{change, delivery, drafts};
use crate::clock;
use crate::faults;
use crate::instance::{Instance, InstanceError, now};
use crate::sandbox::CancelFlag;
use crate::service::{Around, Service};

/// The most fires at once.
const AT_ONCE_MAX: usize = 4;
/// The most slots that are claimed in one append.
const CLAIMS_MAX: usize = 64;
/// The longest sleep: a clock may have been set meanwhile, or the machine have slept.
const SLEEP_MAX: Duration = Duration::from_secs(30);
/// The longest sleep while something runs, so that nothing is stopped late.
const BUSY_SLEEP_MAX: Duration = Duration::from_secs(1);
/// The same under a clock that a test moves.
const SIMULATED_SLEEP: Duration = Duration::from_millis(10);
/// How long it waits after something went wrong.
const TROUBLE_PAUSE: Duration = Duration::from_secs(5);
/// How long fires may take to stop when the daemon does.
const STOP_PATIENCE: Duration = Duration::from_millis(3500);
/// As much as the first thread of a process has.
const STACK_BYTES: usize = 8 << 20;

/// The log's end, as this thread has seen it.
type Watched = tokio::sync::watch::Receiver<Head>;

/// The scheduler as a service of the daemon.
#[derive(Default)]
pub struct Timekeeper;

/// What one look at the schedules did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tick {
    /// Slots that were claimed or said to be missed.
    pub taken: usize,
    /// Slots that were due and could not be taken.
    pub refused: usize,
}

/// A fire that a thread is at.
struct Running {
    stopping: Stopping,
    since: Instant,
    most: Duration,
    thread: JoinHandle<()>,
}

impl Service for Timekeeper {
    fn name(&self) -> &'static str {
        "scheduler"
    }

    fn run(&self, around: &Around) {
        let instance = &around.instance;
        instance.scheduler.serves.store(true, Ordering::SeqCst);
        let mut running: BTreeMap<String, Running> = BTreeMap::new();
        let mut head = instance.log.watch();
        while !around.stop.is_raised() {
            let worked = round(instance, &mut head, &mut running);
            let pause = match worked {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::error!(%error, "schedules cannot be looked after just now");
                    TROUBLE_PAUSE
                }
            };
            sleep(around, &mut head, pause);
        }
        instance.scheduler.serves.store(false, Ordering::SeqCst);
        stop(&running);
    }
}

/// Waits until the time is up, something was appended that the last round has not looked at, or the daemon ends.
fn sleep(around: &Around, head: &mut Watched, pause: Duration) {
    around.runtime.block_on(async {
        tokio::select! {
            () = around.stop.raised() => {}
            _ = head.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    });
}

/// Looks once: claims what is due, starts what is to run, stops what takes too long. How long nothing else will be due.
fn round(
    instance: &Instance,
    head: &mut Watched,
    running: &mut BTreeMap<String, Running>,
) -> Result<Duration, InstanceError> {
    instance.catch_up()?;
    let tick = tick(instance, now().0)?;
    running.retain(|_, fire| !fire.thread.is_finished());
    for fire in running.values().filter(|fire| fire.since.elapsed() > fire.most) {
        fire.stopping.is_over_time.store(true, Ordering::SeqCst);
        fire.stopping.flag.cancel();
    }
    // What is appended from here on ends the sleep after this round; an answer that came before is seen by it.
    head.borrow_and_update();
    instance.catch_up()?;
    start(instance, running);
    faults::reach("looked_to_sleep");
    delivery::hand_over(instance)?;
    if tick.refused > 0 {
        return Ok(TROUBLE_PAUSE);
    }
    let now = now().0;
    let next = instance.schedules().next_due(now).into_iter().chain(instance.scheduler.lapses_after(now)).min();
    let until =
        next.map_or(SLEEP_MAX, |due| Duration::from_micros(u64::try_from(due.saturating_sub(now)).unwrap_or(0)));
    let most = if running.is_empty() { SLEEP_MAX } else { BUSY_SLEEP_MAX };
    Ok(if clock::is_simulated() { SIMULATED_SLEEP } else { until.min(most) })
}

/// Looks anew for what is next where that was found by a clock that has been set back since.
fn set_back(instance: &Instance, now: i64) -> Result<(), InstanceError> {
    let schedules = instance.schedules();
    let ahead = schedules
        .aimed_after(now)
        .filter(|(id, schedule)| !instance.scheduler.is_settled_back(id, schedule.aimed_at, now));
    for (id, _) in ahead.collect::<Vec<_>>() {
        reaim(instance, id, now)?;
    }
    Ok(())
}

/// The next slot of a schedule by the clock as it is now; none of those that were claimed before.
fn reaim(instance: &Instance, id: &str, now: i64) -> Result<(), InstanceError> {
    let claimed =
        instance.log.reader().stream(&schedules::stream(id))?.into_iter().filter_map(|recorded| {
            match recorded.event() {
                Some(Event::SlotClaimed(claimed)) if claimed.by != "person" => Some(claimed.slot),
                _ => None,
            }
        });
    let taken = claimed.filter(|slot| *slot > now - 2 * ON_TIME_US).collect();
    let reaim = Command::Reaim { schedule: id.to_owned(), taken };
    let decided = instance.append_decided(|projected| {
        let actor = projected.schedules.get(id).map(|schedule| schedule.actor.clone()).unwrap_or_default();
        let (id, events) = schedules::decide(&projected.schedules, reaim, metnos_log::Micros(now))?;
        Ok(drafts(&actor, &id, events))
    })?;
    if let Err::<(), Rejection>(error) = decided {
        tracing::error!(schedule = id, %error, "its next time cannot be found");
    }
    Ok(())
}

/// Claims every slot that has come, or says that it was missed. What is claimed is on disk when this returns.
pub fn tick(instance: &Instance, now: i64) -> Result<Tick, InstanceError> {
    set_back(instance, now)?;
    let due: Vec<String> = instance.schedules().due_at(now).take(CLAIMS_MAX).map(str::to_owned).collect();
    if due.is_empty() {
        return Ok(Tick::default());
    }
    let (mut taken, mut refused) = (0, 0);
    let appended = instance.append_decided(|projected| {
        let mut all: Vec<Draft> = Vec::new();
        for id in &due {
            let Some(schedule) = projected.schedules.get(id) else { continue };
            let time = metnos_log::Micros(now);
            match schedules::decide(&projected.schedules, Command::Claim(id.clone()), time) {
                Ok((id, events)) => {
                    taken += 1;
                    instance.scheduler.claims(&events);
                    all.extend(drafts(&schedule.actor, &id, events));
                }
                Err(Rejection::NotDue(_) | Rejection::Over(..)) => {}
                Err(error) => {
                    refused += 1;
                    tracing::error!(schedule = id, %error, "a slot cannot be taken");
                }
            }
        }
        Ok::<_, std::convert::Infallible>(all)
    });
    match appended {
        Ok(Ok(())) => {}
        Ok(Err(never)) => match never {},
        // One of them was claimed while the clock was ahead: each looks for its next one, and the others come again.
        Err(InstanceError::Append(AppendError::IdTaken { .. })) => {
            for id in &due {
                let slot = instance.schedules().get(id).and_then(|schedule| schedule.next).unwrap_or(now);
                reaim(instance, id, slot.saturating_sub(1))?;
            }
            return Ok(Tick { taken: 0, refused: due.len() });
        }
        Err(error) => return Err(error),
    }
    Ok(Tick { taken, refused })
}

/// Gives what was claimed and is nobody's to threads: new fires, other attempts, and what a kill left.
fn start(instance: &Instance, running: &mut BTreeMap<String, Running>) {
    let now = now().0;
    let schedules = instance.schedules();
    let waiting: Vec<(String, Fire, u32)> = schedules
        .fires()
        .filter(|(id, fire)| fire.not_before <= now && !running.contains_key(*id))
        // What waits for an answer is gone on with once there is one, or no more time.
        .filter(|(_, fire)| instance.scheduler.awaited(&fire.fire).is_none_or(|awaited| !awaited.is_open(instance)))
        .map(|(id, fire)| (id.to_owned(), fire.clone(), schedules.get(id).map_or(0, |s| s.contract.timeout_s)))
        .collect();
    drop(schedules);
    for (id, fire, most) in waiting {
        if running.len() >= AT_ONCE_MAX {
            return;
        }
        let Ok(flag) = CancelFlag::new() else { return };
        let stopping = Stopping::by(flag);
        let (inside, of, stops) = (instance.clone(), id.clone(), stopping.clone());
        let work = move || {
            // Somebody of this process is at it.
            let Some(_hold) = inside.scheduler.hold(&of) else { return };
            let is_up = inside.schedules().get(&of).and_then(|schedule| schedule.fire.clone()).as_ref() == Some(&fire);
            if !is_up {
                return;
            }
            let work = std::panic::AssertUnwindSafe(|| carry_out(&inside, &of, &fire, &stops));
            match std::panic::catch_unwind(work) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::error!(schedule = of, %error, "a fire has no outcome yet"),
                Err(_) => broken_off(&inside, &of, &fire),
            }
        };
        let thread = std::thread::Builder::new().name(format!("schedule-{id}")).stack_size(STACK_BYTES);
        match thread.spawn(work) {
            Ok(thread) => {
                let most = Duration::from_secs(u64::from(most.max(1)));
                running.insert(id, Running { stopping, since: Instant::now(), most, thread });
            }
            Err(error) => tracing::error!(schedule = id, %error, "a fire got no thread"),
        }
    }
}

/// A fault of the program in the middle of a fire: whether it was done, nobody can say.
fn broken_off(instance: &Instance, id: &str, fire: &Fire) {
    let language = instance.language();
    let message = instance.rules.messages.say(language, "schedule.in_doubt", serde_json::json!({}));
    let outcome = schedules::Outcome::InDoubt { message };
    let settle = Command::Settle { schedule: id.to_owned(), fire: fire.fire.clone(), attempt: fire.attempt, outcome };
    match change(instance, &settle) {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::error!(schedule = id, %error, "a fire broke off"),
        Err(error) => tracing::error!(schedule = id, %error, "a fire broke off"),
    }
}

/// Stops what runs, as Ctrl-C would; what does not stop in time is left as a kill would leave it.
fn stop(running: &BTreeMap<String, Running>) {
    let deadline = Instant::now() + STOP_PATIENCE;
    for fire in running.values() {
        fire.stopping.flag.cancel();
    }
    while Instant::now() < deadline && running.values().any(|fire| !fire.thread.is_finished()) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// For services: a scheduler.
pub fn service() -> Arc<dyn Service> {
    Arc::new(Timekeeper)
}

//! A simulated scheduler that is killed between any two steps, under a clock that jumps.
//!
//! What would be the disk is two things: the events, and which turns were begun and ended. Everything else is lost in a
//! kill.

use proptest::prelude::*;

use super::tests::{START, contract, create, recorded};
use super::*;

const MINUTE: i64 = 60_000_000;

/// What outlives a kill.
#[derive(Default)]
struct Disk {
    events: Vec<(i64, Event)>,
    ids: BTreeSet<EventId>,
    /// Turns: whether each has ended.
    turns: BTreeMap<TurnId, bool>,
}

impl Disk {
    fn folded(&self) -> Schedules {
        let mut schedules = Schedules::default();
        for (seq, (time, event)) in (1..).zip(&self.events) {
            schedules.evolve(&recorded(seq, *time, event.clone()));
        }
        schedules
    }

    /// Appends what is decided, all of it or nothing; the log takes no id twice.
    fn carry_out(&mut self, command: Command, now: i64) -> bool {
        let Ok((_, events)) = decide(&self.folded(), command, Micros(now)) else { return false };
        for id in events.iter().filter_map(id_of) {
            assert!(self.ids.insert(id), "an id was given twice: {events:?}");
        }
        self.events.extend(events.into_iter().map(|event| (now, event)));
        true
    }

    /// Every slot that was claimed as one of the schedule's own.
    fn claimed(&self) -> impl Iterator<Item = i64> {
        self.events.iter().filter_map(|(_, event)| match Some(event) {
            Some(Event::SlotClaimed(claimed)) if claimed.by != "person" => Some(claimed.slot),
            _ => None,
        })
    }

    /// One tick that is killed after `steps` writes.
    fn tick(&mut self, now: i64, mut steps: u32) {
        let mut may = || {
            steps = steps.saturating_sub(1);
            steps > 0
        };
        let ahead: Vec<String> = self.folded().aimed_after(now).map(|(id, _)| id.to_owned()).collect();
        for id in ahead {
            if !may() {
                return;
            }
            let taken = self.claimed().filter(|slot| *slot > now - 2 * ON_TIME_US).collect();
            self.carry_out(Command::Reaim { schedule: id, taken }, now);
        }
        let due: Vec<String> = self.folded().due_at(now).map(str::to_owned).collect();
        for id in due {
            if !may() {
                return;
            }
            self.carry_out(Command::Claim(id), now);
        }
        let open: Vec<(String, Fire)> = self.folded().fires().map(|(id, fire)| (id.to_owned(), fire.clone())).collect();
        for (schedule, up) in open.into_iter().filter(|(_, fire)| fire.not_before <= now) {
            let failed = up.slot / MINUTE % 7 == 0;
            match self.turns.get(&up.turn()) {
                None => {
                    if !may() {
                        return;
                    }
                    assert_eq!(self.turns.insert(up.turn(), false), None, "a turn began twice");
                    if !may() {
                        return;
                    }
                    self.turns.insert(up.turn(), true);
                }
                // A turn that was cut off ends as recovery ends it; it does not begin again.
                Some(false) => {
                    self.turns.insert(up.turn(), true);
                }
                Some(true) => {}
            }
            if !may() {
                return;
            }
            let message = "x".to_owned();
            let class = "timeout".to_owned();
            let outcome = if failed {
                Outcome::Failed { class, message, is_repeatable: true }
            } else {
                Outcome::Done { message }
            };
            let settle = Command::Settle { schedule, fire: up.fire, attempt: up.attempt, outcome };
            assert!(self.carry_out(settle, now));
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Tick { minutes: i64, steps: u32 },
    Pause,
    Resume,
    RunNow,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (prop_oneof![8 => 0..90_i64, 1 => 1000..5000_i64, 1 => -600_000..0_i64], 0..12_u32)
            .prop_map(|(minutes, steps)| Step::Tick { minutes, steps }),
        1 => Just(Step::Pause),
        1 => Just(Step::Resume),
        1 => Just(Step::RunNow),
    ]
}

/// Every slot that an active schedule had until now was claimed or is said to be missed, once.
fn accounted_for(disk: &Disk, cadence: &str) {
    let mut seen: BTreeMap<i64, u32> = BTreeMap::new();
    let zone = Zone::named("UTC").unwrap();
    let cadence = Cadence::read(cadence, &zone).unwrap();
    // What is next is never further away than the first slot that was not claimed.
    let unclaimed = |seen: &BTreeMap<i64, u32>, after: i64| {
        let mut first = cadence.next(after, START, &zone);
        while let Some(slot) = first.filter(|slot| seen.contains_key(slot)) {
            first = cadence.next(slot, START, &zone);
        }
        first
    };
    let mut next = None;
    for (time, event) in &disk.events {
        match Some(event) {
            Some(Event::ScheduleCreated(created)) => next = created.contract.next,
            Some(Event::ScheduleResumed(resumed)) => next = resumed.next,
            Some(Event::SlotsReaimed(reaimed)) => {
                assert!(reaimed.next > *time - ON_TIME_US, "a slot of the past came back");
                assert!(!seen.contains_key(&reaimed.next), "a slot that was claimed came back");
                next = Some(reaimed.next);
            }
            Some(Event::SlotClaimed(claimed)) if claimed.by != "person" => {
                *seen.entry(claimed.slot).or_default() += 1;
                assert_eq!(Some(claimed.slot), next, "a slot was left out");
                assert!(claimed.slot <= *time);
                assert_eq!(cadence.next(claimed.slot - 1, START, &zone), Some(claimed.slot));
                assert_eq!(claimed.next, unclaimed(&seen, *time));
                next = claimed.next;
            }
            Some(Event::SlotMissed(missed)) => {
                assert_eq!(Some(missed.slot), next, "slots were left out");
                if missed.verdict != "late" {
                    assert_eq!(
                        unclaimed(&seen, missed.last),
                        missed.next,
                        "slots were left out after those that were missed"
                    );
                    let counted = cadence.passed((missed.slot - 1, missed.last), START, &zone, 1000).0;
                    assert_eq!(counted, missed.count);
                }
                next = missed.next;
            }
            _ => {}
        }
    }
    assert!(seen.values().all(|count| *count == 1), "a slot fired twice");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_kill_and_no_clock_makes_a_slot_fire_twice_or_vanish(
        cadence in prop_oneof![Just("*/10 * * * *"), Just("every_45_minutes"), Just("0 * * * *")],
        grace_s in prop_oneof![Just(0_u32), Just(1800)],
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let mut disk = Disk::default();
        let contract = Contract { grace_s, failures_max: 1000, ..contract(cadence) };
        disk.carry_out(create(contract), START);
        let (mut now, id) = (START, || "1".to_owned());
        for step in steps {
            match step {
                Step::Tick { minutes, steps } => {
                    now = (now + minutes * MINUTE + 7).max(0);
                    disk.tick(now, steps);
                }
                Step::Pause => { disk.carry_out(Command::Pause(id()), now); }
                Step::Resume => { disk.carry_out(Command::Resume(id()), now); }
                Step::RunNow => { disk.carry_out(Command::RunNow(id()), now); }
            }
        }
        accounted_for(&disk, cadence);
        // Any prefix of it folds, and a checkpoint in the middle changes nothing.
        let whole = disk.folded();
        let middle = disk.events.len() / 2;
        let mut restored = Schedules::default();
        for (seq, (time, event)) in (1..).zip(&disk.events) {
            if seq == middle as u64 {
                restored = Schedules::restore(&restored.snapshot()).unwrap();
            }
            restored.evolve(&recorded(seq, *time, event.clone()));
        }
        prop_assert_eq!(restored.digest(), whole.digest());
    }
}

//! What the program does by itself, mostly at night: a table of jobs, each a schedule of its own with history and pause.
//!
//! A job is run again the next night whatever became of it, so it must do no harm twice.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use metnos_log::Micros;
use metnos_log::event::schedule::Contract;
use metnos_projections::machines::actors::SYSTEM;
use metnos_projections::machines::mnestome;
use metnos_projections::machines::schedules::{Command, JOB, Rejection, State};
use metnos_projections::messages::Language;
use metnos_projections::rules::cadence::{self, Cadence, CadenceError, Zone};

use super::change;
use crate::ageing;
use crate::anchoring;
use crate::expiry;
use crate::instance::{Instance, InstanceError, now};
use crate::projector::Projected;
use crate::snapshots;

/// Something that the program does by itself.
pub struct Job {
    /// Names it, and its schedule.
    pub name: &'static str,
    /// When, in the owner's local time, as a cadence is written.
    pub cadence: &'static str,
    /// Does it; the error is said to the owner.
    pub run: fn(&Instance, Micros) -> Result<(), String>,
}

/// All of them.
pub fn jobs() -> &'static [Job] {
    const JOBS: &[Job] = &[
        Job { name: "monthly-state", cadence: "daily@00:01", run: monthly_state },
        Job { name: "checkpoints", cadence: "daily@03:00", run: checkpoints },
        Job { name: "expiry", cadence: "daily@03:30", run: expire },
        Job { name: "ager-mnests", cadence: "daily@04:00", run: age_mnests },
        Job { name: "ager-executors", cadence: "daily@04:05", run: age_executors },
        Job { name: "checkpoint-anchor", cadence: "daily@07:05", run: anchor },
    ];
    JOBS
}

/// The job of that name.
pub fn find(name: &str) -> Option<&'static Job> {
    jobs().iter().find(|job| job.name == name)
}

/// Writes the projections' checkpoints, so that the next start folds one day at the most.
fn checkpoints(instance: &Instance, _now: Micros) -> Result<(), String> {
    instance.catch_up().map_err(|error| error.to_string())?;
    instance.alone(|| instance.save_projections(0)).map_err(|error| error.to_string())
}

/// Takes out what the record keeps for a while only.
fn expire(instance: &Instance, now: Micros) -> Result<(), String> {
    // By the settings as they are tonight, not as they were when the daemon began.
    let instance = &instance.as_set_now().map_err(|error| error.to_string())?;
    expiry::expire(instance, now).map(|_| ()).map_err(|error| error.to_string())
}

/// Tells the owner's chat what the log is by now.
fn anchor(instance: &Instance, _now: Micros) -> Result<(), String> {
    let instance = &instance.as_set_now().map_err(|error| error.to_string())?;
    anchoring::tell(instance).map(|_| ()).map_err(|error| error.to_string())
}

/// Takes the state of each month that has ended and has none: the first night of a month does, and the first after a while
/// without a daemon.
fn monthly_state(instance: &Instance, now: Micros) -> Result<(), String> {
    snapshots::take_months(instance, now).map(|_| ()).map_err(|error| error.to_string())
}

/// Looks at what fades, once a day.
fn age_mnests(instance: &Instance, now: Micros) -> Result<(), String> {
    let zone = TimeZone::get(&instance.settings.zone).map_err(|error| error.to_string())?;
    let moment = Timestamp::from_microsecond(now.0).map_err(|error| error.to_string())?;
    let day = moment.to_zoned(zone).strftime("%Y-%m-%d").to_string();
    let age = |then: &Projected| mnestome::age(&then.mnestome, &day, now).map(|events| ("mnestome".to_owned(), events));
    match instance.decide(age).map_err(|error| error.to_string())? {
        // Run by hand as well, the night has nothing left to do.
        Ok(()) | Err(mnestome::Rejection::AlreadyAged(_)) => Ok(()),
        Err(refused) => Err(refused.to_string()),
    }
}

/// Looks at which synthesised executors nobody uses.
fn age_executors(instance: &Instance, now: Micros) -> Result<(), String> {
    ageing::pass(instance, now).map(|_| ()).map_err(|error| error.to_string())
}

/// Makes a schedule of each job that has none, and brings each to what this release and the configured zone say. What was
/// paused stays so; a job that an earlier release let a person end is there again.
pub fn install_missing(instance: &Instance) -> Result<(), InstanceError> {
    let instance = &instance.as_actor(SYSTEM);
    for job in jobs() {
        let contract = match contract(instance, job) {
            Ok(contract) => contract,
            Err(error) => {
                tracing::error!(job = job.name, %error, "a job cannot be scheduled");
                continue;
            }
        };
        for command in missing(instance, job, contract) {
            match change(instance, &command)? {
                Ok(_) | Err(Rejection::Taken(_)) => {}
                Err(error) => tracing::error!(job = job.name, %error, "a job cannot be scheduled"),
            }
        }
    }
    Ok(())
}

/// What a job's schedule lacks.
fn missing(instance: &Instance, job: &Job, contract: Contract) -> Vec<Command> {
    let (actor, name, contract) = (SYSTEM.to_owned(), job.name.to_owned(), Box::new(contract));
    let schedules = instance.schedules();
    let Some(schedule) = schedules.get(job.name) else {
        return vec![Command::Create { actor, job: Some(name.clone()), what: name, contract, turn: None }];
    };
    let mut commands = Vec::new();
    if schedule.state == State::Cancelled {
        commands.push(Command::Reopen { schedule: name.clone(), is_paused: false });
    }
    let is = &schedule.contract;
    if (&is.zone, &is.cadence, &is.words) != (&contract.zone, &contract.cadence, &contract.words) {
        commands.push(Command::Modify { schedule: name.clone(), what: name, contract });
    }
    commands
}

fn contract(instance: &Instance, job: &Job) -> Result<Contract, CadenceError> {
    let zone = Zone::named(&instance.settings.zone)?;
    let cadence = Cadence::read(job.cadence, &zone)?;
    Ok(Contract {
        kind: JOB.to_owned(),
        cadence: cadence.to_string(),
        anchor: now().0,
        words: words(instance, &cadence, &zone),
        zone: zone.name().to_owned(),
        zone_version: cadence::database_version().to_owned(),
        on_failure: "notify".to_owned(),
        // A night that failed is no reason to leave the next one out.
        failures_max: u32::MAX,
        timeout_s: 3600,
        // A machine that sleeps at night does in the morning what it missed.
        grace_s: 24 * 3600,
        channel: "console".to_owned(),
        language: instance.language().code().to_owned(),
        folder: instance.dirs.user_home.to_string_lossy().into_owned(),
        ..Contract::default()
    })
}

/// A cadence in the words of every language.
pub(super) fn words(instance: &Instance, cadence: &Cadence, zone: &Zone) -> BTreeMap<String, String> {
    let said = |language: Language| cadence::said(&instance.rules.messages, language, cadence, zone);
    Language::ALL.into_iter().map(|language| (language.code().to_owned(), said(language))).collect()
}

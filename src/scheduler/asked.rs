//! What a person asks for becomes a contract, once: what cannot be understood is refused now, not at eight in the morning.

use metnos_log::event::schedule::Contract;
use metnos_projections::machines::schedules::{Command, Rejection, Schedule};
use metnos_projections::messages::Language;
use metnos_projections::rules::cadence::{self, Cadence, CadenceError, Zone};
use metnos_projections::rules::simple::{self, Facts, again};
use serde_json::{Value, json};

use super::delivery::CONSOLE;
use super::{change, is_theirs, jobs, told};
use crate::instance::{Instance, InstanceError, now};

/// How long one fire may take, in seconds, where nothing else is said.
const TIMEOUT_S: u32 = 900;
/// How late a single moment may still be run: a reminder is worth something a day later too.
const ONCE_GRACE_S: u32 = 24 * 3600;
/// After so many failures in a row it is paused.
const FAILURES_MAX: u32 = 3;
/// Channels that results can go to besides the console.
const CHANNELS: &[&str] = &["telegram"];

/// What is asked for; what is not said has a usual value.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// When: one of the written forms, or words.
    pub when: String,
    /// What is to happen, as a request.
    pub query: String,
    /// Named steps, instead of a request: `{"steps": [{"tool", "args"}]}`.
    pub steps: Option<Value>,
    /// The time zone.
    pub zone: Option<String>,
    /// How many times.
    pub times: Option<u32>,
    /// No firing after this: a moment like 2026-12-31T00:00.
    pub until: Option<String>,
    /// `skip`, `retry`, `notify`, `cancel`.
    pub on_failure: Option<String>,
    /// How late a slot may still be run, in minutes.
    pub grace_minutes: Option<u32>,
    /// Where results go, and where on it.
    pub channel: Option<String>,
    /// Where on that channel.
    pub address: Option<String>,
    /// Where relative paths start.
    pub folder: String,
    /// The turn that asks.
    pub turn: Option<String>,
}

/// Why it is not done: an error class, and a sentence for the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// `invalid_args`, `not_found`, `not_applicable`.
    pub class: &'static str,
    /// The sentence.
    pub said: String,
}

/// Why nothing could be decided: the one who asked is told, or the instance failed.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It is refused.
    #[error("{}", .0.said)]
    Refused(Refused),
    /// The instance failed.
    #[error(transparent)]
    Instance(#[from] InstanceError),
}

/// The texts of refusals, in one language.
#[derive(Clone, Copy)]
pub struct Says<'a> {
    instance: &'a Instance,
    language: Language,
}

impl<'a> Says<'a> {
    /// For this instance and language.
    pub fn new(instance: &'a Instance, language: Language) -> Self {
        Self { instance, language }
    }

    fn refused(self, class: &'static str, key: &str, values: Value) -> AskError {
        AskError::Refused(Refused { class, said: self.instance.rules.messages.say(self.language, key, values) })
    }

    fn cadence(self, error: &CadenceError) -> AskError {
        let (key, values) = error.told();
        self.refused("invalid_args", key, values)
    }

    fn rejected(self, rejection: Rejection) -> AskError {
        match rejection {
            Rejection::NoSuch(id) => self.refused("not_found", "schedule.no_such", json!({ "name": id })),
            Rejection::Over(id, state) => {
                self.refused("not_applicable", "schedule.over", json!({ "schedule": id, "state": state }))
            }
            Rejection::Already(id, state) => {
                self.refused("not_applicable", "schedule.already", json!({ "schedule": id, "state": state }))
            }
            Rejection::Full(_) => self.refused("not_applicable", "schedule.full", json!({})),
            Rejection::Running(id) => self.refused("not_applicable", "schedule.running", json!({ "schedule": id })),
            Rejection::Past(_) => self.refused("invalid_args", "schedule.past", json!({})),
            Rejection::Cadence(error) => self.cadence(&error),
            Rejection::Taken(id) | Rejection::NotDue(id) | Rejection::NoSuchFire(id) => {
                self.refused("not_applicable", "schedule.no_such", json!({ "name": id }))
            }
        }
    }
}

/// Makes a schedule; its id. When this returns, it is on disk.
pub fn create(instance: &Instance, language: Language, asked: &Asked) -> Result<String, AskError> {
    let says = Says::new(instance, language);
    let (what, contract) = contract(says, asked, None)?;
    let actor = instance.actor.clone();
    let create = Command::Create { actor, job: None, what, contract: Box::new(contract), turn: asked.turn.clone() };
    change(instance, &create)?.map_err(|rejection| says.rejected(rejection))
}

/// Says why it could not be made, before anyone is asked for consent.
pub fn check(instance: &Instance, language: Language, asked: &Asked) -> Result<(), AskError> {
    contract(Says::new(instance, language), asked, None).map(|_| ())
}

/// Changes what a schedule does, or when; what is not said stays as it is.
pub fn modify(instance: &Instance, language: Language, id: &str, asked: &Asked) -> Result<String, AskError> {
    let says = Says::new(instance, language);
    let schedule = known(instance, language, id)?;
    let (what, contract) = contract(says, asked, Some(&schedule))?;
    let modify = Command::Modify { schedule: id.to_owned(), what, contract: Box::new(contract) };
    change(instance, &modify)?.map_err(|rejection| says.rejected(rejection))
}

/// Any other command about a schedule that is theirs.
pub fn command(instance: &Instance, language: Language, id: &str, command: &Command) -> Result<(), AskError> {
    known(instance, language, id)?;
    let says = Says::new(instance, language);
    change(instance, command)?.map(|_| ()).map_err(|rejection| says.rejected(rejection))
}

/// The same for a refusal that another call gave.
pub fn refusal(instance: &Instance, language: Language, rejection: Rejection) -> AskError {
    Says::new(instance, language).rejected(rejection)
}

/// A schedule of theirs by id.
pub fn known(instance: &Instance, language: Language, id: &str) -> Result<Schedule, AskError> {
    let schedules = instance.schedules();
    let schedule = schedules.get(id).filter(|schedule| is_theirs(instance, schedule)).cloned();
    schedule
        .ok_or_else(|| Says::new(instance, language).refused("not_found", "schedule.no_such", json!({ "name": id })))
}

/// The one schedule of theirs, alive or `any`, that a person's words mean: its id, or words of what it does.
pub fn meant(instance: &Instance, language: Language, name: &str, any: bool) -> Result<String, AskError> {
    let says = Says::new(instance, language);
    let schedules = instance.schedules();
    let wanted = name.trim().trim_start_matches('#');
    let theirs = schedules.schedules.iter().filter(|(_, schedule)| is_theirs(instance, schedule));
    let theirs: Vec<_> = theirs.collect();
    if let Some((id, _)) = theirs.iter().find(|(id, _)| id.as_str() == wanted) {
        return Ok((*id).clone());
    }
    let theirs: Vec<_> = theirs.into_iter().filter(|(_, schedule)| any || schedule.state.is_alive()).collect();
    let words = words_of(wanted);
    let mut best: Vec<(usize, String, String)> = Vec::new();
    for (id, schedule) in theirs.iter().filter(|(_, schedule)| schedule.contract.kind != "job") {
        let what = told::what(instance, schedule)?;
        let said = words_of(&what);
        let hits = words.iter().filter(|word| said.iter().any(|other| other.contains(*word))).count();
        if hits > 0 {
            best.push((hits, (*id).clone(), what));
        }
    }
    let most = best.iter().map(|(hits, ..)| *hits).max().unwrap_or(0);
    best.retain(|(hits, ..)| *hits == most);
    match best.as_slice() {
        [(_, id, _)] => Ok(id.clone()),
        [] if theirs.len() == 1 && words.is_empty() => Ok(theirs[0].0.clone()),
        [] => Err(says.refused("not_found", "schedule.no_such", json!({ "name": name }))),
        several => {
            let options: Vec<Value> = several.iter().map(|(_, id, what)| json!({ "id": id, "what": what })).collect();
            Err(says.refused("not_found", "schedule.which", json!({ "name": name, "options": options })))
        }
    }
}

/// Words that could tell one task from another.
fn words_of(text: &str) -> Vec<String> {
    const SAYING_NOTHING: &[&str] = &[
        "the",
        "a",
        "an",
        "my",
        "to",
        "of",
        "in",
        "me",
        "task",
        "tasks",
        "reminder",
        "schedule",
        "job",
        "il",
        "lo",
        "la",
        "i",
        "gli",
        "le",
        "un",
        "una",
        "di",
        "del",
        "della",
        "mio",
        "mia",
        "attività",
        "promemoria",
        "pianificazione",
    ];
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    words.filter(|word| !SAYING_NOTHING.contains(&word.as_str())).collect()
}

/// The contract of what is asked, over what stands already.
fn contract(says: Says<'_>, asked: &Asked, old: Option<&Schedule>) -> Result<(String, Contract), AskError> {
    let (instance, language) = (says.instance, says.language);
    let before = old.map(|old| &old.contract);
    let zone = asked.zone.as_deref().or(before.map(|c| c.zone.as_str())).unwrap_or(&instance.settings.zone);
    let home = instance.dirs.user_home.to_string_lossy().into_owned();
    let facts =
        Facts { now_us: now().0, zone, home: &home, cwd: &home, language: None, fallback: language, existing: &[] };
    let (cadence, zone) = when(says, asked, before, &facts)?;
    let (kind, what) = match old {
        Some(old) if asked.query.is_empty() && asked.steps.is_none() => {
            (old.contract.kind.clone(), told::what(instance, old)?)
        }
        _ => what(says, asked, &facts)?,
    };
    let channel = channel(says, asked, before)?;
    let on_failure = asked.on_failure.clone().or_else(|| before.map(|c| c.on_failure.clone()));
    let on_failure = on_failure.unwrap_or_else(|| "notify".to_owned());
    if !matches!(on_failure.as_str(), "skip" | "retry" | "notify" | "cancel") {
        return Err(says.refused("invalid_args", "schedule.bad_policy", json!({ "policy": on_failure })));
    }
    let until = match &asked.until {
        None => before.and_then(|c| c.until),
        Some(text) => match Cadence::read(&format!("at:{text}"), &zone).map_err(|error| says.cadence(&error))? {
            Cadence::At(micros) => Some(micros),
            Cadence::Cron(_) | Cadence::Every(_) | Cadence::Manual => None,
        },
    };
    if asked.times == Some(0) {
        return Err(says.refused("invalid_args", "schedule.no_times", json!({})));
    }
    let usual_grace = before.map_or(if cadence.recurs() { 0 } else { ONCE_GRACE_S }, |c| c.grace_s);
    let same = before.is_some_and(|c| c.cadence == cadence.to_string());
    let (address, folder) = (channel.1, asked.folder.clone());
    let contract = Contract {
        kind,
        cadence: cadence.to_string(),
        anchor: before.filter(|_| same).map_or(now().0, |c| c.anchor),
        words: jobs::words(instance, &cadence, &zone),
        zone: zone.name().to_owned(),
        zone_version: cadence::database_version().to_owned(),
        next: None,
        count: asked.times.or_else(|| before.and_then(|c| c.count)),
        until,
        on_failure,
        failures_max: before.map_or(FAILURES_MAX, |c| c.failures_max),
        grace_s: asked.grace_minutes.map_or(usual_grace, |minutes| minutes.saturating_mul(60)),
        timeout_s: before.map_or(TIMEOUT_S, |c| c.timeout_s),
        channel: channel.0,
        address,
        language: before.map_or_else(|| language.code().to_owned(), |c| c.language.clone()),
        folder: before.map_or(folder, |c| c.folder.clone()),
    };
    Ok((what, contract))
}

fn when(
    says: Says<'_>,
    asked: &Asked,
    before: Option<&Contract>,
    facts: &Facts<'_>,
) -> Result<(Cadence, Zone), AskError> {
    let text = if asked.when.is_empty() { before.map_or("", |c| c.cadence.as_str()) } else { asked.when.as_str() };
    let lexicons = &says.instance.rules.lexicons;
    let (cadence, zone) = again::read_cadence(lexicons, facts, text).map_err(|error| says.cadence(&error))?;
    if let Cadence::At(micros) = cadence
        && micros <= facts.now_us
    {
        let moment = cadence::moment(&says.instance.rules.messages, says.language, micros, &zone);
        return Err(says.refused("invalid_args", "cadence.not_future", json!({ "moment": moment })));
    }
    Ok((cadence, zone))
}

/// What is to happen: words to be said, or a request that the planner understands now.
fn what(says: Says<'_>, asked: &Asked, facts: &Facts<'_>) -> Result<(String, String), AskError> {
    let instance = says.instance;
    let rules = &instance.rules;
    if let Some(steps) = &asked.steps {
        for tool in steps["steps"].as_array().into_iter().flatten().filter_map(|step| step["tool"].as_str()) {
            if !instance.catalog().executors.contains_key(tool) {
                return Err(says.refused("not_found", "schedule.no_executor", json!({ "name": tool })));
            }
        }
        return Ok(("steps".to_owned(), metnos_log::canonical::to_string(steps)));
    }
    let query = asked.query.trim();
    if let Some(words) = again::reminder(&rules.lexicons, facts, query) {
        return Ok(("reminder".to_owned(), words));
    }
    let plan = simple::propose(&rules.lexicons, &instance.tools(), &rules.messages, facts, query).plan;
    if let Some(abstention) = plan.abstention {
        return Err(AskError::Refused(Refused { class: "invalid_args", said: abstention.message }));
    }
    if plan.steps.iter().any(|step| step.tool.ends_with("_recurring")) {
        return Err(says.refused("invalid_args", "schedule.nested", json!({})));
    }
    Ok(("sentence".to_owned(), query.to_owned()))
}

fn channel(says: Says<'_>, asked: &Asked, before: Option<&Contract>) -> Result<(String, Option<String>), AskError> {
    let Some(channel) = asked.channel.clone() else {
        return Ok(before.map_or((CONSOLE.to_owned(), None), |c| (c.channel.clone(), c.address.clone())));
    };
    if channel == CONSOLE {
        return Ok((channel, None));
    }
    if !CHANNELS.contains(&channel.as_str()) {
        return Err(says.refused("invalid_args", "schedule.no_channel", json!({ "channel": channel })));
    }
    let actors = says.instance.actors();
    let own = actors
        .get(&says.instance.actor)
        .and_then(|actor| actor.addresses.iter().find(|(on, _)| *on == channel).map(|(_, address)| address.clone()));
    match asked.address.clone().or(own) {
        Some(address) => Ok((channel, Some(address))),
        None => Err(says.refused("invalid_args", "schedule.no_address", json!({ "channel": channel }))),
    }
}

//! What a person asks for becomes a contract, once: what cannot be understood is refused now, not at eight in the morning.

use metnos_log::event::schedule::Contract;
use metnos_projections::machines::schedules::{Command, JOB, Rejection, SCHEDULES_MAX, Schedule, usual};
use metnos_projections::messages::Language;
use metnos_projections::rules::cadence::{self, Cadence, CadenceError, Zone};
use metnos_projections::rules::cage_plan::Autonomy;
use metnos_projections::rules::policy::{self, Class, Decision, Use};
use metnos_projections::rules::shape;
use metnos_projections::rules::simple::{self, Facts, again};
use serde_json::{Value, json};

use super::delivery::CONSOLE;
use super::{change, is_theirs, jobs, told};
use crate::gateway::Loaded;
use crate::instance::{Instance, InstanceError, now};

/// How long one fire may take, in seconds, where nothing else is said.
const TIMEOUT_S: u32 = 900;
/// After so many failures in a row it is paused.
const FAILURES_MAX: u32 = 3;
/// Channels that results can go to besides the console.
pub(crate) const CHANNELS: &[&str] = &["telegram"];

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

    pub(super) fn refused(self, class: &'static str, key: &str, values: Value) -> AskError {
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
            Rejection::Full(_) => self.refused("not_applicable", "schedule.full", json!({ "most": SCHEDULES_MAX })),
            Rejection::Job(id) => self.refused("not_applicable", "schedule.is_job", json!({ "schedule": id })),
            Rejection::Running(id) => self.refused("not_applicable", "schedule.running", json!({ "schedule": id })),
            Rejection::Past(_) => self.refused("invalid_args", "schedule.past", json!({})),
            Rejection::Cadence(error) => self.cadence(&error),
            Rejection::Taken(id) | Rejection::NotDue(id) | Rejection::NoSuchFire(id) => {
                self.refused("not_applicable", "schedule.no_such", json!({ "name": id }))
            }
        }
    }
}

/// Says why it could not be made, before anyone is asked for consent.
pub fn check(instance: &Instance, language: Language, asked: &Asked) -> Result<(), AskError> {
    contract(instance, language, asked, None).map(|_| ())
}

/// A schedule of theirs that may be changed: not one of the program's own.
pub fn changeable(instance: &Instance, language: Language, id: &str) -> Result<Schedule, AskError> {
    let schedule = known(instance, language, id)?;
    if schedule.contract.kind == JOB {
        return Err(refusal(instance, language, Rejection::Job(id.to_owned())));
    }
    Ok(schedule)
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

/// The contract of what is asked, over what stands already.
pub(super) fn contract(
    instance: &Instance,
    language: Language,
    asked: &Asked,
    old: Option<&Schedule>,
) -> Result<(String, Contract), AskError> {
    let says = Says::new(instance, language);
    let before = old.map(|old| &old.contract);
    let zone = asked.zone.as_deref().or(before.map(|c| c.zone.as_str())).unwrap_or(&instance.settings.zone);
    let home = instance.dirs.user_home.to_string_lossy().into_owned();
    let facts =
        Facts { now_us: now().0, zone, home: &home, cwd: &home, language: None, fallback: language, existing: &[] };
    let (cadence, zone) = when(says, asked, before, &facts)?;
    let Understood { kind, what, asks } = match old {
        Some(old) if asked.query.is_empty() && asked.steps.is_none() => {
            let (kind, what) = (old.contract.kind.clone(), told::what(instance, old)?);
            Understood { kind, what, asks: old.contract.asks_s.is_some() }
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
    let grace_s = asked.grace_minutes.map(|minutes| minutes.saturating_mul(60));
    let same = before.is_some_and(|c| c.cadence == cadence.to_string());
    let (address, folder) = (channel.1, asked.folder.clone());
    let moment = (now().0, now().0);
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
        grace_s: grace_s.or(chosen_grace(before)).unwrap_or_else(|| usual::grace_s(&cadence, moment, &zone, asks)),
        timeout_s: before.map_or(TIMEOUT_S, |c| c.timeout_s),
        channel: channel.0,
        address,
        language: before.map_or_else(|| language.code().to_owned(), |c| c.language.clone()),
        folder: before.map_or(folder, |c| c.folder.clone()),
        asks_s: asks.then(|| usual::patience_s(&cadence, moment, &zone)),
    };
    Ok((what, contract))
}

/// The grace that somebody chose; none where it is what was usual for the cadence.
fn chosen_grace(before: Option<&Contract>) -> Option<u32> {
    let contract = before?;
    let zone = Zone::named(&contract.zone).ok()?;
    let cadence = Cadence::read(&contract.cadence, &zone).ok()?;
    let moment = (contract.anchor, contract.anchor);
    let usual = usual::grace_s(&cadence, moment, &zone, contract.asks_s.is_some());
    Some(contract.grace_s).filter(|grace_s| *grace_s != usual)
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

/// What is to happen, as it is understood now.
struct Understood {
    kind: String,
    what: String,
    /// Whether it changes something that is asked about first.
    asks: bool,
}

/// What is to happen: words to be said, or a request that the planner understands now.
fn what(says: Says<'_>, asked: &Asked, facts: &Facts<'_>) -> Result<Understood, AskError> {
    let instance = says.instance;
    let rules = &instance.rules;
    if let Some(steps) = &asked.steps {
        return named_steps(says, steps);
    }
    let query = asked.query.trim();
    if let Some(words) = again::reminder(&rules.lexicons, facts, query) {
        return Ok(Understood { kind: "reminder".to_owned(), what: words, asks: false });
    }
    let plan = simple::propose(&rules.lexicons, &instance.tools(), &rules.messages, facts, query).plan;
    let sentence = |asks: bool| Understood { kind: "sentence".to_owned(), what: query.to_owned(), asks };
    // What only a model understands is planned by it at its hour.
    let by_a_model = instance.settings.llm.proposer(&instance.settings.engine).is_some();
    if by_a_model && plan.abstention.is_some() && query.chars().any(char::is_alphanumeric) {
        return Ok(sentence(false));
    }
    if let Some(abstention) = plan.abstention {
        return Err(AskError::Refused(Refused { class: "invalid_args", said: abstention.message }));
    }
    if plan.steps.iter().any(|step| step.tool.ends_with("_recurring")) {
        return Err(says.refused("invalid_args", "schedule.nested", json!({})));
    }
    Ok(sentence(plan.steps.iter().any(|step| asks(instance, &step.tool))))
}

/// Steps that are named themselves, held to what each executor takes.
fn named_steps(says: Says<'_>, steps: &Value) -> Result<Understood, AskError> {
    let instance = says.instance;
    let mut any_asks = false;
    for step in steps["steps"].as_array().into_iter().flatten() {
        let tool = step["tool"].as_str().unwrap_or_default();
        let loaded = Loaded::from_catalog(&instance.catalog(), &instance.log.reader(), tool);
        let loaded = loaded.map_err(|_| says.refused("not_found", "schedule.no_executor", json!({ "name": tool })))?;
        if tool.ends_with("_recurring") {
            return Err(says.refused("invalid_args", "schedule.nested", json!({})));
        }
        if let Some(fault) = loaded.input_fault(&step["args"]) {
            let values = json!({ "name": tool, "fault": fault.trim_end_matches('.') });
            return Err(says.refused("invalid_args", "schedule.bad_args", values));
        }
        any_asks |= asks(instance, tool);
    }
    let what = metnos_log::canonical::to_string(steps);
    Ok(Understood { kind: "steps".to_owned(), what, asks: any_asks })
}

/// Whether a call of an executor asks a person first, whatever it is about: for it changes something.
fn asks(instance: &Instance, tool: &str) -> bool {
    let catalog = instance.catalog();
    let Some(manifest) = catalog.active(tool).and_then(|(_, _, version)| version.manifest()) else { return true };
    let autonomy = serde_json::from_value(Value::String(instance.autonomy())).unwrap_or(Autonomy::ReadOnly);
    let acts = shape::category(tool) == Some(shape::Category::Act);
    let by_name = manifest
        .capabilities
        .iter()
        .map(|capability| capability.name.as_str())
        .filter(|name| policy::registered(name).is_none_or(|known| known.critical || known.class == Class::Always));
    let unrepeatable_act = manifest.contract.side_effects && !manifest.contract.idempotent;
    let mut uses = by_name.chain(acts.then_some("fs:write"));
    uses.any(|capability| {
        let own = instance.is_guest() && capability == "metnos:write";
        policy::decide(autonomy, Use { capability, granted: true, unrepeatable_act, own, ..Use::default() })
            != Decision::Allow
    })
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

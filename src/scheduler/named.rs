//! Which task a person's words mean: its number, or words of what it does.

use metnos_projections::machines::schedules::{JOB, Schedule};
use metnos_projections::messages::Language;
use metnos_projections::rules::cadence;
use serde_json::json;

use super::asked::{AskError, Says};
use super::{is_theirs, told};
use crate::instance::Instance;

/// A task that words fit: its number, what it does, when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitting {
    /// Its number.
    pub id: String,
    /// What it does and when, in a line.
    pub label: String,
}

/// What words mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// This one.
    One(String),
    /// One of these.
    Several(Vec<Fitting>),
}

/// The tasks of theirs, alive or `any`, that a person's words mean.
pub fn meant(instance: &Instance, language: Language, name: &str, any: bool) -> Result<Meant, AskError> {
    let schedules = instance.schedules();
    let wanted = name.trim().trim_start_matches('#');
    let theirs = schedules.schedules.iter().filter(|(_, schedule)| is_theirs(instance, schedule));
    let theirs: Vec<_> = theirs.collect();
    if let Some((id, _)) = theirs.iter().find(|(id, _)| id.as_str() == wanted) {
        return Ok(Meant::One((*id).clone()));
    }
    let is_meant = |schedule: &Schedule| schedule.contract.kind != JOB && (any || schedule.state.is_alive());
    let theirs: Vec<_> = theirs.into_iter().filter(|(_, schedule)| is_meant(schedule)).collect();
    let words = words_of(instance, wanted);
    let mut best: Vec<(usize, Fitting)> = Vec::new();
    for (id, schedule) in &theirs {
        let what = told::said(instance, schedule)?;
        let said = words_of(instance, &what);
        let hits = words.iter().filter(|word| said.iter().any(|other| other.contains(*word))).count();
        if hits > 0 || words.is_empty() {
            let contract = &schedule.contract;
            let when = contract.words.get(language.code()).unwrap_or(&contract.cadence);
            best.push((hits, Fitting { id: (*id).clone(), label: format!("{what} ({when})") }));
        }
    }
    let most = best.iter().map(|(hits, _)| *hits).max().unwrap_or(0);
    let mut best: Vec<Fitting> =
        best.into_iter().filter(|(hits, _)| *hits == most).map(|(_, fitting)| fitting).collect();
    best.sort_by_key(|fitting| fitting.id.parse::<u64>().ok());
    match best.as_slice() {
        [only] => Ok(Meant::One(only.id.clone())),
        [] => Err(Says::new(instance, language).refused("not_found", "schedule.no_such", json!({ "name": name }))),
        _ => Ok(Meant::Several(best)),
    }
}

/// The one task that words mean; which ones there are, where they fit several.
pub fn the_one(instance: &Instance, language: Language, name: &str, any: bool) -> Result<String, AskError> {
    match meant(instance, language, name, any)? {
        Meant::One(id) => Ok(id),
        Meant::Several(several) => {
            let options: Vec<_> =
                several.iter().map(|fitting| json!({ "id": fitting.id, "what": fitting.label })).collect();
            let values = json!({ "name": name, "options": options });
            Err(Says::new(instance, language).refused("not_found", "schedule.which", values))
        }
    }
}

/// Words that could tell one task from another: those that say nothing in either language are left out.
fn words_of(instance: &Instance, text: &str) -> Vec<String> {
    let messages = &instance.rules.messages;
    let saying_nothing: Vec<String> =
        Language::ALL.iter().map(|language| messages.say(*language, "schedule.unnaming", json!({}))).collect();
    let is_idle = |word: &str| saying_nothing.iter().any(|words| words.split_whitespace().any(|idle| idle == word));
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    words.filter(|word| !is_idle(word)).collect()
}

/// The zone of a schedule, where it is another than the owner's.
pub fn other_zone(instance: &Instance, schedule: &Schedule) -> Option<String> {
    let own = cadence::Zone::named(&instance.settings.zone).map(|zone| zone.name().to_owned());
    let own = own.unwrap_or_else(|_| instance.settings.zone.clone());
    Some(schedule.contract.zone.clone()).filter(|zone| *zone != own)
}

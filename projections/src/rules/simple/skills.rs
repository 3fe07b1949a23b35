//! What the executors of a catalog are for, told to a person: grouped, in few words, about a topic where one is given.
//!
//! It looks at manifests only. That a sentence is shown as an example does not make it one: each is planned first.

use std::collections::BTreeSet;

use super::tools::{Indexed, Tools};
use super::words::{cut, stem};
use super::{Facts, Lexicons, propose};
use crate::messages::{Language, Messages};

/// The most sentences that are shown.
const EXAMPLES_MAX: usize = 3;

/// What one executor is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// The executor's name.
    pub name: String,
    /// What it is about: a key `group_…` of `[about]` in the messages.
    pub group: &'static str,
    /// Its description, as far as one line needs it.
    pub said: String,
}

/// Objects of the vocabulary by what they are about, in the order in which they are told.
const GROUPS: [(&str, &[&str]); 9] = [
    ("files", &["files", "dirs", "packages", "images"]),
    ("texts", &["texts"]),
    ("tables", &["entries", "lists", "numbers"]),
    ("pages", &["urls", "sites"]),
    ("machine", &["processes"]),
    ("time", &["now", "events", "calendars", "location", "places"]),
    ("people", &["messages", "contacts", "persons"]),
    ("tasks", &["recurring", "tasks"]),
    ("other", &[]),
];

/// What the executors are for: all of them, or those whose own words speak of the topic.
pub fn skills(tools: &Tools, language: Language, topic: Option<&str>) -> Vec<Skill> {
    let words = topic.map(stems).unwrap_or_default();
    let speaking: Vec<(&Indexed, Strength)> =
        tools.all().iter().map(|tool| (tool, Strength::of(tool, &words))).collect();
    let best = speaking.iter().map(|(_, strength)| *strength).max().unwrap_or(Strength::Nothing);
    let fits = |strength: Strength| topic.is_none() || (strength == best && strength > Strength::Nothing);
    let mut found: Vec<(usize, Skill)> = speaking
        .into_iter()
        .filter(|(_, strength)| fits(*strength))
        .map(|(tool, _)| {
            let (order, group) = group(tool);
            (order, Skill { name: tool.name().to_owned(), group, said: said(tool, language) })
        })
        .collect();
    found.sort_by(|(a, one), (b, other)| a.cmp(b).then_with(|| one.name.cmp(&other.name)));
    found.into_iter().map(|(_, skill)| skill).collect()
}

/// Sentences of the pool that really plan, with nothing but these executors; for all of them, one for each first one.
pub fn examples(
    lexicons: &Lexicons,
    tools: &Tools,
    messages: &Messages,
    facts: &Facts<'_>,
    pool: &str,
    names: &BTreeSet<&str>,
) -> Vec<String> {
    let mut firsts = BTreeSet::new();
    let plans = pool.lines().map(str::trim).filter(|line| !line.is_empty()).filter(|line| {
        let plan = propose(lexicons, tools, messages, facts, line).plan;
        let within = plan.abstention.is_none() && plan.steps.iter().any(|step| names.contains(step.tool.as_str()));
        within && plan.steps.first().is_some_and(|step| firsts.insert(step.tool.clone()))
    });
    plans.take(EXAMPLES_MAX).map(str::to_owned).collect()
}

/// How well an executor fits a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    /// No word of it.
    Nothing,
    /// Its description, name or words hold some of the topic's words.
    Some,
    /// They hold all.
    Described,
    /// Its name and its own words hold all.
    Named,
}

impl Strength {
    fn of(tool: &Indexed, topic: &[String]) -> Self {
        if topic.is_empty() {
            return Self::Nothing;
        }
        let mut named: BTreeSet<String> = tool.affinity.iter().flatten().cloned().collect();
        named.extend(tool.name().split('_').map(|part| stem(part).to_owned()));
        if topic.iter().all(|word| named.contains(word)) {
            return Self::Named;
        }
        let description = &tool.tool.manifest.description;
        let mut described = named;
        described.extend(stems(&description.en));
        described.extend(stems(&description.it));
        let held = topic.iter().filter(|word| described.contains(*word)).count();
        match held {
            0 => Self::Nothing,
            held if held == topic.len() => Self::Described,
            _ => Self::Some,
        }
    }
}

/// The stems of a text's words, as affinity has them; words of two letters say nothing.
fn stems(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    cut(text, 0, text.len(), &["l".to_owned(), "dell".to_owned(), "un".to_owned()], &mut words);
    let kept = words.iter().filter(|word| !word.punctuation && word.folded.chars().count() > 2);
    kept.map(|word| stem(&word.folded).to_owned()).collect()
}

fn group(tool: &Indexed) -> (usize, &'static str) {
    let by_object = GROUPS.iter().position(|(_, objects)| objects.contains(&tool.object.as_str()));
    // What was done is no task that is still to come.
    let about_itself = tool.object == "tasks" && !tool.qualifier.is_empty();
    let order = by_object.filter(|_| !about_itself).unwrap_or(GROUPS.len() - 1);
    (order, GROUPS[order].0)
}

/// The first thing that a description says.
/// What an executor is for, in a few words.
pub fn described(tools: &Tools, name: &str, language: Language) -> Option<String> {
    tools.indexed(name).map(|tool| said(tool, language))
}

fn said(tool: &Indexed, language: Language) -> String {
    let description = &tool.tool.manifest.description;
    let whole = match language {
        Language::En => &description.en,
        Language::It => &description.it,
    };
    let end = [". ", ": ", "; "].iter().filter_map(|mark| whole.find(mark)).min().unwrap_or(whole.len());
    whole[..end].trim().trim_end_matches('.').to_owned()
}

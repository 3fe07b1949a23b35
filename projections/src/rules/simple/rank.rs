//! The pre-filter: scores executors for a sentence (design 5-turn, «Pre-filter»).
//!
//! Affinity hit 4, description hit 1 capped at 3, verb of the query 10, object in the name 6, qualifier 2. Executors
//! without any hit never enter.

use super::items::{Item, What};
use super::lexicon::{Lexicons, Sense};
use super::tools::{Indexed, Tools};
use super::words::stem;

/// An executor with its score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The executor's name.
    pub tool: String,
    /// Its score; never zero.
    pub score: u32,
}

/// The ranked candidates, how many of them are offered, and how far the first leads.
pub(crate) struct Ranking {
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) k: u16,
    pub(crate) confidence_permille: u16,
}

/// Ranks all executors.
pub(crate) fn rank(lexicons: &Lexicons, tools: &Tools, items: &[Item]) -> Ranking {
    let mut query = Query { stems: Vec::new(), verbs: Vec::new(), objects: Vec::new() };
    for item in items {
        query.add(lexicons, item);
    }
    query.stems.sort_unstable();
    query.stems.dedup();
    let mut candidates: Vec<Candidate> = tools
        .all()
        .iter()
        .map(|tool| Candidate { tool: tool.name().to_owned(), score: query.score(tool) })
        .filter(|c| c.score > 0)
        .collect();
    candidates.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.tool.cmp(&b.tool)));
    let top = candidates.first().map_or(0, |c| c.score);
    let second = candidates.get(1).map_or(0, |c| c.score);
    candidates.retain(|c| c.score * 2 >= top);
    let lead = (top - second) * 1000 / top.max(1);
    let lead = u16::try_from(lead).unwrap_or(1000);
    let k = offered(lead);
    candidates.truncate(usize::from(k));
    Ranking { candidates, k, confidence_permille: lead }
}

/// Five at a lead of 0.7 and more, eight at 0.3 and less, linear between.
fn offered(lead_permille: u16) -> u16 {
    match lead_permille {
        700.. => 5,
        0..=300 => 8,
        between => 8 - (between - 300) * 3 / 400,
    }
}

struct Query<'a> {
    stems: Vec<&'a str>,
    verbs: Vec<(&'a str, bool)>,
    objects: Vec<&'a str>,
}

impl<'a> Query<'a> {
    fn add(&mut self, lexicons: &'a Lexicons, item: &'a Item) {
        match &item.what {
            What::Path { .. } | What::Globs { .. } => self.objects.push("files"),
            What::Url(_) => self.objects.push("urls"),
            What::Zone(_) => self.objects.push("now"),
            What::Lines(_) => self.objects.push("texts_lines"),
            _ => {}
        }
        for sense in item.senses() {
            match sense {
                Sense::Verb(v) => {
                    self.verbs.extend(lexicons.verbs[*v].verbs.iter().enumerate().map(|(i, n)| (n.as_str(), i == 0)));
                }
                Sense::Object(o) => self.objects.push(&lexicons.objects[*o]),
                _ => {}
            }
        }
        if item.is_word() && !item.is_noise() {
            self.stems.extend(item.folded.split(' ').map(stem));
        }
    }

    fn score(&self, tool: &Indexed) -> u32 {
        let has = |word: &String| self.stems.binary_search(&word.as_str()).is_ok();
        let affinity = tool.affinity.iter().filter(|phrase| phrase.iter().all(has)).count();
        let description = tool.description.iter().filter(|w| has(w)).count().min(3);
        let verb = match self.verbs.iter().filter(|(v, _)| *v == tool.verb).map(|(_, first)| *first).max() {
            Some(true) => 10,
            Some(false) => 5,
            None => 0,
        };
        let object = self.objects.iter().any(|o| o.split('_').next() == Some(tool.object.as_str()));
        let qualifier = !tool.qualifier.is_empty() && self.objects.iter().any(|o| o.ends_with(tool.qualifier.as_str()));
        let hits = u32::try_from(affinity * 4 + description).unwrap_or(u32::MAX / 2);
        hits + verb + 6 * u32::from(object) + 2 * u32::from(qualifier)
    }
}

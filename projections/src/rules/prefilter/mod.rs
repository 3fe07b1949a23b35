//! The pre-filter: which tools of a catalog a sentence may be about, the likeliest first (design 5-turn, «Pre-filter»).
//!
//! An [`Index`] is built once per catalog version and asked with a text. It works over any catalog of names and
//! descriptions; where the executor grammar and the engine's own reading of the sentence are known ([`Hints`]), the seed
//! scoring is the base. It decides nothing: it offers, says how far the first leads, and how relevant it is.

mod index;
mod kinds;
mod query;
mod text;
mod vocabulary;
mod weights;

#[cfg(test)]
mod tests;

pub use self::index::{Index, Offered};

use self::query::{Evidence, Query};
use self::weights::{general, relevance, seed};

/// What the engine read in the sentence, in the words of the executor grammar.
#[derive(Clone, Debug, Default)]
pub struct Hints<'a> {
    /// Verbs, and whether each is what its word most likely means.
    pub verbs: Vec<(&'a str, bool)>,
    /// Objects, with their qualifier behind `_`.
    pub objects: Vec<&'a str>,
}

/// A tool with its score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The tool's name.
    pub tool: String,
    /// Its score, in points; never zero.
    pub score: u32,
}

/// The ranked candidates, how many of them are offered, and how far the first leads.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The likeliest first.
    pub candidates: Vec<Candidate>,
    /// How many are offered, those aside that a whole phrase recalls.
    pub k: u16,
    /// How far the first leads the second, in thousandths of its score.
    pub confidence_permille: u16,
    /// How sure it is that the first is what the text is about, in thousandths.
    pub relevance_permille: u16,
}

/// A tool's place in the order, before anything is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Its position in the catalog.
    pub tool: usize,
    /// Its score, in points; above zero.
    pub score: f32,
    /// A phrase of several words of its affinity was said as a whole.
    pub recalled: bool,
}

/// All tools that anything speaks for, the likeliest first.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// The tools.
    pub placed: Vec<Placed>,
    /// How sure it is that the first is what the text is about, from 0 to 1; 0 where there is none.
    pub relevance: f32,
}

/// Tools that a whole phrase brings back after the cut (`affinity_phrase_recall`).
const MOST_RECALLED: usize = 3;

impl Index {
    /// Orders the catalog for a text.
    pub fn order(&self, text: &str, hints: &Hints<'_>) -> Order {
        let query = Query::new(self, text);
        let evidence = query.evidence(self);
        let mut placed: Vec<Placed> = Vec::with_capacity(evidence.len());
        for (tool, evidence) in evidence.iter().enumerate() {
            let seeded = self.seeded(tool, evidence, hints);
            if seeded > 0.0 || evidence.is_any() {
                let score = seeded + above_zero(general(evidence));
                placed.push(Placed { tool, score, recalled: evidence.long_phrases > 0.0 });
            }
        }
        // Equal scores: by name, then by position.
        let name = |place: &Placed| (self.name(place.tool), place.tool);
        placed.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| name(a).cmp(&name(b))));
        let relevance = placed.first().map_or(0.0, |first| {
            let tool = u32::try_from(first.tool).expect("a catalog has fewer tools than that");
            relevance(&evidence[first.tool], &query.coverage(self, tool))
        });
        Order { placed, relevance }
    }

    /// Orders the catalog and keeps what is offered to an engine.
    pub fn rank(&self, text: &str, hints: &Hints<'_>) -> Ranking {
        let order = self.order(text, hints);
        let candidate = |place: &Placed| Candidate { tool: self.name(place.tool).to_owned(), score: points(place) };
        Ranking {
            candidates: order.offered().into_iter().map(candidate).collect(),
            k: order.most_offered(),
            confidence_permille: order.lead_permille(),
            relevance_permille: permille(order.relevance),
        }
    }

    /// The seed scoring: what the grammar of names and the manifest's own words give.
    fn seeded(&self, tool: usize, evidence: &Evidence, hints: &Hints<'_>) -> f32 {
        if !self.is_grammatical() || (hints.verbs.is_empty() && hints.objects.is_empty()) {
            return 0.0;
        }
        let mut parts = self.name(tool).splitn(3, '_');
        let mut next = || parts.next().unwrap_or_default();
        let (verb, object, qualifier) = (next(), next(), next());
        let verb = match hints.verbs.iter().filter(|(said, _)| *said == verb).map(|(_, first)| *first).max() {
            Some(true) => seed::VERB,
            Some(false) => seed::LATER_VERB,
            None => 0.0,
        };
        let is_object = hints.objects.iter().any(|said| said.split('_').next() == Some(object));
        let is_qualified = !qualifier.is_empty() && hints.objects.iter().any(|said| said.ends_with(qualifier));
        let words = seed::AFFINITY * evidence.phrases + seed::DESCRIPTION * evidence.described;
        words + verb + seed::OBJECT * f32::from(is_object) + seed::QUALIFIER * f32::from(is_qualified)
    }
}

impl Order {
    /// How far the first leads the second, in thousandths of its score.
    pub fn lead_permille(&self) -> u16 {
        let score = |at: usize| self.placed.get(at).map_or(0.0, |place| place.score);
        permille((score(0) - score(1)) / score(0).max(f32::MIN_POSITIVE))
    }

    /// How many are offered: five at a lead of 0.7 and more, eight at 0.3 and less, linear between.
    pub fn most_offered(&self) -> u16 {
        match self.lead_permille() {
            700.. => 5,
            0..=300 => 8,
            between => 8 - (between - 300) * 3 / 400,
        }
    }

    /// What is offered: the first ones down to half of the top, and what whole phrases bring back.
    pub fn offered(&self) -> Vec<&Placed> {
        let top = self.placed.first().map_or(0.0, |first| first.score);
        let first = self.placed.iter().take(usize::from(self.most_offered()));
        let cut = first.take_while(|place| place.score * 2.0 >= top).count();
        let (offered, rest) = self.placed.split_at(cut);
        offered.iter().chain(rest.iter().filter(|place| place.recalled).take(MOST_RECALLED)).collect()
    }
}

/// The same order above zero: much evidence counts as it is, evidence against a tool ever less.
fn above_zero(weighed: f32) -> f32 {
    if weighed > 8.0 { weighed } else { libm::log1pf(libm::expf(weighed.max(-16.0))) }
}

/// Whole points, at least one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a score is above zero and far below 2^32")]
fn points(place: &Placed) -> u32 {
    (place.score.round() as u32).max(1)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is between 0 and 1")]
fn permille(share: f32) -> u16 {
    (share.clamp(0.0, 1.0) * 1000.0).round() as u16
}

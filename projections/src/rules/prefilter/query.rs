//! A query against an index: what it says for and against each tool, as numbers.
//!
//! It weighs nothing: how much each number counts stands in `weights.rs`. It extracts nothing either: whether a word is
//! a value is guessed by its form only.

use super::index::{Field, Index, count, word_grams};
use super::kinds::{self, Kinds};
use super::text::Words;
use super::vocabulary::{Group, Vocabulary, Weight};

/// A query is looked at this far, in bytes.
const LONGEST: usize = 4096;
/// What a common word counts of a rare one.
const LITTLE: f32 = 0.4;
/// How much less each later verb counts.
const DECAY: f32 = 0.75;

/// What a query says about one tool.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Evidence {
    /// BM25 of its description.
    pub(super) description: f32,
    /// BM25 of its affinity.
    pub(super) affinity: f32,
    /// BM25 of its arguments' names.
    pub(super) argument_names: f32,
    /// BM25 of its arguments' descriptions.
    pub(super) argument_descriptions: f32,
    /// BM25 of its affinity by groups of like words.
    pub(super) affinity_groups: f32,
    /// BM25 of its arguments by groups of like words.
    pub(super) argument_groups: f32,
    /// Likeness by 4-grams of its name.
    pub(super) name_grams: f32,
    /// Likeness by 4-grams of its description and affinity.
    pub(super) description_grams: f32,
    /// Share of its name that was said.
    pub(super) name_share: f32,
    /// Share of its name that was said in like words.
    pub(super) name_group_share: f32,
    /// Share of its description that was said.
    pub(super) description_share: f32,
    /// Its affinity's words and phrases that were said as a whole.
    pub(super) phrases: f32,
    /// The same, of several words.
    pub(super) long_phrases: f32,
    /// Values of its arguments' closed lists that were said.
    pub(super) choices: f32,
    /// Neighbours of the query that are neighbours in its name or description.
    pub(super) pairs: f32,
    /// The verb of its name was said: 1 for the query's first verb, less for later ones.
    pub(super) verb: f32,
    /// Words of the query in its description, at most three.
    pub(super) described: f32,
    /// Required arguments of whose kind the query holds no value, at most [`MOST_UNMET`].
    pub(super) unmet: f32,
    /// Kinds of values that the query holds and none of its arguments takes.
    pub(super) untaken: f32,
    /// Every word of its name was said.
    pub(super) whole_name: f32,
}

/// Lacking values beyond these change nothing more.
const MOST_UNMET: f32 = 3.0;

impl Evidence {
    /// Whether any word or part of a word speaks for the tool.
    pub(super) fn is_any(&self) -> bool {
        let words = self.description + self.affinity + self.argument_names + self.argument_descriptions;
        let like = self.affinity_groups + self.argument_groups + self.name_grams + self.description_grams;
        words + like + self.name_share + self.name_group_share + self.choices > 0.0
    }
}

/// How much of a query one tool's words cover: shares of its words' weight, values aside.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Coverage {
    /// By its name, description and affinity.
    pub(super) own: f32,
    /// Else by its arguments.
    pub(super) arguments: f32,
    /// Else by words like its own.
    pub(super) alike: f32,
    /// The query holds no value: no number, no name.
    pub(super) no_value: bool,
}

/// A query, cut and looked up.
pub(super) struct Query {
    /// Terms that the index knows, each once, with its weight; sorted.
    terms: Vec<(u32, f32)>,
    pairs: Vec<(u32, u32)>,
    groups: Vec<(Group, f32)>,
    /// Groups of verbs, the first verb's weight the greatest.
    verbs: Vec<(Group, f32)>,
    kinds: Kinds,
    grams: Vec<u64>,
    said: Vec<Said>,
}

/// A word of the query that is more than grammar.
struct Said {
    term: Option<u32>,
    groups: &'static [Group],
    weight: f32,
    /// It is rather an argument's value: a number, a name.
    value: bool,
}

impl Query {
    pub(super) fn new(index: &Index, text: &str) -> Self {
        let words = Words::cut(text, LONGEST);
        let vocabulary = Vocabulary::embedded();
        let length = words.words().len();
        let mut query = Self {
            terms: Vec::with_capacity(length),
            pairs: Vec::with_capacity(length),
            groups: Vec::with_capacity(length * 2),
            verbs: Vec::with_capacity(length),
            kinds: kinds::of_query(text, &words),
            grams: Vec::with_capacity(length * 4),
            said: Vec::with_capacity(length),
        };
        let mut before = None;
        let mut decayed = 1.0;
        for (word, stem) in words.words().iter().zip(words.stems()) {
            let known = vocabulary.get(stem);
            let term = index.terms.get(stem).copied();
            query.pairs.extend(before.zip(term));
            before = term;
            let weight = match known.map_or(Weight::Full, |known| known.weight) {
                Weight::Nothing => 0.0,
                Weight::Little => LITTLE,
                Weight::Full => 1.0,
            };
            let groups = known.map_or(&[][..], |known| &known.groups);
            query.groups.extend(groups.iter().map(|&group| (group, weight.max(LITTLE))));
            let verbs = groups.iter().copied().filter(|&group| vocabulary.is_verb(group));
            let already = query.verbs.len();
            query.verbs.extend(verbs.map(|group| (group, decayed)));
            if query.verbs.len() > already {
                decayed *= DECAY;
            }
            if weight > 0.0 {
                query.terms.extend(term.map(|term| (term, weight)));
                query.said.push(Said { term, groups, weight, value: word.named || word.number });
                word_grams(stem, |gram| query.grams.push(gram));
            }
        }
        query.sort();
        query
    }

    fn sort(&mut self) {
        self.terms.sort_unstable_by_key(|(term, _)| *term);
        self.terms.dedup_by_key(|(term, _)| *term);
        self.groups.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        self.groups.dedup_by_key(|(group, _)| *group);
        self.pairs.sort_unstable();
        self.pairs.dedup();
        self.grams.sort_unstable();
        self.grams.dedup();
    }

    /// The evidence for every tool, in the index's order.
    pub(super) fn evidence(&self, index: &Index) -> Vec<Evidence> {
        let mut out = vec![Evidence::default(); index.tools.len()];
        self.words(index, &mut out);
        self.groups(index, &mut out);
        self.phrases(index, &mut out);
        self.characters(index, &mut out);
        for (entry, evidence) in index.tools.iter().zip(&mut out) {
            let said = self.verbs.iter().filter(|(group, _)| entry.verbs.contains(group));
            evidence.verb = said.map(|(_, weight)| *weight).fold(0.0, f32::max);
            let unmet = entry.required.iter().filter(|kinds| !kinds.meets(self.kinds)).count();
            evidence.unmet = count(unmet).min(MOST_UNMET);
            evidence.untaken = self.kinds.without(entry.takes).count();
            evidence.whole_name = f32::from(evidence.name_share.max(evidence.name_group_share) > 0.99);
        }
        out
    }

    fn words(&self, index: &Index, out: &mut [Evidence]) {
        for &(term, weight) in &self.terms {
            for posting in &index.postings[term as usize] {
                let evidence = &mut out[posting.tool as usize];
                let points = weight * posting.weight;
                match posting.field {
                    Field::Name => evidence.name_share += posting.share,
                    Field::Description => {
                        evidence.description += points;
                        evidence.description_share += posting.share;
                        evidence.described = (evidence.described + 1.0).min(3.0);
                    }
                    Field::Affinity => evidence.affinity += points,
                    Field::ArgumentName => evidence.argument_names += points,
                    Field::ArgumentDescription => evidence.argument_descriptions += points,
                    Field::Choice => {}
                }
            }
        }
    }

    fn groups(&self, index: &Index, out: &mut [Evidence]) {
        for &(group, weight) in &self.groups {
            for posting in &index.groups[usize::from(group)] {
                let evidence = &mut out[posting.tool as usize];
                match posting.field {
                    Field::Name => evidence.name_group_share += posting.share,
                    Field::Description => {}
                    Field::Affinity => evidence.affinity_groups += weight * posting.weight,
                    Field::ArgumentName | Field::ArgumentDescription | Field::Choice => {
                        evidence.argument_groups += weight * posting.weight;
                    }
                }
            }
        }
    }

    fn phrases(&self, index: &Index, out: &mut [Evidence]) {
        let has = |term: &u32| self.terms.binary_search_by_key(term, |(term, _)| *term).is_ok();
        for (term, _) in &self.terms {
            for phrase in index.phrases[*term as usize].iter().filter(|phrase| phrase.rest.iter().all(has)) {
                let evidence = &mut out[phrase.tool as usize];
                if phrase.field == Field::Affinity {
                    evidence.phrases += 1.0;
                    evidence.long_phrases += f32::from(!phrase.rest.is_empty());
                } else {
                    evidence.choices += 1.0;
                }
            }
        }
        for pair in &self.pairs {
            for &tool in index.pairs.get(pair).into_iter().flatten() {
                out[tool as usize].pairs += 1.0;
            }
        }
    }

    fn characters(&self, index: &Index, out: &mut [Evidence]) {
        let all = count(self.grams.len()).max(1.0).sqrt();
        for gram in &self.grams {
            let Ok(at) = index.grams.binary_search_by_key(gram, |held| held.characters) else { continue };
            let held = &index.grams[at];
            for &(tool, field, weight) in &index.gram_postings[held.from as usize..held.to as usize] {
                let evidence = &mut out[tool as usize];
                let likeness =
                    if field == Field::Name { &mut evidence.name_grams } else { &mut evidence.description_grams };
                *likeness += held.rarity / all * weight;
            }
        }
    }

    /// How much of the query that tool's words cover.
    pub(super) fn coverage(&self, index: &Index, tool: u32) -> Coverage {
        let is_own = |field: Field| matches!(field, Field::Name | Field::Description | Field::Affinity);
        let mut coverage = Coverage { no_value: self.said.iter().all(|said| !said.value), ..Coverage::default() };
        let mut whole = 0.0;
        for said in self.said.iter().filter(|said| !said.value) {
            whole += said.weight;
            let held = said.term.map_or(&[][..], |term| &index.postings[term as usize]);
            let mut fields = held.iter().filter(|posting| posting.tool == tool).map(|posting| posting.field).peekable();
            let alike = |&group: &Group| {
                index.groups[usize::from(group)].iter().any(|posting| posting.tool == tool && is_own(posting.field))
            };
            if fields.peek().is_some() {
                *(if fields.any(is_own) { &mut coverage.own } else { &mut coverage.arguments }) += said.weight;
            } else if said.groups.iter().any(alike) {
                coverage.alike += said.weight;
            }
        }
        let whole = whole.max(0.5);
        coverage.own /= whole;
        coverage.arguments /= whole;
        coverage.alike /= whole;
        coverage
    }
}

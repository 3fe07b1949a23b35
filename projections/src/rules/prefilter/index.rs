//! The index of a catalog: postings of words, groups of words and 4-grams, and what each tool's arguments take.
//!
//! Built once per catalog version; nothing of a query is kept in it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::kinds::{self, Kinds};
use super::text::Words;
use super::vocabulary::{Group, Vocabulary, Weight};
use crate::rules::shape;

/// What is ranked: any tool that has a name and perhaps more.
#[derive(Clone, Copy, Debug)]
pub struct Offered<'a> {
    /// Its name, in any notation; its words are ranked by.
    pub name: &'a str,
    /// What it does, in any language.
    pub description: &'a str,
    /// What people call it: words and phrases.
    pub affinity: &'a [String],
    /// JSON Schema of its arguments; anything else counts as none.
    pub args: &'a Value,
}

/// Where a word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Name,
    Description,
    Affinity,
    ArgumentName,
    ArgumentDescription,
    Choice,
}

/// How many fields there are.
pub(super) const FIELDS: usize = 6;

/// A word's weight in a field of a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posting {
    pub(super) tool: u32,
    pub(super) field: Field,
    /// BM25 weight.
    pub(super) weight: f32,
    /// Share of the field that is this word, by rarity.
    pub(super) share: f32,
}

/// A phrase that counts only as a whole.
#[derive(Clone, Debug)]
pub(super) struct Phrase {
    pub(super) tool: u32,
    pub(super) field: Field,
    /// The other words.
    pub(super) rest: Vec<u32>,
}

/// A tool, as far as it is ranked by other than words.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    /// Groups of the verb in its name.
    pub(super) verbs: Vec<Group>,
    /// What its required arguments take, those aside that take anything or one of a closed list.
    pub(super) required: Vec<Kinds>,
    /// All kinds that its arguments take.
    pub(super) takes: Kinds,
}

/// A 4-gram and where its postings stand in `gram_postings`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gram {
    pub(super) characters: u64,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) rarity: f32,
}

/// An index over a catalog.
#[derive(Clone, Debug, Default)]
pub struct Index {
    pub(super) tools: Vec<Entry>,
    /// Most names obey the executor grammar.
    pub(super) grammatical: bool,
    pub(super) terms: BTreeMap<String, u32>,
    pub(super) postings: Vec<Vec<Posting>>,
    pub(super) groups: Vec<Vec<Posting>>,
    pub(super) phrases: Vec<Vec<Phrase>>,
    pub(super) pairs: BTreeMap<(u32, u32), Vec<u32>>,
    /// Sorted.
    pub(super) grams: Vec<Gram>,
    pub(super) gram_postings: Vec<(u32, Field, f32)>,
}

/// Texts are looked at this far, in bytes: a name of a megabyte must not cost a second.
const LONGEST: usize = 4096;
/// Arguments beyond these are not looked at.
const MOST_ARGUMENTS: usize = 64;
/// Values of a closed list beyond these are not looked at.
const MOST_CHOICES: usize = 64;
/// BM25's usual constants.
const SATURATION: f32 = 1.2;
const LENGTH_SHARE: f32 = 0.75;

/// The words of one tool by field, before anything is known of the others.
struct Read {
    /// Term → how often.
    fields: [BTreeMap<u32, f32>; FIELDS],
    groups: [BTreeMap<u32, f32>; FIELDS],
    lengths: [f32; FIELDS],
    /// 4-grams of the name, and of description and affinity; sorted, each once.
    grams: [Vec<u64>; 2],
}

impl Index {
    /// Indexes a catalog. Names need not differ: a rank is told by position too.
    pub fn new<'a>(tools: impl IntoIterator<Item = Offered<'a>>) -> Self {
        let mut index = Self { groups: vec![Vec::new(); Vocabulary::embedded().groups()], ..Self::default() };
        let read: Vec<Read> = tools.into_iter().map(|tool| index.read(&tool)).collect();
        index.postings = vec![Vec::new(); index.terms.len()];
        index.phrases.resize(index.terms.len(), Vec::new());
        weigh(&read, |r| &r.fields, &mut index.postings);
        weigh(&read, |r| &r.groups, &mut index.groups);
        index.weigh_grams(&read);
        let obeying = index.tools.iter().filter(|tool| shape::in_vocabulary(&tool.name)).count();
        index.grammatical = obeying * 2 > index.tools.len();
        index
    }

    /// How many tools it holds.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The name of a tool by its position.
    pub fn name(&self, tool: usize) -> &str {
        &self.tools[tool].name
    }

    /// Whether most names obey the executor grammar, so that hints mean something to it.
    pub fn is_grammatical(&self) -> bool {
        self.grammatical
    }

    fn term(&mut self, stem: &str) -> u32 {
        if let Some(&term) = self.terms.get(stem) {
            return term;
        }
        let term = u32::try_from(self.terms.len()).expect("a catalog has fewer words than that");
        self.terms.insert(stem.to_owned(), term);
        term
    }

    fn read(&mut self, tool: &Offered<'_>) -> Read {
        let at = u32::try_from(self.tools.len()).expect("a catalog has fewer tools than that");
        let mut read = Read {
            fields: Default::default(),
            groups: Default::default(),
            lengths: [0.0; FIELDS],
            grams: Default::default(),
        };
        let name = Words::cut(tool.name, LONGEST);
        let description = Words::cut(tool.description, LONGEST);
        for (field, words) in [(Field::Name, &name), (Field::Description, &description)] {
            let terms = self.add(&mut read, field, words);
            self.pair(at, &terms);
        }
        for phrase in tool.affinity {
            let terms = self.add(&mut read, Field::Affinity, &Words::cut(phrase, LONGEST));
            self.phrase(at, Field::Affinity, terms);
        }
        for grams in &mut read.grams {
            grams.sort_unstable();
            grams.dedup();
        }
        let (required, takes) = self.arguments(at, &mut read, tool.args);
        self.tools.push(Entry { name: tool.name.to_owned(), verbs: verbs_of(&name), required, takes });
        read
    }

    /// Reads the arguments: what the required ones take, and what all of them take.
    fn arguments(&mut self, at: u32, read: &mut Read, schema: &Value) -> (Vec<Kinds>, Kinds) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|list| list.iter().any(|entry| entry == name));
        let (mut telling, mut takes) = (Vec::new(), Kinds::default());
        for (name, schema) in properties.into_iter().flatten().take(MOST_ARGUMENTS) {
            self.add(read, Field::ArgumentName, &Words::cut(name, LONGEST));
            let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            self.add(read, Field::ArgumentDescription, &Words::cut(description, LONGEST));
            let choices = schema.get("enum").or_else(|| schema.get("items")?.get("enum")).and_then(Value::as_array);
            for choice in choices.into_iter().flatten().take(MOST_CHOICES).filter_map(Value::as_str) {
                let terms = self.add(read, Field::Choice, &Words::cut(choice, LONGEST));
                self.phrase(at, Field::Choice, terms);
            }
            let kinds = kinds::of_argument(name, schema);
            takes = takes.or(kinds);
            if is_required(name) && choices.is_none() && !kinds.is_empty() {
                telling.push(kinds);
            }
        }
        (telling, takes)
    }

    /// Counts the words of a field, and gives the terms of those that are more than grammar.
    fn add(&mut self, read: &mut Read, field: Field, words: &Words) -> Vec<u32> {
        let vocabulary = Vocabulary::embedded();
        let at = field as usize;
        let mut terms = Vec::with_capacity(words.words().len());
        for stem in words.stems() {
            let known = vocabulary.get(stem);
            if known.is_some_and(|known| known.weight == Weight::Nothing) {
                continue;
            }
            let term = self.term(stem);
            terms.push(term);
            let often = read.fields[at].entry(term).or_default();
            *often += 1.0;
            read.lengths[at] += 1.0;
            for &group in known.iter().flat_map(|known| &known.groups) {
                *read.groups[at].entry(u32::from(group)).or_default() += 1.0;
            }
            let grams = match field {
                Field::Name => &mut read.grams[0],
                Field::Description | Field::Affinity => &mut read.grams[1],
                Field::ArgumentName | Field::ArgumentDescription | Field::Choice => continue,
            };
            if *often < 2.0 {
                word_grams(stem, |gram| grams.push(gram));
            }
        }
        terms
    }

    fn phrase(&mut self, tool: u32, field: Field, mut terms: Vec<u32>) {
        terms.sort_unstable();
        terms.dedup();
        // The word that was met last is the rarest so far: the phrase is looked for under it.
        let Some(key) = terms.pop() else { return };
        self.phrases.resize(self.phrases.len().max(self.terms.len()), Vec::new());
        self.phrases[key as usize].push(Phrase { tool, field, rest: terms });
    }

    fn pair(&mut self, tool: u32, terms: &[u32]) {
        for pair in terms.windows(2) {
            let tools = self.pairs.entry((pair[0], pair[1])).or_default();
            if tools.last() != Some(&tool) {
                tools.push(tool);
            }
        }
    }

    fn weigh_grams(&mut self, read: &[Read]) {
        let place = |at: usize| u32::try_from(at).expect("a catalog has fewer characters than that");
        let mut all: Vec<(u64, u32, Field)> = Vec::new();
        for (tool, read) in (0..).zip(read) {
            for (field, grams) in [Field::Name, Field::Description].into_iter().zip(&read.grams) {
                all.extend(grams.iter().map(|&gram| (gram, tool, field)));
            }
        }
        all.sort_unstable();
        self.gram_postings.reserve_exact(all.len());
        for places in all.chunk_by(|a, b| a.0 == b.0) {
            let holders = places.chunk_by(|a, b| a.1 == b.1).count();
            let rarity = rarity(count(read.len()), count(holders));
            let from = place(self.gram_postings.len());
            self.gram_postings.extend(places.iter().map(|&(_, tool, field)| {
                let grams = read[tool as usize].grams[field as usize].len();
                (tool, field, rarity / count(grams).sqrt().max(3.0))
            }));
            let to = place(self.gram_postings.len());
            self.grams.push(Gram { characters: places[0].0, from, to, rarity });
        }
    }
}

/// How much it says that a word is in `holders` of `tools`: BM25's, made comparable between small and large catalogs.
fn rarity(tools: f32, holders: f32) -> f32 {
    libm::log1pf((tools - holders + 0.5) / (holders + 0.5)) / (1.0 + libm::logf(tools.max(1.0)))
}

#[expect(clippy::cast_precision_loss, reason = "counts of a catalog are far below 2^24")]
pub(super) fn count(number: usize) -> f32 {
    number as f32
}

/// The groups of the first verb.
fn verbs_of(words: &Words) -> Vec<Group> {
    let vocabulary = Vocabulary::embedded();
    let mut verbs = words.stems().map(|stem| {
        let groups = vocabulary.get(stem).map(|known| known.groups.as_slice()).unwrap_or_default();
        groups.iter().copied().filter(|&group| vocabulary.is_verb(group)).collect::<Vec<_>>()
    });
    verbs.find(|verbs| !verbs.is_empty()).unwrap_or_default()
}

/// BM25 weights of every word in every field.
fn weigh(read: &[Read], of: impl Fn(&Read) -> &[BTreeMap<u32, f32>; FIELDS], postings: &mut [Vec<Posting>]) {
    let tools = count(read.len());
    for field in [
        Field::Name,
        Field::Description,
        Field::Affinity,
        Field::ArgumentName,
        Field::ArgumentDescription,
        Field::Choice,
    ] {
        let at = field as usize;
        let mut holders = vec![0_usize; postings.len()];
        for read in read {
            for &term in of(read)[at].keys() {
                holders[term as usize] += 1;
            }
        }
        let rare: Vec<f32> = holders.into_iter().map(|holders| rarity(tools, count(holders))).collect();
        let mean = read.iter().map(|r| r.lengths[at]).sum::<f32>() / tools.max(1.0);
        for (tool, read) in (0..).zip(read) {
            let whole: f32 = of(read)[at].keys().map(|&term| rare[term as usize]).sum();
            for (&term, &often) in &of(read)[at] {
                let length = 1.0 - LENGTH_SHARE + LENGTH_SHARE * read.lengths[at] / mean.max(1.0);
                let rare = rare[term as usize];
                let weight = rare * often * (SATURATION + 1.0) / (often + SATURATION * length);
                let share = rare / whole.max(f32::EPSILON);
                postings[term as usize].push(Posting {
                    tool: u32::try_from(tool).unwrap_or(u32::MAX),
                    field,
                    weight,
                    share,
                });
            }
        }
    }
}

/// The 4-grams of a word, a blank before and behind it; of scripts other than Latin the 3-grams too.
pub(super) fn word_grams(word: &str, mut each: impl FnMut(u64)) {
    let mut gram = 0_u64;
    let mut seen = 0;
    let wide = !word.is_ascii();
    for c in [' '].into_iter().chain(word.chars()).chain([' ']) {
        // Four characters of sixteen bits; where scripts are wider than that, two that collide are no harm.
        gram = (gram << 16) | u64::from(u32::from(c) & 0xffff);
        seen += 1;
        if seen >= 4 {
            each(gram);
        }
        if wide && seen >= 3 {
            each(gram & 0xffff_ffff_ffff);
        }
    }
    if seen < 4 && !wide {
        each(gram);
    }
}

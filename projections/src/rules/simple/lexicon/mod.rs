//! What words mean, from `prompts/<lang>/lexicon.toml`: verbs, objects, forms, measures, settings, units, cues, fillers.
//!
//! Both languages are looked up for every word, the sentence's own first. Spelling is forgiven by one edit, for longer
//! words; nothing here knows a whole sentence, nor any executor's name.

mod cue;
mod source;
mod spelling;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde::Deserialize;

pub(crate) use self::cue::Cue;
pub(crate) use self::source::{About, Aggregate, FieldName, Globs, Measure, Order, Recurrence, Setting, VerbClass};
pub(crate) use self::source::{Day, Request};
use self::source::{Enclitic, Source, Valued};
use self::spelling::{deletions, is_likely_misspelling, root};
use super::about::Questions;
use super::words::{Word, cut, fold, stem};
use crate::messages::Language;

/// Why lexicon data cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LexiconError {
    /// Not TOML, or an unknown or wrongly typed field.
    #[error("prompts/{language}/lexicon.toml: {source}")]
    Syntax {
        /// The language's code.
        language: &'static str,
        /// What is wrong, with line and column.
        #[source]
        source: Box<toml::de::Error>,
    },
}

/// A span of calendar time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Period {
    Minute,
    HalfHour,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// One meaning of a word or phrase. Indices point into [`Lexicons`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sense {
    Verb(usize),
    /// A form that speaks of an act already named («you wrote»).
    Past(usize),
    Object(usize),
    Form {
        index: usize,
        plural: bool,
    },
    Measure(usize),
    Setting(usize),
    Globs(usize),
    /// «largest», «newest»: an order that a sorting executor makes.
    Order(usize),
    /// The name of a field that every file or process has.
    Field(usize),
    /// «total», «average», «highest».
    Aggregate(usize),
    Zone(usize),
    Cue(Cue),
    Size(u64),
    Period(Period),
    Number(i64),
    Ordinal(i64),
    Weekday(i8),
    Month(i8),
    Folder,
    Noise,
}

#[derive(Clone, Debug)]
struct Phrase {
    rest: Vec<String>,
    language: Language,
    senses: Vec<Sense>,
}

/// What a lookup found.
pub(crate) struct Found<'a> {
    pub(crate) senses: &'a [Sense],
    pub(crate) words: usize,
    /// A pronoun was written onto the word.
    pub(crate) pronoun: bool,
    /// The spelling was forgiven.
    pub(crate) forgiven: bool,
}

/// The lexicons of all languages, indexed once.
#[derive(Clone, Debug)]
pub struct Lexicons {
    pub(crate) verbs: Vec<VerbClass>,
    pub(crate) objects: Vec<String>,
    pub(crate) forms: Vec<String>,
    pub(crate) measures: Vec<Measure>,
    pub(crate) settings: Vec<Setting>,
    pub(crate) globs: Vec<Globs>,
    pub(crate) orders: Vec<Order>,
    pub(crate) fields: Vec<FieldName>,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) zones: Vec<String>,
    pub(crate) recurrence: Vec<(Language, Recurrence)>,
    pub(crate) about: Vec<Questions>,
    pub(crate) elisions: Vec<String>,
    pub(crate) file_extensions: Vec<String>,
    pub(crate) domain_endings: Vec<String>,
    /// What is measured («hours», «importo»), folded. Such a word has no sense by that: it is a column's name as well.
    pub(crate) quantities: BTreeSet<String>,
    /// What a column holds («value»), folded; the name of a column only where no other word is.
    pub(crate) generics: BTreeSet<String>,
    /// What tells a request from a question or a statement.
    pub(crate) request: Vec<Request>,
    enclitics: Vec<Enclitic>,
    phrases: BTreeMap<String, Vec<Phrase>>,
    /// Words that stand inside of phrases.
    inside: BTreeSet<String>,
    /// Verbs without their endings, by language.
    roots: BTreeMap<String, Vec<Phrase>>,
    stems: BTreeMap<String, Vec<Phrase>>,
    /// Made when a word is met that nothing explains: most sentences have none.
    near: OnceLock<BTreeMap<String, Vec<String>>>,
    digest: blake3::Hash,
}

impl Lexicons {
    /// The lexicons that this binary was built with.
    pub fn embedded() -> Self {
        Self::parse(
            include_str!("../../../../../prompts/en/lexicon.toml"),
            include_str!("../../../../../prompts/it/lexicon.toml"),
        )
        .expect("the embedded lexicons are parsed by a test")
    }

    /// Reads the two files' texts.
    pub fn parse(en: &str, it: &str) -> Result<Self, LexiconError> {
        let mut hasher = blake3::Hasher::new();
        for source in [en, it] {
            hasher.update(&(source.len() as u64).to_le_bytes());
            hasher.update(source.as_bytes());
        }
        let mut lexicons = Self::empty(hasher.finalize());
        let mut sources = Vec::new();
        for (language, source) in [(Language::En, en), (Language::It, it)] {
            let source: Source = toml::from_str(source)
                .map_err(|source| LexiconError::Syntax { language: language.code(), source: Box::new(source) })?;
            lexicons.elisions.extend(source.elisions.iter().map(|e| fold(e)));
            sources.push((language, source));
        }
        for (language, source) in sources {
            lexicons.add(language, source);
        }
        lexicons.index();
        Ok(lexicons)
    }

    /// The hash of the source bytes: part of the rules digest.
    pub fn digest(&self) -> blake3::Hash {
        self.digest
    }

    fn empty(digest: blake3::Hash) -> Self {
        Self {
            verbs: Vec::new(),
            objects: Vec::new(),
            forms: Vec::new(),
            measures: Vec::new(),
            settings: Vec::new(),
            globs: Vec::new(),
            orders: Vec::new(),
            fields: Vec::new(),
            aggregates: Vec::new(),
            zones: Vec::new(),
            recurrence: Vec::new(),
            about: Vec::new(),
            elisions: Vec::new(),
            file_extensions: Vec::new(),
            domain_endings: Vec::new(),
            quantities: BTreeSet::new(),
            generics: BTreeSet::new(),
            request: Vec::new(),
            enclitics: Vec::new(),
            phrases: BTreeMap::new(),
            inside: BTreeSet::new(),
            roots: BTreeMap::new(),
            stems: BTreeMap::new(),
            near: OnceLock::new(),
            digest,
        }
    }

    fn add(&mut self, language: Language, source: Source) {
        for class in source.verbs {
            let index = self.verbs.len();
            self.enter(language, &class.words, Sense::Verb(index));
            self.enter(language, &class.past, Sense::Past(index));
            self.verbs.push(class);
        }
        for (name, words) in source.objects {
            let index = position_or_push(&mut self.objects, name);
            self.enter(language, &words, Sense::Object(index));
        }
        for form in source.forms {
            let index = position_or_push(&mut self.forms, form.form);
            self.enter(language, &form.singular, Sense::Form { index, plural: false });
            self.enter(language, &form.plural, Sense::Form { index, plural: true });
        }
        for measure in source.measures {
            self.enter(language, &measure.words, Sense::Measure(self.measures.len()));
            self.measures.push(measure);
        }
        for setting in source.settings {
            self.enter(language, &setting.words, Sense::Setting(self.settings.len()));
            self.settings.push(setting);
        }
        for globs in source.patterns {
            self.enter(language, &globs.words, Sense::Globs(self.globs.len()));
            self.globs.push(globs);
        }
        for order in source.orders {
            self.enter(language, &order.words, Sense::Order(self.orders.len()));
            self.orders.push(order);
        }
        for field in source.fields {
            self.enter(language, &field.words, Sense::Field(self.fields.len()));
            self.fields.push(field);
        }
        for aggregate in source.aggregates {
            self.enter(language, &aggregate.words, Sense::Aggregate(self.aggregates.len()));
            self.aggregates.push(aggregate);
        }
        for (cue, words) in source.cues {
            self.enter(language, &words, Sense::Cue(cue));
        }
        for (zone, words) in source.zones {
            let index = position_or_push(&mut self.zones, zone);
            self.enter(language, &words, Sense::Zone(index));
        }
        self.enter(language, &source.folders, Sense::Folder);
        self.enter(language, &source.noise, Sense::Noise);
        self.recurrence.push((language, source.recurrence));
        self.about.push(Questions::new(language, &source.about));
        self.file_extensions.extend(source.file_extensions);
        self.domain_endings.extend(source.domain_endings);
        self.request.push(source.request.folded());
        self.generics.extend(source.generics.iter().map(|word| fold(word)));
        self.quantities.extend(source.quantities.iter().map(|word| fold(word)));
        self.enclitics.extend(source.enclitics);
        let values = (source.sizes, source.periods, source.numbers, source.ordinals);
        self.add_values(language, values, [source.weekdays, source.months]);
    }

    #[expect(clippy::type_complexity, reason = "four tables of one source, read once")]
    fn add_values(
        &mut self,
        language: Language,
        (sizes, periods, numbers, ordinals): (
            Vec<Valued<u64>>,
            BTreeMap<String, Vec<String>>,
            Vec<Valued<i64>>,
            Vec<Valued<i64>>,
        ),
        [weekdays, months]: [Vec<Vec<String>>; 2],
    ) {
        for size in sizes {
            self.enter(language, &size.words, Sense::Size(size.value));
        }
        for (name, words) in periods {
            let period = match name.as_str() {
                "minute" => Period::Minute,
                "half_hour" => Period::HalfHour,
                "hour" => Period::Hour,
                "week" => Period::Week,
                "month" => Period::Month,
                "year" => Period::Year,
                _ => Period::Day,
            };
            self.enter(language, &words, Sense::Period(period));
        }
        for ordinal in ordinals {
            self.enter(language, &ordinal.words, Sense::Ordinal(ordinal.value));
        }
        self.enter_numbers(language, &numbers);
        for (number, words) in (1_i8..).zip(&weekdays) {
            self.enter(language, words, Sense::Weekday(number));
        }
        for (number, words) in (1_i8..).zip(&months) {
            self.enter(language, words, Sense::Month(number));
        }
    }

    /// Enters numbers and their usual compounds below a hundred («twenty-five», «ventotto»).
    fn enter_numbers(&mut self, language: Language, numbers: &[Valued<i64>]) {
        for number in numbers {
            self.enter(language, &number.words, Sense::Number(number.value));
        }
        let units: Vec<_> = numbers.iter().filter(|n| (1..10).contains(&n.value)).collect();
        for ten in numbers.iter().filter(|n| (20..100).contains(&n.value) && n.value % 10 == 0) {
            for unit in &units {
                let (Some(ten_word), Some(unit_word)) = (ten.words.first(), unit.words.first()) else { continue };
                let joined = match language {
                    Language::En => format!("{ten_word}-{unit_word}"),
                    Language::It if unit_word.starts_with(['o', 'u']) => {
                        format!("{}{unit_word}", ten_word.trim_end_matches(['a', 'i']))
                    }
                    Language::It => format!("{ten_word}{unit_word}"),
                };
                self.enter(language, &[joined], Sense::Number(ten.value + unit.value));
            }
        }
    }

    fn enter(&mut self, language: Language, entries: &[String], sense: Sense) {
        for entry in entries {
            let mut words = Vec::new();
            cut(entry, 0, entry.len(), &self.elisions, &mut words);
            let mut words = words.into_iter().map(|w| w.folded);
            let Some(first) = words.next() else { continue };
            let rest: Vec<String> = words.collect();
            let phrases = self.phrases.entry(first).or_default();
            match phrases.iter_mut().find(|p| p.language == language && p.rest == rest) {
                Some(phrase) if phrase.senses.contains(&sense) => {}
                Some(phrase) => phrase.senses.push(sense),
                None => phrases.push(Phrase { rest, language, senses: vec![sense] }),
            }
        }
    }

    /// Sorts phrases longest first and builds the table of stems.
    fn index(&mut self) {
        for phrases in self.phrases.values_mut() {
            phrases.sort_by_key(|p| std::cmp::Reverse(p.rest.len()));
        }
        self.inside = self.phrases.values().flatten().flat_map(|p| p.rest.iter().cloned()).collect();
        for (word, phrases) in &self.phrases {
            for phrase in phrases.iter().filter(|p| p.rest.is_empty()) {
                let verbs: Vec<Sense> = phrase.senses.iter().copied().filter(|s| matches!(s, Sense::Verb(_))).collect();
                if let (Some(root), false) = (root(word, phrase.language), verbs.is_empty()) {
                    let rooted = Phrase { rest: Vec::new(), language: phrase.language, senses: verbs };
                    self.roots.entry(root.to_owned()).or_default().push(rooted);
                }
            }
            for phrase in phrases.iter().filter(|p| p.rest.is_empty() && p.senses.iter().any(|&s| inflects(s))) {
                self.stems.entry(stem(word).to_owned()).or_default().push(phrase.clone());
            }
        }
    }

    /// The words that inflect, by what each is with a letter less.
    fn near(&self) -> &BTreeMap<String, Vec<String>> {
        self.near.get_or_init(|| {
            let mut near: BTreeMap<String, Vec<String>> = BTreeMap::new();
            let is_inflected =
                |phrase: &Phrase| phrase.rest.is_empty() && phrase.senses.iter().any(|&sense| inflects(sense));
            let inflected = self.phrases.iter().filter(|(_, phrases)| phrases.iter().any(is_inflected));
            for (word, _) in inflected.filter(|(word, _)| word.chars().count() >= 4) {
                for shorter in deletions(word) {
                    let words = near.entry(shorter).or_default();
                    if !words.contains(word) {
                        words.push(word.clone());
                    }
                }
            }
            near
        })
    }

    /// The longest phrase that starts at `words[0]`.
    pub(crate) fn look_up(&self, words: &[Word], language: Language) -> Option<Found<'_>> {
        let first = words.first()?;
        let exact = self.phrases.get(&first.folded).and_then(|p| longest(p, &words[1..], language));
        let near = self.misspelled_phrase(first, &words[1..], language);
        match (exact, near) {
            (Some((_, exact)), Some((senses, near))) if near > exact => {
                Some(Found { senses, words: near, pronoun: false, forgiven: true })
            }
            (Some((senses, words)), _) => Some(Found { senses, words, pronoun: false, forgiven: false }),
            (None, Some((senses, words))) => Some(Found { senses, words, pronoun: false, forgiven: true }),
            (None, None) => self.look_up_inflected(&first.folded, language),
        }
    }

    /// «più vechci»: a phrase of the sentence's language whose later words are misspelt, none of them a word of its own.
    fn misspelled_phrase(&self, first: &Word, rest: &[Word], language: Language) -> Option<(&[Sense], usize)> {
        let next = rest
            .first()
            .filter(|w| !w.punctuation && !self.phrases.contains_key(&w.folded) && !self.inside.contains(&w.folded))?;
        if next.folded.chars().count() < 5 {
            return None;
        }
        let fits = |p: &&Phrase| {
            let same = |(want, have): (&String, &Word)| {
                *want == have.folded || (want.chars().count() >= 5 && is_likely_misspelling(&have.folded, want))
            };
            p.language == language
                && !p.rest.is_empty()
                && p.rest.len() <= rest.len()
                && p.rest.iter().zip(rest).all(same)
        };
        let found = self.phrases.get(&first.folded)?.iter().filter(fits).max_by_key(|p| p.rest.len())?;
        Some((found.senses.as_slice(), found.rest.len() + 1))
    }

    /// How strongly `word` speaks for a language: by its spelling, its stem or a forgiven spelling.
    pub(crate) fn speaks(&self, word: &str, language: Language) -> u32 {
        let of = |phrases: Option<&Vec<Phrase>>| {
            phrases.is_some_and(|p| p.iter().any(|p| p.language == language && p.rest.is_empty()))
        };
        let (here, other) = (of(self.phrases.get(word)), self.phrases.contains_key(word));
        let only = here && !self.phrases[word].iter().any(|p| p.language != language && p.rest.is_empty());
        match (here, other) {
            (true, _) => {
                if only {
                    3
                } else {
                    1
                }
            }
            (false, true) => 0,
            (false, false) if word.chars().count() >= 4 && of(self.stems.get(stem(word))) => 2,
            (false, false)
                if word.chars().count() >= 5 && of(root(word, language).and_then(|root| self.roots.get(root))) =>
            {
                2
            }
            // A short word is near to others by chance.
            (false, false) if word.chars().count() < 5 => 0,
            (false, false) => {
                u32::from(self.forgive(word, Some(language)).is_some_and(|meant| of(self.phrases.get(meant))))
            }
        }
    }

    /// What a single word means, in the sentence's language first.
    pub(crate) fn senses_of(&self, word: &str, language: Language) -> &[Sense] {
        self.single(word, language).unwrap_or_default()
    }

    /// What a phrase of these very words means, in English.
    pub(crate) fn phrase(&self, words: &[&str]) -> Option<&[Sense]> {
        let (first, rest) = words.split_first()?;
        let fits =
            |p: &&Phrase| p.language == Language::En && p.rest.iter().map(String::as_str).eq(rest.iter().copied());
        self.phrases.get(*first)?.iter().find(fits).map(|p| p.senses.as_slice())
    }

    /// Whether someone who wrote `written` may have meant `meant`: the same, or an unknown word that is near to it.
    pub(crate) fn is_written_for(&self, written: &str, meant: &str) -> bool {
        let near = |a: &str, b: &str| a.as_bytes().first() == b.as_bytes().first() && a.len().abs_diff(b.len()) < 3;
        written == meant
            || (near(written, meant)
                && !self.phrases.contains_key(written)
                && !self.inside.contains(written)
                && is_likely_misspelling(written, meant))
    }

    /// The one word of days and spans of time that `written` is one edit away from.
    pub(crate) fn word_of_time(&self, written: &str, language: Language) -> Option<&str> {
        let is_time = |sense: &Sense| {
            let cue = matches!(sense, Sense::Cue(Cue::Today | Cue::Yesterday | Cue::This | Cue::Previous));
            cue || matches!(sense, Sense::Period(_) | Sense::Weekday(_) | Sense::Month(_))
        };
        let fits = |phrase: &Phrase| {
            phrase.rest.is_empty() && phrase.language == language && phrase.senses.iter().any(is_time)
        };
        let first = written.get(..1)?;
        let near = self.phrases.range(first.to_owned()..).take_while(|(word, _)| word.starts_with(first));
        let mut found = near
            .filter(|(word, phrases)| is_likely_misspelling(written, word) && phrases.iter().any(fits))
            .map(|(word, _)| word.as_str());
        let one = found.next()?;
        found.next().is_none().then_some(one)
    }

    /// Whether `word` is a noun of that object in any language.
    pub(crate) fn is_object(&self, word: &str, object: &str) -> bool {
        let names = |s: &Sense| matches!(s, Sense::Object(o) if self.objects[*o] == object);
        self.phrases.get(word).is_some_and(|p| p.iter().any(|p| p.rest.is_empty() && p.senses.iter().any(names)))
    }

    fn single(&self, word: &str, language: Language) -> Option<&[Sense]> {
        longest(self.phrases.get(word)?, &[], language).map(|(senses, _)| senses)
    }

    fn look_up_inflected(&self, word: &str, language: Language) -> Option<Found<'_>> {
        let found = |senses, pronoun, forgiven| Some(Found { senses, words: 1, pronoun, forgiven });
        let stemmed = self.stems.get(stem(word)).filter(|_| word.chars().count() >= 4);
        if let Some((senses, _)) = stemmed.and_then(|p| longest(p, &[], language)) {
            return found(senses, false, false);
        }
        for enclitic in &self.enclitics {
            let Some(base) = word.strip_suffix(enclitic.suffix.as_str()).filter(|b| b.len() >= 3) else { continue };
            let infinitive = format!("{base}e");
            let senses = self.single(base, language).or_else(|| self.single(&infinitive, language));
            if let Some(senses) = senses.filter(|s| s.iter().any(|s| matches!(s, Sense::Verb(_)))) {
                return found(senses, enclitic.pronoun, false);
            }
        }
        if let Some(root) = root(word, language).filter(|root| root.chars().count() >= 3)
            && let Some(phrase) = self.roots.get(root).and_then(|p| p.iter().find(|p| p.language == language))
        {
            return found(&phrase.senses, false, false);
        }
        let forgiven = self.forgive(word, Some(language))?;
        found(self.single(forgiven, language)?, false, true)
    }

    /// The one lexicon word that `word` is one edit away from; none when there are two readings.
    ///
    /// Within one language: «price» is no misspelling of «prime».
    fn forgive(&self, word: &str, language: Option<Language>) -> Option<&str> {
        let length = word.chars().count();
        if !(3..=24).contains(&length) || word.contains(|c: char| !c.is_alphabetic()) {
            return None;
        }
        // «txt» is no misspelling of «text».
        if self.file_extensions.iter().any(|e| e == word) {
            return None;
        }
        let mut hits: Vec<&str> = Vec::new();
        let mut consider = |key: &str| {
            for candidate in self.near().get(key).into_iter().flatten() {
                let speaks = |p: &Phrase| p.rest.is_empty() && language.is_none_or(|l| p.language == l);
                let spoken = self.phrases.get(candidate).is_some_and(|p| p.iter().any(speaks));
                if spoken && is_likely_misspelling(word, candidate) && !hits.contains(&candidate.as_str()) {
                    hits.push(candidate);
                }
            }
        };
        consider(word);
        for shorter in deletions(word) {
            consider(&shorter);
        }
        let is_verb = |word: &&str| {
            self.phrases[*word]
                .iter()
                .any(|p| p.rest.is_empty() && p.senses.iter().any(|s| matches!(s, Sense::Verb(_))))
        };
        if hits.iter().filter(|&w| is_verb(w)).count() == 1 {
            hits.retain(is_verb);
        }
        let first = *hits.first()?;
        let same = |other: &&str| self.phrases[*other][0].senses == self.phrases[first][0].senses;
        hits.iter().all(same).then_some(first)
    }
}

fn position_or_push(names: &mut Vec<String>, name: String) -> usize {
    names.iter().position(|n| *n == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

/// Only words that carry content are stemmed and forgiven; function words are too short and too alike.
fn inflects(sense: Sense) -> bool {
    matches!(sense, Sense::Verb(_) | Sense::Object(_) | Sense::Form { .. } | Sense::Measure(_))
        || matches!(sense, Sense::Order(_) | Sense::Field(_))
        || matches!(sense, Sense::Period(_) | Sense::Cue(Cue::Contains | Cue::Modified | Cue::First | Cue::Last))
}

fn longest<'a>(phrases: &'a [Phrase], rest: &[Word], language: Language) -> Option<(&'a [Sense], usize)> {
    let fits =
        |p: &Phrase| p.rest.len() <= rest.len() && p.rest.iter().zip(rest).all(|(want, have)| *want == have.folded);
    let mut best: Option<&Phrase> = None;
    for phrase in phrases.iter().filter(|p| fits(p)) {
        let better = best.is_none_or(|b| {
            phrase.rest.len() > b.rest.len()
                || (phrase.rest.len() == b.rest.len() && phrase.language == language && b.language != language)
        });
        if better {
            best = Some(phrase);
        }
    }
    best.map(|p| (p.senses.as_slice(), p.rest.len() + 1))
}

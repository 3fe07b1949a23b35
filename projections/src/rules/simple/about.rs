//! Questions about Metnos itself: what it can do, what it did, why it asked or acted.
//!
//! Recognised by the wordings in `[about]` of the lexicons, before clauses are made: around them only grammar,
//! politeness, a topic or a span of time may stand. Anything else makes it another sentence; a file, an address or
//! something quoted always does.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::items::{Item, What};
use super::lexicon::{About, Cue, Lexicons};
use super::lift::byte;
use super::template::Template;
use super::tools::Tools;
use super::words::{Word, cut, fold};
use super::{Facts, abstain, dates, sentence};
use crate::messages::{Language, Messages};
use crate::plan::{AbstentionKind, AnswerSpec, Origin, Plan, PlannedStep};

/// The most words of a sentence that is looked at.
const WORDS_MAX: usize = 40;
/// The most words of a topic.
const TOPIC_WORDS_MAX: usize = 6;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Skills,
    Done { changed: bool, last: bool },
    Why { of: Option<&'static str>, alone: bool },
}

/// The wordings of one language.
#[derive(Clone, Debug)]
pub(crate) struct Questions {
    language: Language,
    wordings: Vec<(Kind, Template)>,
    /// Wordings by the words that they may begin with.
    firsts: BTreeMap<String, Vec<usize>>,
    with: Vec<String>,
    fillers: Vec<String>,
}

impl Questions {
    /// Reads the wordings; one that cannot be read is never matched, and a test finds it.
    pub(crate) fn new(language: Language, source: &About) -> Self {
        let kinds = [
            (&source.skills, Kind::Skills),
            (&source.done, Kind::Done { changed: false, last: false }),
            (&source.changed, Kind::Done { changed: true, last: false }),
            (&source.last, Kind::Done { changed: false, last: true }),
            (&source.why_asked, Kind::Why { of: Some("asked"), alone: false }),
            (&source.why_did, Kind::Why { of: Some("did"), alone: false }),
            (&source.why, Kind::Why { of: None, alone: true }),
        ];
        let wordings: Vec<(Kind, Template)> = kinds
            .into_iter()
            .flat_map(|(texts, kind)| texts.iter().map(move |text| (kind, text)))
            .filter_map(|(kind, text)| Some((kind, Template::parse(text).ok()?)))
            .collect();
        let mut firsts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, (_, template)) in wordings.iter().enumerate() {
            for first in template.firsts() {
                let places = firsts.entry(first.to_owned()).or_default();
                if !places.contains(&at) {
                    places.push(at);
                }
            }
        }
        let folded = |words: &[String]| words.iter().map(|word| fold(word)).collect();
        Self { language, wordings, firsts, with: folded(&source.with), fillers: folded(&source.fillers) }
    }
}

impl Questions {
    /// The wordings that may begin with a word as it is written.
    fn beginning(&self, lexicons: &Lexicons, written: &str) -> Vec<usize> {
        if let Some(places) = self.firsts.get(written) {
            return places.clone();
        }
        let meant = |first: &&String| lexicons.is_written_for(written, first);
        self.firsts.keys().filter(meant).flat_map(|first| self.firsts[first].iter().copied()).collect()
    }
}

/// A wording that was found: what it asks, its language, its bytes.
struct Found<'a> {
    kind: Kind,
    questions: &'a Questions,
    start: usize,
    end: usize,
}

/// The plan for a question about Metnos itself, and the language of its wording; none for any other sentence.
pub(super) fn about(
    lexicons: &Lexicons,
    tools: &Tools,
    messages: &Messages,
    facts: &Facts<'_>,
    text: &str,
    (language, items): (Language, &[Item]),
) -> Option<(Plan, Language)> {
    let names_a_thing = |item: &Item| {
        let based = matches!(item.what, What::Globs { base: Some(_), .. });
        based
            || matches!(item.what, What::Path { .. } | What::Url(_) | What::Email(_) | What::Quoted(_) | What::Regex(_))
    };
    let found = find(lexicons, language, text)?;
    if let Some(thing) = items.iter().find(|item| names_a_thing(item)) {
        return about_a_thing(lexicons, messages, language, text, items, &found, thing);
    }
    // Where a wording stands, no file is meant, whatever files there are.
    let names_a_file = |&(from, to): &(u32, u32)| from as usize >= found.end || to as usize <= found.start;
    if facts.existing.iter().any(names_a_file) {
        return None;
    }
    let inner = Facts { existing: &[], ..*facts };
    let part = |from: usize, to: usize| part(lexicons, &inner, language, text, from..to);
    let (before, after) = (part(0, found.start), part(found.end, text.len()));
    let mut asked = Asked::new(&found);
    let tool = match found.kind {
        Kind::Skills => {
            asked.topic(lexicons, text, &before, &after)?;
            tools.by_grammar("list", "skills")
        }
        Kind::Done { changed, last } => {
            asked.time(lexicons, &before, &after, changed, last)?;
            tools.by_grammar("find", "tasks_done")
        }
        Kind::Why { of, alone } => {
            asked.reason(lexicons, &before, &after, of, alone)?;
            tools.by_grammar("get", "tasks_reason")
        }
    }?;
    let step = PlannedStep { tool: tool.name().to_owned(), args: asked.args.into(), provenance: asked.origins };
    let plan = Plan {
        engine: "simple".to_owned(),
        confidence_permille: 1000,
        steps: vec![step],
        answer: AnswerSpec::Result,
        abstention: None,
    };
    Some((plan, found.questions.language))
}

/// «what did you do with ~/x»: neither a question about Metnos alone nor a wish to see the thing. Asked about, not guessed.
fn about_a_thing(
    lexicons: &Lexicons,
    messages: &Messages,
    language: Language,
    text: &str,
    items: &[Item],
    found: &Found<'_>,
    thing: &Item,
) -> Option<(Plan, Language)> {
    let is_with = |item: &&Item| found.questions.with.contains(&item.folded);
    let mut leading = items.iter().take_while(|item| item.start < found.start);
    let between: Vec<&Item> = items.iter().filter(|item| item.start >= found.end && item.start < thing.start).collect();
    let fits = found.end <= thing.start
        && !matches!(found.kind, Kind::Why { .. })
        && leading.all(|item| opens(lexicons, item))
        && between.iter().any(is_with)
        && between.iter().all(|item| idle(item) || is_with(item) || item.object().is_some());
    if !fits {
        return None;
    }
    let words = text[found.start..thing.end].trim();
    let message = messages.say(language, "planner.unclear", json!({ "words": words }));
    Some((abstain(0, AbstentionKind::Ask, message, Vec::new()), found.questions.language))
}

/// The longest wording in the sentence, the sentence's own language first.
fn find<'a>(lexicons: &'a Lexicons, language: Language, text: &str) -> Option<Found<'a>> {
    let mut words = Vec::new();
    cut(text, 0, text.len(), &[], &mut words);
    words.retain(|word| !word.punctuation);
    if words.len() > WORDS_MAX {
        return None;
    }
    let same = |want: &str, have: &Word| lexicons.is_written_for(&have.folded, want);
    let mut best: Option<(usize, Found<'a>)> = None;
    let own_first = |questions: &&Questions| questions.language != language;
    let mut languages: Vec<&Questions> = lexicons.about.iter().collect();
    languages.sort_by_key(own_first);
    for questions in languages {
        let skips = |word: &Word| questions.fillers.contains(&word.folded);
        for at in 0..words.len() {
            for place in questions.beginning(lexicons, &words[at].folded) {
                let (kind, template) = &questions.wordings[place];
                let Some((end, matched)) = template.spoken(&words, at, &same, &skips) else { continue };
                if best.as_ref().is_none_or(|(most, _)| matched > *most) {
                    let (start, end) = (words[at].start, words[end - 1].end);
                    best = Some((matched, Found { kind: *kind, questions, start, end }));
                }
            }
        }
    }
    best.map(|(_, found)| found)
}

/// The arguments as far as they are made, with where each came from.
struct Asked<'a> {
    questions: &'a Questions,
    wording: Origin,
    args: Map<String, Value>,
    origins: BTreeMap<String, Origin>,
}

impl<'a> Asked<'a> {
    fn new(found: &Found<'a>) -> Self {
        let wording = Origin::Words { start: byte(found.start), end: byte(found.end) };
        // The empty pointer is the step itself: the person's own words ask for exactly this look.
        let origins = [(String::new(), wording.clone())].into_iter().collect();
        Self { questions: found.questions, wording, args: Map::new(), origins }
    }

    fn set(&mut self, name: &str, value: impl Into<Value>, origin: Origin) {
        self.args.insert(name.to_owned(), value.into());
        self.origins.insert(format!("/{name}"), origin);
    }

    fn is_with(&self, item: &Item) -> bool {
        self.questions.with.contains(&item.folded)
    }

    /// What a topic is left after: «with csv files».
    fn topic(&mut self, lexicons: &Lexicons, text: &str, before: &[Item], after: &[Item]) -> Option<()> {
        if !before.iter().all(|item| opens(lexicons, item)) {
            return None;
        }
        let content: Vec<&Item> = after.iter().filter(|item| !idle(item) && !self.is_with(item)).collect();
        let (Some(first), Some(last)) = (content.first(), content.last()) else {
            // «with this», «about it»: a thing is meant that the words do not hold.
            let refers = after.iter().any(|item| self.is_with(item)) && after.iter().any(|item| item.is(Cue::Pronoun));
            return (!refers).then_some(());
        };
        let led = after.iter().take_while(|item| item.start < first.start).any(|item| self.is_with(item));
        let topic = text[first.start..last.end].trim();
        let this = after.iter().any(|item| matches!(item.folded.as_str(), "this" | "that" | "questo" | "quello"));
        if !led || this || topic.split_whitespace().count() > TOPIC_WORDS_MAX || has_window(&content) {
            return None;
        }
        let origin = Origin::Words { start: byte(first.start), end: byte(last.end) };
        self.set("topic", topic, origin);
        Some(())
    }

    /// What span of time is meant: «yesterday», «in the last hour».
    fn time(&mut self, lexicons: &Lexicons, before: &[Item], after: &[Item], changed: bool, last: bool) -> Option<()> {
        let window = |item: &Item| matches!(item.what, What::Window { .. });
        // «on monday», «for me» are no things.
        let leads_to_thing = |at: usize| !after.get(at + 1).is_some_and(|next| window(next) || next.is(Cue::Listener));
        let about_a_thing =
            |at: usize, item: &Item| item.is(Cue::Pronoun) || (self.is_with(item) && leads_to_thing(at));
        let before_fits = before.iter().all(|item| window(item) || opens(lexicons, item));
        let mut later = after.iter().enumerate();
        let after_fits = later.all(|(at, item)| window(item) || (idle(item) && !about_a_thing(at, item)));
        let mut windows = before.iter().chain(after).filter(|item| window(item));
        let (found, further) = (windows.next(), windows.next());
        if !before_fits || !after_fits || further.is_some() {
            return None;
        }
        if let Some(Item { what: What::Window { window, .. }, start, end, .. }) = found {
            let dates::Window { since, until } = window.clone();
            let origin = Origin::Words { start: byte(*start), end: byte(*end) };
            for (name, moment) in [("since", since), ("until", until)] {
                if let Some(moment) = moment {
                    self.set(name, moment, origin.clone());
                }
            }
        }
        let wording = self.wording.clone();
        if changed {
            self.set("changes_only", true, wording.clone());
        }
        if last {
            self.set("max_results", 1, wording);
        }
        Some(())
    }

    /// Which act is meant: the last question, or the last deed.
    fn reason(
        &mut self,
        lexicons: &Lexicons,
        before: &[Item],
        after: &[Item],
        of: Option<&str>,
        alone: bool,
    ) -> Option<()> {
        let filler = |item: &Item| item.is_punctuation() || self.questions.fillers.contains(&item.folded);
        let fits = if alone {
            before.iter().chain(after).all(filler)
        } else {
            before.iter().all(|item| opens(lexicons, item))
                && after.iter().all(|item| idle(item) && !self.is_with(item))
        };
        if !fits {
            return None;
        }
        if let Some(of) = of {
            let wording = self.wording.clone();
            self.set("of", json!(of), wording);
        }
        Some(())
    }
}

fn has_window(items: &[&Item]) -> bool {
    items.iter().any(|item| matches!(item.what, What::Window { .. }))
}

/// Grammar, politeness, punctuation.
fn idle(item: &Item) -> bool {
    let negates = item.is(Cue::Not) || item.is(Cue::Condition);
    item.is_punctuation() || (!negates && (item.is_noise() || item.is(Cue::Listener)))
}

/// The items of one part of the sentence. Where a word of time is misspelt, it is read as it was meant, and what was put
/// together from it stands for the whole part.
fn part(
    lexicons: &Lexicons,
    facts: &Facts<'_>,
    language: Language,
    text: &str,
    range: std::ops::Range<usize>,
) -> Vec<Item> {
    let written = &text[range.clone()];
    let placed = |item: Item| Item { start: item.start + range.start, end: item.end + range.start, ..item };
    let items = sentence(lexicons, facts, language, written);
    let mut meant = String::new();
    let mut at = 0;
    for item in items.iter().filter(|item| item.is_unknown()) {
        let Some(word) = lexicons.word_of_time(&item.folded, language) else { continue };
        meant.push_str(&written[at..item.start]);
        meant.push_str(word);
        at = item.end;
    }
    if at == 0 {
        return items.into_iter().map(placed).collect();
    }
    meant.push_str(&written[at..]);
    let items = sentence(lexicons, facts, language, &meant).into_iter();
    items.map(|item| Item { start: range.start, end: range.end, ..item }).collect()
}

/// What may lead to a question: «please tell me».
fn opens(lexicons: &Lexicons, item: &Item) -> bool {
    let shows = |verb: usize| {
        let class = &lexicons.verbs[verb];
        class.weak || matches!(class.verbs[0].as_str(), "list" | "read" | "describe")
    };
    idle(item) || item.is(Cue::Connector) || item.verb().is_some_and(shows)
}

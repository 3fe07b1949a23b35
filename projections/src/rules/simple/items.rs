//! The sentence as a sequence of items: lifted things, and words with their meanings.
//!
//! It decides nothing about what to do. Composite things (sizes, days, lines) are put together in `compose`.

use super::dates::Window;
use super::lexicon::{Cue, Lexicons, Sense};
use super::lift::{Lifted, Looks, lift};
use super::words::{Word, cut};
use crate::messages::Language;

/// Which lines of a text are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    First(i64),
    Last(i64),
    Range(i64, i64),
    From(i64),
    Until(i64),
}

impl Lines {
    /// Whether there can be such lines: not none of them, not from the fourth to the second.
    pub(crate) fn sound(self) -> bool {
        match self {
            Self::First(n) | Self::Last(n) | Self::From(n) | Self::Until(n) => n > 0,
            Self::Range(from, to) => from != 0 && to != 0 && (from < 0 || to < 0 || from <= to),
        }
    }
}

/// What an item is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    Punctuation(char),
    Word(Vec<Sense>),
    Path {
        value: String,
        looks: Looks,
        quoted: bool,
    },
    Globs {
        base: Option<String>,
        globs: Vec<String>,
    },
    Url(String),
    Email(String),
    Quoted(String),
    /// A regular expression, as written.
    Regex(String),
    Zone(String),
    Number(i64),
    Bytes(u64),
    Bound {
        least: bool,
        bytes: u64,
    },
    Lines(Lines),
    /// «starting with a»: how lines or names begin or end.
    Affix {
        begins: bool,
        text: String,
    },
    Window {
        window: Window,
        today: bool,
    },
}

/// A stretch of the sentence.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) folded: String,
    pub(crate) what: What,
    /// A pronoun is written onto the word.
    pub(crate) pronoun: bool,
    /// Its spelling was forgiven.
    pub(crate) forgiven: bool,
}

impl Item {
    pub(crate) fn senses(&self) -> &[Sense] {
        match &self.what {
            What::Word(senses) => senses,
            _ => &[],
        }
    }

    pub(crate) fn is(&self, cue: Cue) -> bool {
        self.senses().contains(&Sense::Cue(cue))
    }

    pub(crate) fn is_unknown(&self) -> bool {
        matches!(&self.what, What::Word(senses) if senses.is_empty())
    }

    /// A word of grammar or politeness, whatever else it may mean.
    pub(crate) fn is_noise(&self) -> bool {
        self.senses().contains(&Sense::Noise)
    }

    pub(crate) fn is_punctuation(&self) -> bool {
        matches!(self.what, What::Punctuation(_))
    }

    pub(crate) fn is_word(&self) -> bool {
        matches!(self.what, What::Word(_))
    }

    pub(crate) fn object(&self) -> Option<usize> {
        self.senses().iter().find_map(|s| if let Sense::Object(o) = s { Some(*o) } else { None })
    }

    pub(crate) fn verb(&self) -> Option<usize> {
        self.senses().iter().find_map(|s| if let Sense::Verb(v) = s { Some(*v) } else { None })
    }

    pub(crate) fn past(&self) -> Option<usize> {
        self.senses().iter().find_map(|s| if let Sense::Past(v) = s { Some(*v) } else { None })
    }

    pub(crate) fn measure(&self) -> Option<usize> {
        self.senses().iter().find_map(|s| if let Sense::Measure(m) = s { Some(*m) } else { None })
    }

    pub(crate) fn form(&self) -> Option<(usize, bool)> {
        self.senses()
            .iter()
            .find_map(|s| if let Sense::Form { index, plural } = s { Some((*index, *plural)) } else { None })
    }
}

/// Which language most words of the sentence belong to; none when the words do not tell.
pub(crate) fn detect(lexicons: &Lexicons, text: &str) -> Option<Language> {
    let mut words = Vec::new();
    for (from, to) in gaps(text, &lift(lexicons, text, &[])) {
        cut(text, from, to, &lexicons.elisions, &mut words);
    }
    let count =
        |language| words.iter().filter(|w| !w.punctuation).map(|w| lexicons.speaks(&w.folded, language)).sum::<u32>();
    match count(Language::It).cmp(&count(Language::En)) {
        std::cmp::Ordering::Greater => Some(Language::It),
        std::cmp::Ordering::Less => Some(Language::En),
        std::cmp::Ordering::Equal => None,
    }
}

fn gaps(text: &str, places: &[super::lift::Place]) -> Vec<(usize, usize)> {
    let mut at = 0;
    let mut gaps = Vec::new();
    for place in places {
        gaps.push((at, place.start));
        at = place.end;
    }
    gaps.push((at, text.len()));
    gaps
}

/// Cuts the sentence into items.
pub(crate) fn items(lexicons: &Lexicons, text: &str, existing: &[(u32, u32)], language: Language) -> Vec<Item> {
    if let Some((from, to)) = expression(lexicons, text, language) {
        let mut items = self::items(lexicons, &text[..from], existing, language);
        let what = What::Regex(text[from..to].to_owned());
        items.push(Item { start: from, end: to, folded: String::new(), what, pronoun: false, forgiven: false });
        let after = self::items(lexicons, &text[to..], &[], language);
        items.extend(after.into_iter().map(|item| Item { start: item.start + to, end: item.end + to, ..item }));
        return items;
    }
    let places = lift(lexicons, text, existing);
    let mut items = Vec::new();
    let mut words = Vec::new();
    let mut places_in_order = places.iter();
    for (from, to) in gaps(text, &places) {
        words.clear();
        cut(text, from, to, &lexicons.elisions, &mut words);
        read_words(lexicons, &words, language, &mut items);
        if let Some(place) = places_in_order.next() {
            items.push(lifted(lexicons, place));
        }
    }
    drop_verbs_after_determiners(&mut items);
    phrasal(lexicons, &mut items);
    interjections(&mut items);
    items
}

/// «throw ~/x away»: a verb and its particle with the object between them mean what they mean together.
fn phrasal(lexicons: &Lexicons, items: &mut [Item]) {
    const PARTICLES: [&str; 7] = ["away", "out", "up", "off", "back", "down", "on"];
    for at in 0..items.len() {
        if !items[at].is_word() || items[at].folded.contains(' ') {
            continue;
        }
        let particle = (at + 2..items.len().min(at + 9)).find(|&p| {
            let closes = items.get(p + 1).is_none_or(|i| i.is_punctuation() || i.is(Cue::Connector) || i.is_noise());
            PARTICLES.contains(&items[p].folded.as_str()) && closes
        });
        let Some(particle) = particle else { continue };
        let thing = |i: &Item| i.is(Cue::Pronoun) || i.object().is_some() || !(i.is_word() || i.is_punctuation());
        if !items[at + 1..particle].iter().any(thing) {
            continue;
        }
        let Some(senses) = lexicons.phrase(&[&items[at].folded, &items[particle].folded]) else { continue };
        if senses.iter().any(|s| matches!(s, Sense::Verb(_))) {
            items[at].what = What::Word(senses.to_vec());
            items[particle].what = What::Word(vec![Sense::Noise]);
        }
    }
}

/// The run of characters after «regex» that only a regular expression has.
fn expression(lexicons: &Lexicons, text: &str, language: Language) -> Option<(usize, usize)> {
    let signs = |run: &str| run.contains(['^', '[', '\\', '+', '$', '|']) || run.contains(".*");
    let mut at = 0;
    for run in text.split_whitespace() {
        let from = at + text[at..].find(run)?;
        at = from + run.len();
        if !signs(run) || run.starts_with(['/', '~', '"', '\'']) {
            continue;
        }
        let before = super::words::fold(text[..from].trim_end());
        let named = before
            .split_whitespace()
            .rev()
            .take(3)
            .any(|word| lexicons.senses_of(word.trim_end_matches(':'), language).contains(&Sense::Cue(Cue::Regex)))
            || before.ends_with("regolare")
            || before.ends_with("expression");
        if named {
            return Some((from, from + run.trim_end_matches(['?', ',', ';']).len()));
        }
    }
    None
}

fn read_words(lexicons: &Lexicons, words: &[Word], language: Language, items: &mut Vec<Item>) {
    let mut at = 0;
    while at < words.len() {
        let word = &words[at];
        if word.punctuation {
            let mark = word.folded.chars().next().unwrap_or(',');
            items.push(plain(word, What::Punctuation(mark)));
            at += 1;
            continue;
        }
        let stop = words[at..].iter().position(|w| w.punctuation).map_or(words.len(), |p| at + p);
        let Some(found) = lexicons.look_up(&words[at..stop], language) else {
            items.push(plain(word, What::Word(Vec::new())));
            at += 1;
            continue;
        };
        let last = &words[at + found.words - 1];
        let folded = words[at..at + found.words].iter().map(|w| w.folded.as_str()).collect::<Vec<_>>().join(" ");
        items.push(Item {
            start: word.start,
            end: last.end,
            folded,
            what: What::Word(found.senses.to_vec()),
            pronoun: found.pronoun,
            forgiven: found.forgiven,
        });
        at += found.words;
    }
}

fn plain(word: &Word, what: What) -> Item {
    Item { start: word.start, end: word.end, folded: word.folded.clone(), what, pronoun: false, forgiven: false }
}

fn lifted(lexicons: &Lexicons, place: &super::lift::Place) -> Item {
    let archives = lexicons.objects.iter().position(|o| o == "archives");
    let what = match place.lifted.clone() {
        // «a tar.gz of …» names a kind of thing, not a file.
        Lifted::Extension(extension) if extension == "tar.gz" => {
            What::Word(archives.map(Sense::Object).into_iter().collect())
        }
        Lifted::Path { value, looks, quoted } => What::Path { value, looks, quoted },
        Lifted::Glob { base, glob } => What::Globs { base, globs: vec![glob] },
        Lifted::Url(url) => What::Url(url),
        Lifted::Email(email) => What::Email(email),
        Lifted::Quoted(text) => What::Quoted(text),
        Lifted::Extension(extension) => What::Globs { base: None, globs: vec![format!("*.{extension}")] },
        Lifted::Zone(zone) => What::Zone(zone),
    };
    Item { start: place.start, end: place.end, folded: String::new(), what, pronoun: false, forgiven: false }
}

/// «hmm no. undo that»: a no that only answers.
fn interjections(items: &mut [Item]) {
    for at in 0..items.len() {
        let alone = items[at].folded == "no" && items.get(at + 1).is_some_and(Item::is_punctuation);
        if alone && items[..at].iter().all(|i| i.is_noise() || i.is_punctuation()) {
            items[at].what = What::Word(vec![Sense::Noise]);
        }
    }
}

/// «the list», «la conta»: after a determiner a word that may be noun or verb is a noun.
fn drop_verbs_after_determiners(items: &mut [Item]) {
    for at in 1..items.len() {
        if !items[at - 1].is(Cue::Determiner) {
            continue;
        }
        if let What::Word(senses) = &mut items[at].what {
            let noun = |s: &Sense| {
                matches!(s, Sense::Object(_) | Sense::Form { .. } | Sense::Measure(_) | Sense::Cue(_) | Sense::Zone(_))
            };
            if senses.iter().any(noun) {
                senses.retain(|s| !matches!(s, Sense::Verb(_)));
            }
        }
    }
}

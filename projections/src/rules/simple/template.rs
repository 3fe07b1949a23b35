//! Sentence templates of manifests: `(a|b)`, `[optional]`, `{slot}`, `<class>`, matched over items.
//!
//! Words of grammar may stand anywhere between the parts of a template. A match is bounded in work, never recursive
//! over the sentence's length.

use super::items::{Item, What};
use super::lexicon::{Lexicons, Sense};
use super::words::{cut, fold};

/// Why a sentence template cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A bracket is missing at the end.
    #[error("the template ends before its `{0}`")]
    Unclosed(char),
    /// A bracket too many.
    #[error("`{0}` closes nothing")]
    Unopened(char),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Word(String),
    Slot(String),
    Class(String),
    /// One of these sequences; an empty one makes it optional.
    Choice(Vec<Vec<Part>>),
}

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

/// Checks a sentence template of a manifest, for whoever loads it; one that cannot be read is never matched.
pub fn check_template(text: &str) -> Result<(), TemplateError> {
    Template::parse(text).map(|_| ())
}

/// The items that the slots took and the items that the template explains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) slots: Vec<(String, usize)>,
    pub(crate) explained: Vec<usize>,
}

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut characters = text.chars().peekable();
        let mut alternatives = sequence(&mut characters, None)?;
        let parts = if alternatives.len() == 1 { alternatives.remove(0) } else { vec![Part::Choice(alternatives)] };
        Ok(Self { parts })
    }

    /// Matches words from `at` on; where they end and how many were matched. `skips` says which may stand between.
    pub(crate) fn spoken<W>(
        &self,
        words: &[W],
        at: usize,
        same: &dyn Fn(&str, &W) -> bool,
        skips: &dyn Fn(&W) -> bool,
    ) -> Option<(usize, usize)> {
        let parts: Vec<&Part> = self.parts.iter().collect();
        spoken(&parts, words, (at, 0), same, skips)
    }

    /// The words that it may begin with.
    pub(crate) fn firsts(&self) -> Vec<&str> {
        let mut found = Vec::new();
        firsts(&self.parts, &mut found);
        found
    }

    /// Matches the whole of `items`, words of grammar, punctuation and what `fills` says of an item's place aside.
    pub(crate) fn matches(
        &self,
        lexicons: &Lexicons,
        items: &[Item],
        accepts: impl Fn(&str, &Item) -> bool,
        fills: impl Fn(usize) -> bool,
    ) -> Option<Match> {
        let mut matcher = Matcher { lexicons, items, accepts, fills, fuel: 4_000 };
        let parts: Vec<&Part> = self.parts.iter().collect();
        matcher.run(&parts, 0, &mut Match::default())
    }
}

/// The depth is bounded by the template and the words: each call takes a part or a word.
fn spoken<W>(
    parts: &[&Part],
    words: &[W],
    (at, matched): (usize, usize),
    same: &dyn Fn(&str, &W) -> bool,
    skips: &dyn Fn(&W) -> bool,
) -> Option<(usize, usize)> {
    let Some((first, rest)) = parts.split_first() else { return Some((at, matched)) };
    match first {
        Part::Choice(alternatives) => alternatives.iter().find_map(|alternative| {
            let parts: Vec<&Part> = alternative.iter().chain(rest.iter().copied()).collect();
            spoken(&parts, words, (at, matched), same, skips)
        }),
        Part::Word(want) => {
            let word = words.get(at)?;
            let taken = same(want, word).then(|| spoken(rest, words, (at + 1, matched + 1), same, skips)).flatten();
            taken.or_else(|| {
                (matched > 0 && skips(word)).then(|| spoken(parts, words, (at + 1, matched), same, skips)).flatten()
            })
        }
        Part::Slot(_) | Part::Class(_) => None,
    }
}

/// Collects the words that a sequence may begin with; whether it may be empty.
fn firsts<'a>(parts: &'a [Part], found: &mut Vec<&'a str>) -> bool {
    for part in parts {
        let empty = match part {
            Part::Word(word) => {
                found.push(word);
                false
            }
            Part::Choice(alternatives) => {
                // Every alternative is looked at, also behind one that may be empty.
                let empty: Vec<bool> = alternatives.iter().map(|alternative| firsts(alternative, found)).collect();
                empty.contains(&true)
            }
            Part::Slot(_) | Part::Class(_) => false,
        };
        if !empty {
            return false;
        }
    }
    true
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Reads alternatives up to `close`.
fn sequence(characters: &mut Characters<'_>, close: Option<char>) -> Result<Vec<Vec<Part>>, TemplateError> {
    let mut alternatives = vec![Vec::new()];
    let mut word = String::new();
    loop {
        let next = characters.next();
        let ends =
            next.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '|'));
        if ends && !word.is_empty() {
            let mut words = Vec::new();
            let folded = fold(&std::mem::take(&mut word));
            cut(&folded, 0, folded.len(), &[], &mut words);
            let parts = words.into_iter().filter(|w| !w.punctuation).map(|w| Part::Word(w.folded));
            last(&mut alternatives).extend(parts);
        }
        match next {
            None => return close.map_or(Ok(alternatives), |c| Err(TemplateError::Unclosed(c))),
            Some(c) if Some(c) == close => return Ok(alternatives),
            Some('|') => alternatives.push(Vec::new()),
            Some('(') => {
                let inner = sequence(characters, Some(')'))?;
                last(&mut alternatives).push(Part::Choice(inner));
            }
            Some('[') => {
                let mut inner = sequence(characters, Some(']'))?;
                inner.push(Vec::new());
                last(&mut alternatives).push(Part::Choice(inner));
            }
            Some('{') => last(&mut alternatives).push(Part::Slot(name(characters, '}')?)),
            Some('<') => last(&mut alternatives).push(Part::Class(name(characters, '>')?)),
            Some(c @ (')' | ']' | '}' | '>')) => return Err(TemplateError::Unopened(c)),
            Some(c) if c.is_whitespace() => {}
            Some(c) => word.push(c),
        }
    }
}

fn last(alternatives: &mut [Vec<Part>]) -> &mut Vec<Part> {
    alternatives.last_mut().expect("there is always one alternative")
}

fn name(characters: &mut Characters<'_>, close: char) -> Result<String, TemplateError> {
    let mut name = String::new();
    for c in characters {
        if c == close {
            return Ok(name.trim().to_owned());
        }
        name.push(c);
    }
    Err(TemplateError::Unclosed(close))
}

struct Matcher<'a, F, G> {
    lexicons: &'a Lexicons,
    items: &'a [Item],
    accepts: F,
    fills: G,
    fuel: u32,
}

impl<F: Fn(&str, &Item) -> bool, G: Fn(usize) -> bool> Matcher<'_, F, G> {
    /// Matches `parts` from item `at` on; the depth is bounded by the template, the work by the fuel.
    fn run(&mut self, parts: &[&Part], at: usize, so_far: &mut Match) -> Option<Match> {
        self.fuel = self.fuel.checked_sub(1)?;
        let Some((first, rest)) = parts.split_first() else {
            let idle = (at..self.items.len()).all(|at| self.is_idle(at));
            return idle.then(|| so_far.clone());
        };
        if let Part::Choice(alternatives) = first {
            return alternatives.iter().find_map(|alternative| {
                let parts: Vec<&Part> = alternative.iter().chain(rest.iter().copied()).collect();
                self.run(&parts, at, so_far)
            });
        }
        for here in at..self.items.len() {
            let item = &self.items[here];
            if self.fits(first, item) {
                let mut next = so_far.clone();
                next.explained.push(here);
                if let Part::Slot(name) = first {
                    next.slots.push((name.clone(), here));
                }
                if let Some(found) = self.run(rest, here + 1, &mut next) {
                    return Some(found);
                }
            }
            if !self.is_idle(here) {
                return None;
            }
        }
        None
    }

    fn is_idle(&self, at: usize) -> bool {
        let item = &self.items[at];
        item.is_noise() || item.is_punctuation() || (self.fills)(at)
    }

    fn fits(&self, part: &Part, item: &Item) -> bool {
        match part {
            Part::Word(word) => item.is_word() && item.folded == *word,
            Part::Slot(name) => (self.accepts)(name, item),
            Part::Class(class) => self.in_class(class, item),
            Part::Choice(_) => false,
        }
    }

    /// A class is a verb or an object of the vocabulary, or the name of a kind of item.
    fn in_class(&self, class: &str, item: &Item) -> bool {
        let kind = match &item.what {
            What::Path { .. } => "path",
            What::Url(_) => "url",
            What::Zone(_) => "zone",
            What::Number(_) => "number",
            What::Quoted(_) => "quoted",
            What::Globs { .. } => "pattern",
            What::Window { .. } => "time",
            What::Lines(_) => "lines",
            _ => "",
        };
        let words = item.senses().iter().any(|sense| match sense {
            Sense::Verb(v) => self.lexicons.verbs[*v].verbs.first().is_some_and(|n| n == class),
            Sense::Object(o) => {
                self.lexicons.objects[*o] == class || self.lexicons.objects[*o].split('_').next() == Some(class)
            }
            Sense::Form { index, .. } => self.lexicons.forms[*index] == class || class == "form",
            _ => false,
        });
        words || (!kind.is_empty() && kind == class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_does_not_close() {
        assert_eq!(Template::parse("(a|b"), Err(TemplateError::Unclosed(')')));
        assert_eq!(Template::parse("a]"), Err(TemplateError::Unopened(']')));
        assert_eq!(check_template("(what|which) time [is it] [in {timezone}]"), Ok(()));
    }
}

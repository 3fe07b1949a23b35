//! Words beside a time that was read which would make it another one: «at 9 New York time», «every day at 8 in December»,
//! «during the summer», «or 10», «next month».
//!
//! It says that such words are there, for the person to be asked; it reads no time.

use std::ops::Range;

use super::items::What;
use super::lexicon::{Cue, Sense};
use super::once::Once;
use super::recurring::{BAR, Doubt};
use crate::rules::cadence::Zone;

impl Once<'_> {
    /// What stands beside the time at these tokens, between it and what is to be done, and went into nothing.
    pub(super) fn beside(&self, taken: &[Range<usize>], reminds: bool) -> Option<Doubt> {
        let within = |at: usize| taken.iter().any(|span| span.contains(&at));
        let first = taken.iter().map(|span| span.start).min()?;
        let mut found = None;
        let mut at = 0;
        while at < self.reader.tokens.len() && found.is_none() {
            if within(at) || self.is_idle(at) {
                at += 1;
                continue;
            }
            let to = (at..self.reader.tokens.len())
                .find(|&to| within(to) || self.closes(to, reminds))
                .unwrap_or(self.reader.tokens.len());
            let near = at > first || within(to) || reminds;
            let last = (at..to).rfind(|&last| !self.is_idle(last)).map_or(to, |last| last + 1);
            // «remind me at 9 PST to call»: behind the time it says no more than when.
            let article = self.reader.items[self.reader.tokens[at].1].is(Cue::Determiner);
            let wedged = reminds && self.is_marker(to) && at > 0 && within(at - 1) && !article;
            let doubt = || self.says_otherwise(at..last).or_else(|| wedged.then_some(Doubt::More(at..last)));
            found = doubt().filter(|_| near && to > at);
            // Behind the first word of what is to be done, only what touches the time is beside it.
            at = (to.max(at + 1)..self.reader.tokens.len())
                .find(|&next| next > 0 && within(next - 1))
                .unwrap_or(self.reader.tokens.len());
        }
        found
    }

    /// «next week», «il mese prossimo», where it says when: a time of which the day is missing.
    pub(super) fn coming(&self, reminds: bool) -> Option<Range<usize>> {
        let reader = &self.reader;
        let is_next = |at: usize| self.words.coming.iter().any(|word| word == reader.word(at));
        let period = |at: usize| reader.period(at).is_some();
        let read = |at: usize| (is_next(at) && period(at + 1)) || (period(at) && is_next(at + 1));
        let at = (0..reader.told_from()).find(|&at| read(at) && !reader.is_about(at))?;
        let article = at.checked_sub(1).filter(|&before| reader.items[reader.tokens[before].1].is(Cue::Determiner));
        let span = article.unwrap_or(at)..at + 2;
        let marker = (0..at).any(|before| self.is_marker(before));
        (if reminds { !marker } else { reader.is_silent_before(span.start) }).then_some(span)
    }

    /// Whether a word says nothing about when or what.
    fn is_idle(&self, at: usize) -> bool {
        let item = &self.reader.items[self.reader.tokens[at].1];
        item.is_punctuation() || item.is(Cue::Listener) || self.reminds_at(at)
    }

    fn reminds_at(&self, at: usize) -> bool {
        let verb = self.reader.items[self.reader.tokens[at].1].verb();
        verb.is_some_and(|v| self.reader.lexicons.verbs[v].verbs[0] == "schedule")
    }

    /// «to», «di», behind the wish to be reminded.
    fn is_marker(&self, at: usize) -> bool {
        self.words.reminded.iter().any(|word| word == self.reader.word(at)) && (0..at).any(|at| self.reminds_at(at))
    }

    /// Whether what is to be done begins at a token.
    fn closes(&self, at: usize, reminds: bool) -> bool {
        let (word, item) = &self.reader.tokens[at];
        let item = &self.reader.items[*item];
        let named = (word == BAR && self.zone_at(at).is_none()) || matches!(item.what, What::Punctuation(':'));
        // «ora di New York»: a word of place before the zone is no «di» of a reminder.
        let marks = reminds && self.is_marker(at) && self.zone_at(at + 1).is_none();
        let acts = item.verb().is_some() && !item.is_noise() && !self.is_zone(at);
        named || marks || acts
    }

    /// The doubt that these tokens are.
    fn says_otherwise(&self, span: Range<usize>) -> Option<Doubt> {
        let reader = &self.reader;
        if span.clone().any(|at| self.is_zone(at)) && !span.clone().any(|at| self.is_thing(at)) {
            return Some(Doubt::Zone(span));
        }
        if reader.phrase(&self.words.except, span.start).is_some() {
            return Some(Doubt::Except(span));
        }
        let bounds = reader.phrase(&self.words.bounding, span.start).is_some_and(|to| to <= span.end);
        let past = |at: usize| {
            let item = &reader.items[reader.tokens[at].1];
            item.is(Cue::Previous) || item.is(Cue::Last) || item.is(Cue::Ago) || item.is(Cue::Modified)
        };
        let of_time = |at: usize| self.is_of_time(at);
        let places = reader.phrase(&self.words.placing, span.start).is_some() && span.clone().any(of_time);
        // «a week», before «from Monday»
        let counted = reader.phrase(&self.words.one, span.start).or(reader.number(span.start).map(|_| span.start + 1));
        let measures = counted.is_some_and(|to| to < span.end && reader.period(to).is_some());
        let thing = span.clone().any(|at| self.is_thing(at));
        let dated = (places || measures) && !span.clone().any(past);
        ((bounds || dated) && !thing).then_some(Doubt::More(span))
    }

    /// «December», «summer», «weeks».
    fn is_of_time(&self, at: usize) -> bool {
        let reader = &self.reader;
        let season = reader.phrase(&self.words.seasons, at).is_some();
        let time = reader.lexicons.senses_of(reader.word(at), reader.language);
        let named = time.iter().any(|s| matches!(s, Sense::Month(_) | Sense::Weekday(_) | Sense::Period(_)));
        season || named || (reader.word(at) == "time" && at > 0)
    }

    /// Whether a token names something that there is: files, a folder.
    fn is_thing(&self, at: usize) -> bool {
        let item = &self.reader.items[self.reader.tokens[at].1];
        let object = item.object().is_some_and(|o| self.reader.lexicons.objects[o] != "now");
        object && !self.is_of_time(at) && !self.is_zone(at)
    }

    /// Whether a token says whose time it is: «New York», «CET».
    fn is_zone(&self, at: usize) -> bool {
        self.zone_at(at).is_some() || self.reader.phrase(&self.words.clocks, at).is_some()
    }

    /// The zone that is named at a token.
    fn zone_at(&self, at: usize) -> Option<&str> {
        let item = &self.reader.items[self.reader.tokens.get(at)?.1];
        match &item.what {
            What::Zone(zone) => Some(zone),
            // «(Europe/Rome)»
            What::Path { value, quoted: false, .. } => {
                let name = value.trim_matches(['(', ')']);
                (name.contains('/') && Zone::named(name).is_ok()).then_some(name)
            }
            _ => None,
        }
    }
}

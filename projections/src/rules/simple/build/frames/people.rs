//! Frames that speak of people and of what recurs: messages, and the ends, pauses and runs of tasks.

use serde_json::json;

use super::super::super::fill::{Filled, words};
use super::super::super::items::{Item, What};
use super::super::super::lexicon::{Cue, Sense};
use super::super::super::lift::byte;
use super::super::{Builder, Trouble};
use super::Meaning;
use crate::messages::Language;
use crate::plan::Origin;

impl Builder<'_> {
    /// What is to recur no longer: by the words that usage does not explain.
    pub(super) fn ended(&mut self, name: &str, meant: &Meaning<'_>) -> Result<(), Trouble> {
        let tool = self.known(name)?;
        let verb = |name: &str| self.items.iter().any(|i| i.verb().is_some_and(|v| self.class(v).verbs[0] == name));
        let paused = match (name == "toggle_recurring", verb("pause"), verb("resume")) {
            (false, ..) => None,
            (true, true, false) => Some(true),
            (true, false, true) => Some(false),
            (true, ..) => return Err(self.not_filled()),
        };
        let spans = |i: &Item| {
            !matches!(i.what, What::Word(_) | What::Punctuation(_) | What::Quoted(_) | What::Globs { base: None, .. })
        };
        if self.items.iter().any(spans) {
            return Err(self.not_filled());
        }
        if let Some(span) = self.task_timed().filter(|span| span.start > 0) {
            return Err(Trouble::Time { words: self.said(span) });
        }
        let (first, last) = self.task_named(meant).ok_or_else(|| self.not_filled())?;
        let mut filled = Filled::default();
        let text = self.text[self.items[first].start..self.items[last].end].to_owned();
        filled.args.insert("name".to_owned(), json!(text));
        if let Some(paused) = paused {
            filled.args.insert("paused".to_owned(), json!(paused));
            filled.provenance.insert("/paused".to_owned(), Origin::Default);
        }
        let origin = Origin::Words { start: byte(self.items[first].start), end: byte(self.items[last].end) };
        filled.provenance.insert("/name".to_owned(), origin);
        filled.used.extend(0..self.items.len());
        self.push(tool, filled)
    }

    /// The words that name a task: the longest run of them, first and last.
    pub(super) fn task_named(&self, meant: &Meaning<'_>) -> Option<(usize, usize)> {
        let acts = ["cancel", "delete", "undo", "schedule", "pause", "resume", "run", "move", "write"];
        let names = |at: usize| {
            let item = &self.items[at];
            let label = self.names(item, "tasks") && item.is_word();
            let told = item.senses().iter().all(|s| matches!(s, Sense::Noise | Sense::Cue(_) | Sense::Setting(_)));
            let act = item.verb().is_some_and(|v| self.acts(v) && acts.contains(&self.class(v).verbs[0].as_str()));
            let idle = item.is_word() && !item.is_unknown() && told;
            matches!(item.what, What::Quoted(_) | What::Globs { .. }) || (item.is_word() && !label && !idle && !act)
        };
        let ends = |i: &Item| i.is_punctuation();
        let acting = |i: &Item| i.verb().is_some_and(|v| self.acts(v)) || self.names(i, "tasks");
        let here = |at: usize| {
            let from = self.items[..at].iter().rposition(ends).map_or(0, |p| p + 1);
            let to = self.items[at..].iter().position(ends).map_or(self.items.len(), |p| at + p);
            self.items[from..to].iter().any(acting)
        };
        let weight = |at: usize| {
            let item = &self.items[at];
            let strange = item.is_unknown() || !item.is_word();
            i32::from(here(at)) * 4 + if strange && meant.speaks(&item.folded) < 10 { 3 } else { 1 }
        };
        let mut best: Option<(i32, usize, usize)> = None;
        let mut at = 0;
        while at < self.items.len() {
            if !names(at) {
                at += 1;
                continue;
            }
            // «photo of the garden»: small words inside of a name belong to it.
            let small = |at: usize| self.items[at].is(Cue::From) || self.items[at].is(Cue::Determiner);
            let mut last = at;
            while let Some(next) = (last + 1..self.items.len().min(last + 3)).find(|&n| names(n))
                && (last + 1..next).all(small)
            {
                last = next;
            }
            let points: i32 = (at..=last).filter(|&n| names(n)).map(weight).sum();
            if best.is_none_or(|(most, ..)| points > most) {
                best = Some((points, at, last));
            }
            at = last + 1;
        }
        best.map(|(_, first, last)| (first, last))
    }

    /// The text of a message: what stands in quotes, or the rest after a word or mark that opens what is told.
    fn message_text(&self, quoted: Option<usize>, last: usize) -> Option<(usize, usize, String)> {
        if let Some(at) = quoted {
            let What::Quoted(text) = &self.items[at].what else { return None };
            return Some((self.items[at].start, self.items[at].end, text.clone()));
        }
        let opens = |i: &Item| i.what == What::Punctuation(':') || i.is(Cue::Saying);
        // «che abbiamo», «se»: the word that opens is part of a phrase, or of what is told.
        let phrase = |i: &Item| {
            let first = i.folded.split(' ').next().filter(|_| i.is_word() && i.folded.contains(' '))?;
            let saying = |&l: &Language| self.lexicons.senses_of(first, l).contains(&Sense::Cue(Cue::Saying));
            Language::ALL.iter().any(saying).then(|| first.len() + 1)
        };
        let within = |i: &Item| i.is(Cue::Condition) || i.is(Cue::Wonders) || phrase(i).is_some();
        let Some(mut at) = (last + 1..self.items.len()).find(|&at| opens(&self.items[at]) || within(&self.items[at]))
        else {
            return self.told_before(last);
        };
        while self.items.get(at).is_some_and(|i| opens(i) || i.what == What::Punctuation(',')) {
            at += 1;
            // «that, well, dinner is off»: a filler between commas.
            let filler = self.items.get(at).is_some_and(|i| i.is_noise() && i.is_word());
            let closed = self.items.get(at + 1).is_some_and(|i| i.what == What::Punctuation(','));
            at += usize::from(filler && closed);
        }
        let Some(start) = self.items.get(at).map(|i| i.start + phrase(i).unwrap_or(0)) else {
            return self.told_before(last);
        };
        let end = self.told_again(at).map_or(self.text.len(), |comma| self.items[comma].start);
        let text = self.text[start..end].trim_end();
        let text = text.strip_suffix('?').unwrap_or(text).trim_end();
        Some((start, start + text.len(), text.to_owned()))
    }

    /// «the parcel has arrived, let Helen know»: what stands before the clause that names the person.
    fn told_before(&self, person: usize) -> Option<(usize, usize, String)> {
        let comma = (1..person).rev().find(|&at| matches!(self.items[at].what, What::Punctuation(',' | '.' | ';')))?;
        let clause = &self.items[comma + 1..];
        let tells = |i: &Item| {
            i.is(Cue::Tells) || i.verb().is_some_and(|v| self.class(v).verbs[0] == "send") || i.is(Cue::Saying)
        };
        let start = self.items.first()?.start;
        let text = self.text[start..self.items[comma].start].trim();
        (clause.iter().any(tells) && !text.is_empty()).then(|| (start, start + text.len(), text.to_owned()))
    }

    /// «…, tell him»: the comma of a last clause that only says once more that it is to be told.
    fn told_again(&self, from: usize) -> Option<usize> {
        let comma = (from..self.items.len())
            .rev()
            .find(|&at| matches!(self.items[at].what, What::Punctuation(',' | '.' | ';')))?;
        let rest = &self.items[comma + 1..];
        let tells = |i: &Item| i.is(Cue::Tells) || i.verb().is_some_and(|v| self.class(v).verbs[0] == "send");
        let small =
            |i: &Item| tells(i) || i.is_noise() || i.is_punctuation() || i.is(Cue::Pronoun) || i.is(Cue::Connector);
        (rest.iter().any(tells) && rest.iter().all(small)).then_some(comma)
    }

    /// Who gets what is passed on: a name, an address, one of the family.
    pub(super) fn person_said(&self, all: &[usize]) -> Option<usize> {
        let person = |at: &usize| {
            let item = &self.items[*at];
            let capital = self.said(*at..*at + 1).starts_with(char::is_uppercase);
            let name = (item.is_unknown() || item.forgiven) && capital && *at > 0;
            name || item.is(Cue::People) || matches!(item.what, What::Email(_))
        };
        all.iter().copied().find(person)
    }

    /// A message: to the person who is named, what stands in quotes or after a word or mark that opens what is told.
    pub(super) fn sent(&mut self, all: &[usize]) -> Result<(), Trouble> {
        let tool = self.known("send_messages")?;
        let capital = |at: usize| {
            let item = &self.items[at];
            item.is_word()
                && (item.is_unknown() || item.forgiven)
                && self.said(at..at + 1).starts_with(char::is_uppercase)
        };
        let quoted = all.iter().copied().find(|&at| matches!(self.items[at].what, What::Quoted(_)));
        let person =
            |at: usize| self.items[at].is(Cue::People) || matches!(self.items[at].what, What::Email(_)) || capital(at);
        let led = |at: usize| {
            at.checked_sub(1).is_some_and(|b| {
                self.items[b].is(Cue::Into) || self.items[b].folded == "per" || self.items[b].folded == "for"
            })
        };
        let opens = |at: usize| {
            at.checked_sub(1).is_none_or(|b| matches!(self.items[b].what, What::Punctuation('.' | '!' | '?')))
        };
        let people: Vec<usize> = all.iter().copied().filter(|&at| person(at)).collect();
        let to = people
            .iter()
            .find(|&&at| led(at))
            .or_else(|| people.iter().find(|&&at| !opens(at)))
            .or(people.first())
            .copied()
            .ok_or_else(|| self.not_filled())?;
        let titled = |at: usize| self.items[at].what == What::Punctuation('.') && self.items[at - 1].is(Cue::Title);
        let last = (to..all.len()).take_while(|&at| at == to || capital(at) || titled(at)).last().unwrap_or(to);
        let (others, last) = self.more_recipients(last);
        self.refuse_choice(last)?;
        let (start, end, text) = self.message_text(quoted, last).ok_or_else(|| self.not_filled())?;
        // What is read or fetched first is another frame; inside of the text it is only text.
        let place = |i: &Item| matches!(i.what, What::Path { .. } | What::Globs { .. } | What::Url(_));
        if self.items.iter().any(|i| place(i) && !(start..end).contains(&i.start)) {
            return Err(self.not_filled());
        }
        // Somebody who is named and would not get it.
        if people.iter().any(|&at| at > last && self.items[at].start < start) {
            return Err(self.not_filled());
        }
        let mut names = vec![self.said(to..to + 1)];
        if last > to && others.is_empty() {
            names = vec![self.said(to..last + 1)];
        }
        let mut filled = Filled::default();
        filled.provenance.insert("/to/0".to_owned(), words(&self.items[to]));
        for (index, (name, item)) in (1..).zip(others) {
            names.push(name);
            filled.provenance.insert(format!("/to/{index}"), words(&self.items[item]));
        }
        filled.args.insert("to".to_owned(), json!(names));
        filled.args.insert("body".to_owned(), json!(text));
        filled.provenance.insert("/body".to_owned(), Origin::Words { start: byte(start), end: byte(end) });
        filled.used.extend(0..self.items.len());
        self.push(tool, filled)
    }
}

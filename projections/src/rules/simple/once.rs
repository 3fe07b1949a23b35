//! One moment to come: «in 20 minutes», «tra un'ora», «tomorrow at 8», «domani mattina», «alle 18:30».
//!
//! A day without a time of day is not enough, and a moment that is over is none.

use std::ops::Range;

use jiff::civil::{Date, DateTime, time};
use jiff::{Span, Timestamp, Zoned};

use super::Facts;
use super::dates::{self, span};
use super::items::Item;
use super::lexicon::{Lexicons, Recurrence};
use super::recurring::{Found, Reader, Recurring, tokens};
use crate::messages::Language;

/// What was read: the moment, and its tokens: from one to one past the last, once or twice.
struct Said {
    /// As a cadence is written; empty where a time of day is missing, or over.
    when: String,
    spans: Vec<Range<usize>>,
}

/// Whether a sentence names one day by its name, and not every one: «next Monday», «on Friday», «venerdì prossimo».
pub(super) fn names_a_day(lexicons: &Lexicons, language: Language, items: &[Item]) -> bool {
    let tokens = tokens(items);
    let Some((_, words)) = lexicons.recurrence.iter().find(|(of, _)| *of == language) else { return false };
    let reader = Reader { lexicons, language, words, items, tokens: &tokens, likely: false };
    let is_round = (0..tokens.len()).any(|at| reader.phrase(&words.every, at).is_some());
    let is_next = |at: usize| words.next.iter().any(|word| word == reader.word(at));
    let one = |at: usize| {
        let alone = reader.weekday(at).is_some() && !reader.word(at).ends_with("days");
        let others = (0..tokens.len()).filter(|&other| reader.weekday(other).is_some()).count();
        let on = language == Language::En && at > 0 && reader.word(at - 1) == "on";
        alone && others == 1 && (on || is_next(at + 1) || (at > 0 && is_next(at - 1)))
    };
    !is_round && (0..tokens.len()).any(one)
}

/// Reads the moment that a sentence names. A time of day alone («at 18:30») is one where the sentence asks to be reminded;
/// other sentences begin or end with the moment.
pub(super) fn once(lexicons: &Lexicons, language: Language, items: &[Item], facts: &Facts<'_>, reminds: bool) -> Found {
    let tokens = tokens(items);
    let Some((_, words)) = lexicons.recurrence.iter().find(|(of, _)| *of == language) else { return Found::Nothing };
    let Some(zone) = dates::zone(facts.zone) else { return Found::Nothing };
    let Ok(now) = Timestamp::from_microsecond(facts.now_us) else { return Found::Nothing };
    let reader = Reader { lexicons, language, words, items, tokens: &tokens, likely: false };
    let once = Once { reader, words, now: now.to_zoned(zone) };
    let count = tokens.len();
    let first = (0..count)
        .find_map(|at| once.stretch(at).or_else(|| once.day(at)))
        .or_else(|| (0..count).filter(|_| reminds).find_map(|at| once.hour(at)));
    let Some(Said { when, spans }) = first else { return Found::Nothing };
    let within = |at: usize| spans.iter().any(|span| span.contains(&at));
    let silent = |at: usize| items[tokens[at].1].is_punctuation() || items[tokens[at].1].is_noise();
    let begins = (0..spans[0].start).all(silent);
    let ends = (spans[spans.len() - 1].end..count).all(|at| items[tokens[at].1].is_punctuation());
    if !(reminds || begins || ends) {
        return Found::Nothing;
    }
    // «in 20 minutes or in an hour», «on Friday … at 5 … or Monday»: what is left must not be of time.
    let is_more = (0..count).any(|at| !within(at) && once.is_of_time(at));
    if when.is_empty() || is_more {
        return if reminds { Found::Unclear } else { Found::Nothing };
    }
    let spans = spans.into_iter().map(|span| tokens[span.start].1..tokens[span.end - 1].1 + 1).collect();
    Found::Time(Recurring { when, spans, timed: true })
}

struct Once<'a> {
    reader: Reader<'a>,
    words: &'a Recurrence,
    now: Zoned,
}

/// A day that is named: which, the part of it, and its tokens.
struct Named {
    /// The days that it may be, the nearest first.
    dates: Vec<Date>,
    part: Option<String>,
    span: Range<usize>,
}

impl Once<'_> {
    /// «in 20 minutes», «tra mezz'ora», «fra un'ora».
    fn stretch(&self, at: usize) -> Option<Said> {
        let reader = &self.reader;
        let from = reader.phrase(&self.words.after, at)?;
        let fraction = |(phrase, minutes): (&String, &u8)| Some((reader.phrase([phrase], from)?, i64::from(*minutes)));
        if let Some((to, minutes)) = self.words.fractions.iter().filter_map(fraction).max() {
            return self.later(Span::new().try_minutes(minutes).ok()?, at..to);
        }
        let one = reader.phrase(&self.words.one, from).map(|to| (1, to));
        let (count, unit) = one.or_else(|| Some((reader.number(from)?, from + 1)))?;
        let span = span(count, reader.period(unit)?)?;
        // «in 2 hours and 30 minutes» is more than is read here.
        let joined = matches!(reader.word(unit + 1), "and" | "e") && reader.number(unit + 2).is_some();
        self.later(span, at..unit + 1).filter(|_| count > 0 && !joined)
    }

    fn later(&self, by: Span, span: Range<usize>) -> Option<Said> {
        let moment = self.now.checked_add(by).ok()?.timestamp();
        Some(Said { when: format!("at:{}", moment.strftime("%Y-%m-%dT%H:%M:%SZ")), spans: vec![span] })
    }

    /// «tomorrow at 8», «alle 8 di domani», «domani mattina», «on Friday … at 5», «il 24 dicembre alle 10».
    fn day(&self, at: usize) -> Option<Said> {
        let reader = &self.reader;
        let Named { dates, part, span } = self.tomorrow(at).or_else(|| self.weekday(at)).or_else(|| self.date(at))?;
        let (minutes, mut span) = match reader.time(reader.skip_links(span.end)) {
            Some((minutes, to)) => (Some(minutes), span.start..to),
            None => match reader.time_before(span.start) {
                Some((minutes, from)) => (Some(minutes), from..span.end),
                None => (None, span),
            },
        };
        let (late, to) = reader.part_after(span.end);
        span.end = to;
        let part = late.or(part.as_deref());
        // «tomorrow … at 8»: the time stands apart.
        let apart = if minutes.is_none() { self.time_apart(&span) } else { None };
        let minutes = minutes.map(|minutes| reader.at_part(Some(minutes), part));
        let minutes = minutes.or(apart.as_ref().map(|(minutes, _)| *minutes));
        let minutes = minutes.or_else(|| part.map(|part| reader.at_part(None, Some(part))));
        let when = minutes.and_then(|minutes| dates.into_iter().find_map(|date| self.on(date, minutes)));
        let mut spans: Vec<_> = std::iter::once(span).chain(apart.map(|(_, span)| span)).collect();
        spans.sort_by_key(|span| span.start);
        Some(Said { when: when.unwrap_or_default(), spans })
    }

    /// The one time of day outside of a span.
    fn time_apart(&self, day: &Range<usize>) -> Option<(i64, Range<usize>)> {
        let reader = &self.reader;
        let mut found = None;
        let mut at = 0;
        while at < reader.tokens.len() {
            let read = self.clock(at).filter(|(_, to)| !day.contains(&at) && !day.contains(&(to - 1)));
            let Some((minutes, to)) = read else {
                at += 1;
                continue;
            };
            if found.is_some() {
                return None;
            }
            found = Some((minutes, at..to));
            at = to;
        }
        found
    }

    /// «tomorrow», «domani mattina».
    fn tomorrow(&self, at: usize) -> Option<Named> {
        let named = |(phrase, day)| Some((self.reader.phrase([phrase], at)?, day));
        let (to, day) = self.words.days.iter().filter_map(named).max_by_key(|(to, _)| *to)?;
        let date = self.now.date().checked_add(Span::new().days(i64::from(day.after))).ok()?;
        Some(Named { dates: vec![date], part: day.part.clone(), span: at..to })
    }

    /// «on Friday», «next Monday», «venerdì prossimo»: the next of its name.
    fn weekday(&self, at: usize) -> Option<Named> {
        let reader = &self.reader;
        let day = reader.weekday(at)?;
        let is_next = |at: usize| self.words.next.iter().any(|word| word == reader.word(at));
        let links = |at: usize| {
            is_next(at) || self.words.on.iter().any(|word| word == reader.word(at)) || reader.word(at) == "on"
        };
        let from = (0..at).rev().take_while(|&before| links(before)).last().unwrap_or(at);
        let to = at + 1 + usize::from(is_next(at + 1));
        let to_come = (i64::from(day) - i64::from(self.now.weekday().to_sunday_zero_offset())).rem_euclid(7);
        let after = |days: i64| self.now.date().checked_add(Span::new().days(days)).ok();
        let dates = [after(to_come), after(to_come + 7)].into_iter().flatten().collect();
        Some(Named { dates, part: None, span: from..to })
    }

    /// «24 December», «il 24 dicembre», «December 24th».
    fn date(&self, at: usize) -> Option<Named> {
        let reader = &self.reader;
        let figure = |at: usize| {
            let digits = reader.word(at).trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let said =
                reader.ordinal(at).or_else(|| self.words.first.iter().any(|w| w == reader.word(at)).then_some(1));
            digits.parse::<i8>().ok().or(said.and_then(|n| i8::try_from(n).ok())).filter(|n| (1..=31).contains(n))
        };
        let of = |at: usize| at + usize::from(reader.word(at) == "of");
        let (day, month, to) = match (figure(at), reader.month(of(at + 1))) {
            (Some(day), Some(month)) => (day, month, of(at + 1) + 1),
            _ => (figure(at + 1)?, reader.month(at)?, at + 2),
        };
        let year = reader.word(to).parse::<i16>().ok().filter(|year| (1970..3000).contains(year));
        let to = to + usize::from(year.is_some());
        let links = |at: usize| self.words.on.iter().any(|word| word == reader.word(at));
        let from = (0..at).rev().take_while(|&before| links(before)).last().unwrap_or(at);
        let years = year.map_or_else(|| vec![self.now.year(), self.now.year() + 1], |year| vec![year]);
        let dates: Vec<Date> = years.into_iter().filter_map(|year| Date::new(year, month, day).ok()).collect();
        Some(Named { dates, part: None, span: from..to })
    }

    /// «at 18:30», «at 5 in the afternoon».
    fn clock(&self, at: usize) -> Option<(i64, usize)> {
        let reader = &self.reader;
        reader.phrase(&self.words.at, at)?;
        let (minutes, to) = reader.time(at)?;
        let (part, to) = reader.part_after(to);
        Some((reader.at_part(Some(minutes), part), to))
    }

    /// «at 18:30»: the next time that clocks show it.
    fn hour(&self, at: usize) -> Option<Said> {
        let (minutes, to) = self.clock(at)?;
        let today = self.now.date();
        let when = self.on(today, minutes).or_else(|| self.on(today.tomorrow().ok()?, minutes))?;
        let span = at..to;
        Some(Said { when, spans: vec![span] })
    }

    /// Whether a word is of time, and would say something else than what was read.
    fn is_of_time(&self, at: usize) -> bool {
        self.stretch(at).is_some()
            || self.clock(at).is_some()
            || self.tomorrow(at).is_some()
            || self.reader.weekday(at).is_some()
            || self.date(at).is_some()
    }

    /// That time of that day; none when it is over.
    fn on(&self, date: Date, minutes: i64) -> Option<String> {
        let (hour, minute) = (i8::try_from(minutes / 60).ok()?, i8::try_from(minutes % 60).ok()?);
        let moment = DateTime::from_parts(date, time(hour.min(23), minute, 0, 0));
        (moment > self.now.datetime()).then(|| format!("at:{}", moment.strftime("%Y-%m-%dT%H:%M")))
    }
}

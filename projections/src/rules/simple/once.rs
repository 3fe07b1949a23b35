//! One moment to come: «in 20 minutes», «tra un'ora», «tomorrow at 8», «domani mattina», «alle 18:30».
//!
//! A day without a time of day is not enough, and a moment that is over is none.

use jiff::civil::{DateTime, time};
use jiff::{Span, Timestamp, Zoned};

use super::Facts;
use super::dates;
use super::items::Item;
use super::lexicon::{Lexicons, Period, Recurrence};
use super::recurring::{Found, Reader, Recurring, tokens};
use crate::messages::Language;

/// What was read: the moment, its first token and one past its last.
type Said = (String, usize, usize);

/// Reads the moment that a sentence names. A time of day alone («at 18:30») is one where the sentence asks to be reminded;
/// other sentences begin or end with the moment.
pub(super) fn once(lexicons: &Lexicons, language: Language, items: &[Item], facts: &Facts<'_>, reminds: bool) -> Found {
    let tokens = tokens(items);
    let Some((_, words)) = lexicons.recurrence.iter().find(|(of, _)| *of == language) else { return Found::Nothing };
    let Some(zone) = dates::zone(facts.zone) else { return Found::Nothing };
    let Ok(now) = Timestamp::from_microsecond(facts.now_us) else { return Found::Nothing };
    let reader = Reader { lexicons, language, words, items, tokens: &tokens, likely: false };
    let once = Once { reader, words, now: now.to_zoned(zone) };
    let at_edge = |from: usize, to: usize| {
        let silent = |at: usize| items[tokens[at].1].is_punctuation() || items[tokens[at].1].is_noise();
        (0..from).all(silent) || (to..tokens.len()).all(|at| items[tokens[at].1].is_punctuation())
    };
    let found: Vec<Said> = (0..tokens.len())
        .filter_map(|at| once.stretch(at).or_else(|| once.day(at)).or_else(|| once.hour(at).filter(|_| reminds)))
        .collect();
    let Some((when, from, to)) = found.first().cloned() else { return Found::Nothing };
    // «in 20 minutes or in an hour»
    if found.iter().any(|(_, other, _)| *other >= to) {
        return if reminds { Found::Unclear } else { Found::Nothing };
    }
    if !reminds && !at_edge(from, to) {
        return Found::Nothing;
    }
    if when.is_empty() {
        return if reminds { Found::Unclear } else { Found::Nothing };
    }
    let span = tokens[from].1..tokens[to - 1].1 + 1;
    Found::Time(Recurring { when, spans: vec![span], timed: true })
}

struct Once<'a> {
    reader: Reader<'a>,
    words: &'a Recurrence,
    now: Zoned,
}

impl Once<'_> {
    /// «in 20 minutes», «tra mezz'ora», «fra un'ora».
    fn stretch(&self, at: usize) -> Option<Said> {
        let reader = &self.reader;
        let from = reader.phrase(&self.words.after, at)?;
        let fraction = |(phrase, minutes): (&String, &u8)| Some((reader.phrase([phrase], from)?, i64::from(*minutes)));
        if let Some((to, minutes)) = self.words.fractions.iter().filter_map(fraction).max() {
            return self.later(Span::new().try_minutes(minutes).ok()?, at, to);
        }
        let one = reader.phrase(&self.words.one, from).map(|to| (1, to));
        let (count, unit) = one.or_else(|| Some((reader.number(from)?, from + 1)))?;
        let span = Span::new();
        let span = match reader.period(unit)? {
            Period::Minute => span.try_minutes(count),
            Period::HalfHour => span.try_minutes(count.checked_mul(30)?),
            Period::Hour => span.try_hours(count),
            Period::Day => span.try_days(count),
            Period::Week => span.try_weeks(count),
            Period::Month => span.try_months(count),
            Period::Year => span.try_years(count),
        };
        // «in 2 hours and 30 minutes» is more than is read here.
        let joined = matches!(reader.word(unit + 1), "and" | "e") && reader.number(unit + 2).is_some();
        self.later(span.ok()?, at, unit + 1).filter(|_| count > 0 && !joined)
    }

    fn later(&self, span: Span, from: usize, to: usize) -> Option<Said> {
        let moment = self.now.checked_add(span).ok()?.timestamp();
        Some((format!("at:{}", moment.strftime("%Y-%m-%dT%H:%M:%SZ")), from, to))
    }

    /// «tomorrow at 8», «alle 8 di domani», «domani mattina»; without a time, that nothing is said of it.
    fn day(&self, at: usize) -> Option<Said> {
        let reader = &self.reader;
        let named = |(phrase, day)| Some((reader.phrase([phrase], at)?, day));
        let (to, day) = self.words.days.iter().filter_map(named).max_by_key(|(to, _)| *to)?;
        let (minutes, from, to) = match reader.time(reader.skip_links(to)) {
            Some((minutes, to)) => (Some(minutes), at, to),
            None => match reader.time_before(at) {
                Some((minutes, from)) => (Some(minutes), from, to),
                None => (None, at, to),
            },
        };
        let (late, to) = reader.part_after(to);
        let part = late.or(day.part.as_deref());
        if minutes.is_none() && part.is_none() {
            return Some((String::new(), from, to));
        }
        let date = self.now.date().checked_add(Span::new().days(i64::from(day.after))).ok()?;
        Some((self.on(date, reader.at_part(minutes, part)).unwrap_or_default(), from, to))
    }

    /// «at 18:30»: the next time that clocks show it.
    fn hour(&self, at: usize) -> Option<Said> {
        let reader = &self.reader;
        reader.phrase(&self.words.at, at)?;
        let (minutes, to) = reader.time(at)?;
        let (part, to) = reader.part_after(to);
        let minutes = reader.at_part(Some(minutes), part);
        let today = self.now.date();
        let when = self.on(today, minutes).or_else(|| self.on(today.tomorrow().ok()?, minutes))?;
        Some((when, at, to))
    }

    /// That time of that day; none when it is over.
    fn on(&self, date: jiff::civil::Date, minutes: i64) -> Option<String> {
        let (hour, minute) = (i8::try_from(minutes / 60).ok()?, i8::try_from(minutes % 60).ok()?);
        let moment = DateTime::from_parts(date, time(hour.min(23), minute, 0, 0));
        (moment > self.now.datetime()).then(|| format!("at:{}", moment.strftime("%Y-%m-%dT%H:%M")))
    }
}

//! One moment to come: «in 20 minutes», «tra un'ora», «tomorrow at 8», «domani mattina», «alle 18:30».
//!
//! A day without a time of day is not enough, and a moment that is over is none.

use std::ops::Range;

use jiff::civil::{Date, DateTime, time};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

use super::Facts;
use super::dates::{self, span};
use super::figures::{Figures, figures};
use super::items::{Item, What};
use super::lexicon::{Cue, Day, Lexicons, Period, Recurrence, Sense};
use super::limits::Limits;
use super::recurring::{Doubt, Found, Reader, Recurring, Token};
use crate::messages::Language;

/// What was read: the moment, and its tokens: from one to one past the last, once or twice.
struct Said {
    /// As a cadence is written; where there is none, a time of day is missing, or the moment is over.
    when: Result<String, Missing>,
    spans: Vec<Range<usize>>,
}

/// Why a day is no moment.
#[derive(Clone)]
enum Missing {
    Hour,
    Over,
    /// There is no such day.
    Never,
    /// More than one time of day.
    Hours,
    /// Day first or month first, in this token.
    Either(usize, [String; 2]),
}

/// Whether a sentence names one day by its name, and not every one: «next Monday», «on Friday», «venerdì prossimo».
pub(super) fn names_a_day(lexicons: &Lexicons, language: Language, items: &[Item], tokens: &[Token]) -> bool {
    let Some((_, words)) = lexicons.recurrence.iter().find(|(of, _)| *of == language) else { return false };
    let reader = Reader { lexicons, language, words, items, tokens, likely: false };
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

/// Reads moments; `tokens` are those of the sentence.
pub(super) struct Once<'a> {
    pub(super) reader: Reader<'a>,
    pub(super) words: &'a Recurrence,
    pub(super) now: Zoned,
}

impl<'a> Once<'a> {
    pub(super) fn new(
        lexicons: &'a Lexicons,
        language: Language,
        items: &'a [Item],
        tokens: &'a [Token],
        facts: &Facts<'_>,
    ) -> Option<Self> {
        let (_, words) = lexicons.recurrence.iter().find(|(of, _)| *of == language)?;
        let now = Timestamp::from_microsecond(facts.now_us).ok()?.to_zoned(dates::zone(facts.zone)?);
        Some(Self { reader: Reader { lexicons, language, words, items, tokens, likely: false }, words, now })
    }

    /// The same where it does not matter which moment is meant.
    pub(super) fn undated(
        lexicons: &'a Lexicons,
        language: Language,
        items: &'a [Item],
        tokens: &'a [Token],
    ) -> Option<Self> {
        let (_, words) = lexicons.recurrence.iter().find(|(of, _)| *of == language)?;
        let now = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
        Some(Self { reader: Reader { lexicons, language, words, items, tokens, likely: false }, words, now })
    }

    /// One past words that say when something is to be done and cannot well say anything else: «every hour», «at noon»,
    /// «in 20 minutes», «tomorrow», «until Christmas», «nel weekend». Days of the week and dates may be those of files.
    pub(super) fn to_come(&self, at: usize) -> Option<usize> {
        let reader = &self.reader;
        // «equal to zero», «by a dozen»: a number by itself is one of hours only behind «at».
        let hour = |at: usize| {
            let led = reader.lexicons.request.iter().any(|r| r.hours.iter().any(|word| word == reader.word(at)));
            let from = reader.phrase(&self.words.at, at).unwrap_or(at);
            let sure = reader.clock(from).is_none_or(|(_, _, sure)| sure) || reader.part_after(from + 1).0.is_some();
            led || sure || reader.word(at).ends_with('\'')
        };
        let clock = || Some(self.clock(at).filter(|_| hour(at) && !self.counts(at))?.1);
        let tomorrow = || {
            let named = |(phrase, day): (&String, &Day)| {
                (day.after > 0 || day.part.is_some()).then(|| reader.phrase([phrase], at)).flatten()
            };
            self.words.days.iter().filter_map(named).max()
        };
        let days = || reader.phrase(self.words.weekdays.iter().chain(&self.words.weekend), at);
        let cadence = || reader.cadence(at).map(|(_, _, to)| to).filter(|_| !reader.describes(at));
        cadence()
            .or_else(|| Some(self.stretch(at)?.spans[0].end))
            .or_else(clock)
            .or_else(tomorrow)
            .or_else(days)
            .or_else(|| self.led_feast(at))
            .or_else(|| reader.strange_at_end(at))
            .or_else(|| self.is_bound(at).then(|| self.until(at)).flatten())
    }

    /// «at Christmas», «a natale»; not «the Christmas photos».
    fn led_feast(&self, at: usize) -> Option<usize> {
        let led = self.reader.word(at) == "on" || self.words.at.iter().any(|word| word == self.reader.word(at));
        let feast = |phrase: &String| self.reader.phrase([phrase], at + 1);
        self.words.feasts.keys().filter_map(feast).max().filter(|_| led)
    }

    /// «at 8 files», «alle 3 righe»: a number of things.
    fn counts(&self, at: usize) -> bool {
        let Some((_, to)) = self.clock(at) else { return false };
        self.reader.tokens.get(to).is_some_and(|(_, item)| self.reader.items[*item].object().is_some())
    }

    /// Reads the moment that the sentence names. A time of day alone («at 18:30») is one where the sentence asks to be
    /// reminded, or begins or ends with it; a day, where it asks to be reminded or begins or ends with it too.
    pub(super) fn read(&self, reminds: bool) -> Found {
        let (items, tokens) = (self.reader.items, self.reader.tokens);
        let count = tokens.len();
        let ends = |spans: &[Range<usize>]| {
            let last = spans.last().map_or(count, |span| span.end);
            (last..count).all(|at| items[tokens[at].1].is_punctuation())
        };
        let begins = |spans: &[Range<usize>]| self.reader.is_silent_before(spans.first().map_or(0, |span| span.start));
        let hour = |at: usize| self.hour(at).filter(|said| reminds || begins(&said.spans));
        let first = (0..count).find_map(|at| self.stretch(at).or_else(|| self.day(at)));
        let Some(Said { when, spans }) = first.or_else(|| (0..count).find_map(hour)) else { return Found::Nothing };
        if !(reminds || begins(&spans) || (ends(&spans) && !self.is_told(spans[0].start))) {
            return Found::Nothing;
        }
        let leads = begins(&spans);
        let whole = spans[0].start..spans[spans.len() - 1].end;
        let said = if spans.len() == 1 { whole } else { spans[0].clone() };
        // «the day before Christmas at 9»
        if let Some(from) = self.relative(spans[0].start).filter(|_| reminds || leads) {
            return Found::Unclear(Doubt::Strange(from..spans[0].end));
        }
        match when {
            _ if !reminds && !leads && when.is_err() => return Found::Nothing,
            Err(Missing::Hour) => return Found::Unclear(Doubt::Hour(said)),
            Err(Missing::Over) => return Found::Unclear(Doubt::Over(said)),
            Err(Missing::Never) => return Found::Unclear(Doubt::Strange(said)),
            Err(Missing::Hours) => return Found::Unclear(Doubt::Time),
            Err(Missing::Either(at, days)) => return Found::Unclear(Doubt::Either(at..at + 1, days)),
            Ok(_) => {}
        }
        // «in 20 minutes or in an hour», «on Friday … at 5 … or Monday»: what is left must not be of time.
        if let Some(more) = self.more(&spans) {
            return if reminds || leads { Found::Unclear(Doubt::More(more)) } else { Found::Nothing };
        }
        let spans = spans.into_iter().map(|span| self.reader.items_of(span)).collect();
        Found::Time(Recurring {
            when: when.unwrap_or_default(),
            spans,
            timed: true,
            outside: true,
            limits: Limits::default(),
        })
    }

    /// «tell Anna that dinner is tomorrow at 8»: words that a message holds.
    fn is_told(&self, at: usize) -> bool {
        let item = self.reader.tokens[at].1;
        let before = &self.reader.items[..item];
        let sends =
            |i: &Item| i.is(Cue::Tells) || i.verb().is_some_and(|v| self.reader.lexicons.verbs[v].verbs[0] == "send");
        before.iter().any(sends) && !before.iter().any(|i| matches!(i.what, What::Quoted(_)))
    }

    /// The word that makes a time before or after it of the one that begins there.
    fn relative(&self, at: usize) -> Option<usize> {
        let before = (0..at).rev().find(|&before| {
            let item = &self.reader.items[self.reader.tokens[before].1];
            !item.is(Cue::Determiner)
        })?;
        let item = &self.reader.items[self.reader.tokens[before].1];
        (item.is(Cue::Until) || item.is(Cue::Since)).then_some(before)
    }

    /// Words of time outside of these tokens, none of which are said of a thing.
    pub(super) fn more(&self, spans: &[Range<usize>]) -> Option<Range<usize>> {
        let within = |at: usize| spans.iter().any(|span| span.contains(&at));
        let more = |at: usize| {
            let to = self.of_time(at).filter(|_| !within(at))?;
            (!self.reader.is_about(at)).then_some(at..to)
        };
        let told = spans.iter().map(|span| span.end).max().unwrap_or(0).max(self.reader.told_from());
        (0..told).find_map(more).or_else(|| self.reader.left_open(within))
    }
}

/// A day that is named: which, the part of it, and its tokens.
pub(super) struct Named {
    /// The days that it may be, the nearest first.
    pub(super) dates: Vec<Date>,
    part: Option<String>,
    pub(super) span: Range<usize>,
    /// Day first or month first, where either may be meant.
    either: Option<[String; 2]>,
}

impl Once<'_> {
    /// «in 20 minutes», «tra mezz'ora», «fra un'ora».
    fn stretch(&self, at: usize) -> Option<Said> {
        let reader = &self.reader;
        let led = || {
            let inside = reader.phrase(&self.words.within, at).filter(|_| self.opens_or_reminds(at));
            reader.phrase(&self.words.after, at).or(inside)
        };
        let (mut by, to) = if let Some(from) = led() {
            self.length(from)?
        } else {
            // «a week from now»
            let (by, to) = self.length(at)?;
            (by, reader.phrase(&self.words.hence, to)?)
        };
        // «in 2 hours and 30 minutes»
        let joint = to + usize::from(self.words.and.iter().any(|word| word == reader.word(to)));
        let to = match self.length(joint).filter(|_| joint > to) {
            Some((more, end)) => {
                by.extend(more);
                end
            }
            None => to,
        };
        self.later(&by, at..to)
    }

    /// Whether a token is the first that says anything, or stands behind the wish to be reminded.
    fn opens_or_reminds(&self, at: usize) -> bool {
        let reminds = |i: &Item| i.verb().is_some_and(|v| self.reader.lexicons.verbs[v].verbs[0] == "schedule");
        let before = self.reader.items[..self.reader.tokens[at].1].iter().rev();
        let first = before.filter(|i| !(i.is(Cue::Listener) || i.is_punctuation())).map(reminds).next();
        self.reader.is_silent_before(at) || first == Some(true)
    }

    /// «20 minutes», «half an hour», «an hour and a half»: how long, in parts, and one past it.
    fn length(&self, from: usize) -> Option<(Vec<Span>, usize)> {
        let reader = &self.reader;
        let fraction = |(phrase, minutes): (&String, &u8)| Some((reader.phrase([phrase], from)?, i64::from(*minutes)));
        if let Some((to, minutes)) = self.words.fractions.iter().filter_map(fraction).max() {
            return Some((vec![Span::new().try_minutes(minutes).ok()?], to));
        }
        let one = reader.phrase(&self.words.one, from);
        let counted = |at: usize| Some((reader.number(at)?, at + 1 + usize::from(reader.word(at + 1) == "of")));
        let (count, to) = one.and_then(counted).or(one.map(|to| (1, to))).or_else(|| counted(from))?;
        if count < 1 {
            return None;
        }
        let before = reader.halved(to);
        let unit = before.unwrap_or(to);
        let period = reader.period(unit)?;
        let after = reader.halved(unit + 1).filter(|_| before.is_none());
        let whole = span(count, period)?;
        let halved = before.is_some() || after.is_some();
        let half = match period {
            _ if !halved => None,
            Period::Hour => Some(Span::new().minutes(30)),
            Period::Day => Some(Span::new().hours(12)),
            Period::Minute | Period::HalfHour | Period::Week | Period::Month | Period::Year => return None,
        };
        Some((std::iter::once(whole).chain(half).collect(), after.unwrap_or(unit + 1)))
    }

    fn later(&self, by: &[Span], span: Range<usize>) -> Option<Said> {
        let moment = by.iter().try_fold(self.now.clone(), |moment, by| moment.checked_add(*by)).ok()?.timestamp();
        Some(Said { when: Ok(format!("at:{}", moment.strftime("%Y-%m-%dT%H:%M:%SZ"))), spans: vec![span] })
    }

    /// «tomorrow at 8», «alle 8 di domani», «domani mattina», «on Friday … at 5», «il 24 dicembre alle 10».
    fn day(&self, at: usize) -> Option<Said> {
        let reader = &self.reader;
        let Named { dates, part, span, either } = self.named(at)?;
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
        let (apart, many) = match self.times_apart(&span).as_slice() {
            _ if minutes.is_some() => (None, false),
            [] => (None, false),
            [one] => (Some(one.clone()), false),
            _ => (None, true),
        };
        let minutes = minutes.map(|minutes| reader.at_part(Some(minutes), part));
        let minutes = minutes.or(apart.as_ref().map(|(minutes, _)| *minutes));
        let minutes = minutes.or_else(|| part.map(|part| reader.at_part(None, Some(part))));
        let when = match minutes {
            _ if either.is_some() => Err(either.map_or(Missing::Never, |days| Missing::Either(at, days))),
            _ if dates.is_empty() => Err(Missing::Never),
            None if many => Err(Missing::Hours),
            None => Err(Missing::Hour),
            Some(minutes) => dates.into_iter().find_map(|date| self.on(date, minutes)).ok_or(Missing::Over),
        };
        let mut spans: Vec<_> = std::iter::once(span).chain(apart.map(|(_, span)| span)).collect();
        spans.sort_by_key(|span| span.start);
        Some(Said { when, spans })
    }

    /// A day that is named at a token.
    pub(super) fn named(&self, at: usize) -> Option<Named> {
        self.tomorrow(at).or_else(|| self.weekday(at)).or_else(|| self.figures(at)).or_else(|| self.date(at))
    }

    /// The times of day outside of a span.
    fn times_apart(&self, day: &Range<usize>) -> Vec<(i64, Range<usize>)> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.reader.tokens.len() {
            match self.clock(at).filter(|(_, to)| !day.contains(&at) && !day.contains(&(to - 1))) {
                Some((minutes, to)) => {
                    found.push((minutes, at..to));
                    at = to;
                }
                None => at += 1,
            }
        }
        found
    }

    /// «tomorrow», «domani mattina».
    fn tomorrow(&self, at: usize) -> Option<Named> {
        let named = |(phrase, day)| Some((self.reader.phrase([phrase], at)?, day));
        let (to, day) = self.words.days.iter().filter_map(named).max_by_key(|(to, _)| *to)?;
        let date = self.now.date().checked_add(Span::new().days(i64::from(day.after))).ok()?;
        Some(Named { dates: vec![date], part: day.part.clone(), span: at..to, either: None })
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
        Some(Named { dates, part: None, span: from..to, either: None })
    }

    /// «on 2026-12-25», «il 25/12».
    fn figures(&self, at: usize) -> Option<Named> {
        let word = self.reader.word(at);
        let day = figures(word, self.now.year())?;
        let links = |at: usize| {
            let word = self.reader.word(at);
            word == "on" || self.words.on.iter().any(|w| w == word)
        };
        let from = (0..at).rev().take_while(|&before| links(before)).last().unwrap_or(at);
        // Without a year it may be a part: «1/4 of the lines».
        let led = from < at || [&self.words.until, &self.words.starting].iter().any(|list| self.leads_to(list, at));
        if word.matches(['/', '-', '.']).count() < 2 && !led {
            return None;
        }
        let (dates, either) = match day {
            Figures::Days(days) => (days, None),
            Figures::Either(days) => (Vec::new(), Some(days)),
        };
        Some(Named { dates, part: None, span: from..at + 1, either })
    }

    /// Whether one of the phrases ends right before a token.
    fn leads_to(&self, phrases: &[String], at: usize) -> bool {
        (at.saturating_sub(4)..at).any(|from| self.reader.phrase(phrases, from) == Some(at))
    }

    /// «24 December», «il 24 dicembre», «December 24th», «Christmas»; «il 15», «on the 15th»: the next of it.
    fn date(&self, at: usize) -> Option<Named> {
        let reader = &self.reader;
        let links = |at: usize| {
            let word = reader.word(at);
            word == "on" || word == "a" || self.words.on.iter().any(|w| w == word)
        };
        let Some((day, month, to)) = reader.day_and_month(at) else { return self.day_alone(at) };
        let year = reader.word(to).parse::<i16>().ok().filter(|year| (1970..3000).contains(year));
        let to = to + usize::from(year.is_some());
        let from = (0..at).rev().take_while(|&before| links(before)).last().unwrap_or(at);
        let years = year.map_or_else(|| vec![self.now.year(), self.now.year() + 1], |year| vec![year]);
        let (day, month) = (i8::try_from(day).ok()?, i8::try_from(month).ok()?);
        let dates: Vec<Date> = years.into_iter().filter_map(|year| Date::new(year, month, day).ok()).collect();
        Some(Named { dates, part: None, span: from..to, either: None })
    }

    /// «il 15», «on the 15th».
    fn day_alone(&self, at: usize) -> Option<Named> {
        let reader = &self.reader;
        let from = reader.phrase(&self.words.that_day, at)?;
        let day = i8::try_from(reader.day_figure(from)?).ok()?;
        let ordinal = reader.word(from).parse::<i64>().is_err();
        let english = reader.language == Language::En;
        let next = reader.tokens.get(from + 1).map(|(_, item)| &reader.items[*item]);
        let thing =
            next.is_some_and(|i| i.object().is_some() || i.is_unknown() || !(i.is_word() || i.is_punctuation()));
        let of_month = reader.phrase(&self.words.of, from + 1).is_some()
            && !reader.words.at.iter().any(|w| w == reader.word(from + 1));
        if thing || of_month || reader.period(from + 1).is_some() || (english && !ordinal) {
            return None;
        }
        let first = self.now.date().first_of_month();
        let months = (0..12).filter_map(|n| first.checked_add(Span::new().months(n)).ok());
        let dates = months.filter_map(|month| Date::new(month.year(), month.month(), day).ok()).collect();
        Some(Named { dates, part: None, span: at..from + 1, either: None })
    }

    /// «at 18:30», «at 5 in the afternoon».
    fn clock(&self, at: usize) -> Option<(i64, usize)> {
        let reader = &self.reader;
        let from = reader.phrase(&self.words.at, at)?;
        let (minutes, to) = reader.time(at)?;
        // «a una cartella», «at one file»: an article, unless nothing follows that it may belong to.
        let elided = reader.word(from - 1).ends_with('\'') || reader.word(from - 1) == "all";
        let is_one = !elided && self.words.one.iter().any(|word| word == reader.word(from));
        if is_one && !(reader.opens_at(to) || reader.part_after(to).0.is_some()) {
            return None;
        }
        let (part, to) = reader.part_after(to);
        Some((reader.at_part(Some(minutes), part), to))
    }

    /// «at 18:30»: the next time that clocks show it.
    fn hour(&self, at: usize) -> Option<Said> {
        let (minutes, to) = self.clock(at)?;
        let today = self.now.date();
        let when = self.on(today, minutes).or_else(|| self.on(today.tomorrow().ok()?, minutes))?;
        let span = at..to;
        Some(Said { when: Ok(when), spans: vec![span] })
    }

    /// One past words of time that would say something else than what was read.
    pub(super) fn of_time(&self, at: usize) -> Option<usize> {
        self.stretch(at)
            .map(|said| said.spans[0].end)
            .or_else(|| Some(self.clock(at)?.1))
            .or_else(|| Some(self.named(at)?.span.end))
            .or_else(|| {
                let senses = self.reader.lexicons.senses_of(self.reader.word(at), self.reader.language);
                senses.contains(&Sense::Cue(Cue::Yesterday)).then_some(at + 1)
            })
    }

    /// That time of that day; none when it is over.
    fn on(&self, date: Date, minutes: i64) -> Option<String> {
        let (hour, minute) = (i8::try_from(minutes / 60).ok()?, i8::try_from(minutes % 60).ok()?);
        let moment = DateTime::from_parts(date, time(hour.min(23), minute, 0, 0));
        (moment > self.now.datetime()).then(|| format!("at:{}", moment.strftime("%Y-%m-%dT%H:%M")))
    }
}

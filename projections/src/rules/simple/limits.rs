//! Where a recurring time ends: «until Christmas», «per due settimane», «3 times»; when it begins, and on which days it is
//! left out.
//!
//! Words that say such a thing and cannot be read are a doubt, never dropped.

use std::ops::Range;

use jiff::civil::Date;
use jiff::{Span, Timestamp};

use super::dates::span;
use super::items::What;
use super::lexicon::Period;
use super::once::Once;
use super::recurring::{BAR, Doubt, Token};

/// What bounds a recurring time, and the items that say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// No firing after this moment, as a schedule takes it.
    pub(crate) until: Option<(String, Range<usize>)>,
    /// So many firings.
    pub(crate) times: Option<(i64, Range<usize>)>,
    /// No firing before this day.
    pub(crate) from: Option<(Date, Range<usize>)>,
    /// Days of the week that are left out, Sunday is 0.
    pub(crate) except: Option<(Vec<i8>, Range<usize>)>,
}

impl Limits {
    /// The items of all of them.
    pub(crate) fn spans(&self) -> impl Iterator<Item = &Range<usize>> {
        let until = self.until.iter().map(|(_, span)| span);
        let times = self.times.iter().map(|(_, span)| span);
        let from = self.from.iter().map(|(_, span)| span);
        until.chain(times).chain(from).chain(self.except.iter().map(|(_, span)| span))
    }
}

/// The bounds of a sentence, its tokens without them, and what of them could not be read.
pub(super) struct Bounds {
    pub(super) limits: Limits,
    pub(super) tokens: Vec<Token>,
    pub(super) doubt: Option<Doubt>,
}

impl Once<'_> {
    /// Reads and takes out what bounds a recurring time.
    pub(super) fn bounds(&self) -> Bounds {
        let reader = &self.reader;
        let mut bounds = Bounds { limits: Limits::default(), tokens: reader.tokens.to_vec(), doubt: None };
        let mut at = 0;
        while at < reader.tokens.len() {
            match self.bound(at, &mut bounds) {
                Some(to) => {
                    for token in &mut bounds.tokens[at..to] {
                        BAR.clone_into(&mut token.0);
                    }
                    at = to;
                }
                None => at += 1,
            }
        }
        bounds
    }

    /// One bound that starts at a token; one past it.
    fn bound(&self, at: usize, bounds: &mut Bounds) -> Option<usize> {
        if !self.is_plain(at) {
            return None;
        }
        let Bounds { limits, doubt, .. } = bounds;
        if let Some((count, to)) = self.so_often(at) {
            return Some(self.kept(&mut limits.times, doubt, count, at..to));
        }
        if let Some((moment, to)) = self.as_long(at) {
            return Some(self.kept(&mut limits.until, doubt, moment, at..to));
        }
        if let Some(from) = self.reader.phrase(&self.words.until, at).filter(|_| !self.is_range(at)) {
            let Some((moment, to)) = self.last_day(from) else {
                let to = self.unread(from);
                *doubt = Some(Doubt::Until(at..to));
                return Some(to);
            };
            return Some(self.kept(&mut limits.until, doubt, moment, at..to));
        }
        if let Some(from) = self.reader.phrase(&self.words.except, at) {
            let (days, to) = self.reader.days(self.skip_on(from))?;
            return Some(self.kept(&mut limits.except, doubt, days, at..to));
        }
        let from = self.reader.phrase(&self.words.starting, at)?;
        let (date, to) = self.named_day(from)?;
        if self.reader.phrase(&self.words.through, to).is_some() {
            return None;
        }
        Some(self.kept(&mut limits.from, doubt, date, at..to))
    }

    /// Whether «until» or «for two weeks» begins there.
    pub(super) fn is_bound(&self, at: usize) -> bool {
        self.is_plain(at) && self.until(at).is_some()
    }

    /// One past «until Christmas», «for two weeks».
    pub(super) fn until(&self, at: usize) -> Option<usize> {
        if let Some((_, to)) = self.as_long(at) {
            return Some(to);
        }
        let from = self.reader.phrase(&self.words.until, at).filter(|_| !self.is_range(at))?;
        self.last_day(from).map(|(_, to)| to)
    }

    fn kept<T>(
        &self,
        limit: &mut Option<(T, Range<usize>)>,
        doubt: &mut Option<Doubt>,
        value: T,
        span: Range<usize>,
    ) -> usize {
        let to = span.end;
        match limit {
            Some(_) => *doubt = Some(Doubt::More(span)),
            None => *limit = Some((value, self.reader.items_of(span))),
        }
        to
    }

    /// Whether a bound may begin here: with the first word of what is a word, or a day by itself.
    fn is_plain(&self, at: usize) -> bool {
        let item = self.reader.tokens[at].1;
        // «at 8 until 24 December» is one item, read as the 8th to the 24th.
        let within = matches!(self.reader.items[item].what, What::Window { .. });
        if within && self.reader.phrase(&self.words.until, at).is_some() {
            return true;
        }
        // «Monday until …» may be one item.
        let day = self
            .reader
            .tokens
            .iter()
            .position(|(_, of)| *of == item)
            .is_some_and(|at| self.reader.weekday(at).is_some());
        let first = at == 0 || self.reader.tokens[at - 1].1 != item || day;
        first && matches!(self.reader.items[item].what, What::Word(_) | What::Window { .. } | What::Number(_))
    }

    /// «Monday to Friday»: the word stands between two days.
    fn is_range(&self, at: usize) -> bool {
        let to = self.reader.phrase(&self.words.until, at).unwrap_or(at + 1);
        at > 0 && self.reader.weekday(at - 1).is_some() && self.reader.weekday(to).is_some()
    }

    fn skip_on(&self, at: usize) -> usize {
        let is_on = |at: &usize| self.words.on.iter().any(|word| word == self.reader.word(*at));
        (at..self.reader.tokens.len()).find(|at| !is_on(at)).unwrap_or(at)
    }

    /// One past the words that nobody can read as a day: up to a mark, a verb, or three of them.
    fn unread(&self, from: usize) -> usize {
        let goes_on = |at: &usize| {
            self.reader.tokens.get(*at).is_some_and(|(_, item)| {
                let item = &self.reader.items[*item];
                item.is_word() && item.verb().is_none()
            })
        };
        (from..from + 3).take_while(goes_on).last().map_or(from, |last| last + 1)
    }

    /// «3 times», «per 5 volte»: how often in all.
    fn so_often(&self, at: usize) -> Option<(i64, usize)> {
        let reader = &self.reader;
        let led = reader.phrase(&self.words.lasting, at);
        let from = led.unwrap_or(at);
        let twice = self.words.twice.get(reader.word(from)).map(|&n| (i64::from(n), from + 1));
        let counted = || {
            let count = reader.number(from)?;
            self.words.times.iter().any(|word| word == reader.word(from + 1)).then_some((count, from + 2))
        };
        let (count, to) = twice.or_else(counted).filter(|(count, _)| *count > 0)?;
        let is_rate = reader.phrase(&self.words.per, to).is_some_and(|unit| reader.period(unit).is_some());
        let ends = reader.tokens[to..].iter().all(|(_, item)| reader.items[*item].is_punctuation());
        let apart = ends && at > 0 && reader.word(at - 1) == ",";
        (!is_rate && (led.is_some() || apart)).then_some((count, to))
    }

    /// «for two weeks», «per un mese»: the moment at which that is over.
    fn as_long(&self, at: usize) -> Option<(String, usize)> {
        let reader = &self.reader;
        let from = reader.phrase(&self.words.lasting, at)?;
        let one = reader.phrase(&self.words.one, from).map(|to| (1, to));
        let counted = || Some((reader.number(from)?, from + 1));
        let implied = || (from > at + 1).then_some((1, from));
        let (count, unit) = one.or_else(counted).or_else(implied)?;
        let by = span(count, reader.period(unit)?).filter(|_| count > 0)?;
        let moment = self.now.checked_add(by).ok()?.timestamp();
        Some((moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(), unit + 1))
    }

    /// «Friday», «24 December», «the end of the month»: the last minute of that day.
    fn last_day(&self, from: usize) -> Option<(String, usize)> {
        let (date, to) = self.end_of(from).or_else(|| self.named_day(from))?;
        // «until Friday at 6»
        let (time, to) = match self.reader.time(self.reader.skip_links(to)) {
            Some((minutes, to)) => (minutes, to),
            None => (24 * 60 - 1, to),
        };
        Some((format!("{}T{:02}:{:02}", date.strftime("%Y-%m-%d"), time / 60, time % 60), to))
    }

    /// The last day of this week, month or year.
    fn end_of(&self, at: usize) -> Option<(Date, usize)> {
        let from = self.reader.phrase(&self.words.ends, at)?;
        let today = self.now.date();
        let last = match self.reader.period(from)? {
            Period::Week => {
                let left = 6 - i64::from(today.weekday().to_monday_zero_offset());
                today.checked_add(Span::new().days(left)).ok()?
            }
            Period::Month => today.last_of_month(),
            Period::Year => today.last_of_year(),
            Period::Day => today,
            Period::Minute | Period::HalfHour | Period::Hour => return None,
        };
        Some((last, from + 1))
    }

    /// A day to come that is named right there, behind its article.
    fn named_day(&self, at: usize) -> Option<(Date, usize)> {
        (at..at + 3).find_map(|start| {
            let named = self.named(start).filter(|named| named.span.start <= at && named.span.end > start)?;
            let today = self.now.date();
            Some((named.dates.into_iter().find(|date| *date >= today)?, named.span.end))
        })
    }
}

/// Whether a moment lies before a day begins, in the zone of `day_of`.
pub(super) fn is_before(micros: i64, date: Date, day_of: impl Fn(Timestamp) -> Date) -> bool {
    Timestamp::from_microsecond(micros).is_ok_and(|moment| day_of(moment) < date)
}

//! Recurring times: «every weekday at 8:30», «alle 22:15 di ogni sera», as five fields of cron, and the request that is left.
//!
//! It reads a cadence and a time beside it. What has no cadence («tomorrow at 8») is read in `once`.

use super::items::{Item, What};
use super::lexicon::{Cue, Lexicons, Period, Recurrence, Sense};
use crate::messages::Language;

/// A recurring time, and the items that say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recurring {
    /// As a cadence is written: five fields of cron, `every_90_minutes`, `at:2026-11-23T08:00`.
    pub(crate) when: String,
    /// The items that say it: first and one past the last, in their order. Two where the time stands apart from the days.
    pub(crate) spans: Vec<std::ops::Range<usize>>,
    /// A time of day was said too.
    pub(crate) timed: bool,
}

/// What a sentence says of recurring times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing.
    Nothing,
    /// One that recurs.
    Time(Recurring),
    /// Something recurs, but at what time cannot be told.
    Unclear,
}

/// How often.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cadence {
    Minutes(i64),
    Hours(i64),
    Days(i64),
    /// Days of the week, Sunday is 0; with the hour that is usual, if the words have one.
    Weekly(Vec<i8>),
    Monthly(i64),
    Yearly,
}

/// A word and the item that it belongs to. What is no word is a bar that nothing reads across.
pub(super) type Token = (String, usize);

/// Reads the recurring time of a sentence.
///
/// `likely`: such sentences usually ask for something to recur, so days with a time of day say so without «every».
pub(crate) fn recurring(lexicons: &Lexicons, language: Language, items: &[Item], likely: bool) -> Found {
    let tokens = tokens(items);
    let order = |l: &&(Language, Recurrence)| l.0 != language;
    let mut tables: Vec<&(Language, Recurrence)> = lexicons.recurrence.iter().collect();
    tables.sort_by_key(order);
    let read = |(language, words): &(Language, Recurrence)| {
        Reader { lexicons, language: *language, words, items, tokens: &tokens, likely }.read()
    };
    tables.into_iter().map(read).find(|found| *found != Found::Nothing).unwrap_or(Found::Nothing)
}

pub(super) fn tokens(items: &[Item]) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match &item.what {
            What::Path { .. } | What::Globs { .. } | What::Url(_) | What::Quoted(_) | What::Email(_) => {
                tokens.push(("\0".to_owned(), at));
            }
            What::Punctuation(mark) => tokens.push((mark.to_string(), at)),
            _ => tokens.extend(item.folded.split(' ').map(|word| (word.to_owned(), at))),
        }
    }
    tokens
}

pub(super) struct Reader<'a> {
    pub(super) lexicons: &'a Lexicons,
    pub(super) language: Language,
    pub(super) words: &'a Recurrence,
    pub(super) items: &'a [Item],
    pub(super) tokens: &'a [Token],
    pub(super) likely: bool,
}

/// Minutes since midnight, and one past the last token.
pub(super) type Time = (i64, usize);

impl Reader<'_> {
    fn read(&self) -> Found {
        for start in 0..self.tokens.len() {
            let Some((cadence, part, end)) = self.cadence(start) else { continue };
            let after = self.time(self.skip_links(end)).or_else(|| self.time_soon(end));
            let (time, from, to) = match after {
                Some((minutes, to)) => (Some(minutes), start, to),
                None => match self.time_before(start) {
                    Some((minutes, from)) => (Some(minutes), from, end),
                    None => (None, start, end),
                },
            };
            let (day, from) = self.day_of_month_before(from);
            let (late, to) = self.part_after(to);
            let apart = if time.is_none() { self.time_of_act(from..to) } else { None };
            let (time, apart) = apart.map_or((time, None), |(minutes, span)| (Some(minutes), Some(span)));
            let minutes = self.at_part(time, late.or(part.as_deref()));
            let within = |at: usize| (from..to).contains(&at) || apart.as_ref().is_some_and(|s| s.contains(&at));
            // A time of day that went into nothing would make it another one.
            let left = (0..self.tokens.len())
                .any(|at| !within(at) && (self.is_clock(at) || (self.likely && self.weekday(at).is_some())));
            // «every other day… no, every day»: which one is meant is for the person to say.
            let again = (to..self.tokens.len()).any(|at| !within(at) && self.cadence(at).is_some());
            let cron = cron(&cadence, minutes, day).filter(|_| !left && !again);
            let Some(when) = cron else { return Found::Unclear };
            let mut spans: Vec<_> = std::iter::once(from..to).chain(apart).collect();
            spans.sort_by_key(|s| s.start);
            let items = |s: std::ops::Range<usize>| self.tokens[s.start].1..self.tokens[s.end - 1].1 + 1;
            let spans = spans.into_iter().map(items).collect();
            return Found::Time(Recurring { when, spans, timed: time.is_some() });
        }
        Found::Nothing
    }

    /// «remind me at 8 to …, every day»: a time that stands where the act is named, apart from the days.
    fn time_of_act(&self, days: std::ops::Range<usize>) -> Option<(i64, std::ops::Range<usize>)> {
        let told = |at: usize| {
            let item = &self.items[at];
            item.is(Cue::Listener) || item.is_punctuation() || (item.is_noise() && !item.is(Cue::Inside))
        };
        let leads = |from: usize| {
            let item = self.tokens[from].1;
            let verb = (0..item).rev().find(|&at| !told(at));
            verb.is_none_or(|at| self.items[at].verb().is_some() || days.contains(&from.saturating_sub(1)))
        };
        (0..self.tokens.len()).filter(|at| !days.contains(at) && leads(*at)).find_map(|from| {
            self.phrase(&self.words.at, from)?;
            let (minutes, to) = self.time(from)?;
            let (part, to) = self.part_after(to);
            let clear = !(from..to).any(|at| days.contains(&at));
            clear.then(|| (self.at_part(Some(minutes), part), from..to))
        })
    }

    /// «every morning, say, at six»: with a filler between.
    fn time_soon(&self, end: usize) -> Option<Time> {
        let from = (end..end + 3).take_while(|&at| self.is_filler(at)).last()? + 1;
        self.phrase(&self.words.at, from)?;
        self.time(from)
    }

    fn is_filler(&self, at: usize) -> bool {
        self.words.fillers.iter().any(|w| w == self.word(at)) || self.word(at) == ","
    }

    /// `22:15`, «at six», «alle 9».
    fn is_clock(&self, at: usize) -> bool {
        let figure = self.word(at).split_once(':').is_some_and(|(h, m)| {
            m.len() == 2
                && h.len() <= 2
                && h.parse::<u8>().is_ok_and(|h| h < 24)
                && m.parse::<u8>().is_ok_and(|m| m < 60)
        });
        let at_hour = matches!(self.word(at), "at" | "alle") && self.number(at + 1).is_some();
        let spoken = self.minutes(at).is_some_and(|(_, to)| self.language == Language::En && self.number(to).is_some());
        figure || at_hour || spoken
    }

    pub(super) fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |(word, _)| word)
    }

    /// One past the phrase of `phrases` that starts at `at`, the longest first.
    pub(super) fn phrase<'p>(&self, phrases: impl IntoIterator<Item = &'p String>, at: usize) -> Option<usize> {
        let reads = |phrase: &String| {
            let mut to = at;
            for word in super::words::fold(phrase).split([' ', '\'']).filter(|w| !w.is_empty()) {
                if self.word(to).trim_end_matches('\'') != word {
                    return None;
                }
                to += 1;
            }
            Some(to)
        };
        phrases.into_iter().filter_map(reads).max()
    }

    fn sense<T>(&self, at: usize, read: impl Fn(&Sense) -> Option<T>) -> Option<T> {
        self.lexicons.senses_of(self.word(at), self.language).iter().find_map(read)
    }

    pub(super) fn number(&self, at: usize) -> Option<i64> {
        self.word(at)
            .parse()
            .ok()
            .or_else(|| self.sense(at, |s| if let Sense::Number(n) = s { Some(*n) } else { None }))
    }

    pub(super) fn period(&self, at: usize) -> Option<Period> {
        self.sense(at, |s| if let Sense::Period(p) = s { Some(*p) } else { None })
    }

    pub(super) fn weekday(&self, at: usize) -> Option<i8> {
        let plain = |at: usize| self.sense(at, |s| if let Sense::Weekday(n) = s { Some(*n % 7) } else { None });
        plain(at).or_else(|| {
            let singular = self.word(at).strip_suffix('s')?;
            let senses = self.lexicons.senses_of(singular, self.language);
            senses.iter().find_map(|s| if let Sense::Weekday(n) = s { Some(*n % 7) } else { None })
        })
    }

    /// The month that is named at `at`, from 1.
    pub(super) fn month(&self, at: usize) -> Option<i8> {
        self.sense(at, |s| if let Sense::Month(n) = s { Some(*n) } else { None })
    }

    /// «third», as a number.
    pub(super) fn ordinal(&self, at: usize) -> Option<i64> {
        self.sense(at, |s| if let Sense::Ordinal(n) = s { Some(*n) } else { None })
    }

    /// The part of the day that is named at `at`.
    pub(super) fn part(&self, at: usize) -> Option<&str> {
        self.words.parts.contains_key(self.word(at)).then(|| self.word(at))
    }

    /// A cadence that starts at `at`: how often, the part of the day it names, one past its last token.
    fn cadence(&self, at: usize) -> Option<(Cadence, Option<String>, usize)> {
        if let Some(&days) = self.words.adverbs.get(self.word(at)) {
            let cadence = match days {
                0 => Cadence::Hours(1),
                1 => Cadence::Days(1),
                7 => Cadence::Weekly(vec![1]),
                _ => Cadence::Monthly(1),
            };
            return Some((cadence, None, at + 1));
        }
        let every = self.phrase(&self.words.every, at).or_else(|| self.misspelt_every(at));
        // «on weekdays», «on mondays»: the plural says it.
        let on = self.phrase(&self.words.on, at).filter(|&to| {
            let plural = self.word(to).ends_with('s') && self.language == Language::En;
            (plural && self.weekday(to).is_some())
                || self.phrase(self.words.weekdays.iter().chain(&self.words.weekend), to).is_some()
        });
        if let Some(from) = every.or(on) {
            return self.round(from);
        }
        self.day_range(at)
            .or_else(|| self.of_the_month(at))
            .or_else(|| self.on_that_day(at))
            .or_else(|| self.bare_days(at))
            .or_else(|| self.bare_weekdays(at))
            .or_else(|| self.once_a(at))
    }

    /// «evrey day», where the rest of the sentence speaks of something that recurs.
    fn misspelt_every(&self, at: usize) -> Option<usize> {
        let mut letters: Vec<char> = self.word(at).chars().collect();
        letters.sort_unstable();
        let swapped = |word: &String| {
            let mut meant: Vec<char> = word.chars().collect();
            meant.sort_unstable();
            meant.len() >= 4 && meant == letters
        };
        (self.likely && self.words.every.iter().any(swapped)).then_some(at + 1)
    }

    /// «tuesday and thursday at 6», without «every».
    fn bare_days(&self, at: usize) -> Option<(Cadence, Option<String>, usize)> {
        let plural = self.language == Language::En && self.word(at).ends_with("days");
        let (days, to) = self.days(at).filter(|_| self.likely || plural)?;
        let timed = self.time(self.skip_links(to)).is_some() || self.time_before(at).is_some();
        timed.then_some((Cadence::Weekly(days), None, to))
    }

    /// «weekdays at 9», without «every».
    fn bare_weekdays(&self, at: usize) -> Option<(Cadence, Option<String>, usize)> {
        let to =
            self.phrase(&self.words.weekdays, at).filter(|_| self.likely && self.word(at).ends_with(['s', 'i']))?;
        let timed = self.time(self.skip_links(to)).is_some() || self.time_before(at).is_some();
        timed.then(|| (Cadence::Weekly((1..=5).collect()), None, to))
    }

    /// «once an hour», «una volta al giorno».
    fn once_a(&self, at: usize) -> Option<(Cadence, Option<String>, usize)> {
        let once = matches!(
            (self.word(at), self.word(at + 1)),
            ("once", "a" | "an" | "every") | ("volta", "al" | "all'" | "alla" | "all")
        );
        once.then(|| self.round(at + 2)).flatten()
    }

    /// «from monday to friday», «mon-fri».
    fn day_range(&self, at: usize) -> Option<(Cadence, Option<String>, usize)> {
        let named = |name: &str| {
            let senses = self.lexicons.senses_of(name, self.language);
            senses.iter().find_map(|s| if let Sense::Weekday(n) = s { Some(*n % 7) } else { None })
        };
        let (first, last, to) = if let Some((first, last)) = self.word(at).split_once('-') {
            (named(first)?, named(last)?, at + 1)
        } else {
            let first = self.weekday(at)?;
            let next = self.phrase(&self.words.through, at + 1)?;
            (first, self.weekday(next)?, next + 1)
        };
        let days = (0..7).map(|n| (first + n) % 7);
        let upto = days.clone().position(|d| d == last)?;
        (upto > 0).then(|| (Cadence::Weekly(days.take(upto + 1).collect()), None, to))
    }

    /// «on the first of the month», «il 15 del mese».
    fn of_the_month(&self, at: usize) -> Option<(Cadence, Option<String>, usize)> {
        let month = self.period(at) == Some(Period::Month);
        (month && self.day_of_month_before(at).0.is_some()).then(|| (Cadence::Monthly(1), None, at + 1))
    }

    /// «il lunedì alle 9»: the article says that it is so each week, when a time of day follows.
    fn on_that_day(&self, at: usize) -> Option<(Cadence, Option<String>, usize)> {
        let article = self.language == Language::It && matches!(self.word(at), "il" | "la" | "di");
        let (days, to) = self.days(at + 1).filter(|_| article)?;
        let timed =
            self.time(self.skip_links(to)).or_else(|| self.time_soon(to)).is_some() || self.time_before(at).is_some();
        timed.then_some((Cadence::Weekly(days), None, to))
    }

    /// What comes after «every».
    fn round(&self, from: usize) -> Option<(Cadence, Option<String>, usize)> {
        if let Some(to) = self.phrase(&self.words.weekdays, from) {
            return Some((Cadence::Weekly((1..=5).collect()), None, to));
        }
        if let Some(to) = self.phrase(&self.words.weekend, from) {
            return Some((Cadence::Weekly(vec![6, 0]), None, to));
        }
        if let Some(part) = self.part(from) {
            return Some((Cadence::Days(1), Some(part.to_owned()), from + 1));
        }
        if let Some((days, to)) = self.days(from) {
            let part = self.part(to).map(str::to_owned);
            let to = to + usize::from(part.is_some());
            return Some((Cadence::Weekly(days), part, to));
        }
        let fraction = |(phrase, minutes): (&String, &u8)| Some((self.phrase([phrase], from)?, *minutes));
        if let Some((to, minutes)) = self.words.fractions.iter().find_map(fraction) {
            return Some((Cadence::Minutes(i64::from(minutes)), None, to));
        }
        let other = self.phrase(&self.words.other, from);
        let (count, unit) = match (other, self.number(from)) {
            (Some(to), _) => (2, to),
            (None, Some(n)) => (n, from + 1),
            (None, None) => (1, from),
        };
        if count < 0 {
            return None;
        }
        let cadence = match self.period(unit)? {
            Period::Minute => Cadence::Minutes(count),
            Period::HalfHour if count == 1 => Cadence::Minutes(30),
            Period::Hour => Cadence::Hours(count),
            Period::Day => Cadence::Days(count),
            Period::Week if count == 1 => Cadence::Weekly(vec![1]),
            Period::Month if count == 1 => Cadence::Monthly(1),
            Period::Year if count == 1 => Cadence::Yearly,
            Period::HalfHour | Period::Week | Period::Month | Period::Year => return None,
        };
        Some((cadence, None, unit + 1))
    }

    /// «monday and thursday», «lunedì, mercoledì e venerdì».
    fn days(&self, from: usize) -> Option<(Vec<i8>, usize)> {
        let mut days = vec![self.weekday(from)?];
        let mut to = from + 1;
        loop {
            let mut next = to;
            while matches!(self.word(next), "," | "and" | "e" | "ed" | "every" | "ogni" | "on" | "il" | "la")
                && next < to + 3
            {
                next += 1;
            }
            match self.weekday(next).filter(|_| next > to) {
                Some(day) => {
                    days.push(day);
                    to = next + 1;
                }
                None => return Some((days, to)),
            }
        }
    }

    pub(super) fn skip_links(&self, at: usize) -> usize {
        let linking = |at: usize| self.word(at) == "," || self.words.on.iter().any(|w| w == self.word(at));
        let next = at + usize::from(linking(at));
        if self.clock(next).is_some() || self.phrase(&self.words.at, next).is_some() { next } else { at }
    }

    /// A time of day that starts at `at`: «at 8», «alle 22:15», «at noon», «8:30».
    pub(super) fn time(&self, at: usize) -> Option<Time> {
        let led = self.phrase(&self.words.at, at);
        let from = led.unwrap_or(at);
        let from = self.phrase(&self.words.at, from).unwrap_or(from);
        // «at like six»
        let from = from + usize::from(led.is_some() && self.is_filler(from));
        if let Some(&hour) = self.words.moments.get(self.word(from)) {
            return Some((i64::from(hour) * 60, from + 1));
        }
        if let Some((minutes, to)) = self.minutes(from) {
            let hour = self.number(to).filter(|h| (0..24).contains(h) && self.language == Language::En)?;
            let (hour, to) = match self.word(to + 1) {
                "pm" | "p.m" => (hour % 12 + 12, to + 2),
                "am" | "a.m" => (hour % 12, to + 2),
                _ => (hour, to + 1),
            };
            return Some(((hour * 60 + minutes).rem_euclid(24 * 60), to));
        }
        let (minutes, to, sure) = self.clock(from)?;
        (sure || led.is_some()).then_some((minutes, to))
    }

    /// «half past», «meno un quarto» at `at`: minutes that are added to an hour, the longest phrase.
    fn minutes(&self, at: usize) -> Option<(i64, usize)> {
        let read = |(phrase, minutes): (&String, &i8)| Some((i64::from(*minutes), self.phrase([phrase], at)?));
        self.words.minutes.iter().filter_map(read).max_by_key(|(_, to)| *to)
    }

    /// Hours and minutes at `at`; whether they can be nothing else.
    fn clock(&self, at: usize) -> Option<(i64, usize, bool)> {
        let word = self.word(at);
        let half = |to: usize| self.minutes(to).filter(|_| self.language == Language::It);
        let meridian = |hour: i64, word: &str| match word {
            "am" | "a.m" => Some(hour % 12),
            "pm" | "p.m" => Some(hour % 12 + 12),
            _ => None,
        };
        let (digits, suffix) = word.split_at(word.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.len()));
        let (hour, minute, written): (i64, i64, bool) = match digits.split_once([':', '.']) {
            Some((h, m)) if m.len() == 2 => (h.parse().ok()?, m.parse().ok()?, true),
            Some(_) => return None,
            None => (digits.parse().ok().or_else(|| self.number(at))?, 0, false),
        };
        if !(0..24).contains(&hour) || !(0..60).contains(&minute) {
            return None;
        }
        if let Some(hour) = meridian(hour, suffix) {
            return Some((hour * 60 + minute, at + 1, true));
        }
        if !suffix.is_empty() && self.number(at).is_none() {
            return None;
        }
        if let Some(hour) = meridian(hour, self.word(at + 1)) {
            return Some((hour * 60 + minute, at + 2, true));
        }
        // «7:30 p.m.» and «22 : 15» are cut at their marks.
        if self.word(at + 1) == ":" && !written {
            let minute = self.word(at + 2).parse::<i64>().ok().filter(|m| (0..60).contains(m))?;
            return Some((hour * 60 + minute, at + 3, true));
        }
        // «18 e 30»
        let joined = self.language == Language::It && self.word(at + 1) == "e" && !written && !digits.is_empty();
        let minute_said = self.word(at + 2).parse::<i64>().ok().filter(|m| joined && (0..60).contains(m));
        if let Some(minute) = minute_said.filter(|_| self.word(at + 2).len() == 2) {
            return Some((hour * 60 + minute, at + 3, true));
        }
        if let Some((more, to)) = half(at + 1).filter(|_| !written) {
            return Some(((hour * 60 + more).rem_euclid(24 * 60), to, true));
        }
        Some((hour * 60 + minute, at + 1, written))
    }

    /// A time of day that ends right before `at`, and its first token.
    pub(super) fn time_before(&self, at: usize) -> Option<(i64, usize)> {
        let ends = |to: usize| {
            to == at || (to + 1 == at && (self.word(to) == "," || self.words.on.iter().any(|w| w == self.word(to))))
        };
        (at.saturating_sub(9)..at).find_map(|from| {
            let (minutes, to) = self.time(from)?;
            let (part, end) = self.part_after(to);
            ends(end).then(|| (self.at_part(Some(minutes), part), from))
        })
    }

    /// «il 15 di ogni mese», «on the first of every month».
    fn day_of_month_before(&self, from: usize) -> (Option<i64>, usize) {
        let link = |at: usize| self.words.on.iter().any(|w| w == self.word(at));
        let mut at = from;
        while at > 0 && link(at - 1) {
            at -= 1;
        }
        let Some(day_at) = at.checked_sub(1).filter(|_| at < from) else { return (None, from) };
        let first = self.words.first.iter().any(|w| w == self.word(day_at));
        let figure = self.word(day_at).trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok();
        let ordinal = self.sense(day_at, |s| if let Sense::Ordinal(n) = s { Some(*n) } else { None });
        let day = if first { Some(1) } else { figure.or(ordinal) };
        let Some(day) = day.filter(|d| (1..=31).contains(d)) else { return (None, from) };
        let start = (0..day_at).rev().take_while(|&i| link(i)).last().unwrap_or(day_at);
        (Some(day), start)
    }

    /// «in the evening», «di sera»: a part of the day right after a time.
    pub(super) fn part_after(&self, to: usize) -> (Option<&str>, usize) {
        for skip in 0..3 {
            let between = (to..to + skip)
                .all(|i| matches!(self.word(i), "in" | "the" | "di" | "del" | "della" | "at" | "of" | "nel"));
            if let Some(part) = self.part(to + skip).filter(|_| between) {
                return (Some(part), to + skip + 1);
            }
        }
        (None, to)
    }

    /// The time with what the part of the day makes of it; eight in the morning when nothing is said.
    pub(super) fn at_part(&self, time: Option<i64>, part: Option<&str>) -> i64 {
        let usual = part.and_then(|part| self.words.parts.get(part)).map_or(8, |hour| i64::from(*hour));
        let Some(minutes) = time else { return usual * 60 };
        let Some(part) = part else { return minutes };
        let late = self.words.afternoon.iter().any(|w| w == part);
        let night = usual >= 22;
        let small = minutes < 12 * 60;
        if small && (late || (night && minutes >= 6 * 60)) { minutes + 12 * 60 } else { minutes }
    }
}

fn cron(cadence: &Cadence, minutes: i64, day: Option<i64>) -> Option<String> {
    let (minute, hour) = (minutes % 60, minutes / 60);
    let every = |n: i64| if n == 1 { "*".to_owned() } else { format!("*/{n}") };
    Some(match cadence {
        // What does not divide an hour or a day is no line of cron: its steps would be of two lengths.
        Cadence::Minutes(n) if *n > 0 && *n < 60 && 60 % *n == 0 => format!("{} * * * *", every(*n)),
        Cadence::Hours(n) if *n > 0 && *n < 24 && 24 % *n == 0 => format!("0 {} * * *", every(*n)),
        Cadence::Minutes(n) if *n <= 366 * 24 * 60 => format!("every_{n}_minutes"),
        Cadence::Hours(n) if *n <= 366 * 24 => format!("every_{n}_hours"),
        Cadence::Days(n) if *n > 0 && *n < 29 => format!("{minute} {hour} {} * *", every(*n)),
        Cadence::Minutes(_) | Cadence::Hours(_) | Cadence::Days(_) => return None,
        Cadence::Weekly(days) => {
            let days: Vec<String> = days.iter().map(i8::to_string).collect();
            format!("{minute} {hour} * * {}", days.join(","))
        }
        Cadence::Monthly(first) => format!("{minute} {hour} {} * *", day.unwrap_or(*first)),
        Cadence::Yearly => format!("{minute} {hour} {} 1 *", day.unwrap_or(1)),
    })
}

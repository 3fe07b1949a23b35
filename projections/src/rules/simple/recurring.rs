//! Recurring times: «every weekday at 8:30», «alle 22:15 di ogni sera», as five fields of cron, and the request that is left.
//!
//! It reads a cadence and a time beside it. What has no cadence («tomorrow at 8») is read in `once`.

use std::ops::Range;

use super::items::{Item, What};
use super::lexicon::{Cue, Lexicons, Period, Recurrence, Sense};
use super::limits::Limits;
use crate::messages::Language;

/// A recurring time, and the items that say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recurring {
    /// As a cadence is written: five fields of cron, `every_90_minutes`, `at:2026-11-23T08:00`.
    pub(crate) when: String,
    /// The items that say it: first and one past the last, in their order. Two where the time stands apart from the days.
    pub(crate) spans: Vec<Range<usize>>,
    /// A time of day was said too.
    pub(crate) timed: bool,
    /// The sentence begins or ends with it, and it belongs to no thing.
    pub(crate) outside: bool,
    /// Until when, and how many times, where that is said.
    pub(crate) limits: Limits,
}

/// What a sentence says of recurring times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing.
    Nothing,
    /// One that recurs.
    Time(Recurring),
    /// A time is meant, but not one that can be kept.
    Unclear(Doubt),
}

/// Why words of time are no time that can be kept, with the tokens that say so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// How often, or at what time of day.
    Time,
    /// «every blue moon».
    Strange(Range<usize>),
    /// «tomorrow», without a time of day.
    Hour(Range<usize>),
    /// «every -5 minutes», «every 99999999 years».
    Interval(Range<usize>),
    /// «every second Monday»: neither days of the week or the month, nor minutes or hours.
    Steps(Range<usize>),
    /// «twice a day»: at what times?
    Often(Range<usize>),
    /// «today at 5», after it.
    Over(Range<usize>),
    /// «tomorrow at 8 … on Friday».
    More(Range<usize>),
    /// «until the cows come home».
    Until(Range<usize>),
    /// «starting on Monday».
    From(Range<usize>),
    /// «except at Christmas».
    Except(Range<usize>),
    /// «03/04/2027», with both days that it may be.
    Either(Range<usize>, [String; 2]),
    /// «New York time».
    Zone(Range<usize>),
}

/// How often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cadence {
    Minutes(i64),
    Hours(i64),
    /// Every day.
    Daily,
    /// Days of the week, Sunday is 0; with the hour that is usual, if the words have one.
    Weekly(Vec<i8>),
    /// Every so many months.
    Monthly(i64),
    /// The last day of the month.
    MonthEnd,
    /// «the second Monday of the month»; its number, 0 for the last, and its day.
    WeekdayOfMonth(i64, i8),
    /// On that day and month.
    Yearly(i64, i64),
    /// So many times a day, at times that must be said.
    Often(i64),
    /// No interval: «every -5 minutes».
    Impossible,
    /// An interval that no schedule keeps: «every other day».
    Uneven,
}

/// A cadence, the part of the day that it names, and one past its last token.
pub(super) type Round = (Cadence, Option<String>, usize);

/// A word and the item that it belongs to. What is no word is a bar that nothing reads across.
pub(super) type Token = (String, usize);

/// Reads the recurring time of a sentence.
///
/// `likely`: such sentences usually ask for something to recur, so days with a time of day say so without «every».
pub(super) fn recurring(
    lexicons: &Lexicons,
    language: Language,
    items: &[Item],
    tokens: &[Token],
    likely: bool,
) -> Found {
    let order = |l: &&(Language, Recurrence)| l.0 != language;
    let mut tables: Vec<&(Language, Recurrence)> = lexicons.recurrence.iter().collect();
    tables.sort_by_key(order);
    let read = |(language, words): &(Language, Recurrence)| {
        Reader { lexicons, language: *language, words, items, tokens, likely }.read()
    };
    tables.into_iter().map(read).find(|found| *found != Found::Nothing).unwrap_or(Found::Nothing)
}

/// The words of a sentence. A number keeps the sign that stands before it.
pub(super) fn tokens(text: &str, items: &[Item]) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match &item.what {
            What::Path { .. } | What::Globs { .. } | What::Url(_) | What::Quoted(_) | What::Email(_) => {
                tokens.push((BAR.to_owned(), at));
            }
            What::Punctuation(mark) => tokens.push((mark.to_string(), at)),
            _ => tokens.extend(item.folded.split(' ').map(|word| (word.to_owned(), at))),
        }
        let before = text.get(..item.start).unwrap_or_default();
        let signed = before.strip_suffix(['-', '−', '–']).is_some_and(|b| b.ends_with(char::is_whitespace));
        if let Some((word, _)) =
            tokens.last_mut().filter(|(word, _)| signed && word.starts_with(|c: char| c.is_ascii_digit()))
        {
            word.insert(0, '-');
        }
    }
    tokens
}

/// A word that nothing reads across.
pub(super) const BAR: &str = "\0";

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
        for start in 0..self.told_from() {
            if let Some(round) = self.cadence(start) {
                return self.timed(start, round);
            }
            if let Some(to) = self.strange(start) {
                return Found::Unclear(Doubt::Strange(start..to));
            }
        }
        Found::Nothing
    }

    /// A cadence with the times of day that stand around it.
    fn timed(&self, start: usize, (cadence, part, end): Round) -> Found {
        let (cadence, end, day) = self.on_day(cadence, end);
        let said = start..end;
        let after = self.times(self.skip_links(end)).or_else(|| self.time_soon(end).map(|(at, to)| (vec![at], to)));
        let (times, from, to) = match after {
            Some((times, to)) => (times, start, to),
            None => match self.times_before(start) {
                Some((times, from)) => (times, from, end),
                None => (Vec::new(), start, end),
            },
        };
        let (before, from) = if day.is_some() { (None, from) } else { self.day_of_month_before(from) };
        let day = day.or(before);
        let (late, to) = self.part_after(to);
        let apart = if times.is_empty() { self.time_of_act(from..to) } else { None };
        let (times, apart) = apart.map_or((times, None), |(minutes, span)| (vec![minutes], Some(span)));
        let part = late.or(part.as_deref());
        let minutes: Vec<i64> = if times.is_empty() {
            vec![self.at_part(None, part)]
        } else {
            times.iter().map(|&at| self.at_part(Some(at), part)).collect()
        };
        let within = |at: usize| (from..to).contains(&at) || apart.as_ref().is_some_and(|s| s.contains(&at));
        // A time of day that went into nothing would make it another one.
        let left = |&at: &usize| {
            let weekday = self.likely && self.weekday(at).is_some();
            !within(at) && (self.is_clock(at) || weekday || self.is_span_of_day(at)) && !self.is_about(at)
        };
        let told = self.told_from().max(to);
        // «every other day… no, every day»: which one is meant is for the person to say.
        let again = (to..told).any(|at| !within(at) && self.cadence(at).is_some());
        if again || (0..told).any(|at| left(&at)) {
            return Found::Unclear(Doubt::Time);
        }
        let when = match cron(&cadence, (times.len(), &minutes), day) {
            Ok(when) => when,
            Err(doubt) => return Found::Unclear(doubt(said)),
        };
        let mut spans: Vec<_> = std::iter::once(from..to).chain(apart).collect();
        spans.sort_by_key(|s| s.start);
        let (first, last) = (spans[0].start, spans[spans.len() - 1].end);
        let ends =
            (last..self.tokens.len()).all(|at| self.is_masked(at) || self.items[self.tokens[at].1].is_punctuation());
        let outside = self.is_silent_before(first) || (ends && !self.describes(first));
        let spans = spans.into_iter().map(|span| self.items_of(span)).collect();
        Found::Time(Recurring { when, spans, timed: !times.is_empty(), outside, limits: Limits::default() })
    }

    /// The items of these tokens.
    pub(super) fn items_of(&self, span: Range<usize>) -> Range<usize> {
        self.tokens[span.start].1..self.tokens[span.end - 1].1 + 1
    }

    /// Whether nothing but grammar and «tell me» stands before a token.
    pub(super) fn is_silent_before(&self, at: usize) -> bool {
        let weak = |i: &Item| i.verb().is_some_and(|v| self.lexicons.verbs[v].weak && !self.lexicons.verbs[v].counts);
        (0..at).all(|at| {
            let item = &self.items[self.tokens[at].1];
            self.is_masked(at) || item.is_punctuation() || item.is_noise() || item.is(Cue::Listener) || weak(item)
        })
    }

    /// Whether a token was read already, as a bound.
    pub(super) fn is_masked(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|(word, item)| {
            let plain = matches!(self.items[*item].what, What::Word(_) | What::Number(_) | What::Window { .. });
            word == BAR && plain
        })
    }

    /// The first token of what a message tells somebody: «… that dinner is at 8».
    pub(super) fn told_from(&self) -> usize {
        let sends = |at: usize| {
            let item = &self.items[at];
            let says = item.is(Cue::Tells) || item.verb().is_some_and(|v| self.lexicons.verbs[v].verbs[0] == "send");
            says && !item.pronoun && !self.items.get(at + 1).is_some_and(|next| next.is(Cue::Listener))
        };
        let opens = |at: usize| self.items[at].is(Cue::Saying) || self.items[at].what == What::Punctuation(':');
        let told = (0..self.items.len())
            .find(|&at| sends(at))
            .and_then(|sends| (sends + 2..self.items.len()).find(|&at| opens(at)));
        let is_quoted = self.items.iter().any(|i| matches!(i.what, What::Quoted(_)));
        told.filter(|_| !is_quoted)
            .map_or(self.tokens.len(), |told| self.tokens.partition_point(|(_, item)| *item < told))
    }

    /// «for each month», «per ogni anno», «the daily report»: what things are grouped by, or are like.
    pub(super) fn describes(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map(|before| &self.items[self.tokens[before].1]);
        let grouped = before.is_some_and(|i| {
            [Cue::By, Cue::Grouped, Cue::Inside, Cue::From].iter().any(|&cue| i.is(cue)) && !i.is(Cue::Connector)
        });
        let adverb = self.words.adverbs.contains_key(self.word(at));
        let after = self.tokens.get(at + 1).map(|(_, item)| &self.items[*item]);
        let beside = after.is_some_and(|i| !i.is_punctuation() && i.verb().is_none())
            || before.is_some_and(|i| i.is(Cue::Determiner));
        grouped || (adverb && beside)
    }

    /// «the report of Friday», «pack for tomorrow»: words that say of what a thing is, not when something is done.
    pub(super) fn is_about(&self, at: usize) -> bool {
        (1..=3.min(at)).any(|back| {
            let from = at - back;
            let leads = self.phrase(&self.words.about, from).is_some_and(|to| to <= at);
            leads && (from + 1..at).all(|between| self.items[self.tokens[between].1].is_noise())
        })
    }

    /// «remind me at 8 to …, every day»: a time that stands where the act is named, apart from the days.
    fn time_of_act(&self, days: Range<usize>) -> Option<(i64, Range<usize>)> {
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

    /// «from 8 to 18», «tra le 8 e le 18»: a part of each day.
    fn is_span_of_day(&self, at: usize) -> bool {
        let plain = |at: usize| {
            self.tokens
                .get(at)
                .is_some_and(|(_, item)| matches!(self.items[*item].what, What::Word(_) | What::Number(_)))
        };
        let first = self.phrase(&self.words.between, at).filter(|_| plain(at));
        first.and_then(|at| self.clock(at)).is_some_and(|(_, to, _)| {
            let next = to + usize::from(self.part_after(to).0.is_some());
            self.phrase(self.words.through.iter().chain(&self.words.and).chain(&self.words.at), next).is_some()
        })
    }

    pub(super) fn is_filler(&self, at: usize) -> bool {
        self.words.fillers.iter().any(|w| w == self.word(at)) || self.word(at) == ","
    }

    /// `22:15`, «at six», «alle 9».
    pub(super) fn is_clock(&self, at: usize) -> bool {
        let figure = self.word(at).split_once(':').is_some_and(|(h, m)| {
            m.len() == 2
                && h.len() <= 2
                && h.parse::<u8>().is_ok_and(|h| h < 24)
                && m.parse::<u8>().is_ok_and(|m| m < 60)
        });
        let at_hour = matches!(self.word(at), "at" | "alle") && self.number(at + 1).is_some();
        let spoken = self.minutes(at).is_some_and(|(_, to)| self.language == Language::En && self.number(to).is_some());
        let past = self.phrase(&self.words.at, at).is_some_and(|to| self.minutes(to).is_some());
        figure || at_hour || spoken || past
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

    /// A cadence that starts at `at`.
    pub(super) fn cadence(&self, at: usize) -> Option<Round> {
        if let Some(&days) = self.words.adverbs.get(self.word(at)) {
            let cadence = match days {
                0 => Cadence::Hours(1),
                1 => Cadence::Daily,
                7 => Cadence::Weekly(vec![1]),
                _ => Cadence::Monthly(1),
            };
            return Some((cadence, None, at + 1));
        }
        let every = self.phrase(&self.words.every, at).or_else(|| self.misspelt_every(at));
        if let Some(round) = self.within_month(at, every) {
            return Some(round);
        }
        // «on weekdays», «on mondays»: the plural says it.
        let on = self.phrase(&self.words.on, at).filter(|&to| {
            let plural = |end: usize| self.word(end - 1).ends_with('s');
            let english = self.language == Language::En;
            let some = self.phrase(self.words.weekdays.iter().chain(&self.words.weekend), to);
            (english && plural(to + 1) && self.weekday(to).is_some()) || some.is_some_and(|end| !english || plural(end))
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
    fn bare_days(&self, at: usize) -> Option<Round> {
        let plural = self.language == Language::En && self.word(at).ends_with("days");
        let (days, to) = self.days(at).filter(|_| self.likely || plural)?;
        let timed = self.time(self.skip_links(to)).is_some() || self.time_before(at).is_some();
        (timed || (plural && self.opens(at, to))).then_some((Cadence::Weekly(days), None, to))
    }

    /// «weekdays at 9», without «every».
    fn bare_weekdays(&self, at: usize) -> Option<Round> {
        let to =
            self.phrase(&self.words.weekdays, at).filter(|_| self.likely && self.word(at).ends_with(['s', 'i']))?;
        let timed = self.time(self.skip_links(to)).is_some() || self.time_before(at).is_some();
        timed.then(|| (Cadence::Weekly((1..=5).collect()), None, to))
    }

    /// «from monday to friday», «mon-fri».
    fn day_range(&self, at: usize) -> Option<Round> {
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
    fn of_the_month(&self, at: usize) -> Option<Round> {
        let month = self.period(at) == Some(Period::Month);
        (month && self.day_of_month_before(at).0.is_some()).then(|| (Cadence::Monthly(1), None, at + 1))
    }

    /// «il lunedì alle 9»: the article says that it is so each week, when a time of day follows.
    fn on_that_day(&self, at: usize) -> Option<Round> {
        let article = self.language == Language::It && matches!(self.word(at), "il" | "la" | "di");
        let (days, to) = self.days(at + 1).filter(|_| article)?;
        let timed =
            self.time(self.skip_links(to)).or_else(|| self.time_soon(to)).is_some() || self.time_before(at).is_some();
        (timed || self.opens(at, to)).then_some((Cadence::Weekly(days), None, to))
    }

    /// «di lunedì leggi …»: days before the act that the sentence begins with.
    fn opens(&self, at: usize, to: usize) -> bool {
        let next = to + usize::from(self.word(to) == ",");
        let acts = self.tokens.get(next).is_some_and(|(_, item)| {
            let item = &self.items[*item];
            item.verb().is_some() && item.past().is_none()
        });
        acts && self.is_silent_before(at)
    }

    /// «monday and thursday», «lunedì, mercoledì e venerdì».
    pub(super) fn days(&self, from: usize) -> Option<(Vec<i8>, usize)> {
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
        let at = (at..self.tokens.len()).find(|&at| !self.is_masked(at)).unwrap_or(at);
        let linking = |at: usize| self.word(at) == "," || self.words.on.iter().any(|w| w == self.word(at));
        let next = at + usize::from(linking(at));
        if self.clock(next).is_some() || self.phrase(&self.words.at, next).is_some() { next } else { at }
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
        let links = |i: &usize| link(*i) || self.words.every.iter().any(|w| w == self.word(*i));
        let start = (0..day_at).rev().take_while(links).last().unwrap_or(day_at);
        (Some(day), start)
    }
}

/// A doubt about some tokens.
type Doubted = fn(Range<usize>) -> Doubt;

/// The cadence as it is written, at these minutes of the day, so many of which were said.
fn cron(cadence: &Cadence, (timed, minutes): (usize, &[i64]), day: Option<i64>) -> Result<String, Doubted> {
    const LONGEST_MINUTES: i64 = 366 * 24 * 60;
    let every = |n: i64| if n == 1 { "*".to_owned() } else { format!("*/{n}") };
    let same = minutes.iter().all(|at| at % 60 == minutes[0] % 60);
    let mut hours: Vec<i64> = minutes.iter().map(|at| at / 60).collect();
    hours.sort_unstable();
    hours.dedup();
    let hours: Vec<String> = hours.iter().map(i64::to_string).collect();
    let at = format!("{} {}", minutes[0] % 60, hours.join(","));
    let whole = matches!(cadence, Cadence::Minutes(_) | Cadence::Hours(_));
    if (whole && (timed > 0 || day.is_some())) || (!whole && !same) {
        return Err(|_| Doubt::Time);
    }
    Ok(match cadence {
        // What does not divide an hour or a day is no line of cron: its steps would be of two lengths.
        Cadence::Minutes(n) if *n > 0 && *n < 60 && 60 % *n == 0 => format!("{} * * * *", every(*n)),
        Cadence::Hours(n) if *n > 0 && *n < 24 && 24 % *n == 0 => format!("0 {} * * *", every(*n)),
        Cadence::Minutes(n) if (1..=LONGEST_MINUTES).contains(n) => format!("every_{n}_minutes"),
        Cadence::Hours(n) if (1..=LONGEST_MINUTES / 60).contains(n) => format!("every_{n}_hours"),
        Cadence::Minutes(_) | Cadence::Hours(_) | Cadence::Impossible => return Err(Doubt::Interval),
        Cadence::Often(n) if usize::try_from(*n) == Ok(timed) => format!("{at} * * *"),
        Cadence::Often(_) => return Err(Doubt::Often),
        Cadence::Uneven => return Err(Doubt::Steps),
        Cadence::Daily => format!("{at} * * *"),
        Cadence::Weekly(days) => {
            let days: Vec<String> = days.iter().map(i8::to_string).collect();
            format!("{at} * * {}", days.join(","))
        }
        Cadence::Monthly(n) => format!("{at} {} {} *", day.unwrap_or(1), every(*n)),
        Cadence::MonthEnd => format!("{at} L * *"),
        Cadence::WeekdayOfMonth(0, weekday) => format!("{at} * * {weekday}#L"),
        Cadence::WeekdayOfMonth(nth, weekday) => format!("{at} * * {weekday}#{nth}"),
        Cadence::Yearly(first, month) => format!("{at} {} {month} *", day.unwrap_or(*first)),
    })
}

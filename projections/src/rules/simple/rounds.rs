//! What comes after «every»: «hour and a half», «3 days», «second Monday», «first of the month»; and how often a day.
//!
//! What no schedule keeps is read as such, so that nothing nearby is taken for it.

use super::lexicon::{Cue, Period};
use super::recurring::{BAR, Cadence, Reader, Round};

/// A number before a unit, as it is written.
enum Amount {
    Whole(i64),
    /// Negative, a fraction, or one that cannot be counted.
    Odd,
}

impl Reader<'_> {
    /// What comes after «every».
    pub(super) fn round(&self, from: usize) -> Option<Round> {
        if let Some(to) = self.phrase(&self.words.weekdays, from) {
            return Some((Cadence::Weekly((1..=5).collect()), None, to));
        }
        if let Some(to) = self.phrase(&self.words.weekend, from) {
            return Some((Cadence::Weekly(vec![6, 0]), None, to));
        }
        if let Some(part) = self.part(from) {
            return Some((Cadence::Daily, Some(part.to_owned()), from + 1));
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
        self.counted(from)
    }

    /// «… every month on the 15th», «ogni anno il 3 maggio»: the day that stands behind, and one past it.
    pub(super) fn on_day(&self, cadence: Cadence, end: usize) -> (Cadence, usize, Option<i64>) {
        let links = |at: &usize| self.words.on.iter().any(|w| w == self.word(*at)) || self.word(*at) == "on";
        let from = (end..end + 3).take_while(links).last().map_or(end, |last| last + 1);
        match cadence {
            Cadence::Yearly(..) => match self.day_and_month(from) {
                Some((day, month, to)) => (Cadence::Yearly(day, month), to, None),
                None => (cadence, end, None),
            },
            Cadence::Monthly(_) if from > end => match self.day_figure(from) {
                Some(day) if self.month(from + 1).is_none() => (cadence, from + 1, Some(day)),
                _ => (cadence, end, None),
            },
            other => (other, end, None),
        }
    }

    /// «15», «15th», «third», «first»: a day of the month.
    pub(super) fn day_figure(&self, at: usize) -> Option<i64> {
        let first = || self.words.first.iter().any(|w| w == self.word(at)).then_some(1);
        let figure = self.word(at).trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok();
        figure.or_else(|| self.ordinal(at)).or_else(first).filter(|day| (1..=31).contains(day))
    }

    /// «3 May», «May 3rd», «il 3 maggio», «Christmas»: day, month, one past it.
    pub(super) fn day_and_month(&self, at: usize) -> Option<(i64, i64, usize)> {
        let feast = |(phrase, date): (&String, &String)| {
            let (month, day) = date.split_once('-')?;
            Some((day.parse().ok()?, month.parse().ok()?, self.phrase([phrase], at)?))
        };
        if let Some(found) = self.words.feasts.iter().filter_map(feast).max_by_key(|(.., to)| *to) {
            return Some(found);
        }
        let of = |at: usize| at + usize::from(self.word(at) == "of");
        match (self.day_figure(at), self.month(of(at + 1))) {
            (Some(day), Some(month)) => Some((day, i64::from(month), of(at + 1) + 1)),
            _ => Some((self.day_figure(at + 1)?, i64::from(self.month(at)?), at + 2)),
        }
    }

    /// «other day», «2 hours», «hour and a half», «second Monday».
    fn counted(&self, from: usize) -> Option<Round> {
        if let Some((day, month, to)) = self.day_and_month(from) {
            return Some((Cadence::Yearly(day, month), None, to));
        }
        let other = self.phrase(&self.words.other, from);
        let ordinal = self.ordinal(from).filter(|n| *n > 1).map(|n| (n, from + 1));
        let (amount, unit) = match (other.map(|to| (2, to)).or(ordinal), self.amount(from)) {
            (Some((n, to)), _) => (Amount::Whole(n), to),
            (None, Some((amount, to))) => (amount, to),
            (None, None) => (Amount::Whole(1), from),
        };
        let more = self.halved(unit);
        let (halved, unit) = more.map_or((false, unit), |to| (true, to));
        if self.weekday(unit).is_some() && unit > from {
            return Some((Cadence::Uneven, None, unit + 1));
        }
        let is_instant = self.words.instants.iter().any(|word| word == self.word(unit));
        // «every second» is one; «every second line» is not.
        let is_alone = |to: usize| self.period(to).is_some() || self.opens_at(to);
        if is_instant && (unit > from || is_alone(unit + 1)) {
            return Some((Cadence::Impossible, None, unit + 1));
        }
        let period = self.period(unit)?;
        let after = self.halved(unit + 1);
        let end = after.unwrap_or(unit + 1);
        let cadence = match amount {
            Amount::Odd => Cadence::Impossible,
            Amount::Whole(count) if halved || after.is_some() => with_half(count, period),
            Amount::Whole(count) => of_period(count, period),
        };
        Some((cadence, None, end))
    }

    /// Whether an act, a mark or the end stands at a token.
    pub(super) fn opens_at(&self, at: usize) -> bool {
        self.tokens
            .get(at)
            .is_none_or(|(_, item)| self.items[*item].is_punctuation() || self.items[*item].verb().is_some())
    }

    /// A number, and one past it: «3», «-5», «0.5», «1e3», «a hundred».
    fn amount(&self, at: usize) -> Option<(Amount, usize)> {
        let word = self.word(at);
        let minus = matches!(word, "minus" | "meno");
        if minus && self.number(at + 1).is_some() {
            return Some((Amount::Odd, at + 2));
        }
        if let Some(number) = self.number(at) {
            let amount = if number < 0 { Amount::Odd } else { Amount::Whole(number) };
            return Some((amount, at + 1));
        }
        let figures = word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
        // «every 5th» is an ordinal, and «9:30» a time.
        let odd = figures && self.ordinal(at).is_none() && !word.contains(':');
        let half = self.words.halves.iter().any(|half| half == word);
        (odd || half).then_some((Amount::Odd, at + 1))
    }

    /// One past «and a half».
    pub(super) fn halved(&self, at: usize) -> Option<usize> {
        let from = at + usize::from(self.words.and.iter().any(|word| word == self.word(at)));
        self.phrase(&self.words.halves, from).filter(|_| from > at)
    }

    /// «the first Monday of the month», «l'ultimo giorno del mese», «ogni primo lunedì del mese», «every other day» in other
    /// words.
    pub(super) fn within_month(&self, at: usize, every: Option<usize>) -> Option<Round> {
        if let Some(to) = self.phrase(&self.words.alternate, at) {
            return Some((Cadence::Uneven, None, to));
        }
        let mut from = every.unwrap_or(at);
        while let Some(to) = self.phrase(&self.words.on, from).or_else(|| self.phrase(&self.words.at, from)) {
            from = to;
        }
        let from = if matches!(self.word(from), "l'" | "l" | "the") { from + 1 } else { from };
        let is_in = |list: &[String]| list.iter().any(|word| word == self.word(from));
        let nth = if is_in(&self.words.last) {
            0
        } else if is_in(&self.words.first) {
            1
        } else {
            self.ordinal(from).filter(|n| (2..=5).contains(n))?
        };
        let of_month = |at: usize| {
            let month = self.phrase(&self.words.of, at)?;
            (self.period(month) == Some(Period::Month)).then_some(month + 1)
        };
        if let Some(day) = self.weekday(from + 1) {
            return Some((Cadence::WeekdayOfMonth(nth, day), None, of_month(from + 2)?));
        }
        let day = self.period(from + 1) == Some(Period::Day);
        let to = of_month(from + 1 + usize::from(day))?;
        (nth == 0)
            .then_some((Cadence::MonthEnd, None, to))
            .or_else(|| (nth == 1 && day).then_some((Cadence::Monthly(1), None, to)))
    }

    /// «once an hour», «twice a day», «tre volte al giorno».
    pub(super) fn once_a(&self, at: usize) -> Option<Round> {
        let counted = || {
            let count = self.number(at)?;
            self.words.times.iter().any(|word| word == self.word(at + 1)).then_some((count, at + 2))
        };
        let twice = self.words.twice.get(self.word(at)).map(|&n| (i64::from(n), at + 1));
        let one =
            || self.phrase(&self.words.one, at).filter(|_| self.words.times.iter().any(|w| w == self.word(at + 1)));
        let (count, to) = twice.or_else(counted).or_else(|| one().map(|to| (1, to + 1)))?;
        let unit = self.phrase(&self.words.per, to)?;
        if count == 1 {
            return self.round(unit);
        }
        let period = self.period(unit)?;
        let cadence = if period == Period::Day { Cadence::Often(count) } else { Cadence::Uneven };
        Some((cadence, None, unit + 1))
    }

    /// «every blue moon»: one past words after «every» that nothing reads, where an act follows or the sentence ends.
    pub(super) fn strange(&self, at: usize) -> Option<usize> {
        let from = self.phrase(&self.words.every, at)?;
        let is_strange = |at: &usize| {
            self.tokens.get(*at).is_some_and(|(_, item)| {
                let item = &self.items[*item];
                let number = self.amount(*at).is_some();
                item.is_word() && (item.is_unknown() || (item.is_noise() && item.verb().is_none())) || number
            })
        };
        let to = (from..from + 4).take_while(is_strange).last()? + 1;
        let unknown = (from..to).any(|at| self.items[self.tokens[at].1].is_unknown());
        let opens = self.is_silent_before(at) && to < self.tokens.len() && self.opens_at(to);
        (unknown && opens).then_some(to)
    }

    /// «read ~/a.txt every blue moon»: the same behind what is to be done, up to the end.
    pub(super) fn strange_at_end(&self, at: usize) -> Option<usize> {
        let from = self.phrase(&self.words.every, at)?;
        let named = self.tokens[..at].iter().any(|(word, _)| word == BAR);
        let is_end = |at: usize| self.tokens.get(at).is_none_or(|(_, item)| self.items[*item].is_punctuation());
        let to = (from..=self.tokens.len()).find(|&at| is_end(at)).filter(|to| *to > from)?;
        let unknown = |at: usize| self.items[self.tokens[at].1].is_unknown();
        (named && (from..to).all(unknown) && !self.describes(at)).then_some(to)
    }

    /// «remind me every quarter to …»: words right behind the wish to be reminded that begin a time and are none.
    pub(super) fn left_open(&self, taken: impl Fn(usize) -> bool) -> Option<std::ops::Range<usize>> {
        let reminds = |at: &usize| {
            let verb = self.items[self.tokens[*at].1].verb();
            verb.is_some_and(|v| self.lexicons.verbs[v].verbs[0] == "schedule")
        };
        let verb = (0..self.tokens.len()).rfind(reminds)?;
        let told = |at: &usize| {
            let item = &self.items[self.tokens[*at].1];
            !(taken(*at) || item.is(Cue::Listener) || item.is_punctuation())
        };
        let first = (verb + 1..self.tokens.len()).find(told)?;
        let words = self.words;
        let opening = [&words.and, &words.at, &words.every, &words.until, &words.between, &words.after];
        let opens = opening.iter().any(|list| self.phrase(list.iter(), first).is_some());
        let goes_on =
            |at: &usize| told(at) && self.word(*at) != BAR && !matches!(self.word(*at), "to" | "di" | "that" | "che");
        let to = (first + 1..first + 4).take_while(|at| *at < self.tokens.len() && goes_on(at)).last();
        opens.then(|| first..to.unwrap_or(first) + 1)
    }
}

/// So many of a period, and half of one.
fn with_half(count: i64, period: Period) -> Cadence {
    match (period, count.checked_mul(60)) {
        (Period::Hour, Some(minutes)) if count > 0 => Cadence::Minutes(minutes + 30),
        _ => Cadence::Impossible,
    }
}

fn of_period(count: i64, period: Period) -> Cadence {
    match (period, count) {
        (_, ..=0) => Cadence::Impossible,
        (Period::Minute, n) => Cadence::Minutes(n),
        (Period::HalfHour, 1) => Cadence::Minutes(30),
        (Period::Hour, n) => Cadence::Hours(n),
        (Period::Day, 1) => Cadence::Daily,
        (Period::Week, 1) => Cadence::Weekly(vec![1]),
        // Others do not come at even distances in a year.
        (Period::Month, n @ (1 | 2 | 3 | 4 | 6)) => Cadence::Monthly(n),
        (Period::Month, 12) | (Period::Year, 1) => Cadence::Yearly(1, 1),
        (Period::Day, 2..=366) | (Period::Week, 2..=52) | (Period::Month, 5..=11) => Cadence::Uneven,
        _ => Cadence::Impossible,
    }
}

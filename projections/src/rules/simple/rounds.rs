//! What comes after «every»: «hour and a half», «3 days», «second Monday», «first of the month»; and how often a day.
//!
//! What no schedule keeps is read as such, so that nothing nearby is taken for it.

use super::lexicon::Period;
use super::recurring::{Cadence, Reader, Round};

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

    /// «other day», «2 hours», «hour and a half», «second Monday».
    fn counted(&self, from: usize) -> Option<Round> {
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
        self.tokens.get(at).is_none_or(|(_, item)| self.items[*item].is_punctuation() || self.items[*item].verb().is_some())
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
        (nth == 0).then_some((Cadence::MonthEnd, None, to)).or_else(|| {
            (nth == 1 && day).then_some((Cadence::Monthly(1), None, to))
        })
    }

    /// «once an hour», «twice a day», «tre volte al giorno».
    pub(super) fn once_a(&self, at: usize) -> Option<Round> {
        let counted = || {
            let count = self.number(at)?;
            self.words.times.iter().any(|word| word == self.word(at + 1)).then_some((count, at + 2))
        };
        let twice = self.words.twice.get(self.word(at)).map(|&n| (i64::from(n), at + 1));
        let one = || self.phrase(&self.words.one, at).filter(|_| self.words.times.iter().any(|w| w == self.word(at + 1)));
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
        (Period::Month, 12) | (Period::Year, 1) => Cadence::Yearly,
        (Period::Day, 2..=366) | (Period::Week, 2..=52) | (Period::Month, 5..=11) => Cadence::Uneven,
        _ => Cadence::Impossible,
    }
}

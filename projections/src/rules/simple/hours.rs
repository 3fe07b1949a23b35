//! Times of day: «at 8», «alle 22:15», «half past six», «in the evening».
//!
//! It says which time, not which day.

use super::recurring::{Reader, Time};
use crate::messages::Language;

impl Reader<'_> {
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
        // «10 in the morning»
        let parted = self.part_after(to).0.is_some();
        (sure || led.is_some() || parted).then_some((minutes, to))
    }

    /// Times of day that start at `at`: «at 8», «alle 8 e alle 20», «at 8 in the morning and at 9 in the evening».
    pub(super) fn times(&self, at: usize) -> Option<(Vec<i64>, usize)> {
        let with_part = |(minutes, to): Time| {
            let (part, to) = self.part_after(to);
            (self.at_part(Some(minutes), part), to)
        };
        let (first, mut to) = with_part(self.time(at)?);
        let mut times = vec![first];
        loop {
            let next = (to..to + 2).take_while(|&at| self.is_link(at)).last().map_or(to, |at| at + 1);
            let bare = || {
                let (minutes, end, _) = self.clock(next).filter(|_| self.language == Language::En)?;
                let thing = self.tokens.get(end).is_some_and(|(_, item)| {
                    let item = &self.items[*item];
                    item.object().is_some() || item.is_unknown()
                });
                let counts = self.number(end).is_some() || self.words.times.iter().any(|word| word == self.word(end));
                let dated = self.period(end).is_some() || self.weekday(end).is_some();
                (!thing && !counts && !dated).then_some((minutes, end))
            };
            let read = self.time(next).or_else(bare).filter(|_| next > to);
            let Some((minutes, end)) = read.map(with_part) else { return Some((times, to)) };
            times.push(minutes);
            to = end;
        }
    }

    /// «and», «,».
    fn is_link(&self, at: usize) -> bool {
        self.word(at) == "," || self.words.and.iter().any(|word| word == self.word(at))
    }

    /// «half past», «meno un quarto» at `at`: minutes that are added to an hour, the longest phrase.
    pub(super) fn minutes(&self, at: usize) -> Option<(i64, usize)> {
        let read = |(phrase, minutes): (&String, &i8)| Some((i64::from(*minutes), self.phrase([phrase], at)?));
        self.words.minutes.iter().filter_map(read).max_by_key(|(_, to)| *to)
    }

    /// Hours and minutes at `at`; whether they can be nothing else.
    pub(super) fn clock(&self, at: usize) -> Option<(i64, usize, bool)> {
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
        let apart = self.word(at + 2).parse::<i64>().ok().filter(|m| (0..60).contains(m));
        if let Some(minute) = apart.filter(|_| self.word(at + 1) == ":" && !written) {
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
        let (times, from) = self.times_before(at)?;
        (times.len() == 1).then(|| (times[0], from))
    }

    /// Times of day that end right before `at`, and their first token.
    pub(super) fn times_before(&self, at: usize) -> Option<(Vec<i64>, usize)> {
        let ends = |to: usize| {
            to == at || (to + 1 == at && (self.word(to) == "," || self.words.on.iter().any(|w| w == self.word(to))))
        };
        (at.saturating_sub(12)..at).find_map(|from| {
            let (times, end) = self.times(from)?;
            ends(end).then_some((times, from))
        })
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

//! Days and windows of time, with the words around them that say in which direction they open.

use super::super::dates::{Clock, Window};
use super::super::items::{Item, What};
use super::super::lexicon::{Cue, Period, Sense};
use super::sizes::number;
use crate::messages::Language;

pub(super) fn period(item: Option<&Item>) -> Option<Period> {
    item?.senses().iter().find_map(|s| if let Sense::Period(p) = s { Some(*p) } else { None })
}

/// What stands at `at`, without a direction: «yesterday», «3 days ago», «the last two weeks», a date.
fn moment(clock: &Clock, language: Language, items: &[Item], at: usize) -> Option<(Window, usize, bool)> {
    let item = items.get(at)?;
    if item.is(Cue::Today) {
        return clock.day(0).map(|w| (w, 1, true));
    }
    if item.is(Cue::Yesterday) {
        return clock.day(-1).map(|w| (w, 1, false));
    }
    stretch(clock, items, at).or_else(|| date(clock, language, items, at)).map(|(w, n)| (w, n, false))
}

fn stretch(clock: &Clock, items: &[Item], at: usize) -> Option<(Window, usize)> {
    let counted = |from: usize| {
        let (count, length) = number(items, from)?;
        Some((count, period(items.get(from + length))?, length + 1))
    };
    if let Some((count, period, length)) = counted(at) {
        return items
            .get(at + length)
            .filter(|i| i.is(Cue::Ago))
            .and_then(|_| Some((clock.day_ago(count, period)?, length + 1)));
    }
    let item = items.get(at)?;
    let relative = item.is(Cue::Newer) || item.is(Cue::Last) || item.is(Cue::Older);
    let one = items.get(at + 1).filter(|i| i.is(Cue::Determiner)).and_then(|_| period(items.get(at + 2)));
    let counted_on = counted(at + 1).or_else(|| Some((1, one?, 2)));
    if let Some((count, period, length)) = counted_on.filter(|_| relative) {
        let window = if item.is(Cue::Newer) || item.is(Cue::Last) {
            clock.last(count, period)?
        } else {
            Window { since: None, until: clock.ago(count, period) }
        };
        // «more than 60 days old»
        let aged = usize::from(items.get(at + 1 + length).is_some_and(|i| i.is(Cue::Aged)));
        return Some((window, length + 1 + aged));
    }
    if item.is(Cue::This) || item.is(Cue::Previous) {
        if let Some(period) = period(items.get(at + 1)) {
            return Some((clock.calendar(period, item.is(Cue::Previous))?, 2));
        }
        if let Some(weekday) = weekday(items.get(at + 1)) {
            return Some((clock.weekday(weekday)?, 2));
        }
    }
    if item.is(Cue::Newer) || item.is(Cue::Last) {
        return Some((clock.last(1, period(items.get(at + 1))?)?, 2));
    }
    let previous = items.get(at + 1).is_some_and(|i| i.is(Cue::Previous));
    let window = clock.calendar(period(Some(item)).filter(|_| previous)?, true)?;
    Some((window, 2))
}

fn weekday(item: Option<&Item>) -> Option<i8> {
    item?.senses().iter().find_map(|s| if let Sense::Weekday(n) = s { Some(*n) } else { None })
}

fn date(clock: &Clock, language: Language, items: &[Item], at: usize) -> Option<(Window, usize)> {
    let item = &items[at];
    if item.is_unknown() && item.folded.contains(['-', '/', '.']) {
        return clock.figures(&item.folded, language == Language::It).map(|w| (w, 1));
    }
    if let Some(number) = weekday(Some(item)) {
        let previous = items.get(at + 1).is_some_and(|i| i.is(Cue::Previous));
        return Some((clock.weekday(number)?, 1 + usize::from(previous)));
    }
    let leads = item.is(Cue::Since) || item.is(Cue::From) || item.is(Cue::Until);
    let article = usize::from(item.is(Cue::Determiner) && item.is_noise() && !leads);
    if let Some((day, Some(month), year, length)) = items.get(at + article).and_then(|_| day_parts(items, at + article))
    {
        return Some((clock.month_day(month, day, year)?, article + length));
    }
    let month =
        |at: usize| items.get(at)?.senses().iter().find_map(|s| if let Sense::Month(n) = s { Some(*n) } else { None });
    let figure = |at: usize| if let What::Number(n) = items.get(at)?.what { Some(n) } else { None };
    let year = |at: usize| figure(at).filter(|n| (1970..3000).contains(n)).and_then(|n| i16::try_from(n).ok());
    // «in 2023»: a year alone only where a word of place or time leads to it.
    if let Some(year) = year(at) {
        let led = at.checked_sub(1).is_some_and(|b| {
            let led = &items[b];
            led.is(Cue::Inside)
                || led.is(Cue::Since)
                || led.is(Cue::Until)
                || led.is(Cue::From)
                || led.is(Cue::Modified)
        });
        return led.then(|| clock.year(year).map(|window| (window, 1))).flatten();
    }
    let number = month(at)?;
    let year = year(at + 1);
    Some((clock.month(number, year)?, 1 + usize::from(year.is_some())))
}

/// «for 30 days», «da un mese»: a span of time that ends now, and that nothing fell into.
fn lapse(clock: &Clock, items: &[Item], at: usize) -> Option<(Window, usize)> {
    let led = [Cue::Since, Cue::From, Cue::Inside, Cue::By, Cue::Into, Cue::Newer].iter().any(|&c| items[at].is(c))
        || items[at].is_noise() && number(items, at).is_none();
    let mut from = at + usize::from(led);
    // «for over a year», «da più di un mese»
    from += usize::from(items.get(from).is_some_and(|i| i.is(Cue::MinSize) || i.is(Cue::Older)));
    let one = items.get(from).is_some_and(|i| i.is(Cue::Determiner)).then_some((1, 1));
    let (count, length) = number(items, from).or(one)?;
    let until = clock.ago(count, period(items.get(from + length))?);
    Some((Window { since: None, until }, from - at + length + 1))
}

/// A day of the month, its month and year where they are said, and how many items that takes.
fn day_parts(items: &[Item], at: usize) -> Option<(i8, Option<i8>, Option<i16>, usize)> {
    let figure = |at: usize| if let What::Number(n) = items.get(at)?.what { Some(n) } else { None };
    let ordinal = |at: usize| {
        items.get(at)?.senses().iter().find_map(|s| if let Sense::Ordinal(n) = s { Some(*n) } else { None })
    };
    let month =
        |at: usize| items.get(at)?.senses().iter().find_map(|s| if let Sense::Month(n) = s { Some(*n) } else { None });
    let year = |at: usize| figure(at).filter(|n| (1970..3000).contains(n)).and_then(|n| i16::try_from(n).ok());
    let day = |at: usize| {
        figure(at).or_else(|| ordinal(at)).filter(|n| (1..=31).contains(n)).and_then(|n| i8::try_from(n).ok())
    };
    let of = |at: usize| at + usize::from(items.get(at).is_some_and(|i| i.is(Cue::From)));
    if let Some(first) = month(at)
        && let Some(day) = day(at + 1)
    {
        let year = year(at + 2);
        return Some((day, Some(first), year, 2 + usize::from(year.is_some())));
    }
    let day = day(at)?;
    let Some(named) = month(of(at + 1)) else { return Some((day, None, None, 1)) };
    let end = of(at + 1) + 1;
    let year = year(of(end)).map(|year| (year, of(end) + 1));
    let end = year.map_or(end, |(_, end)| end);
    Some((day, Some(named), year.map(|(year, _)| year), end - at))
}

/// «between 1 and 15 March 2024», «dal 3 al 9 giugno»: from the first day to the last, both within.
fn days(clock: &Clock, items: &[Item], at: usize) -> Option<(Window, usize)> {
    let item = items.get(at)?;
    let led = [Cue::Between, Cue::Since, Cue::From, Cue::Inside].iter().any(|&cue| item.is(cue));
    let from = at + usize::from(led);
    let article = |at: usize| at + usize::from(items.get(at).is_some_and(|i| i.is(Cue::Determiner) && i.is_noise()));
    let (first, month, year, length) = day_parts(items, article(from))?;
    let joint = article(from) + length;
    let up_to = |i: &&Item| i.is(Cue::Through) || (i.is(Cue::Connector) && item.is(Cue::Between));
    items.get(joint).filter(up_to)?;
    let (last, last_month, last_year, length) = day_parts(items, article(joint + 1))?;
    let last_month = last_month?;
    let start = clock.month_day(month.unwrap_or(last_month), first, year.or(last_year))?;
    let end = clock.month_day(last_month, last, last_year)?;
    let window = Window { since: start.since, until: end.until };
    (window.since < window.until).then(|| (window, article(joint + 1) + length - at))
}

/// A moment with the words around it that say in which direction the window opens.
pub(super) fn window(clock: &Clock, language: Language, items: &[Item], at: usize) -> Option<(What, usize)> {
    let mut from = at;
    let (mut since, mut until) = (false, false);
    let (mut negated, mut changed, mut beyond, mut inclusive) = (false, false, false, false);
    while let Some(item) = items.get(from).filter(|_| from < at + 5) {
        if let Some((window, length)) = days(clock, items, from).filter(|_| !negated) {
            return Some((What::Window { window, today: false }, from + length - at));
        }
        if moment(clock, language, items, from).is_some() {
            break;
        }
        // «nobody has touched for 30 days», «non tocco da un mese»: as long as that nothing changed.
        if negated
            && changed
            && let Some((window, length)) = lapse(clock, items, from)
        {
            return Some((What::Window { window, today: false }, from + length - at));
        }
        changed |= item.is(Cue::Modified) || item.is(Cue::Still);
        since |= item.is(Cue::Since) || item.is(Cue::Newer);
        until |= item.is(Cue::Until) || item.is(Cue::Older);
        // «untouched since 2021», «fermo dal 2021»
        negated |= item.is(Cue::Not) || item.is(Cue::Still);
        inclusive |= item.is(Cue::Inclusive);
        // «after 2024» begins when 2024 is over; «since 2024» with it.
        beyond |= item.is(Cue::Beside) && item.is(Cue::Since);
        let passes = item.is(Cue::Older)
            || item.is(Cue::Newer)
            || item.is(Cue::Since)
            || item.is(Cue::Until)
            || item.is(Cue::Modified)
            || item.is(Cue::Still)
            || item.is(Cue::Not);
        let bridge = from > at && item.is_noise();
        if !(passes || bridge) {
            return None;
        }
        from += 1;
    }
    let (found, length, today) = moment(clock, language, items, from)?;
    if negated && !(since || until) {
        return None;
    }
    // «from yesterday» is dated then, where «since yesterday» goes on.
    let from_then = language == Language::En && from == at + 1 && items[at].folded == "from";
    let mut end = from + length;
    let mut probe = end;
    while items.get(probe).is_some_and(|i| i.is(Cue::Connector) || i.is(Cue::Choice)) {
        probe += 1;
    }
    if let Some(item) = items.get(probe).filter(|i| !i.is_noise() && (i.is(Cue::Since) || i.is(Cue::Until))) {
        since |= item.is(Cue::Since);
        // «3 February or earlier»: that day is one of them.
        inclusive |= item.is(Cue::Until) && !until;
        until |= item.is(Cue::Until);
        end = probe + 1;
    }
    since &= !(from_then && end == from + length);
    let open = |w: Window| match (since != negated && (since || negated), until) {
        _ if w.since.is_none() || w.until.is_none() => w,
        (true, false) => Window { since: if beyond && !today { w.until } else { w.since }, until: None },
        // «until 3 February» ends with that day, «before 3 February» with the day before it.
        (_, true) => Window { since: None, until: if inclusive { w.until } else { w.since } },
        (false, false) if negated => Window { since: None, until: w.since },
        (false, false) if today => Window { since: w.since, until: None },
        (false, false) => w,
    };
    Some((What::Window { window: open(found), today }, end - at))
}

//! «The last three lines», «line 7», «from line 2»: which lines of a text are meant.

use super::super::items::{Item, Lines, What};
use super::super::lexicon::{Cue, Lexicons, Sense};
use super::sizes::number;
use super::times::period;

fn is_line_noun(lexicons: &Lexicons, item: Option<&Item>) -> bool {
    item.and_then(Item::object).is_some_and(|o| lexicons.objects[o] == "texts_lines")
}

/// Whether a noun for lines is in the singular.
fn is_singular(item: &Item) -> bool {
    item.folded.ends_with('a')
        || (!item.folded.ends_with('s') && !item.folded.ends_with("he") && !item.folded.ends_with("ee"))
}

/// How many lines «the last lines» are, when no number is said.
const SOME_LINES: i64 = 10;

/// «the last three lines», «le prime 5», «line 7», «righe da 3 a 7».
pub(super) fn lines(lexicons: &Lexicons, items: &[Item], at: usize) -> Option<(What, usize)> {
    open_lines(lexicons, items, at)
        .or_else(|| line_ends(lexicons, items, at))
        .or_else(|| line_numbers(lexicons, items, at))
}

/// «from line 2», «fino alla riga 2»; «after line 2» is no range that could be read.
fn open_lines(lexicons: &Lexicons, items: &[Item], at: usize) -> Option<(What, usize)> {
    let (onwards, beside) = (items[at].is(Cue::Onwards), items[at].is(Cue::Beside));
    let until = items[at].is(Cue::Until) && !beside;
    if !(onwards || beside || until) {
        return None;
    }
    let skip = usize::from(items.get(at + 1).is_some_and(|i| i.is_noise() && !is_line_noun(lexicons, Some(i))));
    let from = at + 1 + skip;
    items.get(from)?;
    let (What::Lines(lines), length) = line_numbers(lexicons, items, from)? else { return None };
    let length = from - at + length;
    let what = match lines {
        _ if beside => What::Word(vec![Sense::Cue(Cue::Restriction)]),
        // «the UUID from line 2»: a value stands in that line alone.
        Lines::Range(a, b) if a == b && onwards && !items.iter().any(|i| i.form().is_some()) => {
            What::Lines(Lines::From(a))
        }
        Lines::Range(a, b) if a == b && until => What::Lines(Lines::Until(b)),
        other => What::Lines(other),
    };
    Some((what, length))
}

fn line_ends(lexicons: &Lexicons, items: &[Item], at: usize) -> Option<(What, usize)> {
    let position = |at: usize| {
        let item = items.get(at)?;
        if item.is(Cue::Last) { Some(true) } else { item.is(Cue::First).then_some(false) }
    };
    let make = |last: bool, count: i64| What::Lines(if last { Lines::Last(count) } else { Lines::First(count) });
    if let Some(last) = position(at) {
        let flag = usize::from(items.get(at + 1).is_some_and(|i| i.folded == "n" && i.is_noise()));
        let counted = number(items, at + 1 + flag).filter(|(n, _)| *n >= 0).map(|(n, length)| (n, length + flag));
        let after = at + 1 + counted.map_or(0, |(_, length)| length);
        let skip =
            usize::from(items.get(after).is_some_and(Item::is_noise) && is_line_noun(lexicons, items.get(after + 1)));
        if is_line_noun(lexicons, items.get(after + skip)) {
            let default = if is_singular(&items[after + skip]) { 1 } else { SOME_LINES };
            return Some((make(last, counted.map_or(default, |(n, _)| n)), after + skip + 1 - at));
        }
        let (count, length) = counted?;
        let noun = items[after..].iter().find(|i| !i.is_noise()).is_some_and(|i| {
            let counted = i.object().is_some() || i.measure().is_some() || period(Some(i)).is_some();
            !i.is_punctuation() && (counted || i.is_unknown())
        });
        return (!noun).then(|| (make(last, count), length + 1));
    }
    let (count, length) = number(items, at).filter(|(n, _)| *n > 0)?;
    if let Some(last) = position(at + length).filter(|_| is_line_noun(lexicons, items.get(at + length + 1))) {
        return Some((make(last, count), length + 2));
    }
    let noun = at + length;
    let last = position(noun + 1).filter(|_| is_line_noun(lexicons, items.get(noun)))?;
    Some((make(last, count), length + 2))
}

fn line_numbers(lexicons: &Lexicons, items: &[Item], at: usize) -> Option<(What, usize)> {
    let ordinal = items[at].senses().iter().find_map(|s| if let Sense::Ordinal(n) = s { Some(*n) } else { None });
    if let Some(n) = ordinal.filter(|_| is_line_noun(lexicons, items.get(at + 1))) {
        return Some((What::Lines(Lines::Range(n, n)), 2));
    }
    if !is_line_noun(lexicons, items.get(at)) {
        // «le righe finali» without a number.
        return None;
    }
    if let Some(position) = items.get(at + 1).filter(|i| i.is(Cue::Last) || i.is(Cue::First)) {
        let count = if is_singular(&items[at]) { 1 } else { SOME_LINES };
        let lines = if position.is(Cue::Last) { Lines::Last(count) } else { Lines::First(count) };
        return Some((What::Lines(lines), 2));
    }
    let mut from = at + 1;
    while items.get(from).is_some_and(|i| {
        i.is_word()
            && (i.is(Cue::From)
                || i.is(Cue::Between)
                || (i.is_noise() && number(items, from).is_none())
                || i.folded == "number"
                || i.folded == "numero")
    }) && from < at + 3
    {
        from += 1;
    }
    let figure = |at: usize| number(items, at).filter(|(n, _)| *n >= 0);
    if let Some((a, b)) = items.get(from).filter(|i| i.is_unknown()).and_then(|i| i.folded.split_once('-')) {
        let (a, b) = (a.parse().ok()?, b.parse().ok()?);
        return Some((What::Lines(Lines::Range(a, b)), from + 1 - at));
    }
    let (first, length) = figure(from)?;
    let through = from + length;
    if items.get(through).is_some_and(|i| i.is(Cue::Through)) {
        let skip = usize::from(
            items
                .get(through + 1)
                .is_some_and(|i| i.is_noise() && figure(through + 1).is_none() || is_line_noun(lexicons, Some(i))),
        );
        let second = figure(through + 1 + skip);
        let between = items[..from].iter().rev().take(4).any(|i| i.is(Cue::Between));
        if second.is_some() && items[through].is(Cue::Connector) && !between {
            return None;
        }
        if let Some((last, more)) = second {
            return Some((What::Lines(Lines::Range(first, last)), through + 1 + skip + more - at));
        }
    }
    if items.get(through).is_some_and(|i| i.is(Cue::Onwards) && !i.is(Cue::From)) {
        return Some((What::Lines(Lines::From(first)), through + 1 - at));
    }
    Some((What::Lines(Lines::Range(first, first)), through - at))
}

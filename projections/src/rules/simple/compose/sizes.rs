//! Numbers, sizes and the bounds that they make.

use super::super::items::{Item, What};
use super::super::lexicon::{Cue, Lexicons, Sense};
use crate::messages::Language;

/// `3`, `500MB`, `3rd`: words that begin with a digit.
pub(super) fn figures(items: &[Item], at: usize) -> Option<(What, usize)> {
    let word = items[at].is_unknown().then_some(items[at].folded.as_str())?;
    let split = word.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(word.len());
    let (digits, suffix) = word.split_at(split);
    if digits.is_empty() {
        return None;
    }
    let number: f64 = digits.replace(',', ".").parse().ok()?;
    let unit = match suffix {
        "" if digits.bytes().all(|b| b.is_ascii_digit()) => return digits.parse().ok().map(|n| (What::Number(n), 1)),
        "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        "st" | "nd" | "rd" | "th" | "a" | "o" | "ª" | "º" => {
            return digits.parse().ok().map(|n| (What::Word(vec![Sense::Ordinal(n)]), 1));
        }
        _ => return None,
    };
    Some((What::Bytes(bytes(number * unit)?), 1))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be within range")]
fn bytes(value: f64) -> Option<u64> {
    (0.0..9e15).contains(&value).then_some(value as u64)
}

/// A number in figures or words at `at`, and how many items it takes.
pub(crate) fn number(items: &[Item], at: usize) -> Option<(i64, usize)> {
    let one = |at: usize| match &items.get(at)?.what {
        What::Number(n) => Some(*n),
        What::Word(senses) => senses.iter().find_map(|s| if let Sense::Number(n) = s { Some(*n) } else { None }),
        _ => None,
    };
    let first = one(at)?;
    let tens = items[at].is_word() && (20..100).contains(&first) && first % 10 == 0;
    match one(at + 1) {
        Some(unit) if tens && items[at + 1].is_word() && (1..10).contains(&unit) && !items[at + 1].is_noise() => {
            Some((first + unit, 2))
        }
        _ => Some((first, 1)),
    }
}

fn size(items: &[Item], at: usize) -> Option<(u64, usize)> {
    if let What::Bytes(bytes) = items.get(at)?.what {
        return Some((bytes, 1));
    }
    let unit = |at: usize| {
        items.get(at)?.senses().iter().find_map(|s| if let Sense::Size(bytes) = s { Some(*bytes) } else { None })
    };
    // «half a gig», «mezzo giga», «il giga».
    let half = matches!(items[at].folded.as_str(), "half" | "half a" | "mezzo" | "mezza");
    let article = usize::from(items.get(at + 1).is_some_and(|i| half && i.is(Cue::Determiner)));
    if let Some(bytes) = unit(at + 1 + article).filter(|_| half) {
        return Some((bytes / 2, 2 + article));
    }
    if let Some(bytes) =
        unit(at + 1).filter(|bytes| *bytes >= 1000 && items[at].is(Cue::Determiner) && number(items, at).is_none())
    {
        return Some((bytes, 2));
    }
    if let Some((count, length)) = number(items, at) {
        let total = u64::try_from(count).ok()?.checked_mul(unit(at + length)?)?;
        return Some((total, length + 1));
    }
    let decimal = items[at].is_unknown().then(|| items[at].folded.replace(',', ".").parse::<f64>().ok()).flatten()?;
    #[expect(clippy::cast_precision_loss, reason = "a unit of size is a small power")]
    let scale = unit(at + 1)? as f64;
    Some((bytes(decimal * scale)?, 2))
}

/// «between 10 and 50 MB»: the lower bound, in the unit of the upper one when it has none.
fn between(items: &[Item], at: usize) -> Option<(What, usize)> {
    // «from 5 MB up to 50 MB»
    let ranges = items[at].is(Cue::From) || items[at].is(Cue::Since);
    if !items[at].is(Cue::Between) && !ranges {
        return None;
    }
    let (low, length) = items
        .get(at + 1)
        .and_then(|_| size(items, at + 1))
        .or_else(|| number(items, at + 1).map(|(n, l)| (u64::try_from(n).unwrap_or(0), l)))?;
    let joint = at + 1 + length;
    let up_to = |i: &&Item| (i.is(Cue::Connector) && !ranges) || i.is(Cue::Through);
    items.get(joint).filter(up_to).filter(|_| joint + 1 < items.len())?;
    size(items, joint + 1)?;
    let unit =
        |at: usize| items.get(at)?.senses().iter().find_map(|s| if let Sense::Size(n) = s { Some(*n) } else { None });
    let bare = size(items, at + 1).is_none();
    let scale = if bare { number(items, joint + 1).and_then(|(_, l)| unit(joint + 1 + l))? } else { 1 };
    Some((What::Bound { least: true, bytes: low.checked_mul(scale)? }, joint - at))
}

/// `> 250 MB`: a size right after a sign.
pub(super) fn signed(text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
    let (bytes, length) = size(items, at)?;
    let before = text[..items[at].start].trim_end().trim_end_matches('=');
    let least = if before.ends_with('>') { true } else { before.ends_with('<').then_some(false)? };
    Some((What::Bound { least, bytes }, length))
}

/// «larger than 500 MB», «500 MB or more», «and 50 MB» after «between 10».
pub(super) fn bound(lexicons: &Lexicons, items: &[Item], at: usize) -> Option<(What, usize)> {
    if let Some(lower) = between(items, at) {
        return Some(lower);
    }
    let opened = at.checked_sub(1).map(|b| &items[b]).filter(|b| matches!(b.what, What::Bound { least: true, .. }));
    let opens = |b: &Item| {
        let first = b.folded.split(' ').next().unwrap_or_default();
        let cue = |s: &Sense| matches!(s, Sense::Cue(Cue::Between | Cue::From | Cue::Since));
        Language::ALL.iter().any(|&l| lexicons.senses_of(first, l).iter().any(cue))
    };
    if (items[at].is(Cue::Connector) || items[at].is(Cue::Through)) && opened.is_some_and(opens) {
        let (bytes, length) = size(items, at + 1)?;
        return Some((What::Bound { least: false, bytes }, length + 1));
    }
    let direction = |item: Option<&Item>| match item {
        Some(item) if item.is(Cue::MinSize) => Some(true),
        Some(item) if item.is(Cue::MaxSize) => Some(false),
        _ => None,
    };
    let flips = items[at].is(Cue::Not) && direction(items.get(at + 1)).is_some();
    if let Some((What::Bound { least, bytes }, length)) = flips.then(|| bound(lexicons, items, at + 1)).flatten() {
        return Some((What::Bound { least: !least, bytes }, length + 1));
    }
    if let Some(least) = direction(items.get(at)) {
        let skip = items.get(at + 1).is_some_and(|i| i.is_noise() && number(items, at + 1).is_none());
        // «sopra il giga»: the article stands for one of it.
        let from = at + 1 + usize::from(skip && size(items, at + 1).is_none());
        let (bytes, length) = size(items, from)?;
        return Some((What::Bound { least, bytes }, from - at + length));
    }
    // «più grossi di 150 MB», «smaller then 2 GB»: an order and what it is held against.
    let order = items[at].senses().iter().find_map(|s| match s {
        Sense::Order(o) if lexicons.orders[*o].by == "size" => Some(lexicons.orders[*o].desc),
        _ => None,
    });
    if let Some(least) = order.filter(|_| items.get(at + 1).is_some_and(|i| i.is(Cue::Than))) {
        let (bytes, length) = size(items, at + 2)?;
        return Some((What::Bound { least, bytes }, length + 2));
    }
    let (bytes, length) = size(items, at)?;
    let least = direction(items.get(at + length))?;
    Some((What::Bound { least, bytes }, length + 1))
}

/// «10%», «-3»: a number that is no count.
pub(super) fn part(text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
    let item = &items[at];
    let figure = item.is_word() && item.folded.starts_with(|c: char| c.is_ascii_digit());
    let before = text[..item.start].strip_suffix(['-', '−']);
    let negative = before.is_some_and(|b| b.is_empty() || b.ends_with(char::is_whitespace));
    // «tail -20 ~/a.log»
    let led = at.checked_sub(1).is_some_and(|b| matches!(items[b].folded.as_str(), "head" | "tail"));
    let negative = negative && !led;
    let share = text[item.end..].trim_start().starts_with('%');
    (figure && (negative || share)).then(|| (What::Word(vec![Sense::Cue(Cue::Restriction)]), 1))
}

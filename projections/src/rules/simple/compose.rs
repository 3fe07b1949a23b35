//! Puts items together that mean one thing: numbers, sizes, windows of time, lines, extensions, places by name.
//!
//! Each pass walks the items once and replaces a run of them by one item that covers the same bytes.

use super::dates::{Clock, Window};
use super::items::{Item, Lines, What};
use super::lexicon::{Cue, Lexicons, Period, Sense};
use super::lift::Looks;
use crate::messages::Language;

/// All passes, in the order in which they may rely on each other.
pub(crate) fn compose(lexicons: &Lexicons, text: &str, clock: &Clock, language: Language, items: &mut Vec<Item>) {
    spelled(lexicons, text, items);
    replace(items, |items, at| flag(text, items, at));
    replace(items, |items, at| name_part(text, items, at));
    replace(items, |items, at| part(text, items, at));
    replace(items, figures);
    replace(items, |items, at| extension(lexicons, text, items, at));
    explicit(lexicons, text, items);
    replace(items, |items, at| affix(text, items, at));
    replace(items, |items, at| signed(text, items, at).or_else(|| bound(lexicons, items, at)));
    replace(items, |items, at| window(clock, language, items, at));
    replace(items, |items, at| lines(lexicons, items, at));
    replace(items, |items, at| place(lexicons, text, items, at));
    replace(items, |items, at| zone(lexicons, items, at));
}

/// Replaces `items[at..at + length]` wherever `read` finds something there.
fn replace(items: &mut Vec<Item>, read: impl Fn(&[Item], usize) -> Option<(What, usize)>) {
    let mut at = 0;
    while at < items.len() {
        if let Some((what, length)) = read(items, at) {
            let last = at + length - 1;
            let (start, end) = (items[at].start, items[last].end);
            let folded = items[at..=last].iter().map(|i| i.folded.as_str()).collect::<Vec<_>>().join(" ");
            let item = Item { start, end, folded, what, pronoun: false, forgiven: false };
            items.splice(at..=last, [item]);
        }
        at += 1;
    }
}

/// `3`, `500MB`, `3rd`: words that begin with a digit.
fn figures(items: &[Item], at: usize) -> Option<(What, usize)> {
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
    if !items[at].is(Cue::Between) {
        return None;
    }
    let (low, length) =
        size(items, at + 1).or_else(|| number(items, at + 1).map(|(n, l)| (u64::try_from(n).unwrap_or(0), l)))?;
    let joint = at + 1 + length;
    items.get(joint).filter(|i| i.is(Cue::Connector) || i.is(Cue::Through))?;
    size(items, joint + 1)?;
    let unit =
        |at: usize| items.get(at)?.senses().iter().find_map(|s| if let Sense::Size(n) = s { Some(*n) } else { None });
    let bare = size(items, at + 1).is_none();
    let scale = if bare { number(items, joint + 1).and_then(|(_, l)| unit(joint + 1 + l))? } else { 1 };
    Some((What::Bound { least: true, bytes: low.checked_mul(scale)? }, joint - at))
}

/// `> 250 MB`: a size right after a sign.
fn signed(text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
    let (bytes, length) = size(items, at)?;
    let before = text[..items[at].start].trim_end().trim_end_matches('=');
    let least = if before.ends_with('>') { true } else { before.ends_with('<').then_some(false)? };
    Some((What::Bound { least, bytes }, length))
}

/// «larger than 500 MB», «500 MB or more», «and 50 MB» after «between 10».
fn bound(lexicons: &Lexicons, items: &[Item], at: usize) -> Option<(What, usize)> {
    if let Some(lower) = between(items, at) {
        return Some(lower);
    }
    let opened = at.checked_sub(1).map(|b| &items[b]).filter(|b| matches!(b.what, What::Bound { least: true, .. }));
    let opens = |b: &Item| {
        let first = b.folded.split(' ').next().unwrap_or_default();
        Language::ALL.iter().any(|&l| lexicons.senses_of(first, l).contains(&Sense::Cue(Cue::Between)))
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
        let from = at + 1 + usize::from(skip);
        let (bytes, length) = size(items, from)?;
        return Some((What::Bound { least, bytes }, from - at + length));
    }
    let (bytes, length) = size(items, at)?;
    let least = direction(items.get(at + length))?;
    Some((What::Bound { least, bytes }, length + 1))
}

fn period(item: Option<&Item>) -> Option<Period> {
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
        return Some((window, length + 1));
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
    let month =
        |at: usize| items.get(at)?.senses().iter().find_map(|s| if let Sense::Month(n) = s { Some(*n) } else { None });
    let figure = |at: usize| if let What::Number(n) = items.get(at)?.what { Some(n) } else { None };
    let year = |at: usize| figure(at).filter(|n| (1970..3000).contains(n)).and_then(|n| i16::try_from(n).ok());
    let day = |at: usize| {
        let ordinal =
            items.get(at)?.senses().iter().find_map(|s| if let Sense::Ordinal(n) = s { Some(*n) } else { None });
        figure(at).or(ordinal).filter(|n| (1..=31).contains(n)).and_then(|n| i8::try_from(n).ok())
    };
    if let (Some(number), Some(month)) = (day(at), month(at + 1)) {
        let year = year(at + 2);
        return Some((clock.month_day(month, number, year)?, 2 + usize::from(year.is_some())));
    }
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
    if let Some(first) = day(at + 1) {
        let year = year(at + 2);
        return Some((clock.month_day(number, first, year)?, 2 + usize::from(year.is_some())));
    }
    let year = year(at + 1);
    Some((clock.month(number, year)?, 1 + usize::from(year.is_some())))
}

/// A moment with the words around it that say in which direction the window opens.
fn window(clock: &Clock, language: Language, items: &[Item], at: usize) -> Option<(What, usize)> {
    let mut from = at;
    let (mut since, mut until) = (false, false);
    let mut negated = false;
    while let Some(item) = items.get(from).filter(|_| from < at + 5) {
        if moment(clock, language, items, from).is_some() {
            break;
        }
        since |= item.is(Cue::Since) || item.is(Cue::Newer);
        until |= item.is(Cue::Until) || item.is(Cue::Older);
        negated |= item.is(Cue::Not);
        let passes = item.is(Cue::Older)
            || item.is(Cue::Newer)
            || item.is(Cue::Since)
            || item.is(Cue::Until)
            || item.is(Cue::Modified)
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
    while items.get(probe).is_some_and(|i| i.is(Cue::Connector) || i.folded == "or" || i.folded == "o") {
        probe += 1;
    }
    if let Some(item) = items.get(probe).filter(|i| !i.is_noise() && (i.is(Cue::Since) || i.is(Cue::Until))) {
        since |= item.is(Cue::Since);
        until |= item.is(Cue::Until);
        end = probe + 1;
    }
    since &= !(from_then && end == from + length);
    let open = |w: Window| match (since != negated && (since || negated), until) {
        _ if w.since.is_none() || w.until.is_none() => w,
        (true, false) => Window { since: w.since, until: None },
        (_, true) => Window { since: None, until: w.since },
        (false, false) if negated => Window { since: None, until: w.since },
        (false, false) if today => Window { since: w.since, until: None },
        (false, false) => w,
    };
    Some((What::Window { window: open(found), today }, end - at))
}

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
fn lines(lexicons: &Lexicons, items: &[Item], at: usize) -> Option<(What, usize)> {
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

/// «the letter e», «la parola oggi»: the word that follows is text, whatever it means elsewhere.
fn spelled(lexicons: &Lexicons, text: &str, items: &mut [Item]) {
    let writes =
        |i: &Item| i.verb().is_some_and(|v| matches!(lexicons.verbs[v].verbs[0].as_str(), "write" | "create" | "send"));
    for at in 1..items.len() {
        let letter = items[at - 1].object().is_none() && !items[at - 1].is(Cue::Contains);
        if !items[at - 1].is(Cue::Spelled) || !items[at].is_word() || items[..at].iter().any(writes) {
            continue;
        }
        let written = &text[items[at].start..items[at].end];
        let single = written.chars().count() == 1;
        let word = !written.contains(char::is_whitespace) && !items[at].is_noise();
        if single || (word && !letter) {
            items[at].what = What::Quoted(written.to_owned());
        }
    }
}

/// «head -n 5», «ls -la»: the letters of an option, whose number or path says the rest.
fn flag(text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
    let item = &items[at];
    let before = text[..item.start].strip_suffix('-')?.trim_end_matches('-');
    let short = item.is_word()
        && (item.folded.len() <= 3 || matches!(item.folded.as_str(), "name" | "iname" | "type" | "size" | "mtime"))
        && item.folded.bytes().all(|b| b.is_ascii_lowercase());
    let led = at > 0 && before.ends_with(char::is_whitespace);
    (short && led).then(|| (What::Word(vec![Sense::Noise]), 1))
}

/// «with invoice in the name», «whose name contains "x"»: a part of a name as a glob.
fn name_part(text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
    let held = |item: &Item| match &item.what {
        What::Quoted(held) => Some(held.clone()),
        What::Word(senses) if senses.is_empty() || item.forgiven => Some(text[item.start..item.end].to_owned()),
        _ => None,
    };
    let glob = |held: String| {
        let plain = !held.contains(['*', '?', '[', '/']);
        plain.then(|| What::Globs { base: None, globs: vec![format!("*{held}*")] })
    };
    let mut from = at + 1;
    while items.get(from).is_some_and(|i| i.is(Cue::Spelled) || (i.is(Cue::Determiner) && i.end > i.start + 1)) {
        from += 1;
    }
    let part = held(items.get(from)?)?;
    let opens = &items[at].folded;
    if items[at].is(Cue::Named) && ["contain", "contiene", " has", "con dentro"].iter().any(|w| opens.contains(w)) {
        return Some((glob(part)?, from + 1 - at));
    }
    let places = |i: &Item| {
        i.is(Cue::Named) && ["in the", "in their", "in its", "nel ", "nei "].iter().any(|w| i.folded.starts_with(w))
    };
    let closes = items.get(from + 1).is_some_and(places);
    (items[at].is(Cue::Contains) && closes).then(|| Some((glob(part)?, from + 2 - at))).flatten()
}

/// «10%», «-3»: a number that is no count.
fn part(text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
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

/// «starting with a», «che finiscono con "x"»: how lines or names begin or end.
fn affix(text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
    let begins = items[at].is(Cue::Begins);
    if !begins && !items[at].is(Cue::Ends) {
        return None;
    }
    let mut from = at + 1;
    while items.get(from).is_some_and(|i| i.is(Cue::Spelled) || (i.is(Cue::Determiner) && i.end > i.start + 1)) {
        from += 1;
    }
    let item = items.get(from)?;
    let closes = items.get(from + 1).is_none_or(|i| i.is_punctuation() || i.is_noise() || !i.is_word());
    let written = &text[item.start..item.end];
    let held = match &item.what {
        What::Quoted(held) | What::Path { value: held, quoted: true, .. } => held.clone(),
        What::Word(senses) if closes && (senses.is_empty() || written.chars().count() == 1) => written.to_owned(),
        _ => return None,
    };
    Some((What::Affix { begins, text: held }, from + 1 - at))
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

/// «md files», «i markdown», «every jpg»: words that stand for globs.
fn extension(lexicons: &Lexicons, text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
    let item = &items[at];
    if !item.is_word() || item.is(Cue::Restriction) {
        return None;
    }
    let files = |item: Option<&Item>| item.and_then(Item::object).is_some_and(|o| lexicons.objects[o] == "files");
    let near_files = files(items.get(at + 1)) || at > 0 && files(items.get(at - 1));
    let globs = item.senses().iter().find_map(|s| if let Sense::Globs(g) = s { Some(*g) } else { None });
    // «in Pictures» is the folder of that name.
    let led = at.checked_sub(1).is_some_and(|b| items[b].is(Cue::Inside));
    let capital = text[item.start..item.end].starts_with(char::is_uppercase);
    if led && capital && item.senses().contains(&Sense::Folder) {
        return None;
    }
    if let Some(globs) = globs {
        return Some((What::Globs { base: None, globs: lexicons.globs[globs].globs.clone() }, 1));
    }
    let known = |word: &str| lexicons.file_extensions.iter().any(|e| e == word);
    let word =
        if known(&item.folded) { item.folded.as_str() } else { item.folded.strip_suffix('s').unwrap_or(&item.folded) };
    if known(word) && word.len() >= 2 && (near_files || item.is_unknown() || item.forgiven) && !files(Some(item)) {
        return Some((What::Globs { base: None, globs: vec![format!("*.{word}")] }, 1));
    }
    None
}

/// «pictures (jpg)», «spreadsheets ending in .xlsx»: where an extension is written, the noun only says what such files are.
fn explicit(lexicons: &Lexicons, text: &str, items: &mut [Item]) {
    let written = |item: &Item| {
        matches!(&item.what, What::Globs { .. })
            && (text[..item.end].ends_with(|c: char| c.is_ascii_alphanumeric()) && {
                let said = text[item.start..item.end].to_lowercase();
                said.contains(['.', '*']) || lexicons.file_extensions.contains(&said)
            })
    };
    // «the pdf ~/a.pdf»: a label of the path after it.
    let labels = |items: &[Item], at: usize| {
        matches!(items[at].what, What::Globs { base: None, .. })
            && items.get(at + 1).is_some_and(|i| matches!(i.what, What::Path { .. }))
    };
    if let (Some(at), Some(files)) =
        ((0..items.len()).find(|&at| labels(items, at)), lexicons.objects.iter().position(|o| o == "files"))
    {
        items[at].folded = text[items[at].start..items[at].end].to_lowercase();
        items[at].what = What::Word(vec![Sense::Object(files)]);
    }
    if !items.iter().any(written) {
        return;
    }
    let Some(files) = lexicons.objects.iter().position(|o| o == "files") else { return };
    for item in items.iter_mut().filter(|i| matches!(i.what, What::Globs { base: None, .. })) {
        let word = text[item.start..item.end].to_lowercase();
        if !word.contains(['.', '*'])
            && !lexicons.file_extensions.contains(&word)
            && !lexicons.file_extensions.iter().any(|e| word == format!("{e}s"))
        {
            item.folded = word;
            item.what = What::Word(vec![Sense::Object(files)]);
        }
    }
}

/// A folder or file that is named by a bare word: «in Documents», «the folder projects», «here».
fn place(lexicons: &Lexicons, text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
    let item = &items[at];
    let path = |value: String, looks| Some((What::Path { value, looks, quoted: false }, 1));
    let named = items.get(at + 1).is_some_and(|i| matches!(i.what, What::Path { .. }));
    if item.is(Cue::Here) && !named && (item.folded.contains(' ') || at > 0) {
        return path(".".to_owned(), Looks::Folder);
    }
    let noun =
        |item: Option<&Item>, name: &str| item.and_then(Item::object).is_some_and(|o| lexicons.objects[o] == name);
    let written = &text[item.start..item.end];
    let before = at.checked_sub(1).and_then(|b| items.get(b));
    let after_named = before.is_some_and(|b| b.is(Cue::Named));
    let labelled = if after_named { at.checked_sub(2).and_then(|b| items.get(b)) } else { before };
    let (folder, file) = (noun(labelled, "dirs"), noun(labelled, "files") && is_singular_file(labelled));
    if item.senses().contains(&Sense::Folder) {
        let capital = written.starts_with(char::is_uppercase) && before.is_some_and(Item::is_word);
        // «the largest files in pictures»: a place at the end of what is said, where no other is named.
        let led = before.is_some_and(|b| b.is(Cue::Inside) && !b.is(Cue::Every));
        let ends = items.get(at + 1).is_none_or(|i| i.is_punctuation() || i.is(Cue::Connector));
        let alone = !items.iter().any(|i| matches!(&i.what, What::Path { value, .. } if value.contains(['/', '~'])));
        let capital = capital || (led && ends && alone);
        if capital || folder || noun(items.get(at + 1), "dirs") {
            let mut letters = written.chars();
            let name: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
            return path(format!("~/{name}"), Looks::Folder);
        }
    }
    if !item.is_unknown() {
        return match &item.what {
            What::Quoted(name) if folder && !name.contains('\n') => path(name.clone(), Looks::Folder),
            What::Quoted(name) if file && name.len() < 256 && !name.contains('\n') => path(name.clone(), Looks::File),
            _ => None,
        };
    }
    let next = items.get(at + 1);
    let closes = next.is_none_or(|n| n.is_punctuation() || n.is_noise() || n.is(Cue::Inside) || n.is(Cue::Connector));
    let folder = folder || (noun(items.get(at + 1), "dirs") && before.is_some_and(|b| b.is(Cue::Determiner)));
    // «the damn folder ~/x», «folder wanted: ~/x»: what is named is written right after.
    let written_out = |i: &Item| matches!(&i.what, What::Path { value, .. } if value.contains(['/', '~']));
    if !after_named && items[at + 1..].iter().take(3).any(written_out) {
        return None;
    }
    if folder || (file && closes && !item.folded.chars().all(char::is_numeric)) {
        return path(written.to_owned(), if folder { Looks::Folder } else { Looks::Either });
    }
    None
}

/// «file» in both languages is a label («the file notes») only in the singular, which Italian does not show.
fn is_singular_file(item: Option<&Item>) -> bool {
    item.is_some_and(|i| matches!(i.folded.as_str(), "file" | "document" | "documento"))
}

fn zone(lexicons: &Lexicons, items: &[Item], at: usize) -> Option<(What, usize)> {
    let index = items[at].senses().iter().find_map(|s| if let Sense::Zone(z) = s { Some(*z) } else { None })?;
    Some((What::Zone(lexicons.zones[index].clone()), 1))
}

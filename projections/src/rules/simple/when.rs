//! When something is to be done: the time that a sentence names, with its bounds; and what is said where none can be kept.

use std::ops::Range;

use serde_json::{Value, json};

use super::items::Item;
use super::limits::is_before;
use super::once::{self, Once};
use super::recurring::{self, Doubt, Found, Recurring, tokens};
use super::{Facts, Lexicons};
use crate::messages::Language;
use crate::rules::cadence::{Cadence, Zone};

/// A sentence, cut into items.
#[derive(Clone, Copy)]
pub(super) struct Sentence<'a> {
    pub(super) lexicons: &'a Lexicons,
    pub(super) language: Language,
    pub(super) text: &'a str,
    pub(super) items: &'a [Item],
}

/// Reads when something is to be done. `likely`: such sentences usually ask for something to recur; `reminds`: this one asks
/// to be reminded.
pub(super) fn when(sentence: Sentence<'_>, facts: &Facts<'_>, likely: bool, reminds: bool) -> Found {
    let tokens = tokens(sentence.text, sentence.items);
    let Some(once) = Once::new(sentence.lexicons, sentence.language, sentence.items, &tokens, facts) else {
        return Found::Nothing;
    };
    if let Some(span) = once.coming(reminds) {
        return Found::Unclear(Doubt::Strange(span));
    }
    let found = understood(sentence, &once, likely, reminds);
    let Found::Time(time) = &found else { return found };
    let taken = time.spans.iter().chain(time.limits.spans());
    let taken: Vec<Range<usize>> = taken.map(|span| first_tokens(&tokens, span)).collect();
    once.beside(&taken, reminds).map_or(found, Found::Unclear)
}

/// The time that is read, whatever stands beside it.
fn understood(sentence: Sentence<'_>, once: &Once<'_>, likely: bool, reminds: bool) -> Found {
    let Sentence { lexicons, language, items, .. } = sentence;
    let tokens = once.reader.tokens;
    if once::names_a_day(lexicons, language, items, tokens) {
        let found = once.read(reminds);
        // «every day until next Friday» names a day, and more.
        if !matches!(found, Found::Unclear(_)) {
            return found;
        }
    }
    let bounds = once.bounds();
    let mut recurring = match recurring::recurring(lexicons, language, items, &bounds.tokens, likely) {
        Found::Nothing => return once.read(reminds),
        Found::Unclear(doubt) => return Found::Unclear(doubt),
        Found::Time(recurring) => recurring,
    };
    if let Some(doubt) = bounds.doubt {
        return Found::Unclear(doubt);
    }
    recurring.limits = bounds.limits;
    if let Some((days, span)) = &recurring.limits.except {
        match without(&recurring.when, days) {
            Some(when) => recurring.when = when,
            None => return Found::Unclear(Doubt::Except(first_tokens(tokens, span))),
        }
    }
    // In the words of a reminder nobody reads on.
    let all: Vec<Range<usize>> = recurring.spans.iter().chain(recurring.limits.spans()).cloned().collect();
    let spans: Vec<Range<usize>> = all.iter().map(|span| first_tokens(tokens, span)).collect();
    match once.more(&spans).filter(|_| reminds) {
        Some(more) => Found::Unclear(Doubt::More(more)),
        None => Found::Time(recurring),
    }
}

/// The tokens of these items.
fn first_tokens(tokens: &[recurring::Token], items: &Range<usize>) -> Range<usize> {
    let from = tokens.partition_point(|(_, item)| *item < items.start);
    from..tokens.partition_point(|(_, item)| *item < items.end)
}

/// A line of cron over days, without some of them.
fn without(when: &str, days: &[i8]) -> Option<String> {
    let fields: Vec<&str> = when.split(' ').collect();
    let [minute, hour, "*", "*", weekdays] = fields.as_slice() else { return None };
    if hour.contains('*') {
        return None;
    }
    let all: Vec<i8> = if *weekdays == "*" {
        vec![1, 2, 3, 4, 5, 6, 0]
    } else {
        weekdays.split(',').map(|day| day.parse().ok()).collect::<Option<_>>()?
    };
    let kept: Vec<String> = all.iter().filter(|day| !days.contains(day)).map(i8::to_string).collect();
    (!kept.is_empty() && kept.len() < all.len()).then(|| format!("{minute} {hour} * * {}", kept.join(",")))
}

/// A bound that the schedule would not keep, with the items that say it.
pub(super) fn unkept(recurring: &Recurring, cadence: &Cadence, zone: &Zone, now_us: i64) -> Option<Doubt> {
    let next = cadence.next(now_us, now_us, zone);
    if let Some((date, span)) = &recurring.limits.from {
        let day_of = |moment: jiff::Timestamp| zone.civil(moment.as_microsecond()).date();
        if next.is_none_or(|next| is_before(next, *date, day_of)) {
            return Some(Doubt::From(span.clone()));
        }
    }
    let (until, span) = recurring.limits.until.as_ref()?;
    let Ok(Cadence::At(last)) = Cadence::read(&format!("at:{until}"), zone) else {
        return Some(Doubt::Until(span.clone()));
    };
    next.is_none_or(|next| next > last).then(|| Doubt::Over(span.clone()))
}

impl Sentence<'_> {
    /// The key of what is said about a doubt, and its values.
    pub(super) fn told(&self, doubt: &Doubt) -> (&'static str, Value) {
        let tokens = tokens(self.text, self.items);
        let words = |span: &Range<usize>| self.words(&(tokens[span.start].1..tokens[span.end - 1].1 + 1));
        let (key, span) = doubt.parts();
        (key, doubt.values(&span.map(words).unwrap_or_default()))
    }

    /// The same where the doubt is of items.
    pub(super) fn told_of_items(&self, doubt: &Doubt) -> (&'static str, Value) {
        let (key, span) = doubt.parts();
        (key, doubt.values(&span.map(|span| self.words(span)).unwrap_or_default()))
    }

    fn words(&self, span: &Range<usize>) -> String {
        let (from, to) = (self.items[span.start].start, self.items[span.end - 1].end);
        let signed = self.text[..from].ends_with(['-', '−']) && span.len() == 1;
        self.text[from - usize::from(signed && self.text[..from].ends_with('-'))..to].to_owned()
    }
}

impl Doubt {
    /// The values of its text.
    fn values(&self, words: &str) -> Value {
        match self {
            Self::Either(_, [one, other]) => json!({ "words": words, "one": one, "other": other }),
            _ => json!({ "words": words }),
        }
    }

    /// The key of its text, and what it is about.
    fn parts(&self) -> (&'static str, Option<&Range<usize>>) {
        match self {
            Self::Time => ("planner.ask_time", None),
            Self::Strange(span) => ("planner.ask_when", Some(span)),
            Self::Hour(span) => ("planner.ask_hour", Some(span)),
            Self::Interval(span) => ("planner.ask_interval", Some(span)),
            Self::Steps(span) => ("planner.ask_steps", Some(span)),
            Self::Often(span) => ("planner.ask_hours", Some(span)),
            Self::Over(span) => ("planner.ask_later", Some(span)),
            Self::More(span) => ("planner.ask_one_time", Some(span)),
            Self::Until(span) => ("planner.ask_until", Some(span)),
            Self::From(span) => ("planner.ask_from", Some(span)),
            Self::Except(span) => ("planner.ask_except", Some(span)),
            Self::Either(span, _) => ("planner.two_days", Some(span)),
            Self::Zone(span) => ("planner.ask_zone", Some(span)),
        }
    }

    /// Whether the words speak of time whatever else the sentence says.
    pub(super) fn is_plain(&self) -> bool {
        match self {
            Self::Interval(_) | Self::Steps(_) | Self::Often(_) | Self::Strange(_) | Self::Zone(_) => true,
            Self::Time
            | Self::Hour(_)
            | Self::Over(_)
            | Self::More(_)
            | Self::Until(_)
            | Self::From(_)
            | Self::Either(..)
            | Self::Except(_) => false,
        }
    }
}

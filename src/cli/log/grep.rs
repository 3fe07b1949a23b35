//! `metnos log grep`: finds a text in what events hold, long texts and sealed and archived history too.
//!
//! What was erased is not there to be found. Texts are looked at, not the names of fields; one line an event.

use std::collections::VecDeque;

use clap::Args;
use metnos_log::envelope::Body;
use metnos_log::{Event, Kept, Reader, Recorded, TurnId};
use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

use super::super::moment::Moment;
use super::super::output::{Failure, by};
use super::super::{Context, output, progress, turn};
use crate::instance::Instance;
use crate::projector::Until;

/// After how many events it is said how far the search is.
const SAY_EVERY: u64 = 2048;
/// Characters that are shown before and behind what was found.
const BEFORE: usize = 24;
const BEHIND: usize = 48;
/// The most of what was found that is shown.
const FOUND_MAX: usize = 60;

/// Find a text in what events hold, newest last; exit code 1 when there is none.
#[derive(Args, Debug)]
#[command(
    after_help = "PATTERN is a regular expression as Rust's regex crate has them: no backreferences, ^ and $ at \
                        every line. It is looked for in all texts of an event, wherever they lie; what was erased is \
                        never found."
)]
pub(in crate::cli) struct Grep {
    /// The regular expression, or with -F the text.
    #[arg(value_name = "PATTERN")]
    pattern: String,
    /// Take the pattern as a text, whatever signs are in it.
    #[arg(short = 'F', long)]
    fixed: bool,
    /// Capital and small letters are the same.
    #[arg(short, long)]
    ignore_case: bool,
    /// Only in events of this kind; may be given more than once.
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
    /// Only in events from a moment on: an event's number, a day as 2026-11-22, a day and an hour as «2026-11-22 18:30», a time with its zone as
    /// 2026-11-22T18:30:00+01:00, or now. Of a day its beginning is meant.
    #[arg(long, value_name = "MOMENT")]
    since: Option<Moment>,
    /// Only in the events of this turn: its id, or «last».
    #[arg(long, value_name = "ID")]
    turn: Option<String>,
    /// Show only the newest so many.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

/// What is looked for.
struct Wanted<'g> {
    regex: Regex,
    kinds: &'g [String],
    since: Option<i64>,
    turn: Option<TurnId>,
}

/// An event in which it was found.
struct Found {
    recorded: Recorded,
    places: Vec<Place>,
}

/// Where in an event, and what stands around it.
struct Place {
    field: String,
    text: String,
}

pub(super) fn run(context: &Context, command: &Grep) -> Result<u8, Failure> {
    // A turn is named by what was folded; the rest looks at events alone, in a log that may be damaged too.
    let instance = if command.turn.is_some() { context.instance()? } else { context.unfolded()? };
    let (wanted, first) = command.wanted(&instance)?;
    let reader = instance.log.reader();
    let end = instance.log.head().size;
    let most = command.limit.map_or(0, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let (mut count, mut newest, mut position) = (0_u64, VecDeque::new(), first - 1);
    let folding = progress::folding(context);
    let show = |found: &Found| {
        folding.end();
        shown(context, &instance, found);
    };
    let until = context.until(&instance)?;
    reader.each_lent(first, |recorded| {
        let is_later = match until {
            Some(Until::Seq(seq)) => recorded.seq > seq,
            Some(Until::Time(time)) => recorded.time.0 > time,
            None => false,
        };
        if is_later || recorded.seq > end {
            return Ok::<bool, Failure>(false);
        }
        position = recorded.seq;
        if recorded.seq % SAY_EVERY == 0 {
            folding.say(recorded.seq, end);
        }
        let Some(found) = wanted.found(recorded, &reader)? else { return Ok(true) };
        count += 1;
        if most == 0 {
            show(&found);
            return Ok(true);
        }
        if newest.len() == most {
            newest.pop_front();
        }
        newest.push_back(found);
        Ok(true)
    })?;
    newest.iter().for_each(show);
    folding.end();
    // Where things were put back to it, it is told already.
    if let Some(until) = until.filter(|_| command.turn.is_none()) {
        context.tell_clock(&instance, until, position)?;
    }
    if count == 0 {
        context.say(&context.text(&instance, "log.nothing_found", &json!({})));
    } else if most > 0 && count > newest.len() as u64 {
        let values = json!({ "count": newest.len(), "of": count });
        context.say(&context.text(&instance, "log.found_more", &values));
    }
    Ok(u8::from(count == 0))
}

impl Grep {
    /// What is looked for, and the event from which on.
    fn wanted(&self, instance: &Instance) -> Result<(Wanted<'_>, u64), Failure> {
        let escaped = if self.fixed { regex::escape(&self.pattern) } else { self.pattern.clone() };
        let regex = RegexBuilder::new(&escaped).case_insensitive(self.ignore_case).multi_line(true).build();
        let regex = regex.map_err(|error| {
            let reason = match error {
                regex::Error::Syntax(text) => text.lines().last().unwrap_or_default().replace("error: ", ""),
                other => other.to_string(),
            };
            Failure::usage(("error.no_pattern", json!({ "reason": reason })), by("next.fixed_pattern"))
        })?;
        let is_known = |kind: &str| Event::KINDS.iter().any(|(label, _)| *label == kind);
        if let Some(kind) = self.kind.iter().find(|kind| !is_known(kind)) {
            return Err(Failure::usage(("error.no_event_kind", json!({ "kind": kind })), by("next.event_kinds")));
        }
        let since = self.since.as_ref().map(|moment| moment.since(instance)).transpose()?;
        let turn = self.turn.as_ref().map(|turn| turn::events(instance, turn)).transpose()?;
        let first = turn.as_ref().and_then(|(_, events)| events.first()).map_or(1, |opened| opened.seq);
        let turn = turn.map(|(id, _)| id);
        let (first, since) = match since {
            Some(Until::Seq(seq)) => (first.max(seq), None),
            Some(Until::Time(time)) => (first, Some(time)),
            None => (first, None),
        };
        Ok((Wanted { regex, kinds: &self.kind, since, turn }, first))
    }
}

impl Wanted<'_> {
    fn found(&self, recorded: &Recorded, reader: &Reader) -> Result<Option<Found>, Failure> {
        let is_asked = (self.kinds.is_empty() || self.kinds.iter().any(|kind| *kind == recorded.kind))
            && self.since.is_none_or(|since| recorded.time.0 >= since)
            && self.turn.is_none_or(|turn| recorded.turn == Some(turn));
        if !is_asked || !matches!(recorded.body, Body::Known(_)) {
            return Ok(None);
        }
        let mut recorded = reader.rehydrated(recorded.clone())?;
        let Body::Known(event) = &mut recorded.body else { return Ok(None) };
        event.kept().into_iter().for_each(Kept::settle_inline);
        let mut places = Vec::new();
        for (name, value) in event.to_json().as_object().into_iter().flatten() {
            self.look(name, value, &mut places);
        }
        Ok((!places.is_empty()).then_some(Found { recorded, places }))
    }

    /// Looks into a value; into texts that hold JSON as well.
    fn look(&self, field: &str, value: &Value, places: &mut Vec<Place>) {
        match value {
            Value::String(text) => self.look_in_text(field, text, places),
            Value::Array(items) => items.iter().for_each(|item| self.look(field, item, places)),
            Value::Object(members) => match kept(value) {
                Some(text) => self.look_in_text(field, text, places),
                None => {
                    for (name, value) in members {
                        let field = format!("{field}.{name}");
                        // Inside of a field names are what somebody wrote.
                        self.match_in(&field, name, places);
                        self.look(&field, value, places);
                    }
                }
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn look_in_text(&self, field: &str, text: &str, places: &mut Vec<Place>) {
        let before = places.len();
        if text.starts_with(['{', '[', '"'])
            && let Ok(inner) = serde_json::from_str::<Value>(text)
        {
            self.look(field, &inner, places);
        }
        if places.len() == before {
            self.match_in(field, text, places);
        }
    }

    fn match_in(&self, field: &str, text: &str, places: &mut Vec<Place>) {
        if let Some(found) = self.regex.find(text) {
            let text = around(text, found.start(), found.end());
            places.push(Place { field: field.to_owned(), text });
        }
    }
}

/// The text of a [`Kept`] as JSON has it.
fn kept(value: &Value) -> Option<&str> {
    value.get("len").filter(|len| len.is_u64())?;
    value.get("inline")?.as_str()
}

/// What was found with a little of what stands around it, in one line.
fn around(text: &str, start: usize, end: usize) -> String {
    let first = text[..start].char_indices().rev().nth(BEFORE).map(|(at, c)| at + c.len_utf8());
    let cut = text[start..end].char_indices().nth(FOUND_MAX).map(|(at, _)| start + at);
    let shown_end = cut.unwrap_or(end);
    let last = cut.or_else(|| text[end..].char_indices().nth(BEHIND).map(|(at, _)| end + at));
    let shown = &text[first.unwrap_or(0)..last.unwrap_or(text.len()).max(shown_end)];
    let line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}{line}{}", if first.is_some() { "…" } else { "" }, if last.is_some() { "…" } else { "" })
}

fn shown(context: &Context, instance: &Instance, found: &Found) {
    let Found { recorded, places } = found;
    if context.global.json {
        let places: Vec<Value> =
            places.iter().map(|place| json!({ "field": place.field, "text": place.text })).collect();
        output::result_json(&json!({
            "seq": recorded.seq, "time": recorded.time, "kind": recorded.kind, "actor": recorded.actor,
            "turn": recorded.turn, "places": places,
        }));
        return;
    }
    let time = output::moment(recorded.time.0, &instance.settings.zone);
    let Some(first) = places.first() else { return };
    let more = match places.len() - 1 {
        0 => String::new(),
        more => context.text(instance, "log.more_places", &json!({ "count": more })),
    };
    let line = format!("{:>6}  {time}  {:<22} {}: {}{more}", recorded.seq, recorded.kind, first.field, first.text);
    output::result(&line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, pattern: &str, expected: &str) {
        let found = Regex::new(pattern).unwrap().find(text).unwrap();
        assert_eq!(around(text, found.start(), found.end()), expected);
    }

    #[test]
    fn what_is_shown_is_short_and_cut_between_signs() {
        check("bill", "bill", "bill");
        check(
            &format!("{}bill{}", "è".repeat(30), "ß".repeat(60)),
            "bill",
            &format!("…{}bill{}…", "è".repeat(24), "ß".repeat(48)),
        );
        check(&"é".repeat(500), "é+", &format!("{}…", "é".repeat(60)));
        check("one\n\ttwo   three", "two", "one two three");
        check("any", "$", "any");
        check("any", "^", "any");
    }

    #[test]
    fn texts_are_found_wherever_they_lie() {
        let regex = Regex::new("bill").unwrap();
        let wanted = Wanted { regex, kinds: &[], since: None, turn: None };
        let found = |value: Value| {
            let mut places = Vec::new();
            wanted.look("f", &value, &mut places);
            places.into_iter().map(|place| format!("{}={}", place.field, place.text)).collect::<Vec<_>>()
        };
        assert_eq!(found(json!("the bill")), ["f=the bill"]);
        assert_eq!(found(json!({ "inline": "a bill", "len": 6 })), ["f=a bill"]);
        assert_eq!(found(json!({ "inline": "{\"path\":\"bill.txt\"}", "len": 19 })), ["f.path=bill.txt"]);
        assert_eq!(found(json!("[\"x\", {\"bill\": 1}]")), ["f.bill=bill"]);
        assert_eq!(found(json!([["bill"], "bills", 7])), ["f=bill", "f=bills"]);
        assert_eq!(found(json!({ "blob": "bill", "len": 9 })), ["f.blob=bill"]);
        assert_eq!(found(json!("{not json: bill")), ["f={not json: bill"]);
        assert_eq!(found(json!(null)), [""; 0]);
    }
}

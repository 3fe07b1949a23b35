//! What is asked to happen at times: again and again, or once later. The request that is left must itself be one that can be
//! planned, or words to be reminded of.

use std::ops::Range;

use serde_json::{Value, json};

use super::attempt::{DOUBT_PERMILLE, OVERRULED_PERMILLE};
use super::items::{self, Item};
use super::recurring::{Doubt, Found, Recurring};
use super::{Facts, Lexicons, Tools, abstain, change, lexicon, lift, propose, usage, when};
use crate::messages::{Language, Messages};
use crate::plan::{AbstentionKind, AnswerSpec, Origin, Plan, PlannedStep};
use crate::rules::cadence::{Cadence, CadenceError, Zone};

/// What such sentences usually mean, as far as it tells whether something is to recur.
#[derive(Clone, Copy)]
struct Usual {
    /// Such sentences usually ask for something to recur.
    likely: bool,
    /// They usually mean something else: «for each year» need not recur.
    other: bool,
}

impl Usual {
    /// None where they usually look at tasks, or end them.
    fn of(usual: &[usage::Likely]) -> Option<Self> {
        let first = usual.first();
        let of_tasks = |l: &usage::Likely| l.frame != "schedule_recurring" && l.frame.ends_with("_recurring");
        if first.is_some_and(|l| l.permille >= OVERRULED_PERMILLE && of_tasks(l)) {
            return None;
        }
        let recurs = |least: u32| usual.iter().any(|l| l.frame == "schedule_recurring" && l.permille >= least);
        let other = first
            .is_some_and(|l| l.permille >= DOUBT_PERMILLE && l.frame != "none" && !l.frame.ends_with("_recurring"));
        Some(Self { likely: recurs(500), other: other && !recurs(150) })
    }
}

/// What is asked to happen again and again: the request that is left must itself be one that can be planned.
pub(super) fn again(
    lexicons: &Lexicons,
    tools: &Tools,
    messages: &Messages,
    facts: &Facts<'_>,
    language: Language,
    (text, items): (&str, &[Item]),
    usual: &[usage::Likely],
) -> Option<Plan> {
    let sentence = when::Sentence { lexicons, language, text, items };
    if let Some(plan) = change::change(sentence, tools, messages, facts) {
        return Some(plan);
    }
    let tool = tools.by_grammar("schedule", "recurring")?;
    // «stop the weekly check» ends what comes round; it does not begin it.
    let ends = |i: &Item| {
        i.verb().is_some_and(|v| matches!(lexicons.verbs[v].verbs[0].as_str(), "cancel" | "pause" | "resume"))
    };
    if items.iter().find(|i| i.verb().is_some()).is_some_and(ends) {
        return None;
    }
    let usual = Usual::of(usual)?;
    let reminding = |i: &Item| i.verb().is_some_and(|v| lexicons.verbs[v].verbs[0] == "schedule");
    let verb = items.iter().position(reminding);
    // «do not remind me tomorrow»
    if verb.is_some_and(|verb| items[..verb].iter().rev().take(2).any(|i| i.is(lexicon::Cue::Not))) {
        return None;
    }
    let (recurring, cadence) = match time_of(sentence, facts, usual, verb.is_some()) {
        Ok(found) => found?,
        Err((key, values)) => {
            return Some(abstain(0, AbstentionKind::Ask, messages.say(language, key, values), Vec::new()));
        }
    };
    let spans: Vec<(usize, usize)> = {
        let all = recurring.spans.iter().chain(recurring.limits.spans());
        let mut spans: Vec<_> = all.map(|span| bytes(items, span)).collect();
        spans.sort_unstable();
        spans
    };
    let (rest, asked) = left_of(text, &spans);
    let inner = Facts { existing: &[], language: Some(language), ..*facts };
    let planned = propose(lexicons, tools, messages, &inner, &rest).plan;
    // What looks at tasks or ends them is never to recur itself; «what did you do this evening» is not of a time to come.
    let of_tasks = |tool: &str| tool.ends_with("_recurring") || (tool == "find_tasks_done" && !cadence.recurs());
    if planned.steps.iter().any(|step| of_tasks(&step.tool)) {
        return None;
    }
    let grammar = |i: &Item| i.is_noise() || i.is_punctuation() || i.is(lexicon::Cue::Listener) || reminding(i);
    let about = items.iter().enumerate().any(|(at, i)| {
        let within = recurring.spans.iter().chain(recurring.limits.spans()).any(|span| span.contains(&at));
        !within && !grammar(i)
    });
    if verb.is_some() && !about {
        let message = messages.say(language, "planner.ask_reminder", json!({}));
        return Some(abstain(planned.confidence_permille, AbstentionKind::Ask, message, Vec::new()));
    }
    if planned.abstention.is_some() && verb.is_none() {
        return (recurring.timed || !usual.other).then_some(planned);
    }
    let step = scheduled(tool.name(), items, &recurring, (rest, asked));
    Some(Plan { steps: vec![step], abstention: None, answer: AnswerSpec::Result, ..planned })
}

/// The time that the sentence names and its cadence; the key and the values of a question where none can be kept.
fn time_of(
    sentence: when::Sentence<'_>,
    facts: &Facts<'_>,
    usual: Usual,
    reminds: bool,
) -> Result<Option<(Recurring, Cadence)>, (&'static str, Value)> {
    let recurring = match when::when(sentence, facts, usual.likely, reminds) {
        Found::Unclear(doubt) if usual.likely || reminds || doubt.is_plain() => return Err(sentence.told(&doubt)),
        Found::Nothing | Found::Unclear(_) => return Ok(None),
        Found::Time(recurring) if usual.other && !recurring.timed && !recurring.outside => return Ok(None),
        Found::Time(recurring) => recurring,
    };
    let Ok(zone) = Zone::named(facts.zone) else { return Ok(None) };
    let cadence = match Cadence::read(&recurring.when, &zone) {
        Ok(cadence) => cadence,
        // «30 February» is said back as it was said.
        Err(CadenceError::Never(_)) => {
            let span = recurring.spans.first().cloned().unwrap_or(0..sentence.items.len());
            return Err(sentence.told_of_items(&Doubt::Strange(span)));
        }
        Err(error) => return Err(error.told()),
    };
    match when::unkept(&recurring, &cadence, &zone, facts.now_us) {
        Some(doubt) => Err(sentence.told_of_items(&doubt)),
        None => Ok(Some((recurring, cadence))),
    }
}

/// The bytes of these items.
fn bytes(items: &[Item], span: &Range<usize>) -> (usize, usize) {
    (items[span.start].start, items[span.end - 1].end)
}

/// The step that keeps the request.
fn scheduled(
    tool: &str,
    items: &[Item],
    recurring: &Recurring,
    (query, asked): (String, (usize, usize)),
) -> PlannedStep {
    let words = |(start, end): (usize, usize)| Origin::Words { start: lift::byte(start), end: lift::byte(end) };
    // The days, where the time stands apart from them.
    let times = recurring.spans.iter().map(|span| bytes(items, span));
    let said = times.max_by_key(|(start, end)| end - start).unwrap_or(asked);
    let mut provenance = vec![("/schedule".to_owned(), words(said)), ("/query".to_owned(), words(asked))];
    let mut args = json!({ "schedule": recurring.when, "query": query });
    if let Some((until, span)) = &recurring.limits.until {
        args["until"] = json!(until);
        provenance.push(("/until".to_owned(), words(bytes(items, span))));
    }
    if let Some((times, span)) = &recurring.limits.times {
        args["times"] = json!(times);
        provenance.push(("/times".to_owned(), words(bytes(items, span))));
    }
    PlannedStep { tool: tool.to_owned(), args, provenance: provenance.into_iter().collect() }
}

/// Asks when, where a sentence begins with the wish to be reminded and nothing else is known of it.
pub(super) fn asked_when(
    lexicons: &Lexicons,
    messages: &Messages,
    language: Language,
    items: &[Item],
    plan: Plan,
) -> Plan {
    let reminds = |i: &Item| i.verb().is_some_and(|v| lexicons.verbs[v].verbs[0] == "schedule");
    let verb = items.iter().position(|i| i.verb().is_some());
    let wished = verb.is_some_and(|at| {
        let listens =
            items.get(at + 1).is_some_and(|i| i.is(lexicon::Cue::Listener)) || items[at].folded.ends_with("mi");
        let whole = items[at].folded.contains(" me");
        reminds(&items[at]) && (listens || whole) && !items[..at].iter().any(|i| i.is(lexicon::Cue::Not))
    });
    if !wished || plan.abstention.as_ref().is_none_or(|a| a.kind != AbstentionKind::Cannot) {
        return plan;
    }
    let message = messages.say(language, "planner.ask_remind_when", json!({}));
    abstain(plan.confidence_permille, AbstentionKind::Ask, message, Vec::new())
}

/// What is left of the text without these spans, and from where to where it reaches.
fn left_of(text: &str, spans: &[(usize, usize)]) -> (String, (usize, usize)) {
    let outer = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '.');
    let mut pieces = Vec::new();
    let mut from = 0;
    for &(start, end) in spans.iter().chain([&(text.len(), text.len())]) {
        let piece = &text[from..start.max(from)];
        // «Sundays, 9pm: show …»
        let before = |c: char| outer(c) || (c == ':' && pieces.is_empty());
        let kept = piece.trim_start_matches(before).trim_end_matches(outer);
        if !kept.is_empty() {
            let first = from + (piece.len() - piece.trim_start_matches(before).len());
            pieces.push((first, first + kept.len()));
        }
        from = from.max(end);
    }
    let words: Vec<&str> = pieces.iter().map(|&(start, end)| &text[start..end]).collect();
    let reach = pieces.first().map_or((0, 0), |first| (first.0, pieces.last().map_or(first.1, |last| last.1)));
    (words.join(" "), reach)
}

/// A time in words, all of them, as a cadence is written: «every Monday at 9», «tra 20 minuti». None where they say
/// anything else; an error where they mean an interval that cannot be kept.
pub(super) fn cadence(lexicons: &Lexicons, facts: &Facts<'_>, text: &str) -> Result<Option<String>, CadenceError> {
    let told = facts.language.or_else(|| items::detect(lexicons, text)).unwrap_or(facts.fallback);
    let others = Language::ALL.into_iter().filter(|language| *language != told);
    let read = std::iter::once(told).chain(others).find_map(|language| {
        let items = super::sentence(lexicons, facts, language, text);
        let sentence = when::Sentence { lexicons, language, text, items: &items };
        let time = match when::when(sentence, facts, true, true) {
            // A cadence has no end: «until 24 December» is said apart from it.
            Found::Time(time) if time.limits.spans().next().is_some() => return Some(Ok(None)),
            Found::Time(time) => time,
            Found::Unclear(Doubt::Interval(_)) => return Some(Err(CadenceError::Interval)),
            Found::Nothing | Found::Unclear(_) => return None,
        };
        let within = |at: usize| time.spans.iter().any(|span| span.contains(&at));
        let said = |(at, item): (usize, &Item)| within(at) || item.is_punctuation();
        items.iter().enumerate().all(said).then_some(Ok(Some(time.when)))
    });
    read.transpose().map(Option::flatten)
}

/// What a person wants to be reminded of: «remind me to call Anna» is «call Anna». None where the words ask for something
/// else.
pub fn reminder(lexicons: &Lexicons, facts: &Facts<'_>, text: &str) -> Option<String> {
    let language = facts.language.or_else(|| items::detect(lexicons, text)).unwrap_or(facts.fallback);
    let items = items::items(lexicons, text, facts.existing, language);
    let reminds = |i: &Item| i.verb().is_some_and(|v| lexicons.verbs[v].verbs[0] == "schedule");
    let verb = items.iter().position(reminds)?;
    if !items[..verb].iter().all(|i| i.is_noise() || i.is_punctuation() || i.is(lexicon::Cue::Listener)) {
        return None;
    }
    let small = |i: &&Item| {
        i.is(lexicon::Cue::Listener)
            || i.is_punctuation()
            || matches!(
                i.folded.as_str(),
                "to" | "that" | "of" | "about" | "di" | "che" | "del" | "della" | "me" | "mi"
            )
    };
    // From the end of the last small word: signs before the first word belong to it.
    let lead = items[verb + 1..].iter().take_while(small).last().map_or(items[verb].end, |i| i.end);
    let words = text.get(lead..)?.trim().trim_end_matches(['.', '!', ' ']);
    (!words.is_empty()).then(|| words.to_owned())
}

/// Whether a text is one of the written forms of a cadence, or words that mean one.
pub fn read_cadence(
    lexicons: &Lexicons,
    facts: &Facts<'_>,
    text: &str,
) -> Result<(Cadence, Zone), crate::rules::cadence::CadenceError> {
    let zone = Zone::named(facts.zone)?;
    let read = match Cadence::read(text, &zone) {
        Err(CadenceError::Form(form)) => match cadence(lexicons, facts, text)? {
            Some(written) => Cadence::read(&written, &zone),
            None => Err(CadenceError::Form(form)),
        },
        read => read,
    };
    read.map(|cadence| (cadence, zone))
}

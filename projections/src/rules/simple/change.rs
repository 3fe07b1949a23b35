//! New times for a task that is named by its number: «change task 6 to every Friday at 7».
//!
//! What it is to do instead, and times that it cannot read to the last word, it asks about.

use serde_json::{Value, json};

use super::items::{Item, What};
use super::lexicon::{Cue, Recurrence, Sense};
use super::once::Once;
use super::recurring::tokens;
use super::when::Sentence;
use super::{Facts, Tools, abstain, again, lift};
use crate::messages::Messages;
use crate::plan::{AbstentionKind, AnswerSpec, Origin, Plan, PlannedStep};

/// Plans the change of a task; none where a sentence asks for something else.
pub(super) fn change(sentence: Sentence<'_>, tools: &Tools, messages: &Messages, facts: &Facts<'_>) -> Option<Plan> {
    let Sentence { lexicons, language, text, items } = sentence;
    let tool = tools.by_grammar("modify", "recurring")?;
    let words = lexicons.recurrence.iter().map(|(_, words)| words);
    let is_in = |item: &Item, list: fn(&Recurrence) -> &Vec<String>| {
        words.clone().any(|words| list(words).contains(&item.folded))
    };
    let quiet = |i: &Item| i.is_punctuation() || i.is_noise() || i.is(Cue::Polite);
    let verb = items.iter().position(|i| is_in(i, |words| &words.changes) || !quiet(i))?;
    let names = |i: &Item| i.object().is_some_and(|o| lexicons.objects[o] == "tasks");
    let noun = (verb + 1..items.len()).find(|&at| !items[at].is(Cue::Determiner) && !items[at].is_noise())?;
    let number = noun + 1 + usize::from(items.get(noun + 1).is_some_and(|i| is_in(i, |words| &words.number)));
    let numbered = matches!(items.get(number)?.what, What::Number(_));
    let places = |i: &Item| matches!(i.what, What::Path { .. } | What::Globs { .. } | What::Url(_) | What::Email(_));
    let changes = is_in(&items[verb], |words| &words.changes) && names(&items[noun]) && numbered;
    if !changes || items.iter().any(places) {
        return None;
    }
    let from = items[number].end;
    let lead = items.get(number + 1).filter(|i| is_in(i, |words| &words.new_time)).map_or(from, |i| i.end);
    let name = &text[items[number].start..from];
    let values = json!({ "n": name });
    let ask = |key: &str, values: &Value| {
        Some(abstain(0, AbstentionKind::Ask, messages.say(language, key, values.clone()), Vec::new()))
    };
    let time = [lead, from].into_iter().find_map(|start| {
        let said = text.get(start..)?;
        let written = again::cadence(lexicons, facts, said).ok()??;
        let whole = !written.starts_with("at:") || names_its_day(sentence, facts, said);
        whole.then_some((written, start + said.len() - said.trim_start().len()))
    });
    let Some((written, start)) = time else { return ask("planner.ask_change", &values) };
    let words = |start: usize, end: usize| Origin::Words { start: lift::byte(start), end: lift::byte(end) };
    let step = PlannedStep {
        tool: tool.name().to_owned(),
        args: json!({ "name": name, "schedule": written }),
        provenance: [
            ("/name".to_owned(), words(items[number].start, from)),
            ("/schedule".to_owned(), words(start, text.trim_end().len())),
        ]
        .into_iter()
        .collect(),
    };
    Some(Plan {
        engine: "simple".to_owned(),
        confidence_permille: 1000,
        steps: vec![step],
        answer: AnswerSpec::Result,
        abstention: None,
    })
}

/// «tomorrow at 9», «in 20 minutes»; «at 9» alone could as well be a time of every day.
fn names_its_day(sentence: Sentence<'_>, facts: &Facts<'_>, said: &str) -> bool {
    let Sentence { lexicons, language, .. } = sentence;
    let items = super::sentence(lexicons, facts, language, said);
    let tokens = tokens(said, &items);
    let Some(once) = Once::new(lexicons, language, &items, &tokens, facts) else { return false };
    let spans = (0..tokens.len())
        .any(|at| lexicons.senses_of(once.reader.word(at), language).iter().any(|s| matches!(s, Sense::Period(_))));
    spans || (0..tokens.len()).any(|at| once.named(at).is_some())
}

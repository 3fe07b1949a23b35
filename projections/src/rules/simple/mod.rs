//! The built-in engine: a sentence becomes a pipeline by lexicons, typed spans and the manifests' own words; no model.
//!
//! Pure: the moment, the zone and what exists on the disk come in as facts. The grammar names executors by pairs of the
//! vocabulary (the one that reads files, the one that filters texts); the frames of `usage` name those of the sentences that
//! they were learned from. It knows no sentence as a whole; what it does not understand it asks, and it never acts on a
//! target that the words do not hold.

mod about;
pub mod again;
pub mod answer;
mod attempt;
mod beside;
mod build;
mod change;
mod clauses;
mod compose;
mod dates;
mod figures;
mod fill;
mod hints;
mod hours;
mod items;
mod lexicon;
mod lift;
mod limits;
mod narrowed;
mod once;
mod recurring;
mod rounds;
mod shell;
pub mod skills;
mod template;
mod tools;
mod usage;
mod when;
mod words;

#[cfg(test)]
mod tests;

use serde_json::json;

pub use self::lexicon::{LexiconError, Lexicons};
pub use self::lift::candidates_for_existing;
pub use self::narrowed::propose_only;
pub use self::template::{TemplateError, check_template};
pub use self::tools::{Tool, Tools};

use self::attempt::{Attempt, by_usage, has_unknown, is_function, of_acts};
use self::build::Trouble;
use self::items::{Item, What};
use crate::manifest::Role;
use crate::messages::{Language, Messages};
use crate::plan::{Abstention, AbstentionKind, AnswerSpec, Plan};
use crate::rules::prefilter::{Candidate, Hints, Ranking};

/// The longest sentence that is planned, in bytes; a longer one is refused with a plain message.
pub const LONGEST_SENTENCE: usize = 8 * 1024;

/// Share of explained content words below which a plan that only reads is not proposed, in thousandths.
pub const READ_THRESHOLD_PERMILLE: u16 = 760;

/// The same where a clause has no verb of its own («anything over 5 MB in ~/x»): more of it must be understood.
pub const IMPLIED_THRESHOLD_PERMILLE: u16 = 800;

/// The same where clauses were run together to make sense of them.
const WHOLE_THRESHOLD_PERMILLE: u16 = 900;

/// The same for a plan that changes something: every word must be explained.
pub const ACT_THRESHOLD_PERMILLE: u16 = 1000;

/// What the world said before the sentence was looked at.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The moment, in microseconds since 1970.
    pub now_us: i64,
    /// The person's time zone, by IANA name.
    pub zone: &'a str,
    /// The person's home.
    pub home: &'a str,
    /// Where relative paths start.
    pub cwd: &'a str,
    /// The language to answer in; detected when absent.
    pub language: Option<Language>,
    /// The person's own language, for sentences whose words do not tell theirs.
    pub fallback: Language,
    /// Byte ranges of the sentence that name existing files or folders.
    pub existing: &'a [(u32, u32)],
}

/// What the engine proposes for a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The language of the turn.
    pub language: Language,
    /// The steps, or why there are none.
    pub plan: Plan,
    /// Executors by pre-filter score, the best first.
    pub candidates: Vec<Candidate>,
    /// How many candidates are offered to an engine.
    pub k: u16,
    /// How far the first candidate leads the second, in thousandths.
    pub confidence_permille: u16,
}

/// A request with the answer to a question about it: the answer stands at the end.
pub fn completed(asked: &str, answer: &str) -> String {
    format!("{} {answer}", asked.trim_end())
}

/// Whether an answer is only a name: one word, something quoted, something on the disk.
pub fn is_bare(answer: &str, existing: &[(u32, u32)]) -> bool {
    let text = answer.trim();
    let is_quoted = |open: char, close: char| {
        let inside = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        inside.is_some_and(|inside| !inside.contains([open, close]))
    };
    let is_there = |&(from, to): &(u32, u32)| answer.get(from as usize..to as usize).is_some_and(|named| named == text);
    !text.contains(char::is_whitespace)
        || [('"', '"'), ('\'', '\''), ('«', '»'), ('“', '”')].iter().any(|(open, close)| is_quoted(*open, *close))
        || existing.iter().any(is_there)
}

/// What a sentence tells the pre-filter, where nothing is known of the world and nothing is planned.
pub fn hints<'a>(lexicons: &'a Lexicons, text: &str) -> Hints<'a> {
    let language = items::detect(lexicons, text).unwrap_or_default();
    hints::hints(lexicons, &items::items(lexicons, text, &[], language))
}

/// How many clauses a text has, each of which may be served by a pipeline of its own.
pub fn clause_count(lexicons: &Lexicons, text: &str) -> usize {
    let language = items::detect(lexicons, text).unwrap_or_default();
    clauses::clauses(lexicons, &items::items(lexicons, text, &[], language)).len()
}

/// What the model of usage sees of a sentence, for the tool that learns it.
pub fn usage_features(lexicons: &Lexicons, text: &str) -> Vec<String> {
    let language = items::detect(lexicons, text).unwrap_or_default();
    let facts = Facts {
        now_us: 1_800_000_000_000_000,
        zone: "UTC",
        home: "/home/owner",
        cwd: "/home/owner",
        language: None,
        fallback: language,
        existing: &[],
    };
    usage::features(lexicons, text, &sentence(lexicons, &facts, language, text))
}

/// Plans a sentence.
pub fn propose(lexicons: &Lexicons, tools: &Tools, messages: &Messages, facts: &Facts<'_>, text: &str) -> Proposal {
    let early = |language: Language, key: &str| {
        let message = messages.say(language, key, json!({ "most": LONGEST_SENTENCE }));
        let plan = abstain(0, AbstentionKind::Ask, message, Vec::new());
        Proposal { language, plan, candidates: Vec::new(), k: 0, confidence_permille: 0 }
    };
    if text.len() > LONGEST_SENTENCE {
        return early(facts.language.unwrap_or(facts.fallback), "planner.too_long");
    }
    if !text.chars().any(char::is_alphanumeric) {
        return early(facts.language.unwrap_or(facts.fallback), "planner.empty");
    }
    let language = facts.language.or_else(|| items::detect(lexicons, text)).unwrap_or(facts.fallback);
    if has_controls(text, facts.existing) {
        return early(language, "planner.controls");
    }
    let items = sentence(lexicons, facts, language, text);
    if let Some((plan, language)) = about::about(lexicons, tools, messages, facts, text, (language, &items)) {
        let Ranking { candidates, k, confidence_permille, .. } =
            tools.prefilter().rank(text, &hints::hints(lexicons, &items));
        let language = facts.language.unwrap_or(language);
        return Proposal { language, plan, candidates, k, confidence_permille };
    }
    if items.iter().all(|i| i.is_punctuation() || (i.is_noise() && i.verb().is_none() && i.object().is_none())) {
        return early(language, "planner.idle");
    }
    let ranking = tools.prefilter().rank(text, &hints::hints(lexicons, &items));
    let usual = usage::Usage::embedded().rank(&usage::features(lexicons, text, &items));
    if let Some(plan) = again::again(lexicons, tools, messages, facts, language, (text, &items), &usual) {
        let Ranking { candidates, k, confidence_permille, .. } = ranking;
        return Proposal { language, plan, candidates, k, confidence_permille };
    }
    let parts = clauses::clauses(lexicons, &items);
    let mut attempt = Attempt::new(lexicons, tools, &ranking, text, &items, &parts);
    // A voice runs on: what makes no sense clause by clause may make sense as a whole. Only for what reads.
    if !attempt.is_sure() && parts.len() > 1 {
        let whole = Attempt::new(lexicons, tools, &ranking, text, &items, std::slice::from_ref(&(0..items.len())));
        if whole.is_sure() && !whole.acts && whole.confidence >= WHOLE_THRESHOLD_PERMILLE {
            attempt = whole;
        }
    }
    // A command line means what it says.
    let attempt = if attempt.is_sure() && is_command_line(lexicons, facts, text) {
        attempt
    } else {
        let usual = of_acts(lexicons, tools, &items, usual);
        by_usage(lexicons, tools, &ranking, (text, &items), attempt, &usual)
    };
    let Attempt { built, builder, confidence, threshold, .. } = attempt;
    let plan = match built {
        Ok(()) if confidence >= threshold && !builder.steps.is_empty() => Plan {
            engine: "simple".to_owned(),
            confidence_permille: confidence,
            steps: builder.steps,
            answer: builder.answer,
            abstention: None,
        },
        Ok(()) => unsure((messages, tools), language, text, &items, &builder.used, &ranking, confidence),
        Err(Trouble::Missing { .. }) if confidence < READ_THRESHOLD_PERMILLE && has_unknown(&items, &builder.used) => {
            unsure((messages, tools), language, text, &items, &builder.used, &ranking, confidence)
        }
        Err(trouble) => troubled(messages, language, &trouble, &ranking, confidence),
    };
    let plan = again::asked_when(lexicons, messages, language, &items, plan);
    let Ranking { candidates, k, confidence_permille, .. } = ranking;
    Proposal { language, plan, candidates, k, confidence_permille }
}

/// Characters that no keyboard writes and that a terminal may obey; inside of a name that exists they are the name's.
fn has_controls(text: &str, existing: &[(u32, u32)]) -> bool {
    text.char_indices().any(|(at, c)| {
        let named = existing.iter().any(|&(from, to)| (from as usize..to as usize).contains(&at));
        c.is_control() && !matches!(c, '\n' | '\r' | '\t') && !named
    })
}

fn is_command_line(lexicons: &Lexicons, facts: &Facts<'_>, text: &str) -> bool {
    shell::command_line(lexicons, &dates::Clock::new(facts.now_us, facts.zone), text).is_some()
}

fn sentence(lexicons: &Lexicons, facts: &Facts<'_>, language: Language, text: &str) -> Vec<Item> {
    let clock = dates::Clock::new(facts.now_us, facts.zone);
    if let Some(items) = shell::command_line(lexicons, &clock, text) {
        return items;
    }
    let mut items = items::items(lexicons, text, facts.existing, language);
    compose::compose(lexicons, text, &clock, language, &mut items);
    dictated(lexicons, text, &mut items);
    items
}

/// «write to ~/a.txt: buy milk»: what follows the colon of an act that writes is text, not words to be obeyed.
fn dictated(lexicons: &Lexicons, text: &str, items: &mut Vec<Item>) {
    let writes =
        |i: &Item| i.verb().is_some_and(|v| matches!(lexicons.verbs[v].verbs[0].as_str(), "write" | "create" | "send"));
    let Some(colon) = items.iter().position(|i| i.what == What::Punctuation(':')) else { return };
    let quotes = items.iter().any(|i| matches!(i.what, What::Quoted(_)));
    let target = items.get(colon + 1).is_none_or(|i| matches!(i.what, What::Path { .. } | What::Url(_)));
    let note = |i: &Item| i.object().is_some_and(|o| lexicons.objects[o] == "messages");
    if quotes || target || !items[..colon].iter().any(|i| writes(i) || note(i)) {
        return;
    }
    // «~/x does not exist yet: create it» tells what to do.
    if matches!(&items[colon + 1..], [only] if only.pronoun && only.verb().is_some()) {
        return;
    }
    let start = items[colon + 1].start;
    let value = text[start..].trim_end();
    let end = start + value.len();
    items.truncate(colon);
    items.push(Item {
        start,
        end,
        folded: String::new(),
        what: What::Quoted(value.to_owned()),
        pronoun: false,
        forgiven: false,
    });
}

fn abstain(confidence_permille: u16, kind: AbstentionKind, message: String, candidates: Vec<String>) -> Plan {
    let abstention = Some(Abstention { kind, message, candidates, offers: false });
    Plan { engine: "simple".to_owned(), confidence_permille, steps: Vec::new(), answer: AnswerSpec::Result, abstention }
}

fn names(ranking: &Ranking) -> Vec<String> {
    ranking.candidates.iter().filter(|c| c.score >= 6).take(3).map(|c| c.tool.clone()).collect()
}

/// Too little was understood: says what was not, and what might be meant.
fn unsure(
    (messages, tools): (&Messages, &Tools),
    language: Language,
    text: &str,
    items: &[Item],
    used: &[bool],
    ranking: &Ranking,
    confidence: u16,
) -> Plan {
    let unexplained: Vec<&str> = items
        .iter()
        .zip(used)
        .filter(|(item, used)| {
            let grammar = item.is_word() && !item.is_unknown() && is_function(item);
            !(**used || grammar || item.is_punctuation() || item.is_noise())
        })
        .map(|(item, _)| &text[item.start..item.end])
        .take(8)
        .collect();
    let candidates = names(ranking);
    let (kind, key) = if candidates.is_empty() {
        (AbstentionKind::Cannot, "planner.not_understood")
    } else {
        (AbstentionKind::Ask, "planner.unsure")
    };
    let options: Vec<String> = candidates.iter().filter_map(|name| skills::described(tools, name, language)).collect();
    let values = json!({ "words": unexplained.join(", "), "count": candidates.len(), "options": options });
    let mut plan = abstain(confidence, kind, messages.say(language, key, values), candidates);
    if let Some(abstention) = &mut plan.abstention {
        abstention.offers = kind == AbstentionKind::Ask;
    }
    plan
}

fn troubled(messages: &Messages, language: Language, trouble: &Trouble, ranking: &Ranking, confidence: u16) -> Plan {
    let (kind, key, values) = match trouble {
        Trouble::Missing { role, argument, tool } => {
            // What is deleted, moved or packed is named; only what is written is written somewhere.
            let key = match role {
                Role::TargetPath if argument == "paths" => "planner.ask_path",
                Role::Id if tool.ends_with("_recurring") => "planner.ask_task",
                _ => missing_key(*role),
            };
            (AbstentionKind::Ask, key, json!({ "argument": argument, "tool": tool }))
        }
        Trouble::NoAntecedent => (AbstentionKind::Ask, "planner.no_antecedent", json!({})),
        Trouble::Unclear { words } => (AbstentionKind::Ask, "planner.unclear", json!({ "words": words })),
        Trouble::Time { words } => (AbstentionKind::Ask, "planner.ask_if_time", json!({ "words": words })),
        Trouble::NoTool { words } => (AbstentionKind::Cannot, "planner.no_tool", json!({ "words": words })),
        Trouble::OnlyNegated => (AbstentionKind::Ask, "planner.only_negated", json!({})),
        Trouble::NoSuchLines { words } => (AbstentionKind::Ask, "planner.ask_lines", json!({ "words": words })),
        Trouble::OneAtATime => (AbstentionKind::Ask, "planner.one_at_a_time", json!({})),
        Trouble::TwoDays { words, one, other } => {
            (AbstentionKind::Ask, "planner.two_days", json!({ "words": words, "one": one, "other": other }))
        }
        Trouble::OwnSentence { tool, said } => {
            (AbstentionKind::Ask, "planner.own_sentence", json!({ "tool": tool, "said": said }))
        }
        Trouble::NoMeasure { words } => (AbstentionKind::Cannot, "planner.no_measure", json!({ "words": words })),
    };
    let candidates = match trouble {
        Trouble::OwnSentence { tool, .. } => vec![tool.clone()],
        _ => names(ranking),
    };
    abstain(confidence, kind, messages.say(language, key, values), candidates)
}

fn missing_key(role: Role) -> &'static str {
    match role {
        Role::Path => "planner.ask_path",
        Role::TargetPath => "planner.ask_target_path",
        Role::Content | Role::Text => "planner.ask_content",
        Role::Url | Role::Host => "planner.ask_url",
        Role::Recipient => "planner.ask_recipient",
        Role::Pattern
        | Role::Command
        | Role::Id
        | Role::Entries
        | Role::Field
        | Role::Count
        | Role::Size
        | Role::Time
        | Role::Timezone
        | Role::Option => "planner.ask_argument",
    }
}

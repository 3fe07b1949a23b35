//! The built-in engine: a sentence becomes a pipeline by lexicons, typed spans and the manifests' own words; no model.
//!
//! Pure: the moment, the zone and what exists on the disk come in as facts. It names executors only by pairs of
//! the vocabulary (the one that reads files, the one that filters texts), and knows no sentence as a whole; what it does not understand it asks, and it never acts on a target that the words do not hold.

mod about;
pub mod answer;
mod build;
mod clauses;
mod compose;
mod dates;
mod fill;
mod hints;
mod items;
mod lexicon;
mod lift;
mod narrowed;
mod recurring;
mod shell;
pub mod skills;
mod template;
mod tools;
mod usage;
mod words;

#[cfg(test)]
mod tests;

use serde_json::json;

pub use self::lexicon::{LexiconError, Lexicons};
pub use self::lift::candidates_for_existing;
pub use self::narrowed::propose_only;
pub use self::template::{TemplateError, check_template};
pub use self::tools::{Tool, Tools};

use self::build::{Builder, Trouble};
use self::items::{Item, What};
use crate::manifest::Role;
use crate::messages::{Language, Messages};
use crate::plan::{Abstention, AbstentionKind, AnswerSpec, Origin, Plan, PlannedStep};
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
    if let Some(plan) = again(lexicons, tools, messages, facts, language, (text, &items), &usual) {
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
    let Ranking { candidates, k, confidence_permille, .. } = ranking;
    Proposal { language, plan, candidates, k, confidence_permille }
}

/// How likely a frame must be, in thousandths, before a plan by it stands where the grammar found none: reads, acts.
const USUAL_PERMILLE: (u16, u16) = (550, 750);

/// The same for a message whose person and text were found.
const SENT_PERMILLE: u16 = 600;

/// How likely another frame must be, and three times likelier than the grammar's, before the grammar is doubted.
const DOUBT_PERMILLE: u32 = 500;

/// The same for an act, every word of which the grammar explains.
const DOUBT_ACT_PERMILLE: u32 = 700;

/// How likely another frame must be before a pipeline is doubted that no sentence of the corpus has.
const UNHEARD_PERMILLE: u32 = 950;

/// How likely a frame that only reads must be before it stands for an act that every word explains.
const HARMLESS_PERMILLE: u32 = 950;

/// How likely another frame must be before it stands where the grammar was sure.
const OVERRULED_PERMILLE: u32 = 800;

/// Where the words name an act that takes things away, no frame that only reads is meant: what is left shares their part.
fn of_acts(lexicons: &Lexicons, tools: &Tools, items: &[Item], ranked: Vec<usage::Likely>) -> Vec<usage::Likely> {
    use self::lexicon::Cue;
    let takes = |v: usize| matches!(lexicons.verbs[v].verbs[0].as_str(), "delete" | "move" | "compress");
    let named = (0..items.len()).any(|at| {
        let item = &items[at];
        let before = &items[..at];
        let denied = before.iter().rev().take(4).any(|i| i.is(Cue::Not) || i.is(Cue::Doer) && !i.is(Cue::Due));
        let noun = before.last().is_some_and(|i| i.is(Cue::Determiner) || i.is(Cue::Every));
        let due = item.past().is_some_and(takes) && before.iter().any(|i| i.is(Cue::Due));
        let said = item.verb().is_some_and(takes) && !item.is_noise() && !item.is(Cue::Puts);
        (due || said) && !denied && !noun
    });
    if !named {
        return ranked;
    }
    let acts = |frame: &str| {
        let last = frame.rsplit(" > ").next().and_then(|step| step.split(' ').next());
        last.and_then(|tool| tools.indexed(tool)).is_some_and(tools::Indexed::acts)
    };
    let kept: Vec<usage::Likely> = ranked.into_iter().filter(|l| l.frame == "none" || acts(&l.frame)).collect();
    let total = kept.iter().map(|l| l.permille).sum::<u32>().max(1);
    kept.into_iter().map(|l| usage::Likely { permille: l.permille * 1000 / total, ..l }).collect()
}

/// Holds the grammar's reading against what such sentences usually mean. What the grammar did not understand may be
/// planned by the likeliest frame; what it understood in a way that is never meant is not believed.
fn by_usage<'a>(
    lexicons: &'a Lexicons,
    tools: &'a Tools,
    ranking: &'a Ranking,
    (text, items): (&'a str, &'a [Item]),
    grammar: Attempt<'a>,
    ranked: &[usage::Likely],
) -> Attempt<'a> {
    let usage = usage::Usage::embedded();
    let Some(first) = ranked.first() else { return grammar };
    let read = usage::frame_of(&grammar.builder.steps);
    let sure = grammar.is_sure();
    let share = ranked.iter().find(|l| l.frame == read).map_or(0, |l| l.permille);
    // Of a pipeline that no sentence of the corpus has, nothing is known.
    let known = usage.knows(&read) || first.permille >= UNHEARD_PERMILLE;
    let least = if grammar.acts { DOUBT_ACT_PERMILLE } else { DOUBT_PERMILLE };
    let overruled = known && first.frame != read && first.permille >= least && share * 3 < first.permille;
    if sure && !overruled {
        return grammar;
    }
    if first.frame != "none" {
        let usual = Attempt::usual(lexicons, tools, ranking, text, items, usage, first);
        // An act that every word explains is doubted, but no reading stands in for it.
        let harmless = !usual.acts && first.permille >= HARMLESS_PERMILLE;
        if usual.is_sure() && (harmless || !(sure && grammar.acts && !usual.acts)) {
            return usual;
        }
    }
    // What is never meant that way is not done, and not read either; the person is asked.
    if sure && overruled { grammar.doubted() } else { grammar }
}

/// One way to plan the sentence, and how sure it is.
struct Attempt<'a> {
    built: Result<(), Trouble>,
    builder: Builder<'a>,
    confidence: u16,
    threshold: u16,
    acts: bool,
}

impl<'a> Attempt<'a> {
    fn new(
        lexicons: &'a Lexicons,
        tools: &'a Tools,
        ranking: &'a Ranking,
        text: &'a str,
        items: &'a [Item],
        parts: &[std::ops::Range<usize>],
    ) -> Self {
        let mut builder = Builder::new(lexicons, tools, ranking, text, items);
        let built = builder.build(parts);
        Self::judged(tools, items, builder, built)
    }

    /// By the frame that such sentences usually have.
    fn usual(
        lexicons: &'a Lexicons,
        tools: &'a Tools,
        ranking: &'a Ranking,
        text: &'a str,
        items: &'a [Item],
        usage: &usage::Usage,
        likely: &usage::Likely,
    ) -> Self {
        let mut builder = Builder::new(lexicons, tools, ranking, text, items);
        let built = builder.by_frame(usage, likely);
        let mut usual = Self::judged(tools, items, builder, built);
        // What nothing explains speaks against the frame, though less than against a reading word by word.
        let unexplained = 1000 - u32::from(usual.confidence);
        usual.confidence = u16::try_from(likely.permille.saturating_sub(unexplained / 4)).unwrap_or(0);
        usual.threshold = match likely.frame.as_str() {
            // Whom it goes to and what it says were both found.
            "send_messages" => SENT_PERMILLE,
            _ if usual.acts => USUAL_PERMILLE.1,
            _ => USUAL_PERMILLE.0,
        };
        usual
    }

    fn judged(tools: &Tools, items: &[Item], builder: Builder<'a>, built: Result<(), Trouble>) -> Self {
        let confidence = confidence(items, &builder.used);
        let acts = builder.steps.iter().any(|s| tools.indexed(&s.tool).is_some_and(tools::Indexed::acts));
        let threshold = match (acts, builder.implied) {
            (true, _) => ACT_THRESHOLD_PERMILLE,
            (false, true) => IMPLIED_THRESHOLD_PERMILLE,
            (false, false) => READ_THRESHOLD_PERMILLE,
        };
        Self { built, builder, confidence, threshold, acts }
    }

    /// The same, no longer believed.
    fn doubted(self) -> Self {
        Self { confidence: self.confidence.min(self.threshold - 1), ..self }
    }

    fn is_sure(&self) -> bool {
        self.built.is_ok() && self.confidence >= self.threshold && !self.builder.steps.is_empty()
    }
}

/// What is asked to happen again and again: the request that is left must itself be one that can be planned.
fn again(
    lexicons: &Lexicons,
    tools: &Tools,
    messages: &Messages,
    facts: &Facts<'_>,
    language: Language,
    (text, items): (&str, &[Item]),
    usual: &[usage::Likely],
) -> Option<Plan> {
    let tool = tools.by_grammar("schedule", "recurring")?;
    // «stop the weekly check» ends what comes round; it does not begin it.
    let ends = |i: &Item| {
        i.verb().is_some_and(|v| matches!(lexicons.verbs[v].verbs[0].as_str(), "cancel" | "pause" | "resume"))
    };
    if items.iter().find(|i| i.verb().is_some()).is_some_and(ends) {
        return None;
    }
    if usual.first().is_some_and(|l| {
        l.permille >= OVERRULED_PERMILLE && l.frame != "schedule_recurring" && l.frame.ends_with("_recurring")
    }) {
        return None;
    }
    // «for each year» need not recur.
    let other = usual
        .first()
        .is_some_and(|l| l.permille >= DOUBT_PERMILLE && l.frame != "none" && !l.frame.ends_with("_recurring"));
    let other = other && !usual.iter().any(|l| l.frame == "schedule_recurring" && l.permille >= 150);
    let likely = usual.iter().any(|l| l.frame == "schedule_recurring" && l.permille >= 500);
    let reminds = items.iter().any(|i| i.verb().is_some_and(|v| lexicons.verbs[v].verbs[0] == "schedule"));
    let recurring = match recurring::recurring(lexicons, language, items, likely) {
        recurring::Found::Unclear if likely || reminds => {
            let message = messages.say(language, "planner.ask_time", json!({}));
            return Some(abstain(0, AbstentionKind::Ask, message, Vec::new()));
        }
        recurring::Found::Nothing | recurring::Found::Unclear => return None,
        recurring::Found::Time(recurring) if other && !recurring.timed => return None,
        recurring::Found::Time(recurring) => recurring,
    };
    let spans: Vec<(usize, usize)> =
        recurring.spans.iter().map(|span| (items[span.start].start, items[span.end - 1].end)).collect();
    let (rest, asked) = left_of(text, &spans);
    let inner = Facts { existing: &[], language: Some(language), ..*facts };
    let planned = propose(lexicons, tools, messages, &inner, &rest).plan;
    let grammar = |i: &Item| i.is_noise() || i.is_punctuation() || i.is(lexicon::Cue::Listener);
    let about = items.iter().enumerate().any(|(at, i)| {
        !recurring.spans.iter().any(|span| span.contains(&at))
            && !grammar(i)
            && i.verb().is_none_or(|v| lexicons.verbs[v].verbs[0] != "schedule")
    });
    if reminds && !about {
        let message = messages.say(language, "planner.ask_reminder", json!({}));
        return Some(abstain(planned.confidence_permille, AbstentionKind::Ask, message, Vec::new()));
    }
    if planned.abstention.is_some() && !reminds {
        return Some(planned);
    }
    let words = |(start, end): (usize, usize)| Origin::Words { start: lift::byte(start), end: lift::byte(end) };
    // The days, where the time stands apart from them.
    let said = spans.iter().copied().max_by_key(|(start, end)| end - start)?;
    let provenance = [("/schedule".to_owned(), words(said)), ("/query".to_owned(), words(asked))];
    let step = PlannedStep {
        tool: tool.name().to_owned(),
        args: json!({ "schedule": recurring.cron, "query": rest }),
        provenance: provenance.into_iter().collect(),
    };
    Some(Plan { steps: vec![step], abstention: None, answer: AnswerSpec::Result, ..planned })
}

/// What is left of the text without these spans, and from where to where it reaches.
fn left_of(text: &str, spans: &[(usize, usize)]) -> (String, (usize, usize)) {
    let outer = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '.');
    let mut pieces = Vec::new();
    let mut from = 0;
    for &(start, end) in spans.iter().chain([&(text.len(), text.len())]) {
        let piece = &text[from..start.max(from)];
        let kept = piece.trim_matches(outer);
        if !kept.is_empty() {
            let first = from + (piece.len() - piece.trim_start_matches(outer).len());
            pieces.push((first, first + kept.len()));
        }
        from = end;
    }
    let words: Vec<&str> = pieces.iter().map(|&(start, end)| &text[start..end]).collect();
    let reach = pieces.first().map_or((0, 0), |first| (first.0, pieces.last().map_or(first.1, |last| last.1)));
    (words.join(" "), reach)
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
    if quotes || target || !items[..colon].iter().any(writes) {
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

/// Share of content words that spans and lexicons explain, in thousandths. Grammar and punctuation do not count; what was
/// lifted and not used counts against it like a word that nobody knows.
fn confidence(items: &[Item], used: &[bool]) -> u16 {
    let (mut content, mut explained) = (0_u32, 0_u32);
    for (item, used) in items.iter().zip(used) {
        if item.is_punctuation() || (item.is_noise() && !used) {
            continue;
        }
        let function = item.is_word() && !item.is_unknown() && is_function(item);
        if function && !used {
            continue;
        }
        content += 1;
        explained += u32::from(*used);
    }
    (explained * 1000).checked_div(content).map_or(0, |share| u16::try_from(share).unwrap_or(1000))
}

fn has_unknown(items: &[Item], used: &[bool]) -> bool {
    items.iter().zip(used).any(|(item, used)| !used && item.is_unknown())
}

/// Words that are only cues carry no content of their own.
fn is_function(item: &Item) -> bool {
    use self::lexicon::{Cue, Sense};
    let content_cue = |cue: &Cue| {
        matches!(
            cue,
            Cue::Not
                | Cue::Contains
                | Cue::MinSize
                | Cue::MaxSize
                | Cue::Older
                | Cue::Newer
                | Cue::Named
                | Cue::Modified
                | Cue::Field
                | Cue::Superlative
                | Cue::Condition
                | Cue::Restriction
                | Cue::Begins
                | Cue::Ends
                | Cue::Unwanted
        )
    };
    if item.is(Cue::Inside) && !item.is(Cue::Contains) {
        return true;
    }
    item.senses().iter().all(|s| match s {
        Sense::Cue(cue) => !content_cue(cue),
        Sense::Noise | Sense::Past(_) => true,
        _ => false,
    }) || item
        .senses()
        .iter()
        .any(|s| matches!(s, Sense::Cue(Cue::First | Cue::Last | Cue::HowMany | Cue::Only | Cue::Every)))
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
            let key =
                if *role == Role::TargetPath && argument == "paths" { "planner.ask_path" } else { missing_key(*role) };
            (AbstentionKind::Ask, key, json!({ "argument": argument, "tool": tool }))
        }
        Trouble::NoAntecedent => (AbstentionKind::Ask, "planner.no_antecedent", json!({})),
        Trouble::Unclear { words } => (AbstentionKind::Ask, "planner.unclear", json!({ "words": words })),
        Trouble::NoTool { words } => (AbstentionKind::Cannot, "planner.no_tool", json!({ "words": words })),
        Trouble::OnlyNegated => (AbstentionKind::Ask, "planner.only_negated", json!({})),
        Trouble::NoSuchLines { words } => (AbstentionKind::Ask, "planner.ask_lines", json!({ "words": words })),
        Trouble::OneAtATime => (AbstentionKind::Ask, "planner.one_at_a_time", json!({})),
        Trouble::TwoDays { words, one, other } => {
            (AbstentionKind::Ask, "planner.two_days", json!({ "words": words, "one": one, "other": other }))
        }
        Trouble::NoMeasure { words } => (AbstentionKind::Cannot, "planner.no_measure", json!({ "words": words })),
    };
    abstain(confidence, kind, messages.say(language, key, values), names(ranking))
}

fn missing_key(role: Role) -> &'static str {
    match role {
        Role::Path => "planner.ask_path",
        Role::TargetPath => "planner.ask_target_path",
        Role::Content | Role::Text => "planner.ask_content",
        Role::Url | Role::Host => "planner.ask_url",
        Role::Recipient => "planner.ask_recipient",
        Role::Pattern
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

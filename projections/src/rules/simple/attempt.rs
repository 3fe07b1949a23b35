//! One way to plan a sentence and how sure it is: word by word by the grammar, or by the frame that such sentences usually
//! have; and which of the two is believed.
//!
//! Nothing is planned here; the builder does that.

use serde_json::Value;

use super::build::{Builder, Trouble};
use super::items::{Item, What};
use super::lexicon::Lexicons;
use super::tools::{self, Tools};
use super::usage;
use super::{ACT_THRESHOLD_PERMILLE, IMPLIED_THRESHOLD_PERMILLE, READ_THRESHOLD_PERMILLE};
use crate::plan::PlannedStep;
use crate::rules::prefilter::Ranking;

/// How likely a frame must be, in thousandths, before a plan by it stands where the grammar found none: reads, acts.
const USUAL_PERMILLE: (u16, u16) = (550, 750);

/// The same for a message whose person and text were found.
const SENT_PERMILLE: u16 = 600;

/// How likely another frame must be, and three times likelier than the grammar's, before the grammar is doubted.
pub(super) const DOUBT_PERMILLE: u32 = 500;

/// The same for an act, every word of which the grammar explains.
const DOUBT_ACT_PERMILLE: u32 = 700;

/// How likely another frame must be before a pipeline is doubted that no sentence of the corpus has.
const UNHEARD_PERMILLE: u32 = 950;

/// How likely a frame that only reads must be before it stands for an act that every word explains.
const HARMLESS_PERMILLE: u32 = 950;

/// How likely another frame must be before it stands where the grammar was sure.
pub(super) const OVERRULED_PERMILLE: u32 = 800;

/// Where the words name an act that takes things away, no frame that only reads is meant: what is left shares their part.
pub(super) fn of_acts(
    lexicons: &Lexicons,
    tools: &Tools,
    items: &[Item],
    ranked: Vec<usage::Likely>,
) -> Vec<usage::Likely> {
    use super::lexicon::Cue;
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
pub(super) fn by_usage<'a>(
    lexicons: &'a Lexicons,
    tools: &'a Tools,
    ranking: &'a Ranking,
    (text, items): (&'a str, &'a [Item]),
    grammar: Attempt<'a>,
    ranked: &[usage::Likely],
) -> Attempt<'a> {
    let usage = usage::Usage::embedded();
    // Of an executor that was added no corpus knows anything: its own verb says what is meant, and so does asking about it.
    if matches!(grammar.built, Err(Trouble::OwnSentence { .. })) {
        return grammar;
    }
    let Some(first) = ranked.first() else { return grammar };
    let read = usage::frame_of(&grammar.builder.steps);
    let sure = grammar.is_sure();
    let share = ranked.iter().find(|l| l.frame == read).map_or(0, |l| l.permille);
    // Of a pipeline that no sentence of the corpus has, nothing is known.
    let known = usage.knows(&read) || first.permille >= UNHEARD_PERMILLE;
    let least = if grammar.acts { DOUBT_ACT_PERMILLE } else { DOUBT_PERMILLE };
    let overruled = known && first.frame != read && first.permille >= least && share * 3 < first.permille;
    // The same of a whole sentence of its own.
    let own = grammar.builder.is_own && grammar.builder.steps.len() == 1;
    if sure && (own || !overruled || runs_listed(tools, &grammar.builder.steps)) {
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

/// Whether all that is planned is the run of a program that may be run: the words of its line are its own, and tell nothing of
/// what else such words usually mean.
fn runs_listed(tools: &Tools, steps: &[PlannedStep]) -> bool {
    let [step] = steps else { return false };
    let program = step.args.pointer("/argv/0").and_then(Value::as_str);
    let manifest = tools.indexed(&step.tool).map(|tool| &tool.tool.manifest);
    let runnable =
        manifest.into_iter().flat_map(|manifest| &manifest.capabilities).filter(|used| used.name == "code:exec");
    program.is_some_and(|program| runnable.flat_map(|used| &used.hint).any(|listed| listed == program))
}

/// One way to plan the sentence, and how sure it is.
pub(super) struct Attempt<'a> {
    pub(super) built: Result<(), Trouble>,
    pub(super) builder: Builder<'a>,
    pub(super) confidence: u16,
    pub(super) threshold: u16,
    pub(super) acts: bool,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(
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
    pub(super) fn usual(
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
        let acts = builder.steps.iter().any(|s| tools.indexed(&s.tool).is_some_and(tools::Indexed::acts));
        let confidence =
            if acts { confidence(items, &builder.used) } else { confidence(items, &with_asides(items, &builder.used)) };
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

    pub(super) fn is_sure(&self) -> bool {
        self.built.is_ok() && self.confidence >= self.threshold && !self.builder.steps.is_empty()
    }
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

/// «read me ~/a.txt, my hands are full of flour»: what stands between marks, holds only strange words and names nothing,
/// tells why and not what. It may be left out of a reading, never of an act.
fn with_asides(items: &[Item], used: &[bool]) -> Vec<bool> {
    let mut explained = used.to_vec();
    let mut from = 0;
    for to in 0..=items.len() {
        let ends = items.get(to).is_none_or(|i| matches!(i.what, What::Punctuation(',' | '.' | ';' | '!' | ':')));
        if !ends {
            continue;
        }
        let part = from..to;
        let strange = items[part.clone()].iter().filter(|i| i.is_unknown()).count();
        let small =
            |i: &Item| i.is_unknown() || (i.is_word() && i.is_noise() && i.verb().is_none() && i.object().is_none());
        let taken = part.clone().any(|at| used[at] && !items[at].is_noise());
        if strange > 1 && !taken && items[part.clone()].iter().all(small) && part.len() < items.len() {
            explained[part].fill(true);
        }
        from = to + 1;
    }
    explained
}

pub(super) fn has_unknown(items: &[Item], used: &[bool]) -> bool {
    items.iter().zip(used).any(|(item, used)| !used && item.is_unknown())
}

/// Words that are only cues carry no content of their own.
pub(super) fn is_function(item: &Item) -> bool {
    use super::lexicon::{Cue, Sense};
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

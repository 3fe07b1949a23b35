//! The same request once more, after the person said which executor is meant: planned by that one, or asked for in more
//! words.
//!
//! A choice settles what is done, never to what: targets still come from the words alone.

use serde_json::json;

use super::build::Trouble;
use super::usage::{self, Likely, Usage};
use super::{Attempt, Facts, Lexicons, Proposal, Tools, abstain, propose, sentence, skills, tools, troubled};
use crate::messages::Messages;
use crate::plan::{AbstentionKind, Plan};

/// What a frame counts that the person chose, in thousandths: for what reads, and for what acts, where a word that nobody
/// knows still speaks against it.
const CHOSEN_PERMILLE: (u32, u32) = (1000, 890);

/// Plans a request by one executor.
pub fn propose_only(
    lexicons: &Lexicons,
    tools: &Tools,
    messages: &Messages,
    facts: &Facts<'_>,
    text: &str,
    only: &str,
) -> Proposal {
    let proposal = propose(lexicons, tools, messages, facts, text);
    if proposal.plan.steps.iter().any(|step| step.tool == only) {
        return proposal; // The words say so by themselves by now.
    }
    let language = proposal.language;
    let items = sentence(lexicons, facts, language, text);
    let ranking = tools.prefilter().rank(text, &super::hints::hints(lexicons, &items));
    let learned = Usage::embedded();
    let acts = tools.indexed(only).is_some_and(tools::Indexed::acts);
    let permille = if acts { CHOSEN_PERMILLE.1 } else { CHOSEN_PERMILLE.0 };
    let ranked = learned.rank(&usage::features(lexicons, text, &items));
    let holds = |frame: &&str| frame.split(" > ").any(|step| step.split(' ').next() == Some(only));
    let frames = ranked.iter().map(|likely| likely.frame.as_str()).filter(holds).chain([only]);
    let mut missing = None;
    for frame in frames {
        let likely = Likely { frame: frame.to_owned(), permille };
        let attempt = Attempt::usual(lexicons, tools, &ranking, text, &items, learned, &likely);
        let by_it = attempt.builder.steps.iter().any(|step| step.tool == only);
        if by_it && attempt.is_sure() && attempt.acts == acts {
            let Attempt { builder, confidence, .. } = attempt;
            let (steps, answer) = (builder.steps, builder.answer);
            let plan =
                Plan { engine: "simple".to_owned(), confidence_permille: confidence, steps, answer, abstention: None };
            return Proposal { plan, ..proposal };
        }
        if let Err(trouble @ Trouble::Missing { .. }) = attempt.built {
            missing = missing.or(Some(trouble));
        }
    }
    let confidence = proposal.plan.confidence_permille;
    let plan = if let Some(trouble) = missing {
        troubled(messages, language, &trouble, &ranking, confidence)
    } else {
        let what = skills::described(tools, only, language).unwrap_or_else(|| only.to_owned());
        let message = messages.say(language, "planner.more_words", json!({ "what": what }));
        abstain(confidence, AbstentionKind::Ask, message, vec![only.to_owned()])
    };
    Proposal { plan, ..proposal }
}

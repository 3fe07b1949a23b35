//! How much each piece of evidence counts, for a rank and for relevance.
//!
//! Numbers only. Those of the seed scoring are the design's (5-turn, «Pre-filter»). The others were fitted offline, on
//! evidence and not on words, so that none of them knows a tool: ranks by a conditional logit (listwise softmax, ridge 10
//! on standardised evidence, signs fixed) over 531 public questions that choose among 2 to 37 offered functions, the same
//! questions among 96 functions (a third of the weight), and 298 sentences over the executors of this product (half of
//! it). Fitted on random halves, the right function came first for 0.936 of the questions of the other half (0.921 to
//! 0.947 over twelve halves; 0.912 to 0.956 where the halves share no set of functions). Relevance by a logistic
//! regression (ridge 5) over the same questions against 284 that none of their functions answers: of halves that the fit
//! had not seen, 0.72 of the latter are declined where 0.95 of the former are kept (0.58 to 0.80 over ten halves).

use super::query::{Coverage, Evidence};

/// Weighs all evidence for a tool; the sum may be below zero.
pub(super) fn general(evidence: &Evidence) -> f32 {
    let words = 0.15 * evidence.description
        + 1.27 * evidence.affinity
        + 0.99 * evidence.argument_names
        + 0.87 * evidence.argument_descriptions;
    let like = 1.57 * evidence.affinity_groups
        + 0.22 * evidence.argument_groups
        + 7.5 * evidence.name_grams
        + 22.3 * evidence.description_grams;
    let shares = 1.51 * evidence.name_share
        + 1.65 * evidence.name_group_share
        + 3.57 * evidence.description_share
        + 0.47 * evidence.whole_name;
    let whole = 0.67 * evidence.phrases + 2.44 * evidence.choices + 0.7 * evidence.pairs + 0.72 * evidence.verb;
    words + like + shares + whole - 2.2 * evidence.unmet - 0.67 * evidence.untaken
}

/// What the seed scoring counts, in points.
pub(super) mod seed {
    /// A word or phrase of the affinity, said as a whole.
    pub(crate) const AFFINITY: f32 = 4.0;
    /// A word of the description; three at most.
    pub(crate) const DESCRIPTION: f32 = 1.0;
    /// The verb that a word most likely means.
    pub(crate) const VERB: f32 = 10.0;
    /// A verb that it may mean too.
    pub(crate) const LATER_VERB: f32 = 5.0;
    /// The object.
    pub(crate) const OBJECT: f32 = 6.0;
    /// The qualifier.
    pub(crate) const QUALIFIER: f32 = 2.0;
}

/// How sure it is that the tool is what the query is about, from 0 to 1.
pub(super) fn relevance(evidence: &Evidence, coverage: &Coverage) -> f32 {
    let covered = 2.14 * coverage.own + 3.19 * coverage.arguments + 1.89 * coverage.alike;
    let named = 2.4 * evidence.name_share + 1.24 * evidence.name_group_share;
    let values = 1.51 * evidence.choices.min(2.0) - 1.35 * evidence.unmet - 0.99 * f32::from(coverage.no_value);
    1.0 / (1.0 + libm::expf(2.07 - covered - named - values))
}

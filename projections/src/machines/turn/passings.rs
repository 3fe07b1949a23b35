//! What a turn leaves in the mnestome when it closes: which executor's output went into which other's input (design 6-memory).

use std::collections::BTreeSet;

use metnos_log::event::mnestome::PassingObserved;

use super::decide::Decider;
use crate::plan::Origin;

impl Decider<'_> {
    /// Which output went into which input, among the steps that ended well.
    pub(super) fn passings(&self) -> Vec<PassingObserved> {
        let ended = |number: u32| self.turn.steps.iter().find(|step| step.number == number && step.ok);
        let mut pairs = BTreeSet::new();
        for step in self.turn.steps.iter().filter(|step| step.ok) {
            for origin in step.provenance.values() {
                if let Origin::Step { step: source, .. } = origin {
                    pairs.insert((*source, step.number));
                }
            }
        }
        let passing = |(source, target): (u32, u32)| {
            let (source, target) = (ended(source)?, ended(target)?);
            Some(PassingObserved {
                src: source.tool.clone(),
                src_version: source.version.clone(),
                dst: target.tool.clone(),
                dst_version: target.version.clone(),
                turn: self.id,
            })
        };
        pairs.into_iter().filter_map(passing).collect()
    }
}

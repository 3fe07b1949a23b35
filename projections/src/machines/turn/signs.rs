//! What the judge weighs of a step: what the words name, what the arguments hold, where targets come from.

use std::collections::BTreeSet;

use serde_json::Value;

use super::decide::Decider;
use super::react::wanted;
use super::state::Step;
use crate::manifest::Manifest;
use crate::plan::Origin;
use crate::rules::vaglio::{STRONG_MNEST_PERMILLE, Signs};

impl Decider<'_> {
    /// Whether the request's words name what an executor does. One of its phrases begins where a word does: «text» is not in
    /// «context». How the word ends is grammar: «cancella» is in «cancellare».
    pub(super) fn is_named_in_words(&self, manifest: &Manifest) -> bool {
        let text = self.turn.text().to_lowercase();
        let begins_a_word = |at: usize| !text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
        // Who writes the executor's own name means it.
        let own_name = std::iter::once(&manifest.executor.name);
        let mut phrases = manifest.executor.affinity.iter().chain(own_name);
        phrases.any(|phrase| text.match_indices(&phrase.to_lowercase()).any(|(at, _)| begins_a_word(at)))
    }

    pub(super) fn signs(&self, step: &Step, manifest: &Manifest) -> Signs {
        let named = self.is_named_in_words(manifest);
        let untrusted = step.targets.iter().any(|target| {
            let origin = step.origin(&target.pointer);
            matches!(origin, Some(Origin::Step { .. } | Origin::Model)) && !self.turn.is_granted(step, target)
        });
        Signs {
            named,
            harmless: !manifest.contract.side_effects,
            traversal: step.targets.iter().any(|target| target.given.split('/').any(|part| part == "..")),
            unusual_keys: self.has_unusual_keys(step),
            broader: step.targets.iter().any(|target| self.turn.is_broader_than_said(step, target)),
            unasked_act: manifest.contract.side_effects && !named,
            untrusted_target: untrusted,
            strong_mnest: step.mnest_permille >= STRONG_MNEST_PERMILLE,
        }
    }

    /// What the judge would have to know and does not: then it approves nothing.
    pub(super) fn lacking_for_judge(&self, step: &Step, manifest: &Manifest) -> Option<&'static str> {
        let Some(opened) = self.turn.opened.as_ref() else { return Some("intent") };
        // A command that names its steps says what it wants by them.
        if self.turn.text().trim().is_empty() && opened.given.is_none() {
            return Some("intent");
        }
        let Some((name, version, _)) = self.context.catalog.active(&step.tool) else { return Some("tool") };
        if name != manifest.executor.name {
            return Some("tool");
        }
        // Of another version nobody knows here what it declares.
        if version != step.version {
            return Some("version");
        }
        let looked_up: BTreeSet<&str> = step.targets.iter().map(|target| target.pointer.as_str()).collect();
        // Many in one list are looked up as the folder that holds them.
        let is_looked_up = |pointer: &str| {
            let above = pointer.match_indices('/').map(|(at, _)| &pointer[..at]);
            above.chain([pointer]).any(|at| looked_up.contains(at))
        };
        let is_whole = wanted(manifest, &step.args).iter().all(|wanted| is_looked_up(&wanted.pointer));
        (!is_whole).then_some("facts")
    }

    /// Whether an argument is none of those that the executor's schema names; where it lets others pass, that is odd still.
    fn has_unusual_keys(&self, step: &Step) -> bool {
        let Some(input) =
            self.context.catalog.active(&step.tool).and_then(|(_, _, version)| version.definition("Input"))
        else {
            return true;
        };
        let known = input.get("properties").and_then(Value::as_object);
        let mut given = step.args.as_object().into_iter().flatten();
        given.any(|(name, _)| !known.is_some_and(|known| known.contains_key(name)))
    }
}

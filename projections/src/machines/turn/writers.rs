//! Executors that change files by themselves: which folders a call of one gets, and what follows when nobody knows what became
//! of it (design 3-executors, «Executors compute, the core commits»; 5-turn, «Recovery»).
//!
//! A bound file can be neither renamed nor removed, so such a call gets the folder that its target lies in, and whoever is
//! asked is told so. Of a call that a crash cut off nobody but the executor's own check or a person can say whether it was
//! done; it is never made again before that.

use std::collections::BTreeSet;

use metnos_log::Kept;
use metnos_log::event::turn::{ConsentAsked, InvocationInDoubt, InvocationSettled, Target};
use serde_json::json;

use super::consent;
use super::decide::Decider;
use super::state::Step;
use crate::machines::catalog::Version;
use crate::manifest::{Capability, Manifest};
use crate::rules::cage_plan;

/// What a question about a call in doubt is about.
pub const DOUBT: &str = "doubt";
/// The outcomes of a call that was in doubt.
pub const HAPPENED: &str = "happened";
/// Nothing of it was done: it may be made.
pub const DID_NOT_HAPPEN: &str = "did_not_happen";
/// Whoever was asked does not know.
pub const UNKNOWN: &str = "unknown";
/// How long the question waits, in seconds: a person may have to look first.
const EXPIRES_S: u32 = 600;

/// The folder that is opened for changing a target: the target itself where it is one, else the one that it lies in.
pub fn folder<'t>(canonical: &'t str, kind: &str) -> &'t str {
    if kind == "folder" {
        return canonical;
    }
    match canonical.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((folder, _)) => folder,
    }
}

/// The folders that one capability opens for the targets of a call.
pub(super) fn folders<'t>(capability: &Capability, targets: &'t [Target]) -> BTreeSet<&'t str> {
    let argument = |target: &Target| target.pointer.split('/').nth(1).unwrap_or_default().to_owned();
    let opens = |target: &&Target| target.role == "target_path" && capability.from_args.contains(&argument(target));
    targets.iter().filter(opens).map(|target| folder(&target.canonical, &target.kind)).collect()
}

/// All that a call of an executor could change by itself: folders, and what it declares without naming an argument.
pub(super) fn reach(manifest: &Manifest, targets: &[Target]) -> Vec<String> {
    let mut reach = BTreeSet::new();
    for capability in manifest.writes_by_itself() {
        reach.extend(folders(capability, targets).into_iter().map(str::to_owned));
        let declared =
            capability.hint.iter().filter(|hint| capability.from_args.is_empty() && *hint != cage_plan::ARGS);
        reach.extend(declared.cloned());
    }
    reach.into_iter().collect()
}

impl Decider<'_> {
    /// A call that may have changed something by itself was cut off: its check is asked, or the person.
    pub(super) fn doubted(&mut self) {
        let Some(step) = self.turn.step().cloned() else { return };
        self.push(InvocationInDoubt { trace_id: step.trace_id.clone(), step: step.number });
        let has_check = self.called(&step).is_some_and(|manifest| manifest.contract.check.is_some());
        if !has_check {
            self.ask_about_doubt(&step);
        }
    }

    /// The check said what became of the call; where that is nothing, it may be made again.
    pub(super) fn settled(&mut self, outcome: &str) {
        let Some(step) = self.turn.step().cloned() else { return };
        self.push_settled(&step, outcome, "check");
        match outcome {
            HAPPENED => self.close_doubt("doubt.happened"),
            DID_NOT_HAPPEN => {}
            _ => self.ask_about_doubt(&step),
        }
    }

    /// The person said what became of the call; or nobody did.
    pub(super) fn settled_by_person(&mut self, happened: Option<bool>) {
        let Some(step) = self.turn.step().cloned() else { return };
        match happened {
            Some(true) => {
                self.push_settled(&step, HAPPENED, "owner");
                self.close_doubt("doubt.happened");
            }
            Some(false) => {
                self.push_settled(&step, DID_NOT_HAPPEN, "owner");
                self.close_doubt("doubt.did_not_happen");
            }
            None => self.close_doubt("doubt.unknown"),
        }
    }

    fn push_settled(&mut self, step: &Step, outcome: &str, by: &str) {
        self.push(InvocationSettled {
            trace_id: step.trace_id.clone(),
            step: step.number,
            outcome: outcome.to_owned(),
            by: by.to_owned(),
        });
    }

    fn ask_about_doubt(&mut self, step: &Step) {
        let text = self.say("doubt.ask", &self.doubt_values(step));
        let patience = self.turn.opened.as_ref().and_then(|opened| opened.patience_s);
        self.push(ConsentAsked {
            step: step.number,
            about: DOUBT.to_owned(),
            digest: consent::digest(&self.turn, step, DOUBT),
            text: Kept::text(text),
            expires_s: patience.unwrap_or(EXPIRES_S),
        });
    }

    /// The manifest of what was called, though it may not be called any more.
    fn called(&self, step: &Step) -> Option<Manifest> {
        self.context.catalog.called(&step.tool, &step.version).and_then(Version::manifest)
    }

    fn doubt_values(&self, step: &Step) -> serde_json::Value {
        let reach = self.called(step).map(|manifest| reach(&manifest, &step.targets)).unwrap_or_default();
        let home = self.turn.opened.as_ref().map_or("", |opened| opened.home.as_str());
        let reach: Vec<String> = reach.iter().map(|folder| consent::short(home, folder)).collect();
        let targets: Vec<&str> = step.targets.iter().map(|target| target.canonical.as_str()).collect();
        json!({ "tool": step.tool, "targets": targets, "folders": reach })
    }

    /// What a call that did not end well may have changed by itself before; nothing where it never ran, or says how it ended.
    pub(super) fn may_have_changed(&self, step: &Step, class: &str) -> Option<String> {
        const BROKEN: [&str; 6] =
            ["crashed", "timeout", "non_json", "contract_violation", "too_large", "internal_error"];
        let manifest = self.called(step).filter(|manifest| manifest.writes_by_itself().next().is_some())?;
        let began = !step.trace_id.is_empty() && BROKEN.contains(&class);
        (began && !reach(&manifest, &step.targets).is_empty())
            .then(|| self.say("doubt.broken", &self.doubt_values(step)))
    }

    /// What was planned behind a call without a result cannot follow: the turn ends and says so.
    fn close_doubt(&mut self, key: &str) {
        let Some(step) = self.turn.step().cloned() else { return };
        let planned = self.turn.plan.as_ref().map_or(0, |plan| plan.steps.len());
        let mut values = self.doubt_values(&step);
        values["rest"] = json!(planned > step.number as usize || self.turn.is_model_planned());
        let message = self.say(key, &values);
        let (kind, class) =
            if key == "doubt.happened" { ("answer", None) } else { ("error", Some("operation_failed")) };
        self.close(kind, class, message);
    }
}

//! What is said to a step before it may go on: the guard's and the policy's verdicts, the question for consent, refusals.
//!
//! Whether a call is judged at all, and by which signs, is decided elsewhere; here that becomes events and what follows
//! from them.

use std::collections::BTreeSet;

use metnos_log::Kept;
use metnos_log::event::turn::{
    ConsentAnswered, ConsentAsked, ConsentDenied, ConsentExpired, EffectsPlanned, InvocationStarted, StepRefused,
    VerdictGiven,
};
use serde_json::{Value, json};

use super::decide::{CAGE_LACKS, Context, Decider, EXECUTOR_CHANGED, RIGHTS_CHANGED, trace_id, trouble};
use super::state::Step;
use super::writers::DOUBT;
use super::{consent, doubts, forms};
use crate::manifest::Manifest;
use crate::rules::cage_plan::Autonomy;
use crate::rules::commands::Command;
use crate::rules::core_paths::{self, OwnDirs};
use crate::rules::policy::{self, Decision, Use};
use crate::rules::provenance::Doubt;
use crate::rules::simple::answer;
use crate::rules::vaglio::{self, Signs, Subject};

/// How long a consent is waited for, in seconds, where nobody says another time.
const CONSENT_EXPIRES_S: u32 = 600;

/// How the reason of a verdict begins that names a grant.
const GRANT: &str = "grant: ";

/// What the guard says of what it cannot judge.
pub(super) const UNJUDGED: &str = "perimeter.unjudged";

/// The grants that the reasons of a verdict name.
pub fn grants(reasons: &[String]) -> Vec<u64> {
    reasons.iter().filter_map(|reason| reason.strip_prefix(GRANT)?.parse().ok()).collect()
}

impl Decider<'_> {
    pub(super) fn guard(&self, about: &str, tool: &str, paths: &[String]) -> Option<(String, String)> {
        self.guarded(about, tool, paths, (&[], &[]))
    }

    pub(super) fn guarded(
        &self,
        about: &str,
        tool: &str,
        paths: &[String],
        (capabilities, commands): (&[&str], &[Command]),
    ) -> Option<(String, String)> {
        // Without these facts nothing can be told apart from what is forbidden.
        let Some(opened) = self.turn.opened.as_ref() else {
            let reason = self.say("refusal.unjudged", &json!({ "path": paths.first().map_or(tool, String::as_str) }));
            return Some((UNJUDGED.to_owned(), reason));
        };
        let own = self.own();
        let subject = Subject { about, tool, capabilities, paths, commands, home: &opened.home, own: &own };
        self.context.rules.laws.guard(subject, self.turn.language).map(|blocked| (blocked.rule, blocked.reason))
    }

    /// The instance's own folders, as the turn was opened with them.
    pub(super) fn own(&self) -> OwnDirs {
        let [config, data, audit] = self.turn.opened.as_ref().map(|opened| opened.own.clone()).unwrap_or_default();
        OwnDirs { config, data, audit }
    }

    /// Whether a step is blocked because the guard cannot judge one of its paths: then the refusal is recorded.
    pub(super) fn is_beyond_judgement<'p>(
        &mut self,
        about: &str,
        step: &Step,
        mut paths: impl Iterator<Item = &'p str>,
    ) -> bool {
        let beyond = paths.find(|path| !core_paths::can_be_judged(path));
        if let Some(path) = beyond {
            let reason = self.say("refusal.unjudged", &json!({ "path": path }));
            self.block(about, step, UNJUDGED.to_owned(), reason);
        }
        beyond.is_some()
    }

    pub(super) fn block(&mut self, about: &str, step: &Step, rule: String, reason: String) {
        self.push(VerdictGiven {
            step: step.number,
            about: about.to_owned(),
            approved: false,
            policy: Decision::Deny.name().to_owned(),
            score_permille: 0,
            blocked_by: Some(rule.clone()),
            judge_kind: "rules".to_owned(),
            reasons: vec![rule],
        });
        self.refuse("guard", "vaglio_guard", Some(reason));
    }

    /// The verdict on a call or on effects, and what follows from it; `grants` are those that made a question unnecessary.
    pub(super) fn rule_on(
        &mut self,
        about: &str,
        (step, manifest): (&Step, &Manifest),
        decision: Decision,
        mut signs: Signs,
        grants: &[u64],
    ) {
        let mut doubts = self.doubts(step, manifest, about);
        // Who gave a grant has named what it is for.
        doubts.retain(|doubt| grants.is_empty() || !matches!(doubt, Doubt::Target { .. }));
        // Whatever autonomy allows: a doubt is for a person to settle.
        let decision = if doubts.is_empty() { decision } else { decision.max(Decision::Ask) };
        signs.untrusted_target |= doubts.iter().any(|doubt| matches!(doubt, Doubt::Target { .. }));
        let lacking = self.lacking_for_judge(step, manifest);
        let score = if lacking.is_some() { 0 } else { vaglio::judge(signs) };
        let passes = vaglio::is_safe(&step.tool) && !signs.untrusted_target || vaglio::approves(score);
        let judged = lacking.is_none() && passes;
        let approved = judged && decision != Decision::Deny;
        let mut reasons = vec![format!("policy: {}", decision.name())];
        reasons.extend(grants.iter().map(|grant| format!("{GRANT}{grant}")));
        match lacking {
            Some(lacking) => reasons.push(format!("judge: no {lacking}")),
            None if !judged => reasons.push(format!("judge: {score} is below {}", vaglio::JUDGE_THRESHOLD_PERMILLE)),
            None => {}
        }
        let named: BTreeSet<&str> = doubts.iter().map(doubts::name).collect();
        reasons.extend(named.into_iter().map(|name| format!("{}{name}", doubts::REASON)));
        self.push(VerdictGiven {
            step: step.number,
            about: about.to_owned(),
            approved,
            policy: decision.name().to_owned(),
            score_permille: score,
            blocked_by: (!judged).then(|| "judge".to_owned()),
            judge_kind: "rules".to_owned(),
            reasons,
        });
        match (judged, decision) {
            (false, _) => self.refuse("judge", "vaglio_judge", None),
            (true, Decision::Deny) => {
                let reason = self.level_refuses();
                self.refuse("policy", "policy_violation", reason);
            }
            (true, Decision::Ask) => self.ask(about, manifest, &doubts),
            (true, Decision::Allow) => self.go_on_after_consent(about == "effects"),
        }
    }

    /// That it is the level that refuses, and what changes it; a capability that nobody knows is refused at every level.
    fn level_refuses(&self) -> Option<String> {
        let is_narrowest = self.autonomy() == Autonomy::ReadOnly;
        is_narrowest.then(|| self.say("refusal.level", &json!({ "autonomy": Autonomy::ReadOnly })))
    }

    /// What whoever asks could do when they asked is not what they may do now.
    pub(super) fn refuse_for_less(&mut self) {
        let reason = self.say("refusal.rights_changed", &json!({}));
        self.refuse("policy", "policy_violation", Some(reason));
    }

    /// What policy decides of a use by these grants, which are noted where they made the question unnecessary. What can do
    /// harm is asked about in spite of them where somebody else named what it is done to.
    pub(super) fn allowed(&self, asked: Use<'_>, grants: &[u64], signs: Signs, used: &mut Vec<u64>) -> Decision {
        let decision = policy::decide(self.autonomy(), asked);
        let is_critical = asked.sends || policy::registered(asked.capability).is_none_or(|known| known.critical);
        let is_doubted = is_critical && signs.untrusted_target;
        let leave = !grants.is_empty() && !is_doubted;
        let by_grants = policy::decide(self.autonomy(), Use { leave, ..asked });
        if by_grants < decision {
            used.extend(grants.iter().filter(|grant| !used.contains(grant)).copied().collect::<Vec<_>>());
        }
        by_grants
    }

    fn ask(&mut self, about: &str, manifest: &Manifest, doubts: &[Doubt]) {
        let Some(step) = self.turn.step().cloned() else { return };
        let patience = self.turn.opened.as_ref().and_then(|opened| opened.patience_s);
        let text = consent::text(&self.context.rules.messages, &self.turn, &step, manifest, about);
        let text = self.told(doubts).into_iter().chain([text]).collect::<Vec<_>>().join("\n");
        self.push(ConsentAsked {
            step: step.number,
            about: about.to_owned(),
            digest: consent::digest(&self.turn, &step, about),
            text: Kept::text(text),
            expires_s: patience.unwrap_or(CONSENT_EXPIRES_S),
        });
    }

    fn is_about_doubt(&self) -> bool {
        self.turn.asked.as_ref().is_some_and(|asked| asked.about == DOUBT)
    }

    /// A person said yes to the question that is open.
    pub(super) fn consented(&mut self, step: u32, digest: String, by: String) {
        let about = self.turn.asked.as_ref().map(|asked| asked.about.clone()).unwrap_or_default();
        self.push(ConsentAnswered { step, digest, by });
        match about.as_str() {
            DOUBT => self.settled_by_person(Some(true)),
            about => self.go_on_after_consent(about == "effects"),
        }
    }

    /// A person said no to it.
    pub(super) fn denied(&mut self, step: u32, digest: String, by: String) {
        let is_doubt = self.is_about_doubt();
        self.push(ConsentDenied { step, digest, by });
        if is_doubt { self.settled_by_person(Some(false)) } else { self.refuse("consent", "consent_denied", None) }
    }

    /// Nobody answered it, or the answer counts no more.
    pub(super) fn expired(&mut self, step: u32, digest: String, why: String) {
        let over = match why.as_str() {
            RIGHTS_CHANGED => Some("consent.rights_changed"),
            EXECUTOR_CHANGED => Some("consent.executor_changed"),
            _ => None,
        };
        let is_doubt = self.is_about_doubt();
        let lacks = why.strip_prefix(CAGE_LACKS).map(str::to_owned);
        self.push(ConsentExpired { step, digest, why });
        if is_doubt {
            self.settled_by_person(None);
        } else if let Some(reason) = lacks {
            self.refuse("gateway", "cage_refused", Some(reason));
        } else if let Some(key) = over {
            let reason = self.say(key, &json!({}));
            self.refuse("consent", "policy_violation", Some(reason));
        } else {
            self.refuse("consent", "consent_expired", None);
        }
    }

    pub(super) fn go_on_after_consent(&mut self, effects: bool) {
        let Some(step) = self.turn.step().cloned() else { return };
        if effects {
            let ops = serde_json::to_value(&*step.ops).expect("planned changes are plain data");
            return self.push(EffectsPlanned { step: step.number, ops: Kept::json(&ops) });
        }
        if forms::is_dialog(&step.tool) {
            return self.ask_of_step(None);
        }
        self.start_call(&step);
    }

    /// Everything is allowed and known: the call begins.
    pub(super) fn start_call(&mut self, step: &Step) {
        // Effects are committed by the core: the call itself only looks, so it may run again.
        let repeatable = self.manifest(&step.tool).is_some_and(|manifest| !manifest.is_critical());
        self.push(InvocationStarted {
            trace_id: trace_id(self.id, step.number),
            step: step.number,
            tool: step.tool.clone(),
            version: step.version.clone(),
            plan_digest: step.plan_digest.clone(),
            repeatable,
        });
    }

    /// What the edge's reason key means, in the turn's language; `key: detail`.
    pub(super) fn trouble(&self, reason: &str, path: &str) -> String {
        trouble(&self.context.rules.messages, self.turn.language, reason, path)
    }

    pub(super) fn failure(&self, step: &Step, class: &str, reason: &str) -> String {
        let args = if step.args.is_null() { &step.proposed } else { &*step.args };
        answer::failure(&self.context.rules.messages, self.turn.language, &step.tool, args, class, reason)
    }

    pub(super) fn push_refusal(&mut self, step: u32, by: &str, class: &str, reason: String) {
        self.push(StepRefused { step, by: by.to_owned(), class: class.to_owned(), reason });
    }

    /// The step that is up may not run: says why and closes. Of an earlier step's work nothing is lost, and that is said.
    pub(super) fn refuse(&mut self, by: &str, class: &str, reason: Option<String>) {
        let Some(step) = self.turn.step().cloned() else { return };
        let args = if step.args.is_null() { &step.proposed } else { &*step.args };
        self.refuse_over(by, class, &reason.unwrap_or_default(), args);
    }

    /// The same, about one of the things that the step names.
    pub(super) fn refuse_about(&mut self, by: &str, class: &str, reason: &str, target: &str) {
        self.refuse_over(by, class, reason, &json!({ "path": target }));
    }

    fn refuse_over(&mut self, by: &str, class: &str, reason: &str, args: &Value) {
        let Some((number, tool)) = self.turn.step().map(|step| (step.number, step.tool.clone())) else { return };
        self.push_refusal(number, by, class, reason.to_owned());
        let Context { rules, .. } = self.context;
        let message = answer::failure(&rules.messages, self.turn.language, &tool, args, class, reason);
        // What a person refused, or was not there to allow, is not tried in another way.
        if self.turn.is_model_planned() && !class.starts_with("consent_") {
            let Some(step) = self.turn.step().cloned() else { return };
            return self.model_step_refused(&step, class, if reason.is_empty() { &message } else { reason });
        }
        let kind = if class == "consent_expired" { "awaiting" } else { "error" };
        self.close(kind, Some(class), message);
    }
}

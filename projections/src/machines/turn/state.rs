//! The state of one turn and how events change it. Total: an event that does not fit changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use metnos_log::event::actor::Granted;
use metnos_log::event::turn::{EffectsCommitted, Lead, PlannedOp, Target, TurnOpened};
use metnos_log::{Event, Micros, TurnId};
use serde_json::Value;

use super::doubts;
use super::forms::{self, Question};
use super::outcome;
use super::talk::Talk;
use super::thinking::METIS;
use super::writers::{DOUBT, UNKNOWN};
use crate::messages::Language;
use crate::plan::{Origin, Plan};
use crate::rules::core_paths;
use crate::rules::references::{self, ReferenceError, Resolved};
use crate::rules::shape;

/// Where a turn stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// No event yet.
    #[default]
    New,
    /// Opened; the planner has not spoken. Only seen between the events of one decision.
    Planning,
    /// A model is asked for the next step; its answer is not there.
    Thinking,
    /// A step is up; the edge is to look up what it names.
    Preparing,
    /// A question about the request is open; the turn is suspended until it is answered, withdrawn or expired.
    Waiting,
    /// A person is asked.
    Asking,
    /// A call's intent is recorded; its outcome is not.
    Calling,
    /// A call ended well. Only seen between the events of one decision.
    Returned,
    /// Changes are planned, not all of them are made.
    Committing,
    /// Over.
    Closed,
}

/// One turn.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// Its id.
    pub id: Option<TurnId>,
    /// How many events its stream has.
    pub version: u64,
    /// When it was opened.
    pub opened_at: Micros,
    /// The sentence and what surrounded it.
    pub opened: Option<TurnOpened>,
    /// The request as it reads with the answers to its questions, once there was one.
    pub said: Option<String>,
    /// How many questions were put: about the request, and by steps.
    pub dialogs: u32,
    /// The executor that the person chose for the request.
    pub only: Option<String>,
    /// The language of its answers.
    pub language: Language,
    /// The plan.
    pub plan: Option<Plan>,
    /// The executors that the pre-filter offers.
    pub candidates: Vec<String>,
    /// The conversation with a model that plans the turn.
    pub talk: Option<Talk>,
    /// What the built-in engine would do, while a model plans.
    pub aside: Option<Plan>,
    /// How often a model was asked.
    pub asks: u32,
    /// How long people were waited for, in µs.
    pub waited_us: i64,
    /// Since when somebody is waited for.
    pub waits_since: Option<Micros>,
    /// The steps so far.
    pub steps: Vec<Step>,
    /// Where it stands.
    pub phase: Phase,
    /// What is being asked, while a person is asked.
    pub asked: Option<Asked>,
    /// How it ended.
    pub final_kind: Option<String>,
    /// By which class.
    pub final_class: Option<String>,
    /// What the person was told; `None` when that lies in a blob that was not fetched.
    pub message: Option<String>,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// `call` or `effects`.
    pub about: String,
    /// What exactly.
    pub digest: String,
    /// The text.
    pub text: String,
    /// Until when an answer is waited for, µs.
    pub until: i64,
}

/// One step of a turn.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// Its number, from 1.
    pub number: u32,
    /// The executor.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// Arguments as proposed.
    pub proposed: Value,
    /// Where these values came from, where no plan says it.
    pub proposed_from: BTreeMap<String, Origin>,
    /// The model's call that it was made of.
    pub call: Option<String>,
    /// The same without references, until they are settled; what makes that impossible.
    pub resolved: Option<Result<Resolved, ReferenceError>>,
    /// Arguments as the executor gets them.
    pub args: Arc<Value>,
    /// What its targets are.
    pub targets: Vec<Target>,
    /// Where its values came from.
    pub provenance: BTreeMap<String, Origin>,
    /// Digest of its cage plan.
    pub plan_digest: String,
    /// The grants that held when it was prepared.
    pub grants: Vec<Granted>,
    /// How strongly earlier turns lead from this one's earlier steps to its executor, in thousandths.
    pub mnest_permille: u16,
    /// Folders that its executor declares for itself and that lie behind a link.
    pub leads: Vec<Lead>,
    /// Whether no cage would hold it.
    pub uncaged: bool,
    /// What the last verdict on it was for.
    pub reasons: Vec<String>,
    /// What a person answered to its questions, in their order.
    pub answers: Vec<Value>,
    /// How often the question that is up was answered with what is no answer.
    pub tries: u32,
    /// Names its call.
    pub trace_id: String,
    /// Of a call that was cut off while it could change something by itself, what is known to have become of it.
    pub settled: Option<String>,
    /// Its result, once it ended.
    pub result: Option<Arc<Value>>,
    /// Whether it ended well.
    pub ok: bool,
    /// The class, when it did not.
    pub class: Option<String>,
    /// What it wants changed.
    pub ops: Arc<[PlannedOp]>,
    /// What became of each change: `None` is done.
    pub committed: BTreeMap<u32, Option<(String, String)>>,
}

impl Turn {
    /// The step that is up.
    pub fn step(&self) -> Option<&Step> {
        self.steps.last()
    }

    /// What digests in events that outlive the request are made under.
    pub fn salt(&self) -> Option<&str> {
        self.opened.as_ref()?.salt.as_deref()
    }

    /// The request as it reads now.
    pub fn text(&self) -> &str {
        let opened = self.opened.as_ref().map(|opened| opened.text.as_str());
        self.said.as_deref().or(opened).unwrap_or_default()
    }

    /// The id of the question that is open.
    pub fn dialog(&self) -> Option<String> {
        let id = self.id.filter(|_| self.phase == Phase::Waiting)?;
        Some(format!("{id}-{}", self.dialogs))
    }

    /// Whether nobody knows what became of the call that is open.
    pub fn is_in_doubt(&self) -> bool {
        self.step().is_some_and(|step| step.settled.as_deref() == Some(UNKNOWN))
    }

    /// Results of the steps that ended well, by number.
    pub fn results(&self) -> BTreeMap<u32, &Value> {
        let ended = self.steps.iter().filter(|step| step.ok);
        ended.filter_map(|step| step.result.as_deref().map(|result| (step.number, result))).collect()
    }

    /// Whether the person's own words name this target: typed itself, or below a folder that was typed in this turn.
    pub fn is_granted(&self, step: &Step, target: &Target) -> bool {
        if self.is_said(step, &target.pointer) {
            return true;
        }
        let earlier = self.steps.iter().flat_map(|step| step.targets.iter().map(move |target| (step, target)));
        let mut folders = earlier.filter(|(step, other)| other.kind == "folder" && self.is_said(step, &other.pointer));
        target.role != "url" && folders.any(|(_, folder)| core_paths::is_within(&target.canonical, &folder.canonical))
    }

    /// Whether what was agreed to in advance covers a question. That is what the sentence asks for: where a model planned,
    /// it changes nothing and sends nothing to anywhere that the person did not name.
    pub fn is_approved_in_advance(&self, asked: &Asked, is_harmless: bool) -> bool {
        let approve = self.opened.as_ref().map_or("none", |opened| opened.approve.as_str());
        // What became of a call is not agreed to but known, and not in advance.
        let covers = asked.about != DOUBT && (approve == "all" || (approve == "reads" && is_harmless));
        let is_named = |step: &Step| {
            let acts = shape::category(&step.tool) == Some(shape::Category::Act);
            let leaves = |target: &Target| matches!(target.role.as_str(), "url" | "host" | "recipient");
            let matters = |target: &&Target| acts || leaves(target);
            let names = !step.targets.is_empty() || !acts;
            names && step.targets.iter().filter(matters).all(|target| self.is_granted(step, target))
        };
        covers && (!self.is_model_planned() || self.step().is_some_and(|step| !step.is_doubted() && is_named(step)))
    }

    /// Whether a target that the person did not name takes in more than one that they did: the folder of a file, a pattern of
    /// names.
    pub(super) fn is_broader_than_said(&self, step: &Step, target: &Target) -> bool {
        if target.role == "url" || self.is_said(step, &target.pointer) {
            return false;
        }
        let of_all = self.steps.iter().flat_map(|step| step.targets.iter().map(move |target| (step, target)));
        let mut said = of_all.filter(|(step, other)| self.is_said(step, &other.pointer)).map(|(_, other)| other);
        target.given.contains(['*', '?', '['])
            || said.any(|other| {
                other.canonical != target.canonical && core_paths::is_within(&other.canonical, &target.canonical)
            })
    }

    /// Whether the person wrote the value at a pointer: in the request, or into a form that a step put.
    pub(super) fn is_said(&self, step: &Step, pointer: &str) -> bool {
        let written = |number: u32, path: &str| {
            let form = self.steps.iter().find(|form| form.number == number);
            form.is_some_and(|form| forms::is_written(&form.tool, &form.args, path))
        };
        let origin = step.origin(pointer);
        step.is_typed(pointer) || matches!(origin, Some(Origin::Step { step, path }) if written(*step, path))
    }

    /// The question of the step that is up, while the turn waits for its answer.
    pub fn asking(&self) -> Option<Question> {
        let step = self.step().filter(|_| self.phase == Phase::Waiting)?;
        let which = forms::choice(step).map(|(_, question)| question);
        which.or_else(|| forms::question(&step.tool, &step.args, step.answers.len()))
    }

    /// Takes one event of this turn in.
    pub fn apply(&mut self, id: TurnId, time: Micros, event: &Event) {
        if super::stream_of(id, event) != super::stream(id) {
            return; // It happened in this turn, but belongs to another stream.
        }
        self.version += 1;
        self.clock(time, event);
        #[expect(clippy::wildcard_enum_match_arm, reason = "the rest concerns the step that is up, or nothing here")]
        match event {
            Event::TurnOpened(opened) => {
                self.id = Some(id);
                self.opened_at = time;
                self.opened = Some(opened.clone());
                self.phase = Phase::Planning;
            }
            Event::CandidatesRanked(_) | Event::PlanProposed(_) => self.apply_plan(event),
            Event::StepProposed(proposed) => {
                let args = proposed.args.value().unwrap_or(Value::Null);
                let resolved = references::resolve(&args, &self.results());
                self.steps.push(Step {
                    number: proposed.step,
                    tool: proposed.tool.clone(),
                    proposed: args,
                    proposed_from: origins(proposed.provenance.as_ref().map(|from| &from.0)),
                    call: proposed.call.clone(),
                    resolved: Some(resolved),
                    ..Step::default()
                });
                self.phase = Phase::Preparing;
            }
            Event::TurnSuspended(suspended) => {
                self.dialogs += 1;
                self.message = suspended.message.get().map(str::to_owned);
                self.phase = Phase::Waiting;
            }
            Event::TurnResumed(resumed) => {
                self.message = None;
                let Some(step) = self.steps.last_mut() else {
                    self.said.clone_from(&resumed.text);
                    self.only.clone_from(&resumed.only);
                    self.phase = Phase::Planning;
                    return;
                };
                step.tries += 1;
                if let Some(taken) = &resumed.taken {
                    step.answers.push(taken.0.get("value").cloned().unwrap_or_default());
                    step.tries = 0;
                }
                self.phase = Phase::Preparing;
            }
            Event::ConsentAsked(asked) => {
                let text = asked.text.get().unwrap_or_default().to_owned();
                let until = time.0.saturating_add(i64::from(asked.expires_s) * 1_000_000);
                self.asked = Some(Asked { about: asked.about.clone(), digest: asked.digest.clone(), text, until });
                self.phase = Phase::Asking;
            }
            // An expired question stays at hand: the person is told what was asked.
            Event::ConsentGiven(_) | Event::ConsentDenied(_) => self.asked = None,
            Event::TurnClosed(closed) => {
                self.final_kind = Some(closed.final_kind.clone());
                self.final_class.clone_from(&closed.class);
                self.message = closed.message.get().map(str::to_owned);
                self.phase = Phase::Closed;
            }
            Event::ModelAsked(_)
            | Event::ModelAnswered(_)
            | Event::ModelFailed(_)
            | Event::ObservationKept(_)
            | Event::StepRemediated(_) => self.apply_to_talk(event),
            other => self.apply_to_step(other),
        }
    }

    fn apply_plan(&mut self, event: &Event) {
        if let Event::CandidatesRanked(ranked) = event {
            self.candidates = ranked.tools.iter().map(|(tool, _)| tool.clone()).collect();
        }
        if let Event::PlanProposed(proposed) = event {
            self.language = Language::parse(&proposed.language).unwrap_or_default();
            let is_model = proposed.engine == METIS;
            self.aside = if is_model { self.plan.take() } else { None };
            self.talk = is_model.then(Talk::default);
            self.plan = proposed.plan.value().and_then(|plan| serde_json::from_value(plan).ok());
        }
    }

    /// How long people are waited for.
    fn clock(&mut self, time: Micros, event: &Event) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "nobody is waited for in between")]
        match event {
            Event::ConsentAsked(_) | Event::TurnSuspended(_) => self.waits_since = Some(time),
            Event::ConsentGiven(_) | Event::ConsentDenied(_) | Event::ConsentExpired(_) | Event::TurnResumed(_) => {
                let since = self.waits_since.take().unwrap_or(time);
                self.waited_us += time.0.saturating_sub(since.0).max(0);
            }
            _ => {}
        }
    }

    fn apply_to_talk(&mut self, event: &Event) {
        let Some(talk) = self.talk.as_mut() else { return };
        self.phase = Phase::Planning;
        #[expect(clippy::wildcard_enum_match_arm, reason = "the caller picks these")]
        match event {
            Event::ModelAsked(asked) => {
                talk.ask(asked);
                self.asks = asked.ask;
                self.phase = Phase::Thinking;
            }
            Event::ModelAnswered(answered) => talk.hear(answered),
            Event::ModelFailed(failed) => talk.miss(failed),
            Event::ObservationKept(kept) => talk.observe(kept),
            Event::StepRemediated(remedied) => talk.remedy = Some(remedied.clone()),
            _ => {}
        }
    }

    fn apply_to_step(&mut self, event: &Event) {
        let Some(step) = self.steps.last_mut() else { return };
        #[expect(clippy::wildcard_enum_match_arm, reason = "refusals change no state: the closing follows")]
        match event {
            Event::ArgumentsResolved(resolved) => {
                step.resolved = None;
                step.args = resolved.args.shared().unwrap_or_default();
                step.targets.clone_from(&resolved.targets);
                step.provenance = serde_json::from_value(resolved.provenance.0.clone()).unwrap_or_default();
                step.version.clone_from(&resolved.version);
                step.plan_digest.clone_from(&resolved.plan_digest);
                step.grants.clone_from(&resolved.grants);
                step.mnest_permille = resolved.mnest_permille.unwrap_or_default();
                step.leads.clone_from(&resolved.leads);
                step.uncaged = resolved.uncaged;
            }
            Event::VerdictGiven(verdict) => step.reasons.clone_from(&verdict.reasons),
            Event::InvocationStarted(started) => {
                step.trace_id.clone_from(&started.trace_id);
                self.phase = Phase::Calling;
            }
            Event::InvocationInDoubt(_) => step.settled = Some(UNKNOWN.to_owned()),
            Event::InvocationSettled(settled) => {
                step.settled = Some(settled.outcome.clone());
                self.phase = Phase::Calling;
            }
            Event::InvocationFinished(finished) => {
                step.result = finished.result.shared();
                step.class.clone_from(&finished.class);
                step.ops = finished.wanted().into();
                step.ok = finished.ok && step.ops.is_empty();
                if step.ok && step.result.as_ref().is_some_and(|result| result.get("effects").is_some()) {
                    outcome::complete(step); // It acts, and there was nothing to do.
                }
                self.phase = Phase::Returned;
            }
            Event::EffectsPlanned(_) => {
                // What is known to be impossible is not tried; the rest goes on without it.
                for (index, op) in (0..).zip(step.ops.iter()) {
                    if op.trouble.is_some() {
                        step.committed.insert(index, op.trouble.clone());
                    }
                }
                self.phase = Phase::Committing;
            }
            Event::EffectCommitted(committed) => {
                step.committed.insert(committed.index, committed.failure.clone());
                self.phase = step.settled();
            }
            Event::EffectsCommitted(committed) => {
                step.take(committed);
                self.phase = step.settled();
            }
            Event::TurnCancelled(_) if self.phase == Phase::Committing => {
                // What was not made any more counts as failed; the step itself did not end well.
                outcome::complete(step);
                step.ok = false;
            }
            _ => {}
        }
    }
}

/// Origins by pointer, as an event carries them.
fn origins(from: Option<&Value>) -> BTreeMap<String, Origin> {
    from.and_then(|from| serde_json::from_value(from.clone()).ok()).unwrap_or_default()
}

impl Step {
    /// Whether the value at a pointer came from the person's words or from configuration.
    pub fn is_typed(&self, pointer: &str) -> bool {
        matches!(self.origin(pointer), Some(Origin::Words { .. } | Origin::Configuration))
    }

    /// Where the value at a pointer came from: its own origin, or that of the nearest value that holds it.
    pub fn origin(&self, pointer: &str) -> Option<&Origin> {
        let is_above = |at: &str| pointer.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let above = self.provenance.iter().filter(|(at, _)| is_above(at));
        above.max_by_key(|(at, _)| at.len()).map(|(_, origin)| origin)
    }

    /// Whether the last verdict on it had doubts about where something came from.
    fn is_doubted(&self) -> bool {
        self.reasons.iter().any(|reason| reason.starts_with(doubts::REASON))
    }

    /// Whether every planned change was made.
    pub fn all_committed(&self) -> bool {
        self.committed.len() == self.ops.len() && self.committed.values().all(Option::is_none)
    }

    fn take(&mut self, committed: &EffectsCommitted) {
        for &(first, end) in committed.done.iter().chain(&committed.found_done) {
            self.committed.extend((first..end).map(|index| (index, None)));
        }
        for (index, class, reason) in &committed.failed {
            self.committed.insert(*index, Some((class.clone(), reason.clone())));
        }
    }

    /// The phase after an outcome; once all outcomes are there, the result is completed from them.
    fn settled(&mut self) -> Phase {
        if self.committed.len() < self.ops.len() {
            return Phase::Committing;
        }
        outcome::complete(self);
        Phase::Returned
    }
}

//! What a command leads to. Pure: everything that the world said is in the command.

use std::collections::BTreeMap;
use std::sync::Arc;

use metnos_log::canonical::{self, Json};
use metnos_log::event::dialog::{DialogAnswered, DialogExpired, DialogWithdrawn};
use metnos_log::event::turn::{
    ArgumentsResolved, CandidatesRanked, PlanProposed, StepProposed, Target, TurnClosed, TurnOpened,
};
use metnos_log::{Event, Kept, Micros, TurnId};
use serde_json::{Value, json};

use super::absent;
use super::command::{Command, Prepared};
use super::forms;
use super::given::COMMAND;
use super::react::with_targets;
use super::state::{Phase, Step, Turn};
use super::thinking::METIS;
use super::writers;
use crate::machines::catalog::Catalog;
use crate::manifest::{Manifest, Role};
use crate::messages::{Language, Messages};
use crate::plan::{AbstentionKind, Origin, Plan};
use crate::rules::cage_plan::{self, Autonomy};
use crate::rules::grants::{self, Leave};
use crate::rules::policy::{self, Decision, Use};
use crate::rules::simple::answer::{self, StepResult};
use crate::rules::simple::{self, Facts, Proposal, Tools};
use crate::rules::{Rules, shape};

/// Why a yes agrees to nothing: whoever gave it may do less than when they were asked.
pub const RIGHTS_CHANGED: &str = "rights";
/// How it begins where nobody was asked, since this machine's cage is not enough for the call; what it lacks follows.
pub const CAGE_LACKS: &str = "cage: ";
/// Why a yes agrees to nothing, too: what was asked about is not called any more, or another version of it is.
pub const EXECUTOR_CHANGED: &str = "executor";
/// The most steps of a turn (design 5-turn, «Caps and guards»).
pub const STEPS_MAX: usize = 30;
/// The most calls of one executor in a turn.
pub const CALLS_MAX: usize = 10;
/// The same of one that takes many targets at once.
pub const VECTORIAL_CALLS_MAX: usize = 2;

/// What decisions are made with.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Rules and their data.
    pub rules: &'a Rules,
    /// Which executors there are.
    pub catalog: &'a Catalog,
    /// The same, indexed for the planner.
    pub tools: &'a Tools,
    /// When the command arrived.
    pub time: Micros,
}

/// A command that does not fit where the turn stands. Never a decision about the request: those are events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// It arrived at the wrong moment.
    #[error("«{command}» does not fit a turn that is {phase:?}")]
    OutOfPlace {
        /// The command.
        command: &'static str,
        /// Where the turn stands.
        phase: Phase,
    },
    /// It answers a question that is not being asked.
    #[error("the answer is to another question than the one that is open")]
    OtherQuestion,
}

/// Events that a command leads to, in order.
pub fn decide(turn: &Turn, id: TurnId, context: Context<'_>, command: Command) -> Result<Vec<Event>, Rejection> {
    decide_and_apply(turn, id, context, command).map(|(events, _)| events)
}

/// The same, and the turn with these events taken in.
pub fn decide_and_apply(
    turn: &Turn,
    id: TurnId,
    context: Context<'_>,
    command: Command,
) -> Result<(Vec<Event>, Turn), Rejection> {
    let name = command.name();
    let mut decider = Decider { turn: turn.clone(), id, context, out: Vec::new() };
    match (turn.phase, command) {
        (Phase::New, Command::Open(opened)) => decider.open(*opened),
        (Phase::Preparing, Command::Prepared(prepared)) => decider.prepared(prepared),
        (Phase::Asking, Command::Consent { step, digest, by }) => {
            decider.answers(&digest)?;
            decider.consented(step, digest, by);
        }
        (Phase::Asking, Command::Deny { step, digest, by }) => {
            decider.answers(&digest)?;
            decider.denied(step, digest, by);
        }
        (Phase::Asking, Command::Expire { step, digest, why }) => {
            decider.answers(&digest)?;
            decider.expired(step, digest, why);
        }
        (Phase::Calling, Command::Returned(finished)) => decider.returned(*finished),
        (Phase::Calling, Command::Doubt) => decider.doubted(),
        (Phase::Calling, Command::Settle { outcome }) if turn.is_in_doubt() => decider.settled(&outcome),
        (Phase::Committing, Command::Effect(committed)) => decider.committed(committed),
        (Phase::Committing, Command::Effects(committed)) => decider.committed(committed),
        (Phase::Waiting, Command::Answer { dialog, answer, channel, existing }) => {
            decider.is_open(&dialog)?;
            decider.push(DialogAnswered { dialog, answer: answer.clone(), channel, existing: existing.clone() });
            decider.answered(&answer, &existing);
        }
        (Phase::Waiting, Command::Lapse { dialog }) => {
            decider.is_open(&dialog)?;
            decider.push(DialogExpired { dialog });
            decider.close_question();
        }
        (Phase::Waiting, Command::Withdraw { dialog, by }) => {
            decider.is_open(&dialog)?;
            decider.push(DialogWithdrawn { dialog, by });
            decider.close_question();
        }
        (Phase::Thinking, Command::Thought(answered)) => {
            decider.is_asked(answered.ask)?;
            decider.thought(*answered);
        }
        (Phase::Thinking, Command::Unanswered(failed)) => {
            decider.is_asked(failed.ask)?;
            decider.unanswered(*failed);
        }
        (
            // A log that was salvaged may end between the events of one decision.
            Phase::Planning
            | Phase::Returned
            | Phase::Preparing
            | Phase::Asking
            | Phase::Calling
            | Phase::Committing
            | Phase::Thinking,
            Command::Cancel { by },
        ) => decider.cancelled(by),
        (phase, _) => return Err(Rejection::OutOfPlace { command: name, phase }),
    }
    Ok((decider.out, decider.turn))
}

/// One decision in the making.
pub(super) struct Decider<'a> {
    pub(super) turn: Turn,
    pub(super) id: TurnId,
    pub(super) context: Context<'a>,
    out: Vec<Event>,
}

impl Decider<'_> {
    pub(super) fn push(&mut self, event: impl Into<Event>) {
        let event = event.into();
        self.turn.apply(self.id, self.context.time, &event);
        self.out.push(event);
    }

    pub(super) fn say(&self, key: &str, values: &Value) -> String {
        self.context.rules.messages.say(self.turn.language, key, values)
    }

    fn answers(&self, digest: &str) -> Result<(), Rejection> {
        let asked = self.turn.asked.as_ref().is_some_and(|asked| asked.digest == digest);
        if asked { Ok(()) } else { Err(Rejection::OtherQuestion) }
    }

    fn is_asked(&self, ask: u32) -> Result<(), Rejection> {
        let asked = self.turn.talk.as_ref().and_then(|talk| talk.asked.as_ref());
        if asked.is_some_and(|(number, _)| *number == ask) { Ok(()) } else { Err(Rejection::OtherQuestion) }
    }

    fn open(&mut self, opened: TurnOpened) {
        if opened.given.is_some() {
            return self.open_given(opened);
        }
        let language = opened.language.as_deref().and_then(Language::parse);
        let proposal = self.planned(&opened, &opened.text, &opened.existing, language, None);
        self.push(opened);
        self.follow(&proposal);
    }

    /// What the planner proposes for a text; by this executor alone, where the person chose one.
    pub(super) fn planned(
        &self,
        opened: &TurnOpened,
        text: &str,
        existing: &[(u32, u32)],
        language: Option<Language>,
        only: Option<&str>,
    ) -> Proposal {
        let facts = Facts {
            now_us: self.context.time.0,
            zone: &opened.zone,
            home: &opened.home,
            cwd: &opened.folder,
            language,
            fallback: Language::parse(&opened.fallback_language).unwrap_or_default(),
            existing,
        };
        let Context { rules, tools, .. } = self.context;
        let by = |tools: &Tools| match only {
            Some(only) => simple::propose_only(&rules.lexicons, tools, &rules.messages, &facts, text, only),
            None => simple::propose(&rules.lexicons, tools, &rules.messages, &facts, text),
        };
        self.for_want_of_disabled(by(tools), by)
    }

    /// Records a proposal and begins it, or says why there is nothing to begin.
    pub(super) fn follow(&mut self, proposal: &Proposal) {
        self.push(CandidatesRanked {
            tools: proposal.candidates.iter().map(|candidate| (candidate.tool.clone(), candidate.score)).collect(),
            k: proposal.k,
            confidence_permille: proposal.confidence_permille,
            catalog_digest: self.context.tools.catalog_digest().to_owned(),
        });
        let plan = serde_json::to_value(&proposal.plan).expect("a plan is plain data");
        self.push(PlanProposed {
            source: "L3".to_owned(),
            engine: proposal.plan.engine.clone(),
            language: proposal.language.code().to_owned(),
            plan: Kept::json(&plan),
        });
        if self.is_for_model(proposal) {
            return self.begin_thinking();
        }
        match &proposal.plan.abstention {
            Some(abstention) if abstention.kind == AbstentionKind::Ask => self.question(abstention),
            Some(abstention) => {
                let mut message = abstention.message.clone();
                if self.turn.opened.as_ref().is_some_and(|opened| opened.engine == METIS && opened.proposer.is_none()) {
                    message = format!("{message}\n{}", self.say("model.none_bound", &json!({})));
                }
                self.close("error", Some("not_applicable"), message);
            }
            None => self.begin(&proposal.plan),
        }
    }

    /// The first step of a plan that holds together.
    pub(super) fn begin(&mut self, plan: &Plan) {
        match self.fault_of(plan) {
            None => self.propose(1),
            Some((step, by, class)) => {
                self.push_refusal(step, by, class, String::new());
                let off = self.switched_off(plan, step);
                let message = off.unwrap_or_else(|| self.say("refusal.plan", &json!({ "class": class })));
                self.close("error", Some(class), message);
            }
        }
    }

    /// The validator: names, shape and caps of the whole plan, before anything runs.
    fn fault_of(&self, plan: &Plan) -> Option<(u32, &'static str, &'static str)> {
        if plan.steps.is_empty() {
            return Some((0, "shape", "not_applicable"));
        }
        if plan.steps.len() > STEPS_MAX {
            return Some((0, "cap", "budget_exceeded"));
        }
        let mut state = shape::State::Start;
        let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, step) in (1..).zip(&plan.steps) {
            let Some((name, _, version)) = self.context.catalog.active(&step.tool) else {
                return Some((number, "gateway", "tool_unknown"));
            };
            state = match shape::next(state, name, &step.args) {
                Ok(state) => state,
                // Nothing went before it that could have brought more: what it lacks is for its schema to say.
                Err(shape::Violation::NeedsDataSource | shape::Violation::NeedsActionTarget)
                    if number == 1 && plan.engine == COMMAND =>
                {
                    shape::after(name)
                }
                Err(violation) => return Some((number, "shape", violation.class())),
            };
            let vectorial = version.manifest().is_some_and(|manifest| manifest.contract.vectorial);
            let count = calls.entry(&step.tool).or_default();
            *count += 1;
            if *count > if vectorial { VECTORIAL_CALLS_MAX } else { CALLS_MAX } {
                return Some((number, "cap", "budget_exceeded"));
            }
        }
        None
    }

    pub(super) fn propose(&mut self, number: u32) {
        let planned = self.turn.plan.as_ref().and_then(|plan| plan.steps.get(number as usize - 1));
        match planned.cloned() {
            Some(planned) => {
                let (tool, args) = (planned.tool, Kept::json(&planned.args));
                self.push(StepProposed { step: number, tool, args, provenance: None, call: None });
                self.refuse_unresolved();
            }
            None => self.answer(),
        }
    }

    /// References that cannot be replaced are refused at once: nothing is looked up for such a step, so no fact would lead on
    /// from it.
    pub(super) fn refuse_unresolved(&mut self) {
        let resolved = self.turn.step().and_then(|step| step.resolved.clone());
        if let Some(Err(error)) = resolved {
            self.refuse("reference", "invalid_args", Some(error.to_string()));
        }
    }

    fn prepared(&mut self, prepared: Prepared) {
        let Some(step) = self.turn.step().cloned() else { return };
        let Some(Ok(resolved)) = step.resolved.clone() else { return };
        let args = with_targets(resolved.args, &prepared.targets);
        let mut origins = self.planned_origins(step.number);
        origins.extend(resolved.origins);
        self.push(ArgumentsResolved {
            step: step.number,
            args: Kept::json_of(args),
            targets: prepared.targets.clone(),
            provenance: Json(serde_json::to_value(&origins).expect("origins are plain data")),
            version: prepared.version,
            checks: prepared.checks.clone(),
            plan_digest: prepared.plan_digest,
            grants: prepared.grants,
            mnest_permille: prepared.mnest_permille,
            leads: prepared.leads,
            uncaged: prepared.uncaged,
            may_do_less: prepared.may_do_less,
        });
        if prepared.may_do_less {
            return self.refuse_for_less();
        }
        if self.names_what_is_outside(&prepared.targets) {
            return;
        }
        // The guard speaks first: whether something forbidden exists is not told either.
        let looked_up = prepared.targets.iter().filter(|target| {
            // A pattern of new names is judged by the changes that it leads to.
            let is_pattern = target.canonical.starts_with("{dir}/");
            matches!(target.role.as_str(), "path" | "target_path") && target.trouble.is_none() && !is_pattern
        });
        if self.is_beyond_judgement("call", &step, looked_up.map(|target| target.canonical.as_str())) {
            return;
        }
        let paths = guarded_paths(&prepared.targets);
        let manifest = self.manifest(&step.tool);
        if let Some((rule, reason)) = self.guard_call(&step.tool, manifest.as_ref(), paths) {
            return self.block("call", &step, rule, reason);
        }
        // What is named to be changed is held to the rules about changes at once, as given and as it resolves.
        let changed: Vec<String> = prepared
            .targets
            .iter()
            .filter(|target| target.role == "target_path")
            .flat_map(|target| [target.canonical.clone(), target.given.clone()])
            .collect();
        if let Some((rule, reason)) = self.guard("effects", &step.tool, &changed) {
            return self.block("call", &step, rule, reason);
        }
        let planned = self.turn.plan.as_ref().map(|plan| plan.steps.as_slice()).unwrap_or_default();
        let later = planned.get(step.number as usize..).unwrap_or_default();
        let mut fatal =
            prepared.targets.iter().filter(|target| !absent::is_spared(target, &prepared.targets, &step.tool, later));
        let troubled = fatal.find_map(|target| Some((target, target.trouble.as_ref()?)));
        if let Some((target, (class, key))) = troubled {
            let reason = self.trouble(key, &target.canonical);
            return self.refuse_about("gateway", class, &reason, &target.canonical);
        }
        let check = prepared.checks.iter().find_map(|check| {
            let by = if check.step == "validate_input" { "schema" } else { "gateway" };
            check.failure.clone().map(|why| (by, why))
        });
        if let Some((by, (class, reason))) = check {
            return self.refuse(by, &class, Some(reason));
        }
        if let Some((class, key)) = self.unsound_source(&step.tool, &origins) {
            let reason = self.say(&format!("trouble.{key}"), &json!({ "path": "", "detail": "" }));
            return self.refuse("reference", class, Some(reason));
        }
        if let Some(reason) = manifest.and_then(|manifest| self.unlisted_program(&manifest)) {
            return self.refuse("policy", "policy_violation", Some(reason));
        }
        self.judge_call();
    }

    /// Why what an earlier step read may not be stored or sent: it is not the whole, or not what was there.
    fn unsound_source(&self, tool: &str, origins: &BTreeMap<String, Origin>) -> Option<(&'static str, &'static str)> {
        if shape::category(tool) != Some(shape::Category::Act) {
            return None;
        }
        let results = self.turn.results();
        origins.values().find_map(|origin| {
            let Origin::Step { step, path } = origin else { return None };
            let metadata = results.get(step)?.get("metadata")?;
            let says = |name: &str| path == "content" && metadata.get(name) == Some(&Value::Bool(true));
            match () {
                () if says("binary") => Some(("wrong_type", "source_binary")),
                () if says("truncated") => Some(("too_large", "source_cut")),
                () if says("lossy") => Some(("unparseable", "source_lossy")),
                () => None,
            }
        })
    }

    fn planned_origins(&self, number: u32) -> BTreeMap<String, Origin> {
        let planned = self.turn.plan.as_ref().and_then(|plan| plan.steps.get(number as usize - 1));
        let by_model = self.turn.step().map(|step| step.proposed_from.clone()).unwrap_or_default();
        planned.map_or(by_model, |planned| planned.provenance.clone())
    }

    pub(super) fn manifest(&self, tool: &str) -> Option<Manifest> {
        self.context.catalog.active(tool).and_then(|(_, _, version)| version.manifest())
    }

    pub(super) fn autonomy(&self) -> Autonomy {
        let name = self.turn.opened.as_ref().map(|opened| opened.autonomy.clone()).unwrap_or_default();
        serde_json::from_value(Value::String(name)).unwrap_or(Autonomy::ReadOnly)
    }

    /// Policy and judge over a call that the guard let pass; then the call, a question or a refusal.
    fn judge_call(&mut self) {
        let Some(step) = self.turn.step().cloned() else { return };
        let Some(manifest) = self.manifest(&step.tool) else { return self.refuse("gateway", "tool_unknown", None) };
        if self.uses_what_is_not_for_guests(&manifest) {
            return;
        }
        let signs = self.signs(&step, &manifest);
        let leave = Leave { grants: &step.grants, time: self.context.time };
        let own_hosts = cage_plan::own_hosts(&manifest);
        let home = self.turn.opened.as_ref().map_or("", |opened| opened.home.as_str());
        let mut used = Vec::new();
        let mut decision = Decision::Allow;
        for capability in manifest.capabilities.iter().filter(|capability| capability.name != policy::CHANNEL) {
            let concerned = |target: &&Target| {
                let argument = target.pointer.split('/').nth(1).unwrap_or_default();
                capability.from_args.iter().any(|name| name == argument)
            };
            let mut targets = step.targets.iter().filter(concerned);
            let granted = match capability.name.as_str() {
                // The person's own words ask for a look at the machine or at the record; no argument could name it.
                "system:read" | "metnos:read" if capability.from_args.is_empty() => signs.named || step.is_typed(""),
                // What no argument names, the person's words did not name either.
                _ if capability.from_args.is_empty() => false,
                _ => targets.all(|target| self.turn.is_granted(&step, target)),
            };
            let grants = match capability.name.as_str() {
                name if capability.from_args.is_empty() && grants::kind(name) == grants::Kind::Host => {
                    leave.hosts(name, &own_hosts)
                }
                name if capability.from_args.is_empty() && grants::kind(name) == grants::Kind::Path => {
                    let folders = cage_plan::own_folders(capability, home, &step.leads);
                    leave.paths(name, folders.iter().map(String::as_str))
                }
                name if capability.from_args.is_empty() => leave.whole(name),
                // It gets more than the file that it was given: a grant of the file does not cover that.
                "fs:write" => leave.paths("fs:write", writers::folders(capability, &step.targets)),
                name => leave.targets(name, step.targets.iter().filter(concerned)),
            };
            // What changes files by itself acts, whatever it says of itself.
            let acts = manifest.contract.side_effects || manifest.writes_by_itself().next().is_some();
            // What acts over the network sends there: that an address was typed asks for a look at it and no more. For who
            // only looks the cage lets it look and no more.
            let acts_there = acts && grants::kind(&capability.name) == grants::Kind::Host;
            let granted = granted && !acts_there;
            let sends = acts_there && self.autonomy() > Autonomy::ReadOnly;
            let unrepeatable_act = acts
                && !manifest.contract.idempotent
                && (acts_there || policy::registered(&capability.name).is_some_and(|known| known.critical));
            let own = capability.name == "metnos:write" && self.is_about_own_reminders(&step.tool);
            let name = &capability.name;
            let asked = Use { capability: name, granted, unrepeatable_act, own, sends, ..Use::default() };
            decision = decision.max(self.allowed(asked, &grants, signs, &mut used));
        }
        self.rule_on("call", (&step, &manifest), decision, signs, &used);
    }

    fn answer(&mut self) {
        let Some(plan) = self.turn.plan.clone() else { return };
        let results: Vec<StepResult> = self
            .turn
            .steps
            .iter()
            // What was asked back about was done once more, with the answer.
            .filter(|step| forms::choice(step).is_none())
            .map(|step| {
                let mut result = step.result.clone().unwrap_or_default();
                self.word(&mut result);
                let (tool, args) = (step.tool.clone(), Arc::clone(&step.args));
                StepResult { tool, args, result, is_counted: !step.ops.is_empty() }
            })
            .collect();
        let Context { rules, tools, .. } = self.context;
        let message = answer::compose(&rules.messages, tools, self.turn.language, &plan, &results);
        // Of what was done in part, the class of the first failure is on record.
        let class = self.turn.steps.last().and_then(|step| step.class.clone());
        self.close("answer", class.as_deref(), message);
    }

    pub(super) fn close(&mut self, kind: &str, class: Option<&str>, message: String) {
        for passing in self.passings() {
            self.push(passing);
        }
        let ended =
            |ok: bool| self.turn.steps.iter().filter(|step| step.result.is_some() && step.ok == ok).count() as u64;
        let changes: u64 = self
            .turn
            .steps
            .iter()
            .map(|step| step.committed.values().filter(|failed| failed.is_none()).count() as u64)
            .sum();
        let counts = [("calls_ok", ended(true)), ("calls_failed", ended(false)), ("changes", changes)];
        self.push(TurnClosed {
            final_kind: kind.to_owned(),
            class: class.map(str::to_owned),
            message: Kept::text(message),
            counts: counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect(),
        });
    }
}

/// The name of a call: derived, so that replay computes the same.
pub(super) fn trace_id(turn: TurnId, step: u32) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("metnos trace id v1");
    hasher.update(&turn.0).update(&step.to_le_bytes());
    hasher.finalize().to_hex()[..26].to_owned()
}

/// What a reason of the edge says: a key of `[trouble]`, with a detail after a colon where there is one.
pub fn trouble(messages: &Messages, language: Language, reason: &str, path: &str) -> String {
    let (key, detail) = reason.split_once(": ").unwrap_or((reason, ""));
    messages.say(language, &format!("trouble.{key}"), json!({ "path": path, "detail": detail }))
}

/// What the guard looks at among the targets.
fn guarded_paths(targets: &[Target]) -> Vec<String> {
    targets.iter().filter(|target| target.role != "url").map(|target| target.canonical.clone()).collect()
}

/// The role's name in a target fact.
pub fn role_name(role: Role) -> &'static str {
    match role {
        Role::TargetPath => "target_path",
        Role::Url => "url",
        Role::Host => "host",
        Role::Recipient => "recipient",
        Role::Id => "id",
        Role::Path
        | Role::Pattern
        | Role::Content
        | Role::Command
        | Role::Entries
        | Role::Text
        | Role::Field
        | Role::Count
        | Role::Size
        | Role::Time
        | Role::Timezone
        | Role::Option => "path",
    }
}

/// The canonical text of what a consent binds.
pub(super) fn bound(step: &Step, about: &str) -> String {
    let ops = if about == "effects" { serde_json::to_value(&*step.ops).unwrap_or(Value::Null) } else { Value::Null };
    let mut bound = json!({
        "tool": step.tool, "version": step.version, "args": *step.args, "effects": ops, "plan": step.plan_digest, "about": about,
    });
    if !step.leads.is_empty() {
        bound["leads"] = serde_json::to_value(&step.leads).unwrap_or(Value::Null);
    }
    if step.uncaged {
        bound["uncaged"] = true.into();
    }
    canonical::to_string(&bound)
}

//! A turn that a model plans, step by step: when it gets the request, what it is asked, what becomes of its answers.
//!
//! Pure. Everything that a model says goes the way of any plan: shape, references, schema, policy, vaglio, consent.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use metnos_log::Kept;
use metnos_log::canonical::{self, Json};
use metnos_log::event::model::{AnswerCorrected, ModelAnswered, ModelAsked, ModelFailed, ObservationKept, Proposer};
use metnos_log::event::turn::{PlanProposed, TurnOpened};
use serde_json::{Value, json};

use super::decide::Decider;
use super::forms;
use super::state::{Phase, Turn};
use crate::plan::{Abstention, AbstentionKind, AnswerSpec, Plan};
use crate::rules::proposer::{Choice, Message, Request, claims, observation, offer, wire};
use crate::rules::shape::{self, Category};
use crate::rules::simple::Proposal;

/// The engine's name.
pub const METIS: &str = "metis";
/// The confidence from which a plan that only reads is not given to a model.
const SURE_PERMILLE: u16 = 900;
/// The most that a model is asked in one turn: the steps, and what it gets wrong between them.
const ASKS_MAX: u32 = 40;
/// What rules, tools and the request take of a model's room, in tokens.
const AROUND_TOKENS: u64 = 3000;
/// How often running a model may say what is no proper call or answer.
const FAULTS_MAX: u32 = 3;

impl Turn {
    /// The model that may plan this turn.
    pub fn proposer(&self) -> Option<&Proposer> {
        self.opened.as_ref()?.proposer.as_ref()
    }

    /// Whether a model plans it now.
    pub fn is_model_planned(&self) -> bool {
        self.talk.is_some()
    }
}

impl Decider<'_> {
    /// Whether a request is a model's to plan: one is bound, and the built-in engine is not sure enough of its own plan.
    pub(super) fn is_for_model(&self, proposal: &Proposal) -> bool {
        let Some(opened) = self.turn.opened.as_ref() else { return false };
        let Some(proposer) = opened.proposer.as_ref().filter(|_| opened.engine != "simple") else { return false };
        let plan = &proposal.plan;
        // Nothing to plan was said at all: no words, too many, no executors.
        if plan.abstention.is_some() && proposal.k == 0 {
            return false;
        }
        let acts = plan.steps.iter().any(|step| shape::category(&step.tool) == Some(Category::Act));
        let is_sure = plan.abstention.is_none() && plan.confidence_permille >= SURE_PERMILLE;
        let simple_may = is_sure && (!acts || opened.engine == "auto");
        !(proposer.simple_first && simple_may)
    }

    /// The model gets the request; what the built-in engine would do is kept for when it fails.
    pub(super) fn begin_thinking(&mut self) {
        let plan = Plan {
            engine: METIS.to_owned(),
            confidence_permille: 0,
            steps: Vec::new(),
            answer: AnswerSpec::Result,
            abstention: None,
        };
        self.push_plan(&plan);
        self.ask_model();
    }

    pub(super) fn push_plan(&mut self, plan: &Plan) {
        self.push(PlanProposed {
            source: "L3".to_owned(),
            engine: plan.engine.clone(),
            language: self.turn.language.code().to_owned(),
            plan: Kept::json(&serde_json::to_value(plan).expect("a plan is plain data")),
        });
    }

    /// Asks for the next step, unless the turn has had enough of it.
    fn ask_model(&mut self) {
        let (Some(opened), Some(proposer)) = (self.turn.opened.clone(), self.turn.proposer().cloned()) else { return };
        let Some(talk) = self.turn.talk.as_ref() else { return };
        if self.is_late(&proposer) {
            let message = self.say("model.late", &json!({ "seconds": proposer.turn_timeout_s }));
            return self.close("error", Some("timeout"), message);
        }
        if talk.asks >= ASKS_MAX {
            let message = self.say("model.cap_steps", &json!({ "most": ASKS_MAX }));
            return self.close("cap_steps", Some("budget_exceeded"), message);
        }
        let (request, template) = self.request(&opened, &proposer);
        let offered: Vec<Value> =
            request.tools.iter().map(|tool| json!([tool.name, tool.description, tool.schema])).collect();
        let tools = blake3::hash(canonical::to_string(&json!(offered)).as_bytes()).to_hex()[..32].to_owned();
        let parameters = json!({
            "max_tokens": request.max_tokens, "tool_choice": request.choice.name(), "seed": request.seed, "think": request.think,
        });
        self.push(ModelAsked {
            ask: self.turn.asks + 1,
            role: "proposer".to_owned(),
            tier: proposer.tier.clone(),
            provider: proposer.provider.clone(),
            model: proposer.model.clone(),
            template,
            tools,
            parameters: Json(parameters),
            body: Kept::json(&wire::chat(&proposer.provider, &request)),
        });
    }

    /// The request: what is the same for every turn first, so that the server need not read it again.
    fn request(&self, opened: &TurnOpened, proposer: &Proposer) -> (Request, String) {
        let language = self.turn.language;
        let values = json!({
            "now": moment(self.turn.opened_at.0, &opened.zone), "zone": opened.zone, "home": opened.home, "folder": opened.folder,
        });
        let (system, template) = self.context.rules.prompts.proposer(language, &values);
        let mut messages = vec![Message::System(system)];
        for (asked, told) in &opened.history {
            messages.push(Message::User(asked.clone()));
            messages.push(Message::Assistant { content: Some(told.clone()), calls: Vec::new() });
        }
        messages.push(Message::User(self.turn.text().to_owned()));
        let talk = self.turn.talk.as_ref();
        let room = proposer.context.map(|tokens| tokens.saturating_sub(u64::from(proposer.max_tokens) + AROUND_TOKENS));
        messages.extend(talk.map(|talk| talk.sent(room)).unwrap_or_default());
        let has_pads = talk.is_some_and(|talk| !talk.pads.is_empty());
        let (rules, tools) = (self.context.rules, self.context.tools);
        let request = Request {
            model: proposer.model.clone(),
            messages,
            tools: offer::offers(tools, &self.offered(), &rules.messages, language, has_pads),
            choice: if talk.is_some_and(|talk| talk.must_answer) { Choice::None } else { Choice::Auto },
            max_tokens: proposer.max_tokens,
            think: proposer.think,
            // The same request would get the same fault.
            seed: talk.map(|talk| talk.faults).filter(|faults| *faults > 0),
        };
        (request, template)
    }

    /// The executors that the model is offered: the likeliest ones, those of the built-in engine's own plan, those that were
    /// used, and those that ask the person.
    pub(super) fn offered(&self) -> BTreeSet<String> {
        let planned = self.turn.aside.iter().flat_map(|plan| plan.steps.iter().map(|step| &step.tool));
        let guessed = self.turn.aside.iter().filter_map(|plan| plan.abstention.as_ref()).flat_map(|a| &a.candidates);
        let used = self.turn.steps.iter().map(|step| &step.tool);
        let asking = [forms::GET_INPUTS, forms::DISAMBIGUATION].map(str::to_owned);
        let all = self.turn.candidates.iter().chain(planned).chain(guessed).chain(used).chain(&asking);
        all.filter(|name| self.context.tools.get(name).is_some()).cloned().collect()
    }

    /// Whether the turn took longer than it may; while a person is waited for, no time passes.
    fn is_late(&self, proposer: &Proposer) -> bool {
        let worked = self.context.time.0 - self.turn.opened_at.0 - self.turn.waited_us;
        worked > i64::from(proposer.turn_timeout_s) * 1_000_000
    }

    /// The model answered.
    pub(super) fn thought(&mut self, answered: ModelAnswered) {
        self.push(answered);
        let Some(talk) = self.turn.talk.as_ref() else { return };
        if !talk.open.is_empty() {
            return self.go_on();
        }
        if let Some(text) = talk.answer.content.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
            let (text, is_cut) = (text.to_owned(), talk.answer.finish.as_deref() == Some("length"));
            return self.finish(text, is_cut);
        }
        self.note("unparseable", "model.empty", &json!({}));
        self.ask_unless_given_up("unparseable");
    }

    /// Carries the open calls out, one after the other, until one is a step; with none left, asks for more.
    pub(super) fn go_on(&mut self) {
        while self.turn.phase == Phase::Planning {
            let Some(talk) = self.turn.talk.as_ref() else { return };
            if let Some((kind, class, message)) = self.looped(talk) {
                return self.close(kind, Some(&class), message);
            }
            match talk.open.front().cloned() {
                Some(call) => self.carry(&call),
                None => return self.ask_model(),
            }
        }
    }

    fn looped(&self, talk: &super::talk::Talk) -> Option<(&'static str, String, String)> {
        let (tool, class) = talk.last.clone().unwrap_or_default();
        if talk.faults >= FAULTS_MAX {
            let class = class.unwrap_or_else(|| "unparseable".to_owned());
            return Some(("error", class, self.say("model.gave_up", &json!({ "times": FAULTS_MAX }))));
        }
        if talk.is_looping() {
            let class =
                class.filter(|class| class != super::talk::REPEATED).unwrap_or_else(|| "not_applicable".to_owned());
            let values = json!({ "tool": tool, "class": class });
            return Some(("loop_break", class, self.say("model.loop", &values)));
        }
        None
    }

    fn ask_unless_given_up(&mut self, class: &str) {
        let talk = self.turn.talk.as_ref();
        if talk.is_some_and(|talk| talk.faults >= FAULTS_MAX) {
            let message = self.say("model.gave_up", &json!({ "times": FAULTS_MAX }));
            return self.close("error", Some(class), message);
        }
        self.ask_model();
    }

    /// Tells the model what was wrong with an answer that holds no call.
    fn note(&mut self, class: &str, key: &str, values: &Value) {
        let said = self.say(key, values);
        self.push(ObservationKept {
            call: String::new(),
            step: None,
            tool: String::new(),
            class: Some(class.to_owned()),
            scratchpad: None,
            size: said.len() as u64,
            shown: Kept::text(format!("[Metnos] {said}")),
            fault: Some("model".to_owned()),
        });
    }

    /// The model gave no answer. What it said badly is told to it; a server that is away leaves the turn to the built-in engine.
    pub(super) fn unanswered(&mut self, failed: ModelFailed) {
        let (class, reason) = (failed.class.clone(), failed.reason.clone());
        let was_tight = self.turn.talk.as_ref().is_some_and(|talk| talk.is_tight);
        self.push(failed);
        match class.as_str() {
            "unparseable" => {
                self.note(&class, "model.unreadable", &json!({ "reason": reason }));
                self.ask_unless_given_up(&class);
            }
            // Once more with less of it.
            "too_large" if !was_tight => self.ask_model(),
            _ => self.without_model(&class, &reason),
        }
    }

    fn without_model(&mut self, class: &str, reason: &str) {
        let Some(proposer) = self.turn.proposer().cloned() else { return };
        let values = json!({ "server": proposer.server, "tier": proposer.tier, "reason": reason, "class": class });
        let told = self.say("model.away", &values);
        let aside = self.turn.aside.clone().filter(|_| self.turn.steps.is_empty());
        let Some(plan) = aside else { return self.close("error", Some(class), told) };
        self.push_plan(&plan);
        match &plan.abstention {
            None => self.begin(&plan),
            Some(abstention) if abstention.kind == AbstentionKind::Ask => {
                let message = format!("{}\n{told}", abstention.message);
                self.question(&Abstention { message, ..abstention.clone() });
            }
            Some(abstention) => {
                self.close("error", Some(class), format!("{}\n{told}", abstention.message));
            }
        }
    }

    /// Closes with the model's words, held against what was done.
    pub(super) fn finish(&mut self, text: String, is_cut: bool) {
        let mut message = text;
        if is_cut {
            message = format!("{message}\n{}", self.say("model.cut", &json!({})));
        }
        if let Some(claim) = self.unbacked(&message) {
            let changes = self.changes();
            let key = if changes == 0 { "model.nothing_changed" } else { "model.changed" };
            let correction = self.say(key, &json!({ "changes": changes }));
            let evidence = Json(json!({ "changes": changes }));
            self.push(AnswerCorrected { claim: claim.text, evidence, correction: correction.clone() });
            message = format!("{message}\n{correction}");
        }
        self.close("answer", None, message);
    }

    /// How many changes were made.
    fn changes(&self) -> u64 {
        let made = |step: &super::Step| step.committed.values().filter(|failed| failed.is_none()).count() as u64;
        self.turn.steps.iter().map(made).sum()
    }

    /// What the text claims and no event backs. Words that an executor read are not the model's own claim.
    fn unbacked(&self, text: &str) -> Option<claims::Claim> {
        let changes = self.changes();
        let of_steps = self.turn.steps.iter().filter_map(|step| step.result.as_ref());
        let mut counts: BTreeSet<u64> =
            of_steps.clone().filter_map(|result| result.get("ok_count")?.as_u64()).collect();
        counts.insert(changes);
        let claim = claims::unbacked(self.turn.language, text, changes, &counts)?;
        let is_quoted = of_steps.clone().any(|result| observation::text_of(result).1.contains(&claim.text));
        (!is_quoted).then_some(claim)
    }
}

/// A moment as a person reads it, to the minute.
fn moment(micros: i64, zone: &str) -> String {
    let zone = TimeZoneDatabase::bundled().get(zone).unwrap_or(TimeZone::UTC);
    let time = Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(zone);
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

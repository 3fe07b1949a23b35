//! Asks a model and brings what it said back to the turn, as a fact.

use metnos_log::canonical::Json;
use metnos_log::event::model::{ModelAnswered, ModelFailed, Proposer};
use metnos_log::{Kept, TurnId};
use metnos_projections::machines::actors::HOST;
use metnos_projections::machines::turn::command::Command;
use metnos_projections::rules::proposer::wire::LLAMACPP;
use metnos_projections::views::turns::Summary;

use super::{EngineError, Request, Run};
use crate::faults;
use crate::instance::{Instance, now};
use crate::llm::{Asked, Failure};

/// How many exchanges a model is reminded of, how old they may be, and how much of each.
const HISTORY_MAX: usize = 4;
const HISTORY_US: i64 = 30 * 60 * 1_000_000;
pub(crate) const HISTORY_CHARACTERS: usize = 600;

/// The model that may plan a turn, as its binding says.
pub(super) fn proposer(instance: &Instance) -> Option<Proposer> {
    let llm = &instance.settings.llm;
    let binding = llm.proposer(&instance.settings.engine)?;
    let props = instance.models.known_props(binding).flatten();
    Some(Proposer {
        tier: binding.tier.to_owned(),
        provider: binding.provider.clone(),
        server: binding.base_url.clone(),
        model: binding.model.clone(),
        think: binding.think,
        max_tokens: binding.max_tokens,
        context: props.map(|props| props.context),
        simple_first: llm.simple_first,
        turn_timeout_s: llm.turn_timeout_s,
    })
}

/// What was said in the same place shortly before. What was erased, or cannot be read, was not said.
pub(super) fn history(instance: &Instance, request: &Request) -> Vec<(String, String)> {
    if instance.settings.llm.proposer(&instance.settings.engine).is_none() {
        return Vec::new();
    }
    let (turns, since) = (instance.turns(), now().0 - HISTORY_US);
    let guest = Some(instance.actor.as_str()).filter(|actor| *actor != HOST);
    let is_near = |turn: &Summary<'_>| {
        turn.channel == request.channel && turn.actor == guest && turn.closed_at.is_some_and(|closed| closed > since)
    };
    let near = turns.iter().rev().take_while(|(_, turn)| turn.opened_at > since).filter(|(_, turn)| is_near(turn));
    let said = |(id, _): (TurnId, Summary<'_>)| {
        let turn = super::folded(instance, id).ok()?;
        let opened =
            turn.opened.as_ref().filter(|opened| opened.address == request.address && opened.given.is_none())?;
        let told = turn.message.as_deref().filter(|told| !told.is_empty())?;
        Some((shortened(&opened.text), shortened(told)))
    };
    let mut found: Vec<(String, String)> = near.filter_map(said).take(HISTORY_MAX).collect();
    found.reverse();
    found
}

/// The beginning of what was said.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(HISTORY_CHARACTERS) {
        Some((at, _)) => format!("{} …", &text[..at]),
        None => text.to_owned(),
    }
}

impl Run<'_> {
    /// The ask is on disk before it leaves.
    pub(super) fn think(&mut self, ask: u32, tier: &str, body: &str) -> Result<(), EngineError> {
        self.settle()?;
        let instance = self.instance;
        let Some(binding) = instance.settings.llm.get(tier) else {
            let reason = format!("no model is bound to {tier} any more");
            return self.answered(ask, nothing(Failure { reason, ..failure("resource_unavailable") }));
        };
        let key = binding.credential.as_ref().and_then(|name| instance.credential(name));
        if let Some(name) = binding.credential.as_ref().filter(|_| key.is_none()) {
            let reason = format!("there is no credential {name}; metnos credential set {name} stores it");
            return self.answered(ask, nothing(Failure { reason, ..failure("no_credentials") }));
        }
        self.person.thinking(&binding.model);
        let person = self.person;
        let asked = instance.models.ask(binding, key.as_ref(), body, &self.cancel, &|words| person.said(words));
        faults::reach("model_to_answer");
        if binding.provider == LLAMACPP && matches!(asked.outcome, Some(Ok(_))) {
            // For the next turn: how much it can look at.
            instance.models.props(binding, key.as_ref());
        }
        self.answered(ask, asked)
    }

    /// Hands the answer, or the lack of one, to the turn.
    fn answered(&mut self, ask: u32, asked: Asked) -> Result<(), EngineError> {
        let Asked { outcome, failed, waited, took } = asked;
        let duration_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let command = match outcome {
            None => Command::Cancel { by: "person".to_owned() },
            Some(Ok(reply)) => Command::Thought(Box::new(ModelAnswered {
                ask,
                raw: Kept::text(reply.raw),
                parsed: Kept::json(&serde_json::to_value(&reply.answer).expect("an answer is plain data")),
                usage: Json(reply.usage),
                timings: Json(reply.timings),
                attempt: u32::try_from(failed.len()).unwrap_or(u32::MAX).saturating_add(1),
                failed,
                headers: Json(reply.headers),
                duration_us,
            })),
            Some(Err(failure)) => Command::Unanswered(Box::new(ModelFailed {
                ask,
                class: failure.class,
                status: failure.status,
                reason: failure.reason,
                raw: if failure.raw.is_empty() { Kept::default() } else { Kept::text(failure.raw) },
                failed,
                waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
                duration_us,
            })),
        };
        self.take(command, Vec::new())
    }
}

fn failure(class: &str) -> Failure {
    Failure { class: class.to_owned(), ..Failure::default() }
}

/// Nobody was asked.
fn nothing(failure: Failure) -> Asked {
    let (waited, took) = (std::time::Duration::ZERO, std::time::Duration::ZERO);
    Asked { outcome: Some(Err(failure)), failed: Vec::new(), waited, took }
}

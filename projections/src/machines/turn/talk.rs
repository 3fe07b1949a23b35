//! The conversation of a turn with a model, folded from its events: what was said, which calls are open, how it went.

use std::collections::VecDeque;
use std::sync::Arc;

use metnos_log::event::model::{ModelAnswered, ModelAsked, ModelFailed, ObservationKept, StepRemediated};
use serde_json::Value;

use crate::rules::proposer::{Answer, Call, Message};

/// The conversation.
#[derive(Clone, Debug, Default)]
pub struct Talk {
    /// What was said after the request: the model's words and calls, and what came of each.
    pub messages: Vec<Message>,
    /// Calls of the last answer that nothing answers yet.
    pub open: VecDeque<Call>,
    /// The last answer.
    pub answer: Answer,
    /// What is asked now: the number of the ask, and the body.
    pub asked: Option<(u32, Arc<str>)>,
    /// How often the model was asked.
    pub asks: u32,
    /// How often running it said what is no proper call or answer.
    pub faults: u32,
    /// The last outcome: tool and error class.
    pub last: Option<(String, Option<String>)>,
    /// How often running one tool failed with one class.
    pub failures: u32,
    /// How often running it asked for what it has.
    pub repeats: u32,
    /// Steps whose outcome is kept behind a handle.
    pub pads: Vec<u32>,
    /// What is being got for a call before it is made.
    pub remedy: Option<StepRemediated>,
    /// Whether it may only answer.
    pub must_answer: bool,
    /// Whether the conversation must be cut to fit.
    pub is_tight: bool,
}

/// The most calls of one answer that are looked at.
const CALLS_MAX: usize = 16;
/// The class of an outcome that only names an earlier one.
pub const REPEATED: &str = "repeated";
/// What is kept of one outcome in a conversation that must be cut.
const TIGHT: usize = 600;

impl Talk {
    /// The model is asked.
    pub fn ask(&mut self, asked: &ModelAsked) {
        self.asks += 1;
        self.asked = Some((asked.ask, asked.body.get().unwrap_or_default().into()));
    }

    /// It answered.
    pub fn hear(&mut self, answered: &ModelAnswered) {
        self.asked = None;
        let answer: Answer =
            answered.parsed.value().and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default();
        let mut calls = answer.calls.clone();
        calls.truncate(CALLS_MAX);
        for (index, call) in calls.iter_mut().enumerate() {
            // Some servers give none, or the same one again: an outcome must name its call.
            call.id = format!("call_{}_{}", answered.ask, index + 1);
        }
        if !calls.is_empty() || answer.content.is_some() {
            self.messages.push(Message::Assistant { content: answer.content.clone(), calls: calls.clone() });
        }
        self.open = calls.into();
        self.answer = answer;
    }

    /// It gave no answer.
    pub fn miss(&mut self, failed: &ModelFailed) {
        self.asked = None;
        self.open.clear();
        self.is_tight |= failed.class == "too_large";
    }

    /// What it is shown.
    pub fn observe(&mut self, kept: &ObservationKept) {
        let shown = kept.shown.get().unwrap_or_default().to_owned();
        self.messages.push(match kept.call.as_str() {
            "" => Message::User(shown),
            call => Message::Tool { call: call.to_owned(), content: shown },
        });
        self.open.retain(|call| call.id != kept.call);
        self.faults = if kept.fault.is_some() { self.faults + 1 } else { 0 };
        self.repeats = if kept.class.as_deref() == Some(REPEATED) { self.repeats + 1 } else { 0 };
        self.must_answer |= kept.class.as_deref() == Some("pipeline_already_closed");
        let outcome = Some((kept.tool.clone(), kept.class.clone()));
        let has_failed = kept.class.is_some() && !kept.tool.is_empty();
        self.failures = match has_failed {
            true if self.last == outcome => self.failures + 1,
            other => u32::from(other),
        };
        self.last = outcome;
        self.remedy = None;
        if let Some(step) = kept.step.filter(|_| kept.scratchpad.is_some()) {
            self.pads.push(step);
        }
    }

    /// Whether it goes in circles: the same tool failed in the same way twice running, or it asked twice for what it has.
    pub fn is_looping(&self) -> bool {
        self.failures >= 2 || self.repeats >= 2
    }

    /// About how many tokens it has: of most texts, one for three bytes is more than there are.
    fn tokens(&self) -> u64 {
        let size = |message: &Message| match message {
            Message::System(text) | Message::User(text) | Message::Tool { content: text, .. } => text.len(),
            Message::Assistant { content, calls } => {
                content.as_ref().map_or(0, String::len) + calls.iter().map(|call| call.arguments.len()).sum::<usize>()
            }
        };
        self.messages.iter().map(size).sum::<usize>() as u64 / 3
    }

    /// The conversation as it is sent to a model that has room for so many tokens of it; the outcomes cut where it would not
    /// fit.
    pub fn sent(&self, room: Option<u64>) -> Vec<Message> {
        let is_over = room.is_some_and(|room| self.tokens() > room);
        if !self.is_tight && !is_over {
            return self.messages.clone();
        }
        let cut = |message: &Message| match message {
            Message::Tool { call, content } if content.len() > TIGHT => {
                let kept: String = content.chars().take(TIGHT).collect();
                Message::Tool { call: call.clone(), content: format!("{kept} …") }
            }
            Message::System(_) | Message::User(_) | Message::Assistant { .. } | Message::Tool { .. } => message.clone(),
        };
        self.messages.iter().map(cut).collect()
    }
}

/// A call's arguments as an object; what is wrong where they are none.
pub fn arguments(call: &Call) -> Result<serde_json::Map<String, Value>, String> {
    let text = if call.arguments.trim().is_empty() { "{}" } else { call.arguments.as_str() };
    serde_json::from_str(text).map_err(|error| error.to_string())
}

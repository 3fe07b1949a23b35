//! Questions that a fire puts at its hour, when nobody sits before it: each waits for its person until it lapses.
//!
//! Where results go to a chat, the question goes there too, with buttons. At the console it is shown by the next command and
//! answered by `metnos inbox`. Nothing of a turn is lost while it waits: it stands in the log.

use std::sync::{Mutex, PoisonError};

use metnos_log::{EventId, TurnId};
use metnos_projections::machines::actors::{HOST, SYSTEM};
use metnos_projections::machines::schedules::{Fire, Schedule};
use metnos_projections::machines::turn::state::Asked;
use metnos_projections::machines::turn::{DOUBT, Phase};
use metnos_projections::messages::Language;
use serde_json::json;

use super::{Stopping, carry_out_with, told};
use crate::channel::{outbox, telegram};
use crate::engine::{self, Answer, EngineError, Person};
use crate::instance::{Instance, InstanceError, now};
use crate::sandbox::Progress;
use crate::seats::Seat;

/// How much of a question's digest names it.
pub(crate) const TAG_LENGTH: usize = 4;

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Which schedule.
    pub schedule: String,
    /// Names the question itself: an answer to it is to nothing else.
    pub tag: String,
    /// What it is about: the schedule's slot and what it does, the question, and how it is answered.
    pub text: String,
    /// The same in a line.
    pub line: String,
    /// The question alone.
    pub question: String,
    /// Whether it is about what may have happened already.
    pub is_doubt: bool,
    /// Until when it waits, µs.
    pub until: i64,
    fire: Fire,
}

/// Why a question is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAnswered {
    /// No such question waits.
    NoSuch,
    /// Something else is at it just now.
    Busy,
}

/// The person of a fire: whoever began the command that carries it on, or nobody yet.
pub(super) struct Owner<'a> {
    instance: &'a Instance,
    schedule: &'a Schedule,
    turn: TurnId,
    /// Who sits before the command.
    here: Option<&'a dyn Person>,
    /// What they have answered to the question with this digest.
    said: Mutex<Option<(String, Answer)>>,
}

impl<'a> Owner<'a> {
    pub(super) fn of(instance: &'a Instance, schedule: &'a Schedule, fire: &Fire) -> Self {
        Self { instance, schedule, turn: fire.turn(), here: None, said: Mutex::default() }
    }

    pub(super) fn with(self, here: Option<&'a dyn Person>, said: Option<(String, Answer)>) -> Self {
        Self { here, said: Mutex::new(said), ..self }
    }

    /// What was answered in the chat where results go; the question is put there where it was not yet.
    fn in_chat(&self, asked: &Asked, language: Language) -> Result<Option<Answer>, InstanceError> {
        let contract = &self.schedule.contract;
        let (true, Some(address)) = (contract.channel == telegram::CHANNEL, &contract.address) else { return Ok(None) };
        let message = telegram::question(self.instance, address, self.turn, (asked, asked.until), language);
        let id = message.id();
        outbox::record(self.instance, vec![message.draft(self.instance, telegram::CHANNEL)])?;
        Ok(pressed(self.instance, id))
    }
}

impl Person for Owner<'_> {
    fn consent(&self, _about: &str, _text: &str, _language: Language) -> Answer {
        // Nothing can be bound to a text alone.
        Answer::Nobody
    }

    fn consent_to(&self, asked: &Asked, language: Language, elsewhere: &Seat<'_>) -> Answer {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((_, answer)) = said.filter(|(digest, _)| *digest == asked.digest) {
            return answer;
        }
        if now().0 >= asked.until {
            return Answer::Late;
        }
        let here = self.here.map(|here| here.consent_to(asked, language, elsewhere));
        if let Some(answer @ (Answer::Yes(_) | Answer::No(_))) = here {
            return answer;
        }
        match self.in_chat(asked, language) {
            Ok(answer) => answer.unwrap_or(Answer::Later),
            Err(error) => {
                tracing::error!(%error, "a question is not put");
                Answer::Later
            }
        }
    }

    fn progress(&self, progress: &Progress) {
        if let Some(here) = self.here {
            here.progress(progress);
        }
    }

    fn starting(&self, tool: &str) {
        if let Some(here) = self.here {
            here.starting(tool);
        }
    }
}

/// What was pressed below a question, under whichever message that puts it.
fn pressed(instance: &Instance, message: EventId) -> Option<Answer> {
    let projected = instance.projected();
    let channel = projected.channels.get(telegram::CHANNEL);
    let pressed = channel.answer(&channel.consent(message)?.bound)?;
    Some(if pressed == "yes" { Answer::Yes("telegram") } else { Answer::No("telegram") })
}

/// What a fire waits for, while its turn asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Awaited {
    until: i64,
    message: Option<EventId>,
}

/// What a fire's turn waits for; none where it does not ask.
pub(super) fn awaited(instance: &Instance, schedule: &Schedule, fire: &Fire, asked: &Asked) -> Awaited {
    let contract = &schedule.contract;
    let address = contract.address.as_ref().filter(|_| contract.channel == telegram::CHANNEL);
    let message = address.map(|address| {
        telegram::question(instance, address, fire.turn(), (asked, asked.until), instance.language()).id()
    });
    Awaited { until: asked.until, message }
}

impl Awaited {
    /// Whether there is nothing to do yet: no answer, and time left.
    pub(super) fn is_open(&self, instance: &Instance) -> bool {
        now().0 < self.until && self.message.is_none_or(|message| pressed(instance, message).is_none())
    }

    /// When it lapses, µs.
    pub(super) fn until(&self) -> i64 {
        self.until
    }
}

/// The questions that wait for whoever asks, the oldest first.
pub fn pending(instance: &Instance) -> Result<Vec<Pending>, EngineError> {
    let schedules = instance.schedules();
    let mut found = Vec::new();
    for (id, fire) in schedules.fires() {
        let Some(schedule) = schedules.get(id) else { continue };
        let whose = if schedule.actor == SYSTEM { HOST } else { &schedule.actor };
        if whose != instance.actor || instance.turns().get(fire.turn()).is_none() {
            continue;
        }
        let turn = engine::folded(instance, fire.turn())?;
        let Some(asked) = turn.asked.filter(|_| turn.phase == Phase::Asking) else { continue };
        if now().0 < asked.until {
            found.push(told_of(instance, (id, schedule), fire, &asked)?);
        }
    }
    found.sort_by_key(|pending| (pending.fire.slot, pending.schedule.clone()));
    Ok(found)
}

fn told_of(
    instance: &Instance,
    (id, schedule): (&str, &Schedule),
    fire: &Fire,
    asked: &Asked,
) -> Result<Pending, InstanceError> {
    let language = Language::parse(&schedule.contract.language).unwrap_or_default();
    let tag = format!("{id}-{}", asked.digest.get(..TAG_LENGTH).unwrap_or_default());
    let values = json!({
        "schedule": tag,
        "number": id,
        "what": crate::why::short(&told::said(instance, schedule)?, 120),
        "when": told::moment(instance, language, schedule, fire.slot),
        "question": asked.text,
        "until": told::moment(instance, language, schedule, asked.until),
    });
    let messages = &instance.rules.messages;
    Ok(Pending {
        schedule: id.to_owned(),
        tag,
        text: messages.say(language, "schedule.waits", &values),
        line: messages.say(language, "schedule.waits_in_short", &values),
        question: asked.text.clone(),
        is_doubt: asked.about == DOUBT,
        until: asked.until,
        fire: fire.clone(),
    })
}

/// Answers a question that waits, and carries its fire to its end; when this returns, that is on disk.
pub fn answer(
    instance: &Instance,
    tag: &str,
    (answer, here): (Answer, Option<&dyn Person>),
    stopping: &Stopping,
) -> Result<Result<String, NotAnswered>, EngineError> {
    let wanted = tag.trim().trim_start_matches('#');
    let fits = |pending: &Pending| pending.tag == wanted;
    let Some(pending) = pending(instance)?.into_iter().find(fits) else { return Ok(Err(NotAnswered::NoSuch)) };
    let Some(_hold) = instance.scheduler.hold(&pending.schedule) else { return Ok(Err(NotAnswered::Busy)) };
    let turn = engine::folded(instance, pending.fire.turn())?;
    let Some(asked) = turn.asked.filter(|_| turn.phase == Phase::Asking) else { return Ok(Err(NotAnswered::NoSuch)) };
    // Since it was looked for, another answer may have led to another question.
    if !tag_is_of(&pending, &asked) {
        return Ok(Err(NotAnswered::NoSuch));
    }
    carry_out_with(instance, &pending.schedule, &pending.fire, stopping, (here, Some((asked.digest, answer))))?;
    Ok(Ok(pending.schedule))
}

fn tag_is_of(pending: &Pending, asked: &Asked) -> bool {
    pending.tag.rsplit_once('-').is_some_and(|(_, tag)| asked.digest.starts_with(tag))
}

//! The turns of one person in one chat: one after the other on a thread of their own, each from where its events leave it.
//! In a group nobody waits for somebody else's answer.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::thread::Scope;

use metnos_log::{EventId, TurnId};
use metnos_projections::machines::turn::state::Step;
use metnos_projections::machines::turn::{Phase, Turn};
use metnos_projections::views::turns::Summary;
use serde_json::{Map, Value, json};

use super::inbound::{Done, Said, back, is_stop, turn_of};
use super::mentions::{below, with_paths};
use super::person::Keyboard;
use super::shown::Shown;
use super::wire::Message;
use super::{Bot, CHANNEL, STACK_BYTES};
use crate::channel::outbox;
use crate::conversation::{self, Fit, Line, line};
use crate::engine::{self, EngineError, Reply, Request};
use crate::instance::{Instance, InstanceError, now};
use crate::sandbox::CancelFlag;

/// After how many events checkpoints are written.
const CHECKPOINT_EVERY: u64 = 1000;

/// A message that leads to a turn.
pub(super) struct Work {
    /// The event of its update.
    pub update: EventId,
    /// The message.
    pub message: Box<Message>,
    /// Whose it is.
    pub actor: String,
    /// The turn that an earlier process began for it.
    pub turn: Option<TurnId>,
}

/// A chat, and the actor who writes in it.
pub(super) type Place = (i64, String);

/// One person in one chat.
#[derive(Default)]
pub(super) struct Chat {
    work: VecDeque<Work>,
    /// Whether a thread carries it out.
    is_busy: bool,
    /// What stops the turn that runs.
    running: Option<CancelFlag>,
    /// Whether that turn waits for a button.
    pub is_asking: bool,
}

impl Chat {
    /// Ends what runs, so that its thread comes back.
    pub(super) fn leave(&self) {
        if let Some(running) = &self.running {
            running.cancel();
        }
    }

    /// Stops the turn that runs; whether there was one.
    pub(super) fn stop(&self) -> bool {
        self.leave();
        self.running.is_some()
    }
}

/// How far a turn came.
enum Came {
    /// To its end or to a question: this is said.
    To(Box<Turn>, String),
    /// Nowhere yet: another process goes on with it.
    Nowhere,
    /// There is no turn: this is said, and why.
    Said(&'static str, String),
}

impl Bot {
    /// Gives work to its chat, whose thread begins when it has none.
    pub(super) fn hand_over<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, work: Work) {
        let place = (work.message.chat.id, work.actor.clone());
        let mut chats = self.chats();
        let chat = chats.entry(place.clone()).or_default();
        let said = Said { update: work.update, message: &work.message.clone(), text: String::new() };
        chat.work.push_back(work);
        let is_asking = chat.is_asking;
        if !chat.is_busy {
            let thread = std::thread::Builder::new().name(format!("telegram{}", place.0)).stack_size(STACK_BYTES);
            let place = place.clone();
            chat.is_busy = thread.spawn_scoped(scope, move || self.work(&place)).is_ok();
        }
        drop(chats);
        if is_asking {
            let instance = self.of(&place.1, said.message.from.as_ref());
            // It waits until a button is pressed.
            let text = self.told(&instance, "telegram.answer_first", &json!({}));
            notice(&instance, &said, "waits", text);
        }
    }

    /// Carries out what is to do for a person in a chat until there is nothing left.
    fn work(&self, place: &Place) {
        loop {
            let work = {
                let mut chats = self.chats();
                let Some(chat) = chats.get_mut(place) else { return };
                let Some(work) = chat.work.pop_front().filter(|_| !self.is_leaving()) else {
                    chats.remove(place);
                    return;
                };
                work
            };
            if let Err(error) = self.carry_out(&work) {
                // It stays on record as not settled: the next start tries it again.
                tracing::error!(%error, "a message is not answered");
            }
            if let Some(chat) = self.chats().get_mut(place) {
                (chat.running, chat.is_asking) = (None, false);
            }
        }
    }

    fn carry_out(&self, work: &Work) -> Result<(), EngineError> {
        let instance = self.of(&work.actor, work.message.from.as_ref());
        let text = self.addressed(&work.message).unwrap_or_default();
        let said = Said { update: work.update, message: &work.message, text };
        // It may have waited, and its address may be nobody's by now, or somebody else's.
        let is_theirs = self.actor(work.message.sender()).as_ref() == Some(&work.actor);
        if work.turn.is_none() && !is_theirs {
            return Ok(self.stranger(&said)?);
        }
        let came = match work.turn {
            Some(turn) => self.again(&instance, work, turn),
            None => self.begun(&instance, work, &said),
        };
        let came = match came {
            Ok(came) => came,
            Err(error @ (EngineError::Append(_) | EngineError::Settle(_) | EngineError::Read(_))) => return Err(error),
            Err(error) => {
                tracing::error!(%error, "a turn failed");
                Came::Said("failed", self.told(&instance, "telegram.failed", &json!({ "reason": error.to_string() })))
            }
        };
        instance.catch_up().map_err(InstanceError::from)?;
        crate::faults::reach("turn_to_outbox");
        let (message, outcome) = match came {
            Came::Nowhere => return Ok(()),
            Came::Said(why, text) => (back(&said, "notice", text), why),
            Came::To(turn, text) => {
                let is_question = turn.phase == Phase::Waiting;
                if is_question {
                    self.withdraw_older(&instance, &turn, &work.message.chat.id.to_string())?;
                }
                let is_fixed = !is_question && is_fixed(&turn);
                let purpose = if is_question { "question" } else { "answer" };
                (outbox::Message { is_fixed, ..back(&said, purpose, text) }, "turn")
            }
        };
        self.answer(work.update, outcome, message)?;
        follow(&instance);
        Ok(())
    }

    /// Goes on with a turn that an earlier process began.
    fn again(&self, instance: &Instance, work: &Work, id: TurnId) -> Result<Came, EngineError> {
        let turn = engine::folded(instance, id)?;
        if matches!(turn.phase, Phase::Closed | Phase::Waiting) {
            // What it asked may have been answered while nobody served this chat.
            self.remove_keys(&self.places_of(id));
            return Ok(ended(turn));
        }
        let (cancel, person) = self.person(instance, work)?;
        if self.actor(work.message.sender()).as_ref() != Some(&work.actor) {
            cancel.cancel();
        }
        let turn = engine::go_on(instance, &person, cancel.clone(), (id, turn))?;
        drop(person);
        if turn.final_class.as_deref() == Some("cancelled") && !cancel.is_raised() {
            return Ok(Came::Said("failed", self.told(instance, "telegram.interrupted", &json!({}))));
        }
        Ok(ended(turn))
    }

    /// Begins what a message asks for: the answer to a question that is open, or a turn.
    fn begun(&self, instance: &Instance, work: &Work, said: &Said<'_>) -> Result<Came, EngineError> {
        let folder = instance.own_folder();
        let text = if work.message.file().is_some() {
            match self.with_file(instance, said)? {
                Ok(text) => text,
                Err(came) => return Ok(came),
            }
        } else {
            with_paths(instance, said.text.trim(), &folder)?
        };
        let (cancel, person) = self.person(instance, work)?;
        let address = work.message.chat.id.to_string();
        let request = Request {
            id: Some(turn_of(work.update)),
            cause: Some(work.update),
            address: Some(address.clone()),
            text: text.clone(),
            approve: "none".to_owned(),
            folder: folder.clone(),
            channel: CHANNEL.to_owned(),
            given: None,
            dialogs: true,
            patience_s: None,
        };
        if let Line::Undo(turn) = line(&text) {
            return engine::run(instance, &person, cancel, &undo(request, turn)).map(ended);
        }
        if matches!(text.as_str(), "/schedules" | "/attivita" | "/attività") {
            return engine::run(instance, &person, cancel, &listing(request)).map(ended);
        }
        if let Some(waiting) = waiting(instance, &address)?
            && let Some(id) = waiting.id
        {
            match conversation::fit(instance, &folder, &waiting, &text)? {
                Fit::Answer | Fit::Completes(_) => {
                    let reply = Reply::Answered { answer: text, channel: CHANNEL.to_owned() };
                    let reply = (&reply, Some(work.update));
                    return engine::reply(instance, &person, cancel, (id, waiting), reply).map(ended);
                }
                Fit::Sentence => {}
            }
        }
        engine::run(instance, &person, cancel, &request).map(ended)
    }

    /// Keeps the file of a message: the text that speaks of it, or what came of it already.
    fn with_file(&self, instance: &Instance, said: &Said<'_>) -> Result<Result<String, Came>, EngineError> {
        let text = said.text.trim();
        let Some(received) = self.received(instance, said)? else { return Ok(Err(Came::Nowhere)) };
        if is_command(text) {
            // It is no request about the file.
            let told = received.map_or_else(|told| told, |document| document.told(self, instance));
            return Ok(self.commanded(instance, said, told)?.map_or_else(|| Ok(text.to_owned()), Err));
        }
        Ok(match received {
            Ok(document) if text.is_empty() => Err(Came::Said("document", document.told(self, instance))),
            Ok(document) => Ok(below(&document, text)),
            Err(told) => Err(Came::Said("failed", told)),
        })
    }

    /// Carries out the command below a file, which is told of first; `None` where a turn does that.
    fn commanded(&self, instance: &Instance, said: &Said<'_>, told: String) -> Result<Option<Came>, EngineError> {
        // It stopped what there was as soon as it came.
        let done = if is_stop(&said.text) { Done::Silently } else { self.command(instance, said)? };
        Ok(match done {
            Done::Told(text) => Some(Came::Said("document", format!("{told}\n\n{text}"))),
            Done::Silently => Some(Came::Said("document", told)),
            Done::ByTurn | Done::Nothing => {
                notice(instance, said, "kept", told);
                None
            }
        })
    }

    /// The person of a turn, and what stops it.
    fn person<'a>(&'a self, instance: &'a Instance, work: &'a Work) -> Result<(CancelFlag, Keyboard<'a>), EngineError> {
        let cancel = CancelFlag::new().map_err(EngineError::Settle)?;
        let chat = work.message.chat.id;
        if let Some(chat) = self.chats().get_mut(&(chat, instance.actor.clone())) {
            chat.running = Some(cancel.clone());
        }
        let turn = work.turn.unwrap_or_else(|| turn_of(work.update));
        let shown = Shown::begin(self, chat, turn, instance);
        Ok((cancel.clone(), Keyboard { bot: self, instance, chat, turn, cancel, shown }))
    }

    /// One question at a time in a chat: those that a newer one took the place of are withdrawn.
    fn withdraw_older(&self, instance: &Instance, newer: &Turn, address: &str) -> Result<(), EngineError> {
        for id in open_questions(instance).into_iter().filter(|id| Some(*id) != newer.id) {
            let turn = engine::folded(instance, id)?;
            if turn.phase == Phase::Waiting
                && is_of(instance, &turn, address)
                && instance.actor_of(id) == instance.actor
            {
                self.end_question(id, turn, &Reply::Withdrawn("question"))?;
            }
        }
        Ok(())
    }

    /// Ends a question that gets no answer; the turn as it ended.
    pub(super) fn end_question(&self, id: TurnId, turn: Turn, reply: &Reply) -> Result<Turn, EngineError> {
        let instance = self.instance.as_actor(&self.instance.actor_of(id));
        let cancel = CancelFlag::new().map_err(EngineError::Settle)?;
        let turn = engine::reply(&instance, &engine::Absent, cancel, (id, turn), (reply, None))?;
        instance.catch_up().map_err(InstanceError::from)?;
        Ok(turn)
    }

    /// Ends questions that nobody answered in time, and says so where they were put.
    pub(super) fn lapse(&self) {
        let turns = self.instance.turns();
        let late = turns.open().filter(|(_, turn)| waits_here(turn).is_some_and(|until| until <= now().0));
        let late: Vec<TurnId> = late.map(|(id, _)| id).collect();
        for id in late {
            if let Err(error) = self.lapse_one(id) {
                tracing::warn!(%error, turn = %id, "a question does not lapse");
            }
        }
    }

    fn lapse_one(&self, id: TurnId) -> Result<(), EngineError> {
        let turn = engine::folded(&self.instance, id)?;
        let address = turn.opened.as_ref().and_then(|opened| opened.address.clone());
        let (Phase::Waiting, Some(address)) = (turn.phase, address) else { return Ok(()) };
        let instance = self.instance.as_actor(&self.instance.actor_of(id));
        let asked = crate::why::short(turn.text(), 60);
        let text = self.told(&instance, "telegram.lapsed", &json!({ "text": asked }));
        self.end_question(id, turn, &Reply::Lapsed)?;
        let message = outbox::Message { address, purpose: "notice", text, ..outbox::Message::default() };
        outbox::record(&instance, vec![message.draft(&instance, CHANNEL)])?;
        Ok(())
    }
}

/// Says something on the way to what settles a message.
pub(super) fn notice(instance: &Instance, said: &Said<'_>, key: &str, text: String) {
    if instance.projected().channels.get(CHANNEL).is_crowded(&said.message.chat.id.to_string()) {
        return;
    }
    let (for_event, key) = (Some(said.update), key.to_owned());
    let message = outbox::Message { for_event, key, ..back(said, "notice", text) };
    if let Err(error) = outbox::record(instance, vec![message.draft(instance, CHANNEL)]) {
        tracing::warn!(%error, "a notice is not said");
    }
}

/// Whether a question of somebody else is open in a chat.
pub(super) fn is_waiting_for_others(instance: &Instance, address: &str) -> Result<bool, EngineError> {
    for id in open_questions(instance) {
        if instance.actor_of(id) != instance.actor && is_of(instance, &engine::folded(instance, id)?, address) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The turn that waits for an answer in a chat.
pub(super) fn waiting(instance: &Instance, address: &str) -> Result<Option<Turn>, EngineError> {
    for id in open_questions(instance).into_iter().rev() {
        let turn = engine::folded(instance, id)?;
        if turn.phase == Phase::Waiting && is_of(instance, &turn, address) && instance.actor_of(id) == instance.actor {
            return Ok(Some(turn));
        }
    }
    Ok(None)
}

/// The question that waits on this channel: until when.
fn waits_here(turn: &Summary<'_>) -> Option<i64> {
    turn.waits.filter(|waits| waits.channel == CHANNEL).map(|waits| waits.until)
}

fn open_questions(instance: &Instance) -> Vec<TurnId> {
    let turns = instance.turns();
    turns.open().filter(|(_, turn)| waits_here(turn).is_some()).map(|(id, _)| id).collect()
}

/// Whether a turn was begun in this chat, wherever that was then.
fn is_of(instance: &Instance, turn: &Turn, address: &str) -> bool {
    let projected = instance.projected();
    let begun = turn.opened.as_ref().and_then(|opened| opened.address.as_deref());
    begun.map(|begun| projected.channels.get(CHANNEL).now_at(begun)) == Some(address)
}

fn undo(request: Request, turn: Option<&str>) -> Request {
    let mut args = Map::new();
    args.extend(turn.map(|turn| ("turn".to_owned(), Value::from(turn))));
    let text = turn.map_or_else(|| "undo".to_owned(), |turn| format!("undo {turn}"));
    Request { text, given: Some(json!({ "tool": "undo_last_turn", "args": args })), ..request }
}

fn listing(request: Request) -> Request {
    // The person's own words ask for it.
    let words = json!({ "from": "words", "start": 0, "end": request.text.len() });
    let given = json!({ "tool": "list_recurring", "args": {}, "provenance": { "": words } });
    Request { given: Some(given), ..request }
}

fn ended(turn: Turn) -> Came {
    match turn.phase {
        Phase::Closed | Phase::Waiting => {
            let text = turn.message.clone().unwrap_or_default();
            Came::To(Box::new(turn), text)
        }
        _ => Came::Nowhere,
    }
}

/// Whether a text is a command, and neither a sentence nor a path.
fn is_command(text: &str) -> bool {
    is_stop(text) || !matches!(line(text), Line::Sentence(_))
}

/// Whether an answer is a table or somebody's text, whose lines mean something.
fn is_fixed(turn: &Turn) -> bool {
    let is_list = |step: &Step| step.result.as_ref().is_some_and(|result| result["entries"].is_array());
    let is_answer = turn.final_kind.as_deref() == Some("answer");
    let message = turn.message.as_deref().unwrap_or_default();
    is_answer && message.trim().contains('\n') && turn.step().is_some_and(is_list)
}

/// Brings checkpoints and audit files up to date. They are projections: a failure here loses nothing and is only logged.
fn follow(instance: &Instance) {
    if let Err(error) = instance.follow_audit() {
        tracing::warn!(%error, "the audit files cannot be written");
    }
    if let Err(error) = instance.alone(|| instance.save_projections(CHECKPOINT_EVERY)) {
        tracing::info!(%error, "checkpoints were not written");
    }
}

/// Where the files that people send are kept: a guest's in their own folder.
pub(super) fn inbox(instance: &Instance) -> PathBuf {
    let folder = if instance.is_guest() { instance.own_folder() } else { instance.dirs.workspace.clone() };
    folder.join("inbox")
}

//! What an update means: whose it is, before a word of it is read; then what is done about it, at once or by its chat.

use std::thread::Scope;

use metnos_log::event::channel::AddressMoved;
use metnos_log::{Event, EventId, TurnId};
use metnos_projections::machines::actors::{self, HOST, Rejection};
use metnos_projections::machines::channels::Pending;
use metnos_projections::messages::Language;
use serde_json::{Value, json};

use super::chats::{Work, notice};
use super::wire::{Message, Update};
use super::{Bot, CHANNEL};
use crate::channel::outbox;
use crate::conversation::{Line, line};
use crate::engine::EngineError;
use crate::instance::{Instance, InstanceError, now};
use crate::pairing::{self, PairingError};

/// A message and whose it is.
pub(super) struct Said<'a> {
    /// The event of its update.
    pub update: EventId,
    /// The message.
    pub message: &'a Message,
    /// What is written in it, without the bot's own name.
    pub text: String,
}

impl Bot {
    /// Begins what is on record and not begun by this process.
    pub(super) fn dispatch<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let projected = self.instance.projected();
        let pending = &projected.channels.get(CHANNEL).pending;
        self.taken().retain(|seq| pending.contains_key(seq));
        for (seq, pending) in pending {
            if self.is_leaving() || !self.taken().insert(*seq) {
                continue;
            }
            if let Err(error) = self.begin(scope, *seq, pending) {
                tracing::warn!(%error, "an update is tried again later");
                self.taken().remove(seq);
            }
        }
    }

    fn begin<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        seq: u64,
        pending: &Pending,
    ) -> Result<(), EngineError> {
        let id = pending.id;
        let Some(raw) = self.raw(seq)? else { return Ok(self.settle(id, "ignored")?) };
        let message = match Update::read(&raw) {
            Update::Press(press) => return Ok(self.pressed(id, &press)?),
            Update::Other(_) => return Ok(self.settle(id, "ignored")?),
            Update::Edited(message) => return Ok(self.edited(id, &message)?),
            Update::Message(message) => message,
        };
        if let Some(turn) = pending.turn {
            // It was begun by an earlier process.
            let actor = self.instance.actor_of(turn);
            self.hand_over(scope, Work { update: id, message, actor, turn: Some(turn) });
            return Ok(());
        }
        if let Some(to) = message.migrate_to_chat_id {
            return Ok(self.group_moved(id, message.chat.id, to)?);
        }
        let addressed = self.addressed(&message).or_else(|| shown_code(&message));
        let Some(text) = addressed else { return Ok(self.settle(id, "ignored")?) };
        let said = Said { update: id, message: &message, text };
        if self.is_pairing(&said)? {
            return Ok(());
        }
        let Some(actor) = self.known(&said)? else { return Ok(self.stranger(&said)?) };
        if message.file().is_some() {
            // The file is kept first; only what stops others cannot wait for it.
            self.stop_by_file(&said, &actor)?;
        } else if self.is_command(&said, &actor)? {
            return Ok(());
        }
        if said.text.trim().is_empty() && message.file().is_none() {
            if message.is_of_another_kind() {
                let instance = self.of(&actor, message.from.as_ref());
                let text = self.told(&instance, "telegram.other_kind", &json!({}));
                return Ok(self.answer(id, "command", back(&said, "notice", text))?);
            }
            return Ok(self.settle(id, "ignored")?);
        }
        self.hand_over(scope, Work { update: id, message, actor, turn: None });
        Ok(())
    }

    /// An update as it came; `None` where its text was erased.
    fn raw(&self, seq: u64) -> Result<Option<Value>, InstanceError> {
        let reader = self.instance.log.reader();
        let Some(recorded) = reader.event(seq)? else { return Ok(None) };
        let recorded = reader.rehydrated(recorded)?;
        Ok(match recorded.event() {
            Some(Event::UpdateReceived(received)) => received.raw.value(),
            _ => None,
        })
    }

    pub(super) fn settle(&self, update: EventId, outcome: &str) -> Result<(), InstanceError> {
        outbox::record(&self.instance, vec![self.settled(update, outcome)])
    }

    /// What is said to the bot: everything where nobody else is; elsewhere what names it, answers it or is a command.
    pub(super) fn addressed(&self, message: &Message) -> Option<String> {
        let text = message.text.as_ref().or(message.caption.as_ref()).cloned().unwrap_or_default();
        let name = self.me.username.as_deref().map(|name| format!("@{name}")).unwrap_or_default();
        let lower = text.to_lowercase();
        let at = lower.find(&name.to_lowercase()).filter(|_| name.len() > 1 && lower.len() == text.len());
        if let Some(at) = at {
            let without = format!("{}{}", &text[..at], text.get(at + name.len()..).unwrap_or_default());
            return Some(without.trim().to_owned());
        }
        let first = text.split_whitespace().next().unwrap_or_default();
        if first.starts_with('/') && first.contains('@') {
            return None; // It is another bot's.
        }
        let answers = message.reply_to_message.as_ref().is_some_and(|to| to.sender() == self.me.id);
        (message.chat.is_private() || answers || first.starts_with('/')).then_some(text)
    }

    /// Whose message it is. The first one of the chat that the settings name makes it the host's.
    fn known(&self, said: &Said<'_>) -> Result<Option<String>, InstanceError> {
        let sender = said.message.sender();
        if let Some(actor) = self.actor(sender) {
            return Ok(Some(actor));
        }
        let is_default = self.instance.settings.telegram.default_chat == Some(said.message.chat.id);
        if !is_default || !said.message.chat.is_private() {
            return Ok(None);
        }
        let first = actors::Command::Bootstrap { channel: CHANNEL.to_owned(), address: sender.to_string() };
        if self.instance.change_actors(first)?.is_err() {
            return Ok(None);
        }
        self.learn_language(HOST, said.message)?;
        Ok(Some(HOST.to_owned()))
    }

    /// Takes the language of a person's app for theirs, where none was set.
    fn learn_language(&self, actor: &str, message: &Message) -> Result<(), InstanceError> {
        let is_set = self.instance.actors().get(actor).is_none_or(|actor| actor.language.is_some());
        let code = message.from.as_ref().and_then(|from| from.language_code.as_deref());
        let Some(language) = code.and_then(Language::parse).filter(|_| !is_set) else { return Ok(()) };
        let (actor, language) = (actor.to_owned(), language.code().to_owned());
        let set = actors::Command::SetLanguage { actor: actor.clone(), language };
        // Someone who is gone meanwhile has no language.
        self.instance.as_actor(&actor).change_actors(set).map(drop)
    }

    /// Answers whoever wrote; a stranger, so often in an hour and then not at all.
    fn answer_anyone(&self, said: &Said<'_>, outcome: &str, text: String) -> Result<(), InstanceError> {
        if self.actor(said.message.sender()).is_some() {
            return self.answer(said.update, outcome, back(said, "notice", text));
        }
        let address = said.message.chat.id.to_string();
        if !self.instance.projected().channels.get(CHANNEL).may_tell_stranger(&address, now()) {
            return self.settle(said.update, "stranger");
        }
        self.answer(said.update, outcome, back(said, "stranger", text))
    }

    /// A stranger gets one line, and no second one.
    pub(super) fn stranger(&self, said: &Said<'_>) -> Result<(), InstanceError> {
        let address = said.message.chat.id.to_string();
        if self.instance.projected().channels.get(CHANNEL).strangers.contains_key(&address) {
            return self.settle(said.update, "stranger");
        }
        let text = self.say(self.guessed(said.message), "telegram.stranger", &json!({}));
        self.answer(said.update, "stranger", back(said, "stranger", text))
    }

    /// The language of someone who may not be known yet.
    fn guessed(&self, message: &Message) -> Language {
        let code = message.from.as_ref().and_then(|from| from.language_code.as_deref());
        code.and_then(Language::parse).or(self.instance.settings.language).unwrap_or_default()
    }

    /// Whether a message brings a code, which is redeemed: only in a chat with nobody else in it.
    fn is_pairing(&self, said: &Said<'_>) -> Result<bool, InstanceError> {
        let mut words = said.text.split_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next());
        let code = match (first, second) {
            ("/start" | "/pair" | "/abbina", Some(code)) => code,
            (code, None) if pairing::is_code(code) => code,
            _ => return Ok(false),
        };
        let language = self.guessed(said.message);
        if !said.message.chat.is_private() {
            let text = self.say(language, "telegram.pair_alone", &json!({}));
            self.answer_anyone(said, "command", text)?;
            return Ok(true);
        }
        let address = said.message.sender().to_string();
        let (key, values, outcome) = match pairing::redeem(&self.instance, code, CHANNEL, &address) {
            Ok(actor) => {
                self.learn_language(&actor, said.message)?;
                ("telegram.paired", json!({}), "paired")
            }
            Err(PairingError::Foreign) => ("telegram.pair_foreign", json!({}), "command"),
            // Redeemed before the process ended, or by someone who is known anyway.
            Err(PairingError::Rejected(Rejection::Spent)) if self.actor(said.message.sender()).is_some() => {
                ("telegram.paired", json!({}), "paired")
            }
            Err(PairingError::Rejected(Rejection::Bound(_))) => ("telegram.pair_bound", json!({}), "command"),
            Err(PairingError::Rejected(Rejection::Expired(_))) => ("telegram.pair_expired", json!({}), "command"),
            Err(PairingError::Rejected(_)) => ("telegram.pair_spent", json!({}), "command"),
            Err(PairingError::Instance(error)) => return Err(error),
        };
        let actor = self.actor(said.message.sender());
        let language = actor.map_or(language, |actor| self.of(&actor, said.message.from.as_ref()).language());
        self.answer_anyone(said, outcome, self.say(language, key, &values))?;
        Ok(true)
    }

    /// Whether a message is a command that needs no turn; it is carried out.
    fn is_command(&self, said: &Said<'_>, actor: &str) -> Result<bool, EngineError> {
        let instance = self.of(actor, said.message.from.as_ref());
        match self.command(&instance, said)? {
            Done::Told(text) => self.answer(said.update, "command", back(said, "notice", text))?,
            Done::Silently => self.settle(said.update, "command")?,
            Done::ByTurn | Done::Nothing => return Ok(false),
        }
        Ok(true)
    }

    /// Carries a command out that needs no turn.
    pub(super) fn command(&self, instance: &Instance, said: &Said<'_>) -> Result<Done, EngineError> {
        let text = said.text.trim();
        let told = |key: &str, values: Value| Done::Told(self.told(instance, key, &values));
        Ok(match text.split_whitespace().next().unwrap_or_default() {
            "/start" | "/avvia" => told("telegram.welcome", json!({})),
            "/status" | "/stato" => Done::Told(self.status(instance, said.message.chat.id)),
            "/whoami" | "/chisono" => told("telegram.whoami", json!({ "actor": instance.actor })),
            "/stop" | "/ferma" => self.stop(instance, said)?.map_or(Done::Silently, Done::Told),
            "/language" | "/lingua" => Done::Told(self.language(instance, said)?),
            "/approvals" | "/approvazioni" => self.put_again(instance, said)?.map_or(Done::Silently, Done::Told),
            "/schedules" | "/attivita" | "/attività" => Done::ByTurn,
            _ => match line(text) {
                Line::Help => told("telegram.help", json!({})),
                Line::Quit => told("telegram.quit", json!({})),
                Line::Why => Done::Told(self.why(instance, said.message.chat.id)),
                Line::Unknown(word) => told("telegram.unknown", json!({ "word": word })),
                Line::Undo(_) => Done::ByTurn,
                Line::Sentence(_) => Done::Nothing,
            },
        })
    }

    /// A file with `/stop` below it stops at once; the file is kept in its turn.
    fn stop_by_file(&self, said: &Said<'_>, actor: &str) -> Result<(), EngineError> {
        if is_stop(&said.text) {
            let instance = self.of(actor, said.message.from.as_ref());
            if let Some(text) = self.stop(&instance, said)? {
                notice(&instance, said, "stop", text);
            }
        }
        Ok(())
    }

    /// A message that was changed is not read again; its writer is told so once, however often it is changed.
    fn edited(&self, update: EventId, message: &Message) -> Result<(), InstanceError> {
        let is_said = message.text.is_some() || message.caption.is_some() || message.file().is_some();
        let actor = self.actor(message.sender()).filter(|_| is_said && self.addressed(message).is_some());
        let Some(actor) = actor else { return self.settle(update, "ignored") };
        let instance = self.of(&actor, message.from.as_ref());
        let text = self.told(&instance, "telegram.edited", &json!({}));
        let said = Said { update, message, text: String::new() };
        let mut notice = back(&said, "notice", text).draft(&instance, CHANNEL);
        // The moment at which it was written stays the same.
        let date = message.rest.get("date").and_then(Value::as_i64).unwrap_or_default();
        let key = [message.chat.id.to_be_bytes(), message.message_id.to_be_bytes()];
        let time = metnos_log::Micros(date.saturating_mul(1_000_000));
        notice.id = EventId::derived(time, "metnos telegram edited v1", &[&key[0], &key[1]]);
        outbox::record(&self.instance, vec![notice, self.settled(update, "ignored")])
    }

    /// A group goes on under another address.
    fn group_moved(&self, update: EventId, from: i64, to: i64) -> Result<(), InstanceError> {
        let moved = self.moved(&from.to_string(), to);
        let outcome = if moved.is_some() { "moved" } else { "ignored" };
        outbox::record(&self.instance, moved.into_iter().chain([self.settled(update, outcome)]).collect())
    }

    /// The event of it; none where it is no group, or known already.
    pub(super) fn moved(&self, from: &str, to: i64) -> Option<metnos_log::Draft> {
        let to = to.to_string();
        let is_group = from.starts_with('-') && to.starts_with('-') && from != to;
        let projected = self.instance.projected();
        let is_known = projected.channels.get(CHANNEL).now_at(from) == to;
        let event = AddressMoved { channel: CHANNEL.to_owned(), from: from.to_owned(), to: to.clone() };
        let key = [from.as_bytes(), to.as_bytes()];
        let id = EventId::derived(now(), "metnos telegram moved v1", &key);
        (is_group && !is_known).then(|| outbox::draft(&self.instance, CHANNEL, id, event))
    }

    pub(super) fn told(&self, instance: &Instance, key: &str, values: &Value) -> String {
        self.say(instance.language(), key, values)
    }
}

/// What became of a command.
pub(super) enum Done {
    /// This is said.
    Told(String),
    /// Nothing is said, or something else says it.
    Silently,
    /// It leads to a turn, like a sentence.
    ByTurn,
    /// It is none.
    Nothing,
}

/// Whether a text is the command that stops.
pub(super) fn is_stop(text: &str) -> bool {
    matches!(text.split_whitespace().next(), Some("/stop" | "/ferma"))
}

/// A code that somebody shows to others, who are not to see it, whether the bot is named with it or not.
fn shown_code(message: &Message) -> Option<String> {
    let words = message.text.as_deref().filter(|_| !message.chat.is_private())?.split_whitespace();
    words.map(str::to_owned).find(|word| pairing::is_code(word))
}

/// Where something is said because of a message, and to whom.
pub(super) fn back(said: &Said<'_>, purpose: &'static str, text: String) -> outbox::Message {
    let message = said.message;
    let reply_to = (!message.chat.is_private()).then_some(message.message_id);
    let address = message.chat.id.to_string();
    outbox::Message { address, purpose, text, reply_to, ..outbox::Message::default() }
}

/// The id of the turn that an update leads to: however often it is begun, it is one.
pub(super) fn turn_of(update: EventId) -> TurnId {
    TurnId(outbox::derived(update.0, &[b"turn"]).0)
}

//! What is said without a turn: which commands there are, how things stand, what the last turn did; and stopping one.

use metnos_log::{Event, EventId};
use metnos_projections::machines::actors;
use metnos_projections::machines::channels::Consent;
use metnos_projections::messages::Language;
use metnos_projections::views::turns::Summary;
use serde_json::json;

use super::chats::{Chat, Place, is_waiting_for_others, waiting};
use super::inbound::Said;
use super::{Bot, CHANNEL};
use crate::channel::outbox;
use crate::engine::{self, EngineError, Reply};
use crate::instance::{Instance, InstanceError, now};
use crate::why;

/// The commands that Telegram shows, by language.
const COMMANDS: [(&str, &str); 8] = [
    ("help", "aiuto"),
    ("status", "stato"),
    ("undo", "annulla"),
    ("why", "perche"),
    ("stop", "ferma"),
    ("schedules", "attivita"),
    ("approvals", "approvazioni"),
    ("language", "lingua"),
];
/// How many turns are looked at for the last one of a chat.
const LOOKED_AT_MAX: usize = 50;
/// How soon a question is not put again.
const AGAIN_EVERY_US: i64 = 60 * 1_000_000;

impl Bot {
    /// Tells Telegram which commands there are, when it does not know yet.
    pub(super) fn tell_commands(&self) {
        let named = |language: Language| {
            let name = |(en, it)| if language == Language::It { it } else { en };
            COMMANDS.map(|command| {
                (name(command), self.say(language, &format!("telegram.command_{}", command.0), &json!({})))
            })
        };
        let (en, it) = (named(Language::En), named(Language::It));
        let digest = blake3::hash(format!("{} {en:?} {it:?}", self.client.account()).as_bytes()).to_hex().to_string();
        let note = self.instance.dirs.data.join("telegram-commands");
        if std::fs::read_to_string(&note).is_ok_and(|told| told == digest) {
            return;
        }
        for (list, language) in [(&en, None), (&it, Some("it"))] {
            match self.until_leaving(self.client.set_my_commands(list, language)) {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    tracing::debug!(%error, "Telegram does not show the commands");
                    return;
                }
                None => return,
            }
        }
        if let Err(error) = std::fs::write(&note, digest) {
            tracing::debug!(%error, "the commands are told again next time");
        }
    }

    /// How things stand.
    pub(super) fn status(&self, instance: &Instance, chat: i64) -> String {
        let projected = instance.projected();
        let is_running = self.chats().keys().any(|(place, _)| *place == chat);
        let turns = projected.turns.iter().filter(|(_, turn)| instance.may_see(*turn)).count();
        let question = waiting(instance, &chat.to_string()).ok().flatten().and_then(|turn| turn.message);
        let values = json!({
            "running": is_running, "question": question, "autonomy": instance.autonomy(),
            "turns": turns, "version": env!("CARGO_PKG_VERSION"),
        });
        self.told(instance, "telegram.status", &values)
    }

    /// What the last turn of a chat did.
    pub(super) fn why(&self, instance: &Instance, chat: i64) -> String {
        let address = chat.to_string();
        let turns = instance.turns();
        let is_told =
            |turn: Summary<'_>| turn.channel == CHANNEL && turn.final_kind.is_some() && instance.may_see(turn);
        let here = turns.iter().rev().filter(|(_, turn)| is_told(*turn));
        let folded = here.take(LOOKED_AT_MAX).filter_map(|(id, _)| engine::folded(instance, id).ok());
        let mut of_chat =
            folded.filter(|turn| turn.opened.as_ref().and_then(|opened| opened.address.as_ref()) == Some(&address));
        match of_chat.next() {
            Some(turn) => why::told(instance, &turn, turn.language),
            None => self.told(instance, "chat.why_nothing", &json!({})),
        }
    }

    /// Sets the language of whoever says `/language it`; in that language.
    pub(super) fn language(&self, instance: &Instance, said: &Said<'_>) -> Result<String, InstanceError> {
        let wanted = said.text.split_whitespace().nth(1).map(str::to_lowercase);
        let wanted = wanted.as_deref().map(|word| match word {
            "english" | "inglese" => Some(Language::En),
            "italian" | "italiano" => Some(Language::It),
            code => Language::parse(code),
        });
        let Some(Some(language)) = wanted else {
            return Ok(self.told(instance, "telegram.which_language", &json!({})));
        };
        let (actor, code) = (instance.actor.clone(), language.code().to_owned());
        let set = actors::Command::SetLanguage { actor, language: code };
        Ok(match instance.change_actors(set)? {
            Ok(()) => self.say(language, "telegram.language", &json!({})),
            Err(rejection) => rejection.to_string(),
        })
    }

    /// Stops the turn that a person has running in a chat, which says so itself; else drops the question that is open there.
    /// What somebody else asked for there goes on.
    pub(super) fn stop(&self, instance: &Instance, said: &Said<'_>) -> Result<Option<String>, EngineError> {
        let chat = said.message.chat.id;
        if self.chats().get(&(chat, instance.actor.clone())).is_some_and(Chat::stop) {
            return Ok(None);
        }
        if let Some(turn) = waiting(instance, &chat.to_string())?
            && let Some(id) = turn.id
        {
            self.end_question(id, turn, &Reply::Withdrawn("person"))?;
            return Ok(Some(self.told(instance, "telegram.dropped", &json!({}))));
        }
        let is_theirs = |place: &Place| place.0 == chat && place.1 != instance.actor;
        let are_others = self.chats().keys().any(is_theirs) || is_waiting_for_others(instance, &chat.to_string())?;
        let key = if are_others { "telegram.others_run" } else { "telegram.nothing_runs" };
        Ok(Some(self.told(instance, key, &json!({}))))
    }

    /// Puts the questions that wait for somebody's button again where they ask; what is said beside, if anything. One that
    /// was put again just now stands right above.
    pub(super) fn put_again(&self, instance: &Instance, said: &Said<'_>) -> Result<Option<String>, InstanceError> {
        let chat = said.message.chat.id.to_string();
        let projected = instance.projected();
        let channel = projected.channels.get(CHANNEL);
        // What was asked in one chat is not told in another.
        let waiting = channel.waiting_for(&instance.actor, now()).into_iter();
        let waiting: Vec<&Consent> = waiting.filter(|consent| consent.address == chat).collect();
        let recently = |consent: &&&Consent| {
            let last = channel.put_again_at(&consent.bound);
            last.is_some_and(|last| (last..last.saturating_add(AGAIN_EVERY_US)).contains(&now().0))
        };
        let mut drafts = Vec::new();
        for consent in waiting.iter().filter(|consent| !recently(consent)) {
            if channel.is_crowded(&chat) {
                break;
            }
            let Some(message) = again(instance, consent, said.update)? else { continue };
            if let Some(replaced) = channel.replaced(&consent.bound) {
                let places = replaced.receipts.iter().map(|receipt| (replaced.address.clone(), *receipt));
                self.remove_keys(&places.collect::<Vec<_>>());
            }
            drafts.push(message.draft(instance, CHANNEL));
        }
        if !drafts.is_empty() {
            outbox::record(instance, drafts)?;
            return Ok(None);
        }
        let key = if waiting.is_empty() { "telegram.nothing_waits" } else { "telegram.waits_above" };
        Ok(Some(self.told(instance, key, &json!({ "count": waiting.len() }))))
    }
}

/// A question as it was put, for the update that wants it again; none where its text is gone.
fn again(instance: &Instance, consent: &Consent, update: EventId) -> Result<Option<outbox::Message>, InstanceError> {
    let reader = instance.log.reader();
    let Some(seq) = reader.seq_of(consent.id)? else { return Ok(None) };
    let Some(recorded) = reader.event(seq)? else { return Ok(None) };
    let Some(Event::MessageQueued(asked)) = reader.rehydrated(recorded)?.event().cloned() else { return Ok(None) };
    Ok(Some(outbox::Message {
        address: consent.address.clone(),
        purpose: "consent",
        text: asked.text.get().unwrap_or_default().to_owned(),
        buttons: asked.buttons,
        bound: asked.bound,
        for_event: Some(update),
        key: consent.id.to_string(),
        ..outbox::Message::default()
    }))
}

//! The person in a chat: asked by buttons, told how far a turn is by one message that is edited.

use std::time::Duration;

use metnos_log::TurnId;
use metnos_log::event::channel::{Bound, Button};
use metnos_projections::machines::turn::state::Asked;
use metnos_projections::messages::Language;
use serde_json::json;

use super::shown::Shown;
use super::{Bot, CHANNEL, after};
use crate::channel::outbox;
use crate::engine::{Answer, ELSEWHERE, Person};
use crate::instance::{Instance, now};
use crate::sandbox::{CancelFlag, Progress};
use crate::seats::Seat;

/// How long an answer is waited for (design 5-turn, «Recovery»).
const CONSENT_PATIENCE: Duration = Duration::from_mins(10);
/// How often a flag is looked at that cannot be waited for.
const STEP: Duration = Duration::from_millis(500);

/// Whoever wrote in a chat.
pub(super) struct Keyboard<'a> {
    pub bot: &'a Bot,
    pub instance: &'a Instance,
    pub chat: i64,
    pub turn: TurnId,
    pub cancel: CancelFlag,
    pub shown: Shown,
}

impl Person for Keyboard<'_> {
    fn consent(&self, _about: &str, _text: &str, _language: Language) -> Answer {
        // Nothing can be bound to a text alone.
        Answer::Nobody
    }

    fn consent_to(&self, asked: &Asked, language: Language, elsewhere: &Seat<'_>) -> Answer {
        let about = (asked, after(CONSENT_PATIENCE));
        let message = question(self.instance, &self.chat.to_string(), self.turn, about, language);
        let id = message.id();
        if let Err(error) = outbox::record(self.instance, vec![message.draft(self.instance, CHANNEL)]) {
            tracing::error!(%error, "a question is not put");
            return Answer::Later;
        }
        crate::faults::reach("asked_to_press");
        self.shown.hold(true);
        self.set_asking(true);
        let answer = self.awaited(id, elsewhere);
        self.set_asking(false);
        self.shown.hold(false);
        if let Answer::Yes(ELSEWHERE) | Answer::No(ELSEWHERE) = answer {
            self.tell_elsewhere(id, answer == Answer::Yes(ELSEWHERE), language);
        }
        if matches!(
            answer,
            Answer::Late | Answer::Cancelled | Answer::Nobody | Answer::Yes(ELSEWHERE) | Answer::No(ELSEWHERE)
        ) {
            self.bot.remove_keys(&self.bot.places(id));
        }
        answer
    }

    fn is_leaving(&self) -> bool {
        self.bot.is_leaving()
    }

    fn progress(&self, progress: &Progress) {
        let part = if progress.total > 0.0 {
            format!(" {:.0} %", 100.0 * progress.done / progress.total)
        } else {
            String::new()
        };
        self.shown.say(format!("{}{part}", progress.text));
    }

    fn starting(&self, tool: &str) {
        self.shown.say(tool.to_owned());
    }
}

/// The question with its buttons, for whoever the instance speaks for. Asked again, it is the same one.
pub(crate) fn question(
    instance: &Instance,
    address: &str,
    turn: TurnId,
    (asked, until): (&Asked, i64),
    language: Language,
) -> outbox::Message {
    let button = |id: &str| Button {
        id: id.to_owned(),
        label: instance.rules.messages.say(language, &format!("telegram.button_{id}"), json!({})),
    };
    let bound = Bound { turn, digest: asked.digest.clone(), approver: instance.actor.clone(), until };
    outbox::Message {
        address: address.to_owned(),
        purpose: "consent",
        text: asked.text.clone(),
        buttons: vec![button("yes"), button("no")],
        bound: Some(bound),
        for_event: Some(metnos_log::EventId(turn.0)),
        key: asked.digest.clone(),
        ..outbox::Message::default()
    }
}

impl Keyboard<'_> {
    /// Waits for a press that counts.
    fn awaited(&self, id: metnos_log::EventId, elsewhere: &Seat<'_>) -> Answer {
        let mut head = self.instance.log.watch();
        loop {
            head.borrow_and_update();
            // The head moves before the projections follow.
            if let Err(error) = self.instance.catch_up() {
                tracing::error!(%error, "a press cannot be seen");
                return Answer::Later;
            }
            let projected = self.instance.projected();
            let channel = projected.channels.get(CHANNEL);
            let is_unasked = channel.consent(id).is_some_and(|consent| channel.is_unasked(&consent.bound));
            match channel.consent(id).map(|consent| (channel.answer(&consent.bound), consent.bound.until)) {
                Some((Some("yes"), _)) => return Answer::Yes("telegram"),
                Some((Some(_), _)) => return Answer::No("telegram"),
                _ if self.is_leaving() => return Answer::Later,
                // It cannot be put, or nobody of this home reads where it was put.
                _ if is_unasked || channel.is_revoked(&self.chat.to_string()) => return Answer::Nobody,
                _ if self.cancel.is_raised() => return Answer::Cancelled,
                Some((None, until)) if now().0 < until => {
                    if let Some(answer) = elsewhere.take().as_ref().and_then(Answer::elsewhere) {
                        return answer;
                    }
                }
                Some(_) | None => return Answer::Late,
            }
            self.bot.around.runtime.block_on(async {
                tokio::select! {
                    _ = head.changed() => {}
                    () = tokio::time::sleep(STEP) => {}
                }
            });
        }
    }

    /// Says below a question that it was answered in another place.
    fn tell_elsewhere(&self, id: metnos_log::EventId, is_yes: bool, language: Language) {
        let values = json!({ "answer": if is_yes { "yes" } else { "no" } });
        let text = self.instance.rules.messages.say(language, "telegram.answered_elsewhere", &values);
        let notice = outbox::Message {
            address: self.chat.to_string(),
            purpose: "notice",
            text,
            for_event: Some(id),
            key: "elsewhere".to_owned(),
            ..outbox::Message::default()
        };
        if let Err(error) = outbox::record(self.instance, vec![notice.draft(self.instance, CHANNEL)]) {
            tracing::warn!(%error, "it is not told that a question was answered elsewhere");
        }
    }

    fn set_asking(&self, is_asking: bool) {
        if let Some(chat) = self.bot.chats().get_mut(&(self.chat, self.instance.actor.clone())) {
            chat.is_asking = is_asking;
        }
    }
}

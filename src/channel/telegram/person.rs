//! The person in a chat: asked by buttons, told how far a turn is by one message that is edited.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metnos_log::TurnId;
use metnos_log::event::channel::{Bound, Button};
use metnos_projections::machines::turn::state::Asked;
use metnos_projections::messages::Language;
use metnos_projections::rules::markup;
use serde_json::json;
use tokio::sync::Notify;

use super::{Bot, CHANNEL, after};
use crate::channel::outbox;
use crate::engine::{Answer, Person};
use crate::instance::{Instance, now};
use crate::sandbox::{CancelFlag, Progress};

/// How long an answer is waited for (design 5-turn, «Recovery»).
const CONSENT_PATIENCE: Duration = Duration::from_mins(10);
/// How often a flag is looked at that cannot be waited for.
const STEP: Duration = Duration::from_millis(500);
/// Only a turn that takes longer shows how far it is, and that not more often than this.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
const SHOWN_EVERY: Duration = Duration::from_secs(1);

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

    fn consent_to(&self, asked: &Asked, language: Language) -> Answer {
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
        let answer = self.awaited(id);
        self.set_asking(false);
        self.shown.hold(false);
        if matches!(answer, Answer::Late | Answer::Cancelled) {
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
    fn awaited(&self, id: metnos_log::EventId) -> Answer {
        let mut head = self.instance.log.watch();
        loop {
            head.borrow_and_update();
            // The head moves before the projections follow.
            if let Err(error) = self.instance.catch_up() {
                tracing::error!(%error, "a press cannot be seen");
                return Answer::Later;
            }
            let projected = self.instance.projected();
            let consent = projected.channels.get(CHANNEL).consent(id);
            match consent.map(|consent| (consent.pressed.as_deref(), consent.bound.until)) {
                Some((Some("yes"), _)) => return Answer::Yes("telegram"),
                Some((Some(_), _)) => return Answer::No("telegram"),
                _ if self.is_leaving() => return Answer::Later,
                _ if self.cancel.is_raised() => return Answer::Cancelled,
                Some((None, until)) if now().0 < until => {}
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

    fn set_asking(&self, is_asking: bool) {
        if let Some(chat) = self.bot.chats().get_mut(&self.chat) {
            chat.is_asking = is_asking;
        }
    }
}

/// The one message that shows how far a turn is; taken away at its end. Nothing of it is on record: it says nothing that
/// the answer does not say.
pub(super) struct Shown {
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    line: Mutex<Line>,
    over: Notify,
}

#[derive(Default)]
struct Line {
    text: String,
    /// Whether the person is asked something: then nothing is going on.
    is_held: bool,
}

impl Shown {
    pub(super) fn begin(bot: &Bot, chat: i64, language: Language) -> Self {
        let state = Arc::new(State::default());
        let (client, shown, instance) = (bot.client.clone(), Arc::clone(&state), bot.instance.clone());
        bot.around.runtime.spawn(async move {
            let mut message = None;
            let mut said = String::new();
            let mut pause = SHOWN_AFTER;
            let chat = chat.to_string();
            while tokio::time::timeout(pause, shown.over.notified()).await.is_err() {
                pause = SHOWN_EVERY;
                let (what, is_held) = shown.now();
                let text = instance.rules.messages.say(language, "telegram.working", json!({ "what": what }));
                if is_held || text == said {
                    continue;
                }
                let text = markup::escape(&text);
                let done = match message {
                    None => client.send_message(&chat, &text, &[], None).await.map(|id| message = Some(id)),
                    Some(id) => client.edit_text(&chat, id, &text).await,
                };
                if let Err(error) = done {
                    tracing::debug!(%error, "progress is not shown");
                }
                said = text;
            }
            if let Some(message) = message
                && let Err(error) = client.delete_message(&chat, message).await
            {
                tracing::debug!(%error, "a message about progress stays");
            }
        });
        Self { state }
    }

    fn say(&self, text: String) {
        self.state.line.lock().unwrap_or_else(PoisonError::into_inner).text = text;
    }

    fn hold(&self, is_held: bool) {
        self.state.line.lock().unwrap_or_else(PoisonError::into_inner).is_held = is_held;
    }
}

impl State {
    fn now(&self) -> (String, bool) {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        (line.text.chars().take(200).collect(), line.is_held)
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.state.over.notify_one();
    }
}

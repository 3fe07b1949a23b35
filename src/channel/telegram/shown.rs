//! The one message that shows how far a turn is: edited while it is at work, taken away at its end, and by a later process
//! where this one did not come to it.
//!
//! On record is that it is there and that it is gone, not what it says: it says nothing that the answer does not say.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metnos_log::TurnId;
use metnos_log::event::channel::{ProgressRemoved, ProgressShown};
use metnos_projections::messages::Language;
use metnos_projections::rules::markup;
use serde_json::json;
use tokio::sync::Notify;

use super::{Bot, CHANNEL, Client, TelegramError};
use crate::channel::outbox;
use crate::instance::Instance;

/// How often it is changed at most.
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// Turns of which this process shows how far they are.
pub(super) type Showing = Arc<Mutex<BTreeSet<TurnId>>>;

fn turns(showing: &Showing) -> MutexGuard<'_, BTreeSet<TurnId>> {
    showing.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows how far a turn is, for as long as it lives.
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

/// What shows it.
struct Showman {
    client: Client,
    instance: Instance,
    chat: String,
    turn: TurnId,
    language: Language,
    state: Arc<State>,
}

impl Shown {
    pub(super) fn begin(bot: &Bot, chat: i64, turn: TurnId, instance: &Instance) -> Self {
        let state = Arc::new(State::default());
        let showman = Showman {
            client: bot.client.clone(),
            instance: instance.clone(),
            chat: chat.to_string(),
            turn,
            language: instance.language(),
            state: Arc::clone(&state),
        };
        let showing = Arc::clone(&bot.showing);
        turns(&showing).insert(turn);
        bot.around.runtime.spawn(async move {
            showman.show().await;
            turns(&showing).remove(&turn);
        });
        Self { state }
    }

    pub(super) fn say(&self, text: String) {
        self.state.line.lock().unwrap_or_else(PoisonError::into_inner).text = text;
    }

    pub(super) fn hold(&self, is_held: bool) {
        self.state.line.lock().unwrap_or_else(PoisonError::into_inner).is_held = is_held;
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.state.over.notify_one();
    }
}

impl State {
    fn now(&self) -> (String, bool) {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        (line.text.chars().take(200).collect(), line.is_held)
    }
}

impl Showman {
    async fn show(&self) {
        let mut message = None;
        let mut said = String::new();
        let mut pause = Duration::from_secs(self.instance.settings.telegram.progress_s);
        while tokio::time::timeout(pause, self.state.over.notified()).await.is_err() {
            pause = SHOWN_EVERY;
            let (what, is_held) = self.state.now();
            let text = self.instance.rules.messages.say(self.language, "telegram.working", json!({ "what": what }));
            let is_revoked = self.instance.projected().channels.get(CHANNEL).is_revoked(&self.chat);
            if is_held || is_revoked || text == said {
                continue;
            }
            let text = markup::escape(&text);
            let done = match message {
                None => self.begun(&text).await.map(|id| message = Some(id)),
                Some(id) => self.client.edit_text(&self.chat, id, &text).await,
            };
            if let Err(error) = done {
                tracing::debug!(%error, "progress is not shown");
            }
            said = text;
        }
        if let Some(message) = message {
            take_away(&self.client, &self.instance, &self.chat, message).await;
        }
    }

    /// Puts it into the chat. Between that and its record lies the one moment at which a kill leaves it for good.
    async fn begun(&self, text: &str) -> Result<i64, TelegramError> {
        let receipt = self.client.send_message(&self.chat, text, &[], None).await?;
        let id = outbox::derived(self.turn.0, &[b"shown", &receipt.to_be_bytes()]);
        let shown = ProgressShown { address: self.chat.clone(), receipt, turn: self.turn };
        record(&self.instance, outbox::draft(&self.instance, CHANNEL, id, shown)).await;
        Ok(receipt)
    }
}

/// Takes such a message away, and says so on record where it is gone. Where Telegram cannot be reached it stays on record.
async fn take_away(client: &Client, instance: &Instance, chat: &str, receipt: i64) {
    match client.delete_message(chat, receipt).await {
        Ok(()) => {}
        // It is gone, or too old to be taken away, or nobody reads there.
        Err(TelegramError::Refused(reason) | TelegramError::Blocked(reason)) => {
            tracing::debug!(reason, "a message about progress stays");
        }
        Err(error) => {
            tracing::debug!(%error, "a message about progress stays for now");
            return;
        }
    }
    let gone = ProgressRemoved { address: chat.to_owned(), receipt };
    let id = metnos_log::EventId::new(crate::instance::now(), crate::instance::random());
    record(instance, outbox::draft(instance, CHANNEL, id, gone)).await;
}

/// An append waits for the disk, so it is made where waiting is no harm.
async fn record(instance: &Instance, draft: metnos_log::Draft) {
    let instance = instance.clone();
    let recorded = tokio::task::spawn_blocking(move || outbox::record(&instance, vec![draft])).await;
    match recorded {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "where progress is shown is not on record"),
        Err(error) => tracing::warn!(%error, "where progress is shown is not on record"),
    }
}

impl Bot {
    /// Takes away what turns showed that this process is not at: those of a process that was killed, or could not reach
    /// Telegram at their end.
    pub(super) fn take_leftovers_away(&self) {
        let projected = self.instance.projected();
        let left = projected.channels.get(CHANNEL).shown.values();
        let left: Vec<_> = left.filter(|shown| !turns(&self.showing).contains(&shown.turn)).cloned().collect();
        for shown in left {
            let gone = take_away(&self.client, &self.instance, &shown.address, shown.receipt);
            if self.until_leaving(gone).is_none() {
                return;
            }
        }
    }
}

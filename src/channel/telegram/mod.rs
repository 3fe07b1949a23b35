//! Telegram: each update is an event before it is confirmed, each message an intent with a receipt.
//!
//! One thread asks for updates, one sends what is to be said, and each person who asks something in a chat has
//! one for their turns there, in order. All that must not be lost is in the log: whoever starts next goes on where this process ended.

mod chats;
mod client;
mod commands;
mod documents;
mod inbound;
mod keys;
mod link;
mod mentions;
mod person;
mod poll;
mod presses;
mod refused;
mod sender;
mod shown;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metnos_log::redact::Secret;
use metnos_log::{Draft, EventId};
use metnos_projections::messages::Language;
use serde_json::Value;

use super::outbox;
use crate::instance::{Instance, InstanceError, now};
use crate::service::{Around, Service};
use chats::{Chat, Place};
pub use client::{Client, TelegramError, is_token};
pub use link::{Link, link};
pub(crate) use person::question;
use shown::Showing;
use wire::{Me, User};

/// The channel's name in events, and that of the credential that holds the bot's token.
pub const CHANNEL: &str = "telegram";
/// The first and the longest pause after a failure.
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_mins(1);
/// The longest silence that a server may ask for.
const SILENCE_MAX: Duration = Duration::from_hours(1);
/// As much as the first thread of a process has: turns run on these.
const STACK_BYTES: usize = 8 << 20;

/// The service. Without a token it waits until one is stored.
pub struct Telegram;

/// One bot at work.
struct Bot {
    around: Around,
    instance: Instance,
    client: Client,
    /// As which this bot was begun: another change of credentials begins it anew.
    changes: u64,
    me: Me,
    /// The key that buttons are derived with.
    button_key: [u8; 32],
    /// What each person has under way in each chat.
    chats: Mutex<BTreeMap<Place, Chat>>,
    /// Whether the token is refused: then nothing is sent.
    is_refused: AtomicBool,
    /// Updates that some thread of this process has.
    taken: Mutex<BTreeSet<u64>>,
    showing: Showing,
}

impl Service for Telegram {
    fn name(&self) -> &'static str {
        CHANNEL
    }

    fn run(&self, around: &Around) {
        while !around.stop.is_raised() {
            let changes = around.instance.credential_changes();
            match around.instance.credential(CHANNEL) {
                Some(token) => {
                    let served = std::panic::AssertUnwindSafe(|| serve(around, token, changes));
                    if std::panic::catch_unwind(served).is_err() {
                        // A fault of the program: the log has everything that was not done yet.
                        tracing::error!("Telegram is served anew");
                        around.wait(PAUSE_MAX);
                        continue;
                    }
                }
                None => link::set(Link::Off),
            }
            // Either that is over because of a change, or only a change makes it worth another try.
            around.until_stopped(changed(&around.instance, changes));
        }
    }
}

/// Comes back when a credential was stored or forgotten since there were so many changes.
async fn changed(instance: &Instance, changes: u64) {
    let mut head = instance.log.watch();
    while instance.credential_changes() == changes {
        if head.changed().await.is_err() {
            // The log takes no event any more; the daemon is about to end.
            std::future::pending::<()>().await;
        }
    }
}

/// Serves one bot until the daemon ends or the token changes.
fn serve(around: &Around, token: Secret, changes: u64) {
    link::set(Link::Connecting);
    let client = match Client::new(&around.instance.settings.telegram.base_url, token) {
        Ok(client) => client,
        Err(error) => {
            tracing::warn!(%error, "Telegram is off until another token is stored: metnos connect telegram");
            return link::set(Link::failing(&error));
        }
    };
    let Some(me) = refused::greeted(around, &client, changes) else { return };
    let bot = Bot {
        instance: around.instance.clone(),
        button_key: around.instance.keys.derived("metnos button key v1"),
        around: around.clone(),
        client,
        changes,
        me,
        chats: Mutex::default(),
        is_refused: AtomicBool::new(false),
        taken: Mutex::default(),
        showing: Showing::default(),
    };
    bot.tell_commands();
    std::thread::scope(|scope| {
        let sends = std::thread::Builder::new().name("telegram-sends".to_owned());
        match sends.spawn_scoped(scope, || bot.send_all()) {
            Ok(_) => bot.poll(scope),
            Err(error) => tracing::error!(%error, "no thread to send with"),
        }
        bot.leave();
    });
}

impl Around {
    /// What a request brings, or nothing when the daemon ends before.
    fn until_stopped<T>(&self, request: impl Future<Output = T>) -> Option<T> {
        self.runtime.block_on(async {
            tokio::select! { done = request => Some(done), () = self.stop.raised() => None }
        })
    }
}

impl Bot {
    fn chats(&self) -> MutexGuard<'_, BTreeMap<Place, Chat>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn taken(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this process goes on with this bot.
    fn is_leaving(&self) -> bool {
        self.around.stop.is_raised() || self.instance.credential_changes() != self.changes
    }

    /// Comes back when [`Self::is_leaving`].
    async fn leaving(&self) {
        tokio::select! {
            () = self.around.stop.raised() => {}
            () = changed(&self.instance, self.changes) => {}
        }
    }

    /// What a request brings, or nothing when this bot is left before.
    fn until_leaving<T>(&self, request: impl Future<Output = T>) -> Option<T> {
        self.around.runtime.block_on(async {
            tokio::select! { done = request => Some(done), () = self.leaving() => None }
        })
    }

    /// Waits; `true` when this bot is left.
    fn wait(&self, time: Duration) -> bool {
        self.until_leaving(async { tokio::time::sleep(time).await }).is_none()
    }

    /// Stops what runs without an end: whoever serves next goes on with it.
    fn leave(&self) {
        for chat in self.chats().values() {
            chat.leave();
        }
    }

    /// Looks whose address it is, before anything that they wrote is looked at.
    fn actor(&self, sender: i64) -> Option<String> {
        self.instance.actors().at(CHANNEL, &sender.to_string()).map(str::to_owned)
    }

    /// The instance as a person has it, in the language of their app where none was set for them.
    fn of(&self, actor: &str, app: Option<&User>) -> Instance {
        let mut instance = self.instance.as_actor(actor);
        let language = app.and_then(|app| Language::parse(app.language_code.as_deref()?));
        instance.settings.language = language.or(instance.settings.language);
        instance
    }

    fn say(&self, language: Language, key: &str, values: &Value) -> String {
        self.instance.rules.messages.say(language, key, values)
    }

    /// The end of an update, for the log.
    fn settled(&self, update: EventId, outcome: &str) -> Draft {
        let settled = metnos_log::event::channel::UpdateSettled { update, outcome: outcome.to_owned() };
        outbox::draft(&self.instance, CHANNEL, outbox::derived(update.0, &[b"settled"]), settled)
    }

    /// Says something for an update, which is settled with it.
    fn answer(&self, update: EventId, outcome: &str, message: outbox::Message) -> Result<(), InstanceError> {
        let message = outbox::Message { for_event: Some(update), ..message };
        // Whoever writes commands faster than they can be answered hears nothing but what they asked to be done.
        if outcome == "command" && self.instance.projected().channels.get(CHANNEL).is_crowded(&message.address) {
            return self.settle(update, "crowded");
        }
        outbox::record(&self.instance, vec![message.draft(&self.instance, CHANNEL), self.settled(update, outcome)])
    }
}

/// Pauses that grow from failure to failure, with a part by chance so that many do not come back at once.
#[derive(Default)]
struct Pause {
    failures: u32,
}

impl Pause {
    fn next(&mut self, error: &TelegramError) -> Duration {
        if let TelegramError::TooMany(seconds) = error {
            return Duration::from_secs(*seconds).min(SILENCE_MAX);
        }
        let base = PAUSE_MIN.saturating_mul(1 << self.failures.min(10)).min(PAUSE_MAX);
        self.failures += 1;
        let [chance] = crate::instance::random::<1>();
        base / 2 + base / 2 * u32::from(chance) / 255
    }

    fn over(&mut self) {
        self.failures = 0;
    }
}

/// The moment until which something counts.
fn after(time: Duration) -> i64 {
    now().0.saturating_add(i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_keep_to_what_was_asked_for() {
        let (mut pause, broken) = (Pause::default(), TelegramError::Unreachable(String::new()));
        let pauses: Vec<Duration> = (0..12).map(|_| pause.next(&broken)).collect();
        assert!(pauses[0] <= PAUSE_MIN && pauses[11] >= PAUSE_MAX / 2 && pauses.iter().all(|time| *time <= PAUSE_MAX));
        assert_eq!(pause.next(&TelegramError::TooMany(7)), Duration::from_secs(7));
        assert_eq!(pause.next(&TelegramError::TooMany(u64::MAX)), SILENCE_MAX);
        pause.over();
        assert!(pause.next(&broken) <= PAUSE_MIN);
    }
}

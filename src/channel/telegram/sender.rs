//! Sends what is to be said: in order within a chat, each piece once, and again only where nobody knows whether it came
//! through.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use metnos_log::event::channel::{DeliveryFailed, DeliveryStarted, MessageMaybeSent, MessageQueued, MessageSent};
use metnos_log::{Event, EventId, Kept};
use metnos_projections::machines::channels::Outgoing;
use metnos_projections::rules::markup::{UNITS_MAX, escape, marked, pieces};
use serde_json::json;

use super::client::Key;
use super::{Bot, CHANNEL, Pause, TelegramError, keys};
use crate::anchoring;
use crate::channel::outbox;
use crate::instance::{InstanceError, now, random};

/// The most pieces that a text is sent in; a longer one is sent as a file.
const PIECES_MAX: usize = 3;
/// How much of a text that is sent as a file stands below it.
const CAPTION_UNITS: usize = 600;
/// How long a chat is left alone after a message: in a private one, and where others are.
const PRIVATE_EVERY: Duration = Duration::from_secs(1);
const GROUP_EVERY: Duration = Duration::from_secs(3);
/// How many messages a chat takes at once, and the bot in a second.
const BURST: u32 = 10;
const ALL_EVERY: Duration = Duration::from_millis(34);
/// A text that is erased or empty.
const EMPTY: &str = "…";

/// When each chat takes the next message.
#[derive(Default)]
struct Pace {
    /// When a chat would have had all its messages, one at a time.
    due: BTreeMap<String, Instant>,
    held: BTreeMap<String, Instant>,
    all: Option<Instant>,
    pause: Pause,
}

impl Pace {
    fn every(address: &str) -> Duration {
        if address.starts_with('-') { GROUP_EVERY } else { PRIVATE_EVERY }
    }

    /// When a chat takes the next message.
    fn ready(&self, address: &str, now: Instant) -> Instant {
        let ahead = Self::every(address) * (BURST - 1);
        let paced = self.due.get(address).and_then(|due| due.checked_sub(ahead));
        let held = self.held.get(address).copied();
        [paced, held, self.all].into_iter().flatten().max().unwrap_or(now).max(now)
    }

    fn sent(&mut self, address: &str, now: Instant) {
        let due = self.due.get(address).copied().unwrap_or(now).max(now) + Self::every(address);
        self.due.insert(address.to_owned(), due);
        self.due.retain(|_, due| *due > now);
        self.held.remove(address);
        self.all = Some(now + ALL_EVERY);
        self.pause.over();
    }

    fn failed(&mut self, address: &str, error: &TelegramError, now: Instant) {
        let until = now + self.pause.next(error);
        match error {
            TelegramError::TooMany(_) => {
                self.held.insert(address.to_owned(), until);
            }
            _ => self.all = Some(until),
        }
    }
}

impl Bot {
    /// Sends until this bot is left.
    pub(super) fn send_all(&self) {
        if let Err(error) = self.doubt_what_was_begun() {
            tracing::error!(%error, "nothing is sent");
            return;
        }
        let mut pace = Pace::default();
        let mut head = self.instance.log.watch();
        while !self.is_leaving() {
            head.borrow_and_update();
            // The head moves before the projections follow.
            if let Err(error) = self.instance.catch_up() {
                tracing::error!(%error, "nothing is sent");
                return;
            }
            if self.is_token_refused() {
                if self.wait(Duration::from_secs(1)) {
                    return;
                }
                continue;
            }
            let next = self.next(&pace);
            if let Some((at, seq, message)) = &next
                && *at <= Instant::now()
            {
                if let Err(error) = self.send_next(&mut pace, *seq, message) {
                    tracing::error!(%error, "a message is not sent");
                    if self.wait(Duration::from_secs(1)) {
                        return;
                    }
                }
                continue;
            }
            let until = next.map(|(at, ..)| at);
            self.until_leaving(async {
                let timer = async {
                    match until {
                        Some(until) => tokio::time::sleep_until(until.into()).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! { _ = head.changed() => {} () = timer => {} }
            });
        }
    }

    /// What the process before was about to send may have been sent.
    fn doubt_what_was_begun(&self) -> Result<(), InstanceError> {
        let projected = self.instance.projected();
        let begun = projected.channels.get(CHANNEL).outbox.values().filter(|message| message.is_started);
        let doubted = begun.map(|message| self.maybe(message, "restart".to_owned())).collect();
        outbox::record(&self.instance, doubted)
    }

    /// The message that can be sent first, and when: the oldest of each chat.
    fn next(&self, pace: &Pace) -> Option<(Instant, u64, Outgoing)> {
        let projected = self.instance.projected();
        let mut first: BTreeMap<&str, (u64, &Outgoing)> = BTreeMap::new();
        for (seq, message) in &projected.channels.get(CHANNEL).outbox {
            first.entry(&message.address).or_insert((*seq, message));
        }
        let now = Instant::now();
        let ready = first.into_values().map(|(seq, message)| (pace.ready(&message.address, now), seq, message));
        ready.min_by_key(|(at, seq, _)| (*at, *seq)).map(|(at, seq, message)| (at, seq, message.clone()))
    }

    /// Sends one piece and records what became of it.
    fn send_next(&self, pace: &mut Pace, seq: u64, message: &Outgoing) -> Result<(), InstanceError> {
        let Some(queued) = self.queued(seq)? else { return self.record(self.failed(message, "refused", "it is gone")) };
        let whole = marked(queued.text.get().unwrap_or_default(), queued.is_fixed);
        let mut cut = pieces(&whole, UNITS_MAX);
        if cut.is_empty() {
            cut.push(EMPTY.to_owned());
        }
        let is_file = cut.len() > PIECES_MAX;
        let count = if is_file { 1 } else { cut.len() };
        if !self.starts(seq, message)? {
            return Ok(());
        }
        let sent = if is_file {
            self.around.runtime.block_on(self.send_as_file(message, &queued))
        } else {
            let piece = cut.get(message.piece as usize).map_or(EMPTY, String::as_str);
            let is_last = message.piece as usize + 1 == count;
            self.around.runtime.block_on(self.send_piece(message, &queued, piece, is_last))
        };
        let time = Instant::now();
        crate::faults::reach("send_to_receipt");
        let mut arrived = None;
        let outcome = match sent {
            Ok(receipt) => {
                pace.sent(&message.address, time);
                let pieces = u32::try_from(count).unwrap_or(u32::MAX);
                let is_last = u64::from(message.piece) + 1 == count as u64;
                arrived = is_last.then(|| anchoring::arrived(&self.instance, message.id, &queued)).flatten();
                let sent = MessageSent { message: message.id, piece: message.piece, pieces, receipt };
                outbox::draft(&self.instance, CHANNEL, fresh(), sent)
            }
            Err(TelegramError::Blocked(reason)) => self.failed(message, "blocked", &reason),
            Err(TelegramError::Moved(to)) => match self.moved(&message.address, to) {
                // It is said where the group is now; nothing was sent where it was.
                Some(moved) => moved,
                None => self.failed(message, "refused", "the group is nowhere"),
            },
            Err(TelegramError::Refused(reason)) => self.failed(message, "refused", &reason),
            Err(error @ TelegramError::Broken(_)) => {
                pace.failed(&message.address, &error, time);
                self.maybe(message, error.to_string())
            }
            Err(error) => {
                // Nothing was sent; the intent stands.
                pace.failed(&message.address, &error, time);
                return Ok(());
            }
        };
        outbox::record(&self.instance, [outcome].into_iter().chain(arrived).collect())?;
        self.remove_late_keys(message.id, &queued);
        Ok(())
    }

    /// A question may be over by the time that it is known where it stands: whoever ended it could not take its buttons away.
    fn remove_late_keys(&self, message: EventId, queued: &MessageQueued) {
        let is_over = || {
            let projected = self.instance.projected();
            let channel = projected.channels.get(CHANNEL);
            channel.consent(message).is_some_and(|consent| consent.is_over || consent.bound.until <= now().0)
        };
        if queued.purpose == "consent" && self.instance.catch_up().is_ok() && is_over() {
            self.remove_keys(&self.places(message));
        }
    }

    /// Puts the intent to send a piece on record; `false` where the message is not to be sent any more.
    fn starts(&self, seq: u64, message: &Outgoing) -> Result<bool, InstanceError> {
        let started = DeliveryStarted { message: message.id, piece: message.piece };
        let mut is_wanted = false;
        let intent = self.instance.append_decided(|projected| {
            is_wanted = projected.channels.get(CHANNEL).outbox.contains_key(&seq);
            let is_begun = message.is_started || !is_wanted;
            let intent = (!is_begun).then(|| outbox::draft(&self.instance, CHANNEL, fresh(), started));
            Ok::<_, std::convert::Infallible>(intent.into_iter().collect())
        })?;
        match intent {
            Ok(()) => {}
            Err(never) => match never {},
        }
        if is_wanted && !message.is_started {
            crate::faults::reach("intent_to_send");
        }
        Ok(is_wanted)
    }

    fn queued(&self, seq: u64) -> Result<Option<MessageQueued>, InstanceError> {
        let reader = self.instance.log.reader();
        let Some(recorded) = reader.event(seq)? else { return Ok(None) };
        Ok(match reader.rehydrated(recorded)?.event() {
            Some(Event::MessageQueued(queued)) => Some(queued.clone()),
            _ => None,
        })
    }

    /// Sends a piece; the last one has the buttons, a repeated one says that it may be one.
    async fn send_piece(
        &self,
        message: &Outgoing,
        queued: &MessageQueued,
        piece: &str,
        is_last: bool,
    ) -> Result<i64, TelegramError> {
        let address = message.address.as_str();
        let text = format!("{}{piece}", self.mark(message, queued));
        let key = |button: &metnos_log::event::channel::Button| -> Key {
            (button.label.clone(), keys::nonce(&self.button_key, message.id, &button.id))
        };
        let row: Vec<Key> = if is_last { queued.buttons.iter().map(key).collect() } else { Vec::new() };
        let reply_to = queued.reply_to.filter(|_| message.piece == 0);
        self.client.send_message(address, &text, &row, reply_to).await
    }

    async fn send_as_file(&self, message: &Outgoing, queued: &MessageQueued) -> Result<i64, TelegramError> {
        let text = queued.text.get().unwrap_or_default();
        let beginning = pieces(&escape(text), CAPTION_UNITS).into_iter().next().unwrap_or_default();
        let caption = format!("{}{beginning} […]", self.mark(message, queued));
        self.client.send_document(&message.address, ("answer.txt", text.as_bytes()), &caption).await
    }

    /// What is said before a piece that may have been sent already. A question is the same question however often it comes.
    fn mark(&self, message: &Outgoing, queued: &MessageQueued) -> String {
        if message.repeats == 0 || queued.purpose == "consent" {
            return String::new();
        }
        let address = queued.address.as_str();
        let actor = self.instance.actors().at(CHANNEL, address).map(str::to_owned);
        let instance = actor.map_or_else(|| self.instance.clone(), |actor| self.instance.as_actor(&actor));
        format!("<i>{}</i>\n", escape(&self.told(&instance, "telegram.repeated", &json!({}))))
    }

    fn maybe(&self, message: &Outgoing, why: String) -> metnos_log::Draft {
        let maybe = MessageMaybeSent { message: message.id, piece: message.piece, why };
        outbox::draft(&self.instance, CHANNEL, fresh(), maybe)
    }

    fn failed(&self, message: &Outgoing, class: &str, reason: &str) -> metnos_log::Draft {
        tracing::warn!(class, reason, "a message cannot be sent");
        let (class, reason) = (class.to_owned(), Kept::text(reason));
        outbox::draft(&self.instance, CHANNEL, fresh(), DeliveryFailed { message: message.id, class, reason })
    }

    fn record(&self, draft: metnos_log::Draft) -> Result<(), InstanceError> {
        outbox::record(&self.instance, vec![draft])
    }
}

fn fresh() -> EventId {
    EventId::new(now(), random())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_takes_a_few_at_once_and_then_one_at_a_time() {
        let (mut pace, begin) = (Pace::default(), Instant::now());
        let ready = |pace: &Pace, address: &str| pace.ready(address, begin).saturating_duration_since(begin);
        for _ in 0..BURST {
            assert!(ready(&pace, "7") <= ALL_EVERY);
            pace.sent("7", begin);
        }
        assert_eq!(ready(&pace, "7"), PRIVATE_EVERY);
        assert!(ready(&pace, "8") <= ALL_EVERY, "another chat need not wait");
        // Silence that was asked for is kept to the second, by that chat alone.
        pace.failed("8", &TelegramError::TooMany(30), begin);
        assert_eq!(ready(&pace, "8"), Duration::from_secs(30));
        assert!(ready(&pace, "9") <= ALL_EVERY);
        pace.failed("9", &TelegramError::Unreachable(String::new()), begin);
        assert!(ready(&pace, "10") > Duration::ZERO, "a network that is down is down for all");
    }
}

//! What came over channels and is not done yet, what is still to be said there, and which buttons count.
//!
//! Holds no text of anybody: texts stay in the events. How a channel is spoken with is none of its business.

use std::collections::{BTreeMap, BTreeSet};

use metnos_log::event::channel::{Bound, MessageQueued};
use metnos_log::{Event, EventId, Micros, Recorded, TurnId};
use serde::{Deserialize, Serialize};

use crate::projection::Projection;

/// How many updates are remembered to tell a second one of the same number, and buttons and strangers to know them again.
const UPDATES_KEPT: usize = 1024;
/// How many messages put one question, and how many questions that are over are remembered of each person.
const REPEATS_KEPT: usize = 8;
const OVER_KEPT: usize = 64;
const STRANGERS_KEPT: usize = 1024;
/// How much a stranger is told in how long.
const STRANGER_LINES: u32 = 3;
const STRANGER_EVERY_US: i64 = 3600 * 1_000_000;
/// With so many messages on their way to one address, what is only a repetition is not added to them.
const CROWD: usize = 100;
/// Numbers of updates may begin anew after a week's silence; a server keeps what was not taken for a day at most.
pub const SAME_SERIES_US: i64 = 6 * 24 * 3600 * 1_000_000;

/// All channels by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Channels {
    /// Each of them.
    pub channels: BTreeMap<String, Channel>,
}

/// One channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Channel {
    /// The updates that came, by account.
    pub updates: BTreeMap<String, Series>,
    /// Updates that are not settled, in the order of their events.
    pub pending: BTreeMap<u64, Pending>,
    /// Messages that are neither sent nor failed, in the order in which they are to be said.
    pub outbox: BTreeMap<u64, Outgoing>,
    /// Messages with buttons, newest last.
    pub consents: BTreeMap<u64, Consent>,
    /// What strangers were told.
    pub strangers: BTreeMap<String, Told>,
    /// How the newest message that could not be sent failed.
    pub failed: Option<String>,
    /// Messages that show that a turn is at work, as far as they are not gone.
    #[serde(default)]
    pub shown: BTreeMap<u64, Shown>,
    /// Where chats went that have another address now.
    #[serde(default)]
    pub moved: BTreeMap<String, String>,
    /// Addresses that were somebody's and are nobody's.
    pub revoked: BTreeSet<String>,
}

/// The updates of one account since their numbers began. Which of them are the oldest is told by the order of the log: the
/// clock may have been set back since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Where in the log each number is.
    pub numbers: BTreeMap<i64, u64>,
    /// When the last of them came, by the clock of then.
    pub last: i64,
}

/// How often somebody whom nobody knows was told something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Where in the log the last time is.
    pub seq: u64,
    /// When the first one of these was, by the clock of then.
    pub since: i64,
    /// How many since.
    pub lines: u32,
}

/// A message that shows that a turn is at work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// Where.
    pub address: String,
    /// The channel's number of it.
    pub receipt: i64,
    /// The turn.
    pub turn: TurnId,
}

/// An update that is not settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// Its event.
    pub id: EventId,
    /// Where it came from.
    pub address: Option<String>,
    /// The turn that it led to.
    pub turn: Option<TurnId>,
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outgoing {
    /// Its event.
    pub id: EventId,
    /// Where to.
    pub address: String,
    /// What for.
    pub purpose: String,
    /// The piece that is next.
    pub piece: u32,
    /// Whether that piece's intent has no outcome.
    pub is_started: bool,
    /// How often it was unknown whether that piece was sent.
    pub repeats: u32,
}

/// A message with buttons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Consent {
    /// Its event.
    pub id: EventId,
    /// Where it is.
    pub address: String,
    /// What its buttons agree to.
    pub bound: Bound,
    /// Its buttons.
    pub buttons: Vec<String>,
    /// The button that counted.
    pub pressed: Option<String>,
    /// When it was to be put.
    pub time: i64,
    /// Whether it cannot be sent.
    pub is_failed: bool,
    /// Whether it takes no answer any more: its turn went on, or its address is nobody's.
    pub is_over: bool,
    /// The channel's numbers of it.
    pub receipts: Vec<i64>,
}

/// What a press means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// It counts.
    Accepted,
    /// Nobody was ever given this button.
    Forged,
    /// It is somebody else's.
    Foreign,
    /// An answer was given already.
    Used,
    /// Too late.
    Expired,
}

impl Press {
    /// As events name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Forged => "forged",
            Self::Foreign => "foreign",
            Self::Used => "used",
            Self::Expired => "expired",
        }
    }
}

/// The stream of one channel's events.
pub fn stream(channel: &str) -> String {
    format!("channel/{channel}")
}

impl Channels {
    /// One channel; an empty one where nothing happened yet.
    pub fn get(&self, channel: &str) -> &Channel {
        static EMPTY: Channel = Channel {
            updates: BTreeMap::new(),
            pending: BTreeMap::new(),
            outbox: BTreeMap::new(),
            consents: BTreeMap::new(),
            strangers: BTreeMap::new(),
            failed: None,
            shown: BTreeMap::new(),
            moved: BTreeMap::new(),
            revoked: BTreeSet::new(),
        };
        self.channels.get(channel).unwrap_or(&EMPTY)
    }
}

impl Channel {
    /// Where a chat is now that was known by this address.
    pub fn now_at<'a>(&'a self, address: &'a str) -> &'a str {
        self.moved.get(address).map_or(address, String::as_str)
    }

    /// Whether nothing is to be said at an address any more but what strangers are told.
    pub fn is_revoked(&self, address: &str) -> bool {
        self.revoked.contains(address)
    }

    /// Whether somebody whom nobody knows may be told something: so often by what the log says was said there, and anew
    /// outside of its hour.
    pub fn may_tell_stranger(&self, address: &str, now: Micros) -> bool {
        self.strangers.get(address).is_none_or(|told| !told.is_of(now.0) || told.lines < STRANGER_LINES)
    }

    /// Whether so much is on its way to an address that nothing that was said before is to be said again.
    pub fn is_crowded(&self, address: &str) -> bool {
        let address = self.now_at(address);
        self.outbox.values().filter(|message| message.address == address).count() >= CROWD
    }

    /// Whether an account was silent for so long that its numbers may have begun anew.
    pub fn is_silent(&self, account: &str, now: Micros) -> bool {
        self.updates.get(account).is_none_or(|series| series.is_over(now.0))
    }

    /// Whether an update of this number was not received yet. After a long silence every one is new.
    pub fn is_new(&self, account: &str, update: i64, is_silent: bool) -> bool {
        is_silent || self.updates.get(account).is_none_or(|series| !series.numbers.contains_key(&update))
    }

    /// The first number that is still wanted, where numbers of late ones tell it.
    pub fn next_update(&self, account: &str, is_silent: bool) -> Option<i64> {
        let (last, _) = self.updates.get(account).filter(|_| !is_silent)?.numbers.last_key_value()?;
        Some(last.saturating_add(1))
    }

    /// What pressing a button of a message means; `message` is none where no message ever had that button.
    pub fn press(&self, message: Option<EventId>, presser: Option<&str>, now: Micros) -> Press {
        let Some(consent) = message.and_then(|id| self.consent(id)) else { return Press::Forged };
        if presser != Some(consent.bound.approver.as_str()) {
            return Press::Foreign;
        }
        if self.answer(&consent.bound).is_some() {
            return Press::Used;
        }
        if consent.is_over || now.0 >= consent.bound.until { Press::Expired } else { Press::Accepted }
    }

    /// Every message that puts this question: it may have been put again.
    pub fn put(&self, bound: &Bound) -> Vec<&Consent> {
        let of_it = |consent: &&Consent| (consent.bound.turn, &consent.bound.digest) == (bound.turn, &bound.digest);
        self.consents.values().filter(of_it).collect()
    }

    /// When a question was put again, the last time; none where it was put once.
    pub fn put_again_at(&self, bound: &Bound) -> Option<i64> {
        self.put(bound).into_iter().skip(1).last().map(|consent| consent.time)
    }

    /// The message that is forgotten when this question is put once more: neither the first one nor the one that counted.
    pub fn replaced(&self, bound: &Bound) -> Option<&Consent> {
        let put = self.put(bound);
        let is_full = put.len() >= REPEATS_KEPT;
        put.into_iter().skip(1).find(|consent| is_full && consent.pressed.is_none())
    }

    /// Whether a question could be put nowhere.
    pub fn is_unasked(&self, bound: &Bound) -> bool {
        self.put(bound).into_iter().all(|consent| consent.is_failed)
    }

    /// The button that counted for a question, below whichever message it was pressed.
    pub fn answer(&self, bound: &Bound) -> Option<&str> {
        self.put(bound).into_iter().find_map(|consent| consent.pressed.as_deref())
    }

    /// The questions that wait for somebody's button, oldest first, each once.
    pub fn waiting_for(&self, approver: &str, now: Micros) -> Vec<&Consent> {
        let mut found: Vec<&Consent> = Vec::new();
        for consent in self.consents.values().filter(|consent| consent.bound.approver == approver) {
            let bound = &consent.bound;
            let is_waiting = !consent.is_over && now.0 < bound.until;
            let is_open = is_waiting && self.answer(bound).is_none() && !self.is_unasked(bound);
            let same = |other: &Consent| {
                (other.bound.turn, &other.bound.digest) == (consent.bound.turn, &consent.bound.digest)
            };
            if is_open && !found.iter().any(|other| same(other)) {
                found.push(consent);
            }
        }
        found
    }

    /// A message with buttons.
    pub fn consent(&self, id: EventId) -> Option<&Consent> {
        self.consents.values().find(|consent| consent.id == id)
    }

    fn on_its_way(&mut self, id: EventId) -> Option<(u64, &mut Outgoing)> {
        self.outbox.iter_mut().find(|(_, message)| message.id == id).map(|(seq, message)| (*seq, message))
    }

    fn queued(&mut self, recorded: &Recorded, queued: &MessageQueued) {
        let (id, address, purpose) = (recorded.id, self.now_at(&queued.address).to_owned(), queued.purpose.clone());
        if purpose == "stranger" {
            self.strangers.entry(address.clone()).or_default().takes(recorded);
            forget(&mut self.strangers, STRANGERS_KEPT, |_, told| told.seq);
        }
        if let Some(bound) = queued.bound.clone() {
            self.asks(recorded, queued, &address, bound);
        }
        if self.is_revoked(&address) && purpose != "stranger" {
            return;
        }
        let outgoing = Outgoing { id, address, purpose, piece: 0, is_started: false, repeats: 0 };
        self.outbox.insert(recorded.seq, outgoing);
    }

    /// A question that is put, for the first time or again. One that is open is never forgotten, whoever asks how much else.
    fn asks(&mut self, recorded: &Recorded, queued: &MessageQueued, address: &str, bound: Bound) {
        let replaced = self.replaced(&bound).map(|consent| consent.id);
        self.consents.retain(|_, consent| Some(consent.id) != replaced);
        let is_over = self.is_revoked(address) || self.put(&bound).iter().any(|consent| consent.is_over);
        let of_them = |consent: &Consent| consent.is_over && consent.bound.approver == bound.approver;
        let over = self.consents.iter().filter(|(_, consent)| of_them(consent)).map(|(seq, _)| *seq);
        let over: Vec<u64> = over.collect();
        for seq in over.iter().take(over.len().saturating_sub(OVER_KEPT)) {
            self.consents.remove(seq);
        }
        let consent = Consent {
            id: recorded.id,
            address: address.to_owned(),
            bound,
            buttons: queued.buttons.iter().map(|button| button.id.clone()).collect(),
            pressed: None,
            time: recorded.time.0,
            is_failed: false,
            is_over,
            receipts: Vec::new(),
        };
        self.consents.insert(recorded.seq, consent);
    }

    fn evolve(&mut self, recorded: &Recorded, event: &Event) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is of other streams")]
        match event {
            Event::UpdateReceived(received) => {
                self.updates.entry(received.account.clone()).or_default().takes(received.update, recorded);
                let pending = Pending { id: recorded.id, address: received.address.clone(), turn: None };
                self.pending.insert(recorded.seq, pending);
            }
            Event::UpdateSettled(settled) => self.pending.retain(|_, pending| pending.id != settled.update),
            Event::ButtonPressed(pressed) if pressed.outcome == Press::Accepted.name() => {
                let consent = self.consents.values_mut().find(|consent| Some(consent.id) == pressed.message);
                if let Some(consent) = consent {
                    consent.pressed.clone_from(&pressed.button);
                }
            }
            Event::MessageQueued(queued) => self.queued(recorded, queued),
            Event::DeliveryStarted(started) => {
                if let Some((_, message)) = self.on_its_way(started.message) {
                    message.is_started = true;
                }
            }
            Event::MessageMaybeSent(maybe) => {
                if let Some((_, message)) = self.on_its_way(maybe.message) {
                    message.is_started = false;
                    message.repeats += 1;
                }
            }
            Event::MessageSent(sent) => {
                if let Some(consent) = self.consents.values_mut().find(|consent| consent.id == sent.message) {
                    consent.receipts.push(sent.receipt);
                }
                let Some((seq, message)) = self.on_its_way(sent.message) else { return };
                (message.piece, message.is_started, message.repeats) = (sent.piece + 1, false, 0);
                if message.piece >= sent.pieces {
                    self.outbox.remove(&seq);
                }
                self.failed = None;
            }
            Event::DeliveryFailed(failed) => {
                if let Some(consent) = self.consents.values_mut().find(|consent| consent.id == failed.message) {
                    consent.is_failed = true;
                }
                if let Some((seq, _)) = self.on_its_way(failed.message) {
                    self.outbox.remove(&seq);
                }
                self.failed = Some(failed.class.clone());
            }
            Event::ProgressShown(shown) => {
                let shown = Shown { address: shown.address.clone(), receipt: shown.receipt, turn: shown.turn };
                self.shown.insert(recorded.seq, shown);
            }
            Event::ProgressRemoved(gone) => {
                self.shown.retain(|_, shown| (&shown.address, shown.receipt) != (&gone.address, gone.receipt));
            }
            Event::AddressMoved(moved) => self.moves(&moved.from, &moved.to),
            _ => {}
        }
    }

    /// An address is nobody's any more: what waits for it is never said, what was asked there takes no answer.
    fn revoke(&mut self, address: &str) {
        self.outbox.retain(|_, message| message.address != address);
        for consent in self.consents.values_mut().filter(|consent| consent.address == address) {
            consent.is_over = true;
        }
        self.revoked.insert(address.to_owned());
    }

    /// A chat goes on elsewhere: what is under way goes there. What was moved before and comes back is moved no more.
    fn moves(&mut self, from: &str, to: &str) {
        self.moved.remove(to);
        for last in self.moved.values_mut().filter(|last| *last == from) {
            to.clone_into(last);
        }
        self.moved.insert(from.to_owned(), to.to_owned());
        for message in self.outbox.values_mut().filter(|message| message.address == from) {
            to.clone_into(&mut message.address);
        }
        // Messages with buttons stay where they were sent; those that are not sent yet go with the chat.
        let waiting: Vec<EventId> = self.outbox.values().map(|message| message.id).collect();
        let unsent = self.consents.values_mut().filter(|consent| waiting.contains(&consent.id));
        for consent in unsent.filter(|consent| consent.address == from) {
            to.clone_into(&mut consent.address);
        }
    }

    /// What a turn's own events say about what waits for it here.
    fn evolve_by_turn(&mut self, turn: TurnId, recorded: &Recorded, event: &Event) {
        if let Some(cause) = recorded.cause {
            for pending in self.pending.values_mut().filter(|pending| pending.id == cause) {
                pending.turn = Some(turn);
            }
        }
        #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else ends a question")]
        let digest = match event {
            Event::ConsentGiven(given) => Some(given.digest.as_str()),
            Event::ConsentDenied(denied) => Some(denied.digest.as_str()),
            Event::ConsentExpired(expired) => Some(expired.digest.as_str()),
            Event::TurnClosed(_) => None,
            _ => return,
        };
        let of_turn = self.consents.values_mut().filter(|consent| consent.bound.turn == turn);
        for consent in of_turn.filter(|consent| digest.is_none_or(|digest| consent.bound.digest == digest)) {
            consent.is_over = true;
        }
    }
}

impl Told {
    fn is_of(&self, now: i64) -> bool {
        (self.since..self.since.saturating_add(STRANGER_EVERY_US)).contains(&now)
    }

    fn takes(&mut self, recorded: &Recorded) {
        let is_more = self.lines > 0 && self.is_of(recorded.time.0);
        (self.since, self.lines) = if is_more { (self.since, self.lines + 1) } else { (recorded.time.0, 1) };
        self.seq = recorded.seq;
    }
}

impl Series {
    fn is_over(&self, now: i64) -> bool {
        self.last.saturating_add(SAME_SERIES_US) <= now
    }

    fn takes(&mut self, update: i64, recorded: &Recorded) {
        let last = self.numbers.last_key_value().map(|(last, _)| *last);
        if self.is_over(recorded.time.0) && last.is_some_and(|last| update <= last) {
            self.numbers.clear();
        }
        self.last = recorded.time.0;
        self.numbers.insert(update, recorded.seq);
        forget(&mut self.numbers, UPDATES_KEPT, |_, seq| *seq);
    }
}

/// Lets go of the oldest beyond so many.
fn forget<K: Ord + Clone, V, O: Ord>(map: &mut BTreeMap<K, V>, most: usize, age: impl Fn(&K, &V) -> O) {
    while map.len() > most {
        let oldest = map.iter().min_by_key(|(key, value)| age(key, value)).map(|(key, _)| key.clone());
        let Some(oldest) = oldest else { return };
        map.remove(&oldest);
    }
}

impl Projection for Channels {
    const NAME: &'static str = "channels";
    const VERSION: u32 = 3;

    fn evolve(&mut self, recorded: &Recorded) {
        let Some(event) = recorded.event() else { return };
        if let Event::AddressRevoked(revoked) = event {
            self.channels.entry(revoked.channel.clone()).or_default().revoke(&revoked.address);
        } else if let Event::AddressBound(bound) = event {
            let channel = self.channels.entry(bound.channel.clone()).or_default();
            channel.revoked.remove(&bound.address);
            channel.strangers.remove(&bound.address);
        } else if let Some(channel) = recorded.stream.strip_prefix("channel/") {
            self.channels.entry(channel.to_owned()).or_default().evolve(recorded, event);
        } else if let Some(turn) = recorded.turn {
            for channel in self.channels.values_mut() {
                channel.evolve_by_turn(turn, recorded, event);
            }
        }
    }
}

#[cfg(test)]
mod tests;

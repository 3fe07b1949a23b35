//! Asks for updates and puts each on record before it asks for more, which is what confirms them.

use std::collections::BTreeSet;
use std::thread::Scope;
use std::time::{Duration, Instant};

use metnos_log::event::channel::UpdateReceived;
use metnos_log::{EventId, Kept};
use metnos_projections::machines::channels::{Channel, SAME_SERIES_US};
use serde_json::Value;

use super::refused::Look;
use super::wire::Update;
use super::{Bot, CHANNEL, Link, Pause, TelegramError, link};
use crate::channel::outbox;
use crate::instance::{InstanceError, now};

/// An answer without an update that comes sooner is followed by a pause.
const HURRY: Duration = Duration::from_millis(200);
/// How often it is tried again to put on record what came.
const ROOM_EVERY: Duration = Duration::from_secs(2);

/// Whether the numbers of updates may have begun anew: by the clock, and not against what this process saw itself.
fn is_silent(channel: &Channel, account: &str, taken: Option<Instant>) -> bool {
    let silence = Duration::from_micros(SAME_SERIES_US.unsigned_abs());
    taken.is_none_or(|taken| taken.elapsed() >= silence) && channel.is_silent(account, now())
}

impl Bot {
    /// Asks until this bot is left.
    pub(super) fn poll<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let mut pause = Pause::default();
        let wait = self.instance.settings.telegram.poll_s;
        // The system's clock may be set while this process runs; time that passes here may not.
        let mut taken = None;
        while !self.is_leaving() {
            // Before a turn that is gone on with shows itself again.
            self.take_leftovers_away();
            self.dispatch(scope);
            self.lapse();
            let account = self.client.account();
            let offset = {
                let projected = self.instance.projected();
                let channel = projected.channels.get(CHANNEL);
                channel.next_update(&account, is_silent(channel, &account, taken))
            };
            let asked = Instant::now();
            let updates = match self.until_leaving(self.client.get_updates(offset, wait)) {
                None => return,
                Some(Ok(updates)) => updates,
                Some(Err(error)) => {
                    if self.recovers(error, &mut pause) {
                        continue;
                    }
                    return;
                }
            };
            if let Err(error) = self.take(&updates, taken) {
                let link =
                    if matches!(error, InstanceError::DiskFull { .. }) { Link::DiskFull } else { Link::Unrecorded };
                Self::tell(link, &error);
                // Telegram keeps them: they are asked for again as soon as there is room.
                if self.wait(ROOM_EVERY) {
                    return;
                }
                continue;
            }
            taken = if updates.is_empty() { taken } else { Some(Instant::now()) };
            pause.over();
            link::set(Link::Connected);
            // Not every server waits as long as it is asked to.
            let is_empty = updates.iter().all(|raw| Update::number(raw).is_none());
            if is_empty && asked.elapsed() < HURRY && self.wait(HURRY) {
                return;
            }
        }
    }

    /// Waits until it may be tried again; `false` when this bot is left.
    fn recovers(&self, error: TelegramError, pause: &mut Pause) -> bool {
        let error = match error {
            // One refusal says little: Telegram is asked about the token itself.
            TelegramError::Token => match self.looks_at_token() {
                Look::Left => return false,
                Look::Refused => return self.rests(),
                Look::Well => TelegramError::Odd("401 Unauthorized for a token that it knows".to_owned()),
            },
            error => error,
        };
        Self::tell(Link::failing(&error), &error);
        match error {
            // The owner wants this program to have the updates: it has the token.
            TelegramError::Conflict { is_webhook: true } if self.takes_webhook_away() => true,
            error => !self.wait(pause.next(&error)),
        }
    }

    /// Says what is wrong, once.
    fn tell(now: Link, error: &dyn std::error::Error) {
        if link::link() != now {
            match now {
                Link::DiskFull | Link::Unrecorded => tracing::warn!(%error, "what comes from Telegram stays there"),
                _ => tracing::warn!(%error, "no updates from Telegram"),
            }
        }
        link::set(now);
    }

    fn takes_webhook_away(&self) -> bool {
        match self.until_leaving(self.client.delete_webhook()) {
            Some(Ok(())) => true,
            Some(Err(error)) => {
                tracing::warn!(%error, "the webhook stays");
                false
            }
            None => false,
        }
    }

    /// Puts updates on record that are not there yet, in the order in which they came. `taken` is when this process did so
    /// before.
    fn take(&self, updates: &[Value], taken: Option<Instant>) -> Result<(), InstanceError> {
        if updates.is_empty() {
            return Ok(());
        }
        self.instance.refuse_full_disk()?;
        let account = self.client.account();
        let taken = self.instance.append_decided(|projected| {
            let channel = projected.channels.get(CHANNEL);
            let is_silent = is_silent(channel, &account, taken);
            let (mut numbers, mut drafts) = (BTreeSet::new(), Vec::new());
            for raw in updates {
                let Some(number) = Update::number(raw) else { continue };
                if !channel.is_new(&account, number, is_silent) || !numbers.insert(number) {
                    continue;
                }
                let update = Update::read(raw);
                let id = EventId::derived(now(), "metnos update v1", &[account.as_bytes(), &number.to_be_bytes()]);
                let received = UpdateReceived {
                    channel: CHANNEL.to_owned(),
                    account: account.clone(),
                    update: number,
                    kind: update.kind(),
                    address: update.chat().map(|chat| chat.to_string()),
                    raw: Kept::text(raw.to_string()),
                };
                drafts.push(outbox::draft(&self.instance, CHANNEL, id, received));
            }
            Ok::<_, std::convert::Infallible>(drafts)
        })?;
        match taken {
            Ok(()) => {
                crate::faults::reach("update_to_turn");
                Ok(())
            }
            Err(never) => match never {},
        }
    }
}

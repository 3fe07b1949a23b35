//! A token that is refused: looked at twice before it is called so, then again every now and then. Nothing is ended by it:
//! turns and questions wait as they do for a network.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::wire::Me;
use super::{Around, Bot, Client, Link, Pause, TelegramError, changed, link};

/// How long after the first refusal it is looked at a second time.
const SECOND_LOOK: Duration = Duration::from_secs(4);
/// How often a refused token is looked at, in empty polls, and at least.
const REST_POLLS: u32 = 6;
const REST_MIN: Duration = Duration::from_secs(30);

/// What two looks at a token say.
pub(super) enum Look {
    /// It is good, or nobody could tell: it is not called refused.
    Well,
    /// It is refused.
    Refused,
    /// Nobody looks any more.
    Left,
}

/// Who the bot is, as soon as Telegram tells; nothing when the daemon ends or the credentials change before.
pub(super) fn greeted(around: &Around, client: &Client, changes: u64) -> Option<Me> {
    let rest = rest(around.instance.settings.telegram.poll_s);
    let until_left = |time: Duration| {
        let change = async { tokio::time::timeout(time, changed(&around.instance, changes)).await.is_ok() };
        around.until_stopped(change) != Some(false)
    };
    let (mut pause, mut refusals) = (Pause::default(), 0);
    loop {
        let asked = async {
            tokio::select! { me = client.get_me() => Some(me), () = changed(&around.instance, changes) => None }
        };
        let error = match around.until_stopped(asked).flatten()? {
            Ok(me) => return Some(me),
            Err(error) => error,
        };
        refusals = if error == TelegramError::Token { refusals + 1 } else { 0 };
        let time = match refusals {
            0 => {
                link::set(Link::failing(&error));
                pause.next(&error)
            }
            1 => SECOND_LOOK,
            _ => {
                say_refused();
                rest
            }
        };
        if until_left(time) {
            return None;
        }
    }
}

impl Bot {
    /// Rests until the token is good again; `false` when this bot is left before.
    pub(super) fn rests(&self) -> bool {
        self.is_refused.store(true, Ordering::SeqCst);
        say_refused();
        let is_good = loop {
            if self.wait(rest(self.instance.settings.telegram.poll_s)) {
                break false;
            }
            // Time goes on for questions as well.
            self.lapse();
            match self.until_leaving(self.client.get_me()) {
                None => break false,
                Some(Ok(_)) => break true,
                Some(Err(error)) => link::set(Link::failing(&error)),
            }
        };
        self.is_refused.store(false, Ordering::SeqCst);
        if is_good {
            tracing::info!("the token is good again");
            link::set(Link::Connecting);
        }
        is_good
    }

    /// Whether messages would be refused for the token's sake.
    pub(super) fn is_token_refused(&self) -> bool {
        self.is_refused.load(Ordering::SeqCst)
    }

    /// Asks who the bot is, and after a refusal once more.
    pub(super) fn looks_at_token(&self) -> Look {
        for is_second in [false, true] {
            if is_second && self.wait(SECOND_LOOK) {
                return Look::Left;
            }
            match self.until_leaving(self.client.get_me()) {
                None => return Look::Left,
                Some(Err(TelegramError::Token)) => {}
                Some(_) => return Look::Well,
            }
        }
        Look::Refused
    }
}

/// Says it once.
fn say_refused() {
    if link::link() != Link::Token {
        let error = TelegramError::Token;
        tracing::warn!(%error, "Telegram rests, and looks again from time to time: metnos connect telegram takes another token");
        link::set(Link::Token);
    }
}

/// How long a refused token is left alone.
fn rest(poll_s: u64) -> Duration {
    (Duration::from_secs(poll_s) * REST_POLLS).max(REST_MIN)
}

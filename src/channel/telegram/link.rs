//! How the connection to Telegram is right now, for whoever asks how the instance is. Not an event: nothing follows from it.

use std::sync::{Mutex, PoisonError};

use super::TelegramError;

/// How the connection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// There is no token, or nothing serves.
    #[default]
    Off,
    /// It is being made.
    Connecting,
    /// It works.
    Connected,
    /// Telegram cannot be reached.
    Unreachable,
    /// Telegram is there and does not answer as it should.
    Odd,
    /// The token is wrong, or was revoked: looked at twice.
    Token,
    /// Another program asks for this bot's updates.
    Conflict,
    /// This home's disk has no room for what comes.
    DiskFull,
    /// What comes cannot be put on record here.
    Unrecorded,
}

static LINK: Mutex<Link> = Mutex::new(Link::Off);

/// How it is now in this process.
pub fn link() -> Link {
    *LINK.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn set(link: Link) {
    *LINK.lock().unwrap_or_else(PoisonError::into_inner) = link;
}

impl Link {
    pub(super) fn failing(error: &TelegramError) -> Self {
        match error {
            TelegramError::Token => Self::Token,
            TelegramError::Conflict { .. } => Self::Conflict,
            TelegramError::Unreachable(_) | TelegramError::Broken(_) => Self::Unreachable,
            TelegramError::Odd(_)
            | TelegramError::TooMany(_)
            | TelegramError::Blocked(_)
            | TelegramError::Refused(_)
            | TelegramError::Moved(_)
            | TelegramError::TooLarge => Self::Odd,
        }
    }

    /// As texts and JSON name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Unreachable => "unreachable",
            Self::Odd => "odd",
            Self::Token => "token",
            Self::Conflict => "conflict",
            Self::DiskFull => "disk_full",
            Self::Unrecorded => "unrecorded",
        }
    }
}

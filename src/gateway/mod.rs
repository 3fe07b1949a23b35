//! The gateway: the eight steps of every invocation, by name (design 3-executors, «Gateway»).
//!
//! 1 receive · 2 resolve · 3 verify · 4 validate_input, before policy and vaglio (which the turn decides) · 5 open_cage ·
//! 6 run · 7 validate_output · 8 record. Each verdict is a field of an event. It decides nothing about a request.

pub mod call;
mod declared;
mod hidden;
pub mod loaded;
mod made;
pub mod own;
mod schema;
pub mod targets;

pub use call::{Caller, Returned};
pub use loaded::{LoadError, Loaded};
pub use targets::{Looked, look_up};

use metnos_log::event::turn::Check;

/// A step that passed.
pub(crate) fn passed(step: &str) -> Check {
    Check { step: step.to_owned(), failure: None }
}

/// A step that did not.
pub(crate) fn failed(step: &str, class: &str, reason: impl Into<String>) -> Check {
    Check { step: step.to_owned(), failure: Some((class.to_owned(), reason.into())) }
}

//! Floor 1: everything that can be computed from the log. Pure: no clock, no disk, no network, no environment, no chance.
//!
//! Machines decide and fold, views fold, rules are plain functions beside them. A crate-local lint keeps it so.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod machines;
pub mod manifest;
pub mod messages;
pub mod plan;
pub(crate) mod presented;
pub mod projection;
pub mod replay;
pub mod rules;
pub mod view;
pub mod views;

pub use presented::bounds::check as check_presentation;
pub use presented::visible;
pub use presented::word::as_word;

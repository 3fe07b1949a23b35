//! Floor 1: everything that can be computed from the log. Pure: no clock, no disk, no network, no environment, no chance.

pub mod manifest;
pub mod messages;
pub mod plan;
pub mod rules;

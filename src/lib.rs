//! Floor 2.

pub mod broker;
pub mod sandbox;

//! Views: what people and other programs look at, computed from events.

pub mod audit;
pub mod between;
pub mod configuration;
pub mod keys;
pub mod search;
pub mod state;
pub mod structural;
pub mod timeline;
pub mod turns;
pub mod why;

//! Channels: how people who are not at a terminal talk with Metnos (design 7-people, «Channels»).
//!
//! What came and what is to be said are events; here is what carries them over the network.

pub mod outbox;
pub mod telegram;

//! Metnos as its owner uses it: the real binary, real files, a real server on loopback, the real cage.
//!
//! The home of each test is a copy of one that went through a real first run, so that birth tests run once.

#[path = "household/bad_input.rs"]
mod bad_input;
#[path = "household/home.rs"]
mod home;
#[path = "household/kills.rs"]
mod kills;
#[path = "household/replayed.rs"]
mod replayed;
#[path = "household/sentences.rs"]
mod sentences;
#[path = "household/server.rs"]
mod server;
#[path = "household/tampered.rs"]
mod tampered;

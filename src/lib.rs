//! Floor 2: everything that touches the world. The binary is a thin shell around this library.
//!
//! `cli → engine → effects → gateway → sandbox, signing, manifest`; what can be computed lies one floor down, in
//! `metnos-projections`, and what happened below that, in `metnos-log`.

pub mod ageing;
pub mod anchoring;
pub mod approvals;
pub mod broker;
pub mod builtins;
mod cause;
pub mod channel;
pub mod cli;
pub mod clock;
pub mod config;
pub mod conversation;
pub mod effects;
pub mod engine;
pub mod erasure;
pub mod expiry;
pub mod export;
pub mod faults;
pub mod gateway;
pub mod instance;
pub mod llm;
pub mod loader;
pub mod located;
pub mod manifest;
mod memory;
pub mod moments;
pub mod pairing;
pub mod projector;
pub mod sandbox;
pub mod scheduler;
pub mod seats;
pub mod service;
pub mod signing;
pub mod snapshots;
pub mod untold;
pub mod views;
mod why;
pub mod witnesses;

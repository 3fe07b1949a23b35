//! Decisions as plain functions: what the turn machine decides by, without any I/O.

pub mod simple;

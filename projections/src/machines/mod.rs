//! State machines: each is `decide`, `evolve` and `react` as plain functions, without I/O.

pub mod actors;
pub mod catalog;
pub mod channels;
pub mod documents;
pub mod mnestome;
pub mod schedules;
pub mod turn;

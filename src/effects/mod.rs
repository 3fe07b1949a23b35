//! Effects: the only place that changes the world (design 3-executors, «Executors compute, the core commits»).
//!
//! `plan` looks at what an executor wants changed and keeps what is needed to finish or take it back; `commit` makes one
//! change, or recognises that it was made. Neither decides whether it may be made.

pub mod commit;
pub mod plan;

//! Effects: the only place that changes the world (design 3-executors, «Executors compute, the core commits»).
//!
//! `plan` looks at what an executor wants changed and keeps what is needed to finish or take it back; `commit` makes one
//! change, or recognises that it was made; `undo` plans the reverse of an earlier turn; `requests` are changes that are made on a
//! server. None decides whether it may be done.

pub mod commit;
mod copy;
pub mod disk;
pub mod messages;
mod overlay;
pub mod plan;
mod relocate;
pub mod requests;
mod sent;
pub mod trash;
pub mod undo;

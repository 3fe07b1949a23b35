//! The log under faults: a disk that loses power at any call, disks that lie, and flipped bits. Test-only.

mod chance;
mod costs;
mod cuts;
pub(super) mod disk;
mod flips;
pub(super) mod journal;
mod pages;
mod panics;
mod replaced;
mod rows;
mod sealed;
mod workload;

pub(super) use cuts::start;

//! Exported views: files that others read, rebuilt from the log at any time.

pub mod audit;
pub mod case;
pub mod history;

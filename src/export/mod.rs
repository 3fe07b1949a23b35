//! Exported views: files that others read, rebuilt from the log at any time.

pub mod audit;
pub mod audit_file;
pub mod audit_lines;
pub mod case;
pub mod history;

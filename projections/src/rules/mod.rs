//! Decisions as plain functions, and the data that they decide by.

pub mod cage_plan;
pub mod core_paths;
pub mod markup;
pub mod policy;
pub mod prefilter;
pub mod references;
pub mod shape;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a word has many senses; the planner looks for one of them at a time"
)]
pub mod simple;
pub mod undo;
pub mod vaglio;

use crate::messages::Messages;
use simple::Lexicons;
use vaglio::Laws;

/// All rule data of one moment. Two equal digests decide the same.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What the words mean.
    pub lexicons: Lexicons,
    /// What Metnos says.
    pub messages: Messages,
    /// What is forbidden.
    pub laws: Laws,
    digest: String,
}

impl Rules {
    /// The rules that this binary was built with.
    pub fn embedded() -> Self {
        Self {
            lexicons: Lexicons::embedded(),
            messages: Messages::embedded(),
            laws: Laws::embedded(),
            digest: env!("METNOS_RULES_DIGEST").to_owned(),
        }
    }

    /// Hash of the code and the data that decide a turn; recorded in `turn_opened`.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

//! Decisions as plain functions, and the data that they decide by.

pub mod ageing;
pub mod anchoring;
pub mod cadence;
pub mod cage_plan;
pub mod commands;
pub mod core_paths;
pub mod grants;
pub mod markup;
pub mod perimeter;
pub mod policy;
pub mod prefilter;
pub mod proposer;
pub mod provenance;
pub mod references;
pub mod shape;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a word has many senses; the planner looks for one of them at a time"
)]
pub mod simple;
pub mod undo;
pub mod vaglio;

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::messages::Messages;
use proposer::Prompts;
use simple::Lexicons;
use vaglio::Laws;

/// What the words mean: read when the first sentence comes, since most of a daemon's time none does.
#[derive(Clone, Debug, Default)]
pub struct Words(Arc<OnceLock<Lexicons>>);

impl Deref for Words {
    type Target = Lexicons;

    fn deref(&self) -> &Lexicons {
        self.0.get_or_init(Lexicons::embedded)
    }
}

impl From<Lexicons> for Words {
    fn from(lexicons: Lexicons) -> Self {
        Self(Arc::new(lexicons.into()))
    }
}

/// All rule data of one moment. Two equal digests decide the same.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What the words mean.
    pub lexicons: Words,
    /// What Metnos says.
    pub messages: Messages,
    /// What is forbidden.
    pub laws: Laws,
    /// What a model is asked with.
    pub prompts: Prompts,
    digest: String,
}

impl Rules {
    /// The rules that this binary was built with.
    pub fn embedded() -> Self {
        Self {
            lexicons: Words::default(),
            messages: Messages::embedded(),
            laws: Laws::embedded(),
            prompts: Prompts::embedded(),
            digest: env!("METNOS_RULES_DIGEST").to_owned(),
        }
    }

    /// Hash of the code and the data that decide a turn; recorded in `turn_opened`.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

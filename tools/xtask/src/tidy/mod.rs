//! What holds for the tree as a whole and no compiler checks. One rule a file; each is a function from a tree to findings.
//!
//! Rules read text. They do not build, run or change anything.

mod arrows;
mod docs;
mod events;
mod executors;
mod floors;
mod languages;
mod layout;
mod length;
mod names;
mod residue;
mod tree;

use std::fmt;
use std::path::{Path, PathBuf};

pub use tree::{Source, Tree};

/// Whether a finding fails the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Must be mended.
    Error,
    /// Should be thought about.
    Warning,
}

/// Something that a rule found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Whether it fails the build.
    pub level: Level,
    /// The file, from the root of the tree.
    pub path: String,
    /// The line, from 1; 0 when it is about the whole file.
    pub line: usize,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Finding {
    fn error(path: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self { level: Level::Error, path: path.into(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        match self.line {
            0 => write!(f, "{level}: {}: {}", self.path, self.message),
            line => write!(f, "{level}: {}:{line}: {}", self.path, self.message),
        }
    }
}

/// The repository that this was built from.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this package lies two folders below the root").to_owned()
}

/// All rules, findings in order of level, file and line.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let rules = [
        floors::check,
        arrows::check,
        docs::check,
        events::check,
        languages::check,
        executors::check,
        names::check,
        residue::check,
        layout::check,
        length::check,
    ];
    let mut findings: Vec<Finding> = rules.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gate: `cargo test --workspace` fails where `cargo xtask tidy` would.
    #[test]
    fn the_tree_is_tidy() {
        let tree = Tree::read(&repository()).unwrap();
        let errors: Vec<String> =
            check(&tree).iter().filter(|finding| finding.level == Level::Error).map(ToString::to_string).collect();
        assert!(errors.is_empty(), "\n{}", errors.join("\n"));
    }

    /// Every folder that holds rules' material was read: an empty tree would be tidy, too.
    #[test]
    fn the_tree_was_really_read() {
        let tree = Tree::read(&repository()).unwrap();
        for path in
            ["Cargo.toml", "log/FORMAT.md", "src/lib.rs", "projections/.clippy.toml", "prompts/it/messages.toml"]
        {
            assert!(tree.get(path).is_some(), "{path}");
        }
        assert!(tree.files().len() > 100, "{}", tree.files().len());
    }
}

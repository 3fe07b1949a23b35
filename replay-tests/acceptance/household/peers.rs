//! The public programs that tests meet, as `.ci/run` installs them outside of the tree: npm's packages below `npm`, the
//! framework `aiogram` in a folder of its own, the types of `openai` in theirs,
//! the readers of the audit's forms in `audit`.

use std::path::PathBuf;

/// Where they are: the folder that `.ci/run` names, else its default.
pub(crate) fn folder() -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let named = std::env::var_os("METNOS_TEST_PEERS").map(PathBuf::from);
    named.unwrap_or_else(|| home.join(".cache/metnos-test-peers"))
}

/// One of them; without it the test says so and is skipped, but in `.ci/run`, which fails.
pub(crate) fn installed(file: &str) -> Option<PathBuf> {
    let path = folder().join(file);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("METNOS_TEST_PEERS").is_none(), "{} is not there", path.display());
    eprintln!("SKIPPED for lack of {}: .ci/run installs it", path.display());
    None
}

//! What a newcomer sees first: the root holds the design's entries and no others. Hidden entries are tools' business.

use super::{Finding, Tree};

const NEEDED: [&str; 9] =
    ["Cargo.toml", "Cargo.lock", "src", "projections", "executors", "prompts", "log", "replay-tests", "tools"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let allowed = |name: &str| {
        name.starts_with('.') || NEEDED.contains(&name) || name == "README.md" || name.starts_with("LICENSE")
    };
    let extra = tree.top().iter().filter(|name| !allowed(name));
    let extra = extra.map(|name| Finding::error(name, 0, "it has no place at the root (1-architecture, «Floors»)"));
    let missing = NEEDED.iter().filter(|name| !tree.top().iter().any(|found| found == *name));
    extra.chain(missing.map(|name| Finding::error(*name, 0, "it is missing"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(more: &[&str], without: &str) -> usize {
        let names: Vec<&str> = NEEDED.iter().chain(more).copied().filter(|name| *name != without).collect();
        check(&Tree::of(&names.iter().map(|name| (*name, "")).collect::<Vec<_>>())).len()
    }

    #[test]
    fn what_is_too_much_or_missing_is_found() {
        assert_eq!(found(&["README.md", "LICENSE-MIT", ".gitignore"], ""), 0);
        assert_eq!(found(&["Makefile"], ""), 1);
        assert_eq!(found(&["docs"], "log"), 2);
    }
}

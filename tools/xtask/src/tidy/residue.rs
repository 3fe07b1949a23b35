//! Nothing in the tree speaks of how it came about: no ticket numbers, no marks of unfinished work, no path of some machine.

use std::sync::LazyLock;

use regex::Regex;

use super::{Finding, Tree};

/// Pieces are put together here, so that this file does not find itself.
static RESIDUE: LazyLock<Regex> = LazyLock::new(|| {
    let words = [
        concat!(r"(?i:\biss", r"ues? #?\d+\b)"),
        concat!(r"(?i:\b(?:sub-?iss", r"ue|user sto", r"ry|tick", r"et #?\d+|mile", r"stone \d+)\b)"),
        concat!(r"(?:(?://|#|\*) ?(?:TO", r"DO|FIX", r"ME|XX", r"X)\b|\b(?:TO", r"DO|FIX", r"ME|XX", r"X)[:(])"),
        concat!(r"(?:^|[^\w.])/(?:wo", r"rk|fa", r"rm)/"),
        concat!(r"/ro", r"ot/\.(?:cache|cargo|config|local|rustup)\b"),
        concat!(r"/tmp/ba", r"sh_jobs"),
    ];
    Regex::new(&words.join("|")).expect("the pattern is compiled by a test")
});

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| file.name() != "Cargo.lock") {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(found) = RESIDUE.find(line) {
                let message = format!("«{}» belongs to a workplace, not to the tree", found.as_str().trim());
                findings.push(Finding::error(&file.path, index + 1, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_workplace_are_found() {
        let found = [
            concat!("as iss", "ue 12 says"),
            concat!("see iss", "ue #3"),
            concat!("// TO", "DO: later"),
            concat!("read /wo", "rk/tree"),
            concat!("(\"/ro", "ot/.config\")"),
            concat!("the third mile", "stone 2"),
        ];
        for line in found {
            let tree = Tree::of(&[("src/a.rs", line)]);
            assert_eq!(check(&tree).len(), 1, "{line}");
        }
    }

    #[test]
    fn ordinary_words_are_not() {
        for line in [
            "it issues a token",
            "a session of the cage",
            "/srv/work/notes",
            "network/a",
            "todo list",
            "README, TODO and NOTES",
            "/home/owner/notes",
        ] {
            let tree = Tree::of(&[("src/a.rs", line)]);
            assert_eq!(check(&tree), [], "{line}");
        }
    }
}

//! Every file says what it is: `//!` on Rust, a docstring on an executor's program.

use super::{Finding, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let rust = tree.with_extension("rs").filter(|file| !file.text.trim_start().starts_with("//!"));
    let rust = rust
        .map(|file| Finding::error(&file.path, 1, "it begins with no `//!`: say what it is and what it is not for"));
    let python = tree.with_extension("py").filter(|file| file.name() == "main.py" && !has_docstring(&file.text));
    let python =
        python.map(|file| Finding::error(&file.path, 1, "it begins with no docstring: say what it does and does not"));
    rust.chain(python).collect()
}

/// Whether the first thing but comments is a docstring with something in it.
fn has_docstring(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| line.strip_prefix("\"\"\"").is_some_and(|rest| rest.chars().any(char::is_alphanumeric)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_says_nothing_is_found() {
        let tree = Tree::of(&[
            ("src/a.rs", "//! What it is.\nfn a() {}"),
            ("src/b.rs", "use std::fmt;\n//! Too late."),
            ("src/c.rs", ""),
            ("executors/x/main.py", "# a comment\n\"\"\"x: does it.\"\"\"\n"),
            ("executors/y/main.py", "import os\n\"\"\"late\"\"\"\n"),
            ("executors/z/main.py", "\"\"\"\"\"\"\n"),
            ("executors/z/tests/birth.py", "import os\n"),
        ]);
        let found: Vec<String> = check(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["src/b.rs", "src/c.rs", "executors/y/main.py", "executors/z/main.py"]);
    }
}

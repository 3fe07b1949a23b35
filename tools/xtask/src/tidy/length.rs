//! Long files are named: a warning over 600 lines, an error over 900. Tests do not count.

use super::{Finding, Level, Source, Tree};

/// Where to think about a split.
const THINK: usize = 600;
/// Where a split is due.
const CEILING: usize = 900;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let code =
        tree.files().iter().filter(|file| (file.has_extension("rs") || file.has_extension("py")) && !file.is_test());
    for file in code {
        let lines = lines_of_code(file);
        if lines > THINK {
            let level = if lines > CEILING { Level::Error } else { Level::Warning };
            findings.push(Finding {
                level,
                path: file.path.clone(),
                line: 0,
                message: format!("{lines} lines: split it by subject"),
            });
        }
    }
    findings
}

/// Lines before the file's own tests.
fn lines_of_code(file: &Source) -> usize {
    let lines: Vec<&str> = file.text.lines().collect();
    let tests = lines
        .windows(2)
        .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{'));
    tests.unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, lines: usize, tests: usize) -> Option<Level> {
        let text = "x\n".repeat(lines) + "#[cfg(test)]\nmod tests {\n" + &"y\n".repeat(tests);
        check(&Tree::of(&[(path, &text)])).first().map(|finding| finding.level)
    }

    #[test]
    fn a_long_file_is_found_and_its_tests_do_not_count() {
        assert_eq!(found("src/a.rs", 600, 5000), None);
        assert_eq!(found("src/a.rs", 601, 0), Some(Level::Warning));
        assert_eq!(found("executors/x/main.py", 901, 0), Some(Level::Error));
        assert_eq!(found("src/store/tests.rs", 2000, 0), None);
        assert_eq!(found("log/FORMAT.md", 2000, 0), None);
    }

    #[test]
    fn a_declaration_of_tests_elsewhere_hides_nothing() {
        let text = format!("#[cfg(test)]\nmod tests;\n{}", "x\n".repeat(950));
        assert_eq!(check(&Tree::of(&[("src/a.rs", &text)])).len(), 1);
    }
}

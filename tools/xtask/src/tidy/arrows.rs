//! Arrows inside of `src/`: `cli → engine → effects → gateway → sandbox, broker, signing, manifest`.
//!
//! Sees `crate::…` and `super::…` that reach the crate's root, in code and in tests; not what a re-export hides.

use super::{Finding, Tree};

/// What a room must not use.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("sandbox", &["engine", "cli", "gateway", "effects", "loader"]),
    ("broker", &["engine", "cli", "gateway", "effects", "loader"]),
    ("signing", &["engine", "cli", "gateway", "effects", "loader"]),
    ("manifest", &["engine", "cli", "gateway", "effects", "loader"]),
    ("gateway", &["engine", "cli"]),
    ("effects", &["engine", "cli"]),
    ("loader", &["engine", "cli"]),
    ("engine", &["cli"]),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension("rs") {
        let Some(inner) = file.path.strip_prefix("src/") else { continue };
        let room = inner.split(['/', '.']).next().unwrap_or_default();
        let Some((_, forbidden)) = FORBIDDEN.iter().find(|(name, _)| *name == room) else { continue };
        for (line, used) in rooms_used(inner, &file.text) {
            if forbidden.contains(&used.as_str()) {
                findings.push(Finding::error(
                    &file.path,
                    line,
                    format!("{room} may not use {used}: the arrow points the other way"),
                ));
            }
        }
    }
    findings
}

/// The rooms that a file names, with lines.
fn rooms_used(inner: &str, text: &str) -> Vec<(usize, String)> {
    let code: String = text.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect();
    // How many `super` lead from this file to the crate's root.
    let depth = inner.trim_end_matches("/mod.rs").trim_end_matches(".rs").split('/').count();
    let root = "super::".repeat(depth);
    let mut used = Vec::new();
    for prefix in ["crate::", &root] {
        for (at, _) in code.match_indices(prefix) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            used.extend(first_names(&code[at + prefix.len()..]).into_iter().map(|name| (line, name)));
        }
    }
    used
}

/// The first name of a path, or of each path in a `{…}` group.
fn first_names(rest: &str) -> Vec<String> {
    let identifier =
        |text: &str| text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = rest.strip_prefix('{') else { return vec![identifier(rest)] };
    let (mut names, mut depth, mut start) = (Vec::new(), 0_u32, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(identifier(&group[start..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(identifier(&group[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_one(path: &str, text: &str, lines: &[usize]) {
        let found: Vec<usize> = check(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect();
        assert_eq!(found, lines, "{path}: {text}");
    }

    #[test]
    fn an_arrow_up_is_found_wherever_it_is_written() {
        check_one("src/sandbox/mod.rs", "//! x\nuse crate::engine::Engine;", &[2]);
        check_one("src/sandbox/mod.rs", "use super::gateway;", &[1]);
        check_one("src/sandbox/native.rs", "use super::super::gateway;", &[1]);
        check_one("src/manifest.rs", "use crate::{\n    config::{Settings, engine},\n    loader::Loader,\n};", &[1]);
        check_one("src/gateway/call.rs", "fn f() { crate::cli::run() }", &[1]);
        check_one("src/engine.rs", "use crate::cli;", &[1]);
    }

    #[test]
    fn an_arrow_down_and_a_comment_are_not() {
        check_one("src/engine/mod.rs", "use crate::effects::Effect; // crate::cli is above", &[]);
        check_one("src/sandbox/native.rs", "use super::gateway_of_the_room;", &[]);
        check_one("src/sandbox/native.rs", "use other_crate::engine;", &[]);
        check_one("src/cli/mod.rs", "use crate::engine;", &[]);
        check_one("src/gateway/call.rs", "use crate::{sandbox, config::engine};", &[]);
    }
}

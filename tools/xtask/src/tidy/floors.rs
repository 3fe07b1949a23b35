//! Arrows between floors: log ← projections ← the binary ← harness and tools. Reads manifests and paths in code.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::{Finding, Tree};

/// Each floor with what it may use of ours. Packages that are not listed may use all.
const FLOORS: &[(&str, &str, &[&str])] = &[
    ("log/", "metnos-log", &[]),
    ("projections/", "metnos-projections", &["metnos-log"]),
    ("src/", "metnos", &["metnos-log", "metnos-projections"]),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| file.name() == "Cargo.toml") {
        match file.text.parse::<Table>() {
            Ok(manifest) => findings.extend(check_manifest(&file.path, &manifest)),
            Err(error) => findings.push(Finding::error(&file.path, 0, format!("it is no TOML: {error}"))),
        }
    }
    for (folder, package, allowed) in FLOORS {
        for file in tree.with_extension("rs").filter(|file| file.path.starts_with(folder)) {
            findings.extend(check_code(&file.path, &file.text, package, allowed));
        }
    }
    findings
}

fn check_manifest(path: &str, manifest: &Table) -> Vec<Finding> {
    let name =
        manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str).unwrap_or_default();
    let Some((_, _, allowed)) = FLOORS.iter().find(|(_, package, _)| *package == name) else { return Vec::new() };
    dependencies(manifest)
        .into_iter()
        .filter(|(dependency, _)| is_ours(dependency) && dependency != name && !allowed.contains(&dependency.as_str()))
        .map(|(dependency, table)| {
            Finding::error(path, 0, format!("{name} may not use {dependency} ([{table}]): a floor knows none above it"))
        })
        .collect()
}

fn is_ours(dependency: &str) -> bool {
    dependency == "metnos" || dependency.starts_with("metnos-")
}

/// Every dependency with the table that names it, those of one target included.
fn dependencies(manifest: &Table) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(|targets| targets.values());
    for table in std::iter::once(manifest).chain(targets.filter_map(Value::as_table)) {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for (key, value) in table.get(kind).and_then(Value::as_table).into_iter().flatten() {
                let renamed = value.get("package").and_then(Value::as_str).unwrap_or(key);
                found.insert(renamed.to_owned(), kind.to_owned());
            }
        }
    }
    found
}

fn check_code(path: &str, text: &str, package: &str, allowed: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        for other in
            ["metnos-log", "metnos-projections", "metnos", "metnos-replay-tests", "metnos-xtask", "metnos-bench"]
        {
            let crate_name = other.replace('-', "_");
            if other != package && !allowed.contains(&other) && names_crate(code, &crate_name) {
                findings.push(Finding::error(path, index + 1, format!("{package} may not use {crate_name}")));
            }
        }
    }
    findings
}

/// Whether a line has the crate at the start of a path.
fn names_crate(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let path_start = before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | ':' | '"' | '-' | '/' | '.'));
        path_start && code[at + name.len()..].starts_with("::")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_one(path: &str, text: &str, expected: usize) {
        assert_eq!(check(&Tree::of(&[(path, text)])).len(), expected, "{path}: {text}");
    }

    #[test]
    fn an_arrow_up_is_found() {
        check_one("log/Cargo.toml", "[package]\nname = 'metnos-log'\n[dependencies]\nserde = '1'\n", 0);
        check_one(
            "log/Cargo.toml",
            "[package]\nname = 'metnos-log'\n[dev-dependencies]\nmetnos-projections = '1'\n",
            1,
        );
        check_one(
            "projections/Cargo.toml",
            "[package]\nname = 'metnos-projections'\n[dependencies]\nm = { package = 'metnos' }\n",
            1,
        );
        check_one(
            "projections/Cargo.toml",
            "[package]\nname = 'metnos-projections'\n[target.'cfg(unix)'.dependencies]\nmetnos = '1'\n",
            1,
        );
        check_one("tools/bench/Cargo.toml", "[package]\nname = 'metnos-bench'\n[dependencies]\nmetnos = '1'\n", 0);
        check_one("log/src/a.rs", "use metnos_projections::Fold;", 1);
        check_one("projections/src/a.rs", "use metnos::engine;", 1);
        check_one("projections/src/a.rs", "use metnos_log::Event; // not metnos::engine", 0);
        check_one("src/a.rs", "fn f() { metnos_bench::run() }", 1);
    }

    #[test]
    fn a_manifest_that_is_none_is_found() {
        check_one("log/Cargo.toml", "[package", 1);
    }
}

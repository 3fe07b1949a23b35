//! Every executor is whole: manifest, program, schema, birth tests, and words in both languages.
//!
//! What a manifest's fields may hold is checked by the parsers of the product.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::{Finding, Tree};

const FILES: [&str; 4] = ["manifest.toml", "main.py", "schema.json", "tests/birth.py"];
const TABLES: [&str; 3] = ["description", "sentences", "presentation"];
const LANGUAGES: [&str; 2] = ["en", "it"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let names: BTreeSet<&str> = tree
        .files()
        .iter()
        .filter_map(|file| file.path.strip_prefix("executors/")?.split_once('/'))
        .map(|(name, _)| name)
        .collect();
    let mut findings = Vec::new();
    for name in names {
        let folder = format!("executors/{name}");
        let missing = FILES.iter().map(|file| format!("{folder}/{file}")).filter(|path| tree.get(path).is_none());
        findings.extend(missing.map(|path| Finding::error(path, 0, "it is missing")));
        if let Some(manifest) = tree.get(&format!("{folder}/manifest.toml")) {
            match manifest.text.parse::<Table>() {
                Ok(table) => findings.extend(check_manifest(&manifest.path, name, &table)),
                Err(error) => findings.push(Finding::error(&manifest.path, 0, format!("it is no TOML: {error}"))),
            }
        }
    }
    findings
}

fn check_manifest(path: &str, folder: &str, manifest: &Table) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = manifest.get("executor").and_then(|executor| executor.get("name")).and_then(Value::as_str);
    if name != Some(folder) {
        findings.push(Finding::error(path, 0, format!("its name is {name:?}, its folder's is {folder}")));
    }
    for table in TABLES {
        for language in LANGUAGES {
            let words = manifest.get(table).and_then(|table| table.get(language));
            let some = match words {
                Some(Value::String(text)) => !text.trim().is_empty(),
                Some(Value::Array(items)) => !items.is_empty(),
                Some(Value::Table(items)) => !items.is_empty(),
                _ => false,
            };
            if !some {
                findings.push(Finding::error(path, 0, format!("{table}.{language} is missing or empty")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "[executor]\nname = 'x'\n[description]\nen = 'a'\nit = 'b'\n[[sentences.en]]\ntext = 'a'\n\
                         [[sentences.it]]\ntext = 'b'\n[presentation]\nen = 'a'\nit = 'b'\n";

    fn with(manifest: &str) -> Vec<Finding> {
        check(&Tree::of(&[
            ("executors/x/manifest.toml", manifest),
            ("executors/x/main.py", ""),
            ("executors/x/schema.json", ""),
            ("executors/x/tests/birth.py", ""),
        ]))
    }

    #[test]
    fn what_is_missing_is_found() {
        assert_eq!(with(WHOLE), []);
        assert_eq!(with(&WHOLE.replace("it = 'b'\n[[sent", "[[sent")).len(), 1);
        assert_eq!(with(&WHOLE.replace("[[sentences.it]]", "[[sentences.de]]")).len(), 1);
        assert_eq!(with(&WHOLE.replace("name = 'x'", "name = 'y'")).len(), 1);
        assert_eq!(with("[executor").len(), 1);
        assert_eq!(check(&Tree::of(&[("executors/x/main.py", "")])).len(), 3);
    }
}

//! What Metnos says and understands is there in every language: equal keys in `messages.toml`, equal tables in
//! `lexicon.toml`. Whether a translation is a good one is not seen here.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::{Finding, Tree};

const LANGUAGES: [&str; 2] = ["en", "it"];

/// Tables of a lexicon that one language alone has: English writes no elisions and no enclitic pronouns, and what belongs
/// to no language is kept beside the English words.
const ALONE: [&str; 4] = ["elisions", "enclitics", "domain_endings", "file_extensions"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let messages = compare(tree, "messages.toml", leaves);
    let lexicons = compare(tree, "lexicon.toml", |table| {
        table.keys().filter(|key| !ALONE.contains(&key.as_str())).cloned().collect()
    });
    messages.into_iter().chain(lexicons).collect()
}

fn compare(tree: &Tree, file: &str, keys: impl Fn(&Table) -> BTreeSet<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = Vec::new();
    for language in LANGUAGES {
        let path = format!("prompts/{language}/{file}");
        match tree.get(&path).map(|source| source.text.parse::<Table>()) {
            None => findings.push(Finding::error(path, 0, "it is missing")),
            Some(Err(error)) => findings.push(Finding::error(path, 0, format!("it is no TOML: {error}"))),
            Some(Ok(table)) => found.push((path, keys(&table))),
        }
    }
    for (path, keys) in &found {
        for (other, others) in found.iter().filter(|(other, _)| other != path) {
            let missing = others.difference(keys);
            findings.extend(missing.map(|key| Finding::error(path, 0, format!("it lacks {key}, which {other} has"))));
        }
    }
    findings
}

/// Dotted names of everything that is no table.
fn leaves(table: &Table) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => found.extend(leaves(inner).into_iter().map(|rest| format!("{key}.{rest}"))),
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_)
            | Value::Array(_) => {
                found.insert(key.clone());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(messages: [&str; 2], lexicons: [&str; 2]) -> Tree {
        Tree::of(&[
            ("prompts/en/messages.toml", messages[0]),
            ("prompts/it/messages.toml", messages[1]),
            ("prompts/en/lexicon.toml", lexicons[0]),
            ("prompts/it/lexicon.toml", lexicons[1]),
        ])
    }

    #[test]
    fn a_key_of_one_language_alone_is_found() {
        let same = ["[a]\nb = 'x'", "[a]\nb = 'y'"];
        let lexicon = ["[cues]\nfirst = 1", "[cues]\nprimo = 1"];
        assert_eq!(check(&tree(same, lexicon)), []);
        let found = check(&tree(["[a]\nb = 'x'\nc = 'x'", "[a]\nb = 'y'"], lexicon));
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].to_string(),
            "error: prompts/it/messages.toml: it lacks a.c, which prompts/en/messages.toml has"
        );
        assert_eq!(check(&tree(same, ["[cues]", "[cues]\n[sizes]"])).len(), 1);
    }

    #[test]
    fn a_missing_or_broken_file_is_found() {
        assert_eq!(check(&Tree::of(&[("prompts/en/messages.toml", "")])).len(), 3);
        assert_eq!(check(&tree(["[a", ""], ["", ""])).len(), 1);
    }
}

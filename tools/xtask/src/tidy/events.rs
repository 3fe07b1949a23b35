//! The table of events in `log/FORMAT.md` is the vocabulary of the code, label and schema, in both directions.

use std::collections::BTreeMap;

use metnos_log::Event;

use super::{Finding, Tree};

const FORMAT: &str = "log/FORMAT.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(format) = tree.get(FORMAT) else {
        return vec![Finding::error(FORMAT, 0, "it is missing: the bytes on disk are described there")];
    };
    compare(&format.text, Event::KINDS)
}

fn compare(format: &str, kinds: &[(&str, u16)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut rows = BTreeMap::new();
    for (line, label, schema) in rows_of(format) {
        if rows.insert((label.clone(), schema), line).is_some() {
            findings.push(Finding::error(FORMAT, line, format!("{label} v{schema} is there twice")));
        }
        if !kinds.iter().any(|(kind, _)| *kind == label) {
            findings.push(Finding::error(FORMAT, line, format!("the code knows no event {label}")));
        }
    }
    for (label, schema) in kinds {
        if !rows.contains_key(&((*label).to_owned(), *schema)) {
            findings.push(Finding::error(FORMAT, 0, format!("the table of events lacks {label} with schema {schema}")));
        }
    }
    findings
}

/// Rows below the heading «Events»: a label in backquotes, then a number.
fn rows_of(format: &str) -> Vec<(usize, String, u16)> {
    let lines = format.lines().enumerate().skip_while(|(_, line)| line.trim() != "## Events");
    lines
        .filter_map(|(index, line)| {
            let mut cells = line.strip_prefix("| `")?.split('|');
            let label = cells.next()?.trim().strip_suffix('`')?.to_owned();
            let schema = cells.next()?.trim().parse().ok()?;
            Some((index + 1, label, schema))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| `format` | 1 | elsewhere |\n## Events\n\n| `a` | 1 | x |\n| `b` | 2 | x |\n";

    #[test]
    fn both_directions_are_compared() {
        assert_eq!(compare(TABLE, &[("a", 1), ("b", 2)]), []);
        let message =
            |kinds: &[(&str, u16)]| compare(TABLE, kinds).into_iter().map(|f| (f.line, f.message)).collect::<Vec<_>>();
        assert_eq!(message(&[("a", 1)]), [(5, "the code knows no event b".to_owned())]);
        let lacks = "the table of events lacks c with schema 1".to_owned();
        assert_eq!(message(&[("a", 1), ("b", 2), ("c", 1)]), [(0, lacks)]);
        let older = "the table of events lacks a with schema 2".to_owned();
        assert_eq!(message(&[("a", 2), ("b", 2)]), [(0, older)]);
    }

    #[test]
    fn a_row_twice_and_a_missing_file_are_found() {
        let twice = format!("{TABLE}| `a` | 1 | again |\n");
        assert_eq!(compare(&twice, &[("a", 1), ("b", 2)]).len(), 1);
        assert_eq!(check(&Tree::of(&[("log/other.md", "")])).len(), 1);
    }
}

//! Catalogs and corpora as files: read whole, checked line by line, said plainly where they are broken.

use std::path::Path;

use metnos_projections::rules::prefilter::{Index, Offered};
use serde_json::{Value, json};

use super::super::{Failure, named};
use crate::cause::plain;
use crate::cli::output::by;

/// What is expected of a catalog, for hints.
const CATALOG_FORM: &str = r#"a catalog is a JSON list of {"name","description","affinity":[…],"args":{JSON Schema}}"#;

/// Tools as a file lists them.
#[derive(Debug)]
pub(super) struct Catalog {
    tools: Vec<Tool>,
}

#[derive(Debug)]
struct Tool {
    name: String,
    description: String,
    affinity: Vec<String>,
    args: Value,
}

impl Catalog {
    /// Reads a catalog's file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = text(path)?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| Failure::usage(format!("{}: no JSON: {error}", path.display()), CATALOG_FORM))?;
        Self::parse(value).map_err(|reason| Failure::usage(format!("{}: {reason}", path.display()), CATALOG_FORM))
    }

    /// Reads a list of tools; what is wrong with it is said in words.
    fn parse(list: Value) -> Result<Self, String> {
        let Value::Array(list) = list else { return Err("it is no list of tools".to_owned()) };
        let tools =
            (1..).zip(list).map(|(place, tool)| Tool::parse(tool).map_err(|reason| format!("tool {place} {reason}")));
        Ok(Self { tools: tools.collect::<Result<_, _>>()? })
    }

    /// Indexes it.
    pub(super) fn index(&self) -> Index {
        Index::new(self.tools.iter().map(|tool| Offered {
            name: &tool.name,
            description: &tool.description,
            affinity: &tool.affinity,
            args: &tool.args,
        }))
    }
}

impl Tool {
    fn parse(mut tool: Value) -> Result<Self, &'static str> {
        let mut take = |key: &str| tool.get_mut(key).map(Value::take).unwrap_or_default();
        let Value::String(name) = take("name") else { return Err("has no name") };
        let description = match take("description") {
            Value::String(description) => description,
            _ => String::new(),
        };
        let affinity = match take("affinity") {
            Value::Array(list) => list.into_iter().filter_map(|word| word.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        };
        Ok(Self { name, description, affinity, args: take("args") })
    }
}

/// One line of a corpus.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) query: String,
    /// What must come first; absent where nothing answers.
    pub(super) first_tool: Option<String>,
    /// The tools that it chooses among, if it brings its own.
    pub(super) functions: Option<Catalog>,
}

/// A corpus, and what is wrong with the lines that could not be read.
#[derive(Debug)]
pub(super) struct Corpus {
    pub(super) rows: Vec<Row>,
    /// The line's number and the reason.
    pub(super) broken: Vec<(usize, String)>,
}

impl Corpus {
    /// Reads a corpus' file. `has_catalog`: rows need not bring tools. `answered`: rows must say what comes first.
    pub(super) fn read(path: &Path, has_catalog: bool, answered: bool) -> Result<Self, Failure> {
        let corpus = Self::parse(&text(path)?, has_catalog, answered);
        if corpus.rows.is_empty() {
            let first =
                corpus.broken.first().map_or_else(String::new, |(line, reason)| format!("; line {line}: {reason}"));
            return Err(Failure::usage(
                ("error.no_corpus_line", json!({ "file": path.to_string_lossy(), "first": first })),
                r#"a corpus is lines of {"query","first_tool"}, each with its "functions" unless --catalog names a file"#,
            ));
        }
        Ok(corpus)
    }

    fn parse(text: &str, has_catalog: bool, answered: bool) -> Self {
        let mut corpus = Self { rows: Vec::new(), broken: Vec::new() };
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            match Row::parse(text, has_catalog, answered) {
                Ok(row) => corpus.rows.push(row),
                Err(reason) => corpus.broken.push((line, reason)),
            }
        }
        corpus
    }
}

impl Row {
    fn parse(text: &str, has_catalog: bool, answered: bool) -> Result<Self, String> {
        let mut row: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
        let mut take = |key: &str| row.get_mut(key).map(Value::take).unwrap_or_default();
        let Value::String(query) = take("query") else { return Err("it has no query".to_owned()) };
        let first_tool = take("first_tool").as_str().map(str::to_owned);
        if answered && first_tool.is_none() {
            return Err("it has no first_tool".to_owned());
        }
        let functions = match take("functions") {
            Value::Null if has_catalog => None,
            Value::Null => return Err("it has no functions, and no --catalog is given".to_owned()),
            list => Some(Catalog::parse(list)?),
        };
        Ok(Self { query, first_tool, functions })
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    let bytes = named::bytes(path, named::BYTES_MAX).map_err(|error| {
        Failure::refused(
            ("error.file_unreadable", json!({ "file": path.to_string_lossy(), "reason": plain(&error) })),
            by("next.there"),
        )
    })?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::usage(("error.no_utf8_file", json!({ "file": path.to_string_lossy() })), by("next.utf8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_lines_are_named_and_the_rest_is_used() {
        let text = r#"{"query":"a","first_tool":"x","functions":[{"name":"x"}]}

            {"query":
            {"first_tool":"x"}
            {"query":"b","first_tool":"x"}
            {"query":"c","functions":[{"name":"x"}]}
            {"query":"d","first_tool":"x","functions":{"name":"x"}}
            {"query":"e","first_tool":"x","functions":[{"name":"x"},{"description":"y"}]}
            7"#;
        let corpus = Corpus::parse(text, false, true);
        assert_eq!(corpus.rows.iter().map(|row| row.query.as_str()).collect::<Vec<_>>(), ["a"]);
        let lines: Vec<usize> = corpus.broken.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 4, 5, 6, 7, 8, 9]);
        let reasons: Vec<&str> = corpus.broken.iter().skip(1).map(|(_, reason)| reason.as_str()).collect();
        assert_eq!(
            reasons,
            [
                "it has no query",
                "it has no functions, and no --catalog is given",
                "it has no first_tool",
                "it is no list of tools",
                "tool 2 has no name",
                "it has no query"
            ]
        );
        assert_eq!(Corpus::parse(text, true, false).rows.len(), 3);
    }

    #[test]
    fn what_a_tool_lacks_or_has_wrongly_is_nothing() {
        let list =
            serde_json::json!([{"name": "a", "description": 3, "affinity": ["b", 4], "args": "none"}, {"name": "a"}]);
        let catalog = Catalog::parse(list).expect("two tools");
        assert_eq!((catalog.tools[0].description.as_str(), catalog.tools[0].affinity.len()), ("", 1));
        assert_eq!(catalog.index().len(), 2);
    }
}

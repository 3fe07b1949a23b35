//! References between steps: `from_step` for lists, `{{stepN.field}}` for the rest (design 5-turn, «References»).

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use regex::Regex;
use serde_json::{Map, Value};

use crate::plan::Origin;

/// Why a reference cannot be replaced by a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// No such step has ended well yet.
    #[error("step {step} does not exist; there are {there}")]
    NoStep {
        /// The step that was named.
        step: u32,
        /// The steps that exist.
        there: String,
    },
    /// The step's result has no such field.
    #[error("step {step} has no field «{path}»; it has {there}")]
    NoField {
        /// The step.
        step: u32,
        /// The field that was named.
        path: String,
        /// The fields that exist.
        there: String,
    },
    /// `from_step` of a step that produced no list.
    #[error("step {step} produced no list of entries")]
    NoEntries {
        /// The step.
        step: u32,
    },
}

/// Arguments without references, and where each top-level value came from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved {
    /// The arguments: an object, shared since it may hold all that an earlier step found.
    pub args: Arc<Value>,
    /// The origin of each value that a reference brought, by JSON pointer.
    pub origins: BTreeMap<String, Origin>,
}

fn pattern() -> &'static Regex {
    static PATTERN: OnceLock<Regex> = OnceLock::new();
    PATTERN.get_or_init(|| {
        Regex::new(r"^\{\{\s*step(\d{1,4})\.([A-Za-z0-9_.\[\]-]+)\s*\}\}$").expect("the pattern is constant")
    })
}

/// The step and the path that a text refers to, when it is a reference as a whole.
pub fn reference(text: &str) -> Option<(u32, &str)> {
    let captures = pattern().captures(text)?;
    let step = captures.get(1)?.as_str().parse().ok()?;
    Some((step, captures.get(2)?.as_str()))
}

/// Replaces every reference in `args` by what the steps' results hold.
pub fn resolve(args: &Value, results: &BTreeMap<u32, &Value>) -> Result<Resolved, ReferenceError> {
    let (mut resolved, mut values) = (Resolved::default(), Map::new());
    for (name, value) in args.as_object().into_iter().flatten() {
        if name == "from_step" {
            let step = value.as_u64().and_then(|step| u32::try_from(step).ok()).unwrap_or(0);
            let result = step_result(step, results)?;
            let entries = result.get("entries").filter(|entries| entries.is_array()).cloned();
            let entries = entries.or_else(|| single(result)).ok_or(ReferenceError::NoEntries { step })?;
            values.insert("entries".to_owned(), entries);
            resolved.origins.insert("/entries".to_owned(), Origin::Step { step, path: "entries".to_owned() });
        } else {
            let pointer = format!("/{name}");
            let found = replaced(value, results, &pointer, &mut resolved.origins)?;
            // What an earlier step left out is left out here too: a field of a form that nobody filled in.
            if found.is_null() && !value.is_null() {
                resolved.origins.remove(&pointer);
                continue;
            }
            values.insert(name.clone(), found);
        }
    }
    resolved.args = Arc::new(Value::Object(values));
    Ok(resolved)
}

/// A reader of one thing stands for a list of one.
fn single(result: &Value) -> Option<Value> {
    let content = result.get("content")?;
    let mut entry = result.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    entry.insert("content".to_owned(), content.clone());
    Some(Value::Array(vec![Value::Object(entry)]))
}

fn replaced(
    value: &Value,
    results: &BTreeMap<u32, &Value>,
    pointer: &str,
    origins: &mut BTreeMap<String, Origin>,
) -> Result<Value, ReferenceError> {
    match value {
        Value::String(text) => {
            let Some((step, path)) = reference(text) else { return Ok(value.clone()) };
            let found = field(step, path, step_result(step, results)?)?;
            origins.insert(pointer.to_owned(), Origin::Step { step, path: path.to_owned() });
            Ok(found.clone())
        }
        Value::Array(items) => {
            let replace = |(index, item)| replaced(item, results, &format!("{pointer}/{index}"), origins);
            items.iter().enumerate().map(replace).collect::<Result<_, _>>().map(Value::Array)
        }
        Value::Object(map) => {
            let replace = |(name, item): (&String, &Value)| {
                replaced(item, results, &format!("{pointer}/{name}"), origins).map(|item| (name.clone(), item))
            };
            map.iter().map(replace).collect::<Result<_, _>>().map(Value::Object)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
    }
}

fn step_result<'r>(step: u32, results: &BTreeMap<u32, &'r Value>) -> Result<&'r Value, ReferenceError> {
    results.get(&step).copied().ok_or_else(|| {
        let there: Vec<String> = results.keys().map(|step| format!("step{step}")).collect();
        let there = if there.is_empty() { "none yet".to_owned() } else { there.join(", ") };
        ReferenceError::NoStep { step, there }
    })
}

/// The value under a dotted path; numbers index lists.
pub fn field<'v>(step: u32, path: &str, result: &'v Value) -> Result<&'v Value, ReferenceError> {
    let mut value = result;
    for part in path.split(['.', '[', ']']).filter(|part| !part.is_empty()) {
        let next = match value {
            Value::Array(items) => part.parse::<usize>().ok().and_then(|index| items.get(index)),
            Value::Object(map) => map.get(part),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        value = next.ok_or_else(|| {
            let names = value.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>().join(", "));
            let there = names.filter(|names| !names.is_empty()).unwrap_or_else(|| "no fields".to_owned());
            ReferenceError::NoField { step, path: path.to_owned(), there }
        })?;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_become_values_with_their_origin() {
        let first = json!({"ok": true, "entries": [{"a": 1}], "metadata": {"path": "/x"}});
        let results = BTreeMap::from([(1, &first)]);
        let args = json!({"from_step": 1, "title": "{{step1.metadata.path}}", "deep": ["{{step1.entries[0].a}}"]});
        let resolved = resolve(&args, &results).unwrap();
        assert_eq!(*resolved.args, json!({"entries": [{"a": 1}], "title": "/x", "deep": [1]}));
        assert_eq!(resolved.origins["/title"], Origin::Step { step: 1, path: "metadata.path".to_owned() });
        assert_eq!(resolved.origins["/deep/0"], Origin::Step { step: 1, path: "entries[0].a".to_owned() });
    }

    #[test]
    fn what_was_left_out_leaves_its_argument_out() {
        let form = json!({"ok": true, "values": {"most": null, "file": "a"}});
        let args = json!({"most": "{{step1.values.most}}", "file": "{{step1.values.file}}", "own": null});
        let resolved = resolve(&args, &BTreeMap::from([(1, &form)])).unwrap();
        assert_eq!(*resolved.args, json!({"file": "a", "own": null}));
        assert_eq!(resolved.origins.keys().collect::<Vec<_>>(), ["/file"]);
    }

    #[test]
    fn an_unknown_step_or_field_says_what_there_is() {
        let first = json!({"ok": true, "content": "x"});
        let results = BTreeMap::from([(1, &first)]);
        let error = resolve(&json!({"a": "{{step2.content}}"}), &results).unwrap_err();
        assert_eq!(error.to_string(), "step 2 does not exist; there are step1");
        let error = resolve(&json!({"a": "{{step1.text}}"}), &results).unwrap_err();
        assert_eq!(error.to_string(), "step 1 has no field «text»; it has content, ok");
    }

    #[test]
    fn a_reference_inside_of_a_text_is_only_text() {
        let args = json!({"a": "see {{step1.content}}"});
        assert_eq!(*resolve(&args, &BTreeMap::new()).unwrap().args, args);
    }
}

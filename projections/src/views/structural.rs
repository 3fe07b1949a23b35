//! What differs between two values: every place that came, went or holds something else, in the order of its path.
//!
//! A place is a JSON pointer. Maps are compared by key and lists by position; a value that is there on one side alone is
//! one change, however much it holds.

use serde::Serialize;
use serde_json::Value;

/// One place that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// JSON pointer; empty for the whole.
    pub path: String,
    /// What was there; absent where there was nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What is there; absent where there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// All places that differ. The order follows from the values alone.
pub fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare(&mut String::new(), Some(before), Some(after), &mut found);
    found
}

fn compare(path: &mut String, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Change>) {
    match (before, after) {
        (before, after) if before == after => {}
        (Some(Value::Object(was)), Some(Value::Object(is))) => {
            let mut keys: Vec<&String> = was.keys().chain(is.keys().filter(|key| !was.contains_key(*key))).collect();
            keys.sort();
            for key in keys {
                below(path, &key.replace('~', "~0").replace('/', "~1"), was.get(key), is.get(key), found);
            }
        }
        (Some(Value::Array(was)), Some(Value::Array(is))) => {
            for place in 0..was.len().max(is.len()) {
                below(path, &place.to_string(), was.get(place), is.get(place), found);
            }
        }
        (before, after) => {
            found.push(Change { path: path.clone(), before: before.cloned(), after: after.cloned() });
        }
    }
}

fn below(path: &mut String, name: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Change>) {
    let length = path.len();
    path.push('/');
    path.push_str(name);
    compare(path, before, after, found);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(before: &Value, after: &Value, expected: &Value) {
        assert_eq!(serde_json::to_value(changes(before, after)).unwrap(), *expected);
    }

    #[test]
    fn equal_values_differ_nowhere() {
        check(&json!({ "a": [1, { "b": null }] }), &json!({ "a": [1, { "b": null }] }), &json!([]));
    }

    #[test]
    fn every_place_is_named_in_the_order_of_its_path() {
        check(
            &json!({ "z": 1, "a/b": { "x": 1, "~": 2 }, "list": [1, 2, 3] }),
            &json!({ "b": [], "a/b": { "x": 1, "~": 3 }, "list": [1, 4], "z": null }),
            &json!([
                { "path": "/a~1b/~0", "before": 2, "after": 3 },
                { "path": "/b", "after": [] },
                { "path": "/list/1", "before": 2, "after": 4 },
                { "path": "/list/2", "before": 3 },
                { "path": "/z", "before": 1, "after": null },
            ]),
        );
        check(&json!(1), &json!({}), &json!([{ "path": "", "before": 1, "after": {} }]));
    }
}

//! A recorded value as lines that a person reads: each by its name, and what it is made of set in below it.

use std::borrow::Cow;

use metnos_log::canonical;
use serde_json::{Map, Value, json};

/// Stands where there is nothing.
const NOTHING: &str = "-";

/// The lines of an object or a list, one value a line; a text of several lines is set in below its name.
pub(super) fn lines(value: &Value) -> String {
    let mut said = String::new();
    write(&mut said, 0, &opened(value));
    said.trim_end().to_owned()
}

/// A value with what it keeps as JSON taken apart, so that it can be compared and shown by its parts: where that is what was
/// written, to the letter. JSON of others may say a name twice, or a number to more digits than fit.
pub(super) fn opened(value: &Value) -> Value {
    match value {
        Value::Object(members) => match members.get("inline") {
            // A text that might lie in a blob, and does not.
            Some(Value::String(text)) if members.keys().all(|name| name == "inline" || name == "len") => {
                let inner = serde_json::from_str::<Value>(text).ok();
                let inner = inner
                    .filter(|inner| (inner.is_object() || inner.is_array()) && canonical::to_string(inner) == *text);
                inner.unwrap_or_else(|| Value::String(text.clone()))
            }
            _ => {
                Value::Object(members.iter().map(|(name, value)| (name.clone(), opened(value))).collect::<Map<_, _>>())
            }
        },
        Value::Array(items) => items.iter().map(opened).collect(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// A value on one line.
pub(super) fn in_short(value: Option<&Value>) -> String {
    match value.map(simple) {
        None => NOTHING.to_owned(),
        Some(Some(text)) => text.into_owned(),
        Some(None) => value.unwrap_or(&json!(null)).to_string(),
    }
}

/// What stands on its name's own line.
fn simple(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => Some(NOTHING.into()),
        Value::String(text) if text.is_empty() => Some(NOTHING.into()),
        Value::String(text) if text.contains('\n') => None,
        Value::String(text) => Some(text.into()),
        Value::Bool(is) => Some(if *is { "yes" } else { "no" }.into()),
        Value::Number(number) => Some(number.to_string().into()),
        Value::Array(items) if items.is_empty() => Some(NOTHING.into()),
        Value::Object(members) if members.is_empty() => Some(NOTHING.into()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn write(said: &mut String, depth: usize, value: &Value) {
    let put = |said: &mut String, line: &str| said.extend([&*"  ".repeat(depth), line, "\n"]);
    let named = |said: &mut String, name: &str, value: &Value| {
        if let Some(text) = simple(value) {
            put(said, &format!("{name} {text}"));
        } else {
            put(said, name);
            write(said, depth + 1, value);
        }
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| named(said, &format!("{name}:"), value)),
        Value::Array(items) => items.iter().for_each(|item| named(said, "-", item)),
        Value::String(text) => text.lines().for_each(|line| put(said, line)),
        Value::Null | Value::Bool(_) | Value::Number(_) => put(said, &in_short(Some(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_a_line_and_what_is_json_inside_is_taken_apart() {
        let value = json!({
            "ok": true, "none": null, "empty": [], "count": 3, "text": "two\nlines",
            "plan": { "len": 46, "inline": "{\"steps\":[{\"args\":{},\"tool\":\"get_now\"},7]}" },
        });
        let expected = "count: 3\nempty: -\nnone: -\nok: yes\nplan:\n  steps:\n    -\n      args: -\n      tool: get_now\n    \
                        - 7\ntext:\n  two\n  lines";
        assert_eq!(lines(&value), expected);
        assert_eq!(lines(&json!({ "broken": "{no json" })), "broken: {no json");
        // What is not the program's own JSON is shown as it is.
        for text in ["{\"pin\":1,\"pin\":2}", "{\"n\":12345678901234567890123}", "{ \"a\":1}"] {
            assert_eq!(lines(&json!({ "message": { "len": 9, "inline": text } })), format!("message: {text}"));
        }
        let others = json!({ "inline": "only this", "hidden": "and this" });
        assert_eq!(lines(&others), "hidden: and this\ninline: only this");
        assert_eq!(in_short(Some(&json!({ "a": [1] }))), "{\"a\":[1]}");
        assert_eq!((in_short(None), in_short(Some(&json!("")))), ("-".to_owned(), "-".to_owned()));
    }
}

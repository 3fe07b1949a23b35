//! What a model is shown of an outcome: all of it while it is short, else a handle with its beginning, its end and its form;
//! and what reading the rest by that handle gives (design 5-turn, «Scratchpad»). Lengths are in characters.

use std::collections::BTreeMap;

use metnos_log::canonical;
use serde_json::{Map, Value, json};

/// The longest outcome that is shown whole, in bytes of JSON.
pub const WHOLE_MAX: usize = 4096;
/// What a handle shows of the beginning and of the end.
const ENDS: usize = 500;
/// What `head` and `tail` give when no number is asked for.
const PART: usize = 2000;
/// The most that is given at once, `full` included.
const READ_MAX: usize = 32_768;
/// Metadata longer than this is not repeated in a handle.
const METADATA_MAX: usize = 1024;
/// The most entries whose fields a handle names.
const LOOKED_AT: usize = 50;

/// What is shown of an outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The value.
    pub value: Value,
    /// Length of the whole in bytes of JSON.
    pub size: u64,
    /// Whether it is a handle.
    pub is_handle: bool,
}

/// Shows the outcome of a step, labelled with where it came from.
pub fn shown(step: u32, tool: &str, result: &Value) -> Shown {
    let size = canonical::to_string(result).len();
    let mut fields = Map::new();
    fields.insert("step".to_owned(), step.into());
    fields.insert("source".to_owned(), tool.into());
    let is_handle = size > WHOLE_MAX;
    if is_handle {
        fields.extend(handle(step, result, size));
    } else {
        fields.extend(result.as_object().cloned().unwrap_or_default());
    }
    Shown { value: Value::Object(fields), size: size as u64, is_handle }
}

/// The name of a step's long outcome.
pub fn handle_of(step: u32) -> String {
    format!("s{step}")
}

/// The step that a handle names.
pub fn step_of(handle: &str) -> Option<u32> {
    handle.trim().strip_prefix('s')?.parse().ok()
}

fn handle(step: u32, result: &Value, size: usize) -> Map<String, Value> {
    let (kind, text) = text_of(result);
    let mut fields = Map::new();
    fields.insert("ok".to_owned(), result.get("ok").cloned().unwrap_or(Value::Bool(false)));
    fields.insert("scratchpad_id".to_owned(), handle_of(step).into());
    fields.insert("size_bytes".to_owned(), size.into());
    fields.insert("kind".to_owned(), kind.into());
    fields.insert("characters".to_owned(), text.chars().count().into());
    fields.insert("summary".to_owned(), ends(&text).into());
    for name in ["error_class", "error", "ok_count", "fail_count", "bytes_written", "metadata"] {
        if let Some(value) = result.get(name).filter(|value| canonical::to_string(value).len() <= METADATA_MAX) {
            fields.insert(name.to_owned(), value.clone());
        }
    }
    if let Some(entries) = result.get("entries").and_then(Value::as_array) {
        fields.insert("list_field".to_owned(), "entries".into());
        fields.insert("count".to_owned(), entries.len().into());
        fields.insert("schema".to_owned(), list_schema(entries));
    }
    fields
}

/// The names of the entries' fields, each with the kinds of its values.
fn list_schema(entries: &[Value]) -> Value {
    let mut kinds: BTreeMap<&str, Vec<&'static str>> = BTreeMap::new();
    for (name, value) in entries.iter().take(LOOKED_AT).filter_map(Value::as_object).flatten() {
        let kind = canonical::kind(value);
        let known = kinds.entry(name).or_default();
        if !known.contains(&kind) {
            known.push(kind);
        }
    }
    kinds.into_iter().map(|(name, kinds)| (name.to_owned(), Value::from(kinds.join(" | ")))).collect()
}

/// The text that a long outcome is read as: a reader's content, entries one a line, else the JSON itself.
pub fn text_of(result: &Value) -> (&'static str, String) {
    if let Some(content) = result.get("content").and_then(Value::as_str) {
        return ("text", content.to_owned());
    }
    match result.get("entries").and_then(Value::as_array) {
        Some(entries) => ("list", entries.iter().map(canonical::to_string).collect::<Vec<_>>().join("\n")),
        None => ("json", canonical::to_string(result)),
    }
}

/// The first and the last characters, and how many are between.
fn ends(text: &str) -> String {
    let all = text.chars().count();
    if all <= 2 * ENDS {
        return text.to_owned();
    }
    let (first, last) = (part(text, 0, ENDS), part(text, all - ENDS, all));
    format!("{first}\n… {} characters omitted …\n{last}", all - 2 * ENDS)
}

fn part(text: &str, start: usize, end: usize) -> String {
    text.chars().skip(start).take(end.saturating_sub(start)).collect()
}

/// What `scratchpad_read` gives of a text: a part of it and where it stands. `None` for a mode that there is not.
pub fn read(text: &str, arguments: &Map<String, Value>) -> Option<Value> {
    let number = |name: &str| {
        let value = arguments.get(name)?;
        let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())?;
        usize::try_from(number).ok()
    };
    let all = text.chars().count();
    let mode = arguments.get("mode").and_then(Value::as_str).unwrap_or("head");
    let (start, end) = match mode {
        "full" => (0, all),
        "head" => (0, number("n").unwrap_or(PART)),
        "tail" => (all.saturating_sub(number("n").unwrap_or(PART)), all),
        "range" => (number("start").unwrap_or(0), number("end").unwrap_or(all)),
        _ => return None,
    };
    let (start, end) = (start.min(all), end.min(all).max(start.min(all)));
    let given = end.min(start + READ_MAX);
    let mut value =
        json!({ "ok": true, "text": part(text, start, given), "start": start, "end": given, "characters": all });
    if given < end {
        value["cut"] =
            format!("only {READ_MAX} characters are given at once; read on with mode range from {given}").into();
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_outcome_is_shown_whole_and_a_long_one_by_its_ends() {
        let short = shown(1, "get_now", &json!({ "ok": true, "content": "x" }));
        assert_eq!(short.value, json!({ "step": 1, "source": "get_now", "ok": true, "content": "x" }));
        assert!(!short.is_handle);
        let text = format!("{}{}{}", "a".repeat(500), "è".repeat(99_000), "z".repeat(500));
        let long = shown(2, "read_files", &json!({ "ok": true, "content": text, "metadata": { "path": "/x" } }));
        let value = &long.value;
        assert_eq!(
            (&value["scratchpad_id"], &value["kind"], &value["metadata"]["path"]),
            (&json!("s2"), &json!("text"), &json!("/x"))
        );
        let summary = value["summary"].as_str().unwrap();
        assert!(summary.starts_with(&"a".repeat(500)) && summary.ends_with(&"z".repeat(500)));
        assert!(summary.contains("… 99000 characters omitted …") && value.get("content").is_none());
        assert!(long.is_handle && long.size > 198_000 && value.to_string().len() < 3000);
    }

    #[test]
    fn a_long_list_shows_its_form() {
        let entries: Vec<Value> =
            (0..500).map(|n| json!({ "name": format!("file {n}"), "size": n, "link": null })).collect();
        let value =
            shown(3, "find_files", &json!({ "ok": true, "entries": entries, "metadata": { "count": 500 } })).value;
        assert_eq!(value["schema"], json!({ "name": "string", "size": "number", "link": "null" }));
        assert_eq!((&value["count"], &value["list_field"]), (&json!(500), &json!("entries")));
    }

    #[test]
    fn any_part_can_be_read_and_none_is_too_much() {
        let text: String = ('a'..='z').cycle().take(100_000).collect();
        let get = |arguments: Value| read(&text, arguments.as_object().unwrap());
        assert_eq!(get(json!({ "mode": "head" })).unwrap()["text"].as_str().unwrap().len(), 2000);
        assert_eq!(get(json!({ "mode": "tail", "n": 3 })).unwrap()["text"], &text[99_997..]);
        assert_eq!(get(json!({ "mode": "range", "start": "26", "end": 29 })).unwrap()["text"], "abc");
        assert_eq!(get(json!({ "mode": "range", "start": 9, "end": 2 })).unwrap()["text"], "");
        assert_eq!(get(json!({ "mode": "range", "start": 999_999 })).unwrap()["text"], "");
        let full = get(json!({ "mode": "full" })).unwrap();
        assert_eq!(full["end"], READ_MAX);
        assert!(full["cut"].as_str().unwrap().contains("32768"));
        assert_eq!(get(json!({ "mode": "sideways" })), None);
        assert_eq!((step_of("s12"), step_of("12"), step_of("s-1")), (Some(12), None, None));
    }
}

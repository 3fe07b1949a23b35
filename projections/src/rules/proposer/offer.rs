//! The tools that a model is offered: the executors' own schemas in the subset that grammars of model servers know, with lists
//! of entries replaced by the number of the step that produced them. And the way back: a call's arguments as a plan writes
//! them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::wire::Offer;
use crate::manifest::{Manifest, Role};
use crate::messages::{Language, Messages};
use crate::rules::simple::Tools;

/// Ends the turn with an answer.
pub const FINAL_ANSWER: &str = "final_answer";
/// Says that no executor does what is needed.
pub const REQUEST_NEW: &str = "request_new_executor";
/// Reads a part of a long outcome.
pub const SCRATCHPAD_READ: &str = "scratchpad_read";
/// The argument that names the step whose list is taken.
const FROM_STEP: &str = "from_step";
/// The argument that it stands for.
const ENTRIES: &str = "entries";

/// Keywords of JSON Schema that are kept: every model server's grammar knows them.
const KEYWORDS: [&str; 10] = [
    "type",
    "description",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "default",
    "additionalProperties",
    "anyOf",
];

/// Why a call's arguments are not taken: a key of `[model]` and what it is filled in with.
#[derive(Clone, Debug, PartialEq)]
pub struct NotTaken(pub &'static str, pub Value);

/// The offered executors by name, and the tools that the turn itself serves.
pub fn offers(
    tools: &Tools,
    names: &BTreeSet<String>,
    messages: &Messages,
    language: Language,
    pads: bool,
) -> Vec<Offer> {
    let executor = |name: &String| {
        let tool = tools.get(name)?;
        let description = match language {
            Language::En => &tool.manifest.description.en,
            Language::It => &tool.manifest.description.it,
        };
        let schema = schema(&tool.manifest, &tool.input);
        Some(Offer { name: name.clone(), description: description.clone(), schema })
    };
    let mut offers: Vec<Offer> = names.iter().filter_map(executor).collect();
    let own = |name: &str, schema: Value| {
        let description = messages.say(language, &format!("model.tool_{name}"), json!({}));
        Offer { name: name.to_owned(), description, schema }
    };
    offers.push(own(FINAL_ANSWER, object(&[("text", json!({ "type": "string" }))], &["text"])));
    let wish = [("name", json!({ "type": "string" })), ("purpose", json!({ "type": "string" }))];
    offers.push(own(REQUEST_NEW, object(&wish, &["purpose"])));
    if pads {
        let reading = [
            ("scratchpad_id", json!({ "type": "string" })),
            ("mode", json!({ "enum": ["full", "head", "tail", "range"] })),
            ("n", json!({ "type": "integer" })),
            ("start", json!({ "type": "integer" })),
            ("end", json!({ "type": "integer" })),
        ];
        offers.push(own(SCRATCHPAD_READ, object(&reading, &["scratchpad_id", "mode"])));
    }
    offers.sort_by(|one, other| one.name.cmp(&other.name));
    offers
}

fn object(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The schema of an executor's arguments as a model sees it.
pub fn schema(manifest: &Manifest, input: &Value) -> Value {
    let mut properties = Map::new();
    for (name, property) in input.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if is_free(property) {
            continue;
        }
        if is_handed_on(manifest, name, property) {
            let told = property.get("description").and_then(Value::as_str).unwrap_or_default();
            let number = json!({ "type": "integer", "description": told });
            properties.insert(offered_name(name).to_owned(), number);
        } else {
            properties.insert(name.clone(), plain(property));
        }
    }
    let listed = input.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let renamed = |name: &str| {
        let is_kept = properties.contains_key(name);
        if is_kept { name.to_owned() } else { offered_name(name).to_owned() }
    };
    let required: Vec<String> = listed.map(renamed).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn offered_name(name: &str) -> &str {
    if name == ENTRIES { FROM_STEP } else { name }
}

/// Whether an argument is a list that only an earlier step can have made: one whose items the schema closes is written out.
fn is_handed_on(manifest: &Manifest, name: &str, property: &Value) -> bool {
    let is_entries = manifest.arguments.get(name).is_some_and(|argument| argument.role == Role::Entries);
    is_entries && property.pointer("/items/additionalProperties") != Some(&Value::Bool(false))
}

/// Whether an argument is a bag of anything, such as headers of a request. A model does not fill it: what goes out to others
/// in it would be asked about by nobody.
fn is_free(property: &Value) -> bool {
    property.get("type").and_then(Value::as_str) == Some("object") && property.get("properties").is_none()
}

/// A schema in the kept keywords alone. Bounds and patterns are checked when the call is made.
fn plain(schema: &Value) -> Value {
    let Some(map) = schema.as_object() else { return schema.clone() };
    let mut kept = Map::new();
    for (keyword, value) in map.iter().filter(|(keyword, _)| KEYWORDS.contains(&keyword.as_str())) {
        let value = match (keyword.as_str(), value) {
            ("properties", Value::Object(named)) => {
                named.iter().map(|(name, property)| (name.clone(), plain(property))).collect()
            }
            ("items" | "additionalProperties", inner) => plain(inner),
            ("anyOf", Value::Array(ways)) => ways.iter().map(plain).collect(),
            (_, other) => other.clone(),
        };
        kept.insert(keyword.clone(), value);
    }
    Value::Object(kept)
}

/// A call's arguments as a plan writes them: lists by reference. Lists that the model wrote itself are not taken.
pub fn taken(manifest: &Manifest, input: &Value, arguments: &Map<String, Value>) -> Result<Value, NotTaken> {
    let property = |name: &str| input.pointer(&format!("/properties/{name}"));
    let mut args = Map::new();
    for (name, value) in arguments {
        let handed_on = property(name).is_some_and(|property| is_handed_on(manifest, name, property));
        match name.as_str() {
            FROM_STEP => {
                args.insert(FROM_STEP.to_owned(), step_number(value).map_or_else(|| value.clone(), Value::from));
            }
            free if property(free).is_some_and(is_free) => {
                return Err(NotTaken("model.not_yours", json!({ "name": free })));
            }
            ENTRIES if handed_on => return Err(NotTaken("model.own_list", json!({ "name": FROM_STEP }))),
            other if handed_on => {
                let is_reference = value.as_str().is_some_and(|text| text.starts_with("{{"));
                let reference = match step_number(value) {
                    Some(step) => format!("{{{{step{step}.entries}}}}").into(),
                    None if is_reference => value.clone(),
                    None => return Err(NotTaken("model.own_list", json!({ "name": other }))),
                };
                args.insert(other.to_owned(), reference);
            }
            other => {
                // A value that is left out is left out; models like to write it down.
                let is_unset =
                    value.is_null() && property(other).is_some_and(|property| property.get("type").is_some());
                if !is_unset {
                    args.insert(other.to_owned(), value.clone());
                }
            }
        }
    }
    Ok(Value::Object(args))
}

/// The number of a step: models write it as a text too.
fn step_number(value: &Value) -> Option<u32> {
    let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())?;
    u32::try_from(number).ok()
}

/// Whether an act's arguments name anything that it could be done to.
pub fn has_target(manifest: &Manifest, args: &Value) -> bool {
    let Some(args) = args.as_object() else { return false };
    let is_said = |value: &Value| match value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => items.iter().any(|item| item.as_str().is_none_or(|text| !text.trim().is_empty())),
        Value::Null | Value::Bool(_) => false,
        Value::Number(_) | Value::Object(_) => true,
    };
    let targets =
        manifest.arguments.iter().filter(|(_, argument)| argument.role.is_target() || argument.role == Role::Entries);
    let mut named = targets.map(|(name, _)| name.as_str()).chain([FROM_STEP]).peekable();
    // What declares no target at all has nothing to be asked for.
    let declares =
        manifest.arguments.values().any(|argument| argument.role.is_target() || argument.role == Role::Entries);
    !declares || named.any(|name| args.get(name).is_some_and(is_said))
}

/// Whether the arguments bring what is computed over or shown: a reference, a text, a list.
pub fn has_source(manifest: &Manifest, args: &Value) -> bool {
    let holds =
        |role: Role| role.is_target() || matches!(role, Role::Entries | Role::Text | Role::Content | Role::Command);
    let is_said = |value: &Value| match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(_) | Value::Number(_) => true,
        Value::Null | Value::Bool(_) => false,
    };
    let takes_entries = manifest.arguments.values().any(|argument| argument.role == Role::Entries);
    let mut sources =
        manifest.arguments.iter().filter(|(_, argument)| holds(argument.role)).map(|(name, _)| name.as_str());
    // Numbers that were written out are worked on as they are.
    let is_numbers = |value: &Value| value.as_array().is_some_and(|items| items.first().is_some_and(Value::is_number));
    let has_numbers = args.as_object().is_some_and(|args| args.values().any(is_numbers));
    !takes_entries
        || has_numbers
        || args.get(FROM_STEP).is_some()
        || sources.any(|name| args.get(name).is_some_and(is_said))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executor(name: &str) -> (Manifest, Value) {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../executors").join(name);
        let text = |file: &str| read(&folder.join(file));
        let schema: Value = serde_json::from_str(&text("schema.json")).unwrap();
        (toml::from_str(&text("manifest.toml")).unwrap(), schema["definitions"]["Input"].clone())
    }

    #[expect(clippy::disallowed_methods, reason = "a test reads the seeds of this repository")]
    fn read(path: &std::path::Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_list_of_entries_is_the_number_of_its_step() {
        let (manifest, input) = executor("sort_entries");
        let offered = schema(&manifest, &input);
        assert_eq!(offered["properties"]["from_step"]["type"], "integer");
        assert_eq!(offered["required"], json!(["from_step", "by"]));
        assert_eq!((offered["properties"].get("entries"), offered["properties"]["top"].get("minimum")), (None, None));
        let (manifest, input) = executor("filter_lists");
        let offered = schema(&manifest, &input);
        assert_eq!(offered["properties"]["first"]["type"], "integer");
        // What the caller writes out stays a list.
        let (manifest, input) = executor("write_files");
        assert_eq!(schema(&manifest, &input)["properties"]["files"]["type"], "array");
    }

    #[track_caller]
    fn take(name: &str, arguments: &Value) -> Result<Value, &'static str> {
        let (manifest, input) = executor(name);
        taken(&manifest, &input, arguments.as_object().unwrap()).map_err(|NotTaken(key, _)| key)
    }

    #[test]
    fn references_are_taken_and_lists_that_a_model_wrote_are_not() {
        assert_eq!(
            take("sort_entries", &json!({"from_step": "1", "by": "size", "top": null})),
            Ok(json!({"from_step": 1, "by": "size"}))
        );
        assert_eq!(take("sort_entries", &json!({"entries": [{"a": 1}], "by": "a"})), Err("model.own_list"));
        let lists = take("filter_lists", &json!({"first": 1, "second": "{{step2.entries}}", "op": "union"}));
        assert_eq!(lists, Ok(json!({"first": "{{step1.entries}}", "second": "{{step2.entries}}", "op": "union"})));
        assert_eq!(take("filter_lists", &json!({"first": [], "second": 1, "op": "union"})), Err("model.own_list"));
        // What could carry anything out is not a model's to fill.
        assert_eq!(
            take("get_urls", &json!({"urls": ["http://x.test"], "headers": {"x": "y"}})),
            Err("model.not_yours")
        );
        let (manifest, input) = executor("get_urls");
        assert_eq!(schema(&manifest, &input)["properties"].get("headers"), None);
        // What is invented is kept, for the gateway to refuse by its name.
        assert_eq!(take("get_now", &json!({"mood": 1})), Ok(json!({"mood": 1})));
    }

    #[test]
    fn what_computes_needs_something_to_compute_over() {
        let has = |name: &str, args: Value| has_source(&executor(name).0, &args);
        assert!(!has("sort_entries", json!({"by": "size"})) && !has("filter_texts_lines", json!({"tail": 3})));
        assert!(has("sort_entries", json!({"from_step": 1, "by": "size"})));
        assert!(has("filter_texts_lines", json!({"content": "{{step1.content}}"})));
        assert!(has("describe_numbers", json!({"numbers": [1, 2]})) && has("extract_entries", json!({"content": {}})));
        assert!(has("filter_lists", json!({"first": "{{step1.entries}}", "op": "union"})));
    }

    #[test]
    fn an_act_needs_something_to_be_done_to() {
        let has = |name: &str, args: Value| has_target(&executor(name).0, &args);
        assert!(!has("delete_files", json!({"permanent": true})) && !has("delete_files", json!({"paths": [""]})));
        assert!(!has("move_files", json!({"paths": []})));
        assert!(has("delete_files", json!({"paths": ["/a"]})) && has("delete_files", json!({"from_step": 1})));
    }
}

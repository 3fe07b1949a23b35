//! The schemas of executors: compiled with bounds, and what they have against a value.

mod references;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Value, json};

/// The most complaints of a schema that are shown.
const COMPLAINTS_MAX: usize = 3;

/// Compiles `schema.json#/definitions/NAME`: 2020-12, no remote references, a regex engine of linear time, no references that
/// multiply.
pub(super) fn compile(schema: &Value, reference: &str) -> Result<Validator, String> {
    let pointer = reference.strip_prefix("schema.json").unwrap_or(reference);
    if schema.pointer(pointer.trim_start_matches('#')).is_none() {
        return Err(format!("schema.json has no {pointer}"));
    }
    let mut whole = json!({ "$ref": pointer, "definitions": schema.get("definitions").cloned().unwrap_or_default() });
    if let Some(draft) = schema.get("$schema") {
        whole["$schema"] = draft.clone();
    }
    references::refuse_growth(&whole).map_err(|what| format!("schema.json {pointer}: {what}"))?;
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex())
        .build(&whole)
        .map_err(|error| format!("schema.json {pointer}: {}", unbuilt(&error)))
}

/// Why a schema is none, in words that say what to do.
fn unbuilt(error: &ValidationError<'_>) -> String {
    let at = error.instance_path().to_string();
    let at = if at.is_empty() { String::new() } else { format!("at {at}, ") };
    match error.kind() {
        ValidationErrorKind::Referencing(jsonschema::ReferencingError::Unretrievable { uri, .. }) => {
            format!("it refers to «{uri}», and a schema is all in its own file")
        }
        ValidationErrorKind::AnyOf { .. } => format!("{at}{} is not what JSON Schema has there", error.instance()),
        _ => format!("{at}{error}"),
    }
}

/// What is missing, where one of several groups of fields would do and none is there.
fn lacking(error: &ValidationError<'_>) -> Option<String> {
    let ValidationErrorKind::AnyOf { context } = error.kind() else { return None };
    let missing = |error: &ValidationError<'_>| match error.kind() {
        ValidationErrorKind::Required { property } => Some(property.to_string()),
        _ => None,
    };
    let group = |errors: &Vec<ValidationError<'_>>| {
        let names = errors.iter().map(missing).collect::<Option<Vec<_>>>()?;
        (!names.is_empty()).then(|| names.join(" and "))
    };
    let groups = context.iter().map(group).collect::<Option<Vec<_>>>()?;
    Some(format!("one of these is required: {}", groups.join(", or ")))
}

/// What a schema has against a value, the first of it.
pub(super) fn complaints(validator: &Validator, value: &Value) -> Option<String> {
    let lines: Vec<String> = validator
        .iter_errors(value)
        .take(COMPLAINTS_MAX)
        .map(|error| {
            let place = error.instance_path().to_string();
            let mut what = lacking(&error).unwrap_or_else(|| error.to_string());
            if what.chars().count() > 200 {
                what = what.chars().take(200).chain("…".chars()).collect();
            }
            if place.is_empty() { what } else { format!("{place}: {what}") }
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

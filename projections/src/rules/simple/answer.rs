//! Placeholder until the answers land.
use crate::{messages::{self, Language, Messages}, plan::Plan};
use super::Tools;
use serde_json::{Value, json};
/// One step.
pub struct StepResult { /// a
 pub tool: String, /// b
 pub args: Value, /// c
 pub result: Value }
/// Composes.
pub fn compose(_: &Messages, tools: &Tools, language: Language, _: &Plan, results: &[StepResult]) -> String {
    let Some(last) = results.last() else { return String::new() };
    let template = tools.get(&last.tool).and_then(|t| t.manifest.presentation.as_ref()).map(|p| if language == Language::It { p.it.clone() } else { p.en.clone() }).unwrap_or_default();
    messages::fill(&template, json!({"result": last.result, "args": last.args, "metadata": last.result.get("metadata").cloned().unwrap_or(json!({}))})).unwrap_or_else(|e| e.to_string())
}
/// Failure.
pub fn failure(_: &Messages, _: Language, tool: &str, _: &Value, class: &str, error: &str) -> String { format!("{tool}: {class}: {error}") }

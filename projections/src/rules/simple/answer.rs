//! States results in words: by the manifest's presentation, as a count, as one quantity; failures as plain sentences.
//!
//! Every fact comes from the results. What is missing from them (cut off, failed in part, not valid text, nothing found)
//! is said here, unless the executor's own presentation speaks of it already.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::tools::{Indexed, Tools};
use crate::messages::{Language, Messages};
use crate::plan::{AnswerSpec, Plan};
use crate::presented::bounds::filled;
use crate::presented::{in_reading_order, rows};
use crate::visible;

/// One step that ran: the executor, its resolved arguments, its result.
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// The executor's name.
    pub tool: String,
    /// Its arguments as they reached it.
    pub args: Arc<Value>,
    /// Its result, whole.
    pub result: Arc<Value>,
    /// Whether changes were made for it by the core: then the core has counted them.
    pub is_counted: bool,
}

/// The most entries that an answer shows.
const SHOWN: usize = 50;
/// The most changes that are named beside what an executor says of them.
const CHANGES_SHOWN: usize = 5;

/// Says what came of a plan. The last step's result is what is told; earlier ones only add what went wrong on the way.
pub fn compose(messages: &Messages, tools: &Tools, language: Language, plan: &Plan, results: &[StepResult]) -> String {
    let speaker = Speaker { messages, language };
    let Some((last, earlier)) = results.split_last() else { return speaker.say("done", json!({})) };
    if last.result.get("ok") == Some(&Value::Bool(false)) {
        return failed_result(messages, language, last);
    }
    let last = &*in_reading_order(last, earlier);
    let tool = tools.indexed(&last.tool);
    let mut notes: Vec<String> =
        earlier.iter().flat_map(|step| speaker.notes(tools.indexed(&step.tool), step, "")).collect();
    notes.extend((1..results.len()).flat_map(|at| speaker.columns_read(&results[at - 1], &results[at..])));
    let body = match &plan.answer {
        AnswerSpec::Result => {
            let template = tool.and_then(|t| t.tool.manifest.presentation.as_ref()).map(|p| match language {
                Language::En => p.en.as_str(),
                Language::It => p.it.as_str(),
            });
            let body = speaker.present(template, last, &mut notes);
            // A presentation that could not be filled in has said nothing of all this.
            let spoken = template.filter(|_| body.is_some()).unwrap_or_default();
            let body = body.unwrap_or_else(|| speaker.plain(tool, last));
            notes.extend(speaker.notes(tool, last, spoken));
            notes.extend(speaker.fewer_lines(last));
            body
        }
        AnswerSpec::Count => {
            notes.extend(speaker.notes(tool, last, "truncated"));
            let links = last.result.pointer("/metadata/links").and_then(Value::as_u64).filter(|n| *n > 0);
            notes.extend(links.map(|links| speaker.say("count_links", json!({ "links": links }))));
            speaker.count(tool, last)
        }
        AnswerSpec::Field { path } => {
            notes.extend(speaker.notes(tool, last, "truncated"));
            speaker.field(path, last)
        }
    };
    let mut parts = Vec::with_capacity(notes.len() + 1);
    if !body.is_empty() {
        parts.push(body);
    }
    for note in notes {
        if !parts.contains(&note) {
            parts.push(note);
        }
    }
    if parts.is_empty() {
        let is_text = last.result.get("content").is_some();
        return speaker.say(if is_text { "empty_text" } else { "done" }, json!({}));
    }
    parts.join("\n")
}

/// Says plainly that a step failed, and what may be done about it.
pub fn failure(
    messages: &Messages,
    language: Language,
    tool: &str,
    args: &Value,
    error_class: &str,
    error: &str,
) -> String {
    let key = format!("answer.failed_{error_class}");
    let known = messages.keys(language).contains(&key.as_str());
    let key = if known { key.as_str() } else { "answer.failed_other" };
    // Words of an executor's own: a second line of them would pass for one of Metnos's.
    let error = visible::name(error.trim().trim_end_matches('.'));
    let error = if error.is_empty() && !known { error_class } else { &*error };
    messages.say(language, key, json!({ "tool": tool, "error": error, "target": target(args) }))
}

fn failed_result(messages: &Messages, language: Language, step: &StepResult) -> String {
    let text = |key: &str| step.result.get(key).and_then(Value::as_str).unwrap_or_default();
    failure(messages, language, &step.tool, &step.args, text("error_class"), text("error"))
}

/// What the arguments were about, for a person: the first path or address among them.
fn target(args: &Value) -> String {
    const NAMES: [&str; 7] = ["path", "paths", "base_path", "url", "urls", "to", "timezone"];
    let found = NAMES.iter().find_map(|name| match args.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(list) => list.first()?.as_str().map(str::to_owned),
        _ => None,
    });
    found.unwrap_or_default()
}

struct Speaker<'a> {
    messages: &'a Messages,
    language: Language,
}

impl Speaker<'_> {
    fn say(&self, key: &str, values: Value) -> String {
        self.messages.say(self.language, &format!("answer.{key}"), values)
    }

    /// The presentation filled in; none where there is none or where the result lacks what it asks for.
    fn present(&self, template: Option<&str>, step: &StepResult, notes: &mut Vec<String>) -> Option<String> {
        let template = template?;
        // A template that slices lists itself says what it leaves out.
        let slices = template.contains("[:");
        let entries = step.result.get("entries").and_then(Value::as_array);
        let hidden = entries.map_or(0, |e| e.len().saturating_sub(SHOWN)).min(if slices { 0 } else { usize::MAX });
        let metadata = Arc::new(step.result.get("metadata").cloned().unwrap_or_else(|| json!({})));
        let values = [
            ("result", rows::fields(&step.result, if hidden > 0 { SHOWN } else { usize::MAX })),
            ("args", rows::fields(&step.args, usize::MAX)),
            ("metadata", rows::fields(&metadata, usize::MAX)),
        ];
        let bytes = || step.result.to_string().len() + step.args.to_string().len();
        let text = filled(template, BTreeMap::from(values), bytes).ok()?;
        if hidden > 0 {
            notes.insert(0, self.say("more", json!({ "n": hidden })));
        }
        Some(text)
    }

    /// Content as it is, entries one a line.
    fn plain(&self, tool: Option<&Indexed>, step: &StepResult) -> String {
        if let Some(content) = step.result.get("content").and_then(Value::as_str).filter(|c| !c.is_empty()) {
            return content.to_owned();
        }
        if let Some(entries) = step.result.get("entries").and_then(Value::as_array).filter(|e| !e.is_empty()) {
            let mut lines: Vec<String> = entries.iter().take(SHOWN).map(line_of).collect();
            if entries.len() > SHOWN {
                lines.push(self.say("more", json!({ "n": entries.len() - SHOWN })));
            }
            return lines.join("\n");
        }
        if step.result.get("results").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            return String::new();
        }
        let counted = |name: &str| step.result.get(name).and_then(Value::as_u64).unwrap_or_default();
        let is_told_by_core = step.is_counted || tool.is_none_or(|tool| tool.tool.manifest.acts_by_effects_alone());
        let done = |what: &str| step.result.pointer(what).and_then(Value::as_u64).filter(|count| *count > 0);
        let (sent, messages) = (done("/done/sent"), done("/done/messages"));
        match step.result.get("bytes_written").and_then(Value::as_u64) {
            Some(0) if step.is_counted && sent == Some(counted("ok_count")) => {
                self.say("requests_sent", json!({ "n": sent }))
            }
            Some(0) if step.is_counted && messages == Some(counted("ok_count")) => {
                self.say("messages_sent", json!({ "n": messages }))
            }
            Some(0) if is_told_by_core => self.say("changes_made", json!({ "n": counted("ok_count") })),
            Some(bytes) if is_told_by_core => self.say("bytes_written", json!({ "n": bytes })),
            // Nobody counted with it.
            Some(bytes) => {
                let text = self.say("bytes_written", json!({ "n": bytes }));
                self.say("by_its_own_word", json!({ "tool": step.tool, "text": text }))
            }
            None if step.result.get("ok_count").is_some() => self.say("done", json!({})),
            None => self.other_fields(step),
        }
    }

    /// What a result without contents and entries holds, a field a line; of what is nested, how many there are.
    fn other_fields(&self, step: &StepResult) -> String {
        const KNOWN: [&str; 5] = ["ok", "content", "entries", "metadata", "errors"];
        let told = |(name, value): (&String, &Value)| {
            let is_plain = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
            let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let value = match value {
                Value::Null => return None,
                Value::Array(items) if items.iter().all(is_plain) => {
                    items.iter().map(plain).collect::<Vec<_>>().join(", ")
                }
                Value::Array(items) => self.say("count_items", json!({ "n": items.len() })),
                Value::Object(fields) => self.say("count_items", json!({ "n": fields.len() })),
                Value::String(_) | Value::Number(_) | Value::Bool(_) => plain(value),
            };
            Some(self.say("value", json!({ "name": name, "value": value })))
        };
        let fields = step.result.as_object().into_iter().flatten();
        let lines: Vec<String> = fields.filter(|(name, _)| !KNOWN.contains(&name.as_str())).filter_map(told).collect();
        lines.join("\n")
    }

    fn count(&self, tool: Option<&Indexed>, step: &StepResult) -> String {
        let entries = step.result.get("entries").and_then(Value::as_array).map(Vec::len);
        // A table tells all its rows, those beyond its limit too.
        let whole = step.result.pointer("/metadata/total_rows").and_then(Value::as_u64);
        let told = whole.or_else(|| step.result.pointer("/metadata/count").and_then(Value::as_u64));
        let n = told.or(entries.and_then(|n| u64::try_from(n).ok()));
        let Some(n) = n else { return self.say("unknown_value", json!({ "name": "count" })) };
        let metadata = |name: &str| step.result.pointer("/metadata")?.get(name)?.as_u64();
        if let (Some(copies), Some(groups)) = (metadata("copies"), metadata("groups")) {
            return self.bounded(step, self.say("count_copies", json!({ "n": copies, "files": groups })));
        }
        let kind = step.args.get("kind").and_then(Value::as_str);
        let object = tool.map_or("", |t| t.object.as_str());
        let key = match (object, kind) {
            _ if whole.is_some() => "count_rows",
            ("files", Some("dir")) | ("dirs", _) => "count_dirs",
            ("files", Some("any")) => "count_items",
            ("files", _) => "count_files",
            ("texts", _) => "count_lines",
            _ => "count_items",
        };
        self.bounded(step, self.say(key, json!({ "n": n })))
    }

    /// A number that a limit cut short is a lower bound.
    fn bounded(&self, step: &StepResult, text: String) -> String {
        let metadata = |name: &str| step.result.pointer("/metadata").and_then(|metadata| metadata.get(name));
        let truncated = match metadata("total_rows") {
            Some(_) => metadata("counted") == Some(&Value::Bool(false)),
            None => metadata("truncated") == Some(&Value::Bool(true)),
        };
        if truncated { self.say("at_least", json!({ "text": text })) } else { text }
    }

    fn field(&self, path: &str, step: &StepResult) -> String {
        let pointer = format!("/{}", path.replace('.', "/"));
        let name = path.rsplit('.').next().unwrap_or(path);
        let value = step.result.pointer(&pointer).filter(|v| !v.is_null());
        let number = value.and_then(Value::as_u64);
        match (name, value, number) {
            ("bytes_written", _, Some(n)) => self.say("bytes_written", json!({ "n": n })),
            ("total_size", _, Some(n)) => self.bounded(step, self.say("bytes", json!({ "n": n }))),
            ("bytes" | "size", _, Some(n)) => self.say("bytes", json!({ "n": n })),
            ("total_lines" | "lines" | "count", _, Some(n)) => self.say("count_lines", json!({ "n": n })),
            ("total_lines", None, _) => match step.result.pointer("/metadata/lines").and_then(Value::as_u64) {
                Some(n) => {
                    let text = self.say("count_lines", json!({ "n": n }));
                    self.bounded(step, text)
                }
                None => self.say("unknown_value", json!({ "name": name })),
            },
            (_, Some(Value::String(text)), _) => self.say("value", json!({ "name": name, "value": text })),
            (_, Some(value), _) => self.say("value", json!({ "name": name, "value": value.to_string() })),
            (_, None, _) => self.say("unknown_value", json!({ "name": name })),
        }
    }

    /// What is not whole about a result, unless `spoken` (a template) speaks of it.
    fn notes(&self, tool: Option<&Indexed>, step: &StepResult, spoken: &str) -> Vec<String> {
        let mut notes = Vec::new();
        let metadata = step.result.get("metadata");
        let flag =
            |name: &str| metadata.and_then(|m| m.get(name)) == Some(&Value::Bool(true)) && !spoken.contains(name);
        let number = |name: &str| {
            metadata.and_then(|m| m.get(name)).and_then(Value::as_u64).filter(|n| *n > 0 && !spoken.contains(name))
        };
        if flag("truncated") {
            let list = step.result.get("content").is_none();
            let rows = metadata.and_then(|m| Some((m.get("count")?, m.get("total_rows")?)));
            notes.push(match rows {
                Some((n, total)) => self.say("truncated_rows", json!({ "n": n, "total": total })),
                None => self.say(if list { "truncated_list" } else { "truncated" }, json!({})),
            });
        }
        if flag("lossy") {
            notes.push(self.say("lossy", json!({})));
        }
        if flag("guessed") {
            notes.push(self.say("guessed", json!({})));
        }
        if flag("binary") {
            let bytes = metadata.and_then(|m| m.get("bytes").or(m.get("size"))).and_then(Value::as_u64);
            notes.push(self.say("binary", json!({ "bytes": bytes })));
        }
        for name in ["unreadable", "left_out"] {
            if let Some(n) = number(name) {
                notes.push(self.say(name, json!({ "n": n })));
            }
        }
        notes.extend(self.failures(step, spoken));
        notes.extend(self.changed(tool, step, spoken));
        if notes.is_empty() && spoken != "truncated" {
            notes.extend(self.nothing(step, spoken));
        }
        notes
    }

    /// What was changed by what acts, whatever it says of itself.
    fn changed(&self, tool: Option<&Indexed>, step: &StepResult, spoken: &str) -> Option<String> {
        const TOLD: [&str; 5] =
            ["result.done", "result.made", "result.ok_count", "result.results", "result.fail_count"];
        let acts = step.is_counted || tool.is_some_and(|tool| tool.tool.manifest.acts_by_effects_alone());
        let results = step.result.get("results").and_then(Value::as_array).filter(|_| acts)?;
        if TOLD.iter().any(|field| spoken.contains(field)) {
            return None;
        }
        if results.is_empty() {
            return Some(self.say("nothing_changed", json!({})));
        }
        // What the log itself keeps is changed by none but the core's own, and they say what they did.
        if step.is_counted && results.iter().all(|row| row.get("own").is_some()) {
            return None;
        }
        // Without words of its own it was told already.
        let has_words =
            !spoken.is_empty() || ["content", "entries"].iter().any(|name| step.result.get(*name).is_some());
        let made: Vec<String> = results.iter().filter(|row| row["ok"] == true).filter_map(place_of).collect();
        let shown = &made[..made.len().min(CHANGES_SHOWN)];
        has_words.then(|| {
            self.say("changes_to", json!({ "n": made.len(), "paths": shown, "more": made.len() - shown.len() }))
        })
    }

    /// How a table's columns were called and read, where a later step is about one of them.
    fn columns_read(&self, step: &StepResult, later: &[StepResult]) -> Vec<String> {
        const NAMING: [&str; 7] = ["by", "key", "field", "fields", "columns", "where", "aggregate"];
        let asked = later.iter().flat_map(|step| NAMING.iter().filter_map(|name| step.args.get(name)));
        let asked = asked.map(Value::to_string).collect::<String>().to_lowercase();
        // «amount (2)» concerns who asks for the amount.
        let concerns = |name: &str| {
            let base = name.rsplit_once(" (").map_or(name, |(base, _)| base);
            asked.contains(&Value::from(base.to_lowercase()).to_string())
        };
        let told = ["renamed", "day_first", "month_first"].into_iter().filter_map(|key| {
            let names = step.result.pointer("/metadata")?.get(key)?.as_array()?;
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).filter(|name| concerns(name)).collect();
            (!names.is_empty()).then(|| self.say(key, json!({ "names": names })))
        });
        told.collect()
    }

    fn failures(&self, step: &StepResult, spoken: &str) -> Vec<String> {
        let errors = step.result.get("errors").or(step.result.get("failed")).and_then(Value::as_array);
        let failed = step.result.get("fail_count").and_then(Value::as_u64);
        let failed = failed.or(errors.and_then(|e| u64::try_from(e.len()).ok())).unwrap_or(0);
        if failed == 0 || ["errors", "fail_count"].iter().any(|name| spoken.contains(name)) {
            return Vec::new();
        }
        // What comes of a part of the files must not pass for all of them.
        let key = if step.tool.starts_with("read_files") { "failed_read" } else { "failed_some" };
        let mut notes = vec![self.say(key, json!({ "n": failed }))];
        for error in errors.into_iter().flatten().take(SHOWN) {
            let text = |name: &str| error.get(name).and_then(Value::as_str);
            let target = visible::name(text("path").or(text("url")).unwrap_or_default());
            let error = visible::name(text("error").unwrap_or_default());
            let line = || self.say("failed_line", json!({ "target": target, "error": error }));
            notes.push(if error.contains(&*target) { error.to_string() } else { line() });
        }
        notes
    }

    /// An empty result is said, where the presentation would show nothing.
    fn nothing(&self, step: &StepResult, spoken: &str) -> Option<String> {
        let empty_content = step.result.get("content").and_then(Value::as_str).is_some_and(str::is_empty);
        let empty_entries = step.result.get("entries").and_then(Value::as_array).is_some_and(Vec::is_empty);
        let verb = step.tool.split('_').next().unwrap_or_default();
        let speaks = spoken.contains("metadata.count == 0") || spoken.contains("result.content == \"\"");
        let key = match verb {
            _ if speaks => return None,
            "filter" if empty_content && empty_entries => "no_line_matches",
            "read" if empty_content => "empty_file",
            "read" if empty_entries && step.result.pointer("/metadata/total_rows").is_some() => "no_rows",
            "find" | "list" if empty_entries => match step.result.pointer("/metadata/base_path") {
                Some(Value::String(folder)) => return Some(self.say("nothing_found", json!({ "folder": folder }))),
                _ => "nothing_matches",
            },
            _ if empty_content && step.result.get("entries").is_none() => "empty_text",
            _ if empty_entries && step.result.get("content").is_none() => "nothing_matches",
            _ => return None,
        };
        Some(self.say(key, json!({})))
    }

    /// Asked for three lines of a file that has two: the two are shown, and it is said.
    fn fewer_lines(&self, step: &StepResult) -> Option<String> {
        const NAMES: [&str; 4] = ["tail_lines", "head_lines", "tail", "head"];
        let asked = NAMES.iter().find_map(|name| step.args.get(name)).and_then(Value::as_u64)?;
        let metadata = step.result.get("metadata")?;
        let have = metadata.get("lines").or(metadata.get("count")).and_then(Value::as_u64)?;
        let cut = metadata.get("truncated") == Some(&Value::Bool(true));
        (have > 0 && have < asked && !cut && step.result.get("content").is_some())
            .then(|| self.say("fewer_lines", json!({ "have": have, "asked": asked })))
    }
}

/// Where a change was made, as it is shown.
fn place_of(row: &Value) -> Option<String> {
    // Where something put away lies now is another matter.
    let dst = row.get("dst").filter(|_| row["op"] != "delete");
    let place = dst.or(row.get("path")).and_then(Value::as_str)?;
    Some(visible::name(place).to_string())
}

/// An entry in one line: its path or name, else its values.
fn line_of(entry: &Value) -> String {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    if let Some(text) = text("path").or(text("text")).or(text("url")).or(text("name")) {
        return text.to_owned();
    }
    let value = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    match entry {
        Value::Object(fields) => fields.values().map(value).collect::<Vec<_>>().join(", "),
        other => value(other),
    }
}

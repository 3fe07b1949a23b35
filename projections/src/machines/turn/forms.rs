//! What a step of a plan asks a person: the questions of the three executors that are dialogs, and the result that their
//! answers make.
//!
//! Pure; what an answer says is read in `answers`. None of this is consent: that is bound to a digest and stays apart.

use std::collections::BTreeSet;

use metnos_log::event::dialog::Choice;
use serde_json::{Map, Value, json};

use super::state::Step;

/// Asks for typed fields, one after the other.
pub const GET_INPUTS: &str = "get_inputs";
/// Asks yes or no.
pub const GET_APPROVAL: &str = "get_approval";
/// Asks which of several things is meant.
pub const DISAMBIGUATION: &str = "request_disambiguation_from_user";

/// The most times that one thing is asked.
pub const TRIES_MAX: u32 = 3;

/// Whether an executor of that name asks a person instead of doing something.
pub fn is_dialog(tool: &str) -> bool {
    matches!(tool, GET_INPUTS | GET_APPROVAL | DISAMBIGUATION)
}

/// What a turn that waits for such a step waits for, and closes with when nobody answers.
pub fn waits_for(tool: &str) -> &'static str {
    match tool {
        GET_INPUTS => "needs_inputs",
        GET_APPROVAL => "awaiting",
        _ => "ask",
    }
}

/// What an answer has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Any words.
    Text,
    /// A number.
    Number,
    /// A day.
    Date,
    /// A file or folder, there or not.
    Path,
    /// One of these.
    Choice(Vec<Choice>),
    /// One of these, which have numbers of their own.
    Numbered(Vec<Choice>),
    /// Yes or no.
    Approval,
}

/// One question of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The field of the form, where it is one.
    pub field: Option<String>,
    /// What an answer has to be.
    pub expected: Expected,
    /// Whether it must be answered.
    pub required: bool,
    /// The key of the text that puts it.
    pub key: &'static str,
    /// What that text is filled in with.
    pub values: Value,
}

impl Question {
    /// What is asked, in its own words alone.
    pub fn bare(&self) -> &str {
        let said = self.values.get("label").or_else(|| self.values.get("question"));
        said.and_then(Value::as_str).unwrap_or_default()
    }

    /// What may be chosen; nothing where words are asked for.
    pub fn options(&self) -> &[Choice] {
        match &self.expected {
            Expected::Choice(options) | Expected::Numbered(options) => options,
            Expected::Text | Expected::Number | Expected::Date | Expected::Path | Expected::Approval => &[],
        }
    }
}

/// The question that comes after that many answers; none when all are there.
pub fn question(tool: &str, args: &Value, answered: usize) -> Option<Question> {
    match tool {
        GET_INPUTS => field(args, answered),
        _ if answered > 0 => None,
        GET_APPROVAL => {
            let values = json!({ "question": text(args, "question"), "details": text(args, "details") });
            let expected = Expected::Approval;
            Some(Question { field: None, expected, required: true, key: "dialog.approval", values })
        }
        DISAMBIGUATION => {
            let options = options(args);
            let values = json!({ "question": text(args, "question"), "options": labels(&options) });
            let expected = Expected::Choice(options);
            Some(Question { field: None, expected, required: true, key: "dialog.choice", values })
        }
        _ => None,
    }
}

fn field(args: &Value, at: usize) -> Option<Question> {
    let fields = args.get("fields")?.as_array()?;
    let field = fields.get(at)?;
    let kind = text(field, "type");
    let options: Vec<Choice> = words(field, "options").map(|word| Choice { id: word.clone(), label: word }).collect();
    let required = field.get("required") != Some(&Value::Bool(false));
    let label = Some(text(field, "label")).filter(|label| !label.is_empty());
    let values = json!({
        "title": text(args, "title"), "n": at + 1, "total": fields.len(), "kind": kind, "required": required,
        "label": label.unwrap_or_else(|| text(field, "name")), "options": labels(&options),
    });
    let expected = match kind.as_str() {
        "number" => Expected::Number,
        "date" => Expected::Date,
        "path" => Expected::Path,
        "choice" => Expected::Choice(options),
        _ => Expected::Text,
    };
    Some(Question { field: Some(text(field, "name")), expected, required, key: "dialog.field", values })
}

/// What is wrong with the arguments that no schema can say: a key of `[dialog]` and the name it is about.
pub fn fault(tool: &str, args: &Value) -> Option<(&'static str, String)> {
    let mut seen = BTreeSet::new();
    match tool {
        GET_INPUTS => args.get("fields")?.as_array()?.iter().find_map(|field| {
            let name = text(field, "name");
            let options: Vec<String> = words(field, "options").collect();
            let distinct: BTreeSet<String> = options.iter().map(|option| option.to_lowercase()).collect();
            if !seen.insert(name.clone()) || distinct.len() < options.len() {
                return Some(("dialog.twice", name));
            }
            (text(field, "type") == "choice" && options.is_empty()).then_some(("dialog.no_options", name))
        }),
        DISAMBIGUATION => options(args).into_iter().find_map(|option| {
            let (id, label) = (seen.insert(format!("id {}", option.id)), seen.insert(option.label.to_lowercase()));
            (!id || !label).then_some(("dialog.twice", option.label))
        }),
        _ => None,
    }
}

/// The result of a step whose questions have all been answered.
pub fn result(tool: &str, args: &Value, answers: &[Value]) -> Value {
    let first = answers.first().cloned().unwrap_or_default();
    match tool {
        GET_INPUTS => {
            let fields = args.get("fields").and_then(Value::as_array);
            let named = fields.into_iter().flatten().zip(answers);
            let values: Map<String, Value> = named.map(|(field, value)| (text(field, "name"), value.clone())).collect();
            json!({ "ok": true, "values": values })
        }
        GET_APPROVAL => json!({ "ok": true, "approved": first == true }),
        _ => {
            let chosen = options(args).into_iter().find(|option| first == option.id.as_str());
            json!({ "ok": true, "id": first, "label": chosen.map(|option| option.label) })
        }
    }
}

/// Which of several things a call met that could not tell which one is meant: `choice` beside its error, with the argument
/// that named them, the question, and what there is, each by the number that it has.
pub fn choice(step: &Step) -> Option<(String, Question)> {
    let choice = step.result.as_ref().filter(|_| !step.ok)?.get("choice")?;
    let options = options(choice);
    let listed: Vec<Value> = options.iter().map(|option| json!({ "id": option.id, "label": option.label })).collect();
    let values = json!({ "question": text(choice, "question"), "options": listed });
    let expected = Expected::Numbered(options);
    let question = Question { field: None, expected, required: true, key: "dialog.numbered", values };
    Some((text(choice, "argument"), question))
}

/// Whether the person said no to what was to be approved.
pub(super) fn is_refusal(step: &Step) -> bool {
    step.tool == GET_APPROVAL
        && step.result.as_ref().is_some_and(|result| result.get("approved") != Some(&Value::Bool(true)))
}

/// Whether a value under this path of a form's result was written by the person, not picked from what was proposed.
pub(super) fn is_written(tool: &str, args: &Value, path: &str) -> bool {
    let Some(name) = path.strip_prefix("values.").filter(|_| tool == GET_INPUTS) else { return false };
    let mut fields = args.get("fields").and_then(Value::as_array).into_iter().flatten();
    fields.any(|field| text(field, "name") == name && matches!(text(field, "type").as_str(), "text" | "path"))
}

fn options(args: &Value) -> Vec<Choice> {
    let listed = args.get("options").and_then(Value::as_array).into_iter().flatten();
    listed.map(|option| Choice { id: text(option, "id"), label: text(option, "label") }).collect()
}

fn labels(options: &[Choice]) -> Vec<&str> {
    options.iter().map(|option| option.label.as_str()).collect()
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned()
}

fn words<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = String> + 'v {
    let listed = value.get(name).and_then(Value::as_array).into_iter().flatten();
    listed.filter_map(Value::as_str).map(|word| word.trim().to_owned())
}

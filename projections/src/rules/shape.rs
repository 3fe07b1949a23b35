//! The shape of a pipeline: `E+ (F | A)?` (design 5-turn, «Shape»; seed 004, chapter on the shape).
//!
//! Categories come from the verb of the executor's name, never from a list of executors.

use serde_json::Value;

/// What a verb does to a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// Emits entries for later steps.
    Emit,
    /// Presents and closes.
    Present,
    /// Changes something and closes.
    Act,
    /// Stands outside of the shape.
    Meta,
}

const EMIT: &[&str] =
    &["read", "find", "list", "get", "filter", "sort", "group", "classify", "compute", "compare", "extract"];
const PRESENT: &[&str] = &["describe", "render"];
const ACT: &[&str] = &[
    "move", "delete", "send", "share", "write", "set", "create", "change", "order", "compress", "open", "login", "act",
    "install",
];
const META: &[&str] = &[
    "final_answer",
    "undo_last_turn",
    "request_new_executor",
    "admin",
    "request_disambiguation_from_user",
    "get_inputs",
    "get_approval",
    "schedule_recurring",
    "show_recurring",
    "history_recurring",
    "cancel_recurring",
    "list_recurring",
    "toggle_recurring",
    "run_now_recurring",
    "modify_recurring",
];
/// Verbs that only work on what an earlier step or a literal list gives them.
const CONSUMERS: &[&str] = &["filter", "sort", "group", "classify", "compute", "compare", "extract"];
const OBJECTS: &[&str] = &[
    "files",
    "dirs",
    "packages",
    "messages",
    "events",
    "contacts",
    "places",
    "processes",
    "urls",
    "numbers",
    "images",
    "signatures",
    "texts",
    "proposals",
    "persons",
    "tasks",
    "inputs",
    "approval",
    "credentials",
    "issues",
    "pulls",
    "calendars",
    "entries",
    "lists",
    "skills",
    "sites",
    "preferences",
    "now",
    "location",
];

/// The verb of an executor's name.
pub fn verb(tool: &str) -> &str {
    tool.split('_').next().unwrap_or(tool)
}

/// The object of an executor's name.
pub fn object(tool: &str) -> Option<&str> {
    tool.split('_').nth(1)
}

/// Whether a name obeys the vocabulary: `verb_object[_qualifier]`, from closed lists.
pub fn in_vocabulary(tool: &str) -> bool {
    let plain = tool.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    plain
        && tool.split('_').all(|part| !part.is_empty())
        && category(tool).is_some_and(|category| category != Category::Meta)
        && object(tool).is_some_and(|object| OBJECTS.contains(&object))
}

/// The category of an executor; `None` for a verb outside of the vocabulary.
pub fn category(tool: &str) -> Option<Category> {
    if META.contains(&tool) {
        return Some(Category::Meta);
    }
    let verb = verb(tool);
    [(EMIT, Category::Emit), (PRESENT, Category::Present), (ACT, Category::Act)]
        .into_iter()
        .find_map(|(verbs, category)| verbs.contains(&verb).then_some(category))
}

/// Where a pipeline stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Nothing has run.
    #[default]
    Start,
    /// Entries are there.
    Chain,
    /// It was presented or acted: closed.
    Terminal,
}

/// Why a step does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A consumer or a presenter without anything to work on.
    NeedsDataSource,
    /// An act without a target.
    NeedsActionTarget,
    /// A step after the closing one.
    PipelineAlreadyClosed,
    /// A name that is no executor's.
    ToolUnknown,
}

impl Violation {
    /// Its error class.
    pub fn class(self) -> &'static str {
        match self {
            Self::NeedsDataSource => "needs_data_source",
            Self::NeedsActionTarget => "needs_action_target",
            Self::PipelineAlreadyClosed => "pipeline_already_closed",
            Self::ToolUnknown => "tool_unknown",
        }
    }
}

/// Whether an executor only works on what it is given.
pub fn consumes(tool: &str) -> bool {
    category(tool) == Some(Category::Present) || CONSUMERS.contains(&verb(tool))
}

/// The state after a step, or why it does not fit.
pub fn next(state: State, tool: &str, args: &Value) -> Result<State, Violation> {
    let category = category(tool).ok_or(Violation::ToolUnknown)?;
    let consumes = consumes(tool);
    match (state, category) {
        (state, Category::Meta) => Ok(state),
        (State::Terminal, _) => Err(Violation::PipelineAlreadyClosed),
        (State::Start, Category::Emit | Category::Present) if consumes && !has_source(args) => {
            Err(Violation::NeedsDataSource)
        }
        (State::Start, Category::Act) if !has_source(args) => Err(Violation::NeedsActionTarget),
        (_, Category::Emit | Category::Present | Category::Act) => Ok(after(tool)),
    }
}

/// The state after an executor whose arguments are not judged here.
pub fn after(tool: &str) -> State {
    match category(tool) {
        Some(Category::Present | Category::Act) => State::Terminal,
        Some(Category::Emit) => State::Chain,
        Some(Category::Meta) | None => State::Start,
    }
}

/// Whether the arguments bring something to work on themselves: a reference, a non-empty list or a literal text.
fn has_source(args: &Value) -> bool {
    let Some(args) = args.as_object() else { return false };
    args.iter().any(|(name, value)| match value {
        Value::Number(step) => name == "from_step" && step.as_u64() >= Some(1),
        Value::Array(items) => !items.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Null | Value::Bool(_) | Value::Object(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(steps: &[(&str, Value)], expected: Result<State, Violation>) {
        let found = steps.iter().try_fold(State::Start, |state, (tool, args)| next(state, tool, args));
        assert_eq!(found, expected);
    }

    #[test]
    fn legal_and_illegal_pipelines() {
        let read = ("read_files", json!({"paths": ["/a"]}));
        check(std::slice::from_ref(&read), Ok(State::Chain));
        check(&[read.clone(), ("sort_entries", json!({"from_step": 1}))], Ok(State::Chain));
        check(&[read.clone(), ("write_files", json!({"path": "/b"}))], Ok(State::Terminal));
        check(&[("write_files", json!({"path": "/b"})), read], Err(Violation::PipelineAlreadyClosed));
        check(&[("sort_entries", json!({"by": 3}))], Err(Violation::NeedsDataSource));
        check(&[("delete_files", json!({}))], Err(Violation::NeedsActionTarget));
        check(&[("frob_files", json!({}))], Err(Violation::ToolUnknown));
    }

    #[test]
    fn the_vocabulary_is_closed() {
        assert!(in_vocabulary("compute_entries_median"));
        assert!(
            !in_vocabulary("frob_files")
                && !in_vocabulary("read_frobs")
                && !in_vocabulary("Read_files")
                && !in_vocabulary("read")
        );
    }
}

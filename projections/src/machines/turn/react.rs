//! What a turn wants done next in the world. Effects are data; the engine carries them out, replay never does.

use std::sync::Arc;

use metnos_log::event::turn::{PlannedOp, Target};
use serde_json::Value;

use crate::machines::turn::state::{Asked, Phase, Turn};
use crate::manifest::Role;
use crate::rules::references::ReferenceError;
use crate::rules::shape;

/// One thing to do in the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Resolve and verify the executor, look up what the arguments name, validate them.
    Prepare {
        /// The step.
        step: u32,
        /// The executor.
        tool: String,
        /// Arguments with references replaced, or why they cannot be.
        args: Result<Arc<Value>, ReferenceError>,
    },
    /// Ask a person.
    Ask {
        /// The step.
        step: u32,
        /// What.
        asked: Asked,
    },
    /// Run the call in its cage.
    Call {
        /// The step.
        step: u32,
        /// The executor.
        tool: String,
        /// Its version.
        version: String,
        /// Names the call.
        trace_id: String,
        /// Its arguments.
        args: Arc<Value>,
    },
    /// Ask a model for the next step.
    Think {
        /// The number of the ask.
        ask: u32,
        /// The tier that is asked.
        tier: String,
        /// The whole body of the request.
        body: Arc<str>,
    },
    /// Make the planned changes that are not made yet.
    Commit {
        /// The step.
        step: u32,
        /// All changes.
        ops: Arc<[PlannedOp]>,
        /// The places in the list of those to make.
        open: Vec<u32>,
    },
    /// Nothing: the turn is over, its message can be shown.
    Reply,
}

/// A target that the edge is to look up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// JSON pointer into the arguments.
    pub pointer: String,
    /// What it stands for.
    pub role: Role,
    /// The value.
    pub value: String,
    /// The path's bytes in base64, when they are no UTF-8.
    pub value_b64: Option<String>,
    /// What is done at the end of the path.
    pub end: End,
}

/// What is done at the end of a path that an argument names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// The object is read, or a file is written there, through a link if there is one.
    #[default]
    Content,
    /// The thing itself is moved or deleted; a link at the end is not followed.
    Itself,
    /// A folder is made there; folders above it may be missing.
    Folder,
    /// Things are moved there: a folder or a pattern of names; folders may be missing.
    Template,
    /// The executor changes it by itself: a file, which may be absent but not its folder, or a folder.
    ByItself,
}

impl End {
    /// By the executor's verb and the argument's name.
    fn of(tool: &str, argument: &str, role: Role) -> Self {
        match (shape::verb(tool), shape::object(tool)) {
            _ if role == Role::Path || !matches!(role, Role::TargetPath | Role::Entries) => Self::Content,
            _ if argument == "dst_template" => Self::Template,
            ("move" | "delete" | "change" | "set", _) => Self::Itself,
            ("create", Some("dirs")) => Self::Folder,
            _ => Self::Content,
        }
    }
}

/// What to do next; `None` for a turn that has not begun.
pub fn react(turn: &Turn) -> Option<Effect> {
    // A turn that waits has an interim reply.
    if matches!(turn.phase, Phase::Closed | Phase::Waiting) {
        return Some(Effect::Reply);
    }
    if turn.phase == Phase::Thinking {
        let (ask, body) = turn.talk.as_ref()?.asked.clone()?;
        return Some(Effect::Think { ask, tier: turn.proposer()?.tier.clone(), body });
    }
    let step = turn.step()?;
    match turn.phase {
        Phase::Preparing => {
            let resolved = step.resolved.as_ref()?;
            let args = resolved.as_ref().map(|resolved| Arc::clone(&resolved.args)).map_err(Clone::clone);
            Some(Effect::Prepare { step: step.number, tool: step.tool.clone(), args })
        }
        Phase::Asking => Some(Effect::Ask { step: step.number, asked: turn.asked.clone()? }),
        Phase::Calling => Some(Effect::Call {
            step: step.number,
            tool: step.tool.clone(),
            version: step.version.clone(),
            trace_id: step.trace_id.clone(),
            args: Arc::clone(&step.args),
        }),
        Phase::Committing => {
            let all = 0..u32::try_from(step.ops.len()).unwrap_or(u32::MAX);
            let open = all.filter(|index| !step.committed.contains_key(index)).collect();
            Some(Effect::Commit { step: step.number, ops: Arc::clone(&step.ops), open })
        }
        Phase::New | Phase::Planning | Phase::Thinking | Phase::Waiting | Phase::Returned | Phase::Closed => None,
    }
}

/// The target values among the arguments of an executor, by the roles that its manifest declares. Entries of an earlier
/// step are looked through for `path` where the executor reads what they name or acts on it; others only compute over them.
pub fn wanted(manifest: &crate::manifest::Manifest, args: &Value) -> Vec<Wanted> {
    let mut found = Vec::new();
    let tool = manifest.executor.name.as_str();
    let acts = shape::category(tool) == Some(shape::Category::Act);
    for (name, argument) in &manifest.arguments {
        let Some(value) = args.get(name) else { continue };
        let pointer = format!("/{name}");
        let by_itself = manifest.writes_by_itself().any(|capability| capability.from_args.contains(name));
        if by_itself && matches!(argument.role, Role::Path | Role::TargetPath) {
            collect(value, &pointer, Role::TargetPath, End::ByItself, &mut found);
        } else if argument.role == Role::Entries {
            let reads = manifest.capabilities.iter().any(|capability| capability.from_args.contains(name));
            let (role, end) = match (by_itself, reads, acts) {
                (true, _, _) => (Role::TargetPath, End::ByItself),
                (false, true, _) => (Role::Path, End::Content),
                (false, false, true) => (Role::TargetPath, End::of(tool, name, argument.role)),
                (false, false, false) => continue,
            };
            for (index, entry) in value.as_array().into_iter().flatten().enumerate() {
                let Some(path) = entry.get("path").and_then(Value::as_str) else { continue };
                let value_b64 = entry.get("path_b64").and_then(Value::as_str).map(str::to_owned);
                let pointer = format!("{pointer}/{index}/path");
                found.push(Wanted { pointer, role, value: path.to_owned(), value_b64, end });
            }
        } else if argument.role.is_target() {
            collect(value, &pointer, argument.role, End::of(tool, name, argument.role), &mut found);
        }
    }
    // A list of `{path, content}` objects names its targets one level down.
    if let Some(files) = args.get("files").and_then(Value::as_array) {
        for (index, file) in files.iter().enumerate() {
            let Some(path) = file.get("path").and_then(Value::as_str) else { continue };
            let pointer = format!("/files/{index}/path");
            let (role, value, end) = (Role::TargetPath, path.to_owned(), End::Content);
            found.push(Wanted { pointer, role, value, value_b64: None, end });
        }
    }
    found
}

fn collect(value: &Value, pointer: &str, role: Role, end: End, found: &mut Vec<Wanted>) {
    match value {
        Value::String(text) => {
            found.push(Wanted { pointer: pointer.to_owned(), role, value: text.clone(), value_b64: None, end });
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{pointer}/{index}"), role, end, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}

/// The arguments with each target's canonical value in its place, and the bytes of names that are no UTF-8 beside it.
pub fn with_targets<'t>(mut shared: Arc<Value>, targets: impl IntoIterator<Item = &'t Target>) -> Arc<Value> {
    let mut targets = targets.into_iter().peekable();
    if targets.peek().is_none() {
        return shared;
    }
    let args = Arc::make_mut(&mut shared);
    for target in targets {
        if let Some(place) = args.pointer_mut(&target.pointer).filter(|place| place.is_string()) {
            *place = target.canonical.clone().into();
        }
        if let (Some(bytes), Some((parent, "path"))) = (&target.canonical_b64, target.pointer.rsplit_once('/'))
            && let Some(Value::Object(entry)) = args.pointer_mut(parent)
        {
            entry.insert("path_b64".to_owned(), bytes.clone().into());
        }
    }
    shared
}

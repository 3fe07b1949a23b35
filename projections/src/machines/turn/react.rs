//! What a turn wants done next in the world. Effects are data; the engine carries them out, replay never does.

use metnos_log::event::turn::{PlannedOp, Target};
use serde_json::Value;

use crate::machines::turn::state::{Asked, Phase, Turn};
use crate::manifest::Role;
use crate::rules::references::{self, ReferenceError};

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
        args: Result<Value, ReferenceError>,
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
        args: Value,
    },
    /// Make the planned changes that are not made yet.
    Commit {
        /// The step.
        step: u32,
        /// All changes, with their place in the list.
        ops: Vec<(u32, PlannedOp)>,
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
}

/// What to do next; `None` for a turn that has not begun.
pub fn react(turn: &Turn) -> Option<Effect> {
    if turn.phase == Phase::Closed {
        return Some(Effect::Reply);
    }
    let step = turn.step()?;
    match turn.phase {
        Phase::Preparing => {
            let args =
                references::resolve(&step.proposed, &turn.results()).map(|resolved| Value::Object(resolved.args));
            Some(Effect::Prepare { step: step.number, tool: step.tool.clone(), args })
        }
        Phase::Asking => Some(Effect::Ask { step: step.number, asked: turn.asked.clone()? }),
        Phase::Calling => Some(Effect::Call {
            step: step.number,
            tool: step.tool.clone(),
            version: step.version.clone(),
            trace_id: step.trace_id.clone(),
            args: step.args.clone(),
        }),
        Phase::Committing => {
            let open = |(index, op): (usize, &PlannedOp)| {
                let index = u32::try_from(index).ok()?;
                (!step.committed.contains_key(&index)).then(|| (index, op.clone()))
            };
            Some(Effect::Commit { step: step.number, ops: step.ops.iter().enumerate().filter_map(open).collect() })
        }
        Phase::New | Phase::Planning | Phase::Returned | Phase::Closed => None,
    }
}

/// The target values among the arguments of an executor, by the roles that its manifest declares. Entries of an earlier
/// step are looked through for `path`.
pub fn wanted(manifest: &crate::manifest::Manifest, args: &Value) -> Vec<Wanted> {
    let mut found = Vec::new();
    for (name, argument) in &manifest.arguments {
        let Some(value) = args.get(name) else { continue };
        let pointer = format!("/{name}");
        if argument.role == Role::Entries {
            for (index, entry) in value.as_array().into_iter().flatten().enumerate() {
                let Some(path) = entry.get("path").and_then(Value::as_str) else { continue };
                let value_b64 = entry.get("path_b64").and_then(Value::as_str).map(str::to_owned);
                let pointer = format!("{pointer}/{index}/path");
                found.push(Wanted { pointer, role: Role::Path, value: path.to_owned(), value_b64 });
            }
        } else if argument.role.is_target() {
            collect(value, &pointer, argument.role, &mut found);
        }
    }
    // A list of `{path, content}` objects names its targets one level down.
    if let Some(files) = args.get("files").and_then(Value::as_array) {
        for (index, file) in files.iter().enumerate() {
            let Some(path) = file.get("path").and_then(Value::as_str) else { continue };
            let pointer = format!("/files/{index}/path");
            found.push(Wanted { pointer, role: Role::TargetPath, value: path.to_owned(), value_b64: None });
        }
    }
    found
}

fn collect(value: &Value, pointer: &str, role: Role, found: &mut Vec<Wanted>) {
    match value {
        Value::String(text) => {
            found.push(Wanted { pointer: pointer.to_owned(), role, value: text.clone(), value_b64: None });
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{pointer}/{index}"), role, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}

/// The arguments with each target's canonical value in its place, and the bytes of names that are no UTF-8 beside it.
pub fn with_targets<'t>(mut args: Value, targets: impl IntoIterator<Item = &'t Target>) -> Value {
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
    args
}

//! What a person is asked, in words, and what exactly an answer binds.

use metnos_log::event::turn::PlannedOp;
use serde_json::json;

use super::decide::bound;
use super::state::{Step, Turn};
use crate::manifest::Manifest;
use crate::messages::Messages;

/// The most changes that a question lists one by one.
const LISTED_MAX: usize = 20;

/// Hash of tool, resolved arguments, effects, cage plan and version: an answer to anything else does not count.
pub(super) fn digest(step: &Step, about: &str) -> String {
    blake3::hash(bound(step, about).as_bytes()).to_hex().to_string()
}

/// The question: what, where, how much, whether it can be taken back.
pub(super) fn text(messages: &Messages, turn: &Turn, step: &Step, manifest: Option<&Manifest>, about: &str) -> String {
    let language = turn.language;
    if about == "call" {
        let targets: Vec<&str> = step.targets.iter().map(|target| target.canonical.as_str()).collect();
        let capabilities: Vec<&str> = manifest
            .map(|manifest| manifest.capabilities.iter().map(|capability| capability.name.as_str()).collect())
            .unwrap_or_default();
        return messages.say(
            language,
            "consent.call",
            json!({ "tool": step.tool, "targets": targets, "capabilities": capabilities }),
        );
    }
    let line = |op: &PlannedOp| {
        let values = json!({ "op": op.op, "path": op.path, "bytes": op.bytes, "before": op.before.kind, "before_bytes": op.before.bytes });
        messages.say(language, "consent.change", values)
    };
    let mut lines: Vec<String> = step.ops.iter().take(LISTED_MAX).map(line).collect();
    if step.ops.len() > LISTED_MAX {
        lines.push(messages.say(language, "consent.more", json!({ "count": step.ops.len() - LISTED_MAX })));
    }
    let kept = step.ops.iter().all(|op| op.before.kind != "file" || op.before.image.is_some());
    let fresh = step.ops.iter().all(|op| op.before.kind == "absent");
    let count = step.ops.len();
    let values =
        json!({ "tool": step.tool, "count": count, "changes": lines.join("\n"), "kept": kept, "fresh": fresh });
    messages.say(language, "consent.effects", values)
}

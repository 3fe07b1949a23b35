//! The result of an acting step, completed from what was committed and not from what it announced.
//!
//! Reasons stay keys of the texts here; they become words where an answer is made.

use std::sync::Arc;

use serde_json::{Value, json};

use super::state::Step;

/// The most failures and changes that are listed for an answer; all are counted.
const LISTED_MAX: usize = 1000;

/// What was done, in numbers.
#[derive(Default)]
struct Done {
    files: u64,
    folders: u64,
    created: u64,
    replaced: u64,
    sent: u64,
    messages: u64,
    bytes: u64,
}

/// Completes the result: `results`, `ok_count`, `fail_count`, `bytes_written`, `done`, `made`, `failed`. A step of which
/// something was done has ended well; what failed is said.
pub(super) fn complete(step: &mut Step) {
    let main = main_op(step);
    let is_undo = step.ops.iter().any(|op| op.reverses.is_some());
    let (mut results, mut made, mut failed) = (Vec::with_capacity(step.ops.len()), Vec::new(), Vec::new());
    let (mut ok_count, mut bytes_written) = (0_u64, 0_u64);
    let mut done = Done::default();
    for (index, op) in (0_u32..).zip(step.ops.iter()) {
        let outcome = step.committed.get(&index);
        let ok = outcome == Some(&None);
        let mut line = json!({ "op": op.op, "path": op.path, "bytes": op.bytes, "ok": ok, "before": op.before.kind });
        let fields = line.as_object_mut().expect("it was just made an object");
        if let Some(dst) = op.dst.as_ref().filter(|_| op.op != "link") {
            fields.insert("dst".to_owned(), dst.clone().into());
        }
        if let Some(own) = &op.own {
            fields.insert("own".to_owned(), serde_json::to_value(own).expect("a change is plain data"));
        }
        if let Some(message) = &op.message {
            fields.insert("message".to_owned(), serde_json::to_value(message).expect("a message is plain data"));
        }
        if let Some(to) = &op.to {
            fields.insert("to".to_owned(), to.clone().into());
        }
        if let Some(Some((class, reason))) = outcome {
            fields.insert("error_class".to_owned(), class.clone().into());
            fields.insert("error".to_owned(), reason.clone().into());
        }
        let is_main = is_undo || op.op == main;
        if ok {
            ok_count += 1;
            bytes_written += if matches!(op.op.as_str(), "write" | "append") { op.bytes } else { 0 };
            match (op.op.as_str(), op.before.kind.as_str()) {
                ("mkdir", _) => done.created += 1,
                ("http", _) => done.sent += 1,
                ("send", _) => done.messages += 1,
                ("delete", _) if !is_main => done.replaced += 1,
                (_, "folder") => done.folders += 1,
                _ => done.files += 1,
            }
            done.bytes += if is_main { op.bytes } else { 0 };
            if is_main {
                made.push(line.clone());
            }
        } else if failed.len() < LISTED_MAX {
            failed.push(line.clone());
        }
        results.push(line);
    }
    step.ok = ok_count > 0 || step.ops.is_empty();
    step.class = step.committed.values().flatten().next().map(|(class, _)| class.clone());
    let fail_count = step.ops.len() as u64 - ok_count;
    let Some(result) = step.result.as_mut().and_then(|result| Arc::make_mut(result).as_object_mut()) else { return };
    result.remove("effects");
    let done = json!({
        "files": done.files, "folders": done.folders, "created": done.created, "replaced": done.replaced, "bytes": done.bytes,
        "sent": done.sent, "messages": done.messages,
    });
    let fields: [(&str, Value); 8] = [
        ("results", results.into()),
        ("ok_count", ok_count.into()),
        ("fail_count", fail_count.into()),
        ("bytes_written", bytes_written.into()),
        ("done", done),
        ("made", made.into()),
        ("failed", failed.into()),
        ("ok", step.ok.into()),
    ];
    result.extend(fields.map(|(name, value)| (name.to_owned(), value)));
}

/// The kind of change that the step is about: the others prepare it.
fn main_op(step: &Step) -> String {
    let has = |name: &str| step.ops.iter().any(|op| op.op == name);
    let main = ["move", "delete"].into_iter().find(|name| has(name)).map(str::to_owned);
    main.or_else(|| step.ops.first().map(|op| op.op.clone())).unwrap_or_default()
}

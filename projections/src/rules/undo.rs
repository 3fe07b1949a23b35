//! The reverse of what a turn changed, computed from its events alone (design 3-executors, «Undo»).
//!
//! It says what would have to be done and what must be true of the disk for it; whether that is true is looked up on the
//! floor above. The reverse of an undo is computed by the same rule.

use metnos_log::event::turn::{BeforeImage, PlannedOp, Reversed};

use crate::machines::schedules::task;
use crate::machines::turn::Step;

/// A change that cannot be taken back, whatever the disk says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasting {
    /// What was done.
    pub op: String,
    /// To which path.
    pub path: String,
    /// Key of the reason in `[trouble]`.
    pub reason: &'static str,
}

/// How far a planned change can be taken back once it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// From what the events hold.
    Wholly,
    /// As long as nobody empties the trash.
    UntilTrashEmptied,
    /// Not at all.
    Never,
}

/// Changes that take back what these steps of a turn made, last one first. `before` of each says what must be there now.
pub fn reverse(turn: &str, steps: &[Step]) -> Vec<Result<PlannedOp, Lasting>> {
    let mut found = Vec::new();
    for step in steps.iter().rev() {
        for (index, op) in step.ops.iter().enumerate().rev() {
            let Ok(index) = u32::try_from(index) else { continue };
            if step.committed.get(&index) != Some(&None) {
                continue;
            }
            let source = Some(Reversed { turn: turn.to_owned(), step: step.number, index });
            let back = reversed(op).map(|back| PlannedOp { reverses: source, ..back });
            found.push(back.map_err(|reason| Lasting { op: op.op.clone(), path: op.path.clone(), reason }));
        }
    }
    found
}

/// Whether a change that is planned could be taken back.
pub fn reach(op: &PlannedOp) -> Reach {
    match reversed(op) {
        Err(_) => Reach::Never,
        Ok(reverse) if reverse.op == "restore" => Reach::UntilTrashEmptied,
        Ok(_) => Reach::Wholly,
    }
}

fn reversed(op: &PlannedOp) -> Result<PlannedOp, &'static str> {
    let at_path = PlannedOp {
        path: op.path.clone(),
        path_b64: op.path_b64.clone(),
        if_exists: "fail".to_owned(),
        ..PlannedOp::default()
    };
    let back = PlannedOp {
        path: op.dst.clone().unwrap_or_default(),
        path_b64: op.dst_b64.clone(),
        dst: Some(op.path.clone()),
        dst_b64: op.path_b64.clone(),
        bytes: op.bytes,
        holds: op.holds.clone(),
        before: op.before.clone(),
        if_exists: "fail".to_owned(),
        ..PlannedOp::default()
    };
    match (op.op.as_str(), op.to.as_deref()) {
        ("write" | "append", _) => rewritten(op, at_path),
        ("mkdir", _) => Ok(removed(at_path, BeforeImage { kind: "folder".to_owned(), ..BeforeImage::default() })),
        ("move", _) => Ok(PlannedOp { op: "move".to_owned(), ..back }),
        ("delete", Some("trash")) => Ok(PlannedOp { op: "restore".to_owned(), to: op.to.clone(), ..back }),
        ("delete", _) => brought_back(op, at_path),
        ("restore", _) => Ok(PlannedOp { op: "delete".to_owned(), to: op.to.clone(), ..back }),
        ("link", _) => {
            let link = op.dst_b64.clone();
            Ok(removed(at_path, BeforeImage { kind: "other".to_owned(), link, ..BeforeImage::default() }))
        }
        (task::TASK, _) => task::reversed(op).ok_or("task_ran"),
        ("http" | "send", _) => Err("was_sent"),
        ("set_mode", _) => Ok(PlannedOp {
            op: "set_mode".to_owned(),
            mode: Some(op.before.mode),
            before: BeforeImage { mode: op.mode.unwrap_or_default(), ..op.before.clone() },
            ..at_path
        }),
        _ => Err("unknown_change"),
    }
}

fn removed(at_path: PlannedOp, before: BeforeImage) -> PlannedOp {
    PlannedOp { op: "delete".to_owned(), to: Some("nothing".to_owned()), before, ..at_path }
}

/// The reverse of a write: the file as it was, or none.
fn rewritten(op: &PlannedOp, at_path: PlannedOp) -> Result<PlannedOp, &'static str> {
    let before = BeforeImage { kind: "file".to_owned(), hash: op.after, ..BeforeImage::default() };
    if op.before.kind == "absent" {
        return Ok(PlannedOp { bytes: op.bytes, ..removed(at_path, before) });
    }
    let image = op.before.image.ok_or("no_copy")?;
    Ok(PlannedOp { before, ..written(op, image, at_path) })
}

/// The reverse of a delete for good, from what was kept.
fn brought_back(op: &PlannedOp, at_path: PlannedOp) -> Result<PlannedOp, &'static str> {
    let absent = BeforeImage { kind: "absent".to_owned(), ..BeforeImage::default() };
    match (op.before.kind.as_str(), op.before.image, &op.before.link) {
        ("file", Some(image), _) => Ok(PlannedOp { before: absent, ..written(op, image, at_path) }),
        ("folder", ..) => {
            let (mode, modified_ns) = (Some(op.before.mode), op.before.modified_ns);
            Ok(PlannedOp { op: "mkdir".to_owned(), mode, modified_ns, before: absent, ..at_path })
        }
        ("other", _, Some(link)) => {
            let dst = Some(String::new());
            Ok(PlannedOp { op: "link".to_owned(), dst, dst_b64: Some(link.clone()), before: absent, ..at_path })
        }
        _ => Err("no_copy"),
    }
}

fn written(op: &PlannedOp, image: metnos_log::BlobHash, at_path: PlannedOp) -> PlannedOp {
    PlannedOp {
        op: "write".to_owned(),
        image: Some(image),
        bytes: op.before.bytes,
        mode: Some(op.before.mode),
        modified_ns: op.before.modified_ns,
        after: op.before.hash,
        if_exists: "replace".to_owned(),
        ..at_path
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use metnos_log::BlobHash;

    use super::*;

    fn op(name: &str, kind: &str) -> PlannedOp {
        let before = BeforeImage { kind: kind.to_owned(), mode: 0o640, bytes: 4, ..BeforeImage::default() };
        PlannedOp { op: name.to_owned(), path: "/a".to_owned(), before, ..PlannedOp::default() }
    }

    fn step(ops: Vec<PlannedOp>, failed: &[u32]) -> Step {
        let committed: BTreeMap<u32, Option<(String, String)>> = (0..u32::try_from(ops.len()).unwrap())
            .map(|index| (index, failed.contains(&index).then(|| ("x".to_owned(), "y".to_owned()))))
            .collect();
        Step { number: 1, ops: ops.into(), committed, ..Step::default() }
    }

    #[track_caller]
    fn twice(op: &PlannedOp, expected: &str) {
        let once = reversed(op).unwrap();
        assert_eq!(once.op, expected);
        let again = reversed(&PlannedOp { before: op.before.clone(), ..once }).unwrap();
        assert_eq!((again.op, again.path, again.dst), (op.op.clone(), op.path.clone(), op.dst.clone()));
    }

    #[test]
    fn the_reverse_of_the_reverse_is_the_change() {
        twice(&PlannedOp { dst: Some("/b".to_owned()), ..op("move", "file") }, "move");
        let trashed =
            PlannedOp { to: Some("trash".to_owned()), dst: Some("/t/files/a".to_owned()), ..op("delete", "file") };
        twice(&trashed, "restore");
        twice(&PlannedOp { mode: Some(0o600), ..op("set_mode", "file") }, "set_mode");
        let gone = PlannedOp { to: Some("nothing".to_owned()), ..op("delete", "folder") };
        assert_eq!(reversed(&gone).map(|op| (op.op, op.mode)), Ok(("mkdir".to_owned(), Some(0o640))));
    }

    #[test]
    fn last_comes_first_and_what_failed_is_left_out() {
        let ops = vec![op("mkdir", "absent"), op("set_mode", "file"), op("mkdir", "absent")];
        let found = reverse("T", &[step(ops, &[1])]);
        let indexes: Vec<u32> =
            found.iter().map(|found| found.as_ref().unwrap().reverses.as_ref().unwrap().index).collect();
        assert_eq!(indexes, [2, 0]);
    }

    #[test]
    fn without_a_copy_it_lasts() {
        assert_eq!(reach(&op("write", "file")), Reach::Never);
        assert_eq!(reach(&op("write", "absent")), Reach::Wholly);
        let mut kept = op("delete", "file");
        assert_eq!(reach(&kept), Reach::Never);
        kept.before.image = Some(BlobHash([1; 32]));
        assert_eq!(reach(&kept), Reach::Wholly);
        kept.to = Some("trash".to_owned());
        assert_eq!(reach(&kept), Reach::UntilTrashEmptied);
        assert_eq!(reach(&op("frobnicate", "file")), Reach::Never);
    }
}

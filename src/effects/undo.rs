//! Plans the reverse of an earlier turn: each change of the pure rule is held against the disk as it will be by then.
//!
//! What changed since is left as it is, item by item, with the reason; the rest goes on.

use std::path::{Path, PathBuf};

use metnos_log::event::turn::{BeforeImage, PlannedOp};
use metnos_projections::rules::undo::Lasting;
use metnos_projections::visible;

use super::disk::{self, dst_path, named, target_path};
use super::overlay::Seen;
use super::plan::{Around, Planned, Planner, Trouble, look, system};

/// The most things that are named of what a folder holds.
const NAMED_MAX: usize = 3;

/// A change that is not taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What was done.
    pub op: String,
    /// To which path.
    pub path: String,
    /// The class.
    pub class: String,
    /// Key of the reason in `[trouble]`.
    pub reason: String,
}

/// Holds every reversed change against the disk, in order.
pub fn settle(reversed: Vec<Result<PlannedOp, Lasting>>, around: Around<'_>) -> (Planned, Vec<Refused>) {
    let mut planner = Planner::new(around);
    let mut refused = Vec::new();
    for found in reversed {
        match found {
            Err(Lasting { op, path, reason }) => {
                refused.push(Refused { op, path, class: "not_reversible".to_owned(), reason: reason.to_owned() });
            }
            Ok(op) => {
                let (name, path) = (op.op.clone(), shown(&op));
                if let Err((class, reason)) = planner.take_back(op) {
                    refused.push(Refused { op: name, path, class: class.to_owned(), reason });
                }
            }
        }
    }
    (planner.planned, refused)
}

/// The path that a person knows it by.
fn shown(op: &PlannedOp) -> String {
    op.dst.clone().filter(|_| matches!(op.op.as_str(), "restore")).unwrap_or_else(|| op.path.clone())
}

fn gone() -> Trouble {
    ("target_changed", "gone_since".to_owned())
}

fn there_again() -> Trouble {
    ("target_changed", "there_again".to_owned())
}

fn changed() -> Trouble {
    ("target_changed", "changed_since".to_owned())
}

/// The names of the first few things.
pub(super) fn some_of(paths: &[PathBuf]) -> String {
    let name = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.contains([',', ';', '(', ')']) { format!("{name:?}") } else { visible::quoted(&name).into_owned() }
    };
    let more = (paths.len() > NAMED_MAX).then(|| "…".to_owned());
    paths.iter().take(NAMED_MAX).map(name).chain(more).collect::<Vec<_>>().join(", ")
}

impl Planner<'_> {
    fn take_back(&mut self, op: PlannedOp) -> Result<(), Trouble> {
        let path = target_path(&op);
        self.is_no_second_name(&path)?;
        match (op.op.as_str(), op.to.as_deref()) {
            ("write", _) => self.write_back(op, &path),
            ("mkdir" | "link", _) => self.make_again(op, &path),
            ("move" | "restore", _) => self.move_back(op, &path),
            ("delete", Some("trash")) => {
                self.is_as_left(&path, &op.before)?;
                // With what it holds by now.
                let fresh = PlannedOp { dst: None, dst_b64: None, before: BeforeImage::default(), ..op };
                self.put_into_trash(fresh, &path)
            }
            ("delete", _) => self.remove_again(op, &path),
            ("set_mode", _) => self.set_mode_back(op, &path),
            (other, _) => Err(("not_reversible", format!("unknown_change: {other}"))),
        }
    }

    /// What will be at a path, with its content's hash where that is what it is known by.
    fn now(&self, path: &Path, with_content: bool) -> Result<disk::Now, Trouble> {
        Ok(match self.overlay.see(path).map_err(|error| system(&error))? {
            Seen::Absent => disk::Now { image: disk::absent(), bytes: None },
            Seen::Made(image) => disk::Now { image, bytes: None },
            Seen::Disk(real) => {
                let now = if with_content {
                    look(&real)
                } else {
                    disk::glance(&real).map(|image| disk::Now { image, bytes: None })
                };
                let disk::Now { image, bytes } = now.map_err(|error| system(&error))?;
                disk::Now { image: self.overlay.with_mode(&real, image), bytes }
            }
        })
    }

    /// What is there, when it is what the change left. A folder may be another than it was: one that a later undo made
    /// again has a new identity.
    fn is_as_left(&self, path: &Path, expected: &BeforeImage) -> Result<disk::Now, Trouble> {
        let expected = &BeforeImage { inode: None, ..expected.clone() };
        let now = self.now(path, expected.hash.is_some())?;
        match now.image.kind.as_str() {
            "absent" if expected.kind != "absent" => Err(gone()),
            _ if expected.kind == "absent" && now.image.kind != "absent" => Err(there_again()),
            _ if disk::is_same(&now.image, expected) => Ok(now),
            _ => Err(changed()),
        }
    }

    fn has_folder(&self, path: &Path) -> Result<(), Trouble> {
        let folder = path.parent().ok_or_else(gone)?;
        if self.glance(folder)?.kind == "folder" {
            return Ok(());
        }
        Err(("target_changed", format!("folder_absent: {}", folder.display())))
    }

    fn write_back(&mut self, mut op: PlannedOp, path: &Path) -> Result<(), Trouble> {
        let now = self.is_as_left(path, &op.before)?;
        self.has_folder(path)?;
        op.before = self.keep(now);
        let made = BeforeImage {
            kind: "file".to_owned(),
            bytes: op.bytes,
            mode: op.mode.unwrap_or_default(),
            hash: op.after,
            image: op.image,
            modified_ns: op.modified_ns,
            ..BeforeImage::default()
        };
        self.overlay.made(path, made);
        self.planned.ops.push(op);
        Ok(())
    }

    fn make_again(&mut self, mut op: PlannedOp, path: &Path) -> Result<(), Trouble> {
        op.before = self.is_as_left(path, &disk::absent())?.image;
        self.has_folder(path)?;
        let kind = if op.op == "mkdir" { "folder" } else { "other" };
        let mode = op.mode.unwrap_or_default();
        let link = op.dst_b64.clone();
        self.overlay.made(path, BeforeImage { kind: kind.to_owned(), mode, link, ..BeforeImage::default() });
        self.planned.ops.push(op);
        Ok(())
    }

    fn move_back(&mut self, mut op: PlannedOp, path: &Path) -> Result<(), Trouble> {
        let dst = dst_path(&op);
        let from_trash = op.op == "restore";
        let now = self.is_as_left(path, &op.before).map_err(|trouble| match trouble.1.as_str() {
            "gone_since" if from_trash => ("target_changed", "trash_emptied".to_owned()),
            _ => trouble,
        })?;
        if self.glance(&dst)?.kind != "absent" {
            return Err(there_again());
        }
        self.has_folder(&dst)?;
        // With what it holds by now.
        self.weigh(&mut op, path)?;
        op.before = now.image;
        self.overlay.moved(path, &dst, op.before.kind == "folder");
        self.planned.ops.push(op);
        Ok(())
    }

    fn remove_again(&mut self, mut op: PlannedOp, path: &Path) -> Result<(), Trouble> {
        let now = self.is_as_left(path, &op.before)?;
        let held = if now.image.kind == "folder" { self.overlay.children(path) } else { Ok(Vec::new()) };
        let held = held.map_err(|error| system(&error))?;
        if !held.is_empty() {
            return Err(("target_changed", format!("not_empty: {}", some_of(&held))));
        }
        op.bytes = now.image.bytes;
        op.before = self.keep(now);
        let (text, b64) = named(path);
        (op.path, op.path_b64) = (text, b64);
        self.overlay.gone(path);
        self.planned.ops.push(op);
        Ok(())
    }

    fn set_mode_back(&mut self, mut op: PlannedOp, path: &Path) -> Result<(), Trouble> {
        let now = self.now(path, false)?.image;
        match now.kind.as_str() {
            "absent" => return Err(gone()),
            _ if now.kind != op.before.kind || now.mode != op.before.mode => return Err(changed()),
            _ => {}
        }
        op.before = disk::held(path, now);
        self.overlay.moded(path, op.mode.unwrap_or_default()).map_err(|error| system(&error))?;
        self.planned.ops.push(op);
        Ok(())
    }
}

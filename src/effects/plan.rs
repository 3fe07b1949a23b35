//! From an executor's `effects` to planned changes: staged bytes, canonical targets, what is there now, what will be.
//!
//! It looks and chooses (names in the trash, numbers, folders that must be made first) and changes nothing.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use metnos_log::BlobHash;
use metnos_log::event::turn::{BeforeImage, Holds, PlannedOp, Target};
use metnos_log::store::plain_blob_hash;
use metnos_projections::machines::actors::Actors;
use metnos_projections::rules::core_paths::{self, OwnDirs};
use serde_json::Value;

use super::disk::{self, HELD_MAX, exact, named};
use super::overlay::{Overlay, Seen};
use super::sent::Sent;
use super::trash::{self, Trash};
use super::undo::some_of;
use crate::broker::HostGrant;
use crate::cause::plain;
use crate::gateway::targets::said;
use crate::sandbox::masks::Core;
use crate::signing::Keys;

pub use super::disk::look;

/// The most new bytes of one change.
pub const CONTENT_BYTES_MAX: u64 = 64 << 20;
/// The most bytes that are kept of what one step deletes for good; beyond that no copy is kept, and the question says so.
const IMAGES_BYTES_MAX: u64 = 256 << 20;
/// The most changes of one step.
const OPS_MAX: usize = 250_000;
/// The most texts of one step whose beginnings are shown, and the most letters of each.
pub(super) const SHOWN_MAX: usize = 3;
pub(crate) const SHOWN_CHARS: usize = 300;
/// The changes that an executor may ask for.
const CHANGES: [&str; 6] = ["mkdir", "write", "append", "move", "delete", "set_mode"];
/// The change that is made on a server.
pub(super) const REQUEST: &str = "http";
/// A message to a person.
pub(super) const SEND: &str = "send";
/// The most numbers that are tried for a name that is taken.
const NUMBERS_MAX: u32 = 10_000;

/// Planned changes, and the bytes that are stored with them.
#[derive(Debug, Default)]
pub struct Planned {
    /// The changes.
    pub ops: Vec<PlannedOp>,
    /// New bytes and before-images by name.
    pub blobs: Vec<(BlobHash, Vec<u8>)>,
}

/// Why a change cannot be made: class, and key of the reason.
pub(super) type Trouble = (&'static str, String);

/// What planning works with.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// Reads a staged file.
    pub staged: &'a dyn Fn(&str, u64) -> io::Result<Vec<u8>>,
    /// Names a payload blob.
    pub name_of: &'a dyn Fn(&[u8]) -> BlobHash,
    /// Encrypts before-images.
    pub keys: &'a Keys,
    /// Where deleted things go.
    pub trash: &'a Trash,
    /// The person's home folder.
    pub home: &'a str,
    /// The instance's own folders.
    pub own: &'a OwnDirs,
    /// The hosts that requests may go to, and whether the executor says that one may be sent twice.
    pub web: (&'a [HostGrant], bool),
    /// The people, where the executor may have messages sent to them.
    pub people: Option<&'a Actors>,
}

/// What the arguments named: only that may be changed.
#[derive(Debug, Default)]
pub struct Named {
    exact: HashSet<PathBuf>,
    /// Names that are no UTF-8, by the text that an executor sees of them.
    by_text: HashMap<String, PathBuf>,
    below: Vec<PathBuf>,
    beside: bool,
    /// Whom to write to, as they were called.
    people: Vec<String>,
}

impl Named {
    /// From looked-up targets, and from entries that were too many to be looked up one by one.
    pub fn new(targets: &[Target], args: &Value) -> Self {
        let mut named = Self::default();
        for target in targets.iter().filter(|target| target.role == "target_path") {
            let path = exact(&target.canonical, target.canonical_b64.as_deref());
            if target.pointer == "/entries" {
                for entry in args.get("entries").and_then(Value::as_array).into_iter().flatten() {
                    let text = |key: &str| entry.get(key).and_then(Value::as_str);
                    let Some(value) = text("path") else { continue };
                    named.exact.insert(exact(value, text("path_b64")));
                }
            } else if target.pointer == "/dst_template" {
                // Up to the first name that is a pattern.
                let fixed = path.components().take_while(|part| !part.as_os_str().to_string_lossy().contains('{'));
                let fixed: PathBuf = fixed.collect();
                named.beside |= fixed.as_os_str().is_empty();
                named.below.extend(fixed.is_absolute().then_some(fixed));
            } else {
                if target.canonical_b64.is_some() {
                    named.by_text.insert(target.canonical.clone(), path.clone());
                }
                named.exact.insert(path);
            }
        }
        let people = targets.iter().filter(|target| target.role == "recipient");
        named.people = people.map(|target| target.canonical.clone()).collect();
        named
    }

    /// Whether somebody may be written to: who was named, or, where nobody was, whom the executor means.
    pub(super) fn has_person(&self, id: &str, actors: &Actors) -> bool {
        let is_theirs = |name: &String| actors.find(name).is_some_and(|(named, _)| named == id);
        self.people.is_empty() || self.people.iter().any(is_theirs)
    }

    /// The path that an effect means: by its bytes, or by the text of a target whose bytes are known.
    fn meant(&self, text: &str, b64: Option<&str>) -> PathBuf {
        match self.by_text.get(text) {
            Some(path) if b64.is_none() => path.clone(),
            _ => exact(text, b64),
        }
    }

    fn has(&self, path: &Path) -> bool {
        self.exact.contains(path)
    }

    /// Whether something may come to lie there: at or below the named place, or beside what is moved.
    fn allows(&self, dst: &Path, src: Option<&Path>) -> bool {
        let beside = self.beside && src.and_then(Path::parent).is_some_and(|folder| dst.starts_with(folder));
        beside || self.exact.contains(dst) || self.below.iter().any(|place| dst.starts_with(place))
    }
}

/// Plans what `result.effects` asks for. Targets must be among those that the arguments named.
pub fn plan(result: &Value, targets: &Named, around: Around<'_>) -> Planned {
    let effects = match result.get("effects") {
        None | Some(Value::Null) => &[],
        Some(Value::Array(effects)) => effects.as_slice(),
        Some(_) => return refused("contract_violation", "no_list".to_owned()),
    };
    let mut planner = Planner::new(around);
    for effect in effects {
        if planner.planned.ops.len() > OPS_MAX {
            break;
        }
        let text = |key: &str| effect.get(key).and_then(Value::as_str);
        let sent_to = match text("op") {
            Some(REQUEST) => text("url"),
            Some(SEND) => text("to"),
            _ => None,
        };
        let named = text("path").or(text("src")).or(sent_to);
        let path = targets.meant(named.unwrap_or_default(), text("path_b64").or(text("src_b64")));
        let op = op_at(text("op").unwrap_or_default(), &path);
        if let Err((class, reason)) = planner.effect(effect, &path, targets) {
            // Of a move it may be the other end that is refused: then that is the one to name.
            let op = planner.blamed.take().map_or(op, |blamed| op_at(text("op").unwrap_or_default(), &blamed));
            // Where nothing is sent is no place of this machine either.
            let (request, message) = ((op.op == REQUEST).then(Box::default), (op.op == SEND).then(Box::default));
            let op = PlannedOp { request, message, ..op };
            planner.planned.ops.push(PlannedOp { trouble: Some((class.to_owned(), reason)), ..op });
        }
    }
    if planner.planned.ops.len() > OPS_MAX {
        return refused("too_large", format!("too_many_changes: {OPS_MAX}"));
    }
    planner.planned
}

/// Nothing is planned, for one reason.
fn refused(class: &str, reason: String) -> Planned {
    let op = PlannedOp { trouble: Some((class.to_owned(), reason)), ..PlannedOp::default() };
    Planned { ops: vec![op], blobs: Vec::new() }
}

pub(super) fn op_at(op: &str, path: &Path) -> PlannedOp {
    let (path, path_b64) = named(path);
    PlannedOp { op: op.to_owned(), path, path_b64, if_exists: "fail".to_owned(), ..PlannedOp::default() }
}

/// The first letters of a text, as they will be written; of anything else nothing.
pub(super) fn beginning(content: &[u8]) -> String {
    let head = &content[..content.len().min(SHOWN_CHARS * 4)];
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // A letter that the end of the head cuts through.
        Err(error) if error.error_len().is_none() && head.len() < content.len() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => "",
    };
    if text.contains('\0') { String::new() } else { text.chars().take(SHOWN_CHARS).collect() }
}

fn second_name() -> Trouble {
    ("policy_violation", "second_name".to_owned())
}

pub(super) fn system(error: &io::Error) -> Trouble {
    match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(errno) => said(errno),
        None => ("operation_failed", format!("system: {}", plain(error))),
    }
}

/// One plan in the making.
pub(super) struct Planner<'a> {
    pub(super) around: Around<'a>,
    pub(super) planned: Planned,
    pub(super) overlay: Overlay,
    pub(super) places: trash::Places,
    /// What files hold that this plan writes, by hash: a later change may build on it.
    fresh: HashMap<[u8; 32], Vec<u8>>,
    image_bytes: u64,
    pub(super) sent: Sent,
    /// The changes whose texts are shown.
    pub(super) shown: Vec<usize>,
    /// The path that the last refusal is about, where it is not the one that the effect begins with.
    blamed: Option<PathBuf>,
    core: Core<'a>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(around: Around<'a>) -> Self {
        let (planned, overlay, places) = (Planned::default(), Overlay::default(), trash::Places::default());
        let core = Core::new(Path::new(around.home), around.own);
        let (fresh, sent, shown) = (HashMap::new(), Sent::default(), Vec::new());
        Self { around, planned, overlay, places, fresh, image_bytes: 0, sent, shown, blamed: None, core }
    }

    /// A file that nobody touches is not read, kept or changed under another name either.
    pub(super) fn is_no_second_name(&self, path: &Path) -> Result<(), Trouble> {
        match self.overlay.see(path).map_err(|error| system(&error))? {
            Seen::Disk(real) if self.core.is_second_name_at(&real) => Err(second_name()),
            _ => Ok(()),
        }
    }

    fn effect(&mut self, effect: &Value, path: &Path, targets: &Named) -> Result<(), Trouble> {
        let name = effect.get("op").and_then(Value::as_str).unwrap_or_default();
        match name {
            _ if CHANGES.contains(&name) => {}
            SEND => return self.message(effect, targets),
            REQUEST => return self.request(effect),
            _ => return Err(("contract_violation", format!("unknown_change: {name}"))),
        }
        if !disk::is_normal(path) {
            return Err(("contract_violation", "not_normal".to_owned()));
        }
        self.is_no_second_name(path)?;
        let text = |key: &str| effect.get(key).and_then(Value::as_str);
        if name != "mkdir" && disk::holds_own_program(path) {
            return Err(("policy_violation", "own_program".to_owned()));
        }
        let is_named = targets.has(path);
        match (name, text("to")) {
            ("mkdir", _) if targets.allows(path, None) => self.make_folder(path, text("if_exists") == Some("fail")),
            ("write" | "append", _) if is_named => self.write(effect, path),
            ("move", _) if is_named => self.move_to(effect, path, targets),
            ("delete", to) if is_named => self.delete(effect, path, to != Some("nothing")),
            ("set_mode", _) if is_named => self.set_mode(effect, path),
            _ => Err(("policy_violation", "unasked_target".to_owned())),
        }
    }

    pub(super) fn glance(&self, path: &Path) -> Result<BeforeImage, Trouble> {
        self.overlay.glance(path).map_err(|error| system(&error))
    }

    fn write(&mut self, effect: &Value, path: &Path) -> Result<(), Trouble> {
        let text = |key: &str| effect.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut op = op_at(text("op"), path);
        if text("if_exists") != "fail" {
            "replace".clone_into(&mut op.if_exists);
        }
        let content = (self.around.staged)(text("from"), CONTENT_BYTES_MAX).map_err(|error| {
            let is_long = error.kind() == io::ErrorKind::FileTooLarge;
            tracing::debug!(%error, from = text("from"), "a staged file is not read");
            if is_long {
                ("too_large", format!("too_long: {}", CONTENT_BYTES_MAX >> 20))
            } else {
                ("contract_violation", format!("not_staged: {}", text("from")))
            }
        })?;
        op.bytes = content.len() as u64;
        let (before, real) = self.content_at(path)?;
        if before.image.kind == "file" && op.if_exists == "fail" {
            return Err(("operation_failed", "exists".to_owned()));
        }
        if matches!(before.image.kind.as_str(), "folder" | "other") {
            return Err(("wrong_type", "no_plain_file".to_owned()));
        }
        if before.image.kind == "file" && before.bytes.is_none() && real.is_none() {
            return Err(("too_large", "changed".to_owned()));
        }
        let whole = disk::whole(&op.op, &content, before.bytes.as_deref(), real.as_deref());
        let (hash, whole) = whole.map_err(|error| system(&error))?;
        op.after = Some(hash);
        op.before = self.keep(before);
        if op.op == "write" {
            self.unshow(path);
        }
        if self.shown.len() < SHOWN_MAX {
            self.shown.push(self.planned.ops.len());
            op.text = Some(beginning(&content));
        }
        let name = (self.around.name_of)(&content);
        op.content = Some(name);
        self.planned.blobs.push((name, content));
        let (bytes, modified_ns, inode) = (whole.as_ref().map_or(0, |whole| whole.len() as u64), None, None);
        let kind = "file".to_owned();
        let made = BeforeImage { kind, hash: op.after, bytes, modified_ns, inode, image: None, ..op.before.clone() };
        self.fresh.extend(whole.map(|whole| (hash.0, whole)));
        self.overlay.made(path, made);
        self.planned.ops.push(op);
        Ok(())
    }

    /// A text that is written over before anyone could read it is not what the file will hold.
    fn unshow(&mut self, path: &Path) {
        let ops = &mut self.planned.ops;
        let (over, shown) = self.shown.drain(..).partition(|index| disk::target_path(&ops[*index]) == path);
        self.shown = shown;
        let over: Vec<usize> = over;
        for index in over {
            ops[index].text = None;
        }
    }

    /// What a file will hold before this change, and where that lies on the disk if it does.
    fn content_at(&self, path: &Path) -> Result<(disk::Now, Option<PathBuf>), Trouble> {
        Ok(match self.overlay.see(path).map_err(|error| system(&error))? {
            Seen::Absent => (disk::Now { image: disk::absent(), bytes: None }, None),
            Seen::Made(image) => {
                let bytes = image.hash.and_then(|hash| self.fresh.get(&hash.0).cloned());
                (disk::Now { image, bytes }, None)
            }
            Seen::Disk(real) => {
                let disk::Now { image, bytes } = look(&real).map_err(|error| system(&error))?;
                (disk::Now { image: self.overlay.with_mode(&real, image), bytes }, Some(real))
            }
        })
    }

    /// Keeps an encrypted copy of what is there, as far as there is room for it.
    pub(super) fn keep(&mut self, now: disk::Now) -> BeforeImage {
        let mut image = now.image;
        if let Some(bytes) = now.bytes
            && self.image_bytes + image.bytes <= IMAGES_BYTES_MAX
        {
            self.image_bytes += image.bytes;
            let sealed = self.around.keys.seal(&bytes);
            let name = plain_blob_hash(&sealed);
            image.image = Some(name);
            self.planned.blobs.push((name, sealed));
        }
        image
    }

    /// A folder, and those above it that are missing.
    fn make_folder(&mut self, path: &Path, must_be_new: bool) -> Result<(), Trouble> {
        match self.glance(path)?.kind.as_str() {
            "folder" if must_be_new => return Err(("operation_failed", "exists".to_owned())),
            "folder" => return Ok(()),
            "absent" => {}
            _ => return Err(("wrong_type", "exists".to_owned())),
        }
        if let Some(above) = path.parent() {
            match self.glance(above)?.kind.as_str() {
                "folder" => {}
                "absent" => self.make_folder(above, false)?,
                _ => return Err(("wrong_type", "part_is_file".to_owned())),
            }
        }
        self.overlay.made(path, BeforeImage { kind: "folder".to_owned(), ..BeforeImage::default() });
        self.planned.ops.push(PlannedOp { before: disk::absent(), ..op_at("mkdir", path) });
        Ok(())
    }

    /// Kind, size and, of a folder, what it holds.
    pub(super) fn weigh(&self, op: &mut PlannedOp, path: &Path) -> Result<(), Trouble> {
        op.before = self.glance(path)?;
        op.bytes = op.before.bytes;
        if op.before.kind == "absent" {
            return Err(("not_found", "absent".to_owned()));
        }
        if op.before.kind == "folder"
            && let Seen::Disk(real) = self.overlay.see(path).map_err(|error| system(&error))?
        {
            let found = disk::holds(&real, self.around.home, self.around.own).map_err(|error| system(&error))?;
            let found = found.ok_or_else(|| ("too_large", format!("too_much_inside: {HELD_MAX}")))?;
            // What is forbidden by its own name is judged as that.
            let is_second = |path: &String| {
                core_paths::forbidden(path, self.around.home, self.around.own).is_none()
                    && self.core.is_second_name_at(Path::new(path))
            };
            if found.forbidden.as_ref().is_some_and(is_second) {
                return Err(second_name());
            }
            op.bytes = found.bytes;
            op.holds = Some(found);
        }
        Ok(())
    }

    /// Refuses a change for the other path that it names.
    fn blame(&mut self, path: PathBuf, trouble: Trouble) -> Result<(), Trouble> {
        self.blamed = Some(path);
        Err(trouble)
    }

    fn move_to(&mut self, effect: &Value, src: &Path, targets: &Named) -> Result<(), Trouble> {
        let text = |key: &str| effect.get(key).and_then(Value::as_str);
        let mut dst = exact(text("dst").unwrap_or_default(), text("dst_b64"));
        if !disk::is_normal(&dst) {
            return self.blame(dst, ("contract_violation", "not_normal".to_owned()));
        }
        if !targets.allows(&dst, Some(src)) {
            return self.blame(dst, ("policy_violation", "unasked_target".to_owned()));
        }
        if disk::holds_own_program(&dst) {
            return self.blame(dst, ("policy_violation", "own_program".to_owned()));
        }
        let mut op = op_at("move", src);
        self.weigh(&mut op, src)?;
        if dst == src {
            return Ok(());
        }
        if dst.starts_with(src) {
            return Err(("operation_failed", "into_itself".to_owned()));
        }
        let there = self.glance(&dst)?;
        let if_exists = text("if_exists").unwrap_or("fail");
        match (there.kind.as_str(), if_exists) {
            ("absent", _) => {}
            (_, "number") => dst = self.numbered(&dst)?,
            ("file" | "other", "replace") if op.before.kind != "folder" => {
                self.put_into_trash(op_at("delete", &dst), &dst)?;
            }
            _ => return Err(("operation_failed", "exists".to_owned())),
        }
        if let Some(folder) = dst.parent() {
            self.make_folder(folder, false)?;
        }
        if_exists.clone_into(&mut op.if_exists);
        let (text, b64) = named(&dst);
        (op.dst, op.dst_b64) = (Some(text), b64);
        self.overlay.moved(src, &dst, op.before.kind == "folder");
        self.planned.ops.push(op);
        Ok(())
    }

    /// The first free name with a number: `a.txt`, `a (2).txt`, …
    fn numbered(&self, path: &Path) -> Result<PathBuf, Trouble> {
        let stem = path.file_stem().unwrap_or_default();
        for number in 2..NUMBERS_MAX {
            let mut name = stem.to_owned();
            name.push(format!(" ({number})"));
            if let Some(extension) = path.extension() {
                name.push(".");
                name.push(extension);
            }
            let candidate = path.with_file_name(name);
            if self.glance(&candidate)?.kind == "absent" {
                return Ok(candidate);
            }
        }
        Err(("operation_failed", "no_numbers_left".to_owned()))
    }

    fn delete(&mut self, effect: &Value, path: &Path, to_trash: bool) -> Result<(), Trouble> {
        let mut op = op_at("delete", path);
        self.weigh(&mut op, path)?;
        match effect.get("want").and_then(Value::as_str) {
            Some("file") if op.before.kind == "folder" => return Err(("wrong_type", "not_a_file".to_owned())),
            Some("folder") if op.before.kind != "folder" => return Err(("wrong_type", "not_a_folder".to_owned())),
            _ => {}
        }
        let only_empty = effect.get("only_empty").and_then(Value::as_bool).unwrap_or(false);
        let inside = if only_empty { self.overlay.children(path).map_err(|error| system(&error))? } else { Vec::new() };
        if !inside.is_empty() {
            return Err(("operation_failed", format!("not_empty: {}", some_of(&inside))));
        }
        if to_trash {
            return self.put_into_trash(op, path);
        }
        if op.before.kind == "folder" {
            return self.delete_tree(op, path);
        }
        self.delete_one(op, path)
    }

    /// Moves something into the trash of its file system.
    pub(super) fn put_into_trash(&mut self, mut op: PlannedOp, path: &Path) -> Result<(), Trouble> {
        if op.before.kind.is_empty() {
            self.weigh(&mut op, path)?;
        }
        // What the plan makes is not there yet, but its file system is known by the folder that it will lie in.
        let mut existing = path;
        let real = loop {
            match (self.overlay.see(existing).map_err(|error| system(&error))?, existing.parent()) {
                (Seen::Disk(real), _) => break real,
                (_, Some(above)) => existing = above,
                (_, None) => return Err(("not_found", "absent".to_owned())),
            }
        };
        let place = self.around.trash.place(path, &real, &mut self.places).map_err(|error| system(&error))?;
        let place = place.ok_or_else(|| ("resource_unavailable", "no_trash".to_owned()))?;
        op.to = Some("trash".to_owned());
        let (text, b64) = named(&place);
        (op.dst, op.dst_b64) = (Some(text), b64);
        self.overlay.moved(path, &place, op.before.kind == "folder");
        self.planned.ops.push(op);
        Ok(())
    }

    /// Deletes one file or link, or a folder that is empty by then, for good; what is small enough is kept.
    pub(super) fn delete_one(&mut self, mut op: PlannedOp, path: &Path) -> Result<(), Trouble> {
        self.is_no_second_name(path)?;
        op.to = Some("nothing".to_owned());
        if op.before.kind == "file"
            && op.before.bytes <= disk::IMAGE_BYTES_MAX
            && self.image_bytes + op.before.bytes <= IMAGES_BYTES_MAX
        {
            let (now, _) = self.content_at(path)?;
            op.before = self.keep(now);
        }
        self.overlay.gone(path);
        self.planned.ops.push(op);
        Ok(())
    }

    /// A folder for good: everything in it first, each its own change, so that each can be taken back.
    fn delete_tree(&mut self, whole: PlannedOp, folder: &Path) -> Result<(), Trouble> {
        let forbidden = whole.holds.and_then(|holds| holds.forbidden);
        for path in self.overlay.deepest_first(folder).map_err(|error| system(&error))? {
            let mut op = op_at("delete", &path);
            op.before = self.glance(&path)?;
            op.bytes = op.before.bytes;
            if path == folder {
                let forbidden = forbidden.clone();
                op.holds = forbidden.is_some().then(|| Holds { forbidden, ..Holds::default() });
            }
            self.delete_one(op, &path)?;
            if self.planned.ops.len() > OPS_MAX {
                break;
            }
        }
        Ok(())
    }

    fn set_mode(&mut self, effect: &Value, path: &Path) -> Result<(), Trouble> {
        let mode =
            effect.get("mode").and_then(Value::as_u64).ok_or_else(|| ("contract_violation", "no_mode".to_owned()))?;
        let mode = u32::try_from(mode).ok().filter(|mode| *mode <= 0o777);
        let mode = mode.ok_or_else(|| ("policy_violation", "special_rights".to_owned()))?;
        let before = self.glance(path)?;
        match before.kind.as_str() {
            "absent" => return Err(("not_found", "absent".to_owned())),
            "other" => return Err(("wrong_type", "no_plain_file".to_owned())),
            _ if before.mode == mode => return Ok(()),
            _ => {}
        }
        let before = disk::held(path, before);
        self.overlay.moded(path, mode).map_err(|error| system(&error))?;
        self.planned.ops.push(PlannedOp { mode: Some(mode), before, ..op_at("set_mode", path) });
        Ok(())
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;

//! From an executor's `effects` to planned changes: staged bytes, canonical targets, what is there now, what will be.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use metnos_log::event::turn::{BeforeImage, PlannedOp, Target};
use metnos_log::store::plain_blob_hash;
use metnos_log::{BlobHash, Log};
use serde_json::Value;

use crate::sandbox::Stage;
use crate::signing::Keys;

/// The most new bytes of one change.
pub const CONTENT_BYTES_MAX: u64 = 64 << 20;
/// Larger files are changed without a kept image, and the question says so.
pub const IMAGE_BYTES_MAX: u64 = 64 << 20;
/// The most changes of one step.
const OPS_MAX: usize = 10_000;

/// Planned changes, and the bytes that are stored with them.
#[derive(Debug, Default)]
pub struct Planned {
    /// The changes.
    pub ops: Vec<PlannedOp>,
    /// New bytes and before-images by name.
    pub blobs: Vec<(BlobHash, Vec<u8>)>,
}

/// Plans what `result.effects` asks for. Targets must be among those that the arguments named.
pub fn plan(result: &Value, stage: Option<&Stage>, targets: &[Target], log: &Log, keys: &Keys) -> Planned {
    let mut planned = Planned::default();
    let effects = result.get("effects").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for effect in effects.iter().take(OPS_MAX) {
        let op = one(effect, stage, targets, log, keys, &mut planned.blobs);
        planned.ops.push(op);
    }
    if effects.len() > OPS_MAX
        && let Some(op) = planned.ops.last_mut()
    {
        op.trouble = Some(("too_large".to_owned(), format!("too_many_changes: {OPS_MAX}")));
    }
    planned
}

fn one(
    effect: &Value,
    stage: Option<&Stage>,
    targets: &[Target],
    log: &Log,
    keys: &Keys,
    blobs: &mut Vec<(BlobHash, Vec<u8>)>,
) -> PlannedOp {
    let text = |key: &str| effect.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut op = PlannedOp {
        op: text("op"),
        path: text("path"),
        path_b64: None,
        content: None,
        bytes: 0,
        if_exists: if text("if_exists") == "fail" { "fail".to_owned() } else { "replace".to_owned() },
        before: BeforeImage::default(),
        after: None,
        trouble: None,
    };
    if let Err((class, reason)) = fill(&mut op, &text("from"), stage, targets, log, keys, blobs) {
        op.trouble = Some((class.to_owned(), reason));
    }
    op
}

type Trouble = (&'static str, String);

fn fill(
    op: &mut PlannedOp,
    from: &str,
    stage: Option<&Stage>,
    targets: &[Target],
    log: &Log,
    keys: &Keys,
    blobs: &mut Vec<(BlobHash, Vec<u8>)>,
) -> Result<(), Trouble> {
    if !matches!(op.op.as_str(), "write" | "append") {
        return Err(("contract_violation", format!("unknown_change: {}", op.op)));
    }
    let named = targets.iter().find(|target| target.role == "target_path" && target.canonical == op.path);
    let target = named.ok_or(("policy_violation", "unasked_target".to_owned()))?;
    op.path_b64.clone_from(&target.canonical_b64);
    let stage = stage.ok_or(("internal_error", "system: the stage is gone".to_owned()))?;
    let content = stage.read(from, CONTENT_BYTES_MAX).map_err(|error| {
        let class = if error.kind() == std::io::ErrorKind::FileTooLarge { "too_large" } else { "contract_violation" };
        (class, format!("system: {error}"))
    })?;
    op.bytes = content.len() as u64;
    let before = look(&target_path(op)).map_err(|error| ("operation_failed", format!("system: {error}")))?;
    if before.image.kind == "file" && op.if_exists == "fail" {
        return Err(("operation_failed", "exists".to_owned()));
    }
    if matches!(before.image.kind.as_str(), "folder" | "other") {
        return Err(("wrong_type", "no_plain_file".to_owned()));
    }
    op.after = Some(after(op, &content, before.bytes.as_deref())?);
    op.before = before.image;
    if let Some(bytes) = before.bytes {
        let sealed = keys.seal(&bytes);
        let name = plain_blob_hash(&sealed);
        op.before.image = Some(name);
        blobs.push((name, sealed));
    }
    let name = log.keyed_blob_hash(&content);
    op.content = Some(name);
    blobs.push((name, content));
    Ok(())
}

/// The hash of the whole file once the change is made.
fn after(op: &PlannedOp, content: &[u8], before: Option<&[u8]>) -> Result<BlobHash, Trouble> {
    if op.op == "write" {
        return Ok(plain_blob_hash(content));
    }
    let mut hasher = blake3::Hasher::new();
    if let Some(bytes) = before {
        hasher.update(bytes);
    } else {
        let file = std::fs::File::open(target_path(op));
        match file.and_then(|file| hasher.update_reader(file).map(drop)) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(("operation_failed", format!("system: {error}"))),
        }
    }
    hasher.update(content);
    Ok(BlobHash(*hasher.finalize().as_bytes()))
}

/// The target as the system names it.
pub fn target_path(op: &PlannedOp) -> PathBuf {
    let bytes = op.path_b64.as_ref().and_then(|text| STANDARD.decode(text).ok());
    bytes.map_or_else(|| PathBuf::from(&op.path), |bytes| PathBuf::from(OsString::from_vec(bytes)))
}

/// What is at a path now.
#[derive(Debug, Default)]
pub struct Now {
    /// Kind, size, mode and hash.
    pub image: BeforeImage,
    /// The bytes, when they are few enough to be kept.
    pub bytes: Option<Vec<u8>>,
}

/// Looks at a path without following a link at its end.
pub fn look(path: &Path) -> std::io::Result<Now> {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Now { image: BeforeImage { kind: "absent".to_owned(), ..BeforeImage::default() }, bytes: None });
        }
        Err(error) => return Err(error),
    };
    let kind = if metadata.is_file() {
        "file"
    } else if metadata.is_dir() {
        "folder"
    } else {
        "other"
    };
    let mut image = BeforeImage {
        kind: kind.to_owned(),
        bytes: metadata.len(),
        mode: metadata.mode() & 0o7777,
        hash: None,
        image: None,
    };
    if kind != "file" {
        return Ok(Now { image, bytes: None });
    }
    let file = std::fs::File::open(path)?;
    if metadata.len() > IMAGE_BYTES_MAX {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file)?;
        image.hash = Some(BlobHash(*hasher.finalize().as_bytes()));
        return Ok(Now { image, bytes: None });
    }
    let mut bytes = Vec::new();
    file.take(IMAGE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    image.bytes = bytes.len() as u64;
    image.hash = Some(plain_blob_hash(&bytes));
    Ok(Now { image, bytes: Some(bytes) })
}

//! The projections as they were at moments of the past, kept in files so that a question about then need not fold all that was
//! before it.
//!
//! Every so many events one is kept; where there are many, every other old one goes, so that they stay few and lie closer the
//! newer they are. A file that the chain does not bear out is passed over.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use metnos_log::Reader;
use metnos_log::store::ReadError;
use serde::{Deserialize, Serialize};

use crate::projector::{Projected, Until};
use crate::signing::{hex, write_private};

/// How many events lie between two moments: folding so many takes about a quarter of a second.
const EVERY: u64 = 100_000;
/// The most that are kept.
const KEPT: usize = 64;
/// Fast: what is kept is read again seldom, and written while somebody waits.
const ZSTD_LEVEL: i32 = 1;

/// The first line of a file; one more line follows for each projection.
#[derive(Serialize, Deserialize)]
struct Kept {
    position: u64,
    latest: i64,
    head: String,
    /// blake3 of all that follows.
    digest: String,
}

fn folder_of(projections: &Path) -> PathBuf {
    projections.join("moments")
}

fn file(folder: &Path, position: u64) -> PathBuf {
    folder.join(format!("{position:012}.zst"))
}

/// The positions that are kept, in order.
fn positions(folder: &Path) -> Vec<u64> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".zst")?.parse().ok());
    let mut positions: Vec<u64> = names.collect();
    positions.sort_unstable();
    positions
}

/// Keeps a moment where one is due. A failure costs time later, nothing else.
pub fn keep_if_due(projections: &Path, reader: &Reader, then: &Projected) -> Result<(), ReadError> {
    if then.position == 0 || !then.position.is_multiple_of(EVERY) {
        return Ok(());
    }
    let folder = folder_of(projections);
    if file(&folder, then.position).exists() {
        return Ok(());
    }
    let head = hex(&reader.head_at(then.position)?);
    if let Err(error) = keep(&folder, then, head) {
        tracing::warn!(%error, position = then.position, "a moment could not be kept");
    }
    Ok(())
}

fn keep(folder: &Path, then: &Projected, head: String) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut texts = Vec::new();
    for (name, version, text) in then.snapshots() {
        writeln!(texts, "{name} {version} {text}")?;
    }
    let digest = blake3::hash(&texts).to_hex().to_string();
    let first = Kept { position: then.position, latest: then.latest, head, digest };
    let first = serde_json::to_vec(&first).map_err(io::Error::other)?;
    let whole = [first.as_slice(), b"\n", &texts].concat();
    write_private(&file(folder, then.position), &zstd::encode_all(whole.as_slice(), ZSTD_LEVEL)?)?;
    let positions = positions(folder);
    if positions.len() > KEPT {
        // Of the older half every other one.
        for position in positions[..KEPT / 2].iter().step_by(2) {
            fs::remove_file(file(folder, *position))?;
        }
    }
    Ok(())
}

/// The last moment that was kept and is not after another one.
pub fn nearest(projections: &Path, reader: &Reader, until: Until) -> Result<Option<Projected>, ReadError> {
    let folder = folder_of(projections);
    let size = reader.size()?;
    for position in positions(&folder).into_iter().rev() {
        let is_after = matches!(until, Until::Seq(seq) if position > seq) || position > size;
        if is_after {
            continue;
        }
        let Some((head, then)) = read(&file(&folder, position)) else { continue };
        let is_later = matches!(until, Until::Time(time) if then.latest > time);
        if !is_later && then.position == position && hex(&reader.head_at(position)?) == head {
            return Ok(Some(then));
        }
    }
    Ok(None)
}

/// What a file holds, with the head that it names; `None` where it is damaged or of another version.
fn read(path: &Path) -> Option<(String, Projected)> {
    let text = String::from_utf8(zstd::decode_all(fs::File::open(path).ok()?).ok()?).ok()?;
    let (first, texts) = text.split_once('\n')?;
    let kept: Kept = serde_json::from_str(first).ok()?;
    if blake3::hash(texts.as_bytes()).to_hex().as_str() != kept.digest {
        return None;
    }
    let line = |line: &str| {
        let mut words = line.splitn(3, ' ');
        Some((words.next()?.to_owned(), (words.next()?.parse().ok()?, words.next()?.to_owned())))
    };
    let texts: BTreeMap<String, (u32, String)> = texts.lines().map(line).collect::<Option<_>>()?;
    Some((kept.head, Projected::restored(kept.position, kept.latest, &texts)?))
}

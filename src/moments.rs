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

/// How many events lie between two moments: folding so many takes about a quarter of a second. Tests have no time for so many.
const EVERY: u64 = if cfg!(test) { 50 } else { 100_000 };
/// The most that are kept.
const KEPT: usize = if cfg!(test) { 8 } else { 64 };
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use metnos_log::event::actor::LanguageSet;
    use metnos_log::{Append, Draft, EventId, Expect, Micros};

    use super::*;
    use crate::config::{Flags, Variables};
    use crate::instance::Instance;
    use crate::projector;

    fn fill(instance: &Instance, numbers: std::ops::Range<u32>) {
        let draft = |number: u32| {
            let mut id = [7; 16];
            id[..4].copy_from_slice(&number.to_be_bytes());
            // The clock goes back now and then.
            let time = Micros(1_000_000 * i64::from(number) - 40_000_000 * i64::from(number % 31 == 30));
            let language = if number.is_multiple_of(3) { "en" } else { "it" };
            let event = LanguageSet { actor: "host".to_owned(), language: language.to_owned() }.into();
            let (stream, actor) = ("actor/host".to_owned(), "host".to_owned());
            Draft { id: EventId(id), time, stream, actor, turn: None, cause: None, event, blobs: Vec::new() }
        };
        instance.log.append(Append { events: numbers.map(draft).collect(), expect: Expect::Any }).unwrap();
        instance.catch_up().unwrap();
    }

    fn open(place: &Path) -> Instance {
        let variables = Variables { user_home: Some(place.to_owned()), ..Variables::default() };
        Instance::open(Some(&place.join("home")), &Flags::default(), &variables, Duration::ZERO).unwrap()
    }

    /// Every moment, from the nearest file and from nothing.
    fn compare(instance: &Instance, nowhere: &Path) {
        let reader = instance.log.reader();
        let size = instance.log.head().size;
        let times = (0..size).step_by(7).map(|second| Until::Time(i64::try_from(second).unwrap() * 1_000_000));
        for until in (0..=size).step_by(11).map(Until::Seq).chain(times) {
            let (then, head) = instance.at(until).unwrap();
            drop(fs::remove_dir_all(nowhere));
            let (anew, head_anew) = projector::at(nowhere, &reader, until).unwrap();
            assert_eq!((then.position, then.latest, head), (anew.position, anew.latest, head_anew), "{until:?}");
            assert_eq!(then.digests(), anew.digests(), "{until:?}");
        }
    }

    #[test]
    fn a_moment_is_the_same_from_wherever_it_is_folded() {
        let place = tempfile::tempdir().unwrap();
        let instance = open(place.path());
        let projections = instance.dirs.data.join("projections");
        for batch in 0..10 {
            fill(&instance, batch * 77..(batch + 1) * 77);
        }
        let kept = positions(&folder_of(&projections));
        assert!(kept.len() > 3 && kept.len() <= KEPT + 1 && kept.is_sorted(), "{kept:?}");
        compare(&instance, &place.path().join("nowhere"));
        // Nothing that is damaged is believed.
        for position in kept {
            let path = file(&folder_of(&projections), position);
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 4;
            fs::write(&path, bytes).unwrap();
            assert!(read(&path).is_none());
        }
        compare(&instance, &place.path().join("nowhere"));
    }

    /// A projection whose file is gone is folded again by itself, and the others go on from where they were.
    #[test]
    fn one_that_is_missing_is_made_again_alone() {
        let place = tempfile::tempdir().unwrap();
        let instance = open(place.path());
        fill(&instance, 0..120);
        instance.save_projections(0).unwrap();
        fill(&instance, 120..140);
        let digests = instance.projected().digests();
        drop(instance);
        fs::remove_file(place.path().join("home/data/projections/actors.jsonl")).unwrap();
        let instance = open(place.path());
        assert_eq!(instance.projected().digests(), digests);
        assert_eq!(instance.beyond(), None);
    }

    /// A log that is shorter than what was made of it is not taken for the same in silence.
    #[test]
    fn a_log_that_lost_its_end_is_noticed() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("home/data/log/events.redb");
        let instance = open(place.path());
        fill(&instance, 0..100);
        drop(instance);
        let earlier = fs::read(&file).unwrap();
        let instance = open(place.path());
        fill(&instance, 100..150);
        instance.save_projections(0).unwrap();
        let size = instance.log.head().size;
        drop(instance);
        fs::write(&file, earlier).unwrap();
        let instance = open(place.path());
        assert_eq!(instance.beyond(), Some(size));
        let digests = instance.projected().digests();
        instance.fold_anew().unwrap();
        assert_eq!(instance.projected().digests(), digests);
    }
}

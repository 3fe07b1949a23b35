//! The logs whose every bit is flipped: a small one, and one with all that a log can have, cut small.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;

use super::chance::Chance;
use super::cuts::{keys, start_at};
use super::disk::Disk;
use super::start;
use crate::envelope::Draft;
use crate::event::executor::{Artefact, ExecutorInstalled};
use crate::event::instance::{CredentialRemoved, Erased, InstanceCreated};
use crate::event::turn::TurnClosed;
use crate::id::{EventId, Micros, TurnId};
use crate::kept::{INLINE_BYTES_MAX, Kept};
use crate::store::seal::in_small_segments;
use crate::store::{Append, Before, Erasure, Expect, Log, plain_blob_hash};

/// How long the segments of the sealed log are.
const SEGMENT_BYTES: usize = 700;

/// A log at rest: the bytes of its file, and its archive files by name.
pub(super) struct Image {
    /// As closing leaves it.
    pub(super) closed: Vec<u8>,
    /// As a kill leaves it after the last append.
    pub(super) killed: Vec<u8>,
    pub(super) archive: Vec<(String, Vec<u8>)>,
    /// The archive file before one of its events was erased.
    pub(super) unerased: Vec<u8>,
}

impl Image {
    /// A folder with the archive files, beside which a log can be opened.
    pub(super) fn laid_out(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("archive")).unwrap();
        for (name, bytes) in &self.archive {
            std::fs::write(folder.path().join("archive").join(name), bytes).unwrap();
        }
        folder
    }
}

/// Opens a log of these bytes, on a disk in memory, beside a folder with archive files.
pub(super) fn open_beside(folder: &TempDir, bytes: Vec<u8>) -> Result<Log, String> {
    start_at(&Arc::new(Disk::holding(bytes, Chance::of(0))), &folder.path().join("events.redb"))
}

/// A log with events of several kinds, a stream of several, and a blob of each naming.
pub(super) fn small() -> Image {
    at_rest(|_| ())
}

/// The same, and behind it so many commits that their rows fill more than a page.
pub(super) fn long() -> Image {
    at_rest(|log| {
        for number in 100..180 {
            let name = "a name of a length that makes pages full ".repeat(4) + &number.to_string();
            let event = CredentialRemoved { name }.into();
            let draft = Draft { id: EventId([number; 16]), event, ..crate::store::tests::draft(number, "long") };
            log.append(Append { events: vec![draft], expect: Expect::Any }).unwrap();
        }
    })
}

/// The same with a signed checkpoint behind it.
pub(super) fn signed() -> Image {
    at_rest(|log| drop(log.checkpoint().unwrap()))
}

fn at_rest(then: impl FnOnce(&Log)) -> Image {
    let disk = Arc::new(Disk::default());
    let log = start(&disk).unwrap();
    fill(&log);
    then(&log);
    let killed = disk.bytes();
    drop(log);
    Image { closed: disk.bytes(), killed, archive: Vec::new(), unerased: Vec::new() }
}

fn fill(log: &Log) {
    let event = |number: u8, stream: &str, event: crate::Event| Draft {
        id: EventId([number; 16]),
        time: Micros(1_700_000_000_000_000 + i64::from(number)),
        stream: stream.to_owned(),
        actor: "owner".to_owned(),
        turn: (number > 3).then_some(TurnId([9; 16])),
        cause: (number == 5).then_some(EventId([4; 16])),
        event,
        blobs: Vec::new(),
    };
    let created =
        InstanceCreated { log_id: log.id().to_owned(), version: "0.1.0".to_owned(), public_key: "ab".repeat(32) };
    let removed = |name: &str| CredentialRemoved { name: name.to_owned() }.into();
    let closed = TurnClosed {
        final_kind: "answer".to_owned(),
        class: None,
        message: Kept::text("a long line\n".repeat(INLINE_BYTES_MAX / 10)),
        counts: [("calls".to_owned(), 2)].into(),
    };
    let image = b"what a file held before".to_vec();
    let artefact = Artefact { file: "main.py".to_owned(), blob: plain_blob_hash(&image), bytes: image.len() as u64 };
    let installed = ExecutorInstalled {
        name: "x".to_owned(),
        version: "1.0.0".to_owned(),
        artefacts: vec![artefact],
        manifest: json!({}).into(),
        schema: json!({}).into(),
    };
    let appends = [
        vec![event(1, "instance", created.into())],
        vec![event(2, "instance", removed("weather")), event(3, "instance", removed("mail"))],
        vec![Draft { blobs: vec![(plain_blob_hash(&image), image)], ..event(4, "executor/x", installed.into()) }],
        vec![event(6, "turn/x", removed("door"))],
        vec![event(5, "turn/x", closed.into())],
    ];
    for events in appends {
        log.append(Append { events, expect: Expect::Any }).unwrap();
    }
}

fn short(number: u8, chance: &mut Chance) -> Draft {
    let mut id = [7; 16];
    id[..2].copy_from_slice(&[number, 200]);
    let (time, stream) = (Micros(1_700_000_001_000_000 - i64::from(number)), format!("turn/{}", number / 5));
    let event = CredentialRemoved { name: chance.text(40) }.into();
    let turn = number.is_multiple_of(2).then_some(TurnId([number; 16]));
    Draft { id: EventId(id), time, stream, actor: "owner".to_owned(), turn, cause: None, event, blobs: Vec::new() }
}

/// A log with an archive file, two segments in its own, a tail, old and new checkpoints, blobs of each naming, and
/// events that were erased in each of these places.
pub(super) fn sealed() -> Image {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut chance) = (folder.path().join("events.redb"), Chance::of(3));
    let log = in_small_segments(SEGMENT_BYTES, || Log::open(&path, keys(), std::time::Duration::ZERO).unwrap());
    fill(&log);
    let segments = || log.reader().verify(|_, _| {}).unwrap().segments;
    let secret = "what nobody is to know ".repeat(INLINE_BYTES_MAX / 20);
    let said =
        TurnClosed { final_kind: "answer".to_owned(), class: None, message: Kept::text(&secret), counts: [].into() };
    let said = Draft { event: said.into(), ..short(252, &mut chance) };
    log.append(Append { events: vec![said], expect: Expect::Any }).unwrap();
    let (spoken, name) = (log.head().size, log.keyed_blob_hash(secret.as_bytes()));
    let mut numbers = 0..u8::MAX;
    while segments() < 4 {
        let events = numbers.by_ref().take(3).map(|number| short(number, &mut chance)).collect();
        log.append(Append { events, expect: Expect::Any }).unwrap();
    }
    log.checkpoint().unwrap();
    let events = numbers.by_ref().take(2).map(|number| short(number, &mut chance)).collect();
    log.append(Append { events, expect: Expect::Any }).unwrap();
    let size = log.head().size;
    let second = log.archivable(Before::Seq(u64::MAX)).unwrap();
    let archived = log.archive(Before::Seq(second.events.1), |_, _| {}).unwrap();
    assert!((3..second.events.1).contains(&archived.events.1) && archived.files.len() == 1, "{archived:?}");
    let unerased = std::fs::read(&archived.files[0]).unwrap();
    let seqs = BTreeSet::from([3, spoken, second.events.1, size]);
    let record = Erased {
        selector: "event".to_owned(),
        of: String::new(),
        seqs: seqs.iter().map(|seq| (*seq, *seq)).collect(),
        blobs: vec![name],
        reason: "asked for".to_owned(),
        by: "owner".to_owned(),
    };
    let record = Draft { stream: "instance".to_owned(), event: record.into(), ..short(254, &mut chance) };
    log.erase(Erasure { seqs: seqs.clone(), blobs: [name].into(), record }).unwrap();
    // Few enough that nothing more is sealed, and more than the newest of them share.
    for number in 244..248 {
        log.append(Append { events: vec![short(number, &mut chance)], expect: Expect::Any }).unwrap();
    }
    let verified = log.reader().verify(|_, _| {}).unwrap();
    assert_eq!(
        (verified.segments - verified.archived, verified.erased, verified.blobs),
        (2, seqs.len() as u64, 2),
        "{verified:?}"
    );
    let killed = std::fs::read(&path).unwrap();
    drop(log);
    let archive = archived
        .files
        .iter()
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap()));
    Image { archive: archive.collect(), closed: std::fs::read(&path).unwrap(), killed, unerased }
}

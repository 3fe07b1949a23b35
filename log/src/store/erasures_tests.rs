//! What was erased does not come back: wherever the old bytes are put, verification names them, a backup refuses them, a restore
//! leaves them out, and a log that is written anew is without them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use redb::ReadableDatabase;

use super::tables::{BLOBS, SEGMENTS};
use super::tests::{draft, keys, open};
use super::*;
use crate::event::instance::{EpochOpened, Erased};
use crate::event::turn::TurnClosed;
use crate::id::EventId;
use crate::kept::{INLINE_BYTES_MAX, Kept};

/// Of the events, one in what is archived below, one in a segment, one in the tail.
const ERASED: [u64; 3] = [5, 3000, 4000];
const EVENTS: u16 = 4000;

fn said(number: u16, text: &str) -> Draft {
    let mut id = [0; 16];
    id[..2].copy_from_slice(&number.to_be_bytes());
    let (message, counts) = (Kept::text(text), BTreeMap::new());
    let closed = TurnClosed { final_kind: "answer".to_owned(), class: None, message, counts };
    Draft { id: EventId(id), event: closed.into(), ..draft(1, &format!("turn/{}", number / 3)) }
}

fn long(letter: &str) -> String {
    letter.repeat(INLINE_BYTES_MAX + 1)
}

fn record(number: u8, selector: &str, seqs: &[u64], blobs: &[BlobHash]) -> Draft {
    let erased = Erased {
        selector: selector.to_owned(),
        of: String::new(),
        seqs: seqs.iter().map(|seq| (*seq, *seq)).collect(),
        blobs: blobs.to_vec(),
        reason: "asked for".to_owned(),
        by: "owner".to_owned(),
    };
    Draft { event: erased.into(), ..draft(number, "instance") }
}

fn erasure(number: u8, seqs: &[u64], blobs: &[BlobHash]) -> Erasure {
    let record = record(number, "event", seqs, blobs);
    Erasure { seqs: seqs.iter().copied().collect(), blobs: blobs.iter().copied().collect(), record }
}

/// A log with archived, sealed and other events, whose last one names a blob.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> (Self, Log) {
        let place = Self(tempfile::tempdir().unwrap());
        let log = place.log();
        let text = |number: u16| format!("{number} bread, milk, {}", u32::from(number) * 77_777);
        let said = |number| said(number, &if number == EVENTS - 1 { long("x") } else { text(number) });
        let numbers: Vec<u16> = (0..EVENTS).collect();
        // The last are too few to be sealed.
        let (many, few) = numbers.split_at(numbers.len() - 20);
        for numbers in many.chunks(500).chain([few]) {
            let events = numbers.iter().copied().map(said).collect();
            log.append(Append { events, expect: Expect::Any }).unwrap();
        }
        log.archive(Before::Seq(2000), |_, _| {}).unwrap();
        (place, log)
    }

    fn log(&self) -> Log {
        open(&self.path("events.redb")).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn archive(&self) -> PathBuf {
        std::fs::read_dir(self.path("archive")).unwrap().next().unwrap().unwrap().path()
    }
}

fn blob(log: &Log, letter: &str) -> BlobHash {
    log.keyed_blob_hash(long(letter).as_bytes())
}

fn damage(log: &Log) -> Option<Damage> {
    log.reader().verify(|_, _| {}).err()
}

/// What holds the erased events of the log's own file, and the blob, as they were.
struct Old {
    segment: (u64, Vec<u8>),
    frame: Vec<u8>,
    blob: Vec<u8>,
}

impl Old {
    fn of(log: &Log) -> Self {
        let transaction = log.database().begin_read().unwrap();
        let segments = transaction.open_table(SEGMENTS).unwrap();
        let (first, value) = segments.range(..=ERASED[1]).unwrap().next_back().unwrap().unwrap();
        let tables = unsealed::Tables::read(&transaction).unwrap();
        let frame = tables.look(ERASED[2], <[u8]>::to_vec).unwrap().unwrap();
        let blob = transaction.open_table(BLOBS).unwrap().get(blob(log, "x").0).unwrap().unwrap().value().to_vec();
        Self { segment: (first.value(), value.value().to_vec()), frame, blob }
    }

    fn put(&self, log: &Log, which: usize) {
        let transaction = log.database().begin_write().unwrap();
        let (segments, blobs) = (SEGMENTS, BLOBS);
        match which {
            0 => drop(
                transaction.open_table(segments).unwrap().insert(self.segment.0, self.segment.1.as_slice()).unwrap(),
            ),
            1 => unsealed::replace(&transaction, ERASED[2], Some(&self.frame)),
            _ => drop(transaction.open_table(blobs).unwrap().insert(blob(log, "x").0, self.blob.as_slice()).unwrap()),
        }
        transaction.commit().unwrap();
    }
}

#[test]
fn what_was_erased_and_is_put_back_is_named_refused_and_taken_out() {
    let (place, log) = Place::new();
    let (old, name) = (Old::of(&log), blob(&log, "x"));
    let file = place.archive();
    let archived = std::fs::read(&file).unwrap();
    log.erase(erasure(251, &ERASED, &[name])).unwrap();
    let good = log.reader().verify(|_, _| {}).unwrap();
    assert_eq!((good.erased, good.blobs_erased), (3, 0));
    for (which, seq, table) in
        [(3, Some(5), "archive"), (0, Some(3000), "segments"), (1, Some(4000), "tail"), (2, None, "blobs")]
    {
        if which == 3 {
            // The whole file as it was: its digests and its leaves are good, and the chain holds.
            std::fs::write(&file, &archived).unwrap();
            log.archives.forget();
        } else {
            old.put(&log, which);
        }
        let found = damage(&log).unwrap();
        assert!(found.is_unerased() && (found.seq(), found.table()) == (seq, Some(table)), "{found}");
        assert!(found.to_string().contains("event 4001 says"), "{found}");
        let refused = log.backup(&place.path("backup"), |_, _| {}).unwrap_err();
        assert!(matches!(refused, BackupError::Unerased { .. }), "{refused}");
        let rewritten = log.compact().unwrap();
        assert_eq!((rewritten.payloads, rewritten.blobs), if which == 2 { (0, 1) } else { (1, 0) });
        assert_eq!(log.reader().verify(|_, _| {}).unwrap(), Verified { checkpoints: good.checkpoints, ..good.clone() });
    }
    log.backup(&place.path("backup"), |_, _| {}).unwrap();
}

/// A backup in which the old bytes were put back is restored without them.
#[test]
fn a_restore_leaves_out_what_was_erased() {
    let (place, log) = Place::new();
    log.backup(&place.path("backup"), |_, _| {}).unwrap();
    let sealed = place.path("backup/events.seg");
    let old = std::fs::read(&sealed).unwrap();
    log.erase(erasure(251, &ERASED[..2], &[])).unwrap();
    log.backup(&place.path("backup"), |_, _| {}).unwrap();
    assert_ne!(std::fs::read(&sealed).unwrap(), old);
    std::fs::write(&sealed, &old).unwrap();
    let epoch = |end: &Head| {
        let (reason, head_before) = ("restored".to_owned(), crate::hex(&end.head));
        let (again, lost_blobs) = (None, Vec::new());
        let opened = EpochOpened { reason, size: end.size, head_before, lost: Vec::new(), again, lost_blobs };
        Draft { event: opened.into(), ..draft(255, "instance") }
    };
    let path = place.path("elsewhere.redb");
    restore(&place.path("backup"), &path, keys(), epoch, |_, _| {}).unwrap();
    let restored = open(&path).unwrap();
    assert_eq!(restored.reader().verify(|_, _| {}).unwrap().erased, 2);
}

/// What expires is a long text; the events that named it keep what else they hold. Neither a compaction nor the end of an
/// erasure that broke off takes them for erased.
#[test]
fn events_whose_long_texts_expired_keep_their_payloads() {
    let (_place, log) = Place::new();
    let name = blob(&log, "x");
    log.drop_blobs(BTreeSet::from([name]), record(251, Erased::EXPIRY, &[5, 4000], &[name])).unwrap();
    let verified = log.reader().verify(|_, _| {}).unwrap();
    assert_eq!((verified.erased, verified.blobs, verified.blobs_erased), (0, 0, 1));
    assert_eq!(log.erase_archived().unwrap(), 0);
    assert_eq!(log.compact().unwrap().payloads, 0);
    assert!(log.reader().event(5).unwrap().unwrap().event().is_some());
}

/// Equal bytes have one name: what a later event brings is no return of what was erased.
#[test]
fn a_blob_that_comes_anew_is_good() {
    let (place, log) = Place::new();
    let name = blob(&log, "x");
    log.erase(erasure(251, &[4000], &[name])).unwrap();
    log.append(Append { events: vec![said(9000, &long("x"))], expect: Expect::Any }).unwrap();
    assert!(damage(&log).is_none() && log.compact().unwrap().blobs == 0);
    log.backup(&place.path("backup"), |_, _| {}).unwrap();
    // Erased again, it is gone again.
    log.erase(erasure(252, &[4002], &[name])).unwrap();
    assert!(damage(&log).is_none() && !log.reader().has_blob(name).unwrap());
}

/// A log in which several erasures broke off before they came to the archive: the next command finishes all of them.
#[test]
fn every_erasure_that_broke_off_is_finished() {
    let (place, log) = Place::new();
    let old = std::fs::read(place.archive()).unwrap();
    log.erase(erasure(251, &[5], &[])).unwrap();
    log.erase(erasure(252, &[7, 9], &[])).unwrap();
    log.erase(erasure(253, &[4000], &[])).unwrap();
    drop(log);
    std::fs::write(place.archive(), old).unwrap();
    let log = place.log();
    assert!(matches!(damage(&log), Some(Damage::Unerased { seq: 5, table: "archive", by: 4001 })));
    assert_eq!((log.erase_archived().unwrap(), log.erase_archived().unwrap()), (3, 0));
    assert!(damage(&log).is_none());
}

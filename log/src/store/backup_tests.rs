//! A backup holds what the log held, the next one adds what came since, and nothing that is damaged is restored.

use std::path::{Path, PathBuf};

use super::backup::Summary;
use super::tests::{draft, events, keys, open};
use super::*;
use crate::event::instance::EpochOpened;
use crate::id::EventId;
use crate::segment::Segment;

/// A log in a folder, and where its backup is.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn log(&self) -> Log {
        open(&self.path("events.redb")).unwrap()
    }

    fn back_up(&self, log: &Log) -> BackedUp {
        log.backup(&self.path("backup"), |_, _| {}).unwrap()
    }

    fn restore(&self, name: &str) -> Result<Head, BackupError> {
        restore(&self.path("backup"), &self.path(name), keys(), epoch, |_, _| {})
    }
}

/// The first event of a log that was restored.
pub(super) fn epoch(end: &Head) -> Draft {
    let opened = EpochOpened {
        reason: "restored".to_owned(),
        size: end.size,
        head_before: crate::hex(&end.head),
        lost: Vec::new(),
        again: None,
        lost_blobs: Vec::new(),
    };
    Draft { id: EventId([255; 16]), event: opened.into(), ..draft(1, "instance") }
}

fn fill(log: &Log, numbers: std::ops::Range<u32>) {
    let drafts = numbers.map(|number| {
        let mut id = [1; 16];
        id[..4].copy_from_slice(&number.to_be_bytes());
        let name = format!("{} bread and milk {number}", u64::from(number) * 0x9e37_79b9).repeat(3);
        let blob = format!("artefact {}", number / 500).repeat(100).into_bytes();
        let event = crate::event::instance::CredentialRemoved { name }.into();
        Draft {
            id: EventId(id),
            event,
            blobs: vec![(plain_blob_hash(&blob), blob)],
            ..draft(1, &format!("s/{}", number % 50))
        }
    });
    log.append(Append { events: drafts.collect(), expect: Expect::Any }).unwrap();
}

#[test]
fn what_is_restored_is_what_was_backed_up() {
    let place = Place::new();
    let log = place.log();
    fill(&log, 0..4000);
    let first = place.back_up(&log);
    assert_eq!((first.summary.events, first.summary.blobs), (4000, 8));
    let none = place.back_up(&log);
    assert!(none.bytes_written < 100_000, "{} bytes for nothing new", none.bytes_written);
    fill(&log, 4000..6000);
    let second = place.back_up(&log);
    assert!(second.bytes_written < first.bytes_written, "{} {}", second.bytes_written, first.bytes_written);
    let verified = log.reader().verify(|_, _| {}).unwrap();

    let head = place.restore("restored.redb").unwrap();
    let restored = open(&place.path("restored.redb")).unwrap();
    assert_eq!((head.size, restored.head()), (6001, head.clone()));
    assert_eq!(restored.id(), log.id());
    assert_eq!(restored.reader().head_at(6000).unwrap(), verified.head.head);
    assert_eq!(restored.reader().verify(|_, _| {}).unwrap().blobs, verified.blobs);
    assert_eq!(events(&restored)[..6000], events(&log));
    fill(&restored, 7000..7100);
    assert_eq!(restored.reader().verify(|_, _| {}).unwrap().head.size, 6101);
    // Two heads at one size: that the two went apart can be seen.
    fill(&log, 7000..7001);
    assert_ne!(log.reader().head_at(6001).unwrap(), restored.reader().head_at(6001).unwrap());
}

#[test]
fn a_backup_of_a_log_that_grows_holds_what_was_there() {
    let place = Place::new();
    let log = place.log();
    fill(&log, 0..1000);
    let mut grown = 1000;
    let backed_up = log.backup(&place.path("backup"), |_, _| {
        if grown < 9000 {
            fill(&log, grown..grown + 300);
            grown += 300;
        }
    });
    let summary = backed_up.unwrap().summary;
    let events = summary.events;
    assert_eq!(crate::note::Checkpoint::verified(&summary.checkpoint, &log.verifying).unwrap().size, events);
    assert!(events >= 1000);
    assert_eq!(place.restore("restored.redb").unwrap().size, events + 1);
}

#[test]
fn erased_text_leaves_a_backup_with_the_next_one() {
    let place = Place::new();
    let log = place.log();
    fill(&log, 0..4000);
    place.back_up(&log);
    let record = crate::event::instance::Erased {
        selector: "event".to_owned(),
        of: "100".to_owned(),
        seqs: vec![(100, 100)],
        blobs: Vec::new(),
        reason: String::new(),
        by: "owner".to_owned(),
    };
    let record = Draft { id: EventId([200; 16]), event: record.into(), ..draft(1, "instance") };
    log.erase(Erasure { seqs: [100].into(), blobs: [].into(), record }).unwrap();
    place.back_up(&log);
    place.restore("restored.redb").unwrap();
    let restored = open(&place.path("restored.redb")).unwrap();
    assert_eq!(restored.reader().verify(|_, _| {}).unwrap().erased, 1);
    assert_eq!(events(&restored)[99].body, crate::envelope::Body::Erased);
}

#[test]
fn a_log_that_is_there_is_never_overwritten() {
    let place = Place::new();
    let log = place.log();
    fill(&log, 0..10);
    place.back_up(&log);
    let before = std::fs::read(place.path("events.redb")).unwrap();
    assert!(matches!(place.restore("events.redb"), Err(BackupError::Occupied { .. })));
    assert_eq!(std::fs::read(place.path("events.redb")).unwrap(), before);
}

#[test]
fn a_folder_that_is_something_else_is_left_alone() {
    let place = Place::new();
    let log = place.log();
    std::fs::create_dir(place.path("photos")).unwrap();
    std::fs::write(place.path("photos/cat.jpg"), "miaow").unwrap();
    assert!(matches!(log.backup(&place.path("photos"), |_, _| {}), Err(BackupError::Foreign { .. })));
    assert!(matches!(
        restore(&place.path("photos"), &place.path("new.redb"), keys(), epoch, |_, _| {}),
        Err(BackupError::NoBackup { .. })
    ));
    // Also where it is called as part of a backup is.
    std::fs::create_dir_all(place.path("museum/blobs")).unwrap();
    std::fs::write(place.path("museum/blobs/vase.jpg"), "clay").unwrap();
    assert!(matches!(log.backup(&place.path("museum"), |_, _| {}), Err(BackupError::Foreign { .. })));
    assert_eq!(std::fs::read(place.path("museum/blobs/vase.jpg")).unwrap(), b"clay");
    std::fs::create_dir_all(place.path("cinema")).unwrap();
    std::fs::write(place.path("cinema/events.seg"), "film").unwrap();
    assert!(matches!(log.backup(&place.path("cinema"), |_, _| {}), Err(BackupError::Foreign { .. })));
    assert_eq!(std::fs::read(place.path("cinema/events.seg")).unwrap(), b"film");
    place.back_up(&log);
    std::fs::write(place.path("backup/blobs/note.txt"), "mine").unwrap();
    std::fs::write(place.path("backup/blobs").join("ab".repeat(32)), "of no use any more").unwrap();
    place.back_up(&log);
    assert_eq!(std::fs::read(place.path("backup/blobs/note.txt")).unwrap(), b"mine");
    assert!(!place.path("backup/blobs").join("ab".repeat(32)).exists());
    let other = Log::open(
        &place.path("other.redb"),
        LogKeys { fresh_id: [9; 16], ..keys() },
        std::time::Duration::from_millis(50),
    );
    assert!(matches!(other.unwrap().backup(&place.path("backup"), |_, _| {}), Err(BackupError::OtherLog { .. })));
    let key = ed25519_dalek::SigningKey::from_bytes(&[77; 32]);
    let by_another =
        restore(&place.path("backup"), &place.path("new.redb"), LogKeys { signing: key, ..keys() }, epoch, |_, _| {});
    assert!(matches!(by_another, Err(BackupError::Note(crate::note::NoteError::OtherKey))));
    assert!(!place.path("new.redb").exists());
}

/// A log that was made of an older backup goes by the same name, and so does one that lost its end: what only the folder holds
/// stays there.
#[test]
fn events_that_only_the_backup_holds_are_not_written_over() {
    let place = Place::new();
    let log = place.log();
    fill(&log, 0..3000);
    place.back_up(&log);
    place.restore("fork.redb").unwrap();
    let fork = open(&place.path("fork.redb")).unwrap();
    fill(&log, 3000..3010);
    place.back_up(&log);
    let kept = files(&place.path("backup"));
    let refused = |log: &Log| match log.backup(&place.path("backup"), |_, _| {}) {
        Err(BackupError::Ahead { first, last, .. }) => (first, last),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&fork), (3001, 3010));
    fill(&fork, 7000..8200);
    assert_eq!(refused(&fork), (3001, 3010), "also where it is longer");
    assert!(fork.prepare_backup(&place.path("backup")).is_err());
    assert!(files(&place.path("backup")) == kept, "nothing there is changed");
    // Whatever does not say itself what it holds.
    std::fs::remove_file(place.path("backup/backup.json")).unwrap();
    assert_eq!(refused(&fork), (3001, 3010));
    let before = files(&place.path("backup"));
    fill(&log, 3010..6000);
    place.back_up(&log);
    assert_eq!(refused(&fork), (3001, 6000));
    for (path, bytes) in before.iter().filter(|(path, _)| path.ends_with("tail.seg")) {
        std::fs::write(path, bytes).unwrap();
    }
    assert_eq!(refused(&fork), (3001, 6000), "where the newest backup broke off");
    place.back_up(&log);
}

/// Every file of the folder, with its bytes.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push((path.clone(), std::fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn a_damaged_backup_is_not_restored() {
    let place = Place::new();
    let log = place.log();
    fill(&log, 0..3000);
    fill(&log, 3000..3010);
    place.back_up(&log);
    for (path, bytes) in files(&place.path("backup")) {
        let step = (bytes.len() / 12).max(1);
        for at in (0..bytes.len()).step_by(step) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            std::fs::write(&path, &flipped).unwrap();
            let restored = place.restore("new.redb");
            assert!(restored.is_err(), "{} byte {at}: {restored:?}", path.display());
            assert!(!place.path("new.redb").exists());
        }
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(place.restore("new.redb").is_err(), "half of {}", path.display());
        std::fs::remove_file(&path).unwrap();
        assert!(place.restore("new.redb").is_err(), "without {}", path.display());
        std::fs::write(&path, &bytes).unwrap();
    }
    place.restore("new.redb").unwrap();
}

/// A backup says that it holds what there is: what a bad disk changed in an earlier one is found by the next.
#[test]
fn what_was_damaged_since_is_written_again() {
    let place = Place::new();
    let log = place.log();
    fill(&log, 0..3000);
    fill(&log, 3000..3010);
    place.back_up(&log);
    let whole = files(&place.path("backup"));
    for (path, bytes) in whole.iter().filter(|(path, _)| !path.ends_with("backup.json")) {
        for at in [bytes.len() / 3, bytes.len() - 1] {
            let mut flipped = bytes.clone();
            flipped[at] ^= 4;
            std::fs::write(path, &flipped).unwrap();
            place.back_up(&log);
            assert!(std::fs::read(path).unwrap() == *bytes, "{} byte {at}", path.display());
        }
    }
    assert_eq!(place.restore("restored.redb").unwrap().size, log.head().size + 1);
}

/// What damages the tail's file is told by the first event that is missed.
#[test]
fn a_damaged_tail_is_named_by_its_first_event() {
    let place = Place::new();
    let log = place.log();
    fill(&log, 0..3000);
    fill(&log, 3000..3010);
    place.back_up(&log);
    let path = place.path("backup/tail.seg");
    let mut bytes = std::fs::read(&path).unwrap();
    let first = Segment::parse(&bytes).unwrap().header.first;
    let at = bytes.len() - 1;
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let said = place.restore("restored.redb").unwrap_err().to_string();
    assert!(said.contains(&format!("from event {first} on")), "{said}");
}

/// Also where the folder around it is open to all: salvage and restore make a log wherever they are told to.
#[test]
fn every_file_of_a_log_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let log = place.log();
    fill(&log, 0..10);
    place.back_up(&log);
    place.restore("restored.redb").unwrap();
    let mode = |name: &str| std::fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(["events.redb", "restored.redb"].map(mode), [0o600; 2]);
    log.compact().unwrap();
    assert_eq!(mode("events.redb"), 0o600);
}

/// A backup that broke off anywhere leaves the one before it good, and the next one makes it whole.
#[test]
fn a_backup_that_broke_off_is_gone_on_with() {
    let place = Place::new();
    let log = place.log();
    fill(&log, 0..3000);
    place.back_up(&log);
    let old = ["tail.seg", "backup.json"].map(|name| place.path("backup").join(name));
    let old = old.map(|path| (path.clone(), std::fs::read(path).unwrap()));
    fill(&log, 3000..6000);
    place.back_up(&log);
    let sealed = std::fs::read(place.path("backup/events.seg")).unwrap();
    // The files are written in this order: the more of them are the old ones, the earlier it broke off.
    for first_old in (0..old.len()).rev() {
        for (path, bytes) in &old[first_old..] {
            std::fs::write(path, bytes).unwrap();
        }
        assert_eq!(place.restore(&format!("{first_old}.redb")).unwrap().size, 3001, "{first_old} files are new");
    }
    std::fs::write(place.path("backup/events.seg"), &sealed[..sealed.len() - 100]).unwrap();
    assert_eq!(place.restore("torn.redb").unwrap().size, 3001);
    place.back_up(&log);
    assert_eq!(std::fs::read(place.path("backup/events.seg")).unwrap(), sealed);
    assert_eq!(place.restore("whole.redb").unwrap().size, 6001);
}

/// A note over fewer events was enough, so that whoever could write to the backup could add some.
#[test]
fn what_no_note_is_over_is_not_restored() {
    let place = Place::new();
    let log = place.log();
    fill(&log, 0..100);
    let first = place.back_up(&log).summary;
    fill(&log, 100..103);
    let second = place.back_up(&log).summary;
    let forged = Summary { checkpoint: first.checkpoint, ..second.clone() };
    let write = |summary: &Summary| {
        std::fs::write(place.path("backup/backup.json"), serde_json::to_vec(summary).unwrap()).unwrap();
    };
    write(&forged);
    let refused = place.restore("forged.redb").unwrap_err().to_string();
    assert!(refused.contains("its checkpoint is not that of its events"), "{refused}");
    assert!(!place.path("forged.redb").exists());
    write(&second);
    assert_eq!(place.restore("restored.redb").unwrap().size, 104);
}

/// Each took the unfinished file of the other away, and neither made a log.
#[test]
fn of_two_restores_at_once_one_makes_the_log_and_the_other_says_that_it_is_there() {
    let place = Place::new();
    let log = place.log();
    fill(&log, 1..200);
    place.back_up(&log);
    drop(log);
    for round in 0..4 {
        let name = format!("restored{round}.redb");
        let restored = std::thread::scope(|scope| {
            let both = [0, 1].map(|_| scope.spawn(|| place.restore(&name)));
            both.map(|one| one.join().unwrap())
        });
        let made = restored.iter().filter(|restored| restored.is_ok()).count();
        let occupied = restored.iter().filter(|one| matches!(one, Err(BackupError::Occupied { .. }))).count();
        assert_eq!((made, occupied), (1, 1), "{restored:?}");
        open(&place.path(&name)).unwrap().reader().verify(|_, _| {}).unwrap();
        assert!(!restore::unfinished(&place.path(&name)).exists());
    }
}

/// A command that begins a log where there is none made an empty one, and the restore was then refused for it.
#[test]
fn where_a_restore_broke_off_no_other_log_begins() {
    let place = Place::new();
    let log = place.log();
    fill(&log, 1..200);
    place.back_up(&log);
    drop(log);
    let (path, unfinished) = (place.path("restored.redb"), restore::unfinished(&place.path("restored.redb")));
    std::fs::write(&unfinished, "half").unwrap();
    let refused = open(&path).map(|log| log.head());
    assert!(matches!(refused, Err(OpenError::Unrestored { .. })), "{refused:?}");
    assert!(!path.exists() && unfinished.exists());
    place.restore("restored.redb").unwrap();
    assert!(!unfinished.exists());
    // It broke off after the log got its name.
    std::fs::hard_link(&path, &unfinished).unwrap();
    open(&path).unwrap().reader().verify(|_, _| {}).unwrap();
    assert!(path.exists() && !unfinished.exists());
}

/// A copy of a home has the log's name, and wrote into the same files.
#[test]
fn two_copies_of_a_log_do_not_write_one_backup_at_once() {
    let place = Place::new();
    let log = place.log();
    fill(&log, 1..100);
    drop(log);
    std::fs::copy(place.path("events.redb"), place.path("copy.redb")).unwrap();
    let (one, other) = (place.log(), open(&place.path("copy.redb")).unwrap());
    fill(&one, 100..160);
    fill(&other, 200..220);
    for round in 0..4 {
        let backed_up = std::thread::scope(|scope| {
            let both = [&one, &other].map(|log| scope.spawn(|| log.backup(&place.path("backup"), |_, _| {})));
            both.map(|one| one.join().unwrap())
        });
        assert_eq!(backed_up.iter().filter(|done| done.is_ok()).count(), 1, "{backed_up:?}");
        assert!(backed_up.iter().any(|done| matches!(done, Err(BackupError::Ahead { .. }))), "{backed_up:?}");
        place.restore(&format!("restored{round}.redb")).unwrap();
    }
}

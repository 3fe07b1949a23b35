//! Power cuts while files take each other's places: erasing, archiving, backing up, restoring. Whatever of the unsynced bytes and
//! names is left, the log is the old or the new one, nothing acknowledged is lost, nothing erased comes back after its
//! acknowledgement, and the next run of the command finishes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::chance::Chance;
use super::cuts::keys;
use super::journal::Kept;
use crate::envelope::{Body, Draft, Recorded};
use crate::event::instance::{CredentialRemoved, EpochOpened, Erased};
use crate::id::EventId;
use crate::store::seal::in_small_segments;
use crate::store::{
    Append, BackupError, Before, Damage, Erasure, Expect, Head, Log, ReadError, restore, segments_file,
};

/// Events before a command.
const EVENTS: u8 = 60;
/// What is erased: one of the first segment, one of the last events.
const ERASED: [u64; 2] = [3, 58];
const NEEDLE: &str = "nobody may know this";
/// Places at which the power goes, but for the end.
const CUTS: usize = 120;
/// Cuts right behind the acknowledgement: what was not synced by then shows.
const CUTS_AT_END: usize = 40;

fn draft(number: u8, event: crate::Event) -> Draft {
    let (id, time) = (EventId([number; 16]), crate::id::Micros(i64::from(number)));
    let (stream, actor) = ("instance".to_owned(), "owner".to_owned());
    Draft { id, time, stream, actor, turn: None, cause: None, event, blobs: Vec::new() }
}

fn said(number: u8) -> Draft {
    let needle = if ERASED.contains(&(u64::from(number) + 1)) { NEEDLE } else { "" };
    let name = format!("{}{needle}", Chance::of(u64::from(number)).text(60));
    draft(number, CredentialRemoved { name }.into())
}

fn append(log: &Log, numbers: std::ops::Range<u8>) {
    log.append(Append { events: numbers.map(said).collect(), expect: Expect::Any }).unwrap();
}

fn erasure() -> Erasure {
    let seqs = ERASED.map(|seq| (seq, seq)).to_vec();
    let (selector, reason, by) = ("event".to_owned(), "asked for".to_owned(), "owner".to_owned());
    let record = Erased { selector, of: String::new(), seqs, blobs: Vec::new(), reason, by };
    Erasure { seqs: ERASED.into(), blobs: [].into(), record: draft(251, record.into()) }
}

fn epoch(end: &Head) -> Draft {
    let (reason, head_before) = ("restored".to_owned(), crate::hex(&end.head));
    let (again, lost, lost_blobs) = (None, Vec::new(), Vec::new());
    draft(252, EpochOpened { reason, size: end.size, head_before, lost, again, lost_blobs }.into())
}

fn open(folder: &Path) -> Log {
    in_small_segments(700, || Log::open(&folder.join("events.redb"), keys(), Duration::ZERO).unwrap())
}

fn events(log: &Log) -> Vec<Recorded> {
    let mut events = Vec::new();
    let read = log.reader().each(1, |event| {
        events.push(event);
        Ok::<bool, ReadError>(true)
    });
    read.unwrap();
    events
}

/// Whether what was erased stands in a file of segments.
fn holds(path: &Path) -> bool {
    let Some(mut file) = segments_file::open(path).unwrap() else { return false };
    let places = segments_file::places(&mut file).unwrap();
    places.iter().any(|place| {
        let value = segments_file::value(&mut file, place).unwrap();
        let frames = crate::segment::Segment::parse(&value).unwrap().frames().unwrap();
        frames.iter().any(|frame| frame.windows(NEEDLE.len()).any(|window| window == NEEDLE.as_bytes()))
    })
}

/// The events that both have are the same, but for payloads that are gone.
fn assert_same(found: &[Recorded], wanted: &[Recorded]) {
    for (found, wanted) in found.iter().zip(wanted) {
        let bare = |event: &Recorded| Recorded { body: Body::Erased, ..event.clone() };
        let is_erased = found.body == Body::Erased && ERASED.contains(&found.seq);
        assert!(found == wanted || is_erased && bare(found) == bare(wanted), "{found:?}");
    }
}

/// What a command is held to: the folder as a cut left it, and whether it was acknowledged before.
type Check<'c> = &'c dyn Fn(&Path, bool);

/// Makes a folder ready, carries a command out below a journal, and cuts it at many places.
fn cut(name: &str, ready: impl FnOnce(&Path), command: impl FnOnce(&Path), check: Check<'_>) {
    let place = tempfile::tempdir().unwrap();
    ready(place.path());
    let journal = Kept::below(place.path());
    command(place.path());
    let deeds = journal.deeds();
    let mut chance = Chance::of(deeds as u64);
    let amid = (0..CUTS).map(|_| chance.below(deeds)).collect::<Vec<_>>();
    for (number, after) in amid.into_iter().chain(std::iter::repeat_n(deeds, CUTS_AT_END)).enumerate() {
        let target = in_memory();
        journal.cut(after, target.path(), &mut Chance::of(number as u64));
        let told = Told(format!("{name}: cut {number}, after {after} of {deeds} deeds ({})", journal.said(after)));
        check(target.path(), after == deeds);
        drop(told);
    }
    eprintln!("{name}: {deeds} deeds, {} cuts", CUTS + CUTS_AT_END);
}

/// A folder that need not outlive this machine's power, where there is one: syncing it costs nothing.
fn in_memory() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { tempfile::tempdir_in(shared).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// Says which cut it was, should it fail.
struct Told(String);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

fn filled(folder: &Path) {
    let log = open(folder);
    for first in (0..EVENTS).step_by(6) {
        append(&log, first..first + 6);
    }
    assert!(log.reader().verify(|_, _| {}).unwrap().segments > 3);
}

fn archived(folder: &Path) {
    filled(folder);
    let archived = open(folder).archive(Before::Seq(20), |_, _| {}).unwrap();
    assert!(archived.segments > 0);
}

/// All events of a log that nothing happened to.
fn wanted() -> Vec<Recorded> {
    let place = tempfile::tempdir().unwrap();
    filled(place.path());
    events(&open(place.path()))
}

/// Salts are drawn anew for each log; what events say is not.
fn archive_file(folder: &Path) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(folder.join("archive")).ok()?.map(|entry| entry.unwrap().path());
    entries.find(|path| path.extension().is_some_and(|extension| extension == "seg"))
}

#[test]
fn an_erasure_is_cut() {
    let wanted = wanted();
    let command = |folder: &Path| {
        let log = open(folder);
        assert_eq!(log.erase(erasure()).unwrap().payloads, 2);
        std::mem::forget(log);
    };
    cut("erase", archived, command, &|folder, acknowledged| {
        let log = open(folder);
        let size = log.head().size;
        assert!(size == 60 || size == 61, "{size}");
        match log.reader().verify(|_, _| {}) {
            Ok(verified) => assert_eq!(verified.erased, if size == 61 { 2 } else { 0 }),
            // The archive file has not followed yet, and that is said.
            Err(damage) => assert!(matches!(damage, Damage::Unerased { seq: 3, table: "archive", .. }), "{damage}"),
        }
        if acknowledged {
            assert!(size == 61 && log.reader().verify(|_, _| {}).is_ok() && !holds(&archive_file(folder).unwrap()));
        }
        assert_same(&events(&log), &wanted);
        if size == 60 {
            log.erase(erasure()).unwrap();
        }
        log.erase_archived().unwrap();
        assert_eq!(log.reader().verify(|_, _| {}).unwrap().erased, 2);
        assert!(!holds(&archive_file(folder).unwrap()));
        append(&log, 60..62);
    });
}

#[test]
fn an_archiving_is_cut() {
    let wanted = wanted();
    let command = |folder: &Path| {
        let log = open(folder);
        assert!(log.archive(Before::Seq(45), |_, _| {}).unwrap().segments > 1);
        std::mem::forget(log);
    };
    for (name, ready) in [("archive", filled as fn(&Path)), ("archive more", archived)] {
        cut(name, ready, command, &|folder, acknowledged| {
            let log = open(folder);
            let verified = log.reader().verify(|_, _| {}).unwrap();
            assert_eq!(verified.head.size, 60);
            assert!(!acknowledged || verified.archived > 2, "{verified:?}");
            assert_same(&events(&log), &wanted);
            log.archive(Before::Seq(45), |_, _| {}).unwrap();
            assert!(log.reader().verify(|_, _| {}).unwrap().archived > 2);
            assert_same(&events(&log), &wanted);
        });
    }
}

/// What a backup that was cut is worth: it is the one before or the new one, and the next one is whole.
fn check_backup(folder: &Path, acknowledged: bool, sizes: [Option<u64>; 2]) {
    let backup = folder.join("backup");
    match restore(&backup, &folder.join("restored.redb"), keys(), epoch, |_, _| {}) {
        Ok(head) if acknowledged => assert_eq!(Some(head.size - 1), sizes[1]),
        Ok(head) => assert!(sizes.contains(&Some(head.size - 1)), "{}", head.size),
        Err(BackupError::NoBackup { .. }) => assert!(!acknowledged && sizes[0].is_none()),
        Err(error) => panic!("{error}"),
    }
    let log = open(folder);
    assert!(!acknowledged || Some(log.head().size) >= sizes[1]);
    log.backup(&backup, |_, _| {}).unwrap();
    let head = restore(&backup, &folder.join("again.redb"), keys(), epoch, |_, _| {}).unwrap();
    assert_eq!(head.size, log.head().size + 1);
}

#[test]
fn a_backup_is_cut() {
    let first = |folder: &Path| {
        let log = open(folder);
        log.backup(&folder.join("backup"), |_, _| {}).unwrap();
        std::mem::forget(log);
    };
    let next = |folder: &Path| {
        let log = open(folder);
        append(&log, 60..90);
        log.backup(&folder.join("backup"), |_, _| {}).unwrap();
        std::mem::forget(log);
    };
    let ready = |folder: &Path| {
        archived(folder);
        first(folder);
    };
    cut("first backup", filled, first, &|folder, acknowledged| check_backup(folder, acknowledged, [None, Some(60)]));
    cut("next backup", ready, next, &|folder, acknowledged| check_backup(folder, acknowledged, [Some(60), Some(90)]));
}

/// Segments were written anew since the last backup, without what was erased.
#[test]
fn a_backup_after_an_erasure_is_cut() {
    let ready = |folder: &Path| {
        archived(folder);
        let log = open(folder);
        log.backup(&folder.join("backup"), |_, _| {}).unwrap();
        log.erase(erasure()).unwrap();
    };
    let command = |folder: &Path| {
        let log = open(folder);
        log.backup(&folder.join("backup"), |_, _| {}).unwrap();
        std::mem::forget(log);
    };
    cut("backup after an erasure", ready, command, &|folder, acknowledged| {
        let sealed = folder.join("backup/events.seg");
        assert!(!acknowledged || !holds(&sealed));
        check_backup(folder, acknowledged, [Some(60), Some(61)]);
        assert!(!holds(&sealed) && !holds(&folder.join("backup/tail.seg")));
    });
}

#[test]
fn a_restore_is_cut() {
    let ready = |folder: &Path| {
        archived(folder);
        open(folder).backup(&folder.join("backup"), |_, _| {}).unwrap();
    };
    let command = |folder: &Path| {
        restore(&folder.join("backup"), &folder.join("new.redb"), keys(), epoch, |_, _| {}).unwrap();
    };
    let wanted = wanted();
    cut("restore", ready, command, &|folder, acknowledged| {
        let path = folder.join("new.redb");
        assert!(path.exists() || !acknowledged);
        if !path.exists() {
            restore(&folder.join("backup"), &path, keys(), epoch, |_, _| {}).unwrap();
        }
        let log = Log::open(&path, keys(), Duration::ZERO).unwrap();
        assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, 61);
        assert_same(&events(&log), &wanted);
    });
}

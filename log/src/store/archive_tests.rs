//! Archived history is read like any other, is erased like any other, and a command that stops between two steps loses nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::tests::{draft, events, keys, open};
use super::*;
use crate::envelope::Body;
use crate::event::instance::{EpochOpened, Erased};
use crate::event::turn::TurnClosed;
use crate::id::{EventId, Micros};
use crate::kept::Kept;

const EVENTS: u32 = 6000;
const NEEDLE: &str = "the combination is 4711";

fn said(number: u32) -> Draft {
    let mut id = [1; 16];
    id[..4].copy_from_slice(&number.to_be_bytes());
    let text = format!("{} bread and milk {number}", u64::from(number) * 0x9e37_79b9).repeat(3);
    let message = Kept::text(if number == 700 { format!("{text} {NEEDLE}") } else { text });
    let counts = std::collections::BTreeMap::new();
    let event = TurnClosed { final_kind: "answer".to_owned(), class: None, message, counts }.into();
    let time = Micros(i64::from(number) * 1000);
    Draft { id: EventId(id), event, time, ..draft(1, &format!("s/{}", number % 50)) }
}

fn filled(folder: &Path) -> Log {
    let log = open(&folder.join("events.redb")).unwrap();
    for first in (0..EVENTS).step_by(500) {
        let events = (first..first + 500).map(said).collect();
        log.append(Append { events, expect: Expect::Any }).unwrap();
    }
    log
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder.join("archive")) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Whether the text lies in the files of segments, unpacked.
fn holds(folder: &Path) -> bool {
    let holds = |bytes: &[u8]| bytes.windows(NEEDLE.len()).any(|window| window == NEEDLE.as_bytes());
    files(folder).iter().any(|path| {
        let mut file = std::fs::File::open(path).unwrap();
        let places = segments_file::places(&mut file).unwrap();
        places.iter().any(|place| {
            let value = segments_file::value(&mut file, place).unwrap();
            crate::segment::Segment::parse(&value).unwrap().frames().unwrap().iter().any(holds)
        })
    })
}

fn erasure() -> Erasure {
    let record = Erased {
        selector: "event".to_owned(),
        of: "701".to_owned(),
        seqs: vec![(701, 701)],
        blobs: Vec::new(),
        reason: "asked for".to_owned(),
        by: "owner".to_owned(),
    };
    let record = Draft { event: record.into(), ..draft(251, "instance") };
    Erasure { seqs: BTreeSet::from([701]), blobs: BTreeSet::new(), record }
}

#[test]
fn archived_events_are_read_like_any_other() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path());
    let (before, verified) = (events(&log), log.reader().verify(|_, _| {}).unwrap());
    let planned = log.archivable(Before::Seq(3000)).unwrap();
    let archived = log.archive(Before::Seq(3000), |_, _| {}).unwrap();
    assert_eq!((planned.events, planned.segments), (archived.events, archived.segments));
    assert!(archived.events.0 == 1 && archived.events.1 < 3000 && archived.segments > 1, "{archived:?}");
    assert_eq!(files(place.path()), archived.files);
    // More behind it, by time; the newest segment stays, however late the moment.
    let more = log.archive(Before::Time(4_500_000), |_, _| {}).unwrap();
    assert!(more.events.0 == archived.events.1 + 1 && more.events.1 <= 4500, "{more:?}");
    let all = log.archive(Before::Seq(u64::MAX), |_, _| {}).unwrap();
    assert_eq!(log.archive(Before::Seq(u64::MAX), |_, _| {}).unwrap(), Archived::default());
    let moved = archived.segments + more.segments + all.segments;

    let reader = log.reader();
    let after = reader.verify(|_, _| {}).unwrap();
    assert_eq!((after.archived, after.segments - after.archived), (moved, 1));
    assert_eq!(Verified { archived: 0, checkpoints: 0, ..after }, Verified { checkpoints: 0, ..verified });
    assert_eq!(events(&log), before);
    for seq in [1, 2, archived.events.1, archived.events.1 + 1, 5000, 6000] {
        assert_eq!(reader.event(seq).unwrap().unwrap(), before[usize::try_from(seq).unwrap() - 1]);
        assert_eq!(reader.raw().frame(seq).unwrap().seq, seq);
    }
    assert_eq!(reader.stream("s/7").unwrap().len(), 120);
    let mut head = crate::chain::GENESIS;
    let leaves = reader.each_leaf(1, 3000, |seq, leaf| {
        head = crate::chain::advance(&head, &leaf);
        if seq % 500 == 0 {
            assert_eq!(reader.head_at(seq).unwrap(), head, "{seq}");
        }
        Ok::<(), ReadError>(())
    });
    leaves.unwrap();
    // What was said once is known, wherever it lies.
    let again = |draft| log.append(Append { events: vec![draft], expect: Expect::Any });
    assert_eq!(again(said(3)), Ok(Appended::AlreadyThere(4)));
    assert!(matches!(again(Draft { actor: "guest".to_owned(), ..said(3) }), Err(AppendError::IdTaken { seq: 4, .. })));

    log.compact().unwrap();
    drop((reader, log));
    let log = open(&place.path().join("events.redb")).unwrap();
    assert_eq!(events(&log), before);
    log.append(Append { events: vec![said(9000)], expect: Expect::Any }).unwrap();
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, 6001);
}

#[test]
fn a_backup_holds_archived_history_and_is_restored_as_one_log() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path());
    let backup = place.path().join("backup");
    log.backup(&backup, |_, _| {}).unwrap();
    let before = events(&log);
    log.archive(Before::Seq(4000), |_, _| {}).unwrap();
    let again = log.backup(&backup, |_, _| {}).unwrap();
    assert!(again.bytes_written < 100_000, "{} bytes for nothing new", again.bytes_written);
    let epoch = |end: &Head| {
        let (reason, head_before) = ("restored".to_owned(), crate::hex(&end.head));
        let (again, lost_blobs) = (None, Vec::new());
        let opened = EpochOpened { reason, size: end.size, head_before, lost: Vec::new(), again, lost_blobs };
        Draft { id: EventId([255; 16]), event: opened.into(), ..draft(1, "instance") }
    };
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("events.redb");
    restore(&backup, &path, keys(), epoch, |_, _| {}).unwrap();
    let restored = open(&path).unwrap();
    assert_eq!(restored.reader().verify(|_, _| {}).unwrap().archived, 0);
    assert_eq!(events(&restored)[..6000], before);
}

#[test]
fn a_missing_cut_or_changed_file_is_named() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path());
    let archived = log.archive(Before::Seq(3000), |_, _| {}).unwrap();
    drop(log);
    let path = &archived.files[0];
    let bytes = std::fs::read(path).unwrap();
    let said_of = |laid: Option<&[u8]>| {
        std::fs::remove_file(path).unwrap();
        if let Some(laid) = laid {
            std::fs::write(path, laid).unwrap();
        }
        let log = open(&place.path().join("events.redb")).unwrap();
        let damage = log.reader().verify(|_, _| {}).unwrap_err();
        assert!(damage.to_string().contains(path.to_str().unwrap()), "{damage}");
        // Who does not need it does not miss it.
        assert!(log.reader().event(5999).unwrap().is_some());
        log.append(Append { events: vec![said(8000)], expect: Expect::Any }).unwrap();
        let unread = log.reader().event(5).map(|event| event.map(|event| event.seq));
        std::fs::write(path, &bytes[..bytes.len() / 3]).unwrap();
        (damage, unread, log.append(Append { events: vec![said(3)], expect: Expect::Any }))
    };
    let (damage, unread, again) = said_of(None);
    assert!(matches!(&damage, Damage::Archive { first: 1, what, .. } if what.contains("missing")), "{damage}");
    assert!(matches!(unread, Err(ReadError::Archive { source: ArchiveFault::Missing, .. })));
    assert!(matches!(again, Err(AppendError::Away { seq: 1, .. })), "{again:?}");
    let (damage, ..) = said_of(Some(&bytes[..bytes.len() - 1]));
    assert!(damage.to_string().contains("cut short"), "{damage}");
    for at in (0..bytes.len()).step_by(bytes.len() / 60 + 1) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        drop(said_of(Some(&flipped)));
    }
    std::fs::write(path, &bytes).unwrap();
    let log = open(&place.path().join("events.redb")).unwrap();
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, 6001);
}

#[test]
fn an_erased_payload_goes_from_archive_files_too() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path());
    let before = log.reader().verify(|_, _| {}).unwrap();
    log.archive(Before::Seq(3000), |_, _| {}).unwrap();
    assert!(holds(place.path()), "the search finds it while it is there");
    let away = place.path().join("away.seg");
    let path = &files(place.path())[0];
    std::fs::rename(path, &away).unwrap();
    let refused = log.erase(erasure()).unwrap_err();
    assert!(matches!(refused, RewriteError::Archive { .. }), "{refused}");
    assert_eq!(log.head().size, before.head.size, "nothing was begun");
    std::fs::rename(&away, path).unwrap();
    let old = std::fs::read(path).unwrap();
    assert_eq!(log.erase(erasure()).unwrap().payloads, 1);
    assert!(!holds(place.path()));
    let after = log.reader().verify(|_, _| {}).unwrap();
    assert_eq!((after.erased, log.reader().head_at(6000).unwrap()), (1, before.head.head));
    assert_eq!(log.reader().event(701).unwrap().unwrap().body, Body::Erased);

    // As if it had been killed before it came to the file: the log says what is left to be done.
    drop(log);
    std::fs::write(path, old).unwrap();
    let log = open(&place.path().join("events.redb")).unwrap();
    let damage = log.reader().verify(|_, _| {}).unwrap_err();
    assert!(matches!(damage, Damage::Unerased { seq: 701, table: "archive", by: 6001 }), "{damage}");
    // Where the file cannot be written anew, that is what is said: the log itself is as it is to be.
    let fresh = path.with_extension("seg.new");
    std::fs::create_dir(&fresh).unwrap();
    let refused = log.erase_archived().unwrap_err();
    let RewriteError::Behind(cause) = &refused else { panic!("{refused:?}") };
    assert!(matches!(&**cause, RewriteError::Io { path, .. } if *path == fresh), "{cause:?}");
    std::fs::remove_dir(&fresh).unwrap();
    assert_eq!((log.erase_archived().unwrap(), log.erase_archived().unwrap()), (1, 0));
    assert!(!holds(place.path()));
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().erased, 1);
}

/// A command that stopped before the rows left the log leaves files that nobody reads; the next one takes them away, and what
/// is erased meanwhile is in none of them.
#[test]
fn what_a_stopped_command_left_goes() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path());
    drop(log);
    let file = place.path().join("events.redb");
    let rows = std::fs::read(&file).unwrap();
    let log = open(&file).unwrap();
    let wrote = log.archive(Before::Seq(3000), |_, _| {}).unwrap();
    drop(log);
    // The rows as they were, and the files beside them.
    std::fs::write(&file, rows).unwrap();
    std::fs::write(wrote.files[0].with_extension("seg.new"), "half").unwrap();
    let log = open(&file).unwrap();
    assert_eq!(files(place.path()), wrote.files, "what was never named is gone at once");
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().archived, 0);
    log.erase(erasure()).unwrap();
    assert_eq!(files(place.path()), Vec::<PathBuf>::new());
    let moved = log.archive(Before::Seq(2000), |_, _| {}).unwrap();
    assert_eq!(files(place.path()), moved.files);
    assert!(!holds(place.path()));
    log.reader().verify(|_, _| {}).unwrap();
    // A file that someone laid there is theirs.
    let foreign = place.path().join("archive/000000000001-000000000009.seg");
    std::fs::write(&foreign, "mine").unwrap();
    log.archive(Before::Seq(4000), |_, _| {}).unwrap();
    assert_eq!(std::fs::read(&foreign).unwrap(), b"mine");
}

/// It was renamed over, and the events of the other log were gone.
#[test]
fn the_archive_of_another_log_is_not_replaced() {
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = filled(place.path());
    let others = filled(other.path()).archive(Before::Seq(3000), |_, _| {}).unwrap();
    let name = place.path().join("archive").join(others.files[0].file_name().unwrap());
    std::fs::create_dir(place.path().join("archive")).unwrap();
    let foreign = b"what somebody else put here".to_vec();
    std::fs::write(&name, &foreign).unwrap();
    let refused = log.archive(Before::Seq(3000), |_, _| {}).unwrap_err();
    assert!(matches!(&refused, ArchiveError::Occupied { path } if *path == name), "{refused:?}");
    assert_eq!((std::fs::read(&name).unwrap(), files(place.path())), (foreign, vec![name.clone()]));
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().archived, 0);
    std::fs::rename(&name, place.path().join("aside")).unwrap();
    log.archive(Before::Seq(3000), |_, _| {}).unwrap();
    assert!(log.reader().verify(|_, _| {}).unwrap().archived > 0);
}

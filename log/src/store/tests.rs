//! The store as its users see it: what is acknowledged is there, what is refused left no trace, what is damaged is named.

use std::path::Path;
use std::time::Duration;

use ed25519_dalek::SigningKey;
use redb::{Database, ReadableDatabase, ReadableTable};

use super::open::END;
use super::tables::{CHECKPOINTS, META, META_CHECKPOINTS, META_FORMAT, META_HEAD, META_RANGE, NEWEST, TAIL};
use super::*;
use crate::envelope::{Draft, Recorded};
use crate::event::instance::CredentialRemoved;
use crate::event::turn::TurnClosed;
use crate::id::{EventId, Micros};
use crate::kept::Kept;

pub(super) fn keys() -> LogKeys {
    let redactor = Redactor::new([2; 32], Vec::new());
    LogKeys { blob_key: [3; 32], redactor, fresh_id: [4; 16], signing: SigningKey::from_bytes(&[5; 32]) }
}

pub(super) fn open(path: &Path) -> Result<Log, OpenError> {
    Log::open(path, keys(), Duration::from_millis(50))
}

/// A log that lies nowhere.
pub(super) fn memory() -> Log {
    Log::open_on(redb::backends::InMemoryBackend::new(), keys()).unwrap()
}

/// Every event of a log.
pub(super) fn events(log: &Log) -> Vec<Recorded> {
    let mut events = Vec::new();
    let each = log.reader().each(1, |recorded| {
        events.push(recorded);
        Ok::<bool, ReadError>(true)
    });
    each.unwrap();
    events
}

/// How many events are not sealed.
pub(super) fn in_tail(log: &Log) -> u64 {
    unsealed::Tables::read(&log.database().begin_read().unwrap()).unwrap().count().unwrap()
}

pub(super) fn draft(number: u8, stream: &str) -> Draft {
    Draft {
        id: EventId([number; 16]),
        time: Micros(i64::from(number)),
        stream: stream.to_owned(),
        actor: "owner".to_owned(),
        turn: None,
        cause: None,
        event: CredentialRemoved { name: format!("name {number}") }.into(),
        blobs: Vec::new(),
    }
}

pub(super) fn one(draft: Draft, expect: Expect) -> Append {
    Append { events: vec![draft], expect }
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> std::path::PathBuf {
        self.0.path().join("events.redb")
    }

    fn log(&self) -> Log {
        open(&self.file()).unwrap()
    }
}

/// What was acknowledged went into a file without a name, and was gone with the process.
#[test]
fn a_log_whose_file_was_taken_away_takes_nothing_more() {
    for put_another in [false, true] {
        let home = Home::new();
        let log = home.log();
        log.append(one(draft(1, "a"), Expect::Any)).unwrap();
        log.compact().unwrap();
        log.append(one(draft(2, "a"), Expect::Any)).unwrap();
        std::fs::rename(home.file(), home.0.path().join("away.redb")).unwrap();
        if put_another {
            std::fs::copy(home.0.path().join("away.redb"), home.file()).unwrap();
        }
        let refused = log.append(one(draft(3, "a"), Expect::Any)).unwrap_err().to_string();
        assert!(refused.contains("was replaced or taken away"), "{refused}");
        drop(log);
        std::fs::rename(home.0.path().join("away.redb"), home.file()).unwrap();
        let log = home.log();
        assert_eq!((log.head().size, log.reader().verify(|_, _| {}).unwrap().head), (2, log.head()));
    }
}

/// Closing a log under the wrong key signed its end by it, and from then on the log did not verify.
#[test]
fn a_log_that_is_not_ones_own_is_neither_signed_nor_written_to() {
    let home = Home::new();
    let log = home.log();
    log.append(one(draft(1, "a"), Expect::Any)).unwrap();
    let killed = std::fs::read(home.file()).unwrap();
    drop(log);
    std::fs::write(home.file(), &killed).unwrap();
    let other = LogKeys { signing: SigningKey::from_bytes(&[6; 32]), ..keys() };
    let refused = |reader: &Reader| {
        assert_eq!(reader.event(1).unwrap().unwrap().seq, 1);
        Err(OpenError::Busy { path: home.file() })
    };
    let opened = Log::open_own(&home.file(), other, Duration::from_millis(50), refused);
    assert!(matches!(opened, Err(OpenError::Busy { .. })));
    assert!(std::fs::read(home.file()).unwrap() == killed, "it was written to");
    let verified = home.log().reader().verify(|_, _| {}).unwrap();
    assert_eq!((verified.head.size, verified.signed, verified.checkpoints), (1, 0, 0));
}

#[test]
fn what_was_acknowledged_is_there_after_reopening() {
    let home = Home::new();
    let log = home.log();
    for number in 1..=3 {
        let appended = log.append(one(draft(number, "instance"), Expect::Any)).unwrap();
        assert_eq!(appended, Appended::At { first: u64::from(number), last: u64::from(number) });
    }
    let head = log.head();
    drop(log);
    let log = home.log();
    assert_eq!(log.head(), head);
    assert_eq!(log.id(), "04".repeat(16));
    let events = log.reader().stream("instance").unwrap();
    assert_eq!(events.iter().map(|event| (event.seq, event.version)).collect::<Vec<_>>(), [(1, 1), (2, 2), (3, 3)]);
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head, head);
}

#[test]
fn an_id_is_appended_once() {
    let home = Home::new();
    let log = home.log();
    log.append(one(draft(1, "instance"), Expect::Any)).unwrap();
    assert_eq!(log.append(one(draft(1, "instance"), Expect::Any)), Ok(Appended::AlreadyThere(1)));
    let mut other = draft(1, "instance");
    other.event = CredentialRemoved { name: "another".to_owned() }.into();
    assert_eq!(log.append(one(other, Expect::Any)), Err(AppendError::IdTaken { id: EventId([1; 16]), seq: 1 }));
    let both = Append { events: vec![draft(1, "instance"), draft(2, "instance")], expect: Expect::Any };
    assert_eq!(log.append(both), Err(AppendError::PartlyThere { id: EventId([1; 16]) }));
    assert_eq!(log.head().size, 1);
}

#[test]
fn a_stream_that_moved_on_refuses_and_keeps_no_trace() {
    let home = Home::new();
    let log = home.log();
    log.append(one(draft(1, "a"), Expect::NoStream)).unwrap();
    log.append(one(draft(2, "a"), Expect::Exact(1))).unwrap();
    let stale = log.append(one(draft(3, "a"), Expect::Exact(1)));
    assert_eq!(stale, Err(AppendError::Conflict { stream: "a".to_owned(), found: 2, expected: 1 }));
    assert_eq!(
        log.append(one(draft(3, "a"), Expect::NoStream)).unwrap_err(),
        AppendError::Conflict { stream: "a".to_owned(), found: 2, expected: 0 }
    );
    log.append(one(draft(3, "b"), Expect::NoStream)).unwrap();
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, 3);
}

#[test]
fn many_producers_share_commits_and_lose_nothing() {
    let home = Home::new();
    let log = home.log();
    let pending: Vec<Pending> =
        (1..=200).map(|number| log.submit(one(draft(number, &format!("s/{}", number % 7)), Expect::Any))).collect();
    for pending in pending {
        assert!(matches!(pending.wait(), Ok(Appended::At { .. })));
    }
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, 200);
}

#[test]
fn a_long_text_becomes_a_blob_and_comes_back() {
    let home = Home::new();
    let log = home.log();
    let text = "line\n".repeat(10_000);
    let closed = TurnClosed {
        final_kind: "answer".to_owned(),
        class: None,
        message: Kept::text(text.clone()),
        counts: std::collections::BTreeMap::new(),
    };
    let closing = Draft { event: closed.into(), ..draft(1, "turn/x") };
    log.append(one(closing, Expect::NoStream)).unwrap();
    let stored = log.reader().event(1).unwrap().unwrap();
    let Some(crate::Event::TurnClosed(closed)) = stored.event() else { panic!("another kind") };
    assert!(closed.message.get().is_none() && closed.message.blob().is_some());
    let full = log.reader().rehydrated(stored).unwrap();
    let Some(crate::Event::TurnClosed(closed)) = full.event() else { panic!("another kind") };
    assert_eq!(closed.message.get(), Some(text.as_str()));
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().blobs, 1);
}

/// Whoever comes first makes it, the others wait and find it.
#[test]
fn many_who_create_it_at_once_make_one_log() {
    for _ in 0..8 {
        let home = Home::new();
        let first_come = |number: u8| {
            let keys = LogKeys { fresh_id: [number; 16], ..keys() };
            let log = Log::open(&home.file(), keys, Duration::from_mins(1)).unwrap();
            log.append(one(draft(number, "instance"), Expect::Any)).unwrap();
        };
        std::thread::scope(|scope| (1..=6).for_each(|number| drop(scope.spawn(move || first_come(number)))));
        assert_eq!(home.log().reader().verify(|_, _| {}).unwrap().head.size, 6);
        let entries = std::fs::read_dir(home.0.path()).unwrap().map(|entry| entry.unwrap().path());
        let beside = entries.filter(|path| *path != home.file() && *path != seen::beside(&home.file()));
        assert_eq!(beside.count(), 0, "something was left beside it");
    }
}

#[test]
fn a_log_in_use_says_so() {
    let home = Home::new();
    let _log = home.log();
    assert!(matches!(open(&home.file()), Err(OpenError::Busy { .. })));
}

#[test]
fn a_newer_log_is_refused_and_left_alone() {
    let home = Home::new();
    drop(home.log());
    {
        let database = Database::create(home.file()).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(META).unwrap().insert(META_FORMAT, 9_u64.to_le_bytes().as_slice()).unwrap();
        transaction.commit().unwrap();
    }
    assert!(matches!(open(&home.file()), Err(OpenError::Newer { found: 9, .. })));
}

/// Makes a log of format 7 of it, or of format 4, or of format 2, whose events are few enough that none is in an index.
fn made_older(transaction: &redb::WriteTransaction, format: u64) {
    let mut frames = Vec::new();
    let chain = {
        let tables = unsealed::Tables::write(transaction).unwrap();
        let each = |seq, frame: &[u8]| -> Result<(), redb::StorageError> {
            frames.push((seq, frame.to_vec()));
            Ok(())
        };
        tables.each(0, each).unwrap();
        tables.end().unwrap().unwrap()
    };
    transaction.delete_table(NEWEST).unwrap();
    let mut tail = transaction.open_table(TAIL).unwrap();
    let mut meta = transaction.open_table(META).unwrap();
    meta.insert(META_FORMAT, format.to_le_bytes().as_slice()).unwrap();
    if format == 7 {
        for (seq, frame) in frames {
            let frames = crate::segment::Frames::of(&[frame]);
            tail.insert(seq, frames.plain(0..1)).unwrap();
        }
        tail.insert(END, [&chain.head[..], &chain.range.to_bytes()].concat().as_slice()).unwrap();
        return;
    }
    for (seq, frame) in frames {
        tail.insert(seq, frame.as_slice()).unwrap();
    }
    meta.insert(META_HEAD, chain.head.as_slice()).unwrap();
    meta.insert(META_RANGE, chain.range.to_bytes().as_slice()).unwrap();
    if format == 2 {
        meta.remove(META_CHECKPOINTS).unwrap();
    }
}

/// A log of format 2 does not say which checkpoints it has: that is looked up once. One that says that it is older than it is
/// is none.
#[test]
fn an_older_log_is_brought_up_and_one_that_only_says_so_is_refused() {
    let home = Home::new();
    let change = |change: &dyn Fn(&redb::WriteTransaction)| {
        let database = Database::create(home.file()).unwrap();
        let transaction = database.begin_write().unwrap();
        change(&transaction);
        transaction.commit().unwrap();
    };
    let log = home.log();
    log.append(Append { events: vec![draft(1, "instance"), draft(2, "instance")], expect: Expect::Any }).unwrap();
    log.checkpoint().unwrap();
    log.append(one(draft(3, "instance"), Expect::Any)).unwrap();
    drop(log);
    for (format, events) in [(2, 3), (4, 4), (7, 5)] {
        change(&|transaction| made_older(transaction, format));
        let log = home.log();
        let verified = log.reader().verify(|_, _| {}).unwrap();
        assert_eq!((verified.head.size, in_tail(&log)), (events, events));
        let number = u8::try_from(events).unwrap() + 1;
        log.append(one(draft(number, "instance"), Expect::Any)).unwrap();
        log.checkpoint().unwrap();
        drop(log);
        let verified = home.log().reader().verify(|_, _| {}).unwrap();
        assert_eq!((verified.head.size, verified.checkpoints), (events + 1, events));
    }
    let log = home.log();
    let transaction = log.database().begin_write().unwrap();
    transaction.open_table(CHECKPOINTS).unwrap().remove(2).unwrap();
    transaction.commit().unwrap();
    let damage = log.reader().verify(|_, _| {}).unwrap_err();
    assert!(matches!(damage, Damage::Checkpoints { found: 4, noted: 5 }), "{damage}");
    drop(log);
    let refused = |what: &str| {
        let before = std::fs::read(home.file()).unwrap();
        let Err(refused) = open(&home.file()) else { panic!("{what}") };
        assert!(matches!(refused, OpenError::Damaged { .. }), "{refused}");
        assert!(std::fs::read(home.file()).unwrap() == before, "what is refused was written to");
        refused.to_string()
    };
    let said = |format: u64| {
        change(&|transaction| {
            let mut meta = transaction.open_table(META).unwrap();
            meta.insert(META_FORMAT, format.to_le_bytes().as_slice()).unwrap();
        });
        refused(&format!("it is taken for a log of format {format}"));
    };
    (1..8).for_each(said);
    // Nor is one that says where it ends in half.
    let before = std::fs::read(home.file()).unwrap();
    change(&|transaction| {
        made_older(transaction, 4);
        transaction.open_table(META).unwrap().remove(META_RANGE).unwrap();
    });
    let why = refused("where it ends is made up");
    assert!(why.contains("range"), "{why}");
    std::fs::write(home.file(), before).unwrap();
    change(&|transaction| {
        made_older(transaction, 7);
        transaction.open_table(TAIL).unwrap().remove(END).unwrap();
    });
    let why = refused("where it ends is said nowhere");
    assert!(why.contains("where it ends"), "{why}");
}

#[test]
fn a_file_that_is_no_log_is_refused() {
    let home = Home::new();
    std::fs::write(home.file(), b"not a database at all, but long enough to be looked at".repeat(100)).unwrap();
    let said = || open(&home.file()).map(|_| ()).unwrap_err().to_string();
    assert!(said().ends_with("is damaged or no log: it does not begin as a log does"), "{}", said());
    std::fs::remove_file(home.file()).unwrap();
    home.log().append(one(draft(1, "instance"), Expect::Any)).unwrap();
    let sound = std::fs::read(home.file()).unwrap();
    for length in [sound.len() / 2, 20_000, 4096, 320, 100, 9] {
        std::fs::write(home.file(), &sound[..length]).unwrap();
        assert!(
            said().ends_with("is damaged or no log: it is shorter than it must be: its end is gone"),
            "{length}: {}",
            said()
        );
    }
}

/// Every byte of every stored event, flipped one at a time: each is reported with its number.
#[test]
fn a_flipped_byte_of_an_event_is_found_with_its_seq() {
    let home = Home::new();
    let log = home.log();
    for number in 1..=3 {
        log.append(one(draft(number, "instance"), Expect::Any)).unwrap();
    }
    drop(log);
    let mut frames: Vec<(u64, Vec<u8>)> = Vec::new();
    {
        let database = Database::create(home.file()).unwrap();
        let tables = unsealed::Tables::read(&database.begin_read().unwrap()).unwrap();
        let each = |seq, frame: &[u8]| -> Result<(), redb::StorageError> {
            frames.push((seq, frame.to_vec()));
            Ok(())
        };
        tables.each(0, each).unwrap();
    }
    assert_eq!(frames.len(), 3);
    for (seq, bytes) in frames {
        for index in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[index] ^= 0x10;
            put(&home.file(), seq, Some(&flipped));
            let found = home.log().reader().verify(|_, _| {});
            assert!(
                matches!(found, Err(Damage::Event { seq: at, .. }) if at == seq),
                "byte {index} of {seq}: {found:?}"
            );
        }
        put(&home.file(), seq, Some(&bytes));
    }
    assert!(home.log().reader().verify(|_, _| {}).is_ok());
}

/// Where the log ends and which events come last is one value: each of its bits, flipped, is told when the log is opened or
/// verified.
#[test]
fn a_flipped_bit_of_the_newest_is_told() {
    let home = Home::new();
    home.log().append(one(draft(1, "instance"), Expect::Any)).unwrap();
    let (number, sound) = {
        let database = Database::create(home.file()).unwrap();
        let newest = database.begin_read().unwrap().open_table(NEWEST).unwrap();
        let row = newest.first().unwrap().unwrap();
        (row.0.value(), row.1.value().to_vec())
    };
    let stored = |at: u64, value: &[u8]| {
        let database = Database::create(home.file()).unwrap();
        let transaction = database.begin_write().unwrap();
        {
            let mut newest = transaction.open_table(NEWEST).unwrap();
            newest.retain(|_, _| false).unwrap();
            newest.insert(at, value).unwrap();
        }
        transaction.commit().unwrap();
    };
    let told = || open(&home.file()).map_or(true, |log| log.reader().verify(|_, _| {}).is_err());
    for bit in 0..sound.len() * 8 {
        let mut flipped = sound.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        stored(number, &flipped);
        assert!(told(), "bit {bit}");
    }
    for bit in 0..64 {
        stored(number ^ 1 << bit, &sound);
        assert!(told(), "bit {bit} of its number");
    }
    stored(number, &sound);
    assert!(!told());
}

fn put(file: &Path, seq: u64, by: Option<&[u8]>) {
    let database = Database::create(file).unwrap();
    let transaction = database.begin_write().unwrap();
    unsealed::replace(&transaction, seq, by);
    transaction.commit().unwrap();
}

#[test]
fn a_missing_event_is_found() {
    let home = Home::new();
    let log = home.log();
    for number in 1..=3 {
        log.append(one(draft(number, "instance"), Expect::Any)).unwrap();
    }
    drop(log);
    put(&home.file(), 2, None);
    assert!(matches!(home.log().reader().verify(|_, _| {}), Err(Damage::Event { seq: 2, .. })));
}

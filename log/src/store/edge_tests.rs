//! What lies at the edges: requests that are repeated, clocks that differ, readers beside a writer that seals, rows that say a
//! wrong end.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata};

use super::backup_tests::epoch;
use super::batch::UNPACKED;
use super::tables::{BY_ID, ID_RUNS, SEGMENTS};
use super::tests::{draft, events, in_tail, keys, memory, open};
use super::*;
use crate::chain;
use crate::event::instance::CredentialRemoved;
use crate::id::{EventId, Micros};

/// Text that hardly shrinks.
fn noise(number: u64, bytes: usize) -> String {
    let mut text = vec![0; bytes];
    blake3::Hasher::new().update(&number.to_le_bytes()).finalize_xof().fill(&mut text);
    for byte in &mut text {
        *byte = b' ' + *byte % 64;
    }
    String::from_utf8(text).unwrap()
}

/// An event whose id is of a millisecond.
fn said(number: u64, millis: i64, text: String) -> Draft {
    let mut random = [0; 10];
    random[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    let id = EventId::new(Micros(millis * 1000), random);
    Draft { id, event: CredentialRemoved { name: text }.into(), ..draft(1, &format!("s/{}", number % 7)) }
}

fn append(log: &Log, events: &[Draft]) -> Result<Appended, AppendError> {
    log.append(Append { events: events.to_vec(), expect: Expect::Any })
}

/// More than other tests look into.
const FEW: u64 = 500;

/// How many segments are looked into for ids meanwhile; other tests look into a few.
fn looked_into(work: impl FnOnce()) -> u64 {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = UNPACKED.load(Ordering::Relaxed);
    work();
    UNPACKED.load(Ordering::Relaxed) - before
}

/// A request whose acknowledgement was lost comes again whole. To look each of its ids up among all of its events would take
/// minutes for one that took moments.
#[test]
fn a_long_request_that_comes_again_is_not_looked_up_event_by_event() {
    for falls in [false, true] {
        let log = memory();
        let millis = |number: i64| if falls { 10_000 - number } else { number };
        let drafts: Vec<Draft> =
            (0..8000_u32).map(|number| said(number.into(), millis(number.into()), noise(number.into(), 90))).collect();
        assert_eq!(append(&log, &drafts).unwrap(), Appended::At { first: 1, last: 8000 });
        // All of it is sealed, and lies behind a newer id.
        append(&log, &[said(9000, 20_000, String::new())]).unwrap();
        let again = || assert_eq!(append(&log, &drafts).unwrap(), Appended::AlreadyThere(1));
        let segments = log.database().begin_read().unwrap().open_table(SEGMENTS).unwrap().len().unwrap();
        let looked_into = looked_into(again);
        assert!(looked_into <= 4 * segments + FEW, "{looked_into} of {segments}");
        // What is wrong with it is said of the right event.
        let mut other = drafts.clone();
        other[6000].event = CredentialRemoved { name: "other".to_owned() }.into();
        assert_eq!(append(&log, &other), Err(AppendError::IdTaken { id: other[6000].id, seq: 6001 }));
        let more = [drafts[5000].clone(), said(9001, 30_000, String::new())];
        assert_eq!(append(&log, &more), Err(AppendError::PartlyThere { id: drafts[5000].id }));
        let mixed: Vec<Draft> = [7000, 10, 4000].map(|at: usize| drafts[at].clone()).to_vec();
        assert_eq!(append(&log, &mixed).unwrap(), Appended::AlreadyThere(7001));
        assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, 8001);
        for at in [0, 1, 4444, 7999] {
            assert_eq!(log.reader().seq_of(drafts[at].id).unwrap(), Some(at as u64 + 1));
        }
    }
}

/// Whoever looks for an id unpacks what its run speaks of: where ids rise with their events, that is one segment, however many a
/// commit fills.
#[test]
fn a_run_of_rising_ids_is_of_one_segment() {
    let log = memory();
    let drafts: Vec<Draft> = (0..4000_u32).map(|number| said(0, number.into(), noise(number.into(), 300))).collect();
    append(&log, &drafts).unwrap();
    let transaction = log.database().begin_read().unwrap();
    let segments = transaction.open_table(SEGMENTS).unwrap();
    let firsts: Vec<u64> = segments.iter().unwrap().map(|row| row.unwrap().0.value()).collect();
    assert!(firsts.len() > 4, "{firsts:?}");
    let segment = |seq: u64| firsts.partition_point(|first| *first <= seq);
    let runs = transaction.open_table(ID_RUNS).unwrap();
    // One that turned out too long for its plan is several segments.
    let spans = runs.iter().unwrap().map(|row| row.unwrap().1.value()).map(|run| segment(run.2) - segment(run.1));
    assert!(spans.max().unwrap() <= 2);
    assert!(runs.len().unwrap() <= firsts.len() as u64);
}

/// Two machines append in turns, and the clock of one is an hour ahead. The ids of the other have a row each, all are found,
/// nothing is taken twice, and none is looked for among all of the others.
#[test]
fn ids_of_clocks_that_differ_are_found() {
    let log = memory();
    let hour = 60 * 60 * 1000;
    let mut all = Vec::new();
    let mut looked = [0; 2];
    for number in (0..6000_u32).step_by(500) {
        for (which, ahead) in [(0, hour), (1, 0)] {
            // As if there were an hour between two commits of the same machine.
            let millis = |number: u32| ahead + i64::from(number / 500) * hour + i64::from(number % 500);
            let of = |at: u32| said(u64::from(2 * at) + which as u64, millis(at), noise(at.into(), 300));
            let drafts: Vec<Draft> = (number..number + 500).map(of).collect();
            looked[which] += looked_into(|| {
                append(&log, &drafts).unwrap();
            });
            all.extend(drafts);
        }
    }
    let segments = log.database().begin_read().unwrap().open_table(SEGMENTS).unwrap().len().unwrap();
    assert!(looked[1] <= 8 * segments + FEW, "{looked:?} of {segments}");
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, 12_000);
    let single = log.database().begin_read().unwrap().open_table(BY_ID).unwrap().len().unwrap();
    assert!((3000..=6000).contains(&single), "{single}");
    for (at, draft) in all.iter().enumerate().step_by(37) {
        assert_eq!(log.reader().seq_of(draft.id).unwrap(), Some(at as u64 + 1));
    }
    for (at, drafts) in all.chunks(500).enumerate() {
        assert_eq!(append(&log, drafts).unwrap(), Appended::AlreadyThere(500 * at as u64 + 1));
    }
}

/// The head after an event is the same whenever it is asked for: also while its row becomes part of a segment.
#[test]
fn a_head_is_that_of_its_event_while_others_are_sealed() {
    let log = memory();
    let mut seen: HashMap<u64, [u8; 32]> = HashMap::new();
    std::thread::scope(|scope| {
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let log = &log;
        let reader = scope.spawn(move || {
            let mut seen = Vec::new();
            while is_done.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                let size = log.head().size;
                seen.extend([size, size.saturating_sub(3)].map(|seq| (seq, log.reader().head_at(seq).unwrap())));
            }
            seen
        });
        for number in 0..2500_u32 {
            append(log, &[said(number.into(), number.into(), noise(number.into(), 4000))]).unwrap();
        }
        done.send(()).unwrap();
        for (seq, head) in reader.join().unwrap() {
            assert_eq!(*seen.entry(seq).or_insert(head), head, "two heads after event {seq}");
        }
    });
    let mut head = chain::GENESIS;
    let leaves = log.reader().each_leaf(1, 2500, |seq, leaf| {
        head = chain::advance(&head, &leaf);
        assert!(seen.get(&seq).is_none_or(|seen| *seen == head), "another head after event {seq}");
        Ok::<(), ReadError>(())
    });
    leaves.unwrap();
}

/// A log of events that shrink to nothing, and behind them a long tail of such that do not: what was expected to fill one segment
/// fills many.
fn with_long_tail(path: &Path) -> Log {
    let log = open(path).unwrap();
    let drafts: Vec<Draft> = (0..400_u32).map(|number| said(0, number.into(), "bread and milk ".repeat(300))).collect();
    append(&log, &drafts).unwrap();
    for number in (400..1000_u32).step_by(50) {
        let of = |number: u32| said(0, number.into(), noise(number.into(), 1000));
        append(&log, &(number..number + 50).map(of).collect::<Vec<_>>()).unwrap();
    }
    assert!(in_tail(&log) > 500);
    log
}

/// Rows that a backup has read are sealed before it has read the next ones: in several segments, of which it then meets the
/// second or third.
#[test]
fn a_backup_beside_which_the_tail_is_sealed_misses_nothing() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("backup");
    let log = with_long_tail(&place.path().join("events.redb"));
    let mut is_sealed = false;
    let backed_up = log.backup(&folder, |done, of| {
        if !is_sealed && (600..of).contains(&done) {
            is_sealed = true;
            let drafts: Vec<Draft> =
                (1000..1900_u32).map(|number| said(0, number.into(), noise(number.into(), 1000))).collect();
            append(&log, &drafts).unwrap();
        }
    });
    assert!(is_sealed && in_tail(&log) == 0);
    let size = backed_up.unwrap().summary.events;
    assert!(size >= 1000, "{size}");
    let restored = place.path().join("restored.redb");
    assert_eq!(restore(&folder, &restored, keys(), epoch, |_, _| {}).unwrap().size, size + 1);
    let size = usize::try_from(size).unwrap();
    assert_eq!(events(&open(&restored).unwrap())[..size], events(&log)[..size]);
}

/// Whoever appends as fast as a backup reads does not keep it from coming to an end.
#[test]
fn a_backup_does_not_run_after_a_log_that_grows_as_fast() {
    let place = tempfile::tempdir().unwrap();
    let log = open(&place.path().join("events.redb")).unwrap();
    let (mut number, mut calls) = (0_u32, 0);
    let mut grow = |count: u32| {
        let of = |number: u32| said(0, number.into(), noise(number.into(), 300));
        append(&log, &(number..number + count).map(of).collect::<Vec<_>>()).unwrap();
        number += count;
    };
    grow(2000);
    let backed_up = log.backup(&place.path().join("backup"), |_, _| {
        calls += 1;
        assert!(calls < 1000, "it never ends");
        grow(300);
    });
    let events = backed_up.unwrap().summary.events;
    assert!((2000..3000).contains(&events), "{events}");
    let restored = place.path().join("restored.redb");
    assert_eq!(restore(&place.path().join("backup"), &restored, keys(), epoch, |_, _| {}).unwrap().size, events + 1);
}

/// A segment that says a wrong end is damaged. Whoever asks for an event in it is not told that there is none, and a backup does
/// not end before it.
#[test]
fn a_segment_that_says_a_wrong_end_is_no_end_of_the_log() {
    let place = tempfile::tempdir().unwrap();
    let log = with_long_tail(&place.path().join("events.redb"));
    let (first, mut value) = {
        let segments = log.database().begin_read().unwrap().open_table(SEGMENTS).unwrap();
        let (first, value) = segments.last().unwrap().unwrap();
        (first.value(), value.value().to_vec())
    };
    // Its last event, as its header says in clear.
    value[31] ^= 0x80;
    value[30] ^= 0x01;
    let transaction = log.database().begin_write().unwrap();
    transaction.open_table(SEGMENTS).unwrap().insert(first, value.as_slice()).unwrap();
    transaction.commit().unwrap();
    let said = u64::from_be_bytes(std::array::from_fn(|index| value[24 + index]));
    let inside = (first..=400).find(|seq| *seq > said).unwrap();
    let reader = log.reader();
    let is_named = |error: ReadError| matches!(error, ReadError::Segment { first: found, .. } if found == first);
    assert!(is_named(reader.event(inside).unwrap_err()));
    assert!(is_named(reader.chunk(inside).unwrap_err()));
    assert!(is_named(reader.head_at(inside).unwrap_err()));
    assert!(log.backup(&place.path().join("backup"), |_, _| {}).is_err());
    assert!(matches!(reader.verify(|_, _| {}), Err(Damage::Segment { first: found, .. }) if found == first));
    assert_eq!((reader.event(1001).unwrap(), reader.chunk(1001).unwrap()), (None, Vec::new()), "behind the end");
}

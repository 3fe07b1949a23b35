//! Sealed history beside the tail: every event is read the same from either, and segments are as long as they are meant to be.

use proptest::prelude::*;
use redb::{ReadableDatabase, ReadableTable};

use super::tests::{draft, in_tail, memory};
use super::*;
use crate::event::instance::CredentialRemoved;
use crate::id::{EventId, Micros};
use crate::segment::Segment;
use crate::{chain, codec};

/// Text that shrinks as much as what a household says.
fn text(seed: u64, bytes: usize) -> String {
    let words = ["bread", "milk", "call", "the", "plumber", "0c3f9a52d1", "notes/today.md", "and"];
    let mut state = seed | 1;
    let mut text = String::new();
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(words[usize::try_from(state >> 61).unwrap()]);
        text.push_str(&(state >> 40).to_string());
    }
    text
}

fn numbered(number: u64, bytes: usize) -> Draft {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&number.to_be_bytes());
    let event = CredentialRemoved { name: text(number, bytes) }.into();
    Draft { id: EventId(id), event, ..draft(1, &format!("s/{}", number % 7)) }
}

fn append(log: &Log, numbers: std::ops::Range<u64>, bytes: impl Fn(u64) -> usize) -> Vec<Draft> {
    let drafts: Vec<Draft> = numbers.map(|number| numbered(number, bytes(number))).collect();
    log.append(Append { events: drafts.clone(), expect: Expect::Any }).unwrap();
    drafts
}

/// Everything that a reader can be asked, against the drafts.
fn reads_back(log: &Log, drafts: &[Draft]) {
    let reader = log.reader();
    let verified = reader.verify(|_, _| {}).unwrap();
    assert_eq!(verified.head.size, drafts.len() as u64);
    for first in [1, 2, drafts.len() as u64 / 2 + 1] {
        let mut next = first;
        let each = reader.each(first, |recorded| {
            assert_eq!(recorded.seq, next);
            assert_eq!(recorded.event(), Some(&drafts[usize::try_from(next).unwrap() - 1].event));
            next += 1;
            Ok::<bool, ReadError>(true)
        });
        each.unwrap();
        assert_eq!(next, drafts.len() as u64 + 1);
        // Lent instead of given, and only some: those that were not taken come to no one.
        let wanted = (drafts.len() as u64 + 1 - first) / 2 + 1;
        let mut lent = Vec::new();
        let each = reader.each_lent(first, |recorded| {
            lent.push(recorded.seq);
            assert_eq!(recorded.event(), Some(&drafts[usize::try_from(recorded.seq).unwrap() - 1].event));
            Ok::<bool, ReadError>((lent.len() as u64) < wanted)
        });
        each.unwrap();
        assert!(lent.iter().copied().eq(first..first + wanted.min(drafts.len() as u64 + 1 - first)));
    }
    let mut head = chain::GENESIS;
    let mut heads = vec![head];
    let leaves = reader.each_leaf(1, drafts.len() as u64, |_, leaf| {
        head = chain::advance(&head, &leaf);
        heads.push(head);
        Ok::<(), ReadError>(())
    });
    leaves.unwrap();
    for seq in (0..heads.len()).step_by(heads.len() / 13 + 1).chain([heads.len() - 1]) {
        assert_eq!(reader.head_at(seq as u64).unwrap(), heads[seq], "at {seq}");
    }
    assert_eq!(log.head().head, head);
    for stream in 0..7 {
        let found = reader.stream(&format!("s/{stream}")).unwrap();
        let wanted = drafts.iter().filter(|draft| draft.stream == format!("s/{stream}"));
        assert!(found.iter().map(|recorded| recorded.id).eq(wanted.map(|draft| draft.id)));
    }
    // An id is known wherever its event lies.
    for draft in drafts.iter().step_by(drafts.len() / 11 + 1) {
        let again = Append { events: vec![draft.clone()], expect: Expect::Any };
        assert!(matches!(log.append(again), Ok(Appended::AlreadyThere(_))));
        let other = Draft { actor: "guest".to_owned(), ..draft.clone() };
        let other = Append { events: vec![other], expect: Expect::Any };
        assert!(matches!(log.append(other), Err(AppendError::IdTaken { .. })));
    }
}

fn lengths(log: &Log) -> Vec<usize> {
    let table = log.database().begin_read().unwrap().open_table(tables::SEGMENTS).unwrap();
    let lengths = table.iter().unwrap().map(|row| {
        let (first, value) = row.unwrap();
        assert_eq!(Segment::parse(value.value()).unwrap().header.first, first.value());
        value.value().len()
    });
    lengths.collect()
}

#[test]
fn segments_fill_a_power_of_two() {
    let log = memory();
    let mut drafts = Vec::new();
    for batch in 0..60 {
        drafts
            .extend(append(&log, batch * 100..(batch + 1) * 100, |number| 40 + usize::try_from(number % 400).unwrap()));
    }
    let lengths = lengths(&log);
    assert!(lengths.len() > 5, "{lengths:?}");
    // The first is cut by a guess.
    assert!(lengths.iter().skip(1).all(|length| (57_000..=65_536).contains(length)), "{lengths:?}");
    reads_back(&log, &drafts);
}

/// Events of one append that fill segments never become rows.
#[test]
fn a_large_append_is_sealed_at_once() {
    let log = memory();
    let drafts = append(&log, 0..6000, |_| 100);
    assert!(in_tail(&log) < 2000, "{}", in_tail(&log));
    reads_back(&log, &drafts);
}

/// Streams are looked for where the tail does not know them, and new ones by the gap between two that are stored: each event
/// still gets the version that is next in its own.
#[test]
fn streams_keep_their_versions_however_their_names_lie() {
    // Six at once are sealed at once; fewer wait for others, and the gap is known for longer.
    [6, 2, 1].into_iter().for_each(streams_keep_their_versions);
}

fn streams_keep_their_versions(at_once: usize) {
    let log = seal::in_small_segments(512, memory);
    let rounds = [
        ["d", "b", "d", "f", "b", "h"],
        ["a", "c", "d", "ca", "b", "e"],
        ["aa", "a", "i", "f", "ff", "c"],
        ["h", "hh", "", "b", "g", "i"],
        ["z", "y", "a", "d", "dd", "d"],
    ];
    let mut wanted: std::collections::BTreeMap<&str, Vec<EventId>> = std::collections::BTreeMap::new();
    for (round, streams) in (0..).zip(rounds) {
        let drafts = (0..)
            .zip(streams)
            .map(|(place, stream)| Draft { stream: stream.to_owned(), ..numbered(round * 10 + place, 300) });
        let events: Vec<Draft> = drafts.collect();
        for (draft, stream) in events.iter().zip(streams) {
            wanted.entry(stream).or_default().push(draft.id);
        }
        for events in events.chunks(at_once) {
            log.append(Append { events: events.to_vec(), expect: Expect::Any }).unwrap();
        }
        assert!(at_once < 6 || in_tail(&log) == 0, "all of it is sealed, so that the next round looks it up");
    }
    log.reader().verify(|_, _| {}).unwrap();
    for (stream, wanted) in wanted {
        let found = log.reader().stream(stream).unwrap();
        assert!(
            found.iter().map(|recorded| (recorded.id, recorded.version)).eq(wanted.into_iter().zip(1..)),
            "{stream}"
        );
        let behind =
            Append { events: vec![Draft { stream: stream.to_owned(), ..numbered(900, 10) }], expect: Expect::NoStream };
        assert!(matches!(log.append(behind), Err(AppendError::Conflict { .. })), "{stream}");
    }
}

/// Commits whose every event is a segment of its own leave no more rows each time.
#[test]
fn the_tail_does_not_grow_without_end() {
    let log = memory();
    for first in (0..480).step_by(48) {
        append(&log, first..first + 48, |_| 90_000);
    }
    assert!(in_tail(&log) < 100, "{}", in_tail(&log));
}

/// Rows of the tail that are not what was chained are never sealed, so that what is wrong with them can still be seen.
#[test]
fn a_damaged_tail_is_not_sealed() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("events.redb");
    let log = super::tests::open(&file).unwrap();
    append(&log, 0..50, |_| 100);
    let transaction = log.database().begin_write().unwrap();
    {
        let looked = unsealed::Tables::write(&transaction).unwrap().look(7, <[u8]>::to_vec);
        let mut frame = looked.unwrap().unwrap();
        *frame.last_mut().unwrap() ^= 1;
        unsealed::replace(&transaction, 7, Some(&frame));
    }
    transaction.commit().unwrap();
    drop(log);
    let log = super::tests::open(&file).unwrap();
    for batch in 1..12 {
        append(&log, batch * 1000..batch * 1000 + 500, |_| 100);
    }
    assert_eq!(lengths(&log), Vec::<usize>::new());
    let found = log.reader().verify(|_, _| {}).unwrap_err();
    assert!(matches!(found, Damage::Event { seq: 7, table: "tail", .. }), "{found}");
}

#[test]
fn an_event_that_is_longer_than_a_segment_is_one_of_its_own() {
    let log = memory();
    let mut drafts = append(&log, 0..10, |_| 100);
    drafts.extend(append(&log, 10..11, |_| 900_000));
    drafts.extend(append(&log, 11..2000, |_| 100));
    reads_back(&log, &drafts);
    assert!(lengths(&log).iter().any(|length| *length > 65_536), "{:?}", lengths(&log));
}

/// Short events behind long ones were cut too long: the tries ran out on the way down.
#[test]
fn a_cut_that_was_guessed_badly_is_not_too_long() {
    let log = memory();
    let size = |bytes: usize| move |number: u64| 1 + text(number, 8).len() * bytes % 3000;
    let mut drafts = append(&log, 0..106, size(2182));
    drafts.extend(append(&log, 106..255, size(238)));
    reads_back(&log, &drafts);
    assert!(lengths(&log).iter().all(|length| *length <= 66_000), "{:?}", lengths(&log));
}

/// Frames that shrink to nothing do not make a segment that is long to unpack, nor a tail that is long to pack once frames
/// come that do not shrink.
#[test]
fn what_shrinks_to_nothing_is_sealed_all_the_same() {
    let log = memory();
    let blank = |number: u64| {
        let event = CredentialRemoved { name: "a".repeat(12_000) }.into();
        Draft { event, ..numbered(number, 1) }
    };
    let mut drafts: Vec<Draft> = Vec::new();
    for first in (0..600).step_by(20) {
        let more: Vec<Draft> = (first..first + 20).map(blank).collect();
        log.append(Append { events: more.clone(), expect: Expect::Any }).unwrap();
        drafts.extend(more);
    }
    drafts.extend(append(&log, 600..1100, |_| 3000));
    let verified = log.reader().verify(|_, _| {}).unwrap();
    assert!(verified.segments > 6, "{}", verified.segments);
    let table = log.database().begin_read().unwrap().open_table(tables::SEGMENTS).unwrap();
    for row in table.iter().unwrap() {
        let row = row.unwrap();
        let frames = Segment::parse(row.1.value()).unwrap().frames().unwrap();
        assert!(frames.bytes() <= 1 << 20, "{} bytes from event {} on", frames.bytes(), row.0.value());
    }
    reads_back(&log, &drafts);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_the_batches_and_sizes(cuts in proptest::collection::vec((1_u64..700, 1_usize..3000), 1..9)) {
        let log = memory();
        let mut drafts = Vec::new();
        for (count, bytes) in cuts {
            let first = drafts.len() as u64;
            drafts.extend(append(&log, first..first + count, |number| 1 + text(number, 8).len() * bytes % 3000));
        }
        reads_back(&log, &drafts);
        prop_assert!(lengths(&log).iter().all(|length| *length <= 66_000));
    }
}

/// Frames say the same in a segment as in the tail.
#[test]
fn sealed_frames_are_the_stored_bytes() {
    let log = memory();
    let drafts = append(&log, 0..3000, |_| 100);
    let mut run = log.reader().run(1).unwrap().unwrap().unpack().unwrap();
    assert!(run.header.take().is_some());
    for (seq, frame) in (run.first..).zip(run.frames.iter()) {
        let parsed = codec::Frame::parse(frame).unwrap();
        parsed.verified(seq).unwrap();
        assert_eq!(parsed.payload(), Some(drafts[usize::try_from(seq).unwrap() - 1].event.encode().as_slice()));
    }
}

/// In sealed history as in the tail, and whether a segment's header lets it be passed over or not.
#[test]
fn what_is_not_later_behind_a_number_is_found() {
    let log = memory();
    let time = |number: u64| Micros(i64::try_from(number).unwrap() + 5000 * i64::from((1000..1200).contains(&number)));
    for first in (0..2000).step_by(100) {
        let drafts =
            (first..first + 100).map(|number| Draft { time: time(number), ..numbered(number, 1500) }).collect();
        log.append(Append { events: drafts, expect: Expect::Any }).unwrap();
    }
    let reader = log.reader();
    assert!(reader.verify(|_, _| {}).unwrap().segments > 3);
    // The event of a number has the next one as its own.
    for (seq, until) in
        [(1000, 1500), (1000, 1999), (1000, 999), (1000, 5000), (0, 0), (1100, 6150), (2000, 9999), (1990, 1995)]
    {
        let behind = (seq..2000).filter(|number| time(*number).0 <= until);
        let expected = behind.clone().next_back().map(|last| (behind.count() as u64, last + 1));
        assert_eq!(reader.not_later_behind(seq, until).unwrap(), expected, "{seq} {until}");
    }
}

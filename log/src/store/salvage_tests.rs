//! What can be proved in a damaged file is in the new log, once; what is lost is listed; what was erased stays erased.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use redb::{ReadableDatabase as _, ReadableTable as _};

use super::tests::{draft, events, keys, open};
use super::*;
use crate::chain;
use crate::codec::{self, Frame};
use crate::envelope::{Body, Header, Recorded};
use crate::event::Event;
use crate::event::instance::{EpochOpened, Erased};
use crate::event::turn::TurnClosed;
use crate::id::{EventId, Micros};
use crate::kept::Kept;

const EVENTS: u32 = 3000;

fn said(number: u32) -> Draft {
    let mut id = [1; 16];
    id[..4].copy_from_slice(&number.to_be_bytes());
    let text = format!("{} bread and milk {number}", u64::from(number) * 0x9e37_79b9).repeat(3);
    let message = Kept::text(if number % 1000 == 900 { text.repeat(300) } else { text });
    let counts = std::collections::BTreeMap::new();
    let event = TurnClosed { final_kind: "answer".to_owned(), class: None, message, counts }.into();
    let time = Micros(i64::from(number) * 1000);
    Draft { id: EventId(id), event, time, ..draft(1, &format!("s/{}", number % 50)) }
}

/// A log's file, and all of its events.
fn damaged_later(folder: &Path) -> (Vec<u8>, Vec<Recorded>, Head) {
    let path = folder.join("events.redb");
    let log = open(&path).unwrap();
    for first in (0..EVENTS).step_by(250) {
        let events = (first..first + 250).map(said).collect();
        log.append(Append { events, expect: Expect::Any }).unwrap();
    }
    let (events, head) = (events(&log), log.head());
    drop(log);
    (std::fs::read(&path).unwrap(), events, head)
}

/// Salvages these bytes; the new log, verified, and what is said of it.
fn salvaged(bytes: &[u8]) -> Result<(Salvaged, Log, tempfile::TempDir), SalvageError> {
    let place = tempfile::tempdir().unwrap();
    let (from, to) = (place.path().join("old.redb"), place.path().join("new.redb"));
    std::fs::write(&from, bytes).unwrap();
    let by = By { id: EventId([254; 16]), time: Micros(9), actor: "owner".to_owned() };
    let salvaged = salvage(&from, &to, keys(), &by);
    assert_eq!(std::fs::read(&from).unwrap(), bytes, "the old file is as it was");
    assert_eq!(to.exists(), salvaged.is_ok());
    assert!(!rewrite::fresh(&to).exists());
    let salvaged = salvaged?;
    let log = open(&to).unwrap();
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head, salvaged.head);
    Ok((salvaged, log, place))
}

/// What must hold of every salvage of a log: the beginning as it was, then the record, then the rest in order, each event once.
fn sound(salvaged: &Salvaged, log: &Log, before: &[Recorded], head: &Head) -> EpochOpened {
    let after = events(log);
    let copied = usize::try_from(salvaged.copied).unwrap();
    assert_eq!(after[..copied], before[..copied]);
    if salvaged.copied == head.size {
        assert_eq!(log.reader().head_at(salvaged.copied).unwrap(), head.head);
    }
    let Some(Event::EpochOpened(epoch)) = after[copied].event() else { panic!("{:?}", after[copied]) };
    assert_eq!((epoch.reason.as_str(), epoch.size, epoch.again), ("salvaged", salvaged.copied, Some(salvaged.again)));
    let by_id: BTreeMap<EventId, &Recorded> = before.iter().map(|event| (event.id, event)).collect();
    let mut last = salvaged.copied;
    for again in &after[copied + 1..] {
        let was = by_id[&again.id];
        assert!(was.seq > last, "in the old order");
        last = was.seq;
        let moved = Recorded { seq: again.seq, version: again.version, ..was.clone() };
        assert_eq!(*again, moved);
    }
    let found: BTreeSet<u64> = after.iter().filter_map(|event| Some(by_id.get(&event.id)?.seq)).collect();
    assert_eq!(found.len() + 1, after.len(), "each once");
    let gone: BTreeSet<u64> = salvaged.lost.iter().flat_map(|(first, last)| *first..=*last).collect();
    assert!(gone.is_disjoint(&found));
    let upto = found.union(&gone).copied().collect::<Vec<u64>>();
    assert_eq!(upto, (1..=upto.len() as u64).collect::<Vec<u64>>(), "every number is found or lost");
    epoch.clone()
}

/// A signature is worth as much where a segment holds events of both sides of it.
#[test]
fn checkpoints_within_a_segment_stay() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("events.redb");
    let log = open(&path).unwrap();
    for (first, last) in [(0, 40), (40, 700), (700, 720)] {
        log.append(Append { events: (first..last).map(said).collect(), expect: Expect::Any }).unwrap();
        log.checkpoint().unwrap();
    }
    let sizes = |log: &Log| {
        let table = log.database().begin_read().unwrap().open_table(tables::CHECKPOINTS).unwrap();
        table.iter().unwrap().map(|row| row.unwrap().0.value()).collect::<Vec<u64>>()
    };
    let table = log.database().begin_read().unwrap().open_table(tables::SEGMENTS).unwrap();
    assert!(
        table.iter().unwrap().all(|row| row.unwrap().0.value() != 41),
        "the first 40 end in the midst of a segment"
    );
    let before = sizes(&log);
    assert!(before.starts_with(&[40, 700]), "{before:?}");
    drop((log, table));
    let (said, new, _place) = salvaged(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!((said.copied, said.signed), (720, 720));
    assert!(sizes(&new).starts_with(&before), "{:?}", sizes(&new));
}

#[test]
fn a_sound_file_is_copied_whole() {
    let place = tempfile::tempdir().unwrap();
    let (bytes, before, head) = damaged_later(place.path());
    let (salvaged, log, _place) = salvaged(&bytes).unwrap();
    sound(&salvaged, &log, &before, &head);
    assert_eq!((salvaged.copied, salvaged.again), (head.size, 0));
    assert_eq!((&salvaged.lost, &salvaged.lost_blobs, salvaged.blobs), (&vec![], &vec![], 3));
    let verified = log.reader().verify(|_, _| {}).unwrap();
    assert!(verified.checkpoints > 1 && verified.segments > 1, "{verified:?}");
    assert_eq!(log.id(), "04".repeat(16));
    log.append(Append { events: vec![said(9000)], expect: Expect::Any }).unwrap();
}

#[test]
fn a_cut_file_gives_what_is_left_of_it() {
    let place = tempfile::tempdir().unwrap();
    let (bytes, before, head) = damaged_later(place.path());
    let mut most = 0;
    for part in [1, 2, 3, 5, 7] {
        let Ok((salvaged, log, _place)) = salvaged(&bytes[..bytes.len() * part / 8]) else { continue };
        let epoch = sound(&salvaged, &log, &before, &head);
        assert_eq!(epoch.lost.is_empty(), salvaged.lost.is_empty() && salvaged.lost_blobs.is_empty());
        most = most.max(salvaged.copied + salvaged.again);
    }
    assert!(most > 1000, "{most}");
}

/// Zeroed pages and flipped bits, at places that one seed decides.
#[test]
fn what_lies_behind_a_gap_is_appended_again() {
    let place = tempfile::tempdir().unwrap();
    let (bytes, before, head) = damaged_later(place.path());
    let (mut gaps, mut whole) = (0, 0);
    let mut chance = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..16 {
        let mut damaged = bytes.clone();
        for _ in 0..=round % 4 {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(chance >> 20).unwrap() % bytes.len();
            if round % 2 == 0 {
                let page = at / 4096 * 4096;
                damaged[page..page + 4096].fill(0);
            } else {
                damaged[at] ^= 1 << (at % 8);
            }
        }
        // redb's own header too: nothing of the file's structure is needed.
        damaged[..320].fill(0xff);
        let (salvaged, log, _place) = salvaged(&damaged).unwrap();
        sound(&salvaged, &log, &before, &head);
        gaps += u64::from(salvaged.again > 0);
        whole += u64::from(salvaged.copied == head.size);
    }
    assert!(gaps > 0 && whole > 0, "{gaps} {whole}");
}

#[test]
fn what_was_erased_stays_erased_whatever_copies_are_left() {
    let place = tempfile::tempdir().unwrap();
    let (_, before, _) = damaged_later(place.path());
    let path = place.path().join("events.redb");
    let log = open(&path).unwrap();
    let seqs = [5, 2990];
    let live: Vec<Vec<u8>> = seqs.iter().map(|seq| stored(&log, *seq)).collect();
    let record = Erased {
        selector: "event".to_owned(),
        of: "5".to_owned(),
        seqs: seqs.iter().map(|seq| (*seq, *seq)).collect(),
        blobs: Vec::new(),
        reason: "asked for".to_owned(),
        by: "owner".to_owned(),
    };
    let record = Draft { event: record.into(), ..draft(251, "instance") };
    let erasure = Erasure { seqs: seqs.into(), blobs: BTreeSet::new(), record };
    log.erase(erasure).unwrap();
    drop(log);
    let mut bytes = std::fs::read(&path).unwrap();
    // Pages of before, as a file system may leave them.
    bytes.resize(bytes.len().next_multiple_of(4096), 0);
    for frame in &live {
        bytes.extend(frame);
    }
    let erased_of = |bytes: &[u8]| {
        let (salvaged, log, _place) = salvaged(bytes).unwrap();
        let found = events(&log);
        let bodies = |seq: u64| {
            let id = before[usize::try_from(seq).unwrap() - 1].id;
            found.iter().filter(|event| event.id == id).map(|event| event.body.clone()).collect::<Vec<_>>()
        };
        (salvaged, seqs.map(bodies))
    };
    let (whole, bodies) = erased_of(&bytes);
    assert_eq!((whole.copied, bodies), (3001, [vec![Body::Erased], vec![Body::Erased]]));
    // The erased frames themselves are gone: the record alone says so, and is believed.
    let file = std::fs::read(&path).unwrap();
    let mut without = bytes.clone();
    for frame in &live {
        let header = Frame::parse(frame).unwrap().header;
        for at in memchr::memmem::find_iter(&file, header) {
            without[at - 12..at].fill(0);
        }
    }
    let (_, bodies) = erased_of(&without);
    assert!(bodies.iter().flatten().all(|body| *body == Body::Erased), "{bodies:?}");
}

/// The frame of an event as the log stores it.
fn stored(log: &Log, seq: u64) -> Vec<u8> {
    let run = log.reader().run(seq).unwrap().unwrap().unpack().unwrap();
    run.frame(seq).unwrap().to_vec()
}

#[test]
fn kinds_that_are_not_known_are_kept_and_of_two_events_the_one_that_the_log_went_on_from() {
    let place = tempfile::tempdir().unwrap();
    let (mut bytes, before, head) = damaged_later(place.path());
    let header = |id: u8, kind| Header(EventId([id; 16]), 7, "kettle", 1, kind, 1, "owner", None, None, 0);
    let payload = rmp_serde::to_vec_named(&serde_json::json!({ "degrees": 100 })).unwrap();
    // One at the end, and one that was written in the place of another and never committed.
    let (next, _) = codec::frame(head.size + 1, &header(77, "kettle_boiled"), &[9; 16], &payload);
    let (other, _) = codec::frame(2990, &header(78, "kettle_cooled"), &[9; 16], &payload);
    bytes.extend(next);
    bytes.extend(other);
    let (salvaged, log, _place) = salvaged(&bytes).unwrap();
    assert_eq!((salvaged.copied, salvaged.again, salvaged.lost.len()), (head.size + 1, 0, 0));
    let after = events(&log);
    assert_eq!(after[..before.len()], before);
    assert_eq!((&*after[before.len()].kind, &after[before.len()].body), ("kettle_boiled", &Body::Unknown(payload)));
    assert_ne!(log.reader().head_at(head.size).unwrap(), chain::GENESIS);
}

/// The upcasters are those of `event/upcast_tests.rs`.
#[test]
fn earlier_kinds_are_raised_as_they_are_read_and_damage_where_they_cannot_be() {
    let place = tempfile::tempdir().unwrap();
    let (mut bytes, before, head) = damaged_later(place.path());
    let payload = |names: serde_json::Value| rmp_serde::to_vec_named(&serde_json::json!({ "names": names })).unwrap();
    let said = [serde_json::json!(["a", "b"]), serde_json::json!([]), serde_json::json!(["c"])].map(payload);
    for (place, payload) in (1_u8..).zip(&said) {
        let stream = format!("old/{place}");
        let header = Header(EventId([80 + place; 16]), 7, &stream, 1, "credentials_removed", 1, "owner", None, None, 0);
        bytes.extend(codec::frame(head.size + u64::from(place), &header, &[9; 16], payload).0);
    }
    let (found, log, _place) = salvaged(&bytes).unwrap();
    assert_eq!((found.copied, found.lost.len()), (head.size + 3, 0));
    let verified = log.reader().verify(|_, _| {}).unwrap();
    assert_eq!(verified.unknown, []);
    let (all, first) = (events(&log), before.len());
    let mut seen = Vec::new();
    for recorded in &all[first..first + 3] {
        recorded.each(|one| seen.push((one.seq - head.size, one.kind.to_string(), one.event().unwrap().to_json())));
    }
    let name = |seq, name: &str| (seq, "credential_removed".to_owned(), serde_json::json!({ "name": name }));
    assert_eq!(seen, [name(1, "a"), name(1, "b"), name(3, "c")]);
    for (seq, payload) in (head.size + 1..).zip(&said) {
        assert!(stored(&log, seq).ends_with(payload), "stored bytes are never rewritten");
    }
    assert_eq!(all[first + 2].event(), log.reader().event(head.size + 3).unwrap().unwrap().event());

    let broken = payload(serde_json::json!(7));
    let header = Header(EventId([90; 16]), 7, "old/9", 1, "credentials_removed", 1, "owner", None, None, 0);
    let (frame, _) = codec::frame(head.size + 4, &header, &[9; 16], &broken);
    let kept = codec::Frame::parse(&frame).unwrap().recorded(head.size + 4).unwrap();
    assert_eq!((&*kept.kind, kept.schema, kept.body), ("credentials_removed", 1, Body::Unknown(broken)));
    bytes.extend(frame);
    // The new log is verified before it is given.
    let damage = salvaged(&bytes).map(|(salvaged, ..)| salvaged).unwrap_err().to_string();
    let place = format!("event {} (table tail)", head.size + 4);
    assert!(damage.contains(&place) && damage.contains("its names are no list"), "{damage}");
}

#[test]
fn a_lost_blob_is_listed_and_the_new_log_verifies() {
    let place = tempfile::tempdir().unwrap();
    let (mut bytes, before, head) = damaged_later(place.path());
    let log = open(&place.path().join("events.redb")).unwrap();
    let (name, packed) = log.reader().blob_rows(None).unwrap().swap_remove(1);
    drop(log);
    for at in memchr::memmem::find_iter(&bytes.clone(), &packed) {
        bytes[at + packed.len() / 2] ^= 1;
    }
    let (salvaged, log, _place) = salvaged(&bytes).unwrap();
    let epoch = sound(&salvaged, &log, &before, &head);
    assert_eq!((salvaged.lost_blobs, salvaged.blobs), (vec![BlobHash(name)], 2));
    assert_eq!((epoch.lost_blobs, epoch.lost), (vec![BlobHash(name)], vec![format!("blob {}", BlobHash(name))]));
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().blobs_erased, 1);
}

#[test]
fn archived_history_comes_back_and_what_is_no_log_gives_none() {
    let place = tempfile::tempdir().unwrap();
    let (_, before, head) = damaged_later(place.path());
    let path = place.path().join("events.redb");
    let log = open(&path).unwrap();
    assert!(log.archive(Before::Seq(u64::MAX), |_, _| {}).unwrap().segments > 0);
    log.compact().unwrap();
    drop(log);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..4096].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let by = By { id: EventId([254; 16]), time: Micros(9), actor: "owner".to_owned() };
    let to = place.path().join("new.redb");
    let found = salvage(&path, &to, keys(), &by).unwrap();
    let log = open(&to).unwrap();
    sound(&found, &log, &before, &head);
    assert_eq!((found.copied, log.reader().verify(|_, _| {}).unwrap().archived), (head.size, 0));
    assert!(matches!(salvage(&path, &to, keys(), &by), Err(SalvageError::Occupied { .. })));
    for foreign in [b"".as_slice(), b"a text", &vec![0; 70_000], b"SQLite format 3\0"] {
        assert!(matches!(salvaged(foreign), Err(SalvageError::Nothing { .. })));
    }
}

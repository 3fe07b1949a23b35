//! One event of 64 MB, in a blob and in its row, and a blob as long: appended, read, verified, backed up, erased.

use std::collections::BTreeMap;
use std::time::Instant;

use super::tests::{draft, open};
use super::*;
use crate::event::instance::Erased;
use crate::event::turn::TurnClosed;
use crate::id::EventId;
use crate::kept::Kept;

const BYTES: usize = 64 << 20;

/// Text that hardly shrinks.
fn text() -> String {
    let mut reader = blake3::Hasher::new().update(b"a long text").finalize_xof();
    let mut bytes = vec![0; BYTES];
    reader.fill(&mut bytes);
    for byte in &mut bytes {
        *byte = b' ' + *byte % 64;
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
fn an_event_of_64_mb_is_like_any_other() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("events.redb");
    let log = open(&file).unwrap();
    let (text, began) = (text(), Instant::now());
    let (name, blob) = (log.keyed_blob_hash(text.as_bytes()), text.clone().into_bytes());
    let closed = TurnClosed {
        final_kind: "answer".to_owned(),
        class: None,
        message: Kept::text(&text),
        counts: BTreeMap::new(),
    };
    let plain = plain_blob_hash(&blob);
    let said = Draft { event: closed.into(), blobs: vec![(plain, blob)], ..draft(1, "turn/x") };
    log.append(Append { events: vec![said], expect: Expect::Any }).unwrap();
    eprintln!("appended {:?}", began.elapsed());
    let read = log.reader().rehydrated(log.reader().event(1).unwrap().unwrap()).unwrap();
    let Some(crate::Event::TurnClosed(read)) = read.event() else { panic!("it is not there") };
    assert!(read.message.get() == Some(text.as_str()));
    eprintln!("read {:?}", began.elapsed());
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().blobs, 2);
    eprintln!("verified {:?}", began.elapsed());
    log.backup(&place.path().join("backup"), |_, _| {}).unwrap();
    eprintln!("backed up {:?}", began.elapsed());
    let erased = Erased {
        selector: "event".to_owned(),
        of: "1".to_owned(),
        seqs: vec![(1, 1)],
        blobs: vec![name, plain],
        reason: "asked for".to_owned(),
        by: "owner".to_owned(),
    };
    let record = Draft { id: EventId([2; 16]), event: erased.into(), ..draft(2, "instance") };
    log.erase(Erasure { seqs: [1].into(), blobs: [name, plain].into(), record }).unwrap();
    eprintln!("erased {:?}", began.elapsed());
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().erased, 1);
    assert!(std::fs::metadata(&file).unwrap().len() < 4 << 20);
    log.backup(&place.path().join("backup"), |_, _| {}).unwrap();
    assert_eq!(std::fs::read_dir(place.path().join("backup/blobs")).unwrap().count(), 0);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    eprintln!("{:?}, {:?}", began.elapsed(), status.lines().find(|line| line.starts_with("VmHWM")));
}

/// A field that is not moved out into a blob: the row itself is as long, and a segment of its own once it is sealed.
#[test]
fn a_row_of_64_mb_is_like_any_other() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("events.redb");
    let log = open(&file).unwrap();
    let (text, began) = (text(), Instant::now());
    let removed = crate::event::instance::CredentialRemoved { name: text.clone() };
    let said = Draft { event: removed.into(), ..draft(1, "turn/x") };
    log.append(Append { events: vec![said, draft(3, "instance")], expect: Expect::Any }).unwrap();
    log.append(Append { events: vec![draft(4, "instance")], expect: Expect::Any }).unwrap();
    let read = log.reader().event(1).unwrap().unwrap();
    assert!(matches!(read.event(), Some(crate::Event::CredentialRemoved(removed)) if removed.name == text));
    let verified = log.reader().verify(|_, _| {}).unwrap();
    assert_eq!((verified.head.size, verified.segments), (3, 2));
    log.backup(&place.path().join("backup"), |_, _| {}).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    eprintln!("{:?}, {:?}", began.elapsed(), status.lines().find(|line| line.starts_with("VmHWM")));
}

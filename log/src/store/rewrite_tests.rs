//! What was erased is in no byte of the file, and everything else is what it was.

use std::collections::BTreeSet;
use std::path::Path;

use super::tests::{draft, open};
use super::*;
use crate::envelope::Body;
use crate::event::instance::{CredentialRemoved, Erased};
use crate::event::turn::TurnClosed;
use crate::id::EventId;
use crate::kept::Kept;

const NEEDLE: &str = "the combination is 4711";

fn said(number: u16, text: &str) -> Draft {
    let mut id = [0; 16];
    id[..2].copy_from_slice(&number.to_be_bytes());
    let closed = TurnClosed {
        final_kind: "answer".to_owned(),
        class: None,
        message: Kept::text(text),
        counts: std::collections::BTreeMap::new(),
    };
    Draft { id: EventId(id), event: closed.into(), ..draft(1, &format!("turn/{}", number / 3)) }
}

/// Where the needle lies in the file: plainly, or in anything there that unpacks.
fn found(file: &Path) -> usize {
    let bytes = std::fs::read(file).unwrap();
    let holds = |bytes: &[u8]| bytes.windows(NEEDLE.len()).any(|window| window == NEEDLE.as_bytes());
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    let frames = bytes.windows(4).enumerate().filter(|(_, window)| *window == magic).filter(|(at, _)| {
        let mut plain = vec![0; 4 << 20];
        let mut context = zstd::zstd_safe::DCtx::create();
        let length = zstd::zstd_safe::find_frame_compressed_size(&bytes[*at..]).unwrap_or(0);
        context.decompress(plain.as_mut_slice(), &bytes[*at..*at + length]).is_ok_and(|length| holds(&plain[..length]))
    });
    usize::from(holds(&bytes)) + frames.count()
}

fn erasure(seqs: impl IntoIterator<Item = u64>, blobs: impl IntoIterator<Item = BlobHash>) -> Erasure {
    let (seqs, blobs): (BTreeSet<u64>, BTreeSet<BlobHash>) = (seqs.into_iter().collect(), blobs.into_iter().collect());
    let record = Erased {
        selector: "event".to_owned(),
        of: String::new(),
        seqs: seqs.iter().map(|seq| (*seq, *seq)).collect(),
        blobs: blobs.iter().copied().collect(),
        reason: "asked for".to_owned(),
        by: "owner".to_owned(),
    };
    Erasure { seqs, blobs, record: Draft { event: record.into(), ..draft(251, "instance") } }
}

#[test]
fn what_was_erased_is_in_no_byte_of_the_file() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("events.redb");
    let log = open(&file).unwrap();
    let secret = [3, 1500, 1501, 4999];
    let text = |number: u16| {
        let filler = format!("{number} bread, milk, {}", u32::from(number) * 77_777);
        match number {
            2000 => format!("{NEEDLE} {}", filler.repeat(2000)),
            _ if secret.contains(&number) => format!("{filler} {NEEDLE}"),
            _ => filler,
        }
    };
    for batch in 0..10 {
        let events = (batch * 500..(batch + 1) * 500).map(|number| said(number, &text(number))).collect();
        log.append(Append { events, expect: Expect::Any }).unwrap();
    }
    let reader = log.reader();
    let before = reader.verify(|_, _| {}).unwrap();
    assert!(before.segments > 1 && before.blobs == 1);
    assert!(found(&file) > 2, "the search finds it while it is there");
    let name = log.keyed_blob_hash(text(2000).as_bytes());
    let seqs = secret.into_iter().chain([2000]).map(|number| u64::from(number) + 1);
    let rewritten = log.erase(erasure(seqs.clone(), [name])).unwrap();
    assert_eq!((rewritten.payloads, rewritten.blobs), (5, 1));
    assert_eq!(found(&file), 0);

    let after = reader.verify(|_, _| {}).unwrap();
    assert_eq!((after.head.size, after.erased, after.blobs), (5001, 5, 0));
    assert_eq!(reader.head_at(5000).unwrap(), before.head.head, "the chain is what it was");
    assert_eq!(log.head(), after.head);
    for seq in 1..=5000 {
        let event = reader.event(seq).unwrap().unwrap();
        let number = u16::try_from(seq - 1).unwrap();
        if seqs.clone().any(|erased| erased == seq) {
            assert_eq!(event.body, Body::Erased);
        } else {
            assert_eq!(event.event(), Some(&said(number, &text(number)).event));
        }
    }
    // Whoever says again what was erased has said it already; the log goes on behind it.
    let again = Append { events: vec![said(3, &text(3))], expect: Expect::Any };
    assert_eq!(log.append(again), Ok(Appended::AlreadyThere(4)));
    log.append(Append { events: vec![said(6000, "more")], expect: Expect::Any }).unwrap();
    drop((reader, log));
    let log = open(&file).unwrap();
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, 5002);
    assert_eq!(found(&file), 0);
}

#[test]
fn a_blob_that_is_gone_and_that_no_erasure_names_is_damage() {
    let place = tempfile::tempdir().unwrap();
    let log = open(&place.path().join("events.redb")).unwrap();
    let text = "a long answer ".repeat(2000);
    log.append(Append { events: vec![said(1, &text)], expect: Expect::Any }).unwrap();
    let name = log.keyed_blob_hash(text.as_bytes());
    let wrong = Draft { event: CredentialRemoved { name: "x".to_owned() }.into(), ..draft(9, "instance") };
    let refused = log.erase(Erasure { record: wrong, ..erasure([], [name]) }).unwrap_err();
    assert!(matches!(refused, RewriteError::Refused(_)), "{refused}");
    let silent = erasure([], []).record;
    let refused = log.erase(Erasure { record: silent, ..erasure([], [name]) }).unwrap_err();
    assert!(matches!(refused, RewriteError::Damaged(_)), "{refused}");
    assert_eq!(log.head().size, 1, "nothing was put in place");
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().blobs, 1);
    // A blob alone may go when its erasure says so: the event stays, and names it in vain.
    log.erase(erasure([], [name])).unwrap();
    let verified = log.reader().verify(|_, _| {}).unwrap();
    assert_eq!((verified.blobs, verified.blobs_erased, verified.erased), (0, 1, 0));
}

#[test]
fn compacting_gives_back_what_no_row_needs() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("events.redb");
    let log = open(&file).unwrap();
    for number in 0..300 {
        log.append(Append { events: vec![said(number, &"milk ".repeat(300))], expect: Expect::Any }).unwrap();
    }
    let before = log.reader().verify(|_, _| {}).unwrap();
    let rewritten = log.compact().unwrap();
    assert!(rewritten.bytes_after < rewritten.bytes_before, "{rewritten:?}");
    assert_eq!(rewritten.bytes_after, std::fs::metadata(&file).unwrap().len());
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head, before.head);
}

/// A copy that a kill left behind is taken away by the next one that opens the log.
#[test]
fn what_is_left_of_a_copy_goes() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("events.redb");
    drop(open(&file).unwrap());
    let fresh = rewrite::fresh(&file);
    std::fs::write(&fresh, "half of a copy").unwrap();
    drop(open(&file).unwrap());
    assert!(!fresh.exists());
}

/// Where a link leads to the log, it is the log that is replaced: a new file in the place of the link would leave the old one whole.
#[test]
fn a_log_behind_a_link_is_written_anew_where_it_lies() {
    let place = tempfile::tempdir().unwrap();
    let (disk, file) = (place.path().join("disk"), place.path().join("events.redb"));
    std::fs::create_dir(&disk).unwrap();
    let real = disk.join("log");
    std::fs::write(&real, "").unwrap();
    std::os::unix::fs::symlink(&real, &file).unwrap();
    let log = open(&file).unwrap();
    log.append(Append { events: vec![said(1, NEEDLE)], expect: Expect::Any }).unwrap();
    assert!(found(&real) > 0);
    log.erase(erasure([1], [])).unwrap();
    let names = || std::fs::read_dir(&disk).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!((found(&real), file.is_symlink(), names()), (0, true, vec!["log".into()]));
    log.compact().unwrap();
    assert!(file.is_symlink());
    // What another one left of a copy lies beside the file itself.
    drop(log);
    std::fs::write(rewrite::fresh(&real), "half of a copy").unwrap();
    assert_eq!(open(&file).unwrap().reader().verify(|_, _| {}).unwrap().head.size, 2);
    assert_eq!(names(), ["log"]);
    // Where it leads nowhere, nothing takes the place of either.
    std::fs::rename(&real, disk.join("away")).unwrap();
    assert!(matches!(open(&file), Err(OpenError::Io { .. })));
    assert_eq!((file.is_symlink(), names()), (true, vec!["away".into()]));
}

/// Appends that come while the log is rewritten wait, and are not lost.
#[test]
fn appends_go_on_beside_it() {
    let place = tempfile::tempdir().unwrap();
    let log = open(&place.path().join("events.redb")).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..200 {
                log.append(Append { events: vec![said(number, "bread")], expect: Expect::Any }).unwrap();
            }
        });
        for _ in 0..5 {
            log.compact().unwrap();
        }
    });
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, 200);
}

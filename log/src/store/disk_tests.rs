//! What becomes of a batch, and what the log says when its disk fails. The counts of syncs and bytes are in `faults/costs.rs`.

use ed25519_dalek::SigningKey;
use proptest::prelude::*;
use redb::{ReadableDatabase, ReadableTable};
use tokio::sync::mpsc;

use super::faults::disk::Disk;
use super::tests::{draft, one};
use super::*;
use crate::id::EventId;

fn log_on(disk: &Arc<Disk>) -> Log {
    faults::start(disk).unwrap()
}

fn numbered(number: u32, stream: &str) -> Draft {
    let mut id = [0; 16];
    id[..4].copy_from_slice(&number.to_be_bytes());
    Draft { id: EventId(id), ..draft(1, stream) }
}

/// The cause of a failure is told by whoever meets it first, be it one who only wants a signature.
#[test]
fn a_checkpoint_that_cannot_be_written_says_why() {
    let disk = Arc::new(Disk::default());
    let log = log_on(&disk);
    log.append(one(draft(1, "a"), Expect::NoStream)).unwrap();
    disk.power(false);
    let failed = log.checkpoint();
    assert!(matches!(failed, Err(AppendError::Unknown(_))), "{failed:?}");
    assert_eq!(log.checkpoint(), Err(AppendError::Stopped));
}

/// Whether a commit that failed reached the disk cannot be known; nothing is tried after it.
#[test]
fn a_failed_commit_is_unknown_and_stops_the_writer() {
    let disk = Arc::new(Disk::default());
    let log = log_on(&disk);
    log.append(one(draft(1, "a"), Expect::NoStream)).unwrap();
    let before = log.head();
    disk.power(false);
    let failed = log.append(one(draft(2, "a"), Expect::Exact(1)));
    assert!(matches!(failed, Err(AppendError::Unknown(_))), "{failed:?}");
    assert_eq!(log.head(), before, "the head is what is on disk");
    disk.power(true);
    for number in 3..6 {
        assert_eq!(log.append(one(draft(number, "a"), Expect::Any)), Err(AppendError::Stopped));
    }
    assert!(log.desk.as_ref().unwrap().is_closed(), "the writer has stopped, not only the store");
    drop(log);
    let log = log_on(&disk);
    assert!(log.head().size <= 2);
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head, log.head());
    // The id resolves what was unknown: there already, or taken now.
    log.append(one(draft(2, "a"), Expect::Any)).unwrap();
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, 2);
}

/// Requests of one batch, one after the other through the same transaction, as the writer does with what queued.
fn batch(log: &Log, requests: Vec<Append>) -> Vec<Result<Appended, AppendError>> {
    let mut acknowledged = Vec::new();
    let requests = requests.into_iter().map(|Append { events, expect }| {
        let (acknowledge, pending) = oneshot::channel();
        acknowledged.push(Pending(pending));
        Request { events: log.prepared(events), expect, acknowledge }
    });
    commit(log, requests.collect());
    acknowledged.into_iter().map(Pending::wait).collect()
}

fn commit(log: &Log, requests: Vec<Request>) {
    let (publish, _) = watch::channel(Head::default());
    let chain = open::chain(&log.database()).unwrap_or_else(|_| panic!("a sound log"));
    let tail = tail::Tail::load(&log.database(), &chain, seal::Lengths::of_a_log()).unwrap();
    let notary = writer::Notary::new(SigningKey::from_bytes(&[5; 32]), log.id.clone(), 0);
    let shared = (Arc::clone(&log.handle), Arc::clone(&log.archives));
    writer::Writer::new(shared, std::path::PathBuf::new(), (chain, tail), notary, publish)
        .commit(requests, &std::collections::BTreeSet::new())
        .expect("a sound store");
}

/// Readers unpack no more than 1 GiB: what is longer is refused before it is written.
#[test]
fn what_could_never_be_read_is_refused() {
    let log = log_on(&Arc::new(Disk::default()));
    let blob = Draft { blobs: vec![(plain_blob_hash(&[]), vec![0; (1 << 30) + 1])], ..draft(1, "a") };
    let append = |events| log.append(Append { events, expect: Expect::Any });
    assert_eq!(append(vec![blob]), Err(AppendError::Malformed("a text or blob of it is longer than 1 GiB")));
    let lengthened = |lengths: &[usize]| {
        let (acknowledge, pending) = oneshot::channel();
        let drafts = (1..).zip(lengths).map(|(number, _)| numbered(number, "a")).collect();
        let events = log.prepared(drafts).of_zeros(lengths);
        commit(&log, vec![Request { events, expect: Expect::Any, acknowledge }]);
        Pending(pending).wait()
    };
    let too_long = Err(AppendError::Malformed("its events are longer than 1 GiB together"));
    assert_eq!(lengthened(&[(1 << 30) - 100]), too_long, "with what a frame has beside it");
    assert_eq!(lengthened(&[1 << 29, 1 << 29]), too_long);
    assert_eq!(log.reader().size().unwrap(), 0);
    assert_eq!(lengthened(&[1 << 20, 1 << 20]), Ok(Appended::At { first: 1, last: 2 }));
}

/// Each request sees what earlier ones of its batch did; a refused one between two others leaves no row behind.
#[test]
fn a_refused_request_amid_a_batch_leaves_no_trace() {
    let log = log_on(&Arc::new(Disk::default()));
    let pair = |one: Draft, two: Draft| Append { events: vec![one, two], expect: Expect::Any };
    let other =
        Draft { event: crate::event::instance::CredentialRemoved { name: "x".to_owned() }.into(), ..draft(1, "a") };
    let answers = batch(
        &log,
        vec![
            one(draft(1, "a"), Expect::NoStream),
            one(draft(2, "a"), Expect::NoStream),
            one(draft(3, "b"), Expect::Exact(4)),
            one(draft(4, "a"), Expect::Exact(1)),
            one(draft(1, "a"), Expect::NoStream),
            one(other, Expect::Any),
            pair(draft(5, "c"), draft(4, "a")),
            pair(draft(6, "d"), draft(6, "d")),
            one(draft(7, "b"), Expect::NoStream),
        ],
    );
    let conflict = |stream: &str, found, expected| AppendError::Conflict { stream: stream.to_owned(), found, expected };
    let at = |seq| Ok(Appended::At { first: seq, last: seq });
    assert_eq!(
        answers,
        [
            at(1),
            Err(conflict("a", 1, 0)),
            Err(conflict("b", 0, 4)),
            at(2),
            Ok(Appended::AlreadyThere(1)),
            Err(AppendError::IdTaken { id: EventId([1; 16]), seq: 1 }),
            Err(AppendError::PartlyThere { id: EventId([4; 16]) }),
            Err(AppendError::Malformed("two of its events have the same id")),
            at(3),
        ]
    );
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, 3);
    let versions =
        |stream: &str| log.reader().stream(stream).unwrap().iter().map(|event| event.version).collect::<Vec<_>>();
    let expected: [Vec<u64>; 4] = [vec![1, 2], vec![1], Vec::new(), Vec::new()];
    assert_eq!(["a", "b", "c", "d"].map(versions), expected);
    assert_eq!(log.reader().seq_of(EventId([5; 16])).unwrap(), None);
}

/// A batch ends at 512 events or 1 MiB, and a request is never split.
#[test]
fn a_batch_is_bounded_and_whole() {
    let log = log_on(&Arc::new(Disk::default()));
    let request = |first: u32, count: u32, blob: usize| {
        let (acknowledge, _) = oneshot::channel();
        let mut drafts: Vec<Draft> = (first..first + count).map(|number| numbered(number, "a")).collect();
        drafts[0].blobs.push((plain_blob_hash(&[]), vec![0; blob]));
        Request { events: log.prepared(drafts), expect: Expect::Any, acknowledge }
    };
    let drained = |requests: Vec<Request>| {
        let (sender, mut inbox) = mpsc::channel(64);
        for request in requests {
            sender.try_send(Message::Append(request)).unwrap();
        }
        let Ok(Message::Append(first)) = inbox.try_recv() else { panic!("nothing was sent") };
        writer::drain(first, &mut inbox).0.iter().map(|request| request.events.len()).collect::<Vec<_>>()
    };
    assert_eq!(drained((0..4).map(|place| request(place * 300, 300, 0)).collect()), [300, 300]);
    assert_eq!(drained((0..4).map(|place| request(place, 1, 600 << 10)).collect()), [1, 1]);
    assert_eq!(drained((0..4).map(|place| request(place, 1, 0)).collect()), [1, 1, 1, 1]);
}

/// Verification beside a writer looks at the log as it was when it began, and finds nothing wrong.
#[test]
fn a_growing_log_verifies() {
    let log = log_on(&Arc::new(Disk::default()));
    log.append(one(numbered(0, "a"), Expect::Any)).unwrap();
    let more = |round: u32| {
        let drafts = (1..200).map(|place| numbered(round * 1000 + place, &format!("s/{round}")));
        log.append(Append { events: drafts.collect(), expect: Expect::Any }).unwrap();
    };
    for round in 1..9 {
        let mut rounds = 0;
        let verified = log.reader().verify(|_, _| {
            more(round * 10 + rounds);
            rounds += 1;
        });
        assert!(verified.unwrap().head.size < log.head().size);
    }
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head, log.head());
}

/// More than one chunk, with damage in the second: what is before it is not blamed, and an index row far away is found.
#[test]
fn damage_beyond_the_first_chunk_is_named() {
    let disk = Arc::new(Disk::default());
    let log = log_on(&disk);
    let drafts: Vec<Draft> = (0..10_000).map(|number| numbered(number, &format!("s/{}", number % 1000 % 37))).collect();
    // The last are too few to be sealed; all but one of them too many for a page.
    let (many, few) = drafts.split_at(drafts.len() - 41);
    for drafts in many.chunks(1000).chain([&few[..40], &few[40..]]) {
        log.append(Append { events: drafts.to_vec(), expect: Expect::Any }).unwrap();
    }
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, 10_000);
    let change = |change: &dyn Fn(&redb::WriteTransaction)| {
        let transaction = log.database().begin_write().unwrap();
        change(&transaction);
        transaction.commit().unwrap();
    };
    let found = || log.reader().verify(|_, _| {}).unwrap_err();
    // A row of a stream that began with the first event, a run of ids, a row that belongs to no event, then an event.
    let stored = log.database().begin_read().unwrap();
    let (place, run) =
        stored.open_table(tables::STREAM_RUNS).unwrap().range((1, 9)..).unwrap().next().unwrap().unwrap();
    let (place, run) = (place.value(), run.value().to_vec());
    let seq = index::read_run(&run).unwrap()[0];
    change(&|transaction| drop(transaction.open_table(tables::STREAM_RUNS).unwrap().remove(place).unwrap()));
    assert!(matches!(found(), Damage::Index { table: "stream_runs", seq: at, .. } if at == seq), "{}", found());
    change(&|transaction| {
        drop(transaction.open_table(tables::STREAM_RUNS).unwrap().insert(place, run.as_slice()).unwrap());
    });
    let id_runs = stored.open_table(tables::ID_RUNS).unwrap();
    let (least, run) = id_runs.iter().unwrap().nth(1).unwrap().unwrap();
    let (least, run) = (least.value(), run.value());
    change(&|transaction| drop(transaction.open_table(tables::ID_RUNS).unwrap().remove(least).unwrap()));
    assert!(matches!(found(), Damage::Index { table: "id_runs", seq: at, .. } if at == run.1), "{}", found());
    for other in [(run.0, run.1 - 1, run.2), (run.0, run.1, run.2 + 1), ([0xff; 16], run.1, run.2)] {
        change(&|transaction| drop(transaction.open_table(tables::ID_RUNS).unwrap().insert(least, other).unwrap()));
        assert!(matches!(found(), Damage::Index { table: "id_runs", .. }), "{}", found());
    }
    change(&|transaction| drop(transaction.open_table(tables::ID_RUNS).unwrap().insert(least, run).unwrap()));
    change(&|transaction| drop(transaction.open_table(tables::STREAMS).unwrap().insert("stray", 7).unwrap()));
    assert!(matches!(found(), Damage::Index { table: "streams", seq: 0, .. }), "{}", found());
    change(&|transaction| drop(transaction.open_table(tables::STREAMS).unwrap().remove("stray").unwrap()));
    let rows = |table: redb::TableDefinition<'_, u64, &'static [u8]>| {
        let table = log.database().begin_read().unwrap().open_table(table).unwrap();
        let rows =
            table.iter().unwrap().map(|row| row.unwrap()).map(|(key, value)| (key.value(), value.value().to_vec()));
        rows.collect::<Vec<_>>()
    };
    for (table, row) in [(tables::TAIL, 0), (tables::SEGMENTS, 1)] {
        let (seq, value) = rows(table).swap_remove(row);
        change(&|transaction| drop(transaction.open_table(table).unwrap().remove(seq).unwrap()));
        assert!(matches!(found(), Damage::Event { seq: at, .. } if at == seq), "{seq}: {}", found());
        change(&|transaction| drop(transaction.open_table(table).unwrap().insert(seq, value.as_slice()).unwrap()));
    }
    assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, 10_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// However requests are cut into batches, every row is where verification wants it.
    #[test]
    fn any_batches_verify(cuts in proptest::collection::vec((1_u32..6, 0_u32..4, 0_u64..3), 1..24)) {
        let log = log_on(&Arc::new(Disk::default()));
        let mut size = 0;
        let mut number = 0;
        let requests = cuts.iter().map(|&(events, stream, version)| {
            let drafts = (0..events).map(|_| { number += 1; numbered(number * 7919 % 100_003, &format!("s/{stream}")) });
            Append { events: drafts.collect(), expect: if version == 0 { Expect::Any } else { Expect::Exact(version) } }
        });
        let requests: Vec<Append> = requests.collect();
        for answer in batch(&log, requests) {
            if let Ok(Appended::At { first, last }) = answer {
                prop_assert_eq!(first, size + 1);
                size = last;
            }
        }
        prop_assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, size);
    }
}

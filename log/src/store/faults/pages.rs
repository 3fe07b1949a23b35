//! Flipped bits of the file itself: whatever redb makes of a damaged page, a log says that it is damaged, or is as good as it
//! was because nobody needed that bit. It does not panic, does not hang, and no wrong event is read as a good one.
//!
//! Only bytes that are read can matter, and the disk knows which those are. `METNOS_TEST_FLIPS` says how many of them are
//! flipped, `all` each of them once; which bit is a matter of chance.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::chance::Chance;
use super::cuts::start_at;
use super::disk::Disk;
use super::panics;
use super::sealed::{Image, long, open_beside, sealed, small};
use crate::Recorded;
use crate::envelope::Draft;
use crate::id::EventId;
use crate::store::tests::draft;
use crate::store::{Append, Expect, Log};

/// How many bytes of each image are flipped, unless `METNOS_TEST_FLIPS` says how many.
const FLIPS: usize = 6000;
/// What no opened and verified log takes; one that does hangs.
const PATIENCE: Duration = Duration::from_mins(2);

/// A byte's place, and the bit of it.
type Flip = (usize, usize);

/// What a thread is at, and since when.
type Begun = (Flip, Instant);

/// What a flipped bit came to.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    Unopened,
    Reported,
    Unneeded,
    /// The last commit is gone: after a kill redb takes a commit whose pages are damaged for one that was never finished.
    RolledBack,
}

/// All that a log says of itself.
#[derive(Clone, Debug, PartialEq)]
struct Said {
    events: Vec<Recorded>,
    /// The same, each looked up by its number.
    by_number: Vec<Recorded>,
    instance: Vec<Recorded>,
}

fn said_by(log: &Log) -> Result<Said, crate::store::ReadError> {
    let reader = log.reader();
    let mut events = Vec::new();
    reader.each(1, |event| {
        events.push(reader.rehydrated(event)?);
        Ok::<bool, crate::store::ReadError>(true)
    })?;
    let numbered = |seq| reader.event(seq)?.map(|event| reader.rehydrated(event)).transpose();
    let by_number: Result<Vec<_>, _> = (1..=reader.size()?).filter_map(|seq| numbered(seq).transpose()).collect();
    Ok(Said { events, by_number: by_number?, instance: reader.stream("instance")? })
}

/// A log at rest, closed or left as a kill leaves it, and what it says.
struct Rest {
    name: &'static str,
    bytes: Vec<u8>,
    closed: bool,
    folder: TempDir,
    good: Said,
}

impl Rest {
    fn of(name: &'static str, image: &Image, closed: bool) -> Self {
        let (folder, bytes) = (image.laid_out(), if closed { &image.closed } else { &image.killed });
        let good = said_by(&open_beside(&folder, bytes.clone()).unwrap()).unwrap();
        Self { name, bytes: bytes.clone(), closed, folder, good }
    }
}

impl Said {
    /// What it said before its last event, which was appended by itself.
    fn before(mut self) -> Self {
        self.events.pop();
        self.by_number.pop();
        self
    }
}

/// The bytes that opening, verifying, reading and closing look at.
fn read_places(rest: &Rest) -> Vec<usize> {
    let disk = Arc::new(Disk::holding(rest.bytes.clone(), Chance::of(0)));
    disk.watch_reads();
    let log = start_at(&disk, &rest.folder.path().join("events.redb")).unwrap();
    assert!(log.reader().verify(|_, _| {}).is_ok() && said_by(&log).is_ok());
    drop(log);
    disk.read_places()
}

fn flipped(rest: &Rest, (place, bit): Flip) -> Seen {
    let Rest { closed, good, .. } = rest;
    let mut bytes = rest.bytes.clone();
    bytes[place] ^= 1 << bit;
    let disk = Arc::new(Disk::holding(bytes, Chance::of(0)));
    let Ok(log) = start_at(&disk, &rest.folder.path().join("events.redb")) else { return Seen::Unopened };
    let (verified, said) = (log.reader().verify(|_, _| {}), said_by(&log));
    match (&verified, &said) {
        (Ok(_), Ok(said)) if !*closed && *said == good.clone().before() => return Seen::RolledBack,
        (Ok(_), Ok(said)) => assert_eq!(said, good, "a log that verifies says something else"),
        (Err(_), Ok(said)) => {
            let (known, other) = (good.events.get(..said.events.len()), &said.events);
            assert_eq!(known, Some(other.as_slice()), "a damaged log shows a wrong event");
        }
        (Ok(_), Err(error)) => panic!("it verifies, and cannot be read: {error}"),
        (Err(_), Err(_)) => {}
    }
    if verified.is_err() {
        return Seen::Reported;
    }
    // All pages of a killed one were read as it was opened. What closing wrote down of them is good until the next commit: only
    // then does a kill have them all read.
    if *closed {
        let draft = Draft { id: EventId([200; 16]), ..draft(200, "later") };
        log.append(Append { events: vec![draft], expect: Expect::Any }).expect("a log that verifies takes events");
        let again = open_beside(&rest.folder, disk.bytes()).expect("a log that verifies opens after a kill");
        let said = said_by(&again).unwrap().before();
        assert_eq!(said, *good, "a log that verifies says something else after a kill");
    }
    Seen::Unneeded
}

fn flips(rest: &Rest) {
    flips_at(rest, read_places(rest));
}

fn flips_at(rest: &Rest, mut places: Vec<usize>) {
    panics::watch();
    let count = places.len();
    let mut chance = Chance::of(count as u64);
    let wanted = std::env::var("METNOS_TEST_FLIPS").unwrap_or_default();
    if wanted != "all" {
        chance.shuffle(&mut places);
        places.truncate(wanted.parse().unwrap_or(FLIPS));
    }
    let flips: Vec<Flip> = places.into_iter().map(|place| (place, chance.below(8))).collect();
    let seen = Mutex::new(BTreeMap::<Seen, usize>::new());
    each(&flips, |&(place, bit)| {
        let found = flipped(rest, (place, bit));
        *seen.lock().unwrap().entry(found).or_default() += 1;
    });
    let (seen, tried) = (seen.into_inner().unwrap(), flips.len());
    eprintln!(
        "{tried} of {count} bytes that are read, a bit of each flipped ({}, closed: {}): {seen:?}",
        rest.name, rest.closed
    );
    assert!(seen.keys().any(|seen| *seen != Seen::Unneeded), "{seen:?}");
    assert_eq!(panics::own(), Vec::<String>::new());
}

/// Runs each flip on as many threads as there are processors; one that hangs ends the test.
fn each(flips: &[Flip], run: impl Fn(&Flip) + Sync) {
    let (next, began) = (AtomicU64::new(0), Instant::now());
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let at: Vec<Mutex<Option<Begun>>> = (0..threads).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        let workers: Vec<_> = at
            .iter()
            .map(|at| {
                scope.spawn(|| {
                    loop {
                        let place = usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap();
                        let Some(flip) = flips.get(place) else { return };
                        *at.lock().unwrap() = Some((*flip, Instant::now()));
                        run(flip);
                    }
                })
            })
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            for at in &at {
                if let Some((flip, since)) = *at.lock().unwrap()
                    && since.elapsed() > PATIENCE
                {
                    eprintln!("byte and bit {flip:?} hang the log, {:?} after the beginning", began.elapsed());
                    std::process::abort();
                }
            }
        }
    });
}

#[test]
fn a_flipped_bit_of_a_closed_file_is_reported_or_unneeded() {
    flips(&Rest::of("small", &small(), true));
    flips(&Rest::of("sealed", &sealed(), true));
}

/// What leads to rows, where one page does not hold all of them: whoever reads them in order does not go by it.
#[test]
fn a_flipped_bit_on_the_way_to_a_row_is_reported_or_unneeded() {
    for closed in [true, false] {
        let rest = Rest::of("long", &long(), closed);
        // Pages that hold the numbers of others begin with this byte, and how many keys there are.
        let is_branch = |page: &usize| rest.bytes[*page] == 2 && (1..64).contains(&rest.bytes[*page + 2]);
        let branches = (0..rest.bytes.len()).step_by(4096).filter(is_branch);
        let places: Vec<usize> = branches.flat_map(|page| page..page + 700).collect();
        assert!(!places.is_empty(), "no page leads to others");
        flips_at(&rest, places);
    }
}

#[test]
fn a_flipped_bit_of_a_killed_file_is_reported_or_unneeded() {
    flips(&Rest::of("small", &small(), false));
    flips(&Rest::of("sealed", &sealed(), false));
}

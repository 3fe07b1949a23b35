//! Power cuts: a log at work on a disk that dies at a random call. What was acknowledged is there when the power comes
//! back, what was not is there whole or not at all, and the log goes on. On a disk that lies the same must fail.
//!
//! One number decides a run. `METNOS_TEST_SEED` runs that one alone, `METNOS_TEST_CUTS` says how many there are.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ed25519_dalek::SigningKey;

use super::chance::Chance;
use super::disk::{Cut, Disk, Handle};
use super::panics;
use super::workload::{self, Asked, Model};
use crate::redact::Redactor;
use crate::store::open::refused;
use crate::store::prepare::SEED;
use crate::store::withheld::Opened;
use crate::store::{AppendError, Appended, Log, LogKeys, Pending};

/// How many cuts each mode gets, unless `METNOS_TEST_CUTS` says how many: what a debug build does in a minute or two.
/// `.ci/run` has an optimised one make a thousand.
const CUTS: u64 = 300;
/// The most cuts that interrupt the opening after a cut.
const CUTS_NESTED_MAX: usize = 3;
/// Requests before the cut that are made again after it, besides all that have no answer.
const REPEATED: usize = 8;

type Answer = Result<Appended, AppendError>;

/// A way to commit that the log uses.
struct Mode {
    name: &'static str,
    start: fn(&Arc<Disk>) -> Result<Log, String>,
}

/// Every way to commit that the log uses.
const MODES: [Mode; 1] = [Mode { name: "immediate, one phase", start }];

pub(super) fn keys() -> LogKeys {
    LogKeys {
        blob_key: [3; 32],
        redactor: Redactor::new([2; 32], Vec::new()),
        fresh_id: [4; 16],
        signing: SigningKey::from_bytes(&[5; 32]),
    }
}

/// Starts a log on a disk, as [`Log::open`] does on a file.
pub(in crate::store) fn start(disk: &Arc<Disk>) -> Result<Log, String> {
    start_at(disk, Path::new("in memory"))
}

/// The same with a place beside which archive files are looked for.
pub(super) fn start_at(disk: &Arc<Disk>, path: &Path) -> Result<Log, String> {
    let keys = keys();
    let opened = || Opened::on(Handle(Arc::clone(disk))).map_err(|error| refused(path, error));
    Log::start(opened, path, keys).map_err(|error| error.to_string())
}

/// Says how to run one seed alone, should it fail.
struct Named<'a>(&'a Mode, u64);

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the run of «{}» that failed is METNOS_TEST_SEED={}", self.0.name, self.1);
        }
    }
}

/// What a cut left.
struct Left {
    image: Vec<u8>,
    asked: Vec<Asked>,
    answers: Vec<Answer>,
    chance: Chance,
    trace: u64,
}

/// Works until the power goes, at a random call: while the requests of a random round are answered, or when the log is
/// closed. The creation is looked at by itself.
fn worked_until_cut(mode: &Mode, seed: u64, lies: bool) -> Left {
    let mut chance = Chance::of(seed);
    SEED.set(Some((*blake3::hash(&seed.to_le_bytes()).as_bytes(), u32::MAX)));
    let disk = Arc::new(Disk::holding(Vec::new(), Chance::of(chance.next())));
    let rounds = workload::rounds(&mut chance);
    let dies_in = chance.below(rounds.len() + 1);
    let (mut asked, mut answers) = (Vec::new(), Vec::new());
    let log = (mode.start)(&disk).expect("the disk is sound yet");
    if lies {
        disk.lies_in(chance.below(4));
    }
    for (number, round) in rounds.into_iter().enumerate() {
        if number == dies_in {
            disk.cut_at(drawn_cut(&mut chance));
        }
        answers.extend(answered(&log, &disk, &round));
        asked.extend(round);
        if !disk.has_power() {
            break;
        }
    }
    if disk.has_power() {
        disk.cut_at(Cut::Call(chance.below(12)));
    }
    drop(log);
    disk.power(false);
    Left { image: disk.survivors(), asked, answers, chance, trace: disk.trace() }
}

/// One of the calls that a round makes, of a few or of many.
fn drawn_cut(chance: &mut Chance) -> Cut {
    if chance.percent(40) {
        return Cut::Sync(chance.below(4));
    }
    let span = 1 << chance.within(1..=7);
    Cut::Call(chance.below(span))
}

/// The first of a round keeps the writer at the disk until the others wait behind it, so that a seed decides which of them
/// share a commit.
fn answered(log: &Log, disk: &Disk, round: &[Asked]) -> Vec<Answer> {
    disk.close_gate();
    let first = log.submit(round[0].append());
    disk.await_arrival();
    let others: Vec<Pending> = round[1..].iter().map(|asked| log.submit(asked.append())).collect();
    disk.open_gate();
    std::iter::once(first).chain(others).map(Pending::wait).collect()
}

fn is_unknown(answer: &Answer) -> bool {
    matches!(answer, Err(AppendError::Unknown(_) | AppendError::Stopped))
}

/// What came back after a cut.
#[derive(Debug, Default)]
struct Recovered {
    /// Requests that the cut left without an answer.
    unanswered: u64,
    /// Those of them that are there.
    kept: u64,
    /// Events that are there.
    events: u64,
    /// Cuts of the opening.
    nested: u64,
    /// Sealed segments that are there.
    segments: u64,
}

impl Recovered {
    fn add(&mut self, other: &Self) {
        self.unanswered += other.unanswered;
        self.kept += other.kept;
        self.events += other.events;
        self.nested += other.nested;
        self.segments += other.segments;
    }
}

/// Opens what is left, and holds it against all that was asked and answered.
fn recovered(mode: &Mode, left: Left) -> Result<Recovered, String> {
    let Left { image, asked, answers, mut chance, .. } = left;
    let mut model = Model::default();
    let mut states = vec![model.clone()];
    let mut acknowledged = 0;
    for (place, (asked, answer)) in asked.iter().zip(&answers).enumerate() {
        let wanted = model.answer(asked);
        if !is_unknown(answer) && *answer != wanted {
            return Err(format!("request {place} was answered {answer:?}, not {wanted:?}"));
        }
        if let Ok(Appended::At { last, .. }) = answer {
            acknowledged = *last;
        }
        states.push(model.clone());
    }
    let (image, nested) = opened_under_cuts(mode, image, &mut chance)?;
    let disk = Arc::new(Disk::holding(image, Chance::of(chance.next())));
    let log = (mode.start)(&disk).map_err(|what| format!("the log does not open: {what}"))?;
    let events = log.head().size;
    if events < acknowledged {
        return Err(format!("{acknowledged} events were acknowledged, {events} are there"));
    }
    let taken = states.iter().rposition(|state| state.size() == events);
    let taken = taken.ok_or_else(|| format!("{events} events are there: a request is there in part"))?;
    is_whole(&log, &states[taken])?;
    let unanswered = answers.iter().filter(|answer| is_unknown(answer)).count() as u64;
    let kept = answers[..taken].iter().filter(|answer| is_unknown(answer)).count() as u64;
    goes_on(&log, states.swap_remove(taken), &asked[taken.saturating_sub(REPEATED)..], &mut chance)?;
    let head = log.head();
    drop(log);
    let log = (mode.start)(&disk).map_err(|what| format!("the log does not open again: {what}"))?;
    let verified = log.reader().verify(|_, _| {}).map_err(|damage| damage.to_string())?;
    let segments = verified.segments;
    if log.head() != head || verified.head != head {
        return Err("the log that was closed is not the log that opens".to_owned());
    }
    Ok(Recovered { unanswered, kept, events, nested, segments })
}

/// The opening dies too, some times over; what is left then.
fn opened_under_cuts(mode: &Mode, mut image: Vec<u8>, chance: &mut Chance) -> Result<(Vec<u8>, u64), String> {
    let mut nested = 0;
    for _ in 0..chance.below(CUTS_NESTED_MAX + 1) {
        let disk = Arc::new(Disk::holding(image, Chance::of(chance.next())));
        disk.cut_at(Cut::Call(chance.below(16)));
        match (mode.start)(&disk) {
            Err(what) if disk.has_power() => return Err(format!("the log does not open: {what}")),
            opened => drop(opened),
        }
        nested += u64::from(!disk.has_power());
        disk.power(false);
        image = disk.survivors();
    }
    Ok((image, nested))
}

fn is_whole(log: &Log, model: &Model) -> Result<(), String> {
    let verified = log.reader().verify(|_, _| {}).map_err(|damage| damage.to_string())?;
    if verified.head != log.head() {
        return Err(format!("it verifies {:?} and has {:?}", verified.head, log.head()));
    }
    model.is_held_by(&log.reader())
}

/// Requests are taken once however often they are made, and new ones find their place.
fn goes_on(log: &Log, mut model: Model, asked: &[Asked], chance: &mut Chance) -> Result<(), String> {
    let new = workload::afterwards(chance, &model);
    let asked: Vec<&Asked> = asked.iter().chain(&new).collect();
    let pending: Vec<Pending> = asked.iter().map(|asked| log.submit(asked.append())).collect();
    for (asked, pending) in asked.into_iter().zip(pending) {
        let (answer, wanted) = (pending.wait(), model.answer(asked));
        if answer != wanted {
            return Err(format!("made again after the cut, a request is answered {answer:?}, not {wanted:?}"));
        }
    }
    is_whole(log, &model)
}

/// Which seeds are to be run.
fn seeds() -> Vec<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let all = || (0..number("METNOS_TEST_CUTS").unwrap_or(CUTS)).collect();
    number("METNOS_TEST_SEED").map_or_else(all, |seed| vec![seed])
}

/// Runs each seed, on as many threads as there are processors.
fn each(seeds: &[u64], run: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let place = usize::try_from(next.fetch_add(1, Ordering::Relaxed)).expect("it counts runs");
                    let Some(seed) = seeds.get(place) else { return };
                    run(*seed);
                }
            });
        }
    });
}

/// What a run on a lying disk came to.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    Nothing,
    Lost,
    Unopened,
}

/// How many runs in a hundred on a lying disk must be found wrong.
const CAUGHT_MIN: usize = 50;

#[test]
fn a_power_cut_loses_nothing_that_was_acknowledged() {
    let seeds = seeds();
    for mode in &MODES {
        let all = Mutex::new(Recovered::default());
        each(&seeds, |seed| {
            let _named = Named(mode, seed);
            let recovered = recovered(mode, worked_until_cut(mode, seed, false));
            let recovered = recovered.unwrap_or_else(|what| panic!("{what}"));
            all.lock().expect("nobody panics with it").add(&recovered);
        });
        let all = all.into_inner().expect("nobody panics with it");
        eprintln!("{} power cuts of «{}»: {all:?}", seeds.len(), mode.name);
        if seeds.len() >= 100 {
            let share = seeds.len() as u64 / 10;
            assert!(
                all.unanswered > share && all.kept > share && all.nested > share && all.segments > share,
                "the cuts miss what matters"
            );
        }
    }
}

/// However a creation ends, the next one begins anew, and what is found under the log's name is a whole log.
#[test]
fn a_creation_that_was_cut_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut refused = 0;
    for seed in 0..40 {
        let mut chance = Chance::of(seed);
        let disk = Arc::new(Disk::holding(Vec::new(), Chance::of(chance.next())));
        disk.cut_at(Cut::Call(chance.below(12)));
        drop(start(&disk));
        disk.power(false);
        let left = disk.survivors();
        refused += usize::from(start(&Arc::new(Disk::holding(left.clone(), Chance::of(0)))).is_err());
        let path = folder.path().join(format!("{seed}.redb"));
        std::fs::write(path.with_extension("redb.new"), left).unwrap();
        let keys = keys();
        let log = Log::open(&path, keys, Duration::ZERO).unwrap();
        let new = workload::afterwards(&mut chance, &Model::default());
        for asked in new {
            assert!(matches!(log.append(asked.append()), Ok(Appended::At { .. })));
        }
        assert!(log.reader().verify(|_, _| {}).is_ok() && !path.with_extension("redb.new").exists());
    }
    assert!(refused > 0, "no creation was cut where it matters");
}

/// The negative control: the same runs on a disk that says «synced» and is not.
#[test]
fn a_disk_that_lies_is_caught() {
    panics::watch();
    let seeds = seeds();
    for mode in &MODES {
        let seen = Mutex::new(BTreeMap::<Seen, usize>::new());
        each(&seeds, |seed| {
            let _named = Named(mode, seed);
            let found = match recovered(mode, worked_until_cut(mode, seed, true)) {
                Ok(_) => Seen::Nothing,
                Err(what) if what.contains("does not open") => Seen::Unopened,
                Err(_) => Seen::Lost,
            };
            *seen.lock().expect("nobody panics with it").entry(found).or_default() += 1;
        });
        let seen = seen.into_inner().expect("nobody panics with it");
        eprintln!("{} power cuts of «{}» on a disk that lies: {seen:?}", seeds.len(), mode.name);
        let passed = seen.get(&Seen::Nothing).copied().unwrap_or_default();
        if seeds.len() >= 100 {
            assert!(passed * 100 <= seeds.len() * (100 - CAUGHT_MIN), "{seen:?}");
        }
    }
    assert_eq!(panics::own(), Vec::<String>::new());
}

/// One number is one run, call for call.
#[test]
fn a_seed_decides_every_call() {
    for seed in [1, 2, 3, 5, 8, 13] {
        let [one, other] = [(); 2].map(|()| worked_until_cut(&MODES[0], seed, false));
        assert_eq!((one.trace, one.answers), (other.trace, other.answers), "seed {seed}");
    }
}

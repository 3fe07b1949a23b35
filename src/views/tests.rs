//! Files of views beside the log itself: after every commit of a making that broke off, damaged, foreign, ahead, of another
//! version, erased.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use metnos_log::{Append, Draft, Event, EventId, Expect, Micros, TurnId};
use metnos_projections::view::Put;
use metnos_projections::views::audit::selection::Selection;
use metnos_projections::views::audit::{Audit, Kind as LineKind, Line};
use metnos_projections::views::search::words;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::state::{Compared, Condition};
use super::*;
use crate::config::{Flags, Variables};
use crate::erasure::{self, Selector};

const SILENT: Watch<'static> = &|_, _| {};
/// The time of the first turn, µs.
const BEGUN: i64 = 1_700_000_000_000_000;

fn open(place: &Path) -> Instance {
    let variables = Variables { user_home: Some(place.to_owned()), ..Variables::default() };
    Instance::open(Some(&place.join("home")), &Flags::default(), &variables, Duration::ZERO).unwrap()
}

fn event(label: &str, payload: Value) -> Event {
    Event::from_json(label, 1, payload).unwrap().unwrap()
}

fn text(text: &str) -> Value {
    json!({ "inline": text, "len": text.len() })
}

/// The turn of a number: who asked, what, which executor, the answer.
fn turn(number: u32) -> Vec<Draft> {
    let sentences =
        ["Leggi la bolletta di Marzo", "read the bill of march", "che ore sono", "Perché il caffè è finito?"];
    let (sentence, tool) = match number % 4 {
        0 => (sentences[0], "read_files"),
        1 => (sentences[1], "read_files"),
        2 => (sentences[2], "get_now"),
        _ => (sentences[3], "find_files"),
    };
    // The clock goes back now and then.
    let time = BEGUN + 60_000_000 * i64::from(number) - 3_600_000_000 * i64::from(number % 50 == 49);
    let opened = json!({
        "text": format!("{sentence} n{number}"), "language": null, "fallback_language": "it", "channel": "console",
        "engine": "simple", "mode": "local", "autonomy": "full", "approve": "none", "home": "/", "own": ["", "", ""],
        "folder": "/", "zone": "UTC", "existing": [], "rules_digest": "",
    });
    let started = json!({
        "trace_id": format!("t{number}"), "step": 1, "tool": tool, "version": "1.0.0", "plan_digest": "", "repeatable": true,
    });
    let finished = json!({
        "trace_id": format!("t{number}"), "step": 1, "ok": true, "class": null, "result": text("\"observed\""),
        "effects": [], "checks": [], "duration_us": 5, "cage": {}, "connections": [], "diagnostics": text(""),
    });
    // Every tenth answer is long, and lies in a blob.
    let answer =
        format!("{}the answer number a{number}", if number % 10 == 5 { " ".repeat(20_000) } else { String::new() });
    let closed = json!({ "final_kind": "answer", "class": null, "message": text(&answer), "counts": {} });
    let events = [
        event("turn_opened", opened),
        event("invocation_started", started),
        event("invocation_finished", finished),
        event("turn_closed", closed),
    ];
    let id = |part: u8| {
        let mut id = [part; 16];
        id[..4].copy_from_slice(&number.to_be_bytes());
        id
    };
    let turn = TurnId(id(9));
    let draft = |(event, part): (Event, u8)| Draft {
        id: EventId(id(part)),
        time: Micros(time + i64::from(part)),
        stream: format!("turn/{turn}"),
        actor: if number.is_multiple_of(3) { "guest_1" } else { "owner" }.to_owned(),
        turn: Some(turn),
        cause: None,
        event,
        blobs: Vec::new(),
    };
    events.into_iter().zip(1..).map(draft).collect()
}

fn live(instance: &Instance, numbers: std::ops::Range<u32>) {
    let events = numbers.flat_map(turn).collect();
    instance.log.append(Append { events, expect: Expect::Any }).unwrap();
    instance.catch_up().unwrap();
}

fn found(instance: &Instance, said: &str, most: usize) -> Vec<u64> {
    let size = instance.projected().position;
    turns::find(instance, &words(said), (most, size), SILENT).unwrap().opened
}

/// The same, by reading the log.
fn read(instance: &Instance, said: &str) -> Vec<u64> {
    let reader = instance.log.reader();
    let (mut view, mut rows) = (Search::default(), BTreeSet::new());
    let each = reader.each(1, |recorded| {
        let recorded = reader.rehydrated(recorded)?;
        view.evolve(&recorded, &mut |key, _| {
            rows.insert(key);
        });
        Ok::<bool, ReadError>(true)
    });
    each.unwrap();
    let has = |opened: &u64| {
        words(said).iter().all(|word| rows.contains(&metnos_projections::views::search::key(word, *opened)))
    };
    (1..=instance.log.head().size).rev().filter(has).collect()
}

/// Every line of the audit, by reading the log.
fn lines(instance: &Instance) -> Vec<Line> {
    let (mut audit, mut lines) = (Audit::default(), Vec::new());
    let each = instance.log.reader().each(1, |recorded| {
        lines.extend(audit.take(&recorded));
        Ok::<bool, ReadError>(true)
    });
    each.unwrap();
    lines
}

fn chosen(instance: &Instance, selection: &Selection) -> Vec<Line> {
    let size = instance.projected().position;
    let chosen = audit::chosen(instance, selection, size, SILENT).unwrap().unwrap();
    let mut lines = Vec::new();
    audit::each(instance, &chosen, |line| {
        lines.push(line.clone());
        Ok::<(), ViewError>(())
    })
    .unwrap();
    lines
}

/// Each file holds what the log comes to, and there are so many.
#[track_caller]
fn all_are_true(instance: &Instance, files: usize) {
    let compared = state::compare(instance, SILENT).unwrap();
    assert_eq!(compared.len(), files);
    for Compared { name, computed, live } in compared {
        assert_eq!(computed, live, "{name}");
    }
}

fn file(instance: &Instance, name: &str) -> PathBuf {
    instance.dirs.data.join("projections").join(name)
}

#[test]
fn a_choice_by_the_index_is_the_choice_by_the_log() {
    let place = tempfile::tempdir().unwrap();
    let instance = open(place.path());
    live(&instance, 0..150);
    let all = lines(&instance);
    let time = |turn: i64| BEGUN + 60_000_000 * turn;
    let (times, kinds) =
        ([None, Some(time(40)), Some(time(100) + 3), Some(i64::MIN), Some(i64::MAX)], [None, Some(LineKind::Turns)]);
    let some = |text: &str| Some(text.to_owned());
    let turn = all[100].turn.clone();
    let mut asked = 0;
    for since in times {
        for before in times {
            for kind in kinds.into_iter().chain([
                Some(LineKind::Executors),
                Some(LineKind::Corrections),
                Some(LineKind::Erasures),
            ]) {
                for actor in [None, some("guest_1"), some("nobody")] {
                    for (executor, turn) in
                        [(None, None), (some("get_now"), None), (None, turn.clone()), (some("x"), turn.clone())]
                    {
                        let actor = actor.clone();
                        let selection = Selection { since, before, kind, actor, executor, turn };
                        let expected: Vec<&Line> = all.iter().filter(|line| selection.takes(line)).collect();
                        let by_index = chosen(&instance, &selection);
                        assert!(by_index.iter().eq(expected.iter().copied()), "{selection:?}");
                        asked += usize::from(!expected.is_empty());
                    }
                }
            }
        }
    }
    assert!(asked > 50, "{asked}");
    all_are_true(&instance, 1);
}

#[test]
fn turns_are_found_by_words_whatever_their_case_and_accents() {
    let place = tempfile::tempdir().unwrap();
    let instance = open(place.path());
    live(&instance, 0..100);
    for (said, count) in [
        ("BOLLETTA", 25),
        ("marzo leggi", 25),
        ("march", 25),
        ("caffe perche", 25),
        ("caffè n7", 1),
        ("a15", 1),
        ("answer number", 100),
        ("bolletta march", 0),
        ("n7 n11", 0),
        ("observed", 0),
        ("bollett", 0),
    ] {
        let expected = read(&instance, said);
        assert_eq!(expected.len(), count, "{said}");
        assert_eq!(found(&instance, said, 1000), expected, "{said}");
        assert_eq!(found(&instance, said, 3), expected[..count.min(3)], "{said}");
    }
    assert!(turns::find(&instance, &words("answer"), (3, 1000), SILENT).unwrap().is_cut);
    // As of an event, what was said later is not known.
    let newest = found(&instance, "answer", 1)[0];
    let before = turns::find(&instance, &words("answer"), (1, newest - 1), SILENT).unwrap();
    assert_eq!((before.opened, before.position), (vec![newest - 4], newest - 1));
    let mode = fs::metadata(file(&instance, "search.redb")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    all_are_true(&instance, 1);
}

/// What a kill leaves is the file as it was after a commit: each of them, begun and gone on with.
#[test]
fn a_making_that_broke_off_goes_on_where_it_was() {
    let place = tempfile::tempdir().unwrap();
    let instance = open(place.path());
    live(&instance, 0..100);
    let new = file(&instance, "search.redb.new");
    let (copies, parts) = (place.path().join("copies"), RefCell::new(Vec::new()));
    fs::create_dir(&copies).unwrap();
    let watch = |done: u64, of: u64| {
        assert!(done < of);
        fs::copy(&new, copies.join(done.to_string())).unwrap();
        parts.borrow_mut().push(done);
    };
    let size = instance.projected().position;
    let expected = turns::find(&instance, &words("answer"), (1000, size), &watch).unwrap();
    let parts = parts.into_inner();
    assert!(parts.len() >= 9 && parts.is_sorted(), "{parts:?}");
    let (whole, _) = V::digest(&instance);
    for part in &parts {
        for ready in [false, true] {
            discard::<Search>(&instance).unwrap();
            let begun = if ready { file(&instance, "search.redb") } else { new.clone() };
            fs::copy(copies.join(part.to_string()), &begun).unwrap();
            let seen = RefCell::new(Vec::new());
            let again = turns::find(&instance, &words("answer"), (1000, size), &|done, _| seen.borrow_mut().push(done));
            assert_eq!(again.unwrap(), expected);
            let rest: Vec<u64> = parts.iter().copied().filter(|done| done > part).collect();
            assert_eq!(seen.into_inner(), rest, "it goes on, and does not begin again");
            assert_eq!(V::digest(&instance).0, whole);
            assert!(!new.exists());
        }
    }
}

/// The search as a test looks at it.
struct V;

impl V {
    fn digest(instance: &Instance) -> (String, u64) {
        let served = current::<Search>(instance, SILENT).unwrap();
        let (digest, place) = served.file.digest().unwrap();
        (digest, place.position)
    }
}

fn replaced(instance: &Instance, bytes: &[u8]) {
    discard::<Search>(instance).unwrap();
    fs::write(file(instance, "search.redb"), bytes).unwrap();
}

#[test]
fn a_file_that_is_not_to_be_believed_is_made_anew_alone() {
    let place = tempfile::tempdir().unwrap();
    let instance = open(place.path());
    live(&instance, 0..60);
    let expected = found(&instance, "answer", 1000);
    let whole = V::digest(&instance);
    chosen(&instance, &Selection { actor: Some("owner".to_owned()), ..Selection::default() });
    let index = fs::read(file(&instance, "audit_index.redb")).unwrap();
    discard::<Search>(&instance).unwrap();
    assert_eq!(found(&instance, "answer", 1000), expected);
    // Closed in good order, as a process that ends leaves it.
    instance.views.while_closed(|| {});
    let good = fs::read(file(&instance, "search.redb")).unwrap();
    let check = |what: &str| {
        assert_eq!(found(&instance, "answer", 1000), expected, "{what}");
        assert_eq!(V::digest(&instance), whole, "{what}");
    };
    let conditions = |instance: &Instance| {
        let all = state::all(instance).unwrap();
        all.into_iter().map(|state| state.condition).collect::<Vec<_>>()
    };
    let unusable = [Condition::UpTo(instance.log.head().size), Condition::Unusable];
    for (what, bytes) in [
        ("empty", Vec::new()),
        ("no store", b"somebody's own".to_vec()),
        ("cut", good[..good.len() / 2].to_vec()),
        ("zeroes", vec![0; good.len()]),
        ("another view's", index),
    ] {
        replaced(&instance, &bytes);
        // What is no file of a view, however it is damaged.
        assert_eq!(conditions(&instance), unusable, "{what}");
        replaced(&instance, &bytes);
        check(what);
        // The same beside it, as what a making left.
        discard::<Search>(&instance).unwrap();
        fs::write(file(&instance, "search.redb.new"), &bytes).unwrap();
        check(what);
    }
    let altered = |what: &str, alter: &dyn Fn(&mut Place)| {
        discard::<Search>(&instance).unwrap();
        fs::write(file(&instance, "search.redb"), &good).unwrap();
        let changed = File::open(&file(&instance, "search.redb"), false).unwrap();
        let mut place = changed.place().unwrap().unwrap();
        alter(&mut place);
        changed.commit(&BTreeMap::from([(b"never said\0".to_vec(), Vec::new())]), &place).unwrap();
        drop(changed);
        assert_eq!(conditions(&instance), unusable, "{what}");
        check(what);
    };
    altered("another log's", &|place| place.log = "0".repeat(32));
    altered("another chain's", &|place| place.head[0] ^= 1);
    altered("ahead of the log", &|place| place.position += 1);
    altered("another version's", &|place| place.version += 1);
    all_are_true(&instance, 2);
}

/// What an index does not hold is not found: a page that was changed is looked at before it is asked.
#[test]
fn a_page_that_was_changed_is_not_asked() {
    let place = tempfile::tempdir().unwrap();
    let instance = open(place.path());
    live(&instance, 0..30);
    let expected = found(&instance, "bolletta", 1000);
    instance.views.while_closed(|| {});
    let path = file(&instance, "search.redb");
    let mut bytes = fs::read(&path).unwrap();
    let words: Vec<usize> = memchr::memmem::find_iter(&bytes, b"bolletta\0").collect();
    assert!(!words.is_empty());
    for at in words {
        bytes[at] = b'c';
    }
    fs::write(&path, &bytes).unwrap();
    assert_eq!(state::all(&instance).unwrap()[1].condition, Condition::Unusable);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(found(&instance, "bolletta", 1000), expected);
    all_are_true(&instance, 1);
}

/// A row that does not follow from the log, written as any other.
#[test]
fn a_file_that_differs_is_found_by_the_comparison_and_gone_after_it() {
    let place = tempfile::tempdir().unwrap();
    let instance = open(place.path());
    live(&instance, 0..30);
    let newest = found(&instance, "answer", 1)[0];
    let served = current::<Search>(&instance, SILENT).unwrap();
    let key = metnos_projections::views::search::key("lie", newest);
    let place = served.file.place().unwrap().unwrap();
    served.file.commit(&BTreeMap::from([(key, Vec::new())]), &place).unwrap();
    assert_eq!(found(&instance, "lie", 10), [newest]);
    let compared = state::compare(&instance, SILENT).unwrap();
    assert!(compared.len() == 1 && compared[0].computed != compared[0].live, "{compared:?}");
    assert_eq!(found(&instance, "lie", 10), [0; 0]);
    all_are_true(&instance, 1);
}

/// The search of a later program, whose rows still answer what was asked before.
#[derive(Default, Serialize, Deserialize)]
struct Later(Search);

impl View for Later {
    const NAME: &'static str = Search::NAME;
    const VERSION: u32 = Search::VERSION + 1;
    const SERVES_FROM: u32 = Search::VERSION;

    fn wants_texts(kind: &str) -> bool {
        Search::wants_texts(kind)
    }

    fn evolve(&mut self, recorded: &Recorded, put: Put<'_>) {
        self.0.evolve(recorded, put);
    }
}

impl Held for Later {
    fn slot(views: &Views) -> &Slot {
        &views.search
    }
}

#[test]
fn the_old_version_serves_while_the_new_one_is_made() {
    let place = tempfile::tempdir().unwrap();
    let instance = open(place.path());
    live(&instance, 0..40);
    found(&instance, "answer", 1);
    let known = instance.log.head().size;
    live(&instance, 40..60);
    let served = RefCell::new(0);
    let watch = |_: u64, _: u64| {
        // Another command, while this one makes the file.
        let asked = std::thread::scope(|scope| {
            let asked = scope.spawn(|| {
                let old = current::<Later>(&instance, SILENT).unwrap();
                (old.position, old.file.place().unwrap().unwrap().version)
            });
            asked.join().unwrap()
        });
        assert_eq!(asked, (known, Search::VERSION));
        *served.borrow_mut() += 1;
    };
    let new = current::<Later>(&instance, &watch).unwrap();
    assert!(*served.borrow() > 3);
    assert_eq!((new.position, new.file.place().unwrap().unwrap().version), (instance.log.head().size, Later::VERSION));
}

#[test]
fn what_is_erased_is_in_no_file_and_an_expired_text_never_was() {
    let place = tempfile::tempdir().unwrap();
    let instance = open(place.path());
    live(&instance, 0..60);
    assert_eq!(found(&instance, "caffe n7", 10).len(), 1);
    chosen(&instance, &Selection { actor: Some("owner".to_owned()), ..Selection::default() });
    let holding = |text: &str| {
        let files = ["search.redb", "search.redb.new", "audit_index.redb"].map(|name| file(&instance, name));
        let bytes = files.iter().filter(|file| file.exists()).map(|file| fs::read(file).unwrap());
        bytes.filter(|bytes| memchr::memmem::find(bytes, text.as_bytes()).is_some()).count()
    };
    assert_eq!((holding("a7\0"), holding("observed")), (1, 0), "what was observed may expire");
    // One that is being made holds it too.
    fs::copy(file(&instance, "search.redb"), file(&instance, "search.redb.new")).unwrap();
    let opened = found(&instance, "caffe n7", 10)[0];
    let turn = instance.log.reader().event(opened).unwrap().unwrap().turn.unwrap();
    let selector = Selector::Turn(turn);
    let selected = erasure::select(&instance, &selector).unwrap();
    erasure::erase(&instance, &selector, selected, "asked for").unwrap();
    assert_eq!(holding("a7\0"), 0);
    assert_eq!(found(&instance, "caffe n7", 10), [0; 0]);
    assert_eq!(found(&instance, "caffe", 100), read(&instance, "caffe"));
    let selection = Selection { turn: Some(turn.to_string()), ..Selection::default() };
    let left = chosen(&instance, &selection);
    let (said, left): (Vec<Line>, Vec<Line>) = left.into_iter().partition(|line| line.kind == LineKind::Erasures);
    assert!(left.len() == 2 && left.iter().all(|line| line.value["erased"] == true), "{left:?}");
    assert!(said.len() == 1 && said[0].value["reason"] == "asked for", "{said:?}");
    assert_eq!(holding("a7\0"), 0);
    all_are_true(&instance, 2);
}

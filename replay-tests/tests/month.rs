//! The month of life: the same wherever it is lived, and what is erased from it is in no byte of the home.

#![expect(clippy::unwrap_used, reason = "the whole target is tests: a failed step is a failed test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use metnos::config::{Flags, Variables};
use metnos::erasure::{self, Selector};
use metnos::export::audit_lines::{self, Format};
use metnos::instance::{Instance, now};
use metnos::projector::Watch;
use metnos::snapshots;
use metnos::views::{self, ViewError};
use metnos_log::envelope::Body;
use metnos_projections::replay::Checker;
use metnos_projections::views::audit::selection::Selection;
use metnos_projections::views::audit::{Audit, Kind, Line};
use metnos_projections::views::search::words;
use metnos_replay_tests::builder::History;
use metnos_replay_tests::month::{Month, pour};

const SECRET: &str = "the combination is 4711";

/// Whoever runs it: the program with these words and this input, as another user where that is possible.
fn run(program: &Path, word: &str, input: &Path, as_another: bool) -> Vec<u8> {
    use std::os::unix::process::CommandExt as _;
    let mut command = Command::new(program);
    command.arg(word).env_clear().current_dir("/").stdin(std::fs::File::open(input).unwrap());
    if as_another {
        command.uid(65_534).gid(65_534);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{word} {}: {}", program.display(), String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Builds, users and runs differ, this does not. `.ci/run` makes the optimised build and names it.
#[test]
fn a_month_comes_to_the_same_wherever_it_is_lived() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let own = PathBuf::from(env!("CARGO_BIN_EXE_month"));
    let mut programs = vec![own.clone()];
    match std::env::var_os("METNOS_TEST_OPTIMISED") {
        Some(folder) => programs.push(Path::new(&folder).join("month")),
        None => eprintln!("SKIPPED: METNOS_TEST_OPTIMISED names no folder of an optimised build"),
    }
    let history = place.path().join("history.jsonl");
    std::fs::write(&history, run(&own, "make", Path::new("/dev/null"), false)).unwrap();
    let made = std::fs::read(&history).unwrap();
    let turns = made.windows(14).filter(|window| window == b"\"turn_opened\",").count();
    assert_eq!(turns, 3000);
    let found = run(&own, "digest", &history, false);
    assert_eq!(String::from_utf8_lossy(&found).lines().count(), 11, "{}", String::from_utf8_lossy(&found));
    let users = if rustix::process::geteuid().is_root() { vec![false, true] } else { vec![false] };
    for (number, program) in programs.iter().enumerate() {
        // Where another user reaches it.
        let copy = place.path().join(format!("month-{number}"));
        std::fs::copy(program, &copy).unwrap();
        assert!(
            run(program, "make", Path::new("/dev/null"), false) == made,
            "{} makes another month",
            program.display()
        );
        for as_another in &users {
            let again = run(&copy, "digest", &history, *as_another);
            assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&found), "{}", program.display());
        }
    }
}

fn open(place: &Path) -> Instance {
    let variables =
        Variables { user_home: Some(place.to_owned()), zone: Some("Europe/Rome".to_owned()), ..Variables::default() };
    Instance::open(Some(&place.join("home")), &Flags::default(), &variables, Duration::from_secs(5)).unwrap()
}

/// The files below a folder in which a text stands, as it is or in JSON, anything in them that unpacks looked into: the search
/// is not the program's own.
fn holding_text(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut forms = vec![text.to_owned()];
    for _ in 0..3 {
        let json = serde_json::to_string(forms.last().unwrap()).unwrap();
        forms.push(json[1..json.len() - 1].to_owned());
    }
    forms.dedup();
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.is_file() && holds(&std::fs::read(&path).unwrap(), &forms) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn holding(folder: &Path) -> Vec<PathBuf> {
    holding_text(folder, SECRET)
}

/// Raw bytes, free pages with them, and every packed frame wherever one begins: segments, archives, backups, blobs, exports.
fn holds(bytes: &[u8], forms: &[String]) -> bool {
    let there = |bytes: &[u8]| forms.iter().any(|form| memchr::memmem::find(bytes, form.as_bytes()).is_some());
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    there(bytes)
        || memchr::memmem::find_iter(bytes, &magic).any(|at| {
            let Ok(length) = zstd::zstd_safe::find_frame_compressed_size(&bytes[at..]) else { return false };
            bytes.get(at..at + length).is_some_and(|frame| zstd::decode_all(frame).is_ok_and(|plain| there(&plain)))
        })
}

/// Decides every turn of the log again.
fn checked(instance: &Instance) -> metnos_projections::replay::Report {
    let reader = instance.log.reader();
    let mut checker = Checker::new(&instance.rules, false);
    let each = reader.each(1, |recorded| {
        checker.take(&reader.rehydrated(recorded)?);
        Ok::<bool, metnos_log::store::ReadError>(true)
    });
    each.unwrap();
    checker.finish().0
}

#[test]
fn what_is_erased_from_a_month_is_in_no_byte_of_the_home() {
    let place = tempfile::tempdir().unwrap();
    let home = place.path().join("home");
    let instance = open(place.path());
    let own = History::after(instance.log.reader().chunk(1).unwrap());
    let month = Month { secret: Some(SECRET), ..Month::default() }.live_after(own);
    pour(&month, &instance.log).unwrap();
    instance.catch_up().unwrap();
    instance.follow_audit().unwrap();
    instance.save_projections(0).unwrap();
    snapshots::take_now(&instance, now()).unwrap();
    let (own, elsewhere) = (home.join("data/backups/own"), place.path().join("elsewhere"));
    for folder in [&own, &elsewhere] {
        instance.log.backup(folder, |_, _| {}).unwrap();
    }
    std::fs::write(home.join("data/chat_history"), format!("hello\nwrite \"{SECRET}\" to a.txt\n")).unwrap();
    assert!(holding(&home).len() >= 5, "the search finds it while it is there: {:?}", holding(&home));
    let before = checked(&instance);
    assert_eq!(before.differences.first(), None);
    assert_eq!(before.not_decidable, 0);

    let selector = Selector::Text(SECRET.to_owned());
    let selected = erasure::select(&instance, &selector).unwrap();
    let framing = |seq: &u64| {
        let event = instance.log.reader().event(*seq).unwrap().unwrap();
        event.turn.filter(|_| matches!(&*event.kind, "turn_opened" | "turn_closed"))
    };
    let touched: BTreeSet<_> = selected.seqs.iter().filter_map(framing).collect();
    let report = erasure::erase(&instance, &selector, selected, "a guest saw it").unwrap();
    assert!(report.rewritten.payloads > 200, "{report:?}");
    assert_eq!((report.left.holding, report.left.unread), (Vec::<PathBuf>::new(), Vec::<PathBuf>::new()));
    assert_eq!(holding(&home), Vec::<PathBuf>::new());

    let verified = instance.log.reader().verify(|_, _| {}).unwrap();
    assert_eq!(verified.erased, report.rewritten.payloads);
    assert!(verified.segments > 10, "{verified:?}");
    let after = checked(&instance);
    assert_eq!(after.differences, []);
    assert_eq!(after.not_decidable, report.selected.turns.len() as u64);
    assert_eq!((after.turns, after.open), (before.turns, 0));
    // The export says what is gone: a line of every turn stays.
    let (mut lines, mut made) = ((0, 0), Audit::default());
    let each = instance.log.reader().each(1, |recorded| {
        if let Some(line) = made.take(&recorded).filter(|line| line.kind == Kind::Turns) {
            let value: serde_json::Value = serde_json::from_str(&line.text()).unwrap();
            lines.0 += 1;
            lines.1 += usize::from(value["erased"] == true);
        }
        Ok::<bool, metnos_log::store::ReadError>(true)
    });
    each.unwrap();
    assert_eq!(lines.0, before.turns);
    assert_eq!(lines.1, touched.len(), "lines of turns that say so");
    // What is elsewhere follows with the next backup to it, and is whole.
    assert!(!holding(&elsewhere).is_empty());
    instance.log.backup(&elsewhere, |_, _| {}).unwrap();
    assert_eq!(holding(&elsewhere), Vec::<PathBuf>::new());
    let digests = instance.projected().digests();
    drop(instance);
    assert_eq!(open(place.path()).projected().digests(), digests);
}

/// How long something takes is shown, not held to anything.
#[expect(clippy::print_stderr, reason = "a figure for whoever runs it with --nocapture")]
fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let since = Instant::now();
    let done = work();
    eprintln!("{:>9.1} ms  {what}", since.elapsed().as_secs_f64() * 1000.0);
    done
}

/// Files of views say of a month what the log says, and are made for little.
#[test]
fn what_is_chosen_and_searched_in_a_month_is_what_the_log_holds() {
    let place = tempfile::tempdir().unwrap();
    let instance = open(place.path());
    let own = History::after(instance.log.reader().chunk(1).unwrap());
    let month = Month::default().live_after(own);
    pour(&month, &instance.log).unwrap();
    instance.catch_up().unwrap();
    let size = instance.log.head().size;
    eprintln!("{size} events");
    let silent: Watch<'_> = &|_, _| {};
    let find = |said: &str, most: usize| views::turns::find(&instance, &words(said), (most, size), silent).unwrap();
    timed("the search is made", || find("tomatoes", 1));
    timed("it is asked for the newest turn of two words", || find("tomatoes garden", 1));
    let all = lines(&instance);
    let said = |line: &Line| {
        let text = |name: &str| line.value[name].as_str().unwrap_or_default().to_owned();
        line.kind == Kind::Turns
            && words(&(text("user_query") + " " + &text("final_message"))).is_superset(&words("tomatoes garden"))
    };
    // Long answers lie in blobs, which audit lines only name.
    let short = all.iter().filter(|line| said(line)).count();
    let long = all.iter().filter(|line| line.kind == Kind::Turns && line.value["final_message"]["blob"].is_string());
    let found = find("tomatoes garden", usize::MAX).opened.len();
    assert!(short > 100 && (short..=short + long.count()).contains(&found), "{short} {found}");

    let day = |number: i64| all[0].ended + number * 86_400_000_000;
    let days = |from: i64, to: i64| Selection { since: Some(day(from)), before: Some(day(to)), ..Selection::default() };
    let executor = |name: &str| Some(name.to_owned());
    timed("the index is made", || views::audit::chosen(&instance, &days(0, 1), size, silent).unwrap());
    for (what, selection) in [
        ("a day", days(20, 21)),
        ("a day's writing", Selection { executor: executor("write_files"), ..days(20, 21) }),
        ("a week", days(9, 16)),
        ("all writing", Selection { executor: executor("write_files"), ..Selection::default() }),
        ("all turns", Selection { kind: Some(Kind::Turns), ..Selection::default() }),
        ("a turn", Selection { turn: all[2000].turn.clone(), ..Selection::default() }),
        ("what nobody did", Selection { actor: Some("nobody".to_owned()), ..Selection::default() }),
    ] {
        for format in [Format::Jsonl, Format::Csv, Format::CloudEvents] {
            let as_of = (&instance.log, &instance.keys, size);
            let (mut by_index, mut by_log) = (String::new(), String::new());
            let put: &mut dyn FnMut(&str) -> Result<(), ViewError> = &mut |text| {
                by_index.push_str(text);
                Ok(())
            };
            let chosen = timed(&format!("{what}, by the index"), || {
                audit_lines::export_by_index(&instance, format, &selection, (silent, put)).unwrap()
            });
            let put: &mut dyn FnMut(&str) -> Result<(), ViewError> = &mut |text| {
                by_log.push_str(text);
                Ok(())
            };
            let read =
                timed(&format!("{what}, by the log"), || audit_lines::export(as_of, format, &selection, put).unwrap());
            assert!(by_index == by_log && chosen == read, "{what}");
            assert!(chosen > 0 || what == "what nobody did", "{what}");
        }
    }
    let compared = timed("both are compared with new ones", || views::state::compare(&instance, silent).unwrap());
    assert_eq!(compared.len(), 2);
    assert!(compared.iter().all(|compared| compared.computed == compared.live), "{compared:?}");
}

fn lines(instance: &Instance) -> Vec<Line> {
    let (mut audit, mut lines) = (Audit::default(), Vec::new());
    let each = instance.log.reader().each(1, |recorded| {
        lines.extend(audit.take(&recorded));
        Ok::<bool, metnos_log::store::ReadError>(true)
    });
    each.unwrap();
    lines
}

/// Erased payloads are holes in what is folded, wherever they are: nothing panics, nothing is begun again.
#[test]
fn a_month_folds_whatever_was_erased() {
    let month = Month { days: 3, ..Month::default() }.live();
    let erasable = |kind: &str| metnos_log::Event::is_erasable(kind);
    for nth in [1_u64, 2, 3, 7] {
        let mut events = month.events().to_vec();
        for recorded in events.iter_mut().filter(|recorded| recorded.seq % nth == 0 && erasable(&recorded.kind)) {
            recorded.body = Body::Erased;
        }
        let mut projected = metnos::projector::Projected::default();
        let rules = metnos_projections::rules::Rules::embedded();
        let mut checker = Checker::new(&rules, false);
        for recorded in &events {
            projected.evolve(recorded);
            checker.take(recorded);
        }
        let (report, _) = checker.finish();
        assert_eq!((report.differences.as_slice(), report.open), ([].as_slice(), 0), "every {nth}th");
        assert_eq!(projected.turns.open().count(), 0);
        assert_eq!(projected.schedules.fires().count(), 0, "what ran is over");
    }
}

/// The program itself: the optimised one where `.ci/run` names its folder, else the one that the tests of this workspace use.
fn metnos() -> PathBuf {
    match std::env::var_os("METNOS_TEST_OPTIMISED") {
        Some(folder) => Path::new(&folder).join("metnos"),
        None => Path::new(env!("CARGO_BIN_EXE_month")).with_file_name("metnos"),
    }
}

/// A home that the program is told about, word by word.
struct Lived {
    place: tempfile::TempDir,
    program: PathBuf,
}

impl Lived {
    fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    fn output(&self, args: &[&str]) -> std::process::Output {
        let mut command = Command::new(&self.program);
        command.arg("--home").arg(self.home()).args(["--json", "--yes"]).args(args);
        command.env_clear().env("HOME", self.place.path()).env("TZ", "Europe/Rome").stdin(std::process::Stdio::null());
        command.output().unwrap()
    }

    fn printed(&self, args: &[&str]) -> String {
        String::from_utf8(self.output(args).stdout).unwrap()
    }

    fn run(&self, args: &[&str]) -> (i32, serde_json::Value) {
        let output = self.output(args);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let last = out.lines().last().unwrap_or("null");
        let value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{args:?}: {error}: {out} {err}"));
        (output.status.code().unwrap_or(-1), value)
    }

    #[track_caller]
    fn does(&self, args: &[&str]) -> serde_json::Value {
        let (code, value) = self.run(args);
        assert_eq!(code, 0, "{args:?}: {value}");
        value
    }

    /// That a text is nowhere, the chain verifies, all decides as before but for so many turns, and there is nothing left to
    /// erase by the same words.
    #[track_caller]
    fn is_gone(&self, text: &str, erase: &[&str], not_decidable: u64) {
        assert_eq!(holding_text(&self.home(), text), Vec::<PathBuf>::new(), "{text}");
        assert_eq!(self.does(&["log", "verify"])["ok"], true);
        let checked = self.does(&["replay", "check"]);
        assert_eq!(checked["not_decidable"], not_decidable, "{checked}");
        let again = self.does(&[&["log", "erase"], erase].concat());
        assert_eq!(again["payloads"], 0, "a second time there is nothing: {again}");
    }
}

const LAMP: &str = "the green lamp stays with uncle Piero";
const KITE: &str = "the blue kite is \"in\" the shed";
const CHAIR: &str = "nobody moved the red chair";

/// The month, then a turn that is to go whole, one that only quotes it, and one of a guest; the texts' turns.
fn lived(program: PathBuf) -> (Lived, metnos_log::TurnId) {
    let place = tempfile::tempdir().unwrap();
    let instance = open(place.path());
    let own = History::after(instance.log.reader().chunk(1).unwrap());
    let month = Month { secret: Some(SECRET), ..Month::default() }.live_after(own);
    let asked = "read the file lamp-of-piero.txt";
    let month = month.turn(asked, |turn| turn.finds("file").reads(LAMP).ends("answer", ""));
    let turn = month.events().last().and_then(|event| event.turn).unwrap();
    let said = vec![(asked.to_owned(), LAMP.to_owned())];
    let month = month.turn_as(
        "read the file chairs.txt",
        |opened| opened.history = said,
        |turn| turn.finds("file").reads(CHAIR).ends("answer", ""),
    );
    let month =
        month.by("guest_1").turn("read the file kites.txt", |turn| turn.finds("file").reads(KITE).ends("answer", ""));
    pour(&month, &instance.log).unwrap();
    instance.catch_up().unwrap();
    instance.follow_audit().unwrap();
    instance.save_projections(0).unwrap();
    drop(instance);
    (Lived { place, program }, turn)
}

/// By the program itself, with everything that there can be of a log: sealed, archived, backed up, taken as states, exported.
#[test]
fn the_program_erases_a_text_a_turn_and_a_person_from_every_file_of_a_month() {
    let program = metnos();
    if !program.is_file() {
        eprintln!("SKIPPED: {} is not built", program.display());
        return;
    }
    let (lived, turn) = lived(program);
    let (home, elsewhere) = (lived.home(), lived.place.path().join("elsewhere"));
    let events = lived.does(&["log", "status"])["events"].as_u64().unwrap();
    lived.does(&["log", "backup"]);
    lived.does(&["log", "backup", elsewhere.to_str().unwrap()]);
    lived.does(&["log", "archive", "--before", &(events / 2).to_string()]);
    lived.does(&["log", "backup", home.join("data/backups/second").to_str().unwrap()]);
    lived.does(&["snapshot", "take"]);
    std::fs::write(home.join("data/chat_history"), format!("hello\nwrite \"{SECRET}\" to a.txt\n")).unwrap();
    // What a person exported is theirs: it is named, and they take it away.
    let exported = home.join("workspace/mine.json");
    std::fs::write(&exported, serde_json::to_string(&format!("{{\"said\":\"{SECRET}\"}}")).unwrap()).unwrap();
    let found = holding(&home);
    for part in ["log/events.redb", "log/archive/", "backups/own/", "backups/second/", ".audit/", "chat_history"] {
        assert!(found.iter().any(|path| path.to_string_lossy().contains(part)), "{part} in {found:?}");
    }

    let before = lived.does(&["replay", "check"]);
    assert_eq!(before["not_decidable"], 0, "{before}");
    let erased = lived.does(&["log", "erase", "--text", SECRET, "--reason", "a guest saw it"]);
    assert!(erased["payloads"].as_u64().unwrap() > 200, "{erased}");
    assert_eq!(erased["left"], serde_json::json!([exported]), "{erased}");
    assert_eq!(erased["elsewhere"], serde_json::json!([elsewhere.canonicalize().unwrap()]), "{erased}");
    assert_eq!(erased["backups"], 2);
    std::fs::remove_file(&exported).unwrap();
    let turns = erased["turns"].as_u64().unwrap();
    lived.is_gone(SECRET, &["--text", SECRET], turns);
    let verified = lived.does(&["log", "verify"]);
    assert_eq!(verified["erased"], erased["payloads"]);
    assert!(verified["archived"].as_u64().unwrap() > 0, "{verified}");

    // The turn, and the place where the next one quotes it; what else that one said stays.
    assert!(!holding_text(&home, LAMP).is_empty());
    let erased = lived.does(&["log", "erase", "--turn", &turn.to_string()]);
    assert_eq!((&erased["turns"], &erased["kinds"]), (&2.into(), &serde_json::Value::Null), "{erased}");
    lived.is_gone(LAMP, &["--turn", &turn.to_string()], turns + 2);
    assert!(!holding_text(&home, CHAIR).is_empty(), "what only quotes goes by itself");

    assert!(!holding_text(&home, "blue kite").is_empty());
    lived.does(&["log", "erase", "--actor", "guest_1"]);
    lived.is_gone("blue kite", &["--actor", "guest_1"], turns + 3);
    assert!(!holding_text(&home, CHAIR).is_empty());

    // The export says what is gone: a line of every turn stays.
    let export = lived.printed(&["audit", "export", "--kind", "turns"]);
    let lines: Vec<serde_json::Value> = export.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len() as u64, before["turns"].as_u64().unwrap());
    let erased = lines.iter().filter(|line| line["erased"] == true).count() as u64;
    assert!(erased > 100 && erased <= turns + 3, "{erased} of {turns}");
}

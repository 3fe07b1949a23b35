//! What is found again: texts in the log, words in turns, and how far reading is while somebody waits for it.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use metnos::config::{Flags, Variables};
use metnos::instance::Instance;
use metnos_log::event::actor::LanguageSet;
use metnos_log::{Append, Draft, EventId, Expect, Micros};
use serde_json::Value;

use super::daemon::Daemon;
use super::home::{Home, Ran};
use super::pty::Pty;

/// Sixteen letters that no other text has, at the end of a long one.
const NEEDLE: &str = "Xanthippe's Übel";

/// Appends so many small events.
fn fill(home: &Home, count: u32) {
    let variables = Variables { user_home: Some(home.files()), ..Variables::default() };
    let flags = Flags::default();
    let instance = Instance::open(Some(&home.metnos()), &flags, &variables, Duration::from_secs(10)).unwrap();
    let draft = |number: u32| {
        let mut id = [7; 16];
        id[..4].copy_from_slice(&number.to_be_bytes());
        let event = LanguageSet { actor: "host".to_owned(), language: format!("l{number}") }.into();
        let (stream, actor) = ("actor/host".to_owned(), "host".to_owned());
        let time = Micros(1_700_000_000_000_000 + i64::from(number));
        Draft { id: EventId(id), time, stream, actor, turn: None, cause: None, event, blobs: Vec::new() }
    };
    let numbers: Vec<u32> = (0..count).collect();
    for some in numbers.chunks(1000) {
        let events = some.iter().copied().map(draft).collect();
        instance.log.append(Append { events, expect: Expect::Any }).unwrap();
    }
}

fn grep(home: &Home, words: &[&str]) -> Ran {
    home.run(["log", "grep"].iter().chain(words))
}

/// The numbers of the events of lines for a person.
fn seqs(ran: &Ran) -> Vec<u64> {
    ran.out.lines().map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect()
}

#[test]
fn a_text_is_found_wherever_it_lies_and_never_once_it_is_erased() {
    let home = Home::new();
    fill(&home, 4000);
    home.file("long.txt", format!("{}\n{NEEDLE}\n", "milk bread\n".repeat(3000)));
    assert_eq!(home.ask("read the file long.txt").code, 0);
    let archived = home.run(["log", "archive", "--before", "3000", "--yes"]);
    assert!(archived.code == 0 && archived.out.contains(".seg"), "{} {}", archived.out, archived.err);

    let early = grep(&home, &["^l17$", "--kind", "language_set"]);
    assert_eq!((early.code, early.out.lines().count()), (0, 1), "{} {}", early.out, early.err);
    assert!(early.out.contains("language_set") && early.out.contains("language: l17"), "{}", early.out);
    // It lies in a blob; a person sees where it was and what stands around it, not the payload.
    let found = grep(&home, &[NEEDLE]);
    assert!(found.code == 0 && found.out.contains(NEEDLE), "{} {}", found.out, found.err);
    assert!(found.out.lines().all(|line| line.chars().count() < 200 && !line.contains('{')), "{}", found.out);
    assert!(seqs(&found).is_sorted());
    let same = |words: &[&str]| assert_eq!(seqs(&grep(&home, words)), seqs(&found), "{words:?}");
    same(&["-i", "xanthippe's übel"]);
    same(&["-F", NEEDLE]);
    same(&["-iF", "XANTHIPPE'S ÜBEL"]);
    same(&["X[a-z]+'s .bel", "--turn", "last"]);
    same(&["-F", NEEDLE, "--since", "2024-01-01"]);
    let before = seqs(&found)[1].to_string();
    let at = grep(&home, &[NEEDLE, "--at", &before]);
    assert_eq!(seqs(&at), seqs(&found)[..2]);
    let newest = grep(&home, &[NEEDLE, "--limit", "1"]);
    assert_eq!(seqs(&newest), seqs(&found)[seqs(&found).len() - 1..]);
    assert!(newest.err.contains("--limit"), "{}", newest.err);
    let json = grep(&home, &[NEEDLE, "--json"]);
    let lines: Vec<Value> = json.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect::<Vec<_>>(), seqs(&found));
    assert!(lines.iter().all(|line| line["places"][0]["text"].as_str().unwrap().contains("Xanthippe")));

    for (words, code, said) in [
        (&["xanthippe's übel"][..], 1, "nothing in the log matches"),
        (&["-F", "X.nthippe"], 1, "nothing"),
        (&[NEEDLE, "--kind", "turn_cancelled"], 1, "nothing"),
        (&[NEEDLE, "--since", "2999-01-01"], 1, "nothing"),
        (&["(", "-i"], 2, "regular expression"),
        (&["a{9999999}{9999999}"], 2, "regular expression"),
        (&["x", "--kind", "none_such"], 2, "none_such"),
        (&["x", "--since", "yesterday"], 2, "yesterday"),
        (&["x", "--turn", "nothing"], 1, "turn"),
        (&["x", "--limit", "0"], 2, "limit"),
    ] {
        let ran = grep(&home, words);
        assert!(
            ran.code == code && ran.out.is_empty() && ran.err.contains(said),
            "{words:?}: {} {}",
            ran.code,
            ran.err
        );
    }

    let erased = home.run(["log", "erase", "--text", NEEDLE, "--yes"]);
    assert_eq!(erased.code, 0, "{} {}", erased.out, erased.err);
    assert_eq!(grep(&home, &["-i", "xanthippe"]).code, 1);
    home.is_whole();
}

fn search(home: &Home, words: &[&str]) -> Ran {
    home.run(["turn", "search"].iter().chain(words))
}

/// The files of the home in which some bytes stand.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if path.is_file()
            && std::fs::read(&path).unwrap().windows(text.len()).any(|window| window == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn turns_are_found_by_their_words_until_these_are_erased() {
    let home = Home::new();
    home.file("Caffè-zanzibarino.txt", "The pelicans arrive at noon.\n");
    assert_eq!(home.ask("leggi il file Caffè-zanzibarino.txt").code, 0);
    assert_eq!(home.ask("che ore sono").code, 0);
    let absent = home.run(["doctor"]);
    assert!(absent.out.contains("view search: not made yet"), "{}", absent.out);
    for words in [&["CAFFE"][..], &["zanzibarino", "caffè"], &["pelicans"], &["arrive PELICANS zanzibarino"]] {
        let ran = search(&home, words);
        assert_eq!((ran.code, ran.out.lines().count()), (0, 2), "{words:?}: {} {}", ran.out, ran.err);
        assert!(ran.out.contains("zanzibarino"), "{}", ran.out);
    }
    let json = search(&home, &["pelicans", "--json"]).json();
    assert!(json["user_query"].as_str().unwrap().contains("Caffè"), "{json}");
    let newest = search(&home, &["sono", "--last", "1"]);
    assert!(newest.code == 0 && newest.err.contains("--last"), "{} {}", newest.out, newest.err);
    for (words, code) in [(&["pelican"][..], 1), (&["pelicans", "sono"], 1), (&["..."], 2), (&["x", "--last", "0"], 2)]
    {
        let ran = search(&home, words);
        assert!(ran.code == code && ran.out.is_empty() && !ran.err.is_empty(), "{words:?}: {} {}", ran.code, ran.err);
    }
    let italian = search(&home, &["pelicans", "sono", "--lang", "it"]);
    assert!(italian.err.contains("nessun turno"), "{}", italian.err);
    // As of before it was said.
    let at = home.run(["--at", "40", "turn", "search", "pelicans"]);
    assert_eq!(at.code, 1, "{} {}", at.out, at.err);
    let doctor = home.run(["doctor"]);
    assert!(doctor.out.contains("view search: complete"), "{}", doctor.out);
    assert!(home.run(["replay", "check"]).out.contains("equal  search"));

    assert!(holding(&home.metnos(), "zanzibarino").iter().any(|file| file.ends_with("search.redb")));
    let erased = home.run(["log", "erase", "--text", "zanzibarino", "--yes"]);
    assert_eq!(erased.code, 0, "{} {}", erased.out, erased.err);
    assert_eq!(search(&home, &["zanzibarino"]).code, 1);
    assert_eq!(holding(&home.metnos(), "zanzibarino"), Vec::<String>::new());
    home.is_whole();
}

/// A person who waits for the log to be read is told how far it is; a script is not.
#[test]
fn reading_the_log_anew_is_told_at_a_terminal_alone() {
    let home = Home::new().with("METNOS_PAUSE_AT", "folding:900");
    fill(&home, 1100);
    let forget = || {
        std::fs::remove_dir_all(home.metnos().join("data/projections")).unwrap();
        std::fs::create_dir(home.metnos().join("data/projections")).unwrap();
    };
    for (words, shown) in
        [(&["status"][..], "reading the log: 1024 of "), (&["status", "--lang", "it"], "leggo il registro: 1024 ")]
    {
        forget();
        let mut terminal = Pty::run(&home, 100, words);
        terminal.sees(shown);
        // The line goes before the result comes.
        let (code, rest) = terminal.ends();
        let (_, result) = rest.rsplit_once("\r\u{1b}[K").unwrap();
        assert!(code == Some(0) && !result.contains(shown) && result.lines().count() > 4, "{rest}");
    }
    forget();
    let quiet = Pty::run(&home, 100, &["status", "--quiet"]).ends();
    assert!(!quiet.1.contains("reading the log"), "{}", quiet.1);
    forget();
    let piped = home.run(["status"]);
    assert_eq!((piped.code, piped.err.as_str()), (0, "waiting at folding\n"), "{}", piped.out);
}

/// Kill -9 right before and right after each commit of a view that is made, and before it takes its place; every other time
/// the one that goes on is killed too.
#[test]
fn a_view_whose_making_is_killed_anywhere_is_made_all_the_same() {
    let home = Home::new();
    home.file("lamp.txt", "The lamplighter came.\n");
    assert_eq!(home.ask("read the file lamp.txt").code, 0);
    fill(&home, 9000);
    assert_eq!(home.ask("read the file lamp.txt").code, 0);
    let expected = search(&home, &["lamplighter"]);
    assert_eq!((expected.code, expected.out.lines().count()), (0, 3), "{} {}", expected.out, expected.err);
    let file = home.metnos().join("data/projections/search.redb");
    let mut kills = 0;
    for step in 1..50 {
        std::fs::remove_file(&file).unwrap();
        let killed = |step: u64| {
            let mut command = home.command_with([("METNOS_KILL_AT", format!("view:{step}").as_str())]);
            command.args(["turn", "search", "lamplighter"]).output().unwrap().status.signal() == Some(9)
        };
        if !killed(step) {
            break;
        }
        assert!(!file.exists(), "one that is not complete serves");
        kills += 1;
        if step % 2 == 0 {
            killed(1);
        }
        let found = search(&home, &["lamplighter"]);
        assert_eq!((found.code, &found.out), (0, &expected.out), "{step}: {}", found.err);
        assert!(!file.with_extension("redb.new").exists());
        if step % 3 == 0 {
            let checked = home.run(["replay", "check"]);
            assert!(checked.code == 0 && checked.out.contains("equal  search"), "{step}: {}", checked.out);
        }
    }
    assert_eq!(kills, 7, "three commits, and one that makes the file small");
    home.is_whole();
}

/// The files are shared by all commands of a daemon, made by whichever asks first, and taken away under them.
#[test]
fn a_daemon_searches_for_several_at_once_and_for_nobody_what_was_erased() {
    let home = Home::new();
    home.file("lamp.txt", "The lamplighter came.\n");
    assert_eq!(home.ask("read the file lamp.txt").code, 0);
    fill(&home, 9000);
    let daemon = Daemon::serve(&home);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let ran = search(&home, &["lamplighter"]);
                assert_eq!((ran.code, ran.out.lines().count()), (0, 2), "{} {}", ran.out, ran.err);
                let ran = home.run(["audit", "export", "--executor", "read_files"]);
                assert_eq!((ran.code, ran.out.lines().count()), (0, 1), "{} {}", ran.out, ran.err);
            });
        }
    });
    assert_eq!(home.ask("read the file lamp.txt").code, 0);
    assert_eq!(search(&home, &["lamplighter"]).out.lines().count(), 3);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let ran = search(&home, &["lamplighter"]);
                    assert!(ran.code <= 1, "{} {}", ran.out, ran.err);
                }
            });
        }
        let erased = home.run(["log", "erase", "--text", "lamplighter", "--yes"]);
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(erased.code, 0, "{} {}", erased.out, erased.err);
    });
    assert_eq!(search(&home, &["lamplighter"]).code, 1);
    assert_eq!(holding(&home.metnos(), "lamplighter"), Vec::<String>::new());
    daemon.stop();
    home.is_whole();
}

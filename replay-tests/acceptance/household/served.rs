//! A daemon serves the home, and nobody notices: the same bytes, records and exit codes as without, consent and
//! conversation where the command was typed.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

use super::daemon::{Daemon, Running, socket};
use super::home::{Home, Ran, copy_tree};
use super::pty::Pty;

/// Commands that look and change nothing: each of them must say the same to the last byte.
const LOOKING: &[&[&str]] = &[
    &["executor", "list"],
    &["--json", "executor", "list"],
    &["--lang", "it", "executor", "show", "get_now"],
    &["executor", "verify"],
    &["executor", "show", "no_such"],
    &["--json", "executor", "show", "no_such"],
    &["turn", "list"],
    &["--json", "turn", "list"],
    &["turn", "show"],
    &["--json", "turn", "show"],
    &["turn", "show", "nothing"],
    &["replay", "turn"],
    &["replay", "check"],
    &["--json", "replay", "check", "--strict"],
    &["replay", "turn", "--step", "1"],
    &["replay", "turn", "--live-debug"],
    &["at", "20"],
    &["at", "20", "catalog"],
    &["--json", "at", "20", "actors"],
    &["--lang", "it", "diff", "20", "40"],
    &["--json", "diff", "20", "40"],
    &["why", "40"],
    &["why", "notes.txt"],
    &["why", "last"],
    &["log", "status"],
    &["log", "tail", "-n", "7"],
    &["log", "show", "3"],
    &["log", "show", "99999"],
    &["log", "grep", "notes.txt"],
    &["--json", "log", "grep", "-i", "NOTES", "--limit", "3"],
    &["log", "grep", "no such text"],
    &["turn", "search", "notes", "file"],
    &["--json", "turn", "search", "Nötes"],
    &["turn", "search", "no", "such", "words"],
    &["log", "verify"],
    &["--json", "log", "verify"],
    &["log", "export"],
    &["audit", "export"],
    &["--json", "audit", "export", "--kind", "turns"],
    &["audit", "export", "--kind", "none"],
    &["config", "show"],
    &["config", "check"],
    &["credential", "list"],
    &["plan", "delete the file notes.txt"],
    &["--json", "plan", "read the file notes.txt"],
    &["--json", "plan", "fammi un caffè"],
    &["prefilter", "read the file notes.txt"],
    &["policy", "table"],
    &["--json", "policy", "explain", "fs:read"],
    &["policy", "check", "read_files", "--args", "{\"paths\":[\"/etc/shadow\"]}"],
    &["executor", "history", "get_now"],
    &["--at", "20", "executor", "list"],
    &["--at", "5", "ask", "what time is it"],
    &["ask"],
    &["aks", "what time is it"],
    &["man", "ask"],
];

/// A home at noon: no job of the daemon's own falls due while two runs are compared.
fn at_noon() -> Home {
    let home = Home::new();
    let clock = home.file("clock", "2026-11-22T12:00:00Z");
    home.with("METNOS_CLOCK", clock.to_str().unwrap())
}

#[test]
fn what_looks_says_the_same_bytes() {
    let home = at_noon();
    home.file("notes.txt", "one\ntwo\n");
    assert_eq!(home.ask("read the file notes.txt").code, 0);
    let run = |args: &[&str]| {
        let Ran { code, out, err } = home.run(args);
        (code, out, err)
    };
    // What is made when it is first asked for is compared and told of from then on.
    for made in [["turn", "search", "notes"].as_slice(), &["audit", "export", "--kind", "turns"]] {
        assert_eq!(home.run(made).code, 0);
    }
    let alone: Vec<_> = LOOKING.iter().map(|args| run(args)).collect();
    let daemon = Daemon::serve(&home);
    assert!(home.run(["status"]).out.contains(&format!("process {} since", daemon.pid())));
    for (args, alone) in LOOKING.iter().zip(alone) {
        assert_eq!(run(args), alone, "{args:?}");
    }
    assert_eq!(home.run(["--json", "status"]).json()["daemon"]["pid"], daemon.pid());
    assert!(daemon.stop() < Duration::from_secs(5));
    assert!(home.run(["--json", "status"]).json()["daemon"].is_null());
    assert!(!socket(&home).exists());
}

/// What differs from one home to the next: its folder, ids, times. The rest stays.
fn common(home: &Home, text: &str) -> String {
    let folder = home.files().parent().unwrap().to_string_lossy().into_owned();
    let text = text.replace(&folder, "HOME");
    let word = |word: &str| {
        let is_id = word.len() == 26 && word.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        let is_hash = word.len() >= 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_id || is_hash { "ID".to_owned() } else { word.to_owned() }
    };
    let mut words = Vec::new();
    for part in text.split_inclusive(|sign: char| !sign.is_ascii_alphanumeric()) {
        let bare = part.trim_end_matches(|sign: char| !sign.is_ascii_alphanumeric());
        words.push(word(bare) + &part[bare.len()..]);
    }
    words.concat()
}

/// Turn records without their times.
fn untimed(text: &str) -> String {
    let line = |line: &str| match serde_json::from_str::<serde_json::Value>(line) {
        Ok(mut record) if record.get("ts_start").is_some() => {
            (record["ts_start"], record["ts_end"]) = Default::default();
            for step in record["steps"].as_array_mut().into_iter().flatten() {
                step["duration_ms"] = 0.into();
                // A daemon keeps cages waiting, a single command builds its own.
                if let Some(cage) = step["cage"].as_object_mut() {
                    cage.remove("warm");
                }
            }
            record.to_string()
        }
        _ => line.to_owned(),
    };
    text.lines().map(|text| line(text) + "\n").collect()
}

/// Commands that act, in the order in which they are given; some read what is on their standard input.
const ACTING: &[(&[&str], &str)] = &[
    (&["ask", "read the file notes.txt"], ""),
    (&["--json", "ask", "fammi un caffè"], ""),
    (&["ask", "write \"three\" to new.txt"], ""),
    (&["ask", "--approve", "all", "write \"three\" to new.txt"], ""),
    (&["ask", "--lang", "it", "elimina il file new.txt"], ""),
    (&["undo", "--preview"], ""),
    (&["undo"], ""),
    (&["--yes", "undo"], ""),
    (&["undo"], ""),
    (&["ask", "read the file"], ""),
    (&["chat"], "read the file notes.txt\n/why\n/wrong\nread the file\n\"notes.txt\"\nlast line without its end"),
    (&["--json", "chat"], "/help\nread the file notes.txt and tell me the last line\n"),
    (&["credential", "set", "weather"], "correct horse\n"),
    (&["credential", "set", "empty"], ""),
    (&["credential", "list"], ""),
    (&["credential", "remove", "weather"], ""),
    (&["credential", "remove", "weather"], ""),
    (&["executor", "disable", "list_skills"], ""),
    (&["executor", "list"], ""),
    (&["ask", "what can you do"], ""),
    (&["executor", "enable", "list_skills"], ""),
    (&["executor", "run", "read_files", "--args", "{\"path\": \"notes.txt\"}"], ""),
    (&["executor", "run", "read_files", "--args", "[]"], ""),
    (&["executor", "check", "."], ""),
    (&["executor", "add", "nowhere"], ""),
    (&["config", "set", "autonomy", "read_only"], ""),
    (&["ask", "--approve", "all", "write \"four\" to other.txt"], ""),
    (&["config", "set", "autonomy", "all"], ""),
    // The command that asks is not among what runs, whoever carries it out.
    (&["ask", "is nosuchprogram running"], ""),
    (&["log", "verify"], ""),
    (&["replay", "check", "--strict"], ""),
];

fn fed(home: &Home, args: &[&str], input: &str) -> Ran {
    let mut command = home.command();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that reads nothing closes its end.
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    child.wait_with_output().unwrap().into()
}

#[test]
fn what_acts_says_the_same_and_does_the_same() {
    let homes = [at_noon(), at_noon()];
    for home in &homes {
        home.file("notes.txt", "one\ntwo\n");
    }
    let daemon = Daemon::serve(&homes[1]);
    for (args, input) in ACTING {
        let [alone, served] = [&homes[0], &homes[1]].map(|home| {
            let ran = fed(home, args, input);
            (ran.code, common(home, &untimed(&ran.out)), common(home, &ran.err))
        });
        if args.contains(&"verify") || args.contains(&"--strict") {
            assert_eq!((alone.0, served.0), (0, 0), "{args:?}: {served:?}");
            continue; // Hashes of two histories.
        }
        assert_eq!(served, alone, "{args:?}");
    }
    assert!(daemon.stop() < Duration::from_secs(5));
    let kinds = homes.each_ref().map(|home| {
        let events = home.run(["log", "export"]).out;
        let kind = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["kind"].to_string();
        events.lines().map(kind).collect::<Vec<_>>()
    });
    assert_eq!(kinds[0], kinds[1], "the records differ");
    homes[1].is_whole();
}

#[test]
fn consent_is_asked_where_the_command_was_typed() {
    let home = Home::new();
    let daemon = Daemon::serve(&home);
    for (key, there) in [("n\r", false), ("\u{3}", false), ("y\r", true)] {
        let mut ask = Pty::run(&home, 100, &["ask", "write \"three\" to new.txt"]);
        ask.sees("new.txt");
        ask.sees("[y/N]");
        ask.types(key);
        let (code, shown) = ask.ends();
        let expected = if there {
            0
        } else if key == "\u{3}" {
            130
        } else {
            1
        };
        assert_eq!(code, Some(expected), "{shown}");
        assert_eq!(home.files().join("new.txt").exists(), there);
    }
    daemon.stop();
    home.is_whole();
}

#[test]
fn what_was_typed_before_the_question_is_no_consent() {
    let home = Home::new();
    let asks = |home: &Home| {
        let mut ask = Pty::run(home, 100, &["ask", "write \"three\" to new.txt"]);
        ask.types("y\r");
        ask.sees("[y/N]");
        // A line typed ahead would have answered by now.
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!home.files().join("new.txt").exists());
        ask.types("n\r");
        assert_eq!(ask.ends().0, Some(1));
        assert!(!home.files().join("new.txt").exists());
    };
    asks(&home);
    let daemon = Daemon::serve(&home);
    asks(&home);
    daemon.stop();
    home.is_whole();
}

#[test]
fn a_conversation_at_a_terminal_goes_through_the_daemon() {
    let home = Home::new();
    home.file("notes.txt", "first words\n");
    let daemon = Daemon::serve(&home);
    let mut chat = Pty::run(&home, 80, &["chat"]);
    chat.sees("> ");
    chat.types("read the file\r");
    chat.sees("Which file");
    // The prompt names what is pending, and the next line answers it.
    chat.sees(") > ");
    chat.types("notes.txt\r");
    chat.sees("first words");
    chat.sees("> ");
    chat.types("/why\r");
    chat.sees("1. read_files");
    chat.sees("> ");
    chat.types("delete the file notes.txt\r");
    chat.sees("[y/N]");
    chat.types("y\r");
    chat.sees("> ");
    assert!(!home.files().join("notes.txt").exists());
    // Meanwhile others are served, and a daemon that went away is not missed.
    assert_eq!(home.ask("what time is it").code, 0);
    daemon.stop();
    chat.types("/undo\r");
    chat.sees("[y/N]");
    chat.types("y\r");
    chat.sees("> ");
    assert!(home.files().join("notes.txt").exists());
    chat.types("\u{4}");
    assert_eq!(chat.ends().0, Some(0));
    home.is_whole();
}

#[test]
fn an_answer_fits_the_terminal_as_it_is_by_then() {
    let home = Home::new();
    let words = "seven words that together are rather long ".repeat(2);
    home.file("notes.txt", format!("{words}\n"));
    let daemon = Daemon::serve(&home);
    let mut ask = Pty::run(&home, 40, &["ask", "read the file"]);
    ask.sees("Which file");
    ask.resizes(200);
    ask.types("notes.txt\r");
    ask.sees(words.trim_end());
    assert_eq!(ask.ends().0, Some(0));
    daemon.stop();
}

#[test]
fn who_follows_the_log_sees_what_others_do() {
    let home = Home::new();
    let daemon = Daemon::serve(&home);
    let mut follows = Running::new(&home, &["log", "tail", "-n", "1", "-f"]);
    let mut lines = BufReader::new(follows.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.next().unwrap();
    assert_eq!(home.ask("what time is it").code, 0);
    assert!(lines.by_ref().any(|line| line.contains("turn_closed")), "it does not follow");
    // A reader that goes away ends it, as it ends any program.
    drop(lines);
    assert_eq!(home.ask("what time is it").code, 0);
    assert_eq!(follows.0.wait().unwrap().code(), Some(0));
    daemon.stop();
}

#[test]
fn a_home_with_a_long_name_is_served_too() {
    let place = tempfile::tempdir().unwrap();
    let long = place.path().join("x".repeat(120));
    let home = Home::new();
    copy_tree(&home.metnos(), &long);
    let home = home.with("METNOS_HOME", long.to_str().unwrap());
    let daemon = Daemon::serve(&home);
    assert_eq!(home.run(["--json", "status"]).json()["daemon"]["pid"], daemon.pid());
    daemon.stop();
}

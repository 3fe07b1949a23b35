//! The program as a third party runs it: in an empty folder, with an empty environment, on a file that a real instance wrote.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use metnos::config::{Flags, Variables};
use metnos::engine::{Request, opened};
use metnos::export::audit_lines::{Format, export};
use metnos::instance::{Instance, random};
use metnos_log::event::instance::Erased;
use metnos_log::store::{Erasure, ReadError};
use metnos_log::{Draft, EventId, Micros, TurnId};
use metnos_projections::machines::turn::{Command as Step, Context, Turn, decide};
use metnos_projections::views::audit::selection::Selection;

/// A turn in which nothing is understood.
fn turn(instance: &Instance, text: &str, second: i64) {
    let time = Micros(1_700_000_000_000_000 + second * 1_000_000);
    let id = TurnId::new(time, random());
    let (text, folder) = (text.to_owned(), instance.dirs.user_home.clone());
    let (approve, channel) = ("none".to_owned(), "console".to_owned());
    let request = Request { text, approve, folder, channel, ..Request::default() };
    let begun = Step::Open(Box::new(opened(instance, &request)));
    let pending = instance.while_it_stands(|catalog, tools| {
        let context = Context { rules: &instance.rules, catalog, tools, time };
        let events = decide(&Turn::default(), id, context, begun).unwrap();
        instance.submit_turn(id, None, (0, time), events, Vec::new())
    });
    pending.wait().unwrap();
}

/// Takes the text of an event out of the log.
fn erase(instance: &Instance, seq: u64) {
    let (reason, by) = ("asked for".to_owned(), "owner".to_owned());
    let (selector, of, blobs) = ("event".to_owned(), seq.to_string(), Vec::new());
    let event = Erased { selector, of, seqs: vec![(seq, seq)], blobs, reason: reason.clone(), by: by.clone() }.into();
    let (id, time, stream) = (EventId(random()), Micros(7), "instance".to_owned());
    let record = Draft { id, time, stream, actor: by.clone(), turn: None, cause: None, event, blobs: Vec::new() };
    instance.log.erase(Erasure { seqs: [seq].into(), blobs: BTreeSet::new(), record }).unwrap();
}

/// A home with a few turns; the folder goes with it.
fn lived_in() -> (tempfile::TempDir, Instance) {
    let place = tempfile::tempdir().unwrap();
    let variables = Variables { user_home: Some(place.path().to_owned()), ..Variables::default() };
    let home = place.path().join("instance");
    let instance = Instance::open(Some(&home), &Flags::default(), &variables, Duration::ZERO).unwrap();
    for (second, text) in [(1, "qwertz asdf"), (2, "uiop jkl"), (3, "yxcv bnm")] {
        turn(&instance, text, second);
    }
    (place, instance)
}

/// An instance's export with proofs, of so many lines, and its public key.
fn exported((place, instance): &(tempfile::TempDir, Instance), lines: u64) -> (String, String) {
    let home = place.path().join("instance");
    let mut text = String::new();
    let as_of = (&instance.log, &instance.keys, instance.log.head().size);
    let mut put = |piece: &str| {
        text.push_str(piece);
        Ok::<(), ReadError>(())
    };
    assert_eq!(export(as_of, Format::Proof { quotes: false }, &Selection::default(), &mut put).unwrap(), lines);
    let public = std::fs::read_to_string(home.join("config/keys/instance.pub")).unwrap();
    (text, public)
}

/// Runs a copy of the program that has nothing around it.
fn run(folder: &Path, words: &[&str]) -> Output {
    Command::new(folder.join("verify")).args(words).env_clear().current_dir(folder).output().unwrap()
}

/// A reader that went away, as in `… | true`: no panic, and nothing said.
#[test]
fn a_closed_pipe_ends_it_quietly() {
    let lived_in = lived_in();
    let (text, public) = exported(&lived_in, 3);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("audit.jsonl"), &text).unwrap();
    for words in [&["audit.jsonl", "--key", public.trim()][..], &["--json", "audit.jsonl", "--key", public.trim()]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_metnos-audit-verify"));
        let ran = command.args(words).current_dir(folder.path()).stdout(writer).output().unwrap();
        assert_eq!((ran.status.code(), String::from_utf8_lossy(&ran.stderr).as_ref()), (Some(0), ""));
    }
}

#[test]
fn it_needs_the_file_and_a_public_key_and_nothing_else() {
    let lived_in = lived_in();
    let (text, public) = exported(&lived_in, 3);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::copy(env!("CARGO_BIN_EXE_metnos-audit-verify"), folder.join("verify")).unwrap();
    std::fs::write(folder.join("audit.jsonl"), &text).unwrap();
    std::fs::write(folder.join("instance.pub"), &public).unwrap();
    let said = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    for key in [public.trim(), "instance.pub"] {
        let ran = run(folder, &["audit.jsonl", "--key", key]);
        assert_eq!(ran.status.code(), Some(0), "{}", said(&ran.stderr));
        let out = said(&ran.stdout);
        assert!(out.contains("3 lines are made of 6 events") && out.contains(public.trim()), "{out}");
    }
    let ran = run(folder, &["--json", "--key", "instance.pub", "audit.jsonl"]);
    let out: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((&out["ok"], &out["lines"], &out["kinds"]["turns"]), (&true.into(), &3.into(), &3.into()));
    let ran = run(folder, &["audit.jsonl", "--key", "instance.pub", "--lang", "it"]);
    assert!(said(&ran.stdout).contains("3 righe sono fatte di 6 eventi"), "{}", said(&ran.stdout));

    // One changed character, another key, no file, no key, no words.
    let changed = text.replacen("qwertz", "qwertx", 1);
    assert_ne!(changed, text);
    std::fs::write(folder.join("changed.jsonl"), changed).unwrap();
    let other = "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29";
    for (words, code, reason) in [
        (&["changed.jsonl", "--key", "instance.pub"][..], 1, "line 2 was changed"),
        (&["audit.jsonl", "--key", other], 1, "signed by another key"),
        (&["nothing.jsonl", "--key", other], 1, "cannot be read"),
        (&["instance.pub", "--key", other], 1, "it is no file of metnos audit export --proof"),
        (&["audit.jsonl", "--key", "nothing.pub"], 1, "neither 64 hexadecimal digits"),
        (&["audit.jsonl"], 2, "usage:"),
    ] {
        let ran = run(folder, words);
        let err = said(&ran.stderr);
        assert!(ran.status.code() == Some(code) && err.contains(reason), "{words:?}: {err}");
    }
    // A sentence that was erased since: its line stays, says so, and is proved as before.
    lived_in.1.catch_up().unwrap();
    let opened = lived_in.1.turns().iter().next().map(|(_, turn)| turn.first_seq).unwrap();
    erase(&lived_in.1, opened);
    let (text, _) = exported(&lived_in, 4);
    assert!(text.contains("\"erased\":true") && text.contains("\"user_query\":null"));
    assert!(text.contains("\"kind\":\"erasures\",\"line\":{\"blobs\":0,\"by\":"), "{text}");
    std::fs::write(folder.join("changed.jsonl"), text).unwrap();
    let ran = run(folder, &["changed.jsonl", "--key", "instance.pub"]);
    let out = said(&ran.stdout);
    assert!(
        out.contains("4 lines are made of 7 events") && out.contains("The text of 1 of these events was erased"),
        "{out}"
    );
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["audit.jsonl", "changed.jsonl", "instance.pub", "verify"]);
}

//! The audit for others: chosen lines in four forms, proofs that stand alone, corrections.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::home::{Home, Ran, binary};
use super::peers::{folder, installed};
use super::pty::Pty;
use super::schedules;

/// Half past midnight of the eleventh in Rome; it is the tenth in UTC.
const NIGHT: &str = "2026-03-10T23:30:00Z";

/// A home with turns of two days, one of them a schedule's.
fn lived_in() -> Home {
    let home = schedules::home(NIGHT);
    assert_eq!(home.ask_approved("write \"=1+1\" to sum.txt").code, 0);
    schedules::set(&home, "2026-03-11T07:00:00Z");
    schedules::add(&home, &["every morning at 8 tell me how many files are in ~/inbox"]);
    assert_eq!(home.run(["schedule", "run-now", "1"]).out, "3 files\n");
    schedules::set(&home, "2026-03-12T12:00:00Z");
    assert_eq!(home.ask("read the file a-secret-diary.txt").code, 1);
    home
}

/// The audit's lines by some options.
#[track_caller]
fn lines(home: &Home, options: &[&str]) -> Vec<Value> {
    let ran = home.run(["audit", "export", "--format", "jsonl"].iter().chain(options));
    assert_eq!(ran.code, 0, "{options:?}: {} {}", ran.out, ran.err);
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn lines_are_chosen_by_time_kind_person_executor_and_turn() {
    let home = lived_in();
    let all = lines(&home, &[]);
    let count = |options: &[&str]| lines(&home, options).len();
    let ended = |from: &str, to: &str| {
        let time = |line: &Value| line.get("ts").or(line.get("ts_end")).unwrap().as_str().unwrap().to_owned();
        all.iter().filter(|line| (from..to).contains(&time(line).as_str())).count()
    };
    // Whole days in Rome: the eleventh begins at 23:00 of the tenth in UTC.
    let eleventh = ended("2026-03-10T23:00", "2026-03-11T23:00");
    assert!(eleventh >= 4, "{eleventh}");
    assert_eq!(count(&["--since", "2026-03-11", "--until", "2026-03-11"]), eleventh);
    assert_eq!(count(&["--since", "2026-03-12"]), ended("2026-03-11T23:00", "2027"));
    assert_eq!(count(&["--until", "2026-03-10"]), ended("0", "2026-03-10T23:00"));
    let night = ["--since", "2026-03-11T00:30:00+01:00", "--until", NIGHT];
    assert_eq!(lines(&home, &night).iter().filter(|line| line["executor"] == "write_files").count(), 1);
    // An hour without a zone is the owner's.
    assert_eq!(count(&["--since", "2026-03-11 00:30", "--until", NIGHT]), lines(&home, &night).len());
    assert_eq!(count(&["--since", "2026-03-10T23:30:00.000001Z", "--until", "2026-03-11T06:00:00Z"]), 0);

    let turns = count(&["--kind", "turns"]);
    assert!(turns > 0 && turns + count(&["--kind", "executors"]) == all.len());
    assert_eq!((count(&["--actor", "owner"]), count(&["--kind", "corrections"])), (all.len(), 0));
    let scheduled = lines(&home, &["--executor", "find_files"]);
    let scheduled = scheduled.iter().find(|line| line["caller"]["kind"] == "scheduler").unwrap();
    assert_eq!((&scheduled["caller"]["schedule_id"], &scheduled["caller"]["sender"]), (&"1".into(), &"owner".into()));
    let id = scheduled["turn_id"].as_str().unwrap();
    let of_turn = lines(&home, &["--turn", id]);
    assert!(of_turn.len() >= 2 && of_turn.iter().all(|line| line["turn_id"] == id));
    assert_eq!(of_turn.last().unwrap()["caller"]["schedule_id"], "1");

    for (options, code) in [
        (&["--since", "yesterday"][..], 2),
        (&["--since", "2026-03-10T25:00:00"], 2),
        (&["--until", "2026-02-30"], 2),
        (&["--kind", "none"], 2),
        (&["--actor", "nobody"], 1),
        (&["--turn", "nothing"], 1),
        (&["--format", "csv", "--proof"], 2),
        (&["--quotes"], 2),
        (&["--format", "xml"], 2),
    ] {
        let ran = home.run(["audit", "export"].iter().chain(options));
        assert!(ran.code == code && ran.out.is_empty(), "{options:?}: {} {} {}", ran.code, ran.out, ran.err);
    }
}

#[test]
fn the_same_log_gives_the_same_bytes_on_any_day_in_any_order() {
    let home = lived_in();
    let one = ["--kind", "executors", "--since", "2026-03-11", "--actor", "owner"];
    let other = ["--actor", "owner", "--since", "2026-03-11", "--kind", "executors"];
    for form in [
        &["--format", "jsonl"][..],
        &["--format", "csv"],
        &["--format", "cloudevents"],
        &["--format", "otel"],
        &["--proof"],
    ] {
        let export = |options: &[&str]| home.run(["audit", "export"].iter().chain(form).chain(options));
        let first = export(&one);
        assert!(first.code == 0 && !first.out.is_empty(), "{form:?}: {}", first.err);
        schedules::set(&home, "2029-01-01T00:00:00Z");
        let second = export(&other);
        assert_eq!(first.out, second.out, "{form:?}");
        let out = home.files().join("exported");
        let path = out.to_str().unwrap();
        assert_eq!(export(&[&one[..], &["--out", path]].concat()).code, 0);
        assert_eq!(std::fs::read_to_string(&out).unwrap(), first.out, "{form:?}");
        // An earlier export gives its place.
        assert_eq!(export(&[&other[..], &["--out", path]].concat()).code, 0);
        std::fs::remove_file(&out).unwrap();
    }
}

#[test]
fn nothing_but_an_earlier_export_is_replaced() {
    let home = lived_in();
    let diary = home.file("diary.txt", "dear diary\n");
    let export = |path: &str| home.run(["audit", "export", "--proof", "--out", path]);
    let ran = export("diary.txt");
    assert!(ran.code == 1 && ran.err.contains("it stays as it is"), "{} {}", ran.code, ran.err);
    assert_eq!(std::fs::read_to_string(diary).unwrap(), "dear diary\n");
    assert_eq!(export("no/such/folder.jsonl").code, 2);
    assert_eq!(export("inbox").code, 1);
    let before = std::fs::read_dir(home.files()).unwrap().count();
    assert_eq!(export("audit.jsonl").code, 0);
    assert_eq!(std::fs::read_dir(home.files()).unwrap().count(), before + 1);
}

/// Runs Python over a text; what it printed.
#[track_caller]
fn python(words: &[&str], text: &str) -> String {
    let mut command = Command::new("python3");
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let ran = child.wait_with_output().unwrap();
    assert!(ran.status.success());
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn a_table_reads_as_any_reader_of_tables_reads_it() {
    let home = lived_in();
    let ran = home.run(["audit", "export", "--format", "csv"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let script = "import csv, io, json, sys\n\
                  text = io.TextIOWrapper(sys.stdin.buffer, encoding='utf-8', newline='').read()\n\
                  print(json.dumps(list(csv.DictReader(io.StringIO(text, newline=''), strict=True))))";
    let rows: Vec<Value> = serde_json::from_str(&python(&["-I", "-S", "-c", script], &ran.out)).unwrap();
    let lines = lines(&home, &[]);
    assert_eq!(rows.len(), lines.len());
    for (row, line) in rows.iter().zip(&lines) {
        assert_eq!(row["seq"], line["seq"].to_string());
        assert_eq!(row["turn_id"], line["turn_id"]);
        let text = line["user_query"].as_str().unwrap_or_default();
        assert_eq!(row["user_query"].as_str().unwrap(), text);
        assert!(
            row.as_object().unwrap().values().all(|cell| !cell.as_str().unwrap().starts_with(['=', '+', '-', '@']))
        );
    }
    // A sentence that a spreadsheet would run.
    home.ask("=HYPERLINK(\"http://example.invalid\")");
    let ran = home.run(["audit", "export", "--format", "csv", "--kind", "turns"]);
    assert!(ran.out.contains("\"'=HYPERLINK(\"\"http://example.invalid\"\")\""), "{}", ran.out);
}

#[test]
fn public_readers_take_the_events_and_the_spans() {
    let Some(_) = installed("audit/opentelemetry") else { return };
    let home = lived_in();
    home.ask_approved("undo");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/replay-tests/peers/audit_forms.py");
    let peers = folder().join("audit");
    let read = |form: &str| -> Vec<Value> {
        let ran = home.run(["audit", "export", "--format", form]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        serde_json::from_str(&python(&["-I", script, peers.to_str().unwrap(), form], &ran.out)).unwrap()
    };
    let lines = lines(&home, &[]);
    let events = read("cloudevents");
    let seqs: Vec<String> = lines.iter().map(|line| line["seq"].to_string()).collect();
    assert_eq!(events.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>(), seqs);
    assert!(events.iter().zip(&lines).all(|(event, line)| event["data"] == *line), "{events:?}");
    let spans = read("otel");
    assert_eq!(spans.len(), lines.len());
    for (span, line) in spans.iter().zip(&lines) {
        assert_eq!(span["is_root"], line.get("executor").is_none(), "{span}");
        assert_eq!(span["seq"], line["seq"], "{span}");
    }
    let linked: Vec<&Value> = spans.iter().filter(|span| !span["links"].as_array().unwrap().is_empty()).collect();
    // What was undone is the newest change: the task, made in a turn of its own.
    let undone = linked.first().map(|span| &span["links"][0]).unwrap();
    assert!(linked.len() == 1 && *undone != linked[0]["trace"], "{linked:?}");
    assert!(spans.iter().any(|span| span["trace"] == *undone && span["is_root"] == true), "{undone}");
}

/// Runs the binary where no home is: what a third party has.
fn elsewhere(folder: &Path, words: &[&str]) -> Ran {
    Command::new(binary()).args(words).env_clear().current_dir(folder).output().unwrap().into()
}

/// A file of proofs as a reader sees it: what lies in base64 is looked through too.
fn readable(proof: &str) -> String {
    let script = "import base64, re, sys\n\
                  text = sys.stdin.read()\n\
                  print(text)\n\
                  for part in re.findall(r'\"(?:header|payload)\":\"([A-Za-z0-9+/=]*)\"', text):\n\
                  \x20   raw = base64.b64decode(part)\n\
                  \x20   print(raw.decode('latin-1'), raw.hex())";
    python(&["-I", "-S", "-c", script], proof)
}

#[test]
fn a_proof_of_one_turn_verifies_elsewhere_and_shows_nothing_of_the_others() {
    let home = lived_in();
    let all = lines(&home, &["--kind", "turns"]);
    let wrote = all.iter().find(|line| line["user_query"].as_str().unwrap().starts_with("write")).unwrap();
    let id = wrote["turn_id"].as_str().unwrap();
    let ran = home.run(["audit", "export", "--turn", id, "--proof"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let seen = readable(&ran.out);
    assert!(seen.contains("=1+1") && seen.contains(id) && seen.contains(&format!("turn/{id}")));
    for other in all.iter().filter(|line| line["turn_id"] != id) {
        let (turn, text) = (other["turn_id"].as_str().unwrap(), other["user_query"].as_str().unwrap());
        let raw: metnos_log::TurnId = turn.parse().unwrap();
        let raw = format!("{:032x}", u128::from_be_bytes(raw.0));
        assert!(!seen.contains(turn) && !seen.contains(&raw) && !seen.contains(text), "{text}");
        let message = other["final_message"].as_str().unwrap_or_default();
        assert!(message.is_empty() || !seen.contains(message), "{message}");
    }
    assert!(!seen.contains("diary") && !seen.contains("inbox") && !seen.contains("schedule/"), "{seen}");

    let third = tempfile::tempdir().unwrap();
    std::fs::write(third.path().join("turn.jsonl"), &ran.out).unwrap();
    let public = std::fs::read_to_string(home.metnos().join("config/keys/instance.pub")).unwrap();
    let verify = |file: &str, key: &str| elsewhere(third.path(), &["audit", "verify", file, "--key", key]);
    let ran = verify("turn.jsonl", public.trim());
    assert!(ran.code == 0 && ran.out.contains("2 lines are made of 5 events"), "{} {}", ran.out, ran.err);
    assert!(ran.out.contains("Not claimed") && ran.out.contains(public.trim()), "{}", ran.out);
    let ran = elsewhere(third.path(), &["--lang", "it", "audit", "verify", "turn.jsonl", "--key", public.trim()]);
    assert!(ran.out.contains("2 righe sono fatte di 5 eventi"), "{}", ran.out);
    let ran = verify("turn.jsonl", &"1".repeat(64));
    assert!(ran.code == 1 && !ran.err.is_empty(), "{}", ran.err);
    assert_eq!((verify("nothing.jsonl", public.trim()).code, verify("turn.jsonl", "nothing").code), (1, 1));
    // What verifies has made nothing.
    assert_eq!(std::fs::read_dir(third.path()).unwrap().count(), 1);
}

#[test]
fn a_daemon_exports_where_the_command_was_typed_and_the_past_is_proved_as_it_was() {
    let home = lived_in();
    let alone = home.run(["audit", "export", "--proof", "--kind", "turns"]).out;
    let daemon = schedules::serve(&home);
    let sub = home.files().join("inbox");
    let mut command = home.command();
    command.current_dir(&sub).args(["audit", "export", "--proof", "--kind", "turns", "--at"]);
    // The daemon's start may have been recorded since; the log as it was is the same.
    let head: Value = serde_json::from_str(alone.lines().next().unwrap()).unwrap();
    let size = head["checkpoint"].as_str().unwrap().lines().nth(1).unwrap().to_owned();
    let ran: Ran = command.arg(&size).args(["--out", "served.jsonl"]).output().unwrap().into();
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    assert_eq!(std::fs::read_to_string(sub.join("served.jsonl")).unwrap(), alone);
    daemon.stop();
    let first: Value = serde_json::from_str(alone.lines().nth(1).unwrap()).unwrap();
    let at = first["line"]["seq"].to_string();
    let ran = home.run(["--at", &at, "audit", "export", "--proof", "--out", "then.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let key = home.metnos().join("config/keys/instance.pub");
    let ran = home.run(["--json", "audit", "verify", "then.jsonl", "--key", key.to_str().unwrap()]);
    assert_eq!((ran.json()["size"].to_string(), ran.json()["kinds"]["turns"].as_u64()), (at, Some(1)), "{}", ran.out);
}

#[test]
fn any_change_to_a_file_of_proofs_is_refused_with_its_reason() {
    let home = lived_in();
    let whole = home.files().join("whole.jsonl");
    assert_eq!(home.run(["audit", "export", "--proof", "--out", "whole.jsonl"]).code, 0);
    let key = home.metnos().join("config/keys/instance.pub");
    let check = |text: &[u8]| {
        let file = home.file("changed.jsonl", text);
        home.run(["audit", "verify", file.to_str().unwrap(), "--key", key.to_str().unwrap()])
    };
    let text = std::fs::read(&whole).unwrap();
    assert_eq!(check(&text).code, 0);
    for at in (0..text.len()).step_by(text.len() / 60) {
        let mut changed = text.clone();
        changed[at] = if changed[at] == b'a' { b'b' } else { b'a' };
        let ran = check(&changed);
        assert!(ran.code == 1 && ran.err.starts_with("error: "), "byte {at}: {} {}", ran.out, ran.err);
    }
    let rows: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let order = |order: &[usize]| order.iter().flat_map(|at| rows[*at]).copied().collect::<Vec<u8>>();
    let numbers: Vec<usize> = (0..rows.len()).collect();
    let without = |at: usize| order(&[&numbers[..at], &numbers[at + 1..]].concat());
    let mut swapped = numbers.clone();
    swapped.swap(2, 4);
    for (changed, reason) in [
        (without(2), ""),
        (without(rows.len() - 1), "it is cut off"),
        (text[..text.len() / 2].to_vec(), "it is cut off"),
        (order(&swapped), ""),
        (b"{}\n".to_vec(), "it is no file of"),
    ] {
        let ran = check(&changed);
        assert!(ran.code == 1 && ran.err.contains(reason), "{reason}: {} {}", ran.out, ran.err);
    }
    // The public key of the first of RFC 8032's examples.
    let other = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    let ran = home.run(["audit", "verify", "whole.jsonl", "--key", other]);
    assert!(ran.code == 1 && ran.err.contains("signed by another key"), "{} {}", ran.out, ran.err);
}

#[test]
fn a_correction_is_a_later_line_and_the_corrected_one_stays() {
    let home = lived_in();
    let before = lines(&home, &[]);
    let line = before.iter().find(|line| line["executor"] == "write_files").unwrap();
    let (seq, id) = (line["seq"].to_string(), line["turn_id"].as_str().unwrap());
    let rectify =
        |options: &[&str]| home.run(["audit", "rectify", &seq, "--note", "it was a test"].iter().chain(options));
    let ran = rectify(&[]);
    assert!(ran.code == 3 && ran.err.contains("it was a test"), "{} {}", ran.code, ran.err);
    assert_eq!(lines(&home, &[]), before);
    let ran = rectify(&["--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let after = lines(&home, &["--turn", id]);
    let correction = after.last().unwrap();
    assert_eq!((correction["corrects"].to_string(), &correction["note"]), (seq.clone(), &"it was a test".into()));
    assert_eq!((&correction["turn_id"], &correction["by"]), (&id.into(), &"owner".into()));
    assert!(after.contains(line), "{after:?}");
    let file = home.metnos().join("workspace/.audit/corrections/2026-03-12.jsonl");
    assert_eq!(std::fs::read_to_string(file).unwrap().lines().count(), 1);
    // A correction is a line; what is none is not corrected.
    let own = correction["seq"].to_string();
    assert_eq!(home.run(["--yes", "audit", "rectify", &own, "--note", "it was none"]).code, 0);
    assert_eq!(lines(&home, &["--turn", id, "--kind", "corrections"]).len(), 2);
    for none in ["1", "999999"] {
        let ran = home.run(["--yes", "audit", "rectify", none, "--note", "x"]);
        assert!(ran.code == 1 && ran.err.contains("no line"), "{} {}", ran.code, ran.err);
    }
    assert_eq!(home.run(["--yes", "audit", "rectify", &seq, "--note", " "]).code, 2);
    assert_eq!(home.run(["--yes", "--at", "5", "audit", "rectify", &seq, "--note", "x"]).code, 2);
    // At a terminal it asks.
    for (answer, count) in [("n\r", 2), ("y\r", 3)] {
        let mut terminal = Pty::run(&home, 100, &["audit", "rectify", &seq, "--note", "asked"]);
        terminal.sees("[y/N]");
        terminal.types(answer);
        terminal.ends();
        assert_eq!(lines(&home, &["--kind", "corrections"]).len(), count);
    }
    home.is_whole();
}

/// A grant of another folder, of another person's business as it may be, is part of no turn that it does not concern.
#[test]
fn a_proof_of_one_turn_shows_no_grant_that_it_had_nothing_to_do_with() {
    let home = Home::new();
    home.file("inbox/a.txt", "a");
    for target in ["~/inbox", "~/taxes-of-anna", "~/inbox/deep"] {
        assert_eq!(home.run(["grants", "give", "fs:write", target]).code, 0);
    }
    assert_eq!(home.ask("write \"hello\" to inbox/one.txt").code, 0, "it is granted");
    let id = lines(&home, &["--kind", "turns"]).last().unwrap()["turn_id"].as_str().unwrap().to_owned();
    let events = home.run(["--json", "log", "tail", "-n", "100"]).out;
    let mut events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let resolved = events.rfind(|event| event["kind"] == "arguments_resolved").unwrap();
    let grants = resolved["payload"]["grants"].as_array().unwrap();
    assert_eq!(grants.iter().map(|grant| &grant["grant"]).collect::<Vec<_>>(), [1], "{resolved}");
    let proof = home.run(["audit", "export", "--turn", &id, "--proof"]);
    let script = "import base64, re, sys\n\
                  for part in re.findall(r'\"payload\":\"([A-Za-z0-9+/=]*)\"', sys.stdin.read()):\n\
                  \x20   print(base64.b64decode(part).decode('latin-1'))";
    let seen = python(&["-I", "-S", "-c", script], &proof.out);
    assert!(seen.contains("inbox") && !seen.contains("taxes-of-anna") && !seen.contains("inbox/deep"), "{seen}");
    // What the undo changes is named by no argument; what is granted there counts all the same.
    assert_eq!(home.ask("undo").code, 0);
    home.is_whole();
}

/// What takes a turn back or tells of it quotes it; whoever is shown the one is not shown the other.
#[test]
fn a_proof_of_one_turn_shows_nothing_of_the_turn_that_it_took_back_or_told_of() {
    let home = Home::new();
    assert_eq!(home.ask_approved("write \"aubergine\" to one.txt").code, 0);
    let wrote = lines(&home, &["--kind", "turns"]).last().unwrap()["turn_id"].as_str().unwrap().to_owned();
    let raw = format!("{:032x}", u128::from_be_bytes(wrote.parse::<metnos_log::TurnId>().unwrap().0));
    assert!(home.ask("what did you do").out.contains("aubergine"));
    assert!(home.ask("why did you do that").out.contains("aubergine"));
    assert_eq!(home.run(["--yes", "undo", &wrote]).code, 0);
    let turns = lines(&home, &["--kind", "turns"]);
    let turns = turns.iter().skip_while(|turn| turn["turn_id"] != *wrote);
    assert_eq!(turns.clone().count(), 4);
    for turn in turns {
        let id = turn["turn_id"].as_str().unwrap();
        let shown = |more: &[&str]| {
            let ran = home.run(["audit", "export", "--turn", id, "--proof"].iter().chain(more));
            assert_eq!(ran.code, 0, "{}", ran.err);
            let seen = readable(&ran.out);
            home.file("turn.jsonl", &ran.out);
            let public = std::fs::read_to_string(home.metnos().join("config/keys/instance.pub")).unwrap();
            let verified = home.run(["audit", "verify", "turn.jsonl", "--key", public.trim()]);
            assert_eq!(verified.code, 0, "{}", verified.err);
            ["aubergine", "one.txt", &wrote, &raw].map(|of| seen.contains(of))
        };
        assert_eq!(shown(&[]), [id == wrote; 4], "{turn}");
        assert!(shown(&["--quotes"])[0], "{turn}");
    }
    home.is_whole();
}

/// What changes lines that were exported before is a line itself: who, when and why; nothing of what is gone.
#[test]
fn an_erasure_is_a_line_of_its_own() {
    let home = lived_in();
    let turn = lines(&home, &["--kind", "turns"]).last().unwrap()["turn_id"].as_str().unwrap().to_owned();
    for (what, reason) in [(["--turn", &turn], "a guest saw it"), (["--text", "=1+1"], "=2+2 is asked for")] {
        let erased = home.run(["--yes", "log", "erase", "--reason", reason].iter().chain(&what));
        assert_eq!(erased.code, 0, "{}", erased.err);
    }
    let found = lines(&home, &["--kind", "erasures"]);
    assert_eq!(found.len(), 2, "{found:?}");
    let (one, other) = (&found[0], &found[1]);
    assert_eq!(
        (&one["selector"], &one["of"], &one["turn_id"]),
        (&"turn".into(), &turn.clone().into(), &turn.clone().into())
    );
    assert_eq!((&one["by"], &one["reason"]), (&"owner".into(), &"a guest saw it".into()));
    assert!(one["payloads"].as_u64() > Some(1) && one["ts"].as_str().unwrap().starts_with("2026-03-12T12:0"), "{one}");
    assert_eq!((&other["selector"], &other["of"], &other["turn_id"]), (&"text".into(), &Value::Null, &Value::Null));
    assert_eq!(lines(&home, &["--turn", &turn]).last(), Some(one));
    let all = lines(&home, &[]);
    assert_eq!(all.iter().filter(|line| line.get("selector").is_some()).count(), 2);
    // Beside the lines of the day, and in the other forms.
    let day = std::fs::read_to_string(home.metnos().join("workspace/.audit/erasures/2026-03-12.jsonl")).unwrap();
    assert_eq!(day.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>(), found);
    let table = home.run(["audit", "export", "--format", "csv"]).out;
    let rows = table.lines().filter(|row| row.starts_with("\"erasures\",")).collect::<Vec<_>>().join("\n");
    assert!(rows.contains("\"a guest saw it\"") && rows.contains("\"'=2+2 is asked for\""), "{rows}");
    let events = home.run(["audit", "export", "--format", "cloudevents"]).out;
    assert_eq!(events.matches("\"type\":\"metnos.audit.erasures\"").count(), 2, "{events}");
    assert_eq!(home.run(["audit", "export", "--format", "otel"]).code, 0);
    for (options, count) in [(&[][..], 2), (&["--turn", &turn], 1)] {
        let file = home.files().join(format!("proof-{count}.jsonl"));
        let path = file.to_str().unwrap();
        let ran = home.run(["audit", "export", "--proof", "--out", path].iter().chain(options));
        assert_eq!(ran.code, 0, "{}", ran.err);
        let key = home.metnos().join("config/keys/instance.pub");
        let verified = home.run(["--json", "audit", "verify", path, "--key", key.to_str().unwrap()]).json();
        assert_eq!((&verified["ok"], &verified["kinds"]["erasures"]), (&true.into(), &count.into()), "{verified}");
        assert!(!std::fs::read_to_string(&file).unwrap().contains("=1+1"));
    }
}

#[test]
fn files_of_another_shape_are_made_anew() {
    let home = lived_in();
    let file = home.metnos().join("workspace/.audit/turns/2026-03-12.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let saved = home.metnos().join("data/projections/audit.json");
    let state = std::fs::read_to_string(&saved).unwrap();
    // As an earlier program left it: other lines, and a checkpoint that fits them in size and time.
    let mut older: Value = serde_json::from_str(&state).unwrap();
    older.as_object_mut().unwrap().remove("version").unwrap();
    std::fs::write(&saved, older.to_string()).unwrap();
    let modified = std::fs::metadata(&file).unwrap().modified().unwrap();
    std::fs::write(&file, text.replace("caller", "called")).unwrap();
    std::fs::File::options().append(true).open(&file).unwrap().set_modified(modified).unwrap();
    home.ask("what time is it");
    let now = std::fs::read_to_string(&file).unwrap();
    assert!(now.starts_with(&text) && now.len() > text.len() && !now.contains("called"), "{now}");
}

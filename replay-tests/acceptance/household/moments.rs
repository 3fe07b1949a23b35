//! The record answers questions: how anything stood, what changed, why a thing is as it is; and one turn written down alone.

use std::path::Path;
use std::time::{Duration, Instant};

use super::home::{Home, Ran};
use super::pty::Pty;
use super::telegram::{HOST, Talk};

/// A home in which a file was written, moved, and moved back.
fn lived_in() -> Home {
    let home = Home::new();
    for sentence in ["write \"hello\" to b.txt", "move b.txt to d.txt"] {
        let ran = home.ask_approved(sentence);
        assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    }
    let undone = home.run(["undo", "--yes"]);
    assert_eq!(undone.code, 0, "{} {}", undone.out, undone.err);
    home
}

fn good(ran: Ran) -> String {
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    ran.out
}

fn events(home: &Home) -> u64 {
    home.run(["--json", "log", "status"]).json()["events"].as_u64().unwrap()
}

#[test]
fn how_anything_stood_is_shown_and_its_text_has_the_digest_that_is_named() {
    let home = lived_in();
    let all = home.run(["--json", "at", "now"]).json();
    assert_eq!(all["position"], events(&home));
    for projection in all["projections"].as_array().unwrap() {
        let name = projection["projection"].as_str().unwrap();
        let shown = good(home.run(["--json", "at", "now", name]));
        let (_, state) = shown.trim_end().split_once("\"state\":").unwrap();
        let state = state.strip_suffix('}').unwrap();
        assert_eq!(blake3::hash(state.as_bytes()).to_hex().as_str(), projection["digest"], "{name}");
        // At its first event nothing was known yet of most, and each can be told in both languages.
        for (moment, language) in [("now", "en"), ("now", "it"), ("1", "en")] {
            let told = good(home.run(["--lang", language, "at", moment, name]));
            assert!(!told.contains("[at.") && told.lines().count() >= 2, "{name}: {told}");
        }
    }
    let cut = good(home.run(["at", "now", "catalog"]));
    let whole = good(home.run(["at", "now", "catalog", "--all"]));
    assert!(cut.contains("--all") && whole.lines().count() > cut.lines().count());
    let table = good(home.run(["at", &events(&home).to_string(), "turns"]));
    assert!(table.contains("4 turns"), "{table}");
    for (moment, code) in [("soon", 2), ("999999", 1), ("2026-13-40", 2)] {
        assert_eq!(home.run(["at", moment]).code, code, "{moment}");
    }
    assert_eq!(home.run(["at", "now", "weather"]).code, 1);
    assert_eq!(home.run(["--at", "3", "at", "now"]).code, 2);
    // A day is over at its end, by the owner's clock.
    let (before, after) = (home.run(["--json", "at", "2001-01-01"]), home.run(["--json", "at", "2199-12-31"]));
    assert_eq!((before.json()["position"].as_u64(), after.json()["position"].as_u64()), (Some(0), Some(events(&home))));
}

#[test]
fn what_changed_is_told_and_listed_place_by_place() {
    let home = lived_in();
    let before = events(&home).to_string();
    assert_eq!(home.run(["actor", "add", "Ada"]).code, 0);
    assert_eq!(home.run(["config", "set", "engine", "simple"]).code, 0);
    home.ask("read the file b.txt");
    let told = good(home.run(["diff", &before, "now"]));
    for part in ["1 turn was begun; ended: 1 answered", "(Ada) is known now", "engine is now \"simple\""] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(good(home.run(["--lang", "it", "diff", &before, "now"])).contains("È iniziato un turno"));
    assert!(good(home.run(["diff", &before, &before])).contains("Nothing changed"));
    assert!(!good(home.run(["diff", &before, "now", "actors"])).contains("turn was begun"));
    let listed = home.run(["--json", "diff", &before, "now"]).json();
    let actors = listed["projections"].as_array().unwrap().iter().find(|one| one["projection"] == "actors").unwrap();
    let changes = actors["changes"].as_array().unwrap();
    assert!(changes.iter().any(|change| change["after"]["name"] == "Ada"), "{actors}");
    let paths: Vec<&str> = changes.iter().map(|change| change["path"].as_str().unwrap()).collect();
    assert!(paths.is_sorted(), "{paths:?}");
    assert_eq!(home.run(["--json", "diff", &before, "now"]).out, home.run(["--json", "diff", &before, "now"]).out);
    assert_eq!(home.run(["diff", "now", "3"]).code, 2);
    // Also by times behind which nothing lies any more.
    for later_first in [["2091-01-01", "now"], ["2091-01-01", "2090-01-01"], ["2091-01-01T00:00:00Z", "2090-12-31"]] {
        let ran = home.run(["diff", later_first[0], later_first[1]]);
        let said = format!("{} is later than {}", later_first[0], later_first[1]);
        assert!(ran.code == 2 && ran.err.contains(&said), "{} {}", ran.out, ran.err);
    }
    assert!(good(home.run(["diff", "2090-01-01", "2091-01-01"])).contains("Nothing changed"));
}

/// Whatever takes a moment takes it in the same forms, and says so in the same words.
#[test]
fn a_moment_is_written_alike_everywhere() {
    let home = Home::new();
    let (last, beyond) = (events(&home).to_string(), (events(&home) + 1).to_string());
    let commands: [(&[&str], &[&str]); 7] = [
        (&["at"], &[]),
        (&["--at"], &["turn", "list"]),
        (&["diff", "0"], &[]),
        (&["log", "grep", "executor", "--since"], &[]),
        (&["audit", "export", "--since"], &[]),
        (&["audit", "export", "--until"], &[]),
        (&["--yes", "log", "archive", "--before"], &[]),
    ];
    let with = |(before, after): (&[&str], &[&str]), moment: &str| {
        home.run(before.iter().copied().chain([moment]).chain(after.iter().copied()))
    };
    for command in commands {
        let forms = ["2", &last, "2199-11-22", "2199-11-22 18", "2199-11-22 18:30", "2199-11-22T18:30:00+01:00", "now"];
        for moment in forms {
            let ran = with(command, moment);
            assert!(ran.code < 2, "{command:?} {moment}: {} {}", ran.code, ran.err);
        }
        for moment in ["soon", "2199-13-01", ""] {
            let ran = with(command, moment);
            assert!(
                ran.code == 2 && ran.err.contains("a day as 2026-11-22"),
                "{command:?} {moment}: {} {}",
                ran.code,
                ran.err
            );
        }
        let (before, after) = command;
        let named =
            before.iter().chain(after).filter(|word| !word.starts_with("--") && !["0", "executor"].contains(word));
        let help = home.run(named.copied().chain(["--help"])).out.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = "an event's number, a day as 2026-11-22, a day and an hour as «2026-11-22 18:30», a time with its zone as \
                     2026-11-22T18:30:00+01:00, or now";
        assert!(help.contains(words), "{command:?}: {help}");
        let missing = with(command, &beyond);
        if ["grep", "archive"].iter().any(|word| command.0.contains(word)) {
            assert!(missing.code < 2 && !missing.err.contains("there is no event"), "{command:?}: {}", missing.err);
            continue;
        }
        assert!(
            missing.code == 1 && missing.err.contains("there is no event"),
            "{command:?}: {} {}",
            missing.code,
            missing.err
        );
    }
}

/// Where the clock was ahead for a while, what is asked by a time ends there; that is said, with the event that ends the rest.
#[test]
fn a_clock_that_was_ahead_is_told() {
    let home = Home::new();
    let clock = home.file("clock", "2091-03-02T05:00:00Z");
    let home = home.with("METNOS_CLOCK", clock.to_str().unwrap());
    let mut ends = Vec::new();
    for time in ["2091-03-02T05:00:00Z", "2091-03-04T05:00:00Z", "2091-03-02T06:00:00Z"] {
        home.file("clock", time);
        assert_eq!(home.ask("what time is it in Tokyo").code, 0);
        ends.push(events(&home));
    }
    let between = "2091-03-02T05:30:00Z";
    let shown = home.run(["at", "2091-03-02T05:59:00Z"]);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""), "nothing was passed over");
    for command in [
        ["at", "2091-03-03"].as_slice(),
        &["--at", "2091-03-03T12:00:00Z", "turn", "list"],
        &["diff", "2", "2091-03-03"],
    ] {
        let shown = home.run(command);
        let (ahead, last) = (format!("event {} was written", ends[0] + 1), format!("With {} as the moment", ends[2]));
        assert!(
            shown.code == 0 && shown.err.contains(&ahead) && shown.err.contains(&last),
            "{command:?}: {}",
            shown.err
        );
    }
    let grep = home.run(["log", "grep", "Tokyo", "--at", "2091-03-03T12:00:00Z"]);
    assert!(grep.err.contains("The clock was ahead"), "{}", grep.err);
    assert_eq!(home.run(["--at", between, "turn", "list"]).err, "");
}

#[test]
fn a_file_leads_back_to_the_words_the_leave_and_the_signature() {
    let home = lived_in();
    // It is gone under this name: moved here, and back.
    let found = home.run(["--json", "why", "d.txt"]).json();
    let changes = found["changes"].as_array().unwrap();
    let ops: Vec<&str> = changes.iter().map(|change| change["touch"]["op"]["op"].as_str().unwrap()).collect();
    assert_eq!(ops, ["move", "move", "write"], "{found}");
    assert_eq!(changes[1]["touch"]["undone_by"], changes[0]["touch"]["turn"]);
    assert!(changes[2]["touch"]["undone_by"].is_null(), "the write still stands");
    let written = &changes[2];
    assert_eq!(written["account"]["text"], "write \"hello\" to b.txt");
    assert_eq!(written["account"]["args"][0]["origin"]["words"], "hello");
    let key = home.run(["--json", "at", "now", "catalog"]).json()["state"]["keys"].clone();
    let signed = written["signature"]["signed"]["key_id"].as_str().unwrap();
    assert!(key[signed].is_object() && written["signature"]["role"] == "instance", "{key} {signed}");
    let answer = written["account"]["leave"].as_array().unwrap().last().unwrap()["answer"].clone();
    assert_eq!((&answer[0], &answer[1]), (&"yes".into(), &"approve_option".into()));
    for language in ["en", "it"] {
        let told = good(home.run(["--lang", language, "why", "d.txt", "--all"]));
        assert!(told.contains("write \"hello\" to b.txt") && !told.contains("[why."), "{told}");
    }
    assert_eq!(home.run(["why", "never.txt"]).code, 1);
    let all = home.run(["--json", "why", "/", "--all"]).json();
    assert_eq!((all["path"].as_str(), all["changes"].as_array().map(Vec::len)), (Some("/"), Some(3)), "{all}");
    let nothing = Home::new().run(["why", "/"]);
    assert!(nothing.code == 1 && nothing.err.contains("touched /\n"), "{}", nothing.err);
    assert_eq!(home.run(["why", "999999"]).code, 1);
    let home_folder = home.files();
    assert_eq!(
        home.run(["--json", "why", home_folder.to_str().unwrap(), "--all"]).json()["changes"].as_array().unwrap().len(),
        3
    );
}

#[test]
fn what_a_task_wrote_leads_back_to_the_task_and_to_who_made_it() {
    let home = Home::new();
    good(home.run(["--yes", "schedule", "add", "every day at 8 write \"x\" to s.txt"]));
    good(home.run(["--yes", "schedule", "run-now", "1"]));
    let found = home.run(["--json", "why", "s.txt"]).json();
    let change = &found["changes"][0];
    assert_eq!((&change["task"]["schedule"], &change["task"]["actor"]), (&"1".into(), &"owner".into()), "{found}");
    assert!(change["task"]["sentence"].as_str().unwrap().contains("every day at 8"), "{found}");
    assert_eq!(change["account"]["text"], "write \"x\" to s.txt");
    let seq = change["touch"]["seq"].to_string();
    let chain = home.run(["--json", "why", &seq]).json()["chain"].clone();
    let kinds: Vec<&str> = chain.as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
    let place =
        |kind: &str| kinds.iter().position(|known| *known == kind).unwrap_or_else(|| panic!("{kind}: {kinds:?}"));
    assert!(place("slot_claimed") < place("schedule_created"), "{kinds:?}");
    assert_eq!(kinds.last(), Some(&"turn_opened"), "the turn that asked for the task: {kinds:?}");
    let told = good(home.run(["--lang", "it", "why", "s.txt"]));
    assert!(told.contains("attività   1, creata da owner"), "{told}");
}

#[test]
fn an_event_leads_back_to_its_root_and_a_message_to_its_turn() {
    let home = lived_in();
    let last = events(&home).to_string();
    let chain = home.run(["--json", "why", &last]).json()["chain"].clone();
    let kinds: Vec<&str> = chain.as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["turn_closed", "turn_opened"]);
    let lines = good(home.run(["log", "export"]));
    let of_kind = |kind: &str| -> serde_json::Value {
        let line = lines.lines().rev().find(|line| line.contains(&format!("\"kind\":\"{kind}\""))).unwrap();
        serde_json::from_str(line).unwrap()
    };
    // By its id: from the change to the consent, the verdict, the call, the step and the sentence.
    let committed = of_kind("effect_committed")["id"].as_str().unwrap().to_owned();
    let chain = home.run(["--json", "why", &committed]).json()["chain"].clone();
    let kinds: Vec<&str> = chain.as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(&kinds[..4], ["effect_committed", "effects_planned", "consent_given", "consent_asked"]);
    assert_eq!(kinds.last(), Some(&"turn_opened"));
    let told = good(home.run(["why", "last"]));
    assert!(told.contains("Each of these was led to"), "{told}");
    let turn = of_kind("turn_closed")["turn"].as_str().unwrap().to_owned();
    assert_eq!(good(home.run(["why", &turn])), told);
    assert_eq!(home.run(["why", "telegram:17"]).code, 1);
}

#[test]
fn a_turn_is_told_event_by_event_and_decided_again_beside_it() {
    let home = lived_in();
    for (language, word) in
        [("en", "Decided again, it comes out the same."), ("it", "Deciso di nuovo, risulta uguale.")]
    {
        let told = good(home.run(["--lang", language, "replay", "turn"]));
        assert!(told.contains(word) && !told.contains("[timeline."), "{told}");
    }
    let step = good(home.run(["replay", "turn", "--step", "1"]));
    assert!(step.contains("step 1") && !step.contains("sentence"), "{step}");
    assert_eq!(home.run(["replay", "turn", "--step", "9"]).code, 1);
    let record = home.run(["--json", "replay", "turn"]).json();
    assert_eq!(record["again"]["differences"], serde_json::json!([]));
    let refused = home.run(["replay", "turn", "--live-debug"]);
    assert!(refused.code == 3 && refused.err.contains("terminal"), "{}", refused.err);
}

#[test]
fn a_turn_is_gone_through_at_a_terminal() {
    let home = lived_in();
    let mut terminal = Pty::run(&home, 100, &["replay", "turn", "--live-debug"]);
    terminal.sees("q ends");
    terminal.types("\n");
    terminal.sees("sentence");
    terminal.types("\n");
    terminal.sees("plan");
    terminal.types("q\n");
    assert_eq!(terminal.ends().0, Some(0));
}

#[test]
fn a_turn_is_written_down_alone_and_decides_the_same_under_other_names() {
    let home = lived_in();
    home.ask("read the file b.txt");
    let turns = home.run(["--json", "at", "now", "turns"]).json()["state"]["rows"].clone();
    let personal = home.files().parent().unwrap().to_str().unwrap().to_owned();
    for turn in turns.as_object().unwrap().keys() {
        let out = home.metnos().join(format!("case-{turn}"));
        let recorded = home.run(["--json", "record-test", turn, "--out", out.to_str().unwrap()]);
        assert_eq!(recorded.code, 0, "{} {}", recorded.out, recorded.err);
        assert_eq!(recorded.json()["decidable"], true);
        let history = std::fs::read_to_string(out.join("history.jsonl")).unwrap();
        assert!(!history.contains(&personal), "it names {personal}");
        assert_eq!(history.matches("\"kind\":\"turn_opened\"").count(), 1);
        let checked = home.run(["--json", "replay", "check", "--history", out.join("history.jsonl").to_str().unwrap()]);
        let checked = checked.json();
        assert_eq!(
            (&checked["ok"], &checked["by_other_rules"], &checked["turns"]),
            (&true.into(), &0.into(), &1.into())
        );
        let pinned = std::fs::read_to_string(out.join("digests.txt")).unwrap();
        for projection in checked["projections"].as_array().unwrap() {
            let (name, digest) = (projection["projection"].as_str().unwrap(), projection["digest"].as_str().unwrap());
            assert!(pinned.contains(&format!("{name} {digest}\n")), "{name}");
        }
        // What is there is never written over.
        assert_eq!(home.run(["record-test", turn, "--out", out.to_str().unwrap()]).code, 1);
    }
}

/// A filter of system calls that ends the process at once when it opens a socket or starts a process; threads go on, and so
/// does a pair of ends within the process, by which it hears of signals.
const ALONE: &str = "import ctypes, os, platform, struct, sys\n\
    x86 = platform.machine() == 'x86_64'\n\
    denied = [41, 42, 57, 58] if x86 else [198, 203]\n\
    clone = 56 if x86 else 220\n\
    op = lambda code, jt, jf, k: struct.pack('HBBI', code, jt, jf, k)\n\
    kill, allow, absent = 0x80000000, 0x7fff0000, 0x00050000 | 38\n\
    rules = [op(0x20, 0, 0, 0)]\n\
    for number in denied: rules += [op(0x15, 0, 1, number), op(0x06, 0, 0, kill)]\n\
    rules += [op(0x15, 0, 1, 435), op(0x06, 0, 0, absent)]\n\
    rules += [op(0x15, 0, 3, clone), op(0x20, 0, 0, 16), op(0x45, 1, 0, 0x10000), op(0x06, 0, 0, kill)]\n\
    rules += [op(0x06, 0, 0, allow)]\n\
    code = ctypes.create_string_buffer(b''.join(rules))\n\
    program = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', len(rules), ctypes.addressof(code)))\n\
    libc = ctypes.CDLL(None, use_errno=True)\n\
    assert libc.prctl(38, 1, 0, 0, 0) == 0\n\
    assert libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0) == 0, ctypes.get_errno()\n\
    os.execv(sys.argv[1], sys.argv[1:])\n";

/// Runs the binary where a socket or a process would end it; the exit code, or none where that happened.
fn alone(home: &Home, args: &[&str]) -> (Option<i32>, String) {
    let plain = home.command();
    let mut command = std::process::Command::new("python3");
    command.args(["-I", "-S", "-c", ALONE]).arg(plain.get_program()).args(args);
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.current_dir(home.files()).stdin(std::process::Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn a_replay_opens_no_socket_and_starts_no_process() {
    let home = lived_in();
    let history = home.files().join("history.jsonl");
    std::fs::write(&history, good(home.run(["log", "export"]))).unwrap();
    let history: &Path = &history;
    for args in [
        &["replay", "check"][..],
        &["replay", "check", "--strict"],
        &["replay", "check", "--history", history.to_str().unwrap()],
        &["replay", "turn"],
        &["at", "now"],
        &["why", "b.txt"],
    ] {
        let (code, said) = alone(&home, args);
        assert_eq!(code, Some(0), "{args:?}: {said}");
    }
    // What does either is ended by the filter.
    let (code, said) = alone(&home, &["serve"]);
    assert_eq!(code, None, "a daemon listens: {said}");
    let (code, said) = alone(&home, &["ask", "read the file b.txt"]);
    assert_eq!(code, None, "a call starts a process: {said}");
}

#[test]
fn a_message_of_a_chat_leads_back_to_the_turn_that_said_it() {
    let talk = Talk::begin();
    let file = talk.home.file("a.txt", "fair weather\n");
    let from = talk.api.count();
    let sentence = format!("read the file {}", file.display());
    talk.api.writes(HOST, &sentence);
    let sent = talk.api.said(from, HOST, "fair weather");
    // That it was sent is on record a moment after it is there.
    let name = format!("telegram:{}", sent.id);
    let deadline = Instant::now() + Duration::from_secs(30);
    let found = loop {
        let ran = talk.home.run(["--json", "why", &name]);
        if ran.code == 0 {
            break ran.json();
        }
        assert!(Instant::now() < deadline, "{} {}", ran.out, ran.err);
    };
    assert_eq!(found["turn"]["user_query"], sentence.as_str(), "{found}");
    let kinds: Vec<&str> =
        found["chain"].as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["turn_closed", "turn_opened", "update_received"]);
    assert_eq!(talk.home.run(["why", "telegram:99999"]).code, 1);
}

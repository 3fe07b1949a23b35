//! A daemon serves the home, and nobody notices: the same bytes and exit codes as without, consent and Ctrl-C where the
//! command was typed, several commands at once; and it ends, by any end, without losing anything.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::daemon::{Daemon, raw, socket};
use super::home::{Home, Ran, copy_tree, is_root};
use super::pty::Pty;

/// How often the daemon is killed at a moment that chance has.
const KILLS: u32 = 20;

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
    &["log", "status"],
    &["log", "tail", "-n", "7"],
    &["log", "show", "3"],
    &["log", "show", "99999"],
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
    &["--at", "20", "executor", "list"],
    &["--at", "5", "ask", "what time is it"],
    &["ask"],
    &["aks", "what time is it"],
    &["man", "ask"],
];

#[test]
fn what_looks_says_the_same_bytes() {
    let home = Home::new();
    home.file("notes.txt", "one\ntwo\n");
    assert_eq!(home.ask("read the file notes.txt").code, 0);
    let run = |args: &[&str]| {
        let Ran { code, out, err } = home.run(args);
        (code, out, err)
    };
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
    let homes = [Home::new(), Home::new()];
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

/// A command that runs by itself.
struct Running(Child);

impl Running {
    fn new(home: &Home, args: &[&str]) -> Self {
        let mut command = home.command();
        Self(command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    fn ends(mut self) -> Ran {
        let (mut out, mut err) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        Ran { code: self.0.wait().unwrap().code().unwrap_or(-1), out, err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed half-way leaves no program behind; one that ended is reaped already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A home whose daemon makes its turns wait at that point.
fn waiting_at(point: &str, milliseconds: u32) -> (Home, Daemon) {
    let home = Home::new().with("METNOS_PAUSE_AT", &format!("{point}:{milliseconds}"));
    let daemon = Daemon::serve(&home);
    (home, daemon)
}

#[test]
fn two_run_at_once_and_ctrl_c_stops_one() {
    let (home, mut daemon) = waiting_at("before_intent", 3000);
    let write = |name: &str| format!("write \"text\" to {name}");
    let mut first = Running::new(&home, &["ask", "--approve", "all", &write("first.txt")]);
    let mut second = Running::new(&home, &["ask", "--approve", "all", &write("second.txt")]);
    daemon.says("waiting at before_intent");
    daemon.says("waiting at before_intent");
    assert!(first.is_running() && second.is_running(), "one waited for the other");
    first.send(Signal::INT);
    let (first, second) = (first.ends(), second.ends());
    assert_eq!(first.code, 130, "{} {}", first.out, first.err);
    assert!(first.err.contains("Stopping") && first.err.contains("I stopped"), "{}", first.err);
    assert_eq!(second.code, 0, "{} {}", second.out, second.err);
    assert!(!home.files().join("first.txt").exists() && home.files().join("second.txt").exists());
    daemon.stop();
    home.is_whole();
}

#[test]
fn who_goes_away_or_presses_twice_leaves_a_record() {
    let (home, mut daemon) = waiting_at("before_intent", 2500);
    let write = ["ask", "--approve", "all", "write \"text\" to new.txt"];
    let gone = Running::new(&home, &write);
    daemon.says("waiting at before_intent");
    gone.send(Signal::KILL);
    assert_eq!(gone.ends().code, -1);
    let hasty = Running::new(&home, &write);
    daemon.says("waiting at before_intent");
    let sent = Instant::now();
    hasty.send(Signal::TERM);
    std::thread::sleep(Duration::from_millis(200));
    hasty.send(Signal::TERM);
    let hasty = hasty.ends();
    assert!(sent.elapsed() < Duration::from_secs(2), "{:?}", sent.elapsed());
    assert_eq!(hasty.code, 143, "{}", hasty.err);
    assert!(hasty.err.contains("ended at once"), "{}", hasty.err);
    // Both turns end in the daemon, with nothing changed.
    daemon.stop();
    let turns = home.run(["--json", "turn", "list"]).out;
    let ends: Vec<serde_json::Value> = turns.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let cancelled = ends.iter().filter(|turn| turn["class"] == "cancelled").count();
    assert_eq!(cancelled, 2, "{turns}");
    assert!(!home.files().join("new.txt").exists());
    home.is_whole();
}

#[test]
fn it_stops_in_time_whatever_runs() {
    let (home, mut daemon) = waiting_at("before_intent", 1500);
    let asked = Running::new(&home, &["ask", "--approve", "all", "write \"text\" to new.txt"]);
    let follows = Running::new(&home, &["log", "tail", "-f"]);
    daemon.says("waiting at before_intent");
    assert!(daemon.stop() < Duration::from_secs(5));
    let (asked, follows) = (asked.ends(), follows.ends());
    assert_eq!((asked.code, follows.code), (143, 143), "{} {}", asked.err, follows.err);
    assert!(asked.err.contains("I stopped"), "{}", asked.err);
    assert!(follows.err.contains("the daemon is stopping"), "{}", follows.err);
    home.is_whole();
    // What cannot be stopped is left as a kill leaves it: its command says so, and the next one finishes it.
    let (home, mut daemon) = waiting_at("effect_to_outcome", 30_000);
    let asked = Running::new(&home, &["ask", "--approve", "all", "write \"text\" to new.txt"]);
    daemon.says("waiting at effect_to_outcome");
    let took = daemon.stop();
    assert!(took < Duration::from_secs(5), "{took:?}");
    let asked = asked.ends();
    assert_eq!(asked.code, 2, "{}", asked.err);
    assert!(asked.err.contains("the daemon went away") && asked.err.contains("metnos turn list"), "{}", asked.err);
    let home = home.with("METNOS_PAUSE_AT", "nowhere:0");
    let next = home.ask("what time is it");
    assert!(next.code == 0 && next.err.contains("is finished now"), "{}", next.err);
    home.is_whole();
}

#[test]
fn a_killed_one_loses_nothing_and_the_next_settles() {
    let (home, mut daemon) = waiting_at("intent_to_effect", 20_000);
    let asked = Running::new(&home, &["ask", "--approve", "all", "write \"text\" to new.txt"]);
    daemon.says("waiting at intent_to_effect");
    daemon.send(Signal::KILL);
    assert_eq!(daemon.ends(), None);
    let asked = asked.ends();
    assert!(asked.code == 2 && asked.err.contains("the daemon went away"), "{} {}", asked.code, asked.err);
    assert!(socket(&home).exists() && !home.files().join("new.txt").exists());
    // The socket of the dead one is in nobody's way; its successor finishes what was begun, and says so once.
    let home = home.with("METNOS_PAUSE_AT", "nowhere:0");
    let mut daemon = Daemon::start(&home, &[("METNOS_HTTP_LISTEN", "off")]);
    daemon.says("is finished now");
    daemon.says("serving");
    assert_eq!(std::fs::read_to_string(home.files().join("new.txt")).unwrap(), "text");
    let next = home.ask("what time is it");
    assert_eq!((next.code, next.err.as_str()), (0, ""));
    daemon.stop();
    home.is_whole();
}

#[test]
fn a_command_that_waits_for_the_log_is_served_once_someone_serves() {
    // A daemon that has something to settle has the log for a while before it serves.
    let home = Home::new().with("METNOS_PAUSE_AT", "intent_to_effect:20000");
    let mut killed = Running::new(&home, &["ask", "--approve", "all", "write \"text\" to new.txt"]);
    let mut said = BufReader::new(killed.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("waiting at intent_to_effect")));
    killed.send(Signal::KILL);
    drop(killed);
    let home = home.with("METNOS_PAUSE_AT", "effect_to_outcome:2500");
    let mut daemon = Daemon::start(&home, &[("METNOS_HTTP_LISTEN", "off")]);
    daemon.says("waiting at effect_to_outcome");
    let early = Running::new(&home, &["--json", "status"]);
    daemon.says("serving");
    let early = early.ends();
    assert_eq!(early.code, 0, "{}", early.err);
    assert_eq!(early.json()["daemon"]["pid"], daemon.pid());
    daemon.stop();
    home.is_whole();
}

#[test]
fn only_one_serves_and_only_its_own_user() {
    let home = Home::new();
    let daemon = Daemon::serve(&home);
    let second = home.run(["serve"]);
    assert_eq!(second.code, 1, "{}", second.err);
    assert!(second.err.contains(&format!("serves this home: process {}", daemon.pid())), "{}", second.err);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket(&home)), mode(socket(&home).parent().unwrap())), (0o600, 0o700));
    if is_root() {
        // Even where the rights of files would let another user in, the kernel says who he is.
        for folder in ["", "data", "data/run", "data/run/metnos.sock"] {
            std::fs::set_permissions(home.metnos().join(folder), std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        let script = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
            print(s.recv(4096).decode())\n";
        let mut stranger = Command::new("python3");
        stranger.args(["-I", "-S", "-c", script]).arg(socket(&home)).uid(65_534).gid(65_534);
        let answer = Ran::from(stranger.output().unwrap());
        assert!(
            answer.out.starts_with("HTTP/1.1 403") && answer.out.contains("another user"),
            "{} {}",
            answer.out,
            answer.err
        );
    } else {
        eprintln!("SKIPPED for lack of root: another user at the socket");
    }
    assert_eq!(home.ask("what time is it").code, 0);
    daemon.stop();
}

#[test]
fn nonsense_at_the_socket_is_refused_and_harms_nobody() {
    let home = Home::new();
    let daemon = Daemon::serve(&home);
    let posted = |body: &str| {
        let head = "POST /v1/command HTTP/1.1\r\nhost: metnos\r\nconnection: upgrade\r\nupgrade: metnos-command\r\n";
        raw(&home, format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes())
    };
    let data = home.metnos().join("data").canonicalize().unwrap();
    let os = |text: &str| serde_json::json!({ "Unix": text.as_bytes() });
    let request = |version: &str, protocol: u32, data: &str| {
        serde_json::json!({
            "protocol": protocol, "version": version, "data": os(data), "argv": [os("metnos"), os("frobnicate")],
            "exchange": null, "process": 1, "folder": null, "variables": [], "terminals": [false, false, false], "columns": [null, null, null],
        })
    };
    let (own, data) = (env!("CARGO_PKG_VERSION"), data.to_str().unwrap());
    let other = posted(&request("0.0.9", 1, data).to_string());
    assert!(other.contains(" 409 ") && other.contains("0.0.9") && other.contains("other_version"), "{other}");
    assert!(posted(&request(own, 999, data).to_string()).contains("other_version"));
    assert!(posted(&request(own, 1, "/elsewhere").to_string()).contains("other_home"));
    assert!(posted("{}").contains("other_version") && posted("no JSON").contains("other_version"));
    // What gets through is a command like any other: this one is told that there is none of that name.
    let unknown = posted(&request(own, 1, data).to_string());
    assert!(unknown.contains(" 101 ") && unknown.contains("frobnicate"), "{unknown}");
    assert!(raw(&home, b"\x00\x01\x02 nonsense\r\n\r\n").contains(" 400 "));
    let long =
        format!("POST /v1/command HTTP/1.1\r\nhost: m\r\ncontent-length: 99999999\r\n\r\n{}", "x".repeat(5 << 20));
    assert!(raw(&home, long.as_bytes()).contains("too long"));
    // A command that suddenly says what makes no sense is let go.
    let ask = serde_json::json!({
        "protocol": 1, "version": own, "data": os(data), "argv": [os("metnos"), os("log"), os("tail"), os("-f")],
        "exchange": null, "process": 1, "folder": null, "variables": [], "terminals": [false, false, false], "columns": [null, null, null],
    });
    let mut body = ask.to_string().into_bytes();
    let head = "POST /v1/command HTTP/1.1\r\nhost: metnos\r\nconnection: upgrade\r\nupgrade: metnos-command\r\n";
    let mut bytes = format!("{head}content-length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.append(&mut body);
    bytes.extend([0xff; 64]);
    assert!(raw(&home, &bytes).contains(" 101 "));
    assert_eq!(home.ask("what time is it").code, 0);
    assert!(daemon.stop() < Duration::from_secs(5));
    home.is_whole();
}

#[test]
fn a_daemon_of_another_version_is_named() {
    let home = Home::new();
    std::fs::remove_file(socket(&home)).ok();
    let listener = UnixListener::bind(socket(&home)).unwrap();
    let answers = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 16_384];
        let _count = stream.read(&mut request).unwrap();
        let body = "{\"why\":\"other_version\",\"error\":\"a daemon of metnos 9.9 serves this home\"}";
        write!(stream, "HTTP/1.1 409 Conflict\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    });
    let ran = home.ask("what time is it");
    answers.join().unwrap();
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("metnos 9.9") && ran.err.contains("hint: stop the daemon"), "{}", ran.err);
    // Its socket is left over, and nobody listens: the command finds its own way, and so does the next daemon.
    assert_eq!(home.ask("what time is it").code, 0);
    Daemon::serve(&home).stop();
}

#[test]
fn more_commands_than_fit_wait_for_their_turn() {
    let home = Home::new();
    let daemon = Daemon::serve(&home);
    // As many as fit follow the log, and do not end by themselves.
    let follows: Vec<Running> = (0..32).map(|_| Running::new(&home, &["log", "tail", "-n", "1", "-f"])).collect();
    let metric = || daemon.page("/metrics", "localhost").contains("metnos_commands_running 32");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !metric() {
        assert!(Instant::now() < deadline, "they do not run");
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut late = Running::new(&home, &["ask", "what time is it"]);
    std::thread::sleep(Duration::from_millis(500));
    assert!(late.is_running());
    drop(follows);
    let late = late.ends();
    assert_eq!(late.code, 0, "{}", late.err);
    daemon.stop();
}

#[test]
fn its_pages_are_for_this_machine() {
    let home = Home::new();
    home.file("notes.txt", "one\n");
    let daemon = Daemon::serve(&home);
    assert_eq!(home.ask("read the file notes.txt").code, 0);
    let health = daemon.page("/health", &daemon.http);
    assert!(health.starts_with("HTTP/1.1 200") && health.contains("\"ok\":true"), "{health}");
    let metrics = daemon.page("/metrics", "localhost");
    assert!(metrics.contains("text/plain; version=0.0.4"), "{metrics}");
    // One of the turns is the home's first.
    for line in ["metnos_turns_total{end=\"answer\"} 2", "metnos_turns_open 0", "metnos_build_info{version=\""] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    let value = |name: &str| {
        let line =
            metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}: {metrics}"));
        line.trim().parse::<u64>().unwrap()
    };
    assert_eq!(value("metnos_events_total "), home.run(["--json", "log", "status"]).json()["events"].as_u64().unwrap());
    assert!(value("process_resident_memory_bytes ") > 1 << 20);
    let rebound = daemon.page("/health", "example.org");
    assert!(rebound.starts_with("HTTP/1.1 403") && !rebound.contains("events"), "{rebound}");
    assert!(daemon.page("/v1/command", "localhost").starts_with("HTTP/1.1 404"));
    // A port that is taken is said, and nothing else is the worse for it.
    let other = Home::new();
    let mut without = Daemon::start(&other, &[("METNOS_HTTP_LISTEN", &daemon.http)]);
    let warning = without.says("there are no pages");
    assert!(warning.contains(&daemon.http) && warning.contains("http.listen"), "{warning}");
    without.says("serving");
    assert_eq!(other.ask("what time is it").code, 0);
    without.stop();
    daemon.stop();
    let refused = home.run(["config", "set", "http.listen", "0.0.0.0:8770"]);
    assert!(refused.code == 2 && refused.err.contains("this machine"), "{}", refused.err);
    assert_eq!(home.run(["config", "set", "http.listen", "off"]).code, 0);
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

/// Turns of several commands, while another one changes what there is to decide by: the record of each turn must stand
/// beside the catalog that it was decided by, or it would be decided otherwise when it is replayed.
#[test]
fn many_at_once_leave_a_history_that_decides_the_same() {
    let home = Home::new();
    home.file("notes.txt", "one\ntwo\n");
    let daemon = Daemon::serve(&home);
    let sentences = ["what time is it", "read the file notes.txt", "what can you do", "make me a coffee"];
    std::thread::scope(|scope| {
        for sentence in sentences {
            let home = &home;
            scope.spawn(move || {
                for _ in 0..8 {
                    let ran = home.ask(sentence);
                    assert!(matches!(ran.code, 0 | 1 | 3), "{sentence}: {} {}", ran.out, ran.err);
                }
            });
        }
        scope.spawn(|| {
            for round in 0..16 {
                let switched = home.run(["executor", if round % 2 == 0 { "disable" } else { "enable" }, "list_skills"]);
                assert_eq!(switched.code, 0, "{}", switched.err);
            }
        });
    });
    let checked = home.run(["--json", "replay", "check", "--strict"]).json();
    assert_eq!((&checked["ok"], &checked["open"]), (&true.into(), &0.into()), "{checked}");
    // The home's first turn is one of them.
    assert_eq!(checked["turns"], 33, "{checked}");
    daemon.stop();
    home.is_whole();
}

/// Whatever moment a kill of the daemon meets, what a command was told is true: each acknowledged line is in the file once,
/// no line twice, and the history is whole.
#[test]
fn kills_at_any_moment_lose_nothing_and_double_nothing() {
    let home = Home::new();
    let file = home.file("log.txt", "");
    let (mut told, mut number, mut chance) = (Vec::new(), 0_u32, 0x9e37_79b9_7f4a_7c15_u64);
    let mut cut = 0;
    for _ in 0..KILLS {
        let daemon = Daemon::serve(&home);
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (pid, after) = (daemon.pid(), Duration::from_millis(20 + (chance >> 33) % 400));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(after);
            kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
        });
        loop {
            number += 1;
            let line = format!("line {number:04}");
            let ran = home.ask_approved(&format!("append \"{line}\" to log.txt"));
            match ran.code {
                0 => told.push(line),
                2 if ran.err.contains("the daemon went away") => cut += 1,
                other => panic!("{other}: {} {}", ran.out, ran.err),
            }
            if killer.is_finished() {
                break;
            }
        }
        killer.join().unwrap();
        drop(daemon);
    }
    // Whoever comes next settles what the last one left.
    assert_eq!(home.ask("what time is it").code, 0);
    let text = std::fs::read_to_string(&file).unwrap();
    for line in &told {
        assert!(text.contains(line.as_str()), "«{line}» was acknowledged and is not there: {text}");
    }
    for number in 1..=number {
        let line = format!("line {number:04}");
        assert!(text.matches(&line).count() <= 1, "«{line}» is there twice: {text}");
    }
    assert!(cut > 0, "no kill met a command");
    home.is_whole();
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

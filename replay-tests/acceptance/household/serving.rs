//! A daemon among others and at its end: several commands at once, Ctrl-C and kills, strangers and nonsense at its doors, its
//! pages; it ends, by any end, without losing anything.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::daemon::{Daemon, Running, raw, socket, waiting_at};
use super::home::{Home, Ran, is_root};

/// How often the daemon is killed at a moment that chance has.
const KILLS: u32 = 20;

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
    // The socket of the dead one is in nobody's way; its successor finishes what was begun. What that says goes to a journal, so
    // the next command says it once.
    let home = home.with("METNOS_PAUSE_AT", "nowhere:0");
    let mut daemon = Daemon::start(&home, &[("METNOS_HTTP_LISTEN", "off")]);
    daemon.says("is finished now");
    daemon.says("serving");
    assert_eq!(std::fs::read_to_string(home.files().join("new.txt")).unwrap(), "text");
    let next = home.ask("what time is it");
    assert!(next.code == 0 && next.err.contains("and you were not told: Wrote 4 bytes"), "{}", next.err);
    let later = home.ask("what time is it");
    assert_eq!((later.code, later.err.as_str()), (0, ""));
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
    let os = |text: &str| json!({ "Unix": text.as_bytes() });
    let request = |version: &str, protocol: u32, data: &str| {
        json!({
            "protocol": protocol, "version": version, "data": os(data), "argv": [os("metnos"), os("frobnicate")],
            "exchange": null, "process": 1, "folder": null, "variables": [], "terminals": [false, false, false], "columns": [null, null, null],
        })
    };
    let (own, data) = (env!("CARGO_PKG_VERSION"), data.to_str().unwrap());
    let other = posted(&request("0.0.9", 1, data).to_string());
    assert!(other.contains(" 409 ") && other.contains("0.0.9") && other.contains("other_version"), "{other}");
    assert!(posted(&request(own, 999, data).to_string()).contains("other_version"));
    assert!(posted(&request(own, 2, "/elsewhere").to_string()).contains("other_home"));
    assert!(posted("{}").contains("other_version") && posted("no JSON").contains("other_version"));
    // What gets through is a command like any other: this one is told that there is none of that name.
    let unknown = posted(&request(own, 2, data).to_string());
    assert!(unknown.contains(" 101 ") && unknown.contains("frobnicate"), "{unknown}");
    assert!(raw(&home, b"\x00\x01\x02 nonsense\r\n\r\n").contains(" 400 "));
    let long =
        format!("POST /v1/command HTTP/1.1\r\nhost: m\r\ncontent-length: 99999999\r\n\r\n{}", "x".repeat(5 << 20));
    assert!(raw(&home, long.as_bytes()).contains("too long"));
    // A command that suddenly says what makes no sense is let go.
    let ask = json!({
        "protocol": 2, "version": own, "data": os(data), "argv": [os("metnos"), os("log"), os("tail"), os("-f")],
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

/// A daemon's next call finds a cage that waits; a command that runs alone has nobody to build one for.
#[test]
fn its_calls_find_cages_that_wait() {
    let home = Home::new();
    home.file("notes.txt", "one\n");
    let cage = || home.run(["--json", "turn", "show"]).json()["steps"][0]["cage"].clone();
    let read = || assert_eq!(home.ask("read the file notes.txt").code, 0);
    read();
    assert_eq!((&cage()["level"], cage().get("warm")), (&json!("full"), None));
    let daemon = Daemon::serve(&home);
    let wait_for = |line: &str| {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !daemon.page("/metrics", "localhost").lines().any(|found| found == line) {
            assert!(Instant::now() < deadline, "{line}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait_for("metnos_warm_cages 0");
    read();
    assert_eq!(cage().get("warm"), None, "nothing waits before there was a call");
    wait_for("metnos_warm_cages 2");
    read();
    assert_eq!((&cage()["level"], &cage()["warm"]), (&json!("full"), &json!(true)));
    wait_for("metnos_warm_calls_total 1");
    wait_for("metnos_warm_failures_total 0");
    daemon.stop();
    home.is_whole();
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
fn a_socket_that_was_removed_comes_back() {
    let home = Home::new();
    let daemon = Daemon::serve(&home);
    let socket = home.metnos().join("data/run/metnos.sock");
    std::fs::remove_file(&socket).unwrap();
    // The command waits for the log, as beside any other command, and finds the door open again.
    let ran = home.run(["--json", "status"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.json()["daemon"]["pid"], daemon.pid());
    assert!(socket.exists());
    daemon.stop();
    assert!(!socket.exists());
}

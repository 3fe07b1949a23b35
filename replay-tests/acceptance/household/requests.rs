//! What an executor wants changed on a server: asked about as it will be sent, sent once by the core, told by what came of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use super::home::Home;
use super::pty::Pty;

/// A server in the house that notes what it is sent. `/drops` takes it and says nothing, `/moves` sends on, `/refuses` refuses.
struct Hub {
    address: SocketAddr,
    sent: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Hub {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&sent);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if !serve(stream, &noted) {
                    break;
                }
            }
        });
        Self { address, sent, thread: Some(thread) }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What came, and nothing of it any more.
    fn sent(&self) -> Vec<String> {
        std::mem::take(&mut *self.sent.lock().unwrap())
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect(self.address) {
            stream.write_all(b"END / HTTP/1.1\r\n\r\n").ok();
        }
        self.thread.take().map(JoinHandle::join);
    }
}

/// Notes one request and answers it; says whether there is to be another.
fn serve(stream: TcpStream, noted: &Mutex<Vec<String>>) -> bool {
    let mut lines = BufReader::new(stream);
    let (mut first, mut line, mut length, mut kind) = (String::new(), String::new(), 0, String::new());
    lines.read_line(&mut first).unwrap();
    while lines.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
        let (name, value) = line.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "content-type" => value.trim().clone_into(&mut kind),
            _ => {}
        }
        line.clear();
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body).unwrap();
    let first = first.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    if first == "END /" {
        return false;
    }
    let answer = match first.split(' ').nth(1).unwrap_or_default() {
        "/drops" => "",
        "/moves" => "HTTP/1.1 307 Temporary Redirect\r\nLocation: /lights\r\nContent-Length: 0\r\n\r\n",
        "/refuses" => "HTTP/1.1 422 Unprocessable Content\r\nContent-Length: 0\r\n\r\n",
        _ => "HTTP/1.1 204 No Content\r\n\r\n",
    };
    noted.lock().unwrap().push(format!("{first} [{kind}] {}", String::from_utf8_lossy(&body)));
    lines.into_inner().write_all(answer.as_bytes()).unwrap();
    true
}

const SCHEMA: &str = r#"{"definitions": {
    "Input": {"type": "object", "properties": {"requests": {"type": "array"}, "address": {"type": "string"}}, "additionalProperties": false},
    "Output": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}}}"#;

/// Sends what it is given, else switches the lights on, at an address if it is given one.
const CODE: &str = r#"
ON = [{"method": "POST", "url": "http://HUB/lights", "body": "on"}]

def run(args, ctx):
    wanted = [dict(request, op="http") for request in args.get("requests", ON)]
    if "address" in args:
        wanted = [dict(ON[0], op="http", url=args["address"])]
    if not wanted:
        return {"ok": False, "error": "there is nothing to send", "error_class": "invalid_args"}
    return {"ok": True, "effects": wanted}
"#;

const BIRTH: &str = r#"CASES = [
    {"name": "one", "args": {"requests": [{"method": "POST", "url": "https://hub.test/a", "body": "x"}]},
     "expect": {"ok": True, "effects": [{"op": "http", "method": "POST"}]}},
    {"name": "two", "args": {"requests": [{"method": "PUT"}, {"method": "DELETE"}]}, "expect": {"ok": True}},
    {"name": "none", "args": {"requests": []}, "expect": {"ok": False, "error_class": "invalid_args"}},
]
"#;

/// An executor that wants sent what it is given, and may reach these hosts.
fn lights(home: &Home, hint: &str, idempotent: bool) -> PathBuf {
    let manifest = format!(
        r#"[executor]
name = "change_events_lights"
version = "1.0.0"
created_at = "2026-11-21T00:00:00Z"
created_by = "owner"
summary = "Switches the lights."
affinity = ["lights", "luci"]
[description]
en = "Switches the house's lights."
it = "Accende e spegne le luci di casa."
[contract]
input_schema = "schema.json#/definitions/Input"
output_schema = "schema.json#/definitions/Output"
error_classes = ["invalid_args"]
idempotent = {idempotent}
side_effects = true
timeout_s = 5
[[capabilities]]
name = "network:http"
hint = ["{hint}"]
[arguments.requests]
role = "option"
[arguments.address]
role = "url"
[[sentences.en]]
text = "switch on the lights at {{address}}"
[[sentences.it]]
text = "accendi le luci su {{address}}"
[sandbox]
profile = "declared"
[audit]
trace_topic = "executor.change_events_lights"
"#
    );
    home.lay("made", [&manifest, SCHEMA, &CODE.replace("HUB", hint), BIRTH])
}

fn with_lights(hub: &Hub, idempotent: bool) -> Home {
    let home = Home::new();
    let folder = lights(&home, &hub.address.to_string(), idempotent);
    let added = home.run(["--yes", "executor", "add", folder.to_str().unwrap()]);
    assert_eq!(added.code, 0, "{} {}", added.out, added.err);
    home
}

fn args(requests: &[(&str, &str, Value)]) -> String {
    let requests = requests.iter().map(|(method, url, body)| json!({ "method": method, "url": url, "body": body }));
    json!({ "requests": requests.collect::<Vec<_>>() }).to_string()
}

fn run(home: &Home, requests: &[(&str, &str, Value)]) -> Value {
    home.run(["--json", "--yes", "executor", "run", "change_events_lights", "--args", &args(requests)]).json()
}

#[test]
fn what_is_sent_is_asked_about_and_sent_as_it_was_shown() {
    let hub = Hub::start();
    let home = with_lights(&hub, false);
    let (on, off) = (hub.url("/lights"), hub.url("/old"));
    let wanted = args(&[("post", &on, json!({ "on": true })), ("DELETE", &off, Value::Null)]);
    let mut terminal = Pty::run(&home, 200, &["executor", "run", "change_events_lights", "--args", &wanted]);
    // The call, which may reach the server itself, and then what it wants sent.
    terminal.sees("[y/N]");
    terminal.types("y\r");
    let asked = terminal.sees("I would send 2 requests, 11 bytes, to");
    let asked = asked + &terminal.sees("[y/N]");
    for part in [
        &format!("POST {on} (11 bytes)"),
        &format!("DELETE {off}"),
        "(application/json):",
        r#"{"on":true}"#,
        "is named by change_events_lights itself, not by you",
        "What is sent cannot be taken back. If one fails, the rest is still sent. May I?",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    assert_eq!(hub.sent(), Vec::<String>::new(), "nothing is sent before the yes");
    terminal.types("y\r");
    let (code, said) = terminal.ends();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(hub.sent(), [r#"POST /lights [application/json] {"on":true}"#, "DELETE /old [] "]);
    let undone = home.run(["--yes", "undo"]);
    assert!(undone.code == 1 && undone.err.contains("cannot be taken back"), "{} {}", undone.out, undone.err);
    let done = home.ask("what did you do today");
    assert!(done.out.contains(&format!("sent to {on} and 1 more")), "{}", done.out);
    home.is_whole();
}

#[test]
fn what_a_server_makes_of_it_is_said() {
    let hub = Hub::start();
    let home = with_lights(&hub, false);
    for (path, class, says) in [
        ("/refuses", "operation_failed", "it answered 422"),
        ("/moves", "operation_failed", "the server answered 307: whether it was done there"),
        ("/drops", "operation_failed", "it may have been done there"),
    ] {
        let ran = run(&home, &[("POST", &hub.url(path), json!("x"))]);
        assert_eq!((&ran["ok"], &ran["error_class"]), (&json!(false), &json!(class)), "{path}: {ran}");
        assert!(ran.to_string().contains(says), "{path}: {ran}");
        assert_eq!(hub.sent(), [format!("POST {path} [text/plain; charset=utf-8] x")]);
    }
    // Of several, what was taken is told beside what was not.
    let ran = run(&home, &[("PUT", &hub.url("/a"), json!(1)), ("PUT", &hub.url("/refuses"), json!(2))]);
    let result = &ran["result"];
    assert_eq!(
        (&result["ok_count"], &result["fail_count"], &result["done"]["sent"]),
        (&json!(1), &json!(1), &json!(1))
    );
    home.is_whole();
}

#[test]
fn nothing_is_sent_where_the_executor_may_not_reach() {
    let (hub, other) = (Hub::start(), Hub::start());
    let home = with_lights(&hub, false);
    for url in [
        other.url("/lights"),
        hub.url("/lights").replace("127.0.0.1", "me:secret@127.0.0.1"),
        hub.url("/lights").replace("127.0.0.1", "localhost"),
        "http://169.254.169.254/latest".to_owned(),
        "file:///etc/passwd".to_owned(),
    ] {
        // One that may be sent stands beside it: then neither is.
        let ran = run(&home, &[("POST", &hub.url("/a"), json!("x")), ("POST", &url, json!("x"))]);
        let class = if url.starts_with("http") { "policy_violation" } else { "contract_violation" };
        assert_eq!((&ran["error_class"], hub.sent()), (&json!(class), Vec::new()), "{url}: {ran}");
        assert!(ran.to_string().contains("Nothing is sent there"), "{url}: {ran}");
    }
    assert_eq!(other.sent(), Vec::<String>::new());
    // Who may only look has nothing sent, whatever was agreed to in advance.
    assert_eq!(home.run(["config", "set", "autonomy", "read_only"]).code, 0);
    let ran = run(&home, &[("POST", &hub.url("/a"), json!("x"))]);
    assert_eq!((&ran["error_class"], hub.sent().len()), (&json!("policy_violation"), 0), "{ran}");
    home.is_whole();
}

/// Kills the whole group between what the server got and the record of it.
fn killed_once_sent(home: &Home, hub: &Hub) {
    let wanted = args(&[("POST", &hub.url("/first"), json!("1")), ("POST", &hub.url("/second"), json!("2"))]);
    let words = ["--yes", "executor", "run", "change_events_lights", "--args", &wanted];
    home.killed_at("effect_to_outcome", words);
    assert_eq!(hub.sent(), ["POST /first [text/plain; charset=utf-8] 1"]);
}

#[test]
fn what_may_have_been_sent_before_a_kill_is_not_sent_again() {
    let hub = Hub::start();
    let home = with_lights(&hub, false);
    killed_once_sent(&home, &hub);
    let next = home.ask("what time is it");
    // The first is nobody's to repeat; the second had certainly not begun, and was agreed to.
    assert_eq!(hub.sent(), ["POST /second [text/plain; charset=utf-8] 2"], "{}", next.err);
    assert!(
        next.err.contains("1 request was sent.") && next.err.contains("cannot tell whether it arrived"),
        "{}",
        next.err
    );
    home.is_whole();
}

/// A request that a killed process left behind is sent by the next command, unless that comes too late for the yes that it
/// had, or whoever said it may do less by then.
#[test]
fn what_was_agreed_to_is_not_sent_whenever_somebody_comes_back() {
    let hub = Hub::start();
    let words = "--yes executor run change_events_lights --args".split(' ');
    let wanted = args(&[("POST", &hub.url("/first"), json!("1")), ("POST", &hub.url("/second"), json!("2"))]);
    for is_late in [true, false] {
        let home = with_lights(&hub, false);
        let clock = home.file("clock", "2026-11-22T20:00:00Z");
        let home = home.with("METNOS_CLOCK", clock.to_str().unwrap());
        home.killed_at("intent_to_effect", words.clone().chain([wanted.as_str()]));
        if is_late {
            home.file("clock", "2026-11-22T20:10:01Z");
        } else {
            assert_eq!(home.run(["config", "set", "autonomy", "read_only"]).code, 0);
        }
        let next = home.run(["inbox"]);
        let (maybe, why) = ("cannot tell whether it arrived", if is_late { "10 minutes old" } else { "may do less" });
        assert!(next.err.contains("while it was sending something"), "{}", next.err);
        let shown = home.run(["turn", "show"]).out;
        assert!(next.err.contains(maybe) && shown.contains(why), "{is_late}: {} {shown}", next.err);
        assert_eq!(hub.sent(), [""; 0], "{}", next.err);
        home.is_whole();
    }
}

/// What stands in the record hides a secret; what is sent does not.
#[test]
fn a_secret_in_an_address_arrives_as_it_is_after_a_kill() {
    let hub = Hub::start();
    let home = with_lights(&hub, true);
    let (first, second) = (hub.url("/a?access_token=s3cr3tq123456&x=1"), json!({ "password": "hunter2hunter2" }));
    let wanted = args(&[("POST", &first, json!("1")), ("POST", &hub.url("/b"), second)]);
    home.killed_at("intent_to_effect", ["--yes", "executor", "run", "change_events_lights", "--args", &wanted]);
    assert_eq!(hub.sent(), [""; 0]);
    let next = home.ask("what time is it");
    let arrived = [
        "POST /a?access_token=s3cr3tq123456&x=1 [text/plain; charset=utf-8] 1",
        r#"POST /b [application/json] {"password":"hunter2hunter2"}"#,
    ];
    assert_eq!(hub.sent(), arrived, "{}", next.err);
    // Neither is readable in the log.
    let log = std::fs::read(home.metnos().join("data/log/events.redb")).unwrap();
    for secret in ["s3cr3tq123456", "hunter2hunter2"] {
        assert!(!log.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()), "{secret}");
    }
    home.is_whole();
}

/// Another process than the one that asked goes on: it had not begun to send.
#[test]
fn what_waits_for_a_yes_is_sent_by_whoever_hears_it() {
    let hub = Hub::start();
    let home = with_lights(&hub, false);
    let sentence = format!("switch on the lights at {}", hub.url("/lights"));
    let added = home.run(["--yes", "schedule", "add", &sentence, "--when", "manual"]);
    assert_eq!(added.code, 0, "{} {}", added.out, added.err);
    let asked = home.run(["schedule", "run-now", "1"]);
    assert_eq!(asked.code, 3, "{} {}", asked.out, asked.err);
    // The call, and then what it wants sent.
    for sent in [0, 1] {
        assert_eq!(hub.sent(), Vec::<String>::new());
        let waiting = home.run(["--json", "approvals", "list"]).out;
        let question: Value = serde_json::from_str(waiting.lines().next().unwrap()).unwrap();
        let name = question["name"].as_str().unwrap_or_else(|| panic!("{waiting}"));
        let answered = home.run(["inbox", "yes", name]);
        assert!(answered.code == 0 || sent == 0, "{} {}", answered.out, answered.err);
    }
    assert_eq!(hub.sent(), ["POST /lights [text/plain; charset=utf-8] on"]);
    home.is_whole();
}

#[test]
fn what_may_be_sent_twice_is_sent_again_after_a_kill() {
    let hub = Hub::start();
    let home = with_lights(&hub, true);
    killed_once_sent(&home, &hub);
    let next = home.ask("what time is it");
    let again = ["POST /first [text/plain; charset=utf-8] 1", "POST /second [text/plain; charset=utf-8] 2"];
    assert_eq!(hub.sent(), again, "{}", next.err);
    assert!(!next.err.contains("cannot tell"), "{}", next.err);
    home.is_whole();
}

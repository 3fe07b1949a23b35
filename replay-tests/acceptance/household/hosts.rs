//! Hosts that a manifest names itself: asked for by their names, reached at the ports that are named, and nothing beside them.

use super::home::{Home, Ran};
use super::pty::Pty;
use super::server::{Server, UUID_BODY};

const SCHEMA: &str = r#"{"definitions": {
    "Input": {"type": "object", "properties": {"address": {"type": "string"}}, "additionalProperties": false},
    "Output": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}}}"#;

const BIRTH: &str = r#"CASES = [
    {"name": "answers", "args": {}, "http": {"{url}": {"status": 200, "body": "canned"}}, "expect": {"ok": True, "content": "canned"}},
    {"name": "silent", "args": {"address": "http://example.net/"}, "http": {}, "expect": {"ok": False}},
    {"name": "strange", "args": {"address": "ftp://example.net/"}, "http": {}, "expect": {"ok": False}},
]
"#;

/// An executor that asks its own host, which no argument names, with this hint.
fn news(home: &Home, host: &str, hint: &str) -> std::path::PathBuf {
    let manifest = format!(
        r#"[executor]
name = "get_urls_news"
version = "1.0.0"
created_at = "2026-11-21T00:00:00Z"
created_by = "owner"
summary = "What the house's own server says."
affinity = ["news"]
[description]
en = "Asks the house's own server for news."
it = "Chiede le novità al server di casa."
[contract]
input_schema = "schema.json#/definitions/Input"
output_schema = "schema.json#/definitions/Output"
error_classes = ["operation_failed", "policy_violation", "network", "dns_error", "not_found"]
idempotent = true
side_effects = false
timeout_s = 5
[[capabilities]]
name = "network:http"
hint = ["{hint}"]
[arguments.address]
role = "option"
[sandbox]
profile = "declared"
[audit]
trace_topic = "executor.get_urls_news"
"#
    );
    let code = format!(
        r#"
def run(args, ctx):
    answer = ctx.http("GET", args.get("address", "http://{host}/uuid"))
    return {{"ok": True, "content": answer.body.decode()}}
"#
    );
    let birth = BIRTH.replace("{url}", &format!("http://{host}/uuid"));
    home.lay("news", [&manifest, SCHEMA, &code, &birth])
}

fn check(home: &Home, host: &str, hint: &str) -> Ran {
    home.run(["executor", "check", news(home, host, hint).to_str().unwrap()])
}

/// A manifest named them and no call reached them, and the question did not say them.
#[test]
fn what_a_manifest_names_is_asked_about_by_its_name_and_reached() {
    let (home, server) = (Home::new(), Server::start());
    let host = server.url("").replace("http://", "");
    let folder = news(&home, &host, &host);
    let unsaid = home.run(["executor", "add", folder.to_str().unwrap()]);
    assert!(unsaid.code == 3 && unsaid.err.contains(&format!("network:http: {host}")), "{} {}", unsaid.out, unsaid.err);
    let added = home.run(["--yes", "executor", "add", folder.to_str().unwrap()]);
    assert_eq!(added.code, 0, "{} {}", added.out, added.err);
    let asked = home.run(["executor", "run", "get_urls_news", "--approve", "none"]);
    assert!(asked.code == 3 && asked.err.contains(&format!("It may reach {host}.")), "{} {}", asked.out, asked.err);
    let run = |words: &[&str]| home.run(["--json", "--yes", "executor", "run", "get_urls_news"].iter().chain(words));
    let answered = run(&[]);
    assert!(answered.code == 0 && answered.out.contains("loopback"), "{} {}", answered.out, answered.err);
    assert!(UUID_BODY.contains("loopback"));
    // Its own host at another port is another server.
    let other = run(&["--args", &format!(r#"{{"address": "{}"}}"#, Server::start().url("/uuid"))]);
    assert!(other.code != 0 && !other.out.contains("loopback"), "{} {}", other.out, other.err);
    home.is_whole();
}

#[test]
fn what_the_instance_does_not_allow_is_not_reached() {
    let (home, server) = (Home::new(), Server::start());
    let host = server.url("").replace("http://", "");
    let folder = news(&home, &host, &host);
    assert_eq!(home.run(["--yes", "executor", "add", folder.to_str().unwrap()]).code, 0);
    let allow = |hosts: &str| {
        std::fs::write(home.metnos().join("config/metnos.toml"), format!("[network]\nallow = [{hosts}]\n")).unwrap();
        home.run(["--yes", "executor", "run", "get_urls_news"])
    };
    assert_ne!(allow("\"example.org\"").code, 0);
    assert_ne!(allow("").code, 0);
    assert_eq!(allow("\"127.0.0.1\"").code, 0);
    // What could allow nothing is said instead of silently allowing nothing.
    for odd in ["https://example.org", "example.org:443", "*.org", "*.", "", "a b"] {
        let refused = allow(&format!("\"{odd}\""));
        let says = "hosts like example.org and *.example.org";
        assert!(refused.code != 0 && refused.err.contains(says), "{odd}: {} {}", refused.out, refused.err);
    }
    allow("\"127.0.0.1\"");
    home.is_whole();
}

/// The settings that a call was asked about with were those that it ran with, whatever they had become.
#[test]
fn what_is_allowed_no_more_when_the_answer_comes_is_not_reached() {
    let (home, server) = (Home::new(), Server::start());
    let host = server.url("").replace("http://", "");
    let folder = news(&home, &host, &host);
    assert_eq!(home.run(["--yes", "executor", "add", folder.to_str().unwrap()]).code, 0);
    let answered = |allowed: &str| {
        let mut terminal = Pty::run(&home, 200, &["executor", "run", "get_urls_news", "--approve", "none"]);
        terminal.sees("[y/N]");
        std::fs::write(home.metnos().join("config/metnos.toml"), format!("[network]\nallow = [{allowed}]\n")).unwrap();
        terminal.types("y\r");
        terminal.ends()
    };
    let (code, said) = answered("\"example.org\"");
    assert!(code != Some(0) && said.contains("What you may do was changed after I asked"), "{said}");
    std::fs::remove_file(home.metnos().join("config/metnos.toml")).unwrap();
    let (code, said) = answered("\"127.0.0.1\"");
    assert_eq!(code, Some(0), "{said}");
    home.is_whole();
}

#[test]
fn a_manifest_names_hosts_as_they_are_compared() {
    let home = Home::new();
    for (hint, says) in [
        ("https://example.org", "is no host: write it like «example.org»"),
        ("*", "is no host"),
        ("*.org", "is no host"),
        ("Example.org", "write «example.org»"),
        ("127.1:80", "write «127.0.0.1:80»"),
        ("example.org.", "write «example.org»"),
        ("169.254.169.254", "which no executor gets"),
        ("0.0.0.0:80", "which no executor gets"),
        ("[::]", "which no executor gets"),
        ("{args}", "from_args names none of them"),
        ("{home}", "is no host"),
        ("example..org", "is no host"),
        ("example.org:0", "is no host"),
    ] {
        let ran = check(&home, "example.org", hint);
        assert!(ran.code != 0 && ran.err.contains(says), "{hint}: {} {}", ran.out, ran.err);
        assert!(ran.err.contains("manifest.toml:"), "{hint}: {}", ran.err);
    }
    for hint in ["example.org", "*.example.org", "example.org:8080", "[::1]:8080"] {
        let ran = check(&home, hint.trim_start_matches("*."), hint);
        assert!(!ran.err.contains("manifest.toml:"), "{hint}: {} {}", ran.out, ran.err);
    }
}

/// A host that an executor names is granted like one that a person names; one of this machine is asked for each time.
#[test]
fn a_grant_spares_the_question_about_a_host_that_a_manifest_names() {
    let home = Home::new();
    let folder = news(&home, "news.test", "news.test");
    assert_eq!(home.run(["--yes", "executor", "add", folder.to_str().unwrap()]).code, 0);
    // What it asks for is refused before anything is looked up.
    let run = || {
        home.run([
            "executor",
            "run",
            "get_urls_news",
            "--approve",
            "none",
            "--args",
            r#"{"address": "http://127.0.0.1:1/"}"#,
        ])
    };
    assert_eq!(run().code, 3);
    assert_eq!(home.run(["grants", "give", "network:http", "*.news.test"]).code, 0);
    assert_eq!(run().code, 3, "those below it are others");
    assert_eq!(home.run(["grants", "give", "network:http", "news.test"]).code, 0);
    let unasked = run();
    assert_eq!(unasked.code, 1, "{} {}", unasked.out, unasked.err);
    home.is_whole();
}

/// That an address was typed, or that much is done unasked, was taken for leave to send there what no question had said.
#[test]
fn what_sends_is_asked_about_whoever_named_the_address() {
    let (home, server) = (Home::new(), Server::start());
    let host = server.url("").replace("http://", "");
    let folder = news(&home, &host, "{args}");
    let manifest = folder.join("manifest.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let acting = text
        .replace("get_urls_news", "change_urls_news")
        .replace("side_effects = false", "side_effects = true")
        .replace("idempotent = true", "idempotent = false")
        .replace("hint = [\"{args}\"]", "hint = [\"{args}\"]\nfrom_args = [\"address\"]")
        .replace("role = \"option\"", "role = \"url\"");
    std::fs::write(&manifest, acting).unwrap();
    let birth = folder.join("tests/birth.py");
    let cases = std::fs::read_to_string(&birth).unwrap();
    let named = format!("\"args\": {{\"address\": \"http://{host}/uuid\"}}");
    std::fs::write(&birth, cases.replacen("\"args\": {}", &named, 1)).unwrap();
    let added = home.run(["--yes", "executor", "add", folder.to_str().unwrap()]);
    assert_eq!(added.code, 0, "{} {}", added.out, added.err);
    let args = format!("{{\"address\": \"http://{host}/uuid\"}}");
    let run = |words: &[&str]| home.run(["executor", "run", "change_urls_news", "--args", &args].iter().chain(words));
    for autonomy in ["supervised", "full"] {
        assert_eq!(home.run(["config", "set", "autonomy", autonomy]).code, 0);
        let asked = run(&[]);
        assert!(asked.code == 3 && asked.err.contains("would send requests to the web"), "{} {}", asked.out, asked.err);
        assert!(asked.err.contains("It can send data to the server"), "{}", asked.err);
    }
    assert_eq!(run(&["--approve", "all"]).code, 0);
    home.is_whole();
}

/// What only reads was agreed to in advance, and with it that what it reads goes to a server.
#[test]
fn what_can_take_a_file_out_of_the_house_is_asked_about() {
    let (home, server) = (Home::new(), Server::start());
    let host = server.url("").replace("http://", "");
    let folder = news(&home, &host, &host);
    let run = || home.run(["executor", "run", "get_urls_news"]);
    assert_eq!(home.run(["--yes", "executor", "add", folder.to_str().unwrap()]).code, 0);
    assert_eq!(run().code, 0, "what only asks its server");
    let manifest = folder.join("manifest.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let reading = "[[capabilities]]\nname = \"fs:read\"\nhint = [\"~/files/**\"]\n[arguments.address]";
    let text = text.replace("1.0.0", "1.1.0").replace("[arguments.address]", reading);
    std::fs::write(&manifest, text).unwrap();
    let added = home.run(["--yes", "executor", "add", folder.to_str().unwrap()]);
    assert_eq!(added.code, 0, "{} {}", added.out, added.err);
    let asked = run();
    assert!(asked.code == 3 && asked.err.contains("which can hold what it read here"), "{} {}", asked.out, asked.err);
    home.is_whole();
}

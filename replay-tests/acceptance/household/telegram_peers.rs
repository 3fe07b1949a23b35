//! Telegram's side as others wrote it: the public framework aiogram proves the strict server and validates what is sent.
//! `.ci/run` installs it.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::bot_api::{BotApi, Fault, NAME, TOKEN, refusal};
use super::peers::installed;
use super::telegram::{HOST, Talk};

pub(crate) const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/replay-tests/peers");

pub(crate) fn python() -> Option<PathBuf> {
    installed("aiogram/bin/python")
}

/// Requests and updates held against the framework's types, all of which must take them; how many there were of each.
#[track_caller]
pub(crate) fn held(python: &Path, lines: &[(String, Value)]) -> Value {
    let mut text = String::new();
    for line in lines {
        writeln!(text, "{}", json!(line)).unwrap();
    }
    let mut types = Command::new(python);
    types.arg("-I").arg(Path::new(PEERS).join("aiogram_types.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut types = types.spawn().unwrap();
    types.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let said = types.wait_with_output().unwrap();
    let said: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(said["wrong"], json!([]), "{said:#}");
    said
}

/// A program that ends with the test.
pub(crate) struct Peer {
    child: Child,
    asks: Option<std::process::ChildStdin>,
    said: BufReader<std::process::ChildStdout>,
}

impl Peer {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { asks: child.stdin.take(), child, said }
    }

    /// Says a line to it.
    pub(crate) fn tell(&mut self, line: &str) {
        let asks = self.asks.as_mut().unwrap();
        writeln!(asks, "{line}").unwrap();
    }

    /// It is told nothing more, and ends well.
    #[track_caller]
    pub(crate) fn ends(mut self) {
        self.asks = None;
        assert!(self.child.wait().unwrap().success());
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn a_bot_of_the_public_framework_runs_against_the_strict_server() {
    let Some(python) = python() else { return };
    let api = BotApi::start();
    let mut bot = Peer::start(
        Command::new(python).arg("-I").arg(Path::new(PEERS).join("aiogram_bot.py")).args([&api.url(), TOKEN]),
    );
    assert_eq!(bot.line(), format!("I am {NAME}"));
    api.writes(HOST, "one");
    api.said(0, HOST, "one");
    api.writes(HOST, "/ask");
    let asked = api.asked(0, HOST);
    assert_eq!(
        asked.keys,
        [("yes", "data-yes"), ("no", "data-no")].map(|(text, data)| (text.to_owned(), data.to_owned()))
    );
    let press = api.presses(HOST, &asked, "data-no");
    assert_eq!(api.answer_to(&press), "heard data-no");
    api.until("the question is not edited", |state| {
        state
            .sent
            .iter()
            .any(|sent| sent.id == asked.id && sent.text == "You said data-no" && sent.keys.is_empty())
            .then_some(())
    });
    api.sends(HOST, "a.bin", &vec![7; 70_000], Some("count it"));
    let counted = api.said(0, HOST, "count it");
    assert_eq!(counted.file, Some(("count.txt".to_owned(), b"70000 bytes".to_vec())));
    // Every odd request is refused by the framework's own kind of error; two more are laid out.
    for _ in 0..7 {
        api.fault("sendMessage", Fault::Pass);
    }
    let later = json!({ "ok": false, "error_code": 429, "description": "Too Many Requests", "parameters": { "retry_after": 3 } });
    api.fault("sendMessage", Fault::Refuse(429, later));
    api.fault("sendMessage", Fault::Refuse(403, refusal(403, "Forbidden: bot was blocked by the user")));
    api.writes(HOST, "/odd");
    let odd = api.said(0, HOST, "long:").text;
    let expected = [
        "long: message is too long",
        "empty: message text is empty",
        "markup: can't parse entities: Can't find end tag corresponding to start tag b",
        "tag: can't parse entities: Unsupported start tag \"marquee\"",
        "nowhere: chat not found",
        "button: BUTTON_DATA_INVALID",
        "press: query is too old and response timeout expired or query ID is invalid",
        "file: wrong file_id or the file is temporarily unavailable",
        "commands: BOT_COMMAND_INVALID Odd Name",
        "same: message is not modified",
        "TelegramRetryAfter 3",
        "TelegramForbiddenError",
    ];
    assert_eq!(odd.lines().collect::<Vec<_>>(), expected);
    // What a second poller of this bot meets, and what the first one has confirmed.
    api.is_drained();
}

#[test]
fn every_request_is_one_that_the_public_types_take() {
    let Some(python) = python() else { return };
    let talk = Talk::begin();
    let api = &talk.api;
    talk.home.file("spesa.txt", "pane\n");
    talk.home.file("lungo.txt", "una riga\n".repeat(4000));
    for (text, answer) in [("/start", "Eccomi"), ("ciao <b>&", ""), ("leggi il file lungo.txt", "una riga")] {
        let from = api.count();
        api.writes(HOST, text);
        api.said(from, HOST, answer);
    }
    let long = api.until("no file", |state| state.sent.iter().find_map(|sent| sent.file.clone()));
    assert_eq!((long.0.as_str(), long.1.len()), ("answer.txt", "una riga\n".len() * 4000));
    let from = api.count();
    api.writes(HOST, "cancella il file spesa.txt");
    let asked = api.asked(from, HOST);
    let press = api.presses(HOST, &asked, &asked.keys[1].1);
    api.answer_to(&press);
    let from = api.count();
    api.sends(HOST, "a.csv", b"a,b\n1,2\n", None);
    api.said(from, HOST, "a.csv");
    // In a group it answers who names it, to the message that did.
    let mut named = api.message(-100, HOST, "group");
    named["text"] = format!("@{NAME} che ore sono").into();
    api.update(json!({ "message": named }));
    let mut among = api.message(-100, HOST, "group");
    among["text"] = "cancella tutto".into();
    api.update(json!({ "message": among }));
    api.said(0, -100, "Ora:");
    api.state().webhook = Some("https://example.org".to_owned());
    talk.says("che ore sono", "Ora:");
    api.is_drained();
    let requests = std::mem::take(&mut api.state().requests);
    talk.ends();
    let said = held(&python, &requests);
    for method in [
        "getMe",
        "getUpdates",
        "sendMessage",
        "editMessageReplyMarkup",
        "answerCallbackQuery",
        "sendDocument",
        "getFile",
        "setMyCommands",
        "deleteWebhook",
    ] {
        assert!(said["seen"][method].as_u64() > Some(0), "{method} was never sent: {said:#}");
    }
}

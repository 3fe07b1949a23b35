//! A household that talks with Metnos over Telegram: the real daemon against a strict server of the Bot API.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::bot_api::{BotApi, Fault, Sent, TOKEN, refusal};
use super::daemon::Daemon;
use super::home::{Home, Ran};

/// The person whose home it is.
pub(crate) const HOST: i64 = 4242;
/// Somebody else.
const STRANGER: i64 = 6666;
/// Someone else of this home, with a chat of their own.
pub(crate) const GUEST: i64 = 5151;

/// A home whose bot is served here, with the token stored. Nothing is said there but what a test asks for: no anchor in the
/// morning.
pub(crate) fn home_at(url: &str, token: &str) -> Home {
    let home = Home::new()
        .with("METNOS_TELEGRAM_BASE_URL", url)
        .with("METNOS_TELEGRAM_POLL_SECONDS", "5")
        .with("METNOS_TELEGRAM_DEFAULT_CHAT", &HOST.to_string());
    let stored = given(&home, &["credential", "set", "telegram"], token);
    assert_eq!(stored.code, 0, "{}", stored.err);
    assert_eq!(home.run(["config", "set", "anchor.daily", "off"]).code, 0);
    home
}

/// A command that reads this.
pub(crate) fn given(home: &Home, args: &[&str], input: &str) -> Ran {
    let mut command = home.command();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

/// A daemon that talks with its host.
pub(crate) struct Talk {
    pub(crate) api: BotApi,
    pub(crate) home: Home,
    pub(crate) daemon: Option<Daemon>,
}

impl Talk {
    pub(crate) fn begin() -> Self {
        let api = BotApi::start();
        let home = home_at(&api.url(), TOKEN);
        let daemon = Some(Daemon::serve(&home));
        Self { api, home, daemon }
    }

    /// Says something as the host; the first answer that holds this.
    #[track_caller]
    pub(crate) fn says(&self, text: &str, answer: &str) -> String {
        let from = self.api.count();
        self.api.writes(HOST, text);
        self.api.said(from, HOST, answer).text
    }

    /// Somebody else of this home, paired by a code of their own; their id.
    #[track_caller]
    pub(crate) fn knows(&self, name: &str, person: i64) -> String {
        let added = self.home.run(["--json", "actor", "add", name]);
        assert_eq!(added.code, 0, "{}", added.err);
        let code = self.home.run(["--json", "pair", "new", "--actor", name]).json();
        let from = self.api.count();
        self.api.writes(person, &format!("/start {}", code["code"].as_str().unwrap()));
        self.api.said(from, person, "Siamo collegati");
        added.json()["actor"].as_str().unwrap().to_owned()
    }

    /// Says something as anybody; the first thing that is said back, buttons or not.
    #[track_caller]
    pub(crate) fn hears(&self, person: i64, text: &str) -> Sent {
        let from = self.api.count();
        self.api.writes(person, text);
        self.answers(from, person)
    }

    /// The first thing that is said to somebody from that place on, and is not how far something is.
    #[track_caller]
    pub(crate) fn answers(&self, from: usize, person: i64) -> Sent {
        self.api.until(&format!("nothing is said to {person}"), |state| {
            let late = state.sent.iter().skip(from).filter(|sent| sent.chat == person);
            late.filter(|sent| !sent.text.contains("Ci sto lavorando")).map(Sent::clone).next()
        })
    }

    /// Stops the daemon, if it runs, and holds its history against itself.
    #[track_caller]
    pub(crate) fn ends(mut self) -> Home {
        if let Some(daemon) = self.daemon.take() {
            daemon.stop();
        }
        self.home.is_whole();
        self.home
    }
}

#[test]
fn a_stranger_gets_one_line_and_reaches_nothing() {
    let talk = Talk::begin();
    let api = &talk.api;
    for text in ["cancella il file spesa.txt", "/stop", "/status", "/pair PAIR.x.y", "what time is it"] {
        api.writes(STRANGER, text);
    }
    talk.says("che ore sono", ":");
    api.is_drained();
    let told: Vec<String> =
        api.state().texts(STRANGER).into_iter().map(|(text, count)| format!("{count} {text}")).collect();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[0].starts_with("1 Ciao. Sono l'assistente") && told[1].starts_with("1 Non è un codice"), "{told:#?}");
    let home = talk.ends();
    // The home's first turn is one of them.
    let turns = home.run(["--json", "turn", "list"]);
    assert_eq!(turns.out.lines().count(), 2, "{}", turns.out);
}

/// What a person may send that is no sentence, and what a server may send that is no message.
#[test]
fn odd_updates_are_on_record_and_harm_nothing() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    let number = api.writes(HOST, "che giorno è oggi");
    api.said(1, HOST, "2");
    let from = api.count();
    // The same again, an older number, kinds that nobody knows, and nothing at all.
    api.update(
        json!({ "update_id": number, "message": { "message_id": 9, "chat": { "id": HOST }, "text": "che ore sono" } }),
    );
    api.update(json!({ "poll": { "id": "p" } }));
    api.update(json!({ "edited_message": { "message_id": 9, "chat": { "id": HOST }, "text": "cancella tutto" } }));
    api.update(json!({ "message": 5 }));
    api.writes(HOST, "");
    api.writes(HOST, "   \n ");
    api.writes_with(HOST, &json!({ "sticker": { "file_id": "s" } }));
    api.writes_with(HOST, &json!({ "text": { "a": 1 } }));
    api.writes(HOST, "\u{0}\u{1b}[31m");
    api.writes(HOST, &"😀".repeat(4096));
    talk.says("che ore sono", "Ora:");
    api.is_drained();
    let said: Vec<Value> = api.state().sent.iter().skip(from).map(|sent| sent.text.clone().into()).collect();
    let home = talk.ends();
    // The changed message, the sticker, the control characters, the emoji and the hour.
    assert_eq!(said.len(), 5, "{said:?}");
    let log = home.run(["--json", "log", "tail", "-n", "300"]).out;
    let (received, settled) = (log.matches("\"update_received\"").count(), log.matches("\"update_settled\"").count());
    // All but the one that came twice.
    assert_eq!((received, settled), (12, 12), "{log}");
}

#[test]
fn a_button_counts_once_for_the_one_who_was_asked() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    let guest = talk.home.run(["--json", "actor", "add", "Anna"]);
    assert_eq!(guest.code, 0, "{}", guest.err);
    let code = talk.home.run(["--json", "pair", "new", "--actor", "Anna"]).json();
    api.writes(GUEST, &format!("/start {}", code["code"].as_str().unwrap()));
    api.said(0, GUEST, "Siamo collegati");
    let file = talk.home.file("a.txt", "one\n");
    let from = api.count();
    api.writes(HOST, "cancella il file a.txt");
    let asked = api.asked(from, HOST);
    let (yes, no) = (asked.keys[0].1.clone(), asked.keys[1].1.clone());
    // Made up, changed in one letter, of the other kind, or pressed by another person: none of it counts.
    let mut changed = yes.clone();
    changed.replace_range(3..4, if changed.as_bytes()[3] == b'a' { "b" } else { "a" });
    for data in ["yes", "v1:a:1", "", changed.as_str()] {
        let press = api.presses(HOST, &asked, data);
        assert_eq!(api.answer_to(&press), "Non conosco questo pulsante.", "{data}");
    }
    for person in [GUEST, STRANGER] {
        let press = api.presses(person, &asked, &yes);
        assert!(api.answer_to(&press).contains("altra persona"));
    }
    assert!(file.exists());
    assert!(!api.state().sent.iter().find(|sent| sent.id == asked.id).unwrap().keys.is_empty());
    // A sentence meanwhile waits, and is told so.
    let ahead = api.count();
    api.writes(HOST, "che ore sono");
    api.said(ahead, HOST, "Prima mi serve la tua risposta");
    let press = api.presses(HOST, &asked, &no);
    assert_eq!(api.answer_to(&press), "No, lascio stare.");
    api.said(ahead, HOST, "Ora:");
    for data in [&yes, &no] {
        let press = api.presses(HOST, &asked, data);
        assert_eq!(api.answer_to(&press), "Hai già risposto.");
    }
    assert!(file.exists());
    // Stopped: the button of before does nothing any more.
    let from = api.count();
    api.writes(HOST, "cancella il file a.txt");
    let asked = api.asked(from, HOST);
    talk.says("/ferma", "Mi sono fermato");
    let press = api.presses(HOST, &asked, &asked.keys[0].1);
    assert!(api.answer_to(&press).contains("troppo tardi"));
    api.is_drained();
    assert!(file.exists());
    let home = talk.ends();
    let log = home.run(["--json", "log", "tail", "-n", "500"]).out;
    let outcomes = ["accepted", "forged", "foreign", "used", "expired"]
        .map(|outcome| log.matches(&format!("\"outcome\":\"{outcome}\"")).count());
    assert_eq!(outcomes, [1, 4, 2, 2, 1], "{log}");
}

/// What the server refuses, breaks off or wants later, and an hour without it.
#[test]
fn a_server_that_fails_is_met_with_patience() {
    let mut talk = Talk::begin();
    talk.says("/start", "Eccomi");
    let api = &talk.api;
    let refuse =
        |method: &str, status: u16, text: &str| api.fault(method, Fault::Refuse(status, refusal(status, text)));
    // Silence that is asked for is kept, and then everything is said in order.
    let later = json!({ "ok": false, "error_code": 429, "description": "Too Many Requests", "parameters": { "retry_after": 2 } });
    api.fault("sendMessage", Fault::Refuse(429, later));
    let asked = Instant::now();
    talk.says("che ore sono", "Ora:");
    assert!(asked.elapsed() >= Duration::from_secs(2));
    // Markup that is not understood is said without it.
    refuse("sendMessage", 400, "Bad Request: can't parse entities: byte offset 1");
    talk.says("che giorno è oggi", "2");
    let plain = api.state().requests.iter().rev().find(|(method, _)| method == "sendMessage").unwrap().1.clone();
    assert!(plain["parse_mode"].is_null(), "{plain}");
    // The answer was sent, and the receipt got lost: it is said again, marked.
    api.fault("sendMessage", Fault::Swallow);
    talk.says("che ore sono", "Questa può essere una ripetizione");
    // Other pollers, broken answers, a webhook that is left over.
    for (status, text) in
        [(409, "Conflict: terminated by other getUpdates request"), (502, "Bad Gateway"), (500, "oops")]
    {
        refuse("getUpdates", status, text);
    }
    api.fault("getUpdates", Fault::Swallow);
    talk.says("che ore sono", "Ora:");
    api.state().webhook = Some("https://example.org".to_owned());
    talk.says("che ore sono", "Ora:");
    assert_eq!(api.state().webhook, None);
    // Somebody who has blocked the bot gets nothing more, and nobody else is the worse for it.
    refuse("sendMessage", 403, "Forbidden: bot was blocked by the user");
    api.writes(HOST, "che ore sono");
    talk.says("che giorno è oggi", "2");
    let status = talk.home.run(["--json", "status"]).json();
    assert_eq!(status["telegram"]["link"], "connected", "{status}");
    api.is_drained();
    // The network is gone while something is to be said; it is said when it is back, once.
    let (port, url) = (api.port(), api.url());
    let from = api.count();
    talk.api.shuts();
    let queued = talk.home.run(["--json", "status"]).json();
    assert_eq!(queued["telegram"]["is_paired"], true);
    talk.api.opens(port);
    assert_eq!(talk.api.url(), url);
    talk.api.writes(HOST, "che ore sono");
    talk.api.said(from, HOST, "Ora:");
    talk.ends();
}

#[test]
fn a_token_that_is_refused_is_said_and_another_one_is_taken() {
    let talk = Talk::begin();
    talk.says("/start", "Eccomi");
    talk.api.revoke();
    let state = |talk: &Talk| talk.home.run(["--json", "status"]).json()["telegram"]["link"].clone();
    let deadline = Instant::now() + Duration::from_secs(20);
    while state(&talk) != "token" {
        assert!(Instant::now() < deadline, "{}", state(&talk));
        std::thread::sleep(Duration::from_millis(50));
    }
    let shown = talk.home.run(["status"]).out;
    assert!(shown.contains("token is refused") && shown.contains("metnos connect telegram"), "{shown}");
    let wrong = given(&talk.home, &["connect", "telegram"], "7000001:AAanother-wrong-one\n");
    assert!(wrong.code == 1 && wrong.err.contains("does not know this token"), "{} {}", wrong.code, wrong.err);
    assert!(!wrong.err.contains("AAanother"), "{}", wrong.err);
    for odd in ["hello", "https://api.telegram.org/bot1:x", "1:../../x"] {
        let odd = given(&talk.home, &["connect", "telegram"], odd);
        assert!(odd.code == 2 && odd.err.contains("no token of a Telegram bot"), "{} {}", odd.code, odd.err);
    }
    talk.api.state().is_revoked = false;
    let right = given(&talk.home, &["connect", "telegram"], TOKEN);
    assert_eq!(right.code, 0, "{}", right.err);
    assert!(
        right.out.starts_with("/start PAIR.") && right.err.contains("t.me/metnos_test_bot"),
        "{} {}",
        right.out,
        right.err
    );
    talk.says("che ore sono", "Ora:");
    let home = talk.ends();
    let found = holding(home.files().parent().unwrap(), TOKEN.split_once(':').unwrap().1.as_bytes());
    assert_eq!(found, Vec::<std::path::PathBuf>::new(), "the token can be read there");
}

/// Without a daemon the command listens itself until the code came.
#[test]
fn connecting_works_without_a_daemon() {
    let api = BotApi::start();
    let home = Home::new().with("METNOS_TELEGRAM_BASE_URL", &api.url()).with("METNOS_TELEGRAM_POLL_SECONDS", "5");
    let mut command = home.command();
    command.args(["connect", "telegram", "--wait"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(TOKEN.as_bytes()).unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    api.writes(STRANGER, "/start PAIR.AAAA.BBBB");
    api.writes(HOST, line.trim());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert!(ran.code == 0 && ran.err.contains("you are connected"), "{} {}", ran.code, ran.err);
    api.said(0, HOST, "Siamo collegati");
    api.said(0, STRANGER, "Non è un codice");
    // The code is used up, also for the same person.
    let daemon = Daemon::serve(&home);
    api.writes(STRANGER, line.trim());
    api.said(0, STRANGER, "già stato usato");
    daemon.stop();
    home.is_whole();
}

/// The files below a folder that hold these bytes.
fn holding(folder: &Path, bytes: &[u8]) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(holding(&path, bytes));
        } else if kind.is_file() && std::fs::read(&path).unwrap().windows(bytes.len()).any(|window| window == bytes) {
            found.push(path);
        }
    }
    found
}

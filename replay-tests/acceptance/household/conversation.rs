//! One conversation in Italian from the pairing to the reminder, word for word the same with each counterpart: the strict
//! server, the public mock, and the strict server with everything that passes held against a public framework's types.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::bot_api::{BotApi, Sent, TOKEN};
use super::daemon::Daemon;
use super::home::Home;
use super::peers::installed;
use super::telegram::{HOST, given};
use super::telegram_peers::{PEERS, Peer, held, python};

/// The longest that anything may take to be said.
const PATIENCE: Duration = Duration::from_secs(30);
/// What shows that a turn is at work: it comes and goes as the machine is fast or slow, and says nothing.
const WORKING: &str = "Ci sto lavorando";

/// What the person reads: one message, with what is below it.
#[derive(Clone, Debug)]
struct Heard {
    id: i64,
    text: String,
    /// What each button shows and carries.
    keys: Vec<(String, String)>,
}

/// The other side: one person's app, and the server that it talks to.
trait Counterpart {
    /// Where bots are served.
    fn url(&self) -> String;
    fn says(&mut self, text: &str);
    fn presses(&mut self, message: &Heard, key: usize);
    /// The next message, in the order in which they came; every one is heard once.
    fn hears(&mut self) -> Heard;
    /// Sends a file; whether this side can.
    fn sends(&mut self, name: &str, bytes: &[u8]) -> bool;
    /// Whether nothing was said that was not heard.
    fn is_silent(&mut self) -> bool;
}

/// The conversation, and how far it is.
struct Conversation<'a> {
    home: Home,
    clock: PathBuf,
    daemon: Daemon,
    other: &'a mut dyn Counterpart,
}

impl<'a> Conversation<'a> {
    /// A new home, whose owner connects it and pairs their chat.
    fn begin(other: &'a mut dyn Counterpart) -> Self {
        let home = Home::new().with("METNOS_TELEGRAM_BASE_URL", &other.url()).with("METNOS_TELEGRAM_POLL_SECONDS", "5");
        let clock = home.file("clock", "2026-11-22T20:00:00Z");
        let home = home.with("METNOS_CLOCK", clock.to_str().unwrap());
        home.file("spesa.txt", "pane\nlatte\nuova\nmele\n");
        let daemon = Daemon::serve(&home);
        let connected = given(&home, &["connect", "telegram"], TOKEN);
        assert_eq!(connected.code, 0, "{}", connected.err);
        let code = connected.out.lines().find(|line| line.starts_with("/start PAIR.")).unwrap().to_owned();
        let mut conversation = Self { home, clock, daemon, other };
        assert_eq!(conversation.answer(&code), "Siamo collegati. Scrivi che cosa vuoi; /aiuto dice di più.");
        conversation
    }

    /// What is said back to a sentence, which asks nothing.
    #[track_caller]
    fn answer(&mut self, text: &str) -> String {
        self.other.says(text);
        let heard = self.other.hears();
        assert!(heard.keys.is_empty(), "{text}: {heard:?}");
        heard.text
    }

    /// The question that a sentence leads to, and what is said once it is agreed to.
    #[track_caller]
    fn agreed(&mut self, text: &str, meanwhile: impl FnOnce(&Home)) -> (String, String) {
        self.other.says(text);
        let asked = self.other.hears();
        let labels: Vec<&str> = asked.keys.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["Sì", "No"], "{asked:?}");
        // A button says nothing to whoever sees what it carries.
        assert!(asked.keys.iter().all(|(_, data)| data.len() == 26 && !data.contains("spesa")), "{asked:?}");
        meanwhile(&self.home);
        self.other.presses(&asked, 0);
        let done = self.other.hears();
        assert!(done.keys.is_empty(), "{done:?}");
        (asked.text, done.text)
    }

    fn shopping(&self) -> PathBuf {
        self.home.files().join("spesa.txt")
    }

    /// Reading, deleting after a yes, and taking it back.
    fn files(&mut self) {
        assert_eq!(self.answer("leggi il file spesa.txt e dimmi le ultime due righe"), "uova\nmele");
        let path = self.shopping();
        let (asked, done) =
            self.agreed("cancella il file spesa.txt", |_| assert!(path.exists(), "it waits for the yes"));
        assert_eq!(
            asked,
            format!(
                "Vorrei cancellare 1 file, 21 byte, nel cestino, in ~:\n  nel cestino: {}\n\
                 L'hai nominato tu. Si può annullare finché non si svuota il cestino. Posso?",
                path.display()
            )
        );
        assert!(done.contains("spesa.txt") && done.contains("nel cestino (21 byte)"), "{done}");
        assert!(!path.exists());
        let (asked, undone) = self.agreed("/annulla", |_| assert!(!path.exists(), "it waits for the yes"));
        assert!(asked.contains("riprendere dal cestino 1 file") && asked.contains("spesa.txt"), "{asked}");
        assert!(undone.contains("spesa.txt") && undone.contains("cancella il file spesa.txt"), "{undone}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "pane\nlatte\nuova\nmele\n");
        assert_eq!(self.answer("quante righe ha il file spesa.txt"), "4 righe");
    }

    /// Something that is said later, at its time and once.
    fn reminder(&mut self) {
        let (asked, kept) = self.agreed("tra 20 minuti ricordami di spegnere il forno", |_| {});
        assert_eq!(
            asked,
            "Terrei questo come attività 1:\n  ricordarti: spegnere il forno\n  \
             quando: una volta, dom 2026-11-22 21:20 (Europe/Rome)\n  il risultato: nella tua chat di Telegram\n\
             «annulla l'attività 1» la termina.\nCon «annulla» si torna indietro. Posso?"
        );
        assert!(
            kept.starts_with("Numero 1, una volta, dom 2026-11-22 21:20. Ti ricorderò: spegnere il forno"),
            "{kept}"
        );
        let listed = self.answer("quali promemoria ci sono");
        assert!(listed.starts_with("1 attività:\n1. spegnere il forno — una volta, dom 2026-11-22 21:20"), "{listed}");
        std::fs::write(&self.clock, "2026-11-22T20:20:01Z").unwrap();
        assert_eq!(self.other.hears().text, "Promemoria (dom 2026-11-22 21:20): spegnere il forno");
    }

    /// A file that is sent, and what is asked about it; whether this counterpart has files.
    fn document(&mut self) -> bool {
        if !self.other.sends("conti di casa.csv", "voce,euro\npane,3\nlatte,2\n".as_bytes()) {
            return false;
        }
        let inbox = self.home.metnos().join("workspace/inbox/conti_di_casa.csv");
        let kept = format!(
            "Tengo il file come {}. Chiedimi pure qualcosa usando il suo nome: conti di casa.csv",
            inbox.display()
        );
        assert_eq!(self.other.hears().text, kept);
        assert_eq!(std::fs::read_to_string(&inbox).unwrap(), "voce,euro\npane,3\nlatte,2\n");
        assert_eq!(self.answer("quante righe ha conti_di_casa.csv?"), "2 righe");
        assert_eq!(self.answer("leggi il file conti_di_casa.csv e dimmi l'ultima riga"), "latte,2");
        true
    }

    /// Nothing else was said, and the history holds together.
    fn ends(self) {
        assert!(self.other.is_silent(), "something more was said");
        self.daemon.stop();
        self.home.is_whole();
    }
}

/// All of it; whether files were sent too.
fn carried_on(other: &mut dyn Counterpart) -> bool {
    let mut conversation = Conversation::begin(other);
    conversation.files();
    conversation.reminder();
    let has_files = conversation.document();
    conversation.ends();
    has_files
}

/// The person's app on the strict server.
struct Strict {
    api: BotApi,
    /// How many messages were heard.
    heard: usize,
}

impl Strict {
    fn begin() -> Self {
        Self { api: BotApi::start(), heard: 0 }
    }
}

fn is_said(sent: &Sent) -> bool {
    sent.chat == HOST && !sent.text.contains(WORKING)
}

impl Counterpart for Strict {
    fn url(&self) -> String {
        self.api.url()
    }

    fn says(&mut self, text: &str) {
        self.api.writes(HOST, text);
    }

    fn presses(&mut self, message: &Heard, key: usize) {
        let sent = self.api.state().sent.iter().find(|sent| sent.id == message.id).unwrap().clone();
        let press = self.api.presses(HOST, &sent, &message.keys[key].1);
        assert_eq!(self.api.answer_to(&press), "Sì, lo faccio.");
        self.api.until("the buttons stay", |state| {
            state.sent.iter().any(|sent| sent.id == message.id && sent.keys.is_empty()).then_some(())
        });
    }

    fn hears(&mut self) -> Heard {
        let at = self.heard;
        let next = |state: &mut super::bot_api::State| state.sent.iter().filter(|sent| is_said(sent)).nth(at).cloned();
        let sent = self.api.until("nothing more is said", next);
        self.heard += 1;
        Heard { id: sent.id, text: sent.text, keys: sent.keys }
    }

    fn sends(&mut self, name: &str, bytes: &[u8]) -> bool {
        self.api.sends(HOST, name, bytes, None);
        true
    }

    fn is_silent(&mut self) -> bool {
        self.api.is_drained();
        self.api.state().sent.iter().filter(|sent| is_said(sent)).count() == self.heard
    }
}

/// The same with a person of the public mock, led over the mock's own client.
struct Mock {
    peer: Peer,
    url: String,
    /// What came and was not heard yet.
    waiting: Vec<Heard>,
}

impl Mock {
    fn begin(modules: &std::path::Path) -> Self {
        let mut command = Command::new("node");
        command.arg(std::path::Path::new(PEERS).join("telegram_test_api.cjs")).arg(modules);
        let mut peer = Peer::start(command.args([TOKEN, &HOST.to_string()]));
        let begun: Value = serde_json::from_str(&peer.line()).unwrap();
        Self { peer, url: begun["url"].as_str().unwrap().to_owned(), waiting: Vec::new() }
    }

    fn acts(&mut self, act: &Value) -> Value {
        self.peer.tell(&act.to_string());
        let line = self.peer.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{act}: {error}: {line}"))
    }
}

impl Counterpart for Mock {
    fn url(&self) -> String {
        self.url.clone()
    }

    fn says(&mut self, text: &str) {
        self.acts(&json!({ "act": "says", "text": text }));
    }

    fn presses(&mut self, message: &Heard, key: usize) {
        self.acts(&json!({ "act": "presses", "data": message.keys[key].1, "message": message.id }));
    }

    fn hears(&mut self) -> Heard {
        let deadline = Instant::now() + PATIENCE;
        while self.waiting.is_empty() {
            assert!(Instant::now() < deadline, "nothing more is said");
            let said = self.acts(&json!({ "act": "hears" }));
            let said = said["result"].as_array().unwrap().iter().map(|update| {
                let message = &update["message"];
                let keys = message["reply_markup"]["inline_keyboard"][0].as_array().cloned().unwrap_or_default();
                let part = |key: &Value, name: &str| key[name].as_str().unwrap().to_owned();
                Heard {
                    id: update["messageId"].as_i64().unwrap(),
                    // It shows markup as it came.
                    text: seen(message["text"].as_str().unwrap()),
                    keys: keys.iter().map(|key| (part(key, "text"), part(key, "callback_data"))).collect(),
                }
            });
            self.waiting.extend(said.filter(|heard| !heard.text.contains(WORKING)));
        }
        self.waiting.remove(0)
    }

    /// It has no files: it knows none of the methods by which a bot gets one. Were that to change, this would fail.
    fn sends(&mut self, _name: &str, _bytes: &[u8]) -> bool {
        for method in ["getFile", "sendDocument"] {
            let answer = self.acts(&json!({ "act": "answers", "method": method }));
            let unsupported = format!("API method '{method}' is not supported");
            assert!(answer["body"].as_str().unwrap().contains(&unsupported), "{answer}");
        }
        false
    }

    fn is_silent(&mut self) -> bool {
        self.waiting.is_empty()
    }
}

/// What a person sees of the markup that is sent.
fn seen(markup: &str) -> String {
    metnos_projections::rules::markup::visible(markup)
}

#[test]
fn with_the_strict_server() {
    assert!(carried_on(&mut Strict::begin()));
}

#[test]
fn with_the_public_mock_which_has_no_files() {
    let Some(modules) = installed("npm/node_modules") else { return };
    let mut mock = Mock::begin(&modules);
    assert!(!carried_on(&mut mock));
    mock.peer.ends();
}

/// Every request of the bot and every update of the server is one that the public framework's types take.
#[test]
fn with_the_public_framework_as_the_judge_of_both_sides() {
    let Some(python) = python() else { return };
    let mut strict = Strict::begin();
    assert!(carried_on(&mut strict));
    let state = strict.api.state();
    let updates = state.given.iter().map(|update| ("update".to_owned(), update.clone()));
    let lines: Vec<(String, Value)> = state.requests.iter().cloned().chain(updates).collect();
    let seen = held(&python, &lines)["seen"].clone();
    // As many updates as the person did things.
    assert_eq!(seen["update"], 13, "{seen}");
    for method in ["getUpdates", "sendMessage", "answerCallbackQuery", "editMessageReplyMarkup", "getFile"] {
        assert!(seen[method].as_u64() > Some(0), "{method} was never sent: {seen:#}");
    }
}

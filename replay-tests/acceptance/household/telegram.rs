//! A household that talks with Metnos over Telegram: the real daemon against a strict server of the Bot API.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use super::bot_api::{BotApi, TOKEN};
use super::daemon::Daemon;
use super::home::{Home, Ran};

/// The person whose home it is.
pub(crate) const HOST: i64 = 4242;
/// Somebody else.
const STRANGER: i64 = 6666;

/// A home whose bot is served here, with the token stored.
pub(crate) fn home_at(url: &str, token: &str) -> Home {
    let home = Home::new()
        .with("METNOS_TELEGRAM_BASE_URL", url)
        .with("METNOS_TELEGRAM_POLL_SECONDS", "5")
        .with("METNOS_TELEGRAM_DEFAULT_CHAT", &HOST.to_string());
    let stored = given(&home, &["credential", "set", "telegram"], token);
    assert_eq!(stored.code, 0, "{}", stored.err);
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
    fn says(&self, text: &str, answer: &str) -> String {
        let from = self.api.count();
        self.api.writes(HOST, text);
        self.api.said(from, HOST, answer).text
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
fn a_conversation_in_italian_from_the_first_word_to_the_undo() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.home.file("spesa.txt", "pane\nlatte\nuova\nmele\n");
    let lines = talk.says("leggi il file spesa.txt e dimmi le ultime due righe", "mele");
    assert_eq!(lines, "uova\nmele");
    let from = api.count();
    api.writes(HOST, "cancella il file spesa.txt");
    let asked = api.asked(from, HOST);
    assert!(asked.text.contains("spesa.txt") && asked.text.contains("cestino"), "{}", asked.text);
    let labels: Vec<&str> = asked.keys.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(labels, ["Sì", "No"]);
    assert!(asked.keys.iter().all(|(_, data)| data.len() == 26 && !data.contains("spesa")), "{:?}", asked.keys);
    assert!(talk.home.files().join("spesa.txt").exists());
    let press = api.presses(HOST, &asked, &asked.keys[0].1);
    assert_eq!(api.answer_to(&press), "Sì, lo faccio.");
    api.said(from + 1, HOST, "cestino");
    assert!(!talk.home.files().join("spesa.txt").exists());
    api.until("the buttons stay", |state| {
        state.sent.iter().any(|sent| sent.id == asked.id && sent.keys.is_empty()).then_some(())
    });
    let from = api.count();
    api.writes(HOST, "/annulla");
    let asked = api.asked(from, HOST);
    api.presses(HOST, &asked, &asked.keys[0].1);
    api.said(from + 1, HOST, "spesa.txt");
    assert_eq!(std::fs::read_to_string(talk.home.files().join("spesa.txt")).unwrap(), "pane\nlatte\nuova\nmele\n");
    let from = api.count();
    api.sends(HOST, "conti di casa.csv", b"voce,euro\npane,3\nlatte,2\n", Some("quante righe ha questo file?"));
    api.said(from, HOST, "2");
    talk.says("quante righe ha conti_di_casa.csv?", "2");
    api.is_drained();
    talk.ends();
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
    api.writes_with(HOST, json!({ "sticker": { "file_id": "s" } }));
    api.writes_with(HOST, json!({ "text": { "a": 1 } }));
    api.writes(HOST, "\u{0}\u{1b}[31m");
    api.writes(HOST, &"😀".repeat(4096));
    talk.says("che ore sono", "Ora:");
    api.is_drained();
    let said: Vec<Value> = api.state().sent.iter().skip(from).map(|sent| sent.text.clone().into()).collect();
    let home = talk.ends();
    // The control characters, the emoji and the hour.
    assert_eq!(said.len(), 3, "{said:?}");
    let log = home.run(["--json", "log", "tail", "-n", "300"]).out;
    let (received, settled) = (log.matches("\"update_received\"").count(), log.matches("\"update_settled\"").count());
    // All but the one that came twice.
    assert_eq!((received, settled), (12, 12), "{log}");
}

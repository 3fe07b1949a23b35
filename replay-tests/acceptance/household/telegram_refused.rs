//! Telegram refuses or makes no sense: for a moment, or until another token is stored. What waits goes on waiting.

use std::time::{Duration, Instant};

use super::bot_api::{Fault, TOKEN, refusal};
use super::telegram::{HOST, Talk, given};

/// Waits until the status says that of the connection.
#[track_caller]
fn until_link(talk: &Talk, link: &str) {
    let state = || talk.home.run(["--json", "status"]).json()["telegram"]["link"].clone();
    let deadline = Instant::now() + Duration::from_secs(30);
    while state() != link {
        assert!(Instant::now() < deadline, "{} instead of {link}", state());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A proxy that answered 404 once, or a server that answered 401 once, ended Telegram until the next start, and every
/// question that was open as if the person had said stop.
#[test]
fn one_odd_answer_ends_nothing() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    let file = talk.home.file("a.txt", "one\n");
    let asked = talk.hears(HOST, "cancella il file a.txt");
    let from = api.count();
    for status in [404, 401, 418] {
        api.fault("getUpdates", Fault::Refuse(status, refusal(status, "odd")));
        // What ends the request that waits; the next one is answered oddly.
        talk.says("/whoami", "Qui sei");
    }
    talk.says("/stato", "Una richiesta di questa chat è in corso.");
    assert!(
        api.state().requests.iter().filter(|(method, _)| method == "getMe").count() > 1,
        "the token was not looked at"
    );
    until_link(&talk, "connected");
    let press = api.presses(HOST, &asked, &asked.keys[0].1);
    assert_eq!(api.answer_to(&press), "Sì, lo faccio.");
    api.said(from, HOST, "cestino");
    assert!(!file.exists());
    assert!(!api.state().sent.iter().any(|sent| sent.text.contains("fermato")), "nobody said stop");
    talk.ends();
}

#[test]
fn a_question_outlives_a_token_that_is_refused() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    let file = talk.home.file("a.txt", "one\n");
    let asked = talk.hears(HOST, "cancella il file a.txt");
    api.revoke();
    until_link(&talk, "token");
    api.state().is_revoked = false;
    // At once: nobody waits for the next look.
    let from = api.count();
    let stored = given(&talk.home, &["connect", "telegram"], TOKEN);
    assert_eq!(stored.code, 0, "{}", stored.err);
    until_link(&talk, "connected");
    let press = api.presses(HOST, &asked, &asked.keys[0].1);
    assert_eq!(api.answer_to(&press), "Sì, lo faccio.");
    api.said(from, HOST, "cestino");
    assert!(!file.exists());
    let questions = api.state().sent.iter().filter(|sent| !sent.keys.is_empty() || sent.text == asked.text).count();
    assert_eq!(questions, 1, "it is put once");
    talk.ends();
}

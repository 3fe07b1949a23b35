//! Telegram where it is too much: people and strangers who write without end, clocks that jump, servers that ask for the
//! impossible, and people who are of the home no more.

use serde_json::json;

use super::bot_api::{BotApi, Fault, TOKEN, refusal};
use super::daemon::Daemon;
use super::telegram::{GUEST, HOST, Talk, home_at};

const STRANGER: i64 = 6666;
/// More than the updates whose numbers are remembered.
const MANY: usize = 1100;

/// A home whose time stands in a file.
fn talk_with_clock(time: &str) -> (Talk, std::path::PathBuf) {
    let api = BotApi::start();
    let home = home_at(&api.url(), TOKEN);
    let clock = home.file("clock", time);
    let home = home.with("METNOS_CLOCK", clock.to_str().unwrap());
    let daemon = Some(Daemon::serve(&home));
    let talk = Talk { api, home, daemon };
    talk.says("/start", "Eccomi");
    (talk, clock)
}

/// The newest update was forgotten for the oldest one and came again, and again.
#[test]
fn an_update_is_answered_once_by_a_clock_that_was_set_back_a_year() {
    let (talk, clock) = talk_with_clock("2026-11-22T20:00:00Z");
    let api = &talk.api;
    for number in 0..MANY {
        let chat = json!({ "id": STRANGER, "type": "private" });
        api.update(
            json!({ "edited_message": { "message_id": number, "date": 1, "chat": chat, "from": chat, "text": "x" } }),
        );
    }
    talk.says("che ore sono", "Ora:");
    api.is_drained();
    let from = api.count();
    for time in ["2025-11-22T20:00:00Z", "2027-11-22T20:00:00Z", "2026-11-22T20:00:00Z"] {
        std::fs::write(&clock, time).unwrap();
        talk.says("che ore sono", "Ora:");
        talk.says("/chisono", "Qui sei owner");
        api.is_drained();
    }
    assert_eq!(api.count() - from, 6, "each is answered once");
    let home = talk.ends();
    let log = home.run(["--json", "log", "tail", "-n", "5000"]).out;
    // The first greeting, the crowd, the question of before, and two for each time.
    assert_eq!(log.matches("\"update_received\"").count(), 1 + MANY + 1 + 6);
}

/// A guest who asked for their question again and again made the host's unknown, and filled what is to be sent.
#[test]
fn a_guest_who_asks_for_a_question_without_end_harms_nobody_elses() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    talk.knows("Anna", GUEST);
    let file = talk.home.file("a.txt", "one\n");
    let asked = talk.hears(HOST, "cancella il file a.txt");
    let theirs = talk.hears(GUEST, "ogni giorno alle 8 dimmi quanti file ci sono qui");
    assert_eq!((asked.keys.len(), theirs.keys.len()), (2, 2), "{}", theirs.text);
    let again = talk.hears(GUEST, "/approvazioni");
    assert_eq!((again.keys.len(), &again.text), (2, &theirs.text));
    let above = talk.hears(GUEST, "/approvazioni");
    assert_eq!(above.text, "La domanda è qui sopra: premi uno dei suoi pulsanti.");
    for _ in 0..270 {
        api.writes(GUEST, "/approvazioni");
    }
    api.is_drained();
    let from = api.count();
    let press = api.presses(HOST, &asked, &asked.keys[0].1);
    assert_eq!(api.answer_to(&press), "Sì, lo faccio.");
    api.said(from, HOST, "cestino");
    assert!(!file.exists());
    // The guest's own question is open as well.
    let press = api.presses(GUEST, &again, &again.keys[1].1);
    assert_eq!(api.answer_to(&press), "No, lascio stare.");
    api.is_drained();
    let home = talk.ends();
    let log = home.run(["--json", "log", "tail", "-n", "5000"]).out;
    let waiting = log.matches("\"message_queued\"").count() - log.matches("\"message_sent\"").count();
    assert!((50..=110).contains(&waiting), "{waiting} messages wait");
    assert!(log.matches("\"crowded\"").count() > 50, "some were not answered");
}

#[test]
fn a_person_who_is_sent_away_is_told_nothing_that_waited() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    let anna = talk.knows("Anna", GUEST);
    assert_eq!(talk.home.run(["actor", "autonomy", "Anna", "supervised"]).code, 0);
    let from = api.count();
    api.sends(GUEST, "a.txt", b"one\n", None);
    api.said(from, GUEST, "a.txt");
    let own = talk.home.metnos().join("workspace/guests").join(anna).join("inbox/a.txt");
    let from = api.count();
    api.writes(GUEST, &format!("cancella il file {}", own.display()));
    let asked = api.asked(from, GUEST);
    talk.hears(GUEST, &format!("leggi il file {}", own.display()));
    let from = api.count();
    let revoked = talk.home.run(["actor", "revoke", "Anna"]);
    assert_eq!(revoked.code, 0, "{}", revoked.err);
    // The sentence that waited is a stranger's now.
    api.said(from, GUEST, "Ciao. Sono l'assistente");
    let press = api.presses(GUEST, &asked, &asked.keys[0].1);
    assert!(!api.answer_to(&press).contains("Sì"));
    api.writes(GUEST, "leggi il file a.txt");
    talk.says("che ore sono", "Ora:");
    api.is_drained();
    let state = api.state();
    let told: Vec<&str> =
        state.sent.iter().skip(from).filter(|sent| sent.chat == GUEST).map(|sent| sent.text.as_str()).collect();
    assert!(told.len() == 1 && told[0].starts_with("Ciao. Sono"), "{told:#?}");
    drop(state);
    assert!(own.exists());
    let home = talk.ends();
    let turns = home.run(["--json", "turn", "list"]).out;
    assert!(!turns.contains("leggi il file"), "{turns}");
}

/// Ten minutes were waited for an answer to a question that nobody was asked.
#[test]
fn a_question_that_telegram_refuses_ends_at_once_and_is_said() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    let file = talk.home.file("a.txt", "one\n");
    api.fault("sendMessage", Fault::Refuse(400, refusal(400, "Bad Request: BUTTON_DATA_INVALID")));
    talk.says("cancella il file a.txt", "non c'era nessuno a dire di sì");
    talk.says("/approvazioni", "Nessuna domanda aspetta");
    talk.says("che ore sono", "Ora:");
    assert!(file.exists());
    talk.ends();
}

#[test]
fn a_silence_without_end_holds_up_nobody_else() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    let silence = json!({
        "ok": false, "error_code": 429, "description": "Too Many Requests",
        "parameters": { "retry_after": u64::MAX },
    });
    api.fault("sendMessage", Fault::Refuse(429, silence));
    api.writes(HOST, "/chisono");
    api.until("nothing is sent", |state| {
        let is_it = |fields: &serde_json::Value| fields["text"].as_str().is_some_and(|text| text.contains("Qui sei"));
        state.requests.iter().any(|(method, fields)| method == "sendMessage" && is_it(fields)).then_some(())
    });
    api.writes(STRANGER, "ciao");
    api.said(0, STRANGER, "Ciao. Sono l'assistente");
    talk.ends();
}

#[test]
fn a_stranger_who_tries_codes_hears_three_lines_and_then_nothing() {
    let (talk, clock) = talk_with_clock("2026-11-22T20:00:00Z");
    let api = &talk.api;
    let told = || api.state().sent.iter().filter(|sent| sent.chat == STRANGER).count();
    for number in 0..10 {
        api.writes(STRANGER, &format!("/start {number}"));
        let mut among = api.message(-77, STRANGER, "group");
        among["text"] = format!("/start {number}").into();
        api.update(json!({ "message": among }));
    }
    talk.says("/chisono", "Qui sei owner");
    api.is_drained();
    api.until("too little is said", |state| {
        (state.sent.iter().filter(|sent| sent.chat != HOST).count() == 6).then_some(())
    });
    assert_eq!(told(), 3);
    // An hour later it may be somebody who has got the right one; who does is not a stranger.
    std::fs::write(&clock, "2026-11-22T21:00:01Z").unwrap();
    api.writes(STRANGER, "/start a");
    api.until("nothing is said", |state| {
        (state.sent.iter().filter(|sent| sent.chat == STRANGER).count() == 4).then_some(())
    });
    talk.knows("Bruno", STRANGER);
    talk.ends();
}

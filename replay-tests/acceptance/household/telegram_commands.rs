//! Commands in a chat, what a person sends that is no request, and groups that become other groups.

use serde_json::{Value, json};

use super::bot_api::Fault;
use super::telegram::{GUEST, HOST, Talk};

const GROUP: i64 = -77;
/// What the group becomes.
const GROWN: i64 = -1_000_000_077;

#[test]
fn what_waits_is_put_again_with_buttons_that_count_once() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    talk.knows("Anna", GUEST);
    assert_eq!(talk.hears(HOST, "/approvazioni").text, "Nessuna domanda aspetta una tua risposta.");
    let file = talk.home.file("a.txt", "one\n");
    let first = talk.hears(HOST, "cancella il file a.txt");
    assert_eq!(talk.hears(GUEST, "/approvals").text, "Nessuna domanda aspetta una tua risposta.");
    let second = talk.hears(HOST, "/approvazioni");
    assert_eq!((&second.text, second.keys.len()), (&first.text, 2));
    assert_ne!(first.keys, second.keys, "each message has buttons of its own");
    let press = api.presses(GUEST, &second, &second.keys[0].1);
    assert_eq!(api.answer_to(&press), "Questa domanda è per un'altra persona.");
    let from = api.count();
    let press = api.presses(HOST, &second, &second.keys[0].1);
    assert_eq!(api.answer_to(&press), "Sì, lo faccio.");
    api.said(from, HOST, "cestino");
    assert!(!file.exists());
    // The other message's buttons are gone, and would not count.
    api.until("buttons stay", |state| {
        let asked = state.sent.iter().filter(|sent| sent.id == first.id || sent.id == second.id);
        asked.map(|sent| sent.keys.len()).sum::<usize>().eq(&0).then_some(())
    });
    for key in [0, 1] {
        let press = api.presses(HOST, &first, &first.keys[key].1);
        assert_eq!(api.answer_to(&press), "Hai già risposto.");
    }
    assert_eq!(talk.hears(HOST, "/approvals").text, "Nessuna domanda aspetta una tua risposta.");
    talk.ends();
}

#[test]
fn schedules_and_the_language_are_a_command_away_in_both_languages() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    for command in ["/attivita", "/schedules"] {
        let said = talk.hears(HOST, command);
        assert!(said.keys.is_empty() && said.text.contains("attività"), "{}", said.text);
    }
    let asked = talk.hears(HOST, "ogni lunedì alle 9 ricordami di innaffiare l'orto");
    let from = api.count();
    api.presses(HOST, &asked, &asked.keys[0].1);
    api.said(from, HOST, "Numero 1");
    let listed = talk.hears(HOST, "/attivita").text;
    assert!(listed.starts_with("1 attività:\n1. innaffiare l'orto — ogni lunedì alle 09:00"), "{listed}");
    assert!(talk.hears(HOST, "/lingua klingon").text.starts_with("Scrivi /lingua it per l'italiano"));
    assert!(talk.hears(HOST, "/lingua EN").text.starts_with("From now on I answer you in English"));
    assert!(talk.hears(HOST, "/stop").text.is_ascii(), "it is said in English");
    assert!(talk.hears(HOST, "/language italiano").text.starts_with("D'ora in poi ti rispondo in italiano"));
    let actors = talk.home.run(["--json", "actor", "list"]).json();
    let host = actors["actors"].as_array().unwrap().iter().find(|actor| actor["role"] == "host").unwrap().clone();
    assert_eq!(host["language"], "it");
    // Telegram is told all of them, in both languages.
    let lists: Vec<(Value, Vec<String>)> = {
        let state = api.state();
        let told = state.requests.iter().filter(|(method, _)| method == "setMyCommands");
        let names = |fields: &Value| {
            let list = fields["commands"].as_array().unwrap();
            list.iter().map(|command| command["command"].as_str().unwrap().to_owned()).collect()
        };
        told.map(|(_, fields)| (fields["language_code"].clone(), names(fields))).collect()
    };
    let english = ["help", "status", "undo", "why", "stop", "schedules", "approvals", "language"];
    let italian = ["aiuto", "stato", "annulla", "perche", "ferma", "attivita", "approvazioni", "lingua"];
    assert_eq!(lists.len(), 2);
    assert_eq!(lists[0], (Value::Null, english.map(str::to_owned).to_vec()));
    assert_eq!(lists[1], (json!("it"), italian.map(str::to_owned).to_vec()));
    // Each of them is there: none is unknown.
    for name in english.iter().chain(&italian) {
        let said = talk.hears(HOST, &format!("/{name}")).text;
        assert!(!said.contains("non esiste"), "{name}: {said}");
    }
    talk.ends();
}

#[test]
fn what_nothing_can_be_done_with_gets_one_plain_line() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    for more in [
        json!({ "location": { "latitude": 45.4, "longitude": 9.2 } }),
        json!({ "contact": { "phone_number": "1", "first_name": "B" } }),
        json!({ "dice": { "emoji": "🎲", "value": 3 } }),
    ] {
        let from = api.count();
        api.writes_with(HOST, &more);
        let said = talk.answers(from, HOST).text;
        assert!(said.starts_with("Con questo non so fare nulla. Scrivimi una frase, oppure manda un file"), "{said}");
    }
    // Among others, and from somebody who is not known, it is not for the bot.
    let from = api.count();
    let mut shared = api.message(GROUP, HOST, "group");
    shared["location"] = json!({ "latitude": 45.4, "longitude": 9.2 });
    api.update(json!({ "message": shared }));
    talk.says("che ore sono", "Ora:");
    assert_eq!(api.count(), from + 1);
    talk.ends();
}

#[test]
fn a_group_that_grows_keeps_its_answers_and_its_questions() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    talk.home.file("spesa.txt", "pane\nlatte\n");
    let named = |chat: i64, text: &str| {
        let mut message = api.message(chat, HOST, if chat == GROUP { "group" } else { "supergroup" });
        message["text"] = format!("@metnos_test_bot {text}").into();
        let from = api.count();
        api.update(json!({ "message": message }));
        from
    };
    let from = named(GROUP, "leggi il file");
    api.said(from, GROUP, "Quale file");
    // The server says so where the bot writes; what it was to say is said where the group is now.
    api.message(GROWN, HOST, "supergroup");
    let moved = json!({
        "ok": false, "error_code": 400, "description": "Bad Request: group chat was upgraded to a supergroup chat",
        "parameters": { "migrate_to_chat_id": GROWN },
    });
    api.fault("sendMessage", Fault::Refuse(400, moved));
    let from = named(GROUP, "che ore sono");
    api.said(from, GROWN, "Ora:");
    // It says so in the group too; that it is known already is no harm, nor is one that makes no sense.
    for to in [GROWN, HOST, 0] {
        let mut notice = api.message(GROUP, HOST, "group");
        notice["migrate_to_chat_id"] = to.into();
        api.update(json!({ "message": notice }));
    }
    // A question that was open there is open here.
    let from = named(GROWN, "spesa.txt");
    api.said(from, GROWN, "pane\nlatte");
    api.is_drained();
    let (state, late) = (api.state(), from);
    assert!(state.sent.iter().skip(late).all(|sent| sent.chat == GROWN), "nothing more is said where it was");
    drop(state);
    let home = talk.ends();
    let log = home.run(["--json", "log", "tail", "-n", "500"]).out;
    assert_eq!(log.matches("\"address_moved\"").count(), 1, "{log}");
}

#[test]
fn a_message_that_is_changed_gets_one_plain_line() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    let mut message = api.message(HOST, HOST, "private");
    message["text"] = "che ore sono".into();
    let from = api.count();
    api.update(json!({ "message": message }));
    api.said(from, HOST, "Ora:");
    for text in ["che giorno è oggi", "che ore sono adesso"] {
        message["text"] = text.into();
        message["edit_date"] = 1_790_000_100.into();
        api.update(json!({ "edited_message": message }));
    }
    // A place that moves along is no message that was changed, and neither is what others say among themselves.
    let mut moves = api.message(HOST, HOST, "private");
    moves["location"] = json!({ "latitude": 45.4, "longitude": 9.2 });
    api.update(json!({ "edited_message": moves }));
    let mut shared = api.message(GROUP, HOST, "group");
    shared["text"] = "ciao a tutti".into();
    api.update(json!({ "edited_message": shared }));
    talk.says("/whoami", "Qui sei");
    api.is_drained();
    let said: Vec<String> = api.state().sent.iter().skip(from + 1).map(|sent| sent.text.clone()).collect();
    assert_eq!(said, ["Leggo solo i messaggi nuovi: mandalo di nuovo, per favore.", "Qui sei owner."]);
    talk.ends();
}

#[test]
fn a_command_below_a_file_is_carried_out_and_the_file_is_kept() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    let file = talk.home.file("a.txt", "one\n");
    let asked = talk.hears(HOST, "cancella il file a.txt");
    let from = api.count();
    api.presses(HOST, &asked, &asked.keys[0].1);
    api.said(from, HOST, "cestino");
    assert!(!file.exists());
    let from = api.count();
    api.sends(HOST, "r.csv", b"a\n1\n", Some("/annulla"));
    api.said(from, HOST, "inbox/r.csv");
    let asked = api.asked(from, HOST);
    assert!(!asked.text.contains("r.csv"), "{}", asked.text);
    // It stops at once what waits for a button, though its turn comes after.
    let from = api.count();
    api.sends(HOST, "s.csv", b"b\n1\n", Some("/ferma"));
    api.said(from, HOST, "inbox/s.csv");
    let press = api.presses(HOST, &asked, &asked.keys[0].1);
    assert_eq!(api.answer_to(&press), "È troppo tardi per questa risposta. Chiedimelo di nuovo.");
    assert!(!file.exists());
    let from = api.count();
    api.sends(HOST, "t.csv", b"c\n1\n", Some("/chisono"));
    assert!(api.said(from, HOST, "inbox/t.csv").text.ends_with("Qui sei owner."));
    talk.ends();
}

#[test]
fn a_code_that_is_shown_to_others_gets_one_plain_line() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    for text in ["PAIR.AAAA.BBBB", "il codice è PAIR.AAAA.BBBB", "@metnos_test_bot PAIR.AAAA.BBBB"] {
        let mut message = api.message(GROUP, HOST, "group");
        message["text"] = text.into();
        let from = api.count();
        api.update(json!({ "message": message }));
        let said = api.said(from, GROUP, "").text;
        assert_eq!(said, "Manda il codice solo a me, in una chat dove non c'è nessun altro.");
    }
    talk.ends();
}

//! Turns over Telegram that wait: for a button, for an answer, for each other; and what a restart does to them.

use std::time::Duration;

use serde_json::json;

use super::bot_api::{BotApi, TOKEN};
use super::daemon::Daemon;
use super::telegram::{GUEST, HOST, Talk, home_at};

#[test]
fn a_question_outlives_the_daemon_and_its_button_still_counts() {
    let mut talk = Talk::begin();
    talk.says("/start", "Eccomi");
    let file = talk.home.file("a.txt", "one\n");
    let from = talk.api.count();
    talk.api.writes(HOST, "cancella il file a.txt");
    let asked = talk.api.asked(from, HOST);
    // Pressed while nobody serves, after an end that was asked for and after a kill.
    let stopped = talk.daemon.take().unwrap().stop();
    assert!(stopped < Duration::from_secs(5), "{stopped:?}");
    let press = talk.api.presses(HOST, &asked, &asked.keys[0].1);
    talk.daemon = Some(Daemon::serve(&talk.home));
    assert_eq!(talk.api.answer_to(&press), "Sì, lo faccio.");
    talk.api.said(from + 1, HOST, "cestino");
    assert!(!file.exists());
    let questions = talk.api.state().sent.iter().filter(|sent| sent.text.contains("Posso?")).count();
    assert_eq!(questions, 1, "it is put once");
    talk.api.is_drained();
    talk.ends();
}

#[test]
fn a_program_that_is_agreed_to_after_a_restart_is_the_one_that_was_asked_about() {
    let mut talk = Talk::begin();
    talk.says("/start", "Eccomi");
    let from = talk.api.count();
    talk.api.writes(HOST, "esegui il programma date");
    let asked = talk.api.asked(from, HOST);
    assert!(asked.text.contains("eseguire un programma") && asked.text.contains("\n  date\n"), "{}", asked.text);
    talk.daemon.take().unwrap().stop();
    talk.daemon = Some(Daemon::serve(&talk.home));
    talk.api.presses(HOST, &asked, &asked.keys[0].1);
    let answer = talk.api.until("no answer", |state| {
        let after = state.sent.iter().skip(from + 1).map(|sent| sent.text.clone());
        after.rev().find(|text| !text.contains("Ci sto lavorando"))
    });
    assert!(answer.contains("202"), "{answer}");
    talk.ends();
}

#[test]
fn people_do_not_wait_for_each_other() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    assert_eq!(talk.home.run(["--json", "actor", "add", "Anna"]).code, 0);
    let code = talk.home.run(["--json", "pair", "new", "--actor", "Anna"]).json();
    api.writes(GUEST, &format!("/pair {}", code["code"].as_str().unwrap()));
    api.said(0, GUEST, "Siamo collegati");
    talk.home.file("a.txt", "one\n");
    let from = api.count();
    api.writes(HOST, "cancella il file a.txt");
    let asked = api.asked(from, HOST);
    api.writes(GUEST, "che ore sono");
    api.said(from, GUEST, "Ora:");
    api.presses(HOST, &asked, &asked.keys[1].1);
    // A guest only looks.
    api.writes(GUEST, "cancella il file a.txt");
    api.until("the guest is not answered", |state| {
        state
            .sent
            .iter()
            .rev()
            .find(|sent| sent.chat == GUEST && !sent.text.contains("Ora:") && sent.keys.is_empty())
            .map(drop)
    });
    assert!(talk.home.files().join("a.txt").exists());
    talk.ends();
}

#[test]
fn the_next_message_answers_what_was_asked_also_after_a_restart() {
    let mut talk = Talk::begin();
    talk.says("/start", "Eccomi");
    talk.home.file("spesa.txt", "pane\nlatte\n");
    talk.says("leggi il file", "Quale file");
    talk.says("spesa.txt", "pane\nlatte");
    talk.says("leggi il file", "Quale file");
    talk.daemon.take().unwrap().stop();
    talk.daemon = Some(Daemon::serve(&talk.home));
    talk.says("spesa.txt", "pane\nlatte");
    // A sentence of its own is one, and the question can be dropped.
    talk.says("leggi il file", "Quale file");
    talk.says("che ore sono", "Ora:");
    talk.says("/ferma", "Ho ritirato la domanda");
    talk.says("/ferma", "non è in corso nulla");
    talk.says("/perche", "che ore sono");
    talk.says("/boh", "/boh non esiste");
    talk.ends();
}

#[test]
fn only_a_slow_turn_shows_how_far_it_is() {
    let api = BotApi::start();
    let home = home_at(&api.url(), TOKEN).with("METNOS_PAUSE_AT", "before_intent:4000");
    let daemon = Daemon::serve(&home);
    api.writes(HOST, "che ore sono");
    let shown = api.said(0, HOST, "Ci sto lavorando");
    api.said(0, HOST, "Ora:");
    api.until("it stays", |state| state.sent.iter().any(|sent| sent.id == shown.id && sent.is_deleted).then_some(()));
    daemon.stop();
    let log = home.run(["--json", "log", "tail", "-n", "100"]).out;
    assert!(!log.contains("Ci sto lavorando"), "nothing of it is on record");
    home.is_whole();
}

/// A daemon that was killed in the middle leaves no message that says for ever that it is at work.
#[test]
fn what_a_killed_daemon_showed_is_taken_away_once() {
    let api = BotApi::start();
    let home = home_at(&api.url(), TOKEN).with("METNOS_TELEGRAM_PROGRESS_SECONDS", "0");
    let daemon =
        Daemon::start(&home, &[("METNOS_HTTP_LISTEN", "127.0.0.1:0"), ("METNOS_PAUSE_AT", "before_intent:60000")]);
    api.writes(HOST, "che ore sono");
    let shown = api.said(0, HOST, "Ci sto lavorando");
    // Its record follows it; another command sees when it is there.
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while !home.run(["--json", "log", "tail", "-n", "100"]).out.contains("\"progress_shown\"") {
        assert!(std::time::Instant::now() < deadline, "it is not on record");
    }
    daemon.send(rustix::process::Signal::KILL);
    daemon.ends();
    assert!(!api.state().sent.iter().any(|sent| sent.id == shown.id && sent.is_deleted));
    let daemon = Daemon::serve(&home);
    api.said(0, HOST, "Ora:");
    api.until("it stays", |state| state.sent.iter().any(|sent| sent.id == shown.id && sent.is_deleted).then_some(()));
    api.until("another one stays", |state| {
        let mut shown = state.sent.iter().filter(|sent| sent.text.contains("Ci sto lavorando"));
        shown.all(|sent| sent.is_deleted).then_some(())
    });
    daemon.stop();
    Daemon::serve(&home).stop();
    let state = api.state();
    let taken = state
        .requests
        .iter()
        .filter(|(method, fields)| method == "deleteMessage" && fields["message_id"].as_i64() == Some(shown.id));
    assert_eq!(taken.count(), 1, "it is taken away once");
    drop(state);
    home.is_whole();
}

#[test]
fn what_is_due_later_is_said_where_it_was_asked_for() {
    let api = BotApi::start();
    let home = home_at(&api.url(), TOKEN);
    let clock = home.file("clock", "2026-11-22T20:00:00Z");
    let home = home.with("METNOS_CLOCK", clock.to_str().unwrap());
    let daemon = Daemon::serve(&home);
    api.writes(HOST, "tra 20 minuti ricordami di spegnere il forno");
    let asked = api.asked(0, HOST);
    api.presses(HOST, &asked, &asked.keys[0].1);
    let from = api.count();
    api.said(from, HOST, "21:20");
    api.is_drained();
    // The daemon is not there when it is due, and its kill right after hides nothing.
    daemon.stop();
    std::fs::write(&clock, "2026-11-22T20:20:01Z").unwrap();
    let daemon = Daemon::serve(&home);
    api.said(from, HOST, "Promemoria (dom 2026-11-22 21:20): spegnere il forno");
    daemon.stop();
    Daemon::serve(&home).stop();
    let told = api.state().sent.iter().filter(|sent| sent.text.contains("Promemoria")).count();
    assert_eq!(told, 1);
    home.is_whole();
}

/// A reminder is planned by a call that changes nothing yet: one that was cut off runs again, and nobody is told of it.
#[test]
fn a_reminder_whose_call_was_killed_is_still_asked_about_and_kept_once() {
    let api = BotApi::start();
    let home = home_at(&api.url(), TOKEN);
    let mut daemon =
        Daemon::start(&home, &[("METNOS_HTTP_LISTEN", "127.0.0.1:0"), ("METNOS_PAUSE_AT", "before_intent:60000")]);
    api.writes(HOST, "tra 20 minuti ricordami di spegnere il forno");
    daemon.says("waiting at before_intent");
    daemon.send(rustix::process::Signal::KILL);
    daemon.ends();
    let daemon = Daemon::serve(&home);
    let asked = api.asked(0, HOST);
    api.presses(HOST, &asked, &asked.keys[0].1);
    api.said(0, HOST, "Ti ricorderò: spegnere il forno");
    api.is_drained();
    assert!(!api.state().sent.iter().any(|sent| sent.text.contains("interrotto")));
    let tasks = home.run(["--json", "schedule", "list"]).json();
    let kept = tasks["schedules"].as_array().unwrap().iter().filter(|task| task["kind"] == "reminder").count();
    assert_eq!(kept, 1, "{tasks}");
    daemon.stop();
    home.is_whole();
}

#[test]
fn what_nobody_answers_in_time_is_left_and_said() {
    let api = BotApi::start();
    let home = home_at(&api.url(), TOKEN);
    let clock = home.file("clock", "2026-11-22T20:00:00Z");
    let file = home.file("a.txt", "one\n");
    let home = home.with("METNOS_CLOCK", clock.to_str().unwrap());
    let daemon = Daemon::serve(&home);
    api.writes(HOST, "cancella il file a.txt");
    let asked = api.asked(0, HOST);
    let from = api.count();
    std::fs::write(&clock, "2026-11-22T20:10:01Z").unwrap();
    let left = api.until("nothing is said", |state| state.sent.get(from).map(|sent| sent.text.clone()));
    assert!(left.contains("non c'era nessuno a dire di sì"), "{left}");
    api.until("the buttons stay", |state| {
        state.sent.iter().any(|sent| sent.id == asked.id && sent.keys.is_empty()).then_some(())
    });
    let press = api.presses(HOST, &asked, &asked.keys[0].1);
    assert!(api.answer_to(&press).contains("troppo tardi"));
    let from = api.count();
    api.writes(HOST, "leggi il file");
    api.said(from, HOST, "Quale file");
    std::fs::write(&clock, "2026-11-22T20:20:02Z").unwrap();
    api.said(from, HOST, "Non ho avuto risposta in tempo, quindi lascio perdere: «leggi il file».");
    assert!(file.exists());
    daemon.stop();
    home.is_whole();
}

/// The question stands in the chat before it is on record where.
#[test]
fn a_question_that_is_over_before_it_is_known_where_it_stands_loses_its_buttons() {
    let api = BotApi::start();
    let home = home_at(&api.url(), TOKEN);
    let clock = home.file("clock", "2026-11-22T20:00:00Z");
    let file = home.file("a.txt", "one\n");
    let home = home.with("METNOS_CLOCK", clock.to_str().unwrap()).with("METNOS_PAUSE_AT", "send_to_receipt:3000");
    let daemon = Daemon::serve(&home);
    api.writes(HOST, "cancella il file a.txt");
    let asked = api.asked(0, HOST);
    std::fs::write(&clock, "2026-11-22T20:10:01Z").unwrap();
    api.until("the buttons stay", |state| {
        state.sent.iter().any(|sent| sent.id == asked.id && sent.keys.is_empty()).then_some(())
    });
    api.said(0, HOST, "non c'era nessuno a dire di sì");
    assert!(file.exists());
    daemon.stop();
    home.is_whole();
}

#[test]
fn a_task_asks_in_the_chat_before_it_changes_anything() {
    let mut talk = Talk::begin();
    talk.says("/start", "Eccomi");
    let file = talk.home.file("inbox/a.txt", "one\n");
    let sentence = ["delete the txt files in ~/inbox", "--when", "manual", "--channel", "telegram"];
    let added = talk.home.run(["--yes", "schedule", "add"].iter().chain(&sentence));
    assert!(
        added.code == 0 && added.out.contains("prima te lo chiedo nella tua chat di Telegram"),
        "{} {}",
        added.out,
        added.err
    );
    let from = talk.api.count();
    let ran = talk.home.run(["schedule", "run-now", "1"]);
    assert!(ran.code == 3 && ran.err.contains("Aspetta la tua risposta"), "{} {}", ran.out, ran.err);
    let asked = talk.api.asked(from, HOST);
    assert!(asked.text.contains("a.txt"), "{}", asked.text);
    // The daemon goes; the question and its buttons stay.
    talk.daemon.take().unwrap().stop();
    talk.daemon = Some(Daemon::serve(&talk.home));
    assert!(file.exists());
    talk.api.presses(HOST, &asked, &asked.keys[0].1);
    talk.api.said(from + 1, HOST, "to the trash");
    assert!(!file.exists());
    let history = talk.home.run(["--json", "schedule", "history", "1"]).json();
    let outcomes: Vec<_> = history["history"].as_array().unwrap().iter().map(|line| &line["outcome"]).collect();
    assert_eq!(outcomes, ["done"]);
    talk.ends();
}

/// The scheduler has looked for answers and is about to sleep until something is appended: the answer comes in between.
#[test]
fn a_press_that_comes_while_the_scheduler_is_about_to_sleep_is_not_slept_through() {
    let mut talk = Talk::begin();
    talk.says("/start", "Eccomi");
    let file = talk.home.file("inbox/a.txt", "one\n");
    let sentence = ["delete the txt files in ~/inbox", "--when", "manual", "--channel", "telegram"];
    assert_eq!(talk.home.run(["--yes", "schedule", "add"].iter().chain(&sentence)).code, 0);
    let from = talk.api.count();
    assert_eq!(talk.home.run(["schedule", "run-now", "1"]).code, 3);
    let asked = talk.api.asked(from, HOST);
    talk.daemon.take().unwrap().stop();
    let pause = [("METNOS_HTTP_LISTEN", "127.0.0.1:0"), ("METNOS_PAUSE_AT", "looked_to_sleep:2500")];
    let mut daemon = Daemon::start(&talk.home, &pause);
    // The first look takes the question up again; in the second one nothing is under way but the look itself.
    for _ in 0..2 {
        daemon.says("waiting at looked_to_sleep");
    }
    talk.daemon = Some(daemon);
    talk.api.presses(HOST, &asked, &asked.keys[0].1);
    talk.api.said(from + 1, HOST, "to the trash");
    assert!(!file.exists());
    talk.ends();
}

/// The guest was told to press a button that is not theirs, and waited for it; what they stopped was the host's.
#[test]
fn in_a_group_nobody_waits_for_anothers_answer_nor_stops_it() {
    const GROUP: i64 = -77;
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    talk.knows("Anna", GUEST);
    let file = talk.home.file("a.txt", "one\n");
    let writes = |person: i64, text: &str| {
        let mut message = api.message(GROUP, person, "group");
        message["text"] = text.into();
        let from = api.count();
        api.update(json!({ "message": message }));
        from
    };
    let asked = api.asked(writes(HOST, "@metnos_test_bot cancella il file a.txt"), GROUP);
    api.said(writes(GUEST, "@metnos_test_bot che ore sono"), GROUP, "Ora:");
    api.said(writes(GUEST, "/stop"), GROUP, "Di tuo qui non è in corso nulla. Ciò che ha chiesto un'altra persona");
    api.said(writes(HOST, "@metnos_test_bot che giorno è oggi"), GROUP, "Prima mi serve la tua risposta");
    let from = api.count();
    let press = api.presses(HOST, &asked, &asked.keys[0].1);
    assert_eq!(api.answer_to(&press), "Sì, lo faccio.");
    api.said(from, GROUP, "cestino");
    assert!(!file.exists());
    // A question that a turn ended with, too.
    api.said(writes(HOST, "@metnos_test_bot leggi il file"), GROUP, "Quale file");
    api.said(writes(GUEST, "/ferma"), GROUP, "Di tuo qui non è in corso nulla.");
    api.said(writes(HOST, "/ferma"), GROUP, "Ho ritirato la domanda.");
    api.said(writes(GUEST, "/ferma"), GROUP, "Qui non è in corso nulla da fermare.");
    talk.ends();
}

//! Questions that wait in one place and are answered in another: a chat, a terminal, a task; with and without a daemon.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::bot_api::{BotApi, TOKEN};
use super::daemon::{Daemon, Running};
use super::home::{Home, Ran};
use super::pty::Pty;
use super::telegram::{GUEST, HOST, Talk, home_at};

/// What waits, as programs read it.
fn waiting(home: &Home) -> Vec<Value> {
    let ran = home.run(["--json", "approvals", "list"]);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The name of the one question that waits, once it does.
#[track_caller]
fn only(home: &Home) -> String {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let waiting = waiting(home);
        if let [one] = waiting.as_slice() {
            return one["name"].as_str().unwrap().to_owned();
        }
        assert!(Instant::now() < deadline, "{waiting:?}");
    }
}

#[track_caller]
fn refused(ran: &Ran, says: &str) {
    assert_eq!(ran.code, 1, "{} {}", ran.out, ran.err);
    assert!(ran.err.contains(says) && ran.err.contains("hint: "), "«{says}» is not in: {}", ran.err);
}

/// How the consents of the last turn were answered.
fn by(home: &Home, kind: &str) -> Vec<String> {
    let export = home.run(["log", "export"]).out;
    let events = export.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events
        .filter(|event| event["kind"] == kind)
        .map(|event| event["payload"]["by"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_question_of_a_chat_is_answered_at_a_terminal() {
    let talk = Talk::begin();
    let (api, home) = (&talk.api, &talk.home);
    talk.says("/start", "Eccomi");
    assert_eq!(home.run(["approvals", "list"]).out, "No question waits for your answer.\n");
    assert_eq!(waiting(home), Vec::<Value>::new());
    let file = home.file("a.txt", "one\n");
    let from = api.count();
    api.writes(HOST, "cancella il file a.txt");
    let asked = api.asked(from, HOST);
    let name = only(home);
    let told = &waiting(home)[0];
    assert_eq!((&told["kind"], &told["channel"]), (&"consent".into(), &"telegram".into()), "{told}");
    assert_eq!(told["request"], "cancella il file a.txt");
    assert!(told["question"].as_str().unwrap().contains("a.txt") && told["since"].as_str() < told["until"].as_str());
    assert!(home.run(["--lang", "it", "approvals", "list"]).out.contains("nella tua chat di Telegram, dal "));
    let list = home.run(["approvals", "list"]).out;
    for part in [name.as_str(), "in your Telegram chat", "a.txt", "Posso?", &format!("metnos approvals grant {name}")] {
        assert!(list.contains(part), "«{part}» is not in: {list}");
    }
    // What is not its name answers nothing.
    let (turn, tag) = name.split_once('-').unwrap();
    let other = if tag.starts_with('0') { "1" } else { "0" };
    for forged in
        [turn, tag, "1", "", &format!("{turn}-{other}{}", &tag[1..]), &format!("{turn}-"), &format!("00000-{tag}")]
    {
        refused(&home.run(["approvals", "grant", forged]), "No question named");
    }
    refused(&home.run(["answer", &name, "forse"]), "wants a yes or a no: yes, y or ok, no or n.");
    assert!(file.exists());
    let granted = home.run(["approvals", "grant", &name]);
    assert_eq!(granted.code, 0, "{} {}", granted.out, granted.err);
    assert!(granted.out.contains("goes on in your Telegram chat"), "{}", granted.out);
    api.said(from + 1, HOST, "Hai risposto altrove: sì, lo faccio.");
    api.said(from + 1, HOST, "cestino");
    assert!(!file.exists());
    api.until("the buttons stay", |state| {
        state.sent.iter().any(|sent| sent.id == asked.id && sent.keys.is_empty()).then_some(())
    });
    // Once is once, wherever.
    refused(&home.run(["approvals", "grant", &name]), "was answered already: yes, by metnos approvals");
    refused(&home.run(["--lang", "it", "approvals", "deny", &name]), "è già stato risposto: sì, con metnos approvals");
    let press = api.presses(HOST, &asked, &asked.keys[1].1);
    assert!(api.answer_to(&press).contains("troppo tardi"));
    assert_eq!(by(home, "consent_given"), ["approvals"]);
    let told = home.run(["replay", "turn"]).out;
    assert!(told.contains("from another place, by metnos approvals"), "{told}");
    // A no is a no, and what was pressed there cannot be said again here.
    let file = home.file("b.txt", "two\n");
    let from = api.count();
    api.writes(HOST, "cancella il file b.txt");
    api.asked(from, HOST);
    let denied = home.run(["--json", "approvals", "deny", &only(home)]).json();
    assert_eq!((&denied["ok"], &denied["answer"], &denied["goes_on"]), (&true.into(), &"no".into(), &"there".into()));
    api.said(from + 1, HOST, "Hai risposto altrove: no, lascio stare.");
    assert_eq!(by(home, "consent_denied"), ["approvals"]);
    let from = api.count();
    api.writes(HOST, "cancella il file b.txt");
    let asked = api.asked(from, HOST);
    let name = only(home);
    api.presses(HOST, &asked, &asked.keys[1].1);
    api.said(from + 1, HOST, "Non l'ho fatto");
    refused(&home.run(["approvals", "grant", &name]), "was answered already: no, in Telegram");
    assert!(file.exists());
    talk.ends();
}

#[test]
fn another_persons_question_and_one_whose_time_is_over_are_refused() {
    let api = BotApi::start();
    let home = home_at(&api.url(), TOKEN);
    let clock = home.file("clock", "2026-11-22T20:00:00Z");
    let home = home.with("METNOS_CLOCK", clock.to_str().unwrap());
    let talk = Talk { api, home, daemon: None };
    let (api, home) = (&talk.api, &talk.home);
    let daemon = Daemon::serve(home);
    talk.says("/start", "Eccomi");
    talk.knows("Anna", GUEST);
    assert_eq!(home.run(["actor", "autonomy", "Anna", "supervised"]).code, 0);
    let from = api.count();
    api.writes(GUEST, "scrivi \"ciao\" in nota.txt");
    api.asked(from, GUEST);
    assert_eq!(waiting(home), Vec::<Value>::new(), "it is hers");
    // Her question has a name, too: that of the turn and of what it binds.
    let export = home.run(["log", "export"]).out;
    let mut hers = export.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let hers = hers.rfind(|event| event["kind"] == "consent_asked").unwrap();
    let (turn, digest) = (hers["turn"].as_str().unwrap(), hers["payload"]["digest"].as_str().unwrap());
    let name = format!("{}-{}", turn[turn.len() - 5..].to_lowercase(), &digest[..4]);
    refused(&home.run(["approvals", "grant", &name]), "is somebody else's");
    let file = home.file("a.txt", "one\n");
    let from = api.count();
    api.writes(HOST, "cancella il file a.txt");
    api.asked(from, HOST);
    let name = only(home);
    std::fs::write(&clock, "2026-11-22T20:10:01Z").unwrap();
    refused(&home.run(["approvals", "grant", &name]), "The time for an answer");
    assert_eq!(waiting(home), Vec::<Value>::new());
    assert!(file.exists());
    daemon.stop();
    home.is_whole();
}

#[test]
fn a_chats_question_is_answered_where_nobody_serves_and_told_there_later() {
    let mut talk = Talk::begin();
    talk.says("/start", "Eccomi");
    let file = talk.home.file("a.txt", "one\n");
    let from = talk.api.count();
    talk.api.writes(HOST, "cancella il file a.txt");
    let asked = talk.api.asked(from, HOST);
    talk.daemon.take().unwrap().stop();
    let name = only(&talk.home);
    let ran = talk.home.run(["approvals", "grant", &name]);
    assert!(ran.code == 0 && ran.out.contains("cestino"), "{} {} {}", ran.code, ran.out, ran.err);
    assert!(!file.exists());
    refused(&talk.home.run(["approvals", "grant", &name]), "was answered already: yes");
    assert_eq!(talk.api.count(), from + 1, "nobody serves the chat");
    talk.daemon = Some(Daemon::serve(&talk.home));
    talk.api.said(from + 1, HOST, "cestino");
    talk.api.until("the buttons stay", |state| {
        state.sent.iter().any(|sent| sent.id == asked.id && sent.keys.is_empty()).then_some(())
    });
    assert_eq!(by(&talk.home, "consent_given"), ["approvals"]);
    talk.ends();
}

#[test]
fn what_a_chat_wants_to_know_is_answered_at_a_terminal() {
    let talk = Talk::begin();
    let home = &talk.home;
    talk.says("/start", "Eccomi");
    home.file("spesa.txt", "pane\nlatte\n");
    talk.says("leggi il file", "Quale file");
    let name = only(home);
    assert_eq!(waiting(home)[0]["kind"], "dialog");
    assert!(home.run(["approvals", "list"]).out.contains(&format!("metnos answer {name}")));
    refused(&home.run(["approvals", "grant", &name]), "wants words");
    let from = talk.api.count();
    let ran = home.run(["answer", &name, "spesa.txt"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "pane\nlatte\n"), "{}", ran.err);
    talk.api.said(from, HOST, "pane\nlatte");
    refused(&home.run(["answer", &name, "spesa.txt"]), "was answered already, at a terminal");
    refused(&home.run(["answer", "abcde-q1", "spesa.txt"]), "No question named");
    // The chat goes on as if it had been answered there.
    talk.says("leggi il file", "Quale file");
    talk.says("spesa.txt", "pane\nlatte");
    talk.ends();
}

#[test]
fn a_question_of_one_terminal_is_answered_at_another() {
    let home = Home::new();
    home.file("notes.txt", "first words\n");
    let daemon = Daemon::serve(&home);
    for (answer, code) in [("grant", 0), ("deny", 1)] {
        let path = home.files().join(format!("{answer}.txt"));
        let mut ask = Pty::run(&home, 100, &["ask", &format!("write \"three\" to {answer}.txt")]);
        ask.sees("[y/N]");
        let ran = home.run(["approvals", answer, &only(&home)]);
        assert!(ran.code == 0 && ran.out.contains("goes on at the terminal"), "{} {}", ran.out, ran.err);
        ask.sees("answered in another place");
        let (ended, shown) = ask.ends();
        assert_eq!((ended, path.exists()), (Some(code), code == 0), "{shown}");
    }
    let mut ask = Pty::run(&home, 100, &["ask", "read the file"]);
    ask.sees("Which file");
    let ran = home.run(["answer", &only(&home), "notes.txt"]);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    ask.sees("first words");
    assert_eq!(ask.ends().0, Some(0));
    // A conversation is told with its next line.
    let mut chat = Pty::run(&home, 80, &["chat"]);
    chat.sees("> ");
    chat.types("read the file\r");
    chat.sees(") > ");
    let ran = home.run(["answer", &only(&home), "notes.txt"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "first words\n"), "{}", ran.err);
    chat.types("what time is it\r");
    chat.sees("answered in another place");
    chat.sees("first words");
    chat.sees("> ");
    chat.types("\u{4}");
    chat.ends();
    daemon.stop();
    home.is_whole();
}

/// All but one were told that the time for an answer was over, at a moment that was still to come: they looked for the answer
/// that had come first before it was in the log.
#[test]
fn of_answers_that_come_at_once_one_counts_and_the_others_hear_which() {
    let home = Home::new();
    let daemon = Daemon::serve(&home);
    for round in 0..3 {
        let mut ask = Pty::run(&home, 100, &["ask", &format!("write \"three\" to {round}.txt")]);
        ask.sees("[y/N]");
        let name = only(&home);
        let answer = |nth: usize| Running::new(&home, &["approvals", ["grant", "deny"][nth % 2], &name]);
        let answers: Vec<Running> = (0..8).map(answer).collect();
        let ran: Vec<Ran> = answers.into_iter().map(Running::ends).collect();
        let (first, late): (Vec<_>, Vec<_>) = ran.iter().enumerate().partition(|(_, ran)| ran.code == 0);
        let [(first, _)] = first[..] else { panic!("{} answers counted", first.len()) };
        let says = format!("was answered already: {}, by metnos approvals", ["yes", "no"][first % 2]);
        for (_, ran) in late {
            refused(ran, &says);
        }
        let (_, shown) = ask.ends();
        assert_eq!(home.files().join(format!("{round}.txt")).exists(), first % 2 == 0, "{shown}");
    }
    // Words of several places, too.
    home.file("a.txt", "first\n");
    home.file("b.txt", "second\n");
    let mut ask = Pty::run(&home, 100, &["ask", "read the file"]);
    ask.sees("Which file");
    let name = only(&home);
    let answer = |nth: usize| Running::new(&home, &["answer", &name, ["a.txt", "b.txt"][nth % 2]]);
    let answers: Vec<Running> = (0..6).map(answer).collect();
    let ran: Vec<Ran> = answers.into_iter().map(Running::ends).collect();
    assert_eq!(ran.iter().filter(|ran| ran.code == 0).count(), 1);
    for late in ran.iter().filter(|ran| ran.code != 0) {
        refused(late, "was answered already, at a terminal");
    }
    assert_eq!(ask.ends().0, Some(0));
    daemon.stop();
    home.is_whole();
}

/// What comes into a folder while the person thinks was not asked about; what came before an undo is asked about goes along.
#[test]
fn a_folder_that_holds_more_than_was_asked_about_is_left_alone() {
    let home = Home::new();
    let [folder, other] = ["old", "new"].map(|name| home.files().join(name));
    let delete = format!("delete the folder {}", folder.display());
    let rename = format!("rename the folder {} to {}", folder.display(), other.display());
    for (ask, late) in [(&delete, "id"), (&rename, "id"), (&delete, ".ssh/id")] {
        home.file("old/a.txt", "one\n");
        let mut terminal = Pty::run(&home, 200, &["ask", ask]);
        terminal.sees("[y/N]");
        let late = home.file(format!("old/{late}"), "late\n");
        terminal.types("y\n");
        let (code, shown) = terminal.ends();
        assert!(late.exists() && folder.join("a.txt").exists(), "{ask}: {shown}");
        assert!(code == Some(1) && shown.contains("has changed in the meantime"), "{ask}: {shown}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
    home.file("old/a.txt", "one\n");
    let moved = home.run(["ask", "--approve", "all", &rename]);
    assert!(moved.code == 0 && !folder.exists(), "{} {}", moved.out, moved.err);
    home.file("new/b.txt", "two\n");
    let undone = home.run(["--yes", "undo"]);
    assert!(undone.code == 0 && folder.join("b.txt").exists(), "{} {}", undone.out, undone.err);
    home.is_whole();
}

/// What somebody does not want today is no failure of the task: it goes on, however often it was a no.
#[test]
fn a_no_is_no_failure_of_a_task() {
    let home = Home::new();
    let added = home.run(["--yes", "schedule", "add", "delete the txt files in ~/inbox", "--when", "daily@08:00"]);
    assert_eq!(added.code, 0, "{}", added.err);
    for time in 0..4 {
        home.file("inbox/a.txt", format!("{time}\n"));
        assert_eq!(home.run(["schedule", "run-now", "1"]).code, 3);
        let ran = home.run(["inbox", "no", &only(&home)]);
        assert!(ran.code == 0 && ran.out.contains("as you decided"), "{} {}", ran.out, ran.err);
        assert!(!ran.out.contains("paused") && !ran.out.contains("did not work"), "{}", ran.out);
    }
    let shown = home.run(["schedule", "show", "1"]).out;
    assert!(shown.contains("active") && shown.contains("you said no"), "{shown}");
    home.is_whole();
}

/// A yes was one word for `inbox`, another at a terminal, and none at all for `answer`.
#[test]
fn a_yes_is_a_yes_wherever_it_is_read() {
    let home = Home::new();
    let file = home.files().join("inbox/a.txt");
    let added = home.run(["--yes", "schedule", "add", "delete the txt files in ~/inbox", "--when", "manual"]);
    assert_eq!(added.code, 0, "{}", added.err);
    let polite = [("sì, grazie", true), ("no thanks", false)];
    let plain = [("sì", true), ("SI", true), ("y", true), ("Ok", true), ("No", false), ("n", false)];
    for (word, is_yes) in plain.into_iter().chain(polite) {
        for by in ["inbox", "answer"] {
            home.file("inbox/a.txt", format!("{word} {by}\n"));
            assert_eq!(home.run(["schedule", "run-now", "1"]).code, 3);
            let name = only(&home);
            let words = if by == "inbox" { [by, word, &name] } else { [by, &name, word] };
            let ran = home.run(words);
            assert_eq!((ran.code, file.exists()), (0, !is_yes), "{by} {word}: {} {}", ran.out, ran.err);
        }
    }
    home.file("inbox/a.txt", "what is neither\n");
    assert_eq!(home.run(["schedule", "run-now", "1"]).code, 3);
    let name = only(&home);
    let ran = home.run(["inbox", "forse", &name]);
    assert!(file.exists());
    refused(&ran, "wants a yes or a no: yes, y or ok, no or n.");
    refused(&home.run(["inbox", "forse", "f-nobody"]), "f-nobody");
    refused(&home.run(["answer", &name, "forse"]), "wants a yes or a no: yes, y or ok, no or n.");
    let sentence = format!("delete the file {}", file.display());
    let lines = ["forse\n", "n\n", "\n", "no, grazie\n", "annulla\n", "yes please\n"];
    for (word, is_asked_again) in lines.map(|word| (word, word == "forse\n")) {
        let mut terminal = Pty::run(&home, 200, &["ask", &sentence]);
        terminal.sees("[y/N]");
        terminal.types(word);
        if is_asked_again {
            terminal.sees("Please answer yes or no. [y/N]");
            terminal.types("no\n");
        }
        terminal.ends();
        assert_eq!(file.exists(), word != "yes please\n", "{word}");
    }
    home.is_whole();
}

#[test]
fn a_tasks_question_has_one_name_everywhere() {
    let home = Home::new();
    let file = home.file("inbox/a.txt", "one\n");
    let added = home.run(["--yes", "schedule", "add", "delete the txt files in ~/inbox", "--when", "manual"]);
    assert_eq!(added.code, 0, "{}", added.err);
    assert_eq!(home.run(["schedule", "run-now", "1"]).code, 3);
    let name = only(&home);
    assert!(home.run(["inbox"]).out.contains(&format!("metnos inbox yes {name}")));
    assert_eq!(waiting(&home)[0]["schedule_id"], "1");
    let denied = home.run(["--json", "approvals", "deny", &name]);
    assert_eq!(denied.code, 0, "{} {}", denied.out, denied.err);
    let told = denied.json();
    assert_eq!((&told["answer"], &told["goes_on"], &told["waits"]), (&"no".into(), &"here".into(), &Value::Null));
    assert!(told["final_message"].as_str().unwrap().contains("as you decided"), "{told}");
    refused(&home.run(["approvals", "grant", &name]), "was answered already: no, by metnos approvals");
    // The same task asks about more: the name of what it asked before is none of that.
    let more = home.file("inbox/b.txt", "two\n");
    assert_eq!(home.run(["schedule", "run-now", "1"]).code, 3);
    let other = only(&home);
    assert_ne!(other, name);
    refused(&home.run(["approvals", "grant", &name]), "was answered already: no, by metnos approvals");
    assert!(file.exists() && more.exists());
    let granted = home.run(["approvals", "grant", &other]);
    assert!(granted.code == 0 && granted.out.contains("to the trash"), "{} {}", granted.out, granted.err);
    assert!(!file.exists() && !more.exists());
    assert_eq!(home.run(["approvals", "list"]).out, "No question waits for your answer.\n");
    home.is_whole();
}

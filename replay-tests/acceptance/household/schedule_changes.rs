//! Tasks as their owner changes them: what is asked before, what an undo brings back, what is refused with the next step, and
//! questions that a task puts at its hour and that wait for an answer.

use rustix::process::Signal;

use super::home::Home;
use super::pty::Pty;
use super::schedules::{add, asked, comes, history, home, serve, serve_until, set, state, turns};

const INBOX: &str = "how many files are in ~/inbox";

#[test]
fn what_a_task_asks_waits_for_its_owner_whatever_is_killed() {
    let home = home("2026-01-01T06:00:00Z");
    let ran = home.run(["--yes", "schedule", "add", "delete the txt files in ~/inbox", "--when", "daily@09:00"]);
    assert!(ran.out.contains("each time I ask you first, in `metnos inbox`, and wait 12 hours"), "{}", ran.out);
    let ran = home.run([
        "--lang",
        "it",
        "--yes",
        "schedule",
        "add",
        "cancella i file md in ~/inbox",
        "--when",
        "daily@10:00",
    ]);
    assert!(ran.out.contains("ogni volta prima te lo chiedo in `metnos inbox`"), "{}", ran.out);
    let daemon = serve(&home);
    set(&home, "2026-01-01T08:00:00Z");
    let question = asked(&home, "1");
    daemon.send(Signal::KILL);
    assert_eq!(daemon.ends(), None);
    // Without a daemon it is there, and with the next one; nothing was done meanwhile.
    assert_eq!(asked(&home, "1"), question);
    let daemon = serve(&home);
    set(&home, "2026-01-01T08:30:00Z");
    let told = home.ask("what time is it").err;
    assert!(told.contains("Task 1 waits for your yes until Thu 2026-01-01 21:00"), "{told}");
    let shown = home.run(["inbox"]);
    assert!(
        shown.out.contains("to the trash: ") && shown.out.contains(&format!("`metnos inbox yes {question}`")),
        "{}",
        shown.out
    );
    assert!(history(&home, "1").is_empty() && home.files().join("inbox/a.txt").exists());
    let other = home.run(["inbox", "yes", "1-0000x"]);
    assert!(other.code == 1 && other.err.contains("No question named 1-0000x"), "{}", other.err);
    let yes = home.run(["inbox", "yes", &question]);
    assert!(yes.code == 0 && yes.out.contains("Moved 3 files to the trash"), "{} {}", yes.out, yes.err);
    assert!(!home.files().join("inbox/a.txt").exists());
    assert_eq!(comes(&home, "1", 1)[0]["outcome"], "done");
    assert_eq!(home.run(["inbox", "yes", &question]).code, 1, "it was answered twice");
    // What it did can be taken back like anything else.
    let ran = home.run(["--yes", "undo"]);
    assert!(ran.out.contains("3 changes taken back"), "{} {}", ran.out, ran.err);
    // Nobody answers: that is its end, said plainly, and nothing is done.
    home.file("inbox/x.md", "x");
    set(&home, "2026-01-01T09:00:00Z");
    asked(&home, "2");
    set(&home, "2026-01-01T21:00:01Z");
    let last = comes(&home, "2", 1).pop().unwrap();
    let said = last["message"].as_str().unwrap();
    assert!(said.contains("nessuno ha risposto entro gio 2026-01-01 22:00"), "{said}");
    assert!(home.files().join("inbox/x.md").exists());
    daemon.stop();
    home.is_whole();
}

#[test]
fn a_yes_that_a_kill_cut_off_is_carried_out_once() {
    let home = home("2026-01-01T06:00:00Z");
    add(&home, &["delete the txt files in ~/inbox", "--when", "daily@09:00"]);
    let mut daemon = serve_until(&home, "intent_to_effect");
    set(&home, "2026-01-01T08:00:00Z");
    let question = asked(&home, "1");
    let mut answering = home.command().args(["inbox", "yes", &question]).spawn().unwrap();
    daemon.says("waiting at intent_to_effect");
    daemon.send(Signal::KILL);
    assert_eq!(daemon.ends(), None);
    answering.wait().unwrap();
    assert!(home.files().join("inbox/a.txt").exists());
    let daemon = serve(&home);
    let done = comes(&home, "1", 1);
    assert_eq!((&done[0]["outcome"], &done[0]["attempt"]), (&"done".into(), &1.into()), "{done:?}");
    assert!(!home.files().join("inbox/a.txt").exists());
    assert_eq!(turns(&home), 1);
    daemon.stop();
    home.is_whole();
}

#[track_caller]
fn said(home: &Home, sentence: &str, then: &str) {
    let ran = home.ask_approved(sentence);
    assert!(ran.code == 0 && ran.out.contains(then), "{sentence}: {} {}", ran.out, ran.err);
}

#[track_caller]
fn undone(home: &Home, then: &str) {
    let ran = home.run(["--yes", "undo"]);
    assert!(ran.code == 0 && ran.out.contains(then), "{} {}", ran.out, ran.err);
}

#[test]
fn whatever_is_done_to_a_task_can_be_taken_back() {
    let home = home("2026-01-01T06:00:00Z");
    let mut second = 0;
    let mut later = || {
        second += 1;
        set(&home, &format!("2026-01-01T06:00:{second:02}Z"));
    };
    said(&home, "every morning at 8 tell me how many files are in ~/inbox", "Number 1");
    later();
    undone(&home, "task 1, ended: tell me how many files are in ~/inbox (every day at 08:00)");
    assert_eq!(state(&home, "1")["state"], "cancelled");
    later();
    // An undo can be undone.
    undone(&home, "task 1, there again");
    assert_eq!(
        (&state(&home, "1")["state"], &state(&home, "1")["next"][0]),
        (&"active".into(), &"Thu 2026-01-01 08:00".into())
    );
    for (sentence, state_then, back) in [
        ("pause the inbox task", "paused", "going on again"),
        ("stop the inbox task", "cancelled", "there again"),
        ("annulla l'attività 1", "cancelled", "di nuovo attiva"),
    ] {
        later();
        let ran = home.ask_approved(sentence);
        assert!(ran.code == 0, "{sentence}: {} {}", ran.out, ran.err);
        assert_eq!(state(&home, "1")["state"], state_then, "{sentence}");
        later();
        let language = if back.starts_with("di") { "it" } else { "en" };
        let ran = home.run(["--lang", language, "--yes", "undo"]);
        assert!(ran.code == 0 && ran.out.contains(back), "{sentence}: {} {}", ran.out, ran.err);
        assert_eq!(state(&home, "1")["state"], "active", "{sentence}");
    }
    later();
    let ran = home.run(["--yes", "schedule", "modify", "1", "--when", "every Monday at 9", "--do", "what time is it"]);
    assert!(
        ran.code == 0 && ran.out.contains("Changed: what time is it (every Monday at 09:00)"),
        "{} {}",
        ran.out,
        ran.err
    );
    later();
    undone(&home, "task 1, as it was before: tell me how many files are in ~/inbox (every day at 08:00)");
    assert_eq!(state(&home, "1")["cadence"], "0 8 * * *");
    // What has changed since is left as it is, with the reason.
    later();
    said(&home, "every evening at 9 tell me how many files are in ~/inbox", "Number 2");
    assert_eq!(home.run(["schedule", "cancel", "2"]).code, 0);
    later();
    let ran = home.run(["--yes", "undo"]);
    assert!(ran.code == 1 && ran.err.contains("Task 2 has been ended since"), "{} {}", ran.out, ran.err);
    home.is_whole();
}

#[test]
fn what_is_asked_before_a_change_can_be_read_aloud() {
    let home = home("2026-01-01T06:00:00Z");
    let ran = home.ask("every morning at 8 tell me how many files are in ~/inbox");
    let said = "I would keep this as task 1:\n  tell me how many files are in ~/inbox\n  when: every day at 08:00 (Europe/Rome)\n\
        \x20 the next times: Thu 2026-01-01 08:00, Fri 2026-01-02 08:00, Sat 2026-01-03 08:00\n\
        \x20 the result: at your next command, and in `metnos inbox`\n\
        `metnos schedule cancel 1`, or “cancel task 1”, ends it.\n";
    assert!(ran.code == 3 && ran.err.contains(said), "{}", ran.err);
    let ran = home.ask("ogni lunedì alle 9 cancella i file txt in ~/inbox");
    let said = "  quando: ogni lunedì alle 09:00 (Europe/Rome)\n  le prossime volte: lun 2026-01-05 09:00, ";
    assert!(ran.code == 3 && ran.err.contains(said) && ran.err.contains("aspetto il tuo sì per 12 ore"), "{}", ran.err);
    for internal in ["_recurring", "0 8 * * *", "compute:pure", "metnos:write"] {
        assert!(!ran.err.contains(internal), "{}", ran.err);
    }
    let executor = ["schedule", "add", "--when", "daily@08:00", "--executor", "find_files", "--args"];
    let ran = home.run(executor.iter().chain(&["{\"folder\": 3}"]));
    let said = "find_files does not take these arguments: ";
    assert!(
        ran.code == 2 && ran.err.contains(said) && ran.err.contains("`metnos executor show find_files`"),
        "{}",
        ran.err
    );
    let good = executor.iter().chain(&["{\"base_path\": \"~/inbox\"}"]);
    let ran = home.run(good.clone());
    assert!(ran.code == 3 && ran.err.contains("find_files (base_path: ~/inbox)"), "{}", ran.err);
    let ran = home.run(["--yes"].iter().chain(good));
    assert!(ran.code == 0 && ran.out.contains("find_files (base_path: ~/inbox)"), "{} {}", ran.out, ran.err);
    let ran = home.run(["schedule", "run-now", "1"]);
    assert!(ran.code == 0 && ran.out.contains("a.txt"), "{} {}", ran.out, ran.err);
    for args in [&["cancel", "checkpoints"][..], &["modify", "checkpoints", "--when", "daily@02:00"]] {
        let ran = home.run(["schedule"].iter().chain(args));
        assert!(ran.code == 1 && ran.err.contains("`metnos schedule pause checkpoints`"), "{}", ran.err);
    }
    let ran = home.ask("stop all tasks");
    assert!(
        ran.code == 3 && ran.err.contains("Which task is meant?") && !ran.err.contains("_recurring"),
        "{}",
        ran.err
    );
    home.is_whole();
}

#[test]
fn a_minute_without_a_daemon_is_made_up_for() {
    let home = home("2026-01-01T06:00:00Z");
    add(&home, &["remind me to water the plants", "--when", "daily@08:00"]);
    add(&home, &[INBOX, "--when", "every_1_hours"]);
    set(&home, "2026-01-01T07:01:10Z");
    let daemon = serve(&home);
    assert_eq!(comes(&home, "1", 1)[0]["message"], "water the plants");
    assert_eq!(comes(&home, "2", 1)[0]["outcome"], "done");
    assert_eq!(state(&home, "1")["missed"], 0);
    daemon.stop();
    home.is_whole();
}

#[test]
fn a_clock_that_was_ahead_for_a_while_delays_nothing() {
    let home = home("2026-01-01T06:00:00Z");
    add(&home, &[INBOX, "--when", "daily@08:00"]);
    add(&home, &["remind me to call Anna", "--when", "at:2026-01-03T09:00"]);
    let daemon = serve(&home);
    set(&home, "2027-01-01T07:00:00Z");
    // A year of missed times, and the one of that moment.
    comes(&home, "1", 2);
    comes(&home, "2", 1);
    assert_eq!(state(&home, "2")["state"], "completed");
    set(&home, "2026-01-01T07:00:00Z");
    let fired = comes(&home, "1", 3);
    assert_eq!((&fired[2]["outcome"], &fired[2]["slot"]), (&"done".into(), &"Thu 2026-01-01 08:00".into()));
    assert_eq!(state(&home, "1")["next"][0], "Fri 2026-01-02 08:00");
    assert_eq!(
        (&state(&home, "2")["state"], &state(&home, "2")["next"][0]),
        (&"active".into(), &"Sat 2026-01-03 09:00".into())
    );
    set(&home, "2026-01-03T08:00:00Z");
    assert_eq!(comes(&home, "2", 2)[1]["message"], "call Anna");
    daemon.stop();
    home.is_whole();
}

#[test]
fn a_conversation_answers_what_a_task_asks() {
    let home = home("2026-01-01T06:00:00Z");
    add(&home, &["delete the txt files in ~/inbox", "--when", "daily@09:00"]);
    add(&home, &[INBOX, "--when", "daily@22:00"]);
    let daemon = serve(&home);
    set(&home, "2026-01-01T08:00:00Z");
    asked(&home, "1");
    let mut chat = Pty::run(&home, 100, &["chat"]);
    chat.sees("to the trash: ");
    chat.sees("(Task 1 waits");
    chat.types("how many files are in ~/inbox\r");
    chat.sees("3 files");
    chat.sees("(Task 1 waits");
    chat.types("yes\r");
    chat.sees("Moved 3 files to the trash");
    // Words that fit two tasks: the next line says which one is meant.
    chat.types("stop the inbox task\r");
    chat.sees("2. how many files");
    chat.types("2\r");
    chat.sees("Task 2 would end:");
    chat.types("y\r");
    chat.sees("Ended: how many files");
    chat.types("/quit\r");
    chat.ends();
    assert_eq!(comes(&home, "1", 1)[0]["outcome"], "done");
    assert_eq!(state(&home, "2")["state"], "cancelled");
    daemon.stop();
    home.is_whole();
}

//! Questions about Metnos itself, answered from the catalog and the log; and its own questions, which wait for an answer,
//! through a kill too.

use super::home::Home;
use super::pty::Pty;

#[test]
fn what_it_can_do_is_told_with_sentences_that_plan() {
    let home = Home::new();
    for (sentence, group, example) in [
        ("what can you do?", "Files and folders", "For example:"),
        ("hey metnos, waht can yuo do with csv files please", "Files and folders", "For example:"),
        ("cosa sai fare", "File e cartelle", "Per esempio:"),
        ("aiuto", "File e cartelle", "Per esempio:"),
    ] {
        let ran = home.ask(sentence);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{sentence}");
        assert!(ran.out.contains(group), "{sentence}: {}", ran.out);
        let (_, examples) = ran.out.split_once(example).expect("examples are shown");
        assert!(examples.trim().lines().count() >= 2, "{examples}");
        for line in examples.lines().map(str::trim).filter(|line| !line.is_empty()) {
            assert_eq!(home.run(["plan", line]).code, 0, "{line}");
        }
    }
    let all = home.ask("what can you do").out;
    let few = home.ask("what can you do with csv files").out;
    assert!(few.lines().count() < all.lines().count() && !few.contains("Web pages"), "{few}");
    // What would do nothing yet is not promised.
    assert!(!all.contains("Sends a text to people") && all.contains("Not connected yet"), "{all}");
    let none = home.ask("what can you do about gronkles").out;
    assert!(none.starts_with("Nothing that I can do speaks of “gronkles”"), "{none}");
    // A thing is no topic.
    home.file("report.pdf", "no pdf");
    assert_eq!(home.ask("what can you do about ~/report.pdf").code, 3);
    home.is_whole();
}

#[test]
fn what_it_did_is_told_from_the_log() {
    let home = Home::new();
    home.file("notes.txt", "one\n");
    let nothing = home.ask("what did you do on 3 march 2019");
    assert_eq!(nothing.out.trim_end().split(" between").next(), Some("Nothing was asked for"), "{}", nothing.out);
    let before = home.ask("what have you changed today").out;
    assert!(before.starts_with("Nothing was changed since"), "{before}");
    assert_eq!(home.ask("read the file").code, 3);
    assert_eq!(home.run(["ask", "--approve", "all", "delete the file notes.txt"]).code, 0);
    let last = home.ask("what was the last thing you did?").out;
    assert!(last.contains("delete the file notes.txt — done") && !last.contains("read the file"), "{last}");
    assert!(last.contains("can be undone until the trash is emptied"), "{last}");
    assert_eq!(home.run(["ask", "--approve", "all", "undo that"]).code, 0);
    let today = home.ask("please tell me what you did today").out;
    assert!(today.contains("read the file — I asked back, nothing was done"), "{today}");
    assert!(today.contains("notes.txt\n    was undone since"), "{today}");
    assert!(today.contains("questions about me are left out"), "{today}");
    // An undo that was undone leaves the change as it was.
    assert_eq!(home.run(["ask", "--approve", "all", "undo that"]).code, 0);
    let changed = home.ask("cosa hai cambiato nell'ultima ora").out;
    assert!(changed.starts_with("3 richieste"), "{changed}");
    assert_eq!(changed.matches("poi è stato annullato").count(), 1, "{changed}");
    let yesterday = home.ask("cosa hai fatto ieri").out;
    assert!(yesterday.starts_with("Non è stato chiesto niente tra il"), "{yesterday}");
    home.is_whole();
}

#[test]
fn why_it_asked_or_acted_is_told() {
    let home = Home::new();
    home.file("notes.txt", "one\n");
    assert_eq!(home.ask("why did you ask").out, "I have not asked you anything yet.\n");
    assert_eq!(home.ask("read the file").code, 3);
    let why = home.ask("why did you ask me that?").out;
    assert!(why.starts_with("You wrote “read the file”. I asked: “Which file or folder do you mean?”"), "{why}");
    assert_eq!(home.ask("delete the file notes.txt").code, 3);
    let why = home.ask("perché me l'hai chiesto").out;
    assert!(why.contains("delete_files") && why.contains("supervised") && why.contains("nessuno"), "{why}");
    assert_eq!(home.ask("read the file notes.txt").code, 0);
    let why = home.ask("why did you do that").out;
    assert!(why.contains("You said: read the file notes.txt") && why.contains("(your words)"), "{why}");
    home.is_whole();
}

#[test]
fn at_a_terminal_a_question_is_answered_in_the_same_turn() {
    let home = Home::new();
    home.file("notes.txt", "one\ntwo\n");
    let turns = || home.run(["--json", "turn", "list"]).out.lines().count();
    let before = turns();
    let mut ask = Pty::run(&home, 100, &["ask", "read the last line of the file"]);
    ask.sees("Which file or folder do you mean?");
    ask.sees("Answer:");
    ask.types("notes.txt\n");
    ask.sees_line("two");
    assert_eq!(ask.ends().0, Some(0));
    assert_eq!(turns(), before + 1);
    // An answer is no consent: what changes something is asked for as always.
    let mut ask = Pty::run(&home, 100, &["ask", "delete the file"]);
    ask.sees("Answer:");
    ask.types("notes.txt\n");
    ask.sees("[y/N]");
    ask.types("n\n");
    assert_eq!(ask.ends().0, Some(1));
    assert!(home.files().join("notes.txt").exists());
    // No answer: as without a terminal.
    let mut ask = Pty::run(&home, 100, &["ask", "leggi il file"]);
    ask.sees("Risposta:");
    ask.types("\n");
    assert_eq!(ask.ends().0, Some(3));
    let shown = home.run(["--json", "turn", "list", "--last", "1"]).json();
    assert_eq!((shown["final_kind"].as_str(), shown["waits"].is_null()), (Some("ask"), true), "{shown}");
    home.is_whole();
}

#[test]
fn an_open_question_survives_a_kill_and_its_answer_resumes_the_turn() {
    let home = Home::new();
    home.file("notes.txt", "one\ntwo\n");
    let mut chat = Pty::run(&home, 100, &["chat"]);
    chat.sees("> ");
    chat.types("read the last line of the file\r");
    chat.sees(") > ");
    drop(chat); // SIGKILL
    // Others find it open and leave it alone, and can tell why it was asked.
    let listed = home.run(["--json", "turn", "list", "--last", "1"]).json();
    assert!(listed["final_kind"].is_null() && listed["waits"]["dialog"].is_string(), "{listed}");
    let told = home.ask("why did you ask");
    assert!(told.out.contains("Which file or folder do you mean?"), "{} {}", told.out, told.err);
    // The next conversation asks again; another sentence does not close it.
    let mut chat = Pty::run(&home, 100, &["chat"]);
    chat.sees("Still open from before: “read the last line of the file”");
    chat.sees(") > ");
    chat.types("what time is it\r");
    chat.sees("Still open: Which file");
    chat.sees(") > ");
    chat.types("notes.txt\r");
    chat.sees("read the last line of the file notes.txt");
    chat.sees_line("two");
    chat.sees("> \r");
    // A question that a newer one takes the place of is withdrawn, and so is one at Ctrl-C.
    for sentence in ["read the file", "delete the file"] {
        chat.types(&format!("{sentence}\r"));
        chat.sees(") > ");
    }
    chat.types("\u{3}");
    chat.sees("> ");
    chat.types("\u{4}");
    assert_eq!(chat.ends().0, Some(0));
    let open = home.run(["--json", "turn", "list"]).out;
    assert!(!open.contains("\"final_kind\":null"), "{open}");
    home.is_whole();
}

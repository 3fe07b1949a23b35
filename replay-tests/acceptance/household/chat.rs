//! A conversation: through a pipe sentence in, answer out and nothing else; at a terminal with editing, history, progress,
//! Ctrl-C and answers to questions.

use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use super::home::{Home, Ran};
use super::pty::{LINE_TAKEN_AWAY, Pty};

const UP: &str = "\u{1b}[A";
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

/// A conversation through pipes.
fn piped(home: &Home, args: &[&str], lines: &str) -> Ran {
    let mut command = home.command();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

#[test]
fn through_a_pipe_each_line_has_its_answer_and_nothing_else() {
    let home = Home::new();
    home.file("notes.txt", "one\ntwo\n");
    let lines = "read the file notes.txt\n\n  read the file notes.txt and tell me the last line  \n";
    let ran = piped(&home, &["chat"], lines);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "one\ntwo\ntwo\n", ""));
    // A question is an answer too, the next line no answer to it, the worst end the exit code.
    let ran = piped(&home, &["chat"], "read the file\nread the file notes.txt\n");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.out.ends_with("?\none\ntwo\n"), "{}", ran.out);
    let ran = piped(&home, &["chat"], "delete the file notes.txt\n/quit\nread the file notes.txt\n");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
    assert!(ran.err.contains("notes.txt") && ran.err.contains("--approve all"), "{}", ran.err);
    assert!(!home.metnos().join("data/chat_history").exists());
    home.is_whole();
}

#[test]
fn commands_work_in_both_languages_and_are_no_turns() {
    let home = Home::new();
    home.file("notes.txt", "one\ntwo\n");
    let before = home.run(["--json", "turn", "list"]).out.lines().count();
    let ran = piped(&home, &["chat", "--lang", "it"], "/aiuto\n/perché\n/sbagliato\n/esci\n");
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("/annulla") && ran.out.contains("ancora"), "{}", ran.out);
    assert!(ran.err.contains("/sbagliato"), "{}", ran.err);
    assert_eq!(home.run(["--json", "turn", "list"]).out.lines().count(), before);
    let lines = "delete the file notes.txt\n/why\n/undo\n/why\n";
    let ran = piped(&home, &["chat", "--approve", "all"], lines);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    assert!(ran.out.contains("You said: delete the file notes.txt"), "{}", ran.out);
    assert!(ran.out.contains("1. delete_files") && ran.out.contains("1 change made"), "{}", ran.out);
    assert!(ran.out.contains("undo_last_turn"), "{}", ran.out);
    assert_eq!(std::fs::read_to_string(home.files().join("notes.txt")).unwrap(), "one\ntwo\n");
    let ran = piped(&home, &["--json", "chat"], "read the file notes.txt\n/help\n");
    for line in ran.out.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["ok"], true, "{line}");
    }
    assert_eq!(ran.out.lines().count(), 2);
}

#[test]
fn at_a_terminal_lines_are_edited_and_remembered() {
    let home = Home::new();
    home.file("notes.txt", "first words\n");
    let mut chat = Pty::run(&home, 80, &["chat"]);
    chat.sees("> ");
    // Backspace, and a line that is thrown away.
    chat.types("secret plans");
    chat.sees("plans");
    chat.types(CTRL_C);
    chat.sees("> ");
    chat.types("read the file notes.tyy\u{7f}\u{7f}xt\r");
    chat.sees_line("first words");
    chat.sees("> ");
    // While the person thinks, others get at the log.
    assert_eq!(home.ask("what time is it").code, 0);
    chat.types(UP);
    chat.sees("notes.txt");
    chat.types("\r");
    chat.sees_line("first words");
    chat.sees("> ");
    chat.types(CTRL_D);
    let (code, _) = chat.ends();
    assert_eq!(code, Some(0));
    let file = home.metnos().join("data/chat_history");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "read the file notes.txt\n");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // The next conversation remembers it.
    let mut chat = Pty::run(&home, 80, &["chat"]);
    chat.sees("> ");
    chat.types(UP);
    chat.sees("notes.txt");
    chat.types("\r");
    chat.sees_line("first words");
    chat.sees("> \r");
    chat.types("/quit\r");
    assert_eq!(chat.ends().0, Some(0));
    home.is_whole();
}

#[test]
fn at_a_terminal_the_next_line_may_answer_a_question() {
    let home = Home::new();
    let path = home.file("notes.txt", "one\ntwo\n");
    let mut chat = Pty::run(&home, 100, &["chat"]);
    chat.sees("> ");
    chat.types("read the last line of the file\r");
    let question = chat.sees(") > ");
    assert!(question.contains("(Which file"), "{question}");
    chat.types("notes.txt\r");
    chat.sees("read the last line of the file notes.txt");
    chat.sees_line("two");
    chat.sees("> \r");
    chat.types("delete the file notes.txt\r");
    chat.sees("[y/N]");
    // Ctrl-C at the question ends the turn, not the program.
    chat.types(CTRL_C);
    chat.sees("> ");
    assert!(path.exists());
    chat.types("delete the file notes.txt\r");
    chat.sees("[y/N]");
    chat.types("y\r");
    chat.sees("> \r");
    assert!(!path.exists());
    chat.types("/undo\r");
    chat.sees("[y/N]");
    chat.types("y\r");
    chat.sees("> \r");
    assert!(path.exists());
    chat.types(CTRL_D);
    assert_eq!(chat.ends().0, Some(0));
    let turns = home.run(["--json", "turn", "list", "--last", "4"]).out;
    let turns: Vec<serde_json::Value> = turns.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(turns[1]["user_query"], "delete the file notes.txt", "{turns:?}");
    assert_eq!(turns[1]["class"], "cancelled", "{turns:?}");
    home.is_whole();
}

#[test]
fn a_long_turn_shows_how_it_goes_and_ends_by_ctrl_c() {
    let home = Home::new();
    home.file("notes.txt", "one\n");
    // A server that takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let sentence = format!("get http://127.0.0.1:{}/never", silent.local_addr().unwrap().port());
    let mut chat = Pty::run(&home, 80, &["chat", "--approve", "all"]);
    chat.sees("> ");
    chat.types(&format!("{sentence}\r"));
    chat.sees(" … 0 s");
    chat.sees(LINE_TAKEN_AWAY);
    chat.sees(" … 1 s");
    chat.types(CTRL_C);
    let rest = chat.sees("> \r");
    assert!(rest.contains(LINE_TAKEN_AWAY) && rest.contains("I stopped"), "{rest}");
    // The next turn is not cancelled by the same Ctrl-C.
    chat.types("read the file notes.txt\r");
    chat.sees_line("one");
    chat.sees("> \r");
    chat.types(CTRL_D);
    assert_eq!(chat.ends().0, Some(0));
    let turns = home.run(["--json", "turn", "list", "--last", "2"]).out;
    assert!(turns.lines().next().unwrap().contains("\"cancelled\""), "{turns}");
    // Quiet shows none of it.
    let mut chat = Pty::run(&home, 80, &["chat", "--quiet", "--approve", "all"]);
    chat.sees("> ");
    chat.types(&format!("{sentence}\r"));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    chat.types(CTRL_C);
    let shown = chat.sees("I stopped");
    assert!(!shown.contains(" … "), "{shown}");
    chat.sees("> \r");
    chat.types(CTRL_D);
    assert_eq!(chat.ends().0, Some(0));
    home.is_whole();
}

#[test]
fn at_a_narrow_terminal_tables_are_cut_and_texts_are_not() {
    let home = Home::new();
    for (name, size) in [("a", 10), ("b", 2000), ("c", 300_000)] {
        home.file(format!("pics/{name} long name of a picture from the last summer.jpg"), vec![7_u8; size]);
    }
    let text = "a line that is a good deal longer than the terminal is wide  and  has  blanks  in  it";
    home.file("notes.txt", format!("{text}\n"));
    let table = "list the 3 largest files in pics with their sizes";
    let whole = home.ask(table);
    assert!(whole.out.lines().any(|line| line.chars().count() > 40), "{}", whole.out);
    let (code, shown) = Pty::run(&home, 40, &["ask", table]).ends();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains('…'), "{shown}");
    for line in shown.lines().filter(|line| line.contains('…')) {
        assert!(line.trim_end().chars().count() <= 40, "{line}");
    }
    assert!(shown.contains("300"), "the sizes are gone: {shown}");
    let (_, shown) = Pty::run(&home, 40, &["ask", "read the file notes.txt"]).ends();
    assert!(!shown.contains('…'), "{shown}");
    assert_eq!(shown.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
    assert!(shown.lines().all(|line| line.chars().count() <= 40), "{shown}");
}

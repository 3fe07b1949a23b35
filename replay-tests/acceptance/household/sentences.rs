//! The sentences that every home must be able to carry out, in both languages, as root and as an ordinary user.

use super::home::{Home, Ran, User, users};
use super::pty::Pty;
use super::server::{Server, UUID_BODY};

#[test]
fn the_last_three_lines_of_any_text_file() {
    for user in users() {
        let home = Home::of(user);
        let file = home.file("diary.md", "one\ntwo\nthree\nfour\nfive\n");
        for sentence in [
            format!("read the file {} and tell me the last three lines", file.display()),
            "read the file diary.md and tell me the last three lines".to_owned(),
            format!("leggi il file {} e dimmi le ultime tre righe", file.display()),
        ] {
            let ran = home.ask(&sentence);
            assert_eq!((ran.code, ran.out.as_str()), (0, "three\nfour\nfive\n"), "{user:?} {sentence}: {}", ran.err);
        }
        home.is_whole();
    }
}

#[test]
fn how_many_files_subfolders_included() {
    let home = Home::new();
    for name in ["d/a.md", "d/b.md", "d/deep/er/c.md", "d/no.txt", "d/deep/d.MD"] {
        home.file(name, "x");
    }
    let folder = home.files().join("d");
    for sentence in [
        format!("how many .md files are in {}, subfolders included", folder.display()),
        format!("quanti file .md ci sono in {}, sottocartelle comprese", folder.display()),
    ] {
        let ran = home.ask(&sentence);
        assert_eq!(ran.code, 0, "{sentence}: {}", ran.err);
        assert!(ran.out.contains('4') && !ran.out.contains('5'), "{sentence}: {}", ran.out);
    }
}

#[test]
fn only_the_uuid_of_a_page() {
    let server = Server::start();
    for user in users() {
        let home = Home::of(user);
        for sentence in [
            format!("fetch {} and tell me only the UUID", server.url("/uuid")),
            format!("scarica {} e dimmi solo l'UUID", server.url("/uuid")),
        ] {
            let ran = home.ask(&sentence);
            assert_eq!(
                (ran.code, ran.out.trim()),
                (0, "7c089d54-1f6e-4b0a-9a55-0f0e2a2c9d10"),
                "{user:?} {sentence}: {}",
                ran.err
            );
        }
    }
}

#[test]
fn a_page_saved_to_a_file_with_its_bytes_counted() {
    let server = Server::start();
    for user in users() {
        let home = Home::of(user);
        let english = home.files().join("page.json");
        let italian = home.files().join("pagina.json");
        for (sentence, file) in [
            (
                format!(
                    "fetch {}, save it to a file {} and tell me how many bytes you wrote",
                    server.url("/uuid"),
                    english.display()
                ),
                &english,
            ),
            (
                format!(
                    "scarica {}, salvalo in un file {} e dimmi quanti byte hai scritto",
                    server.url("/uuid"),
                    italian.display()
                ),
                &italian,
            ),
        ] {
            let refused = home.ask(&sentence);
            assert_eq!(refused.code, 3, "{sentence}: {} {}", refused.out, refused.err);
            assert!(refused.err.contains(&*file.to_string_lossy()) && !file.exists(), "{}", refused.err);
            let ran = home.ask_approved(&sentence);
            assert_eq!(ran.code, 0, "{user:?} {sentence}: {}", ran.err);
            assert!(ran.out.contains(&UUID_BODY.len().to_string()), "{}", ran.out);
            assert_eq!(std::fs::read_to_string(file).unwrap(), UUID_BODY);
        }
        home.is_whole();
    }
}

#[test]
fn a_plan_shows_what_would_run_and_runs_nothing() {
    let home = Home::new();
    let file = home.files().join("new.txt");
    let before = home.run(["--json", "log", "status"]).json()["events"].clone();
    let ran = home.run(["--json", "plan", &format!("write \"hello\" to {}", file.display())]);
    let plan = ran.json();
    assert_eq!(plan["abstained"], false, "{plan}");
    assert_eq!(plan["steps"][0]["tool"], "write_files");
    assert!(!file.exists());
    assert_eq!(home.run(["--json", "log", "status"]).json()["events"], before);
}

#[test]
fn at_the_landlock_level_it_works_and_says_so() {
    let home = Home::new().with("METNOS_SANDBOX_BACKEND", "landlock");
    home.file("a.txt", "1\n2\n3\n4\n");
    let ran = home.run(["--json", "ask", "read the file a.txt and tell me the last three lines"]);
    let record = ran.json();
    if record["steps"][0]["error_class"] == "cage_refused" && !std::path::Path::new("/sys/kernel/security").exists() {
        eprintln!("SKIPPED: this kernel has no landlock");
        return;
    }
    assert_eq!((ran.code, record["final_message"].as_str()), (0, Some("2\n3\n4")), "{record}");
    assert_eq!(record["steps"][0]["cage"]["level"], "partial");
    let doctor = home.run(["doctor"]);
    assert!(doctor.out.contains("partial"), "{}", doctor.out);
}

#[test]
fn where_user_namespaces_are_blocked_it_works_and_says_so() {
    let home = Home::empty(User::Current);
    home.file("a.txt", "1\n2\n3\n4\n");
    let blocked = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
    let ask = |sentence: &str| -> Ran {
        let plain = home.command();
        let mut command = std::process::Command::new("unshare");
        command.args(["-Ur", "sh", "-c", blocked]).arg(plain.get_program()).args(["ask", sentence]);
        command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(home.files()).stdin(std::process::Stdio::null());
        command.output().unwrap().into()
    };
    let ran = ask("read the file a.txt and tell me the last three lines");
    if ran.err.contains("unshare") || ran.err.contains("max_user_namespaces") {
        eprintln!("SKIPPED: no namespace can be made here in which they are blocked: {}", ran.err);
        return;
    }
    assert_eq!((ran.code, ran.out.as_str()), (0, "2\n3\n4\n"), "{}", ran.err);
    assert!(ran.err.contains("partial"), "{}", ran.err);
    assert_eq!(home.run(["--json", "turn", "show"]).json()["steps"][0]["cage"]["level"], "partial");
}

#[test]
fn a_write_is_refused_where_nobody_answers_and_where_nobody_may() {
    let home = Home::new();
    let ran = home.ask_approved("save \"root:x\" to /etc/passwd");
    assert_eq!(ran.code, 1, "{} {}", ran.out, ran.err);
    let ran = home.ask_approved("save \"x\" to /usr/lib/metnos-test");
    assert_eq!(ran.code, 1, "{} {}", ran.out, ran.err);
    assert!(!std::path::Path::new("/usr/lib/metnos-test").exists());
    home.file(".ssh/id_test", "secret");
    let ran = home.ask("read the file .ssh/id_test");
    assert_eq!(ran.code, 1);
    assert!(!ran.out.contains("secret") && !ran.err.contains("secret"));
    let own = home.metnos().join("config/keys/instance.ed25519");
    let ran = home.ask(&format!("read the file {}", own.display()));
    assert_eq!(ran.code, 1, "{} {}", ran.out, ran.err);
    home.is_whole();
}

#[test]
fn a_page_that_leads_elsewhere_is_not_followed() {
    let server = Server::start();
    let home = Home::new();
    let ran = home.ask(&format!("fetch {}", server.url("/away")));
    assert_ne!(ran.code, 0, "{}", ran.out);
    let turn = home.run(["--json", "turn", "show"]).json();
    let connections = turn["steps"][0]["connections"].to_string();
    assert!(
        connections.contains("169.254.169.254")
            && !connections.contains("\"host\":\"169.254.169.254\",\"method\":\"GET\",\"port\":80,\"status\":200"),
        "{connections}"
    );
}

#[test]
fn a_sentence_without_ask_is_told_how_it_goes() {
    let home = Home::new();
    home.file("a.txt", "one\n");
    for (args, line) in [
        (["what is in a.txt"].as_slice(), "metnos ask 'what is in a.txt'"),
        (&["leggi", "a.txt"], "metnos ask 'leggi a.txt'"),
        (&["create", "a", "folder", "it's"], r"metnos ask 'create a folder it'\''s'"),
        (&["ask", "read", "a.txt"], "metnos ask 'read a.txt'"),
    ] {
        let ran = home.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(ran.err.starts_with("error: ") && ran.err.contains(line), "{}", ran.err);
        assert!(!ran.err.contains("Usage"), "{}", ran.err);
    }
    // The line that is shown does what was meant, given to a shell as it stands.
    let shown = home.run(["read", "a.txt"]).err;
    let line = shown.lines().find_map(|line| line.split_once(": metnos ")).unwrap().1.to_owned();
    let prototype = home.command();
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(format!("\"$0\" {line}")).arg(prototype.get_program()).env_clear();
    shell.envs(prototype.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(home.files());
    let ran: Ran = shell.stdin(std::process::Stdio::null()).output().unwrap().into();
    assert_eq!((ran.code, ran.out.as_str()), (0, "one\n"), "{}", ran.err);
    let ran = home.run(["--json", "leggi", "a.txt"]);
    assert_eq!((ran.code, &ran.json()["ok"]), (2, &false.into()), "{}", ran.err);
    let ran = home.run(["stauts"]);
    assert!(ran.code == 2 && ran.err.contains("'status'") && !ran.err.contains("ask"), "{}", ran.err);
}

#[test]
fn names_are_written_out_and_contents_piped_as_they_are() {
    let home = Home::new();
    let path = home.file("odd/a\u{1b}[31mb\nc.txt", "x");
    home.file("odd/other.txt", "xyz");
    home.file("colours.txt", "a\u{1b}[31mb\r\n");
    let shown = r"a\x1b[31mb\nc.txt";
    for sentence in ["list the files in ~/odd", "the 2 biggest files in ~/odd", "find the files in ~/odd"] {
        let ran = home.ask(sentence);
        assert!(ran.code == 0 && ran.out.contains(shown), "{sentence}: {} {}", ran.out, ran.err);
        let (_, screen) = Pty::run(&home, 200, &["ask", sentence]).ends();
        assert!(screen.contains(shown) && !screen.contains("\u{1b}[31m"), "{sentence}: {screen}");
        let record = home.run(["--json", "ask", sentence]).json();
        let entries = record["steps"][0]["result"]["entries"].as_array().unwrap();
        assert!(entries.iter().any(|entry| entry["path"] == *path.to_string_lossy()), "{sentence}: {entries:?}");
    }
    let asked = home.ask("move all files of ~/odd to ~/kept");
    assert!(asked.code == 3 && asked.err.contains(shown) && !asked.err.contains('\u{1b}'), "{}", asked.err);
    let moved = home.ask_approved("move all files of ~/odd to ~/kept");
    assert!(moved.code == 0 && moved.out.contains(shown) && !moved.out.contains('\u{1b}'), "{}", moved.out);
    let undone = home.run(["--yes", "undo"]);
    assert!(undone.code == 0 && undone.out.contains(shown) && !undone.out.contains('\u{1b}'), "{}", undone.out);
    let read = home.ask("read the file colours.txt");
    assert_eq!((read.code, read.out.as_str()), (0, "a\u{1b}[31mb\r\n"), "{}", read.err);
    let (_, screen) = Pty::run(&home, 200, &["ask", "read the file colours.txt"]).ends();
    assert!(screen.contains(r"a\x1b[31mb\r"), "{screen}");
}

#[test]
fn an_undo_without_a_terminal_wants_its_yes_on_the_command_line() {
    let home = Home::new();
    let path = home.file("notes.txt", "one\n");
    assert_eq!(home.ask_approved("delete the file notes.txt").code, 0);
    let refused = home.run(["undo"]);
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert!(refused.err.contains("notes.txt") && refused.err.contains("--yes"), "{}", refused.err);
    assert!(!path.exists());
    let undone = home.run(["--yes", "undo"]);
    assert_eq!(undone.code, 0, "{}", undone.err);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
    // The undo of the undo, by the other way to say it.
    assert_eq!(home.run(["undo", "--approve", "all"]).code, 0);
    assert!(!path.exists());
    home.is_whole();
}

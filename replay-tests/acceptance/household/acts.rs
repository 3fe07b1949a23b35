//! Acts through the binary: what each does is on the disk, is said, and is taken back; nothing is done twice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::home::{Home, Ran};

/// One call of an acting executor, approved.
fn act(home: &Home, tool: &str, args: &Value) -> Ran {
    home.run(["executor", "run", "--approve", "all", tool, "--args", &args.to_string()])
}

/// Names and bytes of the person's tree, the trash left out.
pub(crate) fn tree(home: &Home) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let root = home.files();
    let (mut found, mut open) = (BTreeMap::new(), vec![root.clone()]);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.starts_with(root.join(".local")) {
                continue;
            }
            let is_dir = path.is_dir();
            found.insert(path.clone(), (!is_dir).then(|| std::fs::read(&path).unwrap()));
            if is_dir {
                open.push(path);
            }
        }
    }
    found
}

fn household() -> Home {
    let home = Home::new();
    for (name, text) in [("in/a.jpg", "aaaa"), ("in/b.pdf", "bb"), ("in/deep/c.txt", "c"), ("out/a.jpg", "older")] {
        home.file(name, text);
    }
    home
}

#[test]
fn every_act_is_said_and_taken_back_and_done_again() {
    let acts = [
        ("create_dirs", json!({ "paths": ["new/x", "new/y"] }), "Made 3 folders", Some("new/x")),
        (
            "move_files",
            json!({ "paths": ["in/a.jpg", "in/b.pdf"], "dst_template": "by/{type}/" }),
            "Moved 2 files",
            Some("by/picture/a.jpg"),
        ),
        (
            "move_files",
            json!({ "paths": ["in/a.jpg"], "dst_template": "out", "if_exists": "replace" }),
            "same name went to the trash",
            Some("out/a.jpg"),
        ),
        (
            "move_files",
            json!({ "paths": ["in/a.jpg"], "dst_template": "out", "if_exists": "number" }),
            "out/a (2).jpg",
            Some("out/a (2).jpg"),
        ),
        ("move_files", json!({ "paths": ["in"], "dst_template": "elsewhere" }), "Moved", Some("elsewhere/deep/c.txt")),
        ("delete_files", json!({ "paths": ["in/a.jpg", "in/b.pdf"] }), "Moved 2 files to the trash (6 bytes)", None),
        ("delete_files", json!({ "paths": ["in/a.jpg"], "permanent": true }), "for good", None),
        ("delete_dirs", json!({ "paths": ["in"] }), "to the trash", None),
        ("delete_dirs", json!({ "paths": ["in"], "permanent": true }), "3 files and 2 folders for good", None),
        (
            "compress_files",
            json!({ "paths": ["in"], "dst": "all.zip" }),
            "Packed 3 files and 2 folders",
            Some("all.zip"),
        ),
        (
            "compress_files",
            json!({ "paths": ["in", "out"], "dst": "all.tar.gz" }),
            "Packed 4 files",
            Some("all.tar.gz"),
        ),
        ("write_files", json!({ "path": "in/b.pdf", "content": "x" }), "Wrote 1 byte", Some("in/b.pdf")),
    ];
    let home = household();
    for (tool, args, said, there) in acts {
        let before = tree(&home);
        let ran = act(&home, tool, &args);
        assert!(ran.code == 0 && ran.out.contains(said), "{tool} {args}: {} {}", ran.out, ran.err);
        if let Some(path) = there {
            assert!(home.files().join(path).exists(), "{tool} {args}: no {path}");
        }
        let after = tree(&home);
        assert_ne!(before, after, "{tool} {args}");
        for (what, expected) in [("undone", &before), ("done again", &after), ("undone again", &before)] {
            let ran = home.run(["undo", "--approve", "all"]);
            assert_eq!(ran.code, 0, "{tool} {args} {what}: {} {}", ran.out, ran.err);
            assert_eq!(&tree(&home), expected, "{tool} {args} {what}");
        }
    }
    home.is_whole();
}

#[test]
fn what_cannot_be_done_is_said_and_the_rest_is_done() {
    let home = household();
    let ran = act(&home, "move_files", &json!({ "paths": ["in/a.jpg", "in/b.pdf"], "dst_template": "out/" }));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("b.pdf") && ran.out.contains("1 item failed") && ran.out.contains("There is one"),
        "{}",
        ran.out
    );
    assert_eq!(std::fs::read(home.files().join("out/a.jpg")).unwrap(), b"older");
    assert!(home.files().join("in/a.jpg").exists() && home.files().join("out/b.pdf").exists());
    // Undone, but for what changed since.
    act(&home, "create_dirs", &json!({ "paths": ["p", "q"] }));
    home.file("p/mine.txt", "x");
    let ran = home.run(["undo", "--approve", "all"]);
    assert!(
        ran.out.contains("1 change taken back") && ran.out.contains("not empty: there is mine.txt in it"),
        "{}",
        ran.out
    );
    assert!(home.files().join("p/mine.txt").exists() && !home.files().join("q").exists());
    home.is_whole();
}

/// A folder that holds only empty folders was called not empty, and nothing was said of what is in it.
#[test]
fn of_empty_folders_only_those_go_that_hold_nothing() {
    let home = Home::new();
    for path in ["e/x/y", "e/z"] {
        std::fs::create_dir_all(home.files().join(path)).unwrap();
    }
    let delete = |paths: &[&str]| act(&home, "delete_dirs", &json!({ "paths": paths, "only_empty": true }));
    let ran = delete(&["e"]);
    assert!(ran.code != 0 && ran.err.contains("The folder is not empty: there is x, z in it."), "{}", ran.err);
    assert!(home.files().join("e/x/y").is_dir());
    // Named with them, it is empty by then.
    let ran = delete(&["e", "e/x", "e/x/y", "e/z"]);
    assert!(ran.code == 0 && ran.out.contains("4 folders to the trash"), "{} {}", ran.out, ran.err);
    assert!(!home.files().join("e").exists());
    assert_eq!(home.run(["undo", "--approve", "all"]).code, 0);
    assert!(home.files().join("e/x/y").is_dir() && home.files().join("e/z").is_dir());
    // With all that it holds, as without that wish.
    let ran = act(&home, "delete_dirs", &json!({ "paths": ["e"] }));
    assert!(ran.code == 0 && !home.files().join("e").exists(), "{} {}", ran.out, ran.err);
    home.is_whole();
}

/// What keeps a folder from being taken back is named, as far as it is few, and passes for nothing else.
#[test]
fn a_folder_that_grew_is_told_with_what_is_new_in_it() {
    let home = Home::new();
    act(&home, "create_dirs", &json!({ "paths": ["p", "p/own"] }));
    for name in ["a.txt", "b, c", "d  e", "f"] {
        home.file(format!("p/{name}"), "x");
    }
    let ran = home.run(["undo", "--approve", "all"]);
    let said = format!("{}{}", ran.out, ran.err);
    assert!(said.contains("not empty: there is a.txt, \"b, c\", \"d  e\", … in it"), "{said}");
    assert!(home.files().join("p/f").exists() && !home.files().join("p/own").exists());
    home.is_whole();
}

#[test]
fn a_preview_changes_nothing_and_any_turn_can_be_named() {
    let home = household();
    act(&home, "delete_files", &json!({ "paths": ["in/a.jpg"] }));
    let turn = home.run(["--json", "turn", "show"]).json()["turn_id"].as_str().unwrap().to_owned();
    act(&home, "create_dirs", &json!({ "paths": ["new"] }));
    home.ask("what time is it");
    let before = tree(&home);
    let ran = home.run(["undo", "--preview"]);
    assert!(ran.out.contains("nothing was done yet") && ran.out.contains("changed nothing"), "{}", ran.out);
    assert_eq!(tree(&home), before);
    let ran = home.run(["undo", &turn, "--approve", "all"]);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    assert!(home.files().join("in/a.jpg").exists() && home.files().join("new").exists());
    let again = home.run(["undo", &turn, "--approve", "all"]);
    assert!(again.code == 1 && again.err.contains("already"), "{} {}", again.out, again.err);
    let none = home.run(["undo", "NONE", "--approve", "all"]);
    assert!(none.code == 1 && none.err.contains("NONE"), "{} {}", none.out, none.err);
    // The question says what would be taken back.
    assert_eq!(home.ask_approved("create the folder ~/files/other").code, 0);
    let asked = home.run(["undo"]);
    let says = "This takes back what was asked for: create the folder ~/files/other\n";
    assert!(asked.code == 3 && asked.err.contains(says), "{} {}", asked.out, asked.err);
    home.is_whole();
}

#[test]
fn no_act_without_a_yes_and_none_on_what_is_forbidden() {
    let home = household();
    home.file("in/deep/.ssh/id", "secret");
    let before = tree(&home);
    for args in
        [json!({ "paths": ["in"] }), json!({ "paths": ["in"], "permanent": true }), json!({ "paths": ["/etc/ssl"] })]
    {
        let ran = act(&home, "delete_dirs", &args);
        assert_eq!(ran.code, 1, "{args}: {} {}", ran.out, ran.err);
    }
    let ran = act(&home, "move_files", &json!({ "paths": ["in/deep"], "dst_template": "out/" }));
    assert!(ran.code == 1 && ran.err.contains(".ssh"), "{} {}", ran.out, ran.err);
    let ran = home.run(["executor", "run", "delete_files", "--args", r#"{"paths": ["in/a.jpg"]}"#]);
    assert_eq!(ran.code, 3, "{} {}", ran.out, ran.err);
    assert!(
        ran.err.contains("delete 1 file, 4 bytes, into the trash") && ran.err.contains("until the trash is emptied"),
        "{}",
        ran.err
    );
    assert_eq!(tree(&home), before);
    let home = home.with("METNOS_AUTONOMY", "read_only");
    let ran = act(&home, "create_dirs", &json!({ "paths": ["new"] }));
    assert_eq!((ran.code, tree(&home) == before), (1, true), "{} {}", ran.out, ran.err);
    home.is_whole();
}

/// Killed between the intent and the last outcome, a step of many changes is finished by the next command, once.
#[test]
fn many_changes_that_were_cut_are_finished() {
    for point in ["intent_to_effect", "effect_to_outcome"] {
        let home = Home::new();
        let names: Vec<String> = (0..40).map(|number| format!("in/f{number}.txt")).collect();
        for name in &names {
            home.file(name, name.as_bytes());
        }
        let args = json!({ "paths": names, "dst_template": "out/" }).to_string();
        home.killed_at(point, ["executor", "run", "--approve", "all", "move_files", "--args", &args]);
        // Some of them by hand, as if the kill had come in the middle.
        if point == "intent_to_effect" {
            std::fs::create_dir(home.files().join("out")).unwrap();
            for name in names.iter().take(7) {
                let name = Path::new(name).file_name().unwrap();
                std::fs::rename(home.files().join("in").join(name), home.files().join("out").join(name)).unwrap();
            }
        }
        let ran = home.ask("what time is it");
        assert!(ran.code == 0 && ran.err.contains("finished"), "{} {}", ran.out, ran.err);
        assert_eq!(std::fs::read_dir(home.files().join("in")).unwrap().count(), 0);
        assert_eq!(std::fs::read_dir(home.files().join("out")).unwrap().count(), 40);
        home.is_whole();
        let ran = home.run(["undo", "--approve", "all"]);
        assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
        assert_eq!(std::fs::read_dir(home.files().join("in")).unwrap().count(), 40);
        home.is_whole();
    }
}

#[test]
fn builtins_are_listed_switched_and_look_at_the_host() {
    let home = Home::new();
    let ran = home.run(["executor", "run", "get_processes", "--args", r#"{"name": "metnos"}"#]);
    assert!(
        ran.code == 0 && ran.out.contains("metnos") && ran.out.contains("of memory in all"),
        "{} {}",
        ran.out,
        ran.err
    );
    let listed = home.run(["executor", "list"]);
    assert!(["get_processes", "undo_last_turn"].iter().all(|name| listed.out.contains(name)), "{}", listed.out);
    let record = home.run(["--json", "turn", "show"]).json();
    assert_eq!(record["steps"][0]["cage"]["level"], "not_needed", "{record}");
    assert_eq!(home.run(["executor", "disable", "undo_last_turn"]).code, 0);
    assert_eq!(home.run(["executor", "disable", "undo_last_turn"]).code, 1);
    assert_eq!(home.run(["executor", "disable", "find_files"]).code, 1);
    let off = home.run(["undo", "--preview"]);
    assert!(off.code == 1 && off.err.contains("metnos executor enable undo_last_turn"), "{} {}", off.out, off.err);
    assert_eq!(home.run(["executor", "disable", "get_processes"]).code, 0);
    let off = home.ask("which processes use the most memory");
    let says = "metnos executor enable get_processes";
    assert!(off.code != 0 && format!("{}{}", off.out, off.err).contains(says), "{} {}", off.out, off.err);
    let other = home.ask("what time is it");
    assert_eq!(other.code, 0, "{}", other.err);
    for put_away in ["archive", "quarantine"] {
        assert_eq!(home.run(["--yes", "executor", put_away, "get_processes"]).code, 1);
    }
    assert_eq!(home.run(["executor", "enable", "get_processes"]).code, 0);
    assert_eq!(home.ask("which processes use the most memory").code, 0);
    assert_eq!(home.run(["executor", "enable", "undo_last_turn"]).code, 0);
    let ran = home.run(["undo", "--preview"]);
    assert!(ran.code == 1 && ran.err.contains("No request has changed anything"), "{} {}", ran.out, ran.err);
    home.is_whole();
}

/// That it was the level that refused was said nowhere, nor how it is changed.
#[test]
fn a_refusal_by_the_level_names_it_and_what_changes_it() {
    let home = Home::new();
    let path = home.file("a.txt", "hi\n");
    assert_eq!(home.run(["actor", "autonomy", "owner", "read_only"]).code, 0);
    for (sentence, level) in [
        ("delete the file a.txt", "The autonomy level is read_only"),
        ("cancella il file a.txt", "Il livello di autonomia è read_only"),
        ("run the command date", "The autonomy level is read_only"),
    ] {
        let ran = home.ask(sentence);
        let says = ran.err.contains(level) && ran.err.contains("`metnos actor autonomy`");
        assert!(ran.code == 1 && says && path.exists(), "{} {}", ran.code, ran.err);
    }
    assert_eq!(home.run(["actor", "autonomy", "owner", "supervised"]).code, 0);
    assert_eq!(home.ask("delete the file a.txt").code, 3);
    home.is_whole();
}

#[test]
fn what_would_be_decided_is_what_is_decided() {
    let home = Home::new();
    let path = home.file("notes.txt", "hi\n");
    let check = |tool: &str, args: &serde_json::Value| {
        home.run(["--json", "policy", "check", tool, "--args", &args.to_string()]).json()["decision"].clone()
    };
    assert_eq!(check("read_files", &serde_json::json!({ "paths": [path] })), "allow");
    assert_eq!(check("read_files", &serde_json::json!({ "paths": ["/etc/shadow"] })), "deny");
    assert_eq!(check("create_processes", &serde_json::json!({ "argv": ["date"] })), "ask");
    // The broker's own word on an address, as the call has it; nothing is dialled for it.
    let page = |url: &str| serde_json::json!({ "urls": [url] });
    assert_eq!(check("get_urls", &page("http://127.0.0.1:9/")), "allow");
    for (url, says) in [
        ("http://user:pw@127.0.0.1:9/", "an address with a user's name in it is refused"),
        ("http://0.0.0.0:9/", "0.0.0.0 is refused: it leads to no machine"),
    ] {
        let args = page(url).to_string();
        let checked = home.run(["--json", "policy", "check", "get_urls", "--args", &args]);
        let (told, called) = (checked.json(), home.run(["executor", "run", "get_urls", "--args", &args]));
        assert_eq!((checked.code, &told["error_class"]), (1, &"policy_violation".into()), "{told}");
        assert!(told["reason"].as_str().unwrap().contains(says), "{told}");
        assert!(called.code == 1 && called.err.contains(says), "{} {}", called.out, called.err);
    }
    assert_eq!(home.run(["config", "set", "network.allow", "example.org"]).code, 0);
    assert_eq!(check("get_urls", &page("http://127.0.0.1:9/")), "deny");
    assert_eq!(check("get_urls", &page("http://example.org/")), "allow");
    // What it wants changed is known later, and what becomes of it by now.
    let (deletes, makes) =
        (serde_json::json!({ "paths": [path] }), serde_json::json!({ "paths": [home.files().join("new")] }));
    for (autonomy, tool, args, decision, changes) in [
        ("read_only", "delete_files", &deletes, "deny", "deny"),
        ("supervised", "create_dirs", &makes, "allow", "ask"),
        // What cannot be repeated is asked about at every level.
        ("full", "delete_files", &deletes, "allow", "ask"),
    ] {
        assert_eq!(home.run(["config", "set", "autonomy", autonomy]).code, 0);
        let checked = home.run(["--json", "policy", "check", tool, "--args", &args.to_string()]).json();
        assert_eq!(
            (&checked["decision"], &checked["changes"]),
            (&decision.into(), &changes.into()),
            "{autonomy} {tool}"
        );
    }
    assert_eq!(home.run(["config", "set", "autonomy", "supervised"]).code, 0);
    // A grant of the folder spares the question, and is named.
    let folder = home.files().to_string_lossy().into_owned();
    assert_eq!(home.run(["--yes", "grants", "give", "fs:write", &folder, "--for", "1h"]).code, 0);
    let checked = home.run(["policy", "check", "create_dirs", "--args", &makes.to_string()]).out;
    let says =
        format!("asked about when it is known, except what this grant allows:\n  1 (fs:write on {folder}, until ");
    assert!(checked.contains(&says), "{checked}");
    assert_eq!(home.run(["grants", "revoke", "1"]).code, 0);
    let before = home.run(["--json", "turn", "list"]).out;
    let ran = home.run(["executor", "run", "create_processes", "--args", "{\"argv\":[\"date\"]}"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert_ne!(home.run(["--json", "turn", "list"]).out, before, "a call is a turn, a look at policy is none");
    home.is_whole();
}

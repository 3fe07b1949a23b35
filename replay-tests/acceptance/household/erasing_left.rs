//! What an erasure leaves to the person: copies and exports that are not made of the record, and where none are made.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::erasing::{SECRET, holding, told};
use crate::home::{Home, User, is_root};

/// The log may have lost it already, or may be one that was restored from before it.
#[test]
fn a_text_that_files_alone_hold_is_told_with_them() {
    let home = Home::new();
    let erase = || home.run(["--yes", "log", "erase", "--text", SECRET]);
    let nothing = erase();
    assert!(nothing.code == 1 && nothing.err.contains("nothing was found"), "{} {}", nothing.code, nothing.err);
    let file = home.metnos().join("workspace/inbox/copied.txt");
    std::fs::write(&file, format!("once {SECRET}\n")).unwrap();
    home.own(&file);
    let found = erase();
    assert!(found.code == 1 && found.err.contains(file.to_str().unwrap()), "{} {}", found.code, found.err);
}

/// An erasure would find neither.
#[test]
fn no_copy_of_the_log_is_made_in_the_home() {
    let home = Home::new();
    for folder in ["mine", "data/mine", "workspace/mine"] {
        let folder = home.metnos().join(folder);
        let backup = home.run(["log", "backup", folder.to_str().unwrap()]);
        assert!(backup.code != 0 && backup.err.contains("lies in the home"), "{} {}", backup.code, backup.err);
        for to in [folder.clone(), folder.with_extension("redb")] {
            let salvaged = home.run(["log", "salvage", "--to", to.to_str().unwrap()]);
            assert!(
                salvaged.code != 0 && salvaged.err.contains("lies in the home"),
                "{} {}",
                salvaged.code,
                salvaged.err
            );
            assert!(!to.exists());
        }
    }
    assert_eq!(home.run(["log", "backup"]).code, 0);
}

/// Exports that someone made are theirs; those in the home that hold something of the turn are named.
#[test]
fn exports_that_hold_an_erased_turn_are_named() {
    let (home, _) = told();
    let turns = home.run(["--json", "turn", "list"]).out;
    let turns: Vec<serde_json::Value> = turns.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let id_of = |words: &str| {
        let turn = turns.iter().find(|turn| turn["user_query"].as_str().unwrap().contains(words)).unwrap();
        turn["turn_id"].as_str().unwrap().to_owned()
    };
    let (safe, tokyo) = (id_of("safe.txt"), id_of("Tokyo"));
    let place = home.metnos().join("workspace");
    let export = |name: &str, words: &[&str]| {
        let path = place.join(name);
        let out = ["--out", path.to_str().unwrap()];
        let ran = home.run(["audit", "export"].iter().chain(words).chain(&out));
        assert_eq!(ran.code, 0, "{}", ran.err);
        path
    };
    let mut named = vec![
        export("all.jsonl", &["--since", "2020-01-01"]),
        export("all.csv", &["--format", "csv"]),
        export("proof.jsonl", &["--proof", "--turn", &safe]),
    ];
    export("other.jsonl", &["--turn", &tokyo]);
    // One that is packed, and one beside the three folders.
    let packed = zstd::encode_all(home.run(["log", "export"]).out.as_bytes(), 3).unwrap();
    named.extend([place.join("history.zst"), home.metnos().join("history.zst")]);
    for path in &named[3..] {
        std::fs::write(path, &packed).unwrap();
    }
    named.sort();
    let erased = home.run(["--yes", "--json", "log", "erase", "--turn", &safe]).json();
    assert_eq!(erased["left"], serde_json::json!(named), "{erased}");
    // One that was made since says nothing of it.
    for path in &named {
        std::fs::remove_file(path).unwrap();
    }
    export("since.jsonl", &["--since", "2020-01-01"]);
    let long = home.run(["--yes", "log", "erase", "--turn", &id_of("long.txt")]);
    assert!(long.out.contains("This file still holds it") && long.out.contains("since.jsonl"), "{}", long.out);
    let event = home.run(["--json", "turn", "show", &tokyo]);
    assert_eq!(event.code, 0, "{}", event.err);
}

/// Whatever is erased, a copy of the log is one; what else of it lies in the home is named where it holds what is gone.
#[test]
fn copies_of_the_log_are_named_whatever_they_are_called() {
    let (home, elsewhere) = told();
    let (log, place) = (home.metnos().join("data/log/events.redb"), home.metnos());
    let bytes = std::fs::read(&log).unwrap();
    std::fs::create_dir_all(place.join("data/backups/old")).unwrap();
    let mut copies = ["data/log/events.redb.bak", "data/backups/old/events.redb", "workspace/kept.bin"]
        .map(|name| place.join(name))
        .to_vec();
    for copy in &copies {
        std::fs::write(copy, &bytes).unwrap();
    }
    // One that was being written to, and one that is packed.
    copies.extend(["data/log/torn", "workspace/log.zst"].map(|name| place.join(name)));
    std::fs::write(&copies[3], [&bytes[..9], &[0xff; 500], &bytes[509..]].concat()).unwrap();
    std::fs::write(&copies[4], zstd::encode_all(bytes.as_slice(), 3).unwrap()).unwrap();
    copies.sort();
    super::home::copy_tree(&elsewhere, &place.join("workspace/backup"));
    super::home::copy_tree(&elsewhere, &place.join("data/backups/old/backup"));
    let turns = home.run(["--json", "turn", "list"]).out;
    let id = turns.lines().find(|line| line.contains("safe.txt")).unwrap();
    let id = serde_json::from_str::<serde_json::Value>(id).unwrap()["turn_id"].as_str().unwrap().to_owned();
    let events = home.run(["--json", "log", "tail", "-n", "1000"]).out;
    let mut events = events.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let event = events.rfind(|event| event["kind"] == "turn_opened").unwrap()["seq"].to_string();
    for what in [["--turn", &id], ["--event", &event], ["--text", SECRET]] {
        let erased = home.run(["--yes", "--json", "log", "erase"].iter().chain(&what)).json();
        assert_eq!(erased["copies"], serde_json::json!(copies), "{what:?} {erased}");
        let left = erased["left"].as_array().unwrap();
        let named = |path: &Path| left.contains(&serde_json::json!(path)) || copies.contains(&path.to_owned());
        for folder in ["workspace/backup", "data/backups/old/backup"].map(|name| place.join(name)) {
            assert!(named(&folder.join("tail.seg")) || named(&folder.join("events.seg")), "{what:?} {erased}");
        }
        if what[0] == "--text" {
            let unnamed: Vec<PathBuf> = holding(&place, SECRET).into_iter().filter(|path| !named(path)).collect();
            assert_eq!(unnamed, Vec::<PathBuf>::new(), "{erased}");
        }
    }
    let said = home.run(["--yes", "log", "erase", "--text", "nothing"]);
    assert!(
        said.out.contains("These files are copies of the log") && said.out.contains("events.redb.bak"),
        "{}",
        said.out
    );
    assert_eq!(std::fs::read(&copies[1]).unwrap(), bytes, "nothing was done to them");
    for copy in &copies[1..] {
        std::fs::remove_file(copy).unwrap();
    }
    let one = home.run(["--yes", "log", "erase", "--text", "Tokyo"]);
    assert!(one.out.contains("This file is a copy of the log") && one.out.contains("delete it"), "{}", one.out);
}

/// Nobody looks into what is packed or drawn: where there is such a file, that is said, with a few of their names.
#[test]
fn files_in_forms_that_are_not_looked_into_are_said() {
    let (home, _) = told();
    let erase = |text: &str| home.run(["--yes", "log", "erase", "--text", text]);
    let none = erase("nothing");
    assert!(none.code == 0 && !none.out.contains("does not look into"), "{} {}", none.out, none.err);
    let place = home.metnos().join("workspace");
    for name in ["a.gz", "b.gz", "c.gz", "d.gz"] {
        std::fs::write(place.join(name), b"\x1f\x8b\x08\x00packed").unwrap();
    }
    std::fs::write(place.join("e.txt"), "bread").unwrap();
    let said = erase(SECRET);
    let named = said.out.matches(".gz\n").count();
    assert_eq!((said.code, named), (0, 3), "{} {}", said.out, said.err);
    assert!(said.out.contains("does not look into") && said.out.contains("… and 1 more"), "{}", said.out);
    assert!(!said.out.contains("e.txt"), "{}", said.out);
}

/// What cannot be looked into is said; it holds up nothing of an erasure that is done.
#[test]
fn a_folder_that_cannot_be_read_is_named() {
    if !is_root() {
        eprintln!("SKIPPED a_folder_that_cannot_be_read_is_named: only root gives a folder to others");
        return;
    }
    let home = Home::of(User::Ordinary);
    home.file("a.txt", "the combination is 4711\n");
    assert_eq!(home.ask("read the file ~/a.txt").code, 0);
    let (closed, open) = (home.metnos().join("workspace/closed"), home.metnos().join("workspace/open.txt"));
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::write(&open, "the combination is 4711\n").unwrap();
    std::os::unix::fs::symlink("/proc", home.metnos().join("workspace/others")).unwrap();
    let erased = home.run(["--yes", "log", "erase", "--text", "the combination is 4711"]);
    assert_eq!(erased.code, 0, "{} {}", erased.out, erased.err);
    for (says, path) in [("still holds it", &open), ("could not be looked into", &closed)] {
        let named = format!("  {}", path.display());
        assert!(erased.out.contains(says) && erased.out.lines().any(|line| line == named), "{}", erased.out);
    }
    assert!(!home.metnos().join("data/erasure.pending").exists());
    home.is_whole();
}

/// What lies beside the backups and is none of this log's stays as it is, and holds nothing up.
#[test]
fn other_folders_beside_the_backups_hold_nothing_up() {
    let (home, _) = told();
    let backups = home.metnos().join("data/backups");
    std::fs::create_dir_all(backups.join("a-notes")).unwrap();
    std::fs::write(backups.join("a-notes/list"), "bread").unwrap();
    let erased = home.run(["--yes", "log", "erase", "--text", SECRET]);
    assert_eq!(erased.code, 0, "{}", erased.err);
    assert_eq!(holding(&home.metnos(), SECRET), Vec::<PathBuf>::new());
    assert_eq!(std::fs::read(backups.join("a-notes/list")).unwrap(), b"bread");
    assert_eq!(home.ask("what time is it in Tokyo").code, 0);
    for inside in ["workspace/bk", "data/log/archive", "data/projections/bk", "data/backups/own/deeper", "data/backups"]
    {
        let refused = home.run(["log", "backup", home.metnos().join(inside).to_str().unwrap()]);
        assert_eq!(refused.code, 2, "{inside}: {}{}", refused.out, refused.err);
        assert!(refused.err.contains("data/backups"), "{}", refused.err);
    }
}

#[test]
fn no_backup_lies_within_the_home_by_another_name() {
    let home = Home::new();
    assert_eq!(home.ask("what time is it in Tokyo").code, 0);
    let within = home.metnos().join("workspace");
    let link = home.files().join("link");
    std::os::unix::fs::symlink(&within, &link).unwrap();
    let name = home.metnos().file_name().unwrap().to_owned();
    for folder in [
        within.join("copy"),
        link.join("copy"),
        home.metnos().join("..").join(&name).join("workspace/copy"),
        home.metnos().join("data/backups/new/../../copy"),
        home.metnos().join("data/backups/.."),
    ] {
        let ran = home.run(["log".into(), "backup".into(), folder.clone()]);
        assert_eq!(ran.code, 2, "{}: {} {}", folder.display(), ran.out, ran.err);
    }
    assert!(!within.join("copy").exists());
    // Backups on another disk, by a link in their place, are the home's own.
    let disk = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(disk.path(), home.metnos().join("data/backups")).unwrap();
    assert_eq!(home.run(["log", "backup"]).code, 0);
    let erased = home.run(["--yes", "--json", "log", "erase", "--text", "Tokyo"]).json();
    assert_eq!((&erased["backups"], &erased["elsewhere"]), (&1.into(), &serde_json::json!([])), "{erased}");
}

//! What is sound in a damaged log is salvaged into a new home, and what is lost is said.

use std::path::{Path, PathBuf};

use super::damaged::{SECRET, grown, log_of, plain, told};
use super::home::{Home, Ran, User};

/// Held by a command that is at work, a log is waited for; what salvages does not read over its shoulder.
#[test]
fn a_locked_log_is_not_salvaged() {
    let home = told();
    let file = std::fs::OpenOptions::new().read(true).write(true).open(log_of(&home)).unwrap();
    file.lock().unwrap();
    let to = home.files().join("new");
    plain(&home.run(["log", "salvage", "--to", to.to_str().unwrap()]), 2, "in use");
    assert!(!log_of_home(&to).exists());
    drop(file);
    home.is_whole();
}

fn log_of_home(home: &Path) -> PathBuf {
    home.join("data/log/events.redb")
}

/// Every digest of a cut or zeroed file that could be proved is in a new home that verifies and goes on.
#[test]
fn what_is_sound_is_salvaged_into_a_new_home() {
    let home = told();
    let log = log_of(&home);
    let sound = std::fs::read(&log).unwrap();
    let events = home.run(["--json", "log", "status"]).json()["events"].as_u64().unwrap();
    let sound_again = std::fs::read(&log).unwrap();
    for (number, damage) in [0, 1, 2].into_iter().enumerate() {
        let mut bytes = if damage == 0 { sound_again.clone() } else { sound.clone() };
        match damage {
            // redb's own header alone.
            0 => bytes[..320].fill(0),
            1 => bytes.truncate(sound.len() * 3 / 4),
            _ => {
                let page = sound.len() / 2 / 4096 * 4096;
                bytes[page..page + 4096].fill(0);
                bytes[..320].fill(0);
            }
        }
        std::fs::write(&log, &bytes).unwrap();
        let to = home.files().join(format!("new{number}"));
        let salvaged = home.run(["--json", "log", "salvage", "--to", to.to_str().unwrap()]);
        assert_eq!(salvaged.code, 0, "{}", salvaged.err);
        let said = salvaged.json();
        assert!(std::fs::read(&log).unwrap() == bytes, "the old file is as it was");
        let at = |words: &[&str]| {
            let mut args = vec!["--home", to.to_str().unwrap()];
            args.extend(words);
            home.run(args)
        };
        let verified = at(&["--json", "log", "verify"]);
        assert_eq!((verified.code, &verified.json()["ok"]), (0, &true.into()), "{}", verified.err);
        if damage == 0 {
            assert_eq!(
                (&said["copied"], &said["again"], &said["lost"]),
                (&events.into(), &0.into(), &0.into()),
                "{said}"
            );
            assert_eq!(at(&["ask", "what time is it in Tokyo"]).code, 0);
            assert!(at(&["turn", "list"]).out.contains("a.txt"));
        }
        let again = home.run(["log", "salvage", "--to", to.to_str().unwrap()]);
        plain(&again, 1, "already");
    }
    std::fs::write(&log, b"SQLite format 3\0").unwrap();
    let to = home.files().join("none.redb");
    plain(&home.run(["log", "salvage", "--to", to.to_str().unwrap()]), 1, "no event of a log");
    assert!(!to.exists());
    // A home in which no log came to be has none of the keys either, and the same words do once the file is the right one.
    let to = home.files().join("once-more");
    plain(&home.run(["log", "salvage", "--to", to.to_str().unwrap()]), 1, "no event of a log");
    assert!(!to.exists());
    std::fs::write(&log, &sound).unwrap();
    assert_eq!(home.run(["log", "salvage", "--to", to.to_str().unwrap()]).code, 0);
    let there = home.file("there.redb", "mine");
    plain(&home.run(["log", "salvage", "--to", there.to_str().unwrap()]), 1, "already");
    assert_eq!(std::fs::read(there).unwrap(), b"mine");
}

/// Where the end is gone nobody can list what it was: that it is, how much of it at least, and where it still is, is said. The new
/// home works: what the log lost of the seeds comes from the binary again, what others made stands still until it is added again.
#[test]
fn a_lost_end_is_told_and_the_new_home_works() {
    let home = told();
    let own = home.files().join("mine");
    super::home::copy_seed("get_now", &own);
    let manifest = std::fs::read_to_string(own.join("manifest.toml")).unwrap();
    let manifest = manifest.replacen("1.0.0", "1.1.0", 1);
    std::fs::write(own.join("manifest.toml"), manifest).unwrap();
    let add = ["--yes", "executor", "add", own.to_str().unwrap()];
    assert_eq!(home.run(add).code, 0);
    let home = grown(home);
    assert_eq!(home.run(["--yes", "log", "archive", "--before", "999999"]).code, 0);
    assert_eq!(home.run(["log", "backup"]).code, 0);
    let events = home.run(["--json", "log", "status"]).json()["events"].as_u64().unwrap();
    std::fs::OpenOptions::new().write(true).open(log_of(&home)).unwrap().set_len(4096).unwrap();
    let salvage = |name: &str, more: &[&str]| {
        let to = home.files().join(name);
        let mut words = vec!["log", "salvage", "--to", to.to_str().unwrap()];
        words.extend(more);
        home.run(words)
    };
    let said = salvage("first", &["--json"]).json();
    let last = said["last"].as_u64().unwrap();
    let backup = home.metnos().join("data/backups/own");
    assert!(last < events && said["copied"].as_u64() == Some(last), "{said}");
    assert_eq!((&said["seen"], &said["backup"]), (&events.into(), &backup.to_str().unwrap().into()), "{said}");
    let said = salvage("new", &[]);
    assert_eq!(said.code, 0, "{}", said.err);
    for words in [
        format!("What was appended after event {last} may be lost as well"),
        format!("knows of {events} events, so at least {} more are lost", events - last),
        format!("metnos --home NEW log restore {}", backup.display()),
    ] {
        assert!(said.out.contains(&words), "{words} in: {}", said.out);
    }
    let new = home.files().join("new");
    let at = |words: &[&str]| {
        let mut args = vec!["--home", new.to_str().unwrap()];
        args.extend(words);
        home.run(args)
    };
    let asked = at(&["ask", "read the file ~/safe.txt"]);
    assert_eq!(asked.code, 0, "{} {}", asked.out, asked.err);
    assert!(asked.out.contains(SECRET), "{}", asked.out);
    let brought = format!("{} executors signed and active", super::home::seeds() - 1);
    assert!(asked.err.contains(&brought), "{brought} in: {}", asked.err);
    let stands = "get_now is quarantined and does not run: 1.1.0/main.py is lost";
    assert!(asked.err.contains(stands), "{}", asked.err);
    let again = at(&["ask", "read the file ~/safe.txt"]);
    assert!(again.code == 0 && again.err.is_empty(), "told once: {}", again.err);
    let mut words = vec!["--home", new.to_str().unwrap()];
    words.extend(add);
    assert_eq!(home.run(words).code, 0, "what others made is added again");
    assert_eq!(at(&["ask", "what time is it in Tokyo"]).code, 0);
    assert_eq!(at(&["log", "verify"]).code, 0);
    assert_eq!(at(&["replay", "check"]).code, 0);
    // The file as a whole gone, and its backup restored by the words that were told.
    let whole = home.files().join("whole");
    super::home::copy_tree(&home.metnos().join("config/keys"), &whole.join("config/keys"));
    let restore = ["--home", whole.to_str().unwrap(), "log", "restore", backup.to_str().unwrap()];
    assert_eq!(home.run(restore).code, 0);
}

/// What a log lost at its end it does not tell itself: something else in the home does.
#[test]
fn an_end_that_only_other_files_have_seen_is_told() {
    let home = told();
    let log = log_of(&home);
    let older = std::fs::read(&log).unwrap();
    let events = |ran: Ran| ran.json()["events"].as_u64().unwrap();
    let before = events(home.run(["--json", "log", "status"]));
    assert_eq!(home.ask("what time is it in Tokyo").code, 0);
    assert_eq!(home.run(["log", "backup"]).code, 0);
    let after = events(home.run(["--json", "log", "status"]));
    let backups = home.metnos().join("data/backups");
    let away = home.files().join("backups");
    std::fs::rename(&backups, &away).unwrap();
    std::fs::write(&log, &older).unwrap();
    let said = format!("the log ends at event {before}, but ");
    let verified = home.run(["log", "verify"]);
    plain(&verified, 1, &said);
    let seen = format!("has seen {after}: its end is lost");
    assert!(verified.err.contains("data/projections/") && verified.err.contains(&seen), "{}", verified.err);
    let json = home.run(["--json", "log", "verify"]);
    assert_eq!((json.code, &json.json()["ok"], &json.json()["seen"]), (1, &false.into(), &after.into()));
    std::fs::rename(&away, &backups).unwrap();
    let verified = home.run(["log", "verify"]);
    plain(&verified, 1, &said);
    let restore = format!("metnos --home NEW log restore {}", backups.join("own").display());
    assert!(verified.err.contains(&restore), "{}", verified.err);
    // Also where nothing is left but what the log's writer noted.
    let projections = home.metnos().join("data/projections");
    std::fs::rename(&projections, home.files().join("projections")).unwrap();
    std::fs::rename(&backups, &away).unwrap();
    let verified = home.run(["log", "verify"]);
    assert!(verified.code == 1 && verified.err.contains("data/log/events.head has seen"), "{}", verified.err);
    std::fs::rename(&away, &backups).unwrap();
    // Who goes on is told once, and then it is another course: on record, where nothing else tells it any more.
    let asked = home.run(["--quiet", "ask", "what time is it in Rome"]);
    assert!(asked.code == 0 && asked.err.contains(&format!("The log ends at event {before}")), "{}", asked.err);
    let again = home.ask("what time is it in Rome");
    assert!(again.code == 0 && !again.err.contains("The log ends"), "{}", again.err);
    let lost = format!("events {} to {after}", before + 1);
    let epochs = home.run(["--json", "log", "grep", "--kind", "epoch_opened", &lost]).out;
    assert_eq!(epochs.lines().count(), 1, "{epochs}");
    let verified = home.run(["log", "verify"]);
    let told = format!("here the log had lost its end ({lost})");
    assert!(verified.code == 0 && verified.out.contains(&told), "{} {}", verified.out, verified.err);
    home.is_whole();
    plain(&home.run(["log", "backup"]), 1, "a backup there would lose them");
}

/// What noted how far the log went and tells nothing now is not passed over, and whoever opened a pipe there waited for ever.
#[test]
fn what_lies_in_the_place_of_the_note_is_told() {
    let home = told();
    let note = log_of(&home).with_extension("head");
    for kind in ["pipe", "folder"] {
        std::fs::remove_file(&note).unwrap();
        if kind == "pipe" {
            assert!(std::process::Command::new("mkfifo").arg(&note).status().unwrap().success());
        } else {
            std::fs::create_dir(&note).unwrap();
        }
        let verified = home.run(["log", "verify"]);
        assert!(
            verified.code == 0 && verified.out.contains("it is no plain file"),
            "{} {}",
            verified.out,
            verified.err
        );
        let json = home.run(["--json", "log", "verify"]).json();
        assert_eq!(json["unreadable_note"]["file"], note.to_str().unwrap());
        assert_eq!(home.ask("what time is it in Tokyo").code, 0);
        let verified = home.run(["log", "verify"]);
        assert_eq!(verified.out.contains("it is no plain file"), kind == "folder", "{kind}: {}", verified.out);
    }
    std::fs::remove_dir(&note).unwrap();
    home.is_whole();
}

/// What was made of a log that is gone was taken for the lost end of the one that was begun after it.
#[test]
fn who_begins_anew_has_lost_nothing() {
    let home = told();
    let (log, executors) = (log_of(&home), home.metnos().join("workspace/executors"));
    std::fs::write(&log, "").unwrap();
    let verified = home.run(["log", "verify"]);
    assert!(verified.code > 0 && verified.err.contains("move the home's data folder and"), "{}", verified.err);
    let own = home.metnos().join("data/backups/own");
    let occupied = home.run(["log", "restore", own.to_str().unwrap()]);
    assert!(occupied.code == 1 && occupied.err.contains("move away first what is there"), "{}", occupied.err);
    // Without what is said of the data folder.
    std::fs::rename(&executors, home.files().join("executors")).unwrap();
    std::fs::remove_file(log.with_extension("head")).unwrap();
    assert_eq!(home.ask("what time is it in Tokyo").code, 0);
    let verified = home.run(["--json", "log", "verify"]);
    assert_eq!((verified.code, &verified.json()["epochs"]), (0, &serde_json::json!([])), "{}", verified.out);
    // As it is said.
    std::fs::rename(home.metnos().join("data"), home.files().join("data")).unwrap();
    std::fs::rename(&executors, home.files().join("executors-too")).unwrap();
    assert_eq!(home.ask("what time is it in Tokyo").code, 0);
    assert_eq!(home.run(["log", "backup"]).code, 0);
    home.is_whole();
}

/// A file that lies alone has nothing beside it that knows more; keys and settings may be links.
#[test]
fn a_file_that_lies_alone_is_told_of_and_linked_keys_come_along() {
    let home = told();
    let alone = home.files().join("alone.redb");
    std::fs::copy(log_of(&home), &alone).unwrap();
    let (keys, kept) = (home.metnos().join("config/keys"), home.files().join("keys"));
    std::fs::rename(&keys, &kept).unwrap();
    std::os::unix::fs::symlink(&kept, &keys).unwrap();
    for (language, said) in [("en", "events are copied as they were"), ("it", "eventi")] {
        let to = home.files().join(language);
        let words = ["--lang", language, "log", "salvage", alone.to_str().unwrap(), "--to", to.to_str().unwrap()];
        let salvaged = home.run(words);
        assert!(salvaged.code == 0 && salvaged.out.contains(said), "{} {}", salvaged.out, salvaged.err);
        assert!(!salvaged.out.contains("[log"), "{}", salvaged.out);
        let asked = home.run(["--home", to.to_str().unwrap(), "ask", "what time is it in Tokyo"]);
        assert_eq!(asked.code, 0, "{}", asked.err);
        assert!(to.join("config/keys/instance.ed25519").is_file());
    }
}

/// The key that signed what is there was admitted by one of the first events.
#[test]
fn a_home_whose_log_lost_its_beginning_works() {
    let home = grown(told());
    let log = log_of(&home);
    let mut bytes = std::fs::read(&log).unwrap();
    // The segment of event 1 is a frame of zstd; without the start of it, none of its events is there.
    let holds_first = |at: &usize| {
        let Ok(length) = zstd::zstd_safe::find_frame_compressed_size(&bytes[*at..]) else { return false };
        let plain = bytes.get(*at..*at + length).and_then(|frame| zstd::decode_all(frame).ok()).unwrap_or_default();
        plain.windows(16).any(|part| part == b"instance_created")
    };
    let mut frames = (0..bytes.len() - 4).filter(|at| bytes[*at..*at + 4] == [0x28, 0xb5, 0x2f, 0xfd]);
    let frame = frames.find(holds_first).unwrap();
    bytes[frame..frame + 64].fill(0);
    std::fs::write(&log, &bytes).unwrap();
    let new = home.files().join("new");
    let said = home.run(["--json", "log", "salvage", "--to", new.to_str().unwrap()]);
    assert_eq!(said.code, 0, "{}", said.err);
    let said = said.json();
    assert!(said["runs"][0][0] == 1 && said["runs"][0][1].as_u64() > Some(2), "the beginning is lost: {said}");
    let at = |words: &[&str]| {
        let mut args = vec!["--home", new.to_str().unwrap()];
        args.extend(words);
        home.run(args)
    };
    for _ in 0..2 {
        let asked = at(&["ask", "read the file ~/safe.txt"]);
        assert!(asked.code == 0 && asked.out.contains(SECRET), "{} {}", asked.out, asked.err);
        assert!(!asked.err.contains("quarantined"), "{}", asked.err);
    }
    assert!(at(&["key", "list"]).out.contains("this instance"));
    assert_eq!((at(&["log", "verify"]).code, at(&["replay", "check"]).code), (0, 0));
}

#[test]
fn the_log_of_another_key_is_not_taken_over() {
    let home = told();
    let other = Home::empty(User::Current);
    assert_eq!(other.run(["config", "show"]).code, 0);
    let before = std::fs::read(log_of(&home)).unwrap();
    std::fs::create_dir_all(log_of(&other).parent().unwrap()).unwrap();
    std::fs::write(log_of(&other), &before).unwrap();
    std::fs::create_dir_all(other.metnos().join("config/keys")).unwrap();
    if !other.metnos().join("config/keys/instance.ed25519").exists() {
        let key = other.metnos().join("config/keys/instance.ed25519");
        std::fs::write(&key, "07".repeat(32)).unwrap();
        std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }
    let asked = other.run(["ask", "what time is it in Tokyo"]);
    assert_eq!(asked.code, 2, "{}", asked.err);
    let to = other.files().join("new.redb");
    let salvaged = other.run(["log", "salvage", "--to", to.to_str().unwrap()]);
    assert_ne!(salvaged.code, 0, "{}", salvaged.out);
    assert!(!to.exists());
    // Where its first event no longer says whose it is: it was gone on with, and signed.
    let mut damaged = before.clone();
    for at in memchr::memmem::find_iter(&before, &[0x28, 0xb5, 0x2f, 0xfd]) {
        damaged[at + 9] ^= 1;
    }
    std::fs::write(log_of(&other), &damaged).unwrap();
    for words in [["ask", "what time is it in Tokyo"].as_slice(), &["log", "status"], &["log", "checkpoint"]] {
        let ran = other.run(words);
        assert!(ran.code == 2 && ran.err.contains("config/keys"), "{words:?} {} {}", ran.out, ran.err);
        assert!(std::fs::read(log_of(&other)).unwrap() == damaged, "{words:?} wrote to it");
    }
    let salvaged = other.run(["log", "salvage", "--to", to.to_str().unwrap()]);
    assert!(salvaged.code == 1 && salvaged.err.contains("another instance"), "{} {}", salvaged.out, salvaged.err);
    assert!(!to.exists());
}

/// Nobody writes into a pipe that lies there, and whoever read it waited for ever.
#[test]
fn what_is_no_file_in_a_backup_is_said_to_be_none() {
    let home = told();
    assert_eq!(home.run(["log", "backup"]).code, 0);
    let sound = home.metnos().join("data/backups/own");
    let place = home.files().join("new");
    super::home::copy_tree(&home.metnos().join("config/keys"), &place.join("config/keys"));
    for name in ["backup.json", "tail.seg", "events.seg"] {
        for kind in ["pipe", "folder"] {
            let folder = home.files().join(format!("{kind}-{name}"));
            super::home::copy_tree(&sound, &folder);
            let path = folder.join(name);
            std::fs::remove_file(&path).ok();
            if kind == "pipe" {
                rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
            } else {
                std::fs::create_dir(&path).unwrap();
            }
            let restored = home.run(["--home", place.to_str().unwrap(), "log", "restore", folder.to_str().unwrap()]);
            plain(&restored, 1, "it is no plain file");
            assert!(restored.err.contains("name the folder that a backup was written to"), "{}", restored.err);
            plain(&home.run(["log", "backup", folder.to_str().unwrap()]), 1, "it is no plain file");
        }
    }
    let file = sound.join("backup.json");
    plain(
        &home.run(["--home", place.to_str().unwrap(), "log", "restore", file.to_str().unwrap()]),
        1,
        "not a directory",
    );
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("\"format\":1", "\"format\":9", 1)).unwrap();
    let newer = home.run(["--home", place.to_str().unwrap(), "log", "restore", sound.to_str().unwrap()]);
    plain(&newer, 1, "layout 9");
    assert!(newer.err.contains("run the newer metnos"), "{}", newer.err);
}

//! Damaged, foreign, newer and locked logs, and archives that are away: a plain answer, the exit code, and no byte of the file is
//! another afterwards.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::daemon::Daemon;
use super::erasing::holding;
use super::home::{Home, Ran, User, is_root, users};

/// What must hold of every answer about a log that cannot be used.
#[track_caller]
pub(super) fn plain(ran: &Ran, code: i32, said: &str) {
    assert_eq!(ran.code, code, "{} {}", ran.out, ran.err);
    assert!(ran.err.contains("error: ") && ran.err.contains("hint: "), "{}", ran.err);
    assert!(ran.err.to_lowercase().contains(said), "{said} in: {}", ran.err);
    for word in ["panicked", "RUST_BACKTRACE", "unwrap", "Os {"] {
        assert!(!ran.err.contains(word), "{word} in: {}", ran.err);
    }
}

pub(super) fn log_of(home: &Home) -> PathBuf {
    home.metnos().join("data/log/events.redb")
}

pub(super) fn told() -> Home {
    let home = Home::new();
    home.file("a.txt", "1\n2\n3\n4\n");
    assert_eq!(home.ask("read the file a.txt and tell me the last three lines").code, 0);
    assert_eq!(home.ask("what time is it in Tokyo").code, 0);
    home
}

/// The same log, said to be of format 99.
fn made_newer(log: &[u8]) -> Vec<u8> {
    let mut newer = log.to_vec();
    let keys = b"checkpointsformatlog_id";
    // The values follow in the order of their keys.
    let format_at = keys.len() + 40;
    let rows: Vec<usize> = memchr::memmem::find_iter(log, keys).collect();
    assert!(!rows.is_empty(), "no row of the format");
    for at in rows {
        newer[at + format_at] = 99;
    }
    newer
}

#[test]
fn a_file_that_is_no_sound_log_is_said_to_be_so_and_stays() {
    let home = told();
    let log = log_of(&home);
    let sound = std::fs::read(&log).unwrap();
    let mut zeroed = sound.clone();
    zeroed[..8192].fill(0);
    let sqlite = [b"SQLite format 3\0".as_slice(), &[1; 5000]].concat();
    let cut = sound[..sound.len() / 3].to_vec();
    for (bytes, what) in [
        (cut, "cut"),
        (zeroed, "zeroed"),
        (sqlite, "SQLite"),
        (b"milk, bread\n".to_vec(), "text"),
        (vec![0; 70_000], "nothing but zeros"),
    ] {
        std::fs::write(&log, &bytes).unwrap();
        for command in
            [["log", "verify"].as_slice(), &["ask", "what time is it in Tokyo"], &["status"], &["log", "compact"]]
        {
            let ran = home.run(command);
            plain(&ran, 2, "damaged or no log");
            assert!(ran.err.contains("log salvage"), "{what}: {}", ran.err);
            assert!(std::fs::read(&log).unwrap() == bytes, "{what}: {command:?} changed the file");
        }
        let italian = home.run(["--lang", "it", "log", "verify"]);
        assert!(italian.err.contains("log salvage --to"), "{}", italian.err);
    }
    // Of a newer program: told apart from damage.
    std::fs::write(&log, made_newer(&sound)).unwrap();
    plain(&home.run(["ask", "what time is it in Tokyo"]), 2, "has format 99");
    // A checkpoint whose signature is another's.
    let mut forged = sound.clone();
    for at in memchr::memmem::find_iter(&sound, "\n\u{2014} metnos/".as_bytes()) {
        let end = at + memchr::memchr(b'\n', &sound[at + 1..]).unwrap();
        forged[end - 9] = if sound[end - 9] == b'A' { b'B' } else { b'A' };
    }
    std::fs::write(&log, &forged).unwrap();
    plain(&home.run(["log", "verify"]), 1, "(table checkpoints)");
    // Blobs that are not what their names say.
    let mut changed = sound.clone();
    for at in memchr::memmem::find_iter(&sound, &[0x28, 0xb5, 0x2f, 0xfd]) {
        changed[at + 9] ^= 1;
    }
    std::fs::write(&log, &changed).unwrap();
    let verified = home.run(["--json", "log", "verify"]);
    assert_eq!(verified.code, 1, "{}", verified.err);
    assert!(["blobs", "segments"].contains(&verified.json()["table"].as_str().unwrap()), "{}", verified.out);
    // Nothing at all is no new beginning while executors of the old one are there.
    std::fs::write(&log, b"").unwrap();
    plain(&home.run(["ask", "what time is it in Tokyo"]), 2, "missing or empty");
    assert_eq!(std::fs::metadata(&log).unwrap().len(), 0);
    std::fs::write(&log, sound).unwrap();
    home.is_whole();
}

/// What only tells of a log makes none, and so is in the way of no restore.
#[test]
fn where_no_log_is_nothing_is_made_by_looking() {
    let place = tempfile::tempdir().unwrap();
    let home = Home::empty(User::Current);
    let at = |folder: &Path, words: &[&str]| -> Ran {
        home.command().args(["--home", folder.to_str().unwrap()]).args(words).output().unwrap().into()
    };
    let nowhere = place.path().join("home");
    let backup = place.path().join("backup");
    for words in [
        ["log", "verify"].as_slice(),
        &["log", "export"],
        &["log", "grep", "x"],
        &["log", "backup", backup.to_str().unwrap()],
        &["log", "show", "1"],
        &["log", "tail"],
        &["replay", "check"],
        &["audit", "export"],
        &["at", "1"],
        &["diff", "1", "2"],
    ] {
        let ran = at(&nowhere, words);
        plain(&ran, 1, "there is no log here");
        let next =
            format!("metnos --home {0} log restore DIR restores a backup; metnos --home {0} status", nowhere.display());
        assert!(ran.err.contains(&next), "{}", ran.err);
        assert!(!nowhere.exists() && !backup.exists(), "{words:?} made something");
    }
    std::fs::create_dir_all(nowhere.join("data/log")).unwrap();
    std::fs::write(nowhere.join("data/log/events.redb.new"), "half").unwrap();
    let ran = at(&nowhere, &["log", "verify"]);
    plain(&ran, 1, "events.redb.new");
    assert!(!nowhere.join("config").exists());
    // Where a restore broke off, no other log begins.
    let restoring = nowhere.join("data/log/events.redb.restoring");
    std::fs::write(&restoring, "half").unwrap();
    for words in [&["log", "verify"][..], &["status"], &["ask", "what time is it"]] {
        let ran = at(&nowhere, words);
        assert!(ran.code != 0 && ran.err.contains("events.redb.restoring"), "{words:?}: {}", ran.err);
        assert!(ran.err.contains("log restore DIR again") && ran.err.contains("delete"), "{}", ran.err);
        assert!(!nowhere.join("data/log/events.redb").exists() && restoring.exists(), "{words:?} made a log");
    }
    std::fs::remove_file(&restoring).unwrap();
    // An empty file is no log, and is there; where something has seen one in its place, that says more.
    let (log, seen) = (nowhere.join("data/log/events.redb"), nowhere.join("data/log/events.head"));
    std::fs::write(&log, "").unwrap();
    plain(&at(&nowhere, &["log", "status"]), 1, "events.redb is empty");
    std::fs::write(&seen, "what was there").unwrap();
    plain(&at(&nowhere, &["log", "status"]), 2, "events.head says that there was a log");
    std::fs::remove_file(&seen).unwrap();
    std::fs::remove_file(&log).unwrap();
    assert_eq!(at(&nowhere, &["status"]).code, 0);
    assert_eq!(at(&nowhere, &["log", "verify"]).code, 0);
}

/// What is no file is said to be what it is, and stays.
#[test]
fn what_is_no_file_is_no_log() {
    let home = Home::new();
    let log = log_of(&home);
    std::fs::remove_file(&log).unwrap();
    for (what, said) in
        [("loop", "back to itself"), ("dangling", "where nothing is"), ("pipe", "a pipe"), ("folder", "a folder")]
    {
        match what {
            "loop" => std::os::unix::fs::symlink(&log, &log).unwrap(),
            "dangling" => std::os::unix::fs::symlink("nowhere", &log).unwrap(),
            "pipe" => assert!(std::process::Command::new("mkfifo").arg(&log).status().unwrap().success()),
            _ => std::fs::create_dir(&log).unwrap(),
        }
        let to = home.files().join("saved");
        for words in [
            ["log", "verify"].as_slice(),
            &["ask", "what time is it"],
            &["log", "salvage", "--to", to.to_str().unwrap()],
        ] {
            plain(&home.run(words), 2, said);
        }
        assert!(log.symlink_metadata().is_ok_and(|there| !there.is_file()));
        if what == "folder" { std::fs::remove_dir(&log).unwrap() } else { std::fs::remove_file(&log).unwrap() }
    }
}

/// What a killed command left is repaired by whoever goes on with it, and by nobody who only looks, or who finds that it is not what
/// it should be.
#[test]
fn a_log_that_is_not_gone_on_with_is_not_written_to() {
    let home = told();
    let log = log_of(&home);
    let mut killed = home.command_with([("METNOS_KILL_AT", "append:2:after")]);
    assert_ne!(Ran::from(killed.args(["ask", "what time is it in Tokyo"]).output().unwrap()).code, 0);
    let sound = std::fs::read(&log).unwrap();
    assert_eq!(home.run(["log", "verify"]).code, 0);
    assert!(std::fs::read(&log).unwrap() == sound, "verification wrote to a sound log");
    let mut damaged = sound.clone();
    for at in memchr::memmem::find_iter(&sound, &[0x28, 0xb5, 0x2f, 0xfd]) {
        damaged[at + 9] ^= 1;
    }
    std::fs::write(&log, &damaged).unwrap();
    let verified = home.run(["log", "verify"]);
    assert!([1, 2].contains(&verified.code), "{}", verified.err);
    assert!(std::fs::read(&log).unwrap() == damaged, "verification wrote to a damaged log");
    std::fs::write(&log, sound).unwrap();
    assert_eq!(home.ask("what time is it in Tokyo").code, 0);
    home.is_whole();
    let newer = made_newer(&std::fs::read(&log).unwrap());
    std::fs::write(&log, &newer).unwrap();
    for words in [["log", "verify"].as_slice(), &["ask", "what time is it in Tokyo"], &["log", "tail"]] {
        plain(&home.run(words), 2, "has format 99");
        assert!(std::fs::read(&log).unwrap() == newer, "{words:?} wrote to a newer log");
    }
    let to = home.files().join("saved");
    plain(&home.run(["log", "salvage", "--to", to.to_str().unwrap()]), 2, "has format 99");
    assert!(!to.exists());
}

/// What the system refuses is no damage: the hint says what helps, and nothing half made is in the way of the next try.
#[test]
fn what_the_system_refuses_is_told_with_what_helps() {
    let home = told();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for command in [["log", "export"].as_slice(), &["--json", "log", "status"], &["audit", "export", "--kind", "turns"]]
    {
        let ran: Ran = home.command().args(command).stdout(full.try_clone().unwrap()).output().unwrap().into();
        plain(&ran, 2, "could not be written");
        assert!(ran.err.contains("free some space"), "{command:?}: {}", ran.err);
    }
    let daemon = Daemon::serve(&home);
    let ran: Ran = home.command().args(["log", "export"]).stdout(full).output().unwrap().into();
    plain(&ran, 2, "free some space");
    daemon.stop();
    // A salvage that found nothing leaves nothing: the same folder can be named again.
    let (nothing, to) = (home.file("nothing.redb", "milk, bread\n"), home.files().join("deep/new"));
    for _ in 0..2 {
        plain(&home.run(["log", "salvage", nothing.to_str().unwrap(), "--to", to.to_str().unwrap()]), 1, "log restore");
        assert!(!home.files().join("deep").exists());
    }
    // What says what a backup holds can be written anew.
    let backup = home.files().join("backup");
    let copied = || home.run(["log", "backup", backup.to_str().unwrap()]);
    assert_eq!(copied().code, 0);
    let summary = backup.join("backup.json");
    std::fs::write(&summary, "{\"format\":1,").unwrap();
    let other = Home::empty(User::Current);
    let keys = "config/keys";
    super::home::copy_tree(&home.metnos().join(keys), &other.metnos().join(keys));
    let restore = || other.run(["log", "restore", backup.to_str().unwrap()]);
    for ran in [restore(), copied()] {
        plain(&ran, 1, "backup.json is damaged");
        assert!(ran.err.contains(&format!("remove {}", summary.display())), "{}", ran.err);
    }
    std::fs::remove_file(&summary).unwrap();
    assert_eq!(copied().code, 0);
    assert_eq!(restore().code, 0);
}

/// What is made of the log is made again, and that is said once, to a person.
#[test]
fn a_damaged_index_is_told_once() {
    let home = told();
    let search = ["turn", "search", "tokyo"].as_slice();
    let export = ["audit", "export", "--kind", "turns"].as_slice();
    for (command, file, index) in
        [(search, "search", "search over turns"), (export, "audit_index", "index of the audit")]
    {
        let before = home.run(command);
        assert_eq!((before.code, before.err.as_str()), (0, ""), "{}", before.out);
        let path = home.metnos().join(format!("data/projections/{file}.redb"));
        for damage in [b"milk, bread".to_vec(), vec![0; 70_000]] {
            std::fs::write(&path, damage).unwrap();
            let ran = home.run(command);
            assert_eq!((ran.code, &ran.out), (0, &before.out), "{}", ran.err);
            assert!(
                ran.err.lines().count() == 1 && ran.err.contains(index) && ran.err.contains("made anew"),
                "{}",
                ran.err
            );
            assert_eq!(home.run(command).err, "");
        }
    }
}

/// Nobody is sent to verify the log where something belongs to another user.
#[test]
fn a_missing_right_is_told_with_whose_it_is() {
    if !is_root() {
        eprintln!("SKIPPED a_missing_right_is_told_with_whose_it_is: only root gives a folder to others");
        return;
    }
    let home = Home::of(User::Ordinary);
    let closed = tempfile::tempdir().unwrap();
    std::fs::set_permissions(closed.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let below = |name: &str| closed.path().join(name).to_str().unwrap().to_owned();
    let shows = format!("ls -ld {} shows whose", closed.path().display());
    let (folder, file) = (below("backup"), below("file"));
    for command in [
        ["log", "backup", &folder].as_slice(),
        &["log", "anchor", &file],
        &["log", "verify", "--anchor", &file],
        &["audit", "export", "--kind", "turns", "--out", &file],
        &["record-test", "--out", &folder],
    ] {
        let ran = home.run(command);
        assert!(ran.code > 0 && ran.err.contains("Permission denied") && ran.err.contains(&shows), "{}", ran.err);
    }
    // What is one's own is not somebody else's: its rights are what is missing.
    let own = home.files().join("own");
    std::fs::create_dir(&own).unwrap();
    home.own(&own);
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o555)).unwrap();
    let ran = home.run(["log", "anchor", own.join("note").to_str().unwrap()]);
    let allows = format!("chmod u+rwX {} {}", home.files().display(), own.display());
    assert!(ran.code > 0 && ran.err.contains(&allows), "{}", ran.err);
    // A folder is of use with all three: what is said helps.
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o000)).unwrap();
    let words: Vec<&str> = allows.split(' ').collect();
    assert!(std::process::Command::new(words[0]).args(&words[1..]).status().unwrap().success());
    assert_eq!(home.run(["log", "anchor", own.join("note").to_str().unwrap()]).code, 0);
    let log = log_of(&home);
    std::os::unix::fs::chown(&log, Some(0), Some(0)).unwrap();
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o600)).unwrap();
    let ran = home.run(["log", "status"]);
    plain(&ran, 2, "run metnos as that user");
    assert!(ran.err.contains(&format!("ls -ld {}", log.display())), "{}", ran.err);
    assert!(ran.err.contains("cannot be opened for writing: it belongs to root and has the mode 600"), "{}", ran.err);
    home.own(&home.metnos());
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o444)).unwrap();
    let ran = home.run(["log", "status"]);
    plain(&ran, 2, "has the mode 444");
    assert!(ran.err.contains(&format!("chmod u+rw {}", log.display())), "{}", ran.err);
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o600)).unwrap();
    // A key that may not be read is there.
    let key = home.metnos().join("config/keys/instance.ed25519");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o000)).unwrap();
    let ran = home.run(["log", "status"]);
    assert!(
        ran.code == 2
            && ran.err.contains(&format!("chmod u+rwX {} {}", key.parent().unwrap().display(), key.display())),
        "{}",
        ran.err
    );
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    home.own(&home.metnos());
    home.is_whole();
}

pub(super) const SECRET: &str = "the combination is 4711";

/// A home with so much history that some of it is sealed.
fn long_told() -> Home {
    grown(told())
}

pub(super) fn grown(home: Home) -> Home {
    home.file("safe.txt", SECRET);
    assert_eq!(home.ask("read the file ~/safe.txt").code, 0);
    for number in 0..12_u64 {
        let digest = |part: u64| blake3::hash(&(1000 * number + part).to_le_bytes()).to_hex().to_string();
        home.file(format!("{number}.txt"), (0..200).map(digest).collect::<Vec<_>>().join("\n"));
        assert_eq!(home.ask(&format!("read the file ~/{number}.txt")).code, 0);
    }
    home
}

/// The same with the sealed part archived.
fn archived() -> (Home, Vec<PathBuf>) {
    let home = long_told();
    let asked = home.run(["log", "archive", "--before", "999999"]);
    assert_eq!(asked.code, 3, "nobody is there to say yes: {}", asked.err);
    let moved = home.run(["--yes", "--json", "log", "archive", "--before", "999999"]);
    assert_eq!(moved.code, 0, "{}", moved.err);
    let files = moved.json()["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap().into()).collect();
    (home, files)
}

#[test]
fn archived_history_is_part_of_the_log_and_a_file_that_is_away_is_named() {
    let (home, files) = archived();
    let verified = home.run(["--json", "log", "verify"]).json();
    assert_eq!(verified["ok"], true, "{verified}");
    assert!(verified["archived"].as_u64() > Some(0), "{verified}");
    assert_eq!(home.run(["--json", "replay", "check"]).json()["ok"], true);
    assert_eq!(home.run(["log", "compact"]).code, 0);
    assert_eq!(home.run(["log", "show", "1"]).code, 0);
    let nothing = home.run(["--yes", "log", "archive", "--before", "999999"]);
    plain(&nothing, 1, "no sealed history");

    let away = home.files().join("away.seg");
    std::fs::rename(&files[0], &away).unwrap();
    let name = files[0].file_name().unwrap().to_str().unwrap();
    assert_eq!(home.ask("what time is it in Tokyo").code, 0, "a turn today needs no history");
    for words in [&["status"][..], &["log", "status"]] {
        let told = home.run(words);
        assert!(told.code == 0 && told.out.contains(name) && told.out.contains("is not there"), "{}", told.out);
    }
    for (words, code) in [(["log", "show", "1"].as_slice(), 2), (&["log", "verify"], 1), (&["log", "export"], 2)] {
        let ran = home.run(words);
        plain(&ran, code, "missing");
        assert!(ran.err.contains(name) && ran.err.contains("bring that file back"), "{words:?}: {}", ran.err);
    }
    let erased = home.run(["--yes", "log", "erase", "--text", "the combination is 4711"]);
    assert_ne!(erased.code, 0);
    assert!(erased.err.contains(name), "{}", erased.err);
    let bytes = std::fs::read(&away).unwrap();
    std::fs::write(&files[0], &bytes[..bytes.len() - 9]).unwrap();
    plain(&home.run(["log", "verify"]), 1, "cut short");
    std::fs::write(&files[0], &bytes).unwrap();
    assert_eq!(home.run(["--json", "log", "verify"]).json()["ok"], true);
    let back = home.files().join("backup");
    assert_eq!(home.run(["log", "backup", back.to_str().unwrap()]).code, 0);
    std::fs::remove_dir_all(home.metnos().join("data/log")).unwrap();
    assert_eq!(home.run(["log", "restore", back.to_str().unwrap()]).code, 0);
    let restored = home.run(["--json", "log", "verify"]).json();
    assert_eq!((&restored["ok"], &restored["archived"]), (&true.into(), &0.into()), "{restored}");
}

/// Kill -9 around every step of archiving, compacting and erasing: the log verifies each time, and the same command again comes to
/// its end.
#[test]
fn a_kill_between_any_two_steps_loses_nothing() {
    let (laid, _) = archived();
    let unarchived = long_told();
    let archive = ["--yes", "log", "archive", "--before", "999999"].as_slice();
    for (from, words) in [(&unarchived, archive), (&laid, &["--yes", "log", "erase", "--text", SECRET])] {
        let mut kills = 0;
        for step in 1..40 {
            for side in ["before", "after"] {
                let place = tempfile::tempdir().unwrap();
                let copy = place.path().join("home");
                super::home::copy_tree(&from.metnos(), &copy);
                let at = |words: &[&str], kill: Option<&str>| {
                    let mut command = from.command_with(kill.map(|kill| ("METNOS_KILL_AT", kill)));
                    command.args(["--home", copy.to_str().unwrap()]).args(words);
                    Ran::from(command.output().unwrap())
                };
                let events = at(&["--json", "log", "status"], None).json()["events"].as_u64();
                let killed = at(words, Some(&format!("append:{step}:{side}")));
                let survived = killed.code == 0;
                kills += u64::from(!survived);
                let verified = at(&["--json", "log", "verify"], None).json();
                if verified["ok"] == true {
                    assert!(verified["events"].as_u64() >= events, "{words:?} {step} {side}");
                } else {
                    // The archive follows the log: until it has, what was erased is said to be there.
                    let error = verified["error"].as_str().unwrap();
                    assert!(words.contains(&"erase") && error.contains("was erased"), "{step} {side}: {error}");
                    let said = at(&["log", "verify"], None);
                    assert!(said.err.contains("log erase again"), "{}", said.err);
                    assert!(at(&["status"], None).out.contains("broke off"));
                }
                // The next command goes on with what is pending; the same one again finds nothing, or does it.
                assert_eq!(at(&["ask", "what time is it in Tokyo"], None).code, 0);
                let again = at(words, None);
                assert!([0, 1].contains(&again.code), "{words:?} {step} {side}: {}", again.err);
                if words.contains(&"erase") {
                    assert_eq!(holding(&copy, SECRET), Vec::<PathBuf>::new(), "{step} {side}");
                }
                assert_eq!(at(&["--json", "log", "verify"], None).json()["ok"], true);
                if survived && side == "after" {
                    assert!(kills > 2, "{words:?}: {kills} kills");
                    break;
                }
            }
            if kills < 2 * step {
                break;
            }
        }
        assert!(kills > 2, "{words:?}: {kills} kills");
    }
}

/// What may not be looked for is there all the same: nobody is told to put it back, or to begin anew.
#[test]
fn a_folder_that_may_not_be_looked_into_is_named() {
    let home = Home::of(*users().last().unwrap());
    assert_eq!(home.ask("what time is it in Tokyo").code, 0);
    let set =
        |folder: &Path, mode: u32| std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
    for name in ["data/log", "config/keys", "data", "config", ""] {
        let folder = home.metnos().join(name);
        let mode = folder.metadata().unwrap().permissions().mode();
        set(&folder, 0);
        for words in [&["log", "status"][..], &["ask", "what time is it in Tokyo"]] {
            let ran = home.run(words);
            let named = folder.to_str().unwrap().trim_end_matches('/');
            plain(&ran, 2, &format!("{named} may not be looked into").to_lowercase());
            assert!(ran.err.contains(&format!("chmod u+rwx {named}")), "{name}: {}", ran.err);
        }
        set(&folder, mode);
    }
    assert_eq!(home.ask("what time is it in Tokyo").code, 0);
    // A disk that is not there.
    let log = home.metnos().join("data/log");
    std::fs::rename(&log, home.metnos().join("data/kept")).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", &log).unwrap();
    plain(&home.run(["log", "status"]), 2, "is a link to /nowhere/at/all, where nothing is");
    std::fs::remove_file(&log).unwrap();
    std::fs::rename(home.metnos().join("data/kept"), &log).unwrap();
    home.is_whole();
}

/// A setting that cannot be put on record is not set.
#[test]
fn a_setting_is_as_it_was_where_it_cannot_be_recorded() {
    let home = Home::new();
    assert_eq!(home.run(["config", "set", "language", "en"]).code, 0);
    let file = home.metnos().join("config/metnos.toml");
    let (before, log) = (std::fs::read(&file).unwrap(), log_of(&home));
    let sound = std::fs::read(&log).unwrap();
    for there in [true, false] {
        if !there {
            std::fs::remove_file(&file).unwrap();
        }
        std::fs::write(&log, &sound[..sound.len() / 2]).unwrap();
        let set = home.run(["config", "set", "language", "it"]);
        assert_eq!(set.code, 2, "{} {}", set.out, set.err);
        assert_eq!(std::fs::read(&file).ok(), there.then(|| before.clone()));
        std::fs::write(&log, &sound).unwrap();
        let set = home.run(["config", "set", "language", "en"]);
        assert_eq!(set.code, 0, "{}", set.err);
    }
}

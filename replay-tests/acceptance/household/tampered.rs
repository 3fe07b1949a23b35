//! A changed artefact quarantines its executor with the reason, and it never runs; a changed log is found.

use super::daemon::Daemon;
use super::home::Home;

#[test]
fn each_changed_artefact_quarantines_and_is_named() {
    for artefact in [
        "1.0.0/main.py",
        "1.0.0/schema.json",
        "1.0.0/manifest.toml",
        "1.0.0/tests/birth.py",
        "1.0.0/profile.lock",
        "1.0.0/manifest.sig",
        "CURRENT",
    ] {
        let home = Home::new();
        home.file("a.txt", "1\n2\n3\n4\n");
        let path = home.metnos().join("workspace/executors/read_files").join(artefact);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.insert(0, b'#');
        std::fs::write(&path, bytes).unwrap();
        let ran = home.run(["--json", "ask", "read the file a.txt and tell me the last three lines"]);
        let record = ran.json();
        assert_ne!(ran.code, 0, "{artefact}: {record}");
        assert!(!ran.out.contains("\"content\""), "{artefact} ran: {record}");
        let listed = home.run(["--json", "executor", "verify"]);
        let file = artefact.rsplit('/').next().unwrap();
        assert_eq!(listed.code, 1);
        assert_eq!(listed.json()["quarantined"][0]["name"], "read_files");
        assert!(listed.json()["quarantined"][0]["reason"].as_str().unwrap().contains(file), "{}", listed.out);
        assert!(home.run(["status"]).out.contains("read_files"));
        // Putting the file back does not bring it back: that takes a person.
        let again = home.ask("read the file a.txt and tell me the last three lines");
        assert_ne!(again.code, 0, "{artefact}");
        home.is_whole();
    }
}

#[test]
fn an_artefact_that_is_gone_quarantines_but_a_lost_folder_is_written_again() {
    let home = Home::new();
    home.file("a.txt", "1\n2\n3\n4\n");
    std::fs::remove_file(home.metnos().join("workspace/executors/read_files/1.0.0/main.py")).unwrap();
    assert_ne!(home.ask("read the file a.txt and tell me the last three lines").code, 0);
    let home = Home::new();
    home.file("a.txt", "1\n2\n3\n4\n");
    std::fs::remove_dir_all(home.metnos().join("workspace/executors")).unwrap();
    let ran = home.ask("read the file a.txt and tell me the last three lines");
    assert_eq!((ran.code, ran.out.as_str()), (0, "2\n3\n4\n"), "{}", ran.err);
}

/// A daemon does not read every file for every turn; it sees all the same that one is another, whatever its size and times say.
#[test]
fn a_daemon_notices_what_was_changed_between_two_turns() {
    for keeps_inode in [true, false] {
        let home = Home::new();
        home.file("a.txt", "1\n2\n3\n4\n");
        let daemon = Daemon::serve(&home);
        let asked = || home.ask("read the file a.txt and tell me the last three lines");
        for _ in 0..2 {
            let ran = asked();
            assert_eq!((ran.code, ran.out.as_str()), (0, "2\n3\n4\n"), "{}", ran.err);
        }
        let path = home.metnos().join("workspace/executors/read_files/1.0.0/main.py");
        let (modified, mut bytes) =
            (std::fs::metadata(&path).unwrap().modified().unwrap(), std::fs::read(&path).unwrap());
        bytes[0] ^= 1;
        if !keeps_inode {
            std::fs::remove_file(&path).unwrap();
        }
        std::fs::write(&path, bytes).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        let ran = asked();
        assert_ne!(ran.code, 0, "{}", ran.out);
        assert!(ran.err.contains("main.py is not the file that was signed"), "{}", ran.err);
        daemon.stop();
        home.is_whole();
    }
}

/// The files that a link leads to may be the very ones that were there.
#[test]
fn a_daemon_notices_a_link_in_the_place_of_a_folder() {
    for part in ["read_files", "read_files/1.0.0", "read_files/1.0.0/tests"] {
        let home = Home::new();
        home.file("a.txt", "1\n2\n3\n4\n");
        let daemon = Daemon::serve(&home);
        let asked = || home.ask("read the file a.txt and tell me the last three lines");
        for _ in 0..2 {
            assert_eq!(asked().code, 0);
        }
        let (place, away) = (home.metnos().join("workspace/executors").join(part), home.files().join("away"));
        std::fs::rename(&place, &away).unwrap();
        std::os::unix::fs::symlink(&away, &place).unwrap();
        let ran = asked();
        assert!(ran.code != 0 && ran.err.contains(&format!("{part} is a link")), "{part}: {} {}", ran.out, ran.err);
        daemon.stop();
        home.is_whole();
    }
}

#[test]
fn a_flipped_byte_in_the_file_is_found() {
    let home = Home::new();
    home.file("a.txt", "1\n2\n3\n4\n");
    for _ in 0..3 {
        home.ask("read the file a.txt and tell me the last three lines");
    }
    let path = home.metnos().join("data/log/events.redb");
    let needle = b"tell me the last three lines";
    let bytes = std::fs::read(&path).unwrap();
    let places: Vec<usize> =
        bytes.windows(needle.len()).enumerate().filter(|(_, window)| *window == needle).map(|(at, _)| at).collect();
    assert!(!places.is_empty());
    let mut found = 0;
    for at in places {
        let mut flipped = bytes.clone();
        flipped[at + 3] ^= 0x20;
        std::fs::write(&path, &flipped).unwrap();
        let ran = home.run(["--json", "log", "verify"]);
        // Old pages that redb no longer uses may hold the text too; a flip there harms nothing.
        if ran.code != 0 {
            found += 1;
            let said = ran.json();
            assert!(said["seq"].as_u64().is_some_and(|seq| seq > 1) && said["exit"] == ran.code, "{}", ran.out);
            assert!(said["hint"].as_str().is_some_and(|hint| hint.contains("log salvage")), "{}", ran.out);
        }
    }
    assert!(found > 0, "no flipped byte was found");
    std::fs::write(&path, &bytes).unwrap();
    home.is_whole();
}

//! Log files of every format that was ever written: a file that an older program left is verified, replayed and gone on with.

use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use crate::home::{Home, User};

/// A home around a recorded log file.
fn home_of(format: &str) -> Home {
    let home = Home::empty(User::Current);
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("replay-tests/logs").join(format);
    let (keys, log) = (home.metnos().join("config/keys"), home.metnos().join("data/log"));
    for folder in [&keys, &log] {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).unwrap();
    }
    let key = keys.join("instance.ed25519");
    std::fs::copy(recorded.join("instance.ed25519"), &key).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let packed = std::fs::read(recorded.join("events.redb.zst")).unwrap();
    std::fs::write(log.join("events.redb"), zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
    if recorded.join("archive").exists() {
        crate::home::copy_tree(&recorded.join("archive"), &log.join("archive"));
    }
    home
}

#[test]
fn a_log_of_format_1_is_read_and_gone_on_with() {
    let home = home_of("format-1");
    let verified = home.run(["--json", "log", "verify"]).json();
    assert_eq!(verified["ok"], true, "{verified}");
    assert_eq!((&verified["events"], &verified["blobs"]), (&293.into(), &173.into()));
    assert_eq!(verified["head"], "417d1aef608802ba1e9a3bc5a314af69a1e290894a1e9b4ea04d6a83aea22e71");
    assert_eq!(verified["range_root"], "9082277fc8044cab14dedaf6eec95a8fa5c0c466289cb7b880b523dde10c8f98");
    let turns = home.run(["turn", "list"]);
    assert!(turns.out.contains("che ore sono a Tokyo"), "{}", turns.out);
    let checked = home.run(["--json", "replay", "check"]).json();
    assert_eq!(checked["ok"], true, "{checked}");
    // What it does next is an event of the old file too, and fills its first segment.
    assert_eq!(home.run(["ask", "what time is it in Tokyo"]).code, 0);
    let status = home.run(["--json", "log", "status"]).json();
    assert_eq!(status["format"], 8);
    let verified = home.run(["--json", "log", "verify"]).json();
    assert_eq!(verified["ok"], true, "{verified}");
    assert!(verified["segments"].as_u64() > Some(0) && verified["checkpoints"].as_u64() > Some(0), "{verified}");
    assert_eq!(home.run(["--json", "replay", "check"]).json()["ok"], true);
}

/// Bringing it up is for whoever it belongs to.
#[test]
fn an_earlier_log_of_another_key_stays_as_it_is() {
    for format in ["format-1", "format-4", "format-7"] {
        let home = home_of(format);
        std::fs::write(home.metnos().join("config/keys/instance.ed25519"), "11".repeat(32)).unwrap();
        let log = home.metnos().join("data/log/events.redb");
        let before = std::fs::read(&log).unwrap();
        for command in [["ask", "what time is it"], ["log", "verify"], ["log", "compact"]] {
            let ran = home.run(command);
            assert_eq!(ran.code, 2, "{} {}", ran.out, ran.err);
            assert!(ran.err.contains("is the key") && ran.err.contains("hint:"), "{}", ran.err);
            assert!(std::fs::read(&log).unwrap() == before, "{format}: {command:?} wrote to it");
        }
    }
}

/// What a recorded log must say of itself, and that it is gone on with.
fn is_gone_on_with(format: &str, counts: [u64; 6], [head, root]: [&str; 2]) {
    let home = home_of(format);
    let verified = home.run(["--json", "log", "verify"]).json();
    let found =
        ["events", "blobs", "segments", "archived", "checkpoints", "erased"].map(|name| verified[name].as_u64());
    assert_eq!(found, counts.map(Some), "{verified}");
    assert_eq!([&verified["head"], &verified["range_root"]], [head, root]);
    let turns = home.run(["turn", "list"]);
    assert!(turns.out.contains("what time is it in Rome"), "{}", turns.out);
    let checked = home.run(["--json", "replay", "check"]).json();
    assert_eq!(checked["ok"], true, "{checked}");
    assert_eq!(home.run(["ask", "what time is it in Tokyo"]).code, 0);
    assert_eq!(home.run(["--json", "log", "status"]).json()["format"], 8);
    assert_eq!(home.run(["--json", "log", "verify"]).json()["ok"], true);
}

#[test]
fn a_log_of_format_2_is_read_and_gone_on_with() {
    let ends = [
        "babac47ba80611d9e4bd9159566ba928dfc9a3b125b7bc60908b881cee222543",
        "0770bcbfd0fd01eadef55425da69829f5018375bdf325c89e3710e334494c39b",
    ];
    is_gone_on_with("format-2", [447, 173, 2, 1, 14, 2], ends);
}

#[test]
fn a_log_of_format_4_is_read_and_gone_on_with() {
    let ends = [
        "23d9e1e176098294c0903231fd1198305ce6d9fafa7d13a55ba21b9fe62d5436",
        "2ea378bb6cf7d39766b640ffd6da544d614f175e0e5fc3e5b480ba2fae7e7262",
    ];
    is_gone_on_with("format-4", [547, 171, 3, 1, 3, 9], ends);
}

#[test]
fn a_log_of_format_7_is_read_and_gone_on_with() {
    let ends = [
        "81356a33990d63ee8ce691b58a54603569d69d069bfc8c2f876fe779907830d5",
        "84d760c774c91e91f73939cff4e8f0ec9fe3c06f8f21088c4da005cc71b9539e",
    ];
    is_gone_on_with("format-7", [569, 171, 2, 1, 41, 16], ends);
}

#[test]
fn a_log_of_format_8_is_read_and_gone_on_with() {
    let ends = [
        "5dbac7ec66d0ba9a3c44a8a014f248702a9337aa3f5f4e3a048f2707b974c435",
        "a6c073718af20077f4b42b0ae9be12539a2ddfbdbffab8965f52f7b32847856b",
    ];
    is_gone_on_with("format-8", [494, 171, 2, 1, 33, 11], ends);
}

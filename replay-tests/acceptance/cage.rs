//! The cage, attacked: executors made to break out run at every level, and each escape is first shown to succeed where its
//! layer is left out.
//!
//! Runs as whoever runs the tests; as root the whole suite runs once more as an ordinary user. What the machine lacks is
//! skipped aloud. Nothing here reaches the network beyond loopback.
#![expect(clippy::unwrap_used, reason = "the whole target is tests: a failed step is a failed test")]

mod brokered;
mod building;
mod capped;
mod compiled;
mod escapes;
mod layers;
mod owners;
mod spares;
mod support;
mod warm;
mod works;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use support::helper;

const NOBODY: u32 = 65534;

/// The whole suite once more without root's rights: the cage must not need them, and must hold without them.
#[test]
fn as_an_ordinary_user() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED as_an_ordinary_user: this run is one already");
        return;
    }
    let folder = tempfile::Builder::new().prefix("ordinary").tempdir_in("/tmp").unwrap();
    open_to_all(folder.path());
    let scratch = folder.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    std::os::unix::fs::chown(&scratch, Some(NOBODY), Some(NOBODY)).unwrap();
    let (suite, binary) = (folder.path().join("suite"), folder.path().join("metnos"));
    std::fs::copy(std::env::current_exe().unwrap(), &suite).unwrap();
    std::fs::copy(helper(), &binary).unwrap();
    open_to_all(&suite);
    open_to_all(&binary);
    let output = Command::new(&suite)
        .args(["--skip", "as_an_ordinary_user", "--test-threads", "2", "--nocapture"])
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir(&scratch)
        .env("TMPDIR", &scratch)
        .env("HOME", &scratch)
        .env("METNOS_TEST_HELPER", &binary)
        .output()
        .unwrap();
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for skipped in complained.lines().filter(|line| line.starts_with("SKIPPED")) {
        eprintln!("as an ordinary user: {skipped}");
    }
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.contains("test result: ok") && !said.contains(" 0 passed"), "{said}");
}

/// The whole suite once more, each call that can be in a cage that waited for it: what does not get out of the one does not
/// get out of the other, and each attack succeeds there, too, without its layer.
#[test]
fn with_warm_cages() {
    if support::is_warm() {
        eprintln!("SKIPPED with_warm_cages: this run is it");
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--skip", "as_an_ordinary_user", "--test-threads", "2", "--nocapture"])
        .env("METNOS_TEST_WARM", "1")
        .output()
        .unwrap();
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.contains("test result: ok") && !said.contains(" 0 passed"), "{said}");
}

fn open_to_all(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

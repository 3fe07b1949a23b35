//! Erasures and copies that a kill cut off, and what is written while somebody is asked: nothing is left lying, and what is said of
//! it is so.

use std::path::PathBuf;

use super::daemon::Daemon;
use super::erasing::{SECRET, holding, told};
use super::home::{Home, Ran, copy_tree};
use super::pty::Pty;

/// What a command that broke off left to be done is done by the next one.
#[test]
fn an_erasure_that_broke_off_is_gone_on_with() {
    let (home, _) = told();
    let audit = home.metnos().join("workspace/.audit");
    assert!(!holding(&audit, SECRET).is_empty());
    let copies: Vec<(PathBuf, Vec<u8>)> =
        holding(&audit, SECRET).into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    assert_eq!(home.run(["--yes", "log", "erase", "--text", SECRET]).code, 0);
    // As if it had been killed behind the log's new file.
    for (path, bytes) in copies {
        std::fs::write(path, bytes).unwrap();
    }
    std::fs::write(home.metnos().join("data/erasure.pending"), "").unwrap();
    assert!(home.run(["status"]).out.contains("An erasure broke off"));
    assert_eq!(home.ask("what time is it in Tokyo").code, 0);
    assert_eq!(holding(&home.metnos(), SECRET), Vec::<PathBuf>::new());
    assert!(!home.metnos().join("data/erasure.pending").exists());
    assert!(!home.run(["status"]).out.contains("broke off"));
    // The same command again ends it too, though the log itself has nothing of it any more.
    std::fs::write(home.metnos().join("workspace/.audit/x.jsonl"), SECRET).unwrap();
    std::fs::write(home.metnos().join("data/erasure.pending"), "").unwrap();
    let again = home.run(["--yes", "log", "erase", "--text", SECRET]);
    assert_eq!((again.code, again.out.contains("is finished now")), (0, true), "{}{}", again.out, again.err);
    assert_eq!(holding(&home.metnos(), SECRET), Vec::<PathBuf>::new());
    let again = home.run(["--yes", "log", "erase", "--text", SECRET]);
    assert!(again.code == 0 && again.out.contains("That was erased on "), "{} {}", again.out, again.err);
}

/// It was said that other files may still hold what is gone, and then that it was finished; nothing was gone.
#[test]
fn an_erasure_that_broke_off_before_it_began_is_told_as_that() {
    let (home, _) = told();
    let lines = || home.run(["log", "grep", "-F", SECRET]).out.lines().count();
    let (marker, before) = (home.metnos().join("data/erasure.pending"), lines());
    let size = home.run(["--json", "log", "verify"]).json()["events"].as_u64().unwrap();
    std::fs::write(&marker, size.to_string()).unwrap();
    let status = home.run(["status"]);
    assert!(!status.out.contains("may still hold"), "{}", status.out);
    let next = home.ask("what time is it");
    assert!(next.code == 0 && next.err.contains("broken off before anything was erased"), "{} {}", next.out, next.err);
    assert!(!marker.exists() && lines() >= before);
    std::fs::write(&marker, (size + 100).to_string()).unwrap();
    let other = home.run(["--yes", "log", "erase", "--text", "nowhere to be found"]);
    assert!(other.out.contains("broken off before anything was erased"), "{} {}", other.out, other.err);
    assert!(other.code != 0 && other.err.contains("nothing"), "{} {}", other.out, other.err);
    assert!(!marker.exists() && lines() >= before);
    home.is_whole();
}

/// What was written while the question stood open stayed, and nothing was said of it.
#[test]
fn what_is_written_while_a_person_is_asked_goes_too() {
    let (home, _) = told();
    let daemon = Daemon::start(&home, &[("METNOS_HTTP_LISTEN", "off")]);
    let mut terminal = Pty::run(&home, 200, &["log", "erase", "--text", SECRET]);
    terminal.sees("[y/N]");
    let asked = home.run(["ask", "--approve", "all", &format!("write \"{SECRET}\" to later.txt")]);
    assert_eq!(asked.code, 0, "{} {}", asked.out, asked.err);
    terminal.types("y\r");
    let (code, said) = terminal.ends();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(home.run(["log", "grep", "-F", SECRET]).out, "");
    daemon.stop();
    home.is_whole();
}

/// A backup into a folder outside, killed at any of its commits: what it left there is named by the erasure that follows.
#[test]
fn a_copy_outside_that_broke_off_is_named() {
    let home = Home::new();
    home.file("safe.txt", SECRET);
    assert_eq!(home.ask("read the file ~/safe.txt").code, 0);
    let place = tempfile::tempdir().unwrap();
    let mut kills = 0;
    for step in 1..5 {
        for side in ["before", "after"] {
            let copy = place.path().join(format!("{step}-{side}"));
            copy_tree(&home.metnos(), &copy.join("home"));
            let outside = copy.join("outside");
            let at = |words: &[&str], kill: Option<&str>| {
                let mut command = home.command_with(kill.map(|kill| ("METNOS_KILL_AT", kill)));
                command.arg("--home").arg(copy.join("home")).args(words);
                Ran::from(command.output().unwrap())
            };
            let words = ["log", "backup", outside.to_str().unwrap()];
            kills += u64::from(at(&words, Some(&format!("append:{step}:{side}"))).code != 0);
            let holds = outside.exists() && !holding(&outside, SECRET).is_empty();
            let erased = at(&["--yes", "--json", "log", "erase", "--text", SECRET], None).json();
            let named: Vec<&str> =
                erased["elsewhere"].as_array().unwrap().iter().filter_map(|at| at.as_str()).collect();
            assert!(!holds || named == [outside.to_str().unwrap()], "{step} {side}: {erased}");
            assert_eq!(at(&words, None).code, 0, "{step} {side}");
            assert_eq!(holding(&outside, SECRET), Vec::<PathBuf>::new());
        }
    }
    assert!(kills >= 2, "{kills}");
}

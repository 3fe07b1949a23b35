//! What may be done unasked: on which targets, for whom, until when; and what stays denied whatever was granted.

use super::daemon::{Daemon, Running};
use super::home::{Home, Ran};

fn grants(home: &Home, words: &[&str]) -> Ran {
    home.run(["grants"].iter().chain(words))
}

/// How asking for a file ends where nobody is there to ask: 0 where it is written, 3 where it would be asked about.
#[track_caller]
fn writes(home: &Home, name: &str, code: i32) {
    let ran = home.ask(&format!("write \"hello\" to {name}"));
    assert_eq!(ran.code, code, "{} {}", ran.out, ran.err);
    assert_eq!(home.files().join(name).exists(), code == 0, "{name}");
}

fn clocked() -> (Home, std::path::PathBuf) {
    let home = Home::new();
    let clock = home.file("clock", "2030-05-01T10:00:00Z");
    let home = home.with("METNOS_CLOCK", clock.to_str().unwrap());
    (home, clock)
}

#[test]
fn a_grant_is_used_unasked_until_it_ends() {
    let (home, clock) = clocked();
    home.file("inbox/a.txt", "a");
    writes(&home, "inbox/one.txt", 3);
    let given = grants(&home, &["give", "fs:write", "~/inbox/**", "--for", "2h", "--reason", "I sort it"]);
    assert_eq!(given.code, 0, "{}", given.err);
    assert!(given.out.contains("Grant 1") && given.out.contains("2030-05-01 14:00"), "{}", given.out);
    writes(&home, "inbox/one.txt", 0);
    writes(&home, "beside.txt", 3);
    let why = home.run(["why", home.files().join("inbox/one.txt").to_str().unwrap()]).out;
    assert!(why.contains("grant 1 allowed it"), "{why}");
    let explained = home.run(["policy", "explain", "fs:write"]).out;
    assert!(explained.contains("grant 1") && explained.contains("I sort it"), "{explained}");
    assert!(!home.run(["policy", "explain", "fs:read"]).out.contains("grant 1"));
    // Those whose changes it lets through use it, though they write nothing themselves.
    let used = |capability: &str| home.run(["--json", "policy", "explain", capability]).json()["by_changes"].clone();
    let by_files = used("fs:write");
    for name in ["delete_files", "move_files", "write_files", "undo_last_turn"] {
        assert!(explained.contains(name) && by_files.as_array().unwrap().contains(&name.into()), "{explained}");
    }
    assert!(
        !explained.contains("no executor that is active") && !explained.contains("create_processes"),
        "{explained}"
    );
    assert!(used("metnos:write").as_array().unwrap().contains(&"schedule_recurring".into()));
    assert_eq!(used("fs:read"), serde_json::json!([]));
    // To look at a server is one thing, to have something changed there another.
    let of_hosts = home.run(["--json", "policy", "explain", "network:http"]).json();
    let decided = |what: &str| of_hosts[what]["read_only"]["named"].clone();
    assert_eq!((decided("decided"), decided("decided_sent")), ("allow".into(), "deny".into()), "{of_hosts}");
    // By a channel nothing is looked at.
    let of_channels = home.run(["--json", "policy", "explain", "channel:out"]).json();
    assert_eq!(of_channels["decided"]["supervised"]["named"], "ask", "{of_channels}");
    assert_eq!(of_channels["by_changes"], serde_json::json!(["send_messages"]));
    std::fs::write(&clock, "2030-05-01T12:00:00Z").unwrap();
    writes(&home, "inbox/two.txt", 3);
    assert!(grants(&home, &["list"]).out.contains("Nothing is granted"));
    // Whatever the clock says by now, what was decided then is decided again the same.
    home.is_whole();
}

/// The same given twice was two grants, and taking one back left the other.
#[test]
fn the_same_grant_again_is_the_same_one() {
    let (home, clock) = clocked();
    let give = |how: &[&str]| grants(&home, &[&["give", "fs:write", "~"], how].concat());
    let count = || home.run(["--json", "grants", "list"]).json()["grants"].as_array().unwrap().len();
    let first = give(&["--for", "2h"]);
    assert!(first.out.contains("Grant 1") && !first.out.contains("It held"), "{}", first.out);
    let longer = give(&["--for", "5h"]);
    let says = ["Grant 1", "until 2030-05-01 17:00", "It held until 2030-05-01 14:00", "is extended"];
    assert!(says.iter().all(|part| longer.out.contains(part)), "{}", longer.out);
    let sooner = give(&["--for", "1h"]);
    assert!(sooner.out.contains("Grant 1") && sooner.out.contains("ends sooner"), "{}", sooner.out);
    assert_eq!(count(), 1);
    // Another target, or another capability, is another grant.
    assert!(grants(&home, &["give", "fs:write", "~/inbox"]).out.contains("Grant 2"));
    assert!(grants(&home, &["give", "fs:read", "~"]).out.contains("Grant 3"));
    std::fs::write(&clock, "2030-05-01T11:00:00Z").unwrap();
    assert_eq!(count(), 2, "it ended as was said last");
    writes(&home, "late.txt", 3);
    let again = give(&[]);
    assert!(again.out.contains("Grant 4") && !again.out.contains("It held"), "{}", again.out);
    assert_eq!(grants(&home, &["revoke", "4"]).code, 0);
    writes(&home, "later.txt", 3);
    home.is_whole();
}

/// «99999d» was taken, and nobody would have been asked again.
#[test]
fn a_grant_holds_a_year_at_most() {
    let (home, _) = clocked();
    let give = |how: [&str; 2]| grants(&home, &["give", "fs:write", "~/inbox", how[0], how[1]]);
    for how in [
        ["--for", "367d"],
        ["--for", "99999d"],
        ["--for", "2y"],
        ["--for", "19000y"],
        ["--until", "2031-05-03"],
        ["--until", "9999-12-31"],
    ] {
        let ran = give(how);
        assert!(ran.code == 2 && ran.err.contains("at most 366 days"), "{how:?}: {} {}", ran.out, ran.err);
        assert!(ran.err.contains("hint: --for 2h"), "{how:?}: {}", ran.err);
    }
    assert!(grants(&home, &["list"]).out.contains("Nothing is granted"));
    for how in [["--for", "366d"], ["--for", "1y"], ["--until", "2031-05-02"]] {
        assert_eq!(give(how).code, 0, "{how:?}");
    }
    home.is_whole();
}

#[test]
fn a_revoked_grant_grants_nothing() {
    let home = Home::new();
    assert_eq!(grants(&home, &["give", "fs:write", "~"]).code, 0);
    let listed = home.run(["--json", "grants", "list"]).json();
    assert_eq!(
        (listed["grants"][0]["grant"].as_u64(), listed["grants"][0]["actor"].as_str()),
        (Some(1), Some("owner"))
    );
    writes(&home, "one.txt", 0);
    assert_eq!(grants(&home, &["revoke", "1", "--reason", "done"]).code, 0);
    writes(&home, "two.txt", 3);
    assert_eq!(grants(&home, &["revoke", "1"]).code, 1);
    assert_eq!(home.run(["--json", "grants", "list"]).json()["grants"], serde_json::json!([]));
    home.is_whole();
}

/// A call that was allowed had its changes made, whatever had been taken back while it ran.
#[test]
fn what_is_taken_back_while_a_call_runs_counts_for_its_changes() {
    let leave = ["grants", "give", "fs:write", "~/inbox/**", "--for", "2h"];
    let level = ["actor", "autonomy", "owner", "full"];
    let less = Some("What you may do was changed while I was at it; please ask again");
    let away = Some("What would do it was put away or replaced while it ran; please ask again");
    for (given, taken, refusal) in [
        (leave.as_slice(), ["grants", "list"].as_slice(), None),
        (&leave, &["grants", "revoke", "1"], less),
        (&level, &["actor", "autonomy", "owner", "supervised"], less),
        (&level, &["actor", "autonomy", "owner", "read_only"], less),
        (&level, &["--yes", "executor", "quarantine", "write_files", "--reason", "it looks odd"], away),
    ] {
        let home = Home::new();
        home.file("inbox/a.txt", "a");
        assert_eq!(home.run(given).code, 0, "{given:?}");
        let pause = [("METNOS_HTTP_LISTEN", "127.0.0.1:0"), ("METNOS_PAUSE_AT", "call_begun:4000")];
        let mut daemon = Daemon::start(&home, &pause);
        daemon.says("serving");
        let asking = Running::new(&home, &["ask", "write \"hello\" to inbox/one.txt"]);
        daemon.says("waiting at call_begun");
        assert_eq!(home.run(taken).code, 0, "{taken:?}");
        let ran = asking.ends();
        let is_told = refusal.is_none_or(|refusal| ran.err.contains(refusal));
        assert_eq!((ran.code == 0, is_told), (refusal.is_none(), true), "{taken:?}: {} {}", ran.out, ran.err);
        assert_eq!(home.files().join("inbox/one.txt").exists(), refusal.is_none(), "{taken:?}");
        daemon.stop();
        home.is_whole();
    }
}

#[test]
fn a_grant_lifts_no_denial_and_opens_nothing_forbidden() {
    let home = Home::new();
    home.file(".ssh/id", "secret");
    let key = home.metnos().join("config/keys");
    let executors = home.metnos().join("workspace/executors");
    std::fs::hard_link(home.files().join(".ssh/id"), home.files().join("second")).unwrap();
    for (capability, target, says) in [
        ("fs:write", "~/.ssh", "ssh_keys"),
        ("fs:read", "~/.ssh/id", "ssh_keys"),
        ("fs:read", key.to_str().unwrap(), "own_config"),
        ("fs:write", "/etc/hosts", "system_etc"),
        ("fs:write", "/", "file or a folder"),
        ("fs:write", "", "file or a folder"),
        ("fs:write", "~/../x", "without «..», unlike «~/../x»"),
        ("fs:write", "~/old/../notes", "without «..», unlike «~/old/../notes»"),
        ("fs:read", "~/old/../notes/**", "without «..»"),
        ("code:exec", "*", "each time"),
        ("mail:send", "*", "each time"),
        ("time:read", "*", "nobody's leave"),
        ("no:such", "*", "no:such"),
        ("network:http", "https://example.com", "on a host"),
        ("network:http", "example.com:80", "on a host"),
        ("network:http", "127.1", "127.0.0.1 is reached only where you name it yourself"),
        ("network:http", "0.0.0.0", "only where you name it yourself"),
        ("network:http", "169.254.169.254", "only where you name it yourself"),
        ("network:http", "localhost", "only where you name it yourself"),
        ("fs:read", "~/second", "(second_name)"),
        ("fs:write", "~/second", "(second_name)"),
        ("fs:write", executors.to_str().unwrap(), "(own_folders)"),
    ] {
        let ran = grants(&home, &["give", capability, target]);
        assert!(ran.code == 1 && ran.err.contains(says), "{capability} {target}: {} {}", ran.out, ran.err);
    }
    std::os::unix::fs::symlink(home.files().join(".ssh"), home.files().join("plain")).unwrap();
    assert_eq!(grants(&home, &["give", "fs:read", "~/plain"]).code, 1, "a link to it is it");
    assert_eq!(grants(&home, &["give", "fs:read", "~"]).code, 0);
    assert_ne!(home.ask("read the file .ssh/id").code, 0, "what lies around it was granted");
    assert_eq!(grants(&home, &["give", "fs:write", "~", "--for", "-2h"]).code, 2);
    assert_eq!(grants(&home, &["give", "fs:write", "~", "--until", "2020-01-01"]).code, 2);

    assert_eq!(home.run(["actor", "autonomy", "owner", "read_only"]).code, 0);
    let given = grants(&home, &["give", "fs:write", "~"]);
    assert!(given.code == 0 && given.out.contains("denied all the same"), "{}", given.out);
    writes(&home, "three.txt", 1);
    home.is_whole();
}

#[test]
fn what_is_granted_to_one_is_not_granted_to_another() {
    let home = Home::new();
    assert_eq!(home.run(["actor", "add", "Anna"]).code, 0);
    let refused = grants(&home, &["give", "fs:read", home.files().to_str().unwrap(), "--actor", "Anna"]);
    assert!(refused.code == 1 && refused.err.contains("metnos actor grant"), "{}", refused.err);
    let given = grants(&home, &["give", "fs:write", "~/shared", "--actor", "Anna", "--for", "7d"]);
    assert!(given.code == 0 && given.out.contains("/guests/guest_"), "{} {}", given.out, given.err);
    writes(&home, "one.txt", 3);
    home.is_whole();
}

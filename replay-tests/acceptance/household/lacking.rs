//! A cage that lacks layers: what may still run in it, what may not, and what is said of how to mend it.

use super::home::Home;

/// A machine whose users may not make namespaces, as many containers are.
fn landlocked() -> Home {
    Home::new().with("METNOS_SANDBOX_BACKEND", "landlock")
}

#[test]
fn what_could_do_harm_does_not_run_in_half_a_cage() {
    let home = landlocked();
    home.file("notes.txt", "one\n");
    let read = home.ask("read notes.txt");
    assert_eq!((read.code, read.out.trim()), (0, "one"), "{}", read.err);
    let wrote = home.run(["ask", "--approve", "all", "write \"two\" to b.txt"]);
    assert_eq!(wrote.code, 0, "the core makes the change: {}", wrote.err);
    let ran = home.run(["--json", "ask", "--approve", "all", "run df"]);
    assert_eq!((ran.code, &ran.json()["error_class"]), (2, &"cage_refused".into()), "{} {}", ran.out, ran.err);
    let told = home.run(["ask", "--approve", "all", "run df"]);
    let said = format!("{}{}", told.out, told.err);
    assert!(said.contains("runs in a full cage only") && said.contains("metnos doctor"), "{said}");
    assert!(said.contains("this machine's lacks ") && said.contains("more"), "{said}");
    let args = r#"{"argv": ["df"]}"#;
    let called = home.run(["--json", "--yes", "executor", "run", "create_processes", "--args", args]).json();
    assert_eq!(called["error_class"], "cage_refused", "{called}");
    let missing = called["cage"]["missing"].as_array().map_or(0, Vec::len);
    assert!(called["cage"]["level"] == "partial" && missing > 0, "{called}");
    home.is_whole();
}

#[test]
fn doctor_names_what_would_mend_the_cage() {
    let home = landlocked();
    let said = home.run(["doctor"]).out;
    assert!(said.contains("cage: landlock, level partial; it lacks:"), "{said}");
    let of_machine =
        said.contains("note something around Metnos keeps it from making namespaces") || said.contains("sysctl -w");
    // Where the machine would give more, it is not the machine's doing.
    let would_give_more = Home::new().run(["doctor"]).out.contains("level full");
    assert_eq!(
        (said.contains("unset METNOS_SANDBOX_BACKEND"), of_machine),
        (would_give_more, !would_give_more),
        "{said}"
    );
    assert!(said.contains("is not run"), "{said}");
    let off = Home::new().with("METNOS_SANDBOX", "off");
    let said = off.run(["doctor"]).out;
    assert!(said.contains("unset METNOS_SANDBOX") && said.contains("level none"), "{said}");
    let whole = Home::new().run(["doctor"]).out;
    assert!(whole.contains("level full") != whole.contains("is not run"), "{whole}");
    // A command of its own never has what a daemon may have.
    let limits = whole.lines().find(|line| line.contains("limits of a call")).unwrap();
    assert!(limits.contains("memory by rlimit") && !limits.contains("cgroup"), "{whole}");
    assert!(whole.contains("note a cgroup for each call") && whole.contains("Delegate=yes metnos serve"), "{whole}");
    assert!(!off.run(["doctor"]).out.contains("Delegate="), "who chose no cage is told nothing of its limits");
}

/// Whoever checked an export by it would have taken a forged one for ours.
#[test]
fn a_public_key_that_was_exchanged_is_told() {
    let home = Home::new();
    assert_eq!(home.ask("what time is it").code, 0);
    let public = home.metnos().join("config/keys/instance.pub");
    let own = std::fs::read_to_string(&public).unwrap();
    assert!(!home.run(["doctor"]).out.contains("another public key"));
    std::fs::write(&public, format!("{}\n", "ab".repeat(32))).unwrap();
    let said = home.run(["doctor"]).out;
    assert!(said.contains("holds another public key") && said.contains(own.trim()), "{said}");
}

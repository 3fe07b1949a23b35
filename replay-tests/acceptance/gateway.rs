//! Escapes through the whole product: the real binary, executors that an owner added, real calls, and no guard between them
//! and the kernel.
//!
//! No argument of a call names what the attack is after: that is in the executor's own code, so every rule that looks at
//! targets has nothing to say. Each attempt has a control, and does not count without it: mostly the same call with
//! `METNOS_SANDBOX=off`. Whether it succeeded is seen from outside wherever something can be seen (see `attempt::Sign`).
//! All of it runs for each backend that this machine gives, as whoever runs the tests and, where that is root, as an ordinary
//! user too. The table that it prints says what counted and what got through.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test stops at the first surprise and says aloud what it skips"
)]

#[path = "gateway/attempt.rs"]
mod attempt;
#[path = "gateway/attempts/mod.rs"]
mod attempts;
#[path = "gateway/ears.rs"]
mod ears;
#[path = "household/home.rs"]
#[expect(dead_code, reason = "a home has more to it than escapes need")]
mod home;
#[path = "gateway/kinds.rs"]
mod kinds;
#[path = "gateway/lane.rs"]
mod lane;
#[path = "gateway/needs.rs"]
mod needs;
#[path = "gateway/victim.rs"]
mod victim;
#[path = "gateway/watch.rs"]
mod watch;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use attempt::{Attempt, Control};
use home::{Home, User};
use lane::Lane;

/// How many attempts must count on each backend, for each user.
const LEAST: usize = 60;
/// How many may get through where there are no namespaces.
const MOST_WITHOUT_NAMESPACES: usize = 4;
/// How often a control may be tried.
const TRIES: usize = 3;
const CAGED: [&str; 3] = ["native", "bwrap", "landlock"];

/// What came of the attempts of one lane.
#[derive(Default)]
struct Tally {
    /// Attempts that ran in the cage; whether they got through, and what the report of that call says is missing.
    ran: BTreeMap<&'static str, (bool, Vec<String>)>,
    /// Attempts whose executor the gateway does not begin in such a cage.
    refused: BTreeSet<&'static str>,
    /// Controls that succeeded here.
    controls: BTreeSet<&'static str>,
    /// What is wrong with the suite itself.
    faults: Vec<String>,
}

/// Every backend of this machine.
fn backends() -> Vec<&'static str> {
    let has_bubblewrap = Path::new("/usr/bin/bwrap").exists();
    if !has_bubblewrap {
        assert!(std::env::var_os("CI").is_none(), "bubblewrap is installed there");
        eprintln!("SKIPPED bwrap: it is not installed");
    }
    CAGED.into_iter().filter(|name| *name != "bwrap" || has_bubblewrap).collect()
}

/// The code of all executors, where every user can read it.
fn code() -> &'static (tempfile::TempDir, PathBuf) {
    static CODE: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    CODE.get_or_init(|| {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().join("main.py");
        std::fs::write(&path, kinds::code(&attempts::all())).unwrap();
        (folder, path)
    })
}

/// A home with the executors of all kinds, made once a user.
fn furnished(user: User) -> &'static Home {
    static HOMES: [OnceLock<Home>; 2] = [OnceLock::new(), OnceLock::new()];
    HOMES[usize::from(user == User::Ordinary)].get_or_init(|| {
        let home = Home::of(user);
        let code = std::fs::read_to_string(&code().1).unwrap();
        for kind in kinds::KINDS {
            let folder = home.files().join(kind.name());
            kinds::lay(&folder, kind, &code);
            home.own(&folder);
            let added = home.run(["--yes", "executor", "add", folder.to_str().unwrap()]);
            assert_eq!(added.code, 0, "{} {}", added.out, added.err);
        }
        home
    })
}

/// A lane of its own, its home a copy of the furnished one.
fn lane(user: User, backend: &'static str) -> Lane {
    let furnished = furnished(user);
    let home = Home::empty(user);
    home::copy_tree(&furnished.metnos(), &home.metnos());
    home.own(&home.metnos());
    Lane::new(home, user, backend, code().1.clone())
}

/// Runs the controls that need no cage.
fn controls(lane: &mut Lane, attempts: &[&'static Attempt]) -> Tally {
    let mut tally = Tally::default();
    for attempt in possible(lane, attempts).filter(|attempt| !matches!(attempt.control, Control::Within(_))) {
        control(lane, attempt, &mut tally);
    }
    tally
}

fn control(lane: &mut Lane, attempt: &'static Attempt, tally: &mut Tally) {
    // A machine that is busy may not show in time what happened; that it once does is what is asked for.
    let mut evidence = Vec::new();
    for _ in 0..TRIES {
        let (seen, succeeded) = lane.control(attempt);
        if succeeded {
            tally.controls.insert(attempt.name);
            return;
        }
        evidence.push(seen);
    }
    let evidence = evidence.remove(0);
    tally.faults.push(format!("the control of «{}» fails: {}", attempt.name, evidence.said));
}

/// The attempts whose controls this machine gives to the user of a lane; what it does not give is said.
fn possible<'a>(lane: &Lane, attempts: &'a [&'static Attempt]) -> impl Iterator<Item = &'a &'static Attempt> + use<'a> {
    let user = lane.user;
    let lacking = attempts.iter().filter_map(|attempt| Some((attempt.name, needs::lacking(attempt, user)?)));
    for (name, need) in lacking.filter(|_| lane.backend == "none") {
        eprintln!("SKIPPED as {} {need:?} «{name}»", user.number());
    }
    attempts.iter().filter(move |attempt| needs::lacking(attempt, user).is_none())
}

/// Runs every attempt in the cage of a lane, and the controls that need that cage.
fn attacks(lane: &mut Lane, attempts: &[&'static Attempt]) -> Tally {
    let mut tally = Tally::default();
    for attempt in possible(lane, attempts) {
        let evidence = lane.attempt(attempt, false);
        let escaped = lane.shows(attempt.sign, &evidence);
        if evidence.is_refused() {
            tally.refused.insert(attempt.name);
            continue;
        }
        if !evidence.ran() || evidence.is_stuck() || evidence.backend().is_some_and(|backend| backend != lane.backend) {
            tally.faults.push(format!("«{}» did not run in the cage: {}", attempt.name, evidence.said));
        }
        if escaped {
            eprintln!("ESCAPED {} {} «{}»: {}", lane.backend, lane.user.number(), attempt.name, evidence.said);
        }
        tally.ran.insert(attempt.name, (escaped, evidence.missing()));
        if matches!(attempt.control, Control::Within(_)) {
            control(lane, attempt, &mut tally);
        }
    }
    tally
}

/// Runs all lanes, two at a time.
fn all_lanes(attempts: &[&'static Attempt]) -> BTreeMap<(u32, &'static str), Tally> {
    let users: Vec<User> = home::users();
    let names: Vec<&str> = backends().into_iter().chain(["none"]).collect();
    let open = users.iter().flat_map(|user| names.iter().map(move |name| (*user, *name)));
    let open: Mutex<VecDeque<(User, &'static str)>> = Mutex::new(open.collect());
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = open.lock().unwrap().pop_back();
                    let Some((user, backend)) = next else { return };
                    let mut lane = lane(user, backend);
                    let run = if backend == "none" { controls } else { attacks };
                    let tally = run(&mut lane, attempts);
                    done.lock().unwrap().insert((user.number(), backend), tally);
                }
            });
        }
    });
    done.into_inner().unwrap()
}

#[test]
fn nothing_gets_out_through_the_gateway() {
    let attempts = attempts::all();
    let done = all_lanes(&attempts);
    let mut faults: Vec<String> = Vec::new();
    eprintln!("{:10} {:>6} {:>9} {:>8} {:>9}  got through", "backend", "user", "attempts", "refused", "breaches");
    for ((user, backend), tally) in &done {
        faults.extend(tally.faults.iter().map(|fault| format!("{backend} as {user}: {fault}")));
        if *backend == "none" {
            continue;
        }
        let outside = &done[&(*user, "none")].controls;
        let counts = |name: &&&str| outside.contains(**name) || tally.controls.contains(**name);
        let counted: Vec<&&str> = tally.ran.keys().filter(counts).collect();
        let escaped: Vec<&&str> = counted.iter().filter(|name| tally.ran[**name].0).copied().collect();
        eprintln!(
            "{backend:10} {user:>6} {:>9} {:>8} {:>9}  {escaped:?}",
            counted.len(),
            tally.refused.len(),
            escaped.len()
        );
        if counted.len() < LEAST {
            faults.push(format!("{backend} as {user}: only {} attempts count", counted.len()));
        }
        let allowed = if *backend == "landlock" { MOST_WITHOUT_NAMESPACES } else { 0 };
        if escaped.len() > allowed {
            faults.push(format!("{backend} as {user}: {} got through: {escaped:?}", escaped.len()));
        }
        for name in &escaped {
            let attempt = attempts.iter().find(|attempt| attempt.name == **name).unwrap();
            let missing = &tally.ran[**name].1;
            let named = attempt.aim.missing().and_then(|begins| missing.iter().find(|said| said.starts_with(begins)));
            match named {
                Some(said) => eprintln!("           «{name}»: its report says under missing: {said}"),
                None => faults.push(format!("{backend} as {user}: «{name}» got through and is not under {missing:?}")),
            }
        }
        // Whatever got through shows a fault of the cage, even where its control fails here.
        let alone = tally.ran.iter().filter(|(name, (escaped, _))| *escaped && !counted.contains(name));
        faults.extend(alone.map(|(name, _)| format!("{backend} as {user}: «{name}» got through, not so its control")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The look at their code refuses none of them, so that it is the cage that they are tried on.
#[test]
fn the_executors_of_all_kinds_are_added() {
    for user in home::users() {
        let listed = furnished(user).run(["--json", "executor", "list"]);
        assert!(kinds::KINDS.iter().all(|kind| listed.out.contains(kind.name())), "{} {}", listed.out, listed.err);
    }
}

#[test]
fn each_attempt_has_a_name_of_its_own() {
    let attempts = attempts::all();
    let names: BTreeSet<&str> = attempts.iter().map(|attempt| attempt.name).collect();
    assert_eq!(names.len(), attempts.len());
    let bodies: BTreeSet<&str> = attempts.iter().map(|attempt| attempt.body).collect();
    assert_eq!(bodies.len(), attempts.len());
}

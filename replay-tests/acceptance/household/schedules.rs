//! What happens at times, with the real daemon under a clock that the test moves: sentences of both languages from being
//! asked to being told, kills between a claim and its outcome, missed times, clocks that go back, and what is refused.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::daemon::Daemon;
use super::home::{Home, Ran};

/// The longest that a fire may take to be settled.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often the daemon is killed in a plain run; `METNOS_TEST_KILLS` says another number.
const KILLS: usize = 20;

/// A home in Rome whose time stands still until it is moved.
pub(crate) fn home(at: &str) -> Home {
    let home = Home::new();
    let clock = home.file("clock", at);
    for name in ["a.txt", "b.txt", "c.txt"] {
        home.file(format!("inbox/{name}"), "x");
    }
    home.with("METNOS_CLOCK", clock.to_str().unwrap()).with("TZ", "Europe/Rome")
}

pub(crate) fn serve(home: &Home) -> Daemon {
    serve_until(home, "nowhere")
}

/// A daemon whose turns wait at that point for good.
pub(crate) fn serve_until(home: &Home, point: &str) -> Daemon {
    let pause = format!("{point}:600000");
    let mut daemon = Daemon::start(home, &[("METNOS_HTTP_LISTEN", "off"), ("METNOS_PAUSE_AT", &pause)]);
    daemon.says("serving");
    daemon
}

/// It is this time now.
pub(crate) fn set(home: &Home, at: &str) {
    let (clock, next) = (home.files().join("clock"), home.files().join("clock.next"));
    std::fs::write(&next, at).unwrap();
    std::fs::rename(next, clock).unwrap();
}

#[track_caller]
pub(crate) fn add(home: &Home, args: &[&str]) -> Ran {
    let ran = home.run(["--yes", "schedule", "add"].iter().chain(args));
    assert_eq!(ran.code, 0, "{args:?}: {} {}", ran.out, ran.err);
    ran
}

pub(crate) fn history(home: &Home, id: &str) -> Vec<Value> {
    let ran = home.run(["--json", "schedule", "history", id, "--last", "1000"]);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    ran.json()["history"].as_array().unwrap().clone()
}

/// Waits until so much has come of a schedule; what that is.
#[track_caller]
pub(crate) fn comes(home: &Home, id: &str, count: usize) -> Vec<Value> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let history = history(home, id);
        if history.len() >= count {
            assert_eq!(history.len(), count, "{history:?}");
            return history;
        }
        assert!(Instant::now() < deadline, "{id} has {} of {count}: {history:?}", history.len());
    }
}

pub(crate) fn state(home: &Home, id: &str) -> Value {
    home.run(["--json", "schedule", "show", id]).json()
}

/// Waits until a schedule asks; the question's name.
#[track_caller]
pub(crate) fn asked(home: &Home, id: &str) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let inbox = home.run(["--json", "inbox"]).json();
        let questions = inbox["questions"].as_array().unwrap();
        if let Some(question) = questions.iter().find(|question| question["schedule_id"] == id) {
            return question["name"].as_str().unwrap().to_owned();
        }
        assert!(Instant::now() < deadline, "{id} asks nothing: {inbox}");
    }
}

/// Turns that schedules began.
pub(crate) fn turns(home: &Home) -> usize {
    let told = home.run(["--json", "turn", "list", "--last", "100000"]).out;
    told.lines().filter(|line| serde_json::from_str::<Value>(line).unwrap()["channel"] == "schedule").count()
}

#[test]
fn sentences_of_both_languages_fire_and_are_told_once() {
    let home = home("2026-11-22T20:00:00Z");
    let ran = home.ask_approved("every morning at 8 tell me how many files are in ~/inbox");
    assert!(ran.code == 0 && ran.out.contains("every day at 08:00"), "{} {}", ran.out, ran.err);
    let times = "Mon 2026-11-23 08:00, Tue 2026-11-24 08:00, Wed 2026-11-25 08:00";
    assert!(ran.out.contains(times) && ran.out.contains("Nothing fires until `metnos serve` runs."), "{}", ran.out);
    let ran = home.ask_approved("ogni lunedì alle 9 dimmi quanti file ci sono in ~/inbox");
    assert!(ran.out.contains("ogni lunedì alle 09:00") && ran.out.contains("lun 2026-11-23 09:00"), "{}", ran.out);
    let daemon = serve(&home);
    let ran = home.ask_approved("tra 20 minuti ricordami di spegnere il forno");
    assert!(ran.out.contains("dom 2026-11-22 21:20") && !ran.out.contains("metnos serve"), "{}", ran.out);
    set(&home, "2026-11-22T20:19:59Z");
    assert_eq!(home.ask("what time is it").err, "");
    set(&home, "2026-11-22T20:20:00Z");
    assert_eq!(comes(&home, "3", 1)[0]["message"], "spegnere il forno");
    let told = home.ask("what time is it").err;
    assert!(told.contains("Promemoria (dom 2026-11-22 21:20): spegnere il forno"), "{told}");
    assert_eq!(home.ask("what time is it").err, "", "it was told twice");
    assert_eq!(state(&home, "3")["state"], "completed");
    set(&home, "2026-11-23T07:00:00Z");
    let first = comes(&home, "1", 1);
    assert_eq!((&first[0]["outcome"], &first[0]["message"]), (&"done".into(), &"3 files".into()));
    set(&home, "2026-11-23T08:00:00Z");
    assert_eq!(comes(&home, "2", 1)[0]["message"], "3 file");
    let told = home.run(["status"]).err;
    assert!(told.contains("Mon 2026-11-23 08:00 — tell me how many files are in ~/inbox\n3 files"), "{told}");
    assert!(told.contains("lun 2026-11-23 09:00 — dimmi quanti file ci sono in ~/inbox\n3 file"), "{told}");
    assert_eq!(turns(&home), 2);
    // Two of them speak of the inbox: which one is meant is for the person to say.
    let ran = home.ask_approved("stop the inbox task");
    assert!(ran.code == 3 && ran.err.contains("1. tell me how many") && ran.err.contains("2. dimmi"), "{}", ran.err);
    assert_eq!(home.run(["schedule", "cancel", "2"]).code, 0);
    let ran = home.ask_approved("stop the inbox task");
    assert!(ran.code == 0 && ran.out.contains("Ended: tell me how many files"), "{} {}", ran.out, ran.err);
    assert_eq!(state(&home, "1")["state"], "cancelled");
    set(&home, "2026-11-30T08:30:00Z");
    let ran = home.ask("what is scheduled");
    assert!(ran.out.contains("No recurring task is kept."), "{}", ran.out);
    daemon.stop();
    assert_eq!(turns(&home), 2);
    home.is_whole();
}

#[test]
fn a_kill_between_a_claim_and_its_outcome_fires_nothing_twice() {
    let kills = std::env::var("METNOS_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let home = home("2026-01-01T06:00:00Z");
    add(&home, &["how many files are in ~/inbox", "--when", "daily@08:00"]);
    let first = jiff::civil::date(2026, 1, 1).at(8, 0, 0, 0);
    // The wall clock says eight in summer too.
    let rome = jiff::tz::TimeZone::get("Europe/Rome").unwrap();
    let moment = |local: jiff::civil::DateTime| local.to_zoned(rome.clone()).unwrap().timestamp().to_string();
    for kill in 0..kills {
        let point = ["claim_to_turn", "turn_to_settled", "before_intent", "outcome_to_answer"][kill % 4];
        let mut daemon = serve_until(&home, point);
        let day = first.checked_add(jiff::Span::new().days(i64::try_from(kill).unwrap())).unwrap();
        set(&home, &moment(day));
        daemon.says(&format!("waiting at {point}"));
        daemon.send(Signal::KILL);
        assert_eq!(daemon.ends(), None);
        // Its successor comes ten minutes later; where the turn was cut off, it tries once more after one.
        let later = day.checked_add(jiff::Span::new().minutes(10)).unwrap();
        set(&home, &moment(later));
        let daemon = serve(&home);
        let deadline = Instant::now() + PATIENCE;
        let mut minutes = 10;
        while history(&home, "1").len() <= kill {
            assert!(Instant::now() < deadline, "{point} is never settled");
            minutes += 1;
            set(&home, &moment(day.checked_add(jiff::Span::new().minutes(minutes)).unwrap()));
        }
        let history = comes(&home, "1", kill + 1);
        let last = history.last().unwrap();
        assert_eq!((&last["outcome"], &last["message"]), (&"done".into(), &"3 files".into()), "{point}");
        assert_eq!(last["slot"].as_str().unwrap()[4..], day.strftime("%Y-%m-%d 08:00").to_string(), "{point}");
        let attempts = if matches!(point, "before_intent") { 2 } else { 1 };
        assert_eq!(last["attempt"], attempts, "{point}");
        daemon.stop();
    }
    let history = history(&home, "1");
    let mut slots: Vec<&str> = history.iter().map(|line| line["slot"].as_str().unwrap()).collect();
    slots.dedup();
    assert_eq!(slots.len(), kills);
    assert_eq!(state(&home, "1")["missed"], 0);
    // Each attempt is a turn of its own, and no turn began twice: a cut-off one is another attempt.
    let attempts: u64 = history.iter().map(|line| line["attempt"].as_u64().unwrap()).sum();
    assert_eq!(turns(&home) as u64, attempts);
    home.is_whole();
}

#[test]
fn missed_times_are_said_and_not_caught_up() {
    let home = home("2026-01-01T06:00:00Z");
    add(&home, &["how many files are in ~/inbox", "--when", "daily@08:00", "--grace", "0"]);
    add(&home, &["how many files are in ~/inbox", "--when", "every_1_minutes"]);
    add(&home, &["how many files are in ~/inbox", "--when", "daily@08:00", "--grace", "60"]);
    add(&home, &["remind me to call Anna", "--when", "at:2026-01-02T09:00"]);
    add(&home, &["remind me to water the plants", "--when", "at:2026-01-10T09:00"]);
    // Ten days and half an hour without a daemon.
    set(&home, "2026-01-11T07:30:00Z");
    let daemon = serve(&home);
    let daily = comes(&home, "1", 1);
    assert_eq!((&daily[0]["outcome"], &daily[0]["class"]), (&"missed".into(), &"skip".into()));
    assert_eq!((&daily[0]["count"], &daily[0]["slot"]), (&11.into(), &"Thu 2026-01-01 08:00".into()));
    assert_eq!(state(&home, "1")["next"][0], "Mon 2026-01-12 08:00");
    let often = comes(&home, "2", 2);
    assert_eq!((&often[0]["outcome"], &often[1]["outcome"]), (&"missed".into(), &"done".into()));
    assert_eq!((&often[0]["count"], &often[0]["more"]), (&1000.into(), &true.into()));
    // Within its grace the newest one is made up for, and only that.
    let late = comes(&home, "3", 2);
    assert_eq!((&late[0]["count"], &late[1]["outcome"]), (&10.into(), &"done".into()));
    assert_eq!(late[1]["slot"], "Sun 2026-01-11 08:00");
    // A single moment is worth it within a day; after that, that it was missed is told.
    assert_eq!(comes(&home, "4", 1)[0]["outcome"], "missed");
    assert_eq!(comes(&home, "5", 1)[0]["outcome"], "done");
    let told = home.ask("what time is it").err;
    assert!(told.contains("call Anna") && told.contains("Metnos was not running then, so that did not"), "{told}");
    // What comes again is told once, with its next time.
    let once = "Metnos was not running then, nor 10 more times after that, the last Sun 2026-01-11 08:00, so none of \
        these happened.";
    assert_eq!(told.matches("Mon 2026-01-12 08:00").count(), 2, "{told}");
    assert_eq!(told.matches(once).count(), 1, "{told}");
    daemon.stop();
    home.is_whole();
}

#[test]
fn a_clock_that_goes_back_a_year_fires_nothing_again() {
    let home = home("2026-01-01T06:00:00Z");
    add(&home, &["how many files are in ~/inbox", "--when", "daily@08:00"]);
    let daemon = serve(&home);
    set(&home, "2026-01-01T07:00:00Z");
    comes(&home, "1", 1);
    let before = home.run(["--json", "status"]).json()["log"]["events"].as_u64().unwrap();
    for back in ["2025-01-01T07:00:00Z", "2025-01-02T07:00:00Z", "2026-01-01T06:59:59Z", "2026-01-01T07:00:01Z"] {
        set(&home, back);
        let status = home.run(["--json", "status"]);
        assert_eq!(status.json()["log"]["events"].as_u64().unwrap(), before, "{back}");
    }
    assert_eq!(history(&home, "1").len(), 1);
    set(&home, "2026-01-02T07:00:00Z");
    assert_eq!(comes(&home, "1", 2)[1]["outcome"], "done");
    assert_eq!(turns(&home), 2);
    assert!(daemon.stop() < Duration::from_secs(5));
    home.is_whole();
}

#[test]
fn what_never_comes_or_cannot_be_done_is_refused_when_it_is_asked() {
    let home = home("2026-01-01T06:00:00Z");
    let inbox = "how many files are in ~/inbox";
    for (when, zone, said) in [
        ("0 0 8 * * *", "UTC", "five fields"),
        ("0 0 8 * * * 2027", "UTC", "five fields"),
        ("0 0 30 2 *", "UTC", "never comes"),
        ("61 * * * *", "UTC", "not a cron line"),
        ("0 8 * * *", "Mars/Olympus", "no time zone “Mars/Olympus”"),
        ("every 0 minutes", "UTC", "once a year at the least"),
        ("every -5 minutes", "UTC", "once a year at the least"),
        ("every 99999999 years", "UTC", "once a year at the least"),
        ("every day until christmas", "UTC", "I do not understand “every day until christmas”"),
        ("every blue moon", "UTC", "I do not understand “every blue moon”"),
        ("at:2025-12-31T23:59", "UTC", "is over already"),
    ] {
        let ran = home.run(["--yes", "schedule", "add", inbox, "--when", when, "--zone", zone]);
        assert_eq!(ran.code, 2, "{when}: {} {}", ran.out, ran.err);
        assert!(ran.err.contains(said), "{when}: {}", ran.err);
    }
    for (sentence, said) in [
        ("every 0 minutes tell me how many files are in ~/inbox", "once a year at the least"),
        ("ogni 0 minuti dimmi quanti file ci sono in ~/inbox", "una volta all'anno"),
        ("every blue moon tell me how many files are in ~/inbox", "blue"),
        ("every -5 minutes tell me how many files are in ~/inbox", "“every -5 minutes”"),
        ("ogni 0,5 ore dimmi quanti file ci sono in ~/inbox", "«ogni 0,5 ore»"),
        ("every second monday tell me how many files are in ~/inbox", "“every second monday”"),
        ("twice a day tell me how many files are in ~/inbox", "at what times of day"),
        ("every day at 8 tell me how many files are in ~/inbox until the cows come home", "until when"),
        ("read ~/a.txt at noon", "“at noon”"),
        ("nel weekend crea la cartella ~/nuova", "weekend"),
        ("delete ~/a.txt at christmas", "“at christmas”"),
        ("every morning at 8 frobnicate the gizmos", "gizmos"),
        ("ricordami domani di chiamare Anna", "a che ora"),
    ] {
        let ran = home.ask_approved(sentence);
        assert!(ran.code != 0 && ran.err.contains(said), "{sentence}: {} {} {}", ran.code, ran.out, ran.err);
    }
    let listed = home.run(["--json", "schedule", "list", "--all"]).json();
    let all = listed["schedules"].as_array().unwrap();
    assert!(all.iter().all(|schedule| schedule["kind"] == "job"), "{listed}");
    let ran = home.ask_approved("every day at 8 and at 20 tell me how many files are in ~/inbox until christmas");
    assert!(ran.code == 0 && ran.out.contains("every day at 08:00 and 20:00"), "{} {}", ran.out, ran.err);
    assert!(state(&home, "1")["until"].as_str().is_some_and(|until| until.contains("2026-12-25 23:59")));
    let ran = home.run(["schedule", "show", "7"]);
    assert!(ran.code == 1 && ran.err.contains("no task “7”"), "{}", ran.err);
    home.is_whole();
}

#[test]
fn the_owner_pauses_changes_and_runs_what_there_is() {
    let home = home("2026-01-01T06:00:00Z");
    add(&home, &["every morning at 8 tell me how many files are in ~/inbox"]);
    add(&home, &["delete the txt files in ~/inbox", "--when", "daily@09:00"]);
    let ran = home.run(["schedule", "run-now", "1"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "3 files\n"), "{}", ran.err);
    let times = ["--when", "ogni lunedì alle 7:30", "--zone", "America/New_York"];
    let ran = home.run(["--lang", "it", "schedule", "modify", "1"].iter().chain(&times));
    assert!(
        ran.code == 3 && ran.err.contains("finora: ogni giorno alle 08:00 (Europe/Rome)"),
        "{} {}",
        ran.out,
        ran.err
    );
    assert_eq!(state(&home, "1")["zone"], "Europe/Rome");
    let ran = home.run(["--lang", "it", "schedule", "modify", "1", "--approve", "all"].iter().chain(&times));
    assert!(ran.code == 0 && ran.out.contains("(ogni lunedì alle 07:30)"), "{} {}", ran.out, ran.err);
    assert!(ran.out.contains("lun 2026-01-05 07:30") && ran.out.contains("(America/New_York)"), "{}", ran.out);
    assert!(home.run(["schedule", "list"]).out.contains("every Monday at 07:30 (America/New_York)"));
    let ran = home.run(["schedule", "pause", "1"]);
    assert!(ran.out.contains("paused") && home.run(["schedule", "pause", "1"]).code == 1, "{}", ran.out);
    let daemon = serve(&home);
    set(&home, "2026-01-05T13:00:00Z");
    let denied = comes(&home, "2", 1);
    assert_eq!((&denied[0]["outcome"], &denied[0]["class"]), (&"missed".into(), &"skip".into()));
    set(&home, "2026-01-06T08:00:00Z");
    asked(&home, "2");
    set(&home, "2026-01-06T20:00:00Z");
    let denied = comes(&home, "2", 2);
    assert_eq!((&denied[1]["outcome"], &denied[1]["class"]), (&"failed".into(), &"consent_expired".into()));
    let told = denied[1]["message"].as_str().unwrap();
    assert!(told.contains("nobody answered until Tue 2026-01-06 21:00"), "{denied:?}");
    assert!(home.files().join("inbox/a.txt").exists());
    let ran = home.run(["schedule", "resume", "1"]);
    assert!(ran.code == 0 && ran.out.contains("Mon 2026-01-12 07:30"), "{} {}", ran.out, ran.err);
    assert_eq!(history(&home, "1").len(), 1, "a pause is no missed time");
    let ran = home.run(["schedule", "run-now", "checkpoints"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Done.\n"), "{}", ran.err);
    let ran = home.ask_approved("run the scheduled task 1 now");
    assert!(ran.code == 0 && ran.out.contains("It begins now"), "{} {}", ran.out, ran.err);
    assert_eq!(comes(&home, "1", 2)[1]["message"], "3 files");
    daemon.stop();
    home.is_whole();
}

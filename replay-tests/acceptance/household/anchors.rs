//! The daily anchor: the newest checkpoint goes to the owner's chat in the morning, and the log is held against it later.

use serde_json::Value;

use super::bot_api::{BotApi, Fault, Sent, TOKEN, refusal};
use super::daemon::Daemon;
use super::home::{Home, User};
use super::schedules::set;
use super::telegram::{GUEST, HOST, Talk, given, home_at};

const SAID: &str = "Punto di controllo";

/// A home in Rome whose host talks with it, at six on a morning that is later than whenever this runs.
fn talk() -> Talk {
    let api = BotApi::start();
    let home = home_at(&api.url(), TOKEN);
    assert_eq!(home.run(["config", "set", "anchor.daily", "chat"]).code, 0);
    let clock = home.file("clock", "2091-03-02T05:00:00Z");
    let home = home.with("METNOS_CLOCK", clock.to_str().unwrap()).with("TZ", "Europe/Rome");
    let daemon = Some(Daemon::serve(&home));
    let talk = Talk { api, home, daemon };
    // What was missed since the home was made is made up for, before there is anybody to tell.
    until("it still makes up for what was missed", || {
        let job = talk.home.run(["--json", "schedule", "show", "checkpoint-anchor"]).json();
        (job["next_fire"] == "2091-03-02T06:05:00Z" && job["running"] == false).then_some(())
    });
    talk.says("/start", "Eccomi");
    talk
}

#[track_caller]
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(std::time::Instant::now() < deadline, "{what}");
    }
}

/// It is a minute past the time of the anchor, on that day; waits until its job has ended.
#[track_caller]
fn morning(talk: &Talk, day: u32) {
    set(&talk.home, &format!("2091-03-{day:02}T06:06:00Z"));
    let slot = format!("2091-03-{day:02} 07:05");
    let ended = until("the job of the morning does not end", || {
        let history = talk.home.run(["--json", "schedule", "history", "checkpoint-anchor"]).json();
        let last = history["history"].as_array().unwrap().last()?.clone();
        last["slot"].as_str().is_some_and(|found| found.ends_with(&slot)).then_some(last)
    });
    assert_eq!(ended["outcome"], "done", "{ended}");
}

fn anchors(home: &Home) -> Vec<Value> {
    let log = home.run(["--json", "log", "export"]).out;
    let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["kind"] == "checkpoint_anchored").collect()
}

fn told(api: &BotApi) -> Vec<Sent> {
    api.state().sent.iter().filter(|sent| sent.text.contains(SAID)).cloned().collect()
}

#[test]
fn the_newest_checkpoint_goes_to_the_owner_once_a_day_and_only_when_something_happened() {
    let talk = talk();
    talk.knows("Anna", GUEST);
    morning(&talk, 2);
    let first = talk.api.said(0, HOST, SAID);
    // Nobody did anything: the night's own jobs are no reason.
    morning(&talk, 3);
    morning(&talk, 4);
    assert_eq!(told(&talk.api).len(), 1);
    talk.says("che ore sono", "Ora:");
    morning(&talk, 5);
    talk.api.until("no second anchor", |state| {
        (state.sent.iter().filter(|sent| sent.text.contains(SAID)).count() == 2).then_some(())
    });
    // Not wanted: what a file says now counts, not what it said when the daemon began.
    assert_eq!(talk.home.run(["config", "set", "anchor.daily", "off"]).code, 0);
    talk.says("che ore sono", "Ora:");
    morning(&talk, 6);
    let told = told(&talk.api);
    assert!(told.len() == 2 && told.iter().all(|sent| sent.chat == HOST), "{}", told.len());
    let home = talk.ends();
    let anchors = anchors(&home);
    assert_eq!(anchors.len(), 2, "{anchors:?}");
    assert!(anchors.iter().all(|anchor| anchor["payload"]["place"] == format!("telegram {HOST}")), "{anchors:?}");
    // What the chat shows, pasted back as it is.
    for (sent, anchor) in told.iter().zip(&anchors) {
        let held = given(&home, &["--json", "log", "verify", "--anchor", "-"], &sent.text);
        assert_eq!(held.code, 0, "{} {}", held.out, held.err);
        let held = held.json();
        assert_eq!((&held["anchor"]["holds"], &held["anchor"]["events"]), (&true.into(), &anchor["payload"]["size"]));
        assert_eq!(held["anchor"]["head"], anchor["payload"]["head"]);
    }
    let held = given(&home, &["--lang", "en", "log", "verify", "--anchor", "-"], &first.text);
    assert!(held.code == 0 && held.out.contains("The checkpoint holds"), "{} {}", held.out, held.err);
}

#[test]
fn an_anchor_that_cannot_be_sent_is_not_on_record_and_a_later_one_is() {
    let talk = talk();
    talk.api.fault("sendMessage", Fault::Refuse(400, refusal(400, "Bad Request: chat not found")));
    morning(&talk, 2);
    until("it does not fail", || {
        talk.home.run(["--json", "log", "export"]).out.contains("\"delivery_failed\"").then_some(())
    });
    assert_eq!((anchors(&talk.home).len(), told(&talk.api).len()), (0, 0));
    morning(&talk, 3);
    talk.api.said(0, HOST, SAID);
    let home = talk.ends();
    assert_eq!(anchors(&home).len(), 1);
}

/// Whoever holds the key and the file can make a log that verifies; what was said outside still tells.
#[test]
fn a_log_that_was_changed_or_cut_is_told_from_the_one_that_was_anchored() {
    let home = Home::new();
    home.file("a.txt", "one\n");
    assert_eq!(home.ask("leggi il file a.txt").code, 0);
    let backup = home.files().join("backup");
    assert_eq!(home.run(["log", "backup", backup.to_str().unwrap()]).code, 0);
    assert_eq!(home.ask("che ore sono").code, 0);
    let note = home.files().join("note.txt");
    assert_eq!(home.run(["log", "anchor", note.to_str().unwrap()]).code, 0);
    let verify = |anchor: &str| home.run(["--lang", "en", "log", "verify", "--anchor", anchor]);
    let held = verify(note.to_str().unwrap());
    assert!(held.code == 0 && held.out.contains("The checkpoint holds"), "{} {}", held.out, held.err);
    // The same key signs another history: the log is put back, and goes on in another way.
    let log = home.metnos().join("data/log/events.redb");
    std::fs::rename(&log, home.files().join("old.redb")).unwrap();
    assert_eq!(home.run(["log", "restore", backup.to_str().unwrap()]).code, 0);
    let cut = verify(note.to_str().unwrap());
    assert!(cut.code == 1 && cut.err.contains("has lost its end"), "{} {}", cut.out, cut.err);
    for _ in 0..2 {
        assert_eq!(home.ask("leggi il file a.txt").code, 0);
    }
    let other = verify(note.to_str().unwrap());
    assert!(other.code == 1 && other.err.contains("was changed"), "{} {}", other.out, other.err);
    let json = home.run(["--json", "log", "verify", "--anchor", note.to_str().unwrap()]);
    assert_eq!((json.code, &json.json()["ok"], &json.json()["anchor"]["why"]), (1, &false.into(), &"changed".into()));
    // Every note counts, in as many files as there are: the first that fails is named.
    let newer = home.files().join("newer.txt");
    assert_eq!(home.run(["log", "anchor", newer.to_str().unwrap()]).code, 0);
    let (old, new) = (std::fs::read_to_string(&note).unwrap(), std::fs::read_to_string(&newer).unwrap());
    let several = home.file("several.txt", format!("Monday\n{new}\nTuesday\n{old}"));
    let in_one = verify(several.to_str().unwrap());
    assert!(in_one.code == 1 && in_one.err.contains("several.txt (note 2 of 2)"), "{} {}", in_one.out, in_one.err);
    let two = home.run(["log", "verify", "--anchor", newer.to_str().unwrap(), "--anchor", note.to_str().unwrap()]);
    assert!(two.code == 1 && two.err.contains("note.txt"), "{} {}", two.out, two.err);
    let json = home.run(["--json", "log", "verify", "--anchor", several.to_str().unwrap()]).json();
    let holds: Vec<bool> = json["anchors"].as_array().unwrap().iter().map(|note| note["holds"] == true).collect();
    assert_eq!((holds, &json["ok"]), (vec![true, false], &false.into()), "{json}");
    let twice = home.file("twice.txt", format!("{new}\n{new}"));
    let twice = verify(twice.to_str().unwrap());
    assert!(twice.code == 0 && twice.out.contains("All 2 checkpoints hold"), "{} {}", twice.out, twice.err);
    // What a mail program did to it: lines are put together again, letters cannot be.
    let wrapped = home.file("wrapped.txt", format!("> {}", new.replace(' ', "\n> ").replace('\n', "\r\n")));
    assert_eq!(verify(wrapped.to_str().unwrap()).code, 0);
    let small = home.file("small.txt", new.to_lowercase());
    let small = verify(small.to_str().unwrap());
    assert!(small.code == 1 && small.err.contains("all of its letters are small"), "{}", small.err);
    let capital = new.find(|sign: char| sign.is_ascii_uppercase()).unwrap();
    let small = new[capital..=capital].to_lowercase();
    let letters = home.file("letters.txt", format!("{}{small}{}", &new[..capital], &new[capital + 1..]));
    let letters = verify(letters.to_str().unwrap());
    assert!(letters.code == 1 && letters.err.contains("was changed on the way"), "{}", letters.err);
    // What is no note of this home.
    let text = std::fs::read_to_string(&note).unwrap();
    let changed = home.file("changed.txt", text.replace("head ", "head A"));
    let empty = home.file("empty.txt", "nothing");
    // A home of another key.
    let foreign = Home::empty(User::Current);
    let theirs = foreign.files().join("theirs.txt");
    assert_eq!(foreign.run(["log", "anchor", theirs.to_str().unwrap()]).code, 0);
    for (file, says) in [
        (changed.as_path(), "was changed"),
        (empty.as_path(), "holds no signed checkpoint"),
        (home.files().join("nowhere").as_path(), "cannot be used"),
    ] {
        let refused = verify(file.to_str().unwrap());
        assert!(refused.code == 1 && refused.err.contains(says), "{}: {}", refused.code, refused.err);
        assert!(refused.err.contains("hint:"), "{}", refused.err);
    }
    let theirs = verify(theirs.to_str().unwrap());
    assert!(theirs.code == 1 && theirs.err.contains("another key"), "{}", theirs.err);
}

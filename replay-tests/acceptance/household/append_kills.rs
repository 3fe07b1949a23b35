//! Kill -9 at every append boundary of reference turns: right before and right after each commit of the log, until a run
//! survives. The next command settles what was left; every effect happened once or not at all, the files say what the log
//! says, and a turn that was completed reads, label for label, as one that nobody killed.
//!
//! The process kills itself (`metnos::faults`): from outside, no kill would land between two commits. Every other run kills
//! the one that settles too.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::acts::tree;
use super::daemon::Daemon;
use super::home::{Home, Ran};
use super::models::{Model, bind, call, packages, words};
use super::schedules;

/// More commits than any reference turn has: one that never survives ends here.
const COMMITS_MAX: usize = 60;
/// The longest that a daemon may take to fire.
const PATIENCE: Duration = Duration::from_mins(1);
/// What a person does next.
const NEXT: [&str; 2] = ["plan", "what time is it"];

/// A turn that is killed.
struct Reference {
    /// Lays what it works on, and what was done before it; with the model's server, where one plans.
    laid: fn(&Home) -> Option<Model>,
    command: &'static [&'static str],
}

/// Names and bytes of all that is the person's, and how much lies in their trash.
#[derive(Debug, PartialEq)]
struct Files {
    tree: BTreeMap<PathBuf, Option<Vec<u8>>>,
    trashed: usize,
}

impl Files {
    /// Paths are those below the person's folder, so that homes can be compared.
    fn of(home: &Home) -> Self {
        let root = home.files();
        let below = |path: PathBuf| path.strip_prefix(&root).unwrap().to_owned();
        let tree = tree(home).into_iter().map(|(path, bytes)| (below(path), bytes)).collect();
        let trash = std::fs::read_dir(root.join(".local/share/Trash/files"));
        Self { tree, trashed: trash.map_or(0, Iterator::count) }
    }
}

/// A text as any home would have it.
fn home_less(home: &Home, text: &str) -> String {
    text.replace(home.files().to_str().unwrap(), "~")
}

/// The labels of each stream, turns by the order in which they began; and how the turns ended.
#[derive(Debug, Default, PartialEq)]
struct Told {
    streams: BTreeMap<String, Vec<String>>,
    ends: Vec<Option<(String, String)>>,
}

impl Told {
    fn by(home: &Home) -> Self {
        let exported = home.run(["log", "export"]);
        assert_eq!(exported.code, 0, "{}", exported.err);
        let (mut told, mut turns) = (Self::default(), Vec::new());
        for line in exported.out.lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            let (stream, kind) = (event["stream"].as_str().unwrap(), event["kind"].as_str().unwrap());
            let name = match stream.strip_prefix("turn/") {
                None => stream.to_owned(),
                Some(id) => {
                    let place = turns.iter().position(|turn| turn == id).unwrap_or_else(|| {
                        turns.push(id.to_owned());
                        told.ends.push(None);
                        turns.len() - 1
                    });
                    if kind == "turn_closed" {
                        let text = |value: &Value| home_less(home, value.as_str().unwrap_or_default());
                        let payload = &event["payload"];
                        told.ends[place] = Some((text(&payload["final_kind"]), text(&payload["message"]["inline"])));
                    }
                    format!("turn/{place}")
                }
            };
            told.streams.entry(name).or_default().push(kind.to_owned());
        }
        told
    }
}

/// How it is without a kill.
struct Control {
    before: Files,
    after: Files,
    told: Told,
    /// The place of the turn among all turns.
    turn: usize,
}

impl Reference {
    fn home(&self) -> (Home, Option<Model>) {
        let home = Home::new();
        let model = (self.laid)(&home);
        (home, model)
    }

    fn control(&self) -> Control {
        let (home, _model) = self.home();
        let (before, turn) = (Files::of(&home), Told::by(&home).ends.len());
        let ran = home.run(self.command);
        assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
        let after = Files::of(&home);
        assert_eq!(home.run(NEXT).code, 0);
        let told = Told::by(&home);
        let said = told.ends[turn].as_ref().map(|(_, message)| message.as_str());
        assert_eq!(said, Some(home_less(&home, ran.out.trim()).as_str()));
        Control { before, after, told, turn }
    }

    /// Kills at each boundary, from the first on.
    fn is_killed_everywhere(&self) {
        let control = self.control();
        let mut kills = 0;
        for number in 1.. {
            assert!(number < COMMITS_MAX, "no run survives");
            let both = ["before", "after"].map(|side| self.is_killed(&control, number, side));
            kills += both.iter().filter(|killed| **killed).count();
            if both == [false, false] {
                break;
            }
            assert_eq!(both, [true, true], "append {number}: a boundary is passed over");
        }
        eprintln!("{kills} kills of {:?}", self.command);
        assert!(kills >= 6, "the kills do not land");
    }

    /// One kill, and all that must hold after it; `false` where the run came to its end before.
    fn is_killed(&self, control: &Control, number: usize, side: &str) -> bool {
        let at = format!("append:{number}:{side}");
        let (home, _model) = self.home();
        let died = home.command_with([("METNOS_KILL_AT", at.as_str())]).args(self.command).output().unwrap();
        let killed = died.status.signal() == Some(9);
        let died = Ran::from(died);
        assert!(killed || died.code == 0, "{at}: {} {}", died.out, died.err);
        if killed && number.is_multiple_of(2) {
            home.command_with([("METNOS_KILL_AT", "append:1:after")]).args(NEXT).output().unwrap();
        }
        let next = home.run(NEXT);
        assert_eq!(next.code, 0, "{at}: {} {}", next.out, next.err);
        home.is_whole();
        control.is_settled_to(&home, &at, &died);
        killed
    }
}

impl Control {
    /// What is left of a killed run is what it would have come to, or as if it had never begun to change anything.
    fn is_settled_to(&self, home: &Home, at: &str, died: &Ran) {
        let (told, files) = (Told::by(home), Files::of(home));
        let opened = told.ends.len() == self.told.ends.len();
        let end = if opened { told.ends[self.turn].as_ref() } else { None };
        assert_eq!(opened, end.is_some(), "{at}: the turn has no end: {told:?}");
        let completed = end == self.told.ends[self.turn].as_ref();
        assert_eq!(&files, if completed { &self.after } else { &self.before }, "{at}: {end:?}");
        if !died.out.is_empty() {
            assert_eq!(
                end.map(|(_, message)| message.as_str()),
                Some(home_less(home, died.out.trim()).as_str()),
                "{at}: it was told, and is lost"
            );
        }
        let stream = format!("turn/{}", self.turn);
        match end {
            Some(_) if completed => assert_eq!(told.streams, self.told.streams, "{at}"),
            Some((kind, _)) => {
                let whole = &self.told.streams[&stream];
                let mut labels = told.streams[&stream].clone();
                let closed = labels.split_off(labels.iter().position(|label| label == "turn_cancelled").unwrap());
                assert_eq!((kind.as_str(), closed.last().unwrap().as_str()), ("error", "turn_closed"), "{at}");
                assert_eq!(&labels, &whole[..labels.len()], "{at}: what came before is not what always comes");
            }
            None => assert_eq!(told.ends.len() + 1, self.told.ends.len(), "{at}: {told:?}"),
        }
    }
}

/// A file, and no model.
fn laid(home: &Home, name: &str, text: &str) -> Option<Model> {
    home.file(name, text);
    None
}

#[test]
fn a_read_that_is_killed_at_every_append() {
    let laid = |home: &Home| laid(home, "notes.txt", "one\ntwo\n");
    Reference { laid, command: &["ask", "read the file notes.txt and tell me the last line"] }.is_killed_everywhere();
}

#[test]
fn a_write_that_is_killed_at_every_append() {
    let laid = |home: &Home| laid(home, "log.txt", "one\n");
    Reference { laid, command: &["ask", "--approve", "all", "add the line \"two\" to log.txt"] }.is_killed_everywhere();
}

#[test]
fn a_delete_that_is_killed_at_every_append() {
    let laid = |home: &Home| laid(home, "gone.txt", "one\n");
    Reference { laid, command: &["ask", "--approve", "all", "delete the file gone.txt"] }.is_killed_everywhere();
}

#[test]
fn a_move_of_many_that_is_killed_at_every_append() {
    let laid = |home: &Home| {
        for name in ["a.txt", "b.txt", "c.txt", "d.jpg", "e.pdf", "f.txt"] {
            home.file(format!("in/{name}"), name);
        }
        None
    };
    let command = &["ask", "--approve", "all", "move all files of ~/in to ~/out"];
    Reference { laid, command }.is_killed_everywhere();
}

#[test]
fn an_undo_that_is_killed_at_every_append() {
    let laid = |home: &Home| {
        home.file("log.txt", "one\n");
        assert_eq!(home.ask_approved("add the line \"two\" to log.txt").code, 0);
        None
    };
    Reference { laid, command: &["undo", "--yes"] }.is_killed_everywhere();
}

/// The fire of a schedule: the daemon dies at each of its commits; its successor sees to it that the slot has one outcome.
#[test]
fn a_schedule_whose_daemon_is_killed_at_every_append() {
    let mut kills = 0;
    let survives = |number: &usize| {
        let killed = ["before", "after"].map(|side| is_fired_once(&format!("append:{number}:{side}")));
        kills += killed.iter().filter(|killed| **killed).count();
        killed == [false, false]
    };
    let number = (1..COMMITS_MAX).find(survives);
    assert!(number.is_some(), "no run survives");
    eprintln!("{kills} kills of a daemon that fires a schedule");
    assert!(kills >= 6, "the kills do not land");
}

/// One life of a daemon, and its successor's; whether it was killed.
fn is_fired_once(at: &str) -> bool {
    let home = schedules::home("2026-01-01T06:00:00Z");
    schedules::add(&home, &["how many files are in ~/inbox", "--when", "daily@08:00"]);
    schedules::set(&home, "2026-01-01T07:00:30Z");
    let mut first = Daemon::start(&home, &[("METNOS_HTTP_LISTEN", "off"), ("METNOS_KILL_AT", at)]);
    // Whoever asks may be cut off, or find it dead and settle what it left.
    let history = |home: &Home| home.run(["--json", "schedule", "history", "1"]);
    let settled = |ran: &Ran| ran.code == 0 && ran.json()["history"].as_array().is_some_and(|slots| !slots.is_empty());
    let deadline = Instant::now() + PATIENCE;
    while !first.is_over() && !settled(&history(&home)) {
        assert!(Instant::now() < deadline, "{at}: neither killed nor fired");
    }
    if !first.is_over() {
        first.send(Signal::TERM);
    }
    let killed = match first.ends() {
        None => true,
        Some(code) => {
            assert_eq!(code, 0, "{at}: it ended by itself");
            false
        }
    };
    let second = schedules::serve(&home);
    let mut minute = 2;
    while !settled(&history(&home)) {
        assert!(minute < 59, "{at}: it is never settled");
        schedules::set(&home, &format!("2026-01-01T07:{minute:02}:30Z"));
        minute += 1;
    }
    let slots = schedules::comes(&home, "1", 1);
    assert_eq!((&slots[0]["outcome"], &slots[0]["message"]), (&"done".into(), &"3 files".into()), "{at}");
    assert_eq!(slots[0]["attempt"].as_u64().unwrap(), schedules::turns(&home) as u64, "{at}");
    second.stop();
    home.is_whole();
    killed
}

/// A turn that a model plans. Its server is the public stand-in, which answers a conversation once.
#[test]
fn a_turn_of_a_model_that_is_killed_at_every_append() {
    if packages().is_none() {
        return;
    }
    let laid = |home: &Home| {
        home.file("notes/diary.md", "one\ntwo\n");
        let script = [call("read_files", &json!({ "paths": ["~/notes/diary.md"], "tail_lines": 1 })), words("two")];
        let model = Model::start(&packages().unwrap(), home, &script);
        bind(home, &model.url);
        Some(model)
    };
    let command = &["ask", "--approve", "all", "read the file ~/notes/diary.md and tell me the last line"];
    Reference { laid, command }.is_killed_everywhere();
}

//! Kill -9 of the daemon at any moment of a whole conversation: a line, a deletion and its undo, a reminder, a file. Each
//! is answered once, or again where the answer says so; each effect happens once; no question and no reminder is lost.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::bot_api::{BotApi, Sent, State, TOKEN};
use super::daemon::Daemon;
use super::home::Home;
use super::telegram::{HOST, home_at};

/// How many kills there are, unless `METNOS_TEST_KILLS` says how many.
const KILLS: usize = 20;
/// The longest that one answer may take, whatever is killed.
const PATIENCE: Duration = Duration::from_mins(2);
/// The longest life of a daemon that is killed, in milliseconds.
const LIFE_MAX_MS: u64 = 1800;
/// What a message says that may have been sent before.
const MARK: &str = "può essere una ripetizione";

/// A person in a chat with a daemon that is killed and started again.
struct Talk {
    api: BotApi,
    home: Home,
    clock: PathBuf,
    daemon: Option<Daemon>,
    dies_at: Instant,
    chance: u64,
    killed: usize,
    kills: usize,
    /// Buttons that were pressed, by what they carry.
    pressed: Vec<String>,
    /// What was to be answered, by how the answer ends.
    expected: Vec<String>,
}

impl Talk {
    fn begin(kills: usize) -> Self {
        let api = BotApi::start();
        let home = home_at(&api.url(), TOKEN);
        let clock = home.file("clock", "2026-11-22T08:00:00Z");
        let home = home.with("METNOS_CLOCK", clock.to_str().unwrap());
        let daemon = Some(Daemon::serve(&home));
        let (dies_at, chance) = (Instant::now(), 0x9e37_79b9_7f4a_7c15);
        Self { api, home, clock, daemon, dies_at, chance, killed: 0, kills, pressed: Vec::new(), expected: Vec::new() }
    }

    /// Waits until a message without buttons holds this, pressing yes wherever it is asked and killing what answers.
    #[track_caller]
    fn until(&mut self, text: String) {
        let began = Instant::now();
        while !holds(&self.api.state(), &text) {
            assert!(began.elapsed() < PATIENCE, "«{text}» is not said: {:#?}", self.api.state().texts(HOST));
            self.press();
            if self.killed < self.kills && Instant::now() >= self.dies_at {
                self.kill();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.expected.push(text);
    }

    fn kill(&mut self) {
        let daemon = self.daemon.take().unwrap();
        daemon.send(Signal::KILL);
        assert_eq!(daemon.ends(), None);
        self.killed += 1;
        self.daemon = Some(Daemon::serve(&self.home));
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.dies_at = Instant::now() + Duration::from_millis((self.chance >> 33) % LIFE_MAX_MS);
    }

    fn press(&mut self) {
        let state = self.api.state();
        let open: Vec<Sent> = state.sent.iter().filter(|sent| sent.keys.len() == 2).cloned().collect();
        drop(state);
        for asked in open {
            let (_, data) = &asked.keys[0];
            if !self.pressed.contains(data) {
                self.pressed.push(data.clone());
                self.api.presses(HOST, &asked, data);
            }
        }
    }

    /// One conversation, whose words are its own.
    fn round(&mut self, round: usize) {
        // Of one length, so that no text is the beginning of another.
        let number = format!("{round:03}");
        self.home.file(format!("read-{number}.txt"), format!("first\ncontent of round {number}\n"));
        self.home.file(format!("gone-{number}.txt"), format!("{number}\n"));
        self.api.writes(HOST, &format!("leggi il file read-{number}.txt e dimmi l'ultima riga"));
        self.until(format!("content of round {number}"));
        self.api.writes(HOST, &format!("cancella il file gone-{number}.txt"));
        self.until(format!("gone-{number}.txt nel cestino"));
        self.api.writes(HOST, "/annulla");
        self.until(format!("«cancella il file gone-{number}.txt»"));
        self.api.writes(HOST, &format!("tra 20 minuti ricordami di provare {number}"));
        self.until(format!("Ti ricorderò: provare {number}"));
        let (hour, minute) = (8 + round * 30 / 60, round * 30 % 60);
        let day = 22 + hour / 24;
        std::fs::write(&self.clock, format!("2026-11-{day}T{:02}:{:02}:00Z", hour % 24, minute + 25)).unwrap();
        self.until(format!("): provare {number}"));
        self.api.sends(HOST, &format!("data-{number}.csv"), format!("voce,euro\nlatte,{number}\n").as_bytes(), None);
        self.until(format!("data-{number}.csv. Chiedimi"));
        self.api.writes(HOST, &format!("leggi il file data-{number}.csv e dimmi l'ultima riga"));
        self.until(format!("latte,{number}"));
        let (hour, minute) = (8 + (round + 1) * 30 / 60, (round + 1) * 30 % 60);
        let day = 22 + hour / 24;
        std::fs::write(&self.clock, format!("2026-11-{day}T{:02}:{minute:02}:00Z", hour % 24)).unwrap();
    }

    /// Everything was said once, and happened once.
    #[track_caller]
    fn ends(mut self, rounds: usize) {
        self.api.is_drained();
        let state = self.api.state();
        for text in &self.expected {
            let said: Vec<&Sent> =
                state.sent.iter().filter(|sent| sent.keys.is_empty() && sent.text.contains(text.as_str())).collect();
            let plain = said.iter().filter(|sent| !sent.text.contains(MARK)).count();
            assert!(plain <= 1, "«{text}» was said {plain} times: {said:#?}");
        }
        drop(state);
        for round in 0..rounds {
            let number = format!("{round:03}");
            let gone = self.home.files().join(format!("gone-{number}.txt"));
            assert_eq!(std::fs::read_to_string(gone).unwrap(), format!("{number}\n"));
            let kept = self.home.metnos().join(format!("workspace/inbox/data-{number}.csv"));
            assert_eq!(std::fs::read_to_string(kept).unwrap(), format!("voce,euro\nlatte,{number}\n"));
            let history = self.home.run(["--json", "schedule", "history", &(round + 1).to_string()]).json();
            let outcomes = history["history"].as_array().unwrap();
            assert_eq!((outcomes.len(), &outcomes[0]["outcome"]), (1, &"done".into()), "{history}");
        }
        let inbox = std::fs::read_dir(self.home.metnos().join("workspace/inbox")).unwrap().count();
        assert_eq!(inbox, rounds, "a file was kept twice");
        let tasks = self.home.run(["--json", "schedule", "list", "--all"]).json();
        let tasks = tasks["schedules"].as_array().unwrap().iter().filter(|task| task["kind"] == "reminder").count();
        assert_eq!(tasks, rounds, "a reminder was kept twice");
        self.daemon.take().unwrap().stop();
        eprintln!("{} kills in {rounds} conversations", self.killed);
        self.home.is_whole();
    }
}

fn holds(state: &State, text: &str) -> bool {
    state.sent.iter().any(|sent| sent.keys.is_empty() && sent.text.contains(text))
}

#[test]
fn kills_during_whole_conversations_change_nothing_but_time() {
    let kills = std::env::var("METNOS_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let mut talk = Talk::begin(kills);
    let mut rounds = 0;
    while talk.killed < kills {
        talk.round(rounds);
        rounds += 1;
    }
    talk.ends(rounds);
}

//! Kill -9 of the daemon at any moment of conversations over Telegram: each message is answered once, or again where the
//! answer says so; nothing is done twice; a question that was put is still there, and its button still counts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::bot_api::{BotApi, Sent, TOKEN};
use super::daemon::Daemon;
use super::home::Home;
use super::telegram::{HOST, home_at};

/// How many kills there are, unless `METNOS_TEST_KILLS` says how many.
const KILLS: usize = 20;
/// The longest that a conversation may take to come to its end.
const PATIENCE: Duration = Duration::from_mins(1);

/// What is said in one round: a line that is asked for, one that is appended after a yes, and one that is deleted after a no.
struct Round {
    number: usize,
    /// Buttons that were pressed, by what they carry.
    pressed: Vec<String>,
}

impl Round {
    fn begin(api: &BotApi, home: &Home, number: usize) -> Self {
        home.file(format!("read-{number}.txt"), format!("first\ncontent of round {number}\n"));
        home.file(format!("keep-{number}.txt"), "keep\n");
        api.writes(HOST, &format!("leggi il file read-{number}.txt e dimmi l'ultima riga"));
        api.writes(HOST, &format!("aggiungi la riga \"line {number}\" al file log.txt"));
        api.writes(HOST, &format!("cancella il file keep-{number}.txt"));
        Self { number, pressed: Vec::new() }
    }

    /// Presses a button of each question that is open: yes for what adds, no for what deletes.
    fn press(&mut self, api: &BotApi) {
        let open: Vec<Sent> = {
            let state = api.state();
            state.sent.iter().filter(|sent| sent.keys.len() == 2).cloned().collect()
        };
        for asked in open {
            let (_, data) = &asked.keys[usize::from(asked.text.contains("keep-"))];
            if !self.pressed.contains(data) {
                self.pressed.push(data.clone());
                api.presses(HOST, &asked, data);
            }
        }
    }

    /// Whether everything of this round was answered.
    fn is_over(&self, api: &BotApi) -> bool {
        let state = api.state();
        let number = self.number;
        let said = |text: &str| state.sent.iter().any(|sent| sent.keys.is_empty() && sent.text.contains(text));
        let answers = state.sent.iter().filter(|sent| is_answer(&sent.text)).count();
        said(&format!("content of round {number}")) && said(&format!("keep-{number}.txt")) && answers > number * 3 + 2
    }
}

/// Whether a text is the end of a turn.
fn is_answer(text: &str) -> bool {
    !text.contains("Posso?") && !text.contains("Prima mi serve") && !text.contains("Ci sto lavorando")
}

#[test]
fn kills_at_any_moment_answer_each_message_once_and_lose_no_question() {
    let kills = std::env::var("METNOS_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let api = BotApi::start();
    // Every turn shows that it is at work, so that kills meet that too.
    let home = home_at(&api.url(), TOKEN).with("METNOS_TELEGRAM_PROGRESS_SECONDS", "0");
    let log = home.file("log.txt", "");
    let (mut chance, mut killed, mut number) = (0x9e37_79b9_7f4a_7c15_u64, 0, 0);
    while killed < kills {
        let mut round = Round::begin(&api, &home, number);
        let began = Instant::now();
        loop {
            let daemon = Daemon::serve(&home);
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // The last life of a round is as long as it needs to be.
            let is_last = killed >= kills || began.elapsed() > PATIENCE / 3;
            let until = Instant::now() + if is_last { PATIENCE } else { Duration::from_millis((chance >> 33) % 900) };
            while Instant::now() < until && !round.is_over(&api) {
                round.press(&api);
                std::thread::sleep(Duration::from_millis(20));
            }
            let is_over = round.is_over(&api);
            if is_over && is_last {
                daemon.stop();
                break;
            }
            daemon.send(Signal::KILL);
            assert_eq!(daemon.ends(), None);
            killed += 1;
            if is_over {
                break;
            }
            assert!(!is_last, "round {number} does not end: {:#?}", api.state().texts(HOST));
        }
        number += 1;
    }
    let daemon = Daemon::serve(&home);
    api.is_drained();
    settled(&home);
    let unrecorded = taken_away(&api, &home);
    daemon.stop();
    once(&api, number);
    let text = std::fs::read_to_string(&log).unwrap();
    for round in 0..number {
        assert_eq!(text.matches(&format!("line {round}\n")).count(), 1, "{text}");
        assert!(home.files().join(format!("keep-{round}.txt")).exists());
    }
    eprintln!(
        "{killed} kills in {number} rounds of three messages; {unrecorded} killed between a message about progress and its record"
    );
    home.is_whole();
}

/// Waits until the log says that every update is settled and nothing is to be sent.
#[track_caller]
fn settled(home: &Home) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let log = home.run(["--json", "log", "tail", "-n", "100000"]).out;
        let count = |label: &str| log.matches(&format!("\"{label}\"")).count();
        let (received, done) = (count("update_received"), count("update_settled"));
        let waiting = home.run(["--json", "status"]).json()["telegram"]["waiting"].clone();
        if received == done && waiting == 0 {
            return;
        }
        assert!(Instant::now() < deadline, "{received} received, {done} settled, {waiting} to be sent");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Every message about progress that is on record is gone; how many a kill kept from being on record, each of which costs
/// a kill.
#[track_caller]
fn taken_away(api: &BotApi, home: &Home) -> usize {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let log = home.run(["--json", "log", "tail", "-n", "100000"]).out;
        let receipts = |label: &str| -> BTreeSet<i64> {
            let lines = log.lines().filter(|line| line.contains(&format!("\"{label}\"")));
            let lines = lines.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            lines.map(|line| line["payload"]["receipt"].as_i64().unwrap()).collect()
        };
        let (recorded, removed) = (receipts("progress_shown"), receipts("progress_removed"));
        if recorded == removed {
            assert!(!recorded.is_empty(), "nothing was shown");
            let state = api.state();
            let shown = state.sent.iter().filter(|sent| sent.text.contains("Ci sto lavorando"));
            let left: Vec<i64> = shown.filter(|sent| !sent.is_deleted).map(|sent| sent.id).collect();
            assert!(left.iter().all(|id| !recorded.contains(id)), "{left:?}");
            return left.len();
        }
        assert!(Instant::now() < deadline, "{:?} stay", recorded.difference(&removed).collect::<Vec<_>>());
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Every answer of every round was said once; what came again says that it may have.
#[track_caller]
fn once(api: &BotApi, rounds: usize) {
    let state = api.state();
    let mut answers: BTreeMap<String, usize> = BTreeMap::new();
    let mut plain = 0;
    for sent in state.sent.iter().filter(|sent| is_answer(&sent.text) && !sent.text.contains("Posso?")) {
        let is_marked = sent.text.contains("può essere una ripetizione");
        plain += usize::from(!is_marked);
        if !is_marked {
            *answers.entry(sent.text.clone()).or_default() += 1;
        }
    }
    for round in 0..rounds {
        let text = format!("content of round {round}");
        let said = state.sent.iter().filter(|sent| sent.text.ends_with(&text)).count();
        assert!(said >= 1, "round {round} is not answered: {answers:#?}");
        assert!(answers.get(&text).copied().unwrap_or_default() <= 1, "{answers:#?}");
    }
    assert!(plain <= rounds * 3, "an answer was repeated without saying so: {answers:#?}");
}

//! A month of a household's life: thousands of turns, made by the real machines from one seed. The standard large history.
//!
//! Days differ, words differ, now and then something fails, is refused, or is long; a task reminds every morning. The same seed
//! gives the same events, byte for byte.

use std::path::Path;

use metnos::projector::Projected;
use metnos_log::envelope::Body;
use metnos_log::{Append, AppendError, BlobHash, Draft, Event, Expect, Log, Recorded};
use metnos_projections::machines::schedules::Outcome;
use metnos_projections::views::audit::Audit;

use crate::builder::History;
use crate::turning::WRITTEN;

/// Events of one append.
const BATCH: usize = 400;

/// Numbers that look like chance and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn text(&mut self, words: u64) -> String {
        const WORDS: [&str; 16] = [
            "bread", "milk", "the", "plumber", "tomatoes", "garden", "call", "and", "gate", "Friday", "rain", "is",
            "train", "seven", "apples", "school",
        ];
        let mut text = String::new();
        for place in 0..words {
            text.push_str(WORDS[usize::try_from(self.below(16)).unwrap_or(0)]);
            text.push(if place % 9 == 8 { '\n' } else { ' ' });
        }
        text.push_str(&self.below(1_000_000).to_string());
        text
    }
}

/// How a month is lived.
#[derive(Clone, Copy, Debug)]
pub struct Month<'s> {
    /// What it follows from.
    pub seed: u64,
    /// How many days.
    pub days: u32,
    /// Turns on each.
    pub turns_a_day: u32,
    /// Something that is said, read and written in some turns of each day.
    pub secret: Option<&'s str>,
}

impl Default for Month<'_> {
    fn default() -> Self {
        Self { seed: 1, days: 30, turns_a_day: 100, secret: None }
    }
}

impl Month<'_> {
    /// Lives it in a home of its own.
    pub fn live(self) -> History {
        self.live_after(History::begin())
    }

    /// Lives it after something else.
    pub fn live_after(self, before: History) -> History {
        let mut chance = Chance(self.seed);
        let begun = before.executor("read_files").executor("write_files").executor("get_now");
        let mut history = begun.guest("guest_1").reminds("0 7 * * *", "Europe/Rome", |_| {});
        for _ in 0..self.days {
            let morning = history.time();
            if history.next("1").is_some_and(|next| next < morning + 86_400_000_000) {
                history = history.due("1").fires("1", Outcome::Done { message: "water the plants".to_owned() });
            }
            for turn in 0..self.turns_a_day {
                let secret = self.secret.filter(|_| turn % 25 == 7);
                history =
                    Self::turn(history.later(30 + i64::try_from(chance.below(600)).unwrap_or(0)), &mut chance, secret);
            }
        }
        history
    }

    fn turn(history: History, chance: &mut Chance, secret: Option<&str>) -> History {
        let name = format!("n{}.txt", chance.below(500));
        let words = 3 + chance.below(60);
        let mut text = chance.text(words);
        if let Some(secret) = secret {
            text = format!("{text} {secret}");
        }
        match chance.below(100) {
            0..=1 => {
                let long = format!("{text}\n{}", chance.text(4000));
                history
                    .turn(&format!("read the file {name}"), |turn| turn.finds("file").reads(&long).ends("answer", ""))
            }
            2..=49 => history
                .turn(&format!("read the file {name}"), |turn| turn.finds("file").reads(&text).ends("answer", "")),
            50..=69 => history
                .turn(&format!("leggi il file {name}"), |turn| turn.finds("file").reads(&text).ends("answer", "")),
            70..=84 => {
                let said = text.replace(['\n', '"'], " ");
                history.turn(&format!("write \"{said}\" to {name}"), |turn| {
                    turn.finds("absent").wants_files(&[&name]).consents().change(0, "done").ends("answer", "")
                })
            }
            85..=90 => history.turn(&format!("write \"{}\" to {name}", chance.below(1000)), |turn| {
                turn.finds("absent").wants_files(&[&name]).refuses().ends("error", "consent_denied")
            }),
            91..=95 => {
                history.turn(&format!("read the file {name}"), |turn| turn.finds_nothing().ends("error", "not_found"))
            }
            _ => history.turn(&format!("write to {name}"), |turn| turn.ends("ask", "")),
        }
    }
}

/// Appends what of a history the log does not have yet; artefacts come with it.
pub fn pour(history: &History, log: &Log) -> Result<(), AppendError> {
    let there = usize::try_from(log.head().size).unwrap_or(usize::MAX);
    let mut drafts = history.events()[there..].iter().filter_map(draft).peekable();
    while drafts.peek().is_some() {
        let events: Vec<Draft> = drafts.by_ref().take(BATCH).collect();
        log.append(Append { events, expect: Expect::Any })?;
    }
    Ok(())
}

fn draft(recorded: &Recorded) -> Option<Draft> {
    let Body::Known(event) = &recorded.body else { return None };
    let mut blobs = Vec::new();
    if let Event::ExecutorInstalled(installed) = event {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../executors").join(&installed.name);
        for artefact in &installed.artefacts {
            blobs.extend(std::fs::read(folder.join(&artefact.file)).map(|bytes| (artefact.blob, bytes)));
        }
    }
    let written = BlobHash(*blake3::hash(WRITTEN).as_bytes());
    if event.clone().blobs().contains(&written) {
        blobs.push((written, WRITTEN.to_vec()));
    }
    Some(Draft {
        id: recorded.id,
        time: recorded.time,
        stream: recorded.stream.clone(),
        actor: recorded.actor.clone(),
        turn: recorded.turn,
        cause: recorded.cause,
        event: event.clone(),
        blobs,
    })
}

/// What everything that is made of a history comes to, one line each: the projections' digests and that of all audit lines.
pub fn digests(events: &[Recorded]) -> String {
    let (mut projected, mut audit, mut lines) = (Projected::default(), Audit::default(), blake3::Hasher::new());
    for recorded in events {
        projected.evolve(recorded);
        if let Some(line) = audit.take(recorded) {
            lines.update(line.text().as_bytes());
        }
    }
    let text = format!("events {}\naudit {}\n", events.len(), lines.finalize().to_hex());
    let line = |all: String, (name, digest): (&str, String)| all + name + " " + &digest + "\n";
    projected.digests().into_iter().fold(text, line)
}

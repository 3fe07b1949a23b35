//! One turn as a history of its own, for a test or a report of a fault: what it needs before it, and nothing of the others.
//!
//! The person's folders get other names of the same length, so that no place in a sentence moves. What follows from names (a
//! digest of what was asked, an answer) is decided again with the new ones; where that comes out in another way, the turn
//! cannot be told without the names, and nothing is written.

use metnos_log::envelope::{Body, REDACTED};
use metnos_log::event::turn::TurnOpened;
use metnos_log::store::ReadError;
use metnos_log::{Event, Kept, Reader, Recorded, TurnId};
use metnos_projections::machines::catalog::Catalog;
use metnos_projections::machines::schedules;
use metnos_projections::machines::turn::{Command, Context, Turn, decide, stream};
use metnos_projections::projection::Projection;
use metnos_projections::replay::{Checker, tools};
use metnos_projections::rules::Rules;
use serde_json::Value;

use super::history;
use crate::projector::Projected;

/// Why a turn is not written down.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is not over.
    #[error("it has not ended")]
    Open,
    /// Its first event cannot be read any more.
    #[error("its sentence was erased")]
    Erased,
    /// A name stayed where it was.
    #[error("{path} is still named in it, in event {seq}, in a way that cannot be replaced")]
    Named {
        /// The name.
        path: String,
        /// Where.
        seq: u64,
    },
    /// With other names it is another turn.
    #[error("with other names for the folders it is decided otherwise, at event {seq}: {what}")]
    Otherwise {
        /// Where.
        seq: u64,
        /// What differs.
        what: String,
    },
}

/// A turn as a history of its own.
pub struct Case {
    /// The lines of the history.
    pub history: String,
    /// Digests of what its projections come to, one a line.
    pub digests: String,
    /// How many events it holds.
    pub events: usize,
    /// Whether its decisions can be compared, or only their order.
    pub is_decidable: bool,
    /// The sentence.
    pub text: String,
    /// How it ended.
    pub ended: String,
}

/// Writes a turn down.
pub fn of(reader: &Reader, rules: &Rules, id: TurnId) -> Result<Case, CaseError> {
    let turn = reader.stream(&stream(id))?;
    let Some(opened) = turn.first().and_then(opening) else { return Err(CaseError::Erased) };
    if !turn.iter().any(|recorded| recorded.kind == "turn_closed") {
        return Err(CaseError::Open);
    }
    let names = names(&opened);
    let mut events = needed(reader, id, &opened, &turn)?;
    for recorded in &mut events {
        rename(recorded, &names);
    }
    let of_turn = || events.iter().filter(|recorded| recorded.turn == Some(id));
    let is_decidable = opened.rules_digest == rules.digest()
        && of_turn().all(|recorded| recorded.event().is_some() && recorded.flags & REDACTED == 0);
    if is_decidable {
        decide_again(rules, id, &mut events)?;
    }
    number(&mut events);
    finished(rules, &events, &names, is_decidable, &opened)
}

fn opening(recorded: &Recorded) -> Option<TurnOpened> {
    match recorded.event() {
        Some(Event::TurnOpened(opened)) => Some(opened.clone()),
        _ => None,
    }
}

/// The turn's own events, and of the others those that it was decided by: keys, settings, executors, people, and what began it.
fn needed(reader: &Reader, id: TurnId, opened: &TurnOpened, turn: &[Recorded]) -> Result<Vec<Recorded>, CaseError> {
    let last = turn.last().map_or(0, |recorded| recorded.seq);
    let causes: Vec<_> = turn.iter().filter_map(|recorded| recorded.cause).collect();
    let schedule = opened.address.as_deref().filter(|_| opened.channel == "schedule").map(schedules::stream);
    // Of the people of the home nobody but who asked: this goes to others.
    let asked = turn.first().map(|first| format!("actor/{}", first.actor));
    let is_before = |recorded: &Recorded| {
        let of_home =
            ["configuration_changed", "instance_created", "key_admitted", "key_revoked", "cage_downgrade_accepted"];
        recorded.stream.starts_with("executor/")
            || Some(&recorded.stream) == asked.as_ref()
            || of_home.contains(&&*recorded.kind)
            || Some(&recorded.stream) == schedule.as_ref()
            || causes.contains(&recorded.id)
    };
    let mut events = Vec::new();
    reader.each(1, |recorded| {
        // What follows from its closing was written with it, in other streams.
        let is_own = recorded.turn == Some(id);
        if recorded.seq > last && !is_own {
            return Ok::<bool, ReadError>(recorded.seq <= last + 64);
        }
        if is_own || recorded.turn.is_none() && is_before(&recorded) {
            let mut recorded = reader.rehydrated(recorded)?;
            recorded.events_mut().iter_mut().flat_map(Event::kept).for_each(Kept::settle_inline);
            events.push(recorded);
        }
        Ok(true)
    })?;
    Ok(events)
}

/// The folders that tell whose home it is, each with a name of the same length, the longest first.
fn names(opened: &TurnOpened) -> Vec<(String, String)> {
    let audit = opened.own[2].strip_suffix("/.audit").unwrap_or(&opened.own[2]);
    let mut folders = vec![(opened.home.as_str(), "/home/")];
    let own = [(opened.own[0].as_str(), "/srv/c/"), (opened.own[1].as_str(), "/srv/d/"), (audit, "/srv/w/")];
    let is_elsewhere = |(folder, _): &(&str, &str)| !folder.starts_with(&format!("{}/", opened.home));
    folders.extend(own.into_iter().filter(is_elsewhere));
    let other = |(folder, stem): (&str, &str)| {
        let filled: String = stem.chars().chain(std::iter::repeat('o')).take(folder.len()).collect();
        // One that is shorter than that tells nobody anything.
        (folder.len() > stem.len()).then(|| (folder.to_owned(), filled))
    };
    let mut names: Vec<(String, String)> = folders.into_iter().filter_map(other).collect();
    names.sort_by_key(|(folder, _)| std::cmp::Reverse(folder.len()));
    names
}

fn replaced(text: &str, names: &[(String, String)]) -> String {
    names.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn rename(recorded: &mut Recorded, names: &[(String, String)]) {
    let Body::Known(event) = &recorded.body else { return };
    let mut value = event.to_json();
    in_texts(&mut value, names);
    if let Ok(Some(event)) = Event::from_json(&recorded.kind, recorded.schema, value) {
        recorded.body = Body::Known(event);
    }
}

fn in_texts(value: &mut Value, names: &[(String, String)]) {
    match value {
        Value::String(text) => *text = replaced(text, names),
        Value::Array(items) => items.iter_mut().for_each(|item| in_texts(item, names)),
        Value::Object(map) => map.values_mut().for_each(|item| in_texts(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Decides the turn by its facts under their new names; the decisions take the place of those that were recorded.
fn decide_again(rules: &Rules, id: TurnId, events: &mut [Recorded]) -> Result<(), CaseError> {
    let mut catalog = Catalog::default();
    let mut turn = Turn::default();
    let mut expected = std::collections::VecDeque::new();
    let mut known: Option<(u64, _)> = None;
    for recorded in events {
        if recorded.turn != Some(id) {
            recorded.each(|recorded| catalog.evolve(recorded));
            continue;
        }
        let Some(event) = recorded.event().cloned() else { continue };
        let otherwise = |what: String| CaseError::Otherwise { seq: recorded.seq, what };
        if expected.is_empty() {
            let command = Command::recorded(&event).ok_or_else(|| otherwise(recorded.kind.to_string()))?;
            if known.as_ref().is_none_or(|(generation, _)| *generation != catalog.generation) {
                known = Some((catalog.generation, tools(&catalog)));
            }
            let (_, tools) = known.as_ref().expect("it was just made");
            let context = Context { rules, catalog: &catalog, tools, time: recorded.time };
            let decided = decide(&turn, id, context, of_now(command, &turn));
            expected = decided.map_err(|error| otherwise(error.to_string()))?.into();
        }
        let computed = expected.pop_front().filter(|computed| computed.label() == event.label());
        let computed = computed.ok_or_else(|| otherwise(recorded.kind.to_string()))?;
        turn.apply(id, recorded.time, &computed);
        recorded.body = Body::Known(computed);
    }
    Ok(())
}

/// An answer to what is asked under its new names.
fn of_now(command: Command, turn: &Turn) -> Command {
    let Some(asked) = &turn.asked else { return command };
    let now = || asked.digest.clone();
    match command {
        Command::Consent { step, by, .. } => Command::Consent { step, digest: now(), by },
        Command::Deny { step, by, .. } => Command::Deny { step, digest: now(), by },
        Command::Expire { step, why, .. } => Command::Expire { step, digest: now(), why },
        other => other,
    }
}

/// Numbers without gaps, and places in the streams.
fn number(events: &mut [Recorded]) {
    let mut places = std::collections::BTreeMap::<String, u64>::new();
    for (seq, recorded) in (1..).zip(events) {
        let place = places.entry(recorded.stream.clone()).or_default();
        *place += 1;
        (recorded.seq, recorded.version) = (seq, *place);
    }
}

fn finished(
    rules: &Rules,
    events: &[Recorded],
    names: &[(String, String)],
    is_decidable: bool,
    opened: &TurnOpened,
) -> Result<Case, CaseError> {
    let mut checker = Checker::new(rules, false);
    let mut projected = Projected::default();
    let mut text = String::new();
    let mut ended = String::new();
    for recorded in events {
        let line = history::line(recorded).to_string();
        if let Some((path, _)) = names.iter().find(|(path, _)| line.contains(path.as_str())) {
            return Err(CaseError::Named { path: path.clone(), seq: recorded.seq });
        }
        if let Some(Event::TurnClosed(closed)) = recorded.event() {
            ended = [Some(closed.final_kind.as_str()), closed.class.as_deref()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" ");
        }
        text.push_str(&line);
        text.push('\n');
        // What is written is what is read: the check is made of that.
        let Ok(read) = history::read_line(&line) else {
            return Err(CaseError::Otherwise { seq: recorded.seq, what: recorded.kind.to_string() });
        };
        projected.evolve(&read);
        checker.take(&read);
    }
    let (report, _) = checker.finish();
    if let Some(difference) = report.differences.first() {
        let what = difference.recorded.as_ref().map_or("", |(kind, _)| kind).to_owned();
        return Err(CaseError::Otherwise { seq: difference.seq, what });
    }
    let line = |all: String, (name, digest): (&str, String)| all + name + " " + &digest + "\n";
    let digests = projected.digests().into_iter().fold(String::new(), line);
    let sentence = replaced(&opened.text, names);
    Ok(Case { history: text, digests, events: events.len(), is_decidable, text: sentence, ended })
}

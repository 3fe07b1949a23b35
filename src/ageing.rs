//! Synthesised executors that nobody uses: idle for a month they fall below the threshold, two weeks later their archival is
//! proposed, and only the owner archives. They can be called all the while; a use makes them active at once.

use metnos_log::event::executor::LifeCycle;
use metnos_log::store::ReadError;
use metnos_log::{Event, Micros, TurnId};
use metnos_projections::machines::catalog::{Command, decide};
use metnos_projections::rules::ageing::{self, Due};
use metnos_projections::views::audit::Kind;
use metnos_projections::views::audit::selection::Selection;
use serde_json::Value;

use crate::export::audit_lines::{Format, export_by_index};
use crate::instance::{Instance, InstanceError};
use crate::loader::{self, InstallError};
use crate::views::ViewError;

/// Who moves what has aged.
const AGER: &str = "ager";

/// Why nothing aged.
#[derive(Debug, thiserror::Error)]
pub enum AgeingError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The calls cannot be looked up.
    #[error(transparent)]
    View(#[from] ViewError),
    /// It cannot be moved.
    #[error(transparent)]
    Install(#[from] InstallError),
}

/// One that was idle for long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The executor.
    pub name: String,
    /// Since when: its last use, or its last move where that is later.
    pub since: Micros,
}

/// Lets what has been idle for long enough fall below the threshold; which.
pub fn pass(instance: &Instance, now: Micros) -> Result<Vec<Idle>, AgeingError> {
    let fallen = due(instance, LifeCycle::Active, now)?;
    for idle in &fallen {
        let day = jiff::Timestamp::from_microsecond(idle.since.0).unwrap_or_default().strftime("%Y-%m-%d");
        let reason = format!("not used since {day}");
        loader::move_to(instance, &idle.name, LifeCycle::BelowThreshold, &reason, AGER)?;
    }
    Ok(fallen)
}

/// Those whose archival is proposed now.
pub fn proposed(instance: &Instance, now: Micros) -> Result<Vec<Idle>, AgeingError> {
    due(instance, LifeCycle::BelowThreshold, now)
}

/// Those that stand there and of which something is due.
fn due(instance: &Instance, life: LifeCycle, now: Micros) -> Result<Vec<Idle>, AgeingError> {
    let catalog = instance.catalog();
    let mut found = Vec::new();
    for (name, _, version) in catalog.all_active() {
        let stands = catalog.executors.get(name).is_some_and(|entry| entry.life == life);
        if !stands || !version.manifest().is_some_and(|manifest| ageing::ages(&manifest.executor.created_by)) {
            continue;
        }
        let since = since(instance, name, life)?;
        if matches!(ageing::due(life, since, now), Some(Due::BelowThreshold | Due::Archival)) {
            found.push(Idle { name: name.to_owned(), since });
        }
    }
    Ok(found)
}

/// Since when nothing happened to an executor; of one that is active, its calls count.
fn since(instance: &Instance, name: &str, life: LifeCycle) -> Result<Micros, AgeingError> {
    let is_move = |event: &Event| matches!(event, Event::LifeCycleChanged(_) | Event::VersionPromoted(_));
    let events = instance.log.reader().stream(&format!("executor/{name}"))?;
    let moved = events.iter().filter(|recorded| recorded.event().is_some_and(is_move)).map(|recorded| recorded.time);
    let moved = moved.max().unwrap_or(Micros(0));
    if life != LifeCycle::Active {
        return Ok(moved);
    }
    let selection = Selection { kind: Some(Kind::Executors), executor: Some(name.to_owned()), ..Selection::default() };
    let mut last = moved.0;
    let mut called = |text: &str| {
        let times = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let times = times.filter_map(|call| call["ts"].as_str()?.parse::<jiff::Timestamp>().ok());
        last = times.map(jiff::Timestamp::as_microsecond).fold(last, i64::max);
        Ok::<(), AgeingError>(())
    };
    export_by_index(instance, Format::Jsonl, &selection, (&|_, _| {}, &mut called))?;
    Ok(Micros(last))
}

/// A use of one that was below the threshold makes it active.
pub fn used(instance: &Instance, name: &str, turn: Option<TurnId>) -> Result<(), InstanceError> {
    let catalog = instance.catalog();
    let Some((name, entry)) = catalog.find(name).filter(|(_, entry)| entry.life == LifeCycle::BelowThreshold) else {
        return Ok(());
    };
    let by = turn.map_or_else(|| "owner".to_owned(), |turn| format!("turn:{turn}"));
    let reason = format!("used again; it was below the threshold: {}", entry.reason);
    let command = Command::Move { name: name.to_owned(), to: LifeCycle::Active, reason, by };
    // Whoever else uses it was faster, or it was moved elsewhere: then nothing resumes.
    instance
        .change(&format!("executor/{name}"), Vec::new(), |projected| decide(&projected.catalog, command))
        .map(|_| ())
}

//! The files of the home that hold what is gone from the log all the same: nothing that is made of the log, and so for the person to
//! change. Nothing is changed here.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use metnos_log::{Event, Recorded, TurnId};
use serde_json::Value;

use super::search::Sought;
use super::{ErasureError, refused};
use crate::config::Dirs;

/// So much of the beginning of a text tells it from others.
const CHARACTERS: usize = 64;
/// What is shorter stands everywhere.
const BYTES_MIN: usize = 8;

/// What turns said and returned, so that an export that holds it is known.
#[derive(Debug, Default)]
pub(super) struct Words(BTreeSet<String>);

impl Words {
    pub(super) fn take(&mut self, recorded: &mut Recorded) {
        if let Some(Event::TurnOpened(opened)) = recorded.event() {
            self.add(&opened.text);
        }
        for kept in recorded.events_mut().iter_mut().flat_map(Event::kept) {
            let Some(text) = kept.get() else { continue };
            match serde_json::from_str::<Value>(text) {
                Ok(value) => self.add_all(&value),
                Err(_) => self.add(text),
            }
        }
    }

    fn add(&mut self, text: &str) {
        let text = text.trim();
        if text.len() >= BYTES_MIN {
            self.0.insert(text.chars().take(CHARACTERS).collect());
        }
    }

    fn add_all(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.add(text),
            Value::Array(items) => items.iter().for_each(|item| self.add_all(item)),
            Value::Object(members) => members.values().for_each(|value| self.add_all(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The files that hold a text, as [`Sought`] finds it.
pub(super) fn holding(dirs: &Dirs, text: &str) -> Result<Vec<PathBuf>, ErasureError> {
    let sought = Sought::of(text);
    files(dirs, &[], |path| sought.is_in_file(path))
}

/// The exports that hold something of turns: files that name one of them, and in which some of their words stand. What Metnos makes
/// of the log itself is made again without them, where another turn may have the same words.
pub(super) fn exports(dirs: &Dirs, turns: &BTreeSet<TurnId>, words: &Words) -> Result<Vec<PathBuf>, ErasureError> {
    if turns.is_empty() || words.0.is_empty() {
        return Ok(Vec::new());
    }
    let names = Sought::of_any(turns.iter().map(ToString::to_string));
    let sought = Sought::of_any(words.0.iter().cloned());
    let own = ["log", "projections", "backups", "cages"].map(|name| dirs.data.join(name));
    let own = [own.as_slice(), &[dirs.runtime.clone(), dirs.workspace.join(".audit")]].concat();
    files(dirs, &own, |path| Ok(names.is_in_file(path)? && sought.is_in_file(path)?))
}

/// The plain files of the home of which something is true, in order.
fn files(
    dirs: &Dirs,
    passed_over: &[PathBuf],
    holds: impl Fn(&Path) -> io::Result<bool>,
) -> Result<Vec<PathBuf>, ErasureError> {
    let (own, mut left) = ([&dirs.config, &dirs.data, &dirs.workspace], Vec::new());
    // One folder holds the three, or each lies among what is others'.
    let home = dirs.data.parent().filter(|home| own.iter().all(|folder| folder.parent() == Some(home)));
    let mut waiting = home.map_or_else(|| own.map(Clone::clone).to_vec(), |home| vec![home.to_owned()]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).map_err(refused(&folder))? {
            let entry = entry.map_err(refused(&folder))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(refused(&folder))?);
            if kind.is_dir() && !passed_over.contains(&path) {
                waiting.push(path);
            } else if kind.is_file() && holds(&path).map_err(refused(&path))? {
                left.push(path);
            }
        }
    }
    left.sort();
    Ok(left)
}

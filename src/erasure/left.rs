//! The files of the home that hold what is gone from the log all the same: nothing that is made of the log, and so for the person to
//! change. Nothing is changed here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use metnos_log::{Event, Recorded, TurnId};
use serde_json::Value;

use super::search::Sought;
use crate::config::Dirs;

/// So much of the beginning of a text tells it from others.
const CHARACTERS: usize = 64;
/// What is shorter stands everywhere.
const BYTES_MIN: usize = 8;
/// So many texts of a turn tell an export of it: whatever it leaves out, it has one of the first.
const TEXTS_OF_TURN: usize = 64;
/// So many are kept at most, whatever somebody said in years.
const TEXTS: usize = 4096;

/// What turns said and returned, so that an export that holds it is known.
#[derive(Debug, Default)]
pub(super) struct Words {
    texts: BTreeSet<String>,
    of_turns: BTreeMap<TurnId, usize>,
    /// Whether there were more than are kept. Then every file that names one of the turns counts.
    is_cut: bool,
}

impl Words {
    pub(super) fn take(&mut self, recorded: &mut Recorded) {
        let Some(turn) = recorded.turn else { return };
        let opened =
            if let Some(Event::TurnOpened(opened)) = recorded.event() { Some(opened.text.clone()) } else { None };
        let mut said: Vec<Value> = opened.into_iter().map(Value::String).collect();
        let kept = recorded.events_mut().iter_mut().flat_map(Event::kept);
        said.extend(kept.filter_map(|kept| {
            let text = kept.get()?;
            Some(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())))
        }));
        self.keep(turn, &Value::Array(said));
    }

    fn keep(&mut self, turn: TurnId, said: &Value) {
        if self.is_cut {
            return;
        }
        let (before, taken) = (self.texts.len(), self.of_turns.get(&turn).copied().unwrap_or_default());
        self.add_all(said, before + TEXTS_OF_TURN - taken);
        self.of_turns.insert(turn, taken + self.texts.len() - before);
        if self.texts.len() > TEXTS {
            *self = Self { is_cut: true, ..Self::default() };
        }
    }

    fn add(&mut self, text: &str, most: usize) {
        let text = text.trim();
        if self.texts.len() < most && text.len() >= BYTES_MIN {
            self.texts.insert(text.chars().take(CHARACTERS).collect());
        }
    }

    fn add_all(&mut self, value: &Value, most: usize) {
        match value {
            Value::String(text) => self.add(text, most),
            Value::Array(items) => items.iter().for_each(|item| self.add_all(item, most)),
            Value::Object(members) => members.values().for_each(|value| self.add_all(value, most)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// What became of looking into the files of the home.
#[derive(Debug, Default)]
pub struct Left {
    /// The files that hold it.
    pub holding: Vec<PathBuf>,
    /// The files and folders that could not be looked into.
    pub unread: Vec<PathBuf>,
}

/// The files that hold a text, as [`Sought`] finds it; without those that Metnos writes by itself, where events that stay hold it.
pub(super) fn holding(dirs: &Dirs, text: &str, stays: bool) -> Left {
    let sought = Sought::of(text);
    let own = if stays { own(dirs) } else { Vec::new() };
    files(dirs, &own, |path| sought.is_in_file(path))
}

/// The folders of what is made of the log.
fn own(dirs: &Dirs) -> Vec<PathBuf> {
    let data = ["log", "projections", "backups", "cages"].map(|name| dirs.data.join(name));
    let workspace = [".audit", ".mnestome", "executors"].map(|name| dirs.workspace.join(name));
    [data.as_slice(), workspace.as_slice(), std::slice::from_ref(&dirs.runtime)].concat()
}

/// The exports that hold something of turns: files that name one of them, and in which some of their words stand. What Metnos makes
/// of the log itself is made again without them, where another turn may have the same words.
pub(super) fn exports(dirs: &Dirs, turns: &BTreeSet<TurnId>, words: &Words) -> Left {
    if turns.is_empty() || words.texts.is_empty() && !words.is_cut {
        return Left::default();
    }
    let names = Sought::of_turns(turns.clone());
    let sought = (!words.is_cut).then(|| Sought::of_any(words.texts.iter().cloned()));
    let says = |path: &Path| sought.as_ref().map_or(Ok(true), |sought| sought.is_in_file(path));
    files(dirs, &own(dirs), |path| Ok(names.is_in_file(path)? && says(path)?))
}

/// The plain files of the home of which something is true, in order. One that cannot be read keeps nobody from looking into the
/// others: what was to be gone is gone by now.
fn files(dirs: &Dirs, passed_over: &[PathBuf], holds: impl Fn(&Path) -> io::Result<bool>) -> Left {
    let (own, mut left) = ([&dirs.config, &dirs.data, &dirs.workspace], Left::default());
    // One folder holds the three, or each lies among what is others'.
    let home = dirs.data.parent().filter(|home| own.iter().all(|folder| folder.parent() == Some(home)));
    let mut waiting = home.map_or_else(|| own.map(Clone::clone).to_vec(), |home| vec![home.to_owned()]);
    while let Some(folder) = waiting.pop() {
        let looked = look(&folder, &mut |path, is_folder| {
            if is_folder && !passed_over.contains(&path) {
                waiting.push(path);
            } else if !is_folder {
                match holds(&path) {
                    Ok(true) => left.holding.push(path),
                    Err(error) if error.kind() != io::ErrorKind::NotFound => left.unread.push(path),
                    Ok(false) | Err(_) => {}
                }
            }
        });
        if looked.is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
            left.unread.push(folder);
        }
    }
    left.holding.sort();
    left.unread.sort();
    left
}

/// The folders and plain files of a folder. Links are passed over: what they lead to lies in the home itself, or is others'.
fn look(folder: &Path, each: &mut dyn FnMut(PathBuf, bool)) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = match entry.file_type() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            kind => kind?,
        };
        if kind.is_dir() || kind.is_file() {
            each(entry.path(), kind.is_dir());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(number: u16) -> TurnId {
        let mut bytes = [7; 16];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        bytes[0] &= 0x7f;
        TurnId(bytes)
    }

    #[test]
    fn what_is_kept_of_turns_stays_small() {
        let mut words = Words::default();
        let many: Vec<Value> = (0..1000).map(|number| format!("the text {number}").into()).collect();
        words.keep(turn(1), &Value::Array(many.clone()));
        words.keep(turn(1), &Value::Array(many));
        assert_eq!((words.texts.len(), words.is_cut), (TEXTS_OF_TURN, false));
        words.keep(turn(2), &Value::String("of another turn".to_owned()));
        assert!(words.texts.contains("of another turn"));
        for number in 0..=TEXTS {
            words.keep(turn(u16::try_from(number).unwrap()), &Value::String(format!("said as number {number}")));
        }
        assert_eq!((words.texts.len(), words.of_turns.len(), words.is_cut), (0, 0, true));
    }

    /// Where not all words are known, an export of one of the turns is rather named than passed over.
    #[test]
    fn exports_are_known_by_their_turns_where_words_are_too_many() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path();
        let variables = crate::config::Variables { user_home: Some(home.to_owned()), ..Default::default() };
        let dirs = Dirs::resolve(Some(&home.join("metnos")), &variables).unwrap();
        dirs.create().unwrap();
        let (export, other) = (dirs.workspace.join("export.jsonl"), dirs.workspace.join("other.jsonl"));
        fs::write(&export, format!("{{\"turn\":\"{}\",\"said\":\"anything\"}}", turn(7))).unwrap();
        fs::write(&other, format!("{{\"turn\":\"{}\"}}", turn(8))).unwrap();
        std::os::unix::fs::symlink(home, dirs.workspace.join("link")).unwrap();
        let left = |words: &Words| exports(&dirs, &[turn(7)].into(), words);
        let cut = left(&Words { is_cut: true, ..Words::default() });
        assert_eq!((cut.holding, cut.unread), (vec![export], Vec::new()));
        let otherwise = left(&Words { texts: ["something else".to_owned()].into(), ..Words::default() });
        assert_eq!(otherwise.holding, Vec::<PathBuf>::new());
    }
}

//! The files of the home that hold what is gone from the log all the same: what somebody copied or exported, and so for the person
//! to change. Nothing is changed here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use metnos_log::store::is_log;
use metnos_log::{BlobHash, Event, Recorded};
use serde_json::Value;

use super::closed::is_closed;
use super::search::{FRAME, Sought, UntilBroken};
use crate::config::Dirs;

/// So much of the beginning of a text tells it from others.
const CHARACTERS: usize = 64;
/// What is shorter stands everywhere.
const BYTES_MIN: usize = 8;
/// So many texts of a turn tell an export of it: whatever it leaves out, it has one of the first.
const TEXTS_OF_TURN: usize = 64;
/// So many are kept at most, whatever somebody said in years.
const TEXTS: usize = 4096;

/// The name of a turn, or of an event that belongs to none.
type Name = [u8; 16];

/// What turns said and returned, and what was sent outside of them, so that a file that holds it is known.
#[derive(Debug, Default)]
pub(super) struct Words {
    texts: BTreeSet<String>,
    of_names: BTreeMap<Name, usize>,
    /// Whether there were more than are kept. Then every file that names one of them counts.
    is_cut: bool,
}

impl Words {
    /// Takes what an event says; `whole`: every text of it, where nothing of it is what somebody said or got.
    pub(super) fn take(&mut self, recorded: &mut Recorded, json: &Value, whole: bool) {
        let opened =
            if let Some(Event::TurnOpened(opened)) = recorded.event() { Some(opened.text.clone()) } else { None };
        let mut said: Vec<Value> = opened.into_iter().map(Value::String).collect();
        let kept = recorded.events_mut().iter_mut().flat_map(Event::kept);
        said.extend(kept.filter_map(|kept| {
            let text = kept.get()?;
            Some(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())))
        }));
        if recorded.turn.is_none() || whole && said.is_empty() {
            said.push(json.clone());
        }
        self.keep(recorded.turn.map_or(recorded.id.0, |turn| turn.0), &Value::Array(said));
    }

    /// Says that something that a turn or an event held is gone.
    pub(super) fn name(&mut self, name: Name) {
        self.of_names.entry(name).or_default();
    }

    fn keep(&mut self, name: Name, said: &Value) {
        let taken = self.of_names.get(&name).copied().unwrap_or_default();
        if self.is_cut {
            self.of_names.insert(name, taken);
            return;
        }
        let before = self.texts.len();
        self.add_all(said, before + TEXTS_OF_TURN - taken);
        self.of_names.insert(name, taken + self.texts.len() - before);
        if self.texts.len() > TEXTS {
            (self.texts, self.is_cut) = (BTreeSet::new(), true);
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

/// What is looked for.
pub(super) struct Gone<'g> {
    /// What a file must name, where it is not known by its texts alone.
    names: Option<Sought>,
    /// What must stand in it; `None`: whatever does.
    texts: Option<Sought>,
    /// The long texts and copies of files that are gone: a file that is called so is one.
    blobs: &'g BTreeSet<BlobHash>,
    /// Whether what Metnos writes by itself may hold it rightly.
    stays: bool,
}

impl<'g> Gone<'g> {
    /// A text; `stays`: there are events that hold it and are not erased.
    pub(super) fn text(text: &str, blobs: &'g BTreeSet<BlobHash>, stays: bool) -> Self {
        Self { names: None, texts: Some(Sought::of(text)), blobs, stays }
    }

    /// What turns and events held. Another turn may have the same words: only a file that names one of these counts.
    pub(super) fn words(words: &Words, blobs: &'g BTreeSet<BlobHash>) -> Self {
        let names = Some(Sought::of_names(words.of_names.keys().copied().collect()));
        let texts = (!words.is_cut).then(|| Sought::of_any(words.texts.iter().cloned()));
        Self { names, texts, blobs, stays: true }
    }

    /// Whether a file or folder is called so.
    fn is_called(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        self.names.is_none() && self.texts.as_ref().is_some_and(|texts| texts.is_in(name))
    }

    fn is_in(&self, path: &Path) -> io::Result<bool> {
        let stem = path.file_name().and_then(|name| blake3::Hash::from_hex(name.as_encoded_bytes()).ok());
        if stem.is_some_and(|hash| self.blobs.contains(&BlobHash(*hash.as_bytes()))) {
            return Ok(true);
        }
        let says = |sought: &Option<Sought>| sought.as_ref().map_or(Ok(true), |sought| sought.is_in_file(path));
        Ok(says(&self.names)? && says(&self.texts)?)
    }
}

/// What became of looking into the files of the home.
#[derive(Debug, Default)]
pub struct Left {
    /// The files that hold it.
    pub holding: Vec<PathBuf>,
    /// Copies of the log: whatever was erased, they are as they were.
    pub copies: Vec<PathBuf>,
    /// The files and folders that could not be looked into.
    pub unread: Vec<PathBuf>,
    /// The files of the workspace in forms that are not looked into.
    pub closed: Vec<PathBuf>,
}

impl Left {
    /// Takes in what is left of something else that was erased with it.
    pub(super) fn join(&mut self, other: Self) {
        let Self { holding, copies, unread, closed } = other;
        for (own, others) in [
            (&mut self.holding, holding),
            (&mut self.copies, copies),
            (&mut self.unread, unread),
            (&mut self.closed, closed),
        ] {
            own.extend(others);
            own.sort();
            own.dedup();
        }
    }
}

/// The files in which a text stands, of those that were written anew without it.
pub(super) fn holding(rewritten: &[PathBuf], text: &str) -> Vec<PathBuf> {
    let sought = Sought::of(text);
    rewritten.iter().filter(|path| sought.is_in_file(path).unwrap_or(false)).cloned().collect()
}

/// Looks into the home; not into what was made anew without it: `rewritten`, and what is made of the log.
pub(super) fn files(dirs: &Dirs, rewritten: &[PathBuf], gone: &Gone<'_>) -> Left {
    let home = Home { dirs, rewritten: rewritten.iter().filter_map(|path| identity(path).ok()).collect(), gone };
    let mut left = Left::default();
    let mut waiting = roots(dirs);
    while let Some(folder) = waiting.pop() {
        let looked = look(&folder, &mut |path, is_folder| {
            if is_folder {
                if path.starts_with(&dirs.workspace) && gone.is_called(&path) {
                    left.holding.push(path.clone());
                }
                waiting.push(path);
            } else if let Err(error) = home.take(&path, &mut left)
                && error.kind() != io::ErrorKind::NotFound
            {
                left.unread.push(path);
            }
        });
        if looked.is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
            left.unread.push(folder);
        }
    }
    for paths in [&mut left.holding, &mut left.copies, &mut left.unread, &mut left.closed] {
        paths.sort();
    }
    left
}

/// Where to begin. The log and its backups may lie elsewhere, by a link.
fn roots(dirs: &Dirs) -> Vec<PathBuf> {
    let links = ["log", "backups"].map(|name| dirs.data.join(name)).into_iter().filter(|folder| folder.is_symlink());
    dirs.roots().into_iter().chain(links).collect()
}

/// A home that is looked through.
struct Home<'h> {
    dirs: &'h Dirs,
    rewritten: BTreeSet<(u64, u64)>,
    gone: &'h Gone<'h>,
}

impl Home<'_> {
    /// Looks into a file. One that cannot be read keeps nobody from looking into the others: what was to be gone is gone by now.
    fn take(&self, path: &Path, left: &mut Left) -> io::Result<()> {
        let below = |folders: &[PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
        let made = [self.dirs.data.join("projections"), self.dirs.workspace.join(".audit")];
        if below(&made) || self.rewritten.contains(&identity(path)?) {
            return Ok(());
        }
        if is_copy(path)? {
            left.copies.push(path.to_owned());
            return Ok(());
        }
        let executors = self.dirs.workspace.join("executors");
        let written = [self.dirs.workspace.join(".mnestome"), executors, self.dirs.runtime.clone()];
        let is_called = path.starts_with(&self.dirs.workspace) && self.gone.is_called(path);
        if !(self.gone.stays && below(&written)) && (is_called || self.gone.is_in(path)?) {
            left.holding.push(path.to_owned());
        } else if path.starts_with(&self.dirs.workspace) && !below(&written) && is_closed(path)? {
            left.closed.push(path.to_owned());
        }
        Ok(())
    }
}

/// Which file it is, whatever it is called.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(path).map(|file| (file.dev(), file.ino()))
}

/// Whether a file is a log, as it is or packed.
fn is_copy(path: &Path) -> io::Result<bool> {
    if is_log(File::open(path)?)? {
        return Ok(true);
    }
    let mut file = File::open(path)?;
    let mut begin = Vec::new();
    file.by_ref().take(FRAME.len() as u64).read_to_end(&mut begin)?;
    if begin != FRAME {
        return Ok(false);
    }
    zstd::Decoder::new(File::open(path)?).map_or(Ok(false), |packed| is_log(UntilBroken(packed)))
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
    use metnos_log::TurnId;

    use super::*;

    fn turn(number: u16) -> Name {
        let mut bytes = [7; 16];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        bytes[0] &= 0x7f;
        bytes
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
        assert_eq!((words.texts.len(), words.of_names.len(), words.is_cut), (0, TEXTS + 1, true));
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
        fs::write(&export, format!("{{\"turn\":\"{}\",\"said\":\"anything\"}}", TurnId(turn(7)))).unwrap();
        fs::write(&other, format!("{{\"turn\":\"{}\"}}", TurnId(turn(8)))).unwrap();
        std::os::unix::fs::symlink(home, dirs.workspace.join("link")).unwrap();
        let of_names = || BTreeMap::from([(turn(7), 0)]);
        let left = |words: &Words| files(&dirs, &[], &Gone::words(words, &BTreeSet::new()));
        let cut = left(&Words { is_cut: true, of_names: of_names(), ..Words::default() });
        assert_eq!((cut.holding, cut.unread), (vec![export], Vec::new()));
        let otherwise =
            left(&Words { texts: ["something else".to_owned()].into(), of_names: of_names(), ..Words::default() });
        assert_eq!(otherwise.holding, Vec::<PathBuf>::new());
        assert_eq!(left(&Words::default()).holding, Vec::<PathBuf>::new());
    }
}

//! Audit files below `workspace/.audit`: one JSON line a call and a turn, one file a kind and day.
//!
//! Exporting again gives the same bytes. Text is written as it comes, so a long log takes no more memory than a short one.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use metnos_log::Log;
use metnos_log::store::ReadError;
use metnos_projections::views::audit::{Audit, VERSION};
use serde::{Deserialize, Serialize};

use crate::signing::write_private;

/// Why the audit cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file cannot be written.
    #[error("the audit cannot be written below {path}")]
    Io {
        /// The folder.
        path: std::path::PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Writes every audit file anew; returns how many lines there are.
pub fn write(log: &Log, folder: &Path) -> Result<u64, ExportError> {
    let mut follower = Follower::default();
    follower.follow(log, folder)?;
    Ok(follower.state.lines)
}

/// Text by kind and day.
type Files = BTreeMap<(String, String), String>;

/// How much text waits before it is written.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// How a file was left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Left {
    bytes: u64,
    modified_s: i64,
    modified_ns: i64,
}

impl Left {
    /// How a file is; one that is not there is empty.
    fn of(path: &Path) -> Self {
        std::fs::symlink_metadata(path).map_or_else(
            |_| Self::default(),
            |file| Self { bytes: file.len(), modified_s: file.mtime(), modified_ns: file.mtime_nsec() },
        )
    }
}

/// Keeps the files up to date by what was appended to the log. A file that is not as it was left makes it start anew.
#[derive(Default)]
pub struct Follower {
    state: State,
    /// Whether every file was looked at, and not only those that are written to.
    is_checked: bool,
}

/// What a follower knows; a file saves it the whole log the next time.
#[derive(Clone, Default, Serialize, Deserialize)]
struct State {
    /// The shape of the lines that the files hold.
    #[serde(default)]
    version: u32,
    audit: Audit,
    /// The last event that the files tell of, and the chain's head there.
    position: u64,
    head: [u8; 32],
    lines: u64,
    /// By the path below the folder.
    files: BTreeMap<String, Left>,
}

impl Follower {
    /// A follower as [`Self::save`] left it; one that begins anew where there is none.
    pub fn load(path: &Path) -> Self {
        let state = std::fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        Self { state: state.filter(|state: &State| state.version == VERSION).unwrap_or_default(), is_checked: false }
    }

    /// Keeps what it knows in a file.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        write_private(path, &serde_json::to_vec(&self.state).map_err(io::Error::other)?)
    }

    /// Brings the files to where the log is.
    pub fn follow(&mut self, log: &Log, folder: &Path) -> Result<(), ExportError> {
        // Whatever fails on the way leaves a follower that begins anew the next time.
        let Self { mut state, is_checked } = std::mem::take(self);
        let is_as_left = |(name, left): (&String, &Left)| Left::of(&folder.join(name)) == *left;
        if state.position > 0
            && (is_checked || state.files.iter().all(is_as_left))
            && state.follow(log, folder, false)?
        {
            *self = Self { state, is_checked: true };
            return Ok(());
        }
        let mut state = State { version: VERSION, ..State::default() };
        if state.follow(log, folder, true)? {
            *self = Self { state, is_checked: true };
        }
        Ok(())
    }
}

impl State {
    /// Takes in what was appended; `false` when the files or the log are not what it began with. `anew`: the files are
    /// written beside those that are there, and take their places in the end.
    fn follow(&mut self, log: &Log, folder: &Path, anew: bool) -> Result<bool, ExportError> {
        let head = log.head();
        let reader = log.reader();
        if self.position > head.size || reader.head_at(self.position)? != self.head {
            return Ok(false);
        }
        let mut waiting = Files::new();
        let mut waiting_bytes = 0;
        let mut is_as_left = true;
        reader.each(self.position + 1, |recorded| {
            if recorded.seq > head.size {
                return Ok::<bool, ExportError>(false);
            }
            // Lines that were written say more than the log does now.
            if !anew && recorded.kind == "erased" {
                is_as_left = false;
                return Ok(false);
            }
            if let Some(line) = self.audit.take(&recorded) {
                let made = line.text();
                waiting_bytes += made.len() + 1;
                let text = waiting.entry((line.kind.name().to_owned(), line.day())).or_default();
                text.push_str(&made);
                text.push('\n');
                self.lines += 1;
            }
            self.position = recorded.seq;
            if waiting_bytes > WAITING_BYTES_MAX {
                is_as_left = self.write(std::mem::take(&mut waiting), folder, anew)?;
                waiting_bytes = 0;
            }
            Ok(is_as_left)
        })?;
        let is_whole = is_as_left && self.write(waiting, folder, anew)?;
        if anew {
            for (name, left) in &mut self.files {
                let path = folder.join(name);
                std::fs::rename(fresh(&path), &path).map_err(refused(folder))?;
                *left = Left::of(&path);
            }
        }
        self.head = head.head;
        Ok(is_whole && self.position == head.size)
    }

    /// Appends to the files; `false` when one of them is not as it was left.
    fn write(&mut self, texts: Files, folder: &Path, anew: bool) -> Result<bool, ExportError> {
        for ((kind, day), text) in texts {
            let name = format!("{kind}/{day}.jsonl");
            let path = folder.join(&name);
            let left = self.files.get(&name).copied();
            let path = if anew { fresh(&path) } else { path };
            if !anew && left.unwrap_or_default() != Left::of(&path) {
                return Ok(false);
            }
            append(&path, &text, anew && left.is_none()).map_err(refused(folder))?;
            self.files.insert(name, Left::of(&path));
        }
        Ok(true)
    }
}

/// Where a file is written anew before it takes its place.
fn fresh(path: &Path) -> PathBuf {
    path.with_extension("jsonl.new")
}

fn refused(folder: &Path) -> impl FnOnce(io::Error) -> ExportError {
    let path = folder.to_owned();
    move |source| ExportError::Io { path, source }
}

/// `begins`: whatever is there already is not kept.
fn append(path: &Path, text: &str, begins: bool) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    if begins
        && let Err(error) = std::fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let flags = libc::O_NOFOLLOW;
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use metnos_log::event::instance::Erased;
    use metnos_log::store::Erasure;
    use metnos_log::{Draft, EventId, Micros, TurnId};
    use metnos_projections::machines::turn::command::Command;
    use metnos_projections::machines::turn::{Context, Turn, decide};

    use super::*;
    use crate::config::{Flags, Variables};
    use crate::engine::{Request, opened};
    use crate::instance::{Instance, random};

    /// A turn of that day, in which nothing is understood.
    fn turn(instance: &Instance, day: i64) {
        let time = Micros(day * 86_400_000_000);
        let id = TurnId::new(time, random());
        let (approve, channel) = ("none".to_owned(), "console".to_owned());
        let (text, folder) = ("qwertz asdf".to_owned(), instance.dirs.user_home.clone());
        let request = Request { text, approve, folder, channel, ..Request::default() };
        let opened = Command::Open(Box::new(opened(instance, &request)));
        let pending = instance.while_it_stands(|catalog, tools| {
            let context = Context { rules: &instance.rules, catalog, tools, time };
            let events = decide(&Turn::default(), id, context, opened).unwrap();
            instance.submit_turn(id, None, (0, time), events, Vec::new())
        });
        pending.wait().unwrap();
    }

    fn tree(folder: &Path) -> BTreeMap<PathBuf, String> {
        let files = std::fs::read_dir(folder.join("turns")).unwrap().map(|entry| entry.unwrap().path());
        let text = |path: PathBuf| (path.file_name().unwrap().into(), std::fs::read_to_string(&path).unwrap());
        files.map(text).collect()
    }

    #[test]
    fn following_gives_the_bytes_of_writing_whatever_was_done_to_the_files() {
        let place = tempfile::tempdir().unwrap();
        let variables = Variables { user_home: Some(place.path().to_owned()), ..Variables::default() };
        let home = place.path().join("instance");
        let instance = Instance::open(Some(&home), &Flags::default(), &variables, std::time::Duration::ZERO).unwrap();
        let (kept, whole) = (place.path().join("kept"), place.path().join("whole"));
        let saved = place.path().join("saved.json");
        let mut follower = Follower::default();
        let mut days = 0;
        let mut same = |after: &str| {
            days += 1;
            turn(&instance, 20_000);
            turn(&instance, 20_000 + days);
            follower.follow(&instance.log, &kept).unwrap();
            write(&instance.log, &whole).unwrap();
            follower.save(&saved).unwrap();
            follower = Follower::load(&saved);
            let (kept, whole) = (tree(&kept), tree(&whole));
            assert_eq!(kept, whole, "{after}");
            assert_eq!(whole.len(), 1 + usize::try_from(days).unwrap(), "{after}");
        };
        same("the first time");
        same("what was appended");
        let first = kept.join("turns").join(tree(&kept).keys().next().unwrap());
        std::fs::write(&first, "somebody's own\n").unwrap();
        same("a file that was changed");
        std::fs::remove_file(&first).unwrap();
        same("a file that is gone");
        std::fs::remove_dir_all(&kept).unwrap();
        same("all of them gone");
    }

    #[test]
    fn what_is_erased_is_gone_from_files_that_were_written() {
        let place = tempfile::tempdir().unwrap();
        let variables = Variables { user_home: Some(place.path().to_owned()), ..Variables::default() };
        let home = place.path().join("instance");
        let instance = Instance::open(Some(&home), &Flags::default(), &variables, std::time::Duration::ZERO).unwrap();
        let (kept, whole) = (place.path().join("kept"), place.path().join("whole"));
        let mut follower = Follower::default();
        turn(&instance, 20_000);
        turn(&instance, 20_001);
        follower.follow(&instance.log, &kept).unwrap();
        assert!(tree(&kept).values().all(|text| text.contains("qwertz") && !text.contains("erased")));
        let mut turns = BTreeSet::new();
        let each = instance.log.reader().each(1, |recorded| {
            turns.extend(recorded.turn.map(|_| recorded.seq));
            Ok::<bool, ReadError>(true)
        });
        each.unwrap();
        let (reason, by) = ("asked for".to_owned(), "owner".to_owned());
        let (selector, of, blobs) = ("event".to_owned(), String::new(), Vec::new());
        let seqs = turns.iter().map(|seq| (*seq, *seq)).collect();
        let event = Erased { selector, of, seqs, blobs, reason: reason.clone(), by: by.clone() }.into();
        let record = Draft {
            id: EventId(random()),
            time: Micros(7),
            stream: "instance".to_owned(),
            actor: by.clone(),
            turn: None,
            cause: None,
            event,
            blobs: Vec::new(),
        };
        instance.log.erase(Erasure { seqs: turns, blobs: BTreeSet::new(), record }).unwrap();
        follower.follow(&instance.log, &kept).unwrap();
        write(&instance.log, &whole).unwrap();
        assert_eq!(tree(&kept), tree(&whole));
        assert!(tree(&kept).values().all(|text| !text.contains("qwertz") && text.contains("\"erased\":true")));
    }
}

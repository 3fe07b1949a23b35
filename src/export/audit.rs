//! Audit files below `workspace/.audit`: one JSON line a call and a turn, one file a kind and day.
//!
//! Exporting again gives the same bytes: a file is rewritten whole when it differs from what the log says.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use metnos_log::Reader;
use metnos_log::store::ReadError;
use metnos_projections::views::audit::{Audit, Line};

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

/// All lines of the log, in order.
pub fn lines(reader: &Reader) -> Result<Vec<Line>, ReadError> {
    let mut audit = Audit::default();
    let mut lines = Vec::new();
    reader.each(1, |recorded| {
        lines.extend(audit.take(&recorded));
        Ok::<bool, ReadError>(true)
    })?;
    Ok(lines)
}

/// Writes every audit file that is missing or differs; returns how many lines there are.
pub fn write(reader: &Reader, folder: &Path) -> Result<usize, ExportError> {
    let lines = lines(reader)?;
    rewrite(files(&lines), folder)?;
    Ok(lines.len())
}

/// Text by kind and day.
type Files = BTreeMap<(&'static str, String), String>;

fn files(lines: &[Line]) -> Files {
    let mut files = Files::new();
    for line in lines {
        let text = files.entry((line.kind, line.day.clone())).or_default();
        text.push_str(&line.text);
        text.push('\n');
    }
    files
}

fn path(folder: &Path, (kind, day): &(&'static str, String)) -> PathBuf {
    folder.join(kind).join(format!("{day}.jsonl"))
}

fn refused(folder: &Path) -> impl FnOnce(io::Error) -> ExportError {
    let path = folder.to_owned();
    move |source| ExportError::Io { path, source }
}

fn rewrite(files: Files, folder: &Path) -> Result<BTreeMap<PathBuf, u64>, ExportError> {
    let mut lengths = BTreeMap::new();
    for (name, text) in files {
        let path = path(folder, &name);
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.join(name.0));
        let written = made.and_then(|()| {
            if std::fs::read(&path).ok().as_deref() == Some(text.as_bytes()) {
                Ok(())
            } else {
                write_private(&path, text.as_bytes())
            }
        });
        written.map_err(refused(folder))?;
        lengths.insert(path, text.len() as u64);
    }
    Ok(lengths)
}

/// Keeps the files up to date for a process that stays: the first time as [`write()`], after that by what was appended to
/// the log. A file that is not as long as it was left makes it start anew.
#[derive(Default)]
pub struct Follower {
    audit: Audit,
    /// The last event that the files tell of.
    position: u64,
    lengths: BTreeMap<PathBuf, u64>,
}

impl Follower {
    /// Brings the files to where the log is.
    pub fn follow(&mut self, reader: &Reader, folder: &Path) -> Result<(), ExportError> {
        // Whatever fails on the way leaves a follower that begins anew the next time.
        let Self { mut audit, mut position, mut lengths } = std::mem::take(self);
        let mut fresh = Vec::new();
        reader.each(position + 1, |recorded| {
            fresh.extend(audit.take(&recorded));
            position = recorded.seq;
            Ok::<bool, ReadError>(true)
        })?;
        let files = files(&fresh);
        let is_as_left = |name| {
            let path = path(folder, name);
            std::fs::symlink_metadata(&path).map_or(0, |file| file.len()) == lengths.get(&path).copied().unwrap_or(0)
        };
        if lengths.is_empty() {
            lengths = rewrite(files, folder)?;
        } else if files.keys().all(is_as_left) {
            for (name, text) in files {
                let path = path(folder, &name);
                append(&path, &text).map_err(refused(folder))?;
                *lengths.entry(path).or_default() += text.len() as u64;
            }
        } else {
            return self.follow(reader, folder);
        }
        *self = Self { audit, position, lengths };
        Ok(())
    }
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let flags = libc::O_NOFOLLOW;
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use metnos_log::{Micros, TurnId};
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
        let mut follower = Follower::default();
        let mut days = 0;
        let mut same = |after: &str| {
            days += 1;
            turn(&instance, 20_000);
            turn(&instance, 20_000 + days);
            follower.follow(&instance.log.reader(), &kept).unwrap();
            write(&instance.log.reader(), &whole).unwrap();
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
}

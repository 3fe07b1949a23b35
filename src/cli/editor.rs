//! Line editing at a terminal, and the lines of earlier conversations.
//!
//! The history is a plain file of the person's own in the instance's data folder; nothing of it is in the log, and a line
//! that begins with a blank is not kept. Without the file everything works, only without earlier lines.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustyline::config::Config;
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;

use super::Failure;
use crate::cause::plain;
use serde_json::json;

/// How many lines are remembered.
const REMEMBERED: usize = 1000;
/// The file is cut back to that many once it holds twice as many.
const CUT_BACK_AT: usize = 2 * REMEMBERED;
/// A file of another kind is not read to its end.
const BYTES_MAX: u64 = 16 << 20;

/// A line editor with its history.
pub(super) struct Editor {
    inner: rustyline::Editor<(), MemHistory>,
    file: PathBuf,
}

/// What came of a prompt.
pub(super) enum Typed {
    /// A line.
    Line(String),
    /// Ctrl-C: the line was thrown away.
    Cleared,
    /// Ctrl-D on an empty line, or the terminal is gone.
    Ended,
}

impl Editor {
    /// An editor that remembers the lines in `data/chat_history`.
    pub(super) fn open(data: &Path) -> Result<Self, Failure> {
        let config =
            Config::builder().max_history_size(REMEMBERED).and_then(|builder| builder.history_ignore_dups(true));
        let config = config.map_err(|error| broken(&error))?.history_ignore_space(true).tab_stop(4).build();
        let history = MemHistory::with_config(&config);
        let mut inner = rustyline::Editor::with_history(config, history).map_err(|error| broken(&error))?;
        let file = data.join("chat_history");
        for line in remembered(&file).unwrap_or_else(|error| forgotten(&error)) {
            inner.add_history_entry(line).map_err(|error| broken(&error))?;
        }
        Ok(Self { inner, file })
    }

    /// Asks for a line and remembers it.
    pub(super) fn read(&mut self, prompt: &str) -> Result<Typed, Failure> {
        match self.inner.readline(prompt) {
            Ok(line) => {
                let kept = line.replace(['\n', '\r'], " ");
                let is_new = self.inner.add_history_entry(kept.trim_end()).map_err(|error| broken(&error))?;
                if is_new && let Err(error) = remember(&self.file, kept.trim_end()) {
                    forgotten(&error);
                }
                Ok(Typed::Line(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Typed::Cleared),
            Err(ReadlineError::Eof) => Ok(Typed::Ended),
            Err(error) => Err(broken(&error)),
        }
    }
}

fn broken(error: &ReadlineError) -> Failure {
    Failure::internal(("error.terminal_unreadable", json!({ "reason": plain(&error) })))
}

/// The conversation goes on without what the file would have held.
fn forgotten(error: &std::io::Error) -> Vec<String> {
    tracing::info!(%error, "the history of chat lines cannot be used");
    Vec::new()
}

fn open(file: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    let opened = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(file)?;
    if !opened.metadata()?.is_file() {
        return Err(std::io::Error::other("it is no ordinary file"));
    }
    // A file from elsewhere (a backup, a copy) becomes private again.
    opened.set_permissions(Permissions::from_mode(0o600))?;
    Ok(opened)
}

/// The lines of the file, oldest first; cuts it back when it has grown.
fn remembered(file: &Path) -> std::io::Result<Vec<String>> {
    let mut opened = open(file)?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut opened).take(BYTES_MAX).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(REMEMBERED)..];
    if lines.len() >= CUT_BACK_AT {
        opened.set_len(0)?;
        opened.write_all(format!("{}\n", last.join("\n")).as_bytes())?;
    }
    Ok(last.iter().map(|line| (*line).to_owned()).collect())
}

fn remember(file: &Path, line: &str) -> std::io::Result<()> {
    // One write of one line: two conversations at once do not mix theirs.
    open(file)?.write_all(format!("{line}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_private_and_cut_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("chat_history");
        std::fs::write(&file, "an old line\n").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        remember(&file, "che ore sono").unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(remembered(&file).unwrap(), ["an old line", "che ore sono"]);
        for number in 0..CUT_BACK_AT {
            remember(&file, &number.to_string()).unwrap();
        }
        assert_eq!(remembered(&file).unwrap().len(), REMEMBERED);
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!((text.lines().count(), text.lines().last()), (REMEMBERED, Some("1999")));
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("chat_history");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &file).unwrap();
        assert!(remember(&file, "a line").is_err());
        assert!(!folder.path().join("elsewhere").exists());
    }
}

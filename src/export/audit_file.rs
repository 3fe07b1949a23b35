//! A file that an export is written to: whole or not at all, and never in the place of what is no export.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use metnos_projections::views::audit::cloud_events::SOURCE;
use metnos_projections::views::audit::csv;
use metnos_projections::views::audit::proof::FORMAT_BEGINS;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::Value;

use crate::instance::random;
use crate::signing::hex;

/// How much of a file is looked at to see what it is.
const FIRST_LINE_BYTES_MAX: u64 = 64 << 20;

/// Why a file is not written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is something else.
    #[error("{path} is no export")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("{path} cannot be written")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        #[source]
        source: io::Error,
    },
}

/// A file that takes its place once it is whole; dropped before, nothing is left of it.
pub struct Fresh {
    path: PathBuf,
    beside: PathBuf,
    file: BufWriter<File>,
    /// Whether there was an earlier export, whose place it takes.
    replaces: bool,
}

impl Fresh {
    /// Begins a file for this path.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        let refused = |source| FileError::Io { path: path.to_owned(), source };
        let replaces = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(refused(error)),
            Ok(there) if there.is_file() && is_export(path).map_err(refused)? => true,
            Ok(_) => return Err(FileError::Foreign { path: path.to_owned() }),
        };
        let name = path.file_name().ok_or_else(|| refused(io::ErrorKind::InvalidFilename.into()))?;
        let beside = path.with_file_name(format!(".{}.{}", name.to_string_lossy(), hex(&random::<6>())));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).map_err(refused)?;
        Ok(Self { path: path.to_owned(), beside, file: BufWriter::new(file), replaces })
    }

    /// Takes more of it in.
    pub fn put(&mut self, text: &str) -> Result<(), FileError> {
        self.file.write_all(text.as_bytes()).map_err(|source| self.refused(source))
    }

    /// It is whole: on disk and in its place when this returns.
    pub fn finish(mut self) -> Result<(), FileError> {
        let flags = if self.replaces { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        let placed = self
            .file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all())
            .and_then(|()| Ok(renameat_with(CWD, &self.beside, CWD, &self.path, flags)?));
        placed.map_err(|source| self.refused(source))
    }

    fn refused(&self, source: io::Error) -> FileError {
        FileError::Io { path: self.path.clone(), source }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // Once it is in its place, there is nothing under this name.
        std::fs::remove_file(&self.beside).ok();
    }
}

/// Whether a file is empty or begins as an export does.
fn is_export(path: &Path) -> io::Result<bool> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let mut first = Vec::new();
    BufReader::new(file).take(FIRST_LINE_BYTES_MAX).read_until(b'\n', &mut first)?;
    if first.is_empty() || csv::begins(&first) {
        return Ok(true);
    }
    Ok(serde_json::from_slice::<Value>(&first).is_ok_and(|line| is_line(&line)))
}

fn is_line(line: &Value) -> bool {
    let has = |names: &[&str]| names.iter().all(|name| line.get(name).is_some());
    let text = |at: &str| line.pointer(at).and_then(Value::as_str).unwrap_or_default();
    text("/format").starts_with(FORMAT_BEGINS)
        || text("/source").starts_with(SOURCE)
        || text("/resourceSpans/0/scopeSpans/0/scope/name") == "metnos.audit"
        || has(&["seq", "caller", "executor", "trace_id", "cage"])
        || has(&["seq", "caller", "user_query", "final_kind"])
        || has(&["seq", "corrects", "note", "by"])
        || has(&["seq", "selector", "payloads", "reason", "by"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_export_gives_its_place_and_only_to_a_whole_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        let line = "{\"by\":\"owner\",\"corrects\":3,\"note\":\"n\",\"seq\":9}\n";
        drop(Fresh::create(&path).unwrap());
        assert_eq!(names(), 0);
        let erasure = "{\"by\":\"owner\",\"payloads\":3,\"reason\":\"\",\"selector\":\"turn\",\"seq\":9}\n";
        let table = csv::header();
        // A table of an earlier version has fewer columns.
        let earlier = table.replace(",\"selector\",\"of\",\"payloads\",\"blobs\",\"reason\"", "");
        assert_ne!(earlier, table);
        for text in [line, "", erasure, &earlier, &table, line] {
            let mut fresh = Fresh::create(&path).unwrap();
            fresh.put(text).unwrap();
            fresh.finish().unwrap();
            assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), names()), (text, 1));
        }
        // What broke off changes nothing.
        Fresh::create(&path).unwrap().put("half").unwrap();
        assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), names()), (line, 1));
        let foreign = |path: &Path| matches!(Fresh::create(path), Err(FileError::Foreign { .. }));
        for text in ["dear diary", "{\"seq\":1}\n", "{", "\u{0}"] {
            std::fs::write(&path, text).unwrap();
            assert!(foreign(&path), "{text}");
        }
        std::fs::write(&path, line).unwrap();
        let other_name = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &other_name).unwrap();
        assert!(foreign(&other_name) && foreign(folder.path()));
        // Whatever came meanwhile stays.
        let late = folder.path().join("late.jsonl");
        let fresh = Fresh::create(&late).unwrap();
        std::fs::write(&late, "dear diary").unwrap();
        assert!(fresh.finish().is_err() && std::fs::read_to_string(&late).unwrap() == "dear diary");
        assert!(matches!(Fresh::create(&folder.path().join("no/such")), Err(FileError::Io { .. })));
    }
}

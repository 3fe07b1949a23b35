//! Audit files below `workspace/.audit`: one JSON line a call and a turn, one file a kind and day.
//!
//! Exporting again gives the same bytes: a file is rewritten whole when it differs from what the log says.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

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
    let mut files: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for line in &lines {
        let text = files.entry((line.kind, &line.day)).or_default();
        text.push_str(&line.text);
        text.push('\n');
    }
    for ((kind, day), text) in files {
        let path = folder.join(kind).join(format!("{day}.jsonl"));
        let written = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.join(kind)).and_then(|()| {
            if std::fs::read(&path).ok().as_deref() == Some(text.as_bytes()) {
                Ok(())
            } else {
                write_private(&path, text.as_bytes())
            }
        });
        written.map_err(|source| ExportError::Io { path: folder.to_owned(), source })?;
    }
    Ok(lines.len())
}

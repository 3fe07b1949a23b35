//! The files of a version before it is signed: from a folder or from the binary.

use std::io;
use std::path::{Path, PathBuf};

use metnos_log::event::executor::ExecutorInstalled;
use metnos_log::{BlobHash, Reader};

/// The longest file of an executor.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Why the files cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// One is missing or unreadable.
    #[error("{path} cannot be read")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// One is too long.
    #[error("{path} is longer than {FILE_BYTES_MAX} bytes")]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// The manifest is no text.
    #[error("{path} is not valid UTF-8")]
    NoText {
        /// The file.
        path: PathBuf,
    },
}

/// The four files that a person writes.
#[derive(Clone, Debug)]
pub struct Source {
    /// `manifest.toml`.
    pub manifest: String,
    /// `main.py`.
    pub code: Vec<u8>,
    /// `schema.json`.
    pub schema: Vec<u8>,
    /// `tests/birth.py`.
    pub tests: Vec<u8>,
    /// How errors name the folder.
    folder: String,
}

impl Source {
    /// Reads a folder.
    pub fn read(folder: &Path) -> Result<Self, SourceError> {
        let read = |name: &str| {
            let path = folder.join(name);
            let fail = |source| SourceError::Io { path: path.clone(), source };
            if std::fs::metadata(&path).map_err(fail)?.len() > FILE_BYTES_MAX {
                return Err(SourceError::TooLong { path });
            }
            std::fs::read(&path).map_err(fail)
        };
        let manifest = String::from_utf8(read("manifest.toml")?)
            .map_err(|_| SourceError::NoText { path: folder.join("manifest.toml") })?;
        Ok(Self {
            manifest,
            code: read("main.py")?,
            schema: read("schema.json")?,
            tests: read("tests/birth.py")?,
            folder: folder.to_string_lossy().into_owned(),
        })
    }

    /// Files that the binary carries.
    pub fn embedded(folder: &include_dir::Dir<'_>) -> Option<Self> {
        let read = |name: &str| folder.get_file(folder.path().join(name)).map(|file| file.contents().to_vec());
        Some(Self {
            manifest: String::from_utf8(read("manifest.toml")?).ok()?,
            code: read("main.py")?,
            schema: read("schema.json")?,
            tests: read("tests/birth.py")?,
            folder: format!("executors/{}", folder.path().display()),
        })
    }

    /// The files of an installed version, as the log holds them.
    pub fn recorded(installed: &ExecutorInstalled, reader: &Reader) -> Result<Self, SourceError> {
        let folder = format!("executors/{}/{}", installed.name, installed.version);
        let read = |name: &str| {
            let path = PathBuf::from(&folder).join(name);
            let fail = |source| SourceError::Io { path: path.clone(), source };
            let artefact = installed.artefacts.iter().find(|artefact| artefact.file == name);
            let bytes = artefact.map(|artefact| reader.blob(artefact.blob)).transpose().map_err(io::Error::other);
            bytes.map_err(fail)?.flatten().ok_or_else(|| fail(io::Error::other("it is not in the log")))
        };
        let manifest = String::from_utf8(read("manifest.toml")?)
            .map_err(|_| SourceError::NoText { path: PathBuf::from(&folder).join("manifest.toml") })?;
        Ok(Self {
            manifest,
            code: read("main.py")?,
            schema: read("schema.json")?,
            tests: read("tests/birth.py")?,
            folder,
        })
    }

    /// How errors name a file of it.
    pub fn label(&self, file: &str) -> String {
        format!("{}/{file}", self.folder.trim_end_matches('/'))
    }
}

/// The manifest with the hashes that signing adds; comments and order stay.
pub fn with_hashes(manifest: &str, lock: &str, tests: &BlobHash) -> String {
    let mut document: toml_edit::DocumentMut = manifest.parse().expect("a manifest that was accepted is TOML");
    document["sandbox"]["hash"] = toml_edit::value(lock);
    document["tests"].or_insert(toml_edit::table())["hash"] = toml_edit::value(format!("blake3:{tests}"));
    document.to_string()
}

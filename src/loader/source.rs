//! The files of a version before it is signed: from a folder or from the binary.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use metnos_log::event::executor::ExecutorInstalled;
use metnos_log::{BlobHash, Reader};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The longest file of an executor.
pub(super) const FILE_BYTES_MAX: u64 = 4 << 20;

/// The bytes of a regular file that is not too long. Nothing else is read: a pipe would be waited for, and a device never ends.
pub(super) fn bounded(path: &Path, flags: OFlags, most: u64) -> io::Result<Vec<u8>> {
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let no_file = || io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file");
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(Errno::LOOP | Errno::NXIO) => return Err(no_file()),
        opened => File::from(opened?),
    };
    if !file.metadata()?.is_file() {
        return Err(no_file());
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

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
    /// One cannot be written.
    #[error("{path} cannot be written")]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// One is too long.
    #[error("{path} is too long")]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// One is a link: whoever looks at the folder does not see what would be signed.
    #[error("{path} is a link: copy the file itself")]
    Link {
        /// The file, or the folder that it lies in.
        path: PathBuf,
    },
    /// The manifest is no text.
    #[error("{path} is not valid UTF-8")]
    NoText {
        /// The file.
        path: PathBuf,
    },
}

impl SourceError {
    fn unread(path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::FileTooLarge => Self::TooLong { path },
            _ => Self::Io { path, source },
        }
    }
}

/// The two files that a signature adds, as they are in a folder that somebody signed.
#[derive(Clone, Debug)]
pub struct SignatureFiles {
    /// `manifest.sig`.
    pub signature: String,
    /// `profile.lock`; nothing where it is missing.
    pub lock: Option<String>,
}

/// The four files that a person writes, and what came signed with them.
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
    /// What somebody signed it with; nothing where this instance is to sign it.
    pub signed: Option<SignatureFiles>,
    /// How errors name the folder.
    folder: String,
}

impl Source {
    /// Reads a folder. A link in it is not followed.
    pub fn read(folder: &Path) -> Result<Self, SourceError> {
        let read = |name: &str| {
            let path = itself(folder, name)?;
            bounded(&path, OFlags::NOFOLLOW, FILE_BYTES_MAX).map_err(|error| SourceError::unread(path, error))
        };
        let manifest = String::from_utf8(read("manifest.toml")?)
            .map_err(|_| SourceError::NoText { path: folder.join("manifest.toml") })?;
        Ok(Self {
            manifest,
            code: read("main.py")?,
            schema: read("schema.json")?,
            tests: read("tests/birth.py")?,
            signed: signature_files(folder)?,
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
            signed: None,
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
            signed: None,
            folder,
        })
    }

    /// How errors name a file of it.
    pub fn label(&self, file: &str) -> String {
        format!("{}/{file}", self.folder.trim_end_matches('/'))
    }
}

/// The path of a file below a folder, unless it or a folder on the way to it is a link.
fn itself(folder: &Path, name: &str) -> Result<PathBuf, SourceError> {
    let path = folder.join(name);
    let link = path.ancestors().take_while(|above| *above != folder).find(|above| above.is_symlink());
    match link {
        Some(link) => Err(SourceError::Link { path: link.to_owned() }),
        None => Ok(path),
    }
}

/// The longest signature or lock.
const SIGNATURE_BYTES_MAX: u64 = 4096;

/// What a folder brings of a signature.
fn signature_files(folder: &Path) -> Result<Option<SignatureFiles>, SourceError> {
    let read = |name: &str| {
        let path = itself(folder, name)?;
        let bytes = match bounded(&path, OFlags::NOFOLLOW, SIGNATURE_BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(|error| SourceError::unread(path.clone(), error))?,
        };
        String::from_utf8(bytes).map(Some).map_err(|_| SourceError::NoText { path })
    };
    let Some(signature) = read("manifest.sig")? else { return Ok(None) };
    Ok(Some(SignatureFiles { signature, lock: read("profile.lock")? }))
}

/// The manifest with the hashes that signing adds; comments and order stay. One that has them is what somebody signed, to the
/// byte.
pub fn with_hashes(manifest: &str, lock: &str, tests: &BlobHash) -> String {
    let mut document: toml_edit::DocumentMut = manifest.parse().expect("a manifest that was accepted is TOML");
    let says = |table: &str| document.get(table).and_then(|table| table.get("hash")).and_then(toml_edit::Item::as_str);
    if says("sandbox") == Some(lock) && says("tests") == Some(format!("blake3:{tests}").as_str()) {
        return manifest.to_owned();
    }
    document["sandbox"]["hash"] = toml_edit::value(lock);
    document["tests"].or_insert(toml_edit::table())["hash"] = toml_edit::value(format!("blake3:{tests}"));
    document.to_string()
}

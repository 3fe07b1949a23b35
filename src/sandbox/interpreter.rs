//! Finds the real Python interpreter and what it needs to start: the binary, its library, the shared libraries.
//!
//! A shim on the path (a script that picks a version) is never the interpreter: it is asked once which binary it means.
//! What was found is kept in a file of the runtime folder and looked up again only when the binary changed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::protocol::HOST;
use super::wire::RawPath;
use super::{SandboxError, Settings};
use crate::signing::unhex;

/// The oldest minor version of Python 3 that executors may count on.
const OLDEST_MINOR: u32 = 9;
const CACHE: &str = "interpreter.json";
const NAMES: &[&str] = &["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python3.9"];
const FALLBACKS: &[&str] = &["/usr/bin", "/usr/local/bin", "/bin"];
/// Files and folders beside the interpreter's own: the loader's index, time zones.
const BESIDE: &[&str] = &["/etc/ld.so.cache", "/usr/share/zoneinfo"];

/// Imports what executors commonly import, so that the libraries behind show up among the mapped files.
const SURVEY: &str = r"
import sys
for name in ('_json','json','re','zlib','bz2','lzma','hashlib','_ctypes','_sqlite3','decimal','zoneinfo','unicodedata','_ssl','csv','pyexpat'):
    try: __import__(name)
    except Exception: pass
mapped = set()
for line in open('/proc/self/maps', encoding='utf-8', errors='surrogateescape'):
    part = line.rstrip('\n').split(None, 5)
    if len(part) == 6 and part[5].startswith('/'): mapped.add(part[5])
import marshal
out = ['%d.%d.%d' % sys.version_info[:3], marshal.dumps(compile(sys.argv[1], 'host.py', 'exec')).hex()] + ['P' + p for p in sys.path] + ['M' + m for m in sorted(mapped)]
sys.stdout.write('\n'.join(out))
";
const WHICH: &str = "import sys;sys.stdout.write(getattr(sys,'_base_executable','') or sys.executable)";

/// One file or folder of the runtime, shown read-only at its own place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeMount {
    at: RawPath,
    /// Whether it is a folder.
    pub is_dir: bool,
}

impl RuntimeMount {
    /// A file or a folder that is there.
    pub(super) fn new(at: &Path, is_dir: bool) -> Self {
        Self { at: RawPath::new(at), is_dir }
    }

    /// Where it lies, on the host and in the cage.
    pub fn path(&self) -> PathBuf {
        self.at.path()
    }
}

/// An interpreter and what it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interpreter {
    /// The binary itself, with its links resolved.
    path: RawPath,
    /// `3.11.2`.
    pub version: String,
    /// What it needs to start.
    pub runtime: Vec<RuntimeMount>,
    /// Our host script as this interpreter compiled it, in hexadecimal: compiling it at each call would cost more than a
    /// layer of the cage does.
    host: String,
    /// The hash of the script that it was compiled from.
    host_source: String,
    identity: (u64, u64, u64, i64, i64),
}

impl Interpreter {
    /// The host script's code object, as Python's `marshal` writes it.
    pub(super) fn host(&self) -> Vec<u8> {
        unhex(&self.host).unwrap_or_default()
    }

    /// The binary.
    pub fn path(&self) -> PathBuf {
        self.path.path()
    }
}

/// Finds the interpreter of these settings.
pub(super) fn find(settings: &Settings) -> Result<Interpreter, SandboxError> {
    let mut tried = Vec::new();
    let cached = fs::read(settings.runtime_dir.join(CACHE))
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Interpreter>(&bytes).ok());
    let (binaries, shims): (Vec<_>, Vec<_>) = candidates(settings).into_iter().partition(|path| is_elf(path));
    // Shims are slow to ask, so they come last and only as far as needed.
    for (path, shim) in binaries.into_iter().map(|path| (path, false)).chain(shims.into_iter().map(|path| (path, true)))
    {
        let found = if shim { which(&path) } else { Ok(path.clone()) }.and_then(|binary| match &cached {
            Some(cached) if cached.path() == binary && still_holds(cached) => Ok((cached.clone(), true)),
            _ => survey(&binary).map(|found| (found, false)),
        });
        match found {
            Ok((found, known)) => {
                if !known {
                    remember(settings, &found);
                }
                return Ok(found);
            }
            Err(why) => tried.push(format!("{}: {why}", path.display())),
        }
    }
    Err(SandboxError::NoInterpreter {
        tried: if tried.is_empty() { "none on the path".to_owned() } else { tried.join("; ") },
    })
}

fn candidates(settings: &Settings) -> Vec<PathBuf> {
    if let Some(python) = &settings.python {
        return fs::canonicalize(python).into_iter().collect();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        std::env::split_paths(&path).chain(FALLBACKS.iter().map(PathBuf::from)).filter(|folder| folder.is_absolute());
    let mut seen = BTreeSet::new();
    let all = folders.flat_map(|folder| NAMES.iter().map(move |name| folder.join(name)));
    all.filter_map(|path| fs::canonicalize(path).ok())
        .filter(|path| path.is_file() && seen.insert(path.clone()))
        .collect()
}

fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
}

/// Asks a shim which binary it stands for.
fn which(shim: &Path) -> Result<PathBuf, String> {
    let output = run(Command::new(shim), WHICH)?;
    let path = fs::canonicalize(OsStr::from_bytes(&output)).map_err(|error| error.to_string())?;
    if is_elf(&path) { Ok(path) } else { Err("it names no binary".to_owned()) }
}

fn run(mut command: Command, script: &str) -> Result<Vec<u8>, String> {
    command.args(["-I", "-S", "-c", script, HOST]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(output.stdout) } else { Err(format!("it ended with {}", output.status)) }
}

fn survey(path: &Path) -> Result<Interpreter, String> {
    let mut command = Command::new(path);
    command.env_clear();
    let output = run(command, SURVEY)?;
    let mut lines = output.split(|&byte| byte == b'\n');
    let version = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let host = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let minor =
        version.strip_prefix("3.").and_then(|rest| rest.split('.').next()).and_then(|minor| minor.parse::<u32>().ok());
    if minor.is_none_or(|minor| minor < OLDEST_MINOR) {
        return Err(format!("version {version} is older than 3.{OLDEST_MINOR}"));
    }
    let mut needed: BTreeSet<PathBuf> = BESIDE.iter().map(PathBuf::from).collect();
    needed.insert(path.to_owned());
    for line in lines.filter(|line| !line.is_empty()) {
        let named = Path::new(OsStr::from_bytes(&line[1..]));
        if line[0] == b'P' {
            needed.insert(named.to_owned());
        } else if named != path && is_elf(named) {
            needed.extend(named.parent().map(Path::to_owned));
        }
    }
    needed.extend(loader_folders());
    let needed: BTreeSet<PathBuf> =
        needed.iter().filter_map(|path| fs::canonicalize(path).ok()).filter(|path| path != Path::new("/")).collect();
    let top: Vec<&PathBuf> =
        needed.iter().filter(|path| !needed.iter().any(|other| other != *path && path.starts_with(other))).collect();
    let runtime = top.into_iter().map(|path| RuntimeMount { at: RawPath::new(path), is_dir: path.is_dir() }).collect();
    let identity = identity(path).ok_or("it is gone")?;
    Ok(Interpreter { path: RawPath::new(path), version, runtime, host, host_source: host_source(), identity })
}

/// Folders that hold the loader under the name that binaries ask for.
fn loader_folders() -> impl Iterator<Item = PathBuf> {
    ["/lib64", "/lib"].into_iter().map(PathBuf::from).filter(|folder| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_name().as_bytes().starts_with(b"ld-"))
    })
}

fn host_source() -> String {
    blake3::hash(HOST.as_bytes()).to_hex().to_string()
}

fn identity(path: &Path) -> Option<(u64, u64, u64, i64, i64)> {
    let meta = fs::metadata(path).ok()?;
    Some((meta.dev(), meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
}

fn still_holds(cached: &Interpreter) -> bool {
    let same = identity(&cached.path()) == Some(cached.identity) && cached.host_source == host_source();
    same && cached
        .runtime
        .iter()
        .all(|mount| fs::metadata(mount.path()).is_ok_and(|meta| meta.is_dir() == mount.is_dir))
}

fn remember(settings: &Settings, found: &Interpreter) {
    let kept = serde_json::to_vec(found).map_err(std::io::Error::other).and_then(|bytes| {
        let file = settings.runtime_dir.join(CACHE);
        let fresh = settings.runtime_dir.join(format!("{CACHE}.{}", std::process::id()));
        fs::write(&fresh, bytes)?;
        fs::rename(fresh, file)
    });
    if let Err(error) = kept {
        tracing::debug!(%error, "the interpreter's survey is not kept");
    }
}

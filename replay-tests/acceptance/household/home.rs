//! A home of its own for each test, and the binary run in it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use rustix::process::{Pid, Signal, kill_process_group};

/// A folder with a home, the person's own folder, and the user whose they are.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    user: User,
    variables: Vec<(&'static str, String)>,
}

/// Who runs the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Current,
    /// An ordinary user, while the tests run as root.
    Ordinary,
}

const ORDINARY: u32 = 65_534;

/// What came of a command.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {} / {}", self.out, self.err))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Whether this process may run commands as another user.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The users that a test is repeated for.
pub(crate) fn users() -> Vec<User> {
    if is_root() {
        vec![User::Current, User::Ordinary]
    } else {
        eprintln!("SKIPPED for root: these tests run as an ordinary user");
        vec![User::Current]
    }
}

/// What only a debug build honours: it stops, ends or sets the clock where a test wants it to.
const HOOKS: [&str; 3] = ["METNOS_CLOCK", "METNOS_KILL_AT", "METNOS_PAUSE_AT"];

/// The debug build, where every user can run it.
pub(crate) fn debug_build() -> &'static Path {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| copied(Path::new(env!("CARGO_BIN_EXE_metnos")), "debug"))
}

/// The build that whatever needs no hook is tested with: the optimised one where `.ci/run` has made one, since all of it
/// takes less than half of the time then, else the debug build.
pub(crate) fn binary() -> &'static Path {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| match std::env::var_os("METNOS_TEST_OPTIMISED") {
        Some(folder) => copied(&Path::new(&folder).join("metnos"), "optimised"),
        None => debug_build().to_owned(),
    })
}

fn copied(build: &Path, kind: &str) -> PathBuf {
    let folder = shared().join(kind);
    std::fs::create_dir(&folder).unwrap();
    open_to_all(&folder);
    let copy = folder.join("metnos");
    std::fs::copy(build, &copy).unwrap();
    copy
}

/// A folder for what all tests of this process share. Nothing runs after the last test, so the next run sweeps what
/// processes that are gone have left.
fn shared() -> &'static Path {
    static SHARED: OnceLock<PathBuf> = OnceLock::new();
    SHARED.get_or_init(|| {
        const PREFIX: &str = "metnos-acceptance-";
        for entry in std::fs::read_dir(std::env::temp_dir()).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let process = name.strip_prefix(PREFIX).and_then(|process| process.parse::<u32>().ok());
            if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
                std::fs::remove_dir_all(entry.path()).ok();
            }
        }
        let folder = std::env::temp_dir().join(format!("{PREFIX}{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        open_to_all(&folder);
        folder
    })
}

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// How many executors the product brings as files.
pub(crate) fn seeds() -> usize {
    std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/executors")).unwrap().count()
}

/// A home after its first run, made once a user.
fn template(user: User) -> &'static Home {
    static CURRENT: OnceLock<Home> = OnceLock::new();
    static SECOND: OnceLock<Home> = OnceLock::new();
    let cell = if user == User::Current { &CURRENT } else { &SECOND };
    cell.get_or_init(|| {
        let home = Home::below(shared(), user);
        let ran = home.ask("che ore sono");
        assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
        assert!(ran.err.contains(&seeds().to_string()), "the seeds are not told: {}", ran.err);
        home
    })
}

impl Home {
    /// A home that no command has seen yet.
    pub(crate) fn empty(user: User) -> Self {
        Self::below(&std::env::temp_dir(), user)
    }

    fn below(place: &Path, user: User) -> Self {
        let folder = tempfile::Builder::new().prefix("metnos-test-").tempdir_in(place).unwrap();
        open_to_all(folder.path());
        let home = Self { folder, user, variables: Vec::new() };
        std::fs::create_dir(home.files()).unwrap();
        std::fs::create_dir(home.metnos()).unwrap();
        home.own(&home.files());
        home.own(&home.metnos());
        home
    }

    /// A home after its first run.
    pub(crate) fn new() -> Self {
        Self::of(User::Current)
    }

    /// A home after its first run, of a user.
    pub(crate) fn of(user: User) -> Self {
        let home = Self::empty(user);
        copy_tree(&template(user).metnos(), &home.metnos());
        home.own(&home.metnos());
        home
    }

    /// Sets a variable for every command.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    /// Gives a tree to the home's user.
    pub(crate) fn own(&self, path: &Path) {
        if self.user == User::Ordinary {
            let given =
                Command::new("chown").arg("-R").arg(format!("{ORDINARY}:{ORDINARY}")).arg(path).status().unwrap();
            assert!(given.success());
        }
    }

    /// The folder of the instance.
    pub(crate) fn metnos(&self) -> PathBuf {
        self.folder.path().join("metnos")
    }

    /// The person's own folder.
    pub(crate) fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    /// Lays a file for the person; returns its path.
    pub(crate) fn file(&self, name: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.files().join(name.as_ref());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        self.own(&self.files());
        path
    }

    /// The command, ready to get arguments.
    pub(crate) fn command(&self) -> Command {
        self.command_with([])
    }

    /// The same with more variables.
    pub(crate) fn command_with<'v>(&'v self, more: impl IntoIterator<Item = (&'v str, &'v str)>) -> Command {
        let own = self.variables.iter().map(|(name, value)| (*name, value.as_str()));
        let variables: Vec<(&str, &str)> = own.chain(more).collect();
        let is_hooked = variables.iter().any(|(name, _)| HOOKS.contains(name));
        let mut command = Command::new(if is_hooked { debug_build() } else { binary() });
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.files())
            .env("TZ", "Europe/Rome");
        command.env("METNOS_HOME", self.metnos()).envs(variables);
        command.current_dir(self.files()).stdin(Stdio::null());
        if self.user == User::Ordinary {
            command.uid(ORDINARY).gid(ORDINARY);
        }
        command
    }

    /// Runs a command until a turn of it waits at that point (`metnos::faults`), and kills it there with all that it started.
    #[track_caller]
    pub(crate) fn killed_at<S: AsRef<OsStr>>(&self, point: &str, words: impl IntoIterator<Item = S>) {
        let mut command = self.command_with([("METNOS_PAUSE_AT", format!("{point}:60000").as_str())]);
        command.args(words);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        let waiting = format!("waiting at {point}");
        let mut said = Vec::new();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let reached = lines.any(|line| {
            said.push(line);
            said.last().is_some_and(|last| *last == waiting)
        });
        assert!(reached, "it never came to {point}: {said:?}");
        kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
    }

    /// Runs the binary.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        self.command().args(args).output().unwrap().into()
    }

    /// One sentence.
    pub(crate) fn ask(&self, sentence: &str) -> Ran {
        self.run(["ask", sentence])
    }

    /// One sentence, everything approved.
    pub(crate) fn ask_approved(&self, sentence: &str) -> Ran {
        self.run(["ask", "--approve", "all", sentence])
    }

    /// The four files of an executor, laid down in a folder of that name: manifest, schema, code, birth tests.
    pub(crate) fn lay(&self, name: &str, [manifest, schema, code, birth]: [&str; 4]) -> PathBuf {
        let folder = self.files().join(name);
        std::fs::create_dir_all(folder.join("tests")).unwrap();
        let files =
            [("manifest.toml", manifest), ("schema.json", schema), ("main.py", code), ("tests/birth.py", birth)];
        for (file, text) in files {
            std::fs::write(folder.join(file), text).unwrap();
        }
        folder
    }

    /// Asserts that the log and the replay of this home are whole.
    #[track_caller]
    pub(crate) fn is_whole(&self) {
        let verified = self.run(["log", "verify"]);
        assert_eq!(verified.code, 0, "{} {}", verified.out, verified.err);
        let replayed = self.run(["replay", "check"]);
        assert_eq!(replayed.code, 0, "{} {}", replayed.out, replayed.err);
    }
}

/// Lays a copy of a seed into a folder, to be changed: it says that it is the owner's, since nobody adds one that came with Metnos.
pub(crate) fn copy_seed(name: &str, folder: &Path) {
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("executors").join(name), folder);
    let manifest = folder.join("manifest.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    assert!(text.contains("created_by = \"seed\""), "{text}");
    std::fs::write(manifest, text.replacen("\"seed\"", "\"owner\"", 1)).unwrap();
}

pub(crate) fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&path, &copy);
        } else {
            std::fs::copy(&path, &copy).unwrap();
        }
    }
}

//! One home, one user, one backend: the canaries that no attempt may reach, the call, and what came of it.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::attempt::{Attempt, Control, Kind, Sign, What};
use crate::ears::{Ears, port};
use crate::home::{Home, User};
use crate::kinds::PLAIN;
use crate::victim::Victim;
use crate::watch::{Seen, Watch, mib, text};

/// How long a command may take before the test itself ends it.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a watchdog may take, however busy the machine.
const WATCHFUL: Duration = Duration::from_secs(1);
/// How long a process that was killed may take to be gone.
const DYING: Duration = Duration::from_millis(200);

/// What came of one call.
pub(crate) struct Evidence {
    /// All that the command wrote.
    pub(crate) said: String,
    /// The lines of its standard output that are JSON.
    lines: Vec<Value>,
    pub(crate) seen: Seen,
    took: Duration,
    gateway_mb: u64,
    is_alive: bool,
    is_touched: bool,
    is_victim_hurt: bool,
    has_more_keys: bool,
    has_segment: bool,
    /// What each sign that asks the test's sockets found.
    is_heard: bool,
}

impl Evidence {
    fn field(&self, name: &str) -> Option<&Value> {
        let line = self.lines.last()?;
        Some(line.get(name).unwrap_or(&line["steps"][0][name])).filter(|value| !value.is_null())
    }

    /// What the report of the cage says is missing.
    pub(crate) fn missing(&self) -> Vec<String> {
        let missing = self.field("cage").and_then(|cage| cage["missing"].as_array());
        missing.into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
    }

    /// The backend that the report names.
    pub(crate) fn backend(&self) -> Option<&str> {
        self.field("cage")?["backend"].as_str()
    }

    /// Whether the gateway refused to begin such an executor in such a cage.
    pub(crate) fn is_refused(&self) -> bool {
        let is_partial = self.field("cage").is_some_and(|cage| cage["level"] != "full");
        self.field("error_class").is_some_and(|class| class == "cage_refused") && is_partial
    }

    /// Whether the test had to end the command.
    pub(crate) fn is_stuck(&self) -> bool {
        self.took > PATIENCE
    }

    /// Whether the executor's code ran.
    pub(crate) fn ran(&self) -> bool {
        let ended = ["crashed", "timeout", "contract_violation", "non_json", "too_large"];
        let is_ended = self.field("error_class").is_some_and(|class| ended.iter().any(|known| class == known));
        self.seen.was_there
            || self.lines.iter().any(|line| !said(line).is_null())
            || is_ended && self.field("cage").is_some()
    }
}

/// What an executor told, in the line of a command or of a plain interpreter.
fn said(line: &Value) -> &Value {
    [&line["result"]["said"], &line["steps"][0]["result"]["said"], &line["said"]]
        .into_iter()
        .find(|said| !said.is_null())
        .unwrap_or(&Value::Null)
}

/// One home, one user, one backend.
pub(crate) struct Lane {
    home: Home,
    pub(crate) user: User,
    pub(crate) backend: &'static str,
    root: PathBuf,
    outside: PathBuf,
    code: PathBuf,
    secret: String,
    size: u64,
    disk: u64,
    ears: Ears,
    victim: Victim,
    calls: u32,
}

impl Drop for Lane {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.outside).ok();
    }
}

impl Lane {
    /// A lane in a home that has the executors; `code` is what they all carry, readable for all.
    pub(crate) fn new(home: Home, user: User, backend: &'static str, code: PathBuf) -> Self {
        let root = home.metnos().parent().unwrap().to_owned();
        let name = root.file_name().unwrap().to_str().unwrap().to_owned();
        let outside = root.with_file_name(format!("{name}-outside"));
        let number = root.metadata().unwrap().ino();
        let secret = format!("SECRET-{}", &blake3::hash(name.as_bytes()).to_hex()[..24]);
        fs::create_dir(&outside).unwrap();
        fs::create_dir_all(home.metnos().join("data/run")).unwrap();
        fs::write(outside.join("secret.txt"), &secret).unwrap();
        let ears = Ears::open(&outside, &home.metnos().join("data/run/escape"), &name, &secret);
        for socket in [outside.join("socket"), home.metnos().join("data/run/escape")] {
            fs::set_permissions(socket, fs::Permissions::from_mode(0o777)).unwrap();
        }
        let victim = Victim::new(user, &outside, &root, &secret);
        let home = home.with("HOME", root.to_str().unwrap()).with("PERSON_TOKEN", &secret);
        let home = match backend {
            "none" => home.with("METNOS_SANDBOX", "off"),
            backend => home.with("METNOS_SANDBOX_BACKEND", backend),
        };
        let size = 1_000_003 + number % 9_000_000;
        Self { home, user, backend, root, outside, code, secret, size, disk: disk(), ears, victim, calls: 0 }
    }

    /// Lays all canaries anew, as their owner's.
    fn lay(&self) {
        for name in [".ssh", ".aws", ".config", ".mozilla", "private", "files"] {
            fs::remove_dir_all(self.root.join(name)).ok();
        }
        for name in ["metnos/config/planted", "metnos/workspace/executors/escape", "heard"] {
            fs::remove_file(self.root.join(name)).ok();
        }
        fs::remove_file(self.outside.join("new")).ok();
        let secrets = [
            ".ssh/id_ed25519",
            ".aws/credentials",
            ".bash_history",
            ".config/gh/credentials.json",
            ".mozilla/firefox/logins.json",
            "private/diary.txt",
            "files/old/backup/.ssh/id_rsa",
            "metnos/config/escape",
            "metnos/workspace/.audit/escape",
        ];
        for name in secrets.map(|name| self.root.join(name)).iter().chain([&self.outside.join("secret.txt")]) {
            fs::create_dir_all(name.parent().unwrap()).unwrap();
            fs::write(name, &self.secret).unwrap();
            fs::set_permissions(name, fs::Permissions::from_mode(0o644)).unwrap();
        }
        for (name, second) in [
            ("private/diary.txt", "files/old/journal"),
            (".ssh/id_ed25519", "files/old/spare"),
            ("files/old/backup/.ssh/id_rsa", "files/deep"),
        ] {
            fs::hard_link(self.root.join(name), self.root.join(second)).unwrap();
        }
        for sized in [self.root.join("private/sized"), self.outside.join("sized")] {
            File::create(sized).unwrap().set_len(self.size).unwrap();
        }
        fs::create_dir_all(self.root.join("files/outbox")).unwrap();
        fs::create_dir_all(self.root.join("files/shared")).unwrap();
        fs::write(self.root.join("files/shared/note"), "plain").unwrap();
        fs::write(self.root.join(".profile"), "plain").unwrap();
        fs::copy("/usr/bin/sleep", self.root.join("files/tool")).unwrap();
        fs::set_permissions(&self.outside, fs::Permissions::from_mode(0o755)).unwrap();
        for tree in [".ssh", ".aws", ".config", ".mozilla", ".profile", ".bash_history", "private", "files"] {
            own(&self.root.join(tree), self.user);
        }
        for tree in ["metnos/config", "metnos/workspace/.audit"] {
            own(&self.root.join(tree), self.user);
        }
        own(&self.outside, self.user);
        if self.user == User::Ordinary {
            lchown(&self.root, Some(self.user.number()), Some(self.user.number())).unwrap();
        }
    }

    /// The arguments of a call: its name, and where this home is; nothing that any guard looks at but what is granted.
    fn arguments(&self, attempt: &Attempt, small: bool) -> Value {
        let mut arguments = json!({
            "attempt": attempt.name,
            "root": self.root,
            "mark": self.mark(),
            "small": small,
            "numbers": {
                "victim": self.victim.pid(),
                "tcp": port(&self.ears.tcp),
                "udp": self.ears.udp.local_addr().unwrap().port(),
                "granted": port(&self.ears.granted),
                "other": port(&self.ears.other),
                "listen": self.ears.listen,
                "key": self.key(),
                "disk": self.disk,
            },
        });
        match attempt.kind {
            Kind::Named => arguments["paths"] = json!([self.root.join("files/shared")]),
            Kind::Host => arguments["urls"] = json!([format!("http://127.0.0.1:{}/", port(&self.ears.granted))]),
            Kind::Staged => arguments["path"] = json!(self.root.join("files/out.txt")),
            _ => {}
        }
        arguments
    }

    fn mark(&self) -> String {
        format!("esc{:x}x{}", self.key(), self.calls)
    }

    fn key(&self) -> u64 {
        self.size % 0x00ff_ffff
    }

    /// A command in this home with everything that a careless parent leaves to it: a descriptor, its input, a variable.
    fn command(&self, words: impl IntoIterator<Item = String>) -> Command {
        let template = self.home.command();
        let mut command = Command::new("sh");
        command.args(["-c", "exec 9<\"$0\" && exec \"$@\""]).arg(self.outside.join("secret.txt")).args(words);
        command.env_clear().envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(self.home.files()).stdin(File::open(self.outside.join("secret.txt")).unwrap());
        command.process_group(0);
        self.user.take(&mut command);
        command
    }

    /// One attempt through the gateway.
    pub(crate) fn attempt(&mut self, attempt: &Attempt, small: bool) -> Evidence {
        self.prepare();
        let arguments = self.arguments(attempt, small).to_string();
        let binary = crate::home::binary().to_str().unwrap();
        let mut words = vec![binary, "--json", "executor", "run", attempt.kind.name(), "--args", &arguments];
        if attempt.kind.acts() {
            words.extend(["--approve", "all"]);
        }
        let command = self.command(words.into_iter().map(str::to_owned));
        self.observe(attempt, command)
    }

    /// One attempt in a plain interpreter.
    pub(crate) fn bare(&mut self, attempt: &Attempt) -> Evidence {
        self.prepare();
        let stage = self.outside.join("stage");
        fs::remove_dir_all(&stage).ok();
        fs::create_dir(&stage).unwrap();
        own(&stage, self.user);
        let arguments = self.arguments(attempt, false).to_string();
        let paths = [&self.code, &stage].map(|path| path.to_str().unwrap());
        let words = ["python3", "-I", "-S", "-c", PLAIN, paths[0], paths[1], &arguments];
        let command = self.command(words.map(str::to_owned));
        let evidence = self.observe(attempt, command);
        fs::remove_dir_all(&stage).unwrap();
        evidence
    }

    fn prepare(&mut self) {
        self.calls += 1;
        self.lay();
        if !self.victim.is_whole() {
            self.victim = Victim::new(self.user, &self.outside, &self.root, &self.secret);
        }
        self.ears.clear();
    }

    fn observe(&mut self, attempt: &Attempt, mut command: Command) -> Evidence {
        // The kernel counts the keys of a user, whoever makes them: another lane's would pass for this one's.
        static KEYS: Mutex<()> = Mutex::new(());
        let _alone = matches!(attempt.sign, Sign::Keys).then(|| KEYS.lock().unwrap_or_else(PoisonError::into_inner));
        let touched = |sign: &Sign| match sign {
            Sign::Touched("outside") => snapshot(&self.outside),
            Sign::Touched(name) => snapshot(&self.root.join(name)),
            _ => Vec::new(),
        };
        let before = touched(&attempt.sign);
        let (keys, watch) = (self.keys(), Watch::new(&self.mark()));
        let (out, err) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let began = Instant::now();
        let mut child = command.stdout(out.try_clone().unwrap()).stderr(err.try_clone().unwrap()).spawn().unwrap();
        let (mut seen, mut gateway_mb) = (Seen::default(), 0);
        let (mut has_more_keys, mut has_segment, mut is_exchanged) = (false, false, false);
        while child.try_wait().unwrap().is_none() {
            watch.look(&mut seen);
            gateway_mb = gateway_mb.max(mib(&text(child.id().cast_signed(), "status"), "VmHWM"));
            self.ears.serve();
            match attempt.sign {
                Sign::Listens => self.ears.connect(),
                Sign::Keys => has_more_keys |= self.keys() > keys,
                Sign::SharedMemory => has_segment |= self.segment(),
                _ => {}
            }
            if attempt.exchanges && seen.was_there && !is_exchanged {
                is_exchanged = true;
                fs::rename(self.root.join("files/shared"), self.root.join("files/before")).unwrap();
                std::os::unix::fs::symlink(&self.outside, self.root.join("files/shared")).unwrap();
            }
            if began.elapsed() > PATIENCE {
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(6));
        }
        let took = began.elapsed();
        let is_alive = stays(&watch);
        watch.end();
        self.ears.serve();
        let is_touched = touched(&attempt.sign) != before;
        let (out, err) = (read(out), read(err));
        let lines = out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Evidence {
            said: out + &err,
            lines,
            seen,
            took,
            gateway_mb,
            is_alive,
            is_touched,
            is_victim_hurt: !self.victim.is_whole(),
            has_more_keys,
            has_segment,
            is_heard: match attempt.sign {
                Sign::Heard(ear) => self.ears.heard(ear),
                _ => false,
            },
        }
    }

    /// How many keys the kernel keeps for this user.
    fn keys(&self) -> u64 {
        let user = format!("{}:", self.user.number());
        let users = fs::read_to_string("/proc/key-users").unwrap_or_default();
        let line = users.lines().find(|line| line.trim_start().starts_with(&user)).unwrap_or_default().to_owned();
        line.split_whitespace().nth(3).and_then(|count| count.split('/').next()?.parse().ok()).unwrap_or(0)
    }

    fn segment(&self) -> bool {
        let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
        segments.lines().any(|line| line.split_whitespace().next() == Some(&self.key().to_string()))
    }

    /// Whether an attempt shows this sign.
    pub(crate) fn shows(&self, sign: Sign, evidence: &Evidence) -> bool {
        let Evidence { seen, said, .. } = evidence;
        match sign {
            Sign::Says(what) => said.contains(&self.known(what)),
            Sign::Touched(_) => evidence.is_touched,
            Sign::Heard(_) => evidence.is_heard,
            Sign::Asked => self.ears.asked.windows(11).any(|window| window == b" /forbidden"),
            Sign::Requests(most) => self.ears.requests > most,
            Sign::Listens => self.ears.is_connected,
            Sign::Victim => evidence.is_victim_hurt,
            Sign::Holds(what) => seen.held.iter().any(|held| held.contains(what)),
            Sign::Program(end) => seen.programs.iter().any(|program| program.ends_with(end)),
            Sign::Namespaces => seen.namespaces.len() > 1,
            Sign::Root => seen.roots.len() > 1,
            Sign::Capable => seen.is_capable,
            Sign::Traced => seen.is_traced,
            Sign::Personality => seen.personalities.iter().any(|kept| !kept.trim().trim_matches('0').is_empty()),
            Sign::Unlimited(limit) => seen.unlimited.contains(limit),
            Sign::Keys => evidence.has_more_keys,
            Sign::SharedMemory => evidence.has_segment,
            Sign::ParentStopped => seen.is_parent_stopped,
            Sign::Alive => evidence.is_alive,
            Sign::Tasks(most) => seen.crowded(most, WATCHFUL),
            Sign::Memory(most) => seen.memory_mb > most,
            Sign::Stored(most) => seen.stored_mb > most || seen.files > 16_400,
            Sign::Slow(most) => evidence.took > Duration::from_secs(most),
            Sign::Accepted(text) => evidence.lines.iter().any(|line| said_in(line, text)),
            Sign::Grew(most) => evidence.gateway_mb > most,
            Sign::Committed => fs::metadata(self.root.join("files/out.txt")).is_ok_and(|meta| meta.len() > 0),
            Sign::Special => fs::read_dir(self.root.join("files/outbox")).unwrap().flatten().any(|entry| {
                let meta = fs::symlink_metadata(entry.path()).unwrap();
                meta.mode() & 0o6000 != 0 || meta.file_type().is_block_device() || meta.file_type().is_char_device()
            }),
            Sign::Claims => evidence.lines.iter().any(|line| said_in(line, "claims")),
        }
    }

    fn known(&self, what: What) -> String {
        match what {
            What::Secret => self.secret.clone(),
            What::Size => self.size.to_string(),
            What::LogHead => {
                let log = fs::read(self.home.metnos().join("data/log/events.redb")).unwrap();
                metnos_log::hex(&log[..9])
            }
            What::FirstLine(path) => fs::read_to_string(path).unwrap().lines().next().unwrap().to_owned(),
            What::Session => format!("session {}\"", self.victim.session()),
        }
    }

    /// The control of an attempt that does without this lane's cage, or stays within it.
    pub(crate) fn control(&mut self, attempt: &Attempt) -> (Evidence, bool) {
        let (evidence, sign) = match attempt.control {
            Control::Off => (self.attempt(attempt, false), attempt.sign),
            Control::Bare => (self.bare(attempt), attempt.sign),
            Control::Within(sign) => (self.attempt(attempt, true), sign),
        };
        let shown = self.shows(sign, &evidence);
        (evidence, shown)
    }
}

fn said_in(line: &Value, text: &str) -> bool {
    line["ok"] == true && said(line).as_array().is_some_and(|said| said.iter().any(|said| said == text))
}

fn read(mut file: File) -> String {
    use std::io::{Read, Seek};
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether something of the mark is there for longer than dying takes.
fn stays(watch: &Watch) -> bool {
    let ended = Instant::now();
    while !watch.living().is_empty() {
        if ended.elapsed() > DYING {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// Gives a tree to a user.
fn own(path: &Path, user: User) {
    if user == User::Ordinary {
        lchown(path, Some(user.number()), Some(user.number())).unwrap();
        if fs::symlink_metadata(path).unwrap().is_dir() {
            fs::read_dir(path).unwrap().flatten().for_each(|entry| own(&entry.path(), user));
        }
    }
}

/// The number of a block device of this machine, zero where there is none.
fn disk() -> u64 {
    let devices = fs::read_dir("/dev").unwrap().flatten();
    let blocks =
        devices.filter_map(|entry| Some(entry.metadata().ok()?).filter(|meta| meta.file_type().is_block_device()));
    blocks.map(|meta| meta.rdev()).next().unwrap_or(0)
}

/// Everything that can be changed of a tree, in order.
fn snapshot(path: &Path) -> Vec<String> {
    let Ok(meta) = fs::symlink_metadata(path) else { return vec![format!("{} is not there", path.display())] };
    let (mode, owner, time) = (meta.mode(), meta.uid(), (meta.mtime(), meta.mtime_nsec()));
    let bytes = if meta.is_file() { fs::read(path).map(|bytes| blake3::hash(&bytes).to_string()).ok() } else { None };
    let mut all = vec![format!("{} {mode:o} {owner} {time:?} {bytes:?}", path.display())];
    if meta.is_dir() {
        let mut below: Vec<_> = fs::read_dir(path).unwrap().flatten().map(|entry| entry.path()).collect();
        below.sort();
        all.extend(below.iter().flat_map(|path| snapshot(path)));
    }
    all
}

//! Calls of made-up executors for the cage's tests.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use metnos::broker;
use metnos::sandbox::{Backend, Call, CancelFlag, Grant, Layer, Outcome, Sandbox, Settings};
use metnos_projections::rules::cage_plan::{CagePlan, Limits, Net, SyscallProfile};
use serde_json::{Value, json};

/// A sandbox and a scratch folder to attack it from.
pub(crate) struct Bench {
    pub(crate) sandbox: Sandbox,
    pub(crate) folder: tempfile::TempDir,
    calls: AtomicU32,
    pub(crate) limits: Limits,
    pub(crate) locks: Option<PathBuf>,
    /// Programs that the plan of each call lists.
    pub(crate) programs: Vec<String>,
    /// Whether each call needs a full cage.
    pub(crate) needs_full: bool,
}

/// Every backend that cages, and that this machine gives.
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
pub(crate) fn caged() -> Vec<Backend> {
    static BUBBLEWRAP: OnceLock<bool> = OnceLock::new();
    let has_bubblewrap = *BUBBLEWRAP.get_or_init(|| {
        let opened = Bench::try_open(Backend::Bubblewrap, &[]);
        if let Err(reason) = &opened {
            assert!(std::env::var_os("CI").is_none(), "bubblewrap is installed there: {reason}");
            eprintln!("SKIPPED bwrap: {reason}");
        }
        opened.is_ok()
    });
    let all = [Backend::Native, Backend::Landlock, Backend::Bubblewrap];
    all.into_iter().filter(|backend| *backend != Backend::Bubblewrap || has_bubblewrap).collect()
}

/// Limits that are small enough to be reached in a test.
pub(crate) const LIMITS: Limits = Limits {
    wall_ms: 10_000,
    cpu_s: 10,
    memory_mb: 128,
    processes: 24,
    file_bytes: 8 << 20,
    open_files: 64,
    output_bytes_max: 1 << 20,
    stage_bytes: 4 << 20,
    tmp_bytes: 4 << 20,
};

impl Bench {
    /// The settings of one backend, with layers left out.
    pub(crate) fn open(backend: Backend, without: &[Layer]) -> Self {
        Self::try_open(backend, without).expect("the sandbox opens")
    }

    pub(crate) fn try_open(backend: Backend, without: &[Layer]) -> Result<Self, String> {
        Self::with(backend, without, is_warm(), None)
    }

    /// A sandbox of the strongest backend whose calls are all cold, or all warm that can be.
    pub(crate) fn only(warm: bool) -> Self {
        Self::with(Backend::Native, &[], warm, None).expect("the sandbox opens")
    }

    /// One whose helpers build one cage each, so that they can be counted by their cages.
    pub(crate) fn with_fresh_helpers() -> Self {
        Self::with_helper(helper())
    }

    /// The same, of another program.
    pub(crate) fn with_helper(program: PathBuf) -> Self {
        Self::with(Backend::Native, &[], false, Some(program)).expect("the sandbox opens")
    }

    /// `fresh` is the program of helpers that build one cage each.
    fn with(backend: Backend, without: &[Layer], always_warm: bool, fresh: Option<PathBuf>) -> Result<Self, String> {
        // Why a cage was of no use is said nowhere else. Another of these may have set it up already.
        tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).with_test_writer().try_init().ok();
        let folder = tempfile::tempdir().unwrap();
        let fresh_helpers = fresh.is_some();
        let mut settings = Settings::new(fresh.unwrap_or_else(helper), folder.path().join("runtime"));
        settings.off = backend == Backend::None;
        settings.forced = Some(backend);
        settings.without = without.to_vec();
        settings.always_warm = always_warm;
        settings.fresh_helpers = fresh_helpers;
        std::fs::create_dir(&settings.runtime_dir).unwrap();
        std::fs::write(settings.runtime_dir.join("interpreter.json"), survey()).unwrap();
        let sandbox = Sandbox::open(&settings).map_err(|error| error.to_string())?;
        Ok(Self {
            sandbox,
            folder,
            calls: AtomicU32::new(0),
            limits: LIMITS,
            locks: None,
            programs: Vec::new(),
            needs_full: false,
        })
    }

    pub(crate) fn native() -> Self {
        Self::open(Backend::Native, &[])
    }

    pub(crate) fn run(&self, code: &str, args: Value) -> Outcome {
        self.run_with(code, args, Vec::new())
    }

    pub(crate) fn run_with(&self, code: &str, args: Value, grants: Vec<Grant>) -> Outcome {
        self.call(code, args, grants, CancelFlag::new().unwrap())
    }

    pub(crate) fn call(&self, code: &str, args: Value, grants: Vec<Grant>, cancel: CancelFlag) -> Outcome {
        self.full(code, args, grants, cancel, None)
    }

    #[expect(clippy::needless_pass_by_value, reason = "arguments are written at the call")]
    pub(crate) fn full(
        &self,
        code: &str,
        args: Value,
        grants: Vec<Grant>,
        cancel: CancelFlag,
        net: Option<broker::Grants>,
    ) -> Outcome {
        let env = ["HOME", "LANG", "PATH", "TMPDIR"].map(str::to_owned).to_vec();
        let plan = CagePlan {
            mounts: Vec::new(),
            binaries: self.programs.clone(),
            parsers: Vec::new(),
            net: Net::None,
            env,
            syscalls: SyscallProfile::Standard,
            limits: self.limits,
        };
        let locks = self.locks.clone().unwrap_or_else(|| self.path("cages"));
        let lock_file = locks.join(format!("{}.lock", self.calls.fetch_add(1, Ordering::Relaxed)));
        self.sandbox.call(Call {
            plan: &plan,
            grants,
            code: code.as_bytes(),
            ahead: true,
            args: &args,
            context: &json!({"turn_id": "t", "trace_id": "x", "language": "en", "timezone": "Europe/Rome"}),
            lock_file: &lock_file,
            needs_full: self.needs_full,
            entry: metnos::sandbox::RUN,
            net,
            cancel,
            progress: &|_| {},
        })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }
}

/// Runs one ignored test of this target in a process of its own, where nothing else runs beside it.
#[track_caller]
pub(crate) fn alone(name: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", name])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// The children of this process. Only where nothing runs beside it.
pub(crate) fn children() -> String {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default()).collect()
}

/// Whether this process is the one that tests warm calls.
pub(crate) fn is_warm() -> bool {
    std::env::var_os("METNOS_TEST_WARM").is_some()
}

/// The interpreter's survey, made once for all tests.
fn survey() -> &'static [u8] {
    static SURVEY: OnceLock<Vec<u8>> = OnceLock::new();
    SURVEY.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings::new(helper(), folder.path().to_owned());
        Sandbox::open(&settings).expect("the sandbox opens");
        std::fs::read(folder.path().join("interpreter.json")).unwrap()
    })
}

/// The binary under test.
pub(crate) fn helper() -> PathBuf {
    std::env::var_os("METNOS_TEST_HELPER").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_metnos")), PathBuf::from)
}

pub(crate) fn grant(path: &Path, write: bool) -> Grant {
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC | rustix::fs::OFlags::NOFOLLOW;
    let fd: OwnedFd = rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap();
    Grant { fd, at: path.to_owned(), write, is_dir: path.is_dir(), masks: Vec::new() }
}

#[track_caller]
pub(crate) fn ok(outcome: &Outcome) -> &Value {
    match &outcome.reply {
        Ok(reply) => reply,
        Err(failure) => panic!("{failure:?}\nstderr: {}\nreport: {:?}", outcome.stderr.text(), outcome.report),
    }
}

#[track_caller]
pub(crate) fn class(outcome: &Outcome) -> &'static str {
    match &outcome.reply {
        Ok(reply) => panic!("it answered {reply}"),
        Err(failure) => failure.class,
    }
}

//! The cage: runs one executor call in a fresh interpreter that sees only what the call was granted.
//!
//! The daemon side (this file, `launch`, `session`, `stage`) never forks: it spawns its own binary as a helper (`child`),
//! which builds the cage with the layers of `native`, `landlock`, `seccomp` and `limits` and stays outside of it. What a
//! call may see is decided elsewhere and arrives as descriptors; names are not resolved here again. Commits nothing: bytes
//! that an executor stages are handed back, writing them anywhere is the core's business.

pub(crate) mod binaries;
pub(crate) mod builder;
mod bwrap;
pub mod cancel;
pub mod cgroup;
mod child;
mod compiled;
pub mod interpreter;
mod landlock;
mod late;
mod launch;
mod limits;
pub mod lock;
pub mod masks;
pub mod mending;
mod native;
mod owners;
mod pool;
mod probe;
pub mod protocol;
pub mod report;
mod seccomp;
mod session;
mod spare;
pub mod stage;
mod sys;
mod tree;
mod watchdog;
mod wire;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use metnos_projections::rules::cage_plan::CagePlan;

pub use cancel::CancelFlag;
pub use child::helper_main;
pub use interpreter::Interpreter;
pub use pool::{Warm, WarmCounts};
pub use report::{Backend, CageReport, Level};
pub use stage::Stage;
pub use wire::Layer;

use crate::broker;
use pool::Pool;
use spare::{Spare, Spares};

/// The function of `main.py` that carries a call out.
pub const RUN: &str = "run";

/// The word that makes the binary act as the helper.
pub const HELPER_ARG: &str = "__cage";

/// Whether a value of `METNOS_SANDBOX` is the consent to run without a cage.
pub fn is_off(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "off" | "0" | "no" | "false")
}

/// How a sandbox is opened.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The binary that is run as the helper; normally the running one. Where the small helper of the same build lies beside
    /// it, that is run instead.
    pub helper_exe: PathBuf,
    /// Forces one backend (`METNOS_SANDBOX_BACKEND`); a machine that cannot give it is an error.
    pub forced: Option<Backend>,
    /// Whoever started the process consented to no cage (`METNOS_SANDBOX=off`).
    pub off: bool,
    /// A folder of ours for scratch files, on this machine, mode 0700.
    pub runtime_dir: PathBuf,
    /// Forces one interpreter instead of looking for one.
    pub python: Option<PathBuf>,
    /// The cgroup below which each call gets one of its own; `None` where this process has none to give.
    pub cgroup: Option<Arc<cgroup::Own>>,
    /// Layers left out, so that a test can show that an escape succeeds without them. No command and no variable sets this.
    #[doc(hidden)]
    pub without: Vec<Layer>,
    /// Whether every call that can be is a warm one, from a cage that is made for it on the spot and waits; so that what is
    /// tested of cold calls can be tested of warm ones. No command and no variable sets this.
    #[doc(hidden)]
    pub always_warm: bool,
    /// Whether every cage has a helper of its own, so that what starting one takes can be measured. No command and no variable
    /// sets this.
    #[doc(hidden)]
    pub fresh_helpers: bool,
}

impl Settings {
    /// Settings with the running binary as the helper, the cgroup that this process has taken, and everything else chosen by
    /// probing.
    pub fn new(helper_exe: PathBuf, runtime_dir: PathBuf) -> Self {
        Self {
            helper_exe,
            forced: None,
            off: false,
            runtime_dir,
            python: None,
            cgroup: cgroup::taken(),
            without: Vec::new(),
            always_warm: false,
            fresh_helpers: false,
        }
    }

    /// Reads `METNOS_SANDBOX` and `METNOS_SANDBOX_BACKEND` as they were found by the configuration.
    ///
    /// # Errors
    /// A backend's name that is not known.
    pub fn with_variables(mut self, sandbox: Option<&str>, backend: Option<&str>) -> Result<Self, SandboxError> {
        self.off = sandbox.is_some_and(is_off);
        self.forced = match backend {
            None | Some("") => None,
            Some("native") => Some(Backend::Native),
            Some("bwrap" | "bubblewrap") => Some(Backend::Bubblewrap),
            Some("landlock" | "landlock-only") => Some(Backend::Landlock),
            Some(other) => return Err(SandboxError::UnknownBackend { name: other.to_owned() }),
        };
        Ok(self)
    }
}

/// Why no sandbox could be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The forced backend's name is not known.
    #[error("there is no sandbox backend called «{name}»; native, bwrap and landlock are")]
    UnknownBackend {
        /// What was asked for.
        name: String,
    },
    /// No interpreter was found.
    #[error("no usable Python 3 interpreter was found ({tried})")]
    NoInterpreter {
        /// What was tried and why it was not taken.
        tried: String,
    },
    /// This machine gives no cage.
    #[error("this machine gives no cage: {reasons}")]
    NoCage {
        /// What each backend said.
        reasons: String,
    },
    /// The runtime folder cannot be used.
    #[error("the runtime folder {} cannot be used", path.display())]
    Runtime {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// One file or folder that the cage shows, at the same absolute path.
#[derive(Debug)]
pub struct Grant {
    /// The object itself, opened with `O_PATH`; what is bound is this and nothing that its name may mean later.
    pub fd: OwnedFd,
    /// Where it appears.
    pub at: PathBuf,
    /// Whether the executor may change it by itself.
    pub write: bool,
    /// Whether it is a folder.
    pub is_dir: bool,
    /// Absolute paths below it that stay hidden (see [`masks::below`]).
    pub masks: Vec<PathBuf>,
}

/// What an executor said about how far it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How much is done.
    pub done: f64,
    /// Of how much; 0 when it is not known.
    pub total: f64,
    /// What it is doing.
    pub text: String,
}

/// One call of one executor.
pub struct Call<'a> {
    /// The call's own narrowed plan.
    pub plan: &'a CagePlan,
    /// What it sees.
    pub grants: Vec<Grant>,
    /// The bytes of `main.py` that were just verified.
    pub code: &'a [u8],
    /// Whether it may be what was compiled of it before: not where it is tested, which is to show that it can be compiled.
    pub ahead: bool,
    /// The function of it that is called: [`RUN`], or the check of a call in doubt.
    pub entry: &'a str,
    /// Its arguments, an object.
    pub args: &'a serde_json::Value,
    /// `workspace turn_id trace_id language timezone config credentials`, an object; what is absent is empty in the cage.
    pub context: &'a serde_json::Value,
    /// The file that is held locked while a cage lives that is built for this call; made if absent, removed at the end. A cage
    /// that waited holds one of its own, in the same folder.
    pub lock_file: &'a Path,
    /// Whether nothing but a full cage will do: of any other the executor gets no byte.
    pub needs_full: bool,
    /// What the broker may fetch; `None` gives no broker at all.
    pub net: Option<broker::Grants>,
    /// Ends the call from outside.
    pub cancel: CancelFlag,
    /// Told whenever the executor reports progress.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

/// Why a call has no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFailure {
    /// One of `crashed non_json contract_violation timeout too_large cancelled permission_denied target_changed
    /// cage_refused`.
    pub class: &'static str,
    /// What happened, in a plain sentence.
    pub message: String,
}

/// What a stream held: its beginning, and how much there was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// At most the first 64 KiB.
    pub bytes: Vec<u8>,
    /// How many bytes were written in all.
    pub total: u64,
}

impl Captured {
    /// The kept bytes as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// What became of a call.
#[derive(Debug)]
pub struct Outcome {
    /// The executor's own result (`{"ok": …}`), or why there is none.
    pub reply: Result<serde_json::Value, CallFailure>,
    /// The staging folder, still readable now that the cage is gone.
    pub stage: Option<Stage>,
    /// What was printed.
    pub stdout: Captured,
    /// What was printed to the error stream.
    pub stderr: Captured,
    /// What the executor logged, in order.
    pub log: Vec<String>,
    /// What the broker did.
    pub connections: Vec<broker::Connection>,
    /// The cage that it had.
    pub report: CageReport,
    /// From the call to its end, the cage included.
    pub duration: Duration,
}

/// An open sandbox: the interpreter and the backend were found and tried.
#[derive(Debug)]
pub struct Sandbox {
    settings: Settings,
    interpreter: Interpreter,
    /// The compiled host script, sent to each interpreter.
    host: Vec<u8>,
    capabilities: CageReport,
    spares: Spares,
    pool: Pool,
}

impl Sandbox {
    fn new(settings: Settings, interpreter: Interpreter, capabilities: CageReport, spare: Option<Spare>) -> Self {
        let host = interpreter.host();
        let pool = Pool::new(&settings, &host);
        let spares = Spares::new(!settings.fresh_helpers);
        spares.keep(spare);
        Self { settings, interpreter, host, capabilities, spares, pool }
    }

    /// Builds a cage as one for a call is built, and leaves it: what that takes can be measured by it.
    ///
    /// # Errors
    /// What a cage could be built by when this was opened is gone.
    #[doc(hidden)]
    pub fn build(&self) -> Result<CageReport, SandboxError> {
        let backend = self.capabilities.backend;
        let built = probe::probe(&self.settings, &self.interpreter, backend, self.spares.take());
        let (report, spare) = built.map_err(|reasons| SandboxError::NoCage { reasons })?;
        self.spares.keep(spare);
        Ok(report)
    }

    /// Keeps cages waiting for calls from now on, where the backend can: for a process that will make many.
    pub fn keep_warm(&self, warm: Warm) {
        self.pool.open(warm);
    }

    /// What became of warm calls so far.
    pub fn warm_counts(&self) -> WarmCounts {
        self.pool.counts()
    }

    /// Finds an interpreter and the strongest backend, by trying them.
    ///
    /// # Errors
    /// No interpreter, or no backend while no one consented to none.
    pub fn open(settings: &Settings) -> Result<Self, SandboxError> {
        probe::open(settings)
    }

    /// What a cage on this machine gives.
    pub fn capabilities(&self) -> &CageReport {
        &self.capabilities
    }

    /// The interpreter that runs executors.
    pub fn interpreter(&self) -> &Interpreter {
        &self.interpreter
    }

    /// Runs one call to its end. Blocks; the tree is dead when it returns. So is the lock released, but where the cage waited:
    /// then its helper is just about to.
    pub fn call(&self, call: Call<'_>) -> Outcome {
        session::run(self, call)
    }
}

//! The instance's sandbox: opened when it is first needed, shared by commands that ask for the same one, and in a process that
//! serves kept warm.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Instance;
use crate::sandbox::mending::Chosen;
use crate::sandbox::{self, Level, Sandbox, SandboxError, Warm, WarmCounts};

/// The sandbox of commands that ask for the same one.
#[derive(Default)]
pub(super) struct Caging {
    opened: OnceLock<Sandbox>,
    keeps_warm: AtomicBool,
}

impl Instance {
    /// The sandbox, found and tried at its first use.
    pub fn sandbox(&self) -> Result<&Sandbox, SandboxError> {
        if self.sandbox.opened.get().is_none() {
            let opened = self.open_sandbox(self.variables.sandbox_backend.as_deref())?;
            let sandbox = self.sandbox.opened.get_or_init(|| opened);
            if self.sandbox.keeps_warm.load(Ordering::SeqCst) {
                sandbox.keep_warm(Warm::default());
            }
            return Ok(sandbox);
        }
        Ok(self.sandbox.opened.get().expect("it was just looked at"))
    }

    fn open_sandbox(&self, backend: Option<&str>) -> Result<Sandbox, SandboxError> {
        // By its path, beside which the small helper lies; by the running image itself once that path is another's.
        let own_path = std::env::current_exe().ok().filter(|path| path.exists());
        let helper = own_path.unwrap_or_else(|| "/proc/self/exe".into());
        let settings = sandbox::Settings::new(helper, self.dirs.runtime.clone());
        Sandbox::open(&settings.with_variables(self.variables.sandbox.as_deref(), backend)?)
    }

    /// Whether whoever started this process chose to have no cage.
    pub fn is_uncaged(&self) -> bool {
        self.variables.sandbox.as_deref().is_some_and(sandbox::is_off)
    }

    /// What somebody chose of the cage that weakens it.
    pub fn cage_chosen(&self) -> Chosen {
        let level = |opened: &Sandbox| opened.capabilities().level;
        let now = self.sandbox().ok().map(level);
        if now == Some(Level::None) {
            return Chosen::Off;
        }
        let is_chosen = self.variables.sandbox_backend.is_some() && now != Some(Level::Full);
        let is_less = is_chosen && self.open_sandbox(None).is_ok_and(|other| level(&other) == Level::Full);
        if is_less { Chosen::Less } else { Chosen::Nothing }
    }

    /// Has the sandbox keep cages waiting from now on, which pays where calls follow on calls. It is not opened for that.
    pub fn keep_warm(&self) {
        self.sandbox.keeps_warm.store(true, Ordering::SeqCst);
        if let Some(sandbox) = self.sandbox.opened.get() {
            sandbox.keep_warm(Warm::default());
        }
    }

    /// What became of warm calls in this process.
    pub fn warm_counts(&self) -> WarmCounts {
        self.sandbox.opened.get().map(Sandbox::warm_counts).unwrap_or_default()
    }
}

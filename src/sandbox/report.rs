//! What cage a call really had: taken from what succeeded in the helper, not from what was intended.

use serde::{Deserialize, Serialize};

/// How the cage was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// Namespaces, private root, landlock, syscall filter, limits: no binary needed.
    Native,
    /// The same plan, its namespaces and its root made by bubblewrap.
    #[serde(rename = "bwrap")]
    Bubblewrap,
    /// Landlock, syscall filter and limits only: where user namespaces are blocked.
    Landlock,
    /// No cage; only where whoever started the process consented.
    None,
}

impl Backend {
    /// Whether its cages have namespaces of their own.
    pub(super) fn has_namespaces(self) -> bool {
        matches!(self, Self::Native | Self::Bubblewrap)
    }

    /// The name that settings and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Bubblewrap => "bwrap",
            Self::Landlock => "landlock",
            Self::None => "none",
        }
    }
}

/// How much of what a cage promises holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Nothing.
    None,
    /// Some layers; `missing` says which not.
    Partial,
    /// All layers.
    Full,
}

/// The cap that a cgroup of the call's own is.
pub(super) const CGROUP: &str = "cgroup";

/// The report of one cage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CageReport {
    /// How it was built.
    pub backend: Backend,
    /// How much of it holds.
    pub level: Level,
    /// The layers that were applied, in order.
    pub layers: Vec<String>,
    /// The effective landlock ABI; 0 when there is none.
    pub landlock_abi: u32,
    /// Whether the syscall filter holds.
    pub seccomp: bool,
    /// What bounds the tree's memory.
    pub memory_cap: String,
    /// What bounds the number of processes.
    pub process_cap: String,
    /// What ends the whole tree.
    pub tree_kill: String,
    /// What a full cage would cover and this one does not, in plain words.
    pub missing: Vec<String>,
    /// The files and folders that the executor could change by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
    /// Whether it was built before its call and waited for it. Said only where it is so: older records know no such word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warm: bool,
}

impl CageReport {
    /// Whether a cgroup bounds both memory and processes.
    pub fn is_enclosed(&self) -> bool {
        self.memory_cap == CGROUP && self.process_cap == CGROUP
    }

    /// The report of no cage at all.
    pub fn none() -> Self {
        Self {
            backend: Backend::None,
            level: Level::None,
            layers: Vec::new(),
            landlock_abi: 0,
            seccomp: false,
            memory_cap: "none".to_owned(),
            process_cap: "none".to_owned(),
            tree_kill: "none".to_owned(),
            missing: Vec::new(),
            writable: Vec::new(),
            warm: false,
        }
    }
}

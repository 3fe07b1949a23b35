//! What would give a cage the layers that it lacks: read from the kernel's own switches, so that the command is the right one.

use std::path::Path;

use super::report::CageReport;
use super::{bwrap, limits};

/// One thing that a person can do about a cage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mending {
    /// `AppArmor` keeps ordinary users from making namespaces.
    AppArmor,
    /// A switch of Debian's kernels does.
    Unprivileged,
    /// The number of user namespaces is bounded to none.
    NoNamespaces,
    /// Namespaces are refused by something else, mostly a container around.
    Namespaces,
    /// There is no bubblewrap, which may be allowed what this program is not.
    Bubblewrap,
    /// The kernel has no landlock, or it was not named at the start.
    Landlock,
    /// As root, nothing bounds the number of processes.
    Root,
    /// No cgroup is delegated to whoever makes the calls.
    Delegation,
    /// The consent to run without a cage was given.
    Off,
    /// Another backend was chosen than this machine would give.
    Forced,
}

/// What somebody chose of the cage, rather than the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// Nothing that weakens it.
    Nothing,
    /// To run without one.
    Off,
    /// A backend that gives less than the machine would.
    Less,
}

impl Mending {
    /// The key of its text.
    pub fn key(self) -> &'static str {
        match self {
            Self::AppArmor => "doctor.mend_apparmor",
            Self::Unprivileged => "doctor.mend_unprivileged",
            Self::NoNamespaces => "doctor.mend_no_namespaces",
            Self::Namespaces => "doctor.mend_namespaces",
            Self::Bubblewrap => "doctor.mend_bubblewrap",
            Self::Landlock => "doctor.mend_landlock",
            Self::Root => "doctor.mend_root",
            Self::Delegation => "doctor.mend_cgroup",
            Self::Off => "doctor.mend_off",
            Self::Forced => "doctor.mend_forced",
        }
    }
}

/// What would help, the simplest first; `proc` is where the kernel's switches lie.
pub fn mendings(report: Option<&CageReport>, chosen: Chosen, proc: &Path) -> Vec<Mending> {
    match chosen {
        Chosen::Off => return vec![Mending::Off],
        // The machine would give more.
        Chosen::Less => return vec![Mending::Forced],
        Chosen::Nothing => {}
    }
    let switch = |name: &str| std::fs::read_to_string(proc.join(name)).ok().map(|text| text.trim().to_owned());
    let mut found = Vec::new();
    let has_namespaces = report.is_some_and(|report| report.backend.has_namespaces());
    if !has_namespaces {
        if switch("sys/kernel/apparmor_restrict_unprivileged_userns").as_deref() == Some("1") {
            found.push(Mending::AppArmor);
        }
        if switch("sys/kernel/unprivileged_userns_clone").as_deref() == Some("0") {
            found.push(Mending::Unprivileged);
        }
        if switch("sys/user/max_user_namespaces").as_deref() == Some("0") {
            found.push(Mending::NoNamespaces);
        }
        if found.is_empty() {
            found.push(Mending::Namespaces);
        }
        if bwrap::program().is_err() {
            found.push(Mending::Bubblewrap);
        }
    }
    if report.is_none_or(|report| report.landlock_abi == 0) {
        found.push(Mending::Landlock);
    }
    if report.is_some_and(|report| has_namespaces && !limits::is_kept_by_kernel(report)) {
        found.push(Mending::Root);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::{Backend, Level};

    fn switches(set: &[(&str, &str)]) -> tempfile::TempDir {
        let proc = tempfile::tempdir().unwrap();
        for (name, value) in set {
            let path = proc.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{value}\n")).unwrap();
        }
        proc
    }

    #[test]
    fn each_switch_has_its_command() {
        let cages =
            CageReport { backend: Backend::Landlock, level: Level::Partial, landlock_abi: 6, ..CageReport::none() };
        let of = |set: &[(&str, &str)]| {
            let mut found = mendings(Some(&cages), Chosen::Nothing, switches(set).path());
            found.retain(|mending| *mending != Mending::Bubblewrap);
            found
        };
        assert_eq!(of(&[("sys/kernel/apparmor_restrict_unprivileged_userns", "1")]), [Mending::AppArmor]);
        assert_eq!(of(&[("sys/kernel/unprivileged_userns_clone", "0")]), [Mending::Unprivileged]);
        assert_eq!(of(&[("sys/user/max_user_namespaces", "0")]), [Mending::NoNamespaces]);
        assert_eq!(of(&[("sys/user/max_user_namespaces", "100")]), [Mending::Namespaces]);
        assert_eq!(mendings(None, Chosen::Off, Path::new("/nowhere")), [Mending::Off]);
        assert_eq!(mendings(Some(&cages), Chosen::Less, Path::new("/nowhere")), [Mending::Forced]);
        let kept = "limit in the user namespace".to_owned();
        let native = CageReport { backend: Backend::Native, landlock_abi: 0, process_cap: kept, ..cages.clone() };
        assert_eq!(mendings(Some(&native), Chosen::Nothing, Path::new("/nowhere")), [Mending::Landlock]);
        let root = CageReport { backend: Backend::Native, process_cap: "watchdog".to_owned(), ..cages.clone() };
        assert_eq!(mendings(Some(&root), Chosen::Nothing, Path::new("/nowhere")), [Mending::Root]);
    }
}

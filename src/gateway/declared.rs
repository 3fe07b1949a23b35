//! The folders that an executor declares for itself, which no argument names: held for its cage, and where their names lead.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use metnos_log::event::turn::Lead;
use metnos_projections::rules::cage_plan::{self, CagePlan, Mount};
use metnos_projections::rules::{core_paths, perimeter};

use super::call::Caller;
use super::own::OwnFolders;
use super::targets;

/// One of them that is there and may be shown.
pub(super) struct Declared<'p> {
    pub(super) mount: &'p Mount,
    pub(super) fd: OwnedFd,
    /// As it is called without links.
    pub(super) at: PathBuf,
    pub(super) is_dir: bool,
    /// As it is named.
    named: PathBuf,
}

/// Those of a plan, looked up now, links and all. One that does not exist yet is skipped.
pub(super) fn held<'p>(plan: &'p CagePlan, caller: &Caller) -> Vec<Declared<'p>> {
    let look = |mount: &'p Mount| {
        let named = PathBuf::from(caller.places.resolve(&mount.path));
        let (fd, at, kind) = targets::hold(&named).ok()?;
        let is_inside = |folders: &Vec<String>| at.to_str().is_some_and(|at| perimeter::holds(folders, at));
        let write = mount.access == cage_plan::Access::Write;
        let is_open = caller.within.as_ref().is_none_or(is_inside) && may_be_opened(&at, write, caller);
        is_open.then_some(Declared { mount, fd, at, is_dir: kind == "folder", named })
    };
    plan.mounts.iter().filter(|mount| mount.from_args.is_empty()).filter_map(look).collect()
}

/// Which of them are named by one path and are another.
pub(super) fn leads(declared: &[Declared<'_>]) -> Vec<Lead> {
    let led = declared.iter().filter(|declared| core_paths::lexical(&declared.named) != declared.at);
    let led = led.map(|Declared { named, at, .. }| Lead {
        given: named.to_string_lossy().into_owned(),
        at: at.to_string_lossy().into_owned(),
    });
    led.collect()
}

/// Why a call is refused whose executor declares a folder that is too much: everything there is, or to be changed one that this
/// instance lies in. It was none when the manifest was judged, or a link leads there now.
pub(super) fn opens_too_much(plan: &CagePlan, caller: &Caller) -> Option<String> {
    let own = OwnFolders::new(&caller.own, &caller.places.workspace);
    plan.mounts.iter().filter(|mount| mount.from_args.is_empty()).find_map(|mount| {
        let named = PathBuf::from(caller.places.resolve(&mount.path));
        let leads = targets::hold(&named).map_or_else(|_| named.clone(), |(_, at, _)| at);
        let leads = leads.to_string_lossy();
        let is_open = || own.are_open_with(&named) || own.are_open_with(Path::new(leads.as_ref()));
        match () {
            () if leads == "/" => {
                let named = named.display();
                Some(format!("it would see all there is: {named} leads to «/», and that no executor gets"))
            }
            () if mount.access != cage_plan::Access::Write => None,
            () if is_open() => Some(format!("it would change all of {leads}, and Metnos itself lies there")),
            () if core_paths::holds_forbidden_names(&leads) => {
                Some(format!("it would change all of {leads}, which is there for what no executor sees"))
            }
            () => None,
        }
    })
}

/// Whether what a hint led to may be shown: the manifest was judged by its words, and a link may lead anywhere.
fn may_be_opened(at: &Path, write: bool, caller: &Caller) -> bool {
    let path = at.to_string_lossy();
    if core_paths::forbidden(&path, &caller.home.to_string_lossy(), &caller.own).is_some() {
        return false;
    }
    let home = caller.home.canonicalize().unwrap_or_else(|_| caller.home.clone());
    let is_own = || OwnFolders::new(&caller.own, &caller.places.workspace).are_open_with(at);
    !write || (core_paths::protected_from_change(&path).is_none() && !home.starts_with(at) && !is_own())
}

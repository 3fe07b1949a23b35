//! Landlock: the kernel's own list of what may be opened, on top of the private root or, without one, in its place.
//!
//! Rules bind to objects, so they are made after the mounts. Landlock does not cover modes, owners, times and the mere
//! existence of names; the report of a cage that has nothing else says so.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};
use rustix::fs::{Mode, OFlags};

use super::child::{BuildError, Step};
use super::native::{self, View};
use super::report::{Backend, CageReport};
use super::wire::{Job, Layer};

/// The newest ABI whose rights are asked for; a kernel that knows less gives what it has, and the report says which.
const NEWEST: ABI = ABI::V9;

/// Restricts this process and all that it starts.
pub(super) fn apply(job: &Job, grants: &[OwnedFd], view: &View, report: &mut CageReport) -> Result<(), BuildError> {
    if !job.has(Layer::Landlock) {
        return Ok(());
    }
    let status = restrict(job, grants, view).step("restrict with landlock")?;
    let abi = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi,
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => ABI::Unsupported,
    };
    report.landlock_abi = abi as u32;
    if abi == ABI::Unsupported {
        if job.backend == Backend::Landlock {
            return Err(io::Error::other("the kernel has no landlock")).step("restrict with landlock");
        }
        report.missing.push("landlock".to_owned());
        return Ok(());
    }
    report.layers.push("landlock".to_owned());
    if job.backend == Backend::Landlock {
        report.missing.extend(uncovered(abi));
    }
    Ok(())
}

/// What a cage that has only landlock does not cover, in plain words.
fn uncovered(abi: ABI) -> Vec<String> {
    let mut missing = vec![
        "a private root: names and properties of files outside of the grants can be probed".to_owned(),
        "masks hide contents, not names, of core paths below a granted folder".to_owned(),
        "a sized file system for the stage and for temporary files".to_owned(),
        "namespaces of its own for processes, network, users and names".to_owned(),
    ];
    if abi < ABI::V3 {
        missing.push("truncation of files outside of the grants".to_owned());
    }
    missing
}

fn restrict(job: &Job, grants: &[OwnedFd], view: &View) -> io::Result<RestrictionStatus> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .map_err(io::Error::other)?;
    let mut rules = Rules { ruleset };
    for runtime in &job.runtime {
        rules.path(&runtime.path(), AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir)?;
    }
    for device in native::DEVICES {
        // Of a zero that can be written, memory can be mapped that stays when no process maps it any more.
        let write = if *device == "zero" { BitFlags::EMPTY } else { AccessFs::WriteFile.into() };
        rules.path(&Path::new("/dev").join(device), write | AccessFs::ReadFile)?;
    }
    let scratch = (AccessFs::from_all(NEWEST) & !(AccessFs::Execute | AccessFs::MakeBlock | AccessFs::MakeChar))
        | AccessFs::Refer;
    rules.path(&job.stage.path(), scratch)?;
    rules.path(&job.tmp.path(), scratch)?;
    if view.private {
        rules.path(&view.proc, AccessFs::ReadFile | AccessFs::ReadDir)?;
    }
    if job.waits {
        // What a call will be granted is not there yet, and a rule binds to an object: so it is the root's, and reads whatever
        // will be mounted below it. That is wider than the rules of a cold cage by the folders that lead to a grant: those
        // hold nothing else, belong to a file system that is read-only, and their mode lets nobody list them. Only the helper
        // can mount anything there, and it does so once, before the cage is fed.
        rules.path(Path::new("/"), AccessFs::ReadFile | AccessFs::ReadDir)?;
    }
    for (grant, descriptor) in job.grants.iter().zip(grants) {
        let at = grant.at.path();
        let masks: BTreeSet<PathBuf> = grant.masks.iter().map(super::wire::RawPath::path).collect();
        let access = if grant.write { scratch } else { AccessFs::ReadFile | AccessFs::ReadDir };
        match (view.private, masks.is_empty()) {
            (true, _) if at == Path::new("/") => rules.top(access)?,
            (true, _) => rules.path(&at, access)?,
            (false, true) => rules.object(descriptor, access)?,
            (false, false) => rules.around(&at, &masks, access)?,
        }
    }
    rules.ruleset.restrict_self().map_err(io::Error::other)
}

struct Rules {
    ruleset: RulesetCreated,
}

impl Rules {
    fn path(&mut self, path: &Path, access: impl Into<BitFlags<AccessFs>>) -> io::Result<()> {
        match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(object) => self.object(object, access),
            // What is not there (a device that a container lacks) or cannot be reached by its name needs no right.
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::ACCESS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn object(&mut self, object: impl AsFd, access: impl Into<BitFlags<AccessFs>>) -> io::Result<()> {
        let mut access = access.into();
        if !rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&object)?.st_mode).is_dir() {
            access &= AccessFs::from_file(NEWEST);
        }
        let rule = PathBeneath::new(object.as_fd(), access);
        (&mut self.ruleset).add_rule(rule).map_err(io::Error::other)?;
        Ok(())
    }

    /// Every folder of a private root that was granted whole.
    fn top(&mut self, access: BitFlags<AccessFs>) -> io::Result<()> {
        for entry in std::fs::read_dir("/")? {
            let entry = entry?;
            let own = ["/proc", "/dev", "/tmp"].iter().any(|own| entry.path() == Path::new(own));
            if !own && !entry.file_type()?.is_symlink() {
                self.path(&entry.path(), access)?;
            }
        }
        Ok(())
    }

    /// A folder without what is masked below it. Landlock only adds rights, so the folders on the way to a mask may be
    /// listed and everything beside the mask gets the right for itself.
    fn around(&mut self, folder: &Path, masks: &BTreeSet<PathBuf>, access: BitFlags<AccessFs>) -> io::Result<()> {
        self.path(folder, access & AccessFs::ReadDir)?;
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if masks.contains(&path) {
                continue;
            }
            if masks.iter().any(|mask| mask.starts_with(&path)) {
                self.around(&path, masks, access)?;
            } else if !path.is_symlink() {
                self.path(&path, access)?;
            }
        }
        Ok(())
    }
}

//! What an executor that changes files by itself made where nothing may be made: names that no executor sees, and names that its
//! manifest excepts, and links that lead to the first. The cage hides what is there before the call; these came with it.
//!
//! Nothing is taken away here: what was made is said, and the call counts as failed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use metnos_projections::rules::core_paths::OwnDirs;

use crate::sandbox::{Grant, masks};

/// How many names are looked over before and after a call.
const NAMES_MAX: usize = 200_000;
/// How many of them are said.
const SHOWN: usize = 8;

/// What tells a file from another and from itself when it was changed: device, inode, size, time of its last change.
type Mark = (u64, u64, u64, i64, i64);

/// The closed names of the folders that a call may change, as they were before it.
pub(super) struct Before<'a> {
    folders: Vec<PathBuf>,
    home: String,
    own: &'a OwnDirs,
    except: Vec<String>,
    closed: Option<BTreeMap<PathBuf, Mark>>,
}

impl<'a> Before<'a> {
    /// Looks over what a call may change; nothing where it may change nothing.
    pub(super) fn look(grants: &[Grant], home: &str, own: &'a OwnDirs, except: Vec<String>) -> Option<Self> {
        let writable = grants.iter().filter(|grant| grant.write && grant.is_dir);
        let folders: Vec<PathBuf> = writable.map(|grant| grant.at.clone()).collect();
        let home = home.to_owned();
        if folders.is_empty() {
            return None;
        }
        let before = Self { folders, home, own, except, closed: None };
        let closed = before.closed();
        Some(Self { closed, ..before })
    }

    /// Why the call may not be made: there is more below its folders than can be looked over.
    pub(super) fn fault(&self) -> Option<String> {
        self.closed.is_none().then(|| self.too_much())
    }

    /// What the call made or changed that nobody may make.
    pub(super) fn violation(&self) -> Option<String> {
        let (Some(before), Some(after)) = (&self.closed, self.closed()) else { return Some(self.too_much()) };
        let is_new = |(path, mark): &(&PathBuf, &Mark)| before.get(*path) != Some(*mark);
        let shown = |(path, _): (&PathBuf, &Mark)| match masks::leads_to_core(path, &self.home, self.own) {
            Some(core) => format!("{}, which leads to {}", path.display(), core.display()),
            None => path.display().to_string(),
        };
        let made: Vec<String> = after.iter().filter(is_new).map(shown).collect();
        let rest = made.len().saturating_sub(SHOWN);
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let shown = made.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        (!made.is_empty()).then(|| {
            format!("it made or changed what no executor of its kind may: {shown}{more}. It is still there: look at it")
        })
    }

    fn too_much(&self) -> String {
        let folders: Vec<String> = self.folders.iter().map(|folder| folder.display().to_string()).collect();
        let folders = folders.join(", ");
        format!("there are more than {NAMES_MAX} names in {folders}: too many to see whether it made what it may not")
    }

    /// The closed names and their marks; `None` where there is too much to look over.
    fn closed(&self) -> Option<BTreeMap<PathBuf, Mark>> {
        let mut left = NAMES_MAX;
        let mut closed = BTreeMap::new();
        for folder in &self.folders {
            let found = masks::closed(folder, (&self.home, self.own), &self.except, &mut left)?;
            closed.extend(found.into_iter().filter_map(|path| mark(&path).map(|mark| (path, mark))));
        }
        Some(closed)
    }
}

fn mark(path: &Path) -> Option<Mark> {
    let found = fs::symlink_metadata(path).ok()?;
    // What comes and goes in a closed folder is hidden from the call, and none of its doing.
    let (size, at) = if found.is_dir() { (0, (0, 0)) } else { (found.size(), (found.mtime(), found.mtime_nsec())) };
    Some((found.dev(), found.ino(), size, at.0, at.1))
}

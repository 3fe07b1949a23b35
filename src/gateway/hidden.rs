//! What a cage hides below the folders that it shows, and whether it was still hidden at the end of a call.
//!
//! What is hidden has an empty file or folder mounted on it. Where a program of the person's puts another file in its place
//! meanwhile, the kernel takes that mount away with the old one, in every cage: the new one was there to be read. So what such
//! a call has to say is withheld. What came without having been there before is looked for beside what is hidden and right
//! below what was granted, which is where such files are; not in the whole tree.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use metnos_projections::rules::core_paths::{self, OwnDirs};

use crate::sandbox::Grant;

/// How many of them are said.
const SHOWN: usize = 3;

/// What tells a file or folder from another: device and inode.
type Mark = (u64, u64);

/// What is hidden, as it was before the call, and the folders in which more of it may come.
pub(super) struct Hidden {
    marks: Vec<(PathBuf, Mark)>,
    folders: BTreeSet<PathBuf>,
}

impl Hidden {
    /// Looks at what these grants hide.
    pub(super) fn look(grants: &[Grant]) -> Self {
        let masks = || grants.iter().flat_map(|grant| &grant.masks);
        let granted = grants.iter().filter(|grant| grant.is_dir).map(|grant| grant.at.as_path());
        Self {
            marks: masks().filter_map(|path| Some((path.clone(), mark(path)?))).collect(),
            folders: granted.chain(masks().filter_map(|path| path.parent())).map(Path::to_owned).collect(),
        }
    }

    /// What of it came since or is another by now, so that the call may have seen it.
    pub(super) fn fault(&self, home: &str, own: &OwnDirs) -> Option<String> {
        let hidden: BTreeSet<&Path> = self.marks.iter().map(|(path, _)| path.as_path()).collect();
        let is_new = |path: &PathBuf| {
            !hidden.contains(path.as_path()) && core_paths::forbidden(&path.to_string_lossy(), home, own).is_some()
        };
        let entries = self.folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let came = entries.map(|entry| entry.path()).filter(is_new);
        let replaced = self.marks.iter().filter(|(path, before)| mark(path).is_some_and(|now| now != *before));
        let seen: Vec<PathBuf> = replaced.map(|(path, _)| path.clone()).chain(came).collect();
        let more = if seen.len() > SHOWN { " and others" } else { "" };
        let shown = seen.iter().take(SHOWN).map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        (!seen.is_empty()).then(|| {
            format!("What it may not see came or was replaced while it ran, so its answer is withheld: {shown}{more}. Ask again")
        })
    }
}

fn mark(path: &Path) -> Option<Mark> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn what_takes_the_place_of_something_hidden_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["netrc", "kept", "gone", "changed"] {
            fs::write(path(name), "old").unwrap();
        }
        let masks = ["netrc", "kept", "gone", "changed", "absent"].map(path).to_vec();
        let fd = OwnedFd::from(fs::File::open(folder.path()).unwrap());
        let grants = [Grant { fd, at: folder.path().to_owned(), write: false, is_dir: true, masks }];
        let hidden = Hidden::look(&grants);
        let fault = || hidden.fault("/home/o", &OwnDirs::default());
        assert_eq!(fault(), None);
        // It is still the one that is covered.
        fs::write(path("changed"), "new").unwrap();
        fs::remove_file(path("gone")).unwrap();
        fs::write(path("plain"), "new").unwrap();
        assert_eq!(fault(), None);
        fs::create_dir(path(".gnupg")).unwrap();
        assert!(fault().unwrap().contains("/.gnupg."), "{:?}", fault());
        fs::remove_dir(path(".gnupg")).unwrap();
        fs::write(path("netrc.new"), "new").unwrap();
        fs::rename(path("netrc.new"), path("netrc")).unwrap();
        let fault = fault().unwrap();
        assert!(fault.contains("netrc") && !fault.contains("kept") && !fault.contains("changed"), "{fault}");
    }
}

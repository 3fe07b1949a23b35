//! What a cage hides below the folders that it shows, and whether it was still hidden at the end of a call.
//!
//! What is hidden has an empty file or folder mounted on it. Where a program of the person's puts another file in its place
//! meanwhile, the kernel takes that mount away with the old one, in every cage: the new one was there to be read. So what such
//! a call has to say is not believed to hold none of it. What came without having been there before is not looked for.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::sandbox::Grant;

/// How many of them are said.
const SHOWN: usize = 3;

/// What tells a file or folder from another: device and inode.
type Mark = (u64, u64);

/// What is hidden, as it was before the call.
pub(super) struct Hidden(Vec<(PathBuf, Mark)>);

impl Hidden {
    /// Looks at what these grants hide.
    pub(super) fn look(grants: &[Grant]) -> Self {
        let masks = grants.iter().flat_map(|grant| &grant.masks);
        Self(masks.filter_map(|path| Some((path.clone(), mark(path)?))).collect())
    }

    /// What of it is another by now, so that the call may have seen it.
    pub(super) fn fault(&self) -> Option<String> {
        let replaced = |(path, before): &&(PathBuf, Mark)| mark(path).is_some_and(|now| now != *before);
        let replaced: Vec<String> =
            self.0.iter().filter(replaced).map(|(path, _)| path.display().to_string()).collect();
        let more = if replaced.len() > SHOWN { " and others" } else { "" };
        let shown = replaced.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        (!replaced.is_empty()).then(|| {
            format!(
                "what it may not see was replaced while it ran, so what it says is withheld: {shown}{more}. Ask again"
            )
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
        assert_eq!(hidden.fault(), None);
        // It is still the one that is covered.
        fs::write(path("changed"), "new").unwrap();
        fs::remove_file(path("gone")).unwrap();
        assert_eq!(hidden.fault(), None);
        fs::write(path("netrc.new"), "new").unwrap();
        fs::rename(path("netrc.new"), path("netrc")).unwrap();
        let fault = hidden.fault().unwrap();
        assert!(fault.contains("netrc") && !fault.contains("kept") && !fault.contains("changed"), "{fault}");
    }
}

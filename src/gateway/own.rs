//! The folders that an instance lives in: whoever changes a folder that holds one of them could put another instance in its
//! place.
//!
//! What lies in them is closed by the core paths; here it is about what lies around them.

use std::path::{Path, PathBuf};

use metnos_projections::rules::core_paths::OwnDirs;

/// The folders of an instance, as they are named and without links.
#[derive(Clone, Debug, Default)]
pub struct OwnFolders(Vec<PathBuf>);

impl OwnFolders {
    /// Of an instance with this workspace. A folder without a name is none.
    pub fn new(own: &OwnDirs, workspace: &str) -> Self {
        let executors = format!("{workspace}/executors");
        let named = [&own.config, &own.data, &own.audit, &executors].into_iter().filter(|folder| !folder.is_empty());
        let both = |folder: &String| {
            let named = PathBuf::from(folder);
            named.canonicalize().into_iter().chain([named]).collect::<Vec<_>>()
        };
        Self(named.flat_map(both).collect())
    }

    /// Whether a path is one of them, or lies below one.
    pub fn hold(&self, path: &Path) -> bool {
        self.0.iter().any(|own| path.starts_with(own))
    }

    /// Whether whoever may change a folder could change one of them, or put it elsewhere.
    pub fn are_open_with(&self, folder: &Path) -> bool {
        self.0.iter().any(|own| own.starts_with(folder) || folder.starts_with(own))
    }
}

//! Finds the core forbidden paths below a folder, so that a cage that shows the folder can hide them.
//!
//! The tree is walked once, names only, no link followed. What is made after the walk is not seen by it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use metnos_projections::rules::core_paths::{self, OwnDirs};

/// The forbidden paths below a folder, the topmost of each branch, in no particular order. The folder is absolute and
/// canonical. A folder that cannot be read holds nothing that an executor of the same user could read.
pub fn below(folder: &Path, home: &str, own: &OwnDirs) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if core_paths::forbidden(&path.to_string_lossy(), home, own).is_some() {
                found.push(path);
            } else if kind.is_dir() {
                open.push(path);
            }
        }
    }
    found
}

/// The nearest existing form of a path: absolute, links resolved, a last part that does not exist yet kept.
///
/// # Errors
/// The parent does not exist or cannot be reached.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
            let name = path.file_name().ok_or(error)?;
            Ok(fs::canonicalize(parent)?.join(name))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_core_paths_at_any_depth_and_only_the_topmost() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        for folder in [".ssh/keys", "a/b/.gnupg", "a/.config/tool", "a/c", "own/data"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["a/.netrc", "a/.config/tool/credentials.json", "a/c/netrc", ".ssh/keys/.netrc"] {
            fs::write(root.join(file), "x").unwrap();
        }
        let own = OwnDirs { data: root.join("own/data").to_string_lossy().into_owned(), ..OwnDirs::default() };
        let mut found = below(&root, "/root", &own);
        found.sort();
        let expected = [".ssh", "a/.config/tool/credentials.json", "a/.netrc", "a/b/.gnupg", "own/data"];
        assert_eq!(found, expected.map(|name| root.join(name)));
    }
}

//! The tree as the rules see it: paths from the root, and texts. Read once; a test makes one from pairs.

use std::io;
use std::path::Path;

/// Build output and caches, which are no part of the tree.
const SKIPPED: &[&str] = &["target", "__pycache__", "node_modules"];
/// Hidden entries of the root that are no part of the tree either.
const SKIPPED_HIDDEN: &[&str] = &[".git"];

/// One file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path from the root, with `/`.
    pub path: String,
    /// Its text; what is no UTF-8 is replaced.
    pub text: String,
}

impl Source {
    /// Whether its name ends in this.
    pub fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    /// Its name without folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether it holds tests and nothing else.
    pub fn is_test(&self) -> bool {
        let stem = self.name().trim_end_matches(".rs");
        let folder = self.path.contains("/tests/") || self.path.starts_with("replay-tests/");
        folder || stem == "tests" || stem.ends_with("_tests")
    }
}

/// All files, sorted by path.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    files: Vec<Source>,
    /// Names at the root, folders included.
    top: Vec<String>,
}

impl Tree {
    /// Reads the tree below a folder.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        tree.files.sort_by(|one, two| one.path.cmp(&two.path));
        tree.top.sort();
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if SKIPPED.contains(&name.as_str()) || SKIPPED_HIDDEN.contains(&name.as_str()) {
                continue;
            }
            if prefix.is_empty() {
                self.top.push(name.clone());
            }
            let path = format!("{prefix}{name}");
            if entry.file_type()?.is_dir() {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else {
                let text = String::from_utf8_lossy(&std::fs::read(entry.path())?).into_owned();
                self.files.push(Source { path, text });
            }
        }
        Ok(())
    }

    /// A tree of these paths and texts.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            let top = path.split('/').next().unwrap_or(path);
            if !tree.top.iter().any(|known| known == top) {
                tree.top.push(top.to_owned());
            }
            tree.files.push(Source { path: (*path).to_owned(), text: (*text).to_owned() });
        }
        tree
    }

    /// All files.
    pub fn files(&self) -> &[Source] {
        &self.files
    }

    /// Names at the root.
    pub fn top(&self) -> &[String] {
        &self.top
    }

    /// One file.
    pub fn get(&self, path: &str) -> Option<&Source> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Files with this extension.
    pub fn with_extension<'t>(&'t self, extension: &'t str) -> impl Iterator<Item = &'t Source> {
        self.files.iter().filter(move |file| file.has_extension(extension))
    }
}

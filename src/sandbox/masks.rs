//! Finds what must stay hidden below a folder that a cage shows: core forbidden paths, and what a capability excepts.
//!
//! The tree is walked once, names only, no link followed. What is made after the walk is not seen by it.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use metnos_projections::rules::core_paths::{self, OwnDirs};

/// How many links lead on from one to the next, as the system counts.
const LINKS_MAX: usize = 40;

/// The forbidden paths below a folder, the topmost of each branch, in no particular order; and the second names of forbidden
/// files. The folder is absolute and canonical. A folder below it that cannot be listed is among them: whoever knows the names
/// in it could open them all the same.
pub fn below(folder: &Path, core: &Core<'_>) -> Vec<PathBuf> {
    // What is shown of the machine beside the home is looked through as well.
    let shown = OnceCell::new();
    let is_shown = |found: &fs::Metadata| {
        let files = || if folder.starts_with(core.home) { BTreeSet::new() } else { files_of(core.below(folder)) };
        shown.get_or_init(files).contains(&(found.dev(), found.ino()))
    };
    let is_second_name = |found: &fs::Metadata| found.nlink() > 1 && (core.is_one(found) || is_shown(found));
    find(folder, |path, entry| {
        core.names(path)
            || entry.file_type().is_ok_and(|kind| kind.is_file())
                && entry.metadata().is_ok_and(|found| is_second_name(&found))
    })
}

/// What the exceptions of a capability take out of a granted folder: the topmost paths below it that one of these globs
/// names, and the second names of the files that they name. Globs are absolute, with the symbols resolved; `**` stands for any
/// number of segments, and `x/**` for `x` too.
pub fn excepted(folder: &Path, globs: &[String]) -> Vec<PathBuf> {
    if globs.is_empty() {
        return Vec::new();
    }
    let globs = split(globs);
    let linked = OnceCell::new();
    find(folder, |path, entry| {
        any_names(&globs, path) || entry.metadata().is_ok_and(|found| is_linked(&found, &globs, &linked))
    })
}

/// Whether what lies at a path is a file that one of these globs names under another name; a link is not followed.
pub fn is_excepted_elsewhere(path: &Path, globs: &[String]) -> bool {
    let globs = split(globs);
    !globs.is_empty() && fs::symlink_metadata(path).is_ok_and(|found| is_linked(&found, &globs, &OnceCell::new()))
}

/// Whether a file is one of those that globs name and that have several names; these are looked up once, if at all.
fn is_linked(found: &fs::Metadata, globs: &[Vec<&str>], linked: &OnceCell<BTreeSet<(u64, u64)>>) -> bool {
    found.is_file()
        && found.nlink() > 1
        && linked.get_or_init(|| linked_files(globs)).contains(&(found.dev(), found.ino()))
}

/// The files with several names that globs name, or that lie in a folder that they name.
fn linked_files(globs: &[Vec<&str>]) -> BTreeSet<(u64, u64)> {
    let fixed = |glob: &Vec<&str>| {
        let plain = glob.iter().take_while(|segment| !segment.contains(['*', '?']));
        plain.copied().collect::<Vec<_>>().join("/")
    };
    let mut files = BTreeSet::new();
    let mut open: Vec<(PathBuf, bool)> = globs.iter().map(|glob| (PathBuf::from(fixed(glob)), false)).collect();
    while let Some((path, is_inside)) = open.pop() {
        let is_inside = is_inside || any_names(globs, &path);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => open.extend(entries(&path).map(|entry| (entry, is_inside))),
            Ok(found) if is_inside && found.is_file() && found.nlink() > 1 => {
                files.insert((found.dev(), found.ino()));
            }
            _ => {}
        }
    }
    files
}

/// The closed paths below a folder, by their names alone: core forbidden ones and excepted ones, the topmost of each branch; the
/// links that lead to a core forbidden one; and the folders that cannot be looked into. `None` once more names were seen than are
/// left.
pub fn closed(
    folder: &Path,
    (home, own): (&str, &OwnDirs),
    except: &[String],
    left: &mut usize,
) -> Option<Vec<PathBuf>> {
    let globs = split(except);
    let is_closed =
        |path: &Path| core_paths::forbidden(&path.to_string_lossy(), home, own).is_some() || any_names(&globs, path);
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            found.push(folder);
            continue;
        };
        for entry in entries.flatten() {
            *left = left.checked_sub(1)?;
            let (path, kind) = (entry.path(), entry.file_type());
            let is_link = kind.as_ref().is_ok_and(fs::FileType::is_symlink);
            if is_closed(&path) || is_link && leads_to_core(&path, home, own).is_some() {
                found.push(path);
            } else if kind.is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            }
        }
    }
    Some(found)
}

/// The core forbidden path that a link leads to, though nothing may be there.
pub fn leads_to_core(link: &Path, home: &str, own: &OwnDirs) -> Option<PathBuf> {
    let mut at = link.to_owned();
    for _ in 0..LINKS_MAX {
        let to = at.parent()?.join(fs::read_link(&at).ok()?);
        let there = to.ancestors().find_map(|above| Some((above.canonicalize().ok()?, to.strip_prefix(above).ok()?)));
        let real = there.map(|(there, rest)| core_paths::lexical(&there.join(rest)));
        let named = core_paths::lexical(&to);
        // Through everything there is each of them is reached.
        let is_core = |path: &PathBuf| {
            path == Path::new("/") || core_paths::forbidden(&path.to_string_lossy(), home, own).is_some()
        };
        if let Some(core) = [real.as_ref(), Some(&named)].into_iter().flatten().find(|path| is_core(path)) {
            return Some(core.clone());
        }
        at = real.unwrap_or(named);
    }
    None
}

/// Whether one of these globs names a path, or a folder that it lies in.
pub fn is_excepted(path: &Path, globs: &[String]) -> bool {
    let path = path.to_string_lossy();
    let segments: Vec<&str> = path.split('/').collect();
    let globs = split(globs);
    (1..=segments.len()).any(|length| globs.iter().any(|glob| names(glob, &segments[..length])))
}

/// The files that no executor sees, by what they are and not by what they are called: names are judged, and a hard link has
/// one of its own. Their names are looked for in the whole home, once, and only for files that have several.
pub struct Core<'a> {
    home: &'a Path,
    own: &'a OwnDirs,
    files: OnceCell<BTreeSet<(u64, u64)>>,
}

impl<'a> Core<'a> {
    /// Of a person's home and an instance's own folders.
    pub fn new(home: &'a Path, own: &'a OwnDirs) -> Self {
        Self { home, own, files: OnceCell::new() }
    }

    /// Whether a file is one of them under a second name.
    pub fn is_second_name(&self, file: impl AsFd) -> bool {
        rustix::fs::fstat(file).map_or(true, |stat| stat.st_nlink > 1 && self.has(stat.st_dev, stat.st_ino))
    }

    /// Whether what lies at a path is one of them under a second name; a link is not followed.
    pub fn is_second_name_at(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && self.is_one(&found))
    }

    /// Whether a file of which this is known is one of them under a second name.
    pub fn is_one(&self, found: &fs::Metadata) -> bool {
        found.nlink() > 1 && self.has(found.dev(), found.ino())
    }

    fn has(&self, device: u64, inode: u64) -> bool {
        self.files.get_or_init(|| self.look()).contains(&(device, inode))
    }

    fn look(&self) -> BTreeSet<(u64, u64)> {
        let own = [&self.own.config, &self.own.data, &self.own.audit].map(PathBuf::from);
        files_of(own.into_iter().chain(self.below(Path::new("/etc"))).chain(self.below(self.home)).collect())
    }

    /// Whether a path is one that no executor sees.
    fn names(&self, path: &Path) -> bool {
        core_paths::forbidden(&path.to_string_lossy(), &self.home.to_string_lossy(), self.own).is_some()
    }

    /// The topmost of these paths below a folder; no file of the kernel's own has a second name.
    fn below(&self, top: &Path) -> Vec<PathBuf> {
        let kernels = ["/proc", "/sys", "/dev"].map(Path::new);
        let (mut found, mut open) = (Vec::new(), vec![top.to_owned()]);
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if self.names(&path) {
                    found.push(path);
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !kernels.contains(&path.as_path()) {
                    open.push(path);
                }
            }
        }
        found
    }
}

/// The files at these paths, and all below them.
fn files_of(mut paths: Vec<PathBuf>) -> BTreeSet<(u64, u64)> {
    let mut files = BTreeSet::new();
    while let Some(path) = paths.pop() {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => paths.extend(entries(&path)),
            Ok(found) => {
                files.insert((found.dev(), found.ino()));
            }
            Err(_) => {}
        }
    }
    files
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn split(globs: &[String]) -> Vec<Vec<&str>> {
    globs.iter().map(|glob| glob.strip_suffix("/**").unwrap_or(glob).split('/').collect()).collect()
}

fn any_names(globs: &[Vec<&str>], path: &Path) -> bool {
    let path = path.to_string_lossy();
    let segments: Vec<&str> = path.split('/').collect();
    globs.iter().any(|glob| names(glob, &segments))
}

fn names(glob: &[&str], path: &[&str]) -> bool {
    match (glob, path) {
        ([], []) => true,
        (["**", rest @ ..], _) => (0..=path.len()).any(|skipped| names(rest, &path[skipped..])),
        ([first, rest @ ..], [segment, below @ ..]) => fits(first.as_bytes(), segment.as_bytes()) && names(rest, below),
        _ => false,
    }
}

fn fits(glob: &[u8], name: &[u8]) -> bool {
    match (glob, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|skipped| fits(rest, &name[skipped..])),
        ([b'?', rest @ ..], [_, below @ ..]) => fits(rest, below),
        ([byte, rest @ ..], [first, below @ ..]) => byte == first && fits(rest, below),
        _ => false,
    }
}

/// The topmost paths below a folder of which something holds.
fn find(folder: &Path, holds: impl Fn(&Path, &fs::DirEntry) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    let top = folder;
    while let Some(folder) = open.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                if folder != top && error.kind() != io::ErrorKind::NotFound {
                    found.push(folder);
                }
                continue;
            }
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if holds(&path, &entry) {
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

    /// Nobody sees what is in it, and whoever knows a name there opens it.
    #[test]
    fn a_folder_that_cannot_be_listed_is_hidden() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("d/.ssh")).unwrap();
        fs::set_permissions(home.join("d"), fs::Permissions::from_mode(0o311)).unwrap();
        let text = home.to_string_lossy().into_owned();
        // Whoever may do everything lists it, and finds what is closed in it.
        let is_listed = fs::read_dir(home.join("d")).is_ok();
        let expected = if is_listed { home.join("d/.ssh") } else { home.join("d") };
        assert_eq!(below(&home, &Core::new(Path::new(&text), &OwnDirs::default())), [expected]);
        fs::set_permissions(home.join("d"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn finds_what_a_capability_excepts() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        for folder in ["private/deep", "work/private", "work/b"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["private/x", "work/diary-1.md", "work/b/diary-2.md", "work/b/other.md"] {
            fs::write(root.join(file), "x").unwrap();
        }
        let check = |glob: &str, wanted: &[&str]| {
            let mut found = excepted(&root, &[format!("{}/{glob}", root.display())]);
            found.sort();
            assert_eq!(found, wanted.iter().map(|name| root.join(name)).collect::<Vec<_>>(), "{glob}");
        };
        check("private/**", &["private"]);
        check("**/private/**", &["private", "work/private"]);
        check("**/diary-?.md", &["work/b/diary-2.md", "work/diary-1.md"]);
        check("work/*.md", &["work/diary-1.md"]);
        check("absent/**", &[]);
        assert_eq!(excepted(&root, &[]), Vec::<PathBuf>::new());
        let named = |path: &str| is_excepted(&root.join(path), &[format!("{}/private/**", root.display())]);
        assert!(named("private") && named("private/deep/absent") && !named("work/private") && !named("privately"));
    }

    /// What was excepted was read under its other name.
    #[test]
    fn finds_second_names_of_excepted_files() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        for folder in ["notes/private/deep", "notes/work"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["notes/private/deep/a", "notes/private/b", "notes/work/plain", "notes/diary.md"] {
            fs::write(root.join(file), "x").unwrap();
        }
        for (of, name) in [
            ("notes/private/deep/a", "notes/work/mine"),
            ("notes/work/plain", "notes/work/other"),
            ("notes/diary.md", "notes/work/d"),
        ] {
            fs::hard_link(root.join(of), root.join(name)).unwrap();
        }
        let globs = ["notes/private/**", "**/diary.md"].map(|glob| format!("{}/{glob}", root.display()));
        let mut found = excepted(&root.join("notes/work"), &globs);
        found.sort();
        assert_eq!(found, ["notes/work/d", "notes/work/mine"].map(|name| root.join(name)));
        assert!(is_excepted_elsewhere(&root.join("notes/work/mine"), &globs));
        assert!(!is_excepted_elsewhere(&root.join("notes/work/plain"), &globs));
        assert!(!is_excepted_elsewhere(&root.join("notes/work/mine"), &[]));
    }

    #[test]
    fn finds_second_names_of_core_files() {
        let root = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(root.path()).unwrap();
        for folder in [".ssh", "docs/keys"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        for file in [".ssh/id", "docs/a", "docs/plain"] {
            fs::write(home.join(file), "x").unwrap();
        }
        fs::hard_link(home.join(".ssh/id"), home.join("docs/keys/mine")).unwrap();
        fs::hard_link(home.join("docs/a"), home.join("docs/b")).unwrap();
        // Wherever in the home such a file lies, and wherever in what is shown.
        for (folder, name) in [("work/deep/.ssh", "docs/keys/deep"), ("docs/shown/.aws", "docs/keys/shown")] {
            fs::create_dir_all(home.join(folder)).unwrap();
            fs::write(home.join(folder).join("k"), "x").unwrap();
            fs::hard_link(home.join(folder).join("k"), home.join(name)).unwrap();
        }
        let check = |user_home: &str, wanted: &[&str]| {
            let mut found = below(&home.join("docs"), &Core::new(Path::new(user_home), &OwnDirs::default()));
            found.sort();
            assert_eq!(found, wanted.iter().map(|name| home.join(name)).collect::<Vec<_>>(), "{user_home}");
        };
        check(home.to_str().unwrap(), &["docs/keys/deep", "docs/keys/mine", "docs/keys/shown", "docs/shown/.aws"]);
        check("/nonexistent", &["docs/keys/shown", "docs/shown/.aws"]);
    }

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
        let mut found = below(&root, &Core::new(Path::new("/root"), &own));
        found.sort();
        let expected = [".ssh", "a/.config/tool/credentials.json", "a/.netrc", "a/b/.gnupg", "own/data"];
        assert_eq!(found, expected.map(|name| root.join(name)));
    }
}

//! Looks up what the arguments name: canonical paths by an `O_PATH` descriptor that is kept, addresses in normal form.
//!
//! A path is resolved exactly once, here; what is mounted or written later is this descriptor, so that a link that
//! changes in between changes nothing.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use metnos_log::event::turn::Target;
use metnos_projections::machines::turn::decide::role_name;
use metnos_projections::machines::turn::{End, Wanted, writers};
use metnos_projections::manifest::Role;
use metnos_projections::rules::core_paths::lexical;
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::cause::plain;

/// Beyond this many paths in one list, their common folder is granted instead of each of them.
pub const LISTED_MAX: usize = 32;

/// A target with the descriptor that holds it.
#[derive(Debug)]
pub struct Looked {
    /// What it is.
    pub target: Target,
    /// The object itself, for targets that exist and are read; of what the executor changes by itself, the folder.
    pub held: Option<(OwnedFd, PathBuf)>,
    /// Whether the executor changes it by itself: then what is held is opened for that.
    pub by_itself: bool,
}

impl Looked {
    fn new(target: Target, held: Option<(OwnedFd, PathBuf)>) -> Self {
        Self { target, held, by_itself: false }
    }
}

/// Where names start from.
#[derive(Clone, Copy, Debug)]
pub struct Base<'a> {
    /// What `~` stands for.
    pub home: &'a Path,
    /// Where relative paths start.
    pub folder: &'a Path,
}

/// Looks every wanted target up.
pub fn look_up(wanted: &[Wanted], base: Base<'_>) -> Vec<Looked> {
    let (listed, others): (Vec<&Wanted>, Vec<&Wanted>) =
        wanted.iter().partition(|wanted| wanted.pointer.starts_with("/entries/"));
    let mut looked: Vec<Looked> = others.into_iter().map(|wanted| one(wanted, base)).collect();
    match (common_folder(&listed), listed.first()) {
        (Some(folder), Some(first)) => {
            let value = folder.to_string_lossy().into_owned();
            let (pointer, role) = ("/entries".to_owned(), first.role);
            looked.push(one(&Wanted { pointer, role, value, value_b64: None, end: first.end }, base));
        }
        _ => looked.extend(listed.into_iter().map(|wanted| one(wanted, base))),
    }
    // A descriptor each is held only for as many as are mounted one by one.
    for looked in
        looked.iter_mut().filter(|looked| looked.target.role == "target_path" && !looked.by_itself).skip(LISTED_MAX)
    {
        looked.held = None;
    }
    open_once(&mut looked);
    looked
}

/// Holds each folder that is to be changed once, and not more of them than can be looked over.
fn open_once(looked: &mut [Looked]) {
    let mut open = BTreeSet::new();
    for looked in looked.iter_mut().filter(|looked| looked.by_itself) {
        let Some((_, folder)) = &looked.held else { continue };
        if open.contains(folder) {
            looked.held = None;
        } else if open.len() == LISTED_MAX {
            looked.held = None;
            trouble(&mut looked.target, "policy_violation", format!("many_folders: {LISTED_MAX}"));
        } else {
            open.insert(folder.clone());
        }
    }
}

/// The deepest folder that holds all listed paths, when they are too many to be granted one by one.
fn common_folder(listed: &[&Wanted]) -> Option<PathBuf> {
    if listed.len() <= LISTED_MAX {
        return None;
    }
    let mut folders = listed.iter().filter_map(|wanted| Path::new(&wanted.value).parent());
    let mut common = folders.next()?.to_owned();
    for folder in folders {
        while !folder.starts_with(&common) {
            if !common.pop() {
                return None;
            }
        }
    }
    common.is_absolute().then_some(common)
}

fn one(wanted: &Wanted, base: Base<'_>) -> Looked {
    let target = Target {
        pointer: wanted.pointer.clone(),
        role: role_name(wanted.role).to_owned(),
        given: wanted.value.clone(),
        canonical: wanted.value.clone(),
        canonical_b64: None,
        kind: "absent".to_owned(),
        trouble: None,
    };
    match wanted.role {
        Role::Url => Looked::new(address(target), None),
        Role::TargetPath => match wanted.end {
            End::Content => Looked::new(to_be_written(target, wanted, base), None),
            End::Itself => itself(target, wanted, base),
            End::Folder => Looked::new(to_be_made(target, wanted, base), None),
            End::Template => Looked::new(template(target, wanted, base), None),
            End::ByItself => changed_by_itself(target, wanted, base),
        },
        Role::Path => read_path(target, wanted, base),
        _ => Looked::new(Target { kind: "other".to_owned(), ..target }, None),
    }
}

fn trouble(target: &mut Target, class: &str, reason: impl Into<String>) {
    target.trouble = Some((class.to_owned(), reason.into()));
}

/// The absolute path that a text means; not canonical yet.
fn absolute(wanted: &Wanted, base: Base<'_>) -> Result<PathBuf, &'static str> {
    let bytes = wanted.value_b64.as_ref().and_then(|text| STANDARD.decode(text).ok());
    let name: OsString = bytes.map_or_else(|| OsString::from(&wanted.value), OsString::from_vec);
    if name.is_empty() {
        return Err("empty_path");
    }
    if name.as_bytes().contains(&0) {
        return Err("nul_in_path");
    }
    if name == "~" {
        return Ok(base.home.to_owned());
    }
    let path = match name.as_bytes().strip_prefix(b"~/") {
        // A second slash begins no other path.
        Some(below) => base.home.join(OsStr::from_bytes(without_slashes(below))),
        None => base.folder.join(name),
    };
    Ok(path)
}

/// What follows the slashes that it begins with.
fn without_slashes(path: &[u8]) -> &[u8] {
    path.iter().position(|byte| *byte != b'/').map_or(&[], |start| &path[start..])
}

fn read_path(mut target: Target, wanted: &Wanted, base: Base<'_>) -> Looked {
    let path = match absolute(wanted, base) {
        Ok(path) => path,
        Err(reason) => {
            trouble(&mut target, "invalid_args", reason);
            return Looked::new(target, None);
        }
    };
    match hold(&path) {
        Ok((fd, canonical, kind)) => {
            name(&mut target, &canonical);
            kind.clone_into(&mut target.kind);
            if canonical == Path::new("/") {
                trouble(&mut target, "policy_violation", "whole_disk");
                return Looked::new(target, None);
            }
            Looked::new(target, Some((fd, canonical)))
        }
        Err(error) => {
            // The guard judges what it would have meant.
            name(&mut target, &lexical(&path));
            let (class, reason) = said(error);
            trouble(&mut target, class, reason);
            Looked::new(target, None)
        }
    }
}

fn name(target: &mut Target, path: &Path) {
    target.canonical = path.to_string_lossy().into_owned();
    target.canonical_b64 = path.to_str().is_none().then(|| STANDARD.encode(path.as_os_str().as_bytes()));
}

/// Opens what a path means and asks the kernel what it is called without links.
pub(super) fn hold(path: &Path) -> Result<(OwnedFd, PathBuf, &'static str), Errno> {
    let fd = rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let canonical = called(&fd)?;
    let kind = match FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) {
        FileType::RegularFile => "file",
        FileType::Directory => "folder",
        _ => "other",
    };
    Ok((fd, canonical, kind))
}

fn called(fd: &OwnedFd) -> Result<PathBuf, Errno> {
    use std::os::fd::AsRawFd;
    let link = rustix::fs::readlinkat(CWD, format!("/proc/self/fd/{}", fd.as_raw_fd()), Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(link.into_bytes())))
}

/// What is to be written may be absent; its folder may not.
fn to_be_written(mut target: Target, wanted: &Wanted, base: Base<'_>) -> Target {
    let path = match absolute(wanted, base) {
        Ok(path) => path,
        Err(reason) => {
            trouble(&mut target, "invalid_args", reason);
            return target;
        }
    };
    if wanted.value.ends_with('/') {
        trouble(&mut target, "wrong_type", "is_folder");
        return target;
    }
    match hold(&path) {
        Ok((_, canonical, kind)) => {
            name(&mut target, &canonical);
            kind.clone_into(&mut target.kind);
            if kind != "file" {
                trouble(&mut target, "wrong_type", if kind == "folder" { "is_folder" } else { "no_plain_file" });
            }
        }
        Err(Errno::NOENT) => name_in_folder(&mut target, &path),
        Err(error) => {
            name(&mut target, &path);
            let (class, reason) = said(error);
            trouble(&mut target, class, reason);
        }
    }
    target
}

/// What the executor changes by itself: a file, which may be absent but not its folder, or a folder. That folder is held: a
/// file bound alone could be neither renamed nor removed. The home folder, and what holds it, is nobody's to open whole.
fn changed_by_itself(mut target: Target, wanted: &Wanted, base: Base<'_>) -> Looked {
    let path = match absolute(wanted, base) {
        Ok(path) => path,
        Err(reason) => {
            trouble(&mut target, "invalid_args", reason);
            return Looked { by_itself: true, ..Looked::new(target, None) };
        }
    };
    match hold(&path) {
        Ok((_, canonical, kind)) => {
            name(&mut target, &canonical);
            kind.clone_into(&mut target.kind);
            if kind == "other" {
                trouble(&mut target, "wrong_type", "no_plain_file");
            }
        }
        Err(Errno::NOENT) => name_in_folder(&mut target, &path),
        Err(error) => {
            name(&mut target, &lexical(&path));
            let (class, reason) = said(error);
            trouble(&mut target, class, reason);
        }
    }
    let held = if target.trouble.is_none() { folder_to_open(&mut target, base) } else { None };
    Looked { target, held, by_itself: true }
}

/// The folder of a target that is to be changed there, as it is called now.
fn folder_to_open(target: &mut Target, base: Base<'_>) -> Option<(OwnedFd, PathBuf)> {
    let folder = PathBuf::from(writers::folder(&target.canonical, &target.kind));
    let home = base.home.canonicalize().unwrap_or_else(|_| base.home.to_owned());
    // `/tmp`, `/run`, `/mnt`: what lies at the top is everybody's.
    let is_at_the_top = folder.components().count() <= 2;
    if home.starts_with(&folder) || is_at_the_top {
        trouble(target, "policy_violation", format!("whole_home: {}", folder.display()));
        return None;
    }
    match hold(&folder) {
        Ok((fd, at, "folder")) if at == folder => Some((fd, at)),
        Ok(_) => {
            trouble(target, "target_changed", "changed");
            None
        }
        Err(error) => {
            let (class, reason) = said(error);
            trouble(target, class, reason);
            None
        }
    }
}

/// What is moved or deleted: the name itself in its real folder, a link at the end not followed. A plain file is held, so
/// that an executor that may read it sees its size and dates.
fn itself(mut target: Target, wanted: &Wanted, base: Base<'_>) -> Looked {
    let path = match absolute(wanted, base) {
        Ok(path) => path,
        Err(reason) => {
            trouble(&mut target, "invalid_args", reason);
            return Looked::new(target, None);
        }
    };
    let found = match (path.parent(), path.file_name()) {
        (Some(folder), Some(file)) => hold(folder).map(|(_, folder, _)| folder.join(file)),
        // The end is `..` or the root: no name of its own, so it is what it leads to.
        _ => hold(&path).map(|(_, canonical, _)| canonical),
    };
    let looked = found.and_then(|canonical| {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(CWD, &canonical, flags, Mode::empty())?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode);
        Ok((fd, canonical, kind))
    });
    match looked {
        Ok((fd, canonical, kind)) => {
            name(&mut target, &canonical);
            let kind = match kind {
                FileType::RegularFile => "file",
                FileType::Directory => "folder",
                _ => "other",
            };
            kind.clone_into(&mut target.kind);
            Looked::new(target, (kind == "file").then_some((fd, canonical)))
        }
        Err(error) => {
            name(&mut target, &lexical(&path));
            let (class, reason) = said(error);
            trouble(&mut target, class, reason);
            Looked::new(target, None)
        }
    }
}

/// A folder that may be absent, and folders above it too: the deepest one that exists is canonical, the rest as written.
fn to_be_made(mut target: Target, wanted: &Wanted, base: Base<'_>) -> Target {
    match absolute(wanted, base) {
        Ok(path) => place(&mut target, &path),
        Err(reason) => trouble(&mut target, "invalid_args", reason),
    }
    target
}

/// Where things are moved: a folder ends in a slash then; a pattern is canonical up to its first name with a brace; a
/// plain name that is no folder yet means a new name in the folder of what is moved.
fn template(mut target: Target, wanted: &Wanted, base: Base<'_>) -> Target {
    let path = match absolute(wanted, base) {
        Ok(path) => path,
        Err(reason) => {
            trouble(&mut target, "invalid_args", reason);
            return target;
        }
    };
    let is_folder = path.is_dir();
    if wanted.value.starts_with("{dir}/") {
        return target; // In the folder of each thing that is moved, by its own words.
    }
    if !is_folder && !wanted.value.contains('/') && wanted.value != "~" {
        target.canonical = format!("{{dir}}/{}", wanted.value);
        return target;
    }
    let has_brace = |part: &std::path::Component<'_>| part.as_os_str().to_string_lossy().contains('{');
    let fixed: PathBuf = path.components().take_while(|part| !has_brace(part)).collect();
    let pattern: PathBuf = path.components().skip_while(|part| !has_brace(part)).collect();
    place(&mut target, &fixed);
    if !pattern.as_os_str().is_empty() {
        let slash = if wanted.value.ends_with('/') { "/" } else { "" };
        target.canonical = format!("{}/{}{slash}", target.canonical.trim_end_matches('/'), pattern.display());
        return target;
    }
    if is_folder || wanted.value.ends_with('/') {
        target.canonical = format!("{}/", target.canonical.trim_end_matches('/'));
    }
    target
}

/// Names a path that may be absent: its deepest existing folder without links, the rest without dots.
fn place(target: &mut Target, path: &Path) {
    let path = lexical_below(path);
    name(target, &path);
    let mut missing = Vec::new();
    let mut at = path.as_path();
    loop {
        match hold(at) {
            Ok((_, canonical, kind)) => {
                if kind != "folder" && !missing.is_empty() {
                    return trouble(target, "wrong_type", "part_is_file");
                }
                let whole = missing.iter().rev().fold(canonical, |whole, part| whole.join(part));
                name(target, &whole);
                if missing.is_empty() { kind } else { "absent" }.clone_into(&mut target.kind);
                return;
            }
            Err(Errno::NOENT) => match (at.parent(), at.file_name()) {
                (Some(above), Some(file)) => {
                    if at.is_symlink() {
                        return trouble(target, "not_found", "dangling_link");
                    }
                    missing.push(file.to_owned());
                    at = above;
                }
                _ => return trouble(target, "not_found", "absent"),
            },
            Err(error) => {
                let (class, reason) = said(error);
                return trouble(target, class, reason);
            }
        }
    }
}

/// Without `..` where what it leaves is not there; an existing part is left to the system, which knows its links.
fn lexical_below(path: &Path) -> PathBuf {
    if path.components().any(|part| part == std::path::Component::ParentDir) && !path.exists() {
        return lexical(path);
    }
    path.components().collect()
}

fn name_in_folder(target: &mut Target, path: &Path) {
    name(target, path);
    let (Some(folder), Some(file)) = (path.parent(), path.file_name()) else {
        return trouble(target, "invalid_args", "empty_path");
    };
    if path.is_symlink() {
        return trouble(target, "not_found", "dangling_link");
    }
    match hold(folder) {
        Ok((_, folder, "folder")) => name(target, &folder.join(file)),
        Ok(_) => trouble(target, "wrong_type", format!("no_folder: {}", folder.display())),
        Err(Errno::NOENT) => trouble(target, "not_found", format!("folder_absent: {}", folder.display())),
        Err(error) => {
            let (class, reason) = said(error);
            trouble(target, class, reason);
        }
    }
}

/// An error of the system as an error class and the key of what is said about it (`[trouble]` in the texts), with a detail
/// after a colon where there is one.
pub fn said(error: Errno) -> (&'static str, String) {
    let (class, key) = match error {
        Errno::NOENT => ("not_found", "absent"),
        Errno::NOTDIR => ("not_found", "part_is_file"),
        Errno::ACCESS | Errno::PERM => ("permission_denied", "no_permission"),
        Errno::LOOP => ("operation_failed", "link_circle"),
        Errno::NAMETOOLONG => ("invalid_args", "name_too_long"),
        Errno::ROFS => ("permission_denied", "read_only_disk"),
        Errno::NOSPC | Errno::DQUOT => ("resource_unavailable", "disk_full"),
        Errno::EXIST => ("operation_failed", "exists"),
        // It lies on another disk than a moment ago, or is not what was held.
        Errno::XDEV | Errno::STALE => ("target_changed", "exchanged"),
        Errno::BUSY | Errno::TXTBSY => ("operation_failed", "in_use"),
        Errno::IO => ("operation_failed", "disk_faulty"),
        other => return ("operation_failed", format!("system: {}", plain(&other))),
    };
    (class, key.to_owned())
}

/// An address in normal form; one without a scheme means https, on loopback http.
fn address(mut target: Target) -> Target {
    let parsed = reqwest::Url::parse(&target.given).ok().filter(reqwest::Url::has_host).or_else(|| {
        if target.given.contains("://") {
            return None;
        }
        let local = ["localhost", "127.", "[::1]"].iter().any(|prefix| target.given.starts_with(prefix));
        reqwest::Url::parse(&format!("{}://{}", if local { "http" } else { "https" }, target.given)).ok()
    });
    match parsed {
        Some(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {
            target.canonical = url.to_string();
            "url".clone_into(&mut target.kind);
        }
        Some(url) => {
            trouble(&mut target, "invalid_args", format!("other_scheme: {}", url.scheme()));
        }
        None => {
            trouble(&mut target, "invalid_args", "no_address");
        }
    }
    target
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn look(role: Role, value: &str, folder: &Path) -> Target {
        ended(role, value, folder, End::Content)
    }

    fn ended(role: Role, value: &str, folder: &Path, end: End) -> Target {
        let wanted = Wanted { pointer: "/x".to_owned(), role, value: value.to_owned(), value_b64: None, end };
        look_up(&[wanted], Base { home: folder, folder }).remove(0).target
    }

    #[test]
    fn paths_are_canonical_and_troubles_have_classes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::write(root.join("a b.txt"), "x").unwrap();
        symlink("a b.txt", root.join("link")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let good = look(Role::Path, "link", &root);
        assert_eq!((good.canonical.as_str(), good.kind.as_str()), (root.join("a b.txt").to_str().unwrap(), "file"));
        assert_eq!(look(Role::Path, "~", &root).kind, "folder");
        // A second slash is no way out of the home.
        assert_eq!(look(Role::Path, "~//a b.txt", &root).canonical, root.join("a b.txt").to_str().unwrap());
        let class = |value| look(Role::Path, value, &root).trouble.map(|(class, _)| class);
        assert_eq!(class("nowhere").as_deref(), Some("not_found"));
        assert_eq!(class("loop").as_deref(), Some("operation_failed"));
        assert_eq!(class("a b.txt/c").as_deref(), Some("not_found"));
        assert_eq!(class("").as_deref(), Some("invalid_args"));
        assert_eq!(class(&"n".repeat(300)).as_deref(), Some("invalid_args"));
    }

    #[test]
    fn no_error_is_said_by_its_number() {
        for number in 1..134 {
            let (class, reason) = said(Errno::from_raw_os_error(number));
            assert!(!reason.contains("os error") && crate::manifest::ERROR_CLASSES.contains(&class), "{reason}");
        }
        assert_eq!(said(Errno::XDEV), ("target_changed", "exchanged".to_owned()));
        assert_eq!(said(Errno::STALE), ("target_changed", "exchanged".to_owned()));
    }

    #[test]
    fn what_is_written_may_be_absent_but_not_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let fresh = look(Role::TargetPath, "new.txt", &root);
        assert_eq!((fresh.kind.as_str(), fresh.trouble), ("absent", None));
        assert_eq!(look(Role::TargetPath, "no/new.txt", &root).trouble.unwrap().0, "not_found");
        assert_eq!(look(Role::TargetPath, ".", &root).trouble.unwrap().0, "wrong_type");
    }

    #[test]
    fn what_is_moved_is_the_link_and_not_what_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/a"), "x").unwrap();
        symlink("real", root.join("way")).unwrap();
        symlink("a", root.join("real/link")).unwrap();
        let look = |value: &str| ended(Role::TargetPath, value, &root, End::Itself);
        assert_eq!(look("way/a").canonical, root.join("real/a").to_str().unwrap());
        let link = look("way/link");
        assert_eq!((link.canonical.as_str(), link.kind.as_str()), (root.join("real/link").to_str().unwrap(), "other"));
        assert_eq!(look("real/").kind, "folder");
        assert_eq!(look("real/..").canonical, root.to_str().unwrap());
        assert_eq!(look("nothing").trouble.unwrap().0, "not_found");
    }

    #[test]
    fn where_things_go_may_be_absent_with_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("file"), "x").unwrap();
        symlink("real", root.join("way")).unwrap();
        let made = |value: &str| ended(Role::TargetPath, value, &root, End::Folder);
        assert_eq!(made("way/a/b").canonical, root.join("real/a/b").to_str().unwrap());
        assert_eq!(made("way").kind, "folder");
        assert_eq!(made("file/a").trouble.unwrap().0, "not_found");
        assert_eq!(made("no/../b").canonical, root.join("b").to_str().unwrap());
        let template = |value: &str| ended(Role::TargetPath, value, &root, End::Template).canonical;
        assert_eq!(template("way"), format!("{}/", root.join("real").display()));
        assert_eq!(template("way/{year}/{name}"), format!("{}/{{year}}/{{name}}", root.join("real").display()));
        assert_eq!(template("way/{year}/"), format!("{}/{{year}}/", root.join("real").display()));
        assert_eq!(template("fresh/"), format!("{}/", root.join("fresh").display()));
        assert_eq!(template("b.txt"), "{dir}/b.txt");
        assert_eq!(template("{dir}/{n}.txt"), "{dir}/{n}.txt");
        assert_eq!(template("x/b.txt"), root.join("x/b.txt").to_str().unwrap());
    }

    #[test]
    fn addresses_get_a_scheme_and_others_are_refused() {
        let root = Path::new("/");
        assert_eq!(look(Role::Url, "host.test/a", root).canonical, "https://host.test/a");
        assert_eq!(look(Role::Url, "localhost:8080/a", root).canonical, "http://localhost:8080/a");
        assert_eq!(look(Role::Url, "ftp://host.test/a", root).trouble.unwrap().0, "invalid_args");
        assert_eq!(look(Role::Url, "http://", root).trouble.unwrap().0, "invalid_args");
    }
}

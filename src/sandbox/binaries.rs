//! Programs that a plan lists besides the interpreter: where they lie, and which libraries they need to start.
//!
//! Only the system's own folders are looked in, so that nobody's `PATH` decides what runs, and a place is named only below them. A program that is not installed is
//! simply not there, as it would be outside: whoever starts it says so. Nothing here is run but the loader's own listing.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::interpreter::RuntimeMount;

/// Where programs are looked for; the same that `PATH` names in the cage.
const FOLDERS: [&str; 2] = ["/usr/bin", "/bin"];
/// Where a program may lie that is named with its place: what only the system's owner changes.
pub(crate) const SYSTEM: [&str; 4] = ["/usr", "/bin", "/sbin", "/opt"];
/// Folders that a package keeps its data in, by program.
const DATA: [(&str, &str); 2] = [("pdftotext", "/usr/share/poppler"), ("file", "/usr/share/misc/magic.mgc")];
const HEADER_MAX: u64 = 4096;
const SEGMENT_INTERPRETER: u32 = 3;

/// What the listed programs need beyond what is mounted already: each one at its own place, and its libraries' folders.
pub(super) fn needed(programs: &[&str], mounted: &[RuntimeMount]) -> Vec<RuntimeMount> {
    let mut wanted = BTreeSet::new();
    for &program in programs {
        let Some(path) = installed(program) else { continue };
        wanted.extend(libraries(&path));
        wanted.insert(path);
        let data = DATA.iter().filter(|(name, _)| *name == program).map(|(_, data)| PathBuf::from(data));
        // Debian's `file` reaches its data by a link: what the link means is shown under the name that is asked for.
        wanted.extend(data.filter(|data| data.exists()));
    }
    let covered = |path: &Path| mounted.iter().any(|mount| mount.is_dir && path.starts_with(mount.path()));
    let fresh: Vec<PathBuf> = wanted.into_iter().filter(|path| !covered(path)).collect();
    let inside = |path: &Path| fresh.iter().any(|other| other != path && path.starts_with(other));
    fresh.iter().filter(|path| !inside(path)).map(|path| RuntimeMount::new(path, path.is_dir())).collect()
}

/// Where a program lies. Its name stays as it is, links and all: a program of many names looks at its own.
fn installed(program: &str) -> Option<PathBuf> {
    if program.starts_with('/') {
        return placed(Path::new(program));
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    if program.is_empty() || program.starts_with('.') || !program.bytes().all(plain) {
        return None;
    }
    FOLDERS.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())
}

/// Whether a path lies below the folders that only the system's owner changes.
pub(crate) fn is_of_the_system(path: &Path) -> bool {
    let is_plain = path.components().all(|part| !matches!(part, std::path::Component::ParentDir));
    is_plain && SYSTEM.iter().any(|folder| path.starts_with(folder))
}

/// The same of one that is named with its place: a program of the system's, as what it leads to is.
fn placed(path: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let leads = path.canonicalize().ok().filter(|leads| is_of_the_system(path) && is_of_the_system(leads))?;
    let about = leads.metadata().ok()?;
    // `/bin` is a link to `/usr/bin` in most systems, and in the cage as well.
    let folder = path.parent()?.canonicalize().ok()?;
    (about.is_file() && about.permissions().mode() & 0o111 != 0)
        .then(|| folder.join(path.file_name().unwrap_or_default()))
}

/// The folders of the libraries that the loader would map for a program; none for a static one.
fn libraries(program: &Path) -> BTreeSet<PathBuf> {
    let Some(loader) = loader_of(program) else { return BTreeSet::new() };
    let mut listing = Command::new(&loader);
    listing.arg("--list").arg(program).env_clear().stdin(Stdio::null()).stderr(Stdio::null());
    let Ok(output) = listing.output() else { return BTreeSet::new() };
    let paths = output.stdout.split(|&byte| byte == b'\n').filter_map(mapped);
    paths.chain([loader]).filter_map(|path| fs::canonicalize(path).ok()?.parent().map(Path::to_owned)).collect()
}

/// The path in a line like `libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x7f…)`.
fn mapped(line: &[u8]) -> Option<PathBuf> {
    let start = line.iter().position(|&byte| byte == b'/')?;
    let end = line.windows(2).rposition(|pair| pair == b" (").unwrap_or(line.len());
    let path = line.get(start..end)?;
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

/// The loader that an ELF file of 64 bits names.
fn loader_of(program: &Path) -> Option<PathBuf> {
    use std::io::Read;
    let mut head = Vec::new();
    fs::File::open(program).ok()?.take(HEADER_MAX).read_to_end(&mut head).ok()?;
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize, size: usize| {
        let bytes = head.get(at..at + size)?;
        Some(bytes.iter().rev().fold(0_usize, |whole, &byte| whole << 8 | usize::from(byte)))
    };
    let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let segment =
        (0..count).map(|index| table + index * size).find(|&at| number(at, 4) == Some(SEGMENT_INTERPRETER as usize))?;
    let (start, length) = (number(segment + 8, 8)?, number(segment + 32, 8)?);
    let name = head.get(start..start.checked_add(length)?)?;
    let name = name.split(|&byte| byte == 0).next()?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_and_not_pointed_at() {
        for odd in [
            "",
            "..",
            "../bin/sh",
            "sh;ls",
            "no-such-program",
            "/etc/passwd",
            "/usr/../etc/passwd",
            "/usr/bin",
            "/usr/share/dict",
        ] {
            assert_eq!(installed(odd), None, "{odd}");
        }
        assert!(needed(&["no-such-program", "/etc/shadow"], &[]).is_empty());
        let shell = installed("/bin/sh").unwrap();
        assert!(shell.ends_with("bin/sh") && needed(&["/bin/sh"], &[]).iter().any(|mount| mount.path() == shell));
    }

    #[test]
    fn a_program_comes_with_its_loader_and_libraries() {
        let all = needed(&["cat"], &[]);
        let shown = |wanted: &Path| all.iter().any(|mount| wanted.starts_with(mount.path()));
        assert!(all.iter().any(|mount| mount.path().ends_with("cat") && !mount.is_dir), "{all:?}");
        let loader = fs::canonicalize(loader_of(Path::new("/bin/cat")).expect("cat is no static program")).unwrap();
        assert!(shown(&loader), "{all:?}");
        let folders: Vec<RuntimeMount> = all.iter().filter(|mount| mount.is_dir).cloned().collect();
        assert_eq!(needed(&["cat"], &folders).len(), 1, "what is mounted already is not mounted again");
    }

    #[test]
    fn the_loader_s_listing_is_read() {
        let line = b"\tlibz.so.1 => /usr/lib/a b/libz.so.1 (0x00007f0000)";
        assert_eq!(mapped(line).unwrap(), Path::new("/usr/lib/a b/libz.so.1"));
        assert_eq!(mapped(b"\tlinux-vdso.so.1 (0x00007ffd)"), None);
    }
}

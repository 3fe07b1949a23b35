//! The trash of the desktop (freedesktop.org Trash specification 1.0): which one takes a path, under which name, and its
//! `.trashinfo`. It chooses and describes; moving is done elsewhere.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::Access;

/// The longest name that is given in a trash; `.trashinfo` and a number still fit behind it.
const NAME_BYTES_MAX: usize = 220;
/// The most numbers that are tried for one name.
const NUMBERS_MAX: u32 = 1_000_000;

/// Where deleted things go.
#[derive(Clone, Debug)]
pub struct Trash {
    home: PathBuf,
    uid: u32,
}

/// Chooses places for one plan: what was chosen is not chosen again.
#[derive(Debug, Default)]
pub struct Places {
    taken: HashSet<PathBuf>,
    numbers: HashMap<PathBuf, u32>,
    folders: HashMap<PathBuf, Option<PathBuf>>,
}

impl Trash {
    /// The person's own trash: below `$XDG_DATA_HOME`, or below the home folder.
    pub fn new(user_home: &Path, xdg_data: Option<&Path>) -> Self {
        let data = xdg_data.map_or_else(|| user_home.join(".local/share"), Path::to_owned);
        Self { home: data.join("Trash"), uid: rustix::process::getuid().as_raw() }
    }

    /// Where something that is deleted would lie: on its own file system, under a name that is free. `None` where that
    /// file system has no trash that can be used. `existing` is the thing itself, or what is there of the folders above it.
    pub fn place(&self, path: &Path, existing: &Path, places: &mut Places) -> io::Result<Option<PathBuf>> {
        let Some(folder) = existing.parent() else { return Ok(None) };
        let known = places.folders.get(folder).cloned();
        let trash = if let Some(known) = known { known } else { self.of(existing, folder)? };
        places.folders.insert(folder.to_owned(), trash.clone());
        let (Some(trash), Some(name)) = (trash, path.file_name()) else { return Ok(None) };
        Ok(free(&trash, name, places))
    }

    fn of(&self, path: &Path, folder: &Path) -> io::Result<Option<PathBuf>> {
        let device = std::fs::symlink_metadata(path)?.dev();
        if device_above(&self.home)? == device {
            return Ok(Some(self.home.clone()));
        }
        let mut top = folder.to_owned();
        while let Some(parent) = top.parent()
            && std::fs::symlink_metadata(parent)?.dev() == device
        {
            top = parent.to_owned();
        }
        let shared = top.join(".Trash");
        let is_safe = |metadata: std::fs::Metadata| metadata.is_dir() && metadata.mode() & 0o1000 != 0;
        if std::fs::symlink_metadata(&shared).is_ok_and(is_safe) {
            return Ok(Some(shared.join(self.uid.to_string())));
        }
        let own = top.join(format!(".Trash-{}", self.uid));
        let usable = match std::fs::symlink_metadata(&own) {
            Ok(metadata) => metadata.is_dir() && metadata.uid() == self.uid,
            Err(_) => rustix::fs::access(&top, Access::WRITE_OK).is_ok(),
        };
        Ok(usable.then_some(own))
    }
}

/// The device of a path, or of the nearest folder above it that exists.
fn device_above(path: &Path) -> io::Result<u64> {
    for at in path.ancestors() {
        match std::fs::metadata(at) {
            Ok(metadata) => return Ok(metadata.dev()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

fn free(trash: &Path, name: &OsStr, places: &mut Places) -> Option<PathBuf> {
    let files = trash.join("files");
    let base = if name.len() <= NAME_BYTES_MAX {
        name.to_owned()
    } else {
        // Cut at a boundary of characters, so that what was text stays text.
        let mut cut = NAME_BYTES_MAX;
        while cut > 0 && name.as_bytes()[cut] & 0xc0 == 0x80 {
            cut -= 1;
        }
        OsString::from_vec(name.as_bytes()[..cut].to_vec())
    };
    let first = files.join(&base);
    let start = places.numbers.get(&first).copied().unwrap_or(1);
    for number in start..NUMBERS_MAX {
        let mut name = base.clone();
        if number > 1 {
            name.push(format!(".{number}"));
        }
        let place = files.join(name);
        let is_free = !places.taken.contains(&place)
            && place.symlink_metadata().is_err()
            && info_of(&place).is_some_and(|info| info.symlink_metadata().is_err());
        if is_free {
            places.numbers.insert(first, number + 1);
            places.taken.insert(place.clone());
            return Some(place);
        }
    }
    None
}

/// The `.trashinfo` of something in a trash.
pub(super) fn info_of(place: &Path) -> Option<PathBuf> {
    let mut name = place.file_name()?.to_owned();
    name.push(".trashinfo");
    Some(place.parent()?.parent()?.join("info").join(name))
}

/// Makes the trash's folders, for its owner alone, and writes the `.trashinfo` of what is about to come. One that an
/// earlier attempt left is replaced: the name was chosen for this.
pub(super) fn announce(place: &Path, original: &Path) -> io::Result<()> {
    let (Some(info), Some(files)) = (info_of(place), place.parent()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = info.parent().unwrap_or(files);
    for folder in [files, folder] {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let original = top_of(place).and_then(|top| original.strip_prefix(top).ok()).unwrap_or(original);
    let when = jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let text = format!("[Trash Info]\nPath={}\nDeletionDate={when}\n", escaped(original.as_os_str().as_bytes()));
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&info)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The folder that a trash of another file system stands in: paths in such a trash start there.
fn top_of(place: &Path) -> Option<&Path> {
    let trash = place.parent()?.parent()?;
    if trash.file_name()?.as_bytes().starts_with(b".Trash-") {
        return trash.parent();
    }
    let shared = trash.parent()?;
    if shared.file_name()? == ".Trash" { shared.parent() } else { None }
}

/// Removes the `.trashinfo` of something that is not in the trash any more.
pub(super) fn withdraw(place: &Path) -> io::Result<()> {
    let Some(info) = info_of(place) else { return Ok(()) };
    match std::fs::remove_file(info) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// As in a URL: every byte but plain letters, digits and a few signs.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"/-_.~!'()*".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.extend([byte >> 4, byte & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)])));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_free_and_unlike_in_one_plan() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        std::fs::write(root.join("a.txt"), "x").unwrap();
        let trash = Trash::new(&root, None);
        let mut places = Places::default();
        let first = trash.place(&root.join("a.txt"), &root.join("a.txt"), &mut places).unwrap().unwrap();
        assert_eq!(first, root.join(".local/share/Trash/files/a.txt"));
        let second = trash.place(&root.join("a.txt"), &root.join("a.txt"), &mut places).unwrap().unwrap();
        assert_eq!(second.file_name().unwrap(), "a.txt.2");
        announce(&first, &root.join("a.txt")).unwrap();
        let fresh = trash.place(&root.join("a.txt"), &root.join("a.txt"), &mut Places::default()).unwrap().unwrap();
        assert_eq!(fresh.file_name().unwrap(), "a.txt.2", "an announced name is taken");
        let info = std::fs::read_to_string(root.join(".local/share/Trash/info/a.txt.trashinfo")).unwrap();
        assert!(info.starts_with("[Trash Info]\nPath=/") && info.contains("\nDeletionDate=2"), "{info}");
        withdraw(&first).unwrap();
        withdraw(&first).unwrap();
    }

    #[test]
    fn odd_names_are_escaped_and_long_ones_cut() {
        assert_eq!(escaped("/a b/caffè\n\u{ff}".as_bytes()), "/a%20b/caff%C3%A8%0A%C3%BF");
        let scratch = tempfile::tempdir().unwrap();
        let long = "è".repeat(127);
        std::fs::write(scratch.path().join(&long), "").unwrap();
        let trash = Trash::new(scratch.path(), None);
        let place = trash
            .place(&scratch.path().join(&long), &scratch.path().join(&long), &mut Places::default())
            .unwrap()
            .unwrap();
        assert!(place.to_str().is_some() && place.file_name().unwrap().len() <= NAME_BYTES_MAX);
    }
}

//! What is on the disk: kinds, sizes, modes, times, hashes. It only looks, and follows no link at the end of a path.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use metnos_log::BlobHash;
use metnos_log::event::turn::{BeforeImage, Holds, PlannedOp};
use metnos_log::store::plain_blob_hash;
use metnos_projections::rules::core_paths::{self, OwnDirs};

use crate::sandbox::builder;
use crate::sandbox::masks::Core;

/// Larger files are changed without a kept image, and the question says so.
pub const IMAGE_BYTES_MAX: u64 = 64 << 20;
/// The most things that are looked at below one folder.
pub const HELD_MAX: u64 = 500_000;

/// The target as the system names it.
pub fn target_path(op: &PlannedOp) -> PathBuf {
    exact(&op.path, op.path_b64.as_deref())
}

/// Where it goes, as the system names it.
pub fn dst_path(op: &PlannedOp) -> PathBuf {
    exact(op.dst.as_deref().unwrap_or_default(), op.dst_b64.as_deref())
}

/// Whether a path is this program or the one that builds its cages, or a folder above them: what undoes must stay.
pub fn holds_own_program(path: &Path) -> bool {
    static OWN: LazyLock<Option<PathBuf>> = LazyLock::new(|| std::env::current_exe().ok());
    OWN.as_ref().is_some_and(|own| own.starts_with(path) || own.with_file_name(builder::SMALL) == path)
}

/// A path from its text and, where that is no UTF-8, its bytes.
pub fn exact(text: &str, b64: Option<&str>) -> PathBuf {
    let bytes = b64.and_then(|text| STANDARD.decode(text).ok());
    bytes.map_or_else(|| PathBuf::from(text), |bytes| PathBuf::from(OsString::from_vec(bytes)))
}

/// A path as text, with its bytes where the text is not the whole of it.
pub fn named(path: &Path) -> (String, Option<String>) {
    let b64 = path.to_str().is_none().then(|| STANDARD.encode(path.as_os_str().as_bytes()));
    (path.to_string_lossy().into_owned(), b64)
}

/// What is at a path now.
#[derive(Debug, Default)]
pub struct Now {
    /// Kind, size, mode and hash.
    pub image: BeforeImage,
    /// The bytes, when they are few enough to be kept.
    pub bytes: Option<Vec<u8>>,
}

/// Nothing.
pub fn absent() -> BeforeImage {
    BeforeImage { kind: "absent".to_owned(), ..BeforeImage::default() }
}

/// Kind, size, mode, time and identity, without reading content.
pub fn glance(path: &Path) -> io::Result<BeforeImage> {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(absent());
        }
        Err(error) => return Err(error),
    };
    let kind = if metadata.is_file() {
        "file"
    } else if metadata.is_dir() {
        "folder"
    } else {
        "other"
    };
    let link = if metadata.is_symlink() {
        Some(STANDARD.encode(std::fs::read_link(path)?.as_os_str().as_bytes()))
    } else {
        None
    };
    Ok(BeforeImage {
        kind: kind.to_owned(),
        bytes: if kind == "folder" { 0 } else { metadata.len() },
        mode: metadata.mode() & 0o7777,
        hash: None,
        image: None,
        modified_ns: metadata.mtime().checked_mul(1_000_000_000).and_then(|ns| ns.checked_add(metadata.mtime_nsec())),
        inode: Some((metadata.dev(), metadata.ino())),
        link,
        born_ns: None,
    })
}

/// When that very thing was made, in ns since 1970; `None` where another is there by now, or the file system does not say.
pub fn born_ns(metadata: &Metadata, inode: Option<(u64, u64)>) -> Option<i64> {
    let born = metadata.created().ok().filter(|_| inode == Some((metadata.dev(), metadata.ino())))?;
    i64::try_from(born.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos()).ok()
}

/// What was glanced at, with when it was made: whoever changes it later is held to that very thing.
pub fn held(path: &Path, before: BeforeImage) -> BeforeImage {
    let born_ns = path.symlink_metadata().ok().and_then(|found| born_ns(&found, before.inode));
    BeforeImage { born_ns, ..before }
}

/// [`glance`], and of a file its hash and bytes.
pub fn look(path: &Path) -> io::Result<Now> {
    let mut image = glance(path)?;
    if image.kind != "file" {
        return Ok(Now { image, bytes: None });
    }
    let file = std::fs::File::open(path)?;
    if image.bytes > IMAGE_BYTES_MAX {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file)?;
        image.hash = Some(BlobHash(*hasher.finalize().as_bytes()));
        return Ok(Now { image, bytes: None });
    }
    let mut bytes = Vec::new();
    file.take(IMAGE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    image.bytes = bytes.len() as u64;
    image.hash = Some(plain_blob_hash(&bytes));
    Ok(Now { image, bytes: Some(bytes) })
}

/// [`glance`], with the hash where the other side is known by one.
pub fn glance_like(path: &Path, then: &BeforeImage) -> io::Result<BeforeImage> {
    if then.hash.is_some() { look(path).map(|now| now.image) } else { glance(path) }
}

/// Whether what is there is what was there then. A file is known by its hash where there is one, else by size and time of
/// modification and, on the same device, its inode; a folder there by its inode; a link by where it leads.
pub fn is_same(now: &BeforeImage, then: &BeforeImage) -> bool {
    if now.kind != then.kind {
        return false;
    }
    let same_inode = may_be(now.inode, then.inode);
    match now.kind.as_str() {
        "file" if then.hash.is_some() => now.hash == then.hash,
        "file" => {
            same_inode && now.bytes == then.bytes && (then.modified_ns.is_none() || now.modified_ns == then.modified_ns)
        }
        "folder" => same_inode,
        "other" => then.link.is_none() || now.link == then.link,
        _ => true,
    }
}

/// Whether two identities may be of one thing: on the same device only the same inode is.
pub fn may_be(now: Option<(u64, u64)>, then: Option<(u64, u64)>) -> bool {
    match (now, then) {
        (Some((device, inode)), Some((then_device, then_inode))) => device != then_device || inode == then_inode,
        _ => true,
    }
}

/// Whether a path is absolute and means what it says: no `.`, no `..`, no empty part.
pub fn is_normal(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes.len() > 1
        && bytes[0] == b'/'
        && !bytes.contains(&0)
        && bytes[1..].split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
}

/// The hash of a whole file once new bytes are written to it or added, and the file itself where that is small enough to be
/// at hand. `before` is what it holds, `real` where that lies if it is not at hand.
pub(super) fn whole(
    op: &str,
    content: &[u8],
    before: Option<&[u8]>,
    real: Option<&Path>,
) -> io::Result<(BlobHash, Option<Vec<u8>>)> {
    let Some(real) = real.filter(|_| op == "append" && before.is_none()) else {
        let kept = before.filter(|_| op == "append").unwrap_or_default();
        let whole = [kept, content].concat();
        return Ok((plain_blob_hash(&whole), Some(whole)));
    };
    let mut hasher = blake3::Hasher::new();
    match File::open(real).and_then(|file| hasher.update_reader(file).map(drop)) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    hasher.update(content);
    Ok((BlobHash(*hasher.finalize().as_bytes()), None))
}

/// What a folder holds, at any depth; `None` when it is too much to look at. Links are counted, not followed. A second name
/// of a file that a core rule forbids counts as forbidden.
pub fn holds(folder: &Path, home: &str, own: &OwnDirs) -> io::Result<Option<Holds>> {
    let mut found = Holds::default();
    let text = folder.to_string_lossy();
    let mine = [&own.config, &own.data, &own.audit];
    found.forbidden = mine.into_iter().find(|place| !place.is_empty() && core_paths::is_within(place, &text)).cloned();
    let core = Core::new(Path::new(home), own);
    let mut parts = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(below) = open.pop() {
        for entry in std::fs::read_dir(&below)? {
            let entry = entry?;
            let path = entry.path();
            let metadata = entry.metadata()?;
            if found.forbidden.is_none() {
                let text = path.to_string_lossy();
                found.forbidden = core_paths::forbidden(&text, home, own).map(|_| text.into_owned());
            }
            if found.forbidden.is_none() && metadata.is_file() && core.is_one(&metadata) {
                found.forbidden = Some(path.to_string_lossy().into_owned());
            }
            parts.push(part(path.strip_prefix(folder).unwrap_or(&path), &metadata));
            if metadata.is_dir() {
                found.folders += 1;
                open.push(path);
            } else {
                found.files += 1;
                found.bytes += if metadata.is_file() { metadata.len() } else { 0 };
            }
            if found.files + found.folders > HELD_MAX {
                return Ok(None);
            }
        }
    }
    // Folders are read in no order.
    parts.sort_unstable();
    found.digest = Some(BlobHash(*blake3::hash(parts.as_flattened()).as_bytes()));
    Ok(Some(found))
}

/// What tells one thing in a folder from another, without its content: of a folder its name and identity, of all else size
/// and time of modification, too.
fn part(name: &Path, metadata: &std::fs::Metadata) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let name = name.as_os_str().as_bytes();
    hasher.update(&(name.len() as u64).to_le_bytes()).update(name);
    hasher.update(&metadata.ino().to_le_bytes()).update(&(metadata.mode() & 0o170_000).to_le_bytes());
    if !metadata.is_dir() {
        hasher.update(&metadata.len().to_le_bytes());
        hasher.update(&metadata.mtime().to_le_bytes()).update(&metadata.mtime_nsec().to_le_bytes());
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_paths_only() {
        for (path, normal) in [
            ("/a/b", true),
            ("/", false),
            ("a", false),
            ("/a/../b", false),
            ("/a//b", false),
            ("/a/", false),
            ("/a\0", false),
        ] {
            assert_eq!(is_normal(Path::new(path)), normal, "{path:?}");
        }
    }

    #[test]
    fn what_a_folder_holds_is_counted_and_searched() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/.ssh")).unwrap();
        std::fs::write(root.join("a/x"), "123").unwrap();
        std::os::unix::fs::symlink("/etc", root.join("a/link")).unwrap();
        let found = holds(&root, "/h", &OwnDirs::default()).unwrap().unwrap();
        assert_eq!((found.files, found.folders, found.bytes), (2, 2, 3));
        assert_eq!(found.forbidden, Some(root.join("a/.ssh").to_string_lossy().into_owned()));
        let own = OwnDirs { data: root.join("a").to_string_lossy().into_owned(), ..OwnDirs::default() };
        assert!(holds(&root, "/h", &own).unwrap().unwrap().forbidden.is_some_and(|path| path.ends_with("/a")));
    }

    #[test]
    fn what_a_folder_holds_is_told_from_the_same_number_of_other_things() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap().join("d");
        std::fs::create_dir_all(root.join("in")).unwrap();
        std::fs::write(root.join("in/x"), "x").unwrap();
        std::fs::write(root.join("y"), "y").unwrap();
        let digest = || holds(&root, "/h", &OwnDirs::default()).unwrap().unwrap().digest;
        let first = digest();
        assert_eq!(digest(), first);
        // Of the same size and time, under the same name.
        let times = std::fs::metadata(root.join("y")).unwrap().modified().unwrap();
        std::fs::write(root.join("in/z"), "z").unwrap();
        std::fs::File::options().write(true).open(root.join("in/z")).unwrap().set_modified(times).unwrap();
        std::fs::rename(root.join("in/z"), root.join("y")).unwrap();
        let second = digest();
        assert_ne!(second, first);
        std::fs::rename(root.join("in/x"), root.join("x")).unwrap();
        assert_ne!(digest(), second);
    }

    #[test]
    fn a_folder_holds_second_names_of_what_is_forbidden() {
        let scratch = tempfile::tempdir().unwrap();
        let home = scratch.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::create_dir_all(home.join("notes")).unwrap();
        std::fs::write(home.join(".ssh/id"), "SECRET").unwrap();
        std::fs::hard_link(home.join(".ssh/id"), home.join("notes/k")).unwrap();
        let found = holds(&home.join("notes"), home.to_str().unwrap(), &OwnDirs::default()).unwrap().unwrap();
        assert_eq!(found.forbidden, Some(home.join("notes/k").to_string_lossy().into_owned()));
    }
}

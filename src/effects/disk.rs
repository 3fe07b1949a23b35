//! What is on the disk: kinds, sizes, modes, times, hashes. It only looks, and follows no link at the end of a path.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use metnos_log::BlobHash;
use metnos_log::event::turn::{BeforeImage, Holds, PlannedOp};
use metnos_log::store::plain_blob_hash;
use metnos_projections::rules::core_paths::{self, OwnDirs};

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
    })
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
/// modification; a folder and anything else on the same device by its inode.
pub fn is_same(now: &BeforeImage, then: &BeforeImage) -> bool {
    if now.kind != then.kind {
        return false;
    }
    let same_inode = match (now.inode, then.inode) {
        (Some((device, inode)), Some((then_device, then_inode))) => device != then_device || inode == then_inode,
        _ => true,
    };
    match now.kind.as_str() {
        "file" if then.hash.is_some() => now.hash == then.hash,
        "file" => now.bytes == then.bytes && (then.modified_ns.is_none() || now.modified_ns == then.modified_ns),
        "folder" => same_inode,
        "other" => then.link.is_none() || now.link == then.link,
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

/// What a folder holds, at any depth; `None` when it is too much to look at. Links are counted, not followed.
pub fn holds(folder: &Path, home: &str, own: &OwnDirs) -> io::Result<Option<Holds>> {
    let mut found = Holds::default();
    let text = folder.to_string_lossy();
    let mine = [&own.config, &own.data, &own.audit];
    found.forbidden = mine.into_iter().find(|place| !place.is_empty() && core_paths::is_within(place, &text)).cloned();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            if found.forbidden.is_none() {
                let text = path.to_string_lossy();
                found.forbidden = core_paths::forbidden(&text, home, own).map(|_| text.into_owned());
            }
            if entry.file_type()?.is_dir() {
                found.folders += 1;
                open.push(path);
            } else {
                found.files += 1;
                let metadata = entry.metadata()?;
                found.bytes += if metadata.is_file() { metadata.len() } else { 0 };
            }
            if found.files + found.folders > HELD_MAX {
                return Ok(None);
            }
        }
    }
    Ok(Some(found))
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
}

//! Copies a file, a link or a folder onto another file system, whole and synced, with modes and times. Nothing is replaced.

use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};

/// Copies `from` to `to`, which must not exist. What cannot be copied as it is (a device, a pipe) is an error.
pub(super) fn tree(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = std::fs::symlink_metadata(from)?;
    if metadata.is_symlink() {
        std::os::unix::fs::symlink(std::fs::read_link(from)?, to)?;
    } else if metadata.is_file() {
        let mut source = File::open(from)?;
        let mut copy = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        io::copy(&mut source, &mut copy)?;
        copy.set_permissions(std::fs::Permissions::from_mode(metadata.mode() & 0o7777))?;
        own(to, &metadata)?;
        set_times(to, modified_ns(&metadata))?;
        return copy.sync_all();
    } else if metadata.is_dir() {
        std::fs::create_dir(to)?;
        for entry in std::fs::read_dir(from)? {
            let name = entry?.file_name();
            tree(&from.join(&name), &to.join(&name))?;
        }
        std::fs::set_permissions(to, std::fs::Permissions::from_mode(metadata.mode() & 0o7777))?;
        File::open(to)?.sync_all()?;
    } else {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "it is no file, folder or link"));
    }
    own(to, &metadata)?;
    set_times(to, modified_ns(&metadata))
}

/// An ordinary user's copy is his own: what every tool does.
fn own(path: &Path, metadata: &std::fs::Metadata) -> io::Result<()> {
    match std::os::unix::fs::lchown(path, Some(metadata.uid()), Some(metadata.gid())) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other,
    }
}

fn modified_ns(metadata: &std::fs::Metadata) -> Option<i64> {
    metadata.mtime().checked_mul(1_000_000_000)?.checked_add(metadata.mtime_nsec())
}

/// Sets the time of modification, in ns since 1970; of a link itself.
pub(super) fn set_times(path: &Path, modified_ns: Option<i64>) -> io::Result<()> {
    let Some(ns) = modified_ns else { return Ok(()) };
    let modified = Timespec { tv_sec: ns.div_euclid(1_000_000_000), tv_nsec: ns.rem_euclid(1_000_000_000) };
    let times = Timestamps { last_access: modified, last_modification: modified };
    Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Whether all that is left of `from` is in `to` as well: what a removal that was cut short leaves.
pub(super) fn is_contained(from: &Path, to: &Path) -> io::Result<bool> {
    let (one, other) = (std::fs::symlink_metadata(from)?, std::fs::symlink_metadata(to)?);
    if one.file_type() != other.file_type() {
        return Ok(false);
    }
    if one.is_file() {
        let hash = |path: &Path| -> io::Result<blake3::Hash> {
            let mut hasher = blake3::Hasher::new();
            hasher.update_reader(File::open(path)?)?;
            Ok(hasher.finalize())
        };
        return Ok(one.len() == other.len() && hash(from)? == hash(to)?);
    }
    if one.is_symlink() {
        return Ok(std::fs::read_link(from)? == std::fs::read_link(to)?);
    }
    for entry in std::fs::read_dir(from)? {
        let name = entry?.file_name();
        if to.join(&name).symlink_metadata().is_err() || !is_contained(&from.join(&name), &to.join(&name))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes a file, a link or a whole folder; what is not there is no error.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let gone = match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    match gone {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

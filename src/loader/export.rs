//! Writes the artefacts of active versions below the workspace. They are exports: nothing reads them to run them.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use metnos_projections::machines::catalog::Version;
use rustix::fs::OFlags;

use super::source;
use crate::instance::{Instance, InstanceError};
use crate::signing::write_private;

/// The folder of the birth tests in that of a version.
pub(super) const TESTS: &str = "tests";

/// The folders that the files of a version lie in, below that of its executor and with it.
pub(super) fn folders(executor: &Path, version: &str) -> [PathBuf; 3] {
    let of = executor.join(version);
    [executor.to_owned(), of.clone(), of.join(TESTS)]
}

/// Exports the current version of an executor and its `CURRENT`.
pub fn executor(instance: &Instance, name: &str) -> Result<(), InstanceError> {
    let catalog = instance.catalog();
    let Some(entry) = catalog.executors.get(name) else { return Ok(()) };
    let Some(current) = entry.current.as_deref() else { return Ok(()) };
    let Some(version) = entry.versions.get(current) else { return Ok(()) };
    let folder = instance.dirs.workspace.join("executors").join(name);
    folders(&folder, current)
        .iter()
        .try_for_each(|folder| no_link(folder))
        .and_then(|()| write(instance, version, &folder.join(current)))
        .and_then(|()| write_private(&folder.join("CURRENT"), format!("{current}\n").as_bytes()))
        .map_err(|source| crate::config::dirs::DirsError::Create { path: folder, source }.into())
}

/// Where the files of what is archived lie, beside the others.
const ARCHIVE: &str = ".archive";

/// Puts the files of an archived executor away; whatever lay there of it before is of no use.
pub fn put_away(instance: &Instance, name: &str) -> Result<(), InstanceError> {
    let executors = instance.dirs.workspace.join("executors");
    let (from, to) = (executors.join(name), executors.join(ARCHIVE).join(name));
    let put_away = || {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(executors.join(ARCHIVE))?;
        gone(&to)?;
        match std::fs::rename(&from, &to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    };
    put_away().map_err(|source| crate::config::dirs::DirsError::Create { path: to.clone(), source }.into())
}

/// Takes away what was put away of an executor that is active again: its files were written anew.
pub fn take_back(instance: &Instance, name: &str) -> Result<(), InstanceError> {
    let path = instance.dirs.workspace.join("executors").join(ARCHIVE).join(name);
    gone(&path).map_err(|source| crate::config::dirs::DirsError::Create { path, source }.into())
}

/// Takes a link away that lies where a folder belongs; what it leads to is nobody's business here.
fn no_link(folder: &Path) -> std::io::Result<()> {
    if folder.is_symlink() { std::fs::remove_file(folder) } else { Ok(()) }
}

fn gone(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A folder that is not there yet appears whole, by a rename; one that is there gets the files that differ.
fn write(instance: &Instance, version: &Version, folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        return write_files(instance, version, folder);
    }
    let fresh = folder.with_extension("new");
    gone(&fresh)?;
    write_files(instance, version, &fresh)?;
    std::fs::rename(&fresh, folder)
}

fn write_files(instance: &Instance, version: &Version, folder: &Path) -> std::io::Result<()> {
    let reader = instance.log.reader();
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.join(TESTS))?;
    for artefact in version.installed.iter().flat_map(|installed| &installed.artefacts) {
        let bytes = reader.blob(artefact.blob).map_err(std::io::Error::other)?;
        let bytes = bytes.ok_or_else(|| std::io::Error::other(format!("{} is not in the log", artefact.file)))?;
        let path = folder.join(&artefact.file);
        if source::bounded(&path, OFlags::NOFOLLOW, source::FILE_BYTES_MAX).ok().as_ref() != Some(&bytes) {
            write_private(&path, &bytes)?;
        }
    }
    Ok(())
}

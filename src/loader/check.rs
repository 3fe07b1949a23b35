//! Compares the exported files with the log before a turn: a file that disagrees quarantines its executor.

use std::io;
use std::path::Path;

use metnos_log::event::executor::LifeCycle;
use metnos_log::store::plain_blob_hash;
use metnos_projections::machines::catalog::{Entry, Version};

use super::{birth, export, quarantine};
use crate::builtins;
use crate::instance::{Instance, InstanceError};

/// What the owner is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// An executor is quarantined from now on.
    Quarantined {
        /// The executor.
        name: String,
        /// Why.
        reason: String,
    },
    /// Its files were gone as a whole and were written again from the log.
    Restored {
        /// The executor.
        name: String,
    },
}

/// Checks every active executor; what was found is recorded before this returns.
pub fn all(instance: &Instance) -> Result<Vec<Notice>, InstanceError> {
    let has_files = |(name, _, version): &(&str, &str, &Version)| !builtins::is_builtin(name, version);
    let active: Vec<String> =
        instance.catalog().all_active().filter(has_files).map(|(name, _, _)| name.to_owned()).collect();
    let mut notices = Vec::new();
    for name in active {
        let folder = instance.dirs.workspace.join("executors").join(&name);
        let catalog = instance.catalog();
        let Some(entry) = catalog.executors.get(&name) else { continue };
        let found = match difference(entry, &folder) {
            Ok(None) => None,
            Ok(Some(reason)) => Some(reason),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                export::executor(instance, &name)?;
                notices.push(Notice::Restored { name: name.clone() });
                None
            }
            Err(error) => Some(format!("its files cannot be read: {error}")),
        };
        let found = match found {
            None => birth::stale(instance, &name)?,
            found => found,
        };
        if let Some(reason) = found
            && quarantine(instance, &name, &reason, "loader")?
        {
            notices.push(Notice::Quarantined { name, reason });
        }
    }
    Ok(notices)
}

/// The first file that is not what the log holds.
fn difference(entry: &Entry, folder: &Path) -> io::Result<Option<String>> {
    let Some(current) = entry.current.as_deref() else { return Ok(None) };
    let Some(installed) = entry.versions.get(current).and_then(|version| version.installed.as_ref()) else {
        return Ok(None);
    };
    // An export that a crash cut short, or that someone removed as a whole, is made again: the log holds all of it.
    if !folder.join(current).exists() || !folder.join("CURRENT").exists() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let named = std::fs::read_to_string(folder.join("CURRENT"))?;
    if named.trim_end() != current {
        return Ok(Some(format!("CURRENT does not say {current}, the version that was promoted")));
    }
    for artefact in &installed.artefacts {
        let path = folder.join(current).join(&artefact.file);
        let what = match std::fs::read(&path) {
            Ok(bytes) if plain_blob_hash(&bytes) == artefact.blob => continue,
            Ok(_) => "is not the file that was signed",
            Err(error) if error.kind() == io::ErrorKind::NotFound => "is missing",
            Err(error) => return Err(error),
        };
        return Ok(Some(format!("{current}/{} {what}", artefact.file)));
    }
    Ok(None)
}

/// Why an executor may not be called, for those that are quarantined.
pub fn quarantined(instance: &Instance) -> Vec<(String, String)> {
    let catalog = instance.catalog();
    let standing = catalog.executors.iter().filter(|(_, entry)| entry.life == LifeCycle::Quarantined);
    standing.map(|(name, entry)| (name.clone(), entry.reason.clone())).collect()
}

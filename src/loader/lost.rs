//! Executors whose files the log does not hold any more, as after the salvage of a damaged one: nothing can be called, exported or
//! signed of them. They are quarantined, and the seeds among them are brought again from the binary.

use metnos_log::event::executor::LifeCycle;
use metnos_projections::machines::catalog::Entry;

use super::check::Notice;
use super::quarantine;
use crate::instance::{Instance, InstanceError};

/// Who makes the seeds.
pub(super) const SEED: &str = "seed";

/// Puts every active executor into quarantine whose files are gone from the log.
pub fn quarantine_all(instance: &Instance) -> Result<Vec<Notice>, InstanceError> {
    let catalog = instance.catalog();
    let mut notices = Vec::new();
    for (name, entry) in catalog.executors.iter().filter(|(_, entry)| entry.life == LifeCycle::Active) {
        if let Some(reason) = reason(instance, entry)?
            && quarantine(instance, name, &reason, "loader")?
        {
            notices.push(Notice::Quarantined { name: name.clone(), reason });
        }
    }
    Ok(notices)
}

/// Why nothing can be done with the current version: which of its files is gone.
pub(super) fn reason(instance: &Instance, entry: &Entry) -> Result<Option<String>, InstanceError> {
    let current = entry.current.as_ref().and_then(|current| Some((current, entry.versions.get(current)?)));
    let Some((current, version)) = current else { return Ok(None) };
    let reader = instance.log.reader();
    for artefact in version.installed.iter().flat_map(|installed| &installed.artefacts) {
        if !reader.has_blob(artefact.blob)? {
            return Ok(Some(format!("{current}/{} is lost: the log does not hold it any more", artefact.file)));
        }
    }
    Ok(None)
}

/// Whether a seed is in quarantine for no other reason than that, so that it may come again.
pub(super) fn is_lost_seed(instance: &Instance, entry: &Entry) -> Result<bool, InstanceError> {
    if entry.life != LifeCycle::Quarantined {
        return Ok(false);
    }
    let version = entry.current.as_ref().and_then(|current| entry.versions.get(current));
    let manifest = version.and_then(metnos_projections::machines::catalog::Version::manifest);
    let is_seed = manifest.is_some_and(|manifest| manifest.executor.created_by == SEED);
    Ok(is_seed && reason(instance, entry)?.is_some_and(|reason| reason == entry.reason))
}

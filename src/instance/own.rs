//! Whether keys, log and workspace belong together: what is not the instance's own is refused before anything is written.

use std::path::{Path, PathBuf};

use metnos_log::event::instance::KeyAdmitted;
use metnos_log::{Event, Reader};
use metnos_projections::machines::catalog::OWN_KEY;

use super::{Instance, InstanceError};
use crate::config::Dirs;
use crate::signing::{Keys, key_id};

/// A log without its key, or executors without their log: never begun anew in silence.
pub(super) fn refuse_lost_parts(dirs: &Dirs) -> Result<(), InstanceError> {
    // What may not be looked for is not lost.
    for path in [dirs.log(), dirs.config.join("keys/instance.ed25519")] {
        if let Some(folder) = closed_folder(&path) {
            return Err(InstanceError::Closed { folder });
        }
    }
    let holds_bytes = |path: &Path| std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0);
    let path = dirs.log();
    let is_file = std::fs::metadata(&path).map(|metadata| metadata.is_file());
    if path.is_symlink() && is_file.as_ref().is_err_and(|error| error.kind() != std::io::ErrorKind::PermissionDenied)
        || matches!(is_file, Ok(false))
    {
        return Err(InstanceError::NoFile { path });
    }
    if holds_bytes(&path) {
        if !dirs.config.join("keys/instance.ed25519").exists() {
            let recorded = std::fs::read_to_string(dirs.config.join("keys/instance.pub")).unwrap_or_default();
            let recorded =
                if recorded.trim().is_empty() { "it was begun with".to_owned() } else { key_id(recorded.trim()) };
            let found = "config/keys/instance.ed25519 is not there".to_owned();
            return Err(InstanceError::ForeignKey { path: dirs.data.display().to_string(), recorded, found });
        }
        return Ok(());
    }
    let executors =
        std::fs::read_dir(dirs.workspace.join("executors")).is_ok_and(|mut entries| entries.next().is_some());
    if executors { Err(InstanceError::LogLost { path: path.display().to_string() }) } else { Ok(()) }
}

impl Instance {
    /// Admits the instance's own key to a log that lost its admission: a salvaged one without its beginning. One that was revoked
    /// stays so.
    pub(super) fn readmit_own_key(&self) -> Result<(), InstanceError> {
        let (catalog, key_id) = (self.catalog(), self.keys.key_id());
        if catalog.keys.contains_key(&key_id) || catalog.revoked.contains_key(&key_id) {
            return Ok(());
        }
        let (public_key, by) = (self.keys.public_hex(), "its admission was lost".to_owned());
        self.record(
            "instance",
            vec![KeyAdmitted { key_id, public_key, role: OWN_KEY.to_owned(), by, name: None }.into()],
        )
    }
}

/// The folder on the way to a file that keeps whoever asks from looking for it, if one does.
pub fn closed_folder(path: &Path) -> Option<PathBuf> {
    let is_closed =
        |path: &Path| std::fs::metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied);
    if !is_closed(path) {
        return None;
    }
    path.ancestors().skip(1).find(|folder| !is_closed(folder)).map(Path::to_owned)
}

/// The first event names the key that the log was begun with.
pub(super) fn refuse_foreign_key(dirs: &Dirs, keys: &Keys, log: &Reader) -> Result<(), InstanceError> {
    let Ok(first) = log.event(1) else { return refuse_foreign_checkpoint(dirs, keys, log) };
    let Some(Event::InstanceCreated(created)) = first.as_ref().and_then(metnos_log::Recorded::event) else {
        return Ok(());
    };
    if created.public_key == keys.public_hex() {
        return Ok(());
    }
    let found = format!("config/keys/instance.ed25519 is the key {}", keys.key_id());
    Err(InstanceError::ForeignKey {
        path: dirs.data.display().to_string(),
        recorded: key_id(&created.public_key),
        found,
    })
}

/// Where the first event cannot be read, or lies in an archive file that is away, the newest signed checkpoint says whose the log
/// is. A log in which that cannot be read either says so elsewhere.
fn refuse_foreign_checkpoint(dirs: &Dirs, keys: &Keys, log: &Reader) -> Result<(), InstanceError> {
    if !matches!(log.is_signed(), Ok(Some(false))) {
        return Ok(());
    }
    let found = format!("config/keys/instance.ed25519 is the key {}", keys.key_id());
    let recorded = "that signed its checkpoints".to_owned();
    Err(InstanceError::ForeignKey { path: dirs.data.display().to_string(), recorded, found })
}

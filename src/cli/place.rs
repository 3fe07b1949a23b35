//! What stands in the place of a log where it cannot be used: nothing, something that is no file, or a file that is somebody
//! else's. Nothing is made or changed here.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use serde_json::{Value, json};

use super::output::{Said, by};
use super::{Command, Context, Failure};
use crate::config::Dirs;
use crate::instance::InstanceError;

impl Command {
    /// Whether it tells of a log, and so makes none.
    fn needs_log(&self) -> bool {
        match self {
            Self::Log(log) => log.needs_log(),
            Self::Audit(audit) => audit.needs_instance(),
            Self::Replay(replay) => replay.needs_instance(),
            Self::At(_) | Self::Diff(_) | Self::Why(_) | Self::RecordTest(_) => true,
            _ => false,
        }
    }
}

impl Context {
    /// Refuses a command that tells of a log where there is none.
    pub(super) fn refuse_absent(&self, command: &Command) -> Result<(), Failure> {
        if !command.needs_log() {
            return Ok(());
        }
        let dirs = Dirs::resolve(self.global.home.as_deref(), &self.variables).map_err(InstanceError::from)?;
        let file = dirs.log();
        let found = fs::symlink_metadata(&file);
        let is_empty = found.as_ref().is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0);
        // Of one that may not be looked for nobody knows: opening says why.
        let is_away = found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if !is_empty && !is_away {
            return Ok(());
        }
        let restoring = Some(metnos_log::store::unfinished_restore(&file)).filter(|begun| begun.exists());
        let is_restoring = restoring.is_some();
        let begun = restoring.or_else(|| Some(file.with_extension("redb.new")).filter(|begun| begun.exists()));
        let has_executors =
            fs::read_dir(dirs.workspace.join("executors")).is_ok_and(|mut entries| entries.next().is_some());
        let was_there = metnos_log::store::was_seen(&file) || begun.is_none() && has_executors;
        if !is_restoring && was_there {
            // Opening says that a log was there, and makes nothing either.
            return Ok(());
        }
        let values = json!({ "file": file, "empty": is_empty, "begun": begun, "restoring": is_restoring });
        let next = if is_restoring { by("next.restore_again") } else { by("next.no_log") };
        Err(Failure::refused(("error.no_log", values), next))
    }
}

/// What is no plain file, and so no log: which text says so.
pub(super) fn no_file(path: &Path) -> Option<Failure> {
    let link = fs::symlink_metadata(path).ok()?;
    let what = match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => return None,
        Ok(metadata) if metadata.is_dir() => "folder",
        Ok(metadata) if metadata.file_type().is_fifo() => "pipe",
        Ok(_) => "other",
        Err(error) if !link.is_symlink() || error.kind() == io::ErrorKind::PermissionDenied => return None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => "dangling",
        Err(_) => "loop",
    };
    let to = fs::read_link(path).ok().map(|to| to.to_string_lossy().into_owned());
    let values = json!({ "file": path.to_string_lossy(), "what": what, "to": to });
    Some(Failure::failed(("error.log_no_file", values), by("next.log_place")))
}

/// What is said of a log that is there and may not be written to.
pub(super) fn not_writable(path: &Path) -> Option<(Said, Said)> {
    let metadata = fs::metadata(path).ok()?;
    let mode = format!("{:o}", metadata.mode() & 0o7777);
    let values = json!({ "file": path.to_string_lossy(), "owner": owner(metadata.uid()), "mode": mode });
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    let hint = if is_own { "next.own_log" } else { "next.others_log" };
    let message = ("error.log_not_writable", values).into();
    Some((message, (hint, json!({ "path": path.to_string_lossy() })).into()))
}

/// What is said of a folder that may not be looked into: whose it is, and how it is opened.
pub(super) fn closed(folder: &Path) -> Failure {
    let metadata = fs::metadata(folder).ok();
    let mode = metadata.as_ref().map(|metadata| format!("{:o}", metadata.mode() & 0o7777));
    let user = metadata.as_ref().map(fs::Metadata::uid);
    let is_own = user == Some(rustix::process::geteuid().as_raw());
    let values = json!({ "folder": folder.to_string_lossy(), "owner": user.map(owner), "mode": mode });
    let hint = if is_own { "next.own_folder" } else { "next.others_log" };
    Failure::failed(("error.folder_closed", values), (hint, json!({ "path": folder.to_string_lossy() })))
}

/// The name of an account; its number where it has none.
fn owner(uid: u32) -> Value {
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number == uid.to_string()).then(|| name.to_owned())
    });
    name.map_or_else(|| uid.into(), Value::from)
}

//! `metnos log salvage`: a new log of what is sound in a damaged one, in a home of its own. The old file is only read.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use clap::Args;
use metnos_log::store::{By, SalvageError, Salvaged, salvage};
use metnos_log::{EventId, OpenError};
use metnos_projections::machines::actors::HOST;
use metnos_projections::messages::Messages;
use serde_json::{Value, json};

use super::super::output::{Failure, by, remedy};
use super::super::{Context, console, output, place};
use super::keep::occupied;
use crate::cause::plain;
use crate::config::Dirs;
use crate::config::credentials::Credentials;
use crate::instance::{self, now, random};
use crate::signing::{Keys, hex, key_id};
use crate::witnesses::{self, Witness};

/// What the settings and keys of a new home are called until its log is there.
const COPIED: &str = "config.salvaged";

/// So deep are settings and keys; a link that leads back is followed no farther.
const CONFIG_DEPTH_MAX: usize = 4;

/// Copy what is sound in a damaged log into a new home, and say what is lost.
#[derive(Args, Debug)]
pub(in crate::cli) struct Salvage {
    /// The damaged file; this home's log without it.
    file: Option<PathBuf>,
    /// A new home's folder, which gets the keys and settings of this one too; or a file that ends in .redb, for the log alone.
    #[arg(long, value_name = "NEWHOME|FILE")]
    to: PathBuf,
}

impl From<SalvageError> for Failure {
    fn from(error: SalvageError) -> Self {
        let reason = json!({ "reason": output::causes(&error) });
        match &error {
            SalvageError::Busy { .. } => Self::failed(("error.not_salvaged", reason), by("next.salvage_busy")),
            SalvageError::Nothing { path } => Self::refused(
                ("error.no_log_there", json!({ "file": path.to_string_lossy() })),
                by("next.nothing_to_salvage"),
            ),
            SalvageError::OtherKey { recorded, .. } => {
                // By the name that a key has everywhere else.
                let reason = output::causes(&error).replace(recorded.as_str(), &key_id(recorded));
                Self::refused(("error.not_salvaged", json!({ "reason": reason })), by("next.restore_keys"))
            }
            SalvageError::OthersNotes { .. } => Self::refused(("error.not_salvaged", reason), by("next.restore_keys")),
            SalvageError::Occupied { path } => {
                Self::refused(("error.log_occupied", occupied(path)), by("next.new_home"))
            }
            SalvageError::Io { path, source } => {
                let usual =
                    if source.kind() == io::ErrorKind::InvalidInput { "next.log_file" } else { "next.new_home" };
                Self::failed(("error.not_salvaged", reason), remedy(&error, Some(path), by(usual)))
            }
            SalvageError::Open(OpenError::Newer { .. }) => {
                Self::failed(("error.not_salvaged", reason), by("next.newer"))
            }
            SalvageError::Written(_) | SalvageError::Store(_) | SalvageError::Open(_) => {
                Self::failed(("error.not_salvaged", reason), remedy(&error, None, by("next.new_home")))
            }
        }
    }
}

pub(super) fn run(context: &Context, command: &Salvage) -> Result<u8, Failure> {
    let dirs =
        Dirs::resolve(context.global.home.as_deref(), &context.variables).map_err(instance::InstanceError::from)?;
    let from = command.file.as_ref().map_or_else(|| dirs.log(), |file| console::path(file));
    // A pipe would be waited for.
    if let Some(refusal) = place::no_file(&from) {
        // What was named is not in the log's place.
        let is_named = command.file.is_some();
        return Err(if is_named { refusal.with_hint(by("next.named_log")) } else { refusal });
    }
    fs::File::open(&from).map_err(|error| unusable(&from, &error))?;
    let key = dirs.config.join("keys/instance.ed25519");
    if !key.exists() {
        return Err(Failure::refused(("error.no_key_here", json!({ "file": key })), by("next.restore_keys")));
    }
    let (keys, _) = Keys::open(&dirs.config.join("keys")).map_err(instance::InstanceError::from)?;
    let credentials = Credentials::open(&dirs.config, &keys).map_err(instance::InstanceError::from)?;
    let to = console::path(&command.to);
    let (log, home) = if to.extension().is_some_and(|extension| extension == "redb") {
        (to, None)
    } else {
        (to.join("data/log/events.redb"), Some(to))
    };
    if log.exists() {
        return Err(SalvageError::Occupied { path: log }.into());
    }
    if home.is_none() && log.parent().is_some_and(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        let values = json!({ "reason": output::causes(&io::Error::from(io::ErrorKind::NotFound)) });
        return Err(Failure::failed(("error.not_salvaged", values), by("next.folder_first")));
    }
    let into = home.as_deref().unwrap_or(&log);
    if dirs.hold(into) {
        return Err(Failure::usage(
            ("error.salvage_in_home", json!({ "folder": into.to_string_lossy() })),
            by("next.new_home"),
        ));
    }
    let mut begun = Begun(Vec::new());
    if let Some(home) = &home {
        // What could be no home is made none.
        Dirs::resolve(Some(home), &context.variables).map_err(instance::InstanceError::from)?;
        prepare(&dirs, home, &mut begun)?;
    }
    let time = now();
    let record = By { id: EventId::new(time, random()), time, actor: HOST.to_owned() };
    let salvaged = salvage(&from, &log, instance::log_keys(&keys, &credentials), &record);
    if matches!(salvaged, Ok(_) | Err(SalvageError::Occupied { .. })) {
        // It is a home now, this command's or somebody else's.
        begun.0.clear();
    }
    let salvaged = salvaged?;
    // Last: a home that has its keys and no log yet would begin a new, empty one.
    if let Some(home) = &home {
        let config = home.join("config");
        fs::rename(home.join(COPIED), &config).map_err(|error| unusable(&config, &error))?;
    }
    told(context, &salvaged, (&from, &log), home.as_deref());
    Ok(0)
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(
        ("error.file_unusable", json!({ "file": path.to_string_lossy(), "reason": plain(error) })),
        remedy(error, Some(path), by("next.log_file")),
    )
}

/// Makes the folders of a new home, with the settings and keys of this one beside them.
fn prepare(dirs: &Dirs, home: &Path, begun: &mut Begun) -> Result<(), Failure> {
    if home.is_file() {
        return Err(Failure::refused(
            ("error.salvage_into_file", json!({ "file": home.to_string_lossy() })),
            by("next.new_home"),
        ));
    }
    if home.join("config").exists() {
        return Err(Failure::refused(
            ("error.home_occupied", json!({ "folder": home.to_string_lossy() })),
            by("next.new_home"),
        ));
    }
    let (folder, copied) = (home.join("data/log"), home.join(COPIED));
    begun.note([copied.clone(), folder.clone()]);
    // Over what an earlier try left that was killed.
    copy_private(&dirs.config, &copied).map_err(|error| unusable(&copied, &error))?;
    private_folder(&folder).map_err(|error| unusable(&folder, &error))
}

/// What else in the home of a damaged log knows of events that were not saved.
fn beyond(salvaged: &Salvaged, from: &Path) -> Value {
    // A file that is named alone has none.
    let Some(data) = from.parent().filter(|folder| folder.ends_with("log")).and_then(Path::parent) else {
        return json!({ "seen": null, "seen_by": null, "backup": null, "backup_events": null });
    };
    let backups = witnesses::backups(data, &salvaged.log_id);
    let saved = salvaged.copied + salvaged.again;
    let backup = backups.into_iter().find(|(_, backup)| backup.events > saved);
    let told = backup.iter().map(|(folder, backup)| Witness { file: folder.clone(), events: backup.events });
    let seen = witnesses::farthest(data, &salvaged.log_id).into_iter().chain(told).max_by_key(|witness| witness.events);
    let seen = seen.filter(|seen| seen.events > salvaged.last);
    json!({
        "seen": seen.as_ref().map(|seen| seen.events), "seen_by": seen.map(|seen| seen.file),
        "backup": backup.as_ref().map(|(folder, _)| folder), "backup_events": backup.as_ref().map(|(_, backup)| backup.events),
    })
}

fn told(context: &Context, salvaged: &Salvaged, (from, log): (&Path, &Path), home: Option<&Path>) {
    let lost: u64 = salvaged.lost.iter().map(|(first, last)| last + 1 - first).sum();
    let mut values = json!({
        "last": salvaged.last, "from": from.to_string_lossy(), "file": log.to_string_lossy(), "home": home.map(Path::to_string_lossy),
        "copied": salvaged.copied, "unsigned": salvaged.copied.saturating_sub(salvaged.signed), "again": salvaged.again, "lost": lost,
        "runs": salvaged.lost, "blobs": salvaged.blobs, "unplaced": salvaged.unplaced,
        "lost_blobs": salvaged.lost_blobs.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "events": salvaged.head.size, "head": hex(&salvaged.head.head),
    });
    for (name, value) in beyond(salvaged, from).as_object_mut().into_iter().flatten() {
        values[name] = value.take();
    }
    if context.global.json {
        output::result_json(&values);
    } else {
        output::result(&Messages::embedded().say(context.spoken(), "log.salvaged", values));
    }
}

/// Folders of a new home that has no log yet; dropped before it has, nothing is left of them, and the same name can be given again.
struct Begun(Vec<PathBuf>);

impl Begun {
    /// Remembers which of these, and of those that they lie in, are not there yet.
    fn note(&mut self, folders: [PathBuf; 2]) {
        for folder in folders {
            let absent = folder.ancestors().take_while(|folder| !folder.exists());
            self.0.extend(absent.last().map(Path::to_owned));
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        for folder in &self.0 {
            // What cannot be taken away is told of by the next try.
            fs::remove_dir_all(folder).ok();
        }
    }
}

fn private_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Copies a folder of settings and keys for its owner alone, what links in it lead to as well.
fn copy_private(from: &Path, to: &Path) -> io::Result<()> {
    copy_private_below(from, to, CONFIG_DEPTH_MAX)
}

fn copy_private_below(from: &Path, to: &Path, depth: usize) -> io::Result<()> {
    private_folder(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        // A link that leads nowhere has nothing to be copied.
        let Ok(kind) = fs::metadata(&path).map(|metadata| metadata.file_type()) else { continue };
        if kind.is_dir() && depth > 0 {
            copy_private_below(&path, &copy, depth - 1)?;
        } else if kind.is_file() {
            fs::copy(&path, &copy)?;
            let mode = fs::metadata(&path)?.permissions().mode() & 0o700;
            fs::set_permissions(&copy, fs::Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

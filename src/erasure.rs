//! Erasing what someone wants to be gone: which payloads that means, and every file of the home that must follow
//! (design 2-log, «Erasure and secrets»).
//!
//! The log loses payloads and keeps its chain. Whatever is made of the log is made again; a marker says that this is still to
//! be done, so that a command that broke off is gone on with by the next one.

mod closed;
mod left;
mod pieces;
pub mod search;
mod selection;
mod shown;
mod spelling;
mod worded;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};

use metnos_log::event::instance::{BackupMade, Erased};
use metnos_log::store::{BackupError, Erasure, ReadError, RewriteError, Rewritten, backup_files};
use metnos_log::{Append, BlobHash, Draft, Event, EventId, Expect, Micros, Recorded, TurnId};

use crate::export::audit::ExportError;
use crate::instance::{Instance, InstanceError, now, random};
use crate::signing::hex;
use crate::snapshots::{self, SnapshotError};
pub use left::Left;
use left::{Gone, Words};
use search::Sought;
pub use selection::select;

/// Shorter texts would be found everywhere.
pub const TEXT_BYTES_MIN: usize = 4;
/// So many bytes are not the same by chance.
const CHANCE_BYTES: usize = 8;
/// Says that what is made of the log is not made again yet. Holds where the log was before anything was erased.
const MARKER: &str = "erasure.pending";
/// How often what was written while something was erased is erased as well, before the rest is left to the person.
const ROUNDS: usize = 3;

/// What is to be gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// All that was said and returned in a turn.
    Turn(TurnId),
    /// The same of every turn of a person, and what they sent besides.
    Actor(String),
    /// One event's payload.
    Event(u64),
    /// Every payload that holds this text.
    Text(String),
}

/// What a selector comes to.
#[derive(Debug, Default)]
pub struct Selected {
    /// The events whose payloads go.
    pub seqs: BTreeSet<u64>,
    /// The blobs that only they name.
    pub blobs: BTreeSet<BlobHash>,
    /// The turns that they belong to.
    pub turns: BTreeSet<TurnId>,
    /// How many payloads of each kind go.
    pub kinds: BTreeMap<String, u64>,
    /// The schedules whose words go.
    schedules: BTreeSet<String>,
    /// Lines that the chat remembers and that go with them.
    texts: BTreeSet<String>,
    /// What was said and returned there, by which exports are known.
    words: Words,
    /// Events that hold the text and cannot be erased, since Metnos works by what they say; how many of each kind.
    pub staying: BTreeMap<String, u64>,
    /// The text as it is written in events that stay: in another spelling, or a piece of it.
    pub spellings: BTreeSet<String>,
    /// Those events.
    pub spelled: BTreeSet<u64>,
    /// The turns whose request held it, and was understood by its parts: what was made of them stays.
    pub taken_apart: BTreeSet<TurnId>,
    /// Events that stay and hold a file in a form that is not looked into for a text.
    pub closed: BTreeSet<u64>,
    /// How far the log went when it was looked through.
    until: u64,
    /// Whether the text is part of what an event is called, which is never erased.
    is_in_names: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Report {
    /// What was selected.
    pub selected: Selected,
    /// What the log lost.
    pub rewritten: Rewritten,
    /// Files that still hold it: what is not made of the log is not Metnos' to change.
    pub left: Left,
    /// Files of the log and of its backups that hold it all the same, which is a fault.
    pub missed: Vec<PathBuf>,
    /// Backups that follow.
    pub backups: usize,
    /// Folders outside of the home with backups that do not.
    pub elsewhere: Vec<String>,
    /// The turns that it belonged to.
    pub turns: usize,
    /// Payloads that were written meanwhile and cannot go yet: their turn or task is not over.
    pub later: usize,
}

/// Where a command broke off, if one did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenOff {
    /// None did.
    Nothing,
    /// Something was erased, and not everywhere yet.
    Midway,
    /// Nothing was erased, so nothing is to be done.
    BeforeIt,
}

/// Why nothing was erased, or not everywhere.
#[derive(Debug, thiserror::Error)]
pub enum ErasureError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The log cannot be written anew.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
    /// An export cannot be made again.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// A state's file cannot be made again.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A backup cannot follow.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// A file cannot be changed.
    #[error("{path} cannot be changed")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The log does not hold it any more; not everything that is made of it could be made again.
    #[error("what is made of the log cannot be made again")]
    Unfollowed(#[source] Box<Self>),
    /// A turn that it would reach into is not over.
    #[error("turn {turn} is not over")]
    Open {
        /// The turn.
        turn: TurnId,
    },
    /// A task that it would reach into still runs.
    #[error("task {name} is not over")]
    Runs {
        /// The task's number.
        name: String,
    },
    /// The event is one that Metnos works by, and is not erased.
    #[error("event {seq} ({kind}) is one that Metnos works by")]
    Bare {
        /// Its number.
        seq: u64,
        /// Its kind.
        kind: String,
    },
    /// The text is too short.
    #[error("a text of less than {TEXT_BYTES_MIN} bytes is found everywhere")]
    Short,
}

/// Refuses what would reach into something that is not over: what goes on must be able to go on.
pub fn refuse_open(instance: &Instance, selected: &Selected) -> Result<(), ErasureError> {
    let now = instance.projected();
    if let Some((turn, _)) = now.turns.open().find(|(id, _)| selected.turns.contains(id)) {
        return Err(ErasureError::Open { turn });
    }
    let is_alive = |id: &&String| now.schedules.get(id).is_some_and(|schedule| schedule.state.is_alive());
    match selected.schedules.iter().find(is_alive) {
        Some(id) => Err(ErasureError::Runs { name: id.clone() }),
        None => Ok(()),
    }
}

/// Erases what a selector comes to, from the log and from everything that is made of it. That is what it came to when a person
/// was asked, or more, where more was written since; and what is written while the log is written anew.
pub fn erase(
    instance: &Instance,
    selector: &Selector,
    selected: Selected,
    reason: &str,
) -> Result<Report, ErasureError> {
    let (rewritten, first, more, later, (backups, others)) = instance.alone(|| {
        let is_old = instance.log.head().size > selected.until;
        let first = if is_old { select(instance, selector)? } else { selected };
        refuse_open(instance, &first)?;
        mark(instance, first.until)?;
        let mut rewritten = taken_out(instance, selector, &first, reason)?;
        let (mut more, mut later, mut until) = (Vec::new(), 0, first.until);
        // One event says what was erased; whatever else came is looked through.
        while instance.log.head().size > until + 1 && more.len() < ROUNDS && !matches!(selector, Selector::Event(_)) {
            let part = select(instance, selector)?;
            if part.seqs.is_empty() {
                break;
            }
            if refuse_open(instance, &part).is_err() {
                later = part.seqs.len();
                break;
            }
            rewritten.join(taken_out(instance, selector, &part, reason)?);
            until = part.until;
            more.push(part);
        }
        Ok::<_, ErasureError>((rewritten, first, more, later, follow(instance)?))
    })?;
    // A large home takes long to look through; nobody has to wait for that.
    let rewritten_files = rewritten_files(instance, &backups)?;
    let parts = || iter::once(&first).chain(&more);
    let mut left = Left::default();
    for part in parts() {
        let gone = match selector {
            Selector::Text(text) => Gone::text(text, &part.blobs, !part.staying.is_empty()),
            Selector::Turn(_) | Selector::Actor(_) | Selector::Event(_) => Gone::words(&part.words, &part.blobs),
        };
        left.join(left::files(&instance.dirs, &rewritten_files, &gone));
    }
    left.unread.extend(others);
    let missed = match selector {
        Selector::Text(text) if later == 0 && parts().all(|part| part.is_all_of(text)) => {
            left::holding(&rewritten_files, text)
        }
        _ => Vec::new(),
    };
    let turns = parts().flat_map(|part| &part.turns).collect::<BTreeSet<_>>().len();
    let elsewhere = backups_elsewhere(instance)?;
    Ok(Report { selected: first, rewritten, left, missed, backups: backups.len(), elsewhere, turns, later })
}

/// The files of the home that hold a text though the log does not: what somebody copied or exported, what an earlier erasure
/// left to the person, what belongs to a log that lay here before.
pub fn beside_the_log(instance: &Instance, text: &str) -> Result<Left, ErasureError> {
    Ok(left::files(&instance.dirs, &instance.log.files()?, &Gone::text(text, &BTreeSet::new(), false)))
}

/// Takes it out of the log, and of what the chat remembers.
fn taken_out(
    instance: &Instance,
    selector: &Selector,
    selected: &Selected,
    reason: &str,
) -> Result<Rewritten, ErasureError> {
    forget_lines(instance, selector, selected)?;
    Ok(instance.log.erase(erasure(instance, selector, selected, reason))?)
}

/// Notes on disk that something is going to be erased, and where the log is before that.
fn mark(instance: &Instance, size: u64) -> Result<(), ErasureError> {
    let marker = instance.dirs.data.join(MARKER);
    crate::signing::write_private(&marker, size.to_string().as_bytes()).map_err(refused(&marker))
}

impl Selected {
    /// Whether nothing that the log keeps may hold the text. A short one may come about by chance in what is packed.
    fn is_all_of(&self, text: &str) -> bool {
        self.staying.is_empty() && !self.is_in_names && text.len() >= CHANCE_BYTES
    }
}

/// The files of the log and of the backups that follow it.
fn rewritten_files(instance: &Instance, backups: &[PathBuf]) -> Result<Vec<PathBuf>, ErasureError> {
    let mut files = instance.log.files()?;
    for folder in backups {
        files.extend(backup_files(folder).map_err(refused(folder))?);
    }
    Ok(files)
}

/// The newest record that this was erased.
pub fn erased_before(instance: &Instance, selector: &Selector) -> Result<Option<Recorded>, ReadError> {
    let (name, of) = recorded_as(instance, selector);
    let is_of_it = |recorded: &Recorded| matches!(recorded.event(), Some(Event::Erased(erased)) if erased.selector == name && erased.of == of);
    Ok(instance.log.reader().stream("instance")?.into_iter().rfind(is_of_it))
}

/// How a selector is put on record: its name, and what it is about. A text is no part of the record of its erasure.
fn recorded_as(instance: &Instance, selector: &Selector) -> (&'static str, String) {
    match selector {
        Selector::Turn(id) => ("turn", id.to_string()),
        Selector::Actor(actor) => ("actor", actor.clone()),
        Selector::Event(seq) => ("event", seq.to_string()),
        Selector::Text(text) => ("text", instance.log.keyed_blob_hash(text.as_bytes()).to_string()),
    }
}

fn erasure(instance: &Instance, selector: &Selector, selected: &Selected, reason: &str) -> Erasure {
    let (name, of) = recorded_as(instance, selector);
    let (time, by) = (now(), instance.actor.clone());
    let record = Erased {
        selector: name.to_owned(),
        of,
        seqs: runs(&selected.seqs),
        blobs: selected.blobs.iter().copied().collect(),
        reason: reason.to_owned(),
        by: by.clone(),
    };
    let record = Draft {
        id: EventId::new(time, random()),
        time,
        stream: "instance".to_owned(),
        actor: by.clone(),
        turn: None,
        cause: None,
        event: record.into(),
        blobs: Vec::new(),
    };
    Erasure { seqs: selected.seqs.clone(), blobs: selected.blobs.clone(), record }
}

/// First and last of each run of neighbours.
fn runs(seqs: &BTreeSet<u64>) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for seq in seqs {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *seq => *last = *seq,
            _ => runs.push((*seq, *seq)),
        }
    }
    runs
}

/// Notes that a folder is going to hold a copy that no erasure here reaches, once for each folder, which is there already. Those of
/// `data/backups` follow by themselves.
pub fn remember_backup(instance: &Instance, folder: &Path) -> Result<(), InstanceError> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let own = instance.dirs.data.join("backups");
    if folder.starts_with(own.canonicalize().unwrap_or(own)) {
        return Ok(());
    }
    let folder = folder.to_string_lossy().into_owned();
    let id = EventId::derived(Micros(0), "metnos backup v1", &[folder.as_bytes()]);
    if instance.log.reader().seq_of(id)?.is_some() {
        return Ok(());
    }
    let head = instance.log.head();
    let draft = Draft {
        id,
        time: now(),
        stream: "instance".to_owned(),
        actor: instance.actor.clone(),
        turn: None,
        cause: None,
        event: BackupMade { size: head.size, head: hex(&head.head), folder }.into(),
        blobs: Vec::new(),
    };
    instance.log.append(Append { events: vec![draft], expect: Expect::Any })?;
    Ok(())
}

/// The folders outside of the home that hold a copy of the log, as far as it was made from here.
pub fn backups_elsewhere(instance: &Instance) -> Result<Vec<String>, ReadError> {
    let events = instance.log.reader().stream("instance")?;
    let made = |recorded: &Recorded| match recorded.event() {
        Some(Event::BackupMade(made)) => Some(made.folder.clone()),
        _ => None,
    };
    Ok(events.iter().filter_map(made).collect())
}

/// Makes again what is made of the log; the backups that are there, and those that hold events which this log does not have.
fn follow(instance: &Instance) -> Result<(Vec<PathBuf>, Vec<PathBuf>), ErasureError> {
    made_again(instance).map_err(|error| ErasureError::Unfollowed(Box::new(error)))
}

fn made_again(instance: &Instance) -> Result<(Vec<PathBuf>, Vec<PathBuf>), ErasureError> {
    let projections = instance.dirs.data.join("projections");
    // What a view was being made of before is gone with its file; from now on none meets the text in the log.
    instance.views.while_closed(|| remove_files(&projections))?;
    instance.fold_anew()?;
    let audit = instance.dirs.workspace.join(".audit");
    remove_files(&audit)?;
    instance.follow_audit()?;
    instance.save_projections(0).map_err(refused(&projections))?;
    snapshots::write_all(instance)?;
    let (mut backups, mut others) = (Vec::new(), Vec::new());
    let kept = instance.dirs.data.join("backups");
    // The folder may be a backup itself. Whatever else lies there is not of this log, and not Metnos' to change: it holds up
    // neither this nor what comes after it.
    let own = if kept.join("backup.json").is_file() { vec![kept.clone()] } else { Vec::new() };
    for folder in own.into_iter().chain(folders(&kept)?) {
        match instance.log.backup(&folder, |_, _| {}) {
            Ok(_) => backups.push(folder),
            Err(BackupError::Ahead { path, .. }) => others.push(path),
            Err(BackupError::Foreign { .. } | BackupError::OtherLog { .. } | BackupError::NoBackup { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let marker = instance.dirs.data.join(MARKER);
    fs::remove_file(&marker).map_err(refused(&marker))?;
    Ok((backups, others))
}

/// Whether a command broke off after something was erased, and left something to be done.
pub fn is_pending(instance: &Instance) -> bool {
    broken_off(instance) == BrokenOff::Midway
}

/// What there is to be done after a command that broke off.
fn broken_off(instance: &Instance) -> BrokenOff {
    let Ok(marker) = fs::read_to_string(instance.dirs.data.join(MARKER)) else { return BrokenOff::Nothing };
    // One that cannot be read says nothing about what was erased.
    let Ok(before) = marker.parse::<u64>() else { return BrokenOff::Midway };
    let is_erasure = |recorded: &Recorded| recorded.seq > before && matches!(recorded.event(), Some(Event::Erased(_)));
    match instance.log.reader().stream("instance") {
        Ok(events) if !events.iter().any(is_erasure) => BrokenOff::BeforeIt,
        Ok(_) | Err(_) => BrokenOff::Midway,
    }
}

/// Does what a command that broke off left to be done; says what that was.
pub fn resume(instance: &Instance) -> Result<BrokenOff, ErasureError> {
    if !instance.dirs.data.join(MARKER).exists() {
        return Ok(BrokenOff::Nothing);
    }
    instance.alone(|| {
        // Another command of this process may just have been at it, and be done by now.
        let found = broken_off(instance);
        match found {
            BrokenOff::Nothing => {}
            BrokenOff::BeforeIt => {
                let marker = instance.dirs.data.join(MARKER);
                fs::remove_file(&marker).map_err(refused(&marker))?;
            }
            BrokenOff::Midway => {
                instance.log.erase_archived()?;
                follow(instance)?;
            }
        }
        Ok(found)
    })
}

/// Takes lines out of what the chat remembers.
fn forget_lines(instance: &Instance, selector: &Selector, selected: &Selected) -> Result<(), ErasureError> {
    let path = instance.dirs.data.join("chat_history");
    let Ok(lines) = fs::read_to_string(&path) else { return Ok(()) };
    let sought = if let Selector::Text(text) = selector { Some(Sought::of(text)) } else { None };
    let goes = |line: &&str| match &sought {
        Some(sought) => sought.is_in(line.as_bytes()),
        None => selected.texts.contains(line.trim()),
    };
    let kept: String = lines.lines().filter(|line| !goes(line)).flat_map(|line| [line, "\n"]).collect();
    crate::signing::write_private(&path, kept.as_bytes()).map_err(refused(&path))
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>, ErasureError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(refused(folder)(error)),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry.map_err(refused(folder))?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

/// Takes away every file below a folder; the folders stay.
pub(crate) fn remove_files(folder: &Path) -> Result<(), ErasureError> {
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).map_err(refused(&folder))? {
            let entry = entry.map_err(refused(&folder))?;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(path);
            } else {
                fs::remove_file(&path).map_err(refused(&path))?;
            }
        }
    }
    Ok(())
}

fn refused(path: &Path) -> impl FnOnce(io::Error) -> ErasureError {
    let path = path.to_owned();
    move |source| ErasureError::Io { path, source }
}

//! Erasing what someone wants to be gone: which payloads that means, and every file of the home that must follow
//! (design 2-log, «Erasure and secrets»).
//!
//! The log loses payloads and keeps its chain. Whatever is made of the log is made again; a marker says that this is still to
//! be done, so that a command that broke off is gone on with by the next one.

mod closed;
mod left;
pub mod search;
mod spelling;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use metnos_log::envelope::Body;
use metnos_log::event::instance::{BackupMade, Erased};
use metnos_log::store::{BackupError, Erasure, ReadError, RewriteError, Rewritten, backup_files};
use metnos_log::{Append, BlobHash, Draft, Event, EventId, Expect, Kept, Micros, Recorded, TurnId};
use serde_json::Value;

use crate::engine::{HISTORY_CHARACTERS, shortened};
use crate::export::audit::ExportError;
use crate::instance::{Instance, InstanceError, now, random};
use crate::signing::hex;
use crate::snapshots::{self, SnapshotError};
pub use left::Left;
use left::{Gone, Words};
use search::Sought;
use spelling::Spelling;

/// Shorter texts would be found everywhere.
const TEXT_BYTES_MIN: usize = 4;
/// So many bytes are not the same by chance.
const CHANCE_BYTES: usize = 8;
/// Says that what is made of the log is not made again yet. Holds nothing.
const MARKER: &str = "erasure.pending";

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
    /// The text as it is written in events that stay, where only its spelling is another.
    pub spellings: BTreeSet<String>,
    /// Those events.
    pub spelled: BTreeSet<u64>,
    /// Whether the text is part of what an event is called, which is never erased.
    is_in_names: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Report {
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
}

/// Why nothing was erased.
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

/// Finds what a selector comes to; changes nothing, and waits for nothing: whether it can go now, [`refuse_open`] says.
pub fn select(instance: &Instance, selector: &Selector) -> Result<Selected, ErasureError> {
    if matches!(selector, Selector::Text(text) if text.len() < TEXT_BYTES_MIN) {
        return Err(ErasureError::Short);
    }
    let reader = instance.log.reader();
    let wording = if let Selector::Text(text) = selector { Some(Wording::of(text)) } else { None };
    let blobs = wording.as_ref().map(|wording| blobs_holding(instance, wording)).transpose()?.unwrap_or_default();
    let mut search = Search::new(selector, blobs, wording);
    reader.each(1, |recorded| {
        let recorded = reader.rehydrated(recorded)?;
        search.take(recorded);
        Ok::<bool, ErasureError>(true)
    })?;
    let selected = search.end();
    if let Selector::Event(seq) = selector
        && let Some(event) = reader.event(*seq)?
        && !event.is_erasable()
    {
        return Err(ErasureError::Bare { seq: *seq, kind: event.kind.into_owned() });
    }
    Ok(selected)
}

/// A pass over the log.
struct Search<'s> {
    selector: &'s Selector,
    selected: Selected,
    /// What the selected events and turns are called, so that what was said because of them is found.
    names: BTreeSet<String>,
    /// How what was said in the turns begins, to be looked for in what later turns quote: they quote no more than that.
    quotes: BTreeSet<String>,
    /// The sentences of turns that go, until they have ended.
    asked: BTreeMap<TurnId, String>,
    /// Sentences and answers as later turns quote them, however short they are.
    pairs: BTreeSet<(String, String)>,
    /// The turns that do.
    quoting: BTreeSet<TurnId>,
    /// The blobs that hold the text.
    holding: Blobs,
    /// The text.
    wording: Option<Wording>,
    /// The blobs that events name which stay.
    kept: BTreeSet<BlobHash>,
}

impl<'s> Search<'s> {
    fn new(selector: &'s Selector, holding: Blobs, wording: Option<Wording>) -> Self {
        let names = if let Selector::Turn(id) = selector { [id.to_string()].into() } else { BTreeSet::new() };
        let (selected, quotes, kept) = (Selected::default(), BTreeSet::new(), BTreeSet::new());
        let (asked, pairs, quoting) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { selector, selected, names, quotes, asked, pairs, quoting, holding, wording, kept }
    }

    fn take(&mut self, mut recorded: Recorded) {
        self.look_at_names(&recorded);
        if matches!(recorded.body, Body::Erased | Body::Unknown(_)) {
            return;
        }
        let blobs: Vec<BlobHash> = recorded.events_mut().iter_mut().flat_map(Event::blobs).collect();
        // Long texts are looked into like short ones: as blobs they are JSON, in which a quotation mark is written otherwise.
        recorded.events_mut().iter_mut().flat_map(Event::kept).for_each(Kept::settle_inline);
        let json: Value = recorded.events().iter().map(Event::to_json).collect();
        let is_meant = blobs.iter().any(|blob| self.holding.exact.contains(blob)) || self.is_meant(&recorded, &json);
        if let Some(Event::TurnOpened(opened)) = recorded.event()
            && opened.history.iter().any(|pair| self.pairs.contains(pair))
        {
            self.quoting.extend(recorded.turn);
        }
        // What only quotes goes by itself: its turn is another one.
        let goes = is_meant || self.is_quoting(&recorded, &json);
        if is_meant {
            self.names.insert(recorded.id.to_string());
            self.names.extend(recorded.turn.map(|turn| turn.to_string()));
        }
        if goes {
            self.selected.turns.extend(recorded.turn);
        }
        if !goes || !recorded.is_erasable() {
            if recorded.is_erasable() {
                self.look_for_spellings(recorded.seq, &json, &blobs);
            } else if is_meant && self.wording.is_some() {
                *self.selected.staying.entry(recorded.kind.to_string()).or_default() += 1;
            }
            self.kept.extend(blobs);
            return;
        }
        self.selected.seqs.insert(recorded.seq);
        self.selected.words.name(recorded.turn.map_or(recorded.id.0, |turn| turn.0));
        self.selected.blobs.extend(blobs);
        *self.selected.kinds.entry(recorded.kind.to_string()).or_default() += 1;
        if recorded.kind.starts_with("schedule_") {
            self.selected.schedules.extend(recorded.stream.strip_prefix("schedule/").map(str::to_owned));
        }
        if !is_meant {
            return;
        }
        // A text is looked for by itself.
        if self.wording.is_none() {
            self.selected.words.take(&mut recorded, &json, matches!(self.selector, Selector::Event(_)));
        }
        if let Some(Event::TurnOpened(opened)) = recorded.event() {
            self.selected.texts.insert(opened.text.clone());
            self.asked.extend(recorded.turn.map(|turn| (turn, opened.text.clone())));
            self.quote(&opened.text);
        }
        if let Some(Event::TurnClosed(closed)) = recorded.event() {
            let told = closed.message.get().unwrap_or_default();
            let asked = recorded.turn.and_then(|turn| self.asked.remove(&turn));
            self.pairs.extend(asked.map(|asked| (shortened(&asked), shortened(told))));
            self.quote(told);
        }
    }

    /// Looks where nothing is erased: into how an event is called, and into one of a kind that a newer program wrote.
    fn look_at_names(&mut self, recorded: &Recorded) {
        let Some(Wording { sought, .. }) = &self.wording else { return };
        let names = [recorded.kind.as_ref(), &recorded.stream, &recorded.actor];
        self.selected.is_in_names |= names.iter().any(|name| sought.is_in(name.as_bytes()));
        if let Body::Unknown(payload) = &recorded.body
            && sought.is_in(payload)
        {
            *self.selected.staying.entry(recorded.kind.to_string()).or_default() += 1;
        }
    }

    /// Notes how the text is spelled in an event that stays.
    fn look_for_spellings(&mut self, seq: u64, json: &Value, blobs: &[BlobHash]) {
        let Some(Wording { spelling, .. }) = &self.wording else { return };
        let mut found = BTreeSet::new();
        spelling.others_in(json, &mut found);
        found.extend(blobs.iter().filter_map(|blob| self.holding.spelled.get(blob)).flatten().cloned());
        if !found.is_empty() {
            self.selected.spelled.insert(seq);
            self.selected.spellings.append(&mut found);
        }
    }

    /// What was found; a blob that something else names stays.
    fn end(self) -> Selected {
        let Self { mut selected, kept, .. } = self;
        selected.blobs.retain(|blob| !kept.contains(blob));
        selected
    }

    fn quote(&mut self, text: &str) {
        // Short answers are everybody's.
        if text.len() >= 16 {
            self.quotes.insert(text.chars().take(HISTORY_CHARACTERS).collect());
        }
    }

    fn is_meant(&self, recorded: &Recorded, json: &Value) -> bool {
        match self.selector {
            Selector::Event(seq) => recorded.seq == *seq,
            Selector::Text(_) => self
                .wording
                .as_ref()
                .is_some_and(|Wording { sought, .. }| holds(json, &|text| sought.is_in(text.as_bytes()))),
            Selector::Turn(id) => recorded.turn == Some(*id) || self.follows(recorded, json),
            Selector::Actor(actor) => {
                let own = recorded.actor == *actor && (recorded.turn.is_some() || is_said(&recorded.kind));
                own || self.follows(recorded, json)
            }
        }
    }

    /// Whether it holds what was said in what is selected: what a model was asked, and what a request was understood by.
    fn is_quoting(&self, recorded: &Recorded, json: &Value) -> bool {
        let is_reminded = recorded.turn.is_some_and(|turn| self.quoting.contains(&turn))
            && matches!(&*recorded.kind, "model_asked" | "turn_opened");
        is_reminded || (recorded.kind.starts_with("model_") || recorded.kind == "turn_opened") && self.quotes_any(json)
    }

    /// Whether something outside of turns was written because of what is selected, or led to it.
    fn follows(&self, recorded: &Recorded, json: &Value) -> bool {
        let caused = recorded.cause.is_some_and(|cause| self.names.contains(&cause.to_string()));
        recorded.turn.is_none() && (caused || names_any(json, &self.names))
    }

    fn quotes_any(&self, json: &Value) -> bool {
        self.quotes.iter().any(|quote| holds(json, &|text| text.contains(quote)))
    }
}

/// The blobs in which a text stands.
#[derive(Default)]
struct Blobs {
    exact: BTreeSet<BlobHash>,
    /// Those in which it is spelled otherwise.
    spelled: BTreeMap<BlobHash, BTreeSet<String>>,
}

/// A text as it is looked for.
struct Wording {
    /// In the forms in which files are searched for it: what is erased and what is found left are the same.
    sought: Sought,
    /// In other spellings.
    spelling: Spelling,
}

impl Wording {
    fn of(text: &str) -> Self {
        Self { sought: Sought::of(text), spelling: Spelling::of(text) }
    }
}

/// Looks into all blobs; into copies of files as they were before they were encrypted.
fn blobs_holding(instance: &Instance, wording: &Wording) -> Result<Blobs, ErasureError> {
    let mut holding = Blobs::default();
    instance.log.reader().each_blob(|hash, bytes| {
        let image = instance.keys.unseal(&bytes);
        let plain = image.as_deref().unwrap_or(&bytes);
        if wording.sought.is_in(&bytes) || wording.sought.is_in(plain) {
            holding.exact.insert(hash);
        }
        let mut found = BTreeSet::new();
        wording.spelling.others(plain, &mut found);
        if !found.is_empty() {
            holding.spelled.insert(hash, found);
        }
        Ok::<(), ErasureError>(())
    })?;
    Ok(holding)
}

/// What a person sends outside of turns.
fn is_said(kind: &str) -> bool {
    matches!(
        kind,
        "update_received" | "document_received" | "schedule_created" | "schedule_modified" | "message_queued"
    )
}

/// Whether something is true of any string of a value; strings that hold JSON are looked into as well.
fn holds(value: &Value, says: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(found) => {
            says(found)
                || found.starts_with(['{', '[', '"'])
                    && serde_json::from_str::<Value>(found).is_ok_and(|inner| holds(&inner, says))
        }
        Value::Array(items) => items.iter().any(|item| holds(item, says)),
        Value::Object(members) => members.iter().any(|(key, value)| says(key) || holds(value, says)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn names_any(value: &Value, names: &BTreeSet<String>) -> bool {
    match value {
        Value::String(found) => names.contains(found),
        Value::Array(items) => items.iter().any(|item| names_any(item, names)),
        Value::Object(members) => members.values().any(|value| names_any(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
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

/// Erases what was selected, from the log and from everything that is made of it.
pub fn erase(
    instance: &Instance,
    selector: &Selector,
    selected: &Selected,
    reason: &str,
) -> Result<Report, ErasureError> {
    refuse_open(instance, selected)?;
    let (rewritten, (backups, others)) = instance.alone(|| {
        let marker = instance.dirs.data.join(MARKER);
        fs::write(&marker, "").map_err(refused(&marker))?;
        forget_lines(instance, selector, selected)?;
        let rewritten = instance.log.erase(erasure(instance, selector, selected, reason))?;
        Ok::<_, ErasureError>((rewritten, follow(instance)?))
    })?;
    // A large home takes long to look through; nobody has to wait for that.
    let rewritten_files = rewritten_files(instance, &backups)?;
    let gone = match selector {
        Selector::Text(text) => Gone::text(text, &selected.blobs, !selected.staying.is_empty()),
        Selector::Turn(_) | Selector::Actor(_) | Selector::Event(_) => Gone::words(&selected.words, &selected.blobs),
    };
    let mut left = left::files(&instance.dirs, &rewritten_files, &gone);
    left.unread.extend(others);
    let missed = match selector {
        Selector::Text(text) if selected.is_all_of(text) => left::holding(&rewritten_files, text),
        _ => Vec::new(),
    };
    Ok(Report { rewritten, left, missed, backups: backups.len(), elsewhere: backups_elsewhere(instance)? })
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

fn erasure(instance: &Instance, selector: &Selector, selected: &Selected, reason: &str) -> Erasure {
    let (name, of) = match selector {
        Selector::Turn(id) => ("turn", id.to_string()),
        Selector::Actor(actor) => ("actor", actor.clone()),
        Selector::Event(seq) => ("event", seq.to_string()),
        Selector::Text(text) => ("text", instance.log.keyed_blob_hash(text.as_bytes()).to_string()),
    };
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

/// Whether a command broke off, and left something to be done.
pub fn is_pending(instance: &Instance) -> bool {
    instance.dirs.data.join(MARKER).exists()
}

/// Does what a command that broke off left to be done; says whether there was any.
pub fn resume(instance: &Instance) -> Result<bool, ErasureError> {
    if !is_pending(instance) {
        return Ok(false);
    }
    instance.alone(|| {
        // Another command of this process may just have been at it, and be done by now.
        if is_pending(instance) {
            instance.log.erase_archived()?;
            follow(instance)?;
        }
        Ok(true)
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

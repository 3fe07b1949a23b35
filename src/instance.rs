//! One open instance: folders, settings, keys, the log, and the projections that commands work with. Commands that run at
//! the same time share one; each has its own settings and its own person's folder.

mod caging;
mod credentials;
mod errors;
mod folds;
mod own;
pub mod people;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use metnos_log::event::instance::{
    CageDowngradeAccepted, ConfigurationChanged, EpochOpened, InstanceCreated, KeyAdmitted,
};
use metnos_log::store::{LogKeys, Pending, ReadError, last_seen};
use metnos_log::{Append, BlobHash, Draft, Event, EventId, Expect, Log, Micros, Reader, TurnId};
use metnos_projections::machines::actors::HOST;
use metnos_projections::machines::catalog::{Catalog, OWN_KEY};
use metnos_projections::machines::mnestome;
use metnos_projections::rules::Rules;
use metnos_projections::rules::simple::Tools;
use metnos_projections::views::configuration::{CAGE_DOWNGRADE, Configuration};
use metnos_projections::views::turns::Turns;
use serde_json::{Value, json};

use crate::config::credentials::Credentials;
use crate::config::{Dirs, Flags, Settings, Variables};
use crate::effects::trash::Trash;
use crate::export::audit::{ExportError, Follower};
use crate::llm::Models;
use crate::loader::check::Seen;
use crate::projector::{self, Projected, Watch};
use crate::sandbox;
use crate::scheduler::Scheduler;
use crate::seats::Seats;
use crate::signing::{Keys, hex};
use crate::untold::Untold;
use crate::views::Views;
use caging::Caging;
use errors::refuse_full_disk;
use folds::Folds;
pub use own::closed_folder;
use own::{refuse_foreign_key, refuse_lost_parts};

pub use crate::clock::now;
pub use errors::InstanceError;

/// What is recorded of the models.
const RUNTIME: &str = "runtime";
/// Why an epoch is opened where the log lost its end.
const END_LOST: &str = "end_lost";

/// What every thread of an open instance shares, whatever command it carries out.
pub struct Core {
    /// Its keys.
    pub keys: Keys,
    /// Its log.
    pub log: Log,
    /// The rules that it decides by.
    pub rules: Rules,
    /// The way to the models.
    pub models: Models,
    credentials: RwLock<Credentials>,
    /// Written by whoever changes the catalog, read by whoever decides by it: what a turn decided stands in the log behind
    /// the catalog that it was decided by, and before the next one.
    standing: RwLock<()>,
    /// Held by whoever looks after files that all commands share: exports, checkpoints, the executors' files.
    upkeep: Mutex<()>,
    /// The executors' files as they were when they were last what the log holds.
    pub executors: Mutex<Seen>,
    audit: Mutex<Option<Follower>>,
    /// What the scheduler of this process does just now.
    pub scheduler: Scheduler,
    /// Where questions are waited for within this process.
    pub seats: Seats,
    /// The commands that changed something and whose person has not seen how they ended.
    pub untold: Untold,
    /// The files of the views that grow with the log.
    pub views: Views,
}

/// An open instance, as one command has it: cheap to clone, for one thread or many.
#[derive(Clone)]
pub struct Instance {
    core: Arc<Core>,
    folds: Arc<Folds>,
    sandbox: Arc<Caging>,
    /// Its folders; the person's own is the command's.
    pub dirs: Dirs,
    /// Its settings, as the command's flags and variables make them.
    pub settings: Settings,
    /// Whether this command created it.
    pub is_new: bool,
    /// Who asks; every event of theirs names them.
    pub actor: String,
    found: u64,
    beyond: Option<u64>,
    /// The process that the person started: this one, or that of the command which this one carries out.
    pub asker: u32,
    variables: Variables,
}

/// Keys, log and rules are the same for every command.
impl Deref for Instance {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

impl Instance {
    /// Opens the instance, creating it if there is none; projections are caught up when this returns. Waits up to
    /// `patience` for another command to let go of the log.
    pub fn open(
        home: Option<&Path>,
        flags: &Flags,
        variables: &Variables,
        patience: Duration,
    ) -> Result<Self, InstanceError> {
        Self::open_watched(home, flags, variables, (patience, &|_, _| {}))
    }

    /// The same; `watch` is told how many events of how many are folded, where it is more than a few.
    pub fn open_watched(
        home: Option<&Path>,
        flags: &Flags,
        variables: &Variables,
        (patience, watch): (Duration, Watch<'_>),
    ) -> Result<Self, InstanceError> {
        let mut instance = Self::open_unfolded(home, flags, variables, patience)?;
        instance.load_projections(watch)?;
        if instance.is_new {
            instance.create()?;
        }
        instance.readmit_own_key()?;
        instance.record_lost_end()?;
        instance.record_host()?;
        instance.record_settings()?;
        Ok(instance)
    }

    /// Opens the instance without looking at a single event: for commands that examine a log that may be damaged.
    pub fn open_unfolded(
        home: Option<&Path>,
        flags: &Flags,
        variables: &Variables,
        patience: Duration,
    ) -> Result<Self, InstanceError> {
        Self::open_by(home, flags, variables, |path, keys, is_own| Log::open_own(path, keys, patience, is_own))
    }

    /// The same for a command that only looks: nothing is written to the log's file, whatever is in it.
    pub fn open_examined(
        home: Option<&Path>,
        flags: &Flags,
        variables: &Variables,
        patience: Duration,
    ) -> Result<Self, InstanceError> {
        Self::open_by(home, flags, variables, |path, keys, is_own| {
            let log = Log::examine(path, keys, patience)?;
            is_own(&log.reader())?;
            Ok(log)
        })
    }

    fn open_by(
        home: Option<&Path>,
        flags: &Flags,
        variables: &Variables,
        open: impl FnOnce(&Path, LogKeys, &dyn Fn(&Reader) -> Result<(), InstanceError>) -> Result<Log, InstanceError>,
    ) -> Result<Self, InstanceError> {
        let dirs = Dirs::resolve(home, variables)?;
        dirs.create()?;
        let dirs = Dirs::resolve(home, variables)?;
        refuse_lost_parts(&dirs)?;
        let settings = Settings::resolve(&dirs.config.join("metnos.toml"), flags, variables)?;
        let (keys, _) = Keys::open(&dirs.config.join("keys"))?;
        let credentials = Credentials::open(&dirs.config, &keys)?;
        let is_own = |reader: &Reader| refuse_foreign_key(&dirs, &keys, reader);
        let log = open(&dirs.log(), log_keys(&keys, &credentials), &is_own)?;
        let size = log.head().size;
        let is_new = size == 0;
        let seen = last_seen(&dirs.log(), log.id()).map(|(size, _)| size);
        let core = Core {
            keys,
            log,
            rules: Rules::embedded(),
            models: Models::default(),
            credentials: RwLock::new(credentials),
            standing: RwLock::default(),
            upkeep: Mutex::default(),
            executors: Mutex::default(),
            audit: Mutex::default(),
            scheduler: Scheduler::default(),
            seats: Seats::default(),
            untold: Untold::new(dirs.data.join("untold")),
            views: Views::default(),
        };
        Ok(Self {
            core: Arc::new(core),
            folds: Arc::default(),
            sandbox: Arc::default(),
            dirs,
            settings,
            is_new,
            actor: HOST.to_owned(),
            found: size,
            beyond: seen.filter(|seen| *seen > size),
            asker: std::process::id(),
            variables: variables.clone(),
        })
    }

    /// The same instance for another command: with its flags, its variables and its person's folder. The sandbox is shared
    /// with commands that ask for the same one.
    pub fn for_command(&self, flags: &Flags, variables: &Variables, asker: u32) -> Result<Self, InstanceError> {
        let dirs = Dirs { user_home: Dirs::user_home(variables), ..self.dirs.clone() };
        let settings = Settings::resolve(&dirs.config.join("metnos.toml"), flags, variables)?;
        let same = (&self.variables.sandbox, &self.variables.sandbox_backend)
            == (&variables.sandbox, &variables.sandbox_backend);
        let sandbox = if same { Arc::clone(&self.sandbox) } else { Arc::default() };
        let (core, folds) = (Arc::clone(&self.core), Arc::clone(&self.folds));
        let actor = self.actor.clone();
        let (found, beyond, variables) = (self.found, self.beyond, variables.clone());
        Ok(Self { core, folds, sandbox, dirs, settings, is_new: false, actor, found, beyond, asker, variables })
    }

    fn load_projections(&mut self, watch: Watch<'_>) -> Result<(), InstanceError> {
        let reader = self.log.reader();
        let folder = self.dirs.data.join("projections");
        let head = self.log.head();
        if self.is_new {
            // What was made of another log tells nothing of one that begins, and would be taken for what it has lost.
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                drop(std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path)));
            }
        }
        let loaded = projector::load(&folder, &reader, &head, watch)?;
        self.beyond = self.beyond.max(loaded.beyond);
        self.folds = Arc::new(Folds::of(loaded.projected, folder));
        Ok(self.folds.catch_up(&self.log, watch)?)
    }

    /// Writes the projections' checkpoints once `least` events came since the last time. They save time, nothing else: a
    /// failure costs the next start a rebuild.
    pub fn save_projections(&self, least: u64) -> std::io::Result<()> {
        if !self.folds.save(&self.log, &self.dirs.data.join("projections"), least)? {
            return Ok(());
        }
        let audit = self.core.audit.lock().unwrap_or_else(PoisonError::into_inner);
        audit.as_ref().map_or(Ok(()), |follower| follower.save(&self.audit_checkpoint()))
    }

    /// Where it stands how far the audit files are.
    fn audit_checkpoint(&self) -> PathBuf {
        self.dirs.data.join("projections/audit.json")
    }

    /// Folds everything again from event 1, and follows it into the audit files anew: after an erasure nothing that was made
    /// before is believed.
    pub fn fold_anew(&self) -> Result<(), ReadError> {
        *self.core.audit.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.folds.fold_anew(&self.log)
    }

    /// Folds what was appended since the last time.
    pub fn catch_up(&self) -> Result<(), ReadError> {
        self.folds.catch_up(&self.log, &|_, _| {})
    }

    fn create(&self) -> Result<(), InstanceError> {
        let public_key = self.keys.public_hex();
        let created = InstanceCreated {
            log_id: self.log.id().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            public_key: public_key.clone(),
        };
        let by = "first run".to_owned();
        let admitted = KeyAdmitted { key_id: self.keys.key_id(), public_key, role: OWN_KEY.to_owned(), by, name: None };
        self.record("instance", vec![created.into(), admitted.into()])
    }

    /// Says on the record that the log goes on from an end before which other files of the home had seen it: what is appended now
    /// takes the numbers of what was lost, and no file would tell it apart.
    fn record_lost_end(&self) -> Result<(), InstanceError> {
        let Some(known) = self.beyond else { return Ok(()) };
        let head = self.log.head();
        let lost = match head.size + 1 {
            first if first <= known => format!("events {first} to {known}"),
            _ => format!("a history of {known} events that other files of the home knew"),
        };
        let epoch = EpochOpened {
            reason: END_LOST.to_owned(),
            size: head.size,
            head_before: hex(&head.head),
            lost: vec![lost],
            again: None,
            lost_blobs: Vec::new(),
        };
        self.record("instance", vec![epoch.into()])?;
        // What was made of the other history would have it said again.
        if let Err(error) = self.save_projections(0) {
            tracing::warn!(%error, "the projections' checkpoints are not written");
        }
        Ok(())
    }

    /// Tells the usual pairs of executors to a log that does not have them.
    pub fn seed_mnests(&self) -> Result<(), InstanceError> {
        if self.folds.now().mnestome.is_seeded {
            return Ok(());
        }
        let seed = |then: &Projected| {
            Ok::<_, std::convert::Infallible>(("mnestome".to_owned(), mnestome::seed(&then.mnestome, &then.catalog)))
        };
        self.decide(seed)?.map_err(|never| match never {})
    }

    /// Records settings that shape decisions when they differ from what the log knows, so that replay sees them.
    pub fn record_settings(&self) -> Result<(), InstanceError> {
        let mut now = vec![
            ("autonomy", json!(self.settings.autonomy)),
            ("engine", json!(self.settings.engine)),
            ("network.allow", json!(self.settings.network_allow)),
        ];
        let mut events: Vec<Event> = Vec::new();
        let recorded = self.recorded_settings();
        // Where no model ever was bound, there is nothing to say about models.
        if self.settings.llm.all().next().is_some() || recorded.values.contains_key(RUNTIME) {
            now.push((RUNTIME, self.settings.llm.recorded()));
        }
        now.extend(self.of_keeping(&recorded));
        for (key, value) in now {
            let old = recorded.values.get(key).cloned();
            if old.as_ref() != Some(&value) {
                events.push(
                    ConfigurationChanged { key: key.to_owned(), old: old.map(Into::into), new: value.into() }.into(),
                );
            }
        }
        if self.is_uncaged() && !recorded.values.contains_key(CAGE_DOWNGRADE) {
            let (level, reason) =
                ("none".to_owned(), "METNOS_SANDBOX was set to off by whoever started the process".to_owned());
            events.push(CageDowngradeAccepted { level, reason }.into());
        }
        drop(recorded);
        if events.is_empty() { Ok(()) } else { self.record("instance", events) }
    }

    /// What is kept how long and what is anchored, once that is not what it is by default.
    fn of_keeping(&self, recorded: &Configuration) -> Vec<(&'static str, Value)> {
        let now = self.settings.kept();
        now.into_iter()
            .filter(|(key, _, is_usual)| !is_usual || recorded.values.contains_key(*key))
            .map(|(key, value, _)| (key, value.into()))
            .collect()
    }

    /// The same instance with its settings as the file has them now: for what a daemon does long after its start.
    pub fn as_set_now(&self) -> Result<Self, InstanceError> {
        let now = self.for_command(&Flags::default(), &self.variables, self.asker)?;
        now.catch_up()?;
        now.record_settings()?;
        Ok(now)
    }

    /// The projections as they were at a moment, and the chain's head there.
    pub fn at(&self, until: projector::Until) -> Result<(Projected, [u8; 32]), ReadError> {
        projector::at(&self.dirs.data.join("projections"), &self.log.reader(), until)
    }

    /// Puts the projections back to a moment, for this command alone: it asks how things stood then.
    pub fn rewind(&mut self, until: projector::Until) -> Result<(), ReadError> {
        let (then, _) = self.at(until)?;
        self.folds = Arc::new(Folds::of(then, self.dirs.data.join("projections")));
        Ok(())
    }

    /// How many events a file that was made of the log knew, where the log does not bear them out: it was put back, or lost
    /// its end.
    pub fn beyond(&self) -> Option<u64> {
        self.beyond
    }

    /// How many events the log had when it was opened.
    pub fn found(&self) -> u64 {
        self.found
    }

    /// The executors as they stand now. What changes later does not change what was given.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.folds.now().catalog
    }

    /// The planner's index of the executors as they stand now.
    pub fn tools(&self) -> Arc<Tools> {
        self.folds.catalog_and_tools().1
    }

    /// The turns as they stand now.
    pub fn turns(&self) -> Arc<Turns> {
        self.folds.now().turns
    }

    /// The settings as the log knows them now.
    pub fn recorded_settings(&self) -> Arc<Configuration> {
        self.folds.now().configuration
    }

    /// All projections, as of one event.
    pub fn projected(&self) -> Projected {
        self.folds.now()
    }

    /// Decides by the catalog and hands over what follows, while nothing else can change it: the log has both in that order.
    pub fn while_it_stands<T>(&self, decide: impl FnOnce(&Catalog, &Tools) -> T) -> T {
        let _stands = self.core.standing.read().unwrap_or_else(PoisonError::into_inner);
        let (catalog, tools) = self.folds.catalog_and_tools();
        decide(&catalog, &tools)
    }

    /// Does what only one command at a time may do with the files that all of them share.
    pub fn alone<T>(&self, work: impl FnOnce() -> T) -> T {
        let _alone = self.core.upkeep.lock().unwrap_or_else(PoisonError::into_inner);
        work()
    }

    /// Brings the audit files to where the log is.
    pub fn follow_audit(&self) -> Result<(), ExportError> {
        let mut audit = self.core.audit.lock().unwrap_or_else(PoisonError::into_inner);
        let follower = audit.get_or_insert_with(|| Follower::load(&self.audit_checkpoint()));
        follower.follow(&self.log, &self.dirs.workspace.join(".audit"))
    }

    /// Appends events of one stream by the owner, waits until they are on disk, and folds them.
    pub fn record(&self, stream: &str, events: Vec<Event>) -> Result<(), InstanceError> {
        let decided = self.change(stream, Vec::new(), |_| Ok::<_, std::convert::Infallible>(events))?;
        match decided {
            Ok(()) => Ok(()),
            Err(never) => match never {},
        }
    }

    /// Decides by how things stand what is to change, appends it, waits until it is on disk, and folds it; meanwhile nothing
    /// else is decided. The inner result is the decision's own refusal.
    pub fn change<E>(
        &self,
        stream: &str,
        blobs: Vec<(BlobHash, Vec<u8>)>,
        decide: impl FnOnce(&Projected) -> Result<Vec<Event>, E>,
    ) -> Result<Result<(), E>, InstanceError> {
        self.append_decided(|projected| {
            let time = now();
            let mut drafts: Vec<Draft> =
                decide(projected)?.into_iter().map(|event| self.draft(stream, time, event)).collect();
            if let Some(first) = drafts.first_mut() {
                first.blobs = blobs;
            }
            Ok(drafts)
        })
    }

    /// The same where the stream is decided too.
    pub fn decide<E>(
        &self,
        decide: impl FnOnce(&Projected) -> Result<(String, Vec<Event>), E>,
    ) -> Result<Result<(), E>, InstanceError> {
        self.append_decided(|projected| {
            let (time, (stream, events)) = (now(), decide(projected)?);
            Ok(events.into_iter().map(|event| self.draft(&stream, time, event)).collect())
        })
    }

    /// The same for whole drafts, each with the stream, the id, the cause and the blobs that the caller gives it.
    pub fn append_decided<E>(
        &self,
        decide: impl FnOnce(&Projected) -> Result<Vec<Draft>, E>,
    ) -> Result<Result<(), E>, InstanceError> {
        let _alone = self.core.standing.write().unwrap_or_else(PoisonError::into_inner);
        // Turns are appended beside this lock; what they wrote by now is decided by too.
        self.catch_up()?;
        let events = match decide(&self.folds.now()) {
            Ok(events) => events,
            Err(refused) => return Ok(Err(refused)),
        };
        if !events.is_empty() {
            self.log.append(Append { events, expect: Expect::Any })?;
            self.catch_up()?;
        }
        Ok(Ok(()))
    }

    /// Hands events of one turn to the log; the caller waits for the acknowledgement where it matters.
    pub fn submit_turn(
        &self,
        id: TurnId,
        cause: Option<EventId>,
        (version, time): (u64, Micros),
        events: Vec<Event>,
        blobs: Vec<(BlobHash, Vec<u8>)>,
    ) -> Pending {
        let own = metnos_projections::machines::turn::stream(id);
        let mut drafts: Vec<Draft> = events
            .into_iter()
            .map(|event| {
                let stream = metnos_projections::machines::turn::stream_of(id, &event);
                Draft { turn: Some(id), cause, ..self.draft(&stream, time, event) }
            })
            .collect();
        if let Some(first) = drafts.first_mut() {
            first.blobs = blobs;
        }
        // What the expectation is about is the stream that leads: the turn's own, or that of a question, which is put once
        // and ends once, however many would answer it at the same time. A passing may come first too.
        let expect = match drafts.first().map(|draft| (draft.stream == own, &draft.event)) {
            Some((true, _)) if version == 0 => Expect::NoStream,
            Some((true, _)) => Expect::Exact(version),
            Some((_, Event::DialogOpened(_))) => Expect::NoStream,
            Some((_, Event::DialogAnswered(_) | Event::DialogExpired(_) | Event::DialogWithdrawn(_))) => {
                Expect::Exact(1)
            }
            _ => Expect::Any,
        };
        self.log.submit(Append { events: drafts, expect })
    }

    fn draft(&self, stream: &str, time: Micros, event: Event) -> Draft {
        Draft {
            id: EventId::new(time, random()),
            time,
            stream: stream.to_owned(),
            actor: self.actor.clone(),
            turn: None,
            cause: None,
            event,
            blobs: Vec::new(),
        }
    }

    /// Where deleted things go: the person's trash.
    pub fn trash(&self) -> Trash {
        Trash::new(&self.dirs.user_home, self.variables.xdg_data.as_deref())
    }

    /// The environment as it was read at start.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// Whether the log takes events: an error while it was written stops it for good.
    pub fn takes_events(&self) -> bool {
        self.log.watch().has_changed().is_ok()
    }

    /// Refuses new work on a disk that is nearly full.
    pub fn refuse_full_disk(&self) -> Result<(), InstanceError> {
        refuse_full_disk(&self.dirs)
    }
}

/// What a log of these keys is opened with.
pub fn log_keys(keys: &Keys, credentials: &Credentials) -> LogKeys {
    LogKeys {
        blob_key: keys.derived("metnos blob key v1"),
        redactor: credentials::redactor(keys, credentials),
        fresh_id: random(),
        signing: keys.for_checkpoints(),
    }
}

/// Fresh random bytes.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    bytes
}

/// What a new instance still lacks, in a person's words: key and value for the texts.
pub fn missing(instance: &Instance) -> Vec<(&'static str, Value)> {
    let mut missing = Vec::new();
    if instance.settings.llm.all().next().is_none() {
        missing.push(("first_run.no_model", json!({})));
    }
    if instance.credential(crate::channel::telegram::CHANNEL).is_none() {
        missing.push(("first_run.no_telegram", json!({})));
    }
    if let Ok(sandbox) = instance.sandbox() {
        let report = sandbox.capabilities();
        if report.level != sandbox::Level::Full {
            missing.push(("first_run.partial_cage", json!({ "missing": report.missing })));
        }
    }
    missing
}

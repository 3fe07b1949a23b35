//! Makes histories through the real machines: what is given are facts (what the clock, the disk, a person, a model said), and
//! every decision is computed.
//!
//! The executors are the product's own, with their real manifests and schemas. Ids, times and keys are the same in each run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use metnos::projector::Projected;
use metnos_log::envelope::{Body, REDACTED};
use metnos_log::event::executor::{Artefact, BirthTestsRun, CaseVerdict, ExecutorInstalled, ExecutorSigned, LifeCycle};
use metnos_log::event::instance::{ConfigurationChanged, InstanceCreated, KeyAdmitted};
use metnos_log::event::schedule::Contract;
use metnos_log::event::turn::TurnOpened;
use metnos_log::{BlobHash, Event, EventId, Micros, Recorded, TurnId};
use metnos_projections::machines::actors::{self, HOST, Role};
use metnos_projections::machines::catalog;
use metnos_projections::machines::channels::Channel;
use metnos_projections::machines::schedules;
use metnos_projections::machines::turn::stream_of;
use metnos_projections::replay;
use metnos_projections::rules::Rules;
use metnos_projections::rules::simple::Tools;
use serde_json::{Value, json};

use crate::turning::Turning;

/// The person's folder in every made history.
pub const HOME: &str = "/home/owner";
/// When a made history begins, unless it says otherwise.
const BEGIN: &str = "2026-03-02T08:00:00Z";
/// The key of a made history: nobody has its other half.
const KEY: &str = "metnos made history";

/// A history in the making.
pub struct History {
    pub(crate) rules: Rules,
    pub(crate) projected: Projected,
    tools: Option<(u64, Tools)>,
    clock: i64,
    recorded: Vec<Recorded>,
    versions: BTreeMap<String, u64>,
    /// Names the key that signs.
    key: String,
    /// Who acts.
    actor: String,
    /// The event that what follows is written for.
    cause: Option<EventId>,
    /// The newest turn.
    turn: Option<TurnId>,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../executors").join(name)
}

impl History {
    /// What follows the events that a home already has.
    pub fn after(events: Vec<Recorded>) -> Self {
        let mut history = Self::empty(BEGIN);
        for recorded in events {
            history.versions.insert(recorded.stream.clone(), recorded.version);
            history.projected.evolve(&recorded);
            if let Some(Event::KeyAdmitted(admitted)) = recorded.event() {
                history.key.clone_from(&admitted.key_id);
            }
            history.recorded.push(recorded);
        }
        history
    }

    /// A home's first events.
    pub fn begin() -> Self {
        Self::begin_at(BEGIN)
    }

    /// The same at that moment.
    pub fn begin_at(time: &str) -> Self {
        let mut history = Self::empty(time);
        let public_key = blake3::hash(KEY.as_bytes()).to_hex().to_string();
        let created = InstanceCreated {
            log_id: public_key[..32].to_owned(),
            version: "0.1.0".to_owned(),
            public_key: public_key.clone(),
        };
        let (role, by) = ("instance".to_owned(), "first run".to_owned());
        history.push("instance", created);
        history.push("instance", KeyAdmitted { key_id: key_id(), public_key, role, by, name: None });
        let settings = [("autonomy", json!("supervised")), ("engine", json!("auto"))];
        for (key, new) in settings {
            history.push("instance", ConfigurationChanged { key: key.to_owned(), old: None, new: new.into() });
        }
        history
    }

    fn empty(time: &str) -> Self {
        Self {
            rules: Rules::embedded(),
            projected: Projected::default(),
            tools: None,
            clock: micros(time),
            recorded: Vec::new(),
            versions: BTreeMap::new(),
            key: key_id(),
            actor: HOST.to_owned(),
            cause: None,
            turn: None,
        }
    }

    /// The clock stands there from here on; it may go back.
    #[must_use]
    pub fn at(mut self, time: &str) -> Self {
        self.clock = micros(time);
        self
    }

    /// So many seconds pass.
    #[must_use]
    pub fn later(mut self, seconds: i64) -> Self {
        self.clock += seconds * 1_000_000;
        self
    }

    /// One of the product's executors is signed, installed and active.
    #[must_use]
    pub fn executor(self, name: &str) -> Self {
        let version = manifest(name).executor.version;
        self.version(name, &version)
    }

    /// The same under another version's number.
    #[must_use]
    pub fn version(mut self, name: &str, version: &str) -> Self {
        let (mut manifest, version) = (manifest(name), version.to_owned());
        manifest.executor.version.clone_from(&version);
        let read = |file: &str| {
            let path = folder(name).join(file);
            fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let hash = |bytes: &[u8]| BlobHash(*blake3::hash(bytes).as_bytes());
        let schema_text = read("schema.json");
        let schema: Value = serde_json::from_slice(&schema_text).expect("the product's schemas are JSON");
        let manifest = serde_json::to_value(&manifest).expect("a manifest is plain data");
        let parts =
            [("main.py", read("main.py")), ("schema.json", schema_text), ("tests/birth.py", read("tests/birth.py"))];
        let artefacts = parts.each_ref().map(|(file, bytes)| Artefact {
            file: (*file).to_owned(),
            blob: hash(bytes),
            bytes: bytes.len() as u64,
        });
        let whole = hash(manifest.to_string().as_bytes());
        let signed = ExecutorSigned {
            name: name.to_owned(),
            version: version.clone(),
            manifest: whole,
            code: artefacts[0].blob,
            schema: artefacts[1].blob,
            tests: artefacts[2].blob,
            lock: format!("blake3:{whole}"),
            signature: format!("{whole}{whole}"),
            key_id: self.key.clone(),
        };
        let installed = ExecutorInstalled {
            name: name.to_owned(),
            version: version.clone(),
            artefacts: artefacts.to_vec(),
            manifest: manifest.into(),
            schema: schema.into(),
        };
        let birth = BirthTestsRun {
            name: name.to_owned(),
            version,
            content: whole,
            interpreter: "3.12".to_owned(),
            cage: "full".to_owned(),
            cases: vec![CaseVerdict { name: "made".to_owned(), passed: true, reason: None }],
        };
        let command = catalog::Command::Install { signed, installed, birth, by: "first run".to_owned() };
        self.catalog(name, command);
        self
    }

    /// One of the executors that the program carries itself.
    #[must_use]
    pub fn builtin(mut self, name: &str) -> Self {
        let builtin = metnos::builtins::ALL.iter().find(|builtin| builtin.name == name);
        let builtin = builtin.unwrap_or_else(|| panic!("there is no builtin {name}"));
        for event in builtin.events(None) {
            self.push(&format!("executor/{name}"), event);
        }
        self
    }

    /// What the loader or the owner wants of an executor.
    #[must_use]
    pub fn moves(mut self, name: &str, command: catalog::Command) -> Self {
        self.catalog(name, command);
        self
    }

    fn catalog(&mut self, name: &str, command: catalog::Command) {
        let events = catalog::decide(&self.projected.catalog, command).unwrap_or_else(|error| panic!("{error}"));
        for event in events {
            self.push(&format!("executor/{name}"), event);
        }
    }

    /// Something about the people.
    #[must_use]
    pub fn people(mut self, command: actors::Command) -> Self {
        let decided = actors::decide(&self.projected.actors, command, Micros(self.clock));
        let (stream, events) = decided.unwrap_or_else(|error| panic!("{error:?}"));
        for event in events {
            self.push(&stream, event);
        }
        self
    }

    /// A guest is known.
    #[must_use]
    pub fn guest(self, actor: &str) -> Self {
        let (actor, name) = (actor.to_owned(), Some("Ada".to_owned()));
        self.people(actors::Command::Add { actor, role: Role::Guest, name })
    }

    /// Who acts from here on.
    #[must_use]
    pub fn by(mut self, actor: &str) -> Self {
        actor.clone_into(&mut self.actor);
        self
    }

    /// Something about what happens at times.
    #[must_use]
    pub fn schedule(mut self, command: schedules::Command) -> Self {
        let decided = schedules::decide(&self.projected.schedules, command, Micros(self.clock));
        let (id, events) = decided.unwrap_or_else(|error| panic!("{error:?}"));
        for event in events {
            self.push(&schedules::stream(&id), event);
        }
        self
    }

    /// A reminder is to come at times of a zone.
    #[must_use]
    pub fn reminds(self, cadence: &str, zone: &str, more: impl FnOnce(&mut Contract)) -> Self {
        let mut contract = Contract {
            kind: "reminder".to_owned(),
            cadence: cadence.to_owned(),
            anchor: self.clock,
            zone: zone.to_owned(),
            zone_version: "2026a".to_owned(),
            on_failure: "skip".to_owned(),
            failures_max: 3,
            timeout_s: 600,
            channel: "console".to_owned(),
            language: "en".to_owned(),
            folder: HOME.to_owned(),
            ..Contract::default()
        };
        more(&mut contract);
        let (actor, what) = (self.actor.clone(), "water the plants".to_owned());
        self.schedule(schedules::Command::Create { actor, job: None, what, contract: Box::new(contract), turn: None })
    }

    /// It is time for the next slot of a schedule.
    #[must_use]
    pub fn due(mut self, schedule: &str) -> Self {
        self.clock = self.next(schedule).expect("a slot is to come");
        self
    }

    /// The slot that has come is claimed, and settled with that.
    #[must_use]
    pub fn fires(self, schedule: &str, outcome: schedules::Outcome) -> Self {
        let claimed = self.schedule(schedules::Command::Claim(schedule.to_owned()));
        claimed.settles(schedule, outcome)
    }

    /// What runs is settled.
    #[must_use]
    pub fn settles(self, schedule: &str, outcome: schedules::Outcome) -> Self {
        let fire = self.projected.schedules.schedules[schedule].fire.clone().expect("something runs");
        let (schedule, attempt) = (schedule.to_owned(), fire.attempt);
        self.schedule(schedules::Command::Settle { schedule, fire: fire.fire, attempt, outcome })
    }

    /// A fact as it is.
    #[must_use]
    pub fn fact(mut self, stream: &str, event: impl Into<Event>) -> Self {
        self.push(stream, event);
        self
    }

    /// What follows is written for the newest event.
    #[must_use]
    pub fn because(mut self) -> Self {
        self.cause = self.recorded.last().map(|recorded| recorded.id);
        self
    }

    /// The newest event's id.
    pub fn newest(&self) -> EventId {
        self.recorded.last().expect("a history has events").id
    }

    /// A sentence, and what became of it.
    #[must_use]
    pub fn turn(self, text: &str, course: impl FnOnce(Turning<'_>) -> Turning<'_>) -> Self {
        self.turn_as(text, |_| {}, course)
    }

    /// The same, with what else was known when it was opened.
    #[must_use]
    pub fn turn_as(
        mut self,
        text: &str,
        known: impl FnOnce(&mut TurnOpened),
        course: impl FnOnce(Turning<'_>) -> Turning<'_>,
    ) -> Self {
        let id = TurnId::new(Micros(self.clock), self.bytes());
        self.turn = Some(id);
        let mut opened = opened(text, self.rules.digest());
        known(&mut opened);
        let turning = Turning::open(&mut self, id, opened);
        let _turning = course(turning);
        self.cause = None;
        self.clock += 1_000_000;
        self
    }

    /// The payloads of that kind in the newest turn are erased.
    #[must_use]
    pub fn erased(mut self, kind: &str) -> Self {
        let turn = self.turn;
        let meant = |recorded: &&mut Recorded| recorded.turn == turn && recorded.kind == kind;
        self.recorded.iter_mut().filter(meant).for_each(|recorded| recorded.body = Body::Erased);
        self
    }

    /// In the newest turn, a text was taken out before it was written down.
    #[must_use]
    pub fn redacted(mut self, text: &str, placeholder: &str) -> Self {
        let turn = self.turn;
        for recorded in self.recorded.iter_mut().filter(|recorded| recorded.turn == turn) {
            let Body::Known(event) = &recorded.body else { continue };
            let said = event.to_json().to_string();
            if !said.contains(text) {
                continue;
            }
            let said = serde_json::from_str(&said.replace(text, placeholder)).expect("only a text was replaced");
            let event = Event::from_json(&recorded.kind, recorded.schema, said).expect("it has its kind's shape");
            recorded.body = event.map_or(Body::Erased, Body::Known);
            recorded.flags |= REDACTED;
        }
        self
    }

    /// An event of a kind that only a newer program knows.
    #[must_use]
    pub fn newer(mut self, kind: &str, in_turn: bool) -> Self {
        let stand_in = ConfigurationChanged { key: String::new(), old: None, new: Value::Null.into() };
        self.push("instance", stand_in);
        let turn = self.turn.filter(|_| in_turn);
        if let Some(recorded) = self.recorded.last_mut() {
            recorded.kind = kind.to_owned().into();
            (recorded.body, recorded.turn) = (Body::Unknown(Vec::new()), turn);
        }
        self
    }

    /// The version of an executor that calls get.
    pub fn current(&self, name: &str) -> String {
        self.projected.catalog.executors[name].current.clone().unwrap_or_default()
    }

    /// Where an executor is in its life.
    pub fn life(&self, name: &str) -> LifeCycle {
        self.projected.catalog.executors[name].life
    }

    /// The next slot of a schedule, µs.
    pub fn next(&self, schedule: &str) -> Option<i64> {
        self.projected.schedules.schedules[schedule].next
    }

    /// The slot in which a schedule runs just now, µs.
    pub fn running(&self, schedule: &str) -> Option<i64> {
        self.projected.schedules.schedules[schedule].fire.as_ref().map(|fire| fire.slot)
    }

    /// What a schedule is to keep to.
    pub fn contract(&self, schedule: &str) -> Contract {
        self.projected.schedules.schedules[schedule].contract.clone()
    }

    /// A channel as it stands.
    pub fn channel(&self, name: &str) -> &Channel {
        self.projected.channels.get(name)
    }

    /// What the clock shows, µs.
    pub fn time(&self) -> i64 {
        self.clock
    }

    /// The events. Folded anew: what was erased or replaced since is in no projection.
    pub fn events(&self) -> &[Recorded] {
        &self.recorded
    }

    /// The history as a file.
    pub fn text(&self) -> String {
        let line = |all: String, recorded| all + &metnos::export::history::line(recorded).to_string() + "\n";
        self.recorded.iter().fold(String::new(), line)
    }

    pub(crate) fn now(&self) -> Micros {
        Micros(self.clock)
    }

    pub(crate) fn pass(&mut self, micros: i64) {
        self.clock += micros;
    }

    pub(crate) fn tools(&mut self) -> &Tools {
        let generation = self.projected.catalog.generation;
        if self.tools.as_ref().is_none_or(|(known, _)| *known != generation) {
            self.tools = Some((generation, replay::tools(&self.projected.catalog)));
        }
        self.tools.as_ref().map(|(_, tools)| tools).expect("it was just made")
    }

    fn bytes(&self) -> [u8; 10] {
        let hash = blake3::hash(&(self.recorded.len() as u64).to_le_bytes());
        hash.as_bytes()[..10].try_into().expect("ten bytes are ten bytes")
    }

    fn push(&mut self, stream: &str, event: impl Into<Event>) {
        self.record(stream, None, event.into());
    }

    pub(crate) fn push_of(&mut self, turn: TurnId, event: Event) {
        self.record(&stream_of(turn, &event), Some(turn), event);
    }

    fn record(&mut self, stream: &str, turn: Option<TurnId>, event: Event) {
        let version = self.versions.entry(stream.to_owned()).or_default();
        *version += 1;
        let id = schedules::id_of(&event).unwrap_or_else(|| EventId::new(Micros(self.clock), self.bytes()));
        let recorded = Recorded {
            seq: self.recorded.len() as u64 + 1,
            id,
            time: Micros(self.clock),
            stream: stream.to_owned(),
            version: self.versions[stream],
            kind: event.label().into(),
            schema: event.schema(),
            actor: self.actor.clone(),
            turn,
            cause: self.cause,
            flags: 0,
            body: Body::Known(event),
        };
        self.projected.evolve(&recorded);
        self.recorded.push(recorded);
    }
}

fn micros(time: &str) -> i64 {
    time.parse::<jiff::Timestamp>().unwrap_or_else(|error| panic!("{time}: {error}")).as_microsecond()
}

fn key_id() -> String {
    blake3::hash(blake3::hash(KEY.as_bytes()).to_hex().as_bytes()).to_hex()[..16].to_owned()
}

fn manifest(name: &str) -> metnos_projections::manifest::Manifest {
    let path = folder(name).join("manifest.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn opened(text: &str, digest: &str) -> TurnOpened {
    TurnOpened {
        text: text.to_owned(),
        language: None,
        fallback_language: "en".to_owned(),
        channel: "console".to_owned(),
        engine: "auto".to_owned(),
        mode: "local".to_owned(),
        autonomy: "supervised".to_owned(),
        approve: "none".to_owned(),
        home: HOME.to_owned(),
        own: ["/m/config", "/m/data", "/m/workspace/.audit"].map(str::to_owned),
        folder: HOME.to_owned(),
        zone: "Europe/Rome".to_owned(),
        existing: Vec::new(),
        rules_digest: digest.to_owned(),
        given: None,
        dialogs: false,
        address: None,
        proposer: None,
        history: Vec::new(),
        within: None,
        patience_s: None,
        salt: None,
    }
}

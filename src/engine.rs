//! Turns the loop: command → decide → append → apply → react → effect, whose answer is a command again.
//!
//! Blocking, one thread a turn. Appends are handed to the log's writer in order and awaited where it matters: before the
//! first change to the world, and before the answer leaves. A turn that the person stops ends where it stands: between two
//! effects, or between two changes.

mod again;
mod asking;
mod changes;
mod person;
mod preparing;
mod record;
mod thinking;

pub(crate) use thinking::{HISTORY_CHARACTERS, shortened};

use std::path::{Path, PathBuf};
use std::time::Instant;

use metnos_log::envelope::Body;
use metnos_log::event::turn::TurnOpened;
use metnos_log::store::Pending;
use metnos_log::{AppendError, BlobHash, Event, EventId, TurnId};
use metnos_projections::machines::turn::command::Command;
use metnos_projections::machines::turn::{Context, Effect, Phase, Rejection, Turn, decide_and_apply, react};
use metnos_projections::messages::Language;
use metnos_projections::rules::cage_plan::Autonomy;
use metnos_projections::rules::simple;
use metnos_projections::views::turns::ERASED;
use serde_json::Value;

pub use again::{Absent, go_on, resume};
pub use person::{Answer, ELSEWHERE, Person};

use crate::ageing;
use crate::cause::plain;
use crate::faults;
use crate::gateway::call::{Around, PreparedCall};
use crate::gateway::{Caller, call};
use crate::instance::{Instance, InstanceError, now, people, random};
use crate::loader::check;
use crate::sandbox::{CallFailure, CancelFlag, Progress, SandboxError};
use crate::seats::Seat;
use crate::signing::hex;
use record::never_ran;

/// The most changes that an event lists itself, and the most outcomes that get an event each.
const LISTED_MAX: usize = 16;

/// Why a turn could not be carried to its end. The record holds what happened until then.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The log did not take an event.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The instance failed.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// A command did not fit: a fault of the program.
    #[error("the turn took a wrong way: {0}")]
    Rejected(#[from] Rejection),
    /// Changes were made, and the system could not bring them to the disk; the next start looks at each again.
    #[error("changes could not be brought to the disk: {0}")]
    Settle(#[source] std::io::Error),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] metnos_log::store::ReadError),
}

/// A sentence and how it came.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The turn's id, where it follows from what asked for it: a message, a slot of a schedule. Asked for again, the turn
    /// does not begin again.
    pub id: Option<TurnId>,
    /// The event that asked for it.
    pub cause: Option<EventId>,
    /// Where on the channel the answer goes.
    pub address: Option<String>,
    /// What the person wrote.
    pub text: String,
    /// What was approved in advance: `none`, `reads`, `all`.
    pub approve: String,
    /// Where relative paths start.
    pub folder: PathBuf,
    /// The channel.
    pub channel: String,
    /// A step that a command names itself, instead of the text: `{"tool", "args"}`; several: `{"steps"}`.
    pub given: Option<Value>,
    /// Whether a question can be answered where it is asked: then the turn waits for it.
    pub dialogs: bool,
    /// How long its questions for consent wait, in seconds, where that is not the usual time.
    pub patience_s: Option<u32>,
}

/// What became of the question that a turn waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// An answer.
    Answered {
        /// What the person wrote.
        answer: String,
        /// Where.
        channel: String,
    },
    /// Nobody answered in time.
    Lapsed,
    /// It is no longer put: by `person`, or for another `question`.
    Withdrawn(&'static str),
}

/// The facts of a sentence, gathered at the edge: what it names on disk, where and when it was said.
pub fn opened(instance: &Instance, request: &Request) -> TurnOpened {
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let own = instance.dirs.own();
    let settings = &instance.settings;
    let forced = settings.language.filter(|_| settings.language_forced);
    let within = instance.perimeter();
    let folder = instance.folder_within(&request.folder, within.as_deref());
    let existing = existing(instance, within.as_deref(), &request.text, &folder);
    TurnOpened {
        text: request.text.clone(),
        language: forced.map(|language| language.code().to_owned()),
        fallback_language: instance.language().code().to_owned(),
        channel: request.channel.clone(),
        engine: settings.engine.clone(),
        mode: "local".to_owned(),
        autonomy: instance.autonomy(),
        approve: request.approve.clone(),
        home: text(&instance.own_folder()),
        own: [own.config, own.data, own.audit],
        folder: text(&folder),
        zone: settings.zone.clone(),
        existing,
        rules_digest: instance.rules.digest().to_owned(),
        given: request.given.clone().map(Into::into),
        dialogs: request.dialogs,
        address: request.address.clone(),
        proposer: thinking::proposer(instance),
        history: thinking::history(instance, request),
        within,
        patience_s: request.patience_s,
        salt: Some(hex(&random::<16>())),
    }
}

/// The parts of a sentence that name something on disk; of a guest's, something within their folders.
fn existing(instance: &Instance, within: Option<&[String]>, text: &str, folder: &Path) -> Vec<(u32, u32)> {
    let there = |&(start, end): &(u32, u32)| {
        let name = text.get(start as usize..end as usize).unwrap_or_default();
        let path = match name.strip_prefix('~') {
            Some(below) if below.is_empty() || below.starts_with('/') => {
                instance.own_folder().join(below.trim_start_matches('/'))
            }
            _ => folder.join(name),
        };
        !name.is_empty() && !name.contains('\0') && path.symlink_metadata().is_ok() && people::is_within(&path, within)
    };
    simple::candidates_for_existing(text).into_iter().filter(there).collect()
}

/// What a call of this turn needs to know of its surroundings.
pub fn caller(instance: &Instance, turn: &Turn, id: TurnId) -> Caller {
    let opened = turn.opened.as_ref();
    let dirs = &instance.dirs;
    let autonomy = opened.map(|opened| Value::String(opened.autonomy.clone())).unwrap_or_default();
    Caller {
        home: opened.map_or_else(|| instance.own_folder(), |opened| PathBuf::from(&opened.home)),
        folder: opened.map_or_else(|| instance.own_folder(), |opened| PathBuf::from(&opened.folder)),
        within: opened.map_or_else(|| instance.perimeter(), |opened| opened.within.clone()),
        places: dirs.places(),
        own: dirs.own(),
        autonomy: serde_json::from_value(autonomy).unwrap_or(Autonomy::ReadOnly),
        grants: instance.granted(),
        cages: call::cages(&dirs.data),
        network_allow: instance.settings.network_allow.clone(),
        language: turn.language.code().to_owned(),
        zone: opened.map_or_else(|| "UTC".to_owned(), |opened| opened.zone.clone()),
        turn_id: id.to_string(),
        salt: turn.salt().map(str::to_owned),
    }
}

/// One turn being carried out.
struct Run<'a> {
    instance: &'a Instance,
    person: &'a dyn Person,
    cancel: CancelFlag,
    id: TurnId,
    /// The event that led to what is appended next.
    cause: Option<EventId>,
    turn: Turn,
    prepared: Option<PreparedCall>,
    pending: Vec<Pending>,
    /// Whether an earlier process was making the changes that are up, and may have made some that it did not record.
    is_again: bool,
}

/// Carries a sentence to its end; when this returns, the end is on disk.
pub fn run(
    instance: &Instance,
    person: &dyn Person,
    cancel: CancelFlag,
    request: &Request,
) -> Result<Turn, EngineError> {
    instance.refuse_full_disk()?;
    for notice in instance.alone(|| check::all(instance))? {
        tracing::warn!(?notice, "the files of an executor are not what was signed");
    }
    let opened = opened(instance, request);
    let id = request.id.unwrap_or_else(|| TurnId::new(now(), random()));
    let cause = request.cause;
    let mut run = Run {
        instance,
        person,
        cancel,
        id,
        cause,
        turn: Turn::default(),
        prepared: None,
        pending: Vec::new(),
        is_again: false,
    };
    run.take(Command::Open(Box::new(opened)), Vec::new())?;
    run.until_closed()
}

/// Goes on with a turn that waits, as its events leave it; when this returns, its end or its next question is on disk.
pub fn reply(
    instance: &Instance,
    person: &dyn Person,
    cancel: CancelFlag,
    turn: (TurnId, Turn),
    reply: (&Reply, Option<EventId>),
) -> Result<Turn, EngineError> {
    reply_from(instance, person, cancel, turn, reply, None)
}

/// The same for whoever waited for the answer; they leave their seat once it is on disk.
pub fn reply_from(
    instance: &Instance,
    person: &dyn Person,
    cancel: CancelFlag,
    (id, turn): (TurnId, Turn),
    (reply, cause): (&Reply, Option<EventId>),
    seat: Option<Seat<'_>>,
) -> Result<Turn, EngineError> {
    let dialog = turn.dialog().unwrap_or_default();
    let command = match reply {
        Reply::Answered { answer, channel } => {
            let folder = turn.opened.as_ref().map(|opened| PathBuf::from(&opened.folder)).unwrap_or_default();
            // What a step asks for is not looked up; where it is used, it is.
            let within = turn.opened.as_ref().and_then(|opened| opened.within.as_deref());
            let existing = match turn.asking() {
                Some(_) => Vec::new(),
                None => existing(instance, within, &simple::completed(turn.text(), answer), &folder),
            };
            Command::Answer { dialog, answer: answer.clone(), channel: channel.clone(), existing }
        }
        Reply::Lapsed => Command::Lapse { dialog },
        Reply::Withdrawn(by) => Command::Withdraw { dialog, by: (*by).to_owned() },
    };
    let mut run =
        Run { instance, person, cancel, id, cause, turn, prepared: None, pending: Vec::new(), is_again: false };
    run.take(command, Vec::new())?;
    if let Some(seat) = seat {
        run.settle()?;
        drop(seat);
    }
    run.until_closed()
}

/// A past or open turn from its events.
pub fn folded(instance: &Instance, id: TurnId) -> Result<Turn, metnos_log::store::ReadError> {
    let reader = instance.log.reader();
    let mut turn = Turn::default();
    for recorded in reader.stream(&metnos_projections::machines::turn::stream(id))? {
        let recorded = reader.rehydrated(recorded)?;
        if let Some(event) = recorded.event() {
            turn.apply(id, recorded.time, event);
        }
        // How it ended is gone; that it ended is not.
        if matches!(recorded.body, Body::Erased) && recorded.kind == "turn_closed" {
            turn.final_kind = Some(ERASED.to_owned());
        }
    }
    Ok(turn)
}

impl Run<'_> {
    fn until_closed(mut self) -> Result<Turn, EngineError> {
        loop {
            if self.person.is_leaving() {
                self.settle()?;
                return Ok(self.turn);
            }
            if self.is_unwanted() {
                self.take(Command::Cancel { by: "person".to_owned() }, Vec::new())?;
            }
            match react(&self.turn) {
                Some(Effect::Reply) | None => {
                    self.settle()?;
                    faults::reach("outcome_to_answer");
                    return Ok(self.turn);
                }
                Some(Effect::Prepare { step, tool, args }) => self.prepare(step, &tool, args)?,
                Some(Effect::Ask { step, asked }) => {
                    if !self.ask(step, &asked)? {
                        return Ok(self.turn);
                    }
                }
                Some(Effect::Call { step, trace_id, .. }) => self.call(step, &trace_id)?,
                Some(Effect::Think { ask, tier, body }) => self.think(ask, &tier, &body)?,
                Some(Effect::Commit { step, ops, open }) => self.commit(step, &ops, &open)?,
            }
        }
    }

    /// Whether the person has stopped the turn while something of it was still to be done.
    fn is_unwanted(&self) -> bool {
        let is_up = matches!(
            self.turn.phase,
            Phase::Preparing | Phase::Asking | Phase::Calling | Phase::Committing | Phase::Thinking
        );
        is_up && self.cancel.is_raised()
    }

    /// Decides a command, hands its events to the log, folds them.
    fn take(&mut self, command: Command, blobs: Vec<(BlobHash, Vec<u8>)>) -> Result<(), EngineError> {
        let (id, instance) = (self.id, self.instance);
        let (turn, pending) = instance.while_it_stands(|catalog, tools| {
            let time = now();
            let context = Context { rules: &instance.rules, catalog, tools, time };
            let version = self.turn.version;
            let (events, turn) = decide_and_apply(&self.turn, id, context, command)?;
            tracing::debug!(turn = %id, events = ?events.iter().map(Event::label).collect::<Vec<_>>(), "decided");
            Ok::<_, Rejection>((turn, instance.submit_turn(id, self.cause, (version, time), events, blobs)))
        })?;
        self.turn = turn;
        self.pending.push(pending);
        Ok(())
    }

    /// Waits until everything that was handed over is on disk.
    fn settle(&mut self) -> Result<(), EngineError> {
        for pending in self.pending.drain(..) {
            pending.wait()?;
        }
        Ok(())
    }

    fn language(&self) -> Language {
        self.turn.language
    }

    fn caller(&self) -> Caller {
        caller(self.instance, &self.turn, self.id)
    }

    fn call(&mut self, step: u32, trace_id: &str) -> Result<(), EngineError> {
        let loaded = self.prepared.as_ref().and_then(|prepared| prepared.loaded.as_ref());
        let may_change = match loaded {
            Some(loaded) => loaded.manifest.writes_by_itself().next().is_some(),
            None => again::is_doubtful(self.instance, &self.turn),
        };
        if may_change {
            // That it began must be known after a crash.
            self.settle()?;
        }
        let started = Instant::now();
        let caller = self.caller();
        let turn = &self.turn;
        // What stands in this house's network is not a guest's to ask, however they name it.
        let typed = |target: &metnos_log::event::turn::Target| {
            caller.within.is_none() && turn.step().is_some_and(|step| turn.is_granted(step, target))
        };
        let person = self.person;
        if let Some(step) = turn.step() {
            ageing::used(self.instance, &step.tool, Some(self.id))?;
            person.starting(&step.tool);
        }
        let progress = |progress: Progress| person.progress(&progress);
        let around = Around {
            caller: &caller,
            trace_id,
            typed: &typed,
            cancel: self.cancel.clone(),
            progress: &progress,
            canned: None,
        };
        let prepared = match self.prepared.take() {
            Some(prepared) => Ok(prepared),
            None => self.prepared_again(&caller),
        };
        if let Some((builtin, loaded)) = prepared.as_ref().ok().and_then(|prepared| {
            let loaded = prepared.loaded.as_ref()?;
            Some((loaded.builtin?, loaded))
        }) {
            let (finished, blobs) = self.builtin_finished(step, trace_id, builtin, loaded, started);
            faults::reach("before_intent");
            return self.take(Command::Returned(Box::new(finished)), blobs);
        }
        faults::reach("call_begun");
        let returned = match (prepared, self.instance.sandbox()) {
            (Ok(prepared), Ok(sandbox)) => prepared.run(sandbox, &around),
            (Err(failure), _) => Err(failure),
            (_, Err(error)) => Err(no_cage(&error)),
        };
        let duration_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let (finished, blobs) = match returned {
            Ok(returned) => self.finished(step, trace_id, returned, duration_us),
            Err(failure) => {
                let mut finished = never_ran(step, trace_id, &failure, duration_us);
                if let (Ok(sandbox), "cage_refused") = (self.instance.sandbox(), failure.class) {
                    // The cage that was not enough, with what it lacks.
                    finished.cage = serde_json::to_value(sandbox.capabilities()).unwrap_or_default().into();
                }
                (finished, Vec::new())
            }
        };
        if finished.class.as_deref() == Some("cancelled") {
            if person.is_leaving() {
                return Ok(());
            }
            return self.take(Command::Cancel { by: "person".to_owned() }, Vec::new());
        }
        faults::reach("before_intent");
        self.take(Command::Returned(Box::new(finished)), blobs)
    }
}

fn no_cage(error: &SandboxError) -> CallFailure {
    let class =
        if matches!(error, SandboxError::NoInterpreter { .. }) { "dependency_unavailable" } else { "cage_refused" };
    CallFailure { class, message: plain(error) }
}

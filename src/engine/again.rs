//! Turns that a process left open, taken up by the next one (design 5-turn, «Recovery»).

use std::sync::Arc;

use metnos_log::TurnId;
use metnos_log::event::turn::Target;
use metnos_projections::machines::catalog::Version;
use metnos_projections::machines::turn::command::Command;
use metnos_projections::machines::turn::writers::{DID_NOT_HAPPEN, HAPPENED, UNKNOWN};
use metnos_projections::machines::turn::{DOUBT, Effect, Phase, Turn, forms, react};
use metnos_projections::messages::Language;

use super::{Answer, EngineError, Person, Run};
use crate::builtins;
use crate::gateway::Caller;
use crate::gateway::Loaded;
use crate::gateway::call::{Around, PreparedCall};
use crate::instance::Instance;
use crate::sandbox::{CallFailure, CancelFlag, Progress};

/// What an executor may use and still be called twice: it changes nothing but what the core changes for it.
const REPEATABLE: [&str; 5] = ["compute:pure", "fs:read", "parse:local", "system:read", "time:read"];

/// Nobody, at this process: what a turn asks is left to the process that the person talks with.
pub struct Absent;

impl Person for Absent {
    fn consent(&self, _about: &str, _text: &str, _language: Language) -> Answer {
        Answer::Later
    }

    fn progress(&self, _progress: &Progress) {}
}

/// A turn that another process began. Changes that it may have made are those that it was making.
fn begun_elsewhere<'a>(
    instance: &'a Instance,
    person: &'a dyn Person,
    cancel: CancelFlag,
    (id, turn): (TurnId, Turn),
) -> Run<'a> {
    let is_again = turn.phase == Phase::Committing;
    Run { instance, person, cancel, id, cause: None, turn, prepared: None, pending: Vec::new(), is_again }
}

/// Carries on a turn that a crash interrupted, from where its events leave it.
pub fn resume(
    instance: &Instance,
    person: &dyn Person,
    cancel: CancelFlag,
    (id, turn): (TurnId, Turn),
) -> Result<Turn, EngineError> {
    let mut run = begun_elsewhere(instance, person, cancel, (id, turn));
    if is_doubtful(instance, &run.turn) {
        run.doubted()?;
    }
    let asks_about_doubt = run.turn.asked.as_ref().is_some_and(|asked| asked.about == DOUBT);
    let interrupted = !matches!(react(&run.turn), Some(Effect::Commit { .. } | Effect::Reply)) && !asks_about_doubt;
    if interrupted {
        // Nothing was changed and the one who asked is gone: the record says so and ends.
        run.take(Command::Cancel { by: "restart".to_owned() }, Vec::new())?;
    }
    run.until_closed()
}

/// Carries on a turn whose person is still there, though its process is not: what only reads runs again, what was asked is
/// asked again, planned changes are finished. Of a call that may have changed something by itself, its check or the person
/// says what became of it.
pub fn go_on(
    instance: &Instance,
    person: &dyn Person,
    cancel: CancelFlag,
    (id, turn): (TurnId, Turn),
) -> Result<Turn, EngineError> {
    let mut run = begun_elsewhere(instance, person, cancel, (id, turn));
    if is_doubtful(instance, &run.turn) && !is_repeatable(instance, &run.turn) {
        run.doubted()?;
    } else if run.turn.phase == Phase::Calling && !is_repeatable(instance, &run.turn) {
        run.take(Command::Cancel { by: "restart".to_owned() }, Vec::new())?;
    }
    run.until_closed()
}

/// Whether the call that is open may have changed something by itself.
pub(super) fn is_doubtful(instance: &Instance, turn: &Turn) -> bool {
    let Some(step) = turn.step().filter(|_| turn.phase == Phase::Calling) else { return false };
    // What was called, though it may not be called any more: it was put away since, or its files are others.
    let manifest = instance.catalog().called(&step.tool, &step.version).and_then(Version::manifest);
    manifest.is_some_and(|manifest| manifest.writes_by_itself().next().is_some())
}

/// Whether the call that is open may run again.
fn is_repeatable(instance: &Instance, turn: &Turn) -> bool {
    let Some(step) = turn.step() else { return false };
    let catalog = instance.catalog();
    let Some((_, _, version)) = catalog.active(&step.tool) else { return false };
    let Some(manifest) = version.manifest() else { return false };
    let contract = &manifest.contract;
    // A builtin plans what it wants changed; the plan was lost with the call.
    if contract.idempotent || !contract.side_effects || builtins::is_builtin(&step.tool, version) {
        return true;
    }
    manifest.capabilities.iter().all(|capability| REPEATABLE.contains(&capability.name.as_str()))
}

impl Run<'_> {
    /// The call that is open was cut off: it is in doubt until its check or the person says what became of it.
    fn doubted(&mut self) -> Result<(), EngineError> {
        if !self.turn.is_in_doubt() {
            self.take(Command::Doubt, Vec::new())?;
        }
        if self.turn.phase == Phase::Calling {
            let outcome = self.checked().filter(|outcome| [HAPPENED, DID_NOT_HAPPEN].contains(&outcome.as_str()));
            let outcome = outcome.unwrap_or_else(|| UNKNOWN.to_owned());
            self.take(Command::Settle { outcome }, Vec::new())?;
        }
        self.settle()
    }

    /// What the executor's check says of the call that is open; `None` where it is not the version that was called any more,
    /// or its targets are others.
    fn checked(&self) -> Option<String> {
        let (caller, step) = (self.caller(), self.turn.step()?);
        let loaded = Loaded::from_catalog(&self.instance.catalog(), &self.instance.log.reader(), &step.tool);
        let prepared = PreparedCall::new(step.number, loaded, Arc::clone(&step.args), &caller);
        let named = |target: &Target| (target.pointer.clone(), target.canonical.clone());
        let is_same = prepared.facts.version == step.version
            && prepared.facts.targets.iter().map(named).eq(step.targets.iter().map(named));
        if !is_same {
            return None;
        }
        let around = Around {
            caller: &caller,
            trace_id: &format!("{}-check", step.trace_id),
            typed: &|_| false,
            cancel: self.cancel.clone(),
            progress: &|_| {},
            canned: None,
        };
        prepared.check(self.instance.sandbox().ok()?, &around)
    }

    /// The call of the step that is up, prepared by this process because another one, or an earlier answer, had begun it.
    /// What was judged then must be what is there now.
    pub(super) fn prepared_again(&self, caller: &Caller) -> Result<PreparedCall, CallFailure> {
        let refused = |class, message: &str| CallFailure { class, message: message.to_owned() };
        let Some(step) = self.turn.step() else {
            return Err(refused("internal_error", "the call was never prepared"));
        };
        let loaded = Loaded::from_catalog(&self.instance.catalog(), &self.instance.log.reader(), &step.tool);
        let prepared = PreparedCall::new(step.number, loaded, Arc::clone(&step.args), caller);
        let facts = &prepared.facts;
        let is_same = facts.version == step.version
            && facts.plan_digest == step.plan_digest
            && facts.leads == step.leads
            && (step.uncaged || !self.instance.is_uncaged())
            && facts.targets.len() == step.targets.len()
            && facts.targets.iter().zip(&step.targets).all(|(now, then)| {
                (&now.pointer, &now.canonical, &now.kind) == (&then.pointer, &then.canonical, &then.kind)
            });
        // The questions of a form stand where its call does; it looks nothing up.
        if is_same || forms::is_dialog(&step.tool) {
            return Ok(prepared);
        }
        Err(refused("target_changed", "what it was to work on is not what it was when that was checked"))
    }
}

//! What every command works with: the instance as it opens it, and what is told while it does.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use metnos_log::OpenError;
use metnos_projections::messages::Language;

use super::output::Failure;
use super::{Global, ask, client, console, interrupt, output, progress, serve, typed};
use crate::cause::plain;
use crate::config::{Dirs, Flags, Settings, Variables};
use crate::erasure::{self, BrokenOff, ErasureError};
use crate::instance::{Instance, InstanceError};
use crate::loader::{self, check, seeds};
use crate::projector::Until;
use crate::sandbox::{CancelFlag, lock};

/// How long a command waits for another one to let go of the log, before it says so and after.
const PATIENCE_SILENT: Duration = Duration::from_secs(1);
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks whether the other one is a daemon that serves by now.
const PATIENCE_STEP: Duration = Duration::from_millis(250);
/// How long a command waits for cages that a killed one left; they die with their parent.
const CAGE_PATIENCE: Duration = Duration::from_secs(5);

/// What every command works with.
pub(super) struct Context {
    pub(super) global: Global,
    pub(super) variables: Variables,
    /// The instance of the daemon that carries the command out; without one, the command opens it itself.
    pub(super) served: Option<Arc<serve::Served>>,
    /// Whether it is the daemon that opens the instance: what it says then is for its journal, and no person reads it.
    pub(super) is_daemon: bool,
}

/// After how many events a daemon writes checkpoints; it holds the projections anyway.
const CHECKPOINT_EVERY: u64 = 1000;

/// A way to open an instance.
type Open = fn(Option<&Path>, &Flags, &Variables, Duration) -> Result<Instance, InstanceError>;

impl Context {
    /// Whether what is said beside the answer reaches a person.
    pub(super) fn is_heard(&self) -> bool {
        !self.global.quiet && !self.is_daemon
    }

    pub(super) fn flags(&self) -> Flags {
        Flags { language: self.global.lang, engine: None }
    }

    /// Opens the instance as it is, or as it was at `--at`; creates it, without executors, if there is none.
    pub(super) fn instance(&self) -> Result<Instance, Failure> {
        let mut instance = self.opened(&self.flags())?;
        if let Some(until) = self.until(&instance)? {
            instance.rewind(until)?;
            self.tell_clock(&instance, until, instance.projected().position)?;
        }
        Ok(instance)
    }

    /// The moment of `--at`.
    pub(super) fn until(&self, instance: &Instance) -> Result<Option<Until>, Failure> {
        self.global.at.as_ref().map(|moment| moment.until(instance)).transpose()
    }

    /// The daemon's instance as this command has it, or one that is opened for it.
    pub(super) fn opened(&self, flags: &Flags) -> Result<Instance, Failure> {
        let Some(served) = &self.served else {
            let (home, folding) = (self.global.home.as_deref(), progress::folding(self));
            let watch = |done, of| folding.say(done, of);
            let open = |patience| Instance::open_watched(home, flags, &self.variables, (patience, &watch));
            let instance = self.patiently(open)?;
            self.tell_shorter(&instance);
            return Ok(instance);
        };
        let instance = served.instance.for_command(flags, &self.variables, console::current().process())?;
        instance.catch_up()?;
        instance.record_settings()?;
        Ok(instance)
    }

    /// Tells of a log that is not what files that were made of it knew.
    pub(super) fn tell_shorter(&self, instance: &Instance) {
        let Some(known) = instance.beyond() else { return };
        let values = serde_json::json!({ "known": known, "events": instance.found() });
        // What is lost is said to those who want to hear nothing, too.
        output::aside(&self.text(instance, "notice.log_shorter", &values));
    }

    /// Opens, waiting for another command to finish: a moment in silence, then aloud.
    pub(super) fn patiently(
        &self,
        open: impl Fn(Duration) -> Result<Instance, InstanceError>,
    ) -> Result<Instance, Failure> {
        let since = Instant::now();
        let mut is_told = false;
        loop {
            match open(PATIENCE_STEP) {
                Err(InstanceError::Log(OpenError::Busy { .. })) if client::server(self).is_some() => {
                    return Err(Failure::served());
                }
                Err(InstanceError::Log(OpenError::Busy { .. })) if since.elapsed() < PATIENCE => {}
                other => return Ok(other?),
            }
            if !is_told && since.elapsed() >= PATIENCE_SILENT {
                is_told = true;
                self.say("waiting for another metnos command to finish");
            }
        }
    }

    /// Opens the instance without reading its events: for a log that may be damaged.
    pub(super) fn unfolded(&self) -> Result<Instance, Failure> {
        self.unfolded_by(Instance::open_unfolded)
    }

    /// The same without a write to the log's file.
    pub(super) fn examined(&self) -> Result<Instance, Failure> {
        self.unfolded_by(Instance::open_examined)
    }

    pub(super) fn unfolded_by(&self, open: Open) -> Result<Instance, Failure> {
        if let Some(served) = &self.served {
            return Ok(served.instance.for_command(&self.flags(), &self.variables, console::current().process())?);
        }
        self.patiently(|patience| open(self.global.home.as_deref(), &self.flags(), &self.variables, patience))
    }

    /// Opens the instance ready to run executors: seeds laid out, files compared, interrupted turns settled.
    pub(super) fn ready(&self, flags: &Flags) -> Result<Instance, Failure> {
        self.refuse_past()?;
        let instance = self.opened(flags)?;
        instance.refuse_full_disk()?;
        if let Err(error) = self.resume_erasure(&instance) {
            // Nobody's question waits until a file that cannot be written is mended; the marker stays, and so does this line.
            self.say(&self.text(&instance, "notice.erasure_pending", &serde_json::json!({})));
            self.say(&output::causes(&error));
        }
        if self.served.is_none() {
            self.lay_out(&instance)?;
        }
        for notice in self.trying(&instance, || instance.alone(|| check::all(&instance)))? {
            self.say(&self.notice(&instance, &notice));
        }
        self.tell_lacks(&instance);
        ask::settle_interrupted(self, &instance)?;
        // What other commands of a daemon are at is theirs to tell.
        if !self.is_heard() && self.served.is_none() {
            instance.untold.leave();
        }
        Ok(instance)
    }

    /// Says that an erasure broke off, where one did and is not gone on with by this command.
    pub(super) fn tell_pending_erasure(&self, instance: &Instance) {
        if erasure::is_pending(instance) {
            self.say(&self.text(instance, "notice.erasure_pending", &serde_json::json!({})));
        }
    }

    /// Goes on with an erasure that broke off; says where nothing of it was done.
    pub(super) fn resume_erasure(&self, instance: &Instance) -> Result<(), ErasureError> {
        if erasure::resume(instance)? == BrokenOff::BeforeIt {
            self.say(&self.text(instance, "log.erasure_not_begun", &serde_json::json!({})));
        }
        Ok(())
    }

    /// What is done once, by whoever opens the instance: nothing of a killed process is alive, seeds and builtins are there.
    pub(super) fn lay_out(&self, instance: &Instance) -> Result<(), Failure> {
        Self::wait_for_cages(instance)?;
        loader::birth::sweep(&instance.dirs.runtime);
        let is_new = instance.is_new;
        if is_new {
            let values = serde_json::json!({ "workspace": instance.dirs.workspace });
            self.say(&self.text(instance, "first_run.created", &values));
        }
        let lost = loader::lost::quarantine_all(instance)?;
        let laid = self.trying(instance, || seeds::install_missing(instance));
        for notice in lost {
            // A seed that came again is told below.
            let check::Notice::Quarantined { name, .. } = &notice else { continue };
            if !laid.iter().any(|seed| seed.name == *name && seed.outcome.is_ok()) {
                self.say(&self.notice(instance, &notice));
            }
        }
        crate::builtins::install_missing(instance)?;
        crate::scheduler::jobs::install_missing(instance)?;
        instance.seed_mnests()?;
        self.tell_seeds(instance, &laid, is_new);
        Ok(())
    }

    /// Does what may run birth tests, which takes a while on a new home and on a new Python; a line says so.
    fn trying<T>(&self, instance: &Instance, work: impl FnOnce() -> T) -> T {
        let line = progress::line(self);
        if line.is_drawn() {
            line.say(&self.text(instance, "notice.trying", &serde_json::json!({})));
        }
        work()
    }

    pub(super) fn tell_lacks(&self, instance: &Instance) {
        if instance.is_new {
            for (key, values) in crate::instance::missing(instance) {
                self.say(&self.typed(&self.text(instance, key, &values)));
            }
        }
        if instance.variables().sandbox.as_deref().is_some_and(crate::sandbox::is_off) {
            self.say(&self.text(instance, "notice.no_cage", &serde_json::json!({})));
        }
    }

    /// Waits until no cage of a killed command is alive: what it might still do must be over before anything is settled.
    pub(super) fn wait_for_cages(instance: &Instance) -> Result<(), Failure> {
        let alive = lock::settle(&instance.dirs.data.join("cages"), CAGE_PATIENCE);
        match alive {
            Ok(alive) if alive.is_empty() => Ok(()),
            Ok(alive) => Err(Failure::internal(("error.cages_alive", serde_json::json!({ "count": alive.len() })))),
            Err(error) => {
                Err(Failure::internal(("error.cages_unseen", serde_json::json!({ "reason": plain(&error) }))))
            }
        }
    }

    pub(super) fn tell_seeds(&self, instance: &Instance, laid: &[seeds::Laid], is_new: bool) {
        let born: usize = laid.iter().filter_map(|seed| seed.outcome.as_ref().ok()).sum();
        let active = laid.iter().filter(|seed| seed.outcome.is_ok()).count();
        if is_new || active > 0 {
            self.say(&self.text(instance, "first_run.seeds", &serde_json::json!({ "active": active, "cases": born })));
        }
        for seed in laid {
            if let Err(error) = &seed.outcome {
                let values = serde_json::json!({ "name": seed.name, "reason": plain(&error) });
                self.say(&self.text(instance, "first_run.seed_failed", &values));
            }
        }
    }

    pub(super) fn notice(&self, instance: &Instance, notice: &check::Notice) -> String {
        match notice {
            check::Notice::Quarantined { name, reason } => {
                self.text(instance, "notice.quarantined", &serde_json::json!({ "name": name, "reason": reason }))
            }
            check::Notice::Restored { name } => {
                self.text(instance, "notice.restored", &serde_json::json!({ "name": name }))
            }
        }
    }

    /// Tells of views whose files were damaged.
    pub(super) fn tell_views(&self, instance: &Instance) {
        for name in instance.views.take_damaged() {
            self.say(&self.text(instance, "notice.view_damaged", &serde_json::json!({ "name": name })));
        }
    }

    pub(super) fn text(&self, instance: &Instance, key: &str, values: &serde_json::Value) -> String {
        instance.rules.messages.say(self.language(instance), key, values)
    }

    /// After how many events checkpoints are written: at once by a process that ends, later by one that stays.
    pub(super) fn checkpoint_every(&self) -> u64 {
        if self.served.is_some() { CHECKPOINT_EVERY } else { 0 }
    }

    /// The language of what is said where no instance is open.
    pub(super) fn spoken(&self) -> Language {
        let set = || {
            if let Some(served) = &self.served {
                return served.instance.settings.language;
            }
            let dirs = Dirs::resolve(self.global.home.as_deref(), &self.variables).ok()?;
            let settings = Settings::resolve(&dirs.config.join("metnos.toml"), &self.flags(), &self.variables);
            let said = self.variables.language.as_deref().or(self.variables.locale.as_deref());
            settings.map_or_else(|_| said.and_then(Language::parse), |settings| settings.language)
        };
        self.global.lang.or_else(set).unwrap_or_default()
    }

    pub(super) fn language(&self, instance: &Instance) -> Language {
        self.global.lang.or(instance.settings.language).unwrap_or_default()
    }

    /// What changes something does so now: there is no changing how things stood.
    pub(super) fn refuse_past(&self) -> Result<(), Failure> {
        match &self.global.at {
            None => Ok(()),
            Some(_) => Err(Failure::usage(output::by("error.past"), output::by("next.no_at"))),
        }
    }

    /// The flag that Ctrl-C raises until the turn is over.
    pub(super) fn begin_turn(&self, instance: &Instance) -> Result<CancelFlag, Failure> {
        interrupt::begin_turn(self.stopping(instance))
    }

    /// What is said when a turn is being stopped.
    pub(super) fn stopping(&self, instance: &Instance) -> String {
        let text = (!self.global.quiet).then(|| self.text(instance, "turn.stopping", &serde_json::json!({})));
        text.unwrap_or_default()
    }

    /// A text whose commands are to be typed for this command's home.
    pub(super) fn typed(&self, hint: &str) -> String {
        typed::for_home(hint, self.global.home.as_deref())
    }

    /// Tells the person what to do next.
    pub(super) fn hint(&self, hint: &str) {
        self.say(&format!("hint: {}", self.typed(hint)));
    }

    /// Tells the person something that is not the result.
    pub(super) fn say(&self, text: &str) {
        if !self.global.quiet {
            output::aside(text);
        }
    }
}

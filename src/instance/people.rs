//! Who asks: the instance as each person has it (design 7-people, «Actors»).

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use metnos_log::TurnId;
use metnos_log::event::actor::Granted;
use metnos_projections::machines::actors::{self, Actor, Actors, Command, HOST, SYSTEM};
use metnos_projections::machines::turn::Turn;
use metnos_projections::machines::turn::state::Step;
use metnos_projections::messages::Language;
use metnos_projections::rules::cage_plan::{self, Autonomy};
use metnos_projections::rules::perimeter;
use metnos_projections::views::turns::Summary;
use serde_json::Value;

use super::{Instance, InstanceError, now};
use crate::broker::target;
use crate::config::{Flags, Settings};
use crate::gateway::call::allows;

impl Instance {
    /// The same instance for another person.
    #[must_use]
    pub fn as_actor(&self, actor: &str) -> Self {
        Self { actor: actor.to_owned(), ..self.clone() }
    }

    /// Who asked for a turn.
    pub fn actor_of(&self, turn: TurnId) -> String {
        let turns = self.turns();
        turns.get(turn).and_then(|turn| turn.actor).unwrap_or(HOST).to_owned()
    }

    /// How much is done unasked for whoever asks: what was set for them; else the setting for the host, and looking alone
    /// for a guest.
    pub fn autonomy(&self) -> String {
        let actors = self.actors();
        let set = actors.get(&self.actor).and_then(|actor| actor.autonomy.clone());
        set.unwrap_or_else(|| if self.is_guest() { "read_only".to_owned() } else { self.settings.autonomy.clone() })
    }

    /// Whether whoever asks is held to folders of their own: everybody but the host and Metnos itself.
    pub fn is_guest(&self) -> bool {
        self.actor != HOST && self.actor != SYSTEM
    }

    /// Where the relative paths of whoever asks start where nothing else is said, and what `~` stands for: a guest has a
    /// folder of their own.
    pub fn own_folder(&self) -> PathBuf {
        if self.is_guest() { self.dirs.workspace.join("guests").join(&self.actor) } else { self.dirs.user_home.clone() }
    }

    /// The folders below which alone a guest reaches anything, without links; none for the host. The guest's own one is
    /// made when it is not there. What is not what it was when it was opened is closed.
    pub fn perimeter(&self) -> Option<Vec<String>> {
        if !self.is_guest() {
            return None;
        }
        let own = made(&self.own_folder()).inspect_err(|error| {
            tracing::warn!(%error, actor = self.actor, "a guest has no folder");
        });
        let opened = self.actors().get(&self.actor).map(|actor| actor.folders.clone()).unwrap_or_default();
        let opened = opened.into_iter().filter(|folder| is_itself(Path::new(folder)));
        Some(own.ok().into_iter().chain(opened).collect())
    }

    /// Where this person's relative paths start, when they are said to start there: a guest stays within.
    pub fn folder_within(&self, folder: &Path, within: Option<&[String]>) -> PathBuf {
        if is_within(folder, within) { folder.to_owned() } else { self.own_folder() }
    }

    /// Whether a path names something that whoever asks may know to be there.
    pub fn reaches(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok() && is_within(path, self.perimeter().as_deref())
    }

    /// Whether whoever asks may be told about a turn: the host about each, a guest about their own.
    pub fn may_see(&self, turn: Summary<'_>) -> bool {
        !self.is_guest() || turn.actor == Some(self.actor.as_str())
    }

    /// Whether whoever asks may do less by now than when a turn of theirs was opened, or than the grants of its step say: a yes
    /// given since then agrees to nothing.
    pub fn allows_less(&self, turn: &Turn) -> bool {
        let actors = self.actors();
        // What has only ended was not taken back.
        let is_revoked = |grant: &Granted| {
            let theirs = actors.get(&self.actor);
            // Given again for a shorter time, it was taken back from then on.
            let holds = |actor: &Actor| actor.grants.get(&grant.grant).is_some_and(|held| now().0 < held.until);
            now().0 < grant.until && !theirs.is_some_and(holds)
        };
        let is_less = |step: &Step| self.reaches_less(step) || step.grants.iter().any(is_revoked);
        self.is_lessened(turn) || turn.step().is_some_and(is_less)
    }

    /// The same, whatever its step is.
    pub fn is_lessened(&self, turn: &Turn) -> bool {
        let Some(then) = &turn.opened else { return true };
        let level = |name: &str| serde_json::from_value(Value::from(name)).unwrap_or(Autonomy::ReadOnly);
        let is_closed = |folders: &Vec<String>| {
            let open = self.perimeter().unwrap_or_default();
            folders.iter().any(|folder| !open.contains(folder))
        };
        let reaches_nothing = || self.actors().get(&self.actor).is_none_or(|actor| actor.addresses.is_empty());
        level(&self.autonomy()) < level(&then.autonomy)
            || then.within.as_ref().is_some_and(is_closed)
            || (self.is_guest() && reaches_nothing())
    }

    /// Whether an address that a step names, or a host that its executor declares, may be reached no more: the settings were
    /// changed since this process read them. Settings that cannot be read allow nothing.
    fn reaches_less(&self, step: &Step) -> bool {
        let addresses = step.targets.iter().filter(|target| target.role == "url");
        let manifest = self.catalog().active(&step.tool).and_then(|(_, _, version)| version.manifest());
        let own = manifest.iter().flat_map(cage_plan::own_hosts).map(target::grant_for_pattern);
        let named = addresses.map(|address| target::grant_for(&address.canonical, true));
        let hosts: Vec<String> = named.chain(own).flatten().map(|grant| grant.pattern).collect();
        if hosts.is_empty() {
            return false;
        }
        let now = Settings::resolve(&self.dirs.config.join("metnos.toml"), &Flags::default(), &self.variables);
        let now = now.map_or_else(|_| Vec::new(), |settings| settings.network_allow);
        hosts.iter().any(|host| allows(&self.settings.network_allow, host) && !allows(&now, host))
    }

    /// What whoever asks may use unasked now.
    pub fn granted(&self) -> Vec<Granted> {
        self.actors().get(&self.actor).map(|actor| actor.granted(now()).collect()).unwrap_or_default()
    }

    /// The language where the words of whoever asks do not tell theirs.
    pub fn language(&self) -> Language {
        let actors = self.actors();
        let set = actors.get(&self.actor).and_then(|actor| actor.language.as_deref().and_then(Language::parse));
        set.or(self.settings.language).unwrap_or_default()
    }

    /// The people as they stand now.
    pub fn actors(&self) -> Arc<Actors> {
        self.folds.now().actors
    }

    /// Changes who the people are and which addresses are theirs.
    pub fn change_actors(&self, command: Command) -> Result<Result<(), actors::Rejection>, InstanceError> {
        self.decide(|projected| {
            actors::decide(&projected.actors, command, now()).map(|(actor, events)| (actors::stream(&actor), events))
        })
    }

    /// The host is known before anyone else is.
    pub(super) fn record_host(&self) -> Result<(), InstanceError> {
        if self.actors().get(HOST).is_some() {
            return Ok(());
        }
        let host = Command::Add { actor: HOST.to_owned(), role: actors::Role::Host, name: None };
        // Whoever was faster has done the same.
        self.change_actors(host).map(|_| ())
    }
}

/// Whether a path leads into one of the folders, its links followed; without folders it does.
pub fn is_within(path: &Path, within: Option<&[String]>) -> bool {
    within.is_none_or(|folders| {
        let real = path.canonicalize().ok();
        real.as_ref().and_then(|real| real.to_str()).is_some_and(|real| perimeter::holds(folders, real))
    })
}

/// A guest's own folder, made where it is missing; its path without links. A link in its place is none.
fn made(folder: &Path) -> std::io::Result<String> {
    let plain = folder
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
    if !plain {
        return Err(std::io::Error::other("this is no name of a guest"));
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if !folder.symlink_metadata()?.is_dir() {
        return Err(std::io::Error::other("there is a link in its place"));
    }
    let real = folder.canonicalize()?;
    real.into_os_string().into_string().map_err(|_| std::io::Error::other("its name is no text"))
}

/// Whether a path names a folder and no part of it is a link.
fn is_itself(folder: &Path) -> bool {
    folder.is_dir() && folder.canonicalize().is_ok_and(|real| real == folder)
}

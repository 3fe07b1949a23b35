//! Who asks: the instance as each person has it (design 7-people, «Actors»).

use std::sync::Arc;

use metnos_log::TurnId;
use metnos_projections::machines::actors::{self, Actors, Command, HOST, Role};
use metnos_projections::messages::Language;

use super::{Instance, InstanceError, now};

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
        let is_guest = actors.get(&self.actor).is_some_and(|actor| actor.role == Role::Guest);
        set.unwrap_or_else(|| if is_guest { "read_only".to_owned() } else { self.settings.autonomy.clone() })
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
        let host = Command::Add { actor: HOST.to_owned(), role: Role::Host, name: None };
        // Whoever was faster has done the same.
        self.change_actors(host).map(|_| ())
    }
}

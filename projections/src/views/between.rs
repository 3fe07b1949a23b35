//! What changed between two moments, as facts to be told: one a sentence, by what it is about.
//!
//! The words are the message data's, under `diff.` and the fact's key; here is only what they are filled with. What a person
//! wrote is in none of them.

use std::collections::BTreeMap;

use metnos_log::TurnId;
use serde::Serialize;
use serde_json::{Value, json};

use super::configuration::Configuration;
use super::state::{self, Head, States};
use super::turns::Turns;
use crate::machines::actors::{Actor, Actors, Role};
use crate::machines::catalog::Catalog;
use crate::machines::channels::Channels;
use crate::machines::documents::Documents;
use crate::machines::mnestome::Mnestome;
use crate::machines::schedules::Schedules;
use crate::projection::Projection;

/// How things stood at a moment.
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "each is the projection of that name")]
pub struct Standing<'p> {
    pub catalog: &'p Catalog,
    pub turns: &'p Turns,
    pub configuration: &'p Configuration,
    pub actors: &'p Actors,
    pub channels: &'p Channels,
    pub documents: &'p Documents,
    pub mnestome: &'p Mnestome,
    pub states: &'p States,
    pub schedules: &'p Schedules,
    /// The moment that weights are taken at, µs.
    pub until: i64,
}

/// One thing that changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// The projection that shows it.
    pub projection: &'static str,
    /// Key of its sentence in `[diff]`.
    pub key: &'static str,
    /// What the sentence is filled with.
    pub values: Value,
}

/// Everything that changed, executors first. Equal moments give nothing.
pub fn facts(before: Standing<'_>, after: Standing<'_>) -> Vec<Fact> {
    let mut found = Found { until: after.until, ..Found::default() };
    found.executors(before.catalog, after.catalog);
    found.turns(before.turns, after.turns);
    found.people(before.actors, after.actors);
    found.schedules(before.schedules, after.schedules);
    found.settings(before.configuration, after.configuration);
    found.mnests(before, after);
    found.channels(before.channels, after.channels);
    found.rest(before, after);
    found.facts
}

#[derive(Default)]
struct Found {
    facts: Vec<Fact>,
    /// The later moment, µs.
    until: i64,
}

impl Found {
    fn push<P: Projection>(&mut self, key: &'static str, values: Value) {
        self.facts.push(Fact { projection: P::NAME, key, values });
    }

    /// A list of names, told where it holds any.
    fn names<P: Projection>(&mut self, key: &'static str, names: &[String]) {
        if !names.is_empty() {
            self.push::<P>(key, json!({ "count": names.len(), "names": names }));
        }
    }

    fn executors(&mut self, before: &Catalog, after: &Catalog) {
        let came = after.executors.keys().filter(|name| !before.executors.contains_key(*name));
        self.names::<Catalog>("executors_came", &came.cloned().collect::<Vec<_>>());
        let went = before.executors.keys().filter(|name| !after.executors.contains_key(*name));
        self.names::<Catalog>("executors_went", &went.cloned().collect::<Vec<_>>());
        for (name, now) in &after.executors {
            let Some(was) = before.executors.get(name) else { continue };
            if was.current != now.current {
                let values = json!({ "name": name, "was": was.current, "now": now.current });
                self.push::<Catalog>("executor_version", values);
            }
            if was.life != now.life {
                let values = json!({ "name": name, "was": was.life, "now": now.life, "reason": now.reason });
                self.push::<Catalog>("executor_moved", values);
            }
        }
        let keys = after.keys.keys().filter(|key| !before.keys.contains_key(*key));
        self.names::<Catalog>("keys_admitted", &keys.cloned().collect::<Vec<_>>());
        let keys = after.revoked.keys().filter(|key| !before.revoked.contains_key(*key));
        self.names::<Catalog>("keys_revoked", &keys.cloned().collect::<Vec<_>>());
    }

    fn turns(&mut self, before: &Turns, after: &Turns) {
        let mut ends: BTreeMap<(String, String), u64> = BTreeMap::new();
        let (mut begun, mut changes) = (0_u64, 0_u64);
        for (id, turn) in after.iter() {
            let was = before.get(id);
            begun += u64::from(was.is_none());
            changes += u64::from(turn.changes.saturating_sub(was.map_or(0, |was| was.changes)));
            let has_ended = turn.final_kind.is_some() && was.is_none_or(|was| was.final_kind.is_none());
            if let Some(kind) = turn.final_kind.filter(|_| has_ended) {
                *ends.entry((kind.to_owned(), turn.class.unwrap_or_default().to_owned())).or_default() += 1;
            }
        }
        if begun > 0 || !ends.is_empty() {
            let told = |((kind, class), count): (&(String, String), &u64)| json!({ "kind": kind, "class": class, "count": count });
            let ends: Vec<Value> = ends.iter().map(told).collect();
            let values = json!({ "begun": begun, "ends": ends, "changes": changes, "open": open(after) });
            self.push::<Turns>("turns", values);
        }
    }

    fn people(&mut self, before: &Actors, after: &Actors) {
        for (id, now) in &after.actors {
            let nobody = Actor::default();
            let was = before.actors.get(id);
            if was.is_none() {
                let values = json!({ "actor": id, "name": now.name, "is_host": now.role == Role::Host });
                self.push::<Actors>("person_came", values);
            }
            let was = was.unwrap_or(&nobody);
            for (channel, address) in now.addresses.difference(&was.addresses) {
                let values = json!({ "actor": id, "channel": channel, "address": address });
                self.push::<Actors>("address_came", values);
            }
            for (channel, address) in was.addresses.difference(&now.addresses) {
                let values = json!({ "actor": id, "channel": channel, "address": address });
                self.push::<Actors>("address_went", values);
            }
            for folder in now.folders.difference(&was.folders) {
                self.push::<Actors>("folder_opened", json!({ "actor": id, "folder": folder }));
            }
            for folder in was.folders.difference(&now.folders) {
                self.push::<Actors>("folder_closed", json!({ "actor": id, "folder": folder }));
            }
            for (number, grant) in now.grants.iter().filter(|(number, _)| !was.grants.contains_key(*number)) {
                let values = json!({
                    "actor": id, "grant": number, "capability": grant.capability, "target": grant.target,
                });
                self.push::<Actors>("grant_given", values);
            }
            // One that has ended goes unnoticed: when it would was said when it was given.
            let is_over = |until: i64| until <= self.until;
            let gone =
                was.grants.iter().filter(|(number, grant)| !now.grants.contains_key(*number) && !is_over(grant.until));
            for number in gone.map(|(number, _)| *number).collect::<Vec<_>>() {
                self.push::<Actors>("grant_revoked", json!({ "actor": id, "grant": number }));
            }
            if was.autonomy != now.autonomy {
                let values = json!({ "actor": id, "was": was.autonomy, "now": now.autonomy });
                self.push::<Actors>("autonomy", values);
            }
            if was.language != now.language {
                let values = json!({ "actor": id, "was": was.language, "now": now.language });
                self.push::<Actors>("language", values);
            }
        }
        let issued = after.pairings.keys().filter(|id| !before.pairings.contains_key(*id)).count();
        let is_fresh = |id: &String| before.pairings.get(id).is_none_or(|was| !was.is_spent);
        let spent = after.pairings.iter().filter(|(id, pairing)| pairing.is_spent && is_fresh(id)).count();
        if issued + spent > 0 {
            self.push::<Actors>("codes", json!({ "issued": issued, "spent": spent }));
        }
    }

    fn schedules(&mut self, before: &Schedules, after: &Schedules) {
        for (id, now) in &after.schedules {
            let words = |schedule: &crate::machines::schedules::Schedule| json!(schedule.contract.words);
            let Some(was) = before.schedules.get(id) else {
                let values = json!({
                    "schedule": id, "actor": now.actor, "cadence": now.contract.cadence, "words": words(now),
                    "zone": now.contract.zone, "state": now.state.name(),
                });
                self.push::<Schedules>("schedule_came", values);
                self.fired(id, (0, 0), (now.fired, now.missed));
                continue;
            };
            if was.state != now.state {
                let values = json!({ "schedule": id, "was": was.state.name(), "now": now.state.name() });
                self.push::<Schedules>("schedule_moved", values);
            }
            if was.contract.cadence != now.contract.cadence || was.contract.zone != now.contract.zone {
                let values = json!({
                    "schedule": id, "was": was.contract.cadence, "now": now.contract.cadence, "words": words(now),
                    "zone": now.contract.zone,
                });
                self.push::<Schedules>("schedule_times", values);
            } else if was.said_at != now.said_at {
                self.push::<Schedules>("schedule_said", json!({ "schedule": id }));
            }
            self.fired(id, (was.fired, was.missed), (now.fired, now.missed));
        }
    }

    fn fired(&mut self, id: &str, was: (u32, u64), now: (u32, u64)) {
        let (fired, missed) = (now.0.saturating_sub(was.0), now.1.saturating_sub(was.1));
        if fired > 0 || missed > 0 {
            self.push::<Schedules>("schedule_fired", json!({ "schedule": id, "fired": fired, "missed": missed }));
        }
    }

    fn settings(&mut self, before: &Configuration, after: &Configuration) {
        for (key, now) in &after.values {
            match before.values.get(key) {
                Some(was) if was == now => {}
                was => {
                    let values = json!({ "key": key, "was": was.map(Value::to_string), "now": now.to_string() });
                    self.push::<Configuration>("setting", values);
                }
            }
        }
    }

    /// What the graph learned and lost, each weighed at its own moment.
    fn mnests(&mut self, before: Standing<'_>, after: Standing<'_>) {
        let text = |then: Standing<'_>| {
            let head =
                Head { name: String::new(), log: String::new(), position: 0, head: String::new(), until: then.until };
            state::text(&head, &Catalog::default(), then.mnestome, &Schedules::default())
        };
        let Some(difference) = state::difference(&text(before), &text(after)) else { return };
        let ends =
            |pairs: &[(String, String)]| pairs.iter().map(|(src, dst)| format!("{src} → {dst}")).collect::<Vec<_>>();
        let learned: Vec<_> =
            difference.learned.iter().map(|(src, dst, _)| format!("{src} → {dst}")).collect::<Vec<_>>();
        self.names::<Mnestome>("mnests_learned", &learned);
        let moved = |pairs: &[(String, String, f64, f64)]| {
            pairs.iter().map(|(src, dst, was, now)| format!("{src} → {dst} ({was:.2} → {now:.2})")).collect::<Vec<_>>()
        };
        self.names::<Mnestome>("mnests_stronger", &moved(&difference.strengthened));
        self.names::<Mnestome>("mnests_weaker", &moved(&difference.faded));
        self.names::<Mnestome>("mnests_forgotten", &ends(&difference.forgotten));
        self.names::<Mnestome>("wishes", &ends(&difference.wished));
    }

    fn channels(&mut self, before: &Channels, after: &Channels) {
        for (name, now) in &after.channels {
            let was = before.channels.get(name).cloned().unwrap_or_default();
            let came = |series: &BTreeMap<String, crate::machines::channels::Series>| {
                series
                    .iter()
                    .flat_map(|(account, series)| series.numbers.keys().map(move |number| (account.clone(), *number)))
                    .collect()
            };
            let (then, since): (std::collections::BTreeSet<_>, std::collections::BTreeSet<_>) =
                (came(&was.updates), came(&now.updates));
            let values = json!({
                "channel": name, "came": since.difference(&then).count(), "waiting": now.outbox.len(),
                "waited": was.outbox.len(), "unsettled": now.pending.len(),
            });
            let is_same = since == then && was.outbox.keys().eq(now.outbox.keys()) && was.pending == now.pending;
            if !is_same {
                self.push::<Channels>("channel", values);
            }
        }
    }

    fn rest(&mut self, before: Standing<'_>, after: Standing<'_>) {
        let taken = after.states.taken.keys().filter(|name| !before.states.taken.contains_key(*name));
        self.names::<States>("states", &taken.cloned().collect::<Vec<_>>());
        if before.documents != after.documents {
            let count = after.documents.count().saturating_sub(before.documents.count());
            self.push::<Documents>("documents", json!({ "count": count }));
        }
    }
}

fn open(turns: &Turns) -> Vec<TurnId> {
    turns.open().map(|(id, _)| id).collect()
}

#[cfg(test)]
mod tests {
    use metnos_log::event::actor::{ActorAdded, AddressBound, AutonomySet};
    use metnos_log::event::executor::{LifeCycle, LifeCycleChanged, VersionPromoted};
    use metnos_log::event::instance::ConfigurationChanged;
    use metnos_log::{Event, Recorded};

    use super::*;
    use crate::projection::recorded;

    #[derive(Clone, Default)]
    struct World {
        catalog: Catalog,
        turns: Turns,
        configuration: Configuration,
        actors: Actors,
        channels: Channels,
        documents: Documents,
        mnestome: Mnestome,
        states: States,
        schedules: Schedules,
    }

    impl World {
        fn take(&mut self, recorded: &Recorded) {
            recorded.each(|recorded| {
                self.catalog.evolve(recorded);
                self.configuration.evolve(recorded);
                self.actors.evolve(recorded);
            });
        }

        fn standing(&self) -> Standing<'_> {
            Standing {
                catalog: &self.catalog,
                turns: &self.turns,
                configuration: &self.configuration,
                actors: &self.actors,
                channels: &self.channels,
                documents: &self.documents,
                mnestome: &self.mnestome,
                states: &self.states,
                schedules: &self.schedules,
                until: 0,
            }
        }
    }

    #[track_caller]
    fn check(given: Vec<Event>, when: Vec<Event>, then: &[&str]) -> Vec<Fact> {
        let mut world = World::default();
        let mut seq = 0;
        let mut take = |world: &mut World, event| {
            seq += 1;
            world.take(&recorded(seq, 0, event));
        };
        for event in given {
            take(&mut world, event);
        }
        let before = world.clone();
        for event in when {
            take(&mut world, event);
        }
        let found = facts(before.standing(), world.standing());
        assert_eq!(found.iter().map(|fact| fact.key).collect::<Vec<_>>(), then, "{found:?}");
        found
    }

    fn promoted(version: &str) -> Event {
        VersionPromoted { name: "read".to_owned(), version: version.to_owned() }.into()
    }

    #[test]
    fn nothing_happened_and_nothing_is_told() {
        check(vec![promoted("1.0.0")], Vec::new(), &[]);
    }

    #[test]
    fn executors_people_and_settings_are_told_by_what_became_of_them() {
        let moved = LifeCycleChanged {
            name: "read".to_owned(),
            version: "1.0.1".to_owned(),
            from: None,
            to: LifeCycle::Quarantined,
            reason: "changed".to_owned(),
            by: "loader".to_owned(),
        };
        let person = ActorAdded { actor: "guest_1".to_owned(), role: "guest".to_owned(), name: Some("Ada".to_owned()) };
        let bound = AddressBound {
            actor: "guest_1".to_owned(),
            channel: "telegram".to_owned(),
            address: "7".to_owned(),
            pairing: None,
        };
        let autonomy = AutonomySet { actor: "guest_1".to_owned(), autonomy: "read_only".to_owned() };
        let setting = ConfigurationChanged { key: "engine".to_owned(), old: None, new: json!("auto").into() };
        let when = vec![
            promoted("1.0.1"),
            moved.into(),
            VersionPromoted { name: "write".to_owned(), version: "2.0.0".to_owned() }.into(),
            person.into(),
            bound.into(),
            autonomy.into(),
            setting.into(),
        ];
        let keys = [
            "executors_came",
            "executor_version",
            "executor_moved",
            "person_came",
            "address_came",
            "autonomy",
            "setting",
        ];
        let found = check(vec![promoted("1.0.0")], when, &keys);
        assert_eq!(found[1].values, json!({ "name": "read", "was": "1.0.0", "now": "1.0.1" }));
        assert_eq!(found[2].values["now"], "quarantined");
    }
}

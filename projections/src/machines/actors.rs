//! The people: one host, any number of guests, the addresses that are theirs and the codes that bind new ones (design
//! 7-people, «Actors»).

use std::collections::{BTreeMap, BTreeSet};

use metnos_log::event::actor::{
    ActorAdded, AddressBound, AddressRevoked, AutonomySet, FolderClosed, FolderOpened, GrantGiven, GrantRevoked,
    Granted, LanguageSet, PairingIssued, PairingRevoked,
};
use metnos_log::{Event, Micros, Recorded};
use serde::{Deserialize, Serialize};

use crate::projection::Projection;
use crate::rules::{grants, perimeter};

/// The host in every event. There is one, whether or not the log says so yet.
pub const HOST: &str = "owner";
/// Metnos itself, where nobody asked: its nightly work.
pub const SYSTEM: &str = "metnos";
/// The most guests.
const GUESTS_MAX: usize = 100;
/// The most folders that are open to one guest.
const FOLDERS_MAX: usize = 100;
/// The most grants of one person that hold at once.
const GRANTS_MAX: usize = 100;
/// The most codes of one person that are good at once.
const CODES_MAX: usize = 3;

/// Whose home it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The one whose home it is.
    Host,
    /// Anyone else.
    #[default]
    Guest,
}

/// One person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Host or guest.
    pub role: Role,
    /// What the host calls them.
    pub name: Option<String>,
    /// How much is done unasked, where that was set.
    pub autonomy: Option<String>,
    /// Their language, where that was set.
    pub language: Option<String>,
    /// Channel and address of each of their addresses.
    pub addresses: BTreeSet<(String, String)>,
    /// Of a guest: the folders of the house that are open to them beside their own.
    #[serde(default)]
    pub folders: BTreeSet<String>,
    /// What they may use unasked, by number. One that has ended goes when the next is given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grants: BTreeMap<u64, Grant>,
}

/// That someone may use a capability on some targets, until a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The capability.
    pub capability: String,
    /// What it may be used on ([`grants`]).
    pub target: String,
    /// Until when, µs.
    pub until: i64,
    /// Since when, µs.
    pub since: i64,
    /// Who gave it.
    pub by: String,
    /// Why, in words.
    pub reason: String,
}

impl Actor {
    /// The grants that hold at a moment.
    pub fn granted(&self, now: Micros) -> impl Iterator<Item = Granted> {
        let live = self.grants.iter().filter(move |(_, grant)| now.0 < grant.until);
        live.map(|(&number, grant)| {
            let (capability, target) = (grant.capability.clone(), grant.target.clone());
            Granted { grant: number, capability, target, until: grant.until }
        })
    }
}

/// A code that binds one address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairing {
    /// Whose address it binds.
    pub actor: String,
    /// Until when, µs.
    pub until: i64,
    /// Used or revoked.
    pub is_spent: bool,
}

/// All people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actors {
    /// People by id.
    pub actors: BTreeMap<String, Actor>,
    /// Codes by id.
    pub pairings: BTreeMap<String, Pairing>,
    /// The number of the last grant that was given.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub granted: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What may be asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Someone is to be known.
    Add {
        /// The id.
        actor: String,
        /// Host or guest.
        role: Role,
        /// What the host calls them.
        name: Option<String>,
    },
    /// A code is to be made.
    Issue {
        /// Its id.
        pairing: String,
        /// For whom.
        actor: String,
        /// Until when.
        until: Micros,
    },
    /// A code is not to be taken any more.
    Withdraw {
        /// Which.
        pairing: String,
    },
    /// Someone sent a code whose signature is good.
    Bind {
        /// Which.
        pairing: String,
        /// The channel it came over.
        channel: String,
        /// The address it came from.
        address: String,
    },
    /// The first message of the chat that the configuration names, while the host has no address on this channel.
    Bootstrap {
        /// The channel.
        channel: String,
        /// The address.
        address: String,
    },
    /// An address is to be nobody's.
    Unbind {
        /// The channel.
        channel: String,
        /// The address.
        address: String,
    },
    /// Autonomy.
    SetAutonomy {
        /// Whose.
        actor: String,
        /// `read_only`, `supervised`, `full`.
        autonomy: String,
    },
    /// Language.
    SetLanguage {
        /// Whose.
        actor: String,
        /// `en` or `it`.
        language: String,
    },
    /// A folder of the house is to be open to a guest.
    OpenFolder {
        /// Whom.
        actor: String,
        /// Which: absolute, without links.
        folder: String,
    },
    /// Someone may use a capability on some targets unasked.
    Grant {
        /// Who.
        actor: String,
        /// The capability.
        capability: String,
        /// What it may be used on.
        target: String,
        /// Until when.
        until: Micros,
        /// Who gives it.
        by: String,
        /// Why, in words.
        reason: String,
    },
    /// A grant is to hold no more.
    RevokeGrant {
        /// Its number.
        grant: u64,
        /// Who revokes it.
        by: String,
        /// Why, in words.
        reason: String,
    },
    /// It is to be closed to them.
    CloseFolder {
        /// Whom.
        actor: String,
        /// Which.
        folder: String,
    },
}

/// Why it is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// Nobody of that name.
    #[error("there is no actor {0}")]
    NobodySuch(String),
    /// The id is taken, or a second host.
    #[error("{0} is already there")]
    Taken(String),
    /// No more guests.
    #[error("there are already {GUESTS_MAX} guests")]
    Full,
    /// Too many codes at once.
    #[error("{0} already has {CODES_MAX} codes that nobody used yet")]
    TooManyCodes(String),
    /// No code of that name, or it was used or revoked.
    #[error("this code was used already, or was never given out")]
    Spent,
    /// Too late.
    #[error("this code was good until {}", .0.0)]
    Expired(Micros),
    /// The address is someone else's.
    #[error("this address already belongs to {0}")]
    Bound(String),
    /// The address is nobody's.
    #[error("this address belongs to nobody")]
    Unbound,
    /// Someone is paired already.
    #[error("the host already has an address there")]
    NotTheFirst,
    /// Nothing is closed to the host.
    #[error("{0} is no guest: nothing is closed to them")]
    NoGuest(String),
    /// It is as it should be already.
    #[error("{0} is open to them already")]
    OpenAlready(String),
    /// It was never opened.
    #[error("{0} is not open to them")]
    NotOpen(String),
    /// Not a folder that can be opened.
    #[error("{0} cannot be opened to anybody")]
    NoFolder(String),
    /// The capability is not granted, to nobody.
    #[error("{0} is not granted")]
    NotGrantable(String),
    /// It would end before it began.
    #[error("a grant ends later than now")]
    Over,
    /// No such grant, or it has ended.
    #[error("there is no grant {0}, or it has ended")]
    NoGrant(u64),
    /// Too many grants.
    #[error("{GRANTS_MAX} grants of theirs hold already")]
    TooManyGrants,
    /// Too many.
    #[error("{FOLDERS_MAX} folders are open to them already")]
    TooManyFolders,
}

/// The stream of one person's events.
pub fn stream(actor: &str) -> String {
    format!("actor/{actor}")
}

impl Actors {
    /// Whose address it is.
    pub fn at(&self, channel: &str, address: &str) -> Option<&str> {
        let key = (channel.to_owned(), address.to_owned());
        self.actors.iter().find(|(_, actor)| actor.addresses.contains(&key)).map(|(id, _)| id.as_str())
    }

    /// A person by id.
    pub fn get(&self, actor: &str) -> Option<&Actor> {
        self.actors.get(actor)
    }

    /// Whether a text is somebody's id, or what somebody is called.
    pub fn is_named(&self, text: &str) -> bool {
        self.find(text).is_some() || [HOST, SYSTEM].iter().any(|id| id.eq_ignore_ascii_case(text))
    }

    /// The person whose id a text is, or who is called so: nobody is called what somebody else is.
    pub fn find(&self, text: &str) -> Option<(&str, &Actor)> {
        let is_meant = |id: &str, actor: &Actor| {
            let called = [Some(id), actor.name.as_deref()];
            called.into_iter().flatten().any(|name| name.eq_ignore_ascii_case(text))
        };
        self.actors.iter().find(|(id, actor)| is_meant(id, actor)).map(|(id, actor)| (id.as_str(), actor))
    }

    /// Whether the host has an address on a channel.
    pub fn is_connected(&self, channel: &str) -> bool {
        self.actors.get(HOST).is_some_and(|host| host.addresses.iter().any(|(on, _)| on == channel))
    }

    fn guest(&self, actor: &str) -> Result<&Actor, Rejection> {
        let known = self.known(actor)?;
        if known.role == Role::Guest { Ok(known) } else { Err(Rejection::NoGuest(actor.to_owned())) }
    }

    fn known(&self, actor: &str) -> Result<&Actor, Rejection> {
        self.actors.get(actor).ok_or_else(|| Rejection::NobodySuch(actor.to_owned()))
    }

    fn free(&self, channel: &str, address: &str) -> Result<(), Rejection> {
        self.at(channel, address).map_or(Ok(()), |actor| Err(Rejection::Bound(actor.to_owned())))
    }
}

/// Events that a command leads to, all of one person's stream, whose id comes with them.
pub fn decide(actors: &Actors, command: Command, now: Micros) -> Result<(String, Vec<Event>), Rejection> {
    let (actor, event): (String, Event) = match command {
        Command::Add { actor, role, name } => {
            let is_host = actor == HOST;
            if actors.actors.contains_key(&actor) || is_host != (role == Role::Host) || actor == SYSTEM {
                return Err(Rejection::Taken(actor));
            }
            // Whoever is named must be one person, by id or by name.
            if name.as_deref().is_some_and(|name| actors.is_named(name)) {
                return Err(Rejection::Taken(name.unwrap_or_default()));
            }
            if actors.actors.len() > GUESTS_MAX {
                return Err(Rejection::Full);
            }
            let role = if is_host { "host" } else { "guest" }.to_owned();
            (actor.clone(), ActorAdded { actor, role, name }.into())
        }
        Command::Issue { pairing, actor, until } => {
            actors.known(&actor)?;
            let good = actors.pairings.values().filter(|code| code.actor == actor && code.is_good(now)).count();
            if good >= CODES_MAX {
                return Err(Rejection::TooManyCodes(actor));
            }
            (actor.clone(), PairingIssued { pairing, actor, until: until.0 }.into())
        }
        Command::Withdraw { pairing } => {
            let actor = unspent(actors, &pairing)?.actor.clone();
            (actor.clone(), PairingRevoked { pairing, actor }.into())
        }
        Command::Bind { pairing, channel, address } => {
            let code = unspent(actors, &pairing)?;
            if !code.is_good(now) {
                return Err(Rejection::Expired(Micros(code.until)));
            }
            actors.free(&channel, &address)?;
            let (actor, pairing) = (code.actor.clone(), Some(pairing));
            (actor.clone(), AddressBound { actor, channel, address, pairing }.into())
        }
        Command::Bootstrap { channel, address } => {
            if actors.is_connected(&channel) || !actors.pairings.is_empty() {
                return Err(Rejection::NotTheFirst);
            }
            actors.free(&channel, &address)?;
            let actor = HOST.to_owned();
            (actor.clone(), AddressBound { actor, channel, address, pairing: None }.into())
        }
        Command::Unbind { channel, address } => {
            let actor = actors.at(&channel, &address).ok_or(Rejection::Unbound)?.to_owned();
            (actor.clone(), AddressRevoked { actor, channel, address }.into())
        }
        Command::SetAutonomy { actor, autonomy } => {
            actors.known(&actor)?;
            (actor.clone(), AutonomySet { actor, autonomy }.into())
        }
        Command::SetLanguage { actor, language } => {
            actors.known(&actor)?;
            (actor.clone(), LanguageSet { actor, language }.into())
        }
        Command::OpenFolder { actor, folder } => opened(actors, actor, folder)?,
        Command::CloseFolder { actor, folder } => closed(actors, actor, folder)?,
        Command::Grant { actor, capability, target, until, by, reason } => {
            // One that holds is given again under its own number: it then ends as is said now.
            let grant = actors.equal_grant(&actor, &capability, &target, now).unwrap_or(actors.granted + 1);
            let until = until.0;
            given(actors, GrantGiven { actor, grant, capability, target, until, by, reason }, now)?
        }
        Command::RevokeGrant { grant, by, reason } => ungiven(actors, (grant, by, reason), now)?,
    };
    Ok((actor, vec![event]))
}

fn opened(actors: &Actors, actor: String, folder: String) -> Result<(String, Event), Rejection> {
    let guest = actors.guest(&actor)?;
    if !perimeter::holds(std::slice::from_ref(&folder), &folder) {
        return Err(Rejection::NoFolder(folder));
    }
    if guest.folders.contains(&folder) {
        return Err(Rejection::OpenAlready(folder));
    }
    if guest.folders.len() >= FOLDERS_MAX {
        return Err(Rejection::TooManyFolders);
    }
    Ok((actor.clone(), FolderOpened { actor, folder }.into()))
}

fn given(actors: &Actors, given: GrantGiven, now: Micros) -> Result<(String, Event), Rejection> {
    let mut holding = actors.known(&given.actor)?.granted(now).filter(|granted| granted.grant != given.grant);
    if grants::grantable(&given.capability).is_err() {
        return Err(Rejection::NotGrantable(given.capability));
    }
    if given.until <= now.0 {
        return Err(Rejection::Over);
    }
    if holding.nth(GRANTS_MAX - 1).is_some() {
        return Err(Rejection::TooManyGrants);
    }
    Ok((given.actor.clone(), given.into()))
}

fn ungiven(
    actors: &Actors,
    (grant, by, reason): (u64, String, String),
    now: Micros,
) -> Result<(String, Event), Rejection> {
    let holds = |actor: &Actor| actor.granted(now).any(|granted| granted.grant == grant);
    let holder = actors.actors.iter().find(|(_, actor)| holds(actor)).map(|(id, _)| id.clone());
    let actor = holder.ok_or(Rejection::NoGrant(grant))?;
    Ok((actor.clone(), GrantRevoked { actor, grant, by, reason }.into()))
}

fn closed(actors: &Actors, actor: String, folder: String) -> Result<(String, Event), Rejection> {
    if !actors.guest(&actor)?.folders.contains(&folder) {
        return Err(Rejection::NotOpen(folder));
    }
    Ok((actor.clone(), FolderClosed { actor, folder }.into()))
}

impl Pairing {
    /// Whether it is still taken.
    pub fn is_good(&self, now: Micros) -> bool {
        !self.is_spent && now.0 < self.until
    }
}

fn unspent<'a>(actors: &'a Actors, pairing: &str) -> Result<&'a Pairing, Rejection> {
    actors.pairings.get(pairing).filter(|code| !code.is_spent).ok_or(Rejection::Spent)
}

impl Projection for Actors {
    const NAME: &'static str = "actors";
    const VERSION: u32 = 4;

    fn evolve(&mut self, recorded: &Recorded) {
        self.end_grants(recorded.time);
        match recorded.event() {
            Some(Event::ActorAdded(added)) => {
                let role = if added.role == "host" { Role::Host } else { Role::Guest };
                let actor = Actor { role, name: added.name.clone(), ..Actor::default() };
                self.actors.entry(added.actor.clone()).or_insert(actor);
            }
            Some(Event::PairingIssued(issued)) => {
                let code = Pairing { actor: issued.actor.clone(), until: issued.until, is_spent: false };
                self.pairings.insert(issued.pairing.clone(), code);
            }
            Some(Event::PairingRevoked(revoked)) => self.spend(&revoked.pairing),
            Some(Event::AddressBound(bound)) => {
                if let Some(pairing) = &bound.pairing {
                    self.spend(pairing);
                }
                let actor = self.actors.entry(bound.actor.clone()).or_default();
                actor.addresses.insert((bound.channel.clone(), bound.address.clone()));
            }
            Some(Event::AddressRevoked(revoked)) => {
                if let Some(actor) = self.actors.get_mut(&revoked.actor) {
                    actor.addresses.remove(&(revoked.channel.clone(), revoked.address.clone()));
                }
            }
            Some(Event::AutonomySet(set)) => {
                if let Some(actor) = self.actors.get_mut(&set.actor) {
                    actor.autonomy = Some(set.autonomy.clone());
                }
            }
            Some(Event::LanguageSet(set)) => {
                if let Some(actor) = self.actors.get_mut(&set.actor) {
                    actor.language = Some(set.language.clone());
                }
            }
            Some(Event::FolderOpened(opened)) => {
                if let Some(actor) = self.actors.get_mut(&opened.actor) {
                    actor.folders.insert(opened.folder.clone());
                }
            }
            Some(Event::GrantGiven(given)) => self.take_grant(recorded.time, given),
            Some(Event::GrantRevoked(revoked)) => {
                if let Some(actor) = self.actors.get_mut(&revoked.actor) {
                    actor.grants.remove(&revoked.grant);
                }
            }
            Some(Event::FolderClosed(closed)) => {
                if let Some(actor) = self.actors.get_mut(&closed.actor) {
                    actor.folders.remove(&closed.folder);
                }
            }
            _ => {}
        }
    }
}

impl Actors {
    /// The number of the grant of just this that holds at a moment.
    pub fn equal_grant(&self, actor: &str, capability: &str, target: &str, now: Micros) -> Option<u64> {
        let mut granted = self.actors.get(actor)?.granted(now);
        let equal = granted.find(|granted| granted.capability == capability && granted.target == target);
        equal.map(|granted| granted.grant)
    }

    /// What was over when anything happened stays over, also where the clock goes back afterwards. By the events' own times:
    /// whenever they are folded, the same is left.
    fn end_grants(&mut self, time: Micros) {
        for actor in self.actors.values_mut() {
            actor.grants.retain(|_, grant| time.0 < grant.until);
        }
    }

    fn take_grant(&mut self, time: Micros, given: &GrantGiven) {
        self.granted = self.granted.max(given.grant);
        let Some(actor) = self.actors.get_mut(&given.actor) else { return };
        let (capability, target, by) = (given.capability.clone(), given.target.clone(), given.by.clone());
        let (until, since, reason) = (given.until, time.0, given.reason.clone());
        actor.grants.insert(given.grant, Grant { capability, target, until, since, by, reason });
    }

    fn spend(&mut self, pairing: &str) {
        if let Some(code) = self.pairings.get_mut(pairing) {
            code.is_spent = true;
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::projection;

    const NOW: Micros = Micros(1_000_000);

    fn text(text: &str) -> String {
        text.to_owned()
    }

    fn folded(events: Vec<Event>) -> Actors {
        let mut actors = Actors::default();
        for (seq, event) in (1..).zip(events) {
            actors.evolve(&projection::recorded(seq, NOW.0, event));
        }
        actors
    }

    fn add(actor: &str) -> Command {
        let role = if actor == HOST { Role::Host } else { Role::Guest };
        Command::Add { actor: text(actor), role, name: None }
    }

    fn issue(pairing: &str, actor: &str) -> Command {
        Command::Issue { pairing: text(pairing), actor: text(actor), until: Micros(NOW.0 + 10) }
    }

    fn bind(pairing: &str, address: &str) -> Command {
        Command::Bind { pairing: text(pairing), channel: text("telegram"), address: text(address) }
    }

    #[track_caller]
    fn check(given: &[Command], at: i64, when: Command, then: &Result<&str, Rejection>) -> Actors {
        let mut events = Vec::new();
        for command in given {
            let (_, more) = decide(&folded(events.clone()), command.clone(), NOW).unwrap();
            events.extend(more);
        }
        let decided = decide(&folded(events.clone()), when, Micros(NOW.0 + at));
        assert_eq!(decided.as_ref().map(|(actor, _)| actor.as_str()).map_err(Clone::clone), *then);
        events.extend(decided.map(|(_, more)| more).unwrap_or_default());
        folded(events)
    }

    #[test]
    fn a_code_binds_one_address_once() {
        let given = [add(HOST), issue("a", HOST)];
        let actors = check(&given, 0, bind("a", "7"), &Ok(HOST));
        assert_eq!((actors.at("telegram", "7"), actors.at("matrix", "7")), (Some(HOST), None));
        assert!(actors.is_connected("telegram") && !actors.is_connected("matrix"));
        check(&[add(HOST), issue("a", HOST), bind("a", "7")], 0, bind("a", "8"), &Err(Rejection::Spent));
        check(&given, 10, bind("a", "7"), &Err(Rejection::Expired(Micros(NOW.0 + 10))));
        check(&given, 0, bind("b", "7"), &Err(Rejection::Spent));
        let withdrawn = [add(HOST), issue("a", HOST), Command::Withdraw { pairing: text("a") }];
        check(&withdrawn, 0, bind("a", "7"), &Err(Rejection::Spent));
    }

    #[test]
    fn an_address_is_one_persons_until_it_is_revoked() {
        let given = [add(HOST), add("guest_1"), issue("a", HOST), bind("a", "7"), issue("b", "guest_1")];
        check(&given, 0, bind("b", "7"), &Err(Rejection::Bound(text(HOST))));
        let unbind = Command::Unbind { channel: text("telegram"), address: text("7") };
        let given = [&given[..], std::slice::from_ref(&unbind)].concat();
        let actors = check(&given, 0, bind("b", "7"), &Ok("guest_1"));
        assert_eq!(actors.at("telegram", "7"), Some("guest_1"));
        check(&given, 0, unbind, &Err(Rejection::Unbound));
    }

    #[test]
    fn there_is_one_host_and_codes_are_few() {
        check(&[add(HOST)], 0, add(HOST), &Err(Rejection::Taken(text(HOST))));
        let second = Command::Add { actor: text("guest_1"), role: Role::Host, name: None };
        check(&[add(HOST)], 0, second, &Err(Rejection::Taken(text("guest_1"))));
        for name in ["OWNER", "metnos", "guest_1", "Anna"] {
            let anna = Command::Add { actor: text("guest_1"), role: Role::Guest, name: Some(text("anna")) };
            let second = Command::Add { actor: text("guest_2"), role: Role::Guest, name: Some(text(name)) };
            check(&[add(HOST), anna], 0, second, &Err(Rejection::Taken(text(name))));
        }
        check(&[], 0, add(SYSTEM), &Err(Rejection::Taken(text(SYSTEM))));
        let given = [add(HOST), issue("a", HOST), issue("b", HOST), issue("c", HOST)];
        check(&given, 0, issue("d", HOST), &Err(Rejection::TooManyCodes(text(HOST))));
        check(&given, 10, issue("d", HOST), &Ok(HOST));
        check(&[], 0, issue("a", "guest_9"), &Err(Rejection::NobodySuch(text("guest_9"))));
    }

    #[test]
    fn only_the_first_chat_of_a_new_instance_binds_the_host_without_a_code() {
        let first = Command::Bootstrap { channel: text("telegram"), address: text("7") };
        check(&[add(HOST)], 0, first.clone(), &Ok(HOST));
        check(&[add(HOST), issue("a", HOST)], 0, first.clone(), &Err(Rejection::NotTheFirst));
        check(&[add(HOST), first.clone()], 0, first, &Err(Rejection::NotTheFirst));
    }

    #[test]
    fn what_is_set_for_one_person_is_theirs() {
        let set = Command::SetAutonomy { actor: text("guest_1"), autonomy: text("supervised") };
        let actors = check(&[add(HOST), add("guest_1")], 0, set, &Ok("guest_1"));
        assert_eq!(actors.get("guest_1").unwrap().autonomy.as_deref(), Some("supervised"));
        assert_eq!(actors.get(HOST).unwrap().autonomy, None);
    }

    fn grant(capability: &str, until: i64) -> Command {
        let (actor, target) = (text(HOST), text("/home/a/inbox"));
        let (by, reason) = (text(HOST), text("while I sort it"));
        Command::Grant { actor, capability: text(capability), target, until: Micros(NOW.0 + until), by, reason }
    }

    fn ungrant(grant: u64) -> Command {
        Command::RevokeGrant { grant, by: text(HOST), reason: text("it is sorted") }
    }

    #[test]
    fn a_grant_holds_until_it_ends_or_is_revoked() {
        let numbers = |actors: &Actors, at: i64| -> Vec<u64> {
            let granted = actors.get(HOST).unwrap().granted(Micros(NOW.0 + at));
            granted.map(|granted| granted.grant).collect()
        };
        let given = [add(HOST), grant("fs:write", 10)];
        let actors = check(&given, 5, grant("fs:read", 20), &Ok(HOST));
        assert_eq!((numbers(&actors, 9), numbers(&actors, 10), numbers(&actors, 20)), (vec![1, 2], vec![2], vec![]));
        let actors = check(&given, 5, ungrant(1), &Ok(HOST));
        assert_eq!(numbers(&actors, 5), Vec::<u64>::new());
        check(&given, 10, ungrant(1), &Err(Rejection::NoGrant(1)));
        check(&given, 5, ungrant(2), &Err(Rejection::NoGrant(2)));
        check(&given, 5, grant("fs:write", 5), &Err(Rejection::Over));
        // A number is never given again.
        let actors = check(&[&given[..], &[ungrant(1)]].concat(), 5, grant("fs:read", 20), &Ok(HOST));
        assert_eq!(numbers(&actors, 5), [2]);
        // The same again is the same one, until then; once it has ended it is another one.
        let actors = check(&given, 5, grant("fs:write", 20), &Ok(HOST));
        assert_eq!((numbers(&actors, 19), actors.get(HOST).unwrap().grants.len()), (vec![1], 1));
        let actors = check(&given, 5, grant("fs:write", 7), &Ok(HOST));
        assert_eq!((numbers(&actors, 6), numbers(&actors, 7)), (vec![1], vec![]));
        assert_eq!(numbers(&check(&given, 10, grant("fs:write", 20), &Ok(HOST)), 11), [2]);
        let nobody = Command::Grant {
            actor: text("guest_9"),
            capability: text("fs:read"),
            target: text("/a"),
            until: Micros(NOW.0 + 9),
            by: text(HOST),
            reason: text(""),
        };
        check(&given, 0, nobody, &Err(Rejection::NobodySuch(text("guest_9"))));
        for capability in ["code:exec", "mail:send", "time:read", "no:such"] {
            check(&given, 0, grant(capability, 10), &Err(Rejection::NotGrantable(text(capability))));
        }
        assert!(!folded(vec![]).snapshot().contains("granted"), "without grants it reads as it always did");
    }

    /// A clock that goes back brings nothing back.
    #[test]
    fn a_grant_that_was_over_stays_over() {
        let mut actors = check(&[add(HOST), grant("fs:write", 10)], 0, grant("fs:read", 20), &Ok(HOST));
        let numbers = |actors: &Actors| -> Vec<u64> {
            let granted = actors.get(HOST).unwrap().granted(Micros(NOW.0 + 1));
            granted.map(|granted| granted.grant).collect()
        };
        let set = || metnos_log::event::actor::LanguageSet { actor: text(HOST), language: text("it") };
        for (seq, at, left) in [(10, 9, vec![1, 2]), (11, 10, vec![2]), (12, 2, vec![2]), (13, 20, vec![])] {
            actors.evolve(&projection::recorded(seq, NOW.0 + at, set().into()));
            assert_eq!(numbers(&actors), left, "after an event at {at}");
        }
    }

    #[test]
    fn folders_are_opened_to_guests_alone_and_once() {
        let open = |actor: &str, folder: &str| Command::OpenFolder { actor: text(actor), folder: text(folder) };
        let close = |folder: &str| Command::CloseFolder { actor: text("guest_1"), folder: text(folder) };
        let given = [add(HOST), add("guest_1"), open("guest_1", "/home/a/photos")];
        let actors = check(&given, 0, open("guest_1", "/home/a/music"), &Ok("guest_1"));
        assert_eq!(actors.get("guest_1").unwrap().folders.len(), 2);
        check(&given, 0, open("guest_1", "/home/a/photos"), &Err(Rejection::OpenAlready(text("/home/a/photos"))));
        check(&given, 0, open(HOST, "/home/a"), &Err(Rejection::NoGuest(text(HOST))));
        for odd in ["/", "", "photos", "/home/a/../b"] {
            check(&given, 0, open("guest_1", odd), &Err(Rejection::NoFolder(text(odd))));
        }
        check(&given, 0, close("/home/a"), &Err(Rejection::NotOpen(text("/home/a"))));
        let actors = check(&given, 0, close("/home/a/photos"), &Ok("guest_1"));
        assert!(actors.get("guest_1").unwrap().folders.is_empty());
    }
}

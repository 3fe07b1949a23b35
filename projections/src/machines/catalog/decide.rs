//! What follows from a command about executors and keys: which events, or why none.

use metnos_log::Event;
use metnos_log::event::executor::{
    BirthTestsRun, ExecutorInstalled, ExecutorSigned, LifeCycle, LifeCycleChanged, VersionPromoted,
};
use metnos_log::event::instance::{KeyAdmitted, KeyRevoked};

use super::{Catalog, Entry, OWN_KEY, Version};

/// What someone wants of the catalog.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made an installation, and moved once")]
pub enum Command {
    /// A checked and signed version is to be stored, promoted and activated.
    Install {
        /// Its signature.
        signed: ExecutorSigned,
        /// Its artefacts.
        installed: ExecutorInstalled,
        /// Its birth tests, all passed.
        birth: BirthTestsRun,
        /// Who wants it.
        by: String,
    },
    /// A checked and signed version is to be known as signed; it is not installed by that.
    Sign(ExecutorSigned),
    /// Something about it does not hold.
    Quarantine {
        /// The executor.
        name: String,
        /// The version.
        version: String,
        /// What does not hold.
        reason: String,
        /// Who saw it.
        by: String,
    },
    /// It is to stand elsewhere in its life cycle.
    Move {
        /// The executor.
        name: String,
        /// Where.
        to: LifeCycle,
        /// Why, in words.
        reason: String,
        /// Who wants it.
        by: String,
    },
    /// Another of its signed versions is to be the one that calls get.
    Promote {
        /// The executor.
        name: String,
        /// The version.
        version: String,
    },
    /// Its birth tests were run again.
    RecordBirth(BirthTestsRun),
    /// A key is to sign executors.
    Admit(KeyAdmitted),
    /// A key is to sign no more.
    Revoke(KeyRevoked),
    /// A builtin is to be enabled or disabled.
    Switch {
        /// The builtin.
        name: String,
        /// Whether it may be called from here on.
        enabled: bool,
        /// Who wants it.
        by: String,
    },
}

/// Why the catalog refuses a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// A signed version is never changed.
    #[error("{name} {version} is signed already with other content; a change is a new version")]
    VersionTaken {
        /// The executor.
        name: String,
        /// The version.
        version: String,
    },
    /// The same version with the same content is there and active.
    #[error("{version} is the current version of {name} already")]
    AlreadyActive {
        /// The executor.
        name: String,
        /// The version.
        version: String,
    },
    /// A birth case failed.
    #[error("birth case «{case}» of {name} failed")]
    BirthFailed {
        /// The executor.
        name: String,
        /// The case.
        case: String,
    },
    /// The signing key was never admitted.
    #[error("key {key_id} may not sign here")]
    KeyUnknown {
        /// The key.
        key_id: String,
    },
    /// The signing key was revoked, which is for good.
    #[error("the key {key_id} was revoked: {reason}")]
    KeyRevoked {
        /// The key.
        key_id: String,
        /// Why.
        reason: String,
    },
    /// The key may sign already.
    #[error("the key {key_id} may sign already")]
    KeyAdmitted {
        /// The key.
        key_id: String,
    },
    /// The key is the one that this instance signs with.
    #[error("the key {key_id} is the one that signs here")]
    KeyOwn {
        /// The key.
        key_id: String,
    },
    /// The version is signed by a key that may not sign any more.
    #[error("{name} {version} may not be called: {reason}")]
    Tainted {
        /// The executor.
        name: String,
        /// The version.
        version: String,
        /// What is wrong with its signature.
        reason: String,
    },
    /// There is no such executor.
    #[error("there is no executor {name}")]
    Unknown {
        /// The name.
        name: String,
    },
    /// It has a life cycle of its own.
    #[error("{name} is no builtin, so it is not enabled or disabled")]
    NoBuiltin {
        /// The executor.
        name: String,
    },
    /// It is switched on and off, and has no other life cycle.
    #[error("{name} is a builtin: it is enabled or disabled, and nothing else")]
    Builtin {
        /// The builtin.
        name: String,
    },
    /// No way of the life cycle leads there.
    #[error("{name} is {}{}", spoken(*.from), nowhere(*.from, *.to))]
    NoWay {
        /// The executor.
        name: String,
        /// Where it stands.
        from: LifeCycle,
        /// Where it was to stand.
        to: LifeCycle,
    },
    /// It has no such version that was signed.
    #[error("{name} has no signed version {version}; it has {there}")]
    NoVersion {
        /// The executor.
        name: String,
        /// The version.
        version: String,
        /// Those that it has.
        there: String,
    },
    /// It stands there already.
    #[error("{name} is {} already", if *.enabled { "enabled" } else { "disabled" })]
    Switched {
        /// The builtin.
        name: String,
        /// How it stands.
        enabled: bool,
    },
    /// It stands there already.
    #[error("{name} is quarantined already: {reason}")]
    AlreadyQuarantined {
        /// The executor.
        name: String,
        /// Why it stands there.
        reason: String,
    },
}

/// What a command leads to.
pub fn decide(catalog: &Catalog, command: Command) -> Result<Vec<Event>, Rejection> {
    match command {
        Command::Install { signed, installed, birth, by } => install(catalog, signed, installed, birth, by),
        Command::Sign(signed) => sign(catalog, signed),
        Command::Quarantine { name, version, reason, by } => quarantine(catalog, name, version, reason, by),
        Command::Move { name, to, reason, by } => move_to(catalog, name, to, &reason, &by),
        Command::Promote { name, version } => promote(catalog, name, version),
        Command::RecordBirth(birth) if catalog.executors.contains_key(&birth.name) => Ok(vec![birth.into()]),
        Command::RecordBirth(birth) => Err(Rejection::Unknown { name: birth.name }),
        Command::Switch { name, enabled, by } => switch(catalog, name, enabled, by),
        Command::Admit(key) => admit(catalog, key),
        Command::Revoke(key) => revoke(catalog, key),
    }
}

fn admit(catalog: &Catalog, key: KeyAdmitted) -> Result<Vec<Event>, Rejection> {
    // What it signed before would be trusted again, and nobody knows what it signed since.
    if let Some(KeyRevoked { reason, .. }) = catalog.revoked.get(&key.key_id) {
        return Err(Rejection::KeyRevoked { key_id: key.key_id, reason: reason.clone() });
    }
    if catalog.keys.contains_key(&key.key_id) {
        return Err(Rejection::KeyAdmitted { key_id: key.key_id });
    }
    Ok(vec![key.into()])
}

fn revoke(catalog: &Catalog, key: KeyRevoked) -> Result<Vec<Event>, Rejection> {
    let admitted = may_sign(catalog, &key.key_id)?;
    if admitted.role == OWN_KEY {
        return Err(Rejection::KeyOwn { key_id: key.key_id });
    }
    Ok(vec![key.into()])
}

/// A key that may sign, or why it may not.
fn may_sign<'c>(catalog: &'c Catalog, key_id: &str) -> Result<&'c KeyAdmitted, Rejection> {
    catalog.signer(key_id).ok_or_else(|| match catalog.revoked.get(key_id) {
        Some(revoked) => Rejection::KeyRevoked { key_id: key_id.to_owned(), reason: revoked.reason.clone() },
        None => Rejection::KeyUnknown { key_id: key_id.to_owned() },
    })
}

/// A state as it is said in a sentence.
fn spoken(state: LifeCycle) -> &'static str {
    match state {
        LifeCycle::Seed => "a seed",
        LifeCycle::Proposed => "proposed",
        LifeCycle::Active => "active",
        LifeCycle::Fused => "fused",
        LifeCycle::Quarantined => "quarantined",
        LifeCycle::BelowThreshold => "below the threshold of use",
        LifeCycle::Archived => "archived",
        LifeCycle::Disabled => "disabled",
    }
}

/// Why there is no way.
fn nowhere(from: LifeCycle, to: LifeCycle) -> String {
    if from == to { " already".to_owned() } else { format!(", and from there it does not become {}", spoken(to)) }
}

/// The states that an executor goes through from one to another (design 3-executors, «Life cycle»); `None` where no way leads
/// there. What is active is archived by way of being below the threshold: it is used no more.
fn way(from: LifeCycle, to: LifeCycle) -> Option<&'static [LifeCycle]> {
    use LifeCycle::{Active, Archived, BelowThreshold, Fused, Proposed, Quarantined, Seed};
    match (from, to) {
        (Seed | Proposed | Fused | Quarantined | BelowThreshold | Archived, Active) => Some(&[Active]),
        (Active, Fused) => Some(&[Fused]),
        (Active, BelowThreshold) => Some(&[BelowThreshold]),
        (Active | BelowThreshold, Quarantined) => Some(&[Quarantined]),
        (Fused | Quarantined | BelowThreshold | Proposed, Archived) => Some(&[Archived]),
        (Active, Archived) => Some(&[BelowThreshold, Archived]),
        _ => None,
    }
}

/// What holds of an executor that has a life cycle; builtins have none.
fn living<'c>(catalog: &'c Catalog, name: &str) -> Result<(&'c Entry, &'c str, &'c Version), Rejection> {
    let entry = catalog.executors.get(name).ok_or_else(|| Rejection::Unknown { name: name.to_owned() })?;
    let current = entry.current.as_deref().and_then(|current| Some((current, entry.versions.get(current)?)));
    let (number, version) = current.ok_or_else(|| Rejection::Unknown { name: name.to_owned() })?;
    if version.signed.is_none() {
        return Err(Rejection::Builtin { name: name.to_owned() });
    }
    Ok((entry, number, version))
}

fn move_to(catalog: &Catalog, name: String, to: LifeCycle, reason: &str, by: &str) -> Result<Vec<Event>, Rejection> {
    let (entry, version, _) = living(catalog, &name)?;
    let Some(states) = way(entry.life, to) else { return Err(Rejection::NoWay { name, from: entry.life, to }) };
    let mut from = entry.life;
    let step = |to: &LifeCycle| {
        let (name, version) = (name.clone(), version.to_owned());
        let from = Some(std::mem::replace(&mut from, *to));
        LifeCycleChanged { name, version, from, to: *to, reason: reason.to_owned(), by: by.to_owned() }.into()
    };
    Ok(states.iter().map(step).collect())
}

fn promote(catalog: &Catalog, name: String, version: String) -> Result<Vec<Event>, Rejection> {
    let (entry, current, _) = living(catalog, &name)?;
    if current == version {
        return Err(Rejection::AlreadyActive { name, version });
    }
    let is_signed = |version: &&Version| version.signed.is_some() && version.installed.is_some();
    if !entry.versions.get(&version).as_ref().is_some_and(is_signed) {
        let signed = entry.versions.iter().filter(|(_, version)| is_signed(version)).map(|(number, _)| number.as_str());
        let there = signed.collect::<Vec<_>>().join(", ");
        return Err(Rejection::NoVersion { name, version, there });
    }
    if let Some(reason) = catalog.taint(&name, &version) {
        return Err(Rejection::Tainted { name, version, reason });
    }
    Ok(vec![VersionPromoted { name, version }.into()])
}

fn switch(catalog: &Catalog, name: String, enabled: bool, by: String) -> Result<Vec<Event>, Rejection> {
    let Some(entry) = catalog.executors.get(&name) else { return Err(Rejection::Unknown { name }) };
    let current = entry.current.as_ref().and_then(|current| Some((current, entry.versions.get(current)?)));
    let Some((version, _)) = current.filter(|(_, version)| version.signed.is_none()) else {
        return Err(Rejection::NoBuiltin { name });
    };
    let to = if enabled { LifeCycle::Active } else { LifeCycle::Disabled };
    if entry.life == to {
        return Err(Rejection::Switched { name, enabled });
    }
    let reason = if enabled { "enabled" } else { "disabled" }.to_owned();
    Ok(vec![LifeCycleChanged { name, version: version.clone(), from: Some(entry.life), to, reason, by }.into()])
}

/// The signature that a version has, where it is over the same content.
fn signed_before<'c>(catalog: &'c Catalog, signed: &ExecutorSigned) -> Result<Option<&'c ExecutorSigned>, Rejection> {
    let entry = catalog.executors.get(&signed.name);
    let before = entry.and_then(|entry| entry.versions.get(&signed.version)).and_then(|known| known.signed.as_ref());
    let of = |signed: &ExecutorSigned| (signed.manifest, signed.code, signed.schema, signed.tests, signed.lock.clone());
    match before {
        Some(before) if of(before) != of(signed) => {
            Err(Rejection::VersionTaken { name: signed.name.clone(), version: signed.version.clone() })
        }
        before => Ok(before),
    }
}

/// Signed twice is signed once.
fn sign(catalog: &Catalog, signed: ExecutorSigned) -> Result<Vec<Event>, Rejection> {
    may_sign(catalog, &signed.key_id)?;
    let is_signed = signed_before(catalog, &signed)?.is_some();
    Ok(if is_signed { Vec::new() } else { vec![signed.into()] })
}

fn install(
    catalog: &Catalog,
    signed: ExecutorSigned,
    installed: ExecutorInstalled,
    birth: BirthTestsRun,
    by: String,
) -> Result<Vec<Event>, Rejection> {
    let (name, version) = (signed.name.clone(), signed.version.clone());
    may_sign(catalog, &signed.key_id)?;
    if let Some(failed) = birth.cases.iter().find(|case| !case.passed) {
        return Err(Rejection::BirthFailed { name, case: failed.name.clone() });
    }
    let entry = catalog.executors.get(&name);
    let is_active = |entry: &Entry| entry.life == LifeCycle::Active && entry.current.as_deref() == Some(&version);
    if signed_before(catalog, &signed)?.is_some() && entry.is_some_and(is_active) {
        return Err(Rejection::AlreadyActive { name, version });
    }
    let from = entry.map(|entry| entry.life);
    let mut events = vec![signed.into(), installed.into(), birth.into()];
    events.push(VersionPromoted { name: name.clone(), version: version.clone() }.into());
    if from != Some(LifeCycle::Active) {
        let reason = "signed, locked and born".to_owned();
        events.push(LifeCycleChanged { name, version, from, to: LifeCycle::Active, reason, by }.into());
    }
    Ok(events)
}

fn quarantine(
    catalog: &Catalog,
    name: String,
    version: String,
    reason: String,
    by: String,
) -> Result<Vec<Event>, Rejection> {
    let Some(entry) = catalog.executors.get(&name) else { return Err(Rejection::Unknown { name }) };
    if entry.life == LifeCycle::Quarantined {
        return Err(Rejection::AlreadyQuarantined { name, reason: entry.reason.clone() });
    }
    let change = LifeCycleChanged { name, version, from: Some(entry.life), to: LifeCycle::Quarantined, reason, by };
    Ok(vec![change.into()])
}

#[cfg(test)]
mod tests {
    use metnos_log::BlobHash;
    use metnos_log::event::executor::CaseVerdict;
    use serde_json::Value;

    use super::*;
    use crate::machines::catalog::SIGNER;
    use crate::projection::Projection as _;

    fn hash(byte: u8) -> BlobHash {
        BlobHash([byte; 32])
    }

    fn install(code: u8, passed: bool) -> Command {
        let (name, version) = ("get_now".to_owned(), "1.0.0".to_owned());
        let signed = ExecutorSigned {
            name: name.clone(),
            version: version.clone(),
            manifest: hash(1),
            code: hash(code),
            schema: hash(3),
            tests: hash(4),
            lock: "blake3:00".to_owned(),
            signature: "00".to_owned(),
            key_id: "k".to_owned(),
        };
        let installed = ExecutorInstalled {
            name: name.clone(),
            version: version.clone(),
            artefacts: Vec::new(),
            manifest: Value::Null.into(),
            schema: Value::Null.into(),
        };
        let cases = vec![CaseVerdict { name: "case".to_owned(), passed, reason: None }];
        let (interpreter, cage) = ("3.11.2".to_owned(), "full".to_owned());
        let birth = BirthTestsRun { name, version, content: hash(5), interpreter, cage, cases };
        Command::Install { signed, installed, birth, by: "owner".to_owned() }
    }

    fn quarantine() -> Command {
        let (name, version) = ("get_now".to_owned(), "1.0.0".to_owned());
        Command::Quarantine { name, version, reason: "main.py".to_owned(), by: "loader".to_owned() }
    }

    /// A catalog that trusts the key and has taken these commands in.
    fn given(commands: &[Command]) -> Catalog {
        let mut catalog = Catalog::default();
        let (role, by) = ("instance".to_owned(), "first run".to_owned());
        catalog
            .apply(&KeyAdmitted { key_id: "k".to_owned(), public_key: "00".to_owned(), role, by, name: None }.into());
        for command in commands {
            for event in decide(&catalog, command.clone()).unwrap() {
                catalog.apply(&event);
            }
        }
        catalog
    }

    #[track_caller]
    fn check(catalog: &Catalog, when: Command, then: &Result<&[&str], Rejection>) {
        let labels = decide(catalog, when).map(|events| events.iter().map(Event::label).collect::<Vec<_>>());
        assert_eq!(&labels.as_deref().map_err(Clone::clone), then);
    }

    #[test]
    fn a_version_that_passed_becomes_active() {
        let events =
            ["executor_signed", "executor_installed", "birth_tests_run", "version_promoted", "life_cycle_changed"];
        check(&given(&[]), install(2, true), &Ok(&events));
        let catalog = given(&[install(2, true)]);
        assert!(catalog.active("get_now").is_some());
    }

    /// Whoever goes back to an interpreter has not to have everything tested again.
    #[test]
    fn what_passed_on_an_interpreter_is_known_beside_the_last() {
        let Command::Install { birth, .. } = install(2, true) else { panic!() };
        let on = |interpreter: &str, passed: bool| {
            let cases = vec![CaseVerdict { name: "case".to_owned(), passed, reason: None }];
            Command::RecordBirth(BirthTestsRun { interpreter: interpreter.to_owned(), cases, ..birth.clone() })
        };
        for (then, known) in [
            (on("3.13.1", true), [true, true, false]),
            (on("3.11.2", true), [true, true, false]),
            (on("3.14.0", true), [true, true, true]),
        ] {
            let catalog = given(&[install(2, true), on("3.13.1", true), then]);
            let (_, _, version) = catalog.active("get_now").unwrap();
            assert_eq!(["3.11.2", "3.13.1", "3.14.0"].map(|interpreter| version.was_tested_on(interpreter)), known);
        }
        // One that failed is not among them once another was tried.
        let catalog = given(&[install(2, true), on("3.13.1", false), on("3.11.2", true)]);
        assert!(!catalog.active("get_now").unwrap().2.was_tested_on("3.13.1"));
    }

    #[test]
    fn what_does_not_hold_is_refused() {
        let (name, version) = ("get_now".to_owned(), "1.0.0".to_owned());
        let failed = Rejection::BirthFailed { name: name.clone(), case: "case".to_owned() };
        check(&given(&[]), install(2, false), &Err(failed));
        check(&Catalog::default(), install(2, true), &Err(Rejection::KeyUnknown { key_id: "k".to_owned() }));
        let active = given(&[install(2, true)]);
        let taken = Rejection::VersionTaken { name: name.clone(), version: version.clone() };
        check(&active, install(9, true), &Err(taken));
        check(&active, install(2, true), &Err(Rejection::AlreadyActive { name, version }));
        check(&given(&[]), quarantine(), &Err(Rejection::Unknown { name: "get_now".to_owned() }));
    }

    #[test]
    fn what_is_signed_is_not_called_and_never_changed() {
        let signed = |byte| {
            let Command::Install { signed, .. } = install(byte, true) else { panic!("another command") };
            Command::Sign(signed)
        };
        let (name, version) = ("get_now".to_owned(), "1.0.0".to_owned());
        check(&Catalog::default(), signed(2), &Err(Rejection::KeyUnknown { key_id: "k".to_owned() }));
        check(&given(&[]), signed(2), &Ok(&["executor_signed"]));
        let catalog = given(&[signed(2)]);
        assert!(catalog.active("get_now").is_none());
        check(&catalog, signed(2), &Ok(&[]));
        let taken = Err(Rejection::VersionTaken { name, version });
        check(&catalog, signed(9), &taken);
        check(&catalog, install(9, true), &taken);
        assert!(given(&[signed(2), install(2, true)]).active("get_now").is_some());
    }

    #[test]
    fn quarantine_ends_calls_and_the_same_signed_version_comes_back_only_by_a_person() {
        let catalog = given(&[install(2, true), quarantine()]);
        assert!(catalog.active("get_now").is_none());
        let (name, reason) = ("get_now".to_owned(), "main.py".to_owned());
        check(&catalog, quarantine(), &Err(Rejection::AlreadyQuarantined { name, reason }));
        let again = given(&[install(2, true), quarantine(), install(2, true)]);
        assert!(again.active("get_now").is_some());
    }

    fn moved(to: LifeCycle) -> Command {
        Command::Move { name: "get_now".to_owned(), to, reason: "why".to_owned(), by: "owner".to_owned() }
    }

    /// How many states an executor that was active goes through on the last part of this way; 0 where none leads there.
    #[track_caller]
    fn leads(way: &[LifeCycle], expected: usize) {
        let (last, before) = way.split_last().unwrap();
        let before: Vec<_> = before.iter().copied().map(moved).collect();
        let catalog = given(&[&[install(2, true)], before.as_slice()].concat());
        match decide(&catalog, moved(*last)) {
            Ok(events) => assert_eq!(events.len(), expected, "{way:?}"),
            Err(Rejection::NoWay { .. }) => assert_eq!(expected, 0, "{way:?}"),
            Err(other) => panic!("{way:?}: {other}"),
        }
    }

    #[test]
    fn the_life_cycle_goes_its_ways_and_back() {
        use LifeCycle::{Active, Archived, BelowThreshold, Disabled, Fused, Proposed, Quarantined};
        leads(&[Fused], 1);
        leads(&[Fused, Active], 1);
        leads(&[Fused, Archived], 1);
        leads(&[Fused, Archived, Active], 1);
        leads(&[Quarantined, Active], 1);
        leads(&[Quarantined, Archived, Active], 1);
        leads(&[BelowThreshold, Active], 1);
        leads(&[BelowThreshold, Archived], 1);
        leads(&[Archived], 2);
        leads(&[Archived, Active], 1);
        leads(&[Active], 0);
        leads(&[Archived, Fused], 0);
        leads(&[Quarantined, Fused], 0);
        leads(&[BelowThreshold, Quarantined], 1);
        // What is put away is not called: it comes back by one way only.
        leads(&[Archived, Quarantined], 0);
        leads(&[Fused, Quarantined], 0);
        leads(&[Proposed], 0);
        leads(&[Disabled], 0);
        assert!(given(&[install(2, true), moved(Archived)]).active("get_now").is_none());
        assert!(given(&[install(2, true), moved(BelowThreshold)]).active("get_now").is_some());
        assert!(given(&[install(2, true), moved(Archived), moved(Active)]).active("get_now").is_some());
    }

    #[test]
    fn only_signed_versions_are_promoted() {
        let catalog = given(&[install(2, true)]);
        let promote = |version: &str| Command::Promote { name: "get_now".to_owned(), version: version.to_owned() };
        let (name, version) = ("get_now".to_owned(), "1.0.0".to_owned());
        check(
            &catalog,
            promote("1.0.0"),
            &Err(Rejection::AlreadyActive { name: name.clone(), version: version.clone() }),
        );
        let none = Rejection::NoVersion { name, version: "2.0.0".to_owned(), there: version };
        check(&catalog, promote("2.0.0"), &Err(none));
        let Command::Install { mut signed, mut installed, mut birth, by } = install(7, true) else { panic!() };
        for version in [&mut signed.version, &mut installed.version, &mut birth.version] {
            "2.0.0".clone_into(version);
        }
        let newer = Command::Install { signed, installed, birth, by };
        let catalog = given(&[install(2, true), newer]);
        assert_eq!(catalog.active("get_now").unwrap().1, "2.0.0");
        check(&catalog, promote("1.0.0"), &Ok(&["version_promoted"]));
    }

    fn key(key_id: &str, role: &str) -> KeyAdmitted {
        let (public_key, by) = ("00".to_owned(), "owner".to_owned());
        KeyAdmitted { key_id: key_id.to_owned(), public_key, role: role.to_owned(), by, name: None }
    }

    fn revoke(key_id: &str) -> Command {
        let (reason, by) = ("it was lost".to_owned(), "owner".to_owned());
        Command::Revoke(KeyRevoked { key_id: key_id.to_owned(), reason, by })
    }

    #[test]
    fn a_revoked_key_taints_what_it_signed_until_another_signs_that() {
        let Command::Install { signed, installed, birth, by } = install(2, true) else { panic!() };
        let signed = ExecutorSigned { key_id: "w".to_owned(), ..signed };
        let theirs = Command::Install { signed, installed, birth, by };
        let unknown = Rejection::KeyUnknown { key_id: "w".to_owned() };
        check(&given(&[]), theirs.clone(), &Err(unknown.clone()));
        check(&given(&[]), revoke("w"), &Err(unknown));
        let admitted = Command::Admit(key("w", SIGNER));
        let catalog = given(&[admitted.clone(), theirs.clone()]);
        assert_eq!(catalog.signed_by("w").collect::<Vec<_>>(), [("get_now", vec!["1.0.0"])]);
        assert!(!catalog.is_tainted("get_now", "1.0.0") && catalog.taint("get_now", "1.0.0").is_none());
        assert!(catalog.standing("get_now", "1.0.0").is_some() && catalog.standing("get_now", "1.0.1").is_none());
        check(&catalog, admitted.clone(), &Err(Rejection::KeyAdmitted { key_id: "w".to_owned() }));
        let catalog = given(&[admitted.clone(), theirs.clone(), revoke("w")]);
        assert!(catalog.is_tainted("get_now", "1.0.0") && catalog.standing("get_now", "1.0.0").is_none());
        let reason = catalog.taint("get_now", "1.0.0").unwrap();
        assert!(reason.contains("revoked") && reason.ends_with("it was lost"), "{reason}");
        let gone = Rejection::KeyRevoked { key_id: "w".to_owned(), reason: "it was lost".to_owned() };
        for refused in [admitted.clone(), theirs.clone(), revoke("w")] {
            check(&catalog, refused, &Err(gone.clone()));
        }
        let again = given(&[admitted, theirs, revoke("w"), quarantine(), install(2, true)]);
        assert!(!again.is_tainted("get_now", "1.0.0") && again.active("get_now").is_some());
    }

    #[test]
    fn a_tainted_version_is_not_promoted() {
        let renumbered = |command: Command| {
            let Command::Install { mut signed, mut installed, mut birth, by } = command else { panic!() };
            for version in [&mut signed.version, &mut installed.version, &mut birth.version] {
                "2.0.0".clone_into(version);
            }
            signed.key_id = "w".to_owned();
            Command::Install { signed, installed, birth, by }
        };
        let promote = |version: &str| Command::Promote { name: "get_now".to_owned(), version: version.to_owned() };
        let commands = [
            install(2, true),
            Command::Admit(key("w", SIGNER)),
            renumbered(install(7, true)),
            promote("1.0.0"),
            revoke("w"),
        ];
        let refused = decide(&given(&commands), promote("2.0.0"));
        assert!(matches!(refused, Err(Rejection::Tainted { .. })), "{refused:?}");
        check(&given(&commands[..4]), promote("2.0.0"), &Ok(&["version_promoted"]));
    }

    #[test]
    fn the_key_that_signs_here_is_not_revoked() {
        check(&given(&[]), revoke("k"), &Err(Rejection::KeyOwn { key_id: "k".to_owned() }));
    }

    #[test]
    fn a_catalog_without_revoked_keys_reads_as_it_always_did() {
        assert!(!given(&[install(2, true)]).snapshot().contains("revoked"));
    }

    #[test]
    fn only_builtins_are_switched() {
        let mut catalog = given(&[install(2, true)]);
        let switch = |name: &str, enabled| Command::Switch { name: name.to_owned(), enabled, by: "owner".to_owned() };
        check(&catalog, switch("get_now", false), &Err(Rejection::NoBuiltin { name: "get_now".to_owned() }));
        check(&catalog, switch("none", false), &Err(Rejection::Unknown { name: "none".to_owned() }));
        let (name, version) = ("get_processes".to_owned(), "1.0.0".to_owned());
        let (manifest, schema) = (Value::Null.into(), Value::Null.into());
        let artefacts = Vec::new();
        catalog.apply(
            &ExecutorInstalled { name: name.clone(), version: version.clone(), artefacts, manifest, schema }.into(),
        );
        catalog.apply(&VersionPromoted { name: name.clone(), version }.into());
        check(&catalog, switch(&name, true), &Ok(&["life_cycle_changed"]));
        catalog.apply(&decide(&catalog, switch(&name, true)).unwrap()[0]);
        assert!(catalog.active(&name).is_some());
        check(&catalog, switch(&name, true), &Err(Rejection::Switched { name: name.clone(), enabled: true }));
        catalog.apply(&decide(&catalog, switch(&name, false)).unwrap()[0]);
        assert!(catalog.active(&name).is_none());
        assert_eq!(catalog.all_disabled().map(|(name, _)| name).collect::<Vec<_>>(), [name.as_str()]);
    }

    #[test]
    fn a_snapshot_comes_back_whole() {
        let catalog = given(&[install(2, true), quarantine()]);
        let restored = Catalog::restore(&catalog.snapshot()).unwrap();
        assert_eq!((restored.digest(), &restored), (catalog.digest(), &catalog));
    }
}

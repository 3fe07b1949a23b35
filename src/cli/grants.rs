//! `metnos grants`: what may be done unasked, on which targets, until when.

use std::path::{Component, Path, PathBuf};

use clap::Subcommand;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan as _, Zoned};
use metnos_log::Micros;
use metnos_projections::machines::actors::{Command, HOST};
use metnos_projections::rules::cage_plan::Autonomy;
use metnos_projections::rules::grants::{self, Kind, Ungrantable};
use metnos_projections::rules::perimeter;
use metnos_projections::rules::policy::{self, Decision, Use};
use serde_json::{Value, json};

use super::output::by;
use super::{Context, Failure, actor, console, output};
use crate::broker::{Ports, target};
use crate::gateway::own::OwnFolders;
use crate::instance::{Instance, now};
use crate::sandbox::masks;

/// Who gives and takes: whoever may run commands on this machine.
const OWNER: &str = "owner";
/// How long a grant holds where nobody says it, in hours.
const USUAL_HOURS: i64 = 24;
/// How long one holds at most, in days: what nobody has looked at for a year is given again or ends.
const DAYS_MAX: i32 = 366;

/// What a list shows of a grant.
const COLUMNS: [&str; 6] = ["grant", "actor", "capability", "target", "until", "reason"];

/// Say what may be done unasked.
#[derive(Subcommand, Debug)]
pub(super) enum Grants {
    /// What holds now.
    List,
    /// Let a capability be used unasked on some targets, for a while; what is denied stays denied.
    Give {
        /// The capability, like fs:write.
        capability: String,
        /// A file, a folder with all below it, a host (*.example.com: those below it), or * of what has no targets.
        target: String,
        /// For how long, like 2h or 7d and at most 366d; a day, where nothing is said.
        #[arg(long = "for", value_name = "DURATION")]
        lasting: Option<Span>,
        /// Until the end of a day, like 2026-12-31.
        #[arg(long, value_name = "DAY", conflicts_with = "lasting")]
        until: Option<Date>,
        /// To whom: an id or a name; to you, where nobody is named.
        #[arg(long)]
        actor: Option<String>,
        /// Why, for the record.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Let a grant hold no more.
    Revoke {
        /// Its number.
        grant: u64,
        /// Why, for the record.
        #[arg(long)]
        reason: Option<String>,
    },
}

pub(super) fn run(context: &Context, command: &Grants) -> Result<u8, Failure> {
    let instance = context.instance()?;
    if !matches!(command, Grants::List) {
        context.refuse_past()?;
    }
    let said = |reason: &Option<String>| {
        reason.clone().unwrap_or_else(|| context.text(&instance, "executor.owner_wants", &json!({})))
    };
    match command {
        Grants::List => list(context, &instance),
        Grants::Give { capability, target, lasting, until, actor, reason } => {
            let until = ends(&instance, *lasting, *until)?;
            let whom = actor.as_ref().map_or_else(|| Ok(HOST.to_owned()), |named| actor::known(&instance, named))?;
            let theirs = instance.as_actor(&whom);
            let target = resolved(&theirs, capability, target)?;
            let (by, reason) = (OWNER.to_owned(), said(reason));
            let held = |instance: &Instance| {
                let actors = instance.actors();
                let grant = actors.equal_grant(&whom, capability, &target, now())?;
                Some((grant, actors.get(&whom)?.grants.get(&grant)?.until))
            };
            let before = held(&instance).map(|(_, until)| until);
            let (target, actor) = (target.clone(), whom.clone());
            let command = Command::Grant { actor, capability: capability.clone(), target, until, by, reason };
            actor::change(&instance, command)?;
            if let Some((grant, _)) = held(&instance) {
                given(context, &instance, &theirs, (grant, before.map(|before| (before, before < until.0))));
            }
        }
        Grants::Revoke { grant, reason } => {
            let (by, reason) = (OWNER.to_owned(), said(reason));
            actor::change(&instance, Command::RevokeGrant { grant: *grant, by, reason })?;
            actor::done(context, &instance, "grants.revoked", &json!({ "grant": grant }));
        }
    }
    Ok(0)
}

/// Says what was given just now; of what held before, until when that was, and whether it ends later now.
fn given(context: &Context, instance: &Instance, theirs: &Instance, (number, before): (u64, Option<(i64, bool)>)) {
    let lines = told(context, instance, |_, grant| grant == number);
    let Some(mut values) = lines.into_iter().next() else { return };
    let capability = values["capability"].as_str().unwrap_or_default();
    let autonomy = serde_json::from_value(json!(theirs.autonomy())).unwrap_or(Autonomy::ReadOnly);
    let used = Use { capability, granted: true, leave: true, unrepeatable_act: true, ..Use::default() };
    values["denied"] = (policy::decide(autonomy, used) == Decision::Deny).into();
    values["autonomy"] = theirs.autonomy().into();
    values["before"] = json!(before.map(|(before, _)| output::moment(before, &instance.settings.zone)));
    values["is_later"] = before.is_some_and(|(_, is_later)| is_later).into();
    actor::done(context, instance, "grants.given", &values);
}

/// The grants that hold and that are wanted, each with all that is said of it.
pub(super) fn told(context: &Context, instance: &Instance, wanted: impl Fn(&str, u64) -> bool) -> Vec<Value> {
    let (actors, moment) = (instance.actors(), moment(context, instance));
    let mut found = Vec::new();
    for (id, actor) in &actors.actors {
        let live = actor.grants.iter().filter(|(_, grant)| moment.0 < grant.until);
        for (number, grant) in live.filter(|(number, grant)| wanted(&grant.capability, **number)) {
            found.push(json!({
                "grant": number, "actor": id, "capability": grant.capability, "target": grant.target,
                "until": output::moment(grant.until, &instance.settings.zone), "by": grant.by, "reason": grant.reason,
            }));
        }
    }
    found.sort_by_key(|grant| grant["grant"].as_u64());
    found
}

/// The moment that this command looks at: now, or that of the last event that it knows of.
fn moment(context: &Context, instance: &Instance) -> Micros {
    if context.global.at.is_some() { Micros(instance.projected().latest) } else { now() }
}

fn list(context: &Context, instance: &Instance) {
    let grants = told(context, instance, |_, _| true);
    if context.global.json {
        return output::result_json(&json!({ "grants": grants }));
    }
    if grants.is_empty() {
        return output::result(&context.text(instance, "grants.none", &json!({})));
    }
    let row = |grant: &Value| COLUMNS.iter().map(|name| output::plain(&grant[*name])).collect::<Vec<_>>();
    let headings = COLUMNS.map(|name| context.text(instance, &format!("grants.heading_{name}"), &json!({})));
    let rows: Vec<Vec<String>> = grants.iter().map(row).collect();
    output::result(&output::table(&headings.each_ref().map(String::as_str), &rows));
}

/// When a grant ends.
fn ends(instance: &Instance, lasting: Option<Span>, until: Option<Date>) -> Result<Micros, Failure> {
    let odd = || Failure::usage(by("error.grant_until"), by("next.grant_until"));
    let zone = TimeZone::get(&instance.settings.zone).map_err(|_| odd())?;
    let moment = Timestamp::from_microsecond(now().0).map_err(|_| odd())?.to_zoned(zone.clone());
    let lasting = lasting.unwrap_or_else(|| USUAL_HOURS.hours());
    if is_too_long(&moment, &lasting, until).unwrap_or_default() {
        let values = json!({ "days": DAYS_MAX });
        return Err(Failure::usage(("error.grant_too_long", values), by("next.grant_until")));
    }
    let end = match until {
        Some(day) => day.tomorrow().and_then(|next| next.to_zoned(zone)),
        None => moment.checked_add(lasting),
    };
    let end = end.map_err(|_| odd())?;
    if end > moment { Ok(Micros(end.timestamp().as_microsecond())) } else { Err(odd()) }
}

/// Whether a grant would hold longer than one may; a span that leads beyond all time does.
fn is_too_long(moment: &Zoned, lasting: &Span, until: Option<Date>) -> Result<bool, jiff::Error> {
    let last = moment.checked_add(DAYS_MAX.days())?;
    Ok(match until {
        Some(day) => day > last.date(),
        None if lasting.is_negative() => false,
        None => moment.checked_add(*lasting).map_or(true, |end| end > last),
    })
}

/// The pattern as it is kept, or why it cannot be granted. A path is held to what it is now: a link that is put in its place
/// later opens nothing.
fn resolved(theirs: &Instance, capability: &str, target: &str) -> Result<String, Failure> {
    let target = match grants::kind(capability) {
        Kind::Path => path(theirs, grants::folder(target)),
        Kind::Host => Some(host(target)),
        Kind::Whole => Some(target.to_owned()),
    };
    let home = theirs.dirs.user_home.to_string_lossy();
    let refusal = match &target {
        Some(target) => grants::refusal(capability, target, &home, &theirs.dirs.own()),
        None => grants::grantable(capability).err().or(Some(Ungrantable::NoPath)),
    };
    let target = target.unwrap_or_default();
    if let Some(why) = refusal.or_else(|| never_held(theirs, capability, &target)) {
        return Err(refused(why, capability, &target));
    }
    let is_outside = |folders: Vec<String>| {
        !perimeter::is_for_guests(capability)
            || grants::kind(capability) == Kind::Path && !perimeter::holds(&folders, &target)
    };
    if theirs.perimeter().is_some_and(is_outside) {
        return Err(Failure::refused(
            ("error.grant_outside", json!({ "actor": theirs.actor })),
            by("next.open_folder"),
        ));
    }
    Ok(target)
}

/// A host as the addresses of calls name it; what is none stays as it is.
fn host(given: &str) -> String {
    let found = target::grant_for_pattern(given).ok().filter(|grant| grant.ports == Ports::Web);
    found.map_or_else(|| given.to_owned(), |grant| grant.pattern)
}

/// Why a grant would never hold here, though its words are those of one.
fn never_held(theirs: &Instance, capability: &str, target: &str) -> Option<Ungrantable> {
    let at = Path::new(target);
    let own = theirs.dirs.own();
    match grants::kind(capability) {
        Kind::Host => target::is_only_typed(target).then_some(Ungrantable::OnlyTyped),
        Kind::Path if masks::Core::new(&theirs.dirs.user_home, &own).is_second_name_at(at) => {
            Some(Ungrantable::Core("second_name"))
        }
        Kind::Path if capability == "fs:write" => {
            let own = OwnFolders::new(&own, &theirs.dirs.workspace.to_string_lossy());
            own.hold(at).then_some(Ungrantable::Protected("own_folders"))
        }
        Kind::Path | Kind::Whole => None,
    }
}

/// A path without links, as far as it is there; none where nothing is named, as by a variable of a script that is not set.
fn path(theirs: &Instance, given: &str) -> Option<String> {
    if given.trim().is_empty() {
        return None;
    }
    let whole = match given.strip_prefix('~') {
        Some(below) if below.is_empty() || below.starts_with('/') => {
            theirs.own_folder().join(below.trim_start_matches('/'))
        }
        _ => console::path(Path::new(given)),
    };
    // Judged as it stands: where it leads hangs on the links in it.
    if whole.components().any(|part| part == Component::ParentDir) {
        return Some(given.to_owned());
    }
    let there = whole.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    let rest = whole.strip_prefix(there).ok()?;
    let real = there.canonicalize().ok()?;
    let real: PathBuf = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
    real.into_os_string().into_string().ok()
}

fn refused(why: Ungrantable, capability: &str, target: &str) -> Failure {
    let (kind, rule) = match why {
        Ungrantable::Unknown => {
            let values = json!({ "name": capability });
            return Failure::refused(("error.no_capability", values), by("next.capabilities"));
        }
        Ungrantable::Free => ("free", ""),
        Ungrantable::Always => ("always", ""),
        Ungrantable::Core(rule) => ("core", rule),
        Ungrantable::Protected(rule) => ("protected", rule),
        Ungrantable::NoPath => ("no_path", ""),
        Ungrantable::Upwards => ("upwards", ""),
        Ungrantable::NoHost => ("no_host", ""),
        Ungrantable::OnlyTyped => ("only_typed", ""),
        Ungrantable::NoTargets => ("no_targets", ""),
    };
    let values = json!({ "why": kind, "rule": rule, "capability": capability, "target": target });
    Failure::refused(("error.not_grantable", values), by("next.grantable"))
}

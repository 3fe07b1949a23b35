//! `metnos actor`: who the people are, and how much is done unasked for each.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use metnos_projections::machines::actors::{Actor as Person, Command, Rejection, Role};
use metnos_projections::machines::schedules::Command::Pause;
use metnos_projections::machines::schedules::State;
use metnos_projections::messages::Language;
use metnos_projections::rules::core_paths;
use serde_json::{Value, json};

use super::{Context, Failure, console, output};
use crate::instance::{Instance, random};
use crate::scheduler;

/// Letters and digits of a guest's id that are not taken for one another.
const ID_DIGITS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Know people.
#[derive(Subcommand, Debug)]
pub(super) enum Actor {
    /// Who is known, with their addresses.
    List,
    /// Know a guest.
    Add {
        /// What you call them.
        name: String,
        /// Their language.
        #[arg(long, value_name = "LANG", value_parser = super::language)]
        language: Option<Language>,
    },
    /// Say how much is done unasked for someone.
    Autonomy {
        /// Who: an id or a name.
        actor: String,
        /// How much.
        #[arg(value_enum)]
        autonomy: Level,
    },
    /// Say which language someone is answered in where their words do not tell.
    Language {
        /// Who: an id or a name.
        actor: String,
        /// en or it.
        #[arg(value_parser = super::language)]
        language: Language,
    },
    /// What is known of someone, and which folders are open to them.
    Show {
        /// Who: an id or a name.
        actor: String,
    },
    /// Open a folder to a guest: what lies below it they may read, and change as far as their autonomy goes.
    Grant {
        /// Who: an id or a name.
        actor: String,
        /// The folder.
        folder: PathBuf,
    },
    /// Close such a folder to a guest again, from their next message on.
    RevokeGrant {
        /// Who: an id or a name.
        actor: String,
        /// The folder.
        folder: PathBuf,
    },
    /// Forget every address of someone: from their next message on they reach nothing.
    Revoke {
        /// Who: an id or a name.
        actor: String,
    },
}

/// How much is done unasked.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum Level {
    /// Looking alone.
    ReadOnly,
    /// Acting after a yes.
    Supervised,
    /// Acting, but for what is critical.
    Full,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Supervised => "supervised",
            Self::Full => "full",
        }
    }
}

pub(super) fn run(context: &Context, command: &Actor) -> Result<u8, Failure> {
    let instance = context.instance()?;
    if !matches!(command, Actor::List | Actor::Show { .. }) {
        context.refuse_past()?;
    }
    match command {
        Actor::List => list(context, &instance),
        Actor::Add { name, language } => return add(context, &instance, name, *language),
        Actor::Autonomy { actor, autonomy } => {
            let actor = known(&instance, actor)?;
            let autonomy = autonomy.name().to_owned();
            change(&instance, Command::SetAutonomy { actor: actor.clone(), autonomy: autonomy.clone() })?;
            done(context, &instance, "actor.autonomy", &json!({ "actor": actor, "autonomy": autonomy }));
        }
        Actor::Language { actor, language } => {
            let actor = known(&instance, actor)?;
            let language = language.code().to_owned();
            change(&instance, Command::SetLanguage { actor: actor.clone(), language: language.clone() })?;
            done(context, &instance, "actor.language", &json!({ "actor": actor, "language": language }));
        }
        Actor::Show { actor } => show(context, &instance, &known(&instance, actor)?),
        Actor::Grant { actor, folder } => return grant(context, &instance, actor, folder),
        Actor::RevokeGrant { actor, folder } => return revoke_grant(context, &instance, actor, folder),
        Actor::Revoke { actor } => {
            let actor = known(&instance, actor)?;
            let count = revoke(&instance, &actor)?;
            let paused = pause_tasks(&instance, &actor)?;
            done(context, &instance, "actor.revoked", &json!({ "actor": actor, "count": count, "paused": paused }));
        }
    }
    Ok(0)
}

/// The id of someone who was named by id or by name.
pub(super) fn known(instance: &Instance, named: &str) -> Result<String, Failure> {
    let actors = instance.actors();
    let of_name = |actor: &Person| actor.name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(named));
    let mut found: Vec<&String> =
        actors.actors.iter().filter(|(id, actor)| *id == named || of_name(actor)).map(|(id, _)| id).collect();
    match (found.pop(), found.is_empty()) {
        (Some(id), true) => Ok(id.clone()),
        (Some(_), false) => {
            Err(Failure::refused(format!("several people are called {named}"), "say the id: metnos actor list"))
        }
        (None, _) => Err(Failure::refused(format!("there is nobody called {named}"), "metnos actor list")),
    }
}

/// Changes who the people are; a refusal says what to do instead.
pub(super) fn change(instance: &Instance, command: Command) -> Result<(), Failure> {
    instance.change_actors(command)?.map_err(|rejection| refused(&rejection))
}

pub(super) fn refused(rejection: &Rejection) -> Failure {
    let hint = match rejection {
        Rejection::TooManyCodes(_) | Rejection::Spent | Rejection::Expired(_) => "metnos pair list",
        Rejection::OpenAlready(_) | Rejection::NotOpen(_) | Rejection::TooManyFolders => "metnos actor show NAME",
        Rejection::NoFolder(_) => "name a folder that holds only what this guest may have",
        Rejection::NotGrantable(_) => "metnos policy table",
        Rejection::NoGrant(_) | Rejection::TooManyGrants => "metnos grants list",
        Rejection::Over => "--for 2h, --for 7d or --until 2026-12-31",
        Rejection::NobodySuch(_)
        | Rejection::NoGuest(_)
        | Rejection::Taken(_)
        | Rejection::Full
        | Rejection::Bound(_)
        | Rejection::Unbound
        | Rejection::NotTheFirst => "metnos actor list",
    };
    Failure::refused(rejection.to_string(), hint)
}

fn list(context: &Context, instance: &Instance) {
    let actors = instance.actors();
    if context.global.json {
        let shown: Vec<Value> = actors
            .actors
            .iter()
            .map(|(id, actor)| {
                let addresses: Vec<Value> =
                    actor.addresses.iter().map(|(on, at)| json!({ "channel": on, "address": at })).collect();
                json!({
                    "actor": id, "role": actor.role, "name": actor.name, "language": actor.language,
                    "autonomy": instance.as_actor(id).autonomy(), "addresses": addresses, "folders": actor.folders,
                })
            })
            .collect();
        return output::result_json(&json!({ "actors": shown }));
    }
    let rows: Vec<Vec<String>> = actors
        .actors
        .iter()
        .map(|(id, actor)| {
            let addresses: Vec<String> = actor.addresses.iter().map(|(on, at)| format!("{on} {at}")).collect();
            let language = instance.as_actor(id).language().code().to_owned();
            let name = actor.name.clone().unwrap_or_default();
            let folders: Vec<&str> = actor.folders.iter().map(String::as_str).collect();
            let autonomy = instance.as_actor(id).autonomy();
            vec![id.clone(), name, autonomy, language, addresses.join(", "), folders.join(", ")]
        })
        .collect();
    let heading = |key: &str| context.text(instance, &format!("actor.heading_{key}"), &json!({}));
    let headings = ["actor", "name", "autonomy", "language", "addresses", "folders"].map(heading);
    output::result(&output::table(&headings.each_ref().map(String::as_str), &rows));
}

fn show(context: &Context, instance: &Instance, id: &str) {
    let (actors, theirs) = (instance.actors(), instance.as_actor(id));
    let Some(actor) = actors.get(id) else { return };
    let addresses: Vec<String> = actor.addresses.iter().map(|(on, at)| format!("{on} {at}")).collect();
    let values = json!({
        "actor": id, "role": actor.role, "name": actor.name, "language": theirs.language().code(),
        "autonomy": theirs.autonomy(), "addresses": addresses, "is_guest": theirs.is_guest(),
        "own": theirs.own_folder().to_string_lossy(), "folders": actor.folders,
    });
    if context.global.json {
        return output::result_json(&values);
    }
    output::result(&context.text(instance, "actor.shown", &values));
}

/// Opens a folder to a guest. It is held to what it is now: a link that is put in its place later opens nothing.
fn grant(context: &Context, instance: &Instance, actor: &str, folder: &Path) -> Result<u8, Failure> {
    let actor = known(instance, actor)?;
    let shown = folder.display();
    let real = console::path(folder).canonicalize();
    let real = real.map_err(|error| Failure::refused(format!("{shown}: {error}"), "name a folder that is there"))?;
    if !real.is_dir() {
        return Err(Failure::usage(format!("{shown} is no folder"), "name the folder that the file is in"));
    }
    let Some(real) = real.to_str().map(str::to_owned) else {
        return Err(Failure::usage(format!("{shown}: its name is no text"), "rename the folder"));
    };
    let home = instance.dirs.user_home.to_string_lossy();
    if let Some(rule) = core_paths::forbidden(&real, &home, &instance.dirs.own()) {
        return Err(Failure::refused(format!("{real} is opened to nobody ({rule})"), "name another folder"));
    }
    change(instance, Command::OpenFolder { actor: actor.clone(), folder: real.clone() })?;
    let autonomy = instance.as_actor(&actor).autonomy();
    done(context, instance, "actor.opened", &json!({ "actor": actor, "folder": real, "autonomy": autonomy }));
    Ok(0)
}

/// Closes a folder to a guest: as it was opened, or what that leads to now.
fn revoke_grant(context: &Context, instance: &Instance, actor: &str, folder: &Path) -> Result<u8, Failure> {
    let actor = known(instance, actor)?;
    let given = console::path(folder);
    let opened = instance.actors().get(&actor).map(|actor| actor.folders.clone()).unwrap_or_default();
    let named = [given.canonicalize().ok(), Some(given.clone())].into_iter().flatten();
    let named: Vec<String> = named.map(|path| path.to_string_lossy().into_owned()).collect();
    let folder = named.iter().find(|path| opened.contains(*path)).unwrap_or(&named[0]).clone();
    change(instance, Command::CloseFolder { actor: actor.clone(), folder: folder.clone() })?;
    done(context, instance, "actor.closed", &json!({ "actor": actor, "folder": folder }));
    Ok(0)
}

fn add(context: &Context, instance: &Instance, name: &str, language: Option<Language>) -> Result<u8, Failure> {
    let name = name.trim();
    let is_plain = !name.is_empty() && name.len() <= 64 && !name.chars().any(char::is_control);
    if !is_plain || instance.actors().is_named(name) {
        return Err(Failure::usage("a name is a short text that nobody else has", "metnos actor list"));
    }
    let digit = |byte: u8| char::from(ID_DIGITS[usize::from(byte % 32)]);
    let actor = format!("guest_{}", random::<6>().map(digit).iter().collect::<String>());
    change(instance, Command::Add { actor: actor.clone(), role: Role::Guest, name: Some(name.to_owned()) })?;
    if let Some(language) = language {
        change(instance, Command::SetLanguage { actor: actor.clone(), language: language.code().to_owned() })?;
    }
    done(context, instance, "actor.added", &json!({ "actor": actor, "name": name }));
    Ok(0)
}

/// Forgets the addresses and the open codes of someone; how many addresses there were.
fn revoke(instance: &Instance, actor: &str) -> Result<usize, Failure> {
    let actors = instance.actors();
    for (pairing, _) in actors.pairings.iter().filter(|(_, code)| code.actor == actor && !code.is_spent) {
        change(instance, Command::Withdraw { pairing: pairing.clone() })?;
    }
    let addresses = actors.get(actor).map(|actor| actor.addresses.clone()).unwrap_or_default();
    for (channel, address) in addresses.clone() {
        change(instance, Command::Unbind { channel, address })?;
    }
    Ok(addresses.len())
}

/// Nothing of a guest's is due while they reach nothing; how many tasks that stopped.
fn pause_tasks(instance: &Instance, actor: &str) -> Result<usize, Failure> {
    let theirs = instance.as_actor(actor);
    if !theirs.is_guest() {
        return Ok(0);
    }
    let schedules = instance.schedules();
    let active = schedules.schedules.iter().filter(|(_, task)| task.actor == actor && task.state == State::Active);
    let mut paused = 0;
    for (id, _) in active {
        // Whatever ended it meanwhile has stopped it too.
        paused += usize::from(scheduler::change(&theirs, &Pause(id.clone()))?.is_ok());
    }
    Ok(paused)
}

/// Says what was done; in JSON, what it was done with.
pub(super) fn done(context: &Context, instance: &Instance, key: &str, values: &Value) {
    if context.global.json {
        let mut shown = values.clone();
        shown["ok"] = true.into();
        output::result_json(&shown);
    } else {
        output::result(&context.text(instance, key, values));
    }
}

//! `metnos key`: who may sign executors besides this instance itself, and who may not any more.

use std::path::Path;

use clap::Subcommand;
use metnos_log::event::instance::{KeyAdmitted, KeyRevoked};
use metnos_projections::machines::catalog::{self, Command, Rejection, SIGNER};
use metnos_projections::views::keys::Keys;
use metnos_projections::visible;
use serde_json::{Value, json};

use super::executor::life::{self, Signatures};
use super::output::by;
use super::{Context, Failure, actor, ask, console, output, terminal};
use crate::instance::Instance;
use crate::loader::check;
use crate::signing::{key_id, read_public};

/// Who decides about keys: whoever may run commands on this machine.
const OWNER: &str = "owner";
/// The longest file with a public key.
const KEY_BYTES_MAX: u64 = 4096;

/// Say who may sign executors.
#[derive(Subcommand, Debug)]
pub(super) enum Key {
    /// Every key that was admitted, with what became of it.
    List,
    /// Let another key sign executors.
    Admit {
        /// A file with an Ed25519 public key, or the key itself: hexadecimal, base64 or PEM.
        #[arg(value_name = "FILE-OR-BASE64")]
        key: String,
        /// What to call it.
        #[arg(long)]
        name: Option<String>,
    },
    /// Let a key sign no more, for good; what it signed is called no more until it is approved.
    Revoke {
        /// Its id or name.
        key: String,
        /// Why, for the record.
        #[arg(long)]
        reason: Option<String>,
    },
}

pub(super) fn run(context: &Context, command: &Key) -> Result<u8, Failure> {
    match command {
        Key::List => list(context),
        Key::Admit { key, name } => admit(context, key, name.as_deref()),
        Key::Revoke { key, reason } => revoke(context, key, reason.as_deref()),
    }
}

/// The keys as they stood at the moment that this command looks at.
fn keys(instance: &Instance) -> Result<Keys, Failure> {
    let position = instance.projected().position;
    let events = instance.log.reader().stream("instance")?;
    Ok(Keys::of(events.iter().filter(|recorded| recorded.seq <= position)))
}

fn list(context: &Context) -> Result<u8, Failure> {
    let instance = context.instance()?;
    let keys = keys(&instance)?;
    let catalog = instance.catalog();
    let signs = |id: &str| catalog.signed_by(id).map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
    if context.global.json {
        let shown = keys.keys.iter().map(|(id, key)| {
            let mut line = json!(key);
            line["key"] = id.as_str().into();
            line["executors"] = json!(signs(id));
            line
        });
        output::result_json(&json!({ "keys": shown.collect::<Vec<_>>() }));
        return Ok(0);
    }
    let moment = |at: i64| output::moment(at, &instance.settings.zone);
    let rows = keys.keys.iter().map(|(id, key)| {
        let revoked = key.revoked.as_ref();
        let values = json!({
            "when": revoked.map(|revoked| moment(revoked.at)), "by": revoked.map(|revoked| &revoked.by),
            "reason": revoked.and_then(|revoked| revoked.reason.as_ref()),
        });
        vec![
            id.clone(),
            key.name.clone().unwrap_or_default(),
            context.text(&instance, "key.role", &json!({ "role": key.role })),
            format!("{} ({})", moment(key.admitted.at), key.admitted.by),
            signs(id).len().to_string(),
            context.text(&instance, "key.state", &values),
        ]
    });
    let heading = |key: &str| context.text(&instance, &format!("key.heading_{key}"), &json!({}));
    let headings = ["key", "name", "role", "admitted", "executors", "state"].map(heading);
    output::result(&output::table(&headings.each_ref().map(String::as_str), &rows.collect::<Vec<_>>()));
    Ok(0)
}

fn admit(context: &Context, given: &str, name: Option<&str>) -> Result<u8, Failure> {
    let public_key = public_key(given)?;
    let instance = context.ready(&context.flags())?;
    let key_id = key_id(&public_key);
    let name = name.map(str::trim);
    // It is said in questions, between other words.
    let is_sign = |sign: char| sign.is_alphanumeric() || matches!(sign, '-' | '_' | '.' | '@' | ' ');
    let is_plain = |name: &str| (1..=64).contains(&name.len()) && name.chars().all(is_sign) && !name.contains("  ");
    if let Some(name) = name
        && (!is_plain(name) || keys(&instance)?.named(name).is_some())
    {
        return Err(Failure::usage(by("error.key_name"), by("next.keys")));
    }
    let (role, by, called) = (SIGNER.to_owned(), OWNER.to_owned(), name.map(str::to_owned));
    let admitted = KeyAdmitted { key_id: key_id.clone(), public_key, role, by, name: called };
    let command = Command::Admit(admitted);
    catalog::decide(&instance.catalog(), command.clone()).map_err(refused)?;
    // A key that was given by itself comes from nowhere else.
    let file = Some(console::path(Path::new(given))).filter(|path| path.is_file());
    let values = json!({ "key": key_id, "name": name, "file": file.map(|path| visible::text(&path.to_string_lossy()).into_owned()) });
    terminal::agreed(context, &instance, ("consent.admit_key", &values), "error.key_not_admitted")?;
    change(&instance, command)?;
    actor::done(context, &instance, "key.admitted", &values);
    Ok(0)
}

fn revoke(context: &Context, named: &str, reason: Option<&str>) -> Result<u8, Failure> {
    let instance = context.ready(&context.flags())?;
    let known = keys(&instance)?;
    let no_key = || Failure::refused(("error.no_key", json!({ "name": named })), by("next.keys"));
    let key_id = known.named(named).ok_or_else(no_key)?.to_owned();
    let reason = reason.map_or_else(|| context.text(&instance, "executor.owner_wants", &json!({})), str::to_owned);
    let command = Command::Revoke(KeyRevoked { key_id: key_id.clone(), reason, by: OWNER.to_owned() });
    catalog::decide(&instance.catalog(), command.clone()).map_err(refused)?;
    let tainted = tainted(context, &instance, &key_id)?;
    let values = json!({ "key": key_id, "name": known.keys[&key_id].name, "tainted": tainted });
    // What follows from it is seen before it is asked, and by whoever gives --yes too.
    if context.global.yes {
        context.say(&context.text(&instance, "key.taints", &values));
    }
    terminal::agreed(context, &instance, ("consent.revoke_key", &values), "error.key_not_revoked")?;
    change(&instance, command)?;
    for notice in instance.alone(|| check::all(&instance))? {
        context.say(&context.notice(&instance, &notice));
    }
    ask::follow(context, &instance);
    actor::done(context, &instance, "key.revoked", &values);
    Ok(0)
}

/// What a key signed, though another may have signed it anew since: each executor with the versions, and how many past calls were
/// made under it.
fn tainted(context: &Context, instance: &Instance, key_id: &str) -> Result<Vec<Value>, Failure> {
    let catalog = instance.catalog();
    let mut found = Vec::new();
    for name in catalog.executors.keys() {
        let signatures = Signatures::of(&life::events(instance, name)?);
        let versions = signatures.by(key_id);
        if versions.is_empty() {
            continue;
        }
        let mut calls = 0_u64;
        life::calls(context, instance, name, &mut |call| {
            calls += u64::from(signatures.of_call(&call) == Some(key_id));
            Ok(())
        })?;
        found.push(json!({ "name": name, "versions": versions, "calls": calls }));
    }
    Ok(found)
}

fn change(instance: &Instance, command: Command) -> Result<(), Failure> {
    instance.change("instance", Vec::new(), |projected| catalog::decide(&projected.catalog, command))?.map_err(refused)
}

fn refused(rejection: Rejection) -> Failure {
    match rejection {
        Rejection::KeyAdmitted { key_id } => {
            Failure::refused(("error.key_known", json!({ "key": key_id })), by("next.keys"))
        }
        Rejection::KeyRevoked { key_id, reason } => {
            let values = json!({ "key": key_id, "reason": reason });
            Failure::refused(("error.key_revoked", values), by("next.another_key"))
        }
        Rejection::KeyOwn { key_id } => {
            Failure::refused(("error.key_own", json!({ "key": key_id })), by("next.own_key"))
        }
        other => Failure::refused(other.to_string(), by("next.keys")),
    }
}

/// The public key that was named, hexadecimal: in a file of that name, or by itself.
fn public_key(given: &str) -> Result<String, Failure> {
    let unreadable = || Failure::usage(("error.key_unreadable", json!({ "name": given })), by("next.signing_key"));
    let path = console::path(Path::new(given));
    let text = match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= KEY_BYTES_MAX => {
            std::fs::read_to_string(&path).map_err(|_| unreadable())?
        }
        Ok(_) => return Err(unreadable()),
        Err(_) => given.to_owned(),
    };
    read_public(&text).ok_or_else(unreadable)
}

//! `metnos credential`: secrets for executors that name them. Values are read from standard input, never from arguments.

use std::io::{IsTerminal, Read};

use clap::Subcommand;
use metnos_log::event::instance::{CredentialRemoved, CredentialSet};
use metnos_log::redact::{Redactor, Secret};
use secrecy::ExposeSecret;
use serde_json::json;
use zeroize::Zeroizing;

use super::{Context, Failure, output};

/// Keep credentials.
#[derive(Subcommand, Debug)]
pub(super) enum Credential {
    /// Store a value, read from standard input.
    Set {
        /// Its name.
        name: String,
    },
    /// The names; values are never shown.
    List,
    /// Forget a value.
    Remove {
        /// Its name.
        name: String,
    },
}

pub(super) fn run(context: &Context, command: &Credential) -> Result<u8, Failure> {
    let mut instance = context.instance()?;
    match command {
        Credential::List => {
            let names: Vec<&str> = instance.credentials.names().collect();
            if context.global.json {
                output::result_json(&json!({ "credentials": names }));
            } else {
                output::result(&if names.is_empty() { "no credentials".to_owned() } else { names.join("\n") });
            }
        }
        Credential::Set { name } => {
            let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
            if name.is_empty() || !plain {
                return Err(Failure::usage("a name has letters, digits, - _ and .", "metnos credential set weather"));
            }
            let value = read_value(name)?;
            let redactor = Redactor::new(instance.keys.derived("metnos redaction key v1"), Vec::new());
            let keyed_hash = redactor.keyed_hash(value.expose_secret());
            instance.credentials.set(name, value, &instance.keys)?;
            instance.refresh_redactor();
            instance.record("instance", vec![CredentialSet { name: name.clone(), keyed_hash }.into()], Vec::new())?;
            done(context, &format!("{name} is stored, encrypted"));
        }
        Credential::Remove { name } => {
            if !instance.credentials.remove(name, &instance.keys)? {
                return Err(Failure::refused(
                    format!("there is no credential {name}"),
                    "metnos credential list shows the names",
                ));
            }
            instance.refresh_redactor();
            instance.record("instance", vec![CredentialRemoved { name: name.clone() }.into()], Vec::new())?;
            done(context, &format!("{name} is forgotten"));
        }
    }
    Ok(0)
}

fn done(context: &Context, text: &str) {
    if context.global.json {
        output::result_json(&json!({ "ok": true }));
    } else {
        context.say(text);
    }
}

fn read_value(name: &str) -> Result<Secret, Failure> {
    if std::io::stdin().is_terminal() {
        output::aside(&format!("type the value of {name}, then Enter and Ctrl-D (it is shown while you type):"));
    }
    let mut text = Zeroizing::new(String::new());
    let read = std::io::stdin().lock().take(64 << 10).read_to_string(&mut text);
    read.map_err(|error| {
        Failure::usage(format!("the value cannot be read: {error}"), "printf %s VALUE | metnos credential set NAME")
    })?;
    let value = text.trim_end_matches(['\n', '\r']);
    if value.is_empty() {
        return Err(Failure::usage("the value is empty", "printf %s VALUE | metnos credential set NAME"));
    }
    Ok(Secret::from(value.to_owned()))
}

//! `metnos credential`: secrets for executors that name them. Values are read from standard input, never from arguments.

use clap::Subcommand;
use metnos_log::event::instance::{CredentialRemoved, CredentialSet};
use metnos_log::redact::{Redactor, Secret};
use secrecy::ExposeSecret;
use serde_json::json;
use zeroize::Zeroizing;

use super::console::{self, Heard, Stream, Wanted};
use super::output::by;
use super::{Context, Failure, output};
use crate::cause::plain;

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
    let instance = context.instance()?;
    match command {
        Credential::List => {
            let names = instance.credential_names();
            if context.global.json {
                output::result_json(&json!({ "credentials": names }));
            } else {
                output::result(&if names.is_empty() {
                    context.text(&instance, "credential.none", &json!({}))
                } else {
                    names.join("\n")
                });
            }
        }
        Credential::Set { name } => {
            let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
            if name.is_empty() || !plain {
                return Err(Failure::usage(by("error.bad_name"), "metnos credential set weather"));
            }
            let value = read_value(name, "printf %s VALUE | metnos credential set NAME")?;
            let redactor = Redactor::new(instance.keys.derived("metnos redaction key v1"), Vec::new());
            let keyed_hash = redactor.keyed_hash(value.expose_secret());
            instance.set_credential(name, value)?;
            instance.record("instance", vec![CredentialSet { name: name.clone(), keyed_hash }.into()])?;
            done(context, &context.text(&instance, "credential.stored", &json!({ "name": name })));
        }
        Credential::Remove { name } => {
            if !instance.remove_credential(name)? {
                return Err(Failure::refused(
                    ("error.no_credential", json!({ "name": name })),
                    by("next.list_credentials"),
                ));
            }
            instance.record("instance", vec![CredentialRemoved { name: name.clone() }.into()])?;
            done(context, &context.text(&instance, "credential.forgotten", &json!({ "name": name })));
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

/// A value from standard input.
/// `how` is the command that hands a value over, for hints.
pub(super) fn read_value(name: &str, how: &str) -> Result<Secret, Failure> {
    let console = console::current();
    if console.is_terminal(Stream::In) {
        output::aside(&format!("type the value of {name}, then Enter and Ctrl-D (it is shown while you type):"));
    }
    let unreadable = |error: &dyn std::error::Error| {
        Failure::usage(("error.value_unreadable", json!({ "reason": plain(&error) })), how)
    };
    let bytes = match console.read(Wanted::All(64 << 10), &[]).map_err(|error| unreadable(&error))? {
        Heard::Bytes(bytes) => Zeroizing::new(bytes),
        Heard::Ended | Heard::Cancelled => Zeroizing::default(),
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| unreadable(&error))?;
    let value = text.trim_end_matches(['\n', '\r']);
    if value.is_empty() {
        return Err(Failure::usage(by("error.value_empty"), how));
    }
    Ok(Secret::from(value.to_owned()))
}

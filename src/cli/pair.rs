//! `metnos pair`: codes by which a person's chat is bound to them.

use std::time::Duration;

use clap::Subcommand;
use metnos_projections::machines::actors::{Command, HOST};
use serde_json::{Value, json};

use super::{Context, Failure, actor, output};
use crate::instance::{Instance, now};
use crate::pairing::{self, PairingError};

/// The longest that a code may be good, in minutes: a day.
const MINUTES_MAX: u64 = 24 * 60;

/// Bind chats to people.
#[derive(Subcommand, Debug)]
pub(super) enum Pair {
    /// Make a code: whoever sends it from a chat is that person from then on.
    New {
        /// For whom: an id or a name; without one, for you.
        #[arg(long, value_name = "ACTOR")]
        actor: Option<String>,
        /// How long it is good; 5 for you, 60 for a guest.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MINUTES_MAX))]
        minutes: Option<u64>,
    },
    /// The codes that nobody has used yet.
    List,
    /// Take a code back.
    Revoke {
        /// The code itself, or its id.
        code: String,
    },
}

pub(super) fn run(context: &Context, command: &Pair) -> Result<u8, Failure> {
    let instance = context.instance()?;
    if !matches!(command, Pair::List) {
        context.refuse_past()?;
    }
    match command {
        Pair::New { actor, minutes } => new(context, &instance, actor.as_deref(), *minutes)?,
        Pair::List => list(context, &instance),
        Pair::Revoke { code } => {
            let id = pairing::read(&instance, code).unwrap_or_else(|| code.trim().to_uppercase());
            actor::change(&instance, Command::Withdraw { pairing: id.clone() })?;
            actor::done(context, &instance, "pair.revoked", &json!({ "code": id }));
        }
    }
    Ok(0)
}

fn new(context: &Context, instance: &Instance, whom: Option<&str>, minutes: Option<u64>) -> Result<(), Failure> {
    let whom = whom.map_or_else(|| Ok(HOST.to_owned()), |whom| actor::known(instance, whom))?;
    let code = pairing::issue(instance, &whom, minutes.map(|minutes| Duration::from_secs(60 * minutes)));
    let code = code.map_err(|error| match error {
        PairingError::Instance(error) => error.into(),
        PairingError::Rejected(rejection) => actor::refused(&rejection),
        PairingError::Foreign => Failure::internal("a new code was not taken for one"),
    })?;
    if context.global.json {
        output::result_json(
            &json!({ "ok": true, "id": code.id, "code": code.text, "actor": whom, "until": code.until.0 }),
        );
        return Ok(());
    }
    // The code alone is the result, so that it can be handed on.
    output::result(&code.text);
    let values = json!({
        "id": code.id, "actor": whom, "until": output::moment(code.until.0, &instance.settings.zone), "host": whom == HOST,
    });
    context.say(&context.text(instance, "pair.made", &values));
    Ok(())
}

fn list(context: &Context, instance: &Instance) {
    let actors = instance.actors();
    let good: Vec<(&String, &str, i64)> = actors
        .pairings
        .iter()
        .filter(|(_, code)| code.is_good(now()))
        .map(|(id, code)| (id, code.actor.as_str(), code.until))
        .collect();
    if context.global.json {
        let shown: Vec<Value> =
            good.iter().map(|(id, actor, until)| json!({ "id": id, "actor": actor, "until": until })).collect();
        return output::result_json(&json!({ "codes": shown }));
    }
    if good.is_empty() {
        return output::result(&context.text(instance, "pair.none", &json!({})));
    }
    let row = |(id, actor, until): &(&String, &str, i64)| {
        vec![(*id).clone(), (*actor).to_owned(), output::moment(*until, &instance.settings.zone)]
    };
    let rows: Vec<Vec<String>> = good.iter().map(row).collect();
    let heading = |key: &str| context.text(instance, &format!("pair.heading_{key}"), &json!({}));
    let headings = ["code", "actor", "until"].map(heading);
    output::result(&output::table(&headings.each_ref().map(String::as_str), &rows));
}

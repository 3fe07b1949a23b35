//! `metnos connect`: makes a channel work, from its token to the first message.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Subcommand;
use metnos_log::event::instance::CredentialSet;
use metnos_log::redact::{Redactor, Secret};
use metnos_projections::machines::actors::HOST;
use secrecy::ExposeSecret;
use serde_json::json;
use tokio::runtime::Runtime;

use super::console::{self, Stream};
use super::{Context, Failure, actor, credential, output};
use crate::channel::telegram::{CHANNEL, Client, Telegram, TelegramError, is_token};
use crate::instance::{Instance, now};
use crate::pairing::{self, HOST_PATIENCE, PairingError};
use crate::service::Services;

/// How often it is looked whether the message came, and how long the answer to it may take.
const STEP: Duration = Duration::from_millis(200);
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);

/// Make a channel work.
#[derive(Subcommand, Debug)]
pub(super) enum Connect {
    /// Check a bot's token, keep it, and make a code that connects your chat. The token is read from standard input.
    Telegram {
        /// Wait until the code was sent; at a terminal this is done anyway.
        #[arg(long)]
        wait: bool,
    },
}

pub(super) fn run(context: &Context, connect: &Connect) -> Result<u8, Failure> {
    let Connect::Telegram { wait } = connect;
    let instance = context.instance()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::internal(format!("the network cannot be used: {error}")))?;
    let name = checked(context, &instance, &runtime)?;
    let code = pairing::issue(&instance, HOST, None).map_err(|error| match error {
        PairingError::Instance(error) => error.into(),
        PairingError::Rejected(rejection) => actor::refused(&rejection),
        PairingError::Foreign => Failure::internal("a new code was not taken for one"),
    })?;
    let is_served = context.served.is_some();
    let command = format!("/start {}", code.text);
    if context.global.json {
        output::result_json(
            &json!({ "ok": true, "bot": name, "send": command, "until": code.until.0, "served": is_served }),
        );
    } else {
        if instance.actors().is_connected(CHANNEL) {
            context.say(&context.text(&instance, "telegram.pair_there", &json!({})));
        }
        let values = json!({ "name": name, "minutes": HOST_PATIENCE.as_secs() / 60 });
        context.say(&context.text(&instance, "telegram.pair_how", &values));
        output::result(&command);
    }
    let waits = *wait || (!context.global.json && console::current().is_terminal(Stream::Out));
    if !waits {
        if !is_served {
            context.say(&context.text(&instance, "telegram.pair_serve", &json!({})));
        }
        return Ok(0);
    }
    context.say(&context.text(&instance, "telegram.pair_waits", &json!({})));
    // Without a daemon this command listens itself, for as long as it waits.
    let services: Vec<Arc<dyn crate::service::Service>> = if is_served { Vec::new() } else { vec![Arc::new(Telegram)] };
    let services = Services::start(&instance, runtime.handle(), services)
        .map_err(|error| Failure::internal(format!("it cannot be listened: {error}")))?;
    let is_sent = is_sent(&instance, &code);
    services.stop();
    let stopped = Instant::now();
    while !services.have_ended() && stopped.elapsed() < ANSWER_PATIENCE {
        std::thread::sleep(STEP);
    }
    if !is_sent? {
        return Err(Failure::refused(
            context.text(&instance, "telegram.pair_late", &json!({})),
            "is it the right bot, and does it answer? metnos status says how the connection is",
        ));
    }
    context.say(&context.text(&instance, "telegram.pair_done", &json!({})));
    Ok(0)
}

/// The name of the bot whose token is given, or was: it is checked before it is kept.
fn checked(context: &Context, instance: &Instance, runtime: &Runtime) -> Result<String, Failure> {
    let known = instance.credential(CHANNEL);
    let is_terminal = console::current().is_terminal(Stream::In);
    let given = match &known {
        Some(_) if is_terminal => None,
        _ => match credential::read_value(
            "the bot's token (@BotFather gives it)",
            "printf %s TOKEN | metnos connect telegram",
        ) {
            Ok(given) => Some(given),
            // Nothing was given: the one that is there counts.
            Err(_) if known.is_some() => None,
            Err(failure) => return Err(failure),
        },
    };
    let token = given.clone().or(known).ok_or_else(|| refused(&TelegramError::Token))?;
    if !is_token(token.expose_secret()) {
        return Err(Failure::usage(
            "that is no token of a Telegram bot: it is a number, a colon and letters",
            "copy it from @BotFather: printf %s TOKEN | metnos connect telegram",
        ));
    }
    let client = Client::new(&instance.settings.telegram.base_url, token.clone()).map_err(|error| refused(&error))?;
    let me = runtime.block_on(client.get_me()).map_err(|error| refused(&error))?;
    let name = me.username.unwrap_or_else(|| me.id.to_string());
    if let Some(given) = given {
        keep(instance, given)?;
        context.say(&context.text(instance, "telegram.connected", &json!({ "name": name })));
    }
    Ok(name)
}

fn keep(instance: &Instance, token: Secret) -> Result<(), Failure> {
    let redactor = Redactor::new(instance.keys.derived("metnos redaction key v1"), Vec::new());
    let keyed_hash = redactor.keyed_hash(token.expose_secret());
    instance.set_credential(CHANNEL, token)?;
    instance.record("instance", vec![CredentialSet { name: CHANNEL.to_owned(), keyed_hash }.into()])?;
    Ok(())
}

fn refused(error: &TelegramError) -> Failure {
    let hint = match error {
        TelegramError::Token => "copy it from @BotFather: printf %s TOKEN | metnos connect telegram",
        TelegramError::Conflict { .. } => "stop the other program that uses this bot",
        TelegramError::Odd(_) => "look at the token and at telegram.base_url, then try again",
        TelegramError::Unreachable(_)
        | TelegramError::Broken(_)
        | TelegramError::TooMany(_)
        | TelegramError::Blocked(_)
        | TelegramError::Refused(_)
        | TelegramError::Moved(_)
        | TelegramError::TooLarge => "look whether this machine is on the network, then try again",
    };
    if *error == TelegramError::Token {
        Failure::refused(error.to_string(), hint)
    } else {
        Failure::failed(error.to_string(), hint)
    }
}

/// Waits until the code was used and its answer is sent, or the code is too old.
fn is_sent(instance: &Instance, code: &pairing::Code) -> Result<bool, Failure> {
    loop {
        instance.catch_up()?;
        let is_used = instance.actors().pairings.get(&code.id).is_some_and(|pairing| pairing.is_spent);
        if is_used {
            let since = Instant::now();
            while !instance.projected().channels.get(CHANNEL).outbox.is_empty() && since.elapsed() < ANSWER_PATIENCE {
                std::thread::sleep(STEP);
                instance.catch_up()?;
            }
            return Ok(true);
        }
        if now().0 >= code.until.0 {
            return Ok(false);
        }
        std::thread::sleep(STEP);
    }
}

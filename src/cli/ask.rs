//! `metnos ask`: one turn, its answer on stdout.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use metnos_projections::machines::turn::state::Step;
use metnos_projections::machines::turn::{Turn, stream};
use serde_json::{Value, json};

use super::fit::Lines;
use super::{Context, Failure, output, terminal};
use crate::config::Flags;
use crate::engine::{self, Request};
use crate::instance::Instance;

/// Carry out one sentence.
#[derive(Args, Debug)]
pub(super) struct Ask {
    /// The sentence, in English or Italian.
    text: OsString,
    /// Which planner: auto or simple.
    #[arg(long, value_name = "ENGINE")]
    engine: Option<String>,
    /// What is approved in advance.
    #[arg(long, value_enum, default_value_t = Approve::None)]
    approve: Approve,
}

/// What is approved in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Approve {
    /// Nothing: questions are asked at the terminal; without one the exit code is 3.
    None,
    /// Reading what the sentence does not name itself.
    Reads,
    /// Whatever the sentence asks for.
    All,
}

impl Approve {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Reads => "reads",
            Self::All => "all",
        }
    }
}

/// The sentence as text.
pub(super) fn sentence(text: &OsString) -> Result<String, Failure> {
    text.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::usage(
            "the sentence holds bytes that are no UTF-8",
            "a file with such a name is reached by its folder: metnos ask \"list the files in DIR\"",
        )
    })
}

pub(super) fn run(context: &Context, ask: &Ask) -> Result<u8, Failure> {
    let text = sentence(&ask.text)?;
    let flags = Flags { engine: ask.engine.clone(), ..context.flags() };
    let mut instance = context.ready(&flags)?;
    let turn = one(context, &mut instance, text, ask.approve)?;
    let code = tell(context, &instance, &turn)?;
    // The process ends with this: the system takes a long result back faster than it could be taken apart.
    std::mem::forget(turn);
    Ok(code)
}

/// Prints how a turn ended; the exit code that this means.
pub(super) fn tell(context: &Context, instance: &Instance, turn: &Turn) -> Result<u8, Failure> {
    let code = exit_code(turn);
    if context.global.json {
        output::result_json(&record(instance, turn)?);
    } else {
        let message = turn.message.clone().unwrap_or_default();
        if turn.final_kind.as_deref() == Some("answer") {
            output::answer(&message, lines(turn));
        } else {
            output::aside(&message);
        }
        if turn.final_class.as_deref() == Some("not_applicable") {
            for (name, reason) in crate::loader::check::quarantined(instance) {
                context.say(&context.text(instance, "notice.quarantined", &json!({ "name": name, "reason": reason })));
            }
        }
        hint(context, turn);
    }
    Ok(code)
}

/// Says what nobody was there to agree to, and how to.
pub(super) fn hint(context: &Context, turn: &Turn) {
    if exit_code(turn) == 3 && turn.final_class.as_deref() == Some("consent_expired") {
        let asked = turn.asked.as_ref().map(|asked| asked.text.clone());
        context.say(&asked.unwrap_or_default());
        context.say("hint: answer at a terminal, or give --approve all");
    }
}

/// Whether an answer was made from entries. What was read out of a file may look like a table and must not be cut.
pub(super) fn lines(turn: &Turn) -> Lines {
    let is_list = |step: &Step| step.result.as_ref().is_some_and(|result| result["entries"].is_array());
    match turn.step() {
        Some(step) if is_list(step) && !step.tool.starts_with("read_") => Lines::Entries,
        _ => Lines::Text,
    }
}

/// Carries out one sentence and lets the projections and exports follow.
pub(super) fn one(context: &Context, instance: &mut Instance, text: String, approve: Approve) -> Result<Turn, Failure> {
    carry_out(context, instance, text, approve, None)
}

/// The same for a step that a command names itself (`{"tool", "args"}`); `text` is how the record shows it.
pub(super) fn carry_out(
    context: &Context,
    instance: &mut Instance,
    text: String,
    approve: Approve,
    given: Option<Value>,
) -> Result<Turn, Failure> {
    let folder = std::env::current_dir().unwrap_or_else(|_| instance.dirs.user_home.clone());
    let request = Request { text, approve: approve.name().to_owned(), folder, channel: "console".to_owned(), given };
    let cancel = terminal::begin_turn().map_err(|error| Failure::internal(error.to_string()))?;
    let turn = {
        let person = terminal::Terminal::new(&instance.rules.messages, context.global.quiet || context.global.json);
        engine::run(instance, &person, cancel, &request)?
    };
    instance.catch_up()?;
    follow(context, instance);
    Ok(turn)
}

/// Brings checkpoints and audit files up to date. They are projections: a failure here loses nothing and is only logged.
pub(super) fn follow(context: &Context, instance: &Instance) {
    if let Err(error) = instance.save_projections() {
        tracing::info!(%error, "checkpoints were not written");
    }
    if let Err(error) = crate::export::audit::write(&instance.log.reader(), &instance.dirs.workspace.join(".audit")) {
        context.say(&context.text(instance, "notice.no_audit", &json!({ "reason": error.to_string() })));
    }
}

/// The exit code that a turn's end means.
pub(super) fn exit_code(turn: &Turn) -> u8 {
    match (turn.final_kind.as_deref(), turn.final_class.as_deref()) {
        (Some("answer"), _) => 0,
        (Some("ask" | "awaiting" | "needs_inputs"), _) => 3,
        (Some("error"), Some(class)) if FAILURES.contains(&class) => 2,
        (Some(_), _) => 1,
        (None, _) => 2,
    }
}

/// Classes that mean that something failed, rather than that it was refused or is not there.
const FAILURES: &[&str] = &[
    "timeout",
    "crashed",
    "non_json",
    "contract_violation",
    "cage_refused",
    "internal_error",
    "operation_failed",
    "resource_unavailable",
    "dependency_unavailable",
    "network",
    "dns_error",
];

/// Settles turns that a crash interrupted: planned changes are finished, everything else ends with a plain record.
pub(super) fn settle_interrupted(context: &Context, instance: &mut Instance) -> Result<(), Failure> {
    let open: Vec<String> = instance.turns.open().map(|(id, _)| id.to_owned()).collect();
    for name in open {
        let Ok(id) = name.parse() else { continue };
        let reader = instance.log.reader();
        let mut turn = Turn::default();
        for recorded in reader.stream(&stream(id))? {
            let recorded = reader.rehydrated(recorded)?;
            if let Some(event) = recorded.event() {
                turn.apply(id, recorded.time, event);
            }
        }
        let changing = turn.phase == metnos_projections::machines::turn::Phase::Committing;
        let person = terminal::Terminal::new(&instance.rules.messages, true);
        let ended = engine::resume(instance, &person, id, turn)?;
        instance.catch_up()?;
        let key = if changing { "notice.finished" } else { "notice.interrupted" };
        let text = ended.opened.as_ref().map(|opened| output::short(&opened.text, 60)).unwrap_or_default();
        context.say(&context.text(instance, key, &json!({ "text": text, "message": ended.message })));
    }
    Ok(())
}

/// The turn record (design 5-turn, «Structure»).
pub(super) fn record(instance: &Instance, turn: &Turn) -> Result<Value, Failure> {
    let Some(id) = turn.id else { return Ok(Value::Null) };
    let reader = instance.log.reader();
    let mut events = Vec::new();
    for recorded in reader.stream(&stream(id))? {
        events.push(reader.rehydrated(recorded)?);
    }
    Ok(super::turn::record(id, &events))
}

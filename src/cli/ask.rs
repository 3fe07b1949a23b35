//! `metnos ask`: one turn, its answer on stdout.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use metnos_log::TurnId;
use metnos_projections::machines::turn::state::Step;
use metnos_projections::machines::turn::{Phase, Turn, stream};
use metnos_projections::messages::Messages;
use metnos_projections::views::turns::Summary;
use serde_json::{Value, json};

use super::fit::Lines;
use super::{Context, Failure, console, inbox, interrupt, output, terminal};
use crate::cause::plain;
use crate::config::Flags;
use crate::engine::{self, Person, Reply, Request};
use crate::instance::{Instance, now};
use crate::seats::Seat;

pub(super) use crate::untold::CONSOLE;

/// Carry out one sentence.
#[derive(Args, Debug)]
pub(super) struct Ask {
    /// The sentence, in English or Italian.
    text: OsString,
    /// Which planner: auto, simple or metis.
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
    text.to_str()
        .map(str::to_owned)
        .ok_or_else(|| Failure::usage(output::by("error.no_utf8_sentence"), output::by("next.by_folder")))
}

pub(super) fn run(context: &Context, ask: &Ask) -> Result<u8, Failure> {
    let text = sentence(&ask.text)?;
    let flags = Flags { engine: ask.engine.clone(), ..context.flags() };
    let instance = context.ready(&flags)?;
    let mut turn = one(context, &instance, text, ask.approve)?;
    while turn.phase == Phase::Waiting {
        turn = asked(context, &instance, turn)?;
    }
    let code = tell(context, &instance, &turn)?;
    inbox::show(context, &instance)?;
    if console::current().is_own() {
        // The process ends with this: the system takes a long result back faster than it could be taken apart.
        std::mem::forget(turn);
    }
    // What ended well although it was stopped has ended well.
    Ok(if code != 0 && interrupt::is_stopped() { interrupt::code() } else { code })
}

/// Puts the question that a turn waits for, and goes on with what the person writes. Nothing written withdraws it.
fn asked(context: &Context, instance: &Instance, turn: Turn) -> Result<Turn, Failure> {
    let question = turn.message.clone().unwrap_or_default();
    let prompt = instance.rules.messages.say(turn.language, "chat.answer_prompt", json!({}));
    let (Some(id), Some(dialog)) = (turn.id, turn.dialog()) else { return Ok(turn) };
    let seat = instance.seats.sit(id, &dialog).map_err(|error| Failure::internal(error.to_string()))?;
    let heard = terminal::ask_line_or(&question, &prompt, &seat);
    let reply = match heard {
        Some(answer) if !answer.trim().is_empty() || turn.may_be_left_out() => {
            Reply::Answered { answer: answer.trim().to_owned(), channel: CONSOLE.to_owned() }
        }
        _ => Reply::Withdrawn("person"),
    };
    reply_from(context, instance, turn, (&reply, Some(seat)))
}

/// Tells the turn that waits what became of its question.
pub(super) fn reply_to(context: &Context, instance: &Instance, turn: Turn, reply: &Reply) -> Result<Turn, Failure> {
    reply_from(context, instance, turn, (reply, None))
}

/// The same from where the answer was waited for.
fn reply_from(
    context: &Context,
    instance: &Instance,
    turn: Turn,
    (reply, seat): (&Reply, Option<Seat<'_>>),
) -> Result<Turn, Failure> {
    let Some(id) = turn.id else { return Ok(turn) };
    // Another command may have withdrawn the question while the person thought.
    let turn = engine::folded(instance, id)?;
    if turn.phase != Phase::Waiting {
        return Ok(turn);
    }
    let cancel = context.begin_turn(instance)?;
    let turn = {
        let person = terminal::Terminal::new(&instance.rules.messages, context.global.quiet || context.global.json);
        engine::reply_from(instance, &person, cancel, (id, turn), (reply, None), seat)?
    };
    instance.catch_up()?;
    follow(context, instance);
    Ok(turn)
}

/// The turn that waits for an answer here: the newest whose question has not lapsed.
pub(super) fn waiting(instance: &Instance) -> Result<Option<Turn>, Failure> {
    let waits = |turn: &Summary<'_>| turn.waits.is_some_and(|waits| waits.channel == CONSOLE);
    let turns = instance.turns();
    let Some((id, _)) = turns.open().rev().find(|(_, turn)| waits(turn)) else { return Ok(None) };
    Ok(Some(engine::folded(instance, id)?).filter(|turn| turn.phase == Phase::Waiting))
}

/// One question at a time: those that a newer one took the place of are withdrawn.
fn withdraw_older(context: &Context, instance: &Instance, newer: &Turn) -> Result<(), Failure> {
    let older: Vec<TurnId> = instance
        .turns()
        .open()
        .filter(|(id, turn)| Some(*id) != newer.id && turn.waits.is_some_and(|w| w.channel == CONSOLE))
        .map(|(id, _)| id)
        .collect();
    for id in older {
        let turn = engine::folded(instance, id)?;
        if turn.phase == Phase::Waiting {
            reply_to(context, instance, turn, &Reply::Withdrawn("question"))?;
        }
    }
    Ok(())
}

/// Prints how a turn ended; the exit code that this means.
pub(super) fn tell(context: &Context, instance: &Instance, turn: &Turn) -> Result<u8, Failure> {
    let code = exit_code(turn);
    if context.global.json {
        output::result_json(&record(instance, turn)?);
    } else {
        let message = turn.message.clone().unwrap_or_default();
        if turn.final_kind.as_deref() == Some("answer") {
            answer(turn);
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
    instance.untold.told();
    Ok(code)
}

/// Prints an answer. What was read out of a file or a page is somebody's text, and a pipe gets it as it is.
pub(super) fn answer(turn: &Turn) {
    let message = turn.message.as_deref().unwrap_or_default();
    // A model's own words are no file's.
    let is_content = !turn.is_model_planned()
        && turn.step().is_some_and(|step| {
            (step.tool.starts_with("read_") || step.tool == "get_urls")
                && step.result.as_ref().is_some_and(|result| result["content"].is_string())
        });
    if is_content { output::content(message) } else { output::answer(message, lines(turn)) }
}

/// Says what nobody was there to agree to, and how to.
pub(super) fn hint(context: &Context, turn: &Turn) {
    if exit_code(turn) == 3 && turn.final_class.as_deref() == Some("consent_expired") {
        let asked = turn.asked.as_ref().map(|asked| asked.text.clone());
        context.say(&asked.unwrap_or_default());
        // Of an undo by its own command a yes names just that; a sentence may ask for anything.
        let is_command = turn.opened.as_ref().is_some_and(|opened| opened.given.is_some());
        let undoes = is_command && turn.step().is_some_and(|step| step.tool == "undo_last_turn");
        let given = if undoes { "--yes" } else { "--approve all" };
        let hint = Messages::embedded().say(turn.language, "next.give", json!({ "flag": given }));
        context.hint(&hint);
    }
}

/// Whether an answer was made from entries. What was read out of a file may look like a table and must not be cut.
pub(super) fn lines(turn: &Turn) -> Lines {
    let is_list = |step: &Step| step.result.as_ref().is_some_and(|result| result["entries"].is_array());
    match turn.step() {
        Some(step) if !turn.is_model_planned() && is_list(step) && !step.tool.starts_with("read_") => Lines::Entries,
        _ => Lines::Text,
    }
}

/// Carries out one sentence and lets the projections and exports follow.
pub(super) fn one(context: &Context, instance: &Instance, text: String, approve: Approve) -> Result<Turn, Failure> {
    carry_out(context, instance, text, approve, None)
}

/// The same for a step that a command names itself (`{"tool", "args"}`); `text` is how the record shows it.
pub(super) fn carry_out(
    context: &Context,
    instance: &Instance,
    text: String,
    approve: Approve,
    given: Option<Value>,
) -> Result<Turn, Failure> {
    let folder = super::folder(instance);
    let (approve, channel) = (approve.name().to_owned(), CONSOLE.to_owned());
    let dialogs = !context.global.json && terminal::Terminal::is_there();
    let request = Request { text, approve, folder, channel, given, dialogs, ..Request::default() };
    let cancel = context.begin_turn(instance)?;
    let turn = {
        let person = terminal::Terminal::new(&instance.rules.messages, context.global.quiet || context.global.json);
        engine::run(instance, &person, cancel, &request)?
    };
    instance.catch_up()?;
    if turn.phase == Phase::Waiting {
        withdraw_older(context, instance, &turn)?;
    }
    follow(context, instance);
    Ok(turn)
}

/// Brings checkpoints and audit files up to date. They are projections: a failure here loses nothing and is only logged.
pub(super) fn follow(context: &Context, instance: &Instance) {
    if let Err(error) = instance.follow_audit() {
        context.say(&context.text(instance, "notice.no_audit", &json!({ "reason": plain(&error) })));
    }
    if let Err(error) = instance.alone(|| instance.save_projections(context.checkpoint_every())) {
        tracing::info!(%error, "checkpoints were not written");
    }
}

/// The exit code that a turn's end means.
pub(super) fn exit_code(turn: &Turn) -> u8 {
    match (turn.final_kind.as_deref(), turn.final_class.as_deref()) {
        (Some("answer"), _) => 0,
        (Some("ask" | "awaiting" | "needs_inputs"), _) => 3,
        (Some("error"), Some("cancelled")) => interrupt::code(),
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
    "rate_limited",
    "no_credentials",
];

/// Settles turns that a crash interrupted: planned changes are finished, everything else ends with a plain record.
pub(super) fn settle_interrupted(context: &Context, instance: &Instance) -> Result<(), Failure> {
    let open: Vec<TurnId> = instance.turns().open().map(|(id, _)| id).collect();
    let of_a_line = interrupt::is_in_turn();
    tell_left(context, instance)?;
    let settled = settle_each(context, instance, open);
    if settled.is_ok() && !of_a_line {
        interrupt::between_turns(false);
    }
    settled
}

/// Tells what a killed command had done and not said any more, once. What is still open is told where it is settled.
fn tell_left(context: &Context, instance: &Instance) -> Result<(), Failure> {
    let left = if context.is_heard() { instance.untold.left() } else { Vec::new() };
    for id in left {
        let turn = engine::folded(instance, id)?;
        if let (Phase::Closed, Some(message)) = (turn.phase, &turn.message) {
            let text = turn.opened.as_ref().map(|opened| output::short(&opened.text, 60)).unwrap_or_default();
            context.say(&context.text(instance, "notice.untold", &json!({ "text": text, "message": message })));
        }
        instance.untold.forget(id);
    }
    Ok(())
}

fn settle_each(context: &Context, instance: &Instance, open: Vec<TurnId>) -> Result<(), Failure> {
    for id in open {
        let turn = engine::folded(instance, id)?;
        if turn.phase == Phase::Waiting {
            let instance = &instance.as_actor(&instance.actor_of(id));
            let turns = instance.turns();
            let waits = turns.get(id).and_then(|turn| turn.waits);
            if waits.is_some_and(|waits| waits.channel != CONSOLE) {
                continue; // Where it was put, it is told that it lapsed.
            }
            if waits.is_none_or(|waits| waits.until <= now().0) {
                let text = output::short(turn.text(), 60);
                let ended = reply_to(context, instance, turn, &Reply::Lapsed)?;
                let values = json!({ "text": text, "question": ended.message });
                context.say(&context.text(instance, "notice.lapsed", &values));
            }
            continue; // It waits for a person, not for this process.
        }
        if context.served.is_some() {
            continue; // Another command of this daemon carries it out.
        }
        let changing = turn.phase == Phase::Committing;
        let is_ours = turn.opened.as_ref().is_none_or(|opened| opened.channel == CONSOLE);
        if !changing && !is_ours {
            continue; // Its channel goes on with it.
        }
        let instance = &instance.as_actor(&instance.actor_of(id));
        let terminal = terminal::Terminal::new(&instance.rules.messages, true);
        // What the turn of a channel asks next, it asks there.
        let person: &dyn Person = if is_ours { &terminal } else { &engine::Absent };
        let cancel = context.begin_turn(instance)?;
        // A server may take its time to answer.
        if changing && turn.step().is_some_and(|step| step.ops.iter().any(|op| op.request.is_some())) {
            let text = output::short(turn.text(), 60);
            context.say(&context.text(instance, "notice.finishing", &json!({ "text": text })));
        }
        let ended = engine::resume(instance, person, cancel, (id, turn))?;
        instance.catch_up()?;
        if ended.phase != Phase::Closed {
            continue; // It goes on where it was asked for.
        }
        if changing && ended.final_class.as_deref() == Some("cancelled") {
            output::aside(&ended.message.unwrap_or_default());
            return Err(Failure::interrupted());
        }
        let is_settled = ended.step().is_some_and(|step| step.settled.is_some());
        let key = match ended.final_class.as_deref() {
            _ if changing => "notice.finished",
            // Its check said that nothing was done, and nobody waits for it any more.
            Some("cancelled") if is_settled => "notice.not_done",
            _ if is_settled => "notice.in_doubt",
            _ => "notice.interrupted",
        };
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

#[cfg(test)]
mod tests {
    use metnos_log::{Micros, TurnId};
    use metnos_projections::machines::turn::command::Command;
    use metnos_projections::machines::turn::{Context as TurnContext, decide};

    use super::*;
    use crate::cli::Global;
    use crate::config::Variables;
    use crate::instance::random;

    /// A turn that put a question at that moment and whose process is gone.
    fn left_open(instance: &Instance, time: Micros) -> TurnId {
        let request = Request {
            text: "remind me every monday".to_owned(),
            approve: "none".to_owned(),
            folder: instance.dirs.user_home.clone(),
            channel: CONSOLE.to_owned(),
            dialogs: true,
            ..Request::default()
        };
        let id = TurnId::new(time, random());
        let (catalog, tools) = (instance.catalog(), instance.tools());
        let context = TurnContext { rules: &instance.rules, catalog: &catalog, tools: &tools, time };
        let opened = Command::Open(Box::new(engine::opened(instance, &request)));
        let events = decide(&Turn::default(), id, context, opened).unwrap();
        instance.submit_turn(id, None, (0, time), events, Vec::new()).wait().unwrap();
        instance.catch_up().unwrap();
        assert!(instance.turns().get(id).unwrap().waits.is_some());
        id
    }

    #[test]
    fn a_question_survives_its_process_until_it_lapses() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("instance");
        let user_home = folder.path().join("person");
        std::fs::create_dir(&user_home).unwrap();
        let variables = Variables { user_home: Some(user_home), ..Variables::default() };
        let global = Global { home: Some(home.clone()), json: false, quiet: true, yes: false, at: None, lang: None };
        let context = Context { global, variables: variables.clone(), served: None, is_daemon: false };
        let instance = Instance::open(Some(&home), &Flags::default(), &variables, std::time::Duration::ZERO).unwrap();
        crate::builtins::install_missing(&instance).unwrap();
        let ago = |seconds: i64| Micros(now().0 - seconds * 1_000_000);
        let (lapsed, fresh) = (left_open(&instance, ago(601)), left_open(&instance, ago(500)));
        settle_interrupted(&context, &instance).unwrap();
        assert_eq!(instance.turns().get(lapsed).unwrap().final_kind, Some("ask"));
        assert_eq!(instance.turns().get(fresh).unwrap().final_kind, None);
        let open = waiting(&instance).unwrap().unwrap();
        assert_eq!(open.id, Some(fresh));
        assert_eq!(open.message.as_deref(), Some("What should I remind you of?"));
        // A newer question takes its place.
        let newest = left_open(&instance, now());
        let newest = engine::folded(&instance, newest).unwrap();
        withdraw_older(&context, &instance, &newest).unwrap();
        assert_eq!(instance.turns().get(fresh).unwrap().final_kind, Some("ask"));
        assert_eq!(waiting(&instance).unwrap().unwrap().id, newest.id);
    }
}

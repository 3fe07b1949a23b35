//! What one thing that a person says means within a conversation, whatever the channel: a command, the answer to a question
//! that is open, or a sentence of its own.

use std::path::Path;

use metnos_log::TurnId;
use metnos_projections::machines::turn::command::Command;
use metnos_projections::machines::turn::{Context, Effect, Turn, decide, react};
use metnos_projections::rules::simple;

use crate::engine::{self, EngineError, Request};
use crate::gateway::Loaded;
use crate::gateway::call::PreparedCall;
use crate::instance::{Instance, now};

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A sentence.
    Sentence(&'a str),
    /// Which commands are there?
    Help,
    /// Take back what a turn did: this one, or the last.
    Undo(Option<&'a str>),
    /// What did the last turn do, and why?
    Why,
    /// The conversation is over.
    Quit,
    /// A command that is not there.
    Unknown(&'a str),
}

/// How a sentence goes with the question that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It answers it.
    Answer,
    /// Together with the request it reads like this, which answers it.
    Completes(String),
    /// It is a sentence of its own; the question stays open.
    Sentence,
}

/// How a sentence goes with the question that a turn waits with. An answer is a bare name, or what says nothing by itself,
/// where the two together are understood.
pub fn fit(instance: &Instance, folder: &Path, waiting: &Turn, text: &str) -> Result<Fit, EngineError> {
    let is_bare = simple::is_bare(text, &[]) || instance.reaches(&folder.join(text));
    let is_understood = |text: &str| is_understood(instance, folder, text);
    let fits = waiting.is_answer(&instance.tools(), text, now());
    // What a form does not take may still be a sentence; else it is asked again, with the reason.
    if let Some(fits) = fits
        && (fits || is_bare || !is_understood(text)?)
    {
        return Ok(Fit::Answer);
    }
    let whole = simple::completed(waiting.text(), text);
    let is_answer = is_bare || !is_understood(text)?;
    let completes = fits.is_none() && is_answer && is_understood(&whole)?;
    Ok(if completes { Fit::Completes(whole) } else { Fit::Sentence })
}

/// Whether the planner would act on a sentence. Nothing runs and nothing is recorded.
fn is_understood(instance: &Instance, folder: &Path, text: &str) -> Result<bool, EngineError> {
    let (approve, channel) = ("none".to_owned(), "console".to_owned());
    let (text, folder) = (text.to_owned(), folder.to_owned());
    let turn = rehearse(instance, &Request { text, approve, folder, channel, ..Request::default() })?;
    // What a model would make of it is not known before it is asked.
    let plan = if turn.is_model_planned() { turn.aside } else { turn.plan };
    Ok(plan.is_some_and(|plan| plan.abstention.is_none() && !plan.steps.is_empty()))
}

/// Decides the opening and the first step without running anything.
pub fn rehearse(instance: &Instance, request: &Request) -> Result<Turn, EngineError> {
    let id = TurnId::new(now(), [0; 10]);
    let mut turn = Turn::default();
    let take = |turn: &mut Turn, command: Command| -> Result<(), EngineError> {
        let (catalog, tools) = (instance.catalog(), instance.tools());
        let context = Context { rules: &instance.rules, catalog: &catalog, tools: &tools, time: now() };
        let events = decide(turn, id, context, command)?;
        for event in &events {
            turn.apply(id, now(), event);
        }
        Ok(())
    };
    take(&mut turn, Command::Open(Box::new(engine::opened(instance, request))))?;
    if let Some(Effect::Prepare { step, tool, args }) = react(&turn) {
        let loaded = Loaded::from_catalog(&instance.catalog(), &instance.log.reader(), &tool);
        let caller = engine::caller(instance, &turn, id);
        let prepared = PreparedCall::new(step, loaded, args.unwrap_or_default(), &caller);
        take(&mut turn, Command::Prepared(prepared.facts))?;
    }
    Ok(turn)
}

/// A line that begins with a slash is a command, unless it begins with a path.
pub fn line(text: &str) -> Line<'_> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = Some(rest.trim()).filter(|rest| !rest.is_empty());
    match (word, rest) {
        ("/help" | "/aiuto" | "/?", None) => Line::Help,
        ("/undo" | "/annulla", turn) => Line::Undo(turn),
        ("/why" | "/perché" | "/perche" | "/perche'", None) => Line::Why,
        ("/quit" | "/exit" | "/esci", None) => Line::Quit,
        _ if is_command(word) => Line::Unknown(word),
        _ => Line::Sentence(text),
    }
}

/// Whether a word looks like a command and names nothing on the disk.
fn is_command(word: &str) -> bool {
    let name = word.strip_prefix('/').filter(|name| !name.is_empty() && name.chars().all(char::is_alphabetic));
    name.is_some() && Path::new(word).symlink_metadata().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_sentences_and_paths() {
        assert_eq!(line("/perché"), Line::Why);
        assert_eq!(line("/annulla"), Line::Undo(None));
        assert_eq!(line("/undo  01ABC"), Line::Undo(Some("01ABC")));
        assert_eq!(line("/esci"), Line::Quit);
        assert_eq!(line("/wyh"), Line::Unknown("/wyh"));
        for sentence in ["/tmp", "/etc/hosts: show it", "what time is it", "/", ""] {
            assert_eq!(line(sentence), Line::Sentence(sentence));
        }
    }
}

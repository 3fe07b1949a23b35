//! `metnos chat`: one sentence a line, until the end of the input.
//!
//! At a terminal with line editing, history and a prompt that names what is pending; the log is let go of while the person
//! thinks, so other commands need not wait. Otherwise plain: a sentence a line in, an answer out, nothing else.

use clap::Args;
use metnos_log::TurnId;
use metnos_projections::machines::turn::answers::yes_or_no;
use metnos_projections::machines::turn::{Phase, Turn};
use metnos_projections::visible;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ask::{self, Approve};
use super::console::{self, Heard, Stream, Wanted};
use super::editor::{Editor, Typed};
use super::{Context, Failure, client, fit, inbox, interrupt, output};
use crate::cause::plain;
use crate::config::Dirs;
use crate::conversation::{self, Fit, Line, line};
use crate::engine::{self, Answer, Reply};
use crate::instance::{Instance, InstanceError};
use crate::scheduler::questions;
use crate::why;

/// Talk, one sentence a line.
#[derive(Args, Debug)]
pub(super) struct Chat {
    /// What is approved in advance.
    #[arg(long, value_enum, default_value_t = Approve::None)]
    approve: Approve,
}

/// A conversation.
struct Talk<'a> {
    context: &'a Context,
    approve: Approve,
    memory: Memory,
}

/// What a conversation remembers between two lines. The process that edits them has it; what carries a line out may be
/// another one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Memory {
    /// The turn that ended last.
    last: Option<String>,
    /// The question that is open.
    pending: Option<Pending>,
    /// The worst exit code so far.
    worst: u8,
}

/// A question that is open.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pending {
    /// The turn that waits for its answer.
    turn: String,
    question: String,
    /// The same as far as a prompt needs it.
    in_short: String,
    /// Whether an empty line answers it.
    may_be_left_out: bool,
    /// What names it, where it is a schedule's and not of this conversation: then a yes or a no answers it.
    #[serde(default)]
    tag: Option<String>,
}

/// One thing that a conversation at a terminal wants done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Exchange {
    memory: Memory,
    said: Said,
    /// What is said when Ctrl-C stops it.
    stopping: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Said {
    /// The conversation begins.
    Begin,
    /// A line was typed.
    Line(String),
    /// The open question is not wanted any more.
    Withdraw,
}

/// What the terminal goes on with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct After {
    memory: Memory,
    stopping: String,
}

pub(super) fn run(context: &Context, chat: &Chat) -> Result<u8, Failure> {
    if is_edited(context) {
        at_a_terminal(context, chat)
    } else {
        Talk::new(context, chat, Memory::default()).plainly()
    }
}

/// Whether lines are edited here, one by one, rather than read until the input ends.
pub(super) fn is_edited(context: &Context) -> bool {
    let console = console::current();
    !context.global.json && console.is_terminal(Stream::In) && console.is_terminal(Stream::Out)
}

fn at_a_terminal(context: &Context, chat: &Chat) -> Result<u8, Failure> {
    let begin = Exchange { memory: Memory::default(), said: Said::Begin, stopping: String::new() };
    let (mut memory, stopping) = match carried_out(context, chat, &begin)? {
        Carried::Done(After { memory, stopping }) => (memory, stopping),
        Carried::Failed(code) => return Ok(code),
    };
    let dirs = Dirs::resolve(context.global.home.as_deref(), &context.variables).map_err(InstanceError::from)?;
    let mut editor = Editor::open(&dirs.data)?;
    loop {
        if interrupt::is_ending() {
            return Ok(interrupt::code());
        }
        interrupt::between_turns(true);
        let said = match editor.read(&memory.prompt())? {
            Typed::Ended => return Ok(0),
            Typed::Cleared if memory.pending.is_none() => continue,
            Typed::Cleared => Said::Withdraw,
            Typed::Line(text) => match line(text.trim()) {
                Line::Sentence("") if !memory.may_be_left_out() => continue,
                Line::Quit => return Ok(0),
                _ => Said::Line(text),
            },
        };
        if let Said::Line(_) = said {
            // From here on Ctrl-C stops what this line began, and not the conversation.
            interrupt::begin_turn(stopping.clone())?;
        }
        let exchange = Exchange { memory: memory.clone(), said, stopping: stopping.clone() };
        match carried_out(context, chat, &exchange) {
            Ok(Carried::Done(after)) => memory = after.memory,
            // A second Ctrl-C ends the conversation as well.
            Ok(Carried::Failed(code)) if interrupt::is_at_once() => return Ok(code),
            Ok(Carried::Failed(_)) => {}
            // The next line may fare better: the log is opened anew for it.
            Err(failure) => failure.print(false, context.spoken(), context.global.home.as_deref()),
        }
    }
}

/// Has the daemon carry an exchange out; where there is none, opens the instance for it and lets go of it, so that other
/// commands need not wait while the person thinks.
fn carried_out(context: &Context, chat: &Chat, exchange: &Exchange) -> Result<Carried, Failure> {
    let by_the_daemon = || -> Result<Option<Carried>, Failure> {
        let ended = client::send(context, Some(exchange.clone()))?;
        Ok(ended.map(|ended| match ended.back.and_then(|back| serde_json::from_value(back).ok()) {
            Some(after) => Carried::Done(after),
            None => Carried::Failed(ended.code),
        }))
    };
    if let Some(carried) = by_the_daemon()? {
        return Ok(carried);
    }
    match exchanged(context, chat, exchange.clone()) {
        Err(failure) if failure.is_served => by_the_daemon()?.ok_or(failure),
        other => other.map(Carried::Done),
    }
}

/// How an exchange ended.
enum Carried {
    Done(After),
    /// The daemon has said why it failed.
    Failed(u8),
}

/// Carries out what a conversation at a terminal wants done.
pub(super) fn exchanged(context: &Context, chat: &Chat, exchange: Exchange) -> Result<After, Failure> {
    let Exchange { memory, said, stopping } = exchange;
    if let Said::Line(_) = said {
        interrupt::begin_turn(stopping)?;
    }
    let mut talk = Talk::new(context, chat, memory);
    let instance = context.ready(&context.flags())?;
    match said {
        Said::Begin => talk.begin(&instance)?,
        Said::Withdraw => talk.withdraw(&instance)?,
        Said::Line(text) => talk.reply(&instance, &line(text.trim()))?,
    }
    Ok(After { memory: talk.memory, stopping: context.stopping(&instance) })
}

impl Memory {
    fn may_be_left_out(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.may_be_left_out)
    }

    /// The prompt, with the question that the next line may answer.
    fn prompt(&self) -> String {
        let Some(Pending { in_short, .. }) = &self.pending else { return "> ".to_owned() };
        let columns = console::current().columns(Stream::Out).unwrap_or(80);
        let question = visible::name(&output::short(in_short, columns)).into_owned();
        format!("({}) > ", fit::cut(&question, (columns / 2).max(8)))
    }

    fn pends(&mut self, turn: &Turn) {
        let question = turn.message.clone().unwrap_or_default();
        let in_short = turn.asking().map_or_else(|| question.clone(), |asked| asked.bare().to_owned());
        let may_be_left_out = turn.may_be_left_out();
        let tag = None;
        self.pending = turn.id.map(|id| Pending { turn: id.to_string(), question, in_short, may_be_left_out, tag });
    }

    /// A schedule's question may be answered by the next line, where nothing else is open.
    fn pends_of_schedules(&mut self, waiting: &[questions::Pending]) {
        let tag = self.pending.as_ref().and_then(|pending| pending.tag.as_ref());
        if tag.is_some_and(|tag| waiting.iter().all(|waiting| waiting.tag != *tag)) {
            self.pending = None; // It was answered elsewhere, or lapsed.
        }
        if self.pending.is_none()
            && let Some(first) = waiting.first()
        {
            let (question, in_short) = (first.text.clone(), first.line.clone());
            let tag = Some(first.tag.clone());
            self.pending = Some(Pending { turn: String::new(), question, in_short, may_be_left_out: false, tag });
        }
    }

    fn ended(&mut self, turn: &Turn) {
        let id = turn.id.map(|id| id.to_string());
        if turn.phase == Phase::Waiting {
            self.pends(turn);
        } else {
            self.worst = self.worst.max(ask::exit_code(turn));
            if id == self.pending.as_ref().map(|pending| pending.turn.clone()) {
                self.pending = None;
            }
        }
        self.last = id;
    }
}

/// A turn as the log has it.
fn past(instance: &Instance, id: &str) -> Result<Option<Turn>, Failure> {
    let Ok(id) = id.parse::<TurnId>() else { return Ok(None) };
    Ok(Some(engine::folded(instance, id)?))
}

impl<'a> Talk<'a> {
    fn new(context: &'a Context, chat: &Chat, memory: Memory) -> Self {
        Self { context, approve: chat.approve, memory }
    }

    fn begin(&mut self, instance: &Instance) -> Result<(), Failure> {
        self.context.say(&self.context.text(instance, "chat.welcome", &json!({})));
        if let Some(turn) = ask::waiting(instance)? {
            let values = json!({ "text": output::short(turn.text(), 60), "question": turn.message });
            self.context.say(&self.context.text(instance, "chat.still_open", &values));
            self.memory.pends(&turn);
        }
        self.look_into_the_inbox(instance)
    }

    /// Shows what schedules have to tell; a question of theirs in full when the next line may answer it.
    fn look_into_the_inbox(&mut self, instance: &Instance) -> Result<(), Failure> {
        inbox::show(self.context, instance)?;
        let before = self.memory.pending.as_ref().and_then(|pending| pending.tag.clone());
        self.memory.pends_of_schedules(&questions::pending(instance)?);
        if let Some(pending) =
            self.memory.pending.as_ref().filter(|pending| pending.tag.is_some() && pending.tag != before)
        {
            self.context.say(&pending.question);
        }
        Ok(())
    }

    fn reply(&mut self, instance: &Instance, line: &Line<'_>) -> Result<(), Failure> {
        if interrupt::is_stopped() {
            return Err(Failure::interrupted());
        }
        if let Some(turn) = self.heard(instance, line)? {
            ask::tell(self.context, instance, &turn)?;
            self.memory.ended(&turn);
        }
        self.look_into_the_inbox(instance)
    }

    fn plainly(&mut self) -> Result<u8, Failure> {
        let instance = self.context.ready(&self.context.flags())?;
        loop {
            interrupt::between_turns(false);
            let read = console::current().read(Wanted::Line, &[]);
            let bytes = match read
                .map_err(|error| Failure::internal(("error.input_unreadable", json!({ "reason": plain(&error) }))))?
            {
                Heard::Bytes(bytes) => bytes,
                Heard::Ended | Heard::Cancelled => return Ok(self.memory.worst),
            };
            let Ok(text) = String::from_utf8(bytes) else {
                output::aside("error: that line is not valid UTF-8");
                self.memory.worst = self.memory.worst.max(2);
                continue;
            };
            match line(text.trim()) {
                Line::Sentence("") => {}
                Line::Quit => return Ok(self.memory.worst),
                line => {
                    if let Some(turn) = self.heard(&instance, &line)? {
                        if self.context.global.json {
                            output::result_json(&ask::record(&instance, &turn)?);
                        } else {
                            ask::answer(&turn);
                        }
                        ask::hint(self.context, &turn);
                        instance.untold.told();
                        self.memory.ended(&turn);
                        self.look_into_the_inbox(&instance)?;
                        if turn.final_class.as_deref() == Some("cancelled") || interrupt::is_ending() {
                            return Ok(interrupt::code());
                        }
                    }
                }
            }
        }
    }

    /// Does what a line says; a turn's end is told by who called.
    fn heard(&mut self, instance: &Instance, line: &Line<'_>) -> Result<Option<Turn>, Failure> {
        let context = self.context;
        match line {
            Line::Sentence(text) => {
                if self.answers_schedule(instance, text)? {
                    return Ok(None);
                }
                if let Some(turn) = self.answers(instance, text)? {
                    let (answer, channel) = ((*text).to_owned(), ask::CONSOLE.to_owned());
                    let reply = Reply::Answered { answer, channel };
                    return ask::reply_to(context, instance, turn, &reply).map(Some);
                }
                return ask::one(context, instance, (*text).to_owned(), self.approve).map(Some);
            }
            Line::Undo(turn) => {
                let mut args = Map::new();
                args.extend(turn.map(|turn| ("turn".to_owned(), Value::from(turn))));
                let text = turn.map_or_else(|| "undo".to_owned(), |turn| format!("undo {turn}"));
                let given = json!({ "tool": "undo_last_turn", "args": args });
                return ask::carry_out(context, instance, text, self.approve, Some(given)).map(Some);
            }
            Line::Help => self.told(&context.text(instance, "chat.help", &json!({}))),
            Line::Why => match self.memory.last.as_deref().map(|id| past(instance, id)).transpose()?.flatten() {
                Some(turn) => self.told(&why::told(instance, &turn, turn.language)),
                None => self.told(&context.text(instance, "chat.why_nothing", &json!({}))),
            },
            Line::Unknown(word) => {
                self.memory.worst = self.memory.worst.max(2);
                output::aside(&context.text(instance, "chat.unknown", &json!({ "word": word })));
            }
            Line::Quit => {}
        }
        Ok(None)
    }

    fn told(&self, text: &str) {
        if self.context.global.json {
            output::result_json(&json!({ "ok": true, "text": text }));
        } else {
            output::answer(text, fit::Lines::Text);
        }
    }

    /// Whether a line is the yes or the no to a schedule's question: then that is done, and what came of it shown.
    fn answers_schedule(&mut self, instance: &Instance, text: &str) -> Result<bool, Failure> {
        let tag = self.memory.pending.as_ref().and_then(|pending| pending.tag.clone());
        let (Some(tag), Some(is_yes)) = (tag, yes_or_no(text)) else { return Ok(false) };
        self.memory.pending = None;
        let answer = if is_yes { Answer::Yes("terminal") } else { Answer::No("terminal") };
        inbox::answered(self.context, instance, &tag, answer)?;
        Ok(true)
    }

    /// The turn that waits, when a line answers its question: a bare name, or what says nothing by itself. Only where the
    /// two together are understood; any other line is a sentence of its own, and the question stays open.
    fn answers(&mut self, instance: &Instance, text: &str) -> Result<Option<Turn>, Failure> {
        let pending = self.memory.pending.clone().filter(|pending| pending.tag.is_none());
        let Some(Pending { turn, question, .. }) = pending else { return Ok(None) };
        let Some(turn) = past(instance, &turn)? else { return Ok(None) };
        if turn.phase != Phase::Waiting {
            self.memory.pending = None; // It lapsed while the person thought, or was answered in another place.
            if turn.final_kind.as_deref() == Some("answer") {
                let values = json!({ "message": turn.message });
                self.context.say(&self.context.text(instance, "approvals.chat_elsewhere", &values));
            }
            return Ok(None);
        }
        match conversation::fit(instance, &super::folder(instance), &turn, text)? {
            Fit::Answer => Ok(Some(turn)),
            Fit::Completes(whole) => {
                self.context.say(&self.context.text(instance, "chat.taken", &json!({ "text": whole })));
                Ok(Some(turn))
            }
            Fit::Sentence => {
                self.context.say(&self.context.text(instance, "chat.still_pending", &json!({ "question": question })));
                Ok(None)
            }
        }
    }

    /// The person does not want the question any more.
    fn withdraw(&mut self, instance: &Instance) -> Result<(), Failure> {
        let Some(Pending { turn, tag: None, .. }) = self.memory.pending.take() else { return Ok(()) };
        if let Some(turn) = past(instance, &turn)? {
            ask::reply_to(self.context, instance, turn, &Reply::Withdrawn("person"))?;
        }
        Ok(())
    }
}

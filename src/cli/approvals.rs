//! `metnos approvals` and `metnos answer`: questions that wait in another place, and answers to them from here.
//!
//! Where somebody waits for the answer the turn goes on there, and this says where that is; otherwise it goes on here.

use clap::{Args, Subcommand};
use metnos_projections::machines::turn::{Phase, Turn, answers};
use serde_json::{Value, json};

use super::output::by;
use super::{Context, Failure, ask, inbox, output};
use crate::approvals::{self, NotAnswered, SCHEDULE, Waiting, Wants};
use crate::engine::{self, Answer, ELSEWHERE, Reply};
use crate::instance::Instance;
use crate::seats::Said;

/// See what waits for a yes, wherever it was asked, and answer it from here.
#[derive(Subcommand, Debug)]
pub(super) enum Approvals {
    /// Every question that waits for you: what it asks, since when, until when, and where.
    List,
    /// Say yes to a question; what it asks about is done where it waits.
    Grant {
        /// The question's name, as the list shows it.
        name: String,
    },
    /// Say no to a question.
    Deny {
        /// The question's name, as the list shows it.
        name: String,
    },
}

/// Answer a question: a field of a form, a choice, a place, or a yes or a no.
#[derive(Args, Debug)]
pub(super) struct Words {
    /// The question's name, as `metnos approvals list` shows it.
    name: String,
    /// The answer; of a choice its number or name.
    #[arg(required = true, num_args = 1..)]
    text: Vec<String>,
}

pub(super) fn run(context: &Context, command: &Approvals) -> Result<u8, Failure> {
    let instance = context.ready(&context.flags())?;
    match command {
        Approvals::List => list(context, &instance),
        Approvals::Grant { name } => consent(context, &instance, name, true),
        Approvals::Deny { name } => consent(context, &instance, name, false),
    }
}

fn list(context: &Context, instance: &Instance) -> Result<u8, Failure> {
    let waiting = approvals::waiting(instance)?;
    if context.global.json {
        for waiting in &waiting {
            output::result_json(&told(waiting));
        }
        return Ok(0);
    }
    if waiting.is_empty() {
        output::result(&context.text(instance, "approvals.none", &json!({})));
        return Ok(0);
    }
    let shown: Vec<String> =
        waiting.iter().map(|waiting| context.text(instance, "approvals.waits", &values(instance, waiting))).collect();
    output::result(&shown.join("\n\n"));
    Ok(0)
}

/// A question for programs.
fn told(waiting: &Waiting) -> Value {
    let moment = |micros| jiff::Timestamp::from_microsecond(micros).unwrap_or_default().to_string();
    json!({
        "name": waiting.name,
        "kind": kind(waiting),
        "turn_id": waiting.turn.to_string(),
        "channel": waiting.channel,
        "schedule_id": waiting.address.as_ref().filter(|_| waiting.channel == SCHEDULE),
        "request": waiting.request,
        "question": waiting.question,
        "since": moment(waiting.since),
        "until": moment(waiting.until),
    })
}

fn kind(waiting: &Waiting) -> &'static str {
    if matches!(waiting.wants, Wants::Consent(_)) { "consent" } else { "dialog" }
}

/// The same in the words of texts.
fn values(instance: &Instance, waiting: &Waiting) -> Value {
    let moment = |micros| output::moment(micros, &instance.settings.zone);
    json!({
        "name": waiting.name,
        "kind": kind(waiting),
        "channel": waiting.channel,
        "task": waiting.address.as_ref().filter(|_| waiting.channel == SCHEDULE),
        "request": output::short(&waiting.request, 120),
        "question": waiting.question.trim_end().lines().collect::<Vec<_>>().join("\n  "),
        "since": moment(waiting.since),
        "until": moment(waiting.until),
    })
}

fn consent(context: &Context, instance: &Instance, name: &str, is_yes: bool) -> Result<u8, Failure> {
    let waiting = found(context, instance, name)?;
    let said = if is_yes { "yes" } else { "no" };
    let handed = approvals::hand(instance, &waiting, Said::Consent(is_yes))?;
    if refused(context, instance, name, handed)? {
        there(context, instance, &waiting, said);
        return Ok(0);
    }
    // What a task asks is answered where tasks are, and carried out at once.
    if waiting.channel == SCHEDULE {
        let answer = if is_yes { Answer::Yes(ELSEWHERE) } else { Answer::No(ELSEWHERE) };
        if !context.global.json {
            return inbox::answered(context, instance, &waiting.name, answer);
        }
        let id = inbox::given(context, instance, &waiting.name, answer)?;
        // The object has it.
        inbox::tell(instance, &id, &|_| {})?;
        return here(context, instance, &waiting, said, &engine::folded(instance, waiting.turn)?);
    }
    let cancel = context.begin_turn(instance)?;
    let carried = approvals::carry_on(instance, &waiting, is_yes, cancel)?;
    let turn = refused(context, instance, name, carried)?;
    ask::follow(context, instance);
    here(context, instance, &waiting, said, &turn)
}

pub(super) fn answer(context: &Context, words: &Words) -> Result<u8, Failure> {
    let instance = &context.ready(&context.flags())?;
    let waiting = found(context, instance, &words.name)?;
    let text = words.text.join(" ");
    if let (Wants::Consent(_), Some(is_yes)) = (&waiting.wants, answers::consent(&text, waiting.is_doubt)) {
        return consent(context, instance, &words.name, is_yes);
    }
    let handed = approvals::hand(instance, &waiting, Said::Words(text.clone()))?;
    if refused(context, instance, &words.name, handed)? {
        there(context, instance, &waiting, "words");
        return Ok(0);
    }
    let turn = engine::folded(instance, waiting.turn)?;
    let is_asked = matches!(&waiting.wants, Wants::Words(dialog) if turn.dialog().as_ref() == Some(dialog));
    if !is_asked {
        let became = approvals::find(instance, &words.name)?.err().unwrap_or(NotAnswered::NoSuch);
        return Err(failure(context, instance, &words.name, &became));
    }
    let reply = Reply::Answered { answer: text, channel: ask::CONSOLE.to_owned() };
    let turn = ask::reply_to(context, instance, turn, &reply)?;
    approvals::tell_chat(instance, &waiting, &turn)?;
    here(context, instance, &waiting, "words", &turn)
}

fn found(context: &Context, instance: &Instance, name: &str) -> Result<Waiting, Failure> {
    let found = approvals::find(instance, name)?;
    refused(context, instance, name, found)
}

fn refused<T>(context: &Context, instance: &Instance, name: &str, what: Result<T, NotAnswered>) -> Result<T, Failure> {
    what.map_err(|why| failure(context, instance, name, &why))
}

/// Why a question is not answered, with what to do next.
pub(super) fn failure(context: &Context, instance: &Instance, name: &str, why: &NotAnswered) -> Failure {
    let moment = |micros: i64| output::moment(micros, &instance.settings.zone);
    let (why, values) = match why {
        NotAnswered::NoSuch => ("no_such", json!({})),
        NotAnswered::Ambiguous => ("ambiguous", json!({})),
        NotAnswered::Foreign => ("foreign", json!({})),
        NotAnswered::Answered(answer, by, when) => {
            ("answered", json!({ "answer": answer, "by": by, "when": moment(*when) }))
        }
        NotAnswered::Lapsed(when) => ("lapsed", json!({ "when": moment(*when) })),
        NotAnswered::Dropped => ("dropped", json!({})),
        NotAnswered::Untaken => ("untaken", json!({})),
        NotAnswered::OtherKind { consent } => {
            let said = context.text(instance, "approvals.other_kind", &json!({ "name": name, "consent": consent }));
            let next = if *consent { "next.grant_or_deny" } else { "next.answer_words" };
            return Failure::refused(said, (next, json!({ "name": name })));
        }
    };
    let mut values = values;
    (values["name"], values["why"]) = (output::short(name, 40).into(), why.into());
    Failure::refused(context.text(instance, "approvals.not_answered", &values), by("next.approvals"))
}

/// The turn goes on where it waited.
fn there(context: &Context, instance: &Instance, waiting: &Waiting, said: &str) {
    if context.global.json {
        output::result_json(&ended(waiting, said, "there", None));
    } else {
        let mut values = values(instance, waiting);
        values["answer"] = said.into();
        output::result(&context.text(instance, "approvals.goes_on", &values));
    }
}

/// The turn went on here, to its end or to its next question.
fn here(context: &Context, instance: &Instance, waiting: &Waiting, said: &str, turn: &Turn) -> Result<u8, Failure> {
    let next = approvals::waiting(instance)?.into_iter().find(|next| next.turn == waiting.turn);
    let code = match turn.phase {
        Phase::Closed if said == "no" => 0,
        Phase::Closed => ask::exit_code(turn),
        _ => 3,
    };
    if context.global.json {
        let mut told = ended(waiting, said, "here", Some(turn));
        told["waits"] = json!(next.as_ref().map(|next| &next.name));
        output::result_json(&told);
        return Ok(code);
    }
    if let Some(next) = next {
        output::aside(&context.text(instance, "approvals.waits", &values(instance, &next)));
    } else if turn.final_kind.as_deref() == Some("answer") {
        ask::answer(turn);
    } else {
        output::aside(turn.message.as_deref().unwrap_or_default());
        ask::hint(context, turn);
    }
    Ok(code)
}

fn ended(waiting: &Waiting, said: &str, goes_on: &str, turn: Option<&Turn>) -> Value {
    json!({
        "ok": true,
        "name": waiting.name,
        "answer": said,
        "turn_id": waiting.turn.to_string(),
        "channel": waiting.channel,
        "goes_on": goes_on,
        "final_kind": turn.and_then(|turn| turn.final_kind.as_ref()),
        "final_message": turn.and_then(|turn| turn.message.as_ref()),
    })
}

//! `metnos inbox`: what schedules have to tell, and the questions that they wait with.
//!
//! What is untold is shown once, by this command or by the next one that talks to its person. A question is shown until it
//! is answered, or lapses.

use clap::Args;
use metnos_projections::machines::turn::answers::{consent, yes_or_no};
use serde_json::json;

use super::{Context, Failure, ask, output, schedule, terminal};
use crate::approvals;
use crate::engine::Answer;
use crate::instance::Instance;
use crate::scheduler::questions::{self, NotAnswered, Pending};
use crate::scheduler::{Stopping, delivery};

/// The most that is shown at once; what is older is in the history.
const SHOWN_MAX: usize = 20;

/// Show what schedules have to tell, and answer what they ask.
#[derive(Args, Debug)]
pub(super) struct Inbox {
    /// An answer to a question; without one they are shown, and asked where somebody sits before this.
    #[arg(value_name = "YES|NO", requires = "question")]
    answer: Option<String>,
    /// The question's name, as it is shown.
    question: Option<String>,
}

pub(super) fn run(context: &Context, inbox: &Inbox) -> Result<u8, Failure> {
    let instance = context.ready(&context.flags())?;
    if let (Some(said), Some(tag)) = (&inbox.answer, &inbox.question) {
        let Some(is_yes) = yes_or_no(said) else {
            let other = approvals::NotAnswered::OtherKind { consent: true };
            let why = approvals::find(&instance, tag)?.err().unwrap_or(other);
            return Err(super::approvals::failure(context, &instance, tag, &why));
        };
        let answer = if is_yes { Answer::Yes("inbox") } else { Answer::No("inbox") };
        return answered(context, &instance, tag, answer);
    }
    let pending = questions::pending(&instance)?;
    if context.global.json {
        let results: Vec<String> = delivery::untold(&instance)?.into_iter().map(|(_, text)| text).collect();
        let line = |pending: &Pending| {
            let until = jiff::Timestamp::from_microsecond(pending.until).unwrap_or_default().to_string();
            json!({ "name": pending.tag, "schedule_id": pending.schedule, "question": pending.question, "until": until })
        };
        let questions: Vec<_> = pending.iter().map(line).collect();
        output::result_json(&json!({ "questions": questions, "results": results }));
        return Ok(0);
    }
    let told = results(context, &instance, &output::result)?;
    if told == 0 && pending.is_empty() {
        output::result(&context.text(&instance, "schedule.inbox_empty", &json!({})));
    }
    let is_there = terminal::Terminal::is_there();
    for pending in &pending {
        output::result(&pending.text);
        if is_there {
            let prompt = context.text(&instance, "consent.prompt", &json!({}));
            let line = terminal::ask_line(&context.text(&instance, "schedule.your_answer", &json!({})), &prompt);
            let Some(line) = line.filter(|line| !line.trim().is_empty()) else { continue };
            let said = match consent(&line, pending.is_doubt) {
                Some(true) => Answer::Yes("terminal"),
                Some(false) => Answer::No("terminal"),
                None => {
                    output::aside(&context.text(&instance, "dialog.wrong_approval", &json!({})));
                    continue;
                }
            };
            answered(context, &instance, &pending.tag, said)?;
        }
    }
    Ok(0)
}

/// Gives an answer to its question and shows what came of it.
pub(super) fn answered(context: &Context, instance: &Instance, tag: &str, answer: Answer) -> Result<u8, Failure> {
    let id = given(context, instance, tag, answer)?;
    // It may ask a second thing.
    if let Some(pending) = questions::pending(instance)?.into_iter().find(|pending| pending.schedule == id) {
        return Ok(waits(context, &pending));
    }
    tell(instance, &id, &output::result)?;
    Ok(0)
}

/// Tells what came of a schedule, and notes that it was told.
pub(super) fn tell(instance: &Instance, id: &str, shown: &dyn Fn(&str)) -> Result<(), Failure> {
    for (untold, text) in delivery::untold(instance)?.iter().filter(|(untold, _)| untold.schedule == id) {
        shown(text);
        delivery::deliver(instance, untold)?;
    }
    Ok(())
}

/// Gives an answer to its question; which schedule that is of.
pub(super) fn given(context: &Context, instance: &Instance, tag: &str, answer: Answer) -> Result<String, Failure> {
    let stopping = Stopping::by(context.begin_turn(instance)?);
    let given =
        schedule::with_person(context, instance, |here| questions::answer(instance, tag, (answer, here), &stopping));
    let id = match given? {
        Ok(id) => id,
        Err(why) => {
            // Another answer may have come first.
            let became = approvals::find(instance, tag)?.err();
            if let Some(became @ approvals::NotAnswered::Answered(..)) = became {
                return Err(super::approvals::failure(context, instance, tag, &became));
            }
            let key = match why {
                NotAnswered::NoSuch => "schedule.no_question",
                NotAnswered::Busy => "schedule.running",
            };
            let said = context.text(instance, key, &json!({ "schedule": tag }));
            return Err(Failure::refused(said, "metnos inbox shows what waits for an answer"));
        }
    };
    ask::follow(context, instance);
    Ok(id)
}

/// Says that a question waits; the exit code of that.
pub(super) fn waits(context: &Context, pending: &Pending) -> u8 {
    if context.global.json {
        output::result_json(
            &json!({ "schedule_id": pending.schedule, "waits": pending.tag, "question": pending.question }),
        );
    } else {
        output::aside(&pending.text);
    }
    3
}

/// Shows what is untold, on stderr: it is not what was asked for. Of a question that waits, a line. A command that answers
/// a program, or that looks back, leaves both for a person.
pub(super) fn show(context: &Context, instance: &Instance) -> Result<(), Failure> {
    if context.global.json || context.global.quiet || context.global.at.is_some() {
        return Ok(());
    }
    results(context, instance, &output::aside)?;
    for pending in questions::pending(instance)? {
        output::aside(&pending.line);
    }
    Ok(())
}

/// Shows what is untold, and notes that it was; how much there was.
fn results(context: &Context, instance: &Instance, shown: &dyn Fn(&str)) -> Result<usize, Failure> {
    let untold = delivery::untold(instance)?;
    let count = untold.len();
    let left_out = count.saturating_sub(SHOWN_MAX);
    if left_out > 0 {
        output::aside(&context.text(instance, "schedule.older", &json!({ "count": left_out })));
    }
    for (at, (untold, text)) in untold.into_iter().enumerate() {
        if at >= left_out {
            shown(&text);
        }
        delivery::deliver(instance, &untold)?;
    }
    Ok(count)
}

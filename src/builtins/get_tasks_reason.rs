//! `get_tasks_reason`: why Metnos asked, or did what it did, from the log: what was understood, which rule asked, what ran.

use metnos_log::TurnId;
use metnos_log::store::ReadError;
use metnos_projections::machines::turn::{Phase, forms};
use metnos_projections::views::turns::Summary;
use serde_json::{Value, json};

use super::past::{Past, moment};
use super::{Answer, Call};
use crate::why;

/// How many past turns are looked through.
const LOOKED_AT_MAX: usize = 200;
/// The longest part of a request or a question that is quoted.
const QUOTED_MAX: usize = 300;

pub(super) fn run(call: &Call<'_>) -> Answer {
    match reason(call) {
        Ok(result) => Answer::of(result),
        Err(error) => Answer::failure("operation_failed", &error.to_string()),
    }
}

fn reason(call: &Call<'_>) -> Result<Value, ReadError> {
    let of = call.args.get("of").and_then(Value::as_str);
    let turns = call.instance.turns();
    let is_told = |(id, turn): &(TurnId, Summary<'_>)| *id != call.turn && call.instance.may_see(*turn);
    let earlier = turns.iter().rev().filter(is_told).take(LOOKED_AT_MAX);
    for (id, summary) in earlier {
        let past = Past::read(call.instance, id)?;
        if past.is_about_itself() {
            continue;
        }
        let (asked, did) = (past.asked(), summary.calls > 0);
        let fits = match of {
            Some("asked") => asked,
            Some(_) => did,
            None => asked || did,
        };
        if fits {
            let told = if asked && of != Some("did") { past.why_asked(call) } else { String::new() };
            let steps = why::told(call.instance, &past.turn, call.language);
            let content = if told.is_empty() { steps } else { format!("{told}\n{steps}") };
            let kind = if told_is_of_asking(asked, of) { "asked" } else { "did" };
            let metadata = json!({ "turn": id.to_string(), "time": moment(summary.opened_at), "of": kind });
            return Ok(json!({ "ok": true, "content": content, "metadata": metadata }));
        }
    }
    let key = match of {
        Some("asked") => "about.never_asked",
        Some(_) => "about.never_did",
        None => "about.nothing_yet",
    };
    let content = call.instance.rules.messages.say(call.language, key, json!({}));
    Ok(json!({ "ok": true, "content": content, "metadata": { "turn": "", "time": "", "of": "none" } }))
}

fn told_is_of_asking(asked: bool, of: Option<&str>) -> bool {
    asked && of != Some("did")
}

impl Past {
    /// Whether the person was asked something.
    fn asked(&self) -> bool {
        let waits = self.turn.phase == Phase::Waiting;
        let by_step = self.turn.steps.iter().any(|step| forms::is_dialog(&step.tool));
        waits || by_step || self.consent.is_some() || self.turn.final_kind.as_deref() == Some("ask")
    }

    /// Why, in one sentence or two.
    fn why_asked(&self, call: &Call<'_>) -> String {
        let say = |key: &str, values: Value| call.instance.rules.messages.say(call.language, key, values);
        let text = why::short(self.text(), QUOTED_MAX);
        let by_step = self.turn.steps.iter().rfind(|step| forms::is_dialog(&step.tool));
        if let (None, Some(step)) = (&self.consent, by_step) {
            // The open question, or the last one that was answered.
            let at = step.answers.len();
            let question = [Some(at), at.checked_sub(1)].into_iter().flatten();
            let mut question = question.filter_map(|at| forms::question(&step.tool, &step.args, at));
            let question = question.next().map(|asked| why::short(asked.bare(), QUOTED_MAX)).unwrap_or_default();
            let values = json!({ "text": text, "question": question, "step": step.number, "tool": step.tool });
            return say("about.asked_by_step", values);
        }
        let Some((asked, answer)) = &self.consent else {
            let question = why::short(self.turn.message.as_deref().unwrap_or_default(), QUOTED_MAX);
            return say("about.asked_back", json!({ "text": text, "question": question }));
        };
        let tool = self.turn.steps.iter().find(|step| step.number == asked.step).map(|step| step.tool.as_str());
        let autonomy = self.turn.opened.as_ref().map(|opened| opened.autonomy.as_str()).unwrap_or_default();
        let values = json!({
            "text": text,
            "about": asked.about,
            "tool": tool.unwrap_or_default(),
            "autonomy": autonomy,
            "answer": answer.unwrap_or_default(),
        });
        say("about.asked_consent", values)
    }
}

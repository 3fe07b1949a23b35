//! What led to a change, in words.

use metnos_log::Recorded;
use metnos_projections::machines::turn::grants;
use metnos_projections::rules::policy;
use metnos_projections::views::why::{Argument, From, Leave, Outcome};
use serde_json::{Value, json};

use super::{Found, Task};
use crate::cli::{Context, output, replay};
use crate::instance::Instance;

/// The longest value that is shown.
const VALUE_MAX: usize = 100;

/// A change, then all that led to it.
pub(super) fn change(context: &Context, instance: &Instance, found: &Found) -> String {
    let say = |key: &str, values: Value| context.text(instance, &format!("why.{key}"), &values);
    let moment = |time: i64| output::moment(time, &instance.settings.zone);
    let (touch, account) = (&found.touch, &found.account);
    let (outcome, reason) = match &touch.outcome {
        Outcome::Done => ("done", String::new()),
        Outcome::FoundDone => ("found_done", String::new()),
        Outcome::Failed(class, reason) => ("failed", format!("{class}: {reason}")),
        Outcome::Open => ("open", String::new()),
    };
    let op = &touch.op;
    let mut lines = vec![say(
        "change",
        json!({
            "when": moment(touch.time), "op": op.op, "path": op.path, "dst": op.dst, "bytes": op.bytes,
            "to": op.to, "outcome": outcome, "reason": reason, "undone_by": touch.undone_by, "seq": touch.seq,
            "is_new": op.before.kind == "absent", "reverses": op.reverses.as_ref().map(|source| &source.turn),
            "own": op.own.as_ref().map(|own| format!("{} {}", own.change, own.id)),
        }),
    )];
    lines.push(say(
        "sentence",
        json!({
            "text": account.text, "actor": account.actor, "channel": account.channel, "turn": touch.turn,
            "is_given": account.is_given, "when": moment(account.time),
        }),
    ));
    lines.extend(found.task.as_ref().map(|told| task(context, instance, told)));
    let signature = found.signature.as_ref().map(|signature| {
        json!({
            "key": signature.signed.key_id, "role": signature.role, "signed": moment(signature.signed_at),
            "promoted": signature.promoted_at.map(moment),
        })
    });
    lines.push(say("call", json!({ "tool": account.tool, "version": account.version, "signature": signature })));
    lines.extend(account.args.iter().map(|argument| self::argument(&say, argument)));
    for leave in &account.leave {
        lines.push(self::leave(context, instance, found, leave));
    }
    lines.join("\n")
}

fn argument(say: &impl Fn(&str, Value) -> String, argument: &Argument) -> String {
    let origin = match &argument.origin {
        From::Words { words } => say("from_words", json!({ "words": words })),
        From::Step { step, tool, path } => say("from_step", json!({ "step": step, "tool": tool, "field": path })),
        From::Configuration => say("from_configuration", json!({})),
        From::Default => say("from_default", json!({})),
        From::Model => say("from_model", json!({})),
    };
    let value = output::short(&output::plain(&argument.value), VALUE_MAX);
    format!("    {} = {value} ({origin})", argument.pointer.trim_start_matches('/'))
}

/// With whose leave: what a person was asked, or the rule by which nobody was.
fn leave(context: &Context, instance: &Instance, found: &Found, leave: &Leave) -> String {
    let moment = |time: i64| output::moment(time, &instance.settings.zone);
    let Some((asked, asked_at)) = &leave.asked else {
        let verdict = leave.verdict.as_ref();
        let is_asked = |name: &String| policy::registered(name).is_none_or(|known| known.class != policy::Class::None);
        let needs_names = found.account.autonomy != "full" && found.capabilities.iter().any(is_asked);
        let values = json!({
            "about": leave.about, "autonomy": found.account.autonomy, "capabilities": found.capabilities, "needs_names": needs_names,
            "approved": verdict.is_some_and(|verdict| verdict.approved),
            "grants": verdict.map(|verdict| grants(&verdict.reasons)).unwrap_or_default(),
            "rule": verdict.and_then(|verdict| verdict.blocked_by.clone()),
        });
        return context.text(instance, "why.unasked", &values);
    };
    let answer = leave.answer.as_ref();
    let values = json!({
        "about": leave.about, "asked": moment(*asked_at), "actor": found.account.actor,
        "answer": answer.map(|(answer, _, _)| *answer), "by": answer.map(|(_, by, _)| by),
        "when": answer.map(|(_, _, time)| moment(*time)),
    });
    let shown = asked.text.get().unwrap_or_default().lines().map(|line| format!("    | {line}"));
    [context.text(instance, "why.asked", &values)].into_iter().chain(shown).collect::<Vec<_>>().join("\n")
}

/// The schedule that began a turn.
pub(super) fn task(context: &Context, instance: &Instance, task: &Task) -> String {
    let values = json!({
        "schedule": task.schedule, "actor": task.actor, "what": task.what, "sentence": task.sentence,
        "when": output::moment(task.said_at, &instance.settings.zone),
    });
    context.text(instance, "why.task", &values)
}

/// A chain of events, each led to by the one below it.
pub(super) fn chain(context: &Context, instance: &Instance, events: &[Recorded]) -> String {
    let line = |recorded: &Recorded| {
        let when = output::moment(recorded.time.0, &instance.settings.zone);
        let (what, detail) = replay::told(context, instance, recorded);
        let detail = detail.lines().take(3).fold(String::new(), |all, line| all + "\n          " + line);
        format!("{:>8}  {when}  {}  {what}{detail}", recorded.seq, recorded.actor)
    };
    let mut lines = vec![context.text(instance, "why.chain", &json!({}))];
    lines.extend(events.iter().map(line));
    lines.join("\n")
}

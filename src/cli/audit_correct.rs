//! `metnos audit rectify`: a later line that is to be read with an earlier one.

use std::convert::Infallible;

use metnos_log::Kept;
use metnos_log::event::audit::Rectified;
use metnos_projections::views::audit;
use serde_json::json;

use super::output::by;
use super::{Context, Failure, actor, ask, terminal};
use crate::engine::{Answer, Person};

pub(super) fn run(context: &Context, line: u64, note: &str) -> Result<u8, Failure> {
    context.refuse_past()?;
    let instance = context.instance()?;
    let note = note.trim();
    if note.is_empty() {
        return Err(Failure::usage(by("error.no_note"), by("next.note")));
    }
    let ended = instance.log.reader().event(line)?.filter(audit::ends_line);
    let ended = ended
        .ok_or_else(|| Failure::refused(("error.no_audit_line", json!({ "line": line })), by("next.audit_lines")))?;
    if !context.global.yes {
        let text = context.text(&instance, "consent.rectify", &json!({ "line": line, "note": note }));
        let person = terminal::Terminal::new(&instance.rules.messages, true);
        match person.consent("call", &text, context.language(&instance)) {
            Answer::Yes(_) => {}
            Answer::No(_) | Answer::Late | Answer::Cancelled => {
                return Err(Failure::refused(by("error.not_rectified"), by("next.when_sure")));
            }
            Answer::Nobody | Answer::Later => return Err(Failure::unanswered(text)),
        }
    }
    let turn = match ended.event() {
        // A correction of a correction is about the same turn.
        Some(metnos_log::Event::Rectified(earlier)) => earlier.turn.clone(),
        _ => ended.turn.map(|turn| turn.to_string()),
    };
    let rectified = Rectified { line, turn, note: Kept::text(note), by: instance.actor.clone() };
    let decided = instance.change("instance", Vec::new(), |_| Ok::<_, Infallible>(vec![rectified.into()]))?;
    match decided {
        Ok(()) => {}
        Err(never) => match never {},
    }
    ask::follow(context, &instance);
    actor::done(context, &instance, "audit.rectified", &json!({ "line": line }));
    Ok(0)
}

//! What schedules had to tell and nobody was there to hear: shown once, by the next command that talks to the owner.

use serde_json::json;

use super::{Context, Failure, output};
use crate::instance::Instance;
use crate::scheduler::delivery;

/// The most that is shown at once; what is older is in the history.
const SHOWN_MAX: usize = 20;

/// Shows what is untold, on stderr: it is not what was asked for. A command that answers a program, or that looks back,
/// leaves it for a person.
pub(super) fn show(context: &Context, instance: &Instance) -> Result<(), Failure> {
    if context.global.json || context.global.quiet || context.global.at.is_some() {
        return Ok(());
    }
    let untold = delivery::untold(instance)?;
    let left_out = untold.len().saturating_sub(SHOWN_MAX);
    if left_out > 0 {
        output::aside(&context.text(instance, "schedule.older", &json!({ "count": left_out })));
    }
    for (at, (untold, text)) in untold.into_iter().enumerate() {
        if at >= left_out {
            output::aside(&text);
        }
        delivery::deliver(instance, &untold)?;
    }
    Ok(())
}

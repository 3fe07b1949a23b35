//! What schedules had to tell and nobody was there to hear: shown once, by the next command that talks to the owner.

use super::{Context, Failure, output};
use crate::instance::Instance;
use crate::scheduler::delivery;

/// Shows what is untold, on stderr: it is not what was asked for. A command that answers a program leaves it for a person.
pub(super) fn show(context: &Context, instance: &Instance) -> Result<(), Failure> {
    if context.global.json || context.global.quiet {
        return Ok(());
    }
    for (untold, text) in delivery::untold(instance)? {
        output::aside(&text);
        delivery::deliver(instance, &untold)?;
    }
    Ok(())
}

//! Attempts to break out, each with its positive control.

mod processes;
mod reach;
mod resources;
mod writing;

use metnos::sandbox::Outcome;

/// Whether an attack achieved what it was after. It answers `escaped`; being killed, refused or cut short is no success.
#[track_caller]
pub(crate) fn escaped(outcome: &Outcome) -> bool {
    match &outcome.reply {
        Ok(reply) => {
            reply["escaped"].as_bool().unwrap_or_else(|| panic!("the attack does not say how it went: {reply}"))
        }
        Err(failure) => {
            assert!(
                ["crashed", "timeout", "contract_violation"].contains(&failure.class),
                "{failure:?} {}",
                outcome.stderr.text()
            );
            false
        }
    }
}

/// Checks one attack: it succeeds in the control and fails in the cage.
#[track_caller]
pub(crate) fn check(name: &str, control: &Outcome, caged: &Outcome) {
    assert!(
        escaped(control),
        "{name}: the control must succeed, or the attack proves nothing: {:?} {}",
        control.reply,
        control.stderr.text()
    );
    assert!(!escaped(caged), "{name}: it escaped: {:?}", caged.reply);
}

/// Wraps an attack: whatever it raises is a refusal, with the reason in the answer.
pub(crate) fn attack(body: &str) -> String {
    let body = body.lines().collect::<Vec<_>>().join("\n        ");
    format!(
        "import os, sys, time\ndef run(args, ctx):\n    escaped, why = False, ''\n    try:\n        {body}\n    except BaseException as error:\n        why = repr(error)\n    return {{'ok': True, 'escaped': bool(escaped), 'why': why}}\n"
    )
}

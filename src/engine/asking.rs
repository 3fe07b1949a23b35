//! A question for consent: put to whoever is there, or answered by what was agreed to in advance.

use metnos_projections::machines::turn::command::Command;
use metnos_projections::machines::turn::state::Asked;
use metnos_projections::machines::turn::{CAGE_LACKS, DOUBT, EXECUTOR_CHANGED, RIGHTS_CHANGED};

use super::{Answer, EngineError, Run};

impl Run<'_> {
    /// Whether what is asked about is a call that can do no harm: it changes nothing, runs no program, and takes nothing out of
    /// the house. Nor does it read a folder of its own that lies behind a link: where that leads, anybody may have changed since
    /// it was agreed to.
    fn is_harmless(&self, asked: &Asked) -> bool {
        let Some(step) = self.turn.step() else { return false };
        let manifest = self.instance.catalog().active(&step.tool).and_then(|(_, _, version)| version.manifest());
        asked.about == "call"
            && step.leads.is_empty()
            && manifest.is_some_and(|manifest| {
                !manifest.contract.side_effects && !manifest.is_critical() && !manifest.can_leak()
            })
    }

    /// Whether the executor that is asked about is not the one that is called any more: it was put away, or replaced.
    fn is_put_away(&self, asked: &Asked) -> bool {
        // What became of a call that was cut off can be said all the same.
        let Some(step) = self.turn.step().filter(|_| asked.about != DOUBT) else { return false };
        self.instance.catalog().standing(&step.tool, &step.version).is_none()
    }

    /// Why the call that is asked about cannot run on this machine, so that nobody is asked for nothing.
    fn cannot_run(&self, asked: &Asked) -> Option<String> {
        let prepared = self.prepared.as_ref().filter(|_| asked.about == "call")?;
        prepared.lacks(self.instance.sandbox().ok()?)
    }

    /// Asks; `false` when the answer comes to another process.
    pub(super) fn ask(&mut self, step: u32, asked: &Asked) -> Result<bool, EngineError> {
        // Whoever learns from the log that it is asked finds somebody waiting.
        let seat = self.instance.seats.sit(self.id, &asked.digest).map_err(EngineError::Settle)?;
        self.settle()?;
        let approved = self.turn.is_approved_in_advance(asked, self.is_harmless(asked));
        let digest = asked.digest.clone();
        if let Some(why) = Some(asked).filter(|_| !approved).and_then(|asked| self.cannot_run(asked)) {
            self.take(Command::Expire { step, digest, why: format!("{CAGE_LACKS}{why}") }, Vec::new())?;
            return Ok(true);
        }
        let answer = if approved {
            Answer::Yes("approve_option")
        } else {
            self.person.consent_to(asked, self.language(), &seat)
        };
        let command = match answer {
            Answer::Yes(_) if !approved && self.instance.allows_less(&self.turn) => {
                Command::Expire { step, digest, why: RIGHTS_CHANGED.to_owned() }
            }
            Answer::Yes(_) if self.is_put_away(asked) => {
                Command::Expire { step, digest, why: EXECUTOR_CHANGED.to_owned() }
            }
            Answer::Yes(by) => Command::Consent { step, digest, by: by.to_owned() },
            Answer::No(by) => Command::Deny { step, digest, by: by.to_owned() },
            Answer::Nobody => Command::Expire { step, digest, why: "no_terminal".to_owned() },
            Answer::Late => Command::Expire { step, digest, why: "time".to_owned() },
            Answer::Cancelled => Command::Cancel { by: "person".to_owned() },
            Answer::Later => return Ok(false),
        };
        self.take(command, Vec::new())?;
        if !approved {
            // Whoever comes too late with another answer finds this one in the log.
            self.settle()?;
        }
        drop(seat);
        Ok(true)
    }
}

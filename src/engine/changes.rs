//! Makes the changes of a step and records what became of each.
//!
//! What a change is and how it is made is known elsewhere; here is only the order of intent, change, disk and record.

use metnos_log::event::turn::{EffectCommitted, EffectsCommitted, PlannedOp};
use metnos_projections::machines::turn::command::Command;
use metnos_projections::machines::turn::stream;

use super::{EngineError, LISTED_MAX, Run};
use crate::effects::commit::{self, Hands};
use crate::effects::{disk, messages, requests};
use crate::faults;
use crate::instance::now;
use crate::sandbox::masks::Core;
use crate::scheduler::changes;
use crate::untold::CONSOLE;

/// How many changes are made before their outcomes are recorded.
const RUN_LENGTH: usize = 8192;
/// How long after its process ended what was agreed to is still sent, in µs. A file that is written late is what was asked
/// for; a message or a request may be wrong by then.
const SENT_LATE_US: i64 = 10 * 60 * 1_000_000;

impl Run<'_> {
    /// Makes the planned changes. Their intent is on disk first; their outcomes follow together, run by run, each once the
    /// changes of that run are on disk. A person who stops it does so between two changes: what was made is on record, the
    /// rest is left open for the turn to close over.
    pub(super) fn commit(&mut self, step: u32, ops: &[PlannedOp], open: &[u32]) -> Result<(), EngineError> {
        self.settle()?;
        if self.turn.opened.as_ref().is_some_and(|opened| opened.channel == CONSOLE) {
            self.instance.untold.begin(self.id);
        }
        let trace_id = self.turn.step().map(|step| step.trace_id.clone()).unwrap_or_default();
        faults::reach("intent_to_effect");
        // Of what a later step wants changed no other process knew.
        let is_again = std::mem::take(&mut self.is_again);
        let not_sent = if is_again { self.is_sent_no_more()? } else { None };
        let mut hands = Hands::again(is_again);
        let (home, own) = (self.instance.dirs.user_home.clone(), self.instance.dirs.own());
        // As things are named now: a name may have come since the plan.
        let core = Core::new(&home, &own);
        for run in runs(ops, open) {
            // What is sent is sent once: until then nothing of what was done before it is unrecorded.
            self.settle()?;
            let mut outcomes = Vec::with_capacity(run.len());
            let mut is_stopped = false;
            for &index in run {
                let Some(op) = ops.get(index as usize) else { continue };
                is_stopped = self.cancel.is_raised() && !is_half_of_one(ops, index as usize);
                if is_stopped {
                    break;
                }
                let outcome = match self.new_bytes(op)? {
                    Ok(_) if op.own.is_some() => {
                        let of = (self.id, self.turn.opened_at);
                        changes::commit(self.instance, of, op, &commit::key(&trace_id, index))?
                    }
                    Ok(whole) if op.request.is_some() => {
                        // An earlier process may have come as far as the first that has no outcome, and no further.
                        let may_be_sent = is_again && open.first() == Some(&index);
                        let allowed = &self.instance.settings.network_allow;
                        requests::commit(op, &whole, (allowed, may_be_sent, not_sent.as_ref()))
                    }
                    Ok(body) if op.message.is_some() => {
                        let key = commit::key(&trace_id, index);
                        messages::commit(self.instance, self.id, op, &body, (&key, not_sent.as_ref()))?
                    }
                    Ok(_) if core.is_second_name_at(&disk::target_path(op)) => {
                        commit::Outcome::Failed("policy_violation".to_owned(), "second_name".to_owned())
                    }
                    Ok(_) if self.holds_other(ops, index as usize) => {
                        commit::Outcome::Failed("target_changed".to_owned(), "changed".to_owned())
                    }
                    Ok(content) => commit::commit(&mut hands, op, &content, &commit::key(&trace_id, index)),
                    Err(reason) => commit::Outcome::Failed("internal_error".to_owned(), reason.to_owned()),
                };
                outcomes.push((index, outcome));
            }
            hands.settle().map_err(EngineError::Settle)?;
            faults::reach("effect_to_outcome");
            self.tell(step, outcomes)?;
            if is_stopped {
                break;
            }
        }
        Ok(())
    }

    /// Why nothing of what another process left unsent is sent now: whoever asked may do less by now, or it is too late.
    fn is_sent_no_more(&self) -> Result<Option<commit::Outcome>, EngineError> {
        let failed = |class: &str, reason: &str| Some(commit::Outcome::Failed(class.to_owned(), reason.to_owned()));
        if self.instance.allows_less(&self.turn) {
            return Ok(failed("policy_violation", "may_do_less"));
        }
        let last = self.instance.log.reader().stream(&stream(self.id))?.last().map(|last| last.time);
        let is_late = last.is_none_or(|last| now().0.saturating_sub(last.0) > SENT_LATE_US);
        let late = format!("too_late: {}", SENT_LATE_US / 60_000_000);
        Ok(if is_late { failed("consent_expired", &late) } else { None })
    }

    /// Whether a folder that is moved or deleted holds other things by now than was asked about, or something that nobody may
    /// touch. What earlier changes of the same step put there was asked about.
    fn holds_other(&self, ops: &[PlannedOp], index: usize) -> bool {
        let op = &ops[index];
        let Some(then) = &op.holds else { return false };
        let path = disk::target_path(op);
        let dirs = &self.instance.dirs;
        // One that is not there was moved before, or never will be: whoever moves it says so.
        if path.symlink_metadata().is_err() {
            return false;
        }
        let Ok(Some(now)) = disk::holds(&path, &dirs.user_home.to_string_lossy(), &dirs.own()) else { return true };
        let is_other = match then.digest {
            Some(digest) => now.digest != Some(digest),
            // Planned before contents were noted.
            None => now.files > then.files || now.folders > then.folders,
        };
        let is_within =
            |op: &PlannedOp| disk::target_path(op).starts_with(&path) || disk::dst_path(op).starts_with(&path);
        now.forbidden.is_some() || (is_other && !ops[..index].iter().any(is_within))
    }

    /// The bytes that a change writes: new ones, or those that an undo brings back.
    fn new_bytes(&self, op: &PlannedOp) -> Result<Result<Vec<u8>, &'static str>, EngineError> {
        let reader = self.instance.log.reader();
        if let Some(image) = op.image {
            let bytes = reader.blob(image)?.and_then(|sealed| self.instance.keys.unseal(&sealed));
            return Ok(bytes.ok_or("no_copy"));
        }
        let Some(content) = op.content else { return Ok(Ok(Vec::new())) };
        Ok(reader.blob(content)?.ok_or("system: the new bytes are not in the log"))
    }

    /// Records outcomes: one event each while they are few, one event for all of them otherwise.
    fn tell(&mut self, step: u32, outcomes: Vec<(u32, commit::Outcome)>) -> Result<(), EngineError> {
        if outcomes.len() <= LISTED_MAX {
            for (index, outcome) in outcomes {
                let failure = match &outcome {
                    commit::Outcome::Failed(class, reason) => Some((class.clone(), reason.clone())),
                    commit::Outcome::Done | commit::Outcome::FoundDone => None,
                };
                let outcome = outcome.name().to_owned();
                self.take(Command::Effect(EffectCommitted { step, index, outcome, failure }), Vec::new())?;
            }
            return Ok(());
        }
        let mut committed = EffectsCommitted { step, ..EffectsCommitted::default() };
        for (index, outcome) in outcomes {
            let runs = match outcome {
                commit::Outcome::Done => &mut committed.done,
                commit::Outcome::FoundDone => &mut committed.found_done,
                commit::Outcome::Failed(class, reason) => {
                    committed.failed.push((index, class, reason));
                    continue;
                }
            };
            match runs.last_mut() {
                Some((_, end)) if *end == index => *end = index + 1,
                _ => runs.push((index, index + 1)),
            }
        }
        self.take(Command::Effects(committed), Vec::new())
    }
}

/// The changes that are made before their outcomes are recorded together: of requests each alone.
fn runs<'o>(ops: &[PlannedOp], open: &'o [u32]) -> impl Iterator<Item = &'o [u32]> {
    let is_request = |index: u32| ops.get(index as usize).is_some_and(|op| op.request.is_some());
    let alike = open.chunk_by(move |before, index| !is_request(*before) && !is_request(*index));
    alike.flat_map(|run| run.chunks(RUN_LENGTH))
}

/// Whether the change before this one only made room for it: a file that is replaced goes into the trash first.
fn is_half_of_one(ops: &[PlannedOp], index: usize) -> bool {
    let (Some(before), Some(op)) = (index.checked_sub(1).and_then(|before| ops.get(before)), ops.get(index)) else {
        return false;
    };
    before.op == "delete" && op.op == "move" && op.dst.as_ref() == Some(&before.path)
}

//! What happened, told: which sentence of `[timeline]` an event is told by, and what that is filled with.
//!
//! Every event of a turn has a sentence, and so has what leads to one. Another kind is told by its label.

use metnos_log::envelope::Body;
use metnos_log::event::turn::{ArgumentsResolved, InvocationFinished, TurnResumed};
use metnos_log::{Event, Kept, Recorded};
use serde_json::{Value, json};

use crate::plan::Plan;

/// The longest value that is shown on one line.
const LINE_MAX: usize = 200;
/// How many candidates are shown.
const CANDIDATES_MAX: usize = 5;

/// An event to be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Key of its sentence in `[timeline]`.
    pub key: &'static str,
    /// What the sentence is filled with.
    pub values: Value,
    /// What belongs below it, as it was recorded.
    pub detail: String,
}

fn plain(key: &'static str, values: Value) -> Told {
    Told { key, values, detail: String::new() }
}

fn below(key: &'static str, values: Value, detail: impl Into<String>) -> Told {
    Told { key, values, detail: detail.into() }
}

/// How an event is told, whatever is left of it.
pub fn told(recorded: &Recorded) -> Told {
    match &recorded.body {
        Body::Known(event) => of(event),
        // Of several the first stands for all; `log show` has them whole.
        Body::Raised(events) => events.first().map_or_else(|| plain("other", json!({ "label": recorded.kind })), of),
        Body::Unknown(_) => plain("unknown", json!({ "label": recorded.kind })),
        Body::Erased => plain("erased", json!({ "label": recorded.kind })),
    }
}

fn of(event: &Event) -> Told {
    let found = of_turn(event).or_else(|| of_step(event)).or_else(|| of_changes(event));
    let found = found.or_else(|| of_model(event)).or_else(|| of_dialog(event));
    found
        .or_else(|| around(event))
        .or_else(|| of_home(event))
        .unwrap_or_else(|| plain("other", json!({ "label": event.label() })))
}

/// One line of a text, cut.
pub fn short(text: &str, characters: usize) -> String {
    let line = text.replace(['\n', '\r', '\t'], " ");
    if line.chars().count() <= characters {
        return line;
    }
    line.chars().take(characters.saturating_sub(1)).chain("…".chars()).collect()
}

fn kept(kept: &Kept) -> &str {
    kept.get().unwrap_or("…")
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are told below")]
fn of_turn(event: &Event) -> Option<Told> {
    let told = match event {
        Event::TurnOpened(opened) => {
            let given = opened.given.as_ref().map(|given| short(&given.0.to_string(), LINE_MAX));
            plain("turn_opened", json!({ "text": opened.text, "channel": opened.channel, "given": given }))
        }
        Event::CandidatesRanked(ranked) => {
            let tools = ranked.tools.iter().take(CANDIDATES_MAX).map(|(tool, score)| format!("{tool} {score}"));
            let tools: Vec<String> = tools.collect();
            plain("candidates_ranked", json!({ "tools": tools, "all": ranked.tools.len() }))
        }
        Event::PlanProposed(proposed) => {
            let plan = proposed.plan.value().and_then(|plan| serde_json::from_value::<Plan>(plan).ok());
            let steps: Vec<String> = plan.iter().flat_map(|plan| &plan.steps).map(|step| step.tool.clone()).collect();
            let said = plan.and_then(|plan| plan.abstention).map(|abstention| abstention.message);
            let values = json!({ "engine": proposed.engine, "source": proposed.source, "steps": steps });
            below("plan_proposed", values, said.unwrap_or_default())
        }
        Event::TurnSuspended(suspended) => {
            below("turn_suspended", json!({ "kind": suspended.kind }), kept(&suspended.message))
        }
        Event::TurnResumed(resumed) => plain("turn_resumed", answered(resumed)),
        Event::TurnCancelled(cancelled) => plain("turn_cancelled", json!({ "by": cancelled.by })),
        Event::TurnClosed(closed) => {
            below("turn_closed", json!({ "kind": closed.final_kind, "class": closed.class }), kept(&closed.message))
        }
        _ => return None,
    };
    Some(told)
}

/// What was proposed, judged, asked and called.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are told below")]
fn of_step(event: &Event) -> Option<Told> {
    let told = match event {
        Event::StepProposed(proposed) => {
            let values = json!({ "step": proposed.step, "tool": proposed.tool, "by_model": proposed.call.is_some() });
            below("step_proposed", values, short(kept(&proposed.args), LINE_MAX))
        }
        Event::ArgumentsResolved(resolved) => below(
            "arguments_resolved",
            json!({ "version": resolved.version, "plan": short(&resolved.plan_digest, 24) }),
            looked_up(resolved),
        ),
        Event::VerdictGiven(verdict) => {
            let values = json!({
                "about": verdict.about, "approved": verdict.approved, "policy": verdict.policy,
                "score": verdict.score_permille, "rule": verdict.blocked_by,
            });
            below("verdict_given", values, verdict.reasons.join("\n"))
        }
        Event::ConsentAsked(asked) => {
            let values =
                json!({ "about": asked.about, "seconds": asked.expires_s, "digest": short(&asked.digest, 16) });
            below("consent_asked", values, kept(&asked.text))
        }
        Event::ConsentGiven(given) => plain("consent_given", json!({ "by": given.by })),
        Event::ConsentDenied(denied) => plain("consent_denied", json!({ "by": denied.by })),
        Event::ConsentExpired(expired) => plain("consent_expired", json!({ "why": expired.why })),
        Event::StepRefused(refused) => {
            below("step_refused", json!({ "by": refused.by, "class": refused.class }), refused.reason.clone())
        }
        Event::InvocationStarted(started) => plain(
            "invocation_started",
            json!({ "tool": started.tool, "version": started.version, "trace": started.trace_id }),
        ),
        Event::InvocationFinished(finished) => returned(finished),
        Event::InvocationInDoubt(doubt) => plain("invocation_in_doubt", json!({ "step": doubt.step })),
        Event::InvocationSettled(settled) => {
            plain("invocation_settled", json!({ "outcome": settled.outcome, "by": settled.by }))
        }
        _ => return None,
    };
    Some(told)
}

/// What was changed.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are told below")]
fn of_changes(event: &Event) -> Option<Told> {
    let told = match event {
        Event::EffectsPlanned(planned) => {
            let ops = planned.ops.value();
            let ops = ops.as_ref().and_then(Value::as_array).map_or(&[] as &[Value], Vec::as_slice);
            let line = |op: &Value| {
                let text = |name: &str| op.get(name).and_then(Value::as_str);
                let to = text("dst").map(|dst| format!(" → {dst}")).unwrap_or_default();
                format!("{} {}{to}", text("op").unwrap_or_default(), text("path").unwrap_or_default())
            };
            let lines: Vec<String> = ops.iter().take(CANDIDATES_MAX).map(line).collect();
            below("effects_planned", json!({ "count": ops.len() }), lines.join("\n"))
        }
        Event::EffectCommitted(committed) => {
            let failure = committed.failure.as_ref().map(|(class, reason)| format!("{class}: {reason}"));
            plain(
                "effect_committed",
                json!({ "number": committed.index + 1, "outcome": committed.outcome, "failure": failure }),
            )
        }
        Event::EffectsCommitted(committed) => {
            let many = |runs: &[(u32, u32)]| runs.iter().map(|(first, end)| end.saturating_sub(*first)).sum::<u32>();
            let (done, found) = (many(&committed.done), many(&committed.found_done));
            plain("effects_committed", json!({ "done": done, "found": found, "failed": committed.failed.len() }))
        }
        _ => return None,
    };
    Some(told)
}

/// What each target is, each value's origin, and the gateway's steps.
fn looked_up(resolved: &ArgumentsResolved) -> String {
    let targets = resolved
        .targets
        .iter()
        .map(|target| format!("{} {} → {} ({})", target.pointer, target.given, target.canonical, target.kind));
    let origin = |(pointer, origin): (&String, &Value)| {
        let text = |name: &str| origin.get(name).and_then(Value::as_str).unwrap_or_default();
        let number = |name: &str| origin.get(name).and_then(Value::as_u64).unwrap_or_default();
        match text("from") {
            "words" => format!("{pointer} ← words {}–{}", number("start"), number("end")),
            "step" => format!("{pointer} ← step {} {}", number("step"), text("path")),
            other => format!("{pointer} ← {other}"),
        }
    };
    let origins = resolved.provenance.0.as_object().into_iter().flatten().map(origin);
    let checks = resolved.checks.iter().map(|check| match &check.failure {
        None => format!("{} ok", check.step),
        Some((class, reason)) => format!("{} FAILED {class}: {reason}", check.step),
    });
    let checks = checks.collect::<Vec<_>>().join(", ");
    let mut lines = vec![short(kept(&resolved.args), LINE_MAX)];
    lines.extend(targets.chain(origins).chain([checks]).filter(|line| !line.is_empty()));
    lines.join("\n")
}

/// What came back from a call.
fn returned(finished: &InvocationFinished) -> Told {
    let values = json!({
        "ok": finished.ok, "class": finished.class, "ms": finished.duration_us / 1000,
        "cage": finished.cage.0.get("level"), "wanted": finished.wanted().len(),
    });
    below("invocation_finished", values, short(kept(&finished.result), LINE_MAX))
}

/// The request as it reads then, what was chosen for it, or the value that a step got.
fn answered(resumed: &TurnResumed) -> Value {
    let value = resumed.taken.as_ref().and_then(|taken| taken.0.get("value"));
    let value = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    json!({ "text": resumed.text, "only": resumed.only, "value": value })
}

/// What a model was asked and said.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are told below")]
fn of_model(event: &Event) -> Option<Told> {
    let told = match event {
        Event::ModelAsked(asked) => plain(
            "model_asked",
            json!({ "ask": asked.ask, "model": asked.model, "tier": asked.tier, "bytes": asked.body.len() }),
        ),
        Event::ModelAnswered(answered) => {
            let usage = |name: &str| answered.usage.0.get(name).and_then(Value::as_u64).unwrap_or_default();
            let values = json!({
                "ask": answered.ask, "ms": answered.duration_us / 1000, "attempt": answered.attempt,
                "prompt": usage("prompt_tokens"), "completion": usage("completion_tokens"),
            });
            below("model_answered", values, short(kept(&answered.parsed), LINE_MAX))
        }
        Event::ModelFailed(failed) => below(
            "model_failed",
            json!({ "ask": failed.ask, "class": failed.class, "attempts": failed.failed.len() }),
            failed.reason.clone(),
        ),
        Event::ObservationKept(kept_for) => below(
            "observation_kept",
            json!({ "tool": kept_for.tool, "bytes": kept_for.size, "whole": kept_for.scratchpad.is_none() }),
            short(kept(&kept_for.shown), LINE_MAX),
        ),
        Event::StepRemediated(remedied) => plain(
            "step_remediated",
            json!({ "tool": remedied.tool, "class": remedied.class, "first": remedied.prerequisite }),
        ),
        Event::AnswerCorrected(corrected) => {
            below("answer_corrected", json!({ "claim": corrected.claim }), corrected.correction.clone())
        }
        Event::WishObserved(wish) => {
            below("wish_observed", json!({ "name": wish.dst }), wish.desired.inputs.join(", "))
        }
        Event::PassingObserved(passing) => plain("passing_observed", json!({ "src": passing.src, "dst": passing.dst })),
        _ => return None,
    };
    Some(told)
}

/// Questions to a person.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are told below")]
fn of_dialog(event: &Event) -> Option<Told> {
    let told = match event {
        Event::DialogOpened(opened) => {
            let values = json!({ "kind": opened.kind, "field": opened.field, "seconds": opened.expires_s });
            below("dialog_opened", values, kept(&opened.question))
        }
        Event::DialogAnswered(answered) => {
            plain("dialog_answered", json!({ "answer": answered.answer, "channel": answered.channel }))
        }
        Event::DialogExpired(_) => plain("dialog_expired", json!({})),
        Event::DialogWithdrawn(withdrawn) => plain("dialog_withdrawn", json!({ "by": withdrawn.by })),
        _ => return None,
    };
    Some(told)
}

/// What leads to turns, and what they lead to.
#[expect(clippy::wildcard_enum_match_arm, reason = "other kinds are told by their label")]
fn around(event: &Event) -> Option<Told> {
    let told = match event {
        Event::UpdateReceived(update) => plain(
            "update_received",
            json!({ "channel": update.channel, "kind": update.kind, "number": update.update, "address": update.address }),
        ),
        Event::UpdateSettled(settled) => plain("update_settled", json!({ "outcome": settled.outcome })),
        Event::ButtonPressed(pressed) => {
            plain("button_pressed", json!({ "button": pressed.button, "outcome": pressed.outcome }))
        }
        Event::MessageQueued(message) => below(
            "message_queued",
            json!({ "channel": message.channel, "address": message.address, "purpose": message.purpose }),
            kept(&message.text),
        ),
        Event::MessageSent(sent) => plain("message_sent", json!({ "receipt": sent.receipt })),
        Event::AddressBound(bound) => plain(
            "address_bound",
            json!({ "channel": bound.channel, "address": bound.address, "actor": bound.actor, "pairing": bound.pairing }),
        ),
        Event::PairingIssued(issued) => plain("pairing_issued", json!({ "actor": issued.actor })),
        Event::ScheduleCreated(created) => {
            let values = json!({ "schedule": created.schedule, "cadence": created.contract.cadence });
            below("schedule_created", values, short(kept(&created.what), LINE_MAX))
        }
        Event::ScheduleModified(modified) => {
            let values = json!({ "schedule": modified.schedule, "cadence": modified.contract.cadence });
            below("schedule_modified", values, short(kept(&modified.what), LINE_MAX))
        }
        Event::SlotClaimed(claimed) => plain("slot_claimed", json!({ "schedule": claimed.schedule, "by": claimed.by })),
        Event::SlotSettled(settled) => below(
            "slot_settled",
            json!({ "schedule": settled.schedule, "outcome": settled.outcome }),
            short(kept(&settled.message), LINE_MAX),
        ),
        Event::ExecutorSigned(signed) => {
            plain("executor_signed", json!({ "name": signed.name, "version": signed.version, "key": signed.key_id }))
        }
        Event::ExecutorInstalled(installed) => plain(
            "executor_installed",
            json!({ "name": installed.name, "version": installed.version, "files": installed.artefacts.len() }),
        ),
        Event::BirthTestsRun(birth) => {
            let passed = birth.cases.iter().filter(|case| case.passed).count();
            plain(
                "birth_tests_run",
                json!({ "passed": passed, "of": birth.cases.len(), "interpreter": birth.interpreter, "cage": birth.cage }),
            )
        }
        Event::VersionPromoted(promoted) => {
            plain("version_promoted", json!({ "name": promoted.name, "version": promoted.version }))
        }
        Event::LifeCycleChanged(change) => below(
            "life_cycle_changed",
            json!({ "name": change.name, "to": change.to, "by": change.by }),
            change.reason.clone(),
        ),
        _ => return None,
    };
    Some(told)
}

/// Who may do what in this home, and how it is set.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are told by their labels")]
fn of_home(event: &Event) -> Option<Told> {
    let told = match event {
        Event::KeyAdmitted(key) => plain("key_admitted", json!({ "key": key.key_id, "name": key.name, "by": key.by })),
        Event::KeyRevoked(key) => {
            below("key_revoked", json!({ "key": key.key_id, "by": key.by }), short(&key.reason, LINE_MAX))
        }
        Event::GrantGiven(given) => below(
            "grant_given",
            json!({ "grant": given.grant, "actor": given.actor, "capability": given.capability, "target": given.target, "by": given.by }),
            short(&given.reason, LINE_MAX),
        ),
        Event::GrantRevoked(revoked) => below(
            "grant_revoked",
            json!({ "grant": revoked.grant, "actor": revoked.actor, "by": revoked.by }),
            short(&revoked.reason, LINE_MAX),
        ),
        Event::ConfigurationChanged(changed) => {
            plain("configuration_changed", json!({ "key": changed.key, "value": changed.new.0.to_string() }))
        }
        _ => return None,
    };
    Some(told)
}

//! `metnos executor history|archive|rehabilitate|quarantine|approve|promote|defuse`: the life cycle of executors, each move an
//! event with who and why, and each the way back of another.

use std::collections::BTreeSet;

use metnos_log::event::executor::LifeCycle;
use metnos_log::{Event, Recorded};
use metnos_projections::views::audit::Kind;
use metnos_projections::views::audit::selection::Selection;
use serde_json::{Value, json};

use super::super::output::by;
use super::super::{Context, Failure, ask, output, progress, replay, terminal};
use crate::ageing::{self, Idle};
use crate::export::audit_lines::{Format, export_by_index};
use crate::instance::{Instance, now};
use crate::loader;

/// Who moves it: whoever may run commands on this machine.
const OWNER: &str = "owner";

/// Puts it where it is not called any more.
pub(super) fn move_away(context: &Context, name: &str, to: LifeCycle, reason: Option<&str>) -> Result<u8, Failure> {
    let instance = context.ready(&context.flags())?;
    let name = known(&instance, name)?;
    let reason = reason.map_or_else(|| context.text(&instance, "executor.owner_wants", &json!({})), str::to_owned);
    loader::move_to(&instance, &name, to, &reason, OWNER)?;
    ask::follow(context, &instance);
    told(context, &instance, &name);
    Ok(0)
}

/// Makes it active again, once what the log holds of it was checked, born and signed anew.
pub(super) fn readmit(context: &Context, name: &str, from: LifeCycle) -> Result<u8, Failure> {
    let instance = context.ready(&context.flags())?;
    let name = known(&instance, name)?;
    let catalog = instance.catalog();
    let Some(entry) = catalog.executors.get(&name).filter(|entry| entry.life == from) else {
        let life = catalog.executors.get(&name).map(|entry| super::state(entry.life));
        let values = json!({ "name": name, "state": life, "wanted": super::state(from) });
        return Err(Failure::refused(("error.stands_elsewhere", values), by("next.life_cycle")));
    };
    let current = entry.current.clone().unwrap_or_default();
    let version = entry.versions.get(&current);
    let manifest = version.and_then(metnos_projections::machines::catalog::Version::manifest);
    let values = json!({
        "name": name, "version": current, "state": super::state(from), "reason": entry.reason,
        "taint": catalog.taint(&name, &current),
        "can_do": manifest.map(|manifest| super::can_do(context, &instance, &manifest)),
    });
    terminal::agreed(context, &instance, ("consent.readmit_executor", &values), "error.not_readmitted")?;
    loader::readmit(&instance, &name, OWNER)?;
    ask::follow(context, &instance);
    told(context, &instance, &name);
    Ok(0)
}

/// Gives calls another of its signed versions.
pub(super) fn promote(context: &Context, name: &str, version: &str) -> Result<u8, Failure> {
    let instance = context.ready(&context.flags())?;
    let name = known(&instance, name)?;
    loader::promote(&instance, &name, version)?;
    ask::follow(context, &instance);
    told(context, &instance, &name);
    Ok(0)
}

/// The name that it has, for one that it had.
fn known(instance: &Instance, name: &str) -> Result<String, Failure> {
    let catalog = instance.catalog();
    let found = catalog.find(name).map(|(name, _)| name.to_owned());
    found.ok_or_else(|| Failure::refused(("error.no_executor", json!({ "name": name })), by("next.executors")))
}

/// How it stands now.
fn told(context: &Context, instance: &Instance, name: &str) {
    let catalog = instance.catalog();
    let entry = catalog.executors.get(name);
    let values = json!({
        "name": name, "version": entry.and_then(|entry| entry.current.as_ref()),
        "state": entry.map(|entry| super::state(entry.life)), "reason": entry.map(|entry| &entry.reason),
    });
    if context.global.json {
        output::result_json(&values);
    } else {
        output::result(&context.text(instance, "executor.stands", &values));
    }
}

/// What happened to it, and every call of it.
pub(super) fn history(context: &Context, name: &str, calls: bool) -> Result<u8, Failure> {
    let instance = context.instance()?;
    let name = known(&instance, name)?;
    let zone = &instance.settings.zone;
    let events = events(&instance, &name)?;
    for recorded in &events {
        let (text, detail) = replay::told(context, &instance, recorded);
        let moment = output::moment(recorded.time.0, zone);
        if context.global.json {
            output::result_json(
                &json!({ "seq": recorded.seq, "time": moment, "event": recorded.kind, "text": text, "detail": detail }),
            );
        } else {
            let detail = if detail.is_empty() { detail } else { format!(": {detail}") };
            output::result(&format!("{moment}  {text}{detail}"));
        }
    }
    let (mut count, mut tainted) = (0_u64, 0_u64);
    let signatures = Signatures::of(&events);
    self::calls(context, &instance, &name, &mut |mut call| {
        let version = call["version"].as_str().unwrap_or_default();
        let is_tainted = signatures.of_call(&call).is_some_and(|key| instance.catalog().signer(key).is_none());
        count += 1;
        tainted += u64::from(is_tainted);
        if context.global.json {
            call["event"] = "call".into();
            call["tainted"] = is_tainted.into();
            output::result_json(&call);
        } else if calls || is_tainted {
            let ended = call["ts"].as_str().and_then(|ts| ts.parse::<jiff::Timestamp>().ok()).unwrap_or_default();
            let values = json!({
                "ts": output::moment(ended.as_microsecond(), zone), "version": version, "turn": call["turn_id"],
                "exit": call["exit"], "who": call["caller"]["sender"], "tainted": is_tainted,
            });
            output::result(&context.text(&instance, "executor.called", &values));
        }
        Ok(())
    })?;
    if !context.global.json {
        let values = json!({ "name": name, "count": count, "tainted": tainted, "shown": calls });
        output::result(&context.text(&instance, "executor.calls", &values));
    }
    Ok(0)
}

/// What happened to an executor, oldest first.
pub(in crate::cli) fn events(instance: &Instance, name: &str) -> Result<Vec<Recorded>, Failure> {
    Ok(instance.log.reader().stream(&format!("executor/{name}"))?)
}

/// By whom the versions of an executor were signed, and from which event on: one that is signed anew was called under the key
/// before it.
pub(in crate::cli) struct Signatures(Vec<(u64, String, String)>);

impl Signatures {
    pub(in crate::cli) fn of(events: &[Recorded]) -> Self {
        let signed = events.iter().filter_map(|recorded| match recorded.event() {
            Some(Event::ExecutorSigned(signed)) => Some((recorded.seq, signed.version.clone(), signed.key_id.clone())),
            _ => None,
        });
        Self(signed.collect())
    }

    /// The key under which a call was made, of which this is the line of the audit.
    pub(in crate::cli) fn of_call(&self, call: &Value) -> Option<&str> {
        let (version, seq) = (call["version"].as_str()?, call["seq"].as_u64()?);
        let mut before = self.0.iter().filter(|(signed, of, _)| *signed < seq && of == version);
        before.next_back().map(|(_, _, key)| key.as_str())
    }

    /// The versions that a key ever signed.
    pub(in crate::cli) fn by(&self, key: &str) -> BTreeSet<&str> {
        self.0.iter().filter(|(_, _, by)| by == key).map(|(_, version, _)| version.as_str()).collect()
    }
}

/// Every call of an executor, oldest first, as a line of the audit.
pub(in crate::cli) fn calls(
    context: &Context,
    instance: &Instance,
    name: &str,
    each: &mut dyn FnMut(Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let selection = Selection { kind: Some(Kind::Executors), executor: Some(name.to_owned()), ..Selection::default() };
    let line = progress::line(context);
    let watch = |done, of| line.say(&context.text(instance, "log.folding", &json!({ "done": done, "of": of })));
    let mut told = |text: &str| -> Result<(), Failure> {
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).try_for_each(&mut *each)
    };
    export_by_index(instance, Format::Jsonl, &selection, (&watch, &mut told))?;
    Ok(())
}

/// One pass of the ager, by hand.
pub(super) fn age(context: &Context) -> Result<u8, Failure> {
    let instance = context.ready(&context.flags())?;
    let moment = now();
    let fallen = ageing::pass(&instance, moment)?;
    let proposed = ageing::proposed(&instance, moment)?;
    ask::follow(context, &instance);
    if context.global.json {
        let names = |idle: &[Idle]| idle.iter().map(|idle| idle.name.clone()).collect::<Vec<_>>();
        output::result_json(&json!({ "below_threshold": names(&fallen), "proposed": names(&proposed) }));
        return Ok(0);
    }
    for idle in &fallen {
        told(context, &instance, &idle.name);
    }
    for idle in &proposed {
        output::result(&proposal(context, &instance, idle));
    }
    if fallen.is_empty() && proposed.is_empty() {
        output::result(&context.text(&instance, "executor.none_aged", &json!({})));
    }
    Ok(0)
}

/// That an archival is proposed, with the command that does it.
pub(in crate::cli) fn proposal(context: &Context, instance: &Instance, idle: &Idle) -> String {
    let since = output::moment(idle.since.0, &instance.settings.zone);
    context.text(instance, "executor.archival_proposed", &json!({ "name": idle.name, "since": since }))
}

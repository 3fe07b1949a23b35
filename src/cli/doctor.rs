//! `metnos doctor`: what this machine gives, what is missing, and the command that mends it.

use std::path::Path;

use serde_json::{Value, json};

use super::{Context, Failure, output};
use crate::cause::plain;
use crate::sandbox::mending::{self, Mending};
use crate::sandbox::{CageReport, Level, SandboxError};
use crate::views::state::{self as views, Condition, State};

pub(super) fn run(context: &Context) -> Result<u8, Failure> {
    let instance = context.instance()?;
    let mut findings: Vec<(bool, String, Option<String>)> = Vec::new();
    let say = |key: &str, values: Value| context.text(&instance, key, &values);
    let report = match instance.sandbox() {
        Ok(sandbox) => {
            let interpreter = sandbox.interpreter();
            let values = json!({ "path": interpreter.path(), "version": interpreter.version });
            findings.push((true, say("doctor.python", values), None));
            let report = sandbox.capabilities().clone();
            let values = json!({ "backend": report.backend.name(), "level": report.level, "layers": report.layers, "missing": report.missing });
            findings.push((report.level == Level::Full, say("doctor.cage", values), None));
            let caps = caps(&report).into_iter();
            findings.extend(caps.map(|(good, key, values)| (good, say(key, values), None)));
            Ok(report)
        }
        Err(error) => {
            findings.push((false, say("doctor.no_cage", json!({ "reason": plain(&error) })), None));
            Err(error)
        }
    };
    let is_full = report.as_ref().is_ok_and(|report| report.level == Level::Full);
    if let Err(SandboxError::NoInterpreter { .. }) = &report {
        findings.push((false, say("doctor.mend_python", json!({})), None));
    } else if !is_full {
        let mendings = mending::mendings(report.as_ref().ok(), instance.cage_chosen(), Path::new("/proc"));
        findings.extend(mendings.into_iter().map(|mending| (false, say(mending.key(), json!({})), None)));
        findings.push((false, say("doctor.needs_full", json!({ "off": instance.is_uncaged() })), None));
    }
    let report = report.ok();
    let space =
        rustix::fs::statvfs(&instance.dirs.data).map_or(0, |space| space.f_bavail.saturating_mul(space.f_frsize));
    findings.push((
        space > 1 << 30,
        say("doctor.disk", json!({ "mib": space >> 20, "folder": instance.dirs.data })),
        None,
    ));
    findings.push((true, say("doctor.log", json!({ "events": instance.log.head().size })), None));
    if let Some(file) = instance.keys.exchanged_public(&instance.dirs.config.join("keys")) {
        let values = json!({ "file": file, "key": instance.keys.public_hex() });
        findings.push((false, say("doctor.public_key", values), None));
    }
    for State { name, condition } in views::all(&instance)? {
        findings.push(match condition {
            Condition::UpTo(position) => {
                let values = json!({ "name": name, "position": position, "events": instance.log.head().size });
                (true, say("doctor.view", values), None)
            }
            Condition::Absent => (true, say("doctor.view_absent", json!({ "name": name })), None),
            Condition::Unusable => (false, say("doctor.view_unusable", json!({ "name": name })), None),
        });
    }
    for (name, reason) in crate::loader::check::quarantined(&instance) {
        let hint = context.typed(&format!("metnos executor show {name}"));
        findings.push((false, say("notice.quarantined", json!({ "name": name, "reason": reason })), Some(hint)));
    }
    let lacks = crate::instance::missing(&instance).into_iter().filter(|(key, _)| *key != "first_run.partial_cage");
    findings.extend(lacks.map(|(key, values)| (false, context.typed(&say(key, values)), None)));
    if context.global.json {
        let findings: Vec<Value> =
            findings.iter().map(|(good, text, hint)| json!({ "ok": good, "text": text, "hint": hint })).collect();
        output::result_json(&json!({ "findings": findings, "cage": report }));
        return Ok(0);
    }
    for (good, text, hint) in findings {
        output::result(&format!("{} {text}", if good { "ok  " } else { "note" }));
        if let Some(hint) = hint {
            output::result(&format!("       {hint}"));
        }
    }
    Ok(0)
}

/// What bounds a call, and what would do it better: whether it is good, key and value for the texts.
fn caps(report: &CageReport) -> Vec<(bool, &'static str, Value)> {
    if report.level == Level::None {
        return Vec::new();
    }
    let values = json!({ "memory": report.memory_cap, "processes": report.process_cap });
    let mut found = vec![(true, "doctor.caps", values)];
    if !report.is_enclosed() {
        found.push((false, Mending::Delegation.key(), json!({})));
    }
    found
}

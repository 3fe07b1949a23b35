//! The record of a call: what came of it, the cage that it had, what it wants changed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use metnos_log::event::turn::{InvocationFinished, PlannedOp};
use metnos_log::{BlobHash, Kept};
use serde_json::{Value, json};

use super::{LISTED_MAX, Run};
use crate::broker::HostGrant;
use crate::builtins::{self, Builtin};
use crate::effects::plan::{self, Planned};
use crate::gateway::{Loaded, call, failed, passed};
use crate::sandbox::{CallFailure, Stage};

impl Run<'_> {
    /// The record of a call: its result without `effects`, what it wants changed, the cage that it had.
    pub(super) fn finished(
        &self,
        step: u32,
        trace_id: &str,
        returned: call::Returned,
        duration_us: u64,
    ) -> (InvocationFinished, Vec<(BlobHash, Vec<u8>)>) {
        let call::Returned { ok, class, mut result, mut checks, outcome, .. } = returned;
        if ok && returned.acts_by_effects_alone && result.get("effects").is_none_or(Value::is_null) {
            result["effects"] = json!([]);
        }
        let web = (returned.hosts.as_slice(), returned.is_idempotent);
        let planned = if ok {
            self.planned(&result, outcome.stage.as_ref(), (web, returned.may_message))
        } else {
            Planned::default()
        };
        leave_effects_out(&mut result);
        checks.push(passed("record"));
        let diagnostics = diagnostics(&outcome.stdout.text(), &outcome.stderr.text(), &outcome.log);
        let (effects, changes) = listed(planned.ops);
        let finished = InvocationFinished {
            trace_id: trace_id.to_owned(),
            step,
            ok,
            class,
            result: Kept::json_of(Arc::new(result)),
            checks,
            duration_us,
            cage: serde_json::to_value(&outcome.report).unwrap_or_default().into(),
            connections: serde_json::to_value(&outcome.connections).unwrap_or_default().into(),
            diagnostics: Kept::text(diagnostics),
            may_do_less: self.may_do_less(&effects, &changes),
            effects,
            changes,
        };
        (finished, planned.blobs)
    }

    /// Whether something is to be changed that whoever asks may change no more.
    fn may_do_less(&self, effects: &[PlannedOp], changes: &Kept) -> bool {
        !(effects.is_empty() && changes.is_empty()) && self.instance.allows_less(&self.turn)
    }

    /// What the result wants changed, held against what the arguments named and what the disk says.
    fn planned(
        &self,
        result: &Value,
        stage: Option<&Stage>,
        (web, may_message): ((&[HostGrant], bool), bool),
    ) -> Planned {
        let (instance, step) = (self.instance, self.turn.step());
        let args = step.map_or(&Value::Null, |step| &step.args);
        let named = plan::Named::new(step.map_or(&[], |step| step.targets.as_slice()), args);
        let home = instance.dirs.user_home.to_string_lossy().into_owned();
        let actors = may_message.then(|| instance.actors());
        let staged = |name: &str, most: u64| match stage {
            Some(stage) => stage.read(name, most),
            None => Err(std::io::Error::other("the stage is gone")),
        };
        let around = plan::Around {
            staged: &staged,
            name_of: &|bytes| instance.log.keyed_blob_hash(bytes),
            keys: &instance.keys,
            trash: &instance.trash(),
            home: &home,
            own: &instance.dirs.own(),
            web,
            people: actors.as_deref(),
        };
        plan::plan(result, &named, around)
    }

    /// The record of a call that the binary carried out itself.
    pub(super) fn builtin_finished(
        &self,
        step: u32,
        trace_id: &str,
        builtin: &Builtin,
        loaded: &Loaded,
        started: Instant,
    ) -> (InvocationFinished, Vec<(BlobHash, Vec<u8>)>) {
        let args = self.turn.step().map(|step| Arc::clone(&step.args)).unwrap_or_default();
        let answers = self.turn.step().map_or(&[][..], |step| &step.answers);
        let (instance, language) = (self.instance, self.language());
        let opened = self.turn.opened.as_ref();
        let call = builtins::Call { instance, turn: self.id, opened, language, args: &args, answers };
        let builtins::Answer { mut result, mut planned } = builtin.call(&call);
        let mut checks = vec![passed("open_cage"), passed("run")];
        match loaded.output_fault(&result) {
            None => checks.push(passed("validate_output")),
            Some(fault) => {
                checks.push(failed("validate_output", "contract_violation", fault.clone()));
                result = json!({ "ok": false, "error_class": "contract_violation", "error": fault });
                planned = Planned::default();
            }
        }
        checks.push(passed("record"));
        let ok = result.get("ok") == Some(&Value::Bool(true));
        let class = result.get("error_class").and_then(Value::as_str).map(str::to_owned);
        let (effects, changes) = listed(planned.ops);
        let finished = InvocationFinished {
            trace_id: trace_id.to_owned(),
            step,
            ok,
            class: class.filter(|_| !ok),
            result: Kept::json(&result),
            checks,
            duration_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
            cage: json!({ "level": "not_needed", "reason": "builtin" }).into(),
            connections: Value::Array(Vec::new()).into(),
            diagnostics: Kept::default(),
            may_do_less: self.may_do_less(&effects, &changes),
            effects,
            changes,
        };
        (finished, planned.blobs)
    }
}

/// Few changes stand in the event itself, many in a kept text beside it.
fn listed(ops: Vec<PlannedOp>) -> (Vec<PlannedOp>, Kept) {
    // A person's own words stand in the changes of tasks, in addresses and in texts: those are kept where they can be erased.
    if ops.len() <= LISTED_MAX && ops.iter().all(|op| op.is_of_files() && op.text.is_none()) {
        return (ops, Kept::default());
    }
    (Vec::new(), Kept::json(&serde_json::to_value(&ops).expect("planned changes are plain data")))
}

/// What is to be changed is recorded apart. An empty list stays: it says that there was nothing to do.
fn leave_effects_out(result: &mut Value) {
    let is_empty = result.get("effects").and_then(Value::as_array).is_none_or(Vec::is_empty);
    if let Some(map) = result.as_object_mut().filter(|_| !is_empty) {
        map.remove("effects");
    }
}

/// The record of a call that never ran.
pub(super) fn never_ran(step: u32, trace_id: &str, failure: &CallFailure, duration_us: u64) -> InvocationFinished {
    let result = json!({ "ok": false, "error_class": failure.class, "error": failure.message });
    InvocationFinished {
        trace_id: trace_id.to_owned(),
        step,
        ok: false,
        class: Some(failure.class.to_owned()),
        result: Kept::json(&result),
        effects: Vec::new(),
        checks: vec![failed("open_cage", failure.class, failure.message.clone()), passed("record")],
        duration_us,
        cage: Value::Null.into(),
        connections: Value::Array(Vec::new()).into(),
        diagnostics: Kept::default(),
        changes: Kept::default(),
        may_do_less: false,
    }
}

/// What an executor printed and logged, each under its name; empty when it was silent.
fn diagnostics(stdout: &str, stderr: &str, log: &[String]) -> String {
    let log = log.join("\n");
    let parts: BTreeMap<&str, &str> = [("stdout", stdout), ("stderr", stderr), ("log", log.as_str())]
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .collect();
    if parts.is_empty() { String::new() } else { json!(parts).to_string() }
}

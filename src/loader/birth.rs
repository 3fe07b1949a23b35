//! Birth tests: the cases of `tests/birth.py`, each run in the cage as a call would be, and compared.
//!
//! The file is data: it is read by `inspect.py` inside of a cage and never run. Verdicts are kept by content and
//! interpreter version, so that a warm start runs none.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use metnos_log::BlobHash;
use metnos_log::canonical;
use metnos_log::event::executor::{BirthTestsRun, CaseVerdict};
use metnos_log::store::plain_blob_hash;
use metnos_projections::machines::catalog::{Command, decide};
use metnos_projections::rules::cage_plan::{self, Autonomy, Places};
use regex_lite::Regex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Candidate, InstallError, Source};
use crate::broker::Canned;
use crate::cause::plain;
use crate::gateway::call::{Around, PreparedCall, Returned};
use crate::gateway::{Caller, Loaded, call};
use crate::instance::{Instance, InstanceError, random};
use crate::sandbox::{Call, CancelFlag, Progress, RUN, Sandbox};
use crate::signing::hex;

const INSPECT: &str = include_str!("inspect.py");

/// One case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    args: Value,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    files_b64: BTreeMap<String, String>,
    #[serde(default)]
    http: BTreeMap<String, Answer>,
    expect: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
    #[serde(default)]
    body_b64: Option<String>,
    #[serde(default)]
    error_class: Option<String>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    truncated: bool,
}

fn ok() -> u16 {
    200
}

/// The key under which a verdict holds: content of the version and the interpreter that ran it.
pub fn content_key(source: &Source, interpreter: &str) -> BlobHash {
    let parts = [source.manifest.as_bytes(), &source.code, &source.schema, &source.tests, interpreter.as_bytes()];
    key_of(parts.map(plain_blob_hash))
}

fn key_of(parts: [BlobHash; 5]) -> BlobHash {
    let mut hasher = blake3::Hasher::new_derive_key("metnos birth verdict v1");
    for part in parts {
        hasher.update(&part.0);
    }
    BlobHash(*hasher.finalize().as_bytes())
}

/// Runs all cases of a candidate; one that could not fail is refused.
pub fn run(instance: &Instance, candidate: &Candidate) -> Result<BirthTestsRun, InstallError> {
    run_each(instance, candidate, |case| {
        if !is_met_by_all(&case.expect) {
            return Ok(());
        }
        let file = candidate.source.label("tests/birth.py");
        Err(InstallError::Content(format!("{file}: case {:?}: {UNFAILING}", case.name)))
    })
}

/// What is said of a case that tests nothing.
const UNFAILING: &str = "whatever the executor returned would pass: let it expect a part of the result, such as {\"ok\": True} \
    and a value, or the error class of a failure";

/// Whether every result that an executor could give, a failure as well, has what is expected.
fn is_met_by_all(expected: &Value) -> bool {
    let is_open = |value: &Value| *value == json!("$any") || *value == json!({ "$type": "boolean" });
    match expected {
        Value::Object(map) if map.contains_key("$match") => false,
        Value::Object(map) if map.contains_key("$type") => *expected == json!({ "$type": "object" }),
        Value::Object(map) => map.iter().all(|(key, value)| is_empty(value) || (key == "ok" && is_open(value))),
        other => *other == json!("$any"),
    }
}

/// Whether nothing is expected of a part of a result: that it is an object of anything, or that it may be away.
fn is_empty(expected: &Value) -> bool {
    expected.is_null() || expected.as_object().is_some_and(|map| map.values().all(is_empty))
}

/// Runs all cases, if `accepts` lets each of them through.
fn run_each(
    instance: &Instance,
    candidate: &Candidate,
    accepts: impl Fn(&Case) -> Result<(), InstallError>,
) -> Result<BirthTestsRun, InstallError> {
    let sandbox = instance.sandbox()?;
    let interpreter = sandbox.interpreter().version.clone();
    let cases = inspect(instance, sandbox, candidate)?;
    let mut verdicts = Vec::new();
    for case in cases {
        let case: Case = serde_json::from_value(case).map_err(|error| {
            InstallError::Content(format!(
                "{}: a case cannot be read: {error}",
                candidate.source.label("tests/birth.py")
            ))
        })?;
        accepts(&case)?;
        verdicts.push(one(instance, sandbox, candidate, case)?);
    }
    Ok(BirthTestsRun {
        name: candidate.loaded.name.clone(),
        version: candidate.loaded.version.clone(),
        content: content_key(&candidate.source, &interpreter),
        interpreter,
        cage: serde_json::to_value(sandbox.capabilities().level)
            .ok()
            .and_then(|level| level.as_str().map(str::to_owned))
            .unwrap_or_default(),
        cases: verdicts,
    })
}

/// Reads the cases and looks through the code, in a cage that sees nothing.
fn inspect(instance: &Instance, sandbox: &Sandbox, candidate: &Candidate) -> Result<Vec<Value>, InstallError> {
    let source = &candidate.source;
    let text = |bytes: &[u8], name: &str| {
        let text = std::str::from_utf8(bytes).map(str::to_owned);
        text.map_err(|_| InstallError::Content(format!("{} is not valid UTF-8", source.label(name))))
    };
    let (code, tests) = (text(&source.code, "main.py")?, text(&source.tests, "tests/birth.py")?);
    let check = &candidate.loaded.manifest.contract.check;
    let args = json!({ "code": code, "tests": tests, "functions": [Some(RUN), check.as_deref()] });
    let trace = hex(&random::<8>());
    let plan = inspector_plan();
    let progress = |_: Progress| {};
    let outcome = sandbox.call(Call {
        plan: &plan,
        grants: Vec::new(),
        code: INSPECT.as_bytes(),
        ahead: true,
        entry: RUN,
        args: &args,
        context: &json!({ "trace_id": trace }),
        lock_file: &call::cages(&instance.dirs.data).join(format!("{trace}.lock")),
        needs_full: false,
        net: None,
        cancel: no_cancel()?,
        progress: &progress,
    });
    let reply = outcome.reply.map_err(|failure| {
        InstallError::Content(format!("its code could not be looked through: {}", failure.message))
    })?;
    if let Some(fault) = reply.get("fault").and_then(Value::as_str) {
        return Err(InstallError::Content(format!("{}: {fault}", source.label(""))));
    }
    Ok(reply.get("cases").and_then(Value::as_array).cloned().unwrap_or_default())
}

/// The plan of something that computes and sees nothing.
fn inspector_plan() -> cage_plan::CagePlan {
    let manifest = include_str!("../../executors/filter_texts_lines/manifest.toml");
    let manifest =
        crate::manifest::parse("manifest.toml", manifest).expect("the seeds' manifests are parsed by a test");
    let mut plan = cage_plan::declared(&manifest);
    plan.mounts.clear();
    plan.net = cage_plan::Net::None;
    plan.limits.wall_ms = 10_000;
    plan.limits.output_bytes_max = 8 << 20;
    plan
}

fn no_cancel() -> Result<CancelFlag, InstallError> {
    CancelFlag::new().map_err(|error| InstallError::Content(plain(&error)))
}

fn one(instance: &Instance, sandbox: &Sandbox, candidate: &Candidate, case: Case) -> Result<CaseVerdict, InstallError> {
    let scratch = Scratch::make(&instance.dirs.runtime)
        .map_err(|error| InstallError::Content(format!("no scratch folder: {}", plain(&error))))?;
    scratch.lay(&case).map_err(|error| {
        let file = candidate.source.label("tests/birth.py");
        InstallError::Content(format!("{file}: case {:?}: {}", case.name, plain(&error)))
    })?;
    let (root, home) = (scratch.workspace(), scratch.0.join("home"));
    let (folder, root) = (root.clone(), root.to_string_lossy().into_owned());
    let args = with_root(case.args, &root);
    let caller = Caller {
        home: home.clone(),
        folder,
        within: None,
        grants: Vec::new(),
        places: Places {
            home: home.to_string_lossy().into_owned(),
            workspace: root.clone(),
            runtime: format!("{root}/run"),
        },
        own: metnos_projections::rules::core_paths::OwnDirs::default(),
        autonomy: Autonomy::Supervised,
        cages: call::cages(&instance.dirs.data),
        network_allow: vec!["*".to_owned()],
        language: "en".to_owned(),
        zone: "UTC".to_owned(),
        turn_id: "birth".to_owned(),
        salt: None,
    };
    let source = &candidate.source;
    let loaded = super::candidate(source.clone())?.loaded;
    let prepared = PreparedCall::new(1, Ok::<Loaded, _>(loaded), args, &caller);
    let progress = |_: Progress| {};
    let around = Around {
        caller: &caller,
        trace_id: &hex(&random::<8>()),
        typed: &|_| true,
        cancel: no_cancel()?,
        progress: &progress,
        canned: Some(
            case.http.into_iter().map(|(url, answer)| (with_root_text(&url, &root), answer.canned())).collect(),
        ),
    };
    let fault = prepared.facts.checks.iter().find_map(|check| check.failure.clone());
    let expect = with_root(case.expect, &root);
    let result = match fault {
        Some((class, reason)) => json!({ "ok": false, "error_class": class, "error": reason }),
        None => match prepared.run(sandbox, &around) {
            Ok(returned) => observed(&returned),
            Err(failure) => json!({ "ok": false, "error_class": failure.class, "error": failure.message }),
        },
    };
    let failed = || {
        let class =
            result["error_class"].as_str().filter(|_| result["ok"] == json!(false) && expect["ok"] != json!(false))?;
        Some(format!("; it failed with {class}: {}", result["error"].as_str().unwrap_or_default()))
    };
    let differs = contains(&expect, &result, "").err();
    let reason = differs.map(|differs| format!("{differs}{}", failed().unwrap_or_default()));
    Ok(CaseVerdict { name: case.name, passed: reason.is_none(), reason })
}

/// The result as a case may look at it: with what was staged, as text.
fn observed(returned: &Returned) -> Value {
    let mut result = returned.result.clone();
    if let (Some(stage), Some(map)) = (&returned.outcome.stage, result.as_object_mut()) {
        let names = stage.list().unwrap_or_default();
        let read = |(name, _): (String, u64)| {
            let bytes = stage.read(&name, 1 << 20).ok()?;
            Some((name, Value::String(String::from_utf8_lossy(&bytes).into_owned())))
        };
        let staged: serde_json::Map<String, Value> = names.into_iter().filter_map(read).collect();
        if !staged.is_empty() {
            map.insert("staged".to_owned(), Value::Object(staged));
        }
    }
    result
}

impl Answer {
    fn canned(self) -> Canned {
        if let Some(class) = self.error_class {
            return Canned::Failure { class, message: self.error.unwrap_or_default() };
        }
        let body = self.body_b64.and_then(|text| STANDARD.decode(text).ok()).unwrap_or_else(|| self.body.into_bytes());
        Canned::Answer { status: self.status, headers: self.headers, body, url: self.url, truncated: self.truncated }
    }
}

/// Removes the scratch folders of cases whose command was killed. Called while this process holds the log, so that none of
/// them is in use. What cannot be removed is tried again next time.
pub fn sweep(runtime: &Path) {
    for entry in std::fs::read_dir(runtime).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("birth-") {
            std::fs::remove_dir_all(entry.path()).ok();
        }
    }
}

const WORKSPACE: &str = "ws";

/// A folder that goes with its case.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn make(runtime: &Path) -> std::io::Result<Self> {
        let path = runtime.join(format!("birth-{}", hex(&random::<8>())));
        std::fs::create_dir_all(path.join(WORKSPACE))?;
        path.canonicalize().map(Self)
    }

    /// What `{ws}` stands for. The home folder of a case lies beside it: who changes files by itself may open the one and not
    /// the other.
    fn workspace(&self) -> std::path::PathBuf {
        self.0.join(WORKSPACE)
    }

    fn lay(&self, case: &Case) -> std::io::Result<()> {
        let plain = case.files.iter().map(|(name, text)| (name, text.clone().into_bytes()));
        let packed = case.files_b64.iter().map(|(name, text)| (name, STANDARD.decode(text).unwrap_or_default()));
        for (name, bytes) in plain.chain(packed) {
            if !is_below(name) {
                let what = format!("its file {name:?} must be a name below its folder, without «..»");
                return Err(std::io::Error::other(what));
            }
            let path = self.workspace().join(name);
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            if name.ends_with('/') {
                std::fs::create_dir_all(&path)?;
            } else {
                std::fs::write(path, bytes)?;
            }
        }
        Ok(())
    }
}

/// Whether a name leads nowhere but below where it is laid. What lies there was laid by nobody else, so no link is on the way.
fn is_below(name: &str) -> bool {
    use std::path::Component;
    let mut parts = Path::new(name).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind is swept with the runtime folder.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn with_root_text(text: &str, root: &str) -> String {
    text.replace("{ws}", root)
}

fn with_root(value: Value, root: &str) -> Value {
    match value {
        Value::String(text) => Value::String(with_root_text(&text, root)),
        Value::Array(items) => items.into_iter().map(|item| with_root(item, root)).collect(),
        Value::Object(map) => {
            map.into_iter().map(|(key, item)| (with_root_text(&key, root), with_root(item, root))).collect()
        }
        other => other,
    }
}

/// Whether what was expected is contained in what came; says where it is not.
fn contains(expected: &Value, found: &Value, at: &str) -> Result<(), String> {
    let differs = || Err(format!("at {}: expected {expected}, found {found}", if at.is_empty() { "/" } else { at }));
    match expected {
        Value::String(any) if any == "$any" => {
            if found.is_null() {
                differs()
            } else {
                Ok(())
            }
        }
        Value::Object(map) if map.len() == 1 && map.contains_key("$type") => {
            let integer = map["$type"] == "integer" && (found.is_i64() || found.is_u64());
            if integer || map["$type"] == canonical::kind(found) { Ok(()) } else { differs() }
        }
        Value::Object(map) if map.len() == 1 && map.contains_key("$match") => {
            let pattern = map["$match"].as_str().and_then(|pattern| Regex::new(pattern).ok());
            let matched = pattern.is_some_and(|pattern| found.as_str().is_some_and(|text| pattern.is_match(text)));
            if matched { Ok(()) } else { differs() }
        }
        Value::Object(map) => map
            .iter()
            .try_for_each(|(key, item)| contains(item, found.get(key).unwrap_or(&Value::Null), &format!("{at}/{key}"))),
        Value::Array(items) => match found.as_array() {
            Some(there) if there.len() == items.len() => items
                .iter()
                .zip(there)
                .enumerate()
                .try_for_each(|(index, (item, there))| contains(item, there, &format!("{at}/{index}"))),
            _ => differs(),
        },
        Value::Number(number) if number.as_f64() == found.as_f64() => Ok(()),
        other if other == found => Ok(()),
        _ => differs(),
    }
}

/// Runs the birth tests of an active executor again when the interpreter is none that they passed on before. Gives the
/// reason for quarantine when they no longer pass.
pub fn stale(instance: &Instance, name: &str) -> Result<Option<String>, InstanceError> {
    let catalog = instance.catalog();
    let Some((_, _, version)) = catalog.active(name) else { return Ok(None) };
    let Ok(sandbox) = instance.sandbox() else { return Ok(None) };
    if version.was_tested_on(&sandbox.interpreter().version) {
        return Ok(None);
    }
    let folder = instance.dirs.workspace.join("executors").join(name);
    let current = catalog.executors.get(name).and_then(|entry| entry.current.clone()).unwrap_or_default();
    let again = Source::read(&folder.join(current)).map_err(InstallError::from).and_then(super::candidate);
    // What was taken once stays, whatever its cases expect.
    let birth = match again.and_then(|candidate| run_each(instance, &candidate, |_| Ok(()))) {
        Ok(birth) => birth,
        Err(error) => return Ok(Some(format!("its birth tests could not run again: {}", plain(&error)))),
    };
    let failed = birth
        .cases
        .iter()
        .find(|case| !case.passed)
        .map(|case| format!("birth case «{}» fails on {}", case.name, birth.interpreter));
    // What the catalog does not take says nothing about whether the cases passed.
    let stream = format!("executor/{name}");
    instance.change(&stream, Vec::new(), |projected| decide(&projected.catalog, Command::RecordBirth(birth)))?.ok();
    Ok(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_case_lays_stays_in_its_folder() {
        let runtime = tempfile::tempdir().unwrap();
        let scratch = Scratch::make(runtime.path()).unwrap();
        let outside = runtime.path().join("outside");
        let absolute = outside.to_str().unwrap();
        let case = |key: &str, name: &str| -> Case {
            serde_json::from_value(json!({ "name": "n", "args": {}, key: { name: "eA==" }, "expect": {} })).unwrap()
        };
        for key in ["files", "files_b64"] {
            for name in [absolute, "../../outside", "in/../../../outside", "..", "/", "", "./in/a"] {
                assert!(scratch.lay(&case(key, name)).is_err(), "{key} {name}");
            }
            scratch.lay(&case(key, "in/deep/a..b")).unwrap();
            scratch.lay(&case(key, "empty/")).unwrap();
        }
        let laid: Vec<_> = std::fs::read_dir(runtime.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(laid, [scratch.0.canonicalize().unwrap()], "nothing else lies there");
        assert!(scratch.workspace().join("in/deep/a..b").is_file() && scratch.workspace().join("empty").is_dir());
    }

    #[test]
    fn a_case_that_could_not_fail_is_told_from_one_that_could() {
        for never in [
            json!({}),
            json!("$any"),
            json!({ "ok": "$any" }),
            json!({ "ok": { "$type": "boolean" } }),
            json!({ "$type": "object" }),
            json!({ "ok": "$any", "metadata": { "more": {} } }),
            json!({ "zzz": null }),
            json!({ "ok": "$any", "metadata": { "zzz": null } }),
        ] {
            assert!(is_met_by_all(&never), "{never}");
            let anything = [json!({ "ok": true }), json!({ "ok": false, "error_class": "crashed", "error": "x" })];
            assert!(anything.iter().all(|found| contains(&never, found, "").is_ok()), "{never}");
        }
        for could in [
            json!({ "ok": true }),
            json!({ "ok": false }),
            json!({ "content": "$any" }),
            json!({ "ok": "$any", "entries": [] }),
            json!({ "metadata": { "count": "$any" } }),
            json!({ "content": { "$match": "" } }),
            json!({ "content": { "$type": "string" } }),
            json!([]),
        ] {
            assert!(!is_met_by_all(&could), "{could}");
        }
    }

    #[test]
    fn containment_names_the_place_that_differs() {
        let found = json!({"ok": true, "entries": [{"a": 1.0, "b": "2026"}], "more": 1});
        assert_eq!(contains(&json!({"ok": true, "entries": [{"a": 1, "b": {"$match": "^20"}}]}), &found, ""), Ok(()));
        assert_eq!(contains(&json!({"entries": [{"a": {"$type": "number"}, "b": "$any"}]}), &found, ""), Ok(()));
        let reason = contains(&json!({"entries": [{"b": "2027"}]}), &found, "").unwrap_err();
        assert!(reason.starts_with("at /entries/0/b: "), "{reason}");
        assert!(contains(&json!({"entries": []}), &found, "").is_err());
        assert!(contains(&json!({"missing": "$any"}), &found, "").is_err());
    }
}

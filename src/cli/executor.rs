//! `metnos executor`: look at executors, run one, check and add a folder.

pub(super) mod life;

use std::path::PathBuf;

use clap::Subcommand;
use metnos_log::event::executor::LifeCycle;
use metnos_projections::machines::turn::Turn;
use metnos_projections::manifest::{Capability, Manifest};
use metnos_projections::rules::cage_plan::{self, Places};
use metnos_projections::rules::grants::{self, Kind};
use metnos_projections::rules::{core_paths, policy};
use metnos_projections::visible;
use serde_json::{Value, json};

use super::ask::{self, Approve};
use super::output::by;
use super::{Context, Failure, console, output, terminal};
use crate::ageing;
use crate::gateway::{LoadError, Loaded};
use crate::instance::{Instance, now};
use crate::loader::{self, Source, check};

/// Look at, run, check and add executors.
#[derive(Subcommand, Debug)]
pub(super) enum Executor {
    /// All executors with version, state and description.
    List,
    /// One executor: manifest, signature, lock, birth tests, life cycle.
    Show {
        /// Its name.
        name: String,
    },
    /// Call one executor in a turn of its own, judged, asked about and recorded like any other.
    Run {
        /// Its name.
        name: String,
        /// Its arguments, a JSON object.
        #[arg(long, default_value = "{}")]
        args: String,
        /// What is approved in advance; whoever names an executor and its arguments has asked for what it reads.
        #[arg(long, value_enum, default_value_t = Approve::Reads)]
        approve: Approve,
    },
    /// Check a folder as `add` would, birth tests included; nothing is signed.
    Check {
        /// The folder.
        dir: PathBuf,
    },
    /// Check, birth-test, lock, sign and activate a folder.
    Add {
        /// The folder.
        dir: PathBuf,
    },
    /// Check, birth-test, lock and sign a folder in place, to hand it on; it is not added here.
    Sign {
        /// The folder, or the name of an executor that is here.
        #[arg(value_name = "DIR-OR-NAME")]
        dir: PathBuf,
    },
    /// Compare every active executor with what was signed.
    Verify,
    /// What happened to one: signatures, tests, moves, and who used it.
    History {
        /// Its name.
        name: String,
        /// Show every call as well; those of a tainted version are shown anyway.
        #[arg(long)]
        calls: bool,
    },
    /// Put one away; `rehabilitate` brings it back.
    Archive {
        /// Its name.
        name: String,
        /// Why, for the record.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Make an archived one active again, checked, tested and signed anew.
    Rehabilitate {
        /// Its name.
        name: String,
    },
    /// Let one be called no more until it is approved again.
    Quarantine {
        /// Its name.
        name: String,
        /// Why, for the record.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Make a quarantined one active again, checked, tested and signed anew.
    Approve {
        /// Its name.
        name: String,
    },
    /// Make one that was fused into another active again.
    Defuse {
        /// Its name.
        name: String,
    },
    /// Give calls another of its signed versions.
    Promote {
        /// Its name.
        name: String,
        /// The version.
        version: String,
    },
    /// Let synthesised ones that nobody uses fall below the threshold, as the daemon does each night.
    Age,
    /// Let a builtin be called again.
    Enable {
        /// Its name.
        name: String,
    },
    /// Let a builtin be called no more.
    Disable {
        /// Its name.
        name: String,
    },
}

pub(super) fn run(context: &Context, command: &Executor) -> Result<u8, Failure> {
    match command {
        Executor::List => list(context),
        Executor::Show { name } => show(context, name),
        Executor::Run { name, args, approve } => call(context, name, args, *approve),
        Executor::Check { dir } => check_folder(context, dir),
        Executor::Add { dir } => add(context, dir),
        Executor::Sign { dir } => sign(context, dir),
        Executor::Verify => verify(context),
        Executor::History { name, calls } => life::history(context, name, *calls),
        Executor::Archive { name, reason } => life::move_away(context, name, LifeCycle::Archived, reason.as_deref()),
        Executor::Quarantine { name, reason } => {
            life::move_away(context, name, LifeCycle::Quarantined, reason.as_deref())
        }
        Executor::Rehabilitate { name } => life::readmit(context, name, LifeCycle::Archived),
        Executor::Approve { name } => life::readmit(context, name, LifeCycle::Quarantined),
        Executor::Defuse { name } => life::readmit(context, name, LifeCycle::Fused),
        Executor::Promote { name, version } => life::promote(context, name, version),
        Executor::Age => life::age(context),
        Executor::Enable { name } => switch(context, name, true),
        Executor::Disable { name } => switch(context, name, false),
    }
}

fn state(life: LifeCycle) -> String {
    output::plain(&json!(life))
}

fn list(context: &Context) -> Result<u8, Failure> {
    let looks_back = context.global.at.is_some();
    let instance = if looks_back { context.instance()? } else { context.ready(&context.flags())? };
    // Of how it stood, nothing is proposed now.
    let proposed = if looks_back { Vec::new() } else { ageing::proposed(&instance, now())? };
    let mut rows = Vec::new();
    for (name, entry) in &instance.catalog().executors {
        // What was only signed here is not here.
        let Some(current) = entry.current.clone() else { continue };
        let manifest = entry.versions.get(&current).and_then(metnos_projections::machines::catalog::Version::manifest);
        let description = manifest.map(|manifest| match context.language(&instance) {
            metnos_projections::messages::Language::En => manifest.description.en,
            metnos_projections::messages::Language::It => manifest.description.it,
        });
        if context.global.json {
            let mut line = json!({ "name": name, "version": current, "state": entry.life, "reason": entry.reason, "description": description });
            if proposed.iter().any(|idle| idle.name == *name) {
                line["proposed"] = "archive".into();
            }
            output::result_json(&line);
        }
        rows.push(vec![name.clone(), current, state(entry.life), output::short(&description.unwrap_or_default(), 70)]);
    }
    if !context.global.json {
        let heading = |name: &str| context.text(&instance, &format!("executor.heading_{name}"), &json!({}));
        let headings = ["executor", "version", "state", "does"].map(heading);
        output::result(&output::table(&headings.each_ref().map(String::as_str), &rows));
        for idle in &proposed {
            output::result(&life::proposal(context, &instance, idle));
        }
    }
    Ok(0)
}

fn show(context: &Context, name: &str) -> Result<u8, Failure> {
    let instance = context.instance()?;
    let catalog = instance.catalog();
    let found = catalog.find(name);
    let (name, entry) =
        found.ok_or_else(|| Failure::refused(("error.no_executor", json!({ "name": name })), by("next.executors")))?;
    let current = entry.current.clone().unwrap_or_default();
    let version = entry.versions.get(&current);
    let signed = version.and_then(|version| version.signed.as_ref());
    let birth = version.and_then(|version| version.birth.as_ref());
    if context.global.json {
        let manifest =
            version.and_then(|version| version.installed.as_ref()).map(|installed| installed.manifest.value());
        output::result_json(
            &json!({ "name": name, "version": current, "state": entry.life, "reason": entry.reason, "signed": signed, "birth": birth, "manifest": manifest }),
        );
        return Ok(0);
    }
    let manifest = version.and_then(metnos_projections::machines::catalog::Version::manifest);
    let mut lines = vec![format!("{name} {current} · {} ({})", state(entry.life), entry.reason)];
    if let Some(manifest) = manifest {
        lines.push(match context.language(&instance) {
            metnos_projections::messages::Language::En => manifest.description.en.clone(),
            metnos_projections::messages::Language::It => manifest.description.it.clone(),
        });
        let capabilities: Vec<&str> = manifest.capabilities.iter().map(|capability| capability.name.as_str()).collect();
        lines.push(format!("capabilities  {}", capabilities.join(", ")));
        let limits = &manifest.contract;
        lines.push(format!(
            "limits        {} s, {} MiB, {} bytes of reply",
            limits.timeout_s, limits.memory_mb, limits.output_bytes_max
        ));
    }
    if let Some(signed) = signed {
        lines.push(format!("signed by     {}", signed.key_id));
        lines.push(format!("lock          {}", signed.lock));
    }
    if let Some(birth) = birth {
        let passed = birth.cases.iter().filter(|case| case.passed).count();
        lines.push(format!(
            "birth tests   {passed} of {} passed on {}, cage {}",
            birth.cases.len(),
            birth.interpreter,
            birth.cage
        ));
    }
    output::result(&lines.join("\n"));
    Ok(0)
}

/// One call on what the person typed; an act is a turn, with its question and its record.
fn call(context: &Context, name: &str, args: &str, approve: Approve) -> Result<u8, Failure> {
    let args: Value = serde_json::from_str(args).ok().filter(Value::is_object).ok_or_else(|| {
        Failure::usage(
            by("error.args_no_object"),
            "metnos executor run get_now --args '{\"timezone\": \"Europe/Rome\"}'",
        )
    })?;
    let instance = context.ready(&context.flags())?;
    let loaded = match Loaded::from_catalog(&instance.catalog(), &instance.log.reader(), name) {
        Ok(loaded) => loaded,
        Err(error) if context.global.json => {
            output::result_json(&json!({
                "ok": false, "error": error.to_string(), "error_class": error.class(), "cage": null, "duration_ms": 0, "trace_id": "",
            }));
            return Ok(1);
        }
        Err(error) => return Err(refused(&error)),
    };
    let text = format!("executor run {name} --args {args}");
    let approve = if context.global.yes { Approve::All } else { approve };
    let turn = ask::carry_out(context, &instance, text, approve, Some(json!({ "tool": loaded.name, "args": args })))?;
    if !context.global.json {
        let code = ask::tell(context, &instance, &turn)?;
        if turn.final_class.as_deref() == Some("invalid_args") {
            let hint = context.text(&instance, "next.executor_args", &json!({}));
            context.hint(&hint);
        }
        return Ok(code);
    }
    output::result_json(&called(&turn, &ask::record(&instance, &turn)?));
    Ok(ask::exit_code(&turn))
}

/// What came of the one call of a turn, for scripts (`cli.md`, «executor run»).
fn called(turn: &Turn, record: &Value) -> Value {
    let good = turn.final_kind.as_deref() == Some("answer") && turn.step().is_some_and(|step| step.ok);
    let (step, said) = (&record["steps"][0], turn.step());
    let mut line = json!({
        "ok": good, "cage": step["cage"], "duration_ms": step["duration_ms"].as_u64().unwrap_or_default(),
        "trace_id": said.map_or("", |step| step.trace_id.as_str()), "turn_id": record["turn_id"],
    });
    if good {
        // As the core completed it: of what acts, what was done.
        line["result"] = said.and_then(|step| step.result.as_deref()).cloned().unwrap_or_default();
    } else {
        let result = said.and_then(|step| step.result.as_deref()).and_then(|result| result.get("error")).cloned();
        line["error"] = result.unwrap_or_else(|| record["final_message"].clone());
        line["error_class"] = record["error_class"].clone();
    }
    line
}

fn refused(error: &LoadError) -> Failure {
    Failure::refused(format!("{}: {error}", error.class()), by("next.executors"))
}

fn check_folder(context: &Context, dir: &std::path::Path) -> Result<u8, Failure> {
    let instance = context.instance()?;
    let source = Source::read(&console::path(dir)).map_err(loader::InstallError::from)?;
    let candidate = loader::candidate_of_others(&instance, source)?;
    loader::signer::of(&instance.catalog(), &candidate).map_err(loader::InstallError::from)?;
    let birth = loader::birth::run(&instance, &candidate)?;
    let failed: Vec<_> = birth.cases.iter().filter(|case| !case.passed).collect();
    if context.global.json {
        output::result_json(
            &json!({ "ok": failed.is_empty(), "name": birth.name, "version": birth.version, "lock": candidate.loaded.declared.digest(), "cases": birth.cases }),
        );
    } else {
        for case in &birth.cases {
            let reason = case.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            output::result(&format!("{} {}{reason}", if case.passed { "ok    " } else { "failed" }, case.name));
        }
        output::result(&format!(
            "{} {}: {} of {} birth cases pass",
            birth.name,
            birth.version,
            birth.cases.len() - failed.len(),
            birth.cases.len()
        ));
    }
    Ok(u8::from(!failed.is_empty()))
}

/// What a capability lets an executor use, for the question; its globs as they were written, with where they lead.
fn uses(capability: &Capability, places: &Places) -> Value {
    let quoted = |globs: &[String]| globs.iter().map(|glob| visible::quoted(glob).into_owned()).collect::<Vec<_>>();
    let leads = |glob: &str| {
        let named = PathBuf::from(places.resolve(&cage_plan::folder(glob)));
        let at = named.canonicalize().ok().filter(|at| *at != core_paths::lexical(&named))?;
        Some(visible::quoted(&at.to_string_lossy()).into_owned())
    };
    let is_path = grants::kind(&capability.name) == Kind::Path;
    let globs = capability.hint.iter().filter(|glob| *glob != cage_plan::ARGS);
    let places: Vec<Value> = globs
        .map(|glob| json!({ "glob": visible::quoted(glob), "leads": if is_path { leads(glob) } else { None } }))
        .collect();
    json!({
        "name": capability.name, "places": places, "arguments": quoted(&capability.from_args),
        "except": quoted(&capability.except),
    })
}

/// What an executor does that reaches beyond files and cannot be taken back, for the question.
fn acts(manifest: &Manifest) -> Vec<Value> {
    let is_act = |capability: &&Capability| match capability.name.as_str() {
        // Said by themselves: messages are planned, like what is changed.
        "fs:write" | policy::CHANNEL => false,
        "network:http" | "network:sites" => manifest.contract.side_effects,
        name => policy::registered(name).is_none_or(|known| known.critical),
    };
    let programs = |capability: &Capability| match capability.name.as_str() {
        "code:exec" => capability.hint.iter().map(|name| visible::quoted(name).into_owned()).collect(),
        _ => Vec::new(),
    };
    let said = |capability: &Capability| json!({ "name": capability.name, "programs": programs(capability) });
    manifest.capabilities.iter().filter(is_act).map(said).collect()
}

/// What an executor may use and do, as the questions about it say it.
fn can_do(context: &Context, instance: &Instance, manifest: &Manifest) -> String {
    let says = manifest.capabilities.iter().any(|capability| capability.name == policy::CHANNEL);
    let changes = match () {
        () if manifest.writes_by_itself().next().is_some() => "itself",
        () if manifest.contract.side_effects || says => "planned",
        () => "nothing",
    };
    let places = instance.dirs.places();
    let uses: Vec<Value> = manifest.capabilities.iter().map(|capability| uses(capability, &places)).collect();
    // What may not happen twice is asked about at any level.
    let is_unasked = instance.autonomy() == "full" && manifest.contract.idempotent;
    let values = json!({
        "uses": uses, "changes": changes, "acts": acts(manifest), "leaks": manifest.can_leak(), "messages": says,
        "unasked": is_unasked,
    });
    context.text(instance, "consent.executor_can_do", &values)
}

/// The version of the same name that calls get now.
fn replaced(instance: &Instance, loaded: &Loaded) -> Option<String> {
    let catalog = instance.catalog();
    let entry = catalog.executors.get(&loaded.name).filter(|entry| entry.life == LifeCycle::Active)?;
    entry.current.clone().filter(|current| *current != loaded.version)
}

fn add(context: &Context, dir: &std::path::Path) -> Result<u8, Failure> {
    let instance = context.ready(&context.flags())?;
    let folder = console::path(dir);
    let source = Source::read(&folder).map_err(loader::InstallError::from)?;
    let candidate = loader::candidate_of_others(&instance, source)?;
    let signer = loader::signer::of(&instance.catalog(), &candidate).map_err(loader::InstallError::from)?;
    let replaced = replaced(&instance, &candidate.loaded);
    let values = json!({
        "name": candidate.loaded.name, "version": candidate.loaded.version, "replaces": replaced,
        "folder": visible::text(&folder.to_string_lossy()), "can_do": can_do(context, &instance, &candidate.loaded.manifest),
        "key": signer.as_ref().map(|signer| &signer.key_id), "key_name": signer.as_ref().and_then(|signer| signer.name.as_ref()),
    });
    let tested = loader::tested(&instance, candidate)?;
    terminal::agreed(context, &instance, ("consent.add_executor", &values), "error.not_added")?;
    let birth = loader::take(&instance, tested, "owner")?;
    super::ask::follow(context, &instance);
    if context.global.json {
        output::result_json(
            &json!({ "ok": true, "name": birth.name, "version": birth.version, "cases": birth.cases.len(), "key": values["key"] }),
        );
    } else {
        let values =
            json!({ "name": birth.name, "version": birth.version, "count": birth.cases.len(), "key": values["key"] });
        output::result(&context.text(&instance, "executor.added", &values));
    }
    Ok(0)
}

/// The folder that is meant: one that is there, or that of an executor's current version below the workspace.
fn meant(instance: &Instance, dir: &std::path::Path) -> PathBuf {
    let folder = console::path(dir);
    if folder.is_dir() {
        return folder;
    }
    let catalog = instance.catalog();
    let found = dir.to_str().and_then(|name| catalog.find(name));
    let current = found.and_then(|(name, entry)| Some((name, entry.current.as_deref()?)));
    current.map_or(folder, |(name, current)| instance.dirs.workspace.join("executors").join(name).join(current))
}

fn sign(context: &Context, dir: &std::path::Path) -> Result<u8, Failure> {
    let instance = context.ready(&context.flags())?;
    let folder = meant(&instance, dir);
    let candidate = loader::candidate(Source::read(&folder).map_err(loader::InstallError::from)?)?;
    let is_signed = matches!(loader::signer::of(&instance.catalog(), &candidate), Ok(Some(_)));
    // What is signed already was taken as what it is.
    if !is_signed {
        loader::by_others(&candidate)?;
    }
    let values = json!({
        "name": candidate.loaded.name, "version": candidate.loaded.version, "key": instance.keys.key_id(),
        "can_do": can_do(context, &instance, &candidate.loaded.manifest),
    });
    // Nobody need agree to what is done already.
    if !is_signed {
        terminal::agreed(context, &instance, ("consent.sign_executor", &values), "error.not_signed")?;
    }
    let signed = loader::sign_folder(&instance, &folder, candidate).map_err(|error| {
        if error.is_of_a_change() {
            Failure::refused(("error.signed_changed", values.clone()), by("next.new_version"))
        } else {
            error.into()
        }
    })?;
    ask::follow(context, &instance);
    let is_own = signed.key_id == instance.keys.key_id();
    if context.global.json {
        output::result_json(&json!({
            "ok": true, "name": signed.name, "version": signed.version, "key": signed.key_id, "lock": signed.lock,
            "cases": signed.cases, "signed_before": signed.cases.is_none(), "folder": folder,
        }));
    } else {
        let values = json!({
            "name": signed.name, "version": signed.version, "key": signed.key_id, "count": signed.cases,
            "folder": folder, "is_own": is_own, "public": instance.dirs.config.join("keys/instance.pub"),
        });
        output::result(&context.text(&instance, "executor.signed", &values));
    }
    Ok(0)
}

fn switch(context: &Context, name: &str, enabled: bool) -> Result<u8, Failure> {
    use metnos_projections::machines::catalog::{Command, decide};
    let instance = context.ready(&context.flags())?;
    let command = Command::Switch { name: name.to_owned(), enabled, by: "owner".to_owned() };
    instance
        .change(&format!("executor/{name}"), Vec::new(), |projected| decide(&projected.catalog, command))?
        .map_err(|error| Failure::refused(error.to_string(), by("next.executors")))?;
    ask::follow(context, &instance);
    let now = if enabled { "enabled" } else { "disabled" };
    if context.global.json {
        output::result_json(&json!({ "ok": true, "name": name, "state": now }));
    } else {
        let values = json!({ "name": name, "enabled": enabled });
        output::result(&context.text(&instance, "executor.switched", &values));
    }
    Ok(0)
}

fn verify(context: &Context) -> Result<u8, Failure> {
    let instance = context.instance()?;
    let notices = instance.alone(|| check::all(&instance))?;
    let mut bad: Vec<(String, String)> = check::quarantined(&instance);
    let active: Vec<String> = instance.catalog().all_active().map(|(name, _, _)| name.to_owned()).collect();
    for name in &active {
        if let Err(error) = Loaded::from_catalog(&instance.catalog(), &instance.log.reader(), name) {
            bad.push((name.clone(), error.to_string()));
        }
    }
    for notice in &notices {
        if let check::Notice::Restored { .. } = notice {
            context.say(&context.notice(&instance, notice));
        }
    }
    if context.global.json {
        let bad: Vec<Value> = bad.iter().map(|(name, reason)| json!({ "name": name, "reason": reason })).collect();
        output::result_json(&json!({ "ok": bad.is_empty(), "active": active, "quarantined": bad }));
    } else {
        for (name, reason) in &bad {
            output::result(&context.text(&instance, "notice.quarantined", &json!({ "name": name, "reason": reason })));
        }
        let values = json!({ "count": active.len(), "bad": bad.len() });
        output::result(&context.text(&instance, "executor.verified", &values));
    }
    Ok(u8::from(!bad.is_empty()))
}

//! Executors that live in the binary: the same contract, schema and eight steps as any other, but no cage, since they
//! look at what a cage cannot see (the host's processes, the log). Enabled or disabled, never changed. None changes anything
//! by itself: it plans, and the turn that called it asks and commits; a call that was cut off runs again.
//!
//! The catalog knows them by events, as it knows every executor; a call is only carried out when what the log says about
//! one is what this release was built with.

mod dialogs;
mod find_tasks_done;
mod get_processes;
mod get_tasks_reason;
mod list_skills;
mod past;
mod recurring;
mod send_messages;
mod undo_last_turn;

use std::io;

use metnos_log::event::executor::{ExecutorInstalled, LifeCycle, LifeCycleChanged, VersionPromoted};
use metnos_log::event::turn::TurnOpened;
use metnos_log::{Event, TurnId};
use metnos_projections::machines::actors::Actors;
use metnos_projections::machines::catalog::Version;
use metnos_projections::manifest::Manifest;
use metnos_projections::messages::Language;
use metnos_projections::rules::policy;
use serde_json::{Value, json};

use crate::effects::plan::{Around, Planned};
use crate::instance::{Instance, InstanceError};

/// One builtin.
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    manifest: &'static str,
    schema: &'static str,
    run: fn(&Call<'_>) -> Answer,
}

/// A call of a builtin.
pub struct Call<'a> {
    /// The instance.
    pub instance: &'a Instance,
    /// The turn that it belongs to.
    pub turn: TurnId,
    /// How that turn began.
    pub opened: Option<&'a TurnOpened>,
    /// The language to answer in.
    pub language: Language,
    /// Its arguments, validated.
    pub args: &'a Value,
    /// What a person answered to the questions that it put.
    pub answers: &'a [Value],
}

/// What changes are planned around that stage nothing and reach no server: those of builtins.
fn planned_around<T>(instance: &Instance, people: Option<&Actors>, plan: impl FnOnce(Around<'_>) -> T) -> T {
    plan(Around {
        staged: &|_, _| Err(io::ErrorKind::NotFound.into()),
        name_of: &|bytes| instance.log.keyed_blob_hash(bytes),
        keys: &instance.keys,
        trash: &instance.trash(),
        home: &instance.dirs.user_home.to_string_lossy(),
        own: &instance.dirs.own(),
        web: (&[], false),
        people,
    })
}

/// What a builtin answers.
pub struct Answer {
    /// The result, as its schema says.
    pub result: Value,
    /// What it wants changed.
    pub planned: Planned,
}

impl Answer {
    fn of(result: Value) -> Self {
        Self { result, planned: Planned::default() }
    }

    fn failure(class: &str, error: &str) -> Self {
        Self::of(json!({ "ok": false, "error_class": class, "error": error }))
    }
}

/// All of them.
pub const ALL: &[Builtin] = &[
    Builtin {
        name: "get_processes",
        manifest: include_str!("get_processes/manifest.toml"),
        schema: include_str!("get_processes/schema.json"),
        run: get_processes::run,
    },
    Builtin {
        name: "cancel_recurring",
        manifest: include_str!("cancel_recurring/manifest.toml"),
        schema: include_str!("cancel_recurring/schema.json"),
        run: recurring::cancel,
    },
    Builtin {
        name: "list_recurring",
        manifest: include_str!("list_recurring/manifest.toml"),
        schema: include_str!("list_recurring/schema.json"),
        run: recurring::list,
    },
    Builtin {
        name: "modify_recurring",
        manifest: include_str!("modify_recurring/manifest.toml"),
        schema: include_str!("modify_recurring/schema.json"),
        run: recurring::modify,
    },
    Builtin {
        name: "run_now_recurring",
        manifest: include_str!("run_now_recurring/manifest.toml"),
        schema: include_str!("run_now_recurring/schema.json"),
        run: recurring::run_now,
    },
    Builtin {
        name: "schedule_recurring",
        manifest: include_str!("schedule_recurring/manifest.toml"),
        schema: include_str!("schedule_recurring/schema.json"),
        run: recurring::schedule,
    },
    Builtin {
        name: "send_messages",
        manifest: include_str!("send_messages/manifest.toml"),
        schema: include_str!("send_messages/schema.json"),
        run: send_messages::run,
    },
    Builtin {
        name: "toggle_recurring",
        manifest: include_str!("toggle_recurring/manifest.toml"),
        schema: include_str!("toggle_recurring/schema.json"),
        run: recurring::toggle,
    },
    Builtin {
        name: "show_recurring",
        manifest: include_str!("show_recurring/manifest.toml"),
        schema: include_str!("show_recurring/schema.json"),
        run: recurring::show,
    },
    Builtin {
        name: "history_recurring",
        manifest: include_str!("history_recurring/manifest.toml"),
        schema: include_str!("history_recurring/schema.json"),
        run: recurring::history,
    },
    Builtin {
        name: "list_skills",
        manifest: include_str!("list_skills/manifest.toml"),
        schema: include_str!("list_skills/schema.json"),
        run: list_skills::run,
    },
    Builtin {
        name: "find_tasks_done",
        manifest: include_str!("find_tasks_done/manifest.toml"),
        schema: include_str!("find_tasks_done/schema.json"),
        run: find_tasks_done::run,
    },
    Builtin {
        name: "get_tasks_reason",
        manifest: include_str!("get_tasks_reason/manifest.toml"),
        schema: include_str!("get_tasks_reason/schema.json"),
        run: get_tasks_reason::run,
    },
    Builtin {
        name: "undo_last_turn",
        manifest: include_str!("undo_last_turn/manifest.toml"),
        schema: include_str!("undo_last_turn/schema.json"),
        run: undo_last_turn::run,
    },
    Builtin {
        name: "get_inputs",
        manifest: include_str!("get_inputs/manifest.toml"),
        schema: include_str!("get_inputs/schema.json"),
        run: dialogs::get_inputs,
    },
    Builtin {
        name: "get_approval",
        manifest: include_str!("get_approval/manifest.toml"),
        schema: include_str!("get_approval/schema.json"),
        run: dialogs::get_approval,
    },
    Builtin {
        name: "request_disambiguation_from_user",
        manifest: include_str!("request_disambiguation_from_user/manifest.toml"),
        schema: include_str!("request_disambiguation_from_user/schema.json"),
        run: dialogs::disambiguation,
    },
];

/// The builtin of that name.
pub fn find(name: &str) -> Option<&'static Builtin> {
    ALL.iter().find(|builtin| builtin.name == name)
}

/// Whether the log's version is the work of a release and of no key: such a version has no files to compare.
pub fn is_builtin(name: &str, version: &Version) -> bool {
    version.signed.is_none() && find(name).is_some()
}

impl Builtin {
    /// Its manifest.
    pub fn manifest(&self) -> Manifest {
        toml::from_str(self.manifest).expect("a builtin's manifest is parsed by a test")
    }

    /// What its planned changes count as: of files, of what the log itself keeps.
    pub fn changes_as(&self) -> &'static [&'static str] {
        match self.name {
            "undo_last_turn" => &["fs:write", "metnos:write"],
            "cancel_recurring" | "modify_recurring" | "run_now_recurring" | "schedule_recurring"
            | "toggle_recurring" => &["metnos:write"],
            "send_messages" => &[policy::CHANNEL],
            _ => &[],
        }
    }

    /// Its schema.
    pub fn schema(&self) -> Value {
        serde_json::from_str(self.schema).expect("a builtin's schema is parsed by a test")
    }

    /// Whether what the log says about it is what this release was built with.
    pub fn is_as_built(&self, version: &Version) -> bool {
        let manifest = serde_json::to_value(self.manifest()).expect("a manifest is plain data");
        let installed = version.installed.as_ref();
        installed
            .is_some_and(|installed| installed.manifest == manifest.into() && installed.schema == self.schema().into())
    }

    /// Carries a call out.
    pub fn call(&self, call: &Call<'_>) -> Answer {
        (self.run)(call)
    }

    /// What makes it known, from where it stands in its life.
    pub fn events(&self, from: Option<LifeCycle>) -> Vec<Event> {
        let manifest = self.manifest();
        let (name, version) = (manifest.executor.name.clone(), manifest.executor.version.clone());
        let installed = ExecutorInstalled {
            name: name.clone(),
            version: version.clone(),
            artefacts: Vec::new(),
            manifest: serde_json::to_value(&manifest).expect("a manifest is plain data").into(),
            schema: self.schema().into(),
        };
        let mut events: Vec<Event> =
            vec![installed.into(), VersionPromoted { name: name.clone(), version: version.clone() }.into()];
        if from.is_none() {
            let (reason, by) = ("part of this release".to_owned(), "release".to_owned());
            events.push(LifeCycleChanged { name, version, from, to: LifeCycle::Active, reason, by }.into());
        }
        events
    }
}

/// Tells the log about every builtin that it does not know in this release's form. What was disabled stays disabled.
pub fn install_missing(instance: &Instance) -> Result<usize, InstanceError> {
    let mut told = 0;
    for builtin in ALL {
        let catalog = instance.catalog();
        let entry = catalog.executors.get(builtin.name);
        let current = entry.and_then(|entry| entry.versions.get(entry.current.as_deref()?));
        let is_another = current.is_some_and(|version| version.signed.is_some());
        if is_another || current.is_some_and(|version| builtin.is_as_built(version)) {
            continue;
        }
        let events = builtin.events(entry.map(|entry| entry.life));
        instance.record(&format!("executor/{}", builtin.name), events)?;
        told += 1;
    }
    Ok(told)
}

#[cfg(test)]
mod tests {
    use metnos_projections::machines::turn::forms;
    use metnos_projections::views::audit::quoting::TELLING;

    use super::*;
    use crate::gateway::Loaded;

    #[test]
    fn every_builtin_has_a_whole_manifest_and_schema() {
        for builtin in ALL {
            let manifest = builtin.manifest();
            assert_eq!(manifest.executor.name, builtin.name);
            assert_eq!(manifest.executor.created_by, "builtin");
            assert!(manifest.presentation.is_some(), "{}", builtin.name);
            for templates in [&manifest.sentences.en, &manifest.sentences.it] {
                // No sentence asks for a question: a planner does.
                let least = if forms::is_dialog(builtin.name) { 0 } else { 6 };
                assert!(templates.len() >= least, "{}", builtin.name);
            }
            let classes = &manifest.contract.error_classes;
            assert!(
                classes.iter().all(|class| crate::manifest::ERROR_CLASSES.contains(&class.as_str())),
                "{classes:?}"
            );
            let schema = builtin.schema();
            let properties = schema["definitions"]["Input"]["properties"].as_object().unwrap();
            assert_eq!(
                properties.keys().collect::<Vec<_>>(),
                manifest.arguments.keys().collect::<Vec<_>>(),
                "{}",
                builtin.name
            );
            assert!(Loaded::new(manifest, &schema, Vec::new()).is_ok());
        }
    }

    /// The proof of one turn hides what comes of these; scheduling something tells of nothing but that itself.
    #[test]
    fn what_reads_or_changes_the_record_of_other_turns_is_known_to_quote_them() {
        let reads = |builtin: &&Builtin| builtin.manifest().capabilities.iter().any(|it| it.name == "metnos:read");
        let changes = |builtin: &&Builtin| builtin.changes_as().contains(&"metnos:write");
        let alone = "schedule_recurring";
        let quoting = ALL.iter().filter(|it| reads(it) || changes(it) && it.name != alone).map(|it| it.name);
        let quoting: std::collections::BTreeSet<&str> = quoting.collect();
        assert!(quoting.iter().eq(TELLING), "{quoting:?}");
    }
}

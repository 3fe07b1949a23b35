//! `metnos config`: every setting with where it came from.

use clap::Subcommand;
use serde_json::{Value, json};

use super::{Context, Failure, output};
use crate::config::{ConfigError, Dirs, Settings, settings};
use crate::instance::InstanceError;

/// Show, check or change settings.
#[derive(Subcommand, Debug)]
pub(super) enum Config {
    /// Every setting, its value and where it came from.
    Show,
    /// Say whether metnos.toml is right.
    Check,
    /// Change one setting in metnos.toml.
    Set {
        /// Its name.
        key: String,
        /// Its value; lists are separated by commas.
        value: String,
    },
}

impl Config {
    /// Whether it changes what the instance records.
    pub(super) fn needs_instance(&self) -> bool {
        matches!(self, Self::Set { .. })
    }
}

pub(super) fn run(context: &Context, command: &Config) -> Result<u8, Failure> {
    let dirs = match &context.served {
        Some(served) => served.instance.dirs.clone(),
        None => Dirs::resolve(context.global.home.as_deref(), &context.variables).map_err(InstanceError::from)?,
    };
    let path = dirs.config.join("metnos.toml");
    match command {
        Config::Check => {
            Settings::resolve(&path, &context.flags(), &context.variables)?;
            let there = path.exists();
            let text = if there {
                format!("{} is right", path.display())
            } else {
                format!("{} does not exist; the defaults hold", path.display())
            };
            if context.global.json {
                output::result_json(&json!({ "ok": true, "file": path, "exists": there }));
            } else {
                output::result(&text);
            }
            Ok(0)
        }
        Config::Set { key, value } => {
            dirs.create().map_err(InstanceError::from)?;
            let before = std::fs::read(&path).ok();
            settings::set(&path, key, value)?;
            // Opening records the new value, so that replay knows it; where it cannot be recorded, it is not set.
            if let Err(failure) = context.instance() {
                let unset = |source| InstanceError::Config(ConfigError::Io { path: path.clone(), source });
                before
                    .map_or_else(|| std::fs::remove_file(&path), |before| crate::signing::write_private(&path, &before))
                    .map_err(unset)?;
                return Err(failure);
            }
            show(context, &path)
        }
        Config::Show => show(context, &path),
    }
}

fn show(context: &Context, path: &std::path::Path) -> Result<u8, Failure> {
    let settings = Settings::resolve(path, &context.flags(), &context.variables)?;
    let listed = settings.listed();
    if context.global.json {
        let values: Value = listed
            .iter()
            .map(|(key, value, source)| (key.clone(), json!({ "value": value, "from": source })))
            .collect();
        output::result_json(&values);
        return Ok(0);
    }
    let rows: Vec<Vec<String>> =
        listed.into_iter().map(|(key, value, source)| vec![key, value, source.to_string()]).collect();
    output::result(&output::table(&["setting", "value", "from"], &rows));
    Ok(0)
}

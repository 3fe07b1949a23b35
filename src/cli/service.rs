//! `metnos service`: a unit of the user's own systemd that keeps `metnos serve` running.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Subcommand;
use metnos_projections::messages::Messages;
use serde_json::json;

use super::output::by;
use super::{Context, Failure, output};
use crate::cause::plain;
use crate::config::{Dirs, Settings};
use crate::instance::InstanceError;

const UNIT: &str = "metnos.service";

/// Keep the daemon running.
#[derive(Subcommand, Debug)]
pub(super) enum Service {
    /// Write the unit, and start it now and at every login.
    Install {
        /// Print the unit and do nothing.
        #[arg(long)]
        print: bool,
    },
    /// Stop it and remove the unit; nothing else is touched.
    Remove,
}

pub(super) fn run(context: &Context, command: &Service) -> Result<u8, Failure> {
    let home = context.global.home.as_deref().or(context.variables.home.as_deref());
    let home = home.map(std::path::absolute).transpose().map_err(|error| Failure::internal(error.to_string()))?;
    match command {
        Service::Install { print: true } => {
            let text = unit(&program()?, home.as_deref())?;
            if context.global.json {
                output::result_json(&json!({ "ok": true, "unit": place(context)?, "text": text }));
            } else {
                output::content(&text);
            }
            Ok(0)
        }
        Service::Install { print: false } => install(context, home.as_deref()),
        Service::Remove => remove(context),
    }
}

fn program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::internal(format!("this program has no path: {error}")))
}

/// Where a user's own units lie.
fn place(context: &Context) -> Result<PathBuf, Failure> {
    let config = context.variables.xdg_config.clone();
    let config = config
        .filter(|path| path.is_absolute())
        .or_else(|| context.variables.user_home.as_ref().map(|home| home.join(".config")));
    let config = config.ok_or_else(|| Failure::usage(by("error.no_name_home"), "HOME=… metnos service install"))?;
    Ok(config.join("systemd/user").join(UNIT))
}

/// The unit's text.
fn unit(program: &Path, home: Option<&Path>) -> Result<String, Failure> {
    let quoted = |path: &OsStr| {
        let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
        let text = text.ok_or_else(|| Failure::usage(by("error.bad_unit_path"), by("next.plain_path")))?;
        // systemd reads a percent sign, a dollar and a backslash as its own.
        let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
        Ok::<_, Failure>(format!("\"{text}\""))
    };
    let mut command = quoted(program.as_os_str())?;
    if let Some(home) = home {
        command = format!("{command} --home {}", quoted(home.as_os_str())?);
    }
    Ok(format!(
        "[Unit]\nDescription=Metnos, the household assistant\n\n\
         [Service]\nType=exec\nExecStart={command} serve\nRestart=on-failure\nRestartSec=2\nTimeoutStopSec=10\n\
         Delegate=memory pids\n\n\
         [Install]\nWantedBy=default.target\n"
    ))
}

fn install(context: &Context, home: Option<&Path>) -> Result<u8, Failure> {
    let place = place(context)?;
    let text = unit(&program()?, home)?;
    let written = || {
        if let Some(folder) = place.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let fresh = place.with_extension("service.new");
        std::fs::write(&fresh, &text)?;
        std::fs::rename(&fresh, &place)
    };
    let failed = |error: io::Error| {
        Failure::failed(
            ("error.unit_unwritten", json!({ "file": place, "reason": plain(&error) })),
            "metnos service install --print",
        )
    };
    written().map_err(failed)?;
    let is_started = systemctl(&["daemon-reload"]) && systemctl(&["enable", "--now", UNIT]);
    told(context, "service.installed", &place, is_started)?;
    Ok(u8::from(!is_started))
}

fn remove(context: &Context) -> Result<u8, Failure> {
    let place = place(context)?;
    if !place.exists() {
        return Err(Failure::refused(("error.unit_missing", json!({ "file": place })), "metnos service install"));
    }
    let is_stopped = systemctl(&["disable", "--now", UNIT]);
    let failed = |error: io::Error| {
        Failure::failed(("error.unit_unremoved", json!({ "file": place, "reason": plain(&error) })), by("next.by_hand"))
    };
    std::fs::remove_file(&place).map_err(failed)?;
    let is_told = systemctl(&["daemon-reload"]);
    told(context, "service.removed", &place, is_stopped && is_told)?;
    Ok(0)
}

/// Whether the user's own systemd did something; it says itself why not.
fn systemctl(words: &[&str]) -> bool {
    let status = Command::new("systemctl")
        .arg("--user")
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Says what was done without opening the instance: the daemon may be opening it just now.
fn told(context: &Context, key: &str, place: &Path, is_systemd_there: bool) -> Result<(), Failure> {
    if context.global.json {
        output::result_json(&json!({ "ok": true, "unit": place, "systemd": is_systemd_there }));
        return Ok(());
    }
    let home = context.global.home.as_deref();
    let dirs = Dirs::resolve(home, &context.variables).map_err(InstanceError::from)?;
    let settings = Settings::resolve(&dirs.config.join("metnos.toml"), &context.flags(), &context.variables);
    let language = settings.map_err(InstanceError::from)?.language.unwrap_or_default();
    let messages = Messages::embedded();
    output::result(&messages.say(language, key, json!({ "unit": place, "systemd": is_systemd_there })));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_has_what_bounds_a_call_delegated_to_it() {
        let text = unit(Path::new("/opt/a b/metnos"), Some(Path::new("/home/anna/50%"))).unwrap();
        let section = text.split("\n\n").find(|section| section.starts_with("[Service]\n")).unwrap();
        assert!(section.lines().any(|line| line == "Delegate=memory pids"), "{text}");
        assert!(section.contains("ExecStart=\"/opt/a b/metnos\" --home \"/home/anna/50%%\" serve\n"), "{text}");
    }
}

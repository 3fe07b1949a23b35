//! Chooses the backend by trying it: a helper builds a cage with nothing in it and says what succeeded.
//!
//! The ladder is native, then bubblewrap, then landlock-only, then none; the last only with the consent of whoever started the process.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};

use metnos_projections::rules::cage_plan::Limits;

use super::launch::Launched;
use super::report::{Backend, CageReport, Level};
use super::spare::Spare;
use super::wire::{self, Said};
use super::{Interpreter, Sandbox, SandboxError, Settings, builder, interpreter, launch};

const LIMITS: Limits = Limits {
    wall_ms: 10_000,
    cpu_s: 10,
    memory_mb: 256,
    processes: 16,
    file_bytes: 1 << 20,
    open_files: 256,
    output_bytes_max: 1 << 16,
    stage_bytes: 1 << 20,
    tmp_bytes: 1 << 20,
};

/// Opens a sandbox with the strongest backend that works.
pub(super) fn open(settings: &Settings) -> Result<Sandbox, SandboxError> {
    prepare(settings).map_err(|source| SandboxError::Runtime { path: settings.runtime_dir.clone(), source })?;
    let interpreter = interpreter::find(settings)?;
    if let Some(small) = builder::beside(&settings.helper_exe).filter(|_| !settings.off) {
        let settings = Settings { helper_exe: small, ..settings.clone() };
        match choose(&settings, &interpreter) {
            Ok((capabilities, spare)) if capabilities.missing.is_empty() => {
                return Ok(Sandbox::new(settings, interpreter, capabilities, spare));
            }
            // Whatever it lacks may be its own fault: the binary itself has the last word.
            Ok(_) | Err(_) => tracing::debug!("the small helper is not used"),
        }
    }
    let (capabilities, spare) = choose(settings, &interpreter)?;
    Ok(Sandbox::new(settings.clone(), interpreter, capabilities, spare))
}

fn prepare(settings: &Settings) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&settings.runtime_dir)?;
    let meta = std::fs::metadata(&settings.runtime_dir)?;
    // Whoever may write there may choose the interpreter.
    if meta.uid() != rustix::process::geteuid().as_raw() || meta.mode() & 0o022 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others may write to it"));
    }
    Ok(())
}

fn choose(settings: &Settings, interpreter: &Interpreter) -> Result<(CageReport, Option<Spare>), SandboxError> {
    if settings.off {
        return Ok((uncaged(Vec::new()), None));
    }
    let ladder = match settings.forced {
        Some(Backend::None) | None => vec![Backend::Native, Backend::Bubblewrap, Backend::Landlock],
        Some(forced) => vec![forced],
    };
    let mut reasons = Vec::new();
    for backend in ladder {
        match probe(settings, interpreter, backend, None) {
            Ok((mut report, spare)) => {
                report.missing.extend(reasons);
                return Ok((report, spare));
            }
            Err(reason) => reasons.push(format!("{}: {reason}", backend.name())),
        }
    }
    Err(SandboxError::NoCage { reasons: reasons.join("; ") })
}

fn uncaged(missing: Vec<String>) -> CageReport {
    CageReport {
        level: Level::None,
        missing: [missing, vec!["every layer: whoever started Metnos chose to run without a cage".to_owned()]].concat(),
        ..CageReport::none()
    }
}

/// Builds a cage and leaves it; also returns the helper, where that can build another.
pub(super) fn probe(
    settings: &Settings,
    interpreter: &Interpreter,
    backend: Backend,
    spare: Option<Spare>,
) -> Result<(CageReport, Option<Spare>), String> {
    let mut job = launch::probe_job(interpreter, LIMITS);
    job.backend = backend;
    job.without.clone_from(&settings.without);
    let launched = launch::start(settings, job, &[], None, spare)
        .map_err(|error| format!("the helper does not start: {error}"))?;
    let mut verdict = Err("the helper said nothing".to_owned());
    let mut has_ended = false;
    while let Ok(Some(said)) = wire::receive::<Said>(launched.control.as_fd()) {
        match said {
            Said::Started { report } => verdict = Ok(report),
            Said::Refused { message, .. } => verdict = Err(message),
            Said::Ended { .. } => {
                has_ended = true;
                break;
            }
            Said::Waits { .. } | Said::Begun => break,
        }
    }
    let Launched { mut helper, control, stderr, .. } = launched;
    match verdict {
        Ok(report) if has_ended && backend == Backend::Native => Ok((report, Some(Spare::new(helper, control)))),
        verdict => {
            drop(control);
            helper.wait();
            verdict.map(|report| (report, None)).map_err(|reason| last_words(stderr).unwrap_or(reason))
        }
    }
}

/// What a backend that is a program of its own said before it ended.
fn last_words(stderr: OwnedFd) -> Option<String> {
    let mut bytes = Vec::new();
    // The descriptor does not block: what was said is there by now.
    drop(File::from(stderr).take(4096).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    text.lines().rfind(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned())
}

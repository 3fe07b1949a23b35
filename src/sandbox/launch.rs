//! Starts the helper: spawns our own binary and hands it the job with its descriptors.
//!
//! The daemon never forks: `std::process::Command` without `pre_exec` takes the `posix_spawn` path, whose cost does not
//! grow with the daemon. Nothing is inherited but the socket on standard input.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use super::binaries;
use super::cgroup::Enclosure;
use super::interpreter::RuntimeMount;
use super::limits;
use super::lock::LockFile;
use super::protocol::BOOTSTRAP;
use super::report::{Backend, CageReport};
use super::spare::{Helper, Spare};
use super::stage::Scratch;
use super::wire::{self, GrantJob, Job, Layer, RawPath};
use super::{Call, Grant, HELPER_ARG, Interpreter, Settings};

/// A helper that was started, and our ends of what it was given.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) helper: Helper,
    pub(super) control: OwnedFd,
    pub(super) channel: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) broker: Option<OwnedFd>,
    /// What all of it lives in, where a cgroup is delegated.
    pub(super) cgroup: Option<Enclosure>,
    /// The real folder of stage and temporary files, where the cage has no file system of its own.
    pub(super) scratch: Option<Scratch>,
    /// The stage's path as the executor sees it.
    pub(super) stage: PathBuf,
    /// Of a cage that waited for its call. The host runs there already.
    pub(super) waited: Option<Waited>,
}

/// What the daemon knows of a cage that waits.
#[derive(Debug)]
pub(super) struct Waited {
    pub(super) report: CageReport,
    pub(super) stage: OwnedFd,
    /// Its first process, whose end is the end of all that is in the cage.
    pub(super) pid: Pid,
    pub(super) pidfd: OwnedFd,
    /// Wakes its helper for a call.
    pub(super) timer: OwnedFd,
}

/// A plan that builds a cage and starts nothing.
pub(super) fn probe_job(interpreter: &Interpreter, limits: metnos_projections::rules::cage_plan::Limits) -> Job {
    Job {
        daemon: rustix::process::getpid().as_raw_pid(),
        backend: Backend::Native,
        without: Vec::new(),
        probe: true,
        waits: false,
        exe: RawPath::new(&interpreter.path()),
        runtime: interpreter.runtime.clone(),
        bootstrap: String::new(),
        env: Vec::new(),
        limits,
        grants: Vec::new(),
        lock: false,
        broker: false,
        cgroup: None,
        descriptors: 0,
        stage: RawPath::new(Path::new("/stage")),
        tmp: RawPath::new(Path::new("/tmp")),
    }
}

/// Starts a call's cage.
pub(super) fn launch(
    settings: &Settings,
    interpreter: &Interpreter,
    backend: Backend,
    call: &Call<'_>,
    spare: Option<Spare>,
) -> io::Result<Launched> {
    let mut job = job(settings, interpreter, backend, &call.plan.env, call.net.is_some());
    job.limits = call.plan.limits;
    job.grants = call.grants.iter().map(grant_job).collect();
    let programs: Vec<&str> = call.plan.binaries.iter().chain(&call.plan.parsers).map(String::as_str).collect();
    job.runtime.extend(binaries::needed(&programs, &job.runtime));
    start(settings, job, &call.grants, Some(LockFile::create(call.lock_file.to_owned())?), spare)
}

/// The job of a cage that is built before its call is there. Of that, it is for those with this environment, and with a way to
/// the broker or none.
pub(super) fn waiting_job(
    settings: &Settings,
    interpreter: &Interpreter,
    backend: Backend,
    env: &[String],
    broker: bool,
) -> Job {
    let mut job = job(settings, interpreter, backend, env, broker);
    job.waits = true;
    job
}

/// Whether a cage that waits can be made that of a call: what a grant would change of the cage's own places cannot be changed
/// later, nor can a rule for writing be added.
pub(super) fn can_wait(job: &Job, call: &Call<'_>) -> bool {
    let apart = |at: &Path, own: &Path| !own.starts_with(at) && !at.starts_with(own);
    let is_apart = |at: &Path| {
        let mut runtime = job.runtime.iter().map(RuntimeMount::path);
        let own = ["/dev", "/proc"].iter().all(|own| apart(at, Path::new(own))) && apart(at, &job.stage.path());
        own && runtime.all(|own| apart(at, &own))
    };
    // What lies in `/tmp` appears in the cage's own, in either.
    let can_appear =
        |grant: &Grant| !grant.write && grant.at != Path::new("/") && grant.at != job.tmp.path() && is_apart(&grant.at);
    // Programs are looked up at each call, with the libraries that they need by then.
    let is_plain = call.plan.binaries.is_empty() && call.plan.parsers.is_empty();
    let fits = can_ever_wait(job) && is_plain && call.plan.limits.processes <= job.limits.processes;
    fits && call.grants.iter().all(can_appear)
}

/// Whether such a cage can wait for any call.
pub(super) fn can_ever_wait(job: &Job) -> bool {
    job.backend == Backend::Native && job.is_private()
}

/// What does not hang on the grants and limits of a call.
fn job(settings: &Settings, interpreter: &Interpreter, backend: Backend, env: &[String], broker: bool) -> Job {
    let mut job = probe_job(interpreter, limits::WAITING);
    job.probe = false;
    job.backend = backend;
    job.without.clone_from(&settings.without);
    BOOTSTRAP.clone_into(&mut job.bootstrap);
    env.clone_into(&mut job.env);
    job.broker = broker;
    job
}

pub(super) fn grant_job(grant: &Grant) -> GrantJob {
    GrantJob {
        at: RawPath::new(&grant.at),
        write: grant.write,
        is_dir: grant.is_dir,
        masks: grant.masks.iter().map(|mask| RawPath::new(mask)).collect(),
    }
}

/// Places the scratch folders, starts a helper or takes a spare one, and sends it everything.
pub(super) fn start(
    settings: &Settings,
    mut job: Job,
    grants: &[Grant],
    lock: Option<(LockFile, File)>,
    spare: Option<Spare>,
) -> io::Result<Launched> {
    let scratch = place(settings, &mut job, grants)?;
    let stage = job.stage.path();
    let (channel, their_channel) = wire::socket_pair()?;
    let (stdout, their_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, their_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
    let (broker, their_broker) =
        if job.broker { wire::socket_pair().map(|(ours, theirs)| (Some(ours), Some(theirs)))? } else { (None, None) };
    let cgroup = enclose(settings, &mut job);
    let mut sent: Vec<BorrowedFd<'_>> = vec![their_channel.as_fd(), their_stdout.as_fd(), their_stderr.as_fd()];
    job.lock = lock.is_some();
    sent.extend(lock.as_ref().map(|(_, locked)| locked.as_fd()));
    sent.extend(their_broker.as_ref().map(AsFd::as_fd));
    sent.extend(cgroup.as_ref().map(Enclosure::descriptor));
    sent.extend(grants.iter().map(|grant| grant.fd.as_fd()));
    job.descriptors = sent.len();
    let tell =
        |control: BorrowedFd<'_>| wire::send(control, &job).and_then(|()| wire::send_descriptors(control, &sent));
    let begun = spare.and_then(|spare| spare.begin(|control| tell(control).is_ok()));
    let (child, control) = match begun {
        Some(begun) => begun,
        None => fresh(settings, tell)?,
    };
    let helper = Helper::new(child, lock.map(|(file, _)| file));
    let launched = Launched { helper, control, channel, stdout, stderr, broker, cgroup, scratch, stage, waited: None };
    for ours in [Some(&launched.channel), Some(&launched.stdout), Some(&launched.stderr)].into_iter().flatten() {
        wire::set_nonblocking(ours)?;
    }
    Ok(launched)
}

/// Makes the cgroup of a job, where it is to have limits. Where none can be made, the job has those that need none.
fn enclose(settings: &Settings, job: &mut Job) -> Option<Enclosure> {
    let own = settings.cgroup.as_ref().filter(|_| job.has(Layer::Limits))?;
    match own.enclose(&job.limits, job.backend) {
        Ok(made) => {
            job.cgroup = Some(made.caps());
            Some(made)
        }
        Err(error) => {
            tracing::debug!(%error, "a call has no cgroup of its own");
            None
        }
    }
}

/// Starts a helper and tells it what to build.
fn fresh(settings: &Settings, tell: impl FnOnce(BorrowedFd<'_>) -> io::Result<()>) -> io::Result<(Child, OwnedFd)> {
    let (control, theirs) = wire::socket_pair()?;
    let mut child = spawn(settings, theirs)?;
    if let Err(error) = tell(control.as_fd()) {
        child.kill()?;
        child.wait()?;
        return Err(error);
    }
    Ok((child, control))
}

fn spawn(settings: &Settings, socket: OwnedFd) -> io::Result<Child> {
    let mut command = Command::new(&settings.helper_exe);
    command
        .arg(HELPER_ARG)
        .arg(super::builder::build())
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if settings.without.contains(&Layer::Inheritance) {
        command.arg("keep");
    } else {
        command.env_clear();
    }
    command.spawn()
}

/// Says where stage and temporary files are: in the private root beside all grants, or in a fresh folder on the host.
fn place(settings: &Settings, job: &mut Job, grants: &[Grant]) -> io::Result<Option<Scratch>> {
    if job.is_private() {
        let whole = grants.iter().any(|grant| grant.at == Path::new("/"));
        let free = |path: &Path| {
            !grants
                .iter()
                .any(|grant| (path.starts_with(&grant.at) && grant.at != Path::new("/")) || grant.at.starts_with(path))
        };
        let places = ["/stage", "/run/stage", "/mnt/stage", "/tmp/stage"].map(Path::new);
        let stage = places
            .into_iter()
            .find(|path| free(path))
            .ok_or_else(|| io::Error::other("the grants leave no place for the stage"))?;
        job.stage = RawPath::new(stage);
        let tmp = Path::new("/tmp");
        // What lies in `/tmp` appears in the cage's own.
        let has_tmp = !whole && !grants.iter().any(|grant| tmp.starts_with(&grant.at));
        job.tmp = RawPath::new(if has_tmp { tmp } else { stage });
        return Ok(None);
    }
    let mut name = [0; 8];
    getrandom::fill(&mut name).map_err(|error| io::Error::other(error.to_string()))?;
    let folder = settings.runtime_dir.join(format!("cage-{:016x}", u64::from_ne_bytes(name)));
    let scratch = Scratch(folder.clone());
    for made in [folder.clone(), folder.join("stage"), folder.join("tmp")] {
        std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(&made)?;
    }
    job.stage = RawPath::new(&folder.join("stage"));
    job.tmp = RawPath::new(&folder.join("tmp"));
    Ok(Some(scratch))
}

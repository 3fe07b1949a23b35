//! `metnos serve`: owns the log, and carries out the commands that come over the socket, several at once.
//!
//! It opens and settles everything once, as any command would; after that each command is the same code on a thread of its
//! own. It stops within five seconds of SIGTERM or Ctrl-C: what runs is stopped as Ctrl-C would stop it, and what cannot be
//! stopped in time is left as a kill would leave it, which loses nothing.

mod carry;
mod door;
mod lapses;
mod pages;
mod remote;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use super::output::by;
use super::{Context, Failure, client, output, wire};
use crate::cause::plain;
use crate::channel::telegram::Telegram;
use crate::instance::{Instance, now};
use crate::memory;
use crate::sandbox::cgroup;
use crate::service::{Service, Services};
use lapses::Lapses;
use remote::Remote;

/// How long what runs may take to stop; the rest of the five seconds is for checkpoints.
const STOP_PATIENCE: Duration = Duration::from_secs(4);
/// How often the daemon looks whether its services have stopped.
const STOP_STEP: Duration = Duration::from_millis(10);
/// How long a daemon waits at its end for threads that do nothing of worth any more.
const END_PATIENCE: Duration = Duration::from_millis(100);

/// What commands may know of the daemon that carries them out.
#[derive(Clone, Debug)]
pub(super) struct About {
    /// Its process.
    pub pid: u32,
    /// When it began to serve, µs.
    pub since: i64,
    /// Its socket.
    pub socket: PathBuf,
    /// Where its pages are.
    pub http: Option<SocketAddr>,
}

/// The daemon's instance, for a command that it carries out.
#[derive(Clone)]
pub(super) struct Served {
    /// The instance.
    pub instance: Instance,
    /// The daemon.
    pub about: About,
}

/// A daemon at work.
struct Daemon {
    served: Served,
    started: Instant,
    commands: Mutex<Commands>,
    /// Told when a command has ended.
    ended: Notify,
    is_stopping: AtomicBool,
}

#[derive(Default)]
struct Commands {
    next: u64,
    running: BTreeMap<u64, Arc<Remote>>,
}

impl Daemon {
    fn commands(&self) -> MutexGuard<'_, Commands> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }
}

pub(super) fn run(context: &Context) -> Result<u8, Failure> {
    if let Some(pid) = client::server(context) {
        return Err(already(context, pid));
    }
    memory::share_one_heap();
    // Held until nothing of the instance is left; before anything is started, which would live beside it.
    let _cgroup = cgroup::take();
    let instance = context.ready(&context.flags())?;
    let broken =
        |error: &std::io::Error| Failure::internal(("error.daemon_cannot", json!({ "reason": plain(&error) })));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| broken(&error))?;
    let stopped = runtime.block_on(async {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let stop = async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        Ok::<_, std::io::Error>(serve(context, &instance, stop).await)
    });
    if let Err(error) = instance.catch_up().map_err(std::io::Error::other).and_then(|()| instance.save_projections(0)) {
        tracing::info!(%error, "checkpoints were not written");
    }
    runtime.shutdown_timeout(END_PATIENCE);
    stopped.map_err(|error| broken(&error))??;
    Ok(0)
}

/// Two daemons cannot have one home.
fn already(context: &Context, pid: u32) -> Failure {
    let home = context.global.home.as_deref().map(|home| format!(" --home {}", home.display())).unwrap_or_default();
    Failure::refused(("error.served", json!({ "pid": pid })), ("next.since_when", json!({ "home": home })))
}

async fn serve(context: &Context, instance: &Instance, stop: impl Future<Output = ()>) -> Result<(), Failure> {
    let socket = instance.dirs.runtime.join(wire::SOCKET);
    let listener = door::open(&instance.dirs.runtime).map_err(|error| {
        let message = ("error.no_socket", json!({ "socket": socket, "reason": plain(&error) }));
        Failure::failed(message, by("next.other_runtime"))
    })?;
    let pages = pages(context, instance).await;
    let http = pages.as_ref().and_then(|pages| pages.local_addr().ok());
    let about = About { pid: std::process::id(), since: now().0, socket: socket.clone(), http };
    let served = Served { instance: instance.clone(), about };
    let daemon = Arc::new(Daemon {
        served,
        started: Instant::now(),
        commands: Mutex::default(),
        ended: Notify::new(),
        is_stopping: AtomicBool::new(false),
    });
    context.say(&context.text(instance, "serve.ready", &told(&daemon.served.about, &instance.settings.zone)));
    // Nobody has to wait for what is exported of the whole log.
    let follows = instance.clone();
    tokio::task::spawn_blocking(move || {
        if let Err(error) = follows.follow_audit() {
            tracing::warn!(%error, "the audit files cannot be written");
        }
    });
    instance.keep_warm();
    let services = Services::start(instance, &Handle::current(), services())
        .map_err(|error| Failure::internal(("error.daemon_cannot", json!({ "reason": plain(&error) }))))?;
    let mut head = instance.log.watch();
    let broken = async move { while head.changed().await.is_ok() {} };
    let is_broken = tokio::select! {
        () = door::commands(&daemon, listener) => false,
        () = door::visitors(&daemon, pages) => false,
        () = stop => false,
        () = broken => true,
    };
    context.say(&context.text(instance, "serve.stopping", &json!({})));
    // A file that is gone already is what is wanted.
    std::fs::remove_file(&socket).ok();
    daemon.stop(&services).await;
    if is_broken {
        return Err(Failure::failed(by("error.log_unwritten"), by("next.serve_again")));
    }
    Ok(())
}

/// What the daemon carries beside commands.
fn services() -> Vec<Arc<dyn Service>> {
    vec![Arc::new(Lapses), Arc::new(Telegram), crate::scheduler::service()]
}

/// Opens the pages. A port that someone else has is no reason not to serve.
async fn pages(context: &Context, instance: &Instance) -> Option<TcpListener> {
    let address = instance.settings.http_listen?;
    match TcpListener::bind(address).await {
        Ok(listener) => Some(listener),
        Err(error) => {
            let values = json!({ "address": address.to_string(), "reason": plain(&error) });
            output::aside(&context.text(instance, "serve.no_pages", &values));
            None
        }
    }
}

/// The daemon in the words of texts.
pub(super) fn told(about: &About, zone: &str) -> Value {
    json!({
        "pid": about.pid,
        "since": output::moment(about.since, zone),
        "socket": about.socket,
        "http": about.http.map(|http| http.to_string()),
    })
}

impl Daemon {
    /// Takes nothing new, stops what runs as SIGTERM stops a command, and waits a while for it.
    async fn stop(&self, services: &Services) {
        services.stop();
        self.is_stopping.store(true, Ordering::SeqCst);
        let deadline = tokio::time::Instant::now() + STOP_PATIENCE;
        let running: Vec<Arc<Remote>> = self.commands().running.values().cloned().collect();
        for console in running {
            tokio::spawn(async move { console.stop().await });
        }
        loop {
            let ended = self.ended.notified();
            if self.commands().running.is_empty() || tokio::time::timeout_at(deadline, ended).await.is_err() {
                break;
            }
        }
        while !services.have_ended() && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(STOP_STEP).await;
        }
    }
}

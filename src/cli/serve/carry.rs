//! Carries out one command that came over the socket: takes its request, becomes a stream of frames, runs the command on a
//! thread of its own with that stream for a console.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request as Asked, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use clap::Parser;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;

use super::Daemon;
use super::remote::Remote;
use crate::cli::wire::{self, Frame, Refusal, Request, Why};
use crate::cli::{Cli, Command, Context, chat, client, console, interrupt, output};
use crate::config::Variables;

/// The most commands at once.
const COMMANDS_MAX: usize = 32;
/// How long a request may take to come.
const REQUEST_PATIENCE: Duration = Duration::from_secs(10);
/// How many frames may wait for a client that is slow to take them; then its command waits.
const FRAMES_WAITING_MAX: usize = 16;
/// As much as the first thread of a process has.
const STACK_BYTES: usize = 8 << 20;

pub(super) fn router(daemon: &Arc<Daemon>) -> Router {
    Router::new().route(wire::PATH, post(command)).route(wire::ABOUT_PATH, get(about)).with_state(Arc::clone(daemon))
}

async fn about(State(daemon): State<Arc<Daemon>>) -> Response {
    let data = daemon.served.instance.dirs.data.clone().into_os_string();
    axum::Json(wire::About { data, pid: daemon.served.about.pid }).into_response()
}

async fn command(State(daemon): State<Arc<Daemon>>, mut asked: Asked) -> Response {
    let upgrade = asked.extensions_mut().remove::<OnUpgrade>();
    let is_upgrade = asked.headers().get(header::UPGRADE).is_some_and(|name| name == wire::UPGRADE);
    let body = to_bytes(asked.into_body(), wire::REQUEST_BYTES_MAX);
    let Ok(Ok(body)) = tokio::time::timeout(REQUEST_PATIENCE, body).await else {
        return refuse(Why::Malformed, "the request is too long, or does not come");
    };
    let (Some(upgrade), true) = (upgrade, is_upgrade) else {
        return refuse(Why::Malformed, "a command is a stream of frames: metnos opens it");
    };
    // Another version may ask in another form; what it says of itself comes first.
    let said: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let version = said["version"].as_str().unwrap_or("?").to_owned();
    if (said["protocol"].as_u64(), version.as_str()) != (Some(wire::PROTOCOL.into()), env!("CARGO_PKG_VERSION")) {
        let own = env!("CARGO_PKG_VERSION");
        return refuse(Why::OtherVersion, &format!("a daemon of metnos {own} serves this home, and this is {version}"));
    }
    let request: Request = match serde_json::from_value(said) {
        Ok(request) => request,
        Err(error) => return refuse(Why::Malformed, &format!("the request makes no sense: {error}")),
    };
    if !client::is_same(&daemon.served.instance.dirs.data, &request.data) {
        return refuse(Why::OtherHome, "this daemon serves another home");
    }
    let (frames, waiting) = mpsc::channel(FRAMES_WAITING_MAX);
    let console = Arc::new(Remote::new(&request, frames.clone()));
    let running = match daemon.admit(&console) {
        Ok(running) => running,
        Err(why) => return refuse(why, "the daemon has too much to do"),
    };
    tokio::spawn(async move {
        match upgrade.await {
            Ok(upgraded) => converse(running, request, console, (frames, waiting), upgraded).await,
            Err(error) => tracing::debug!(%error, "a command went away before it began"),
        }
    });
    let switched = [(header::CONNECTION, "upgrade"), (header::UPGRADE, wire::UPGRADE)];
    (StatusCode::SWITCHING_PROTOCOLS, switched, Body::empty()).into_response()
}

fn refuse(why: Why, error: &str) -> Response {
    let status = match why {
        Why::OtherHome | Why::OtherVersion => StatusCode::CONFLICT,
        Why::Stopping | Why::Busy => StatusCode::SERVICE_UNAVAILABLE,
        Why::Malformed => StatusCode::BAD_REQUEST,
    };
    let refusal = Refusal { why, error: error.to_owned() };
    (status, [(header::CONNECTION, "close")], axum::Json(json!(refusal))).into_response()
}

impl Daemon {
    /// Notes a command that begins; from then on the daemon's end stops it.
    fn admit(self: &Arc<Self>, console: &Arc<Remote>) -> Result<Arc<Running>, Why> {
        let mut commands = self.commands();
        if self.is_stopping() {
            return Err(Why::Stopping);
        }
        if commands.running.len() >= COMMANDS_MAX {
            return Err(Why::Busy);
        }
        commands.next += 1;
        let number = commands.next;
        commands.running.insert(number, Arc::clone(console));
        Ok(Arc::new(Running { daemon: Arc::clone(self), number }))
    }
}

/// A command that runs, until neither its thread nor its connection has anything left to do.
struct Running {
    daemon: Arc<Daemon>,
    number: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.daemon.commands().running.remove(&self.number);
        self.daemon.ended.notify_one();
    }
}

impl Remote {
    /// The daemon ends: so does the command, as by SIGTERM.
    pub(super) async fn stop(&self) {
        for frame in self.signal(interrupt::TERMINATED, Some("error: the daemon is stopping")) {
            self.say(frame).await;
        }
    }
}

type Frames = (mpsc::Sender<Frame>, mpsc::Receiver<Frame>);

/// Runs the command and carries frames until both sides have ended.
async fn converse(
    running: Arc<Running>,
    request: Request,
    console: Arc<Remote>,
    (frames, waiting): Frames,
    upgraded: Upgraded,
) {
    let (reads, writes) = tokio::io::split(TokioIo::new(upgraded));
    let hearing = tokio::spawn(hear(reads, Arc::clone(&console)));
    let (runs, at) = (Arc::clone(&running), Arc::clone(&console));
    let thread = std::thread::Builder::new().name(format!("command-{}", running.number)).stack_size(STACK_BYTES);
    let spawned = thread.spawn(move || {
        let code = console::with(at, || carried_out(&runs.daemon, &request));
        // A client that is gone needs no exit code.
        frames.blocking_send(Frame::Exit(code)).ok();
        drop(runs);
    });
    if let Err(error) = spawned {
        tracing::warn!(%error, "a command got no thread");
    }
    if let Err(error) = tell(writes, waiting).await {
        tracing::debug!(%error, "a command went away");
    }
    console.gone();
    hearing.abort();
}

/// Takes in what the client says, until it goes away.
async fn hear(mut reads: ReadHalf<TokioIo<Upgraded>>, console: Arc<Remote>) {
    let heard = async {
        let mut received = Vec::new();
        loop {
            while let Some(frame) = Frame::take(&mut received)? {
                for said in console.receive(frame)? {
                    console.say(said).await;
                }
            }
            if reads.read_buf(&mut received).await? == 0 {
                return Ok::<_, io::Error>(());
            }
        }
    };
    if let Err(error) = heard.await {
        tracing::debug!(%error, "a command cannot be heard");
    }
    console.gone();
}

/// Hands frames to the client, up to the exit code.
async fn tell(mut writes: WriteHalf<TokioIo<Upgraded>>, mut waiting: mpsc::Receiver<Frame>) -> io::Result<()> {
    while let Some(frame) = waiting.recv().await {
        writes.write_all(&frame.bytes()).await?;
        if let Frame::Exit(_) = frame {
            break;
        }
    }
    writes.flush().await?;
    writes.shutdown().await
}

/// Carries the command out on this thread; its exit code.
fn carried_out(daemon: &Daemon, request: &Request) -> u8 {
    let done =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| console::until_left(|| dispatched(daemon, request))));
    let Ok(code) = done else {
        output::aside("error: the command failed inside of the daemon, whose own messages say where");
        return 2;
    };
    // What it could not say, its person's own process tells of, if that is there.
    code.unwrap_or(0)
}

fn dispatched(daemon: &Daemon, request: &Request) -> u8 {
    let cli = match Cli::try_parse_from(&request.argv) {
        Ok(cli) => cli,
        Err(error) => {
            // The client has parsed it too; only another build of the same version gets here.
            output::aside(error.to_string().trim_end());
            return 2;
        }
    };
    let variables = Variables::given(&request.variables);
    let context =
        Context { global: cli.global, variables, served: Some(Arc::new(daemon.served.clone())), is_daemon: false };
    let outcome = match (cli.command, request.exchange.clone()) {
        (Command::Chat(chat), Some(exchange)) => chat::exchanged(&context, &chat, exchange).map(|after| {
            console::current().hand_back(&json!(after));
            0
        }),
        (command, _) => context.dispatch(&command),
    };
    context.told(outcome)
}

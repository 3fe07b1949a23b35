//! The daemon's two doors: the socket, for commands of its own user, and loopback HTTP, for pages that anyone on this
//! machine may see.
//!
//! Whoever is of another user is turned away before a byte is read. How many may be inside at once is limited.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Daemon, carry, pages};
use crate::cli::{client, wire};

/// The most connections at each door.
const CONNECTIONS_MAX: usize = 64;
/// How long a head may take to come.
const HEAD_PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether the socket's file is still there.
const LOOK: Duration = Duration::from_secs(2);
/// After an accept that failed (no descriptor is left, say).
const PAUSE: Duration = Duration::from_millis(50);

/// Listens at the runtime folder's socket. One that nobody listens at is replaced; the log is held, so no other daemon of
/// this home can be there.
pub(super) fn open(runtime: &Path) -> io::Result<UnixListener> {
    std::fs::set_permissions(runtime, Permissions::from_mode(0o700))?;
    if client::connect(runtime).is_some() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "the daemon of another home listens there"));
    }
    let (_folder, path) = client::socket(runtime)?;
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Lets commands in, for ever. A socket whose file was removed is made again: who cleans a folder locks nobody out.
pub(super) async fn commands(daemon: &Arc<Daemon>, mut listener: UnixListener) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let router = carry::router(daemon);
    let runtime = &daemon.served.instance.dirs.runtime;
    let mut look = tokio::time::interval(LOOK);
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = look.tick() => {
                if is_gone(runtime) {
                    match open(runtime) {
                        Ok(anew) => listener = anew,
                        Err(error) => tracing::warn!(%error, "the socket is gone and cannot be made again"),
                    }
                }
                continue;
            }
        };
        match accepted {
            Ok((stream, _)) if is_own(&stream) => let_in(stream, router.clone(), slot),
            Ok((stream, _)) => turn_away(stream).await,
            Err(error) => pause(&error).await,
        }
    }
}

/// Whether the socket's file is not there any more. A folder that is gone too is made again.
fn is_gone(runtime: &Path) -> bool {
    match std::fs::symlink_metadata(runtime.join(wire::SOCKET)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => std::fs::create_dir_all(runtime).is_ok(),
        _ => false,
    }
}

/// Shows pages, for ever; without a listener there are none.
pub(super) async fn visitors(daemon: &Arc<Daemon>, listener: Option<TcpListener>) {
    let Some(listener) = listener else { return std::future::pending().await };
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let router = pages::router(daemon);
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => let_in(stream, router.clone(), slot),
            Err(error) => pause(&error).await,
        }
    }
}

/// Whether the other side is of the daemon's own user, as the kernel says.
fn is_own(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}

async fn turn_away(mut stream: UnixStream) {
    let body = r#"{"why":"malformed","error":"this daemon serves another user"}"#;
    let head = "HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length";
    // Whoever does not listen is turned away as well.
    stream.write_all(format!("{head}: {}\r\n\r\n{body}", body.len()).as_bytes()).await.ok();
}

/// Speaks with whoever came in, on a task of its own; the slot is taken until that ends.
fn let_in(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, router: Router, slot: OwnedSemaphorePermit) {
    tokio::spawn(async move {
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_PATIENCE)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
            .with_upgrades()
            .await;
        if let Err(error) = served {
            tracing::debug!(%error, "a connection ended badly");
        }
        drop(slot);
    });
}

async fn pause(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be taken");
    tokio::time::sleep(PAUSE).await;
}

//! The broker: carries out the HTTP requests of one caged call, outside of the cage.
//!
//! A cage has no route. An executor with a network grant speaks framed requests over one inherited socket; the broker
//! checks host, port and address, dials the address that it checked, and writes down what it did. It follows no redirect
//! that was not granted, reads no proxy setting and no cookie, and knows nothing of files.

mod address;
mod canned;
mod fetch;
mod frames;
pub mod target;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

pub use canned::Canned;

/// The ports that a granted host may be reached on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ports {
    /// 80 and 443: what an address without a port means.
    Web,
    /// This one.
    Exact(u16),
}

/// One host that may be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostGrant {
    /// A canonical host, or `*.suffix`.
    pub pattern: String,
    /// On which ports.
    pub ports: Ports,
    /// The person typed this address, so that private hosts and loopback are what was meant.
    pub typed: bool,
}

/// What one call may fetch. No host means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grants {
    /// The hosts.
    pub hosts: Vec<HostGrant>,
    /// Only GET and HEAD.
    pub read_only: bool,
    /// The most bytes of one body; a longer one is cut and marked.
    pub max_body_bytes: u64,
    /// The most bytes of one request's own body.
    pub max_request_bytes: u64,
    /// The most requests, redirects included.
    pub max_requests: u32,
    /// How long one request may take.
    pub timeout: Duration,
    /// Answers laid out in advance, by address. Where they are given nothing is dialled, whatever is asked for.
    pub canned: Option<BTreeMap<String, Canned>>,
}

/// What the broker did for one request; one for each hop of a redirect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// The canonical host, or what was asked for when it is none.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The method.
    pub method: String,
    /// The status, when an answer came.
    pub status: Option<u16>,
    /// How many bytes of body came.
    pub bytes: u64,
    /// `allowed`, or why it was refused or failed.
    pub verdict: String,
}

impl Grants {
    /// Nothing may be fetched.
    pub fn nothing() -> Self {
        Self {
            hosts: Vec::new(),
            read_only: true,
            max_body_bytes: 2 << 20,
            max_request_bytes: 1 << 20,
            max_requests: 64,
            timeout: Duration::from_secs(15),
            canned: None,
        }
    }
}

/// Sends one request that changes something at its address, once, and returns the status of the answer; what else the server
/// says is not read by anybody. `host` is all that may be reached.
///
/// # Errors
/// It was refused or not answered; whether it may have arrived is said.
pub fn send(
    host: HostGrant,
    method: &str,
    address: &str,
    content: (Option<&str>, Vec<u8>),
) -> Result<u16, target::Refusal> {
    let (content_type, body) = content;
    let headers = content_type.map(|content_type| ("content-type".to_owned(), content_type.to_owned()));
    let request = frames::Request {
        method: method.to_owned(),
        url: address.to_owned(),
        headers: headers.into_iter().collect(),
        body,
    };
    let grants = Grants { hosts: vec![host], read_only: false, ..Grants::nothing() };
    let failed = |error: &io::Error| target::Refusal::new("internal_error", crate::cause::plain(error));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
    let mut fetcher = fetch::Fetcher::new(grants, Record::default());
    // Whoever sends it may be on a thread of another event loop.
    let sender = std::thread::Builder::new().name("sender".to_owned()).spawn(move || {
        let answer = runtime.block_on(fetcher.once(request));
        // A look-up of a name that hangs must not hold it up.
        runtime.shutdown_background();
        answer
    });
    let answer = sender.map_err(|error| failed(&error))?.join();
    let ended = |_| target::Refusal::unanswered("internal_error", "it ended abnormally");
    answer.map_err(ended)?
}

/// A broker at work for one call, on a thread of its own.
#[derive(Debug)]
pub struct Broker {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
    done: Record,
}

impl Broker {
    /// Serves the requests that come over a socket.
    ///
    /// # Errors
    /// No thread or no event loop can be made.
    pub fn start(socket: OwnedFd, grants: Grants) -> io::Result<Self> {
        let socket = UnixStream::from(socket);
        socket.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let done = Record::default();
        let (stop, stopped) = oneshot::channel();
        let fetcher = fetch::Fetcher::new(grants, done.clone());
        let thread = std::thread::Builder::new().name("broker".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = frames::serve(socket, fetcher) => {}
                    _ = stopped => {}
                }
            });
            // A look-up of a name that hangs must not hold the call up.
            runtime.shutdown_background();
        })?;
        Ok(Self { stop, thread, done })
    }

    /// Ends it, requests on their way included, and returns what it did.
    pub fn finish(self) -> Vec<Connection> {
        // It may have ended by itself.
        self.stop.send(()).ok();
        if self.thread.join().is_err() {
            tracing::error!("a broker's thread ended abnormally");
        }
        self.done.take()
    }
}

/// What was done so far, shared between the thread that does it and the one that reports it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Arc<Mutex<Vec<Connection>>>);

impl Record {
    /// Notes a request before it leaves; what becomes of it is noted under the returned number.
    fn begin(&self, connection: Connection) -> usize {
        let mut list = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        list.push(connection);
        list.len() - 1
    }

    fn update(&self, number: usize, change: impl FnOnce(&mut Connection)) {
        let mut list = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(connection) = list.get_mut(number) {
            change(connection);
        }
    }

    fn take(&self) -> Vec<Connection> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

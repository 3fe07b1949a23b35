//! Carries one request out: judge, resolve once, dial what was judged, follow granted redirects, cut the body.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response};

use super::address::{Kind, kind};
use super::frames::Request;
use super::target::{Refusal, Target, judge, judge_named, matching};
use super::{Canned, Connection, Grants, Record};
use crate::cause;

const HOPS: usize = 10;
/// Headers that frame a message or speak to proxies: they are not the executor's to set.
const KEPT_BACK: &[&str] =
    &["host", "content-length", "connection", "transfer-encoding", "te", "trailer", "upgrade", "expect", "keep-alive"];
/// Headers that are for the first host only.
const FOR_ONE_HOST: &[&str] = &["authorization", "cookie"];

/// The classes that a laid-out failure may have.
const CLASSES: &[&str] = &["dns_error", "network", "forbidden", "timeout", "too_large", "policy_violation"];

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) truncated: bool,
}

/// The addresses that were judged, by host: the only ones that the client ever learns.
#[derive(Clone, Debug, Default)]
struct Judged(Arc<Mutex<BTreeMap<String, Vec<SocketAddr>>>>);

impl Resolve for Judged {
    fn resolve(&self, name: Name) -> Resolving {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name.as_str()).cloned();
        Box::pin(async move {
            match known {
                Some(addresses) => Ok(Box::new(addresses.into_iter()) as Addrs),
                None => Err("this host was not judged".into()),
            }
        })
    }
}

/// The requests of one call.
#[derive(Debug)]
pub(super) struct Fetcher {
    grants: Grants,
    record: Record,
    judged: Judged,
    client: Option<Client>,
    requests: u32,
}

/// One hop of a request.
struct Hop {
    method: Method,
    target: Target,
    headers: HeaderMap,
    body: Vec<u8>,
    from_public: bool,
}

/// The answer that was laid out for an address; what was not laid out does not exist.
fn canned_answer(canned: &BTreeMap<String, Canned>, url: &str) -> Result<Answer, Refusal> {
    match canned.get(url) {
        None => Err(Refusal::new("dns_error", format!("no answer is laid out for {url}"))),
        Some(Canned::Failure { class, message }) => {
            let class = CLASSES.iter().find(|known| *known == class).copied().unwrap_or("network");
            Err(Refusal::new(class, message.clone()))
        }
        Some(Canned::Answer { status, headers, body, url: last, truncated }) => Ok(Answer {
            status: *status,
            url: last.clone().unwrap_or_else(|| url.to_owned()),
            headers: headers.clone().into_iter().collect(),
            body: body.clone(),
            truncated: *truncated,
        }),
    }
}

impl Fetcher {
    pub(super) fn new(grants: Grants, record: Record) -> Self {
        Self { grants, record, judged: Judged::default(), client: None, requests: 0 }
    }

    pub(super) fn max_request_bytes(&self) -> u64 {
        self.grants.max_request_bytes
    }

    /// Carries a request out within its time.
    pub(super) async fn fetch(&mut self, request: Request) -> Result<Answer, Refusal> {
        if let Some(canned) = &self.grants.canned {
            return canned_answer(canned, &request.url);
        }
        let patience = self.grants.timeout;
        match tokio::time::timeout(patience, self.follow(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(Refusal::new("timeout", format!("no answer within {} ms", patience.as_millis()))),
        }
    }

    /// Carries a request out within its time, and follows no redirect: what was asked about is what is sent, once. Returns the
    /// answer's status.
    pub(super) async fn once(&mut self, request: Request) -> Result<u16, Refusal> {
        let patience = self.grants.timeout;
        let sent = async {
            let hop = self.first(request)?;
            self.step(&hop).await.map(|(_, response)| response.status().as_u16())
        };
        tokio::time::timeout(patience, sent).await.unwrap_or_else(|_| {
            Err(Refusal::unanswered("timeout", format!("no answer within {} ms", patience.as_millis())))
        })
    }

    async fn follow(&mut self, request: Request) -> Result<Answer, Refusal> {
        let mut hop = self.first(request)?;
        for _ in 0..HOPS {
            let (number, response) = self.step(&hop).await?;
            match next(&hop, &response)? {
                Some(next) => hop = next,
                None => return self.collect(number, response, &hop).await,
            }
        }
        Err(Refusal::new("operation_failed", format!("more than {HOPS} redirects")))
    }

    fn first(&mut self, request: Request) -> Result<Hop, Refusal> {
        let method = Method::from_bytes(request.method.to_ascii_uppercase().as_bytes())
            .map_err(|_| Refusal::new("invalid_args", "this is no method"))?;
        let target = match Target::parse(&request.url) {
            Ok(target) => target,
            Err(refusal) => {
                let host = request.url.chars().take(200).collect();
                self.record.begin(Connection {
                    host,
                    port: 0,
                    method: method.to_string(),
                    status: None,
                    bytes: 0,
                    verdict: refusal.message.clone(),
                });
                return Err(refusal);
            }
        };
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let bad = |_| Refusal::new("invalid_args", format!("the header «{name}» is none"));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| bad(error.to_string()))?;
            if KEPT_BACK.contains(&name.as_str()) || name.as_str().starts_with("proxy-") {
                return Err(Refusal::new(
                    "policy_violation",
                    format!("the header «{name}» is not an executor's to set"),
                ));
            }
            headers.append(name, HeaderValue::from_str(value).map_err(|error| bad(error.to_string()))?);
        }
        Ok(Hop { method, target, headers, body: request.body, from_public: false })
    }

    /// Judges, dials and sends one hop.
    async fn step(&mut self, hop: &Hop) -> Result<(usize, Response), Refusal> {
        let (host, port) = (hop.target.host.clone(), hop.target.port);
        let number = self.record.begin(Connection {
            host,
            port,
            method: hop.method.to_string(),
            status: None,
            bytes: 0,
            verdict: "unfinished".to_owned(),
        });
        let result = self.send(hop).await;
        self.record.update(number, |connection| match &result {
            Ok(response) => {
                connection.status = Some(response.status().as_u16());
                "allowed".clone_into(&mut connection.verdict);
            }
            Err(refusal) => connection.verdict = format!("{}: {}", refusal.class, refusal.message),
        });
        result.map(|response| (number, response))
    }

    async fn send(&mut self, hop: &Hop) -> Result<Response, Refusal> {
        self.requests += 1;
        if self.requests > self.grants.max_requests {
            return Err(Refusal::new(
                "policy_violation",
                format!("more than {} requests in one call", self.grants.max_requests),
            ));
        }
        if self.grants.read_only && !matches!(hop.method, Method::GET | Method::HEAD) {
            return Err(Refusal::new(
                "policy_violation",
                format!("{} is refused: only GET and HEAD were granted", hop.method),
            ));
        }
        if self.grants.read_only && !hop.body.is_empty() {
            let message = "a request with a body is refused: only reading was granted";
            return Err(Refusal::new("policy_violation", message));
        }
        let grants = matching(&hop.target, &self.grants.hosts);
        judge_named(&hop.target, &grants, hop.from_public)?;
        let addresses = resolve(&hop.target).await?;
        judge(&hop.target, &grants, &addresses, hop.from_public)?;
        self.judged.0.lock().unwrap_or_else(PoisonError::into_inner).insert(hop.target.host.clone(), addresses.clone());
        let client = self.client()?;
        let request = client.request(hop.method.clone(), hop.target.url.clone()).headers(hop.headers.clone());
        let request = if hop.body.is_empty() { request } else { request.body(hop.body.clone()) };
        let response = request.send().await.map_err(|error| failed(&error))?;
        match response.remote_addr() {
            Some(reached) if !addresses.iter().any(|address| address.ip() == reached.ip()) => {
                Err(Refusal::new("policy_violation", "another address was reached than the one that was judged"))
            }
            _ => Ok(response),
        }
    }

    fn client(&mut self) -> Result<Client, Refusal> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        // Another part of the process may have installed it first.
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .dns_resolver(Arc::new(self.judged.clone()))
            .pool_max_idle_per_host(0)
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("metnos/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| failed(&error))?;
        Ok(self.client.insert(client).clone())
    }

    async fn collect(&self, number: usize, mut response: Response, hop: &Hop) -> Result<Answer, Refusal> {
        let named = response
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        let headers = named.collect();
        let status = response.status().as_u16();
        let max = usize::try_from(self.grants.max_body_bytes).unwrap_or(usize::MAX);
        let (mut body, mut truncated) = (Vec::new(), false);
        while let Some(chunk) = response.chunk().await.map_err(|error| failed(&error))? {
            let room = max - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            self.record.update(number, |connection| connection.bytes = body.len() as u64);
            if chunk.len() > room {
                truncated = true;
                break;
            }
        }
        Ok(Answer { status, url: hop.target.url.to_string(), headers, body, truncated })
    }
}

/// The next hop of a redirect: a new request that is judged anew.
fn next(hop: &Hop, response: &Response) -> Result<Option<Hop>, Refusal> {
    let status = response.status().as_u16();
    let place = response.headers().get("location").and_then(|place| place.to_str().ok());
    let (Some(place), 301 | 302 | 303 | 307 | 308) = (place, status) else { return Ok(None) };
    let joined = hop
        .target
        .url
        .join(place)
        .map_err(|error| Refusal::new("operation_failed", format!("it redirects to no address: {error}")))?;
    let target = Target::parse(joined.as_str())?;
    let mut headers = hop.headers.clone();
    if (target.host.as_str(), target.port) != (hop.target.host.as_str(), hop.target.port) {
        for name in FOR_ONE_HOST {
            headers.remove(*name);
        }
    }
    let keeps = matches!(status, 307 | 308) || matches!(hop.method, Method::GET | Method::HEAD);
    let (method, body) = if keeps { (hop.method.clone(), hop.body.clone()) } else { (Method::GET, Vec::new()) };
    let here = response.remote_addr().is_none_or(|address| kind(address.ip()) == Kind::Public);
    Ok(Some(Hop { method, target, headers, body, from_public: hop.from_public || here }))
}

async fn resolve(target: &Target) -> Result<Vec<SocketAddr>, Refusal> {
    if let Some(address) = target.literal() {
        return Ok(vec![SocketAddr::new(address, target.port)]);
    }
    match tokio::net::lookup_host((target.host.as_str(), target.port)).await {
        Ok(found) => Ok(found.collect()),
        Err(error) => Err(Refusal::new("dns_error", format!("the name {} was not found: {error}", target.host))),
    }
}

fn failed(error: &reqwest::Error) -> Refusal {
    let message = cause::innermost(error).unwrap_or_else(|| error.to_string());
    let class = if error.is_timeout() { "timeout" } else { "network" };
    if error.is_connect() || error.is_builder() {
        Refusal::new(class, message)
    } else {
        Refusal::unanswered(class, message)
    }
}

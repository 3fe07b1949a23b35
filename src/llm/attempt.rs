//! One attempt: the request out, the answer read piece by piece.

use std::time::Duration;

use metnos_log::redact::Secret;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response};
use secrecy::ExposeSecret;
use serde_json::{Map, Value};
use tokio::runtime::Runtime;

use super::decode::Building;
use super::retry::{self, Again};
use super::stream::{self, Line, Lines};
use super::{Failure, Props, Reply};
use crate::cause;
use crate::config::llm::Binding;

/// The longest answer that is read, in bytes as they come.
const RAW_MAX: usize = 16 << 20;
/// The longest reason that is kept, in characters.
const REASON_MAX: usize = 300;
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Headers of an answer that are kept.
const KEPT_HEADERS: [&str; 7] = [
    "content-type",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "x-request-id",
    "openai-processing-ms",
    "server",
];

/// What is asked, and of whom.
pub(super) struct Attempt<'a> {
    pub(super) binding: &'a Binding,
    pub(super) key: Option<&'a Secret>,
    pub(super) body: &'a str,
    pub(super) said: &'a dyn Fn(&str),
}

/// A runtime for one request: turns are threads, and nothing is left of it.
pub(super) fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

fn client() -> Result<Client, reqwest::Error> {
    // Another part of the process may have installed it first.
    rustls::crypto::ring::default_provider().install_default().ok();
    Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .pool_max_idle_per_host(0)
        .connect_timeout(CONNECT_PATIENCE)
        .user_agent(concat!("metnos/", env!("CARGO_PKG_VERSION")))
        .build()
}

fn headers(key: Option<&Secret>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    if let Some(key) = key
        && let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", key.expose_secret()))
    {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    headers
}

/// What the server says of itself; only llama-server does.
pub(super) async fn props(binding: &Binding, key: Option<&Secret>) -> Option<Props> {
    let response = client().ok()?.get(binding.endpoint("/props")).headers(headers(key)).send().await.ok()?;
    let body = response.error_for_status().ok()?.bytes().await.ok().filter(|body| body.len() <= RAW_MAX)?;
    let said: Value = serde_json::from_slice(&body).ok()?;
    let context = said.pointer("/default_generation_settings/n_ctx").and_then(Value::as_u64)?;
    Some(Props { context })
}

impl Attempt<'_> {
    /// Asks once.
    pub(super) async fn once(&self, patience: Duration) -> Result<Reply, (Failure, Again)> {
        match tokio::time::timeout(patience, self.sent(patience)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self.failed("timeout", 0, &late(patience), "", Again::Never)),
        }
    }

    async fn sent(&self, patience: Duration) -> Result<Reply, (Failure, Again)> {
        let broken = |error: &reqwest::Error| {
            let class = if error.is_timeout() { "timeout" } else { "network" };
            self.failed(class, 0, &innermost(error), "", Again::After(None))
        };
        let client = client().map_err(|error| broken(&error))?;
        let address = self.binding.endpoint("/v1/chat/completions");
        let request = client.post(address).headers(headers(self.key)).body(self.body.to_owned());
        let response = request.send().await.map_err(|error| broken(&error))?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(self.refused(status, response).await);
        }
        self.read(response, patience).await
    }

    /// A status that is no answer.
    async fn refused(&self, status: u16, response: Response) -> (Failure, Again) {
        let headers = response.headers().clone();
        let body = response.bytes().await.unwrap_or_default();
        let text = String::from_utf8_lossy(&body[..body.len().min(RAW_MAX)]).into_owned();
        let said: Value = serde_json::from_str(&text).unwrap_or_default();
        let error = said.get("error").cloned().unwrap_or_default();
        let (class, again) = retry::judged(status, &headers, &error);
        let message = error.get("message").or(Some(&error)).and_then(Value::as_str).filter(|text| !text.is_empty());
        let reason =
            message.map_or_else(|| format!("status {status}"), |message| format!("status {status}: {message}"));
        self.failed(class, status, &reason, "", again)
    }

    /// Reads the answer: a stream, or one body where the server does not stream.
    async fn read(&self, mut response: Response, patience: Duration) -> Result<Reply, (Failure, Again)> {
        let headers = kept_headers(&response);
        let is_stream = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .is_none_or(|kind| kind.contains("event-stream"));
        let (mut raw, mut lines, mut building) = (Vec::new(), Lines::default(), Building::default());
        let until = tokio::time::Instant::now() + patience;
        loop {
            let piece = match tokio::time::timeout_at(until, response.chunk()).await {
                Err(_) => return Err(self.unreadable("timeout", &late(patience), &raw)),
                Ok(Err(error)) => {
                    let reason = format!("the answer broke off: {}", innermost(&error));
                    return Err(self.unreadable("unparseable", &reason, &raw));
                }
                Ok(Ok(piece)) => piece,
            };
            let Some(piece) = piece else { break };
            raw.extend_from_slice(&piece);
            if raw.len() > RAW_MAX {
                return Err(self.unreadable("unparseable", &format!("the answer is longer than {RAW_MAX} bytes"), &[]));
            }
            if !is_stream {
                continue;
            }
            for text in lines.take(&piece) {
                match stream::line(&text) {
                    Line::Nothing => {}
                    Line::Done => return Ok(reply(&raw, building, headers)),
                    Line::Data(data) => {
                        self.take(data, &mut building).map_err(|(class, why)| self.unreadable(class, &why, &raw))?;
                    }
                }
            }
        }
        // Without a last line's end, it is a line all the same; a body that is no stream is one chunk.
        let rest = if is_stream { lines.rest() } else { format!("data: {}", String::from_utf8_lossy(&raw)) };
        if let Line::Data(data) = stream::line(&rest) {
            self.take(data, &mut building).map_err(|(class, why)| self.unreadable(class, &why, &raw))?;
        }
        if building.is_finished() {
            return Ok(reply(&raw, building, headers));
        }
        Err(self.unreadable("unparseable", "the answer broke off before its end", &raw))
    }

    /// Takes one chunk in and tells the person what it says.
    fn take(&self, data: &str, building: &mut Building) -> Result<(), (&'static str, String)> {
        let chunk: Value =
            serde_json::from_str(data).map_err(|error| ("unparseable", format!("it is no JSON: {error}")))?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
            let (class, _) = retry::judged(status.unwrap_or(500), &HeaderMap::new(), error);
            let message =
                error.get("message").and_then(Value::as_str).unwrap_or("an error in the middle of the answer");
            return Err((class, message.to_owned()));
        }
        let said = building.take(&chunk);
        if !said.is_empty() {
            (self.said)(&said);
        }
        Ok(())
    }

    /// An answer that began and cannot be used. It is not asked for again here: it cost its time already.
    fn unreadable(&self, class: &'static str, reason: &str, raw: &[u8]) -> (Failure, Again) {
        self.failed(class, 200, reason, &String::from_utf8_lossy(raw), Again::Never)
    }

    fn failed(&self, class: &str, status: u16, reason: &str, raw: &str, again: Again) -> (Failure, Again) {
        let key = self.key.map(ExposeSecret::expose_secret).filter(|key| !key.is_empty());
        let hidden = |text: &str| key.map_or_else(|| text.to_owned(), |key| text.replace(key, "…"));
        let reason = hidden(reason).chars().take(REASON_MAX).collect();
        (Failure { class: class.to_owned(), status, reason, raw: hidden(raw) }, again)
    }
}

fn late(patience: Duration) -> String {
    format!("no whole answer within {} s", patience.as_secs())
}

fn reply(raw: &[u8], mut building: Building, headers: Value) -> Reply {
    let (usage, timings) = (std::mem::take(&mut building.usage), std::mem::take(&mut building.timings));
    Reply { raw: String::from_utf8_lossy(raw).into_owned(), answer: building.answer(), usage, timings, headers }
}

fn kept_headers(response: &Response) -> Value {
    let named = KEPT_HEADERS.iter().filter_map(|name| {
        let value = response.headers().get(*name)?.to_str().ok()?;
        Some(((*name).to_owned(), Value::from(value)))
    });
    let mut kept: Map<String, Value> = named.collect();
    kept.insert("status".to_owned(), response.status().as_u16().into());
    Value::Object(kept)
}

/// What the system said.
fn innermost(error: &reqwest::Error) -> String {
    cause::innermost(error).unwrap_or_else(|| error.to_string())
}

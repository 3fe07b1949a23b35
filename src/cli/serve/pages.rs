//! The daemon's pages on loopback: `/health` for whoever watches it, `/metrics` as Prometheus text. They show numbers, never
//! a sentence, a path or a name of anything that is the person's.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;

use super::Daemon;

/// The type of Prometheus' text format.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) fn router(daemon: &Arc<Daemon>) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .layer(from_fn(only_this_machine))
        .with_state(Arc::clone(daemon))
}

/// A page elsewhere may have its own name point at this machine; a browser then says that name, and gets nothing.
async fn only_this_machine(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if host.is_some_and(is_this_machine) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, axum::Json(json!({ "error": "ask by the address, as in http://127.0.0.1" })))
        .into_response()
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || bare.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

async fn health(State(daemon): State<Arc<Daemon>>) -> Response {
    let instance = &daemon.served.instance;
    let is_good = instance.takes_events() && !daemon.is_stopping();
    let health = json!({
        "ok": is_good,
        "version": env!("CARGO_PKG_VERSION"),
        "log": if instance.takes_events() { "open" } else { "stopped" },
        "events": instance.log.head().size,
        "uptime_s": daemon.started.elapsed().as_secs(),
    });
    let status = if is_good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, axum::Json(health)).into_response()
}

async fn metrics(State(daemon): State<Arc<Daemon>>) -> Response {
    ([(header::CONTENT_TYPE, PROMETHEUS)], text(&daemon)).into_response()
}

fn text(daemon: &Daemon) -> String {
    let instance = &daemon.served.instance;
    let turns = instance.turns();
    let mut ends: BTreeMap<&str, u64> = ["answer", "ask", "awaiting", "error"].map(|kind| (kind, 0)).into();
    for (_, turn) in turns.iter() {
        if let Some(kind) = turn.final_kind {
            *ends.entry(kind).or_default() += 1;
        }
    }
    let mut page = Page::default();
    let version = format!("{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    page.family("metnos_build_info", "gauge", "The version that runs.", &[(version, "1".to_owned())]);
    page.one("metnos_events_total", "counter", "Events in the log.", instance.log.head().size);
    let ended: Vec<(String, String)> =
        ends.iter().map(|(kind, count)| (format!("{{end=\"{kind}\"}}"), count.to_string())).collect();
    page.family("metnos_turns_total", "counter", "Turns that have ended, by how.", &ended);
    page.one("metnos_turns_open", "gauge", "Turns that run or wait for an answer.", turns.open().count() as u64);
    let running = daemon.commands().running.len() as u64;
    page.one("metnos_commands_running", "gauge", "Commands that are being carried out.", running);
    let warm = instance.warm_counts();
    page.one("metnos_warm_cages", "gauge", "Cages that wait for a call.", warm.waiting as u64);
    page.one("metnos_warm_calls_total", "counter", "Calls that a waiting cage took.", warm.taken);
    page.one("metnos_compiled_calls_total", "counter", "Calls of code that was compiled before.", warm.compiled);
    page.one("metnos_warm_failures_total", "counter", "Waiting cages that were of no use to their call.", warm.failed);
    let uptime = daemon.started.elapsed().as_secs();
    page.one("metnos_uptime_seconds", "gauge", "How long the daemon has served.", uptime);
    if let Some(bytes) = resident_bytes() {
        page.one("process_resident_memory_bytes", "gauge", "Resident memory of the daemon.", bytes);
    }
    page.text
}

/// Text in the Prometheus format.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn one(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.family(name, kind, help, &[(String::new(), value.to_string())]);
    }

    fn family(&mut self, name: &str, kind: &str, help: &str, values: &[(String, String)]) {
        const INFALLIBLE: &str = "writing to a text does not fail";
        writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}").expect(INFALLIBLE);
        for (labels, value) in values {
            writeln!(self.text, "{name}{labels} {value}").expect(INFALLIBLE);
        }
    }
}

/// Resident memory of this process, as the kernel counts it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for host in ["127.0.0.1", "127.0.0.1:8770", "localhost:1", "LOCALHOST", "[::1]:80", "[::1]", "127.9.9.9"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in
            ["", "example.org", "127.0.0.1.example.org", "10.0.0.1:8770", "localhost.evil", "[fe80::1]:1", ":80"]
        {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}

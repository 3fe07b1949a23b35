//! Requests that change something on a server: planned as they will be sent, and sent once.
//!
//! Where they may go was decided when the executor was given its hosts; here no other is reached, and no redirect is followed.

use metnos_log::event::turn::{PlannedOp, WebRequest};
use serde_json::Value;

use super::commit::Outcome;
use super::plan::{REQUEST, Trouble};
use crate::broker::{self, HostGrant, target};
use crate::gateway::call;

/// The methods that change something; what only looks is asked while an executor runs.
const METHODS: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];
/// The most requests of one step.
pub const REQUESTS_MAX: usize = 64;
/// The most letters of a content type, and of what is named because it is none.
const NAMED_CHARS: usize = 100;
/// The most bytes of an address: it stands in the question.
const ADDRESS_BYTES_MAX: usize = 2048;
/// The most bytes of one body.
pub const BODY_BYTES_MAX: usize = 1 << 20;

/// A request as it will be sent, and its body. `body` is a text or any other JSON; `content_type` says what it is.
pub(super) fn planned(
    effect: &Value,
    hosts: &[HostGrant],
    is_idempotent: bool,
) -> Result<(PlannedOp, Vec<u8>), Trouble> {
    let text = |key: &str| effect.get(key).and_then(Value::as_str);
    let method = text("method").unwrap_or_default().to_ascii_uppercase();
    if !METHODS.contains(&method.as_str()) {
        let method: String = method.chars().take(NAMED_CHARS).collect();
        return Err(("contract_violation", format!("no_method: {method}")));
    }
    if let Some(kind) = text("content_type").filter(|kind| !is_content_type(kind)) {
        let kind: String = kind.chars().take(NAMED_CHARS).collect();
        return Err(("contract_violation", format!("no_content_type: {kind}")));
    }
    let address = text("url").unwrap_or_default();
    let refused = |refusal: target::Refusal| {
        let class = if refusal.class == "invalid_args" { "contract_violation" } else { refusal.class };
        (class, format!("address_refused: {}", refusal.message))
    };
    let (target, host) = target::reachable(address, hosts).map_err(refused)?;
    if target.url.as_str().len() > ADDRESS_BYTES_MAX {
        return Err(("too_large", format!("address_too_long: {ADDRESS_BYTES_MAX}")));
    }
    let (body, usual) = match effect.get("body") {
        None | Some(Value::Null) => (Vec::new(), None),
        Some(Value::String(text)) => (text.clone().into_bytes(), Some("text/plain; charset=utf-8")),
        Some(value) => (value.to_string().into_bytes(), Some("application/json")),
    };
    if body.len() > BODY_BYTES_MAX {
        return Err(("too_large", format!("body_too_long: {}", BODY_BYTES_MAX >> 20)));
    }
    let content_type = text("content_type").or(usual).map(str::to_owned).filter(|_| !body.is_empty());
    let request = WebRequest { method, content_type, is_meant: host.typed, is_idempotent };
    let op = PlannedOp {
        op: REQUEST.to_owned(),
        path: target.url.to_string(),
        bytes: body.len() as u64,
        request: Some(Box::new(request)),
        ..PlannedOp::default()
    };
    Ok((op, body))
}

/// Whether a text is a content type, with parameters or without, and cannot be read as anything else beside other words.
fn is_content_type(text: &str) -> bool {
    let is_token = |part: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
        !part.is_empty() && part.bytes().all(is_plain)
    };
    let is_pair =
        |text: &str, mark| text.split_once(mark).is_some_and(|(name, value)| is_token(name) && is_token(value));
    let mut parts = text.split(';');
    let names_kind = parts.next().is_some_and(|kind| is_pair(kind, '/'));
    text.len() <= NAMED_CHARS && names_kind && parts.all(|part| is_pair(part.trim_start_matches(' '), '='))
}

/// What is kept sealed of a request: its address, and behind a line's end its body.
pub(super) fn whole(address: &str, body: &[u8]) -> Vec<u8> {
    [address.as_bytes(), b"\n", body].concat()
}

/// Sends a planned request, of which `whole` was kept. `network_allow` are the hosts that the instance lets be reached by now;
/// `may_be_sent` says that an earlier process had got as far as this one and did not say what came of it: then only what may be
/// sent twice is sent again. `not_sent` is what becomes of one that another process left behind and that is wanted no more.
pub fn commit(
    op: &PlannedOp,
    whole: &[u8],
    (network_allow, may_be_sent, not_sent): (&[String], bool, Option<&Outcome>),
) -> Outcome {
    let failed = |class: &str, reason: String| Outcome::Failed(class.to_owned(), reason);
    let Some(request) = &op.request else {
        return failed("contract_violation", format!("unknown_change: {}", op.op));
    };
    if may_be_sent && (!request.is_idempotent || not_sent.is_some()) {
        return failed("operation_failed", "maybe_sent".to_owned());
    }
    if let Some(outcome) = not_sent {
        return outcome.clone();
    }
    let kept = whole.iter().position(|byte| *byte == b'\n').filter(|_| op.image.is_some());
    let Some((address, body)) = kept.and_then(|end| Some((str::from_utf8(&whole[..end]).ok()?, &whole[end + 1..])))
    else {
        return failed("internal_error", "no_copy".to_owned());
    };
    let target = match target::Target::parse(address) {
        Ok(target) => target,
        Err(refusal) => return failed(refusal.class, format!("address_refused: {}", refusal.message)),
    };
    if !call::allows(network_allow, &target.host) {
        return failed("policy_violation", format!("address_refused: {} is allowed no more", target.host));
    }
    let content = (request.content_type.as_deref(), body.to_vec());
    match broker::send(target.only(request.is_meant), &request.method, address, content) {
        // What is to be looked at afterwards lies elsewhere: the request itself was taken.
        Ok(200..=299 | 303) => Outcome::Done,
        // Neither a server's own fault nor a redirect says whether it was done before.
        Ok(status @ (300..=399 | 408 | 500..)) => failed("operation_failed", format!("answered_only: {status}")),
        Ok(status) => failed(class_of(status), format!("answered: {status}")),
        // No executor was too slow, and the server was reached: to try again could do it twice.
        Err(refusal) if refusal.may_have_arrived => {
            failed("operation_failed", format!("unanswered: {}", refusal.message))
        }
        Err(refusal) => {
            let class = if refusal.class == "timeout" { "network" } else { refusal.class };
            failed(class, format!("not_sent: {}", refusal.message))
        }
    }
}

/// The error class of a server's answer.
fn class_of(status: u16) -> &'static str {
    match status {
        401 | 407 => "unauthorized",
        403 => "forbidden",
        404 | 410 => "not_found",
        413 => "too_large",
        429 => "rate_limited",
        _ => "operation_failed",
    }
}

#[cfg(test)]
mod tests {
    use metnos_log::BlobHash;
    use serde_json::json;

    use super::*;

    fn hosts(patterns: &[(&str, bool)]) -> Vec<HostGrant> {
        let grant = |(pattern, typed): &(&str, bool)| {
            let grant = target::grant_for_pattern(pattern).unwrap();
            HostGrant { typed: *typed, ..grant }
        };
        patterns.iter().map(grant).collect()
    }

    #[track_caller]
    fn refused(effect: &Value, class: &str, reason: &str) {
        let found = planned(effect, &hosts(&[("example.org", false), ("*.example.com", true)]), false).unwrap_err();
        assert_eq!(found.0, class, "{effect}");
        assert!(found.1.starts_with(reason), "{effect}: {}", found.1);
    }

    #[test]
    fn what_would_be_sent_is_planned_as_it_is_dialled() {
        let effect =
            json!({ "op": "http", "method": "post", "url": "HTTPS://Example.ORG./a b?q#part", "body": { "on": true } });
        let (op, body) = planned(&effect, &hosts(&[("example.org", false)]), true).unwrap();
        assert_eq!((op.path.as_str(), body.as_slice()), ("https://example.org/a%20b?q", br#"{"on":true}"#.as_slice()));
        let expected = WebRequest {
            method: "POST".to_owned(),
            content_type: Some("application/json".to_owned()),
            is_meant: false,
            is_idempotent: true,
        };
        assert_eq!((op.request.as_deref(), op.bytes), (Some(&expected), 11));
        let bare =
            json!({ "op": "http", "method": "DELETE", "url": "https://example.org/a", "content_type": "text/csv" });
        let (op, body) = planned(&bare, &hosts(&[("example.org", false)]), false).unwrap();
        assert_eq!((op.request.unwrap().content_type, body), (None, Vec::new()));
    }

    #[test]
    fn no_request_goes_where_the_executor_may_not_reach() {
        let to = |url: &str| json!({ "op": "http", "method": "PUT", "url": url, "body": "x" });
        refused(&to("https://other.example/"), "policy_violation", "address_refused");
        refused(&to("https://example.org:8443/"), "policy_violation", "address_refused");
        refused(&to("https://me:secret@example.org/"), "policy_violation", "address_refused");
        refused(&to("file:///etc/passwd"), "contract_violation", "address_refused");
        refused(&to(""), "contract_violation", "address_refused");
        refused(&json!({ "op": "http", "url": "https://example.org/" }), "contract_violation", "no_method");
        let get = json!({ "op": "http", "method": "GET", "url": "https://example.org/" });
        refused(&get, "contract_violation", "no_method: GET");
        let kind = |kind: &str| json!({ "op": "http", "method": "POST", "url": "https://example.org/", "body": "x", "content_type": kind });
        for odd in ["json", "a/b) and nothing else (", "a/b\r\nx: y", "a/b; c", "a/", ""] {
            refused(&kind(odd), "contract_violation", "no_content_type");
        }
        for good in ["application/x-www-form-urlencoded", "text/plain;charset=utf-8", "application/ld+json; q=0.9"] {
            assert!(planned(&kind(good), &hosts(&[("example.org", false)]), false).is_ok(), "{good}");
        }
        let long = "x".repeat(BODY_BYTES_MAX + 1);
        let long = json!({ "op": "http", "method": "POST", "url": "https://example.org/", "body": long });
        refused(&long, "too_large", "body_too_long: 1");
        let effect = to("http://127.0.0.1:8123/");
        assert!(planned(&effect, &hosts(&[("127.0.0.1:8123", false)]), false).is_err());
        let (op, _) = planned(&effect, &hosts(&[("127.0.0.1:8123", true)]), false).unwrap();
        assert!(op.request.unwrap().is_meant);
    }

    /// A house's own server is reached where its name was meant, and not because all names of a domain were.
    #[test]
    fn a_pattern_of_hosts_means_none_of_this_house() {
        let effect = json!({ "op": "http", "method": "POST", "url": "https://a.example.com/", "body": "x" });
        let (op, _) = planned(&effect, &hosts(&[("*.example.com", true)]), false).unwrap();
        assert!(!op.request.unwrap().is_meant);
    }

    #[test]
    fn what_may_have_been_sent_is_not_sent_again() {
        let request = WebRequest { method: "POST".to_owned(), ..WebRequest::default() };
        let op = |request: WebRequest| PlannedOp {
            path: "http://127.0.0.1:1/?token=<hidden>".to_owned(),
            image: Some(BlobHash([1; 32])),
            request: Some(Box::new(request)),
            ..PlannedOp::default()
        };
        let (all, kept) = (["*".to_owned()], whole("http://127.0.0.1:1/?token=1", b""));
        let maybe = Outcome::Failed("operation_failed".to_owned(), "maybe_sent".to_owned());
        assert_eq!(commit(&op(request.clone()), &kept, (&all, true, None)), maybe);
        // What the instance lets be reached no more by the time of the yes is not.
        let other = ["example.org".to_owned()];
        let narrowed = commit(&op(WebRequest { is_meant: true, ..request.clone() }), &kept, (&other, false, None));
        assert!(matches!(&narrowed, Outcome::Failed(class, _) if class == "policy_violation"), "{narrowed:?}");
        // Nobody listens there: it is tried, and did not arrive.
        let tried = commit(
            &op(WebRequest { is_meant: true, is_idempotent: true, ..request.clone() }),
            &kept,
            (&all, true, None),
        );
        assert!(
            matches!(&tried, Outcome::Failed(class, why) if class == "network" && why.starts_with("not_sent")),
            "{tried:?}"
        );
        // What stands in the event is not what is dialled: without what was kept nothing is.
        let lost = Outcome::Failed("internal_error".to_owned(), "no_copy".to_owned());
        assert_eq!(commit(&PlannedOp { image: None, ..op(request.clone()) }, b"", (&all, false, None)), lost);
        assert_eq!(commit(&op(request), b"", (&all, false, None)), lost);
    }
}

//! Whether a request is made again, and when: the server's own word first, then the rule of the field (408, 409, 429, 5xx and
//! broken connections, twice, with growing pauses).

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

/// The longest pause that is waited for.
pub(super) const WAIT_MAX: Duration = Duration::from_mins(1);
const FIRST_MS: u64 = 500;
const LONGEST_MS: u64 = 8_000;

/// What is done after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It would fail again.
    Never,
    /// It may go better, after this pause if one was named.
    After(Option<Duration>),
    /// The server loads its model: it is waited for.
    Loading,
}

/// What a status, its headers and its error mean: the class, and whether to ask again.
pub(super) fn judged(status: u16, headers: &HeaderMap, error: &Value) -> (&'static str, Again) {
    let word = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let (code, kind, message) = (word("code"), word("type"), word("message").to_lowercase());
    // The model wrote what the server could not read as a call: nobody is down.
    if status == 500 && message.contains("does not match the expected") {
        return ("unparseable", Again::Never);
    }
    if kind == "exceed_context_size_error" || code == "context_length_exceeded" || status == 413 {
        return ("too_large", Again::Never);
    }
    let detail = error.pointer("/details/error_code").and_then(Value::as_str).unwrap_or_default();
    if [code, kind, detail]
        .iter()
        .any(|name| matches!(*name, "insufficient_quota" | "enforced_spend_limit_reached" | "billing_error"))
    {
        return ("budget_exceeded", Again::Never);
    }
    if status == 503 && message.contains("loading model") {
        return ("resource_unavailable", Again::Loading);
    }
    let class = match status {
        401 => "unauthorized",
        403 => "forbidden",
        404 => "not_found",
        408 => "timeout",
        429 => "rate_limited",
        400..=499 => "invalid_args",
        _ => "resource_unavailable",
    };
    let told = headers.get("x-should-retry").and_then(|value| value.to_str().ok());
    let may = match told {
        Some("true") => true,
        Some("false") => false,
        _ => matches!(status, 408 | 409 | 429) || status >= 500,
    };
    (class, if may { Again::After(named_wait(headers)) } else { Again::Never })
}

/// The pause that the server names: milliseconds, seconds or a date.
fn named_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    if let Some(milliseconds) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    if let Some(seconds) = number("retry-after") {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = jiff::fmt::rfc2822::parse(text("retry-after")?).ok()?.timestamp();
    Duration::try_from(until.duration_since(jiff::Timestamp::now())).ok()
}

/// A pause that doubles, a quarter of it by chance so that several do not ask together.
pub(super) fn backoff(tries: u32, random: u8) -> Duration {
    let whole = FIRST_MS.saturating_mul(1 << tries.saturating_sub(1).min(10)).min(LONGEST_MS);
    Duration::from_millis(whole - whole / 4 * u64::from(random) / 255)
}

/// How long a server that loads is left alone before it is asked again.
pub(super) fn loading_wait(times: u32) -> Duration {
    Duration::from_millis(100 * u64::from(times.min(20)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(of: &[(&'static str, &str)]) -> HeaderMap {
        of.iter()
            .map(|(name, value)| (reqwest::header::HeaderName::from_static(name), value.parse().unwrap()))
            .collect()
    }

    #[track_caller]
    fn check(status: u16, of: &[(&'static str, &str)], error: &Value, class: &str, again: Again) {
        assert_eq!(judged(status, &headers(of), error), (class, again));
    }

    #[test]
    fn the_servers_word_comes_first_then_the_rule() {
        let none = Value::Null;
        check(429, &[("retry-after", "2")], &none, "rate_limited", Again::After(Some(Duration::from_secs(2))));
        check(
            429,
            &[("retry-after-ms", "30"), ("retry-after", "2")],
            &none,
            "rate_limited",
            Again::After(Some(Duration::from_millis(30))),
        );
        check(429, &[("x-should-retry", "false")], &none, "rate_limited", Again::Never);
        check(400, &[("x-should-retry", "true")], &none, "invalid_args", Again::After(None));
        check(408, &[], &none, "timeout", Again::After(None));
        check(409, &[], &none, "invalid_args", Again::After(None));
        check(502, &[], &none, "resource_unavailable", Again::After(None));
        check(401, &[], &none, "unauthorized", Again::Never);
        check(429, &[("retry-after", "-1")], &none, "rate_limited", Again::After(None));
        let past = judged(503, &headers(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), &none);
        assert_eq!(past, ("resource_unavailable", Again::After(None)));
    }

    #[test]
    fn what_a_server_says_is_told_from_what_it_is() {
        check(503, &[], &json!({ "message": "Loading model" }), "resource_unavailable", Again::Loading);
        let format =
            json!({ "message": "The model produced output that does not match the expected peg-native format" });
        check(500, &[], &format, "unparseable", Again::Never);
        check(500, &[], &json!({ "message": "out of memory" }), "resource_unavailable", Again::After(None));
        check(400, &[], &json!({ "type": "exceed_context_size_error" }), "too_large", Again::Never);
        check(429, &[("retry-after", "1")], &json!({ "code": "insufficient_quota" }), "budget_exceeded", Again::Never);
    }

    #[test]
    fn pauses_grow_and_have_an_end() {
        assert_eq!(backoff(1, 0), Duration::from_millis(500));
        assert!(backoff(1, 255) >= Duration::from_millis(375) && backoff(2, 255) > backoff(1, 0));
        assert_eq!(backoff(40, 0), Duration::from_millis(LONGEST_MS));
    }
}

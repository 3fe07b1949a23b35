//! The audit as OpenTelemetry spans, in OTLP's JSON: one `resourceSpans` a line, each with one span. A span a turn, below it
//! one a call and one a question to a model. That something was erased has a trace of its own, with a link to the turn that
//! it was of; of a correction there is no span.
//!
//! Spans say what ran, when, and how it ended. They carry no content: neither sentences nor arguments nor results.

use std::collections::BTreeMap;

use metnos_log::event::model::{ModelAnswered, ModelAsked};
use metnos_log::{Event, Recorded, TurnId, canonical};
use serde_json::{Value, json};

use super::selection::Selection;
use super::{Audit, Kind, Line, genai};

const NAME: &str = "metnos";
/// Inside of the program; to a server.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;

/// Builds spans from events, given in order.
#[derive(Default)]
pub struct Spans {
    audit: Audit,
    /// The model calls that have not ended, by turn: when, by whom, what.
    asked: BTreeMap<(TurnId, u32), (i64, ModelAsked)>,
}

/// One span and where it belongs.
struct Span<'a> {
    turn: TurnId,
    /// What its id is derived from; a turn's is empty.
    key: &'a str,
    name: String,
    kind: u8,
    /// µs.
    times: (i64, i64),
    attributes: Vec<(&'static str, Value)>,
    is_ok: Option<bool>,
    links: Vec<TurnId>,
}

impl Spans {
    /// Takes one event in; gives the text of the span that it completes, if that is wanted.
    pub fn take(&mut self, recorded: &Recorded, log_id: &str, selection: &Selection) -> Option<String> {
        let Some(turn) = recorded.turn else {
            let line = self.audit.take(recorded).filter(|line| line.kind == Kind::Erasures)?;
            return selection.takes(&line).then(|| written(log_id, &erasure(log_id, &line)));
        };
        if let Some(line) = self.audit.take(recorded) {
            if line.kind == Kind::Turns {
                self.asked.retain(|(of, _), _| *of != turn);
            }
            return selection.takes(&line).then(|| written(log_id, &span_of(turn, &line, recorded)));
        }
        let span = self.model_span(turn, recorded)?;
        // What a model was asked belongs to its turn; of calls alone it is no part.
        let line = Line {
            kind: Kind::Turns,
            seq: recorded.seq,
            began: span.times.0,
            ended: span.times.1,
            turn: Some(turn.to_string()),
            actor: recorded.actor.clone(),
            executor: None,
            sources: Vec::new(),
            withheld: Vec::new(),
            value: Value::Null,
        };
        selection.takes(&line).then(|| written(log_id, &Span { key: &format!("model {}", recorded.seq), ..span }))
    }

    fn model_span(&mut self, turn: TurnId, recorded: &Recorded) -> Option<Span<'static>> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are of no model")]
        let (ask, class, answered) = match recorded.event()? {
            Event::ModelAsked(asked) => {
                let asked = ModelAsked { body: metnos_log::Kept::default(), ..asked.clone() };
                self.asked.insert((turn, asked.ask), (recorded.time.0, asked));
                return None;
            }
            Event::ModelAnswered(answered) => (answered.ask, None, Some(answered)),
            Event::ModelFailed(failed) => (failed.ask, Some(failed.class.clone()), None),
            _ => return None,
        };
        let (began, asked) = self.asked.remove(&(turn, ask))?;
        let mut attributes = vec![
            (genai::OPERATION, json!(genai::CHAT)),
            (genai::PROVIDER, json!(asked.provider)),
            (genai::REQUEST_MODEL, json!(asked.model)),
            ("metnos.model.tier", json!(asked.tier)),
            ("metnos.seq", json!(recorded.seq)),
        ];
        attributes
            .extend(asked.parameters.0["max_tokens"].as_u64().map(|most| (genai::REQUEST_MAX_TOKENS, json!(most))));
        attributes.extend(answered.into_iter().flat_map(answer_attributes));
        let is_ok = Some(class.is_none());
        attributes.extend(class.map(|class| (genai::ERROR_TYPE, json!(class))));
        let (name, times) = (format!("{} {}", genai::CHAT, asked.model), (began, recorded.time.0));
        Some(Span { turn, key: "", name, kind: CLIENT, times, attributes, is_ok, links: Vec::new() })
    }
}

fn answer_attributes(answered: &ModelAnswered) -> Vec<(&'static str, Value)> {
    let tokens = |name: &str| answered.usage.0[name].as_u64().map(Value::from);
    let finish = answered.parsed.value().and_then(|parsed| Some(json!([parsed["finish"].as_str()?])));
    let found = [
        (genai::INPUT_TOKENS, tokens("prompt_tokens")),
        (genai::OUTPUT_TOKENS, tokens("completion_tokens")),
        (genai::FINISH_REASONS, finish),
    ];
    found.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The span of a turn or of a call.
fn span_of<'a>(turn: TurnId, line: &'a Line, recorded: &Recorded) -> Span<'a> {
    let text = |at: &str| line.value.pointer(at).filter(|value| value.is_string()).cloned();
    let (operation, end) = match line.kind {
        Kind::Executors => (genai::EXECUTE_TOOL, text("/exit")),
        Kind::Turns | Kind::Corrections | Kind::Erasures => (genai::INVOKE_AGENT, text("/final_kind")),
    };
    let is_call = line.kind == Kind::Executors;
    let is_ok = match end.as_ref().and_then(Value::as_str) {
        Some("ok" | "answer") => Some(true),
        Some("error" | "in_doubt") => Some(false),
        _ => None,
    };
    let mut attributes = vec![(genai::OPERATION, json!(operation)), ("metnos.seq", json!(line.seq))];
    let mut with = |name, value: Option<Value>| attributes.extend(value.map(|value| (name, value)));
    if is_call {
        with(genai::TOOL, text("/executor"));
        with(genai::TOOL_TYPE, Some(json!(genai::FUNCTION)));
        with(genai::TOOL_CALL, text("/trace_id"));
        with("metnos.executor.version", text("/version"));
        with("metnos.cage", text("/cage"));
    } else {
        with(genai::PROVIDER, Some(json!(NAME)));
        with(genai::AGENT, Some(json!(NAME)));
        with("metnos.calls", line.value.get("calls").cloned());
    }
    with("metnos.end", end);
    with("metnos.actor", Some(json!(line.actor)));
    with("metnos.caller.kind", text("/caller/kind"));
    with("metnos.channel", text("/caller/channel"));
    with("metnos.schedule.id", text("/caller/schedule_id"));
    with(genai::ERROR_TYPE, text("/error_class"));
    with("metnos.erased", line.value.get("erased").cloned());
    let name = match (is_call, &line.executor) {
        (true, Some(executor)) => format!("{operation} {executor}"),
        (true, None) => operation.to_owned(),
        (false, _) => format!("{operation} {NAME}"),
    };
    let key = if is_call { line.value["trace_id"].as_str().unwrap_or("?") } else { "" };
    let times = (line.began, line.ended);
    Span { turn, key, name, kind: INTERNAL, times, attributes, is_ok, links: reversed(recorded) }
}

/// The span of an erasure: how much went, never what it held.
fn erasure(log_id: &str, line: &Line) -> Span<'static> {
    let shown = [
        ("metnos.selector", "selector"),
        ("metnos.payloads", "payloads"),
        ("metnos.blobs", "blobs"),
        ("metnos.erased", "erased"),
    ];
    let found = shown.into_iter().filter_map(|(name, at)| Some((name, line.value.get(at)?.clone())));
    let mut attributes = vec![("metnos.seq", json!(line.seq)), ("metnos.actor", json!(line.actor))];
    attributes.extend(found.filter(|(_, value)| !value.is_null()));
    let mut hasher = blake3::Hasher::new_derive_key("metnos erasure trace id v1");
    hasher.update(log_id.as_bytes()).update(&line.seq.to_le_bytes());
    let mut trace = [0; 16];
    hasher.finalize_xof().fill(&mut trace);
    Span {
        turn: TurnId(trace),
        key: "",
        name: format!("erase {NAME}"),
        kind: INTERNAL,
        times: (line.began, line.ended),
        attributes,
        is_ok: None,
        links: line.turn.iter().filter_map(|turn| turn.parse().ok()).collect(),
    }
}

/// The turns whose changes a call takes back.
fn reversed(recorded: &Recorded) -> Vec<TurnId> {
    let Some(Event::InvocationFinished(finished)) = recorded.event() else { return Vec::new() };
    let mut turns: Vec<TurnId> =
        finished.wanted().iter().filter_map(|op| op.reverses.as_ref()?.turn.parse().ok()).collect();
    turns.sort_unstable();
    turns.dedup();
    turns
}

/// The trace of a turn is its id; the turn's span has the id of an empty key.
fn span_id(turn: TurnId, key: &str, seq: u64) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("metnos span id v1");
    hasher.update(&turn.0).update(key.as_bytes());
    if !key.is_empty() {
        // A call in doubt that is made again has its trace id twice.
        hasher.update(&seq.to_le_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

fn trace_id(turn: TurnId) -> String {
    format!("{:032x}", u128::from_be_bytes(turn.0))
}

/// Nanoseconds as OTLP's JSON has 64-bit numbers: in a text.
fn nanos(micros: i64) -> String {
    (i128::from(micros.max(0)) * 1000).to_string()
}

fn attribute((name, value): &(&str, Value)) -> Value {
    let value = match value {
        Value::Bool(is) => json!({ "boolValue": is }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::Array(items) => {
            let texts: Vec<Value> = items.iter().map(|item| json!({ "stringValue": item })).collect();
            json!({ "arrayValue": { "values": texts } })
        }
        Value::String(_) | Value::Null | Value::Object(_) => json!({ "stringValue": value }),
    };
    json!({ "key": name, "value": value })
}

fn written(log_id: &str, span: &Span<'_>) -> String {
    let seq = span.attributes.iter().find(|(name, _)| *name == "metnos.seq").and_then(|(_, seq)| seq.as_u64());
    let attributes: Vec<Value> = span.attributes.iter().map(attribute).collect();
    let links: Vec<Value> =
        span.links.iter().map(|turn| json!({ "traceId": trace_id(*turn), "spanId": span_id(*turn, "", 0) })).collect();
    let status = match span.is_ok {
        None => json!({}),
        Some(true) => json!({ "code": 1 }),
        Some(false) => json!({ "code": 2 }),
    };
    let mut written = json!({
        "traceId": trace_id(span.turn),
        "spanId": span_id(span.turn, span.key, seq.unwrap_or_default()),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": nanos(span.times.0),
        "endTimeUnixNano": nanos(span.times.1.max(span.times.0)),
        "attributes": attributes,
        "status": status,
    });
    if !span.key.is_empty() {
        written["parentSpanId"] = span_id(span.turn, "", 0).into();
    }
    if !links.is_empty() {
        written["links"] = links.into();
    }
    let resource = [(genai::SERVICE, json!(NAME)), (genai::SERVICE_INSTANCE, json!(log_id))];
    let resource: Vec<Value> = resource.iter().map(attribute).collect();
    let line = json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": { "name": "metnos.audit" }, "spans": [written], "schemaUrl": genai::SCHEMA_URL }],
        "schemaUrl": genai::SCHEMA_URL,
    }]});
    canonical::to_string(&line)
}

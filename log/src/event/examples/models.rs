//! Examples of the events of a turn that a model plans. Tests only.

use serde_json::json;

use super::super::Event;
use super::super::model::{
    AnswerCorrected, ModelAnswered, ModelAsked, ModelFailed, ObservationKept, Proposer, StepRemediated,
};
use super::text;
use crate::canonical::Json;
use crate::kept::Kept;

pub(super) fn models() -> Vec<Event> {
    vec![
        ModelAsked {
            ask: 1,
            role: text("proposer"),
            tier: text("wise"),
            provider: text("llamacpp"),
            model: text("m"),
            template: text("0a"),
            tools: text("0b"),
            parameters: Json(json!({ "max_tokens": 1024, "tool_choice": "auto" })),
            body: Kept::text("{\"messages\":[]}"),
        }
        .into(),
        ModelAnswered {
            ask: 1,
            raw: Kept::text("data: [DONE]"),
            parsed: Kept::json(&json!({ "content": "done", "calls": [], "finish": "stop" })),
            usage: Json(json!({ "prompt_tokens": 9 })),
            timings: Json(json!({ "prompt_ms": 1.5 })),
            attempt: 2,
            failed: vec![(503, text("resource_unavailable"))],
            headers: Json(json!({ "status": 200 })),
            duration_us: 1_000,
        }
        .into(),
        ModelFailed {
            ask: 2,
            class: text("network"),
            status: 0,
            reason: text("connection refused"),
            raw: Kept::text("data: {"),
            failed: vec![(429, text("rate_limited")), (0, text("network"))],
            waited_ms: 500,
            duration_us: 600_000,
        }
        .into(),
        ObservationKept {
            call: text("call_1"),
            step: Some(1),
            tool: text("read_files"),
            class: Some(text("not_found")),
            scratchpad: Some(text("s1")),
            size: 5_000,
            shown: Kept::json(&json!({ "ok": false })),
            fault: Some(text("model")),
        }
        .into(),
    ]
}

pub(super) fn mended() -> Vec<Event> {
    vec![
        StepRemediated {
            call: text("call_1"),
            tool: text("sort_entries"),
            class: text("needs_data_source"),
            prerequisite: Some(text("find_files")),
            args: Kept::json(&json!({ "base_path": "~/inbox" })),
            provenance: Json(json!({ "/base_path": { "from": "words", "start": 0, "end": 7 } })),
            retried: true,
        }
        .into(),
        AnswerCorrected {
            claim: text("I deleted 3 files"),
            evidence: Json(json!({ "changes": 0 })),
            correction: text("Nothing was changed."),
        }
        .into(),
    ]
}

pub(super) fn proposer() -> Proposer {
    Proposer {
        tier: text("wise"),
        provider: text("llamacpp"),
        server: text("http://127.0.0.1:8080"),
        model: text("m"),
        think: Some(true),
        max_tokens: 1024,
        context: Some(32_768),
        simple_first: true,
        turn_timeout_s: 600,
    }
}

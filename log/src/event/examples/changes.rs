//! Payloads of changes that grew: of what the log itself keeps, of texts that are shown, of servers.

use serde_json::json;

use super::super::Event;
use super::super::turn::{InvocationFinished, OwnChange, PersonalMessage, PlannedOp, WebRequest};
use super::{calls, text};
use crate::canonical::Json;

/// What a call wants changed.
pub(super) fn grown() -> Vec<Event> {
    let own = OwnChange {
        id: text("3"),
        change: text("pause"),
        before: Some(Json(json!({ "state": "active" }))),
        after: Some(Json(json!({ "state": "paused" }))),
    };
    let own = PlannedOp { op: text("task"), own: Some(Box::new(own)), ..PlannedOp::default() };
    let shown = PlannedOp { op: text("write"), text: Some(text("buy milk")), ..PlannedOp::default() };
    let request = WebRequest {
        method: text("POST"),
        content_type: Some(text("application/json")),
        is_meant: false,
        is_idempotent: false,
    };
    let path = text("https://example.org/lights");
    let sent = PlannedOp { op: text("http"), path, request: Some(Box::new(request)), ..PlannedOp::default() };
    let message = PersonalMessage { to: text("guest_1"), name: Some(text("a guest")), channel: text("telegram") };
    let (path, message) = (text("telegram:7"), Some(Box::new(message)));
    let told = PlannedOp { op: text("send"), path, message, ..PlannedOp::default() };
    let finished = calls().into_iter().filter_map(|event| match event {
        Event::InvocationFinished(finished) => Some([&own, &shown, &sent, &told].map(|op| {
            let effects = vec![op.clone()];
            InvocationFinished { effects, ..finished.clone() }.into()
        })),
        _ => None,
    });
    finished.flatten().collect()
}

//! Audit lines as CloudEvents 1.0, one JSON object a line. The source is the log, the id the number that names the line, so
//! that an event that is sent twice is seen to be one.

use metnos_log::canonical;
use serde_json::json;

use super::Line;
use super::lines::timestamp;

/// What begins the type of each.
pub const TYPE: &str = "metnos.audit.";
/// What begins the source of each: a name of no place.
pub const SOURCE: &str = "urn:metnos:log:";

/// A line of a log as an event.
pub fn event(log_id: &str, line: &Line) -> String {
    let mut event = json!({
        "specversion": "1.0",
        "id": line.seq.to_string(),
        "source": format!("{SOURCE}{log_id}"),
        "type": format!("{TYPE}{}", line.kind.name()),
        "time": timestamp(line.ended),
        "datacontenttype": "application/json",
        "data": line.value,
    });
    // An attribute that has no value is left out: null is none of its types.
    if let Some(turn) = &line.turn {
        event["subject"] = format!("turn/{turn}").into();
    }
    canonical::to_string(&event)
}

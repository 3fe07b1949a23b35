//! Events as a household writes them, and logs that hold them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ed25519_dalek::SigningKey;
use metnos_log::canonical::Json;
use metnos_log::event::turn::{
    ArgumentsResolved, Check, InvocationFinished, InvocationStarted, StepProposed, TurnClosed,
};
use metnos_log::redact::Redactor;
use metnos_log::store::LogKeys;
use metnos_log::{Append, Draft, Event, EventId, Expect, Kept, Log, Micros, TurnId};
use serde_json::json;

/// Events a turn, as [`event`] numbers them.
const TURN: u32 = 5;

static NEXT: AtomicU32 = AtomicU32::new(1);

/// A folder on the disk of the build folder: a memory disk would flatter everyone.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the build folder can be written")
}

pub(crate) fn open(folder: &Path) -> Log {
    let keys = LogKeys {
        blob_key: [1; 32],
        redactor: Redactor::new([2; 32], Vec::new()),
        fresh_id: [3; 16],
        signing: SigningKey::from_bytes(&[5; 32]),
    };
    Log::open(&folder.join("events.redb"), keys, Duration::from_secs(1)).expect("a log in a new folder")
}

/// The next event: five kinds in turn, of the sizes that a turn of one small step has.
pub(crate) fn event(number: u32) -> Event {
    let trace_id = format!("01JDCZ0000000000000000{number:04}");
    match number % TURN {
        0 => StepProposed { step: 1, tool: "read_files".to_owned(), args: Kept::json(&json!({ "paths": ["notes/today.md"], "tail_lines": 3 })), provenance: None, call: None }.into(),
        1 => ArgumentsResolved {
            step: 1,
            args: Kept::json(&json!({ "paths": ["/home/owner/notes/today.md"], "tail_lines": 3 })),
            targets: Vec::new(),
            provenance: Json(json!({ "/paths/0": { "from": "text", "at": [14, 28] }, "/tail_lines": { "from": "text", "at": [46, 51] } })),
            version: "1.0.0".to_owned(),
            checks: ["receive", "resolve", "verify", "validate_input"].map(|step| Check { step: step.to_owned(), failure: None }).into(),
            plan_digest: "0c3f9a52d1".repeat(6),
        }
        .into(),
        2 => InvocationStarted { trace_id, step: 1, tool: "read_files".to_owned(), version: "1.0.0".to_owned(), plan_digest: "0c3f9a52d1".repeat(6), repeatable: true }.into(),
        3 => InvocationFinished {
            trace_id,
            step: 1,
            ok: true,
            class: None,
            result: Kept::json(&json!({ "ok": true, "entries": [{ "path": "/home/owner/notes/today.md", "text": "bread\nmilk\ncall the plumber" }], "lines": number })),
            effects: Vec::new(),
            checks: Vec::new(),
            duration_us: 20_000 + u64::from(number),
            cage: Json(json!({ "level": "full", "landlock_abi": 6 })),
            connections: Json(json!([])),
            diagnostics: Kept::text(""),
            changes: Kept::default(),
        }
        .into(),
        _ => TurnClosed {
            final_kind: "answer".to_owned(),
            class: None,
            message: Kept::text("bread\nmilk\ncall the plumber"),
            counts: BTreeMap::from([("calls_ok".to_owned(), 1)]),
        }
        .into(),
    }
}

/// The place of a draft in the stream of its turn, from 1.
pub(crate) fn place_in_turn(time: Micros) -> i64 {
    time.0 / 1000 % i64::from(TURN) + 1
}

/// A draft that no other draft of this process equals.
pub(crate) fn draft() -> Draft {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let time = Micros(1_790_000_000_000_000 + i64::from(number) * 1000);
    let mut random = [0; 10];
    random[..4].copy_from_slice(&number.to_be_bytes());
    let turn = TurnId::new(Micros(1_790_000_000_000_000 + i64::from(number / TURN)), [7; 10]);
    Draft {
        id: EventId::new(time, random),
        time,
        stream: format!("turn/{turn}{}", number / TURN),
        actor: "owner".to_owned(),
        turn: Some(turn),
        cause: None,
        event: event(number),
        blobs: Vec::new(),
    }
}

pub(crate) fn drafts(count: u32) -> Vec<Draft> {
    (0..count).map(|_| draft()).collect()
}

pub(crate) fn append(log: &Log, events: Vec<Draft>) {
    log.append(Append { events, expect: Expect::Any }).expect("the disk takes an append");
}

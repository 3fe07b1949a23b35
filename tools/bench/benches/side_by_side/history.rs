//! Events as a household writes them, and logs that hold them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ed25519_dalek::SigningKey;
use metnos_log::canonical::Json;
use metnos_log::event::turn::{
    ArgumentsResolved, Check, InvocationFinished, InvocationStarted, StepProposed, TurnClosed, TurnOpened,
};
use metnos_log::redact::Redactor;
use metnos_log::store::LogKeys;
use metnos_log::{Append, Draft, Event, EventId, Expect, Kept, Log, Micros, TurnId};
use metnos_projections::machines::turn::salted;
use serde_json::json;

/// Events a turn, as [`event`] numbers them.
const TURN: u32 = 6;
/// When the history begins, in µs: a multiple of a turn's milliseconds, one an event.
const EPOCH_US: i64 = 1_790_000_000_004_000;

static NEXT: AtomicU32 = AtomicU32::new(TURN);

/// A folder on the disk of the build folder: a memory disk would flatter everyone.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the build folder can be written")
}

/// The file of a log in its folder.
pub(crate) const FILE: &str = "events.redb";

pub(crate) fn keys() -> LogKeys {
    LogKeys {
        blob_key: [1; 32],
        redactor: Redactor::new([2; 32], Vec::new()),
        fresh_id: [3; 16],
        signing: SigningKey::from_bytes(&[5; 32]),
    }
}

pub(crate) fn open(folder: &Path) -> Log {
    Log::open(&folder.join(FILE), keys(), Duration::from_secs(1)).expect("a log in a folder of ours")
}

/// Each has a salt of its own, which nothing shrinks.
fn opened(number: u32) -> TurnOpened {
    let text = str::to_owned;
    TurnOpened {
        text: text("read the file notes/today.md and tell me the last three lines"),
        language: None,
        fallback_language: text("en"),
        channel: text("console"),
        engine: text("auto"),
        mode: text("local"),
        autonomy: text("supervised"),
        approve: text("none"),
        home: text("/home/owner"),
        own: ["config", "data", "workspace/.audit"].map(|folder| format!("/home/owner/.metnos/{folder}")),
        folder: text("/home/owner"),
        zone: text("Europe/Rome"),
        existing: vec![(14, 28)],
        rules_digest: "7d1e4b08c6".repeat(6),
        given: None,
        dialogs: true,
        address: None,
        proposer: None,
        history: Vec::new(),
        within: None,
        patience_s: None,
        salt: Some(salted::digest(None, &number.to_string())[..32].to_owned()),
    }
}

/// The next event: six kinds in turn, of the sizes that a turn of one small step has.
pub(crate) fn event(number: u32) -> Event {
    let trace_id = format!("01JDCZ0000000000{number:010}");
    match number % TURN {
        0 => opened(number).into(),
        1 => StepProposed { step: 1, tool: "read_files".to_owned(), args: Kept::json(&json!({ "paths": ["notes/today.md"], "tail_lines": 3 })), provenance: None, call: None }.into(),
        2 => ArgumentsResolved {
            step: 1,
            args: Kept::json(&json!({ "paths": ["/home/owner/notes/today.md"], "tail_lines": 3 })),
            targets: Vec::new(),
            provenance: Json(json!({ "/paths/0": { "from": "text", "at": [14, 28] }, "/tail_lines": { "from": "text", "at": [46, 51] } })),
            version: "1.0.0".to_owned(),
            checks: ["receive", "resolve", "verify", "validate_input"].map(|step| Check { step: step.to_owned(), failure: None }).into(),
            plan_digest: "0c3f9a52d1".repeat(6),
            grants: Vec::new(),
            mnest_permille: None,
            leads: Vec::new(),
            uncaged: false,
            may_do_less: false,
        }
        .into(),
        3 => InvocationStarted { trace_id, step: 1, tool: "read_files".to_owned(), version: "1.0.0".to_owned(), plan_digest: "0c3f9a52d1".repeat(6), repeatable: true }.into(),
        4 => InvocationFinished {
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
            may_do_less: false,
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
    numbered(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The draft of a number: the same in every process.
pub(crate) fn numbered(number: u32) -> Draft {
    let at = |number: u32| Micros(EPOCH_US + i64::from(number) * 1000);
    let random = |number: u32| {
        let mut random = [7; 10];
        random[..4].copy_from_slice(&number.to_be_bytes());
        random
    };
    let turn = TurnId::new(at(number / TURN * TURN), random(number / TURN));
    Draft {
        id: EventId::new(at(number), random(number)),
        time: at(number),
        stream: format!("turn/{turn}"),
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

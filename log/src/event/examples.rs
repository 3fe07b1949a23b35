//! One example of every kind, with every optional field filled: what the pinned bytes are made of. Tests only.

mod changes;
mod channels;
mod models;
mod schedules;

use std::collections::BTreeMap;

use serde_json::json;

use super::Event;
use super::actor::{
    ActorAdded, AddressBound, AddressRevoked, AutonomySet, FolderClosed, FolderOpened, GrantGiven, GrantRevoked,
    Granted, LanguageSet, PairingIssued, PairingRevoked,
};
use super::audit::Rectified;
use super::dialog::{Choice, DialogAnswered, DialogExpired, DialogOpened, DialogWithdrawn};
use super::executor::{
    Artefact, BirthTestsRun, CaseVerdict, ExecutorInstalled, ExecutorSigned, LifeCycle, LifeCycleChanged,
    VersionPromoted,
};
use super::instance::{
    BackupMade, CageDowngradeAccepted, CheckpointAnchored, ConfigurationChanged, CredentialRemoved, CredentialSet,
    EpochOpened, Erased, InstanceCreated, KeyAdmitted, KeyRevoked, StateSnapshotTaken,
};
use super::mnestome::{AgerRun, DesiredSignature, MnestRetagged, MnestsSeeded, PassingObserved, WishObserved};
use super::turn::{
    ArgumentsResolved, BeforeImage, CandidatesRanked, Check, ConsentAnswered, ConsentAsked, ConsentDenied,
    ConsentExpired, EffectCommitted, EffectsCommitted, EffectsPlanned, Holds, InvocationFinished, InvocationInDoubt,
    InvocationSettled, InvocationStarted, Lead, PlanProposed, PlannedOp, Reversed, StepProposed, StepRefused, Target,
    TurnCancelled, TurnClosed, TurnOpened, TurnResumed, TurnSuspended, VerdictGiven,
};
use crate::canonical::Json;
use crate::id::TurnId;
use crate::kept::{BlobHash, INLINE_BYTES_MAX, Kept};
use models::{mended, models, proposer};

/// One example of every kind, as its schema began.
pub(super) fn examples() -> Vec<Event> {
    let kinds = [
        instance(),
        executor(),
        decisions(),
        consents(),
        calls(),
        courses(),
        dialogs(),
        actors(),
        channels::examples(),
        mnestome(),
        states(),
        schedules::examples(),
        models(),
        mended(),
        vec![rectified()],
    ];
    kinds.into_iter().flatten().collect()
}

fn text(text: &str) -> String {
    text.to_owned()
}

fn actors() -> Vec<Event> {
    let (actor, channel, address) = (text("owner"), text("telegram"), text("42"));
    let pairing = text("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    vec![
        ActorAdded { actor: text("guest_k7m2qa"), role: text("guest"), name: Some(text("a guest")) }.into(),
        PairingIssued { pairing: pairing.clone(), actor: actor.clone(), until: 1_700_000_300_000_000 }.into(),
        PairingRevoked { pairing: pairing.clone(), actor: actor.clone() }.into(),
        AddressBound {
            actor: actor.clone(),
            channel: channel.clone(),
            address: address.clone(),
            pairing: Some(pairing),
        }
        .into(),
        AddressRevoked { actor: actor.clone(), channel, address }.into(),
        AutonomySet { actor: actor.clone(), autonomy: text("full") }.into(),
        LanguageSet { actor, language: text("it") }.into(),
        FolderOpened { actor: text("guest_k7m2qa"), folder: text("/home/owner/photos") }.into(),
        FolderClosed { actor: text("guest_k7m2qa"), folder: text("/home/owner/photos") }.into(),
        GrantGiven {
            actor: text("owner"),
            grant: 3,
            capability: text("fs:write"),
            target: text("/home/owner/inbox"),
            until: 1_700_000_000_000_000,
            by: text("owner"),
            reason: text("while I sort it"),
        }
        .into(),
        GrantRevoked { actor: text("owner"), grant: 3, by: text("owner"), reason: text("it is sorted") }.into(),
    ]
}

fn states() -> Vec<Event> {
    let taken = StateSnapshotTaken {
        name: text("2026-10"),
        log: "04".repeat(16),
        position: 70_000,
        head: "ab".repeat(32),
        until: 1_793_487_599_999_999,
        zone: text("Europe/Rome"),
        digest: "cd".repeat(32),
        bytes: 4096,
    };
    vec![taken.into()]
}

fn rectified() -> Event {
    let (turn, note) = (Some(text("01ARZ3NDEKTSV4RRFFQ69G5FAV")), Kept::text("the folder was the old one"));
    Rectified { line: 812, turn, note, by: text("owner") }.into()
}

fn mnestome() -> Vec<Event> {
    let desired = DesiredSignature {
        summary: text("extract invoice number"),
        inputs: vec![text("paths: array")],
        outputs: vec![text("entries: array")],
        errors: vec![text("not_found")],
    };
    let (src, src_version) = (text("read_files"), text("1.0.0"));
    vec![
        WishObserved { src, src_version, dst: text("extract_invoices"), desired, purpose: None, turn: TurnId([5; 16]) }
            .into(),
        MnestsSeeded { pairs: vec![["find_files", "1.0.0", "sort_entries", "1.1.0"].map(text)] }.into(),
        MnestRetagged { mnest: text("01ARZ3NDEKTSV4RRFFQ69G5FAV"), tags: vec![text("invoice")] }.into(),
        AgerRun {
            day: text("2026-11-22"),
            now: 1_795_311_600_000_000,
            decaying: vec![text("a")],
            purged: vec![text("b")],
            proposed: vec![text("c")],
        }
        .into(),
    ]
}

fn hash(byte: u8) -> BlobHash {
    BlobHash([byte; 32])
}

/// A text that lies in a blob.
fn away() -> Kept {
    let mut kept = Kept::text("x".repeat(INLINE_BYTES_MAX + 1));
    kept.detach(|_| hash(0xb1)).expect("it is long enough");
    kept
}

fn trouble() -> (String, String) {
    (text("not_found"), text("there is no such file"))
}

fn admitted() -> KeyAdmitted {
    let (key_id, public_key) = ("ab".repeat(8), "ab".repeat(32));
    KeyAdmitted { key_id, public_key, role: text("instance"), by: text("init"), name: None }
}

fn instance() -> Vec<Event> {
    vec![
        InstanceCreated { log_id: "04".repeat(16), version: text("0.1.0"), public_key: "ab".repeat(32) }.into(),
        ConfigurationChanged {
            key: text("language"),
            old: Some(Json(json!("en"))),
            new: Json(json!({ "b": 0.5, "a": 1 })),
        }
        .into(),
        admitted().into(),
        KeyRevoked { key_id: "ab".repeat(8), reason: text("it was lost"), by: text("owner") }.into(),
        CageDowngradeAccepted { level: text("none"), reason: text("flag") }.into(),
        Erased {
            selector: text("turn"),
            of: TurnId([7; 16]).to_string(),
            seqs: vec![(12, 19), (300, 300)],
            blobs: vec![hash(9)],
            reason: text("a guest asked for it"),
            by: text("owner"),
        }
        .into(),
        EpochOpened {
            reason: text("restored"),
            size: 300,
            head_before: "0c".repeat(32),
            lost: vec![text("events 301 to 312")],
            again: None,
            lost_blobs: Vec::new(),
        }
        .into(),
        CheckpointAnchored { size: 300, head: "0c".repeat(32), place: text("telegram 42") }.into(),
        BackupMade { size: 300, head: "0c".repeat(32), folder: text("/media/disk/metnos") }.into(),
        CredentialSet { name: text("weather"), keyed_hash: text("00112233") }.into(),
        CredentialRemoved { name: text("weather") }.into(),
        PassingObserved {
            src: text("find_files"),
            src_version: text("1.0.0"),
            dst: text("read_files"),
            dst_version: text("1.0.1"),
            turn: TurnId([7; 16]),
        }
        .into(),
    ]
}

fn executor() -> Vec<Event> {
    let (name, version) = (text("get_now"), text("1.0.0"));
    vec![
        ExecutorSigned {
            name: name.clone(),
            version: version.clone(),
            manifest: hash(1),
            code: hash(2),
            schema: hash(3),
            tests: hash(4),
            lock: text("blake3:05"),
            signature: text("06"),
            key_id: text("07"),
        }
        .into(),
        ExecutorInstalled {
            name: name.clone(),
            version: version.clone(),
            artefacts: vec![Artefact { file: text("main.py"), blob: hash(2), bytes: 70_000 }],
            manifest: json!({ "name": "get_now" }).into(),
            schema: json!({ "definitions": {} }).into(),
        }
        .into(),
        BirthTestsRun {
            name: name.clone(),
            version: version.clone(),
            content: hash(8),
            interpreter: text("CPython 3.12.3"),
            cage: text("full"),
            cases: vec![
                CaseVerdict { name: text("utc"), passed: true, reason: None },
                CaseVerdict { name: text("rome"), passed: false, reason: Some(text("field time differs")) },
            ],
        }
        .into(),
        VersionPromoted { name: name.clone(), version: version.clone() }.into(),
        LifeCycleChanged {
            name,
            version,
            from: Some(LifeCycle::Seed),
            to: LifeCycle::BelowThreshold,
            reason: text("unused"),
            by: text("ager"),
        }
        .into(),
    ]
}

fn arguments_resolved() -> ArgumentsResolved {
    ArgumentsResolved {
        step: 1,
        args: away(),
        targets: vec![Target {
            pointer: text("/path"),
            role: text("path"),
            given: text("a.txt"),
            canonical: text("/home/owner/a.txt"),
            canonical_b64: Some(text("/w==")),
            kind: text("absent"),
            trouble: Some(trouble()),
        }],
        provenance: Json(json!({ "/path": { "from": "text" } })),
        version: text("1.0.0"),
        checks: vec![
            Check { step: text("receive"), failure: None },
            Check { step: text("verify"), failure: Some(trouble()) },
        ],
        plan_digest: text("0c"),
        grants: Vec::new(),
        mnest_permille: None,
        leads: Vec::new(),
        uncaged: false,
        may_do_less: false,
    }
}

fn decisions() -> Vec<Event> {
    vec![
        TurnOpened {
            text: text("che ore sono?"),
            language: Some(text("it")),
            fallback_language: text("en"),
            channel: text("console"),
            engine: text("auto"),
            mode: text("local"),
            autonomy: text("supervised"),
            approve: text("none"),
            home: text("/home/owner"),
            own: [text("/m/config"), text("/m/data"), text("/m/workspace/.audit")],
            folder: text("/home/owner/notes"),
            zone: text("Europe/Rome"),
            existing: vec![(3, 70_000)],
            rules_digest: "0a".repeat(16),
            given: None,
            dialogs: false,
            address: None,
            proposer: None,
            history: Vec::new(),
            within: None,
            patience_s: None,
            salt: None,
        }
        .into(),
        CandidatesRanked {
            tools: vec![(text("get_now"), 12), (text("find_files"), 3)],
            k: 2,
            confidence_permille: 750,
            catalog_digest: text("0b"),
        }
        .into(),
        plan_proposed().into(),
        step_proposed().into(),
        arguments_resolved().into(),
        StepRefused { step: 1, by: text("guard"), class: text("forbidden"), reason: text("no") }.into(),
        VerdictGiven {
            step: 1,
            about: text("call"),
            approved: false,
            policy: text("ask"),
            score_permille: 1000,
            blocked_by: Some(text("core_paths")),
            judge_kind: text("rules"),
            reasons: vec![text("one"), text("two")],
        }
        .into(),
    ]
}

fn consents() -> Vec<Event> {
    vec![
        ConsentAsked {
            step: 2,
            about: text("effects"),
            digest: text("0d"),
            text: Kept::text("May it?"),
            expires_s: 600,
        }
        .into(),
        Event::ConsentGiven(ConsentAnswered { step: 2, digest: text("0d"), by: text("terminal") }),
        ConsentDenied { step: 2, digest: text("0d"), by: text("terminal") }.into(),
        ConsentExpired { step: 2, digest: text("0d"), why: text("no_terminal") }.into(),
    ]
}

fn planned() -> PlannedOp {
    PlannedOp {
        op: text("write"),
        path: text("/home/owner/b.txt"),
        path_b64: Some(text("/w==")),
        content: Some(hash(9)),
        bytes: 5,
        if_exists: text("replace"),
        before: BeforeImage {
            kind: text("file"),
            bytes: 4,
            mode: 0o644,
            hash: Some(hash(10)),
            image: Some(hash(11)),
            ..BeforeImage::default()
        },
        after: Some(hash(12)),
        trouble: Some(trouble()),
        ..PlannedOp::default()
    }
}

fn calls() -> Vec<Event> {
    let trace_id = text("01ARZ3NDEKTSV4RRFFQ69G5FAV.1");
    vec![
        InvocationStarted {
            trace_id: trace_id.clone(),
            step: 1,
            tool: text("get_now"),
            version: text("1.0.0"),
            plan_digest: text("0c"),
            repeatable: true,
        }
        .into(),
        InvocationFinished {
            trace_id: trace_id.clone(),
            step: 1,
            ok: false,
            class: Some(text("timeout")),
            result: Kept::json(&json!({ "ok": false })),
            effects: vec![planned()],
            checks: vec![Check { step: text("run"), failure: Some(trouble()) }],
            duration_us: 20_000_000,
            cage: Json(json!({ "level": "full" })),
            connections: Json(json!([])),
            diagnostics: Kept::text(""),
            changes: Kept::default(),
            may_do_less: false,
        }
        .into(),
        InvocationInDoubt { trace_id: trace_id.clone(), step: 1 }.into(),
        InvocationSettled { trace_id, step: 1, outcome: text("unknown"), by: text("owner") }.into(),
        EffectsPlanned { step: 1, ops: Kept::json(&json!([])) }.into(),
        EffectCommitted { step: 1, index: 0, outcome: text("failed"), failure: Some(trouble()) }.into(),
        EffectsCommitted {
            step: 1,
            done: vec![(0, 700), (702, 703)],
            found_done: vec![(700, 701)],
            failed: vec![(701, text("not_found"), text("absent"))],
        }
        .into(),
    ]
}

fn courses() -> Vec<Event> {
    vec![
        TurnSuspended { kind: text("ask"), message: Kept::text("Which file?") }.into(),
        TurnResumed { by: text("dialog"), text: None, taken: None, only: None }.into(),
        TurnCancelled { by: text("person") }.into(),
        TurnClosed {
            final_kind: text("answer"),
            class: Some(text("not_found")),
            message: Kept::text("Ora: 12:00."),
            counts: BTreeMap::from([(text("calls_ok"), 1), (text("calls_failed"), 300)]),
        }
        .into(),
    ]
}

fn dialogs() -> Vec<Event> {
    let dialog = text("01ARZ3NDEKTSV4RRFFQ69G5FAV-1");
    vec![
        DialogOpened {
            dialog: dialog.clone(),
            kind: text("get_inputs"),
            question: Kept::text("Which file?"),
            candidates: vec![text("read_files")],
            channel: text("console"),
            expires_s: 600,
            step: None,
            field: None,
            options: Vec::new(),
        }
        .into(),
        DialogAnswered {
            dialog: dialog.clone(),
            answer: text("a.txt"),
            channel: text("console"),
            existing: vec![(14, 300)],
        }
        .into(),
        DialogExpired { dialog: dialog.clone() }.into(),
        DialogWithdrawn { dialog, by: text("person") }.into(),
    ]
}

fn plan_proposed() -> PlanProposed {
    let plan = Kept::json(&json!({ "steps": [] }));
    PlanProposed { source: text("L3"), engine: text("simple"), language: text("it"), plan }
}

fn step_proposed() -> StepProposed {
    let args = Kept::json(&json!({ "timezone": "UTC" }));
    StepProposed { step: 1, tool: text("get_now"), args, provenance: None, call: None }
}

/// Payloads with the optional fields that were added to a schema after it landed.
pub(super) fn grown() -> Vec<Event> {
    let before = BeforeImage {
        kind: text("other"),
        modified_ns: Some(-1),
        inode: Some((1, 70_000)),
        link: Some(text("/w==")),
        ..planned().before
    };
    let op = PlannedOp {
        op: text("delete"),
        before,
        dst: Some(text("/home/owner/.local/share/Trash/files/b.txt")),
        dst_b64: Some(text("/w==")),
        to: Some(text("trash")),
        mode: Some(0o600),
        image: Some(hash(13)),
        modified_ns: Some(1_700_000_000_000_000_000),
        holds: Some(Holds { files: 1, folders: 2, bytes: 3, forbidden: Some(text("/home/owner/.ssh")), digest: None }),
        reverses: Some(Reversed { turn: text("01ARZ3NDEKTSV4RRFFQ69G5FAV"), step: 1, index: 2 }),
        ..planned()
    };
    let mut events = Vec::new();
    let mut later: Vec<Event> = vec![
        TurnResumed { by: text("dialog"), text: Some(text("read the file a.txt")), taken: None, only: None }.into(),
    ];
    for event in decisions().into_iter().chain(calls()) {
        match event {
            Event::TurnOpened(opened) => {
                let given = Some(Json(json!({ "tool": "undo_last_turn", "args": {} })));
                events.push(TurnOpened { given, ..opened.clone() }.into());
                later.push(TurnOpened { dialogs: true, ..opened.clone() }.into());
                later.push(TurnOpened { address: Some(text("42")), ..opened.clone() }.into());
                later.push(TurnOpened { proposer: Some(proposer()), ..opened.clone() }.into());
                later.push(TurnOpened { history: vec![(text("hi"), text("hello"))], ..opened.clone() }.into());
                later.push(TurnOpened { within: Some(vec![text("/m/guests/guest_k7m2qa")]), ..opened.clone() }.into());
                later.push(TurnOpened { patience_s: Some(43_200), ..opened.clone() }.into());
                later.push(TurnOpened { salt: Some("5a".repeat(16)), ..opened }.into());
            }
            Event::StepProposed(proposed) => {
                let provenance = Some(Json(json!({ "/path": { "from": "model" } })));
                later.push(StepProposed { provenance, call: Some(text("call_1")), ..proposed }.into());
            }
            Event::InvocationFinished(finished) => {
                let changes = Kept::json(&serde_json::to_value([&op]).expect("plain data"));
                events.push(InvocationFinished { effects: vec![op.clone()], changes, ..finished.clone() }.into());
                later.extend(grown_call(&finished, &op));
            }
            _ => {}
        }
    }
    events.extend(later);
    events.extend(grown_dialogs());
    events.extend(mnestome().into_iter().filter_map(|event| match event {
        Event::WishObserved(wish) => {
            Some(WishObserved { purpose: Some(text("find the number of each invoice")), ..wish }.into())
        }
        _ => None,
    }));
    events.push(epoch_after_losses().into());
    events.extend(schedules::grown());
    events.extend(changes::grown());
    events.extend(grown_rights());
    events
}

/// Who else may sign, and what was granted when a step was prepared.
fn grown_rights() -> Vec<Event> {
    let (capability, target) = (text("fs:read"), text("/home/owner/notes"));
    let granted = Granted { grant: 3, capability, target, until: 1_700_000_000_000_000 };
    let resolved = decisions().into_iter().filter_map(|event| match event {
        Event::ArgumentsResolved(resolved) => {
            let grants = vec![granted.clone()];
            let then = ArgumentsResolved { grants, ..resolved };
            let drawn = ArgumentsResolved { mnest_permille: Some(640), ..then.clone() };
            let leads = vec![Lead { given: text("/home/owner/notes"), at: text("/srv/notes") }];
            let led = ArgumentsResolved { leads, uncaged: true, ..drawn.clone() };
            let lessened = ArgumentsResolved { may_do_less: true, ..led.clone() };
            Some([then, drawn, led, lessened].map(Event::from))
        }
        _ => None,
    });
    let resolved = resolved.flatten();
    let admitted = KeyAdmitted { role: text("signer"), name: Some(text("workshop")), ..admitted() };
    resolved.chain([admitted.into()]).collect()
}

fn epoch_after_losses() -> EpochOpened {
    EpochOpened {
        reason: text("salvaged"),
        size: 300,
        head_before: "0c".repeat(32),
        lost: vec![text("events 301 to 312")],
        again: Some(7),
        lost_blobs: vec![hash(9)],
    }
}

fn grown_call(finished: &InvocationFinished, op: &PlannedOp) -> [Event; 2] {
    let before = BeforeImage { born_ns: Some(1_700_000_000_000_000_000), ..op.before.clone() };
    let effects = vec![PlannedOp { before, ..op.clone() }];
    let lessened = InvocationFinished { may_do_less: true, ..finished.clone() };
    [lessened.into(), InvocationFinished { effects, ..finished.clone() }.into()]
}

fn grown_dialogs() -> Vec<Event> {
    let choice = |id: &str, label: &str| Choice { id: text(id), label: text(label) };
    let resumed = TurnResumed { by: text("dialog"), text: None, taken: None, only: None };
    let opened = dialogs().into_iter().filter_map(|event| match event {
        Event::DialogOpened(opened) => Some(DialogOpened {
            step: Some(2),
            field: Some(text("format")),
            options: vec![choice("zip", "Zip"), choice("tar.gz", "Tar, packed")],
            ..opened
        }),
        _ => None,
    });
    let mut events: Vec<Event> = opened.map(Event::from).collect();
    let taken = Some(Json(json!({ "value": 3.5 })));
    events.push(TurnResumed { taken, ..resumed.clone() }.into());
    events.push(TurnResumed { text: Some(text("show it")), only: Some(text("read_files")), ..resumed }.into());
    events
}

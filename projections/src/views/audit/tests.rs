//! Lines of a small log, whole and with parts of it gone; a file of proofs, and that file changed.

use std::collections::BTreeSet;
use std::convert::Infallible;

use ed25519_dalek::{Signer as _, SigningKey};
use metnos_log::codec::{self, Frame};
use metnos_log::envelope::Header;
use metnos_log::event::model::{ModelAnswered, ModelAsked, ModelFailed};
use metnos_log::event::turn::{ArgumentsResolved, InvocationInDoubt, InvocationStarted, StepProposed, TurnOpened};
use metnos_log::note::Checkpoint;
use metnos_log::proof::Builder;
use metnos_log::store::{Stored, StoredBody};
use metnos_log::{EventId, Micros, TurnId};
use serde_json::json;

use super::proof::{Chosen, FORMAT, Head, PURPOSE, Rows, Seal, written};
use super::selection::Selection;
use super::spans::Spans;
use super::verify::{Proved, Refusal, verified};
use super::*;

const LOG: &str = "58190fc2a28263ef83e1625cdffd5bb2";

fn turn(n: u8) -> TurnId {
    TurnId::new(Micros(1_700_000_000_000_000), [n; 10])
}

fn begun(channel: &str, address: Option<&str>, text: &str, history: &[(&str, &str)]) -> Event {
    let short = String::new;
    TurnOpened {
        text: text.to_owned(),
        language: None,
        fallback_language: short(),
        channel: channel.to_owned(),
        engine: short(),
        mode: short(),
        autonomy: short(),
        approve: short(),
        home: short(),
        own: [short(), short(), short()],
        folder: short(),
        zone: short(),
        existing: Vec::new(),
        rules_digest: short(),
        given: None,
        dialogs: false,
        address: address.map(str::to_owned),
        proposer: None,
        history: history.iter().map(|(one, two)| ((*one).to_owned(), (*two).to_owned())).collect(),
        within: None,
        patience_s: None,
        salt: None,
    }
    .into()
}

fn resolved_to(args: &Value) -> Event {
    let (args, provenance) = (Kept::json(args), json!({}).into());
    let (version, plan_digest) = ("1.0.0".to_owned(), String::new());
    let (targets, checks) = (Vec::new(), Vec::new());
    let (grants, mnest_permille, leads, uncaged) = (Vec::new(), None, Vec::new(), false);
    ArgumentsResolved {
        step: 1,
        args,
        targets,
        provenance,
        version,
        checks,
        plan_digest,
        grants,
        mnest_permille,
        leads,
        uncaged,
        may_do_less: false,
    }
    .into()
}

fn began(trace_id: &str, tool: &str) -> Event {
    let (trace_id, tool, version) = (trace_id.to_owned(), tool.to_owned(), "1.0.0".to_owned());
    InvocationStarted { trace_id, step: 1, tool, version, plan_digest: String::new(), repeatable: true }.into()
}

fn came_of(trace_id: &str, result: &Value) -> Event {
    InvocationFinished {
        trace_id: trace_id.to_owned(),
        step: 1,
        ok: true,
        class: None,
        result: Kept::json(result),
        effects: Vec::new(),
        checks: Vec::new(),
        duration_us: 25_400,
        cage: json!({ "level": "full" }).into(),
        connections: json!([]).into(),
        diagnostics: Kept::default(),
        changes: Kept::default(),
        may_do_less: false,
    }
    .into()
}

fn over(message: &str) -> Event {
    let (final_kind, message, counts) = ("answer".to_owned(), Kept::text(message), BTreeMap::new());
    TurnClosed { final_kind, class: None, message, counts }.into()
}

/// Two turns side by side, something of neither, and a correction.
fn log() -> Vec<Stored> {
    let (a, b) = (Some(turn(1)), Some(turn(2)));
    let doubt = InvocationInDoubt { trace_id: "t2".to_owned(), step: 1 };
    let corrected = Rectified {
        line: 7,
        turn: a.map(|turn| turn.to_string()),
        note: Kept::text("of last year"),
        by: "owner".to_owned(),
    };
    stored(vec![
        (None, metnos_log::event::instance::CredentialRemoved { name: "weather".to_owned() }.into()),
        (a, begun("console", None, "the alpha request", &[])),
        (a, resolved_to(&json!({ "path": "/alpha" }))),
        (b, begun("schedule", Some("7"), "the beta request", &[("the alpha request", "the alpha answer")])),
        (a, began("t1", "read_files")),
        (b, resolved_to(&json!({ "path": "/beta" }))),
        (a, came_of("t1", &json!({ "content": "=1+1" }))),
        (b, began("t2", "write_files")),
        (a, over("the alpha answer")),
        (b, doubt.into()),
        (b, over("the beta answer")),
        (None, corrected.into()),
    ])
}

/// Events as a log stores them.
fn stored(events: Vec<(Option<TurnId>, Event)>) -> Vec<Stored> {
    let stored = |(at, (turn, event)): (usize, (Option<TurnId>, Event))| {
        let seq = at as u64 + 1;
        let time = 1_700_000_000_000_000 + i64::try_from(seq).unwrap() * 1_500;
        let id = EventId::new(Micros(time), [seq.to_le_bytes()[0]; 10]);
        let stream = turn.map_or_else(|| "instance".to_owned(), |turn| format!("turn/{turn}"));
        let header = Header(id, time, &stream, seq, event.label(), event.schema(), "owner", turn, None, 0);
        let (salt, payload) = ([seq.to_le_bytes()[0]; 16], event.encode());
        let (frame, _) = codec::frame(seq, &header, &salt, &payload);
        let header = Frame::parse(&frame).unwrap().header.to_vec();
        Stored { seq, header, body: StoredBody::Live { salt, payload } }
    };
    events.into_iter().enumerate().map(stored).collect()
}

fn lines_of(log: &[Stored]) -> Vec<Line> {
    let mut audit = Audit::default();
    log.iter().filter_map(|stored| audit.take(&stored.recorded().unwrap())).collect()
}

/// The log with the payloads of these events erased.
fn erased(seqs: &[u64]) -> Vec<Stored> {
    log().into_iter().map(|stored| if seqs.contains(&stored.seq) { stored.withheld() } else { stored }).collect()
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

/// The lines of a choice.
fn chosen(log: &[Stored], selection: &Selection, quotes: bool) -> Vec<Line> {
    let mut chosen = Chosen::new(selection.clone(), quotes);
    log.iter().filter_map(|stored| chosen.take(&stored.recorded().unwrap())).collect()
}

/// An export of a log with proofs.
fn proved(log: &[Stored], selection: &Selection, quotes: bool) -> String {
    let lines = chosen(log, selection, quotes);
    let sources: BTreeSet<u64> = lines.iter().flat_map(|line| line.sources.clone()).collect();
    let mut builder = Builder::new(sources.iter().copied());
    for stored in log {
        builder.push(stored.leaf());
    }
    let (proof, range) = builder.finish();
    let checkpoint = Checkpoint { log_id: LOG.to_owned(), size: range.size(), root: range.root(), head: [9; 32] };
    let (format, checkpoint, selection) = (FORMAT.to_owned(), checkpoint.signed(&key(1)), selection.clone());
    let (count, events) = (lines.len() as u64, sources.len() as u64);
    let mut text = written(&Head { format, checkpoint, selection, lines: count, events, proof });
    let mut rows = Rows::default();
    for line in &lines {
        let stored = |seq: u64| Ok::<_, Infallible>(log[usize::try_from(seq - 1).unwrap()].clone());
        let Ok(row) = rows.row(line, stored);
        text.push_str(&row);
    }
    sealed(text)
}

/// The text with its last line, by the key.
fn sealed(mut text: String) -> String {
    let digest = blake3::hash(text.as_bytes());
    let signature = key(1).sign(&blake3::derive_key(PURPOSE, digest.as_bytes())).to_bytes();
    let signature = signature.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    text.push_str(&written(&Seal { digest: digest.to_hex().to_string(), signature }));
    text
}

fn check(text: &str) -> Result<Proved, Refusal> {
    verified(&mut text.as_bytes(), key(1).verifying_key()).unwrap()
}

#[test]
fn a_line_says_who_called_and_what_it_is_made_of() {
    let lines = lines_of(&log());
    let of: Vec<(Kind, u64, &[u64])> = lines.iter().map(|line| (line.kind, line.seq, &line.sources[..])).collect();
    assert_eq!(
        of,
        [
            (Kind::Executors, 7, &[2, 3, 5, 7][..]),
            (Kind::Turns, 9, &[2, 5, 9]),
            (Kind::Executors, 10, &[4, 6, 8, 10]),
            (Kind::Turns, 11, &[4, 8, 11]),
            (Kind::Corrections, 12, &[12]),
        ]
    );
    let caller = json!({ "kind": "user", "sender": "owner", "channel": "console", "schedule_id": null });
    assert_eq!(lines[0].value["caller"], caller);
    let caller = json!({ "kind": "scheduler", "sender": "owner", "channel": "schedule", "schedule_id": "7" });
    assert_eq!((&lines[2].value["caller"], &lines[3].value["caller"]), (&caller, &caller));
    assert_eq!((&lines[2].value["exit"], &lines[0].value["exit"]), (&json!("in_doubt"), &json!("ok")));
    assert_eq!((&lines[4].value["corrects"], &lines[4].value["note"]), (&json!(7), &json!("of last year")));
    assert_eq!(
        lines[0].text(),
        "{\"cage\":\"full\",\"caller\":{\"channel\":\"console\",\"kind\":\"user\",\"schedule_id\":null,\"sender\":\"owner\"},\
         \"duration_ms\":25,\"error_class\":null,\"executor\":\"read_files\",\"exit\":\"ok\",\"input\":{\"path\":\"/alpha\"},\
         \"output\":{\"content\":\"=1+1\"},\"seq\":7,\"trace_id\":\"t1\",\"ts\":\"2023-11-14T22:13:20.010Z\",\
         \"turn_id\":\"01HF7YAT00040G2081040G2081\",\"version\":\"1.0.0\"}"
    );
}

#[test]
fn whatever_is_erased_its_lines_stay_and_say_so() {
    let whole = lines_of(&log());
    let all: Vec<u64> = (1..=12).collect();
    for seqs in all.iter().map(std::slice::from_ref).chain([&all[..]]) {
        let lines = lines_of(&erased(seqs));
        assert_eq!(lines.len(), whole.len(), "{seqs:?}");
        for (line, before) in lines.iter().zip(&whole) {
            let is_hit = before.sources.iter().any(|seq| seqs.contains(seq));
            assert_eq!((line.seq, &line.sources), (before.seq, &before.sources));
            assert_eq!(line.value["erased"] == json!(true), is_hit, "{seqs:?}: {}", line.text());
            assert!(is_hit || line == before);
        }
    }
    let opened = &lines_of(&erased(&[2]))[1].value;
    assert_eq!((&opened["user_query"], &opened["actor"], &opened["calls"]), (&json!(null), &json!("owner"), &json!(1)));
    assert_eq!(opened["ts_start"], "2023-11-14T22:13:20.003Z");
}

#[test]
fn what_a_newer_program_wrote_is_a_line_that_says_so() {
    let mut audit = Audit::default();
    let recorded = of_turn(turn(1), 3, over("the alpha answer"));
    let newer = Recorded { schema: 9, body: Body::Unknown(vec![0x80]), ..recorded };
    let line = audit.take(&newer).unwrap();
    assert_eq!((line.kind, line.seq, &line.value["unknown"]), (Kind::Turns, 3, &json!(true)));
    assert_eq!((&line.value["final_kind"], line.value.get("erased")), (&json!(null), None));
}

#[test]
fn an_export_proves_its_lines_with_and_without_payloads() {
    let proved_all = check(&proved(&log(), &Selection::default(), false)).unwrap();
    assert_eq!((proved_all.lines, proved_all.events, proved_all.size), (5, 11, 12));
    assert_eq!((proved_all.withheld, proved_all.erased, proved_all.log_id.as_str()), (0, 0, LOG));
    let without = check(&proved(&erased(&[2, 7, 11]), &Selection::default(), false)).unwrap();
    assert_eq!((without.lines, without.erased), (5, 3));
    let none = Selection { executor: Some("no_such".to_owned()), ..Selection::default() };
    let none = check(&proved(&log(), &none, false)).unwrap();
    assert_eq!((none.lines, none.events), (0, 0));
    assert!(FORMAT.ends_with(&format!("lines v{VERSION}")));
}

/// An event of a file as a reader sees it: names and texts lie in base64.
fn readable(text: &str) -> String {
    let rows = text.lines().filter_map(|line| serde_json::from_str::<super::proof::Row>(line).ok());
    let bytes = rows.flat_map(|row| row.events).flat_map(|stored| match stored.body {
        StoredBody::Live { payload, .. } => [stored.header, payload].concat(),
        StoredBody::Digest(_) => stored.header,
    });
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned() + text
}

#[test]
fn the_proof_of_one_turn_shows_nothing_of_the_others() {
    let of = |turn: TurnId| Selection { turn: Some(turn.to_string()), ..Selection::default() };
    for (own, other, name) in [(turn(1), turn(2), "beta"), (turn(2), turn(1), "alpha")] {
        let text = proved(&log(), &of(own), false);
        let seen = readable(&text);
        let raw = |turn: TurnId| String::from_utf8_lossy(&turn.0).into_owned();
        assert!(seen.contains(&own.to_string()) && seen.contains(&raw(own)));
        assert!(!seen.contains(name) && !seen.contains(&other.to_string()) && !seen.contains(&raw(other)));
        check(&text).unwrap();
    }
    // The second request quotes the first: it is withheld, and shown where that is asked for.
    let text = proved(&log(), &of(turn(2)), false);
    let found = check(&text).unwrap();
    assert_eq!((found.withheld, found.erased), (1, 0));
    assert!(text.contains("\"withheld\":true") && !readable(&text).contains("the beta request"));
    let text = proved(&log(), &of(turn(2)), true);
    assert_eq!(check(&text).unwrap().withheld, 0);
    assert!(readable(&text).contains("the beta request") && readable(&text).contains("the alpha answer"));
}

/// A call that reads the record of others: what it was given, what it found, what was answered. What it did is its own.
#[test]
fn the_proof_of_a_turn_that_takes_another_back_shows_nothing_of_that() {
    let (a, b) = (Some(turn(1)), Some(turn(2)));
    let steps = |tool: &str| json!({ "steps": [{ "tool": tool, "args": { "turn": turn(1).to_string() } }] });
    let given = |tool: &str| {
        let Event::TurnOpened(opened) = begun("console", None, "the beta request", &[]) else { panic!() };
        Event::TurnOpened(TurnOpened { given: Some(steps(tool).into()), ..opened })
    };
    for tool in super::quoting::TELLING.iter().chain(&["read_files"]) {
        let args = Kept::json(&json!({ "turn": turn(1).to_string() }));
        let (tool, is_telling) = ((*tool).to_owned(), *tool != "read_files");
        let proposed = StepProposed { step: 1, tool: tool.clone(), args: args.clone(), provenance: None, call: None };
        let log = stored(vec![
            (a, begun("console", None, "the alpha request", &[])),
            (b, given(&tool)),
            (a, over("the alpha answer")),
            (b, proposed.into()),
            (b, resolved_to(&json!({ "turn": turn(1).to_string() }))),
            (b, began("t2", &tool)),
            (b, came_of("t2", &json!({ "metadata": { "turn": turn(1).to_string(), "text": "the alpha request" } }))),
            (b, over("Undid the alpha request.")),
        ]);
        let of = Selection { turn: b.map(|turn| turn.to_string()), ..Selection::default() };
        let text = proved(&log, &of, false);
        let seen = readable(&text);
        assert_eq!(seen.contains("alpha") || seen.contains(&turn(1).to_string()), !is_telling, "{tool}");
        assert_eq!(check(&text).unwrap().withheld, if is_telling { 4 } else { 0 }, "{tool}");
        assert!(seen.contains(&tool) && text.contains("\"calls\":1"));
        let text = proved(&log, &of, true);
        assert!(readable(&text).contains("the alpha request") && check(&text).unwrap().withheld == 0);
        // Where the call that tells so was erased, whatever comes of it counts as such.
        let gone = |seq: u64| [4, 6].contains(&seq);
        let log: Vec<Stored> =
            log.into_iter().map(|stored| if gone(stored.seq) { stored.withheld() } else { stored }).collect();
        let text = proved(&log, &of, false);
        assert!(!readable(&text).contains("alpha") && check(&text).unwrap().erased == 1);
    }
}

/// What a model was reminded of, it may repeat: in arguments, and in its answer.
#[test]
fn the_proof_of_a_turn_whose_model_was_reminded_of_another_shows_nothing_of_that() {
    let b = Some(turn(2));
    let asked = asked(1, "alpha");
    let reminder: &[(&str, &str)] = &[("the alpha request", "the alpha answer")];
    for (history, is_asked, withheld) in [(reminder, true, 4), (reminder, false, 1), (&[], true, 0)] {
        let mut events = vec![(b, begun("console", None, "the beta request", history))];
        events.extend(is_asked.then(|| (b, asked.clone().into())));
        events.extend([
            (b, resolved_to(&json!({ "path": "/alpha" }))),
            (b, began("t2", "read_files")),
            (b, came_of("t2", &json!({ "content": "alpha" }))),
            (b, over("As you said: alpha.")),
        ]);
        let of = Selection { turn: b.map(|turn| turn.to_string()), ..Selection::default() };
        let text = proved(&stored(events), &of, false);
        assert_eq!(check(&text).unwrap().withheld, withheld);
        assert_eq!(readable(&text).contains("alpha"), withheld < 4);
    }
}

#[test]
fn any_changed_character_anywhere_is_refused() {
    let text = proved(&erased(&[6]), &Selection { kind: Some(Kind::Executors), ..Selection::default() }, false);
    check(&text).unwrap();
    for at in 0..text.len() {
        for bit in [0, 3, 5] {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            let around =
                String::from_utf8_lossy(&bytes[at.saturating_sub(20)..(at + 20).min(bytes.len())]).into_owned();
            let found = verified(&mut &bytes[..], key(1).verifying_key()).unwrap();
            assert!(found.is_err(), "byte {at} bit {bit}: {around}");
        }
        assert!(verified(&mut &text.as_bytes()[..at], key(1).verifying_key()).unwrap().is_err(), "cut at {at}");
    }
}

#[test]
fn each_way_to_change_a_file_is_told() {
    let text = proved(&log(), &Selection::default(), false);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let joined = |order: &[usize]| order.iter().map(|at| lines[*at]).collect::<String>();
    assert_eq!(lines.len(), 7);
    assert_eq!(check(""), Err(Refusal::NoProof));
    assert_eq!(check("dear diary\n"), Err(Refusal::NoProof));
    assert_eq!(check(&joined(&[0, 1, 2, 3, 4, 5])), Err(Refusal::Cut));
    assert_eq!(check(&text[..text.len() - 1]), Err(Refusal::Cut));
    assert_eq!(check(&text[..text.len() - 200]), Err(Refusal::Cut));
    assert_eq!(check(&(text.clone() + "\n")), Err(Refusal::Behind));
    assert_eq!(check(&joined(&[0, 1, 2, 3, 4, 5, 5, 6])), Err(Refusal::Count));
    assert_eq!(check(&joined(&[0, 1, 2, 3, 4, 4, 6])), Err(Refusal::Sources(6)));
    // The second line is made of events that the first one shows.
    assert_eq!(check(&joined(&[0, 2, 1, 3, 4, 5, 6])), Err(Refusal::Sources(2)));
    assert_eq!(check(&joined(&[0, 3, 1, 2, 4, 5, 6])), Err(Refusal::Order(3)));
    assert_eq!(check(&joined(&[0, 1, 2, 3, 4, 6])), Err(Refusal::Malformed(6)));
    let other = text.replacen("\"content\":\"=1+1\"", "\"content\":\"=1+2\"", 1);
    assert_eq!(check(&other), Err(Refusal::Line(2)));
    assert_eq!(verified(&mut text.as_bytes(), key(2).verifying_key()).unwrap(), Err(Refusal::OtherKey));
    let older = text.replacen("lines v3", "lines v1", 1);
    assert_eq!(check(&older), Err(Refusal::OtherVersion));
    // One from before there were lines of erasures is read, and is what its key sealed.
    let before = text.replacen("lines v3", "lines v2", 1);
    assert_eq!(check(&before), Err(Refusal::Seal));
    let body = before.trim_end().rsplit_once('\n').unwrap().0.to_owned() + "\n";
    assert_eq!(check(&sealed(body)).map(|proved| proved.lines), Ok(5));
    let selected = text.replacen("\"selection\":{}", "\"selection\":{\"since\":1}", 1);
    assert_eq!(check(&selected), Err(Refusal::Seal));
    let selected = text.replacen("\"selection\":{}", "\"selection\":{\"kind\":\"turns\"}", 1);
    assert_eq!(check(&selected), Err(Refusal::Unasked(2)));
}

/// What is sealed by the key itself, but not in the log that it signed.
#[test]
fn events_that_are_not_in_the_log_are_refused_whoever_seals_them() {
    let text = proved(&log(), &Selection::default(), false);
    let head = text.split_inclusive('\n').next().unwrap();
    let mut other = log();
    let StoredBody::Live { salt, .. } = &mut other[1].body else { panic!() };
    salt[0] ^= 1;
    let rows = proved(&other, &Selection::default(), false);
    let rows: Vec<&str> = rows.split_inclusive('\n').collect();
    let spliced = head.to_owned() + &rows[1..rows.len() - 1].concat();
    assert_eq!(check(&sealed(spliced)), Err(Refusal::Proof(metnos_log::proof::ProofError::Root)));
}

/// One text for one thing: a line that says the same in other words is none, whoever seals it.
#[test]
fn another_spelling_is_refused_whoever_seals_it() {
    let text = proved(&log(), &Selection::default(), false);
    let last = text.trim_end().rfind('\n').unwrap() + 1;
    for (from, to, line) in [
        ("{\"checkpoint\":", "{ \"checkpoint\":", 1),
        ("\"selection\":{}", "\"selection\":{\"since\":null}", 1),
        ("{\"events\":[{", "{\"events\": [{", 2),
        ("\"line\":{\"cage\":\"full\"", "\"line\":{\"cage\":\"f\\u0075ll\"", 2),
        ("\"kind\":\"executors\"", "\"kind\":\"executors\",\"withheld\":[]", 2),
    ] {
        let changed = text[..last].replacen(from, to, 1);
        assert_ne!(changed, text[..last], "{from}");
        assert_eq!(check(&sealed(changed)), Err(Refusal::Malformed(line)), "{to}");
    }
    assert!(check(&sealed(text[..last].to_owned())).is_ok());
}

#[test]
fn spans_hang_together_and_carry_no_content() {
    let mut spans = Spans::default();
    let texts: Vec<String> =
        log().iter().filter_map(|stored| spans.take(&stored.recorded().unwrap(), LOG, &Selection::default())).collect();
    let spans: Vec<Value> = texts
        .iter()
        .map(|text| {
            serde_json::from_str::<Value>(text).unwrap()["resourceSpans"][0]["scopeSpans"][0]["spans"][0].clone()
        })
        .collect();
    let names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["execute_tool read_files", "invoke_agent metnos", "execute_tool write_files", "invoke_agent metnos"]
    );
    for (call, turn) in [(0, 1), (2, 3)] {
        assert_eq!(spans[call]["traceId"], spans[turn]["traceId"]);
        assert_eq!(spans[call]["parentSpanId"], spans[turn]["spanId"]);
        assert_eq!((spans[turn].get("parentSpanId"), spans[call]["kind"].as_u64()), (None, Some(1)));
    }
    let hex = |value: &Value, digits: usize| {
        let text = value.as_str().unwrap();
        text.len() == digits && text.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit))
    };
    assert!(spans.iter().all(|span| hex(&span["traceId"], 32) && hex(&span["spanId"], 16)));
    assert_eq!(spans[0]["startTimeUnixNano"], "1700000000007500000");
    assert_eq!(spans[0]["endTimeUnixNano"], "1700000000010500000");
    assert_eq!((&spans[0]["status"], &spans[2]["status"]), (&json!({ "code": 1 }), &json!({ "code": 2 })));
    let all = texts.concat();
    assert!(!all.contains("alpha") && !all.contains("beta") && !all.contains("1+1"), "{all}");
}

/// An event of a turn as the log would hold it.
fn of_turn(turn: TurnId, seq: u64, event: Event) -> Recorded {
    let recorded = crate::projection::recorded(seq, i64::try_from(seq).unwrap() * 1_000, event);
    Recorded { turn: Some(turn), ..recorded }
}

/// What a model is asked.
fn asked(ask: u32, body: &str) -> ModelAsked {
    ModelAsked {
        ask,
        role: "proposer".to_owned(),
        tier: "wise".to_owned(),
        provider: "llamacpp".to_owned(),
        model: "small".to_owned(),
        template: String::new(),
        tools: String::new(),
        parameters: json!({ "max_tokens": 512 }).into(),
        body: Kept::text(body),
    }
}

/// A turn that asks a model twice.
fn asking() -> [Event; 6] {
    let asked = |ask| asked(ask, "the alpha request");
    let answered = ModelAnswered {
        ask: 1,
        raw: Kept::text("the alpha answer"),
        parsed: Kept::json(&json!({ "content": "the alpha answer", "finish": "stop" })),
        usage: json!({ "prompt_tokens": 31, "completion_tokens": 7 }).into(),
        timings: json!({}).into(),
        attempt: 1,
        failed: Vec::new(),
        headers: json!({}).into(),
        duration_us: 1_000,
    };
    let failed = ModelFailed {
        ask: 2,
        class: "timeout".to_owned(),
        status: 0,
        reason: "no answer".to_owned(),
        raw: Kept::default(),
        failed: Vec::new(),
        waited_ms: 0,
        duration_us: 1_000,
    };
    [
        begun("console", None, "the alpha request", &[]),
        asked(1).into(),
        answered.into(),
        asked(2).into(),
        failed.into(),
        over("the alpha answer"),
    ]
}

#[test]
fn a_question_to_a_model_is_a_span_below_its_turn() {
    let mut spans = Spans::default();
    let taken = asking().into_iter().zip(1..).filter_map(|(event, seq)| {
        spans.take(&of_turn(turn(1), seq, event), LOG, &Selection { kind: Some(Kind::Turns), ..Selection::default() })
    });
    let texts: Vec<String> = taken.collect();
    assert!(!texts.concat().contains("alpha"));
    let spans: Vec<Value> = texts
        .iter()
        .map(|text| {
            serde_json::from_str::<Value>(text).unwrap()["resourceSpans"][0]["scopeSpans"][0]["spans"][0].clone()
        })
        .collect();
    let [answered, failed, turn] = &spans[..] else { panic!("{spans:?}") };
    let attribute = |span: &Value, name: &str| {
        let attributes = span["attributes"].as_array().unwrap();
        attributes.iter().find(|attribute| attribute["key"] == name).map(|attribute| attribute["value"].clone())
    };
    for (name, value) in [
        ("gen_ai.operation.name", json!({ "stringValue": "chat" })),
        ("gen_ai.provider.name", json!({ "stringValue": "llamacpp" })),
        ("gen_ai.request.model", json!({ "stringValue": "small" })),
        ("gen_ai.request.max_tokens", json!({ "intValue": "512" })),
        ("gen_ai.usage.input_tokens", json!({ "intValue": "31" })),
        ("gen_ai.usage.output_tokens", json!({ "intValue": "7" })),
        ("gen_ai.response.finish_reasons", json!({ "arrayValue": { "values": [{ "stringValue": "stop" }] } })),
    ] {
        assert_eq!(attribute(answered, name), Some(value), "{name}");
    }
    assert_eq!((answered["name"].as_str(), answered["kind"].as_u64()), (Some("chat small"), Some(3)));
    assert_eq!((&answered["startTimeUnixNano"], &answered["endTimeUnixNano"]), (&json!("2000000"), &json!("3000000")));
    assert_eq!(
        (&failed["status"], attribute(failed, "error.type")),
        (&json!({ "code": 2 }), Some(json!({ "stringValue": "timeout" })))
    );
    assert_ne!(failed["spanId"], answered["spanId"]);
    assert!([answered, failed].iter().all(|span| span["parentSpanId"] == turn["spanId"]));
}

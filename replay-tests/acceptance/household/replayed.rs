//! The history decides the same again, projections come back equal, and a changed history or a changed rule shows.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use metnos_projections::replay::Checker;
use metnos_projections::rules::Rules;
use metnos_projections::rules::simple::Lexicons;
use metnos_projections::rules::vaglio::Laws;

use super::home::Home;

/// A home with a few turns of each kind.
fn lived_in() -> Home {
    let home = Home::new();
    home.file("a.txt", "1\n2\n3\n4\n");
    for sentence in [
        "read the file a.txt and tell me the last three lines",
        "leggi il file a.txt e dimmi le prime due righe",
        "write \"hello\" to b.txt",
        "play some jazz in the kitchen",
        "read the file nowhere.txt",
    ] {
        home.ask_approved(sentence);
    }
    home
}

fn history(home: &Home) -> Vec<String> {
    let exported = home.run(["log", "export"]);
    assert_eq!(exported.code, 0, "{}", exported.err);
    exported.out.lines().map(str::to_owned).collect()
}

#[test]
fn deleted_projections_and_exports_come_back_the_same() {
    let home = lived_in();
    let digests = |home: &Home| home.run(["--json", "replay", "check"]).json()["projections"].to_string();
    let first = home.run(["audit", "export"]);
    assert_eq!(first.code, 0, "{}", first.err);
    let before = (digests(&home), tree(&home.metnos().join("workspace/.audit")));
    assert!(!before.1.is_empty());
    for folder in ["data/projections", "workspace/.audit", "workspace/executors"] {
        std::fs::remove_dir_all(home.metnos().join(folder)).unwrap();
    }
    let again = home.run(["audit", "export"]);
    assert_eq!(again.code, 0, "{}", again.err);
    let after = (digests(&home), tree(&home.metnos().join("workspace/.audit")));
    let only = |text: &str| -> Vec<String> {
        serde_json::from_str::<Vec<serde_json::Value>>(text)
            .unwrap()
            .iter()
            .map(|line| line["digest"].to_string())
            .collect()
    };
    assert_eq!(only(&before.0), only(&after.0));
    assert_eq!(before.1, after.1);
    assert_eq!(home.ask("read the file a.txt and tell me the last three lines").out, "2\n3\n4\n");
    home.is_whole();
}

#[test]
fn a_checkpoint_that_does_not_fit_is_rebuilt_and_one_that_lies_is_found() {
    let home = lived_in();
    let turns = home.metnos().join("data/projections/turns.jsonl");
    let text = std::fs::read_to_string(&turns).unwrap();
    // Another state under the old digest: not believed.
    std::fs::write(&turns, text.replace("answer", "answex")).unwrap();
    home.is_whole();
    // A position that the chain does not lead on from: not believed either, and told, for it may be the log that lost its end.
    std::fs::write(&turns, text.replacen("\"position\":", "\"position\":1", 1)).unwrap();
    let verified = home.run(["log", "verify"]);
    assert!(verified.code == 1 && verified.err.contains("turns.jsonl has seen 1"), "{}", verified.err);
    let replayed = home.run(["replay", "check"]);
    assert_eq!(replayed.code, 0, "{} {}", replayed.out, replayed.err);
    // A forged state under its own digest is believed by commands, and found by the check.
    let (first, state) = text.split_once('\n').unwrap();
    let mut forged: serde_json::Value = serde_json::from_str(first).unwrap();
    let state = state.replace("answer", "answex");
    forged["digest"] = blake3::hash(state.as_bytes()).to_hex().to_string().into();
    std::fs::write(&turns, format!("{forged}\n{state}")).unwrap();
    let ran = home.run(["replay", "check"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("DIFFERS turns"), "{}", ran.out);
}

#[test]
fn how_things_stood_is_shown_by_position_and_by_time() {
    let home = lived_in();
    let turns = |at: &str| home.run(["--json", "--at", at, "status"]).json()["turns"]["all"].as_u64().unwrap();
    let events: Vec<serde_json::Value> =
        history(&home).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let opened: Vec<&serde_json::Value> = events.iter().filter(|event| event["kind"] == "turn_opened").collect();
    let third = opened[2];
    assert_eq!(turns(&third["seq"].to_string()), 3);
    assert_eq!(turns(&(third["seq"].as_u64().unwrap() - 1).to_string()), 2);
    assert_eq!(turns("1"), 0);
    assert_eq!(turns("1970-01-01T00:00:00Z"), 0);
    assert_eq!(turns("2200-01-01T00:00:00Z"), opened.len() as u64);
    assert_eq!(home.run(["--at", "soon", "status"]).code, 2);
    assert_eq!(home.run(["--at", "3", "ask", "what time is it"]).code, 2);
    home.is_whole();
}

#[test]
fn running_without_a_cage_is_on_record_and_said() {
    let home = Home::new().with("METNOS_SANDBOX", "off");
    let ran = home.run(["--json", "ask", "what time is it"]);
    assert_eq!(ran.json()["steps"][0]["cage"]["level"], "none", "{} {}", ran.out, ran.err);
    assert!(home.run(["plan", "what time is it"]).err.contains("without a cage"));
    let accepted = history(&home).iter().filter(|line| line.contains("cage_downgrade_accepted")).count();
    assert_eq!(accepted, 1);
    home.is_whole();
}

/// Every file below a folder with its bytes.
fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(tree(&path));
        } else {
            files.push((path.clone(), std::fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn a_changed_decision_is_reported_with_seq_recorded_and_computed() {
    let home = lived_in();
    let lines = history(&home);
    let whole = home.files().join("whole.jsonl");
    std::fs::write(&whole, lines.join("\n")).unwrap();
    let report_of = |file: &Path| {
        home.run(["--json".as_ref(), "replay".as_ref(), "check".as_ref(), "--history".as_ref(), file.as_os_str()])
    };
    assert_eq!(report_of(&whole).code, 0, "{}", report_of(&whole).out);
    let falsified: [(&str, &str, &str); 4] = [
        ("plan_proposed", "tail_lines\\\":3", "tail_lines\\\":2"),
        ("verdict_given", "\"approved\":true", "\"approved\":false"),
        ("turn_closed", "\"final_kind\":\"answer\"", "\"final_kind\":\"ask\""),
        ("effects_planned", "\\\"bytes\\\":5", "\\\"bytes\\\":6"),
    ];
    for (kind, from, to) in falsified {
        let at = lines.iter().position(|line| line.contains(&format!("\"kind\":\"{kind}\"")) && line.contains(from));
        let at = at.unwrap_or_else(|| panic!("no {kind} with {from}"));
        let mut changed = lines.clone();
        changed[at] = changed[at].replace(from, to);
        let file = home.files().join("changed.jsonl");
        std::fs::write(&file, changed.join("\n")).unwrap();
        let ran = report_of(&file);
        let said = ran.json();
        let seq = serde_json::from_str::<serde_json::Value>(&lines[at]).unwrap()["seq"].clone();
        assert_eq!(ran.code, 1, "{kind}: {said}");
        let difference = &said["differences"][0];
        assert_eq!(difference["seq"], seq, "{kind}: {said}");
        assert_eq!(difference["recorded"]["kind"], kind, "{said}");
        assert_eq!(difference["computed"]["kind"], kind, "{said}");
        assert_ne!(difference["recorded"], difference["computed"]);
        // A person is told the value that differs, not all that the event holds.
        let words = ["replay".as_ref(), "check".as_ref(), "--history".as_ref(), file.as_os_str()];
        let told = home.run(words).out;
        let told = told.split_once(&format!("event {seq} of turn ")).unwrap().1.to_owned();
        assert!(told.contains(&format!("{kind} says something else than the rules decide:")), "{told}");
        assert!(told.len() < 600 && !told.contains('{') && told.contains("      recorded  "), "{told}");
        // Whoever reads no further hears the same by the exit code.
        let mut child = home.command().args(words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(1), "{kind}");
    }
}

#[test]
fn a_secret_is_in_no_event_and_its_turn_is_not_decidable() {
    let home = Home::new();
    let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789AB";
    home.file("env.txt", format!("one\nTOKEN={token}\nthree\n"));
    // What only looks like a placeholder takes nothing out of the comparison.
    home.file("looks.txt", "<redacted:password:0123456789abcdef>\n");
    let ran = home.ask("read the file env.txt and tell me the last two lines");
    assert!(ran.out.contains(token), "the person sees the file as it is: {}", ran.out);
    assert_eq!(home.ask("read the file looks.txt").code, 0);
    let lines = history(&home).join("\n");
    assert!(!lines.contains(token) && lines.contains("<redacted:github_token:"));
    let log = std::fs::read(home.metnos().join("data/log/events.redb")).unwrap();
    assert!(!log.windows(token.len()).any(|window| window == token.as_bytes()));
    assert_eq!(home.run(["--json", "replay", "check"]).json()["not_decidable"], 1);
    home.is_whole();
}

#[test]
fn what_cannot_be_compared_is_not_called_the_same() {
    let home = lived_in();
    let lines = history(&home);
    let file = home.files().join("other.jsonl");
    let check = |lines: &[String]| {
        std::fs::write(&file, lines.join("\n")).unwrap();
        home.run(["replay".as_ref(), "check".as_ref(), "--history".as_ref(), file.as_os_str()])
    };
    let opened = lines.iter().position(|line| line.contains("\"kind\":\"turn_opened\"")).unwrap();
    let digest = serde_json::from_str::<serde_json::Value>(&lines[opened]).unwrap()["payload"]["rules_digest"].clone();
    let mut other = lines.clone();
    other[opened] = other[opened].replace(digest.as_str().unwrap(), "00");
    let ran = check(&other);
    assert!(ran.code == 0 && ran.out.contains("1 turn could only be checked for its order"), "{}", ran.out);
    // Other rules or not: an outcome before its intent is in no possible order.
    let at = |kind: &str| lines.iter().position(|line| line.contains(&format!("\"kind\":\"{kind}\""))).unwrap();
    other.swap(at("invocation_started"), at("invocation_finished"));
    assert_eq!(check(&numbered(&other)).code, 1);
    let mut newer = lines.clone();
    newer[at("plan_proposed")] = newer[at("plan_proposed")].replace("\"plan_proposed\"", "\"plan_improved\"");
    assert_eq!(check(&newer).code, 1);
    assert_eq!(check(&[]).code, 2);
}

#[test]
fn a_missing_decision_is_reported() {
    let home = lived_in();
    let mut lines = history(&home);
    let at = lines.iter().rposition(|line| line.contains("\"kind\":\"turn_closed\"")).unwrap();
    lines.remove(at);
    let file = home.files().join("cut.jsonl");
    std::fs::write(&file, numbered(&lines).join("\n")).unwrap();
    let ran = home.run(["replay".as_ref(), "check".as_ref(), "--history".as_ref(), file.as_os_str()]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert_eq!(ran.err, "", "it is a history");
}

/// The same events, numbered from 1 on.
fn numbered(lines: &[String]) -> Vec<String> {
    let with = |(seq, line): (u64, &String)| {
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["seq"] = seq.into();
        event.to_string()
    };
    (1..).zip(lines).map(with).collect()
}

/// A log that was made of a damaged one may end between the events of one decision. The turn is closed then, and the history says
/// why nothing else followed.
#[test]
fn a_turn_whose_rest_is_lost_is_no_difference() {
    let home = lived_in();
    let lines = history(&home);
    let at = |kind: &str| lines.iter().position(|line| line.contains(&format!("\"kind\":\"{kind}\""))).unwrap();
    let (opened, created) = (at("turn_opened"), at("instance_created"));
    let with = |like: usize, number: u64, (kind, payload): (&str, serde_json::Value)| {
        let mut event: serde_json::Value = serde_json::from_str(&lines[like]).unwrap();
        (event["kind"], event["payload"], event["schema"]) = (kind.into(), payload, 1.into());
        event["id"] = format!("01M87Y0WYCRJW5DJ2GX5KNG0E{number}").into();
        event["version"] = (900 + number).into();
        event.to_string()
    };
    let epoch = serde_json::json!({ "reason": "salvaged", "size": opened + 1, "head_before": "00", "lost": [] });
    let closed: serde_json::Value = serde_json::from_str(&lines[at("turn_closed")]).unwrap();
    let mut cut = lines[..=opened].to_vec();
    cut.push(with(created, 1, ("epoch_opened", epoch)));
    cut.push(with(opened, 2, ("turn_cancelled", serde_json::json!({ "by": "restart" }))));
    cut.push(with(opened, 3, ("turn_closed", closed["payload"].clone())));
    let file = home.files().join("salvaged.jsonl");
    let check = |lines: &[String]| {
        std::fs::write(&file, numbered(lines).join("\n")).unwrap();
        home.run(["replay".as_ref(), "check".as_ref(), "--history".as_ref(), file.as_os_str()])
    };
    let ran = check(&cut);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    assert!(ran.out.contains("1 not decidable"), "{}", ran.out);
    cut.remove(opened + 1);
    assert_eq!(check(&cut).code, 1, "without the word of a salvage it is a difference");
    // The same of one whose beginning lay in the gap.
    let end = at("turn_closed");
    let behind = |again: usize| {
        let epoch = serde_json::json!({ "reason": "salvaged", "size": opened, "head_before": "00", "lost": ["x"], "again": again });
        [&lines[..opened], &[with(created, 1, ("epoch_opened", epoch))], &lines[opened + 1..=end]].concat()
    };
    let ran = check(&behind(end - opened));
    assert!(ran.code == 0 && ran.out.contains("1 not decidable"), "{} {}", ran.out, ran.err);
    assert_eq!(check(&behind(0)).code, 1, "what was appended since lost nothing");
}

/// What an event is missing from is another history, and none of this log.
#[test]
fn a_history_with_a_gap_is_refused_with_its_line() {
    let home = lived_in();
    let lines = history(&home);
    let file = home.files().join("gap.jsonl");
    let check = |lines: &[String]| {
        std::fs::write(&file, lines.join("\n")).unwrap();
        home.run(["replay".as_ref(), "check".as_ref(), "--history".as_ref(), file.as_os_str()])
    };
    let without = |at: usize| [&lines[..at], &lines[at + 1..]].concat();
    let mut far = lines.clone();
    far[8] = far[8].replace("\"seq\":9,", "\"seq\":18446744073709551615,");
    assert_ne!(far[8], lines[8]);
    let twice = [&lines[..5], &lines[4..]].concat();
    for (changed, said) in [
        (without(0), "gap.jsonl:1: the history begins with event 2;"),
        (without(4), "gap.jsonl:5: event 6 follows event 4;"),
        (far, "gap.jsonl:9: event 18446744073709551615 follows event 8;"),
        (twice, "gap.jsonl:6: event 5 follows event 5;"),
    ] {
        let ran = check(&changed);
        assert_eq!(ran.code, 1, "{said} {}", ran.out);
        assert!(ran.err.contains(said), "{}", ran.err);
    }
    assert_eq!(check(&lines).code, 0);
}

/// How many turns of a history are decided otherwise by some rules.
fn differences(lines: &[String], rules: &Rules) -> usize {
    let mut checker = Checker::new(rules, true);
    for line in lines {
        checker.take(&metnos::export::history::read_line(line).unwrap());
    }
    checker.finish().0.differences.len()
}

#[test]
fn a_changed_lexicon_entry_turns_the_replay_red() {
    let lines = history(&lived_in());
    let mut rules = Rules::embedded();
    assert_eq!(differences(&lines, &rules), 0);
    let read = |language: &str| {
        std::fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts").join(language).join("lexicon.toml"),
        )
        .unwrap()
    };
    let (english, italian) = (read("en"), read("it"));
    assert!(english.contains("\"three\""), "the lexicon names numbers in another way");
    let changed = english.replace("\"three\"", "\"threx\"");
    let lexicons = Lexicons::parse(&changed, &italian).unwrap();
    rules.lexicons = lexicons.into();
    assert!(differences(&lines, &rules) > 0);
}

#[test]
fn a_changed_guard_rule_turns_the_replay_red() {
    let lines = history(&lived_in());
    let mut rules = Rules::embedded();
    let laws = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts/laws.toml")).unwrap();
    let changed = format!(
        "{laws}\n[[law]]\nname = \"perimeter\"\nrule = \"no_text\"\ncheck = \"match\"\nabout = [\"call\"]\ntargets = [\"**/*.txt\"]\n[law.reason]\nen = \"{{{{ target }}}}\"\nit = \"{{{{ target }}}}\"\n"
    );
    let laws = Laws::parse(&changed).unwrap();
    rules.laws = laws;
    assert!(differences(&lines, &rules) > 0);
}

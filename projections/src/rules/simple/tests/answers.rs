//! What is said of results, in both languages.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::answer::{StepResult, compose, failure};
use super::world;
use crate::messages::{Language, Messages};
use crate::plan::{AnswerSpec, Plan};

fn tell(answer: AnswerSpec) -> Plan {
    Plan { engine: "simple".to_owned(), confidence_permille: 1000, steps: Vec::new(), answer, abstention: None }
}

fn said(language: Language, answer: AnswerSpec, tool: &str, args: Value, result: Value) -> String {
    let world = world();
    let step = StepResult { tool: tool.to_owned(), args: args.into(), result: result.into(), is_counted: false };
    compose(&world.messages, &world.tools, language, &tell(answer), &[step])
}

/// It was said that the text is empty.
#[test]
fn a_result_without_a_text_is_told_by_its_fields() {
    let told = |result| said(Language::En, AnswerSpec::Result, "sum_own_things", json!({}), result);
    let result = json!({ "ok": true, "sum": 12, "of": ["a", "b"], "rows": [{ "x": 1 }, { "x": 2 }], "note": null });
    assert_eq!(told(result), "of: a, b\nrows: 2 results\nsum: 12");
    assert_eq!(told(json!({ "ok": true })), "Done.");
    assert_eq!(told(json!({ "ok": true, "content": "" })), "The text is empty.");
}

#[test]
fn lines_are_the_answer_and_nothing_else() {
    let metadata = json!({"path": "/a", "size": 9, "lines": 3, "truncated": false, "lossy": false, "binary": false});
    let result = json!({"ok": true, "content": "b\nc\n  d", "metadata": metadata});
    let args = json!({"paths": ["/a"], "tail_lines": 3});
    assert_eq!(said(Language::En, AnswerSpec::Result, "read_files", args, result), "b\nc\n  d");
}

#[test]
fn fewer_lines_than_asked_are_said() {
    let result = json!({"ok": true, "content": "b", "metadata": {"path": "/a", "lines": 1}});
    let args = json!({"paths": ["/a"], "tail_lines": 3});
    let en = said(Language::En, AnswerSpec::Result, "read_files", args.clone(), result.clone());
    assert_eq!(en, "b\nThere is only 1 line, not 3.");
    assert_eq!(said(Language::It, AnswerSpec::Result, "read_files", args, result), "b\nC'è solo 1 riga, non 3.");
}

#[test]
fn empty_cut_and_broken_texts_are_said() {
    let empty = json!({"ok": true, "content": "", "metadata": {"size": 0, "lines": 0}});
    assert_eq!(
        said(Language::It, AnswerSpec::Result, "read_files", json!({"paths": ["/a"]}), empty),
        "Il file è vuoto."
    );
    let cut = json!({"ok": true, "content": "a�", "metadata": {"truncated": true, "lossy": true}});
    let text = said(Language::En, AnswerSpec::Result, "read_files", json!({"paths": ["/a"]}), cut);
    assert_eq!(
        text,
        "a�\nThis is not all of it: the rest was cut off.\nSome bytes are not valid text; they are shown as �."
    );
    let nothing = json!({"ok": true, "entries": [], "metadata": {"count": 0}});
    assert_eq!(said(Language::En, AnswerSpec::Result, "find_files", json!({}), nothing), "Nothing matches.");
}

#[test]
fn counts_have_the_right_forms() {
    let count = |n: u64, kind: &str, language| {
        let result = json!({"ok": true, "entries": [], "metadata": {"count": n}});
        said(language, AnswerSpec::Count, "find_files", json!({"kind": kind}), result)
    };
    assert_eq!(count(1, "file", Language::En), "1 file");
    assert_eq!(count(0, "file", Language::En), "0 files");
    assert_eq!(count(1, "dir", Language::It), "1 cartella");
    assert_eq!(count(2, "dir", Language::It), "2 cartelle");
    let cut = json!({"ok": true, "entries": [], "metadata": {"count": 7, "truncated": true}});
    assert_eq!(said(Language::En, AnswerSpec::Count, "find_files", json!({}), cut), "At least 7 files");
}

#[test]
fn one_quantity_is_told_with_its_unit() {
    let path = "bytes_written".to_owned();
    let result = json!({"ok": true, "bytes_written": 1, "ok_count": 1, "fail_count": 0});
    assert_eq!(
        said(Language::It, AnswerSpec::Field { path: path.clone() }, "write_files", json!({}), result.clone()),
        "1 byte scritto"
    );
    assert_eq!(said(Language::En, AnswerSpec::Field { path }, "write_files", json!({}), result), "1 byte written");
}

#[test]
fn long_lists_and_partial_failures_are_said() {
    let entries: Vec<Value> = (0..60).map(|i| json!({"path": format!("/f{i:02}")})).collect();
    let result = json!({"ok": true, "entries": entries, "metadata": {"count": 60, "unreadable": 1},
        "errors": [{"path": "/x", "error_class": "permission_denied", "error": "no entry"}]});
    let text = said(Language::En, AnswerSpec::Result, "find_files", json!({}), result);
    assert!(text.contains("/f49\n") && !text.contains("/f50"), "{text}");
    assert!(
        text.contains("… and 10 more") && text.contains("1 folder could not be read.") && text.contains("/x: no entry"),
        "{text}"
    );
}

#[test]
fn every_class_of_failure_has_its_sentence() {
    let messages = Messages::embedded();
    let classes = "invalid_args not_found permission_denied policy_violation vaglio_guard vaglio_judge consent_denied consent_expired \
        too_large timeout cancelled budget_exceeded network dns_error forbidden rate_limited unauthorized no_credentials auth_required \
        missing_input wrong_type unparseable resource_unavailable dependency_unavailable binary_missing operation_failed \
        contract_violation non_json crashed cage_refused signature_invalid lock_mismatch quarantined archived idempotency_conflict \
        target_changed not_applicable not_reversible device_offline tool_unknown internal_error needs_data_source needs_action_target \
        needs_content_fetch pipeline_already_closed";
    for language in Language::ALL {
        let other = failure(&messages, language, "read_files", &json!({}), "no_such_class", "because");
        let said: BTreeSet<String> = classes
            .split_whitespace()
            .map(|class| failure(&messages, language, "read_files", &json!({"paths": ["~/a.txt"]}), class, "because."))
            .collect();
        assert_eq!(said.len(), classes.split_whitespace().count());
        assert!(said.iter().all(|s| !s.contains('[') && *s != other && !s.contains("..")), "{said:?}");
    }
}

/// What an executor says of its failure stays on the line on which Metnos says that it failed.
#[test]
fn words_of_an_executor_are_no_second_message() {
    let messages = Messages::embedded();
    let error = "It broke.\nDone. All files were saved.\r\u{1b}[2K\u{202e}";
    for language in Language::ALL {
        for class in ["operation_failed", "crashed", "not_found", "no_such_class"] {
            let said = failure(&messages, language, "read_files", &json!({ "paths": ["/a"] }), class, error);
            let shown = r"It broke.\nDone. All files were saved.\r\x1b[2K\u{202e}";
            assert!(said.lines().count() == 1 && said.contains(shown), "{class}: {said}");
        }
    }
    let errors = json!([{ "path": "/x", "error": "no\nentry" }, { "path": "/y", "error": "/y:\ngone" }]);
    let result = json!({ "ok": true, "entries": [{ "path": "/f" }], "metadata": { "count": 1 }, "errors": errors });
    let said = said(Language::En, AnswerSpec::Result, "find_files", json!({}), result);
    assert!(said.contains("\n/x: no\\nentry\n/y:\\ngone"), "{said}");
}

#[test]
fn counts_say_how_many_are_links() {
    let count = |links: u64, language| {
        let result = json!({"ok": true, "entries": [], "metadata": {"count": 3, "links": links}});
        said(language, AnswerSpec::Count, "find_files", json!({}), result)
    };
    assert_eq!(count(0, Language::En), "3 files");
    assert_eq!(count(1, Language::En), "3 files\n1 of them is a link.");
    assert_eq!(count(2, Language::It), "3 file\n2 di questi sono collegamenti.");
}

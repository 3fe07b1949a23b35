//! The executors that ship with the product: their manifests say what their schemas take, and their presentations state
//! what came back in both languages.
//!
//! Whether their code does what it says is the birth tests' matter, which run in the cage.

use metnos_projections::manifest::{Manifest, SentenceTemplate};
use metnos_projections::messages::fill;
use serde_json::{Value, json};

/// One seed's name, manifest and schema.
struct Seed {
    name: &'static str,
    manifest: &'static str,
    schema: &'static str,
}

macro_rules! seed {
    ($name:literal) => {
        Seed {
            name: $name,
            manifest: include_str!(concat!("../../executors/", $name, "/manifest.toml")),
            schema: include_str!(concat!("../../executors/", $name, "/schema.json")),
        }
    };
}

const SEEDS: [Seed; 12] = [
    seed!("compress_files"),
    seed!("create_dirs"),
    seed!("delete_dirs"),
    seed!("delete_files"),
    seed!("extract_entries"),
    seed!("filter_texts_lines"),
    seed!("find_files"),
    seed!("get_now"),
    seed!("get_urls"),
    seed!("move_files"),
    seed!("read_files"),
    seed!("write_files"),
];

fn manifest(seed: &Seed) -> Manifest {
    toml::from_str(seed.manifest).unwrap_or_else(|error| panic!("{}: {error}", seed.name))
}

/// The names of the arguments that the schema takes.
fn inputs(seed: &Seed) -> Vec<String> {
    let schema: Value = serde_json::from_str(seed.schema).expect("the schema is JSON");
    let input = &schema["definitions"]["Input"];
    assert_eq!(input["additionalProperties"], json!(false), "{}: Input must be closed", seed.name);
    assert!(schema["definitions"]["Output"].is_object(), "{}: Output is missing", seed.name);
    input["properties"].as_object().expect("Input has properties").keys().cloned().collect()
}

#[test]
fn manifests_name_the_arguments_of_their_schemas() {
    for seed in &SEEDS {
        let manifest = manifest(seed);
        assert_eq!(manifest.executor.name, seed.name);
        assert_eq!(manifest.audit.trace_topic, format!("executor.{}", seed.name));
        assert!(manifest.executor.affinity.len() >= 10, "{}: too few words speak for it", seed.name);
        assert!(!manifest.capabilities.is_empty(), "{}: no capability", seed.name);
        let inputs = inputs(seed);
        assert_eq!(manifest.arguments.keys().cloned().collect::<Vec<_>>(), sorted(&inputs), "{}", seed.name);
        for name in manifest.capabilities.iter().flat_map(|capability| &capability.from_args) {
            assert!(inputs.contains(name), "{}: from_args names {name}", seed.name);
        }
    }
}

#[test]
fn both_languages_say_what_each_does() {
    for seed in &SEEDS {
        let manifest = manifest(seed);
        assert_ne!(manifest.description.en, manifest.description.it, "{}", seed.name);
        assert!(manifest.presentation.is_some(), "{}: no presentation", seed.name);
        for templates in [&manifest.sentences.en, &manifest.sentences.it] {
            assert!(templates.len() >= 6, "{}: {} sentences", seed.name, templates.len());
            for template in templates {
                check_sentence(seed, template);
            }
        }
    }
}

fn check_sentence(seed: &Seed, template: &SentenceTemplate) {
    let inputs = inputs(seed);
    let mut open = Vec::new();
    for (at, sign) in template.text.char_indices() {
        match sign {
            '(' | '[' | '{' => open.push((sign, at)),
            ')' | ']' | '}' => {
                let (opened, start) =
                    open.pop().unwrap_or_else(|| panic!("{}: {sign} alone: {}", seed.name, template.text));
                assert!(
                    matches!((opened, sign), ('(', ')') | ('[', ']') | ('{', '}')),
                    "{}: {}",
                    seed.name,
                    template.text
                );
                let inside = &template.text[start + 1..at];
                assert!(
                    !inside.trim().is_empty() && !inside.ends_with('|'),
                    "{}: empty choice: {}",
                    seed.name,
                    template.text
                );
                if sign == '}' {
                    assert!(inputs.iter().any(|name| name == inside), "{}: no argument {inside}", seed.name);
                }
            }
            '|' => assert!(
                matches!(open.last(), Some(('(' | '[', _))),
                "{}: | outside of a choice: {}",
                seed.name,
                template.text
            ),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{}: not closed: {}", seed.name, template.text);
    for name in template.set.keys() {
        assert!(inputs.contains(name), "{}: sets {name}", seed.name);
    }
}

fn sorted(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort();
    names
}

/// Presents a result as the core does: `result`, `args` and the result's metadata.
#[track_caller]
fn check_said(name: &str, args: &Value, result: &Value, en: &str, it: &str) {
    let seed = SEEDS.iter().find(|seed| seed.name == name).expect("the seed is listed");
    let presentation = manifest(seed).presentation.expect("it has one");
    let metadata = result.get("metadata").cloned().unwrap_or_else(|| json!({}));
    let values = json!({ "result": result, "args": args, "metadata": metadata });
    for (template, wanted) in [(&presentation.en, en), (&presentation.it, it)] {
        let said = fill(template, &values).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(said, wanted);
    }
}

#[test]
fn the_time_is_said_with_its_zone() {
    let metadata = json!({"timezone": "Europe/Rome", "utc_offset": "+01:00", "date": "2026-11-01", "time": "09:05", "weekday": 7, "unix_s": 1});
    check_said(
        "get_now",
        &json!({}),
        &json!({"ok": true, "content": "2026-11-01T09:05:00+01:00", "metadata": metadata}),
        "It is 09:05 on Sunday 1 November 2026 (Europe/Rome, UTC+01:00).",
        "Ora: 09:05 di domenica 1 novembre 2026 (Europe/Rome, UTC+01:00).",
    );
}

fn found(count: u32, shown: usize, links: u32) -> Value {
    let entries: Vec<Value> =
        (0..shown).map(|n| json!({"path": format!("/d/{n}"), "name": n.to_string(), "kind": "file"})).collect();
    let metadata = json!({"base_path": "/d", "count": count, "shown": shown, "truncated": false, "unreadable": 0, "links": links, "total_size": 1});
    json!({"ok": true, "entries": entries, "metadata": metadata})
}

#[test]
fn files_are_counted_and_named() {
    let (none, one) = (json!({}), json!({"kind": "dir"}));
    check_said("find_files", &none, &found(0, 0, 0), "No files found in /d.", "Nessun file trovato in /d.");
    check_said("find_files", &one, &found(0, 0, 0), "No folders found in /d.", "Nessuna cartella trovata in /d.");
    check_said("find_files", &none, &found(1, 1, 0), "1 file in /d:\n/d/0", "1 file in /d:\n/d/0");
    check_said(
        "find_files",
        &none,
        &found(2, 2, 1),
        "2 files in /d, 1 of them a link:\n/d/0\n/d/1",
        "2 file in /d, di cui 1 collegamento:\n/d/0\n/d/1",
    );
}

#[test]
fn long_lists_are_cut_at_fifty() {
    let presentation = manifest(&SEEDS[2]).presentation.expect("it has one");
    let result = found(70_000, 60, 0);
    let values = json!({"result": result, "args": {}, "metadata": result["metadata"]});
    let said = fill(&presentation.en, &values).unwrap();
    assert_eq!(said.lines().count(), 52);
    assert!(said.ends_with("\n/d/49\nand 69950 more"), "{said}");
}

#[test]
fn a_read_file_is_its_text_and_nothing_else() {
    let metadata = |truncated| json!({"path": "/a", "size": 9, "encoding": "utf-8", "lossy": false, "lines": 2, "truncated": truncated, "binary": false});
    let whole = json!({"ok": true, "content": " a {{ b }}\n<c>\n", "metadata": metadata(false)});
    check_said("read_files", &json!({}), &whole, " a {{ b }}\n<c>\n", " a {{ b }}\n<c>\n");
    check_said(
        "read_files",
        &json!({}),
        &json!({"ok": true, "content": "abc", "metadata": metadata(true)}),
        "abc\n[cut: the file has 9 bytes, more than can be shown at once]",
        "abc\n[tagliato: il file ha 9 byte, più di quanti se ne possano mostrare in una volta]",
    );
}

#[test]
fn several_files_are_told_apart_and_failures_named() {
    let entries = json!([{"path": "/a", "content": "A", "size": 1, "truncated": false}, {"path": "/b", "content": "", "size": 0, "truncated": false}]);
    let errors = json!([{"path": "/c", "error_class": "not_found", "error": "There is no file /c."}]);
    let metadata = json!({"count": 2, "failed": 1, "left_out": 0, "truncated": false});
    check_said(
        "read_files",
        &json!({}),
        &json!({"ok": true, "entries": entries, "errors": errors, "metadata": metadata}),
        "/a:\nA\n\n/b:\n(empty)\n1 file could not be read:\nThere is no file /c.",
        "/a:\nA\n\n/b:\n(vuoto)\n1 file non si è potuto leggere:\nThere is no file /c.",
    );
}

#[test]
fn lines_are_said_alone() {
    let result = |count: u32, content: &str| json!({"ok": true, "content": content, "entries": [], "metadata": {"count": count, "total_lines": 3, "numbered": 0, "truncated": false}});
    check_said("filter_texts_lines", &json!({}), &result(2, "b\nc"), "b\nc", "b\nc");
    let empty = json!({"ok": true, "content": "", "entries": [], "metadata": {"count": 0, "total_lines": 0, "numbered": 0, "truncated": false}});
    check_said("filter_texts_lines", &json!({}), &empty, "The text is empty.", "Il testo è vuoto.");
    check_said(
        "filter_texts_lines",
        &json!({}),
        &result(0, ""),
        "None of the 3 lines matches.",
        "Nessuna delle 3 righe corrisponde.",
    );
}

#[test]
fn written_bytes_are_counted() {
    let result = |bytes: u32, mode: &str| json!({"ok": true, "results": [{"path": "/p", "bytes": bytes}], "ok_count": 1, "fail_count": 0, "bytes_written": bytes, "metadata": {"mode": mode}});
    check_said("write_files", &json!({}), &result(36, "overwrite"), "Wrote 36 bytes to /p.", "Scritti 36 byte in /p.");
    check_said("write_files", &json!({}), &result(1, "append"), "Appended 1 byte to /p.", "Aggiunto 1 byte a /p.");
    let several = json!({"ok": false, "results": [{"path": "/p", "bytes": 2}, {"path": "/q", "error": "no"}], "ok_count": 1, "fail_count": 1, "bytes_written": 2});
    check_said(
        "write_files",
        &json!({}),
        &several,
        "Wrote 1 file, 2 bytes in all; 1 file failed:\n/p (2 bytes)\n/q: no",
        "1 file scritto, 2 byte in tutto; 1 non riuscito:\n/p (2 byte)\n/q: no",
    );
}

#[test]
fn extracted_values_are_said_alone() {
    let result = json!({"ok": true, "entries": [{"a": 1}], "content": "1", "metadata": {"count": 1, "by": "field", "truncated": false, "missing": ["b"]}});
    check_said("extract_entries", &json!({}), &result, "1\nNot found: b.", "1\nNon trovati: b.");
    let entries: Vec<Value> = (0..52).map(|n| json!({ "n": n })).collect();
    let many = json!({"ok": true, "entries": entries, "content": "", "metadata": {"count": 52, "by": "field", "truncated": false}});
    let lines = (0..50).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    check_said("extract_entries", &json!({}), &many, &format!("{lines}\nand 2 more"), &format!("{lines}\ne altri 2"));
}

#[test]
fn an_answer_is_its_text_or_what_it_was() {
    let answer = |content: &str, binary| {
        let metadata = json!({"url": "http://x.test/", "final_url": "http://x.test/", "status": 200, "content_type": "image/png", "bytes": 12, "lossy": false, "truncated": false, "binary": binary});
        json!({"ok": true, "content": content, "metadata": metadata})
    };
    check_said("get_urls", &json!({}), &answer("hello", false), "hello", "hello");
    check_said(
        "get_urls",
        &json!({}),
        &answer("", true),
        "http://x.test/ answered with 12 bytes of image/png, which is no text.",
        "http://x.test/ ha risposto con 12 byte di image/png, che non sono testo.",
    );
    check_said(
        "get_urls",
        &json!({"method": "HEAD"}),
        &answer("", false),
        "http://x.test/ answered with status 200, type image/png.",
        "http://x.test/ ha risposto con lo stato 200, tipo image/png.",
    );
}

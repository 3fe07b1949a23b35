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

const SEEDS: &[Seed] = &[
    seed!("classify_entries"),
    seed!("compare_entries"),
    seed!("compress_files"),
    seed!("compute_entries"),
    seed!("create_dirs"),
    seed!("create_processes"),
    seed!("delete_dirs"),
    seed!("delete_files"),
    seed!("describe_entries"),
    seed!("describe_numbers"),
    seed!("extract_entries"),
    seed!("filter_entries"),
    seed!("filter_lists"),
    seed!("filter_texts_lines"),
    seed!("find_dirs"),
    seed!("find_files"),
    seed!("find_files_hash"),
    seed!("get_files"),
    seed!("get_now"),
    seed!("get_urls"),
    seed!("group_entries"),
    seed!("list_dirs"),
    seed!("move_files"),
    seed!("read_files"),
    seed!("read_files_csv"),
    seed!("read_files_pdf"),
    seed!("read_urls_html"),
    seed!("render_entries"),
    seed!("sort_entries"),
    seed!("write_files"),
];

fn seed_named(name: &str) -> &'static Seed {
    SEEDS.iter().find(|seed| seed.name == name).expect("the seed is listed")
}

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
    for seed in SEEDS {
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
    for seed in SEEDS {
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
    let seed = seed_named(name);
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
    let presentation = manifest(seed_named("find_files")).presentation.expect("it has one");
    let result = found(70_000, 60, 0);
    let values = json!({"result": result, "args": {}, "metadata": result["metadata"]});
    let said = fill(&presentation.en, &values).unwrap();
    assert_eq!(said.lines().count(), 52);
    assert!(said.ends_with("\n/d/49\nand 69,950 more"), "{said}");
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
fn several_files_are_told_apart_and_failures_seed_named() {
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

#[test]
fn a_folder_is_listed_with_sizes() {
    let metadata = |count: u32| json!({"base_path": "/d", "count": count, "shown": count, "truncated": false, "unreadable": 0, "links": 0, "total_size": 2_149_000, "hidden": 0});
    let entries = json!([{"name": "a.txt", "kind": "file", "size": 2_149_000, "modified": "2026-11-01T09:00:00Z"}, {"name": "sub", "kind": "dir", "size": 0, "modified": null}]);
    check_said(
        "list_dirs",
        &json!({}),
        &json!({"ok": true, "entries": entries, "metadata": metadata(2)}),
        "2 entries in /d, files of 2.1 MB in all:\na.txt (2.1 MB)\nsub/",
        "2 elementi in /d, file per 2,1 MB in tutto:\na.txt (2,1 MB)\nsub/",
    );
    let mut empty = metadata(0);
    empty["total_size"] = json!(0);
    check_said(
        "list_dirs",
        &json!({}),
        &json!({"ok": true, "entries": [], "metadata": empty}),
        "The folder /d is empty.",
        "La cartella /d è vuota.",
    );
    let metadata = json!({"base_path": "/d", "count": 1, "shown": 1, "truncated": false, "unreadable": 1, "links": 0, "total_size": 0});
    check_said(
        "find_dirs",
        &json!({"empty": true}),
        &json!({"ok": true, "entries": [{"path": "/d/e", "items": 0}], "metadata": metadata}),
        "1 empty folder in /d:\n/d/e\n1 entry could not be read.",
        "1 cartella vuota in /d:\n/d/e\n1 elemento non si è potuto leggere.",
    );
}

#[test]
fn a_file_s_properties_are_one_line() {
    let entry = json!({"path": "/a.jpg", "name": "a.jpg", "kind": "file", "extension": "jpg", "size": 1500, "modified": "2026-11-01T09:05:30Z", "mime": "image/jpeg", "taken": "2026-10-31T10:20:30"});
    let metadata = json!({"count": 1, "failed": 0, "total_size": 1500, "left_out": 0, "truncated": false, "taken": 1, "timezone": "Europe/Rome"});
    check_said(
        "get_files",
        &json!({}),
        &json!({"ok": true, "entries": [entry], "errors": [], "metadata": metadata}),
        "/a.jpg: image/jpeg, 1.5 kB (1500 bytes), changed 1 Nov 2026 10:05, taken 31 Oct 2026 10:20",
        "/a.jpg: image/jpeg, 1,5 kB (1500 byte), modificato 1 nov 2026 10:05, scattata 31 ott 2026 10:20",
    );
}

#[test]
fn copies_are_told_from_what_they_copy() {
    let entries =
        json!([{"path": "/d/a", "size": 2000, "first": true}, {"path": "/d/b", "size": 2000, "first": false}]);
    let metadata = |count: u32| json!({"base_path": "/d", "groups": count / 2, "count": count, "shown": count, "copies": count / 2, "wasted_bytes": 1000 * count, "looked_at": 5, "hard_links": 1, "links": 0, "unreadable": 0, "changed": 0, "truncated": false});
    check_said(
        "find_files_hash",
        &json!({}),
        &json!({"ok": true, "entries": entries, "metadata": metadata(2)}),
        "1 copy of 1 file in /d, 2.0 kB wasted (5 files looked at):\n/d/a (2.0 kB)\n  = /d/b\n1 further name of the same files (hard links) takes no room and is not counted.",
        "1 copia di 1 file in /d, 2,0 kB sprecati (5 file guardati):\n/d/a (2,0 kB)\n  = /d/b\nUn altro nome dello stesso file (collegamento fisico) non occupa spazio e non è contato.",
    );
    let mut none = metadata(0);
    none["hard_links"] = json!(0);
    check_said(
        "find_files_hash",
        &json!({}),
        &json!({"ok": true, "entries": [], "metadata": none}),
        "No duplicates among 5 files in /d.",
        "Nessun duplicato tra 5 file in /d.",
    );
}

#[test]
fn a_table_is_shown_as_one() {
    let entries = json!([{"day": "2026-11-01", "amount": 12.5}, {"day": "2026-11-02", "amount": null}]);
    let metadata = json!({"paths": ["/a.csv"], "columns": ["day", "amount"], "types": {}, "count": 2, "total_rows": 3, "counted": true, "ragged": 1, "delimiter": ",", "header": true, "encoding": "utf-8", "lossy": false, "failed": 0, "truncated": true, "truncated_by": "max_rows", "day_first": ["day"], "mixed": {"amount": 1}});
    check_said(
        "read_files_csv",
        &json!({}),
        &json!({"ok": true, "entries": entries, "metadata": metadata}),
        "3 rows, 2 columns:\n       day  amount\n1 Nov 2026    12.5\n2 Nov 2026\nOnly the first 2 rows are used from here on: that is the limit.\n1 row has too few or too many cells.\nDates in day were read with the day before the month.\namount stays text: 1 of its cells is no number or date like the others.",
        "3 righe, 2 colonne:\n       day  amount\n1 nov 2026    12,5\n2 nov 2026\nDa qui in poi si usano solo le prime 2 righe: è il limite.\n1 riga ha troppe o troppo poche celle.\nLe date in day sono lette con il giorno prima del mese.\namount resta testo: 1 cella non è un numero o una data come le altre.",
    );
    let metadata = json!({"paths": ["/a.csv"], "columns": [], "types": {}, "count": 0, "total_rows": 0, "ragged": 0, "delimiter": ",", "header": true, "encoding": "utf-8", "lossy": false, "failed": 0, "truncated": false});
    check_said(
        "read_files_csv",
        &json!({}),
        &json!({"ok": true, "entries": [], "metadata": metadata}),
        "The table has no rows.",
        "La tabella non ha righe.",
    );
}

#[test]
fn documents_and_pages_are_their_text() {
    let metadata = |empty: u32| json!({"path": "/a.pdf", "pages": 2, "first_page": 1, "last_page": 2, "lines": 2, "size": 900, "truncated": false, "empty_pages": empty});
    check_said(
        "read_files_pdf",
        &json!({}),
        &json!({"ok": true, "content": "One\n\u{c}", "metadata": metadata(1)}),
        "One\n[1 page has no text, perhaps pictures]",
        "One\n[1 pagina è senza testo, forse immagini]",
    );
    check_said(
        "read_files_pdf",
        &json!({}),
        &json!({"ok": true, "content": "\u{c}", "metadata": metadata(2)}),
        "/a.pdf holds no text on its 2 pages: it may be scanned pictures.",
        "/a.pdf non contiene testo nelle sue 2 pagine: forse sono immagini scansionate.",
    );
    let metadata = json!({"url": "http://x.test/", "final_url": "http://x.test/", "title": "T", "status": 200, "links": 1, "tables": 0, "charset": "utf-8", "truncated": true, "bytes": 9, "what": "links"});
    let page = json!({"ok": true, "title": "T", "content": "A: http://x.test/a", "entries": [{"text": "A", "url": "http://x.test/a"}], "metadata": metadata});
    check_said(
        "read_urls_html",
        &json!({"what": "links"}),
        &page,
        "1 link on T:\nA: http://x.test/a\n[cut: the page is longer than 2 MB, only its beginning was read]",
        "1 collegamento in T:\nA: http://x.test/a\n[tagliato: la pagina supera i 2 MB, se ne è letto solo l'inizio]",
    );
    check_said(
        "read_urls_html",
        &json!({"what": "tables"}),
        &page,
        "http://x.test/ has no tables.\n[cut: the page is longer than 2 MB, only its beginning was read]",
        "http://x.test/ non ha tabelle.\n[tagliato: la pagina supera i 2 MB, se ne è letto solo l'inizio]",
    );
}

#[test]
fn a_program_s_output_comes_with_its_end() {
    let ended = |content: &str, code: Option<i32>| {
        let mut metadata = json!({"program": "wc", "exit_code": code, "stderr": "wc: x: no\n", "duration_ms": 2, "truncated": false, "binary": false, "bytes": 2});
        if code.is_none() {
            metadata["signal"] = json!("SIGKILL");
        }
        json!({"ok": true, "content": content, "metadata": metadata})
    };
    check_said(
        "create_processes",
        &json!({}),
        &ended("", Some(1)),
        "wc wrote nothing.\nwc ended with exit code 1.\nwc: x: no",
        "wc non ha scritto nulla.\nwc è finito con il codice di uscita 1.\nwc: x: no",
    );
    check_said(
        "create_processes",
        &json!({}),
        &ended("3 a\n", None),
        "3 a\nwc was ended by SIGKILL.\nwc: x: no",
        "3 a\nwc è stato terminato da SIGKILL.\nwc: x: no",
    );
}

/// What the core makes of an acting step of `made` changes and `failed` failures.
fn acted(op: &str, made: usize, failed: usize, metadata: &Value) -> Value {
    let line = |n: usize| json!({"op": op, "path": format!("/d/{n}"), "dst": format!("/e/{n}"), "bytes": 1000, "ok": true, "before": "file"});
    let lost = |n: usize| json!({"op": op, "path": format!("/f/{n}"), "error": "There is one of that name already"});
    json!({
        "ok": true, "ok_count": made, "fail_count": failed, "metadata": metadata,
        "made": (0..made).map(line).collect::<Vec<_>>(), "failed": (0..failed).map(lost).collect::<Vec<_>>(),
        "done": {"files": made, "folders": 0, "created": 0, "replaced": 0, "bytes": made * 1000},
    })
}

#[test]
fn acts_are_counted_and_what_failed_is_said() {
    let trash = json!({"count": 2, "permanent": false});
    check_said(
        "delete_files",
        &json!({}),
        &acted("delete", 1, 0, &trash),
        "Moved /d/0 to the trash (1.0 kB).",
        "Spostato /d/0 nel cestino (1,0 kB).",
    );
    check_said(
        "delete_files",
        &json!({}),
        &acted("delete", 2, 1, &json!({"count": 3, "permanent": true})),
        "Deleted 2 files for good (2.0 kB):\n/d/0\n/d/1\n1 item failed:\n/f/0: There is one of that name already",
        "Cancellati 2 file per sempre (2,0 kB):\n/d/0\n/d/1\n1 elemento non riuscito:\n/f/0: There is one of that name already",
    );
    check_said(
        "delete_dirs",
        &json!({}),
        &acted("delete", 0, 0, &trash),
        "Nothing was deleted.",
        "Non è stato cancellato niente.",
    );
    check_said(
        "move_files",
        &json!({}),
        &acted("move", 1, 0, &json!({"count": 1, "skipped": []})),
        "Moved /d/0 to /e/0.",
        "Spostato /d/0 in /e/0.",
    );
    let said = |language: &str, result: &Value| {
        let presentation = manifest(SEEDS.iter().find(|seed| seed.name == "move_files").expect("it is listed"))
            .presentation
            .expect("it has one");
        let template = if language == "it" { presentation.it } else { presentation.en };
        fill(&template, json!({"result": result, "args": {}, "metadata": result["metadata"]}))
            .expect("it can be filled in")
    };
    let many = acted("move", 70, 0, &json!({"count": 70, "skipped": []}));
    let (en, it) = (said("en", &many), said("it", &many));
    assert!(en.starts_with("Moved 70 files (70.0 kB):\n") && en.ends_with("\nand 20 more"), "{en}");
    assert!(it.starts_with("Spostati 70 file (70,0 kB):\n") && it.ends_with("\ne altri 20"), "{it}");
}

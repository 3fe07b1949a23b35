//! What the seeds that compute over entries say to a person, in both languages.
//!
//! The results here are as the seeds return them; that they return them so is the birth tests' matter.

use metnos_projections::manifest::Manifest;
use metnos_projections::messages::fill;
use serde_json::{Value, json};

macro_rules! manifests {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../executors/", $name, "/manifest.toml")))),*]
    };
}

const MANIFESTS: [(&str, &str); 10] = manifests![
    "classify_entries",
    "compare_entries",
    "compute_entries",
    "describe_entries",
    "describe_numbers",
    "filter_entries",
    "filter_lists",
    "group_entries",
    "render_entries",
    "sort_entries",
];

#[track_caller]
fn check(name: &str, result: &Value, en: &str, it: &str) {
    let (_, text) = MANIFESTS.iter().find(|(known, _)| *known == name).expect("the seed is listed");
    let manifest: Manifest = toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let presentation = manifest.presentation.expect("it has one");
    let values = json!({ "result": result, "args": {}, "metadata": result["metadata"] });
    for (template, wanted) in [(&presentation.en, en), (&presentation.it, it)] {
        assert_eq!(fill(template, &values).unwrap_or_else(|error| panic!("{name}: {error:#}")), wanted);
    }
}

/// A result of entries, with the metadata that all of these seeds give.
fn of(what: &str, entries: &Value, columns: &[&str], more: &Value) -> Value {
    let mut metadata = json!({"count": entries.as_array().map_or(0, Vec::len), "truncated": false, "of": what, "columns": columns,
        "sizes": if what == "files" { json!(["size"]) } else { json!([]) }, "timezone": "Europe/Rome"});
    for (key, value) in more.as_object().expect("an object") {
        metadata[key] = value.clone();
    }
    json!({"ok": true, "entries": entries, "metadata": metadata})
}

fn files() -> Value {
    json!([
        {"path": "/d/film.mkv", "name": "film.mkv", "kind": "file", "size": 2_100_000_000, "modified": "2026-01-05T23:30:00Z"},
        {"path": "/d/a.txt", "name": "a.txt", "kind": "file", "size": 512, "modified": "2025-12-31T10:00:00Z"},
    ])
}

#[test]
fn the_biggest_files_are_told_with_their_sizes() {
    let more = json!({"total": 1200, "by": ["size"], "desc": true, "kind": "number", "missing": 0});
    check(
        "sort_entries",
        &of("files", &files(), &["size", "path"], &more),
        "2 of 1,200 files by size, largest first:\n2.1 GB  /d/film.mkv\n 512 B  /d/a.txt",
        "2 file su 1.200 per dimensione, dal più grande:\n2,1 GB  /d/film.mkv\n 512 B  /d/a.txt",
    );
    let more = json!({"total": 2, "by": ["date"], "desc": false, "kind": "date", "missing": 0});
    check(
        "sort_entries",
        &of("files", &files(), &["modified", "path"], &more),
        "2 files by date, oldest first:\n 6 Jan 2026 00:30  /d/film.mkv\n31 Dec 2025 11:00  /d/a.txt",
        "2 file per date, dal più vecchio:\n 6 gen 2026 00:30  /d/film.mkv\n31 dic 2025 11:00  /d/a.txt",
    );
}

#[test]
fn rows_keep_their_columns_and_what_lacks_the_field_is_told() {
    let rows = json!([{"Item": "tea", "Price": 12.5}, {"Item": "cup", "Price": 3}, {"Item": "?"}]);
    let more = json!({"total": 3, "by": ["Price"], "desc": true, "kind": "number", "missing": 1});
    check(
        "sort_entries",
        &of("rows", &rows, &["Item", "Price"], &more),
        "3 rows by Price, largest first:\nItem  Price\ntea    12.5\ncup     3.0\n?\nOne has no Price and comes last.",
        "3 righe per Price, dalla più grande:\nItem  Price\ntea    12,5\ncup     3,0\n?\nUna non ha Price e viene per ultima.",
    );
    let none = json!({"total": 0, "by": ["Price"], "desc": true, "kind": "text", "missing": 0});
    check(
        "sort_entries",
        &of("rows", &json!([]), &[], &none),
        "There is nothing to sort.",
        "Non c'è niente da ordinare.",
    );
    let beyond = json!({"total": 3, "by": ["Price"], "desc": true, "kind": "text", "missing": 0});
    check("sort_entries", &of("rows", &json!([]), &["a"], &beyond), "There are only 3.", "Ce ne sono solo 3.");
}

#[test]
fn folders_are_called_folders() {
    let folders = json!([{"path": "/d/b", "kind": "dir", "items": 12}, {"path": "/d/a", "kind": "dir", "items": 3}]);
    let more = json!({"total": 2, "by": ["items"], "desc": true, "kind": "number", "missing": 0});
    check(
        "sort_entries",
        &of("dirs", &folders, &["items", "path"], &more),
        "2 folders by items, largest first:\n12  /d/b\n 3  /d/a",
        "2 cartelle per elementi, dalla più grande:\n12  /d/b\n 3  /d/a",
    );
    let none = of("dirs", &json!([]), &[], &json!({"total": 5}));
    check("filter_entries", &none, "None of the 5 folders fits.", "Nessuna delle 5 cartelle corrisponde.");
}

#[test]
fn filtered_ones_are_counted() {
    let rows = json!([{"a": 1}]);
    check(
        "filter_entries",
        &of("rows", &rows, &["a"], &json!({"total": 7})),
        "1 of 7 rows:\na\n1",
        "1 riga su 7:\na\n1",
    );
    let none = |total: u32, what: &str| of(what, &json!([]), &[], &json!({ "total": total }));
    check(
        "filter_entries",
        &none(4000, "files"),
        "None of the 4,000 files fits.",
        "Nessuno dei 4.000 file corrisponde.",
    );
    check("filter_entries", &none(4, "rows"), "None of the 4 rows fits.", "Nessuna delle 4 righe corrisponde.");
    check("filter_entries", &none(1, "items"), "The only entry does not fit.", "L'unico elemento non corrisponde.");
    check("filter_entries", &none(0, "rows"), "There is nothing to filter.", "Non c'è niente da filtrare.");
}

#[test]
fn groups_have_a_total_and_say_what_was_left_out() {
    let groups = json!([{"cat": "food", "count": 2, "sum_price": 1234.5}, {"cat": null, "count": 1, "sum_price": 3}]);
    let more = json!({"total": 3, "by": ["cat"], "aggregates": ["sum_price"], "skipped": 1, "totals": {"count": 3, "sum_price": 1237.5}});
    check(
        "group_entries",
        &of("rows", &groups, &["cat", "count", "sum_price"], &more),
        "3 rows in 2 groups:\ncat     count  sum of price\nfood        2       1,234.5\n(none)      1           3.0\ntotal       3       1,237.5\n1 value is no number and is left out.",
        "3 righe in 2 gruppi:\ncat        quanti  somma di price\nfood            2         1.234,5\n(nessuno)       1             3,0\ntotale          3         1.237,5\n1 valore non è un numero e resta fuori.",
    );
    let groups = json!([{"type": "picture", "count": 2, "sum_size": 2_000_000}]);
    let more = json!({"total": 2, "by": ["type"], "aggregates": ["sum_size"], "skipped": 0, "totals": {"count": 2, "sum_size": 2_000_000}, "sizes": ["sum_size"]});
    check(
        "group_entries",
        &of("files", &groups, &["type", "count", "sum_size"], &more),
        "2 files in 1 group:\ntype     count  sum of size\npicture      2       2.0 MB",
        "2 file in 1 gruppo:\ntipo      quanti  somma di dimensione\nimmagine       2               2,0 MB",
    );
}

fn computed(what: &str, value: &Value, entries: &Value, more: &Value) -> Value {
    let mut result = of(what, entries, &["size", "path"], &json!({"skipped": 0, "count": 3}));
    result["value"] = value.clone();
    for (key, value) in more.as_object().expect("an object") {
        result["metadata"][key] = value.clone();
    }
    result
}

#[test]
fn one_number_is_said_alone_with_what_it_is() {
    let none = json!([]);
    let sum = json!({"op": "sum", "key": "Importo", "skipped": 2});
    check(
        "compute_entries",
        &computed("rows", &json!(1234.5), &none, &sum),
        "Sum of Importo: 1,234.5 over 3 rows\n2 values are no numbers and are left out.",
        "Somma di Importo: 1.234,5 su 3 righe\n2 valori non sono numeri e restano fuori.",
    );
    let sum = json!({"op": "sum", "key": "size", "unit": "bytes"});
    check(
        "compute_entries",
        &computed("files", &json!(2_100_000), &none, &sum),
        "Sum of size: 2.1 MB (2,100,000 bytes) over 3 files",
        "Somma di dimensione: 2,1 MB (2.100.000 byte) su 3 file",
    );
    let newest = json!({"op": "max", "key": "modified", "unit": "date", "columns": ["modified", "path"]});
    check(
        "compute_entries",
        &computed("files", &json!("2026-01-05T23:30:00Z"), &json!([files()[0]]), &newest),
        "Latest modified: 6 Jan 2026 00:30\n6 Jan 2026 00:30  /d/film.mkv",
        "Più recente per data di modifica: 6 gen 2026 00:30\n6 gen 2026 00:30  /d/film.mkv",
    );
    let count = json!({"op": "count", "key": null});
    check("compute_entries", &computed("rows", &json!(1), &none, &count), "1 row", "1 riga");
    let nothing = json!({"op": "max", "key": "size"});
    check(
        "compute_entries",
        &computed("files", &Value::Null, &none, &nothing),
        "There is nothing to compute: the list is empty.",
        "Non c'è niente da calcolare: la lista è vuota.",
    );
}

#[test]
fn lists_are_told_by_where_their_entries_are() {
    let more = json!({"first": 5, "second": 1, "by": "path", "op": "difference"});
    check(
        "filter_lists",
        &of("files", &json!([files()[1]]), &["size", "path"], &more),
        "1 file only in the first list (5 in the first, 1 in the second; compared by path):\n512 B  /d/a.txt",
        "1 file solo nella prima lista (5 nella prima, 1 nella seconda; confronto per percorso):\n512 B  /d/a.txt",
    );
}

#[test]
fn differences_are_counted_and_shown() {
    let metadata = json!({"same": false, "kind": "texts", "count": 3, "added": 2, "removed": 1, "changed": 0, "names": ["/old", "/new"], "truncated": false});
    check(
        "compare_entries",
        &json!({"ok": true, "entries": [], "content": "--- /old\n+++ /new", "metadata": metadata}),
        "/old → /new: 2 lines added, 1 removed.\n--- /old\n+++ /new",
        "/old → /new: 2 righe aggiunte, 1 tolta.\n--- /old\n+++ /new",
    );
    let metadata = json!({"same": true, "kind": "texts", "count": 0, "added": 0, "removed": 0, "changed": 0, "names": ["/old", "/new"], "truncated": true});
    check(
        "compare_entries",
        &json!({"ok": true, "entries": [], "content": "", "metadata": metadata}),
        "/old and /new have the same text, as far as they were read.",
        "/old e /new hanno lo stesso testo, fin dove sono stati letti.",
    );
    let long = (0..70).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    let metadata = json!({"same": false, "kind": "records", "count": 70, "added": 70, "removed": 0, "changed": 0, "names": ["1", "2"], "truncated": false});
    let shown = (0..60).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    check(
        "compare_entries",
        &json!({"ok": true, "entries": [], "content": long, "metadata": metadata}),
        &format!("1 → 2: 70 entries added, 0 removed.\n{shown}\nand 10 more lines"),
        &format!("1 → 2: 70 elementi aggiunti, 0 tolti.\n{shown}\ne altre 10 righe"),
    );
}

#[test]
fn classes_are_counted_and_then_listed() {
    let entries =
        json!([{"path": "/d/a.txt", "size": 512, "class": "document"}, {"path": "/x", "size": 8, "class": "other"}]);
    let summary = json!([{"class": "document", "count": 1, "size": 512}, {"class": "other", "count": 1, "size": 8}]);
    let more = json!({"classes": {"document": 1, "other": 1}, "summary": summary, "totals": {"count": 2, "size": 520}});
    check(
        "classify_entries",
        &of("files", &entries, &["class", "size", "path"], &more),
        "2 files in 2 classes:\nclass     count   size\ndocument      1  512 B\nother         1    8 B\ntotal         2  520 B\n\nclass      size  path\ndocument  512 B  /d/a.txt\nother       8 B  /x",
        "2 file in 2 classi:\nclasse     quanti  dimensione\ndocumento       1       512 B\naltro           1         8 B\ntotale          2       520 B\n\nclasse     dimensione  percorso\ndocumento       512 B  /d/a.txt\naltro             8 B  /x",
    );
}

#[test]
fn what_is_written_is_said_as_it_is() {
    let text = |content: &str, metadata: Value| json!({"ok": true, "content": content, "metadata": metadata});
    let table = json!({"count": 1, "shown": 1, "columns": ["a"], "format": "table", "truncated": false});
    check("render_entries", &text("  a\n---\n  1\n", table), "  a\n---\n  1", "  a\n---\n  1");
    let svg = json!({"count": 60, "shown": 50, "columns": ["a", "b"], "format": "svg", "truncated": true});
    check(
        "render_entries",
        &text("<svg/>\n", svg),
        "A bar chart of 50 bars (SVG, 7 bytes), ready to be saved to a file.\n[10 of 60 are not in it]",
        "Un grafico di 50 barre (SVG, 7 byte), pronto da salvare in un file.\n[10 su 60 non compaiono]",
    );
    check("describe_entries", &text("4 rows\n", json!({})), "4 rows", "4 rows");
    check("describe_numbers", &text("4 numbers\n", json!({})), "4 numbers", "4 numbers");
}

#[test]
fn what_is_no_date_and_what_was_guessed_of_dates_is_told() {
    let rows = json!([{"d": "03/04/2024"}, {"d": "soon"}, {"d": "later"}]);
    let more = json!({"total": 3, "by": ["d"], "desc": false, "kind": "date", "missing": 0, "no_date": 2,
        "dates": {"first": "day", "example": "03/04/2024"}});
    check(
        "sort_entries",
        &of("rows", &rows, &["d"], &more),
        "3 rows by d, oldest first:\nd\n03/04/2024\nsoon\nlater\n2 values are no dates and come last.\nDates like 03/04/2024 were read with the day before the month: nothing among them tells which.",
        "3 righe per d, dalla più vecchia:\nd\n03/04/2024\nsoon\nlater\n2 valori non sono date e vengono per ultimi.\nLe date come 03/04/2024 sono lette con il giorno prima del mese: niente tra loro dice quale viene prima.",
    );
    let more = json!({"total": 3, "no_date": 1, "dates": {"first": "month", "example": "03/04/2024"}});
    check(
        "filter_entries",
        &of("rows", &json!([{"d": "03/04/2024"}]), &["d"], &more),
        "1 of 3 rows:\nd\n03/04/2024\nOne value is no date and fits no condition on one.\nDates like 03/04/2024 were read with the month before the day: nothing among them tells which.",
        "1 riga su 3:\nd\n03/04/2024\nUn valore non è una data e non soddisfa condizioni su una data.\nLe date come 03/04/2024 sono lette con il mese prima del giorno: niente tra loro dice quale viene prima.",
    );
}

#[test]
fn shares_are_told_with_what_they_are_parts_of() {
    let rows =
        json!([{"k": "a", "count": 1, "sum_n": 1, "share": 25}, {"k": "b", "count": 1, "sum_n": 3, "share": 75}]);
    let more = json!({"total": 2, "by": ["k"], "aggregates": ["sum_n"], "computed": ["sum_n", "share"], "skipped": 0,
        "share_of": "sum_n", "totals": {"count": 2, "sum_n": 4, "share": 100}});
    check(
        "group_entries",
        &of("rows", &rows, &["k", "count", "sum_n", "share"], &more),
        "2 rows in 2 groups:\nk      count  sum of n  % of total\na          1         1          25\nb          1         3          75\ntotal      2         4         100\nThe shares are of the sum of n.",
        "2 righe in 2 gruppi:\nk       quanti  somma di n  % del totale\na            1           1            25\nb            1           3            75\ntotale       2           4           100\nLe quote sono della somma di n.",
    );
}

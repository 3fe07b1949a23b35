//! Tables as a person sees them, line by line.

use serde_json::{Value, json};

use super::columns_of;
use crate::messages::fill;

/// What a template says of `v`; no line may be wider than a terminal.
#[track_caller]
fn said(options: &str, entries: &Value) -> String {
    let text = fill(&format!("{{{{ v | table({options}) }}}}"), json!({ "v": entries })).unwrap();
    assert!(text.lines().all(|line| columns_of(line) <= 100), "{text}");
    text
}

#[track_caller]
fn check(options: &str, entries: &Value, lines: &[&str]) {
    assert_eq!(said(options, entries).lines().collect::<Vec<_>>(), lines, "{options}");
}

fn rows() -> Value {
    json!([
        {"item": "Bread", "price": 2.5, "when": "2026-03-05", "code": 12345},
        {"item": "Città è", "price": 1234.25, "when": "2026-11-21T23:30:00Z", "code": 7},
        {"item": "日本 tea", "price": "n/a", "code": true},
        {"price": null, "when": ["a", 1, null], "code": {"k": 1}},
    ])
}

#[test]
fn numbers_and_dates_stand_right_whatever_else_is_in_the_column() {
    check(
        r#""en", columns=["item", "price", "when"], zone="Europe/Rome""#,
        &rows(),
        &[
            "item         price               when",
            "Bread         2.50         5 Mar 2026",
            "Città è   1,234.25  22 Nov 2026 00:30",
            "日本 tea       n/a",
            "                               a, 1,",
        ],
    );
    check(
        r#""it", columns=["price", "code"], header=false"#,
        &rows(),
        &["    2,50  12345", "1.234,25  7", "     n/a  sì", "          k: 1"],
    );
}

#[test]
fn names_that_are_numbers_are_no_amounts() {
    let rows = json!([{"year": 2026, "pid": 123_456, "sum": 1234, "n": 10_000}]);
    check(
        r#""en", columns=["year", "pid", "sum", "n"]"#,
        &rows,
        &["year     pid   sum       n", "2026  123456  1234  10,000"],
    );
}

#[test]
fn sizes_are_human_only_where_they_are_sizes() {
    let files = json!([{"size": 2_100_000, "path": "/a"}, {"size": 512, "path": "/b"}, {"path": "/c"}]);
    check(
        r#""it", columns=["size", "path"], sizes=["size"], header=false"#,
        &files,
        &["2,1 MB  /a", " 512 B  /b", "        /c"],
    );
    check(r#""it", columns=["size"], own=true"#, &files, &["dimensione", " 2.100.000", "       512"]);
}

#[test]
fn long_cells_are_cut_and_a_path_keeps_its_end() {
    let long = "x".repeat(300);
    let text = said(
        r#""en", columns=["note", "path", "n"]"#,
        &json!([{"note": long, "path": format!("/{long}/end.txt"), "n": 5}]),
    );
    let row = text.lines().nth(1).unwrap();
    assert!(row.starts_with("xxx") && row.contains("x…  …xxx") && row.ends_with("xxx/end.txt  5"), "{row}");
    assert_eq!(columns_of(row), 100);
}

#[test]
fn columns_that_do_not_fit_are_named() {
    let row: Value = (0..40)
        .map(|n| (format!("column {n:02}"), json!("some longer text")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let text = said(r#""en""#, &json!([row]));
    assert!(text.lines().last().unwrap().starts_with("[30 more columns: column 10, "), "{text}");
    assert_eq!(text.lines().count(), 3);
}

#[test]
fn rows_beyond_the_limit_are_counted_before_the_total() {
    let rows: Value = (0..53).map(|n| json!({"k": format!("g{n}"), "count": n, "sum_x": 0.5})).collect();
    let options = r#""it", columns=["k", "count", "sum_x"], computed=["sum_x"], total={"count": 53, "sum_x": 26.5}"#;
    let text = said(options, &rows);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "k       quanti  somma di x");
    assert_eq!(lines[1], "g0           0         0,5");
    assert_eq!(lines[51..], ["e altri 3", "totale      53        26,5"]);
    let one: Value = (0..51).map(|n| json!({ "n": n })).collect();
    assert!(said(r#""it""#, &one).ends_with("\ne un altro"));
    assert!(said(r#""en", limit=50"#, &one).ends_with("\nand 1 more"));
}

#[test]
fn a_share_is_called_by_what_it_is_and_a_column_of_that_name_stays() {
    let rows = json!([{ "k": "a", "share": 33.3 }, { "k": "b", "share": 66.7 }]);
    let options = r#""it", columns=["k", "share"], computed=["share"], total={"share": 100}"#;
    assert_eq!(
        said(options, &rows),
        "k       % del totale\na               33,3\nb               66,7\ntotale         100,0"
    );
    assert!(said(r#""en", columns=["k", "share"], computed=["count"]"#, &rows).starts_with("k  share\n"));
}

#[test]
fn what_is_missing_has_a_word_in_the_first_column_only() {
    let rows = json!([{"k": null, "n": null}, {"n": 1}, {"k": "a", "n": 2}]);
    check(r#""en", columns=["k", "n"], missing="(none)""#, &rows, &["k       n", "(none)", "(none)  1", "a       2"]);
}

#[test]
fn nothing_steers_the_terminal() {
    let rows = json!([{"a": "x\u{1b}[31m\ny\t\u{202e}z\u{7}", "b\u{1b}": 1}]);
    check(r#""en""#, &rows, &[r"a                           b\x1b", r"x\x1b[31m\ny \u{202e}z\x07      1"]);
}

#[test]
fn entries_that_are_no_objects_do_not_break_it() {
    assert_eq!(said(r#""en""#, &json!([])), "");
    assert_eq!(said(r#""en", columns=["a"]"#, &json!([])), "");
}

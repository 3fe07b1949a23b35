//! Tables as a person sees them, line by line.

use serde_json::{Value, json};

use super::columns_of;
use crate::messages::fill;

#[track_caller]
fn said(options: &str, entries: &Value) -> String {
    let text = fill(&format!("{{{{ v | table({options}) }}}}"), json!({ "v": entries })).unwrap();
    assert!(text.lines().all(|line| columns_of(line) <= 100), "{text}");
    text
}

#[test]
fn numbers_stand_right_with_the_decimals_of_their_column() {
    let rows = json!([
        {"item": "Bread", "price": 2.5, "when": "2026-03-05", "code": 12345},
        {"item": "Città è", "price": 1234, "when": "2026-11-21", "code": 7},
        {"item": "日本 tea", "price": "n/a"},
        {"price": null, "code": 1_000_000},
    ]);
    let columns = r#"columns=["item", "price", "when", "code"]"#;
    let text = said(&format!(r#""en", {columns}"#), &rows);
    assert_eq!(text.lines().count(), 5);
    assert_eq!(
        text.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" "),
        "Bread 2.5 5 Mar 2026 12345"
    );
    assert_eq!(
        text.lines().nth(2).unwrap().split_whitespace().collect::<Vec<_>>().join(" "),
        "Città è 1,234.0 21 Nov 2026 7"
    );
    let it = said(&format!(r#""it", {columns}"#), &rows);
    assert!(it.contains("1.234,0") && it.contains("21 nov 2026"), "{it}");
}

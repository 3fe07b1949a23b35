//! Audit lines as CSV (RFC 4180): a header row, one row a line, every text quoted, CR LF at the ends.
//!
//! A text that a spreadsheet would run as a formula (it begins with `=`, `+`, `-`, `@`, one of their wide forms, a tab or an end of
//! a line) has an apostrophe before it; a program that needs it as it was reads the JSON lines.

use metnos_log::canonical;
use serde_json::Value;

use super::Line;

/// The columns: how each is called, and where a line has it.
const COLUMNS: &[(&str, &str)] = &[
    ("kind", ""),
    ("seq", "/seq"),
    ("ts", "/ts"),
    ("ts_start", "/ts_start"),
    ("ts_end", "/ts_end"),
    ("turn_id", "/turn_id"),
    ("trace_id", "/trace_id"),
    ("executor", "/executor"),
    ("version", "/version"),
    ("caller_kind", "/caller/kind"),
    ("sender", "/caller/sender"),
    ("channel", "/caller/channel"),
    ("schedule_id", "/caller/schedule_id"),
    ("input", "/input"),
    ("output", "/output"),
    ("duration_ms", "/duration_ms"),
    ("exit", "/exit"),
    ("error_class", "/error_class"),
    ("cage", "/cage"),
    ("user_query", "/user_query"),
    ("calls", "/calls"),
    ("final_kind", "/final_kind"),
    ("final_message", "/final_message"),
    ("counts", "/counts"),
    ("corrects", "/corrects"),
    ("note", "/note"),
    ("by", "/by"),
    ("selector", "/selector"),
    ("of", "/of"),
    ("payloads", "/payloads"),
    ("blobs", "/blobs"),
    ("reason", "/reason"),
    ("erased", "/erased"),
    ("withheld", "/withheld"),
    ("unknown", "/unknown"),
];

/// So many columns at the beginning tell such a table from any other.
const COLUMNS_KNOWN_BY: usize = 14;

/// What a spreadsheet takes for the beginning of a formula (OWASP, «CSV Injection»).
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// The first row.
pub fn header() -> String {
    let names: Vec<String> = COLUMNS.iter().map(|(name, _)| quoted(name)).collect();
    names.join(",") + "\r\n"
}

/// Whether a file that begins so is such a table, whatever columns this or another version gave it.
pub fn begins(bytes: &[u8]) -> bool {
    let common: Vec<String> = COLUMNS.iter().take(COLUMNS_KNOWN_BY).map(|(name, _)| quoted(name)).collect();
    bytes.starts_with((common.join(",") + ",").as_bytes())
}

/// The row of a line.
pub fn row(line: &Line) -> String {
    let cell = |at: &str| match at {
        "" => quoted(line.kind.name()),
        _ => cell(line.value.pointer(at)),
    };
    let cells: Vec<String> = COLUMNS.iter().map(|(_, at)| cell(at)).collect();
    cells.join(",") + "\r\n"
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => quoted(text),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Bool(is)) => is.to_string(),
        Some(value @ (Value::Array(_) | Value::Object(_))) => quoted(&canonical::to_string(value)),
    }
}

fn quoted(text: &str) -> String {
    let defused = if text.starts_with(FORMULA) { "'" } else { "" };
    format!("\"{defused}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_spreadsheet_would_run_is_defused_and_quotes_are_doubled() {
        for (text, cell) in [
            ("plain", "\"plain\""),
            ("a,\"b\"\r\nc", "\"a,\"\"b\"\"\r\nc\""),
            ("=1+1", "\"'=1+1\""),
            ("+39 06", "\"'+39 06\""),
            ("-2", "\"'-2\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("\t=1", "\"'\t=1\""),
            ("\r=1", "\"'\r=1\""),
            ("\n=1", "\"'\n=1\""),
            ("＝1+1", "\"'＝1+1\""),
            ("a=1", "\"a=1\""),
        ] {
            assert_eq!(quoted(text), cell, "{text:?}");
        }
        assert_eq!(cell(Some(&serde_json::json!({ "b": 1, "a": "\"" }))), "\"{\"\"a\"\":\"\"\\\"\"\"\",\"\"b\"\":1}\"");
        assert_eq!(cell(Some(&serde_json::json!(-3))), "-3");
    }
}

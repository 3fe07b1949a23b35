//! Filters that a presentation may use beyond minijinja's own: sizes as people say them, rows as a table.
//!
//! They shape what is there and decide nothing; the language is an argument, because a template knows which one it is in.

use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind};

/// The widest a column of a table gets, in characters.
const CELL_MAX: usize = 40;
const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];

/// Makes the filters known: `n | size("it")`, `rows | table(columns, "it")`.
pub(super) fn add_filters(environment: &mut Environment<'_>) {
    environment.add_filter("size", size);
    environment.add_filter("table", table);
}

/// Bytes as people say them: `512 bytes`, `2.1 MB`; in Italian `512 byte`, `2,1 MB`. Powers of 1000.
#[expect(clippy::needless_pass_by_value, reason = "the template engine hands values over")]
fn size(bytes: u64, language: String) -> String {
    let italian = language == "it";
    if bytes < 1000 {
        return format!("{bytes} {}", if italian || bytes == 1 { "byte" } else { "bytes" });
    }
    // The unit in which it stays below a thousand, once rounded.
    let (mut unit, mut divisor) = (0, 1000_u128);
    while u128::from(bytes) * 2 >= 1999 * divisor && unit + 1 < UNITS.len() {
        divisor *= 1000;
        unit += 1;
    }
    let tenths = (u128::from(bytes) * 20 + divisor) / (2 * divisor);
    if tenths >= 1000 || tenths % 10 == 0 {
        return format!("{} {}", (u128::from(bytes) * 2 + divisor) / (2 * divisor), UNITS[unit]);
    }
    let point = if italian { ',' } else { '.' };
    format!("{}{point}{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// Objects as rows under the names of the columns, cells aligned: numbers to the right, long texts cut with an ellipsis.
fn table(rows: &Value, columns: &Value, language: &str) -> Result<String, Error> {
    let names: Vec<String> = columns.try_iter()?.map(|name| name.to_string()).collect();
    let mut cells: Vec<Vec<(String, bool)>> = Vec::new();
    for row in rows.try_iter()? {
        if row.kind() != ValueKind::Map {
            return Err(Error::new(ErrorKind::InvalidOperation, "a row of a table is no object"));
        }
        cells.push(names.iter().map(|name| Ok(cell(&row.get_attr(name)?, language))).collect::<Result<_, Error>>()?);
    }
    let heads: Vec<String> = names.iter().map(|name| cut(name)).collect();
    let width = |at: usize| cells.iter().map(|row| length(&row[at].0)).chain([length(&heads[at])]).max().unwrap_or(0);
    let widths: Vec<usize> = (0..names.len()).map(width).collect();
    let right =
        |at: usize| cells.iter().any(|row| row[at].1) && cells.iter().all(|row| row[at].1 || row[at].0.is_empty());
    let rights: Vec<bool> = (0..names.len()).map(right).collect();
    let line = |texts: Vec<&str>| {
        let padded = texts.iter().enumerate().map(|(at, text)| {
            let space = " ".repeat(widths[at].saturating_sub(length(text)));
            if rights[at] { format!("{space}{text}") } else { format!("{text}{space}") }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(heads.iter().map(String::as_str).collect())];
    lines.extend(cells.iter().map(|row| line(row.iter().map(|(text, _)| text.as_str()).collect())));
    Ok(lines.join("\n"))
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// A value as the text of a cell, and whether it is a number.
fn cell(value: &Value, language: &str) -> (String, bool) {
    if value.is_undefined() || value.is_none() {
        return (String::new(), false);
    }
    let (text, italian) = (value.to_string(), language == "it");
    if value.is_number() {
        return (if italian { text.replace('.', ",") } else { text }, true);
    }
    let text = match (value == &Value::from(true), value == &Value::from(false)) {
        (true, _) => if italian { "sì" } else { "yes" }.to_owned(),
        (_, true) => "no".to_owned(),
        _ => cut(&text),
    };
    (text, false)
}

/// On one line, and no longer than a column may be.
fn cut(text: &str) -> String {
    let flat: String = text.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
    if length(&flat) <= CELL_MAX {
        return flat;
    }
    let kept: String = flat.chars().take(CELL_MAX - 1).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::fill;
    use super::*;

    #[test]
    fn sizes_are_said_in_the_unit_that_fits() {
        let check = |bytes: u64, en: &str, it: &str| {
            assert_eq!(size(bytes, "en".to_owned()), en);
            assert_eq!(size(bytes, "it".to_owned()), it);
        };
        check(0, "0 bytes", "0 byte");
        check(1, "1 byte", "1 byte");
        check(999, "999 bytes", "999 byte");
        check(1000, "1 kB", "1 kB");
        check(2_149_000, "2.1 MB", "2,1 MB");
        check(999_960, "1 MB", "1 MB");
        check(123_456_789, "123 MB", "123 MB");
        check(u64::MAX, "18447 PB", "18447 PB");
    }

    #[test]
    fn rows_stand_under_their_columns() {
        let rows = json!([{"name": "milk", "price": 1.5, "paid": true}, {"name": "a\nb", "price": 12}]);
        let said = |language: &str| {
            let template = format!("{{{{ rows | table([\"name\", \"price\", \"paid\"], \"{language}\") }}}}");
            fill(&template, json!({ "rows": rows })).unwrap()
        };
        assert_eq!(said("en"), "name  price  paid\nmilk    1.5  yes\na b      12");
        assert_eq!(said("it"), "name  price  paid\nmilk    1,5  sì\na b      12");
        assert!(fill("{{ [1] | table([\"a\"], \"en\") }}", json!({})).is_err());
    }
}

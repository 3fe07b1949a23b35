//! A list of entries as aligned lines that fit a terminal.
//!
//! Numbers stand right, with as many decimals as the column needs; sizes are human, dates local. What is too long is cut
//! with «…» (a path at its beginning), columns that do not fit are named below, rows beyond the limit are counted.

use minijinja::Error;
use minijinja::value::{Value, ValueKind};

use super::local::{self, Number};
use super::visible;
use crate::messages::Language;

/// The longest line, in characters of a terminal.
const WIDTH: usize = 100;
/// The least that is left of a column that is cut.
const LEAST: usize = 8;
/// The widest a column of text may be while others need room.
const CELL_MAX: usize = 400;
const GAP: usize = 2;
/// Whole numbers in columns called so are names, not amounts.
const NAMES: [&str; 16] = [
    "id", "pid", "year", "anno", "zip", "cap", "code", "codice", "port", "porta", "line", "riga", "phone", "telefono",
    "group", "gruppo",
];
/// What fields of files and processes are called in Italian.
const ITALIAN: [(&str, &str); 19] = [
    ("name", "nome"),
    ("memory", "memoria"),
    ("size", "dimensione"),
    ("modified", "data di modifica"),
    ("path", "percorso"),
    ("kind", "genere"),
    ("type", "tipo"),
    ("user", "utente"),
    ("started", "avviato"),
    ("class", "classe"),
    ("folder", "cartella"),
    ("extension", "estensione"),
    ("items", "elementi"),
    ("command", "comando"),
    ("taken", "scattata"),
    ("year", "anno"),
    ("month", "mese"),
    ("week", "settimana"),
    ("day", "giorno"),
];

/// Kinds and classes of files in Italian.
const KINDS: [(&str, &str); 17] = [
    ("picture", "immagine"),
    ("video", "video"),
    ("audio", "audio"),
    ("document", "documento"),
    ("archive", "archivio"),
    ("code", "codice"),
    ("folder", "cartella"),
    ("other", "altro"),
    ("empty", "vuoto"),
    ("small", "piccolo"),
    ("medium", "medio"),
    ("large", "grande"),
    ("huge", "enorme"),
    ("last 7 days", "ultimi 7 giorni"),
    ("last 31 days", "ultimi 31 giorni"),
    ("last 12 months", "ultimi 12 mesi"),
    ("older", "più vecchio"),
];

/// How a table is made.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    /// The language of numbers, dates and the words around.
    pub(super) language: Language,
    /// The fields to show, in their order; all of the first entries' if absent.
    pub(super) columns: Option<Vec<String>>,
    /// Fields that are sizes in bytes.
    pub(super) sizes: Vec<String>,
    /// For groups: the fields whose names are made of an operation and a field (`sum_price`).
    pub(super) computed: Option<Vec<String>>,
    /// The time zone for moments, by IANA name; UTC if absent or unknown.
    pub(super) zone: Option<String>,
    /// Whether the fields are the product's own (a file's, a process's) and are called in the person's language.
    pub(super) own: bool,
    /// Whether the fields' names stand above.
    pub(super) header: bool,
    /// What stands in the first column for a value that is missing.
    pub(super) missing: String,
    /// A last line: values by field, under the word for a total.
    pub(super) total: Option<Value>,
    /// The most rows.
    pub(super) limit: usize,
    /// Whether Italian counts the rows that are left out as feminine (righe, cartelle).
    pub(super) feminine: bool,
}

/// One column: its name, its cells and how they stand.
struct Column {
    name: String,
    head: String,
    cells: Vec<String>,
    right: bool,
    path: bool,
}

/// The entries as lines, without a line break at the end.
pub(super) fn table(entries: &Value, options: &Options) -> Result<String, Error> {
    let rows: Vec<Value> = entries.try_iter()?.take(options.limit).collect();
    let hidden = entries.len().unwrap_or(rows.len()).saturating_sub(rows.len());
    let names = match &options.columns {
        Some(names) => names.clone(),
        None => all_names(&rows)?,
    };
    let mut columns = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        columns.push(column(name, &rows, index == 0, options)?);
    }
    let left_out = fit(&mut columns, options.header);
    let mut lines = Vec::with_capacity(rows.len() + 4);
    let total = usize::from(options.total.is_some());
    if options.header && !rows.is_empty() {
        lines.push(line(&columns, |column| &column.head));
    }
    lines.extend((0..rows.len()).map(|row| line(&columns, |column| &column.cells[row])));
    if hidden > 0 {
        lines.push(hidden_rows(hidden, options));
    }
    if total > 0 {
        lines.push(line(&columns, |column| &column.cells[rows.len()]));
    }
    if !left_out.is_empty() {
        lines.push(not_shown(&left_out, options.language));
    }
    Ok(lines.join("\n"))
}

fn hidden_rows(hidden: usize, options: &Options) -> String {
    let n = Number::of(&Value::from(hidden)).map(|number| number.said(options.language)).unwrap_or_default();
    match (options.language, hidden, options.feminine) {
        (Language::En, ..) => format!("and {n} more"),
        (Language::It, 1, false) => "e un altro".to_owned(),
        (Language::It, 1, true) => "e un'altra".to_owned(),
        (Language::It, _, false) => format!("e altri {n}"),
        (Language::It, _, true) => format!("e altre {n}"),
    }
}

fn all_names(rows: &[Value]) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = Vec::new();
    for row in rows.iter().filter(|row| row.kind() == ValueKind::Map) {
        for key in row.try_iter()? {
            let key = key.to_string();
            if key != "path_b64" && !names.contains(&key) {
                names.push(key);
            }
        }
    }
    Ok(names)
}

fn column(name: &str, rows: &[Value], first: bool, options: &Options) -> Result<Column, Error> {
    let mut values = Vec::with_capacity(rows.len() + 1);
    for row in rows {
        values.push(row.get_item(&Value::from(name))?);
    }
    if let Some(total) = &options.total {
        let word = if options.language == Language::It { "totale" } else { "total" };
        values.push(if first { Value::from(word) } else { total.get_item(&Value::from(name))? });
    }
    let numbers: Vec<Option<Number>> = values.iter().map(Number::of).collect();
    let decimals = numbers.iter().flatten().map(Number::decimals).max().unwrap_or(0);
    let named = NAMES.contains(&name.to_lowercase().rsplit(['_', ' ']).next().unwrap_or_default());
    let grouped = decimals > 0 || (!named && numbers.iter().flatten().any(|number| number.digits() > 4));
    let size = options.sizes.iter().any(|size| size == name);
    let cells: Vec<String> = values
        .iter()
        .zip(&numbers)
        .map(|(value, number)| match (number, local::bytes_of(value).filter(|_| size)) {
            (_, Some(bytes)) => local::size_short(bytes, options.language),
            (Some(number), None) => number.written(options.language, decimals, grouped),
            (None, None) if value.is_none() || value.is_undefined() => {
                if first {
                    options.missing.clone()
                } else {
                    String::new()
                }
            }
            (None, None) => kind_in_italian(name, value, options).unwrap_or_else(|| text(value, options)),
        })
        .collect();
    let filled = values.iter().zip(&cells).take(rows.len()).filter(|(_, cell)| !cell.is_empty());
    let (mut all, mut right) = (0, 0);
    for (value, cell) in filled {
        all += 1;
        right += usize::from(
            value.kind() == ValueKind::Number
                || value.as_str().is_some_and(|text| {
                    local::date(text, options.language, None).is_some() || looks_like_a_number(cell)
                }),
        );
    }
    let path = matches!(name, "path" | "folder");
    Ok(Column { head: head(name, options), name: name.to_owned(), cells, right: right * 2 > all && !path, path })
}

/// A value that is no number, in one line and without signs that would steer a terminal.
fn text(value: &Value, options: &Options) -> String {
    if value.is_none() || value.is_undefined() {
        return String::new();
    }
    if value.kind() == ValueKind::Bool {
        let (yes, no) = if options.language == Language::It { ("sì", "no") } else { ("yes", "no") };
        return (if value.is_true() { yes } else { no }).to_owned();
    }
    if value.kind() == ValueKind::Seq {
        let items = value.try_iter().map(|items| items.map(|item| text(&item, options)).collect::<Vec<_>>());
        return items.unwrap_or_default().join(", ");
    }
    if value.kind() == ValueKind::Map {
        let said = |key: Value| {
            let item = value.get_item(&key).unwrap_or_default();
            format!("{}: {}", one_line(&key.to_string()), text(&item, options))
        };
        return value.try_iter().map(|keys| keys.map(said).collect::<Vec<_>>()).unwrap_or_default().join(", ");
    }
    let shown = value.to_string();
    local::date(&shown, options.language, options.zone.as_deref()).unwrap_or_else(|| one_line(&shown))
}

/// The kinds of files that the product tells apart (`type`, `class`).
fn kind_in_italian(name: &str, value: &Value, options: &Options) -> Option<String> {
    let ours = name == "class" || (options.own && matches!(name, "type" | "tipo"));
    if options.language != Language::It || !ours {
        return None;
    }
    let kind = value.as_str()?;
    KINDS.iter().find(|(known, _)| *known == kind).map(|(_, called)| (*called).to_owned())
}

fn one_line(text: &str) -> String {
    let cut: String = text.trim().replace('\t', " ").chars().take(CELL_MAX).collect();
    visible::name(&cut).into_owned()
}

fn looks_like_a_number(text: &str) -> bool {
    text.chars().any(|sign| sign.is_ascii_digit()) && text.chars().all(|sign| "0123456789.,€$£% -+".contains(sign))
}

/// What a field is called above its column.
fn head(name: &str, options: &Options) -> String {
    let Some(computed) = &options.computed else { return field_name(name, options.language, options.own) };
    let italian = options.language == Language::It;
    if name == "count" {
        return (if italian { "quanti" } else { "count" }).to_owned();
    }
    if name == "share" && computed.iter().any(|computed| computed == name) {
        return (if italian { "% del totale" } else { "% of total" }).to_owned();
    }
    let Some((op, field)) = name.split_once('_').filter(|_| computed.iter().any(|computed| computed == name)) else {
        return field_name(name, options.language, options.own);
    };
    let (en, it) = match op {
        "sum" => ("sum of", "somma di"),
        "avg" => ("average", "media di"),
        "min" => ("least", "minimo di"),
        "max" => ("greatest", "massimo di"),
        _ => ("with", "con"),
    };
    format!("{} {}", if italian { it } else { en }, field_name(field, options.language, options.own))
}

/// What a field is called: the product's own in the person's language, any other as it is.
pub(super) fn field_name(name: &str, language: Language, own: bool) -> String {
    if own && name == "cpu" {
        return "cpu %".to_owned();
    }
    let own = own || name == "class";
    let known = ITALIAN.iter().find(|(known, _)| own && language == Language::It && *known == name);
    known.map_or_else(|| one_line(name), |(_, called)| (*called).to_owned())
}

/// Cuts cells and leaves out columns until a line fits; the names of those left out.
fn fit(columns: &mut Vec<Column>, header: bool) -> Vec<String> {
    let width = |column: &Column| {
        let cells = column.cells.iter().map(|cell| columns_of(cell)).max().unwrap_or(0);
        if header { cells.max(columns_of(&column.head)) } else { cells }
    };
    let mut widths: Vec<usize> = columns.iter().map(width).collect();
    let mut kept = columns.len();
    let needed =
        |widths: &[usize]| widths.iter().map(|width| (*width).min(LEAST) + GAP).sum::<usize>().saturating_sub(GAP);
    while kept > 1 && needed(&widths[..kept]) > WIDTH {
        kept -= 1;
    }
    let left_out = columns.split_off(kept).into_iter().map(|column| column.name).collect();
    widths.truncate(kept);
    let room = WIDTH.saturating_sub(GAP * kept.saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        // The widest gives way; among numbers and text of the same width, text.
        let Some(widest) = (0..kept).max_by_key(|index| (widths[*index], !columns[*index].right)) else { break };
        let others: usize = widths.iter().sum::<usize>() - widths[widest];
        let next = (0..kept).filter(|index| *index != widest).map(|index| widths[index]).max().unwrap_or(0);
        widths[widest] = room.saturating_sub(others).max(next.min(widths[widest] - 1)).max(1);
    }
    for (column, width) in columns.iter_mut().zip(widths) {
        let (right, path) = (column.right, column.path);
        for cell in &mut column.cells {
            *cell = padded(&cut(cell, width, path), width, right);
        }
        column.head = padded(&cut(&column.head, width, false), width, right);
    }
    left_out
}

fn line(columns: &[Column], cell: impl Fn(&Column) -> &String) -> String {
    let line = columns.iter().map(|column| cell(column).as_str()).collect::<Vec<_>>().join("  ");
    line.trim_end().to_owned()
}

fn not_shown(names: &[String], language: Language) -> String {
    let shown = names.iter().map(|name| one_line(name)).collect::<Vec<_>>().join(", ");
    let start = match (language, names.len()) {
        (Language::En, 1) => "[1 more column: ".to_owned(),
        (Language::En, n) => format!("[{n} more columns: "),
        (Language::It, 1) => "[un'altra colonna: ".to_owned(),
        (Language::It, n) => format!("[altre {n} colonne: "),
    };
    let shown = cut(&shown, WIDTH - columns_of(&start) - 1, false);
    format!("{start}{shown}]")
}

/// At most so wide, with «…» where something is missing: at the end, of a path at the beginning.
fn cut(text: &str, width: usize, from_start: bool) -> String {
    if columns_of(text) <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let mut take = |sign: &char| {
        let wide = columns_of_sign(*sign);
        let fits = wide <= room;
        room = room.saturating_sub(if fits { wide } else { room });
        fits
    };
    if from_start {
        let kept: Vec<char> = text.chars().rev().take_while(|sign| take(sign)).collect();
        return std::iter::once('…').chain(kept.into_iter().rev()).collect();
    }
    text.chars().take_while(|sign| take(sign)).chain(std::iter::once('…')).collect()
}

fn padded(text: &str, width: usize, right: bool) -> String {
    let blanks = " ".repeat(width.saturating_sub(columns_of(text)));
    if right { blanks + text } else { text.to_owned() + &blanks }
}

/// How many columns of a terminal the text takes.
fn columns_of(text: &str) -> usize {
    text.chars().map(columns_of_sign).sum()
}

/// Two for East Asian wide signs and emoji, none for what joins the sign before (Unicode's East Asian Width, in blocks).
fn columns_of_sign(sign: char) -> usize {
    match u32::from(sign) {
        0x0300..=0x036f | 0x1ab0..=0x1aff | 0x200b..=0x200f | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;

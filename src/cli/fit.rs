//! An answer in the width of a terminal: a table's widest column is cut with «…», other lines are wrapped between words.
//!
//! Only what is shown changes, never what is recorded or piped. A word that is wider than the terminal stays whole, so
//! that a path or an address can still be copied.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The least that is left of a column that is cut.
const LEAST: usize = 6;
/// What stands between two columns.
const GAP: usize = 2;

/// How the lines of an answer came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// Made from entries: neighbours whose cells stand below each other are a table.
    Entries,
    /// Somebody's text or ours: nothing of it may be cut.
    Text,
}

/// The text with no line wider than `columns`, as far as that goes.
pub(super) fn fit(text: &str, columns: usize, lines: Lines) -> Cow<'_, str> {
    if columns < LEAST || text.lines().all(|line| line.width() <= columns) {
        return Cow::Borrowed(text);
    }
    let all: Vec<&str> = text.lines().collect();
    let mut fitted: Vec<String> = Vec::with_capacity(all.len());
    let mut at = 0;
    while at < all.len() {
        let length = if lines == Lines::Entries { table_length(&all[at..]) } else { 0 };
        if length > 1 {
            table(&all[at..at + length], columns, &mut fitted);
            at += length;
        } else {
            wrap(all[at], columns, &mut fitted);
            at += 1;
        }
    }
    let mut fitted = fitted.join("\n");
    if text.ends_with('\n') {
        fitted.push('\n');
    }
    Cow::Owned(fitted)
}

/// At most `columns` of a line, with «…» where it was cut.
pub(super) fn cut(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let mut kept = String::new();
    let mut width = 1;
    for character in line.chars() {
        width += character.width().unwrap_or(0);
        if width > columns {
            break;
        }
        kept.push(character);
    }
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

/// The same from the other end: of a path, its end says most.
fn cut_start(text: &str, columns: usize) -> String {
    let mut start = text.len();
    let mut width = 1;
    for (at, character) in text.char_indices().rev() {
        width += character.width().unwrap_or(0);
        if width > columns {
            break;
        }
        start = at;
    }
    format!("…{}", &text[start..])
}

/// How many lines from the first on share a gap between columns: two blanks or more at the same place.
fn table_length(lines: &[&str]) -> usize {
    let mut shared: Option<Vec<bool>> = None;
    let mut length = 0;
    for line in lines {
        let own = blanks(line);
        let both = shared.as_ref().map_or_else(|| own.clone(), |shared| and(shared, &own));
        // A sentence above a table has no gap of its own, and no cells.
        if gaps(&own).is_empty() || gaps(&both).is_empty() {
            break;
        }
        shared = Some(both);
        length += 1;
    }
    length
}

/// Which places of a line are blank, by the terminal's columns. What lies beyond its end is not known here.
fn blanks(line: &str) -> Vec<bool> {
    line.chars().flat_map(|sign| std::iter::repeat_n(sign == ' ', sign.width().unwrap_or(0))).collect()
}

/// Places that are blank in both; the longer one goes on where the other has ended.
fn and(one: &[bool], other: &[bool]) -> Vec<bool> {
    let at = |line: &[bool], place: usize| line.get(place).copied().unwrap_or(true);
    (0..one.len().max(other.len())).map(|place| at(one, place) && at(other, place)).collect()
}

/// Runs of at least two blanks between other signs.
fn gaps(blanks: &[bool]) -> Vec<(usize, usize)> {
    let mut gaps = Vec::new();
    let mut start = None;
    for (place, &blank) in blanks.iter().enumerate() {
        match (blank, start) {
            (true, None) => start = Some(place),
            (false, Some(from)) => {
                if from > 0 && place - from >= GAP {
                    gaps.push((from, place));
                }
                start = None;
            }
            _ => {}
        }
    }
    gaps
}

/// Lays the lines of a table out again: the widest column gives way until the lines fit.
fn table(lines: &[&str], columns: usize, fitted: &mut Vec<String>) {
    let shared = lines.iter().map(|line| blanks(line)).reduce(|one, other| and(&one, &other)).unwrap_or_default();
    let gaps = gaps(&shared);
    let starts: Vec<usize> = std::iter::once(0).chain(gaps.iter().map(|(_, end)| *end)).collect();
    let ends: Vec<usize> = gaps.iter().map(|(start, _)| *start).chain([shared.len()]).collect();
    let mut widths: Vec<usize> = starts.iter().zip(&ends).map(|(start, end)| end - start).collect();
    let room = columns.saturating_sub(GAP * gaps.len());
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max_by_key(|width| **width).filter(|width| **width > LEAST) else { break };
        *widest -= 1;
    }
    for line in lines {
        let cells = starts.iter().zip(&ends).zip(&widths).map(|((start, end), width)| {
            let cell = between(line, *start, *end);
            let right = cell.starts_with(' ') && !cell.trim().is_empty();
            cell_of(cell.trim(), *width, right)
        });
        let row = cells.collect::<Vec<_>>().join(&" ".repeat(GAP));
        fitted.push(cut(row.trim_end(), columns));
    }
}

/// One cell in its width.
fn cell_of(cell: &str, width: usize, right: bool) -> String {
    let is_path = cell.starts_with(['/', '~']);
    let cell = match cell.width() {
        fits if fits <= width => cell.to_owned(),
        _ if is_path => cut_start(cell, width),
        _ => cut(cell, width),
    };
    let pad = " ".repeat(width.saturating_sub(cell.width()));
    if right { format!("{pad}{cell}") } else { format!("{cell}{pad}") }
}

/// The part of a line between two of the terminal's columns.
fn between(line: &str, start: usize, end: usize) -> &str {
    let (mut place, mut from, mut to) = (0, line.len(), line.len());
    for (at, sign) in line.char_indices() {
        if place >= start && from == line.len() {
            from = at;
        }
        if place >= end {
            to = at;
            break;
        }
        place += sign.width().unwrap_or(0);
    }
    line.get(from..to).unwrap_or_default()
}

/// Breaks a line between words; every sign of it stays, but for the blank where it is broken.
fn wrap(line: &str, columns: usize, fitted: &mut Vec<String>) {
    let mut row = String::new();
    for (index, word) in line.split(' ').enumerate() {
        if !row.trim().is_empty() && row.width() + 1 + word.width() > columns {
            fitted.push(std::mem::take(&mut row));
        } else if index > 0 {
            row.push(' ');
        }
        row.push_str(word);
    }
    fitted.push(row);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_left_alone() {
        let text = "name   size\na  b\n";
        assert!(matches!(fit(text, 20, Lines::Entries), Cow::Borrowed(_)));
    }

    #[test]
    fn the_widest_column_of_a_table_gives_way() {
        let text = "2 files in /home:\n\
                    /home/pictures/summer/one.jpg    1.2 MB  12 May 2026\n\
                    /home/pictures/winter/b.jpg    900.0 KB  13 May 2026\n\
                    and 3 more";
        let fitted = fit(text, 40, Lines::Entries);
        assert_eq!(
            fitted.lines().collect::<Vec<_>>(),
            [
                "2 files in /home:",
                "…s/summer/one.jpg    1.2 MB  12 May 2026",
                "…res/winter/b.jpg  900.0 KB  13 May 2026",
                "and 3 more"
            ],
            "{fitted}"
        );
        assert!(fitted.lines().all(|line| line.width() <= 40));
    }

    #[test]
    fn wide_signs_count_as_the_terminal_draws_them() {
        let text = "家計簿の写真とても長い名前  1\nb                           2";
        let fitted = fit(text, 16, Lines::Entries);
        assert!(fitted.lines().all(|line| line.width() <= 16), "{fitted}");
        assert!(fitted.lines().all(|line| line.ends_with(['1', '2'])), "{fitted}");
        assert_eq!(cut("家計簿", 5), "家計…");
        assert_eq!(cut("abc", 3), "abc");
    }

    #[test]
    fn somebodys_text_is_wrapped_and_never_cut() {
        let text = "one two three  four\n  indented words here\n/a/path/without/any/blank/at/all.txt";
        let fitted = fit(text, 12, Lines::Text);
        assert_eq!(fitted, "one two\nthree  four\n  indented\nwords here\n/a/path/without/any/blank/at/all.txt");
    }
}

//! A text as Metnos words it where it shows it to a person: its lines indented or joined to one, its signs written out, or only
//! its beginning or its end. What is looked for by its bytes passes that over, and it says the same.

use std::borrow::Cow;
use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;
use metnos_projections::visible;

use super::TEXT_BYTES_MIN;
use super::search::escaped;
use crate::effects::plan::SHOWN_CHARS;

/// What is left of a text that was cut shorter than this is everybody's.
const CHARACTERS_MIN: usize = 12;
/// Stands where something was cut off.
const CUT: char = '…';
/// So many blanks stand before it at most: the end of a line, and how far a question sets its lines in.
const BLANKS_MAX: usize = 16;

/// The ways in which a text may be shown.
pub(super) struct Shown {
    forms: Vec<Form>,
    /// What stands in every text that shows it, one of them: most texts hold nothing of it.
    marks: AhoCorasick,
}

struct Form {
    /// As it is looked for: blanks of any kind are one.
    text: String,
    /// Its first and last characters, as many as tell it from others; none where it is too short to be shown in part.
    ends: Option<(String, String)>,
    /// Whether it has lines or tabs, so that it is shown with other blanks.
    has_lines: bool,
}

impl Shown {
    pub(super) fn of(text: &str) -> Self {
        let quoted = |text: &str| {
            let quoted = format!("{text:?}");
            quoted[1..quoted.len() - 1].to_owned()
        };
        // As one line, as lines, in quotation marks, as JSON in JSON.
        let by_lines = text.lines().map(visible::name).collect::<Vec<_>>().join("\n");
        let as_json = escaped(text);
        let forms = BTreeSet::from([
            text.to_owned(),
            visible::name(text).into_owned(),
            visible::text(text).into_owned(),
            by_lines,
            text.escape_debug().to_string(),
            quoted(text),
            escaped(&as_json),
            visible::name(&as_json).into_owned(),
            as_json,
        ]);
        let forms: Vec<Form> = forms.iter().map(|form| Form::of(form)).collect();
        let marks =
            AhoCorasick::new(forms.iter().flat_map(Form::marks)).expect("a few words are far fewer than states");
        Self { forms, marks }
    }

    /// Whether a text shows it, wholly or in part.
    pub(super) fn is_in(&self, said: &str) -> bool {
        self.marks.is_match(said) && self.forms.iter().any(|form| form.is_in(said))
    }
}

impl Form {
    fn of(text: &str) -> Self {
        let set_anew = with_one_blank(text);
        let has_lines = text.trim().contains(['\n', '\r', '\t']) && set_anew.len() >= TEXT_BYTES_MIN;
        let text = if has_lines { set_anew } else { text.to_owned() };
        // Blanks around it tell nothing.
        let core = text.trim();
        let first = core.char_indices().nth(CHARACTERS_MIN).map(|(at, _)| core[..at].to_owned());
        let last = core.char_indices().rev().nth(CHARACTERS_MIN - 1).map(|(at, _)| core[at..].to_owned());
        Self { ends: first.zip(last), text, has_lines }
    }

    /// What it begins and ends with, as far as no blank changes it.
    fn marks(&self) -> [&str; 2] {
        let (first, last) = self.ends.as_ref().map_or((&self.text, &self.text), |(first, last)| (first, last));
        let first_word = first.split(' ').next().unwrap_or_default();
        let last_word = last.rsplit(' ').next().unwrap_or_default();
        if self.has_lines { [first_word, last_word] } else { [first, last] }
    }

    fn is_in(&self, said: &str) -> bool {
        let is_cut_by_length = said.chars().nth(SHOWN_CHARS - 1).is_some() && said.chars().nth(SHOWN_CHARS).is_none();
        let said = if self.has_lines { Cow::Owned(with_one_blank(said)) } else { Cow::Borrowed(said) };
        said.contains(&self.text) || self.is_in_part(&said, is_cut_by_length)
    }

    /// Whether its beginning stands there before a cut, or its end behind one.
    fn is_in_part(&self, said: &str, is_cut_by_length: bool) -> bool {
        let Some((first, last)) = &self.ends else { return false };
        if !is_cut_by_length && !said.contains(CUT) {
            return false;
        }
        let core = self.text.trim();
        let is_cut = |end: usize| end == said.len() && is_cut_by_length || is_next(said[end..].chars());
        let begins = said.contains(first) && {
            let found = lengths(core.bytes(), said.bytes());
            let ends = found.iter().enumerate().filter(|(_, length)| **length >= first.len());
            ends.map(|(at, length)| said.floor_char_boundary(at + length)).any(is_cut)
        };
        begins
            || said.contains(last) && {
                let found = lengths(core.bytes().rev(), said.bytes().rev());
                let starts = found.iter().enumerate().filter(|(_, length)| **length >= last.len());
                let starts = starts.map(|(at, length)| said.ceil_char_boundary(said.len() - at - length));
                starts.map(|start| &said[..start]).any(|before| is_next(before.chars().rev()))
            }
    }
}

/// Whether the next that is seen is the sign of a cut as Metnos makes it, and none that somebody wrote between two words: behind it
/// a text ends, or its quotation, or it is said how much there is beside it.
fn is_next(signs: impl Iterator<Item = char>) -> bool {
    let mut signs = signs.take(2 * BLANKS_MAX).skip_while(|sign| sign.is_whitespace() || *sign == '[');
    if signs.next() != Some(CUT) {
        return false;
    }
    let rest: String = signs.collect();
    let words = rest.trim_start();
    let is_counted = ["and ", "e "].iter().any(|and| {
        let count = words.strip_prefix(and).and_then(|rest| rest.chars().next());
        count.is_some_and(|sign| sign.is_ascii_digit())
    });
    // «… 98 characters omitted …», read from its end.
    let is_counted = is_counted || words.starts_with("dettimo");
    let (next, is_apart) = (words.chars().next(), rest.starts_with("  ") || rest.starts_with('\n'));
    is_counted || is_apart || !next.is_some_and(char::is_alphabetic)
}

/// At each place of `said`, how much of the beginning of `text` stands there (the Z algorithm: Gusfield, «Algorithms on Strings,
/// Trees and Sequences», 1.4); in time for both together, however often a text repeats itself.
fn lengths(text: impl Iterator<Item = u8>, said: impl Iterator<Item = u8>) -> Vec<usize> {
    let (text, said): (Vec<u8>, Vec<u8>) = (text.collect(), said.collect());
    let all: Vec<u8> = [&*text, &said].concat();
    let mut found = vec![0; all.len()];
    let (mut start, mut end) = (0, 0);
    for at in 1..all.len() {
        let mut length: usize = if at < end { found[at - start].min(end - at) } else { 0 };
        while length < text.len() && all.get(at + length) == Some(&text[length]) {
            length += 1;
        }
        found[at] = length;
        if at + length > end {
            (start, end) = (at, at + length);
        }
    }
    found.split_off(text.len())
}

fn with_one_blank(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, said: &str, expected: bool) {
        assert_eq!(Shown::of(text).is_in(said), expected, "{text:?} in {said:?}");
    }

    #[test]
    fn lines_are_found_however_they_are_set() {
        let text = "the safe\n  is behind\nthe clock\n";
        check(text, "Write to a.txt?\n  the text:\n    the safe\n      is behind\n    the clock\n[y/N]", true);
        check(text, "«write the safe   is behind the clock»", true);
        check(text, &text.escape_debug().to_string(), true);
        check(text, "the safe is behind the cl…", true);
        check(text, "the safe is under the clock", false);
        check("a\u{1b}[1mb of the safe", "a\\x1b[1mb of the safe", true);
        check("it's 4711\nand 42", "content: it\\'s 4711\\nand 42", true);
        check("it's the cafe\u{301} of 4711", "echo \"it's the cafe\\u{301} of 4711\"", true);
        let text = "the \"blue\" box isn't empty, look under the drawer";
        check(text, "«write \"the \\\"blue\\\" box isn't emp…»", true);
        check(text, "«{\\\"content\\\":\\\"the \\\\\\\"blue\\\\\\\" box isn't emp…»", true);
        // One line is not set anew; what stands on two is another text.
        check("the safe", "the\n safe", false);
        // Blanks alone, or around a word, are no lines.
        for text in ["\n\n\n\n", "    ", "\n\n the \n\n", " a\nb"] {
            check(text, "the a b of the safe", false);
            check(text, &format!("x{text}y"), true);
        }
    }

    #[test]
    fn a_part_is_found_where_it_was_cut() {
        let text = format!("the safe is behind {}the clock", "the old door and ".repeat(40));
        let characters = |from: usize, count: usize| text.chars().skip(from).take(count).collect::<String>();
        for count in [12, 13, 80, 600] {
            let beginning = characters(0, count);
            for cut in ["…", " …", " […]", "\n    … and 5.0 kB more", "… (98 more letters, not shown here)"] {
                check(&text, &format!("Undid «write \"{beginning}{cut}»."), true);
            }
            check(&text, &beginning, false);
            check(&text, &format!("{beginning}!…"), false);
            let end = characters(text.chars().count() - count, count);
            check(&text, &format!("… {end}: found"), true);
            check(&text, &format!("x\n… 98 characters omitted …\n{end}"), true);
            check(&text, &format!("…and {end}"), false);
            check(&text, &format!("who knows … {end}"), false);
            check(&text, &format!("«{beginning} … who knows»"), false);
        }
        check(&text, &format!("{}…", characters(0, 11)), false);
        // The beginning that a planned change carries has one length, and nothing that says so.
        let carried = |before: usize, count: usize| "x".repeat(before) + &characters(0, count);
        check(&text, &carried(0, 300), true);
        check(&text, &carried(100, 200), true);
        check(&text, &carried(0, 299), false);
        check(&text, &carried(100, 201), false);
        check("è un segreto di casa", "è un segreto …", true);
        check("short one", "short o…", false);
        check("…………………………", "…", false);
        check("aaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaa…", true);
        check("============ the safe is behind", "==================== the safe is…", true);
        check("the safe is behind ============", "… safe is behind ====================", true);
    }

    /// Of each place, in one pass.
    #[test]
    fn how_much_stands_where_is_counted() {
        let found = |text: &str, said: &str| lengths(text.bytes(), said.bytes());
        assert_eq!(found("abc", "xabcabdab"), [0, 3, 0, 0, 2, 0, 0, 2, 0]);
        assert_eq!(found("aaa", "aaaa"), [3, 3, 2, 1]);
        assert_eq!(found("aab", "aaab"), [2, 3, 1, 0]);
        let long = "x".repeat(200_000);
        assert!(Shown::of(&long).is_in(&format!("{}…", "x".repeat(150_000))));
        assert!(!Shown::of(&long).is_in(&"x".repeat(150_000)));
        let blanks = " ".repeat(200_000);
        assert!(!Shown::of("            the safe is behind").is_in(&format!("{blanks}…")));
        assert!(!Shown::of("the safe is behind            ").is_in(&format!("…{blanks}")));
    }
}

//! Names and texts with what a terminal would obey written out: `\n`, `\x1b`, `\u{9b}`.
//!
//! Only for people. What is recorded, and what programs read, keeps every byte.

use std::borrow::Cow;

/// A name on one line: nothing in it ends the line, gives an order, turns the direction of reading, or is not seen.
pub fn name(name: &str) -> Cow<'_, str> {
    written_out(name, |sign| sign.is_control() || is_unseen(sign))
}

/// A name among other words, so that it is seen where it begins and ends: in quotation marks, with escapes, where it holds
/// what could be read as anything but a name. What stands without them is the name as it is.
pub fn quoted(name: &str) -> Cow<'_, str> {
    let is_misread = |sign: char| {
        let is_bracket = matches!(sign, '\u{ff00}'..='\u{ffef}' | '\u{3000}'..='\u{303f}' | '\u{2190}'..='\u{21ff}');
        matches!(sign, '"' | '«' | '»' | '“' | '”' | '„') || sign.is_control() || is_unseen(sign) || is_bracket
    };
    let is_spaced = name.trim() != name || name.contains("  ") || name.is_empty();
    if !is_spaced && !name.contains(is_misread) {
        return Cow::Borrowed(name);
    }
    let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
    Cow::Owned(format!("\"{}\"", self::name(&escaped)))
}

/// Signs without a shape of their own: of format, of direction, unlike spaces, unassigned. The standard library knows them as
/// those that it does not print; a mark that stands on the letter before it is printed.
fn is_unseen(sign: char) -> bool {
    !sign.is_ascii() && !format!("a{sign}").escape_debug().skip(1).eq([sign])
}

/// A text that has lines and tabs of its own.
pub fn text(text: &str) -> Cow<'_, str> {
    written_out(text, |sign| sign.is_control() && !matches!(sign, '\n' | '\t'))
}

fn written_out(text: &str, is_obeyed: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len() + 8);
    for sign in text.chars() {
        if is_obeyed(sign) {
            written.push_str(&escape(sign));
        } else {
            written.push(sign);
        }
    }
    Cow::Owned(written)
}

fn escape(sign: char) -> String {
    match sign {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        _ if sign.is_ascii() => format!("\\x{:02x}", u32::from(sign)),
        _ => format!("\\u{{{:x}}}", u32::from(sign)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_written_out_and_plain_words_left() {
        assert_eq!(name("a\u{1b}[31mb\n\r\t\u{7f}\u{9b}\u{202e}c"), "a\\x1b[31mb\\n\\r\\t\\x7f\\u{9b}\\u{202e}c");
        assert_eq!(text("a\tb\u{1b}[31m\u{7}\r\n"), "a\tb\\x1b[31m\\x07\\r\n");
        assert_eq!(
            name("a\u{200b}b\u{200f}c\u{61c}d\u{a0}e\u{2028}"),
            "a\\u{200b}b\\u{200f}c\\u{61c}d\\u{a0}e\\u{2028}"
        );
        assert!(matches!(name("perche\u{301} 猫 🐈"), Cow::Borrowed(_)));
        assert!(matches!(name("perché no"), Cow::Borrowed(_)) && matches!(text("a\n\tb"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_could_be_read_as_more_than_a_name_is_quoted() {
        for plain in ["a.txt", "a b (2).txt", "caffè 🐈", r"q\n", "perche\u{301}"] {
            assert!(matches!(quoted(plain), Cow::Borrowed(_)), "{plain:?}");
        }
        assert_ne!(quoted("q\n"), quoted(r"q\n"));
        let spaces = format!("a{}(all of it)", " ".repeat(120));
        for odd in ["q\n", "a ", "", "a\u{a0}（all）", "a\u{ff08}b", "a\"b", "a” (“b", &spaces] {
            assert!(quoted(odd).starts_with('"') && quoted(odd).ends_with('"'), "{odd:?}");
        }
    }
}

//! Names and texts with what a terminal would obey written out: `\n`, `\x1b`, `\u{9b}`.
//!
//! Only for people. What is recorded, and what programs read, keeps every byte.

use std::borrow::Cow;

/// A name on one line: nothing in it ends the line, gives an order, or turns the direction of reading.
pub fn name(name: &str) -> Cow<'_, str> {
    written_out(name, |sign| sign.is_control() || matches!(sign, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
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
        assert!(matches!(name("perché no"), Cow::Borrowed(_)) && matches!(text("a\n\tb"), Cow::Borrowed(_)));
    }
}

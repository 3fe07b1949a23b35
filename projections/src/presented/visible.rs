//! Names and texts with what a terminal would obey written out: `\n`, `\x1b`, `\u{9b}`.
//!
//! Only for people. What is recorded, and what programs read, keeps every byte.

use std::borrow::Cow;

/// A name on one line: nothing in it ends the line, gives an order, turns the direction of reading, or is not seen.
pub fn name(name: &str) -> Cow<'_, str> {
    written_out(name, |at, sign| sign.is_control() || is_unseen(name, at, sign))
}

/// A name among other words, so that it is seen where it begins and ends: in quotation marks, with escapes, where it holds
/// what could be read as anything but a name. What stands without them is the name as it is.
pub fn quoted(name: &str) -> Cow<'_, str> {
    let is_misread = |(at, sign): (usize, char)| {
        let is_bracket = matches!(sign, '\u{ff00}'..='\u{ffef}' | '\u{3000}'..='\u{303f}' | '\u{2190}'..='\u{21ff}');
        matches!(sign, '"' | '«' | '»' | '“' | '”' | '„')
            || sign.is_control()
            || is_unseen(name, at, sign)
            || is_bracket
    };
    let is_spaced = name.trim() != name || name.contains("  ") || name.is_empty();
    if !is_spaced && !name.char_indices().any(is_misread) {
        return Cow::Borrowed(name);
    }
    let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
    Cow::Owned(format!("\"{}\"", self::name(&escaped)))
}

/// Signs without a shape of their own: of format, of direction, unlike spaces, unassigned. The standard library knows them as
/// those that it does not print; a mark that stands on the letter before it is printed. A joiner is seen by what it joins.
fn is_unseen(text: &str, at: usize, sign: char) -> bool {
    !sign.is_ascii() && !format!("a{sign}").escape_debug().skip(1).eq([sign]) && !joins(text, at, sign)
}

/// Whether a joiner (U+200D, U+200C) stands where it shapes its neighbours: between the parts of one emoji, or between
/// letters of a script that is written with it. Anywhere else nobody would see it.
fn joins(text: &str, at: usize, sign: char) -> bool {
    let mut before = text[..at].chars().rev();
    let (Some(last), Some(next)) = (before.next(), text[at + sign.len_utf8()..].chars().next()) else { return false };
    match sign {
        '\u{200d}' => {
            // The sign that asks for a picture in colour stands between an emoji and its joiner.
            let drawn = if last == '\u{fe0f}' { before.next() } else { Some(last) };
            (drawn.is_some_and(is_emoji) && is_emoji(next)) || (is_virama(last) && is_indic(next))
        }
        '\u{200c}' => (is_arabic(last) && is_arabic(next)) || (is_indic(last) && is_indic(next)),
        _ => false,
    }
}

/// Signs that emoji of several parts are made of (Unicode, emoji-zwj-sequences).
fn is_emoji(sign: char) -> bool {
    matches!(sign, '\u{1f300}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}' | '\u{2194}' | '\u{2195}' | '\u{2b1b}')
}

fn is_arabic(sign: char) -> bool {
    matches!(sign, '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}') && sign.is_alphabetic()
}

/// A letter of the scripts from Devanagari to Sinhala, or the sign that takes a letter's vowel away.
fn is_indic(sign: char) -> bool {
    matches!(sign, '\u{900}'..='\u{dff}') && (sign.is_alphabetic() || is_virama(sign))
}

fn is_virama(sign: char) -> bool {
    const VIRAMAS: &str = "\u{94d}\u{9cd}\u{a4d}\u{acd}\u{b4d}\u{bcd}\u{c4d}\u{ccd}\u{d4d}\u{dca}";
    VIRAMAS.contains(sign)
}

/// A text that has lines and tabs of its own, and may be in a script that is read from right to left: of the signs of direction
/// only those that turn letters against their own are written out.
pub fn text(text: &str) -> Cow<'_, str> {
    let turns = |sign| matches!(sign, '\u{202d}' | '\u{202e}');
    written_out(text, |_, sign| turns(sign) || sign.is_control() && !matches!(sign, '\n' | '\t'))
}

fn written_out(text: &str, is_obeyed: impl Fn(usize, char) -> bool) -> Cow<'_, str> {
    if !text.char_indices().any(|(at, sign)| is_obeyed(at, sign)) {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len() + 8);
    for (at, sign) in text.char_indices() {
        if is_obeyed(at, sign) {
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
        assert_eq!(text("a\u{202e}gpj.exe \u{2067}אב\u{2069}"), "a\\u{202e}gpj.exe \u{2067}אב\u{2069}");
        assert_eq!(
            name("a\u{200b}b\u{200f}c\u{61c}d\u{a0}e\u{2028}"),
            "a\\u{200b}b\\u{200f}c\\u{61c}d\\u{a0}e\\u{2028}"
        );
        assert!(matches!(name("perche\u{301} 猫 🐈"), Cow::Borrowed(_)));
        assert!(matches!(name("perché no"), Cow::Borrowed(_)) && matches!(text("a\n\tb"), Cow::Borrowed(_)));
    }

    #[test]
    fn joiners_are_left_where_they_join() {
        let joined = [
            "👩\u{200d}💻.txt",
            "👩🏽\u{200d}🚀",
            "❤\u{fe0f}\u{200d}🔥",
            "🏳\u{fe0f}\u{200d}🌈",
            "👨\u{200d}👩\u{200d}👧",
            "می\u{200c}خواهم.txt",
            "क्\u{200c}ष",
            "മല\u{200c}യാളം",
            "क्\u{200d}ष",
        ];
        for name in joined {
            assert_eq!((self::name(name), quoted(name)), (name.into(), name.into()), "{name:?}");
        }
        for (odd, shown) in [
            ("a\u{200d}b", "a\\u{200d}b"),
            ("a\u{200c}b", "a\\u{200c}b"),
            ("👩\u{200d}", "👩\\u{200d}"),
            ("\u{200d}👩", "\\u{200d}👩"),
            ("👩\u{200d}x", "👩\\u{200d}x"),
            ("1\u{200d}2", "1\\u{200d}2"),
            ("👩\u{200c}💻", "👩\\u{200c}💻"),
            ("م\u{200c}\u{200c}م", "م\\u{200c}\\u{200c}م"),
            ("👩\u{200d}\u{200d}💻", "👩\\u{200d}\\u{200d}💻"),
            ("م\u{200b}م", "م\\u{200b}م"),
        ] {
            assert_eq!(self::name(odd), shown, "{odd:?}");
            assert!(quoted(odd).starts_with('"'), "{odd:?}");
        }
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

//! A text as programs write it that make something of it: in marked-up text, in addresses, as a number or a day that a person is
//! told, in other encodings. It is the same text, and goes with it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use metnos_projections::{messages, visible};
use serde_json::{Value, json};

/// What is longer is no cell of a table, no address and no number.
const BYTES_MAX: usize = 4096;
/// A number of fewer digits is everybody's, and grouped it stands in many texts.
const DIGITS_MIN: usize = 7;

/// How a text is written in other texts.
pub(super) fn in_texts(text: &str) -> BTreeSet<String> {
    if text.len() > BYTES_MAX {
        return BTreeSet::new();
    }
    let markdown = lines(text, |sign, into| match sign {
        '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => into.extend(['\\', sign]),
        _ => entity(sign, false, into),
    });
    let cell = lines(text, |sign, into| match sign {
        '\\' | '|' => into.extend(['\\', sign]),
        _ => into.push(sign),
    });
    let markup = |quotes: bool, text: &str| {
        let mut written = String::new();
        text.chars().for_each(|sign| entity(sign, quotes, &mut written));
        written
    };
    let one_line = visible::name(text);
    let mut forms = BTreeSet::from([
        markdown,
        cell,
        markup(false, text),
        markup(true, text),
        markup(true, &one_line),
        in_address(text, is_of_addresses),
        in_address(text, is_unreserved),
        in_address(text, is_unreserved).replace("%20", "+"),
    ]);
    forms.extend(host(text));
    forms.extend(["en", "it"].into_iter().flat_map(|language| [number(text, language), day(text, language)]).flatten());
    // What is shorter is less than the text: others hold it, too.
    forms.retain(|form| form != text && form.len() >= text.len());
    forms
}

/// How a text lies in files of other encodings: one byte a letter, and two.
pub(super) fn in_bytes(text: &str) -> Vec<Vec<u8>> {
    if text.len() > BYTES_MAX {
        return Vec::new();
    }
    let latin: Option<Vec<u8>> = text.chars().map(|sign| u8::try_from(u32::from(sign)).ok()).collect();
    let wide = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect();
    latin.into_iter().chain([wide(u16::to_le_bytes), wide(u16::to_be_bytes)]).collect()
}

/// The lines of a table's cell, each of its signs written by `write`.
fn lines(text: &str, write: impl Fn(char, &mut String)) -> String {
    let line = |line: &str| {
        let mut written = String::new();
        line.chars().for_each(|sign| write(sign, &mut written));
        written
    };
    text.lines().map(line).collect::<Vec<_>>().join("<br>")
}

/// A sign of marked-up text.
fn entity(sign: char, quotes: bool, into: &mut String) {
    match sign {
        '&' => into.push_str("&amp;"),
        '<' => into.push_str("&lt;"),
        '>' => into.push_str("&gt;"),
        '"' if quotes => into.push_str("&quot;"),
        _ => into.push(sign),
    }
}

/// The bytes that need none of a percent sign anywhere in an address (RFC 3986, 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Those that stand as they are where an address is given whole.
fn is_of_addresses(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"<>`{}".contains(&byte)
}

fn in_address(text: &str, is_kept: fn(u8) -> bool) -> String {
    let mut written = String::new();
    for byte in text.bytes() {
        if is_kept(byte) {
            written.push(char::from(byte));
        } else {
            write!(written, "%{byte:02X}").expect("a text takes what is written to it");
        }
    }
    written
}

/// The name of ASCII that a host has whose letters are not all of it. What is more than a name is not looked for by its host alone.
fn host(text: &str) -> Option<String> {
    let is_name = text.chars().all(|sign| sign.is_alphanumeric() || "-._".contains(sign));
    let address = reqwest::Url::parse(&format!("http://{text}/")).ok().filter(|_| is_name && !text.is_ascii())?;
    address.host_str().map(str::to_owned)
}

/// A long number as a person is told it.
fn number(text: &str, language: &str) -> Option<String> {
    let is_number = text.len() >= DIGITS_MIN && text.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = text.parse().ok().filter(|_| is_number && !text.starts_with('0'))?;
    said("local_number", &number.into(), &json!([language]))
}

/// A day as a person is told it. A moment is told by its minute, in a zone that is not known here.
fn day(text: &str, language: &str) -> Option<String> {
    let is_day = text.len() == 10
        && text.bytes().take(10).enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if is_day { said("local_date", &text.into(), &json!([language, "UTC"])) } else { None }
}

fn said(filter: &str, value: &Value, with: &Value) -> Option<String> {
    let arguments: Vec<String> = with.as_array()?.iter().map(Value::to_string).collect();
    let template = format!("{{{{ value | {filter}({}) }}}}", arguments.join(", "));
    messages::fill(&template, json!({ "value": value })).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let forms = in_texts(text);
        for form in expected {
            assert!(forms.contains(*form), "{form} is not among {forms:?}");
        }
    }

    #[test]
    fn it_is_known_however_it_was_worded() {
        check("my_secret_plan", &["my\\_secret\\_plan"]);
        check("pin|4711-zed*_x", &["pin\\|4711-zed\\*\\_x", "pin\\|4711-zed*_x"]);
        check("R&D <Geheim> \"x\"", &["R&amp;D &lt;Geheim&gt; \"x\"", "R&amp;D &lt;Geheim&gt; &quot;x&quot;"]);
        check("two\nlines", &["two<br>lines"]);
        check(
            "Zürich-Geheimnis?q=ä b",
            &["Z%C3%BCrich-Geheimnis?q=%C3%A4%20b", "Z%C3%BCrich-Geheimnis%3Fq%3D%C3%A4+b"],
        );
        check("münchen-geheim", &["xn--mnchen-geheim-wob"]);
        check("5551234567", &["5,551,234,567", "5.551.234.567"]);
        check("1980-03-17", &["17 Mar 1980"]);
        // What nobody writes otherwise has no other form.
        for text in ["plain", "4711", "0815123456", "1980-13-99", "1980-03-17T10:22:33Z"] {
            let forms = in_texts(text);
            assert!(forms.iter().all(|form| form.contains('%')), "{forms:?}");
        }
        // Nothing that is only a part of it: that is others' as well.
        for text in ["jörg@example.org", "zürich.example/geheim", "münchen.example:8080", "abc\n", "\n\n\nä"] {
            let parts = ["example.org", "xn--zrich-kva.example", "xn--mnchen-3ya.example", "abc", "ä"];
            assert!(in_texts(text).iter().all(|form| !parts.contains(&form.as_str())), "{:?}", in_texts(text));
        }
    }

    #[test]
    fn other_encodings_are_known() {
        assert_eq!(in_bytes("Mü"), [b"M\xfc".to_vec(), b"M\0\xfc\0".to_vec(), b"\0M\0\xfc".to_vec()]);
        assert_eq!(in_bytes("日")[0], [0xe5, 0x65]);
    }
}

//! A text in other spellings: other capitals, other normal forms, other blanks between its words. What is looked for by its bytes
//! passes them over, and they mean the same to whoever reads them.

use std::collections::BTreeSet;

use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

/// Of a longer text its beginning is looked for.
const CHARACTERS_MAX: usize = 120;
/// Each character is a few ranges in the compiled expression.
const COMPILED_BYTES_MAX: usize = 64 << 20;

/// Every spelling of a text.
pub(super) struct Spelling {
    /// As it was given, as far as it is looked for.
    given: String,
    regex: Regex,
}

impl Spelling {
    pub(super) fn of(text: &str) -> Self {
        let given: String = text.chars().take(CHARACTERS_MAX).collect();
        let forms = |sign: char| {
            let decomposed: String = std::iter::once(sign).nfd().collect();
            let upper: String = sign.to_uppercase().collect();
            let forms = BTreeSet::from([sign.to_string(), decomposed, upper]);
            // The longest first: what is found is found whole.
            let forms = forms.iter().rev().map(|form| regex::escape(form)).collect::<Vec<_>>();
            format!("(?:{})", forms.join("|"))
        };
        let words: Vec<String> = given.split_whitespace().map(|word| word.nfc().map(forms).collect()).collect();
        let pattern = if words.is_empty() { regex::escape(&given) } else { words.join(r"\s+") };
        let regex = RegexBuilder::new(&pattern).case_insensitive(true).size_limit(COMPILED_BYTES_MAX).build();
        Self { given, regex: regex.expect("so few characters are an expression") }
    }

    /// The other spellings that stand in bytes as they are.
    pub(super) fn others(&self, bytes: &[u8], into: &mut BTreeSet<String>) {
        // Blanks around it tell nothing.
        let found = self.regex.find_iter(bytes).filter(|found| found.as_bytes() != self.given.trim().as_bytes());
        into.extend(found.map(|found| String::from_utf8_lossy(found.as_bytes()).into_owned()));
    }

    /// The same in every text of a value; in texts that hold JSON as well.
    pub(super) fn others_in(&self, value: &Value, into: &mut BTreeSet<String>) {
        match value {
            Value::String(text) => {
                self.others(text.as_bytes(), into);
                if text.starts_with(['{', '[', '"'])
                    && let Ok(inner) = serde_json::from_str::<Value>(text)
                {
                    self.others_in(&inner, into);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.others_in(item, into)),
            Value::Object(members) => {
                for (name, value) in members {
                    self.others(name.as_bytes(), into);
                    self.others_in(value, into);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, value: &Value, expected: &[&str]) {
        let mut found = BTreeSet::new();
        Spelling::of(text).others_in(value, &mut found);
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn other_capitals_and_normal_forms_are_found() {
        check("Caffè 4711", &json!("CAFFÈ 4711, Caffè 4711"), &["CAFFÈ 4711"]);
        check("Caffe\u{300} 4711", &json!("Caffè 4711"), &["Caffè 4711"]);
        check("caffè", &json!(["Caffe\u{300}", { "CAFFE\u{300}": 1 }]), &["CAFFE\u{300}", "Caffe\u{300}"]);
        check("straße", &json!("STRASSE"), &["STRASSE"]);
        check("a.c+\"d\"", &json!("A.C+\"D\" abcdd"), &["A.C+\"D\""]);
        check("a \"c\" d", &json!("{\"x\":\"A \\\"c\\\" d\"}"), &["A \"c\" d"]);
        check("caffè", &json!(["caffè", "caffe", "tea", 7, null]), &[]);
        check("pin 4711 of Anna", &json!("pin 4711\nof  Anna, pin 4711 of Anna"), &["pin 4711\nof  Anna"]);
        check("pin 4711\nof Anna\n", &json!("pin 4711 of Anna"), &["pin 4711 of Anna"]);
        check(" pin ", &json!("the pin is"), &[]);
    }

    #[test]
    fn a_long_text_is_known_by_its_beginning() {
        let text = "Übel ".repeat(100);
        let mut found = BTreeSet::new();
        Spelling::of(&text).others(text.to_uppercase().as_bytes(), &mut found);
        assert!(!found.is_empty());
        found.clear();
        Spelling::of(&text).others(text.as_bytes(), &mut found);
        assert_eq!(found, BTreeSet::new());
    }
}

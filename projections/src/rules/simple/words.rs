//! Words of a text with their byte positions, folded so that case and accents do not matter.
//!
//! It only cuts text into words and punctuation; what a word means is the lexicon's business. Text that is neither
//! letter, digit nor punctuation mark separates words and is otherwise ignored.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A word or a punctuation mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Lower case, without accents; a punctuation mark is itself.
    pub(crate) folded: String,
    pub(crate) punctuation: bool,
}

/// Lower case, accents dropped, typographic apostrophes made plain. The one-letter word «è» keeps its accent: it would
/// read «e» (and) without.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    if matches!(text, "è" | "È") {
        return "è".to_owned();
    }
    let decomposed = text.nfkd().filter(|&c| !is_combining_mark(c));
    decomposed.map(|c| if c == '’' { '\'' } else { c }).flat_map(char::to_lowercase).collect()
}

/// Whether `c` may stand inside a word.
pub(crate) fn is_word(c: char) -> bool {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => true,
        '\0'..='\x7f' => false,
        c => c.is_alphanumeric() || is_combining_mark(c),
    }
}

/// The character at a byte, which is below the end and begins one.
fn character(text: &str, at: usize) -> char {
    match text.as_bytes()[at] {
        byte if byte.is_ascii() => char::from(byte),
        _ => text[at..].chars().next().expect("a character begins here"),
    }
}

/// Cuts `text[from..to]` into words. `elisions` are folded prefixes that end at their apostrophe (`l'`, `dell'`).
pub(crate) fn cut(text: &str, from: usize, to: usize, elisions: &[String], out: &mut Vec<Word>) {
    let mut at = from;
    while at < to {
        let c = character(text, at);
        if !is_word(c) {
            let end = at + c.len_utf8();
            if matches!(c, ',' | ';' | ':' | '.' | '?' | '!') {
                out.push(Word { start: at, end, folded: c.to_string(), punctuation: true });
            }
            at = end;
            continue;
        }
        let end = word_end(text, at, to, elisions);
        out.push(Word { start: at, end, folded: fold(&text[at..end]), punctuation: false });
        at = end;
    }
}

/// Where the word that starts at `at` ends. Inner hyphens, apostrophes and the separators of numbers belong to it.
fn word_end(text: &str, at: usize, to: usize, elisions: &[String]) -> usize {
    let numeric = text[at..].starts_with(|c: char| c.is_ascii_digit());
    let mut end = at;
    while end < to {
        let c = character(text, end);
        let after = end + c.len_utf8();
        if is_word(c) {
            end = after;
            continue;
        }
        let next = text[after..to].chars().next();
        let joins = match c {
            '-' => next.is_some_and(is_word),
            '.' | ':' | '/' => numeric && next.is_some_and(|n| n.is_ascii_digit()),
            ',' => {
                numeric
                    && next.is_some_and(|n| n.is_ascii_digit())
                    && text[..end].ends_with(|p: char| p.is_ascii_digit())
            }
            '\'' | '’' => {
                if elisions.iter().any(|e| *e == fold(&text[at..end])) {
                    return after;
                }
                next.is_some_and(char::is_alphabetic)
            }
            _ => false,
        };
        if !joins {
            // «po'», «di'»: an apostrophe that closes a cut word belongs to it.
            return end;
        }
        end = after;
    }
    end
}

/// The stem of a folded word: plural and final vowel dropped, lightly, for both languages.
pub(crate) fn stem(word: &str) -> &str {
    let length = word.chars().count();
    if length < 4 {
        return word;
    }
    if let Some(base) = word.strip_suffix("es").filter(|base| base.ends_with("ch") || base.ends_with('x')) {
        return base;
    }
    if let Some(base) = word.strip_suffix('s').filter(|base| !base.ends_with('s')) {
        return strip_vowel(base);
    }
    strip_vowel(word)
}

fn strip_vowel(word: &str) -> &str {
    if word.len() < 5 {
        return word;
    }
    word.strip_suffix(['a', 'e', 'i', 'o']).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        cut(text, 0, text.len(), &["l".to_owned(), "c".to_owned()], &mut out);
        out.into_iter().map(|w| w.folded).collect()
    }

    #[test]
    fn cuts_elisions_contractions_and_numbers() {
        assert_eq!(words("dimmi l'UUID, c’è?"), ["dimmi", "l'", "uuid", ",", "c'", "è", "?"]);
        assert_eq!(words("don't, twenty-five 1.5 10:30."), ["don't", ",", "twenty-five", "1.5", "10:30", "."]);
        assert_eq!(words("perché un po' più"), ["perche", "un", "po", "piu"]);
    }

    #[test]
    fn stems_lightly() {
        assert_eq!(stem("folders"), stem("folder"));
        assert_eq!(stem("cartelle"), stem("cartella"));
        assert_eq!(stem("boxes"), stem("box"));
        assert_eq!(stem("ora"), "ora");
    }
}

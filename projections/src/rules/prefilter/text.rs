//! Words of queries, names and descriptions: cut at everything that is no letter or digit and inside of `camelCase`,
//! folded, lightly stemmed.
//!
//! It knows no word's meaning (that is the vocabulary's business) and no language's grammar beyond common endings.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A word of a text: where its stem stands in [`Words::stems`], where it stands in the text, and how it was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    stem: (u32, u32),
    /// Byte offset in the text.
    pub(super) start: u32,
    /// Byte offset of its end in the text.
    pub(super) end: u32,
    /// It begins with a capital letter that no sentence's beginning explains.
    pub(super) named: bool,
    /// It is a number.
    pub(super) number: bool,
}

/// The words of one text, their stems in one buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    stems: String,
    words: Vec<Word>,
}

/// What kind of character a word is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    Digit,
    Upper,
    Letter,
}

fn class(c: char) -> Class {
    match c {
        'a'..='z' => Class::Letter,
        'A'..='Z' => Class::Upper,
        '0'..='9' => Class::Digit,
        '\0'..='\x7f' => Class::Other,
        c if c.is_uppercase() => Class::Upper,
        c if c.is_alphanumeric() || is_combining_mark(c) => Class::Letter,
        _ => Class::Other,
    }
}

impl Words {
    /// Cuts a text, at most `longest` bytes of it.
    pub(super) fn cut(text: &str, longest: usize) -> Self {
        let text = &text[..text.floor_char_boundary(longest)];
        let mut out = Self { stems: String::with_capacity(text.len()), words: Vec::with_capacity(text.len() / 5) };
        let mut start = 0;
        let mut before = Class::Other;
        let mut sentence = true;
        let mut chars = text.char_indices().map(|(at, c)| (at, c, class(c)));
        let mut ahead = chars.next();
        while let Some((at, c, now)) = ahead {
            ahead = chars.next();
            let next = ahead.map_or(Class::Other, |(_, _, class)| class);
            // `aB`, `ABc` (the word is `Bc`), `a1`, `1a`.
            let begins = match (before, now) {
                (_, Class::Other) | (Class::Upper, Class::Letter) => false,
                (Class::Upper, Class::Upper) => next == Class::Letter,
                (before, now) => before != now,
            };
            if before != Class::Other && (begins || now == Class::Other) {
                out.push(text, start, at, &mut sentence);
            }
            if begins {
                start = at;
            }
            if matches!(c, '.' | '!' | '?' | ':' | '\n') && next == Class::Other {
                sentence = true;
            }
            before = now;
        }
        if before != Class::Other {
            out.push(text, start, text.len(), &mut sentence);
        }
        out
    }

    fn push(&mut self, text: &str, start: usize, end: usize, sentence: &mut bool) {
        let word = &text[start..end];
        let from = self.stems.len();
        fold(word, &mut self.stems);
        let kept = stem(&self.stems[from..]).map_or(self.stems.len() - from, |(kept, tail)| {
            self.stems.truncate(from + kept);
            self.stems.push_str(tail);
            kept + tail.len()
        });
        let place = |at: usize| u32::try_from(at).expect("a text is cut at a length below this");
        self.words.push(Word {
            stem: (place(from), place(from + kept)),
            start: place(start),
            end: place(end),
            named: !*sentence && word.chars().next().is_some_and(char::is_uppercase),
            number: word.as_bytes()[0].is_ascii_digit(),
        });
        *sentence = false;
    }

    /// The stem of a word of this text.
    pub(super) fn stem(&self, word: &Word) -> &str {
        &self.stems[word.stem.0 as usize..word.stem.1 as usize]
    }

    /// The words in their order.
    pub(super) fn words(&self) -> &[Word] {
        &self.words
    }

    /// The stems in the order of the words.
    pub(super) fn stems(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| self.stem(word))
    }
}

/// Appends a word in lower case and without accents.
fn fold(word: &str, out: &mut String) {
    if word.is_ascii() {
        let from = out.len();
        out.push_str(word);
        out[from..].make_ascii_lowercase();
    } else {
        out.extend(word.nfkd().filter(|&c| !is_combining_mark(c)).flat_map(char::to_lowercase));
    }
}

/// How much of a folded word its stem keeps, and what is put after that; nothing where the word is its own stem.
///
/// Plural, `-ing`, `-ed`, `-ion` of English, and the last vowel, which Italian and Spanish inflect.
pub(super) fn stem(word: &str) -> Option<(usize, &'static str)> {
    if word.len() < 4 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return None;
    }
    if let Some(base) = word.strip_suffix("ies").filter(|base| base.len() > 1) {
        return Some((base.len(), "y"));
    }
    let mut base = word;
    if let Some(cut) =
        base.strip_suffix("es").filter(|cut| ["ch", "sh", "x", "ss", "zz"].iter().any(|end| cut.ends_with(end)))
    {
        base = cut;
    } else if let Some(cut) = base.strip_suffix('s').filter(|cut| !cut.ends_with(['s', 'u', 'i'])) {
        base = cut;
    }
    let vowel = |text: &str| text.bytes().any(|b| b"aeiouy".contains(&b));
    for (ending, least) in [("ing", 3), ("ed", 3)] {
        if let Some(cut) = base.strip_suffix(ending).filter(|cut| cut.len() >= least && vowel(cut)) {
            base = undoubled(cut);
            break;
        }
    }
    if let Some(cut) = base.strip_suffix("ion").filter(|cut| cut.len() > 3 && cut.ends_with(['t', 's'])) {
        base = cut;
    }
    if base.len() > 4 {
        base = base.strip_suffix(['a', 'e', 'i', 'o']).unwrap_or(base);
    }
    (base.len() < word.len()).then_some((base.len(), ""))
}

/// «planning» is of «plan», «selling» of «sell».
fn undoubled(base: &str) -> &str {
    let bytes = base.as_bytes();
    let doubled = bytes.len() > 3 && bytes[bytes.len() - 1] == bytes[bytes.len() - 2];
    if doubled && !matches!(bytes[bytes.len() - 1], b'l' | b's' | b'z' | b'e' | b'o') {
        &base[..base.len() - 1]
    } else {
        base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stems(text: &str) -> Vec<String> {
        Words::cut(text, 4096).stems().map(str::to_owned).collect()
    }

    #[test]
    fn names_are_words() {
        assert_eq!(stems("findHTMLPages_v2.delete-it"), ["find", "html", "page", "v", "2", "delet", "it"]);
        assert_eq!(stems("Perché 3PM?"), ["perch", "3", "pm"]);
        assert_eq!(stems("天気 東京"), ["天気", "東京"]);
        assert!(stems("¿… !").is_empty());
    }

    #[test]
    fn forms_of_one_word_share_their_stem() {
        for pair in
            ["cities city", "booking books", "planned plans", "trova trovi", "addresses address", "selected selection"]
        {
            let both = stems(pair);
            assert_eq!(both[0], both[1], "{pair}");
        }
        assert_eq!(stems("status this bus"), ["status", "this", "bus"]);
    }

    #[test]
    fn capitals_at_the_beginning_of_a_sentence_name_nothing() {
        let words = Words::cut("Go to Rome. Then sleep", 4096);
        assert_eq!(words.words().iter().map(|w| w.named).collect::<Vec<_>>(), [false, false, true, false, false]);
    }
}

//! Spelling that is forgiven (one letter wrong, left out, added or swapped, and plausible), and verbs without their endings.

use crate::messages::Language;

/// The word with each one letter left out, and with each two neighbours swapped left to the comparison.
pub(super) fn deletions(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    (0..letters.len())
        .map(|skip| letters.iter().enumerate().filter(|(i, _)| *i != skip).map(|(_, c)| c).collect())
        .collect()
}

/// One edit apart and plausible: the same first letter; in words of four letters only a letter left out or two swapped.
pub(super) fn is_likely_misspelling(written: &str, meant: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (written.chars().collect(), meant.chars().collect());
    if a.first() != b.first() || a == b {
        return false;
    }
    let same_start = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let same_end = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let long = b.len() >= 5;
    match (a.len(), b.len()) {
        (x, y) if x + 1 == y => same_start + same_end >= x,
        (x, y) if x == y + 1 => long && same_start + same_end >= y,
        (x, y) if x == y => {
            // «score» is no misspelling of «store»: short words differ from others by one letter too often.
            let substituted = b.len() >= 6 && same_start + same_end + 1 >= x;
            let swapped = same_start + same_end + 2 == x
                && a[same_start] == b[same_start + 1]
                && a[same_start + 1] == b[same_start];
            substituted || swapped
        }
        _ => false,
    }
}

/// A verb without its ending: the gerund in English; person, mood and infinitive in Italian.
pub(super) fn root(word: &str, language: Language) -> Option<&str> {
    const ITALIAN: [&str; 40] = [
        "eresti", "iresti", "aresti", "erebbe", "irebbe", "arebbe", "ereste", "ireste", "areste", "eremmo", "iamoci",
        "iamo", "andolo", "ando", "endo", "assi", "essi", "issi", "asse", "esse", "isse", "erai", "irai", "arai",
        "erei", "irei", "ate", "ete", "ite", "are", "ere", "ire", "ino", "ono", "ano", "i", "a", "o", "e", "ar",
    ];
    let endings: &[&str] = match language {
        Language::En => &["ning", "ming", "ping", "ting", "ing", "ed", "es", "e", "s"],
        Language::It => &ITALIAN,
    };
    if language == Language::En && !word.ends_with("ing") {
        return Some(word.strip_suffix('e').unwrap_or(word)).filter(|w| w.len() >= 3);
    }
    endings.iter().find_map(|ending| word.strip_suffix(ending)).filter(|root| root.chars().count() >= 3)
}

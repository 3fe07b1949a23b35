//! Claims of a final text about changes, held against what the events say. Only plain claims in the first person, and in
//! English the perfect passive, are seen: what was changed by others or long ago is told in other forms.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use regex::Regex;

use crate::messages::Language;

/// A claim that a change was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The words that claim it.
    pub text: String,
    /// How many things it says were changed, where it says so.
    pub count: Option<u64>,
}

const EN: &str = r"(?i)\bI(?:'ve| have)?(?: just| now| successfully)? (?:deleted|removed|moved|renamed|wrote|written|saved|created|sent|changed|replaced|compressed|copied|added)\b(?: (?:all |the )*(?P<a>\d{1,9}) (?:files?|folders?|items?|messages?|documents?|photos?|images?)\b)?|\b(?:(?P<b>\d{1,9}) )?(?:files?|folders?|items?|messages?|documents?|photos?|images?|text|page) (?:has|have) been (?:successfully )?(?:deleted|removed|moved|renamed|written|saved|created|sent|changed|replaced|compressed|copied|added)\b";
const IT: &str = r"(?i)\bho(?: già| appena)? (?:eliminato|cancellato|rimosso|spostato|rinominato|scritto|salvato|creato|inviato|mandato|modificato|sostituito|compresso|copiato|aggiunto)\b(?: (?:tutti |tutte |i |gli |le )*(?P<a>\d{1,9}) (?:file|cartell[ae]|element[oi]|messaggi?o?|document[oi]|foto|immagin[ei])\b)?";

fn pattern(language: Language) -> &'static Regex {
    static EN_PATTERN: OnceLock<Regex> = OnceLock::new();
    static IT_PATTERN: OnceLock<Regex> = OnceLock::new();
    let (cell, text) = match language {
        Language::En => (&EN_PATTERN, EN),
        Language::It => (&IT_PATTERN, IT),
    };
    cell.get_or_init(|| Regex::new(text).expect("the pattern is constant"))
}

/// The first claim that is not backed: none was made at all, or another number of things than any count says.
pub fn unbacked(language: Language, text: &str, changes: u64, counts: &BTreeSet<u64>) -> Option<Claim> {
    pattern(language).captures_iter(text).find_map(|found| {
        let count = ["a", "b"].iter().find_map(|name| found.name(name)).and_then(|digits| digits.as_str().parse().ok());
        let is_backed = changes > 0 && count.is_none_or(|count| counts.contains(&count));
        (!is_backed).then(|| Claim { text: found[0].to_owned(), count })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(language: Language, text: &str, changes: u64, expected: Option<&str>) {
        let found = unbacked(language, text, changes, &BTreeSet::from([changes]));
        let count = found.map(|claim| claim.count.map_or_else(String::new, |count| count.to_string()));
        assert_eq!(count.as_deref(), expected, "{text}");
    }

    #[test]
    fn what_was_not_done_is_found_in_both_languages() {
        use Language::{En, It};
        check(En, "Done: I deleted the 3 files you named.", 0, Some("3"));
        check(En, "I've deleted 3 files.", 2, Some("3"));
        check(En, "I've deleted 3 files.", 3, None);
        check(En, "I have saved the page.", 0, Some(""));
        check(En, "The file has been written.", 0, Some(""));
        check(En, "12 files have been moved", 11, Some("12"));
        check(It, "Ho eliminato i 3 file.", 0, Some("3"));
        check(It, "Ho salvato la pagina.", 0, Some(""));
        check(It, "Ho eliminato i 3 file.", 3, None);
    }

    #[test]
    fn what_claims_nothing_is_left_alone() {
        use Language::{En, It};
        check(En, "I did not delete anything.", 0, None);
        check(En, "The file was last changed on Monday by Anna, who deleted 3 lines.", 0, None);
        check(En, "There are 12 files; 3 files were created in May.", 0, None);
        check(It, "Non ho trovato file da eliminare.", 0, None);
        check(It, "Ci sono 3 file.", 0, None);
    }
}

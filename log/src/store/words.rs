//! What the store says of a file that it cannot read, in words for whoever owns the file.

use std::fmt::Display;

/// What is said of a part that leads beyond the end of its file, or that the disk does not give.
const BEYOND: &str = "a part of it cannot be read: it leads beyond the end of the file, or the disk failed";
/// What is said of pages of which none is what the other names.
pub(super) const NO_FIT: &str = "its parts do not fit together";

/// The same error in plain words; one that is plain stays as it is.
pub(super) fn plain(error: &dyn Display) -> String {
    let said = error.to_string();
    if let Some((table, _)) = said.split_once(" is of type ") {
        let table: String = table.chars().take_while(|letter| letter.is_ascii_lowercase() || *letter == '_').collect();
        return format!("its table {table} is not of the kind that it must be");
    }
    match said.as_str() {
        _ if said.starts_with("Previous I/O error") || said.contains("unexpected end of file") => BEYOND.to_owned(),
        _ if said.starts_with("DB corrupted") => NO_FIT.to_owned(),
        _ => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_reads_what_only_the_store_knows() {
        let check = |said: &str, plain_words: &str| assert_eq!(plain(&said), plain_words);
        check("tail is of type Table<u64, &[u8]\0\0\0>", "its table tail is not of the kind that it must be");
        check("Previous I/O error occurred. Please close and re-open the database.", BEYOND);
        check("I/O error: unexpected end of file", BEYOND);
        check("DB corrupted: page 3", NO_FIT);
        check("event 3 is missing", "event 3 is missing");
    }
}

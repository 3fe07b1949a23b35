//! What the system said when something failed, without what means nothing to whoever reads it: the numbers of its errors, and
//! on the network the addresses that stand around it.

use std::error::Error;
use std::fmt::Display;

/// What the store writes before what the system said.
const STORE: &str = "I/O error: ";
/// How the number of an error begins, after its words.
const NUMBER: &str = " (os error ";

/// The innermost cause, without its number, which means nothing to whoever reads it; `None` where the error has none.
pub(crate) fn innermost(error: &dyn Error) -> Option<String> {
    let mut source = error.source()?;
    while let Some(cause) = source.source() {
        source = cause;
    }
    let mut message = source.to_string();
    message.truncate(message.find(NUMBER).unwrap_or(message.len()));
    Some(message)
}

/// An error in its words, without the numbers of the system's errors that it holds.
pub(crate) fn plain(error: &dyn Display) -> String {
    let said = error.to_string().replace(STORE, "");
    let mut parts = said.split(NUMBER);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => plain.push_str(rest),
            _ => plain.extend([NUMBER, part]),
        }
    }
    plain
}

#[cfg(test)]
mod tests {

    #[test]
    fn only_numbers_of_errors_are_left_out() {
        let stale = std::io::Error::from_raw_os_error(116);
        for (said, plain) in [
            (
                format!("open /a: {stale}; close /b: {stale}."),
                "open /a: Stale file handle; close /b: Stale file handle.",
            ),
            (format!("the log cannot be copied: I/O error: {stale}"), "the log cannot be copied: Stale file handle"),
            ("/a (os error b)/c is no folder".to_owned(), "/a (os error b)/c is no folder"),
            ("nothing is cut (os error 1".to_owned(), "nothing is cut (os error 1"),
        ] {
            assert_eq!(super::plain(&said), plain);
        }
    }
}

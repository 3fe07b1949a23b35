//! What the system said when something on the network failed, without the addresses that stand around it.

use std::error::Error;

/// The innermost cause, without its number, which means nothing to whoever reads it; `None` where the error has none.
pub(crate) fn innermost(error: &dyn Error) -> Option<String> {
    let mut source = error.source()?;
    while let Some(cause) = source.source() {
        source = cause;
    }
    let mut message = source.to_string();
    message.truncate(message.find(" (os error ").unwrap_or(message.len()));
    Some(message)
}
